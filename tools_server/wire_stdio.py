"""MCP over stdin and stdout, for the one agent who started this process."""

from __future__ import annotations

import os
from contextlib import ExitStack

import anyio
from mcp.server.stdio import stdio_server

from tools_server.boot import BootFailed, Settings, opened_gate
from tools_server.drain import on_signal, say
from tools_server.wire import mcp_server, own_version


async def serve_stdio(settings: Settings) -> None:
    """Serve the one agent who started this process, until its end of input, SIGTERM or SIGINT."""
    with ExitStack() as opened:
        gate, agents = opened.enter_context(opened_gate(settings))
        if settings.agent not in agents:
            raise BootFailed(f"{settings.agents} has no agent {settings.agent!r}; it has {', '.join(agents)}.")
        server = mcp_server(gate, agents[settings.agent])

        def leave() -> None:
            # A thread is blocked reading stdin and nothing can wake it, so an orderly exit would wait for the client.
            opened.close()
            say("stopped")
            os._exit(0)

        async with gate.engines(), anyio.create_task_group() as tasks:
            tasks.start_soon(gate.keep_flushed)
            await tasks.start(on_signal, gate, leave)
            async with stdio_server() as (requests, answers):
                say(f"ready stdio agent={settings.agent} version={own_version()}")
                await server.run(requests, answers, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    say("stopped")
