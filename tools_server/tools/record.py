"""The record of every call: how far it goes, for the house to sign; its rows and whether it is whole, for the owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import anyio.to_thread
from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, house_look
from tools_server.tools.logs import SHOWN
from tools_server.values.language import text as _
from wall.chain import newest_first, opened, row_hash, verify

LOOKED_ROWS = 100_000  # in one call; a page of the record goes on from there
MOST_ROWS = 500
Part = Annotated[str, Field(max_length=100)]


@house_look("record.head", data={"seq": int, "hash": str, "since_hash": str, "problem": str})
async def head(
    call: Call,
    since: Annotated[int, Field(ge=0, description="Number of the row that the house signed last")] = 0,
) -> Result:
    """Tell the house the number and the hash of the last row that is on the disk, and the hash that row `since` has."""
    record = call.gate.record
    record.flush()
    last = record.head
    data = {"seq": last.seq, "hash": last.hash, "since_hash": row_hash(record.file, since), "problem": record.problem}
    return Result(_("The record has {count} rows.").format(count=last.seq), data)


@house_look("record.rows", data={"rows": [dict], "next": int | None}, limit_seconds=20)
async def rows(
    call: Call,
    before: Annotated[int, Field(ge=0, description="Only rows before this number; 0 is from the end")] = 0,
    words: Annotated[str, Field(max_length=100, description="That the tool's name holds")] = "",
    person: Part = "",
    device: Part = "",
    outcome: Annotated[str, Field(max_length=40, description="ok, denied, asked, failed …; empty is any")] = "",
    since: Annotated[float, Field(ge=0, description="Seconds since 1970")] = 0,
    until: Annotated[float, Field(ge=0, description="Seconds since 1970; 0 is now")] = 0,
    most: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 100,
    looks: Annotated[
        bool, Field(description="Also what was only looked up, and what the house notes by itself")
    ] = True,
) -> Result:
    """Tell the owner rows of the record, newest first. No row holds what was said or written."""
    call.require_manager()
    call.gate.record.flush()
    wanted = RowFilter(before, words, person, device, outcome, since, until, looks)
    look = partial(_page, call.gate.record.file, wanted, most)
    shown, further = await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
    text = _("The record has {count} rows.").format(count=call.gate.record.head.seq)
    return Result(text, {"rows": shown, "next": further})


@house_look("record.verify", data={"rows": int, "problems": [str]}, limit_seconds=60)
async def check(call: Call) -> Result:
    """Read the whole record, and tell the owner whether every row is as it was written."""
    call.require_manager()
    record = call.gate.record
    record.flush()
    verdict = await anyio.to_thread.run_sync(verify, record.file, abandon_on_cancel=True)
    wrong = [*verdict.problems, *([record.problem] if record.problem else [])]
    problems = [_(one.form).format(**one.values) for one in wrong]
    return Result(
        _("The record has {count} rows.").format(count=verdict.rows), {"rows": verdict.rows, "problems": problems}
    )


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows of the record are wanted."""

    before: int
    words: str
    person: str
    device: str
    outcome: str
    since: float
    until: float
    looks: bool

    def fits(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is among them."""
        actor = row.get("actor") or {}
        return (
            (not self.before or row["seq"] < self.before)
            and self.words.casefold() in str(row.get("tool", "")).casefold()
            and self.person.casefold() in ("", str(actor.get("person", "")).casefold())
            and self.device.casefold() in ("", str(actor.get("device", "")).casefold())
            and self.outcome in ("", row.get("outcome"))
            and (not self.until or row["at"] < self.until)
            and (self.looks or not _is_look(row, actor))
        )


def _is_look(row: Mapping[str, Any], actor: Mapping[str, Any]) -> bool:
    """Whether nothing was done and nothing refused: somebody looked, or the house noted what it had rung."""
    return row.get("outcome") == "ok" and (row.get("risk") == "read" or actor.get("device") == "house")


def _page(file: Path, wanted: RowFilter, most: int) -> tuple[list[dict[str, Any]], int | None]:
    """Return rows, and the number before which to go on; None when there are no more."""
    shown: list[dict[str, Any]] = []
    for looked, row in enumerate(_rows(file)):
        if row["at"] < wanted.since:
            return shown, None
        if len(shown) == most or looked == LOOKED_ROWS:
            return shown, row["seq"] + 1
        if wanted.fits(row):
            shown.append({key: row[key] for key in SHOWN if key in row})
    return shown, None


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with opened(file) as files:
        yield from (row for row in newest_first(files) if isinstance(row.get("seq"), int) and "at" in row)
