"""What somebody told is said again, and what nobody told is not made up: with the model that would."""

from __future__ import annotations

import pytest

from tests.journeys.conftest import Running

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("asks_end")]


def test_a_fact_answers_until_it_is_forgotten(house: Running) -> None:
    def reply_to(text: str) -> str:
        details = house.json_of("ask", text, "--room", "pantry")
        assert details["path"] == "command", details
        return str(details["reply"])

    assert "I don't know that" in reply_to("what's the plumber's number?")
    reply_to("remember that the plumber's number is 555 1234")
    assert "555 1234" in reply_to("What was the plumber's phone number again?")
    assert reply_to("forget that").endswith("?"), "that fact, and a yes is waited for"
    reply_to("yes")
    assert "555" not in reply_to("what's the plumber's number?")
    assert "nothing open" in reply_to("yes"), "nothing is imitated"
    assert reply_to("forget that").endswith("?")


def test_what_was_told_is_not_recited_in_other_talk(house: Running) -> None:
    for fact in ("the wifi password is otter-4711", "bin day is Thursday", "our dentist is Mario"):
        house.json_of("ask", f"remember that {fact}", "--room", "attic")
    for talk in ("hello Atlas", "Thanks a lot.", "I had a long day at work.", "What shall we talk about?"):
        details = house.json_of("ask", talk, "--room", "attic")
        assert not any(word in details["reply"].lower() for word in ("password", "otter", "bin day", "mario")), details
