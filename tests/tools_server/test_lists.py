"""Shopping and other lists: files that people edit by hand while the server reads and writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def path(world: Any, name: str = "shopping") -> Path:
    return Path(world.data / "family-agent-config" / "lists" / f"{name}.md")


def write(world: Any, text: str, name: str = "shopping") -> Path:
    file = path(world, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def left(answer: Any) -> list[str]:
    return [item["text"] for item in answer.data["items"] if not item["checked"]]


async def test_what_is_put_on_the_list_is_a_file_that_people_can_read(world: Any) -> None:
    assert await world.said("lists.read") == "The shopping list is empty."
    text = await world.said("lists.add", items=["bread", "2 litres of milk"])
    assert text == "Added bread and 2 litres of milk to the shopping list."
    assert path(world).read_text() == "# Shopping\n\n- [ ] bread\n- [ ] 2 litres of milk\n"
    assert await world.said("lists.read") == "There are 2 things on the shopping list: bread and 2 litres of milk."


@pytest.mark.parametrize(
    ("words", "things"),
    [
        ("bread, eggs and milk", ["bread", "eggs", "milk"]),
        ("bread, eggs, and some milk.", ["bread", "eggs", "milk"]),
        ("bread and milk", ["bread", "milk"]),
        ("mac and cheese", ["mac and cheese"]),
        ("bread, fish and chips", ["bread", "fish and chips"]),
        ("brandy", ["brandy"]),
        ("Käse und Butter", ["Käse", "Butter"]),
        ("Brot, Eier, und Milch", ["Brot", "Eier", "Milch"]),
        ("Hundefutter", ["Hundefutter"]),
        ("1,5 kg of flour", ["1,5 kg of flour"]),
    ],
)
async def test_one_text_may_name_several_things(world: Any, words: str, things: list[str]) -> None:
    await world.ok("lists.add", items=[words])
    assert left(await world.ok("lists.read")) == things


@pytest.mark.parametrize(
    "written", ["Shopping", "the shopping list", "Groceries", "SHOPPING.md", "Einkaufen", "Einkaufsliste", "Einkauf!"]
)
async def test_the_shopping_list_is_one_however_it_is_written(world: Any, written: str) -> None:
    made = await world.ok("lists.add", items=[], list=written)
    assert (made.data["list"], made.receipt) == ("shopping", None)
    assert [one["name"] for one in (await world.ok("lists.names")).data["lists"]] == ["shopping"]


async def test_a_file_that_somebody_called_so_is_a_list_of_its_own(world: Any) -> None:
    write(world, "- Senf\n", "einkauf")
    assert left(await world.ok("lists.read", list="Einkauf")) == ["Senf"]
    assert left(await world.ok("lists.read")) == []


async def test_what_stands_on_the_list_is_one_thing_whatever_is_in_its_name(world: Any) -> None:
    write(world, "- [x] salt and vinegar crisps\n- [ ] cream, double\n")
    await world.ok("lists.add", items=["salt and vinegar crisps"])
    assert left(await world.ok("lists.read")) == ["salt and vinegar crisps", "cream, double"]
    await world.ok("lists.check", items=["cream, double"])
    assert left(await world.ok("lists.read")) == ["salt and vinegar crisps"]


async def test_things_that_come_one_by_one_are_not_taken_apart(world: Any) -> None:
    await world.ok("lists.add", items=["salt and vinegar crisps", "milk"])
    assert left(await world.ok("lists.read")) == ["salt and vinegar crisps", "milk"]


@pytest.mark.parametrize("last", ["cheese and butter", "cheese und butter"])
async def test_the_last_of_several_may_be_two_of_one_word(world: Any, last: str) -> None:
    await world.ok("lists.add", items=["milk", last])
    assert left(await world.ok("lists.read")) == ["milk", "cheese", "butter"]
    await world.ok("lists.add", items=["beans", "fish and chips"], list="camping")
    assert left(await world.ok("lists.read", list="camping")) == ["beans", "fish and chips"]


@pytest.mark.parametrize(
    ("there", "again"),
    [
        ("milk", "Milk"),
        ("2 litres of milk", "milk"),
        ("eggs", "egg"),
        ("tomatoes", "a tomato"),
        ("a dozen eggs", "eggs"),
        ("cherries", "cherry"),
        ("beer x6", "beer"),
        ("some butter", "butter"),
    ],
)
async def test_what_is_on_the_list_is_not_put_there_twice(world: Any, there: str, again: str) -> None:
    write(world, f"- {there}\n")
    answer = await world.ok("lists.add", items=[again.removeprefix("a ")])
    assert answer.receipt is None
    assert "already on the shopping list" in answer.text
    assert left(await world.ok("lists.read")) == [there]


async def test_another_amount_takes_the_place_of_the_old_one(world: Any) -> None:
    await world.ok("lists.add", items=["milk", "bread"])
    assert await world.said("lists.add", items=["2 litres of milk"]) == "Changed milk to 2 litres of milk."
    assert left(await world.ok("lists.read")) == ["2 litres of milk", "bread"]


@pytest.mark.parametrize(("one", "other"), [("milk", "milk chocolate"), ("can opener", "opener"), ("glass", "glasses")])
async def test_things_that_only_sound_alike_are_two_things(world: Any, one: str, other: str) -> None:
    await world.ok("lists.add", items=[one])
    await world.ok("lists.add", items=[other])
    assert left(await world.ok("lists.read")) == [one, other]


async def test_what_is_bought_is_ticked_off_and_wanted_again_later(world: Any) -> None:
    await world.ok("lists.add", items=["bread", "2 litres of milk"])
    assert await world.said("lists.check", items=["milk"]) == "Ticked off 2 litres of milk."
    assert path(world).read_text().endswith("- [ ] bread\n- [x] 2 litres of milk\n")
    again = await world.ok("lists.check", items=["milk"])
    assert (again.text, again.receipt) == ("2 litres of milk was already ticked off.", None)
    await world.ok("lists.check", items=["bread"])
    assert await world.said("lists.read") == "Everything on the shopping list is ticked off."
    assert await world.said("lists.add", items=["milk"]) == "Added milk to the shopping list."
    assert path(world).read_text().endswith("- [x] bread\n- [ ] milk\n")


async def test_a_thing_is_found_by_its_words_or_nearly(world: Any) -> None:
    await world.ok("lists.add", items=["oat milk", "wholemeal bread", "rye bread"])
    assert await world.said("lists.remove", items=["milk"]) == "Took oat milk off the shopping list."
    assert (await world.refused("lists.check", items=["bread"])).text == "Which one: wholemeal bread or rye bread?"
    assert await world.said("lists.check", items=["holemeal bread"]) == "Ticked off wholemeal bread."
    missing = await world.refused("lists.check", items=["rice bran"])
    assert missing.text == "There is no rice bran on the shopping list. The nearest is rye bread."


async def test_when_one_thing_is_not_there_none_is_touched(world: Any) -> None:
    await world.ok("lists.add", items=["bread", "milk"])
    before = path(world).read_text()
    assert (await world.refused("lists.check", items=["bread", "caviar"])).error == "not_found"
    assert path(world).read_text() == before


async def test_a_list_of_any_name_is_made_when_something_is_put_on_it(world: Any) -> None:
    assert await world.said("lists.add", items=["tent"], list="the camping list") == "Added tent to the camping list."
    assert path(world, "camping").read_text() == "# Camping\n\n- [ ] tent\n"
    await world.ok("lists.add", items=["stove"], list="campin")
    assert left(await world.ok("lists.read", list="my camping")) == ["tent", "stove"]
    names = await world.ok("lists.names")
    assert names.text == "There are 2 lists: shopping with 0 things and camping with 2 things."
    missing = await world.refused("lists.read", list="complaints")
    assert (missing.error, missing.text) == ("not_found", "There is no list called complaints. The nearest is camping.")


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", ".git/config", "a\u202eb", "%2e%2e/", "买牛奶", "x" * 80]
)
async def test_an_odd_name_makes_one_file_in_the_folder(world: Any, name: str) -> None:
    await world.ok("lists.add", items=["milk"], list=name)
    made = [file for file in world.data.rglob("*.md") if file.is_file()]
    assert [file.parent for file in made] == [path(world).parent]
    assert left(await world.ok("lists.read", list=name)) == ["milk"]


@pytest.mark.parametrize("name", ["🛒", "../..", ".", "_", "my __ list"])
async def test_a_name_without_a_word_is_refused(world: Any, name: str) -> None:
    assert (await world.refused("lists.add", items=["milk"], list=name)).text == "Give the list a name in words."
    assert list(world.data.rglob("*.md")) == []


@pytest.mark.parametrize("name", ["🔥", "…", "_"])
async def test_a_file_whose_name_has_no_word_is_no_list_and_hides_none(world: Any, name: str) -> None:
    write(world, "- milk\n")
    write(world, "- fire\n", name)
    names = await world.ok("lists.names")
    assert names.data["lists"] == [{"name": "shopping", "left": 1}]
    assert left(await world.ok("lists.read")) == ["milk"]
    assert path(world, name).exists()


@pytest.mark.parametrize("thing", ["---", "# heading", "- [x] done", "a\nb", "[x] y", "*", "\u200bzero", "x" * 200])
async def test_an_odd_thing_stays_one_line(world: Any, thing: str) -> None:
    await world.ok("lists.add", items=[thing, "milk"])
    items = left(await world.ok("lists.read"))
    assert items[-1] == "milk"
    assert len(items) == 2


async def test_nothing_is_no_thing(world: Any) -> None:
    assert (await world.refused("lists.add", items=[" , and "])).text == "What shall I put on the list?"


async def test_a_list_is_cleared_only_when_somebody_says_yes(world: Any) -> None:
    write(world, "# Food\n- [x] bread\n- milk\nAsk Tom!\n")
    query = await world.refused("lists.clear")
    assert query.text.startswith("Take the 2 things off the shopping list: bread and milk?")
    query = await world.refused("lists.clear", checked_only=True)
    assert query.text.startswith("Take bread, which is ticked off, off the shopping list?")
    assert await world.said("lists.clear", checked_only=True) == "Took 1 thing off the shopping list."
    await world.ok("lists.clear")
    assert path(world).read_text() == "# Food\nAsk Tom!\n"
    assert (await world.refused("lists.clear")).text == "The shopping list is empty already."
    await world.ok("history.undo")
    assert left(await world.ok("lists.read")) == ["milk"]


@pytest.mark.parametrize(
    ("tool", "items"),
    [("lists.add", "eggs"), ("lists.check", "bread"), ("lists.remove", "bread"), ("lists.add", "2 l milk")],
)
async def test_every_change_can_be_taken_back(world: Any, tool: str, items: str) -> None:
    text = "- bread\n- milk\n"
    file = write(world, text)
    await world.ok(tool, items=[items])
    assert file.read_text() != text
    await world.ok("history.undo")
    assert file.read_text() == text


async def test_a_list_that_was_made_is_gone_again(world: Any) -> None:
    await world.ok("lists.add", items=["tent"], list="camping")
    await world.ok("history.undo")
    assert not path(world, "camping").exists()


async def test_what_somebody_wrote_since_is_not_undone(world: Any) -> None:
    await world.ok("lists.add", items=["milk"])
    path(world).write_text("- milk\n- mine\n")
    refused = await world.refused("history.undo")
    assert refused.text == "I can't take that back: lists/shopping.md was edited since."
    assert left(await world.ok("lists.read")) == ["milk", "mine"]


async def test_the_lists_of_one_agent_are_never_seen_by_the_other(world: Any) -> None:
    await world.ok("lists.add", items=["milk"])
    assert left(await world.ok("lists.read", "work")) == []


# ── edited by hand ─────────────────────────────────────────────────────────────────────────────────


async def test_lines_that_are_no_things_stay_as_they_are(world: Any) -> None:
    text = "---\nshop: corner\n---\n# Food\n\n* bread  \n  + [X]  eggs\n1. not a thing\nAsk Tom!\n\n## Later\n- [ ]\n"
    file = write(world, text)
    assert left(await world.ok("lists.read")) == ["bread"]
    await world.ok("lists.add", items=["milk"])
    await world.ok("lists.check", items=["bread"])
    expected = text.replace("* bread  \n", "* [x] bread  \n").replace("  eggs\n", "  eggs\n- [ ] milk\n")
    assert file.read_text() == expected


async def test_windows_line_ends_and_a_last_line_without_one_are_kept(world: Any) -> None:
    file = write(world, "- [ ] bread\r\n- [ ] eggs")
    await world.ok("lists.add", items=["milk"])
    await world.ok("lists.check", items=["bread"])
    assert file.read_bytes() == b"- [x] bread\r\n- [ ] eggs\r\n- [ ] milk\r\n"


async def test_one_broken_file_is_reported_and_hides_no_other(world: Any) -> None:
    await world.ok("lists.add", items=["milk"])
    (path(world).parent / "latin.md").write_bytes(b"- caf\xe9\n")
    (path(world).parent / "door.md").symlink_to(world.data / "agents.toml")
    answer = await world.ok("lists.names")
    assert [problem["file"] for problem in answer.data["problems"]] == ["door.md", "latin.md"]
    assert [result["name"] for result in answer.data["lists"]] == ["shopping"]
    unread = await world.refused("lists.read", list="latin")
    assert unread.text == "I could not read lists/latin.md: it is not UTF-8 text."
    assert (await world.refused("lists.read", list="door")).error == "denied"


async def test_a_list_has_room_for_so_much(world: Any) -> None:
    write(world, "".join(f"- thing {number}\n" for number in range(500)))
    assert (await world.refused("lists.add", items=["milk"])).text == "The shopping list is full: 500 things are on it."
    answer = await world.ok("lists.read")
    assert answer.text.endswith("thing 14 and 485 more.")


async def test_a_line_of_nothing_but_digits_or_spaces_holds_nobody_up(world: Any) -> None:
    """A pattern that begins anew at each of them would need seconds for each look at it."""
    write(world, f"- [ ] {'1' * 9_000}a\n- [ ] b{'1 ' * 4_500}a\n- [ ] eggs 12x\n")
    assert (await world.ok("lists.add", items=["eggs"])).data["already"] == ["eggs 12x"]


async def test_whether_one_thing_is_on_the_list_is_a_question_of_its_own(world: Any) -> None:
    await world.ok("lists.add", items=["2 litres of milk", "bread"])
    await world.ok("lists.check", items=["bread"])
    assert await world.said("lists.read", item="milk") == "2 litres of milk is on the shopping list."
    assert await world.said("lists.read", item="bread") == "Bread is on the shopping list, ticked off."
    assert await world.said("lists.read", item="cheese") == "Cheese is not on the shopping list."


async def test_a_list_is_made_with_nothing_on_it_and_can_be_taken_back(world: Any) -> None:
    assert await world.said("lists.add", items=[], list="holiday") == "Made the holiday list. Nothing is on it yet."
    assert await world.said("lists.add", items=[], list="holiday") == "There is the holiday list already."
    assert await world.said("lists.add", items=[]) == "There is the shopping list already."
    assert [one["name"] for one in (await world.ok("lists.names")).data["lists"]] == ["shopping", "holiday"]
    await world.ok("history.undo")
    assert [one["name"] for one in (await world.ok("lists.names")).data["lists"]] == ["shopping"]


@pytest.mark.parametrize(
    ("on_the_list", "words"),
    [("eggs milk", "eggs"), ("milk chocolate", "milk"), ("bread flour", "bread"), ("chocolate egg", "chocolate")],
)
async def test_a_thing_that_only_begins_with_the_word_is_not_taken_off(
    world: Any, on_the_list: str, words: str
) -> None:
    await world.ok("lists.add", items=[on_the_list])
    assert on_the_list in (await world.refused("lists.remove", items=[words])).text
    assert await world.said("lists.read") == f"There is 1 thing on the shopping list: {on_the_list}."


@pytest.mark.parametrize("on_the_list", ["oat milk", "two pints of milk", "milk for the baby", "milk (semi-skimmed)"])
async def test_a_thing_is_taken_off_by_the_word_that_it_is(world: Any, on_the_list: str) -> None:
    await world.ok("lists.add", items=[on_the_list])
    await world.ok("lists.remove", items=["milk"])


async def test_a_list_is_deleted_only_when_somebody_says_yes_and_comes_back_whole(world: Any) -> None:
    await world.ok("lists.add", list="party", items=["crisps", "lemonade"])
    query = await world.refused("lists.delete", list="party")
    assert query.text.startswith("Delete the party list with 2 things: crisps and lemonade?")
    assert await world.said("lists.delete", list="party") == "Deleted the party list."
    assert (await world.refused("lists.read", list="party")).error == "not_found"
    await world.ok("history.undo")
    assert left(await world.ok("lists.read", list="party")) == ["crisps", "lemonade"]
    await world.ok("lists.add", list="empty", items=[])
    query = await world.refused("lists.delete", list="empty")
    assert query.text.startswith("Delete the empty list? Nothing is on it.")
    assert (await world.refused("lists.delete", list="party guests")).error == "not_found"


async def test_the_shopping_list_is_never_deleted(world: Any) -> None:
    answer = await world.refused("lists.delete", list="shopping")
    assert answer.error == "invalid" and "always stays" in answer.text
