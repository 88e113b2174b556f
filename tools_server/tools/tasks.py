"""The home Kanban: one Markdown file a task, for people's editors as much as for Atlas.

The files lie in family-agent-config/tasks/home. Each is front matter (title, column, priority, assignee, due, created,
id) and a body. People may edit, add and delete files while the server runs: nothing is cached, one broken file is
reported and hides no other, and a rewrite changes the one line that it is about: unknown keys, comments and the body
stay as they were.
"""

from __future__ import annotations

import itertools
import re
import secrets
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Any, Literal, cast

import yaml
from pydantic import Field

from tools_server.paths import PathDenied, Root, Stamp
from tools_server.state import Kept
from tools_server.toolkit import Call, Result, ToolFailed, tool

ROOT = "family-agent-config"
FOLDER = "tasks/home"
SLUG_CHARACTERS = 60  # long enough to recognise, far from the limit of file names
MOST_TASKS = 1_000
SPOKEN_CHARACTERS = 120  # of one title; the data has it whole
NAMED = 5  # more titles than this are tiring to listen to
FRONT_MATTER_CHARACTERS = 16_384  # a parser is given no more than this

Column = Literal["backlog", "todo", "doing", "done"]
COLUMNS: tuple[Column, ...] = ("backlog", "todo", "doing", "done")
PRIORITIES = ("high", "medium", "low")
NEVER = Stamp(0, 0, 0)  # of a version that is not on the disk
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


class Unreadable(Exception):
    """A file in the folder is no task; `str()` says why, for a person."""


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@tool("tasks.add", risk="change", root=ROOT, limit_seconds=20)
async def add(
    call: Call,
    title: Title,
    due: Annotated[str, Field(max_length=40, description="ISO date such as 2026-12-24, or empty")] = "",
    priority: Literal["high", "medium", "low"] = "medium",
    assignee: Annotated[str, Field(max_length=60, description="Who should do it, or empty")] = "",
) -> Result:
    """Add a task to the home task board."""
    plain = _one_line(title)
    if not plain:
        raise ToolFailed("invalid", "What is the task?")
    when = _checked_due(due)
    root = call.roots[ROOT]
    if len(root.names(FOLDER)) >= MOST_TASKS:
        raise ToolFailed("failed", f"There are already {MOST_TASKS} tasks. Remove some of them first.")
    values = {
        "title": plain,
        "column": "todo",
        "priority": priority,
        "assignee": _one_line(assignee),
        "due": when,
        "created": call.local().isoformat(timespec="seconds"),
        "id": f"task_{secrets.token_hex(8)}",
    }
    text = "---\n" + "".join(_line(key, value) for key, value in values.items()) + "---\n"
    file = _create(root, plain, text)
    said = f"Added {_spoken(plain)} to your tasks."
    receipt = call.receipt(said, before=None, after={"file": f"{FOLDER}/{file}", "text": text})
    return Result(said, {"task": {**values, "file": file}}, receipt)


@tool("tasks.list", risk="read", root=ROOT, limit_seconds=20)
async def list_tasks(
    call: Call,
    column: Annotated[
        Literal["", "backlog", "todo", "doing", "done"], Field(description="One column; empty is all that is not done")
    ] = "",
) -> Result:
    """Tell which tasks are on the home task board."""
    tasks, problems = _read_all(call.roots[ROOT])
    wanted = [task for task in tasks if (task.column == column if column else task.column != "done")]
    wanted.sort(
        key=lambda task: (COLUMNS.index(task.column), PRIORITIES.index(task.priority), task.due or "9", task.created)
    )
    text = _told(wanted, column) + _told_problems(problems)
    return Result(text, {"tasks": [_shown(task) for task in wanted], "problems": problems})


@tool("tasks.move", risk="change", idempotent=True, root=ROOT, limit_seconds=20)
async def move(call: Call, title: Title, column: Column) -> Result:
    """Move a task to another column of the home task board."""
    return _moved(call, title, column)


@tool("tasks.done", risk="change", idempotent=True, root=ROOT, limit_seconds=20)
async def done(call: Call, title: Title) -> Result:
    """Mark a task as done."""
    return _moved(call, title, "done")


async def removing(call: Call, title: str) -> str:
    """Say which task would be removed."""
    task = _found(call.roots[ROOT], title, guess=False)
    return f"Remove {_spoken(task.title)} from the task board?"


