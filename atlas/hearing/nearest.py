"""Of the ways in which something can be said, the one that was: nearest to all readings, and likeliest on the sound.

A recogniser knows what people write; a house knows what can be said to it. So its readings are only taken for sounds,
and laid on every way there is. The nearest few are weighed on the sound itself; what the recogniser expects of the
words without any sound is taken off again, or it would prefer "with milk" to "with skim milk" in any noise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from atlas.hearing.search import Search, Searches, WayMatch, WayPiece
from atlas.hearing.sounds import Sounds
from atlas.speech.stt import Hearing, SoundReading, Weight

MOST_READINGS = 5
MOST_SOUNDS = 80  # no command is longer
FAR = 0.33  # for each sound; who is so far from everything says something else
WAYS_FOR_ONE = 6  # that a search looks at, for each different one that may be weighed
SURE = 0.3  # cost: the first reading is this way, word for word
UNLIKELIER = 10.0  # cost of a reading that is less likely than the best by one nat a token
STRANGE = 5.0  # nats: people say what can be said to a house more often than what only sounds like it
WORDS, TOKEN = 0.6, 1.0  # how much of what is expected is taken off, and what a text may cost for each token
_MARKS = re.compile(r"[^\w'%°$€£ ]+")  # "50%" has a sound


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way that was looked at."""

    match: WayMatch
    cost: float  # of the nearest reading
    score: float  # nats; only differences matter
    sounds: int  # how many the nearest reading has
    weight: Weight | None = None  # on the sound; `None` where nothing had to be weighed
    strange: bool = False  # it was read, and is none of what can be said

    @property
    def distance(self) -> float:
        """What differs, for each sound."""
        return self.cost / max(1, self.sounds)


Key = Callable[[WayMatch], object]  # what makes two ways one and the same


@dataclass(frozen=True, slots=True)
class Book:
    """Things that can be said."""

    search: Search | Searches
    same: Key
    near: float  # of a sound, for each sound: what is not said to this house is farther from all of it
    less_likely: float  # nats a token, by which a way may be less likely on the sound than what was read
    ask_near: float = 0.0  # what is farther than `near`, and not than this, is asked about
    ask_less_likely: float = 0.0
    most: int = 24  # that are weighed
    margin: float = 2.5  # of costs: what is farther than the nearest by more is not weighed

    def knows(self, text: str) -> bool:
        """Tell whether every word of a text is in something that can be said."""
        return all(word in self.search.words or any(map(str.isdigit, word)) for word in _words(text))

    def says(self, text: str) -> bool:
        """Tell whether a text can be said as it is."""
        return self.search.says(_words(text))


def _words(text: str) -> Sequence[str]:
    return _MARKS.sub(" ", text).casefold().replace("%", " percent").split()


def nearest(
    hearing: Hearing,
    book: Book,
    sounds: Sounds,
    also: Sequence[SoundReading] = (),
    *,
    most_readings: int = MOST_READINGS,
    weigh_all: bool = False,
) -> Sequence[Candidate]:
    """Return the ways that may have been said, best first; none where there are no words. Blocking.

    `also` are readings that mean something as they are: they stand among the ways. With `weigh_all` a first reading
    that is a way word for word has rivals, too.
    """
    readings = list(_each_once(hearing.readings))[:most_readings]
    as_read = {reading: UNLIKELIER * max(0.0, readings[0].score - reading.score) for reading in _each_once(also)}
    candidates: dict[object, Candidate] = {}
    for reading in readings:
        words = plain_words(reading.text).split()
        spans = [sounds.of_word(word) for word in words]
        heard = [sound for span in spans for sound in span]
        if len(heard) > MOST_SOUNDS:
            continue
        penalty = UNLIKELIER * max(0.0, readings[0].score - reading.score)
        worst = FAR * len(heard)
        if candidates:  # what is farther than the nearest by more is not weighed, so nobody need search for it
            nearest_yet = min([*as_read.values(), *(one.cost for one in candidates.values())])
            worst = min(worst, nearest_yet + book.margin - penalty)
        different: set[object] = set()
        for match in book.search.nearest(heard, WAYS_FOR_ONE * book.most, book.margin, worst):
            name = book.same(match)
            if name in different:
                continue
            different.add(name)
            if len(different) > book.most:
                break
            cost = match.cost + penalty
            if name not in candidates or cost < candidates[name].cost:
                candidates[name] = Candidate(_filled(match, words, spans), cost, -cost, len(heard))
        if not candidates:
            break  # far from everything
        sure = min(candidates.values(), key=lambda one: one.cost)
        if not weigh_all and reading is readings[0] and sure.cost <= SURE and book.says(sure.match.text):
            return (sure,)  # word for word what can be said
    if not candidates:
        return ()
    for reading, cost in as_read.items():
        words_read = WayMatch(0.0, (WayPiece(_MARKS.sub(" ", reading.text).strip()),))
        strange = not book.says(reading.text)
        candidates[reading] = Candidate(words_read, cost, -cost, len(sounds.of(words_read.text)), strange=strange)
    ranked = sorted(candidates.values(), key=lambda one: one.cost)
    near = [one for one in ranked if one.cost <= ranked[0].cost + book.margin][: book.most]
    return near if len(near) < 2 and not weigh_all else weighed(hearing, near)


def weighed(hearing: Hearing, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
    """Return the candidates by how likely they are on the sound as well."""
    weights = hearing.weigh([written(one.match.text) for one in candidates])
    scored = [
        replace(one, score=_score(weight) - one.cost - STRANGE * one.strange, weight=weight)
        for one, weight in zip(candidates, weights, strict=True)
    ]
    return sorted(scored, key=lambda one: -one.score)


def _score(weight: Weight) -> float:
    return weight.sound - WORDS * weight.words + TOKEN * weight.tokens


def plain_words(text: str) -> str:
    """Return the words of a text in small letters, without marks."""
    return _MARKS.sub(" ", text).lower()


def written(text: str) -> str:
    """Return a text as a recogniser writes it."""
    return f"{text[:1].upper()}{text[1:]}."


def _filled(match: WayMatch, words: Sequence[str], spans: Sequence[Sequence[int]]) -> WayMatch:
    """Return a way with the reading's own words where anything may stand."""
    if all(piece.text for piece in match.pieces):
        return match
    ends = list(accumulate(len(span) for span in spans))
    middles = [end - len(span) / 2 for end, span in zip(ends, spans, strict=True)]

    def in_own_words(piece: WayPiece) -> WayPiece:
        heard = (word for word, at in zip(words, middles, strict=True) if piece.start <= at < piece.end)
        return piece if piece.text else replace(piece, text=" ".join(heard))

    return replace(match, pieces=tuple(map(in_own_words, match.pieces)))


def _each_once(readings: Iterable[SoundReading]) -> Iterable[SoundReading]:
    seen: set[str] = set()
    for reading in readings:
        plain = " ".join(_MARKS.sub(" ", reading.text.lower()).split())
        if plain and plain not in seen:
            seen.add(plain)
            yield reading
