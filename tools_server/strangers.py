"""Which words were written down at the wish of who had read words of others? They are known again wherever they are.

A task that a mail wished for holds a stranger's words, also a month later, also for a model that never saw the mail,
and also when a person has said yes to its being written. The receipts of such changes say so and are kept for good;
from what they added (lines of a paper, a reminder's text, an event's title) the gate knows those words again in
whatever a tool answers. By the words and not by the record: one item of a stranger's makes no list a stranger's, and
what is moved, ticked off, undone or found by another tool stays what it was, until its words are changed or gone.
Notes carry a mark of their own, which people can see and take out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tools_server.state import Kept, State
from tools_server.toolkit import ToolSpec
from tools_server.wording import plain
from tools_server.writing.papers import Unreadable, body_of, front_matter, scalar

PHRASE_WORDS = 3  # so many are known inside other words too; fewer only where they stand alone: "milk" is in "oat milk"
ROW_WORDS = ("text", "name", "title")  # of a row of a tool's own table, what somebody said
MARKED_BY_THEMSELVES = "notes."

_BULLET = re.compile(r"^\s*(?:#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s*)?)")
_FOLD = re.compile(r"\r?\n[ \t]")  # RFC 5545, 3.1
_EVENT_WORDS = re.compile(r"^(?:SUMMARY|LOCATION|DESCRIPTION|COMMENT)(?:;[^:\r\n]*)?:([^\r\n]*)", re.MULTILINE)


class Strangers:
    """The words that receipts tell of. Used from the event loop's thread only."""

    def __init__(self, state: State, tools: Iterable[ToolSpec]) -> None:
        self._state = state
        self._ours = {"", *(plain(word) for spec in tools for word in _own_words(spec))}
        self._alone: set[str] = set()  # whole lines, as `plain` has them
        self._phrases: set[str] = set()  # those of them that are known in the middle of others, in spaces
        self._seen = 0  # the last receipt that was read

    def wished(self, *said: Any) -> bool:
        """Whether such words are among texts or JSON that a tool says. Raises `sqlite3.Error`."""
        self._catch_up()
        if not self._alone:
            return False
        lines = [_plain(line) for text in _texts(said) for line in text.splitlines()]
        if not self._alone.isdisjoint(lines):
            return True
        whole = f" {' '.join(lines)} "
        return any(phrase in whole for phrase in self._phrases)

    def wished_in(self, paper: str) -> bool:
        """Whether such words are in a paper, its front matter included. Raises `sqlite3.Error`."""
        return self.wished(list(_of_paper(paper)))

    def _catch_up(self) -> None:
        """Read the receipts that came since, from whatever process."""
        for place, kept in self._state.tainted_receipts(self._seen):
            self._seen = place
            for line in (_plain(line) for text in _added(kept) for line in text.splitlines()):
                if line in self._ours:
                    continue
                self._alone.add(line)
                if len(line.split()) >= PHRASE_WORDS:
                    self._phrases.add(f" {line} ")


def _added(kept: Kept) -> Iterator[str]:
    """Give what a change added, and its own name, which whoever tells of it gives."""
    yield kept.id
    if not kept.tool.startswith(MARKED_BY_THEMSELVES):
        before = set(_said(kept.before))
        yield from (text for text in _said(kept.after) if text not in before)


def _said(record: Any) -> Iterator[str]:
    """Give the words of a record, or of several, as a receipt holds them."""
    if isinstance(record, list):
        for each in record:
            yield from _said(each)
    elif isinstance(record, Mapping):
        if "file" in record or "href" in record:
            yield from _of_paper(str(record.get("text", "")))
        elif "moved" in record:
            yield from (str(record["moved"]), *_of_paper(str(record.get("text", ""))))
        else:
            yield from (value for key in ROW_WORDS if isinstance(value := record.get(key), str))


def _of_paper(text: str) -> Iterator[str]:
    """Give the lines of a paper that say something: an event's words; or its title, and what is below."""
    if text.startswith("BEGIN:VCALENDAR"):
        for value in _EVENT_WORDS.findall(_FOLD.sub("", text)):
            yield re.sub(r"\\[nN]", "\n", value).replace("\\", "")
        return
    try:
        title, body = scalar(front_matter(text).get("title")), body_of(text)
    except Unreadable:
        title, body = "", text
    yield from (title, *body.splitlines())


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)


def _plain(line: str) -> str:
    return plain(_BULLET.sub("", line))


def _own_words(spec: ToolSpec) -> Iterator[str]:
    """Give the words that a tool brings along: "shopping" is a list of ours, "todo" a column."""
    for described in spec.schema.get("properties", {}).values():
        yield from _texts([described.get("default"), described.get("enum", [])])