@tool("tasks.remove", risk="destructive", root=ROOT, limit_seconds=20, preview=removing)
async def remove(call: Call, title: Title) -> Result:
    """Remove a task from the home task board. To finish one, use tasks.done."""
    root = call.roots[ROOT]
    task = _found(root, title, guess=False)
    root.remove(f"{FOLDER}/{task.file}")
    said = f"Removed {_spoken(task.title)} from your tasks."
    receipt = call.receipt(said, before={"file": f"{FOLDER}/{task.file}", "text": task.text}, after=None)
    return Result(said, {"task": _shown(task)}, receipt)


def _moved(call: Call, title: str, column: Column) -> Result:
    root = call.roots[ROOT]
    task = _found(root, title, avoid=column)
    if task.column == column:
        return Result(f"{_capital(_spoken(task.title))} is already {_in(column)}.", {"task": _shown(task)})
    text = with_value(task.text, "column", column)
    root.replace(f"{FOLDER}/{task.file}", text.encode(), task.stamp)
    said = f"{_capital(_spoken(task.title))} is {_in(column)}."
    file = f"{FOLDER}/{task.file}"
    receipt = call.receipt(said, before={"file": file, "text": task.text}, after={"file": file, "text": text})
    return Result(said, {"task": {**_shown(task), "column": column}}, receipt)


# ── taking it back ─────────────────────────────────────────────────────────────────────────────────


async def undo(call: Call, kept: Kept) -> Result:
    """Put a task's file back as it was, or remove the one that was added. What somebody edited since stays."""
    root, before, after = call.roots[ROOT], kept.before, kept.after
    task = parse(_name(before or after), (before or after)["text"], NEVER)
    stamp = _unchanged(root, after, task) if after else None
    if before is None:
        root.remove(after["file"])
        said = f"{_capital(_spoken(task.title))} is off the task board again."
    elif after is None:
        _put_back(root, before, task)
        said = f"{_capital(_spoken(task.title))} is back on the task board, {_in(task.column)}."
    else:
        assert stamp
        root.replace(before["file"], before["text"].encode(), stamp)
        said = f"{_capital(_spoken(task.title))} is {_in(task.column)} again."
    receipt = call.receipt(said, before=after, after=before)
    return Result(said, {"task": _shown(task)}, receipt)


def _name(kept: dict[str, str]) -> str:
    return kept["file"].removeprefix(f"{FOLDER}/")


def _unchanged(root: Root, after: dict[str, str], task: Task) -> Stamp:
    """Return which version of the file is there, when it is the one that was left. Raises `ToolFailed` otherwise."""
    name = _capital(_spoken(task.title))
    try:
        content, stamp = root.read(after["file"])
    except PathDenied as denied:
        if denied.reason != "missing":
            raise
        raise ToolFailed("failed", f"I can't take that back: {name} was removed since.") from denied
    if content != after["text"].encode():
        raise ToolFailed("failed", f"I can't take that back: {name} was edited since.")
    return stamp


def _put_back(root: Root, before: dict[str, str], task: Task) -> None:
    try:
        root.create(before["file"], before["text"].encode())
    except PathDenied as denied:
        if denied.reason != "exists":
            raise
        taken = f"there is another {_spoken(task.title)} in its place now"
        raise ToolFailed("failed", f"I can't take that back: {taken}.") from denied


# ── which task is meant ────────────────────────────────────────────────────────────────────────────


def _found(root: Root, title: str, *, avoid: str = "done", guess: bool = True) -> Task:
    """Return the task that is meant: the same title, else the only one holding all its words, else a near one.

    Of several with the same title, one that is not in the column `avoid` comes first, then the oldest. `guess` false
    takes no near one, for what cannot be undone by saying it again.
    """
    tasks, problems = _read_all(root)
    wanted = _plain(title)
    same = [task for task in tasks if _plain(task.title) == wanted]
    if same:
        return min(same, key=lambda task: (task.column == avoid, task.created, task.file))
    words = set(wanted.split())
    holding = [task for task in tasks if words and words <= set(_plain(task.title).split())]
    holding = [task for task in holding if task.column != avoid] or holding
    titles = {_plain(task.title) for task in holding}
    if len(titles) == 1:
        return min(holding, key=lambda task: (task.created, task.file))
    if titles:
        which = _series([_spoken(task.title) for task in holding[:NAMED]], "or")
        raise ToolFailed("invalid", f"Which task: {which}?", tasks=[_shown(task) for task in holding])
    by_title = {_plain(task.title): task for task in tasks}
    near = get_close_matches(wanted, by_title, n=1, cutoff=0.8 if guess else 0.6)
    if near and guess:
        return by_title[near[0]]
    near = near or get_close_matches(wanted, by_title, n=1, cutoff=0.5)
    hint = f" The nearest is {_spoken(by_title[near[0]].title)}." if near else ""
    nearest = [by_title[name].title for name in near]
    raise ToolFailed(
        "not_found",
        f"There is no task called {_spoken(_one_line(title))}.{hint}{_told_problems(problems)}",
        nearest=nearest,
    )


