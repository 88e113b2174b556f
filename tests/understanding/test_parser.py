"""What no grammar has is read by what was learnt from a corpus of sentences, or it is left alone."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from atlas.conversation import HOUSE, Message, ToolCall, Turn
from atlas.understanding import act_model
from atlas.understanding.act_model import (
    CORPUS,
    ENCODER,
    LABELS,
    ActModel,
    LikelyAct,
    corpus_lines,
    input_of,
    open_act_model,
)
from atlas.understanding.encoder import SentenceEncoder
from atlas.understanding.frame_words import Lexicon
from atlas.understanding.grammar import open_grammar
from atlas.understanding.masks import Masks
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.parser import NOTHING, Before, Parser, _Reading, act_of, open_parser
from atlas.understanding.slots import Command
from atlas.understanding.understanding import Reader

pytestmark = pytest.mark.real
MODELS = Path(__file__).parents[2] / "models"
HOUSE_NAMES = Names(
    devices=(
        NamedDevice("Flurlicht", "light", "Flur"),
        NamedDevice("Leselampe", "light", "Wohnzimmer"),
        NamedDevice("Heizung", "climate", "Wohnzimmer"),
        NamedDevice("Radio", "media", "Küche"),
        NamedDevice("Jalousie", "cover", "Wohnzimmer", shape="blind"),
    ),
    rooms=(NamedPlace("Flur"), NamedPlace("Wohnzimmer"), NamedPlace("Küche")),
    people=("Anna", "Ben"),
    lists=("einkaufen", "camping"),
)
VACUUM_NAMES = Names(
    devices=(NamedDevice("Robbie", "vacuum", "Hall", aliases=("robot vacuum",)),),
    rooms=(NamedPlace("Hall"), NamedPlace("Kitchen")),
    people=("Anna", "Tom"),
)
ENGLISH_NAMES = Names(
    devices=(
        NamedDevice("Hall Light", "light", "Hall"),
        NamedDevice("Desk Lamp", "light", "Study"),
        NamedDevice("Heating", "climate", "Living Room"),
        NamedDevice("Radio", "media", "Kitchen"),
        NamedDevice("Back Door", "lock", "Kitchen"),
        NamedDevice("Christmas Tree", "switch", "Hall"),
    ),
    rooms=(NamedPlace("Hall"), NamedPlace("Study"), NamedPlace("Living Room"), NamedPlace("Kitchen")),
    people=("Anna", "Ben"),
    lists=("shopping", "camping"),
)


@cache
def learned() -> ActModel:
    opened = open_act_model(MODELS / ENCODER)
    assert opened, "the encoder is among the weights that real tests have"
    return opened


@cache
def german() -> Parser:
    parser = open_parser(open_grammar("de"), learned())
    assert parser
    return parser


@cache
def german_reader() -> Reader:
    return Reader(open_grammar("de"), None, german())


def german_reading(text: str) -> _Reading:
    pieces = german()._pieces(text, HOUSE_NAMES)
    return _Reading(text, pieces, learned().read([piece.mask for piece in pieces]).labels("temperature"))


@cache
def english() -> Parser:
    parser = open_parser(open_grammar("en"), learned())
    assert parser
    return parser


@pytest.mark.parametrize("text", ["İ" * 200, "İ" * 300, " ".join(["ıŋŧđħ"] * 40), "\N{HANGUL SYLLABLE GAG}" * 300])
def test_more_pieces_than_the_encoder_has_places_for_are_no_request(text: str) -> None:
    assert german().parse(text, HOUSE_NAMES).act == "nothing"


@pytest.mark.parametrize("damage", [None, b"", b"PK\3\4 no zip", b"\x93NUMPY\1\0", b"words"])
def test_a_house_starts_without_what_was_taught_when_that_is_missing_or_damaged(
    damage: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "acts.npz"
    if damage is not None:
        file.write_bytes(damage)
    monkeypatch.setattr(act_model, "TAUGHT", file)
    assert open_act_model(MODELS / ENCODER) is None
    assert "nothing that was learnt helps to understand" in caplog.text


def test_a_house_starts_without_what_was_taught_when_half_of_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, file = (CORPUS / "acts.npz").read_bytes(), tmp_path / "acts.npz"
    monkeypatch.setattr(act_model, "TAUGHT", file)
    for damaged in (whole[: len(whole) // 2], whole[:1000] + b"\0" * 100_000 + whole[101_000:]):
        file.write_bytes(damaged)
        assert open_act_model(MODELS / ENCODER) is None
    with np.load(CORPUS / "acts.npz") as stored:
        np.savez(file, acts=stored["acts"])
    assert open_act_model(MODELS / ENCODER) is None


def masked(text: str, names: Names = ENGLISH_NAMES, language: str = "en") -> list[str]:
    grammar = open_grammar(language)
    masks = Masks(Lexicon(grammar.tables["frames"]), grammar.digits)
    return [piece.mask for piece in masks.pieces(text, names)]


def test_what_was_taught_was_taught_from_the_corpora_as_they_stand() -> None:
    corpora = "".join(f"{line}\n" for language in ("de", "en") for line in corpus_lines(language))
    with np.load(CORPUS / "acts.npz") as stored:
        assert str(stored["corpora"]) == hashlib.sha256(corpora.encode()).hexdigest(), "run scripts/train_acts.py"


def test_what_is_taught_of_an_act_stands_in_one_file_of_a_language() -> None:
    stands_in = set[tuple[str, str, str]]()
    for file in CORPUS.glob("??/*.txt"):
        acts = {re.split(r"\t| < ", line)[0] for line in file.read_text(encoding="utf-8").splitlines()}
        stands_in |= {(file.parent.name, act, file.stem) for act in acts}
    assert [where for where, times in Counter(one[:2] for one in stands_in).items() if times > 1] == []
    assert {(language, act) for language, act, _ in stands_in} >= {("en", "timers.start"), ("de", "timers.start")}


@pytest.mark.parametrize(
    ("text", "masks"),
    [
        ("stick the hall light on", ["stick", "the", "{LIGHT}", "on"]),
        ("wake me at half past six", ["wake", "me", "{WHEN}"]),
        ("ten minutes for Anna's eggs", ["{DURATION}", "for", "{PERSON}", "eggs"]),
        ("milk on the camping list", ["milk", "on", "the", "{LIST}", "list"]),
        ("lights in the study to forty", ["{lights}", "in", "the", "{ROOM}", "to", "{N}"]),
        ("the christmas tree on christmas", ["the", "{APPLIANCE}", "{WHEN}"]),  # a name goes before a feast
        ("the desk radio", ["the", "desk", "{PLAYER}"]),  # part of a lamp's name, before another thing
    ],
)
def test_names_times_and_numbers_are_masked(text: str, masks: list[str]) -> None:
    assert masked(text) == masks


def test_lengths_of_time_are_masked_in_german() -> None:
    said = "fünf Minuten fürs Ei, und anderthalb Stunden Mittagsschlaf"
    assert masked(said, HOUSE_NAMES, "de").count("{DURATION}") == 2


def test_labels_of_slots_take_the_best_path_and_not_the_best_words() -> None:
    labels = learned().read(["{DURATION}", "für", "die", "roten", "nudeln", "bitte"]).labels("timers.start")
    assert len(labels) == 6
    assert {*labels} <= {*LABELS}
    for before, label in zip(["O", *labels], labels, strict=False):
        assert not label.startswith("I-") or before[2:] == label[2:], "nothing goes on that did not begin"


def test_what_is_read_knows_nothing_of_a_house_but_what_is_masked() -> None:
    class Letters:
        """Tokens that are letters."""

        def pieces_of(self, word: str) -> list[int]:
            return [ord(letter) for letter in word]

    read = input_of(["{LIGHT}", "{lights}", "on"], "home.turn", Letters())  # type: ignore[arg-type]
    words = "hometurn", "light", "lights", "on"
    assert "".join(map(chr, read.pieces)) == "\0{}\2{}{}{}\2".format(*words)
    assert [read.kinds[at] for at in read.starts] == [2, 1, 0], "a name, a kind of device, a plain word"


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (
            "Könntest du mal die Leselampe einschalten, ich seh nix",
            [("home.turn", {"on": True, "device": "Leselampe"})],
        ),
        ("fünf Minuten fürs Ei", [("timers.start", {"seconds": 300, "name": "Ei"})]),
        ("im Wohnzimmer die Jalousie runterlassen gell", [("home.close", {"device": "Jalousie"})]),
    ],
)
def test_roundabout_german_is_understood(text: str, commands: list[tuple[str, dict[str, object]]]) -> None:
    parse = german().parse(text, HOUSE_NAMES)
    assert parse.is_sure()
    assert [(one.tool, dict(one.arguments)) for one in parse.commands] == commands


@pytest.mark.parametrize(
    "text", ["Oma hat das Flurlicht schon ausgemacht", "Ben, komm essen", "", "x" * 400, "und " * 90]
)
def test_a_story_a_call_and_nonsense_ask_for_nothing(text: str) -> None:
    assert not german().parse(text, HOUSE_NAMES).is_sure()


@pytest.mark.parametrize(
    "text",
    [
        "ich habe alle Timer gelöscht",
        "soll ich die Heizung ausmachen",
        "wenn es regnet mach die Jalousie zu",
        "Alexa, Radio aus",
    ],
)
def test_reports_doubts_conditions_and_other_assistants_do_nothing(text: str) -> None:
    assert not Reader(open_grammar("de"), None, german()).read(text, HOUSE_NAMES).commands


def test_a_deed_with_a_time_is_done_then_and_not_now() -> None:
    [command] = german().parse("schalte um zehn Uhr die Leselampe aus", HOUSE_NAMES).commands
    assert command.tool == "later.do"
    assert command.arguments == {
        "when": "um zehn Uhr",
        "tool": "home.turn",
        "arguments": {"on": False, "device": "Leselampe"},
    }


def test_a_worse_reading_that_says_not_to_keeps_the_better_one_from_being_done() -> None:
    reader = Reader(open_grammar("de"), None, german())
    for words, denied in (("Radio aus", "Radio nicht aus"), ("lösch alle Timer", "lösch bitte nicht alle Timer")):
        turn = Turn("", words, HOUSE, 0.0, alternatives=(denied,))
        assert not reader.understand(turn, HOUSE_NAMES).commands


@pytest.mark.parametrize(
    "text", ["Radio ²", "Heizung auf ① Grad", "stell die Heizung auf 21,5 Grad", "\u200bRadio\u200b aus"]
)
def test_odd_digits_marks_and_invisible_letters_are_read_as_people_see_them(text: str) -> None:
    commands = Reader(open_grammar("de"), None, german()).read(text, HOUSE_NAMES).commands
    assert [one.arguments.get("temperature") for one in commands] in ([], [21.5], [None])


@pytest.mark.parametrize(
    ("tool", "arguments", "result"),
    [
        ("home.adjust", {"what": "volume", "by": "more"}, "{}"),
        ("home.adjust", {"what": ["volume"], "by": None}, "not json"),
        ("later.do", {"tool": "home.turn", "arguments": "on"}, '{"ok": false}'),
        ("later.do", {"tool": None, "arguments": [1]}, "[" * 100_000),
        ("home.turn", {"on": True, "device": 7}, '{"ok": true, "data": {"devices": 5}}'),
        (
            "home.state",
            {"value": ["on"], "quantity": []},
            '{"ok": true, "data": {"devices": [{"state": {}, "name": 3}]}}',
        ),
        ("lists.add", {}, '{"ok": true, "changed": true, "data": {"items": true}}'),
        ("timers.add", {"by_seconds": None}, '{"ok": true, "changed": true, "data": {}}'),
        ("home.lock", {}, '{"error": "invalid", "text": "Which one?", "data": {"devices": ["x"]}}'),
    ],
)
def test_a_history_that_a_model_or_a_client_broke_breaks_no_turn(
    tool: str, arguments: dict[str, object], result: str
) -> None:
    history = (
        Message("user", "mach das Radio lauter"),
        Message("assistant", calls=(ToolCall("c1", tool, arguments),)),
        Message("tool", result, call_id="c1"),
        Message("assistant", "So."),
    )
    reader = Reader(open_grammar("de"), None, german())
    for words in ("mach es aus", "nein, Hafermilch", "noch fünf Minuten", "und im Flur", "danke", "nein, zehn"):
        reader.understand(Turn("", words, HOUSE, 0.0, history=history), HOUSE_NAMES)


@pytest.mark.parametrize(
    ("text", "tool", "reply"),
    [
        ("gibt es neue Nachrichten", "messages.list", "Es gibt keine neuen Nachrichten."),
        ("was steht heute an", "calendar.list", "Im Kalender steht heute nichts."),
    ],
)
def test_who_asks_for_help_behind_a_look_is_not_told_once_more_what_was_looked_up(
    text: str, tool: str, reply: str
) -> None:
    history = (
        Message("user", text),
        Message("assistant", calls=(ToolCall("c1", tool, {}),)),
        Message("tool", '{"ok": true, "data": {}}', call_id="c1"),
        Message("assistant", reply),
    )
    meant = german_reader().understand(Turn("", "Was kann ich sagen?", HOUSE, 0.0, history=history), HOUSE_NAMES)
    assert meant.help
    assert not meant.commands


@pytest.mark.parametrize(
    "text",
    [
        'lock it then → home.lock {"device": "Back Door"}',
        "turn the light on in there → ? Which one do you mean?",
        'set a timer for five minutes and one for ten → timers.start {"seconds": 300}; timers.start {"seconds": 600}',
    ],
)
def test_what_nobody_would_say_but_somebody_may_paste_ends_no_turn(text: str) -> None:
    Reader(open_grammar("en"), None, english()).understand(Turn("", text, HOUSE, 0.0), ENGLISH_NAMES)


def test_what_was_done_before_is_meant_by_words_that_name_nothing() -> None:
    before = Before("on", {"on": True, "device": "Leselampe"}, ("Leselampe",))
    meant = german()._meant([], HOUSE_NAMES, before)  # as the commands are made
    assert [token.value.name for token in meant] == ["Leselampe"]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("mach die Heizung zwei Grad wärmer", {"what": "temperature", "by": 2.0}),
        ("die Leselampe ein bisschen heller", {"what": "brightness", "by": 20}),
        ("die Leselampe um 30 Prozent dunkler", {"what": "brightness", "by": -30.0}),
        ("Heizung auf 22 Grad wärmer", {"temperature": 22.0}),
    ],
)
def test_a_step_is_not_taken_for_the_value(text: str, arguments: dict[str, object]) -> None:
    [command] = german_reader().read(text, HOUSE_NAMES).commands
    assert arguments.items() <= command.arguments.items()


def test_a_kind_that_other_words_describe_is_the_one_thing_called_so() -> None:
    [command] = german().parse("mach die Lampe zum Lesen an", HOUSE_NAMES).commands
    assert command.arguments == {"on": True, "device": "Leselampe"}


def test_the_same_again_takes_the_value_that_was_set_before() -> None:
    before = Before("temperature", {"temperature": 21.0, "device": "Heizung"}, ("Heizung",))
    [command] = german()._commands(
        LikelyAct("temperature", 1.0), german_reading("im Wohnzimmer auch so"), HOUSE_NAMES, "", before
    )
    assert command.arguments["temperature"] == 21.0


def test_there_is_the_place_that_was_just_spoken_of() -> None:
    before = Before("weather.now", {"place": "Toronto"})
    [command] = english().parse("And what time is it there?", ENGLISH_NAMES, before=before).commands
    assert (command.tool, command.arguments) == ("clock.time", {"place": "Toronto"})
    [command] = english().parse("And what time is it?", ENGLISH_NAMES, before=before).commands
    assert (command.tool, command.arguments) == ("clock.time", {})
    before = Before("clock.time", {"place": "Toronto"})
    [command] = english().parse("Is there going to be rain tomorrow?", ENGLISH_NAMES, before=before).commands
    assert "place" not in command.arguments


def test_where_a_machine_is_that_was_just_spoken_of_is_a_look_at_it() -> None:
    before = Before("clean", {"device": "Robbie"}, ("Robbie",))
    [command] = english().parse("Is he back in his kennel?", VACUUM_NAMES, before=before).commands
    assert (command.tool, command.arguments) == ("home.state", {"device": "Robbie"})


def test_who_a_message_is_for_is_whom_it_was_about_and_not_who_is_named_in_it() -> None:
    before = Before("presence.where", {"person": "Tom"}, person="Tom")
    text = "Then leave him a message that Anna's prescription wants collecting"
    [command] = english().parse(text, VACUUM_NAMES, before=before).commands
    assert command.arguments["person"] == "Tom"


def test_a_message_for_when_somebody_comes_home_is_left_whole() -> None:
    [command] = (
        german().parse("Sag Tom bitte, er soll keine Nusstorte kaufen, wenn er heimkommt", VACUUM_NAMES).commands
    )
    assert (command.tool, command.arguments) == ("messages.leave", {"text": "keine Nusstorte kaufen", "person": "Tom"})
    assert not english().parse("if Tom asks, leave him a message that dinner is ready", VACUUM_NAMES).commands
    assert not german().parse("Wenn Tom danach fragt, sag ihm, dass das Essen fertig ist", VACUUM_NAMES).commands


def test_a_sum_goes_on_with_the_one_before() -> None:
    before = Before("world.calculate", {"expression": "12 mal zwölf"})
    [command] = german().parse("das durch sechs", HOUSE_NAMES, before=before).commands
    assert command.arguments == {"expression": "( 12 mal 12 ) / 6"}
    [command] = (
        english()
        .parse("And times two?", ENGLISH_NAMES, before=Before("world.calculate", {"expression": "9 times 7"}))
        .commands
    )
    assert command.arguments == {"expression": "( 9 times 7 ) times 2"}


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("ist die Leselampe noch an? ich weiß es nicht mehr", ["home.state"]),
        ("mach das Radio nicht aus, ich hör das noch", []),
        ("mach die Leselampe aus, nein warte, lass es", []),
        ("mach die Leselampe aus, Ben", []),  # to Ben
    ],
)
def test_a_reason_after_a_wish_hides_it_not_and_makes_none(text: str, tools: list[str]) -> None:
    commands = german_reader().read(text, HOUSE_NAMES).commands
    assert [command.tool for command in commands] == tools


@pytest.mark.parametrize(
    ("tool", "arguments", "act"),
    [
        ("home.turn", {"on": False}, "off"),
        ("home.adjust", {"what": "volume", "by": -10}, "quieter"),
        ("home.set", {"temperature": 20, "device": "Heizung"}, "temperature"),
        ("home.state", {}, "look"),
        ("lists.read", {}, "lists.show"),
        ("timers.start", {"seconds": 5}, "timers.start"),
    ],
)
def test_a_call_has_the_act_that_it_was_made_for(tool: str, arguments: dict[str, object], act: str) -> None:
    assert act_of(tool, arguments) == act


def test_nothing_is_parsed_without_the_encoder_that_it_was_learnt_with() -> None:
    assert open_act_model(Path("nowhere")) is None
    assert open_parser(open_grammar("en"), None) is None
    assert open_parser(open_grammar("fr"), learned()) is None, "there is no corpus of it"


def test_a_reading_says_how_likely_its_best_three_acts_are() -> None:
    likely = learned().read(["mach", "das", "light", "an"]).likely
    assert len(likely) == 3
    assert likely[0].act == "on"
    assert 1 >= likely[0].chance > likely[1].chance > likely[2].chance >= 0


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Would you ever stick the hall light on", "home.turn"),
        ("I wonder whether one might have the desk lamp a little brighter", "home.adjust"),
        ("Rice eighteen minute put please", "timers.start"),
        ("Moon is full when?", "world.moon"),
        ("There's no milk, stick it on the list", "lists.add"),
        ("Ben he is at where now", "presence.where"),
    ],
)
def test_strangers_english_is_understood(text: str, tool: str) -> None:
    meant = Reader(open_grammar("en"), None, english()).read(text, ENGLISH_NAMES)
    assert [one.tool for one in meant.commands] == [tool]


@pytest.mark.parametrize(
    "text",
    [
        "Ben, have you turned your computer off?",
        "I turned the hall light off before we left",
        "Was the back door locked all night?",
        "Is Anna cross with me?",
        "Who put the radio on?",
    ],
)
def test_what_nobody_asked_of_the_house_is_neither_done_nor_looked_up(text: str) -> None:
    assert Reader(open_grammar("en"), None, english()).read(text, ENGLISH_NAMES).empty


def test_a_follow_up_leans_on_the_lamp_before() -> None:
    call = ToolCall("c1", "home.turn", {"on": True, "device": "Desk Lamp"})
    told = '{"ok": true, "changed": true, "devices": [{"name": "Desk Lamp", "kind": "light", "id": "desk"}]}'
    history = (
        Message("user", "desk lamp on"),
        Message("assistant", calls=(call,)),
        Message("tool", told, call_id="c1"),
        Message("assistant", "The Desk Lamp is now on."),
    )
    turn = Turn("", "right, off with it again", HOUSE, 0.0, history=history)
    meant = Reader(open_grammar("en"), None, english()).understand(turn, ENGLISH_NAMES)
    assert meant.commands == (Command("home.turn", {"on": False, "device": "Desk Lamp"}),)
    assert english().parse("off with it again", ENGLISH_NAMES, before=NOTHING).commands == ()


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Anna's bus gets in at ten, put the hall light on for her", "on"),
        ("we have guests at seven, so make the living room warmer", "warmer"),
    ],
)
def test_a_time_in_the_reason_makes_nothing_later(text: str, act: str) -> None:
    [command] = english().parse(text, ENGLISH_NAMES).commands
    assert act_of(command.tool, command.arguments) == act


def test_of_two_times_the_one_beside_the_deed_is_when_it_is_done() -> None:
    [command] = (
        english().parse("the film ends at nine, switch the hall light off at half past nine", ENGLISH_NAMES).commands
    )
    assert (command.tool, command.arguments["when"]) == ("later.do", "at half past nine")


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("what's four pounds twenty and three pounds fifty", "4.20 plus 3.50"),
        ("we split ninety between six, what does each pay", "90 / 6"),
    ],
)
def test_sums_are_read_as_people_say_them(text: str, expression: str) -> None:
    [command] = english().parse(text, ENGLISH_NAMES).commands
    assert command.arguments["expression"] == expression


def test_a_unit_is_converted_in_whatever_order_it_is_asked_for() -> None:
    [command] = english().parse("the oven book says 350 Fahrenheit, what is that in Celsius", ENGLISH_NAMES).commands
    assert command.arguments == {"amount": "350", "unit": "fahrenheit", "to": "celsius"}
    [command] = english().parse("all in ounces, so how many grams would six ounces of suet be", ENGLISH_NAMES).commands
    assert command.arguments == {"amount": "6", "unit": "ounce", "to": "gram"}
    [command] = german().parse("alles noch in Pfund, wie viel Kilo sind denn fünf Pfund?", Names()).commands
    assert command.arguments == {"amount": "5", "unit": "metric pound", "to": "kilogram"}
    [command] = german().parse("wie viel sind denn fünf Pfund in Gramm, für den Kuchen?", Names()).commands
    assert command.arguments == {"amount": "5", "unit": "metric pound", "to": "gram"}


def test_what_lacks_a_length_of_time_is_asked_for_it() -> None:
    parse = english().parse("get a timer going for the potatoes", ENGLISH_NAMES)
    assert parse.half
    assert parse.half.tools == ("timers.start",)


def test_a_condition_forbids_whatever_else_is_sure() -> None:
    assert not english().parse("if it freezes tonight turn the heating up in the living room", ENGLISH_NAMES).is_sure()


@pytest.mark.parametrize("text", ["is Anna angry with me about the bike", "is Ben in love with the new teacher"])
def test_a_question_about_a_person_that_no_place_answers_is_not_looked_up(text: str) -> None:
    reader = Reader(open_grammar("en"), None, english())
    meant = reader.understand(Turn("t", text, HOUSE, 0.0), ENGLISH_NAMES)
    assert (meant.commands, meant.concern) == ((), "cannot")


def test_a_number_says_more_than_a_word_for_little() -> None:
    [command] = english().parse("desk lamp on, really low, ten percent or so", ENGLISH_NAMES).commands
    assert command.arguments == {"brightness": 10, "device": "Desk Lamp"}


def test_a_number_that_no_clock_face_has_is_what_heating_is_set_to() -> None:
    before = Before("temperature", {"temperature": 21.0, "device": "Heating"}, ("Heating",))
    [command] = english().parse("do the living room at nineteen as well", ENGLISH_NAMES, before=before).commands
    assert (command.tool, command.arguments["temperature"]) == ("home.set", 19.0)


def test_how_many_is_said_beside_what_is_meant_and_not_of_something_else() -> None:
    fans = Names(devices=(NamedDevice("Badlüfter", "fan", "Bad"), NamedDevice("Turmventilator", "fan", "Büro")))
    text = "Kannst du den Lüfter auf volle Pulle stellen? Hier beschlägt ja alles"
    assert all("everything" not in one.arguments for one in german().parse(text, fans).commands)
    [command] = german().parse("Kannst du alle Lüfter auf volle Pulle stellen?", fans).commands
    assert command.arguments["everything"] is True


def test_that_day_is_the_day_that_was_spoken_of_and_not_its_hour() -> None:
    before = Before("calendar.add", {"title": "hairdresser", "start": "on Friday at ten"})
    [command] = english().parse("And what else have I got on that day?", ENGLISH_NAMES, before=before).commands
    assert (command.tool, command.arguments) == ("calendar.list", {"day": "on Friday"})


def test_an_alarm_that_is_to_ring_at_another_time_instead_is_moved() -> None:
    [command] = english().parse("Change the alarm, six thirty instead, I've packed", ENGLISH_NAMES).commands
    assert (command.tool, command.arguments) == ("alarms.change", {"when": "at six thirty"})
    [command] = english().parse("wake-up not at seven, change please for eight less quarter", ENGLISH_NAMES).commands
    assert (command.tool, command.arguments) == ("alarms.change", {"when": "quarter to eight"})


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("somewhere in notes I was writing about insurance, you search", "notes.search", {"words": "insurance"}),
        ("word necessary, how it is written, letter after letter please", "world.spell", {"word": "necessary"}),
    ],
)
def test_what_is_surely_looked_up_is_looked_up_by_the_likeliest_of_its_words(
    text: str, tool: str, arguments: dict[str, object]
) -> None:
    [command] = english().parse(text, ENGLISH_NAMES).commands
    assert (command.tool, command.arguments) == (tool, arguments)


@pytest.mark.parametrize(
    "text",
    [
        "desk lamp on, please, if it is possible",
        "I would be very thankful to you if the desk lamp could go on",
    ],
)
def test_a_polite_if_is_no_condition(text: str) -> None:
    [command] = english().parse(text, ENGLISH_NAMES).commands
    assert command.arguments == {"on": True, "device": "Desk Lamp"}
    assert not english().parse("put the desk lamp on if it gets dark, so we can see", ENGLISH_NAMES).commands


@pytest.mark.parametrize("text", ["mind the desk lamp when you go past", "be careful with the desk lamp"])
def test_who_is_told_to_mind_a_thing_wants_nothing_of_it(text: str) -> None:
    assert not english().parse(text, ENGLISH_NAMES).is_sure()


def test_a_particle_behind_both_is_the_verb_of_both() -> None:
    text = "Turn the hall light and the radio off in here, I've finished"
    assert all(one.arguments["on"] is False for one in english().parse(text, ENGLISH_NAMES).commands)


def test_who_hurries_somebody_says_nothing_to_everybody() -> None:
    assert not german().parse("Beeil dich, Ben, andere wollen auch noch ins Bad!", HOUSE_NAMES).commands


def test_who_praises_a_dinner_sets_no_scene_of_its_name() -> None:
    names = Names(devices=(NamedDevice("Abendessen", "scene"),))
    assert not german().parse("Nu, das war aber ä feines Abendessen, Muttl.", names).commands
    assert german().parse("Abendessen bitte", names).commands


@cache
def english_reader() -> Reader:
    return Reader(open_grammar("en"), None, english())


def tools_of(reader: Reader, text: str, names: Names) -> list[str]:
    return [one.tool for one in reader.understand(Turn("t", text, HOUSE, 0.0), names).commands]


@pytest.mark.parametrize(
    "text",
    [
        "wake me at five, I've an early shift",
        "get me up at six, big move tomorrow",
        "alarm for six please, I need to change the baby",
        "set another alarm for five, I move house",
        "wake me at seven instead of my phone doing it",
    ],
)
def test_a_word_of_moving_elsewhere_moves_no_alarm(text: str) -> None:
    assert tools_of(english_reader(), text, ENGLISH_NAMES) == ["alarms.set"]


@pytest.mark.parametrize("text", ["weck mich um fünf, der Zug ist verlegt worden", "weck mich um sieben statt Mama"])
def test_a_german_word_of_moving_elsewhere_moves_no_alarm(text: str) -> None:
    assert tools_of(german_reader(), text, HOUSE_NAMES) == ["alarms.set"]


@pytest.mark.parametrize(
    "text",
    [
        "if Anna rings, so please unlock the back door",
        "only if Anna is asleep, so don't ask, put the radio on",
        "unlock the back door would be great if Anna rings",
        "desk lamp on would be great if it rains",
        "put the desk lamp on if it will go dark",
    ],
)
def test_a_condition_stays_one_beside_so_and_politeness(text: str) -> None:
    assert tools_of(english_reader(), text, ENGLISH_NAMES) == []


@pytest.mark.parametrize(
    "text",
    ["wenn es draußen dunkel ist, so schalt bitte die Leselampe ein", "Falls jemand kommt, so mach das Flurlicht an"],
)
def test_a_german_condition_stays_one_before_so(text: str) -> None:
    assert tools_of(german_reader(), text, HOUSE_NAMES) == []


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("switch the hall light and lock the back door", ["home.turn", "home.lock"]),
        ("well done, Anna, lights on please", ["home.turn"]),
        ("don't mind the mess, turn the hall light on", ["home.turn"]),
        ("never mind the desk lamp, switch the hall light on", ["home.turn"]),
    ],
)
def test_talk_around_a_wish_forbids_it_not(text: str, tools: list[str]) -> None:
    assert tools_of(english_reader(), text, ENGLISH_NAMES) == tools


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("mach das Licht und stell das Radio leiser", ["home.turn", "home.adjust"]),
        ("schau her, mach mal das Flurlicht an", ["home.turn"]),
        ("passt auf, Kinder schlafen, Radio aus", ["home.turn"]),
        ("das war zu hell, mach die Leselampe dunkler", ["home.adjust"]),
        ("regel die Heizung um 22 Uhr", ["later.do"]),
    ],
)
def test_german_talk_around_a_wish_forbids_it_not(text: str, tools: list[str]) -> None:
    assert tools_of(german_reader(), text, HOUSE_NAMES) == tools


def test_a_search_for_nothing_looks_for_no_word_of_its_own() -> None:
    assert tools_of(english_reader(), "search my notes please", ENGLISH_NAMES) == []
    for text in ("such mal in meinen Notizen bitte", "schau in den Notizen nach", "such in den Notizen"):
        assert tools_of(german_reader(), text, HOUSE_NAMES) == []


@pytest.mark.parametrize(
    "text",
    [
        "put the desk lamp on if it gets dark, so you can see",
        "turn the desk lamp off unless Ben is home, so nobody reads in the dark",
        "set an alarm for six if it snows, so Ben can drive",
    ],
)
def test_a_condition_before_what_it_is_good_for_stays_one(text: str) -> None:
    assert tools_of(english_reader(), text, ENGLISH_NAMES) == []


def test_the_alarm_of_a_car_is_no_alarm_that_is_moved() -> None:
    assert tools_of(english_reader(), "move the car alarm, wake me at five", ENGLISH_NAMES) == ["alarms.set"]


@pytest.mark.parametrize(
    ("text", "what", "by"),
    [
        ("the radio is too quiet", "volume", 10),
        ("the radio isn't loud enough for grandma", "volume", 10),
        ("the radio is too loud", "volume", -10),
        ("the hall light is too dim", "brightness", 20),
        ("the hall light is too bright", "brightness", -20),
    ],
)
def test_of_what_is_too_little_more_is_wanted_and_of_too_much_less(text: str, what: str, by: int) -> None:
    [command] = english().parse(text, ENGLISH_NAMES).commands
    assert (command.tool, command.arguments["what"], command.arguments["by"]) == ("home.adjust", what, by)


def test_a_complaint_about_before_turns_nothing_round() -> None:
    [command] = english().parse("it was too loud before, turn the radio up", ENGLISH_NAMES).commands
    assert command.arguments["by"] > 0


def test_a_message_is_for_whom_was_spoken_of_also_when_a_lamp_was_turned_on_since() -> None:
    before = Before("on", {"on": True, "device": "Hall Light"}, ("Hall Light",), "Ben")
    [command] = (
        english().parse("and leave him a message that supper is in the oven", ENGLISH_NAMES, "", before).commands
    )
    assert command == Command("messages.leave", {"person": "Ben", "text": "supper is in the oven"})


def test_who_is_spoken_to_is_not_looked_for() -> None:
    for text in ("Tell me, Anna, who left the shoes there?", "Anna, love, did you put the dentist in the calendar?"):
        assert not english().parse(text, ENGLISH_NAMES).commands, text
    assert english().parse("Anna, where is he?", ENGLISH_NAMES).act == "presence.where"


def test_a_room_goes_before_another_word_for_a_thing_in_it() -> None:
    machine, light = (
        NamedDevice("Washing Machine", "switch", "Laundry"),
        NamedDevice("Laundry Light", "light", "Laundry"),
    )
    names = Names(devices=(machine, light), rooms=(NamedPlace("Laundry"),))
    [command] = english().parse("turn on the light in the laundry", names).commands
    assert command.arguments == {"on": True, "device": "Laundry Light"}


class CountingEncoder(SentenceEncoder):
    """An encoder that counts how often it reads."""

    runs = 0

    def states(self, pieces: Sequence[int], kinds: Sequence[int]) -> NDArray[np.float32]:
        self.runs += 1
        return super().states(pieces, kinds)


def counted() -> tuple[Parser, CountingEncoder]:
    encoder = CountingEncoder(MODELS / ENCODER)
    parser = open_parser(open_grammar("en"), ActModel(act_model.taught(act_model.TAUGHT), encoder))
    assert parser
    return parser, encoder


LAMP_ON = Before("on", {"device": "Desk Lamp", "on": True}, ("Desk Lamp",))


def test_what_puts_nothing_right_is_read_once_to_know_that() -> None:
    parser, encoder = counted()
    text = "turn the hall light on and lock the back door"
    assert parser.amends(text, ENGLISH_NAMES, "", LAMP_ON, 0.5).act == ""
    assert encoder.runs == 1


def test_what_puts_something_right_is_what_it_is_to_the_parser() -> None:
    parser, _ = counted()
    alarm = Before("alarms.set", {"when": "at seven"})
    text = "I've to pack first, so better half past seven"
    assert parser.amends(text, ENGLISH_NAMES, "", alarm, 0.1) == parser.parse(text, ENGLISH_NAMES, "", alarm)
    assert parser.amends(text, ENGLISH_NAMES, "", alarm, 0.1).act == "amend"


def test_words_that_name_nothing_are_not_read_again_without_what_was_done_before() -> None:
    parser, encoder = counted()
    history = (
        Message("user", "the desk lamp on"),
        Message("assistant", calls=(ToolCall("1", "home.turn", {"device": "Desk Lamp", "on": True}),)),
    )
    reader = Reader(open_grammar("en"), None, parser)
    reader.understand(Turn("t", "that was quick work", HOUSE, 0.0, history=history), ENGLISH_NAMES)
    assert encoder.runs == 1


def test_the_same_words_after_the_same_are_parsed_once() -> None:
    parser, _ = counted()
    first = parser.parse("make it blue", ENGLISH_NAMES, "", LAMP_ON)
    assert parser.parse("make it blue", ENGLISH_NAMES, "", replace(LAMP_ON, arguments={**LAMP_ON.arguments})) is first
    assert parser.parse("make it blue", ENGLISH_NAMES) is not first
