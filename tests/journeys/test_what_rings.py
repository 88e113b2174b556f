"""What was asked for comes back aloud: a reminder at its moment, and one that waited for a voice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.journeys.conftest import Running

pytestmark = pytest.mark.real


async def use(house: Running, tool: str, /, actor: dict[str, str], **arguments: Any) -> bool:
    """Use a tool as another program does, for somebody by name; tell whether it worked."""
    token = (house.data / "secrets" / "tools-family.token").read_text().strip()
    transport = httpx2.AsyncHTTPTransport(uds=str(house.data / "run" / "tools.sock"))
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers) as http,
        Client(streamable_http_client("http://tools/mcp", http_client=http)) as client,
    ):
        meta: Any = {"atlas.house/actor": {"role": "adult", **actor}}
        return not (await client.call_tool(tool, dict(arguments), meta=meta)).is_error


@asynccontextmanager
async def reminded(house: Running, actor: dict[str, str], text: str, when: str) -> AsyncIterator[None]:
    """Have a reminder inside the block; it is acknowledged after it, or it would be said again to other tests."""
    assert await use(house, "reminders.add", actor, text=text, when=when)
    yield
    for _ in range(100):
        if await use(house, "reminders.done", actor, about=text):
            return
        await anyio.sleep(0.1)  # it is being marked as said
    raise AssertionError(f"the reminder {text!r} was never marked as said")


def speaker(house: Running, name: str) -> AbstractContextManager[Any]:
    """Be a device that is connected and can be spoken through."""
    return house.client().realtime.connect(model="family", extra_query={"device": name, "room": name})


def spoken_through(connection: Any, what: str) -> str:
    """Return the first thing said through a connection that has `what` in it."""
    text = ""
    for event in connection:
        if event.type == "response.output_audio_transcript.delta":
            text += event.delta
        elif event.type == "response.done":
            if what in text:
                return text
            text = ""
    return text


async def test_a_reminder_is_said_on_the_device_that_asked_for_it(house: Running) -> None:
    asker = {"device": "study", "room": "study"}
    with speaker(house, "study") as connection:
        async with reminded(house, asker, "stretch", "in 2 seconds"):
            assert "stretch" in spoken_through(connection, "stretch")


async def test_a_reminder_that_waits_for_a_voice_is_said_where_that_person_speaks(house: Running) -> None:
    ben = {"person": "Ben", "device": "phone"}
    with speaker(house, "porch") as connection:
        own_values = {"remember": True, "person": "Anna", "device": "porch", "room": "porch"}
        text: Any = [{"role": "user", "content": "what time is it"}]
        async with reminded(house, ben, "call grandma", "when Anna is next heard"):
            house.client().chat.completions.create(model="family", messages=text, extra_body={"atlas": own_values})
            assert "grandma" in spoken_through(connection, "grandma")


async def test_what_is_for_everybody_is_said_through_every_other_speaker(house: Running) -> None:
    with speaker(house, "kitchen") as one, speaker(house, "attic") as other:
        assert await use(house, "broadcast.say", {"device": "hall"}, text="Dinner is ready")
        assert "Dinner is ready" in spoken_through(one, "Dinner")
        assert "Dinner is ready" in spoken_through(other, "Dinner")


async def test_what_was_to_be_done_later_and_could_not_is_said_where_it_was_set(house: Running) -> None:
    with speaker(house, "cellar") as connection:
        asker = {"device": "cellar", "room": "cellar"}
        deed = {"tool": "timers.cancel", "arguments": {"name": "goose"}, "text": "cancel the goose timer"}
        assert await use(house, "later.do", asker, seconds=1, **deed)
        assert "cancel the goose timer" in spoken_through(connection, "goose")
