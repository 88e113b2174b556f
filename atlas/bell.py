"""Tell people about timers that have ended: on the device that set them, else in its room, else everywhere."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio

from atlas.conversation import HOUSE, ToolCall, fresh_id
from atlas.errors import AtlasError
from atlas.mcp.tools import Tools

POLL_SECONDS = 1.0  # how late a bell may ring without anyone noticing
SAY_SECONDS = 30.0  # a device that has not taken an announcement by then has not heard it
LATE_SECONDS = 30  # from here on "has ended" would be misleading
Say = Callable[[str], Awaitable[None]]
log = logging.getLogger("atlas")


@dataclass(frozen=True, slots=True, eq=False)
class Speaker:
    """A connected device that can be spoken through."""

    device: str
    room: str
    say: Say


class Speakers:
    """The devices that are connected now."""

    def __init__(self) -> None:
        self._all: list[Speaker] = []
        self._some = anyio.Event()

    @contextmanager
    def connected(self, speaker: Speaker) -> Iterator[None]:
        """Count `speaker` as connected inside the block."""
        self._all.append(speaker)
        self._some.set()
        try:
            yield
        finally:
            self._all.remove(speaker)
            if not self._all:
                self._some = anyio.Event()

    async def someone(self) -> None:
        """Wait until a device is connected."""
        await self._some.wait()

    def near(self, device: str, room: str) -> list[Speaker]:
        """Return the connections of `device`; without any, those in its room; without any, all."""
        return (
            [speaker for speaker in self._all if speaker.device == device]
            or [speaker for speaker in self._all if room and speaker.room == room]
            or list(self._all)
        )

    def on(self, device: str) -> list[Speaker]:
        """Return the connections of `device`, and all when it is ""."""
        return [speaker for speaker in self._all if device in ("", speaker.device)]


async def spoken_to_any(speakers: list[Speaker], text: str) -> bool:
    """Say `text` through all of them at once; True when at least one took it. Cancelling is safe."""
    took: list[Speaker] = []

    async def tell(speaker: Speaker) -> None:
        try:
            with anyio.fail_after(SAY_SECONDS):
                await speaker.say(text)
        except (AtlasError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as trouble:
            log.warning("%s did not take an announcement: %s", speaker.device, trouble or type(trouble).__name__)
        else:
            took.append(speaker)

    async with anyio.create_task_group() as tasks:
        for speaker in speakers:
            tasks.start_soon(tell, speaker)
    return bool(took)


class Bell:
    """Watches the tool server for timers that have ended, and forgets none until somebody was told."""

    def __init__(self, tools: Tools, speakers: Speakers) -> None:
        self._tools = tools
        self._speakers = speakers
        self._telling: set[str] = set()  # by tasks of their own: a busy device holds up no other
        self._told: set[str] = set()  # announced, and not yet marked so: never told twice
        self._away = False

    async def ring(self) -> None:
        """Ring whenever there is a reason, until cancelled. While nobody could hear it, nothing is asked."""
        async with anyio.create_task_group() as tasks:
            while True:
                await self._speakers.someone()
                for timer in await self._due():
                    if timer["id"] not in self._told | self._telling:
                        self._telling.add(timer["id"])
                        tasks.start_soon(self._tell, timer)
                await self._mark()
                await anyio.sleep(POLL_SECONDS)

    async def _due(self) -> list[Mapping[str, Any]]:
        result = await self._tools.call(ToolCall(fresh_id("call"), "timers.due", {}), HOUSE, "")
        if self._away == result.ok:  # say it once, both when it goes and when it comes back
            self._away = not result.ok
            log.warning("the bell %s", f"cannot see the timers: {result.text}" if self._away else "sees timers again")
        return list(result.data.get("timers", ())) if result.ok else []

    async def _tell(self, timer: Mapping[str, Any]) -> None:
        near = self._speakers.near(timer.get("device", ""), timer.get("room", ""))
        try:
            if await spoken_to_any(near, sentence(timer)):
                self._told.add(timer["id"])
        finally:
            self._telling.remove(timer["id"])

    async def _mark(self) -> None:
        if told := sorted(self._told):
            call = ToolCall(fresh_id("call"), "timers.announced", {"ids": told})
            if (await self._tools.call(call, HOUSE, "")).ok:
                self._told.difference_update(told)


def sentence(timer: Mapping[str, Any]) -> str:
    """Return what to say about a timer that has ended: `name`, `seconds` it was set for, `late_seconds` since."""
    name, late = timer.get("name", ""), int(timer.get("late_seconds", 0))
    called = f"{name} timer" if name else f"{_length(int(timer['seconds']))} timer"
    return f"Your {called} ended {_about(late)} ago." if late >= LATE_SECONDS else f"Your {called} has ended."


_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def _length(seconds: int) -> str:
    """Return a length as an adjective: "10 minute", "1 hour 30 minute"."""
    words = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            words.append(f"{count} {unit}")
    return " ".join(words) or "0 second"


def _about(seconds: int) -> str:
    """Return a length to the nearest of its largest unit: "3 minutes"."""
    for unit, size in _UNITS:
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {unit}" + ("s" if count != 1 else "")
    return "a moment"
