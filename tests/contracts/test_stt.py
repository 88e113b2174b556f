"""Every recogniser keeps the same promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace

import anyio
import numpy as np
import pytest

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.engine import open_engine
from atlas.errors import EngineError
from atlas.speech import stt_faster_whisper
from atlas.speech.stt import MAX_UTTERANCE_SECONDS
from atlas.speech.stt_faster_whisper import SKIM_SECONDS
from atlas.speech.wav import write_wav
from tests.scripted_stt import SOME_SPEECH, ScriptedStt
from tests.scripted_vad import voice

QUESTION = "What time is it?"


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9 ]", "", text.lower())


@pytest.fixture(scope="module")
def opened():
    """The real recogniser, loaded once for all these tests."""
    stt = []
    yield lambda config: stt or stt.append(anyio.run(open_engine, "stt", "faster_whisper", config.speech)) or stt
    for engine in stt:
        anyio.run(engine.aclose)


@pytest.fixture
def whisper(config, opened):
    return opened(config)[0]


@pytest.fixture(params=["scripted", pytest.param("faster_whisper", marks=pytest.mark.real)])
def world(request):
    if request.param == "scripted":
        return ScriptedStt(), voice(1.0)
    return request.getfixturevalue("whisper"), request.getfixturevalue("spoken")(QUESTION)


async def test_what_is_said_is_written_and_timed(world):
    stt, speech = world
    heard = await stt.transcribe(speech)
    assert plain(heard.text) == plain(QUESTION) == SOME_SPEECH
    assert heard.seconds == speech.seconds
    assert heard.text not in heard.alternatives


@pytest.mark.parametrize("seconds", [0, 0.01, 0.5, 5, MAX_UTTERANCE_SECONDS])
async def test_silence_has_no_words(world, seconds):
    stt, _ = world
    heard = await stt.transcribe(silence(seconds))
    assert (heard.text, heard.alternatives, heard.seconds) == ("", (), seconds)


async def test_cancelling_is_safe_and_the_next_call_works(world):
    stt, speech = world
    for _ in range(3):
        with anyio.move_on_after(0):
            await stt.transcribe(speech)
    assert plain((await stt.transcribe(speech)).text) == SOME_SPEECH


async def test_several_at_a_time_each_get_their_own_words(world):
    stt, speech = world
    texts: dict[str, str] = {}

    async def hear(name: str, sound: AudioChunk) -> None:
        texts[name] = plain((await stt.transcribe(sound)).text)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hear, "kitchen", speech)
        tasks.start_soon(hear, "office", silence(1))
        tasks.start_soon(hear, "attic", speech)
    assert texts == {"kitchen": SOME_SPEECH, "office": "", "attic": SOME_SPEECH}


async def test_it_is_idle_but_while_it_recognises(world):
    stt, speech = world
    assert stt.idle
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stt.transcribe, speech)
        await anyio.lowlevel.checkpoint()
        assert not stt.idle
    assert stt.idle


@pytest.mark.parametrize("name", ["tests.scripted_stt", pytest.param("faster_whisper", marks=pytest.mark.real)])
async def test_a_closed_recogniser_says_so(config, name):
    stt = await open_engine("stt", name, config.speech)
    await stt.aclose()
    await stt.aclose()
    with pytest.raises(EngineError):
        await stt.transcribe(voice(1.0))


async def test_the_longest_utterance_is_taken_and_a_longer_one_is_a_mistake(world):
    stt, _ = world
    with pytest.raises(AssertionError):
        await stt.transcribe(silence(MAX_UTTERANCE_SECONDS + 1))


async def test_of_somebody_who_still_speaks_a_skim_says_the_words_so_far_or_that_it_would_be_in_the_way(world):
    stt, speech = world
    assert plain(await stt.skim(speech) or SOME_SPEECH).startswith("what time")
    assert not await stt.skim(silence(1))


# ── what only a real recogniser can get wrong ──────────────────────────────────────────────────────


@pytest.mark.real
async def test_a_skim_is_not_begun_while_an_utterance_is_recognised_and_leaves_the_recogniser_to_the_next(
    whisper, spoken
):
    speech = spoken(QUESTION)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(whisper.transcribe, speech)
        await anyio.lowlevel.checkpoint()
        assert await whisper.skim(speech) is None
    with anyio.move_on_after(0):
        await whisper.skim(speech)
    assert plain((await whisper.transcribe(speech)).text) == SOME_SPEECH
    assert plain(await whisper.skim(speech)).startswith("what time")
    assert await whisper.skim(silence(SKIM_SECONDS) + speech) is None


@pytest.mark.real
@pytest.mark.parametrize("tokens", [3, 8])
async def test_a_text_that_runs_out_of_tokens_goes_on_and_says_nothing_twice(models, spoken, monkeypatch, tokens):
    sentence = "Please turn on the kitchen light, the hall light and the reading lamp in the living room."
    monkeypatch.setattr(stt_faster_whisper, "FIRST_TOKENS", tokens)
    monkeypatch.setattr(stt_faster_whisper, "FIRST_TOKENS_PER_SECOND", 0)
    whisper = stt_faster_whisper.Whisper(models / "whisper-tiny.en", threads=2)
    speech = spoken(sentence)
    (best, *_), _ = whisper.readings(whisper.encode(speech), speech.seconds, "en")
    assert plain(best.text) == plain(sentence)


def sound(samples: np.ndarray) -> AudioChunk:
    return AudioChunk(np.clip(samples, -32768, 32767).astype(np.int16).tobytes())


def noises(seconds: float) -> dict[str, AudioChunk]:
    random = np.random.default_rng(0)
    count = round(seconds * HEARING_RATE)
    at = np.arange(count) / HEARING_RATE
    clicks = np.zeros(count)
    clicks[:: HEARING_RATE // 3] = 20_000
    clap = random.normal(size=count) * 15_000 * np.exp(-np.abs(at - seconds / 2) * 20)
    chord = sum(np.sin(2 * np.pi * hertz * at) for hertz in (262, 330, 392, 523))
    return {
        "hiss": sound(random.normal(size=count) * 30),
        "loud noise": sound(random.normal(size=count) * 5_000),
        "hum": sound(np.sin(2 * np.pi * 50 * at) * 3_000 + np.sin(2 * np.pi * 100 * at) * 1_500),
        "tone": sound(np.sin(2 * np.pi * 1_000 * at) * 8_000),
        "clicks": sound(clicks),
        "clap": sound(clap),
        "chord": sound(chord * 3_000 * np.sign(np.sin(2 * np.pi * 2 * at))),
        "breathing": sound(random.normal(size=count) * 2_000 * (1 + np.sin(2 * np.pi * at))),
    }


@pytest.mark.real
@pytest.mark.parametrize("seconds", [0.5, 2, 6])
async def test_noise_has_no_words(whisper, seconds):
    heard = {name: (await whisper.transcribe(noise)).text for name, noise in noises(seconds).items()}
    assert heard == dict.fromkeys(heard, "")


@pytest.mark.real
@pytest.mark.parametrize(
    "sentence",
    ["Set a timer for ten minutes.", "What time is it?", "Stop.", "Yes.", "What is the capital of France?"],
)
@pytest.mark.parametrize("quiet", [0.3, 0.5])  # seconds around it: ears keep half a second from before the first word
async def test_commands_are_understood_once_and_not_over_and_over(whisper, spoken, sentence, quiet):
    heard = await whisper.transcribe(silence(quiet) + spoken(sentence) + silence(quiet))
    assert plain(heard.text).replace("10", "ten") == plain(sentence)
    for other in heard.alternatives:
        assert len(plain(other).split()) <= 2 * len(plain(sentence).split()), "people say 'yes, yes', and no more"
    margins = dict(reversed(heard.margins))
    assert margins[heard.text] == 0.0
    assert all(margins[other] > 0.0 for other in heard.alternatives)


@pytest.mark.real
async def test_a_whisper_and_a_noisy_room_are_still_understood(whisper, spoken):
    samples = np.frombuffer(spoken(QUESTION).pcm, np.int16).astype(float)
    noise = np.random.default_rng(0).normal(size=len(samples)) * np.sqrt(np.mean(samples**2)) * 0.3  # 10 dB below
    assert plain((await whisper.transcribe(sound(samples * 0.02))).text) == SOME_SPEECH
    assert plain((await whisper.transcribe(sound(samples + noise))).text) == SOME_SPEECH


@pytest.mark.real
async def test_the_longest_utterance_keeps_its_words_to_the_end(whisper, spoken):
    sentence = spoken("The house is quiet tonight.") + silence(0.4)
    count = int((MAX_UTTERANCE_SECONDS - 4) / sentence.seconds)
    pieces = [spoken("First we went to the market.")] + [silence(sentence.seconds)] * count
    end = spoken("And then we came home.")
    long = pieces[0]
    for piece in pieces[1:]:
        long += piece
    text = (await whisper.transcribe((long + end).cut(0, round(MAX_UTTERANCE_SECONDS * HEARING_RATE)))).text
    assert "market" in text
    assert "home" in text


EVER_NEW_LENGTHS = """
import ctypes, os, sys, wave
from pathlib import Path
import anyio
from atlas.audio import AudioChunk, silence
from atlas.config import load
from atlas.engine import open_engine

