"""Rows of a tool's own table that a receipt can put back. Every such table has a text column `id`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from tools_server.sdk.state import ChangeReceipt, StoredReceipt
from tools_server.sdk.toolkit import Call, Live, Result, ToolFailed
from tools_server.values.language import text as _

Row = Mapping[str, Any]  # column → value
Stored: TypeAlias = Any  # a row, or the frozen dataclass that is made of one


def put(where: Call | Live, table: str, row: Stored) -> None:
    """Write one row, over the one of the same id."""
    row = _row(row)
    where.state.run(
        f"INSERT OR REPLACE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608  # names
        *row.values(),
    )


def drop(where: Call | Live, table: str, id: str) -> None:
    """Delete one row."""
    where.state.run(f"DELETE FROM {table} WHERE id = ?", id)  # noqa: S608  # our own name of a table


def changed(
    call: Call, table: str, before: Iterable[Stored], after: Iterable[Stored], sentence: str, *, undo: bool = True
) -> ChangeReceipt:
    """Write rows in the place of others, and return the receipt, committed together with them. None is no row.

    Without `undo` for what cannot be taken back: what was said aloud, or heard, is.
    """
    gone, made = ([_row(one) for one in half if one is not None] for half in (before, after))
    with call.state.transaction():
        for row in gone:
            drop(call, table, row["id"])
        for row in made:
            put(call, table, row)
        return call.receipt(sentence, before=_half(gone) if undo else None, after=_half(made) if undo else None)


def note_said(
    call: Call, table: str, before: Sequence[Stored], after: Sequence[Stored], sentence: str, nothing: str
) -> Result:
    """Write down what the house has said or rung: the rows `before`; `nothing` is the answer where these are none."""
    if not before:
        return Result(nothing, {"ids": []})
    receipt = changed(call, table, before, after, sentence, undo=False)
    return Result(sentence, {"ids": [_row(one)["id"] for one in before]}, receipt)


def drop_said(call: Call, table: str, them: Sequence[Row]) -> Result:
    """Drop the rows that the house has said aloud."""
    text = _("Said: {count}.").format(count=len(them))
    return note_said(call, table, them, (), text, _("None of them was to be said."))


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
        text = sentence or call.taken_back(stored_receipt)
        receipt = changed(call, table, list(after.values()), list(before.values()), text)
    return Result(text, {"ids": ids}, receipt)


def listed(half: Any) -> list[Row]:
    """Return the rows of one half of a receipt, which are one, several, or none."""
    return [] if half is None else [half] if isinstance(half, dict) else half


def _half(rows: list[Row]) -> Any:
    return rows if len(rows) > 1 else rows[0] if rows else None


def _row(one: Stored) -> Row:
    return one if isinstance(one, Mapping) else asdict(one)


def _is_as_left(row: Row | None, left: Row | None) -> bool:
    """Tell whether a row is as a change left it; a column that came with a newer version says nothing."""
    if row is None or left is None:
        return row is left
    return all(row.get(name) == value for name, value in left.items())


def _there(call: Call, table: str, id: str) -> Row | None:
    rows = call.state.rows(f"SELECT * FROM {table} WHERE id = ?", id)  # noqa: S608  # our own name of a table
    return dict(rows[0]) if rows else None


def _by_id(rows: Any) -> dict[str, Row]:
    return {row["id"]: row for row in listed(rows)}
