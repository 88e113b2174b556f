"""Somebody asks for an agent in words, aloud and typed, and a question that comes of it finds its answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.conftest import Running

pytestmark = pytest.mark.real


def test_whoever_is_asked_for_aloud_answers_without_hearing_its_name(
    house: Running, wav_of: Callable[[str], Path]
) -> None:
    heard = house.turn_of("hear", str(wav_of("Ask work what time it is.")))
    assert (heard["agent"], heard["reason"], heard["path"]) == ("work", "asked for in words", "command")
    heard = house.turn_of("hear", str(wav_of("What time is it?")))
    assert (heard["agent"], heard["reason"]) == ("family", "the house's default")


def test_a_yes_goes_to_the_agent_that_asked_and_the_next_words_to_the_house(house: Running) -> None:
    house.json_of("ask", "ask work to add rake the leaves to my tasks")
    arguments = house.json_of("ask", "ask work to remove the task rake the leaves")
    assert arguments["reply"].endswith("?")
    done = house.json_of("ask", "yes")
    assert (done["agent"], done["reason"]) == ("work", "it had asked")
    assert "Removed" in done["reply"]
    assert house.json_of("ask", "what time is it")["agent"] == "family"
