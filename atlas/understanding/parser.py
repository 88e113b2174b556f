"""Read what a sentence asks for when no grammar has it: the act and the slots are learnt, the rest is read. No I/O.

A sentence is masked (masks.py), the act is classified and its slots are tagged (act_model.py); then the same readers as
everywhere make a command of them: frames for devices, moments and lengths for times. What cannot be made whole is no
command, whatever the models think of it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import Any

import yaml

from atlas.understanding import durations, moments
from atlas.understanding.act_model import CORPUS, QUESTION_MARK, ActModel, ActReading, LikelyAct, has_question_mark
from atlas.understanding.chances import (
    LIKELY,
    MOST_SURE,
    MOST_SURE_OF_SILENCE,
    NOT_LATER,
    SURE,
    SURE_OF_SILENCE,
    SURE_THOUGH_ADDRESSED,
    SURE_THOUGH_NEGATED,
    SURE_TO_GO_ON,
    SURE_TO_LOOK,
)
from atlas.understanding.choices import MeaningChoice
from atlas.understanding.conversions import Conversions
from atlas.understanding.frame_deeds import OPPOSITES
from atlas.understanding.frame_words import LEAST_LETTERS, Token, spelled
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import Grammar, Half
from atlas.understanding.large_numbers import LEAST_SCALE, LargeNumbers
from atlas.understanding.masks import MaskedPiece, Masks
from atlas.understanding.names import Names
from atlas.understanding.patterns import IN_MEMORY, Rewrites, SoughtPattern, pattern
from atlas.understanding.persons_rooms import room_of
from atlas.understanding.several_timers import SeveralTimers
from atlas.understanding.slots import LATER, TAKING_AWAY, Command
from atlas.understanding.spoken_tools import open_spoken_tools

LONGEST_CHARACTERS = 300
LONGEST_PIECES = 40
_ROBOTS = ("vacuum", "mower")  # of all devices they alone can be somewhere
SILENT = ("nothing", "talk", "cannot", "health", "emergency")
_ORDINARY = ("nothing", "talk")  # where a likely wish is asked about
AMEND = "amend"  # puts right what was done just before: another time, thing or number in its place
_NEW = ("timers.start", "alarms.set", "reminders.add", "tasks.add", "notes.add", "calendar.add", "facts.remember")
_NAMING = ("name", "seconds", "time", "about", "title", "items")  # arguments that name one thing of several
_SAME: Mapping[str, Sequence[str]] = {  # argument → those of the call before that hold the same
    **dict.fromkeys(("title", "about", "text", "words"), ("title", "text", "about", "words")),
    **dict.fromkeys(("day", "when", "time"), ("day", "start", "when")),
}
BROADCAST, LEAVE = "broadcast.say", "messages.leave"  # somebody is told, now or as soon as they can hear it
_ALARM, _CANCEL_ALARM, _REMINDER = "alarms.set", "alarms.cancel", "reminders.add"
CONVERT = "world.convert"
_DEEDS = ("on", "off", "open", "close", "lock", "unlock")  # that need a device
_CHANGES = "brighter darker brightness colour kelvin faster slower speed position temperature".split()  # noqa: SIM905
_OF_DEVICES = ("home.", "later.")
HOURS_OF_CLOCK_FACE = 12
_TIMES = ("{WHEN}", "{DELAY}", "{N}")
_LEADS = re.compile(r"\b(?:in|half(?: past)?|quarter (?:past|to)|halb|viertel (?:vor|nach)) $", re.IGNORECASE)
_CORRECTING = re.compile(r"\b(?:no|nope|wait|sorry|rather|nein|quatsch|ach|doch)\W*$", re.IGNORECASE)
_THAT_I = re.compile(r"\bdass (?:ich|i|wir|mer|man) $", re.IGNORECASE)
_ONE = re.compile(r" (?:one|ones)$", re.IGNORECASE)  # "the freezer one"
_CLAUSE = re.compile(r"[,.;:!?]|\b(?:so|because|since|for|und|also|dann|denn|weil)\b", re.IGNORECASE)
_REASON = re.compile(r"[,.;:!?]+ ")
_AND = re.compile(r",? (?:and|und|plus|&) |, ?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LabelledPiece:
    """A piece of a sentence, and the label that was learnt for it."""

    piece: MaskedPiece
    label: str


@dataclass(frozen=True, slots=True)
class Parse:
    """What a sentence asks for, and how likely."""

    act: str
    chance: float
    commands: tuple[Command, ...] = ()  # none when it is no act, or lacks something
    follows: bool = False  # something was done just before
    named: bool = False  # a device, a kind of them or a place is named
    silence: float = 0.0  # how likely nothing is meant instead of the act; 0 where that is the act
    unclear: bool = False  # a deed is wanted, and of which device is not said
    choices: tuple[MeaningChoice, ...] = ()  # one or two, to ask about when it is not sure
    half: Half | None = None  # what it lacks: "get me up on time"
    text: str = ""  # as it was read
    pieces: tuple[LabelledPiece, ...] = ()  # of the text, and what each is for in it

    @property
    def looks(self) -> bool:
        """Whether nothing is changed by it."""
        return _looks(self.act)

    @property
    def is_of_devices(self) -> bool:
        """Whether it is surely a deed on devices, now or later."""
        return self.is_sure() and not self.looks and all(one.tool.startswith(_OF_DEVICES) for one in self.commands)

    def phrases(self, kind: str) -> list[str]:
        """Return the phrases with this label, as they were said: "T" for what is to be written down."""
        reading = _Reading(self.text, [one.piece for one in self.pieces], [one.label for one in self.pieces])
        return reading.phrases(kind)

    def new_values(self) -> list[str]:
        """Return the words that stand in the place of others: each text to take as it is, then each time or number."""
        counted = [one.piece for one in self.pieces if one.label == "O" and one.piece.mask in (*_TIMES, "{DURATION}")]
        leads = {one: _LEADS.search(self.text[: one.start]) for one in counted if one.mask == "{N}"}  # "half | nine"
        starts = [lead.start() if (lead := leads.get(one)) else one.start for one in counted]
        spans = [(start, one.end) for start, one in zip(starts, counted, strict=True)]
        beside = [(one, other) for one, other in pairwise(spans) if self.text[one[1] : other[0]] in (" ", " oh ")]
        for one, other in beside:  # "six fifteen"
            if moments.whole(self.text[one[0] : other[1]]):
                spans = [(one[0], other[1]) if span == one else span for span in spans if span != other]
        return [*self.phrases("T"), *(self.text[start:end] for start, end in spans)]

    def is_sure(self, *, negated: bool = False) -> bool:
        """Whether it is done at once; `negated`: some word in it may say not to."""
        if negated:
            least = SURE_THOUGH_NEGATED
        elif self.looks:
            least = SURE_TO_LOOK
        else:
            least = SURE_TO_GO_ON if self.follows else SURE
        return bool(self.commands) and self.chance >= least


NOT_PARSED = Parse("", 0.0)


@dataclass(frozen=True, slots=True)
class Before:
    """What was done or looked up just before: its act, with what, and to which devices."""

    act: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict, hash=False)
    devices: tuple[str, ...] = ()
    person: str = ""  # who was last spoken of


NOTHING = Before()


class Parser:
    """Parses sentences of one language. Immutable; takes the encoder's milliseconds and little more."""

    def __init__(self, grammar: Grammar, frames: Frames, learned: ActModel) -> None:
        self._grammar = grammar
        self.frames = frames
        self._pieces = lru_cache(IN_MEMORY)(Masks(frames.lexicon, grammar.digits).pieces)
        self._learned = learned
        self._slots = _slots_by_act()
        words: Mapping[str, Any] = grammar.tables.get("acts", {})
        self._canonical: Mapping[str, Sequence[Sequence[str]]] = words.get("plainly", {})
        self._worded = {act for act, row in self._slots.items() if "text!" in row.values() and _looks(act)}
        self._worded |= {act for act, ways in self._canonical.items() if all("{text}" in plain for _, plain in ways)}
        self._unwanted = pattern(words, "unwanted")
        self._conditions = SoughtPattern(pattern(words, "conditions"))
        self._wondering = pattern(words, "wondering")
        self._joint = pattern(words, "joint")
        self._that = pattern(words, "that")
        self._part_of, self._of_another = pattern(words, "part_of"), pattern(words, "of_another")
        ones = {str(word): value for value, word in enumerate(grammar.tables["numbers"]) if value < LEAST_SCALE}
        self._large = LargeNumbers(ones, grammar.tables["arithmetic"].get("scales", {}))
        self._there = pattern(words, "there")
        self._goes_on_with = pattern(words, "goes_on_with")
        self._conversions = Conversions(grammar.tables.get("conversions", {}))
        self._that_day = pattern(words, "that_day")
        self._spanned, self._spared = pattern(words, "spanned"), pattern(words, "spared")
        self._arrives = pattern(words, "arrives")
        self._unbought, self._in_need = pattern(words, "unbought"), pattern(words, "in_need")
        self._own_day = pattern(words, "own_day")
        self._half_verb, self._moves = pattern(words, "half_verb"), pattern(words, "moves")
        self._whereabouts, self._and_who = pattern(words, "whereabouts"), pattern(words, "and_who")
        self._quarters = pattern(words, "quarters")
        self._shifts_it = pattern(words, "shifts_it")
        self._verb, self._directed = pattern(words, "verb"), pattern(words, "directed")
        self._complaints = [
            (act, re.compile(complaint, re.IGNORECASE), meant) for act, complaint, meant in words.get("complaints", ())
        ]
        self._praised = pattern(words, "praised")
        self._several_timers = SeveralTimers(grammar.tables.get("several_timers", {}), grammar.digits)
        self._lacks: Mapping[str, tuple[str, Sequence[str], Sequence[str]]] = words.get("lacks", {})
        self._lacks_text: Mapping[str, str] = words.get("lacks_text", {})
        self._says: Mapping[str, str] = words.get("says", {})
        self._says_value: Mapping[str, str] = words.get("says_value", {})
        self._rewrites, self._sums = (
            Rewrites((way, str(to)) for way, to in words.get(table, ())).written for table in ("rewrites", "sums")
        )
        self._parsed = lru_cache(IN_MEMORY)(self._parse)  # a turn asks for the same words more than once

    def parse(self, text: str, names: Names, room: str = "", before: Before = NOTHING) -> Parse:
        """Return what a text asks for, after `before` was done; act "nothing" when it is too long to be asked."""
        return self._parsed(text, names, room, before)

    def amends(self, text: str, names: Names, room: str, before: Before, least: float) -> Parse:
        """Return the parse of a text that puts right what was done `before`, at least so surely; else `NOT_PARSED`.

        Costs one reading where it does not; to parse it costs one for each side of each "and" as well.
        """
        written = self._written(text)
        read = self._read(written, self._pieces(written, names), before)
        likely = read.likely[0] if read else LikelyAct("", 0.0)
        amends = likely.act == AMEND and likely.chance >= least
        return self.parse(text, names, room, before) if amends else NOT_PARSED

    def _written(self, text: str) -> str:
        """Return a text as it is read."""
        return self._rewrites(" ".join(text.replace("’", "'").split())) if len(text) <= LONGEST_CHARACTERS else ""

    def _read(self, text: str, pieces: Sequence[MaskedPiece], before: Before) -> ActReading | None:
        """Return what was learnt of a text; `None` when it is too long to be asked, or holds no words."""
        if not 0 < len(pieces) <= LONGEST_PIECES:
            return None
        mark = (QUESTION_MARK,) if has_question_mark(text) else ()
        read = self._learned.read([*(piece.mask for piece in pieces), *mark], before.act)
        return self._as_complained(read, text) if read else None

    def _parse(self, text: str, names: Names, room: str, before: Before) -> Parse:
        text = self._written(text)
        pieces = self._nearby(self._pieces(text, names), names, room)
        read = self._read(text, pieces, before)
        if read is None:
            return Parse("nothing", 1.0)
        best, second = read.likely[:2]
        timers = best.act not in SILENT and any(one.act == "timers.start" for one in read.likely)
        several = timers and len(self._several_timers.read(text)) > 1
        if several:
            best = LikelyAct("timers.start", max(best.chance, SURE))
        addressed = any(piece.mask == "{PERSON}" for piece in pieces)
        if addressed and {best.act, second.act} == {BROADCAST, LEAVE}:  # which of both, its own words tell
            best = replace(best, chance=best.chance + second.chance)
        of_devices = best.act not in (*SILENT, AMEND, "look", *self._slots, *self._canonical)
        least = SURE_TO_LOOK if best.act == "look" else MOST_SURE
        if not several and (of_devices or best.chance < least) and (both := self._both(text, names, room, before)):
            return both
        if best.act == AMEND:
            return Parse(AMEND, best.chance, text=text, pieces=_labelled(pieces, read.labels(AMEND)))
        if best.act in SILENT:
            choices: tuple[MeaningChoice, ...] = ()
            if best.act in _ORDINARY and best.chance < SURE_OF_SILENCE:
                choices = self._choices(read, text, pieces, names, room, before)
            if not choices and best.act == "nothing" and best.chance < MOST_SURE_OF_SILENCE:
                choices = self._wish_at_the_end(text, names, room, before)
            return Parse(
                best.act, best.chance, choices=choices, text=text, pieces=_labelled(pieces, read.labels(best.act))
            )
        later = next((one.chance for one in read.likely if one.act == LATER), 0.0)
        holding = "B-T" if best.act in self._worded else ""  # what is looked up is said in some of the words
        reading = _Reading(text, pieces, read.labels(best.act, holding), later)
        commands = tuple(self._commands(best, reading, names, room, before))
        if best.act in (LATER, _ALARM) and commands and commands[0].tool != best.act:  # today is now; one is moved
            best = replace(best, act=act_of(commands[0].tool, commands[0].arguments))
        parse = Parse(
            best.act,
            best.chance,
            commands,
            bool(before.act),
            bool(reading.targets(names)),
            silence=sum(one.chance for one in read.likely if one.act in _ORDINARY),
            text=text,
            pieces=_labelled(pieces, reading.labels),
        )
        if parse.is_sure() or parse.looks:
            return parse
        unnamed = best.act in _DEEDS or (best.act in _CHANGES and not parse.named)
        unclear = unnamed and not commands and not self._forbids(best, text, names)
        choices = self._choices(read, text, pieces, names, room, before)
        return replace(
            parse, choices=choices, unclear=unclear, half=None if commands else self._half(best.act, reading)
        )

    def _nearby(self, pieces: Sequence[MaskedPiece], names: Names, room: str) -> Sequence[MaskedPiece]:
        """Return pieces whose names are those of the devices that the speaker means where that is in `room`."""
        near = iter(self.frames.nearby([one.token for one in pieces if one.token], names, room))
        return [replace(one, token=next(near)) if one.token else one for one in pieces]

    def _as_complained(self, read: ActReading, text: str) -> ActReading:
        """Return what words surely ask for where the encoder took its opposite: "too quiet" is to be louder."""
        if self._directed.search(text):
            return read
        other = {act: meant for act, complaint, meant in self._complaints if complaint.search(text)}
        chances: dict[str, float] = {}
        for one in read.likely if other else ():
            act = other.get(one.act, one.act)
            chances[act] = chances.get(act, 0.0) + one.chance
        likely = [LikelyAct(act, chance) for act, chance in sorted(chances.items(), key=lambda one: -one[1])]
        if not likely:
            return read
        # As many as before, where two have become one: who reads them takes the first two.
        return replace(read, likely=[*likely, *read.likely[-1:]][: len(read.likely)])

    def _half(self, act: str, reading: _Reading) -> Half | None:
        """Return an act without what it cannot be done without, as it is asked for."""
        text, when = (reading.slot(slot, self._grammar) for slot in ("text", "when"))
        if not text and act in self._lacks_text and (when or (act == BROADCAST and not reading.named_around())):
            return self._grammar.lacking(self._lacks_text[act], {"when": when})
        name, needed, called = self._lacks.get(act, ("", (), ()))
        if not name or (needed and not text):
            return None
        return self._grammar.lacking(name, dict.fromkeys((*needed, *called) if text else (), text))

    def _choices(
        self, read: ActReading, text: str, pieces: Sequence[MaskedPiece], names: Names, room: str, before: Before
    ) -> tuple[MeaningChoice, ...]:
        """Return what the two likeliest acts would do, as choices to ask about."""
        choices = []
        for one in read.likely[:2] if not self._in_need.search(text) else ():  # "I need a break" pauses nothing
            reading = _Reading(text, pieces, read.labels(one.act))
            made = self._commands(one, reading, names, room, before) if one.chance >= LIKELY else ()
            nothing_said = "{text}" in self._says.get(one.act, "") and not reading.phrase("T")
            if made and one.act in self._says and not nothing_said:
                choices.append(MeaningChoice(self._label(one.act, made, reading), tuple(made)))
        return tuple(choices)

    def _wish_at_the_end(self, text: str, names: Names, room: str, before: Before) -> tuple[MeaningChoice, ...]:
        """Return the deed on devices that the last clause asks for alone: "it stinks to heaven, kitchen window up"."""
        *reasons, wish = _REASON.split(text)
        if not reasons or " " not in wish.strip() or before.act or not self.names_something(wish, names):
            return ()
        parse = self.parse(wish, names, room)
        deed = parse.is_of_devices and parse.named
        return (MeaningChoice(wish.strip(" .,!?"), parse.commands),) if deed else ()

    def names_something(self, text: str, names: Names) -> bool:
        """Tell whether some word in a text names a thing, a place or a person: of no other text is a parse `named`."""
        return any(piece.token for piece in self._pieces(self._written(text), names))

    def knows(self, commands: Sequence[Command]) -> bool:
        """Tell whether it was taught what these commands do: of others it has neither a reading nor a question."""
        acts = [one.tool if one.tool == LATER else act_of(one.tool, one.arguments) for one in commands]
        return all(act == LATER or (act in self._says and act in self._learned.acts) for act in acts)

    def label(self, commands: Sequence[Command], parse: Parse, amounts: Sequence[str]) -> str:
        """Return the words in which it is asked whether commands are meant, with the amounts that they hold."""
        reading = _Reading(parse.text, [one.piece for one in parse.pieces], [one.label for one in parse.pieces])
        words = reading.words(self._says["nothing"])
        deeds = []
        for command in commands:
            tool, given = command.due_tool, command.due_arguments
            named = str(given.get("device") or words["it"])
            text = words["text"] or _words_of(given)
            deeds.append(self._asked(act_of(tool, given), given, {"it": named, "text": text}))
        spoken_words = " ".join(deeds)
        return ", ".join(
            dict.fromkeys([*deeds, *(one for one in amounts if self._grammar.digits(one) not in spoken_words)])
        )

    def _label(self, act: str, commands: Sequence[Command], reading: _Reading) -> str:
        """Return the words in which it is asked whether commands are meant: "turn off the lamp, later"."""
        words = reading.words(self._says["nothing"])
        if commands[0].tool != LATER:
            act = act_of(commands[0].tool, commands[0].arguments) if act == LATER else act
            question = self._asked(act, commands[0].arguments, words)
            return ", ".join([question, *(reading.text[one.start : one.end] for one in reading.waits())])
        deed = commands[0].arguments
        return self._says[LATER].format(deed=self._says[act_of(deed["tool"], deed["arguments"])].format(**words))

    def _asked(self, act: str, given: Mapping[str, Any], words: Mapping[str, str]) -> str:
        """Return how a deed is asked about, with the value that is set: "set the lamp to 40 percent"."""
        value = given.get(act)
        if act not in self._says_value or not isinstance(value, (int, float)):
            return self._says.get(act, "{text}").format(**words)
        return self._says_value[act].format(**words, value=f"{value:g}")

    def _commands(
        self, likely: LikelyAct, reading: _Reading, names: Names, room: str, before: Before
    ) -> Sequence[Command]:
        act = likely.act
        if act == LATER:
            return self._delayed(reading, names, room, before)
        if act in self._canonical:
            return self._said_plainly(act, reading, names, before)
        if act == "timers.start" and (several := self._several_timers.read(reading.text)):
            return () if self._is_unwanted(likely, reading.text) else several
        if act == before.act == "presence.where" and (another := self._and_who.fullmatch(reading.text.strip(" .,!?"))):
            return (Command(act, {"person": another["person"]}),)  # also of somebody who is unknown here
        if act == "presence.where" and not reading.slot("person", self._grammar):
            robots = (one for one in names.devices if one.name in before.devices and one.kind in _ROBOTS)
            if spoken_of := [Token("device", one, one.name) for one in robots]:
                return self.frames.look_at(reading.text, spoken_of, names, room)  # "is he back in his kennel?"
        if act == "lists.check" and self.frames.asks(reading.text):
            act = "lists.show"  # "do we have milk" ticks nothing off
        if act == "lists.add" and (self._unbought.search(reading.text) or self._in_need.search(reading.text)):
            return ()  # "we need to talk", "I need a haircut"
        if act.endswith((".remove", ".cancel")) and self._shifts_it.search(reading.text):
            return ()
        if act == _ALARM and self._moves.search(reading.text):
            act = "alarms.change"
        if act == "clock.until" and self._spanned.search(reading.text):
            return ()
        if act in self._slots:
            command = self._tool(act, reading, before, names)
            if act in (BROADCAST, LEAVE):
                wanted = not self._forbids_message(likely, reading, names)
            else:
                wanted = _looks(act) or not self._is_unwanted(likely, reading.text)
            if act == "presence.where" and self.frames.calls_somebody(reading.text, names):
                wanted = bool(self._whereabouts.search(reading.text))  # "tell me, Anna, who left the shoes there?"
            return (command,) if command and wanted else ()
        if self._forbids(likely, reading.text, names):
            return ()
        named = self._meant(reading.targets(names), names, before)
        if not room and len(rooms := {one.room for one in names.devices if one.name in before.devices}) == 1:
            room = rooms.pop()  # "and the light", after the radio of the kitchen
        if act == "look":
            measure, targets = before.arguments.get("measure"), reading.targets(names)
            if measure and [one.category for one in targets] == ["room"]:  # "and in the bathroom?"
                return (Command("home.state", {"measure": measure, "room": targets[0].value}),)
            alone = self.frames.look_at(reading.text, reading.targets(names), names, room)
            if self._is_of_heating(alone, reading, names, room, before):
                alone = self.frames.look_at(reading.text, reading.targets(names), names, room=named[0].value.room)
            measures = any("measure" in one.arguments for one in alone)  # "how warm is it here", after the sprinkler
            of_a_kind = any("kind" in one.arguments and "quantity" in one.arguments for one in alone)
            return alone if measures or of_a_kind else self.frames.look_at(reading.text, named, names, room)
        same = before.arguments if act == before.act else {}
        moments = reading.moments(len(self.frames.first_clause(reading.text)) or len(reading.text))
        if reading.later < NOT_LATER or all(map(self.frames.is_today, moments)):
            moments = []
        deed = partial(self.frames.deed, act, named=named, query=reading.phrase("T"), names=names, room=room)
        if act in _SETTINGS and self._is_a_value(moments) and not deed(reading.without(reading.waits())):
            moments = []  # "the bedroom at nineteen": the one number can't be both
        deeds = deed(reading.text if moments else reading.without_moments(act), same=same)
        if not moments:
            return deeds
        return [one.later(when=moments[0]) for one in deeds] if len(moments) == 1 else []

    def _is_of_heating(
        self, looks: Sequence[Command], reading: _Reading, names: Names, room: str, before: Before
    ) -> bool:
        """Whether "how many degrees" is about the one heating that was just spoken of, and no place is named."""
        heating = [one for one in names.devices if one.name in before.devices and one.kind == "climate"]
        of_warmth = [(one.arguments.get("measure"), one.arguments.get("room", "")) for one in looks] == [
            ("temperature", room)
        ]
        placed = reading.targets(names) or self.frames.says_here(reading.text)
        return of_warmth and len(heating) == len(before.devices) == 1 and not placed

    def _is_a_value(self, moments: Sequence[str]) -> bool:
        """Whether the words that may say when hold one number, and no clock face has it: "at nineteen"."""
        number = re.fullmatch(r"(?!um\b)\D*(\d+)", self._grammar.digits(" ".join(moments)), re.IGNORECASE)
        return number is not None and int(number[1]) > HOURS_OF_CLOCK_FACE

    def _both(self, text: str, names: Names, room: str, before: Before) -> Parse | None:
        """Return what both sides of an "and" ask for, where each is surely another wish: "tree on and lamp off"."""
        for joint in self._joint.finditer(text):
            if self._half_verb.search(text[: joint.start()]) and not self._verb.match(text[joint.end() :]):
                continue  # "turn the lamp and the fan off", but not "… and lock the door"
            if not self._may_be_outright(text[: joint.start()], names, before):
                continue
            first = self.parse(text[: joint.start()], names, room, before)
            if not self._is_outright(first) or len(first.commands) > 1 or first.act == "alarms.stop":
                continue  # "stop that racket, and turn on the light"
            device = first.commands[-1].arguments.get("device")
            devices = (device,) if isinstance(device, str) else before.devices
            then = Before(first.act, first.commands[-1].arguments, devices) if first.is_of_devices else NOTHING
            second = self.parse(text[joint.end() :], names, room, then)
            opposite = {first.act, second.act} in OPPOSITES and not second.named  # "off, there's only rubbish on"
            if not (second.is_sure() if first.named and second.is_of_devices else self._is_outright(second)):
                continue  # "put the radio on and turn it up"
            if second.act == first.act or opposite:
                continue
            both = (*first.commands, *second.commands)
            moved = (replace(one, piece=one.piece.moved(joint.end())) for one in second.pieces)
            chance, pieces = min(first.chance, second.chance), (*first.pieces, *moved)
            silence = max(first.silence, second.silence)
            return replace(first, chance=chance, silence=silence, commands=both, text=text, pieces=pieces)
        return None

    def _may_be_outright(self, text: str, names: Names, before: Before) -> bool:
        """Whether one reading leaves it possible that a text is one wish outright: to parse it costs several."""
        written = self._written(text)
        pieces = self._pieces(written, names)
        read = self._read(written, pieces, before)
        if read is None or read.likely[0].act in (*SILENT, AMEND):
            return False
        made_surer = any(one.mask == "{PERSON}" for one in pieces) or any(
            one.act == "timers.start" for one in read.likely
        )
        return made_surer or read.likely[0].chance >= min(SURE_TO_LOOK, SURE_TO_GO_ON, SURE)

    def _is_outright(self, parse: Parse) -> bool:
        """Whether a wish is surely one, and says what of: "I've come over all hot" may have a wish behind it."""
        return parse.is_sure() and (parse.named or parse.act in self._slots or parse.act in self._canonical)

    def _forbids(self, likely: LikelyAct, text: str, names: Names) -> bool:
        """Whether a sentence wants nothing of a device, though it has such an act in it: a report, a condition."""
        if self._wondering.search(text) and likely.chance < MOST_SURE:
            return True
        if likely.act == "look":
            return False
        to_somebody = likely.chance < SURE_THOUGH_ADDRESSED and self.frames.is_to_somebody(text, names)
        return to_somebody or self._is_unwanted(likely, text)

    def _forbids_message(self, likely: LikelyAct, reading: _Reading, names: Names) -> bool:
        """Whether words around a message are no wish to leave it: "don't tell him", but not "when he's back"."""
        around = self._arrives.sub(" ", reading.words_around())
        if likely.act == BROADCAST and self.frames.calls_somebody(reading.text, names):
            return True  # "hurry up, Ben, others want into the bath"
        return self._is_unwanted(likely, around) or self._grammar.is_negated(around, names)

    def _is_unwanted(self, likely: LikelyAct, text: str) -> bool:
        """Whether words say that nothing is to be done now; those that may mean something else, only in doubt."""
        if likely.act == "scene" and self._praised.search(text):
            return True  # its name may stand in any talk: "that was a fine dinner"
        in_doubt = likely.chance < MOST_SURE and bool(self._unwanted.search(text))
        return in_doubt or bool(self._conditions.search(text))

    def _meant(self, named: Sequence[Token], names: Names, before: Before) -> Sequence[Token]:
        """Return the tokens that name what is meant; where none names a device, with those that were just spoken of."""
        spoken_of = [one for one in names.devices if one.name in before.devices]
        if len(named) == 1 and named[0].category == "kind" and not named[0].value[2]:  # "dim the lamp", after it
            alike = [one for one in spoken_of if one.kind == named[0].value[0]]
            return [Token("device", alike[0], alike[0].name)] if len(alike) == 1 else named
        if not spoken_of or any(token.category in ("device", "kind") for token in named):
            return named
        places = [one.value for one in named if one.category in ("room", "floor")]
        rooms = {one.name for one in names.rooms if one.name in places or one.floor in places}
        some_there = not rooms or any(one.kind == spoken_of[0].kind and one.room in rooms for one in names.devices)
        if named and not some_there:
            return named  # "close the garage", after a lock
        if named and len({one.kind for one in spoken_of}) == 1:  # "and in the hall"
            return [*named, Token("kind", (spoken_of[0].kind, spoken_of[0].shape, len(spoken_of) > 1), "")]
        return [Token("device", one, one.name) for one in spoken_of]

    def _tool(self, act: str, reading: _Reading, before: Before, names: Names) -> Command | None:
        row = dict(self._slots[act])
        tool, arguments = row.pop("tool", act), dict[str, Any]()
        goes_on = before.act.partition(".")[0] == act.partition(".")[0] and act not in _NEW
        another = self._goes_on_with.match(reading.text) if act == before.act == _REMINDER else None
        is_gone = before.act.rpartition(".")[2] in TAKING_AWAY  # "pause the other one", behind a timer's end
        gone = _NAMING if is_gone else ()
        if act == LEAVE and before.person:
            arguments["person"] = before.person  # "is Ben in?", "leave him a message"
        for argument, slot in row.items():
            value = reading.slot(slot.rstrip("!"), self._grammar, self._spared if act == _CANCEL_ALARM else None)
            if slot == "person!" and arguments.get(argument) and value in reading.phrase("T"):
                continue  # "leave him a message that Nana waits"
            if argument == "time" and not value and self._quarters.search(reading.text):
                continue  # "delete the one at quarter to": not that at six, which was just set
            goes_on_here = goes_on and argument not in gone
            if not value and (goes_on_here or (slot == "place" and self._there.search(reading.text))):
                value = next(
                    (before.arguments[one] for one in _SAME.get(argument, (argument,)) if before.arguments.get(one)), ""
                )
                value = moments.day_of(str(value)) if argument == "day" else value
                value = "" if argument == "day" and durations.find(value) else value  # "half an hour earlier"
            if act == "calendar.add" and argument == "start" and before.act.startswith("calendar."):
                value = self._on_the_day_before(str(value), reading.text, before)
            if another and argument == "person":
                value = "" if another["me"] else before.arguments.get(argument)
            elif another and argument == "when":
                value = value or before.arguments.get(argument)
            if value and act == _REMINDER and argument == "text":
                value = self._grammar.slots.as_task(_with_that(value, reading.text))
            if act == "calendar.find" and (own_day := self._own_day.search(reading.text)):
                value = own_day[0]  # and nobody else's
            if value:
                arguments[argument] = value
            elif slot.endswith("!") and argument not in arguments:
                return None
        another_name = goes_on and arguments.get("name", "") not in ("", before.arguments.get("name"))
        if another_name and arguments.get("seconds") == before.arguments.get("seconds"):
            arguments.pop("seconds", None)  # "stop the soup one", behind the potatoes' timer
        if "day" in row and not arguments.get("day") and self._that_day.search(reading.text):
            return None  # and nobody knows which
        if act == _CANCEL_ALARM and (moment := moments.whole(arguments.get("time", ""))):
            by_kind = {{"clock": "time"}.get(part.kind, part.kind): part.text for part in moment.parts}
            if {*by_kind} <= {"time", "day"}:  # "the one on Wednesday" rings at a time that was not said
                arguments = {**arguments, "time": "", **by_kind}
                arguments = {name: re.sub(r"^(?:at|on) ", "", value) for name, value in arguments.items() if value}
        return Command(tool, arguments)

    def _on_the_day_before(self, when: str, text: str, before: Before) -> str:
        """Return a time of day on the day that was spoken of: "am I free on Friday?", "then put the cinema in at 8"."""
        moment = moments.whole(when)
        day = next((str(before.arguments[key]) for key in _SAME["day"] if before.arguments.get(key)), "")
        only_clock = moment is not None and {part.kind for part in moment.parts} == {"clock"}
        if not (only_clock and day and self._joint.match(f" {text}")):
            return when
        return f"{moments.day_of(day)} {when}"

    def _delayed(self, reading: _Reading, names: Names, room: str, before: Before) -> Sequence[Command]:
        """Return what shall be done later: the sentence without its delay, read anew."""
        waits = reading.waits()
        if not waits:
            return ()
        if all(self.frames.is_today(reading.text[one.start : one.end]) for one in waits):
            inner = self.parse(reading.without(waits).strip(" ,."), names, room, before)
            return inner.commands if inner.is_of_devices and inner.act != LATER else ()
        one = reading.nearest_to_targets(waits)
        words = reading.text[one.start : one.end]
        lengths = durations.find_in_any_language(words) if one.mask != "{WHEN}" else ()
        rest = reading.without(waits).strip(" ,.")
        inner = self.parse(rest, names, room, before)
        sure = inner.is_sure() and not inner.looks and inner.act != LATER
        deeds = inner.commands if sure else self.frames.read(rest, names, room)
        when = {"when": words} if one.mask == "{WHEN}" else {"seconds": lengths[0].seconds} if lengths else {}
        return [deed.later(**when) for deed in deeds if when and deed.tool.startswith("home.")]

    def _said_plainly(self, act: str, reading: _Reading, names: Names, before: Before) -> Sequence[Command]:
        """Return what the grammar makes of the sentence that says the same plainly."""
        slots = {name: reading.slot(name, self._grammar) for name in ("text", "when", "place")}
        slots["sum"] = self._sum(reading.text, str(before.arguments.get("expression", "")))
        text = self._grammar.digits(reading.text)
        same = before.arguments if act == before.act else {}
        if act == CONVERT and (plain := self._conversions.plainly(text, same)):
            return self._grammar.commands(plain, names)
        for way, plain in self._canonical[act]:
            if match := re.search(way, text, re.IGNORECASE):
                filled = match.groupdict() | {name: value for name, value in slots.items() if value}
                plain = plain.format_map(defaultdict(str, filled))
                return self._grammar.commands(" ".join(plain.split()), names)
        return ()

    def _sum(self, text: str, before: str) -> str:
        """Return the sum in a text, which may go on with the one `before`: "divide that by six"."""
        words = self._large.in_digits(self._sums(self._grammar.digits(text)))
        if not before:
            return self._grammar.slots.sum_in(words)
        before = self._grammar.digits(self._large.in_digits(before))
        if (part := self._part_of.fullmatch(before)) and (anew := self._of_another.fullmatch(words)):
            return self._grammar.slots.sum_in(f"{part['part']} {self._grammar.digits(anew['whole'])}")
        first = f"( {before} )"
        named = self._that.sub(first, words)
        if named != words:
            return self._grammar.slots.sum_in(self._grammar.digits(named))
        alone = self._grammar.slots.sum_in(self._joint.sub(" ", f" {self._grammar.digits(words)}", count=1))
        if alone[:1].isdigit() and alone[-1:].isdigit() and not alone.isdigit():  # "and twenty percent of 300"
            return alone
        last = re.search(r"(?:\w+ ){1,2}[\d.,]+\W*$|[-+*/x×÷] ?[\d.,]+\W*$", self._grammar.digits(words))
        if not last:
            return ""
        behind = f" {last[0]}"
        joint = self._joint.match(behind)  # "and times two"
        return self._grammar.slots.sum_in(f"{first} {behind[joint.end() if joint else 1 :]}")


