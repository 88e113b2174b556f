"""Reads and changes an agent's events: in iCalendar files of its folder, and on calendar servers of its own.

Files are read anew each time. What a server has is kept in tools.db, so that it can be told, with its age, when the
server cannot be reached; nothing is written while it cannot.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tools_server.calendars.caldav import CalDav, CalendarObject, Conflict, ServerFailed, Silent
from tools_server.reach.tls import refuse_in_the_clear
from tools_server.sdk.arguments import whole
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Result, ToolFailed
from tools_server.times.spoken_time import ago_words
from tools_server.values.language import text as _
from tools_server.values.paths import PathDenied, Stamp
from tools_server.writing.papers import Unreadable, create, file_state, problem, put_back, slug

FOLDER = "calendar"
FILE_BYTES = 8 * 1024 * 1024  # an export of many years; only smaller ones are written (see paths.FILE_BYTES)
STEP_SECONDS = 5.0  # a server in the house answers in a tenth
SYNC_SECONDS = 10.0  # then what is known is told
MOST_NAMES = 1_000
MIGRATIONS = {
    "calendar.kept": """
        CREATE TABLE calendar_items (
            server TEXT NOT NULL,   -- its address and account
            href TEXT NOT NULL,
            etag TEXT NOT NULL,
            text TEXT NOT NULL,     -- iCalendar
            PRIMARY KEY (server, href)
        );
        CREATE TABLE calendar_synced (
            server TEXT PRIMARY KEY,
            at REAL NOT NULL,       -- wall clock, seconds since 1970
            calendar TEXT NOT NULL  -- the address of the calendar that new events go to
        );
    """
}


class CalendarAccount(BaseModel):
    """One account on a calendar server."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=60)
    url: str
    user: str
    password_file: Path
    agents: list[str] = Field(min_length=1)  # whose it is: one that is named nowhere is nobody's
    authority_file: Path | None = None  # PEM: who vouches for its certificate, when it is the house's own

    @model_validator(mode="after")
    def _guarded(self) -> CalendarAccount:
        refuse_in_the_clear(self.url)
        parts = urlsplit(self.url)
        if parts.username or parts.password:
            raise ValueError("write the account as user and password_file, not into the url")
        return self

    @property
    def key(self) -> str:
        """What its events are kept under: another account is another calendar."""
        return f"{self.url} {self.user}"


@dataclass(frozen=True, slots=True)
class CalendarPaper:
    """One file, or one event or series of a server."""

    text: str
    file: str  # its path in the root, or its address
    version: Stamp | str  # of the file, or the server's ETag
    server: CalendarAccount | None = None

    @property
    def calendar(self) -> str:
        """What people call where it is."""
        return self.server.name if self.server else self.file


@dataclass(slots=True)
class Diary:
    """Everything that an agent has, as far as it could be read."""

    sheets: list[CalendarPaper] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # of servers, in sentences


# ── reading ────────────────────────────────────────────────────────────────────────────────────────


async def opened(call: Call, servers: Sequence[CalendarAccount]) -> Diary:
    """Return what is in the files, and what the servers have: now, or when they were last reached."""
    diary = Diary()
    async with anyio.create_task_group() as tasks:
        for server in servers:
            tasks.start_soon(_synced, call, server, diary)
    for file, _entry in itertools.islice(call.home.walk(FOLDER, 2), MOST_NAMES):
        if file.endswith(".ics"):
            try:
                diary.sheets.append(_sheet(call, file))
            except (Unreadable, PathDenied) as wrong:
                diary.problems.append(problem(file.removeprefix(f"{FOLDER}/"), wrong))
    return diary


def _sheet(call: Call, file: str) -> CalendarPaper:
    content, stamp = call.home.read(file, FILE_BYTES)
    try:
        return CalendarPaper(content.decode("utf-8-sig"), file, stamp)
    except UnicodeDecodeError:
        raise Unreadable(_("it is not UTF-8 text")) from None


async def _synced(call: Call, server: CalendarAccount, diary: Diary) -> None:
    known = {row["href"]: row["etag"] for row in _rows(call, server)}
    try:
        calendar, etags, items = await _asked(call, server, lambda dav: _pulled(dav, known))
    except ServerFailed as failed:
        diary.remarks.append(_as_of(call, server, str(failed)))
    else:
        with call.state.transaction():
            for gone in known.keys() - etags.keys():
                _forget(call, server, gone)
            for item in items:
                _keep(call, server, item)
            call.state.run("INSERT OR REPLACE INTO calendar_synced VALUES (?, ?, ?)", server.key, call.now(), calendar)
    diary.sheets += (CalendarPaper(row["text"], row["href"], row["etag"], server) for row in _rows(call, server))


def _pulled(dav: CalDav, known: Mapping[str, str]) -> tuple[str, dict[str, str], list[CalendarObject]]:
    """Return the first calendar, the versions of all events, and those events that are new here."""
    etags: dict[str, str] = {}
    items: list[CalendarObject] = []
    calendars = dav.calendars()
    for calendar in calendars:
        results = dav.etags(calendar)
        items += dav.items(calendar, [href for href, etag in results.items() if known.get(href) != etag])
        etags |= results
    return calendars[0], etags, items


