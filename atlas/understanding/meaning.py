"""Holds what words ask of the house, as far as that is known without a model. Values."""

from __future__ import annotations

from dataclasses import dataclass

from atlas.understanding.choices import Choices
from atlas.understanding.grammar import Half
from atlas.understanding.slots import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMeaning:
    """What is to be done, asked or said; false where that is nothing."""

    commands: tuple[Command, ...] = ()  # to be done, in their order
    half: Half | None = None  # a command that lacks one thing, and the question for it
    choices: Choices | None = None  # one or two that it may mean, and the question about them
    reply: str = ""  # what is to be said, because nothing is to be done: "All right."
    leans: bool = False  # on the last exchange: "no, at five", "and eggs", the answer to a question
    concern: str = ""  # "health", "emergency" or "cannot": what nothing here can do anything about, and a parser named

    @property
    def in_question(self) -> tuple[Command, ...]:
        """All commands about which it is asked whether they are meant."""
        return tuple(one for choice in (self.choices.choices if self.choices else ()) for one in choice.commands)

    def __bool__(self) -> bool:
        return bool(self.commands or self.half or self.choices or self.reply or self.concern)


NO_DEED = TurnMeaning()


def leaning(meant: tuple[Command, ...] | str) -> TurnMeaning:
    """Return what goes on from the last exchange: commands, or what is to be said."""
    return TurnMeaning(reply=meant, leans=True) if isinstance(meant, str) else TurnMeaning(commands=meant, leans=True)
