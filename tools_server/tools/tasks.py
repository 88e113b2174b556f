"""The home Kanban: one Markdown file a task, for people's editors as much as for Atlas.

The files lie in tasks/home of the agent's own folder. Each is front matter (title, column, priority, assignee, due,
created, id) and a body; `papers` says how they are read and written.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from tools_server.calendars.calendar_words import span
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, folder_tool
from tools_server.sdk.wording import capital, chosen, one_line, plain, some, spoken, told_problems
from tools_server.times.spoken_time import day_words
from tools_server.times.when import NotUnderstood, understand, understand_day
from tools_server.values.language import plural, series
from tools_server.values.language import text as _
from tools_server.values.paths import Root, Stamp
from tools_server.values.shapes import PROBLEM
from tools_server.writing import papers
from tools_server.writing.papers import (
    Paper,
    Unreadable,
    body_of,
    file_state,
    headed,
    read_all,
    scalar,
    title_of,
    with_value,
)

TASK = dict.fromkeys(("title", "column", "priority", "assignee", "due", "created", "id", "file", "description?"), str)

FOLDER = "tasks/home"

Column = Literal["backlog", "todo", "doing", "done"]
COLUMNS: tuple[Column, ...] = ("backlog", "todo", "doing", "done")
PRIORITIES = ("high", "medium", "low")
DESCRIPTION_CHARACTERS = 1_900  # of what is written below a task's title
NEVER = Stamp(0, 0, 0)  # of a version that is not on the disk
NOBODY = ("none", "nobody", "no one", "nothing")  # who says this takes the old value away
_KEYS = ("title", "column", "priority", "assignee", "due", "created", "id")

Title = Annotated[str, Field(min_length=1, max_length=500, description="The task's title")]


@dataclass(frozen=True, slots=True)
class Task:
    """One file, as read."""

    file: str  # its name within the folder
    title: str
    column: Column
    priority: str
    assignee: str
    due: str  # ISO date or time, or ""
    created: str
    id: str
    text: str  # the whole file
    stamp: Stamp

    @property
    def subject(self) -> str:
        """Its title, as a sentence begins."""
        return capital(spoken(self.title))


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@folder_tool("tasks.add", data={"task": TASK}, risk="change")
async def add(
    call: Call,
    title: Title,
    due: Annotated[str, Field(max_length=40, description="When: 2026-12-24, or as said: next Friday")] = "",
    priority: Literal["high", "medium", "low"] = "medium",
    assignee: Annotated[str, Field(max_length=60, description="Who should do it, or empty")] = "",
    description: Annotated[
        str, Field(max_length=DESCRIPTION_CHARACTERS, description="What else there is to know")
    ] = "",
) -> Result:
    """Add a task to the home task board."""
    name = one_line(title)
    if not name:
        raise ToolFailed("invalid", _("What is the task?"))
    values = {
        "title": name,
        "column": "todo",
        "priority": priority,
        "assignee": one_line(assignee),
        "due": _checked_due(call, due),
        "created": call.local().isoformat(timespec="seconds"),
        "id": f"task_{secrets.token_hex(8)}",
    }
    text = headed(values, f"\n{description.strip()}\n" if description.strip() else "")
    file = papers.create(call.home, FOLDER, papers.slug(name, "task"), text)
    when = _(", due {day_words}").format(day_words=_day_words(call, values["due"])) if values["due"] else ""
    whose = _(", for {assignee}").format(assignee=spoken(values["assignee"])) if values["assignee"] else ""
    sentence = _("Added {name} to your tasks{when}{whose}.").format(name=spoken(name), when=when, whose=whose)
    receipt = call.receipt(sentence, before=None, after=file_state(call.agent.roots[0], file, text))
    return Result(sentence, {"task": {**values, "file": file.removeprefix(f"{FOLDER}/")}}, receipt)


@folder_tool("tasks.list", data={"tasks": [TASK], "problems": [PROBLEM]}, risk="read")
async def list_tasks(
    call: Call,
    column: Annotated[
        Literal["", "backlog", "todo", "doing", "done"], Field(description="One column; empty is all that is not done")
    ] = "",
    assignee: Annotated[str, Field(max_length=60, description="Only those of one person")] = "",
    due: Annotated[
        str, Field(max_length=40, description="Only what is due then: overdue, today, this week, 2026-12-24")
    ] = "",
) -> Result:
    """Tell which tasks are on the home task board."""
    tasks, problems = _read_all(call.home)
    wanted = [task for task in tasks if (task.column == column if column else task.column != "done")]
    if person := plain(assignee):
        wanted = [task for task in wanted if plain(task.assignee) == person]
    if due.strip():
        wanted = _due(call, wanted, due)
    wanted.sort(
        key=lambda task: (COLUMNS.index(task.column), PRIORITIES.index(task.priority), task.due or "9", task.created)
    )
    text = _told(call, wanted, column, assignee, due) + told_problems(problems)
    return Result(text, {"tasks": [_shown(task) for task in wanted], "problems": problems})


@folder_tool("tasks.move", data={"task": TASK}, risk="change", idempotent=True)
async def move(call: Call, title: Title, column: Column) -> Result:
    """Move a task to another column of the home task board."""
    return _moved(call, title, column)


@folder_tool("tasks.done", data={"task": TASK}, risk="change", idempotent=True)
async def done(call: Call, title: Title) -> Result:
    """Mark a task as done."""
    return _moved(call, title, "done")


@folder_tool("tasks.change", data={"task": TASK}, risk="change", idempotent=True)
async def change(
    call: Call,
    title: Title,
    new_title: Annotated[str, Field(max_length=500)] = "",
    due: Annotated[str, Field(max_length=40, description="When: 2026-12-24, or as said: next Friday; or none")] = "",
    priority: Literal["", "high", "medium", "low"] = "",
    assignee: Annotated[str, Field(max_length=60, description="Who should do it, or nobody")] = "",
) -> Result:
    """Change a task's title, due date, priority or who should do it. What is left out stays."""
    task = _found(call, title)
    wanted = {
        "title": one_line(new_title),
        "due": "" if plain(due) in NOBODY else _checked_due(call, due),
        "priority": priority,
        "assignee": "" if plain(assignee) in NOBODY else one_line(assignee),
    }
    arguments = {"title": new_title, "due": due, "priority": priority, "assignee": assignee}
    changes = {key: value for key, value in wanted.items() if arguments[key].strip() and value != asdict(task)[key]}
    if not any(text.strip() for text in arguments.values()):
        raise ToolFailed("invalid", _("What shall I change about {title}?").format(title=spoken(task.title)))
    if not changes:
        return Result(_("{title} is like that already.").format(title=task.subject), {"task": _shown(task)})
    text = task.text
    for key, value in changes.items():
        text = with_value(text, key, value)
    sentence = f"{task.subject} {series([_became(call, *items) for items in changes.items()], 'and')}."
    return _rewritten(call, task, text, sentence, **changes)


