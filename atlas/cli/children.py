"""The processes of the house: start each, wait until it is healthy, start it again when it dies or hangs, end it."""

from __future__ import annotations

import logging
import os
import re
import signal
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
from anyio.abc import ByteReceiveStream, Process

from atlas.cli.tether import tethered
from atlas.errors import EngineError
from wall.backoff import Backoff

FIRST_WAIT_SECONDS = 0.25  # a person who just lost an answer asks again within a second or two
LONGEST_WAIT_SECONDS = 30.0  # a program that cannot live must not eat the machine
STEADY_SECONDS = 60.0  # having lived this long, its next death counts as the first
POLL_SECONDS = 0.1
GRACE_SECONDS = 2.0  # from the polite signal to the last one; two children and the house must end within 5 s
LOOK_SECONDS = 3.0  # between two looks at a child that was healthy
ANSWER_SECONDS = 3.0  # that an answer to a look may take
MISSED_LOOKS = 4  # in a row, and it hangs: a machine that stalls, or one long step of a model, is over before that
LAST_WORDS_SECONDS = 0.5  # for reading what a dead child left in its pipes, which its own children may hold open
LINE_CHARACTERS = 2_000  # longer lines of a log are cut
REMEMBERED_LINES = 8  # the last words of a child that cannot start
TIME = re.compile(r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,]\d+ ")  # at the start of a child's line; our log has its own
# How a child's line begins that is more than news: its log's own level, or a failure that nobody has caught.
WARNING = re.compile(r"^(?:WARNING|W) ")
ERROR = re.compile(r"^(?:(?:ERROR|CRITICAL|[EC]) |Traceback \(|Fatal Python error)")
log = logging.getLogger("atlas")


@dataclass(frozen=True, slots=True)
class Program:
    """A program that answers `GET /health` with 200 on its unix socket once it can work, if it has one."""

    name: str  # as it stands in the log
    command: tuple[str, ...]
    socket: Path | None  # None: it is well while it lives, and nobody waits for it


