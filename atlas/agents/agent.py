"""The contract of an agent: a turn in, the reply up through emit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from atlas.conversation import Message, PendingConfirmation, Receipt, Turn, Usage
from atlas.events import Emit, End, Route, TextDelta
from atlas.understanding.choices import Choices
from atlas.understanding.dialogue import read_result
from atlas.understanding.understanding import Understanding


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """What an agent made of a turn. `messages` are the reply and its tool exchanges, whole, in order."""

    text: str
    path: Route
    end: End
    messages: tuple[Message, ...]
    receipts: tuple[Receipt, ...] = ()
    usage: Usage = Usage()
    error: str = ""
    choices: Choices | None = None  # the answer is a question between two: this waits for the next words
    pending: PendingConfirmation | None = None  # the answer is a question: this waits for a person's yes
    tainted: bool = False  # words of others went into it that neither its messages nor the history show

    @property
    def awaits_reply(self) -> bool:
        """Whether it is a question that the next words answer: the house's own, or a tool's.

        A text that is read out may end in a question mark too, and so may what a model says.
        """
        if self.choices or self.pending:
            return True
        results = [read_result(message.text) for message in self.messages if message.author == "tool"]
        words, last = str(results[-1].get("text", "")) if results else "", results[-1] if results else {}
        if words and self.text.endswith(words):
            return last.get("error") == "invalid" and words.endswith("?")
        return self.path == "command" and self.text.rstrip().endswith("?")


async def say(words: str, emit: Emit, messages: tuple[Message, ...] = ()) -> AgentAnswer:
    """Answer a turn with words of the house's own; `messages` are remembered instead of them."""
    await emit(TextDelta(words))
    return AgentAnswer(words, "command", "done", messages or (Message("assistant", words),))


class Answerer(Protocol):
    """One way of answering: it looks at what was understood, and parses nothing."""

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """Answer a turn that means this, as `Agent.respond` does; `None` to leave it to the next."""
        ...

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Agent.prepare`."""
        ...


class Prepared:
    """An answerer that says prepared words, and leaves to the next what it has none for."""

    def __init__(self, words: Callable[[Understanding, Turn], str]) -> None:
        self._words = words

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Answerer.answer`."""
        words = self._words(meant, turn)
        return await say(words, emit) if words else None

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`."""
        return bool(self._words(meant, turn))


def model_asked(turn: Turn) -> bool:
    """Tell whether the model's last words were a question, which these may answer."""
    last = turn.history[-1] if turn.history else None
    return last is not None and not last.ours and last.text.rstrip(" \"”'").endswith("?")


class Agent(Protocol):
    """Prompt, tools and limits, answering turns."""

    name: str

    async def respond(self, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """Answer the turn, emitting `TextDelta`, `ToolStarted` and `ToolFinished` on the way; `None` to decline.

        Whoever declines has emitted nothing and done nothing. Trouble with a model or a tool becomes an honest
        sentence and an `AgentAnswer` whose `end` is failed. Cancelling is safe: every `ToolStarted` gets its
        `ToolFinished` (under a shield) before the cancellation goes on up.
        """
        ...

    def answers(self, turn: Turn) -> bool:
        """Tell whether a turn answers what was asked last, and would mean nothing, or something else, by itself."""
        ...

    async def prepare(self, turn: Turn) -> bool:
        """Get ready for a turn whose words may still change; True when this agent would answer it as it stands.

        Says nothing, does nothing and remembers nothing. Raises `AtlasError`, which costs nothing but the head start.
        Cancelling is safe.
        """
        ...