@dataclass(frozen=True, slots=True)
class _Reading:
    """A sentence with its pieces and their labels."""

    text: str
    pieces: Sequence[MaskedPiece]
    labels: Sequence[str]
    later: float = 0.0  # how likely what is asked for is to be done later

    def targets(self, names: Names) -> list[Token]:
        """Return the tokens that name what is meant."""
        tokens = [p.token for p, label in zip(self.pieces, self.labels, strict=True) if label == "X" and p.token]
        whose = [self._room_of(p.token, names) for p in self.pieces if p.token and p.token.category == "person"]
        rooms = [one for one in whose if one and one.value not in [token.value for token in tokens]]
        return [*(self._described(token, names) for token in tokens), *(rooms if tokens else ())]

    def _described(self, token: Token, names: Names) -> Token:
        """Return the one device of a kind that other words tell apart: "the lamp for reading"."""
        if token.category != "kind" or token.value[2]:
            return token
        words = {p.mask for p in self.pieces if not p.token}
        stems = [word[:-1] if len(word) > LEAST_LETTERS else word for word in words if len(word) >= LEAST_LETTERS]
        fitting = [
            device
            for device in names.devices
            if device.kind == token.value[0]
            and any(part.removesuffix("'s") in words or part.startswith((*stems,)) for part in spelled(device.name))
        ]
        return Token("device", fitting[0], fitting[0].name) if len(fitting) == 1 else token

    @staticmethod
    def _room_of(person: Token, names: Names) -> Token | None:
        """Return the room that is called after somebody: "Lily's light"."""
        room = room_of(names.person(person.text) or person.text, names)
        return Token("room", room.name, room.name) if room else None

    def moments(self, end: int) -> list[str]:
        """Return the words before `end` that say when, outside of words to take as they are: it is not for now."""
        when = ("{WHEN}", "{DELAY}")
        pieces = zip(self.pieces, self.labels, strict=True)
        spoken = [piece for piece, label in pieces if piece.mask in when and label == "O" and piece.start < end]
        return [self.text[piece.start : piece.end] for piece in spoken]

    def without_moments(self, act: str) -> str:
        """Return the text without what says when, so that its number is not taken for a value: "at seven, warmer".

        Where an act needs a value and there is no other number, it may be that: "the lamp at sixty".
        """
        counted = any(piece.mask == "{N}" for piece in self.pieces)
        return self.without(self.waits()) if counted or act not in _SETTINGS else self.text

    def waits(self) -> list[MaskedPiece]:
        """Return the pieces that say when, or how long."""
        return [piece for piece in self.pieces if piece.mask in ("{WHEN}", "{DELAY}", "{DURATION}")]

    def without(self, pieces: Sequence[MaskedPiece]) -> str:
        """Return the text without some of its pieces."""
        words, at = "", 0
        for piece in pieces:
            words, at = words + self.text[at : piece.start], piece.end
        return words + self.text[at:]

    def nearest_to_targets(self, waits: Sequence[MaskedPiece]) -> MaskedPiece:
        """Return the piece with the fewest clauses, then words, between it and what is meant; of equals, the last."""
        named = [piece for piece, label in zip(self.pieces, self.labels, strict=True) if label == "X"]

        def distance(wait: MaskedPiece) -> tuple[int, int]:
            between = [self.text[min(wait.end, one.end) : max(wait.start, one.start)] for one in named]
            return min(((len(_CLAUSE.findall(words)), len(words.split())) for words in between), default=(0, 0))

        return min(reversed(waits), key=distance)

    def words(self, nothing: str) -> dict[str, str]:
        """Return what was named, or `nothing`, and the words that were said, for a question about them."""
        named = [p for p, label in zip(self.pieces, self.labels, strict=True) if label == "X"]
        spoken = (
            p.token.value.name if p.token and p.token.category == "device" else self.text[p.start : p.end]
            for p in named
        )
        return {"it": ", ".join(spoken) or nothing, "text": ", ".join(self.phrases("T"))}

    def named_around(self) -> list[tuple[int, int]]:
        """Return where names of people stand, outside of words to take as they are."""
        pieces = zip(self.pieces, self.labels, strict=True)
        return [(one.start, one.end) for one, label in pieces if one.mask == "{PERSON}" and label[-1] != "T"]

    def words_around(self) -> str:
        """Return the words that are not to be taken as they are."""
        around = [p for p, label in zip(self.pieces, self.labels, strict=True) if label[-1] != "T"]
        return " ".join(self.text[piece.start : piece.end] for piece in around)

    def phrases(self, kind: str) -> list[str]:
        """Return the phrases with this label, as they were said."""
        spans: list[list[int]] = []
        for piece, label in zip(self.pieces, self.labels, strict=True):
            if label == f"B-{kind}":
                spans.append([piece.start, piece.end])
            elif label == f"I-{kind}" and spans:
                spans[-1][1] = piece.end
        return [self.text[start:end] for start, end in spans]

    def phrase(self, kind: str) -> str:
        """Return the one phrase with this label; of several, all that is said from the first to the last."""
        phrases = self.phrases(kind)
        if len(phrases) > 1:
            start, end = self.text.find(phrases[0]), self.text.rfind(phrases[-1]) + len(phrases[-1])
            return self.text[start:end]
        return phrases[0] if phrases else ""

    def slot(self, name: str, grammar: Grammar, spared: re.Pattern[str] | None = None) -> Any:
        """Return what fills a slot; "" when nothing does. What stands behind words that are `spared` is no moment."""
        outside = [p for p, label in zip(self.pieces, self.labels, strict=True) if label in ("O", "X")]
        match name:
            case "text":
                return _ONE.sub("", self.phrase("T"))
            case "texts":
                items = [item for phrase in self.phrases("T") for item in _AND.split(phrase) if item]
                return list(dict.fromkeys(grammar.slots.tidy(items)))
            case "place":
                return self.phrase("P")
            case "seconds" | "minutes":
                lengths_named = [p for p in outside if p.mask in ("{DURATION}", "{DELAY}")]
                lengths = (
                    durations.find_in_any_language(self.text[lengths_named[-1].start : lengths_named[-1].end])
                    if lengths_named
                    else ()
                )
                counted = [p for p in outside if p.mask == "{N}"] if not lengths else ()
                number = self._last_number(counted, grammar)
                seconds = lengths[0].seconds if lengths else 60 * int(number) if number.isdecimal() else 0
                return seconds if name == "seconds" else seconds // 60
            case "when":
                meant = [one for one in outside if not (spared and spared.search(self.text[: one.start]))]
                return self._when(meant) or self._when(outside)  # "cancel it, but just for tomorrow" spares no day
            case "person" | "room" | "list":
                pieces = outside if name == "room" else [*outside, *self.pieces]  # "tell everybody the bath is free"
                tokens = [p.token for p in pieces if p.token and p.token.category == name]
                return tokens[0].name if tokens else ""
            case _:
                raise AssertionError(f"nobody reads a {name}")

    def _last_number(self, counted: Sequence[MaskedPiece], grammar: Grammar) -> str:
        """Return the last number in digits, of as many of the words before it as are one number: "twenty five"."""
        best = ""
        for at in range(len(counted) - 1, -1, -1):
            beside = at + 1 == len(counted) or not self.text[counted[at].end : counted[at + 1].start].strip(" -")
            number = grammar.digits(self.text[counted[at].start : counted[-1].end]).strip()
            if not (beside and number.isdecimal()):
                break
            best = number
        return best

    def _when(self, outside: Sequence[MaskedPiece]) -> str:
        """Return the words that say when; what is said again later corrects what was said before."""
        words, last = "", None
        for piece in outside:
            one = moments.whole(self.text[piece.start : piece.end]) if piece.mask in _TIMES else None
            if last and piece.mask == last.mask == "{N}" and not self.text[last.end : piece.start].strip():
                both = moments.whole(self.text[last.start : piece.end])  # "six thirty"
                words = both.text if both and words == f"at {self.text[last.start : last.end]}" else words
            elif one and (piece.mask != "{N}" or not words or self._is_corrected_at(piece)):
                words = moments.corrected(words, one) if words else one.text
            last = piece
        return words

    def _is_corrected_at(self, piece: MaskedPiece) -> bool:
        return bool(_CORRECTING.search(self.text[: piece.start]))


