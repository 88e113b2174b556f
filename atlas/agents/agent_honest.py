"""What nobody here understood: said to be so by rule, where a model would only make something up.

An untrusted model is never asked for deeds, for this house, or for what only the present day knows; and one that may
not answer at all is asked for nothing. A trusted one has tools to look things up with, and is held to what they say
(see agent_chat.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from atlas.agents.agent import Answer
from atlas.conversation import Message, Turn
from atlas.events import Emit, TextDelta
from atlas.own_words import own
from atlas.understanding.concern import Concerns
from atlas.understanding.names import Names
from atlas.understanding.understanding import Understanding

DONT_KNOW = "I can't look that up."  # in a language that nobody wrote down

MISSES = ("missed", "talk", "deed")  # names of what is said to those who were not understood


class Honest:
    """Says what this house cannot do or know. `answers`: its model may speak of the world."""

    def __init__(self, own: Mapping[str, Any], names: Callable[[], Names], *, answers: bool) -> None:
        self._concerns = Concerns(own)
        self._says: Mapping[str, str] = own.get("concern", {}).get("says", {})
        self._names = names
        self._answers = answers

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> Answer | None:
        """See `Answerer.answer`."""
        words = self._words(meant, turn)
        if not words:
            return None
        await emit(TextDelta(words))
        return Answer(words, "command", "done", (Message("assistant", words),))

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`."""
        return bool(self._words(meant, turn))

    def _words(self, meant: Understanding, turn: Turn) -> str:
        """Return what is said; "" when the model may answer."""
        if turn.channel is None or (turn.instructions and not turn.spoken):
            return ""  # a program that works with words, and not a question of anybody in the house
        plain = meant.plain or turn.text
        about = "house" if meant.concern == "cannot" else self._concerns.of(plain, self._names())
        small = self._concerns.small_talk(meant.plain, turn.text)
        if turn.doubtful and not small and not self._concerns.asks(plain):
            return self._missed("missed", turn)
        if self._answers and (about == "world" or (about == "talk" and _was_asked(turn))):
            return ""
        if small:
            return small
        name = self._concerns.sentence(plain, about)
        if name in MISSES:
            return self._missed(name, turn)
        return self._says.get("world_typed" if name == "world" and not turn.spoken else name, own(DONT_KNOW))

    def _missed(self, name: str, turn: Turn) -> str:
        """Return that nothing was understood; the second time in a row with help."""
        says = self._says.get(name, own(DONT_KNOW))
        missed = {self._says.get(one) for one in MISSES}
        last = turn.history[-1].text if turn.history else ""
        return self._says["again"].format(says) if last in missed and "again" in self._says else says


def _was_asked(turn: Turn) -> bool:
    """Tell whether the model's last words were a question, which these may answer."""
    last = turn.history[-1] if turn.history else None
    return last is not None and not last.ours and last.text.rstrip(" \"”'").endswith("?")
