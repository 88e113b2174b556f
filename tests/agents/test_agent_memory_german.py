"""A German house finds what was said, and forgets it, in German."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from atlas.agents.agent_memory import Recall
from atlas.agents.minds import InOrder
from atlas.store.memory import open_memory
from atlas.understanding.grammar import open_grammar
from tests.houses import reader_of

from .test_agent_memory import DAY, HOUR, MINUTE, NOW, Hums, World


@pytest.fixture
async def haus(data: Path) -> AsyncIterator[World]:
    grammar = open_grammar("de")
    async with open_memory(data / "atlas.db") as memory:
        recall = Recall("family", grammar, memory, ZoneInfo("Europe/Berlin"))
        yield World(InOrder("family", reader_of(grammar), [recall, Hums()]), memory)


async def test_what_was_said_is_found_with_its_day_and_hour(haus: World) -> None:
    await haus.told("Der Urlaub geht im Juli nach Kreta", ago=3 * DAY)
    await haus.told("Der Urlaub kostet zu viel", ago=2 * HOUR)
    assert await haus.ask("Was haben wir über Urlaub gesagt?") == (
        "Am Donnerstag um 17:30 Uhr hast du gesagt: „Der Urlaub geht im Juli nach Kreta.“ "
        "Heute um 15:30 Uhr hast du gesagt: „Der Urlaub kostet zu viel.“"
    )
    assert (
        await haus.ask("Was haben wir über Elefanten gesagt?")
        == "Über Elefanten finde ich nichts, was du mir gesagt hast."
    )
    assert await haus.ask("Wann haben wir zuletzt über Urlaub gesprochen?") == "Das letzte Mal war heute um 15:30 Uhr."


async def test_what_was_said_is_forgotten_on_a_word(haus: World) -> None:
    await haus.told("Das bleibt unter uns", ago=5 * MINUTE)
    assert await haus.ask("Vergiss, was ich gerade gesagt habe") == "Ich habe vergessen: das, ein Wortwechsel."
    assert await haus.remembered() == []
    assert NOW.year == 2026


async def test_was_zu_etwas_gesagt_wurde_wird_nach_einer_frage_vergessen(haus: World) -> None:
    await haus.told("Die Nudeln waren scheußlich", ago=2 * DAY)
    assert await haus.ask("Vergiss, was ich über die Nudeln gesagt habe") == (
        "Das ist ein Wortwechsel, der erste am Freitag um 17:30 Uhr. Soll ich vergessen: was über Nudeln gesagt wurde?"
    )


async def test_much_is_not_forgotten_without_a_question(haus: World) -> None:
    await haus.told("Der Schlüssel liegt im Flur", ago=2 * DAY)
    assert await haus.ask("Vergiss alles") == (
        "Das ist ein Wortwechsel, der erste am Freitag um 17:30 Uhr. Soll ich vergessen: alles, was wir gesagt haben?"
    )
    assert await haus.remembered() == ["Der Schlüssel liegt im Flur"]
