"""Puts a turn beside what was done before it: what it may lean on, and its words without what only joins them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from atlas.conversation import Message, Turn
from atlas.understanding.dialogue import NOTHING_BEFORE, UNDO, Dialogue, EarlierTurn, recent
from atlas.understanding.follow_ups import FollowUps
from atlas.understanding.meaning import TurnMeaning
from atlas.understanding.names import Names
from atlas.understanding.parser import NOT_PARSED, NOTHING, Before, Parse, act_of
from atlas.understanding.patterns import act_pattern
from atlas.understanding.relative_moments import RelativeMoments
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import LATER

OF_LISTS = ("lists.check", "lists.remove", "tasks.done", "tasks.remove")  # done to what stands on one


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """A turn as it was heard: all its readings, best first, and what has a name in this house."""

    readings: tuple[str, ...]
    turn: Turn
    names: Names
    verbatim: tuple[str, ...]  # the readings with all hesitation

    @property
    def text(self) -> str:
        """The best reading."""
        return self.readings[0]

    @property
    def room(self) -> str:
        """Where the speaker stands."""
        return self.turn.actor.room

    def saying(self, text: str) -> SpokenTurn:
        """Return the turn as if these words alone had been heard."""
        return replace(self, readings=(text,))


Understand = Callable[[SpokenTurn], TurnMeaning]  # reads a part of a turn as if it were the whole


@dataclass(frozen=True, slots=True)
class DialogueTurn:
    """A turn beside what was done before it."""

    heard: SpokenTurn
    readings: tuple[str, ...]  # without what only joins them to what was before
    exchanges: tuple[EarlierTurn, ...]  # the latest first
    last: EarlierTurn
    before: Before
    parse: Parse = NOT_PARSED

    @property
    def text(self) -> str:
        """The best reading."""
        return self.readings[0]

    @property
    def names(self) -> Names:
        """What has a name in this house."""
        return self.heard.names

    @property
    def room(self) -> str:
        """Where the speaker stands."""
        return self.heard.room

    @property
    def history(self) -> Sequence[Message]:
        """What the turn may lean on."""
        return recent(self.heard.turn)


class DialogueTurns:
    """How turns of one language are joined to what was done before them. Immutable."""

    def __init__(self, sentences: SentenceReader, dialogue: Dialogue, follow_ups: FollowUps) -> None:
        self._sentences = sentences
        self.dialogue = dialogue
        self.follow_ups = follow_ups
        self._corrects = act_pattern(sentences.grammar.tables, "corrects")
        self._relative_moments = RelativeMoments(sentences.grammar.tables.get("relative_moments", {}))

    def beside_history(self, heard: SpokenTurn) -> DialogueTurn:
        """Return a turn beside its history, with the places and titles written out that it leaves to that."""
        exchanges = tuple(self.dialogue.exchanges(recent(heard.turn)))
        last = exchanges[0] if exchanges else NOTHING_BEFORE
        before, readings = _before(exchanges), heard.readings
        person = heard.turn.actor.person
        readings = tuple(self.dialogue.owned(text, person, heard.room, heard.names) for text in readings)
        if exchanges:
            readings = tuple(self.dialogue.placed(text, exchanges, heard.room, heard.names) for text in readings)
        if before.act:
            readings = tuple(self.dialogue.titled(text, exchanges) for text in readings)
            readings = tuple(self._relative_moments.at_the_same_time(text, exchanges) for text in readings)
        return DialogueTurn(heard, readings, exchanges, last, before)

    def without_slips(self, turn: DialogueTurn) -> DialogueTurn:
        """Return a turn without the "no, I mean" that joins it to what was done before, and as the parser reads it."""
        readings = turn.readings
        if turn.before.act:
            readings = tuple(self._corrects.sub("", text) for text in readings)
            readings = tuple(self.follow_ups.contrasted(text) or text for text in readings)
            readings = tuple(self._wanted(text, turn) for text in readings)
            names_one, whole = self._sentences.frames.names_one, turn.readings
            readings = tuple(  # "not Ruby's light, put hers back on" is of no other
                before if names_one(before, turn.names) and not names_one(text, turn.names) else text
                for before, text in zip(whole, readings, strict=True)
            )
        parse = self._sentences.parse(readings[0], turn.names, turn.room, turn.before)
        return replace(turn, readings=readings, parse=parse)

    def _wanted(self, text: str, turn: DialogueTurn) -> str:
        """Return what of a text is wanted, where it is about what was done last: without why, and without "I'm in"."""
        wanted = self._sentences.frames.without_asides(text, turn.names)
        whole = self.follow_ups.slips(text) or self.dialogue.chooses(text)
        return wanted if wanted and turn.last.of_devices and not whole else text


def _before(exchanges: Sequence[EarlierTurn]) -> Before:
    """Return the last that was done or looked up, in the last exchange or the one before."""
    for exchange in exchanges[:2]:
        if exchange.tried and (call := exchange.tried[-1]).name != UNDO:
            tool, arguments = call.name, call.arguments
            if call not in exchange.calls and tool in OF_LISTS:
                return NOTHING  # "there is no milk on the list": what is said next is no other thing on it
            if tool == LATER:
                inner = arguments.get("arguments")
                tool, arguments = str(arguments.get("tool", "")), inner if isinstance(inner, Mapping) else {}
            things = tuple(thing.name for thing in exchange.things if thing.topic == "home")
            device = arguments.get("device")
            devices = things or ((device,) if isinstance(device, str) else ())
            return Before(act_of(tool, arguments), arguments, devices, _person(exchanges))
    return NOTHING


def _person(exchanges: Sequence[EarlierTurn]) -> str:
    """Return who was spoken of in the last exchange or the one before; "" for nobody."""
    called = (call.arguments.get("person") for exchange in exchanges[:2] for call in reversed(exchange.tried))
    return next((person for person in called if isinstance(person, str)), "")
