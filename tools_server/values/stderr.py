"""Lines for whoever started this process: on stderr, for stdout may be a wire."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Write a line, which is read at once."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
