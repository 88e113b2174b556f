"""Whatever schema a tool brings has a grammar that keeps to it, or is refused by name. Nothing runs unguarded."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from llguidance import LLTokenizer

from atlas.errors import EngineError, RequestError
from atlas.llm_host import constrain
from atlas.llm_host.constrain import Constraint, arguments_schema, check, schema_rule, valid_schema
from tests.conftest import for_every

MOST_BYTES = 300
NAMES = ("a", "b", "größe", 'q"uote', "$ref", "type", "x y", "")
WORDS = ("on", "off", "", "é", '"', "\\", "5", "null", "👩‍👩‍👧")
PATTERNS = ("^[a-z]+$", "\\d{2}", "a|b", "^(foo|bar)*$", "\\S+", "[", "(?=a)b", "^.{0,3000}$", "\\p{L}", "(a+)+$", "^$")


class Maker:
    """Makes schemas by dice; the same seed makes the same schema."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def parameters(self) -> dict[str, Any]:
        made = self.of_object(3)
        if self.dice.random() < 0.3:
            made["$defs"] = {"part": self.any_schema(2), "tree": self.of_tree()}
            made["properties"]["part"] = {"$ref": self.dice.choice(["#/$defs/part", "#/$defs/tree", "#", "#/none"])}
        return made

    def any_schema(self, depth: int) -> Any:
        kinds = [self.of_text, self.of_number, self.of_values, self.of_nothing_special]
        deep = [self.of_object, self.of_list, self.of_choice, self.of_condition]
        if depth and self.dice.random() < 0.55:
            return self.dice.choice(deep)(depth - 1)
        return self.dice.choice(kinds)()

    def maybe(self, **more: Any) -> dict[str, Any]:
        return {key: value for key, value in more.items() if self.dice.random() < 0.35}

    def of_text(self) -> dict[str, Any]:
        dice = self.dice
        longest = dice.choice([0, 3, 40, 1999, 2000, 100_000, 10**9])
        form = dice.choice(["date", "date-time", "email", "uri", "uuid", "time", "made-up"])
        limits = {"minLength": dice.choice([0, 1, 5]), "maxLength": longest, "pattern": dice.choice(PATTERNS)}
        return {"type": "string", **self.maybe(**limits, format=form)}

    def of_number(self) -> dict[str, Any]:
        dice = self.dice
        low = dice.choice([0, -5, 1, 0.5, -1e9, 2**63, 1e308])
        more = {"exclusiveMaximum": low + 3, "multipleOf": dice.choice([1, 5, 0.1, 1e-9, 7.5])}
        return {
            "type": dice.choice(["integer", "number"]),
            **self.maybe(minimum=low, maximum=low + dice.choice([0, 1, 100, -1]), exclusiveMinimum=low, **more),
        }

    def of_values(self) -> dict[str, Any]:
        dice = self.dice
        values = [*WORDS, 1, 2.5, None, True, {"a": 1}, [1, "b"]]
        if dice.random() < 0.3:
            return {"const": dice.choice(values)}
        return {"enum": [dice.choice(values) for _ in range(dice.randint(1, 12))]}

    def of_nothing_special(self) -> Any:
        return self.dice.choice(
            [{}, True, False, {"type": ["string", "null"]}, {"type": "boolean"}, {"type": "null"}, {"default": 3}]
        )

    def of_object(self, depth: int) -> dict[str, Any]:
        dice = self.dice
        properties = {name: self.any_schema(depth) for name in dice.sample(NAMES, dice.randint(0, 4))}
        more = self.maybe(
            required=sorted(dice.sample(NAMES, dice.randint(0, 2)) if dice.random() < 0.3 else list(properties)[:2]),
            additionalProperties=dice.choice([True, False, {"type": "integer"}]),
            patternProperties={dice.choice(PATTERNS): self.any_schema(0)},
            propertyNames={"maxLength": 4},
            minProperties=dice.randint(0, 3),
            dependentRequired={"a": ["b"]},
            title="T",
        )
        return {"type": "object", "properties": properties, **more}

    def of_list(self, depth: int) -> dict[str, Any]:
        dice = self.dice
        more = self.maybe(
            minItems=dice.choice([0, 1, 3]),
            maxItems=dice.choice([0, 2, 5000]),
            uniqueItems=True,
            prefixItems=[self.any_schema(0), self.any_schema(0)],
            contains={"type": "string"},
        )
        return {"type": "array", "items": self.any_schema(depth), **more}

    def of_choice(self, depth: int) -> dict[str, Any]:
        dice = self.dice
        return {dice.choice(["oneOf", "anyOf", "allOf"]): [self.any_schema(depth) for _ in range(dice.randint(1, 3))]}

    def of_condition(self, depth: int) -> dict[str, Any]:
        some = self.any_schema(0)
        return self.dice.choice(
            [{"not": some}, {"if": some, "then": self.any_schema(0), "else": self.any_schema(depth)}]
        )

    def of_tree(self) -> dict[str, Any]:
        leaves = {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}
        return {
            "type": "object",
            "properties": {"v": self.of_number(), "leaves": leaves},
            "additionalProperties": False,
        }


