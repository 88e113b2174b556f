"""What somebody else says, and what is taken back in the same breath, is not done."""

from __future__ import annotations

import pytest

from tests.understanding.test_exemptions import meant

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    "text",
    [
        "She asked, could you turn off the television?",
        "and then the teacher said, so open the garage door",
        "the song goes, turn off the lights",
        "the manual states, start the mower",
        "The manual states: start the mower.",
    ],
)
def test_what_is_quoted_is_not_done(text: str) -> None:
    assert not meant(text).commands


@pytest.mark.parametrize(
    "text",
    [
        "turn off the kettle, no",
        "Turn off the kettle. No!",
        "turn off the kettle, wait",
        "turn off the kettle, hold on, not yet",
        "lock the front door, not yet",
    ],
)
def test_what_is_taken_back_in_the_same_breath_is_not_done(text: str) -> None:
    assert not meant(text).commands


@pytest.mark.parametrize(
    "text",
    [
        "Anna says we need milk, so add milk to the shopping list",
        "Anna asked me to lock up, could you lock the front door",
        "is the kitchen light on, yes or no",
    ],
)
def test_a_wish_of_the_speakers_own_beside_a_report_is_done(text: str) -> None:
    assert meant(text).commands
