"""Home Assistant as it is: Atlas is its voice at every stage, and its lights are what Atlas switches and looks at.

It is no dependency of Atlas, so it is tested where somebody has it: HOME_ASSISTANT names the command that starts it
(docs/clients.md says how to have one).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import pytest
from wyoming.event import async_read_event, async_write_event
from wyoming.info import Attribution, Info
from wyoming.info import Satellite as InfoOfSatellite
from wyoming.ping import Pong
from wyoming.snd import Played

from atlas.audio import AudioChunk, silence
from tests.journeys.conftest import until
from tests.journeys.home_assistant import HomeAssistant, home_assistant
from tests.journeys.sound_rooms import words_of
from tests.journeys.test_wyoming import Lit, end_house, start_house
from tests.processes import free_port

COMMAND = os.environ.get("HOME_ASSISTANT", "")
pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not COMMAND, reason="NOT TESTED: HOME_ASSISTANT names no command that starts it"),
]
DEVICES = """
input_boolean:
  coffee_machine: {name: Coffee machine}
  ceiling: {}
  bed: {}
input_number:
  ceiling: {min: 0, max: 255}
template:
  - light:
      - name: Ceiling light
        unique_id: ceiling
        state: "{{ states('input_boolean.ceiling') }}"
        level: "{{ states('input_number.ceiling') | int }}"
        turn_on: {action: input_boolean.turn_on, target: {entity_id: input_boolean.ceiling}}
        turn_off: {action: input_boolean.turn_off, target: {entity_id: input_boolean.ceiling}}
        set_level:
          - action: input_number.set_value
            target: {entity_id: input_number.ceiling}
            data: {value: "{{ brightness }}"}
          - {action: input_boolean.turn_on, target: {entity_id: input_boolean.ceiling}}
      - name: Bed light
        unique_id: bed
        state: "{{ states('input_boolean.bed') }}"
        turn_on: {action: input_boolean.turn_on, target: {entity_id: input_boolean.bed}}
        turn_off: {action: input_boolean.turn_off, target: {entity_id: input_boolean.bed}}
"""
ROOMS = {"light.ceiling_light": "kitchen", "light.bed_light": "bedroom", "input_boolean.coffee_machine": "kitchen"}
HIDDEN = ("input_boolean.ceiling", "input_boolean.bed")  # what the lights are made of
SETTINGS = """
[tools.home.home_assistant]
url = "{url}"
token_file = "{token_file}"

[wyoming]
host = "127.0.0.1"
port = {port}
role = "satellite"
room = "kitchen"
rooms = {{"{satellite}" = "bedroom"}}
"""
SATELLITE = "assist_satellite.bedside"
SATELLITE_RATE = 22_050


@dataclass
class Satellite:
    """A microphone of Home Assistant's by the Wyoming protocol that hears nothing, and what was said by its speaker."""

    port: int
    said: AudioChunk = field(default_factory=lambda: AudioChunk(b"", SATELLITE_RATE))
    over: asyncio.Event = field(default_factory=asyncio.Event)
    loop: asyncio.AbstractEventLoop = field(init=False)

    async def serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        async with await asyncio.start_server(self.meet, "127.0.0.1", self.port):
            await self.over.wait()

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while event := await async_read_event(reader):
            match event.type:
                case "describe":
                    its = {"name": "bedside", "description": "", "installed": True, "version": "1"}
                    info = Info(satellite=InfoOfSatellite(attribution=Attribution("", ""), **its))
                    await async_write_event(info.event(), writer)
                case "ping":
                    await async_write_event(Pong().event(), writer)
                case "audio-chunk":
                    self.said += AudioChunk(event.payload or b"", SATELLITE_RATE)
                case "audio-stop":
                    await async_write_event(Played().event(), writer)


@dataclass
class Home:
    """Home Assistant and Atlas, each with what the other offers."""

    hub: HomeAssistant
    house: Lit
    pipeline: str
    satellite: Satellite

    def reply_to(self, text: str) -> str:
        return str(self.house.json_of("ask", text)["reply"])

    def words_of(self, events: list[dict[str, Any]], folder: Path) -> str:
        """Fetch what a run of the pipeline said, as a loudspeaker of Home Assistant does, and have it heard."""
        url = data_of(events, "tts-end")["tts_output"]["url"]
        (folder / "reply").write_bytes(self.hub.fetch(url))
        with av.open(folder / "reply") as file:
            resampler = av.AudioResampler("s16", "mono", 16_000)
            pcm = b"".join(
                bytes(part.planes[0])[: part.samples * 2]
                for frame in file.decode(audio=0)
                for part in resampler.resample(frame)
            )
        return words_of(self.house, AudioChunk(pcm), folder)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    folder = tmp_path_factory.mktemp("home")
    with home_assistant(COMMAND, folder, DEVICES) as hub, a_satellite() as satellite:
        for entity, area in ROOMS.items():
            hub.ask("config/entity_registry/update", entity_id=entity, area_id=area)
        for entity in HIDDEN:
            hub.ask("config/entity_registry/update", entity_id=entity, hidden_by="user")
        token_file = folder / "token"
        token_file.write_text(hub.ask("auth/long_lived_access_token", client_name="Atlas", lifespan=1))
        port = free_port()
        hub.add("wyoming", host="127.0.0.1", port=satellite.port)
        (its,) = until(lambda: hub.states("assist_satellite."), 30, "its satellite")
        hub.ask("config/entity_registry/update", entity_id=its, new_entity_id=SATELLITE)
        settings = SETTINGS.format(url=hub.url, token_file=token_file, port=port, satellite=SATELLITE)
        house = start_house(folder, settings, ATLAS_EGRESS_ALLOW=hub.url.removeprefix("http://"))
        try:
            hub.add("wyoming", host="127.0.0.1", port=port)
            yield Home(hub, house, made_pipeline(hub), satellite)
        finally:
            end_house(house)


