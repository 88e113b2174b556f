"""Reads a number that is written in digits, with a fraction or without: "3/4", "1 1/2", "2.5". Pure."""

from __future__ import annotations

from fractions import Fraction

FRACTION = r"(?:\d{1,3}[ ])?\d/[2-9]"  # a pattern, also where blanks of patterns do not count


def value_of(digits: str) -> float:
    """Return the number that digits stand for: "1 1/2" → 1.5. Raises `ValueError` for anything else."""
    return float(sum(map(Fraction, digits.split())))
