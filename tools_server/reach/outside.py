"""The one way from the tools to other machines: tunnels through the egress socket, which knows who may be reached.

The egress speaks HTTP CONNECT. A tool that needs a stream calls `dial`; one that speaks HTTP takes `http_client`, or
`fetch` for one answer of bounded size and time. All of them block: call them in a thread.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpcore2
import httpx2

# The library offers its stream, and what it says of trouble, under no other names.
from httpcore2._backends.sync import SyncStream
from httpcore2._exceptions import map_exceptions

from tools_server.values.language import ENGLISH, current, noted
from tools_server.values.language import text as _
from tools_server.walls.porter import Porter

HEAD_BYTES = 4096  # of the egress's answer, which is three short lines
CLOSED = noted("My way out of the house is not open just now.")
_REFUSED = {  # by the status with which the egress refuses
    0: noted("{host} cannot be reached."),
    403: noted("I may not go to {host}: it is not among the addresses that are allowed."),
    500: noted("I can't write down where I go, so I go nowhere."),
    503: noted("Too much is going out of the house at once."),
    504: noted("{host} does not answer."),
}


class Unreachable(OSError):
    """There is no way there; `str()` is a sentence fit for speech."""


@dataclass(frozen=True, slots=True)
class Outside:
    """The egress, by its socket; `None` when the house has none, and then nothing outside can be reached."""

    egress: Path | None = None
    porter: Porter | None = None  # connects to it, where this process may not

    @property
    def stands(self) -> bool:
        """Whether this process can still reach the egress, if there is one."""
        return self.porter is None or self.porter.is_alive

    def dial(self, host: str, port: int, seconds: float) -> socket.socket:
        """Return a connected byte stream to a machine. Blocking: call it in a thread. Raises `Unreachable`.

        `seconds` bounds the way there, names and handshake included; afterwards it is the stream's time-out.
        TLS is the caller's, end to end: the egress sees names and sizes, not contents.
        """
        if self.egress is None:
            raise Unreachable(_("I have no way out of the house: nothing is allowed in the settings of egress."))
        target = _target(host, port)
        until = time.monotonic() + seconds
        try:
            way = self.porter.connected() if self.porter else _connected(self.egress)
        except OSError as closed:
            raise Unreachable(_(CLOSED)) from closed
        try:
            way.settimeout(seconds)
            way.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
            status, text = _answer(way, until)
        except TimeoutError:
            way.close()
            raise Unreachable(_("{host} does not answer.").format(host=host)) from None
        except OSError as gone:
            way.close()
            raise Unreachable(_(CLOSED)) from gone
        if status != 200:
            way.close()
            raise Unreachable(_refused(status, text, host))
        way.settimeout(seconds)
        return way

    def http_client(self, seconds: float, *, authority: Path | None = None, until: float = math.inf) -> httpx2.Client:
        """Return an HTTP client whose every connection is dialled. Blocking; `Unreachable` comes out of its calls.

        `seconds` is the time-out of each step; all of them end by `until`, of the monotonic clock. `authority` is a PEM
        file of those who may vouch for the server's certificate, instead of the usual ones. Redirects are not followed,
        and no proxy is looked for.
        """
        context = ssl.create_default_context(cafile=str(authority)) if authority else httpx2.create_ssl_context()
        return httpx2.Client(
            transport=Through(self, context, until),
            timeout=seconds,
            trust_env=False,
            headers={"User-Agent": "Atlas"},
        )

    def fetch(self, url: str, seconds: float, most: int) -> tuple[int, bytes]:
        """Return the status and the body of one GET. Blocking; over after `seconds`, however slowly it drips.

        Raises `Unreachable`, also for a body of more than `most` bytes.
        """
        host = httpx2.URL(url).host
        try:
            with (
                self.http_client(seconds, until=time.monotonic() + seconds) as client,
                client.stream("GET", url) as response,
            ):
                body = b""
                for part in response.iter_bytes():
                    body += part
                    if len(body) > most:
                        raise Unreachable(_("{host} answered with more than I can take.").format(host=host))
                return response.status_code, body
        except httpx2.TimeoutException as slow:
            raise Unreachable(_("{host} is too slow just now.").format(host=host)) from slow
        except httpx2.HTTPError as broken:
            if "CERTIFICATE_VERIFY_FAILED" in str(broken):
                raise Unreachable(
                    _("{host} can't prove who it is, so I didn't talk to it.").format(host=host)
                ) from broken
            raise Unreachable(_("{host} gave no answer that I understand.").format(host=host)) from broken


NOWHERE = Outside()


def _connected(egress: Path) -> socket.socket:
    way = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        way.connect(str(egress))
    except OSError:
        way.close()
        raise
    return way


def _refused(status: int, text: str, host: str) -> str:
    """Return why the egress let nobody through: in its own words, which are English, or in those for its status."""
    if text and current() == ENGLISH:
        return text
    return _(_REFUSED.get(status, _REFUSED[0])).format(host=host)


def _target(host: str, port: int) -> str:
    """Return "host:port" as it goes over the wire; what could be mistaken for more than a name is refused."""
    try:
        plain = host if ":" in host else host.encode("idna").decode()
    except UnicodeError:
        plain = ""
    if not plain or not all(c.isalnum() or c in "-._:%" for c in plain) or not 0 < port < 65_536:
        raise Unreachable(_("That is not the name of a machine."))
    return f"[{plain}]:{port}" if ":" in plain else f"{plain}:{port}"


def _answer(way: socket.socket, until: float) -> tuple[int, str]:
    """Read the egress's head, and the sentence behind a refusal. Raises OSError, TimeoutError among them."""
    head = b""
    # Byte by byte: what comes behind the head belongs to the caller, and it is a hundred bytes.
    while not head.endswith(b"\r\n\r\n"):
        way.settimeout(max(0.001, until - time.monotonic()))
        if not (byte := way.recv(1)) or len(head) > HEAD_BYTES:
            raise ConnectionResetError("the egress hung up")
        head += byte
    status = int(head.split(b" ", 2)[1])
    text = b""
    while status != 200 and len(text) < HEAD_BYTES and (more := way.recv(HEAD_BYTES)):
        text += more
    return status, text.decode("utf-8", "replace").strip()


