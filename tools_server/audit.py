"""The record of every call: append-only, each row sealed to the one before it, on the disk before the answer.

Lines of JSON rather than a database: rows cannot be updated by accident, a broken tools.db does not take the record
with it, `tail` and `grep` read it, and `chattr +a` can make the kernel keep it append-only. Each row holds the hash
of the row before; a small `.head` file holds the last one, so rows cut from the end are missed too. (Whoever may
write to both files can forge a whole new record; keep a copy of the head elsewhere where that matters.)
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AUDIT_FILE = "audit.jsonl"  # in the data directory
GENESIS = "0" * 64  # what the first row is sealed to
HEAD_BYTES = 128  # the head is overwritten in place, so it has one size
ROW_BYTES = 64 * 1024  # no row is longer
REPORTED = 20  # problems that verify tells of; the first one is what matters


class AuditBroken(Exception):
    """The end of the record is not a row, so nothing can be sealed to it."""


def canonical(value: Any) -> bytes:
    """Return the one way to write a JSON value, so that equal values have equal hashes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value, in hex: how arguments are recorded without being kept."""
    return hashlib.sha256(canonical(value)).hexdigest()


def head_of(file: Path) -> Path:
    """Where the last row's number and hash are kept."""
    return file.with_suffix(".head")


class Audit:
    """The record, open for appending. Several processes may append to one record: each append takes a file lock."""

    def __init__(self, file: Path) -> None:
        """Open or make it. A line torn by a power cut was never acknowledged, and is cut off.

        Raises `AuditBroken` when the last whole line is no row, `OSError` when the disk refuses.
        """
        self.file = file
        self._rows = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._head = os.open(head_of(file), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._size = -1
        self._seq, self._last = 0, GENESIS
        self._unsynced = False
        with self._locked():
            self._catch_up()
            if not os.fstat(self._head).st_size:  # new: so that there is always one that can be read
                os.fdatasync(self._rows)
                self._point_at_last()
        _sync_folder(file.parent)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.flock(self._rows, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._rows, fcntl.LOCK_UN)

    def _catch_up(self) -> None:
        """Find the last row, when another process (or an earlier life of this one) has written since."""
        size = os.fstat(self._rows).st_size
        if size == self._size:
            return
        tail = os.pread(self._rows, ROW_BYTES, max(0, size - ROW_BYTES))
        whole = tail.rfind(b"\n") + 1
        if torn := len(tail) - whole:
            os.ftruncate(self._rows, size - torn)
            size -= torn
        self._seq, self._last = 0, GENESIS
        if size:
            line = tail[:whole].rstrip(b"\n").rsplit(b"\n", 1)[-1]
            try:
                row = json.loads(line)
                self._seq, self._last = int(row["seq"]), str(row["hash"])
            except (ValueError, TypeError, KeyError) as broken:
                raise AuditBroken(f"the last line of {self.file} is not a row of the record") from broken
        self._size = size

    def append(self, fields: Mapping[str, Any], *, durable: bool = True) -> str:
        """Seal a row and write it; return its hash. When this returns, the disk has it.

        With `durable` false it is only handed to the kernel: a crash of this process loses nothing, a power cut may
        lose it. `flush` follows within a second. For reads, which leave nothing behind that the record must explain.
        Raises `OSError` when it cannot be written; then no part of the row is left.
        """
        with self._locked():
            self._catch_up()
            row = {**fields, "seq": self._seq + 1, "prev": self._last}
            row["hash"] = digest(row)
            line = canonical(row) + b"\n"
            assert len(line) < ROW_BYTES, "a row holds names and hashes, not contents"
            try:
                _write_whole(self._rows, line)
                if durable:
                    os.fdatasync(self._rows)
            except OSError:
                os.ftruncate(self._rows, self._size)
                raise
            self._size += len(line)
            self._seq, self._last = row["seq"], row["hash"]
            self._unsynced = not durable
            if durable:
                self._point_at_last()
            return str(row["hash"])

    def _point_at_last(self) -> None:
        """Let the head name the last row, once that is on the disk.

        The head itself is not synced: a power cut may leave it behind the rows, and verify knows that. Were it written
        before them, the cut could leave it ahead, and verify would tell of rows taken away that were never kept.
        """
        os.pwrite(self._head, f"{self._seq} {self._last}\n".ljust(HEAD_BYTES).encode(), 0)

    def flush(self) -> None:
        """Bring rows that were only handed to the kernel to the disk."""
        if not self._unsynced:
            return
        self._unsynced = False
        with self._locked():
            self._catch_up()
            os.fdatasync(self._rows)
            self._point_at_last()

    def close(self) -> None:
        """Sync everything and let go."""
        self.flush()
        os.fsync(self._rows)
        os.fsync(self._head)
        os.close(self._rows)
        os.close(self._head)


def _write_whole(file: int, line: bytes) -> None:
    if os.write(file, line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check of the whole record found."""

    rows: int
    problems: tuple[str, ...]


def verify(file: Path) -> Verdict:
    """Read the whole record and say what is changed, missing or out of order. Safe while the server runs."""
    problems: list[str] = []
    seq, last, count = 0, GENESIS, 0
    head = _head(head_of(file))  # before the rows: those that are written meanwhile are beyond it
    sealed = head[1] if head else ""  # of the row that the head names, as it is found
    with file.open("rb") as lines:
        for count, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                count -= 1  # being written, or torn by a power cut: no row yet
                break
            row = _row(line)
            if row is None:
                problems.append(f"line {count} is not a row")
                last = ""
                seq += 1
                continue
            problems += _misplaced(row, seq, last)
            if digest({name: value for name, value in row.items() if name != "hash"}) != row["hash"]:
                problems.append(f"row {row['seq']} was changed")
            seq, last = row["seq"], row["hash"]
            if head and seq == head[0]:
                sealed = last
    if head is None and seq:
        problems.append(f"{head_of(file).name} cannot be read, so rows missing from the end would not show")
    elif head and head[0] > seq:
        problems.append(f"the record ends at row {seq}; {head[0]} were written")
    elif head and head[1] != sealed:
        problems.append(f"row {head[0]} is not the one that was written last")
    return Verdict(count, tuple(problems[:REPORTED]))


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(row, dict) and type(row.get("seq")) is int and isinstance(row.get("hash"), str)
    return row if whole else None


def _misplaced(row: Mapping[str, Any], seq: int, last: str) -> list[str]:
    here = row["seq"]
    if here > seq + 1:
        gap = f"row {seq + 1} is" if here == seq + 2 else f"rows {seq + 1} to {here - 1} are"
        return [f"{gap} missing"]
    if here <= seq:
        return [f"row {here} stands after row {seq}"]
    if last and row.get("prev") != last:
        return [f"row {here} is not sealed to the row before it"]
    return []


def _head(file: Path) -> tuple[int, str] | None:
    """Return the number and the hash of the last row, as the head has them; None when it cannot be read."""
    try:
        number, sealed = file.read_text(encoding="ascii").split()
        return int(number), sealed
    except (OSError, ValueError):
        return None


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
