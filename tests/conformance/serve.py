"""Serve the conformance pack as the product would: the same boot, gate, auth, wire and process. Prints its port."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import anyio
import mcp.types as types
import pack
import uvicorn
from mcp.server.context import ServerRequestContext
from starlette.types import ASGIApp, Receive, Scope, Send

from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.wires.wire import mcp_server
from tools_server.wires.wire_http import http_app, loopback_port

TOKEN = "conformance-token"
POLICY = Path(__file__).parents[2] / "policy.toml"


class Bearing:
    """Brings the token, which the suite cannot: everything behind this is what a house runs."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]}
        await self._app(scope, receive, send)


async def set_level(_: ServerRequestContext, __: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


async def main(data: Path) -> None:
    agents = data / "agents.toml"
    token = hashlib.sha256(TOKEN.encode()).hexdigest()
    agents.write_text(f'[conformance]\ntoken_sha256 = "{token}"\ntools = ["*"]\nacts_as = "owner"\n')
    settings = ServerSettings(data, agents, POLICY)
    with opened_gate(settings, toolbox=pack.toolbox()) as (gate, _), loopback_port(0) as listening:
        pack.gates.append(gate)
        server = mcp_server(gate, views=pack.VIEWS, prompts=Path(__file__).parent / "prompts", sources=pack.SOURCES)
        server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
        port = listening.getsockname()[1]
        app = Bearing(http_app(gate, [f"127.0.0.1:{port}", f"localhost:{port}"], server))
        config = uvicorn.Config(app, log_level="warning", lifespan="on", ws="none", timeout_graceful_shutdown=1)
        async with gate.engines():
            sys.stdout.write(f"{port}\n")
            sys.stdout.flush()
            await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]))
