"""MCP ⇄ Atlas words. Pure: values in, values out, and nothing that the tool server may choke on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import mcp.types
from mcp import MCPError

from atlas.conversation import Actor, AskLevel, ConfirmationRequest, Receipt, SignedAnswer, Tool, ToolCall, ToolResult
from wall.meta import (
    ACTOR_META,
    ALIAS_META,
    ASK_META,
    CONFIRM,
    DATA_META,
    ERROR_META,
    LANGUAGE_META,
    RECEIPT_META,
    TAINTED_META,
    TOOL_META,
    TURN_META,
    UNTRUSTED_META,
)
from wall.strict_json import unbroken

ASK_CHARACTERS = 2_000  # a longer question is none: nobody could listen to it
ERRORS = ("denied", "confirm", "invalid", "not_found", "timeout", "failed")  # what the tool server may call a failure

_ERROR_OF_CODE = {
    mcp.types.INVALID_PARAMS: "invalid",
    mcp.types.METHOD_NOT_FOUND: "not_found",
    mcp.types.REQUEST_TIMEOUT: "timeout",
}


class NotJson(ValueError):
    """The arguments of a call hold something that JSON cannot carry."""


def tools(listed: Iterable[mcp.types.Tool]) -> tuple[Tool, ...]:
    """Return the server's tools, each once, in the one order that every prompt keeps: by name."""
    unaliased = (one for one in listed if ALIAS_META not in (one.meta or {}))
    return tuple(sorted(map(tool, unaliased), key=lambda known: known.name))


def tool(listed: mcp.types.Tool) -> Tool:
    """Return one listed tool, by its name in the house. One that does not say that it only reads changes things."""
    read_only = listed.annotations is not None and listed.annotations.read_only_hint is True
    name = (listed.meta or {}).get(TOOL_META)
    name = name if isinstance(name, str) else listed.name
    return Tool(name, unbroken(listed.description or ""), clean(listed.input_schema), read_only)


def request(
    call: ToolCall,
    actor: Actor,
    turn_id: str,
    assent: SignedAnswer | None = None,
    *,
    tainted: bool = False,
    language: str = "",
) -> mcp.types.CallToolRequest:
    """Return the request for a call on behalf of `actor`, with the yes that it waited for. Raises `NotJson`.

    `language` is what the answer is to be in; "" leaves that to the tool server.
    """
    meta: dict[str, Any] = {ACTOR_META: asdict(actor), TURN_META: turn_id}
    meta |= {TAINTED_META: True} if tainted else {}
    meta |= {LANGUAGE_META: language} if language else {}
    try:
        params = {"name": unbroken(call.name), "arguments": clean(call.arguments), "_meta": clean(meta)}
        params |= _answer(assent) if assent else {}
    except RecursionError as deep:
        raise NotJson("they are nested too deeply") from deep
    return mcp.types.CallToolRequest(params=mcp.types.CallToolRequestParams.model_validate(params))


def _answer(assent: SignedAnswer) -> dict[str, Any]:
    taken_back = not (assent.yes or assent.statement)
    form = {"action": "cancel"} if taken_back else {"action": "accept", "content": {"statement": assent.statement}}
    return {"requestState": assent.ask_id, "inputResponses": {CONFIRM: form}}


def result(call: ToolCall, answer: mcp.types.CallToolResult | mcp.types.InputRequiredResult) -> ToolResult:
    """Return what came of `call`. Text parts are joined; pictures and other parts are left out.

    An ask means that nothing was done, whatever else is written beside it. Words of others may be in any of them: in
    a failure that a mail server explains, and in a question that names a mail.
    """
    return replace(_result(call, answer), untrusted=(answer.meta or {}).get(UNTRUSTED_META, False) is not False)


def _result(call: ToolCall, answer: mcp.types.CallToolResult | mcp.types.InputRequiredResult) -> ToolResult:
    if ASK_META in (answer.meta or {}) or isinstance(answer, mcp.types.InputRequiredResult):
        return _asked(call, (answer.meta or {}).get(ASK_META))
    texts = [part.text for part in answer.content if isinstance(part, mcp.types.TextContent)]
    text = unbroken("\n".join(texts)).strip()
    meta: Mapping[str, Any] = answer.meta or {}
    data = answer.structured_content if isinstance(answer.structured_content, dict) else {}
    if answer.is_error or ERROR_META in meta:
        error = meta.get(ERROR_META)
        failed = failure(
            call, error if error in ERRORS else "failed", text or "That did not work, and I was not told why."
        )
        # A tool that asks which of several is meant tells what they are: the answer is read against that.
        known = meta.get(DATA_META)
        return replace(failed, data=clean(known)) if error == "invalid" and isinstance(known, dict) else failed
    return ToolResult(
        call.id, True, text or "There is nothing to tell.", clean(data), _receipt(meta.get(RECEIPT_META), text)
    )


def _asked(call: ToolCall, hit: Any) -> ToolResult:
    """Return the result of a call that waits for a person; a question that cannot be put to one is a failure."""
    if not isinstance(hit, Mapping) or hit.get("tool") != call.name:
        return failure(
            call, CONFIRM, "Somebody must say yes to that first, and I can't tell to what. Nothing was done."
        )
    texts = [hit.get(key) for key in ("id", "sentence", "arguments_sha256")]
    expires_at = hit.get("expires_at")
    readable = all(isinstance(text, str) and text.strip() and len(text) <= ASK_CHARACTERS for text in texts)
    if not readable or isinstance(expires_at, bool) or not isinstance(expires_at, (int, float)):
        return failure(call, CONFIRM, "Somebody must say yes to that first, and I can't ask. Nothing was done.")
    identity, sentence, digest = (unbroken(str(text)) for text in texts)
    level: AskLevel = "confirm" if hit.get("level") == "confirm" else "explicit"  # unknown ones are no weaker
    ask = ConfirmationRequest(identity, " ".join(sentence.split()), level, float(expires_at), call.name, digest)
    return ToolResult(call.id, False, ask.sentence, error=CONFIRM, ask=ask)


def refusal(call: ToolCall, error: MCPError) -> ToolResult:
    """Return the result of a call that the protocol itself refused."""
    kind = _ERROR_OF_CODE.get(error.code, "failed")
    return failure(
        call, kind, f"The tool {unbroken(call.name)} refused: {unbroken(error.message).strip() or 'no reason given'}"
    )


def failure(call: ToolCall, error: str, text: str) -> ToolResult:
    """Return the result of a call that failed; `text` says what happened and what to do."""
    return ToolResult(call.id, False, text, error=error)


def _receipt(hit: Any, text: str) -> Receipt | None:
    """Return the receipt of a result; what is not a receipt is none, for a receipt is proof."""
    if not isinstance(hit, Mapping) or not isinstance(hit.get("id"), str) or not hit["id"]:
        return None
    changed = hit.get("changed")
    return Receipt(unbroken(hit["id"]), unbroken(changed) if isinstance(changed, str) and changed else text)


def clean(value: Any) -> Any:
    """Return `value` as JSON can carry it, texts unbroken. Raises `NotJson` for what it cannot carry."""
    match value:
        case str():
            return unbroken(value)
        case bool() | int() | None:
            return value
        case float():
            if not math.isfinite(value):
                raise NotJson("not a finite number")
            return value
        case Mapping():
            return {unbroken(str(key)): clean(inner) for key, inner in value.items()}
        case Sequence() if not isinstance(value, (bytes, bytearray)):
            return [clean(inner) for inner in value]
    raise NotJson(f"a {type(value).__name__} is not JSON")
