"""Drops what a sentence names only to reject it: "to thirty, not to twenty"; "to fifty, nah, seventy". Pure.

A rejection names the opposite of what is wanted, so every reader would find two numbers, times or colours where one is
meant. It is dropped only where its like stands beside it: a number for a number, a time for a time. Where it names a
device or a place, something is left alone, which others read (exemptions.py). So it is with a number or a colour that
is put right at once, or at the end behind a reason: "ten minutes, no, they are old ones, make it fifteen".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from atlas.understanding import moments
from atlas.understanding.patterns import pattern

LONGEST_CHARACTERS = 200
MOST_REJECTED = 2  # in one sentence
MOST_WORDS = 4  # of a value with its unit: "to twenty one percent"
FEWEST_WORDS = 3  # behind a rejection that begins a text: fewer correct what was said before, "not seven, half eight"
_NUMBER = re.compile(r"-?\d+(?:[.:,]\d+)?")


class RejectedValues:
    """How one language rejects a value; a language without a table never does.

    `digits` writes out numbers; `slips` is the pattern of what stands between a value and the one that puts it right.
    """

    def __init__(self, words: Mapping[str, Any], digits: Callable[[str], str], slips: str = "(?!)") -> None:
        self._digits = digits
        self._before, self._behind = pattern(words, "before"), pattern(words, "behind")
        self._things, self._unit, self._to = (pattern(words, name) for name in ("things", "unit", "to"))
        self._stands, self._anew = pattern(words, "stands"), pattern(words, "anew")
        self._slip = re.compile(slips, re.IGNORECASE)
        self._alike = [re.compile(way, re.IGNORECASE) for way in words.get("alike", ())]

    def without(self, text: str) -> str:
        """Return a text without the values that it rejects; as it is where it rejects none."""
        if len(text) > LONGEST_CHARACTERS or self._stands.search(text):
            return text
        for _ in range(MOST_REJECTED):
            rest = self.put_right(self._without_one(text))
            if rest == text:
                break
            text = rest
        return text

    def _without_one(self, text: str) -> str:
        for match in self._before.finditer(text):
            behind = text[match.end() :]
            if not match.start() and len(behind.split()) < FEWEST_WORDS:
                continue
            thing = bool(match["but"]) and bool(self._things.search(text))
            if thing or self._is_like(match["value"], behind.split(",")[0], first=True):
                return self._joined(text[: match.start()], behind)
        for match in self._behind.finditer(text):
            before, behind = text[: match.start()], text[match.end() :]
            if not before.strip():
                continue
            thing = bool(self._things.search(text)) and match["value"].casefold() not in before.casefold()
            if thing or self._is_like(match["value"], before) or self._is_like(match["value"], behind):
                return self._joined(before, behind)
        return text

    def put_right(self, text: str) -> str:
        """Return a text with the last value before a slip as it is put right behind it."""
        if len(text) > LONGEST_CHARACTERS:
            return text
        for slip in self._slip.finditer(text):
            before, behind = text[: slip.start()], text[slip.end() :]
            if self._is_half_an_hour(before.split()[-2:]):
                continue  # "half four, no, five" is no half five
            if at_once := self._in_place_of_last(before.split(), behind):
                return at_once
            words, anew = before.split(), self._anew.search(behind)
            values = [
                at for at, word in enumerate(words) if self._kind_of(word) == "number" and self._digits(word) != "1"
            ]
            if anew and len(values) == 1 and self._kind_of(anew["value"]) == "number":
                return " ".join([*words[: values[0]], anew["value"], *words[values[0] + 1 :]])
        return text

    def _is_half_an_hour(self, words: list[str]) -> bool:
        """Whether a number is a part of a time of day: "half five", "viertel acht"."""
        if len(words) < 2 or self._to.match(f"{words[0]} "):
            return False
        moment = moments.whole(" ".join(words)) or moments.whole(f"at {' '.join(words)}")
        return moment is not None and {part.kind for part in moment.parts} == {"clock"}

    def _in_place_of_last(self, before: list[str], behind: str) -> str:
        """Return some words with their last value as `behind` begins; "" where no value of its kind is there."""
        head = behind.split(",")[0].rstrip(" .!?").split()
        for more in range(min(MOST_WORDS, len(head)), 0, -1):
            value = " ".join(head[:more])
            kind = self._kind_of(value)
            if not kind or kind == "moment":  # self_corrections.py puts moments right, each with its day
                continue
            for fewer in range(max(1, len(before) - MOST_WORDS), len(before)):
                last = " ".join(before[fewer:])
                if self._kind_of(last) != kind:
                    continue
                head_end = behind.index(head[more - 1], len(" ".join(head[: more - 1]))) + len(head[more - 1])
                return f"{' '.join([*before[:fewer], self._as_said(last, value)])}{behind[head_end:]}"
        return ""

    def _as_said(self, last: str, value: str) -> str:
        """Return a value with the preposition and the unit of the last one, where it is said without."""
        to, unit = self._to.match(last), self._unit.search(self._to.sub("", last))
        before = to.group() if to and not self._to.match(value) else ""
        if unit is None or self._unit.search(self._to.sub("", value)):
            return f"{before}{value}"
        return f"{before}{value} {unit.group()}"

    @staticmethod
    def _joined(before: str, behind: str) -> str:
        return f"{before.rstrip(' ,')} {behind.lstrip(' ,')}".strip() if behind.strip(" .!") else before.rstrip(" ,")

    def _is_like(self, value: str, words: str, *, first: bool = False) -> bool:
        """Whether some words hold a value of the same kind; `first`: they begin with it."""
        return any(self._kind_of(value) == kind for kind in self._kinds_in(words, first=first) if self._kind_of(value))

    def _kind_of(self, value: str) -> str:
        words = self._unit.sub("", self._digits(value)).strip()
        if _NUMBER.fullmatch(words):
            return "number"
        if moments.whole(value):
            return "moment"
        return next((str(at) for at, way in enumerate(self._alike) if way.fullmatch(value.strip())), "")

    def _kinds_in(self, words: str, *, first: bool) -> set[str]:
        words = self._to.sub("", words.strip())
        written = self._digits(words)
        numbers = _NUMBER.match(written) if first else _NUMBER.search(written)
        spoken = moments.find(words)
        when = any(not words[: one.start].strip() for one in spoken) if first else bool(spoken)
        kinds = {
            str(at) for at, way in enumerate(self._alike) if (way.match(words.strip()) if first else way.search(words))
        }
        return kinds | ({"number"} if numbers else set()) | ({"moment"} if when else set())
