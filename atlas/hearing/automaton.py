"""A grammar → the smallest graph of it: one arc for a word or a slot, none of them twice. Pure.

Built as textbooks do it: a nondeterministic automaton with empty arcs, sets of its states as states, and then, as
nothing in a grammar of commands goes round in circles, equal ends merged from the back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from atlas.ways import Anything, OneOf, SharedWay, Slot, SpokenWords, Way, WaySeries

Symbol = str | Slot | SharedWay | Anything  # what an arc stands for: a word, or a place


@dataclass(frozen=True, slots=True)
class Arc:
    """A step from one state to a later one."""

    source: int
    symbol: Symbol
    target: int


@dataclass(frozen=True, slots=True)
class Graph:
    """States are numbered so that every arc goes up; 0 is the start."""

    states: int
    arcs: tuple[Arc, ...]
    ends: frozenset[int]


@dataclass(slots=True)
class _Loose:
    """A nondeterministic automaton under construction."""

    arcs: list[list[tuple[Symbol, int]]] = field(default_factory=list)
    empty: list[list[int]] = field(default_factory=list)

    def state(self) -> int:
        self.arcs.append([])
        self.empty.append([])
        return len(self.arcs) - 1

    def add(self, way: Way, start: int) -> int:
        """Add a way from `start`; return where it ends."""
        match way:
            case SpokenWords(text=text):
                for word in text.split():
                    start = self._step(start, word)
                return start
            case WaySeries(parts=parts):
                for part in parts:
                    start = self.add(part, start)
                return start
            case OneOf(options=options):
                end = self.state()
                for option in options:
                    self.empty[self.add(option, start)].append(end)
                return end
            case Slot() | SharedWay() | Anything():
                return self._step(start, way)

    def _step(self, start: int, symbol: Symbol) -> int:
        end = self.state()
        self.arcs[start].append((symbol, end))
        return end

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        """Return the states that are reached without a word."""
        reached, waiting = set(states), list(states)
        while waiting:
            for state in self.empty[waiting.pop()]:
                if state not in reached:
                    reached.add(state)
                    waiting.append(state)
        return frozenset(reached)


def graph_of(ways: Iterable[Way]) -> Graph:
    """Return the smallest graph that has exactly these ways."""
    loose = _Loose()
    start = loose.state()
    ends = {loose.add(way, start) for way in ways}
    first = loose.closure({start})
    steps: dict[frozenset[int], dict[Symbol, frozenset[int]]] = {}
    waiting = [first]
    while waiting:
        here = waiting.pop()
        if here in steps:
            continue
        reached: dict[Symbol, set[int]] = defaultdict(set)
        for state in here:
            for symbol, target in loose.arcs[state]:
                reached[symbol].add(target)
        steps[here] = {symbol: loose.closure(targets) for symbol, targets in reached.items()}
        waiting.extend(steps[here].values())
    return _merged(first, steps, ends)


def _merged(
    first: frozenset[int], steps: Mapping[frozenset[int], Mapping[Symbol, frozenset[int]]], ends: set[int]
) -> Graph:
    """Merge what goes on alike, from the back, and number it from the front."""
    number_of: dict[frozenset[int], int] = {}
    alike: dict[object, int] = {}
    remainder: list[tuple[tuple[tuple[Symbol, int], ...], bool]] = []
    stack = [(first, False)]
    while stack:
        here, ready = stack.pop()
        if here in number_of:
            continue
        if not ready:
            stack.append((here, True))
            stack.extend((target, False) for target in steps[here].values() if target not in number_of)
            continue
        arcs = tuple(
            sorted(((s, number_of[t]) for s, t in steps[here].items()), key=lambda arc: (_name(arc[0]), arc[1]))
        )
        final = bool(here & ends)
        if (arcs, final) not in alike:
            alike[arcs, final] = len(remainder)
            remainder.append((arcs, final))
        number_of[here] = alike[arcs, final]
    last = len(remainder) - 1  # states were numbered from the end; the start is the last
    arcs_up = [
        Arc(last - at, symbol, last - target) for at, (arcs, _) in enumerate(remainder) for symbol, target in arcs
    ]
    ending = frozenset(last - at for at, (_, final) in enumerate(remainder) if final)
    return Graph(len(remainder), tuple(sorted(arcs_up, key=lambda arc: arc.source)), ending)


def _name(symbol: Symbol) -> str:
    return symbol if isinstance(symbol, str) else f" {symbol.name}"
