from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from atlas import own_words
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
    RecordedWords,
    Ringing,
    Speaker,
    Speakers,
)
from atlas.conversation import Actor, SignedAnswer, Tool, ToolCall, ToolResult
from atlas.errors import EngineError, StoreError
from atlas.speech.message_sounds import MessageSounds
from tests.conftest import virtual_time
from tests.scripted_vad import voice


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
        self.ringing: dict[str, dict[str, Any]] = {}
        self.running: dict[str, dict[str, Any]] = {}

    def snooze(self, id: str) -> None:
        """Let a timer that rings run again."""
        self.running[id] = self.ringing.pop(id)

    def end(self, id: str) -> None:
        """Let a timer that runs be due."""
        self.due[id] = self.running.pop(id)

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
                ended = self.ringing.pop(identity, None) or self.due.pop(identity, None)
                if ended and call.arguments.get("ringing"):
                    self.ringing[identity] = ended
        data = {"timers": list(self.due.values()), "ringing": list(self.ringing.values()), "coming": self.coming}
        running = [one | {"state": "running", "left_seconds": 60.0} for one in self.running.values()]
        data["waiting"] = [*running, *(one | {"state": "ended"} for one in self.due.values())]
        return ToolResult(call.id, True, "", data)

    async def aclose(self) -> None:
        pass


def timer(identity: str = "t1", **fields: Any) -> dict[str, Any]:
    text = f"Your {fields.get('name') or '10 minute'} timer has ended."
    usual = {"name": "", "room": "", "device": "", "seconds": 600, "late_seconds": 0, "text": text}
    return {"id": identity} | usual | fields


class Room:
    """Devices that write down what they were told."""

    def __init__(self, shelf: TimerShelf) -> None:
        self.speakers = Speakers()
        self.heard: list[tuple[str, str]] = []
        self.bell = Bell(shelf, self.speakers)

    def device(self, name: str, room: str = "", id: str = "") -> Any:
        async def say(text: str) -> None:
            self.heard.append((name, text))

        return self.speakers.connected(Speaker(name, room, say, device_id=id))

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


async def test_a_timer_rings_on_the_device_that_set_it_whatever_that_is_called_and_on_no_other_of_its_name() -> None:
    home = Room(TimerShelf(timer(device="device_1")))
    with home.device("tablet", id="device_2"), home.device("renamed", id="device_1"):
        await home.pass_time(10)
    assert {device for device, _ in home.heard} == {"renamed"}


async def test_it_rings_in_the_room_when_the_device_has_left_and_everywhere_when_the_room_is_empty() -> None:
    home = Room(TimerShelf(timer("a", device="tablet", room="kitchen"), timer("b", device="gone", room="attic")))
    with home.device("stove", "kitchen"), home.device("phone"):
        await home.pass_time(10)
    assert sorted(device for device, _ in home.heard) == ["phone", "stove", "stove"]


async def test_a_guest_is_told_what_is_for_their_device_or_room_and_nothing_that_nobody_else_took() -> None:
    mine, rooms, others = timer("a", device="guest", name="tea"), timer("b", room="attic"), timer("c", device="gone")
    shelf = TimerShelf(mine, rooms, others)
    home = Room(shelf)

    async def say(text: str) -> None:
        home.heard.append(("guest", text))

    with home.speakers.connected(Speaker("guest", "attic", say, resides=False)):
        await home.pass_time(300)  # also when a timer that nobody stopped rings everywhere
        assert {text for _, text in home.heard} == {"Your tea timer has ended.", "Your 10 minute timer has ended."}
        assert list(shelf.due) == ["c"]
        home.heard.clear()
        with home.device("phone"):
            await home.pass_time(10)
        assert [device for device, _ in home.heard] == ["phone"]
    assert not shelf.due


async def test_while_nobody_is_there_it_waits_without_asking_and_then_says_how_late_it_is() -> None:
    shelf = TimerShelf(timer(late_seconds=185, text="Your 10 minute timer ended 3 minutes ago."))
    home = Room(shelf)
    await home.pass_time(3600)
    assert shelf.amount == 0
    with home.device("phone"):
        await home.pass_time(10)
    assert home.heard == [("phone", "Your 10 minute timer ended 3 minutes ago.")]


