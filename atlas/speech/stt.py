"""The contract of a recogniser: speech in, words out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from atlas.audio import AudioChunk
from atlas.conversation import Margins, Utterance

LIKELY = -0.3  # the log-probability of a word that was heard well
MAX_UTTERANCE_SECONDS = 28.0  # a Whisper window is 30 s; longer sound is cut by whoever collects it


@dataclass(frozen=True, slots=True)
class SoundReading:
    """One text that the sound may be, and its mean log-probability of a token."""

    text: str
    score: float


def margins_of(readings: Sequence[SoundReading]) -> Margins:
    """Return by how much each reading is less likely than the best."""
    return tuple((one.text, round(readings[0].score - one.score, 3)) for one in readings)


@dataclass(frozen=True, slots=True)
class Weight:
    """How likely a text is: sums of the log-probabilities of its tokens."""

    sound: float  # having heard the sound
    words: float  # having heard nothing: what the recogniser expects people to say
    tokens: int


class Hearing(Protocol):
    """The sound of one utterance, while its recogniser has it at hand."""

    @property
    def readings(self) -> Sequence[SoundReading]:
        """What was read, best first; also what nobody would believe."""
        ...

    @property
    def seconds(self) -> float:
        """How long the sound is."""
        ...

    @property
    def language(self) -> str:
        """Which of the languages of the house was spoken; "" where the recogniser does not tell."""
        ...

    def in_other_languages(self) -> Sequence[Hearing]:
        """Return the same sound as it is in other languages of the house, those that may have been spoken as well."""
        ...

    def weigh(self, texts: Sequence[str]) -> Sequence[Weight]:
        """Return how likely each text is on this sound. Blocking: some 15 ms a text."""
        ...

    def believed(self) -> Utterance:
        """Return the words that the recogniser stands by; text "" where nobody spoke."""
        ...

    def second_pass(self) -> Hearing | None:
        """Return the same sound as a better and slower recogniser has it.

        `None` where there is none, or nobody waits for the words any more. Blocking: some 0.3 s.
        """
        ...


class UnweighedHearing:
    """The sound of one utterance for a recogniser that only writes: every text is as likely as every other."""

    def __init__(self, heard: Utterance) -> None:
        self._heard = heard
        self.seconds = heard.seconds
        self.language = heard.language
        self.readings = tuple(SoundReading(text, LIKELY) for text in (heard.text, *heard.alternatives))

    def in_other_languages(self) -> Sequence[Hearing]:
        """Return nothing: its words are in one language."""
        return ()

    def weigh(self, texts: Sequence[str]) -> Sequence[Weight]:
        """Return the same for each word of each text."""
        return [Weight(LIKELY * len(text.split()), LIKELY * len(text.split()), len(text.split())) for text in texts]

    def believed(self) -> Utterance:
        """Return the words as they were written."""
        return self._heard

    def second_pass(self) -> Hearing | None:
        """Return nothing: no other recogniser hears it."""
        return None


Judge = Callable[[Hearing], Utterance]  # runs in the recogniser's own thread


class Stt(Protocol):
    """A recogniser that is loaded and warm."""

    @property
    def idle(self) -> bool:
        """Whether it recognises nothing just now, so that nobody waits behind what is given to it."""
        ...

    async def transcribe(self, speech: AudioChunk, judge: Judge | None = None) -> Utterance:
        """Return the words of one utterance at `HEARING_RATE`; text "" when nobody spoke.

        Silence, noise and music give "", not invented words. At most `MAX_UTTERANCE_SECONDS` long, which the caller
        sees to. A `judge` decides instead, where there is any sound at all. Cancelling is safe, though the work under
        way may finish unseen. Raises `EngineError` when the recogniser is gone; the next call may work.
        """
        ...

    async def skim(self, speech: AudioChunk) -> str | None:
        """Return the words so far of somebody who still speaks, read roughly; `None` where that would be in the way.

        It begins only while nothing else is to be recognised, and is given up as soon as something is, or when it is
        cancelled, but for the step under way: some 20 ms. Raises `EngineError`.
        """
        ...

    async def aclose(self) -> None:
        """Give back what was loaded. Idempotent."""
        ...


class JudgedStt(ABC):
    """Keeps `Stt` over another recogniser: `judge` says what its hearings come to, where nobody brings another."""

    def __init__(self, stt: Stt) -> None:
        self._stt = stt

    @abstractmethod
    def judge(self, hearing: Hearing) -> Utterance:
        """Return what was said. Blocking."""

    @property
    def idle(self) -> bool:
        """See `Stt.idle`."""
        return self._stt.idle

    async def transcribe(self, speech: AudioChunk, judge: Judge | None = None) -> Utterance:
        """Return the words of one utterance, as `Stt` has it."""
        return await self._stt.transcribe(speech, judge or self.judge)

    async def skim(self, speech: AudioChunk) -> str | None:
        """Return the words so far of somebody who still speaks, as `Stt` has it."""
        return await self._stt.skim(speech)

    async def aclose(self) -> None:
        """Give back the recogniser."""
        await self._stt.aclose()
