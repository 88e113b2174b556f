"""Limits how many connect at once: connections of anybody, requests, sessions and streams of one agent.

Whoever can reach the port can connect, without a token and without a word. A connection that says nothing gives way to
one that comes: so silence costs us nothing, and no number of silent ones keeps anybody out.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mcp.server.lowlevel import Server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tools_server.values.policy import AgentAccount
from tools_server.wires.wire import AGENT_SCOPE

CONNECTIONS = 640  # a process may open a thousand files, and the tools need some; five agents fill it
ACCEPTED_AT_ONCE = 64  # before any of them can be told to go
QUEUE = 2_048  # who comes in a crowd waits in the kernel
REQUESTS_PER_AGENT = 128  # its calls that run and wait are 80; each stream that stays open is one, too
SESSIONS = 256  # of the older era, at a time; the newer has none
SESSIONS_PER_AGENT = 64  # so that one agent leaves room for the others

_arrivals = itertools.count()


class CountedConnection(H11Protocol):
    """A connection to one of a limited number of places."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place; when all are taken, that of the one which has been silent for longest."""
        self.arrival = next(_arrivals)
        super().connection_made(transport)
        others = [other for other in self.connections if isinstance(other, CountedConnection) and not other.leaving]
        if len(others) > CONNECTIONS:
            min(others, key=lambda other: (other.busy, other is self, other.arrival)).leave()

    arrival = 0
    leaving = False

    @property
    def busy(self) -> bool:
        """Whether a request is being answered here."""
        return self.cycle is not None and not self.cycle.response_complete

    def leave(self) -> None:
        """Close, without waiting for anything."""
        self.leaving = True
        self.transport.abort()


class Rationed:
    """Lets an agent have so many requests and sessions at a time. Pure ASGI, behind who knows the agent."""

    def __init__(self, app: ASGIApp, sessions: Callable[[str], int]) -> None:
        """`sessions` tells how many an agent has open."""
        self._app = app
        self._sessions = sessions
        self._requests: Counter[str] = Counter()
        self._openings: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 503, or pass the request on."""
        agent = scope.get(AGENT_SCOPE)
        if not isinstance(agent, AgentAccount):
            await self._app(scope, receive, send)
            return
        opens = _opens_session(scope)
        # Openings that are under way are counted, too: many at once would all find room.
        if self._requests[agent.name] >= REQUESTS_PER_AGENT:
            await _full("requests")(scope, receive, send)
        elif opens and self._sessions(agent.name) + self._openings[agent.name] >= SESSIONS_PER_AGENT:
            await _full("sessions")(scope, receive, send)
        else:
            with _counted(self._requests, agent.name, 1), _counted(self._openings, agent.name, int(opens)):
                await self._app(scope, receive, send)


def sessions_of(server: Server) -> Callable[[str], int]:
    """Return what tells how many sessions of the older era an agent has open."""

    def count(agent: str) -> int:
        # Private to the SDK, which bounds all sessions together only.
        owners = server.session_manager._session_owners.values()
        return sum(owner["client_id"] == agent for owner in owners)

    return count


def _opens_session(scope: Scope) -> bool:
    """Whether the SDK would make a session for this request: it comes in the older era and brings none."""
    headers = dict(scope["headers"])
    version = headers.get(b"mcp-protocol-version")
    older = version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS
    return older and b"mcp-session-id" not in headers


def _full(of: str) -> JSONResponse:
    return JSONResponse(
        {"error": "busy", "error_description": f"This agent has too many {of} open. End one, or try again later."},
        status_code=503,
        headers={"Retry-After": "5"},
    )


@contextmanager
def _counted(counter: Counter[str], name: str, by: int) -> Iterator[None]:
    counter[name] += by
    try:
        yield
    finally:
        counter[name] -= by
