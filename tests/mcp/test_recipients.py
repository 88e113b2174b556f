"""For whom a message may be left: for people and rooms with a device that plays it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from atlas.conversation import Actor, Tool, ToolCall, ToolResult
from atlas.mcp.recipients import RecipientTools
from atlas.own_words import speaking
from atlas.store.devices import DeviceStore, open_devices
from tests.conftest import for_every
from tests.scripted_tools import ScriptedResult, ScriptedTools

ANNA = Actor("Anna", "annas phone", "adult")


def tools_of(devices: DeviceStore) -> RecipientTools:
    leaving = Tool("messages.leave", "Leave a message.", {"type": "object"})
    home = Tool("home.list", "Tell which devices and rooms there are.", {"type": "object"})
    places = [
        {"name": "Living room", "floor": "", "aliases": ["sitting room"]},
        {"name": "Cellar", "floor": "", "aliases": []},
    ]

    def left(arguments: Mapping[str, Any], _: Actor) -> ScriptedResult:
        return ScriptedResult(f"For {arguments.get('person') or arguments.get('room', '')}.")

    return RecipientTools(
        ScriptedTools([(leaving, left), (home, lambda *_: ScriptedResult("Rooms.", {"rooms": places}))]),
        *(devices.residents, devices.rooms, lambda room, device: "there"),
        {"Mum": "Anna"},
    )


async def leave(tools: RecipientTools, **arguments: Any) -> ToolResult:
    return await tools.call(ToolCall("call_1", "messages.leave", {"text": "Dinner", **arguments}), ANNA, "turn_1")


async def test_a_message_is_left_for_who_has_a_device_and_for_no_other_person(data: Path) -> None:
    async with open_devices(data) as devices:
        await devices.create("annas phone", "adult", "Anna")
        await devices.create("toms phone", "child", "Tom")
        await devices.create("guest phone", "guest", "Gus")
        tools = tools_of(devices)
        for fit, person in (
            ("tom", "Tom"),
            (" Anna ", "Anna"),
            ("mum", "Anna"),
            ("", ""),
        ):  # by the name that is told to the rooms
            assert (await leave(tools, person=fit)).text == f"For {person}."
        for unfit in ("Gandalf", "Gus"):
            refused = await leave(tools, person=unfit)
            sentence = "I can leave a message for Anna, Tom, for a room, or for everybody."
            assert (refused.ok, refused.error, refused.text) == (False, "not_found", sentence)


async def test_a_message_is_left_for_a_room_in_which_something_plays_it_and_for_no_other(data: Path) -> None:
    async with open_devices(data) as devices:
        await devices.create("annas phone", "adult", "Anna")
        tools = tools_of(devices)
        nowhere = "I can leave a message for a person or for everybody, but nothing that could play it is in a room."
        assert (await leave(tools, room="kitchen")).text == nowhere
        await devices.create("kitchen pi", "satellite", room="kitchen")
        await devices.create("living room pi", "satellite", room="living room")
        for fit, room in (
            ("kitchen", "kitchen"),
            (" the Kitchen", "kitchen"),
            ("Sitting Room", "living room"),
            ("", ""),
        ):
            assert (await leave(tools, room=fit)).text == f"For {room}."
        for unfit in ("ballroom", "cellar"):
            refused = await leave(tools, room=unfit)
            sentence = "I can play messages in these rooms: kitchen, living room."
            assert (refused.ok, refused.error, refused.text) == (False, "not_found", sentence)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "I can leave a message for a room or for everybody, but I know nobody by name."),
        ("de", "Ich kann eine Nachricht für ein Zimmer oder für alle hinterlassen, kenne aber niemanden mit Namen."),
    ],
)
async def test_where_nobody_has_a_name_a_message_is_for_a_room_or_everybody(
    data: Path, language: str, sentence: str
) -> None:
    async with open_devices(data) as devices:
        with speaking(language):
            assert (await leave(tools_of(devices), person="Anna")).text == sentence


@for_every(
    ("audience", "sentence"),
    [
        ("there", "Ich sage es überall."),
        ("elsewhere", "Dort kann mich gerade niemand hören, also sage ich es, wo jemand ist."),
        ("sender", "Sonst ist gerade nichts verbunden, also sagt es nur dieses Gerät."),
        ("nobody", "Gerade ist nichts verbunden, was es sagen könnte. Es wartet eine Stunde."),
    ],
)
async def test_an_announcement_says_who_hears_it(audience: str, sentence: str) -> None:
    asked_for: list[tuple[str, str]] = []

    def heard_by(room: str, device: str) -> str:
        asked_for.append((room, device))
        return audience

    async def nobody() -> list[str]:
        return []

    tool = Tool("broadcast.say", "Announce something.", {"type": "object"})
    result = ScriptedResult("Ich sage es überall.", {"broadcast": {"room": "kitchen"}})
    tools = RecipientTools(ScriptedTools([(tool, lambda *_: result)]), nobody, nobody, heard_by)
    with speaking("de"):
        answer = await tools.call(ToolCall("call_1", "broadcast.say", {"text": "Essen!"}), ANNA, "turn_1")
    assert (answer.ok, answer.text) == (True, sentence)
    assert asked_for == [("kitchen", "annas phone")]


@for_every(
    ("place", "person", "calls", "sentence"),
    [
        ("away", "Tom", ["presence.where", "messages.leave"], "Tom is away. For Tom."),
        ("school", "Tom", ["presence.where", "messages.leave"], "Tom is away. For Tom."),
        ("home", "Tom", ["presence.where", "broadcast.say"], "I'm saying it everywhere."),
        ("", "Tom", ["presence.where", "broadcast.say"], "I'm saying it everywhere."),
        (
            "away",
            "Gus",
            ["presence.where"],
            "Gus is away, and has no device here that I could leave it on.",
        ),
        ("away", "", ["broadcast.say"], "I'm saying it everywhere."),
    ],
)
async def test_what_is_for_one_person_is_said_aloud_only_where_they_may_hear_it(
    place: str, person: str, calls: list[str], sentence: str
) -> None:
    async def residents() -> list[str]:
        return ["Anna", "Tom"]

    def where(arguments: Mapping[str, Any], _: Actor) -> ScriptedResult:
        return ScriptedResult("There.", {"devices": [{"name": person, "state": {"place": place}}]})

    said = ScriptedResult("I'm saying it everywhere.", {"broadcast": {"room": ""}})
    inner = ScriptedTools(
        [
            (Tool("presence.where", "Tell where somebody is.", {"type": "object"}, read_only=True), where),
            (Tool("messages.leave", "Leave a message.", {"type": "object"}), lambda *_: ScriptedResult("For Tom.")),
            (Tool("broadcast.say", "Announce something.", {"type": "object"}), lambda *_: said),
        ]
    )
    tools = RecipientTools(inner, residents, residents, lambda room, device: "there")
    arguments = {"text": "Dinner", "person": person} if person else {"text": "Dinner"}
    answer = await tools.call(ToolCall("call_1", "broadcast.say", arguments), ANNA, "turn_1")
    assert (answer.text, [call.name for call in inner.calls]) == (sentence, calls)
