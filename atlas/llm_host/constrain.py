"""JSON schema → grammar: what the model may write, token by token.

Schemas are projected first: what llguidance cannot enforce is left out of the grammar, and the finished arguments are
checked against the original by `check`. A schema that cannot be projected either is refused; nothing runs unguarded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError
from llguidance import LLMatcher, LLTokenizer
from llguidance.numpy import allocate_token_bitmask, fill_next_token_bitmask
from numpy.typing import NDArray
from referencing import Registry
from referencing.exceptions import Unresolvable

from atlas.errors import EngineError, RequestError

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
MAX_DEPTH = 64


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
            raise EngineError(f"the grammar of the answer failed: {self._matcher.get_error()}")


def valid_schema(schema: Any, what: str, param: str) -> None:
    """Raise `RequestError` naming `what` unless `schema` is a JSON schema."""
    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError) as trouble:
        reason = trouble.message if isinstance(trouble, SchemaError) else "it is nested too deeply"
        raise RequestError(
            f"{what} has no valid JSON schema: {reason}", code="invalid_schema", param=param
        ) from trouble


def schema_rule(schema: Any, what: str, param: str) -> str:
    """Return the schema as a rule of a Lark grammar. Raises `RequestError` naming `what` when it has no grammar."""
    complaint = ""
    for left_out in (NEVER_IN_GRAMMAR, NEVER_IN_GRAMMAR | LAST_TO_GO):
        projected = project(schema, left_out)
        rule = "%json " + json.dumps({**projected, "x-guidance": COMPACT}) if isinstance(projected, dict) else ""
        if not rule:
            complaint = "it allows nothing to be said about it"
            break
        if not (complaint := _cannot_begin(f"start: {rule}\n")):
            return rule
    raise RequestError(f"{what} has a schema without a grammar: {complaint}", code="invalid_schema", param=param)


def _cannot_begin(lark: str) -> str:
    """Return why a grammar cannot be begun with, "" when it can: some compile, and fail before the first letter."""
    begun = LLMatcher(_bytes(), LLMatcher.grammar_from_lark(lark), log_level=0)
    return begun.get_error() if begun.is_error() else ""


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
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key in left_out or (key in COUNTS and isinstance(value, (int, float)) and value > MOST_COUNTED):
            continue
        if key in PARTS and isinstance(value, dict):
            kept[key] = {name: project(part, left_out, depth + 1) for name, part in value.items()}
        else:
            kept[key] = value if key in VALUES else project(value, left_out, depth + 1)
    return kept


def check(arguments: Any, schema: Mapping[str, Any]) -> str:
    """Return what is wrong with `arguments` by the original schema; "" when nothing is. Fetches no reference."""
    try:
        Draft202012Validator(dict(schema), registry=Registry()).validate(arguments)
    except ValidationError as trouble:
        return f"{trouble.json_path}: {trouble.message}"
    except (Unresolvable, RecursionError, ArithmeticError, re.error) as trouble:
        return f"its schema cannot be followed: {trouble}"
    return ""


def quoted(text: str) -> str:
    """Return `text` as a literal of a Lark grammar."""
    return json.dumps(text, ensure_ascii=True)


def one_of(rules: Sequence[str]) -> str:
    """Return an alternative of rules."""
    return "(" + " | ".join(rules) + ")"
