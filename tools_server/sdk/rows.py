"""Rows of a tool's own table that a receipt can put back. Every such table has a text column `id`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Live, Result, ToolFailed
from tools_server.values.language import text as _

Row = Mapping[str, Any]  # column → value


def put(where: Call | Live, table: str, row: Row) -> None:
    """Write one row, over the one of the same id."""
    where.state.run(
        f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608  # names
        *row.values(),
    )


def drop(where: Call | Live, table: str, id: str) -> None:
    """Delete one row."""
    where.state.run(f"DELETE FROM {table} WHERE id = ?", id)  # noqa: S608  # our own name of a table


def drop_said(call: Call, table: str, ids: Sequence[str]) -> Result:
    """Drop the rows that the house has said aloud: what was said cannot be unsaid."""
    if not ids:
        return Result(_("None of them was to be said."), {"ids": []})
    with call.state.transaction():
        for id in ids:
            drop(call, table, id)
        sentence = _("Said: {count}.").format(count=len(ids))
        receipt = call.receipt(sentence, before=None, after=None)
    return Result(sentence, {"ids": list(ids)}, receipt)


def put_back(call: Call, table: str, stored_receipt: StoredReceipt, sentence: str = "") -> Result:
    """Put back the rows of a receipt, unless one of them has changed since. Raises `ToolFailed` then.

    `sentence` is what is said of that, instead of what was said of the change.
    """
    before, after = _by_id(stored_receipt.before), _by_id(stored_receipt.after)
    ids = sorted({*before, *after})
    with call.state.transaction():
        there = {id: _there(call, table, id) for id in ids}
        if not all(_is_as_left(there[id], after.get(id)) for id in ids):
            raise ToolFailed(
                "failed",
                _("I can't take that back, for it has changed since: {changed}").format(changed=stored_receipt.changed),
            )
        for id in ids:
            if id in before:
                put(call, table, before[id])
            else:
                drop(call, table, id)
        text = sentence or call.taken_back(stored_receipt)
        receipt = call.receipt(text, before=list(after.values()) or None, after=list(before.values()) or None)
    return Result(text, {"ids": ids}, receipt)


def _is_as_left(row: Row | None, left: Row | None) -> bool:
    """Tell whether a row is as a change left it; a column that came with a newer version says nothing."""
    if row is None or left is None:
        return row is left
    return all(row.get(name) == value for name, value in left.items())


def _there(call: Call, table: str, id: str) -> Row | None:
    rows = call.state.rows(f"SELECT * FROM {table} WHERE id = ?", id)  # noqa: S608  # our own name of a table
    return dict(rows[0]) if rows else None


def _by_id(rows: Any) -> dict[str, Row]:
    """Return the rows of one half of a receipt: one, several, or none."""
    if rows is None:
        return {}
    return {row["id"]: row for row in ([rows] if isinstance(rows, dict) else rows)}
