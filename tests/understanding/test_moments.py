"""Which words say when, and which do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.understanding import moments
from atlas_bench.commands import corpus
from tests.conftest import for_every
from tools_server.times.when import REMINDING, WAKING, NotUnderstood, understand

MORNING = 1_795_250_000.0  # of a day in November 2026, shortly after half past eight


@for_every(
    ("text", "hits"),
    [
        ("remind me tomorrow to call mum at five", ["tomorrow", "at five"]),
        ("remind me to call mum tomorrow at five", ["tomorrow at five"]),
        ("wake me at half past six on weekdays", ["at half past six on weekdays"]),
        ("alarm at six fifteen weekdays", ["at six fifteen weekdays"]),
        ("every other Tuesday at seven", ["every other Tuesday at seven"]),
        ("pay the rent on the first of every month", ["on the first of every month"]),
        ("check the oven in a quarter of an hour", ["in a quarter of an hour"]),
        ("a haircut on the 3rd of December at 4 pm", ["on the 3rd of December at 4 pm"]),
        ("tomorrow six thirty", ["tomorrow six thirty"]),
        ("between 9:40 and 13:15", ["9:40", "13:15"]),
        ("between Christmas and Easter", ["Christmas", "Easter"]),
        ("lunch on Saturday the 5th at noon", ["on Saturday the 5th at noon"]),
        ("on Monday the thirtieth to call the bank", ["on Monday the thirtieth"]),
        ("on Saturday the second film starts", ["on Saturday"]),
        ("on Saturday the 5th of December at noon", ["on Saturday the 5th of December at noon"]),
        ("Zahnarzt am Dienstag, den 8. um 10 Uhr", ["am Dienstag, den 8. um 10 Uhr"]),
        ("am Montag, den 30 an die Bank", ["am Montag, den 30"]),
        ("am Montag den 30 Leuten absagen", ["am Montag"]),
        ("am Montag, den 30. November", ["am Montag, den 30. November"]),
        ("every Monday and Thursday at 7", ["every Monday and Thursday at 7"]),
        ("trag Kino am Freitag um 20 Uhr ein", ["am Freitag um 20 Uhr"]),
        ("um 19 Uhr eins", ["um 19 Uhr eins"]),
        ("Wecker morgen sechs dreißig", ["morgen sechs dreißig"]),
        ("Zahnarzt am Freitag zehn", ["am Freitag zehn"]),
        ("morgen zwei Eier kaufen", ["morgen"]),
        ("am Freitag zehn Leute einladen", ["am Freitag"]),
        ("um 19 Uhr einundzwanzig", ["um 19 Uhr einundzwanzig"]),
        ("unter der Woche immer um sechs", ["unter der Woche immer um sechs"]),
        ("montags bis freitags um sieben", ["montags bis freitags um sieben"]),
        ("am Montag bis Freitag", ["am Montag bis Freitag"]),
        ("tell her when Anna is next heard", ["when Anna is next heard"]),
        ("two weeks from tomorrow", ["two weeks from tomorrow"]),
        ("at five percent", []),
        ("set the movie night scene", []),
        ("the second timer for ten minutes", []),
        ("we may march to the sun", []),
    ],
)
def test_what_says_when_is_found_whole(text: str, hits: list[str]) -> None:
    assert [moment.text for moment in moments.find(text)] == hits


@for_every(
    ("text", "by", "then"),
    [
        ("tomorrow at five", "six", "tomorrow at six"),
        ("at five", "tomorrow", "tomorrow at five"),
        ("tomorrow at five", "on Friday at six", "on Friday at six"),
        ("at five", "in ten minutes", "in ten minutes"),
        ("in ten minutes", "at six", "at six"),
        ("Friday at ten", "Thursday", "Thursday at ten"),
        ("at seven", "on weekdays", "on weekdays at seven"),
        ("tomorrow at seven", "every day", "every day at seven"),
        ("um sieben", "werktags", "werktags um sieben"),
        ("every weekday at seven", "at eight", "every weekday at eight"),
        ("every weekday at seven", "tomorrow", "tomorrow at seven"),
        ("every weekday at seven", "every Saturday at nine", "every Saturday at nine"),
        ("at seven", "every two hours", "every two hours"),
        ("um sieben", "alle zwei Stunden", "alle zwei Stunden"),
        ("tomorrow at half past six", "every weekday", "every weekday at half past six"),
        ("every weekday at six", "at the weekend at nine", "every weekend at nine"),
        ("jeden Wochentag um sechs", "am Wochenende um neun", "jedes Wochenende um neun"),
        ("morgen um sechs", "am Wochenende um neun", "am Wochenende um neun"),
        ("", "tomorrow", "tomorrow"),
        ("Thursday at eight", "at eight in the morning", "Thursday at eight in the morning"),
        ("tomorrow at eight in the morning", "at nine in the evening", "tomorrow at nine in the evening"),
        ("Saturday 8pm", "8:30", "Saturday 8:30 pm"),
        ("Saturday at 8 pm", "quarter to seven", "Saturday quarter to seven pm"),
        ("at 11 am", "one", "at one pm"),
        ("at 3pm", "eleven", "at eleven am"),
        ("at 8pm", "9am", "9am"),
        ("at 8pm", "at 14:30", "at 14:30"),
        ("at 8pm", "in the morning", "in the morning at 8pm"),
        ("at twelve pm", "one", "at one"),
        ("every Friday at eight", "every two weeks", "every two weeks on Friday at eight"),
        ("jeden Freitag um acht", "alle zwei Wochen", "alle zwei Wochen am Freitag um acht"),
        ("every Monday and Friday at eight", "every two weeks", "every two weeks at eight"),
    ],
)
def test_a_correction_changes_only_what_it_says(text: str, by: str, then: str) -> None:
    moment = moments.whole(by)
    assert moment and moments.corrected(text, moment) == then


@pytest.mark.parametrize(
    ("text", "clock", "at", "then"),
    [
        ("at three tomorrow afternoon", "at seven", "3 PM", "tomorrow at seven pm"),
        ("at half six tomorrow", "at eight", "6:30 AM", "tomorrow at eight am"),
        ("on Friday at ten", "at one", "10 AM", "on Friday at one pm"),
        ("at ten tomorrow night", "at six", "10 PM", ""),
        ("at three tomorrow", "at eight on Sunday", "3 PM", ""),
        ("at three tomorrow", "at eight in the evening", "3 PM", ""),
        ("at three", "at seven", "3 PM", ""),
        ("at three tomorrow", "at seven", "", ""),
    ],
)
def test_a_bare_time_is_behind_another_on_its_day(text: str, clock: str, at: str, then: str) -> None:
    assert moments.behind(text, clock, at) == then


@pytest.mark.parametrize(
    ("text", "at", "then"),
    [
        ("at seven", "2026-11-22T19:00", "at seven pm"),
        ("at seven", "2026-11-23T07:00", "at seven am"),
        ("at half past seven", "2026-11-22T19:30", "at half past seven pm"),
        ("at seven in the evening", "2026-11-22T19:00", "at seven in the evening"),
        ("at seven", "2026-11-22T18:00", "at seven"),
        ("at seven", "", "at seven"),
        ("um sieben", "2026-11-22T19:00", "um sieben"),
    ],
)
def test_a_time_is_of_the_half_of_the_day_that_was_made_of_it(text: str, at: str, then: str) -> None:
    assert moments.in_its_half(text, at) == then


@for_every("text", ["the sea", "five apples", "tomorrow and you", "", "at five o'clock sharp please"])
def test_other_words_are_no_moment(text: str) -> None:
    assert moments.whole(text) is None


@for_every(
    "text",
    [
        "tomorrow at five",
        "every other Tuesday at seven",
        "on the first of every month",
        "in a quarter of an hour",
        "on the 3rd of December at 4 pm",
        "at half past six on weekdays",
        "this evening",
        "at quarter to eight",
        "next Monday",
        "on Christmas Eve at noon",
        "every weekday at 6:30",
        "at six thirty tomorrow",
        "in an hour and a half",
        "the day after tomorrow at nine",
    ],
)
def test_the_tool_server_understands_what_is_passed_on(text: str) -> None:
    assert moments.whole(text)
    try:
        understand(text, MORNING, None)
    except NotUnderstood as unclear:
        pytest.fail(str(unclear))


@given(st.text(max_size=200))
def test_any_text_can_be_searched_and_moments_do_not_overlap(text: str) -> None:
    at = 0
    for moment in moments.find(text):
        assert at <= moment.start < moment.end
        at = moment.end


PLACE = "when I get home"  # the tool server says itself that it can wait for a time or a voice, not for a place


def test_every_time_of_the_corpus_is_one_that_the_tool_server_understands() -> None:
    for row in corpus("en"):
        for tool, arguments in row.wanted:
            if (
                tool in ("reminders.add", "reminders.change", "alarms.set")
                and (when := arguments.get("when", PLACE)) != PLACE
            ):
                assert understand(when, MORNING, None, WAKING if tool == "alarms.set" else REMINDING), row.sentence
