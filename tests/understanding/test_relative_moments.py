"""When something is wanted is told by what was just spoken of: "an hour before", "that day", "the same time"."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atlas.conversation import Actor, Message, ToolCall, Turn
from atlas.understanding.names import Names
from atlas.understanding.understanding import Reader
from tests.understanding.test_changes import calls, german_reader
from tests.understanding.test_exemptions import reader

pytestmark = pytest.mark.real

Made = list[tuple[str, dict[str, Any]]]
DENTIST = {"title": "dentist", "start": "2026-11-24T14:10+00:00", "end": "2026-11-24T15:10+00:00"}
PARTY = {"title": "Ollie's party", "start": "2026-12-05", "end": "2026-12-06"}
EXAMS = [
    {"title": "chemistry", "start": "2026-12-02", "end": "2026-12-03"},
    {"title": "English", "start": "2026-12-04", "end": "2026-12-05"},
]
ALARM = {"id": "alarm_1", "name": "", "rule": "", "iso": "2026-11-23T06:00"}
PILLS = {"id": "reminder_1", "text": "take my pills", "rule": "FREQ=DAILY", "iso": "2026-11-22T20:00"}


def spoken_of(*deeds: tuple[str, dict[str, Any], dict[str, Any]]) -> tuple[Message, ...]:
    """Return an exchange in which these calls were made, each with its arguments and what its result holds."""
    made = tuple(ToolCall(f"call_{at}", name, arguments) for at, (name, arguments, _) in enumerate(deeds))
    looks = (".list", ".date")
    results = (
        {"ok": True, "changed": not name.endswith(looks), "data": data, "text": "Done."} for name, _, data in deeds
    )
    told = (Message("tool", json.dumps(one), call_id=call.id) for call, one in zip(made, results, strict=True))
    return (Message("user", "…"), Message("assistant", "", calls=made), *told, Message("assistant", "Done."))


ENTERED = spoken_of(("calendar.add", {"title": "dentist", "start": "Tuesday at ten past two"}, {"event": DENTIST}))
PARTY_ENTERED = spoken_of(("calendar.add", {"title": "Ollie's party", "start": "2026-12-05"}, {"event": PARTY}))
BOTH_ENTERED = spoken_of(*(("calendar.add", {"title": one["title"], "start": "…"}, {"event": one}) for one in EXAMS))
WOKEN = spoken_of(("alarms.set", {"when": "at six tomorrow"}, {"alarm": ALARM}))
DAILY = spoken_of(("reminders.add", {"text": "take my pills", "when": "every day at eight pm"}, {"reminder": PILLS}))
TUESDAY_READ = spoken_of(("calendar.list", {"day": "on Tuesday"}, {"events": []}))
CHRISTMAS_READ = spoken_of(("clock.date", {"when": "Christmas"}, {"iso": "2026-12-25T00:00:00"}))


def said(text: str, history: tuple[Message, ...], by: Reader | None = None) -> Made:
    turn = Turn("turn", text, Actor("Anna", "phone", "adult", ""), 0.0, history=history)
    return calls((by or reader()).understand(turn, Names()).commands)


def reminder(text: str, when: str) -> Made:
    return [("reminders.add", {"text": text, "when": when})]


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("and another one ten minutes later", [("alarms.set", {"when": "2026-11-23 at 06:10"})]),
        ("to be safe, one more a quarter of an hour after that", [("alarms.set", {"when": "2026-11-23 at 06:15"})]),
        ("and a second one five minutes before", [("alarms.set", {"when": "2026-11-23 at 05:55"})]),
    ],
)
def test_one_more_alarm_is_told_by_the_last(text: str, made: Made) -> None:
    assert said(text, WOKEN) == made


@pytest.mark.parametrize("text", ["it's Friday, the time is right", "the time's fine but it's on Friday"])
def test_a_day_is_put_right_and_the_hour_stays(text: str) -> None:
    made = {"title": "dentist", "start": "Friday at ten past two"}
    [undo, (tool, arguments)] = said(text, ENTERED)
    assert (undo, tool) == (("history.undo", {}), "calendar.add")
    assert {**arguments, "start": arguments["start"].removeprefix("on ")} == made


@pytest.mark.parametrize(
    ("text", "history", "made"),
    [
        ("and let me know half an hour before", ENTERED, reminder("dentist", "2026-11-24 at 13:40")),
        ("remind me one hour before it", ENTERED, reminder("dentist", "2026-11-24 at 13:10")),
        ("give me a nudge the evening before too", ENTERED, reminder("dentist", "2026-11-23 in the evening")),
        ("remind me two hours before to find the card", ENTERED, reminder("find the card", "2026-11-24 at 12:10")),
        ("remind me an hour before the dentist to eat", ENTERED, reminder("eat", "2026-11-24 at 13:10")),
        ("remind me the Thursday before to buy a present", PARTY_ENTERED, reminder("buy a present", "2026-12-03")),
        ("remind me a week before", PARTY_ENTERED, reminder("Ollie's party", "2026-11-28")),
        ("let me know a quarter of an hour before", DAILY, reminder("take my pills", "every day at 19:45")),
        ("do I have anything else on that day", ENTERED, [("calendar.list", {"day": "2026-11-24"})]),
    ],
)
def test_a_moment_is_told_by_what_was_spoken_of(text: str, history: tuple[Message, ...], made: Made) -> None:
    assert said(text, history) == made


def test_each_of_two_events_has_its_own_evening_before() -> None:
    assert said("remind me the night before each one to charge my calculator", BOTH_ENTERED) == [
        *reminder("charge my calculator", "2026-12-01 in the evening"),
        *reminder("charge my calculator", "2026-12-03 in the evening"),
    ]


def test_of_two_events_nobody_can_tell_which_is_meant() -> None:
    assert said("remind me the night before", BOTH_ENTERED) == []


def test_an_hour_before_a_whole_day_is_no_moment() -> None:
    assert said("let me know an hour before", PARTY_ENTERED) == []


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("Kannst du mich einen Tag vorher erinnern?", reminder("dentist", "2026-11-23 at 14:10")),
        ("und zehn Minuten vorher nochmal Bescheid", reminder("dentist", "2026-11-24 at 14:00")),
        ("Und erinnere mich zwei Stunden vorher daran", reminder("dentist", "2026-11-24 at 12:10")),
        ("am Abend vorher will ich dran erinnert werden", reminder("dentist", "2026-11-23 in the evening")),
        (
            "Und eine Viertelstunde davor soll ich was essen, sag mir da Bescheid",
            reminder("was essen", "2026-11-24 at 13:55"),
        ),
        ("und am Tag davor soll ich lernen, erinner mich so um vier", reminder("lernen", "2026-11-23 um vier")),
    ],
)
def test_a_german_moment_is_told_by_what_was_spoken_of(text: str, made: Made) -> None:
    assert said(text, ENTERED, german_reader()) == made


@pytest.mark.parametrize(
    "text",
    [
        "I'm always nervous half an hour before",
        "the day before was nicer",
        "he told me an hour before",
        "did he remind you an hour before?",
        "we met the night before",
    ],
)
def test_a_remark_about_the_time_before_sets_nothing(text: str) -> None:
    assert [one for one in said(text, ENTERED) if not one[0].endswith(".list")] == []


@pytest.mark.parametrize(
    "text",
    [
        "eine Stunde vorher bin ich noch beim Arzt",
        "am Tag davor war es schöner",
        "hast du mich eine Stunde vorher erinnert?",
        "das hättest du mir eine Stunde vorher sagen sollen",
    ],
)
def test_a_german_remark_about_the_time_before_sets_nothing(text: str) -> None:
    assert [one for one in said(text, ENTERED, german_reader()) if not one[0].endswith(".list")] == []


def moved(when: str) -> Made:
    return [("calendar.change", {"title": "dentist", "start": when})]


@pytest.mark.parametrize(
    ("text", "history", "made"),
    [
        ("The clinic has called, they have shifted it to Friday, same time", ENTERED, moved("Friday at 14:10")),
        ("move it to Friday same time", ENTERED, moved("Friday at 14:10")),
        ("move it an hour later, they rang", ENTERED, moved("an hour later")),
        ("make it a bit earlier, parking's a nightmare", ENTERED, moved("15 minutes earlier")),
        ("bump the dentist back by half an hour", ENTERED, moved("half an hour later")),
        (
            "On second thought I can sleep till six fifteen",
            WOKEN,
            [("alarms.change", {"name": "alarm_1", "when": "at six fifteen"})],
        ),
    ],
)
def test_what_was_spoken_of_is_moved(text: str, history: tuple[Message, ...], made: Made) -> None:
    assert said(text, history) == made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("verschieb es auf Freitag, gleiche Zeit", moved("Freitag at 14:10")),
        ("Ach Mist, die haben die auf Montag drauf verschoben.", moved("Montag")),
        ("mach's ein bisschen früher", moved("15 Minuten früher")),
        ("Ach, verzeihen Sie, lieber fünf Minuten früher, sie isst ja um sieben.", moved("fünf Minuten früher")),
    ],
)
def test_what_was_spoken_of_is_moved_in_german(text: str, made: Made) -> None:
    assert said(text, ENTERED, german_reader()) == made


@pytest.mark.parametrize(
    "text", ["they moved house on Tuesday", "the trip has been moved to Monday", "I can sleep till noon"]
)
def test_what_moves_something_else_moves_no_event(text: str) -> None:
    assert said(text, ENTERED) == []


def event(title: str, start: str, **more: str) -> tuple[str, dict[str, Any]]:
    return ("calendar.add", {"title": title, "start": start, **more})


@pytest.mark.parametrize(
    ("text", "history", "made"),
    [
        ("put in dentist at ten past nine", TUESDAY_READ, [event("dentist", "on Tuesday at ten past nine")]),
        (
            "put in dentist at ten past nine and a stand-up at eleven",
            TUESDAY_READ,
            [event("dentist", "on Tuesday at ten past nine"), event("stand-up", "on Tuesday at eleven")],
        ),
        (
            "I've got chemistry on the second of December and English on the fourth, put them in",
            (),
            [event("chemistry", "on the second of December"), event("English", "on the fourth of December")],
        ),
        (
            "put lunch with my son in the calendar on the 23rd at six",
            CHRISTMAS_READ,
            [event("lunch with my son", "on the 23rd of December at six")],
        ),
        (
            "block out Wednesday from one to four for the budget",
            (),
            [event("budget", "Wednesday at one", end="at four")],
        ),
    ],
)
def test_an_event_is_on_the_day_that_was_spoken_of(text: str, history: tuple[Message, ...], made: Made) -> None:
    assert said(text, history) == made


@pytest.mark.parametrize(
    ("text", "history", "made"),
    [
        ("Schön, dann trag Zahnarzt um 16 Uhr 30 ein", TUESDAY_READ, [event("Zahnarzt", "on Tuesday um 16 Uhr 30")]),
        (
            "trag am Dienstag um neun Zahnarzt und am Mittwoch um drei Friseur ein",
            (),
            [event("Zahnarzt", "am Dienstag um neun"), event("Friseur", "am Mittwoch um drei")],
        ),
        (
            "Trag am Samstag von zwei bis vier Kindergeburtstag ein",
            (),
            [event("Kindergeburtstag", "am Samstag um zwei", end="um vier")],
        ),
        ("Trag ein, dass am 23. um sechs Oma kommt", CHRISTMAS_READ, [event("Oma kommt", "am 23. Dezember um sechs")]),
    ],
)
def test_a_german_event_is_on_the_day_that_was_spoken_of(text: str, history: tuple[Message, ...], made: Made) -> None:
    assert said(text, history, german_reader()) == made


@pytest.mark.parametrize(
    "text",
    [
        "I work from nine to five",
        "the shop is open from nine till five",
        "I have the plumber on Monday and Tom is off on Friday",
    ],
)
def test_what_lasts_or_comes_is_no_event_unless_it_is_put_in(text: str) -> None:
    assert said(text, ()) == []


def test_a_second_alarm_may_leave_out_its_hour() -> None:
    for text in ("wake me at seven and again at ten past", "wake me at seven and if I don't get up again at ten past"):
        assert said(text, ()) == [("alarms.set", {"when": "at seven"}), ("alarms.set", {"when": "at ten past seven"})]
    made = said("weck mich um sieben und nochmal um zehn nach", (), german_reader())
    assert [one["when"] for _, one in made] == ["um sieben", "um zehn nach sieben"]


def test_the_next_entries_come_at_the_time_of_day_that_was_understood() -> None:
    assert said("and every other Sunday from now on", DAILY) == reminder("take my pills", "every other Sunday at 20:00")


def test_who_works_at_night_is_woken_in_the_evening() -> None:
    assert said("I'm on nights so wake me at quarter to eight", ()) == [
        ("alarms.set", {"when": "at quarter to eight pm"})
    ]


@pytest.mark.parametrize(
    ("text", "by", "names"),
    [
        ("set one for the eggs, four minutes, and one for the rice, twelve", None, ["eggs", "rice"]),
        ("start a four-minute timer for the eggs and a twelve-minute one for the rice", None, ["eggs", "rice"]),
        ("Stell einen für die Eier, vier Minuten, und einen für den Reis, zwölf", german_reader, ["Eier", "Reis"]),
    ],
)
def test_two_timers_of_one_sentence_have_their_names(text: str, by: Any, names: list[str]) -> None:
    made = said(text, (), by() if by else None)
    assert [(one["seconds"], one["name"]) for _, one in made] == [(240, names[0]), (720, names[1])]
