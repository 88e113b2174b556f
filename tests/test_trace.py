from __future__ import annotations

import logging

import anyio
import pytest

from atlas import trace
from atlas.trace import Trace, current, tracing


def test_a_stage_that_happens_twice_is_added_up_also_when_it_fails() -> None:
    stopwatch = Trace()
    with stopwatch.stage("llm"):
        pass
    once = stopwatch.stages["llm"]
    with pytest.raises(ValueError, match="no"), stopwatch.stage("llm"):
        raise ValueError("no")
    assert stopwatch.stages["llm"] > once


def test_a_mark_keeps_its_first_moment() -> None:
    stopwatch = Trace()
    stopwatch.mark("first_sound")
    first = stopwatch.marks["first_sound"]
    stopwatch.mark("first_sound")
    assert stopwatch.marks["first_sound"] == first
    assert set(stopwatch.milliseconds()) == {"first_sound_at_ms"}


def test_outside_a_turn_there_is_a_stopwatch_that_nobody_reads() -> None:
    current().mark("lost")
    assert current().marks == {}


async def test_tasks_of_a_turn_share_its_stopwatch_and_turns_do_not() -> None:
    async def work(name: str) -> None:
        current().mark(name)

    one, other = Trace(), Trace()
    with tracing(one):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work, "inside")
    with tracing(other):
        await work("elsewhere")
    assert set(one.marks) == {"inside"}
    assert set(other.marks) == {"elsewhere"}


def test_a_line_has_its_fields_and_quotes_what_would_break_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "atlas")
    trace.line("turn ended", device="kitchen", error="it broke", empty="")
    assert caplog.messages == ["turn ended device=kitchen error='it broke' empty=''"]


@pytest.mark.parametrize("character", ["\x1b", "\0", "\u202e", "\udce9", "\u2028", "\n"])
def test_a_line_shows_no_character_that_a_terminal_would_obey(caplog: pytest.LogCaptureFixture, character: str) -> None:
    caplog.set_level(logging.INFO, "atlas")
    trace.line("turn ended", device=f"kitchen{character}[2J")
    [message] = caplog.messages
    assert message == "turn ended device=" + ascii(f"kitchen{character}[2J")
