"""Notes: which there are, search and read them, write one, remove it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from atlas.errors import RequestError
from atlas.gateway.api.caller import ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply, Body, PaperProblem, ToolReply
from atlas.gateway.failures import ToolRefusal

PART_CHARACTERS = 1_900
router = resource("notes")
NoteTitle = Annotated[str, Field(min_length=1, max_length=200)]
NoteID = Annotated[str, Query(min_length=1, max_length=300, description="The file of a note, or its title")]
NoteText = Annotated[str, Field(max_length=1_900)]


class NoteItem(ApiReply):
    """One note, without its text."""

    title: str
    file: str
    created: str


class FoundNote(NoteItem):
    """A note that holds some words."""

    snippet: str


class NotesReply(ToolReply):
    """The notes, the newest first."""

    notes: list[NoteItem]
    problems: list[PaperProblem] = Field(default=[])


class FoundNotesReply(ToolReply):
    """The notes that hold all the words."""

    matches: list[FoundNote]
    problems: list[PaperProblem] = Field(default=[])


class NoteTextReply(ToolReply):
    """A note with its text, in Markdown."""

    note: NoteItem
    text: str
    truncated: bool
    revision: str = Field(description="Another one whenever the text is another one; empty when it is truncated")


class NoteReply(ToolReply):
    """The note that changed."""

    note: NoteItem


class NewNote(Body):
    """A note to be written."""

    title: NoteTitle
    text: NoteText = ""


class NoteEdit(Body):
    """The whole text of a note, as it is to be, and of which text that was made."""

    text: Annotated[str, Field(max_length=60_000)]
    revision: Annotated[str, Field(min_length=1, max_length=64, description="Of the text that was edited")]


@router.get("")
async def list_notes(caller: ToolCaller) -> NotesReply:
    """Tell which notes there are."""
    return await caller.use(NotesReply, "notes.list")


@router.get("/search")
async def search_notes(caller: ToolCaller, q: Annotated[str, Query(min_length=1, max_length=200)]) -> FoundNotesReply:
    """Find the notes that hold all of these words."""
    return await caller.use(FoundNotesReply, "notes.search", words=q)


@router.get("/note")
async def read_note(caller: ToolCaller, note: NoteID) -> NoteTextReply:
    """Show a note."""
    return await caller.use(NoteTextReply, "notes.read", title=note)


@router.post("", status_code=201)
async def write_note(caller: ToolCaller, new: NewNote) -> NoteReply:
    """Write a note."""
    return await caller.use(NoteReply, "notes.create", **new.model_dump())


@router.put("/note")
async def edit_note(caller: ToolCaller, note: NoteID, edited: NoteEdit) -> NoteReply:
    """Write the whole text of a note anew.

    Where somebody else has changed it since, it stays as it is: 409, with their text and its revision in `details`;
    both are empty where that text is too long to be shown.
    """
    begins = range(0, len(edited.text), PART_CHARACTERS)  # a piece is as long as an argument of a tool may be
    parts = [edited.text[begin : begin + PART_CHARACTERS] for begin in begins]
    try:
        return await caller.use(NoteReply, "notes.write", title=note, parts=parts, revision=edited.revision)
    except ToolRefusal as refused:
        if "revision" not in refused.details:
            raise
        raise RequestError(refused.spoken, code="edited_meanwhile", details=refused.details) from refused


@router.delete("/note")
async def remove_note(caller: ToolCaller, note: NoteID) -> NoteReply:
    """Remove a note for good, after a yes."""
    return await caller.use(NoteReply, "notes.remove", title=note)
