"""A small house: what can be said in it, its ear, and sounds to hear."""

from __future__ import annotations

import anyio
import numpy as np
import pytest

from atlas.audio import AudioChunk
from atlas.engine import open_engine
from atlas.hearing.house_ear import Ear, HouseBook, Senses
from atlas.hearing.sounds import Sounds
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.public import open_public
from atlas.understanding.understanding import Reader
from tests.contracts.test_stt import sound
from tests.houses import english

HOUSE = Names(
    devices=(
        NamedDevice("kitchen light", "light", "kitchen"),
        NamedDevice("office lamp", "light", "office"),
        NamedDevice("bedroom curtains", "cover", "bedroom", "curtain"),
        NamedDevice("back door", "lock", "hall"),
    ),
    rooms=(NamedPlace("kitchen"), NamedPlace("office"), NamedPlace("bedroom"), NamedPlace("hall")),
)


@pytest.fixture(scope="session")
def sounds() -> Sounds:
    return Sounds("en-us")


@pytest.fixture(scope="module")
def opened(sounds):
    """The ear of a small house, opened once."""
    ears: list[Ear] = []

    def ear(config) -> Ear:
        if not ears:
            grammar = english()
            reader, senses = Reader(grammar, PublicReader(open_public("en"), grammar.commands)), Senses("en")
            stt = anyio.run(open_engine, "stt", "faster_whisper", config.speech)
            ears.append(Ear(stt, sounds, lambda text: senses.of(text, reader.read(text, HOUSE), HOUSE)))
            book = HouseBook("en", grammar.tables, sounds)
            ears[0].books, ears[0].answer_book = (book.of(HOUSE),), book.answers_of(HOUSE)
        return ears[0]

    yield ear
    for one in ears:
        anyio.run(one.aclose)


@pytest.fixture
def ear(config, opened):
    return opened(config)


def in_hiss(speech: AudioChunk, decibels: float, seed: int) -> AudioChunk:
    samples = np.frombuffer(speech.pcm, "<i2").astype(float)
    hiss = np.random.default_rng(seed).normal(size=len(samples))
    noisy = samples + hiss * np.sqrt((samples**2).mean() / 10 ** (decibels / 10))
    return sound(noisy / np.abs(noisy).max() * 16_000)


def mixed(speech: AudioChunk, noise: np.ndarray, decibels: float) -> AudioChunk:
    """Speech in noise, so many decibels above it."""
    samples = np.frombuffer(speech.pcm, "<i2").astype(float)
    under = noise[: len(samples)]
    noisy = samples + under * np.sqrt((samples**2).mean() / (under**2).mean() / 10 ** (decibels / 10))
    return sound(noisy / np.abs(noisy).max() * 16_000)


def rushing(seed: int) -> np.ndarray:
    """Six seconds of a noise that falls with frequency, as most do in a house."""
    spectrum = np.fft.rfft(np.random.default_rng(seed).normal(size=96_000))
    return np.fft.irfft(spectrum / np.sqrt(np.maximum(1, np.arange(len(spectrum)))))


def crackle(seed: int) -> np.ndarray:
    """Six seconds of what a bad contact makes."""
    return (np.random.default_rng(seed).random(96_000) < 0.002) * 1.0
