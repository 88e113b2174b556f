"""Every speech detector keeps the same promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

from atlas.audio import AudioChunk, silence
from atlas.engine import open_engine
from atlas.speech.vad import FRAME_SAMPLES, VadStream
from tests.scripted_vad import voice


def probabilities(stream: VadStream, sound: AudioChunk) -> list[float]:
    return [
        stream.probability(sound.cut(at, at + FRAME_SAMPLES))
        for at in range(0, sound.samples - FRAME_SAMPLES + 1, FRAME_SAMPLES)
    ]


@pytest.fixture(params=["tests.scripted_vad", pytest.param("silero", marks=pytest.mark.real)])
async def world(request, config):
    vad = await open_engine("vad", request.param, config.speech)
    speech = (
        voice(2.0)
        if request.param == "tests.scripted_vad"
        else request.getfixturevalue("spoken")("What time is it now?")
    )
    yield vad, speech
    await vad.aclose()
    await vad.aclose()


async def test_speech_is_likely_and_silence_is_not(world):
    vad, speech = world
    heard = probabilities(vad.listen(), speech)
    assert all(0 <= p <= 1 for p in heard)
    assert sum(p > 0.5 for p in heard) > len(heard) * 0.6
    assert max(probabilities(vad.listen(), silence(2))) < 0.2


async def test_each_microphone_has_its_own_memory(world):
    vad, speech = world
    alone = probabilities(vad.listen(), speech)
    kitchen, office = vad.listen(), vad.listen()
    beside = []
    for at in range(0, speech.samples - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        beside.append(kitchen.probability(speech.cut(at, at + FRAME_SAMPLES)))
        office.probability(silence(0.032))
    assert beside == pytest.approx(alone, abs=1e-4)


async def test_a_reset_detector_is_as_new(world):
    vad, speech = world
    stream = vad.listen()
    first = probabilities(stream, speech)
    stream.reset()
    assert probabilities(stream, speech) == pytest.approx(first, abs=1e-4)


async def test_a_frame_of_another_length_is_a_mistake_of_the_programmer(world):
    vad, _ = world
    with pytest.raises(AssertionError):
        vad.listen().probability(silence(0.01))


async def test_a_new_microphone_hears_nothing_of_one_that_is_gone(world):
    vad, spoken = world
    stream = vad.listen()
    fresh = probabilities(stream, spoken)
    del stream
    assert probabilities(vad.listen(), spoken) == fresh


COME_AND_GO = """
import gc, resource
from pathlib import Path
from atlas import heap
from atlas.speech.vad_silero import Silero

def memory_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6

class Session:
    def __init__(self, vad):
        self.listens, self.microphone = self.listen, vad.listen()  # 2.3 MB, in a circle as a session's are

    def listen(self): ...

vad = Silero()
heap.settle()
gc.disable()  # it may come at any time, and for many objects that stay it does not come at all
before = memory_mb()
for _ in range(4):
    sessions = [Session(vad) for _ in range(20)]
    del sessions
    heap.trim()
print(memory_mb() - before)
"""


def test_the_memory_of_microphones_that_came_and_went_is_given_back():
    # In a process of its own: whatever else runs in this one takes memory too.
    done = subprocess.run([sys.executable, "-c", COME_AND_GO], capture_output=True, text=True, timeout=60)
    assert float(done.stdout) < 20, done.stderr
