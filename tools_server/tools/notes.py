"""Notes: one Markdown file a note, in the agent's own folder, which people may edit while the server runs.

The files lie in notes/ and the folders in it. A note that is made never takes the place of another: one with a title
that is taken gets a number, so that nothing is lost and nobody has to be asked.

What was written after reading words of others says so in its front matter ("origin: others"), and reading it is
reading words of others again: a person who let a mail be noted has not vouched for every sentence of it.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import anyio
from pydantic import Field

from tools_server.sdk.toolkit import Call, Result, ToolFailed, folder_tool
from tools_server.sdk.wording import aloud, capital, chosen, one_line, plain, some, spoken, told_problems
from tools_server.values.language import plural
from tools_server.values.language import text as _
from tools_server.values.paths import Root
from tools_server.values.shapes import PROBLEM
from tools_server.writing import papers
from tools_server.writing.papers import Paper, file_state, headed, put_back, read_all, scalar

NOTE = {"title": str, "file": str, "created": str}

FOLDER = "notes"
FOUND = 20  # matches told of
SNIPPET_CHARACTERS = 160
NOTE_BYTES = 128 * 1024  # half of what can be read back: a note that grows without end becomes none
TEXT_CHARACTERS = 60_000  # twenty pages, of one answer and of what may be edited; files.read pages through longer ones

Title = Annotated[str, Field(min_length=1, max_length=200, description="The note's title")]
Text = Annotated[str, Field(min_length=1, max_length=1_900)]

Parts = Annotated[
    list[Annotated[str, Field(max_length=1_900)]],
    Field(max_length=32, description="The whole text, in pieces that are put together as they are"),
]


@dataclass(frozen=True, slots=True)
class NoteMatch:
    """A note that holds the words, and where."""

    paper: Paper
    in_title: bool
    snippet: str


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


@folder_tool("notes.create", data={"note": NOTE}, risk="change")
async def create(call: Call, title: Title, text: Annotated[str, Field(max_length=1_900)] = "") -> Result:
    """Write a new note. One with the same title is left as it is: the new one gets a number."""
    wanted = one_line(title)
    if not wanted:
        raise ToolFailed("invalid", _("What is the note called?"))
    taken = {plain(paper.title) for paper in read_all(call.home, FOLDER, papers.DEPTH)[0]}
    named = next(name for name in _numbered(wanted) if plain(name) not in taken)
    values = {
        "title": named,
        "created": call.local().isoformat(timespec="seconds"),
        "id": f"note_{secrets.token_hex(8)}",
        **({papers.ORIGIN: papers.OTHERS} if call.tainted else {}),
    }
    written = headed(values, f"\n{text.strip()}\n" if text.strip() else "")
    file = papers.create(call.home, FOLDER, papers.slug(named, "note"), written)
    sentence = (
        _("Noted under {named}.").format(named=spoken(named))
        if text.strip()
        else _("Noted: {named}.").format(named=spoken(named))
    )
    if named != wanted:
        sentence = _("There is already a note called {wanted}, so this one is called {named}.").format(
            wanted=spoken(wanted), named=spoken(named)
        )
    receipt = call.receipt(sentence, before=None, after=file_state(call.agent.roots[0], file, written))
    return Result(sentence, {"note": {**values, "file": file}}, receipt)


@folder_tool("notes.append", data={"note": NOTE}, risk="change")
async def append(call: Call, title: Title, text: Text) -> Result:
    """Add a text to the end of a note that is already there."""
    note = _found(call, title)
    if not text.strip():
        raise ToolFailed("invalid", _("What shall I add to the note?"))
    ending = "\r\n" if "\r\n" in note.text else "\n"
    gap = "" if note.text.endswith(ending) or not note.text else ending
    written = note.text + gap + text.strip() + ending
    return _rewritten(call, note, written, _("Added it to {title}.").format(title=spoken(note.title)))


@folder_tool("notes.write", data={"note": NOTE}, risk="change", idempotent=True)
async def write(
    call: Call,
    title: Title,
    parts: Parts,
    revision: Annotated[str, Field(max_length=64, description="What was read and edited; else whatever is there")] = "",
) -> Result:
    """Write the whole text of a note anew, as somebody has edited it."""
    note = _found(call, title, guess=False)
    text = "".join(parts).strip()
    if note.body.strip() == text:
        return Result(_("{title} says that already.").format(title=capital(spoken(note.title))), {"note": _shown(note)})
    if revision not in ("", _revision(note)):
        raise _edited_meanwhile(call, note)
    written = note.text[: len(note.text) - len(note.body)].rstrip("\r\n") + f"\n\n{text}\n"
    return _rewritten(call, note, written, _("{title} is written anew.").format(title=capital(spoken(note.title))))


def _revision(note: Paper) -> str:
    """Return what is another one whenever the text of a note is another one."""
    return hashlib.sha256(note.body.strip().encode()).hexdigest()[:32]


def _edited_meanwhile(call: Call, note: Paper) -> ToolFailed:
    """Return the refusal to write over what somebody else wrote, with that; whoever has read it may write over it."""
    body = note.body.strip()
    is_shown = len(body) <= TEXT_CHARACTERS and call.gate.decide("notes.read", {"title": note.title}).allowed
    seen = {"text": body, "revision": _revision(note)} if is_shown else {"text": "", "revision": ""}
    sentence = _("Somebody else has changed {title} meanwhile.").format(title=spoken(note.title))
    refusal = ToolFailed("invalid", sentence, **seen)
    refusal.untrusted = note.of_others
    return refusal


def _rewritten(call: Call, note: Paper, written: str, sentence: str) -> Result:
    if call.tainted:
        written = papers.with_value(written, papers.ORIGIN, papers.OTHERS)
    if len(written.encode()) > NOTE_BYTES:
        raise ToolFailed("failed", _("{title} is full. Begin a new note.").format(title=capital(spoken(note.title))))
    return _written(call, note, written, sentence)


def _written(call: Call, note: Paper, text: str | None, sentence: str) -> Result:
    receipt = papers.written(call, note.file, note.stamp, (note.text, text), sentence)
    return Result(sentence, {"note": _shown(note)}, receipt)


@folder_tool("notes.read", data={"note": NOTE, "text": str, "truncated": bool, "revision": str}, risk="read")
async def read(call: Call, title: Title) -> Result:
    """Read a note aloud."""
    note = _found(call, title)
    body = note.body.strip()
    text = (
        f"{capital(spoken(note.title))}: {aloud(body)}"
        if aloud(body)
        else _("The note says only: {title}.").format(title=spoken(note.title))
    )
    more = len(body) > TEXT_CHARACTERS
    data = {
        "note": _shown(note),
        "text": body[:TEXT_CHARACTERS],
        "truncated": more,
        "revision": "" if more else _revision(note),
    }
    return Result(text, data, untrusted=note.of_others)


@folder_tool("notes.search", data={"matches": [{**NOTE, "snippet": str}], "problems": [PROBLEM]}, risk="read")
async def search(
    call: Call, words: Annotated[str, Field(min_length=1, max_length=200, description="Words to look for")]
) -> Result:
    """Find the notes that hold all of these words, in their title or their text."""
    look = partial(_searched, call.home, plain(words).split())  # a thousand notes take half a second
    matches, problems = await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
    if not matches:
        text = _("No note holds {one_line}.").format(one_line=spoken(one_line(words)))
    elif len(matches) == 1:
        title, snippet = spoken(matches[0].paper.title), aloud(matches[0].snippet)
        text = (
            _("It is in the note {title}: {snippet}").format(title=title, snippet=snippet)
            if snippet
            else _("There is the note: {title}.").format(title=title)
        )
    else:
        text = _("{count} hold that: {some}.").format(
            count=plural("{count} note", "{count} notes", len(matches)),
            some=some(match.paper.title for match in matches),
        )
    rows = [{**_shown(match.paper), "snippet": match.snippet} for match in matches[:FOUND]]
    others = any(match.paper.of_others for match in matches)
    return Result(text + told_problems(problems), {"matches": rows, "problems": problems}, untrusted=others)


@folder_tool("notes.list", data={"notes": [NOTE], "problems": [PROBLEM]}, risk="read")
async def list_notes(call: Call) -> Result:
    """Tell which notes there are, the newest first."""
    notes, problems = read_all(call.home, FOLDER, papers.DEPTH)
    notes.sort(key=lambda note: note.stamp.modified_ns, reverse=True)
    text = (
        _("You have {count}: {some}.").format(
            count=plural("{count} note", "{count} notes", len(notes)),
            some=some(note.title for note in notes),
        )
        if notes
        else _("No notes yet.")
    )
    data = {"notes": [_shown(note) for note in notes], "problems": problems}
    return Result(text + told_problems(problems), data, untrusted=any(note.of_others for note in notes))


async def _remove_question(call: Call, title: str) -> str:
    note = _found(call, title, guess=False)
    if not note.body.split():
        return _("Remove the note {title}, which is empty, for good?").format(title=spoken(note.title))
    return _("Remove the note {title}, with {count}, for good?").format(
        title=spoken(note.title),
        count=plural("{count} word", "{count} words", len(note.body.split())),
    )


@folder_tool("notes.remove", data={"note": NOTE}, risk="destructive", preview=_remove_question)
async def remove(call: Call, title: Title) -> Result:
    """Remove a whole note."""
    note = _found(call, title, guess=False)
    return _written(call, note, None, _("Removed the note {title}.").format(title=spoken(note.title)))


undo = put_back  # of its file, unless somebody has edited it since


# ── which note, and where in it ────────────────────────────────────────────────────────────────────


def _numbered(title: str) -> Iterator[str]:
    yield title
    for number in itertools.count(2):
        yield f"{title} {number}"


def _found(call: Call, title: str, *, guess: bool = True) -> Paper:
    notes, problems = read_all(call.home, FOLDER, papers.DEPTH)
    note = chosen(
        notes,
        title,
        named=lambda note: note.title,
        which=_("Which note"),
        missing=_("There is no note called {one_line}.").format(one_line=spoken(one_line(title))),
        rank=lambda note: (-note.stamp.modified_ns, note.file),
        guess=guess,
        remark=told_problems(problems),
        ids=lambda note: (note.file,),
    )
    call.permit(title=note.title)
    return note


def _searched(root: Root, wanted: list[str]) -> tuple[list[NoteMatch], list[dict[str, str]]]:
    """Return where all the words are, titles first. Each may be a part of a longer one: "plumb" finds the plumber."""
    notes, problems = read_all(root, FOLDER, papers.DEPTH)
    matches = []
    for note in notes:
        title, body = plain(note.title), note.body
        text = f"{title}\n{plain(body)}"
        if all(word in text for word in wanted):
            matches.append(NoteMatch(note, all(word in title for word in wanted), _snippet(body, wanted)))
    matches.sort(key=lambda match: (not match.in_title, plain(match.paper.title)))
    return matches, problems


def _snippet(body: str, wanted: list[str]) -> str:
    """Return the text around the first of the words, whole words only."""
    text = one_line(body)
    at = re.search("|".join(re.escape(word) for word in wanted), text, re.IGNORECASE)
    begin = max(0, (at.start() if at else 0) - SNIPPET_CHARACTERS // 2)
    end = begin + SNIPPET_CHARACTERS
    before = text.find(" ", begin) + 1 if begin else 0
    after = text.rfind(" ", before, end) if end < len(text) else len(text)
    return f"{'…' if begin else ''}{text[before:after]}{'…' if end < len(text) else ''}"


def _shown(note: Paper) -> dict[str, str]:
    return {"title": note.title, "file": note.file, "created": scalar(note.values.get("created"))}
