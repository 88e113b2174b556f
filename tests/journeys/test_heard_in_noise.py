"""Voices that are nothing like the house's, in noise: the house does what its plain words would not have told it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soxr

from atlas.audio import HEARING_RATE, AudioChunk
from tests.hearing.conftest import mixed, rushing
from tests.journeys.conftest import Running, write_wav

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timer", "asks_end")]

AROUND = b"\0" * HEARING_RATE  # half a second
PAUSE = "Pause the timer."


@pytest.fixture
def timer(house: Running, timers_end: None) -> None:
    """One timer runs, and it is this file's own."""
    house.json_of("ask", "set a timer for fifty minutes")


@pytest.fixture
def noisy(spoken: Callable[[str], AudioChunk], tmp_path: Path) -> Callable[[str, str, float], Path]:
    """Say a sentence with the house's own voice or one of espeak's, in noise, into a WAV file."""

    def say(voice: str, text: str, decibels: float) -> Path:
        speech = _espeak(voice, text) if voice else spoken(text)
        around = AudioChunk(AROUND)
        return write_wav(tmp_path / f"{voice}{decibels}.wav", mixed(around + speech + around, rushing(1), decibels))

    return say


def _espeak(voice: str, text: str) -> AudioChunk:
    if not (program := shutil.which("espeak-ng")):
        pytest.skip("NOT TESTED: espeak-ng is not installed")
    made = subprocess.run([program, "-v", voice, "-s", "155", "--stdout", text], capture_output=True, check=True)
    samples = np.frombuffer(made.stdout[44:], "<i2").astype(float)  # behind the head of a WAV file
    there = soxr.resample(samples, int.from_bytes(made.stdout[24:28], "little"), HEARING_RATE)
    return AudioChunk(there.astype("<i2").tobytes())


def plain_words(house: Running, file: Path) -> str:
    """What the recogniser alone has: transcriptions are not helped by what can be said here."""
    return house.client().audio.transcriptions.create(model="whisper-1", file=file).text


def tools(details: dict[str, Any]) -> list[str]:
    return [one["name"] for one in details["tools"]]


@pytest.mark.timeout(360)  # three voices
def test_voices_in_noise_are_understood_where_plain_words_failed(
    house: Running, noisy: Callable[[str, str, float], Path]
) -> None:
    lost: list[str] = []
    assert any(understood_where_words_failed(house, noisy, voice, lost) for voice in ("", "en-us", "en-gb")), lost


def understood_where_words_failed(
    house: Running, noisy: Callable[[str, str, float], Path], voice: str, lost: list[str]
) -> bool:
    """Tell whether a voice's sound was understood where nothing was made of its words alone, which `lost` gets."""
    for decibels in (5.0, 3.0, 8.0, 1.0):
        file = noisy(voice, PAUSE, decibels)
        words = plain_words(house, file)
        if words and "timers.pause" in tools(house.json_of("ask", words)):
            continue
        lost.append(words)
        if "timers.pause" in tools(house.turn_of("hear", str(file))):
            return True
    return False


def test_what_may_have_been_said_is_asked_about(house: Running, noisy: Callable[[str, str, float], Path]) -> None:
    replies = []
    for voice, decibels in (("en-gb", 2.0), ("en-us", -1.0), ("en-gb", -3.0), ("en-us", -5.0), ("en-gb", -7.0)):
        heard = house.turn_of("hear", str(noisy(voice, "Cancel all timers.", decibels)))
        if heard["reply"] in ("Cancel all timers?", "Cancel all timer?"):
            assert tools(heard) == [], "nothing was done yet"
            return
        replies.append(heard["reply"])
    raise AssertionError(replies)
