"""Keeps other MCP servers running behind our gate, and believes nothing that they say.

Each has its own connection, its own tasks and its own end: one that dies, hangs or floods is started again later and
disturbs nobody. A tool is listed only once a person has approved its definition, by hash; one that changes is gone
until it is approved anew. (`atlas-tools upstream approve NAME [TOOL]`)
"""

from __future__ import annotations

import json
import logging
import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread
import httpx2
import mcp.types as types
from mcp import Client
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict

from tools_server.mounted.definitions import Definition, Unfit, clean, definition, pinned, validator
from tools_server.mounted.upstream_wires import CALL_SECONDS, UpstreamServer, by_http, by_stdio
from tools_server.reach.outside import Outside
from tools_server.sdk.state import ToolsDatabase
from tools_server.sdk.toolkit import Call, Result, ToolFailed, ToolSpec
from tools_server.values.policy import Action
from wall import logs
from wall.approval import Wait
from wall.backoff import Backoff

RESULT_CHARACTERS = 20_000
SPOKEN_CHARACTERS = 1500
STRUCTURED_BYTES = 64 * 1024
MOST_TOOLS = 100
START_SECONDS = 30.0
LOOK_SECONDS = 30.0  # how often an unasked change, or an approval, is found at the latest
CALM_SECONDS = 1.0  # between two looks, however often a server says that its list changed
FIRST_BACKOFF_SECONDS = 1.0
LONGEST_BACKOFF_SECONDS = 300.0
log = logging.getLogger(__name__)

MIGRATIONS = {
    "upstream": """
        CREATE TABLE upstream (
            server TEXT NOT NULL,
            tool TEXT NOT NULL,
            seen TEXT NOT NULL,      -- JSON: what the server says of it now
            seen_sha256 TEXT NOT NULL,
            approved TEXT NOT NULL DEFAULT '',  -- JSON: what a person said yes to; '' is nothing
            approved_sha256 TEXT NOT NULL DEFAULT '',
            PRIMARY KEY (server, tool)
        );
    """,
}


@dataclass(slots=True)
class Mounted:
    """One server, and how it is just now."""

    name: str
    settings: UpstreamServer
    client: Client | None = None
    waiting: dict[str, Wait] = field(default_factory=dict)
    offered: tuple[str, ...] = ()  # those of them that a person may approve
    listed: Mapping[str, ToolSpec] = field(default_factory=dict)
    look: anyio.Event = field(default_factory=anyio.Event)


