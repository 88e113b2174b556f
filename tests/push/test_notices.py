"""A device is told through the way out, by the service that the owner listed, as long as it holds its token."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from anyio.abc import SocketStream

from atlas.allowed_addresses import AllowedAddress
from atlas.conversation import Actor
from atlas.egress import Egress, EgressRecord
from atlas.errors import RequestError
from atlas.models.way_out import WayOut
from atlas.push.encryption import point_of, unpadded
from atlas.push.service import (
    LIVES_SECONDS,
    PATIENCE_SECONDS,
    PushSender,
    is_listed,
    open_push_key,
    place_of,
    push_client,
)
from atlas.push_notices import MOST_SENDING, Page, PushNotices
from atlas.store.devices import DeviceStore, open_devices
from tests.conftest import for_every
from tests.push.receiver import Browser, Delivery, PushService, push_service


@dataclass
class Waiting:
    """Questions that wait: by id, the device that asked."""

    by_id: dict[str, str] = field(default_factory=dict)
    news: anyio.Event = field(default_factory=anyio.Event)

    async def changes(self) -> AsyncIterator[object]:
        while True:
            await self.news.wait()
            self.news = anyio.Event()
            yield None

    async def waiting(self, viewer: Actor) -> Mapping[str, str]:
        return self.by_id if viewer.role in ("owner", "adult") else {}


@dataclass
class Away:
    """A house that can tell those who are away, a real way out of it, and a push service behind that."""

    devices: DeviceStore
    service: PushService
    notices: PushNotices
    record: Path
    connected: set[str]
    questions: Waiting
    allowed: list[str]

    async def subscribe(self, device: str, role: str = "adult", person: str = "") -> Browser:
        browser = Browser()
        await self.devices.create(device, role, person)
        values = browser.subscription(self.service.endpoint(device))
        await self.notices.subscribe(device, values["endpoint"], values["p256dh"], values["auth"], values["language"])
        return browser

    async def key(self, device: str) -> str:
        return next(iter(await self.devices.ids_of(device)), device)

    async def tell(self, page: Page, *, device: str, person: str, sender: str = "") -> None:
        device, sender = await self.key(device), await self.key(sender)
        await self.notices.tell(page, device=device, person=person, sender=sender)

    async def deliveries(self, count: int) -> list[Delivery]:
        return await anyio.to_thread.run_sync(self.service.wait, count)

    def told(self) -> list[str]:
        return sorted(one.path.removeprefix("/push/") for one in self.service.deliveries)


def _pardon_anyio() -> None:
    """Pass over anyio's own callback for a socket that becomes readable as its reader is cancelled (docs/log.md)."""
    loop = asyncio.get_running_loop()
    theirs = loop.get_exception_handler()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        late = isinstance(context.get("exception"), asyncio.InvalidStateError)
        if theirs and not (late and "set_result" in str(context["message"])):
            theirs(loop, context)

    loop.set_exception_handler(handle)


@asynccontextmanager
async def away(
    data: Path, *, is_reachable: bool = True, patience_seconds: float = PATIENCE_SECONDS
) -> AsyncIterator[Away]:
    _pardon_anyio()
    with push_service() as service:
        lines = [AllowedAddress.read(service.place)] if is_reachable else []
        way_out = Egress(lines, EgressRecord(data / "egress.jsonl"))
        connected, questions, allowed = set[str](), Waiting(), [service.place]
        async with (
            open_devices(data) as devices,
            await anyio.create_unix_listener(data / "e.sock") as listener,
            push_client(WayOut(data / "e.sock")) as client,
            anyio.create_task_group() as tasks,
        ):
            sender = PushSender(open_push_key(data / "push.key"), client, patience_seconds=patience_seconds)

            def is_connected(device: str, person: str) -> bool:
                return device in connected or (person != "" and person in connected)

            notices = PushNotices(devices, sender, lambda: allowed, is_connected, questions, 0.3)
            tasks.start_soon(listener.serve, way_out.serve)
            tasks.start_soon(notices.run)
            yield Away(devices, service, notices, data / "egress.jsonl", connected, questions, allowed)
            tasks.cancel_scope.cancel()


async def test_what_leaves_is_sealed_signed_and_written_down_and_says_nothing(data: Path) -> None:
    async with away(data) as house:
        browser = await house.subscribe("phone", person="Anna")
        await house.tell("time", device="", person="Anna")
        (delivery,) = await house.deliveries(1)
        assert browser.read(delivery.body) == {"page": "time", "language": "en"}
        claims = delivery.signer(house.notices.public)
        assert claims["sub"] == "mailto:nobody@example.org"
        names = ("content-encoding", "ttl", "urgency")
        assert [delivery.headers[name] for name in names] == ["aes128gcm", str(LIVES_SECONDS), "high"]
        assert not [name for name in delivery.headers if "anna" in delivery.headers[name].lower()]
    rows = [json.loads(line) for line in house.record.read_text().splitlines()]
    assert {(row["event"], row["host"], row["port"]) for row in rows} >= {("opened", "127.0.0.1", house.service.port)}


