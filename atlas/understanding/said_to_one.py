"""Says what is meant for one so that everybody who hears it knows for whom: "Ruby: wash your hands". Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.understanding.patterns import Rewrites


class SaidToOne:
    """How one language speaks to one of several. `words` is its table `said_to_one`."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._form = str(words.get("form", "{}: {}"))
        self.yours = Rewrites(words.get("yours", ())).written  # "your hands" for "her hands"

    def aloud(self, person: str, text: str) -> str:
        """Return what is said aloud where all hear it: with the name, and "your hands" for "her hands"."""
        return self._form.format(person, self.yours(text))
