"""Checks every request first: its host and origin, who asks, and how much they have under way."""

from __future__ import annotations

import ipaddress
import math
import socket
from contextlib import AbstractContextManager, ExitStack, nullcontext
from http import HTTPStatus
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from atlas import own_words, trace
from atlas.conversation import fresh_id
from atlas.errors import AtlasError, EngineError, RequestError
from atlas.gateway.auth import actor_of, address_of, clear_cookie, held_token, is_by_cookie
from atlas.gateway.failures import PREFIX, failure_of
from atlas.gateway.limits import Occupancy
from atlas.gateway.wanted_language import wanted_language
from atlas.house import House

JSON_BYTES = 2 * 1024 * 1024  # a whole conversation of `chat.MAX_CHARACTERS`, even when every letter is escaped
AUDIO_BYTES = 26 * 1024 * 1024  # a file of 25 MB and the form around it
API_BYTES = 256 * 1024  # the longest note there may be
API_SOUND_BYTES = {  # of routes that take sound in base64
    "/api/voice-messages": 4 * 1024 * 1024,  # a minute
    "/api/voices": 7 * 1024 * 1024,  # ten sentences of ten seconds
}
BODY_SECONDS = 30.0  # a body that stands still for this long will not come
STRANGER_SECONDS = 10.0  # the whole body of who has no token, who holds a place for strangers while it comes
POLICY_VIOLATION = 1008  # what a socket is closed with
HEALTH = "/health"  # asked by watchdogs: neither a token nor a place is needed

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

    def __init__(self, app: ASGIApp, house: House) -> None:
        machine = socket.gethostname().lower()
        self._app = app
        self._house = house
        self._names = {"localhost", house.config.gateway.host.lower(), machine, f"{machine}.local"}
        self._names.add(f"{house.config.gateway.name.lower()}.local")
        self._occupancy = Occupancy()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or answer it here."""
        number = fresh_id("req")
        scope.setdefault("state", {})["request_id"] = number

        async def answer(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                message["headers"] = list(message.get("headers", []))
                headers = MutableHeaders(raw=message["headers"])
                headers["x-request-id"] = number
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
                if scope["state"].get("dead_cookie") and "set-cookie" not in headers:
                    gone = Response()
                    clear_cookie(gone)  # else each file of the page would wait as a guess does
                    headers["set-cookie"] = gone.headers["set-cookie"]
            await send(message)

        with ExitStack() as place:
            place.enter_context(own_words.speaking(_language_of(scope)))
            try:
                place.enter_context(await self._admitted(HTTPConnection(scope)))
            except AtlasError as refused:
                await _answer(refused, scope, receive, answer)
                return
            await self._pass_on(scope, receive, answer)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the request answered for as long as its token counts; then it is cut, or closed where it is a socket."""
        connection = HTTPConnection(scope)
        is_socket = scope["type"] == "websocket"
        if not is_socket:
            known = connection.state.actor is not None
            receive = _bounded(receive, _limit(scope["path"]), math.inf if known else STRANGER_SECONDS)
        if connection.state.actor is None:
            await self._app(scope, receive, send)
            return
        begun = closed = False

        async def watched(message: Message) -> None:
            nonlocal begun, closed
            await send(message)
            begun, closed = True, closed or message["type"] == "websocket.close"

        with connection.app.state.live.opened(held_token(connection), connection.state.actor.device) as open_connection:
            connection.state.open_connection = open_connection
            await self._app(scope, receive, watched)
        if not open_connection.scope.cancelled_caught:
            return
        if is_socket and begun and not closed:
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        elif not is_socket and not begun:
            gone = RequestError("this token was taken back", code="invalid_api_key")
            stops = EngineError("the house stops", hint="try again when it is back")
            await _answer(stops if connection.app.state.live.stopping else gone, scope, receive, send)

    async def _admitted(self, connection: HTTPConnection) -> AbstractContextManager[None]:
        """Return the place that a request takes, with its actor in its state. Raises `AtlasError` for none."""
        self._check(connection.scope, connection.headers)
        connection.state.actor = None
        path = connection.scope["path"]
        if path == HEALTH:
            return nullcontext()
        connection.state.actor = actor = await actor_of(connection, self._house)
        connection.state.dead_cookie = actor is None and is_by_cookie(connection)
        return self._occupancy.place(path, actor, address_of(connection))

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Raise `RequestError` for what is misdirected, comes from pages of others, or is too large."""
        host = headers.get("host", "").lower()
        if not self._ours(host):
            raise RequestError(
                f"{host[:100]!r} is not a name of this house",
                code="misdirected_request",
                hint="use localhost, an IP address, the machine's own name, or what [gateway] host says",
            )
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        asks = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if (origin is not None and not _same(origin, host)) or (asks and site not in ("same-origin", "none")):
            raise RequestError(
                f"pages of {origin or 'other sites'!r} may not talk to this house",
                code="permission_denied",
                hint="use the page that Atlas itself serves",
            )
        length, limit = headers.get("content-length", ""), _limit(scope["path"])
        if length.isdecimal() and int(length) > limit:
            raise _too_large(limit)

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
    if path.startswith(PREFIX):
        return API_SOUND_BYTES.get(path.rstrip("/"), API_BYTES)
    return AUDIO_BYTES if path == "/v1/audio/transcriptions" else JSON_BYTES


def _too_large(limit: int) -> RequestError:
    return RequestError(f"the body is larger than {limit // 1024:,} KB", code="request_too_large")


def _bounded(receive: Receive, limit: int, seconds: float) -> Receive:
    """Return `receive` with an end to its patience and to what it takes, until the body is complete."""
    taken = 0
    complete = False
    ends = anyio.current_time() + seconds

    async def bounded() -> Message:
        nonlocal taken, complete
        if complete:
            return await receive()  # waits for the client to go away
        with anyio.move_on_at(min(anyio.current_time() + BODY_SECONDS, ends)):
            message = await receive()
            taken += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if taken > limit:
                raise _too_large(limit)
            return message
        raise RequestError("the body took too long", code="request_timeout", hint="send the whole body")

    return bounded


def _language_of(scope: Scope) -> str:
    """Return in which language a page of the house is answered; "" leaves it to the house, as for what is no page."""
    if not scope["path"].startswith((PREFIX, HEALTH)):
        return ""
    return wanted_language(Headers(scope=scope).get("accept-language", ""), own_words.languages())


async def _answer(refused: AtlasError, scope: Scope, receive: Receive, send: Send) -> None:
    response = failure_of(refused).reply(scope["path"])
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        trace.line("request failed", request=scope["state"]["request_id"], path=scope["path"], error=str(refused))
    if scope["type"] == "http":
        await response(scope, receive, send)
    else:
        await WebSocket(scope, receive, send).send_denial_response(response)
