"""What a German voice gets wrong, written out: ordinals, times, dates, units, money. Pure.

See `normalize.py`, which makes these changes in their order. A voice reads „3. Mai“ as three May and „1 Minute“ as ones
minute; it reads „21,5“ and „1.250“ as a person would, and those are left to it.
"""

from __future__ import annotations

import re

from hassil.numbers import get_rbnf_engine

from atlas.speech.normalize_shared import Rule, UnitNames, addresses, digits, signs

_MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()  # noqa: SIM905
_MONTH = "|".join([*_MONTHS, "Jänner", "Feber"])
_UNITS = UnitNames(
    "de",
    {
        "qm": "area-square-meter",
        "cl": "volume-centiliter",
        "EL": "volume-tablespoon",
        "TL": "volume-teaspoon",
        "Std.": "duration-hour",
        "Std": "duration-hour",
        "Min.": "duration-minute",
        "Sek.": "duration-second",
        "hPa": "pressure-hectopascal",
    },
    {
        "°C": ("Grad", "Grad"),
        "Wh": ("Wattstunde", "Wattstunden"),
        "ppm": ("Teile pro Million", "Teile pro Million"),
        "Mio.": ("Million", "Millionen"),
        "Mrd.": ("Milliarde", "Milliarden"),
    },
)
_MONEY = {"€": "Euro", "$": "Dollar", "£": "Pfund", "¥": "Yen"}
_NUMBER = r"\d+(?:\.\d{3})*(?:,\d+)?"
MOST_IN_ONE_WORD = 12  # „zwölfeinhalb“
_FRACTIONS = {
    "1/2": "einhalb",
    "1/3": "ein Drittel",
    "2/3": "zwei Drittel",
    "1/4": "ein Viertel",
    "3/4": "drei Viertel",
}
_FRACTIONS |= {"½": "einhalb", "⅓": "ein Drittel", "⅔": "zwei Drittel", "¼": "ein Viertel", "¾": "drei Viertel"}
_DATIVE = r"[Ii]n|[Vv]or|[Mm]it|[Ss]eit|[Nn]ach|[Vv]on|[Aa]us|[Bb]ei|[Zz]u"
_ACCUSATIVE = r"auf|um|für|noch|hast|gegen|über|ohne|bis|alle|gibt es"
_FEMININE = re.compile(r"\w*(?:e|ung|ei|heit|keit|schaft|ion|tät|iz|Mail|Person|Uhrzeit)")
_MASCULINE = re.compile(
    r"Tag|Monat|\w*[Tt]imer|Wecker|Termin|\w*[Ll]iter|\w*[Mm]eter|\w*löffel|Euro|Dollar|Cent|Ordner|Eintrag"
)
_DIALLED = r"11[0-9]|999|911|144|133|122|143|145|147"  # numbers of help


def _one(match: re.Match[str]) -> str:
    """Return "eine Minute", "einen Tag", "vor einem Monat" of "1 Minute" and the like."""
    before, noun = match["before"] or "", match["noun"]
    dative = re.fullmatch(_DATIVE, before.strip())
    if noun == "Uhr":
        article = "ein"
    elif _FEMININE.fullmatch(noun):
        article = "einer" if dative else "eine"
    elif dative:
        article = "einem"
    else:
        masculine = re.fullmatch(_ACCUSATIVE, before.strip()) and _MASCULINE.fullmatch(noun)
        article = "einen" if masculine else "ein"
    return f"{before}{article} {noun}"


def _in_words(number: int, form: str) -> str:
    """Return a number as CLDR spells it out: "zwei" (cardinal-masculine), "dritten" (ordinal-n)."""
    return str(get_rbnf_engine("de").format_number(number, ruleset_names=[f"spellout-{form}"]).text)


def _ordinal(match: re.Match[str]) -> str:
    """Return "am dritten Mai", "der dritte", and "dritter Mai" where nothing says its case."""
    before, day = match["before"] or "", int(match["day"])
    if not 1 <= day <= 31:
        return match.group()
    word = before.strip().casefold()
    form = "ordinal" if word in ("der", "die", "das") else "ordinal-n" if word else "ordinal-r"
    return f"{before}{_in_words(day, form)}"


def _date(match: re.Match[str]) -> str:
    """Return 24.12.2026 as a date with the month's name, whose ordinal is made after this."""
    day, month = int(match["day"]), int(match["month"])
    if not (1 <= day <= 31 and 1 <= month <= 12):
        return match.group()
    return " ".join(filter(None, [f"{day}.", _MONTHS[month - 1], match["year"] or ""]))


def _year(match: re.Match[str]) -> str:
    century, rest = divmod(int(match["year"]), 100)
    return f"{match['before']}{century} hundert{f' {rest}' if rest else ''}"


def _clock(match: re.Match[str]) -> str:
    hour, minute = int(match["hour"]), int(match["minute"])
    if hour > 24 or minute > 59:
        return match.group()
    return f"{hour} Uhr{f' {minute}' if minute else ''}"


def _money(match: re.Match[str]) -> str:
    places = match.groupdict()
    more = (places["part"] or "").lstrip("0")
    whole = "ein" if places["whole"] == "1" else str(places["whole"])
    return " ".join(filter(None, [whole, _MONEY[places.get("sign") or places["behind"]], more]))


