"""The shapes that all resources of the API share: strict bodies, replies of tools, questions and errors."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

NAME_CHARACTERS = 100
TEXT_CHARACTERS = 2_000

Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
OptionalName = Annotated[str, Field(max_length=NAME_CHARACTERS)]
SamePerson = Annotated[
    bool, Field(description="It is somebody whom the house knows already: the device reads all that they said")
]
Text = Annotated[str, Field(min_length=1, max_length=TEXT_CHARACTERS)]
ID = Annotated[str, Path(min_length=1, max_length=NAME_CHARACTERS, description="The id, or the name, of one")]
QueryText = Annotated[str, Query(max_length=200)]


Since = Annotated[float | None, Query(ge=0, le=2**40, description="Seconds since 1970")]


class Body(BaseModel):
    """What a client sends: a field that nobody reads would be lost in silence, so it is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ApiReply(BaseModel):
    """What a client is sent; made of the house's own values by `model_validate`, where their fields have its names."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True, from_attributes=True)


class ReceiptReply(ApiReply):
    """Proof that something changed; `history/undo` takes it back by this id."""

    id: str
    changed: str


class ToolReply(ApiReply):
    """What a tool answered beside its data: a sentence in the house's language, and a receipt of what changed."""

    sentence: str = ""
    receipt: ReceiptReply | None = None


class PaperProblem(ApiReply):
    """A paper of the house that nobody can read, and why."""

    file: str
    problem: str


class AskReply(ApiReply):
    """A question that waits for a person's yes. Nothing was done; `POST /api/asks/{id}` answers it."""

    id: str
    sentence: str = Field(description="The question, with what would be done read back")
    level: str = Field(description="`explicit` when the button must name the deed, else `confirm`")
    tool: str
    expires_at: float = Field(description="Seconds since 1970")
    seconds_left: float = Field(description="For clients whose clock is not the house's")


class WaitingReply(ApiReply):
    """202: a person has to say yes first."""

    ask: AskReply


class ErrorBody(ApiReply):
    """What went wrong."""

    code: str = Field(description="A short reason for programs")
    sentence: str = Field(description="For people")
    hint: str = Field(description="What to do about it; may be empty")
    field: str = Field(description="Which field of the request is meant; may be empty")
    details: dict[str, Any] = Field(description="What a tool knows of it, such as which of several could be meant")


class ErrorReply(ApiReply):
    """The one shape of all errors."""

    error: ErrorBody


MAY_ASK: dict[int | str, dict[str, Any]] = {
    202: {"model": WaitingReply, "description": "A person has to say yes first: nothing was done"}
}
