"""A recogniser that knows what can be said here: keeps the contract of any other, and hears more.

Words that mean something stay as they were read. Those that mean nothing are taken for sounds, and laid on everything
that can be said; what lies near enough, is likely on the sound and is read as a command, is heard as that. What is a
question, talk, or says "don't" is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum

from atlas.audio import AudioChunk
from atlas.conversation import Utterance
from atlas.hearing.nearest import Book, Candidate, nearest, written
from atlas.hearing.search import Match
from atlas.hearing.sounds import Sounds
from atlas.speech.stt import Hearing, Judge, Reading, Stt

LEAST_SOUNDS = 5  # "yes", "stop": what is shorter lies near too much
MOST_TRIED = 4  # candidates that are read
AS_LIKELY = 0.3  # nats a token; where what was read stands for something itself, no command may be less likely
NEARER = 10.0  # nats a token, by which a way that is nearer by one may be less likely
_LIGHT = frozenset(["a", "an", "the", "my", "our", "please", "to", "of"])


class Sense(Enum):
    """What words are to whoever reads them."""

    COMMAND = "command"  # something is to be done or looked up
    OTHER = "other"  # an answer, an emergency, a wish about the talk itself
    OPEN = "open"  # half a command, or a question that perhaps nobody can answer: it stands against commands
    DENIED = "denied"  # they say not to
    LOOSE = "loose"  # a command, but for words in it that may be any: they stand against other commands
    NOTHING = "nothing"


def by_words(match: Match) -> object:
    """Return what makes a way differ where every word may matter."""
    return frozenset(word for word in match.text.split() if word not in _LIGHT)


def by_slots(match: Match) -> object:
    """Return what makes a way differ where only its slots matter."""
    return tuple(sorted(match.slots.items()))


class Ear:
    """`stt`, helped by what can be said. `books` may be replaced at any time; the next utterance is heard by them."""

    def __init__(self, stt: Stt, sounds: Sounds, sense: Callable[[str], Sense]) -> None:
        self.books: Sequence[Book] = ()
        self._stt = stt
        self._sounds = sounds
        self._sense = sense

    async def transcribe(self, speech: AudioChunk, judge: Judge | None = None) -> Utterance:
        """Return the words of one utterance, as `Stt` has it."""
        return await self._stt.transcribe(speech, judge or self.judge)

    async def aclose(self) -> None:
        """Give back the recogniser."""
        await self._stt.aclose()

    def judge(self, hearing: Hearing) -> Utterance:
        """Return what was said. Blocking."""
        plain = hearing.believed()
        if not self.books:
            return plain
        senses = [self._sense(reading.text) for reading in hearing.readings]
        sense = self._sense(plain.text) if plain.text else Sense.NOTHING
        if Sense.DENIED in senses or sense in (Sense.COMMAND, Sense.OTHER):
            return plain  # a worse reading that is a command must first be likelier than what lies nearer
        also = [one for one, its in zip(hearing.readings, senses, strict=True) if its is Sense.COMMAND]
        command = next(filter(None, (self._command(hearing, book, sense, also) for book in self.books)), None)
        if command is None:
            return plain
        others = (plain.text, *plain.alternatives) if plain.text else ()
        return Utterance(written(command.match.text), hearing.seconds, others)

    def _command(self, hearing: Hearing, book: Book, sense: Sense, also: Sequence[Reading]) -> Candidate | None:
        """Return the likeliest way of a book, if it is near enough and a command."""
        less_likely = min(book.less_likely, math.inf if sense is Sense.NOTHING else AS_LIKELY)
        candidates = nearest(hearing, book, self._sounds, also)
        if not candidates or not _is_near(hearing, candidates[0], book.near, less_likely):
            return None
        wanted = Sense.COMMAND, Sense.LOOSE
        commands = (one for one in candidates[:MOST_TRIED] if self._sense(written(one.match.text)) in wanted)
        return next((one for one in commands if _is_near(hearing, one, book.near, less_likely)), None)


def _is_near(hearing: Hearing, candidate: Candidate, near: float, less_likely: float) -> bool:
    """Whether a way is near to the sounds that were read, and nearly as likely on the sound as what was read."""
    if candidate.sounds < LEAST_SOUNDS or candidate.distance > near:
        return False
    [weight] = hearing.weigh([written(candidate.match.text)])
    less_likely += NEARER * (near - candidate.distance)
    return weight.sound / max(1, weight.tokens) >= hearing.readings[0].score - less_likely
