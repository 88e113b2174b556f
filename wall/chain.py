"""An append-only record of JSON rows, each sealed to the row before it, in files that rotate.

Lines of JSON rather than a database: rows cannot be updated by accident, a broken database does not take the record
with it, and `tail` and `grep` read it. A row holds its number (`seq`), the hash of the row before (`prev`) and its own
(`hash`), so a row that was changed, moved or taken out of the middle does not fit its neighbours.

What a chain alone cannot show is that its *last* rows were cut off. For that there are heads, which say how far the
record went: the one in this process's memory, the one in the small `.head` file, and one that somebody else signed and
keeps elsewhere (`signed`). Whenever the rows end before a head, the next row is sealed to the row that is missing and
numbered after it, so the gap stays in the record for good: a cut can be made, but not healed.

A file that has grown to `ROTATE_BYTES` is renamed after its last row (`audit.000000012345.jsonl`), and the next row
begins a new file, sealed to that one. Between the two steps there is no current file; whoever opens the record then
finds the last row in the newest of the older files, so a kill at any moment loses nothing. Several processes may
append: each append holds a lock on the current file, and looks whether it still is the current one.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from wall.files import sync_folder

GENESIS = "0" * 64  # what the first row is sealed to
HEAD_BYTES = 128  # the head is overwritten in place, so it has one size
ROW_BYTES = 64 * 1024  # no row is longer
ROTATE_BYTES = 16 * 1024 * 1024  # some thirty thousand rows: a file that an editor still opens
BLOCK_BYTES = 256 * 1024  # read backwards in these
REPORTED = 20  # problems that verify tells of; the first one is what matters
_NUMBER = "[0-9]" * 12

Row = Mapping[str, Any]


class ChainBroken(OSError):
    """The end of the record is not a row, so nothing can be sealed to it."""


@dataclass(frozen=True, slots=True)
class Head:
    """How far a record goes: the number of its last row, and that row's hash."""

    seq: int = 0
    hash: str = GENESIS


def canonical(value: Any) -> bytes:
    """Return the one way to write a JSON value, so that equal values have equal hashes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value, in hex: how arguments are recorded without being kept."""
    return hashlib.sha256(canonical(value)).hexdigest()


def head_of(file: Path) -> Path:
    """Where the last row's number and hash are kept."""
    return file.with_suffix(".head")


def older_files(file: Path) -> list[Path]:
    """Return the files that a record has filled, the oldest first."""
    return sorted(file.parent.glob(f"{file.stem}.{_NUMBER}{file.suffix}"))


class RecordProblem(str):
    """What is wrong with a record, in English; `form` and `values` are for who says it in another language."""

    __slots__ = ("form", "values")
    form: str
    values: Mapping[str, int | str]

    def __new__(cls, form: str = "", **values: int | str) -> RecordProblem:
        """Put the values into their form."""
        problem = super().__new__(cls, form.format(**values))
        problem.form, problem.values = form, values
        return problem


