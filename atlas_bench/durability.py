"""Looks for what was acknowledged after kill -9 at hundreds of random moments, under load, over the real wire.

A few workers at once start, change and end things of every durable kind. Each change either was acknowledged, and then
it must be there after the restart, or was under way, and then it is there whole or not at all. The record must hold a
sealed row for every change, acknowledged or not. At the end the whole house dies a few times, while people talk to it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import anyio
import httpx2
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from atlas.config import Config
from atlas_bench import _house_deaths
from atlas_bench._process import started
from tools_server.gate.signed_head import AUDIT_FILE
from tools_server.values.wire_names import wire_name
from wall.chain import verify
from wall.meta import RECEIPT_META

KILLS = 500
HOUSE_KILLS = 20  # of a whole house, with its language model
KILLS_OF_ONE_HOUSE = 20  # then a fresh data directory, so that what a kill left behind is read again many times
WORKERS = 4
MOST_CALLS = 40  # between a start and the kill
LATEST_SECONDS = 0.02  # from the sending of a call to the kill: a call takes about 5 ms
ANSWER_SECONDS = 120.0  # a start takes 0.05 s of a core; where 30 programs wanted two cores, it took 32 s of wall
TOKEN = "a token of the benchmark"
ROOT = "family-agent-config"
AGENTS = '[bench]\ntoken_sha256 = "{token}"\ntools = ["*"]\nroots = ["{root}"]\nacts_as = "owner"\n'
GONE = (MCPError, httpx2.HTTPError, OSError, anyio.ClosedResourceError, anyio.BrokenResourceError)

NEVER = ("lost", "half_written", "record_problems", "rows_missing", "house_lost", "house_leaked", "house_orphans")
TARGETS = dict.fromkeys(NEVER, 0.0)


async def measure(config: Config) -> Mapping[str, float]:
    """Return how many kills there were, what had been acknowledged, and every way in which that was not kept."""
    seed = random.SystemRandom().randrange(2**32)
    seen = await survive(KILLS, seed)
    house = await _house_deaths.survive(config, HOUSE_KILLS, seed)
    return {**_figures(seen), **{f"house_{name}": value for name, value in _figures(house).items()}}


def _figures(seen: DeathOutcome | _house_deaths.HouseDeathOutcome) -> dict[str, float]:
    """Return what was counted, and of what was wrong how often it was."""
    messages = ((field.name, getattr(seen, field.name)) for field in fields(seen) if field.name != "seed")
    return {name: float(len(result) if isinstance(result, list) else result) for name, result in messages}


@dataclass(slots=True)
class DeathOutcome:
    """What came of it, in words where something was wrong."""

    seed: int
    kills: int = 0
    acknowledged: int = 0
    under_way: int = 0  # changes that a kill cut in the middle
    lost: list[str] = field(default_factory=list)
    half_written: list[str] = field(default_factory=list)
    record_problems: list[str] = field(default_factory=list)
    rows_missing: list[str] = field(default_factory=list)


async def survive(kills: int, seed: int) -> DeathOutcome:
    """Kill a loaded tool server so many times, look after each what is left, and return what was seen.

    The same seed makes the same calls; where in a call a kill falls is the machine's.
    """
    seen, chance = DeathOutcome(seed), random.Random(seed)
    async with _zygote() as zygote:
        while seen.kills < kills:
            with tempfile.TemporaryDirectory(prefix="atlas-durability-", dir=_memory()) as folder:
                house = _House(Path(folder), seen, chance, zygote)
                for _ in range(min(KILLS_OF_ONE_HOUSE, kills - seen.kills)):
                    await house.live_and_die()
                await house.look()
    return seen


# ── what is done, and what must then be so ─────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class DurableChange:
    """One change, and the state that it leaves its thing in; "" is gone."""

    tool: str
    arguments: Mapping[str, Any]
    after: str


@dataclass(slots=True)
class DurableThing:
    """Something durable. `may` holds the states it can be in: one, or two while a change is under way."""

    kind: str
    key: str
    may: frozenset[str] = frozenset({""})


def _timer(key: str) -> list[DurableChange]:
    named = {"name": key}
    return [
        DurableChange("timers.start", {"seconds": 86_400, **named}, "running"),
        DurableChange("timers.pause", named, "paused"),
        DurableChange("timers.resume", named, "running"),
        DurableChange("timers.cancel", named, ""),
    ]


def _task(key: str) -> list[DurableChange]:
    return [
        DurableChange("tasks.add", {"title": key}, "todo"),
        DurableChange("tasks.move", {"title": key, "column": "doing"}, "doing"),
        DurableChange("tasks.done", {"title": key}, "done"),
    ]


def _reminder(key: str) -> list[DurableChange]:
    return [
        DurableChange("reminders.add", {"text": key, "when": "2040-05-01 10:00"}, "2040-05-01"),
        DurableChange("reminders.change", {"about": key, "when": "2040-05-02 10:00"}, "2040-05-02"),
    ]


def _alarm(key: str) -> list[DurableChange]:
    return [
        DurableChange("alarms.set", {"when": "every day at 7:00", "name": key}, "on"),
        DurableChange("alarms.switch", {"on": False, "name": key}, "off"),
        DurableChange("alarms.cancel", {"name": key}, ""),
    ]


def _note(key: str) -> list[DurableChange]:
    return [
        DurableChange("notes.create", {"title": key, "text": "one"}, "one"),
        DurableChange("notes.append", {"title": key, "text": "two"}, "one\ntwo"),
    ]


def _item(key: str) -> list[DurableChange]:
    return [
        DurableChange("lists.add", {"items": [key]}, "wanted"),
        DurableChange("lists.check", {"items": [key]}, "bought"),
        DurableChange("lists.remove", {"items": [key]}, ""),
    ]


LIVES = {"timer": _timer, "task": _task, "reminder": _reminder, "alarm": _alarm, "note": _note, "item": _item}


async def _observed(client: Client) -> tuple[dict[tuple[str, str], str], list[str]]:
    """Return the state of everything there is, by kind and key, and what cannot be read."""
    results: dict[tuple[str, str], str] = {}
    broken: list[str] = []
    for timer in (await _read(client, "timers.list"))["timers"]:
        results["timer", timer["name"]] = timer["state"]
    for column in ("todo", "doing", "done"):
        board = await _read(client, "tasks.list", column=column)
        broken += [str(problem) for problem in board["problems"]]
        results |= {("task", task["title"]): column for task in board["tasks"]}
    for reminder in (await _read(client, "reminders.list"))["reminders"]:
        results["reminder", reminder["text"]] = f"{datetime.fromtimestamp(reminder['due_at']).astimezone():%Y-%m-%d}"
    for alarm in (await _read(client, "alarms.list"))["alarms"]:
        results["alarm", alarm["name"]] = alarm["state"]
    notes = await _read(client, "notes.list")
    broken += [str(problem) for problem in notes["problems"]]
    for note in notes["notes"]:
        results["note", note["title"]] = (await _read(client, "notes.read", title=note["title"]))["text"].strip()
    if (await _read(client, "lists.names"))["lists"]:
        for item in (await _read(client, "lists.read"))["items"]:
            results["item", item["text"]] = "bought" if item["checked"] else "wanted"
    return results, broken


async def _read(client: Client, tool: str, **arguments: Any) -> Mapping[str, Any]:
    answer = await client.call_tool(wire_name(tool), arguments)
    assert not answer.is_error, answer.content
    data: Mapping[str, Any] = answer.structured_content or {}
    return data


# ── a house that is killed ─────────────────────────────────────────────────────────────────────────


class _House:
    """One data directory through its many lives."""

    def __init__(self, data: Path, seen: DeathOutcome, chance: random.Random, zygote: _Zygote) -> None:
        self._data = data
        self._seen = seen
        self._chance = chance
        self._zygote = zygote
        self._things: list[DurableThing] = []
        self._receipts: set[str] = set()
        token = hashlib.sha256(TOKEN.encode()).hexdigest()
        (data / "agents.toml").write_text(AGENTS.format(token=token, root=ROOT))
        (data / "policy.toml").write_text("")
        self._socket = data / "tools.sock"

    async def live_and_die(self) -> None:
        """Start, look what the last death left, work, and be killed in the middle of it."""
        async with self._alive() as pid:
            await self.compare()
            last, late = self._chance.randint(1, MOST_CALLS), self._chance.random() * LATEST_SECONDS
            sent = anyio.Event()
            calls = iter(range(last))
            async with anyio.create_task_group() as tasks:
                for worker in range(WORKERS):
                    tasks.start_soon(self._work, random.Random(self._chance.random()), worker, calls, sent)
                await sent.wait()
                await anyio.sleep(late)
                os.kill(pid, signal.SIGKILL)
            self._seen.kills += 1

    async def look(self) -> None:
        """Start once more, only to look."""
        async with self._alive() as pid:
            await self.compare()
            os.kill(pid, signal.SIGTERM)

    async def compare(self) -> None:
        """Hold what is there against what must be, and the record against the receipts."""
        async with _client(self._socket) as client:
            results, broken = await _observed(client)
        for thing in self._things:
            state = results.pop((thing.kind, thing.key), "")
            if state not in thing.may:
                self._seen.lost.append(f"{thing.kind} {thing.key!r} is {state!r}, not {sorted(thing.may)}")
            thing.may = frozenset({state})
        self._seen.lost += [f"nobody asked for {kind} {key!r}" for kind, key in results]
        self._seen.half_written += broken + _stray(self._data / ROOT)
        record = self._data / AUDIT_FILE
        self._seen.record_problems += verify(record).problems
        rows = {json.loads(line)["receipt"] for line in record.read_text().splitlines() if line.endswith("}")}
        with closing(sqlite3.connect(self._data / "tools.db")) as database:
            changes = {id for (id,) in database.execute("SELECT id FROM receipts")}
        self._seen.rows_missing += sorted((self._receipts | changes) - rows)

    async def _work(self, chance: random.Random, worker: int, calls: Iterator[int], sent: anyio.Event) -> None:
        """Do one thing after another until the server dies under it. `sent` is set when the last call is under way."""
        try:
            async with _client(self._socket) as client:
                while True:
                    kind = chance.choice(sorted(LIVES))
                    thing = DurableThing(kind, f"{kind} {worker} {chance.getrandbits(40):x}")
                    self._things.append(thing)
                    for step in LIVES[kind](thing.key):
                        if next(calls, None) is None:
                            sent.set()
                        await self._change(client, thing, step)
        except* GONE:
            sent.set()

    async def _change(self, client: Client, thing: DurableThing, step: DurableChange) -> None:
        thing.may |= {step.after}
        self._seen.under_way += 1
        answer = await client.call_tool(wire_name(step.tool), dict(step.arguments))
        assert not answer.is_error, f"{step.tool}: {answer.content}"
        self._seen.under_way -= 1
        self._seen.acknowledged += 1
        self._receipts.add((answer.meta or {})[RECEIPT_META]["id"])
        thing.may = frozenset({step.after})

    @asynccontextmanager
    async def _alive(self) -> AsyncIterator[int]:
        """Run a server inside the block, which must end it."""
        settings = {name: str(self._data / f"{name}.toml") for name in ("agents", "policy")}
        pid = await self._zygote.fork({**settings, "data": str(self._data), "socket": str(self._socket)})
        with anyio.fail_after(ANSWER_SECONDS):
            await _until_answered(self._socket)
        yield pid
        with anyio.fail_after(ANSWER_SECONDS):
            await _until_dead(pid)


def _stray(root: Path) -> list[str]:
    """Return files that are no papers. Hidden drafts are not meant: nobody sees them, and a later start sweeps them."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return [str(path.relative_to(root)) for path in files if path.suffix != ".md"]


