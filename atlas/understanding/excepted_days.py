"""Says a rule by its days where it leaves some out: "at eight except Friday" is every other day by name. Pure.

No tool takes a day away from a rule, and a rule that lost its exception would ring on that day. Behind a day of its
own ("tomorrow at eight") an exception makes no rule, and the text stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from atlas.understanding.patterns import pattern

LONGEST_CHARACTERS = 200


class ExceptedDays:
    """How one language leaves days out of a rule; a language without a table never does."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._wish, self._exception = pattern(words, "wish"), pattern(words, "exception")
        self._every, self._other_day = pattern(words, "every"), pattern(words, "other_day")
        self._days: Mapping[str, str] = words.get("days", {})  # how each is called → how it is said in a rule
        self._groups: Mapping[str, Sequence[str]] = words.get("groups", {})
        self._rule: str = words.get("rule", "")
        self._and: str = words.get("and", "")

    def written_out(self, text: str) -> str:
        """Return a text with the days that are left of a rule; as it is where none is left out of one."""
        exception = self._exception.search(text[:LONGEST_CHARACTERS]) if self._wish.search(text) else None
        if exception is None:
            return text
        wish = f"{text[: exception.start()]} {text[exception.end() :]}"
        if self._other_day.search(self._every.sub("", wish)):
            return text
        words = next(filter(None, exception.groups())).casefold()
        out = {spoken for day, spoken in self._days.items() if day in words}
        out |= {day for group, days in self._groups.items() if group in words for day in days}
        left = [spoken for spoken in dict.fromkeys(self._days.values()) if spoken not in out]
        if not out or not left:
            return text
        rule = self._rule.format(f"{', '.join(left[:-1])} {self._and} {left[-1]}" if len(left) > 1 else left[0])
        plain = self._every.sub(rule, wish, count=1) if self._every.search(wish) else f"{wish} {rule}"
        return " ".join(plain.split()).rstrip(" ,.!")
