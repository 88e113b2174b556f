"""`atlas hear FILE.wav`: plays a sound file into the realtime door at speaking speed, and hears the answer."""

from __future__ import annotations

import argparse
import base64
import json
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import anyio
import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from atlas.audio import AudioChunk, silence
from atlas.cli import door
from atlas.config import Config
from atlas.config import load as load_config
from atlas.errors import AtlasError, SoundError
from atlas.speech.resample import resampled
from atlas.speech.wav import read_sound, write_wav

WIRE_RATE = 24_000  # the one rate of raw sound that the Realtime protocol has
STEP_SECONDS = 0.02  # as a microphone gives it
MAX_SECONDS = 60.0  # of a file: it is played at speaking speed, and nobody talks longer to a house
LOUD = 330  # of 32767, about -40 dBFS: below it, a sample is the voice's silence and not its sound
CONNECT_SECONDS = 10.0
NOTHING_SECONDS = 3.0  # after the file: speech that was not noticed by then is not there
WORDS_SECONDS = 30.0  # from the end of an utterance to its words, on a slow machine
REPLY_SECONDS = 180.0  # from the words to the end of the reply; a large model on a small machine talks long
MESSAGE_BYTES = 16 * 1024 * 1024
HINT = "Atlas hears WAV, MP3, M4A, Ogg, FLAC and WebM of up to a minute"


@dataclass
class HeardUtterance:
    """One utterance of the file and what came of it. Times are seconds on the clock of the playing."""

    transcript: str = ""
    reply: str = ""
    agent: str = ""
    reason: str = ""
    path: str = ""
    status: str = ""  # as the protocol has it: completed, cancelled, incomplete, failed
    tools: list[dict[str, Any]] = field(default_factory=list)
    milliseconds: dict[str, int] = field(default_factory=dict)  # the house's own timings
    sound: AudioChunk = field(default_factory=lambda: silence(0.0, WIRE_RATE))
    ended_at: float = 0.0  # the last sample of speech was played
    noticed_at: float = 0.0  # word came that the speaker had finished
    words_at: float = 0.0  # the transcript came
    sound_at: float = 0.0  # the first piece of the reply's sound came
    cancelled: bool = False  # by us, having heard enough

    @property
    def first_sound_seconds(self) -> float | None:
        """From the last sample of speech to the first sample of the reply that can be heard; `None` without sound."""
        loud = np.flatnonzero(np.abs(np.frombuffer(self.sound.pcm, np.int16).astype(np.int32)) > LOUD)
        return self.sound_at + float(loud[0]) / WIRE_RATE - self.ended_at if loud.size else None

    def summary(self) -> dict[str, Any]:
        """Return everything but the sound, for `--json`."""
        first = self.first_sound_seconds
        timings = {
            **self.milliseconds,
            "endpoint_after_speech_ms": round((self.noticed_at - self.ended_at) * 1000),
            "words_after_speech_ms": round((self.words_at - self.ended_at) * 1000),
            **({"first_sound_after_speech_ms": round(first * 1000)} if first is not None else {}),
        }
        return {
            "transcript": self.transcript,
            "path": self.path,
            "agent": self.agent,
            "reason": self.reason,
            "tools": self.tools,
            "reply": self.reply,
            "status": self.status,
            "reply_seconds": round(self.sound.seconds, 3),
            "timings": timings,
        }


def main(arguments: Sequence[str]) -> int:
    """Play, print what was understood, done and said; the status is 1 when the answer failed."""
    parser = argparse.ArgumentParser(prog="atlas hear", description=__doc__)
    parser.add_argument("file", type=Path, help=HINT)
    parser.add_argument("--agent", default="", help="who should answer; else the router chooses")
    parser.add_argument("--out", type=Path, metavar="REPLY.wav", help="where to write the sound of the answer")
    parser.add_argument("--json", action="store_true", help="print one object")
    given = parser.parse_args(arguments)
    sound = read_file(given.file)
    exchanges = anyio.run(hear, load_config(os.environ), sound, given.agent)
    if given.out:
        write_file(given.out, exchanges)
    if given.json:
        print(json.dumps({"file": str(given.file), "turns": [one.summary() for one in exchanges]}, ensure_ascii=False))
    else:
        for one in exchanges:
            print(describe(one))
        if given.out:
            print(f"wrote     {given.out}")
    return 0 if all(one.status == "completed" for one in exchanges) else 1