def _plain(title: str) -> str:
    folded = unicodedata.normalize("NFKC", title).casefold()
    return " ".join(re.sub(r"[^\w\s]", " ", folded).split()) or " ".join(folded.split())


# ── files ──────────────────────────────────────────────────────────────────────────────────────────


def _read_all(root: Root) -> tuple[list[Task], list[dict[str, str]]]:
    """Return every task, and what is wrong with files that are none."""
    tasks, problems = [], []
    for name in root.names(FOLDER):
        if not name.endswith(".md"):
            continue
        try:
            tasks.append(_read(root, name))
        except (Unreadable, PathDenied) as wrong:
            if not (isinstance(wrong, PathDenied) and wrong.reason == "missing"):  # deleted a moment ago
                problems.append({"file": _visible(name), "problem": _visible(str(wrong))})
    return tasks, problems


def _read(root: Root, name: str) -> Task:
    content, stamp = root.read(f"{FOLDER}/{name}")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8 text") from None
    return parse(name, text, stamp)


def parse(name: str, text: str, stamp: Stamp) -> Task:
    """Read a task from a file's text. A file without front matter is a task to do. Raises `Unreadable`."""
    values = front_matter(text)
    column = str(values.get("column") or "todo").strip().casefold()
    if column not in COLUMNS:
        raise Unreadable(f"its column is {_spoken(column)!r}; a column is {_series(COLUMNS, 'or')}")
    priority = str(values.get("priority") or "medium").strip().casefold()
    if priority not in PRIORITIES:
        raise Unreadable(f"its priority is {_spoken(priority)!r}; a priority is {_series(PRIORITIES, 'or')}")
    return Task(
        file=name,
        title=_title(values, text, name),
        column=column,
        priority=priority,
        assignee=_scalar(values.get("assignee")),
        due=_scalar(values.get("due")),
        created=_scalar(values.get("created")),
        id=_scalar(values.get("id")),
        text=text,
        stamp=stamp,
    )


def front_matter(text: str) -> dict[str, Any]:
    """Return what stands between the first two `---` lines; {} when there is no front matter. Raises `Unreadable`."""
    found = _block(text)
    if found is None:
        return {}
    if found[1] - found[0] > FRONT_MATTER_CHARACTERS:
        raise Unreadable("its front matter is too long")
    return dict(_values(text[found[0] : found[1]]))


