"""One agent's memory, a file of its own: what was said, found again, and forgotten without a trace."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import anyio

from atlas.conversation import Message
from atlas.errors import EngineError, StoreError
from atlas.store import conversations, forgetting, recall, turns
from atlas.store.conversations import Conversation
from atlas.store.database import Database, open_database
from atlas.store.forgetting import SCRUB, Forgotten
from atlas.store.migrations import MEMORY
from atlas.store.recall import ALWAYS, TimeSpan, Whose
from atlas.store.turns import TurnRecord, latest

DROP_SECONDS = 3.0  # how long a person waits for the model's server to drop what it read; then it is done later
AGAIN_SECONDS = 60.0  # between two tries
STRANGERS_SECONDS = 8 * 3600.0  # a mail is talked about for a day, and must not hold a conversation back for ever
log = logging.getLogger("atlas")

Errands = Sequence[tuple[str, str]]
Given = ParamSpec("Given")
T = TypeVar("T")


@dataclass(slots=True, eq=False)
class UnderWay:
    """A turn of a conversation that is being answered, or read ahead."""

    conversation: Conversation
    turn_id: str
    reading: anyio.CancelScope | None = None  # of what is only read ahead: it ends when there is something to forget
    knows: bool = False  # it has been told of the past
    outdated: bool = False  # … of which something was forgotten meanwhile


def _reads(
    find: Callable[Concatenate[sqlite3.Connection, Given], T],
) -> Callable[Concatenate[Memory, Given], Awaitable[T]]:
    """Return a verb of `Memory` that finds in its file what a function finds, with the same arguments."""

    @wraps(find)
    async def verb(memory: Memory, /, *given: Given.args, **more: Given.kwargs) -> T:
        return await memory._database.read(lambda connection: find(connection, *given, **more))

    return verb


class Memory:
    """What one agent remembers of everybody. Every verb raises `StoreError` when the file fails.

    `drop` has the agent's model forget a conversation by its key; it raises `EngineError` while the model is away.
    Cancelling is safe: what has begun to be written is written whole.
    """

    def __init__(self, database: Database, drop: Callable[[str], Awaitable[None]] | None = None) -> None:
        self._database = database
        self._drop = drop
        self._under_way: set[UnderWay] = set()
        self._read_ahead: set[Conversation] = set()  # their model may hold words that no turn came of
        self._tidying = anyio.Lock()
        self._wake = anyio.Event()

    @contextmanager
    def under_way(
        self, conversation: Conversation, turn_id: str, reading: anyio.CancelScope | None = None
    ) -> Iterator[UnderWay]:
        """Let forgetting know, inside the block, of a turn that may repeat what is to be forgotten."""
        one = UnderWay(conversation, turn_id, reading)
        self._under_way.add(one)
        if reading:
            self._read_ahead.add(conversation)
        try:
            yield one
        finally:
            self._under_way.remove(one)
            if one.outdated:
                self._wake.set()  # its model has read again what was forgotten

    async def history(self, of: UnderWay, at: float) -> tuple[Message, ...]:
        """Return what a turn that begins `at`, in seconds since 1970, is told of the past, oldest first.

        That is only its own conversation: one ends after ten minutes without a word, and when somebody ends it.

        What may repeat words of others lasts `STRANGERS_SECONDS`: who is told of them is held to more for as long.
        """
        of.knows = True
        past = await self._database.read(lambda c: conversations.load(c, of.conversation, at - STRANGERS_SECONDS))
        return conversations.of_now(past, at)

    async def keep(self, record: TurnRecord, messages: Sequence[Message] = (), within: UnderWay | None = None) -> None:
        """Put a turn on the disk, with its messages when it is `within` a conversation, or neither when it is outdated.

        A turn that still knew what was forgotten meanwhile may have repeated it. Of one that is within no conversation
        no word is kept.
        """

        def work(connection: sqlite3.Connection) -> None:
            if within is None:
                turns.record(connection, replace(record, readings=None, deeds=()), None)
            elif not within.outdated:
                number = conversations.number_of(connection, within.conversation)
                conversations.append(connection, turns.record(connection, record, number), messages)

        await self._database.write(work)

    async def heard(self, turn_id: str, heard: str, timings: Mapping[str, int]) -> None:
        """Shorten the reply of a turn to what was heard of it, and correct its timings when some are given."""

        def work(connection: sqlite3.Connection) -> None:
            if conversations.shorten(connection, turn_id, heard):
                turns.interrupt(connection, turn_id)
            if timings:
                turns.retime(connection, turn_id, timings)

        await self._database.write(work)

    turns = _reads(latest)
    search = _reads(recall.search)
    count = _reads(recall.count)
    exchanges = _reads(recall.exchanges)
    latest_exchanges = _reads(recall.latest_exchanges)
    rooms = _reads(recall.rooms)

    async def forget(
        self,
        whose: Whose,
        span: TimeSpan = ALWAYS,
        *,
        last: int | None = None,
        turn: str | None = None,
        by_turn: str = "",
    ) -> Forgotten:
        """Forget turns, or the one `turn`, for good: rows, index, the bytes of the file, and what the model has read.

        All of it or none has been forgotten when this fails or the power does; rows that are gone stay gone, and what
        is left of their traces is removed at the next start at the latest. What the model's server or a blocked file
        leaves for later is told in the result. A turn that is being answered meanwhile is not remembered, but for
        `by_turn`, which is the wish itself. Not touched: what tools did, and their own record of it.
        """
        busy = [
            one
            for one in self._under_way
            if one.knows and whose.holds(one.conversation) and (one.turn_id != by_turn or one.reading)
        ]
        for one in busy:  # before the rows go: what is kept afterwards sees that it is outdated
            one.outdated = True
            if one.reading:
                one.reading.cancel()
        read = {one for one in self._read_ahead if whose.holds(one)}
        self._read_ahead -= read
        drop = read.union(one.conversation for one in busy)
        try:
            gone = await self._database.write(lambda c: forgetting.forget(c, whose, span, last, drop, turn))
            left = await self.tidy()
        finally:
            self._wake.set()
        prefixes = tuple(str(Conversation(whose.agent, person, whose.room or "")) for person in whose.people)
        waiting = [key for what, key in left if what == "drop"]
        errands = [key for key in waiting if key in prefixes or (whose.room is None and key.startswith(prefixes))]
        return replace(gone, scrubbed=SCRUB not in left, dropped=not errands)

    async def tidy(self) -> Errands:
        """Do what is still to be done for what was forgotten; return what must wait."""
        async with self._tidying:
            left = []
            for errand in await self._database.read(forgetting.errands):
                if await self._did(*errand):
                    await self._database.write(partial(forgetting.done, errand=errand))
                else:
                    left.append(errand)
            return left

    async def run_errands(self) -> None:
        """Remove the last traces of what was forgotten, as soon as that can be done, until cancelled."""
        while True:
            try:
                again = bool(await self.tidy())
            except StoreError as trouble:
                log.warning("memory not tidied: %s; %s", trouble, trouble.hint)
                again = True
            with anyio.move_on_after(AGAIN_SECONDS if again else None):
                await self._wake.wait()
            self._wake = anyio.Event()

    async def aclose(self) -> None:
        """Close the file after the transaction under way. Idempotent."""
        await self._database.aclose()

    async def _did(self, what: str, key: str) -> bool:
        """Do one errand; False when it must wait."""
        try:
            if (what, key) == SCRUB:
                await self._database.scrub()
                return True
            if any(one.outdated and str(one.conversation) == key for one in self._under_way):
                return False  # its model may be reading it right now
            if self._drop is None:
                return True
            with anyio.move_on_after(DROP_SECONDS):
                await self._drop(key)
                return True
        except EngineError as trouble:
            log.warning("not forgotten yet (%s): %s", what, trouble)
        return False


@asynccontextmanager
async def open_memory(path: Path, drop: Callable[[str], Awaitable[None]] | None = None) -> AsyncIterator[Memory]:
    """Open an agent's memory; raises as `open_database` does."""
    async with open_database(path, MEMORY) as database:
        yield Memory(database, drop)
