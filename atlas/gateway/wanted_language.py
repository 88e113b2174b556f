"""Reads in which language a browser wants to be answered. Pure."""

from __future__ import annotations

from collections.abc import Collection

MOST_CHARACTERS = 200  # of a header that a browser writes in fifty


def wanted_language(accepted: str, known: Collection[str]) -> str:
    """Return the language that an Accept-Language header ranks highest of those that are known; "" for none of them.

    Of equals the first one counts (RFC 9110, 12.5.4). What is no such header wants nothing.
    """
    best, wanted = 0.0, ""
    for item in accepted[:MOST_CHARACTERS].split(","):
        tag, _, weight = item.partition(";")
        language = tag.strip().partition("-")[0].lower()
        rank = _rank(weight)
        if language in known and rank > best:
            best, wanted = rank, language
    return wanted


def _rank(weight: str) -> float:
    name, _, value = weight.strip().partition("=")
    if not name:
        return 1.0
    try:
        return float(value) if name.strip() == "q" else 0.0
    except ValueError:
        return 0.0
