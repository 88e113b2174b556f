"""Asks first where it is not sure what was heard: an utterance that may have been one of two, or hardly one. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from atlas.conversation import Turn
from atlas.understanding.choices import MeaningChoice
from atlas.understanding.clarifications import Clarifications, label_of
from atlas.understanding.command_traits import only_look
from atlas.understanding.dialogue_turn import SpokenTurn
from atlas.understanding.grammar import Grammar
from atlas.understanding.meaning import NO_DEED, TurnMeaning


class UncertainHearing:
    """How one language asks what was said. Immutable."""

    def __init__(self, grammar: Grammar, questions: Clarifications) -> None:
        self._grammar = grammar
        self._questions = questions

    def one_of(self, turn: Turn, read: Callable[[Turn], TurnMeaning]) -> TurnMeaning | None:
        """Return what comes of an utterance that may have been one of two; `None` where its text stands for itself.

        Two that come to the same are one; and what only looks is done, for the answer shows what was heard. Where
        words were hardly heard and are none of those, it is asked about too: "Thank you" is not "Is music playing".
        """
        alone = replace(turn, alternatives=(), possible=(), doubtful=False, history=())
        meant: dict[str, MeaningChoice] = {}
        for text in turn.possible:
            if commands := read(replace(alone, text=text)).commands:
                meant.setdefault(repr(commands), MeaningChoice(label_of(text), commands))
        if not meant or (len(meant) == 1 and turn.text in turn.possible):
            return None
        first, *others = meant.values()
        if only_look(first.commands):
            unsure = turn.doubtful and turn.text not in turn.possible
            return self._questions.whether_to_look(first) if unsure else TurnMeaning(commands=first.commands)
        deeds = [first, *(one for one in others if not only_look(one.commands))]
        return self._questions.among(deeds[:2])

    def hardly(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what comes of words that were hardly heard: a deed is asked about first, and a look is not taken."""
        if not meant.commands or meant.leans or self._grammar.wants_silence(heard.text):
            return meant
        return NO_DEED if only_look(meant.commands) else self._questions.whether(heard.text, meant.commands)
