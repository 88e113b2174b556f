"""Short sounds made by arithmetic: woken, heard, failed, and what rings. Pure."""

from __future__ import annotations

from functools import cache

import numpy as np

RATE = 24_000  # that of speech on the Realtime wire, so that both go to the loudspeaker as they are
FADE_SECONDS = 0.008  # at both ends of a note: without, it clicks
LOUDNESS = 0.25  # of full scale: below speech
Note = tuple[float, float]  # hertz, 0 for silence, and seconds

MELODIES: dict[str, tuple[Note, ...]] = {
    "woken": ((660.0, 0.07), (880.0, 0.09)),
    "heard": ((880.0, 0.05),),
    "thinking": ((440.0, 0.06), (0.0, 0.09), (440.0, 0.06)),
    "failed": ((330.0, 0.12), (0.0, 0.03), (262.0, 0.18)),
    "timer": ((784.0, 0.12), (0.0, 0.06), (988.0, 0.12), (0.0, 0.06), (1175.0, 0.24), (0.0, 0.25)),
    "alarm": ((587.0, 0.2), (0.0, 0.1), (587.0, 0.2), (0.0, 0.1), (880.0, 0.4), (0.0, 0.3)),
    "announcement": ((523.0, 0.12), (659.0, 0.2), (0.0, 0.1)),
}


@cache
def earcon(name: str) -> bytes:
    """Return the sound of a name in `MELODIES`: 16-bit mono at `RATE`."""
    parts = [_note(hertz, seconds) for hertz, seconds in MELODIES[name]]
    return bytes((np.concatenate(parts) * LOUDNESS * 32767).astype("<i2").tobytes())


def louder(pcm: bytes, gain: float) -> bytes:
    """Return sound `gain` times as loud, held within full scale."""
    if gain == 1.0:
        return pcm
    samples = np.frombuffer(pcm, "<i2").astype(np.float32) * gain
    return bytes(np.clip(samples, -32768, 32767).astype("<i2").tobytes())


def mixed(first: bytes, second: bytes) -> bytes:
    """Return two stretches played at once; the shorter is followed by silence."""
    length = max(len(first), len(second))
    both = [np.frombuffer(one.ljust(length, b"\0"), "<i2").astype(np.int32) for one in (first, second)]
    return bytes(np.clip(both[0] + both[1], -32768, 32767).astype("<i2").tobytes())


def _note(hertz: float, seconds: float) -> np.ndarray:
    at = np.arange(round(seconds * RATE)) / RATE
    # A second harmonic is heard by small loudspeakers that have lost the first.
    wave = 0.8 * np.sin(2 * np.pi * hertz * at) + 0.2 * np.sin(4 * np.pi * hertz * at)
    fade = np.minimum(1.0, np.minimum(at, seconds - at) / FADE_SECONDS)
    return wave * fade if hertz else np.zeros_like(at)
