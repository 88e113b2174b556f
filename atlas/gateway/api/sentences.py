"""Sentences: what the house was taught in the app, each with the calls that it stands for; teach one, remove one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from pydantic import Field

from atlas.agents.taught_sentences import MOST_TEXT, Teaching
from atlas.errors import RequestError
from atlas.gateway.api.caller import Caller, OwnerCaller, require_part
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import NAME_CHARACTERS, ApiReply, Body, ToolReply

router = resource("sentences")
Sentence = Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]
SentenceID = Annotated[str, Path(min_length=1, max_length=NAME_CHARACTERS)]


class SentenceCall(ApiReply):
    """One call that a sentence stands for."""

    tool: str
    arguments: dict[str, Any]


class SentenceItem(ApiReply):
    """One sentence that was taught."""

    id: str
    text: str
    meaning: str = Field(description="The sentence by which its meaning was given")
    calls: list[SentenceCall]


class SentencesReply(ApiReply):
    """The sentences that were taught, the oldest first."""

    sentences: list[SentenceItem]


class SentenceDraft(Body):
    """What somebody says, and what it is to do."""

    text: Sentence
    meaning: Annotated[str, Field(max_length=MOST_TEXT, description="Empty: what the text means by itself")] = ""


@router.get("")
async def list_sentences(caller: OwnerCaller) -> SentencesReply:
    """List the sentences that the house was taught."""
    return SentencesReply(sentences=[SentenceItem.model_validate(one) for one in await _teaching(caller).list()])


@router.post("", status_code=201)
async def teach_sentence(caller: OwnerCaller, body: SentenceDraft) -> SentenceItem:
    """Teach the house a sentence: it is heard better from now on, and does what it was taught."""
    teaching = _teaching(caller)
    await caller.use_owner_tool(ToolReply, "settings.change", names=["sentences"])
    return SentenceItem.model_validate(await teaching.add(body.text, body.meaning))


@router.delete("/{sentence}", status_code=204)
async def remove_sentence(caller: OwnerCaller, sentence: SentenceID) -> None:
    """Have the house unlearn a sentence."""
    teaching = _teaching(caller)
    await caller.use_owner_tool(ToolReply, "settings.change", names=["sentences"])
    if not await teaching.remove(sentence):
        raise RequestError("no sentence that was taught has that id", code="not_found")


def _teaching(caller: Caller) -> Teaching:
    return require_part(caller.house.teaching, "this house cannot be taught sentences")
