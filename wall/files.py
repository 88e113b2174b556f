"""Writes a file whole or not at all, and has it on the disk before it returns."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(file: Path, content: bytes, mode: int = 0o600, *, replace: bool = True) -> None:
    """Put a file in place of what was there, whole and durable. Raises `OSError`, and leaves no draft behind.

    Without `replace` what is there stays: of several processes that make the same file at once the first one's counts.
    """
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)  # which only its owner may read
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
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


def sync_folder(folder: Path) -> None:
    """Have what was made, renamed or deleted in a folder on the disk. Raises `OSError`."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
