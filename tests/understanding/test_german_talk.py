"""A German family talks with a whole house: what is called, and now and then what is answered, dialogue by dialogue."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from atlas.config import load
from atlas.conversation import Message
from atlas_bench._household import household

pytestmark = pytest.mark.real
AT = 1_795_370_400.0  # Sunday 22 November 2026, 18:00 in London


def lamp(name: str, room: str, *, on: bool = False) -> dict[str, Any]:
    state = {"on": on, "brightness": 50, "kelvin": 3000}
    return {
        "name": name,
        "kind": "light",
        "room": room,
        "can": ["on", "brightness", "colour", "kelvin"],
        "state": state,
    }


def thing(name: str, kind: str, room: str, state: Mapping[str, Any], shape: str = "") -> dict[str, Any]:
    can = [one for one in state if one not in ("measured", "activity", "battery")]
    states = {one: value for one, value in state.items() if one not in ("next", "previous", "query")}
    return {"name": name, "kind": kind, "shape": shape, "room": room, "can": can, "state": states}


HEATED = {"on": True, "temperature": 20, "measured": 19, "mode": "heat"}
MUSIC = {"on": True, "playing": False, "volume": 40, "muted": False, "next": True, "previous": True, "query": True}
DEVICES = [
    *(lamp("Küchenlicht", "Küche", on=True), lamp("Hängelampe", "Wohnzimmer", on=True)),
    *(lamp("Stehlampe", "Wohnzimmer"), lamp("Dielenlicht", "Flur"), lamp("Badlicht", "Bad")),
    *(lamp("Gartenstrahler", "Garten"), lamp("Schreibtischlampe", "Büro"), lamp("Sternenlampe", "Mias Zimmer")),
    *(thing("Wasserkocher", "switch", "Küche", {"on": False}), thing("Spülmaschine", "switch", "Küche", {"on": True})),
    *(thing("Wohnzimmerheizung", "climate", "Wohnzimmer", HEATED), thing("Büroheizung", "climate", "Büro", HEATED)),
    thing("Musikbox", "media", "Mias Zimmer", MUSIC),
    thing("Vorhang", "cover", "Mias Zimmer", {"open": False, "position": 0}, "curtain"),
    thing("Küchenrollo", "cover", "Küche", {"open": True, "position": 100}, "blind"),
    thing("Garagentor", "cover", "Garage", {"open": False, "position": 0}, "garage"),
    *(thing("Haustür", "lock", "Flur", {"locked": True}), thing("Hintertür", "lock", "Küche", {"locked": False})),
    *(thing("Küchenradio", "media", "Küche", MUSIC), thing("Fernseher", "media", "Wohnzimmer", MUSIC)),
    thing("Ventilator", "fan", "Büro", {"on": True, "speed": 50}),
    {**thing("Robo", "vacuum", "Flur", {"activity": "docked", "battery": 80}), "can": ["clean", "dock", "clean_room"]},
    {**thing("Küchenfenster", "sensor", "Küche", {"open": True}, "window"), "can": []},
    {**thing("Büfenster", "sensor", "Büro", {"open": False}, "window"), "name": "Bürofenster", "can": []},
    *(
        {"name": name, "kind": "person", "state": {"place": place}, "aliases": aliases}
        for name, place, aliases in (("Jan", "home", ["Papa"]), ("Mia", "away", []), ("Resi", "home", ["Oma"]))
    ),
]
ROOMS = {"Küche": "Erdgeschoss", "Wohnzimmer": "Erdgeschoss", "Flur": "Erdgeschoss", "Garage": "", "Garten": ""}
ROOMS |= {"Bad": "Obergeschoss", "Büro": "Obergeschoss", "Mias Zimmer": "Obergeschoss"}
HOUSE = {
    "floors": [{"name": "Obergeschoss", "aliases": ["oben"]}, {"name": "Erdgeschoss", "aliases": ["unten"]}],
    "rooms": [{"name": room, "floor": floor} for room, floor in ROOMS.items()],
    "devices": DEVICES,
}


def talks() -> Iterator[tuple[str, ...]]:
    """Yield the talks of talk_de.txt: those between empty lines, and every line below a heading by itself."""
    for block in (Path(__file__).parent / "talk_de.txt").read_text(encoding="utf-8").strip().split("\n\n"):
        heading, *alone = block.splitlines()
        yield from [(line,) for line in alone] if heading.startswith("# ") else [(heading, *alone)]


@pytest.mark.parametrize("talk", [*talks()], ids=lambda talk: talk[-1].partition(" → ")[0])
async def test_what_a_family_says_does_what_is_meant(data: Path, talk: tuple[str, ...]) -> None:
    """Hold a talk: an optional `@room`, then `words → calls`, `→ -` for none, `→ „answer“`."""
    room, lines = (talk[0][1:], talk[1:]) if talk[0].startswith("@") else ("", talk)
    history: tuple[Message, ...] = ()
    async with household(data, HOUSE, "de", load(os.environ).tools.policy.read_text(encoding="utf-8"), AT) as home:
        for line in lines:
            words, _, wanted = line.partition(" → ")
            outcome = await home.say(words, room, history)
            history = (*history[-8:], *outcome.messages)
            calls = [(call.name, dict(call.arguments)) for call, _ in outcome.calls]
            if wanted.startswith("„"):
                assert outcome.text == wanted[1:-1], words
            else:
                pairs = [
                    (part.partition(" ")[0], json.loads(part.partition(" ")[2] or "{}")) for part in _parts(wanted)
                ]
                assert [name for name, _ in calls] == [name for name, _ in pairs], (words, calls)
                for (_, made), (_, expected) in zip(calls, pairs, strict=True):
                    assert expected.items() <= made.items(), (words, calls)


def _parts(wanted: str) -> list[str]:
    return [] if wanted == "-" else wanted.split("; ")
