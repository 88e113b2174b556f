"""Items of the Realtime protocol: the conversation as one connection sees it, and what its client adds to it."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from atlas.conversation import Author, ToolCall, fresh_id
from atlas.errors import RequestError
from atlas.fields import Json, object_of

MAX_ITEMS = 1_000  # an hour of talk has fewer; the oldest are forgotten here, not by the house
MAX_ITEM_CHARACTERS = 100_000
MAX_ITEMS_BYTES = 4 * 1024 * 1024  # of all their texts together, as this process holds them; then too the oldest go
FUNCTION_FIELDS = {"function_call": ("call_id", "name", "arguments"), "function_call_output": ("call_id", "output")}
CONTENT_OF_ROLE = {"system": "input_text", "user": "input_text", "assistant": "output_text"}
YOU_SAID = "Earlier you said: "  # also of calls and what came of them
NOTE_OF_ROLE = {"system": "", "user": "Earlier you were told: "}
ENDS = (".", "!", "?", "…")  # of a sentence


class Items:
    """The conversation as this connection sees it: items in order."""

    def __init__(self) -> None:
        self._items: OrderedDict[str, Json] = OrderedDict()
        self._noted: set[str] = set()  # items that the client added and that no response is to answer

    def __contains__(self, item_id: object) -> bool:
        return item_id in self._items

    def get(self, item_id: Any) -> Json:
        """Return an item. Raises `RequestError` when there is none of that id."""
        if not isinstance(item_id, str) or item_id not in self._items:
            raise RequestError(f"there is no item {item_id!r}", code="item_not_found", param="item_id")
        return self._items[item_id]

    def add(self, item: Json, after: str | None = None) -> str | None:
        """Put `item` behind the item `after` ("root": at the front; `None`: at the end); return the id before it."""
        if item["id"] in self._items:
            raise RequestError(f"there is an item {item['id']!r} already", code="item_exists", param="item.id")
        order = list(self._items)
        if after is None:
            place = len(order)
        elif after == "root":
            place = 0
        else:
            self.get(after)
            place = order.index(after) + 1
        self._items[item["id"]] = item
        for later in order[place:]:
            self._items.move_to_end(later)
        self._forget_oldest()
        return order[place - 1] if place else None

    def add_own(self, item: Json) -> str | None:
        """Put an item of the house at the end; return the id before it.

        Its id was told before it came, so the client may have given that to an item of its own, which makes room.
        """
        if item["id"] in self._items:
            self.remove(item["id"])
        return self.add(item)

    def before(self, item_id: str) -> str | None:
        """Return the id in front of an item's."""
        order = list(self._items)
        place = order.index(item_id) if item_id in self._items else 0
        return order[place - 1] if place else None

    def is_behind(self, item: Json, other: Json) -> bool:
        """Tell whether an item stands somewhere behind another one."""
        order = list(self._items)
        return item["id"] in order and other["id"] in order[: order.index(item["id"])]

    def remove(self, item_id: Any) -> Json:
        """Take an item out and return it. Raises `RequestError` when there is none of that id."""
        item = self.get(item_id)
        del self._items[item["id"]]
        self._noted.discard(item["id"])
        return item

    def all(self) -> list[Json]:
        """Return the items in order."""
        return list(self._items.values())

    def note(self, item: Json) -> None:
        """Go by what the client told in an item: a rule of the system's, or what it says was said earlier."""
        self._noted.add(item["id"])

    def is_noted(self, item: Json) -> bool:
        """Tell whether an item is gone by already."""
        return item["id"] in self._noted

    def before_answers(self) -> set[str]:
        """Return the ids of all items that stand before an answer that the client brought; the house's own are none."""
        are_brought = [item.get("role") == "assistant" and self.is_noted(item) for item in self.all()]
        last = max((place for place, is_brought in enumerate(are_brought) if is_brought), default=0)
        return set(list(self._items)[:last])

    def instructions(self, standing: str) -> str:
        """Return the session's own instructions, and what noted items add to them."""
        notes = [f"{NOTE_OF_ROLE.get(item.get('role', ''), YOU_SAID)}{text_of(item)}" for item in self._kept()]
        return "\n".join([standing, *notes]).strip()

    @property
    def may_be_untrusted(self) -> bool:
        """Whether the client told of answers of ours: what we really said may have repeated words of others."""
        return any(item.get("role") not in NOTE_OF_ROLE for item in self._kept())

    def _forget_oldest(self) -> None:
        sizes = [_bytes_of(item) for item in self._items.values()]  # measured anew: a reply's item grows after it came
        surplus = sum(sizes) - MAX_ITEMS_BYTES
        for size in sizes[:-1]:
            if len(self._items) <= MAX_ITEMS and surplus <= 0:
                return
            oldest, _ = self._items.popitem(last=False)
            self._noted.discard(oldest)
            surplus -= size

    def _kept(self) -> list[Json]:
        return [item for item in self.all() if item["id"] in self._noted]


