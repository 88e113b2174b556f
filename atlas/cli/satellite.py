"""`atlas satellite`: this machine's microphone and loudspeaker become a room of a house. A process of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Become the satellite: it needs little of what is loaded here, and a Pi has little memory."""
    os.execv(sys.executable, [sys.executable, "-m", "atlas.satellite", *arguments])  # noqa: S606  # no shell reads it
