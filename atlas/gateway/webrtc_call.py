"""Holds one call over WebRTC: its data channel and its sound are, to the house, a WebSocket of the Realtime door.

    peer ── data channel ──▶ messages ──▶ ┐                      ┌ ──▶ messages ──▶ data channel ──▶ peer
         ── microphone ────▶ appended ──▶ ┴ socket of this app ──┴ ──▶ sound ─────▶ loudspeaker ───▶

The socket is opened inside this process, with the headers of the request that brought the offer. So whoever calls has
the rights, limits and end of any Realtime session, and that door knows nothing of WebRTC.

The house tries no address that an offer names: it answers where packets with the call's password come from, and it
offers one address, that at which the offer came. So an offer makes it send nothing anywhere, and a house on loopback
is called on loopback. No STUN server is asked.
"""

from __future__ import annotations

import base64
import fractions
import json
from collections import deque
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import anyio
import av
from aioice import ice
from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from aiortc.sdp import SessionDescription
from anyio.abc import TaskStatus
from starlette.responses import Response
from starlette.types import ASGIApp, Message

from atlas import trace
from atlas.conversation import fresh_id
from atlas.errors import RequestError
from atlas.gateway.failures import HttpFailure
from atlas.gateway.realtime_wire import message
from atlas.gateway.wire import json_object
from wall import logs

RATE = 24_000  # of the Realtime protocol
FRAME_SECONDS = 0.02
FRAME_BYTES = int(RATE * FRAME_SECONDS) * 2
MOST_BEHIND_SECONDS = 0.2  # of a loudspeaker that was held up; what was missed is not caught up with
CONNECT_SECONDS = 20.0  # from the answer to a connection
WAITING_MESSAGES = 512  # of a peer, and for it until its channel opens; five seconds of sound and a few messages
MOST_UNSENT_BYTES = 1024 * 1024  # on a data channel, before the house waits for its peer
WINDOW_SECONDS = 1.0  # how often it is looked whether the peer keeps to its window
OWN_EVENT = "evt_webrtc"

_OPUS = [codec for codec in RTCRtpSender.getCapabilities("audio").codecs if codec.mimeType == "audio/opus"]
_address = ContextVar("address", default="")  # of the house, at which the offer came
_all_addresses = ice.get_host_addresses


def _own_address(use_ipv4: bool, use_ipv6: bool) -> list[str]:
    address = _address.get()
    return [address] if address else _all_addresses(use_ipv4, use_ipv6)


# The library has no setting for it: it offers every address of the machine, and never loopback.
ice.get_host_addresses = _own_address


