"""The ear of one house: knows what can be said in its language, and with the names that it has now."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from atlas.hearing.automaton import graph_of
from atlas.hearing.ear import Ear, Sense, by_words
from atlas.hearing.nearest import Book
from atlas.hearing.search import Nets, Search, Searches
from atlas.hearing.sounds import Sounds
from atlas.latest import Latest
from atlas.understanding.custom import NONE, CustomSentences
from atlas.understanding.emergencies import open_emergencies
from atlas.understanding.house_ways import HouseWays, custom_ways
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.public import SHOPPING, read_public
from atlas.understanding.slots import Command
from atlas.understanding.understanding import Understanding

# language → espeak's voice; those whose numbers and times house_ways.py can say
ESPEAK_VOICES = {"en": "en-us", "de": "de"}
NEAR = 0.17  # what was said to others lies farther; see docs/log.md
ASK_NEAR, ASK_LESS_LIKELY = 0.27, 1.9  # beyond which a question would be as odd as a deed
LESS_LIKELY = 2.1  # what was misheard is 0.1 to 2 less likely, what was not said 2.4 and more
MOST_TIMERS = 32  # whose names are remembered, until the house is started anew
MOST, MARGIN = 8, 1.5  # ways that are weighed; a house has many that are nearly the same


class HouseBook:
    """What can be said in one language. Compiled once, when it is first needed: a second of one core."""

    def __init__(self, language: str, tables: Mapping[str, Any], sounds: Sounds) -> None:
        self.language = language
        self._own = tables
        self._sounds = sounds

    def of(self, names: Names, custom: CustomSentences = NONE) -> Book:
        """Return what can be said in a house with these names and sentences. Blocking: a few tenths of a second."""
        ways, nets = self._compiled
        named = ways.values(names)
        search = Search(nets, named, self._sounds)
        if not custom:
            return self._book(search)
        own_ways, values = custom_ways(custom.grammar, self.language)
        own_search = Search(Nets(graph_of(own_ways)), {**named, **values}, self._sounds)
        return self._book(Searches(search, own_search))

    def answers_of(self, names: Names) -> Book:
        """Return what can be said to a question that a house with these names asks. Blocking."""
        ways, _ = self._compiled
        return self._book(Search(self._answers, ways.values(names), self._sounds))

    def _book(self, search: Search | Searches) -> Book:
        return Book(search, by_words(self.language), NEAR, LESS_LIKELY, ASK_NEAR, ASK_LESS_LIKELY, MOST, MARGIN)

    @cached_property
    def _answers(self) -> Nets:
        return Nets(graph_of(self._compiled[0].answers))

    @cached_property
    def _compiled(self) -> tuple[HouseWays, Nets]:
        ways = HouseWays(self._own, read_public(self.language))
        return ways, Nets(graph_of(ways.ways))


class BookKeeper:
    """Keeps an ear's book as the house is: by its names and by its own sentences. May be called from any thread."""

    def __init__(self, ear: Ear, book: HouseBook) -> None:
        self._ear = ear
        self._book = book
        self._names = Names()
        self._custom = NONE
        self._writing = threading.Lock()

    def learn(self, names: Names | None = None, custom: CustomSentences | None = None) -> None:
        """Know what can be said from now on; what is not given stays as it is. Blocking."""
        if self._book.language not in ESPEAK_VOICES:
            return
        with self._writing:
            self._names = self._names if names is None else names
            self._custom = self._custom if custom is None else custom
            self._ear.books = (self._book.of(self._names, self._custom),)
            self._ear.answer_book = self._book.answers_of(self._names)


class Senses:
    """What words are to a house that read them."""

    def __init__(self, language: str) -> None:
        self._emergencies = open_emergencies(language)
        self._timers = Latest[str, None](MOST_TIMERS)  # names that were given to timers here, the latest last

    def learn_timer(self, name: str) -> None:
        """Believe the name of a timer that was set, where it is read again."""
        self._timers[name.casefold()] = None

    def of(self, text: str, meant: Understanding, names: Names) -> Sense:
        """Return what `text` is, which was understood as `meant` in a house with these names."""
        if meant.negated:
            return Sense.NEGATED if meant.empty else Sense.DENIED
        if meant.custom:
            return Sense.LOOSE if meant.custom.loose else Sense.COMMAND
        if meant.commands:
            if not all(map(self._is_known_timer, meant.commands)):
                return Sense.LOOSE  # "shanta timer for an hour": any word names a timer
            if not all(_is_known(command, names) for command in meant.commands):
                return Sense.NOTHING
            return Sense.LOOSE if any(_is_new_list(command, names) for command in meant.commands) else Sense.COMMAND
        if any(_is_new_list(command, names) for command in meant.in_question):
            return Sense.LOOSE
        if (
            meant.choices
            or meant.reply
            or meant.restart
            or meant.that
            or meant.help
            or meant.about
            or self._emergencies.read(text)
        ):
            return Sense.OTHER
        return Sense.OPEN if meant.half or meant.question else Sense.NOTHING

    def _is_known_timer(self, command: Command) -> bool:
        name = command.arguments.get("name") if command.tool.startswith("timers.") else None
        return name is None or str(name).casefold() in self._timers


def _is_known(command: Command, names: Names) -> bool:
    """Whether the device and the room of a command are in the house: "kitchen lives" and "the portal" are not."""
    if not command.tool.startswith("home."):
        return True
    device, room = (str(command.arguments.get(one, "")).casefold() for one in ("device", "room"))
    return (not device or device in _spoken_names(names.devices)) and (not room or room in _spoken_names(names.places))


def _spoken_names(named: Iterable[NamedDevice | NamedPlace]) -> set[str]:
    return {name.casefold() for one in named for name in one.all_names}


def _is_new_list(command: Command, names: Names) -> bool:
    """Whether a command is about a list that there is not: "sharpening", more likely "shopping" than a new one."""
    sheet = str(command.arguments.get("list", "")).casefold()
    return bool(sheet) and sheet not in {SHOPPING, *(name.casefold() for name in names.lists)}


__all__ = ["ESPEAK_VOICES", "BookKeeper", "Ear", "HouseBook", "Senses"]
