"""One question with two choices, and the answers that choose: yes and no, the first, the other one, a name. Pure.

"Cancel all timers, or the pizza timer?" A question waits for two minutes and for the next words alone: whatever is no
answer to it is heard as something new.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.understanding.slots import Command

WAITS_SECONDS = 120.0
LONGEST_ANSWER_WORDS = 8
_WORDS = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class MeaningChoice:
    """One thing that may have been meant, in the words of the question, and what to do when it was."""

    label: str  # "the pizza timer"
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """A question, and its one or two choices: of one choice, a yes or no is asked."""

    question: str
    choices: tuple[MeaningChoice, ...]

    def __post_init__(self) -> None:
        assert 1 <= len(self.choices) <= 2, "nobody remembers three"


class ChoiceWords:
    """How one language asks for a choice, and how it is answered."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        words: Mapping[str, str] = tables["choices"]
        self._ask = words["ask"]
        self._whether = words["whether"]
        self._look = words["look"]
        self._yes = re.compile(words["yes"], re.IGNORECASE)
        self._no = re.compile(words["no"], re.IGNORECASE)
        self._both = re.compile(words["both"], re.IGNORECASE)
        self._light = frozenset(words["light"].split())
        self._ordinals = [re.compile(way, re.IGNORECASE) for way in tables["ordinals"]]
        self._around = re.compile(tables["around_an_answer"], re.IGNORECASE)

    def ask(self, choices: Sequence[MeaningChoice]) -> Choices:
        """Return the question between two choices, or whether the only one is meant."""
        form = self._ask if len(choices) == 2 else self._whether
        text = form.format(*(choice.label for choice in choices))
        return Choices(text[:1].upper() + text[1:], tuple(choices))

    def ask_to_look(self, choice: MeaningChoice) -> Choices:
        """Return the question whether somebody wants to know something."""
        return Choices(self._look.format(choice.label), (choice,))

    def answer(self, words: str, waiting: Choices) -> tuple[Command, ...] | None:
        """Return what plain words choose: commands, none at all for a no, `None` when they are no answer."""
        choices = waiting.choices
        if self._no.fullmatch(words):
            return ()
        if len(words.split()) > LONGEST_ANSWER_WORDS:
            return None
        if self._yes.fullmatch(words):
            return choices[0].commands if len(choices) == 1 else None
        if len(choices) == 2 and self._both.fullmatch(words):
            return (*choices[0].commands, *choices[1].commands)
        for choice, ordinal in zip(choices, self._ordinals, strict=False):
            if ordinal.fullmatch(self._around.sub("", words)):
                return choice.commands
        return self._named(words, choices)

    def _named(self, words: str, choices: Sequence[MeaningChoice]) -> tuple[Command, ...] | None:
        """Return the one choice whose label has all of the words that tell something, and which the other has not."""
        telling = self._telling(words)
        labels = [self._telling(choice.label) for choice in choices]
        fits = [choice for choice, label in zip(choices, labels, strict=True) if telling and telling <= label]
        return fits[0].commands if len(fits) == 1 else None

    def _telling(self, words: str) -> frozenset[str]:
        return frozenset(_WORDS.findall(words.casefold())) - self._light