def _became(call: Call, key: str, value: str) -> str:
    match key:
        case "title":
            return _("is now called {value}").format(value=spoken(value))
        case "priority":
            return _("has {value} priority").format(value=value)
        case "due":
            return _("is due {day_words}").format(day_words=_day_words(call, value)) if value else _("has no due date")
    return _("is for {value}").format(value=spoken(value)) if value else _("is for nobody")


async def removing(call: Call, title: str) -> str:
    """Say which task would be removed."""
    task = _found(call, title, guess=False)
    return _("Remove {title} from the task board?").format(title=spoken(task.title))


@folder_tool("tasks.remove", data={"task": TASK}, risk="destructive", preview=removing)
async def remove(call: Call, title: Title) -> Result:
    """Remove a task from the home task board. To finish one, use tasks.done."""
    task = _found(call, title, guess=False)
    return _rewritten(call, task, None, _("Removed {title} from your tasks.").format(title=spoken(task.title)))


def _moved(call: Call, title: str, column: Column) -> Result:
    task = _found(call, title, avoid=column)
    if task.column == column:
        already = _("{title} is already {in_}.").format(title=task.subject, in_=_in(column))
        return Result(already, {"task": _shown(task)})
    text = with_value(task.text, "column", column)
    sentence = _("{title} is {in_}.").format(title=task.subject, in_=_in(column))
    return _rewritten(call, task, text, sentence, column=column)


def _rewritten(call: Call, task: Task, text: str | None, sentence: str, **changes: str) -> Result:
    receipt = papers.written(call, f"{FOLDER}/{task.file}", task.stamp, (task.text, text), sentence)
    return Result(sentence, {"task": {**_shown(task), **changes}}, receipt)


async def undo(call: Call, receipt: StoredReceipt) -> Result:
    """Put a task's file back as it was, or remove the one that was added. What somebody edited since stays."""
    before, after = receipt.before, receipt.after
    there = before or after
    task = _task(Paper(there["file"], papers.front_matter(there["text"]), there["text"], NEVER))
    papers.restore(call, receipt, task.subject)
    if before is None:
        text = _("{title} is off the task board again.").format(title=task.subject)
    elif after is None:
        text = _("{title} is back on the task board, {in_}.").format(title=task.subject, in_=_in(task.column))
    elif receipt.tool == "tasks.change":
        text = _("{title} is as it was.").format(title=task.subject)
    else:
        text = _("{title} is {in_} again.").format(title=task.subject, in_=_in(task.column))
    return Result(text, {"task": _shown(task)}, call.receipt(text, before=after, after=before))


# ── which tasks ────────────────────────────────────────────────────────────────────────────────────


def _found(call: Call, title: str, *, avoid: str = "done", guess: bool = True) -> Task:
    """Return the task that is meant; of several with the same title one that is not in the column `avoid`."""
    tasks, problems = _read_all(call.home)
    task = chosen(
        tasks,
        title,
        named=lambda task: task.title,
        which=_("Which task"),
        missing=_("There is no task called {one_line}.").format(one_line=spoken(one_line(title))),
        rank=lambda task: (task.column == "done", task.created, task.file),  # what is open is talked about
        avoided=lambda task: task.column == avoid,
        guess=guess,
        remark=told_problems(problems),
        ids=lambda task: (task.id, task.file),
    )
    call.permit(title=task.title)
    return task


