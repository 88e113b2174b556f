"""Wyoming satellites: the house calls them, hears their room, speaks there, and shows them its timers."""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskGroup
from wyoming import asr, audio, error, info, ping, satellite, timer, vad, wake
from wyoming.event import Event as Wire

from atlas import trace
from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk, silence
from atlas.config import WyomingSatelliteConfig
from atlas.conversation import Actor
from atlas.errors import AtlasError, EngineError, RequestError
from atlas.events import Event, Hush, SpeechOut, SpeechStarted, SpeechStopped, Transcribed, TurnEnded, Woken
from atlas.fields import Fields
from atlas.gateway.realtime_sound import SoundPace
from atlas.gateway.timer_changes import TimerFeed, TimerTransition
from atlas.gateway.voice_session import voice_session
from atlas.gateway.wyoming_info import wake_name
from atlas.gateway.wyoming_wire import Peer, PeerGone, WyomingMicrophone, sound_event
from atlas.house import House
from atlas.speech.endpoint import PRE_ROLL_SECONDS
from atlas.speech.tts import MAX_TEXT_CHARACTERS
from atlas.speech.wake import phrase_of
from atlas.speech.wake_rooms import wake_room
from atlas.voice.options import SessionOptions
from atlas.voice.turns import TurnState
from wall import logs
from wall.backoff import Backoff

CONNECT_SECONDS = 5.0
WAKE_LEVEL_DB = -35.0  # none says how loud it heard its wake word: of several the first to tell answers
LEVEL_SAMPLES = round(0.8 * HEARING_RATE)  # about as long as a wake word: how loud it was says how near its speaker is
FIRST_BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 30.0
PING_SECONDS = 2.0
MOST_ANNOUNCEMENTS = 4  # that a satellite has said at once; more are passed over
SILENT_SECONDS = 8.0  # a satellite that has answered pings, and says nothing for so long, is gone
PLAYED_SECONDS = 2.0  # after the end of a sound, by its length: then it was played, or will not be told to have been
KEEPALIVE = (
    (socket.TCP_KEEPIDLE, 10),
    (socket.TCP_KEEPINTVL, 5),
    (socket.TCP_KEEPCNT, 3),
)  # for old ones, without pings
VERSION = re.compile(r"_v[\d.]+$")  # openWakeWord's models are called "hey_jarvis_v0.1"


async def call(house: House, settings: WyomingSatelliteConfig) -> None:
    """Keep a satellite connected until cancelled, whatever becomes of it."""
    backoff, reachable = Backoff(FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS), True
    while True:
        worked = False
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                stream = await anyio.connect_tcp(settings.host, settings.port)
        except (OSError, TimeoutError) as trouble:
            if reachable:  # said once, not every half minute
                trace.line("satellite not reached", device=settings.device, host=settings.host, error=trouble)
            reachable = False
        else:
            reachable, began = True, anyio.current_time()
            await _serve(house, settings, stream)
            worked = anyio.current_time() > began + LONGEST_BACKOFF_SECONDS  # not one that hangs up as it is called
        await anyio.sleep(backoff.wait_seconds(worked=worked))


async def _serve(house: House, settings: WyomingSatelliteConfig, stream: SocketStream) -> None:
    """Serve a satellite until its connection ends."""
    raw: socket.socket = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - not Django's
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE:
        raw.setsockopt(socket.IPPROTO_TCP, option, value)
    why = "it hung up"
    async with stream:
        try:
            await Satellite(house, settings, Peer(stream)).run()
        except* PeerGone:
            pass
        except* AtlasError as troubles:
            why = str(next(logs.failures_in(troubles)))
        except* Exception as mistakes:  # noqa: BLE001 - of ours, in one connection: the house goes on
            why = f"a mistake of the house: {logs.kind(next(logs.failures_in(mistakes)))}"
    trace.line("satellite gone", device=settings.device, why=why)


