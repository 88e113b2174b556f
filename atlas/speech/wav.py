"""Sound files → sound at the hearing rate, trusting nothing that their headers say; and sound → WAV."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.errors import SoundError
from atlas.speech.resample import Resampler, check_rate

MAX_FILE_SECONDS = 600.0  # a ten-minute recording; 19 MB once it is read
MAX_CHANNELS = 8
MAX_CHUNKS = 100  # titles, cues and the like before the samples; a file of a million empty ones is an attack
BLOCK_FRAMES = 1 << 16  # converted at a time, so that a file in 8 channels of 64 bits is never in memory as floats

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_EXTENSIBLE_TAIL = bytes.fromhex("000000001000800000aa00389b71")  # a sub-format GUID is a plain format's code and this
_UNKNOWN_SIZE = 0x7FFFFF00  # writers that stream do not know the size, and say something about this, or twice it

# A format is chosen by its first bytes and named to FFmpeg: left to guess, it would also follow play lists to files
# and addresses of their choosing.
_FORMATS = {
    "ogg": (0, b"OggS"),
    "matroska": (0, b"\x1a\x45\xdf\xa3"),  # also webm
    "mov": (4, b"ftyp"),  # also mp4 and m4a
    "flac": (0, b"fLaC"),
    "mp3": (0, b"ID3"),
}


@dataclass(frozen=True, slots=True)
class _Shape:
    """How the samples of a WAV are written."""

    code: int
    channels: int
    rate: int
    bits: int


def read_sound(data: bytes, limit_seconds: float = MAX_FILE_SECONDS) -> AudioChunk:
    """Return the sound of a WAV, MP3, M4A, Ogg, FLAC or WebM file, mono at `HEARING_RATE`.

    Raises `SoundError` when it is none of them, broken, empty, or longer than `limit_seconds`. Takes up to a second
    of one core for ten minutes of sound: call it from a worker thread.
    """
    if not data:
        raise SoundError("the sound file is empty", hint="send a file with sound in it")
    if data[:4] == b"RIFF":
        return read_wav(data, limit_seconds)
    container = next((name for name, (at, magic) in _FORMATS.items() if data[at : at + len(magic)] == magic), None)
    if container is None and len(data) > 1 and data[0] == 0xFF and data[1] & 0xE0 == 0xE0:  # bare frames
        container = "aac" if data[1] & 0x06 == 0 else "mp3"
    if container is None:
        raise SoundError("not a sound file that Atlas reads", hint="send WAV, MP3, M4A, Ogg, FLAC or WebM")
    return _decoded(data, container, limit_seconds)


def read_wav(data: bytes, limit_seconds: float = MAX_FILE_SECONDS) -> AudioChunk:
    """Return the sound of a WAV file, mono at `HEARING_RATE`.

    Takes 1 to 8 channels, PCM of 8, 16, 24 or 32 bits and floats of 32 or 64, plain or `WAVE_FORMAT_EXTENSIBLE`.
    Raises `SoundError` as `read_sound` does.
    """
    shape, samples = _opened(data)
    frame_bytes = shape.channels * shape.bits // 8
    frames = len(samples) // frame_bytes
    if frames == 0:
        raise SoundError("the WAV has no sound in it", hint="record something first")
    _check_length(frames / shape.rate, limit_seconds)
    resampler = Resampler(shape.rate, HEARING_RATE)
    pieces = [
        resampler.feed(AudioChunk(_mono(samples[start : start + BLOCK_FRAMES * frame_bytes], shape), shape.rate)).pcm
        for start in range(0, frames * frame_bytes, BLOCK_FRAMES * frame_bytes)
    ]
    return AudioChunk(b"".join(pieces) + resampler.flush().pcm)


def write_wav(sound: AudioChunk) -> bytes:
    """Return `sound` as a WAV file: mono, 16 bits, at its own rate."""
    return wav_header(sound.rate, sound.samples) + sound.pcm


def wav_header(rate: int, samples: int | None = None) -> bytes:
    """Return the 44 bytes before the samples; without `samples`, the header of a stream whose end is not known."""
    size = 0xFFFFFFFF - 36 if samples is None else samples * SAMPLE_BYTES
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        *(b"RIFF", size + 36, b"WAVE"),
        *(b"fmt ", 16, _PCM, 1, rate, rate * SAMPLE_BYTES, SAMPLE_BYTES, SAMPLE_BYTES * 8),
        *(b"data", size),
    )


def _opened(data: bytes) -> tuple[_Shape, memoryview]:
    if not data:
        raise SoundError("the WAV is empty", hint="send a file with sound in it")
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise SoundError("not a WAV file", hint="send a file that begins with RIFF and WAVE")
    shape: _Shape | None = None
    for name, size, body in _chunks(memoryview(data)):
        if name == b"fmt ":
            shape = _shape(bytes(body[:40]))
        elif name == b"data":
            if shape is None:
                raise SoundError("the WAV's samples come before their format", hint="save the recording again")
            return shape, _present(size, body, stream=data[4:8] == bytes(4))
    raise SoundError("the WAV ends before its samples", hint="send the whole file")


def _chunks(data: memoryview) -> Iterator[tuple[bytes, int, memoryview]]:
    """Yield each chunk's name, the size it claims, and all that follows its head."""
    at = 12
    for _ in range(MAX_CHUNKS):
        if at + 8 > len(data):
            return
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        yield bytes(data[at : at + 4]), size, data[at + 8 :]
        at += 8 + size + size % 2


