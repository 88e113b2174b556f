"""A small device that speaks ESPHome's native API, plain or encrypted: what the house calls is this, in tests."""

from __future__ import annotations

import asyncio
import base64
import io
import wave
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import av
import httpx2
import numpy as np
from aioesphomeapi import VoiceAssistantEventType, VoiceAssistantFeature, VoiceAssistantTimerEventType, api_pb2
from aioesphomeapi.core import MESSAGE_TYPE_TO_PROTO
from cryptography.exceptions import InvalidTag
from noise.connection import NoiseConnection

from atlas.audio import AudioChunk, silence
from tests.scripted_vad import voice

NUMBERS = {kind: number for number, kind in MESSAGE_TYPE_TO_PROTO.items()}
VOICE_PE = (
    VoiceAssistantFeature.VOICE_ASSISTANT
    | VoiceAssistantFeature.API_AUDIO
    | VoiceAssistantFeature.TIMERS
    | VoiceAssistantFeature.ANNOUNCE
    | VoiceAssistantFeature.START_CONVERSATION
)
ATOM_ECHO = VoiceAssistantFeature.VOICE_ASSISTANT | VoiceAssistantFeature.API_AUDIO | VoiceAssistantFeature.SPEAKER
OLD = VoiceAssistantFeature.VOICE_ASSISTANT | VoiceAssistantFeature.SPEAKER
KEY = base64.b64encode(bytes(range(32))).decode()


