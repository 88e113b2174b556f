"""The door to what was said: one's own past only, found, taken along and forgotten."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from atlas.config import Config
from atlas.conversation import Actor, Message, ToolCall
from atlas.gateway.conversations import PAGE, Markdown, as_json_line
from atlas.gateway.device_pace import ALLOWANCE, COSTS
from atlas.store.conversations import conversation_of
from atlas.store.recall import RememberedMessage, RememberedTurn
from atlas.store.turns import TurnRecord
from tests.conftest import for_every
from wall.roles import Role

from .small_house import SmallHouse, served

SEARCH, EXPORT, FORGET = "/api/conversations/search", "/api/conversations/export", "/api/conversations"


@pytest.fixture
async def small(config: Config, data: Path) -> AsyncIterator[SmallHouse]:
    async with served(config, data) as house:
        yield house


async def told(small: SmallHouse, actor: Actor, text: str, ago: float = 0.0, agent: str = "family") -> None:
    actor = replace(actor, device_id="".join(await small.devices.ids_of(actor.device)))
    memory, _ = small.house.memory_of(agent, actor)
    at = time.time() - ago
    with memory.under_way(conversation_of(agent, actor), text) as one:
        record = TurnRecord(text, agent, "default", "model", actor.device, True, at, at, "done")
        call = ToolCall("call_1", "timers.start", {"seconds": 60})
        messages = (Message("user", text), Message("assistant", calls=(call,)), Message("assistant", "I see."))
        await memory.keep(record, messages, one)


def of(role: Role, **more: str) -> Actor:
    """Who a token of that role is."""
    return Actor(more.get("person", ""), f"the {role}", role, more.get("room", ""))


async def ask(small: SmallHouse, method: str, path: str, role: Role | None = "owner", **query: str) -> tuple[int, Any]:
    async with small.http(role) as http:
        answer = await http.request(method, path, params=query)
    kind = answer.headers["content-type"]
    return answer.status_code, answer.json() if kind == "application/json" else answer.text


async def test_each_token_finds_its_own_past_and_nobody_elses(small: SmallHouse) -> None:
    roles: tuple[Role, ...] = ("owner", "adult", "child", "guest", "satellite")
    for role in roles:
        await told(small, of(role), f"the secret of {role}")
    for role in roles:
        status, body = await ask(small, "GET", SEARCH, role, q="SECR")
        assert status == 200
        assert [one["text"] for one in body["matches"]] == [f"the secret of {role}"]
        _, lines = await ask(small, "GET", EXPORT, role)
        assert [json.loads(line)["messages"][0]["text"] for line in lines.splitlines()] == [f"the secret of {role}"]


async def test_one_request_reaches_one_agents_memory(small: SmallHouse) -> None:
    await told(small, of("owner"), "said to family")
    await told(small, of("owner"), "said to work", agent="work")
    assert [one["text"] for one in (await ask(small, "GET", SEARCH, q="said"))[1]["matches"]] == ["said to family"]
    assert "said to family" not in (await ask(small, "GET", EXPORT, agent="work"))[1]
    status, body = await ask(small, "GET", SEARCH, "adult", q="said", agent="work")
    assert (status, body["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize("field", ["person", "device", "room"])
async def test_only_the_owner_may_name_somebody_else(small: SmallHouse, field: str) -> None:
    for method, path in (("GET", SEARCH), ("GET", EXPORT), ("DELETE", FORGET)):
        status, body = await ask(small, method, path, "adult", **{field: "Anna"})
        assert (status, body["error"]["code"], body["error"]["field"]) == (403, "forbidden", field)


TERMINAL = Actor("", "terminal", "owner")  # as whom `atlas ask` talks


async def test_owners_read_and_forget_what_was_said_in_the_terminal_and_nobody_else_does(small: SmallHouse) -> None:
    await told(small, TERMINAL, "said in the terminal")
    await told(small, of("owner"), "said in a browser")
    _, body = await ask(small, "GET", SEARCH, q="said")
    assert [one["text"] for one in body["matches"]] == ["said in a browser", "said in the terminal"]
    whose = (await ask(small, "GET", FORGET))[1]
    assert (whose["person"], whose["of_owners"]) == ("", True)
    for role in ("adult", "teen", "child", "guest", "satellite"):
        assert (await ask(small, "GET", SEARCH, role, q="said"))[1]["matches"] == []
        assert (await ask(small, "GET", FORGET, role))[1]["of_owners"] is False
    assert (await ask(small, "DELETE", FORGET, everything="true"))[1]["exchanges"] == 2
    assert (await ask(small, "GET", EXPORT)) == (200, "")


async def test_an_owner_who_has_a_name_reads_the_terminals_besides_and_no_other_owners(small: SmallHouse) -> None:
    await told(small, TERMINAL, "said in the terminal")
    for person in ("Anna", "Tom"):
        token = await small.devices.create(f"{person}s phone", "owner", person)
        await told(small, Actor(person, f"{person}s phone", "owner", "kitchen"), f"said by {person}")
        small.tokens[person] = token  # type: ignore[index]  # a person in the place of a role
        if person == "Anna":  # she is the one owner: who has no name is she
            _, body = await ask(small, "GET", SEARCH, q="said")
            assert {one["text"] for one in body["matches"]} == {"said by Anna", "said in the terminal"}
            assert (await ask(small, "GET", FORGET))[1]["person"] == "Anna"
    for person in ("Anna", "Tom"):
        _, body = await ask(small, "GET", SEARCH, person, q="said")  # type: ignore[arg-type]
        assert {one["text"] for one in body["matches"]} == {f"said by {person}", "said in the terminal"}
    _, body = await ask(small, "GET", SEARCH, q="said")
    assert {one["text"] for one in body["matches"]} == {"said in the terminal"}, "nobody knows which of the two it is"


async def test_the_owner_takes_away_what_is_left_of_a_guest(small: SmallHouse) -> None:
    await told(small, of("guest"), "hello", 60)
    await told(small, Actor("Anna", "phone", "adult", "kitchen"), "hello too")
    status, body = await ask(small, "DELETE", FORGET, device="the guest", everything="true")
    assert (status, body["exchanges"], body["with_deeds"]) == (200, 1, 1)
    assert (await ask(small, "GET", SEARCH, "guest", q="hello"))[1]["matches"] == []
    assert len((await ask(small, "GET", SEARCH, q="hello", person="Anna"))[1]["matches"]) == 1


async def test_an_export_holds_everything_in_order_page_by_page(small: SmallHouse) -> None:
    for number in range(PAGE + 3):
        await told(small, of("owner"), f"number {number}")
    _, lines = await ask(small, "GET", EXPORT)
    exchanges = [json.loads(line) for line in lines.splitlines()]
    assert [one["messages"][0]["text"] for one in exchanges] == [f"number {number}" for number in range(PAGE + 3)]
    assert exchanges[0]["messages"][1] == {"author": "assistant", "text": "", "tools": ["timers.start"]}
    assert datetime.fromisoformat(exchanges[0]["at"]).utcoffset() is not None


async def test_an_export_of_nothing_is_empty(small: SmallHouse) -> None:
    assert await ask(small, "GET", EXPORT) == (200, "")


async def test_a_page_to_read_has_days_times_tools_and_no_marks_of_its_own(small: SmallHouse) -> None:
    messages = (
        RememberedMessage("user", "hello\n# not a *heading*\x1b[31m"),
        RememberedMessage("assistant", "Done.", ("timers.start",)),
    )
    one = RememberedTurn(1, "turn_1", 1_795_300_000.0, "family", "Anna", "kitchen", "phone", True, "done", messages)
    page = Markdown()
    assert page.text(one, UTC).splitlines()[2:] == [
        f"**{datetime.fromtimestamp(one.at, UTC):%H:%M}**, kitchen (timers.start)",
        r"- Anna: hello \# not a \*heading\* \[31m",
        "- family: Done.",
        "",
    ]
    assert page.text(one, UTC).startswith("**")  # the day is named once
    assert json.loads(as_json_line(one, None))["room"] == "kitchen"


async def test_forgetting_goes_by_count_by_age_and_by_date(small: SmallHouse) -> None:
    now = datetime.now(UTC)
    for days in range(5):
        await told(small, of("owner"), f"{days} days ago", days * 86_400 + 10)
    assert (await ask(small, "DELETE", FORGET, last="1"))[1]["exchanges"] == 1  # the last that was said: the oldest
    assert (await ask(small, "DELETE", FORGET, last_seconds="3600"))[1]["exchanges"] == 1
    since, until = now - timedelta(days=2, seconds=60), now - timedelta(days=1, seconds=60)
    body = (await ask(small, "DELETE", FORGET, since=since.isoformat(), until=until.isoformat()))[1]
    assert (body["exchanges"], body["bytes_gone"], body["model_forgot"]) == (1, True, True)
    left = (await ask(small, "GET", SEARCH, q="ago"))[1]["matches"]
    assert sorted(one["text"] for one in left) == ["1 days ago", "3 days ago"]


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ({}, "everything"),
        ({"everything": "false"}, "everything"),
        ({"everything": "true", "last": "2"}, "everything"),
        ({"last": "0"}, "last"),
        ({"last": "-1"}, "last"),
        ({"last_seconds": "²"}, "last_seconds"),
        ({"since": "a while ago"}, "since"),
        ({"since": "99999999"}, "since"),
        ({"since": "-5.9e-08"}, "since"),
        ({"until": "0001-01-01T00:00"}, "until"),
        ({"everthing": "true"}, "everthing"),
    ],
)
async def test_who_does_not_say_what_to_forget_forgets_nothing(
    small: SmallHouse, query: dict[str, str], param: str
) -> None:
    await told(small, of("owner"), "hello")
    status, body = await ask(small, "DELETE", FORGET, **query)
    assert (status, body["error"]["field"]) in ((400, param), (422, param))
    assert len((await ask(small, "GET", SEARCH, q="hello"))[1]["matches"]) == 1


@for_every("query", [{}, {"q": " "}, {"q": "x" * 300}, {"q": "x", "limit": "1000"}])
async def test_a_search_that_cannot_be_is_refused_in_words(small: SmallHouse, query: dict[str, str]) -> None:
    status, body = await ask(small, "GET", SEARCH, **query)
    assert status == 422
    assert body["error"]["sentence"]


async def test_without_a_token_nothing_is_told(small: SmallHouse) -> None:
    for method, path in (("GET", SEARCH), ("GET", EXPORT), ("DELETE", FORGET)):
        assert (await ask(small, method, path, None))[0] == 401


async def test_a_device_that_asks_without_end_is_asked_to_wait_and_others_are_not(small: SmallHouse) -> None:
    for _ in range(int(ALLOWANCE / COSTS["export"])):
        assert (await ask(small, "GET", EXPORT, "guest"))[0] == 200
    status, body = await ask(small, "GET", EXPORT, "guest")
    assert (status, body["error"]["code"]) == (429, "rate_limit_exceeded")
    assert (await ask(small, "GET", EXPORT))[0] == 200
