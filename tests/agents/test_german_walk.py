"""A walk through a German house: every answer that comes is German, whatever is asked, refused or gone wrong."""

from __future__ import annotations

import os
import re
from pathlib import Path

from babel.messages.pofile import read_po

from atlas.config import load
from atlas.conversation import Message
from atlas_bench._household import household
from tests.conftest import sample
from tools_server.values.language import CATALOGUES

AT = 1_795_370_400.0  # Sunday 22 November 2026, 18:00 in London
# What is in every English sentence and in no German one; words that both have ("in", "an", "was", "so") are not here.
ENGLISH = re.compile(
    r"\b(?:the|is|are|your|you|for|set|at|on|and|there|left|minutes?|hours?|today|tomorrow|every|nothing|with|of|to"
    r"|it|that|this|please|don't|can't|I'm|I've|have|has|not|which|shall|done|turn|what|when)\b"
)


def light(name: str, room: str, *, on: bool) -> dict[str, object]:
    can = ["on", "brightness", "colour"]
    return {"name": name, "kind": "light", "room": room, "can": can, "state": {"on": on, "brightness": 50}}


HOUSE = {
    "rooms": [{"name": name} for name in ("Küche", "Wohnzimmer", "Flur", "Terrasse")],
    "devices": [
        light("Küchenlicht", "Küche", on=True),
        light("Stehlampe", "Wohnzimmer", on=False),
        {"name": "Vorhänge", "kind": "cover", "shape": "curtain", "room": "Wohnzimmer", "can": ["open"],
         "state": {"open": True}},
        {"name": "Haustür", "kind": "lock", "room": "Flur", "can": ["locked"], "state": {"locked": True}},
        {"name": "Heizung", "kind": "climate", "room": "Wohnzimmer", "can": ["on", "temperature"],
         "state": {"on": True, "temperature": 21, "measured": 19.5}},
        {"name": "Radio", "kind": "media", "room": "Küche", "can": ["on", "playing", "volume", "muted", "next"],
         "state": {"on": True, "playing": True, "volume": 40}},
        {"name": "Fernseher", "kind": "media", "shape": "tv", "room": "Wohnzimmer", "can": ["on", "volume"],
         "state": {"on": False}},
        {"name": "Staubsauger", "kind": "vacuum", "room": "Flur", "can": ["clean", "dock"],
         "state": {"activity": "docked", "battery": 80}},
        {"name": "Markise", "kind": "cover", "shape": "awning", "room": "Terrasse", "can": ["open"],
         "state": {"open": False}},
        {"name": "Anna", "kind": "person", "state": {"place": "home"}},
    ],
}  # fmt: skip
SAID = Path(__file__).parent / "corpus" / "german_walk.txt"
FAILING = [  # tools whose arguments, devices or ways out fail
    ("home.set", {"device": "Stehlampe", "brightness": "hell"}),
    ("home.turn", {}),
    ("home.lock", {"device": "Markise"}),
    ("home.set", {"device": "Heizung", "mode": "nachts"}),
    ("timers.start", {"seconds": -1}),
    ("weather.now", {"place": "Atlantis"}),
    ("files.read", {"path": "gibtsnicht.txt"}),
    ("reminders.add", {"text": "Müll", "when": "gestern um acht"}),
]


async def test_no_answer_of_a_german_house_is_english(data: Path) -> None:
    rules = load(os.environ).tools.policy.read_text(encoding="utf-8")
    english: dict[str, str] = {}
    async with household(data, HOUSE, "de", rules, AT) as home:
        history: tuple[Message, ...] = ()
        for text in sample(SAID.read_text(encoding="utf-8").splitlines()):
            outcome = await home.say(text, history=history)
            history = (*history[-6:], *outcome.messages)
            if not outcome.text or ENGLISH.search(outcome.text):
                english[text] = outcome.text
        for tool, arguments in FAILING:
            result = await home.do(tool, **arguments)
            assert not result.ok, f"{tool} {arguments}: {result.text}"
            if ENGLISH.search(re.sub(r"[a-z]+\.[a-z]+|: .*", "", result.text)):
                english[f"{tool} {arguments}"] = result.text
    assert english == {}


def test_no_translation_is_english() -> None:
    with (CATALOGUES / "de" / "LC_MESSAGES" / "tools.po").open("rb") as file:
        catalog = read_po(file, "de")
    strings = [message.string for message in catalog if message.id]
    every = [form for one in strings for form in ([one] if isinstance(one, str) else one)]
    assert len(every) > 1000
    assert [form for form in every if ENGLISH.search(re.sub(r"\{[^}]*\}", "", form))] == []
