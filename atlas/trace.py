"""Stage timings of a turn, and the one log line it leaves."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Stage = Literal["wake", "vad", "stt", "voice", "route", "llm", "tool", "tts"]
log = logging.getLogger("atlas")


class Trace:
    """The stopwatch of one turn. Seconds by stage, added up when a stage happens twice; marks by name.

    Times are read from `time.monotonic`; they are measurements, and nothing decides by them.
    """

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.stages: dict[str, float] = {}
        self.marks: dict[str, float] = {}

    @contextmanager
    def stage(self, name: Stage) -> Iterator[None]:
        """Time what happens inside, also when it fails or is cancelled, and mark when it began first."""
        self.mark(f"{name}_began")
        start = time.monotonic()
        try:
            yield
        finally:
            self.stages[name] = self.stages.get(name, 0.0) + time.monotonic() - start

    def mark(self, name: str) -> None:
        """Note when something happened first, in seconds since the trace began; later ones are ignored."""
        self.marks.setdefault(name, time.monotonic() - self.began)

    def milliseconds(self) -> dict[str, int]:
        """Return stages as `NAME_ms` and marks as `NAME_at_ms`, rounded."""
        stages = {f"{name}_ms": round(seconds * 1000) for name, seconds in self.stages.items()}
        return stages | {f"{name}_at_ms": round(seconds * 1000) for name, seconds in self.marks.items()}


_current: ContextVar[Trace | None] = ContextVar("atlas_trace", default=None)


def current() -> Trace:
    """Return the trace of the turn this task works for; outside a turn, one that nobody reads."""
    return _current.get() or Trace()


@contextmanager
def tracing(trace: Trace) -> Iterator[Trace]:
    """Make `trace` the current one for this task and the tasks it starts."""
    token = _current.set(trace)
    try:
        yield trace
    finally:
        _current.reset(token)


def line(event: str, **fields: object) -> None:
    """Log one event with its fields: `turn ended device=kitchen agent=family`."""
    log.info("%s %s", event, " ".join(f"{name}={_plain(value)}" for name, value in fields.items()))


def _plain(value: object) -> str:
    text = str(value)
    # What is not printable would move the cursor of whoever reads the log, or turn the line around.
    plain = text and text.isprintable() and not any(c.isspace() or c in "=\"'" for c in text)
    return text if plain else repr(text)
