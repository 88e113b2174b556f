from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from atlas.bell import (
    COMING_SECONDS,
    EVERYWHERE,
    MOST_PEOPLE,
    MOST_RANG,
    POLL_SECONDS,
    TIMER_RINGS,
    UNNOTED_RINGS,
    Bell,
    Coming,
    Ringing,
    Speaker,
    Speakers,
    sentence,
)
from atlas.conversation import Actor, SignedAnswer, Tool, ToolCall, ToolResult
from atlas.errors import EngineError
from tests.conftest import virtual_time


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


class TimerShelf:
    """A tool server with ended timers on it, as far as the bell can see."""

    def __init__(self, *timers: dict[str, Any]) -> None:
        self.due = {timer["id"]: timer for timer in timers}
        self.amount = 0
        self.away = False
        self.marking_fails = False
        self.coming: list[dict[str, Any]] = []

    async def listed(self) -> Sequence[Tool]:
        return ()

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        self.amount += 1
        if self.away or (self.marking_fails and call.name == "timers.announced"):
            return ToolResult(call.id, False, "The tools are away.")
        if call.name == "timers.announced":
            for identity in call.arguments["ids"]:
                del self.due[identity]
        return ToolResult(call.id, True, "", {"timers": list(self.due.values()), "coming": self.coming})

    async def aclose(self) -> None:
        pass


def timer(identity: str = "t1", **fields: Any) -> dict[str, Any]:
    return {"id": identity, "name": "", "room": "", "device": "", "seconds": 600, "late_seconds": 0} | fields


