"""Takes out of a sentence what is said while somebody looks for the word: "um", "what's it called". Pure.

People think aloud: "eggs, butter and, what was it, oh yes, bird seed". Whoever looks for things, times or numbers would
find them divided, or find hesitation among them. What corrects ("no, wait") is no hesitation and stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from atlas.understanding.patterns import Rewrites

LONGEST_CHARACTERS = 600  # that are read; time grows with the square of the white space in a row
MOST_ROUNDS = 4  # of hesitations one behind the other
_SPACES = re.compile(r"\s+")


class Hesitations:
    """The hesitations of one language: of every turn, and more of a turn that goes on with a talk. Immutable."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        words: Mapping[str, str] = tables.get("hesitations", {})
        self._in_talk = Rewrites(tables.get("dialogue", {}).get("hesitations", ()))
        keys = ("sounds", "phrases", "open", "twice")
        sounds, phrases, open_words, twice = (words.get(key, "(?!)") for key in keys)
        hesitation = rf"(?:(?:{phrases})(?=\s*[,.;!?…-])|(?:{sounds})\b)[\s,.…-]*"
        self._start = re.compile(rf"^\s*(?:{words.get('starts', '(?!)')})\s*[,.;!?…-]+\s*(?=\w)", re.IGNORECASE)
        self._after_open = re.compile(rf"\b(?P<open>{open_words})[\s,…-]+{hesitation}(?=\w)", re.IGNORECASE)
        self._between = re.compile(rf"(?<=[,.;!?…])\s+{hesitation}(?=\w)", re.IGNORECASE)
        self._inside = re.compile(rf"(?:^|,?\s+)(?:{sounds})\b(?P<end>[,.!?]*)(?=\s|$)", re.IGNORECASE)
        self._twice = re.compile(rf"\b(?P<word>{twice})(?:[\s,…-]+(?P=word))+(?=\s)", re.IGNORECASE)

    def without(self, text: str) -> str:
        """Return a text without its hesitations; all of it where nothing else would be left, or where it is long."""
        if len(text) > LONGEST_CHARACTERS:
            return text
        spoken = self._start.sub("", text)
        for _ in range(MOST_ROUNDS):
            before = spoken
            spoken = self._after_open.sub(r"\g<open> ", spoken)
            spoken = self._inside.sub(r"\g<end>", self._between.sub(" ", spoken))
            spoken = self._twice.sub(r"\g<word>", spoken)
            if spoken == before:
                break
        spoken = spoken.strip(" ,")
        return spoken if re.search(r"\w", spoken) else text

    def fluent(self, text: str) -> str:
        """Return a turn that goes on with a talk without what fills a pause: what was just done says what is meant."""
        if len(text) > LONGEST_CHARACTERS:
            return text
        fluent = _SPACES.sub(" ", self._in_talk.written(text)).strip(" ,")
        return fluent if fluent.strip(" .,!?") else text