def _fraction(match: re.Match[str]) -> str:
    whole, fraction = (match["whole"] or "").strip(), _FRACTIONS[match["fraction"]]
    if whole and fraction == "einhalb" and int(whole) <= MOST_IN_ONE_WORD:
        return f"{_in_words(int(whole), 'cardinal-masculine')}einhalb"
    return f"{whole} {'und ' if whole else ''}{'ein halb' if fraction == 'einhalb' else fraction}".strip()


def _dialled(match: re.Match[str]) -> str:
    return match["before"] + " ".join(match["digits"])


WORDS: list[Rule] = [
    *addresses("Punkt", "ät", "Unterstrich", "minus"),
    (r"\b[zZ]\. ?B\.", "zum Beispiel"),
    (r"\b[dD]\. ?h\.", "das heißt"),
    (r"\b[uU]\. ?a\.", "unter anderem"),
    (r"\bo\. ?[äÄ]\.", "oder Ähnliches"),
    (r"\busw\.(?=\s+[^A-ZÄÖÜ\s])", "und so weiter"),
    (r"\busw\.", "und so weiter."),
    (r"\bbzw\.", "beziehungsweise"),
    (r"\bca\.", "etwa"),
    (r"\bggf\.", "gegebenenfalls"),
    (r"\bevtl\.", "eventuell"),
    (r"\binkl\.", "inklusive"),
    (r"\bmax\.(?= ?\d)", "höchstens"),
    (r"\bmind?\.(?= ?\d)", "mindestens"),
    (r"\bDr\.(?= [A-ZÄÖÜ])", "Doktor"),
    (r"\bProf\.(?= [A-ZÄÖÜ])", "Professor"),
    (r"\bHr\.(?= [A-ZÄÖÜ])", "Herr"),
    (r"\bFr\.(?= [A-ZÄÖÜ])", "Frau"),
    (r"\bSt\.(?= [A-ZÄÖÜ])", "Sankt"),
    (r"(?<=[a-zäöüß])str\.(?= )", "straße"),
    (r"\bTel\.", "Telefon"),
    (r"\bNr\. ?(?=\d)", "Nummer "),
    (r"(?<!\w)#(?=\d)", "Nummer "),
    (r" & ", " und "),
    (r"\bund/oder\b", "und oder"),
]
NUMBERS: list[Rule] = [
    (r"\b(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})\b", _date),
    (r"\b(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\.(?: ?(?P<year>\d{4})\b)?(?=[\s,;:!?)]|$)", _date),
    (
        rf"\b(?:(?P<before>(?:[Aa]m|[Vv]om|[Zz]um|[Bb]eim|[Dd]e[nmrs]|[Dd]ie|[Dd]as|[Ii]m|[Aa]b|[Ss]eit|[Jj]eden) )?"
        rf"(?P<day>\d{{1,2}})\.)(?= (?:{_MONTH}|Tag|Mal|Platz|Klasse|Stock|Advent|Geburtstag)\b)",
        _ordinal,
    ),
    (
        r"\b(?P<before>(?:[Aa]m|[Vv]om|[Zz]um|[Bb]eim|[Dd]e[nmr]|[Ii]m) )(?P<day>\d{1,2})\.(?=[ ,;:!?]|$)",
        _ordinal,
    ),
    (rf"(?P<before>\b(?:{_MONTH}|[Ii]m Jahr|[Ii]n|[Ss]eit|[Bb]is|[Vv]on) )(?P<year>1[1-9]\d\d)\b(?![.,]?\d)", _year),
    (r"(?<![\w:.,])(?P<hour>\d{1,2}):(?P<minute>\d\d)(?: ?Uhr\b)?(?![:\d])", _clock),
    (r"\b(?P<hour>\d{1,2})\.(?P<minute>\d\d) Uhr\b", _clock),
    (r"(?<![\w.,])(?:\+\d{1,3}[ /-]?)?0\d{2,5}[ /-]\d{3,10}\b|\b116 ?\d{3}\b", digits),
    (rf"\b(?P<before>(?:ruf|unter|jetzt|oder|an:) )(?P<digits>{_DIALLED})(?= oder| an\b|[.,;!]|$)", _dialled),
    (r"(?P<sign>[€$£¥]) ?(?P<whole>\d+(?:\.\d{3})*)(?:,(?P<part>\d\d))?\b", _money),
    (r"\b(?P<whole>\d+(?:\.\d{3})*)(?:,(?P<part>\d\d))? ?(?P<behind>[€$£¥])", _money),
    (r"(?<![\d/.,])(?P<whole>\d{1,4} ?)??(?P<fraction>[½⅓⅔¼¾])", _fraction),
    (r"(?<![\d/.,])(?P<whole>\d{1,4} )?(?P<fraction>1/2|1/3|2/3|1/4|3/4)(?![\d/])", _fraction),
    (r"\b(\d+)/(\d+)\b", r"\1 durch \2"),
    (rf"(?<![\w.,-])({_NUMBER}) ?[-–—] ?({_NUMBER})(?![\w]*-\d)", r"\1 bis \2"),
    _UNITS.rule(_NUMBER),
    *signs("etwa", "mal", "geteilt durch", "plus minus", "höchstens", "mindestens"),
    (
        rf"(?<![\d.,])\b(?P<before>(?:{_DATIVE}|{_ACCUSATIVE}) )?1 (?P<noun>[A-ZÄÖÜ][\w-]*)",
        _one,
    ),
]