async def test_a_message_a_ring_and_a_question_look_alike_to_the_service(data: Path) -> None:
    async with away(data) as house:
        for page, name in (("time", "one"), ("messages", "two"), ("talk", "three")):
            await house.subscribe(name)
            await house.tell(page, device=name, person="")  # type: ignore[arg-type]
        sizes = {len(one.body) for one in await house.deliveries(3)}
        assert len(sizes) == 1


async def test_while_the_owner_lists_no_service_nothing_is_sent_and_nobody_can_ask_for_it(data: Path) -> None:
    async with away(data) as house:
        await house.subscribe("phone")
        house.allowed.clear()
        assert not await house.notices.anybody()
        await house.tell("time", device="phone", person="")
        with pytest.raises(RequestError, match="nothing may leave"):
            await house.subscribe("tablet")
    assert house.told() == []


async def test_what_the_way_out_does_not_list_is_not_reached(data: Path) -> None:
    async with away(data, is_reachable=False) as house:
        await house.subscribe("phone")
        assert await house.notices.try_one("phone") == "failed"
    assert house.told() == []


async def test_a_service_whose_answer_drips_in_is_given_up_and_its_way_out_let_go(data: Path) -> None:
    async with away(data, patience_seconds=0.5) as house:
        await house.subscribe("phone")
        house.service.dripping.add("/push/phone")
        with anyio.fail_after(20):
            assert await house.notices.try_one("phone") == "failed"
        assert await anyio.to_thread.run_sync(house.service.given_up.wait, 20)
    assert house.told() == ["phone"]


async def test_a_tunnel_that_does_not_open_is_let_go_with_the_message(data: Path) -> None:
    closed = anyio.Event()

    async def say_nothing(stream: SocketStream) -> None:
        with suppress(anyio.EndOfStream):
            while True:
                await stream.receive()
        closed.set()

    browser = Browser()
    async with (
        await anyio.create_unix_listener(data / "e.sock") as listener,
        push_client(WayOut(data / "e.sock")) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, say_nothing)
        sender = PushSender(open_push_key(data / "push.key"), client, patience_seconds=0.2)
        public = point_of(browser.key.public_key())
        assert await sender.send("https://push.example.org/x", public, browser.auth, b"{}") == "failed"
        with anyio.fail_after(20):
            await closed.wait()
        tasks.cancel_scope.cancel()


async def test_a_device_has_one_message_on_its_way_and_one_that_waits_however_often_it_is_told(data: Path) -> None:
    async with away(data) as house:
        for device in ("phone", "tablet"):
            await house.subscribe(device)
        house.service.hold("phone")
        await house.tell("time", device="phone", person="")
        await house.deliveries(1)
        for count in (2, 3):
            for _ in range(20):
                await house.tell("time", device="phone", person="")
            await house.tell("time", device="tablet", person="")
            await house.deliveries(count)
        assert house.told() == ["phone", "tablet", "tablet"]
        house.service.let_go()
        await house.deliveries(4)
        await house.tell("time", device="tablet", person="")
        await house.deliveries(5)
    assert house.told() == ["phone", "phone", "tablet", "tablet", "tablet"]


async def test_who_tries_it_waits_for_the_end_of_the_trial_before(data: Path) -> None:
    async with away(data) as house, anyio.create_task_group() as tasks:
        for device in ("phone", "tablet"):
            await house.subscribe(device)
        house.service.hold("phone")
        tasks.start_soon(house.notices.try_one, "phone")
        await house.deliveries(1)
        for count in (2, 3):  # by then it might be told again
            await house.tell("time", device="tablet", person="")
            await house.deliveries(count)
        with pytest.raises(RequestError, match="just now"):
            await house.notices.try_one("phone")
        house.service.let_go()


async def test_no_more_than_so_many_messages_take_the_way_out_at_once(data: Path) -> None:
    names = [f"phone{number}" for number in range(MOST_SENDING + 3)]
    async with away(data) as house:
        for name in names:
            await house.subscribe(name)
        house.service.hold(*names)
        for name in names:
            await house.tell("time", device=name, person="")
        for count in range(len(names) - MOST_SENDING):
            await house.deliveries(count + MOST_SENDING)
            house.service.let_go(house.service.deliveries[count].path.removeprefix("/push/"))
        await house.deliveries(len(names))
        house.service.let_go()
        assert house.service.busiest == MOST_SENDING
    assert house.told() == sorted(names)


