"""The public grammar over the names of a house: what its sentences ask of tools, with names from nowhere else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import anyio
import anyio.from_thread
import pytest
from hassil.string_matcher import _RANGE_TRIE_CACHE

from atlas.agents.house_names import HouseNames, read_names
from atlas.conversation import Tool
from atlas.errors import ConfigError, StoreError
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.public import open_public
from atlas.understanding.understanding import Reader
from tests.conftest import for_every
from tests.houses import english
from tests.scripted_tools import ScriptedResult, ScriptedTools

HOUSE = Names(
    devices=(
        NamedDevice("Big Lamp", "light", "Lounge", aliases=("the moon",)),
        NamedDevice("Small Lamp", "light", "Attic"),
        NamedDevice("Street Door", "lock", "Porch"),
        NamedDevice("Roller", "cover", "Lounge", "shutter"),
        NamedDevice("Car Port", "cover", "Porch", "garage"),
        NamedDevice("Stereo", "media", "Lounge"),
        NamedDevice("Dusty", "vacuum", "Porch"),
        NamedDevice("Movie Time", "scene"),
        NamedDevice("Ada", "person"),
    ),
    rooms=(NamedPlace("Lounge", "Low Floor"), NamedPlace("Attic", "High Floor"), NamedPlace("Porch", "Low Floor")),
    floors=(NamedPlace("Low Floor"), NamedPlace("High Floor", aliases=("upstairs",))),
    people=("Ada",),
    lists=("shopping", "camping"),
)


@cache
def opened(language: str) -> PublicReader:
    return PublicReader(open_public(language))


def read(text: str, room: str = "", names: Names = HOUSE, language: str = "en") -> Any:
    meant = opened(language).read(text, names, room)
    return [(one.tool, dict(one.arguments)) for one in meant] if isinstance(meant, tuple) else meant


@for_every("quieter_first", [True, False])
@for_every(
    ("language", "quieter", "lamp"),
    [
        ("en", "turn the volume down by thirty percent", "set big lamp brightness to thirty percent"),
        ("de", "Stereo um dreißig Prozent leiser", "Big Lamp auf dreißig Prozent"),
    ],
)
def test_a_number_in_words_keeps_its_sign_whatever_was_said_before(
    language: str, quieter: str, lamp: str, quieter_first: bool
) -> None:
    _RANGE_TRIE_CACHE.clear()
    reader = PublicReader(open_public(language))
    for text in (quieter, lamp) if quieter_first else (lamp, quieter):
        [command] = reader.read(text, HOUSE, "Lounge")  # type: ignore[misc]
        given = dict(command.arguments)
        assert given.get("by", given.get("brightness")) == (-30 if text == quieter else 30)


@for_every(
    ("text", "tool", "arguments"),
    [
        ("turn on the big lamp", "home.turn", {"on": True, "device": "Big Lamp"}),
        ("switch the moon off", "home.turn", {"on": False, "device": "Big Lamp"}),
        ("turn off the lights upstairs", "home.turn", {"on": False, "kind": "light", "floor": "High Floor"}),
        ("turn off all the lights in the house", "home.turn", {"on": False, "kind": "light", "everything": True}),
        ("lock the street door", "home.lock", {"device": "Street Door"}),
        ("unlock the street door", "home.unlock", {"device": "Street Door", "room": "Porch"}),
        ("close the lounge shutters", "home.close", {"kind": "cover", "shape": "shutter", "room": "Lounge"}),
        ("set the roller to 40%", "home.set", {"device": "Roller", "position": 40}),
        ("stereo volume down by 15%", "home.adjust", {"device": "Stereo", "what": "volume", "by": -15}),
        ("vacuum the attic", "home.clean", {"room": "Attic"}),
        ("movie time", "home.scene", {"name": "Movie Time"}),
        ("where is Ada", "presence.where", {"person": "Ada"}),
        ("add torches to my camping list", "lists.add", {"items": ["torches"], "list": "camping"}),
        ("add 5 minutes to the pasta timer", "timers.add", {"by_seconds": 300, "name": "pasta"}),
        ("take half an hour off the timer", "timers.add", {"by_seconds": -1800}),
        ("announce that supper is ready", "broadcast.say", {"text": "supper is ready"}),
    ],
)
def test_a_public_sentence_is_a_tool_call_about_what_this_house_has(
    text: str, tool: str, arguments: Mapping[str, Any]
) -> None:
    [(called, given)] = read(text)
    assert called == tool
    assert {name: given.get(name) for name in arguments} == arguments


@for_every(
    ("text", "quantity", "value"),
    [
        ("are any lights on in the attic", "any", "on"),
        ("are all the lights off in the attic", "all", "off"),
        ("which lights are on in the attic", "which", "on"),
        ("how many lights are on in the attic", "how_many", "on"),
    ],
)
def test_a_question_about_the_house_is_looked_up_with_what_it_asks(text: str, quantity: str, value: str) -> None:
    [(tool, given)] = read(text)
    assert (tool, given) == ("home.state", {"kind": "light", "room": "Attic", "quantity": quantity, "value": value})


def test_what_nobody_here_is_called_is_no_device() -> None:
    assert read("turn on the garden fountain") is None
    assert read("turn on the big lamp", names=Names()) is None


def test_here_is_left_to_the_tool_which_knows_where_the_speaker_stands() -> None:
    assert read("turn on the lights in here", "Attic") == [("home.turn", {"on": True, "kind": "light"})]
    assert read("turn on the lights in here") == [("home.turn", {"on": True, "kind": "light"})]


def test_a_garage_is_opened_as_a_lock_is() -> None:
    assert read("open the garage door", "Porch") == [("home.unlock", {"device": "Car Port", "room": "Porch"})]


def test_a_deed_for_later_is_read_within() -> None:
    [(tool, given)] = read("turn off the big lamp in 5 minutes")
    assert tool == "later.do"
    assert (given["seconds"], given["tool"]) == (300, "home.turn")
    assert given["arguments"] == {"on": False, "device": "Big Lamp"}


def test_never_mind_is_answered_and_does_nothing() -> None:
    assert read("never mind") == "All right."


def test_german_sentences_have_the_same_tools() -> None:
    [(tool, given)] = read("schalte die Big Lamp ein", language="de")
    assert (tool, given) == ("home.turn", {"on": True, "device": "Big Lamp"})
    with pytest.raises(ConfigError):
        open_public("xx")


def test_a_house_of_two_hundred_devices_is_ready_in_a_second() -> None:
    devices = tuple(
        NamedDevice(f"Thing {number}", "light", "Attic", aliases=(f"it {number}",)) for number in range(200)
    )
    reader, began = opened("en"), time.process_time()
    reader.prepare(Names(devices=devices, rooms=HOUSE.rooms))
    assert time.process_time() - began < 1
    assert read("turn on thing 117", names=Names(devices=devices))[0][1]["device"] == "Thing 117"


def test_a_thing_of_a_list_is_not_called_by_the_verb_before_it() -> None:
    reader = Reader(english(), opened("en"))
    [command] = reader.read("complete apples on my shopping list", HOUSE).commands
    assert (command.tool, dict(command.arguments)) == ("lists.check", {"items": ["apples"]})


@pytest.mark.anyio
async def test_names_are_fetched_from_the_tools_and_again_when_they_change() -> None:
    house: dict[str, Any] = {"devices": [{"name": "Big Lamp", "kind": "light", "room": "Lounge"}], "rooms": ["Lounge"]}
    prepared: list[Names] = []
    listing = Tool("home.list", "", {"type": "object"}, read_only=True)
    tools = ScriptedTools([(listing, lambda arguments, actor: ScriptedResult("Lamps.", dict(house)))])
    names = HouseNames(tools, prepared.append)
    assert names() == Names()
    assert await names.fetch()
    assert [device.name for device in names().devices] == ["Big Lamp"]
    house["devices"] = [*house["devices"], {"name": "Small Lamp", "kind": "light", "aliases": ["tiny"]}]
    await names.fetch()
    await names.fetch()
    assert [device.name for device in names().devices] == ["Big Lamp", "Small Lamp"]
    assert len(prepared) == 2  # made ready once for each that is new


@pytest.mark.anyio
async def test_a_device_that_was_added_has_a_name_at_once() -> None:
    house: dict[str, Any] = {"devices": [], "rooms": ["Lounge"]}
    prepared = anyio.Event()

    def prepare(known: Names) -> None:
        anyio.from_thread.run_sync(prepared.set)

    listing = Tool("home.list", "", {"type": "object"}, read_only=True)
    names = HouseNames(ScriptedTools([(listing, lambda arguments, actor: ScriptedResult("", dict(house)))]), prepare)
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(5):
            tasks.start_soon(names.watch)
            await prepared.wait()
            prepared = anyio.Event()
            house["devices"] = [{"name": "Big Lamp", "kind": "light"}]
            names.look_again()
            await prepared.wait()
        tasks.cancel_scope.cancel()
    assert [device.name for device in names().devices] == ["Big Lamp"]


@pytest.mark.anyio
async def test_who_comes_in_by_a_token_has_a_name_in_the_house() -> None:
    house: dict[str, Any] = {"devices": [{"name": "Ben", "kind": "person"}], "rooms": []}
    listing = Tool("home.list", "", {"type": "object"}, read_only=True)
    tools = ScriptedTools([(listing, lambda arguments, actor: ScriptedResult("Ben.", dict(house)))])
    people: list[str] = ["Anna", "Ben"]

    async def known() -> list[str]:
        if not people:
            raise StoreError("the disk is gone")
        return people

    names = HouseNames(tools, people=known)
    assert await names.fetch()
    assert names().people == ("Ben", "Anna")
    people.clear()
    assert await names.fetch()
    assert names().people == ("Ben",), "what cannot be read holds up nothing else"


def test_what_cannot_be_read_of_a_house_is_left_out() -> None:
    names = read_names({"devices": [{"kind": "light"}, 7, {"name": "A", "kind": "light", "can": [1, "on"]}]}, {})
    assert names == Names(devices=(NamedDevice("A", "light", can=frozenset({"on"})),))
