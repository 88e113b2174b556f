"""Asks when a deed shall be done that a turn wants later without a time: "turn the kettle off later". Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.understanding import moments
from atlas.understanding.choices import MeaningChoice
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.dialogue_turn import SpokenTurn
from atlas.understanding.frames import Frames
from atlas.understanding.meaning import TurnMeaning
from atlas.understanding.patterns import pattern
from atlas.understanding.restraints import LONGEST_CHARACTERS
from atlas.understanding.slots import LATER, for_now


class UndatedDeeds:
    """How one language says "later" without a time; a language without a table never does. Immutable."""

    def __init__(self, words: Mapping[str, Any], frames: Frames, questions: Clarifications) -> None:
        self._undated = pattern(words, "undated")
        self._soon: Mapping[str, int] = words.get("soon", {})  # what may be chosen: in words, and in seconds
        self._frames = frames
        self._questions = questions

    def when(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant; the question when, where a turn wants it later and says no time."""
        commands = meant.choices.choices[0].commands if meant.choices else meant.commands
        rest = self._without_later(heard.text)
        of_devices = all(one.tool.startswith(("home.", LATER)) for one in commands)
        if not (commands and rest and of_devices) or moments.find(rest):
            return meant
        soon = self._soon.items()
        return self._questions.among(
            [
                MeaningChoice(words, tuple(one.later(seconds=seconds) for one in for_now(commands)))
                for words, seconds in soon
            ]
        )

    def _without_later(self, text: str) -> str:
        """Return a text without the "later" in it that says no time; "" where there is none."""
        match = self._undated.search(text[:LONGEST_CHARACTERS])
        asides = [one.aside for one in self._frames.clauses(text) if match and one.holds([match.start()])]
        if match is None or (any(asides) and len(self._frames.clauses(text)) > 1):
            return ""
        return f"{text[: match.start()]}{text[match.end() :]}"