def written(tokenizer: LLTokenizer, rule: str, dice: random.Random) -> bytes | None:
    """Let dice write under the grammar, like the wildest of models; None when no end was found in time."""
    pen = Constraint(tokenizer, f"start: {rule}\n")
    made: list[int] = []
    while len(made) < MOST_BYTES and not pen.complete:
        logits = np.zeros(tokenizer.vocab_size, dtype=np.float32)
        pen.mask(logits)
        (allowed,) = np.nonzero(np.isfinite(logits))
        assert len(allowed), "a grammar that has not ended allows something"
        closing = [t for t in allowed if t in b'"}],0' or t == tokenizer.eos_token]
        token = int(dice.choice(closing if closing and (len(made) > 60 or dice.random() < 0.3) else list(allowed)))
        if token == tokenizer.eos_token:
            return tokenizer.decode_bytes(made)
        made += [token, *pen.accept(token)]
    return tokenizer.decode_bytes(made) if pen.complete else None


def attempt(seed: int, tokenizer: LLTokenizer) -> str:
    """Take one schema the way a request takes it; return how it ended."""
    schema = Maker(seed).parameters()
    try:
        valid_schema(schema, "tool 'lamp'", "tools")
        rule = schema_rule(arguments_schema(schema), "tool 'lamp'", "tools")
    except RequestError as refused:
        assert "'lamp'" in str(refused) and refused.code == "invalid_schema", str(refused)
        return "refused"
    try:
        raw = written(tokenizer, rule, random.Random(seed))
    except EngineError:
        return "failed"  # while it wrote: an honest end of that answer
    if raw is None:
        return "endless"
    arguments = json.loads(raw.decode("utf-8", "replace"))
    assert isinstance(arguments, dict)
    return "wrong" if check(arguments, schema) else "right"


def outcomes(seeds: range) -> dict[str, int]:
    tokenizer = LLTokenizer("byte")
    results: dict[str, int] = {}
    for seed in seeds:
        end = attempt(seed, tokenizer)
        results[end] = results.get(end, 0) + 1
    return results


def test_some_schemas_made_by_dice_have_a_grammar_or_are_refused_by_name() -> None:
    results = outcomes(range(20))
    assert results["right"] > 6, results
    assert results.get("failed", 0) == 0, results


@pytest.mark.real
def test_a_thousand_schemas_made_by_dice_have_a_grammar_or_are_refused_by_name() -> None:
    results = outcomes(range(1000))
    assert sum(results.values()) == 1000 and results["right"] > 300, results
    assert results.get("failed", 0) == 0, results


@for_every(
    "part",
    [
        {"type": "string", "maxLength": 10**9},
        {"type": "string", "pattern": "^.{0,3000}$"},
        {"type": "array", "maxItems": 5000, "uniqueItems": True},
        {"oneOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]},
        {"type": "string", "not": {"const": "on"}},
    ],
)
def test_what_a_grammar_cannot_count_or_tell_apart_is_left_to_the_check(part: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"x": part}, "required": ["x"]}
    rule = schema_rule(arguments_schema(schema), "tool 'lamp'", "tools")
    Constraint(LLTokenizer("byte"), f"start: {rule}\n")