def _labelled(pieces: Sequence[MaskedPiece], labels: Sequence[str]) -> tuple[LabelledPiece, ...]:
    return tuple(LabelledPiece(piece, label) for piece, label in zip(pieces, labels, strict=True))


def _with_that(words: str, text: str) -> str:
    """Return words of a text with the "that I" before them, where there is one."""
    before = _THAT_I.search(text[: text.find(words)])
    return f"{before[0]}{words}" if before else words


def _words_of(arguments: Mapping[str, Any]) -> str:
    """Return the words that arguments hold as they were said."""
    held = (value for value in arguments.values() if isinstance(value, (str, list, tuple)))
    return ", ".join(one for value in held for one in ([value] if isinstance(value, str) else map(str, value)))


def _looks(act: str) -> bool:
    return act == "look" or open_spoken_tools().only_looks(_TOOLS.get(act, act))


def act_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the act that a call was for."""
    topic, _, deed = tool.partition(".")
    if topic != "home":
        return _ACTS.get(tool, tool)
    match deed:
        case "turn":
            return "on" if arguments.get("on") else "off"
        case "set":
            return next((name for name in _SETTINGS if name in arguments), "on")
        case "adjust":
            up, down = _STEPS.get(str(arguments.get("what")), ("on", "off"))
            more = (arguments.get("by"), 0), (arguments.get("times"), 1)
            return up if any(isinstance(value, (int, float)) and value > none for value, none in more) else down
        case "mute":
            return "mute" if arguments.get("muted") else "unmute"
        case "play" if arguments.get("query"):
            return "query"
        case "state" | "list":
            return "look"
    return deed


def are_opposite(act: str, other: str) -> bool:
    """Tell whether one act takes back what the other does: to be on and off, louder and quieter."""
    return any({act, other} == {*pair} for pair in (*OPPOSITES, *_STEPS.values()))


_SETTINGS = ("colour", "kelvin", "brightness", "temperature", "position", "volume", "speed")
_STEPS = {
    "brightness": ("brighter", "darker"),
    "temperature": ("warmer", "cooler"),
    "volume": ("louder", "quieter"),
    "speed": ("faster", "slower"),
    "position": ("open", "close"),
    "warmth": ("kelvin", "kelvin"),
}
_ACTS = {
    "lists.read": "lists.show",
    "notes.create": "notes.add",
    "facts.list": "facts.about",
    "reminders.cancel": "reminders.remove",
}
_TOOLS = {act: tool for tool, act in _ACTS.items()}


@cache
def _slots_by_act() -> Mapping[str, Mapping[str, str]]:
    slots: Mapping[str, Mapping[str, str]] = yaml.safe_load((CORPUS / "acts.yaml").read_text("utf-8"))
    return slots


@cache
def learnt_acts() -> frozenset[str]:
    """Return the acts that the parser was taught."""
    return frozenset(_slots_by_act())


@cache
def learnt_topics() -> frozenset[str]:
    """Return what the parser was taught tools of: timers, lists, home, …"""
    return frozenset({"home", "later", *(act.partition(".")[0] for act in learnt_acts())})


def open_parser(grammar: Grammar, learned: ActModel | None) -> Parser | None:
    """Return the parser of the grammar's language; `None` without a corpus of it, or where nothing was learnt."""
    if learned is None or not (CORPUS / grammar.tables["language"]).is_dir():
        return None
    return Parser(grammar, Frames(grammar.tables.get("frames", {}), grammar.digits), learned)
