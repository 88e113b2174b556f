"""Who asks to be told, at which address: only a device for itself, only where the owner allows it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from atlas.allowed_addresses import AllowedAddress
from atlas.config import Config
from atlas.conversation import Actor
from atlas.egress import Egress, EgressRecord
from atlas.models.way_out import WayOut
from atlas.push.service import PushSender, open_push_key, push_client
from atlas.push_notices import PushNotices
from tests.gateway.api_house import ApiHouse, api_house
from tests.gateway.test_setting_forms import settings_of
from tests.push.receiver import Browser, PushService, push_service

PUSH = "/api/push"


class NoQuestions:
    async def changes(self) -> AsyncIterator[object]:
        await anyio.sleep_forever()
        yield

    async def waiting(self, viewer: Actor) -> Mapping[str, str]:
        return {}


@asynccontextmanager
async def pushing(config: Config, data: Path) -> AsyncIterator[tuple[ApiHouse, PushService]]:
    with push_service() as service:
        way_out = Egress([AllowedAddress.read(service.place)], EgressRecord(data / "egress.jsonl"))
        async with (
            api_house(config, data) as world,
            await anyio.create_unix_listener(data / "e.sock") as listener,
            push_client(WayOut(data / "e.sock")) as client,
            anyio.create_task_group() as tasks,
        ):
            sender = PushSender(open_push_key(data / "push.key"), client)
            world.house.push = PushNotices(
                world.devices, sender, lambda: world.house.config.push.services, lambda *_: False, NoQuestions()
            )
            world.house.settings = settings_of(data)
            tasks.start_soon(listener.serve, way_out.serve)
            yield world, service
            tasks.cancel_scope.cancel()


async def allow(world: ApiHouse, *services: str) -> None:
    async with world.http("owner") as owner:
        body = {"values": {"services": list(services)}, "reach": True}
        reply = await owner.put("/api/setting-forms/push", json=body)
        assert reply.status_code == 200, reply.text
        assert reply.json()["form"]["barred"] == []


async def test_nothing_is_offered_before_the_owner_allows_a_service_and_that_lists_it_as_reachable(config, data):
    async with pushing(config, data) as (world, service), world.http("adult") as http:
        none = (await http.get(PUSH)).json()
        assert (none["services"], none["key"]) == ([], "")
        values = Browser().subscription(service.endpoint("a"))
        refused = await http.put(PUSH, json=values)
        assert refused.json()["error"]["code"] == "push_not_allowed"
        await allow(world, service.place)
        assert service.place in (data / "atlas.toml").read_text().split("[egress]")[1]
        offered = (await http.get(PUSH)).json()
        assert offered["services"] == [service.place]
        assert len(offered["key"]) == 87


async def test_a_device_asks_for_itself_tries_it_and_ends_it(config, data):
    async with pushing(config, data) as (world, service), world.http("adult") as http, world.http("teen") as other:
        await allow(world, service.place)
        browser, endpoint = Browser(), service.endpoint("mine")
        reply = (await http.put(PUSH, json=browser.subscription(endpoint, "de"))).json()
        assert (reply["service"], reply["endpoint"]) == (service.place, endpoint)
        assert (await other.get(PUSH)).json()["endpoint"] == ""
        assert (await http.post(f"{PUSH}/test", json={})).json() == {"sent": True}
        assert browser.read(service.deliveries[0].body) == {"page": "talk", "language": "de"}
        assert (await http.post(f"{PUSH}/test", json={})).status_code == 429
        assert (await http.delete(PUSH)).json()["endpoint"] == ""
        assert (await http.post(f"{PUSH}/test", json={})).status_code == 404


async def test_a_second_browser_with_the_same_token_takes_the_place_of_the_first(config, data):
    async with pushing(config, data) as (world, service), world.http("adult") as http:
        await allow(world, service.place)
        for name in ("first", "second"):
            await http.put(PUSH, json=Browser().subscription(service.endpoint(name)))
        known = await world.devices.subscriptions()
        assert [one.endpoint for _, one in known.values()] == [service.endpoint("second")]


async def test_keys_and_addresses_that_cannot_be_are_refused_and_nothing_is_stored(config, data):
    async with pushing(config, data) as (world, service), world.http("adult") as http:
        await allow(world, service.place)
        good = Browser().subscription(service.endpoint("a"))
        for wrong in (
            {"p256dh": "AAAA"},
            {"p256dh": "é"},
            {"auth": "AAAA"},
            {"auth": ""},
            {"endpoint": "https://169.254.169.254/"},
            {"endpoint": "file:///etc/passwd"},
            {"language": "de-DE"},
        ):
            reply = await http.put(PUSH, json={**good, **wrong})
            assert 400 <= reply.status_code < 500, wrong
        assert not await world.devices.subscriptions()
