"""Who speaks in a room is known by voice, of those who recorded theirs; a voice gives nobody a right."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas.conversation import Actor, Turn
from atlas.errors import RequestError
from atlas.speaker_identification import FOLLOWING_SECONDS, SpeakerIdentification, voice_of
from atlas.store.devices import DeviceStore, open_devices
from atlas.store.recall import belonging_to
from atlas.store.voiceprints import MOST_VOICEPRINTS, VoiceprintStore, open_voiceprints
from tests.conftest import virtual_time
from tests.directions import Directions, at
from tests.scripted_vad import voice

KITCHEN = Actor("", "kitchen-pi", "satellite", "kitchen")


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


@dataclass
class World:
    voices: SpeakerIdentification
    store: VoiceprintStore
    devices: DeviceStore
    encoder: Directions
    tokens: dict[str, str] = field(default_factory=dict)

    async def heard(self, degrees: int, actor: Actor = KITCHEN, **fields: Any) -> Actor:
        turn = Turn("turn_1", "what's on my list", actor, 0.0, channel="voice", sound=voice(degrees / 100))
        return (await self.voices.identified(replace(turn, **fields))).actor


@pytest.fixture
async def world(data: Path) -> AsyncIterator[World]:
    """Anna and Ben are adults, Tom a child, Olga the owner; their voices lie 60 degrees apart."""
    async with open_devices(data) as devices, open_voiceprints(data) as store:
        for name, role, direction in (
            ("Anna", "adult", 60),
            ("Ben", "adult", 120),
            ("Tom", "child", 180),
            ("Olga", "owner", 240),
        ):
            await devices.create(f"{name}s phone", role, name)
            await store.put(name, at(direction), 5)
        encoder: Any = Directions()
        yield World(SpeakerIdentification(encoder, store, devices.list), store, devices, encoder)


async def test_a_room_knows_by_voice_who_speaks_and_lends_them_only_a_name(world: World) -> None:
    assert await world.heard(70) == replace(KITCHEN, person="Anna")
    assert (await world.heard(115)).person == "Ben"


async def test_a_voice_that_is_nobodys_or_anybodys_is_the_rooms(world: World) -> None:
    assert await world.heard(330) == KITCHEN
    assert await world.heard(90) == KITCHEN  # between two
    assert await world.heard(60, channel="chat") == KITCHEN
    assert await world.heard(60, sound=None) == KITCHEN


@pytest.mark.parametrize(
    "actor",
    [
        Actor("Ben", "bens-phone", "adult", "kitchen"),
        Actor("", "tablet", "adult", "kitchen"),
        Actor("", "study", "owner", "study"),
        Actor("", "guest-phone", "guest", "kitchen"),
        Actor("", "speaker", "satellite"),
    ],
)
async def test_a_device_that_is_no_room_or_somebodys_own_stays_what_it_is(world: World, actor: Actor) -> None:
    assert await world.heard(60, actor) == actor


async def test_an_owners_name_weighs_too_much_for_a_voice(world: World) -> None:
    assert await world.heard(240) == KITCHEN
    await world.devices.create("annas laptop", "owner", "Anna", same_person=True)
    assert await world.heard(60) == KITCHEN


async def test_what_is_too_short_to_tell_belongs_to_the_sentence_before_it(world: World) -> None:
    assert (await world.heard(60)).person == "Anna"
    world.encoder.too_short = 0.3
    assert (await world.heard(20)).person == "Anna"
    await anyio.sleep(FOLLOWING_SECONDS + 1)
    assert (await world.heard(20)).person == ""
    assert (await world.heard(20, replace(KITCHEN, device="attic-pi"))).person == ""


async def test_somebody_else_who_speaks_next_is_not_taken_for_who_spoke_before(world: World) -> None:
    assert (await world.heard(60)).person == "Anna"
    assert (await world.heard(330)).person == ""
    world.encoder.too_short = 0.3
    assert (await world.heard(20)).person == ""


async def test_whose_voice_was_deleted_or_who_left_the_house_is_not_known_any_more(world: World) -> None:
    assert await world.store.forget("anna")
    assert await world.heard(45) == KITCHEN
    assert await world.devices.revoke("Bens phone")
    assert await world.heard(120) == KITCHEN


async def test_of_a_deleted_voice_no_byte_is_left(world: World, data: Path) -> None:
    def is_on_disk() -> bool:
        return any(at(60).tobytes() in file.read_bytes() for file in data.glob("voices.db*"))

    assert is_on_disk()
    await world.store.forget("Anna")
    assert not is_on_disk()
    assert [one.person for one in await world.store.list()] == ["Ben", "Olga", "Tom"]


async def test_a_profile_is_of_one_voice_alone(world: World) -> None:
    encoder: Any = world.encoder
    made = await voice_of(encoder, [voice(0.6), voice(0.62), voice(0.64)])
    assert made == pytest.approx(at(62), abs=0.01)
    with pytest.raises(RequestError, match="sentence 3 does not sound"):
        await voice_of(encoder, [voice(0.6), voice(0.62), voice(1.8)])
    world.encoder.too_short = 0.61
    with pytest.raises(RequestError, match="sentence 1 is too short"):
        await voice_of(encoder, [voice(0.6), voice(0.62), voice(0.64)])


def test_a_voice_opens_what_was_said_in_this_room_and_not_what_was_said_elsewhere() -> None:
    assert belonging_to("family", replace(KITCHEN, person="Anna")).room == "kitchen"
    assert belonging_to("family", Actor("Anna", "annas-phone", "adult")).room is None


async def test_in_a_house_full_of_voices_a_person_may_record_anew_however_the_name_is_written(data: Path) -> None:
    async with open_voiceprints(data) as store:
        for number in range(MOST_VOICEPRINTS):
            await store.put("Anna" + "a" * number, at(60), 5)
        assert (await store.put("anna", at(90), 5)).person == "anna"
        assert len(await store.list()) == MOST_VOICEPRINTS


async def test_a_person_has_one_voiceprint_however_the_name_is_written(data: Path) -> None:
    async with open_voiceprints(data) as store:
        await store.put("Jörg", at(60), 5)
        await store.put("JÖRG", at(120), 6)
        assert [(one.person, one.sentences) for one in await store.list()] == [("JÖRG", 6)]
        assert await store.forget("jörg")
        assert not await store.forget("Jörg")
        assert await store.list() == ()