def _as_of(call: Call, server: CalendarAccount, failed: str) -> str:
    rows = call.state.rows("SELECT at FROM calendar_synced WHERE server = ?", server.key)
    if not rows:
        return failed
    return _("{failed} What I tell of it I knew at {ago_words}.").format(
        failed=failed, ago_words=ago_words(call.local(rows[0]["at"]), call.local())
    )


def _rows(call: Call, server: CalendarAccount) -> list[Any]:
    return call.state.rows("SELECT * FROM calendar_items WHERE server = ? ORDER BY href", server.key)


def _keep(call: Call, server: CalendarAccount, item: CalendarObject) -> None:
    values = (server.key, item.href, item.etag, whole(item.text))
    call.state.run("INSERT OR REPLACE INTO calendar_items VALUES (?, ?, ?, ?)", *values)


def _forget(call: Call, server: CalendarAccount, href: str) -> None:
    call.state.run("DELETE FROM calendar_items WHERE server = ? AND href = ?", server.key, href)


async def _asked(call: Call, server: CalendarAccount, what: Any) -> Any:
    """Ask a server something, in a thread. Raises `ServerFailed`, also when it takes too long."""

    def ask() -> Any:
        return what(CalDav(client, server.name, server.url))

    try:
        password = server.password_file.read_text(encoding="utf-8").strip()
        client = call.outside.http_client(STEP_SECONDS, authority=server.authority_file)
    except (OSError, UnicodeDecodeError) as missing:
        raise ServerFailed(_("I can't read the password for {name}.").format(name=server.name)) from missing
    client.auth = (server.user, password)
    with client, anyio.move_on_after(SYNC_SECONDS):
        return await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
    raise Silent(_("{name} does not answer.").format(name=server.name))


# ── writing ────────────────────────────────────────────────────────────────────────────────────────


async def add(call: Call, server: CalendarAccount | None, text: str, title: str, day: datetime) -> dict[str, str]:
    """Write a new event, and return what a receipt keeps of it. Raises `ToolFailed`."""
    if server is None:
        file = create(call.home, FOLDER, f"{day:%Y-%m-%d}-{slug(title, 'event')}", text, ".ics")
        return file_state(call.agent.roots[0], file, text)
    rows = call.state.rows("SELECT calendar FROM calendar_synced WHERE server = ?", server.key)
    item = await _written(
        call, server, lambda dav: dav.create(rows[0]["calendar"] if rows else dav.calendars()[0], text)
    )
    return _kept(server, item)


async def write(call: Call, sheet: CalendarPaper, text: str | None) -> tuple[dict[str, str], dict[str, str] | None]:
    """Write a sheet's new text, None to remove it, and return what a receipt keeps: before, and after."""
    if sheet.server is None:
        assert isinstance(sheet.version, Stamp)
        if text is None:
            call.home.remove(sheet.file)
        else:
            call.home.replace(sheet.file, text.encode(), sheet.version)
        root = call.agent.roots[0]
        after = None if text is None else file_state(root, sheet.file, text)
        return file_state(root, sheet.file, sheet.text), after
    assert isinstance(sheet.version, str)
    before = CalendarObject(sheet.file, sheet.version, sheet.text)
    if text is None:
        await _written(call, sheet.server, lambda dav: dav.remove(before), gone=sheet.file)
        return _kept(sheet.server, before), None
    item = await _written(call, sheet.server, lambda dav: dav.replace(before, text))
    return _kept(sheet.server, before), _kept(sheet.server, item)


async def undo(call: Call, servers: Sequence[CalendarAccount], receipt: StoredReceipt) -> Result:
    """Take a change back, unless somebody has changed the same since. Raises `ToolFailed`."""
    before, after = receipt.before, receipt.after
    there = after or before
    if "root" in there:
        return await put_back(call, receipt)
    server = next((server for server in servers if server.key == there["server"]), None)
    if server is None:
        raise ToolFailed("denied", _("That calendar is not yours."))
    if after and before:
        now = await _written(call, server, lambda dav: dav.replace(_item(after), before["text"]))
    elif before:
        now = await _written(call, server, lambda dav: dav.restore(before["href"], before["text"]))
    else:
        now = await _written(call, server, lambda dav: dav.remove(_item(after)), gone=after["href"])
    text = call.taken_back(receipt)
    return Result(text, {}, call.receipt(text, before=after, after=_kept(server, now) if now else None))


async def _written(call: Call, server: CalendarAccount, what: Any, gone: str = "") -> Any:
    """Have a server write something and keep what it has then. Nothing is kept for later when it cannot."""
    try:
        item = await _asked(call, server, what)
    except Conflict as conflict:
        raise ToolFailed("failed", str(conflict)) from conflict
    except Silent as silent:
        raise ToolFailed(
            "failed", _("{silent} It may be done or not: look before you ask again.").format(silent=silent)
        ) from silent
    except ServerFailed as failed:
        raise ToolFailed("failed", _("{failed} So nothing is changed.").format(failed=failed)) from failed
    if item is not None:
        _keep(call, server, item)
    elif gone:
        _forget(call, server, gone)
    return item


def _item(there: Mapping[str, str]) -> CalendarObject:
    return CalendarObject(there["href"], there["etag"], there["text"])


def _kept(server: CalendarAccount, item: CalendarObject) -> dict[str, str]:
    return {"server": server.key, **asdict(item)}
