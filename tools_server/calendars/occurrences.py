"""Work out when everything happens, in a thread; a file that takes too long is reported and hides no other.

A rule can be written that fits no day before the year 9999, and nothing but patience finds that out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

import anyio

from tools_server.calendars import events
from tools_server.calendars.diary import CalendarPaper
from tools_server.calendars.events import Event
from tools_server.values.language import text as _
from tools_server.writing.papers import Unreadable, problem

STUCK_SECONDS = 3.0  # a daily series of a hundred years takes half of one


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event and where it is."""

    event: Event
    sheet: CalendarPaper


@dataclass(slots=True)
class _Work:
    """What one thread does: the sheets from `at` on, until it is left."""

    at: int
    occurrences: list[Occurrence] = field(default_factory=list)
    problems: list[dict[str, str]] = field(default_factory=list)
    left: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)

    async def run(self, sheets: Sequence[CalendarPaper], begin: datetime, end: datetime, zone: tzinfo | None) -> None:
        await anyio.to_thread.run_sync(self._through, sheets, begin, end, zone, abandon_on_cancel=True)
        self.done.set()

    def _through(self, sheets: Sequence[CalendarPaper], begin: datetime, end: datetime, zone: tzinfo | None) -> None:
        while self.at < len(sheets) and not self.left:
            sheet = sheets[self.at]
            try:
                occurrences = [Occurrence(event, sheet) for event in events.between(sheet.text, begin, end, zone)]
                self.occurrences += [] if self.left else occurrences
            except Unreadable as wrong:
                self.problems.append(problem(_name(sheet), wrong))
            self.at += 1


async def unfolded(
    sheets: Sequence[CalendarPaper], begin: datetime, end: datetime, zone: tzinfo | None
) -> tuple[list[Occurrence], list[dict[str, str]]]:
    """Return what happens in a stretch of time, in order, and what is wrong with files. Cancelling is safe."""
    occurrences: list[Occurrence] = []
    problems: list[dict[str, str]] = []
    first = 0
    while first < len(sheets):
        work = _Work(first)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work.run, sheets, begin, end, zone)
            stuck = False
            while not (work.done.is_set() or stuck):
                before = work.at
                with anyio.move_on_after(STUCK_SECONDS):
                    await work.done.wait()
                stuck = not work.done.is_set() and work.at == before
            work.left = True
            tasks.cancel_scope.cancel()
        occurrences += work.occurrences
        problems += work.problems
        first = work.at
        if stuck:
            problems.append({"file": _name(sheets[first]), "problem": _("its repetitions take too long to work out")})
            first += 1
    occurrences.sort(
        key=lambda occurrence: (
            occurrence.event.start,
            not occurrence.event.all_day,
            occurrence.event.title,
            occurrence.sheet.file,
        )
    )
    return occurrences, problems


def _name(sheet: CalendarPaper) -> str:
    return sheet.file.rsplit("/", 1)[-1]
