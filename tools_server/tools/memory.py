"""Memory: what the house wrote down for an agent (notes, tasks, lists, facts) that is most like a query.

Only the agent's own folders are looked into, each with an index of its own, brought up to date at every search by the
stamps of the files: people edit them while the server runs. Of what people asked to be remembered (facts/), everybody
finds the household's and their own.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Annotated, cast

import anyio
from pydantic import Field

from tools_server.sdk.toolkit import Call, Live, Result, ToolFailed, folder_tool
from tools_server.sdk.wording import aloud, spoken
from tools_server.values.language import text as _
from tools_server.values.paths import PathDenied, Root
from tools_server.writing.likeness import Index, Likeness
from tools_server.writing.papers import Unreadable, body_of, front_matter, read, scalar

LEAST = 0.08  # below it, what is alike is chance: a few n-grams of common words
MOST_FILES = 2_000  # of one folder
DEPTH = 5  # of folders in folders
ENDINGS = (".md", ".txt")
OUR_FOLDERS = ("notes", "tasks", "lists", "facts")


@dataclass
class Shelf:
    """The index of one folder; one search at a time brings it up to date."""

    index: Index = field(default_factory=Index)
    alone: anyio.Lock = field(default_factory=anyio.Lock)


@asynccontextmanager
async def opened(live: Live) -> AsyncIterator[dict[str, Shelf]]:
    """Keep the indexes while the server runs; they are made of the files, so nothing is lost with them."""
    yield {}


@folder_tool(
    "memory.search", data={"matches": [{"root": str, "document": str, "text": str, "score": float}]}, risk="read"
)
async def search(
    call: Call,
    query: Annotated[str, Field(min_length=1, max_length=500, description="What to look for, in words")],
    most: Annotated[int, Field(ge=1, le=20, description="How many to return")] = 5,
) -> Result:
    """Find what was written down, in notes, tasks, lists and facts, that is most like a query."""
    if not query.strip():
        raise ToolFailed("invalid", _("What shall I look for?"))
    shelves = cast("dict[str, Shelf]", call.engine if call.engine is not None else {})
    results: list[tuple[str, Likeness]] = []
    for name, root in call.roots.items():
        shelf = shelves.setdefault(name, Shelf())
        async with shelf.alone:
            # In a thread: the first time there may be a thousand files to read.
            alike = await anyio.to_thread.run_sync(_look, root, shelf.index, query, most)
        results += [(name, likeness) for likeness in alike]
    results.sort(key=lambda items: -items[1].score)
    matches = [{"root": name, **asdict(likeness)} for name, likeness in results[:most]]
    if not matches:
        return Result(
            _("I found nothing written down like {strip}.").format(strip=spoken(query.strip())), {"matches": []}
        )
    best = results[0][1]
    more = _(" There are {count} more.").format(count=len(matches) - 1) if len(matches) > 1 else ""
    text = _("The nearest is in {said}: {aloud}{more}").format(
        said=spoken(_said(best.document)), aloud=aloud(best.text, 200), more=more
    )
    others = not all(_ours(call, call.roots[name], likeness.document) for name, likeness in results[:most])
    return Result(text, {"matches": matches}, untrusted=others)


def _ours(call: Call, root: Root, document: str) -> bool:
    """Whether the household wrote it itself, with tools of its own; any other file may come from anywhere.

    Of the whole paper, and not of the passage that was found: it begins and ends anywhere.
    """
    if document.split("/")[0] not in OUR_FOLDERS:
        return False
    try:
        paper = read(root, document)
        strangers = call.gate.strangers
        return not (paper.of_others or strangers.wished_in(paper.text, document) or strangers.wished(document))
    except (PathDenied, Unreadable):
        return False


def _look(root: Root, index: Index, query: str, most: int) -> list[Likeness]:
    files = ((file, entry) for file, entry in root.walk("", DEPTH) if entry.kind == "file" and file.endswith(ENDINGS))
    stamps = {file: (entry.size, entry.modified) for file, entry in itertools.islice(files, MOST_FILES)}
    for name in index.outdated(stamps):
        try:
            content, _rest = root.read(name)
        except PathDenied:  # gone or not for us since it was listed
            stamps.pop(name)
            continue
        index.put(name, stamps[name], _written(content.decode("utf-8", "replace")))
    return index.like(query, most, LEAST)


def _written(text: str) -> str:
    """Return what people wrote in a paper, without what the house keeps above it: ids, times and such."""
    try:
        values = front_matter(text)
    except Unreadable:
        return text
    messages = [scalar(values.get(key)) for key in ("title", "assignee", "due")]
    return "\n".join([*filter(None, messages), body_of(text)]) if values else text


def _said(document: str) -> str:
    """Return a file's path as people say it: "notes, pizza dough" of notes/pizza-dough.md."""
    return document.rsplit(".", 1)[0].replace("/", ", ").replace("-", " ").replace("_", " ")
