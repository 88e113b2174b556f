"""Signs how far the records of calls and of ways out go, so that rows cut from their end are missed.

Neither the tool server nor the way out can sign, and the signatures lie where the tool server cannot write. Whoever
cuts a record can therefore take away no row that was signed without its being noticed: at the tool server's next start,
at the next look from here, and by `atlas doctor`. Signed is every few seconds, and as soon as tools say that something
has changed. What was found wrong is not signed over, so it stays wrong until a person has looked at it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from atlas.changes import Changes
from atlas.confirmations import HouseKey
from atlas.conversation import HOUSE, ToolCall, fresh_id
from atlas.mcp.tools import Tools
from wall.chain import Head, last_head, row_hash
from wall.files import write_whole
from wall.meta import HEAD_AUDIENCE

LOOK_SECONDS = 2.0  # rows of reads and ways out that are younger can be cut off unseen, if their head is rewritten too
PAUSE_SECONDS = 0.2  # between two looks, however much is changed meanwhile
log = logging.getLogger("atlas")


@dataclass(frozen=True, slots=True)
class HeadReading:
    """How far a record goes, and what the row has that was signed last."""

    head: Head
    since_hash: str
    problem: str = ""


ReadHead = Callable[[int], Awaitable[HeadReading | None]]  # of the row that was signed last; None when nobody can tell


def head_of_tools(tools: Tools) -> ReadHead:
    """Return what asks the tool server how far its record goes."""

    async def read(since: int) -> HeadReading | None:
        result = await tools.call(ToolCall(fresh_id("call"), "record.head", {"since": since}), HOUSE, "")
        if not result.ok:
            return None  # the bell tells of a tool server that is away
        data = result.data
        return HeadReading(Head(int(data["seq"]), str(data["hash"])), str(data["since_hash"]), str(data["problem"]))

    return read


def head_of_record(file: Path) -> ReadHead:
    """Return what reads how far a record goes that another process of the house writes."""

    def look(since: int) -> HeadReading | None:
        try:
            return HeadReading(last_head(file), _hash_of(file, since))
        except OSError as trouble:
            log.warning("%s cannot be read: %s", file, trouble.strerror)
            return None

    async def read(since: int) -> HeadReading | None:
        return await anyio.to_thread.run_sync(look, since)

    return read


def _hash_of(file: Path, seq: int) -> str:
    """Return the hash of a row; "" when it is not there, as in a record that is gone. Raises `OSError`."""
    try:
        return row_hash(file, seq)
    except FileNotFoundError:
        return ""


class Witness:
    """Knows how far a record went, and says so when it does not go that far any more."""

    def __init__(
        self,
        seal: HouseKey,
        read: ReadHead,
        file: Path,
        audience: str = HEAD_AUDIENCE,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.problem = ""  # a sentence once something is missing
        self._seal = seal
        self._read = read
        self._file = file
        self._audience = audience
        self._now = now
        self._signed = seal.read_head(file, audience) or Head()
        self._unsigned_because = ""  # what keeps the file from being written; it is logged once

    async def watch(self, changes: Changes | None = None) -> None:
        """Look and sign until cancelled. Not once more then: the tool server ends at the same moment."""
        while True:
            number = changes.last if changes else 0
            await self.look()
            with anyio.move_on_after(LOOK_SECONDS - PAUSE_SECONDS):
                await (changes.after(number) if changes else anyio.sleep_forever())
            await anyio.sleep(PAUSE_SECONDS)

    async def look(self) -> None:
        """Compare the record with what was signed last; when it is all there, sign what came since."""
        reading = await self._read(self._signed.seq)
        if reading is None:
            return
        problem = reading.problem or self._missing(reading.since_hash)
        if problem and problem != self.problem:
            log.error("the record behind %s is not as it was written: %s; see `atlas doctor`", self._file.name, problem)
        self.problem = problem
        if not problem and reading.head != self._signed:
            self._write(reading.head)

    def _missing(self, since_hash: str) -> str:
        return "" if since_hash == self._signed.hash else f"row {self._signed.seq} is not the one that was signed"

    def _write(self, head: Head) -> None:
        try:
            write_whole(self._file, self._seal.signed_head(head, self._now(), self._audience).encode("ascii"))
        except OSError as trouble:
            if trouble.strerror != self._unsigned_because:
                log.warning("how far the record goes could not be signed: %s", trouble.strerror)
            self._unsigned_because = trouble.strerror or ""
            return
        self._signed, self._unsigned_because = head, ""
