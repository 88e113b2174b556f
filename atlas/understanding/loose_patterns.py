"""A template of hassil's → a regular expression which all that it matches fits, and little else. Pure.

A template that cannot match costs hassil up to milliseconds, where it has two places for any words; its regular
expression costs a microsecond. It is compared with the letters of a sentence alone, so that it need not know how hassil
treats spaces, marks and capitals.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from hassil.expression import Alternative, Expression, Group, ListReference, Permutation, RuleReference, TextChunk
from hassil.intents import Intents, RangeSlotList, SlotList, TextSlotList
from hassil.numbers import get_rbnf_engine

MOST_NUMBERS = 10_000  # of a list, that are written out
BEGIN = 3  # letters by which a number in words is known
_NO_LETTERS = re.compile(r"[\W_]+")


class LoosePatterns:
    """Makes the patterns of one grammar. Lists that it has no values of are any words."""

    def __init__(self, grammar: Intents) -> None:
        self._grammar = grammar
        self._parts: dict[str, str] = {}  # of rules and lists, by their names as they are referred to

    def of(self, expression: Expression) -> re.Pattern[str]:
        """Return the pattern of one sentence, for `letters`."""
        return re.compile(self._of(expression), re.DOTALL)

    def _of(self, expression: Expression) -> str:
        match expression:
            case TextChunk(text=text):
                return re.escape(letters(text))
            case RuleReference(rule_name=name):
                if f"<{name}" not in self._parts:
                    self._parts[f"<{name}"] = self._of(self._grammar.expansion_rules[name].expression)
                return self._parts[f"<{name}"]
            case ListReference(list_name=name):
                if f"{{{name}" not in self._parts:
                    self._parts[f"{{{name}"] = self._of_list(self._grammar.slot_lists.get(name))
                return self._parts[f"{{{name}"]
            case Alternative(items=items):
                return self._any(items)
            case Group(items=items) if not isinstance(expression, Permutation):
                return "".join(map(self._of, items))
        return ".*"

    def _of_list(self, values: SlotList | None) -> str:
        if isinstance(values, TextSlotList) and values.values:
            return self._any(one.text_in for one in values.values)
        if not isinstance(values, RangeSlotList):
            return ".*"
        if not values.words:
            return r"\d+"
        if values.stop - values.start > MOST_NUMBERS:
            return ".*"
        begins = _begins(values.words_language or self._grammar.language, tuple(values.get_numbers()))
        return rf"(?:\d+|(?:{'|'.join(begins)}).*)" if begins else ".*"

    def _any(self, some: Iterable[Expression]) -> str:
        return f"(?:{'|'.join(dict.fromkeys(map(self._of, some)))})"


@cache
def _begins(language: str, numbers: tuple[float, ...]) -> tuple[str, ...]:
    """Return how numbers begin that are written out; nothing in a language in which hassil cannot do that."""
    try:
        engine = get_rbnf_engine(language)
    except ValueError:
        return ()
    words = (word for number in numbers for word in engine.format_number(number).text_by_ruleset.values())
    return tuple(dict.fromkeys(re.escape(letters(word)[:BEGIN]) for word in words))


def letters(text: str) -> str:
    """Return the letters and digits of a text, as they are compared: no spaces, no marks, no capitals."""
    return _NO_LETTERS.sub("", unicodedata.normalize("NFC", text).casefold())
