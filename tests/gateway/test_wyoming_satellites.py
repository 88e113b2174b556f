"""Satellites that the house calls: what they tell it, and what they are told, over a real connection."""

from __future__ import annotations

import asyncio
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from wyoming.audio import AudioChunk as WyomingChunk
from wyoming.event import Event, async_read_event, async_write_event
from wyoming.info import Attribution, Info, WakeModel, WakeProgram
from wyoming.ping import Pong
from wyoming.snd import Played
from wyoming.wake import Detection

from atlas.audio import AudioChunk, silence
from atlas.config import AgentConfig, Config, WyomingSatelliteConfig
from atlas.conversation import Actor, Turn
from atlas.gateway import wyoming_satellites
from atlas.gateway.timer_changes import timer_changes
from atlas.voice import wake_arbitration
from tests.conftest import for_every
from tests.gateway.small_house import SmallHouse, small_house
from tests.processes import free_port, until
from tests.scripted_vad import voice
from tests.scripted_wake import ScriptedWake

SOUND = {"rate": 16_000, "width": 2, "channels": 1}


class Satellite:
    """A satellite in the makers' words: it listens, and what calls it is the house."""

    def __init__(self) -> None:
        self.messages: list[Event] = []
        self.calls = 0
        self.plays = True  # it says when it has played something
        self._read = 0
        self._news = anyio.Event()
        self._writer: asyncio.StreamWriter | None = None

    async def called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        self._writer = writer
        with suppress(ConnectionError):  # the house hung up
            while event := await async_read_event(reader):
                self.messages.append(event)
                self._news.set()
                self._news = anyio.Event()
                if event.type == "ping":
                    await self.send(Pong())
                if event.type == "audio-stop" and self.plays:
                    await self.send(Played())

    async def send(self, *events: Any) -> None:
        assert self._writer
        for event in events:
            await async_write_event(event if isinstance(event, Event) else event.event(), self._writer)

    async def until(self, kind: str) -> Event:
        """Return the next event of this kind that was not waited for yet."""
        with anyio.fail_after(20):
            while True:
                for place in range(self._read, len(self.messages)):
                    if self.messages[place].type == kind:
                        self._read = place + 1
                        return self.messages[place]
                self._read = len(self.messages)
                await self._news.wait()

    async def hears(self, *sounds: AudioChunk) -> None:
        for sound in sounds:
            step = 1_024
            for start in range(0, sound.samples, step):
                await self.send(WyomingChunk(**SOUND, audio=sound.cut(start, start + step).pcm))

    async def asks(self, **pipeline: Any) -> None:
        """Somebody has said its wake word, and a second of something else."""
        await self.send(Event("run-pipeline", {"start_stage": "asr", "end_stage": "tts", **pipeline}))
        await self.hears(voice(1.0), silence(1.0))

    def hang_up(self) -> None:
        assert self._writer
        self._writer.close()


@asynccontextmanager
async def connected(config: Config, data: Path) -> AsyncIterator[tuple[SmallHouse, Satellite]]:
    async with small_house(config, data) as small, called(small, "kitchen") as satellite:
        yield small, satellite


@asynccontextmanager
async def called(small: SmallHouse, room: str) -> AsyncIterator[Satellite]:
    satellite, port = Satellite(), free_port()
    settings = WyomingSatelliteConfig("127.0.0.1", port, f"{room} satellite", room)
    async with anyio.create_task_group() as tasks:
        server = await asyncio.start_server(satellite.called, "127.0.0.1", port)
        tasks.start_soon(wyoming_satellites.call, small.house, settings)
        await satellite.until("describe")
        with anyio.fail_after(20):
            await small.house._speakers.someone()
        yield satellite
        tasks.cancel_scope.cancel()
        server.close()


