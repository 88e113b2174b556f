"""Files in the agent's own folders: list, read, search, write. Whatever the path says, it never leads out of them.

A file may come from anywhere (a download, an attachment, a scan), so its words and its name are words of others;
notes, tasks, lists and facts, which the household writes with their own tools, are not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from typing import Annotated

import anyio
from pydantic import Field

from tools_server.gate.provenance import is_households
from tools_server.sdk.arguments import whole
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed, folder_tool
from tools_server.sdk.wording import aloud, one_line, size, some, spoken
from tools_server.values.language import plural, series
from tools_server.values.language import text as _
from tools_server.values.paths import FILE_BYTES, FolderEntry, PathDenied
from tools_server.writing import contents
from tools_server.writing.contents import SEARCH_DEPTH, SNIFFED_BYTES, FolderPlace, amount, decoded, no_text
from tools_server.writing.papers import Unreadable, body_of, edited, file_state, put_back, root_of

PAGE_BYTES = 16_384  # of text in one answer: some 4,000 tokens
NEAR_FILES = 1_000  # looked through for a name like the one that is not there

_PATH = "Path in your folders, such as notes/garden.md"
Path = Annotated[str, Field(min_length=1, max_length=1_000, description=_PATH)]
Text = Annotated[str, Field(max_length=1_900, description="The text")]


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@folder_tool("files.list", data={"folders": [str], "files": [{"name": str, "bytes": int}]}, risk="read", untrusted=True)
async def list_files(
    call: Call,
    folder: Annotated[str, Field(max_length=1_000, description="A folder; leave out for the top")] = "",
) -> Result:
    """Tell what is in a folder."""
    if folder in ("", ".", "/") and len(call.agent.roots) > 1:
        names = [*call.agent.roots]
        return Result(
            _("You have {count}: {series}.").format(
                count=plural("{count} folder", "{count} folders", len(names)),
                series=series(names, "and"),
            ),
            {"folders": names, "files": []},
        )
    place = _folder(call, folder)
    entries = _entries(call, place)
    folders = [whole(entry.name) for entry in entries if entry.kind == "folder"]
    files = [{"name": whole(entry.name), "bytes": entry.size} for entry in entries if entry.kind != "folder"]
    of = _("the folders ") if len(folders) > 1 else _("the folder ")
    named = [(of if not at else "") + one_line(name) for at, name in enumerate(folders)]
    named += [one_line(str(file["name"])) for file in files]
    where = _called(place.path) if place.path else _("Your folder")
    text = (
        _("{where} holds {some}.").format(where=where, some=some(named))
        if named
        else _("{where} is empty.").format(where=where)
    )
    return Result(text, {"folders": folders, "files": files})


@folder_tool(
    "files.read",
    data={"bytes": int, "text?": str, "next_offset?": int | None, "kind?": str},
    risk="read",
    untrusted=True,
)
async def read(
    call: Call,
    path: Path,
    offset: Annotated[int, Field(ge=0, le=2**40, description="next_offset of the last answer, to read on")] = 0,
) -> Result:
    """Read a text file, a page at a time; of other files, tell what they are."""
    place = _place(call, path)
    with _nearest(call, place):
        page, total = place.root.piece(place.path, offset, PAGE_BYTES)
    name = _called(place.path.rsplit("/", 1)[-1])
    head = page if not offset else place.root.piece(place.path, 0, SNIFFED_BYTES)[0]
    if what := no_text(head):
        return Result(
            _("{name} is {what} of {size}, which I can't read aloud.").format(name=name, what=what, size=size(total)),
            {"bytes": total, "kind": what},
        )
    text, used = decoded(page)
    end = offset + used
    data = {"text": text, "bytes": total, "next_offset": end if used and end < total else None}
    if not text.strip():
        sentence = _("{name} ends there.") if offset else _("{name} is empty.")
        return Result(sentence.format(name=name), data)
    return Result(f"{name}: {aloud(text if offset else _below_the_head(text))}", data)


def _below_the_head(text: str) -> str:
    """Return what people wrote below the front matter of a note or a task; all of any other text."""
    try:
        return body_of(text).strip() or text
    except Unreadable:
        return text


@folder_tool(
    "files.search",
    data={"matches?": [{"file": str, "line": int, "text": str}], "whole?": bool},
    risk="read",
    untrusted=True,
)
async def search(
    call: Call,
    words: Annotated[str, Field(min_length=1, max_length=200, description="Words to look for")],
    folder: Annotated[str, Field(max_length=1_000, description="A folder; leave out for all")] = "",
) -> Result:
    """Find files by their name, or by a line in them that holds all the words."""
    places = (
        [_folder(call, folder)] if folder else [FolderPlace(name, call.roots[name], "") for name in call.agent.roots]
    )
    for place in places:
        _entries(call, place)  # a folder that is not there, or may not be looked into, is no empty one
    look = partial(contents.search, places, words, len(call.agent.roots) > 1)
    rows, whole = await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
    if not rows:
        text = _("No file holds {one_line}.").format(one_line=spoken(one_line(words)))
    else:
        names = dict.fromkeys(one_line(match["file"].rsplit("/", 1)[-1]) for match in rows)
        text = _("Found in {count}: {some}.").format(
            count=plural("{count} file", "{count} files", len({match["file"] for match in rows})),
            some=some(names),
        )
    if not whole:
        text += _(" I did not look at everything: name a folder to look closer.")
    return Result(text, {"matches": rows, "whole": whole})


@folder_tool("files.create", data={"file": str}, risk="change")
async def create(call: Call, path: Path, text: Text = "") -> Result:
    """Make a new text file. One that is already there is left as it is."""
    place = _place(call, path)
    place.root.create(place.path, text.encode())
    return _changed(call, place, _("Made {whole}.").format(whole=_called(place.path)), None, text)


@folder_tool("files.append", data={"file": str, "bytes": int}, risk="change")
async def append(call: Call, path: Path, text: Annotated[str, Field(min_length=1, max_length=1_900)]) -> Result:
    """Add lines to the end of a text file."""
    place = _place(call, path)
    with _nearest(call, place):
        content, stamp = place.root.read(place.path)
    if what := no_text(content):
        form = _("{whole} is {what}: no text can be added to it.")
        raise ToolFailed("invalid", form.format(whole=_called(place.path), what=what))
    gap = b"" if content.endswith(b"\n") or not content else b"\n"
    written = content + gap + text.encode() + (b"" if text.endswith("\n") else b"\n")
    if len(written) > FILE_BYTES:
        raise ToolFailed("failed", _("{whole} is full. Begin another file.").format(whole=_called(place.path)))
    place.root.replace(place.path, written, stamp)
    sentence = _("Added it to {whole}.").format(whole=_called(place.path))
    return _changed(call, place, sentence, content, written, bytes=len(written))


async def _write_question(call: Call, path: str, text: str) -> str:
    place = _place(call, path)
    words = plural("{count} word", "{count} words", len(text.split()))
    if call.tainted:  # they may be a stranger's, and be told as the household's own later: nobody agrees to a number
        words += f" (“{text.strip()}”)"
    try:
        content, _rest = place.root.read(place.path)
    except PathDenied as denied:
        if denied.reason != "missing":
            raise
        return _("Write a new file, {whole}, of {words}?").format(whole=_called(place.path), words=words)
    return _("Put {words} in place of all that is in {whole}, which is {amount}?").format(
        words=words, whole=_called(place.path), amount=amount(content)
    )


@folder_tool("files.write", data={"file": str}, risk="destructive", idempotent=True, preview=_write_question)
async def write(call: Call, path: Path, text: Text) -> Result:
    """Write a text file whole, in place of what is in it. For a new file use files.create."""
    place = _place(call, path)
    try:
        content, stamp = place.root.read(place.path)
    except PathDenied as denied:
        if denied.reason != "missing":
            raise
        place.root.create(place.path, text.encode())
        content = None
    else:
        place.root.replace(place.path, text.encode(), stamp)
    return _changed(call, place, _("Wrote {whole}.").format(whole=_called(place.path)), content, text)


def _changed(
    call: Call, place: FolderPlace, sentence: str, before: str | bytes | None, after: str | bytes | None, **data: int
) -> Result:
    """Return the answer to a change of what is in a file, None for no file, with its receipt."""
    was, now = (None if text is None else file_state(place.name, place.path, text) for text in (before, after))
    return Result(sentence, {"file": place.path, **data}, call.receipt(sentence, before=was, after=now))


@folder_tool("files.move", data={"file": str}, risk="change")
async def move(call: Call, path: Path, to: Annotated[str, Field(min_length=1, max_length=1_000)]) -> Result:
    """Give a file another name, or put it into another folder. Nothing is ever overwritten."""
    place, new = _place(call, path), _folder(call, to, "to")
    if place.name != new.name:
        raise ToolFailed("invalid", _("A file stays in its own folder: {name}.").format(name=place.name))
    target = new.path
    if not new.path or to.endswith("/") or _is_folder(new):
        target = "/".join(part for part in (new.path, place.path.rsplit("/", 1)[-1]) if part)
    _permit(call, FolderPlace(new.name, new.root, target), "to")
    words = _words_of_others(call, place)
    with _nearest(call, place):
        place.root.move(place.path, target)
    text = _("{whole} is now {whole2}.").format(whole=_called(place.path), whole2=_called(target))
    was, now = ({"root": place.name, "moved": path} for path in (place.path, target))
    return Result(text, {"file": target}, call.receipt(text, before=was, after={**now, **words}))


def _words_of_others(call: Call, place: FolderPlace) -> dict[str, str]:
    """Return what a receipt keeps of a file that a stranger may wish elsewhere: under facts/ it is told as a fact."""
    if not call.tainted:
        return {}
    try:
        text = place.root.read(place.path)[0].decode("utf-8", "replace")
    except PathDenied:  # a folder, or more than a paper may be: `move` says what is wrong with it, if anything is
        return {}
    return {} if is_households(place.path, text) else {"text": text}  # what in it is a stranger's is known already


async def _remove_question(call: Call, path: str) -> str:
    place = _place(call, path)
    with _nearest(call, place):
        head, total = place.root.piece(place.path, 0, SNIFFED_BYTES)
    what = no_text(head) or _("a text")
    lost = _(" It is too large to bring back afterwards.") if total > FILE_BYTES else ""
    return _("Remove {whole}, {what} of {size}?{lost}").format(
        whole=_called(place.path), what=what, size=size(total), lost=lost
    )


@folder_tool("files.remove", data={"file": str}, risk="destructive", preview=_remove_question)
async def remove(call: Call, path: Path) -> Result:
    """Remove a file."""
    place = _place(call, path)
    with _nearest(call, place):
        _first, total = place.root.piece(place.path, 0, 0)
    content = place.root.read(place.path)[0] if total <= FILE_BYTES else None
    place.root.remove(place.path)
    return _changed(call, place, _("Removed {whole}.").format(whole=_called(place.path)), content, None)


async def undo(call: Call, receipt: StoredReceipt) -> Result:
    """Put a file back as it was, or where it was, unless somebody has changed that since."""
    before, after = receipt.before, receipt.after
    if not before or "moved" not in before:
        return await put_back(call, receipt)
    try:
        root_of(call, before).move(after["moved"], before["moved"])
    except PathDenied as denied:
        if denied.reason not in ("missing", "exists"):
            raise
        how = _("was removed since") if denied.reason == "missing" else _("can't go back: its place is taken")
        raise edited(after["moved"], how) from denied
    text = _("{moved} is where it was.").format(moved=spoken(before["moved"]))
    return Result(text, {"file": before["moved"]}, call.receipt(text, before=after, after=before))


# ── where it is ────────────────────────────────────────────────────────────────────────────────────


def _place(call: Call, path: str, argument: str = "path") -> FolderPlace:
    """Return where a path leads. It may begin with the name of one of the agent's folders; else it is in the first."""
    first, _slash, rest = path.partition("/")
    if rest and first in call.roots:
        place = FolderPlace(first, call.roots[first], rest)
    else:
        place = FolderPlace(call.agent.roots[0], call.home, path)
    _permit(call, place, argument)
    return place


