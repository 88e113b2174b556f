"""What waits for who was out: the house decides who sees what, and a page shows it to whoever is there."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2

from tests.gateway.api_house import ApiHouse, api_house
from wall.roles import ROLES


async def missed(client: httpx2.AsyncClient) -> list[Mapping[str, Any]]:
    reply = await client.get("/api/missed")
    assert reply.status_code == 200, reply.text
    return list(reply.json()["missed"])


async def seen(client: httpx2.AsyncClient) -> set[tuple[str, str]]:
    return {(one["kind"], one["text"]) for one in await missed(client)}


def in_the_database(data: Path, *statements: str) -> None:
    with closing(sqlite3.connect(data / "tools.db")) as tools, tools:
        for statement in statements:
            tools.execute(statement)


async def been_here(world: ApiHouse, data: Path) -> None:
    """Have every device be in the house since long ago."""
    with closing(sqlite3.connect(data / "devices.db")) as devices, devices:
        devices.execute("UPDATE devices SET created = 1")


async def test_a_timer_that_did_not_ring_is_told_to_whose_it_is_and_to_a_guest_what_they_set(config, data):
    async with api_house(config, data) as world, world.http("adult") as http, world.http("guest") as guest:
        await been_here(world, data)
        for name in "eggs", "tea":
            await http.post("/api/timers", json={"seconds": 600, "name": name})
        await guest.post("/api/timers", json={"seconds": 600, "name": "nap"})
        assert await missed(http) == []
        late = "UPDATE timers SET deadline = deadline - 7200, announced_at = deadline"  # the house came back too late
        in_the_database(data, late, "UPDATE timers SET person = 'Tom' WHERE name = 'tea'")
        assert await seen(http) == {("lateTimer", "eggs"), ("lateTimer", "nap")}
        token = await world.devices.create("toms phone", "adult", "tom")
        await been_here(world, data)
        async with world.http(token=token) as tom:
            names = {one["text"] for one in await missed(tom)}
        assert names == {"eggs", "tea", "nap"}, "however the name is written"
        assert await seen(guest) == {("lateTimer", "nap")}


async def test_a_question_that_nobody_answered_is_told_to_those_who_might_have(config, data):
    async with api_house(config, data) as world, world.http("adult") as http:
        await been_here(world, data)
        ask = (await http.patch("/api/home/devices/Front Door", json={"locked": False})).json()["ask"]
        assert await missed(http) == []
        in_the_database(data, "UPDATE asks SET asked_at = asked_at - 120, expires_at = expires_at - 120")
        for role in ROLES:
            async with world.http(role) as client:
                told = [(one["id"], one["text"]) for one in await missed(client)]
            expected = [(ask["id"], "Unlock the Front Door in the Hall?")] if role in ("owner", "adult") else []
            assert told == expected, role


async def test_what_the_household_missed_is_shown_to_who_lives_here_and_to_no_guest(config, data):
    async with api_house(config, data) as world, world.http("adult") as adult:
        await been_here(world, data)
        assert (await adult.post("/api/announcements", json={"text": "Dinner"})).status_code == 201
        await adult.post("/api/alarms", json={"when": "at seven", "name": "gym"})
        await adult.post("/api/reminders", json={"text": "bins", "when": "tomorrow at eight"})
        assert await missed(adult) == []
        in_the_database(
            data,
            "UPDATE broadcast SET at = at - 3601",
            f"UPDATE alarms SET missed_at = {time.time()}",
            f"UPDATE reminders SET missed_at = {time.time()}",
        )
        everything = {("announcement", "Dinner"), ("alarm", "gym"), ("lateReminder", "bins")}
        for role in ("owner", "adult", "child"):
            async with world.http(role) as client:
                assert await seen(client) == everything, role
        async with world.http("guest") as guest:
            assert await seen(guest) == set()


async def test_a_guest_sees_the_alarm_that_they_set_and_not_when_the_household_gets_up(config, data):
    async with api_house(config, data) as world, world.http("adult") as adult, world.http("guest") as guest:
        await been_here(world, data)
        await adult.post("/api/alarms", json={"when": "at seven", "name": "gym"})
        await guest.post("/api/alarms", json={"when": "at eight", "name": "train"})
        in_the_database(data, f"UPDATE alarms SET missed_at = {time.time()}")
        assert await seen(guest) == {("alarm", "train")}
        assert await seen(adult) == {("alarm", "gym"), ("alarm", "train")}


async def test_what_was_before_a_device_came_in_was_not_missed_on_it(config, data):
    async with api_house(config, data) as world, world.http("adult") as adult:
        await adult.post("/api/alarms", json={"when": "at seven", "name": "gym"})
        in_the_database(data, f"UPDATE alarms SET missed_at = {time.time() - 60}")
        assert await missed(adult) == []
        await been_here(world, data)
        assert await seen(adult) == {("alarm", "gym")}


async def test_messages_are_told_without_their_words_and_only_until_they_were_heard(config, data):
    async with api_house(config, data) as world, world.http("owner") as owner:
        token = await world.devices.create("toms phone", "adult", "Tom")
        left = await owner.post("/api/voice-messages", json={"text": "call me", "person": "Tom"})
        assert left.status_code == 201, left.text
        async with world.http(token=token) as tom:
            [one] = await missed(tom)
            assert (one["kind"], one["text"]) == ("message", "")
            assert await missed(owner) == []
            await tom.post(f"/api/voice-messages/{one['id']}/heard")
            assert await missed(tom) == []


async def test_a_guests_page_that_asks_what_was_missed_leaves_no_refusals_in_the_record(config, data):
    async with api_house(config, data) as world, world.http("guest") as guest, world.http("owner") as owner:
        await missed(guest)
        rows = (await owner.get("/api/record", params={"device": "the guest", "outcome": "denied"})).json()["rows"]
        assert [row["tool"] for row in rows] == []


async def test_a_guest_hears_of_the_very_thing_that_is_not_for_them(config, data):
    async with api_house(config, data) as world, world.http("guest") as guest:
        messages = (await guest.get("/api/voice-messages")).json()["error"]
        assert messages["sentence"] == "Messages are only for those who live here."
        reminder = (await guest.post("/api/reminders", json={"text": "tea", "when": "tomorrow at nine"})).json()[
            "error"
        ]
        assert reminder["sentence"] == "Guests can't change the household's reminders."