class SpeakerTrack(MediaStreamTrack):
    """What the peer hears: the sound of answers in frames of 20 ms, and silence between them."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self._sounds: deque[bytes] = deque()
        self._first = b""  # what is left of the sound that is played
        self._frames = 0
        self._due = 0.0
        self._drained = anyio.Event()
        self._drained.set()

    def play(self, pcm: bytes) -> None:
        """Play 16-bit mono at `RATE` after what waits already."""
        self._sounds.append(pcm)
        if self._drained.is_set():
            self._drained = anyio.Event()

    def clear(self) -> None:
        """Drop what was not played."""
        self._sounds.clear()
        self._first = b""
        self._drained.set()

    async def wait_until_silent(self) -> None:
        """Return once all of it was played or dropped."""
        await self._drained.wait()

    async def recv(self) -> av.AudioFrame:
        """Return the next frame when it is due."""
        if self.readyState != "live":
            raise MediaStreamError
        now = anyio.current_time()
        self._due = max(self._due + FRAME_SECONDS, now - MOST_BEHIND_SECONDS) if self._frames else now
        await anyio.sleep_until(self._due)
        frame = av.AudioFrame(format="s16", layout="mono", samples=FRAME_BYTES // 2)
        frame.planes[0].update(self._next().ljust(FRAME_BYTES, b"\0"))
        frame.sample_rate, frame.pts = RATE, self._frames * FRAME_BYTES // 2
        frame.time_base = fractions.Fraction(1, RATE)
        self._frames += 1
        return frame

    def _next(self) -> bytes:
        while len(self._first) < FRAME_BYTES and self._sounds:
            self._first += self._sounds.popleft()
        if not self._first:
            self._drained.set()
        frame, self._first = self._first[:FRAME_BYTES], self._first[FRAME_BYTES:]
        return frame


class PeerCall:
    """One peer, from its offer to the end of its connection. `run` is cancelled to end it, safely."""

    def __init__(self, app: ASGIApp, scope: Mapping[str, Any], session: Mapping[str, Any]) -> None:
        self.id = fresh_id("rtc")
        self.answer = ""
        self.device: str = scope["state"]["actor"].device
        self._app = app
        self._scope = {
            "type": "websocket",
            "path": "/v1/realtime",
            "raw_path": b"/v1/realtime",
            "scheme": "wss" if scope["scheme"] == "https" else "ws",
            "subprotocols": [],
            "state": {},
            "extensions": {"websocket.http.response": {}},
            **{name: scope[name] for name in ("asgi", "http_version", "query_string", "headers", "client", "server")},
            "root_path": "",
        }
        self._to_house, self._inbox = anyio.create_memory_object_stream[Message](WAITING_MESSAGES)
        self._to_house.send_nowait({"type": "websocket.connect"})
        if session:
            self._hand_over({"type": "session.update", "event_id": OWN_EVENT, "session": _without_formats(session)})
        self._peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._loudspeaker = SpeakerTrack()
        self._takes_sound = True  # does the peer? Else nothing ever plays what the loudspeaker is given
        self._channel: Any = None
        self._unsent: list[str] = []  # until the channel opens
        self._response_id = ""  # of what is played
        self._settled, self._connected, self._over = anyio.Event(), anyio.Event(), anyio.Event()
        self._has_room = anyio.Event()
        self._microphone: MediaStreamTrack | None = None
        self._refused: MutableMapping[str, Any] | None = None  # the response with which the door refused

    def hang_up(self) -> None:
        """End the call."""
        self._over.set()

    async def run(
        self, offer: str, calls: dict[str, Any], *, task_status: TaskStatus[Response | None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Open the socket, answer the offer, and hold the call.

        Reports the response with which the door or the offer was refused, or None once `answer` is there.
        """
        is_told = False
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._hold_socket)
                await self._settled.wait()
                refused = self._refusal() or await self._negotiate(offer)
                is_told = True
                task_status.started(refused)
                if not refused:
                    calls[self.id] = self
                    tasks.start_soon(self._give_up_unless_connected)
                    tasks.start_soon(self._watch_window)
                    if self._microphone:
                        tasks.start_soon(self._listen, self._microphone)
                    await self._over.wait()
                tasks.cancel_scope.cancel()
        except Exception as mistake:  # of ours or of a library, in one call: the house goes on
            if not is_told:
                raise  # to the request that brought the offer
            trace.line("call broke", device=self.device, error=logs.kind(mistake))
        finally:
            calls.pop(self.id, None)
            self._loudspeaker.stop()
            with anyio.CancelScope(shield=True), suppress(Exception):  # what was never whole cannot be closed whole
                await self._peer.close()
            self._inbox.close()

    async def _hold_socket(self) -> None:
        try:
            await self._app(self._scope, self._inbox.receive, self._take)
        except Exception as mistake:  # noqa: BLE001 - of ours, in one call: the house goes on
            trace.line("call broke", device=self.device, error=logs.kind(mistake))
        self._settled.set()
        self._over.set()

    async def _give_up_unless_connected(self) -> None:
        with anyio.move_on_after(CONNECT_SECONDS):
            await self._connected.wait()
        if not self._connected.is_set():
            trace.line("call not connected", device=self.device)
            self._over.set()

    async def _watch_window(self) -> None:
        """End the call of a peer that sends more than the window it was given: the library stores all of it."""
        while self._peer.sctp is None or self._peer.sctp._advertised_rwnd >= 0:  # noqa: ASYNC110  # the library tells nobody
            await anyio.sleep(WINDOW_SECONDS)
        trace.line("call ended: a message without an end", device=self.device)
        self._over.set()

    async def _negotiate(self, offer: str) -> Response | None:
        peer = self._peer
        if wrong := _wrong_with(offer):
            return HttpFailure(400, "invalid_offer", f"the offer {wrong}", field="sdp").reply()
        peer.on("track", self._take_track)
        peer.on("datachannel", self._take_channel)
        peer.on("connectionstatechange", self._note_state)
        line = peer.addTransceiver(self._loudspeaker)
        line.setCodecPreferences(_OPUS)
        _address.set(self._scope["server"][0])
        try:
            await peer.setRemoteDescription(RTCSessionDescription(_without_candidates(offer), "offer"))
            await peer.setLocalDescription(await peer.createAnswer())
        except Exception as trouble:  # noqa: BLE001  # the library raises whatever it stumbles over
            why = f"the offer cannot be answered: {logs.kind(trouble)}"
            return HttpFailure(400, "invalid_offer", why, field="sdp").reply()
        self.answer = peer.localDescription.sdp
        self._takes_sound = line.currentDirection in ("sendrecv", "sendonly")
        return None

    def _refusal(self) -> Response | None:
        if self._refused is None:
            return None
        answer = Response(self._refused["body"], self._refused["status"])
        answer.raw_headers = self._refused["headers"]
        return answer

    def _take_track(self, track: MediaStreamTrack) -> None:
        if track.kind == "audio" and self._microphone is None:
            self._microphone = track

    def _note_state(self) -> None:
        if self._peer.connectionState == "connected":
            self._connected.set()
        elif self._peer.connectionState in ("failed", "closed"):
            self._over.set()

    # ── from the peer ──────────────────────────────────────────────────────────────────────────────

    def _take_channel(self, channel: Any) -> None:
        if self._channel is not None:
            return
        self._channel = channel
        channel.bufferedAmountLowThreshold = MOST_UNSENT_BYTES // 2
        channel.on("bufferedamountlow", lambda: self._has_room.set())
        channel.on("message", self._take_message)
        channel.on("close", self._over.set)
        for text in self._unsent:
            channel.send(text)
        self._unsent.clear()

    def _take_message(self, text: str | bytes) -> None:
        if isinstance(text, str):
            with suppress(RequestError):  # the door says what is wrong with it
                event = json_object(text, "the message")
                if event.get("type") == "output_audio_buffer.clear":
                    self._clear()
                    return
                if isinstance(event.get("session"), dict):
                    text = json.dumps(event | {"session": _without_formats(event["session"])})
        frame = {"text": text} if isinstance(text, str) else {"bytes": text}
        try:
            self._to_house.send_nowait({"type": "websocket.receive", **frame})
        except anyio.WouldBlock:
            trace.line("call ended: more messages than the house reads", device=self.device)
            self._over.set()

    async def _listen(self, track: MediaStreamTrack) -> None:
        """Hand the microphone's sound to the house as it comes; what it is too slow for is not heard."""
        resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        with suppress(MediaStreamError):  # it has ended
            while True:
                frame = await track.recv()
                assert isinstance(frame, av.AudioFrame)
                for sound in resampler.resample(frame):
                    audio = base64.b64encode(sound.to_ndarray().tobytes()).decode()
                    with suppress(anyio.WouldBlock):
                        self._hand_over({"type": "input_audio_buffer.append", "event_id": OWN_EVENT, "audio": audio})

    def _hand_over(self, event: Mapping[str, Any]) -> None:
        self._to_house.send_nowait({"type": "websocket.receive", "text": json.dumps(event)})

    # ── from the house ─────────────────────────────────────────────────────────────────────────────

    async def _take(self, sent: Message) -> None:
        """Take what the door sends to its socket."""
        kind = sent["type"]
        if kind == "websocket.accept":
            self._settled.set()
        elif kind == "websocket.send":
            await self._take_event(sent["text"])
        elif kind == "websocket.close":
            self._over.set()
        elif kind == "websocket.http.response.start":
            self._refused = {"status": sent["status"], "headers": sent["headers"], "body": b""}
        elif self._refused is not None:
            self._refused["body"] += sent.get("body", b"")

    async def _take_event(self, text: str) -> None:
        event = json.loads(text)
        kind = event["type"]
        if kind == "response.output_audio.delta":
            if not self._takes_sound:
                return
            self._loudspeaker.play(base64.b64decode(event["delta"]))
            if not self._response_id:
                self._response_id = event["response_id"]
                await self._send(message("output_audio_buffer.started", response_id=self._response_id))
            return
        await self._send(event)
        if kind == "response.done" and self._response_id:
            if event["response"]["status"] == "cancelled":
                self._clear()
            await self._loudspeaker.wait_until_silent()
            response, self._response_id = self._response_id, ""
            if response:
                await self._send(message("output_audio_buffer.stopped", response_id=response))

    def _clear(self) -> None:
        """Fall silent, and say so."""
        response, self._response_id = self._response_id, ""
        self._loudspeaker.clear()
        if response:
            self._write(json.dumps(message("output_audio_buffer.cleared", response_id=response)))

    async def _send(self, event: Mapping[str, Any]) -> None:
        self._write(json.dumps(event, ensure_ascii=False, separators=(",", ":")))
        if self._channel is not None and self._channel.bufferedAmount > MOST_UNSENT_BYTES:
            self._has_room = anyio.Event()
            await self._has_room.wait()

    def _write(self, text: str) -> None:
        if self._channel is None:
            self._unsent.append(text)
            if len(self._unsent) > WAITING_MESSAGES:
                self._over.set()
        elif self._channel.readyState == "open":
            self._channel.send(text)


