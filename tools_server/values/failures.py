"""What the log holds of a failure: where, and of what kind; not the words it quotes, which may be a person's.

The house has the same of its own (`atlas/logs.py`): neither process imports the other.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from types import TracebackType

MOST_LINKS = 8  # of failures that led to one another
MOST_FRAMES = 30  # innermost; a recursion without end has a thousand alike


def log_to_stderr() -> None:
    """Send this process's warnings to stderr."""
    out = logging.StreamHandler(sys.stderr)
    out.setFormatter(WordlessFailures("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(handlers=[out], level=logging.WARNING)


class WordlessFailures(logging.Formatter):
    """Tells of a failure by its frames and kinds: a `KeyError` holds its key, a validation's complaint all it got."""

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
    yield f"{type(trouble).__qualname__}{_said(trouble)}\n"
    if isinstance(trouble, BaseExceptionGroup) and links:
        for part in trouble.exceptions:
            yield "in it\n"
            yield from _story(part, links - 1)


def _said(trouble: BaseException) -> str:
    return f": {trouble.strerror}" if isinstance(trouble, OSError) and trouble.strerror else ""