async def test_who_opens_the_app_later_is_not_greeted_with_timers_of_others_that_ended_long_before() -> None:
    old, mine = (
        timer("old", device="terminal", late_seconds=1_000),
        timer("mine", device="phone", name="tea", late_seconds=1_000),
    )
    shelf = TimerShelf(old, mine, timer("ancient", device="phone", late_seconds=90_000))
    home = Room(shelf)
    with home.device("phone"):
        await home.pass_time(10)
    assert home.heard == [("phone", "Your tea timer has ended.")]
    assert list(shelf.due) == ["old"]  # the terminal may still come


def test_an_announcement_is_heard_there_elsewhere_by_its_sender_or_by_nobody() -> None:
    home = Room(TimerShelf())
    assert home.speakers.audience("", "phone") == "nobody"
    with home.device("phone"):
        assert home.speakers.audience("", "phone") == "sender"
        assert home.speakers.audience("kitchen", "terminal") == "elsewhere"
        with home.device("stove", "kitchen"):
            assert home.speakers.audience("kitchen", "phone") == home.speakers.audience("", "phone") == "there"


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


async def test_long_words_are_said_once_and_to_their_end() -> None:
    home = Room(TimerShelf(timer(text="a word and another " * 40)))
    heard: list[str] = []

    async def slow(text: str) -> None:
        await anyio.sleep(len(text) / 14)
        heard.append(text)

    with home.speakers.connected(Speaker("pi", "", slow)):
        await home.pass_time(300)
    assert len(heard) == 1


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


async def test_a_house_that_dies_while_a_timer_rings_rings_it_again_after_its_start_until_it_was_heeded() -> None:
    shelf = TimerShelf(timer(device="kitchen"))
    assert await rung_in(Room(shelf), 2) == [("kitchen", 0)]
    again = Room(shelf)
    assert await rung_in(again, 2) == [("kitchen", 0)]
    again.speakers.attended("kitchen")
    assert await rung_in(again, 60) == []
    assert not shelf.ringing
    assert await rung_in(Room(shelf), 60) == []


async def test_what_a_room_rang_and_stopped_by_itself_while_the_house_was_dead_rings_no_more() -> None:
    shelf = TimerShelf(timer(device="kitchen"))
    assert await rung_in(Room(shelf), 2) == [("kitchen", 0)]
    again = Room(shelf)
    again.speakers.rang("kitchen", "kitchen", ["t1"])
    assert await rung_in(again, 60) == []
    assert not shelf.ringing


async def test_a_timer_that_somebody_stopped_by_a_command_rings_no_more_and_another_rings_on() -> None:
    shelf = TimerShelf(timer("a", device="kitchen"), timer("b", device="attic"))
    home = Room(shelf)
    assert sorted(await rung_in(home, 2)) == [("attic", 0), ("kitchen", 0)]
    del shelf.ringing["a"]  # as "stop", typed on a phone, does
    assert await rung_in(home, 14) == [("attic", 1)]


@pytest.mark.parametrize("how", ["by a command", "on its page, and by a command then", "called there"])
async def test_a_timer_that_was_snoozed_rings_again_and_again_as_it_did_at_first(how: str) -> None:
    shelf = TimerShelf(timer(device="kitchen"))
    home = Room(shelf)
    assert await rung_in(home, 2) == [("kitchen", 0)]
    if how == "on its page, and by a command then":
        home.speakers.stop("t1")
    if how == "called there":
        home.speakers.attended("kitchen")
    shelf.snooze("t1")
    assert await rung_in(home, 60) == []
    shelf.end("t1")
    rung = await rung_in(home, 600)
    assert rung[:2] == [("kitchen", 0), ("kitchen", 1)]
    assert ("attic", EVERYWHERE) in rung
    assert not (shelf.due or shelf.ringing)


async def test_a_timer_that_was_snoozed_and_then_stopped_rings_no_more() -> None:
    shelf = TimerShelf(timer(device="kitchen"))
    home = Room(shelf)
    await rung_in(home, 2)
    shelf.snooze("t1")
    await rung_in(home, 10)
    shelf.end("t1")
    assert await rung_in(home, 2) == [("kitchen", 0)]
    home.speakers.stop("t1")
    assert await rung_in(home, 60) == []
    assert not shelf.ringing


async def test_what_ended_long_before_anybody_was_there_is_told_once_on_each_device() -> None:
    shelf = TimerShelf(timer(person="Anna", text="Your 3 minute timer ended 5 minutes ago.", late_seconds=300))
    rung = await rung_in(Room(shelf), 600)
    assert sorted(rung) == [("attic", 0), ("kitchen", 0)]
    assert not (shelf.due or shelf.ringing)


