"""Say aloud what is due, timers, reminders, alarms: on its device, else in its room, else where its person was."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio

from atlas.conversation import HOUSE, Actor, ToolCall, fresh_id
from atlas.errors import AtlasError
from atlas.mcp.tools import Tools

POLL_SECONDS = 1.0  # how late a bell may ring without anyone noticing
SAY_SECONDS = 30.0  # a device that has not taken an announcement by then has not heard it
AGAIN_SECONDS = 30.0  # between two rings of what is urgent
UNNOTED_RINGS = 6  # of what is urgent on a full disk: three minutes, for that somebody stopped it can't be noted either
LATE_SECONDS = 30  # from here on "has ended" would be misleading
MOST_PEOPLE = 100  # that are remembered by where they were heard; a household has fewer
TIMERS = "timers"  # the one kind whose sentence is made here, because it says how late it is
HEARD = "reminders.heard"
TIMER_AGAIN_SECONDS = 12.0  # between two rings of a timer in a room, until somebody stops it …
TIMER_RINGS = 10  # … or two minutes are over
WIDER, EVERYWHERE = 2, 4  # rings that nobody heeded, before it rings where its person was last, and in every room
FORGOTTEN_SECONDS = 120.0  # an alarm that was silent for so long begins softly again
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


Due = tuple[str, str]  # its kind of tool, such as "timers", and its id
Say = Callable[[str], Awaitable[None]]
Ring = Callable[[str, Ringing], Awaitable[None]]
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


class Speakers:
    """The devices that are connected now."""

    def __init__(self) -> None:
        self._all: list[Speaker] = []
        self._some = anyio.Event()
        self._places: dict[str, Actor] = {}  # by person: where they were heard last
        self._news: dict[str, Actor] = {}  # heard, and not yet told to the reminders
        self._some_news = anyio.Event()
        self._stopped: dict[str, None] = {}  # ids of what somebody stopped from elsewhere, the oldest first
        self._attended: dict[str, float] = {}  # by device: when somebody called or silenced it
        self._rang: dict[tuple[str, str], str] = {}  # by id and device that rang it while the house was away: its room
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

    def attended(self, device: str) -> None:
        """Note that somebody is there: what rings on this device has been heard."""
        self._attended.pop(device, None)
        self._attended[device] = anyio.current_time()
        if len(self._attended) > MOST_PEOPLE:
            del self._attended[next(iter(self._attended))]

    def stop(self, id: str) -> None:
        """Note that somebody has stopped what rings, wherever they are."""
        self._stopped[id] = None
        if len(self._stopped) > MOST_RANG:
            del self._stopped[next(iter(self._stopped))]

    def is_stopped(self, id: str) -> bool:
        """Tell whether somebody stopped it from elsewhere."""
        return id in self._stopped

    def attended_at(self, device: str) -> float:
        """Return when somebody was last there, on the clock of the loop."""
        return self._attended.get(device, -math.inf)

    def rang(self, device: str, room: str, ids: Sequence[str]) -> None:
        """Note what a device rang while the house was away."""
        self._rang |= {(id, device): room for id in ids}
        for oldest in list(self._rang)[:-MOST_RANG]:
            del self._rang[oldest]

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
                if device == speaker.device or (room and room == speaker.room and not self._at(device, ""))
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
            self._places.pop(actor.person, None)
            self._places[actor.person] = self._news[actor.person] = actor
            for people in (self._places, self._news):
                if len(people) > MOST_PEOPLE:
                    del people[next(iter(people))]
            self._some_news.set()

    async def next_heard(self) -> Actor:
        """Wait until somebody known by name is heard; return who, each time once."""
        await self._some_news.wait()
        _, actor = self._news.popitem()
        if not self._news:
            self._some_news = anyio.Event()
        return actor

    def near(self, device: str, room: str, person: str = "") -> list[Speaker]:
        """Return the connections of `device`; else those in its room; else where the person was last; else all."""
        place = self._places.get(person)
        return (
            self._at(device, "")
            or self._at("", room)
            or (place is not None and (self._at(place.device, "") or self._at("", place.room)))
            or list(self._all)
        )

    def _at(self, device: str, room: str) -> list[Speaker]:
        return [one for one in self._all if (device and one.device == device) or (room and one.room == room)]

    def show(self, timers: Sequence[Mapping[str, Any]]) -> None:
        """Show the devices that have lights or a screen for it how the timers of each and of its room stand."""
        for speaker in self._all:
            if speaker.show:
                places = {("device", speaker.device), ("room", speaker.room)} - {("room", "")}
                speaker.show([timer for timer in timers if any(timer.get(key) == place for key, place in places)])

    def on(self, device: str) -> list[Speaker]:
        """Return the connections of `device`, and all when it is ""."""
        return [speaker for speaker in self._all if device in ("", speaker.device)]


async def spoken_to_any(speakers: list[Speaker], text: str, ringing: Ringing | None = None) -> bool:
    """Say `text` through all of them at once, as a ring where one can; True when at least one took it.

    Cancelling is safe.
    """
    took: list[Speaker] = []

    async def tell(speaker: Speaker) -> None:
        try:
            with anyio.fail_after(SAY_SECONDS):
                if ringing and speaker.ring:
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


class Bell:
    """Watches the tool server for what is due, and forgets nothing until somebody was told.

    Every tool called KIND.due is asked, and told with KIND.announced what was said: a new kind needs nothing here.
    """

    def __init__(self, tools: Tools, speakers: Speakers) -> None:
        self._tools = tools
        self._speakers = speakers
        self._telling: set[Due] = set()  # by tasks of their own: a busy device holds up no other
        self._told: dict[Due, _Told] = {}  # announced, and not yet marked so: told again only when it is urgent
        self._rung: dict[Due, _Rung] = {}
        self._away: set[str] = set()  # kinds that cannot be seen now

    async def ring(self) -> None:
        """Ring whenever there is a reason, until cancelled. While nobody could hear it, nothing is asked."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_on)
            while True:
                await self._speakers.someone()
                coming: dict[tuple[str, str], list[Coming]] = {}
                for kind in await self._kinds():
                    for due in await self._due(kind, coming):
                        ring = kind, str(due["id"])
                        if ring not in self._telling and self._may_tell(ring, due):
                            self._telling.add(ring)
                            tasks.start_soon(self._tell, ring, due)
                for ring, due in self._unheeded():
                    self._telling.add(ring)
                    tasks.start_soon(self._tell, ring, due)
                await self._mark()
                await self._speakers.expect(coming, anyio.current_time())
                await anyio.sleep(POLL_SECONDS)

    def _may_tell(self, ring: Due, due: Mapping[str, Any]) -> bool:
        attempts = self._told.get(ring)
        again = attempts and due.get("urgent") and attempts.times < UNNOTED_RINGS
        return attempts is None or bool(again and anyio.current_time() - attempts.at >= AGAIN_SECONDS)

    async def _kinds(self) -> list[str]:
        """Return what can be due; while that cannot be learnt, at least timers."""
        names = [tool.name for tool in await self._tools.listed()]
        return [name.removesuffix(".due") for name in names if name.endswith(".due")] or [TIMERS]

    async def _due(self, kind: str, coming: dict[tuple[str, str], list[Coming]]) -> list[Mapping[str, Any]]:
        """Return what is due of a kind, and add what will be to `coming`."""
        result = await self._tools.call(ToolCall(fresh_id("call"), f"{kind}.due", {}), HOUSE, "")
        if kind == TIMERS and result.ok:
            self._speakers.show(result.data.get("waiting", ()))
        if result.ok == (kind in self._away):  # say it once, both when it goes and when it comes back
            self._away ^= {kind}
            log.warning("the bell %s", f"sees {kind} again" if result.ok else f"cannot see the {kind}: {result.text}")
        for one in _coming(result.data) if result.ok else ():
            if one["in_seconds"] <= COMING_SECONDS:
                ring = Coming(one["id"], KIND_OF_RING.get(kind, "announcement"), one["in_seconds"])
                coming.setdefault((one["device"], one["room"]), []).append(ring)
        return list(result.data.get(TIMERS if kind == TIMERS else "due", ())) if result.ok else []

    async def _tell(self, ring: Due, due: Mapping[str, Any]) -> None:
        person = "" if due.get("urgent") else due.get("person", "")  # where somebody was an hour ago is a guess
        rung = self._rung.get(ring)
        times = rung.times if rung else 0
        speakers = self._speakers.near(due.get("device", ""), due.get("room", ""), person)
        if ring[0] == TIMERS and times >= WIDER:
            wider = self._speakers.on("") if times >= EVERYWHERE else self._speakers.near("", "", due.get("person", ""))
            speakers = list(dict.fromkeys([*speakers, *wider]))
        ringing = Ringing(ring[1], KIND_OF_RING[ring[0]], times) if ring[0] in KIND_OF_RING else None
        began = anyio.current_time()  # who silences it while it is being said has heeded it
        try:
            rang = self._speakers.take_rang(due)
            if rang and due.get("urgent"):  # somebody stopped it there
                await self._tools.call(ToolCall(fresh_id("call"), f"{ring[0]}.stop", {"name": ring[1]}), HOUSE, "")
            if rang or await spoken_to_any(speakers, sentence(due) if ring[0] == TIMERS else str(due["text"]), ringing):
                if rung is None or ring[0] != TIMERS:
                    before = self._told[ring].times if ring in self._told else 0
                    self._told[ring] = _Told(before + 1, anyio.current_time())
                if ringing and not rang and any(speaker.ring for speaker in speakers):
                    now, devices = anyio.current_time(), frozenset(speaker.device for speaker in speakers)
                    self._rung[ring] = _Rung(
                        rung.due if rung else due, times + 1, rung.began if rung else began, now, devices
                    )
        finally:
            self._telling.remove(ring)

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
            elif ring[0] == TIMERS and now - rung.at >= waits:
                late = float(rung.due.get("late_seconds", 0)) + now - rung.began
                again.append((ring, {**rung.due, "late_seconds": late}))
        return again

    async def _mark(self) -> None:
        for kind in sorted({kind for kind, _ in self._told}):
            messages = [ring for ring in self._told if ring[0] == kind]
            call = ToolCall(fresh_id("call"), f"{kind}.announced", {"ids": sorted(id for _, id in messages)})
            if (await self._tools.call(call, HOUSE, "")).ok:
                for ring in messages:
                    del self._told[ring]

    async def _pass_on(self) -> None:
        """Tell the reminders who was heard, when they wait for just that."""
        while True:
            actor = await self._speakers.next_heard()
            if HEARD in {tool.name for tool in await self._tools.listed()} and await self._is_waited_for(actor.person):
                where = {"person": actor.person, "room": actor.room, "device": actor.device}
                await self._tools.call(ToolCall(fresh_id("call"), HEARD, where), HOUSE, "")

    async def _is_waited_for(self, person: str) -> bool:
        # Asking is not recorded and telling is, and nobody wants a row of the record for every turn of everybody.
        result = await self._tools.call(ToolCall(fresh_id("call"), "reminders.due", {}), HOUSE, "")
        return person.casefold() in {name.casefold() for name in result.data.get("waiting_for", ())}


def _coming(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what will be due: as the tool says, and the timers that run."""
    running = [timer for timer in data.get("waiting", ()) if timer["state"] == "running"]
    return [*data.get("coming", ()), *({**timer, "in_seconds": timer["left_seconds"]} for timer in running)]


def sentence(timer: Mapping[str, Any]) -> str:
    """Return what to say about a timer that has ended: `name`, `seconds` it was set for, `late_seconds` since."""
    name, late = timer.get("name", ""), int(timer.get("late_seconds", 0))
    called = f"{name} timer" if name else f"{_length(int(timer['seconds']))} timer"
    return f"Your {called} ended {_about(late)} ago." if late >= LATE_SECONDS else f"Your {called} has ended."


_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def _length(seconds: int) -> str:
    """Return a length as an adjective: "10 minute", "1 hour 30 minute"."""
    words = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            words.append(f"{count} {unit}")
    return " ".join(words) or "0 second"


def _about(seconds: int) -> str:
    """Return a length to the nearest of its largest unit: "3 minutes"."""
    for unit, size in _UNITS:
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {unit}" + ("s" if count != 1 else "")
    return "a moment"
