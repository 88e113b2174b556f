"""Makes an actor of the token in a request, at a pace that makes guessing pointless."""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.websockets import WebSocket

from atlas.conversation import Actor
from atlas.errors import RequestError
from atlas.house import House
from atlas.latest import Latest

# How a browser, which cannot set headers, sends a token to a WebSocket: in the name of a sub-protocol.
TOKEN_PROTOCOL = "openai-insecure-api-key."  # noqa: S105  # a prefix, and no secret
REALTIME_PROTOCOL = "realtime"  # what is answered to it; a token is never echoed
FIRST_WAIT_SECONDS = 0.1  # doubled with every wrong token …
LONGEST_WAIT_SECONDS = 3.2  # … up to this
REMEMBERED_PEERS = 1024  # the one that was wrong longest ago is forgotten first
WAITING_GUESSES = 32  # more wrong tokens at once are turned away without a wait, so that they cannot pile up
COOKIE = "__Host-atlas"  # a browser sends it over https to this very host alone, and shows it to no script
COOKIE_SECONDS = 400 * 86_400  # the longest that browsers keep one; revoking ends it before
CALLS = "/v1/realtime/calls"
EPHEMERAL = "ek_"  # how ephemeral tokens begin
MOST_SECRETS = 32  # of one device that count at once; more drop its oldest


class Guesses:
    """How often each peer was wrong since it was last right.

    Only wrong tokens wait, so nobody can lock a device out.
    """

    def __init__(self) -> None:
        self._wrong = Latest[str, int](REMEMBERED_PEERS)
        self._waiting = 0

    async def wrong(self, peer: str) -> None:
        """Wait, longer every time. Raises `RequestError` when too many guesses wait already."""
        count = self._wrong.get(peer, 0)
        self._wrong[peer] = count + 1
        if self._waiting >= WAITING_GUESSES:
            raise RequestError("too many wrong tokens at once", code="too_many_guesses", hint="wait a few seconds")
        self._waiting += 1
        try:
            await anyio.sleep(min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** min(count, 10)))
        finally:
            self._waiting -= 1

    def right(self, peer: str) -> None:
        """Forget that this peer was wrong."""
        self._wrong.pop(peer, None)


@dataclass(frozen=True, slots=True)
class Secret:
    """An ephemeral token: whose it is, as long as theirs counts, and the session that it opens."""

    token: str = field(repr=False)
    device: str
    expires_at: int
    session: Mapping[str, Any]


class Secrets:
    """Ephemeral tokens, by their names. They live in memory, and as long as the tokens that they were made for."""

    def __init__(self) -> None:
        self._all: dict[str, Secret] = {}

    def create(self, token: str, device: str, seconds: int, session: Mapping[str, Any]) -> tuple[str, int]:
        """Return a new one and when it ends, in seconds since 1970."""
        value, expires_at = f"{EPHEMERAL}{secrets.token_urlsafe(24)}", int(time.time()) + seconds
        its = [name for name, one in self._all.items() if one.device == device]
        for name in [name for name, one in self._all.items() if one.expires_at < time.time()] + its[:-MOST_SECRETS]:
            self._all.pop(name, None)
        self._all[value] = Secret(token, device, expires_at, session)
        return value, expires_at

    def find(self, value: str) -> Secret | None:
        """Return the one of this name, if it still counts."""
        secret = self._all.get(value)
        return secret if secret and secret.expires_at >= time.time() else None


def secret_of(connection: HTTPConnection) -> Secret | None:
    """Return the ephemeral token that opened this WebSocket or call; elsewhere none counts."""
    is_session = connection.scope["type"] == "websocket" or connection.scope["path"] == CALLS
    if not is_session:
        return None
    ephemeral: Secrets = connection.app.state.secrets
    return ephemeral.find(token_of(connection))


