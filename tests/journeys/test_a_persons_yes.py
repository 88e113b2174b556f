"""Something is to be taken away: a person is asked, aloud, in writing or with a button, and only their yes does it."""

from __future__ import annotations

import json
import random
import re
import string
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio import to_thread
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import expect

from tests.journeys.browser import ANSWER_MS, connected, opened
from tests.journeys.browser import say as type_to
from tests.journeys.conftest import Running
from tests.tools_server.conftest import forgive_a_race_of_anyio

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("asks_end")]


@pytest.fixture
def title(house: Running) -> str:
    """Have a task that no other test knows of."""
    words = "dust shelf " + "".join(random.choices(string.ascii_lowercase, k=8))
    assert house.json_of("ask", f"add {words} to my tasks")["tools"][0]["receipt"]
    assert is_there(house, words)
    return words


def is_there(house: Running, title: str) -> bool:
    board = house.data / "family-agent-config" / "tasks" / "home"
    return any(title in file.read_text() for file in board.glob("*.md"))


def token_of(house: Running, name: str, role: str, room: str = "") -> str:
    house.atlas("token", "revoke", name)
    return house.new_token(name, role, "--room", room)


def say(house: Running, token: str, text: str, *past: tuple[str, str], **own_values: Any) -> str:
    """Say something as a stock client does; with `remember=True` the house keeps the conversation."""
    messages: Any = [{"role": role, "content": content} for role, content in (*past, ("user", text))]
    extra = {"extra_body": {"atlas": own_values}} if own_values else {}
    reply = house.client(token).chat.completions.create(model="family", messages=messages, **extra)
    return str(reply.choices[0].message.content)


def test_a_task_is_removed_after_a_yes_and_its_file_is_gone(house: Running, title: str) -> None:
    arguments = house.json_of("ask", f"remove the task {title}")
    assert arguments["reply"].endswith("?")
    assert title in arguments["reply"]
    assert arguments["tools"][0]["ask"]["level"] == "confirm"
    assert is_there(house, title)
    done = house.json_of("ask", "yes please")
    assert done["tools"][0]["receipt"]
    assert done["reply"] == done["tools"][0]["text"]
    assert not is_there(house, title)
    undone = house.json_of("ask", "undo that")
    assert undone["tools"][0]["receipt"], undone
    assert is_there(house, title)


def test_a_yes_on_a_page_of_another_language_does_it_at_once(house: Running, title: str) -> None:
    ask = house.json_of("ask", f"remove the task {title}")["tools"][0]["ask"]
    page = {"authorization": f"Bearer {token_of(house, 'page', 'adult')}", "accept-language": "de"}
    with httpx2.Client(base_url=house.url, headers=page) as http:
        done = http.post(f"/api/asks/{ask['id']}", json={"answer": "yes"}).json()
    assert not is_there(house, title), done


def test_after_a_no_it_is_still_there(house: Running, title: str) -> None:
    house.json_of("ask", f"remove the task {title}")
    assert house.json_of("ask", "no, leave it")["reply"] == "All right, I won't."
    assert house.json_of("ask", "yes")["tools"] == []
    assert is_there(house, title)


def test_what_is_not_wholly_a_yes_is_a_new_request(house: Running, title: str) -> None:
    house.json_of("ask", f"remove the task {title}")
    assert house.json_of("ask", "what time is it")["tools"][0]["name"] == "clock.time"
    house.json_of("ask", "yes")
    assert is_there(house, title)


def test_the_yes_of_another_device_does_nothing(house: Running, title: str) -> None:
    hall, den = token_of(house, "hall panel", "adult", "attic"), token_of(house, "den panel", "adult", "attic")
    assert say(house, hall, f"remove the task {title}", remember=True, room="attic").endswith("?")
    say(house, den, "yes", remember=True, room="attic")
    assert is_there(house, title)
    assert title in say(house, hall, "yes", remember=True, room="attic")
    assert not is_there(house, title)


def test_a_chat_client_that_says_yes_twice_gets_it_done_once(house: Running, title: str) -> None:
    token, wish = token_of(house, "chat app", "adult"), f"remove the task {title}"
    question = say(house, token, wish)
    past = (("user", wish), ("assistant", question))
    assert title in say(house, token, "yes", *past)
    assert not is_there(house, title)
    assert house.json_of("ask", f"add {title} to my tasks")["tools"][0]["ok"]
    say(house, token, "yes", *past)
    assert is_there(house, title)


def test_a_spoken_yes_does_it(house: Running, wav_of: Callable[[str], Path]) -> None:
    house.json_of("ask", "add sweep the floor to my tasks")
    arguments = house.turn_of("hear", str(wav_of("Remove the task sweep the floor.")))
    assert arguments["reply"].endswith("?"), arguments
    assert is_there(house, "sweep the floor")
    done = house.turn_of("hear", str(wav_of("Yes, please.")))
    assert done["tools"][0]["receipt"], done
    assert not is_there(house, "sweep the floor")
    rows = [json.loads(line) for line in (house.data / "tools" / "audit.jsonl").read_text().splitlines()]
    row = [row for row in rows if row["tool"] == "tasks.remove"][-1]
    assert (row["outcome"], row["confirmation"]["channel"]) == ("ok", "voice"), row


