"""Wake words over the API: what woke a room and what nearly did, labels, and a threshold that counts at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.config import Config, SatelliteConfig
from atlas.conversation import Actor
from atlas.speech.wake import WakeStream
from atlas.speech.wake_rooms import WakeRooms
from atlas.speech.wav import read_sound
from tests.gateway.api_house import ApiHouse, api_house
from tests.scripted_wake import ScriptedWake

URL = "/api/wake"
WAKE = ScriptedWake("hey atlas")
KITCHEN = Actor("", "kitchen-pi", "satellite", "Kitchen")


def storing(config: Config, data: Path) -> Config:
    return replace(config, data=data, speech=replace(config.speech, near_misses=True))


def heard_by(stream: WakeStream, sound: AudioChunk) -> list[str]:
    sound = silence(1) + sound + silence(1)
    chunks = (sound.cut(at, at + 320) for at in range(0, sound.samples, 320))
    return [phrase for chunk in chunks if (phrase := stream.hear(chunk))]


def kitchen_of(world: ApiHouse) -> WakeStream:
    world.house.wake = WAKE
    return world.house.hears_wake_words(KITCHEN)


async def test_a_near_miss_that_was_meant_lowers_the_threshold_and_the_same_call_wakes_the_room(
    config: Config, data: Path
) -> None:
    async with api_house(storing(config, data), data) as world, world.http() as http:
        kitchen = kitchen_of(world)
        for loudness in (0.5, 0.5, 0.5, 0.08, 0.09):
            heard_by(kitchen, WAKE.call(loudness=loudness))
        [room] = (await http.get(URL)).json()["rooms"]
        assert [round(one["score"], 2) for one in room["heard"]] == [0.09, 0.08, 0.5, 0.5, 0.5], "the newest first"
        assert room["phrases"][0]["proposal"]["reason"] == "few"
        for one in room["heard"]:
            reply = await http.post(f"{URL}/Kitchen/{one['id']}/label", json={"meant": True})
        [phrase] = reply.json()["phrases"]
        assert (phrase["labels"], phrase["threshold"], phrase["proposal"]["reason"]) == (5, 0.1, "no_better")


async def test_what_is_proposed_says_what_it_changes_and_counts_at_once_and_after_a_restart(
    config: Config, data: Path
) -> None:
    config = storing(config, data)
    async with api_house(config, data) as world, world.http() as http:
        kitchen = kitchen_of(world)
        await world.house.wakes.set_threshold("Kitchen", "hey atlas", 0.45)
        for loudness in (0.5, 0.5, 0.9, 0.9, 0.9):
            heard_by(kitchen, WAKE.call(loudness=loudness))
        [room] = (await http.get(URL)).json()["rooms"]
        for one in room["heard"]:
            label = {"meant": one["score"] > 0.6}
            room = (await http.post(f"{URL}/Kitchen/{one['id']}/label", json=label)).json()
        proposal = room["phrases"][0]["proposal"]
        assert (proposal["silenced"], proposal["heard"], proposal["lost"], proposal["disturbed"]) == (2, 0, 0, 0)
        assert 0.5 < proposal["threshold"] <= 0.55
        applied = await http.put(f"{URL}/Kitchen/thresholds/hey atlas", json={"threshold": proposal["threshold"]})
        assert applied.json() == {"at_once": False}, "no room is connected that could be told"
        assert heard_by(kitchen, WAKE.call(loudness=0.5)) == [], "the stream that listened all along goes by it"
        assert WakeRooms(data, data / "near_misses").thresholds("Kitchen") == {"hey atlas": proposal["threshold"]}
        [phrase] = (await http.get(URL)).json()["rooms"][0]["phrases"]
        assert (phrase["threshold"], phrase["tuned"]) == (proposal["threshold"], True)
        assert phrase["proposal"]["reason"] == "right"
        with world.house.wakes.present("Kitchen"):
            reset = await http.delete(f"{URL}/Kitchen/thresholds/hey atlas")
        assert reset.json() == {"at_once": True}
        assert heard_by(kitchen, WAKE.call(loudness=0.5)) == ["hey atlas"]
        [phrase] = (await http.get(URL)).json()["rooms"][0]["phrases"]
        assert (phrase["threshold"], phrase["tuned"]) == (0.1, False), "the engine's own"


async def test_an_owner_hears_what_woke_a_room_and_nobody_else_sees_any_of_it(config: Config, data: Path) -> None:
    async with api_house(storing(config, data), data) as world, world.http() as http:
        heard_by(kitchen_of(world), WAKE.call())
        [room] = (await http.get(URL)).json()["rooms"]
        [one] = room["heard"]
        assert one["sound"]
        sound = await http.get(f"{URL}/Kitchen/{one['id']}/sound")
        assert sound.headers["cache-control"] == "no-store"
        assert read_sound(sound.content, 5).samples / HEARING_RATE > 1
        async with world.http("adult") as other:
            for path in (URL, f"{URL}/Kitchen/{one['id']}/sound"):
                assert (await other.get(path)).status_code == 403
        (data / "near_misses" / "Kitchen" / f"{one['id']}.wav").unlink()
        assert not (await http.get(URL)).json()["rooms"][0]["heard"][0]["sound"]
        assert (await http.get(f"{URL}/Kitchen/{one['id']}/sound")).json()["error"]["hint"].startswith("sounds are")


async def test_what_is_not_there_and_what_is_no_threshold_is_refused(config: Config, data: Path) -> None:
    async with api_house(storing(config, data), data) as world, world.http() as http:
        heard_by(kitchen_of(world), WAKE.call())
        refusals: list[tuple[str, str, dict[str, Any], int]] = [
            ("POST", "Kitchen/20260101T000000Z/label", {"meant": True}, 404),
            ("POST", "Kitchen/..%2Fowner/label", {"meant": True}, 404),
            ("GET", "Hall/20260101T000000Z/sound", {}, 404),
            ("PUT", "Kitchen/thresholds/computer", {"threshold": 0.5}, 404),
            ("PUT", "Hall/thresholds/hey atlas", {"threshold": 0.5}, 404),
            ("PUT", "Kitchen/thresholds/hey atlas", {"threshold": 0.1}, 422),
            ("PUT", "Kitchen/thresholds/hey atlas", {"threshold": 1.0}, 422),
        ]
        for method, path, body, status in refusals:
            refused = await http.request(method, f"{URL}/{path}", json=body)
            assert refused.status_code == status, (path, refused.text)
        assert not world.house.wakes.thresholds("Kitchen")


@pytest.mark.parametrize("stored", [False, True])
async def test_a_house_says_whether_any_room_of_it_stores_what_wakes_it(
    config: Config, data: Path, *, stored: bool
) -> None:
    own = replace(config, data=data, satellite=SatelliteConfig(enabled=True, near_misses=stored))
    async with api_house(own, data) as world, world.http() as http:
        heard_by(kitchen_of(world), WAKE.call())
        assert (await http.get(URL)).json() == {"stored": stored, "fewest_labels": 5, "rooms": []}


async def test_what_wakes_a_persons_own_device_is_stored_nowhere(config: Config, data: Path) -> None:
    async with api_house(storing(config, data), data) as world, world.http() as http:
        world.house.wake = WAKE
        phone = Actor("Anna", "annas phone", "adult", "Kitchen")
        assert heard_by(world.house.hears_wake_words(phone), WAKE.call()) == ["hey atlas"]
        assert (await http.get(URL)).json()["rooms"] == []


async def test_the_threshold_of_this_machines_own_room_is_that_of_its_settings(config: Config, data: Path) -> None:
    own = replace(config, data=data, satellite=SatelliteConfig(enabled=True, room="Study", wake_threshold=0.7))
    async with api_house(own, data) as world:
        kitchen_of(world)
        assert world.house.wake_threshold("Study", "hey atlas", []) == 0.7
        assert world.house.wake_threshold("Kitchen", "hey atlas", []) == 0.1
        assert world.house.wake_threshold("Kitchen", "a word of before", []) == 0.0


async def test_a_room_with_a_stroke_in_its_name_is_heard_labelled_and_tuned(config: Config, data: Path) -> None:
    async with api_house(storing(config, data), data) as world, world.http() as http:
        world.house.wake = WAKE
        loft = world.house.hears_wake_words(Actor("", "Loft/left", "satellite"))
        heard_by(loft, WAKE.call())
        [room] = (await http.get(URL)).json()["rooms"]
        where, [one] = f"{URL}/{quote(room['room'], safe='')}", room["heard"]
        assert (await http.get(f"{where}/{one['id']}/sound")).status_code == 200
        assert (await http.post(f"{where}/{one['id']}/label", json={"meant": True})).json()["room"] == "Loft/left"
        for method, body in (("PUT", {"threshold": 0.6}), ("DELETE", None)):
            changed = await http.request(method, f"{where}/thresholds/hey atlas", json=body)
            assert changed.status_code == 200
