"""Home Assistant's satellites as speakers: there while they are there, and believed only when they have played it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from atlas.bell import Ringing, Speakers
from atlas.config import Config, WyomingConfig
from atlas.conversation import Actor, Tool
from atlas.errors import EngineError
from atlas.gateway.home_assistant_rooms import LOOK_SECONDS, speak
from atlas.speech.sentences import LONGEST_CHARACTERS
from tests.conftest import virtual_time
from tests.houses import house_of
from tests.scripted_tools import ScriptedRefusal, ScriptedResult, ScriptedTools

BEDSIDE, PORCH = "assist_satellite.bedside", "assist_satellite.porch"


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


async def test_a_satellite_to_which_the_settings_give_a_room_speaks_for_the_house_while_it_is_there(
    config: Config,
) -> None:
    here, said, speakers = [BEDSIDE, PORCH], list[tuple[str, str]](), Speakers()

    def say(arguments: Mapping[str, Any], _: Actor) -> ScriptedResult:
        if arguments["words"] == "too late":
            raise ScriptedRefusal("not_found", "That satellite is not there.")
        said.append((arguments["satellite"], arguments["words"]))
        return ScriptedResult("It was said there.")

    tools = ScriptedTools(
        [
            (Tool("home.satellites", "", {}), lambda arguments, _: ScriptedResult("", {"satellites": list(here)})),
            (Tool("home.say", "", {}), say),
        ]
    )
    config = replace(config, wyoming=WyomingConfig("127.0.0.1", rooms={BEDSIDE: "bedroom"}))
    house = house_of(config, {}, tools={"house": tools}, speakers=speakers)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(speak, house)
        await anyio.sleep(1)
        assert speakers.rooms("") == ["bedroom"], "no other is the house's to speak through"
        (bedside,) = speakers.on(BEDSIDE)
        await bedside.say("Dinner is ready.")
        assert bedside.ring
        await bedside.ring("Your timer has ended.", Ringing("timer_1", "timer"))
        assert said == [(BEDSIDE, "Dinner is ready."), (BEDSIDE, "Your timer has ended.")]
        said.clear()
        message = "This is a long message of somebody who has much to tell. " * 30
        await bedside.say(message)
        assert "".join(words for _, words in said) == message
        assert all(len(words) <= LONGEST_CHARACTERS for _, words in said), "else Home Assistant is given up too soon"
        assert len(said) < 12, "a chime may come before each"
        with pytest.raises(EngineError, match="not there"):
            await bedside.say("too late")
        here.clear()
        await anyio.sleep(LOOK_SECONDS + 1)
        assert not speakers.rooms("")
        tasks.cancel_scope.cancel()