async def test_a_timer_that_rings_on_is_told_by_the_age_that_it_has_then() -> None:
    shelf, said = TimerShelf(timer(device="kitchen")), list[str]()
    home = Room(shelf)

    async def say(text: str) -> None: ...

    async def ring(text: str, ringing: Ringing) -> None:
        said.append(text)

    with home.speakers.connected(Speaker("kitchen", "kitchen", say, ring=ring)):
        await home.pass_time(5)
        shelf.ringing["t1"] |= {"text": "Your 10 minute timer ended 12 seconds ago."}
        await home.pass_time(10)
    assert said == ["Your 10 minute timer has ended.", "Your 10 minute timer ended 12 seconds ago."]


@pytest.mark.parametrize("before", [0, 1])  # the first ring, and one that comes again
async def test_no_timer_is_told_between_a_question_of_the_house_and_its_answer(before: int) -> None:
    home = Room(TimerShelf(timer(device="kitchen")))
    if before:
        assert await rung_in(home, 5) == [("kitchen", 0)]
    home.speakers.asked("kitchen")
    assert await rung_in(home, 15) == []
    home.speakers.answered("kitchen")
    assert (await rung_in(home, 2))[0] == ("kitchen", before)


async def test_a_question_that_nobody_answers_holds_a_timer_back_for_a_moment_only() -> None:
    home = Room(TimerShelf(timer(device="kitchen")))
    home.speakers.asked("kitchen")
    assert await rung_in(home, 25) == [("kitchen", 0)]


@pytest.mark.parametrize("kind", ["reminders", "messages", "later"])
async def test_nothing_that_can_wait_is_said_between_a_question_of_the_house_and_its_answer(kind: str) -> None:
    home = Room(ToolShelf(**{kind: [due("Anna, a reminder.", device="kitchen", room="kitchen")]}))  # type: ignore[arg-type]
    with home.device("kitchen", "kitchen"):
        home.speakers.asked("kitchen")
        await home.pass_time(15)
        assert home.heard == []
        home.speakers.answered("kitchen")
        await home.pass_time(2)
    assert home.heard == [("kitchen", "Anna, a reminder.")]


async def test_an_alarm_and_what_a_person_announces_wait_for_no_answer() -> None:
    shelf = ToolShelf(alarms=[due("It's seven.", device="kitchen", urgent=True)], broadcast=[due("Dinner!")])
    home = Room(shelf)  # type: ignore[arg-type]
    with home.device("kitchen", "kitchen"):
        home.speakers.asked("kitchen")
        await home.pass_time(2)
    assert sorted(text for _, text in home.heard) == ["Dinner!", "It's seven."]


async def test_a_question_on_a_phone_holds_back_no_timer_in_the_kitchen() -> None:
    home = Room(TimerShelf(timer(device="kitchen")))
    home.speakers.asked("attic")
    assert await rung_in(home, 2) == [("kitchen", 0)]


async def test_two_timers_ring_in_two_rooms_and_who_stops_one_does_not_stop_the_other() -> None:
    home = Room(TimerShelf(timer("a", device="kitchen"), timer("b", device="attic")))
    assert sorted(await rung_in(home, 2)) == [("attic", 0), ("kitchen", 0)]
    home.speakers.attended("kitchen")
    assert await rung_in(home, 14) == [("attic", 1)]


async def test_a_room_is_told_that_a_timer_rings_on_there_and_when_somebody_has_stopped_it() -> None:
    home = Room(TimerShelf(timer(device="pi")))
    messages: list[list[tuple[str, int]]] = []

    async def say(text: str) -> None: ...

    async def ring(text: str, ringing: Ringing) -> None: ...

    async def expect(coming: Sequence[Coming]) -> None:
        messages.append([(ring.id, round(ring.in_seconds)) for ring in coming])

    with home.speakers.connected(Speaker("pi", "", say, ring=ring, expect=expect)):
        await home.pass_time(10)
        home.speakers.attended("pi")
        await home.pass_time(2)
    assert messages == [[("t1", 0)], []]


async def test_a_room_is_told_of_a_timer_also_while_its_first_ring_is_being_played() -> None:
    home = Room(TimerShelf(timer(device="pi")))
    messages: list[list[str]] = []

    async def say(text: str) -> None: ...

    async def ring(text: str, ringing: Ringing) -> None:
        await anyio.sleep(20)

    async def expect(coming: Sequence[Coming]) -> None:
        messages.append([ring.id for ring in coming])

    with home.speakers.connected(Speaker("pi", "", say, ring=ring, expect=expect)):
        await home.pass_time(10)
    assert messages and all(ids == ["t1"] for ids in messages)


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