def test_the_terminal_shows_what_waits_and_answers_it(house: Running, title: str) -> None:
    child = token_of(house, "kids tablet", "child")
    say(house, child, f"remove the task {title}")
    listed = house.atlas("confirm", "--list").stdout
    line = next(line for line in listed.splitlines() if title in line)
    assert "kids tablet" in line
    nobody = house.atlas("confirm")
    assert (nobody.returncode, "no terminal" in nobody.stderr) == (1, True)
    assert is_there(house, title)
    done = house.atlas("confirm", "--yes", line.split()[0])
    assert done.returncode == 0, done.stderr
    assert title in done.stdout
    assert not is_there(house, title)
    assert house.atlas("confirm", "--yes", line.split()[0]).returncode == 1


@asynccontextmanager
async def program(house: Running, way: str, era: str) -> AsyncIterator[Client]:
    """An MCP client of its own, with the official SDK, as the README says: a server for itself, or the house's."""
    if way == "stdio":
        arguments = ["--stdio", "--agent", "family", "--as", "adult", "--house", str(house.data)]
        server = StdioServerParameters(command=sys.executable, args=["-m", "tools_server.server", *arguments])
        async with Client(server, mode=era) as client:
            yield client
        return
    forgive_a_race_of_anyio()
    token = (house.data / "secrets" / "tools-family.token").read_text().strip()
    transport = httpx2.AsyncHTTPTransport(uds=str(house.data / "run" / "tools.sock"))
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers) as http,
        Client(streamable_http_client("http://tools/mcp", http_client=http), mode=era) as client,
    ):
        yield client


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("way", ["stdio", "socket"])
async def test_another_program_waits_for_the_yes_too(house: Running, title: str, way: str, era: str) -> None:
    meta: Any = {"atlas.house/actor": {"person": "", "device": "ide", "role": "adult"}} if way == "socket" else None
    async with program(house, way, era) as ide:

        async def remove() -> Any:
            return await ide.call_tool("tasks_remove", {"title": title}, meta=meta)

        query = await remove()
        assert query.is_error
        assert "atlas confirm" in query.content[0].text
        ask = query.meta["atlas.house/ask"]["id"]
        assert (await remove()).is_error, "asking again is no yes"
        done = house.atlas("confirm", "--yes", ask)
        assert done.returncode == 0, done.stderr
        assert is_there(house, title), "a yes is not the deed"
        assert not (await remove()).is_error
        assert not is_there(house, title)
        assert house.json_of("ask", f"add {title} to my tasks")["tools"][0]["ok"]
        assert (await remove()).is_error, "it was good for once"
        assert is_there(house, title)


def test_the_page_has_a_button_for_it(house: Running, title: str) -> None:
    with opened(house) as page:
        connected(page)
        type_to(page, f"remove the task {title}")
        card = page.locator(".question", has_text=title)
        expect(card).to_be_visible(timeout=ANSWER_MS)
        card.get_by_role("button", name=re.compile("^Yes: ")).click()
        expect(page.locator(".entry.house .words").last).to_contain_text(title, timeout=ANSWER_MS)
        expect(card).to_have_count(0)
        assert not is_there(house, title)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_page_has_a_button_for_what_a_program_over_stdio_wants(house: Running, title: str, era: str) -> None:
    def press() -> None:
        with opened(house) as page:
            card = page.locator(".question", has_text=title)
            expect(card).to_be_visible(timeout=ANSWER_MS)
            card.get_by_role("button", name=re.compile("^Yes: ")).click()
            expect(card).to_have_count(0, timeout=ANSWER_MS)

    async with program(house, "stdio", era) as ide:
        assert (await ide.call_tool("tasks_remove", {"title": title})).is_error
        await to_thread.run_sync(press)
        assert not (await ide.call_tool("tasks_remove", {"title": title})).is_error
    assert not is_there(house, title)


def test_the_card_is_answered_with_the_keyboard_alone_on_a_narrow_screen(house: Running, title: str) -> None:
    with opened(house, viewport={"width": 360, "height": 640}) as page:
        connected(page)
        type_to(page, f"remove the task {title}")
        card = page.locator(".question", has_text=title)
        expect(card).to_be_visible(timeout=ANSWER_MS)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        expect(card.get_by_role("button", name=re.compile("^No: "))).to_be_focused()
        page.keyboard.press("Tab")
        expect(card.get_by_role("button", name=re.compile("^Yes: "))).to_be_focused()
        page.keyboard.press("Enter")
        expect(card).to_have_count(0, timeout=ANSWER_MS)
        expect(page.locator("#page")).to_be_focused()
        expect(page.locator(".entry.house .words").last).to_contain_text("Removed", timeout=ANSWER_MS)
        assert not is_there(house, title)


def test_closing_the_card_means_no(house: Running, title: str) -> None:
    with opened(house) as page:
        connected(page)
        type_to(page, f"remove the task {title}")
        card = page.locator(".question", has_text=title)
        expect(card.get_by_role("button", name=re.compile("^No: "))).to_be_focused(timeout=ANSWER_MS)
        page.keyboard.press("Escape")
        expect(card).to_have_count(0, timeout=ANSWER_MS)
        assert is_there(house, title)


def test_the_owners_page_shows_what_somebody_else_waits_for_until_it_is_answered(house: Running, title: str) -> None:
    child = token_of(house, "kids tablet", "child")
    with opened(house, viewport={"width": 360, "height": 640}) as page:
        connected(page)
        say(house, child, f"remove the task {title}", remember=True)
        card = page.locator(".question", has_text=title)
        expect(card).to_contain_text("kids tablet", timeout=ANSWER_MS)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        say(house, child, "no", remember=True)
        expect(card).to_have_count(0, timeout=ANSWER_MS)
        assert is_there(house, title)
