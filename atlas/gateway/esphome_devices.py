"""ESPHome's voice devices: the house calls them, hears their room, speaks there, and shows them its timers."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from atlas import trace
from atlas.audio import SAMPLE_BYTES, AudioChunk, silence
from atlas.bell import Ringing
from atlas.config import EsphomeDeviceConfig
from atlas.conversation import Actor
from atlas.errors import AtlasError, EngineError, RequestError
from atlas.events import (
    Committed,
    Event,
    Hush,
    SpeechOut,
    SpeechStarted,
    SpeechStopped,
    Transcribed,
    TurnEnded,
    Woken,
)
from atlas.gateway.esphome_link import (
    DeviceGone,
    DeviceLink,
    DevicePlayed,
    PipelineStarted,
    PipelineStopped,
    linked,
)
from atlas.gateway.esphome_sounds import FetchedSound, SoundServer
from atlas.gateway.realtime_sound import SoundPace
from atlas.gateway.timer_changes import TimerFeed, TimerTransition
from atlas.gateway.voice_session import voice_session
from atlas.house import House
from atlas.speech.endpoint import PRE_ROLL_SECONDS
from atlas.speech.resample import Resampler
from atlas.voice.options import SessionOptions
from atlas.voice.turns import TurnState
from wall import logs
from wall.backoff import Backoff

FIRST_BACKOFF_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 30.0
LATE_SECONDS = 15.0  # after that end, for a device that has fetched the sound: it plays it, if slowly
PLAYED_SECONDS = 3.0  # after the end of a sound, by its length: then it was played, or will not be told to have been
FETCHED_AHEAD_SECONDS = 2.0  # of sound that a device fetches: its player wants some before it begins, and Wi-Fi stalls
STREAM_RATE = 16_000  # of sound that a device takes over its connection …
STREAM_BYTES = 1_024  # … in pieces of this size
WATCH_SECONDS = 0.25
MOST_ENDED = 64  # timers that the device is to ring for
QUIET_WATCHES = 8  # without anybody who works on what was said: then nobody will answer it
RUN_SECONDS = 60.0  # of listening; a device that sends nothing for so long would light up for ever
WAKE_LEVEL_DB = -35.0  # no device says how loud it heard its wake word: of several the first to tell answers
ANSWERED_ELSEWHERE = "duplicate_wake_up_detected"  # by these names devices know them for no failures
NOTHING_HEARD = "stt-no-text-recognized"

Stage = Literal["awaiting", "listening", "recognising", "answering", "speaking"]


async def call(house: House, settings: EsphomeDeviceConfig, sounds: SoundServer | None) -> None:
    """Keep a device connected until cancelled, whatever becomes of it."""
    backoff, last_trouble = Backoff(FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS), ""
    while True:
        began = anyio.current_time()
        trouble = await _serve(house, settings, sounds)
        if trouble != last_trouble:  # said once, not every half minute
            trace.line("esphome device away", device=settings.device, why=trouble)
        last_trouble = trouble
        worked = anyio.current_time() > began + LONGEST_BACKOFF_SECONDS  # not one that hangs up as soon as it is called
        await anyio.sleep(backoff.wait_seconds(worked=worked))


async def _serve(house: House, settings: EsphomeDeviceConfig, sounds: SoundServer | None) -> str:
    """Serve a device until its connection ends; return why."""
    why = "it hung up"
    try:
        async with linked(settings) as link:
            await VoiceDevice(house, settings, link, sounds).run()
    except* DeviceGone:
        pass
    except* AtlasError as troubles:
        trouble = next(logs.failures_in(troubles))
        why = f"{trouble} ({trouble.hint})" if trouble.hint else str(trouble)
    except* Exception as mistakes:  # noqa: BLE001 - of ours, in one connection: the house goes on
        why = f"a mistake of the house: {logs.kind(next(logs.failures_in(mistakes)))}"
    return why


@dataclass(slots=True, eq=False)
class _Run:
    """From the device's wish to be heard to the end of the answer."""

    stage: Stage
    utterance_id: str = ""
    began: float = 0.0
    quiet_watches: int = 0
    over: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True, eq=False)
class _Announcement:
    """What the house says of its own accord."""

    text: str
    is_hushed: bool = False
    was_played: bool = False
    sound: FetchedSound | None = None
    over: anyio.Event = field(default_factory=anyio.Event)