class Satellite:
    """One satellite that is connected: its room's session, and what its speaker is doing."""

    def __init__(self, house: House, settings: WyomingSatelliteConfig, peer: Peer) -> None:
        self._house = house
        self._settings = settings
        self._peer = peer
        self._tasks: TaskGroup | None = None
        self._microphone = WyomingMicrophone()
        actor = Actor("", settings.device, "satellite", settings.room)
        self._overhears = house.hears_wake_words(actor)  # over the house's own voice, where there is no other ear
        self._session = voice_session(
            house,
            actor,
            self._tell,
            SessionOptions(after_answer_seconds=settings.follow_up),
            wake=house.hears_wake_words(actor),
        )
        self._wakes_itself = False  # it listens for wake words, and streams only what comes after them
        self._woken = False  # and has, since its microphone was last stopped
        self._phrases: Mapping[str, str] = {}  # of its wake words, by their names
        self._phrase = ""  # the wake word that it told last
        self._latest_sound = silence(0.0)  # moments of its microphone
        self._speaks = False  # between audio-start and audio-stop
        self._silent_at = 0.0  # when the last of it will have been played
        self._played = anyio.Event()
        self._tells_played = False
        self._answers_pings = False
        self._timers = TimerFeed()
        self._announcements = 0  # of its own, that are said or wait for it
        self._pace = SoundPace(anyio.current_time())

    async def run(self) -> None:
        """Serve until the satellite goes. Raises `PeerGone`, and `RequestError` for what is no event."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await self._peer.send(satellite.RunSatellite().event())
            await self._peer.send(info.Describe().event())
            await tasks.start(self._session.run)
            tasks.start_soon(self._ping)
            tasks.start_soon(self._show_timers)
            trace.line("satellite connected", device=self._settings.device, room=self._settings.room)
            speaking = self._house.speaking_device(
                self._settings.device, self._settings.room, self._say, show=self._timers.take
            )
            tuned = self._house.wakes.present(wake_room(self._session.actor))
            with speaking, tuned, self._house.nearest.present(self):
                while True:
                    with anyio.move_on_after(SILENT_SECONDS if self._answers_pings else None) as patience:
                        event = await self._peer.receive()
                    if patience.cancelled_caught:
                        raise RequestError(f"nothing came for {SILENT_SECONDS:.0f} s", code="idle")
                    await self._carry_out(event)

    async def _ping(self) -> None:
        while True:
            await anyio.sleep(PING_SECONDS)
            await self._peer.send(ping.Ping().event())

    # ── what the satellite tells ───────────────────────────────────────────────────────────────────

    async def _carry_out(self, event: Wire) -> None:
        verbs: dict[str, Callable[[Wire], Awaitable[None]]] = {
            "info": self._info,
            "ping": self._pong,
            "pong": self._ponged,
            "detection": self._detected,
            "run-pipeline": self._begin,
            "audio-chunk": self._hear,
            "audio-stop": self._stopped,
            "played": self._was_played,
        }
        if verb := verbs.get(event.type):
            await verb(event)

    async def _info(self, event: Wire) -> None:
        self._phrases = _phrases(event.data)

    async def _pong(self, event: Wire) -> None:
        await self._peer.send(ping.Pong(Fields(event.data).text("text", "")).event())

    async def _ponged(self, event: Wire) -> None:
        self._answers_pings = True

    async def _detected(self, event: Wire) -> None:
        self._wakes_itself = True
        self._phrase = self._phrase_of(Fields(event.data).text("name", ""))

    async def _begin(self, event: Wire) -> None:
        """Begin what the satellite asks for; old ones name the agent, or the wake word, as their pipeline's `name`."""
        fields = Fields(event.data)
        name = fields.text("name", "")
        word = fields.text("wake_word_name", "")
        match fields.text("start_stage", ""):
            case "asr":
                self._wakes_itself = True
                if word or (name and name not in self._house.agents()):
                    self._phrase = self._phrase_of(word or name)
                await self._wake(name if name in self._house.agents() else "")
            case "wake":
                self._wakes_itself = False
                await self._peer.send(wake.Detect().event())
            case "tts":
                text = fields.text("announce_text", "", MAX_TEXT_CHARACTERS)
                if text and self._tasks and self._announcements < MOST_ANNOUNCEMENTS:
                    self._announcements += 1
                    self._tasks.start_soon(self._announce, text)

    async def _announce(self, text: str) -> None:
        try:
            await self._session.say(text)
        finally:
            self._announcements -= 1

    async def _wake(self, agent: str = "") -> None:
        """Listen to somebody who has said the satellite's wake word, unless another room does."""
        phrase, self._phrase = self._phrase, ""
        self._house.attended(self._settings.device)
        if not await self._house.nearest.answers(self, phrase, WAKE_LEVEL_DB):
            await self._stop_listening("", self._house.config.house.language)
            return
        self._woken = True
        self._session.wish = replace(self._session.wish, agent=agent)
        await self._session.woken(phrase)
        await self._session.hear(silence(PRE_ROLL_SECONDS))  # what was said before it last fell silent is another's

    async def _woken_by_house(self, phrase: str, level_db: float) -> None:
        """Go on listening to who has said a wake word that the house heard, unless another room does."""
        self._house.attended(self._settings.device)
        if await self._house.nearest.answers(self, phrase, level_db):
            await self._send(wake.Detection(wake_name(phrase)).event())
        else:
            await self._session.asleep()

    async def _hear(self, event: Wire) -> None:
        sound = self._microphone.sound(event)
        self._latest_sound = (self._latest_sound + sound).cut(-LEVEL_SAMPLES)
        await anyio.sleep(self._pace.delay(sound.seconds, anyio.current_time()))
        if self._wakes_itself and not self._woken:
            if not self._phrase:
                return  # what is still under way after it was told to stop
            await self._wake()
        if self._is_playing():
            phrase = None if self._wakes_itself else self._overhears.hear(sound)
            if phrase:
                self._overhears.reset()  # it hears no more before the house speaks again
                await self._session.woken(phrase)
            return  # its microphone hears the house speak
        await self._session.hear(sound)
        if self._woken and self._session.state is TurnState.ASLEEP:  # nobody said anything
            await self._stop_listening("", self._house.config.house.language)

    async def _stopped(self, event: Wire) -> None:
        self._woken = False
        await self._session.clear()

    async def _was_played(self, event: Wire) -> None:
        self._tells_played = True
        self._silent_at = 0.0
        self._played.set()

    def _phrase_of(self, name: str) -> str:
        return self._phrases.get(name) or phrase_of(VERSION.sub("", name))

    def _is_playing(self) -> bool:
        return self._speaks or anyio.current_time() < self._silent_at + (PLAYED_SECONDS if self._tells_played else 0.0)

    # ── what it is told ────────────────────────────────────────────────────────────────────────────

    async def _tell(self, event: Event) -> None:
        match event:
            case Woken(phrase) if not self._wakes_itself and self._tasks:
                self._tasks.start_soon(self._woken_by_house, phrase, self._latest_sound.level_db)
            case SpeechStarted():
                await self._send(vad.VoiceStarted().event())
            case SpeechStopped():
                await self._send(vad.VoiceStopped().event())
            case Transcribed(text=text, language=language):
                await self._stop_listening(text, language or self._house.config.house.language)
            case SpeechOut(audio=sound) if sound.samples:
                await self._speak(sound)
            case Hush():
                self._silent_at = 0.0
            case TurnEnded(end=end):
                if end == "failed":
                    await self._send(error.Error("the reply failed", "reply-failed").event())
                await self._fall_silent()

    async def _stop_listening(self, text: str, language: str) -> None:
        self._woken = False
        await self._send(asr.Transcript(text, language=language).event())

    async def _speak(self, sound: AudioChunk) -> None:
        if not self._speaks:
            self._speaks, self._played = True, anyio.Event()
            self._overhears.reset()  # the last that it heard was over other words
            await self._send(audio.AudioStart(sound.rate, SAMPLE_BYTES, 1).event())
        self._silent_at = max(self._silent_at, anyio.current_time()) + sound.seconds
        await self._send(sound_event(sound))

    async def _fall_silent(self) -> None:
        if self._speaks:
            self._speaks = False
            await self._send(audio.AudioStop().event())

    async def _send(self, event: Wire) -> None:
        """Send what a session tells; when the satellite is gone, `receive` knows it too, and ends everything."""
        try:
            await self._peer.send(event)
        except PeerGone:
            await self._peer.close()

    async def _say(self, text: str) -> None:
        """Say what the house wants to say; returns when it was played. Raises `EngineError` when it was not."""
        await self._session.say(text)
        with anyio.move_on_after(max(0.0, self._silent_at - anyio.current_time()) + PLAYED_SECONDS):
            await self._played.wait()
        if self._tells_played and not self._played.is_set():
            raise EngineError(f"the satellite {self._settings.device!r} did not play what it was to say")

    # ── timers ─────────────────────────────────────────────────────────────────────────────────────

    async def _show_timers(self) -> None:
        async for change in self._timers.changes():
            await self._peer.send(timer_event(change))


def timer_event(change: TimerTransition) -> Wire:
    """Return what a satellite is told of a timer."""
    match change.kind:
        case "started":
            news: Any = timer.TimerStarted(change.id, change.seconds, change.name or None)
        case "updated":
            news = timer.TimerUpdated(change.id, change.is_running, change.left_seconds)
        case "cancelled":
            news = timer.TimerCancelled(change.id)
        case "finished":
            news = timer.TimerFinished(change.id)
    event: Wire = news.event()
    return event


def _phrases(described: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the phrases of a satellite's wake words by their names, as far as it tells them."""
    programs = described.get("wake")
    models = [
        model
        for program in (programs if isinstance(programs, list) else [])
        if isinstance(program, dict) and isinstance(program.get("models"), list)
        for model in program["models"]
        if isinstance(model, dict)
    ]
    texts = [(model.get("name"), model.get("phrase")) for model in models]
    return {name: phrase.lower() for name, phrase in texts if isinstance(name, str) and isinstance(phrase, str)}
