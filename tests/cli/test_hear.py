from __future__ import annotations

import base64
import dataclasses
import json
import wave
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from atlas.audio import AudioChunk
from atlas.cli import hear
from atlas.cli.keys import prepare_folders, write_secret
from atlas.cli.main import run
from atlas.config import Config, GatewayConfig
from atlas.errors import AtlasError, SoundError

Door = Callable[[ServerConnection], Awaitable[None]]


def tone(seconds: float, rate: int = hear.WIRE_RATE) -> bytes:
    at = np.arange(round(seconds * rate)) / rate
    return (np.sin(2 * np.pi * 220 * at) * 8000).astype("<i2").tobytes()


def write_wav(file: Path, pcm: bytes, rate: int = hear.WIRE_RATE, channels: int = 1) -> Path:
    with wave.open(str(file), "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(pcm)
    return file


@asynccontextmanager
async def door(config: Config, behave: Door) -> Any:
    """A realtime door that behaves as a test wants, and the settings by which it is found."""

    async def handle(socket: ServerConnection) -> None:
        try:
            await behave(socket)
        except ConnectionClosed:
            return

    prepare_folders(config)
    write_secret(config.owner_token, "atlas_owner")
    async with serve(handle, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield dataclasses.replace(config, gateway=GatewayConfig(https_host="", port=port))


async def send(socket: ServerConnection, kind: str, **fields: Any) -> None:
    await socket.send(json.dumps({"type": kind, **fields}))


async def drain(socket: ServerConnection) -> None:
    async for _ in socket:
        pass


SPOKEN = AudioChunk(tone(0.2), hear.WIRE_RATE)
STEPS = round(SPOKEN.seconds / hear.STEP_SECONDS)


async def test_an_answer_is_collected_and_timed_at_its_first_audible_sample(config: Config) -> None:
    async def behave(socket: ServerConnection) -> None:
        while "append" not in await socket.recv():
            pass
        await send(socket, "input_audio_buffer.speech_started")
        for _ in range(15):  # 20 ms each: the whole of what was spoken, and some silence
            await socket.recv()
        await send(socket, "input_audio_buffer.speech_stopped")
        await send(socket, "conversation.item.input_audio_transcription.completed", transcript=" What time is it?")
        call = {"call_id": "call_1", "name": "clock.time"}
        await send(socket, "atlas.tool_started", response_id="r", event_id="e", **call, arguments={"place": "Rome"})
        await send(socket, "atlas.tool_finished", response_id="r", event_id="e", **call, ok=True, text="Noon.")
        quiet_then_loud = bytes(2 * 12_000) + tone(0.1)
        audio = base64.b64encode(quiet_then_loud).decode()
        await send(socket, "response.output_audio_transcript.delta", delta="It's noon.")
        await send(socket, "response.output_audio.delta", delta=audio)
        await send(socket, "atlas.turn", agent="family", reason="default", path="command")
        await send(socket, "atlas.timings", milliseconds={"stt_ms": 60})
        await send(socket, "response.done", response={"status": "completed"})
        await drain(socket)

    async with door(config, behave) as result:
        [one] = await hear.hear(result, SPOKEN)
    details = one.summary()
    assert (details["transcript"], details["reply"], details["path"]) == ("What time is it?", "It's noon.", "command")
    [tool] = details["tools"]
    assert (tool["name"], tool["arguments"], tool["text"]) == ("clock.time", {"place": "Rome"}, "Noon.")
    assert details["timings"]["stt_ms"] == 60
    first = one.first_sound_seconds
    assert first is not None
    arrived = one.sound_at - one.ended_at
    assert first - arrived == pytest.approx(0.5, abs=0.01)  # the half second of silence counts as waiting
    assert 'tool      clock.time {"place": "Rome"} → Noon.' in hear.describe(one)


async def test_an_agent_is_asked_for_by_its_whole_name(config: Config) -> None:
    requests: list[str] = []

    async def behave(socket: ServerConnection) -> None:
        assert socket.request
        requests.extend(parse_qs(urlsplit(socket.request.path).query)["model"])

    async with door(config, behave) as result:
        with pytest.raises(AtlasError, match="hung up"):
            await hear.hear(result, SPOKEN, "nobody & nothing")
    assert requests == ["nobody & nothing"]


async def test_when_nobody_speaks_in_it_that_is_said(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hear, "NOTHING_SECONDS", 0.1)
    async with door(config, drain) as result:
        with pytest.raises(SoundError, match="nobody speak"):
            await hear.hear(result, AudioChunk(bytes(4800), hear.WIRE_RATE))


async def test_speech_without_words_is_not_called_silence(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hear, "NOTHING_SECONDS", 0.1)

    async def behave(socket: ServerConnection) -> None:
        await send(socket, "input_audio_buffer.speech_started")
        await send(socket, "input_audio_buffer.speech_stopped")
        await send(socket, "conversation.item.input_audio_transcription.completed", transcript="")
        await drain(socket)

    async with door(config, behave) as result:
        with pytest.raises(SoundError, match="no words"):
            await hear.hear(result, SPOKEN)


async def test_a_house_that_falls_silent_does_not_keep_anyone_waiting_for_ever(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hear, "WORDS_SECONDS", 0.2)

    async def behave(socket: ServerConnection) -> None:
        await send(socket, "input_audio_buffer.speech_started")
        await drain(socket)

    async with door(config, behave) as result:
        with pytest.raises(AtlasError, match="did not send what it understood"):
            await hear.hear(result, SPOKEN)


async def test_a_house_that_hangs_up_is_one_sentence(config: Config) -> None:
    async def behave(socket: ServerConnection) -> None:
        await socket.recv()
        await socket.close(1011, "oops")

    async with door(config, behave) as result:
        with pytest.raises(AtlasError, match="hung up"):
            await hear.hear(result, SPOKEN)


async def test_without_a_house_it_says_how_to_start_one(config: Config) -> None:
    prepare_folders(config)
    write_secret(config.owner_token, "atlas_owner")
    with pytest.raises(AtlasError, match="does not answer") as nobody:
        await hear.hear(dataclasses.replace(config, gateway=GatewayConfig(https_host="", port=9)), SPOKEN)
    assert "./up" in nobody.value.hint


async def test_measuring_cancels_a_reply_once_it_can_be_heard(config: Config) -> None:
    async def behave(socket: ServerConnection) -> None:
        for _ in range(STEPS):  # what follows answers all that was spoken, so nobody waits for more
            await socket.recv()
        await send(socket, "input_audio_buffer.speech_started")
        await send(socket, "input_audio_buffer.speech_stopped")
        await send(socket, "conversation.item.input_audio_transcription.completed", transcript="Tell me a story")
        await send(socket, "response.output_audio.delta", delta=base64.b64encode(bytes(4800)).decode())
        await send(socket, "response.output_audio.delta", delta=base64.b64encode(tone(0.1)).decode())
        async for frame in socket:
            if "response.cancel" in frame:
                await send(socket, "response.done", response={"status": "cancelled"})

    async with door(config, behave) as result:
        [one] = await hear.hear(result, SPOKEN, first_sound_only=True)
    assert one.status == "cancelled"


# ── files ──────────────────────────────────────────────────────────────────────────────────────────


def test_eight_kilohertz_stereo_is_heard_like_any_other(data: Path) -> None:
    stereo = np.repeat(np.frombuffer(tone(1.0, 8000), np.int16), 2).tobytes()
    sound = hear.read_file(write_wav(data / "phone.wav", stereo, 8000, 2))
    assert sound.rate == hear.WIRE_RATE
    assert sound.seconds == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("empty.wav", b"", "empty"),
        ("letter.wav", b"Dear Sir or Madam, this is a letter." * 50, "not a sound file"),
        ("cut.wav", b"RIFF\x24\x00\x00\x00WAVEfmt ", "cut.wav"),
    ],
)
def test_a_file_that_is_no_sound_is_one_sentence_that_names_it(
    data: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, complaint: str
) -> None:
    (data / name).write_bytes(content)
    assert run(["hear", str(data / name)]) == 1
    message = capsys.readouterr().err
    assert complaint in message
    assert name in message
    assert "Traceback" not in message


def test_a_file_that_is_not_there_is_one_sentence(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hear", str(data / "none.wav")]) == 1
    assert "cannot be read: No such file" in capsys.readouterr().err


def test_ten_minutes_are_too_long_to_be_played(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_wav(data / "long.wav", bytes(2 * 8000 * 600), 8000)
    assert run(["hear", str(file)]) == 1
    assert "lasts 600 s; 60 s is the most" in capsys.readouterr().err


def test_a_wav_without_samples_is_one_sentence(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hear", str(write_wav(data / "none.wav", b""))]) == 1
    assert "none.wav" in capsys.readouterr().err
