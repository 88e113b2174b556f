"""Compares texts with the patterns of rules as people see them, in the tool server and in the house. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache


def fits_any(patterns: Sequence[str], value: str) -> bool:
    """Whether a value fits one of the patterns, as texts are compared; no patterns fit everything."""
    if not patterns:
        return True
    shown = plain(value)
    return any(fnmatchcase(shown, _plain_pattern(pattern)) for pattern in patterns)


def plain(text: str) -> str:
    """Return a text as rules compare texts: by what a person sees of it.

    Case, width, kinds of space, apostrophe and hyphen, and what cannot be seen make no difference. (Letters of other
    alphabets that look alike do: what a name stands for is asked about by its own name, see `Call.permit`.)
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.casefold().split())
    shown = (_ALIKE.get(c, c) for c in unicodedata.normalize("NFKC", text) if c.isspace() or not _hidden(c))
    return " ".join(unicodedata.normalize("NFKC", "".join(shown).casefold()).split())


_plain_pattern = lru_cache(maxsize=1024)(plain)  # those of rules come again and again; no words of people are kept

_ALIKE = {**dict.fromkeys("‘’ʼ`´ʹ′‛", "'"), **dict.fromkeys("“”„‟″", '"'), **dict.fromkeys("‐‑‒–—−﹘", "-")}


def _hidden(character: str) -> bool:
    return unicodedata.category(character)[0] == "C" or character in "\u034f\u115f\u1160\u3164\ufe0f"