@contextmanager
def a_satellite() -> Iterator[Satellite]:
    """Have a satellite run inside the block, for Home Assistant to have. The published program is too old for it."""
    satellite = Satellite(free_port())
    thread = threading.Thread(target=asyncio.run, args=(satellite.serve(),))
    thread.start()
    yield satellite
    satellite.loop.call_soon_threadsafe(satellite.over.set)
    thread.join(10)


def made_pipeline(hub: HomeAssistant) -> str:
    """Make an assistant of Atlas's parts alone, as on Home Assistant's page of voice assistants."""
    engines = {
        domain: until(lambda domain=domain: [name for name in hub.states(domain) if "atlas" in name], 30, domain)[0]
        for domain in ("stt.", "tts.", "wake_word.", "conversation.")
    }
    (word, *_) = hub.ask("wake_word/info", entity_id=engines["wake_word."])["wake_words"]
    made = hub.ask(
        "assist_pipeline/pipeline/create",
        name="Atlas",
        language="en",
        conversation_engine=engines["conversation."],
        conversation_language="en",
        stt_engine=engines["stt."],
        stt_language="en",
        tts_engine=engines["tts."],
        tts_language="en",
        tts_voice=None,
        wake_word_entity=engines["wake_word."],
        wake_word_id=word["id"],
        prefer_local_intents=False,
    )
    hub.ask("assist_pipeline/pipeline/set_preferred", pipeline_id=made["id"])  # by which its satellites speak
    return str(made["id"])


def data_of(events: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    assert not [event for event in events if event["type"] == "error"]
    (data,) = [event["data"] for event in events if event["type"] == kind]
    return dict(data)


def speech_of(events: list[dict[str, Any]]) -> str:
    return str(data_of(events, "intent-end")["intent_output"]["response"]["speech"]["plain"]["speech"]).lower()


def test_a_command_spoken_to_home_assistant_is_done_there_and_answered(
    home: Home, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    events = home.hub.run(home.pipeline, "stt", spoken("Turn on the ceiling light.") + silence(1.5, 16_000))
    assert data_of(events, "stt-end")["stt_output"]["text"].lower().strip(" .") == "turn on the ceiling light"
    assert home.hub.states("light.ceiling")["light.ceiling_light"] == "on", data_of(events, "intent-end")
    assert "light" in home.words_of(events, tmp_path)


def test_its_wake_word_and_the_command_in_one_breath(
    home: Home, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    sound = silence(0.5, 16_000) + spoken("Okay Nabu, turn on the bed light.") + silence(1.5, 16_000)
    events = home.hub.run(home.pipeline, "wake_word", sound)
    assert data_of(events, "wake_word-end")["wake_word_output"]["wake_word_id"] == "okay_nabu"
    assert home.hub.states("light.bed")["light.bed_light"] == "on", data_of(events, "intent-end")
    assert "bed" in home.words_of(events, tmp_path)


def test_what_is_changed_in_home_assistant_is_known_to_atlas_at_once(home: Home) -> None:
    home.hub.ask("call_service", domain="light", service="turn_on", target={"entity_id": "light.bed_light"})
    home.hub.ask("call_service", domain="light", service="turn_off", target={"entity_id": "light.ceiling_light"})
    until(lambda: "bed light" in home.reply_to("which lights are on").lower(), 30, "the bed light being on")
    assert "ceiling" not in home.reply_to("which lights are on").lower()


def test_words_to_atlas_reach_every_device_of_home_assistant(home: Home) -> None:
    home.reply_to("turn on the coffee machine")
    assert home.hub.states("input_boolean")["input_boolean.coffee_machine"] == "on"
    home.reply_to("set the ceiling light to forty percent")
    (light,) = [row for row in home.hub.ask("get_states") if row["entity_id"] == "light.ceiling_light"]
    assert round(light["attributes"]["brightness"] / 2.55) == 40
    home.reply_to("turn off all the lights")
    assert set(home.hub.states("light").values()) == {"off"}


def test_what_atlas_asks_is_answered_by_the_next_run(home: Home) -> None:
    asked = home.hub.run(home.pipeline, "intent", text="set a timer")
    assert "how long" in speech_of(asked)
    answered = home.hub.run(home.pipeline, "intent", text="ten minutes")
    assert "10 minutes" in speech_of(answered)
    assert home.house.json_of("ask", "cancel the timer")["tools"][0]["name"] == "timers.cancel"


def test_a_satellite_of_home_assistant_announces_and_rings_for_the_house(home: Home, tmp_path: Path) -> None:
    def is_said(words: str) -> bool:
        return words in words_of(home.house, home.satellite.said, tmp_path)

    until(lambda: f"satellites={SATELLITE}" in home.house.log.read_text(), 60, "its satellite speaking for the house")
    announced = home.house.atlas("announce", "--room", "bedroom", "Dinner is ready.")
    assert announced.returncode == 0, announced.stderr
    until(lambda: is_said("dinner"), 60, "dinner at the bed")
    home.house.json_of("ask", "set a timer for one second")
    until(lambda: is_said("timer"), 60, "a timer at the bed, the only speaker of the house")
