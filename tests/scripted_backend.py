"""A backend that reads its answers from a script.

It keeps every promise of the contract but one: calls come as the script has them, whether they fit or not, so that a
mind can be shown what no other backend would let through.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import anyio

from atlas.conversation import ToolCall, Usage
from atlas.errors import EngineError, LlmGone
from atlas.llm.backend import BackendPrompt, Calls, Delta, Embeddings, Finished, Priority, TextPiece

DIMENSIONS = 64  # of the vectors that `embed` makes
READ_WORDS = 512  # of a text that it embeds


@dataclass(frozen=True, slots=True)
class Vanish:
    """In a script: the model is gone from here on."""


Line = Delta | Vanish
Script = str | Sequence[Line]  # a text is said word by word


@dataclass(frozen=True, slots=True)
class ScriptedSettings:
    """The answers in order, or a function of the prompt; when they run out, `LlmGone`."""

    answers: Iterable[Script] | Callable[[BackendPrompt], Script] = ()
    seconds_between: float = 0.0  # of `anyio.sleep` before each delta
    model: str = "scripted"
    prompts: list[BackendPrompt] = field(default_factory=list)  # filled with what was asked


class ScriptedBackend:
    """Keeps the contract of `Backend`. `prompts` holds what it was asked, `abandoned` counts streams that were left.

    `read_ahead` holds what was prefilled, `forgotten` the conversations that were, `embedded` the texts and for whom.
    """

    def __init__(self, settings: ScriptedSettings) -> None:
        self.model = settings.model
        self.prompts = settings.prompts
        self.abandoned = 0
        self.read_ahead: list[BackendPrompt] = []
        self.forgotten: list[str] = []
        self.embedded: list[tuple[tuple[str, ...], Priority]] = []
        self._seconds = settings.seconds_between
        self._answers = settings.answers if callable(settings.answers) else _in_order(settings.answers)

    async def stream(self, prompt: BackendPrompt) -> AsyncGenerator[Delta, None]:
        """Yield the next answer of the script; `Finished` is added when the script does not say how it ends."""
        prompt = _as_it_is(prompt)
        self.prompts.append(prompt)
        ended = False
        try:
            for line in _lines(self._answers(prompt)):
                await anyio.sleep(self._seconds)
                if isinstance(line, Vanish):
                    ended = True
                    raise LlmGone("the scripted model vanished")
                ended = isinstance(line, Finished)
                yield line
        finally:
            self.abandoned += not ended

    async def prefill(self, prompt: BackendPrompt) -> None:
        """Note it."""
        self.read_ahead.append(_as_it_is(prompt))

    async def forget(self, conversation: str) -> None:
        """Note it."""
        self.forgotten.append(conversation)

    async def embed(self, texts: Sequence[str], *, priority: Priority = "chat") -> Embeddings:
        """Return vectors that are nearer the more words two texts share. A word is a token."""
        if not all(texts):
            raise EngineError("an empty text has no vector")
        self.embedded.append((tuple(texts), priority))
        words = [text.lower().split() for text in texts]
        cut = frozenset(place for place, parts in enumerate(words) if len(parts) > READ_WORDS)
        read = [parts[:READ_WORDS] for parts in words]
        return Embeddings(tuple(map(_by_words, read)), sum(map(len, read)), cut)

    async def health(self) -> str:
        """Return the name."""
        return self.model

    async def aclose(self) -> None:
        """Nothing is open."""


def call(name: str, _id: str = "call_1", **arguments: object) -> tuple[Line, ...]:
    """Return the script of an answer that calls one tool."""
    return (Calls((ToolCall(_id, name, arguments),)), Finished("tool_calls", Usage(10, 0, 5)))


def _as_it_is(prompt: BackendPrompt) -> BackendPrompt:
    # The lists of whoever asks go on growing.
    return replace(prompt, messages=tuple(prompt.messages), tools=tuple(prompt.tools))


def _in_order(answers: Iterable[Script]) -> Callable[[BackendPrompt], Script]:
    remaining = iter(answers)

    def following(_prompt: BackendPrompt) -> Script:
        answer = next(remaining, None)
        if answer is None:
            raise LlmGone("the script is over")
        return answer

    return following


def _lines(answer: Script) -> Sequence[Line]:
    if not isinstance(answer, str):
        lines = list(answer)
        if lines and isinstance(lines[-1], (Finished, Vanish)):
            return lines
        called = any(isinstance(line, Calls) for line in lines)
        return [*lines, Finished("tool_calls" if called else "stop", Usage(10, 0, len(lines)))]
    words = [TextPiece(part) for part in _words(answer)]
    return [*words, Finished("stop", Usage(10, 0, len(words)))]


def _by_words(words: Sequence[str]) -> tuple[float, ...]:
    vector = [0.0] * DIMENSIONS
    for word in words or [""]:
        vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
    length = math.hypot(*vector)
    return tuple(value / length for value in vector)


def _words(text: str) -> list[str]:
    """Cut before each space, so that the pieces put together are the text."""
    parts = text.split(" ")
    return [part for part in [parts[0], *(f" {part}" for part in parts[1:])] if part]
