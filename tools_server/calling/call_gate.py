"""Makes a call without a running server: in this process, through a gate of its own over the house's data directory."""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager

from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.boot.wall_plan import walled
from tools_server.calling.call_client import CallAnswer, CallClient, CannotAsk, CommandLineCall, SignedYes
from tools_server.gate.call_request import CallRequest, CallResult
from tools_server.gate.confirmations import NO_REPLY, ConfirmationReply
from tools_server.values.boot_files import BootFailed

# No server of the house runs, so there is nobody who could bring an answer in time.
HOW = "That needs a person's yes: at a terminal, with --house-private-key, or of the running server, with --socket."


def opened(given: argparse.Namespace) -> AbstractAsyncContextManager[CallClient]:
    """Put up the walls around this process; the gate is open for the length of the block. Raises `CannotAsk`."""
    try:
        return _opened(given, walled(ServerSettings.of(given)))
    except BootFailed as failed:
        raise CannotAsk("unavailable", str(failed)) from failed


@asynccontextmanager
async def _opened(given: argparse.Namespace, settings: ServerSettings) -> AsyncIterator[CallClient]:
    with ExitStack() as stack:
        try:
            gate, agents = stack.enter_context(opened_gate(settings))
        except (BootFailed, OSError, sqlite3.Error) as failed:
            raise CannotAsk("unavailable", f"The gate cannot be opened. {failed}") from failed
        if given.agent not in agents:
            raise CannotAsk("invalid", f"{given.agents} has no agent {given.agent!r}; it has {', '.join(agents)}.")

        async def way(request: CommandLineCall, yes: SignedYes | None) -> CallAnswer:
            reply = ConfirmationReply(yes.ask, "accept", yes.statement) if yes else NO_REPLY
            wish = CallRequest(
                agents[given.agent],
                request.tool,
                dict(request.params),
                request.actor,
                request.turn,
                "call",
                reply=reply,
            )
            return _answered(await gate.call(wish))

        async with gate.engines():
            yield way


def _answered(answer: CallResult) -> CallAnswer:
    made = answer.receipt
    receipt = {"id": made.id, "changed": made.changed, "undo": made.undo} if made else None
    if answer.ask:
        request = f"{answer.ask.sentence} {HOW}"
        return CallAnswer(request, answer.error, answer.data, receipt, answer.ask.shown(), answer.untrusted)
    return CallAnswer(answer.text, answer.error, answer.data, receipt, untrusted=answer.untrusted)
