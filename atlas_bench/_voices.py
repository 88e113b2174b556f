"""Speech that this machine makes itself: the house's voice and espeak-ng's, in rooms, in noise, over a telephone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from piper import PiperVoice, SynthesisConfig

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.config import Config
from atlas.speech.resample import resampled

Samples = NDArray[np.float64]
Say = Callable[[str], Samples]
ESPEAK = (  # voice, words a minute; Debian: espeak-ng
    *(("en-us", 160), ("en-us", 130), ("en-gb", 160), ("en-us+f3", 150), ("en-gb-x-rp+f2", 150)),
    *(("en-us+m3", 170), ("en-gb+m5", 150), ("en-029", 150), ("en-us+f5", 140), ("en-gb-scotland", 150)),
)
ALIKE = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0)  # a voice with chance in it says nothing twice alike
AROUND_SECONDS = 0.4
PHONE_RATE = 8_000
WAV_HEAD = 44


def voices(config: Config) -> Sequence[tuple[str, Say]]:
    """Return the voices that are here. Those of espeak-ng only where it is installed."""
    speech = config.speech
    piper = PiperVoice.load(speech.models / speech.voice / f"{speech.voice}.onnx")
    known: list[tuple[str, Say]] = [(speech.voice, lambda text: _piper(piper, text))]
    if espeak := shutil.which("espeak-ng"):
        known += [(f"{name} {rate}", _espeak(espeak, name, rate)) for name, rate in ESPEAK]
    return known


def _piper(voice: PiperVoice, text: str) -> Samples:
    pcm = b"".join(chunk.audio_int16_bytes for chunk in voice.synthesize(text, ALIKE))
    return _samples(AudioChunk(pcm, int(voice.config.sample_rate)))


def _espeak(program: str, name: str, rate: int) -> Say:
    def say(text: str) -> Samples:
        made = subprocess.run([program, "-v", name, "-s", str(rate), "--stdout", text], capture_output=True, check=True)
        head, pcm = made.stdout[:WAV_HEAD], made.stdout[WAV_HEAD:]  # its length is not known when its head is written
        return _samples(AudioChunk(pcm, int.from_bytes(head[24:28], "little")))

    return say


def _samples(sound: AudioChunk) -> Samples:
    samples = np.frombuffer(resampled(sound, HEARING_RATE).pcm, "<i2").astype(np.float64) / 32768.0
    around = np.zeros(round(AROUND_SECONDS * HEARING_RATE))
    return np.concatenate([around, samples, around])


def in_a_room(samples: Samples, seconds: float, distance: float, seed: int) -> Samples:
    """Return the sound in a room that echoes for so many seconds, heard from `distance` (0 to 1: all echo)."""
    if not seconds:
        return samples
    at = np.arange(round(seconds * HEARING_RATE)) / HEARING_RATE
    echo = np.random.default_rng(seed).normal(size=len(at)) * np.exp(-6.9 * at / seconds)
    echo *= distance / np.sqrt((echo**2).sum())
    echo[0] += 1.0 - distance
    size = len(samples) + len(echo)
    wet = np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(echo, size), size)[: len(samples)]
    return np.asarray(wet * np.abs(samples).max() / max(1e-9, np.abs(wet).max()))


def over_a_telephone(samples: Samples) -> Samples:
    """Return the sound with nothing above four kilohertz."""
    narrow = resampled(AudioChunk((samples * 32767).astype("<i2").tobytes()), PHONE_RATE)
    return np.frombuffer(resampled(narrow, HEARING_RATE).pcm, "<i2").astype(np.float64) / 32768.0


def noise(seconds: float, say: Say) -> Samples:
    """Return a kitchen of our own: a rushing that falls with frequency, and people who talk behind it."""
    count, random = round(seconds * HEARING_RATE), np.random.default_rng(7)
    spectrum = np.fft.rfft(random.normal(size=count))
    pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(1.0, np.arange(len(spectrum)))), count)
    talkers = np.zeros(count)
    for text in ("and then she went to the market and bought all of it", "he never told us where they had been"):
        speech = say(text)
        talkers += np.resize(np.roll(np.tile(speech, 2), int(random.integers(len(speech)))), count)
    return np.asarray(pink / pink.std() + 0.3 * talkers / talkers.std())
