"""Leaves undone what a turn only speaks of, and does what stands beside that. Pure."""

from __future__ import annotations

from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import ADDING, of_home, only_look
from atlas.understanding.dialogue_turn import SpokenTurn, Understand
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.parser import NOT_PARSED
from atlas.understanding.restraints import Restraints
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.undated_deeds import UndatedDeeds

# Tools that take words as they are, whatever they say.
OF_ANY_WORDS = (*ADDING, "broadcast.say", "facts.remember", "facts.forget")


class RestrainedDeeds:
    """How one language keeps deeds from being done; `wanted` reads a turn, whatever its words. Immutable."""

    def __init__(self, sentences: SentenceReader, questions: Clarifications, wanted: Understand) -> None:
        self._frames, self._parser = sentences.frames, sentences.parser
        words = sentences.grammar.tables.get("restraints", {})
        self._restraints = Restraints(words, self._frames)
        self._undated = UndatedDeeds(words, self._frames, questions)
        self._questions = questions
        self._wanted = wanted

    def hold(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant, without what a turn only speaks of; the question when, for what it wants at no time."""
        commands = (*meant.commands, *meant.in_question)
        if not (commands or meant.half) or any(one.tool in OF_ANY_WORDS for one in commands):
            return meant
        looks = bool(commands) and only_look(commands)
        read = (self._restraints.read(text, heard.names) for text in heard.verbatim)
        restraint = next(filter(None, read), None)
        if restraint is None or (looks and (restraint.rest or restraint.doubtful or not of_home(commands))):
            return meant if looks else self._undated.when(heard, meant)
        if restraint.doubtful:
            asks = meant.commands and of_home(commands) and self._parser
            return self._questions.about(NOT_PARSED, meant.commands) if asks else meant
        return self._alone(heard, restraint.rest)

    def _alone(self, heard: SpokenTurn, rest: str) -> TurnMeaning:
        """Return the deed that stands beside what a turn only speaks of."""
        if not (self._frames.wants_a_deed(rest) or self._frames.is_deed(rest, heard.names)):
            return NO_DEED
        meant = self._wanted(heard.saying(self._frames.without_idioms(rest)))
        return NO_DEED if only_look(meant.commands) else meant
