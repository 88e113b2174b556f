"""`GET /walls?port=N`: what the tools could reach, tried from in here. For the house alone; its doctor asks."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse

from tools_server.walls.confine import standing
from tools_server.wires.wire import AGENT_SCOPE

TRY_SECONDS = 1.0  # a wall answers at once; a hole on loopback does too
ASKING_AGENT = "house"


async def walls_tried(request: Request) -> JSONResponse:
    """Answer with which walls stand, and with what stopped each way out."""
    if request.scope[AGENT_SCOPE].name != ASKING_AGENT:
        return JSONResponse({"error": f"Only the {ASKING_AGENT} may ask for that."}, status_code=403)
    port = request.query_params.get("port", "")
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        return JSONResponse(
            {"error": "Say which port of 127.0.0.1 somebody listens on: /walls?port=N"}, status_code=400
        )
    stopped = await anyio.to_thread.run_sync(ways_out, int(port))
    return JSONResponse({"walls": standing(), "stopped": stopped})


def ways_out(port: int) -> dict[str, str]:
    """Try to get out, and say for each way what stopped it; "" where nothing did. Only this machine is tried.

    `port` is one that somebody listens on at 127.0.0.1. Blocking, for seconds at most.
    """
    return {
        "tcp": _stopped(lambda: _touch(socket.SOCK_STREAM, port)),
        "udp": _stopped(lambda: _touch(socket.SOCK_DGRAM, port)),
        "names": _stopped(lambda: _touch(socket.SOCK_DGRAM, 53)),
        "file": _stopped(lambda: Path("/etc/passwd").open("rb").close()),
        "program": _stopped(_start),
    }


def _touch(kind: socket.SocketKind, port: int) -> None:
    with socket.socket(socket.AF_INET, kind) as way:
        way.settimeout(TRY_SECONDS)
        way.connect(("127.0.0.1", port))
        way.send(b"\n")


def _start() -> None:
    os.waitpid(os.posix_spawn("/bin/true", ["/bin/true"], {}), 0)


def _stopped(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as wall:
        return wall.strerror or str(wall) or type(wall).__name__
    return ""
