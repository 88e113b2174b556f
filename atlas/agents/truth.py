"""No claim without a deed: what says that something was done is held back until a receipt stands behind it. Pure.

It works a sentence at a time on text as it streams. What counts as a claim is said in `claims.py`. A claim must fit
what was done: the same kind of thing, the same doing, the same numbers, names and rooms. One that does not is
replaced by what the tools themselves said, so being strict costs a turn of phrase, never the truth. Whether what is
said about the world is true is beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from atlas.agents.claims import claim
from atlas.agents.deed_words import plain, topics
from atlas.agents.owning_up import owns_up
from atlas.agents.present import contradicts_clock
from atlas.agents.tongues import ENGLISH, Tongue, Tongues
from atlas.agents.wanted import read
from atlas.conversation import ToolCall, ToolResult
from atlas.understanding.durations import UP_TO_99, number_of

LONGEST_CHARACTERS = 600  # a sentence is not held back longer than this; what never ends is no claim
_END = re.compile(r"[.!?…]+[\"'”’“«)\]*_]*(?=\s)\s+|\n+")

_ALSO = {  # what a deed may be called in a tool's name, where a claim calls it otherwise
    **{"list": ("task",), "task": ("list",), "order": ("shop",), "device": ("home.",), "music": ("media", "play")},
    **{"climate": ("degree", "warm"), "cover": ("window",), "remind": ("alarm",), "alarm": ("remind",)},
    **{"mail": ("message",), "message": ("mail",), "note": ("fact",), "file": ("note",)},
}
_TIME_UNITS = 60, 3600  # tools count in seconds
_HALF_DAY = 12  # "at five" is 17:00
_NUMBER = re.compile(rf"\b(?:\d+|{UP_TO_99})\b", re.IGNORECASE)
_WORD = re.compile(r"[\w'-]+")


@dataclass(frozen=True, slots=True)
class Deeds:
    """What was done in this turn, each as words: tool, arguments, receipt, result. `read` changed nothing."""

    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    failed: str = ""  # why the last failed call failed, in words fit to be spoken
    asked: str = ""  # what the person said: a reply that says it is so claims it
    told: tuple[str, ...] = ()  # what the tools said of the changes, in words fit to be spoken
    found: tuple[str, ...] = ()  # and of what was looked up
    now: datetime | None = None  # by the house's clock

    def done(self, call: ToolCall, result: ToolResult) -> Deeds:
        """Return these and one that changed something."""
        assert result.receipt, "without a receipt nothing was done"
        words = _words_of(call, f"{result.receipt.changed} {result.text}")
        return replace(self, changed=(*self.changed, words), told=(*self.told, result.text), failed="")

    def looked_up(self, call: ToolCall, result: ToolResult) -> Deeds:
        """Return these and one that read something."""
        return replace(self, read=(*self.read, _words_of(call, result.text)), found=(*self.found, result.text))


def _words_of(call: ToolCall, text: str) -> str:
    """Return tool, arguments and outcome as words; an argument's own name ("on") says nothing of what was done."""
    return " ".join((call.name, *_values(dict(call.arguments)), text))


def _values(given: object) -> Iterator[str]:
    match given:
        case dict():
            for value in given.values():
                yield from _values(value)
        case list() | tuple():
            for value in given:
                yield from _values(value)
        case str() | int() | float() if not isinstance(given, bool):
            yield str(given)


def is_true(sentence: str, deeds: Deeds, tongues: Tongues = ENGLISH) -> bool:
    """Tell whether `sentence` claims nothing in any of these languages, or nothing but what `deeds` can show."""
    asked = read(deeds.asked, tongues)
    for tongue in tongues:
        match claim(sentence, asked, tongue):
            case "deed" if not _shown(plain(sentence), deeds.changed, tongue, tongues, done=True):
                return False
            case "state" if not _shown(plain(sentence), deeds.changed + deeds.read, tongue, tongues, done=False):
                return False
    return _is_present(sentence, deeds, tongues)


