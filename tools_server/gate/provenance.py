"""Recognises stored text that came from calls made after reading untrusted words.

A task that a mail wished for holds a stranger's words, also a month later, also for a model that never saw the mail,
and also when a person has said yes to its being written. The receipts of such changes say so and are kept for good;
from what they added (lines of a paper and what is above them, a reminder's text and room, an event's title) the gate
knows those words again in whatever a tool answers. By the words and not by the record: one item of a stranger's makes
no list a stranger's, and what is moved, ticked off, undone or found by another tool stays what it was.

A line is known by its first words, and the oldest are forgotten when very many are known. One or two words ("milk")
are anybody's: they are a stranger's only where they stand alone, in what tells of the paper or the row that they were
written into, until they are taken out of it with a tool. Who takes them out by hand takes no mark from them.
Notes carry a mark of their own, which people can see and take out.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, NamedTuple

from tools_server.sdk.state import StoredReceipt, ToolsDatabase
from tools_server.sdk.toolkit import ToolSpec
from tools_server.sdk.wording import plain
from tools_server.writing.papers import ORIGIN, Unreadable, body_of, front_matter, scalar

PHRASE_WORDS = 3  # so many are known inside other words too; fewer only where they stand alone: "milk" is in "oat milk"
TELLING_WORDS = 8  # of a line, from its beginning: what follows them may be cut where it is told
COMMON_CHARACTERS = 24  # fewer words than `PHRASE_WORDS` and characters than this are anybody's; no id is so short
KEPT_BYTES = 1_048_576  # of lines: years of what people agree to, or one evil paper
HOUSEHOLDS = ("notes", "tasks", "lists", "facts")  # folders of what is written with tools of their own
ROW_WORDS = ("text", "name", "title", "person", "room")  # of a row of a tool's own table, what somebody said
MARKED_BY_THEMSELVES = "notes."
FULL = "more words of strangers were written down than are kept in mind: the oldest are taken for the household's now"

_BULLET = re.compile(r"^\s*(?:#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s*)?)")
_FOLD = re.compile(r"\r?\n[ \t]")  # RFC 5545, 3.1
_EVENT_WORDS = re.compile(r"^(?:SUMMARY|LOCATION|DESCRIPTION|COMMENT)(?:;[^:\r\n]*)?:([^\r\n]*)", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T\d:.+Z-]*")  # the house's own way to write one
_ID = re.compile(r"[a-z]+_[0-9a-f]+")
log = logging.getLogger(__name__)


class WrittenPlace(NamedTuple):
    """The paper or the row that words were written into."""

    family: str  # of the tools that tell of it: "lists"
    file: str  # its path, or the row's id
    id: str  # what is told together with it; "" when it has none
    root: str = ""


class Strangers:
    """The words that receipts tell of. Used from the event loop's thread only."""

    def __init__(self, state: ToolsDatabase, tools: Iterable[ToolSpec]) -> None:
        self._state = state
        self._tools = tuple(tools)
        self._known: dict[
            str, dict[WrittenPlace, bool]
        ] = {}  # by how they begin, the oldest first; whether they are there
        self._begun: Counter[str] = Counter()  # the first words of each phrase: most texts hold none of them
        self._watched: set[str] = set()  # files and ids, in JSON, that hold common ones
        self._bytes = 0
        self._full = False  # and the log says so
        self._seen = 0  # the last receipt that was read

    @cached_property
    def _ours(self) -> Set[str]:
        """The words that tools bring along, read when the first receipt is: that takes 5 ms."""
        return {"", *(plain(word) for spec in self._tools for word in _own_words(spec))}

    def wished(self, *texts: Any, tool: str = "") -> bool:
        """Whether such words are among texts or JSON that a tool says. Raises `sqlite3.Error`.

        Of a `tool`'s answer, common words count that were written where such a tool writes. Takes a time that grows
        with what is said, and not with what is known; the first one reads the receipts, a year of them in a second.
        """
        return self._told(texts, tool.split(".")[0])

    def wished_in(self, paper: str, file: str = "") -> bool:
        """Whether such words are in a paper, its front matter included. Raises `sqlite3.Error`."""
        return self._told([_id_of(paper), *_of_paper(paper)], file.split("/")[0])

    def _told(self, phrase: Any, family: str) -> bool:
        self._catch_up()
        if not self._known:
            return False
        lines = [_plain(line) for text in _texts(phrase) for line in text.splitlines()]
        alone = set(lines)
        if any(self._is_there(line, alone, family) for line in alone & self._known.keys()):
            return True
        return self._holds_phrase(" ".join(lines).split())

    def _is_there(self, line: str, messages: set[str], family: str) -> bool:
        return not _is_common(line) or any(
            there and (not family or where.family == family) and (not where.id or where.id in messages)
            for where, there in self._known[line].items()
        )

    def _holds_phrase(self, words: Sequence[str]) -> bool:
        for at in range(len(words) - PHRASE_WORDS + 1):
            if " ".join(words[at : at + PHRASE_WORDS]) in self._begun and any(
                " ".join(words[at : at + length]) in self._known for length in range(PHRASE_WORDS, TELLING_WORDS + 1)
            ):
                return True
        return False

    def _catch_up(self) -> None:
        """Read the receipts that came since, from whatever process."""
        for place, stored_receipt in self._state.receipts_of_taint(self._seen, self._matters):
            self._seen = place
            if stored_receipt is None:
                continue
            if stored_receipt.tainted:
                self._learn(plain(stored_receipt.id), None)  # whoever tells of the change gives it
            before, after = (
                list(_records(stored_receipt.tool, stored_receipt.before)),
                list(_records(stored_receipt.tool, stored_receipt.after)),
            )
            if isinstance(stored_receipt.after, Mapping) and "moved" in stored_receipt.after:
                self._follow(before[0][0], after[0][0])
            had, left = ({word for _, words in records for word in words} for records in (before, after))
            for where, words in after:
                for word in (word for word in words if word not in had):
                    self._came(word, where, stored_receipt)
            for where, words in before:
                for word in (word for word in words if word not in left):
                    if where in (wheres := self._known.get(word, {})):
                        wheres[where] = False

    def _matters(self, before: str, after: str) -> bool:
        """Whether a change may have moved common words, taken them away or put them back; by the JSON of its receipt.

        Most add other lines, and a year of them is looked at when the server starts.
        """
        if not any(name in before or name in after for name in self._watched):
            return False
        lines, others = set(before.split("\\n")), set(after.split("\\n"))
        return any(map(self._may_know, lines ^ others))

    def _may_know(self, piece: str) -> bool:
        try:
            return _plain(json.loads(f'"{piece}"')) in self._known
        except ValueError:  # no line: a row, or where a paper begins
            return True

    def _came(self, word: str, where: WrittenPlace, stored_receipt: StoredReceipt) -> None:
        actors = (plain(stored_receipt.actor.get("person", "")), plain(stored_receipt.actor.get("room", "")))
        if stored_receipt.tainted and not stored_receipt.tool.startswith(MARKED_BY_THEMSELVES) and word not in actors:
            self._learn(word, where)
        elif stored_receipt.undoes and where in (wheres := self._known.get(word, {})):
            wheres[where] = True  # what is put back is what it was

    def _follow(self, old: WrittenPlace, new: WrittenPlace) -> None:
        """Go along with a paper that was moved."""
        for wheres in self._known.values():
            for where in [where for where in wheres if (where.root, where.file) == (old.root, old.file)]:
                self._watched.add(json.dumps(new.file))
                wheres[where._replace(family=new.family, file=new.file)] = wheres.pop(where)

    def _learn(self, line: str, where: WrittenPlace | None) -> None:
        words = line.split()
        begun = " ".join(words[:PHRASE_WORDS])
        line = " ".join(words[:TELLING_WORDS])
        if line in self._ours:
            return
        wheres = self._known.pop(line, None)
        if wheres is None:
            self._bytes += len(line.encode())
            self._begun[begun] += 1
        if where and _is_common(line):
            self._watched.add(json.dumps(where.file))
        self._known[line] = (wheres or {}) | ({where: True} if where and _is_common(line) else {})
        while self._bytes > KEPT_BYTES:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        oldest = next(iter(self._known))
        del self._known[oldest]
        self._bytes -= len(oldest.encode())
        begun = " ".join(oldest.split()[:PHRASE_WORDS])
        self._begun[begun] -= 1
        if not self._begun[begun]:
            del self._begun[begun]
        if not self._full:
            log.warning(FULL)
        self._full = True


