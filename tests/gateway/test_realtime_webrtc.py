"""The Realtime door over WebRTC, called by aiortc, over a real server."""

from __future__ import annotations

import fractions
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import av
import numpy as np
import pytest
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack

from atlas.audio import AudioChunk, silence
from atlas.config import Config
from atlas.speech.resample import resampled
from tests.gateway.small_house import SmallHouse, served
from tests.scripted_vad import voice
from wall.roles import Role

RATE = 16_000
PIECE = RATE // 50


class Microphone(MediaStreamTrack):
    """Somebody speaks once, and then is quiet."""

    kind = "audio"

    def __init__(self, sound: AudioChunk) -> None:
        super().__init__()
        self._pcm, self._at, self._begin = sound.pcm, 0, 0.0

    async def recv(self) -> av.AudioFrame:
        self._begin = self._begin or anyio.current_time()
        await anyio.sleep_until(self._begin + self._at / RATE)
        if self.readyState != "live":
            raise MediaStreamError
        frame = av.AudioFrame(format="s16", layout="mono", samples=PIECE)
        frame.planes[0].update(self._pcm[self._at * 2 :][: PIECE * 2].ljust(PIECE * 2, b"\0"))
        frame.sample_rate, frame.pts, frame.time_base = RATE, self._at, fractions.Fraction(1, RATE)
        self._at += PIECE
        return frame


class Peer:
    """A caller: what it was told, and what it heard."""

    def __init__(self, sound: AudioChunk, direction: str = "sendrecv") -> None:
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.connection.addTransceiver(Microphone(sound), direction)
        self.channel = self.connection.createDataChannel("oai-events")
        self.channel.on("message", self._note)
        self.is_connected, self.is_over = anyio.Event(), anyio.Event()
        self.channel.on("open", self.is_connected.set)
        self.channel.on("close", self.is_over.set)
        self.connection.on("track", self._hear)
        self.events: list[Mapping[str, Any]] = []
        self.tracks: list[MediaStreamTrack] = []
        self.location = ""
        self._news = anyio.Event()

    def _note(self, text: str) -> None:
        self.events.append(json.loads(text))
        self._news.set()
        self._news = anyio.Event()

    def _hear(self, track: MediaStreamTrack) -> None:
        self.tracks.append(track)

    async def until(self, kind: str) -> Mapping[str, Any]:
        with anyio.fail_after(20):
            while True:
                for event in self.events:
                    if event["type"] == kind:
                        return event
                await self._news.wait()

    async def loud_seconds(self) -> float:
        """Listen until it has been quiet for a second; return how long it was loud."""
        loud = quiet = 0.0
        while not loud or quiet < 1.0:
            frame = await self.tracks[0].recv()
            assert isinstance(frame, av.AudioFrame)
            seconds = frame.samples / frame.sample_rate
            if np.abs(frame.to_ndarray()).max() > 300:
                loud, quiet = loud + seconds, 0.0
            else:
                quiet += seconds
        return loud

    def send(self, kind: str, **fields: Any) -> None:
        self.channel.send(json.dumps({"type": kind, **fields}))


@asynccontextmanager
async def calling(
    small: SmallHouse,
    role: Role = "owner",
    token: str = "",
    form: Mapping[str, Any] | None = None,
    direction: str = "sendrecv",
) -> AsyncIterator[Peer]:
    peer = Peer(silence(0.6) + voice(1.0) + silence(1.0), direction)
    try:
        await peer.connection.setLocalDescription(await peer.connection.createOffer())
        sdp = peer.connection.localDescription.sdp
        async with small.http(role) as client:
            bearer = {"authorization": f"Bearer {token}"} if token else {}
            if form is None:
                headers = {"content-type": "application/sdp", **bearer}
                answer = await client.post("/v1/realtime/calls", content=sdp, headers=headers)
            else:
                parts = {"sdp": (None, sdp), "session": (None, json.dumps(form))}
                answer = await client.post("/v1/realtime/calls", files=parts, headers=bearer)
        assert answer.status_code == 201, answer.text
        assert answer.headers["content-type"].startswith("application/sdp")
        peer.location = answer.headers["location"]
        await peer.connection.setRemoteDescription(RTCSessionDescription(answer.text, "answer"))
        yield peer
    finally:
        await peer.connection.close()


@pytest.fixture
async def small(config: Config, data: Path) -> AsyncIterator[SmallHouse]:
    async with served(config, data) as house:
        house.chat.words = ("The sky ", "is blue.")
        house.ear.lines = ["why is the sky blue"]
        yield house


async def test_a_call_that_takes_no_sound_is_answered_in_words_as_often_as_it_asks(small: SmallHouse) -> None:
    async with calling(small, direction="sendonly") as peer:
        await peer.until("response.done")
        peer.events.clear()
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and at night?"}]}
        peer.send("conversation.item.create", item=item)
        peer.send("response.create")
        done = await peer.until("response.done")
        assert done["response"]["output"][0]["content"][0]["transcript"] == "The sky is blue."
        assert "output_audio_buffer.started" not in {event["type"] for event in peer.events}


