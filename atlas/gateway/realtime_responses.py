"""What a client of the Realtime protocol asks of one response: how it is to come, and what it is to answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from atlas.conversation import ClientTools, Message, fresh_id
from atlas.errors import RequestError
from atlas.fields import Json, wrong
from atlas.gateway import realtime_settings as settings
from atlas.gateway.chat import MAX_CHARACTERS
from atlas.gateway.realtime_items import Items, author_of, read_item, text_of
from atlas.gateway.realtime_settings import SessionDefaults
from atlas.voice.options import ReplyOptions

Bring = Callable[[Json], ClientTools | None]
MAX_METADATA = 16
APART = {"conversation", "input", "metadata"}  # what only a response has
LIKE_SESSION = {"instructions", "output_modalities", "audio", "max_output_tokens", "tools", "tool_choice", "prompt"}
LIKE_SESSION |= {"temperature", "parallel_tool_calls", "reasoning"}


@dataclass(slots=True)
class ResponseOptions:
    """What is special about a response: the client's wish, as the protocol wants it repeated."""

    modality: str = "audio"
    format: Json = field(default_factory=dict)
    metadata: Mapping[str, str] | None = None
    max_output_tokens: int | str = "inf"
    in_conversation: bool = True


def like_session(session: Json) -> ResponseOptions:
    """Return how a response goes that nobody asked for in particular."""
    return ResponseOptions(
        session["output_modalities"][0], session["audio"]["output"]["format"], None, session["max_output_tokens"]
    )


def read_response(
    given: Any, session: Json, defaults: SessionDefaults, items: Items, bring: Bring
) -> tuple[ResponseOptions, ReplyOptions]:
    """Return what is special about one response; `bring` offers its client's tools. Raises `RequestError`."""
    if not isinstance(given, dict):
        raise wrong("response", "an object", given, "invalid_type")
    fields = settings.current_names(given)
    if extra := set(fields) - APART - LIKE_SESSION:
        raise settings.unknown(f"response.{min(extra)}")
    whole = _merged(session, fields, defaults)
    conversation = fields.get("conversation") or "auto"
    if conversation not in ("auto", "none"):
        raise wrong("response.conversation", '"auto" or "none"', conversation)
    options = like_session(whole)
    options.metadata, options.in_conversation = (
        read_metadata(fields.get("metadata"), "response.metadata"),
        conversation == "auto",
    )
    history, text, remembered = _context(fields.get("input"), conversation, items)
    wish = ReplyOptions(
        text=text,
        instructions=items.instructions(whole["instructions"]),
        tainted=items.may_be_untrusted,
        client_tools=bring(whole),
        history=history,
        remembered=remembered,
        prompt=fields.get("instructions") or "",
        max_tokens=settings.tokens(whole["max_output_tokens"]),
        temperature=whole.get("temperature"),
        speak=options.modality == "audio",
        turn_id=fresh_id("turn"),
    )
    return options, wish


def check_length(wish: ReplyOptions) -> None:
    """Refuse what no context holds. Raises `RequestError`, as the chat door does."""
    characters = len(wish.text) + len(wish.instructions) + sum(len(one.text) for one in wish.history)
    if characters > MAX_CHARACTERS:
        raise RequestError(
            f"{characters} characters to answer; {MAX_CHARACTERS} is the most",
            code="context_length_exceeded",
            hint="delete some items",
        )


def _merged(session: Json, fields: Json, defaults: SessionDefaults) -> Json:
    """Return the session object as this one response sees it."""
    changed = {name: value for name, value in fields.items() if name not in APART and value is not None}
    try:
        return settings.merged(session, changed, defaults)
    except RequestError as trouble:
        raise RequestError(
            str(trouble).replace("session.", "response.", 1),
            code=trouble.code,
            param=trouble.param.replace("session.", "response.", 1),
            hint=trouble.hint,
        ) from trouble


def _context(given: Any, conversation: str, items: Items) -> tuple[tuple[Message, ...], str, bool]:
    """Return history, text and whether the house remembers: a context of its own is not the house's to keep."""
    if given is None and conversation == "auto":
        return (), "", True
    if given is None:
        context = items.all()
    elif isinstance(given, list):
        context = [_input_item(part, items) for part in given]
    else:
        raise wrong("response.input", "a list of items", given, "invalid_type")
    messages = [Message(author_of(item), text_of(item)) for item in context if text_of(item)]
    if messages and messages[-1].author == "user":
        return tuple(messages[:-1]), messages[-1].text, False
    return tuple(messages), "", False


def _input_item(part: Any, items: Items) -> Json:
    if isinstance(part, dict) and part.get("type") == "item_reference":
        return items.get(part.get("id"))
    return read_item(part)


def read_metadata(given: Any, param: str) -> dict[str, str] | None:
    """Return what a client has its response say again: a few short texts by short names. Raises `RequestError`."""
    if given is None:
        return None
    fits = isinstance(given, dict) and len(given) <= MAX_METADATA
    if not fits or not all(isinstance(v, str) and len(k) <= 64 and len(v) <= 512 for k, v in given.items()):
        raise wrong(param, f"up to {MAX_METADATA} short texts by short names", given)
    return dict(given)
