"""A deed at a time: "turn it off in five minutes". Rows with wall-clock deadlines: no restart loses one.

What is to be done in five minutes is done in five minutes, also where somebody sets the clock; at ten is at ten. What
is to be done again and again waits for its next time once it is done, or was too late. What is to be done when a timer
ends moves with that timer. "And then back" is the undoing of what the same request changed, by its receipt.

When its time comes it is called through the gate like anything else, for the one who set it, under the rules of that
moment, and recorded. It is marked as begun before it begins: after a crash in between, what does no harm twice is done
again, and anything else is reported as doubtful. What nobody can watch must not fail in silence: the house asks
`later.due` for what went wrong, and says it aloud.
"""

from __future__ import annotations

import json
import logging
import secrets
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, replace
from datetime import datetime, tzinfo
from typing import Annotated, Any

import anyio
from pydantic import Field

from tools_server.hubs.deed_words import back_words, deed_words
from tools_server.hubs.deeds import put_back
from tools_server.hubs.home import Home
from tools_server.sdk import rows
from tools_server.sdk.arguments import checked
from tools_server.sdk.state import StoredReceipt
from tools_server.sdk.toolkit import Call, Live, Result, ToolFailed, ToolSpec, house_look, tool
from tools_server.sdk.wording import NAMED, capital, one_line, spoken
from tools_server.sdk.wording import chosen as chosen_by_words
from tools_server.times.clock_steps import STEP_SECONDS, clock
from tools_server.times.ownership import DEEDS, refuse_more, role_of
from tools_server.times.recurrence import Recurrence, moment, read
from tools_server.times.spoken_time import moment_words, rule_words
from tools_server.times.when import understand
from tools_server.tools.history import newest_change
from tools_server.tools.timers import timer_meant
from tools_server.values.language import length, series, speaking, spoken_later
from tools_server.values.language import text as _
from tools_server.values.policy import CallActor
from tools_server.values.shapes import DUE, IDS
from tools_server.values.wire_names import inner_name
from wall.roles import NOBODY

DEED = {"id": str, "tool": str, "arguments": dict, "text": str, "at": float, "rule": str}

UNDO, LAST = "history.undo", "last"
LONGEST_SECONDS = 31 * 86_400
HALF_A_DAY_HOURS = 12
OFTENEST_SECONDS = 3600  # more often nothing in a house is to be switched while nobody looks
LATEST_SECONDS = 3600  # a light that should have gone off an hour ago goes off; the blinds of the morning stay down
MOST_DEEDS = 50
LOOK_SECONDS = 1.0
SOON_SECONDS = 3 * 3600  # until then it is said in how long, and after that at what time
log = logging.getLogger(__name__)

MIGRATIONS = {
    "later": """
        CREATE TABLE later (
            id TEXT PRIMARY KEY,
            tool TEXT NOT NULL,
            arguments TEXT NOT NULL,  -- JSON
            text TEXT NOT NULL,       -- the deed, as people call it
            agent TEXT NOT NULL,
            actor TEXT NOT NULL,      -- JSON: who set it, from where
            language TEXT NOT NULL,
            at REAL NOT NULL,         -- wall clock, seconds since 1970
            begun_at REAL,
            failed TEXT NOT NULL      -- what is to be said of it; '' while nothing went wrong
        );
    """,
    "later boot": """
        ALTER TABLE later ADD COLUMN boot TEXT NOT NULL DEFAULT '';  -- of the machine, when it was set
    """,
    "later clock": """
        ALTER TABLE later ADD COLUMN clock REAL;  -- as `clock_steps.clock` stood then; NULL for a time on the wall
    """,
    "later rule": """
        ALTER TABLE later ADD COLUMN rule TEXT NOT NULL DEFAULT '';   -- RRULE; '' is once
        ALTER TABLE later ADD COLUMN start TEXT NOT NULL DEFAULT '';  -- of the rule: ISO, on the clocks of the house
        ALTER TABLE later ADD COLUMN timer TEXT NOT NULL DEFAULT '';  -- at whose end it is done; '' is at a time
    """,
}


@asynccontextmanager
async def opened(live: Live) -> AsyncIterator[DeedScheduler]:
    """Do what is due, in the background."""
    clock = DeedScheduler(live)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.run)
        yield clock
        tasks.cancel_scope.cancel()