async def test_who_calls_is_heard_and_answered_in_sound(small: SmallHouse) -> None:
    async with calling(small) as peer:
        await peer.until("session.created")
        done = await peer.until("response.done")
        assert done["response"]["output"][0]["content"][0]["transcript"] == "The sky is blue."
        await peer.until("output_audio_buffer.stopped")
        kinds = [event["type"] for event in peer.events]
        assert kinds.index("output_audio_buffer.started") < kinds.index("response.done")
        assert "response.output_audio.delta" not in kinds
        assert small.ear.heard[0].seconds > 0.9


class Hum:
    """A voice that hums two tenths of a second for every word."""

    voice = "en_US-joe-medium"
    rate = 22_050

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncIterator[AudioChunk]:
        for _ in text.split():
            yield resampled(voice(0.2), self.rate)

    async def aclose(self) -> None: ...


async def test_the_peer_hears_the_whole_answer_and_no_more(small: SmallHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small.voice, "speak", Hum().speak)
    async with calling(small) as peer:
        with anyio.fail_after(20):
            loud = await peer.loud_seconds()
        assert 0.7 < loud < 1.2, "five words"


async def test_who_speaks_into_an_answer_is_met_with_silence(small: SmallHouse) -> None:
    small.chat.endless = True
    async with calling(small) as peer:
        await peer.until("output_audio_buffer.started")
        peer.send("response.cancel")
        await peer.until("output_audio_buffer.cleared")
        assert (await peer.until("response.done"))["response"]["status"] == "cancelled"
        assert not [event for event in peer.events if event["type"] == "error"]


async def test_a_call_may_say_what_its_session_shall_be_and_formats_of_sound_are_its_own(small: SmallHouse) -> None:
    form = {"model": "family", "instructions": "Be short.", "audio": {"output": {"format": {"type": "audio/pcmu"}}}}
    async with calling(small, form=form) as peer:
        updated = (await peer.until("session.updated"))["session"]
        assert updated["instructions"] == "Be short."
        assert updated["model"] == "family"
        assert updated["audio"]["output"]["format"]["type"] == "audio/pcm"
        peer.send("session.update", session={"audio": {"input": {"format": {"type": "audio/pcma"}}}})
        await peer.until("response.done")
        assert small.ear.heard, "the sound was understood as what it is"


async def test_a_token_for_minutes_opens_a_call(small: SmallHouse) -> None:
    async with small.http() as client:
        secret = (await client.post("/v1/realtime/client_secrets", json={})).json()["value"]
    async with calling(small, "guest", token=secret) as peer:
        await peer.until("session.created")


async def test_a_call_ends_when_its_token_does(small: SmallHouse) -> None:
    async with calling(small, "adult") as peer:
        await peer.until("session.created")
        await small.devices.revoke("the adult")
        with anyio.fail_after(20):
            await peer.is_over.wait()


async def test_who_began_a_call_ends_it(small: SmallHouse) -> None:
    async with calling(small, "adult") as peer:
        await peer.until("session.created")
        async with small.http("child") as other:
            assert (await other.post(f"{peer.location}/hangup")).status_code == 404
        async with small.http("adult") as client:
            assert (await client.post(f"{peer.location}/hangup")).status_code == 200
            with anyio.fail_after(20):
                await peer.is_over.wait()
            assert (await client.post(f"{peer.location}/hangup")).status_code == 404


@pytest.mark.parametrize(
    ("kind", "body", "status", "word"),
    [
        ("application/sdp", b"hello", 400, "description"),
        ("application/sdp", b"v=0\r\nnonsense", 400, "offer"),
        ("application/sdp", b"v=0\r\n" + b"a=x\r\n" * 20_000, 413, "at most"),
        ("application/json", b"{}", 400, "application/sdp"),
        ("multipart/form-data; boundary=x", b"--x", 400, ""),
    ],
)
async def test_what_is_no_offer_is_refused_in_words(
    small: SmallHouse, kind: str, body: bytes, status: int, word: str
) -> None:
    async with small.http() as client:
        answer = await client.post("/v1/realtime/calls", content=body, headers={"content-type": kind})
        assert answer.status_code == status, answer.text
        assert word in answer.text
    peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    peer.createDataChannel("oai-events")
    silent = await peer.createOffer()
    async with small.http() as client:
        answer = await client.post(
            "/v1/realtime/calls", content=silent.sdp, headers={"content-type": "application/sdp"}
        )
        assert "one line of audio" in answer.text
    async with small.http(None) as stranger:
        assert (await stranger.post("/v1/realtime/calls", content=body)).status_code == 401


async def test_calls_count_as_sessions(small: SmallHouse) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(4):
            peer = await stack.enter_async_context(calling(small, "guest"))
            await peer.is_connected.wait()  # this library trips over a call that is ended while it begins
        with pytest.raises(AssertionError, match="sessions are under way"):
            await stack.enter_async_context(calling(small, "guest"))


