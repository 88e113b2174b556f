"""How numbers, lengths of time and moments are spoken in German: the ways that its sentences leave to code. Pure."""

from __future__ import annotations

from atlas.ways import Slot, SpokenWords, Values, Way, WaySeries, either, maybe

_ONES = (
    *("null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"),
    *("dreizehn", "vierzehn", "fünfzehn", "sechzehn"),
)
_TENS = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
_DAYS = ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"]
_PARTS = ("früh", "Vormittag", "Mittag", "Nachmittag", "Abend")


def counted() -> Values:
    """Return the numbers that lengths and moments have in them."""
    one = ("ein", "1")  # "ein Uhr"
    return {
        "2-100": numbers(2, 100),
        "hours": [one, *numbers(2, 23)],
        "halves": numbers(1, 12),
        "minutes": numbers(1, 59),
    }


def numbers(first: int, last: int) -> list[tuple[str, str]]:
    """Return numbers as they are spoken in German, each with its digits."""
    return [(_number(number), str(number)) for number in range(first, last + 1)]


def lengths() -> Way:
    """Return the ways to say how long."""
    count = Slot("", "2-100")
    minutes = either(WaySeries((count, SpokenWords("Minuten"))), "eine Minute", "einer Minute")
    seconds = either(WaySeries((count, SpokenWords("Sekunden"))), "eine Sekunde", "einer Sekunde")
    hours = either(WaySeries((count, SpokenWords("Stunden"))), "eine Stunde", "einer Stunde")
    either_half = ("anderthalb", "eineinhalb", "zweieinhalb", "dreieinhalb")
    an = either("eine", "einer")
    return either(
        seconds,
        WaySeries((minutes, maybe(WaySeries((maybe(SpokenWords("und")), seconds))))),
        WaySeries((hours, maybe(WaySeries((maybe(SpokenWords("und")), minutes))))),
        WaySeries((either(*either_half), either("Stunden", "Minuten"))),
        WaySeries((an, either("Viertelstunde", "Dreiviertelstunde"))),
        *("eine halbe Stunde", "einer halben Stunde", "eine halbe Minute", "einer halben Minute"),
    )


def moments() -> Way:
    """Return the ways to say when."""
    hour, half, minute = Slot("", "hours"), Slot("", "halves"), Slot("", "minutes")
    side = either("vor", "nach")
    clock = either(
        WaySeries((hour, SpokenWords("Uhr"), maybe(minute))),
        WaySeries((either("halb", "dreiviertel"), half)),
        WaySeries((either("viertel", "fünf", "zehn", "zwanzig"), side, half)),
    )
    daily = either("morgens", "vormittags", "mittags", "nachmittags", "abends", "nachts")
    at = WaySeries(
        (
            either(
                WaySeries((maybe(SpokenWords("um")), clock)), WaySeries((SpokenWords("um"), half)), "um Mitternacht"
            ),
            maybe(daily),
        )
    )
    named = [f"{day} {part}" for day in ("heute", "morgen", "übermorgen") for part in _PARTS]
    weekly = WaySeries((either("am", "nächsten", "am nächsten", "jeden"), either(*_DAYS)))
    relative = either("heute", "morgen", "übermorgen", *named, "am Wochenende", "nächste Woche")
    day = either(relative, weekly, "jeden Tag", "jeden Morgen", "jeden Abend", "jeden Werktag")
    return either(at, day, WaySeries((day, at)), WaySeries((at, day)), WaySeries((SpokenWords("in"), lengths())))


def articles() -> tuple[str, ...]:
    """Return what may stand before a thing or a place."""
    mine = ("mein", "meine", "meinen", "meinem", "meiner")
    return *("der", "die", "das", "den", "dem"), *mine, "alle"


def place_prepositions() -> tuple[str, ...]:
    """Return what may stand before a place where something is, with its article."""
    return "im", "in der", "in dem", "in den", "in meinem", "in meiner", "auf dem", "auf der", "am"


def answers() -> Way:
    """Return the ways to answer a question which is about neither time nor a thing of this house."""
    return either(
        WaySeries((Slot("", "2-100"), maybe(SpokenWords("Prozent")))),
        *("ja bitte", "nein danke", "vergiss es", "das erste", "das zweite", "das andere", "alle beide"),
    )


def sums() -> Way:
    """Return the ways to ask for a sum."""
    number, sign = Slot("", "2-100"), either("plus", "minus", "mal", "geteilt durch")
    return WaySeries((either("was ist", "wie viel ist"), number, sign, number))


def _number(number: int) -> str:
    if number < len(_ONES):
        return _ONES[number]
    tens, ones = divmod(number, 10)
    if tens == 1:
        return {7: "siebzehn"}.get(ones, f"{_ONES[ones]}zehn")
    if number >= 100:
        return "hundert" if number == 100 else str(number)
    before = "ein" if ones == 1 else _ONES[ones]
    return f"{before}und{_TENS[tens - 2]}" if ones else _TENS[tens - 2]
