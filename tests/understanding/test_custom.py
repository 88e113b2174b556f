"""A house's own sentences, in the form that Home Assistant's users know: read, checked line by line, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas.conversation import Actor, Tool, Turn
from atlas.errors import ConfigError
from atlas.understanding.custom import CustomReader, CustomSentences
from atlas.understanding.custom_file import read_custom
from atlas.understanding.grammar import Grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.public import open_public
from atlas.understanding.slots import Command
from atlas.understanding.understanding import Reader, Understanding
from tests.conftest import for_every
from tests.houses import reader_of

SENTENCES = """\
language: en
intents:
  MovieNight:
    data:
      - sentences: ["movie (night|time)", "[let us] watch a film [in the {area}]"]
  timers.start:
    data:
      - sentences: ["<brew> {tea:name} tea"]
        slots: {seconds: 240}
  WaterPlants:
    data:
      - sentences: ["water the {zone} [for {minutes} minutes]"]
  HassTurnOn:
    data:
      - sentences: ["(fire up|wake) [the] {name}"]
        requires_context: {domain: light}
  BinDay:
    data:
      - sentences: ["which bin [is it] [this week]"]
  Shout:
    data:
      - sentences: ["shout {message}"]
lists:
  tea:
    values:
      - {in: "(green|jasmine)", out: green}
      - black
  zone: {values: [roses, "tomato[es]"]}
  minutes: {range: {from: 1, to: 60}}
  message: {wildcard: true}
expansion_rules:
  brew: "(brew|make) [me] [a|some]"
responses:
  intents:
    BinDay: {default: "The green one."}
intent_script:
  MovieNight:
    action:
      - scene: movie night
      - {action: home.close, data: {kind: cover, room: "{{ area }}"}}
    speech: {text: "Enjoy the film."}
  WaterPlants:
    action:
      - action: later.do
        data: {seconds: 5, text: "water {{ zone }}", arguments: {minutes: "{{ minutes }}"}}
    speech: {text: "Watering the {{ zone }}."}
  Shout:
    action:
      - {action: broadcast.say, data: {text: "{{ message }}"}}
"""
HOUSE = Names(
    devices=(NamedDevice("Desk Lamp", "light", "Study"), NamedDevice("Front Door", "lock", "Hall")),
    rooms=(NamedPlace("Study"), NamedPlace("Hall")),
)
FILE = Path("sentences.yaml")
NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": False}
TOOLS = [Tool("home.scene", "", NAMED), Tool("clock.time", "", {"type": "object"}, read_only=True)]


def sentences(text: str = SENTENCES) -> CustomSentences:
    return read_custom(text, FILE, "en")


@pytest.fixture(scope="module")
def custom() -> CustomReader:
    return CustomReader(sentences(), PublicReader(open_public("en")))


@pytest.fixture(scope="module")
def reader(grammar: Grammar, custom: CustomReader) -> Reader:
    return Reader(grammar, custom=lambda: custom)


@for_every(
    ("text", "tool", "arguments"),
    [
        ("wake the desk lamp", "home.turn", {"on": True, "device": "Desk Lamp"}),
        ("water the roses for five minutes", "later.do", {"arguments": {"minutes": 5}, "seconds": 5}),
        ("Water the tomatoes.", "later.do", {"text": "water tomatoes", "arguments": {"minutes": ""}}),
        ("shout dinner is ready", "broadcast.say", {"text": "dinner is ready"}),
        ("Brew me some jasmine tea!", "timers.start", {"seconds": 240, "name": "green"}),
    ],
)
def test_slots_become_arguments(reader: Reader, text: str, tool: str, arguments: dict[str, object]) -> None:
    [command] = reader.read(text, HOUSE).commands
    assert command.tool == tool
    assert arguments.items() <= command.arguments.items()


def test_a_script_is_scenes_and_calls_in_their_order_and_what_is_said_then(reader: Reader) -> None:
    meant = reader.read("could you watch a film in the study please", HOUSE)
    assert meant.commands == (
        Command("home.scene", {"name": "movie night"}, whole=True),
        Command("home.close", {"kind": "cover", "room": "Study"}, whole=True),
    )
    assert meant.custom
    assert meant.custom.says == "Enjoy the film."


def test_a_slot_that_was_not_said_is_left_out(reader: Reader) -> None:
    assert reader.read("Movie time.", HOUSE).commands[1].arguments == {"kind": "cover"}


def test_an_intent_with_nothing_but_a_response_is_words(reader: Reader) -> None:
    meant = reader.read("Which bin is it this week?", HOUSE)
    assert not meant.commands
    assert meant.custom
    assert meant.custom.says == "The green one."


def test_they_go_before_what_the_house_would_understand_otherwise(grammar: Grammar) -> None:
    text = "intents: {Clock: {data: [{sentences: [what time is it]}]}}\nresponses: {intents: {Clock: {default: Late.}}}"
    custom = CustomReader(sentences(text), None)
    assert reader_of(grammar).read("what time is it").commands[0].tool == "clock.time"
    assert not Reader(grammar, custom=lambda: custom).read("what time is it").commands


@for_every(
    "text", ["don't shout dinner is ready", "movie night was great", "wake the front door", "water the", "movie"]
)
def test_what_is_none_of_them_stays_what_it_is(reader: Reader, text: str) -> None:
    assert reader.read(text, HOUSE).custom is None


def test_a_reading_that_says_not_to_is_enough_to_leave_it(reader: Reader) -> None:
    turn = Turn("", "Movie night.", Actor("", "", "guest", ""), 0.0, alternatives=("No movie night.", "Don't move it."))
    meant: Understanding = reader.understand(turn, HOUSE)
    assert meant.custom is None


def test_the_room_of_the_speaker_is_meant_where_a_sentence_asks_for_it(grammar: Grammar) -> None:
    text = """\
