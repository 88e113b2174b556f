"""The newest rows of the record, whoever wrote them: those since a moment, and then each as it comes.

What was spent, and who has read words of others, is known from these rows alone: there is no second book that could
disagree with the first, it outlives this process, and what another process does (stdio beside HTTP) is seen once it
has written it down.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

BLOCK_BYTES = 256 * 1024  # read backwards in these

Row = Mapping[str, Any]


class Newest:
    """Reads one record on. Not safe between threads."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._offset = 0

    def since(self, at: float) -> Sequence[Row]:
        """Return the rows since a moment (seconds since 1970), oldest first; `more` goes on behind them.

        Read from the end, so that a record of years costs no more than a day's. Raises `OSError`.
        """
        self._offset = 0
        if not self._record.exists():
            return ()
        found: list[Row] = []
        with self._record.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            lines = _backwards(file.fileno(), end)
            torn = next(lines, b"")  # after the last newline: nothing, or a row that is being written
            for line in lines:
                row = next(iter(_rows([line])), {})
                if _at(row) < at:
                    break
                found.append(row)
        self._offset = end - len(torn)
        return found[::-1]

    def more(self) -> Sequence[Row]:
        """Return the rows that were written since we looked. Raises `OSError`."""
        try:
            size = self._record.stat().st_size
        except FileNotFoundError:
            return ()
        if size <= self._offset:
            return ()
        with self._record.open("rb") as file:
            file.seek(self._offset)
            new = file.read(size - self._offset)
        whole = new.rfind(b"\n") + 1
        self._offset += whole
        return list(_rows(new[:whole].splitlines()))


def _backwards(file: int, end: int) -> Iterator[bytes]:
    """Yield what stands between the newlines of a file, from its end to its beginning."""
    rest = b""
    while end > 0:
        begin = max(0, end - BLOCK_BYTES)
        first, *lines = (os.pread(file, end - begin, begin) + rest).split(b"\n")
        yield from reversed(lines)
        rest, end = first, begin
    if rest:
        yield rest


def _rows(lines: Iterable[bytes]) -> Iterator[Row]:
    """Yield what is a row; `audit verify` is there to tell of what is none."""
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def _at(row: Row) -> float:
    try:
        return float(row["at"])
    except (ValueError, TypeError, KeyError):
        return float("inf")  # no row of ours; it says nothing of when to stop
