"""Reads the fields of an object that came from outside, one by one and checked; each error names its field. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from atlas.errors import RequestError

Json = dict[str, Any]


def wrong(param: str, wanted: str, value: Any, code: str = "invalid_value") -> RequestError:
    """Return the error of a field that is not what was wanted."""
    shown = (
        type(value).__name__ if isinstance(value, (dict, list)) else json.dumps(value, ensure_ascii=False, default=str)
    )
    shown = shown if len(shown) <= 60 else f"{shown[:57]}…"
    return RequestError(f"{param} must be {wanted}, not {shown}", code=code, param=param)


def object_of(value: Any, param: str) -> Json:
    """Return an object. Raises `RequestError` for anything else."""
    if not isinstance(value, dict):
        raise wrong(param, "an object", value, "invalid_type")
    return value


def number(value: Any, param: str, least: float, most: float) -> float:
    """Return a number within bounds. Raises `RequestError` for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(param, "a number", value, "invalid_type")
    if not least <= value <= most:  # infinity is not, and no whole number is too long for this question
        raise wrong(param, f"between {least:g} and {most:g}", value)
    return value


class Fields:
    """The fields of a body, read one by one and checked; each error names its field."""

    def __init__(self, body: Mapping[str, Any], within: str = "") -> None:
        self._body = body
        self._within = f"{within}." if within else ""

    def name(self, key: str) -> str:
        """Return the field's full name, as errors give it."""
        return f"{self._within}{key}"

    def wrong(self, key: str, wanted: str, code: str = "invalid_type") -> RequestError:
        """Return the error of a field that is not what was wanted."""
        return wrong(self.name(key), wanted, self._body.get(key), code)

    def only(self, known: Collection[str]) -> None:
        """Refuse fields that nobody reads: a misspelt one would be lost in silence."""
        if unknown := sorted(set(self._body) - set(known)):
            raise RequestError(
                f"there is no field {self.name(unknown[0])}", code="unknown_field", param=self.name(unknown[0])
            )

    def value(self, key: str, default: Any = None) -> Any:
        """Return whatever stands there; the default when nothing does."""
        value = self._body.get(key)
        return default if value is None else value

    def inner(self, key: str) -> Fields:
        """Return the fields of an object within; none when it is not there."""
        value = self._body.get(key)
        return Fields({} if value is None else object_of(value, self.name(key)), self.name(key))

    def text(self, key: str, default: str | None = None, longest: int = 200) -> str:
        """Return a text of at most `longest` characters; without a default it must be there."""
        value = self._body.get(key)
        if value is None:
            if default is None:
                raise RequestError(f"{self.name(key)} is missing", code="missing_field", param=self.name(key))
            return default
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        if len(value) > longest:
            raise RequestError(
                f"{self.name(key)} has {len(value)} characters; {longest} is the most",
                code="string_too_long",
                param=self.name(key),
            )
        return value

    def choice(self, key: str, choices: Collection[str], default: str) -> str:
        """Return one of `choices`."""
        value = self.value(key, default)
        if not isinstance(value, str) or value not in choices:
            raise self.wrong(key, f"one of {', '.join(choices)}", "invalid_value")
        return value

    def flag(self, key: str) -> bool:
        """Return true or false; false when it is not there."""
        value = self._body.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return bool(value)

    def number(self, key: str, least: float, most: float) -> float | None:
        """Return a number within bounds, or `None` when it is not there."""
        value = self._body.get(key)
        return None if value is None else float(number(value, self.name(key), least, most))

    def whole(self, key: str, least: int, most: int) -> int | None:
        """Return a whole number within bounds, or `None` when it is not there."""
        value = self._body.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise self.wrong(key, "a whole number")
        if value is not None and not least <= value <= most:
            raise self.wrong(key, f"a whole number from {least} to {most}", "invalid_value")
        return value
