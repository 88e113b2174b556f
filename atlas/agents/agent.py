"""The contract of an agent: a turn in, the reply up through emit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from atlas.conversation import Asked, Message, Receipt, Turn, Usage
from atlas.events import Emit, End, Route


@dataclass(frozen=True, slots=True)
class Answer:
    """What an agent made of a turn. `messages` are the reply and its tool exchanges, whole, in order."""

    text: str
    path: Route
    end: End
    messages: tuple[Message, ...]
    receipts: tuple[Receipt, ...] = ()
    usage: Usage = Usage()
    error: str = ""
    asked: Asked | None = None  # the answer is a question: this waits for a person's yes
    tainted: bool = False  # words of others went into it that neither its messages nor the history show


class Agent(Protocol):
    """Prompt, tools and limits, answering turns."""

    name: str

    async def respond(self, turn: Turn, emit: Emit) -> Answer | None:
        """Answer the turn, emitting `TextDelta`, `ToolStarted` and `ToolFinished` on the way; `None` to decline.

        Whoever declines has emitted nothing and done nothing. Trouble with a model or a tool becomes an honest
        sentence and an `Answer` whose `end` is failed. Cancelling is safe: every `ToolStarted` gets its
        `ToolFinished` (under a shield) before the cancellation goes on up.
        """
        ...

    async def prepare(self, turn: Turn) -> bool:
        """Get ready for a turn whose words may still change; True when this agent would answer it as it stands.

        Says nothing, does nothing and remembers nothing. Raises `AtlasError`, which costs nothing but the head start.
        Cancelling is safe.
        """
        ...
