"""Every URL of Atlas on one page, and the server that answers them."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from types import ModuleType

import anyio
import h11
import uvicorn
from anyio.abc import TaskGroup
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from atlas import own_words
from atlas.config import Config, GatewayConfig
from atlas.errors import AtlasError, ConfigError
from atlas.gateway import (
    chat,
    embeddings,
    failures,
    page,
    pairing,
    realtime,
    realtime_secrets,
    realtime_webrtc,
    responses,
    speech,
    trust,
)
from atlas.gateway.api import door
from atlas.gateway.auth import Guesses, Secrets
from atlas.gateway.esphome_sounds import SoundServer
from atlas.gateway.files import FileWork
from atlas.gateway.guard import HEALTH, Guard
from atlas.gateway.https import SecureDoor, SecureListener
from atlas.gateway.invitations import Pairings
from atlas.gateway.live import OpenConnections
from atlas.house import House

WEBSOCKET_BYTES = 16 * 1024 * 1024  # the wire's own upper bound; the realtime door refuses less, and says why
OPEN_CONNECTIONS = 768  # below the 1,024 files that a process may have open; the bounds of `limits` add up to less
SILENT_CONNECTIONS = 192  # without a request under way: of all …
SILENT_OF_ADDRESS = 64  # … and of one address; who came first goes first
UNREAD_SECONDS = 0.2  # a connection younger than this is not closed: its request may be there, and nobody has read it
HEALTH_SECONDS = 0.5  # how old an answer to /health may be: however many ask, the parts are asked twice a second
IDLE_SECONDS = 30  # an HTTP connection without a request is closed, also one that only ever begins to ask
HIGHEST_PORT = 65_535
STALLED_MILLISECONDS = 30_000  # a peer that reads nothing for so long is gone; closing would wait for it for ever
THIS_MACHINE = {"", "localhost", "127.0.0.1", "::1"}  # a host that no network reaches
DRAIN_SECONDS = 2  # what replies under way get when Atlas stops


def build(house: House, secure: SecureListener | None = None, setup_code: str = "") -> Starlette:
    """Return the app: every URL, and what happens to those that go wrong."""
    files, secrets, guesses = FileWork(), Secrets(), Guesses()
    pairings = Pairings(house.devices, setup_code) if house.devices else None
    app = Starlette(
        routes=[
            Route(HEALTH, health_of(house)),
            *chat.routes(house),  # /v1/chat/completions, /v1/models, /v1/models/{id}
            *responses.routes(house),  # /v1/responses
            *embeddings.routes(house),  # /v1/embeddings
            *speech.routes(house, files),  # /v1/audio/transcriptions, /v1/audio/speech
            *realtime.routes(house, files),  # /v1/realtime
            *realtime_webrtc.routes(),  # /v1/realtime/calls, …/{id}/hangup
            *realtime_secrets.routes(house, secrets),  # /v1/realtime/client_secrets
            Mount("/api", door.build(house, pairings, files, secure)),  # the house's own data: see /api/
            *(pairing.routes(pairings, guesses) if pairings else ()),  # /pair
            *(trust.routes(secure, house.config.house.language) if secure else ()),  # /ca/
            *page.routes(),  # / and its files
        ],
        middleware=[Middleware(Guard, house=house)],
        exception_handlers={
            AtlasError: failures.atlas_error,
            HTTPException: failures.http_error,
            ClientDisconnect: failures.gone,
            Exception: failures.own_mistake,
        },
    )
    app.state.live = OpenConnections(lambda token: house.authenticate(token))
    app.state.guesses, app.state.secrets = guesses, secrets
    return app


def health_of(house: House) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of `/health`: 200 when every part works, else 503; it needs no token and tells no secret."""
    lock = anyio.Lock()
    seen: dict[str, tuple[float, Mapping[str, object]]] = {}  # by language: when, and what

    async def health(request: Request) -> Response:
        async with lock:
            looked_at, parts = seen.get(own_words.language(), (-math.inf, {}))
            if anyio.current_time() > looked_at + HEALTH_SECONDS:
                parts = await house.health()
                seen[own_words.language()] = anyio.current_time(), parts
        return JSONResponse(dict(parts), 200 if parts.get("status") == "ok" else 503)

    return health


