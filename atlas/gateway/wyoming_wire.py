"""Events of the Wyoming protocol over one connection, each frame and the sound in it read within bounds."""

from __future__ import annotations

import json
from typing import Any

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from wyoming import audio
from wyoming.event import Event
from wyoming.version import __version__ as WYOMING_VERSION  # noqa: N812  # a constant by any name

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.errors import RequestError
from atlas.fields import Fields
from atlas.speech.resample import HIGHEST_RATE, LOWEST_RATE, Resampler, mono
from wall.strict_json import loads

LINE_BYTES = 16 * 1024
DATA_BYTES = 256 * 1024  # the `info` of a server with hundreds of voices has 100 kB
SOUND_BYTES = 128 * 1024  # in one chunk, which is listened to at once: four seconds, where others send a tenth
TYPE_CHARACTERS = 100
MOST_CHANNELS = 8
SEND_SECONDS = 10.0  # a peer that reads nothing for so long is gone


class PeerGone(Exception):
    """The other side closed, broke off, or does not read what it is sent."""


class Peer:
    """One connection. `send` may be called by several tasks, `receive` by one; cancelling `send` is safe."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._reader = BufferedByteReceiveStream(stream)
        self._sending = anyio.Lock()

    async def receive(self) -> Event:
        """Return the next event. Raises `PeerGone`, and `RequestError` for a frame after which none can be read.

        Cancelled in the middle of a frame, nothing can be read after it either.
        """
        try:
            header = _object(await self._line())
            fields = Fields(header)
            kind = fields.text("type", longest=TYPE_CHARACTERS)
            data = header.get("data") or {}
            if length := fields.whole("data_length", 0, DATA_BYTES):
                data = {**_checked(data), **_object(await self._reader.receive_exactly(length))}
            length = fields.whole("payload_length", 0, SOUND_BYTES)
            payload = await self._reader.receive_exactly(length) if length else None
        except anyio.DelimiterNotFound as long:
            raise RequestError(f"no line may be longer than {LINE_BYTES} bytes", code="message_too_large") from long
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as gone:
            raise PeerGone from gone
        return Event(kind, _checked(data), payload)

    async def _line(self) -> bytes:
        line = await self._reader.receive_until(b"\n", LINE_BYTES)
        if len(line) > LINE_BYTES:  # it came at once, and so was not cut off on the way
            raise anyio.DelimiterNotFound(LINE_BYTES)
        return line

    async def send(self, event: Event) -> None:
        """Write an event, whole. Raises `PeerGone`."""
        try:
            with anyio.fail_after(SEND_SECONDS, shield=True):  # half a frame would be the last
                async with self._sending:
                    await self._stream.send(frame(event))
        except (TimeoutError, anyio.BrokenResourceError, anyio.ClosedResourceError) as gone:
            raise PeerGone from gone

    async def close(self) -> None:
        """Break the connection off; who waits for its next event learns that it is gone."""
        await anyio.aclose_forcefully(self._stream)


def frame(event: Event) -> bytes:
    """Return an event as it goes over the wire: a line, its data, its sound."""
    data = json.dumps(event.data, ensure_ascii=False).encode() if event.data else b""
    header: dict[str, Any] = {"type": event.type, "version": WYOMING_VERSION}
    header |= {"data_length": len(data)} if data else {}
    header |= {"payload_length": len(event.payload)} if event.payload else {}
    return json.dumps(header).encode() + b"\n" + data + (event.payload or b"")


def sound_event(sound: AudioChunk) -> Event:
    """Return the event of a stretch of sound."""
    chunk: Event = audio.AudioChunk(rate=sound.rate, width=SAMPLE_BYTES, channels=1, audio=sound.pcm).event()
    return chunk


class WyomingMicrophone:
    """One stream of `audio-chunk`: any rate and up to eight channels in, sound at the hearing rate out."""

    def __init__(self) -> None:
        self._resampler = Resampler(HEARING_RATE, HEARING_RATE)

    def sound(self, event: Event) -> AudioChunk:
        """Return what can be listened to after this chunk. Raises `RequestError` for what is no sound."""
        fields, pcm = Fields(event.data), event.payload or b""
        rate = fields.whole("rate", LOWEST_RATE, HIGHEST_RATE) or HEARING_RATE
        channels = fields.whole("channels", 1, MOST_CHANNELS) or 1
        if fields.value("width") not in (None, SAMPLE_BYTES):
            raise fields.wrong("width", f"{SAMPLE_BYTES}: samples of 16 bits", "invalid_value")
        if len(pcm) % (SAMPLE_BYTES * channels):
            raise RequestError("a chunk of sound ends in the middle of a sample", code="invalid_value")
        if rate != self._resampler.from_rate:
            self._resampler = Resampler(rate, HEARING_RATE)
        return self._resampler.feed(AudioChunk(mono(pcm, channels), rate))


def _object(text: bytes) -> dict[str, Any]:
    try:
        return _checked(loads(text, finite=True))
    except (ValueError, RecursionError) as trouble:
        raise RequestError("an event is not JSON", code="invalid_json") from trouble


def _checked(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RequestError("an event is not an object", code="invalid_json")
    return value
