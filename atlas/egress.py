"""The one way out of the house: tunnels to the hosts that are listed, and to nobody else. A process of its own.

`python -m atlas.egress --socket PATH --record FILE --allow HOST:PORT…` speaks HTTP CONNECT on a unix socket. Names
are resolved here, every address is checked, and it is the checked address that is connected to, so a name that
changes its mind in between (DNS rebinding) gains nothing. What passes is not read: TLS is end to end.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import logging
import os
import re
import secrets
import signal
import socket
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketStream

from atlas.allowed_addresses import AllowedAddress, address, plain
from wall.chain import ROTATE_BYTES, Chain, ChainBroken, head_of

HEAD_BYTES = 4096
HEAD_SECONDS = 5.0
CONNECT_SECONDS = 10.0  # name and connection together
IDLE_SECONDS = 600.0  # a broker's keep-alive is a minute or two; what is silent for longer is forgotten
HALF_SECONDS = 60.0  # once one side is done; it may have gone without saying so
CONNECTIONS = 64  # the tools of a house need a handful
PIECE_BYTES = 65_536
NAT64 = ipaddress.ip_network("64:ff9b::/96")
_CONNECT = re.compile(r"CONNECT (\[[0-9A-Za-z:.%]+\]|[^\s:\[\]]+):(\d{1,5}) HTTP/1\.[01]")
Resolve = Callable[[str, int], Awaitable[list[str]]]
log = logging.getLogger("atlas.egress")


class NotAllowed(Exception):
    """The way is barred; `str()` is a sentence fit for speech."""


class NoAnswer(Exception):
    """The way is open and nobody is there; `str()` is a sentence fit for speech."""


def is_open(result: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address lies in the open internet: not in a house, not this machine, and none of those in disguise."""
    if isinstance(result, ipaddress.IPv6Address):
        inner = result.ipv4_mapped or result.sixtofour or (result.teredo or (None, None))[1]
        if result in NAT64:
            inner = ipaddress.IPv4Address(int(result) & 0xFFFF_FFFF)
        if inner is not None:
            return is_open(inner)
    return result.is_global and not result.is_multicast and not result.is_reserved


@dataclass(slots=True)
class Tunnel:
    """One way out, from its request to its end."""

    host: str
    port: int
    who: dict[str, int]
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    address: str = ""
    began: float = field(default_factory=time.monotonic)
    sent: int = 0
    received: int = 0

    def row(self) -> dict[str, Any]:
        """Return what the record says of it."""
        return {
            "tunnel": self.id,
            "who": self.who,
            "host": self.host,
            "port": self.port,
            "address": self.address,
            "sent": self.sent,
            "received": self.received,
            "seconds": round(time.monotonic() - self.began, 3),
        }


# ── the record ─────────────────────────────────────────────────────────────────────────────────────


class Unwritten(Exception):
    """A row did not reach the disk."""


class EgressRecord:
    """egress.jsonl: a row on the disk for every tunnel that opens, every one that closes, and every refusal.

    A chain as the record of the tools is one (`wall/chain.py`), so a row that is changed or taken away is missed.
    """

    def __init__(self, file: Path, rotate_bytes: int = ROTATE_BYTES) -> None:
        """Open it, or make it, for its owner only. Raises OSError."""
        began_unsealed = file.exists() and not head_of(file).exists()
        try:
            self._chain = Chain(file, rotate_bytes=rotate_bytes)
        except ChainBroken:
            if not began_unsealed:
                raise
            file.rename(file.with_suffix(".unsealed.jsonl"))  # of a version that did not seal its rows
            self._chain = Chain(file, rotate_bytes=rotate_bytes)

    def write(self, event: str, tunnel: Tunnel, outcome: str = "") -> None:
        """Return when the disk has the row. Raises `Unwritten`; then nothing may pass."""
        row = {"at": round(time.time(), 3), "event": event, **tunnel.row(), "outcome": outcome}
        try:
            self._chain.append(row)
        except OSError as trouble:
            raise Unwritten(trouble.strerror) from trouble


# ── the door ───────────────────────────────────────────────────────────────────────────────────────