intents:
  Cosy:
    data: [{sentences: ["make it cosy"], requires_context: {area: {slot: true}}}]
intent_script:
  Cosy: {action: [{action: home.set, data: {brightness: 20, room: "{{ area }}"}}]}
"""
    custom = CustomReader(sentences(text), None)
    assert custom.read("make it cosy", HOUSE, "Study").commands[0].arguments == {"brightness": 20, "room": "Study"}
    assert custom.read("make it cosy", HOUSE, "").commands[0].arguments == {"brightness": 20}


def test_each_intent_has_an_example_that_is_understood(reader: Reader) -> None:
    examples = sentences().examples
    assert examples["MovieNight"] == "movie night"
    assert examples["timers.start"] == "brew green tea"
    spoken = [text for text in examples.values() if "…" not in text]
    assert len(spoken) == len(examples) - 2, "of a name of the house and of any words there is none"
    assert all(reader.read(text, HOUSE).custom for text in spoken)


def test_an_empty_file_has_no_sentences() -> None:
    assert not sentences("")
    assert not sentences("# nothing yet\n")


# What is wrong → a piece of the file, what stands there instead, where it is noticed, and what is said of it.
WRONG = {
    "a list that is not there": ("water the {zone}", "water the {zones}", "{zones}", "there is no list {zones}"),
    "a rule that is not there": ("<brew>", "<boil>", "<boil>", "there is no rule <boil>"),
    "an open bracket": ("movie (night|time)", "movie (night", "movie (night", "this is no sentence of hassil's"),
    "a wrong key": ("expansion_rules:", "rules:", "rules:", "rules is not known here"),
    "a wrong key inside": ("slots: {sec", "slot: {sec", "slot:", "slot is not known here"),
    "a scene and a call": ("- scene: movie night", "- {scene: a, action: b}", "scene: a", "an action is either"),
    "a template of Jinja": ("Watering the {{ zone }}", "{{ states('a') }}", "states", "only slots can stand here"),
    "a slot that is not there": ("the {{ zone }}.", "{{ zome }}", "zome", "no sentence has the slot zome"),
    "a script of nothing": (
        "  WaterPlants:\n    data",
        "  B:\n    data",
        "  WaterPlants:",
        "no sentence means WaterPlants",
    ),
    "nothing that is done": ("BinDay: {default", "B: {default", "  BinDay:", "nothing is done or said for BinDay"),
    "any words at all": ('"shout {message}"', '"[shout] {message}"', "[shout]", "this would be anything at all"),
    "a key twice": ('brew: "(brew', 'brew: x\n  brew: "(brew', 'brew: "(', "brew is here a second time"),
    "no YAML": ("expansion_rules:", "expansion_rules", "  brew", "this is not YAML"),
    "another language": ("language: en", "language: de", "language", "the house speaks 'en'"),
    "a rule within itself": ("(brew|make)", "<brew>", '"<brew> [me]', "a rule stands in itself"),
    "numbers backwards": ("from: 1, to: 60", "from: 60, to: 1", "from: 60", "begins after its end"),
    "no values": ('{values: [roses, "tomato[es]"]}', "{values: []}", "values: []", "a list has either values"),
    "no name": ("scene: movie night", "scene: 5", "scene: 5", "scene: Input should be a valid string"),
}


@for_every(("right", "wrong", "at", "what"), WRONG.values())
def test_the_line_that_is_wrong_is_named(right: str, wrong: str, at: str, what: str) -> None:
    assert right in SENTENCES
    text = SENTENCES.replace(right, wrong, 1)
    line = text[: text.index(at)].count("\n") + 1
    with pytest.raises(ConfigError) as trouble:
        sentences(text)
    assert what in str(trouble.value)
    assert f"sentences.yaml, line {line}: " in str(trouble.value)


@for_every(
    ("action", "what"),
    [
        ("{action: home.scenes}", "there is no tool home.scenes"),
        ("{action: home.scene, data: {title: film}}", "home.scene has no argument called title"),
        ("{action: home.scene, data: {name: 5}}", "home.scene cannot be called so: name: 5 is not of type 'string'"),
        ("{scene: 5}", "scene: Input should be a valid string"),
    ],
)
def test_a_call_that_no_tool_takes_is_named_by_its_line(action: str, what: str) -> None:
    text = f"intents:\n  A: {{data: [{{sentences: [hey you]}}]}}\nintent_script:\n  A:\n    action:\n      - {action}\n"
    with pytest.raises(ConfigError, match=r"line 6: ") as trouble:
        read_custom(text, FILE, "en", TOOLS)
    assert what in str(trouble.value)


def test_an_argument_called_on_is_no_word_for_true() -> None:
    action = "{action: home.turn, data: {on: false, kind: light}}"
    file = (
        f"intents: {{Dark: {{data: [{{sentences: [lights away]}}]}}}}\nintent_script: {{Dark: {{action: [{action}]}}}}"
    )
    script = read_custom(file, FILE, "en").scripts["Dark"]
    assert [call.arguments for call in script.commands] == [{"on": False, "kind": "light"}]


def test_an_intent_that_is_a_tool_has_only_slots_that_are_its_arguments() -> None:
    with pytest.raises(ConfigError, match=r"line 2: home\.scene has no argument called mood"):
        read_custom("intents:\n  home.scene: {data: [{sentences: [relax], slots: {mood: calm}}]}", FILE, "en", TOOLS)


def test_a_file_that_is_too_long_is_not_read() -> None:
    with pytest.raises(ConfigError, match="longer than 256 KB"):
        sentences("#" * 300_000)


@for_every(
    ("sentence", "what"),
    [
        ("go " + "[very] " * 13 + "far", "12 parts of a sentence may be left out at most"),
        ("<so> <so> far", "12 parts of a sentence may be left out at most"),
        ("tell {a} {a} {a} {a} so", "any words may stand in 3 places of a sentence at most"),
    ],
)
def test_a_sentence_that_would_take_forever_to_match_is_refused(sentence: str, what: str) -> None:
    rest = f"lists: {{a: {{wildcard: true}}}}\nexpansion_rules: {{so: '{'[so] ' * 7}'}}\n"
    with pytest.raises(ConfigError) as trouble:
        sentences(f"intents:\n  timers.list: {{data: [{{sentences: ['{sentence}']}}]}}\n{rest}")
    assert "line 2: " in str(trouble.value)
    assert what in str(trouble.value)


def test_rules_that_multiply_are_refused() -> None:
    rules = "".join(f"  r{number}: '{f'<r{number + 1}> ' * 9}'\n" for number in range(8))
    with pytest.raises(ConfigError, match="too long once its rules are written out"):
        sentences(f"intents: {{timers.list: {{data: [{{sentences: [<r0>]}}]}}}}\nexpansion_rules:\n{rules}  r8: so\n")


def test_more_sentences_than_can_be_searched_are_refused() -> None:
    many = ", ".join(f"say number{number}" for number in range(1_001))
    with pytest.raises(ConfigError, match="more than 1000 sentences"):
        sentences(f"intents: {{timers.list: {{data: [{{sentences: [{many}]}}]}}}}")