# ── HTTP ───────────────────────────────────────────────────────────────────────────────────────────


class Through(httpx2.HTTPTransport):
    """HTTP/1.1, plain or TLS, over what an `Outside` dials."""

    def __init__(self, outside: Outside, context: ssl.SSLContext, until: float) -> None:
        super().__init__(context)
        # The library offers no other way to give it one. A connection for each request: one that is kept may be closed
        # by the server while the next is on its way.
        self._pool = httpcore2.ConnectionPool(
            ssl_context=context, network_backend=_Dialled(outside, until), max_keepalive_connections=0
        )


class _Dialled(httpcore2.NetworkBackend):
    def __init__(self, outside: Outside, until: float) -> None:
        self._outside = outside
        self._until = until

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        assert timeout is not None, "nothing waits for ever"
        return _Stream(self._outside.dial(host.strip("[]"), port, timeout), self._until)


class _Stream(SyncStream):
    """A dialled connection on which nothing is waited for after `until`, however often a few bytes come."""

    def __init__(self, way: socket.socket, until: float) -> None:
        super().__init__(way)
        self._until = until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return super().read(max_bytes, self._left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with map_exceptions({TimeoutError: httpcore2.WriteTimeout, OSError: httpcore2.WriteError}):
            self._sock.settimeout(self._left(timeout, httpcore2.WriteTimeout))
            self._sock.sendall(buffer)  # all of it in that time; the library's own would wait anew for each piece

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        inside = super().start_tls(ssl_context, server_hostname, self._left(timeout, httpcore2.ConnectTimeout))
        return _Stream(inside.get_extra_info("socket"), self._until)

    def _left(self, timeout: float | None, late: type[Exception]) -> float:
        """Return how long the next step may take. Raises `late` when no time is left."""
        assert timeout is not None, "nothing waits for ever"
        seconds = min(timeout, self._until - time.monotonic())
        if seconds <= 0:
            raise late("all the time for this connection is over")
        return seconds
