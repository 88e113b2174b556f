"""What the Realtime door does for a client that is a room: it wakes by itself, rings, and reports what was played."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

from atlas.bell import Coming, RecordedWords, Ringing
from atlas.errors import EngineError
from atlas.events import Committed, Event, RecordedSpeech, TextDelta, TurnStarted
from atlas.fields import Json, wrong
from atlas.gateway.chat import MAX_NAME_CHARACTERS
from atlas.gateway.realtime_wire import message
from atlas.house import House
from atlas.speech.wake_rooms import wake_room
from atlas.voice.session import Session

REPORT_SECONDS = (
    10.0  # after the sound of an announcement has gone out; a device that is silent by then did not play it
)
LOUDEST_DB, QUIETEST_DB = 0.0, -120.0  # decibels below full scale


class RoomClient:
    """One connection's room; until it said `atlas.hello`, it is a client like any other."""

    def __init__(self, session: Session, house: House, put: Callable[..., Awaitable[None]]) -> None:
        self._session = session
        self._house = house
        self._put = put
        self.is_there = False  # it has said hello
        self._reports = False  # it says what was played
        self._speaking = anyio.Lock()
        self._ringing: Ringing | None = None
        self.rang_timer = False  # what it listens after: no tool has anything to stop, the bell just ends
        self._was_called = False  # since it last slept
        self._call_id = ""  # of the call whose words are being heard
        self._has_rung = False  # since it was last called or slept
        self._said = ""  # the response of the announcement under way
        self._played = anyio.Event()

    async def hello(self, event: Json) -> None:
        """Take a client for a room, and tell it where it is and what it is called by."""
        actor, wake_words = self._session.actor, self._house.wake.phrases
        self.is_there, self._reports = True, event.get("plays") is True
        await self._put(message("atlas.device", device=actor.device, room=actor.room, wake_words=list(wake_words)))
        await self.tell_thresholds()

    async def tell_thresholds(self) -> None:
        """Tell a room by which thresholds it shall know its wake words."""
        if self.is_there:
            thresholds = self._house.wakes.thresholds(wake_room(self._session.actor))
            await self._put(message("atlas.wake_thresholds", thresholds=dict(thresholds)))

    async def wake(self, event: Json) -> None:
        """Take what follows as said to the house. Raises `RequestError` for a phrase or level that is none."""
        phrase = event.get("phrase", "")
        if not isinstance(phrase, str) or len(phrase) > MAX_NAME_CHARACTERS:
            raise wrong("phrase", f"a text of up to {MAX_NAME_CHARACTERS} characters", phrase)
        level = event.get("level_db", QUIETEST_DB)
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not QUIETEST_DB <= level <= LOUDEST_DB:
            raise wrong("level_db", f"a number from {QUIETEST_DB:.0f} to {LOUDEST_DB:.0f}", level)
        call_id = _call_id(event)
        if call_id and self._house.nearest.has_heard(call_id):  # and it was acted on: once is enough
            await self._put(message("atlas.not_nearest"))
            return
        self._call_id = call_id
        self._has_rung = self.rang_timer = False
        self._attend()
        if await self._house.nearest.answers(self, phrase, level):
            self._was_called = True
            await self._session.woken(phrase)
        else:
            await self._put(message("atlas.not_nearest"))

    async def call(self, event: Json) -> None:
        """Note that what follows is another call, without a wake word. Raises `RequestError` for an id that is none."""
        self._call_id = _call_id(event)

    async def sleep(self, event: Json) -> None:
        """Hear nothing more before it wakes again."""
        await self._session.asleep()
        self._was_called = self._has_rung = False

    async def silence(self, event: Json) -> None:
        """Note that somebody silenced what rings here, by a button or a word that the room heard itself."""
        self._attend()

    async def played(self, event: Json) -> None:
        """Note that a response was played to its end."""
        if event.get("response_id") == self._said:
            self._played.set()

    async def say(self, text: str) -> None:
        """Say something by itself; returns when it was played, as far as the client tells. Raises `EngineError`."""
        await self._announce(None, TextDelta(text))

    async def play(self, words: RecordedWords) -> None:
        """Say it in the voice of the person who left it, after a word about who that is. Raises `EngineError`."""
        intro = [TextDelta(f"{words.intro} ")] if words.intro else []
        await self._announce(None, *intro, RecordedSpeech(words.text, words.sound))

    async def ring(self, text: str, ringing: Ringing) -> None:
        """Say it as a ring, after its tone. Raises `EngineError`."""
        await self._announce(ringing, TextDelta(text))

    async def expect(self, coming: Sequence[Coming]) -> None:
        """Tell what will ring here next, so that it rings without the house too."""
        rings = [{"id": one.id, "tone": one.kind, "in_seconds": round(one.in_seconds, 1)} for one in coming]
        if self._reports:
            await self._put(message("atlas.rings", rings=rings))

    def note(self, event: Event) -> Sequence[Json]:
        """Return what is told before an event that goes out: that an announcement's response is a ring."""
        if isinstance(event, Committed) and self._call_id:
            self._house.nearest.heard(self._call_id)
        if not isinstance(event, TurnStarted) or event.reason != "announcement":
            return ()
        self._said = event.turn_id.replace("turn_", "resp_")
        ring = self._ringing
        if not ring:
            return ()
        if self._reports:
            self._has_rung, self.rang_timer = True, ring.kind == "timer"
        return (message("atlas.ring", id=ring.id, tone=ring.kind, times=ring.times),)

    def heeds(self, text: str) -> bool:
        """Tell whether words may be for the house: of those said to a ring by who called nobody, what is about it."""
        if not self._has_rung:
            return True
        about_it = self._house.is_about_ring(text)
        if about_it:
            self._attend()
        return about_it or self._was_called

    def _attend(self) -> None:
        """Note that somebody is there, who has heard enough of what is being announced."""
        self._house.attended(self._session.actor.device_key)
        self._played.set()

    async def _announce(self, ringing: Ringing | None, *words: TextDelta | RecordedSpeech) -> None:
        async with self._speaking:
            self._ringing, self._said, self._played = ringing, "", anyio.Event()
            try:
                await self._session.announce(*words)
                if self._reports:
                    with anyio.move_on_after(REPORT_SECONDS) as patience:
                        await self._played.wait()
                    if patience.cancelled_caught:
                        raise EngineError(f"{self._session.actor.device!r} did not say that it played it")
            finally:
                self._ringing = None


def _call_id(event: Json) -> str:
    call_id = event.get("call_id", "")
    if not isinstance(call_id, str) or len(call_id) > MAX_NAME_CHARACTERS:
        raise wrong("call_id", f"a text of up to {MAX_NAME_CHARACTERS} characters", call_id)
    return call_id
