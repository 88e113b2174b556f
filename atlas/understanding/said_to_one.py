"""Says what is meant for one so that everybody who hears it knows for whom: "Ruby: wash your hands". Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.understanding.patterns import Rewrites, pattern


class SaidToOne:
    """How one language speaks to one of several. `words` is its table `said_to_one`."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._form = str(words.get("form", "{}: {}"))
        self.yours = Rewrites(words.get("yours", ())).written  # "your hands" for "her hands"
        self._addresses, self._joint = pattern(words, "addresses"), pattern(words, "joint")

    def aloud(self, person: str, text: str) -> str:
        """Return what is said aloud where all hear it: with the name, and "your hands" for "her hands"."""
        return self._form.format(person, self.yours(text))

    def whom(self, text: str, names: Sequence[tuple[int, int]]) -> str:
        """Return whom something is to be said to, of the names that stand in a text: "tell Ruby and Leo to come"."""
        start = end = 0
        for name in names:
            if not end and self._addresses.search(text[: name[0]]):
                start, end = name
            elif end and self._joint.search(text[end : name[0]]):
                end = name[1]
        return text[start].upper() + text[start + 1 : end] if end else ""
