"""The questions that wait for a person's yes, and the way for the house to bring it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from tools_server.gate.confirmations import STATEMENT_CHARACTERS
from tools_server.sdk.confirmation import Confirmation
from tools_server.sdk.toolkit import Call, Result, house_look, tool
from tools_server.values.language import text as _

ASK: dict[str, Any] = {"id": str, "sentence": str, "level": str, "expires_at": float, "tool": str}
ASK |= {
    "arguments_sha256": str,
    "agent": str,
    "actor": {"person": str, "device": str, "role": str, "room": str, "device_id": str},
}
MISSED = ASK | {"asked_at": float}


@house_look("asks.waiting", data={"asks": [ASK], "missed?": [MISSED], "now": float}, limit_seconds=5)
async def waiting(
    call: Call, missed: Annotated[bool, Field(description="Tell also what nobody answered, the latest first")] = False
) -> Result:
    """Tell the house which questions wait for a person's answer."""
    asks = call.gate.asks.waiting()
    data: dict[str, Any] = {"asks": [_shown(ask) for ask in asks], "now": call.now()}
    if missed:
        data["missed"] = [_shown(ask) | {"asked_at": ask.asked_at} for ask in call.gate.asks.unanswered()]
    return Result(" ".join(ask.sentence for ask in asks) or _("Nothing is waiting for an answer."), data)


def _shown(ask: Confirmation) -> dict[str, Any]:
    return {**ask.shown(), "agent": ask.deed.agent, "actor": asdict(ask.deed.actor)}


@tool("asks.answer", data={"ask": str, "answer": str, "tool": str}, risk="change", agents=("house",), limit_seconds=5)
async def answer(
    call: Call, statement: Annotated[str, Field(max_length=STATEMENT_CHARACTERS, description="Signed by the house")]
) -> Result:
    """Bring a person's answer to a question; the next call of what was asked uses it up."""
    ask = call.gate.asks.hear(statement)
    assert ask.answer
    call.gate.tell("asks.waiting")
    text = _("Noted: yes.") if ask.answer.answer == "yes" else _("Noted: no.")
    return Result(text, {"ask": ask.id, "answer": ask.answer.answer, "tool": ask.deed.tool})
