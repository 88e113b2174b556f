"""Lists: shopping and others; put things on them, tick them off, take them away."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query
from pydantic import Field

from atlas.gateway.api.caller import ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ID, ApiReply, Body, PaperProblem, ToolReply

router = resource("lists")
Thing = Annotated[str, Field(min_length=1, max_length=200)]
MOST_ITEMS = 50


class ListName(ApiReply):
    """One list, and how many things on it are not ticked off."""

    name: str
    left: int


class ListsReply(ToolReply):
    """The lists there are."""

    lists: list[ListName]
    problems: list[PaperProblem] = Field(default=[])


class ListEntry(ApiReply):
    """One thing on a list."""

    text: str
    checked: bool


class ListReply(ToolReply):
    """What is on a list."""

    name: str = Field(validation_alias="list")
    items: list[ListEntry]


class ListChangeReply(ToolReply):
    """What became of the things."""

    name: str = Field(validation_alias="list")
    added: list[str] = Field(default=[])
    already: list[str] = Field(default=[])
    checked: list[str] = Field(default=[])
    removed: list[str] = Field(default=[])


class NewList(Body):
    """A list to be made."""

    name: Annotated[str, Field(min_length=1, max_length=80)]


class ListItems(Body):
    """Things of a list. A single text may name several, as people say them: "cheese, butter and milk"."""

    items: Annotated[list[Thing], Field(min_length=1, max_length=MOST_ITEMS)]


@router.get("")
async def list_lists(caller: ToolCaller) -> ListsReply:
    """Tell which lists there are."""
    return await caller.use(ListsReply, "lists.names")


@router.post("", status_code=201)
async def make_list(caller: ToolCaller, new: NewList) -> ListChangeReply:
    """Make a list with nothing on it, or find the one that is meant: the reply has the name by which it is known."""
    return await caller.use(ListChangeReply, "lists.add", list=new.name, items=[])


@router.get("/{list_name}")
async def read_list(caller: ToolCaller, list_name: ID) -> ListReply:
    """Show what is on a list."""
    return await caller.use(ListReply, "lists.read", list=list_name)


@router.delete("/{list_name}")
async def delete_list(caller: ToolCaller, list_name: ID) -> ListChangeReply:
    """Delete a whole list with what is on it, after a yes. The shopping list stays."""
    return await caller.use(ListChangeReply, "lists.delete", list=list_name)


@router.post("/{list_name}/items", status_code=201)
async def add_to_list(caller: ToolCaller, list_name: ID, body: ListItems) -> ListChangeReply:
    """Put things on a list, which is made when there is none; what was ticked off is wanted again."""
    return await caller.use(ListChangeReply, "lists.add", list=list_name, items=body.items)


@router.post("/{list_name}/check")
async def check_off(caller: ToolCaller, list_name: ID, body: ListItems) -> ListChangeReply:
    """Tick things off."""
    return await caller.use(ListChangeReply, "lists.check", list=list_name, items=body.items)


@router.post("/{list_name}/remove")
async def remove_from_list(caller: ToolCaller, list_name: ID, body: ListItems) -> ListChangeReply:
    """Take things off a list."""
    return await caller.use(ListChangeReply, "lists.remove", list=list_name, items=body.items)


@router.delete("/{list_name}/items")
async def clear_list(
    caller: ToolCaller,
    list_name: ID,
    checked_only: Annotated[bool, Query(description="Only what is ticked off")] = False,
) -> ListChangeReply:
    """Clear a list, after a yes."""
    return await caller.use(ListChangeReply, "lists.clear", list=list_name, checked_only=checked_only)