def _present(size: int, body: memoryview, stream: bool) -> memoryview:
    """Return the samples that are really there, when they are as many as promised or the promise was none."""
    if size >= _UNKNOWN_SIZE or (size == 0 and stream):
        return body
    if size > len(body):
        raise SoundError(f"the WAV is cut short: {len(body)} bytes of {size}", hint="send the whole file")
    return body[:size]


def _shape(head: bytes) -> _Shape:
    if len(head) < 16:
        raise SoundError("the WAV's format is cut short", hint="save the recording again")
    code, channels, rate, _, _, bits = struct.unpack("<HHIIHH", head[:16])
    if code == _EXTENSIBLE and len(head) == 40 and head[26:] == _EXTENSIBLE_TAIL:
        code = int.from_bytes(head[24:26], "little")
    if (code, bits) not in {(_PCM, 8), (_PCM, 16), (_PCM, 24), (_PCM, 32), (_FLOAT, 32), (_FLOAT, 64)}:
        raise SoundError(
            f"a WAV of format {code:#06x} with {bits} bits",
            hint="send PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64",
        )
    if not 1 <= channels <= MAX_CHANNELS:
        raise SoundError(f"a WAV of {channels} channels", hint=f"send 1 to {MAX_CHANNELS} channels")
    check_rate(rate)
    return _Shape(code, channels, rate, bits)


def _mono(frames: memoryview, shape: _Shape) -> bytes:
    """Return a block of frames as the mean of its channels, in 16 bits."""
    samples = _floats(frames, shape).reshape(-1, shape.channels).mean(axis=1)
    return bytes((np.clip(samples, -1.0, 1.0) * 32767.0).round().astype("<i2").data)


def _floats(frames: memoryview, shape: _Shape) -> np.ndarray:
    """Return samples between -1 and 1."""
    width = shape.bits // 8
    raw = frames[: len(frames) // (width * shape.channels) * width * shape.channels]
    if shape.code == _FLOAT:
        floats = np.frombuffer(raw, f"<f{width}").astype(np.float32)
        return np.nan_to_num(floats, nan=0.0, posinf=1.0, neginf=-1.0)
    if width == 1:
        return (np.frombuffer(raw, np.uint8).astype(np.float32) - 128.0) / 128.0
    if width == 3:
        high = np.zeros((len(raw) // 3, 4), np.uint8)  # as the upper three bytes of 32 bits
        high[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        return high.view("<i4").reshape(-1).astype(np.float32) / float(1 << 31)
    return np.frombuffer(raw, f"<i{width}").astype(np.float32) / float(1 << (width * 8 - 1))


def _decoded(data: bytes, container: str, limit_seconds: float) -> AudioChunk:
    import av  # FFmpeg: only a house that is sent such files pays for it

    pieces: list[bytes] = []
    seconds = 0.0
    try:
        with av.open(io.BytesIO(data), "r", format=container, metadata_errors="ignore") as file:
            if not file.streams.audio:
                raise SoundError("the file has no sound in it", hint="send a file with sound in it")
            resampler = av.AudioResampler(format="s16", layout="mono", rate=HEARING_RATE)
            for frame in file.decode(file.streams.audio[0]):
                check_rate(frame.sample_rate)
                seconds += frame.samples / frame.sample_rate
                _check_length(seconds, limit_seconds)
                frame.pts = None  # gaps in the clock of a recording are not sound
                pieces += [part.to_ndarray().tobytes() for part in resampler.resample(frame)]
            pieces += [part.to_ndarray().tobytes() for part in resampler.resample(None)]
    except (av.FFmpegError, ValueError) as trouble:  # a ValueError when its shape changes midway
        raise SoundError(f"the {container} file is broken: {trouble}", hint="record or save it again") from trouble
    if not any(pieces):
        raise SoundError("the file has no sound in it", hint="send a file with sound in it")
    return AudioChunk(b"".join(pieces))


def _check_length(seconds: float, limit_seconds: float) -> None:
    if seconds > limit_seconds:
        raise SoundError(
            f"the sound lasts more than {limit_seconds:.0f} s",
            spoken="That recording is too long for me.",
            hint=f"send at most {limit_seconds:.0f} seconds at a time",
        )
