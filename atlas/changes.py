"""Tells pages what has changed in the house, in order and without contents, so that they look again."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import anyio

from atlas.mcp.tools import Tools

REMEMBERED = 512  # changes; who was away for longer looks at everything again
EVERYTHING = "everything"  # may read differently: what watches was away for a while


@dataclass(frozen=True, slots=True)
class ChangeNotice:
    """Something that may read differently now."""

    number: int
    kind: str  # as the tools about it begin: timers, home, asks; or EVERYTHING


class Changes:
    """The latest changes. A place in them is named by `place`, which a page gives back when it returns."""

    def __init__(self, connections: Sequence[Tools]) -> None:
        self._connections = (
            connections  # each tells of the kinds of things that its agent may read, whoever changed them
        )
        self._epoch = secrets.token_hex(4)  # numbers begin anew with every start
        self._recent: deque[ChangeNotice] = deque(maxlen=REMEMBERED)
        self._last = 0
        self._wake = anyio.Event()

    async def watch(self) -> None:
        """Note what tools change, until cancelled."""
        async with anyio.create_task_group() as tasks:
            for connection in self._connections:
                tasks.start_soon(connection.watch, self.note)

    def note(self, kind: str) -> None:
        """Note that something changed; "" is what nobody can tell."""
        self._last += 1
        self._recent.append(ChangeNotice(self._last, kind or EVERYTHING))
        self._wake.set()
        self._wake = anyio.Event()

    @property
    def last(self) -> int:
        """The number of the latest change."""
        return self._last

    def place(self, number: int) -> str:
        """Return the name of the place after a change."""
        return f"{self._epoch}-{number}"

    def number_at(self, place: str) -> int | None:
        """Return the number of the change before a place; `None` when nobody can tell what came after it."""
        epoch, _, number = place.partition("-")
        if epoch != self._epoch or not (number.isascii() and number.isdecimal() and len(number) < 16):
            return None
        oldest = self._recent[0].number if self._recent else 1
        return int(number) if oldest - 1 <= int(number) <= self._last else None

    async def after(self, number: int) -> list[ChangeNotice]:
        """Wait until there are changes after one, and return them in order; of equal ones only the last."""
        while self._last <= number:
            await self._wake.wait()
        latest = {one.kind: one for one in self._recent if one.number > number}
        return sorted(latest.values(), key=lambda one: one.number)
