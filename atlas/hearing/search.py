"""The ways of a grammar that lie nearest to sounds: weighted alignment by dynamic programming, in numpy. Pure.

First every word and every slot's value is laid on every place of the sounds, all of them at once, letter by letter
down one trie. Then the graph is walked in the order of its states: the best cost of having said the way to a state
and heard the sounds up to a place; parts, such as lengths of time, have graphs of their own, walked from every place
at once. Last the cheapest ways are picked out from the end, best first: what a way costs from its start is known by
then, so no step of that is in vain (A* with a perfect estimate).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from atlas.hearing.automaton import Graph, Symbol, graph_of
from atlas.hearing.sounds import ALONE, SWAP, Floats, Sounds
from atlas.ways import Anything, SharedWay, Slot, Values

INFINITE = np.float32(1e6)
SLACK = 4  # phonemes by which what was heard may be longer or shorter than the words
AROUND = 1.0  # of its cost alone, what a sound before the first word or after the last costs: "um, …"
ANYTHING = 0.3  # for each sound that anything takes: dearer than a word that fits, cheaper than one that does not
ANYTHING_AT_ALL = 0.6
LEAST_ANYTHING = 2  # sounds
SHORT = 10  # sounds that most words have at most
CUT = 0.55  # a word that costs more for each of its sounds, wherever it is laid, is in no way that is worth looking at
LEAST_CUT = 1.0
MOST_WALKED = 64  # searches that are remembered: a second pass has the readings of the first again
MOST_INSIDE = 4  # ways through a part, for each way that has it
NEAR_COST = 3.5  # what is looked at first: what was said is mostly nearer, and four of five steps lead farther

_SHORT, _LONG, _PART, _ANYTHING = range(4)  # kinds of symbols, by how many lengths they may have

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WayPiece:
    """One word, slot or part of a way: how it is written, and, of slots, which and with what value."""

    text: str
    slot: str = ""
    start: int = 0  # of the sounds that it lies on
    end: int = 0


@dataclass(frozen=True, slots=True)
class WayMatch:
    """A way, and how far from the sounds it is: the sum of what differs."""

    cost: float
    pieces: tuple[WayPiece, ...]

    @property
    def slots(self) -> Mapping[str, str]:
        """The value of each slot."""
        return {piece.slot: piece.text for piece in self.pieces if piece.slot}

    @property
    def text(self) -> str:
        """The words."""
        return " ".join(piece.text for piece in self.pieces if piece.text)


@dataclass(frozen=True, slots=True)
class _Level:
    """The nodes of the trie at one depth."""

    parents: Ints
    phonemes: Ints
    ends: Ints  # which nodes end a phrase
    phrases: Ints  # and which phrase


class Net:
    """A graph as arrays. Immutable."""

    def __init__(self, graph: Graph, numbers: Mapping[Symbol, int]) -> None:
        self.states = graph.states
        self.source = np.array([arc.source for arc in graph.arcs], np.int64)
        self.target = np.array([arc.target for arc in graph.arcs], np.int64)
        self.symbol = np.array([numbers[arc.symbol] for arc in graph.arcs], np.int64)
        self.ends = np.array(sorted(graph.ends), np.int64)
        depth = np.zeros(graph.states, np.int64)
        for arc in graph.arcs:  # in the order of their sources, which arcs only lead up from
            depth[arc.target] = max(depth[arc.target], depth[arc.source] + 1)
        self._depth = depth[self.source]

    def layers(self, usable: NDArray[np.bool_]) -> Iterator[Ints]:
        """Yield the arcs whose symbol is usable, by how many steps at most lead to their source; ordered by target."""
        arcs = np.flatnonzero(usable[self.symbol])
        arcs = arcs[np.lexsort((self.target[arcs], self._depth[arcs]))]
        bounds = np.flatnonzero(np.diff(self._depth[arcs])) + 1
        yield from np.split(arcs, bounds) if len(arcs) else ()

    @cached_property
    def onward(self) -> list[list[tuple[int, int]]]:
        """The symbols that each state goes on with, and where to."""
        steps: list[list[tuple[int, int]]] = [[] for _ in range(self.states)]
        for source, symbol, target in zip(self.source, self.symbol, self.target, strict=True):
            steps[source].append((int(symbol), int(target)))
        return steps

    @cached_property
    def into(self) -> list[Ints]:
        """The arcs that lead to each state."""
        order = np.argsort(self.target, kind="stable")
        bounds = np.searchsorted(self.target[order], np.arange(self.states + 1))
        return [order[bounds[state] : bounds[state + 1]] for state in range(self.states)]


class Nets:
    """A grammar and its parts, compiled: what does not depend on the names of a house. Immutable."""

    def __init__(self, graph: Graph) -> None:
        symbols: dict[Symbol, int] = {}
        graphs: list[tuple[int, Graph]] = []
        waiting: list[tuple[int, Graph]] = [(-1, graph)]
        while waiting:
            number, one = waiting.pop()
            graphs.append((number, one))
            for arc in one.arcs:
                if arc.symbol not in symbols:
                    symbols[arc.symbol] = len(symbols)
                    if isinstance(arc.symbol, SharedWay):
                        waiting.append((symbols[arc.symbol], graph_of([arc.symbol.way])))
        self.symbols: Sequence[Symbol] = list(symbols)
        self.whole = Net(graph, symbols)
        self.parts = [
            (number, Net(one, symbols)) for number, one in reversed(graphs) if number >= 0
        ]  # inner ones first


class Search:
    """Finds ways through one grammar with the values of one house. A search takes milliseconds, no I/O."""

    def __init__(self, nets: Nets, values: Values, sounds: Sounds) -> None:
        self._nets = nets
        self._values = values
        self._texts: list[str] = []
        symbol_of: list[int] = []
        spoken: list[tuple[int, ...]] = []
        for number, symbol in enumerate(nets.symbols):
            for text, written in _phrases(symbol, values):
                if phonemes := sounds.of(text):
                    self._texts.append(written)
                    symbol_of.append(number)
                    spoken.append(phonemes)
        self._symbol_of = np.array(symbol_of, np.int64)
        lengths = np.array([len(phonemes) for phonemes in spoken] or [0], np.int64)
        self._longest = int(lengths.max()) + SLACK
        self._levels = list(_trie(spoken))
        self._anything = np.array([isinstance(symbol, Anything) for symbol in nets.symbols], bool)
        self._part = np.array([isinstance(symbol, SharedWay) for symbol in nets.symbols], bool)
        most = np.zeros(len(nets.symbols), np.int64)
        np.maximum.at(most, self._symbol_of, lengths[: len(spoken)])
        long = most + SLACK > SHORT
        self._kinds = np.select([self._anything, self._part, long], [_ANYTHING, _PART, _LONG], _SHORT)
        self._members = [np.flatnonzero(self._symbol_of == number) for number in range(len(nets.symbols))]
        self._several = [number for number, members in enumerate(self._members) if len(members) > 1]
        self._only = np.array([members[0] for members in self._members if len(members) == 1], np.int64)
        self._cut = np.maximum(LEAST_CUT, CUT * most)
        self._walked: dict[tuple[tuple[int, ...], int, float], tuple[float, list[WayMatch]]] = {}

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of what can be said."""
        texts = (text for symbol in self._nets.symbols for text, _ in _phrases(symbol, self._values))
        return frozenset(word for phrase in texts for word in phrase.casefold().split())

    def says(self, words: Sequence[str]) -> bool:
        """Tell whether words are a way from the first to the last, with nothing open in it."""
        return len(words) in self._reached(self._nets.whole, words, 0)

    def _reached(self, net: Net, words: Sequence[str], start: int) -> frozenset[int]:
        """Return up to which of the words ways of a graph lead that begin at one of them."""
        places: dict[int, set[int]] = {0: {start}}
        for state in range(net.states):  # arcs only lead up
            for place in places.get(state, ()):
                for number, target in net.onward[state]:
                    if ends := self._ends(number, words, place):
                        places.setdefault(target, set()).update(ends)
        return frozenset().union(*(places.get(int(end), ()) for end in net.ends))

    def _ends(self, number: int, words: Sequence[str], place: int) -> Iterable[int]:
        """Return where a symbol may end that begins at a word."""
        match self._nets.symbols[number]:
            case Anything():
                return ()
            case SharedWay():
                return self._reached(self._net_of[number], words, place)
            case _:
                later = self._spelled[number].get(words[place], ()) if place < len(words) else ()
                return {place + len(phrase) for phrase in later if phrase == tuple(words[place : place + len(phrase)])}

    @cached_property
    def _net_of(self) -> Mapping[int, Net]:
        return dict(self._nets.parts)

    @cached_property
    def _spelled(self) -> Sequence[Mapping[str, Sequence[tuple[str, ...]]]]:
        """The phrases of each symbol by their first word, as they are spoken and as they are written."""
        spelled: list[dict[str, list[tuple[str, ...]]]] = []
        for symbol in self._nets.symbols:
            phrases: dict[str, list[tuple[str, ...]]] = {}
            for one in {form for both in _phrases(symbol, self._values) for form in both}:
                if words := tuple(one.casefold().replace("-", " ").split()):
                    phrases.setdefault(words[0], []).append(words)
            spelled.append(phrases)
        return spelled

    def nearest(self, heard: Sequence[int], most: int, margin: float, worst: float = math.inf) -> list[WayMatch]:
        """Return up to `most` ways, best first, that cost `margin` more than the best at most, and `worst` at all."""
        if not heard or not self._texts:
            return []
        if worst < 0:
            return []
        wanted = (tuple(heard), most, margin)
        limit, matches = self._walked.get(wanted, (-1.0, []))
        if worst > limit and not _are_all(matches, most, margin, limit):
            if len(self._walked) >= MOST_WALKED:
                self._walked.clear()
            limit, matches = self._walked[wanted] = self._walk(heard, most, margin, worst)
        return [match for match in matches if match.cost <= worst]

    def _walk(self, heard: Sequence[int], most: int, margin: float, worst: float) -> tuple[float, list[WayMatch]]:
        """Return the ways that cost a limit at most, and the limit: `worst`, or less where they are all there are."""
        walk, limit = _Walk(self, heard), min(worst, NEAR_COST)
        matches = walk.picked(most, margin, limit)
        if limit < worst and not _are_all(matches, most, margin, limit):
            limit, matches = worst, walk.picked(most, margin, worst)
        return limit, matches


