"""Numbers on a command line: read, or refused with what would be right."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """Read how many, for `argparse`, which names the option. Raises `ArgumentTypeError`."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"it must be a whole number from 1 on, not {text!r}")
    return int(text)
