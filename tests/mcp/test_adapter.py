"""Between MCP and Atlas words nothing is lost, and nothing gets through that would break either side."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import mcp.types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError

from atlas.conversation import Actor, ConfirmationRequest, Receipt, SignedAnswer, ToolCall
from atlas.mcp import adapter
from tests.conftest import for_every

ANNA = Actor("Anna", "phone", "adult", "kitchen")
CALL = ToolCall("call_1", "timers.start", {"seconds": 600})


def answer(text: str = "Timer set.", **more: Any) -> mcp.types.CallToolResult:
    content = [mcp.types.TextContent(type="text", text=text)]
    return mcp.types.CallToolResult.model_validate({"content": content, **more})


def listed(name: str, **more: Any) -> mcp.types.Tool:
    return mcp.types.Tool(name=name, input_schema={"type": "object"}, **more)


def test_tools_come_in_the_same_order_whatever_order_they_were_listed_in() -> None:
    one = adapter.tools([listed("b"), listed("a"), listed("c")])
    other = adapter.tools([listed("c"), listed("b"), listed("a")])
    assert one == other
    assert [tool.name for tool in one] == ["a", "b", "c"]


@for_every(
    ("annotations", "read_only"),
    [
        (None, False),
        (mcp.types.ToolAnnotations(), False),
        (mcp.types.ToolAnnotations(read_only_hint=False), False),
        (mcp.types.ToolAnnotations(read_only_hint=True), True),
    ],
)
def test_a_tool_only_reads_when_it_says_so(annotations: mcp.types.ToolAnnotations | None, read_only: bool) -> None:
    assert adapter.tool(listed("a", annotations=annotations)).read_only is read_only


def test_a_call_carries_who_asks_and_for_which_turn() -> None:
    wire = adapter.request(CALL, ANNA, "turn_1").model_dump(by_alias=True, mode="json", exclude_none=True)
    assert wire["params"]["name"] == "timers.start"
    assert wire["params"]["arguments"] == {"seconds": 600}
    assert wire["params"]["_meta"] == {
        "atlas.house/actor": asdict(ANNA),
        "atlas.house/turn": "turn_1",
    }


def test_only_a_wish_by_one_who_has_read_words_of_others_says_so() -> None:
    assert "atlas.house/tainted" not in meta_of(adapter.request(CALL, ANNA, "turn_1"))
    assert meta_of(adapter.request(CALL, ANNA, "turn_1", tainted=True))["atlas.house/tainted"] is True


def meta_of(request: mcp.types.CallToolRequest) -> Any:
    return request.model_dump(by_alias=True, mode="json")["params"]["_meta"]


@for_every(
    ("details", "untrusted"), [({}, False), (False, False), (True, True), ("yes", True), (None, True), ({"a": 1}, True)]
)
@for_every("more", [{}, {"is_error": True}, {"_meta": {"atlas.house/ask": None}}])
def test_words_of_others_are_marked_whatever_came_of_the_call(details: Any, untrusted: bool, more: Any) -> None:
    marked = {} if details == {} else {"atlas.house/untrusted": details}
    answered = answer("Dear Anna", **(more | {"_meta": more.get("_meta", {}) | marked}))
    assert adapter.result(CALL, answered).untrusted is untrusted


def test_a_success_keeps_sentence_data_and_receipt() -> None:
    meta = {"atlas.house/receipt": {"id": "receipt_1", "changed": "Started a timer."}}
    result = adapter.result(CALL, answer(structured_content={"seconds": 600}, _meta=meta))
    assert (result.call_id, result.ok, result.text) == ("call_1", True, "Timer set.")
    assert result.data == {"seconds": 600}
    assert result.receipt == Receipt("receipt_1", "Started a timer.")


@for_every("receipt", [None, "yes", {}, {"id": ""}, {"id": 7}, {"changed": "all of it"}, []])
def test_what_is_not_a_receipt_proves_nothing(receipt: Any) -> None:
    assert adapter.result(CALL, answer(_meta={"atlas.house/receipt": receipt})).receipt is None


@for_every(
    ("details", "error"),
    [("denied", "denied"), ("not_found", "not_found"), ("weird", "failed"), (None, "failed"), (["denied"], "failed")],
)
def test_a_failure_says_of_what_kind_it_is_and_never_has_a_receipt(details: Any, error: str) -> None:
    meta = {"atlas.house/error": details, "atlas.house/receipt": {"id": "r", "changed": "c"}}
    result = adapter.result(CALL, answer("There is no such timer.", is_error=True, _meta=meta))
    assert (result.ok, result.error, result.receipt) == (False, error, None)
    assert result.text == "There is no such timer."


def test_a_tool_that_asks_which_is_meant_tells_between_what() -> None:
    several = {"timers": [{"id": "timer_1", "name": "pizza"}]}
    for error, data in (("invalid", several), ("denied", {})):
        result = answer("Which timer?", is_error=True, _meta={"atlas.house/error": error, "atlas.house/data": several})
        assert adapter.result(CALL, result).data == data


REMOVE = ToolCall("call_2", "tasks.remove", {"title": "milk"})
ASK = {
    "id": "7f",
    "sentence": "Remove the task milk?",
    "level": "confirm",
    "expires_at": 1.8e9,
    "tool": "tasks.remove",
    "arguments_sha256": "0" * 64,
}


def test_a_question_comes_back_as_one_in_either_form() -> None:
    meta = {"atlas.house/ask": ASK, "atlas.house/error": "confirm"}
    elicited = mcp.types.InputRequiredResult.model_validate({"requestState": "7f", "_meta": meta})
    for hit in (answer("Ask somebody.", is_error=True, _meta=meta), elicited):
        result = adapter.result(REMOVE, hit)
        assert (result.ok, result.error, result.text) == (False, "confirm", "Remove the task milk?")
        assert result.ask == ConfirmationRequest(
            "7f", "Remove the task milk?", "confirm", 1.8e9, "tasks.remove", "0" * 64
        )


def test_a_question_beside_a_success_is_no_success() -> None:
    meta = {"atlas.house/ask": ASK, "atlas.house/receipt": {"id": "r", "changed": "c"}}
    result = adapter.result(REMOVE, answer("Removed.", _meta=meta))
    assert (result.ok, result.receipt) == (False, None)
    assert not adapter.result(REMOVE, answer("Removed.", _meta={"atlas.house/error": "denied"})).ok


@for_every(
    "broken",
    [
        *(None, "yes", [], {}, ASK | {"id": ""}, ASK | {"sentence": 7}, ASK | {"expires_at": "soon"}),
        *(ASK | {"tool": "files.write"}, ASK | {"sentence": "x" * 3000}, ASK | {"expires_at": True}),
    ],
)
def test_a_question_that_cannot_be_put_to_anybody_is_a_failure(broken: Any) -> None:
    for hit in (answer("Ok.", _meta={"atlas.house/ask": broken}), mcp.types.InputRequiredResult(request_state="7f")):
        result = adapter.result(REMOVE, hit)
        assert (result.ok, result.error, result.ask) == (False, "confirm", None)
        assert "Nothing was done" in result.text


def test_how_much_must_be_said_is_never_read_as_less() -> None:
    for level in ("explicit", "loud", None, 3):
        result = adapter.result(REMOVE, answer(_meta={"atlas.house/ask": ASK | {"level": level}}))
        assert result.ask and result.ask.level == "explicit"


def test_a_yes_goes_back_with_the_question_it_answers() -> None:
    request = adapter.request(REMOVE, ANNA, "turn_1", SignedAnswer("7f", "signed"))
    wire = request.model_dump(by_alias=True, mode="json", exclude_none=True)
    assert wire["params"]["requestState"] == "7f"
    assert wire["params"]["inputResponses"] == {"confirm": {"action": "accept", "content": {"statement": "signed"}}}
    assert "signed" not in repr(SignedAnswer("7f", "signed"))


def test_an_answer_without_words_still_says_something() -> None:
    for is_error in (True, False):
        assert adapter.result(CALL, mcp.types.CallToolResult(content=[], is_error=is_error)).text


def test_a_refusal_of_the_protocol_is_a_result_too() -> None:
    result = adapter.refusal(CALL, MCPError(mcp.types.INVALID_PARAMS, "seconds is missing"))
    assert (result.ok, result.error) == (False, "invalid")
    assert "seconds is missing" in result.text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters(), max_size=8), json_values, max_size=4))
def test_whatever_a_model_writes_can_be_sent(arguments: dict[str, Any]) -> None:
    request = adapter.request(ToolCall("call_1", "t", arguments), ANNA, "turn_1")
    json.dumps(request.model_dump(by_alias=True, mode="json"), ensure_ascii=False).encode("utf-8")


def nested(depth: int) -> list[Any]:
    return [] if depth == 0 else [nested(depth - 1)]


@for_every("value", [float("nan"), float("inf"), {1, 2}, b"bytes", object(), nested(600)])
def test_what_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(adapter.NotJson):
        adapter.request(ToolCall("call_1", "t", {"a": [value]}), ANNA, "turn_1")


def test_half_a_character_is_replaced_and_whole_ones_stay() -> None:
    assert adapter.clean({"milk \ud83d!": ["милк 🥛 ü"]}) == {"milk \ufffd!": ["милк 🥛 ü"]}