def _are_all(matches: Sequence[WayMatch], most: int, margin: float, limit: float) -> bool:
    """Whether ways that cost `limit` at most would be no more if they might cost more."""
    return len(matches) >= most or (bool(matches) and matches[0].cost + margin <= limit)


class Searches:
    """Several grammars, searched one after the other: the nearest ways of all."""

    def __init__(self, *searches: Search) -> None:
        self._searches = searches

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word of what can be said."""
        return frozenset().union(*(one.words for one in self._searches))

    def says(self, words: Sequence[str]) -> bool:
        """See `Search.says`."""
        return any(one.says(words) for one in self._searches)

    def nearest(self, heard: Sequence[int], most: int, margin: float, worst: float = math.inf) -> list[WayMatch]:
        """See `Search.nearest`."""
        matches = [match for one in self._searches for match in one.nearest(heard, most, margin, worst)]
        matches.sort(key=lambda match: match.cost)
        return [match for match in matches if match.cost <= matches[0].cost + margin][:most]


class _Walk:
    """One search under way."""

    def __init__(self, search: Search, heard: Sequence[int]) -> None:
        self._s = search
        self._heard = np.array(heard, np.int64)
        self._places = len(heard) + 1
        alone = ALONE[self._heard]
        self._lead = np.concatenate([[0.0], np.cumsum(alone * AROUND)]).astype(np.float32)
        self._rest = np.concatenate([np.cumsum((alone * AROUND)[::-1])[::-1], [0.0]]).astype(np.float32)
        self._phrases = self._laid()
        self._symbols = self._of_symbols()
        self._cheapest = self._symbols.min(axis=(1, 2))
        self._inside: dict[int, tuple[Net, Floats]] = {}
        self._limit = math.inf

    def _go(self, limit: float) -> None:
        """Walk the graph and its parts as far as ways lead that cost `limit` at most: steps only add to a cost."""
        self._limit = limit
        for number, net in self._s._nets.parts:
            self._walk_part(number, net)
        first = np.full((1, self._places), INFINITE, np.float32)
        first[0] = self._lead
        self._before = self._forward(self._s._nets.whole, first)[:, 0]

    # ── every phrase on every place ─────────────────────────────────────────────────────────────────

    def _laid(self) -> Floats:
        """Return what each phrase costs on the sounds from `start` on, `length` of them: [phrase, length, start]."""
        s, places, sounds = self._s, self._places, len(self._heard)
        longest = s._longest
        costs = np.full((len(s._texts), longest + 1, places), INFINITE, np.float32)
        swaps = np.full((len(SWAP), places + 2 * longest), INFINITE, np.float32)
        swaps[:, longest : longest + sounds] = SWAP[:, self._heard]
        extra = np.full(places + 2 * longest, INFINITE, np.float32)
        extra[longest : longest + sounds] = ALONE[self._heard]
        width = 2 * SLACK + 1
        before = np.full((1, width + 1, places), INFINITE, np.float32)
        before[0, SLACK] = 0.0
        for offset in range(1, SLACK + 1):
            first = longest + offset - 1
            before[0, SLACK + offset] = before[0, SLACK + offset - 1] + extra[first : first + places]
        for depth, level in enumerate(s._levels, 1):
            parents = before[level.parents]
            swap = swaps[level.phonemes]
            fewer = ALONE[level.phonemes][:, None]
            now = np.full_like(parents, INFINITE)
            for at in range(max(0, SLACK - depth), width):
                length = depth + at - SLACK
                best = parents[:, at + 1] + fewer
                if length > 0:
                    first = longest + length - 1
                    np.minimum(best, parents[:, at] + swap[:, first : first + places], out=best)
                    if at:
                        np.minimum(best, now[:, at - 1] + extra[first : first + places], out=best)
                np.minimum(best, INFINITE, out=now[:, at])
            if len(level.ends):
                low, high = max(0, depth - SLACK), min(depth + SLACK, longest)
                ended = now[level.ends, low - depth + SLACK : high - depth + SLACK + 1]
                costs[level.phrases, low : high + 1] = ended
            before = now
        return costs

    def _of_symbols(self) -> Floats:
        """Return the cheapest phrase of each symbol: [symbol, length, start]."""
        s, places = self._s, self._places
        longest = max(s._longest, places - 1)
        costs = np.full((len(s._nets.symbols), longest + 1, places), INFINITE, np.float32)
        costs[s._symbol_of[s._only], : s._longest + 1] = self._phrases[s._only]
        for number in s._several:
            first, last = s._members[number][[0, -1]]  # phrases lie in the order of their symbols
            self._phrases[first : last + 1].min(axis=0, out=costs[number, : s._longest + 1])
        if s._anything.any():
            lengths = np.arange(LEAST_ANYTHING, longest + 1)
            costs[s._anything, LEAST_ANYTHING:] = (ANYTHING_AT_ALL + ANYTHING * lengths)[:, None]
        return costs

    def _walk_part(self, number: int, net: Net) -> None:
        """Lay a part on every place: its graph is walked from all of them at once."""
        first = np.full((self._places, self._places), INFINITE, np.float32)
        np.fill_diagonal(first, 0.0)
        costs = self._forward(net, first)
        ended = costs[net.ends].min(axis=0)
        for length in range(1, self._places):
            starts = np.arange(self._places - length)
            self._symbols[number, length, : self._places - length] = ended[starts, starts + length]
        self._cheapest[number] = self._symbols[number].min()
        self._inside[number] = (net, costs)

    # ── the graph ───────────────────────────────────────────────────────────────────────────────────

    def _forward(self, net: Net, first: Floats) -> Floats:
        """Return what it costs to be in a state when the sounds up to a place are heard: [state, start, place]."""
        places = self._places
        costs = np.full((net.states, *first.shape), INFINITE, np.float32)
        costs[0] = first
        least = np.full(net.states, INFINITE, np.float32)
        least[0] = first.min()
        most = (SHORT, self._s._longest, places - 1)
        for whole_layer in net.layers(self._usable()):
            within = least[net.source[whole_layer]] + self._cheapest[net.symbol[whole_layer]] <= self._limit
            layer = whole_layer[within]
            kinds = self._s._kinds[net.symbol[layer]]
            for kind in np.unique(kinds):
                arcs = layer[kinds == kind]
                start = costs[net.source[arcs]]
                reached = _anything(start) if kind == _ANYTHING else self._reached(start, net.symbol[arcs], most[kind])
                targets, firsts = np.unique(net.target[arcs], return_index=True)
                costs[targets] = np.minimum(costs[targets], np.minimum.reduceat(reached, firsts, axis=0))
                least[targets] = costs[targets].min(axis=(1, 2))
        return costs

    def _reached(self, start: Floats, symbols: Ints, most: int) -> Floats:
        """Return what it costs to have said some symbols, of at most so many sounds, from where arcs start."""
        step, places = self._symbols[symbols], self._places
        reached = np.full(start.shape, INFINITE, np.float32)
        for length in range(min(most + 1, places)):
            np.minimum(
                reached[:, :, length:],
                start[:, :, : places - length] + step[:, None, length, : places - length],
                out=reached[:, :, length:],
            )
        return reached

    def _usable(self) -> NDArray[np.bool_]:
        """Return which symbols lie near enough somewhere."""
        most = np.where(self._s._part | self._s._anything, INFINITE / 2, self._s._cut)
        usable: NDArray[np.bool_] = self._cheapest <= most
        return usable

    # ── the cheapest ways ───────────────────────────────────────────────────────────────────────────

    def picked(self, most: int, margin: float, worst: float) -> list[WayMatch]:
        """Return up to `most` of the cheapest ways, best first; none that costs more than `worst`."""
        self._go(worst)
        net = self._s._nets.whole
        ending = self._before[net.ends] + self._rest
        places = ending.argmin(axis=1)
        ends = [
            (int(state), int(place), float(self._rest[place])) for state, place in zip(net.ends, places, strict=True)
        ]
        best = float(ending.min())
        return list(self._backward(net, self._before, ends, most, min(margin, worst - best)))

    def _backward(
        self, net: Net, before: Floats, ends: Iterable[tuple[int, int, float]], most: int, margin: float
    ) -> Iterator[WayMatch]:
        """Yield the cheapest ways to some ends, each a state, a place and what comes after it, best first."""
        waiting: list[tuple[float, int, float, int, int, tuple[WayPiece, ...]]] = [
            (float(before[state, place]) + after, order, after, state, place, ())
            for order, (state, place, after) in enumerate(ends)
        ]
        heapq.heapify(waiting)
        order = len(waiting)
        limit = min((one[0] for one in waiting), default=0.0) + margin
        matches = 0
        while waiting and matches < most and waiting[0][0] <= min(limit, float(INFINITE) / 2):
            total, _, after, state, place, pieces = heapq.heappop(waiting)
            if state == 0:
                matches += 1
                yield WayMatch(total, pieces)
                continue
            for step, start, piece, source in self._steps(net, before, state, place, limit - after):
                order += 1
                whole = after + step + float(before[source, start])
                heapq.heappush(waiting, (whole, order, after + step, source, start, (piece, *pieces)))

    def _steps(
        self, net: Net, before: Floats, state: int, place: int, limit: float
    ) -> Iterator[tuple[float, int, WayPiece, int]]:
        """Yield every last step to a state and place: its cost, where it started, what was said, and from where."""
        arcs = net.into[state]
        symbols = net.symbol[arcs]
        lengths = np.arange(place + 1)
        starts = place - lengths
        through = before[net.source[arcs]][:, starts] + self._symbols[symbols][:, lengths, starts]
        best = through.argmin(axis=1)
        for row in np.flatnonzero(through[np.arange(len(arcs)), best] <= limit):
            source, number = int(net.source[arcs[row]]), int(symbols[row])
            symbol = self._s._nets.symbols[number]
            start = place - int(best[row])
            match symbol:
                case Anything(name=name):
                    yield (
                        float(self._symbols[number, place - start, start]),
                        start,
                        WayPiece("", name, start, place),
                        source,
                    )
                case SharedWay():
                    inner, costs = self._inside[number]
                    ends = [(int(end), place, 0.0) for end in inner.ends]
                    room = limit - float(before[source, start]) - float(self._symbols[number, place - start, start])
                    for match in self._backward(inner, costs[:, start], ends, MOST_INSIDE, room):
                        yield match.cost, start, WayPiece(match.text, "", start, place), source
                case _:
                    yield from self._values(number, symbol, before[source], place, limit, source)

    def _values(
        self, number: int, symbol: Symbol, before: Floats, place: int, limit: float, source: int
    ) -> Iterator[tuple[float, int, WayPiece, int]]:
        members = self._s._members[number]
        lengths = np.arange(min(self._s._longest, place) + 1)
        costs = self._phrases[members][:, lengths, place - lengths]
        through = before[place - lengths] + costs
        best = through.argmin(axis=1)
        name = symbol.name if isinstance(symbol, Slot) else ""
        for member in np.flatnonzero(through[np.arange(len(members)), best] <= limit):
            start = place - int(best[member])
            yield (
                float(costs[member, best[member]]),
                start,
                WayPiece(self._s._texts[members[member]], name, start, place),
                source,
            )


def _anything(start: Floats) -> Floats:
    """Return what it costs to have heard anything from where arcs start: so much for each sound."""
    places = np.arange(start.shape[-1], dtype=np.float32)
    best = np.minimum.accumulate(start - ANYTHING * places, axis=-1)
    reached = np.full(start.shape, INFINITE, np.float32)
    reached[..., LEAST_ANYTHING:] = best[..., :-LEAST_ANYTHING] + ANYTHING_AT_ALL + ANYTHING * places[LEAST_ANYTHING:]
    return np.minimum(reached, INFINITE)


def _phrases(symbol: Symbol, values: Values) -> Iterable[tuple[str, str]]:
    match symbol:
        case str():
            yield symbol, symbol
        case Slot(key=key):
            yield from values.get(key, ())


def _trie(spoken: Sequence[Sequence[int]]) -> Iterable[_Level]:
    """Yield the levels of the trie of all phrases."""
    node_of = dict.fromkeys(range(len(spoken)), 0)
    depth = 0
    while node_of:
        nodes: dict[tuple[int, int], int] = {}
        ends: list[tuple[int, int]] = []
        onward: dict[int, int] = {}
        for phrase, parent in node_of.items():
            node = nodes.setdefault((parent, spoken[phrase][depth]), len(nodes))
            if len(spoken[phrase]) == depth + 1:
                ends.append((node, phrase))
            else:
                onward[phrase] = node
        steps = np.array(list(nodes), np.int64)
        ended = np.array(ends, np.int64).reshape(-1, 2)
        yield _Level(steps[:, 0], steps[:, 1], ended[:, 0], ended[:, 1])
        node_of, depth = onward, depth + 1