class Room:
    """Devices that write down what they were told."""

    def __init__(self, shelf: TimerShelf) -> None:
        self.speakers = Speakers()
        self.heard: list[tuple[str, str]] = []
        self.bell = Bell(shelf, self.speakers)

    def device(self, name: str, room: str = "") -> Any:
        async def say(text: str) -> None:
            self.heard.append((name, text))

        return self.speakers.connected(Speaker(name, room, say))

    async def pass_time(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self.bell.ring()


async def test_a_timer_rings_once_on_the_device_that_set_it() -> None:
    shelf = TimerShelf(timer(device="kitchen"))
    home = Room(shelf)
    with home.device("kitchen"), home.device("phone"):
        await home.pass_time(10)
    assert home.heard == [("kitchen", "Your 10 minute timer has ended.")]
    assert not shelf.due


async def test_it_rings_in_the_room_when_the_device_has_left_and_everywhere_when_the_room_is_empty() -> None:
    home = Room(TimerShelf(timer("a", device="tablet", room="kitchen"), timer("b", device="gone", room="attic")))
    with home.device("stove", "kitchen"), home.device("phone"):
        await home.pass_time(10)
    assert sorted(device for device, _ in home.heard) == ["phone", "stove", "stove"]


async def test_while_nobody_is_there_it_waits_without_asking_and_then_says_how_late_it_is() -> None:
    shelf = TimerShelf(timer(late_seconds=185))
    home = Room(shelf)
    await home.pass_time(3600)
    assert shelf.amount == 0
    with home.device("phone"):
        await home.pass_time(10)
    assert home.heard == [("phone", "Your 10 minute timer ended 3 minutes ago.")]


async def test_a_timer_stays_until_a_device_really_took_it() -> None:
    shelf = TimerShelf(timer())
    home = Room(shelf)

    async def broken(text: str) -> None:
        raise EngineError("no voice")

    async def silent(text: str) -> None:
        await anyio.sleep_forever()

    for say in (broken, silent):
        with home.speakers.connected(Speaker("dead", "", say)):
            await home.pass_time(100)
        assert shelf.due
    with home.device("phone"):
        await home.pass_time(10)
    assert len(home.heard) == 1


async def test_a_device_that_rings_is_told_what_will_ring_there_and_again_when_that_changes() -> None:
    shelf = TimerShelf()
    shelf.coming = [
        {"id": "t1", "device": "pi", "room": "kitchen", "in_seconds": 60},
        {"id": "t2", "device": "gone", "room": "kitchen", "in_seconds": 90},
        {"id": "t3", "device": "gone", "room": "attic", "in_seconds": 90},
        {"id": "t4", "device": "pi", "room": "kitchen", "in_seconds": COMING_SECONDS + 1},
    ]
    home = Room(shelf)
    messages: list[list[str]] = []

    async def say(text: str) -> None: ...

    async def expect(coming: Sequence[Coming]) -> None:
        messages.append([ring.id for ring in coming])

    with home.speakers.connected(Speaker("pi", "kitchen", say, expect=expect)):
        await home.pass_time(0.5)
        shelf.coming = []
        await home.pass_time(3)
    assert messages == [["t1", "t2"], []]


async def test_what_rings_has_a_tone_and_how_often_it_has_rung() -> None:
    home = Room(TimerShelf(timer(device="pi")))
    rung: list[tuple[str, Ringing]] = []

    async def say(text: str) -> None:
        raise AssertionError("a device that rings is not only spoken through")

    async def ring(text: str, ringing: Ringing) -> None:
        rung.append((text, ringing))

    with home.speakers.connected(Speaker("pi", "", say, ring=ring)):
        await home.pass_time(5)
    assert rung == [("Your 10 minute timer has ended.", Ringing("t1", "timer"))]


async def rung_in(home: Room, seconds: float) -> list[tuple[str, int]]:
    """Which rooms rang, and how often it had rung before."""
    rung: list[tuple[str, int]] = []

    def room(name: str) -> Any:
        async def say(text: str) -> None: ...

        async def ring(text: str, ringing: Ringing) -> None:
            rung.append((name, ringing.times))

        return home.speakers.connected(Speaker(name, name, say, ring=ring))

    with room("kitchen"), room("attic"):
        await home.pass_time(seconds)
    return rung


async def test_a_timer_that_nobody_heeds_rings_again_and_louder_and_at_last_in_every_room() -> None:
    shelf = TimerShelf(timer(device="kitchen"))
    rung = await rung_in(Room(shelf), 600)
    assert rung[:2] == [("kitchen", 0), ("kitchen", 1)]
    assert ("attic", EVERYWHERE) in rung
    assert max(times for _, times in rung) == TIMER_RINGS - 1
    assert not shelf.due


async def test_a_timer_that_somebody_stopped_from_elsewhere_rings_no_more() -> None:
    home = Room(TimerShelf(timer(device="kitchen")))
    assert await rung_in(home, 2) == [("kitchen", 0)]
    home.speakers.stop("another")
    assert await rung_in(home, 14) == [("kitchen", 1)]
    home.speakers.stop(timer(device="kitchen")["id"])
    assert await rung_in(home, 600) == []


async def test_a_timer_that_somebody_heeded_rings_no_more() -> None:
    home = Room(TimerShelf(timer(device="kitchen")))
    assert await rung_in(home, 2) == [("kitchen", 0)]
    home.speakers.attended("kitchen")
    assert await rung_in(home, 100) == []


async def test_a_timer_that_is_silenced_while_it_is_being_said_rings_no_more() -> None:
    home = Room(TimerShelf(timer(device="kitchen")))
    rung: list[int] = []

    async def say(text: str) -> None: ...

    async def ring(text: str, ringing: Ringing) -> None:
        rung.append(ringing.times)
        await anyio.sleep(1)
        home.speakers.attended("kitchen")
        await anyio.sleep(1)  # it takes a moment until the sound is over

    with home.speakers.connected(Speaker("kitchen", "", say, ring=ring)):
        await home.pass_time(100)
    assert rung == [0]


@pytest.mark.parametrize("place", [{"device": "pi"}, {"device": "gone", "room": "kitchen"}])
async def test_what_a_device_rang_while_the_house_was_away_is_not_announced_again(place: dict[str, str]) -> None:
    shelf = TimerShelf(timer(**place))
    home = Room(shelf)
    home.speakers.rang("pi", "kitchen", ["t1"])
    with home.device("pi"):
        await home.pass_time(5)
    assert (home.heard, shelf.due) == ([], {})


async def test_no_device_is_believed_that_it_rang_what_was_to_ring_elsewhere() -> None:
    shelf = TimerShelf(timer(device="pi", room="kitchen"))
    home = Room(shelf)
    for device, room in [("phone", "attic"), ("", ""), ("other", "")]:
        home.speakers.rang(device, room, ["t1"])
    with home.device("pi", "kitchen"), home.device("phone", "attic"):
        await home.pass_time(5)
    assert [device for device, _ in home.heard] == ["pi"]


async def test_a_flood_of_what_a_device_says_it_rang_is_not_remembered_for_ever() -> None:
    speakers = Speakers()
    for number in range(100):
        speakers.rang("pi", "kitchen", [f"t{number}_{part}" for part in range(64)])
    assert not speakers.take_rang(timer("t0_0", device="pi"))
    assert speakers.take_rang(timer("t99_63", device="pi"))
    assert len(speakers._rang) <= MOST_RANG


async def test_one_broken_device_does_not_silence_the_others() -> None:
    home = Room(TimerShelf(timer()))

    async def broken(text: str) -> None:
        raise anyio.BrokenResourceError

    with home.speakers.connected(Speaker("dead", "", broken)), home.device("phone"):
        await home.pass_time(10)
    assert [device for device, _ in home.heard] == ["phone"]


async def test_a_device_that_is_busy_does_not_hold_up_the_bell_of_another() -> None:
    home = Room(TimerShelf(timer("a", device="busy"), timer("b", device="phone")))
    requests: list[str] = []

    async def busy(text: str) -> None:
        requests.append(text)
        await anyio.sleep_forever()

    with home.speakers.connected(Speaker("busy", "", busy)), home.device("phone"):
        await home.pass_time(2 * POLL_SECONDS)
    assert [device for device, _ in home.heard] == ["phone"]
    assert len(requests) == 1, "it is being told already"


async def test_it_does_not_ring_twice_when_the_mark_could_not_be_made() -> None:
    shelf = TimerShelf(timer())
    shelf.marking_fails = True
    home = Room(shelf)
    with home.device("phone"):
        await home.pass_time(10)
        shelf.marking_fails = False
        await home.pass_time(10)
    assert len(home.heard) == 1
    assert not shelf.due


async def test_it_goes_on_when_the_tool_server_comes_back(caplog: pytest.LogCaptureFixture) -> None:
    shelf = TimerShelf(timer())
    shelf.away = True
    home = Room(shelf)
    with home.device("phone"):
        await home.pass_time(100 * POLL_SECONDS)
        shelf.away = False
        await home.pass_time(10)
    assert len(home.heard) == 1
    assert len(caplog.messages) == 2  # once when it went, once when it came back


class ToolShelf:
    """A tool server with a shelf for each kind of thing that can be due."""

    def __init__(self, **due: list[dict[str, Any]]) -> None:
        self.due = due
        self.waiting_for: list[str] = []
        self.heard: list[dict[str, Any]] = []
        self.away: set[str] = set()
        self.full = False  # the disk: nothing can be written

    async def listed(self) -> Sequence[Tool]:
        names = [f"{kind}.{verb}" for kind in self.due for verb in ("due", "announced")]
        return [Tool(name, name, {}) for name in [*names, "reminders.heard"]]

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        kind, verb = call.name.split(".")
        assert kind in self.due, f"{call.name} is no tool here"
        if kind in self.away:
            return ToolResult(call.id, False, "The tools are away.")
        if self.full and verb != "due":
            return ToolResult(call.id, False, "I can't write down what I do.")
        if verb == "announced":
            self.due[kind] = [due for due in self.due[kind] if due["id"] not in call.arguments["ids"]]
        if verb == "heard":
            self.heard.append(dict(call.arguments))
        key = "timers" if kind == "timers" else "due"
        return ToolResult(call.id, True, "", {key: self.due[kind], "waiting_for": self.waiting_for})

    async def aclose(self) -> None:
        pass


def due(text: str, **fields: Any) -> dict[str, Any]:
    place = {"device": "", "room": "", "person": "", "urgent": False, "late_seconds": 0}
    return {"id": f"id of {text}", "text": text} | place | fields


async def test_whatever_is_due_is_said_in_its_own_words_and_marked_where_it_came_from() -> None:
    shelf = ToolShelf(
        timers=[timer()], reminders=[due("Reminder: call mum.")], alarms=[due("It's seven.", urgent=True)]
    )
    home = Room(shelf)  # type: ignore[arg-type]
    with home.device("kitchen"):
        await home.pass_time(10)
    assert sorted(text for _, text in home.heard) == [
        "It's seven.",
        "Reminder: call mum.",
        "Your 10 minute timer has ended.",
    ]
    assert shelf.due == {"timers": [], "reminders": [], "alarms": []}


async def test_a_kind_that_is_away_does_not_silence_the_others_and_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf = ToolShelf(timers=[], reminders=[due("Reminder: call mum.")])
    shelf.away = {"timers"}
    home = Room(shelf)  # type: ignore[arg-type]
    with home.device("kitchen"):
        await home.pass_time(20)
    assert len(home.heard) == len(caplog.messages) == 1


async def test_an_alarm_that_cannot_be_noted_rings_for_some_minutes_and_a_reminder_once() -> None:
    shelf = ToolShelf(reminders=[due("Call mum.")], alarms=[due("It's seven.", urgent=True)])
    shelf.full = True
    home = Room(shelf)  # type: ignore[arg-type]
    with home.device("bed"):
        await home.pass_time(100)
        assert [text for _, text in home.heard].count("It's seven.") == 4
        await home.pass_time(1_000)
        assert [text for _, text in home.heard].count("It's seven.") == UNNOTED_RINGS, "nobody could stop it"
        assert [text for _, text in home.heard].count("Call mum.") == 1
        shelf.full = False
        await home.pass_time(10)
    assert shelf.due == {"reminders": [], "alarms": []}


async def test_two_kinds_may_use_the_same_id() -> None:
    shelf = ToolShelf(reminders=[due("Call mum.", id="1")], alarms=[due("Wake up.", id="1")])
    home = Room(shelf)  # type: ignore[arg-type]
    with home.device("kitchen"):
        await home.pass_time(10)
    assert len(home.heard) == 2


async def test_a_reminder_goes_where_its_person_was_heard_last() -> None:
    shelf = ToolShelf(reminders=[])
    home = Room(shelf)  # type: ignore[arg-type]
    with home.device("tv", "den"), home.device("stove", "kitchen"), home.device("bath", "bathroom"):
        home.speakers.heard(Actor("Anna", "phone", "adult", "den"))
        home.speakers.heard(Actor("Anna", "stove", "adult", "kitchen"))
        home.speakers.heard(Actor("Ben", "phone", "adult", "den"))
        shelf.due["reminders"] = [due("Anna, a reminder.", person="Anna"), due("Ben, a reminder.", person="Ben")]
        await home.pass_time(10)
    assert sorted(home.heard) == [("stove", "Anna, a reminder."), ("tv", "Ben, a reminder.")]


async def test_what_is_urgent_and_has_no_place_is_said_everywhere_and_an_alarm_stays_in_its_room() -> None:
    shelf = ToolShelf(
        reminders=[due("Anna, again.", person="Anna", urgent=True)], alarms=[due("Up!", room="attic", urgent=True)]
    )
    home = Room(shelf)  # type: ignore[arg-type]
    with home.device("stove", "kitchen"), home.device("bed", "attic"):
        home.speakers.heard(Actor("Anna", "stove", "adult", "kitchen"))
        await home.pass_time(10)
    assert sorted(home.heard) == [("bed", "Anna, again."), ("bed", "Up!"), ("stove", "Anna, again.")]


async def test_who_was_heard_is_told_once_and_only_when_somebody_waits_for_that() -> None:
    shelf = ToolShelf(reminders=[])
    shelf.waiting_for = ["anna"]
    home = Room(shelf)  # type: ignore[arg-type]
    for actor in (Actor("Ben", "tv", "adult"), Actor("", "tv", "guest"), Actor("Anna", "phone", "adult", "hall")):
        home.speakers.heard(actor)
    home.speakers.heard(Actor("Anna", "stove", "adult", "kitchen"))
    await home.pass_time(10)
    assert shelf.heard == [{"person": "Anna", "room": "kitchen", "device": "stove"}]


async def test_a_crowd_of_names_is_not_remembered_for_ever() -> None:
    speakers = Speakers()
    for number in range(1000):
        speakers.heard(Actor(f"guest {number}", "phone", "adult"))
    assert len(speakers._places) == len(speakers._news) == MOST_PEOPLE


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"name": "pizza"}, "Your pizza timer has ended."),
        ({"seconds": 90}, "Your 1 minute 30 second timer has ended."),
        ({"seconds": 3600, "late_seconds": 7300}, "Your 1 hour timer ended 2 hours ago."),
        ({"name": "egg", "late_seconds": 60}, "Your egg timer ended 1 minute ago."),
        ({"seconds": 1, "late_seconds": 45}, "Your 1 second timer ended 45 seconds ago."),
        ({"late_seconds": 29}, "Your 10 minute timer has ended."),
        ({"late_seconds": 200_000}, "Your 10 minute timer ended 2 days ago."),
    ],
)
def test_what_is_said(fields: dict[str, Any], text: str) -> None:
    assert sentence(timer(**fields)) == text
