"""Real speech that words alone would lose: too quiet, or in noise; and noise, which stays noise."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas.engine import open_engine
from atlas.hearing.house_ear import BookKeeper, Ear, HouseBook, Senses
from atlas.understanding.custom import CustomReader
from atlas.understanding.custom_file import read_custom
from atlas.understanding.understanding import Reader
from tests.contracts.test_stt import noises
from tests.houses import english

from .conftest import HOUSE, in_hiss

pytestmark = pytest.mark.real


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
    shelf = BookKeeper(ear, HouseBook("en", grammar.tables, sounds))
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
