"""Hears one sound by two recognisers as if they were one: readings of both, and texts that are weighed by both."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import zip_longest

from atlas.conversation import Utterance
from atlas.speech.stt import Hearing, SoundReading, Weight, margins_of

MOST_READINGS = 4  # of each


class BothHearings:
    """Keeps `Hearing`; what the better one reads comes first. Texts that `sound` alike are one. Blocking."""

    def __init__(self, quick: Hearing, better: Hearing, sound: Callable[[str], Hashable]) -> None:
        self._quick = quick
        self._better = better
        self._sound = sound
        self.seconds = quick.seconds
        self.language = quick.language
        self.first = (better.readings[0].text, quick.readings[0].text)
        score = (quick.readings[0].score + better.readings[0].score) / 2
        ours, theirs = _levelled(better, score), _levelled(quick, score)
        self.readings: Sequence[SoundReading] = tuple(
            reading for pair in zip_longest(ours, theirs) for reading in pair if reading is not None
        )
        its = {sound(reading.text): reading.score for reading in reversed(theirs)}
        self._agreed = sorted(
            (reading for reading in ours if sound(reading.text) in its),
            key=lambda reading: -reading.score - its[sound(reading.text)],
        )

    def in_other_languages(self) -> Sequence[Hearing]:
        """Return nothing: both hear it in the same language."""
        return ()

    def weigh(self, texts: Sequence[str]) -> Sequence[Weight]:
        """Return the mean of what each text is worth to both: the sum, in the units of the limits for one."""
        pairs = zip(self._quick.weigh(texts), self._better.weigh(texts), strict=True)
        return [_mean(one, other) for one, other in pairs]

    def less_likely(self, text: str) -> Sequence[float]:
        """Return by how many nats a token a text is less likely than what was read, to the quick one and the better."""
        return [
            one.readings[0].score - weight.sound / max(1, weight.tokens)
            for one in (self._quick, self._better)
            for weight in one.weigh([text])
        ]

    def agrees(self, text: str) -> bool:
        """Tell whether this is what both read, and nothing likelier."""
        return bool(self._agreed) and self._sound(self._agreed[0].text) == self._sound(text)

    def believed(self) -> Utterance:
        """Return what both read; where they read nothing alike, the words of the better one, which are doubtful."""
        better, quick = self._better.believed(), self._quick.believed()
        if not better.text or not self._agreed:
            return replace(better if better.text else quick, alternatives=(), doubtful=True)
        text, *others = dict.fromkeys(reading.text for reading in self._agreed)
        return replace(better, text=text, alternatives=tuple(others), margins=margins_of(self.readings))

    def second_pass(self) -> Hearing | None:
        """Return nothing better than this."""
        return None


def _levelled(hearing: Hearing, score: float) -> Sequence[SoundReading]:
    """Return the best readings of one, its best as likely as `score`: what two models say of likelihood differs."""
    lift = score - hearing.readings[0].score
    return [replace(reading, score=reading.score + lift) for reading in hearing.readings[:MOST_READINGS]]


def _mean(one: Weight, other: Weight) -> Weight:
    tokens = max(1, (one.tokens + other.tokens) // 2)
    return Weight((one.sound + other.sound) / 2, (one.words + other.words) / 2, tokens)
