"""A sentence → the tool calls it asks for, or nothing. No model: hassil over the public grammar and Atlas's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Any

from hassil.recognize import RecognizeResult

from atlas.understanding import durations, moments
from atlas.understanding.clauses import Clauses
from atlas.understanding.digits_and_fractions import FRACTION, value_of
from atlas.understanding.durations import number_of
from atlas.understanding.forms import Forms
from atlas.understanding.names import NOBODY, NamedPlace, Names
from atlas.understanding.patterns import Rewrites
from atlas.understanding.slots import Command, MaskedSentence, Slots
from atlas.understanding.templates import HALF, Templates, open_sentences

__all__ = ["Command", "Grammar", "Half", "open_grammar"]

LONGEST_CHARACTERS = 200  # no command is longer; longer text is conversation, and costs time to match
REMEMBERED = 128  # sentences, and parts of them
MOST_COMMANDS = 3  # in one sentence; who strings more together is telling a story
MOST_JOINTS = 12  # "and", "then" or a comma where one may end; each is tried, and costs about a millisecond
# Of silence, before a command is acted on that could go on ("… and thirty seconds"). Pauses inside a phrase are mostly
# shorter; after any other sentence the speaker is given longer. Thirteen frames of the speech detector.
OPEN_COMMAND_SECONDS = 0.41
_PLACEHOLDERS = ("whena", "whenb", "whenc", "whend")
_MARK = r"[,.!?;:…\"“”()\[\]]+"  # "1.5", "7:30" and "todo.txt" keep theirs
_MARKS = re.compile(rf"(?!\.(?:txt|md|csv|pdf)\b)(?:(?<!\d){_MARK}|{_MARK}(?!\d))")
_NUMBER = durations.UP_TO_99
_NUMBERS = re.compile(rf"\d{{1,3}}|{_NUMBER}", re.IGNORECASE)
_FRACTION = re.compile(rf"(?<![\d/.,]){FRACTION}(?= [^\W\d])(?! (?:of|and|or|at|to|in|is)\b)")  # of a unit
_COUNTED = re.compile(rf"\b({_NUMBER})(?= (?:percent|degrees|emails|messages)\b)", re.IGNORECASE)
_SET_TO = re.compile(rf"(?:(?<=\bto )|(?<=^volume ))({_NUMBER})(?=$| in )", re.IGNORECASE)
_SET = re.compile(r"\b(?:volume|music|sound|heating|thermostat|temperature)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Half:
    """A command that lacks something, and the question that asks for it."""

    question: str
    tools: tuple[str, ...]  # that an answer may lead to
    asks: Mapping[str, Any]  # as written in asks.yaml
    heard: Mapping[str, str]  # the slots that were said
    beside: tuple[Command, ...] = ()  # what was said with it and lacks nothing: "add milk and what time is it"

    def says(self, written: str, answer: str = "") -> str:
        """Return what would have been said at once, with the answer in its place."""
        return " ".join(written.format(**{**self.asks.get("else", {}), **self.heard, "answer": answer}).split())


class Grammar:
    """The commands of one language. Immutable once opened; matching takes a few milliseconds and no I/O."""

    def __init__(self, tables: Mapping[str, Any], templates: Templates) -> None:
        self.tables = tables  # its words, for whoever reads sentences about commands
        self._templates = templates
        self.slots = Slots(tables)
        self._asks: Mapping[str, Mapping[str, Any]] = tables["asks"]
        self._seconds: str = tables["seconds"]
        numbers: Sequence[str] = tables["numbers"]
        self._numbers = {word: str(value) for value, word in enumerate(numbers)}
        self._written = re.compile(rf"\b(?:{'|'.join(numbers[::-1]) or _NUMBER})\b", re.IGNORECASE)
        half = tables.get("and_a_half", "(?!)")
        self._halves = re.compile(rf"\b({'|'.join(numbers[::-1]) or '(?!)'}){half}\b", re.IGNORECASE)
        self._half_behind = re.compile(rf"\b(\d+){half}\b", re.IGNORECASE)
        self._counted = re.compile(rf"\b({'|'.join(numbers[::-1]) or '(?!)'})(?={tables['units']})", re.IGNORECASE)
        self._marks = Rewrites(tables["marks"])
        self._rewrites = Rewrites(tables["rewrites"])
        self._opener = re.compile(rf"(?:{'|'.join(tables['openers'])})(?![\w'-])[ ,]*(?=\S)", re.IGNORECASE)
        self._closer = re.compile(rf"[ ,]+(?:{'|'.join(tables['closers'])})$", re.IGNORECASE)
        self._filler = re.compile(rf"[ ,]+(?:{'|'.join(tables['fillers'])})$", re.IGNORECASE)
        self._negation = re.compile(tables["negations"], re.IGNORECASE)
        self._denied = [(re.compile(pattern, re.IGNORECASE), to) for pattern, to in tables["denied"]]
        self._told = re.compile(tables["told"], re.IGNORECASE)
        self._second_command = re.compile(tables["second_commands"], re.IGNORECASE)
        # A voice asks about the same words several times, at a pause, at their end, and when they are answered; and so
        # do the minds, one after the other.
        self._all = lru_cache(REMEMBERED)(self._one_or_several)
        self._free = lru_cache(REMEMBERED)(self._freely)
        self._one = lru_cache(REMEMBERED)(self._matched)
        self._bare = lru_cache(REMEMBERED)(self._unwrapped)
        self._denies = lru_cache(REMEMBERED)(self._has_negation)
        self.unmarked = lru_cache(REMEMBERED)(self._without_marks)
        self.digits = lru_cache(REMEMBERED)(self._in_digits)
        self._joint = re.compile(tables["joints"], re.IGNORECASE)
        self._silence = re.compile(tables["silence"], re.IGNORECASE)
        self.clauses = Clauses(tables.get("clauses", {}), tables.get("form_parts", {}))
        self._forms = Forms(tables, self.slots)

    def commands(self, text: str, names: Names = NOBODY) -> tuple[Command, ...]:
        """Return the commands that `text` is, from its first word to its last; else none at all.

        Several are in one sentence when each is whole by itself: "set a timer for ten minutes and lock the door". What
        no sentence template knows is read by its clauses and in any order of words; there `names` says who may be
        spoken to instead of the house.
        """
        if len(text) > LONGEST_CHARACTERS:
            return ()
        return (() if self._denies(text) else self._all(text)) or self._free(
            text, names.people, names.rooms, names.called
        )

    def read(self, text: str) -> Command | None:
        """Return the command that `text` is when it is exactly one; else `None`."""
        commands = self.commands(text)
        return commands[0] if len(commands) == 1 else None

    def half(self, text: str, names: Names = NOBODY) -> Half | None:
        """Return what `text` asks for when one thing is missing; `None` for anything else."""
        half = self._any_half(text, names)
        tried = half.asks.get("tried") if half else None
        return None if half and tried and not self.commands(half.says(half.asks["says"], tried), names) else half

    def _any_half(self, text: str, names: Names) -> Half | None:
        """Return half of a command, whether or not an answer could make it whole."""
        if len(text) > LONGEST_CHARACTERS or self.commands(text, names):
            return None
        if not self._denies(text) and (half := self._halved(text) or self._half_beside(text)):
            return half
        core = next(reversed(self.clauses.candidates(text, names.people)), text)
        return None if core == text or self._denies(core) else self._halved(core)

    def forbids(self, text: str) -> bool:
        """Tell whether `text` begins with what is not to be done: "don't set a timer, …"."""
        return self._forms.forbids(self.unmarked(text))

    def denied(self, text: str) -> bool:
        """Tell whether `text` is a command, or half of one, and a "don't", and nothing more."""
        if not self.is_negated(text):
            return False
        words, _ = self._bare(text)
        bare = words
        for pattern, to in self._denied:
            bare = pattern.sub(to, bare, count=1)
        if bare == words or self.is_negated(bare):
            return False
        return self.read(bare) is not None or (not self.commands(bare) and self._halved(bare) is not None)

    def _half_beside(self, text: str) -> Half | None:
        """Return half of a command, and the whole one that a sentence joins with it, whichever is said first."""
        for joint in islice(self._joint.finditer(text), MOST_COMMANDS):
            sides = text[: joint.start()], text[joint.end() :]
            for lacking, whole in (sides, sides[::-1]):
                if (beside := self._one(whole)) and (half := self._halved(lacking)):
                    return replace(half, beside=beside)
        return None

    def _halved(self, text: str) -> Half | None:
        """Return what all of `text` asks for when one thing is missing."""
        words, _ = self._bare(text)
        heard = self._heard(words, text)
        for result in sorted(self._templates.match(heard.plain, half=True), key=_guessed):
            name = result.intent.name.removeprefix(HALF)
            slots = {entity.name: " ".join(entity.text.split()) for entity in result.entities_list}
            if not all(self._may_be_asked_about(key, value) for key, value in slots.items()):
                continue
            if len(heard.substitutes) > len({*slots} & {"when", "length"}):
                continue  # it says when, and yet not in a place where that was understood
            return self.lacking(name, {key: heard.substitutes.get(value, value) for key, value in slots.items()})
        return None

    def lacking(self, name: str, slots: Mapping[str, str]) -> Half:
        """Return half a command by its name in asks.yaml, with what was said of it."""
        asks = self._asks[name]
        tools = {choice["tool"] for choice in asks["choices"] if "tool" in choice} | {*filter(None, [asks.get("tool")])}
        return Half(asks["question"].format(**slots), tuple(sorted(tools)), asks, slots)

    def wants_silence(self, text: str) -> bool:
        """Tell whether `text`, said over a reply, wants it to end and no other."""
        return bool(self._silence.fullmatch(self.plain_words(text)))

    def is_negated(self, text: str, names: Names = NOBODY) -> bool:
        """Tell whether `text` says not to do something; a "no" beside a whole command ("with no fuss") does not."""
        return self._denies(text) and not self._free(text, names.people, names.rooms, names.called)

    def _has_negation(self, text: str) -> bool:
        """Tell whether `text` holds a word that may say not to do something."""
        return len(text) <= LONGEST_CHARACTERS and bool(self._negation.search(self._told.sub("", self._bare(text)[0])))

    def _without_marks(self, text: str) -> str:
        """Return the words of `text` without punctuation, but with everything that was said around a request."""
        if len(text) > LONGEST_CHARACTERS:
            return ""
        words = _unpunctuated(text)
        while ending := self._closer.search(words):
            words = words[: ending.start()]
        return words

    def plain_words(self, text: str) -> str:
        """Return the words of `text` without punctuation and politeness."""
        return self._bare(text)[0] if len(text) <= LONGEST_CHARACTERS else ""

    def _in_digits(self, words: str) -> str:
        """Return the words with every number that is written out as digits."""
        words = self._halves.sub(lambda match: f"{self._numbers[match[1].lower()]}.5", words)
        words = _FRACTION.sub(lambda match: f"{value_of(match[0]):.4g}", words)
        words = self._written.sub(lambda match: self._numbers.get(match[0].lower()) or str(number_of(match[0])), words)
        return self._half_behind.sub(r"\1.5", words)

    def _matched(self, text: str) -> tuple[Command, ...]:
        """Return what one match of the whole text says."""
        words, closed = self._bare(text)
        if not words:
            return ()
        with_moments = self._heard(words, text)
        without = MaskedSentence(text, *self._with_plain_durations(words))
        for heard in (with_moments, without) if with_moments.plain != without.plain else (without,):
            results = [
                (_guessed(result), commands)
                for result in self._templates.match(heard.plain)
                if (commands := self.slots.commands(result, heard))
            ]
            if results:
                _, surest = min(results, key=lambda one: one[0])  # the first of equals
                last = replace(surest[-1], whole=True)
                closed = closed or any(commands[-1] == last for _, commands in results)
                return (*surest[:-1], replace(surest[-1], whole=closed))
        return ()

    def _freely(
        self,
        text: str,
        people: tuple[str, ...],
        rooms: tuple[NamedPlace, ...],
        called: tuple[tuple[str, str], ...],
    ) -> tuple[Command, ...]:
        """Return the commands of a sentence that no template knows as it stands: with asides, or in any order."""
        is_question = text.rstrip().endswith("?")
        names = Names(people=people, rooms=rooms, called=called)
        candidates = self.clauses.candidates(text, people)
        if candidates and self._forms.forbids(candidates[0]):
            return ()
        for core in candidates:
            if command := self._forms.read(core, is_question, names):
                return (command,)
        core = candidates[-1] if candidates else text  # one match costs milliseconds
        return () if core == text or self._denies(core) else self._all(core)

    def _one_or_several(self, text: str) -> tuple[Command, ...]:
        if self._second_command.search(text):  # likelier to be several, and each match costs milliseconds
            return self._several(text) or self._one(text)
        return self._one(text) or self._several(text)

    def _several(self, text: str) -> tuple[Command, ...]:
        """Return the commands of a sentence that joins whole ones with "and" or "then"."""
        for joint in islice(self._joint.finditer(text), MOST_JOINTS):
            if first := self._one(text[: joint.start()]):
                rest = text[joint.end() :]
                more = self._one(rest) or self._several(rest)
                if more and len(first) + len(more) <= MOST_COMMANDS:
                    return (*first, *more)
        return ()

    def _unwrapped(self, text: str) -> tuple[str, bool]:
        """Return the words without punctuation and politeness, and whether their end was marked by a "please"."""
        words = _unpunctuated(self._marks.written(text))
        while (opener := self._opener.match(words)) and opener.end():
            words = words[opener.end() :]
        closed = False
        while ending := self._closer.search(words) or self._filler.search(words):
            closed = closed or bool(self._closer.search(words))
            words = words[: ending.start()]
        words = self._counted.sub(lambda match: self._numbers[match[1].lower()], words)
        return self._rewrites.written(words).strip(), closed

    def _heard(self, words: str, text: str) -> MaskedSentence:
        """Return the words with everything that says when, and every length of time, as something to match."""
        words = _COUNTED.sub(lambda match: str(number_of(match[1])), words)
        if _SET.search(words):
            words = _SET_TO.sub(lambda match: str(number_of(match[1])), words)
        pieces: list[str] = []
        values: dict[str, str] = {}
        at = 0
        for placeholder, moment in zip(_PLACEHOLDERS, self._moments(words), strict=False):
            values[placeholder] = moment.text
            pieces += [words[at : moment.start], placeholder]
            at = moment.end
        plain, lengths = self._with_plain_durations("".join([*pieces, words[at:]]))
        return MaskedSentence(text, plain, lengths | values)

    def _moments(self, words: str) -> Sequence[moments.Moment]:
        """Return the words that say when; none in a language that `moments` does not read."""
        return moments.find(words) if self.tables["moments"] else ()

    def _with_plain_durations(self, words: str) -> tuple[str, dict[str, str]]:
        """Return the words with every length of time as "N seconds", and how each was really said."""
        pieces: list[str] = []
        values: dict[str, str] = {}
        at = 0
        for duration in durations.find(words):
            plain = f"{duration.seconds} {self._seconds}"
            values[plain] = words[duration.start : duration.end]
            pieces += [words[at : duration.start], plain]
            at = duration.end
        return "".join([*pieces, words[at:]]), values

    def _may_be_asked_about(self, slot: str, value: str) -> bool:
        """Tell whether a slot is clear enough for a question: "add milk" is, "add two and two" is not."""
        if slot in ("when", "length", "who"):
            return True
        if slot in ("hour", "number"):
            match = _NUMBERS.fullmatch(value)
            return bool(match) and (1 <= (int(value) if value.isdigit() else number_of(value)) <= 12) == (
                slot == "hour"
            )
        if slot == "target":
            return self.slots.devices.are_known(value) and bool(self.slots.devices.targets(value))
        if slot == "text":
            return not self._negation.search(value)
        return self.slots.is_thing(value) and not any(character.isdigit() for character in value)


def _guessed(result: RecognizeResult) -> int:
    """Return how many characters were matched by nothing but a wildcard: fewer is surer."""
    return sum(len(entity.text) for entity in result.entities_list if entity.is_wildcard)


def _unpunctuated(text: str) -> str:
    """Return one line of words: straight apostrophes, no marks but those inside a word or number."""
    words = " ".join(text.replace("’", "'").replace("‑", "-").replace("–", " ").split())
    words = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", words, flags=re.IGNORECASE)
    words = _MARKS.sub(" ", words)
    return " ".join(words.split()).strip(" '-")


@cache
def open_grammar(language: str) -> Grammar:
    """Load and warm the grammar of `language`, once in a process: the first match compiles it, in over half a second.

    Raises `ConfigError` when there are no sentences in that language.
    """
    grammar = Grammar(*open_sentences(language))
    for sentence in grammar.tables["warming"]:
        grammar.half(sentence)
    return grammar
