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
        self._alone = pattern(words, "alone")
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
        words = next(filter(None, exception.groups()))
        return self.without(wish, words, implied=True).rstrip(" ,.!") or text

    def are_days(self, words: str) -> bool:
        """Tell whether words are days of the week and nothing else: "Wednesdays", "the weekend"."""
        return bool(self._alone.fullmatch(words))

    def without(self, rule: str, words: str, *, implied: bool = False) -> str:
        """Return a rule without the days that some words name, of those on which it holds; "" where there are none.

        `implied`: a rule that says no day holds on all of them.
        """
        every = self._every.search(rule)
        if (every is None and not implied) or self._other_day.search(self._every.sub("", rule)):
            return ""
        named = self._named(every[0]) if every else ()
        out = self._named(words)
        left = [day for day in named or dict.fromkeys(self._days.values()) if day not in out]
        if not out or not left:
            return ""
        days = self._rule.format(f"{', '.join(left[:-1])} {self._and} {left[-1]}" if len(left) > 1 else left[0])
        plain = f"{rule[: every.start()]}{days}{rule[every.end() :]}" if every else f"{rule} {days}"
        return " ".join(plain.split())

    def _named(self, words: str) -> Sequence[str]:
        """Return the days that words name, one by one or as a group."""
        words = words.casefold()
        days = [spoken for day, spoken in self._days.items() if day in words]
        days += [day for group, members in self._groups.items() if group in words for day in members]
        return list(dict.fromkeys(days))
