"""Reads the body of a request as a message before the SDK does, by the very parser that stdio has."""

from __future__ import annotations

import anyio
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tools_server.values.codes import Code
from tools_server.wires.framing import MESSAGE_BYTES, LineTooLong, decode, refusal, too_large
from tools_server.wires.strict_json import BOM, KEPT_BYTES, MessageRefused

BODY_SECONDS = 30.0  # for the whole body to arrive; it crosses no network


class Framed:
    """Answers for the app what is no message, with a JSON-RPC error that says why. Pure ASGI.

    413 when it is too large (known from its header, or counted as it comes, and never held), 408 when it does not
    come, 400 otherwise.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body read, or refuse it."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            with anyio.fail_after(BODY_SECONDS):
                body = await _body(scope, receive)
            if body is None:
                return
            decode(body)
        except MessageRefused as refused:
            await _refusal(refused)(scope, receive, send)
            return
        except TimeoutError:
            await Response(status_code=408)(scope, receive, send)
            return
        left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return left.pop() if left else await receive()

        await self._app(scope, again, send)


async def _body(scope: Scope, receive: Receive) -> bytes | None:
    """Return the whole body; None when the client leaves before its end. Raises `MessageRefused`."""
    text = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    if text.isdigit() and len(text) < 20 and int(text) > MESSAGE_BYTES:
        raise too_large(LineTooLong(int(text), b"", b""))
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > MESSAGE_BYTES:
            raise too_large(LineTooLong(len(body), bytes(body[:KEPT_BYTES]), b""))
        if not message.get("more_body"):
            return bytes(body.removeprefix(BOM))  # which we read past, and the SDK would not


def _refusal(refused: MessageRefused) -> JSONResponse:
    answer = refusal(refused).model_dump(mode="json", exclude_unset=True)
    return JSONResponse(answer, status_code=413 if refused.code == Code.TOO_LARGE else 400)
