"""A request is understood whole, or the field that is wrong is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from atlas.errors import RequestError
from atlas.llm_host.constrain import MOST_NAMES
from atlas.llm_host.request import MAX_TOOLS, forgotten, parse
from tests.conftest import for_every

HELLO: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
TOOL = {"type": "function", "function": {"name": "a", "parameters": {"type": "object"}}}


def test_the_least_request_is_enough() -> None:
    ask = parse(json.dumps(HELLO).encode())
    assert ask.messages[0]["content"] == "hello" and ask.choice == "none" and not ask.stream


def test_parts_of_text_are_joined_and_a_developer_is_a_system_message() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    ask = parse(json.dumps({**HELLO, "messages": [{"role": "developer", "content": parts}]}).encode())
    assert ask.messages == ({"role": "system", "content": "ab"},)


def test_half_a_surrogate_pair_becomes_a_character_that_can_be_written() -> None:
    ask = parse(b'{"model":"m","messages":[{"role":"user","content":"a\\ud83d \\ud83d\\ude00"}]}')
    assert ask.messages[0]["content"].encode() == "a\ufffd 😀".encode()


def test_halves_of_surrogate_pairs_are_mended_wherever_they_stand() -> None:
    """In a name they ended the host: no file can be called so, and no answer can say so."""
    half = rb"\ud83d"
    ask = parse(
        b'{"model":"%b","atlas_conversation":"%b","stop":"%b","messages":[{"role":"assistant","tool_calls":[{"id":"%b",'
        b'"function":{"name":"%b","arguments":"%b"}}]}],"tools":[{"type":"function","function":{"name":"a",'
        b'"parameters":{"properties":{"%b":{"enum":["%b"]}}}}}]}' % ((half,) * 8)
    )
    assert str(ask).count("\ufffd") == 8 and str(ask).encode()
    assert forgotten(b'{"conversation": "%b"}' % half) == "\ufffd"
    assert forgotten(b'{"conversation": "\xed\xa0\xbd"}') == "\ufffd"  # half a pair that is not even spelled out
    with pytest.raises(RequestError) as refused:
        parse(b'{"%b": 1}' % half)
    assert str(refused.value).encode()


@for_every(
    ("change", "param"),
    [
        ({"model": None}, "model"),
        ({"model": 3}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [{"role": "king", "content": "hi"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"function": 1}]}]}, "messages[0].tool_calls"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"temperature": 10**400}, "temperature"),
        ({"max_tokens": -(10**400)}, "max_tokens"),
        ({"n": 2}, "n"),
        ({"logprobs": True}, "logprobs"),
        ({"logit_bias": {"1": 5}}, "logit_bias"),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
        ({"stop": [""]}, "stop"),
        ({"stop": ["a" * 1_001]}, "stop"),
        ({"stream": 1}, "stream"),
        ({"tools": {}}, "tools"),
        ({"tools": [TOOL, TOOL]}, "tools[1].function.name"),
        ({"tools": [{"type": "function", "function": {"name": "", "parameters": {}}}]}, "tools[0].function.name"),
        ({"tools": [{"type": "function", "function": {"name": "a", "parameters": {"type": "foo"}}}]}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "b"}}}, "tool_choice"),
        ({"tools": [TOOL], "response_format": {"type": "json_object"}}, "response_format"),
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, "response_format"),
        ({"atlas_priority": "now"}, "atlas_priority"),
        ({"atlas_priority": 1}, "atlas_priority"),
        ({"temprature": 1}, "temprature"),
        ({"atlas_prefill": "yes"}, "atlas_prefill"),
        ({"atlas_prefill": True, "stream": True}, "atlas_prefill"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestError) as wrong:
        parse(json.dumps({**HELLO, **change}).encode())
    assert wrong.value.param == param
    assert param.split("[")[0] in str(wrong.value) or "tool" in str(wrong.value)


ORDINARY = {  # a tool as people write them, with all that may be said of an argument
    "type": "object",
    "properties": {
        name: {"type": "string", "description": "What it is.", "enum": ["a", "b"], "default": "a"} for name in "abcde"
    },
    "required": ["a"],
    "additionalProperties": False,
}


def with_tools(count: int, parameters: object) -> bytes:
    tools = [{"type": "function", "function": {"name": f"t{i}", "parameters": parameters}} for i in range(count)]
    return json.dumps({**HELLO, "tools": tools}).encode()


def test_as_many_ordinary_tools_as_may_be_are_not_too_many() -> None:
    assert len(parse(with_tools(MAX_TOOLS, ORDINARY)).tools) == MAX_TOOLS


@for_every(
    ("count", "parameters"),
    [
        (8, {"properties": {f"p{i}": {} for i in range(MOST_NAMES - 1)}}),
        (1, {"allOf": [True] * (MOST_NAMES + 1)}),
        (8, {"anyOf": [{}] * (MOST_NAMES - 1)}),
    ],
)
def test_tools_that_would_take_minutes_to_check_are_refused_unchecked(count: int, parameters: object) -> None:
    with pytest.raises(RequestError, match="over") as wrong:
        parse(with_tools(count, parameters))
    assert (wrong.value.code, wrong.value.param) == ("invalid_schema", "tools")


@for_every("body", [b"", b"{", b"[]", b"3", b'{"a":NaN}', b"[" * 100_000, b"\xff\xfe", b"9" * 5000])
def test_what_is_not_json_is_said_to_be_not_json(body: bytes) -> None:
    with pytest.raises(RequestError) as wrong:
        parse(body)
    assert wrong.value.code == "invalid_json"


@for_every("body", [b"{}", b'{"conversation": ""}', b'{"conversation": 3}'])
def test_who_is_to_be_forgotten_is_named(body: bytes) -> None:
    with pytest.raises(RequestError, match="conversation"):
        forgotten(body)
    assert forgotten(b'{"conversation": "anna"}') == "anna"
