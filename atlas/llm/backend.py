"""The contract of a backend: messages and tools in, a stream of words and tool calls out."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from atlas.conversation import Message, Tool, ToolCall, Usage

ToolChoice = Literal["auto", "required", "none"] | str  # anything else is the name of the one tool to call
Finish = Literal["stop", "tool_calls", "length"]
Priority = Literal["voice", "chat", "background"]  # who waits: somebody listening, somebody reading, nobody


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be generated, and how wildly. `None` leaves it to the server's own default."""

    max_tokens: int | None = None
    temperature: float | None = None
    parallel_calls: bool | None = None  # several in one answer


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Calls:
    """The finished tool calls of the answer, arguments parsed; at most once, after the last words."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The last delta of a stream that was not abandoned."""

    finish: Finish
    usage: Usage


Delta = TextPiece | Calls | Finished


@dataclass(frozen=True, slots=True)
class Embeddings:
    """A vector for each text, in their order, and what reading them took."""

    vectors: tuple[tuple[float, ...], ...]
    tokens: int = 0  # that were read; 0 where the server does not tell
    cut: frozenset[int] = frozenset()  # which texts, counted from 0, were too long: only their beginning was read


@dataclass(frozen=True, slots=True)
class BackendPrompt:
    """What a model is asked, and for whom. `conversation` names whose key-value cache to go on with; "" shares none."""

    messages: Sequence[Message]
    tools: Sequence[Tool] = ()
    tool_choice: ToolChoice = "auto"
    limits: Limits = Limits()
    conversation: str = ""
    priority: Priority = "chat"


class Backend(Protocol):
    """A language model somewhere."""

    model: str

    def stream(self, prompt: BackendPrompt) -> AsyncGenerator[Delta, None]:
        """Yield the answer as it is made: words, perhaps calls, then exactly one `Finished`.

        Consume it under `aclosing`: closing the generator, or cancelling the task, stops the generation before the next
        token, and is safe. A call whose arguments are not a JSON object that fits its schema never comes out as
        `Calls`: it raises `EngineError`. Raises `LlmGone` when the model cannot be reached or vanishes; the next call
        may work.
        """
        ...

    async def prefill(self, prompt: BackendPrompt) -> None:
        """Have the prompt read ahead, so that an answer to it, or to one that begins like it, starts at once.

        Gives way to every answer that is asked for meanwhile, by the same person too; a server that offers no such
        thing is left alone. Raises what `stream` raises. Cancelling is safe, and stops the reading.
        """
        ...

    async def forget(self, conversation: str) -> None:
        """Drop what the server keeps of a conversation, in memory and on disk. Raises `LlmGone`. Idempotent."""
        ...

    async def embed(self, texts: Sequence[str], *, priority: Priority = "chat") -> Embeddings:
        """Return a vector of length 1 for each text: alike in meaning, near in direction. Cancelling is safe.

        Raises `EngineError` for an empty text and when the server has no model for it, `LlmGone` as `stream` does.
        """
        ...

    async def health(self) -> str:
        """Return the name of the model that is loaded and ready; raise `LlmGone` when there is none.

        A server that is not ours may only tell that it is there.
        """
        ...

    async def aclose(self) -> None:
        """Close connections. Idempotent."""
        ...
