"""Says the house's own sentences in its language, and in English where nobody has translated one.

A sentence stands in English where it is said, and its twin in own_words.toml; a test holds that none lacks one. The
opening of the house says which language is usual (`speaks`), and whatever runs in that house inherits it; a turn is
answered in its own, and so is a page (`speaking`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from wall.spoken_language import language, speaking, speaks

__all__ = ["language", "languages", "noted", "own", "speaking", "speaks"]

_OWN: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def languages() -> tuple[str, ...]:
    """Return the languages that the house's own sentences are written in, English first."""
    return ("en", *_OWN)


def noted(sentence: str) -> str:
    """Return a sentence as it is, to be said by `own` elsewhere: for constants."""
    return sentence


def own(sentence: str) -> str:
    """Return one of the house's own sentences as the house says it; any other sentence as it is."""
    return _OWN.get(language(), {}).get(sentence, sentence)
