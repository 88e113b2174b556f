"""Checks arguments against a tool's schema in bounded work, whoever wrote the schema. Pure.

A schema may come from anybody and arguments from a model, and both the house and the LLM host do other things
meanwhile. So patterns are matched in time that grows with the text alone (Rust's engine, which never backtracks), each
step is paid for out of a purse, and what costs more than the purse holds is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from jsonschema import Draft202012Validator, ValidationError, validators
from jsonschema.exceptions import UnknownType
from pydantic_core import SchemaError, SchemaValidator, core_schema
from referencing import Registry
from referencing.exceptions import Unresolvable

MOST_WORK = 50_000  # pieces of 3 to 6 µs: a third of a second at the very most, where a call takes a millisecond
LOOKS_IN_A_PIECE = 32  # at a letter or a part of something long
STATES_IN_A_PIECE = 1_000  # of a pattern, each asked once for each letter
ANY_STATES = 3  # of `.`, which takes letters of several bytes
CLASS_STATES = 20  # of `\w` and the like: letters of the whole world are many ranges
MOST_SEARCHED = 1_000  # letters, for a pattern with lookaround: the time grows with their square
MOST_CHOICES = 4  # in such a pattern; each doubles the time
SHOWN = 80  # letters of a rule that was broken
MOST_LETTERS = 256 * 1024  # of a schema
SAID = 300  # letters of what breaks it
# Not every schema is one, and the library stumbles over those that are none in all of these ways.
CANNOT_BE_FOLLOWED = (
    *(Unresolvable, UnknownType, RecursionError, ArithmeticError, re.error),
    *(AttributeError, KeyError, TypeError, ValueError),
)
_TOKEN = re.compile(r"\\(.)|\[\^?\]?(?:\\.|[^\]\\])*+\]?|\{(\d+)?(?:,(\d*))?\}|(.)", re.DOTALL)  # no way back


class Misfit(Exception):
    """Arguments that do not fit. `rule` is what they break, without their words; `str()` quotes them, up to a limit."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule = rule


def hold(arguments: Any, schema: Mapping[str, Any]) -> None:
    """Raise `Misfit` unless `arguments` keep to `schema`, or when that is too much work to say. Fetches nothing."""
    purse = _purse.set(_Purse())
    try:
        _followable(schema)
        _Checked(dict(schema), registry=Registry()).validate(arguments)
    except ValidationError as trouble:
        wanted = False if trouble.schema is False else trouble.validator_value
        rule = f"{'.'.join(map(str, trouble.absolute_schema_path))} is {json.dumps(wanted)[:SHOWN]}"
        where = ".".join(map(str, trouble.absolute_path))
        raise Misfit(rule, f"{where + ': ' if where else ''}{trouble.message}"[:SAID]) from None
    except CANNOT_BE_FOLLOWED as trouble:
        reason = f"its schema cannot be followed: {trouble}"[:SAID]
        raise Misfit(reason, reason) from None
    finally:
        _purse.reset(purse)


def _followable(schema: Mapping[str, Any]) -> None:
    """Raise `ValueError` for a huge schema, and for a pair of keywords whose patterns the library would search for."""
    written = json.dumps(schema)
    if len(written) > MOST_LETTERS:
        raise ValueError("it is too long")
    if '"unevaluatedProperties":' in written and '"patternProperties":' in written:
        raise ValueError("unevaluatedProperties beside patternProperties")


@dataclass(slots=True)
class _Purse:
    """What is left of the work that one check may cost, and the patterns that it has paid for."""

    left: int = MOST_WORK
    built: dict[str, tuple[int, SchemaValidator | None]] = field(default_factory=dict)

    def pay(self, work: int) -> None:
        self.left -= work
        if self.left < 0:
            raise ValueError("it takes too much work")


_purse: ContextVar[_Purse] = ContextVar("purse")


# ── patterns ───────────────────────────────────────────────────────────────────────────────────────