@for_every(
    "schema",
    [
        {"$ref": "#"},
        {"properties": {"x": {"$ref": "#"}}, "required": ["x"]},
        {"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}, "minItems": 1}}},
        {
            "properties": {"x": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}},
            "$defs": {"a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]}}
            | {"b": {"allOf": [{"$ref": "#/$defs/a"}]}},
        },
    ],
)
def test_a_schema_by_which_an_answer_would_never_end_is_refused_by_name(schema: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match=r"'lamp'.*contains itself without end"):
        schema_rule(arguments_schema(schema), "tool 'lamp'", "tools")


@for_every(
    "schema",
    [
        {"properties": {"leaves": {"type": "array", "items": {"$ref": "#"}}}},
        {"properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}, "required": ["next"]},
        {"properties": {"part": {"$ref": "#"}}, "minProperties": 1},
        {"properties": {"a~b": {"$ref": "#/properties/c%20d"}, "c d": {"$ref": "#/properties/e~0"}, "e~": {}}},
    ],
)
def test_a_schema_that_refers_to_itself_and_can_end_has_a_grammar(schema: dict[str, Any]) -> None:
    rule = schema_rule(arguments_schema(schema), "tool 'lamp'", "tools")
    assert written(LLTokenizer("byte"), rule, random.Random(1)) is not None


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


NO_SCHEMAS = [
    *(
        {"minItems": "a"},
        {"minItems": []},
        {"properties": 5, "required": ["b"]},
        {"required": 5},
        {"required": [["b"]]},
    ),
    *(
        {"properties": {"b": {}}, "required": [["b"]]},
        {"anyOf": 5},
        {"allOf": 5},
        {"properties": ["b"], "required": ["b"]},
    ),
]


@for_every("part", NO_SCHEMAS)
def test_a_reference_to_what_is_no_schema_is_refused_by_name(part: dict[str, Any]) -> None:
    schema = {"properties": {"x": {"$ref": "#/elsewhere"}}, "elsewhere": part}
    with pytest.raises(RequestError, match="'lamp'"):
        schema_rule(arguments_schema(schema), "tool 'lamp'", "tools")


def test_a_schema_with_more_names_than_can_be_looked_at_is_refused_before_it_is_looked_at() -> None:
    with pytest.raises(RequestError, match=r"'lamp'.*names"):
        valid_schema({"properties": {f"p{i}": True for i in range(40_000)}}, "tool 'lamp'", "tools")


@for_every(
    "schema",
    [
        nested(200),
        nested(2000),
        {"$defs": {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(300)}},
        {"properties": {"x": {"$ref": "file:///etc/passwd"}}},
    ],
)
def test_a_hostile_schema_is_refused_by_name(schema: dict[str, Any]) -> None:
    with pytest.raises(RequestError, match="'lamp'"):
        schema_rule(arguments_schema(schema), "tool 'lamp'", "tools")


HOSTILE = ("(a+)+$", "^(a|a)*$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)*\\1(?!x)")
# With lookaround, which grammars lack: a repeated choice, choices in a row, one repetition and a long text.
LOOKING = ("(?=a)(a|a)*b", "(?=a)" + "a?" * 40 + "a" * 40 + "b", r"(?!\()" + r"(\(?|a)" * 40 + "b", "(?=a)a*a*b")


@for_every("pattern", HOSTILE + LOOKING)
@for_every("text", ["a" * 5000 + "!", "a" * 60 + "!"])
def test_no_pattern_can_hold_up_the_check(pattern: str, text: str) -> None:
    # Each of these keeps a backtracking engine busy for longer than this test may run.
    for schema in (
        {"properties": {"x": {"type": "string", "pattern": pattern}}},
        {"properties": {"x": {"patternProperties": {pattern: False}}}},
        {"properties": {"x": {"patternProperties": {pattern: True}, "additionalProperties": False}}},
    ):
        check({"x": text if "type" in schema["properties"]["x"] else {text: 1}}, schema)


def test_patterns_are_still_held_to() -> None:
    clock = {"properties": {"x": {"pattern": "^\\d\\d:\\d\\d$"}}}
    assert check({"x": "07:30"}, clock) == "" and "x.pattern" in check({"x": "7:30"}, clock)
    looks_ahead = {"properties": {"x": {"pattern": "(?=a)ab"}}}
    assert check({"x": "xab"}, looks_ahead) == "" and check({"x": "xb"}, looks_ahead)
    named = {"patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False}
    assert check({"x-a": 1}, named) == "" and check({"x-a": "1"}, named) and check({"y": 1}, named)


def test_a_pattern_that_looks_ahead_is_searched_for_in_what_is_short_enough() -> None:
    word = {"properties": {"x": {"pattern": "^(?!admin|root)[a-z]+$"}}}
    assert check({"x": "anna"}, word) == "" and "x.pattern" in check({"x": "admin"}, word)
    assert "cannot be followed" in check({"x": "a" * 5000}, word)


def test_what_is_wrong_with_arguments_is_said_by_the_rule_and_not_in_the_words_of_a_person() -> None:
    person = "my secret"
    for schema, rule in (
        ({"properties": {"x": {"maxLength": 3}}}, "properties.x.maxLength is 3"),
        ({"properties": {"x": {"pattern": "^a"}}}, 'properties.x.pattern is "^a"'),
        ({"properties": {"x": {"enum": ["on", "off"]}}}, 'properties.x.enum is ["on", "off"]'),
        ({"properties": {"x": {"type": "integer"}}}, 'properties.x.type is "integer"'),
        ({"required": ["y"]}, 'required is ["y"]'),
        ({"additionalProperties": False}, "additionalProperties is false"),
    ):
        assert check({"x": person, person: person}, schema) == rule


@for_every("part", [{"pattern": "["}, {"multipleOf": 0.1}])
def test_a_schema_that_cannot_be_checked_finds_fault_and_does_not_fall(part: dict[str, Any]) -> None:
    assert check({"x": "a" if "pattern" in part else 10**400}, {"properties": {"x": part}})


def test_a_tool_that_is_sent_with_every_request_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking takes milliseconds a tool, before the first word."""
    looked: list[str] = []
    look = constrain.Draft202012Validator.check_schema
    monkeypatch.setattr(
        constrain.Draft202012Validator, "check_schema", lambda schema: looked.append(schema["title"]) or look(schema)
    )
    large = {"title": "large", "enum": ["x" * constrain.MOST_KEPT_CHARACTERS]}
    for schema in ({"title": "small"}, large, {"title": "small"}, large):
        valid_schema(schema, "tool 'a'", "tools")
    assert looked == ["small", "large", "large"]  # what is as large as that is not kept
    for _ in range(2):
        with pytest.raises(RequestError, match="tool 'b'"):
            valid_schema({"title": "wrong", "type": "nonsense"}, "tool 'b'", "tools")
    assert looked[3:] == ["wrong"]