async def test_a_satellite_that_hears_its_own_wake_word_is_answered_aloud(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, satellite):
        small.ear.lines = ["what colour is the sky"]
        await satellite.asks()
        await satellite.until("voice-started")
        assert (await satellite.until("transcript")).data["text"] == "what colour is the sky"
        start = await satellite.until("audio-start")
        assert (start.data["rate"], start.data["width"], start.data["channels"]) == (small.voice.rate, 2, 1)
        await satellite.until("audio-stop")
    (turn,) = small.chat.turns
    assert turn.actor == Actor("", "kitchen satellite", "satellite", "kitchen")
    assert turn.spoken
    sound = sum(len(event.payload or b"") for event in satellite.messages) / 2 / small.voice.rate
    assert sound == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(
    ("events", "pipeline"),
    [
        ([Detection("hey_jarvis")], {}),
        ([], {"wake_word_name": "hey_jarvis_v0.1"}),
        ([], {"name": "hey_jarvis"}),
        ([], {"name": "work"}),
    ],
    ids=[
        "detection",
        "wake word of the pipeline",
        "pipeline named like the wake word",
        "pipeline named like the agent",
    ],
)
async def test_a_wake_word_chooses_the_agent(
    config: Config, data: Path, events: list[Any], pipeline: dict[str, str]
) -> None:
    agents = {**config.agents, "work": AgentConfig(memory="work.db", wake_words=("hey_jarvis",))}
    async with connected(replace(config, agents=agents), data) as (small, satellite):
        small.ear.lines = ["what is next", "and now"]
        await satellite.send(*events)
        await satellite.asks(**pipeline)
        await satellite.until("audio-stop")
        first = small.house.memory_of("work", Actor("", "kitchen satellite", "satellite", "kitchen"))
        assert [turn.text for turn in small.chat.turns] == ["what is next"]
        await satellite.send(Detection("okay_nabu"))
        await satellite.asks()
        await satellite.until("audio-stop")
    jarvis, nabu = small.chat.turns
    assert first
    assert (jarvis.wake_word == "hey jarvis") or jarvis.agent == "work"
    assert (nabu.wake_word, nabu.agent) == ("okay nabu", "")


async def test_a_wake_words_phrase_is_what_the_satellite_says_it_is(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, satellite):
        ours = {"attribution": Attribution("", ""), "installed": True, "description": None, "version": None}
        model = WakeModel(name="hj_7", languages=["en"], phrase="Hey Jarvis", **ours)
        small.ear.lines = ["what is next"]
        await satellite.send(Info(wake=[WakeProgram(name="w", models=[model], **ours)]))
        await satellite.send(Detection("hj_7"))
        await satellite.asks()
        await satellite.until("transcript")
        await satellite.until("audio-stop")
    assert small.chat.turns[0].wake_word == "hey jarvis"


async def test_who_says_nothing_after_the_wake_word_is_not_listened_to_for_ever(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, satellite):
        await satellite.send(Event("run-pipeline", {"start_stage": "asr", "end_stage": "tts"}))
        await satellite.hears(silence(12.0))
        assert (await satellite.until("transcript")).data["text"] == "", "which is what makes it stop"
        small.ear.lines = ["hello"]
        await satellite.asks()
        await satellite.until("audio-stop")
    assert [turn.text for turn in small.chat.turns] == ["hello"]


async def test_one_without_a_wake_word_of_its_own_is_woken_by_the_house(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, satellite):
        await satellite.send(Event("run-pipeline", {"start_stage": "wake", "end_stage": "tts"}))
        await satellite.until("detect")
        await satellite.hears(voice(1.0), silence(1.0))
        assert small.ear.heard == [], "nobody has said the wake word"
        assert small.chat.turns == []


async def test_who_wakes_a_satellite_has_heard_what_rings_there(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, satellite):
        assert small.house._speakers.attended_at("kitchen satellite") < 0
        began = anyio.current_time()
        small.ear.lines = ["what colour is the sky"]
        await satellite.asks()
        await satellite.until("audio-stop")
        assert small.house._speakers.attended_at("kitchen satellite") >= began


async def test_of_two_satellites_that_hear_their_wake_word_one_answers(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, kitchen), called(small, "study") as study:
        small.ear.lines = ["what colour is the sky"]
        for satellite in (kitchen, study):
            await satellite.send(Detection("okay_nabu"), Event("run-pipeline", {"start_stage": "asr"}))
        assert (await study.until("transcript")).data["text"] == "", "which is what makes it stop"
        await kitchen.hears(voice(1.0), silence(1.0))
        await kitchen.until("audio-stop")
    assert [turn.actor.room for turn in small.chat.turns] == ["kitchen"]