class Egress:
    """The list, the record, and the tunnels that are open."""

    def __init__(self, allowed: Sequence[AllowedAddress], record: EgressRecord, resolve: Resolve | None = None) -> None:
        self._allowed = allowed
        self._record = record
        self._resolve = resolve or resolved
        self._open = 0
        self._since = time.monotonic()

    async def serve(self, stream: SocketStream) -> None:
        """Answer one connection, from its first byte to its last. Cancelling is safe: both sides are closed."""
        async with stream:
            try:
                with anyio.fail_after(HEAD_SECONDS):
                    request = await _head(stream)
                await self._answer(stream, request)
            except (anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError, TimeoutError):
                pass  # whoever asked has gone, or never said what for

    async def _answer(self, stream: SocketStream, request: str) -> None:
        if request.startswith("GET /health "):
            await stream.send(self._health())
            return
        match = _CONNECT.fullmatch(request)
        if not match:
            await _refuse(stream, "400 Bad Request", "That is not a way out that I understand.")
            return
        tunnel = Tunnel(plain(match[1]), int(match[2]), _who(stream))
        self._open += 1
        try:
            if self._open > CONNECTIONS:
                self._record.write("refused", tunnel, "too many")
                await _refuse(stream, "503 Too Many", "Too much is going out of the house at once.")
            else:
                await self._tunnel(stream, tunnel)
        except Unwritten as trouble:
            log.warning("the record cannot be written: %s", trouble)
            await _refuse(stream, "500 No Record", "I can't write down where I go, so I go nowhere.")
        finally:
            self._open -= 1

    async def _tunnel(self, stream: SocketStream, tunnel: Tunnel) -> None:
        try:
            far = await self._connected(tunnel)
        except NotAllowed as barred:
            self._record.write("refused", tunnel, str(barred))
            await _refuse(stream, "403 Not Allowed", str(barred))
            return
        except NoAnswer as silent:
            self._record.write("unanswered", tunnel, str(silent))
            await _refuse(stream, "504 No Answer", str(silent))
            return
        outcome = "stopped"
        async with far:
            self._record.write("opened", tunnel)
            try:
                await stream.send(b"HTTP/1.1 200 Connected\r\n\r\n")
                outcome = await _relay(stream, far, tunnel)
            finally:
                try:
                    self._record.write("closed", tunnel, outcome)
                except Unwritten as trouble:  # its opening is there; the next one will be refused
                    log.warning("the record cannot be written: %s", trouble)

    async def _connected(self, tunnel: Tunnel) -> SocketStream:
        """Return the far side, if it is listed and there. Raises `NotAllowed`, `NoAnswer`."""
        entries = [entry for entry in self._allowed if entry.fits(tunnel.host, tunnel.port)]
        if not entries:
            raise NotAllowed(
                f"I may not reach {tunnel.host}: it is not listed for port {tunnel.port} in the settings of egress."
            )
        try:
            with anyio.fail_after(CONNECT_SECONDS):
                addresses = await self._resolve(tunnel.host, tunnel.port)
                inside = [hit for hit in addresses if not _is_open(hit)]
                if inside and not any(entry.at_home for entry in entries):
                    tunnel.address = inside[0]
                    raise NotAllowed(f"{tunnel.host} leads to an address inside the house, and that is not allowed.")
                for hit in addresses:
                    tunnel.address = hit
                    try:
                        return await anyio.connect_tcp(hit, tunnel.port)
                    except OSError as refused:
                        log.debug("%s: %s", hit, refused)
        except TimeoutError:
            pass
        raise NoAnswer(f"{tunnel.host} does not answer.")

    def _health(self) -> bytes:
        details = {"ok": True, "open": self._open, "up_seconds": round(time.monotonic() - self._since, 3)}
        body = json.dumps(details).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}Connection: close\r\n\r\n".encode() + body


def _is_open(text: str) -> bool:
    result = address(text.partition("%")[0])
    assert result is not None, "the resolver answers with addresses"
    return "%" not in text and is_open(result)