class Heap(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_size_t * 10)]  # of glibc's mallinfo2: the eighth is what is in use, in bytes

def allocated_mb():
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = Heap
    return library.mallinfo2().numbers[7] / 1e6

async def main():
    stt = await open_engine("stt", "faster_whisper", load(dict(os.environ), Path("atlas.toml")).speech)
    speech = AudioChunk(wave.open(sys.argv[1]).readframes(2**20))
    for length in reversed(range(12)):  # the longest first: what it needs to work in, it needs once
        if length == 7:
            before = allocated_mb()
        await stt.transcribe(silence(length / 10) + speech)
    print(allocated_mb() - before)

anyio.run(main)
"""


@pytest.mark.real
def test_utterances_of_ever_new_lengths_take_no_memory_that_stays(spoken, models, data):
    # In a process of its own: threads that do not spin, and nothing else that takes memory.
    file = data / "question.wav"
    file.write_bytes(write_wav(spoken(QUESTION)))
    environment = {**os.environ, "ATLAS_MODELS_FOLDER": str(models), "OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-c", EVER_NEW_LENGTHS, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, env=environment)
    assert float(done.stdout) < 3, done.stderr or "a plan of 0.8 MB for every length would be 6"


@pytest.mark.real
async def test_missing_or_broken_weights_are_an_engine_error_with_a_way_out(config, data):
    for prepare in (lambda: None, lambda: (data / "whisper-tiny.en").mkdir()):
        prepare()
        with pytest.raises(EngineError, match="does not load") as missing:
            await open_engine("stt", "faster_whisper", replace(config.speech, models=data))
        assert missing.value.hint == "run `atlas models fetch`"
    folder, real = data / "whisper-tiny.en", config.speech.models / "whisper-tiny.en"
    for name in ("model.bin", "config.json", "vocabulary.txt"):
        (folder / name).symlink_to(real / name)
    for text in ("", "{}", '{"version": "1.0"}'):
        (folder / "tokenizer.json").write_text(text)
        with pytest.raises(EngineError, match="no tokenizer"):
            await open_engine("stt", "faster_whisper", replace(config.speech, models=data))