def _due(call: Call, tasks: Sequence[Task], due: str) -> list[Task]:
    """Return the tasks due in a stretch of days, and with today in it those that are late."""
    today = call.local().date()
    named = None if plain(due) in ("overdue", "late") else span(call, due)
    first, after = (named.first, named.after) if named else (date.min, today)
    if first == today:
        first = date.min
    return [task for task in tasks if (day := _day(task.due)) and first <= day < after]


def _day(due: str) -> date | None:
    try:
        return datetime.fromisoformat(due).date()
    except ValueError:  # people write what they like
        return None


def _read_all(root: Root) -> tuple[list[Task], list[dict[str, str]]]:
    """Return every task, and what is wrong with files that are none."""
    tasks = []
    matching_papers, problems = read_all(root, FOLDER)
    for paper in matching_papers:
        try:
            tasks.append(_task(paper))
        except Unreadable as wrong:
            problems.append(papers.problem(paper.file.removeprefix(f"{FOLDER}/"), wrong))
    return tasks, sorted(problems, key=lambda problem: problem["file"])


def _task(paper: Paper) -> Task:
    values = paper.values
    column = str(values.get("column") or "todo").strip().casefold()
    if column not in COLUMNS:
        form = _("its column is {column!r}; a column is {series}")
        raise Unreadable(form.format(column=spoken(column), series=series(COLUMNS, "or")))
    priority = str(values.get("priority") or "medium").strip().casefold()
    if priority not in PRIORITIES:
        form = _("its priority is {priority!r}; a priority is {series}")
        raise Unreadable(form.format(priority=spoken(priority), series=series(PRIORITIES, "or")))
    return Task(
        file=paper.file.removeprefix(f"{FOLDER}/"),
        title=title_of(values, paper.text, paper.file),
        column=column,
        priority=priority,
        assignee=scalar(values.get("assignee")),
        due=scalar(values.get("due")),
        created=scalar(values.get("created")),
        id=scalar(values.get("id")),
        text=paper.text,
        stamp=paper.stamp,
    )


def _checked_due(call: Call, due: str) -> str:
    """Return a due date as files hold it: an ISO date, or with a time of day. Raises `ToolFailed`."""
    text = due.strip()
    words = text.casefold().removeprefix("by ")
    if not text:
        return ""
    try:
        if len(text) == len("2026-12-24"):
            return date.fromisoformat(text).isoformat()
        return datetime.fromisoformat(text).isoformat(timespec="minutes")
    except ValueError:
        pass  # then it is in words, or nothing
    try:
        day, timed = understand_day(words, call.now(), call.zone)
        understood = understand(words, call.now(), call.zone) if timed else None
    except NotUnderstood as unclear:
        raise ToolFailed("invalid", _("When is it due? {unclear}").format(unclear=unclear)) from None
    return understood.at.isoformat(timespec="minutes") if understood and understood.at else day.isoformat()


# ── what is said ───────────────────────────────────────────────────────────────────────────────────


def _told(call: Call, tasks: Sequence[Task], column: str, assignee: str, due: str) -> str:
    where = f" {_in(cast('Column', column))}" if column else ""
    whose = _(" for {one_line}").format(one_line=spoken(one_line(assignee))) if assignee else ""
    late = plain(due) in ("overdue", "late")
    when = (
        ""
        if not due.strip()
        else _(" overdue")
        if late
        else _(" due {day_words}").format(day_words=_day_words(call, spoken(one_line(due))))
    )
    if not tasks:
        return _("There are no tasks{whose}{where}{when}.").format(whose=whose, where=where, when=when)
    named = [
        _("{title} due {day_words}").format(title=spoken(task.title), day_words=_day_words(call, task.due))
        if when
        else task.title
        for task in tasks
    ]
    places = {"more": whose + where + when, "tasks": some(named)}
    if assignee:
        return plural(
            "There is {count} task{more}: {tasks}.", "There are {count} tasks{more}: {tasks}.", len(tasks), **places
        )
    return plural(
        "You have {count} task{more}: {tasks}.", "You have {count} tasks{more}: {tasks}.", len(tasks), **places
    )


def _day_words(call: Call, due: str) -> str:
    day = _day(due)
    return day_words(day, call.local().date()) if day else due


def _in(column: Column) -> str:
    return {"backlog": _("in the backlog"), "todo": _("to do"), "doing": _("in progress"), "done": _("done")}[column]


def _shown(task: Task) -> dict[str, Any]:
    shown = {key: value for key, value in asdict(task).items() if key in (*_KEYS, "file")}
    description = body_of(task.text).strip()
    return {**shown, "description": description[:DESCRIPTION_CHARACTERS]} if description else shown
