"""Real speech that words alone would lose: too quiet, or in noise; and noise, which stays noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from atlas.audio import silence
from atlas.conversation import HOUSE as HOUSE_ACTOR
from atlas.conversation import Message, Turn, Utterance
from atlas.engine import open_engine
from atlas.hearing.house_ear import BookKeeper, Ear, HouseBook, Senses
from atlas.understanding.custom import CustomReader
from atlas.understanding.custom_file import read_custom
from atlas.understanding.understanding import Reader
from tests.contracts.test_stt import noises
from tests.houses import english, reader_of

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


async def test_a_better_recogniser_hears_what_the_first_is_not_sure_of(config, sounds, spoken):
    grammar = english()
    reader, senses = reader_of(grammar), Senses("en")
    book = HouseBook("en", grammar.tables, sounds).of(HOUSE)
    sentences = ("Turn on the kitchen light.", "Lock the back door.", "Open the bedroom curtains.")
    noisy = [(one, in_hiss(spoken(one), 2.0, seed)) for one in sentences for seed in range(3)]

    def is_sure(one: Utterance, sentence: str) -> bool:
        texts = {plain(text).removesuffix("s") for text in (one.text, *one.possible)}  # one light or its lights
        return not one.doubtful and texts == {plain(sentence).removesuffix("s")}

    async def sure(second_pass_model: str) -> int:
        stt = await open_engine("stt", "faster_whisper", replace(config.speech, second_pass_model=second_pass_model))
        ear = Ear(stt, sounds, lambda text: senses.of(text, reader.read(text, HOUSE), HOUSE))
        ear.books = (book,)
        heard = [is_sure(await ear.transcribe(sound), sentence) for sentence, sound in noisy]
        await ear.aclose()
        return sum(heard)

    assert await sure("whisper-base") > await sure("none")


@pytest.mark.parametrize(
    ("request_text", "answer", "command"),
    [
        ("Set a timer.", "Ten minutes.", ("timers.start", {"seconds": 600})),
        ("Set a timer.", "Half an hour.", ("timers.start", {"seconds": 1800})),
        ("Set a timer.", "Forty five seconds.", ("timers.start", {"seconds": 45})),
    ],
)
async def test_what_answers_a_question_of_the_house_is_heard_as_its_answer(ear, spoken, request_text, answer, command):
    reader = reader_of(english())
    question = reader.read(request_text).half.question
    asked = Turn("", "", HOUSE_ACTOR, 0.0, history=(Message("user", request_text), Message("assistant", question)))

    def meant(text: str):
        return [(one.tool, dict(one.arguments)) for one in reader.understand(replace(asked, text=text)).commands]

    sounds = [in_hiss(spoken(answer), decibels, seed) for decibels in (20.0, 10.0) for seed in range(2)]
    heard = [await ear.transcribe(one, ear.answering(lambda text: bool(meant(text)))) for one in sounds]
    assert [meant(one.text) for one in heard] == [[command]] * len(sounds)
    assert not any(one.possible or one.alternatives for one in heard)


async def test_who_answers_a_question_with_a_new_command_is_heard_to_wish_that(ear, spoken):
    judge = ear.answering(lambda text: "minute" in text)
    sound = silence(0.3) + spoken("Turn on the kitchen light.")
    assert (await ear.transcribe(sound, judge)) == (await ear.transcribe(sound))
