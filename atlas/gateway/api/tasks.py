"""Tasks: the board with its columns; add, move, change, finish, remove."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from atlas.gateway.api.caller import ToolCaller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ID, ApiReply, Body, OptionalName, PaperProblem, QueryText, ToolReply

router = resource("tasks")
BoardColumn = Literal["backlog", "todo", "doing", "done"]
TaskPriority = Literal["high", "medium", "low"]
TaskTitle = Annotated[str, Field(min_length=1, max_length=500)]


class TaskItem(ApiReply):
    """One task of the board."""

    id: str
    title: str
    column: str
    priority: str
    assignee: str
    due: str
    created: str
    file: str
    description: str = ""


class BoardReply(ToolReply):
    """The board, and the files in it that nobody can read."""

    columns: list[str] = Field(default=["backlog", "todo", "doing", "done"])
    tasks: list[TaskItem]
    problems: list[PaperProblem] = Field(default=[])


class TaskReply(ToolReply):
    """The task that changed."""

    task: TaskItem


class NewTask(Body):
    """A task to be added."""

    title: TaskTitle
    due: OptionalName = ""
    priority: TaskPriority = "medium"
    assignee: OptionalName = ""
    description: Annotated[str, Field(max_length=1_900)] = ""


class TaskChange(Body):
    """What is to be different; moving is `column` alone."""

    column: BoardColumn | None = None
    title: Annotated[str, Field(max_length=500)] = ""
    due: OptionalName = ""
    priority: TaskPriority | Literal[""] = ""
    assignee: OptionalName = ""


@router.get("")
async def show_board(
    caller: ToolCaller, column: BoardColumn | Literal[""] = "", assignee: QueryText = "", due: QueryText = ""
) -> BoardReply:
    """Show the whole board, or the tasks of a column, of somebody, or that are due."""
    if column or assignee or due:
        return await caller.use(BoardReply, "tasks.list", column=column, assignee=assignee, due=due)
    done = await caller.use(BoardReply, "tasks.list", column="done")
    reply = await caller.use(BoardReply, "tasks.list")
    known = {task.id or task.file for task in reply.tasks}
    reply.tasks += [task for task in done.tasks if (task.id or task.file) not in known]
    return reply


@router.post("", status_code=201)
async def add_task(caller: ToolCaller, new: NewTask) -> TaskReply:
    """Add a task."""
    return await caller.use(TaskReply, "tasks.add", **new.model_dump())


@router.patch("/{task}")
async def change_task(caller: ToolCaller, task: ID, change: TaskChange) -> TaskReply:
    """Move a task to another column, or change it."""
    values = change.model_dump(exclude={"column"})
    moved = None
    if change.column:
        moved = await caller.use(TaskReply, "tasks.move", title=task, column=change.column)
    if moved and not any(values.values()):
        return moved
    return await caller.use(TaskReply, "tasks.change", title=task, new_title=values.pop("title"), **values)


@router.delete("/{task}")
async def remove_task(caller: ToolCaller, task: ID) -> TaskReply:
    """Remove a task for good, after a yes."""
    return await caller.use(TaskReply, "tasks.remove", title=task)
