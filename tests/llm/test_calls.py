"""What is wrong with a call: the model is told with its own words, the log without them."""

from __future__ import annotations

import json

import pytest

from atlas.conversation import Tool
from atlas.errors import InvalidCall
from atlas.llm.calls import PartialCalls
from tests.conftest import for_every

TIMER = Tool("timers.start", "Start a timer.", {"type": "object", "properties": {"seconds": {"type": "integer"}}})
SECRET = "the code is 4711"


@for_every(
    ("name", "arguments"),
    [("timers.start", {"seconds": SECRET}), (f"remember {SECRET}", {})],
)
def test_no_log_quotes_what_a_model_wrote_and_the_model_reads_it(name: str, arguments: dict[str, str]) -> None:
    """A log outlives what somebody wants to be forgotten."""
    calls = PartialCalls()
    calls.add({"tool_calls": [{"index": 0, "function": {"name": name, "arguments": json.dumps(arguments)}}]})
    with pytest.raises(InvalidCall) as wrong:
        calls.finished({TIMER.name: TIMER})
    assert SECRET not in str(wrong.value)
    assert SECRET in wrong.value.correction


@for_every("arguments", ['{"degrees": 1e999}', json.loads('{"degrees": -1e999}')])
def test_a_number_that_is_too_large_to_be_one_is_no_argument(arguments: object) -> None:
    """No JSON can hold an infinity: the tool, or the next prompt, would be sent what cannot be read."""
    warm = Tool("warm", "Heat.", {"properties": {"degrees": {"type": "number"}}})
    calls = PartialCalls()
    calls.add({"tool_calls": [{"index": 0, "function": {"name": "warm", "arguments": arguments}}]})
    with pytest.raises(InvalidCall, match="do not fit"):
        calls.finished({"warm": warm})


SLOW = "(a+)+$"  # a backtracking engine looks at 30,000 letters of it for longer than the sun will shine


@for_every(("end", "fits"), [("", True), ("!", False)])
def test_a_pattern_of_any_tool_is_held_to_and_cannot_hold_up_the_house(end: str, fits: bool) -> None:
    note = Tool("note", "Note.", {"properties": {"text": {"type": "string", "pattern": SLOW}}})
    calls = PartialCalls()
    written = json.dumps({"text": "a" * 30_000 + end})
    calls.add({"tool_calls": [{"index": 0, "function": {"name": "note", "arguments": written}}]})
    if fits:
        (call,) = calls.finished({"note": note})
        assert call.arguments == {"text": "a" * 30_000}
    else:
        with pytest.raises(InvalidCall, match="do not fit") as wrong:
            calls.finished({"note": note})
        assert len(wrong.value.correction) < 1_000, "what is told goes into a prompt"
