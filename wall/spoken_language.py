"""Knows the language in which sentences are spoken here: of this task, and of the threads and tasks that it starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_language: ContextVar[str] = ContextVar("language", default="en")


def language() -> str:
    """Return the language that is spoken here, such as "de"."""
    return _language.get()


def speaks(code: str) -> None:
    """Have everything that runs from here on speak a language."""
    _language.set(code)


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Have everything inside the block speak a language; "" leaves it as it is."""
    token = _language.set(code or _language.get())
    try:
        yield
    finally:
        _language.reset(token)
