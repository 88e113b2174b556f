"""Leaves undone what is forbidden, quoted, taken back or broken off, though its words could be read as a wish. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from atlas.understanding.chances import MOST_SURE
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import only_look
from atlas.understanding.dialogue import Dialogue
from atlas.understanding.dialogue_turn import DialogueTurn, SpokenTurn
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.parser import LONGEST_CHARACTERS
from atlas.understanding.patterns import SoughtPattern, act_pattern
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.unknown_persons import UnknownPersons
from atlas.understanding.wish_clauses import WishClauses
from atlas.understanding.withdrawals import Withdrawals


class DeclinedWishes:
    """How one language declines. Each step returns what is meant, or `None` where it knows nothing. Immutable."""

    def __init__(
        self,
        sentences: SentenceReader,
        dialogue: Dialogue,
        wishes: WishClauses,
        questions: Clarifications,
        put_right: Callable[[str], str],
    ) -> None:
        tables: Mapping[str, Any] = sentences.grammar.tables
        self._sentences = sentences
        self._grammar, self._frames = sentences.grammar, sentences.frames
        self._dialogue = dialogue
        self._wishes = wishes
        self._questions = questions
        self._put_right = put_right  # "fifty, nah, seventy" takes back nothing
        self._withdrawals = Withdrawals(tables.get("withdrawals", {}))
        self._unknown_persons = UnknownPersons(tables.get("unknown_persons", {}), tables.get("audiences", {}))
        self._as_ever, self._feelings = act_pattern(tables, "as_ever"), act_pattern(tables, "feelings")
        self._stays, self._says_denied = act_pattern(tables, "stays"), str(tables["left"]["denied"])
        self._forbidden = act_pattern(tables, "forbidden")
        self._taken_back = SoughtPattern(act_pattern(tables, "taken_back"))

    def prohibition(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return nothing to do for what is surely forbidden or quoted: "don't you dare put it out"."""
        readings = turn.heard.readings
        if self._as_ever.fullmatch(readings[0][:LONGEST_CHARACTERS]):
            return self._questions.which_device  # "as we always have it": nobody here knows how that is
        if self._feelings.fullmatch(readings[0].strip(" .,!")[:LONGEST_CHARACTERS]):
            return NO_DEED  # "I'm scared of the dark" asks for nothing, whatever was just done
        if any(self._stays.search(text[:LONGEST_CHARACTERS]) for text in readings):
            return TurnMeaning(reply=self._says_denied)  # "keep the night light on" turns on nothing
        return NO_DEED if any(self._forbidden.search(text[:LONGEST_CHARACTERS]) for text in readings) else None

    def to_nobody(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return that nobody of this name is known to whom a message is to be left: it is for nobody else."""
        says = self._unknown_persons.refused(turn.text, turn.names)
        return TurnMeaning(reply=says) if says else None

    def retraction(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return nothing to do for "…, no, leave it"; a deed may end so too: "quieter, I can hear it not"."""
        first = turn.heard.text
        if not any(self._taken_back.search(text[:LONGEST_CHARACTERS]) for text in turn.heard.readings):
            return None
        if self._dialogue.chooses(first):
            return None
        parse = self._sentences.parse(first, turn.names, turn.room)
        return None if parse.commands and parse.chance >= MOST_SURE else NO_DEED

    def withdrawal(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return nothing to do for a wish that is taken back in the same breath; which one, for half a correction."""
        for text in map(self._put_right, turn.heard.verbatim):
            back = self._withdrawals.read(text)
            if back is None or not self._is_wish(back.wish, turn):
                continue
            if back.rest and self._is_wish(back.rest, turn):
                return None  # "the fan on, no wait, first shut the window"
            return self._questions.which_device if self._frames.only_names(back.rest, turn.names) else NO_DEED
        return None

    def unfinished_wish(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return half a command, or nothing to do, for a wish that ends in the middle: "put cucumbers on the, hmm"."""
        if turn.text.rstrip().endswith("?") or not self._withdrawals.is_unfinished(turn.text):
            return None
        return TurnMeaning(half=self._grammar.half(turn.text, turn.names))

    def takes_back(self, heard: SpokenTurn) -> bool:
        """Tell whether some part of a turn takes back another."""
        taken_back = self._taken_back.search(heard.text[:LONGEST_CHARACTERS])
        return bool(taken_back) or any(map(self._withdrawals.read, map(self._put_right, heard.verbatim)))

    def _is_wish(self, text: str, turn: DialogueTurn) -> bool:
        """Whether some words ask for something by themselves."""
        if self._wishes.begins(text) or self._frames.is_deed(text, turn.names):
            return True
        return not only_look(self._sentences.commands(text, turn.names, turn.room))
