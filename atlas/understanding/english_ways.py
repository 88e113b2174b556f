"""How numbers, lengths of time and moments are spoken in English: the ways that its sentences leave to code. Pure."""

from __future__ import annotations

from atlas.ways import Slot, SpokenWords, Values, Way, WaySeries, either, maybe

_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def counted() -> Values:
    """Return the numbers that lengths and moments have in them."""
    past = ((f"oh {word}", f"0{digit}") for word, digit in numbers(1, 9))
    return {"1-100": numbers(1, 100), "hours": numbers(1, 23), "minutes": [*numbers(10, 59), *past]}


def numbers(first: int, last: int) -> list[tuple[str, str]]:
    """Return numbers as they are spoken in English, each with its digits."""
    return [(_number(number), str(number)) for number in range(first, last + 1)]


def lengths() -> Way:
    """Return the ways to say how long."""
    count = Slot("", "1-100")
    minutes, hours, seconds = either("minute", "minutes"), either("hour", "hours"), either("second", "seconds")
    rest = WaySeries((maybe(SpokenWords("and")), count, minutes))
    some_seconds = WaySeries((maybe(SpokenWords("and")), count, seconds))
    return either(
        WaySeries((count, seconds)),
        WaySeries((count, minutes, maybe(some_seconds))),
        WaySeries((count, hours, maybe(rest))),
        WaySeries((SpokenWords("an hour"), maybe(either(SpokenWords("and a half"), rest)))),
        WaySeries((count, SpokenWords("and a half"), either(minutes, hours))),
        *("half an hour", "a minute", "a minute and a half", "a quarter of an hour", "three quarters of an hour"),
    )


def moments() -> Way:
    """Return the ways to say when."""
    hour, minute = Slot("", "hours"), Slot("", "minutes")
    before = either(
        *(f"{part} {side}" for part in ("half", "quarter", "ten", "five", "twenty") for side in ("past", "to"))
    )
    clock = either(
        WaySeries((hour, maybe(minute), maybe(either("am", "pm")))),
        WaySeries((hour, SpokenWords("o'clock"))),
        WaySeries((before, hour)),
        *("noon", "midnight"),
    )
    part = either("in the morning", "in the afternoon", "in the evening", "at night")
    days = "today|tonight|tomorrow|tomorrow morning|tomorrow afternoon|tomorrow evening|this evening|this afternoon"
    named = [*days.split("|"), "the day after tomorrow", "next week"]
    day = either(*named, *(WaySeries((maybe(either("on", "next")), SpokenWords(one))) for one in _DAYS))
    at = WaySeries((SpokenWords("at"), clock, maybe(part)))
    return either(
        at,
        day,
        WaySeries((day, at)),
        WaySeries((at, day)),
        WaySeries((SpokenWords("in"), lengths())),
        WaySeries((SpokenWords("for"), clock)),
    )


def articles() -> tuple[str, ...]:
    """Return what may stand before a thing or a place."""
    return "the", "my", "all the"


def place_prepositions() -> tuple[str, ...]:
    """Return what may stand before a place where something is, with its article."""
    return "in", "in the", "in my", "on the"


def answers() -> Way:
    """Return the ways to answer a question which is about neither time nor a thing of this house."""
    return either(
        WaySeries((Slot("", "1-100"), maybe(SpokenWords("percent")))),
        *("yes please", "no thanks", "never mind", "the first one", "the second one", "the other one", "both of them"),
    )


def sums() -> Way:
    """Return the ways to ask for a sum."""
    number = Slot("", "1-100")
    return WaySeries((either("what is", "what's"), number, either("plus", "minus", "times", "divided by"), number))


def _number(number: int) -> str:
    if number < len(_ONES):
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return f"{_TENS[tens]} {_ONES[ones]}" if ones else _TENS[tens]
    return "a hundred" if number == 100 else str(number)
