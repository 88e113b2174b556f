"""Reads what is converted into what, and takes from the conversion before what is not said anew: "and 300?". Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.understanding.patterns import Rewrites, pattern

PARTS = ("amount", "unit", "to")


class Conversions:
    """How one language speaks of units. `words` is its table `conversions`."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._fractions = Rewrites(words.get("fractions", ()), words.get("parts", {})).written
        self._to, self._of = pattern(words, "to"), pattern(words, "of")
        self._alone, self._light = pattern(words, "alone"), pattern(words, "light")
        self._says = str(words.get("says", ""))

    def plainly(self, text: str, before: Mapping[str, Any]) -> str:
        """Return what is converted, said plainly, with the rest from `before`; "" where a text is no such thing.

        `text` has its numbers in digits. With something from `before`, it may say nothing else.
        """
        words = self._fractions(text)
        into = [*self._to.finditer(words)]
        to = next((one for one in into if one["how"]), into[-1] if into else None)  # "in ounces, so how many grams …"
        rest = words[: to.start()] + " " + words[to.end() :] if to else words
        of = self._of.search(rest)
        rest = rest[: of.start()] + " " + rest[of.end() :] if of else rest
        spoken = {"to": to["to"]} if to else {}
        spoken |= {name: value for name, value in of.groupdict().items() if value} if of else {}
        if not spoken and (alone := self._alone.fullmatch(words.strip(" .?!"))):
            spoken, rest = {"to": alone["to"]}, ""
        leans = len(spoken) < len(PARTS)
        whole = {name: str(before[name]) for name in PARTS if name in before} | spoken
        if (
            not spoken
            or len(whole) < len(PARTS)
            or whole["unit"] == whole["to"]
            or (leans and self._light.sub("", rest).strip(" ,.?!"))
        ):
            return ""
        return self._says.format_map(whole)
