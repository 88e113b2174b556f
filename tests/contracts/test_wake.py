"""Every wake engine keeps the same promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.engine import open_engine
from atlas.errors import ConfigError, EngineError
from atlas.speech.wake import Wake
from tests.conftest import for_every
from tests.scripted_wake import ScriptedWake

TWO = ("okay_nabu", "hey_jarvis")


@dataclass
class World:
    wake: Wake
    call: Callable[[str], AudioChunk]  # somebody says the phrase

    def hear(self, sound: AudioChunk, samples: int = 512) -> list[str]:
        stream = self.wake.listen()
        chunks = (sound.cut(at, at + samples) for at in range(0, sound.samples, samples))
        return [text for chunk in chunks if (text := stream.hear(chunk))]


REAL = [pytest.param(name, marks=pytest.mark.real) for name in ("micro", "phrase", "any")]


@pytest.fixture(params=["tests.scripted_wake", *REAL])
async def world(request, config):
    wake = await open_engine("wake", request.param, replace(config.speech, wake_words=TWO))
    if isinstance(wake, ScriptedWake):
        yield World(wake, wake.call)
    else:
        spoken = request.getfixturevalue("spoken")
        yield World(wake, lambda phrase: spoken(f"{phrase.title()}."))
    await wake.aclose()
    await wake.aclose()  # idempotent


async def test_the_phrases_are_as_spoken(world):
    assert world.wake.phrases == ("okay nabu", "hey jarvis")


@pytest.mark.parametrize("phrase", ["okay nabu", "hey jarvis"])
async def test_each_phrase_is_told_by_its_name_and_once(world, phrase):
    assert world.hear(silence(0.5) + world.call(phrase) + silence(2)) == [phrase]


async def test_a_phrase_said_twice_is_two_calls(world):
    twice = silence(0.5) + world.call("okay nabu") + silence(1.5) + world.call("okay nabu") + silence(1)
    assert world.hear(twice) == ["okay nabu", "okay nabu"]


@for_every("samples", [1, 77, 160, 512, 4_000, 16_000])
async def test_chunks_may_have_any_length(world, samples):
    assert world.hear(silence(0.3) + world.call("okay nabu") + silence(1), samples) == ["okay nabu"]


async def test_it_tells_about_how_long_ago_the_phrase_ended(world):
    stream, call = world.wake.listen(), world.call("okay nabu")
    sound, ended = silence(0.5) + call + silence(1), 0.5 + call.seconds
    heard = next(at + 512 for at in range(0, sound.samples, 512) if stream.hear(sound.cut(at, at + 512)))
    assert heard / HEARING_RATE - stream.said_on_seconds == pytest.approx(ended, abs=0.4)


async def test_silence_and_noise_call_nobody(world):
    noise = np.random.default_rng(1).normal(0, 3_000, HEARING_RATE * 5).astype(np.int16)
    assert world.hear(silence(5)) == []
    assert world.hear(AudioChunk(noise.tobytes())) == []
    assert world.hear(AudioChunk(b"")) == []


async def test_two_microphones_do_not_hear_for_each_other(world):
    kitchen, office = world.wake.listen(), world.wake.listen()
    sound = silence(0.5) + world.call("okay nabu") + silence(1)
    heard = {"kitchen": [], "office": []}
    for at in range(0, sound.samples, 512):
        heard["kitchen"].append(kitchen.hear(sound.cut(at, at + 512)))
        heard["office"].append(office.hear(silence(0.032)))
    assert "okay nabu" in heard["kitchen"]
    assert not any(heard["office"])


async def test_after_a_reset_half_a_phrase_is_forgotten(world):
    call = world.call("okay nabu")
    stream = world.wake.listen()
    stream.hear(call.cut(0, call.samples // 2))
    stream.reset()
    assert stream.hear(silence(2)) is None
    assert stream.hear(silence(0.5) + call + silence(1)) == "okay nabu"


@pytest.mark.real
@pytest.mark.parametrize("engine", ["micro", "phrase"])
async def test_other_sentences_call_nobody(engine, spoken, config):
    wake = await open_engine("wake", engine, replace(config.speech, wake_words=TWO))
    for sentence in (
        "Set a timer for ten minutes.",
        "What time is it?",
        "Okay, that was fun.",
        "Add milk to my tasks.",
    ):
        stream = wake.listen()
        assert stream.hear(silence(0.5) + spoken(sentence) + silence(1)) is None, sentence


@pytest.mark.real
async def test_a_word_without_a_model_is_refused_with_the_words_that_exist(config):
    for word in ("hey_house", "../okay_nabu", ""):
        with pytest.raises(ConfigError, match="no wake word") as refused:
            await open_engine("wake", "micro", replace(config.speech, wake_words=(word,)))
        assert "okay_nabu" in refused.value.hint


@pytest.mark.real
async def test_a_phrase_of_which_nobody_made_a_model_is_heard_beside_one_that_has_one(config, spoken):
    wake = await open_engine("wake", "any", replace(config.speech, wake_words=("hey_atlas", "okay_nabu", "computer")))
    stream, heard = wake.listen(), []
    assert set(wake.phrases) == {"okay nabu", "hey atlas", "computer"}
    for sentence in ("Hey Atlas.", "Computer, turn off the light.", "Hey, that looks nice.", "Okay Nabu."):
        sound = silence(0.7) + spoken(sentence) + silence(1)
        heard += [text for at in range(0, sound.samples, 512) if (text := stream.hear(sound.cut(at, at + 512)))]
    assert heard == ["hey atlas", "computer", "okay nabu"]
    await wake.aclose()


@pytest.mark.real
async def test_without_a_recogniser_a_phrase_is_refused_with_what_to_do(config, data):
    with pytest.raises(EngineError, match="does not load") as refused:
        await open_engine("wake", "any", replace(config.speech, wake_words=("hey atlas",), models=data))
    assert "atlas models fetch" in refused.value.hint


@pytest.mark.real
async def test_a_house_may_bring_its_own_word(config, data, spoken):
    import pymicro_wakeword

    shipped, own_value = pymicro_wakeword.microwakeword._MODELS_DIR, data / "hello_nabu"
    own_value.mkdir()
    text = (shipped / "okay_nabu.json").read_text().replace('"Okay Nabu"', '"Hello Nabu"')
    (own_value / "hello_nabu.json").write_text(text)
    settings = replace(config.speech, wake_words=("hello_nabu",), models=data)
    with pytest.raises(EngineError, match="No such file"):
        await open_engine("wake", "micro", settings)
    (own_value / "okay_nabu.tflite").write_text("not weights at all")
    with pytest.raises(EngineError, match="not a TensorFlow Lite model"):
        await open_engine("wake", "micro", settings)
    (own_value / "okay_nabu.tflite").write_bytes((shipped / "okay_nabu.tflite").read_bytes())
    wake = await open_engine("wake", "micro", settings)
    assert wake.phrases == ("hello nabu",)
    assert wake.listen().hear(silence(0.5) + spoken("Okay Nabu.") + silence(1)) == "hello nabu"
