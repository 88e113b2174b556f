"""What is wanted of devices is understood in any order of words, and what is none of it never acted on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from atlas.understanding.frame_words import Lexicon
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.masks import Masks
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from tests.conftest import for_every

HOUSE = Names(
    devices=(
        NamedDevice("Ceiling Light", "light", "Living Room"),
        NamedDevice("Reading Lamp", "light", "Living Room", aliases=("floor lamp",)),
        NamedDevice("Kitchen Light", "light", "Kitchen"),
        NamedDevice("Hall Light", "light", "Hall"),
        NamedDevice("Coffee Machine", "switch", "Kitchen"),
        NamedDevice("Thermostat", "climate", "Living Room", aliases=("heating",)),
        NamedDevice("Blinds", "cover", "Living Room", "blind"),
        NamedDevice("Curtains", "cover", "Bedroom", "curtain"),
        NamedDevice("Garage Door", "cover", "Garage", "garage"),
        NamedDevice("Front Door", "lock", "Hall"),
        NamedDevice("Back Door", "lock", "Kitchen"),
        NamedDevice("Radio", "media", "Kitchen"),
        NamedDevice("TV", "media", "Living Room", aliases=("telly",)),
        NamedDevice("Bedroom Fan", "fan", "Bedroom"),
        NamedDevice("Robbie", "vacuum", "Hall"),
        NamedDevice("Mower", "mower", "Garden"),
        NamedDevice("Garden Tap", "valve", "Garden"),
        NamedDevice("Kitchen Window", "sensor", "Kitchen", "window"),
        NamedDevice("Movie Night", "scene"),
        NamedDevice("Ben", "person"),
    ),
    rooms=(
        *(NamedPlace(room, "Ground Floor") for room in ("Living Room", "Kitchen", "Hall", "Garage")),
        *(NamedPlace("Bedroom", "First Floor"), NamedPlace("Garden")),
    ),
    floors=(NamedPlace("Ground Floor", aliases=("downstairs",)), NamedPlace("First Floor", aliases=("upstairs",))),
)
WANTED: dict[str, Any] = {
    "radio off": ("home.turn", {"on": False, "device": "Radio"}),
    "the kitchen light, on please": ("home.turn", {"on": True, "device": "Kitchen Light"}),
    "Telly off, dinner is on the table": ("home.turn", {"on": False, "device": "TV"}),
    "who left the hall light on, switch it off": ("home.turn", {"on": False, "device": "Hall Light"}),
    "lights out downstairs": ("home.turn", {"on": False, "kind": "light", "floor": "Ground Floor"}),
    "dim the big light to thirty percent": ("home.set", {"brightness": 30, "device": "Ceiling Light"}),
    "reading lamp red": ("home.set", {"colour": "red", "device": "Reading Lamp"}),
    "heating up to 21": ("home.set", {"temperature": 21, "device": "Thermostat"}),
    "it's freezing in here": (
        "home.adjust",
        {"what": "temperature", "by": 1, "kind": "climate", "room": "Living Room"},
    ),
    "blinds halfway, the sun is blinding me": ("home.set", {"position": 50, "device": "Blinds"}),
    "fan on in the bedroom, full blast": ("home.set", {"speed": 100, "device": "Bedroom Fan"}),
    "bolt the back door for me, love": ("home.lock", {"device": "Back Door"}),
    "unlock the front, I'm nearly there": ("home.unlock", {"device": "Front Door"}),
    "open the garage": ("home.unlock", {"device": "Garage Door"}),
    "water the garden": ("home.open", {"device": "Garden Tap"}),
    "set the mower off": ("home.mow", {"device": "Mower"}),
    "draw the curtains back": ("home.open", {"device": "Curtains"}),
    "louder, I love this one": ("home.adjust", {"what": "volume", "by": 10, "kind": "media"}),
    "put some Queen on in the kitchen": ("home.play", {"query": "Queen", "room": "Kitchen"}),
    "start all the mowers in the garden": ("home.mow", {}),
    "stop the vacuum in the bedroom": ("home.dock", {"kind": "vacuum"}),
    "Robbie, go home": ("home.dock", {"device": "Robbie"}),
    "water off in the garden": ("home.close", {"device": "Garden Tap"}),
    "movie night, house": ("home.scene", {"name": "Movie Night"}),
    "telly off in ten minutes": (
        "later.do",
        {"seconds": 600, "tool": "home.turn", "arguments": {"on": False, "device": "TV"}},
    ),
    "is the front door locked": ("home.state", {"device": "Front Door", "value": "locked"}),
    "kitchen window is open or no?": ("home.state", {"device": "Kitchen Window", "value": "open"}),
    "have I left the telly on": ("home.state", {"device": "TV", "value": "on"}),
}
SEVERAL = {
    "lamp and radio off": [("Reading Lamp", False), ("Radio", False)],
    "turn off the radio and the hall light": [("Radio", False), ("Hall Light", False)],
    "floor lamp on and the big light off": [("Reading Lamp", True), ("Ceiling Light", False)],
}
NOTHING = [
    "don't turn the kitchen light off",
    "Ben, turn that radio down",
    "he told me to lock the front door",
    "the lights went out and we lit candles",
    "my brother turned the heating up again",
    "close your eyes",
    "if the radio is on, nobody can hear you",
    "lights, camera, action",
    "tonight he opens the garage and finds it empty",
    "no need to touch the blinds",
    "who turned on the telly yesterday",
    "why do lamps get hot",
    "and then the",
    "never mind the radio, I said",
]


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return open_grammar("en")


@pytest.fixture(scope="module")
def frames(grammar: Grammar) -> Frames:
    return Frames(grammar.tables["frames"], grammar.digits)


def understood(frames: Frames, text: str, room: str = "Living Room") -> list[tuple[str, dict[str, Any]]]:
    look = frames.question(text, HOUSE, room)
    return [(one.tool, dict(one.arguments)) for one in ((look,) if look else frames.read(text, HOUSE, room))]


def test_words_in_any_order_become_the_call_that_is_meant(frames: Frames) -> None:
    heard = {text: understood(frames, text) for text in WANTED}
    assert {text: got for text, got in heard.items() if got != [WANTED[text]]} == {}


def test_several_things_are_done_in_one_sentence_with_what_is_left_out(frames: Frames) -> None:
    for text, wanted in SEVERAL.items():
        got = understood(frames, text)
        assert got == [("home.turn", {"on": on, "device": device}) for device, on in wanted], text


def test_what_reports_denies_or_speaks_to_somebody_else_is_never_acted_on(frames: Frames) -> None:
    assert {text: got for text in NOTHING if (got := understood(frames, text))} == {}


def test_who_asks_which_of_two_it_is_wants_neither(frames: Frames) -> None:
    for text in ("radio, on or off?", "the blinds, are they up or down", "front door open or shut"):
        assert frames.read(text, HOUSE, "Kitchen") == (), text
    assert understood(frames, "the hall light, on or off?")[0][0] == "home.state"


def test_words_with_a_question_mark_ask_unless_they_are_a_wish_in_its_form(frames: Frames) -> None:
    for asks in ("Kitchen light on?", "the garage, open?", "telly off?"):
        assert frames.only_asks(asks), asks
    for wants in (
        "Could you turn the kitchen light on?",
        "turn off the hall light?",
        "kitchen light on",
        "Lights, please?",
    ):
        assert not frames.only_asks(wants), wants


def test_a_name_that_this_house_does_not_have_is_not_acted_on(frames: Frames) -> None:
    assert understood(frames, "turn off the aquarium") == []
    assert Frames({}, str).read("radio off", HOUSE) == ()
    assert frames.read("radio off", Names()) == ()


def test_the_room_of_the_speaker_decides_what_a_plain_word_means(frames: Frames) -> None:
    assert understood(frames, "light on", "Hall") == [("home.turn", {"on": True, "device": "Hall Light"})]
    assert understood(frames, "light on", "Kitchen") == [("home.turn", {"on": True, "device": "Kitchen Light"})]


GERMAN_HOUSE = Names(
    devices=(
        NamedDevice("Deckenlampe", "light", "Wohnzimmer"),
        NamedDevice("Küchenlicht", "light", "Küche"),
        NamedDevice("Badlicht", "light", "Bad"),
        NamedDevice("Heizung", "climate", "Wohnzimmer"),
        NamedDevice("Jalousie", "cover", "Wohnzimmer", "blind"),
        NamedDevice("Haustür", "lock", "Flur"),
        NamedDevice("Fernseher", "media", "Wohnzimmer"),
        NamedDevice("Küchenfenster", "sensor", "Küche", "window"),
        NamedDevice("Gartenhahn", "valve", "Garten"),
    ),
    rooms=tuple(NamedPlace(room) for room in ("Wohnzimmer", "Küche", "Bad", "Flur", "Garten")),
)
GERMAN = {
    "Mach bitte das Küchenlicht an": ("home.turn", {"on": True, "device": "Küchenlicht"}),
    "kuechenlicht aus": ("home.turn", {"on": False, "device": "Küchenlicht"}),
    "Im Bad brennt noch Licht, mach das aus": ("home.turn", {"on": False, "device": "Badlicht"}),
    "Heizung auf einundzwanzig Grad": ("home.set", {"temperature": 21, "device": "Heizung"}),
    "Schließ die Haustür ab, wir gehen ins Bett": ("home.lock", {"device": "Haustür"}),
    "Jalousie halb runter, die Sonne blendet mich": ("home.set", {"position": 50, "device": "Jalousie"}),
    "Könnten Sie den Fernseher etwas leiser stellen": (
        "home.adjust",
        {"what": "volume", "by": -10, "device": "Fernseher"},
    ),
    "Ist die Haustür abgeschlossen?": ("home.state", {"device": "Haustür", "value": "locked"}),
    "ist der Gartenhahn zu oder tropft er": ("home.state", {"device": "Gartenhahn", "value": "closed"}),
    "Mir ist kalt": ("home.adjust", {"what": "temperature", "by": 1, "kind": "climate", "room": "Wohnzimmer"}),
}
GERMAN_NOTHING = [
    "mach das Licht nicht an",
    "er sagte, mach das Licht aus",
    "warum ist das Licht so warm",
    "das Licht im Bad ist an",
]


def test_german_is_read_with_its_verb_at_either_end() -> None:
    grammar = open_grammar("de")
    frames = Frames(grammar.tables["frames"], grammar.digits)
    for text, wanted in GERMAN.items():
        look = frames.question(text, GERMAN_HOUSE, "Wohnzimmer")
        got = [look] if look else list(frames.read(text, GERMAN_HOUSE, "Wohnzimmer"))
        assert [(one.tool, dict(one.arguments)) for one in got] == [wanted], text
    assert [text for text in GERMAN_NOTHING if frames.read(text, GERMAN_HOUSE, "Wohnzimmer")] == []


@for_every("language", ["en", "de"])
def test_names_without_a_word_leave_every_sentence_readable(language: str) -> None:
    nameless = ("_", "🔥", "…")
    names = Names(
        devices=tuple(NamedDevice(name, "light", name, aliases=nameless) for name in nameless),
        rooms=tuple(NamedPlace(name, name, nameless) for name in nameless),
        floors=tuple(NamedPlace(name) for name in nameless),
        people=nameless,
        lists=("camping", *nameless),
    )
    grammar = open_grammar(language)
    masks = Masks(Lexicon(grammar.tables["frames"]), grammar.digits)
    assert "{LIST}" in [piece.mask for piece in masks.pieces("milk: camping _ 🔥 …", names)]


def test_a_door_that_is_called_after_a_place_is_meant_by_that_place_wherever_it_is(frames: Frames) -> None:
    rooms = (*HOUSE.rooms, NamedPlace("Terrace"))
    house = replace(HOUSE, rooms=rooms, devices=(*HOUSE.devices, NamedDevice("Terrace Door", "lock", "Living Room")))
    [command] = frames.read("lock the door of the terrace", house, "Kitchen")
    assert (command.tool, command.arguments) == ("home.lock", {"device": "Terrace Door"})
    den = Names((NamedDevice("Dental Light", "light", "Hall"), NamedDevice("Desk Light", "light", "Hall")))
    den = replace(den, rooms=(NamedPlace("Den"), NamedPlace("Hall")))
    assert [one.arguments.get("device") for one in frames.read("light on in the den", den)] != ["Dental Light"]


def test_shutters_are_the_blinds_that_are_called_so(frames: Frames) -> None:
    shutters = NamedDevice("Bedroom Shutters", "cover", "Bedroom", "blind")
    house = replace(HOUSE, devices=(*HOUSE.devices, shutters))
    [command] = frames.read("close the shutters", house, "Kitchen")
    assert command.arguments == {"device": "Bedroom Shutters"}


def test_the_big_light_is_not_the_one_of_the_big_bedroom(frames: Frames) -> None:
    rooms = (*HOUSE.rooms, NamedPlace("Big Bedroom"))
    lights = tuple(
        NamedDevice(name, "light", "Big Bedroom") for name in ("Big Bedroom Lamp", "Ceiling Lamp", "Desk Lamp")
    )
    house = replace(HOUSE, rooms=rooms, devices=lights)
    assert [one.arguments for one in frames.read("big lamp on", house, "Big Bedroom")] == [
        {"on": True, "device": "Ceiling Lamp"}
    ]


def test_the_last_part_of_a_compound_names_the_only_thing_that_ends_so() -> None:
    grammar = open_grammar("de")
    house = Names((NamedDevice("Wäschetrockner", "switch", "Keller"), NamedDevice("Heizdecke", "switch", "Keller")))
    [command] = Frames(grammar.tables["frames"], grammar.digits).read("Schalt den Trockner aus", house)
    assert command.arguments == {"on": False, "device": "Wäschetrockner"}
    garden = Names((NamedDevice("Wintergarten", "light", "Wintergarten"), NamedDevice("Hahn Vorgarten", "valve")))
    garden = replace(garden, rooms=(NamedPlace("Wintergarten"),))
    assert Frames(grammar.tables["frames"], grammar.digits).read("Garten an", garden) == ()


def test_a_question_for_any_of_a_kind_looks_at_all_of_them(frames: Frames) -> None:
    look = frames.question("upstairs have some lamp which still on?", HOUSE, "Kitchen")
    assert look and look.arguments == {"kind": "light", "floor": "First Floor", "value": "on", "quantity": "any"}
    look = frames.question("I feel a draught. Have we a window open anywhere?", HOUSE, "Kitchen")
    assert look and look.arguments == {"kind": "sensor", "shape": "window", "value": "open", "quantity": "any"}


def test_a_place_in_a_clause_of_its_own_is_where_it_is_asked_about(frames: Frames) -> None:
    look = frames.question("bedroom, how warm is it, before mother lies down?", HOUSE, "Kitchen")
    assert look and look.arguments == {"measure": "temperature", "room": "Bedroom"}


def test_whether_somebody_moves_is_seen_by_the_sensor_of_the_room() -> None:
    house = replace(HOUSE, devices=(*HOUSE.devices, NamedDevice("Hall Motion", "sensor", "Hall", "motion")))
    frames = Frames(open_grammar("en").tables["frames"], open_grammar("en").digits)
    hall = Lexicon(open_grammar("en").tables["frames"]).known_tokens("hall", house)
    [look] = frames.look_at("in the hall somebody is moving? I heard steps", hall, house, "Kitchen")
    assert look.arguments["device"] == "Hall Motion"


def test_an_awning_goes_out_to_be_open_and_comes_in_to_be_closed() -> None:
    german = open_grammar("de")
    frames = Frames(german.tables["frames"], german.digits)
    written = {
        "fahr die Markise ein": "schließe die Markise",
        "Fahren Sie die Terrassenmarkise bitte aus.": "öffne die Terrassenmarkise.",
        "Markise ausfahren": "öffne Markise",
        "hol mal die Markise rein, es regnet": "schließe die Markise, es regnet",
        "fahr die Markise auf 50 Prozent": "fahr die Markise auf 50 Prozent",
        "fahr das Auto aus der Garage": "fahr das Auto aus der Garage",
        "hol die Wäsche rein": "hol die Wäsche rein",
        "die Markise ist eingefahren": "die Markise ist eingefahren",
    }
    assert {text: frames.without_idioms(text) for text in written} == written


def test_words_of_those_who_learn_it_are_written_plainly_and_what_sounds_alike_stays(frames: Frames) -> None:
    written = {
        "wake me tomorrow at five and half": "wake me tomorrow at half past five",
        "alarm for six and half only working days": "alarm for half past six only working days",
        "blinds up at seven and a quarter": "blinds up at quarter past seven",
        "alarm at eight less quarter": "alarm at quarter to eight",
        "heating at twenty and a half": "heating at twenty and a half",
        "set the thermostat at nine and a half": "set the thermostat at nine and a half",
        "he could read at five and a half years": "he could read at five and a half years",
        "set a timer for five and a half": "set a timer for five and a half minutes",
        "set a timer for five and a half hours": "set a timer for five and a half hours",
        "desk lamp on at fifty": "desk lamp on at fifty percent",
        "lights at 80 please": "lights at 80 percent please",
        "lamp on at ten": "lamp on at ten",
        "lights on at thirty past six": "lights on at thirty past six",
        "it's bedtime so blind down": "it's bedtime, blind down",
        "we're off to bed so turn the lights off": "turn the lights off",
        "we're out of milk so put it on the list": "we're out of milk so put it on the list",
        "it's so dark so early": "it is so dark so early",
        "only the lamp by the bed leave, other close": "turn off the lights except the lamp by the bed",
        "only the lamp": "only the lamp",
        "Did I say five? Six, I meant six": "no, Six",
        "did I say Friday? make it Saturday": "no, make it Saturday",
        "did I say something wrong? sorry": "did I say something wrong? sorry",
        "did I say five or six?": "did I say five or six?",
    }
    assert {text: frames.without_idioms(text) for text in written} == written
