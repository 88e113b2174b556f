"""Who comes to a soaked house: a realtime client, a Wyoming satellite and an app, which also hang up halfway."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count, cycle
from typing import Any

import anyio
import httpx2
from wyoming.audio import AudioChunk as WyomingChunk
from wyoming.event import Event, async_read_event, async_write_event
from wyoming.ping import Pong
from wyoming.snd import Played

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.cli import door
from atlas.cli.hear import STEP_SECONDS, WIRE_RATE, connected, hear
from atlas.config import Config
from atlas.errors import AtlasError
from atlas.speech.resample import resampled
from atlas_bench._rooms import SAID_SHARE

ANSWER_SECONDS = 60.0
TIMER_SECONDS = 8  # rings while the app looks
CUT_EVERY_VISITS = 3  # every third turn of a visitor is cut off
WYOMING_STEP = 1_024
FORMAT = {"rate": HEARING_RATE, "width": 2, "channels": 1}
SECTION = '\n[[wyoming.satellite]]\nhost = "127.0.0.1"\nport = {port}\ndevice = "study satellite"\nroom = "study"\n'


class RealtimeVisitor:
    """A client of `/v1/realtime` that comes for a sentence, and every third time is gone in the middle of it."""

    def __init__(self, house: Config, sentences: Sequence[AudioChunk]) -> None:
        self._house = house
        self._turns = zip(count(1), cycle([resampled(sound, WIRE_RATE) for sound in sentences]))

    async def turn(self) -> bool:
        """Come, speak, hear the answer and go; tell whether there was one, or nothing to wait for."""
        number, sound = next(self._turns)
        try:
            with anyio.fail_after(ANSWER_SECONDS):
                if number % CUT_EVERY_VISITS == 0:
                    await self._cut_off(sound)
                    return True
                return bool(await hear(self._house, sound))
        except (AtlasError, TimeoutError):
            return False

    async def _cut_off(self, sound: AudioChunk) -> None:
        async with connected(self._house, "") as socket:
            step = round(STEP_SECONDS * WIRE_RATE)
            for start in range(0, round(SAID_SHARE * sound.samples), step):
                audio = base64.b64encode(sound.cut(start, start + step).pcm).decode()
                await socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))
                await anyio.sleep(STEP_SECONDS)
            socket.transport.abort()


class WyomingVisitor:
    """A Wyoming satellite with a wake word of its own, written with the makers' library, that the house calls."""

    def __init__(self, sentences: Sequence[AudioChunk]) -> None:
        self._turns = zip(count(1), cycle(sentences))
        self._writer: asyncio.StreamWriter | None = None
        self._called = anyio.Event()
        self._answered = anyio.Event()
        self.announced = 0  # sounds that it was given to play

    @asynccontextmanager
    async def listening(self, port: int) -> AsyncIterator[None]:
        """Be there for the house to call, inside the block."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        try:
            yield
        finally:
            server.close()
            self._hang_up()

    async def turn(self) -> bool:
        """Be woken, hear somebody and play the answer; tell whether there was one, or nothing to wait for."""
        number, sound = next(self._turns)
        with anyio.move_on_after(ANSWER_SECONDS), suppress(OSError):
            await self._called.wait()
            self._answered = anyio.Event()
            await self._send(Event("run-pipeline", {"start_stage": "asr", "end_stage": "tts"}))
            if number % CUT_EVERY_VISITS == 0:
                await self._hear(sound.cut(0, round(SAID_SHARE * sound.samples)))
                self._hang_up()
                await self._called.wait()
                return True
            await self._hear(sound + silence(1.0))
            await self._answered.wait()
            return True
        return False

    async def _hear(self, sound: AudioChunk) -> None:
        for start in range(0, sound.samples, WYOMING_STEP):
            await self._send(WyomingChunk(**FORMAT, audio=sound.cut(start, start + WYOMING_STEP).pcm).event())
            await anyio.sleep(WYOMING_STEP / HEARING_RATE)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        with suppress(OSError):
            while event := await async_read_event(reader):
                await self._take(event)
        writer.close()

    async def _take(self, event: Event) -> None:
        match event.type:
            case "run-satellite":
                self._called.set()
            case "ping":
                await self._send(Pong().event())
            case "audio-stop":
                self.announced += 1
                await self._send(Played().event())
                self._answered.set()

    async def _send(self, event: Event) -> None:
        if self._writer:
            await async_write_event(event, self._writer)

    def _hang_up(self) -> None:
        self._called = anyio.Event()
        if self._writer:
            self._writer.transport.abort()
            self._writer = None


class AppVisitor:
    """The app over https: a cookie, a stream of events where it rings, and what a person presses."""

    def __init__(self, house: Config) -> None:
        self._house = house
        self._last = ""  # where the stream of events was left
        self.rings = 0

    async def turn(self) -> bool:
        """Sign in, set a timer, wait for its ring, stop it, say something everywhere and go, or be cut off."""
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE  # this machine's, and nobody between
        url = f"https://127.0.0.1:{self._house.gateway.https_port}"
        try:
            async with httpx2.AsyncClient(base_url=url, verify=trust, trust_env=False, timeout=ANSWER_SECONDS) as app:
                app.headers["origin"] = url
                bearer = {"authorization": f"Bearer {door.token(self._house)}"}
                (await app.post("/cookie", headers=bearer)).raise_for_status()
                return await self._look(app)
        except httpx2.HTTPError:
            return False

    async def _look(self, app: httpx2.AsyncClient) -> bool:
        headers = {"last-event-id": self._last} if self._last else {}
        async with app.stream("GET", "/api/events?rings=true", headers=headers) as events:
            events.raise_for_status()
            for page in ("/api/me", "/api/timers", "/api/lists", "/api/turns"):
                (await app.get(page)).raise_for_status()
            new = {"seconds": TIMER_SECONDS, "name": "tea"}
            (await app.post("/api/timers", json=new)).raise_for_status()
            with anyio.move_on_after(ANSWER_SECONDS):
                if ring := await self._until_ring(events):
                    self.rings += 1
                    await app.post(f"/api/timers/{ring['id']}/stop")
                    await app.post("/api/announcements", json={"text": "Dinner is ready."})
                    return True
        return False

    async def _until_ring(self, events: httpx2.Response) -> Mapping[str, Any] | None:
        name = ""
        async for line in events.aiter_lines():
            field, _, value = line.partition(": ")
            match field:
                case "id":
                    self._last = value
                case "event":
                    name = value
                case "data" if name == "ring" and (ring := json.loads(value))["kind"] == "timer":
                    return dict(ring)
        return None
