"""A deed that lasts is done now and ended then; what would open or unlock a house by itself is not."""

from __future__ import annotations

from typing import Any

from atlas.understanding.lasting_deeds import for_a_while
from atlas.understanding.slots import Command
from tests.conftest import for_every


def later(tool: str, **given: Any) -> Command:
    return Command("later.do", {"seconds": 600, "tool": tool, "arguments": given})


def test_what_is_on_for_ten_minutes_is_on_now_and_off_then() -> None:
    assert for_a_while([later("home.turn", on=True, device="Sprinkler")]) == (
        Command("home.turn", {"on": True, "device": "Sprinkler"}),
        later("home.turn", on=False, device="Sprinkler"),
    )


def test_what_is_open_for_a_while_is_closed_then() -> None:
    assert for_a_while([later("home.open", device="Blind")])[1] == later("home.close", device="Blind")


@for_every("tool", ["home.close", "home.lock", "home.set"])
def test_nothing_is_opened_or_unlocked_when_nobody_looks(tool: str) -> None:
    assert for_a_while([later(tool, device="Garage")]) == ()


def test_what_does_not_say_how_long_has_no_end() -> None:
    at_ten = Command("later.do", {"when": "at ten", "tool": "home.turn", "arguments": {"on": True, "device": "Lamp"}})
    assert for_a_while([at_ten]) == ()
