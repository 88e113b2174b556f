"""Who is answered next: voice before chat before background, and within each the one who was served longest ago."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import anyio

from atlas.errors import RequestError

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
        self._served: dict[str, int] = {}  # who → when, counted in answers
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
            self._served.pop(self._now.who, None)
            self._served[self._now.who] = self._count
            if len(self._served) > REMEMBERED:
                del self._served[next(iter(self._served))]

    def _order(self, place: LinePlace) -> tuple[tuple[int, bool], bool, int, int]:
        return place.rank, not place.given_way, self._served.get(place.who, 0), place.arrived
