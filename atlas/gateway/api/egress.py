"""Egress: what left the house in the last day: every connection, and which are allowed at all."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
from fastapi import Query
from pydantic import Field

from atlas.errors import StoreError
from atlas.gateway.api.caller import OwnerCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply
from wall.chain import newest_first, older_files, opened

MOST_ROWS = 2_000
router = resource("egress", asks=False)


class ConnectionItem(ApiReply):
    """One way out that was taken, or was barred."""

    at: float = Field(description="When it began, in seconds since 1970")
    process: int | None = Field(description="Which process of the house asked")
    host: str
    port: int
    address: str
    outcome: str = Field(description="Why it was barred or ended; empty for an ordinary end, or while it is open")
    open: bool
    sent: int = Field(description="Bytes that left the house")
    received: int


class EgressReply(ApiReply):
    """What left the house, the latest first."""

    allowed: list[str] = Field(description="Where anything may go at all; empty: nowhere")
    since: float
    connections: list[ConnectionItem]
    sent: int
    whole: bool = Field(description="False when there were more than can be shown")


@router.get("")
async def show_egress(caller: OwnerCaller, hours: Annotated[int, Query(ge=1, le=168)] = 24) -> EgressReply:
    """Show every connection that left the house, or wanted to, in the last hours."""
    since = time.time() - hours * 3_600
    config = caller.house.config
    rows = await anyio.to_thread.run_sync(_rows, config.egress_record, since)
    connections = _connections(rows)
    return EgressReply(
        allowed=list(config.egress.allow),
        since=since,
        connections=connections,
        sent=sum(one.sent for one in connections),
        whole=len(rows) < MOST_ROWS,
    )


def _rows(file: Path, since: float) -> list[Mapping[str, Any]]:
    """Return the rows since a moment, newest first. Raises `StoreError`."""
    if not file.exists() and not older_files(file):
        return []
    rows: list[Mapping[str, Any]] = []
    try:
        with opened(file) as files:
            for row in newest_first(files):
                if row["at"] < since or len(rows) == MOST_ROWS:
                    break
                rows.append(row)
    except (OSError, ValueError, TypeError, KeyError) as trouble:
        raise StoreError(f"{file} cannot be read: {trouble}", hint="`atlas doctor`") from trouble
    return rows


def _connections(rows: list[Mapping[str, Any]]) -> list[ConnectionItem]:
    """Return one connection for its two rows; what has no row of its end is open."""
    last: dict[str, Mapping[str, Any]] = {}
    for row in rows:  # the newest first: the end, if there is one, comes before the beginning
        last.setdefault(row["tunnel"], row)
    names = ("host", "port", "address", "outcome", "sent", "received")
    return [
        ConnectionItem(
            **{name: row[name] for name in names},
            process=row["who"].get("pid"),
            at=row["at"] - row["seconds"],
            open=row["event"] == "opened",
        )
        for row in last.values()
    ]
