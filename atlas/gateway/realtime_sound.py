"""Sound on the Realtime wire: 24 kHz PCM or 8 kHz G.711 in base64, to and from what the house hears and says."""

from __future__ import annotations

import base64
import binascii

import numpy as np

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.errors import RequestError
from atlas.speech.resample import Resampler

BURST_SECONDS = 60.0  # of sound that may come at once, as after a network's hiccup …
MOST_SPEED = 2.0  # … and how much faster than it was spoken it may come for ever: listening to it takes a core's time
RATE_OF_FORMAT = {"audio/pcm": 24_000, "audio/pcmu": 8_000, "audio/pcma": 8_000}


def _pcmu_levels() -> np.ndarray:
    """Return the 256 levels of μ-law, ITU-T G.711: inverted bits of sign, 3 of segment, 4 of step."""
    code = ~np.arange(256) & 0xFF
    size = ((((code & 0x0F) << 3) + 0x84) << ((code & 0x70) >> 4)) - 0x84
    return np.where(code & 0x80, -size, size).astype(np.int16)


def _pcma_levels() -> np.ndarray:
    """Return the 256 levels of A-law, ITU-T G.711: every other bit inverted; the sign bit is set for positive."""
    code = np.arange(256) ^ 0x55
    segment, size = (code & 0x70) >> 4, ((code & 0x0F) << 4) + 8
    size = np.where(segment == 0, size, (size + 0x100) << np.maximum(segment - 1, 0))
    return np.where(code & 0x80, size, -size).astype(np.int16)


def _nearest(levels: np.ndarray) -> np.ndarray:
    """Return, for each 16-bit sample (as unsigned index), the code of the level that is nearest."""
    order = np.argsort(levels, kind="stable")
    ladder = levels[order].astype(np.int32)
    borders = (ladder[1:] + ladder[:-1]) / 2
    samples = np.arange(65_536, dtype=np.uint16).view(np.int16)
    return order[np.searchsorted(borders, samples)].astype(np.uint8)


LEVELS = {"audio/pcmu": _pcmu_levels(), "audio/pcma": _pcma_levels()}
CODES = {name: _nearest(levels) for name, levels in LEVELS.items()}


class SoundPace:
    """How fast one microphone's sound is taken. Pure: moments in, seconds out."""

    def __init__(self, now: float) -> None:
        self._due = now - BURST_SECONDS / MOST_SPEED

    def delay(self, seconds: float, now: float) -> float:
        """Return how long to wait before the next stretch of sound, `seconds` long, is listened to."""
        self._due = max(self._due, now - BURST_SECONDS / MOST_SPEED) + seconds / MOST_SPEED
        return max(0.0, self._due - now)


class Inward:
    """One connection's microphone: base64 of a wire format in, sound at the hearing rate out."""

    def __init__(self, format_name: str) -> None:
        self.format_name = format_name
        self._rate = RATE_OF_FORMAT[format_name]
        self._resampler = Resampler(self._rate, HEARING_RATE)

    def unpack(self, text: str) -> AudioChunk:
        """Return the sound in `text`, at the wire's rate. Raises `RequestError` for what is no sound."""
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError) as trouble:
            raise RequestError(f"audio is not base64: {trouble}", code="invalid_base64", param="audio") from trouble
        if self.format_name != "audio/pcm":
            return AudioChunk(LEVELS[self.format_name][np.frombuffer(data, np.uint8)].tobytes(), self._rate)
        if len(data) % SAMPLE_BYTES:
            raise RequestError(
                f"audio has {len(data)} bytes, and a sample has {SAMPLE_BYTES}",
                code="invalid_audio",
                param="audio",
                hint="send whole samples; nothing of this event was taken",
            )
        return AudioChunk(data, self._rate)

    def heard(self, sound: AudioChunk) -> AudioChunk:
        """Return the next stretch of sound at `HEARING_RATE`; a few milliseconds stay back for the stretch after it."""
        return self._resampler.feed(sound)


class Outward:
    """One reply's way to the speaker: sound at the voice's rate in, base64 of a wire format out."""

    def __init__(self, format_name: str, voice_rate: int) -> None:
        self.format_name = format_name
        self._resampler = Resampler(voice_rate, RATE_OF_FORMAT[format_name])

    def pack(self, sound: AudioChunk) -> str:
        """Return the next stretch; "" while there is not enough of it."""
        return self._text(self._resampler.feed(sound))

    def rest(self) -> str:
        """Return what was held back, at the end of a reply."""
        return self._text(self._resampler.flush())

    def _text(self, sound: AudioChunk) -> str:
        data = sound.pcm
        if self.format_name != "audio/pcm":
            data = CODES[self.format_name][np.frombuffer(data, np.uint16)].tobytes()
        return base64.b64encode(data).decode()
