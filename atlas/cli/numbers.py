"""Numbers on a command line: read, or refused with what would be right."""

from __future__ import annotations

import argparse


def minutes(text: str) -> float:
    """Read how long, up to a day, for `argparse`. Raises `ArgumentTypeError`."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1440:
        raise argparse.ArgumentTypeError(f"it must be a number of minutes up to 1440, not {text!r}")
    return value


def count(text: str) -> int:
    """Read how many, for `argparse`, which names the option. Raises `ArgumentTypeError`."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"it must be a whole number from 1 on, not {text!r}")
    return int(text)
