"""Every route of the API × every role × no token, a wrong one, one taken back: generated from the API itself."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from atlas.conversation import Turn, fresh_id
from atlas.gateway import auth
from atlas.gateway.api.door import resource_routes, roles_of
from tests.gateway.api_house import ROLES, api_house

REFUSED = (401, 403)


def operations() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Method, path with an id that nothing has, and whom it is for."""
    for route in resource_routes():
        path = route.path_format
        for name in route.param_convertors:
            path = path.replace(f"{{{name}}}", "nothing-has-this-id")
        for method in sorted(route.methods or ()):
            yield method, f"/api{path}", tuple(roles_of(route))


async def test_every_route_is_closed_without_a_token_that_counts(config, data, monkeypatch):
    monkeypatch.setattr(auth, "FIRST_WAIT_SECONDS", 0.0)
    async with api_house(config, data) as world:
        await world.devices.create("lost phone", "owner")
        lost = await world.devices.create("another", "owner")
        await world.devices.revoke("another")
        for token in ("", "wrong", "atlas_" + "a" * 32, lost):
            async with world.http(None, token) as http:
                for method, path, _ in operations():
                    reply = await http.request(method, path, json={})
                    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_api_key"), (
                        method,
                        path,
                    )


@pytest.mark.parametrize("role", ROLES)
async def test_every_route_is_open_to_its_roles_and_to_no_other(config, data, role):
    async with api_house(config, data) as world, world.http(role) as http:
        for method, path, roles in operations():
            if path == "/api/events":
                continue  # it never ends: see test_api_events.py
            reply = await http.request(method, path, json={})
            if role in roles:
                assert reply.status_code != 401, (method, path)
                assert reply.status_code != 403 or reply.json()["error"]["code"] != "forbidden", (method, path)
                assert reply.status_code < 500, (method, path, reply.text)
            else:
                assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden"), (method, path)


@pytest.mark.parametrize("role", [role for role in ROLES if role != "owner"])
async def test_no_route_shows_or_takes_what_another_person_said(config, data, role):
    async with api_house(config, data) as world:
        anna = await world.devices.create("annas phone", "adult", "Anna", "Kitchen")
        other = await world.devices.create("another phone", role, "" if role == "satellite" else "Ben", "Kitchen")
        world.chat.words = ("I will keep vermilion a secret.",)
        actor = await world.devices.find(anna)

        async def emit(event):
            pass

        turn = Turn(fresh_id("turn"), "vermilion is my secret colour", actor, time.time(), agent="family")
        await world.house.reply(turn, emit)
        async with world.http(None, anna) as hers, world.http(None, other) as http:
            assert "vermilion" in (await hers.get("/api/conversations/turns")).text
            for method, path, _ in operations():
                if path != "/api/events" and (method == "GET" or path == "/api/conversations"):
                    for query in ({}, {"q": "secret"}, {"everything": "true"}, {"person": "Anna"}):
                        reply = await http.request(method, path, params=query)
                        assert "vermilion" not in reply.text, (method, path, query)
            assert "vermilion" in (await hers.get("/api/conversations/turns")).text
