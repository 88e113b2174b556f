"""Reads for whom a message is to be left, and says so where nobody here is called that: it is for no one else. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from atlas.understanding.names import Names
from atlas.understanding.patterns import pattern


class UnknownPersons:
    """How one language leaves messages. `words` is its table `unknown_persons`; `audiences`, who else is spoken to."""

    def __init__(self, words: Mapping[str, str], audiences: Collection[str]) -> None:
        self._leaves = pattern(words, "leaves")
        self._says = words.get("says", "")
        self._audiences = frozenset(audiences)

    def refused(self, text: str, names: Names) -> str:
        """Return what is said to a message for somebody whom this house does not know; "" to all else."""
        match = self._leaves.fullmatch(text.strip())
        if match is None:
            return ""
        who = match["who"].casefold()
        known = [one.name for one in names.devices if one.kind == "person"]
        known += [name for one in names.places for name in one.all_names]
        is_known = who in self._audiences or names.person(who) or who in {name.casefold() for name in known}
        return "" if is_known else self._says.format(match["who"])
