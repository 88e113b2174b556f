"""Reads what somebody only tells: a fact that is worth keeping, or a remark of which nothing is to come. Pure.

Both are asked for only where nothing else was understood. A fact is offered to be remembered; a remark is answered as
one, for "I didn't understand that" is no answer to "Dad's asleep on the sofa again".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from atlas.understanding.chances import SURE_OF_SILENCE
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.dialogue_turn import DialogueTurn
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.patterns import filled
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import Command

REMARK = "remark"  # the concern of a turn that is one
LONGEST_CHARACTERS = 160


class Remarks:
    """How one language tells things; one without the table `worth_keeping` offers to remember nothing."""

    def __init__(self, sentences: SentenceReader, questions: Clarifications) -> None:
        table: Mapping[str, str] = sentences.grammar.tables.get("worth_keeping", {})
        parts = {name: way for name, way in table.items() if name not in ("says", "told")}
        self._told = re.compile(filled(table.get("told", "(?!)"), parts), re.IGNORECASE)
        self._remember = table.get("says", "{}")
        self._sentences, self._questions = sentences, questions

    def fact(self, turn: DialogueTurn) -> TurnMeaning:
        """Return the offer to remember what a turn tells; nothing where it tells nothing that is worth keeping."""
        text = turn.heard.text.strip(" .,!")
        match = self._told.fullmatch(text) if len(text) <= LONGEST_CHARACTERS else None
        if match is None or self._sentences.frames.names_one(text, turn.names):
            return NO_DEED
        fact = Command("facts.remember", {"text": match["fact"]})
        return self._questions.whether(self._remember.format(match["fact"]), (fact,))

    def remark(self, turn: DialogueTurn) -> TurnMeaning:
        """Return that a turn is a mere remark, where the parser is sure that it asks for nothing."""
        text = turn.heard.text
        if len(text) > LONGEST_CHARACTERS or "?" in text:
            return NO_DEED
        parse = self._sentences.parse(text, turn.names, turn.room, turn.before)
        is_remark = parse.act == "nothing" and parse.chance >= SURE_OF_SILENCE
        return TurnMeaning(concern=REMARK) if is_remark else NO_DEED