def read_file(file: Path) -> AudioChunk:
    """Return the sound of a file at the wire's rate. Raises `SoundError` with one sentence for whatever is wrong."""
    try:
        data = file.read_bytes()
    except OSError as trouble:
        raise SoundError(f"{file} cannot be read: {trouble.strerror}", hint="check the path") from trouble
    try:
        sound = read_sound(data)
    except SoundError as trouble:
        raise SoundError(f"{file}: {trouble}", hint=trouble.hint or HINT) from trouble
    if not sound.samples:
        raise SoundError(f"{file} has no sound in it", hint=HINT)
    if sound.seconds > MAX_SECONDS:
        raise SoundError(
            f"{file} lasts {sound.seconds:.0f} s; {MAX_SECONDS:.0f} s is the most",
            hint="cut it to what is said to Atlas, for it is played at speaking speed",
        )
    return resampled(sound, WIRE_RATE)


def write_file(file: Path, exchanges: Sequence[HeardUtterance]) -> None:
    """Write the sound of all replies as one WAV."""
    pcm = b"".join(one.sound.pcm for one in exchanges)
    try:
        file.write_bytes(write_wav(AudioChunk(pcm, WIRE_RATE)))
    except OSError as trouble:
        raise SoundError(f"{file} cannot be written: {trouble.strerror}", hint="check the path") from trouble


async def hear(
    config: Config, sound: AudioChunk, agent: str = "", *, first_sound_only: bool = False
) -> list[HeardUtterance]:
    """Play `sound`, at `WIRE_RATE`, to the running house and return what came of each utterance.

    `first_sound_only` cancels a reply as soon as it can be heard: for measuring, which has no time to listen.
    Raises `SoundError` when nobody spoke in it, `AtlasError` when the house is not there or does not answer in time.
    """
    async with connected(config, agent) as socket:
        return await Listener(socket, sound, first_sound_only=first_sound_only).run()


@asynccontextmanager
async def connected(config: Config, agent: str) -> AsyncGenerator[ClientConnection, None]:
    """Open the realtime door with the terminal's token."""
    query = urlencode({"model": agent or "atlas", "announce": "false"} | door.device())
    url = f"{door.address(config, 'ws')}/v1/realtime?{query}"
    headers = {"authorization": f"Bearer {door.token(config)}"}
    try:
        socket = await connect(
            url, additional_headers=headers, max_size=MESSAGE_BYTES, open_timeout=CONNECT_SECONDS, proxy=None
        )
    except InvalidStatus as no:
        raise door.refused(no.response.status_code, no.response.body or b"") from no
    except (OSError, TimeoutError, InvalidHandshake) as nobody:
        raise door.not_running(config) from nobody
    async with socket:
        yield socket


