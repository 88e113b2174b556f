"""One call from a command line: `ssh house atlas-tools call '{"tool": "tasks.list"}' …` prints one JSON answer.

It asks the house's running server, or the one on `--socket`, as the agent whose token it has. Where none runs, it opens
the same gate over the same data directory itself, for one call: the record and tools.db may be shared.

    {"success": true, "result": {…}, "text": "…", "receipt": {"id": "…", "changed": "…"}, "session": "sess_…"}
    {"success": false, "error": {"type": "denied", "message": "…", "tool": "…", "rule": "…"}, "session": "sess_…"}

The exit status is 0 when it was done, 1 when it was not, 2 when it could not even be asked.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import jwt
from anyio.abc import TaskStatus
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tools_server.calling.call_client import CallAnswer, CallClient, CannotAsk, CommandLineCall, SignedYes
from tools_server.calling.sessions import CallSession, NoSession, Sessions
from tools_server.values.household import add_gate, add_house, add_role, at_home, running
from tools_server.values.stderr import say
from tools_server.wires.strict_json import MessageRefused, parse
from wall.chain import digest
from wall.statements import answer_claims

REQUEST_BYTES = 512 * 1024
_TOOL = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_KEYS = ("tool", "params", "actor")


def main(arguments: list[str]) -> int:
    """Make one call and print its answer; return the exit status."""
    given = _given(arguments)
    session: CallSession | None = None
    try:
        request = _asked(given.request, given.role)
        session = _session(given)
        request = replace(request, turn=session.id)
        started = time.perf_counter()
        key = _private_key(given.house_private_key) if given.house_private_key else None
        answered = anyio.run(_called_until_told, _opened(given), request, key)
        _kept(session, request, answered, time.perf_counter() - started)
    except (CannotAsk, NoSession) as cannot:
        type = cannot.type if isinstance(cannot, CannotAsk) else "session"
        _say({"success": False, "error": {"type": type, "message": str(cannot)}}, session)
        return 2
    except OSError as trouble:
        _say({"success": False, "error": {"type": "unavailable", "message": f"{trouble}."}}, session)
        return 2
    if answered.error is None:
        done = {"success": True, "result": dict(answered.data), "text": answered.text, "receipt": answered.receipt}
        done |= {"untrusted": True} if answered.untrusted else {}
        _say(done, session)
        return 0
    error = {"type": answered.error, "message": answered.text, "tool": request.tool, **answered.data}
    _say({"success": False, "error": error | ({"ask": dict(answered.ask)} if answered.ask else {})}, session)
    return 1


def _say(answer: dict[str, Any], session: CallSession | None) -> None:
    sys.stdout.write(json.dumps({**answer, "session": session.id if session else None}) + "\n")
    sys.stdout.flush()


def _given(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="atlas-tools call", description="Make one call and print its answer as JSON.")
    parser.add_argument("request", metavar="JSON", help='{"tool": "tasks.list", "params": {}}; - reads it from stdin')
    add_gate(parser)
    parser.add_argument("--agent", required=True, metavar="NAME", help="whose call this is")
    add_role(parser)
    parser.add_argument("--socket", type=Path, metavar="PATH", help="ask the server that listens there")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="with --socket: the agent's token")
    parser.add_argument(
        "--house-private-key", type=Path, metavar="FILE", help="at a terminal: lets the person there say yes"
    )
    thread = parser.add_mutually_exclusive_group()
    thread.add_argument("--continue", action="store_true", dest="goes_on", help="the agent's last session")
    thread.add_argument("--resume", metavar="ID", help="this session")
    given = parser.parse_args(arguments)
    if given.socket and not given.token_file:
        parser.error("--socket needs --token-file")
    if given.socket and given.data:
        return given  # the server knows the rest
    house = at_home(parser, given, os.environ)
    token = house / "secrets" / f"tools-{given.agent}.token" if house else None
    if house and token and not given.socket and token.is_file() and (path := running(house)):
        given.socket, given.token_file = path, token
    return given


def _asked(request: str, role: str) -> CommandLineCall:
    text = sys.stdin.buffer.read(REQUEST_BYTES + 1) if request == "-" else request.encode("utf-8", "surrogateescape")
    if len(text) > REQUEST_BYTES:
        raise CannotAsk("invalid", f"The request has more than {REQUEST_BYTES:,} bytes.")
    try:
        value = parse(text)
    except MessageRefused as refused:
        raise CannotAsk("invalid", str(refused)) from refused
    if not isinstance(value, dict) or set(value) - set(_KEYS):
        raise CannotAsk("invalid", f"A request is an object with {', '.join(_KEYS)}.")
    tool, params = value.get("tool"), value.get("params", {})
    if not (isinstance(tool, str) and _TOOL.fullmatch(tool)):
        raise CannotAsk("invalid", "A request says which tool, by a name such as tasks.list.")
    if not isinstance(params, dict):
        raise CannotAsk("invalid", "The params of a request are an object.")
    return CommandLineCall(tool, params, value.get("actor", {"role": role} if role else None))


def _session(given: argparse.Namespace) -> CallSession:
    sessions = Sessions(given.data, time.time)
    if given.resume is not None:
        return sessions.resume(given.resume, given.agent)
    return sessions.latest(given.agent) if given.goes_on else sessions.start(given.agent)


def _opened(given: argparse.Namespace) -> AbstractAsyncContextManager[CallClient]:
    # Importing the tools takes most of a second, which a call over the socket need not wait for.
    if given.socket:
        from tools_server.calling import call_socket

        return call_socket.opened(given)
    from tools_server.calling import call_gate

    return call_gate.opened(given)


async def _called(
    opened: AbstractAsyncContextManager[CallClient], request: CommandLineCall, key: Ed25519PrivateKey | None
) -> CallAnswer:
    """Make the call, and make it again when the person at the terminal says yes."""
    async with opened as way:
        answered = await way(request, None)
        if answered.ask and key and sys.stdin.isatty():
            answered = await way(request, await _said(answered.ask, key))
    return answered


async def _called_until_told(
    opened: AbstractAsyncContextManager[CallClient], request: CommandLineCall, key: Ed25519PrivateKey | None
) -> CallAnswer:
    """Give up the call, down to the tool, when the terminal closes or somebody presses Ctrl-C."""
    answered, cannot = CallAnswer("I was told to stop.", "cancelled"), None
    async with anyio.create_task_group() as tasks:

        async def hear(*, task_status: TaskStatus[None]) -> None:
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
                task_status.started()
                await anext(signals)
                tasks.cancel_scope.cancel()

        await tasks.start(hear)
        try:
            answered = await _called(opened, request, key)
        except (CannotAsk, OSError) as trouble:
            cannot = trouble  # raised in here, it would come out in a group
        tasks.cancel_scope.cancel()
    if cannot:
        raise cannot
    return answered


def _kept(session: CallSession, request: CommandLineCall, answered: CallAnswer, seconds: float) -> None:
    session.write(
        "tool_call",
        tool=request.tool,
        arguments_sha256=digest(request.params),
        outcome=answered.error or "ok",
        receipt=(answered.receipt or {}).get("id", ""),
        ms=round(seconds * 1000, 3),
    )


# ── a person at the terminal ───────────────────────────────────────────────────────────────────────


async def _said(ask: Mapping[str, Any], key: Ed25519PrivateKey) -> SignedYes:
    """Put the question to whoever sits at the terminal, and sign what they say."""
    sys.stderr.write(f"{ask['sentence']} [yes/no] ")
    sys.stderr.flush()
    await anyio.wait_readable(sys.stdin)  # so that Ctrl-C is heard meanwhile
    yes = sys.stdin.readline().strip().lower() in ("y", "yes")
    question = ask["id"], ask["tool"], ask["arguments_sha256"], ask["sentence"]
    claims = answer_claims(question, yes=yes, channel="terminal", person="", device="terminal", now=time.time())
    return SignedYes(ask["id"], jwt.encode(claims, key, algorithm="EdDSA"))


def _private_key(file: Path) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(file.read_bytes(), None)
    except (ValueError, TypeError) as wrong:
        raise CannotAsk("invalid", f"{file} is not a private key in PEM.") from wrong
    if not isinstance(key, Ed25519PrivateKey):
        raise CannotAsk("invalid", f"{file} is a key of another kind; it must be Ed25519.")
    return key


def list_sessions(arguments: list[str]) -> int:
    """Print the sessions, or the lines of one, as JSON lines; return the exit status."""
    parser = argparse.ArgumentParser(prog="atlas-tools sessions", description="What was called, and when.")
    parser.add_argument("what", choices=("list", "show"))
    parser.add_argument("id", nargs="?", metavar="ID", help="with show")
    add_house(parser)
    parser.add_argument("--data", type=Path, metavar="DIR")
    given = parser.parse_args(arguments)
    at_home(parser, given, os.environ)
    if (given.id is None) == (given.what == "show"):
        parser.error("show needs an ID, and list takes none")
    sessions = Sessions(given.data, time.time)
    try:
        shown = list(sessions.find(given.id).lines()) if given.id else [session.summary() for session in sessions.all()]
    except NoSession as missing:
        say(str(missing))
        return 2
    for line in shown:
        sys.stdout.write(json.dumps(line) + "\n")
    return 0
