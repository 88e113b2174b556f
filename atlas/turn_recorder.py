"""Passes the events of a turn on, and records the messages that they amount to so far. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from atlas import trace
from atlas.conversation import Message, ToolCall, ToolResult
from atlas.events import Emit, Event, Tainted, TextDelta, ToolFinished, ToolStarted


class TurnRecorder:
    """The events of one turn on their way up, and the messages they amount to.

    A reply that is cut off in the middle has no `Answer`; what had been said and done by then is kept from here.
    `as_read` writes a tool's result as the model will read it: it is marked there when words of others are in it, and
    whoever speaks over an answer must not wash them clean.
    """

    def __init__(self, emit: Emit, as_read: Callable[[ToolResult], str]) -> None:
        self._emit = emit
        self._as_read = as_read
        self._messages: list[Message] = []
        self._words = ""  # said since the last message
        self.text = ""  # the reply so far
        self.results: list[tuple[ToolCall, ToolResult]] = []  # of finished tool calls
        self.tainted = False  # words of others went into it that its messages do not show
        self.deaf = False  # the door failed to take an event, so it will not take another

    async def emit(self, event: Event) -> None:
        """Take note of `event` and pass it on; `Tainted` is the memory's, and no door's."""
        match event:
            case Tainted():
                self.tainted = True
                return
            case TextDelta(text):
                trace.current().mark("first_text")
                self.text += text
                self._words += text
            case ToolStarted():
                self._started(event)
            case ToolFinished(call, result):
                self.results.append((call, result))
                self._messages.append(Message("tool", self._as_read(result), call_id=call.id))
        try:
            await self._emit(event)
        except Exception:
            self.deaf = True
            raise

    def messages(self) -> tuple[Message, ...]:
        """Return the reply and its tool exchanges as far as they got."""
        return (*self._messages, *([Message("assistant", self._words)] if self._words else []))

    def _started(self, event: ToolStarted) -> None:
        """Begin a message with this call, or add it to the calls that are made together with it."""
        if self._messages and self._messages[-1].calls and not self._words:
            self._messages[-1] = replace(self._messages[-1], calls=(*self._messages[-1].calls, event.call))
        else:
            self._messages.append(Message("assistant", self._words, calls=(event.call,)))
            self._words = ""
