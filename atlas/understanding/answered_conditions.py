"""Reads a wish that waits for the answer to the look before it: "is the door locked?", "if not, lock it". Pure.

The answer stands in what the look found, so nothing is asked again: where it is as the wish needs it, the wish is read
as any turn is; where it is not, nothing is to be done, and the look is told once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atlas.understanding.command_traits import opens_up
from atlas.understanding.dialogue import EarlierTurn, is_so_now
from atlas.understanding.dialogue_turn import DialogueTurn, Understand
from atlas.understanding.meaning import TurnMeaning, leaning
from atlas.understanding.patterns import act_pattern, pattern
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import Command

READS_LIST, ADDS = "lists.read", "lists.add"


class AnsweredConditions:
    """How one language says "if not"; one without a table never does. `read_whole` reads the wish. Immutable."""

    def __init__(self, words: Mapping[str, Any], sentences: SentenceReader, read_whole: Understand) -> None:
        self._if = {True: pattern(words, "if_so"), False: pattern(words, "if_not")}
        self._writes = pattern(words, "writes")
        self._of_another = act_pattern(sentences.grammar.tables, "of_another")
        self._sentences = sentences
        self._read_whole = read_whole

    def answered(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the wish where its condition is met by what was just looked up, and else that look once more."""
        text, last = turn.heard.text, turn.last
        conditions = ((answer, way.match(text)) for answer, way in self._if.items())
        needed, match = next(((answer, match) for answer, match in conditions if match), (True, None))
        if match is None or last.last is None:
            return None
        item = self._item(turn)
        answer = self._answer(last, item)
        if answer is None:
            return None
        if answer is not needed:
            return leaning((Command(last.last.name, last.last.arguments),))
        wish = text[match.end() :].strip()
        if item and (written := self._writes.fullmatch(wish.strip(" .!?"))):
            more = self._sentences.grammar.slots.things(written["more"], written["more"]) if written["more"] else []
            given = {key: value for key, value in last.last.arguments.items() if key == "list"}
            return leaning((Command(ADDS, {"items": [item, *more], **given}),))
        if self._of_another.search(wish):
            return None
        meant = self._read_whole(turn.heard.saying(wish))
        return meant if meant.commands and not opens_up(meant.commands) else None

    def _item(self, turn: DialogueTurn) -> str:
        """Return the thing of which it was asked whether it stands on a list."""
        look = turn.last.last
        if look is None or look.name != READS_LIST:
            return ""
        if item := str(look.arguments.get("item", "")):
            return item
        things = self._sentences.parse(turn.last.request, turn.names, turn.room).phrases("T")
        return things[0] if len(things) == 1 else ""

    @staticmethod
    def _answer(last: EarlierTurn, item: str) -> bool | None:
        """Return whether what was asked is so; `None` where the look was no such question."""
        if item:
            return any(item.casefold() in thing.name.casefold() for thing in last.things)
        given = last.last.arguments if last.last and last.last.name == "home.state" else {}
        if not given.get("value"):
            return None
        if given.get("quantity") in ("any", "which"):
            return bool(last.things)
        return all(is_so_now(one.state, one.kind, str(given["value"])) for one in last.things) if last.things else None