class DeedScheduler:
    """Does each deed when its time has come."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._running: set[str] = set()
        self._ended: dict[str, str] = {}  # done or failed, with what is to be said of it, and not noted on the disk yet

    async def run(self) -> None:
        """Do what is due, until cancelled."""
        while True:
            await self.tick()
            await anyio.sleep(LOOK_SECONDS)

    async def tick(self) -> None:
        """Do everything that is due now, each beside the others."""
        with suppress(sqlite3.Error):  # a disk that takes nothing: what is due is due by the clock as it is
            _follow_clock(self._live)
            _follow_timers(self._live)
        due = self._live.state.rows("SELECT * FROM later WHERE at <= ? AND failed = ''", self._live.now())
        async with anyio.create_task_group() as tasks:
            for row in due:
                if row["id"] not in self._running:
                    self._running.add(row["id"])  # here, where nothing awaits: no deed begins twice
                    tasks.start_soon(self._do, dict(row))

    @property
    def busy(self) -> bool:
        """Whether a deed is being done just now."""
        return bool(self._running)

    async def _do(self, row: Mapping[str, Any]) -> None:
        """Do a deed once. A full disk ends nobody: before it, the deed waits; after it, only the note of it does."""
        try:
            if row["id"] not in self._ended:
                with speaking(row["language"]):
                    self._ended[row["id"]] = await self._trouble(row)
            self._note(row, self._ended[row["id"]])
            del self._ended[row["id"]]
        except sqlite3.Error as refused:
            log.warning("what is to be done later waits for the disk: %s", refused.sqlite_errorname)
        finally:
            self._running.discard(row["id"])

    def _note(self, row: Mapping[str, Any], failed: str) -> None:
        """Drop what is done; what is done again waits for its next time, and what failed until that is said."""
        again = _next(row, self._live.now(), self._live.zone)
        with self._live.state.transaction():
            if failed:
                id = f"later_{secrets.token_hex(8)}" if again else row["id"]
                rows.put(self._live, "later", {**row, "id": id, "rule": "", "timer": "", "failed": failed})
            if again:
                self._live.state.run("UPDATE later SET at = ?, begun_at = NULL WHERE id = ?", again, row["id"])
            elif not failed:
                rows.drop(self._live, "later", row["id"])

    async def _trouble(self, row: Mapping[str, Any]) -> str:
        """Do it; return what is to be said when it did not work. Raises `sqlite3.Error` before anything is done."""
        deed = row["text"]
        if row["begun_at"] is not None and not self._live.repeatable(row["tool"]):
            return _("I was interrupted, so I don't know whether this was done: {deed}.").format(deed=deed)
        if self._live.now() - row["at"] > LATEST_SECONDS:
            return _("I was not there when it was time, so this was not done: {deed}.").format(deed=deed)
        with self._live.state.transaction():
            self._live.state.run("UPDATE later SET begun_at = ? WHERE id = ?", self._live.now(), row["id"])
        arguments, actor = json.loads(row["arguments"]), json.loads(row["actor"])
        done, text = await self._live.act(row["agent"], row["tool"], arguments, actor, row["id"], row["language"])
        return "" if done else _("This was to be done, and was not: {deed}. {reason}").format(deed=deed, reason=text)


# ── tools ──────────────────────────────────────────────────────────────────────────────────────────


async def _ask_do(
    call: Call, tool: str, seconds: int, when: str, timer: str, arguments: dict[str, Any], text: str
) -> str:
    _spec, filled, deed = await _permitted(call, tool, arguments, text)
    time = _time(call, seconds, when, timer)
    sentence = ", ".join(f"{name} {value}" for name, value in filled.items() if value not in ("", False, -1, 0))
    return _("{when}: {deed}, which is {tool} with {arguments}. Shall I?").format(
        when=_when_words(call, time), deed=spoken(deed), tool=tool, arguments=sentence
    )


@tool("later.do", data={"deed": DEED}, risk="change", preview=_ask_do, limit_seconds=10)
async def do(
    call: Call,
    tool: Annotated[str, Field(min_length=1, max_length=60, description="The tool to call then, such as home.turn")],
    seconds: Annotated[int, Field(ge=0, le=LONGEST_SECONDS, description="In how many seconds; 0 if not said")] = 0,
    when: Annotated[str, Field(max_length=200, description="When, as it was said, if not in seconds: at ten")] = "",
    timer: Annotated[
        str, Field(max_length=60, description="The timer at whose end, by its name; timer for the only one")
    ] = "",
    arguments: Annotated[dict[str, Any], Field(description="The arguments of that tool")] = {},  # noqa: B006  # copied
    text: Annotated[str, Field(max_length=200, description="The deed in words, if it is none of the home")] = "",
) -> Result:
    """Delay a deed: another tool is called when its moment has come, once or by a rule. Nothing waits that needs a yes.

    As history.undo it takes back what the same turn has changed: "on nineteen for an hour, then back"; with "last" as
    the receipt, what was changed before.
    """
    spec, filled, deed = await _permitted(call, tool, arguments, text)
    time = _as_before(call, spec.name, arguments, _time(call, seconds, when, timer))
    if len(_all(call)) >= MOST_DEEDS:
        raise ToolFailed("failed", _("There are already {count} things to do later.").format(count=MOST_DEEDS))
    refuse_more(call, [_owner(row) for row in _all(call)], DEEDS)
    row = {
        "id": f"later_{secrets.token_hex(8)}",
        "tool": spec.name,
        "arguments": json.dumps(filled if spec.name == UNDO else arguments),
        "text": deed,
        "agent": call.agent.name,
        "actor": json.dumps({name: value for name, value in asdict(call.actor).items() if value}),
        "language": spoken_later(),
        "begun_at": None,
        "failed": "",
        "boot": call.uptime().boot,
        "clock": clock(call) if seconds > 0 else None,
        **time,
    }
    sentence = _("{when}: {deed}.").format(when=_when_words(call, row), deed=row["text"])
    return Result(sentence, {"deed": _shown(row)}, rows.changed(call, "later", [], [row], sentence))


@tool("later.list", data={"deeds": [DEED]}, risk="read", limit_seconds=10)
async def list_deeds(call: Call) -> Result:
    """Tell which delayed deeds there are."""
    deeds = [row for row in _visible(call) if not row["failed"]]
    if not deeds:
        return Result(_("Nothing is to be done later."), {"deeds": []})
    texts = [_("{when}: {deed}.").format(when=_when_words(call, row), deed=row["text"]) for row in deeds[:10]]
    return Result(" ".join(texts), {"deeds": [_shown(row) for row in deeds]})


@tool("later.cancel", data={"deed": DEED}, risk="change", limit_seconds=10)
async def cancel(
    call: Call,
    about: Annotated[
        str, Field(max_length=200, description="Words of the deed, or its id; empty for the only one")
    ] = "",
) -> Result:
    """Cancel a delayed deed."""
    row = _meant([row for row in _visible(call) if not row["failed"] and row["begun_at"] is None], about)
    text = _("That will not be done: {deed}.").format(deed=row["text"])
    return Result(text, {"deed": _shown(row)}, rows.changed(call, "later", [row], [], text))


@house_look("later.due", data={"due": [DUE], "now": float})
async def due(call: Call) -> Result:
    """Tell the house which deeds did not work, so that it says so."""
    failed = [row for row in _all(call) if row["failed"]]
    values = [{"id": row["id"], "text": row["failed"], **_whom(_owner(row))} for row in failed]
    return Result(_("To be said: {count}.").format(count=len(values)), {"due": values, "now": call.now()})


@tool("later.announced", data=IDS, risk="change", agents=("house",), idempotent=True, limit_seconds=10)
async def announced(
    call: Call, ids: Annotated[list[str], Field(max_length=MOST_DEEDS, description="Ids from later.due")]
) -> Result:
    """Note that the house has said that these deeds did not work."""
    return rows.drop_said(call, "later", [row for row in _all(call) if row["failed"] and row["id"] in ids])


async def undo(call: Call, stored_receipt: StoredReceipt) -> Result:
    """Take back what is not done yet, or have it done again at its time."""
    here = {row["id"]: {"at": row["at"], "clock": row["clock"]} for row in _all(call)}
    left = [{**row, **here.get(row["id"], {})} for row in rows.listed(stored_receipt.after)]
    return rows.put_back(call, "later", replace(stored_receipt, after=left or None))  # it may have moved with the clock


def _owner(row: Mapping[str, Any]) -> CallActor:
    actor = CallActor(**json.loads(row["actor"]))
    return replace(actor, device=actor.device_key)


# ── whether, when, which ───────────────────────────────────────────────────────────────────────────


async def _permitted(
    call: Call, name: str, arguments: Mapping[str, Any], text: str
) -> tuple[ToolSpec, dict[str, Any], str]:
    """Return the tool, its arguments and the deed in words when it may be called like this now. Raises `ToolFailed`."""
    spec = call.gate.tools.get(inner_name(name, call.gate.tools))
    if spec is None:
        raise ToolFailed("not_found", _("There is no tool called {tool}.").format(tool=one_line(name)))
    filled, _digest = checked(spec, dict(arguments))
    if spec.name == UNDO:
        back = newest_change(call) if arguments.get("receipt") == LAST else _changed_just_now(call)
        filled, text = {"receipt": back.id}, await _back(call, back)
    if spec.reads or spec.action.agents or spec.file == "later":
        raise ToolFailed("invalid", _("That can't be done later: {tool}.").format(tool=spec.name))
    decision = call.gate.decide(spec.name, filled)
    if decision.verdict == "deny":
        raise ToolFailed("denied", decision.reason, rule=decision.rule)
    if decision.verdict != "allow" or spec.action.level != "auto" or spec.action.risk != "change":
        raise ToolFailed("denied", _("That needs a yes; ask me when it is time."), rule=decision.rule)
    deed = await _rehearsed(call, spec, filled)
    return spec, filled, deed or one_line(text).rstrip(".!? ") or _called(spec.name, arguments)


async def _rehearsed(call: Call, spec: ToolSpec, filled: Mapping[str, Any]) -> str:
    """Have devices found and the rules asked about each, as if it were now; return what would be done, in words."""
    home = call.gate.engines.get("home")
    if spec.file != "home" or not isinstance(home, Home):
        return ""
    deeds: list[Any] = []
    try:
        await spec.run(replace(call, tool=spec.name, arguments=filled, engine=home, rehearsal=deeds), **filled)
    except ToolFailed as refused:
        if refused.error == "not_found" and not any(filled.get(name) for name in ("device", "room", "floor")):
            return deed_words(spec.name, filled, ())  # the lights that are there then; what has a name is there now
        instead = refused.data.get("use")  # what lets people in opens by another tool, which asks first
        if not instead:
            raise
        decision = call.gate.decide(instead, filled)
        reason = _("That needs a yes; ask me when it is time.") if decision.allowed else decision.reason
        raise ToolFailed("denied", reason, rule=decision.rule) from refused
    return deed_words(spec.name, filled, deeds)


def _called(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call for which nobody has written a sentence: "tasks add: Buy milk"."""
    values = [one_line(str(value)) for value in arguments.values() if isinstance(value, str) and value]
    return ": ".join([tool.replace(".", " "), *([", ".join(values)] if values else [])])


