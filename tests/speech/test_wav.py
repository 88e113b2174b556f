"""Files of sound, honest and broken."""

from __future__ import annotations

import io
import struct
import wave
from contextlib import suppress
from random import Random

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.audio import AudioChunk, silence
from atlas.errors import SoundError
from atlas.speech.wav import read_sound, read_wav, wav_header, write_wav
from tests.conftest import for_every

HERTZ = 440.0


def floats(seconds: float = 0.5, rate: int = 16_000, channels: int = 1) -> np.ndarray:
    at = np.arange(round(seconds * rate)) / rate
    return np.repeat((np.sin(2 * np.pi * HERTZ * at) * 0.5)[:, None], channels, axis=1)


def riff(body: bytes, code: int = 1, channels: int = 1, rate: int = 16_000, bits: int = 16, **more) -> bytes:
    """A WAV by hand, so that it can lie."""
    frame = channels * bits // 8
    head = struct.pack("<HHIIHH", code, channels, rate, rate * frame, frame, bits) + more.get("tail", b"")
    size = more.get("size", len(body))
    chunks = b"fmt " + struct.pack("<I", len(head)) + head + more.get("between", b"")
    chunks += b"data" + struct.pack("<I", size) + body
    return b"RIFF" + struct.pack("<I", more.get("riff", 4 + len(chunks))) + b"WAVE" + chunks


def encoded(samples: np.ndarray, code: int, bits: int) -> bytes:
    if code == 3:
        return samples.astype(f"<f{bits // 8}").tobytes()
    if bits == 8:
        return (samples * 127 + 128).astype(np.uint8).tobytes()
    if bits == 24:
        return (samples * (2**31 - 1)).astype("<i4").view(np.uint8).reshape(-1, 4)[:, 1:].tobytes()
    return (samples * (2 ** (bits - 1) - 1)).astype(f"<i{bits // 8}").tobytes()


def is_the_tone(sound: AudioChunk, seconds: float = 0.5) -> bool:
    samples = np.frombuffer(sound.pcm, np.int16).astype(np.float64)
    peak = np.argmax(np.abs(np.fft.rfft(samples))) / sound.seconds
    loud = np.sqrt(np.mean(samples**2)) / 32768
    return bool(abs(sound.seconds - seconds) < 0.06 and abs(peak - HERTZ) < 3 and 0.3 < loud < 0.4)


@for_every(("code", "bits"), [(1, 8), (1, 16), (1, 24), (1, 32), (3, 32), (3, 64)])
@for_every("channels", [1, 2, 8])
@for_every("rate", [8_000, 16_000, 22_050, 44_100, 48_000])
@for_every("extensible", [False, True])
def test_every_kind_of_wav_is_heard_alike(code, bits, channels, rate, extensible):
    body = encoded(floats(rate=rate, channels=channels), code, bits)
    tail = struct.pack("<HHI", 22, bits, 0) + struct.pack("<H", code) + bytes.fromhex("000000001000800000aa00389b71")
    data = riff(body, 0xFFFE if extensible else code, channels, rate, bits, tail=tail if extensible else b"")
    assert is_the_tone(read_wav(data))


def test_what_is_written_can_be_read_by_anyone_and_by_atlas():
    sound = AudioChunk((floats(rate=22_050) * 32767).astype(np.int16).tobytes(), 22_050)
    with wave.open(io.BytesIO(write_wav(sound))) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (1, 2, 22_050)
        assert file.readframes(file.getnframes()) == sound.pcm
    assert is_the_tone(read_sound(write_wav(sound)))


def test_sound_at_the_hearing_rate_comes_back_as_it_was():
    sound = AudioChunk((floats() * 32767).astype(np.int16).tobytes())
    assert (
        np.abs(np.frombuffer(read_wav(write_wav(sound)).pcm, np.int16) - np.frombuffer(sound.pcm, np.int16)).max() <= 1
    )


def test_a_streamed_wav_whose_end_was_not_known_is_read_to_its_end():
    sound = AudioChunk((floats() * 32767).astype(np.int16).tobytes())
    assert read_wav(wav_header(16_000) + sound.pcm).samples == sound.samples
    assert read_wav(riff(sound.pcm, size=0, riff=0)).samples == sound.samples
    assert read_wav(riff(sound.pcm, size=0x7FFFFFFF)).samples == sound.samples


def test_chunks_before_the_samples_are_stepped_over():
    note = b"LIST" + struct.pack("<I", 5) + b"hello" + b"\0"
    assert is_the_tone(read_wav(riff(encoded(floats(), 1, 16), between=note)))


def test_opposite_channels_do_not_break_the_mean_and_one_ear_is_enough():
    one_ear = floats(channels=2) * np.array([1.0, 0.0])
    assert np.abs(np.frombuffer(read_wav(riff(encoded(one_ear, 1, 16), channels=2)).pcm, np.int16)).max() > 5_000


def test_floats_that_are_no_numbers_are_silence():
    body = np.full(1_600, np.nan, "<f4").tobytes() + np.full(1_600, np.inf, "<f4").tobytes()
    samples = np.frombuffer(read_wav(riff(body, 3, bits=32)).pcm, np.int16)
    assert samples[:1_000].max() < 100
    assert samples[2_000:3_000].min() > 32_000


