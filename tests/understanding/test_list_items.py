"""Things for a list: named with nothing between them, and with words around them that are none of the thing."""

from __future__ import annotations

import pytest

from atlas.understanding.grammar import Grammar, open_grammar


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("eggs milk", ["eggs", "milk"]),
        ("milk eggs", ["milk", "eggs"]),
        ("milk bread butter", ["milk", "bread", "butter"]),
        ("six eggs milk", ["six eggs", "milk"]),
        ("bananas oat milk apples", ["bananas", "oat milk", "apples"]),
        ("tea bags coffee", ["tea bags", "coffee"]),
    ],
)
def test_things_in_a_row_are_several(grammar: Grammar, text: str, things: list[str]) -> None:
    assert grammar.slots.tidy([text]) == things


@pytest.mark.parametrize(
    ("things", "wanted"),
    [
        (["rice", "five kilo", "chicken"], ["five kilo of rice", "chicken"]),
        (["bread", "one", "eggs", "ten"], ["one bread", "ten eggs"]),
        (["three", "eggs"], ["three", "eggs"]),
        (["two apples", "two pears"], ["two apples", "two pears"]),
    ],
)
def test_an_amount_behind_a_thing_is_of_that(grammar: Grammar, things: list[str], wanted: list[str]) -> None:
    assert grammar.slots.tidy(things) == wanted


@pytest.mark.parametrize(
    "text",
    ["oat milk", "milk chocolate", "bread rolls", "butter beans", "coffee beans", "apples juice", "potatoes salad"],
)
def test_two_words_for_one_thing_are_one(grammar: Grammar, text: str) -> None:
    assert grammar.slots.tidy([text]) == [text]


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        ("also the soap for the hands", "soap for the hands"),
        ("those little oatcakes I like", "little oatcakes"),
        ("a dozen eggs", "a dozen eggs"),
        ("the ones I like", "ones I like"),
    ],
)
def test_only_the_thing_is_written_down(grammar: Grammar, text: str, thing: str) -> None:
    assert grammar.slots.tidy([text]) == [thing]


@pytest.mark.parametrize(
    ("things", "wanted"),
    [
        (["Schlagobers auch noch"], ["Schlagobers"]),
        (["zwanzig Kilo Mehl", "a Hefe", "an Sack Salz"], ["zwanzig Kilo Mehl", "Hefe", "Sack Salz"]),
        (["'s Salz", "noch Brot bitte"], ["Salz", "Brot"]),
        (["Auflauf", "Anis", "Nochmalsalat"], ["Auflauf", "Anis", "Nochmalsalat"]),
    ],
)
def test_german_words_around_a_thing_are_none_of_it(things: list[str], wanted: list[str]) -> None:
    assert open_grammar("de").slots.tidy(things) == wanted