def _changed_just_now(call: Call) -> StoredReceipt:
    """Return what the same turn has just changed in the house, and nothing is to take back yet. Raises `ToolFailed`."""
    waiting = {json.loads(row["arguments"]).get("receipt") for row in _all(call) if row["tool"] == UNDO}
    for one in call.state.receipts(MOST_DEEDS) if call.turn else ():
        mine = one.turn == call.turn and one.agent == call.agent.name
        if mine and one.tool.startswith("home.") and one.reversible and not one.undone_by and one.id not in waiting:
            return one
    raise ToolFailed("not_found", _("Nothing was changed, so nothing is put back then."))


async def _back(call: Call, change: StoredReceipt) -> str:
    """Return in words what taking back a change of devices comes to; the rules are asked as if it were now."""
    if not change.tool.startswith("home.") or not change.reversible:
        raise ToolFailed("invalid", _("That can't be taken back later: {changed}").format(changed=change.changed))
    before, after = change.before, change.after
    if any(before[id].get(name) is None for id in before or () for name in (after or {}).get(id, ()) if name != "on"):
        raise ToolFailed("failed", _("I don't know how it was before."))  # of what colour a lamp was
    deeds: list[Any] = []
    home = call.gate.engines.get("home")
    await put_back(replace(call, tool=change.tool, arguments=change.arguments, engine=home, rehearsal=deeds), change)
    return back_words(deeds)


