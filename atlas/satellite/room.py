"""What one room does: asleep until its wake word, then an ear and a voice of the house, and asleep again.

Nothing here waits. The microphone's chunks and the house's messages come in one after the other, time is counted in
the samples heard, and what follows is sent, played or told to a hook.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import uuid4

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.satellite.earcons import MELODIES, RATE, earcon
from atlas.satellite.echo import EchoCanceller
from atlas.satellite.player import Player, QueuedSound
from atlas.satellite.rings import Ring, Rings
from atlas.satellite.wake_listener import WakeHeard, WakeListener
from atlas.speech.resample import Resampler
from atlas.speech.wake import WakeStream

Json = dict[str, Any]
SPEECH_SECONDS = 6.0  # from the wake word to the first word; then it was no call, and nobody hears an apology
WORDS_SECONDS = 40.0  # longer is no utterance; the house cuts at 30
ANSWER_SECONDS = 60.0  # from the end of speech to its words, and from the answer's start to its first sound
SILENT_SECONDS = 4.0  # from the words to the answer's start; "stop" has no answer
FOLLOW_UP_SECONDS = 8.0  # after a question of the house one need not say the wake word again
LEAD_SECONDS = 2.0  # of sound sent before the house notices speech that no wake word led
LINE_SECONDS = 10.0  # how long a sentence waits for a line that broke in its middle: Wi-Fi stumbles, a house restarts
STOP_SECONDS = 8.0  # after each ring "stop" needs no wake word
BREATH_SECONDS = 0.3  # who speaks on within it needs no tone, which would only sound over the first words
TAIL_SECONDS = 0.3  # what was written to the loudspeaker is heard so much later: it must not be heard as an answer
THINKING_SECONDS = 0.7  # from the end of speech; who hears nothing for longer says it again
LOUDER = 1.4  # each ring than the one before …
LOUDEST = 3.0
log = logging.getLogger("atlas")


class State(Enum):
    """What goes on in the room."""

    ASLEEP = "asleep"  # nothing leaves this machine
    LISTENING = "listening"  # woken, or asked something: the next words are for the house
    HEARING = "hearing"  # somebody speaks to the house
    ANSWERING = "answering"  # the house thinks or speaks


@dataclass(slots=True)
class Reply:
    """A response of the house that is being made or played."""

    id: str
    stretch: QueuedSound
    words: str = ""
    ring: bool = False


class SatelliteRoom:
    """One room: `hear` its microphone and `take` the house's messages; it answers by `send`, its player and hooks."""

    def __init__(
        self,
        *,
        send: Callable[..., None],
        player: Player,
        waking: WakeListener,
        rings: Rings,
        thresholds: dict[str, float] | None = None,  # of wake words: what the house sets for this room goes in here
        canceller: EchoCanceller | None = None,
        stopping: WakeStream | None = None,  # hears "stop" where nobody was called
        hook: Callable[..., None] = lambda event, **more: None,
        earcons: bool = True,
        follow_up_seconds: float = 0.0,  # after an answer in which one may go on without the wake word
    ) -> None:
        self.state = State.ASLEEP
        self.muted = False
        self.up = False
        self.now = 0.0  # seconds of sound heard
        self._send = send
        self._player = player
        self._waking = waking
        self._rings = rings
        self._thresholds = {} if thresholds is None else thresholds
        self._canceller = canceller
        self._stopping = stopping
        self._unasked = False  # what is being said or rings was not asked for by a voice
        self._hook = hook
        self._earcons = earcons
        self._follow_up_seconds = follow_up_seconds
        self._call: Json = {}  # what woke it, as the house was told, until its words are committed …
        self._called = bytearray()  # … and the sound that followed: sent again when the line breaks in its middle
        self._woken_by: Json = {}  # the last wake word, and how loud it was
        self._is_cut = False  # it has broken there
        self._uplink = Resampler(HEARING_RATE, RATE)
        self._deadline: float | None = None
        self._replies: list[Reply] = []
        self._over_at: float | None = None  # when the last of them was played to its end
        self._may_stay_silent = False  # the house has understood; what has no answer by its deadline needs none
        self._tone_at: float | None = None  # when the tone that it is awake is due
        self._thinking_at: float | None = None  # when it is said by a tone that the answer takes a while
        self._next_ring: Json | None = None  # said by the house to be what its next response is about

    # ── the microphone ─────────────────────────────────────────────────────────────────────────────

    def hear(self, chunk: AudioChunk) -> bool:
        """Take the next chunk of the microphone; return whether nothing goes on here: the next may wait."""
        self.now += chunk.seconds
        if self._canceller:
            chunk = self._canceller.heard(chunk)
        woken = None if self.muted else self._waking.hear(chunk)
        self._pass_time()
        if woken:
            self._wake(woken)
        elif self._is_stopped_by(chunk):
            self._silence()
        elif self._streams:
            self._stream(chunk)
        return self._is_quiet

    @property
    def _is_quiet(self) -> bool:
        is_used = self._unasked or self._replies or self._rings.ringing or self._player.busy
        return self.state is State.ASLEEP and not is_used and (self.muted or self._waking.is_quiet)

    def _is_stopped_by(self, chunk: AudioChunk) -> bool:
        """Tell whether somebody said "stop" to what rings or speaks here by itself, also when the house is away."""
        armed = self._stopping is not None and not self.muted and (self._unasked or self._rings.ringing)
        return armed and self._stopping is not None and self._stopping.hear(chunk) is not None

    def press(self) -> None:
        """Do what a button does: silence what sounds, else be woken."""
        if self._rings.ringing or self._player.busy:
            self._silence()
        else:
            self._wake(WakeHeard("", 0.0, AudioChunk(b"")))

    def mute(self, muted: bool) -> None:
        """Hear nothing, or hear again."""
        if muted != self.muted:
            self.muted = muted
            self._hook("muted" if muted else "unmuted")
            if muted and self.state is not State.ANSWERING:
                self._sleep()

    @property
    def _streams(self) -> bool:
        if self.muted or not (self.up or self._is_cut):
            return False
        if self.state is State.ANSWERING:  # without echo cancellation the house would hear itself
            return self._canceller is not None or not self._player.busy
        return self.state in (State.LISTENING, State.HEARING)

    def _wake(self, woken: WakeHeard) -> None:
        if self._rings.ringing:
            self._silence()
            return
        if not self.up:
            self._fail("the house is away")
            return
        self._hush()
        self._rings.stop()
        self._woken_by = {"phrase": woken.phrase, "level_db": woken.level_db}
        self._begin_call()
        self._send("atlas.wake", **self._call)
        self._uplink = Resampler(HEARING_RATE, RATE)
        self._become(State.LISTENING, SPEECH_SECONDS)
        self._stream(woken.pre_roll)

    def _stream(self, chunk: AudioChunk) -> None:
        sound = self._uplink.feed(chunk).pcm
        self._called += sound
        if not self._call:
            del self._called[: -round(LEAD_SECONDS * RATE) * 2]
        if sound and self.up:
            self._send("input_audio_buffer.append", audio=base64.b64encode(sound).decode())

    # ── the house ──────────────────────────────────────────────────────────────────────────────────

    def connected(self, up: bool) -> None:
        """Note that the house came or went."""
        self.up = up
        self._hook("connected" if up else "disconnected")
        if up:
            self._send("atlas.hello", plays=True)
            if stopped := self._rings.rang():
                self._send("atlas.rang", ids=stopped)
            if self._is_cut:
                self._call_again()
            return
        for reply in self._replies:
            self._player.finish(reply.stretch)
        if self._call and self.state is not State.ASLEEP:
            self._is_cut = True
            self._become(State.HEARING, LINE_SECONDS)
            self._thinking_at = self.now + THINKING_SECONDS
        elif self.state is not State.ASLEEP:
            self._fail("the house went away")

    def _begin_call(self, heard: bytes = b"") -> None:
        self._call = {**self._woken_by, "call_id": uuid4().hex}
        self._called[:] = heard

    def _go_on(self, heard: bytes = b"") -> None:
        """Take what follows, and what was heard of it, for a call of its own, though nobody says the wake word."""
        self._begin_call(heard)
        self._send("atlas.call", call_id=self._call["call_id"])

    def _call_again(self) -> None:
        """Send again what woke it and was said then. The house knows by its id a call that it has heard to its end."""
        self._is_cut = False
        log.info("the line broke while somebody spoke; what they said is sent again")
        self._send("atlas.wake", **self._call)
        self._become(State.LISTENING, SPEECH_SECONDS)
        for start in range(0, len(self._called), 2 * RATE):  # a second at a time: the line takes few messages at once
            sound = self._called[start : start + 2 * RATE]
            self._send("input_audio_buffer.append", audio=base64.b64encode(sound).decode())

    def take(self, message: Json) -> None:
        """Take the next message of the house."""
        match message["type"]:
            case "atlas.wake_thresholds":
                self._thresholds.clear()
                self._thresholds.update(message["thresholds"])
            case "atlas.woken":
                self._tone_at = self.now + BREATH_SECONDS
                self._hook("woken", phrase=message["phrase"])
            case "atlas.not_nearest" if self.state is not State.ASLEEP:
                self._become(State.ASLEEP)
            case "input_audio_buffer.speech_started" if self.state is not State.ASLEEP:
                self._hush()
                if not self._call:
                    self._go_on(bytes(self._called))
                self._become(State.HEARING, WORDS_SECONDS)
            case "input_audio_buffer.committed" if self.state is State.HEARING:
                self._forget_call()
                self._tone("heard")
                self._become(State.ANSWERING, ANSWER_SECONDS)
                self._thinking_at = self.now + THINKING_SECONDS
            case "conversation.item.input_audio_transcription.completed":
                self._understood(message["transcript"].strip())
            case "conversation.item.input_audio_transcription.failed":
                self._fail("the house could not understand it")
            case "response.created":
                self._begin(message["response"]["id"])
            case "response.output_audio.delta":
                for reply in self._of(message):
                    self._player.feed(reply.stretch, base64.b64decode(message["delta"]))
            case "response.output_audio_transcript.delta":
                for reply in self._of(message):
                    reply.words += message["delta"]
            case "response.done":
                self._done(message["response"])
            case "atlas.ring":
                self._next_ring = message
            case "atlas.rings":
                self._rings.expect([Ring(one["id"], _tone(one["tone"]), one["in_seconds"]) for one in message["rings"]])
            case "error":
                log.warning("the house refused something: %s", message["error"]["message"])

    def _understood(self, words: str) -> None:
        if words:
            self._hook("heard", text=words)
            if self.state is State.ANSWERING and not self._replies:
                self._become(State.ANSWERING, SILENT_SECONDS)
                self._may_stay_silent = True
        elif self.state is State.ANSWERING and not self._replies:  # a cough: nobody is answered
            self._become(State.LISTENING, SPEECH_SECONDS / 2)

    def _begin(self, identity: str) -> None:
        ring, self._next_ring = self._next_ring, None
        if ring:
            self._rings.rung_by_house(ring["id"])
            gain = min(LOUDEST, LOUDER ** int(ring.get("times", 0)))
            aloud = ring["tone"] == "alarm"  # it is to wake somebody
            tone = self._player.begin(gain, aloud=aloud)
            self._player.feed(tone, earcon(_tone(ring["tone"])))
            self._player.finish(tone)
            self._hook("ringing", text=ring.get("text", ""))
            self._replies.append(Reply(identity, self._player.begin(gain, aloud=aloud), ring=True))
        else:
            self._replies.append(Reply(identity, self._player.begin()))
        self._over_at = None
        self._unasked = self._unasked or ring is not None or self.state is State.ASLEEP
        if self.state is not State.ASLEEP or ring:
            self._become(State.ANSWERING)
        self._hook("answering")

    def _done(self, response: Json) -> None:
        for reply in self._replies:
            if reply.id == response["id"]:
                self._player.finish(reply.stretch)
                if response["status"] == "failed" and not reply.words:
                    self._tone("failed")

    def _of(self, message: Json) -> list[Reply]:
        return [reply for reply in self._replies if reply.id == message["response_id"]]

    # ── time ───────────────────────────────────────────────────────────────────────────────────────

    def _pass_time(self) -> None:
        if self._tone_at is not None and self.now >= self._tone_at:
            self._tone_at = None
            self._tone("woken")
        if self._thinking_at is not None and self.now >= self._thinking_at:
            self._thinking_at = None
            if (self.state is State.ANSWERING or self._is_cut) and not self._player.busy:
                self._tone("thinking")
        if self._rings.due(self.now, house_is_there=self.up):
            self._ring()
        if self._replies and all(reply.stretch.over.is_set() for reply in self._replies):
            self._over_at = self._over_at or self.now
            if self.now - self._over_at >= TAIL_SECONDS:
                self._played()
        if self._deadline is not None and self.now > self._deadline:
            if self.state is State.LISTENING or self._may_stay_silent:
                self._sleep()
            else:
                self._fail("nothing came of it")

    def _played(self) -> None:
        """All that was said has been heard: listen to what is answered to a question, else sleep."""
        replies, self._replies, self._over_at = self._replies, [], None
        for reply in replies:
            if not reply.stretch.hushed:
                self._send("atlas.played", response_id=reply.id, played_ms=reply.stretch.played_ms)
        if self.state is not State.ANSWERING:
            self._unasked = False
            return
        last = replies[-1]
        if last.ring:
            self._become(State.LISTENING, STOP_SECONDS)
        elif seconds := FOLLOW_UP_SECONDS if last.words.rstrip().endswith("?") else self._follow_up_seconds:
            self._become(State.LISTENING, seconds)
            self._go_on()
            self._hook("listening")
        else:
            self._sleep()

    def _ring(self) -> None:
        """Ring without the house, which is away."""
        aloud = self._rings.kind == "alarm"
        stretch = self._player.begin(min(LOUDEST, LOUDER**self._rings.times), aloud=aloud)
        self._player.feed(stretch, earcon(self._rings.kind))
        self._player.finish(stretch)
        self._hook("ringing")

    # ── what follows ───────────────────────────────────────────────────────────────────────────────

    def _become(self, state: State, seconds: float | None = None) -> None:
        self.state, self._may_stay_silent = state, False
        if state is not State.LISTENING:
            self._tone_at = None
        if state is not State.ANSWERING:
            self._thinking_at = None
        if state is State.ASLEEP:
            self._forget_call()
        if state is State.ASLEEP or state is State.HEARING:
            self._unasked = False
        self._deadline = None if seconds is None else self.now + seconds

    def _sleep(self) -> None:
        if self.state is not State.ASLEEP:
            self._become(State.ASLEEP)
            self._send("atlas.sleep")
            self._hook("asleep")

    def _forget_call(self) -> None:
        self._call, self._is_cut = {}, False
        self._called.clear()

    def _fail(self, why: str) -> None:
        log.warning("failed: %s", why)
        self._tone("failed")
        self._hook("failed", text=why)
        self._sleep()

    def _silence(self) -> None:
        """Stop what sounds, here and in the house."""
        self._rings.stop()
        self._send("atlas.silence")
        if self._replies:
            self._send("response.cancel")
        self._hush()
        self._sleep()
        self._hook("silent")

    def _hush(self) -> None:
        self._unasked = False
        self._player.hush()
        self._replies.clear()
        self._over_at = None

    def _tone(self, name: str) -> None:
        if self._earcons:
            self._player.tone(name)


def _tone(name: str) -> str:
    """Return the melody of what rings; that of a newer house's name is the plainest."""
    return name if name in MELODIES else "announcement"
