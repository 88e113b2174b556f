"""Decides who is answered next: voice, chat, background, and within each who was served longest ago.

The model computes one thing at a time, so requests stand in line. Each is a `LinePlace`, in one of these states:

    state     is reached by                                         what it means
    -------   ---------------------------------------------------   ----------------------------------------------
    present   `place`, when its priority has room                   it counts; its prompt may still be worked out
    waiting   `called`, or `give_way` after it was answered a bit   it wants the model
    called    `_call`, when nobody is called and it is the first    it has the model, and is the only one that has
    left      the end of either block, cancelled or not             it counts no more, and the next one is called

Whoever has the model keeps it until it lets go: nothing is taken away in the middle of a step. Between two steps the
host asks `somebody_before`, and gives way when a *more urgent* one waits; an equal never interrupts an equal. What gave
way waits again, first of its own rank, and goes on where it was.

Rank comes first: the priority, and within it an answer before reading ahead (a prompt that is computed while its person
still speaks). Of equal rank the one that gave way is first, then whoever was called longest ago, then who came first. A
person is noted as served when called, and not by reading ahead: that must not cost them their turn.

`ROOM` counts all that are present against the newcomer's own priority, so what is less urgent is turned away first.
(Forgetting a conversation stands in line, too, and is never turned away.) Nothing grows more urgent by waiting: while
voices keep coming, a chat waits as long as they do.

Nothing here is durable, and nothing need be: a request lives as long as its connection, and one that is turned away or
cut off is asked again by who wanted it. Everything runs on the event loop's thread but `somebody_before`, which the
computing thread asks too: it reads a copy of the list, and a stale answer costs one step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import anyio

from atlas.errors import RequestError
from atlas.latest import Latest

ROOM = {"voice": 20, "chat": 16, "background": 8}  # requests in line; more would be answered too late to be of use
PRIORITIES = tuple(ROOM)
REMEMBERED = 256  # people of whom it is known when they were served last


@dataclass(eq=False, slots=True)
class LinePlace:
    """Where one request stands: in line, or before the model."""

    priority: str
    who: str
    arrived: int
    ahead: bool = False  # it only reads ahead, for an answer that nobody has asked for yet
    given_way: bool = False  # it was being answered already, so it is the first of its kind
    called: anyio.Event = field(default_factory=anyio.Event)

    @property
    def rank(self) -> tuple[int, bool]:
        """Lower is more urgent. Reading ahead comes after every answer of its priority, and before the next one."""
        return PRIORITIES.index(self.priority), self.ahead


class Line:
    """Lets one request through at a time."""

    def __init__(self) -> None:
        self._present: set[LinePlace] = set()  # the one being answered among them
        self._waiting: list[LinePlace] = []
        self._now: LinePlace | None = None
        self._served = Latest[str, int](REMEMBERED)  # who → when, counted in answers
        self._count = 0

    def __len__(self) -> int:
        return len(self._present)

    @contextmanager
    def place(self, priority: str, who: str, *, ahead: bool = False) -> Iterator[LinePlace]:
        """Have a place in line for the time of the body. Raises `RequestError` when it is full for this priority."""
        if len(self._present) > ROOM[priority]:
            raise RequestError(f"{len(self._present) - 1} requests are waiting already", code="too_many_requests")
        self._count += 1
        place = LinePlace(priority, who, self._count, ahead)
        self._present.add(place)
        try:
            yield place
        finally:
            self._present.discard(place)

    @asynccontextmanager
    async def called(self, place: LinePlace) -> AsyncIterator[None]:
        """Wait until the body may begin. Leaving it lets the next one through; so does cancelling, in line too."""
        try:
            await self._wait(place)
            yield
        finally:
            self._leave(place)

    def somebody_before(self, place: LinePlace) -> bool:
        """Say whether somebody more urgent waits than the one being answered. May be asked from another thread."""
        return any(other.rank < place.rank for other in tuple(self._waiting))

    async def give_way(self, place: LinePlace) -> None:
        """Let those before it be answered, then go on. Between two steps of an answer."""
        self._now = None
        place.given_way = True
        await self._wait(place)

    async def _wait(self, place: LinePlace) -> None:
        place.called = anyio.Event()
        self._waiting.append(place)
        self._call()
        await place.called.wait()

    def _leave(self, place: LinePlace) -> None:
        if place in self._waiting:
            self._waiting.remove(place)
        if self._now is place:
            self._now = None
        self._call()

    def _call(self) -> None:
        if self._now is None and self._waiting:
            self._now = min(self._waiting, key=self._order)
            self._waiting.remove(self._now)
            self._now.called.set()
            if self._now.ahead:  # it is no answer: it must not cost the person the next one
                return
            self._count += 1
            self._served[self._now.who] = self._count

    def _order(self, place: LinePlace) -> tuple[tuple[int, bool], bool, int, int]:
        return place.rank, not place.given_way, self._served.get(place.who, 0), place.arrived
