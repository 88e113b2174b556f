"""Holds the latest lines of the house's log, for a page that shows them: few, short, and without tokens.

The log itself goes to stderr, which is a terminal or the machine's journal: neither can be read by the house. So that a
start shows what came before it, lines also go into a file, which makes room for a new one when it is full.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from wall.logs import Wordless

MOST_LINES = 1_000  # half a day of a household
MOST_CHARACTERS = 400_000  # of all lines together: as much as a page may be sent at once
MOST_BYTES = 400_000  # of each of the two files
LINE_CHARACTERS = 4_000  # the middle of a longer one is left out: its end says of what kind a failure was
HEAD_CHARACTERS = 1_000
OWN = "house"  # the part of lines that no process of its own has written
TOKENS = re.compile(r"\b(?:atlas_|ek_)[\w-]{8,}|(?<=Bearer )\S+")  # none is written; this is the wall behind that one

LogLevel = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class RecentLine:
    """One line of the log; a failure with its frames is one too."""

    number: int  # from 1 with every start of the house, those of the starts before included
    at: float  # wall clock, seconds since 1970
    part: str  # which process wrote it, as `atlas run` calls it
    level: LogLevel
    text: str


class RecentLog(logging.Handler):
    """The latest lines. A record's `part` is the process that wrote it, where it was not this one."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(Wordless("%(message)s"))
        self.began = time.time()  # tells a page whether the numbers of its lines still count
        self._lines: deque[RecentLine] = deque(maxlen=MOST_LINES)
        self._last = 0
        self._characters = 0
        self._file: Path | None = None

    def keep(self, file: Path) -> None:
        """Put what the starts before have written in front, and write into `file` for those that come.

        To be called once, before anybody has asked, and by one house in a folder.
        """
        self.acquire()
        try:
            present, self._file = list(self._lines), file
            self._lines.clear()
            self._last = self._characters = 0
            for line in (*_read(_older(file)), *_read(file)):
                self._add(line)
            for line in present:
                self._add(line)
                self._write(line)
        finally:
            self.release()

    def emit(self, record: logging.LogRecord) -> None:
        """Remember a line. The library holds its lock meanwhile; any thread may write."""
        try:
            text = self.format(record)
        except Exception:  # noqa: BLE001  # as the library's own handlers do: who logs is not to fail of it
            self.handleError(record)
            return
        part = str(getattr(record, "part", OWN))
        text = TOKENS.sub("…", text.removeprefix(f"{part} | "))
        if len(text) > LINE_CHARACTERS:
            text = f"{text[:HEAD_CHARACTERS]}\n…\n{text[HEAD_CHARACTERS - LINE_CHARACTERS :]}"
        line = RecentLine(0, record.created, part, _level(record.levelno), text)
        self._add(line)
        self._write(line)

    def after(self, number: int) -> Sequence[RecentLine]:
        """Return the lines after one, the newest last."""
        self.acquire()
        try:
            return [line for line in self._lines if line.number > number]
        finally:
            self.release()

    def _add(self, line: RecentLine) -> None:
        self._last += 1
        if len(self._lines) == MOST_LINES:
            self._forget_oldest()
        self._lines.append(replace(line, number=self._last))
        self._characters += len(line.text)
        while self._characters > MOST_CHARACTERS:
            self._forget_oldest()

    def _write(self, line: RecentLine) -> None:
        """Write a line where the next start finds it; not synced, for what a power cut takes stands in the journal."""
        if self._file is None:
            return
        values = asdict(line)
        del values["number"]
        with suppress(OSError):  # a disk that is full or away must not end who logs that; the line is in memory
            place = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                os.write(place, f"{json.dumps(values)}\n".encode())
                is_full = os.fstat(place).st_size >= MOST_BYTES
            finally:
                os.close(place)
            if is_full:
                self._file.replace(_older(self._file))

    def _forget_oldest(self) -> None:
        self._characters -= len(self._lines.popleft().text)


def _older(file: Path) -> Path:
    return file.with_suffix(f".1{file.suffix}")


def _read(file: Path) -> Iterable[RecentLine]:
    """Yield the lines of a file; what is none, such as one that was cut off, is left out."""
    try:
        rows = file.read_bytes().splitlines()
    except OSError:
        return
    for row in rows:
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            values = json.loads(row)
            at, part, level, text = float(values["at"]), values["part"], values["level"], values["text"]
            if level in get_args(LogLevel) and isinstance(part, str) and isinstance(text, str):
                yield RecentLine(0, at, part, level, text[: 2 * LINE_CHARACTERS])


def _level(number: int) -> LogLevel:
    if number >= logging.ERROR:
        return "error"
    return "warning" if number >= logging.WARNING else "info"
