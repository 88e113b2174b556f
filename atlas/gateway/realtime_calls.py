"""Calls of tools that a Realtime client has brought: a turn waits for what its client says came of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from atlas.conversation import ToolCall, ToolResult

ANSWER_SECONDS = 60.0  # for a program, and perhaps its person; then the turn goes on without
NO_ANSWER = "The program that was to do it gave no answer."


@dataclass(slots=True)
class _Waiting:
    output: str | None = None
    goes_on: anyio.Event = field(default_factory=anyio.Event)


class ClientCalls:
    """The calls of one connection that wait for their outputs."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    async def call(self, call: ToolCall) -> ToolResult:
        """Wait for what comes of a call; its output is words of others. Cancelling is safe."""
        waiting = self._waiting[call.id] = _Waiting()
        try:
            with anyio.move_on_after(ANSWER_SECONDS):
                await waiting.goes_on.wait()
                return ToolResult(call.id, True, waiting.output or "", untrusted=True)
        finally:
            del self._waiting[call.id]
        return ToolResult(call.id, False, NO_ANSWER, error="timeout")

    def note(self, call_id: str, output: str) -> bool:
        """Take what came of a call; False when nobody waits for it."""
        if call_id not in self._waiting:
            return False
        self._waiting[call_id].output = output
        return True

    @property
    def are_answered(self) -> bool:
        """Whether a turn waits that could go on."""
        return any(one.output is not None and not one.goes_on.is_set() for one in self._waiting.values())

    def go_on(self) -> None:
        """Let the turns go on whose calls are answered."""
        for waiting in self._waiting.values():
            if waiting.output is not None:
                waiting.goes_on.set()
