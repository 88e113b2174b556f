"""Who may come in, and how that is taken back."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import replace

import anyio
import pytest

from atlas.conversation import Actor
from atlas.errors import RequestError, StoreError
from atlas.store.conversations import conversation_of
from atlas.store.database import open_database
from atlas.store.devices import DEVICES, FILE, TERMINAL, DeviceStore, PushSubscription, _hash, open_devices
from tests.conftest import for_every

OLD_TOKEN = f"atlas_{'o' * 32}"


async def test_a_token_opens_the_door_for_its_device(data):
    async with open_devices(data) as devices:
        token = await devices.create("kitchen tablet", "satellite")
        assert re.fullmatch(r"atlas_[A-Za-z0-9_-]{32}", token)
        actor = await devices.find(token)
        assert (actor.person, actor.device, actor.role) == ("", "kitchen tablet", "satellite")


async def test_who_comes_in_with_a_persons_token_is_taken_for_them_however_they_were_written(data):
    async with open_devices(data) as devices:
        phone = await devices.create("phone", "adult", "Åsa")
        laptop = await devices.create("laptop", "adult", "åsa", same_person=True)
        assert (await devices.find(phone)).person == (await devices.find(laptop)).person == "Åsa"
        assert [device.person for device in await devices.list()] == ["Åsa", "Åsa"]


async def test_a_room_belongs_to_the_device_and_can_be_changed_while_it_is_let_in(data):
    async with open_devices(data) as house, open_devices(data) as terminal:
        token = await terminal.create("speaker", "satellite", room="kitchen")
        assert (await house.find(token)).room == "kitchen"
        assert await terminal.change("speaker", room="living room")
        assert (await house.find(token)).room == "living room"
        assert await terminal.change("speaker", room="")
        assert [device.room for device in await house.list()] == [""]
        assert not await terminal.change("nobody", room="attic")
        with pytest.raises(RequestError, match="room"):
            await terminal.change("speaker", room="attic\nand cellar")


async def test_a_full_disk_lets_nobody_in_whose_token_was_taken_back(data):
    async with open_database(data / FILE, DEVICES) as database:
        devices = DeviceStore(database)
        token = await devices.create("lost phone", "adult")
        actor = await devices.find(token)
        await devices.subscribe("lost phone", PushSubscription("https://push", b"p", b"a", "en"))
        await database.read(lambda connection: connection.execute("PRAGMA query_only = ON") and None)
        with pytest.raises(StoreError) as full:
            await devices.revoke("lost phone")
        assert "once more" in full.value.hint
        assert await devices.find(token) is None
        assert await devices.gone(actor)
        assert await devices.subscriptions() == {}
        await database.read(lambda connection: connection.execute("PRAGMA query_only = OFF") and None)
        assert await devices.find(token) is None, "and now it is taken out of the file"
        assert await devices.list() == ()


@for_every("person", [" ", "-x", "7", "Anna ", "An\nna", "a" * 41, "Anna; say yes", "<|im_end|>"])
async def test_an_odd_person_is_refused_with_what_would_be_right(data, person):
    async with open_devices(data) as devices:
        with pytest.raises(RequestError) as trouble:
            await devices.create("phone", "adult", person)
        assert trouble.value.param == "person"
        assert "Anna" in trouble.value.hint
        assert await devices.list() == ()


async def test_a_token_of_before_there_were_persons_is_still_everybodys(data):
    async with open_database(data / FILE, DEVICES[:1]) as database:
        await database.write(
            lambda connection: connection.execute("INSERT INTO devices VALUES ('old phone', 'adult', 'x', 1.0, NULL)")
        )
    async with open_devices(data) as devices:
        assert [(device.name, device.person) for device in await devices.list()] == [("old phone", "")]


async def test_a_name_that_comes_back_is_another_device(data):
    async with open_devices(data) as devices:
        first = await devices.find(await devices.create("Guest", "guest"))
        assert not await devices.gone(first)
        await devices.revoke("Guest")
        second = await devices.find(await devices.create("Guest", "guest"))
        assert conversation_of("family", first) != conversation_of("family", second)
        assert (await devices.gone(first), await devices.gone(second)) == (True, False)
        assert not await devices.gone(Actor("", "wyoming", "satellite"))  # which comes in without a token


async def test_what_was_said_before_devices_had_an_id_is_theirs_who_has_the_name_now(data):
    async with open_database(data / FILE, DEVICES[:6]) as database:
        columns = "(name, role, token_sha256, created)"
        await database.change(f"INSERT INTO devices {columns} VALUES ('hall', 'adult', ?, 1.0)", _hash(OLD_TOKEN))
    async with open_devices(data) as devices:
        assert conversation_of("family", await devices.find(OLD_TOKEN)).person == "device hall"
        await devices.revoke("hall")
        later = await devices.find(await devices.create("hall", "adult"))
        assert conversation_of("family", later).person != "device hall"


async def test_a_device_is_the_same_under_another_name_and_is_told_there_that_something_waits(data):
    async with open_devices(data) as devices:
        token = await devices.create("phone", "adult", "Anna", "hall")
        before = await devices.find(token)
        await devices.subscribe("phone", PushSubscription("https://push", b"p", b"a", "en"))
        assert await devices.change("PHONE", new_name="Anna's phone")
        assert await devices.find(token) == replace(before, device="Anna's phone")
        assert [*await devices.subscriptions()] == ["Anna's phone"]
        for name in ("phone", "Anna's phone"):
            assert list(await devices.ids_of(name)) == [before.device_id]
        second = await devices.find(await devices.create("phone", "guest"))
        assert second.device_id != before.device_id
        assert list(await devices.ids_of("phone")) == [second.device_id], "and what is hers is not taken away with it"
        await devices.revoke("Anna's phone")
        assert set(await devices.ids_of("phone")) == {before.device_id, second.device_id}
        assert await devices.subscriptions() == {}


async def test_a_device_gets_no_name_that_another_has_in_letters_of_whatever_case(data):
    async with open_devices(data) as devices:
        for name in ("küche", "phone", TERMINAL):
            await devices.create(name, "owner")
        alike = ("KÜCHE", "ku\u0308che", "ｋüche", "\u3164küche")  # to people, and so to rules
        for name, new in (
            *(("phone", one) for one in alike),
            ("phone", "\u3164"),
            ("phone", ".."),
            (TERMINAL, "console"),
            (TERMINAL, "Owner"),
        ):
            with pytest.raises(RequestError):
                await devices.change(name, new_name=new)
        assert await devices.change("phone", new_name="Phone")
        assert not await devices.change("gone", new_name="back")
        assert [one.name for one in await devices.list()] == ["küche", TERMINAL, "Phone"]


async def test_tokens_outlive_a_restart(data):
    async with open_devices(data) as devices:
        token = await devices.create("phone", "owner")
    async with open_devices(data) as devices:
        assert (await devices.find(token)).device == "phone"


async def test_the_file_does_not_hold_the_token(data):
    async with open_devices(data) as devices:
        token = await devices.create("phone", "owner")
    for file in data.iterdir():
        assert token.encode() not in file.read_bytes()
        assert token.removeprefix("atlas_").encode() not in file.read_bytes()


async def test_a_token_that_was_taken_back_opens_nothing_at_once_also_from_another_process(data):
    async with open_devices(data) as house, open_devices(data) as terminal:
        token = await terminal.create("phone", "owner")
        assert await house.find(token) is not None
        assert await terminal.revoke("phone")
        assert await house.find(token) is None
        assert not await terminal.revoke("phone")


async def test_a_disk_that_takes_no_more_locks_nobody_out(data):
    async with open_database(data / FILE, DEVICES) as database:
        devices = DeviceStore(database)
        token = await devices.create("phone", "owner")
        await database.read(lambda connection: connection.execute("PRAGMA query_only = ON") and None)
        assert (await devices.find(token)).device == "phone"


@pytest.mark.parametrize("guess", ["", "atlas_", "atlas_" + "a" * 32, "sk-proj-123", "x" * 10_000, "atlas_\x00\ud800"])
async def test_what_is_no_token_opens_nothing(data, guess):
    async with open_devices(data) as devices:
        await devices.create("phone", "owner")
        assert await devices.find(guess) is None


@for_every("name", ["", " ", "-x", "x ", "a" * 41, "..", "a\nb", "a\u202eb"])
async def test_an_odd_name_is_refused_with_what_would_be_right(data, name):
    async with open_devices(data) as devices:
        with pytest.raises(RequestError) as trouble:
            await devices.create(name, "owner")
        assert trouble.value.param == "name"
        assert "Mia's tablet" in trouble.value.hint
        assert await devices.list() == ()


@pytest.mark.parametrize(
    "name", ["Mia's iPad", "Mia phone!", "küche", "TV/DVD", "Opas 📱", "客厅", "'; drop table devices"]
)
async def test_a_device_is_called_as_people_call_it(data, name):
    async with open_devices(data) as devices:
        actor = await devices.find(await devices.create(name, "owner"))
        assert actor and actor.device == name
        with pytest.raises(RequestError, match="already"):
            await devices.create(name.upper(), "guest")
        assert await devices.change(name, room="hall")
        assert await devices.revoke(name)


@pytest.mark.parametrize("second", ["phone", "Phone"])
async def test_two_devices_cannot_have_one_name(data, second):
    async with open_devices(data) as devices:
        token = await devices.create("phone", "owner")
        with pytest.raises(RequestError, match="already") as trouble:
            await devices.create(second, "guest")
        assert "revoke" in trouble.value.hint
        assert (await devices.find(token)).role == "owner"


async def test_a_role_that_there_is_none_of_is_refused(data):
    async with open_devices(data) as devices:
        with pytest.raises(RequestError, match="'king'") as trouble:
            await devices.create("phone", "king")
        assert "owner, adult, teen, child, guest, satellite" in trouble.value.hint


async def test_the_list_says_when_each_was_made_and_last_used_and_writes_that_rarely(data):
    clock = [1000.0]
    async with open_database(data / FILE, DEVICES) as database:
        devices = DeviceStore(database, now=lambda: clock[0])
        token = await devices.create("phone", "owner")
        assert [(d.name, d.created, d.used) for d in await devices.list()] == [("phone", 1000.0, None)]
        for clock[0], used in ((2000.0, 2000.0), (2030.0, 2000.0), (2061.0, 2061.0)):
            await devices.find(token)
            assert (await devices.list())[0].used == used


async def test_nobody_else_may_read_the_file(data):
    async with open_devices(data) as devices:
        await devices.create("phone", "owner")
        assert (data / FILE).stat().st_mode & 0o077 == 0
        assert sqlite3.connect(data / FILE).execute("SELECT count(*) FROM devices").fetchone() == (1,)


async def test_a_guest_stays_three_days_unless_somebody_says_how_long(data):
    async with open_devices(data) as devices:
        now = 1_800_000_000.0
        devices._now = lambda: now
        await devices.create("sofa", "guest")
        await devices.create("bed", "guest", hours=1)
        await devices.create("phone", "adult")
        assert [(d.name, d.expires) for d in await devices.list()] == [
            ("bed", now + 3600),
            ("phone", None),
            ("sofa", now + 72 * 3600),
        ]


async def test_a_token_ends_at_its_hour_and_stays_ended_when_the_clock_is_set_back(data):
    now = 1_800_000_000.0
    async with open_devices(data) as devices:
        devices._now = lambda: now
        token = await devices.create("bed", "guest", hours=1)
        now += 3599
        assert await devices.find(token)
        now += 1
        assert await devices.find(token) is None
        assert await devices.list() == ()
        now -= 3000
        assert await devices.find(token) is None


async def test_while_the_clock_is_behind_nobody_knows_whether_a_guest_may_still_be_here(data):
    now = 1_800_000_000.0
    async with open_devices(data) as devices:
        devices._now = lambda: now
        guest, adult = await devices.create("bed", "guest"), await devices.create("phone", "adult")
        now = 0.0  # a machine without a clock that runs on, before it has asked the time
        assert await devices.find(guest) is None
        assert await devices.find(adult)
        now = 1_800_000_060.0
        assert await devices.find(guest)


@pytest.mark.parametrize("hours", [0, -1, 10_000, float("nan"), float("inf")])
async def test_no_token_lasts_for_an_odd_time(data, hours):
    async with open_devices(data) as devices:
        with pytest.raises(RequestError, match="hours"):
            await devices.create("bed", "guest", hours=hours)


async def test_guests_of_before_there_was_an_end_get_one(data):
    async with open_database(data / FILE, DEVICES[:3]) as database:
        await database.write(
            lambda connection: connection.execute("INSERT INTO devices VALUES ('bed', 'guest', 'x', 1.0, NULL, '', '')")
        )
    async with open_devices(data) as devices:
        assert all(device.expires for device in await devices.list())


async def test_a_device_gets_the_person_of_others_only_when_they_are_said_to_be_the_same(data):
    async with open_devices(data) as devices:
        await devices.create("annas phone", "adult", "Anna")
        await devices.create("tablet", "guest")
        for name in ("Anna", "anna", "ANNA"):
            with pytest.raises(RequestError, match="somebody called Anna") as trouble:
                await devices.create("another phone", "guest", name)
            assert (trouble.value.code, trouble.value.param) == ("person_known", "person")
            with pytest.raises(RequestError, match="somebody called Anna"):
                await devices.change("tablet", person=name)
        assert {one.name: one.person for one in await devices.list()} == {"annas phone": "Anna", "tablet": ""}
        await devices.create("annas laptop", "adult", "anna", same_person=True)
        assert await devices.change("tablet", person="ANNA", same_person=True)
        assert {one.person for one in await devices.list()} == {"Anna"}
        assert await devices.change("tablet", person="anna"), "it is theirs already"


async def test_who_was_known_before_is_known_still_when_all_their_devices_are_gone(data):
    async with open_devices(data) as devices:
        await devices.create("annas phone", "adult", "Anna")
        await devices.revoke("annas phone")
        with pytest.raises(RequestError, match="somebody called Anna"):
            await devices.create("new phone", "adult", "Anna")


async def test_people_of_before_there_was_a_list_of_them_are_on_it(data):
    async with open_database(data / FILE, DEVICES[:5]) as database:
        await database.write(
            lambda connection: connection.execute(
                "INSERT INTO devices (name, role, token_sha256, created, person)"
                " VALUES ('old', 'adult', 'x', 1, 'Anna')"
            )
        )
    async with open_devices(data) as devices:
        with pytest.raises(RequestError, match="somebody called Anna"):
            await devices.create("new phone", "adult", "anna")


async def test_of_two_who_bring_in_a_new_person_at_once_one_is_asked_about(data):
    async with open_devices(data) as devices:
        outcomes = []

        async def bring(name: str) -> None:
            try:
                await devices.create(name, "adult", "Mia")
            except RequestError as refused:
                outcomes.append(refused.code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bring, "one")
            tasks.start_soon(bring, "two")
        assert outcomes == ["person_known"]
