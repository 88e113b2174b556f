"""Writes a file whole or not at all, and has it on the disk before it returns."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from contextlib import suppress
from glob import escape
from pathlib import Path

_DRAFT = re.compile(r"\..+\.[a-z0-9_]{8}")  # as `tempfile` names them


def write_whole(file: Path, content: bytes, mode: int = 0o600, *, replace: bool = True) -> None:
    """Put a file in place of what was there, whole and durable. Raises `OSError`, and leaves no draft behind.

    Without `replace` what is there stays: of several processes that make the same file at once the first one's counts.
    """
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)  # which only its owner may read
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            fcntl.flock(out, fcntl.LOCK_EX)  # who deletes drafts leaves this one alone
            out.write(content)
            out.flush()
            os.fchmod(out.fileno(), mode)
            os.fsync(out.fileno())
            if replace:
                draft.replace(file)
            else:
                with suppress(FileExistsError):
                    os.link(draft, file)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(file.parent)


def delete_drafts(folder: Path) -> None:
    """Delete the drafts in a folder, and in those below it, of files whose writers were killed: they may hold secrets.

    Raises `OSError`.
    """
    for draft in folder.rglob(".*"):
        _delete_draft(draft)


def delete_drafts_of(file: Path) -> None:
    """Delete the drafts of one file, in a folder that is not ours alone. Raises `OSError`."""
    for draft in file.parent.glob(f".{escape(file.name)}.*"):
        _delete_draft(draft)


def _delete_draft(draft: Path) -> None:
    if _DRAFT.fullmatch(draft.name) and draft.is_file() and not draft.is_symlink():
        with suppress(BlockingIOError, FileNotFoundError), draft.open("rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


def sync_folder(folder: Path) -> None:
    """Have what was made, renamed or deleted in a folder on the disk. Raises `OSError`."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
