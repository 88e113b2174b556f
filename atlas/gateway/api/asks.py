"""Asks: the questions that wait for a person's yes, and their answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from atlas.confirmations import is_asker
from atlas.conversation import Actor
from atlas.gateway.api.caller import AnyCaller, Caller, answer_of, ask_values
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ID, MAY_ASK, ApiReply, AskReply, Body, ToolReply

router = resource("asks", asks=False)


class WaitingAsk(AskReply):
    """A question that waits, and who asks."""

    agent: str
    person: str = Field(description="Who asks; empty when nobody knows who spoke")
    device: str
    room: str
    mine: bool = Field(description="Whether the caller asked this, on this device")


class AsksReply(ApiReply):
    """The questions that the caller may answer."""

    asks: list[WaitingAsk]


class Answer(Body):
    """A person's answer. Closing a question without one is a no."""

    answer: Literal["yes", "no"]
    channel: Literal["button", "terminal"] = Field("button", description="Where it was pressed")


class AnswerReply(ToolReply):
    """What came of it; with a receipt when it was a page that had asked."""

    id: str
    answer: Literal["yes", "no"]


@router.get("")
async def list_asks(caller: AnyCaller) -> AsksReply:
    """List the questions that wait and that the caller may answer."""
    waiting = await caller.house.asks(caller.actor)
    asks = [WaitingAsk(**ask_values(one.ask), agent=one.agent, **_asker(one.actor, caller)) for one in waiting]
    return AsksReply(asks=asks)


@router.post("/{ask}", responses=MAY_ASK)
async def answer_ask(caller: AnyCaller, ask: ID, body: Answer) -> AnswerReply:
    """Answer a question; what it was about is done, once, before this returns."""
    result = await caller.house.answer_ask(ask, caller.actor, body.channel, yes=body.answer == "yes")
    return AnswerReply.model_validate({"id": ask, "answer": body.answer, **answer_of(result)})


def _asker(who: Actor, caller: Caller) -> dict[str, Any]:
    return {"person": who.person, "device": who.device, "room": who.room, "mine": is_asker(caller.actor, who)}
