"""Wyoming's services, tried by the client of its makers over a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk as WyomingChunk
from wyoming.audio import AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.event import Event
from wyoming.handle import Handled, NotHandled
from wyoming.info import Describe, Info
from wyoming.ping import Ping
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop
from wyoming.wake import Detect

from atlas.audio import AudioChunk, silence
from atlas.config import Config, WyomingConfig
from atlas.conversation import Actor, Utterance
from atlas.errors import ConfigError, EngineError
from atlas.gateway import wyoming_service
from atlas.gateway.wyoming_stages import LEAD_IN
from atlas.speech.stt import MAX_UTTERANCE_SECONDS
from tests.conftest import for_every
from tests.gateway.small_house import SmallHouse, served
from tests.processes import free_port
from tests.scripted_vad import voice


class Client:
    """The makers' client, with a limit on every wait."""

    def __init__(self, client: AsyncTcpClient) -> None:
        self.client = client

    async def send(self, *events: Any) -> None:
        for event in events:
            await self.client.write_event(event if isinstance(event, Event) else event.event())

    async def read(self) -> Event | None:
        with anyio.fail_after(20):
            event: Event | None = await self.client.read_event()
            return event

    async def until(self, *kinds: str) -> list[Event]:
        """Return the events up to the first of these kinds, that one included."""
        events: list[Event] = []
        while not events or events[-1].type not in kinds:
            event = await self.read()
            assert event, f"closed after {[event.type for event in events]}"
            events.append(event)
        return events

    async def is_refused(self, code: str) -> None:
        """The last event is an error with this code, and then the connection is closed: stock clients wait for that."""
        (*_, error) = await self.until("error")
        assert error.data["code"] == code
        assert error.data["text"]
        assert await self.read() is None


@asynccontextmanager
async def served_by_wyoming(config: Config, data: Path, **settings: Any) -> AsyncIterator[tuple[SmallHouse, int]]:
    port = free_port()
    wyoming = WyomingConfig(**{"host": "127.0.0.1", "port": port, "room": "hall"} | settings)
    async with served(replace(config, wyoming=wyoming), data) as small:
        yield small, port


@pytest.fixture
async def wyoming_port(config: Config, data: Path) -> AsyncIterator[int]:
    async with served_by_wyoming(config, data) as (_, port):
        yield port


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Client]:
    async with AsyncTcpClient("127.0.0.1", port) as client:
        yield Client(client)


def chunks(sound: AudioChunk, rate: int = 16_000, channels: int = 1) -> list[Any]:
    step = sound.rate // 10
    cut = [sound.cut(start, start + step) for start in range(0, sound.samples, step)]
    return [WyomingChunk(rate, 2, channels, part.pcm) for part in cut]


def spoken_request(seconds: float = 1.0) -> list[Any]:
    return [Transcribe(language="en"), AudioStart(16_000, 2, 1), *chunks(voice(seconds)), AudioStop()]


