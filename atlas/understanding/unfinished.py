"""Waits for the rest of a wish that was broken off: "turn off the", and in the next turn "telly". Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from atlas.conversation import Message
from atlas.understanding.patterns import pattern

LONGEST_CHARACTERS = 120


class UnfinishedWishes:
    """How one language breaks off; without a table it never does."""

    def __init__(self, words: Mapping[str, str]) -> None:
        self._breaks_off, self._anew = pattern(words, "breaks_off"), pattern(words, "anew")
        self.says = words.get("says", "")  # what is said meanwhile

    def breaks_off(self, text: str) -> bool:
        """Tell whether more was to come behind a text, which by itself says nothing."""
        return len(text) <= LONGEST_CHARACTERS and bool(self._breaks_off.search(text.strip(" .,!…-–")))

    def whole(self, text: str, history: Sequence[Message]) -> str:
        """Return the wish that was broken off with the rest that comes now; "" where this is a wish of its own."""
        if not self.says or not history or history[-1].text != self.says or self._anew.match(text):
            return ""
        begun = next((one.text for one in reversed(history) if one.author == "user"), "")
        return f"{begun.strip(' .,!…-–')} {text}" if self.breaks_off(begun) else ""