def _called(path: str) -> str:
    """Return a path as it is said."""
    return spoken(whole(path))


def _permit(call: Call, place: FolderPlace, argument: str) -> None:
    """Ask the rules about a file by both of its paths: with and without the folder that they begin in."""
    call.permit(**{argument: [place.path, f"{place.name}/{place.path}"]})


def _folder(call: Call, folder: str, argument: str = "folder") -> FolderPlace:
    if folder in call.roots:
        return FolderPlace(folder, call.roots[folder], "")
    return _place(call, "" if folder in (".", "/") else folder.removesuffix("/"), argument)


def _entries(call: Call, place: FolderPlace) -> list[FolderEntry]:
    with _nearest(call, place):
        return place.root.entries(place.path)


def _is_folder(place: FolderPlace) -> bool:
    parent, _slash, name = place.path.rpartition("/")
    try:
        return any(entry.name == name and entry.kind == "folder" for entry in place.root.entries(parent))
    except PathDenied:
        return False


@contextmanager
def _nearest(call: Call, place: FolderPlace) -> Iterator[None]:
    """Say which file has a name like the one that is not there."""
    try:
        yield
    except PathDenied as denied:
        if denied.reason != "missing":
            raise
        every = itertools.islice(place.root.walk("", SEARCH_DEPTH), NEAR_FILES)
        files = [file for file, entry in every if entry.kind == "file"]
        by_name = {file.rsplit("/", 1)[-1].casefold(): file for file in files}
        name = place.path.rsplit("/", 1)[-1].casefold()
        near = get_close_matches(place.path, files, n=1) or [
            by_name[name] for name in get_close_matches(name, by_name, n=1)
        ]
        hint = _(" The nearest is {whole}.").format(whole=_called(near[0])) if near else ""
        nearest = [whole(file) for file in near]
        text = _("There is no {whole}.{hint}").format(whole=_called(place.path), hint=hint)
        raise ToolFailed("not_found", text, nearest=nearest) from denied
