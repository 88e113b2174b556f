"""What was asked for comes back aloud: a reminder at its moment, and one that waited for a voice."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.journeys.conftest import Running

pytestmark = pytest.mark.real


async def remind(house: Running, actor: dict[str, str], **arguments: str) -> None:
    """Set a reminder as another program does, for somebody by name."""
    token = (house.data / "secrets" / "tools-family.token").read_text().strip()
    transport = httpx2.AsyncHTTPTransport(uds=str(house.data / "run" / "tools.sock"))
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers) as http,
        Client(streamable_http_client("http://tools/mcp", http_client=http)) as client,
    ):
        meta: Any = {"atlas.house/actor": {"role": "adult", **actor}}
        result = await client.call_tool("reminders.add", dict(arguments), meta=meta)
        assert not result.is_error, result.content


def speaker(house: Running, name: str) -> AbstractContextManager[Any]:
    """Be a device that is connected and can be spoken through."""
    return house.client().realtime.connect(model="family", extra_query={"device": name, "room": name})


def spoken_through(connection: Any, what: str) -> str:
    """Return the first thing said through a connection that has `what` in it."""
    said = ""
    for event in connection:
        if event.type == "response.output_audio_transcript.delta":
            said += event.delta
        elif event.type == "response.done":
            if what in said:
                return said
            said = ""
    return said


async def test_a_reminder_is_said_on_the_device_that_asked_for_it(house: Running) -> None:
    with speaker(house, "study") as connection:
        await remind(house, {"device": "study", "room": "study"}, text="stretch", when="in 2 seconds")
        assert "stretch" in spoken_through(connection, "stretch")


async def test_a_reminder_that_waits_for_a_voice_is_said_where_that_person_speaks(house: Running) -> None:
    await remind(house, {"person": "Ben", "device": "phone"}, text="call grandma", when="when Anna is next heard")
    with speaker(house, "porch") as connection:
        own = {"remember": True, "person": "Anna", "device": "porch", "room": "porch"}
        said: Any = [{"role": "user", "content": "what time is it"}]
        house.client().chat.completions.create(model="family", messages=said, extra_body={"atlas": own})
        assert "grandma" in spoken_through(connection, "grandma")
