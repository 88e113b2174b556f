"""Answers questions and complaints about what the house did, sent or noted, from the talk itself. Pure.

What counts as done is what a receipt stands behind: where the last request came to nothing, that is said, and what was
done before it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.understanding.clarifications import Clarifications
from atlas.understanding.dialogue import SCENE, UNDO, EarlierTurn
from atlas.understanding.dialogue_turn import DialogueTurn, Understand
from atlas.understanding.meaning import TurnMeaning, leaning
from atlas.understanding.parser import BROADCAST, LEAVE
from atlas.understanding.patterns import Rewrites, filled
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import Command
from atlas.understanding.spoken_tools import open_spoken_tools

LAST, REMINDERS = "history.last", "reminders.list"
WORDLESS = "facts."  # tools whose receipts do not say what was noted
_ENDS = " .,!?"


class AboutDeeds:
    """How one language speaks of what was done. `words` is its table `about_deeds`. Immutable."""

    def __init__(
        self, words: Mapping[str, Any], sentences: SentenceReader, questions: Clarifications, wanted: Understand
    ) -> None:
        self._sentences, self._questions, self._wanted = sentences, questions, wanted
        self._table = open_spoken_tools()
        parts: Mapping[str, str] = words.get("parts", {})
        ways: Mapping[str, Sequence[str]] = words.get("ways", {})
        self._ways = {
            name: [re.compile(filled(way, parts), re.IGNORECASE) for way in every] for name, every in ways.items()
        }
        self._says: Mapping[str, str] = words.get("says", {})
        self._plainly = Rewrites(words.get("plainly", ())).written

    def answer(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is said of the last deeds to who asks for them or complains; `None` for all else."""
        text = turn.heard.verbatim[0].replace("’", "'").strip(_ENDS)
        kind, given = self._read(text)
        who, what = given.get("who", ""), given.get("what", "")
        match kind:
            case "asks_of_reminders":
                person = turn.names.person(who)
                return TurnMeaning(commands=(Command(REMINDERS, {"person": person}),)) if person else None
            case "asks_if_told":
                return self._whether_told(turn, what, who)
            case "asks_of_words":
                sent = self._words_sent(turn, turn.names.person(who))
                return leaning(sent or self._says["sent_nothing"]) if sent or who else None
            case "asks_whether":
                return self._whether_done(turn, what)
            case "asks_when" if not any(map(self._deeds, self._before(turn)[:1])):
                return None
            case "asks" | "asks_when":
                return self._last_done(turn)
            case "rather":
                return self._put_right(turn, given["rest"])
            case "complains":
                return self._of_complaint(turn)
        return None

    def _read(self, text: str) -> tuple[str, Mapping[str, str]]:
        """Return what kind of question or complaint a text is, and what it names; "" for none."""
        every = ((kind, way.fullmatch(text)) for kind, ways in self._ways.items() for way in ways)
        kind, match = next(((kind, match) for kind, match in every if match), ("", None))
        return kind, {name: value for name, value in match.groupdict().items() if value} if match else {}

    # ── what was done ───────────────────────────────────────────────────────────────────────────────

    def _deeds(self, exchange: EarlierTurn) -> list[str]:
        """Return what was said of each deed of an exchange that changed something."""
        rows = zip(exchange.calls, exchange.changed, exchange.says, strict=True)
        return [says for call, changed, says in rows if changed and not self._table.only_looks(call.name)]

    def _before(self, turn: DialogueTurn) -> Sequence[EarlierTurn]:
        """Return the exchanges, the latest first, without questions about what was done."""
        return [one for one in turn.exchanges if not self._is_question(one)]

    def _is_question(self, exchange: EarlierTurn) -> bool:
        text = exchange.request.replace("’", "'").strip(_ENDS)
        return any(call.name == LAST for call in exchange.tried) or self._read(text)[0].startswith("asks")

    def _last_done(self, turn: DialogueTurn) -> TurnMeaning:
        """Return what was done last, in this talk or before it."""
        exchanges = self._before(turn)
        if not exchanges:
            return TurnMeaning(commands=(Command(LAST, {}),))
        if deeds := self._deeds(exchanges[0]):
            if any(call.name == SCENE for call in exchanges[0].calls):
                return leaning(self._says["scene"].format(" ".join(deeds)))
            if any(call.name.startswith(WORDLESS) for call in exchanges[0].calls):
                return leaning(self._says["now"].format(" ".join(deeds)))
            count = {"count": len(deeds)} if len(deeds) > 1 else {}
            return leaning((Command(LAST, count),))
        earlier = next(filter(None, map(self._deeds, exchanges)), [])
        return leaning(self._says["before"].format(" ".join(earlier)) if earlier else self._says["nothing"])

    def _whether_done(self, turn: DialogueTurn, what: str) -> TurnMeaning:
        """Return whether something was done, to what is named or at all."""
        frames, names = self._sentences.frames, turn.names
        known = frames.lexicon.known_tokens(what, names) if what else ()
        kinds = {one.value[0] for one in known if one.category == "kind"}
        devices = {one.value.name for one in known if one.category == "device"}
        if not (kinds or devices):
            return self._last_done(turn)
        for exchange in self._before(turn):
            if any(thing.kind in kinds or thing.name in devices for thing in exchange.things) and (
                deeds := self._deeds(exchange)
            ):
                return leaning(self._says["yes"].format(" ".join(deeds)))
        return leaning(self._says["no"])

    # ── what was sent ───────────────────────────────────────────────────────────────────────────────

    def _words_sent(self, turn: DialogueTurn, person: str) -> str:
        """Return the last words that went to somebody, or aloud to all; "" where there were none in this talk."""
        for exchange in turn.exchanges:
            sent = [one for one in exchange.calls if one.name in (BROADCAST, LEAVE)]
            fitting = [one for one in sent if not person or one.arguments.get("person") == person]
            if fitting:
                return " ".join(
                    self._says["to_one" if call.arguments.get("person") else "to_all"].format(
                        text=call.arguments.get("text", ""), person=call.arguments.get("person", "")
                    )
                    for call in fitting
                )
        return ""

    def _whether_told(self, turn: DialogueTurn, what: str, who: str) -> TurnMeaning | None:
        """Return whether something was among what was sent."""
        person = turn.names.person(who)
        sent = self._words_sent(turn, person)
        if not sent:
            return leaning(self._says["sent_nothing"]) if person else None
        words = [word for word in what.casefold().split() if len(word) > 2]
        if not words:
            return leaning(sent)
        return leaning(self._says["yes" if all(word in sent.casefold() for word in words) else "not_that"].format(sent))

    # ── what was wrong ──────────────────────────────────────────────────────────────────────────────

    def _put_right(self, turn: DialogueTurn, rest: str) -> TurnMeaning | None:
        """Return the deed that was meant: "I said off, not down"; of no deed, what is said to a complaint."""
        plainly = self._plainly(rest)
        meant = self._wanted(replace(turn.heard, readings=(plainly,), verbatim=(plainly,)))
        return meant if meant.commands else self._of_complaint(turn)

    def _of_complaint(self, turn: DialogueTurn) -> TurnMeaning:
        """Return what was done last, and the question whether to take it back; nothing done is regretted."""
        exchanges = self._before(turn)
        deeds = self._deeds(exchanges[0]) if exchanges else []
        if not deeds or any(call.name == UNDO for call in exchanges[0].calls):
            return leaning(self._says["sorry"])
        return self._questions.whether(self._says["back"].format(" ".join(deeds)), (Command(UNDO, {}),) * len(deeds))
