"""What takes a part of the last deed back puts that back as it was; what only sounds like it changes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from atlas.config import load
from atlas.conversation import Message
from atlas_bench._effects import AT
from atlas_bench._household import household

pytestmark = pytest.mark.real
LIGHT, HEATING = ["on", "brightness"], ["on", "temperature", "mode"]
ENGLISH = {
    "Hall Lamp": ("Hall", "light", LIGHT, {"on": True, "brightness": 70}),
    "Ceiling Spots": ("Kitchen", "light", LIGHT, {"on": True, "brightness": 80}),
    "Shelf Strip": ("Kitchen", "light", LIGHT, {"on": False, "brightness": 0}),
    "Reading Lamp": ("Lounge", "light", LIGHT, {"on": True, "brightness": 40}),
    "Corner Lamp": ("Lounge", "light", LIGHT, {"on": False, "brightness": 0}),
    "Television": ("Lounge", "media", ["on", "volume"], {"on": True, "volume": 30}),
    "Washing Machine": ("Kitchen", "switch", ["on"], {"on": False}),
    "Lounge Radiator": ("Lounge", "climate", HEATING, {"on": True, "temperature": 20, "mode": "heat"}),
    "Bathroom Radiator": ("Bathroom", "climate", HEATING, {"on": True, "temperature": 23, "mode": "heat"}),
}
GERMAN = {
    "Flurlampe": ("Flur", "light", LIGHT, {"on": True, "brightness": 70}),
    "Deckenstrahler": ("Küche", "light", LIGHT, {"on": True, "brightness": 80}),
    "Regallicht": ("Küche", "light", LIGHT, {"on": False, "brightness": 0}),
    "Leselampe": ("Wohnzimmer", "light", LIGHT, {"on": True, "brightness": 40}),
    "Ecklampe": ("Wohnzimmer", "light", LIGHT, {"on": False, "brightness": 0}),
    "Fernseher": ("Wohnzimmer", "media", ["on", "volume"], {"on": True, "volume": 30}),
    "Waschmaschine": ("Küche", "switch", ["on"], {"on": False}),
    "Wohnzimmerheizung": ("Wohnzimmer", "climate", HEATING, {"on": True, "temperature": 20, "mode": "heat"}),
    "Badheizung": ("Bad", "climate", HEATING, {"on": True, "temperature": 23, "mode": "heat"}),
}


def house_of(devices: Mapping[str, Any]) -> dict[str, Any]:
    rows = [
        {"name": name, "room": room, "kind": kind, "can": can, "state": state, "aliases": []}
        for name, (room, kind, can, state) in devices.items()
    ]
    return {"rooms": [{"name": room} for room in dict.fromkeys(row["room"] for row in rows)], "devices": rows}


async def states_after(data: Path, language: str, devices: Mapping[str, Any], *said: str) -> dict[str, Any]:
    """Return how every device is after some sentences, said in the lounge."""
    history: tuple[Message, ...] = ()
    rules = load(os.environ).tools.policy.read_text(encoding="utf-8")
    async with household(data, house_of(devices), language, rules, AT) as home:
        await home.names.fetch()
        for words in said:
            outcome = await home.say(words, "Lounge" if language == "en" else "Wohnzimmer", history)
            history = (*history[-8:], *outcome.messages)
        listed = await home.do("home.list")
    return {row["name"]: row["state"] for row in listed.data["devices"]}


def changed(states: Mapping[str, Any], devices: Mapping[str, Any]) -> list[str]:
    """Return the devices that are not as they were before anything was said; of what is off nothing else counts."""
    first = {name: state for name, (_room, _kind, _can, state) in devices.items()}
    return [
        name
        for name, then in first.items()
        if then["on"] is not states[name]["on"] or (then["on"] and not then.items() <= states[name].items())
    ]


ALL_OFF, ALL_17 = "turn off all the lights in the house", "set the heating to 17 everywhere"
ALLES_AUS, ALLES_17 = "mach alle Lichter im ganzen Haus aus", "stell die Heizung überall auf 17 Grad"
ON = ["Hall Lamp", "Ceiling Spots", "Reading Lamp"]
AN = ["Flurlampe", "Deckenstrahler", "Leselampe"]


@pytest.mark.parametrize("remark", ["Hey, I'm still in here!", "I'm sitting here"])
async def test_only_the_lights_come_back_where_somebody_still_is(data: Path, remark: str) -> None:
    states = await states_after(data, "en", ENGLISH, ALL_OFF, remark)
    assert changed(states, ENGLISH) == ["Hall Lamp", "Ceiling Spots"]


async def test_who_is_there_for_somebody_wants_no_light(data: Path) -> None:
    states = await states_after(data, "en", ENGLISH, ALL_OFF, "I'm here if you need me")
    assert changed(states, ENGLISH) == ON


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ((ALL_OFF, "whoops, not the kitchen, I'm still cooking"), ["Hall Lamp", "Reading Lamp"]),
        ((ALL_OFF, "hang on, the hall one stays on"), ["Ceiling Spots", "Reading Lamp"]),
        ((ALL_OFF, "apart from the hall and the reading lamp"), ["Ceiling Spots"]),
        ((ALL_OFF, "I only meant the reading lamp"), ["Reading Lamp"]),
        ((ALL_OFF, "what time is it", "oh, and put the hall one back on"), ["Ceiling Spots", "Reading Lamp"]),
        ((ALL_OFF, "not the hall", "and not the kitchen either"), ["Reading Lamp"]),
        ((ALL_17, "leave the bathroom as it was"), ["Lounge Radiator"]),
        ((ALL_17, "not the bathroom though, Gran's in there"), ["Lounge Radiator"]),
        (("turn on the washing machine", "no sorry, not the washing, it's empty"), []),
        (("turn off the television and the reading lamp", "no no, just the lamp"), ["Reading Lamp"]),
        (("put the reading lamp at ten percent", "put the reading lamp back how it was"), []),
        ((f"{ALL_OFF} except the hall",), ["Ceiling Spots", "Reading Lamp"]),
        (("I only want the corner lamp on",), ["Reading Lamp", "Corner Lamp"]),
        (("turn on the corner lamp", "and everything else off"), ["Reading Lamp", "Corner Lamp", "Television"]),
        (("turn everything off except the hall",), ["Ceiling Spots", "Reading Lamp", "Television"]),
        ((ALL_OFF, "the hall is not very warm"), ON),
        ((ALL_OFF, "I'm not in the kitchen"), ON),
        ((ALL_OFF, "why not the hall?"), ON),
        ((ALL_OFF, "the hall stays cold all winter"), ON),
        ((ALL_OFF, "not the bathroom, leave that on"), ON),
    ],
)
async def test_what_is_excepted_in_english_is_as_it_was(data: Path, said: tuple[str, ...], left: list[str]) -> None:
    assert changed(await states_after(data, "en", ENGLISH, *said), ENGLISH) == left


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ((ALLES_AUS, "Moment, nicht die Küche, ich koch noch"), ["Flurlampe", "Leselampe"]),
        ((ALLES_AUS, "die Flurlampe kannst du an lassen"), ["Deckenstrahler", "Leselampe"]),
        ((ALLES_AUS, "bis auf den Flur und die Leselampe"), ["Deckenstrahler"]),
        ((ALLES_AUS, "nee, ich wollte nur die Leselampe aus"), ["Leselampe"]),
        ((ALLES_AUS, "wie spät ist es", "ach, den Flur bitte nicht"), ["Deckenstrahler", "Leselampe"]),
        ((ALLES_17, "das Bad lass bitte, wie es war"), ["Wohnzimmerheizung"]),
        ((ALLES_17, "na, net im Bad"), ["Wohnzimmerheizung"]),
        (("mach die Waschmaschine an", "halt, nein, nicht die Waschmaschine, die ist leer"), []),
        (("mach den Fernseher und die Leselampe aus", "nein, nur die Lampe"), ["Leselampe"]),
        ((f"{ALLES_AUS}, nur bei der Oma im Wohnzimmer nicht",), ["Flurlampe", "Deckenstrahler"]),
        (("nur die Ecklampe an",), ["Leselampe", "Ecklampe"]),
        (("mach die Ecklampe an", "den Rest aus"), ["Leselampe", "Ecklampe"]),
        (("mach alles aus außer im Flur",), ["Deckenstrahler", "Leselampe", "Fernseher"]),
        ((ALLES_AUS, "der Flur ist nicht geheizt"), AN),
        ((ALLES_AUS, "ich bin nicht in der Küche"), AN),
        ((ALLES_AUS, "warum nicht den Flur?"), AN),
        ((ALLES_AUS, "nicht schlecht"), AN),
    ],
)
async def test_what_is_excepted_in_german_is_as_it_was(data: Path, said: tuple[str, ...], left: list[str]) -> None:
    assert changed(await states_after(data, "de", GERMAN, *said), GERMAN) == left
