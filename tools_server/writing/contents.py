"""What is in a file: text or something else, a page of it, and the lines that hold some words."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tools_server.sdk.arguments import whole
from tools_server.sdk.wording import plain
from tools_server.values.language import noted, plural
from tools_server.values.language import text as _
from tools_server.values.paths import PathDenied, Root

SNIFFED_BYTES = 4_096  # enough to tell what a file is
SEARCH_SECONDS = 10.0  # then what was found so far is told
SEARCH_BYTES = 1_000_000  # looked at of one file
SEARCHED_FILES = 5_000
SEARCH_DEPTH = 12
FOUND = 50  # lines in all
FOUND_IN_ONE = 5
LINE_CHARACTERS = 200

_KINDS = (  # what a file that is no text begins with
    (b"\x89PNG", noted("a picture")),
    (b"\xff\xd8\xff", noted("a picture")),
    (b"GIF8", noted("a picture")),
    (b"%PDF", noted("a PDF document")),
    (b"PK\x03\x04", noted("a ZIP archive or an office document")),
    (b"\x1f\x8b", noted("a compressed file")),
    (b"ID3", noted("a sound")),
    (b"fLaC", noted("a sound")),
    (b"OggS", noted("a sound")),
    (b"SQLite format 3", noted("a database")),
    (b"\x7fELF", noted("a program")),
)
_KINDS_INSIDE = (
    (b"WEBP", noted("a picture")),
    (b"WAVE", noted("a sound")),
    (b"ftyp", noted("a video")),
)  # within the first 16 bytes


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """Where a path leads: one of an agent's folders, and what is below it."""

    name: str  # of the root
    root: Root
    path: str  # "" is the root itself


def no_text(head: bytes) -> str:
    """Say what a file is by its first bytes, "" when it is text."""
    for magic, kind in _KINDS:
        if head.startswith(magic):
            return kind
    for magic, kind in _KINDS_INSIDE:
        if magic in head[:16]:
            return kind
    if b"\0" in head or (decoded(head)[1] < len(head) - 3):
        return _("a file that is no text")
    return ""


def decoded(page: bytes) -> tuple[str, int]:
    """Return the text that a page begins with, and how many of its bytes that is: a character may be cut at its end."""
    try:
        return page.decode("utf-8"), len(page)
    except UnicodeDecodeError as cut:
        return page[: cut.start].decode("utf-8"), cut.start


def amount(content: bytes) -> str:
    """Return how much it is, in words: "12 words", or what it is when it is no text."""
    return no_text(content[:SNIFFED_BYTES]) or plural("{count} word", "{count} words", len(content.split()))


def search(places: Sequence[FolderPlace], words: str, named: bool) -> tuple[list[dict[str, Any]], bool]:
    """Return the files whose name, and the lines that, hold all the words; and whether everything was looked at.

    Blocking, `SEARCH_SECONDS` at most; call it in a thread. `named` puts the root's name before each path.
    """
    rows: list[dict[str, Any]] = []
    wanted, until, looked = plain(words).split(), time.monotonic() + SEARCH_SECONDS, 0
    for place in places:
        for path, entry in place.root.walk(place.path, SEARCH_DEPTH):
            if entry.kind != "file":
                continue
            if looked >= SEARCHED_FILES or len(rows) >= FOUND or time.monotonic() > until:
                return rows[:FOUND], False
            looked += 1
            shown = whole(f"{place.name}/{path}" if named else path)
            if all(word in plain(path) for word in wanted):
                rows.append({"file": shown, "line": 0, "text": ""})
            rows += ({"file": shown, **line} for line in _lines(place.root, path, wanted))
    return rows[:FOUND], True


def _lines(root: Root, path: str, wanted: Sequence[str]) -> Iterator[dict[str, Any]]:
    try:
        content, _rest = root.piece(path, 0, SEARCH_BYTES)
    except PathDenied:
        return
    if not wanted or no_text(content[:SNIFFED_BYTES]):
        return
    hits = 0
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        folded = line.casefold()
        if all(word in folded for word in wanted):
            yield {"line": number, "text": line.strip()[:LINE_CHARACTERS]}
            hits += 1
            if hits == FOUND_IN_ONE:
                return