async def test_what_is_due_is_said_in_the_language_in_which_it_was_set() -> None:
    heard: list[tuple[str, str]] = []

    async def say(text: str) -> None:
        heard.append((text, own_words.language()))

    shelf = TimerShelf(timer("a", text="Dein Timer ist fertig.", language="de"), timer("b", language="en"), timer("c"))
    home = Room(shelf)
    with home.speakers.connected(Speaker("kitchen", "", say)):
        await home.pass_time(10)
    assert sorted(language for _, language in heard) == ["de", "en", own_words.language()]
    assert ("Dein Timer ist fertig.", "de") in heard


class Inbox(TimerShelf):
    """A tool server with messages that wait."""

    def __init__(self, *messages: dict[str, Any]) -> None:
        super().__init__()
        self.messages = {message["id"]: message for message in messages}

    async def listed(self) -> Sequence[Tool]:
        return [Tool("messages.due", "", {})]

    async def call(self, call: ToolCall, actor: Actor, turn_id: str, *more: Any, **others: Any) -> ToolResult:
        if call.name == "messages.announced":
            for identity in call.arguments["ids"]:
                del self.messages[identity]
        return ToolResult(call.id, True, "", {"due": list(self.messages.values())})


def message(identity: str = "message_00000001", **fields: Any) -> dict[str, Any]:
    said = {"intro": "A message from Anna:", "text": "A message from Anna: Dinner is ready"}
    return {"id": identity, "room": "", "device": "", "person": "", "sender_device": "phone", **said} | fields


async def test_a_message_for_everybody_is_played_in_every_room_but_where_it_was_left() -> None:
    home = Room(Inbox(message()))
    with home.device("kitchen", "kitchen"), home.device("attic", "attic"), home.device("phone"):
        await home.pass_time(3)
    text = "A message from Anna: Dinner is ready"
    assert sorted(home.heard) == [("attic", text), ("kitchen", text)]


async def test_pages_are_told_once_that_messages_came_which_nobody_plays_and_once_that_they_are_gone() -> None:
    inbox, told = Inbox(), []
    home = Room(inbox)
    home.bell = Bell(inbox, home.speakers, changed=told.append)  # type: ignore[arg-type]
    with home.device("toms phone"):
        await home.pass_time(5)
        assert told == []
        inbox.messages["message_1"] = message("message_1", person="Tom")
        await home.pass_time(5)
        assert told == ["voice-messages"]
        inbox.messages.clear()
        await home.pass_time(5)
    assert told == ["voice-messages"] * 2


async def test_a_message_for_a_room_waits_until_somebody_can_hear_it_there() -> None:
    home = Room(Inbox(message(room="attic")))
    with home.device("kitchen", "kitchen"):
        await home.pass_time(600)
        assert home.heard == []
        with home.device("attic pi", "attic"):
            await home.pass_time(3)
    assert [device for device, _ in home.heard] == ["attic pi"]


async def test_a_message_for_a_person_is_played_where_they_were_heard_just_now_and_nowhere_else() -> None:
    home = Room(Inbox(message(person="Tom")))
    with home.device("kitchen", "kitchen"), home.device("toms phone"):
        await home.pass_time(60)
        assert home.heard == []
        home.speakers.heard(Actor("Tom", "toms phone", "teen"))
        await home.pass_time(3)
    assert [device for device, _ in home.heard] == ["toms phone"]


async def test_a_message_is_played_in_the_voice_of_who_left_it_once_its_sound_is_there(tmp_path: Any) -> None:
    sounds = MessageSounds(tmp_path)
    home = Room(Inbox(message()))
    home.bell = Bell(home.bell._tools, home.speakers, sounds)
    played: list[RecordedWords] = []

    async def say(text: str) -> None:
        raise AssertionError("it has a voice of its own")

    async def play(words: RecordedWords) -> None:
        played.append(words)

    with home.speakers.connected(Speaker("kitchen", "kitchen", say, play=play)):
        with sounds.awaiting():
            await home.pass_time(3)
            assert played == []
            await sounds.put("message_00000001", voice(1.0))
        await home.pass_time(3)
    [words] = played
    assert (words.intro, words.text, words.sound.pcm) == ("A message from Anna:", "Dinner is ready", voice(1.0).pcm)


