"""What a call from a command line is, what comes of it, and what whoever makes it offers. Values only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


class CannotAsk(Exception):
    """The call was not made. `str()` is a sentence."""

    def __init__(self, type: str, sentence: str) -> None:
        super().__init__(sentence)
        self.type = type


@dataclass(frozen=True, slots=True)
class CommandLineCall:
    """What is to be called."""

    tool: str
    params: Mapping[str, Any]
    actor: Any
    turn: str = ""


@dataclass(frozen=True, slots=True)
class SignedYes:
    """What a person said, to bring along when the call is made again."""

    ask: str
    statement: str


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """What came of it, whichever way it was asked."""

    text: str
    error: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    receipt: Mapping[str, Any] | None = None
    ask: Mapping[str, Any] | None = None
    untrusted: bool = False  # words of others are in it


CallClient = Callable[[CommandLineCall, SignedYes | None], Awaitable[CallAnswer]]