def _time(call: Call, seconds: int, when: str, timer: str) -> dict[str, Any]:
    """Return when a deed is due, as its row has it: the next time, and what that follows."""
    if timer.strip():
        one = timer_meant(call, timer)
        return {"at": call.now() + one.left(call.now()), "timer": one.id}
    if seconds > 0:
        return {"at": call.now() + seconds}
    if not when.strip():
        raise ToolFailed("invalid", _("When should I do that?"))
    meaning = understand(when, call.now(), call.zone)
    if meaning.at is None:
        raise ToolFailed("invalid", _("Say one time, such as at ten."))
    rule = {"rule": meaning.rule.text(), "start": meaning.at.isoformat()} if meaning.rule else {}
    if meaning.rule and meaning.rule.passing and meaning.rule.seconds < OFTENEST_SECONDS:
        raise ToolFailed("invalid", _("I do that at most once an hour. Say every hour, or every day at ten."))
    at = moment(meaning.at, call.zone)
    at = at if at > call.now() else _next({**rule, "at": at}, call.now(), call.zone) or at
    if at - call.now() > LONGEST_SECONDS:
        raise ToolFailed("invalid", _("That is too far away."))
    return {"at": at, **rule}


def _as_before(call: Call, tool: str, arguments: Mapping[str, Any], time: dict[str, Any]) -> dict[str, Any]:
    """Return the time of a deed by a rule in the half of the day in which the same turn took it back: "every day".

    "At ten", said in the evening, was at ten in the evening.
    """
    if not time.get("rule") or not call.turn:
        return time
    start = datetime.fromisoformat(time["start"])
    undone = [one for one in call.state.receipts(1) if one.turn == call.turn and one.undoes and one.before]
    for row in rows.listed(undone[0].before) if undone else ():
        if row.get("tool") != tool or json.loads(row["arguments"]) != dict(arguments):
            continue
        before = call.local(row["at"])
        if before.minute == start.minute and abs(before.hour - start.hour) == HALF_A_DAY_HOURS:
            start = start.replace(hour=before.hour)
            rule = {"rule": time["rule"], "start": start.isoformat()}
            return {**rule, "at": _next({**rule, "at": 0.0}, call.now(), call.zone) or time["at"]}
    return time


