"""A house that speaks German, and German sound: its words, and the command that it becomes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace

import anyio
import numpy as np
import pytest
import soxr

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.config import Config
from atlas.engine import open_engine
from atlas.hearing.house_ear import ESPEAK_VOICES, Ear, HouseBook, Senses
from atlas.hearing.sounds import Sounds
from atlas.understanding.grammar import open_grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.public import open_public
from atlas.understanding.understanding import Reader
from tests.hearing.conftest import mixed, rushing

pytestmark = pytest.mark.real
HAUS = Names(
    devices=(NamedDevice("Küchenlicht", "light", "Küche"), NamedDevice("Leselampe", "light", "Wohnzimmer")),
    rooms=(NamedPlace("Küche"), NamedPlace("Wohnzimmer")),
)
AROUND = AudioChunk(bytes(HEARING_RATE))  # half a second


@pytest.fixture(scope="module")
def german() -> Callable[[str], AudioChunk]:
    program = shutil.which("espeak-ng")
    if not program:
        pytest.skip("NOT TESTED: espeak-ng is not installed")

    def say(text: str) -> AudioChunk:
        made = subprocess.run([program, "-v", "de", "-s", "145", "--stdout", text], capture_output=True, check=True)
        samples = np.frombuffer(made.stdout[44:], "<i2").astype(float)  # behind the head of a WAV file
        there = soxr.resample(samples, int.from_bytes(made.stdout[24:28], "little"), HEARING_RATE)
        return AROUND + AudioChunk(there.astype("<i2").tobytes()) + AROUND

    return say


@pytest.fixture(scope="module")
def reader() -> Reader:
    grammar = open_grammar("de")
    return Reader(grammar, PublicReader(open_public("de"), grammar.commands))


@pytest.fixture(scope="module")
def opened(reader: Reader) -> Iterator[Callable[[Config], Ear]]:
    ears: list[Ear] = []

    def ear(config: Config) -> Ear:
        if not ears:
            speech = replace(config.speech, stt_model="whisper-base", languages=("de",))
            senses, sounds = Senses("de"), Sounds(ESPEAK_VOICES["de"])
            stt = anyio.run(open_engine, "stt", "faster_whisper", speech)
            ears.append(Ear(stt, sounds, lambda text: senses.of(text, reader.read(text, HAUS), HAUS)))
            ears[0].books = (HouseBook("de", open_grammar("de").tables, sounds).of(HAUS),)
        return ears[0]

    yield ear
    for one in ears:
        anyio.run(one.aclose)


@pytest.fixture
def ear(config: Config, opened: Callable[[Config], Ear]) -> Ear:
    return opened(config)


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Stell einen Timer auf zehn Minuten", "timers.start"),
        ("Mach das Küchenlicht aus", "home.turn"),
        ("Wie wird das Wetter morgen", "weather.forecast"),
        ("Weck mich morgen um halb acht", "alarms.set"),
    ],
)
@pytest.mark.parametrize("decibels", [30.0, 20.0])
async def test_a_german_sentence_is_heard_as_the_command_that_it_is_or_asked_about_in_noise(
    ear: Ear, german: Callable[[str], AudioChunk], reader: Reader, text: str, tool: str, decibels: float
) -> None:
    heard = await ear.transcribe(mixed(german(text), rushing(1), decibels))
    asked_about = heard.possible if heard.doubtful and decibels < 30 else ()  # another processor hears otherwise
    readings = [[one.tool for one in reader.read(words, HAUS).commands] for words in (heard.text, *asked_about)]
    assert [tool] in readings, heard
    assert heard.language == "de"


async def test_german_talk_stays_talk(ear: Ear, german: Callable[[str], AudioChunk], reader: Reader) -> None:
    heard = await ear.transcribe(german("Gestern waren wir mit den Kindern im Zoo"))
    assert reader.read(heard.text, HAUS).empty, heard
    assert "Zoo" in heard.text


async def test_a_recogniser_of_two_languages_tells_which_was_spoken(
    config: Config, german: Callable[[str], AudioChunk], spoken: Callable[[str], AudioChunk]
) -> None:
    speech = replace(config.speech, stt_model="whisper-base", languages=("de", "en"))
    stt = await open_engine("stt", "faster_whisper", speech)
    heard = [
        await stt.transcribe(sound) for sound in (german("Mach das Licht aus"), spoken("Turn on the kitchen light."))
    ]
    await stt.aclose()
    assert [one.language for one in heard] == ["de", "en"]
