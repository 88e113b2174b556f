"""Events: what has changed, as it changes, for pages that show it; and what rings, for a page that somebody looks at.

An event of a change has no contents: the page asks for them again, and the gate decides again who may see them. That is
also why a page that comes back after a while, by its Last-Event-ID, misses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Annotated, Any, Literal

import anyio
from fastapi import Header, Query, Request
from pydantic import Field
from starlette.responses import Response

from atlas.bell import Ringing
from atlas.changes import EVERYTHING
from atlas.gateway.api.caller import AnyCaller, Caller
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply
from atlas.gateway.wire import Stream, Write
from wall.roles import may

STILL_SECONDS = 15.0  # without an event; then a line says that the connection lives
RETRY_MILLISECONDS = 2_000
router = resource("events", asks=False)


class ChangeEvent(ApiReply):
    """Event `changed`: ask for this again. `everything` when the house was away, or the page for too long."""

    kind: str = Field(
        description="timers, alarms, reminders, tasks, lists, notes, calendar, home, asks, voice-messages or everything"
    )


class RingEvent(ApiReply):
    """Event `ring`, for a page that asked for them: play a tone and show the words."""

    id: str = Field(description="Of the timer or alarm; empty for an announcement")
    kind: Literal["timer", "alarm", "announcement"]
    text: str
    times: int = Field(description="How often it has rung before")


LastEvent = Annotated[str, Header(alias="Last-Event-ID", max_length=64)]
Rings = Annotated[bool, Query(description="Somebody looks at this page: what rings for this device rings here")]


@router.get(
    "",
    response_class=Response,
    responses={200: {"model": ChangeEvent | RingEvent, "content": {"text/event-stream": {}}}},
)
async def stream_events(
    request: Request, caller: AnyCaller, last_event_id: LastEvent = "", rings: Rings = False
) -> Response:
    """Send events as they happen: `changed` (resumable by Last-Event-ID) and, with `rings`, `ring`."""

    async def write_all(write: Write) -> None:
        await EventStream(caller, write).run(request, last_event_id, rings=rings)

    return Stream(request, write_all, "text/event-stream")


class EventStream:
    """One page that listens."""

    def __init__(self, caller: Caller, write: Write) -> None:
        self._caller = caller
        self._write = write
        self._writing = anyio.Lock()
        self._spoke = anyio.Event()  # something was written

    async def run(self, request: Request, place: str, *, rings: bool) -> None:
        """Write events until the page goes away, its token is taken back, its device renamed, or the house stops."""
        changes = self._caller.house.changes
        number = changes.number_at(place) if place else changes.last
        await self._send(f"retry: {RETRY_MILLISECONDS}\nid: {changes.place(changes.last)}\n\n")
        if number is None:
            await self._event("changed", {"kind": EVERYTHING}, changes.place(changes.last))
            number = changes.last
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._pass_on, number)
            tasks.start_soon(self._keep_alive)
            with ExitStack() as stack:
                if rings:
                    actor, house = self._caller.actor, self._caller.house
                    speaking = house.speaking_device(
                        *(actor.device, actor.room, self._say),
                        ring=self._ring,
                        resides=may(actor.role, "reside"),
                        device_id=actor.device_id,
                    )
                    stack.enter_context(speaking)
                await request.state.open_connection.over.wait()
            tasks.cancel_scope.cancel()

    async def _pass_on(self, number: int) -> None:
        changes = self._caller.house.changes
        while True:
            for change in await changes.after(number):
                number = change.number
                await self._event("changed", {"kind": change.kind}, changes.place(number))

    async def _keep_alive(self) -> None:
        while True:
            with anyio.move_on_after(STILL_SECONDS):
                await self._spoke.wait()
                continue
            await self._send(": still here\n\n")

    async def _say(self, text: str) -> None:
        await self._event("ring", {"id": "", "kind": "announcement", "text": text, "times": 0})

    async def _ring(self, text: str, ringing: Ringing) -> None:
        values = {"id": ringing.id, "kind": ringing.kind, "text": text, "times": ringing.times}
        await self._event("ring", values)

    async def _event(self, name: str, values: Mapping[str, Any], place: str = "") -> None:
        text = json.dumps(values, ensure_ascii=False)
        await self._send(f"event: {name}\n{f'id: {place}{chr(10)}' if place else ''}data: {text}\n\n")

    async def _send(self, text: str) -> None:
        async with self._writing:
            await self._write(text.encode())
        self._spoke.set()
        self._spoke = anyio.Event()
