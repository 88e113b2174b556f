"""The same session with the engines of a real house: a voice that was made, a recogniser, a detector."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from atlas import trace
from atlas.audio import AudioChunk, silence
from atlas.config import Config
from atlas.conversation import Actor
from atlas.engine import open_engine
from atlas.events import Event, Hush, SpeechOut, SpeechStarted, Transcribed, TurnEnded
from atlas.voice.session import Session
from tests.voice.world import House

pytestmark = pytest.mark.real
CHUNK_SECONDS = 0.04


class Room:
    """A session with real engines, and what it told."""

    def __init__(self, session: Session, house: House, event: list[Event], timings: list[dict[str, int]]) -> None:
        self.session, self.house, self.event, self.timings = session, house, event, timings

    async def hear(self, sound: AudioChunk) -> None:
        """Play `sound` into the microphone at speaking speed."""
        began, heard = anyio.current_time(), 0.0
        step = round(CHUNK_SECONDS * sound.rate)
        for start in range(0, sound.samples, step):
            await self.session.hear(sound.cut(start, start + step))
            heard += CHUNK_SECONDS
            await anyio.sleep_until(began + heard)

    async def until(self, kind: type, count: int = 1) -> None:
        """Keep quiet until this has been told `count` times."""
        with anyio.fail_after(60):
            while sum(isinstance(event, kind) for event in self.event) < count:
                await self.hear(silence(0.2))


@pytest.fixture
async def room(config: Config, models: Path) -> AsyncIterator[Room]:
    settings = replace(config.speech, models=models)
    happening: list[Event] = []
    timings: list[dict[str, int]] = []
    house = House(answer="It is a quarter past three. The sun is still up, and it will be for a while.")

    async def tell(event: Event) -> None:
        happening.append(event)
        if isinstance(event, TurnEnded):
            timings.append(trace.current().milliseconds())

    async with AsyncExitStack() as stack:
        engines = {}
        for role, name in (("stt", settings.stt), ("tts", settings.tts), ("vad", settings.vad)):
            engines[role] = await open_engine(role, name, settings)
            stack.push_async_callback(engines[role].aclose)
        session = Session(
            stt=engines["stt"],
            tts=engines["tts"],
            vad=engines["vad"],
            wake=None,
            actor=Actor("", "kitchen", "adult", "kitchen"),
            reply=house.reply,
            prepare=house.prepare,
            remember=house.remember,
            pick=lambda heard: heard,
            settle_seconds=lambda text: 0.0 if "time" in text.lower() else None,
            goes_on=lambda text: False,
            wants_silence=lambda text: "stop" in text.lower(),
            emit=tell,
        )
        tasks = await stack.enter_async_context(anyio.create_task_group())
        await tasks.start(session.run)
        yield Room(session, house, happening, timings)
        tasks.cancel_scope.cancel()


async def test_a_spoken_question_is_understood_and_answered_aloud(
    room: Room, spoken: Callable[[str], AudioChunk]
) -> None:
    await room.hear(silence(0.5) + spoken("What time is it?"))
    await room.until(TurnEnded)
    assert "time" in room.house.turns[0].text.lower()
    assert sum(event.audio.seconds for event in room.event if isinstance(event, SpeechOut)) > 2.0
    assert {"vad_ms", "stt_ms", "tts_ms", "first_sound_at_ms"} <= set(room.timings[0])


async def test_a_spoken_interruption_stops_the_reply_and_is_answered(
    room: Room, spoken: Callable[[str], AudioChunk]
) -> None:
    await room.hear(silence(0.5) + spoken("Please tell me about the weather."))
    await room.until(SpeechOut, 6)
    await room.hear(spoken("No wait, I want to know something else."))
    await room.until(TurnEnded, 2)
    hushed = [event for event in room.event if isinstance(event, Hush)]
    assert len(hushed) == 1
    assert room.house.answer.startswith(hushed[0].heard)
    assert len(hushed[0].heard) < len(room.house.answer)
    assert "wait" in room.house.turns[1].text.lower() or "else" in room.house.turns[1].text.lower()


async def test_a_quiet_room_is_never_answered(room: Room) -> None:
    import numpy as np

    hiss = np.random.default_rng(7).normal(0, 120, 16_000 * 4).astype("<i2")
    await room.hear(AudioChunk(hiss.tobytes()))
    assert [event for event in room.event if isinstance(event, (SpeechStarted, Transcribed))] == []
