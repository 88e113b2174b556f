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

from atlas.agents.claims import claim
from atlas.agents.deed_words import TOPIC, plain, topics
from atlas.agents.durations import UP_TO_99, number_of
from atlas.agents.owning_up import owns_up
from atlas.agents.wanted import asks_for_deed, asks_how_things_stand
from atlas.conversation import ToolCall, ToolResult

NOT_DONE = "I haven't done that: nothing was changed."
NOT_KNOWN = "I haven't looked that up, so I can't say."
LONGEST_CHARACTERS = 600  # a sentence is not held back longer than this; what never ends is no claim
_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?=\s)\s+|\n+")

_ALSO = {  # what a deed may be called in a tool's name, where a claim calls it otherwise
    **{"list": ("task",), "task": ("list",), "order": ("shop",), "device": ("home.",), "music": ("media", "play")},
    **{"climate": ("degree", "warm"), "cover": ("window",), "remind": ("alarm",), "alarm": ("remind",)},
    **{"mail": ("message",), "message": ("mail",), "note": ("fact",), "file": ("note",)},
}
_DOINGS = {  # how a doing is told → what it may have been
    r"set|star\w+|add\w*|creat\w+|schedul\w+|book\w*|sav\w+|not(?:ed|ing)|made|arrang\w+|record\w*|order\w*": (
        "make change"
    ),
    r"cancel\w*|delet\w+|remov\w+|clear\w*|eras\w+|wip\w+|forg\w+|archiv\w+": "remove stop",
    r"(?:turn|switch|power)\w* (?:[\w']+ ){0,4}on|enabl\w+|activat\w+": "on make",
    r"(?:turn|switch|power|shut)\w* (?:[\w']+ ){0,4}(?:off|down)|disabl\w+|deactivat\w+": "off stop change",
    r"open\w*|rais\w+": "open change",
    r"clos\w+|shut|lower\w*": "close change",
    r"lock\w*": "lock",
    r"unlock\w*": "open",
    r"sen[dt]\w*|e-?mailed|texted|messaged|repl(?:y|ied)|forward\w*": "send",
    r"paus\w+": "pause",
    r"resum\w+|play\w*|continu\w+": "play",
    r"stop\w*|silenc\w+|dismiss\w*": "stop off pause remove",
    r"snooz\w+": "snooze",
    r"skip\w*": "skip",
    r"mov\w+|postpon\w+|reschedul\w+|chang\w+|updat\w+|renam\w+|adjust\w*|dimm?\w*|brighten\w*|assign\w*"
    r"|increas\w+|decreas\w+|extend\w*|shorten\w*": "change make",
    r"mark\w*|complet\w+|finish\w*|tick\w*|check\w*|cross\w*": "done change",
    r"undo\w*|undid|revert\w*|restor\w+|took back|taken back": "undo",
}
_DOING = [(re.compile(rf"\b(?:{how})\b", re.IGNORECASE), set(what.split())) for how, what in _DOINGS.items()]
_OPPOSITES = (("on", "off"), ("open", "closed"), ("open", "shut"), ("locked", "unlocked"), ("paused", "playing"))
_TIME_UNITS = 60, 3600  # tools count in seconds
_HALF_DAY = 12  # "at five" is 17:00
_NUMBER = re.compile(rf"\b(?:\d+|{UP_TO_99})\b", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|every|both|everything|each)\b(?! set| done| right| good| sorted)", re.IGNORECASE)
_BEFORE_A_TOPIC = re.compile(
    rf"\b(?P<which>[\w'-]+)(?= (?:{'|'.join(said.pattern for said in TOPIC.values())}))", re.IGNORECASE
)
_PUT = re.compile(
    r"\b(?:add|put|remov|delet|cross|tak|took|mark|check|tick|buy|bought)\w*(?P<what>(?: [\w',-]+){1,8}?) "
    r"(?:to|from|off|on|onto|into|as)\b",
    re.IGNORECASE,
)
_ROOM = re.compile(r"\b(?:in|of) the (?P<which>[\w'-]+)", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z,] )(?P<which>[A-Z][\w'-]+)")
_FREE_WORDS = (  # that tell no thing from another
    "the a an your my our that this some new all both every each any it its them and or of for now just also "
    "already been have has is are was i've i we you me i'll i'm up off on out to in as with from at by next first "
    "other another one same current smart following requested default day morning evening afternoon night house "
    "home background meantime minute minutes hour hours second seconds list shopping item items reminder set add "
    "done ok okay atlas"
)
_FREE = frozenset(_FREE_WORDS.split())
_ALREADY = re.compile(r"\balready\b", re.IGNORECASE)
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


def is_true(sentence: str, deeds: Deeds) -> bool:
    """Tell whether `sentence` claims nothing, or nothing but what `deeds` can show."""
    match claim(sentence, deeds.asked):
        case "deed":
            return _shown(plain(sentence), deeds.changed, done=True)
        case "state":
            return _shown(plain(sentence), deeds.changed + deeds.read, done=False)
    return True


def _shown(words: str, deeds: Sequence[str], *, done: bool) -> bool:
    """Tell whether `deeds` show what is claimed. `done`: it says what was done, and not only how things stand."""
    shown = " ".join(deeds).lower()
    return (
        bool(deeds)
        and all(TOPIC[topic].search(shown) or _is_named(topic, shown) for topic in topics(words))
        and (not done or _same_doings(words, shown))
        and not any(_contradicts(words.lower(), shown, *pair) for pair in (*_OPPOSITES, *map(_turned, _OPPOSITES)))
        and _numbers(words) <= _near(_numbers(shown))
        and (not _ALL.search(words) or len(deeds) > 1 or bool(_ALL.search(shown)))
        and all(_is_spoken_of(word, shown) for word in _particulars(words))
    )


def _is_named(topic: str, shown: str) -> bool:
    return any(stem in shown for stem in (topic, *_ALSO.get(topic, ())))


def _same_doings(words: str, shown: str) -> bool:
    known = set().union(*(what for how, what in _DOING if how.search(shown)))
    return not known or all(what & known for how, what in _DOING if how.search(words))


def _contradicts(words: str, shown: str, said: str, other: str) -> bool:
    """Tell whether the claim says `said` where the deeds only ever say the opposite."""
    return (
        bool(
            re.search(
                rf"\b(?:{said})\W*$|\b(?:turn|switch)\w* (?:[\w']+ ){{0,4}}{said}\b|\b(?:is|are|now) {said}\b", words
            )
        )
        and bool(re.search(rf"\b{other}\b", shown))
        and not re.search(rf"\b{said}\b", shown)
    )


def _turned(pair: tuple[str, str]) -> tuple[str, str]:
    return pair[1], pair[0]


def _numbers(words: str) -> set[int]:
    found = (match[0].lower() for match in _NUMBER.finditer(words))
    return {int(word) if word.isdigit() else int(number_of(word) or 0) for word in found if word != "one"} - {0}


def _near(numbers: set[int]) -> set[int]:
    """Return the numbers that these may be spoken as: 600 seconds as ten, 17:00 as five."""
    spoken = {number // unit for number in numbers for unit in _TIME_UNITS if number % unit == 0}
    return (
        numbers | spoken | {abs(number - _HALF_DAY) for number in numbers} | {number + _HALF_DAY for number in numbers}
    )


def _particulars(words: str) -> set[str]:
    """Return the words that say which one: of "the kitchen lights" the kitchen, of "added milk to" the milk."""
    which = {
        found["which"] for found in (*_BEFORE_A_TOPIC.finditer(words), *_ROOM.finditer(words), *_NAME.finditer(words))
    }
    which |= {word for found in _PUT.finditer(words) for word in _WORD.findall(found["what"])}
    return {word for word in map(str.lower, which) if word not in _FREE and not _numbers(word) and not _is_verb(word)}


def _is_verb(word: str) -> bool:
    return word.endswith(("ed", "ing", "ly")) or any(how.fullmatch(word) for how, _ in _DOING) or bool(topics(word))


def _is_spoken_of(word: str, shown: str) -> bool:
    stem = word.removesuffix("'s").removesuffix("s")
    return stem in shown or any(part in shown for part in stem.split("-") if len(part) > 2)


def correction(said: str, deeds: Deeds) -> str:
    """Return what must be added to a whole reply, so that nobody believes more than was done; "" for nothing.

    No list of phrases is long enough for "I'll nudge you at five". So, whatever the words: who asked for a deed hears
    that there was none, and who asked how things stand hears that nobody looked, unless the reply says so itself.
    """
    if deeds.changed or owns_up(said) or NOT_DONE in said or NOT_KNOWN in said:
        return ""
    if asks_for_deed(deeds.asked) and not (deeds.read and _ALREADY.search(said)):
        return NOT_DONE if not deeds.failed else f"I haven't done that: {deeds.failed}"
    if asks_how_things_stand(deeds.asked) and not deeds.read:
        return NOT_KNOWN
    return ""


class Truth:
    """The filter of one answer: text in as it streams, and out again what may be said. Nothing is lost or reordered.

    From the first claim without a deed on, everything waits for `settle`, because the call that makes it true may still
    come: models like to announce first and act later.
    """

    def __init__(self) -> None:
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
            if self._waiting or not is_true(sentence, deeds):
                self._waiting.append(sentence)
            else:
                free.append(sentence)
        return "".join(free)

    def settle(self, deeds: Deeds) -> str:
        """Return what remains to be said, each claim judged: the text has ended, and all that it asked for is done."""
        sentences, self._waiting, self._unread = [*self._waiting, self._unread], [], ""
        said: list[str] = []
        for sentence in sentences:
            if is_true(sentence, deeds):
                said.append(sentence)
            elif not self._confessed:
                self._confessed = True
                said.append(_confession(sentence, deeds) + (sentence[len(sentence.rstrip()) :]))
        return "".join(said)


def _end(text: str) -> int:
    """Return where the first sentence of `text` ends, its white space included; 0 while it has not ended."""
    if found := _END.search(text[: LONGEST_CHARACTERS + 1]):
        return found.end()
    return 0 if len(text) <= LONGEST_CHARACTERS else (text.rfind(" ", 0, LONGEST_CHARACTERS) + 1 or LONGEST_CHARACTERS)


def _confession(sentence: str, deeds: Deeds) -> str:
    """Return what is true instead of a claim that is not."""
    if deeds.failed:
        return f"I haven't done that: {deeds.failed}"
    if deeds.told:
        return f"This is what I did: {' '.join(deeds.told)}"
    if claim(sentence, deeds.asked) == "state":
        return f"This is what I found: {' '.join(deeds.found)}" if deeds.found else NOT_KNOWN
    return NOT_DONE
