"""Cuts a long recording so that each part is one utterance at most. Pure: probabilities in, stretches out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas.audio import HEARING_RATE
from atlas.speech.stt import MAX_UTTERANCE_SECONDS
from atlas.speech.vad import FRAME_SAMPLES

SPEECH = 0.5  # probability from which a frame is speech,
STILL_SPEECH = 0.35  # and from which it goes on being speech
BREATH_SECONDS = 0.3  # kept before and after speech, and no reason to cut
APART_SECONDS = 2.0  # speech on both sides of such a silence is two passages
SHORTEST_SECONDS = 0.1  # less is a click

FRAME_SECONDS = FRAME_SAMPLES / HEARING_RATE


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a recording, in samples from its start; `end` is not included."""

    start: int
    end: int


def stretches(probabilities: Sequence[float], max_seconds: float = MAX_UTTERANCE_SECONDS) -> tuple[Stretch, ...]:
    """Return the parts with speech in them, in order, apart, none longer than `max_seconds`.

    `probabilities` are of frames of `FRAME_SAMPLES`, one after the other from the start. Speech that goes on for
    longer is cut at the frame of its second half that is least like speech.
    """
    breath, apart = _frames(BREATH_SECONDS), _frames(APART_SECONDS)
    most = int(max_seconds / FRAME_SECONDS)
    assert most > 4 * breath, "too short for a word and the breaths around it"
    runs = [part for run in _runs(probabilities) for part in _short_enough(run, probabilities, most - 2 * breath)]

    groups: list[tuple[int, int]] = []
    for start, end in runs:
        near = groups and start - groups[-1][1] < apart
        if near and end - groups[-1][0] <= most - 2 * breath:
            groups[-1] = (groups[-1][0], end)
        else:
            groups.append((start, end))
    return tuple(_with_breath(groups, index, breath, len(probabilities)) for index in range(len(groups)))


def _frames(seconds: float) -> int:
    return round(seconds / FRAME_SECONDS)


def _runs(probabilities: Sequence[float]) -> list[tuple[int, int]]:
    """Return where speech begins and ends, in frames."""
    runs: list[tuple[int, int]] = []
    start: int | None = None
    for at, probability in enumerate([*probabilities, 0.0]):
        if start is None and probability >= SPEECH:
            start = at
        elif start is not None and probability < STILL_SPEECH:
            if at - start >= SHORTEST_SECONDS / FRAME_SECONDS:
                runs.append((start, at))
            start = None
    return runs


def _short_enough(run: tuple[int, int], probabilities: Sequence[float], most: int) -> list[tuple[int, int]]:
    start, end = run
    parts: list[tuple[int, int]] = []
    while end - start > most:
        cut = min(range(start + most // 2, start + most), key=lambda at: (probabilities[at], -at))
        parts.append((start, cut))
        start = cut
    return [*parts, (start, end)]


def _with_breath(groups: list[tuple[int, int]], index: int, breath: int, frames: int) -> Stretch:
    """Return the group with a breath on each side, or half of the silence to its neighbour where that is less."""
    start, end = groups[index]
    before = groups[index - 1][1] if index else 0
    after = groups[index + 1][0] if index + 1 < len(groups) else frames
    lead = min(breath, (start - before) // 2 if index else start)
    trail = min(breath, (after - end) // 2 if index + 1 < len(groups) else after - end)
    return Stretch((start - lead) * FRAME_SAMPLES, (end + trail) * FRAME_SAMPLES)