def is_households(file: str, text: str) -> bool:
    """Whether a file is a paper of the household's own: it lies where they do and bears no mark of others."""
    try:
        return file.split("/")[0] in HOUSEHOLDS and ORIGIN not in front_matter(text)
    except Unreadable:
        return False


def _is_common(line: str) -> bool:
    return len(line) < COMMON_CHARACTERS and len(line.split()) < PHRASE_WORDS


_Record = tuple[WrittenPlace, list[str]]


def _records(tool: str, stored: Any) -> Iterator[_Record]:
    """Give the papers or rows that a receipt holds, with their words as they are compared, line by line."""
    family = tool.split(".")[0]
    if isinstance(stored, list):
        for item in stored:
            yield from _records(tool, item)
    elif isinstance(stored, Mapping):
        file = next((str(stored[key]) for key in ("moved", "file", "href") if key in stored), "")
        text = str(stored.get("text", ""))
        if file:
            folder = file.split("/")[0]
            texts = [*([file] if "moved" in stored else []), *_of_paper(text)]
            where = WrittenPlace(
                folder if folder in HOUSEHOLDS else family, file, _id_of(text), str(stored.get("root", ""))
            )
        else:
            texts = [value for key in ROW_WORDS if isinstance(value := stored.get(key), str)]
            where = WrittenPlace(family, str(stored.get("id", "")), plain(str(stored.get("id", ""))))
        yield where, [_plain(line) for item in texts for line in item.splitlines()]


