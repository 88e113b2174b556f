"""Voice messages over the API: left, heard by whom they are for, deleted with their sound."""

from __future__ import annotations

import base64
from typing import Any

import httpx2
import pytest

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.speech.wav import read_wav, wav_header
from tests.gateway.api_house import api_house
from tests.scripted_stt import SOME_SPEECH
from tests.scripted_vad import voice

URL = "/api/voice-messages"


def wav(sound: AudioChunk) -> str:
    return base64.b64encode(wav_header(HEARING_RATE, sound.samples) + sound.pcm).decode()


async def left(http: httpx2.AsyncClient, **fields: Any) -> dict[str, Any]:
    reply = await http.post(URL, json=fields)
    assert reply.status_code == 201, reply.text
    return dict(reply.json()["message"])


async def test_a_recording_is_left_heard_again_and_deleted_with_its_sound(config: Any, data: Any) -> None:
    async with api_house(config, data) as world, world.http("adult") as anna, world.http("teen") as tom:
        sound = voice(2.0)
        message = await left(anna, sound=wav(sound), text="Dinner is ready")
        assert (message["seconds"], message["text"], message["mine"]) == (2.0, "Dinner is ready", True)
        [listed] = (await tom.get(URL)).json()["messages"]
        assert (listed["seconds"], listed["mine"], listed["heard_at"]) == (2.0, False, None)
        heard = await tom.get(f"{URL}/{message['id']}/sound")
        assert (heard.headers["content-type"], read_wav(heard.content).pcm) == ("audio/wav", sound.pcm)
        assert (await tom.post(f"{URL}/{message['id']}/heard")).json()["message"]["heard_at"]
        assert list((data / "messages").iterdir())
        assert (await tom.delete(f"{URL}/{message['id']}")).status_code == 200
        assert not list((data / "messages").iterdir())
        assert (await anna.get(f"{URL}/{message['id']}/sound")).status_code == 404


async def test_the_words_of_a_recording_are_understood_and_one_without_words_is_left_all_the_same(
    config: Any, data: Any
) -> None:
    async with api_house(config, data) as world, world.http("adult") as anna:
        assert (await left(anna, sound=wav(voice(1.0))))["text"] == SOME_SPEECH
        message = await left(anna, sound=wav(AudioChunk(bytes(HEARING_RATE))))
        assert (message["text"], message["seconds"]) == ("", 0.5)


async def test_the_sound_of_what_is_for_one_person_is_for_nobody_else(config: Any, data: Any) -> None:
    async with api_house(config, data) as world, world.http("adult") as anna, world.http("owner") as owner:
        message = await left(anna, sound=wav(voice(1.0)), text="a surprise", person="Tom")
        assert (await owner.get(URL)).json()["messages"] == []
        for method, path in (("GET", "/sound"), ("POST", "/heard")):
            reply = await owner.request(method, f"{URL}/{message['id']}{path}")
            assert reply.status_code == 404, path
        assert (await anna.get(f"{URL}/{message['id']}/sound")).status_code == 200
        [waiting] = (await owner.get(URL)).json()["others"]
        assert waiting == {"id": message["id"], "person": "Tom", "at": message["at"]}
        assert (await anna.get(URL)).json()["others"] == []
        assert (await owner.delete(f"{URL}/{message['id']}")).json()["message"]["text"] == ""
        assert not list((data / "messages").iterdir())


async def test_a_guest_neither_leaves_nor_hears(config: Any, data: Any) -> None:
    async with api_house(config, data) as world, world.http("adult") as anna, world.http("guest") as guest:
        message = await left(anna, sound=wav(voice(1.0)), text="Dinner")
        for reply in (
            await guest.get(URL),
            await guest.get(f"{URL}/{message['id']}/sound"),
            await guest.post(URL, json={"text": "boo"}),
            await guest.post(URL, json={"sound": "no sound, which nobody looks at"}),
        ):
            assert reply.json()["error"]["code"] == "denied", reply.text


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, "invalid"),
        ({"sound": "not base64!"}, "invalid_value"),
        ({"sound": "no ASCII: ü"}, "invalid_value"),
        ({"sound": base64.b64encode(b"noise of no format").decode()}, "invalid_sound"),
        ({"sound": wav(AudioChunk(bytes(HEARING_RATE * 2 * 61)))}, "invalid_sound"),
    ],
)
async def test_what_is_no_message_is_refused_and_leaves_nothing(config: Any, data: Any, fields: Any, code: str) -> None:
    async with api_house(config, data) as world, world.http("adult") as anna:
        reply = await anna.post(URL, json=fields)
        assert (reply.status_code // 100, reply.json()["error"]["code"]) == (4, code)
        assert (await anna.get(URL)).json()["messages"] == []


async def test_a_full_disk_leaves_no_message_without_its_sound(
    config: Any, data: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api_house(config, data) as world, world.http("adult") as anna:
        (data / "messages").write_text("a file where the folder should be")
        reply = await anna.post(URL, json={"sound": wav(voice(1.0)), "text": "Dinner"})
        assert reply.status_code >= 500
        assert (await anna.get(URL)).json()["messages"] == []
