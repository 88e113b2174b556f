"""Reads the TOML files that the server starts by; a wrong one stops the start with a sentence that names it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


class BootFailed(Exception):
    """The server cannot start; `str()` is a sentence that says what to do."""


def read_toml(file: Path, what: str) -> dict[str, Any]:
    """Return the tables of a file, which is called `what` where it cannot be read. Raises `BootFailed`."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as missing:
        raise BootFailed(f"The {what} {file} cannot be read: {missing.strerror}.") from missing
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise BootFailed(f"The {what} {file} is not TOML: {wrong}.") from wrong
