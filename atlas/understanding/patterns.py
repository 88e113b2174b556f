"""Patterns as language files write them: in lines, with {parts} that stand in several. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PART = re.compile(r"\{([a-z_]+)\}")


def filled(pattern: str, parts: Mapping[str, str]) -> str:
    """Return the pattern on one line, its parts in their places; they may have parts of their own, but not themselves.

    Raises `KeyError` for a part that there is none of.
    """
    return _PART.sub(lambda part: f"(?:{filled(parts[part[1]], parts)})", "".join(pattern.splitlines()))