def listen(config: GatewayConfig, key: str = "port") -> socket.socket:
    """Take the address before anything slow is loaded; `key` is the setting of its port.

    Raises `ConfigError` when it is taken or not this machine's.
    """
    if not 0 <= config.port <= HIGHEST_PORT:  # the system would quietly take the rest of a division
        raise ConfigError(f"there is no port {config.port}", hint=f"ports go from 1 to {HIGHEST_PORT}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Its connections inherit it. It counts what was sent and not taken, on every protocol that runs over them.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STALLED_MILLISECONDS)
            listener.bind(address)
            listener.listen()
            listener.setblocking(False)
        except OSError:
            listener.close()
            raise
    except OSError as trouble:
        raise ConfigError(
            f"cannot listen on {config.host}:{config.port}: {trouble}", hint=_advice(trouble, config, key)
        ) from trouble
    return listener


async def serve(
    house: House,
    ready: Callable[[], object],
    listener: socket.socket | None = None,
    secure: SecureListener | None = None,
    setup_code: str = "",
) -> None:
    """Answer requests until cancelled; calls `ready` once they are answered.

    When cancelled, no request is taken any more and those under way get `DRAIN_SECONDS` to finish. Raises as `listen`
    does, unless it is handed what that returned. `secure` serves the same over https; whoever
    has the `setup_code` claims the house, once.
    """
    listener = listener or listen(house.config.gateway)
    application = build(house, secure, setup_code)
    listening = anyio.Event()
    server = _Server(
        uvicorn.Config(
            application,
            log_config=None,
            log_level=logging.WARNING,
            access_log=False,  # one line per turn says more
            lifespan="off",  # the house is open already
            http=_Http,
            ws="websockets-sansio",  # the one that stops reading when its reader is slow
            ws_max_size=WEBSOCKET_BYTES,
            ws_per_message_deflate=False,  # sound does not shrink, and the work would delay it
            proxy_headers=False,  # anybody could write X-Forwarded-For
            server_header=False,
            limit_concurrency=OPEN_CONNECTIONS,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=DRAIN_SECONDS + 1,  # by then they were cut off, or cannot be
        ),
        listening.set,
        application.state.live,
    )

    async def run() -> None:
        with anyio.CancelScope(shield=True):  # uvicorn closes its connections only when it is asked to
            await server.serve(sockets=[listener])

    async with anyio.create_task_group() as tasks:
        application.state.tasks = tasks  # of turns that go on between two requests
        if house.config.wyoming.host:
            await tasks.start(_wyoming("service").serve, house)
        for satellite in house.config.wyoming_satellites:
            tasks.start_soon(_wyoming("satellites").call, house, satellite)
        hub = house.config.tool_settings.get("home", {}).get("home_assistant", {})
        if house.config.wyoming.rooms and hub.get("url"):  # else its satellites are heard, and nobody can speak there
            tasks.start_soon(import_module("atlas.gateway.home_assistant_rooms").speak, house)
        if house.config.esphome_devices:
            await _call_esphome(house, tasks)
        if house.config.gateway.mdns:
            _announce(house.config, tasks, is_secure=secure is not None)
        tasks.start_soon(application.state.live.watch)
        if secure:
            tasks.start_soon(secure.certificates.watch)
        tasks.start_soon(run)
        try:
            await listening.wait()
            if secure:
                tasks.start_soon(SecureDoor(secure, server.protocol).serve)
            ready()
            await anyio.sleep_forever()
        finally:
            server.should_exit = True


def _wyoming(side: str) -> ModuleType:
    """Return a door of Wyoming, which only a house loads that opens it."""
    return import_module(f"atlas.gateway.wyoming_{side}")


def _announce(config: Config, tasks: TaskGroup, *, is_secure: bool) -> None:
    """Announce by mDNS what is served where a network reaches it."""
    config = config if is_secure else replace(config, gateway=replace(config.gateway, https_host=""))
    if {config.gateway.host, config.gateway.https_host, config.wyoming.host} - THIS_MACHINE:
        tasks.start_soon(import_module("atlas.gateway.mdns").announce, config)


async def _call_esphome(house: House, tasks: TaskGroup) -> None:
    """Call the ESPHome devices, and serve them what they are to say."""
    sounds = None
    if house.config.esphome.host:
        sounds = SoundServer(house.config.esphome)
        await tasks.start(sounds.serve)
    devices = import_module("atlas.gateway.esphome_devices")  # which only a house loads that has some
    for device in house.config.esphome_devices:
        tasks.start_soon(devices.call, house, device, sounds)


class _Http(H11Protocol):
    """uvicorn's HTTP, with patience that ends: its own begins after the first answer, and one byte ends it.

    A connection is silent while no request is under way on it. When too many are, the one that has been silent longest
    is closed: `SILENT_CONNECTIONS` of anybody who connects and says nothing would keep the whole household out.
    """

    _patience: asyncio.TimerHandle | None = None
    _silent_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait()
        others = [one for one in self.connections if isinstance(one, _Http) and one._is_silent]
        silent = [one for one in others if one._silent_since + UNREAD_SECONDS <= self.loop.time()]
        silent.sort(key=lambda one: one._silent_since)
        neighbours = [one for one in silent if one.client and self.client and one.client[0] == self.client[0]]
        for one in {*silent[:-SILENT_CONNECTIONS], *neighbours[:-SILENT_OF_ADDRESS]}:
            one.transport.close()

    @property
    def _is_silent(self) -> bool:
        return not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete)

    def on_response_complete(self) -> None:
        self._wait()  # first: it may begin to answer the next request at once
        super().on_response_complete()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._stop_waiting()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._silent_since = self.loop.time()
        self._patience = self.loop.call_later(IDLE_SECONDS, self._close_unasked)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()

    def _close_unasked(self) -> None:
        if self._is_silent:
            self.transport.close()


class _Server(uvicorn.Server):
    """uvicorn as a guest: it says when it is ready, and leaves the process's signals to whoever owns them."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object], live: OpenConnections) -> None:
        super().__init__(config)
        self._ready, self._live = ready, live

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nobody any more, and see those off who are here: uvicorn would wait for them, and then break them."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._live.close, DRAIN_SECONDS)
            await super().shutdown(sockets)
            tasks.cancel_scope.cancel()

    def protocol(self) -> asyncio.Protocol:
        """Return what answers on one connection; http and https have the same bounds together."""
        return _Http(self.config, self.server_state, self.lifespan.state)


def _advice(trouble: OSError, config: GatewayConfig, key: str) -> str:
    match trouble.errno:
        case errno.EADDRINUSE:
            return f"is Atlas running already? Stop it, or choose another [gateway] {key} (ATLAS_GATEWAY_{key.upper()})"
        case errno.EACCES:
            return f"ports below 1024 belong to the system; choose another than {config.port}"
        case _:
            return f"check host and {key} in [gateway]"