async def test_an_offer_makes_the_house_send_nothing_anywhere(small: SmallHouse) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.setblocking(False)
        port = stranger.getsockname()[1]
        peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        peer.createDataChannel("oai-events")
        peer.addTransceiver("audio")
        await peer.setLocalDescription(await peer.createOffer())
        line = f"a=candidate:1 1 udp 2130706431 127.0.0.1 {port} typ host"
        offer = peer.localDescription.sdp.rstrip() + f"\r\n{line}\r\na=end-of-candidates\r\n"
        async with small.http() as client:
            answer = await client.post("/v1/realtime/calls", content=offer, headers={"content-type": "application/sdp"})
            assert answer.status_code == 201, answer.text
            candidates = [line for line in answer.text.splitlines() if line.startswith("a=candidate")]
            assert {line.split()[4] for line in candidates} == {"127.0.0.1"}, "where the offer came, and nowhere else"
            await client.get("/health")  # what would be sent at once was sent
        with pytest.raises(BlockingIOError):
            stranger.recv(1)
        await peer.close()


async def test_a_mistake_of_ours_ends_a_call_and_not_the_house(small: SmallHouse) -> None:
    small.voice.rate = 8_000  # and it goes on at another
    async with calling(small) as peer:
        small.voice.rate = 22_050
        with anyio.fail_after(20):
            await peer.is_over.wait()
    async with small.http() as client:
        assert (await client.get("/health")).status_code == 200


async def offered(*kinds: str) -> list[str]:
    """Return the lines of an offer with these kinds of media, and a channel."""
    peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    for kind in kinds:
        peer.addTransceiver(kind)
    peer.createDataChannel("oai-events")
    await peer.setLocalDescription(await peer.createOffer())
    lines = peer.localDescription.sdp.splitlines()
    await peer.close()
    return lines


@pytest.mark.parametrize(
    ("kinds", "gone"),
    [
        (("audio",), "a=mid:0"),
        (("audio",), "m=audio"),
        (("audio",), "m=application"),
        (("audio",), "a=fingerprint"),
        (("audio", "video"), "-"),
        (("audio", "audio"), "-"),
    ],
)
async def test_an_offer_of_more_or_less_than_a_call_is_refused_and_the_house_goes_on(
    small: SmallHouse, kinds: tuple[str, ...], gone: str
) -> None:
    offer = "\r\n".join(line for line in await offered(*kinds) if not line.startswith(gone)) + "\r\n"
    async with small.http("guest") as client:
        answer = await client.post("/v1/realtime/calls", content=offer, headers={"content-type": "application/sdp"})
        assert answer.status_code == 400, answer.text
        assert (await client.get("/health")).status_code == 200


@pytest.mark.parametrize("session", ["[" * 200_000, '{"model": "\\ud800"}', "[]"])
async def test_a_session_that_is_no_object_is_refused(small: SmallHouse, session: str) -> None:
    async with small.http("guest") as client:
        parts = {"sdp": (None, "v=0\r\n"), "session": (None, session)}
        assert (await client.post("/v1/realtime/calls", files=parts)).status_code == 400


async def test_a_message_that_is_nested_too_deeply_is_told_so_and_the_call_goes_on(small: SmallHouse) -> None:
    async with calling(small, "guest") as peer:
        await peer.until("session.created")
        peer.channel.send("[" * 60_000)
        assert (await peer.until("error"))["error"]["code"] == "invalid_json"
        peer.send("session.update", session={"instructions": "still there"})
        await peer.until("session.updated")


async def test_only_opus_is_answered(small: SmallHouse) -> None:
    async with small.http() as client:
        offer = "\r\n".join(await offered("audio")) + "\r\n"
        answer = await client.post("/v1/realtime/calls", content=offer, headers={"content-type": "application/sdp"})
        formats = [line.split()[1] for line in answer.text.splitlines() if line.startswith("a=rtpmap:")]
        assert formats == ["opus/48000/2"], "a peer that changes its codec changes the rate of its sound"


async def test_a_peer_that_keeps_to_no_window_is_hung_up_on(small: SmallHouse) -> None:
    async with calling(small, "guest") as peer:
        await peer.until("session.created")
        wire: Any = peer.connection.sctp
        send = wire._send_chunk

        async def without_end(chunk: Any) -> None:
            if hasattr(chunk, "stream_seq"):
                chunk.flags, chunk.stream_seq = 0, 99  # the middle of a message, for ever
            await send(chunk)

        wire._send_chunk = without_end
        acknowledged = wire._receive_sack_chunk

        async def boundless(chunk: Any) -> None:
            chunk.advertised_rwnd = 1 << 30
            await acknowledged(chunk)

        wire._receive_sack_chunk = boundless
        for _ in range(16):
            peer.channel.send("x" * 200_000)
        with anyio.fail_after(20):
            await peer.is_over.wait()
    async with small.http() as client:
        assert (await client.get("/health")).status_code == 200
