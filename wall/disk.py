"""Tells whether it is the disk that refused, because it is full or may not be written. Pure."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Literal

FULL = (errno.ENOSPC, errno.EDQUOT)
_READ_ONLY = (errno.EROFS,)
_ADVICE = {
    "full": "make some room on it, then start again",
    "read-only": "look why (dmesg), mount it so that it can be written, then start again",
}


def disk_state(failed: BaseException) -> Literal["full", "read-only", ""]:
    """Return what a failure says of the disk; "" when it says nothing of the kind."""
    number = failed.errno if isinstance(failed, OSError) else None
    code = getattr(failed, "sqlite_errorcode", 0) & 0xFF if isinstance(failed, sqlite3.Error) else 0
    if number in FULL or code == sqlite3.SQLITE_FULL:
        return "full"
    return "read-only" if number in _READ_ONLY or code == sqlite3.SQLITE_READONLY else ""


def disk_sentence(failed: BaseException, folder: Path) -> tuple[str, str]:
    """Return what is wrong with the disk of a folder, and what to do; two empty texts when nothing is."""
    state = disk_state(failed)
    return (f"the disk of {folder} is {state}", _ADVICE[state]) if state else ("", "")