def _matches(pattern: str, text: str) -> bool:
    """Say whether a pattern is found in `text`. Raises `re.error` for one that only backtracking could find, slowly."""
    purse = _purse.get()
    if pattern not in purse.built:
        states = _states(pattern)
        purse.pay(states + len(pattern))  # one takes as long to build as to ask a thousand times
        purse.built[pattern] = states, _linear(pattern)
    states, validator = purse.built[pattern]
    purse.pay(states * len(text) // STATES_IN_A_PIECE + 1)
    if validator:
        return validator.isinstance_python(text.encode("utf-8", "replace").decode())
    if len(text) <= MOST_SEARCHED and _is_quick(pattern):
        return re.search(pattern, text) is not None
    raise re.error(f"pattern {pattern[:SHOWN]!r} asks for backtracking")


def _linear(pattern: str) -> SchemaValidator | None:
    """Return what searches for a pattern without ever going back, None when there is no such way."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None


def _states(pattern: str) -> int:
    """Return about how many states a machine has that searches for a pattern: counted repetitions write it out."""
    sizes, last = [1], 1  # of the groups that are open; of what a count would repeat
    for token in _TOKEN.finditer(pattern):
        escaped, least, most, sign = token.groups()
        if token[0].startswith("{"):
            sizes[-1] += last * max(int(least or 0), int(most or 0), 1)
            last *= max(int(least or 0), int(most or 0), 1)
        elif sign == "(":
            sizes.append(1)
        elif sign == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif sign not in ("*", "+", "?"):
            is_class = token[0].startswith("[") or (escaped or "").isalpha()
            last = CLASS_STATES if is_class else ANY_STATES if sign == "." else 1
            sizes[-1] += last
    return sum(sizes)


def _is_quick(pattern: str) -> bool:
    """Say whether a backtracking search for a pattern has few ways to go: one repetition, of no group, few choices.

    `(?=a)(a|a)*b` repeats a choice, and thirty `a?` in a row are thirty choices: either doubles the ways each time.
    """
    plain = re.sub(r"\\.", "x", pattern, flags=re.DOTALL).replace("(?", "(")
    repeated = re.findall(r"[*+{]", plain)
    return len(repeated) <= 1 and not re.search(r"\)[*+{]", plain) and len(re.findall(r"[?|]", plain)) <= MOST_CHOICES


# ── keywords ───────────────────────────────────────────────────────────────────────────────────────

Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    for pattern, part in patterns.items() if isinstance(instance, dict) else ():
        for name, value in instance.items():
            if _matches(pattern, name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _additional_properties(validator: Any, part: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
    for name, value in instance.items() if isinstance(instance, dict) else ():
        known = name in schema.get("properties", {})
        if not known and not any(_matches(pattern, name) for pattern in schema.get("patternProperties", {})):
            yield from validator.descend(value, part, path=name)


def _unique_items(_validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    # The library compares each with each where items cannot be sorted.
    if wanted and isinstance(instance, list) and len({_written(item) for item in instance}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _written(value: Any) -> str:
    """Return a value as text that is the same for equal values: 1 and 1.0 are equal, and 1 and true are not."""
    text = json.dumps(_whole(value), sort_keys=True)
    _purse.get().pay(len(text) // LOOKS_IN_A_PIECE)
    return text


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _reference(validator: Any, ref: Any, instance: Any, schema: Any) -> Iterator[ValidationError] | None:
    # Names of anchors would be looked for through the whole schema, each time anew.
    if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
        raise ValueError(f"{json.dumps(ref)[:SHOWN]} is no place in it")
    followed: Iterator[ValidationError] | None = Draft202012Validator.VALIDATORS["$ref"](
        validator, ref, instance, schema
    )
    return followed


def _paid(keyword: Keyword) -> Keyword:
    def follow(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        purse = _purse.get()
        purse.pay(1 + (_length(value) + _length(instance)) // LOOKS_IN_A_PIECE)
        for error in keyword(validator, value, instance, schema) or ():
            purse.pay(1 + len(error.message) // LOOKS_IN_A_PIECE)  # most quote all that they complain of
            error.message = error.message[:SAID]
            yield error

    return follow


def _paid_in_full(keyword: Keyword) -> Keyword:
    """Pay for comparing whole values, which may be deep."""

    def follow(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError] | None:
        if isinstance(instance, (dict, list)):
            _written(value)
        return keyword(validator, value, instance, schema)

    return _paid(follow)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, (str, list, dict)) else 0


def _evolve(self: Any, **changes: Any) -> Any:
    """Return a checker of a part. The library's own would take another class where a part names its `$schema`."""
    _purse.get().pay(1 + _length(changes.get("schema")) // LOOKS_IN_A_PIECE)
    same = {"schema": self.schema, "registry": self._registry, "_resolver": self._resolver}
    return _Checked(**same | changes)


_OURS = {
    "$ref": _reference,
    "$dynamicRef": _reference,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
_DEEP = ("const", "enum")
_Checked = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        name: (_paid_in_full if name in _DEEP else _paid)(keyword)
        for name, keyword in (dict(Draft202012Validator.VALIDATORS) | _OURS).items()
    },
)
_Checked.evolve = _evolve