async def _until_answered(socket: Path) -> None:
    """Return when the server is healthy. To ask again and again would take a core from what is starting."""
    while True:
        try:
            async with await anyio.connect_unix(socket):
                break
        except OSError:  # the socket of the dead one, or none yet
            await anyio.sleep(0.005)
    transport = httpx2.AsyncHTTPTransport(uds=str(socket))
    async with httpx2.AsyncClient(transport=transport, base_url="http://tools", timeout=ANSWER_SECONDS) as client:
        (await client.get("/health")).raise_for_status()


async def _until_dead(pid: int) -> None:
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await anyio.sleep(0.005)


@asynccontextmanager
async def _client(socket: Path) -> AsyncIterator[Client]:
    transport = httpx2.AsyncHTTPTransport(uds=str(socket))
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers, trust_env=False, timeout=ANSWER_SECONDS) as http,
        Client(streamable_http_client("http://tools/mcp", http_client=http), mode="2026-07-28", cache=None) as client,
    ):
        yield client


class _Zygote:
    """The process that forks servers."""

    def __init__(self, process: Process) -> None:
        assert process.stdin
        assert process.stdout
        self._orders = process.stdin
        self._answers = BufferedByteReceiveStream(process.stdout)

    async def fork(self, settings: Mapping[str, str]) -> int:
        """Return the process id of a new server, which is starting."""
        await self._orders.send(json.dumps(dict(settings)).encode() + b"\n")
        return int(await self._answers.receive_until(b"\n", 20))


@asynccontextmanager
async def _zygote() -> AsyncIterator[_Zygote]:
    async with started("atlas_bench._zygote", stderr=DEVNULL) as process:
        yield _Zygote(process)


def _memory() -> Path | None:
    """Where files are quick to write: what is tested is the order of things, not the disk."""
    shared = Path("/dev/shm")
    return shared if shared.is_dir() else None