def _of_paper(text: str) -> Iterator[str]:
    """Give the lines of a paper that say something: an event's words; or its title, and what is below."""
    if text.startswith("BEGIN:VCALENDAR"):
        for value in _EVENT_WORDS.findall(_FOLD.sub("", text)):
            yield re.sub(r"\\[nN]", "\n", value).replace("\\", "")
        return
    try:
        values, body = front_matter(text), body_of(text)
    except Unreadable:
        values, body = {}, text
    yield from (
        word for word in _scalars({k: v for k, v in values.items() if k != ORIGIN}) if not _DATE.fullmatch(word)
    )
    yield from body.splitlines()


def _id_of(paper: str) -> str:
    """Return the id of a paper as it is compared; "" when it has none, or none that the house would give."""
    try:
        id = scalar(front_matter(paper).get("id"))
    except Unreadable:
        return ""
    return plain(id) if _ID.fullmatch(id) else ""


def _scalars(value: Any) -> Iterator[str]:
    """Give the words of front matter, but for ids."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from (word for word in _scalars(item) if key != "id" or not _ID.fullmatch(word))
    elif isinstance(value, (list, set)):
        for item in value:
            yield from _scalars(item)
    else:
        yield scalar(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _plain(line: str) -> str:
    return plain(_BULLET.sub("", line))


def _own_words(spec: ToolSpec) -> Iterator[str]:
    """Give the words that a tool brings along: "shopping" is a list of ours, "todo" a column."""
    for described in spec.schema.get("properties", {}).values():
        yield from _texts([described.get("default"), described.get("enum", [])])
