"""Home Assistant's satellites as speakers of the house: what rings or is announced in their rooms is said there."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import anyio

from atlas import trace
from atlas.bell import Ringing
from atlas.conversation import HOUSE
from atlas.errors import EngineError
from atlas.house import House
from atlas.speech.sentences import LONGEST_CHARACTERS, pieces

LOOK_SECONDS = 5.0  # between two looks at which satellites are there


async def speak(house: House) -> None:
    """Speak through each satellite to which the settings give a room, while it is there; until cancelled."""
    rooms, present = house.config.wyoming.rooms, frozenset[str]()
    while True:
        with ExitStack() as speaking:
            for satellite in sorted(present):
                say, ring = partial(_say, house, satellite), partial(_ring, house, satellite)
                speaking.enter_context(house.speaking_device(satellite, rooms[satellite], say, ring=ring))
            while (now := await _present(house)) == present:  # noqa: ASYNC110  # hubs say when devices change
                await anyio.sleep(LOOK_SECONDS)
        trace.line("home assistant speaks for the house", satellites=", ".join(sorted(now)) or "none")
        present = now


async def _present(house: House) -> frozenset[str]:
    """Return the satellites of the settings that Home Assistant can speak through now."""
    looked = await house.use_owner_tool("home.satellites", {}, HOUSE)
    return frozenset(looked.data["satellites"]) & {*house.config.wyoming.rooms} if looked.ok else frozenset()


async def _say(house: House, satellite: str, words: str) -> None:
    """Say something there; returns when it was played. Raises `EngineError` when it was not."""
    for part in _parts(words):
        done = await house.use_owner_tool("home.say", {"satellite": satellite, "words": part}, HOUSE)
        if not done.ok:
            raise EngineError(done.text)


async def _ring(house: House, satellite: str, words: str, ringing: Ringing) -> None:
    await _say(house, satellite, words)


def _parts(words: str) -> list[str]:
    """Cut words into parts that are spoken before the tool is given up; as few as can be."""
    parts = [""]
    for piece in pieces(words):
        if len(parts[-1]) + len(piece) > LONGEST_CHARACTERS:
            parts.append("")
        parts[-1] += piece
    return parts
