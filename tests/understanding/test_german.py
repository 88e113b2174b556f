"""German as families speak it: regional numbers and hours, what is taken back, whys with a "not" or a time in them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from atlas.understanding.act_model import ENCODER, open_act_model
from atlas.understanding.grammar import open_grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.parser import open_parser
from atlas.understanding.public import open_public
from atlas.understanding.slots import Command
from atlas.understanding.understanding import Reader

pytestmark = pytest.mark.real
MODELS = Path(__file__).parents[2] / "models"
ROOMS = ("Küche", "Flur", "Wohnzimmer", "Schlafzimmer", "Büro", "Keller", "Garten")
HOUSE = Names(
    devices=(
        NamedDevice("Flurlicht", "light", "Flur"),
        NamedDevice("Kellerlicht", "light", "Keller"),
        NamedDevice("Leselampe", "light", "Wohnzimmer"),
        NamedDevice("Büroheizung", "climate", "Büro"),
        NamedDevice("Küchenradio", "media", "Küche"),
        NamedDevice("Fernseher", "media", "Wohnzimmer"),
        NamedDevice("Bügeleisen", "switch", "Keller"),
        NamedDevice("Geschirrspüler", "switch", "Küche"),
        NamedDevice("Schlafzimmerrollladen", "cover", "Schlafzimmer", "blind"),
        NamedDevice("Haustür", "lock", "Flur"),
    ),
    rooms=tuple(map(NamedPlace, ROOMS)),
    people=("Jonas", "Mia"),
    lists=("Einkaufsliste",),
)


@cache
def reader() -> Reader:
    grammar, learned = open_grammar("de"), open_act_model(MODELS / ENCODER)
    assert learned, "the encoder is among the weights that real tests have"
    return Reader(grammar, PublicReader(open_public("de"), grammar.commands), open_parser(grammar, learned))


def calls(text: str) -> list[tuple[str, dict[str, object]]]:
    return [(one.tool, dict(one.arguments)) for one in reader().read(text, HOUSE).commands]


def later(when: str, tool: str, **arguments: object) -> list[tuple[str, dict[str, object]]]:
    return [("later.do", {"when": when, "tool": tool, "arguments": arguments})]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("moch um hoibe neine as Küchenradio aus", later("um halb neun", "home.turn", on=False, device="Küchenradio")),
        ("Klock söven dat Flurlicht an", later("um sieben", "home.turn", on=True, device="Flurlicht")),
        ("weck mi um dreiviertl sechse", [("alarms.set", {"when": "um dreiviertel sechs"})]),
        ("weck mich um viertel acht", [("alarms.set", {"when": "um viertel acht"})]),
        ("stell en Timer uf zwänzg Minute", [("timers.start", {"seconds": 1200})]),
        ("Timer auf a Viertlstund", [("timers.start", {"seconds": 900})]),
        ("d Leselampn auf sechzg Prozent", [("home.set", {"device": "Leselampe", "brightness": 60})]),
        ("Leselampe auf siebzig Prozent", [("home.set", {"device": "Leselampe", "brightness": 70})]),
        (
            "stell d Büroheizig uf einezwänzg Grad",
            [("home.set", {"room": "Büro", "kind": "climate", "temperature": 21})],
        ),
    ],
)
def test_numbers_and_hours_of_every_region_are_the_written_ones(
    text: str, wanted: list[tuple[str, dict[str, object]]]
) -> None:
    assert calls(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "mach das Flurlicht an, ach nee, lass, es geht schon",
        "Kellerlicht an, obwohl nee, ich bin ja schon oben",
        "stell das Küchenradio lauter, kommando zurück",
        "Leselampe heller, schon gut, ich bin fertig",
        "mach den Fernseher aus, nee Spaß, ich schau noch",
        "sperr die Haustür ab, hat sich erledigt",
        "dreh die Büroheizung hoch, lieber gar nichts machen",
    ],
)
def test_what_is_taken_back_at_the_end_is_not_done(text: str) -> None:
    assert calls(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "ich mach später das Flurlicht aus",
        "den Rollladen zieh ich nach dem Essen hoch",
        "lass das Kellerlicht bitte an, ich geh gleich wieder runter",
        "lass den Fernseher an",
        "sollte jemand klopfen mach das Flurlicht an",
        "die Haustür abzuschließen lohnt nicht",
        "kannst du die Lampe im Flur",
        "mach das Flurlicht nicht an",
        "schalt das Bügeleisen an, lieber nicht",
        "wenn Jonas schläft mach den Fernseher aus",
        "Mia hat vorhin gerufen, mach das Flurlicht aus, aber da war keiner",
    ],
)
def test_what_somebody_does_himself_leaves_on_or_only_might_want_is_not_done(text: str) -> None:
    assert calls(text) == []


@pytest.mark.parametrize(
    ("text", "tool", "device"),
    [
        ("mach mal die Leselampe heller, ich seh die Buchstaben nicht", "home.adjust", "Leselampe"),
        ("ich hab keine Hand frei, sperr mal die Haustür auf", "home.unlock", "Haustür"),
        ("boah ich find hier gar nichts, Kellerlicht an", "home.turn", "Kellerlicht"),
        ("Jonas hat um neun Mathe, mach den Fernseher leiser", "home.adjust", "Fernseher"),
        ("wir müssen um sieben los, Bügeleisen aus", "home.turn", "Bügeleisen"),
        ("halt den Geschirrspüler an, da ist noch meine Tasse drin", "home.turn", "Geschirrspüler"),
    ],
)
def test_a_why_with_a_not_or_a_time_of_its_own_neither_forbids_nor_delays(text: str, tool: str, device: str) -> None:
    [(called, arguments)] = calls(text)
    assert (called, arguments.get("device")) == (tool, device)


def test_what_is_held_is_switched_off() -> None:
    assert calls("halt den Geschirrspüler an") == [("home.turn", {"on": False, "device": "Geschirrspüler"})]


@pytest.mark.parametrize(
    ("text", "remembered"),
    [
        ("erinner mich morgen um acht dran, die Blumen zu gießen", "Blumen gießen"),
        ("erinner mich am Montag um zehn dran, Mia abzuholen", "Mia abholen"),
        ("erinner mich heute um sechs ans Wäscheaufhängen", "Wäscheaufhängen"),
    ],
)
def test_a_reminder_is_about_the_thing_itself(text: str, remembered: str) -> None:
    [(tool, arguments)] = calls(text)
    assert (tool, arguments["text"]) == ("reminders.add", remembered)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("was sind zwölf Prozent von zweihundertachtzig?", "12 Prozent von 280"),
        ("was ist neunzehn mal dreiunddreißig, das brauch ich für Mathe", "19 mal 33"),
    ],
)
def test_a_sum_has_numbers_of_any_size(text: str, expression: str) -> None:
    assert calls(text) == [("world.calculate", {"expression": expression})]


@pytest.mark.parametrize("text", ["is d Haustür zue", "isch s Kellerliecht no aa", "brennt d Leselamp no"])
def test_a_question_in_dialect_needs_no_question_mark(text: str) -> None:
    assert [tool for tool, _ in calls(text)] == ["home.state"]


def test_a_place_that_is_only_pointed_at_is_the_name_of_none() -> None:
    assert reader().read("Wie ist dort das Wetter?", HOUSE).commands in ((), (Command("weather.now", {}),))
    assert reader().read("Wie ist das Wetter in Berlin?", HOUSE).commands == (
        Command("weather.now", {"place": "Berlin"}),
    )
