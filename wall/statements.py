"""What a person's answer says once it is signed: to which question, of which call, from whom. Pure."""

from __future__ import annotations

import hashlib
from typing import Any

from wall.meta import ANSWER_AUDIENCE

STATEMENT_SECONDS = 30  # it is used at once, but a tool server that starts again takes a few seconds


def answer_claims(
    question: tuple[str, str, str, str], *, yes: bool, channel: str, person: str, device: str, now: float
) -> dict[str, Any]:
    """Return the claims of an answer; `question` is its id, its tool, the hash of its arguments and its sentence."""
    ask, tool, arguments_sha256, sentence = question
    return {
        "aud": ANSWER_AUDIENCE,
        "ask": ask,
        "answer": "yes" if yes else "no",
        "channel": channel,
        "person": person,
        "device": device,
        "tool": tool,
        "arguments_sha256": arguments_sha256,
        "sentence_sha256": hashlib.sha256(sentence.encode()).hexdigest(),
        "iat": int(now),
        "exp": int(now) + STATEMENT_SECONDS,
    }