def _wrong_with(offer: str) -> str:
    """Return what a house cannot answer in an offer; "" for nothing.

    One line of audio, one channel of data, nothing else: what nobody reads, the library would store.
    """
    try:
        lines = SessionDescription.parse(offer).media
    except Exception as trouble:  # noqa: BLE001  # its parser raises whatever it stumbles over
        return f"cannot be read: {logs.kind(trouble)}"
    if sorted(line.kind for line in lines) != ["application", "audio"]:
        return "must have exactly one line of audio and one for data"
    if not all(line.rtp.muxId and line.ice and line.dtls and line.dtls.fingerprints for line in lines):
        return "lacks the mid, the ICE password or the fingerprint of a line"
    return ""


def _without_candidates(offer: str) -> str:
    """Return an offer that names no address to try."""
    lines = offer.splitlines()
    gone = ("a=candidate:", "a=end-of-candidates", "a=remote-candidates:")
    return "\r\n".join(line for line in lines if not line.startswith(gone)) + "\r\n"


def _without_formats(session: Mapping[str, Any]) -> dict[str, Any]:
    """Return a session's settings without formats of sound: a call has its own."""
    sound = session.get("audio")
    settings = {
        name: value for name, value in session.items() if name not in ("input_audio_format", "output_audio_format")
    }
    if isinstance(sound, dict):
        settings["audio"] = {
            side: {name: value for name, value in one.items() if name != "format"} if isinstance(one, dict) else one
            for side, one in sound.items()
        }
    return settings
