"""Reads one sentence by itself with all readers there are: the house's grammar, frames, the public grammar, the parser.

Who knows the names of the devices goes first; the public grammar has more ways to say things, and wins where it has a
whole sentence of its own. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Protocol

from atlas.understanding.command_traits import is_nowhere, name_any, of_home, only_look, says_all
from atlas.understanding.dialogue import Commands
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import Grammar, Half
from atlas.understanding.home_tools import TARGETS
from atlas.understanding.names import Names
from atlas.understanding.parser import NOT_PARSED, NOTHING, Before, Parse, Parser
from atlas.understanding.patterns import IN_MEMORY
from atlas.understanding.slots import Command
from atlas.understanding.spoken_tools import open_spoken_tools


class Public(Protocol):
    """The public grammar, over the names of this house."""

    def read(self, text: str, names: Names, room: str) -> tuple[Command, ...] | str | None:
        """Return the commands that `text` is from its first word to its last; `None` where it is none.

        A text is what to say to words that ask for no deed: "never mind".

        `room` is where the speaker stands; "" when that is not known. Takes a few milliseconds, and no I/O.
        """
        ...


class SentenceReader:
    """The readers of one language; `room` is where the speaker stands. Immutable."""

    def __init__(self, grammar: Grammar, frames: Frames, public: Public | None, parser: Parser | None) -> None:
        self.grammar, self.frames, self.parser = grammar, frames, parser
        self._public = public
        self._of_devices = lru_cache(IN_MEMORY)(self._read_of_devices)

    def commands(self, text: str, names: Names, room: str = "") -> tuple[Command, ...]:
        """Return the commands that `text` is by itself; of devices, who knows their names goes first."""
        commands = self.grammar.commands(text, names)
        if not of_home(commands):
            public = self.by_public(text, names, room)
            return public if isinstance(public, tuple) and _reads_closer(public, commands) else commands
        if of_devices := self.of_devices(text, names, room):
            return of_devices
        public = self.by_public(text, names, room)
        return commands or (public if isinstance(public, tuple) else ())

    def commands_in(self, names: Names, room: str) -> Commands:
        """Return `commands` for one house and room."""
        return partial(self.commands, names=names, room=room)

    def learned_in(self, names: Names, room: str) -> Commands:
        """Return what tells the commands of which the parser is sure."""
        return lambda text: parse.commands if (parse := self.parse(text, names, room)).is_sure() else ()

    def commands_or_learned_in(self, names: Names, room: str) -> Commands:
        """Return what tells the commands of all readers, the parser last."""
        commands, learned = self.commands_in(names, room), self.learned_in(names, room)
        return lambda text: commands(text) or learned(text)

    def of_devices(self, text: str, names: Names, room: str, before: Sequence[str] = ()) -> tuple[Command, ...]:
        """Return what is wanted of devices or asked about them, in the public words or in whatever order they come.

        `before`: names of the devices that were just spoken of.
        """
        return self._of_devices(text, names, room, tuple(before))

    def _read_of_devices(self, text: str, names: Names, room: str, before: tuple[str, ...]) -> tuple[Command, ...]:
        look = self.frames.question(text, names, room)
        free = (look,) if look else self.frames.read(text, names, room, before)
        if look and (wanted := self.frames.politely(text, names, room)):
            free, look = wanted, None
        public = self.by_public(text, names, room) if names.devices else None
        if not isinstance(public, tuple) or not of_home(public):
            return free
        if look and all(one.tool != "home.state" for one in public) and self.frames.only_asks(text):
            return free  # "worktop light on?"
        if free and not look and only_look(public):
            return free  # "all lights off"
        if _is_narrower(free, public, room):
            return free  # the light in the kitchen, where one is called kitchen light
        here = look and room and self.frames.says_here(text)
        if here and not name_any(public) and all("measure" not in one.arguments for one in public):
            return free  # "is the window open in here?"
        if free and any(is_nowhere(one, names) for one in public):
            return free  # of the gate, where the house has a garage door
        swallowed = len(free) > 1 and "query" in public[0].arguments  # two deeds, taken for the name of a song
        return free if swallowed else public

    def by_public(self, text: str, names: Names, room: str) -> tuple[Command, ...] | str | None:
        """Return what the public grammar makes of words; of those with a "don't", only what it has itself.

        "I don't like this song" is one of its sentences. What takes any words would take a "don't" as well.
        """
        if self._public is None:
            return None
        public = self._public.read(self.frames.publicly(text), names, room)
        if isinstance(public, tuple):
            public = tuple(self._nearby(self._without_no_name(one), text, names, room) for one in public)
            if any(self._is_no_wish(one, text, names) for one in public):
                return None
        if self.grammar.is_negated(text, names) and not (isinstance(public, tuple) and all(map(says_all, public))):
            return None
        return public

    def _nearby(self, command: Command, text: str, names: Names, room: str) -> Command:
        """Return a command for the one device here that is meant where one of another room is called "Blind"."""
        named = self.frames.devices_in(text, names, room) if command.arguments.get("device") else set()
        near = [one.name for one in names.devices if one.name in named and one.room == room]
        nearer = room and len(near) == len(named) == 1 and command.arguments["device"] not in near
        return replace(command, arguments={**command.arguments, "device": near[0]}) if nearer else command

    def _without_no_name(self, command: Command) -> Command:
        """Return a command for a timer without a name that is none: "wann ist der fertig"."""
        name = command.arguments.get("name")
        if command.topic != "timers" or not isinstance(name, str) or not self.grammar.slots.is_no_name(name):
            return command
        return replace(command, arguments={key: one for key, one in command.arguments.items() if key != "name"})

    def _is_no_wish(self, command: Command, text: str, names: Names) -> bool:
        """Whether a command took for a song or a setting what is none: "can you hear me", "two more"."""
        query = command.arguments.get("query")
        if isinstance(query, str) and self.grammar.slots.is_no_name(query):
            return True
        return _is_no_setting(command) and not self.frames.names_one(text, names)

    def half(self, text: str, names: Names, room: str) -> Half | str | None:
        """Return half of a command that `text` is, and the question for what it lacks; or what to say to it."""
        if half := self.grammar.half(text, names):
            return half
        public = self.by_public(text, names, room)
        return public if isinstance(public, str) else None

    def parse(self, text: str, names: Names, room: str, before: Before = NOTHING) -> Parse:
        """Return what the parser makes of words; `NOT_PARSED` where there is none."""
        return self.parser.parse(text, names, room, before) if self.parser else NOT_PARSED


def _is_no_setting(command: Command) -> bool:
    """Whether a number is one that a thing is never set to: "two more" is no heating at two degrees."""
    numbers = open_spoken_tools().of("home.set").numbers
    given = [(bounds, command.arguments.get(name)) for name, bounds in numbers.items()]
    return command.tool == "home.set" and any(
        isinstance(value, (int, float)) and not bounds[0] <= value <= bounds[1] for bounds, value in given
    )


def _is_narrower(free: Sequence[Command], public: Sequence[Command], here: str) -> bool:
    """Whether a reading has one device where another has all of a kind in a room, and they are the same otherwise."""
    if len(free) != 1 or len(public) != 1 or free[0].tool != public[0].tool:
        return False
    one, every = ({k: v for k, v in given[0].arguments.items() if k not in TARGETS} for given in (free, public))
    device, room = str(free[0].arguments.get("device", "")), str(public[0].arguments.get("room", here))
    return one == every and "kind" in public[0].arguments and device.casefold().startswith(f"{room} ".casefold())


def _reads_closer(public: Sequence[Command], commands: Sequence[Command]) -> bool:
    """Whether the public grammar has words of its own for what ours took for part of a thing or a place.

    "Complete apples on my shopping list" is no thing called complete apples, "London like" is no place.
    """
    if len(public) != 1 or len(commands) != 1:
        return False
    [theirs], [ours] = public, commands
    if theirs.tool in ("lists.check", "lists.remove"):
        return ours.tool in ("lists.add", "lists.check")
    if theirs.tool == ours.tool == "lists.add":  # a verb of theirs is no part of the thing
        text, thing = (one.arguments.get("items", [""]) for one in (ours, theirs))
        return len(text) == 1 and str(text[0]).endswith(f" {thing[0]}")
    place = str(theirs.arguments.get("place", ""))
    return theirs.tool == ours.tool == "weather.now" and str(ours.arguments.get("place", "")).startswith(f"{place} ")