class Child:
    """One supervised program: whichever process of it lives now."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.pid: int | None = None  # None while it is down
        self._healthy = anyio.Event()
        self._hung = False  # the process that lives now, or lived last
        self._hopeless = ""  # why it could not even start once
        self._life = anyio.CancelScope()
        self._replaced = anyio.Event()
        self._last_lines: deque[str] = deque(maxlen=REMEMBERED_LINES)

    async def ready(self) -> None:
        """Wait for the first time it is healthy; raise `EngineError`, with its last words, if it dies before that."""
        await self._healthy.wait()
        if self._hopeless:
            raise EngineError(
                f"{self.program.name} could not start: {self._hopeless}",
                hint="its last words: " + (" / ".join(self._last_lines) or "none"),
            )

    async def replace(self, program: Program) -> None:
        """End it and run another program in its place; return when that is healthy.

        Raises `EngineError`, with its last words, if it dies before that; it may then be replaced again.
        """
        self.program, self._hopeless, self._healthy = program, "", anyio.Event()
        self._last_lines.clear()
        self._replaced.set()
        self._life.cancel()
        await self.ready()

    async def live(self) -> None:
        """Run it, again and again, until cancelled; stop when it dies before it was ever healthy, until replaced."""
        backoff = Backoff(FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS)
        while True:
            born = anyio.current_time()
            self._replaced, ending = anyio.Event(), ""
            with anyio.CancelScope() as self._life:
                ending = await self._run_once()
            if self._replaced.is_set():
                continue
            if not self._healthy.is_set():
                self._hopeless = ending
                self._healthy.set()
                await self._replaced.wait()
                continue
            wait = backoff.wait_seconds(worked=anyio.current_time() - born >= STEADY_SECONDS)
            log.warning("%s %s; it starts again in %.2g s", self.program.name, ending, wait)
            with anyio.move_on_after(wait):
                await self._replaced.wait()

    async def _run_once(self) -> str:
        """Run one process from start to end and say how it ended; cancelling ends it and its descendants."""
        if self.program.socket:
            self.program.socket.unlink(missing_ok=True)  # else a dead one's socket looks alive for a moment
        command = tethered(*self.program.command)
        # With faulthandler a child that is ended because it hangs says where it stood.
        environment = os.environ | {"PYTHONFAULTHANDLER": "1"}
        try:
            process = await anyio.open_process(command, stdin=None, start_new_session=True, env=environment)
        except (OSError, ValueError) as trouble:  # too long, or with a NUL, or no process more fits in
            return f"its command cannot be run: {trouble}"
        self.pid, self._hung = process.pid, False
        try:
            async with anyio.create_task_group() as tasks:
                for stream in (process.stdout, process.stderr):
                    assert stream
                    tasks.start_soon(self._relay, stream)
                async with anyio.create_task_group() as looking:
                    looking.start_soon(self._watch_health, process)
                    status = await process.wait()
                    looking.cancel_scope.cancel()
                tasks.cancel_scope.deadline = anyio.current_time() + LAST_WORDS_SECONDS
        finally:
            self.pid = None
            with anyio.CancelScope(shield=True):
                await _end(process)
        if self._hung:
            return "hung and was ended"
        return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"

    async def _watch_health(self, process: Process) -> None:
        """Note when it is healthy for the first time, and end it when it was, and is not any more."""
        if self.program.socket is None:
            self._healthy.set()
            return
        began = anyio.current_time()
        # No connection is kept: through one, a child whose socket was deleted looks well, and nobody else reaches it.
        limits = httpx2.Limits(max_keepalive_connections=0)
        transport = httpx2.AsyncHTTPTransport(uds=str(self.program.socket), verify=False, limits=limits)
        async with httpx2.AsyncClient(transport=transport, base_url="http://child") as client:
            ready, missed, why = False, 0, ""
            while missed < MISSED_LOOKS:
                why = await _unwell(client)
                if not why and not ready:
                    seconds = anyio.current_time() - began
                    log.info("%s is ready pid=%s seconds=%.1f", self.program.name, self.pid, seconds)
                    self._healthy.set()
                    ready = True
                missed = missed + 1 if why and ready else 0  # if it never is, it is its death that will be noticed
                await anyio.sleep(LOOK_SECONDS if ready else POLL_SECONDS)
        log.error("%s is not well: %s", self.program.name, why)
        self._hung = True
        _signal_group(process.pid, signal.SIGABRT)  # it says where it stands, if it can
        await anyio.sleep(GRACE_SECONDS)
        _signal_group(process.pid, signal.SIGKILL)

    async def _relay(self, stream: ByteReceiveStream) -> None:
        """Pass its lines on into our log, under its name."""
        rest = b""
        async for data in stream:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._say(line)
            if len(rest) > LINE_CHARACTERS:
                self._say(rest)
                rest = b""
        if rest:
            self._say(rest)

    def _say(self, line: bytes) -> None:
        text = TIME.sub("", line.decode("utf-8", "replace").rstrip())[:LINE_CHARACTERS]
        if text:
            self._last_lines.append(text)
            extra = {"part": self.program.name}
            log.log(_severity(text), "%s | %s", self.program.name, text, extra=extra)


@asynccontextmanager
async def supervised(program: Program) -> AsyncIterator[Child]:
    """Keep `program` running inside the block. Returns at once: `await child.ready()` when it is needed."""
    child = Child(program)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(child.live)
        try:
            yield child
        finally:
            tasks.cancel_scope.cancel()


def _severity(line: str) -> int:
    if ERROR.match(line):
        return logging.ERROR
    return logging.WARNING if WARNING.match(line) else logging.INFO


async def _unwell(client: httpx2.AsyncClient) -> str:
    """Return what is wrong with a child, "" when it is well."""
    try:
        status = (await client.get("/health", timeout=ANSWER_SECONDS)).status_code
    except httpx2.TransportError as trouble:
        return f"no answer to /health: {trouble!r}"
    return "" if status == 200 else f"/health says {status}"


async def _end(process: Process) -> None:
    """End the process and everything it started: politely, then not."""
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        with anyio.move_on_after(GRACE_SECONDS):
            await process.wait()
    _signal_group(process.pid, signal.SIGKILL)  # also when it ended by itself: what it started must not outlive it
    await process.wait()
    await process.aclose()


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return  # nobody of it is left
