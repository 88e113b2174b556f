"""JSON schema → grammar: what the model may write, token by token.

Schemas are projected first: what llguidance cannot enforce is left out of the grammar, and the finished arguments are
checked against the original by `check`. A schema that cannot be projected either is refused; nothing runs unguarded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any
from urllib.parse import unquote

import numpy as np
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from llguidance import LLMatcher, LLTokenizer
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
from numpy.typing import NDArray

from atlas.errors import EngineError, RequestError
from atlas.schemas import Misfit, hold

# Keywords that the grammar compiler rejects, or whose bound makes huge grammars. `check` still holds arguments to them.
NEVER_IN_GRAMMAR = {
    *("uniqueItems", "not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames"),
    *("dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties", "unevaluatedItems"),
    *("$schema", "$id", "$comment", "title", "description", "default", "examples"),
}
LAST_TO_GO = {"pattern", "patternProperties", "format", "multipleOf", "minProperties", "maxProperties"}
PARTS = frozenset(["properties", "patternProperties", "$defs", "definitions"])  # name → schema: names are no keywords
VALUES = frozenset(["const", "enum", "required"])  # data, not schemas
COUNTS = frozenset(["minLength", "maxLength", "minItems", "maxItems"])
MOST_COUNTED = 500  # letters or items: beyond it a grammar counts so long that llguidance gives up while it runs
# `oneOf` becomes `anyOf` where the compiler cannot tell the branches apart: `check` sees to the rest.
COMPACT = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":", "coerce_one_of": True}
SPACED = COMPACT | {"item_separator": ", ", "key_separator": ": "}
MAX_DEPTH = 64
MOST_NAMES = 3_000  # as `names_in` counts them, in one schema: the time for its grammar grows with their square
MAX_REFERENCES = 200  # different ones, in one schema
MAX_RULES_KEPT = 256  # compiled once each; a request brings the same tools every time, at most half as many
MOST_KEPT_CHARACTERS = 16_384  # of a schema; with such ones alone, memory for them ends at some twelve megabytes


class Constraint:
    """One answer's grammar, fed token by token."""

    def __init__(self, tokenizer: LLTokenizer, lark: str) -> None:
        self._matcher = LLMatcher(tokenizer, LLMatcher.grammar_from_lark(lark), log_level=0)
        self._mask = allocate_token_bitmask(1, tokenizer.vocab_size)
        self._complain()

    def mask(self, logits: NDArray[np.float32]) -> None:
        """Rule out, in place, every token that the grammar does not allow next."""
        fill_next_token_bitmask(self._matcher, self._mask)
        allowed = np.unpackbits(self._mask[0].view(np.uint8), bitorder="little")[: len(logits)]
        logits[: len(allowed)][allowed == 0] = -np.inf
        logits[len(allowed) :] = -np.inf

    def accept(self, token: int) -> list[int]:
        """Take the chosen token; return the tokens that must follow it, taken too."""
        self._matcher.consume_token(token)
        forced = list(self._matcher.compute_ff_tokens())
        if forced:
            self._matcher.consume_tokens(forced)
        self._complain()
        return forced

    @property
    def complete(self) -> bool:
        """Nothing more may be written."""
        return bool(self._matcher.is_stopped())

    def _complain(self) -> None:
        if self._matcher.is_error():
            raise EngineError(f"the grammar of the answer failed: {_first_line(self._matcher.get_error())}")


def valid_schema(schema: Any, what: str, param: str) -> None:
    """Raise `RequestError` naming `what` unless `schema` is a JSON schema."""
    try:
        many = names_in(schema) > MOST_NAMES
        reason = f"it has over {MOST_NAMES} names" if many else _once(_invalid, json.dumps(schema))
    except RecursionError:
        reason = "it is nested too deeply"
    if reason:
        raise RequestError(f"{what} has no valid JSON schema: {reason}", code="invalid_schema", param=param)


def names_in(schema: Any) -> int:
    """Return how many names of properties and keywords a schema has, and parts without a name, as `anyOf` has them.

    To check each takes up to a millisecond.
    """
    count, left = 0, [schema]
    while left:
        part = left.pop()
        inner = (
            part.values() if isinstance(part, dict) else [one for one in part if isinstance(one, (dict, list, bool))]
        )
        count += len(inner)
        left += [one for one in inner if isinstance(one, (dict, list))]
    return count


@lru_cache(MAX_RULES_KEPT)
def _invalid(schema_text: str) -> str:
    """Return why this is no JSON schema, "" when it is one."""
    try:
        Draft202012Validator.check_schema(json.loads(schema_text))
    except SchemaError as trouble:
        return str(trouble.message)
    return ""


def _once(look: Any, schema_text: str, *more: Any) -> Any:
    """Return what a function that remembers says; it is not to remember what is huge."""
    return (look if len(schema_text) <= MOST_KEPT_CHARACTERS else look.__wrapped__)(schema_text, *more)


def schema_rule(schema: Any, what: str, param: str, *, spaced: bool = False) -> str:
    """Return the schema as a rule of a Lark grammar, for JSON with or without spaces after commas and colons.

    Raises `RequestError` naming `what` when it has no grammar.
    """
    rule, complaint = "", "it is nested too deeply"
    with suppress(RecursionError):
        rule, complaint = _once(_rule, json.dumps(schema), spaced)
    if not rule:
        raise RequestError(f"{what} has a schema without a grammar: {complaint}", code="invalid_schema", param=param)
    return rule


