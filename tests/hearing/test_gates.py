"""Four gates keep noise out: level, voice detection, and twice how likely words are. What is a command passes."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
import soxr

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.conversation import Utterance
from atlas.engine import open_engine
from atlas.hearing.ear import Ear
from atlas.speech import stt_faster_whisper as gates
from atlas.speech.endpoint import EndpointOptions
from atlas.speech.stt import Hearing
from atlas.voice.ears import Ears
from atlas.voice.turns import Input
from tests.contracts.test_stt import sound

from .conftest import crackle, mixed, rushing

pytestmark = pytest.mark.real

STEP_SAMPLES = 1600
OFF = "Turn off the lights in the office."


def plain(text: str) -> str:
    return text.lower().strip(".?!")


def softer(speech: AudioChunk, gain: float) -> AudioChunk:
    return sound(np.frombuffer(speech.pcm, "<i2").astype(float) * gain)


def espeak(text: str) -> AudioChunk:
    """Say a sentence with a voice that is nothing like the house's."""
    if not (program := shutil.which("espeak-ng")):
        pytest.skip("NOT TESTED: espeak-ng is not installed")
    made = subprocess.run([program, "-v", "en-us", "-s", "160", "--stdout", text], capture_output=True, check=True)
    samples = np.frombuffer(made.stdout[44:], "<i2").astype(float)  # behind the head of a WAV file
    return sound(soxr.resample(samples, int.from_bytes(made.stdout[24:28], "little"), HEARING_RATE))


async def heard_by_both(ear: Ear, speech: AudioChunk) -> tuple[Utterance, Utterance, float]:
    """What the recogniser alone stands by, what the ear hears, and how likely the best reading was."""
    alone: list[Utterance] = []
    scores: list[float] = []

    def judge(hearing: Hearing) -> Utterance:
        alone.append(hearing.believed())
        scores.append(hearing.readings[0].score)
        return ear.judge(hearing)

    heard = await ear.transcribe(speech, judge)
    return alone[0], heard, scores[0]


@pytest.mark.parametrize("gain", [0.003, 0.001, 0.0005])
async def test_the_level_of_a_voice_that_a_microphone_hardly_has_is_enough(ear, spoken, gain):
    heard = await ear.transcribe(softer(spoken("Turn off the office lamp."), gain))
    assert plain(heard.text) == "turn off the office lamp"


async def noticed(speech: AudioChunk, config) -> AudioChunk:
    """The sound of the utterance that is noticed while somebody speaks after a silence and before one."""
    vad = await open_engine("vad", "silero", config.speech)
    ears, utterance = Ears(vad.listen(), None, EndpointOptions()), AudioChunk(b"")
    for start in range(0, speech.samples, STEP_SAMPLES):
        for notice in ears.hear(speech.cut(start, min(start + STEP_SAMPLES, speech.samples))):
            if notice.what is Input.ENDPOINT:
                utterance = ears.take()
    await vad.aclose()
    return utterance


@pytest.mark.parametrize("gain", [0.02, 0.005])  # -40 and -52 dB below full scale, as somebody far away
async def test_quiet_speech_is_noticed_whole_from_its_first_word(ear, spoken, config, gain):
    speech = silence(1.0) + softer(spoken(OFF), gain) + silence(1.0)
    assert plain((await ear.transcribe(await noticed(speech, config))).text) == plain(OFF)


@pytest.mark.parametrize("gain", [1.0, 0.05, 0.01])
async def test_speech_in_noise_is_noticed_whole_from_its_first_word(ear, spoken, config, gain):
    speech = mixed(silence(1.0) + spoken(OFF) + silence(1.5), rushing(1), 12.0)
    assert plain((await ear.transcribe(await noticed(softer(speech, gain), config))).text) == plain(OFF)


async def test_what_the_recogniser_takes_for_no_speech_is_heard_where_it_is_a_command(ear, spoken):
    speech = spoken("Turn on the kitchen light.")
    sounds = [*(mixed(speech, rushing(seed), -5.0) for seed in range(7)), mixed(speech, crackle(3), -1.0)]
    both = [await heard_by_both(ear, one) for one in sounds]
    lost = [heard.text for alone, heard, _ in both if not alone.text]
    assert len(lost) >= 3, "of these sounds the recogniser itself drops some"
    assert sum(plain(text) == "turn on the kitchen light" for text in lost) >= 2


async def test_words_that_are_too_unlikely_are_heard_where_they_are_a_command(ear):
    speech = espeak("Lock the back door.")
    both = [await heard_by_both(ear, mixed(speech, rushing(1), decibels)) for decibels in (6.0, 5.0, 4.0, 3.0, 2.0)]
    lost = [heard.text for alone, heard, score in both if not alone.text and score < gates.IMPOSSIBLE]
    assert lost, "of these sounds the recogniser itself drops some"
    assert any(plain(text) == "lock the back door" for text in lost)
