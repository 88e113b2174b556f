"""A call to the running server: one HTTP request of MCP's newer era over its unix socket, by the standard library."""

from __future__ import annotations

import argparse
import http.client
import json
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync

from tools_server.calling.call_client import CallAnswer, CallClient, CannotAsk, CommandLineCall, SignedYes
from wall.meta import ACTOR_META, ASK_META, DATA_META, ERROR_META, RECEIPT_META, TURN_META, UNTRUSTED_META

ERA = "2026-07-28"
HOST = "tools"
SECONDS = 70.0  # the server gives a call up after sixty
METHOD = "tools/call"
_META = {
    "io.modelcontextprotocol/protocolVersion": ERA,
    "io.modelcontextprotocol/clientInfo": {"name": "atlas-tools call", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@asynccontextmanager
async def opened(given: argparse.Namespace) -> AsyncIterator[CallClient]:
    """Give the way to the server; it is asked only then. Raises `CannotAsk`, `OSError`."""
    token = given.token_file.read_text().strip()

    async def way(request: CommandLineCall, yes: SignedYes | None) -> CallAnswer:
        # Cancelled, this process ends at once, and the server sees that nobody waits any more.
        return await run_sync(_call, given.socket, token, request, yes, abandon_on_cancel=True)

    yield way


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__(HOST, timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(self._path))


def _call(path: Path, token: str, request: CommandLineCall, yes: SignedYes | None) -> CallAnswer:
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": ERA,
        "Mcp-Method": METHOD,
        "Mcp-Name": request.tool,
    }
    with closing(_Unix(path)) as server:
        try:
            server.request("POST", "/mcp", json.dumps(_request(request, yes)).encode(), headers)
            response = server.getresponse()
            if response.status == 401:
                raise CannotAsk("denied", "The server does not know this token.")
            answer = _message(response)
        except (OSError, http.client.HTTPException) as trouble:
            raise CannotAsk("unavailable", f"The server on {path} does not answer: {trouble}.") from trouble
    if "error" in answer:
        raise CannotAsk("protocol", str(answer["error"].get("message", "The server refuses that.")))
    return _answered(answer.get("result", {}))


def _request(request: CommandLineCall, yes: SignedYes | None) -> dict[str, Any]:
    actor = {ACTOR_META: request.actor} if request.actor is not None else {}
    parameters: dict[str, Any] = {"name": request.tool, "arguments": dict(request.params)}
    if yes:
        accepted = {"action": "accept", "content": {"statement": yes.statement}}
        parameters |= {"requestState": yes.ask, "inputResponses": {"confirm": accepted}}
    meta = {**_META, **actor, TURN_META: request.turn}
    return {"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": {**parameters, "_meta": meta}}


def _message(response: http.client.HTTPResponse) -> Mapping[str, Any]:
    """Return the one answer in a response, which is a stream of events when the tool took its time."""
    streams = response.headers.get_content_type() == "text/event-stream"
    for text in _events(response) if streams else [response.read()]:
        try:
            message = json.loads(text)
        except ValueError:
            break
        if isinstance(message, dict) and ("result" in message or "error" in message):
            return message
    raise http.client.HTTPException(f"status {response.status} and no message")


def _events(response: http.client.HTTPResponse) -> Iterator[bytes]:
    for line in response:
        if line.startswith(b"data:"):
            yield line.removeprefix(b"data:")


def _answered(result: Mapping[str, Any]) -> CallAnswer:
    meta = result.get("_meta", {})
    return CallAnswer(
        text="\n".join(part.get("text", "") for part in result.get("content", [])),
        error=meta.get(ERROR_META, "failed") if result.get("isError") else None,
        data=result.get("structuredContent") or meta.get(DATA_META, {}),
        receipt=meta.get(RECEIPT_META),
        ask=meta.get(ASK_META),
        untrusted=meta.get(UNTRUSTED_META, False) is not False,
    )