@lru_cache(MAX_RULES_KEPT)
def _rule(schema_text: str, spaced: bool) -> tuple[str, str]:
    """Return the rule, or why there is none."""
    complaint, schema = "", json.loads(schema_text)
    for left_out in (NEVER_IN_GRAMMAR, NEVER_IN_GRAMMAR | LAST_TO_GO):
        projected = project(schema, left_out)
        if not isinstance(projected, dict):
            return "", "it allows nothing to be said about it"
        if complaint := endless(projected):
            continue
        rule = "%json " + json.dumps({**projected, "x-guidance": SPACED if spaced else COMPACT})
        if not (complaint := _cannot_begin(f"start: {rule}\n")):
            return rule, ""
    return "", complaint


def _cannot_begin(lark: str) -> str:
    """Return why a grammar cannot be begun with, "" when it can: some compile, and fail before the first letter."""
    begun = LLMatcher(_bytes(), LLMatcher.grammar_from_lark(lark), log_level=0)
    return _first_line(begun.get_error()) if begun.is_error() else ""


def _first_line(trouble: str) -> str:
    return trouble.partition("\n")[0]  # the rest is the state of a parser


@cache
def _bytes() -> LLTokenizer:
    return LLTokenizer("byte")  # what a grammar allows does not depend on how its letters are cut into tokens


def arguments_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's parameters closed against invented names."""
    closed = {"type": "object", **parameters}
    composed = {"$ref", "allOf", "anyOf", "oneOf", "patternProperties"} & set(closed)
    if "additionalProperties" not in closed and not composed:
        closed["additionalProperties"] = False
    return closed


def project(schema: Any, left_out: set[str], depth: int = 0) -> Any:
    """Return `schema` without the keywords `left_out`, at every depth."""
    if depth > MAX_DEPTH:
        return {}
    if isinstance(schema, list):
        return [project(part, left_out, depth + 1) for part in schema]
    if not isinstance(schema, dict):
        return schema
    remainder: dict[str, Any] = {}
    for key, value in schema.items():
        if key in left_out or (key in COUNTS and isinstance(value, (int, float)) and value > MOST_COUNTED):
            continue
        if key in PARTS and isinstance(value, dict):
            remainder[key] = {name: project(part, left_out, depth + 1) for name, part in value.items()}
        else:
            remainder[key] = value if key in VALUES else project(value, left_out, depth + 1)
    return remainder


def endless(schema: Mapping[str, Any]) -> str:
    """Return why a JSON that keeps to `schema` may never end, "" when every one that is begun can be ended.

    A list that must hold such lists again has no last letter: its grammar compiles, and writes for ever.
    """
    targets = {ref: _target(schema, ref) for ref in _references(schema)}
    if len(targets) > MAX_REFERENCES:
        return f"it has over {MAX_REFERENCES} references"
    ends: set[str] = set()
    try:
        while newly := {ref for ref, part in targets.items() if ref not in ends and _can_end(part, ends)}:
            ends |= newly
    except (TypeError, AttributeError):  # the rules of schemas are only held where schemas are expected
        return "a reference in it leads to what is no schema"
    return f"{min(targets.keys() - ends)!r} contains itself without end" if len(ends) < len(targets) else ""


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(ref := part.get("$ref"), str):
            yield ref
        for key, inner in part.items():
            if key not in VALUES:
                yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _target(schema: Any, ref: str) -> Any:
    """Return what a reference within the schema means; True, which asks for nothing, where it leads nowhere."""
    result = schema
    for step in ref.removeprefix("#").split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        result = result.get(name, True) if isinstance(result, dict) else True
    return result


def _can_end(part: Any, ends: set[str]) -> bool:
    """Say whether something that keeps to `part` can be written, when only references in `ends` can be."""
    if not isinstance(part, dict):
        return True
    if isinstance(ref := part.get("$ref"), str) and ref not in ends:
        return False
    properties = part.get("properties") or {}
    needed = {name for name in part.get("required") or () if name in properties}
    must = [properties[name] for name in needed] + list(part.get("allOf") or ())
    if part.get("minItems", 0) > 0:
        must += [part["items"]] if "items" in part and not part.get("prefixItems") else part.get("prefixItems") or []
    if not all(_can_end(inner, ends) for inner in must):
        return False
    if part.get("minProperties", 0) > len(needed) and part.get("additionalProperties") is False:
        free = [inner for name, inner in properties.items() if name not in needed and _can_end(inner, ends)]
        if len(free) + len(needed) < part["minProperties"]:
            return False
    choices = [part[key] for key in ("anyOf", "oneOf") if part.get(key)]
    return all(any(_can_end(way, ends) for way in ways) for ways in choices)


def check(arguments: Any, schema: Mapping[str, Any]) -> str:
    """Return which rule of the original schema `arguments` break, without their words; "" when none."""
    try:
        hold(arguments, schema)
    except Misfit as trouble:
        return trouble.rule
    return ""


def quoted(text: str) -> str:
    """Return `text` as a literal of a Lark grammar."""
    return json.dumps(text, ensure_ascii=True)


def one_of(rules: Sequence[str]) -> str:
    """Return an alternative of rules."""
    return "(" + " | ".join(rules) + ")"
