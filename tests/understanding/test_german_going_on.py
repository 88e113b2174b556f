"""What a German family says after something was done, and what only sounds like it: each talk in a whole house."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from atlas.config import load
from atlas.conversation import Message
from atlas_bench._effects import AT
from atlas_bench._household import household
from tests.conftest import for_every

pytestmark = pytest.mark.real


def thing(name: str, kind: str, room: str, shape: str = "", **state: Any) -> dict[str, Any]:
    can = [one for one in state if one not in ("measured", "activity", "battery", "place", "value", "unit")]
    can = ["clean", "dock", "clean_room"] if kind == "vacuum" else can
    can += ["next", "previous"] if kind == "media" else []
    return {"name": name, "kind": kind, "room": room, "shape": shape, "can": can, "state": state}


DEVICES = [
    thing("Deckenlicht", "light", "Wohnzimmer", on=True, brightness=80),
    thing("Stehlampe", "light", "Wohnzimmer", on=True, brightness=50),
    thing("Rollladen Ost", "cover", "Wohnzimmer", "blind", open=False, position=0),
    thing("Rollladen Süd", "cover", "Wohnzimmer", "blind", open=True, position=100),
    thing("Küchenlampe", "light", "Küche", on=True, brightness=90),
    thing("Herdlicht", "light", "Küche", on=False, brightness=0),
    thing("Nachtlicht", "light", "Linas Zimmer", on=False, brightness=0),
    thing("Deckenlampe", "light", "Linas Zimmer", on=True, brightness=90),
    thing("Flurlicht", "light", "Flur", on=True, brightness=60),
    thing("Haustür", "lock", "Flur", locked=False),
    thing("Terrassentür", "lock", "Wohnzimmer", locked=False),
    thing("Markise", "cover", "Terrasse", "awning", open=False, position=0),
    thing("Radio", "media", "Küche", on=False, playing=False, volume=30),
    thing("Ventilator", "fan", "Küche", on=False, speed=0),
    thing("Außenfühler", "sensor", "Terrasse", "temperature", value=7, unit="°C"),
    thing("Heizung", "climate", "Wohnzimmer", on=True, temperature=20, measured=19.5, mode="heat"),
    thing("Robbi", "vacuum", "Flur", activity="docked", battery=60),
    thing("Lina", "person", "", place="home"),
    thing("Max", "person", "", place="away"),
]
ROOMS = ("Wohnzimmer", "Küche", "Linas Zimmer", "Flur", "Terrasse")
HOUSE: Mapping[str, Any] = {"rooms": [{"name": one} for one in ROOMS], "devices": DEVICES}


def rows() -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Yield the room, the sentences and what the last one calls, of each line of going_on_de.txt."""
    for line in (Path(__file__).parent / "going_on_de.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            said, _, wanted = line.partition(" → ")
            room, _, sentences = said.partition(": ")
            yield room, tuple(sentences.split(" > ")), wanted


@for_every("room, sentences, wanted", rows())
async def test_what_goes_on_from_before_does_what_is_meant_and_nothing_else_does(
    data: Path, room: str, sentences: tuple[str, ...], wanted: str
) -> None:
    """Hold a talk in a new house: the tools that its last sentence calls, and words that are in their arguments."""
    history: tuple[Message, ...] = ()
    rules = load(os.environ).tools.policy.read_text(encoding="utf-8")
    async with household(Path(tempfile.mkdtemp(dir=data)), HOUSE, "de", rules, AT) as home:
        await home.names.fetch()
        for words in sentences:
            outcome = await home.say(words, room, history)
            history = (*history, *outcome.messages)
    tools = [call.name for call, _ in outcome.calls]
    arguments = " ".join(str(dict(call.arguments)) for call, _ in outcome.calls)
    expected, *parts = re.split(r" (?=[+-])", wanted)
    assert dict.fromkeys(tools) == dict.fromkeys(expected.split() if expected != "-" else ()), (tools, arguments)
    assert len(tools) >= len(expected.strip("-").split()), (tools, arguments)
    for part in parts:
        assert (part[1:].strip() in arguments) is (part[0] == "+"), (part, arguments)
