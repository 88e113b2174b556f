"""Write a number that is said in several words as digits: "zwei hundert vierzig" → "240". Pure.

Word by word it would be three numbers, and a sum that goes on with it ("and that times seven") none.
"""

from __future__ import annotations

from collections.abc import Mapping

LEAST_SCALE = 100  # what is smaller stands beside it, what is larger begins anew behind it
_MARKS = ".,;!?"


class LargeNumbers:
    """The numbers of one language that have a scale in them. Immutable.

    `ones` are the words for what is less than a hundred, `scales` those that multiply what stands before them.
    """

    def __init__(self, ones: Mapping[str, int], scales: Mapping[str, int]) -> None:
        self._ones, self._scales = ones, scales

    def in_digits(self, text: str) -> str:
        """Return a text with each number that has a scale in it as digits; all other words stay."""
        words, made, at = text.split(), list[str](), 0
        while at < len(words):
            end, value = self._number(words, at)
            made.append(str(value) if end > at else words[at])
            at = max(end, at + 1)
        return " ".join(made)

    def _number(self, words: list[str], at: int) -> tuple[int, int]:
        """Return where a number with a scale ends that begins at a word, and its value; the same place for none."""
        total, group, end, has_scale, behind_one = 0, 0, at, False, False
        while end < len(words):
            word = words[end].casefold().rstrip(_MARKS)
            one, scale = self._one(word), self._scales.get(word, 0)
            if one is not None and not behind_one:
                group, behind_one = group + one, True
            elif scale == LEAST_SCALE and group < LEAST_SCALE:
                group, has_scale, behind_one = max(group, 1) * scale, True, False
            elif scale > LEAST_SCALE and not total:
                total, group, has_scale, behind_one = max(group, 1) * scale, 0, True, False
            else:
                break
            end += 1
            if word != words[end - 1].casefold():
                break  # a sentence ends there
        return (end, total + group) if has_scale else (at, 0)

    def _one(self, word: str) -> int | None:
        if word.isascii() and word.isdigit() and int(word) < LEAST_SCALE:
            return int(word)
        return self._ones.get(word)
