"""Find when something is meant: "tomorrow at five", "every Monday", "in two hours". Pure; what it means, tools decide.

The grammar needs to know which words say when, so that "remind me tomorrow to call mum at five" has one text and one
time. It does not read them: the tool server does, in one place, and says back what it understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from atlas.understanding import german_moments
from atlas.understanding.durations import IN_MEMORY, UNIT_WORDS, UP_TO_99, number_of
from atlas.understanding.patterns import beginnings

Kind = Literal["event", "often", "length", "day", "clock", "bounds"]

_N = rf"(?:\d{{1,2}}|{UP_TO_99})"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|apr|aug|sept|oct|nov|dec)"
)
_NTH = (
    r"(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
    r"|thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth"
    r"|(?:twenty|thirty)[ -](?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth))"
)
_PART = r"(?:morning|lunchtime|afternoon|evening|night)"
_HALF = r"(?: ?[ap]m\b)"
_AMOUNT = rf"(?:half an?|(?:a |three )?quarters? of an?|an?|a couple of|{_N}(?:\.\d)?(?: and a half)?)"
_LENGTH = rf"{_AMOUNT} {UNIT_WORDS}(?: and a (?:half|quarter)| and {_AMOUNT} {UNIT_WORDS})?"
_FEAST = (
    r"(?:christmas(?: eve| day)?|boxing day|new year'?s?(?: eve| day)?|valentine'?s day|(?:st|saint) patrick'?s day"
    r"|april fool'?s day|halloween|good friday|easter(?: sunday| monday)?|pentecost|whit monday)"
)
_DAYS = rf"{_WEEKDAY}s?(?:(?: and|,)? (?:on )?{_WEEKDAY}s?)*"
_NAME = r"(?:[^\W\d][\w'-]*(?: [^\W\d][\w'-]*)?)"

_ATOMS: dict[Kind, Sequence[str]] = {
    "event": (
        rf"(?:when|as soon as|the next time|next time) you (?:next )?hear (?:from )?{_NAME}(?: next| again)?",
        rf"(?:when|as soon as) {_NAME} (?:is|am) next heard",
        rf"(?:when|as soon as|the next time|next time) {_NAME} (?:next )?(?:speaks?|talks?)(?: to you)?",
        rf"(?:when|as soon as|once) (?:i|we|{_NAME}) (?:get|gets|come|comes|am|are|is) (?:back )?home",
    ),
    "often": (
        rf"(?:on )?(?:every|each|the) (?:{_NTH}|last) (?:{_WEEKDAY}|day) of (?:every|each|the) month",
        rf"(?:on )?(?:every|each) (?:other |{_NTH} )?{_DAYS}(?: {_PART}s?)?",
        rf"(?:every|each) (?:other |{_NTH} |{_N} |half )?(?:minute|hour|(?:week|working )?day|weekend|week)s?",
        rf"(?:every|each) (?:other |{_NTH} |{_N} )?(?:month|year)s?",
        rf"(?:every|each) {_PART}",
        r"(?:on |at )?(?:weekdays|workdays|weekends)|nightly|hourly|(?-i:daily)|weekly|monthly|yearly",
        r"(?:once|twice|three times) (?:a|every|per) (?:hour|day|week|month|year)",
        rf"(?:on )?{_WEEKDAY}s(?:(?: and|,)? (?:on )?{_WEEKDAY}s)*",
        rf"(?:until|till|for) (?:the next )?{_N} (?:days|weeks|months)",
    ),
    "length": (rf"in {_LENGTH}(?:'?s'? time)?", rf"{_LENGTH} (?:from now|later|earlier|sooner)\b"),
    "day": (
        rf"(?:on )?{_WEEKDAY},? (?:on )?the (?:\d{{1,2}}(?:st|nd|rd|th)"
        rf"|{_NTH}(?= (?:at|to|from|in|around|by|that)\b|[,.?!]|$))(?! of\b)",
        rf"(?:on )?the (?:{_NTH}|last) {_WEEKDAY} (?:of|in) {_MONTH}",
        rf"(?:on )?(?:the )?{_NTH} of {_MONTH}(?: 20\d\d)?|(?:on )?{_MONTH} (?:the )?(?:{_NTH}|\d{{1,2}})(?: 20\d\d)?",
        rf"(?:on )?\d{{1,2}} {_MONTH}(?: 20\d\d)?|\d{{4}}-\d\d-\d\d",
        rf"(?:an?|{_N}) (?:weeks?|fortnights?) (?:(?:on|from|after) )?(?:next )?(?:{_WEEKDAY}|today|tomorrow)",
        rf"(?:on )?(?:{_WEEKDAY}|today|tomorrow) (?:week|fortnight)(?! (?:on|from|after|today|tomorrow))",
        rf"on the {_NTH}(?: of (?:the|this|next|every|each) month)?",
        rf"the day after tomorrow|tomorrow(?: {_PART})?|today|tonight|this {_PART}|yesterday|(?:on )?{_FEAST}",
        rf"(?:on )?(?:this coming |this |next |coming )?{_WEEKDAY}(?: {_PART}| next week)?",
        r"(?:at |on )?(?:the |this |next )?weekend|(?:this|next) (?:week|month|year)",
        rf"in the {_PART}|at night|(?:at|over) lunch(?:time)?",
    ),
    "clock": (
        rf"(?:(?:at|by|around|about) )?(?:half|(?:a )?quarter|{_N}(?: minutes)?) (?:past|to|before) "
        rf"(?:{_N}|noon|midnight)(?: o'?clock)?{_HALF}?",
        rf"(?:(?:at|by|around) )?(?:\d{{1,2}}[:.]\d\d{_HALF}?|{_N}(?: {_N})?{_HALF}|{_N} o'?clock{_HALF}?)",
        r"(?:(?:at|by|around) )?(?:noon|midday|midnight)|first thing(?! (?:i|we|on|that|in my)\b)",
        rf"(?:at|by|around) (?:half )?{_N}(?: (?:oh )?{_N})?(?! ?(?:percent|degrees|times|{UNIT_WORDS})\b)",
    ),
}
# Both languages at once: whoever reads a sentence here need not know which of them it is in, and no words are in both.
_KINDS = "|".join(rf"(?P<{kind}>{'|'.join((*german_moments.ATOMS[kind], *ways))})" for kind, ways in _ATOMS.items())
# Tried only where a word begins, and so as one of them does: of a hundred ways most are tried for no word.
_ATOM = re.compile(rf"\b(?=\w)(?={beginnings(_KINDS, 4)})(?:{_KINDS})(?![\w'-])", re.IGNORECASE)
_JOINT = re.compile(r",? (?:starting |until |till |ab |bis )?", re.IGNORECASE)
_WEEKEND = re.compile(r"\b(?:(?:am |übers )?(wochenende)|(?:at |on )?the weekend)\b", re.IGNORECASE)
BARE_HOUR = (
    rf"(?:(?:half|(?:a )?quarter) (?:past|to) )?{_N}(?: o'?clock)?{_HALF}?(?![\w'-])"
    rf"|{german_moments.HOURS}(?: uhr)?(?![\w'-])"
)
_BARE = re.compile(rf"{_N}(?: (?:oh )?{_N})?(?: o'?clock)?{_HALF}?(?![\w'-])", re.IGNORECASE)
_BARE_AFTER_DAY = re.compile(  # "the weekend one" is no hour
    rf" (?!one(?! {_N}))(?:half )?{_N}(?: {_N})?(?![\w'-]| (?:percent|degrees|{UNIT_WORDS}))", re.IGNORECASE
)
_GERMAN_AFTER_DAY = re.compile(german_moments.AFTER_DAY, re.IGNORECASE)
_OF_DAY = re.compile(rf"in the {_PART}|at night|(?:morgen|vormittag|mittag|nachmittag|abend|nacht)s", re.IGNORECASE)
_SAYS_HALF = re.compile(r"(?<=[\d ])(?P<half>[ap])m$", re.IGNORECASE)
_HOURS = re.compile(rf"\b{_N}(?=[\s:.]|[ap]m|$)", re.IGNORECASE)
_SAYS_PART = re.compile(rf"{_PART}|tonight|noon|midday|midnight|o'clock|[ap]m", re.IGNORECASE)
_PART_BEHIND = re.compile(rf" {_PART}$", re.IGNORECASE)
_A_WEEKDAY = re.compile(rf"(?:{_WEEKDAY}|{german_moments.WEEKDAY})(?=s?\b)", re.IGNORECASE)
_WEEKS = re.compile(rf"\b(?:(?P<alle>alle) \w+ wochen|every (?:other|second|{_N}) weeks?)", re.IGNORECASE)
_WITHIN_A_DAY = re.compile(r"minute|hour|stunde|stündlich|stuendlich", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MomentPart:
    """One piece of a moment: a day, a time of day, how often …"""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Moment:
    """Words that say when, and where they stand: characters `start` up to `end` (not included)."""

    text: str
    parts: tuple[MomentPart, ...]
    start: int
    end: int


@lru_cache(IN_MEMORY)
def find(text: str) -> tuple[Moment, ...]:
    """Return the moments in `text`, in order. "tomorrow at five" is one; "tomorrow to call at five" holds two."""
    moments: list[Moment] = []
    at = 0
    while atom := _ATOM.search(text, at):
        parts, end = [_part(atom)], atom.end()
        while (joint := _JOINT.match(text, end)) and (more := _ATOM.match(text, joint.end())):
            part = _part(more)
            if part.kind in ("clock", "event") and any(part.kind == other.kind for other in parts):
                break  # "at five and at six" are two
            parts.append(MomentPart(part.kind, joint.group().strip(" ,") + " " + part.text))
            end = more.end()
        # "tomorrow six thirty": a bare number says when only right after a day.
        clocked = any(part.kind == "clock" for part in parts)
        after_day = not clocked and parts[-1].kind == "day"
        if after_day and (bare := _BARE_AFTER_DAY.match(text, end) or _GERMAN_AFTER_DAY.match(text, end)):
            parts.append(MomentPart("clock", bare.group()))
            end = bare.end()
        pieces = tuple(MomentPart(part.kind, part.text.strip()) for part in parts)
        moments.append(Moment(text[atom.start() : end], pieces, atom.start(), end))
        at = end
    return tuple(moments)


def whole(text: str) -> Moment | None:
    """Return the moment that `text` is, from end to end; a bare hour ("six thirty") is one too."""
    words = text.strip()
    for moment in find(words):
        if (moment.start, moment.end) == (0, len(words)):
            return moment
    if german_moments.HOUR.fullmatch(words):
        return Moment(f"um {words}", (MomentPart("clock", f"um {words}"),), 0, len(words))
    if _BARE.fullmatch(words):
        return Moment(f"at {words}", (MomentPart("clock", f"at {words}"),), 0, len(words))
    return None


def corrected(text: str, by: Moment) -> str:
    """Return `text` with the parts that `by` says otherwise: ("tomorrow at five", "at six") → "tomorrow at six"."""
    replaced = {part.kind for part in by.parts}
    if _WEEKEND.search(by.text) and any(part.kind == "often" for moment in find(text) for part in moment.parts):
        return _WEEKEND.sub(lambda day: "jedes Wochenende" if day[1] else "every weekend", by.text)
    # "in ten minutes" and "every two hours" are whole answers to when; "in ten minutes" is replaced by any other.
    if replaced & {"length", "event"} or ("often" in replaced and _WITHIN_A_DAY.search(by.text)):
        return by.text
    if all(_OF_DAY.fullmatch(part.text) for part in by.parts if part.kind == "day"):
        replaced -= {"day"}  # "Thursday at eight", "eight in the morning"
    replaced |= {"length", "event"}
    replaced |= {"day", "often"} if replaced & {"day", "often"} else set()  # on which days: one says it all
    parts = [part for moment in find(text) for part in moment.parts]
    weekdays = {day[0] for part in parts if part.kind in ("often", "day") for day in _A_WEEKDAY.finditer(part.text)}
    if len(weekdays) == 1 and (weeks := _WEEKS.search(by.text)) and not _A_WEEKDAY.search(by.text):
        day = f"{'am' if weeks['alle'] else 'on'} {weekdays.pop()}"  # "every Friday at eight", "only every two weeks"
        clocks = [part.text for part in parts if part.kind == "clock" and "clock" not in replaced]
        return " ".join([by.text[: weeks.end()], day, by.text[weeks.end() :].strip(), *clocks]).replace("  ", " ")
    of_day = [part.text for part in parts if "often" in {one.kind for one in by.parts} and _OF_DAY.fullmatch(part.text)]
    anew = any(part.kind == "day" for part in by.parts)
    remainder = [
        part.text
        for part in parts
        if (part.kind not in replaced and not (anew and _OF_DAY.fullmatch(part.text))) or part.text in of_day
    ]
    if "clock" not in replaced:
        return " ".join([by.text, *remainder])
    before = [part.text for part in parts if part.kind == "clock"]
    half = _half_kept(before[0], by) if len(before) == 1 and not any(map(_SAYS_PART.search, remainder)) else ""
    return " ".join([*remainder, f"{by.text}{half}"])


def behind(text: str, clock: str, at: str) -> str:
    """Return a bare time later on the day of another, which was `at` a time: ("at three tomorrow", "at seven", "3 PM").

    "" where it is no bare time, the other names no day, or it is past midnight.
    """
    days = [part.text for moment in find(text) for part in moment.parts if part.kind == "day"]
    bare = {part.kind for moment in find(clock) for part in moment.parts} == {"clock"} and not _SAYS_PART.search(clock)
    hour, before, pm = _hour(clock), _hour(at), at.endswith("PM")
    if len(days) != 1 or not bare or not 0 < hour < 12 or not 0 < before < 12:
        return ""
    later = hour > before
    return f"{_PART_BEHIND.sub('', days[0])} {clock} {'pm' if pm or not later else 'am'}" if later or not pm else ""


def in_its_half(text: str, at: str) -> str:
    """Return a time without a half of the day with the one of the moment that was made of it, `2026-11-24T19:00`."""
    clocks = [part.text for moment in find(text) for part in moment.parts if part.kind == "clock"]
    hour = int(at[11:13]) if at[11:13].isdigit() else 0
    bare = len(clocks) == 1 and clocks[0].startswith(("at ", "by ", "around ")) and not _SAYS_PART.search(text)
    if not bare or not 0 < hour % 12 == _hour(clocks[0]):
        return text
    return text.replace(clocks[0], f"{clocks[0]} {'pm' if hour > 12 else 'am'}")


def _half_kept(clock: str, by: Moment) -> str:
    """Return the half of the day that a time has which is said anew without: of eight pm, "half past" or "seven".

    The half in which it is nearest to what it was: of eleven am "one" is in the afternoon.
    """
    spoken, before = _SAYS_HALF.search(clock), _hour(clock)
    new = _hour(by.parts[-1].text) if by.parts[-1].kind == "clock" and not _SAYS_PART.search(by.text) else 0
    if not spoken or not 0 < before < 12 or not 0 < new < 12:
        return ""
    halves = {"am": 0, "pm": 12}
    same = f"{spoken['half'].lower()}m"
    at = before + halves[same]
    return " " + min(halves, key=lambda half: (abs(new + halves[half] - at), half != same))


def _hour(clock: str) -> int:
    """Return the hour that a time of day names, of "ten past eight" the last of its numbers; 0 for none."""
    numbers = _HOURS.findall(clock)
    return number_of(numbers[-1 if names_hour_last(clock) else 0]) if numbers else 0


def names_hour_last(clock: str) -> bool:
    """Tell whether a time of day names its minutes before its hour: "ten past eight"."""
    return not {"past", "to", "before"}.isdisjoint(clock.split())


def day_of(text: str) -> str:
    """Return the day in words that say when, without the time of day; all of them where they name none."""
    days = [part.text for moment in find(text) for part in moment.parts if part.kind == "day"]
    return " ".join(days) or text


def _part(atom: re.Match[str]) -> MomentPart:
    kind: Kind = next(kind for kind in _ATOMS if atom[kind])
    return MomentPart(kind, atom.group())