async def test_a_satellite_that_the_house_wakes_has_the_threshold_and_the_log_of_its_room(
    config: Config, data: Path
) -> None:
    logged = replace(config, data=data, speech=replace(config.speech, near_misses=True))
    async with small_house(logged, data) as small:
        small.house.wake = wake = ScriptedWake("okay nabu")
        async with called(small, "kitchen") as kitchen:
            assert await small.house.wakes.set_threshold("kitchen", "okay nabu", 0.45)
            await kitchen.send(Event("run-pipeline", {"start_stage": "wake", "end_stage": "tts"}))
            await kitchen.until("detect")
            await kitchen.hears(wake.call(loudness=0.4), silence(1.0), wake.call(loudness=0.5), silence(1.0))
            await kitchen.until("detection")
            await until(lambda: len(small.house.wakes.log("kitchen").entries()) == 2)
        heard = [(one.woke, one.threshold) for one in small.house.wakes.log("kitchen").entries()]
        assert heard == [(False, 0.45), (True, 0.45)]


async def test_a_wake_word_over_the_voice_of_the_house_is_noted_at_once(config: Config, data: Path) -> None:
    logged = replace(config, data=data, speech=replace(config.speech, near_misses=True))
    async with small_house(logged, data) as small:
        small.house.wake = wake = ScriptedWake("okay nabu")
        async with called(small, "kitchen") as kitchen, anyio.create_task_group() as tasks:
            await kitchen.send(Event("run-pipeline", {"start_stage": "wake", "end_stage": "tts"}))
            await kitchen.until("detect")
            kitchen.plays = False
            tasks.start_soon(small.house.announce, "kitchen satellite", "dinner is nearly ready " * 5)
            await kitchen.until("audio-start")
            await kitchen.hears(silence(1.0))
            await kitchen.until("audio-stop")
            await kitchen.send(Played())
            tasks.start_soon(small.house.announce, "kitchen satellite", "dinner is ready " * 20)
            await kitchen.until("audio-start")
            await kitchen.hears(wake.call())
            log = small.house.wakes.log("kitchen")
            await until(lambda: len(log.entries()) == 1)
            tasks.cancel_scope.cancel()
        (entry,) = log.entries()
        assert entry.woke
        with wave.open(str(log.clip(entry.id))) as clip:
            assert clip.getnframes() <= wake.call().samples, "nothing of what was heard over the announcement before"


async def test_of_two_satellites_that_the_house_wakes_the_one_that_heard_more_answers(
    config: Config, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wake_arbitration, "WINDOW_SECONDS", 3.0)  # a machine may be busy
    async with small_house(config, data) as small:
        small.house.wake = ScriptedWake("okay nabu")
        async with called(small, "kitchen") as kitchen, called(small, "study") as study:
            small.ear.lines = ["what colour is the sky"]
            for satellite in (kitchen, study):
                await satellite.send(Event("run-pipeline", {"start_stage": "wake", "end_stage": "tts"}))
                await satellite.until("detect")
            word = small.house.wake.call()
            far = np.frombuffer(word.pcm, "<i2") // 2
            await kitchen.hears(AudioChunk(far.astype("<i2").tobytes()), silence(0.1))
            await study.hears(word, silence(0.1))
            await study.until("detection")
            for satellite in (kitchen, study):
                await satellite.hears(voice(1.0), silence(1.0))
            await study.until("audio-stop")
            assert "detection" not in {event.type for event in kitchen.messages}
    assert [turn.actor.room for turn in small.chat.turns] == ["study"]


async def test_an_announcement_is_over_when_it_was_played(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, satellite):
        assert await small.house.announce("kitchen satellite", "Dinner is ready.")
        await satellite.until("audio-stop")
        satellite.plays = False
        assert not await small.house.announce("kitchen satellite", "Dinner is cold."), (
            "it is known to say so, and did not"
        )