async def actor_of(connection: HTTPConnection, house: House) -> Actor | None:
    """Return who sent this request or opened this WebSocket; `None` without a token, or after a pause with a wrong one.

    Raises `RequestError` for a flood of wrong tokens. Cancelling is safe.
    """
    token = token_of(connection)
    if not token:
        return None
    guesses: Guesses = connection.app.state.guesses
    peer = address_of(connection)
    actor = await house.authenticate(held_token(connection))
    if actor is None:
        await guesses.wrong(peer)
    else:
        guesses.right(peer)
    return actor


def require(connection: HTTPConnection) -> Actor:
    """Return who is asking, as the guard found. Raises `RequestError` (`invalid_api_key`, 401) that says what lacks."""
    actor = connection.state.actor
    if not isinstance(actor, Actor):
        known = "this token is unknown or was taken back" if token_of(connection) else "there is no token"
        raise RequestError(
            known,
            code="invalid_api_key",
            hint="send `Authorization: Bearer TOKEN`; `atlas token create --name NAME --role adult` prints one",
        )
    return actor


def address_of(connection: HTTPConnection) -> str:
    """Return where a request comes from."""
    return connection.client.host if connection.client else ""


def held_token(connection: HTTPConnection) -> str:
    """Return the device's token by which a connection came in, also where an ephemeral one stood for it."""
    secret = secret_of(connection)
    return secret.token if secret else token_of(connection)


def token_of(connection: HTTPConnection) -> str:
    """Return the token that was sent, as a bearer or as a WebSocket sub-protocol; "" when there is none."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    if connection.scope["type"] == "websocket":
        for protocol in connection.scope["subprotocols"]:
            if protocol.startswith(TOKEN_PROTOCOL):
                return str(protocol.removeprefix(TOKEN_PROTOCOL))
    return _token_of_cookie(connection)


def is_private(connection: HTTPConnection) -> bool:
    """Tell whether nobody on the way can read this connection: it is encrypted, or never leaves the machine."""
    if connection.scope["scheme"] in ("https", "wss"):
        return True
    try:
        return ipaddress.ip_address(address_of(connection)).is_loopback
    except ValueError:
        return False


def _token_of_cookie(connection: HTTPConnection) -> str:
    """Return the token in a browser's cookie, where the browser shows that a page of this house sends it.

    A cookie comes along whoever's page it is that asks, so what changes something, and every socket, must say by its
    `Origin` that the page is ours, scheme and port included; a browser always says it there. Over a wire that others
    can read no cookie counts: a browser would not have sent it.
    """
    token = connection.cookies.get(COOKIE, "")
    if not token or not is_private(connection):
        return ""
    changes = connection.scope["type"] == "websocket" or connection.scope["method"] not in ("GET", "HEAD")
    scheme = "https" if connection.scope["scheme"] in ("https", "wss") else "http"
    page = connection.headers.get("origin")
    ours = page == f"{scheme}://{connection.headers.get('host', '')}".lower() if page or changes else True
    near = connection.headers.get("sec-fetch-site", "none") in ("same-origin", "none")
    return token if ours and near else ""


def set_cookie(response: Response, token: str) -> None:
    """Have the browser keep a token where no script can read it, and send it to this very host over https alone."""
    response.set_cookie(COOKIE, token, COOKIE_SECONDS, path="/", secure=True, httponly=True, samesite="strict")


def clear_cookie(response: Response) -> None:
    """Have the browser forget the token of its cookie."""
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="strict")


def is_by_cookie(connection: HTTPConnection) -> bool:
    """Tell whether what a request came in by, or failed to, is the browser's cookie."""
    return bool(_token_of_cookie(connection)) and token_of(connection) == connection.cookies[COOKIE]


def subprotocol_of(websocket: WebSocket) -> str | None:
    """Return the sub-protocol to accept the WebSocket with: `realtime` when it was offered."""
    return REALTIME_PROTOCOL if REALTIME_PROTOCOL in websocket.scope["subprotocols"] else None
