"""The calendar: files that people edit and drop in while the server runs, and what is said of them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import pytest

from tools_server.calendars import occurrences as unfolding
from tools_server.calendars.calendar_words import begins, moves
from tools_server.sdk.toolkit import ToolFailed

PARIS = ZoneInfo("Europe/Paris")
ANNA = {"person": "Anna", "device": "phone", "role": "adult", "room": ""}
NOW = datetime(2026, 11, 20, 8, 0, tzinfo=PARIS).timestamp()  # a Friday


@pytest.fixture
def world(world: Any) -> Any:
    world.clock[0] = NOW
    return world


def folder(world: Any) -> Path:
    return Path(world.data / "family-agent-config" / "calendar")


def write(world: Any, name: str, *lines: str, event: bool = True) -> Path:
    file = folder(world) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    inside = ["BEGIN:VEVENT", "DTSTAMP:20260101T000000Z", *lines, "END:VEVENT"] if event else lines
    text = "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN", *inside, "END:VCALENDAR", ""])
    file.write_text(text, newline="")
    return file


YOGA = ("UID:yoga", "SUMMARY:Yoga", "DTSTART;TZID=Europe/Paris:20261012T190000", "DURATION:PT1H", "RRULE:FREQ=WEEKLY")


def titles(answer: Any) -> list[str]:
    return [event["title"] for event in answer.data["events"]]


def starts(answer: Any) -> list[str]:
    return [event["start"][:16] for event in answer.data["events"]]


async def test_an_event_becomes_a_file_that_other_calendars_read(world: Any) -> None:
    text = await world.said("calendar.add", title="Dentist", start="2026-11-21T09:30", place="Main Street")
    assert text == "Added Dentist tomorrow at 9:30 AM, at Main Street."
    (file,) = folder(world).iterdir()
    assert file.name == "2026-11-21-dentist.ics"
    (event,) = icalendar.Calendar.from_ical(file.read_text()).walk("VEVENT")
    assert event["DTSTART"].to_ical() == b"20261121T093000"
    assert event["DTSTART"].params["TZID"] == "Europe/Paris"
    assert "BEGIN:VTIMEZONE" in file.read_text()
    text = await world.said("calendar.list", day="tomorrow")
    assert text == "You have 1 event tomorrow: Dentist at 9:30 AM, at Main Street."
    assert await world.said("calendar.next") == "Next is Dentist tomorrow at 9:30 AM, at Main Street."
    assert await world.said("calendar.list") == "There is nothing in the calendar today."


@pytest.mark.parametrize(
    ("start", "text"),
    [
        ("tomorrow at 5 pm", "Added Tea tomorrow at 5 PM."),
        ("2026-12-24", "Added Tea Thursday, December 24, all day."),
        ("next Tuesday", "Added Tea Tuesday, all day."),
        ("2026-11-23T08:00:00Z", "Added Tea Monday at 9 AM."),
        ("every weekday at 7 am", "Added Tea Monday at 7 AM, every weekday."),
        ("every Monday and Thursday at 7 pm", "Added Tea Monday at 7 PM, repeated."),
        ("every Monday at 7 pm", "Added Tea Monday at 7 PM, every week."),
    ],
)
async def test_when_it_is_may_be_said_in_words(world: Any, start: str, text: str) -> None:
    answer = await world.ok("calendar.add", title="Tea", start=start)
    assert answer.text == text
    again = await world.ok("calendar.next")
    assert again.data["events"][0]["title"] == "Tea"


@pytest.mark.parametrize(
    ("title", "start", "at"),
    [
        ("Dinner", "at 7", "2026-11-20T19:00"),
        ("Family dinner", "tomorrow at 8", "2026-11-21T20:00"),
        ("Anna's bedtime", "on Saturday at eight", "2026-11-21T20:00"),
        ("Parents' evening", "tomorrow at seven", "2026-11-21T19:00"),
        ("Abendessen mit Oma", "tomorrow at 7", "2026-11-21T19:00"),
        ("Breakfast", "at 9", "2026-11-20T09:00"),
        ("Frühstück", "at 7", "2026-11-21T07:00"),
        ("Dinner", "tomorrow at 7 am", "2026-11-21T07:00"),
        ("Dinner", "every Friday at 7", "2026-11-20T19:00"),
        ("Concert tickets", "tomorrow at 9", "2026-11-21T09:00"),
        ("Dentist", "tomorrow at 8", "2026-11-21T08:00"),
    ],
)
async def test_what_happens_at_one_half_of_the_day_is_meant_there(world: Any, title: str, start: str, at: str) -> None:
    answer = await world.ok("calendar.add", title=title, start=start)
    assert answer.data["event"]["start"][:16] == at


async def test_a_night_shift_goes_on_into_the_next_day(world: Any) -> None:
    answer = await world.ok("calendar.add", title="Night shift", start="Saturday at seven", end="at seven")
    assert (answer.data["event"]["start"][:16], answer.data["event"]["end"][:16]) == (
        "2026-11-21T19:00",
        "2026-11-22T07:00",
    )
    answer = await world.ok("calendar.add", title="Dinner", start="tomorrow at seven", end="at nine")
    assert answer.data["event"]["end"][:16] == "2026-11-21T21:00"


@pytest.mark.parametrize("start", ["", "someday", "2026-13-01", "2026-11-21T25:00", "when Anna is next heard"])
async def test_a_time_that_is_none_is_refused(world: Any, start: str) -> None:
    answer = await world.call("calendar.add", title="Tea", start=start)
    assert answer.error == "invalid"
    assert not folder(world).exists()


async def test_an_end_before_the_begin_is_refused(world: Any) -> None:
    answer = await world.refused("calendar.add", title="Tea", start="2026-11-21T09:00", end="2026-11-21T08:00")
    assert answer.text == "That ends before it begins."


async def test_days_away_are_one_event(world: Any) -> None:
    await world.ok("calendar.add", title="Holiday", start="2026-11-25", end="2026-11-27")
    assert await world.said("calendar.next") == "Next is Holiday Wednesday until Friday, November 27."
    assert titles(await world.ok("calendar.list", day="2026-11-27")) == ["Holiday"]
    assert titles(await world.ok("calendar.list", day="2026-11-28")) == []


# ── series ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_series_keeps_its_hour_when_the_clocks_change(world: Any) -> None:
    write(world, "yoga.ics", *YOGA, "EXDATE;TZID=Europe/Paris:20261130T190000")
    answer = await world.ok("calendar.list", day="2026-10-19", to="2026-12-10")
    assert starts(answer) == [
        f"2026-{day}T19:00" for day in ("10-19", "10-26", "11-02", "11-09", "11-16", "11-23", "12-07")
    ]


async def test_one_of_a_series_is_moved_and_the_others_stay(world: Any) -> None:
    file = write(world, "yoga.ics", *YOGA, "X-MOOD:calm", "BEGIN:VALARM", "ACTION:AUDIO", "TRIGGER:-PT5M", "END:VALARM")
    text = await world.said("calendar.change", title="yoga", day="2026-11-23", start="at 8")
    assert text == "Yoga is moved to Monday at 8 PM."
    answer = await world.ok("calendar.list", day="2026-11-16", to="2026-11-30")
    assert starts(answer) == ["2026-11-16T19:00", "2026-11-23T20:00", "2026-11-30T19:00"]
    assert file.read_text().count("X-MOOD:calm") == 2
    assert file.read_text().count("BEGIN:VALARM") == 2
    await world.ok("calendar.change", title="yoga", day="2026-11-23", start="Tuesday at 6 pm", place="Hall")
    answer = await world.ok("calendar.list", day="2026-11-16", to="2026-11-30")
    assert starts(answer) == ["2026-11-16T19:00", "2026-11-24T18:00", "2026-11-30T19:00"]
    assert file.read_text().count("BEGIN:VEVENT") == 2


async def test_a_whole_series_is_moved_with_its_exceptions(world: Any) -> None:
    write(world, "yoga.ics", *YOGA, "EXDATE;TZID=Europe/Paris:20261130T190000")
    await world.ok("calendar.change", title="yoga", day="2026-11-23", start="5 pm", minutes=30)
    await world.ok("calendar.change", title="yoga", day="2026-12-07", start="8 pm", whole_series=True)
    answer = await world.ok("calendar.list", day="2026-11-16", to="2026-12-10")
    assert starts(answer) == ["2026-11-16T20:00", "2026-11-23T18:00", "2026-12-07T20:00"]
    refused = await world.refused("calendar.change", title="yoga", start="Wednesday at 8 pm", whole_series=True)
    assert refused.text == "A series keeps its days. Remove it and add it anew on the other days."


async def test_one_of_a_series_is_removed_or_all(world: Any) -> None:
    file = write(world, "yoga.ics", *YOGA)
    query = await world.refused("calendar.remove", title="yoga", day="2026-11-30")
    assert query.text.startswith("Remove Yoga, Monday, November 30 at 7 PM, and no other of its series?")
    await world.ok("calendar.remove", title="yoga", day="2026-11-30")
    answer = await world.ok("calendar.list", day="2026-11-23", to="2026-12-10")
    assert starts(answer) == ["2026-11-23T19:00", "2026-12-07T19:00"]
    assert await world.said("calendar.remove", title="yoga", whole_series=True) == "Removed all of Yoga."
    assert not file.exists()
    await world.ok("history.undo")
    assert starts(await world.ok("calendar.list", day="2026-12-07")) == ["2026-12-07T19:00"]


async def test_days_of_a_series_can_be_taken_out_too(world: Any) -> None:
    write(world, "bins.ics", "UID:bins", "SUMMARY:Bins", "DTSTART;VALUE=DATE:20261102", "RRULE:FREQ=WEEKLY")
    await world.ok("calendar.remove", title="bins", day="2026-11-30")
    await world.ok("calendar.change", title="bins", day="2026-12-07", new_title="Glass")
    answer = await world.ok("calendar.list", day="2026-11-21", to="2026-12-20")
    assert list(zip(titles(answer), starts(answer), strict=True)) == [
        ("Bins", "2026-11-23"),
        ("Glass", "2026-12-07"),
        ("Bins", "2026-12-14"),
    ]


async def test_a_series_is_made_by_words_or_by_rule(world: Any) -> None:
    await world.ok("calendar.add", title="Choir", start="2026-11-25T20:00", repeat="every other week")
    await world.ok("calendar.add", title="Rent", start="2026-12-01", repeat="FREQ=MONTHLY;UNTIL=20270201")
    answer = await world.ok("calendar.list", day="2026-11-21", to="2027-03-15")
    choir = [event["start"][:10] for event in answer.data["events"] if event["title"] == "Choir"]
    rent = [event["start"] for event in answer.data["events"] if event["title"] == "Rent"]
    assert choir[:3] == ["2026-11-25", "2026-12-09", "2026-12-23"]
    assert rent == ["2026-12-01", "2027-01-01", "2027-02-01"]
    for rule in ("FREQ=SECONDLY", "every", "FREQ=WEEKLY;BYDAY=XX", "FREQ=DAILY;INTERVAL=0", "FREQ=DAILY;BYHOUR=x"):
        assert (await world.refused("calendar.add", title="x", start="2026-12-01", repeat=rule)).error == "invalid"


# ── which one ──────────────────────────────────────────────────────────────────────────────────────


async def test_two_of_one_name_on_one_day_are_told_apart(world: Any) -> None:
    for hour in ("09", "15"):
        await world.ok("calendar.add", title="Dentist", start=f"2026-11-23T{hour}:00")
    query = await world.refused("calendar.remove", title="dentist", day="2026-11-23")
    [_, second] = query.data["ids"]
    text = await world.said("calendar.remove", title=second, day=query.data["days"][1])
    assert text == "Removed Dentist Monday at 3 PM."


async def test_no_stranger_chooses_what_an_event_is_found_by(world: Any) -> None:
    write(world, "a.ics", "UID:dentist", "SUMMARY:Party", "DTSTART:20261123T190000", "DURATION:PT1H")
    await world.ok("calendar.add", title="Dentist Miller", start="2026-11-25T15:00")
    assert await world.said("calendar.remove", title="dentist") == "Removed Dentist Miller Wednesday at 3 PM."


async def test_only_events_that_were_named_can_be_meant(world: Any) -> None:
    for day in range(10):
        await world.ok("calendar.add", title="Dentist", start=f"2026-12-{day + 1:02}T09:00")
    query = await world.refused("calendar.remove", title="dentist")
    assert query.text.endswith(" or one of 2 more?")
    assert [len(query.data[key]) for key in ("several", "days", "ids")] == [8, 8, 8] and query.data["more"] == 2


async def test_when_several_could_be_meant_it_asks_which(world: Any) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-11-23T09:00")
    await world.ok("calendar.add", title="Dentist", start="2026-11-25T15:00")
    query = await world.refused("calendar.remove", title="dentist")
    assert query.text == "Which one: Dentist Monday at 9 AM or Dentist Wednesday at 3 PM?"
    assert query.data["days"] == ["2026-11-23", "2026-11-25"]
    text = await world.said("calendar.remove", title="dentist", day="2026-11-25")
    assert text == "Removed Dentist Wednesday at 3 PM."
    missing = await world.refused("calendar.remove", title="dentists")
    assert missing.text == "There is no dentists in the calendar. The nearest is Dentist."


async def test_an_event_is_changed_and_changed_back(world: Any) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-11-23T09:00", minutes=30)
    text = await world.said("calendar.change", title="dentist", start="Tuesday at 3 pm", new_title="Doctor")
    assert text == "Dentist Monday at 9 AM is now Doctor, Tuesday at 3 PM."
    (event,) = (await world.ok("calendar.list", day="2026-11-24")).data["events"]
    assert (event["start"], event["end"]) == ("2026-11-24T15:00+01:00", "2026-11-24T15:30+01:00")
    await world.ok("history.undo")
    assert titles(await world.ok("calendar.list", day="2026-11-23")) == ["Dentist"]


async def test_what_somebody_edited_since_is_not_undone(world: Any) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-11-23T09:00")
    (file,) = folder(world).iterdir()
    file.write_text(file.read_text().replace("Dentist", "Doctor"))
    refused = await world.refused("history.undo")
    assert refused.text.endswith("was edited since.")
    assert titles(await world.ok("calendar.list", day="2026-11-23")) == ["Doctor"]


async def test_events_are_found_by_their_words(world: Any) -> None:
    write(world, "yoga.ics", *YOGA, "LOCATION:Town hall")
    await world.ok("calendar.add", title="Dinner with Tom", start="2026-11-28T19:30")
    assert await world.said("calendar.find", words="hall") == "I found Yoga Monday at 7 PM, at Town hall."
    text = await world.said("calendar.find", words="tom dinner")
    assert text == "I found Dinner with Tom Saturday, November 28 at 7:30 PM."
    assert await world.said("calendar.find", words="opera") == "I find no opera in the calendar."


async def test_my_birthday_is_not_annas(world: Any) -> None:
    await world.ok("calendar.add", title="Anna's birthday", start="5 June")
    assert await world.said("calendar.find", words="my birthday") == "I find no birthday of yours in the calendar."
    assert titles(await world.ok("calendar.find", words="birthday")) == ["Anna's birthday"]
    await world.ok("calendar.add", title="Birthday", start="6 June")
    assert titles(await world.ok("calendar.find", words="my birthday")) == ["Birthday"]
    await world.ok("calendar.add", title="Dentist", start="7 June")
    assert titles(await world.ok("calendar.find", words="my dentist")) == ["Dentist"]
    assert titles(await world.ok("calendar.find", actor=ANNA, words="my birthday")) == ["Anna's birthday", "Birthday"]


async def test_what_is_free_lies_between_events(world: Any) -> None:
    assert await world.said("calendar.free", day="tomorrow") == "You are free all day tomorrow."
    await world.ok("calendar.add", title="Work", start="2026-11-21T09:00", end="2026-11-21T12:00")
    await world.ok("calendar.add", title="Lunch", start="2026-11-21T12:15", minutes=60)
    await world.ok("calendar.add", title="Anna's birthday", start="2026-11-21")
    text = await world.said("calendar.free", day="tomorrow")
    assert text == (
        "You are free tomorrow from 8 AM to 9 AM and from 1:15 PM to 10 PM. All day there is Anna's birthday."
    )
    await world.ok("calendar.add", title="Fair", start="2026-11-22T07:00", end="2026-11-22T23:00")
    assert await world.said("calendar.free", day="2026-11-22") == "You are not free Sunday."


async def test_a_week_is_told_by_its_days(world: Any) -> None:
    write(world, "yoga.ics", *YOGA)
    text = await world.said("calendar.list", day="next week")
    assert text == "You have 1 event from Monday to Sunday, November 29: Yoga Monday at 7 PM."


async def test_on_a_sunday_this_week_is_the_coming_one_too(world: Any) -> None:
    world.clock[0] = NOW + 2 * 86_400
    write(world, "yoga.ics", *YOGA)
    text = await world.said("calendar.list", day="this week")
    assert text == "You have 1 event from today to Sunday, November 29: Yoga tomorrow at 7 PM."


async def test_a_day_in_digits_may_have_its_time_in_words_and_the_end_is_told(world: Any) -> None:
    answer = await world.ok("calendar.add", title="Party", start="2026-12-05 at two", end="at four")
    assert answer.text == "Added Party Saturday, December 5 at 2 PM until 4 PM."


# ── edited by hand ─────────────────────────────────────────────────────────────────────────────────

BROKEN = {
    "no calendar": b"hello\r\n",
    "no text": b"BEGIN:VCALENDAR\r\nX-A:caf\xe9\r\nEND:VCALENDAR\r\n",
    "an event each second": b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20200101T000000Z\r\n"
    b"RRULE:FREQ=SECONDLY\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
    "cut off": b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n",
    "empty": b"",
    "a card": b"BEGIN:VCARD\r\nFN:Anna\r\nEND:VCARD\r\n",
}


@pytest.mark.parametrize("case", BROKEN)
async def test_one_broken_file_is_reported_and_hides_no_other(world: Any, case: str) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-11-21T09:30")
    (folder(world) / "broken.ics").write_bytes(BROKEN[case])
    answer = await world.ok("calendar.list", day="tomorrow")
    assert titles(answer) == ["Dentist"]
    assert [problem["file"] for problem in answer.data["problems"]] == ["broken.ics"]
    assert " I could not read broken.ics: " in answer.text


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=HOURLY",
        "FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=1,2,3;BYSECOND=1,2,3",
        "FREQ=HOURLY;COUNT=900;BYMONTH=2;BYMONTHDAY=30",
    ],
)
async def test_a_rule_that_takes_for_ever_is_reported_and_hides_no_other(
    world: Any, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unfolding, "STUCK_SECONDS", 0.3)
    write(world, "a.ics", "UID:1", "SUMMARY:Endless", "DTSTART:20200101T000000Z", f"RRULE:{rule}")
    await world.ok("calendar.add", title="Dentist", start="2026-11-21T09:30")
    answer = await world.ok("calendar.list", day="tomorrow")
    assert titles(answer) == ["Dentist"]
    assert [problem["file"] for problem in answer.data["problems"]] == ["a.ics"]


@pytest.mark.parametrize(
    "lines",
    [
        ("SUMMARY:No start", "UID:1"),
        ("SUMMARY:No uid or end", "DTSTART:20261121T080000Z"),
        ("SUMMARY:Ends before", "UID:1", "DTSTART:20261121T080000Z", "DTEND:20261120T080000Z"),
        ("SUMMARY:Bad rule", "UID:1", "DTSTART:20261121T080000Z", "RRULE:FREQ=NEVER"),
        ("SUMMARY:Bad time", "UID:1", "DTSTART:tomorrow"),
        ("SUMMARY:No zone", "UID:1", "DTSTART;TZID=Nowhere/Land:20261121T080000"),
        ("SUMMARY:" + "x" * 5_000, "UID:1", "DTSTART:20261121T080000Z"),
    ],
)
async def test_an_odd_event_breaks_nothing(world: Any, lines: tuple[str, ...]) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-11-21T09:30")
    write(world, "odd.ics", *lines)
    answer = await world.ok("calendar.list", day="tomorrow")
    assert "Dentist" in titles(answer)
    assert len(answer.text) < 400


async def test_links_out_of_the_folder_are_reported_and_not_followed(world: Any) -> None:
    secret = write(world, "x.ics", "UID:1", "SUMMARY:Secret", "DTSTART:20261121T080000Z").rename(world.data / "s.ics")
    (folder(world) / "link.ics").symlink_to(secret)
    (folder(world) / "hard.ics").hardlink_to(secret)
    answer = await world.ok("calendar.list", day="tomorrow")
    assert titles(answer) == []
    assert [problem["file"] for problem in answer.data["problems"]] == ["hard.ics", "link.ics"]


async def test_events_of_others_zones_and_of_none_are_told_on_the_clocks_of_the_house(world: Any) -> None:
    write(world, "a.ics", "UID:1", "SUMMARY:Call", "DTSTART;TZID=America/New_York:20261121T040000")
    write(world, "b.ics", "UID:2", "SUMMARY:Tea", "DTSTART:20261121T160000", "DURATION:PT1H")
    write(world, "c.ics", "UID:3", "SUMMARY:Late", "DTSTART:20261121T233000Z", "DURATION:PT1H")
    write(world, "d.ics", "UID:4", "SUMMARY:Gone", "DTSTART:20261121T160000Z", "STATUS:CANCELLED")
    answer = await world.ok("calendar.list", day="tomorrow")
    assert answer.text == "You have 2 events tomorrow: Call at 10 AM and Tea at 4 PM."


async def test_the_calendar_of_one_agent_is_never_seen_by_the_other(world: Any) -> None:
    await world.ok("calendar.add", "work", title="Merger", start="2026-11-21T09:30")
    assert titles(await world.ok("calendar.list", day="tomorrow")) == []
    assert titles(await world.ok("calendar.list", "work", day="tomorrow")) == ["Merger"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("calendar.list", {"day": "9999-12-31"}),
        ("calendar.list", {"to": "9999-12-31"}),
        ("calendar.free", {"day": "9999-12-31"}),
        ("calendar.remove", {"title": "dentist", "day": "9999-12-31"}),
        ("calendar.add", {"title": "the end", "start": "9999-12-31"}),
        ("calendar.add", {"title": "the end", "start": "9999-12-31T23:30"}),
        ("calendar.add", {"title": "the end", "start": "2027-01-01", "end": "9999-12-31"}),
        ("tasks.list", {"due": "9999-12-31"}),
        ("clock.date", {"when": "9999-12-31"}),
        ("clock.until", {"when": "9999-12-31"}),
        ("clock.difference", {"start": "9999-12-31"}),
        ("alarms.set", {"when": "-5 minutes", "days": "9999-12-31"}),
        ("reminders.add", {"text": "the end", "when": "9999-12-31"}),
    ],
)
async def test_the_end_of_all_calendars_is_no_accident(world: Any, tool: str, arguments: dict[str, str]) -> None:
    await world.call(tool, **arguments)
    assert world.record[-1]["outcome"] != "crashed"


async def test_a_weekend_is_two_days(world: Any) -> None:
    await world.ok("calendar.add", title="Fair", start="2026-11-21T10:00", end="2026-11-21T17:00")
    await world.ok("calendar.add", title="Lunch", start="2026-11-22T12:00")
    await world.ok("calendar.add", title="Work", start="2026-11-23T09:00")
    for words in ("this weekend", "on the weekend", "at the weekend", "weekend"):
        assert titles(await world.ok("calendar.list", day=words)) == ["Fair", "Lunch"]
    assert titles(await world.ok("calendar.list", day="next weekend")) == []
    assert await world.said("calendar.free", day="this weekend") == (
        "You are free tomorrow from 8 AM to 10 AM and from 5 PM to 10 PM."
        " You are free Sunday from 8 AM to noon and from 1 PM to 10 PM."
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("tomorrow afternoon", "You are free tomorrow afternoon from 4 PM to 6 PM."),
        ("tomorrow morning", "You are free tomorrow morning."),
        ("tomorrow evening", "You are free tomorrow evening."),
        ("tomorrow lunchtime", "You are not free tomorrow lunchtime: there is Fair at noon."),
        ("in the afternoon", "You are free this afternoon."),
        ("tonight", "You are free tonight."),
        ("tomorrow at three", "You are not free tomorrow at 3 PM: there is Fair at noon."),
        ("tomorrow at five", "You are free tomorrow at 5 PM."),
        ("tomorrow", "You are free tomorrow from 8 AM to noon and from 4 PM to 10 PM."),
    ],
)
async def test_free_in_the_afternoon_is_the_afternoon(world: Any, words: str, text: str) -> None:
    await world.ok("calendar.add", title="Fair", start="2026-11-21T12:00", end="2026-11-21T16:00")
    assert await world.said("calendar.free", day=words) == text


async def test_what_is_on_in_the_evening_is_of_the_evening(world: Any) -> None:
    await world.ok("calendar.add", title="Dentist", start="2026-11-21T09:00")
    await world.ok("calendar.add", title="Choir", start="2026-11-21T20:00")
    text = await world.said("calendar.list", day="tomorrow evening")
    assert text == "You have 1 event tomorrow evening: Choir at 8 PM."
    assert await world.said("calendar.list", day="tomorrow afternoon") == (
        "There is nothing in the calendar tomorrow afternoon."
    )


async def test_a_series_without_a_time_of_day_is_all_day(world: Any) -> None:
    text = await world.said("calendar.add", title="Grandma's birthday", start="on the 3rd of March every year")
    assert text == "Added Grandma's birthday Wednesday, March 3, all day, every year."
    text = await world.said("calendar.add", title="Swimming", start="every Thursday at 4", end="at 5")
    assert text == "Added Swimming Thursday at 4 PM until 5 PM, every week."


async def test_this_year_and_the_next_are_spans_of_days(world: Any) -> None:
    await world.ok("calendar.add", title="Fair", start="2026-12-30")
    await world.ok("calendar.add", title="Ball", start="2027-02-01")
    assert titles(await world.ok("calendar.list", day="this year")) == ["Fair"]
    assert titles(await world.ok("calendar.list", day="rest of the year")) == ["Fair"]
    assert titles(await world.ok("calendar.list", day="next year")) == ["Ball"]


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ("on Monday at 7", "at 9 pm", (19, 21)),
        ("on Monday at 6", "7", (18, 19)),
        ("on Monday at 9", "at 5 pm", (9, 17)),
        ("on Monday at 6", "at a quarter past seven", (18, 19)),
    ],
)
async def test_a_half_of_the_day_that_is_said_once_is_that_of_both(
    world: Any, start: str, end: str, hours: tuple[int, int]
) -> None:
    event = (await world.ok("calendar.add", title="Choir", start=start, end=end)).data["event"]
    assert tuple(int(event[key][11:13]) for key in ("start", "end")) == hours


async def test_how_often_is_asked_for_in_words_about_how_often(world: Any) -> None:
    refused = await world.refused("calendar.add", title="choir", start="2027-01-20", repeat="sometimes")
    assert refused.text == "How often? Say it as every day, every week or every month."


@pytest.mark.parametrize("start", ["0001-01-01", "0001-01-01T00:00"])
def test_a_house_without_a_zone_of_its_own_refuses_the_first_day_of_all_calendars_in_words(start: str) -> None:
    call: Any = SimpleNamespace(zone=None, now=lambda: NOW)
    with pytest.raises(ToolFailed, match="too far away"):
        begins(call, start, "", 0)
    evening = datetime(2026, 11, 21, 19, tzinfo=PARIS)
    event: Any = SimpleNamespace(start=evening, end=evening, all_day=False)
    with pytest.raises(ToolFailed, match="too far away"):
        moves(call, "0001-01-01T00:00", 0, event)