async def test_a_satellite_that_hangs_up_in_the_middle_is_called_again(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, satellite):
        small.chat.endless = True
        small.ear.lines = ["tell me everything", "hello"]
        await satellite.asks()
        await satellite.until("audio-start")
        satellite.hang_up()
        await satellite.until("run-satellite")
        assert satellite.calls == 2
        await small.chat.cancelled.wait()
        small.chat.endless = False
        await satellite.asks()
        await satellite.until("audio-stop")


async def test_what_is_no_event_ends_the_connection_and_not_the_house(config: Config, data: Path) -> None:
    async with connected(config, data) as (_, satellite):
        for wrong in (
            Event("audio-chunk", {"rate": 1}),
            Event("detection", {"name": 5}),
            Event("run-pipeline", {"start_stage": ["asr"]}),
        ):
            await satellite.send(Detection("x"), wrong)
            await satellite.until("run-satellite")
        await satellite.send(Event("info", {"wake": [{"models": [{"name": 1}, "x"]}, 7]}), Event("ping", {}))
        await satellite.until("pong")


def timer(**fields: Any) -> dict[str, Any]:
    usual = {"id": "t1", "name": "", "seconds": 600, "left_seconds": 600.0, "state": "running", "ends_at": 1600.0}
    return {"t1": usual | fields}


@for_every(
    ("before", "now", "messages"),
    [
        ({}, timer(name="tea", left_seconds=598.7), [("timer-started", 600)]),
        ({}, timer(left_seconds=300.2), [("timer-started", 300)]),
        ({}, timer(state="paused", ends_at=None, left_seconds=20), [("timer-started", 20), ("timer-updated", 20)]),
        ({}, timer(state="ended"), []),
        (timer(), timer(left_seconds=599), []),
        (timer(), timer(ends_at=1660.0, left_seconds=660), [("timer-updated", 660)]),
        (timer(), timer(state="paused", ends_at=None), [("timer-updated", 600)]),
        (timer(), timer(state="ended", left_seconds=0), [("timer-finished", None)]),
        (timer(state="ended"), {}, []),
        (timer(), {}, [("timer-cancelled", None)]),
    ],
)
def test_satellites_are_told_what_becomes_of_timers(
    before: Any, now: Any, messages: list[tuple[str, int | None]]
) -> None:
    events = [wyoming_satellites.timer_event(change) for change in timer_changes(before, now)]
    assert [(event.type, event.data.get("total_seconds")) for event in events] == messages
    assert {event.data["id"] for event in events} <= {"t1"}


async def test_a_mistake_in_one_connection_ends_that_and_not_the_house(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, satellite):

        async def breaks(turn: Turn) -> bool:
            raise KeyError("a mistake")

        small.chat.prepare = breaks  # type: ignore[method-assign]
        small.ear.lines = ["what colour is the sky"]
        await satellite.asks()
        await satellite.until("run-satellite")
        assert satellite.calls == 2


async def test_a_satellite_that_floods_the_house_with_announcements_has_four_said(config: Config, data: Path) -> None:
    async with connected(config, data) as (_, satellite):
        texts = [f"number {number}" for number in range(500)]
        await satellite.send(*(Event("run-pipeline", {"start_stage": "tts", "announce_text": one}) for one in texts))
        await satellite.send(Event("ping", {"text": "over"}))
        await satellite.until("pong")
        assert len(asyncio.all_tasks()) < 100, "and no task waits for each of the others"
        for _ in range(4):
            await satellite.until("audio-stop")


async def test_a_satellite_is_shown_the_timers_of_its_room(config: Config, data: Path) -> None:
    async with connected(config, data) as (small, satellite):
        tea = timer(name="tea")["t1"]
        here, elsewhere = tea | {"room": "kitchen", "device": "x"}, tea | {"id": "t2", "room": "den", "device": "y"}
        small.house._speakers.show([here, elsewhere])
        started = await satellite.until("timer-started")
        assert (started.data["id"], started.data["name"]) == ("t1", "tea")
        small.house._speakers.show([elsewhere])
        assert (await satellite.until("timer-cancelled")).data["id"] == "t1"
