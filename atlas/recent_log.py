"""Holds the latest lines of the house's log in memory, for a page that shows them: few, short, and without tokens.

The log itself goes to stderr, which is a terminal or the machine's journal: neither can be read by the house.
"""

from __future__ import annotations

import logging
import re
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from wall.logs import Wordless

MOST_LINES = 1_000  # half a day of a household
MOST_CHARACTERS = 400_000  # of all lines together: as much as a page may be sent at once
LINE_CHARACTERS = 4_000  # the middle of a longer one is left out: its end says of what kind a failure was
HEAD_CHARACTERS = 1_000
OWN = "house"  # the part of lines that no process of its own has written
TOKENS = re.compile(r"\b(?:atlas_|ek_)[\w-]{8,}|(?<=Bearer )\S+")  # none is written; this is the wall behind that one

LogLevel = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class RecentLine:
    """One line of the log; a failure with its frames is one too."""

    number: int  # from 1 with every start of the house
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
        self._last += 1
        if len(self._lines) == MOST_LINES:
            self._forget_oldest()
        self._lines.append(RecentLine(self._last, record.created, part, _level(record.levelno), text))
        self._characters += len(text)
        while self._characters > MOST_CHARACTERS:
            self._forget_oldest()

    def after(self, number: int) -> Sequence[RecentLine]:
        """Return the lines after one, the newest last."""
        self.acquire()
        try:
            return [line for line in self._lines if line.number > number]
        finally:
            self.release()

    def _forget_oldest(self) -> None:
        self._characters -= len(self._lines.popleft().text)


def _level(number: int) -> LogLevel:
    if number >= logging.ERROR:
        return "error"
    return "warning" if number >= logging.WARNING else "info"
