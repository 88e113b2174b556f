"""A list whose name is mistyped is the list that there is; one of a new name is made when somebody has said yes."""

from __future__ import annotations

from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.list_names import on_named_list, with_near_name
from atlas.understanding.names import Names
from atlas.understanding.slots import Command
from tests.conftest import for_every
from tests.houses import reader_of
from tests.understanding.talking import NAMES, Talk

HOUSE = Names(lists=("shopping", "camping"))


def of_list(name: str) -> Command | None:
    return with_near_name(Command("lists.add", {"items": ["milk"], "list": name}), HOUSE, ["shopping", "groceries"])


@for_every("name", ["teh shoping", "shoppng", "grocereis"])
def test_a_mistyped_name_is_the_usual_list(name: str) -> None:
    assert of_list(name) == Command("lists.add", {"items": ["milk"]})


def test_a_mistyped_name_is_another_list() -> None:
    assert of_list("campin") == of_list("camping") == Command("lists.add", {"items": ["milk"], "list": "camping"})


@for_every("name", ["packing", "holiday", "party"])
def test_another_name_is_no_list_that_there_is(name: str) -> None:
    assert of_list(name) is None


def test_a_list_of_a_new_name_is_asked_about(grammar: Grammar) -> None:
    meant = reader_of(grammar).read("add a torch to the holiday list", NAMES)
    assert meant.commands == () and meant.choices
    assert meant.choices.question == "Make a new list called holiday?"


async def test_a_whole_sentence_after_another_is_no_thing_on_the_list(grammar: Grammar) -> None:
    talk = Talk(grammar)
    for _ in range(2):
        await talk.say("add nappies to the shopping list")
        assert talk.calls() == [("lists.add", {"items": ["nappies"]})]


@for_every("text", ["I'm scared of the dark", "the kids are asleep", "we're hungry"])
async def test_how_somebody_is_changes_nothing_whatever_was_done_before(grammar: Grammar, text: str) -> None:
    talk = Talk(grammar)
    await talk.say("turn on the kitchen light")
    talk.calls()
    await talk.say(text)
    assert talk.calls() == []


@for_every(
    ("text", "arguments"),
    [
        ("start a packing list with socks and teddy", {"items": ["socks", "teddy"], "list": "packing"}),
        ("make a list called holiday with trunks", {"items": ["trunks"], "list": "holiday"}),
        ("make a party list and put balloons on it", {"items": ["balloons"], "list": "party"}),
        ("start a guest list with Tom and Mia", {"items": ["Tom", "Mia"], "list": "guest"}),
        ("make a new list called holiday", {"items": [], "list": "holiday"}),
        ("create a birthday list", {"items": [], "list": "birthday"}),
        ("start a shopping list with milk and eggs", {"items": ["milk", "eggs"]}),
    ],
)
def test_a_list_that_somebody_makes_is_made_unasked(grammar: Grammar, text: str, arguments: dict[str, object]) -> None:
    (command,) = reader_of(grammar).read(text, NAMES).commands
    assert (command.tool, dict(command.arguments)) == ("lists.add", arguments)


@for_every(
    "text",
    ["make a list", "make a cake", "start a timer", "make a list of good films", "what lists are there", "make a call"],
)
def test_what_makes_no_list_puts_nothing_on_one(grammar: Grammar, text: str) -> None:
    assert not any(one.tool == "lists.add" for one in reader_of(grammar).read(text, NAMES).commands)


@for_every("end", ["to camping", "on my camping", "to the Camping."])
def test_things_go_to_the_list_whose_name_ends_the_sentence(end: str) -> None:
    for items in (["trunks"], [f"trunks {end.rstrip('.')}"]):
        meant = on_named_list(
            Command("lists.add", {"items": items}), f"add trunks {end}", HOUSE, open_grammar("en").tables["onto_list"]
        )
        assert meant == Command("lists.add", {"items": ["trunks"], "list": "camping"})


@for_every(
    "text", ["add salt to taste", "add butter to the pasta", "add trunks", "camping to go", "add food for camping"]
)
def test_other_ends_name_no_list(text: str) -> None:
    command = Command("lists.add", {"items": ["trunks"]})
    assert on_named_list(command, text, HOUSE, open_grammar("en").tables["onto_list"]) == command
