"""Real speech that words alone would lose: too quiet, or in noise; and noise, which stays noise."""

from __future__ import annotations

from pathlib import Path

import anyio
import numpy as np
import pytest

from atlas.audio import AudioChunk, silence
from atlas.engine import open_engine
from atlas.hearing.house_ear import Ear, HouseBook, Senses, Shelf
from atlas.speech.endpoint import EndpointOptions
from atlas.understanding.custom import CustomReader
from atlas.understanding.custom_file import read_custom
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import Device, Names, Place
from atlas.understanding.public import PublicGrammar
from atlas.understanding.understanding import Reader
from atlas.voice.ears import Ears
from atlas.voice.turns import Input
from tests.contracts.test_stt import noises, sound
from tests.houses import english

pytestmark = pytest.mark.real

HOUSE = Names(
    devices=(
        Device("kitchen light", "light", "kitchen"),
        Device("office lamp", "light", "office"),
        Device("bedroom curtains", "cover", "bedroom", "curtain"),
        Device("back door", "lock", "hall"),
    ),
    rooms=(Place("kitchen"), Place("office"), Place("bedroom"), Place("hall")),
)
STEP_SAMPLES = 1600


@pytest.fixture(scope="module")
def opened(sounds):
    """The ear of a small house, opened once."""
    ears: list[Ear] = []

    def ear(config) -> Ear:
        if not ears:
            grammar = english()
            reader, senses = Reader(grammar, PublicReader(PublicGrammar("en"), grammar.commands)), Senses("en")
            stt = anyio.run(open_engine, "stt", "faster_whisper", config.speech)
            ears.append(Ear(stt, sounds, lambda text: senses.of(text, reader.read(text, HOUSE), HOUSE)))
            ears[0].books = (HouseBook("en", grammar.own, sounds).of(HOUSE),)
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


def plain(text: str) -> str:
    return text.lower().strip(".?!")


async def test_misheard_words_become_the_command_that_they_sound_like(ear, spoken):
    for sentence in ("Turn on the kitchen light.", "Lock the back door."):
        heard = [await ear.transcribe(in_hiss(spoken(sentence), 3.0, seed)) for seed in range(3)]
        assert plain(sentence) in {plain(one.text) for one in heard}


@pytest.mark.parametrize("seconds", [0.5, 2, 6])
async def test_noise_is_no_command(ear, seconds):
    heard = {name: (await ear.transcribe(noise)).text for name, noise in noises(seconds).items()}
    assert heard == dict.fromkeys(heard, "")


@pytest.mark.parametrize(
    "sentence", ["Where did you put the cattle?", "The kitchen was full of light.", "I told him to lock it."]
)
async def test_talk_stays_talk(ear, spoken, sentence):
    assert plain((await ear.transcribe(spoken(sentence))).text) == plain(sentence)


@pytest.mark.parametrize("gain", [0.02, 0.005])  # -40 and -52 dB below full scale, as somebody far away
async def test_quiet_speech_is_noticed_whole_from_its_first_word(ear, spoken, config, gain):
    vad = await open_engine("vad", "silero", config.speech)
    samples = np.frombuffer(spoken("Turn off the lights in the office.").pcm, "<i2").astype(float)
    speech = silence(1.0) + sound(samples * gain) + silence(1.0)
    ears = Ears(vad.listen(), None, EndpointOptions())
    heard = AudioChunk(b"")
    for start in range(0, speech.samples, STEP_SAMPLES):
        for notice in ears.hear(speech.cut(start, min(start + STEP_SAMPLES, speech.samples))):
            if notice.what is Input.ENDPOINT:
                heard = ears.take()
    assert plain((await ear.transcribe(heard)).text) == "turn off the lights in the office"


CUSTOM = """\
intents:
  Aquarium: {data: [{sentences: ["(feed|treat) the goldfish [{times} times]"]}]}
lists: {times: {range: {from: 2, to: 9}}}
responses: {intents: {Aquarium: {default: Yum.}}}
"""


async def test_a_houses_own_sentences_are_heard_like_those_of_every_house(config, sounds, spoken):
    custom = CustomReader(read_custom(CUSTOM, Path("sentences.yaml"), "en"), None)
    grammar = english()
    reader, senses = Reader(grammar, custom=lambda: custom), Senses("en")
    stt = await open_engine("stt", "faster_whisper", config.speech)
    ear = Ear(stt, sounds, lambda text: senses.of(text, reader.read(text, HOUSE), HOUSE))
    shelf = Shelf(ear, HouseBook("en", grammar.own, sounds))
    noisy = [in_hiss(spoken("Feed the goldfish."), decibels, seed) for decibels in (15.0, 10.0) for seed in range(4)]

    async def heard() -> int:
        texts = [plain((await ear.transcribe(sound)).text) for sound in noisy]
        return texts.count("feed the goldfish")

    shelf.learn(HOUSE)
    before = await heard()
    shelf.learn(custom=custom.sentences)
    after = await heard()
    await ear.aclose()
    assert after >= 6, "of 8"
    assert after >= before + 3, "as it was read, and as it was heard"