class Upstream:
    """All of them."""

    def __init__(
        self,
        servers: Mapping[str, UpstreamServer],
        state: ToolsDatabase,
        outside: Outside,
        mount: Callable[[str, Mapping[str, ToolSpec]], None],
    ) -> None:
        self.servers = {name: Mounted(name, settings) for name, settings in servers.items()}
        self._state = state
        self._outside = outside
        self._mount = mount

    async def run(self, server: Mounted) -> None:
        """Keep one server, until cancelled. Whatever it does stays with it."""
        backoff = Backoff(FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS)
        while True:
            began = anyio.current_time()
            try:
                await self._session(server)
            except* (*_TROUBLE, Unfit) as trouble:
                log.warning("upstream server=%s lost=%s", server.name, _reason(trouble))
            finally:
                server.client = None
                self._list(server, {})
            worked = anyio.current_time() - began > LONGEST_BACKOFF_SECONDS
            await anyio.sleep(backoff.wait_seconds(worked=worked))

    async def _session(self, server: Mounted) -> None:
        async def heard(message: Any) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                server.look.set()

        ended = anyio.Event()
        with anyio.CancelScope(deadline=anyio.current_time() + START_SECONDS) as life:

            async def end() -> None:
                await ended.wait()
                life.cancel()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(end)
                transport = self._transport(server.settings, ended)
                async with Client(
                    transport, read_timeout_seconds=CALL_SECONDS, message_handler=heard, cache=None
                ) as client:
                    life.deadline = math.inf
                    server.client = client
                    await self._watch(server, client)
        raise OSError("it hung up, or did not start")

    def _transport(self, settings: UpstreamServer, ended: anyio.Event) -> AbstractAsyncContextManager[Any]:
        if settings.command:
            return by_stdio(settings, ended)
        return by_http(settings, self._outside)

    async def _watch(self, server: Mounted, client: Client) -> None:
        """List its tools now, whenever it says that they changed, and now and then without being told."""
        while True:
            server.look = anyio.Event()
            results = self._approved(server, await _listed(client))
            if _described(server.listed) != _described(results):
                self._list(server, results)
            with anyio.move_on_after(LOOK_SECONDS):
                await server.look.wait()
            await anyio.sleep(CALM_SECONDS)

    def _approved(self, server: Mounted, values: Sequence[Mapping[str, Any]]) -> dict[str, ToolSpec]:
        """Return the tools whose definitions a person has approved; note the others, and why they wait."""
        rows = self._state.rows("SELECT tool, seen_sha256, approved_sha256 FROM upstream WHERE server = ?", server.name)
        known = {row["tool"]: (row["seen_sha256"], row["approved_sha256"]) for row in rows}
        server.waiting = {}
        results: dict[str, ToolSpec] = {}
        offered: list[str] = []
        for fields in values:
            name = clean(fields.get("name"), 64)
            try:
                made = definition(fields)
            except Unfit as unfit:
                server.waiting[name] = unfit.reason
                continue
            if f"{server.name}.{made.name}" in results:
                server.waiting[name] = "same_name"
                del results[f"{server.name}.{made.name}"]
                continue
            seen, approved = known.get(made.name, ("", ""))
            if seen != made.sha256:
                self._saw(server.name, made, fields)
            if approved != made.sha256:
                server.waiting[name] = "changed" if approved else "not_approved"
                offered.append(made.name)
                continue
            spec = _spec(server, made)
            results[spec.name] = spec
        server.offered = tuple(offered)
        return results

    def approve(self, row: Mapping[str, Any]) -> None:
        """Pin a definition as it was shown; it is listed in a moment, not at the next look."""
        approve(self._state, row)
        server = self.servers[row["server"]]
        server.waiting.pop(row["tool"], None)
        server.offered = tuple(one for one in server.offered if one != row["tool"])
        server.look.set()

    def withdraw(self, server: Mounted, tool: str) -> bool:
        """Forget what was approved of a tool: from here on nobody can call it. False when nothing was."""
        if not withdraw(self._state, server.name, tool):
            return False
        self._list(server, {name: spec for name, spec in server.listed.items() if name != f"{server.name}.{tool}"})
        server.look.set()
        return True

    def _list(self, server: Mounted, specs: Mapping[str, ToolSpec]) -> None:
        server.listed = specs
        self._mount(server.name, specs)

    def _saw(self, server: str, made: Definition, values: Mapping[str, Any]) -> None:
        self._state.run(
            "INSERT INTO upstream (server, tool, seen, seen_sha256) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (server, tool) DO UPDATE SET seen = excluded.seen, seen_sha256 = excluded.seen_sha256",
            *(server, made.name, json.dumps(values, sort_keys=True, indent=2), made.sha256),
        )


_TROUBLE = (  # what a foreign server can bring about
    *(MCPError, OSError, RuntimeError, ValueError, sqlite3.Error, httpx2.HTTPError),
    *(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError),
)


def _described(specs: Mapping[str, ToolSpec]) -> Mapping[str, Any]:
    return {name: (spec.description, spec.schema) for name, spec in specs.items()}


def _reason(trouble: BaseExceptionGroup[Any]) -> str:
    first = next(logs.failures_in(trouble))
    return clean(f"{type(first).__name__} {first}", 200)


async def _listed(client: Client) -> list[Mapping[str, Any]]:
    """Return what it says of its tools, page after page. Raises `Unfit` when there is no end."""
    rows: list[Mapping[str, Any]] = []
    cursor: str | None = None
    while len(rows) <= MOST_TOOLS:
        with anyio.fail_after(START_SECONDS):
            page = await client.session.list_tools(params=types.PaginatedRequestParams(cursor=cursor))
        rows += [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in page.tools]
        if page.next_cursor is None or not page.tools:
            return rows
        cursor = page.next_cursor
    raise Unfit("too_many_tools")


# ── one tool ───────────────────────────────────────────────────────────────────────────────────────


class _Anything(BaseModel):
    """Arguments that the schema has checked already."""

    model_config = ConfigDict(extra="allow")