def _next(row: Mapping[str, Any], now: float, zone: tzinfo | None) -> float | None:
    """Return when a deed is due after this time; `None` where it is not to be done again."""
    if not row.get("rule"):
        return None
    return Recurrence(read(row["rule"]), datetime.fromisoformat(row["start"])).next(max(now, row["at"]), zone)


def _when_words(call: Call, row: Mapping[str, Any]) -> str:
    if row.get("rule"):
        return capital(rule_words(read(row["rule"]), datetime.fromisoformat(row["start"]), call.local()))
    left = row["at"] - call.now()
    if left < SOON_SECONDS:
        return _("In {length}").format(length=length(max(1, round(left))))
    return capital(moment_words(call.local(row["at"]), call.local()))


def _follow_clock(where: Call | Live) -> None:
    """Move the deeds that wait for a length of time by as much as the clock was set since they were set."""
    waiting = "SELECT id, clock FROM later WHERE clock IS NOT NULL AND begun_at IS NULL AND boot = ?"
    steps = [(clock(where) - row["clock"], row["id"]) for row in where.state.rows(waiting, where.uptime().boot)]
    steps = [(step, id) for step, id in steps if abs(step) >= STEP_SECONDS]
    if not steps:
        return
    with where.state.transaction():
        for step, id in steps:
            where.state.run("UPDATE later SET at = at + ?, clock = clock + ? WHERE id = ?", step, step, id)


def _follow_timers(where: Call | Live) -> None:
    """Move the deeds that wait for a timer to its end, as it is now; of one that is gone, they stay where that was."""
    ends = "coalesce(timers.deadline, ? + timers.left_seconds)"
    waiting = (
        f"SELECT later.id AS id, {ends} AS ends FROM later JOIN timers ON timers.id = later.timer"  # noqa: S608
        f" WHERE later.begun_at IS NULL AND timers.announced_at IS NULL AND abs(later.at - {ends}) >= ?"
    )
    moved = where.state.rows(waiting, where.now(), where.now(), STEP_SECONDS)
    if moved:
        with where.state.transaction():
            for row in moved:
                where.state.run("UPDATE later SET at = ? WHERE id = ?", row["ends"], row["id"])


def _all(call: Call) -> list[dict[str, Any]]:
    _follow_clock(call)
    _follow_timers(call)
    return [dict(row) for row in call.state.rows("SELECT * FROM later ORDER BY at, id")]


def _visible(call: Call) -> list[dict[str, Any]]:
    """Return the deeds that are the asker's business: to a guest those of guests. What a household plans is private."""
    every = _all(call)
    return every if role_of(call) != NOBODY else [row for row in every if _owner(row).role == NOBODY]


def _meant(deeds: list[dict[str, Any]], about: str) -> dict[str, Any]:
    if not deeds:
        raise ToolFailed("not_found", _("Nothing is to be done later."))
    if same := [row for row in deeds if row["id"] == about]:
        return same[0]
    if not about.strip() and len(deeds) == 1:
        return deeds[0]
    if not about.strip():
        choices = series([spoken(str(row["text"])) for row in deeds[:NAMED]], "or")
        raise ToolFailed("invalid", _("Which one: {choices}?").format(choices=choices))
    return chosen_by_words(
        deeds,
        about,
        named=lambda row: str(row["text"]),
        which=_("Which one"),
        missing=_("Nothing like that is to be done later."),
        rank=lambda row: row["at"],
    )


def _whom(actor: CallActor) -> dict[str, str]:
    return {"device": actor.device, "room": actor.room, "person": actor.person}


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: row[name] for name in DEED if name in row}
    return {"rule": "", **shown, "arguments": json.loads(row["arguments"])}
