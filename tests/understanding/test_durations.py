"""Lengths of time, as they are said and as they are written down."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from atlas.understanding.durations import find, find_in_any_language
from tests.conftest import for_every


@for_every(
    ("sentence", "seconds"),
    [
        ("ten minutes", 600),
        ("10 minutes", 600),
        ("10-minute", 600),
        ("ten-minute", 600),
        ("90 seconds", 90),
        ("a minute", 60),
        ("an hour", 3600),
        ("half an hour", 1800),
        ("a half hour", 1800),
        ("half a minute", 30),
        ("an hour and a half", 5400),
        ("one and a half hours", 5400),
        ("1.5 hours", 5400),
        ("1 1/2 hours", 5400),
        ("3/4 hour", 2700),
        ("two and a half minutes", 150),
        ("two and three quarter hours", 9900),
        ("two hours and a half", 9000),
        ("an hour and a quarter", 4500),
        ("a quarter of an hour", 900),
        ("three quarters of an hour", 2700),
        ("a couple of minutes", 120),
        ("1 hour 30 minutes", 5400),
        ("1 hour, 30 minutes and 10 seconds", 5410),
        ("an hour and five minutes", 3900),
        ("twenty five minutes", 1500),
        ("twenty-five minutes", 1500),
        ("a hundred and twenty seconds", 120),
        ("two hundred seconds", 200),
        ("seventy two hours", 259_200),
        ("five more minutes", 300),
        ("2 hrs 5 mins", 7500),
        ("two days", 172_800),
        ("a week", 604_800),
    ],
)
def test_a_length_of_time_is_read_whole(sentence: str, seconds: int) -> None:
    for text, start in ((sentence, 0), (f"a timer for {sentence} please", 12), (sentence.upper(), 0)):
        assert [(d.seconds, d.start, d.end) for d in find(text)] == [(seconds, start, start + len(sentence))]


@for_every("text", ["ten", "the second timer", "minutes", "half", "a", "secondary", "99999999999 seconds", ""])
def test_what_is_no_length_of_time_is_left_alone(text: str) -> None:
    assert find(text) == ()


def test_units_that_do_not_get_smaller_are_two_lengths() -> None:
    assert [d.seconds for d in find("ten minutes or two hours")] == [600, 7200]
    assert [d.seconds for d in find("ten minutes two hours")] == [600, 7200]


@given(st.integers(1, 23), st.integers(1, 59), st.integers(1, 59))
def test_hours_minutes_and_seconds_add_up(hours: int, minutes: int, seconds: int) -> None:
    durations = find(f"{hours} hours, {minutes} minutes and {seconds} seconds")
    assert [d.seconds for d in durations] == [hours * 3600 + minutes * 60 + seconds]


@given(st.text(max_size=80))
def test_any_text_is_read_without_harm(text: str) -> None:
    for d in find(text):
        assert 0 <= d.start < d.end <= len(text) and d.seconds >= 1


def test_an_hour_and_ten_is_seventy_minutes() -> None:
    assert [one.seconds for one in find("an hour and ten, timer please")] == [4200]
    assert [one.seconds for one in find("two hours and twenty on the timer")] == [8400]
    assert [one.seconds for one in find("an hour and ten people")] == [3600]


def test_a_length_and_half_of_its_unit_is_one_length() -> None:
    assert [one.seconds for one in find_in_any_language("ich koche Suppe, eine Stunde und halb")] == [5400]
    assert [one.seconds for one in find_in_any_language("eine Stunde und eine halbe Stunde")] == [5400]
    assert [one.seconds for one in find_in_any_language("zehn Minuten und halb so viel Salz")] == [600]
