"""Marks answers in a history that a client keeps itself when they may repeat untrusted words.

What a tool answered is marked where the house remembers; a client has only what was said, without any mark. So an
answer that was free of words of others is known again by its letters, and any other that a client says was ours may
repeat a stranger's: one that quoted a mail, one from before a restart, and one that the client made up.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from atlas.agents.agent import AgentAnswer
from atlas.agents.prompt import words_of_others
from atlas.conversation import Turn
from atlas.latest import Latest

MOST_ANSWERS = 4096  # of the last ones; who goes on after more is asked before something is changed


class AnswerProvenance:
    """Knows the last answers that were free of words of others, and no word of them."""

    def __init__(self) -> None:
        self._ours = Latest[bytes, None](MOST_ANSWERS)

    def judged(self, turn: Turn) -> Turn:
        """Return a turn as tainted when its client says that we said what may be a stranger's."""
        texts = [message.text for message in turn.history if message.author == "assistant" and message.text]
        return (
            turn
            if turn.remembered or all(_digest(text) in self._ours for text in texts)
            else replace(turn, tainted=True)
        )

    def note(self, turn: Turn, answer: AgentAnswer) -> None:
        """Take note of what was answered, knowing `turn.history`."""
        known = (*turn.history, *answer.messages)
        if turn.tainted or answer.tainted or words_of_others(known, ours=turn.remembered):
            return
        self._ours[_digest(answer.text)] = None


def _digest(text: str) -> bytes:
    return hashlib.sha256("".join(text.split()).encode("utf-8", "replace")).digest()  # clients trim what they keep
