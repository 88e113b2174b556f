"""The connection to the house: its Realtime door over a WebSocket, opened again for ever."""

from __future__ import annotations

import json
import logging
import random
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, WebSocketException

from atlas import __version__
from atlas.errors import ConfigError
from atlas.satellite.settings import SatelliteSettings

Json = dict[str, Any]
FIRST_WAIT_SECONDS = 0.5
LONGEST_WAIT_SECONDS = 4.0  # somebody may be waiting who has just spoken, and one connection is no burden
STEADY_SECONDS = 10.0  # connected for so long, the next loss counts as the first
PING_SECONDS = 10.0  # Wi-Fi that stumbles for five seconds costs nothing; a house that is gone is noticed in twenty
CONNECT_SECONDS = 10.0
MESSAGE_BYTES = 4 * 1024 * 1024
WAITING_MESSAGES = 500  # twenty seconds of microphone; a line that is so far behind is given up
DENIED = (401, 403)
TRUST_HINT = "fetch HOUSE/ca/atlas-ca.crt and name that file by --certificate"
log = logging.getLogger("atlas")


def address(settings: SatelliteSettings) -> str:
    """Return the URL of the house's Realtime door. Raises `ConfigError` for what is no address of a house."""
    parts = urlsplit(settings.house if "//" in settings.house else f"http://{settings.house}")
    scheme = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}.get(parts.scheme)
    if not scheme or not parts.hostname:
        raise ConfigError(f"{settings.house!r} is no address of a house", hint="write it as http://atlas.local:8600")
    query = urlencode({"room": settings.room} if settings.room else {})
    return f"{scheme}://{parts.netloc}/v1/realtime" + (f"?{query}" if query else "")


def _trust(certificate: Path | None) -> ssl.SSLContext:
    """Return whom to believe: the world's authorities, or a house's own. Raises `ConfigError` for no certificate."""
    if certificate is None:
        return ssl.create_default_context()
    try:
        written = certificate.read_bytes()
        # Houses give it away as phones want it, which is DER; files of other programs are PEM, which is text.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=written.decode("ascii") if written.startswith(b"-----") else written)
    except (OSError, ValueError, ssl.SSLError) as trouble:
        raise ConfigError(
            f"{certificate} is no certificate: {trouble}", hint="fetch it anew from HOUSE/ca/atlas-ca.crt"
        ) from trouble
    return context


class Link:
    """Sends what is put into it while it is connected; what is put in while it is not goes nowhere."""

    def __init__(
        self,
        settings: SatelliteSettings,
        take: Callable[[Json], None],
        connected: Callable[[bool], None],
    ) -> None:
        self._url = address(settings)
        self._headers = {"Authorization": f"Bearer {settings.token}", "User-Agent": f"atlas-satellite/{__version__}"}
        self._tls = _trust(settings.certificate) if self._url.startswith("wss") else None
        self._take = take
        self._connected = connected
        self._waits = 0
        self._outbox: MemoryObjectSendStream[Json] | None = None

    @property
    def up(self) -> bool:
        """Whether the house is there."""
        return self._outbox is not None

    def send(self, kind: str, **fields: Any) -> None:
        """Send a message after those before it, without waiting; a line that is far behind is given up."""
        if self._outbox is None:
            return
        try:
            self._outbox.send_nowait({"type": kind, **fields})
        except anyio.WouldBlock:
            log.warning("the line to the house is too far behind and is opened again")
            self._outbox.close()
            self._outbox = None

    async def run(self) -> None:
        """Stay connected until cancelled."""
        reported_reason = ""
        while True:
            began = anyio.current_time()
            reason = await self._once()
            self._waits = 0 if anyio.current_time() - began > STEADY_SECONDS else self._waits + 1
            longest = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** min(self._waits, 8))
            wait = longest * random.uniform(0.5, 1.0)  # noqa: S311  # so that all rooms do not come back at once
            if reason != reported_reason:  # once, and not every four seconds of a night
                log.warning("no line to the house: %s; tried again for ever", reason)
            reported_reason = "" if self._waits == 0 else reason
            await anyio.sleep(wait)

    async def _once(self) -> str:
        """Connect, serve, and return why it is over."""
        try:
            async with connect(
                self._url,
                additional_headers=self._headers,
                ssl=self._tls,
                open_timeout=CONNECT_SECONDS,
                ping_interval=PING_SECONDS,
                ping_timeout=PING_SECONDS,
                close_timeout=1.0,
                max_size=MESSAGE_BYTES,
                compression=None,  # sound does not get smaller
                proxy=None,  # a house is in the house
            ) as socket:
                return await self._serve(socket)
        except InvalidStatus as refused:
            return _refusal(refused)
        except ssl.SSLCertVerificationError as unknown:
            return f"its certificate is not one that this machine knows ({unknown.verify_message}): {TRUST_HINT}"
        except (OSError, TimeoutError, InvalidHandshake, WebSocketException) as trouble:
            return str(trouble) or type(trouble).__name__

    async def _serve(self, socket: ClientConnection) -> str:
        self._outbox, inbox = anyio.create_memory_object_stream[Json](WAITING_MESSAGES)
        self._connected(True)
        reason = ""
        try:
            async with anyio.create_task_group() as tasks:

                async def sending() -> None:
                    async for message in inbox:
                        await socket.send(json.dumps(message, separators=(",", ":")))
                    await socket.close()

                tasks.start_soon(sending)
                async for text in socket:
                    self._take(json.loads(text))
                tasks.cancel_scope.cancel()
        except* WebSocketException as troubles:
            reason = str(troubles.exceptions[0])
        finally:
            self._outbox = None
            inbox.close()
            self._connected(False)
        return reason or f"closed with {socket.close_code}"


def _refusal(refused: InvalidStatus) -> str:
    """Return what the house said, in its own words."""
    try:
        text = json.loads(refused.response.body or b"")["error"]["message"]
    except (ValueError, KeyError, TypeError):
        text = f"status {refused.response.status_code}"
    hint = "; see `atlas token list` on the house's machine" if refused.response.status_code in DENIED else ""
    return f"the house refuses: {text}{hint}"
