"""Serves sound to devices that fetch it: each at an address that cannot be guessed, once, and for a short while."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import anyio
import h11
from anyio.abc import ByteStream, SocketAttribute, TaskStatus

from atlas import trace
from atlas.audio import AudioChunk, silence
from atlas.config import EsphomeConfig
from atlas.errors import ConfigError
from atlas.gateway.encode import FORMATS, SPEECH_RATE, encoder
from atlas.latest import Latest
from atlas.speech.resample import Resampler
from atlas.speech.wav import wav_header

EVERYWHERE = ("0.0.0.0", "::", "*")  # noqa: S104  # named to be refused
CONNECTIONS = 32  # at once that have not asked for a sound yet; a device opens one for each sound, and asks at once
CONNECTIONS_OF_ONE = 8  # of these, from one address
HEAD_BYTES = 8 * 1024
READ_BYTES = 4 * 1024
HEAD_SECONDS = 5.0  # from connecting to a whole request
SEND_SECONDS = 20.0  # a device that takes nothing for so long is gone; its buffer may hold seconds that still play
UNFETCHED_SECONDS = 30.0  # after which a sound is gone that nobody has fetched
MOST_SOUNDS = 128  # that wait to be fetched; the oldest goes first
MOST_SECONDS = 300.0  # of one sound; more is cut off
GAP_SECONDS = 1.0  # without a sound while one is made; then silence is sent, for devices give up after a few seconds
GAP_SOUND_SECONDS = 0.1
TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True)
class FetchedFormat:
    """How a device wants sound written that it fetches."""

    name: str = "wav"  # or "flac"
    rate: int = 0  # 0: as the voice has it


class FetchedSound:
    """One sound, fetched while it is made. `feed` and `finish` never wait."""

    def __init__(self, form: FetchedFormat) -> None:
        self._form = form
        self._written = bytearray()
        self._news = anyio.Event()
        self._is_over = False
        self._seconds = 0.0
        self._writer: _Writer | None = None
        self._rate = 0  # of the voice
        self.is_fetched = False
        self.is_abandoned = False  # its device hung up before the end: somebody silenced it

    def feed(self, sound: AudioChunk) -> None:
        """Take the next stretch; of a sound that is longer than any reply the rest is dropped."""
        if self._is_over or self._seconds > MOST_SECONDS:
            return
        if self._writer is None:
            self._rate = sound.rate
            self._writer = _Writer(self._form, sound.rate)
        self._seconds += sound.seconds
        self._put(self._writer.feed(sound))

    def finish(self) -> None:
        """Say that nothing more comes."""
        if not self._is_over:
            self._is_over = True
            self._put(self._writer.finish() if self._writer else b"")

    async def next_piece(self) -> bytes:
        """Wait for more; b"" when there is no more. Cancelling is safe."""
        while not self._written and not self._is_over:
            with anyio.move_on_after(GAP_SECONDS) as gap:
                await self._news.wait()
            if gap.cancelled_caught and self._writer:
                self.feed(silence(GAP_SOUND_SECONDS, self._rate))
        piece = bytes(self._written)
        self._written.clear()
        return piece

    def _put(self, data: bytes) -> None:
        self._written += data
        self._news.set()
        self._news = anyio.Event()


class _Writer:
    """FLAC has half of the bytes, and is what a Voice PE asks for; the header of a WAV does not say how long it is."""

    def __init__(self, form: FetchedFormat, from_rate: int) -> None:
        is_wav, rate = form.name == "wav", form.rate or from_rate
        self._header = wav_header(rate) if is_wav else b""
        self._resampler = Resampler(from_rate, rate if is_wav else SPEECH_RATE)
        self._encoder = encoder(form.name, form.rate)

    def feed(self, sound: AudioChunk) -> bytes:
        header, self._header = self._header, b""
        return header + self._encoder.feed(self._resampler.feed(sound))

    def finish(self) -> bytes:
        return self._encoder.feed(self._resampler.flush()) + self._encoder.finish()


@dataclass(frozen=True, slots=True)
class _Offer:
    sound: FetchedSound
    media_type: str
    until: float  # on the clock of the loop


class SoundServer:
    """Offers sounds at one address of this machine, and hands each out once."""

    def __init__(self, config: EsphomeConfig) -> None:
        self._config = config
        self._offers = Latest[str, _Offer](MOST_SOUNDS)  # by path, the oldest first
        self._idle: dict[
            anyio.CancelScope, str
        ] = {}  # connections that have no sound yet → their address, oldest first
        self.port = config.port

    def offer(self, form: FetchedFormat) -> tuple[str, FetchedSound]:
        """Return a new sound and the address where it can be fetched, once."""
        sound = FetchedSound(form)
        path = f"/{secrets.token_urlsafe(TOKEN_BYTES)}.{form.name}"
        self._forget_old()
        self._offers[path] = _Offer(sound, FORMATS[form.name].media_type, anyio.current_time() + UNFETCHED_SECONDS)
        host = f"[{self._config.host}]" if ":" in self._config.host else self._config.host
        return f"http://{host}:{self.port}{path}", sound

    async def serve(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled; started with its port. Raises `ConfigError` for an impossible address."""
        host, port = self._config.host, self._config.port
        if host in EVERYWHERE:
            raise ConfigError(
                "esphome.host is every interface of this machine",
                hint="name one address of it, that of the network where the devices are",
            )
        try:
            listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
        except OSError as trouble:
            raise ConfigError(
                f"cannot listen on {host}:{port}: {trouble.strerror}", hint="check host and port in [esphome]"
            ) from trouble
        async with listener:
            self.port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - not Django's
            trace.line("sounds served to esphome devices", host=host, port=self.port)
            task_status.started(self.port)
            await listener.serve(self._meet)

    async def _meet(self, stream: ByteStream) -> None:
        """Answer the one request of a connection."""
        wire = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES)
        address = str(stream.extra(SocketAttribute.remote_address, ("",))[0])  # noqa: S610 - not Django's
        offer: _Offer | None = None
        async with stream:
            with suppress(TimeoutError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
                with self._idling(address):
                    offer = await self._requested(stream, wire)
                if offer:
                    await _hand_out(offer, stream, wire)

    @contextmanager
    def _idling(self, address: str) -> Iterator[None]:
        """Bound the connections inside the block: for a new one, the oldest of its address goes, or else of all."""
        theirs = [scope for scope, other in self._idle.items() if other == address]
        if len(theirs) >= CONNECTIONS_OF_ONE or len(self._idle) >= CONNECTIONS:
            oldest = theirs[0] if len(theirs) >= CONNECTIONS_OF_ONE else next(iter(self._idle))
            del self._idle[oldest]
            oldest.cancel()
        with anyio.CancelScope() as scope:
            self._idle[scope] = address
            try:
                yield
            finally:
                self._idle.pop(scope, None)

    async def _requested(self, stream: ByteStream, wire: h11.Connection) -> _Offer | None:
        """Return the sound that is asked for; `None` when there is none, which the device is told."""
        try:
            with anyio.fail_after(HEAD_SECONDS):
                request = await _request(stream, wire)
        except h11.RemoteProtocolError as trouble:
            await _refuse(stream, wire, trouble.error_status_hint)
            return None
        if request.method != b"GET":
            await _refuse(stream, wire, 405)
            return None
        offer = self._take(request.target.decode("ascii", "replace"))
        if offer is None:
            await _refuse(stream, wire, 404)
        return offer

    def _take(self, path: str) -> _Offer | None:
        self._forget_old()
        return self._offers.pop(path, None)

    def _forget_old(self) -> None:
        now = anyio.current_time()
        for path in [path for path, offer in self._offers.items() if offer.until < now]:
            del self._offers[path]


async def _hand_out(offer: _Offer, stream: ByteStream, wire: h11.Connection) -> None:
    headers = [("content-type", offer.media_type), ("cache-control", "no-store"), ("connection", "close")]
    await _send(stream, wire.send(h11.Response(status_code=200, headers=headers)))
    offer.sound.is_fetched = True
    try:
        while piece := await offer.sound.next_piece():
            await _send(stream, wire.send(h11.Data(data=piece)))
        await _send(stream, wire.send(h11.EndOfMessage()))
    except (TimeoutError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        offer.sound.is_abandoned = True
        offer.sound.finish()


async def _request(stream: ByteStream, wire: h11.Connection) -> h11.Request:
    while True:
        match wire.next_event():
            case h11.Request() as request:
                return request
            case h11.NEED_DATA:
                wire.receive_data(await stream.receive(READ_BYTES))
            case _:
                raise anyio.EndOfStream


async def _refuse(stream: ByteStream, wire: h11.Connection, status: int) -> None:
    if wire.our_state in (h11.IDLE, h11.SEND_RESPONSE):
        headers = [("content-length", "0"), ("connection", "close")]
        answer = wire.send(h11.Response(status_code=status, headers=headers)) or b""
        await _send(stream, answer + (wire.send(h11.EndOfMessage()) or b""))


async def _send(stream: ByteStream, data: bytes | None) -> None:
    if data:
        with anyio.fail_after(SEND_SECONDS):
            await stream.send(data)
