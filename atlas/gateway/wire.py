"""What every HTTP door does alike: bodies read within bounds, replies that end with their reader."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import anyio.lowlevel
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from atlas import trace
from atlas.conversation import ConfirmationRequest, ToolCall, ToolResult
from atlas.errors import AtlasError, RequestError
from atlas.gateway.failures import failure_of, request_id
from wall import strict_json

SEND_SECONDS = 60.0  # a reader that takes nothing for this long has gone without saying so

Write = Callable[[bytes], Awaitable[None]]


def call_json(call: ToolCall, result: ToolResult) -> dict[str, Any]:
    """Return a call and what it came to as every door shows them."""
    receipt = {"id": result.receipt.id, "changed": result.receipt.changed} if result.receipt else None
    ask = ask_json(result.ask) if result.ask else None
    came = {"ok": result.ok, "text": result.text, "receipt": receipt, "ask": ask}
    return {"name": call.name, "arguments": dict(call.arguments), **came}


def ask_json(ask: ConfirmationRequest) -> dict[str, Any]:
    """Return a question as every door shows it."""
    return {"id": ask.id, "sentence": ask.sentence, "level": ask.level, "expires_at": ask.expires_at, "tool": ask.tool}


# ── bodies ─────────────────────────────────────────────────────────────────────────────────────────


MAX_DEPTH = 64  # of any JSON from outside; what is copied or written goes down by recursion


async def json_body(request: Request) -> dict[str, Any]:
    """Return the request's JSON object; `RequestError` for anything else, at any depth."""
    return json_object(await request.body(), "the body")


def json_object(raw: str | bytes, what: str) -> dict[str, Any]:
    """Return the JSON object in `raw`, which errors call `what`; `RequestError` for anything else, at any depth."""
    try:
        value = strict_json.loads(raw)  # half of a character would break the reply
    except (ValueError, RecursionError) as trouble:
        reason = "it is nested too deeply" if isinstance(trouble, RecursionError) else str(trouble)
        raise RequestError(f"{what} is not JSON: {reason}", code="invalid_json", hint="send a JSON object") from trouble
    if not isinstance(value, dict):
        raise RequestError(f"{what} is not a JSON object", code="invalid_json", hint="send {…}")
    if depth(value) > MAX_DEPTH:
        raise RequestError(f"{what} is nested more than {MAX_DEPTH} deep", code="invalid_json")
    return value


def depth(value: Any) -> int:
    """Return how deep JSON is nested, without recursion: that is what deep nesting attacks."""
    deepest, level = 0, [value]
    while level := [part for part in level if isinstance(part, (dict, list))]:
        deepest += 1
        level = [inner for part in level for inner in (part.values() if isinstance(part, dict) else part)]
    return deepest


# ── replies that take time ─────────────────────────────────────────────────────────────────────────


async def while_wanted(request: Request, work: Callable[[], Awaitable[None]]) -> bool:
    """Do `work`, and stop it when the client goes away; False when it went.

    The request's body must have been read. An `AtlasError` of the work comes out as itself, not in a group.
    """
    trouble: AtlasError | None = None
    gone = False

    async def watch() -> None:
        nonlocal gone
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone = True
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        try:
            await work()
        except AtlasError as raised:
            trouble = raised
        tasks.cancel_scope.cancel()
    if trouble is not None:
        raise trouble
    return not gone


class Stream(Response):
    """A reply written piece by piece. It begins at the first piece, so that trouble before it is an ordinary error.

    Trouble after it: `late` writes what the format has for that; without `late` the connection is cut, so that
    nobody takes half a reply for a whole one. The work is cancelled when its reader goes away.
    """

    def __init__(
        self,
        request: Request,
        work: Callable[[Write], Awaitable[None]],
        media_type: str,
        late: Callable[[AtlasError], bytes] | None = None,
    ) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]  # nobody knows it yet
        self.headers["cache-control"] = "no-store"
        self.headers["x-accel-buffering"] = "no"  # a proxy that waits for the whole reply defeats the purpose
        self._request = request
        self._work = work
        self._late = late

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write the reply."""
        begun = whole = False
        reader = anyio.CancelScope()

        async def write(piece: bytes) -> None:
            nonlocal begun
            with anyio.move_on_after(SEND_SECONDS) as patience:
                if not begun:
                    begun = True
                    await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                if piece:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            if patience.cancelled_caught:
                reader.cancel()
                await anyio.lowlevel.checkpoint()

        async def work() -> None:
            nonlocal whole
            try:
                await self._work(write)
            except AtlasError as trouble:
                if not begun:
                    raise
                trace.line("reply broke off", request=request_id(self._request), error=str(trouble))
                if self._late is None:
                    return  # without its last message: the server cuts the connection
                await write(self._late(trouble))
            whole = True

        with reader:
            if await while_wanted(self._request, work) and whole:
                await write(b"")  # begins a reply that had nothing to say
                await send({"type": "http.response.body", "body": b"", "more_body": False})


def sse(data: Mapping[str, Any] | str) -> bytes:
    """Return one server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"data: {text}\n\n".encode()


def sse_error(trouble: AtlasError) -> bytes:
    """Return the event by which a stream says that it broke off."""
    failure = failure_of(trouble)
    error = {"message": failure.message, "type": "server_error", "param": failure.field or None, "code": failure.code}
    return sse({"error": error})
