"""A whole recording is written down, with the time of each passage."""

from __future__ import annotations

import anyio
import pytest
from anyio import CapacityLimiter

from atlas.audio import AudioChunk, silence
from atlas.engine import open_engine
from atlas.errors import EngineError
from atlas.speech.recording import transcribe_long, whole_text
from tests.scripted_stt import ScriptedStt
from tests.scripted_vad import ScriptedVad, voice


def recording(*parts: AudioChunk) -> AudioChunk:
    return AudioChunk(b"".join(part.pcm for part in parts))


async def test_a_short_recording_is_heard_in_one_piece():
    stt = ScriptedStt(["hello"])
    (passage,) = await transcribe_long(voice(3), stt, ScriptedVad(), CapacityLimiter(1))
    assert (passage.start_seconds, passage.end_seconds, passage.utterance.text) == (0, 3, "hello")


async def test_a_long_recording_is_heard_in_passages_that_know_their_place():
    sound = recording(silence(30), voice(4), silence(30), voice(2), silence(60))
    stt = ScriptedStt(["first we met", "then we parted"])
    passages = await transcribe_long(sound, stt, ScriptedVad(), CapacityLimiter(1))
    assert [round(passage.start_seconds) for passage in passages] == [30, 64]
    assert [round(passage.end_seconds) for passage in passages] == [34, 66]
    assert whole_text(passages) == "first we met then we parted"


async def test_ten_minutes_of_nothing_have_no_words_and_are_not_even_listened_to():
    stt = ScriptedStt()
    assert await transcribe_long(silence(600), stt, ScriptedVad(), CapacityLimiter(1)) == ()
    assert stt.heard == []


async def test_trouble_of_the_recogniser_is_the_callers():
    with pytest.raises(EngineError):
        await transcribe_long(voice(60), ScriptedStt([EngineError("gone")]), ScriptedVad(), CapacityLimiter(1))


async def test_the_house_goes_on_while_a_recording_is_read():
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await anyio.lowlevel.checkpoint()
            ticks += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await transcribe_long(voice(120), ScriptedStt(), ScriptedVad(), CapacityLimiter(1))
        tasks.cancel_scope.cancel()
    assert ticks > 10


@pytest.mark.real
async def test_a_minute_of_real_speech_is_written_down_in_order(config, spoken):
    sentences = [
        "Set a timer for ten minutes.",
        "What is the capital of France?",
        "Is it going to rain tomorrow afternoon?",
    ]
    parts = [part for sentence in sentences for part in (silence(12), spoken(sentence))]
    stt = await open_engine("stt", "faster_whisper", config.speech)
    vad = await open_engine("vad", "silero", config.speech)
    passages = await transcribe_long(recording(*parts, silence(12)), stt, vad, CapacityLimiter(1))
    assert [passage.utterance.text.replace("10", "ten") for passage in passages] == sentences
    assert 11 < passages[0].start_seconds < 12.5
    await stt.aclose()