async def resolved(host: str, port: int) -> list[str]:
    """Return the addresses of a name, best first. Raises `NoAnswer`."""
    try:
        answers = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NoAnswer(f"I can't find {host}: no name server knows it, or none answers.") from None
    return list(dict.fromkeys(str(where[0]) for *_, where in answers))


async def _head(stream: SocketStream) -> str:
    """Read up to the empty line; what would come behind it waits for the answer, as CONNECT asks."""
    head = b""
    while b"\r\n\r\n" not in head:
        head += await stream.receive(HEAD_BYTES)
        if len(head) > HEAD_BYTES:
            await _refuse(stream, "431 Too Large", "That is not a way out that I understand.")
            raise anyio.EndOfStream
    return head.split(b"\r\n", 1)[0].decode("latin-1")


async def _refuse(stream: SocketStream, status: str, sentence: str) -> None:
    try:
        await stream.send(f"HTTP/1.1 {status}\r\nConnection: close\r\n\r\n{sentence}".encode())
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return


async def _relay(near: SocketStream, far: SocketStream, tunnel: Tunnel) -> str:
    """Carry bytes both ways until both ends are done; return how it ended."""
    outcome, patience = "done", IDLE_SECONDS
    raw = near.extra(SocketAttribute.raw_socket)  # noqa: S610 — not Django's

    async def cut(why: str) -> None:
        # Ending both streams wakes whoever waits on them. (Cancelling a wait on a unix socket that becomes readable in
        # the same turn of asyncio's loop makes anyio set the result of a cancelled future.)
        nonlocal outcome
        outcome = why
        with suppress(OSError):
            raw.shutdown(socket.SHUT_RDWR)
        await far.aclose()

    async def carry(source: SocketStream, sink: SocketStream, outward: bool) -> None:
        nonlocal patience
        try:
            while True:
                watched.deadline = anyio.current_time() + patience
                try:
                    piece = await source.receive(PIECE_BYTES)
                except anyio.EndOfStream:
                    patience = HALF_SECONDS
                    watched.deadline = anyio.current_time() + patience
                    await sink.send_eof()  # one side may be done while the other still speaks
                    return
                await sink.send(piece)
                if outward:
                    tunnel.sent += len(piece)
                else:
                    tunnel.received += len(piece)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            if outcome == "done":
                await cut("broken off")

    async def watch() -> None:
        with watched:
            await anyio.sleep_forever()
        await cut("idle")

    watched = anyio.CancelScope(deadline=anyio.current_time() + patience)
    async with anyio.create_task_group() as watching:
        watching.start_soon(watch)
        async with anyio.create_task_group() as both:
            both.start_soon(carry, near, far, True)
            both.start_soon(carry, far, near, False)
        watching.cancel_scope.cancel()
    return outcome


def _who(stream: SocketStream) -> dict[str, int]:
    raw = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 — not Django's
    pid, uid, _ = struct.unpack("3i", raw.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return {"pid": pid, "uid": uid}


async def run(path: Path, egress: Egress) -> None:
    """Serve until SIGTERM or SIGINT; open tunnels are closed then, and written down."""
    async with await anyio.create_unix_listener(path, mode=0o600) as listener, anyio.create_task_group() as tasks:

        async def stop() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    tasks.cancel_scope.cancel()
                    return

        tasks.start_soon(stop)
        sys.stderr.write(f"ready socket={path}\n")
        sys.stderr.flush()
        await listener.serve(egress.serve)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the egress; the status is 2 when its list cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m atlas.egress", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, metavar="PATH")
    parser.add_argument("--record", type=Path, required=True, metavar="FILE", help="a row for every connection")
    parser.add_argument("--allow", action="append", default=[], metavar="HOST:PORT", help="again for each")
    given = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    os.umask(0o077)
    try:
        allowed = [AllowedAddress.read(text) for text in given.allow]
        record = EgressRecord(given.record)
    except (ValueError, OSError) as wrong:
        sys.stderr.write(f"The egress cannot start. {wrong}.\n")
        return 2
    try:
        anyio.run(run, given.socket, Egress(allowed, record))
    finally:
        given.socket.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