def _bytes_of(item: Json) -> int:
    texts = [*item.values(), *(text for part in item.get("content", ()) for text in part.values())]
    return sum(sys.getsizeof(text) for text in texts if isinstance(text, str))


def read_item(value: Any) -> Json:
    """Return a message item that a client made, complete and in today's names. Raises `RequestError`."""
    value = object_of(value, "item")
    kind, role = value.get("type", "message"), value.get("role")
    if isinstance(kind, str) and kind in FUNCTION_FIELDS:
        return _function_item(kind, value)
    if kind != "message":
        raise RequestError(
            f"items of type {kind!r} are not taken: a message, function_call or function_call_output is",
            code="unsupported",
            param="item.type",
        )
    if not isinstance(role, str) or role not in CONTENT_OF_ROLE:
        raise RequestError("item.role must be system, user or assistant", code="invalid_value", param="item.role")
    item_id = _id_of(value)
    parts = value.get("content")
    if not isinstance(parts, list) or not parts:
        raise RequestError("item.content must be a list with a part", code="invalid_type", param="item.content")
    content = [_read_part(part, role, f"item.content[{place}]") for place, part in enumerate(parts)]
    if sum(len(part.get("text") or part["transcript"]) for part in content) > MAX_ITEM_CHARACTERS:
        raise RequestError(
            f"an item of more than {MAX_ITEM_CHARACTERS} characters", code="string_too_long", param="item.content"
        )
    return message_item(item_id, role, "completed", *content)


def _id_of(value: Json) -> str:
    item_id = value.get("id") or fresh_id("item")
    if not isinstance(item_id, str) or len(item_id) > 64:
        raise RequestError("item.id must be a text of at most 64 characters", code="invalid_value", param="item.id")
    return item_id


def _function_item(kind: str, value: Json) -> Json:
    """Return the item of a call of the client's own tool, or of what came of it."""
    item = {"id": _id_of(value), "object": "realtime.item", "type": kind, "status": "completed"}
    for name in FUNCTION_FIELDS[kind]:
        text = value.get(name)
        if not isinstance(text, str) or len(text) > MAX_ITEM_CHARACTERS:
            wanted = f"item.{name} must be a text of at most {MAX_ITEM_CHARACTERS} characters"
            raise RequestError(wanted, code="invalid_type", param=f"item.{name}")
        item[name] = text
    return item


def function_call_item(item_id: str, status: str, call: ToolCall) -> Json:
    """Return the item of a call that the client is to make."""
    written = json.dumps(dict(call.arguments), ensure_ascii=False) if status == "completed" else ""
    return {
        "id": item_id,
        "object": "realtime.item",
        "type": "function_call",
        "status": status,
        "call_id": call.id,
        "name": call.name,
        "arguments": written,
    }


def _read_part(part: Any, role: str, param: str) -> Json:
    wanted = CONTENT_OF_ROLE[role]
    kind = object_of(part, param).get("type")
    is_spoken = role == "user" and kind == "input_audio" and not part.get("audio") and part.get("transcript")
    if kind not in (wanted, "text") and not is_spoken:  # "text" is the Beta's name for it
        raise RequestError(
            f"{param}.type must be {wanted!r}, not {kind!r}",
            code="unsupported" if kind in ("input_audio", "input_image", "output_audio") else "invalid_value",
            param=f"{param}.type",
            hint="send sound by input_audio_buffer.append" if kind == "input_audio" else "",
        )
    name = "transcript" if is_spoken else "text"
    text = part.get(name)
    if not isinstance(text, str) or not text.strip():
        raise RequestError(
            f"{param}.{name} must be a text with words in it", code="invalid_type", param=f"{param}.{name}"
        )
    return {"type": "input_audio" if is_spoken else wanted, name: text}


def one_text(texts: Iterable[str]) -> str:
    """Return messages that wait for one answer as one text, in which each stays a sentence of its own."""
    first, *others = texts
    for text in others:
        first = f"{first} {text}" if first.endswith(ENDS) else f"{first}. {text}"
    return first


def text_of(item: Json) -> str:
    """Return the words of an item, said or written."""
    if item["type"] == "function_call":
        return f"[{item['name']} was called with {item['arguments']}]"
    if item["type"] == "function_call_output":
        return f"[What came of it: {item['output']}]"
    return " ".join(part.get("text") or part.get("transcript") or "" for part in item["content"]).strip()


def author_of(item: Json) -> Author:
    """Return whose words an item is, where it is told as history."""
    authors: dict[str, Author] = {"function_call": "assistant", "function_call_output": "user"}
    author: Author = authors.get(item["type"]) or item["role"]
    return author


def message_item(item_id: str, role: str, status: str, *content: Json) -> Json:
    """Return an item of content that is ready, as the protocol spells it."""
    return {
        "id": item_id,
        "object": "realtime.item",
        "type": "message",
        "status": status,
        "role": role,
        "content": list(content),
    }