class Listener:
    """Plays one file over one connection, and collects what comes back."""

    def __init__(self, socket: ClientConnection, sound: AudioChunk, *, first_sound_only: bool = False) -> None:
        self._socket = socket
        self._first_sound_only = first_sound_only
        self._sound = sound
        self._loud = np.flatnonzero(np.abs(np.frombuffer(sound.pcm, np.int16).astype(np.int32)) > LOUD)
        self._began = 0.0
        self._speaking = False  # between the start of speech and its words
        self._wordless = False  # somebody was heard, and no words
        self._waiting: HeardUtterance | None = None  # its words are known, its reply is not over
        self._stopped_at = 0.0
        self._done: list[HeardUtterance] = []

    async def run(self) -> list[HeardUtterance]:
        """Play to the end and listen until every utterance has been answered. Cancelling is safe."""
        self._began = anyio.current_time()
        trouble: Exception | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._play)
                await self._listen()
                tasks.cancel_scope.cancel()
        except* (ConnectionClosed, AtlasError) as group:
            trouble = group.exceptions[0]
        if isinstance(trouble, AtlasError):
            raise trouble
        if trouble:
            raise AtlasError(f"Atlas hung up: {trouble}", hint="see what its terminal says") from trouble
        if not self._done:
            raise SoundError(
                "Atlas heard somebody, but no words" if self._wordless else "Atlas heard nobody speak in it",
                hint="speak up, or check the file in a player",
            )
        return self._done

    @property
    def _now(self) -> float:
        return anyio.current_time() - self._began

    async def _play(self) -> None:
        """Send the sound, then silence, each step when a microphone would have it."""
        step, sent = round(STEP_SECONDS * WIRE_RATE), 0
        while True:
            chunk = (
                self._sound.cut(sent, sent + step) if sent < self._sound.samples else silence(STEP_SECONDS, WIRE_RATE)
            )
            sent += chunk.samples
            await anyio.sleep_until(self._began + sent / WIRE_RATE)
            audio = base64.b64encode(chunk.pcm).decode()
            await self._socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": audio}))

    async def _listen(self) -> None:
        """Take messages until nothing more can come. Raises `AtlasError` when something that must come does not."""
        while True:
            patience = self._patience_seconds
            message: dict[str, Any] | None = None
            with anyio.move_on_after(patience):
                message = json.loads(await self._socket.recv())
            if message is not None:
                self._take(message)
                await self._cancel_when_heard()
            elif self._waiting or self._speaking:
                what = "the end of its reply" if self._waiting else "what it understood"
                raise AtlasError(
                    f"Atlas did not send {what} within {patience:.0f} s", hint="see what its terminal says"
                )
            else:
                return

    async def _cancel_when_heard(self) -> None:
        reply = self._waiting
        if self._first_sound_only and reply and not reply.cancelled and reply.first_sound_seconds is not None:
            reply.cancelled = True
            await self._socket.send(json.dumps({"type": "response.cancel"}))

    @property
    def _patience_seconds(self) -> float:
        """How long the next message may take; with nothing under way, until no further utterance will be noticed."""
        if self._waiting:
            return REPLY_SECONDS
        if self._speaking:
            return WORDS_SECONDS
        answered = bool(self._done) and self._done[-1].ended_at >= self._last_loud(self._sound.seconds)
        return max(0.0, self._sound.seconds + (0.0 if answered else NOTHING_SECONDS) - self._now)

    def _last_loud(self, before: float) -> float:
        """Return when the last sample that can be heard was played, `before` a moment."""
        count = int(np.searchsorted(self._loud, before * WIRE_RATE))
        return float(self._loud[count - 1] + 1) / WIRE_RATE if count else 0.0

    def _take(self, message: dict[str, Any]) -> None:
        exchange = self._waiting
        match message["type"]:
            case "error" if message["error"]["code"] != "response_cancel_not_active":  # it ended meanwhile
                raise AtlasError(f"Atlas refused: {message['error']['message']}")
            case "input_audio_buffer.speech_started":
                self._speaking = True
            case "input_audio_buffer.speech_stopped":
                self._stopped_at = self._now
            case "conversation.item.input_audio_transcription.completed":
                self._understood(message["transcript"].strip())
            case "conversation.item.input_audio_transcription.failed":
                raise AtlasError(f"Atlas could not understand it: {message['error']['message']}")
            case "response.output_audio.delta" if exchange:
                exchange.sound_at = exchange.sound_at or self._now
                exchange.sound += AudioChunk(base64.b64decode(message["delta"]), WIRE_RATE)
            case "response.output_audio_transcript.delta" if exchange:
                exchange.reply += message["delta"]
            case "atlas.tool_started" if exchange:
                exchange.tools.append(_bare(message))
            case "atlas.tool_finished" if exchange:
                started = [tool for tool in exchange.tools if tool["call_id"] == message["call_id"]]
                started[0].update(_bare(message))
            case "atlas.turn" if exchange:
                exchange.agent, exchange.reason, exchange.path = (message[k] for k in ("agent", "reason", "path"))
            case "atlas.timings" if exchange:
                exchange.milliseconds = message["milliseconds"]
            case "response.done" if exchange:
                exchange.status = message["response"]["status"]
                self._done.append(exchange)
                self._waiting = None

    def _understood(self, words: str) -> None:
        self._speaking = False
        if not words:
            self._wordless = True
            return
        # What is said before the reply to earlier words has begun is answered together with them.
        exchange = self._waiting or HeardUtterance()
        exchange.transcript = f"{exchange.transcript} {words}".strip()
        exchange.ended_at = self._last_loud(self._stopped_at)
        exchange.noticed_at, exchange.words_at = self._stopped_at, self._now
        self._waiting = exchange


def _bare(message: dict[str, Any]) -> dict[str, Any]:
    """Return what a message says of a tool, without the envelope."""
    return {key: value for key, value in message.items() if key not in ("type", "event_id", "response_id")}


def describe(exchange: HeardUtterance) -> str:
    """Return an exchange as a person reads it."""
    details = exchange.summary()
    lines = [
        f"heard     {exchange.transcript}",
        f"answered  {exchange.agent} ({exchange.reason}), by {exchange.path}",
    ]
    for tool in exchange.tools:
        arguments = json.dumps(tool.get("arguments", {}), ensure_ascii=False)
        lines.append(f"tool      {tool.get('name')} {arguments} → {tool.get('text', '')}")
    lines.append(
        f"reply     {exchange.reply.strip()}" + ("" if exchange.status == "completed" else f"  [{exchange.status}]")
    )
    lines += [
        f"timing    {name.removesuffix('_ms').replace('_', ' ')}: {ms} ms" for name, ms in details["timings"].items()
    ]
    return "\n".join(lines)