class Plain:
    """Frames as they are."""

    async def greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def read(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        if await reader.readexactly(1) != b"\x00":
            self._writer.write(b"\x00Bad indicator byte")  # as the firmware does
            raise ConnectionError
        length = await _varint(reader)
        kind = await _varint(reader)
        return kind, await reader.readexactly(length)

    def frame(self, kind: int, data: bytes) -> bytes:
        return b"\x00" + _as_varint(len(data)) + _as_varint(kind) + data


class Encrypted:
    """Frames of Noise_NNpsk0, from the side of the device."""

    def __init__(self, key: str) -> None:
        self._noise = NoiseConnection.from_name(b"Noise_NNpsk0_25519_ChaChaPoly_SHA256")
        self._noise.set_as_responder()
        self._noise.set_psks(base64.b64decode(key))
        self._noise.set_prologue(b"NoiseAPIInit\x00\x00")
        self._noise.start_handshake()

    async def greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (await reader.readexactly(3))[0] != 1:
            writer.write(self._part(b"\x01Bad indicator byte"))  # as the firmware does
            raise ConnectionError
        hello = await self._whole(reader)
        writer.write(self._part(b"\x01device\x00aabbccddeeff\x00"))
        try:
            self._noise.read_message(hello[1:])
        except InvalidTag:
            writer.write(self._part(b"\x01Handshake MAC failure"))
            raise ConnectionError from None
        writer.write(self._part(b"\x00" + self._noise.write_message()))

    async def read(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        data = self._noise.decrypt(await self._whole(reader))
        return int.from_bytes(data[:2], "big"), data[4:]

    def frame(self, kind: int, data: bytes) -> bytes:
        header = kind.to_bytes(2, "big") + len(data).to_bytes(2, "big")
        return self._part(self._noise.encrypt(header + data))

    async def _whole(self, reader: asyncio.StreamReader) -> bytes:
        header = await reader.readexactly(3)
        assert header[0] == 1
        return await reader.readexactly(int.from_bytes(header[1:], "big"))

    def _part(self, data: bytes) -> bytes:
        return b"\x01" + len(data).to_bytes(2, "big") + data


async def _varint(reader: asyncio.StreamReader) -> int:
    value = shift = 0
    while True:
        byte = (await reader.readexactly(1))[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7


def _as_varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


@dataclass(eq=False)
class Device:
    """What it was told, and what its speaker played, in order. It fetches and plays like a real one, in no time."""

    features: VoiceAssistantFeature = VOICE_PE
    key: str = ""
    formats: tuple[tuple[str, int], ...] = ()
    plays: bool = True
    breaks_off: bool = False  # somebody silences it in the middle of a sound
    phrases: tuple[str, ...] = ("Okay Nabu", "Hey Jarvis", "Alexa")
    most_phrases: int = 2
    active: list[str] = field(default_factory=lambda: ["okay_nabu"])
    messages: list[Any] = field(default_factory=list)
    played: list[AudioChunk] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    streamed: bytearray = field(default_factory=bytearray)
    calls: int = 0
    goes_on: bool = False  # it begins to listen anew when it has played
    _read: int = 0
    _news: anyio.Event = field(default_factory=anyio.Event)
    _wire: Any = None
    _writer: asyncio.StreamWriter | None = None
    _players: set[asyncio.Task[None]] = field(default_factory=set)

    async def called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        self._writer, self._wire = writer, Encrypted(self.key) if self.key else Plain()
        with suppress(ConnectionError, asyncio.IncompleteReadError):  # the house hung up, or is wrong
            await self._wire.greet(reader, writer)
            while True:
                kind, data = await self._wire.read(reader)
                self._take(MESSAGE_TYPE_TO_PROTO[kind].FromString(data))
        writer.close()

    def send(self, *messages: Any) -> None:
        assert self._writer
        for message in messages:
            self._writer.write(self._wire.frame(NUMBERS[type(message)], message.SerializeToString()))

    def hang_up(self) -> None:
        """End the connection; what came over it is not waited for any more."""
        assert self._writer
        self._writer.close()
        self._read = len(self.messages)

    def _take(self, message: Any) -> None:
        self.messages.append(message)
        self._news.set()
        self._news = anyio.Event()
        match message:
            case api_pb2.HelloRequest():
                self.send(api_pb2.HelloResponse(api_version_major=1, api_version_minor=10, name="device"))
            case api_pb2.PingRequest():
                self.send(api_pb2.PingResponse())
            case api_pb2.DisconnectRequest():
                self.send(api_pb2.DisconnectResponse())
            case api_pb2.DeviceInfoRequest():
                self.send(api_pb2.DeviceInfoResponse(name="device", voice_assistant_feature_flags=int(self.features)))
            case api_pb2.ListEntitiesRequest():
                self._list()
            case api_pb2.VoiceAssistantConfigurationRequest():
                words = [
                    api_pb2.VoiceAssistantWakeWord(id=phrase.lower().replace(" ", "_"), wake_word=phrase)
                    for phrase in self.phrases
                ]
                self.send(
                    api_pb2.VoiceAssistantConfigurationResponse(
                        available_wake_words=words,
                        active_wake_words=self.active,
                        max_active_wake_words=self.most_phrases,
                    )
                )
            case api_pb2.VoiceAssistantEventResponse(event_type=VoiceAssistantEventType.VOICE_ASSISTANT_TTS_END):
                if not self.features & VoiceAssistantFeature.SPEAKER:
                    self._play(data_of(message)["url"])
            case api_pb2.VoiceAssistantEventResponse(event_type=VoiceAssistantEventType.VOICE_ASSISTANT_INTENT_END):
                self.goes_on = data_of(message).get("continue_conversation") == "1"
            case api_pb2.VoiceAssistantAnnounceRequest():
                self.goes_on = message.start_conversation
                self._play(message.media_id)
            case api_pb2.VoiceAssistantAudio():
                self.streamed += message.data

    def _list(self) -> None:
        forms = [
            api_pb2.MediaPlayerSupportedFormat(format=name, sample_rate=rate, num_channels=1, purpose=1)
            for name, rate in self.formats
        ]
        if forms:
            self.send(api_pb2.ListEntitiesMediaPlayerResponse(object_id="player", key=1, supported_formats=forms))
        self.send(api_pb2.ListEntitiesDoneResponse())

    def _play(self, url: str) -> None:
        self.urls.append(url)
        if self.plays:
            task = asyncio.get_running_loop().create_task(self._fetch(url))
            self._players.add(task)
            task.add_done_callback(self._players.discard)

    async def _fetch(self, url: str) -> None:
        try:
            async with httpx2.AsyncClient() as client:
                if self.breaks_off:
                    async with client.stream("GET", url) as answer:
                        await anext(answer.aiter_bytes(1_000))
                    return
                answer = await client.get(url)
        except httpx2.HTTPError:
            return  # the house went away
        self.played.append(decoded(answer.content))
        self.send(api_pb2.VoiceAssistantAnnounceFinished())  # linux-voice-assistant never says success
        if self.goes_on:
            self.goes_on = False
            self.send(api_pb2.VoiceAssistantRequest(start=True))

    async def until(self, kind: type[Any]) -> Any:
        """Return the next message of this kind that was not waited for yet."""
        with anyio.fail_after(20):
            while True:
                for place in range(self._read, len(self.messages)):
                    if isinstance(self.messages[place], kind):
                        self._read = place + 1
                        return self.messages[place]
                self._read = len(self.messages)
                await self._news.wait()

    async def until_told(self, event: str) -> dict[str, str]:
        """Return the data of the next event of this name."""
        while True:
            message = await self.until(api_pb2.VoiceAssistantEventResponse)
            if name_of(message) == event:
                return data_of(message)

    async def until_timer(self) -> tuple[str, Any]:
        message = await self.until(api_pb2.VoiceAssistantTimerEventResponse)
        return VoiceAssistantTimerEventType(message.event_type).name.removeprefix("VOICE_ASSISTANT_TIMER_"), message

    @property
    def events(self) -> list[str]:
        """The names of all events that it was told."""
        return [name_of(one) for one in self.messages if isinstance(one, api_pb2.VoiceAssistantEventResponse)]

    def hears(self, *sounds: AudioChunk, step: int = 1_024) -> None:
        for sound in sounds:
            for start in range(0, len(sound.pcm), step):
                self.send(api_pb2.VoiceAssistantAudio(data=sound.pcm[start : start + step]))

    async def asks(self, phrase: str = "Okay Nabu", flags: int = 0) -> None:
        """Somebody has said its wake word, and a second of something else."""
        self.send(api_pb2.VoiceAssistantRequest(start=True, wake_word_phrase=phrase, flags=flags))
        await self.until(api_pb2.VoiceAssistantResponse)
        self.hears(voice(1.0), silence(1.0))


def name_of(message: Any) -> str:
    return VoiceAssistantEventType(message.event_type).name.removeprefix("VOICE_ASSISTANT_")


def data_of(message: Any) -> dict[str, str]:
    return {item.name: item.value for item in message.data}


def decoded(data: bytes) -> AudioChunk:
    """What a device hears in a file that it fetched."""
    if data.startswith(b"RIFF"):
        with wave.open(io.BytesIO(data)) as file:
            return AudioChunk(file.readframes(file.getnframes()), file.getframerate())
    with av.open(io.BytesIO(data)) as container:
        rate = container.streams.audio[0].rate
        frames = [frame.to_ndarray().reshape(-1) for frame in container.decode(audio=0)]
    return AudioChunk(np.concatenate(frames).astype(np.int16).tobytes(), rate)


@asynccontextmanager
async def listening(device: Device) -> AsyncIterator[int]:
    """Let the device be called; what it is called at is its port."""
    server = await asyncio.start_server(device.called, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
