"""What every request passes first: its number, a host that is ours, an origin that is ours, and bounds on its body."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from atlas.conversation import fresh_id
from atlas.errors import RequestError
from atlas.gateway.wire import refusal

JSON_BYTES = 2 * 1024 * 1024  # a whole conversation of `chat.MAX_CHARACTERS`, even when every letter is escaped
AUDIO_BYTES = 26 * 1024 * 1024  # a file of 25 MB and the form around it
BODY_SECONDS = 30.0  # a body that stands still for this long will not come
MAX_REQUESTS = 64  # at once; a household has fewer, and each may hold a whole sound file

# What a browser may do with a reply that is data. The page has a wider policy of its own.
SAFE_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "microphone=(self), camera=(), geolocation=()",
    "cache-control": "no-store",
}


class Guard:
    """ASGI in, ASGI out. Plain functions around `receive` and `send`, so that streams stay streams."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        machine = socket.gethostname().lower()
        self._app = app
        self._names = {"localhost", host.lower(), machine, f"{machine}.local"}
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        number = fresh_id("req")
        scope.setdefault("state", {})["request_id"] = number

        async def answer(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                message["headers"] = list(message.get("headers", []))
                headers = MutableHeaders(raw=message["headers"])
                headers["x-request-id"] = number
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refused(scope, Headers(scope=scope))
        if refused is not None:
            await _answer(refused, scope, receive, answer)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, answer)
        else:
            self._requests += 1
            try:
                await self._app(scope, _bounded(receive, _limit(scope["path"])), answer)
            finally:
                self._requests -= 1

    def _refused(self, scope: Scope, headers: Headers) -> RequestError | None:
        host = headers.get("host", "").lower()
        if not self._ours(host):
            return RequestError(
                f"{host[:100]!r} is not a name of this house",
                code="misdirected_request",
                hint="use localhost, an IP address, the machine's own name, or what [gateway] host says",
            )
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        asks = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if (origin is not None and not _same(origin, host)) or (asks and site not in ("same-origin", "none")):
            return RequestError(
                f"pages of {origin or 'other sites'!r} may not talk to this house",
                code="permission_denied",
                hint="use the page that Atlas itself serves",
            )
        if scope["type"] == "http" and self._requests >= MAX_REQUESTS:
            return RequestError("too many requests at once", code="overloaded", hint="try again in a moment")
        length, limit = headers.get("content-length", ""), _limit(scope["path"])
        return _too_large(limit) if length.isdecimal() and int(length) > limit else None

    def _ours(self, host: str) -> bool:
        """Is it an address, or a name of this machine?

        A name that somebody else can point at this machine would make their page same-origin with it (DNS rebinding).
        An address can be pointed nowhere.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:  # a bracket that is never closed
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True


def _same(origin: str, host: str) -> bool:
    # The scheme is left out: behind a proxy that speaks TLS, ours is http and the browser's https.
    try:
        return urlsplit(origin).netloc.lower() == host
    except ValueError:
        return False


def _limit(path: str) -> int:
    return AUDIO_BYTES if path == "/v1/audio/transcriptions" else JSON_BYTES


def _too_large(limit: int) -> RequestError:
    return RequestError(f"the body is larger than {limit // 1024 // 1024} MB", code="request_too_large")


def _bounded(receive: Receive, limit: int) -> Receive:
    """Return `receive` with an end to its patience and to what it takes, until the body is complete."""
    taken = 0
    complete = False

    async def bounded() -> Message:
        nonlocal taken, complete
        if complete:
            return await receive()  # waits for the client to go away
        with anyio.move_on_after(BODY_SECONDS):
            message = await receive()
            taken += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if taken > limit:
                raise _too_large(limit)
            return message
        raise RequestError(f"nothing came for {BODY_SECONDS:.0f} s", code="request_timeout", hint="send the whole body")

    return bounded


async def _answer(refused: RequestError, scope: Scope, receive: Receive, send: Send) -> None:
    response = refusal(refused)
    if scope["type"] == "http":
        await response(scope, receive, send)
    else:
        await WebSocket(scope, receive, send).send_denial_response(response)