def _spec(server: Mounted, made: Definition) -> ToolSpec:
    """Return the tool as the gate knows it. What it says of its own harmlessness is believed only when told to."""
    settings, name = server.settings, f"{server.name}.{made.name}"
    risk, level = settings.risk, settings.level
    if settings.trust_hints and made.hints.get("readOnlyHint") is True:
        risk, level = "read", "auto"
    elif settings.trust_hints and made.hints.get("destructiveHint") is True:
        risk = "destructive"

    async def run(call: Call, /, **arguments: Any) -> Result:
        data = await _called(server, made.name, arguments)
        text = f"{server.name} answered: {_quote(data['text'])}."
        if risk == "read":
            return Result(text, data)
        # What it did is not known here, so it cannot be undone here.
        receipt = call.receipt(f"{server.name} did {made.name}.", before=None, after=None)
        return Result(text, data, receipt)

    async def preview(call: Call, /, **arguments: Any) -> str:
        most = SPOKEN_CHARACTERS if call.tainted else 80  # what a stranger wishes is read out to its end, or not done
        shown = ", ".join(f"{key} {_quote(clean(value, most))}" for key, value in sorted(arguments.items()))
        return f"Let {server.name} do {made.name}{f' with {shown}' if shown else ''}?"

    return ToolSpec(
        name=name,
        description=made.description,
        schema=made.schema,
        run=run,
        arguments=_Anything,
        validator=validator(made.schema),
        action=Action(name, tuple(settings.agents), "", risk, level),
        idempotent=risk == "read",
        routine=False,
        limit_seconds=CALL_SECONDS + 5,
        preview=preview,
        open_world=True,
        untrusted=True,
    )


async def _called(server: Mounted, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the server answered, cleaned and cut. Raises `ToolFailed`."""
    if server.client is None:
        raise ToolFailed("failed", f"{server.name} is not there just now.")
    try:
        answer = await server.client.call_tool(tool, dict(arguments), read_timeout_seconds=CALL_SECONDS)
    except MCPError as failed:
        raise ToolFailed("failed", f"{server.name} could not do it: {_quote(clean(failed, 200))}.") from failed
    except _TROUBLE as broken:
        raise ToolFailed("failed", f"{server.name} gave no answer that I understand.") from broken
    texts = [block.text for block in answer.content[:50] if isinstance(block, types.TextContent)]
    others = sorted({block.type for block in answer.content[:50] if not isinstance(block, types.TextContent)})
    data: dict[str, Any] = {
        "untrusted": True,
        "server": server.name,
        "text": clean("\n".join(texts), RESULT_CHARACTERS),
    }
    if others:
        data["left_out"] = others
    if answer.structured_content is not None and _small(answer.structured_content):
        data["structured"] = answer.structured_content
    if answer.is_error:
        raise ToolFailed("failed", f"{server.name} could not do it: {_quote(data['text'])}.", **data)
    return data


def _small(value: Any) -> bool:
    try:
        text = json.dumps(value, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError):
        return False
    return len(text) <= STRUCTURED_BYTES and "\\ud" not in text.casefold()


def _quote(text: str) -> str:
    shown = "".join(" " if c in '“”"{}<>_*`' else c for c in text[:SPOKEN_CHARACTERS])
    return f"“{' '.join(shown.split()).rstrip('.')}”"


# ── approving ──────────────────────────────────────────────────────────────────────────────────────


def waiting(state: ToolsDatabase, server: str, tool: str = "") -> list[Mapping[str, Any]]:
    """Return what the servers said that nobody has approved: rows of the table `upstream`."""
    rows = state.rows(
        "SELECT * FROM upstream WHERE seen_sha256 != approved_sha256 AND (? IN ('', server)) AND (? IN ('', tool))"
        " ORDER BY server, tool",
        *(server, tool),
    )
    return [dict(row) for row in rows]


def approve(state: ToolsDatabase, row: Mapping[str, Any]) -> None:
    """Pin a definition as it was shown: when the server has changed it meanwhile, that does not count."""
    assert pinned(json.loads(row["seen"])) == row["seen_sha256"], "what is shown is what is pinned"
    state.run(
        "UPDATE upstream SET approved = ?, approved_sha256 = ? WHERE server = ? AND tool = ?",
        *(row["seen"], row["seen_sha256"], row["server"], row["tool"]),
    )


def withdraw(state: ToolsDatabase, server: str, tool: str) -> bool:
    """Forget which definition of a tool was approved; return False when none was."""
    is_approved = state.rows(
        "SELECT 1 FROM upstream WHERE server = ? AND tool = ? AND approved_sha256 != ''", server, tool
    )
    state.run("UPDATE upstream SET approved = '', approved_sha256 = '' WHERE server = ? AND tool = ?", server, tool)
    return bool(is_approved)
