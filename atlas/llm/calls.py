"""Fragments of tool calls, as servers stream them → whole calls, checked. Pure.

Servers differ: fragments keyed by index, or by id, or by nothing; names repeated with every fragment; calls sent whole;
arguments as an object instead of a string; the one `function_call` of old. Nothing that is nearly a call is mended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atlas.conversation import Tool, ToolCall, fresh_id
from atlas.errors import EngineError, InvalidCall
from atlas.schemas import Misfit, hold
from wall import strict_json

MAX_CALLS = 32
MAX_ARGUMENT_LETTERS = 256 * 1024


@dataclass(slots=True)
class _Part:
    """A tool call, as far as it has come."""

    index: int
    id: str = ""
    name: str = ""
    text: str = ""

    def is_whole(self) -> bool:
        """Say whether the arguments are a finished object: nothing that follows can be a part of it."""
        if not self.text.rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads(self.text), dict)
        except (ValueError, RecursionError):
            return False


class PartialCalls:
    """Fragments of tool calls, put together by index; where a server sends none, or always 0, by what they say."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._latest: dict[int, _Part] = {}

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take the fragments of one event. Raises `EngineError` for what is no fragment, and for a flood."""
        fragments = delta.get("tool_calls")
        if not isinstance(fragments, list):
            old = delta.get("function_call")
            fragments = [{"index": 0, "function": old}] if isinstance(old, dict) else []
        for place, fragment in enumerate(fragments):
            self._add(place, fragment)

    def _add(self, place: int, fragment: Any) -> None:
        function = (fragment.get("function") or {}) if isinstance(fragment, dict) else None
        if not isinstance(function, dict):
            raise EngineError("a fragment of a tool call is no object")
        name, call_id, arguments = _text(function.get("name")), _text(fragment.get("id")), function.get("arguments")
        part = self._part(fragment.get("index"), place, call_id)
        if part is None or _begins_another(part, call_id, name, arguments):
            part = self._begin(fragment.get("index"), place)
        part.id, part.name = part.id or call_id, part.name or name  # some servers repeat them with every fragment
        if isinstance(arguments, dict):
            part.text += json.dumps(arguments)
        elif isinstance(arguments, str):
            part.text += arguments
        elif arguments is not None:
            raise EngineError("a tool call has arguments that are neither text nor an object")
        if len(self._parts) > MAX_CALLS or len(part.text) > MAX_ARGUMENT_LETTERS:
            raise EngineError("the model's tool calls do not end")

    def _part(self, index: Any, place: int, call_id: str) -> _Part | None:
        """Return the call that a fragment goes on with, if there is one."""
        if isinstance(index, int):
            return self._latest.get(index)
        if known := next((part for part in self._parts if call_id and part.id == call_id), None):
            return known
        return self._latest.get(place) if place else (self._parts[-1] if self._parts else None)

    def _begin(self, index: Any, place: int) -> _Part:
        at = index if isinstance(index, int) else place
        part = _Part(at)
        self._parts.append(part)
        self._latest[at] = part
        return part

    def finished(self, offered: Mapping[str, Tool]) -> tuple[ToolCall, ...]:
        """Return the calls, checked. Raises `EngineError` for one that its tool could not take."""
        return tuple(_call(part, offered) for part in sorted(self._parts, key=lambda part: part.index))


def _begins_another(part: _Part, call_id: str, name: str, arguments: Any) -> bool:
    """Say whether a fragment that came under the index of `part` belongs to another call.

    Ollama has sent every call whole and under index 0. A new id alone says nothing: others make one for each fragment.
    """
    if call_id and call_id == part.id:
        return False  # if it brings more than fits, it is a broken call, not a second deed
    other_id = bool(call_id and part.id)
    other_name = bool(name and part.name and name != part.name)
    if part.is_whole():
        more = arguments.strip() if isinstance(arguments, str) else isinstance(arguments, dict)
        return bool(more) or other_name or (other_id and bool(name))
    return not part.text and (other_name or (other_id and bool(name)))


def _call(part: _Part, offered: Mapping[str, Tool]) -> ToolCall:
    tool = offered.get(part.name)
    if tool is None:
        raise InvalidCall(
            "the model called a tool that it was not offered",
            f"the model called {part.name!r}, which it was not offered",
        )
    try:
        arguments = strict_json.loads(part.text or "{}", finite=True, pairs=_without_doubles)
        hold(arguments, {"type": "object", **tool.parameters})
    except (Misfit, ValueError, RecursionError) as trouble:
        what = f"the model called {tool.name} with arguments that do not fit"
        raise InvalidCall(what, f"{what}: {trouble}") from trouble
    return ToolCall(part.id or fresh_id("call"), tool.name, arguments)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raises `ValueError` for a name given twice: nobody can say which of the two was meant."""
    if len(results := dict(pairs)) != len(pairs):
        raise ValueError("a name is given twice")
    return results