@pytest.mark.parametrize("end", [DeviceStore.revoke, DeviceStore.unsubscribe])
async def test_what_waits_for_a_device_is_not_sent_once_it_may_not_be_told(
    data: Path, end: Callable[[DeviceStore, str], Awaitable[bool]]
) -> None:
    async with away(data) as house:
        for device in ("phone", "tablet"):
            await house.subscribe(device)
        house.service.hold("phone")
        await house.tell("time", device="phone", person="")
        await house.deliveries(1)
        await house.tell("time", device="phone", person="")
        await end(house.devices, "phone")
        house.service.let_go()
        for count in (2, 3):  # by then the other would have come
            await house.tell("time", device="tablet", person="")
            await house.deliveries(count)
    assert house.told() == ["phone", "tablet", "tablet"]


async def test_the_end_of_a_token_is_the_end_of_its_subscription(data: Path) -> None:
    async with away(data) as house:
        await house.subscribe("phone", person="Anna")
        await house.devices.revoke("phone")
        assert not await house.notices.anybody()
        await house.devices.create(
            "phone", "adult", "Anna", same_person=True
        )  # another phone of that name has asked for nothing
        assert not await house.notices.anybody()
        await house.tell("time", device="phone", person="Anna")
    assert house.told() == []


@pytest.mark.parametrize(("status", "stays"), [(410, False), (404, False), (503, True)])
async def test_an_address_that_is_gone_is_forgotten_and_one_that_is_busy_is_not(
    data: Path, status: int, stays: bool
) -> None:
    async with away(data) as house:
        await house.subscribe("phone")
        house.service.answers["/push/phone"] = status
        await house.notices.try_one("phone")
        assert await house.notices.anybody() is stays


async def test_those_are_told_for_whom_it_is_and_for_what_is_nobodys_who_lives_here(data: Path) -> None:
    async with away(data) as house:
        for device, role, person in (("a", "adult", "Anna"), ("b", "adult", "Ben"), ("c", "child", "Cleo")):
            await house.subscribe(device, role, person)
        await house.tell("time", device="", person="Anna")
        await house.deliveries(1)
        assert house.told() == ["a"]
        await house.tell("messages", device="", person="", sender="b")
        await house.deliveries(2)
        assert house.told() == ["a", "c"]  # b left it, and a was told a moment ago …
        await house.deliveries(3)
        assert house.told() == ["a", "a", "c"]  # … and is told again a little later


async def test_a_question_is_told_once_to_those_who_may_answer_and_only_where_nobody_is_there(data: Path) -> None:
    async with away(data) as house:
        for device, role in (("adult", "adult"), ("child", "child"), ("present", "adult")):
            await house.subscribe(device, role)
        house.connected |= {await house.key("present"), "kitchen"}
        house.questions.by_id |= {"ask_1": "kitchen"}  # whoever asked there is there
        house.questions.news.set()
        house.questions.by_id |= {"ask_2": "a program"}
        house.questions.news.set()
        await house.deliveries(1)
        house.questions.news.set()
        assert house.told() == ["adult"]


@for_every(
    "endpoint",
    [
        "http://push.example.org/x",
        "ftp://push.example.org/x",
        "https://user@push.example.org/x",
        "https://push.example.org/x#y",
        "https:///x",
        "https://push.example.org:99999/",
        "https://[push/",
        "https://push.example.org/" + "x" * 1000,
        "https://push.example.org/\n",
        "https://püsh.example.org/",
        "http://93.184.216.34/x",
        "http://169.254.7.7/x",
        "http://[fe80::1]/x",
        "http://[::ffff:169.254.7.7]/x",
        "https://evil%2f.push.example.org/x",
        "https://evil\\.push.example.org/x",
        "https://evil;.push.example.org/x",
        "https://evil_.push.example.org/x",
        "https://[fe80::1%25.push.example.org]/x",
        "https://.push.example.org/x",
    ],
)
def test_an_address_that_no_service_has_is_refused(endpoint: str) -> None:
    with pytest.raises(RequestError):
        place_of(endpoint)


def test_a_service_is_listed_by_name_and_port_or_by_a_star_for_what_is_below_a_name() -> None:
    lines = ["Push.example.org:443", "*.notify.example.net:443"]
    assert is_listed(place_of("https://push.example.org/abc"), lines)
    assert is_listed(place_of("https://am3p.notify.example.net/abc"), lines)
    assert not is_listed(place_of("https://notify.example.net/abc"), lines)
    assert not is_listed(place_of("https://push.example.org:8443/abc"), lines)
    assert not is_listed(place_of("https://evilpush.example.org/abc"), lines)


def test_the_key_of_the_house_is_made_once_and_only_its_owner_may_read_it(data: Path) -> None:
    first, second = (open_push_key(data / "secrets" / "push.key") for _ in range(2))
    assert first.private_numbers() == second.private_numbers()
    assert (data / "secrets" / "push.key").stat().st_mode & 0o777 == 0o600


def test_base64_of_the_web_has_no_padding() -> None:
    assert unpadded(b"\xff\xfe") == "__4"