async def test_the_house_says_what_it_offers_and_that_it_controls_the_home(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (_, port), connected(port) as client:
        await client.send(Describe())
        info = Info.from_event((await client.until("info"))[-1])
    assert info.asr[0].supports_transcript_streaming
    assert info.asr[0].models[0].languages == ["en"]
    assert info.tts[0].supports_synthesize_streaming
    assert info.wake[0].models[0].name == "okay_nabu"
    assert info.handle[0].supports_home_control
    assert not info.intent, "whoever is given an intent does the deed itself"


async def test_an_utterance_becomes_words_and_its_parts_add_up_to_them(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port), connected(port) as client:
        small.ear.lines = ["turn on the kitchen light"] * 99
        await client.send(*spoken_request(3.0))
        events = await client.until("transcript-stop")
    kinds = [event.type for event in events]
    assert kinds[0] == "transcript-start"
    assert kinds[-2:] == ["transcript", "transcript-stop"]
    assert (
        "".join(event.data["text"] for event in events if event.type == "transcript-chunk") == events[-2].data["text"]
    )


async def test_words_are_told_while_somebody_still_speaks(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port), connected(port) as client:
        small.ear.skims, small.ear.lines = ["turn on", "turn on the kit"], ["turn on the kitchen light"]
        await client.send(Transcribe(), AudioStart(16_000, 2, 1), *chunks(voice(1.0)))
        while len(small.ear.skims) > 1:
            await anyio.lowlevel.checkpoint()
        await client.send(*chunks(voice(1.0)))
        (*_, first) = await client.until("transcript-chunk")
        assert first.data["text"] == "turn", "two readings agree on it, and the word after it was cut"
        await client.send(AudioStop())
        events = await client.until("transcript-stop")
    assert events[0].data["text"] == " on the kitchen light"
    assert events[1].data["text"] == "turn on the kitchen light"


async def test_sound_of_any_rate_and_of_two_channels_is_heard(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port), connected(port) as client:
        small.ear.lines = ["hello"] * 9
        stereo = AudioChunk(bytes(48_000 * 2 * 2), 96_000)  # a second of two channels at 48 kHz
        await client.send(Transcribe(), AudioStart(48_000, 2, 2), *chunks(stereo, 48_000, 2), AudioStop())
        await client.until("transcript-stop")
        assert small.ear.heard[-1].seconds == pytest.approx(1.0 + LEAD_IN.seconds, abs=0.05)


async def test_a_text_is_answered_and_remembered_in_the_rooms_own_talk(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port), connected(port) as client:
        small.chat.words = ("Good ", "evening.")
        context = {"conversation_id": "abc", "device_id": "d"}
        await client.send(Transcript("hello house", context=context, language="en"))
        handled = Handled.from_event((await client.until("handled"))[-1])
        assert (handled.text, handled.context) == ("Good evening.", context)
        await client.send(Transcript("and again"))
        await client.until("handled")
    first, second = small.chat.turns
    assert first.actor == Actor("", "wyoming", "guest", "hall"), "a guest in a room, whatever is claimed"
    assert [message.text for message in second.history] == ["hello house", "Good evening."]


async def test_a_microphone_of_home_assistant_speaks_in_the_room_that_the_settings_say(
    config: Config, data: Path
) -> None:
    rooms = {"assist_satellite.bedside": "bedroom"}
    async with served_by_wyoming(config, data, rooms=rooms) as (small, port), connected(port) as client:
        for satellite in ("assist_satellite.bedside", "assist_satellite.porch", 5):
            await client.send(Transcript("hello house", context={"satellite_id": satellite}))
            await client.until("handled")
    at_the_bed, on_the_porch, nowhere = small.chat.turns
    assert at_the_bed.actor == Actor("", "assist_satellite.bedside", "guest", "bedroom")
    assert on_the_porch.actor == nowhere.actor == Actor("", "wyoming", "guest", "hall")
    assert not on_the_porch.history, "another room's talk"


async def test_what_was_heard_and_comes_back_as_text_keeps_its_other_meanings(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port), connected(port) as client:
        small.house.pick = lambda utterance: replace(utterance, possible=("cancel all timers",), doubtful=True)
        small.ear.lines = ["cancel all tires"] * 9
        await client.send(*spoken_request())
        await client.until("transcript-stop")
        async with connected(port) as other:
            await other.send(Transcript("cancel all tires"))
            await other.until("handled")
            await other.send(Transcript("cancel all tires"))
            await other.until("handled")
    spoken, typed = small.chat.turns
    assert (spoken.possible, spoken.doubtful) == (("cancel all timers",), True)
    assert (typed.possible, typed.doubtful) == ((), False), "the same words once more were typed"


async def test_what_cannot_be_answered_is_said_and_not_an_error(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port), connected(port) as client:
        small.chat.breaks = EngineError("the model is gone", spoken="I can't think just now.")
        await client.send(Transcript("who are you"))
        assert NotHandled.from_event((await client.until("not-handled"))[-1]).text == "I can't think just now."
        await client.send(Transcript("  "))
        await client.until("not-handled")


async def test_a_text_is_said_as_one_stretch_of_sound(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port), connected(port) as client:
        await client.send(Synthesize("It is ten past nine. Good night."))
        events = await client.until("audio-stop")
    assert [events[0].type, events[-1].type] == ["audio-start", "audio-stop"]
    assert {event.type for event in events[1:-1]} == {"audio-chunk"}
    assert events[0].data["rate"] == small.voice.rate
    sound = sum(len(event.payload or b"") for event in events) / 2 / small.voice.rate
    assert sound == pytest.approx(0.7, abs=0.01)


async def test_a_text_that_is_still_written_is_said_sentence_by_sentence(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port), connected(port) as client:
        await client.send(SynthesizeStart(), SynthesizeChunk("It is ten "), SynthesizeChunk("past nine. And"))
        await client.until("audio-chunk")
        assert [text for text, _ in small.voice.texts] == ["It is ten past nine."], "before the rest is known"
        await client.send(SynthesizeChunk(" so to bed."), Synthesize("It is ten past nine. And so to bed."))
        await client.send(SynthesizeStop())
        events = await client.until("synthesize-stopped")
    assert [text for text, _ in small.voice.texts] == ["It is ten past nine.", "And so to bed."], "and nothing twice"
    assert events[-2].type == "audio-stop"


async def test_a_wake_word_is_told_and_its_absence_too(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port), connected(port) as client:

        class Woken:
            said_on_seconds = score = threshold = 0.0

            def hear(self, chunk: AudioChunk) -> str | None:
                return "okay nabu" if any(chunk.pcm) else None

            def reset(self) -> None: ...

        small.house.wake.listen = lambda *given: Woken()  # type: ignore[method-assign]
        await client.send(Detect(), AudioStart(16_000, 2, 1), *chunks(silence(0.3)), AudioStop())
        await client.until("not-detected")
        await client.send(WyomingChunk(16_000, 2, 1, voice(0.1).pcm, timestamp=400))
        detection = (await client.until("detection"))[-1].data
        assert (detection["name"], detection["timestamp"]) == ("okay_nabu", 400)
        await client.send(Detect(names=["hey_jarvis"]), *chunks(voice(0.1)), AudioStop())
        await client.until("not-detected")


async def test_a_ping_is_answered_and_what_nobody_knows_is_passed_over(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (_, port), connected(port) as client:
        await client.send(Event("from-the-future", {"x": 1}), Ping("are you there"))
        assert (await client.until("pong"))[-1].data == {"text": "are you there"}


@for_every(
    ("sent", "code"),
    [
        (b"x" * 20_000 + b"\n", "message_too_large"),
        (b'{"type": "ping", "data_length": 300000000}\n', "invalid_value"),
        (b'{"type": "audio-chunk", "payload_length": 99999999999999}\n', "invalid_value"),
        (b'{"type": "audio-chunk", "payload_length": -1}\n', "invalid_value"),
        (b'{"type": "ping", "data_length": "12"}\n', "invalid_type"),
        (b"not json\n", "invalid_json"),
        (b"[" * 15_000 + b"\n", "invalid_json"),
        (b"[1]\n", "invalid_json"),
        (b"{}\n", "missing_field"),
        (b'{"type": 7}\n', "invalid_type"),
        (b'{"type": "synthesize", "data": [1]}\n', "invalid_json"),
        (b'{"type": "synthesize", "data": {"text": 5}}\n', "invalid_type"),
        (b'{"type": "synthesize"}\n', "missing_field"),
        (b'{"type": "synthesize-chunk", "data": {"text": "x"}}\n', "invalid_order"),
        (b'{"type": "transcribe", "data": {"language": "fr"}}\n', "unsupported_language"),
        (b'{"type": "detect", "data": {"names": "all"}}\n', "invalid_type"),
        (b'{"type": "audio-chunk"}\n', "invalid_order"),
        (b'{"type": "transcribe"}\n{"type": "audio-chunk", "payload_length": 3}\nabc', "invalid_value"),
        (b'{"type": "transcribe"}\n{"type": "audio-chunk", "data": {"rate": 7}}\n', "invalid_value"),
        (b'{"type": "transcribe"}\n{"type": "audio-chunk", "data": {"width": 4}}\n', "invalid_value"),
        (b'{"type": "transcript", "data": {"text": "x", "context": 3}}\n', "invalid_type"),
    ],
)
async def test_what_is_no_event_is_refused_by_name_and_the_house_goes_on(
    wyoming_port: int, sent: bytes, code: str
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", wyoming_port)
    writer.write(sent)
    with anyio.fail_after(20):
        header = json.loads(await reader.readline())
        error = json.loads(await reader.readexactly(header["data_length"]))
        assert (header["type"], error["code"]) == ("error", code)
        assert await reader.read() == b"", "closed"
    writer.close()
    async with connected(wyoming_port) as client:
        await client.send(Ping("still there"))
        await client.until("pong")


async def test_an_utterance_that_does_not_end_is_refused(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (_, port), connected(port) as client:
        # Its last chunk alone is too much: a connection that is closed with sound unread ends in a reset.
        too_long = silence(MAX_UTTERANCE_SECONDS - LEAD_IN.seconds + 0.05)
        await client.send(Transcribe(), AudioStart(16_000, 2, 1), *chunks(too_long))
        await client.is_refused("audio_too_long")


async def test_a_recogniser_that_is_gone_is_said_and_the_next_connection_may_work(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port):
        small.ear.trouble = EngineError("no recogniser", spoken="I can't hear just now.")
        async with connected(port) as client:
            await client.send(*spoken_request(0.5))
            await client.is_refused("server_error")
        small.ear.trouble = None
        small.ear.lines = ["hello"]
        async with connected(port) as client:
            await client.send(*spoken_request(0.5))
            assert (await client.until("transcript"))[-1].data["text"] == "hello"


async def test_a_mistake_of_ours_ends_one_connection_and_not_the_house(config: Config, data: Path) -> None:
    async with served_by_wyoming(config, data) as (small, port):
        small.house.pick = lambda utterance: Utterance("", 1 / 0)
        async with connected(port) as client:
            await client.send(*spoken_request(0.5))
            with anyio.fail_after(20):
                while await client.read():
                    pass
        async with connected(port) as client:
            await client.send(Ping("still there"))
            await client.until("pong")


async def test_who_says_nothing_is_sent_away(config: Config, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wyoming_service, "IDLE_SECONDS", 0.05)
    async with served_by_wyoming(config, data) as (_, port), connected(port) as client:
        await client.is_refused("idle")


async def test_more_connections_than_a_house_needs_are_refused_while_all_have_work(
    config: Config, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wyoming_service, "CONNECTIONS_OF_ADDRESS", 1)
    async with served_by_wyoming(config, data) as (_, port):
        async with connected(port) as first:
            await first.send(Detect(), Ping())
            await first.until("pong")
            async with connected(port) as second:
                await second.is_refused("rate_limit_exceeded")
        answers: list[str] = []
        while "pong" not in answers:  # its place is free once the house has noticed that the first is gone
            async with connected(port) as third:
                await third.send(Ping())
                answers += [event.type for event in [await third.read()] if event]


@pytest.mark.parametrize("limit", ["CONNECTIONS_OF_ADDRESS", "CONNECTIONS"])
async def test_who_only_holds_places_loses_them_to_who_asks_for_something(
    config: Config, data: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(wyoming_service, limit, 2)
    monkeypatch.setattr(wyoming_service, "SILENT_SECONDS", 0.0)
    async with served_by_wyoming(config, data) as (_, port), connected(port) as idle, connected(port) as half:
        await idle.send(Ping())
        await idle.until("pong")
        await half.send(Detect(), Ping())  # and then no sound
        await half.until("pong")
        async with connected(port) as client, connected(port) as other:
            await idle.is_refused("idle")
            await half.is_refused("idle")
            for one in (client, other):
                await one.send(Ping("in their places"))
                await one.until("pong")


async def test_an_address_that_is_every_interface_is_refused(config: Config, data: Path) -> None:
    with pytest.RaisesGroup(ConfigError, flatten_subgroups=True, allow_unwrapped=True):
        async with served_by_wyoming(config, data, host="0.0.0.0"):
            pass
