"""Voices over the API: recorded by their person, deleted by them or an owner; at the gate they weigh nothing."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from atlas.audio import HEARING_RATE
from atlas.conversation import Actor, Turn
from atlas.events import Event
from atlas.speaker_identification import SpeakerIdentification
from atlas.speech.wav import wav_header
from atlas.store.voiceprints import open_voiceprints
from tests.directions import Directions
from tests.gateway.api_house import ApiHouse, api_house
from tests.scripted_vad import voice

URL = "/api/voices"
KITCHEN = Actor("", "kitchen-pi", "satellite", "Kitchen")


@dataclass
class VoicesHouse:
    """The house, and clients of Anna's phone and Olga's, who owns it."""

    world: ApiHouse
    anna: Any
    olga: Any


@asynccontextmanager
async def voices_house(config: Any, data: Any) -> AsyncIterator[VoicesHouse]:
    async with api_house(config, data) as world, open_voiceprints(data) as store:
        encoder: Any = Directions(too_short=0.1)
        world.house.speaker_identification = SpeakerIdentification(encoder, store, world.devices.list)
        anna = world.http(token=await world.devices.create("annas phone", "adult", "Anna"))
        olga = world.http(token=await world.devices.create("olgas phone", "owner", "Olga"))
        async with anna, olga:
            yield VoicesHouse(world, anna, olga)


def sounds(*degrees: int) -> dict[str, Any]:
    recorded = [voice(one / 100) for one in degrees]
    wavs = [wav_header(HEARING_RATE, sound.samples) + sound.pcm for sound in recorded]
    return {"sounds": [base64.b64encode(wav).decode() for wav in wavs]}


async def test_people_record_and_delete_their_voice_and_see_nobody_elses(config: Any, data: Any) -> None:
    async with voices_house(config, data) as house:
        before = (await house.anna.get(URL)).json()
        assert before == {"enabled": True, "sentences": 5, "named": True, "voices": []}
        made = await house.anna.post(URL, json=sounds(60, 60, 62, 58, 60))
        assert (made.status_code, made.json()["person"], made.json()["sentences"]) == (201, "Anna", 5)
        [known] = (await house.anna.get(URL)).json()["voices"]
        assert set(known) == {"person", "sentences", "recorded", "mine"}  # and no voiceprint
        async with house.world.http("teen") as stranger:
            assert (await stranger.get(URL)).json()["voices"] == []
            assert (await stranger.delete(f"{URL}/Anna")).status_code == 404
        assert (await house.anna.delete(f"{URL}/anna")).status_code == 204
        assert (await house.anna.get(URL)).json()["voices"] == []


async def test_sentences_are_taken_as_long_as_phones_record_them_without_compression(config: Any, data: Any) -> None:
    async with voices_house(config, data) as house:
        five_seconds = sounds(500, 500, 500, 500, 500)
        assert (await house.anna.post(URL, json=five_seconds)).status_code == 201


async def test_an_owner_sees_and_deletes_every_voice(config: Any, data: Any) -> None:
    async with voices_house(config, data) as house:
        await house.anna.post(URL, json=sounds(60, 60, 60, 60, 60))
        listed = (await house.olga.get(URL)).json()
        assert [(one["person"], one["mine"]) for one in listed["voices"]] == [("Anna", False)]
        assert not listed["named"]
        assert (await house.olga.delete(f"{URL}/Anna")).status_code == 204


@pytest.mark.parametrize(
    ("recorded", "code"),
    [
        (sounds(60, 60, 60, 60), "invalid_value"),
        (sounds(60, 60, 60, 60, 200), "voice_unlike"),
        (sounds(60, 60, 60, 60, 5), "voice_too_short"),
        ({"sounds": ["no base64!"] * 5}, "invalid_value"),
    ],
)
async def test_too_little_two_voices_and_no_sound_make_no_profile(
    config: Any, data: Any, recorded: dict[str, Any], code: str
) -> None:
    async with voices_house(config, data) as house:
        refused = await house.anna.post(URL, json=recorded)
        assert 400 <= refused.status_code < 500
        assert (await house.anna.get(URL)).json()["voices"] == []
        assert refused.json()["error"]["code"] == code


async def test_a_device_of_nobody_records_no_voice(config: Any, data: Any) -> None:
    async with voices_house(config, data) as house, house.world.http("adult") as shared:
        assert (await shared.post(URL, json=sounds(60, 60, 60, 60, 60))).json()["error"]["code"] == "no_person"


async def test_a_house_that_knows_nobody_by_voice_any_more_shows_and_deletes_what_it_stored(
    config: Any, data: Any
) -> None:
    async with voices_house(config, data) as house:
        await house.anna.post(URL, json=sounds(60, 60, 60, 60, 60))
        house.world.house.speaker_identification.encoder = None
        listed = (await house.anna.get(URL)).json()
        assert (listed["enabled"], [one["person"] for one in listed["voices"]]) == (False, ["Anna"])
        assert (await house.anna.post(URL, json=sounds(60, 60, 60, 60, 60))).status_code == 404
        assert (await house.anna.delete(f"{URL}/Anna")).status_code == 204
        assert (await house.anna.get(URL)).json()["voices"] == []


async def test_what_is_said_in_a_room_is_the_persons_and_says_so_of_the_turn(config: Any, data: Any) -> None:
    async with voices_house(config, data) as house:
        await house.anna.post(URL, json=sounds(60, 60, 60, 60, 60))

        async def emit(event: Event) -> None: ...

        turn = Turn("turn_1", "what is new", KITCHEN, 1.0, spoken=False, channel="voice", sound=voice(0.62))
        await house.world.house.reply(turn, emit)
        assert house.world.chat.turns[-1].actor == Actor("Anna", "kitchen-pi", "satellite", "Kitchen")
        [kept] = (await house.anna.get("/api/conversations/turns")).json()["turns"]
        assert kept["readings"]["voice"] == "Anna"
        turns = (await house.olga.get("/api/turns")).json()["turns"]
        assert {"voice_ms", "voice_at_ms"} <= set(turns[0]["timings"])


async def test_at_the_gate_a_recording_or_an_imitation_gets_what_anybody_in_that_room_gets(
    config: Any, data: Any
) -> None:
    async with voices_house(config, data) as house:
        await house.anna.post(URL, json=sounds(60, 60, 60, 60, 60))
        heard = Turn("turn_1", "…", KITCHEN, 1.0, channel="voice", sound=voice(0.60))
        by_voice = (await house.world.house.speaker_identification.identified(heard)).actor
        assert by_voice.person == "Anna"
        door = await house.world.house.press("family", "home.unlock", {"device": "Front Door"}, by_voice)
        assert door.ask is not None  # a yes is needed, as it is for the nameless room
        assert not door.ok
        for tool, arguments in (("email.search", {"text": "bank"}), ("record.search", {})):
            assert not (await house.world.house.press("family", tool, arguments, by_voice)).ok
        theirs = Actor("Anna", "annas phone", "adult")
        waiting = await house.world.house.press("family", "home.unlock", {"device": "Front Door"}, theirs)
        assert waiting.ask is not None
        visible = {one.ask.id for one in await house.world.house.asks(by_voice)}
        assert waiting.ask.id not in visible  # what waits for Anna's yes on her phone, no voice can answer