def _is_present(sentence: str, deeds: Deeds, tongues: Tongues) -> bool:
    """Tell whether a time or day that is said to be now is so: by the clock, or as it was looked up in this turn."""
    words = plain(sentence)
    if deeds.now is None or _looked_up(words, deeds, tongues):
        return True
    asked = read(deeds.asked, tongues)
    return not any(contradicts_clock(words, asked, deeds.now, tongue) for tongue in tongues)


def _looked_up(words: str, deeds: Deeds, tongues: Tongues) -> bool:
    shown = " ".join(deeds.changed + deeds.read).lower()
    days = {day for tongue in tongues for day in (*tongue.weekdays, *tongue.months)} & {*_words(words)}
    return (
        bool(shown)
        and _numbers(words, tongues) <= _near(_numbers(shown, tongues))
        and all(day in shown for day in days)
    )


def _shown(words: str, deeds: Sequence[str], tongue: Tongue, tongues: Tongues, *, done: bool) -> bool:
    """Tell whether `deeds` show what is claimed. `done`: it says what was done, and not only how things stand.

    The claim is read in its own language; the deeds in all, for tools have English names and may be told in another.
    """
    shown = " ".join(deeds).lower()
    named, spoken_of = topics(words, (tongue,)), topics(shown, tongues)
    return (
        bool(deeds)
        and all(topic in spoken_of or _is_named(topic, shown) for topic in named)
        and (not done or _same_doings(words, shown, tongue, tongues))
        and not _contradicts(words.lower(), shown, tongue, tongues)
        and _numbers(words, (tongue,)) <= _near(_numbers(shown, tongues))
        and (not tongue.has(words, "all_of_them") or len(deeds) > 1 or _tells_of_all(shown, tongues))
        and all(_is_spoken_of(word, shown) for word in _particulars(words, tongue))
    )


def _is_named(topic: str, shown: str) -> bool:
    return any(stem in shown for stem in (topic, *_ALSO.get(topic, ())))


def _tells_of_all(shown: str, tongues: Tongues) -> bool:
    return any(tongue.has(shown, "all_of_them") for tongue in tongues)


def _same_doings(words: str, shown: str, tongue: Tongue, tongues: Tongues) -> bool:
    known = set().union(*(what for each in tongues for how, what in each.doings if how.search(shown)))
    return not known or all(what & known for how, what in tongue.doings if how.search(words))


def _contradicts(words: str, shown: str, tongue: Tongue, tongues: Tongues) -> bool:
    """Tell whether the claim says one thing where the deeds only ever say the opposite."""
    for number, pair in enumerate(tongue.opposites):
        for side, (stands, _) in enumerate(pair):
            if (
                stands.search(words)
                and any(each.opposites[number][1 - side][1].search(shown) for each in tongues)
                and not any(each.opposites[number][side][1].search(shown) for each in tongues)
            ):
                return True
    return False


def _numbers(words: str, tongues: Tongues) -> set[int]:
    found = (match[0].lower() for match in _NUMBER.finditer(words))
    numbers = {int(word) if word.isdigit() else int(number_of(word) or 0) for word in found if word != "one"}
    spoken = (tongue.numbers.get(word, 0) for tongue in tongues if tongue.numbers for word in _words(words))
    return numbers.union(spoken) - {0}


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(text.lower()))


