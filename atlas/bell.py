"""Says aloud what is due (timers, reminders, alarms): on its device, in its room, or where its person was."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import anyio

from atlas.audio import AudioChunk
from atlas.conversation import HOUSE, Actor, ToolCall, fresh_id
from atlas.errors import AtlasError
from atlas.latest import Latest
from atlas.mcp.tools import Tools
from atlas.own_words import speaking
from atlas.speech.message_sounds import MessageSounds

POLL_SECONDS = 1.0  # how late a bell may ring without anyone noticing
SAY_SECONDS = 30.0  # a device that has not taken an announcement by then, besides the time it sounds, has not heard it
SLOW_CHARACTERS = 8.0  # a second: who speaks more slowly than any voice of ours
AGAIN_SECONDS = 30.0  # between two rings of what is urgent
UNNOTED_RINGS = 6  # of what is urgent on a full disk: three minutes, for that somebody stopped it can't be noted either
MOST_PEOPLE = 100  # that are remembered by where they were heard; a household has fewer
TIMERS = "timers"
BROADCAST = "broadcast"  # a person speaks to all, and waits for nobody's answer
MESSAGES = "messages"  # are for those who are there, and nobody else
VOICE_MESSAGES = "voice-messages"  # as pages know them
RECORDED = (BROADCAST, MESSAGES)  # may have a sound
HEARD = "reminders.heard"
THERE_SECONDS = 120.0  # since somebody was heard somewhere; later they may have left
TIMER_AGAIN_SECONDS = 12.0  # between two rings of a timer in a room, until somebody stops it …
TIMER_RINGS = 10  # … or two minutes are over
WIDER, EVERYWHERE = 2, 4  # rings that nobody heeded, before it rings where its person is, and everywhere
FORGOTTEN_SECONDS = 120.0  # an alarm that was silent for so long begins softly again
NOTICES_SECONDS = 5.0  # while nobody is connected: how late it is seen that somebody could be told
NOTICED_SECONDS = 120.0  # what was not due for so long and is again is told again, such as a snoozed alarm
LONG_OVER_SECONDS = 4 * 3600  # what ended longer ago is no news; whoever opens the app sees it
# A timer that ended so long ago is told on its device, in its room or to its person, and not to the house.
OLD_NEWS_SECONDS = 900
LATE_SECONDS = 120.0  # a timer told this long after its end would have rung out by then: it is told, and rings no more
ANSWER_SECONDS = 20.0  # whom the house has asked something has so long to answer before what can wait is said there
COMING_SECONDS = 86_400  # what rings later is told later
MOST_COMING = 64  # of one device
MOST_RANG = 1_024  # that devices rang while the house was away, and that it has not seen to be due
KIND_OF_RING = {TIMERS: "timer", "alarms": "alarm"}  # which tone; everything else is an announcement
log = logging.getLogger("atlas")


@dataclass(frozen=True, slots=True)
class Ringing:
    """What rings, for a device that plays a tone before the words, and the louder the more often it has rung."""

    id: str
    kind: str  # timer, alarm or announcement
    times: int = 0  # before


@dataclass(frozen=True, slots=True)
class Coming:
    """What will ring on a device, which rings it by itself when the house is away then."""

    id: str
    kind: str
    in_seconds: float


@dataclass(frozen=True, slots=True)
class RecordedWords:
    """Words in the voice of the person who left them."""

    intro: str  # said before it by the house; "" for what needs none
    text: str
    sound: AudioChunk


Audience = Literal["there", "elsewhere", "sender", "nobody"]  # of an announcement, at this moment
Due = tuple[str, str]  # its kind of tool, such as "timers", and its id
Say = Callable[[str], Awaitable[None]]
Ring = Callable[[str, Ringing], Awaitable[None]]
Play = Callable[[RecordedWords], Awaitable[None]]
Expect = Callable[[Sequence[Coming]], Awaitable[None]]
Show = Callable[[Sequence[Mapping[str, Any]]], None]  # how the timers of a device and its room stand


@dataclass(frozen=True, slots=True, eq=False)
class Speaker:
    """A connected device that can be spoken through."""

    device: str
    room: str
    say: Say
    show: Show | None = None
    ring: Ring | None = None
    expect: Expect | None = None
    resides: bool = True  # else it is told what is for it or its room, and nothing that nobody else took
    play: Play | None = None
    person: str = ""  # whose it is, where it is one person's
    device_id: str = ""  # of its token

    @property
    def device_key(self) -> str:
        """What it has in common with no other device: by this timers, messages and what was heard know it."""
        return self.device_id or self.device


class Speakers:
    """The devices that are connected now. What is due, and who was there, know them by their `device_key`."""

    def __init__(self) -> None:
        self._all: list[Speaker] = []
        self._some = anyio.Event()
        self._places = Latest[str, Actor](MOST_PEOPLE)  # by person: where they were heard last …
        self._heard_at = Latest[str, float](MOST_PEOPLE)  # … and when, on the clock of the loop
        self._news = Latest[str, Actor](MOST_PEOPLE)  # heard, and not yet told to the reminders
        self._some_news = anyio.Event()
        self._stopped = Latest[str, None](MOST_RANG)  # ids of what somebody stopped from elsewhere, the oldest first
        self._asked = Latest[str, float](MOST_PEOPLE)  # by device: when the house asked there what waits
        self._attended = Latest[str, float](MOST_PEOPLE)  # by device: when somebody called or silenced it
        self._rang = Latest[tuple[str, str], str](MOST_RANG)  # by id and device that rang it alone: its room
        self._expected: dict[Speaker, frozenset[tuple[str, int]]] = {}  # what each was told last

    @contextmanager
    def connected(self, speaker: Speaker) -> Iterator[None]:
        """Count `speaker` as connected inside the block."""
        self._all.append(speaker)
        self._some.set()
        try:
            yield
        finally:
            self._all.remove(speaker)
            self._expected.pop(speaker, None)
            if not self._all:
                self._some = anyio.Event()

    async def someone(self) -> None:
        """Wait until a device is connected."""
        await self._some.wait()

    def attended(self, device_key: str) -> None:
        """Note that somebody is there: what rings on this device has been heard."""
        self._attended[device_key] = anyio.current_time()

    def asked(self, device_key: str) -> None:
        """Note that the house has just asked something there: until it is answered, what can wait is not said there."""
        self._asked[device_key] = anyio.current_time()

    def answered(self, device_key: str) -> None:
        """Note that somebody has said something there."""
        self._asked.pop(device_key, None)

    def awaits_answer(self, due: Mapping[str, Any]) -> bool:
        """Tell whether the house waits for an answer where this would be told first."""
        now = anyio.current_time()
        near = self.near(str(due.get("device", "")), str(due.get("room", "")), str(due.get("person", "")))
        return any(now - self._asked.get(one.device_key, -math.inf) < ANSWER_SECONDS for one in near)

    def stop(self, id: str) -> None:
        """Note that somebody has stopped what rings, wherever they are."""
        self._stopped[id] = None

    def is_stopped(self, id: str) -> bool:
        """Tell whether somebody stopped it from elsewhere."""
        return id in self._stopped

    def resume(self, id: str) -> None:
        """Note that what was stopped runs again."""
        self._stopped.pop(id, None)

    def attended_at(self, device_key: str) -> float:
        """Return when somebody was last there, on the clock of the loop."""
        return self._attended.get(device_key, -math.inf)

    def rang(self, device_key: str, room: str, ids: Sequence[str]) -> None:
        """Note what a device rang while the house was away."""
        self._rang |= {(id, device_key): room for id in ids}

    def take_rang(self, due: Mapping[str, Any]) -> bool:
        """Tell, once, whether a device rang this by itself that had to: another may say so, and is not believed."""
        by = [key for key in self._rang if key[0] == str(due["id"])]
        rooms = {device: self._rang.pop((id, device)) for id, device in by}
        return any(
            (device and device == due.get("device")) or (room and room == due.get("room"))
            for device, room in rooms.items()
        )

    def changed(self) -> None:
        """Tell every device anew what is coming."""
        self._expected.clear()

    async def expect(self, coming: Mapping[tuple[str, str], Sequence[Coming]], now: float) -> None:
        """Tell each device what will ring on it, if that has changed; `coming` is by device and room."""
        for speaker in [one for one in self._all if one.expect]:
            mine = [
                ring
                for (device, room), rings in coming.items()
                if device == speaker.device_key or (room and room == speaker.room and not self._at(device, ""))
                for ring in rings
            ][:MOST_COMING]
            state = frozenset((ring.id, round((now + ring.in_seconds) / 2)) for ring in mine)
            if self._expected.get(speaker, frozenset()) != state:
                self._expected[speaker] = state
                assert speaker.expect
                with suppress(AtlasError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await speaker.expect(mine)

    def heard(self, actor: Actor) -> None:
        """Note that somebody was heard, and where. What is done about it is done elsewhere, and later."""
        if actor.person:
            self._places[actor.person] = self._news[actor.person] = actor
            self._heard_at[actor.person] = anyio.current_time()
            self._some_news.set()

    async def next_heard(self) -> Actor:
        """Wait until somebody known by name is heard; return who, each time once."""
        await self._some_news.wait()
        _, actor = self._news.popitem()
        if not self._news:
            self._some_news = anyio.Event()
        return actor

    def near(self, device: str, room: str, person: str = "") -> list[Speaker]:
        """Return the connections of `device`; else those in its room; else where the person was last; else all.

        Where nobody knows where a person was, their own devices are.
        """
        place = self._places.get(person)
        return (
            self._at(device, "")
            or self._at("", room)
            or (place is not None and (self._at(place.device_key, "") or self._at("", place.room)))
            or self.of_person(person)
            or self.of_house()
        )

    def of_person(self, person: str) -> list[Speaker]:
        """Return the connections of a person's own devices."""
        return [one for one in self._all if person and one.person == person]

    def of_house(self) -> list[Speaker]:
        """Return the connections of who lives here, for what is addressed to nobody."""
        return [one for one in self._all if one.resides]

    def to_hear(self, message: Mapping[str, Any]) -> list[Speaker]:
        """Return where those are whom a message is for, and not who left it; none while nobody is there."""
        person, room, sender = (message.get(name, "") for name in ("person", "room", "sender_device"))
        place = self._places.get(person)
        if person and (place is None or anyio.current_time() - self._heard_at[person] > THERE_SECONDS):
            return []
        if place is not None:
            return self._at(place.device_key, "")  # what is for one person is not played to a whole room
        speakers = self._at("", room) if room else self.of_house()
        return [speaker for speaker in speakers if speaker.resides and speaker.device_key != sender]

    def _at(self, device: str, room: str) -> list[Speaker]:
        return [one for one in self._all if (device and one.device_key == device) or (room and one.room == room)]

    def show(self, timers: Sequence[Mapping[str, Any]]) -> None:
        """Show the devices that have lights or a screen for it how the timers of each and of its room stand."""
        for speaker in self._all:
            if speaker.show:
                places = {("device", speaker.device_key), ("room", speaker.room)} - {("room", "")}
                speaker.show([timer for timer in timers if any(timer.get(key) == place for key, place in places)])

    def has(self, device: str, person: str) -> bool:
        """Tell whether a device, or one of a person's own, is connected."""
        return bool(self._at(device, "") or self.of_person(person))

    def audience(self, room: str, device: str) -> Audience:
        """Return who hears what is said in a room, "" for all of them, when that comes through a device."""
        if self.to_hear({"room": room, "sender_device": device}):
            return "there"
        heard_by = {one.device_key for one in self.near("", room)}
        return "elsewhere" if heard_by - {device} else "sender" if heard_by else "nobody"

    def rooms(self, but: str) -> Sequence[str]:
        """Return the rooms in which a device is connected, other than that of the key `but`."""
        return sorted({one.room for one in self._all if one.room and one.device_key != but})

    def has_near(self, due: Mapping[str, Any]) -> bool:
        """Tell whether something can be heard by whom it is for: on its device, in its room, or where they are."""
        device, room, person = (str(due.get(name, "")) for name in ("device", "room", "person"))
        place = self._places.get(person)
        there = place is not None and anyio.current_time() - self._heard_at[person] <= THERE_SECONDS
        at_place = place is not None and there and bool(self._at(place.device_key, "") or self._at("", place.room))
        nobodys = not (device or room or person) and bool(self.of_house())
        return bool(self.has(device, person) or self._at("", room) or at_place or nobodys)

    def on(self, device: str) -> list[Speaker]:
        """Return the connections of the device of a name, and all when it is ""."""
        return [speaker for speaker in self._all if device in ("", speaker.device)]


