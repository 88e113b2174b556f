"""Reads several timers out of one sentence: "zwei Timer, einen für fünf und einen für zwölf Minuten". Pure.

Each part of the sentence has one length; a number without a unit has that of its neighbours. Whoever only corrects
himself ("ten, no, fifteen minutes") or says one length in two parts ("an hour and five minutes") wants one timer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.understanding import durations
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

MOST_TIMERS = 4
_SECONDS_A_MINUTE = 60
_NUMBER = re.compile(r"\b\d{1,3}\b")


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a sentence with its length, or with a number that may be one."""

    seconds: int
    number: int
    text: str


class SeveralTimers:
    """How one language wants several timers; a language without a table never does. `digits` writes out numbers."""

    def __init__(self, words: Mapping[str, Any], digits: Callable[[str], str]) -> None:
        self._digits = digits
        self._counts = pattern(words, "counts")
        self._joint = pattern(words, "joints")
        self._another = pattern(words, "another")
        self._corrects = pattern(words, "corrects")
        self._name = pattern(words, "names")

    def read(self, text: str) -> tuple[Command, ...]:
        """Return the timers that a sentence wants; `()` where it is not two or more."""
        if self._corrects.search(text):
            return ()
        counted = bool(self._counts.search(text))
        parts = self._whole_parts(self._parts(self._counts.sub(" ", text)))
        lengths = [part.seconds for part in parts if part.seconds]
        if not 1 < len(parts) <= MOST_TIMERS or not lengths:
            return ()
        if not counted and not all(self._another.search(part.text) for part in parts[1:]):
            return ()
        unit = _SECONDS_A_MINUTE if all(one % _SECONDS_A_MINUTE == 0 for one in lengths) else 1
        return tuple(self._timer(part, part.seconds or part.number * unit) for part in parts)

    def _whole_parts(self, parts: Sequence[_Part]) -> Sequence[_Part]:
        """Return the parts with a length, and with the words before that name it: "for the eggs, four minutes"."""
        whole, before = list[_Part](), ""
        for part in parts:
            if part.seconds or part.number:
                whole.append(replace(part, text=f"{before} {part.text}"))
            before = part.text if not (part.seconds or part.number) and self._name.search(part.text) else ""
        return whole

    def _timer(self, part: _Part, seconds: int) -> Command:
        name = self._name.search(part.text)
        return Command("timers.start", {"seconds": seconds, **({"name": name["name"]} if name else {})})

    def _numbers(self, words: str) -> Sequence[int]:
        """Return the numbers in some words, "one for nine" having one."""
        return [int(one) for one in _NUMBER.findall(self._digits(self._another.sub(" ", words)))]

    def _parts(self, text: str) -> Sequence[_Part]:
        """Return the parts of a sentence; none is cut in the middle of a length."""
        lengths = durations.find_in_any_language(text)
        cuts = [
            (one.start(), one.end())
            for one in self._joint.finditer(text)
            if not any(length.start < one.start() < length.end for length in lengths)
        ]
        starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
        parts = []
        for start, end in zip(starts, ends, strict=True):
            words = text[start:end]
            inside = [length.seconds for length in lengths if start <= length.start < end]
            numbers = self._numbers(words) if not inside else []
            if len(inside) > 1 or len(numbers) > 1:
                return ()
            parts.append(_Part(int(sum(inside)), sum(numbers), words))
        return parts
