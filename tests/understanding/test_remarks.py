"""What somebody only tells is answered as a remark, and what may be worth keeping is offered to be remembered."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from atlas.config import load
from atlas.conversation import Message
from atlas_bench._effects import AT
from atlas_bench._household import household
from tests.conftest import for_every

pytestmark = pytest.mark.real
DEVICES = [
    {"name": "Study Window", "kind": "sensor", "room": "Study", "shape": "window", "state": {"on": True}},
    {"name": "Kettle", "kind": "switch", "room": "Kitchen", "can": ["on"], "state": {"on": False}},
    *(
        {"name": name, "kind": "person", "room": "", "can": [], "state": {"place": "home"}}
        for name in ("Marcus", "Ida")
    ),
]
REMARK = {
    "en": "I took that as a remark, so I did nothing.",
    "de": "Das klang nach einer Bemerkung, darum habe ich nichts getan.",
}


async def talk(folder: Path, language: str, sentences: Sequence[str]) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return what is answered to sentences, said one after the other, and what is called for each."""
    rules, history, made = load(os.environ).tools.policy.read_text(encoding="utf-8"), tuple[Message, ...](), []
    rooms = [{"name": "Study"}, {"name": "Kitchen"}]
    async with household(folder, {"rooms": rooms, "devices": DEVICES}, language, rules, AT) as home:
        await home.names.fetch()
        for text in sentences:
            outcome = await home.say(text, "Kitchen", history)
            history += outcome.messages
            made.append((outcome.text, [(call.name, dict(call.arguments)) for call, _ in outcome.calls]))
    return made


@for_every(
    "language, text",
    [
        ("en", "Ida used to love this song when she was tiny."),
        ("en", "The teacher says that Ida reads now very good"),
        ("en", "Marcus reckons the postman never comes on time anyway."),
        ("de", "Der Marcus hat gestern wieder auf dem Sofa geschlafen."),
    ],
)
async def test_a_remark_is_answered_as_one(tmp_path: Path, language: str, text: str) -> None:
    assert await talk(tmp_path, language, [text]) == [(REMARK[language], [])]


@for_every(
    "language, text, fact",
    [
        ("en", "I live in Bristol", "I live in Bristol"),
        ("en", "By the way, I'm vegetarian", "I'm vegetarian"),
        ("en", "my daughter was born on the third of May", "my daughter was born on the third of May"),
        ("en", "I put my passport in the drawer of the desk", "I put my passport in the drawer of the desk"),
        (
            "de",
            "Mein Pass liegt in der Schublade vom Schreibtisch",
            "Mein Pass liegt in der Schublade vom Schreibtisch",
        ),
        ("de", "Ich bin Vegetarierin", "Ich bin Vegetarierin"),
        ("de", "Wir wohnen in Ulm", "Wir wohnen in Ulm"),
    ],
)
async def test_a_fact_is_offered_to_be_remembered(tmp_path: Path, language: str, text: str, fact: str) -> None:
    offered, remembered = await talk(tmp_path, language, [text, "yes" if language == "en" else "ja"])
    assert offered[0].endswith("?") and offered[1] == []
    assert remembered[1] == [("facts.remember", {"text": fact})]


@for_every("text", ["my kettle is in the kitchen", "I live in hope that he'll put the kettle on?"])
async def test_what_names_a_device_or_asks_is_not_offered(tmp_path: Path, text: str) -> None:
    [(answer, calls)] = await talk(tmp_path, "en", [text])
    assert "emember" not in answer and all(name != "facts.remember" for name, _ in calls)


async def test_the_window_of_a_room_is_looked_at_though_windows_are_mostly_no_devices(tmp_path: Path) -> None:
    [(_, calls)] = await talk(tmp_path, "en", ["Is the window open in the study?"])
    assert calls == [("home.state", {"device": "Study Window", "value": "open"})]


@for_every(
    "language, first, then",
    [
        ("en", "add a task for Ida: clean out the fridge", "you know what, give that one to Marcus, Ida did it last"),
        ("de", "neue Aufgabe: Steuer sortieren", "für den Marcus, net für mi"),
    ],
)
async def test_a_task_is_given_to_somebody_else(tmp_path: Path, language: str, first: str, then: str) -> None:
    _, (_, calls) = await talk(tmp_path, language, [first, then])
    assert [(name, given["assignee"]) for name, given in calls] == [("tasks.change", "Marcus")]


@for_every(
    "language, first, then",
    [
        ("en", "add a task: send off the tax return", "that has to be in by Friday"),
        ("de", "neue Aufgabe: Steuererklärung abschicken", "Bis Freitag muss das sein."),
    ],
)
async def test_a_task_gets_its_day(tmp_path: Path, language: str, first: str, then: str) -> None:
    _, (_, calls) = await talk(tmp_path, language, [first, then])
    assert [(name, given["due"]) for name, given in calls] == [
        ("tasks.change", "Friday" if language == "en" else "Freitag")
    ]


async def test_the_first_of_two_timers_is_cancelled_whatever_the_second_lasts(tmp_path: Path) -> None:
    *_, (answer, _) = await talk(
        tmp_path, "en", ["timer ten minutes", "and another for twenty", "the first one can go"]
    )
    assert answer == "10 minute timer cancelled."
