"""Says the last answer once more, to whoever did not hear it."""

from __future__ import annotations

from atlas.agents.agent import AgentAnswer, say
from atlas.agents.agent_asking import ConfirmationSource
from atlas.conversation import Turn
from atlas.events import Emit
from atlas.understanding.understanding import Understanding


class Repetition:
    """Says its last answer once more, to who did not hear it: "pardon?", "say that again"."""

    def __init__(self, confirmations: ConfirmationSource) -> None:
        self._confirmations = confirmations

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Answerer.answer`."""
        words = self._confirmations.once_more(turn)
        return await say(words, emit) if words else None

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`."""
        return bool(self._confirmations.once_more(turn))
