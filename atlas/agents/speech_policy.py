"""Decides what may be spoken in a turn: tools' sentences, a model's words about the world, or a prepared one. Pure.

A model may write anything, so what it writes is never examined for being true. Whoever asks for a deed, or about this
house, hears tools and nobody else: a claim that no receipt stands behind has no way out. A model speaks where somebody
asked about the world, and of the world alone: its sentences are read as those of a person are, and one that is about
this house is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from atlas.agents.agent import model_asked
from atlas.conversation import Turn
from atlas.own_words import own as own_words
from atlas.understanding.concern import Claims, Concerns, SmallTalk
from atlas.understanding.names import Names
from atlas.understanding.remarks import REMARK
from atlas.understanding.understanding import Understanding
from wall.roles import may

DONT_KNOW = "I can't look that up."  # in a language that nobody wrote down
MISUSED = "I couldn't work out how to do that, so nothing was done."
MISSES = ("missed", "talk", "deed")  # names of what is said to those who were not understood
LONGEST_CHARACTERS = 600  # a sentence is not waited for longer than this
BEGUN_CHARACTERS = 100  # of a line that are read with the next
_WHOLE = re.compile(r"[.!?…:;][\"'”’“«)\]*_]*$")
_END = re.compile(r"[.!?…]+[\"'”’“«)\]*_]*(?=\s)\s+|\n+")


@dataclass(frozen=True, slots=True)
class SpeechVerdict:
    """What may be spoken in one turn. Tools always speak."""

    prepared: str = ""  # said where no tool answers; "" where the model's own words may be spoken

    @property
    def of_world(self) -> bool:
        """Whether words of the model may be spoken, as long as it calls no tool."""
        return not self.prepared


class SpeechPolicy:
    """Decides what may be spoken, from what was understood. `answers`: its model may speak of the world at all."""

    def __init__(
        self,
        tables: Mapping[str, Any],
        names: Callable[[], Names],
        *,
        trusted: bool,
        answers: bool,
        claims: Claims | None = None,
    ) -> None:
        self._concerns, self._small_talk = Concerns(tables, claims), SmallTalk(tables)
        self._says: Mapping[str, str] = tables.get("concern", {}).get("says", {})
        self._names = names
        self._trusted = trusted
        self._answers = answers

    def of(self, meant: Understanding, turn: Turn) -> SpeechVerdict:
        """Return what may be spoken in a turn that means this, and that no answerer before the model understood."""
        by_program = turn.channel is None or (turn.instructions and not turn.spoken and not self._trusted)
        if by_program:
            return SpeechVerdict()  # it works with words, and nobody in the house asked for anything
        plain = meant.plain or turn.text
        about = "house" if meant.concern == "cannot" else self._concerns.of(plain, self._names())
        small = self._small_talk.answer(meant.plain, turn.text)
        misheard = turn.doubtful and not small and not self._concerns.asks(plain) and not self._trusted
        of_world = about == "world" or (about == "talk" and (self._trusted or model_asked(turn)))
        if of_world and self._answers and not misheard and (self._trusted or not small):
            return SpeechVerdict()
        if small and not misheard:
            return SpeechVerdict(small)
        name = "missed" if misheard else self._concerns.sentence(plain, about)
        if name in ("talk", "deed") and meant.concern in ("cannot", REMARK):
            name = meant.concern  # "order more paper towels", "Dad's asleep again" were understood
        return SpeechVerdict(self._prepared(name, turn))

    def filter(self, request: str, lookup: str = "") -> SentenceFilter:
        """Return what an answer of the model goes through, to a `request` about the world, after a `lookup` for it."""
        return SentenceFilter(lambda sentence: not self._concerns.strays(sentence, request, self._names(), lookup))

    def _prepared(self, name: str, turn: Turn) -> str:
        """Return what this is answered with; who was not understood twice in a row hears of help."""
        if name == "world" and not turn.spoken and may(turn.actor.role, "manage"):
            name = "world_owner"  # who may choose another model
        says = self._says.get(name, own_words(MISUSED if self._trusted else DONT_KNOW))
        missed = {self._says.get(one) for one in MISSES}
        last = turn.history[-1].text if turn.history else ""
        again = name in MISSES and last in missed and "again" in self._says and not self._trusted
        return self._says["again"].format(says) if again else says


class SentenceFilter:
    """Lets an answer through sentence by sentence as it streams, but for those that `passes` says no to.

    A line that no mark ends goes on in the next: they are read together.
    """

    full = False

    def __init__(self, passes: Callable[[str], bool]) -> None:
        self._passes = passes
        self._unread = ""
        self._begun = ""  # the end of the line before, if its sentence has not ended

    def feed(self, text: str) -> str:
        """Take more of an answer; return the whole sentences of it that may be spoken."""
        self._unread += text
        free: list[str] = []
        while end := _end(self._unread):
            sentence, self._unread = self._unread[:end], self._unread[end:]
            free.append(self._passed(sentence))
        return "".join(free)

    def rest(self) -> str:
        """Return the end of the answer, if that may be spoken."""
        rest, self._unread = self._unread, ""
        return self._passed(rest)

    def _passed(self, part: str) -> str:
        whole, words = f"{self._begun} {part}" if self._begun else part, part.rstrip()
        self._begun = "" if not words or _WHOLE.search(words) else words[-BEGUN_CHARACTERS:]
        return part if self._passes(part) and (whole == part or self._passes(whole)) else ""


def _end(text: str) -> int:
    """Return where the first sentence of `text` ends, its white space included; 0 while it has not ended."""
    if match := _END.search(text[: LONGEST_CHARACTERS + 1]):
        return match.end()
    return 0 if len(text) <= LONGEST_CHARACTERS else (text.rfind(" ", 0, LONGEST_CHARACTERS) + 1 or LONGEST_CHARACTERS)
