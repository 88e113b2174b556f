"""Encodes sound as it is made into the formats that clients ask for, piece by piece."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

import av
import numpy as np

from atlas.audio import AudioChunk

SPEECH_RATE = 24_000  # what OpenAI's raw pcm has, and half of what every device plays


@dataclass(frozen=True, slots=True)
class SoundFormat:
    """One way to write sound down."""

    media_type: str
    container: str = ""  # FFmpeg's names; "" for samples as they are
    codec: str = ""
    rate: int = SPEECH_RATE
    bits_per_second: int = 0  # 0 for formats that lose nothing


FORMATS: Mapping[str, SoundFormat] = {
    "mp3": SoundFormat("audio/mpeg", "mp3", "libmp3lame", bits_per_second=64_000),
    "opus": SoundFormat("audio/ogg; codecs=opus", "ogg", "libopus", rate=48_000, bits_per_second=32_000),
    "aac": SoundFormat("audio/aac", "adts", "aac", bits_per_second=64_000),
    "flac": SoundFormat("audio/flac", "flac", "flac"),
    "wav": SoundFormat("audio/wav"),
    "pcm": SoundFormat(f"audio/pcm; rate={SPEECH_RATE}"),
}


class SoundEncoder(Protocol):
    """One stream of sound being written."""

    def feed(self, sound: AudioChunk) -> bytes:
        """Return what is ready after `sound`, at `SPEECH_RATE`; perhaps nothing."""
        ...

    def finish(self) -> bytes:
        """Return the rest."""
        ...


def available() -> tuple[str, ...]:
    """Return the formats that this machine's FFmpeg can write."""
    return tuple(name for name, form in FORMATS.items() if not form.codec or form.codec in av.codecs_available)


def encoder(name: str, rate: int = 0) -> SoundEncoder:
    """Return an encoder for one of `available`, to another rate than the format's usual one where one is named.

    Calls take about a millisecond for a second of sound.
    """
    form = replace(FORMATS[name], rate=rate or FORMATS[name].rate)
    return _Compressed(form) if form.codec else _Plain()


class _Plain:
    """Samples as they are."""

    def feed(self, sound: AudioChunk) -> bytes:
        return sound.pcm

    def finish(self) -> bytes:
        return b""


class _Drain(io.RawIOBase):
    """A file that can only be written on, and hands out what was written since it was last asked."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def taken(self) -> bytes:
        data = bytes(self._written)
        self._written.clear()
        return data


class _Compressed:
    """FFmpeg writing into memory."""

    def __init__(self, form: SoundFormat) -> None:
        self._drain = _Drain()
        # Small pages, or the first second of Ogg would wait for the second.
        options = {"page_duration": "20000"} if form.container == "ogg" else {}
        self._file = av.open(self._drain, "w", format=form.container, options=options)
        stream = self._file.add_stream(form.codec, rate=form.rate)
        assert isinstance(stream, av.AudioStream)
        self._stream = stream
        self._stream.layout = "mono"
        if form.bits_per_second:
            self._stream.bit_rate = form.bits_per_second
        self._resampler = av.AudioResampler(self._stream.format.name, "mono", form.rate)
        self._samples = 0

    def feed(self, sound: AudioChunk) -> bytes:
        assert sound.rate == SPEECH_RATE, "resample first"
        if sound.samples:
            frame = av.AudioFrame.from_ndarray(np.frombuffer(sound.pcm, np.int16).reshape(1, -1), "s16", "mono")
            frame.sample_rate = SPEECH_RATE
            frame.time_base = Fraction(1, SPEECH_RATE)
            frame.pts = self._samples
            self._samples += sound.samples
            self._encode(frame)
        return self._drain.taken()

    def finish(self) -> bytes:
        if self._samples:
            self._encode(None)
        for packet in self._stream.encode(None):
            self._file.mux(packet)
        self._file.close()
        return self._drain.taken()

    def _encode(self, frame: av.AudioFrame | None) -> None:
        for ready in self._resampler.resample(frame):
            for packet in self._stream.encode(ready):
                self._file.mux(packet)