@for_every(
    ("data", "complaint"),
    [
        (b"", "empty"),
        (b"hello", "not a sound file"),
        (b"<html>" * 100, "not a sound file"),
        (b"#EXTM3U\nfile:///etc/passwd\n", "not a sound file"),
        (b"ffconcat version 1.0\nfile /etc/passwd\n", "not a sound file"),
        (b"RIFF\0\0\0\0AVI ", "not a WAV"),
        (b"RIFF", "not a WAV"),
        (b"RIFF\x04\0\0\0WAVE", "ends before its samples"),
        (b"RIFF\x04\0\0\0WAVEfmt \x04\0\0\0\1\0\1\0data\0\0\0\0", "format is cut short"),
        (b"RIFF\x04\0\0\0WAVEdata\x02\0\0\0ab", "before their format"),
        (riff(b""), "no sound in it"),
        (riff(b"a", channels=1), "no sound in it"),
        (riff(b"abcd", channels=0), "0 channels"),
        (riff(b"abcd" * 100, channels=9_000), "9000 channels"),
        (riff(b"abcd", rate=0), "0 Hz"),
        (riff(b"abcd", rate=1_000_000), "1000000 Hz"),
        (riff(b"abcd", bits=12), "12 bits"),
        (riff(b"abcd", code=0x55), "0x0055"),
        (riff(b"abcd", code=0xFFFE), "0xfffe"),
        (riff(b"abcd", size=4_000), "cut short: 4 bytes of 4000"),
        (b"ID3\x04" + bytes(400), "mp3 file is broken"),
        (b"OggS" + bytes(400), "ogg file is broken"),
        (b"\x1a\x45\xdf\xa3" + bytes(400), "matroska file is broken"),
        (bytes(4) + b"ftyp" + bytes(400), "mov file is broken"),
        (b"fLaC" + bytes(400), "flac file is broken"),
    ],
)
def test_a_broken_file_is_refused_with_a_reason(data, complaint):
    with pytest.raises(SoundError, match=complaint) as refused:
        read_sound(data)
    assert refused.value.hint


def test_a_recording_that_is_too_long_is_refused_before_it_is_converted():
    with pytest.raises(SoundError, match="more than 600 s") as refused:
        read_sound(write_wav(silence(601)))
    assert refused.value.hint == "send at most 600 seconds at a time"
    assert read_sound(write_wav(silence(3)), limit_seconds=3).seconds == 3


def test_a_file_of_a_million_empty_chunks_is_not_walked_to_its_end():
    with pytest.raises(SoundError):
        read_wav(b"RIFF\0\0\0\0WAVE" + (b"junk" + bytes(4)) * 1_000_000)


@given(st.binary(max_size=300), st.integers(0, 60))
@settings(deadline=None)
def test_whatever_is_sent_it_is_sound_or_a_sound_error(noise, at):
    data = bytearray(write_wav(silence(0.05)))
    data[at : at + len(noise)] = noise
    for attempt in (bytes(data), noise, b"RIFF" + noise, b"OggS" + noise, b"ID3" + noise, b"\xff\xfb" + noise):
        with suppress(SoundError):
            read_sound(attempt)


def compressed(container: str, codec: str, rate: int, seconds: float = 0.5) -> bytes:
    file = io.BytesIO()
    with av.open(file, "w", format=container) as out:
        stream = out.add_stream(codec, rate=rate)
        stream.layout = "mono"
        samples = (floats(seconds, rate) * 32767).astype(np.int16).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
        frame.sample_rate = rate
        resampler = av.AudioResampler(stream.format, "mono", rate, frame_size=stream.frame_size or 1_024)
        for part in [*resampler.resample(frame), *resampler.resample(None)]:
            out.mux(stream.encode(part))
        out.mux(stream.encode(None))
    return file.getvalue()


WHAT_PHONES_AND_BROWSERS_RECORD = [
    ("mp3", "libmp3lame", 44_100),
    ("ogg", "libopus", 48_000),
    ("webm", "libopus", 48_000),
    ("flac", "flac", 16_000),
    ("ipod", "aac", 44_100),
    ("adts", "aac", 44_100),
]


@for_every(("container", "codec", "rate"), WHAT_PHONES_AND_BROWSERS_RECORD)
def test_what_phones_and_browsers_record_is_heard(container, codec, rate):
    assert is_the_tone(read_sound(compressed(container, codec, rate)))


def test_a_long_compressed_file_is_refused_while_it_is_read():
    with pytest.raises(SoundError, match="more than 2 s"):
        read_sound(compressed("ogg", "libopus", 48_000, seconds=5), limit_seconds=2)


def test_an_mp3_whose_rate_changes_midway_is_refused_as_broken():
    spliced = compressed("mp3", "libmp3lame", 44_100) + compressed("mp3", "libmp3lame", 22_050)
    with pytest.raises(SoundError, match="mp3 file is broken"):
        read_sound(spliced)


@for_every(("container", "codec", "rate"), WHAT_PHONES_AND_BROWSERS_RECORD)
def test_a_damaged_file_of_any_kind_is_sound_or_a_sound_error(container, codec, rate):
    whole, random = compressed(container, codec, rate), Random(container)
    for _ in range(40):
        damaged = bytearray(whole)
        at, length = random.randrange(len(whole)), random.randrange(1, 200)
        damaged[at : at + length] = random.randbytes(length)
        with suppress(SoundError):
            read_sound(bytes(damaged[: random.randrange(1, 2 * len(whole))]))