async def test_a_timer_that_nobody_heeds_rings_on_its_persons_devices_before_it_rings_everywhere() -> None:
    home = Room(TimerShelf(timer(device="kitchen", person="Anna")))
    rung: list[str] = []

    def room(name: str, person: str = "") -> Any:
        async def say(text: str) -> None: ...

        async def ring(text: str, ringing: Ringing) -> None:
            rung.append(name)

        return home.speakers.connected(Speaker(name, name, say, ring=ring, person=person))

    with room("kitchen"), room("attic"), room("annas phone", "Anna"), room("toms phone", "Tom"):
        home.speakers.heard(Actor("Anna", "kitchen", "adult"))
        await home.pass_time(600)
    first = [rung.index(name) for name in ("kitchen", "annas phone", "attic")]
    assert first == sorted(first)
    assert rung.index("toms phone") > rung.index("annas phone")


class Away:
    """Devices whose app is closed, and what they were told."""

    def __init__(self, *devices: str) -> None:
        self.devices = devices
        self.told: list[tuple[str, str, str, str]] = []

    async def anybody(self) -> bool:
        return bool(self.devices)

    async def tell(self, page: str, *, device: str, person: str, sender: str = "") -> None:
        self.told.append((page, device, person, sender))


def home_with(away: Away, shelf: TimerShelf) -> Room:
    home = Room(shelf)
    home.bell = Bell(shelf, home.speakers, notices=away)
    return home


async def test_what_nobody_of_its_persons_can_hear_is_told_to_those_away_once() -> None:
    away, shelf = Away("phone"), TimerShelf(timer(device="phone", person="Anna"))
    home = home_with(away, shelf)
    await home.pass_time(3600)
    assert away.told == [("time", "phone", "Anna", "")]
    assert home.heard == []
    assert shelf.due


async def test_who_is_away_is_told_too_when_it_only_rings_where_they_are_not() -> None:
    away = Away("phone")
    home = home_with(away, TimerShelf(timer(device="phone", person="Anna")))
    with home.device("stove", "kitchen"):
        await home.pass_time(600)
    assert {device for device, _ in home.heard} == {"stove"}
    assert away.told == [("time", "phone", "Anna", "")]


async def test_nobody_away_is_told_what_rings_on_its_device_or_in_its_room() -> None:
    away = Away("phone")
    home = home_with(away, TimerShelf(timer("a", device="tablet"), timer("b", device="gone", room="kitchen")))
    with home.device("tablet"), home.device("stove", "kitchen"):
        await home.pass_time(600)
    assert away.told == []


async def test_nobody_away_is_told_what_ended_long_ago_or_is_a_rooms_own() -> None:
    away = Away("phone")
    home = home_with(away, TimerShelf(timer("a", device="phone", late_seconds=90_000), timer("b", room="attic")))
    await home.pass_time(600)
    assert away.told == []


async def test_what_is_due_again_after_a_while_is_told_again() -> None:
    away, shelf = Away("phone"), TimerShelf(timer(device="phone"))
    home = home_with(away, shelf)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(home.bell.ring)
        await anyio.sleep(10)
        snoozed = shelf.due.pop("t1")
        await anyio.sleep(540)
        shelf.due["t1"] = snoozed
        await anyio.sleep(10)
        tasks.cancel_scope.cancel()
    assert [page for page, *_ in away.told] == ["time", "time"]


class FailingFirst(Away):
    """Devices whose file cannot be read at first."""

    times = 3

    async def anybody(self) -> bool:
        self.times -= 1
        if self.times >= 0:
            raise StoreError("the file of the devices cannot be read just now")
        return await super().anybody()


async def test_the_bell_outlives_a_file_of_devices_that_cannot_be_read_for_a_while() -> None:
    away, shelf = FailingFirst("phone"), TimerShelf(timer(device="phone"))
    home = home_with(away, shelf)
    await home.pass_time(60)
    assert [page for page, *_ in away.told] == ["time"]


async def test_what_rings_is_said_while_the_file_of_devices_cannot_be_read() -> None:
    away, shelf = FailingFirst(), TimerShelf(timer(device="kitchen"))
    away.times = 1000
    home = home_with(away, shelf)
    with home.device("kitchen"):
        await home.pass_time(10)
    assert home.heard == [("kitchen", "Your 10 minute timer has ended.")]