def _near(numbers: set[int]) -> set[int]:
    """Return the numbers that these may be spoken as: 600 seconds as ten, 17:00 as five."""
    spoken = {number // unit for number in numbers for unit in _TIME_UNITS if number % unit == 0}
    return (
        numbers | spoken | {abs(number - _HALF_DAY) for number in numbers} | {number + _HALF_DAY for number in numbers}
    )


def _particulars(words: str, tongue: Tongue) -> set[str]:
    """Return the words that say which one: of "the kitchen lights" the kitchen, of "added milk to" the milk."""
    which = {
        found["which"]
        for form in ("which_of_them", "which_room", "which_name")
        for found in tongue[form].finditer(words)
    }
    which |= {word for found in tongue["put_what"].finditer(words) for word in _words(found["what"])}
    return {
        word
        for word in map(str.lower, which)
        if word not in tongue.words["free"] and not _numbers(word, (tongue,)) and not _is_verb(word, tongue)
    }


def _is_verb(word: str, tongue: Tongue) -> bool:
    return (
        word.endswith(tuple(tongue.words["verb_endings"]))
        or any(how.fullmatch(word) for how, _ in tongue.doings)
        or bool(topics(word, (tongue,)))
    )


def _is_spoken_of(word: str, shown: str) -> bool:
    stem = word.removesuffix("'s").removesuffix("s")
    return stem in shown or any(part in shown for part in stem.split("-") if len(part) > 2)


def correction(said: str, deeds: Deeds, tongues: Tongues = ENGLISH) -> str:
    """Return what must be added to a whole reply, so that nobody believes more than was done; "" for nothing.

    No list of phrases is long enough for "I'll nudge you at five". So, whatever the words: who asked for a deed hears
    that there was none, and who asked how things stand hears that nobody looked, unless the reply says so itself.
    """
    says = tongues[0].says
    if deeds.changed or owns_up(said, tongues) or says["not_done"] in said or says["not_known"] in said:
        return ""
    asked = read(deeds.asked, tongues)
    was_so = bool(deeds.read) and any(tongue.has(said, "already") for tongue in tongues)
    if asked.wants_deed and not was_so:
        return says["failed"].format(deeds.failed) if deeds.failed else says["not_done"]
    if asked.asks_how_things_stand and not deeds.read:
        return says["not_known"]
    return ""


class Truth:
    """The filter of one answer: text in as it streams, and out again what may be said. Nothing is lost or reordered.

    From the first claim without a deed on, everything waits for `settle`, because the call that makes it true may still
    come: models like to announce first and act later.
    """

    def __init__(self, tongues: Tongues = ENGLISH) -> None:
        self._tongues = tongues  # that a claim may be made in
        self._unread = ""  # the beginning of a sentence
        self._waiting: list[str] = []  # whole sentences, from the first unproven claim on
        self._confessed = False

    @property
    def is_amid(self) -> bool:
        """Whether a sentence has begun and not ended."""
        return bool(self._unread.strip())

    def feed(self, text: str, deeds: Deeds) -> str:
        """Take more text; return what may be said now."""
        self._unread += text
        free: list[str] = []
        while end := _end(self._unread):
            sentence, self._unread = self._unread[:end], self._unread[end:]
            if self._waiting or not is_true(sentence, deeds, self._tongues):
                self._waiting.append(sentence)
            else:
                free.append(sentence)
        return "".join(free)

    def settle(self, deeds: Deeds) -> str:
        """Return what remains to be said, each claim judged: the text has ended, and all that it asked for is done."""
        sentences, self._waiting, self._unread = [*self._waiting, self._unread], [], ""
        said: list[str] = []
        for sentence in sentences:
            if is_true(sentence, deeds, self._tongues):
                said.append(sentence)
            elif not self._confessed:
                self._confessed = True
                said.append(_confession(sentence, deeds, self._tongues) + (sentence[len(sentence.rstrip()) :]))
        return "".join(said)


def _end(text: str) -> int:
    """Return where the first sentence of `text` ends, its white space included; 0 while it has not ended."""
    if found := _END.search(text[: LONGEST_CHARACTERS + 1]):
        return found.end()
    return 0 if len(text) <= LONGEST_CHARACTERS else (text.rfind(" ", 0, LONGEST_CHARACTERS) + 1 or LONGEST_CHARACTERS)


def _confession(sentence: str, deeds: Deeds, tongues: Tongues) -> str:
    """Return what is true instead of a claim that is not."""
    says = tongues[0].says
    if deeds.failed:
        return says["failed"].format(deeds.failed)
    if deeds.told:
        return says["did"].format(" ".join(deeds.told))
    asked = read(deeds.asked, tongues)
    kinds = {claim(sentence, asked, tongue) for tongue in tongues}
    if "deed" not in kinds:  # but how things stand, or what time it is
        return says["found"].format(" ".join(deeds.found)) if deeds.found else says["not_known"]
    return says["not_done"]
