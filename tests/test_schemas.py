"""Whatever a schema asks and a model writes, there is an answer: it fits, it breaks this rule, or it is too much."""

from __future__ import annotations

from typing import Any

from atlas.schemas import Misfit, hold
from tests.conftest import for_every

A = "a" * 30_000


def verdict(value: Any, part: dict[str, Any], **whole: Any) -> str:
    try:
        hold({"x": value}, {"properties": {"x": part}, **whole})
    except Misfit as trouble:
        return trouble.rule
    return "fits"


@for_every("pattern", ["(a+)+$", "^(a|a)*$", "(x+x+)+y|a$", "(.*a){12}$"])
def test_long_texts_are_held_to_patterns_that_would_go_back_without_end(pattern: str) -> None:
    assert verdict(A, {"pattern": pattern}) == "fits"
    assert "x.pattern" in verdict(A + "!", {"pattern": pattern})


def test_neither_a_names_pattern_nor_another_dialect_brings_going_back_in_again() -> None:
    slow, name = "(a+)+$", "a" * 60 + "!"
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", "allOf": [{"pattern": slow}]}
    assert "x.allOf.0.pattern" in verdict(name, draft7)
    assert verdict({name: 1}, {"patternProperties": {slow: False}}) == "fits"
    evaluated = {"patternProperties": {slow: True}, "unevaluatedProperties": False}
    assert "cannot be followed" in verdict({name: 1}, evaluated)


TWICE = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(60)} | {"d60": {}}
WORDY = {"anyOf": [{"type": "string"}] * 5_000}  # each complaint quotes the whole value


@for_every(
    ("value", "part", "whole"),
    [
        (1, {"$ref": "#/$defs/d0"}, {"$defs": TWICE}),
        ([{"a": 1}] * 20_000, WORDY, {}),
        ([{}] * 20_000, {"items": {"properties": {f"p{i}": {} for i in range(2_000)}}}, {}),
        ([[1] * 400] * 200, {"items": {"enum": [[1] * 399 + [2]] * 150 + [[1] * 400]}}, {}),
        (A, {"pattern": "((a?){100}){100}b"}, {}),
        ("a", {"allOf": [{"pattern": f"^.{{0,{3_000 + i}}}$"} for i in range(200)]}, {}),
    ],
)
def test_what_would_take_too_long_is_refused(value: Any, part: dict[str, Any], whole: dict[str, Any]) -> None:
    assert verdict(value, part, **whole) == "its schema cannot be followed: it takes too much work"


def test_a_long_list_of_plain_things_is_not_too_much() -> None:
    person = {"type": "object", "properties": {"name": {"type": "string", "pattern": r"^\w+( \w+)*$"}}}
    people: list[Any] = [{"name": f"person {i}"} for i in range(500)]
    assert verdict(people, {"items": person, "uniqueItems": True}) == "fits"
    assert "uniqueItems" in verdict([*people, {"name": "person 7"}], {"items": person, "uniqueItems": True})
    assert "x.items.properties.name.pattern" in verdict([*people, {"name": ""}], {"items": person})


@for_every(("pair", "alike"), [([1, 1.0], True), ([1, True], False), ([{"a": 1}, {"a": 1.0}], True)])
def test_things_are_unique_as_json_sees_them(pair: list[Any], alike: bool) -> None:
    assert (verdict(pair, {"uniqueItems": True}) != "fits") == alike


@for_every(
    "part", [{"type": "nonsense"}, {"properties": 5}, {"pattern": "["}, {"$ref": "#there"}, {"$ref": "https://a/b"}]
)
def test_a_schema_that_is_none_is_said_to_be_so(part: dict[str, Any]) -> None:
    assert "cannot be followed" in verdict({} if "properties" in part else "a", part)