class _Stream:
    """Sound that the device takes over its connection."""

    def __init__(self, link: DeviceLink, rate: int) -> None:
        self._link = link
        self._resampler = Resampler(rate, STREAM_RATE)
        link.tell("TTS_STREAM_START")

    def feed(self, sound: AudioChunk) -> None:
        self._send(self._resampler.feed(sound))

    def finish(self) -> None:
        self._send(self._resampler.flush())
        self._link.tell("TTS_STREAM_END")

    def _send(self, sound: AudioChunk) -> None:
        for start in range(0, len(sound.pcm), STREAM_BYTES):
            self._link.play(sound.pcm[start : start + STREAM_BYTES])


class VoiceDevice:
    """One device that is connected: its room's session, and what its speaker is doing."""

    def __init__(
        self, house: House, settings: EsphomeDeviceConfig, link: DeviceLink, sounds: SoundServer | None
    ) -> None:
        self._house = house
        self._settings = settings
        self._link = link
        self._sounds = sounds
        self._streams = link.can("SPEAKER")  # has no player: it takes sound over its connection
        self._tasks: TaskGroup | None = None
        self._session = voice_session(
            house,
            Actor("", settings.device, "satellite", settings.room),
            self._tell,
            SessionOptions() if self._streams else SessionOptions(ahead_seconds=FETCHED_AHEAD_SECONDS),
            wake=house.wake.listen(),
        )
        self._run: _Run | None = None
        self._phrase = ""  # the wake word of the last run: one that goes on by itself says none
        self._goes_on = False  # the device was told to listen again once it has played
        self._output: FetchedSound | _Stream | None = None  # of the reply that is being spoken
        self._played = anyio.Event()  # the sound of the last run
        self._silent_at = 0.0  # when it will have been played, told or not
        self._announcement: _Announcement | None = None
        self._announcing = anyio.Lock()
        self._timers = TimerFeed()
        self._ended: dict[str, TimerTransition] = {}  # of which the device is not told yet
        self._pace = SoundPace(anyio.current_time())

    async def run(self) -> None:
        """Serve until the device goes. Raises `DeviceGone`."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            await self._link.configure()
            await tasks.start(self._session.run)
            if self._link.can("TIMERS"):
                tasks.start_soon(self._show_timers)
            trace.line("esphome device connected", device=self._settings.device, room=self._settings.room)
            if not self._streams and self._sounds is None:
                trace.line("esphome device is mute", device=self._settings.device, hint="set host in [esphome]")
            speaking = self._house.speaking_device(
                self._settings.device, self._settings.room, self._say, show=self._timers.take, ring=self._ring
            )
            with speaking, self._house.nearest.present(self):
                while True:
                    await self._carry_out(await self._link.receive())

    # ── what the device tells ──────────────────────────────────────────────────────────────────────

    async def _carry_out(self, message: object) -> None:
        match message:
            case bytes():
                await self._hear(message)
            case PipelineStarted():
                await self._begin(message)
            case PipelineStopped(is_aborted=True):
                await self._abort()
            case PipelineStopped():
                await self._finish_speaking()
            case DevicePlayed():
                self._played.set()

    async def _begin(self, started: PipelineStarted) -> None:
        """Listen to somebody; what was being said, or answered, on this device is over."""
        self._house.attended(self._settings.device)
        if not await self._house.nearest.answers(self, started.phrase, WAKE_LEVEL_DB):
            self._end_unanswered(ANSWERED_ELSEWHERE, "another room answers")
            return
        self._run_is_over()
        if self._announcement:
            self._announcement.is_hushed = True
        self._phrase = started.phrase or (self._phrase if self._goes_on else "")
        self._goes_on = False
        await self._session.clear()
        awaits = started.awaits_wake_word and self._session.state is TurnState.ASLEEP
        if not awaits:
            await self._session.woken(self._phrase)
        self._run = _Run("awaiting" if awaits else "listening", began=anyio.current_time())
        self._link.tell("RUN_START")
        self._link.tell("WAKE_WORD_START" if awaits else "STT_START")
        assert self._tasks
        self._tasks.start_soon(self._watch, self._run)
        if not awaits:
            await self._session.hear(silence(PRE_ROLL_SECONDS))  # what was said before is another's

    async def _hear(self, pcm: bytes) -> None:
        if self._run is None or self._run.stage not in ("awaiting", "listening"):
            return  # what is still under way after it was told to stop
        sound = AudioChunk(pcm[: len(pcm) // SAMPLE_BYTES * SAMPLE_BYTES])
        await anyio.sleep(self._pace.delay(sound.seconds, anyio.current_time()))
        await self._session.hear(sound)

    async def _abort(self) -> None:
        """Be silent: somebody pressed the device's button."""
        if self._run is None and self._output is None:
            return
        if self._run:
            self._link.tell("RUN_END")
        self._run_is_over()
        await self._be_silent()
        await self._session.clear()

    async def _be_silent(self) -> None:
        self._house.attended(self._settings.device)
        with suppress(RequestError):  # nothing was being said
            await self._session.cancel()

    async def _finish_speaking(self) -> None:
        """Take what was heard as whole: the device says so, by a button that was let go."""
        if self._run is None or self._run.stage != "listening":
            return
        try:
            await self._session.commit()
            await self._session.respond()
        except RequestError:
            self._end_unanswered(NOTHING_HEARD, "nothing was heard")

    async def _watch(self, run: _Run) -> None:
        """End a run that nobody will answer: nobody spoke, or what was said wants no answer."""
        while True:
            with anyio.move_on_after(WATCH_SECONDS):
                await run.over.wait()
                return
            asleep = self._session.state is TurnState.ASLEEP
            idle = self._session.state in (TurnState.ASLEEP, TurnState.LISTENING)
            run.quiet_watches = run.quiet_watches + 1 if idle and run.stage in ("recognising", "answering") else 0
            listened = anyio.current_time() - run.began
            if run.stage == "listening" and (asleep or listened > RUN_SECONDS):
                self._end_unanswered(NOTHING_HEARD, "nobody spoke")
            elif run.quiet_watches >= QUIET_WATCHES:
                self._end_answered("", is_question=False)

    # ── what it is told ────────────────────────────────────────────────────────────────────────────

    async def _tell(self, event: Event) -> None:
        match event:
            case SpeechOut(audio=sound, text=text) if sound.samples:
                self._speak(sound, text)
            case Hush():
                self._fall_silent()
            case TurnEnded(end=end, text=text):
                if self._run and self._run.stage in ("answering", "speaking"):
                    self._end_answered("" if end == "done" else end, is_question=text.rstrip().endswith("?"))
                self._fall_silent()
            case _ if self._run:
                self._tell_hearing(event, self._run)

    def _tell_hearing(self, event: Event, run: _Run) -> None:
        match event:
            case Woken() if run.stage == "awaiting":
                run.stage, run.began = "listening", anyio.current_time()
                self._link.tell("WAKE_WORD_END")
                self._link.tell("STT_START")
            case SpeechStarted(utterance_id=id) if run.stage == "listening":
                run.utterance_id = id
                self._link.tell("STT_VAD_START")
            case SpeechStopped(utterance_id=id) | Committed(utterance_id=id) if run.stage == "listening":
                run.stage, run.utterance_id = "recognising", id
                self._link.tell("STT_VAD_END")
            case Transcribed(utterance_id=id, text=text) if run.stage == "recognising" and run.utterance_id == id:
                if not text and not event.error:
                    self._end_unanswered(NOTHING_HEARD, "no words were heard")
                    return
                run.stage = "answering"
                self._link.tell("STT_END", text=text)
                self._link.tell("INTENT_START")

    def _speak(self, sound: AudioChunk, text: str) -> None:
        if self._output is None:
            if self._run and self._run.stage == "answering":
                self._output = self._begin_answer(self._run, text, sound.rate)
            elif self._announcement and not self._announcement.is_hushed and not self._announcement.over.is_set():
                self._output = self._begin_announcement(self._announcement)
        if self._output is None:
            return  # what nobody here waits for any more
        self._output.feed(sound)
        self._silent_at = max(self._silent_at, anyio.current_time()) + sound.seconds
        if isinstance(self._output, FetchedSound) and self._output.is_abandoned and self._tasks:
            self._output.is_abandoned = False
            self._tasks.start_soon(self._be_silent)  # somebody silenced the device, and it hung up

    def _begin_answer(self, run: _Run, text: str, rate: int) -> FetchedSound | _Stream | None:
        run.stage = "speaking"
        self._played = anyio.Event()
        self._link.tell("TTS_START", text=text.strip())
        if self._streams:
            self._link.tell("TTS_END", url="stream")  # some address has to be named
            return _Stream(self._link, rate)
        if self._sounds is None:
            return None
        url, sound = self._sounds.offer(self._link.form)
        self._link.tell("TTS_END", url=url)
        return sound

    def _begin_announcement(self, announcement: _Announcement) -> FetchedSound | None:
        if self._sounds is None or self._tasks is None:
            return None
        url, sound = self._sounds.offer(self._link.form)
        announcement.sound = sound
        self._tasks.start_soon(self._announce, announcement, url, sound)
        return sound

    async def _announce(self, announcement: _Announcement, url: str, sound: FetchedSound) -> None:
        self._goes_on = announcement.text.rstrip().endswith("?") and self._link.can("START_CONVERSATION")
        is_over = await self._link.announce(url, announcement.text, listens_then=self._goes_on)
        announcement.was_played = is_over and sound.is_fetched
        announcement.over.set()
        self._note_unfetched(sound)

    def _note_unfetched(self, sound: FetchedSound) -> None:
        if not sound.is_fetched:
            trace.line(
                "sound not fetched", device=self._settings.device, hint="can it reach host and port of [esphome]?"
            )

    def _fall_silent(self) -> None:
        output, self._output = self._output, None
        if output:
            output.finish()

    def _end_answered(self, failure: str, *, is_question: bool) -> None:
        """End a run that was answered, if only by silence."""
        self._goes_on = is_question and not failure
        if failure == "failed" and self._output is None:
            self._link.tell("ERROR", code="intent-failed", message="the reply failed")
        self._link.tell("INTENT_END", conversation_id="", continue_conversation=str(int(self._goes_on)))
        if isinstance(self._output, FetchedSound):
            self._note_unfetched(self._output)
        self._fall_silent()
        self._link.tell("RUN_END")
        self._run_is_over()

    def _end_unanswered(self, code: str, message: str) -> None:
        self._link.tell("ERROR", code=code, message=message)
        self._link.tell("RUN_END")
        self._run_is_over()

    def _run_is_over(self) -> None:
        run, self._run = self._run, None
        if run:
            run.over.set()

    # ── what the house says by itself ──────────────────────────────────────────────────────────────

    async def _say(self, text: str) -> None:
        """Say what the house wants to say; returns when it was played. Raises `EngineError` when it was not."""
        if not self._link.can("ANNOUNCE") or self._sounds is None:
            raise EngineError(
                f"{self._settings.device!r} cannot announce", hint="it takes a newer ESPHome, and host in [esphome]"
            )
        async with self._announcing:
            await self._quiet()
            announcement = self._announcement = _Announcement(text)
            try:
                await self._session.say(text)
                if not announcement.is_hushed:
                    late = LATE_SECONDS if announcement.sound and announcement.sound.is_fetched else PLAYED_SECONDS
                    with anyio.move_on_after(max(0.0, self._silent_at - anyio.current_time()) + late):
                        await announcement.over.wait()
            finally:
                self._announcement = None
        if not (announcement.was_played or announcement.is_hushed):
            raise EngineError(f"{self._settings.device!r} did not play what it was to say")

    async def _quiet(self) -> None:
        """Wait until nobody is answered, and what was said last was played."""
        while self._run:
            await self._run.over.wait()
            with anyio.move_on_after(max(0.0, self._silent_at - anyio.current_time()) + PLAYED_SECONDS):
                await self._played.wait()

    # ── timers ─────────────────────────────────────────────────────────────────────────────────────

    async def _show_timers(self) -> None:
        async for change in self._timers.changes():
            if change.kind == "finished":
                self._ended[change.id] = change  # told once the words were said: from then on it rings by itself
                for oldest in list(self._ended)[:-MOST_ENDED]:
                    del self._ended[oldest]
            else:
                self._link.show(change)

    async def _ring(self, text: str, ringing: Ringing) -> None:
        """Say what is due; the device itself goes on ringing for a timer until somebody stops it there."""
        try:
            await self._say(text)
        finally:
            if ended := self._ended.pop(ringing.id, None):
                self._link.show(ended)
        if ended:
            self._house.attended(self._settings.device)  # the house need not ring again
