"""The newest rows of the record, whoever wrote them: those since a moment, and then each as it comes.

What was spent, and who has read words of others, is known from these rows alone: there is no second book that could
disagree with the first, it outlives this process, and what another process does (stdio beside HTTP) is seen once it
has written it down.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from wall.chain import Row, backwards, newest_first, opened, rows_of


class Newest:
    """Reads one record on. Not safe between threads."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._inode = 0  # of the file that was the current one when we looked
        self._offset = 0  # in that file

    def since(self, at: float) -> Sequence[Row]:
        """Return the rows since a moment (seconds since 1970), oldest first; `more` goes on behind them.

        Read from the end, so that a record of years costs no more than a day's. Raises `OSError`.
        """
        self._offset = 0
        rows: list[Row] = []
        try:
            with opened(self._record) as files:
                self._note_place(files[-1])
                for row in newest_first(files):
                    if _at(row) < at:
                        break
                    rows.append(row)
        except FileNotFoundError:
            return ()
        return rows[::-1]

    def _note_place(self, file: BinaryIO) -> None:
        """Go on, the next time, behind the last whole row of a file."""
        torn = next(backwards(file), b"")
        self._inode, self._offset = os.fstat(file.fileno()).st_ino, file.seek(0, os.SEEK_END) - len(torn)

    def more(self) -> Sequence[Row]:
        """Return the rows that were written since we looked. Raises `OSError`."""
        try:
            now = self._record.stat()
            if now.st_ino == self._inode and now.st_size == self._offset:
                return ()
            with opened(self._record) as files:
                rows = list(rows_of(self._unread(files)))
        except FileNotFoundError:
            return ()
        return rows

    def _unread(self, files: Sequence[BinaryIO]) -> Iterator[bytes]:
        """Yield the whole lines that were written since we looked, also those in a file that was put aside since."""
        inodes = [os.fstat(file.fileno()).st_ino for file in files]
        begun = inodes.index(self._inode) if self._inode in inodes else len(files) - 1
        for number, file in enumerate(files[begun:], begun):
            begin = self._offset if inodes[number] == self._inode else 0
            file.seek(min(begin, os.fstat(file.fileno()).st_size))  # rows cut off its end are no rows of ours
            new = file.read()
            whole = new.rfind(b"\n") + 1
            yield from new[:whole].splitlines()
            self._inode, self._offset = inodes[number], file.tell() - len(new) + whole


def _at(row: Row) -> float:
    try:
        return float(row["at"])
    except (ValueError, TypeError, KeyError):
        return float("inf")  # no row of ours; it says nothing of when to stop