class _FrontMatter(yaml.SafeLoader):
    """Takes no aliases: a value that repeats a value that repeats … fills any memory from a few lines."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


@lru_cache(maxsize=MOST_TASKS)
def _values(block: str) -> dict[str, Any]:
    # By content, so an edited file is always read anew; a board of 200 tasks would else take 0.1 s to list.
    try:
        values = yaml.load(block, _FrontMatter)  # noqa: S506  # a safe loader, made safer
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        line = f" in line {mark.line + 2}" if mark else ""
        raise Unreadable(f"its front matter is not YAML{line}") from None
    except (ValueError, RecursionError, OverflowError):
        raise Unreadable("its front matter is not YAML") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise Unreadable("its front matter is not a list of keys and values")
    return values


_FENCE = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


def _block(text: str) -> tuple[int, int] | None:
    """Return where the front matter begins and ends, fences not counted."""
    start = 1 if text.startswith("\ufeff") else 0
    first = _FENCE.match(text, start)
    if first is None:
        return None
    begin = text.find("\n", first.start()) + 1
    second = _FENCE.search(text, begin) if begin else None
    if second is None:
        raise Unreadable("its front matter begins with --- and never ends")
    return begin, second.start()


def with_value(text: str, key: str, value: str) -> str:
    """Return the text with one key of its front matter changed, and every other byte as it was.

    When that one line cannot be found safely (a key inside braces, say), the front matter is written anew: its values
    are kept, its comments are not. The result is read back to be sure.
    """
    found = _block(text)
    ending = "\r\n" if "\r\n" in text else "\n"
    if found is None:
        return f"---{ending}{_line(key, value).rstrip()}{ending}---{ending}{ending}{text}"
    begin, end = found
    wanted = {**front_matter(text), key: value}
    block = text[begin:end]
    line = _line(key, value).rstrip("\n") + ending
    old = re.compile(rf"^(?:{key}|\"{key}\"|'{key}')[ \t]*:[^\n]*\n(?:[ \t]+[^\n]*\n)*", re.MULTILINE)
    edited, count = old.subn(lambda _: line, block, count=1)
    if not count:
        edited = block + line
    changed = text[:begin] + edited + text[end:]
    try:
        same = front_matter(changed) == wanted
    except Unreadable:
        same = False
    if same:
        return changed
    return text[:begin] + yaml.safe_dump(wanted, allow_unicode=True, sort_keys=False, width=10_000) + text[end:]


def _line(key: str, value: str) -> str:
    return yaml.safe_dump({key: value}, allow_unicode=True, width=10_000)


def _create(root: Root, title: str, text: str) -> str:
    taken = set(root.names(FOLDER))
    for name in _file_names(title):
        if name in taken:
            continue
        try:
            root.create(f"{FOLDER}/{name}", text.encode())
        except PathDenied as denied:
            if denied.reason != "exists":  # somebody saved one of that name a moment ago
                raise
        else:
            return name
    raise AssertionError("numbers do not run out before the limit on tasks")


def _file_names(title: str) -> Iterator[str]:
    name = slug(title)
    yield f"{name}.md"
    for number in itertools.count(2):
        yield f"{name}-{number}.md"


def slug(title: str) -> str:
    """Return a file name's stem for any title: small letters, digits and single dashes; "task" when none are left."""
    ascii_only = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_only).strip("-")[:SLUG_CHARACTERS].strip("-") or "task"


def _title(values: dict[str, Any], text: str, name: str) -> str:
    if title := _one_line(_scalar(values.get("title"))):
        return title
    heading = re.search(r"^#[ \t]+(\S[^\n]*)", text, re.MULTILINE)
    return _one_line(heading.group(1)) if heading else _visible(name).removesuffix(".md").replace("-", " ")


def _scalar(value: Any) -> str:
    """Return a value people wrote as text: YAML makes dates of dates."""
    if value is None or isinstance(value, (dict, list, set, bytes)):
        return ""
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return _visible(str(value))


def _checked_due(due: str) -> str:
    plain = due.strip()
    if not plain:
        return ""
    try:
        if len(plain) == len("2026-12-24"):
            return date.fromisoformat(plain).isoformat()
        return datetime.fromisoformat(plain).isoformat(timespec="minutes")
    except ValueError:
        raise ToolFailed("invalid", "When is it due? Give a date such as 2026-12-24.") from None


# ── what is said ───────────────────────────────────────────────────────────────────────────────────


def _told(tasks: Sequence[Task], column: str) -> str:
    where = f" {_in(cast('Column', column))}" if column else ""
    if not tasks:
        return f"There are no tasks{where}."
    named = [_spoken(task.title) for task in tasks[:NAMED]]
    if more := len(tasks) - len(named):
        named.append(f"{more} more")
    count = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    return f"You have {count}{where}: {_series(named, 'and')}."


def _told_problems(problems: Sequence[dict[str, str]]) -> str:
    if not problems:
        return ""
    if len(problems) == 1:
        return f" I could not read {problems[0]['file']}: {problems[0]['problem']}."
    return f" I could not read {len(problems)} files, such as {problems[0]['file']}: {problems[0]['problem']}."


def _in(column: Column) -> str:
    return {"backlog": "in the backlog", "todo": "to do", "doing": "in progress", "done": "done"}[column]


def _spoken(title: str) -> str:
    return title if len(title) <= SPOKEN_CHARACTERS else title[:SPOKEN_CHARACTERS].rstrip() + "…"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _series(parts: Sequence[str], word: str) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _one_line(text: str) -> str:
    """Return text without line ends and invisible characters, its spaces single."""
    return " ".join("".join(" " if c.isspace() else c for c in text if _seen(c)).split())


def _seen(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) not in ("Cc", "Cs", "Cf") or character == "\u200d"


def _visible(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _shown(task: Task) -> dict[str, str]:
    return {key: value for key, value in asdict(task).items() if key in (*_KEYS, "file")}
