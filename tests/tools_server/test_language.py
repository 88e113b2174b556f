"""What tools speak in other languages than English: every sentence, with every place of it."""

from __future__ import annotations

import importlib.util
from datetime import date, datetime, time
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import for_every
from tools_server.values import language
from tools_server.values.language import speaking
from tools_server.values.noun_phrases import place, thing

ROOT = Path(__file__).parent.parent.parent
# A language may say the hour of 24 instead of that of 12, and need not say what its hours or names do without.
OF_THE_CLOCK = {
    "hour",
    "hour12",
    "half",
    "half2",
    "how",
    "minute",
    "nth",
    "n",
    "name",
    "day",
    "unit",
    "part",
    "article",
    "join",
}


def messages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("messages", ROOT / "scripts" / "messages.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def places(message: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message) if name is not None}


def forms(text: object) -> tuple[str, ...]:
    return text if isinstance(text, tuple) else (str(text),)


@pytest.mark.parametrize("spoken", [name for name in language.languages() if name != "en"])
def test_every_message_is_translated_and_none_that_nobody_says(spoken: str) -> None:
    module = messages()
    template = module.extracted()
    file, catalog = next(one for one in module.catalogues() if one[0].parent.parent.name == spoken)
    missing = [message.id for message in template if message.id and not module.translated(catalog, message)]
    unsaid = [message.id for message in catalog if message.id and not template.get(message.id, message.context)]
    assert (missing, unsaid) == ([], []), "run: python scripts/messages.py, and translate what came in"
    written = file.read_text(encoding="utf-8").count("\nmsgid ")
    assert written == len(catalog), "a merge left a message twice: run python scripts/messages.py"


@pytest.mark.parametrize("spoken", [name for name in language.languages() if name != "en"])
def test_a_translation_fills_the_places_of_its_message_and_no_others(spoken: str) -> None:
    catalog = next(catalog for file, catalog in messages().catalogues() if file.parent.parent.name == spoken)
    wrong = [
        (message.id, one)
        for message in catalog
        for one in forms(message.string)
        if message.id and one and not set().union(*map(places, forms(message.id))) ^ places(one) <= OF_THE_CLOCK
    ]
    assert wrong == []


def test_a_message_is_spoken_in_the_language_of_the_call_and_english_otherwise() -> None:
    assert language.series(["tea", "milk", "bread"]) == "tea, milk and bread"
    with speaking("de"):
        assert language.series(["Tee", "Milch", "Brot"]) == "Tee, Milch und Brot"
        assert language.text("No catalogue has this.") == "No catalogue has this."
    assert language.current() == "en"


@for_every(
    ("wanted", "known"), [("de", "de"), ("de-AT", "de"), ("DE_ch", "de"), ("xx", "en"), ("../de", "en"), (7, "en")]
)
def test_a_language_is_known_by_its_name_and_region(wanted: object, known: str) -> None:
    assert language.supported(wanted) == known


def test_german_says_times_dates_lengths_and_numbers_its_own_way() -> None:
    with speaking("de"):
        assert language.clock(time(7, 30)) == "7 Uhr 30"
        assert language.clock(datetime(2026, 11, 22, 19, 0)) == "19 Uhr"  # noqa: DTZ001 (only its hours are read)
        assert language.clock(time(12)) == "12 Uhr"
        assert language.calendar_day(date(2026, 12, 1)) == "Dienstag, 1. Dezember"
        assert language.length(3_725) == "1 Stunde, 2 Minuten und 5 Sekunden"
        assert language.number(1_221.5) == "1.221,5"
        assert language.number(21.0) == "21"


def test_english_says_them_as_before() -> None:
    assert language.clock(time(7, 30)) == "7:30 AM"
    assert language.clock(time(12)) == "noon"
    assert language.calendar_day(date(2026, 12, 1), year=True) == "Tuesday, December 1, 2026"
    assert language.length(60) == "1 minute"
    assert language.number(21.5) == "21.5"


@pytest.mark.parametrize(
    ("tool", "set_in", "due", "texts"),
    [
        (
            "timers.start",
            {"en": {"seconds": 600}, "de": {"seconds": 540}},
            "timers",
            {"en": "Your 10 minute timer ", "de": "Dein 9-Minuten-Timer "},
        ),
        (
            "alarms.set",
            {"en": {"when": "in 10 minutes"}, "de": {"when": "in 9 Minuten"}},
            "due",
            {"en": "This is your alarm.", "de": "Das ist dein Wecker."},
        ),
        (
            "reminders.add",
            {"en": {"text": "tea", "when": "in 10 minutes"}, "de": {"text": "Tee", "when": "in 9 Minuten"}},
            "due",
            {"en": "Reminder: tea.", "de": "Erinnerung: Tee."},
        ),
    ],
)
async def test_what_rings_speaks_the_language_in_which_it_was_set(
    world: Any, tool: str, set_in: dict[str, dict[str, Any]], due: str, texts: dict[str, str]
) -> None:
    for world.language in set_in:
        await world.ok(tool, **set_in[world.language])
    world.pass_seconds(600)
    world.language = "en"  # the house asks in its own
    family = tool.partition(".")[0]
    said = {one["language"]: one["text"] for one in (await world.ok(f"{family}.due", "house")).data[due]}
    assert said.keys() == texts.keys()
    assert all(text in said[language] for language, text in texts.items()), said


def test_what_is_called_after_somebody_goes_without_an_article() -> None:
    assert thing("Lamp", "Ruby's Room") == "the Lamp in Ruby's Room"
    assert thing("Ruby's Lamp", "Attic") == "Ruby's Lamp in the Attic"
    assert f"{place('Kitchen'):the}, {place('Ruby’s Room'):the}" == "the Kitchen, Ruby’s Room"
