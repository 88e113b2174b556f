"""The home tools on a house out of a file: what is meant by where and of what kind, and what is answered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

import tools_server.tools
from tests.conftest import for_every
from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.gate.call_request import CallRequest, CallResult
from tools_server.hubs.home import Home
from tools_server.sdk.toolkit import find
from tools_server.values.boot_files import BootFailed
from tools_server.values.policy import Policy, Rule

TOOLBOX = find(tools_server.tools)
POLICY = Path(__file__).parents[2] / "policy.toml"


def light(name: str, room: str, on: bool = False, **more: Any) -> dict[str, Any]:
    state = {"on": on, "brightness": 50, "kelvin": 4000}
    can = ["on", "brightness", "colour", "kelvin"]
    return {"name": name, "kind": "light", "room": room, "can": can, "state": state} | more


def sensor(name: str, room: str, shape: str, **state: Any) -> dict[str, Any]:
    return {"name": name, "kind": "sensor", "shape": shape, "room": room, "state": state}


HOUSE = {
    "floors": [{"name": "Ground Floor", "aliases": ["downstairs"]}, {"name": "First Floor", "aliases": ["upstairs"]}],
    "rooms": [
        {"name": "Kitchen", "floor": "Ground Floor"},
        {"name": "Living Room", "floor": "Ground Floor", "aliases": ["lounge"]},
        {"name": "Hall", "floor": "Ground Floor"},
        {"name": "Bedroom", "floor": "First Floor"},
        {"name": "Study", "floor": "First Floor"},
    ],
    "devices": [
        light("Worktop", "Kitchen", on=True),
        light("Table lamp", "Kitchen"),
        light("Ceiling", "Living Room", on=True, aliases=["big light"]),
        light("Ceiling", "Bedroom"),
        {"name": "Blinds", "kind": "cover", "shape": "blind", "room": "Living Room", "can": ["open", "position"],
         "state": {"open": True, "position": 100}},
        {"name": "Long ones", "kind": "cover", "shape": "curtain", "room": "Living Room", "can": ["open", "position"],
         "state": {"open": True, "position": 100}},
        {"name": "Big door", "kind": "cover", "shape": "garage", "room": "Hall", "can": ["open"],
         "state": {"open": False}},
        {"name": "Front door", "kind": "lock", "room": "Hall", "can": ["locked"], "state": {"locked": True}},
        {"name": "Thermostat", "kind": "climate", "room": "Living Room", "can": ["on", "temperature", "mode"],
         "state": {"on": True, "temperature": 20, "measured": 19.5, "mode": "heat"}, "aliases": ["heating"],
         "options": {"mode": ["off", "heat"], "preset": ["eco"]}},
        {"name": "Radio", "kind": "media", "room": "Kitchen", "state": {"on": True, "playing": True, "volume": 40},
         "can": ["on", "playing", "volume", "muted", "next", "previous", "query"]},
        {"name": "TV", "kind": "media", "shape": "tv", "room": "Living Room", "state": {"on": False, "volume": 98},
         "can": ["on", "playing", "volume", "muted", "next", "previous", "query"]},
        {"name": "Fan", "kind": "fan", "room": "Bedroom", "can": ["on", "speed"], "state": {"on": True, "speed": 50}},
        {"name": "Robbie", "kind": "vacuum", "room": "Hall", "can": ["clean", "dock"],
         "state": {"activity": "docked", "battery": 96}},
        {"name": "Mower", "kind": "mower", "room": "", "can": ["mow", "dock"], "state": {"activity": "docked"}},
        {"name": "Tap", "kind": "valve", "room": "", "can": ["open"], "state": {"open": False}},
        sensor("Kitchen Window", "Kitchen", "window", on=True),
        sensor("Bedroom Window", "Bedroom", "window", on=False),
        sensor("Motion", "Hall", "motion", on=False),
        sensor("Smoke Detector", "Hall", "smoke", on=False),
        sensor("Thermometer", "Kitchen", "temperature", value=21.4, unit="°C"),
        sensor("Phone Battery", "", "battery", value=58, unit="%"),
        {"name": "Movie night", "kind": "scene"},
        {"name": "Anna", "kind": "person", "state": {"place": "home"}},
        {"name": "Ben", "kind": "person", "state": {"place": "School"}},
    ],
}  # fmt: skip

Says = Callable[..., Awaitable[str]]


class Small:
    """A gate over the house of the file."""

    def __init__(self, gate: Any, agents: Any) -> None:
        self.gate = gate
        self.agent = agents["family"]
        self.language: str | None = None

    async def call(self, tool: str, /, here: str = "", role: str = "adult", **arguments: Any) -> CallResult:
        return await self.gate.call(
            CallRequest(
                self.agent, tool, arguments, {"role": role, "room": here}, "turn_1", "test", language=self.language
            )
        )

    async def said(self, tool: str, /, here: str = "", **arguments: Any) -> str:
        answer = await self.call(tool, here, **arguments)
        assert answer.error is None, answer.text
        return answer.text

    async def refused(self, tool: str, /, here: str = "", **arguments: Any) -> tuple[str | None, str]:
        answer = await self.call(tool, here, **arguments)
        assert answer.error, f"was done: {answer.text}"
        return answer.error, answer.text

    def state(self, name: str, room: str = "") -> Any:
        home = self.gate._engines["home"]
        assert isinstance(home, Home)
        [device] = [one for one in home.devices() if one.name == name and room in ("", one.room)]
        return device.state


@pytest.fixture
async def small(data: Path) -> AsyncIterator[Small]:
    async with opened(data, HOUSE) as house:
        yield house


def house_of(data: Path, devices: list[dict[str, Any]]) -> AbstractAsyncContextManager[Small]:
    """A house with these devices and no plan."""
    return opened(data, {"devices": devices})


@asynccontextmanager
async def opened(data: Path, house: dict[str, Any]) -> AsyncIterator[Small]:
    token = hashlib.sha256(b"family-token").hexdigest()
    (data / "agents.toml").write_text(f"[family]\ntoken_sha256 = '{token}'\ntools = ['*']\nacts_as = 'adult'\n")
    (data / "house.json").write_text(json.dumps(house))
    (data / "tools.toml").write_text(f"[home.scripted]\nfile = '{data}/house.json'\n")
    start = ServerSettings(data, data / "agents.toml", POLICY, tools=data / "tools.toml", timezone="UTC")
    with opened_gate(start, toolbox=TOOLBOX) as (gate, agents):
        async with gate.engines():
            yield Small(gate, agents)


# ── which ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_floor_is_all_its_rooms_by_any_of_its_names(small: Small) -> None:
    assert await small.said("home.turn", on=False, kind="light", floor="downstairs") == "2 lights are now off."
    assert small.state("Ceiling", "Living Room")["on"] is False
    assert (
        await small.said("home.turn", on=True, kind="light", room="upstairs") == "The Ceiling in the Bedroom is now on."
    )
    assert await small.refused("home.turn", on=True, kind="light", floor="attic") == (
        "not_found",
        "There is no floor attic. There is Ground Floor, First Floor.",
    )


async def test_a_room_is_known_by_its_other_names(small: Small) -> None:
    assert await small.said("home.turn", on=False, kind="light", room="the lounge") == (
        "The Ceiling in the Living Room is now off."
    )
    assert (
        await small.said("home.turn", on=True, device="lounge ceiling") == "The Ceiling in the Living Room is now on."
    )


async def test_a_shape_leaves_the_others_of_its_kind_alone(small: Small) -> None:
    assert await small.said("home.close", shape="curtain", room="living room") == (
        "The Long ones in the Living Room are now closed."
    )
    assert (small.state("Blinds")["open"], small.state("Long ones")["open"]) == (True, False)
    assert await small.refused("home.close", shape="awning") == ("not_found", "There are no awnings in this house.")


async def test_here_comes_first_then_the_only_one_of_the_house_then_a_question(small: Small) -> None:
    assert (
        await small.said("home.turn", here="Kitchen", on=True, kind="light")
        == "The Table lamp in the Kitchen is now on."
    )
    assert await small.said("home.turn", here="Kitchen", on=False, kind="fan") == "The Fan in the Bedroom is now off."
    assert await small.refused("home.turn", on=True, kind="light") == (
        "invalid",
        "In which room? For the whole house, say all the lights in the house.",
    )
    assert (
        await small.said("home.turn", here="Bedroom", on=True, device="ceiling")
        == "The Ceiling in the Bedroom is now on."
    )
    error, text = await small.refused("home.turn", on=False, device="ceiling")
    assert (error, text) == ("invalid", "Which one: the Ceiling in the Bedroom or the Ceiling in the Living Room?")


@pytest.mark.parametrize("here", ["", "Study"])
async def test_of_two_doors_it_is_asked_which_is_to_be_locked_and_all_are_if_that_was_said(
    data: Path, here: str
) -> None:
    def door(name: str, room: str) -> dict[str, Any]:
        return {"name": name, "kind": "lock", "room": room, "can": ["locked"], "state": {"locked": False}}

    async with house_of(data, [door("Front Door", "Hall"), door("Back Door", "Kitchen")]) as small:
        answer = await small.call("home.lock", here)
        assert (answer.error, answer.data["code"]) == ("invalid", "which")
        assert answer.text == "Which one: the Back Door in the Kitchen or the Front Door in the Hall?"
        assert [one["name"] for one in answer.data["devices"]] == ["Back Door", "Front Door"]
        assert "state" not in answer.data["devices"][0], "nobody asked the rules yet whether that may be looked at"
        assert not small.state("Front Door")["locked"]
        assert not small.state("Back Door")["locked"]
        assert await small.said("home.lock", device=answer.data["devices"][1]["id"]) == (
            "The Front Door in the Hall is now locked."
        )
        assert await small.said("home.lock", here="Kitchen") == "The Back Door in the Kitchen is now locked."
        assert await small.said("home.lock", everything=True) == "2 locks are already locked."


async def test_who_says_only_the_door_is_asked_which(small: Small) -> None:
    which = ("invalid", "Which one: the Big door in the Hall or the Front door in the Hall?")
    assert await small.refused("home.open", kind="cover", shape="door") == which
    assert await small.refused("home.unlock", device="the door") == which


async def test_the_list_says_all_that_has_a_name(small: Small) -> None:
    data = (await small.call("home.list")).data
    [ceiling] = [one for one in data["devices"] if one["name"] == "Ceiling" and one["room"] == "Living Room"]
    assert (ceiling["floor"], ceiling["aliases"], ceiling["kind"]) == ("Ground Floor", ["big light"], "light")
    assert {"name": "Living Room", "floor": "Ground Floor", "aliases": ["lounge"]} in data["rooms"]
    assert {"name": "First Floor", "aliases": ["upstairs"]} in data["floors"]
    assert await small.said("home.list", floor="upstairs", kind="light") == "The Ceiling in the Bedroom."


# ── settings and steps ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"what": "brightness", "by": 20, "device": "worktop"}, "The Worktop in the Kitchen is now at 70 percent."),
        ({"what": "brightness", "by": -80, "device": "worktop"}, "The Worktop in the Kitchen is now at 1 percent."),
        ({"what": "brightness", "by": 10, "room": "kitchen"}, "The Worktop in the Kitchen is now at 60 percent."),
        (
            {"what": "brightness", "by": 10, "device": "table lamp"},
            "The Table lamp in the Kitchen is now at 60 percent.",  # it is off, and was at 50
        ),
        ({"what": "warmth", "by": 20, "device": "worktop"}, "The Worktop in the Kitchen is now at 3100 kelvin."),
        ({"what": "temperature", "by": 1.5}, "The Thermostat in the Living Room is now set to 21.5 degrees."),
        ({"what": "volume", "by": -15, "room": "kitchen"}, "The Radio in the Kitchen is now at 25 percent."),
        ({"what": "volume", "by": 10, "device": "tv"}, "The TV in the Living Room is now at 100 percent."),
        ({"what": "position", "by": -30, "device": "blinds"}, "The Blinds in the Living Room are now at 70 percent."),
        ({"what": "speed", "by": 25}, "The Fan in the Bedroom is now at 75 percent."),
    ],
)
async def test_a_step_is_taken_from_how_it_is_and_ends_where_the_device_does(
    small: Small, arguments: dict[str, Any], text: str
) -> None:
    assert await small.said("home.adjust", **arguments) == text


async def test_a_player_that_is_off_is_turned_on_to_be_so_loud_and_off_again_by_an_undo(small: Small) -> None:
    done = await small.call("home.set", device="tv", volume=40)
    assert (small.state("TV")["on"], small.state("TV")["volume"]) == (True, 40)
    assert done.receipt is not None
    await small.call("history.undo", receipt=done.receipt.id)
    assert small.state("TV")["on"] is False


async def test_how_loud_all_players_are_turns_none_of_them_on(small: Small) -> None:
    await small.call("home.set", volume=20, everything=True)
    assert (small.state("Radio")["volume"], small.state("TV")["on"]) == (20, False)
    await small.call("home.set", device="tv", volume=0)
    assert small.state("TV")["on"] is False


async def test_a_blind_that_stands_half_way_can_be_opened_and_goes_back_to_where_it_stood(small: Small) -> None:
    await small.said("home.set", device="blinds", position=40)
    done = await small.call("home.open", device="blinds")
    assert done.text == "The Blinds in the Living Room are now open."
    assert await small.said("home.open", device="blinds") == "The Blinds in the Living Room are already open."
    assert done.receipt is not None
    undone = await small.call("history.undo", receipt=done.receipt.id)
    assert undone.text == "The Blinds in the Living Room are now at 40 percent."


async def test_a_garage_door_that_is_open_is_closed_by_half_without_a_yes(data: Path) -> None:
    door = {"name": "Garage door", "kind": "cover", "shape": "garage", "room": "Garage", "can": ["open", "position"]}
    async with house_of(data, [door | {"state": {"open": True, "position": 100}}]) as small:
        assert (
            await small.said("home.set", device="garage door", position=50) == "The Garage door is now at 50 percent."
        )
        assert (await small.refused("home.set", device="garage door", position=80))[0] == "denied"


async def test_a_lamp_whose_white_nobody_told_gets_warmer_from_the_middle_of_what_it_can(data: Path) -> None:
    lamp = {"name": "Bedside lamp", "kind": "light", "can": ["on", "kelvin"], "state": {"on": True}}
    async with house_of(data, [lamp]) as small:
        assert await small.said("home.adjust", what="warmth", by=25) == "The Bedside lamp is now at 3125 kelvin."


async def test_a_lamp_that_was_dark_burns_whole_once_it_is_on_and_can_be_dimmed(data: Path) -> None:
    lamp = {
        "name": "Bedside lamp",
        "kind": "light",
        "can": ["on", "brightness"],
        "state": {"on": False, "brightness": 0},
    }
    async with house_of(data, [lamp]) as small:
        await small.said("home.turn", on=True, device="bedside lamp")
        assert await small.said("home.adjust", what="brightness", by=-20) == "The Bedside lamp is now at 80 percent."


async def test_at_its_end_a_step_is_refused_in_words(small: Small) -> None:
    await small.said("home.set", device="worktop", brightness=100)
    assert await small.refused("home.adjust", what="brightness", by=10, device="worktop") == (
        "failed",
        "The Worktop in the Kitchen is already at its brightest.",
    )
    await small.said("home.set", temperature=35)
    assert "already at its highest" in (await small.refused("home.adjust", what="temperature", by=1))[1]


async def test_a_step_is_taken_back_by_history(small: Small) -> None:
    done = await small.call("home.adjust", what="volume", by=10, device="radio")
    assert done.receipt
    assert small.state("Radio")["volume"] == 50
    assert (await small.call("history.undo", receipt=done.receipt.id)).error is None
    assert small.state("Radio")["volume"] == 40


async def test_some_of_what_was_changed_together_is_taken_back(small: Small) -> None:
    await small.call("home.set", brightness=33, kind="light", everything=True)
    assert small.state("Worktop")["brightness"] == 33
    said = await small.said("history.undo", devices=["worktop"])
    assert said.startswith("The Worktop in the Kitchen is now") and "Ceiling" not in said
    assert small.state("Worktop")["brightness"] != 33
    assert "haven't changed that" in (await small.refused("history.undo", devices=["radio"]))[1]


async def test_speed_mode_and_degrees_of_either_unit_are_set_within_limits(small: Small) -> None:
    assert await small.said("home.set", speed=30) == "The Fan in the Bedroom is now at 30 percent."
    assert await small.said("home.set", mode="eco") == "The Thermostat in the Living Room is now set to eco."
    assert await small.said("home.set", temperature=68, unit="°F") == (
        "The Thermostat in the Living Room is already set to 20 degrees."
    )
    assert await small.refused("home.set", temperature=68) == (
        "invalid",
        "The Thermostat in the Living Room goes from 5 degrees to 35 degrees.",
    )
    assert await small.refused("home.set", mode="party") == (
        "invalid",
        "The Thermostat in the Living Room has no mode party. It can be off, heat or eco.",
    )


async def test_a_house_that_counts_in_fahrenheit_is_set_and_answers_so(data: Path) -> None:
    devices = [
        {"name": "Heating", "kind": "climate", "room": "Hall", "can": ["on", "temperature"], "fahrenheit": True,
         "state": {"on": True, "temperature": 20, "measured": 20}},
    ]  # fmt: skip
    async with house_of(data, devices) as small:
        assert await small.said("home.set", temperature=70) == "The Heating in the Hall is now set to 70 degrees."
        assert small.state("Heating")["temperature"] == pytest.approx(21.11)
        assert await small.said("home.set", temperature=20, unit="°C")
        assert await small.said("home.state", measure="temperature", room="hall") == "The Hall is 68 degrees."


# ── players, robots, valves ────────────────────────────────────────────────────────────────────────


async def test_players_play_what_is_asked_for_skip_and_fall_silent(small: Small) -> None:
    assert await small.said("home.play", device="radio", query="the Beatles", media_class="artist") == (
        "The Radio in the Kitchen is now playing the Beatles."
    )
    assert small.state("Radio")["title"] == "the Beatles"
    assert await small.said("home.next") == "The Radio in the Kitchen skips to the next one."
    assert await small.said("home.previous", device="radio") == "The Radio in the Kitchen goes back to the one before."
    assert await small.said("home.mute") == "The Radio in the Kitchen is now muted."
    assert await small.said("home.mute", muted=False) == "The Radio in the Kitchen has its sound back."
    assert await small.said("home.pause") == "The Radio in the Kitchen is now paused."
    assert await small.refused("home.play") == (
        "invalid",
        "Which one: the Radio in the Kitchen or the TV in the Living Room?",
    )


async def test_robots_set_out_and_come_back_by_their_verbs_and_by_on_and_off(small: Small) -> None:
    assert await small.said("home.clean") == "Robbie is now cleaning."
    assert await small.said("home.state", device="robbie", value="cleaning") == "Yes, Robbie is cleaning."
    assert await small.said("home.dock") == "Robbie is now docked."
    assert await small.said("home.clean", room="kitchen") == (
        "Robbie is now cleaning. It can't be sent to a single room, so it cleans everywhere."
    )
    await small.said("home.dock")
    assert await small.said("home.mow") == "The Mower is now mowing."
    assert await small.said("home.turn", on=False, device="mower") == "The Mower is now docked."
    assert await small.said("home.open", kind="valve") == "The Tap is now open."
    assert await small.said("home.close", device="tap") == "The Tap is now closed."
    done = await small.call("home.turn", on=True, device="robbie")
    assert done.receipt
    assert (await small.call("history.undo", receipt=done.receipt.id)).error is None
    assert small.state("Robbie")["activity"] == "docked"


# ── questions ──────────────────────────────────────────────────────────────────────────────────────


@for_every(
    ("arguments", "answer"),
    [
        ({"quantity": "any", "shape": "window", "value": "open"}, "Yes, the Kitchen Window is open."),
        ({"quantity": "all", "shape": "window", "value": "closed"}, "No, the Kitchen Window is open."),
        ({"shape": "window", "value": "closed"}, "No, the Kitchen Window is open."),  # to be sure of every one
        ({"quantity": "any", "shape": "window", "value": "open", "room": "bedroom"},
         "No, the Bedroom Window is closed."),
        ({"quantity": "which", "kind": "light", "value": "on"},
         "Two lights are on: the Worktop in the Kitchen and the Ceiling in the Living Room."),
        ({"quantity": "how_many", "kind": "light", "value": "on", "floor": "upstairs"},
         "The Ceiling in the Bedroom is off."),
        ({"quantity": "how_many", "kind": "light", "value": "off"},
         "Two lights are off: the Ceiling in the Bedroom and the Table lamp in the Kitchen."),
        ({"quantity": "all", "kind": "light", "value": "off"},
         "No, two lights are on: the Worktop in the Kitchen and the Ceiling in the Living Room."),
        ({"device": "front door", "value": "locked"}, "Yes, the Front door in the Hall is locked."),
        ({"device": "front door", "value": "unlocked"}, "No, the Front door in the Hall is locked."),
        ({"shape": "motion", "value": "motion", "room": "hall"}, "No, the Motion in the Hall reports no motion."),
        ({"device": "smoke detector"}, "The Smoke Detector in the Hall reports no smoke."),
        ({"measure": "temperature", "room": "kitchen"}, "The Kitchen is 21.4 degrees."),
        ({"measure": "temperature", "room": "lounge"}, "The Living Room is 19.5 degrees."),
        ({"measure": "temperature", "device": "heating"},
         "The temperature of the Thermostat in the Living Room is 19.5 degrees."),
        ({"measure": "target", "device": "heating"},
         "The Thermostat in the Living Room is set to 20 degrees."),
        ({"measure": "battery", "device": "phone"}, "The Phone Battery says 58 percent."),
        ({"measure": "battery", "device": "robbie"}, "The battery level of Robbie is 96 percent."),
        ({"measure": "volume", "device": "radio"}, "The volume of the Radio in the Kitchen is 40 percent."),
        ({"quantity": "where", "device": "robbie"}, "Robbie is in the Hall."),
        ({"quantity": "where", "device": "ben"}, "Ben is at School."),
        ({"quantity": "any", "kind": "person", "value": "home"}, "Yes, Anna is at home."),
        ({"quantity": "any", "kind": "person", "value": "the house"}, "Yes, Anna is at home."),
        ({"quantity": "which", "kind": "person", "value": "out"}, "Ben is at School."),
        ({"quantity": "which", "kind": "person", "value": "zu Hause"}, "Anna is at home."),
        ({"quantity": "any", "kind": "media", "value": "playing"},
         "Yes, the Radio in the Kitchen is playing, at 40 percent."),
        ({"quantity": "any", "kind": "cover", "shape": "curtain", "value": "closed"},
         "No, the Long ones in the Living Room are open, at 100 percent."),
    ],
)  # fmt: skip
async def test_what_is_asked_about_the_house_is_looked_up(small: Small, arguments: dict[str, Any], answer: str) -> None:
    assert await small.said("home.state", **arguments) == answer


async def test_all_that_is_closed_is_said_to_be_so(small: Small) -> None:
    home = small.gate._engines["home"]
    await home.tell(next(one for one in home.devices() if one.name == "Kitchen Window"), {"on": False})
    assert await small.said("home.state", quantity="any", shape="window", value="open") == "No, all windows are closed."
    assert await small.said("home.state", quantity="all", shape="window", value="closed") == (
        "Yes, all windows are closed."
    )
    await small.said("home.turn", on=False, kind="light", everything=True)
    assert await small.said("home.state", quantity="which", kind="light", value="on") == "No lights are on."


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"quantity": "any", "value": "on", "room": "kitchen"},
         "Yes, two devices are on: the Radio in the Kitchen and the Worktop in the Kitchen."),
        ({"quantity": "which", "value": "on", "floor": "upstairs"}, "The Fan in the Bedroom is on, at 50 percent."),
        ({"quantity": "all", "value": "locked", "everything": True}, "Yes, everything is locked."),
        ({"quantity": "any", "value": "unlocked", "everything": True}, "No, nothing is unlocked."),
        ({"quantity": "all", "value": "closed", "room": "living room"},
         "No, two blinds are open: the Blinds in the Living Room and the Long ones in the Living Room."),
        ({"quantity": "any", "value": "open", "room": "bedroom"}, "No, the Bedroom Window is closed."),
    ],
)  # fmt: skip
async def test_who_names_no_kind_hears_of_all_that_can_be_so(
    small: Small, arguments: dict[str, Any], answer: str
) -> None:
    assert await small.said("home.state", **arguments) == answer


async def test_heating_is_not_counted_by_who_asks_whether_everything_is_off(small: Small) -> None:
    await small.said("home.turn", on=False, kind="light", everything=True)
    assert await small.said("home.state", quantity="all", value="off", room="living room") == (
        "Yes, apart from the heating, everything is off."
    )
    assert await small.said("home.state", quantity="any", value="on", room="living room") == (
        "No, apart from the heating, nothing is on."
    )


async def test_an_open_garage_door_is_not_locked(small: Small) -> None:
    home = small.gate._engines["home"]
    await home.tell(next(one for one in home.devices() if one.name == "Big door"), {"open": True})
    assert await small.said("home.state", quantity="all", value="locked", everything=True) == (
        "No, the Big door in the Hall is open."
    )


async def test_what_nothing_can_tell_is_said_to_be_so(small: Small) -> None:
    assert await small.refused("home.state", measure="temperature", room="study") == (
        "not_found",
        "I can't look that up: no temperature sensor is in the Study.",
    )
    answer = await small.call("home.state", quantity="any", shape="gas")
    assert (answer.error, answer.data["code"]) == ("not_found", "not_found")
    assert answer.text == "I can't look that up: there are no gas detectors in this house."


@pytest.mark.parametrize("value", ["open", "closed"])
async def test_a_lock_says_whether_it_is_locked_and_not_whether_its_door_is_open(small: Small, value: str) -> None:
    only = "I can't look that up: I only know whether the doors are locked."
    unknown = f"{only} {'Yes' if value == 'closed' else 'No'}, the Front door in the Hall is locked."
    assert await small.said("home.state", kind="lock", value=value) == unknown
    assert await small.said("home.state", kind="lock", quantity="any", value=value) == unknown
    named = "I can't tell whether the Front door in the Hall is open; I only know that it is locked."
    assert await small.said("home.state", device="front door", value=value) == named


async def test_of_many_lights_none_that_is_on_is_left_out(data: Path) -> None:
    rooms = [f"Room {number:02}" for number in range(14)]
    devices = [
        {"name": f"Lamp {room}", "kind": "light", "room": room, "can": ["on"], "state": {"on": room in rooms[12:]}}
        for room in rooms
    ]
    async with house_of(data, devices) as small:
        answer = await small.said("home.state", kind="light", everything=True)
    assert answer == "The Lamp Room 12 is on. The Lamp Room 13 is on. Everything else there is off or closed."


async def test_who_asks_whether_doors_are_open_hears_of_those_that_can_tell(data: Path) -> None:
    devices = [
        {"name": "Front door", "kind": "lock", "room": "Hall", "can": ["locked"], "state": {"locked": True}},
        sensor("Back door", "Kitchen", "door", on=True),
    ]
    async with house_of(data, devices) as small:
        assert await small.said("home.state", kind="lock", quantity="any", value="open") == (
            "Yes, the Back door in the Kitchen is open."
        )
        assert await small.said("home.state", kind="lock", quantity="any", value="locked") == (
            "Yes, the Front door in the Hall is locked."
        )


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ({"kind": "teapot"}, r"devices\.0\.kind"),
        (
            {"kind": "light", "can": ["on", "brightnes"]},
            r"'X' is a light, and its 'can' is of on, brightness, colour, kelvin; not 'brightnes'",
        ),
        ({"kind": "sensor", "can": ["on"]}, r"'X' is a sensor, and its 'can' is of nothing; not 'on'"),
        ({"kind": "light", "state": {"is_on": True}}, r"its 'state' is of on, brightness, .*; not 'is_on'"),
    ],
)
async def test_a_house_file_that_is_none_stops_the_start_with_a_sentence(
    data: Path, device: dict[str, Any], sentence: str
) -> None:
    (data / "agents.toml").write_text("")
    (data / "house.json").write_text(json.dumps({"devices": [{"name": "X"} | device]}))
    (data / "tools.toml").write_text(f"[home.scripted]\nfile = '{data}/house.json'\n")
    gate = opened_gate(ServerSettings(data, data / "agents.toml", POLICY, tools=data / "tools.toml"), toolbox=TOOLBOX)
    with pytest.raises(BootFailed, match=sentence) as failed, gate:
        pass
    assert str(data / "house.json") in str(failed.value)


# ── people, and later ──────────────────────────────────────────────────────────────────────────────


@for_every(
    ("arguments", "answer"),
    [
        ({"person": "ben"}, "Ben is at School."),
        ({"person": "Anna", "place": "home"}, "Yes, Anna is at home."),
        ({"place": "home"}, "Yes, Anna is at home."),
        ({"place": "school"}, "Yes, Ben is at School."),
        ({"person": "Anna", "place": "school"}, "No, Anna is at home."),
        ({"person": "ben", "place": "out"}, "Yes, Ben is at School."),
        ({}, "Anna is at home. Ben is at School."),
        ({"person": "everyone"}, "Anna is at home. Ben is at School."),
        ({"person": "everybody", "place": "home"}, "No, Ben is at School."),
    ],
)
async def test_where_people_are_is_looked_up(small: Small, arguments: dict[str, Any], answer: str) -> None:
    assert await small.said("presence.where", **arguments) == answer


@for_every("place", ["ill", "asleep", "cross with me", "his way", "shower", "Ben with", "work"])
@for_every(
    ("tool", "arguments", "argument"),
    [
        ("presence.where", {"person": "ben"}, "place"),
        ("presence.where", {}, "place"),
        ("home.state", {"kind": "person", "quantity": "any"}, "value"),
        ("home.state", {"device": "Ben"}, "value"),
    ],
)
async def test_of_people_nothing_is_answered_but_where_they_can_be(
    small: Small, tool: str, arguments: dict[str, Any], argument: str, place: str
) -> None:
    answer = await small.call(tool, **arguments, **{argument: place})
    assert (answer.error, answer.data["code"]) == ("not_found", "not_found")
    assert answer.text == ("I can't look that up: I only know whether somebody is at home or away, or at School.")


async def test_what_is_not_known_of_people_is_said_in_the_language_of_who_asks(small: Small) -> None:
    wish = CallRequest(
        small.agent, "presence.where", {"person": "Ben", "place": "krank"}, {"role": "adult"}, "turn_1", "test"
    )
    assert (await small.gate.call(replace(wish, language="de"))).text == (
        "Das kann ich nicht nachsehen: Ich weiß nur, ob jemand zu Hause oder unterwegs ist, oder hier: School."
    )
    ask = replace(wish, arguments={"person": "Ben", "place": "unterwegs"}, language="de")
    assert (await small.gate.call(ask)).text == "Ja, Ben ist hier: School."


async def test_who_is_not_known_is_not_invented(small: Small) -> None:
    assert await small.refused("presence.where", person="Zoe") == (
        "not_found",
        "I don't know where Zoe is. There is Anna, Ben.",
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "deed"),
    [
        ("home.turn", {"on": False, "device": "big light"}, "turn off the Ceiling in the Living Room"),
        ("home.turn", {"on": True, "kind": "light", "floor": "upstairs"}, "turn on the Ceiling in the Bedroom"),
        ("home.turn", {"on": False, "kind": "light", "everything": True}, "turn off 4 lights"),
        ("home.set", {"brightness": 20, "device": "worktop"}, "have the Worktop in the Kitchen at 20 percent"),
        ("home.set", {"temperature": 21}, "have the Thermostat in the Living Room set to 21 degrees"),
        ("home.adjust", {"what": "volume", "by": -10, "device": "radio"}, "make the Radio in the Kitchen quieter"),
        ("home.close", {"shape": "curtain"}, "close the Long ones in the Living Room"),
        ("home.lock", {"device": "front door"}, "lock the Front door in the Hall"),
        ("home.play", {"device": "radio", "query": "the Beatles"}, "play the Beatles on the Radio in the Kitchen"),
        ("home.mute", {"muted": False, "device": "radio"}, "give the Radio in the Kitchen its sound back"),
        ("home.clean", {}, "let Robbie clean"),
        ("home.dock", {"kind": "mower"}, "send the Mower back"),
        ("home.scene", {"name": "movie night"}, "set the scene Movie night"),
    ],
)
async def test_what_is_to_be_done_later_is_said_by_what_it_would_do(
    small: Small, tool: str, arguments: dict[str, Any], deed: str
) -> None:
    before = {name: small.state(name) for name in ("Worktop", "Radio", "Robbie", "Front door")}
    assert await small.said("later.do", tool=tool, seconds=300, arguments=arguments) == f"In 5 minutes: {deed}."
    assert await small.said("later.list") == f"In 5 minutes: {deed}."
    assert before == {name: small.state(name) for name in before}, "nothing is done before its time"


async def test_what_is_not_there_yet_is_looked_for_when_it_is_time_unless_it_was_named(data: Path) -> None:
    async with house_of(data, [light("Worktop", "Kitchen", on=True)]) as small:

        async def later(tool: str, **arguments: Any) -> str:
            answer = await small.call("later.do", "Study", tool=tool, seconds=300, arguments=arguments)
            return answer.error or answer.text

        assert await later("home.turn", on=False, kind="fan") == "In 5 minutes: turn off the fans."
        assert await later("home.turn", on=False, kind="light", room="attic") == "not_found"
        assert await later("home.turn", on=False, device="chandelier") == "not_found"
        await small.said("home.set", device="worktop", brightness=100)
        assert await later("home.adjust", what="brightness", by=10, device="worktop") == (
            "In 5 minutes: make the Worktop in the Kitchen brighter."
        )


async def test_what_a_turn_has_changed_goes_back_later_to_what_it_was(small: Small) -> None:
    back: dict[str, Any] = {"tool": "history.undo", "seconds": 3600}
    before = small.state("Worktop")["brightness"]
    await small.said("home.set", device="worktop", brightness=30)
    words = f"In 1 hour: have the Worktop in the Kitchen at {before} percent again."
    assert await small.said("later.do", **back) == words
    [deed] = (await small.call("later.list")).data["deeds"]
    assert (await small.refused("later.do", **back))[1] == "Nothing was changed, so nothing is put back then."
    await small.said("history.undo", receipt=deed["arguments"]["receipt"])
    assert small.state("Worktop")["brightness"] == before


async def test_no_other_words_for_a_deed_stand_for_what_it_would_do(small: Small) -> None:
    off = {"tool": "home.turn", "seconds": 300, "arguments": {"on": False, "device": "worktop"}}
    assert await small.said("later.do", **off, text="turn on the heating") == (
        "In 5 minutes: turn off the Worktop in the Kitchen."
    )


async def test_a_deed_to_come_is_said_in_the_language_of_who_wants_it(small: Small) -> None:
    off = {"tool": "home.turn", "seconds": 300, "arguments": {"on": False, "device": "worktop"}}
    wish = CallRequest(small.agent, "later.do", off, {"role": "adult"}, "turn_1", "test", language="de")
    assert (await small.gate.call(wish)).text == "In 5 Minuten: Worktop im Bereich Kitchen ausschalten."
    cancel = CallRequest(small.agent, "later.cancel", {}, {"role": "adult"}, "turn_2", "test", language="de")
    assert (await small.gate.call(cancel)).text == "Das lasse ich: Worktop im Bereich Kitchen ausschalten."


async def test_a_light_goes_off_when_its_time_has_come_in_the_room_it_was_said_in(small: Small) -> None:
    off = {"on": False, "kind": "light"}
    text = await small.said("later.do", here="Kitchen", tool="home.turn", seconds=1, arguments=off)
    assert text == "In 1 second: turn off 2 lights in the Kitchen."
    home = small.gate._engines["home"]
    with anyio.fail_after(10):
        assert await home.until(lambda: small.state("Worktop")["on"] is False, 10)
    assert small.state("Ceiling", "Living Room")["on"] is True


async def test_what_is_not_there_or_opens_to_strangers_is_refused_when_it_is_asked_for(small: Small) -> None:
    gone = {"tool": "home.turn", "seconds": 60, "arguments": {"on": True, "device": "chandelier"}}
    assert (await small.refused("later.do", **gone))[1].startswith("There is no device chandelier.")
    door = {"tool": "home.open", "seconds": 60, "arguments": {"device": "big door"}}
    assert (await small.refused("later.do", **door))[1] == "That needs a yes; ask me when it is time."


# ── who may ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("presence.where", {}),
        ("presence.where", {"person": "Ben"}),
        ("home.state", {"kind": "person", "quantity": "any", "value": "home"}),
        ("home.state", {"device": "Ben"}),
        ("home.state", {"device": "ben", "quantity": "where"}),
    ],
)
async def test_a_guest_does_not_hear_where_people_are(small: Small, tool: str, arguments: dict[str, Any]) -> None:
    answer = await small.call(tool, role="guest", **arguments)
    assert (answer.error, answer.text) == ("denied", "Where people are is only for those who live here.")
    assert (await small.call(tool, role="child", **arguments)).error is None


async def test_what_there_is_tells_a_guest_nobodys_whereabouts(small: Small) -> None:
    def places(answer: CallResult) -> list[str | None]:
        return [one["state"].get("place") for one in answer.data["devices"] if one["kind"] == "person"]

    assert places(await small.call("home.list", role="guest")) == [None, None]
    assert places(await small.call("home.list", role="adult")) == ["home", "School"]


async def test_guests_do_not_speak_through_the_speakers(small: Small) -> None:
    assert (await small.call("broadcast.say", role="guest", text="Boo")).error == "denied"
    assert (await small.call("broadcast.say", role="child", text="Dinner")).error is None


@pytest.mark.parametrize("role", ["child", "guest"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("home.unlock", {"device": "front door"}),
        ("home.open", {"device": "big door"}),
        ("home.open", {"shape": "garage"}),
        ("home.open", {"kind": "lock", "everything": True}),
        ("home.set", {"device": "big door", "position": 100}),
    ],
)
async def test_who_may_not_open_a_door_may_not_have_it_opened_later(
    small: Small, role: str, tool: str, arguments: dict[str, Any]
) -> None:
    answer = await small.call("later.do", role=role, tool=tool, seconds=60, arguments=arguments)
    assert answer.error == "denied", answer.text
    assert answer.text == "Only who lives here and is old enough may unlock doors and gates."
    assert await small.said("later.list") == "Nothing is to be done later."
    grown_up = await small.call("later.do", tool=tool, seconds=60, arguments=arguments)
    assert (grown_up.error, grown_up.text) == ("denied", "That needs a yes; ask me when it is time.")


async def test_a_rule_about_a_device_holds_for_what_is_to_be_done_later(small: Small) -> None:
    rule = Rule(
        "radio", "deny", "Not the radio.", roles=("child",), tools=("home.*",), arguments={"device": ("radio",)}
    )
    small.gate._policy = Policy((*small.gate._policy.rules, rule))
    for arguments in ({"device": "radio"}, {"room": "kitchen"}, {"everything": True}):
        answer = await small.call("later.do", role="child", tool="home.play", seconds=60, arguments=arguments)
        assert (answer.error, answer.text) == ("denied", "Not the radio."), arguments
    assert (await small.call("later.do", tool="home.play", seconds=60, arguments={"room": "kitchen"})).error is None


async def test_how_a_room_is_tells_what_is_not_at_rest(small: Any) -> None:
    text = await small.said("home.state", room="kitchen")
    assert "The Worktop in the Kitchen is on, at 50 percent." in text
    assert text.endswith("Everything else there is off or closed.")
    assert "Table lamp" not in text


async def test_a_cover_that_does_not_say_what_it_is_counts_as_a_blind_unless_its_name_says_more(data: Path) -> None:
    def cover(name: str) -> dict[str, Any]:
        return {"name": name, "kind": "cover", "room": "Living Room", "can": ["open"], "state": {"open": True}}

    async with house_of(data, [cover("Living room blinds"), cover("Garage door"), cover("Gartentor")]) as small:
        await small.said("home.close", "Living Room", shape="blind")
        assert small.state("Living room blinds")["open"] is False
        assert small.state("Garage door")["open"] is True
        assert small.state("Gartentor")["open"] is True


@pytest.mark.parametrize(
    ("language", "words"), [("en", ("open", "at home", "docked")), ("de", ("offen", "zu Hause", "in der Station"))]
)
async def test_what_only_reports_says_how_it_is_in_words(small: Small, language: str, words: tuple[str, ...]) -> None:
    small.language = language
    devices = (await small.call("home.list")).data["devices"]
    status = {one["name"]: one.get("status", "") for one in devices}
    assert tuple(status[name] for name in ("Kitchen Window", "Anna", "Robbie")) == words
    assert (status["Ben"], status["Thermometer"], status["Ceiling"]) == ("School", "", "")


async def test_who_may_not_look_for_people_reads_no_whereabouts_of_them(small: Small) -> None:
    devices = (await small.call("home.list", role="guest")).data["devices"]
    assert {one["name"]: one.get("status", "") for one in devices if one["kind"] == "person"} == {"Anna": "", "Ben": ""}
