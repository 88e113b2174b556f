"""Formats failures for logs: where, and of what kind; not the words that they quote, which may be a person's.

A log outlives what somebody wants to be forgotten. A `KeyError` holds its key, and a validation's complaint all that it
complains of; only a `LoggedError` is worded for logs.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType
from typing import TypeVar

MOST_LINKS = 8  # of failures that led to one another
MOST_FRAMES = 30  # innermost; a recursion without end has a thousand alike
Failure = TypeVar("Failure", bound=BaseException)


class LoggedError(Exception):
    """A failure whose text is worded for logs and repeats nobody's words."""


def kind(trouble: BaseException) -> str:
    """Return what a failure is called in a log and on a wire."""
    if isinstance(trouble, LoggedError):
        return str(trouble)
    name = type(trouble).__qualname__
    return f"{name}: {trouble.strerror}" if isinstance(trouble, OSError) and trouble.strerror else name


def failures_in(group: BaseExceptionGroup[Failure]) -> Iterator[Failure]:
    """Yield the failures that task groups have put into groups, however deep."""
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from failures_in(one)
        else:
            yield one


def to_stderr(level: int, line: str) -> None:
    """Send this process's log to stderr; `line` is what a line looks like, as `logging.Formatter` takes it."""
    out = logging.StreamHandler(sys.stderr)
    out.setFormatter(Wordless(line))
    logging.basicConfig(handlers=[out], level=level)


class Wordless(logging.Formatter):
    """Tells of a failure by its frames and kinds."""

    def formatException(self, ei: object) -> str:  # noqa: N802 - the library's name
        """Return the frames of a failure and of what led to it, outermost cause first."""
        match ei:
            case (_, BaseException() as trouble, TracebackType() | None):
                return "".join(_story(trouble, MOST_LINKS)).rstrip()
        return ""


def _story(trouble: BaseException, links: int) -> Iterator[str]:
    cause = trouble.__cause__ or (None if trouble.__suppress_context__ else trouble.__context__)
    if cause and links:
        yield from _story(cause, links - 1)
        yield "which led to\n"
    yield from traceback.format_tb(trouble.__traceback__, -MOST_FRAMES)
    yield f"{kind(trouble)}\n"
    if isinstance(trouble, BaseExceptionGroup) and links:
        for part in trouble.exceptions:
            yield "in it\n"
            yield from _story(part, links - 1)