class Chain:
    """A record, open for appending."""

    def __init__(self, file: Path, signed: Head | None = None, rotate_bytes: int = ROTATE_BYTES) -> None:
        """Open or make it. A line torn by a power cut was never acknowledged, and is cut off.

        Raises `ChainBroken` when the last whole line is no row, `OSError` when the disk refuses.
        """
        self.file = file
        self.problem = RecordProblem()  # what is wrong once rows were missed
        self._rotate_bytes = rotate_bytes
        self._rows = _opened(file)
        self._head_file = os.open(head_of(file), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._size = 0
        self._unsynced = False
        self._head = max((signed or Head(), _read_head(head_of(file)) or Head()), key=lambda head: head.seq)
        with self._locked():
            self._catch_up()
            if not os.fstat(self._head_file).st_size:  # new: so that there is always one that can be read
                os.fdatasync(self._rows)
                self._point_at_last()
        sync_folder(file.parent)
        if signed and not self.problem and row_hash(file, signed.seq) != signed.hash:
            self.problem = RecordProblem("row {row} is not the one that was signed", row=signed.seq)

    @property
    def head(self) -> Head:
        """How far the record goes, as far as this process knows."""
        return self._head

    def append(self, fields: Mapping[str, Any], *, durable: bool = True) -> str:
        """Seal a row and write it; return its hash. When this returns, the disk has it.

        With `durable` false it is only handed to the kernel: a crash of this process loses nothing, a power cut may
        lose it. `flush` follows within a second. For reads, which leave nothing behind that the record must explain.
        Raises `OSError` when it cannot be written; then no part of the row is left.
        """
        with self._locked():
            self._catch_up()
            if self._size >= self._rotate_bytes:
                self._rotate()
            row = {**fields, "seq": self._head.seq + 1, "prev": self._head.hash}
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
            self._head = Head(row["seq"], row["hash"])
            self._unsynced = not durable
            if durable:
                self._point_at_last()
            return self._head.hash

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
        os.fsync(self._head_file)
        os.close(self._rows)
        os.close(self._head_file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._lock()
        try:
            yield
        finally:
            fcntl.flock(self._rows, fcntl.LOCK_UN)

    def _lock(self) -> None:
        """Lock the current file; another process may have rotated it, or somebody taken it away, since."""
        fcntl.flock(self._rows, fcntl.LOCK_EX)
        while not _is_at(self._rows, self.file):
            stale, self._rows = self._rows, _opened(self.file)
            os.close(stale)
            fcntl.flock(self._rows, fcntl.LOCK_EX)

    def _catch_up(self) -> None:
        """Look at the last row, which another process may have written; or somebody has cut off what followed it."""
        last = self._cut_torn_line()
        if last is None:
            older = older_files(self.file)
            last = _last_row(older[-1]) if older else Head()
        if last.seq < self._head.seq:
            self.problem = _ends_early(last.seq, self._head.seq)
        elif last.seq == self._head.seq and last.hash != self._head.hash:
            self.problem = RecordProblem("row {row} is not the one that was written", row=last.seq)
        else:
            self._head = last

    def _cut_torn_line(self) -> Head | None:
        """Return the last row of the current file, without what a power cut left behind it; None when it has none."""
        size = os.fstat(self._rows).st_size
        tail = os.pread(self._rows, ROW_BYTES, max(0, size - ROW_BYTES))
        whole = tail.rfind(b"\n") + 1
        if torn := len(tail) - whole:
            os.ftruncate(self._rows, size - torn)
        self._size = size - torn
        return _head_in(tail[:whole], self.file) if self._size else None

    def _rotate(self) -> None:
        """Put the full file aside, and begin a new one."""
        older = self.file.with_name(f"{self.file.stem}.{self._head.seq:012}{self.file.suffix}")
        if older.exists():
            return
        os.fdatasync(self._rows)
        self._point_at_last()
        try:
            self.file.rename(older)
        except PermissionError:  # `chattr +a`: whoever wants that rotates by hand
            return
        self._lock()
        sync_folder(self.file.parent)
        self._catch_up()

    def _point_at_last(self) -> None:
        """Let the head name the last row, once that is on the disk.

        The head itself is not synced: a power cut may leave it behind the rows, and verify knows that. Were it written
        before them, the cut could leave it ahead, and verify would tell of rows taken away that were never kept.
        """
        os.pwrite(self._head_file, f"{self._head.seq} {self._head.hash}\n".ljust(HEAD_BYTES).encode(), 0)


# ── reading ────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def opened(file: Path) -> Iterator[Sequence[BinaryIO]]:
    """Open all files of a record for reading, the oldest first, as they are at one moment. Raises `OSError`.

    The lock keeps a rotation from happening in between; it is given back before anything is read.
    """
    with ExitStack() as stack:
        while True:
            try:
                current = file.open("rb")
            except FileNotFoundError:
                older = older_files(file)
                if not older:
                    raise
                yield [stack.enter_context(path.open("rb")) for path in older]
                return
            fcntl.flock(current, fcntl.LOCK_SH)
            if _is_at(current.fileno(), file):
                break
            current.close()
        stack.enter_context(current)
        files = [stack.enter_context(path.open("rb")) for path in older_files(file)]
        fcntl.flock(current, fcntl.LOCK_UN)
        yield [*files, current]


def backwards(file: BinaryIO) -> Iterator[bytes]:
    """Yield what stands between the newlines of a file, from its end to its beginning."""
    rest, end = b"", file.seek(0, os.SEEK_END)
    while end > 0:
        begin = max(0, end - BLOCK_BYTES)
        first, *lines = (os.pread(file.fileno(), end - begin, begin) + rest).split(b"\n")
        yield from reversed(lines)
        rest, end = first, begin
    if rest:
        yield rest


def newest_first(files: Sequence[BinaryIO]) -> Iterator[dict[str, Any]]:
    """Yield the rows in the files of a record, the last first. What follows the last newline is being written."""
    for file in reversed(files):
        yield from rows_of(islice(backwards(file), 1, None))


def rows_of(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yield what is a JSON object; `verify` is there to tell of lines that are no rows of this record."""
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def last_head(file: Path) -> Head:
    """Return how far the rows on the disk go; the very beginning when there are none. Raises `OSError`."""
    try:
        with opened(file) as files:
            row = next(filter(_is_row, newest_first(files)), None)
    except FileNotFoundError:
        return Head()
    return Head(row["seq"], str(row["hash"])) if row else Head()


def row_hash(file: Path, seq: int) -> str:
    """Return the hash that row `seq` has now; "" when there is none. Fast for the newest ones. Raises `OSError`."""
    if seq <= 0:
        return GENESIS
    with opened(file) as files:
        row = next((row for row in filter(_is_row, newest_first(files)) if row["seq"] <= seq), None)
        return str(row["hash"]) if row and row["seq"] == seq else ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check of the whole record found."""

    rows: int
    problems: tuple[RecordProblem, ...]


def verify(file: Path, signed: Head | None = None) -> Verdict:
    """Read the whole record and say what is changed, missing or out of order. Safe while it is written.

    Raises `OSError` when it cannot be read.
    """
    head = _read_head(head_of(file))  # before the rows: those that are written meanwhile are beyond it
    named = {known.seq for known in (head, signed) if known}
    reached: dict[int, str] = {}  # the hashes of those rows
    problems: list[RecordProblem] = []
    last, count = Head(), 0
    with opened(file) as files:
        for line in (line for part in files for line in part):
            if not line.endswith(b"\n"):
                break  # being written, or torn by a power cut: no row yet
            count += 1
            row = _row(line)
            if row is None:
                problems.append(RecordProblem("line {line} is not a row", line=count))
                last = Head(last.seq + 1, "")
                continue
            problems += _misplaced(row, last)
            if digest({name: value for name, value in row.items() if name != "hash"}) != row["hash"]:
                problems.append(RecordProblem("row {row} was changed", row=row["seq"]))
            last = Head(row["seq"], row["hash"])
            if last.seq in named:
                reached[last.seq] = last.hash
    if head is None and last.seq:
        name = head_of(file).name
        problems.append(RecordProblem("{file} cannot be read, so rows missing from the end would not show", file=name))
    if head and head.seq:
        wrong_row = RecordProblem("row {row} is not the one that was written last", row=head.seq)
        problems += _short_of(head, last, reached, wrong_row)
    if signed and signed.seq:
        wrong_row = RecordProblem("row {row} is not the one that was signed by the house", row=signed.seq)
        problems += _short_of(signed, last, reached, wrong_row)
    return Verdict(count, tuple(problems[:REPORTED]))


def _short_of(head: Head, last: Head, reached: Mapping[int, str], wrong_row: RecordProblem) -> list[RecordProblem]:
    """Return what is wrong where a record should have come: that it did not, or `wrong_row`, where its row differs."""
    if head.seq > last.seq:
        return [_ends_early(last.seq, head.seq)]
    return [wrong_row] if reached.get(head.seq) != head.hash else []


def _ends_early(last: int, written: int) -> RecordProblem:
    return RecordProblem("the record ends at row {last}; {written} were written", last=last, written=written)


def _misplaced(row: Row, last: Head) -> list[RecordProblem]:
    here = row["seq"]
    if here > last.seq + 1:
        if here == last.seq + 2:
            return [RecordProblem("row {row} is missing", row=last.seq + 1)]
        return [RecordProblem("rows {first} to {last} are missing", first=last.seq + 1, last=here - 1)]
    if here <= last.seq:
        return [RecordProblem("row {row} stands after row {other}", row=here, other=last.seq)]
    if last.hash and row.get("prev") != last.hash:
        return [RecordProblem("row {row} is not sealed to the row before it", row=here)]
    return []


def _row(line: bytes) -> dict[str, Any] | None:
    return next(filter(_is_row, rows_of([line])), None)


def _is_row(row: Row) -> bool:
    return type(row.get("seq")) is int and isinstance(row.get("hash"), str)


def _last_row(file: Path) -> Head:
    with file.open("rb") as opened_file:
        opened_file.seek(max(0, opened_file.seek(0, os.SEEK_END) - ROW_BYTES))
        return _head_in(opened_file.read(), file)


def _head_in(tail: bytes, file: Path) -> Head:
    """Return the last row of the end of a file. Raises `ChainBroken`."""
    row = _row(tail.rstrip(b"\n").rsplit(b"\n", 1)[-1])
    if row is None:
        raise ChainBroken(errno.EIO, f"the last line of {file} is not a row of the record")
    return Head(row["seq"], row["hash"])


def _read_head(file: Path) -> Head | None:
    """Return the number and the hash of the last row, as the head has them; None when it cannot be read."""
    try:
        number, sealed = file.read_text(encoding="ascii").split()
        return Head(int(number), sealed)
    except (OSError, ValueError):
        return None


# ── the disk ───────────────────────────────────────────────────────────────────────────────────────


def _opened(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _is_at(number: int, path: Path) -> bool:
    """Tell whether an open file is the one that has this name now."""
    try:
        return os.path.samestat(os.fstat(number), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _write_whole(file: int, line: bytes) -> None:
    if os.write(file, line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