async def spoken_to_any(
    speakers: list[Speaker], text: str, ringing: Ringing | None = None, recorded: RecordedWords | None = None
) -> bool:
    """Say `text` through all of them at once, as a ring or recording where one can; True when at least one took it.

    Cancelling is safe.
    """
    took: list[Speaker] = []

    async def tell(speaker: Speaker) -> None:
        try:
            seconds = recorded.sound.seconds if recorded else len(text) / SLOW_CHARACTERS
            with anyio.fail_after(SAY_SECONDS + seconds):
                if recorded and speaker.play:
                    await speaker.play(recorded)
                elif ringing and speaker.ring:
                    await speaker.ring(text, ringing)
                else:
                    await speaker.say(text)
        except (AtlasError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as trouble:
            log.warning("%s did not take an announcement: %s", speaker.device, trouble or type(trouble).__name__)
        else:
            took.append(speaker)

    async with anyio.create_task_group() as tasks:
        for speaker in speakers:
            tasks.start_soon(tell, speaker)
    return bool(took)


@dataclass(frozen=True, slots=True)
class _Told:
    """How often something was announced that could not be marked so, and when last."""

    times: int
    at: float  # on the clock of the loop, seconds


@dataclass(frozen=True, slots=True)
class _Rung:
    """How often something has rung in rooms, for it to ring louder, and a timer again."""

    due: Mapping[str, Any]
    times: int
    began: float  # on the clock of the loop, seconds
    at: float
    devices: frozenset[str]


class AwayNotices(Protocol):
    """Tells devices whose app is closed that something waits."""

    async def anybody(self) -> bool:
        """Tell whether some device could be told. Cancelling is safe. Raises `AtlasError`."""

    async def tell(self, page: Literal["time", "messages"], *, device: str, person: str, sender: str = "") -> None:
        """Tell those for whom something waits. Returns before they know. Cancelling is safe. Raises `AtlasError`."""


class Bell:
    """Watches the tool server for what is due, and forgets nothing until somebody was told.

    Every tool called KIND.due is asked, and told with KIND.announced what was said: a new kind needs nothing here.
    """

    def __init__(
        self,
        tools: Tools,
        speakers: Speakers,
        sounds: MessageSounds | None = None,
        notices: AwayNotices | None = None,
        changed: Callable[[str], None] | None = None,
    ) -> None:
        """Tell `changed` of kinds of things that may read differently: no tool tells of messages that came."""
        self._changed = changed
        self._messages: frozenset[str] = frozenset()  # that waited at the last look
        self._tools = tools
        self._sounds = sounds
        self._notices = notices
        self._notice_times: dict[Due, float] = {}  # those away were told, and when it was last due
        self._is_blind = False  # who could be told cannot be read now; it is logged once
        self._speakers = speakers
        self._telling: set[Due] = set()  # by tasks of their own: a busy device holds up no other
        self._told: dict[Due, _Told] = {}  # announced, and not yet marked so: told again only when it is urgent
        self._rung: dict[Due, _Rung] = {}  # rings until somebody stops it; the tool server knows, for the next start
        self._over: set[Due] = set()  # rings no more, and the tool server does not know yet
        self._away: set[str] = set()  # kinds that cannot be seen now

    async def ring(self) -> None:
        """Ring whenever there is a reason, until cancelled. While nobody could hear it, nothing is asked."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_on)
            while True:
                await self._someone()
                coming: dict[tuple[str, str], list[Coming]] = {}
                for kind in await self._kinds():
                    all_due = await self._due(kind, coming)
                    if kind == MESSAGES:
                        self._see_messages(frozenset(str(due["id"]) for due in all_due))
                    for due in all_due:
                        ring = kind, str(due["id"])
                        if kind == TIMERS and _is_long_over(due):
                            self._over.add(ring)  # nobody is told at last
                            continue
                        if kind == TIMERS and self._is_old_news(due):
                            continue
                        await self._notice(ring, due)
                        if kind in KIND_OF_RING and ring not in self._rung and due.get("urgent", True):
                            began = anyio.current_time() - float(due.get("late_seconds", 0))
                            _add_ringing(kind, due, began, coming)
                        if ring not in self._telling and self._may_tell(ring, due) and self._may_be_played(kind, due):
                            self._telling.add(ring)
                            tasks.start_soon(self._tell, ring, due)
                for ring, due in self._unheeded():
                    self._telling.add(ring)
                    tasks.start_soon(self._tell, ring, due)
                for ring, rung in self._rung.items():
                    if ring[0] == TIMERS:  # an alarm is due again by itself
                        _add_ringing(TIMERS, rung.due, rung.began, coming)
                await self._mark()
                await self._speakers.expect(coming, anyio.current_time())
                await anyio.sleep(POLL_SECONDS)

    def _see_messages(self, waiting: frozenset[str]) -> None:
        """Tell pages to look, where messages came or were heard: what nobody plays is seen where its person looks."""
        if self._changed and waiting != self._messages:
            self._changed(VOICE_MESSAGES)
        self._messages = waiting

    async def _someone(self) -> None:
        """Wait until a device is connected, or one that is not could be told that something waits."""
        if self._notices is None:
            await self._speakers.someone()
            return
        waits = True
        while waits and not await self._anybody_away(self._notices):
            with anyio.move_on_after(NOTICES_SECONDS):
                await self._speakers.someone()
                waits = False

    async def _anybody_away(self, notices: AwayNotices) -> bool:
        try:
            is_somebody = await notices.anybody()
        except AtlasError as trouble:  # asked again in a moment; who is there hears what rings all the same
            if not self._is_blind:
                log.warning("it cannot be seen whether anybody away could be told: %s", trouble)
            self._is_blind = True
            return False
        self._is_blind = False
        return is_somebody

    async def _notice(self, ring: Due, due: Mapping[str, Any]) -> None:
        """Tell those who are away, once, of what nobody of theirs can hear."""
        if self._notices is None or ring[0] == BROADCAST:
            return
        now = anyio.current_time()
        self._notice_times = {one: at for one, at in self._notice_times.items() if now - at < NOTICED_SECONDS}
        is_known = ring in self._notice_times
        is_heard = bool(self._speakers.to_hear(due)) if ring[0] == MESSAGES else self._speakers.has_near(due)
        if is_known:
            self._notice_times[ring] = now
        elif not is_heard and float(due.get("late_seconds", 0)) < LONG_OVER_SECONDS:
            self._notice_times[ring] = now
            page: Literal["time", "messages"] = "messages" if ring[0] == MESSAGES else "time"
            who = {name: str(due.get(name, "")) for name in ("device", "person")}
            if not any(who.values()) and due.get("room"):
                return  # it is the room's, and waits there
            try:
                await self._notices.tell(page, **who, sender=str(due.get("sender_device", "")))
            except AtlasError as trouble:
                log.warning("nobody away is told of %s: %s", ring[1], trouble)

    def _is_old_news(self, due: Mapping[str, Any]) -> bool:
        """Tell whether a timer ended so long ago that who is here now is not told."""
        return float(due.get("late_seconds", 0)) >= OLD_NEWS_SECONDS and not self._speakers.has_near(due)

    def _may_tell(self, ring: Due, due: Mapping[str, Any]) -> bool:
        attempts = self._told.get(ring)
        again = attempts and due.get("urgent") and attempts.times < UNNOTED_RINGS
        if ring[0] != BROADCAST and not due.get("urgent") and self._speakers.awaits_answer(due):
            return False
        return attempts is None or bool(again and anyio.current_time() - attempts.at >= AGAIN_SECONDS)

    def _may_be_played(self, kind: str, due: Mapping[str, Any]) -> bool:
        """Tell whether the sound of a message is there and those whom it is for are."""
        if kind in RECORDED and self._sounds and self._sounds.awaited:
            return False
        return kind != MESSAGES or bool(self._speakers.to_hear(due))

    async def _kinds(self) -> list[str]:
        """Return what can be due; while that cannot be learnt, at least timers."""
        names = [tool.name for tool in await self._tools.listed()]
        return [name.removesuffix(".due") for name in names if name.endswith(".due")] or [TIMERS]

    async def _due(self, kind: str, coming: dict[tuple[str, str], list[Coming]]) -> list[Mapping[str, Any]]:
        """Return what is due of a kind, and add what will be to `coming`."""
        result = await self._tools.call(ToolCall(fresh_id("call"), f"{kind}.due", {}), HOUSE, "")
        if kind == TIMERS and result.ok:
            self._speakers.show(result.data.get("waiting", ()))
            self._note_ringing(result.data)
        if result.ok == (kind in self._away):  # say it once, both when it goes and when it comes back
            self._away ^= {kind}
            log.warning("the bell %s", f"sees {kind} again" if result.ok else f"cannot see the {kind}: {result.text}")
        for one in _coming(result.data) if result.ok else ():
            if one["in_seconds"] <= COMING_SECONDS:
                ring = Coming(one["id"], KIND_OF_RING.get(kind, "announcement"), one["in_seconds"])
                coming.setdefault((one["device"], one["room"]), []).append(ring)
        if not result.ok:
            return []
        return [*result.data.get(TIMERS if kind == TIMERS else "due", ()), *self._rang_before(result.data)]

    def _note_ringing(self, data: Mapping[str, Any]) -> None:
        """Have what rings told as it stands now, and what somebody stopped by a command rest: it rings no longer.

        What was snoozed runs, and will ring as if it never had.
        """
        for one in data.get("waiting", ()):
            if one["state"] == "running":
                self._begin_anew((TIMERS, str(one["id"])))
        still = {str(one["id"]): one for name in ("ringing", TIMERS) for one in data.get(name, ())}
        for ring, rung in list(self._rung.items()):
            if ring[0] == TIMERS and (now := still.get(ring[1])):
                self._rung[ring] = replace(rung, due=now)
            elif ring[0] == TIMERS and "ringing" in data and ring not in {*self._told, *self._telling}:
                self._speakers.stop(ring[1])

    def _begin_anew(self, ring: Due) -> None:
        self._speakers.resume(ring[1])
        self._rung.pop(ring, None)
        self._told.pop(ring, None)
        self._over.discard(ring)

    def _rang_before(self, data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """Return the timers that rang when the house, of which this is a later start, ended."""
        known = {*self._rung, *self._over, *self._told, *self._telling}
        return [one for one in data.get("ringing", ()) if (TIMERS, str(one["id"])) not in known]

    async def _tell(self, ring: Due, due: Mapping[str, Any]) -> None:
        person = "" if due.get("urgent") else due.get("person", "")  # where somebody was an hour ago is a guess
        rung = self._rung.get(ring)
        times = rung.times if rung else 0
        speakers = self._speakers.near(due.get("device", ""), due.get("room", ""), person)
        if ring[0] in RECORDED:
            others = self._speakers.to_hear({**due, "person": person})
            speakers = others if ring[0] == MESSAGES else others or speakers
        if ring[0] == TIMERS and times >= WIDER:
            who = due.get("person", "")
            wider = self._speakers.near("", "", who if times < EVERYWHERE else "")
            speakers = list(dict.fromkeys([*speakers, *wider, *self._speakers.of_person(who)]))
        ringing = Ringing(ring[1], KIND_OF_RING[ring[0]], times) if ring[0] in KIND_OF_RING else None
        began = anyio.current_time()  # who silences it while it is being said has heeded it
        try:
            rang = self._speakers.take_rang(due)
            if rang and due.get("urgent"):  # somebody stopped it there
                await self._tools.call(ToolCall(fresh_id("call"), f"{ring[0]}.stop", {"name": ring[1]}), HOUSE, "")
            with speaking(str(due.get("language", ""))):
                recorded = await self._recorded(ring, due)
                taken = rang or await spoken_to_any(speakers, str(due["text"]), ringing, recorded)
            if taken:
                if rung is None or ring[0] != TIMERS:
                    before = self._told[ring].times if ring in self._told else 0
                    self._told[ring] = _Told(before + 1, anyio.current_time())
                is_late = ring[0] == TIMERS and rung is None and float(due.get("late_seconds", 0)) >= LATE_SECONDS
                if ringing and not (rang or is_late) and any(speaker.ring for speaker in speakers):
                    now, devices = anyio.current_time(), frozenset(speaker.device_key for speaker in speakers)
                    names = sorted({speaker.device for speaker in speakers})
                    log.info("%s rings in %s, time %d", ring[1], ", ".join(names), times + 1)
                    self._rung[ring] = _Rung(
                        rung.due if rung else due, times + 1, rung.began if rung else began, now, devices
                    )
        finally:
            self._telling.remove(ring)

    async def _recorded(self, ring: Due, due: Mapping[str, Any]) -> RecordedWords | None:
        """Return the sound of what somebody left for others, where it has one."""
        sound = await self._sounds.get(ring[1]) if self._sounds and ring[0] in RECORDED else None
        return _recorded(due, sound) if sound else None

    def _unheeded(self) -> list[tuple[Due, Mapping[str, Any]]]:
        """Return the timers that are to ring again, because nobody has stopped them."""
        again: list[tuple[Due, Mapping[str, Any]]] = []
        now = anyio.current_time()
        for ring, rung in list(self._rung.items()):
            waits = TIMER_AGAIN_SECONDS if ring[0] == TIMERS else FORGOTTEN_SECONDS
            heeded = self._speakers.is_stopped(ring[1])
            heeded |= any(self._speakers.attended_at(device) >= rung.began for device in rung.devices)
            if ring in self._telling:
                continue
            if heeded or (now - rung.at >= waits and (ring[0] != TIMERS or rung.times >= TIMER_RINGS)):
                del self._rung[ring]
                self._over |= {ring} if ring[0] == TIMERS else set()
                log.info("%s %s", ring[1], "was heeded" if heeded else "rang, and nobody heeded it")
            elif ring[0] == TIMERS and now - rung.at >= waits and not self._speakers.awaits_answer(rung.due):
                again.append((ring, rung.due))
        return again

    async def _mark(self) -> None:
        ringing = {ring for ring in self._told if ring in self._rung and ring[0] == TIMERS}
        for ring in await self._announced(ringing, ringing=True):
            del self._told[ring]
        for ring in await self._announced({*self._told, *self._over} - ringing):
            self._told.pop(ring, None)
            self._over.discard(ring)

    async def _announced(self, rings: Collection[Due], **more: bool) -> list[Due]:
        """Tell the tool server that these were said; return those that it has noted."""
        noted: list[Due] = []
        for kind in sorted({kind for kind, _ in rings}):
            ids = sorted(id for one, id in rings if one == kind)
            call = ToolCall(fresh_id("call"), f"{kind}.announced", {"ids": ids, **more})
            if (await self._tools.call(call, HOUSE, "")).ok:
                noted += [(kind, id) for id in ids]
        return noted

    async def _pass_on(self) -> None:
        """Tell the reminders who was heard, when they wait for just that."""
        while True:
            actor = await self._speakers.next_heard()
            if HEARD in {tool.name for tool in await self._tools.listed()} and await self._is_waited_for(actor.person):
                where = {"person": actor.person, "room": actor.room, "device": actor.device_key}
                await self._tools.call(ToolCall(fresh_id("call"), HEARD, where), HOUSE, "")

    async def _is_waited_for(self, person: str) -> bool:
        # Asking is not recorded and telling is, and nobody wants a row of the record for every turn of everybody.
        result = await self._tools.call(ToolCall(fresh_id("call"), "reminders.due", {}), HOUSE, "")
        return person.casefold() in {name.casefold() for name in result.data.get("waiting_for", ())}


def _is_long_over(due: Mapping[str, Any]) -> bool:
    return float(due.get("late_seconds", 0)) >= LONG_OVER_SECONDS


def _add_ringing(kind: str, due: Mapping[str, Any], began: float, coming: dict[tuple[str, str], list[Coming]]) -> None:
    """Have the room of what is to ring, or rings, go on with it should the house go away now."""
    ring = Coming(str(due["id"]), KIND_OF_RING[kind], began - anyio.current_time())
    coming.setdefault((due.get("device", ""), due.get("room", "")), []).append(ring)


def _recorded(due: Mapping[str, Any], sound: AudioChunk) -> RecordedWords:
    intro = str(due.get("intro", ""))
    return RecordedWords(intro, str(due["text"]).removeprefix(intro).strip(), sound)


def _coming(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what will be due: as the tool says, and the timers that run."""
    running = [timer for timer in data.get("waiting", ()) if timer["state"] == "running"]
    return [*data.get("coming", ()), *({**timer, "in_seconds": timer["left_seconds"]} for timer in running)]
