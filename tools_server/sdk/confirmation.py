"""A question that waits for a person's yes, what that yes is for, and the answer to it. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from tools_server.values.policy import CallActor

ConfirmationLevel = Literal["confirm", "explicit"]


@dataclass(frozen=True, slots=True)
class ConfirmedCall:
    """What one yes is for."""

    agent: str
    actor: CallActor
    tool: str
    arguments_sha256: str  # of the canonical arguments, defaults filled in


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """A person's answer."""

    ask: str  # the id of its question
    answer: Literal["yes", "no"]
    channel: str  # one of `CHANNELS`; "client" when the caller itself took its wish back
    person: str = ""
    device: str = ""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A question to a person."""

    id: str
    deed: ConfirmedCall
    level: ConfirmationLevel
    sentence: str
    asked_at: float  # wall clock, seconds since 1970
    expires_at: float
    tainted: bool = False  # wished after reading words of others: it stays so until it is done
    # Answered, and not yet acted upon; rows of the first version called it "said".
    answer: Annotated[PersonAnswer | None, Field(alias="said")] = None
    language: str = ""  # of its sentence, such as "de"; "" in rows of older versions

    def shown(self) -> dict[str, Any]:
        """Return what whoever puts the question to a person must know, as JSON."""
        return {
            **{name: getattr(self, name) for name in ("id", "sentence", "level", "expires_at")},
            **{name: getattr(self.deed, name) for name in ("tool", "arguments_sha256")},
        }
