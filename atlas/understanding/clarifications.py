"""Asks back, where it is not sure what is meant: which device, whether a deed is, or which of two. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from atlas.understanding.choices import ChoiceWords, MeaningChoice
from atlas.understanding.coverage import Coverage
from atlas.understanding.meaning import TurnMeaning
from atlas.understanding.parser import Parse, Parser
from atlas.understanding.slots import Command


class Clarifications:
    """The questions of one language. Immutable."""

    def __init__(self, words: ChoiceWords, which_device: str, parser: Parser | None, coverage: Coverage) -> None:
        self._words = words
        self._parser = parser
        self._coverage = coverage
        self.which_device = TurnMeaning(reply=which_device)

    def among(self, choices: Sequence[MeaningChoice]) -> TurnMeaning:
        """Return the question which of two is meant, or whether the only one is."""
        return TurnMeaning(choices=self._words.ask(choices))

    def whether_to_look(self, choice: MeaningChoice) -> TurnMeaning:
        """Return the question whether somebody wants to know something."""
        return TurnMeaning(choices=self._words.ask_to_look(choice))

    def whether(self, text: str, commands: Sequence[Command]) -> TurnMeaning:
        """Return the question whether commands are meant, in the words that were said."""
        return self.among([MeaningChoice(label_of(text), tuple(commands))])

    def about(self, parse: Parse, one: Sequence[Command], other: Sequence[Command] = ()) -> TurnMeaning:
        """Return the question whether one thing is meant, or which of two, in words for what they do."""
        assert self._parser
        made = [
            MeaningChoice(self._parser.label(commands, parse, self._coverage.amounts(commands, parse)), tuple(commands))
            for commands in (one, other)
            if commands
        ]
        same = len(made) > 1 and made[0].label == made[1].label
        return self.among(made[:1] if same else made)

    def leaves_open(self, meant: TurnMeaning) -> bool:
        """Tell whether nothing is to be done or said, but for the question which is meant, or which of two things."""
        done = meant.commands or meant.half or meant.concern
        return not done and meant.reply in ("", self.which_device.reply)


def label_of(text: str) -> str:
    """Return a command as a question has it: "Turn on the lamp." in "Turn on the lamp, or turn on the lamps?"."""
    words = text.rstrip(".?! ")
    return f"{words[:1].lower()}{words[1:]}" if words[1:2].islower() or words[1:2] == " " else words
