"""Voice devices of ESPHome that the house calls: what they tell it, and what they are told, over a real connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from aioesphomeapi import VoiceAssistantCommandFlag, api_pb2

from atlas.audio import silence
from atlas.bell import Ringing, spoken_to_any
from atlas.config import AgentConfig, Config, EsphomeConfig, EsphomeDeviceConfig
from atlas.conversation import Actor
from atlas.errors import ConfigError, EngineError
from atlas.gateway import esphome_devices, esphome_sounds
from atlas.gateway.esphome_link import linked
from atlas.gateway.esphome_sounds import FetchedFormat, SoundServer
from tests.conftest import for_every
from tests.gateway.esphome_device import ATOM_ECHO, KEY, OLD, Device, decoded, listening
from tests.gateway.small_house import SmallHouse, small_house
from tests.scripted_vad import voice

HERE = EsphomeConfig("127.0.0.1", 0)


@asynccontextmanager
async def connected(
    config: Config, data: Path, device: Device, **settings: Any
) -> AsyncIterator[tuple[SmallHouse, Device]]:
    if device.key:
        (data / "key").write_text(f"{device.key}\n")
        settings["key_file"] = str(data / "key")
    async with listening(device) as port, small_house(config, data) as small, anyio.create_task_group() as tasks:
        sounds = SoundServer(HERE)
        await tasks.start(sounds.serve)
        here = EsphomeDeviceConfig("127.0.0.1", port, device="kitchen voice", room="kitchen", **settings)
        tasks.start_soon(esphome_devices.call, small.house, here, sounds)
        with anyio.fail_after(20):
            await small.house._speakers.someone()
        yield small, device
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("key", ["", KEY], ids=["plain", "encrypted"])
async def test_a_device_is_heard_and_answered_aloud(config: Config, data: Path, key: str) -> None:
    async with connected(config, data, Device(key=key)) as (small, device):
        small.ear.lines = ["what colour is the sky"]
        await device.asks()
        assert (await device.until_told("STT_END")) == {"text": "what colour is the sky"}
        assert (await device.until_told("TTS_START")) == {"text": "The sky is blue."}
        await device.until_told("RUN_END")
    assert device.events == [
        *("RUN_START", "STT_START", "STT_VAD_START", "STT_VAD_END", "STT_END", "INTENT_START"),
        *("TTS_START", "TTS_END", "INTENT_END", "RUN_END"),
    ]
    (turn,) = small.chat.turns
    assert turn.actor == Actor("", "kitchen voice", "satellite", "kitchen")
    assert turn.wake_word == "okay nabu"
    (sound,) = device.played
    assert (sound.rate, sound.seconds) == (small.voice.rate, pytest.approx(0.4, abs=0.01))


async def test_sound_comes_as_the_device_wants_it(config: Config, data: Path) -> None:
    async with connected(config, data, Device(formats=(("mp3", 44_100), ("flac", 48_000)))) as (small, device):
        small.ear.lines = ["what colour is the sky"]
        await device.asks()
        await device.until_told("RUN_END")
    (sound,) = device.played
    assert (sound.rate, sound.seconds) == (48_000, pytest.approx(0.4, abs=0.05))


async def test_a_device_without_a_player_takes_sound_over_its_connection(config: Config, data: Path) -> None:
    async with connected(config, data, Device(features=ATOM_ECHO)) as (small, device):
        small.ear.lines = ["what colour is the sky"]
        await device.asks()
        await device.until_told("TTS_STREAM_START")
        await device.until_told("TTS_STREAM_END")
        await device.until_told("RUN_END")
        assert not await small.house.announce("kitchen voice", "Dinner is ready."), "it cannot, and nobody believes it"
    assert len(device.streamed) / 2 / 16_000 == pytest.approx(0.4, abs=0.01)


async def test_a_wake_word_chooses_the_agent(config: Config, data: Path) -> None:
    agents = {**config.agents, "work": AgentConfig(memory="work.db", wake_words=("hey_jarvis",))}
    async with connected(replace(config, agents=agents), data, Device()) as (small, device):
        small.ear.lines = ["what is next", "and now"]
        await device.asks("Hey Jarvis")
        await device.until_told("RUN_END")
        await device.asks("Okay Nabu")
        await device.until_told("RUN_END")
        assert small.house.memory_of("work", Actor("", "kitchen voice", "satellite", "kitchen"))
    assert [turn.wake_word for turn in small.chat.turns] == ["hey jarvis", "okay nabu"]


async def test_a_device_listens_for_the_wake_words_of_the_settings(
    config: Config, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("hey_jarvis", "hey atlas", "alexa")
    async with connected(config, data, Device(), wake_words=words) as (_, device):
        told = await device.until(api_pb2.VoiceAssistantSetConfiguration)
    assert list(told.active_wake_words) == ["hey_jarvis", "alexa"]


async def test_after_a_question_the_device_listens_again_by_itself(config: Config, data: Path) -> None:
    async with connected(config, data, Device()) as (small, device):
        small.ear.lines = ["turn on the lamp", "the small one"]
        small.chat.words = ("Which lamp?",)
        await device.asks("Hey Jarvis")
        assert (await device.until_told("INTENT_END"))["continue_conversation"] == "1"
        await device.until(api_pb2.VoiceAssistantResponse)  # to what it began when it had played the question
        small.chat.words = ("Done.",)
        device.hears(voice(1.0), silence(1.0))
        assert (await device.until_told("INTENT_END"))["continue_conversation"] == "0"
    assert [(turn.text, turn.wake_word) for turn in small.chat.turns] == [
        ("turn on the lamp", "hey jarvis"),
        ("the small one", "hey jarvis"),
    ]


async def test_an_announcement_is_over_when_it_was_played(config: Config, data: Path) -> None:
    async with connected(config, data, Device()) as (small, device):
        assert await small.house.announce("kitchen voice", "Dinner is ready.")
        message = await device.until(api_pb2.VoiceAssistantAnnounceRequest)
        assert (message.text, message.start_conversation) == ("Dinner is ready.", False)
        assert device.played[0].seconds == pytest.approx(0.3, abs=0.01)
        device.plays = False
        assert not await small.house.announce("kitchen voice", "Dinner is cold."), "nobody fetched it"


async def test_who_is_asked_by_the_house_can_answer_without_a_wake_word(config: Config, data: Path) -> None:
    async with connected(config, data, Device()) as (small, device):
        small.ear.lines = ["yes please"]
        assert await small.house.announce("kitchen voice", "Shall I close the shutters?")
        assert (await device.until(api_pb2.VoiceAssistantAnnounceRequest)).start_conversation
        await device.until(api_pb2.VoiceAssistantResponse)
        device.hears(voice(1.0), silence(1.0))
        await device.until_told("RUN_END")
    assert [turn.text for turn in small.chat.turns] == ["yes please"]


async def test_a_wake_word_over_the_answer_stops_it(config: Config, data: Path) -> None:
    async with connected(config, data, Device()) as (small, device):
        small.ear.lines = ["tell me a story", "what colour is the sky"]
        small.chat.endless = True
        await device.asks()
        await device.until_told("TTS_END")
        device.send(api_pb2.VoiceAssistantRequest(start=True, wake_word_phrase="Okay Nabu"))
        with anyio.fail_after(20):
            await small.chat.cancelled.wait()
        small.chat.endless = False
        device.hears(voice(1.0), silence(1.0))
        await device.until_told("STT_END")
        await device.until_told("RUN_END")
    assert [turn.text for turn in small.chat.turns] == ["tell me a story", "what colour is the sky"]
    assert device.events.count("RUN_END") == 1, "the run that was broken off is not ended: that would end the new one"


async def test_of_two_devices_that_hear_one_wake_word_one_answers(config: Config, data: Path) -> None:
    kitchen, hall = Device(), Device()
    async with (
        connected(config, data, kitchen) as (small, _),
        listening(hall) as port,
        anyio.create_task_group() as tasks,
    ):
        there = EsphomeDeviceConfig("127.0.0.1", port, device="hall voice", room="hall")
        tasks.start_soon(esphome_devices.call, small.house, there, None)
        await hall.until(api_pb2.SubscribeVoiceAssistantRequest)
        with anyio.fail_after(20):
            while not small.house._speakers.on("hall voice"):  # noqa: ASYNC110
                await anyio.sleep(0.02)
        small.ear.lines = ["what colour is the sky", "what colour is the sky"]
        await kitchen.asks()
        await hall.asks()
        assert (await hall.until_told("ERROR"))["code"] == "duplicate_wake_up_detected"
        await kitchen.until_told("RUN_END")
        tasks.cancel_scope.cancel()
    assert [turn.actor.room for turn in small.chat.turns] == ["kitchen"]
    assert "STT_START" not in hall.events


async def test_a_press_of_the_devices_button_stops_the_answer(config: Config, data: Path) -> None:
    async with connected(config, data, Device()) as (small, device):
        small.ear.lines = ["tell me a story"]
        small.chat.endless = True
        await device.asks()
        await device.until_told("TTS_END")
        device.send(api_pb2.VoiceAssistantRequest(start=False))
        await device.until_told("RUN_END")
        with anyio.fail_after(20):
            await small.chat.cancelled.wait()


async def test_a_device_that_hangs_up_in_the_middle_of_a_sound_was_silenced(config: Config, data: Path) -> None:
    async with connected(config, data, Device(breaks_off=True)) as (small, device):
        small.ear.lines = ["tell me a story"]
        small.chat.endless = True
        began = anyio.current_time()
        await device.asks()
        await device.until_told("RUN_END")
        with anyio.fail_after(20):
            await small.chat.cancelled.wait()
        assert small.house._speakers.attended_at("kitchen voice") > began


async def test_a_button_that_is_let_go_ends_what_was_said(config: Config, data: Path) -> None:
    async with connected(config, data, Device()) as (small, device):
        small.ear.lines = ["what colour is the sky"]
        device.send(api_pb2.VoiceAssistantRequest(start=True))
        device.hears(voice(1.0))
        await device.until_told("STT_VAD_START")
        device.send(api_pb2.VoiceAssistantAudio(end=True))
        assert (await device.until_told("STT_END")) == {"text": "what colour is the sky"}
        await device.until_told("RUN_END")
    assert len(small.chat.turns) == 1


async def test_who_says_nothing_is_not_listened_to_for_ever(config: Config, data: Path) -> None:
    async with connected(config, data, Device()) as (small, device):
        device.send(api_pb2.VoiceAssistantRequest(start=True, wake_word_phrase="Okay Nabu"))
        device.hears(silence(12.0), step=8_192)
        assert (await device.until_told("ERROR"))["code"] == "stt-no-text-recognized"
        await device.until_told("RUN_END")
    assert small.chat.turns == []


async def test_one_without_a_wake_word_of_its_own_is_woken_by_the_house(config: Config, data: Path) -> None:
    async with connected(config, data, Device()) as (small, device):
        await device.asks("", int(VoiceAssistantCommandFlag.USE_WAKE_WORD))
        await device.until_told("WAKE_WORD_START")
        assert small.ear.heard == [], "nobody has said the wake word"
        assert small.chat.turns == []


async def test_a_device_shows_the_timers_of_its_room(config: Config, data: Path) -> None:
    timer = {
        "id": "t1",
        "name": "pasta",
        "state": "running",
        "seconds": 600,
        "left_seconds": 599.6,
        "ends_at": 1_000.0,
        "room": "kitchen",
    }
    async with connected(config, data, Device()) as (small, device):
        small.house._speakers.show([timer])
        kind, message = await device.until_timer()
        assert (kind, message.name, message.total_seconds, message.seconds_left) == ("STARTED", "pasta", 600, 600)
        assert message.is_active
        small.house._speakers.show([{**timer, "state": "paused", "left_seconds": 300.0}])
        kind, message = await device.until_timer()
        assert (kind, message.seconds_left, message.is_active) == ("UPDATED", 300, False)
        small.house._speakers.show([])
        assert (await device.until_timer())[0] == "CANCELLED"


async def test_a_timer_that_has_ended_is_named_first_and_rings_on_its_device_then(config: Config, data: Path) -> None:
    timer = {"id": "t1", "name": "pasta", "seconds": 600, "left_seconds": 2.0, "ends_at": 1_000.0, "room": "kitchen"}
    async with connected(config, data, Device()) as (small, device):
        small.house._speakers.show([{**timer, "state": "running"}])
        small.house._speakers.show([{**timer, "state": "running", "left_seconds": 1.0}])
        assert (await device.until_timer())[0] == "STARTED"
        small.house._speakers.show([{**timer, "state": "ended", "left_seconds": 0.0}])
        began = anyio.current_time()
        speakers = small.house._speakers.on("kitchen voice")
        assert await spoken_to_any(speakers, "The pasta timer has ended.", Ringing("t1", "timer"))
        await device.until(api_pb2.VoiceAssistantAnnounceRequest)
        assert (await device.until_timer())[0] == "FINISHED"
        assert small.house._speakers.attended_at("kitchen voice") >= began, "so nobody rings it again"


async def test_a_device_that_comes_back_is_called_again(config: Config, data: Path) -> None:
    async with connected(config, data, Device()) as (small, device):
        device.hang_up()
        with anyio.fail_after(20):
            while device.calls < 2:  # noqa: ASYNC110
                await anyio.sleep(0.02)
        await device.until(api_pb2.SubscribeVoiceAssistantRequest)
        small.ear.lines = ["hello"]
        await device.asks()
        await device.until_told("RUN_END")
    assert [turn.text for turn in small.chat.turns] == ["hello"]


@pytest.mark.parametrize(
    ("device", "key", "hint"),
    [
        (Device(key=KEY), "", "set key_file"),
        (Device(key=KEY), KEY[:-4] + "AAA=", "is not the device's"),
        (Device(key=KEY), "short", "is not the device's"),
        (Device(), KEY, "leave key_file out"),
        (Device(features=OLD), "", "2024.4"),
        (Device(features=OLD ^ OLD), "", "voice_assistant"),
    ],
    ids=["no key", "wrong key", "half a key", "not encrypted", "sound by UDP", "no voice device"],
)
async def test_what_is_wrong_with_a_device_is_told_with_a_hint(data: Path, device: Device, key: str, hint: str) -> None:
    (data / "key").write_text(key)
    async with listening(device) as port:
        settings = EsphomeDeviceConfig("127.0.0.1", port, str(data / "key") if key else "", "kitchen voice")
        with pytest.raises(EngineError) as trouble:
            async with linked(settings):
                pass
    assert hint in trouble.value.hint


async def test_a_key_that_is_not_there_is_told_by_its_file(data: Path) -> None:
    with pytest.raises(ConfigError, match="kitchen voice"):
        async with linked(EsphomeDeviceConfig("127.0.0.1", 1, str(data / "none"), "kitchen voice")):
            pass


async def test_a_sound_is_handed_out_once_and_only_at_its_own_address() -> None:
    server = SoundServer(HERE)
    async with anyio.create_task_group() as tasks, httpx2.AsyncClient() as client:
        await tasks.start(server.serve)
        url, sound = server.offer(FetchedFormat())
        assert (await client.get(url.replace(".wav", "x.wav"))).status_code == 404
        assert (await client.head(url)).status_code == 405
        sound.feed(voice(0.5))
        sound.finish()
        answer = await client.get(url)
        assert answer.headers["content-type"] == "audio/wav"
        assert decoded(answer.content).pcm == voice(0.5).pcm
        assert (await client.get(url)).status_code == 404, "once"
        tasks.cancel_scope.cancel()


async def test_while_the_house_thinks_a_device_that_fetches_is_sent_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(esphome_sounds, "GAP_SECONDS", 0.01)
    _, sound = SoundServer(HERE).offer(FetchedFormat())
    sound.feed(voice(0.1))
    header = len(await sound.next_piece()) - len(voice(0.1).pcm)
    assert header == 44
    assert set(await sound.next_piece()) == {0}, "or it would give up after a few seconds"
    sound.finish()
    assert await sound.next_piece() == b""


@for_every("strangers", [["127.0.0.2"], [f"127.0.0.{n}" for n in range(2, 7)]])
async def test_idle_connections_of_strangers_keep_no_device_from_its_sound(strangers: list[str]) -> None:
    server = SoundServer(HERE)
    async with anyio.create_task_group() as tasks, AsyncExitStack() as stack:
        await tasks.start(server.serve)
        url, sound = server.offer(FetchedFormat())
        sound.feed(voice(0.5))
        sound.finish()
        idle = []
        for number in range(2 * esphome_sounds.CONNECTIONS):
            local = strangers[number % len(strangers)]
            stranger = await anyio.connect_tcp("127.0.0.1", server.port, local_host=local)
            idle.append(await stack.enter_async_context(stranger))
        with anyio.fail_after(3), pytest.raises(anyio.EndOfStream):  # well before a request has to be whole
            await idle[0].receive()
        async with httpx2.AsyncClient() as client:
            assert (await client.get(url)).status_code == 200
        tasks.cancel_scope.cancel()


async def test_a_sound_that_nobody_fetches_is_gone_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(esphome_sounds, "UNFETCHED_SECONDS", -1.0)
    server = SoundServer(HERE)
    async with anyio.create_task_group() as tasks, httpx2.AsyncClient() as client:
        await tasks.start(server.serve)
        url, _ = server.offer(FetchedFormat())
        assert (await client.get(url)).status_code == 404
        tasks.cancel_scope.cancel()


async def test_sounds_are_never_served_everywhere() -> None:
    with pytest.raises(ConfigError, match="every interface"):
        await SoundServer(EsphomeConfig("0.0.0.0", 0)).serve()


@for_every(
    "head",
    [b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: " + b"x" * 20_000, b"\x16\x03\x01 hello\r\n\r\n"],
)
async def test_a_request_without_end_or_sense_is_refused(head: bytes) -> None:
    server = SoundServer(HERE)
    async with anyio.create_task_group() as tasks:
        port = await tasks.start(server.serve)
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(head)
            with anyio.fail_after(20):
                answer = await stream.receive()
        assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))
        tasks.cancel_scope.cancel()
