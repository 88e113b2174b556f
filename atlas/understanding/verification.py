"""Compares a deed that was read with the parser and with the whole sentence, and asks about it where it is in doubt.

Two readers look at a sentence, the grammars and the parser. In doubt is what only one of them has, and what does not
account for the whole wish (coverage.py). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from atlas.understanding.chances import (
    LIKELY_SILENT,
    MOST_SURE,
    SURE,
    SURE_OF_A_DEVICE,
    SURE_OF_SILENCE,
)
from atlas.understanding.choices import MeaningChoice
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import (
    ADDING,
    are_like,
    contradicts,
    name_any,
    of_home,
    only_look,
    says_all,
    written_down,
)
from atlas.understanding.coverage import Coverage, undoes_itself
from atlas.understanding.dialogue import with_target
from atlas.understanding.dialogue_turn import DialogueTurn, Understand
from atlas.understanding.grammar import Half
from atlas.understanding.lasting_deeds import for_a_while
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.names import Names
from atlas.understanding.parser import NOT_PARSED, SILENT, Parse, act_of
from atlas.understanding.patterns import act_pattern
from atlas.understanding.rivals import parsed
from atlas.understanding.second_chances import PRONOUNS, SecondChances
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import Command, for_now

WITHOUT_A_ROOM = ("", None, "media", "climate", "lock", "vacuum", "mower", "valve", "scene")  # kinds chosen otherwise


@dataclass(frozen=True, slots=True)
class ReadDeed:
    """Commands that were read, the turn they are from, and what the public grammar makes of it."""

    turn: DialogueTurn
    meant: TurnMeaning
    public: object

    @property
    def commands(self) -> tuple[Command, ...]:
        """What is to be done, one command at least."""
        return self.meant.commands


class Verification:
    """How deeds are verified in one language; `with_chances` reads a part of a turn. Immutable."""

    def __init__(
        self,
        sentences: SentenceReader,
        coverage: Coverage,
        second_chances: SecondChances,
        questions: Clarifications,
        with_chances: Understand,
    ) -> None:
        tables = sentences.grammar.tables
        self._sentences = sentences
        self._grammar, self._frames, self._parser = sentences.grammar, sentences.frames, sentences.parser
        self._coverage = coverage
        self._second_chances = second_chances
        self._questions = questions
        self._with_chances = with_chances
        self._pronouns = act_pattern(tables, *PRONOUNS)
        self._sure_alone: float = tables.get("acts", {}).get("sure_alone", 0.0)
        self._steps = (
            *(self._ask_for_words, self._believe_public),
            *(self._leave_out_reason, self._make_lasting),
            *(self._ask_about_partial, self._believe_follow_up, self._believe_two_readers),
        )

    def verified(self, turn: DialogueTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant; of a deed that is in doubt, the question whether it is."""
        commands, parse = meant.commands, turn.parse
        if self._is_no_look(commands, turn):
            return self._second_chances.wish_alone(turn) or self._questions.about(parse, parse.commands)
        if self._parser is None or only_look(commands):
            return meant
        if (instead := self._instead(commands, turn)) is not None:
            return instead
        meant = replace(meant, commands=_on_the_first(commands, turn.names))
        if undoes_itself(meant.commands):
            return self._questions.which_device  # "the bedroom light off, and the lamp by the bed on"
        makes_empty_list = any(one.arguments.get("items") == [] for one in meant.commands)
        # Neither of these, nor of a tool that somebody added, was the parser taught a sentence.
        if makes_empty_list or not self._parser.knows(meant.commands):
            return meant
        deed = ReadDeed(turn, meant, self._sentences.by_public(turn.text, turn.names, turn.room))
        known = next((one for step in self._steps if (one := step(deed)) is not None), None)
        if known is not None:
            return known
        return self._questions.about(parse, meant.commands, parse.commands if parse.is_sure() else ())

    def as_parsed(self, turn: DialogueTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return the deed on a device by its name of which the parser is sure, where words alone make another of it.

        Words are better where a deed has exceptions, so one with more commands than the parser has stays.
        """
        if not (meant.commands or meant.choices or meant.reply == self._questions.which_device.reply):
            return meant
        if any(one.topic != "home" for one in meant.commands):
            return meant
        parse, least = turn.parse, SURE_OF_A_DEVICE if meant.commands else MOST_SURE
        if parse.looks or parse.chance < least or not _are_named(parse, turn.names):
            return meant
        if not parse.commands or len(meant.commands) > len(parse.commands) or _are_one(parse.commands, meant.commands):
            return meant
        tokens = self._frames.lexicon.known_tokens(turn.text, turn.names)
        return meant if contradicts(parse, meant.commands, tokens) else parsed(parse, turn.before)

    # ── what is no deed as it was read ──────────────────────────────────────────────────────────────

    def _is_no_look(self, commands: Sequence[Command], turn: DialogueTurn) -> bool:
        """Whether a look leaves out the number of a sentence that no question mark ends: "have the radio on at 20"."""
        parse = turn.parse
        looks = parse.looks and parse.is_sure()
        if {one.tool for one in commands} != {"home.state"} or looks or parse.act in SILENT:
            return False
        counts = any(one.piece.mask == "{N}" for one in parse.pieces)
        return counts and bool(parse.commands) and not turn.text.rstrip().endswith("?")

    def _instead(self, commands: tuple[Command, ...], turn: DialogueTurn) -> TurnMeaning | None:
        """Return the look that a question means, or the question which device, of several or of none."""
        if commands[0].tool == "lists.check" and turn.text.rstrip().endswith("?"):  # "have we got cheese on it?"
            of_list = {key: value for key, value in commands[0].arguments.items() if key == "list"}
            return TurnMeaning(commands=(Command("lists.read", of_list),))
        if turn.before.act and commands[-1].tool in ADDING and self._frames.is_question(turn.text):
            # "is the party on Saturday", after an event that was added
            alone = self._sentences.parse(turn.text, turn.names, turn.room)
            return TurnMeaning(commands=alone.commands) if alone.looks and alone.is_sure() else NO_DEED
        if elsewhere := self._elsewhere(commands, turn):
            return elsewhere
        nameless = of_home(commands) and self._frames.is_nameless(turn.text, turn.names)
        return self._questions.which_device if nameless else None  # "turn the thingy off"

    def _elsewhere(self, commands: Sequence[Command], turn: DialogueTurn) -> TurnMeaning | None:
        """Return the question which one is meant, of a kind that the speaker's room has none of: "put the fan on"."""
        if len(commands) != 1 or not turn.room or name_any(commands):
            return None
        [command] = commands
        kind, shape = command.arguments.get("kind"), command.arguments.get("shape", "")
        every = [one for one in turn.names.devices if one.kind == kind and one.shape in ("", shape or one.shape)]
        if kind in WITHOUT_A_ROOM or len(every) < 2 or any(one.room == turn.room for one in every):
            return None
        if len(every) > 2:
            return self._questions.which_device
        given = {key: value for key, value in command.arguments.items() if key not in ("kind", "shape")}
        made = (replace(command, arguments={**given, "device": one.name}) for one in every)
        return self._questions.among([MeaningChoice(one.name, (deed,)) for one, deed in zip(every, made, strict=True)])

    # ── the steps ───────────────────────────────────────────────────────────────────────────────────

    def _ask_for_words(self, deed: ReadDeed) -> TurnMeaning | None:
        """Ask what is to be written down, where that is "that", and nothing was said before, or "something"."""
        if deed.commands[0].tool not in ADDING or not (words := written_down(deed.commands[0])):
            return None
        if not deed.turn.before.act and all(map(self._pronouns.fullmatch, words)):
            return self._questions.which_device  # "put that on the list"
        if not all(map(self._grammar.slots.is_something, words)):
            return None
        half = self._sentences.half(deed.turn.text, deed.turn.names, deed.turn.room)
        return TurnMeaning(half=half) if isinstance(half, Half) else self._questions.which_device

    def _believe_public(self, deed: ReadDeed) -> TurnMeaning | None:
        """Believe what the public grammar has read from its first word to its last."""
        if deed.public != deed.commands:
            return None
        idle = deed.turn.parse.act in SILENT and deed.turn.parse.chance >= SURE_OF_SILENCE
        doubtful = idle and not all(map(says_all, deed.commands))
        return self._questions.about(deed.turn.parse, deed.commands) if doubtful else deed.meant

    def _leave_out_reason(self, deed: ReadDeed) -> TurnMeaning | None:
        """Leave out a number that only says why; ask where nothing sure is left."""
        turn, parse = deed.turn, deed.turn.parse
        if not self._coverage.takes_from_a_reason(deed.commands, parse):
            return None
        if wish := self._coverage.without_reasons(deed.commands, parse):
            meant = self._with_chances(turn.heard.saying(wish))
            if meant.commands and not only_look(meant.commands):
                return meant
            alone = self._sentences.parse(wish, turn.names, turn.room, turn.before)
            if alone.is_sure():
                return parsed(alone, turn.before)
        return self._questions.about(parse, for_now(deed.commands), deed.commands)

    def _make_lasting(self, deed: ReadDeed) -> TurnMeaning | None:
        """Begin and end a deed that was read as for later, where the sentence only says how long it is to last."""
        parse = deed.turn.parse
        if not self._coverage.only_lasts(deed.commands, parse):
            return None
        lasting = for_a_while(deed.commands)
        if lasting and parse.is_sure():
            return TurnMeaning(commands=lasting)
        either = (lasting, ()) if lasting else (for_now(deed.commands), deed.commands)
        return self._questions.about(parse, *either)

    def _ask_about_partial(self, deed: ReadDeed) -> TurnMeaning | None:
        """Ask about commands that leave out a part of the wish."""
        whole = self._coverage.is_whole(deed.commands, deed.turn.parse)
        return None if whole else self._questions.about(deed.turn.parse, deed.commands)

    def _believe_follow_up(self, deed: ReadDeed) -> TurnMeaning | None:
        """Believe a deed that follows on another."""
        return deed.meant if deed.turn.before.act else None

    def _believe_two_readers(self, deed: ReadDeed) -> TurnMeaning | None:
        """Believe what two readers have, be it the parser and another, or both but the one that was believed."""
        parse, public = deed.turn.parse, deed.public
        if isinstance(public, tuple) and are_like(parse, public) and not are_like(parse, deed.commands):
            return TurnMeaning(commands=public)
        return deed.meant if self._agree(deed.commands, deed.turn) else None

    def _agree(self, commands: tuple[Command, ...], turn: DialogueTurn) -> bool:
        """Whether both readers have these commands, or the one that has them is sure enough."""
        parse, text = turn.parse, turn.text
        if commands[0].tool == "alarms.stop" and not parse.is_sure() and len(self._frames.clauses(text)) > 1:
            return False  # "stop it, that tickles"
        if parse.silence >= LIKELY_SILENT and not turn.history:
            return False  # "you could switch on the lights, but what's the point"
        if commands == parse.commands:
            if parse.chance >= self._sure_alone or turn.history:
                return True
            read = self._sentences.commands(text, turn.names, turn.room)
            return commands == read or are_like(parse, read)
        if are_like(parse, commands) and (parse.commands or parse.chance >= SURE):
            return True
        if parse.act == "look" and self._frames.is_statement(text):
            return True  # "lamp on, kettle off": the parser is shown no commas
        if _is_one_deed(commands) and _named(parse.commands) == _named(commands) and parse.commands[-1] == commands[-1]:
            return True  # German says its verb once for several things, behind the last of them
        if 0 < len(parse.commands) < len(commands) and all(one in commands for one in parse.commands):
            return self._frames.knows_all(text, turn.names)  # of three wishes the parser has the last
        if not parse.is_sure():
            topic, _, rest = parse.act.partition(".")
            if rest and all(one.tool.startswith(f"{topic}.") for one in commands):
                return True  # "five more minutes on the rice timer": a doubtful reading of the same things is no other
            if parse.act not in SILENT and len(self._frames.clauses(text)) == 1:
                return True
        if commands == self._frames.refused(text, turn.names, turn.room):
            return True  # its tool says that it cannot be done
        if not parse.is_sure() and any("query" in one.arguments for one in commands):
            return parse.act not in SILENT or parse.chance < SURE_OF_SILENCE  # a name may be made of any words
        wish = self._frames.wish(text)
        alone = self._sentences.parse(wish, turn.names, turn.room) if wish else NOT_PARSED
        return alone.is_sure() and are_like(alone, commands)


def _are_named(parse: Parse, names: Names) -> bool:
    """Whether all is to be done now, and to devices that a sentence has by their names or their rooms."""
    tokens = [one.piece.token for one in parse.pieces if one.piece.token]
    rooms = {one.value for one in tokens if one.category == "room"}
    named = {one.value.name for one in tokens if one.category == "device"}
    named |= {one.name for one in names.devices if one.room in rooms}
    deeds = all(one.tool.startswith("home.") and not only_look([one]) for one in parse.commands)
    return deeds and all(one.arguments.get("device") in named for one in parse.commands)


def _are_one(some: Sequence[Command], others: Sequence[Command]) -> bool:
    """Whether the same is done, and to no other device: one may be meant by its name, or by its kind and room."""

    def alike(one: Command, other: Command) -> bool:
        devices = {one.arguments.get("device"), other.arguments.get("device")} - {None}
        return act_of(one.tool, one.arguments) == act_of(other.tool, other.arguments) and len(devices) < 2

    return len(some) == len(others) and all(map(alike, some, others))


def _named(commands: Sequence[Command]) -> list[object]:
    """Return the devices that commands name, one each."""
    return [one.arguments.get("device") for one in commands]


def _is_one_deed(commands: Sequence[Command]) -> bool:
    """Whether several commands do the same to several devices."""
    alike = all(
        one.tool == commands[0].tool and with_target(one, {}) == with_target(commands[0], {}) for one in commands
    )
    return len(commands) > 1 and alike and all(_named(commands))


def _on_the_first(commands: Sequence[Command], names: Names) -> tuple[Command, ...]:
    """Return deeds of which a later one is on the device of the one before: "radio on and the volume to ten"."""
    done: list[Command] = []
    kinds = {device.name: device.kind for device in names.devices}
    for command in commands:
        given, last = command.arguments, str(done[-1].arguments.get("device", "")) if done else ""
        leans = last and command.tool.startswith("home.") and not name_any([command])
        if leans and given.get("kind") == kinds.get(last):
            rest = {key: value for key, value in given.items() if key != "kind"}
            command = replace(command, arguments={**rest, "device": last})
        done.append(command)
    return tuple(done)
