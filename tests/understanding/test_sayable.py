"""Sentences in hassil's notation as ways that can be searched by sound."""

from __future__ import annotations

from atlas.understanding.sayable import Sayable, said_by
from atlas.ways import SILENCE, Anything, OneOf, SharedWay, Slot, SpokenWords, Way, WaySeries
from tests.conftest import for_every


def spoken(way: Way | None) -> set[str]:
    """Every sentence of a way, with its slots in angle brackets."""
    match way:
        case SpokenWords(text=text):
            return {text}
        case WaySeries(parts=parts):
            texts = {""}
            for part in parts:
                texts = {f"{before} {text}".strip() for before in texts for text in spoken(part)}
            return texts
        case OneOf(options=options):
            return {text for option in options for text in spoken(option)}
        case Slot(name=name) | SharedWay(name=name) | Anything(name=name):
            return {f"<{name}>"}
    return set()


@for_every(
    ("sentence", "texts"),
    [
        (
            "turn (on|off) [the] light[s]",
            {f"turn {o} {t}light{s}" for o in ("on", "off") for t in ("", "the ") for s in ("", "s")},
        ),
        ("{item}[ ]% <now>", {"<item> at once", "<item> now"}),
        ("{hours:h}( |-)hour[s]", {"<h> hour", "<h> hours"}),
        ("day[ ]light", {"daylight", "day light"}),
        ("(on;now) please", {"on now please", "now on please"}),
    ],
)
def test_a_sentence_can_be_said_in_all_its_ways(sentence, texts):
    sayable = Sayable({"now": "(now|at once)"}, lambda name, slot: Slot(slot, name))
    assert spoken(sayable.way(sentence)) == texts


def test_a_word_of_very_many_spellings_is_none() -> None:
    way = Sayable({}, lambda name, slot: None).way("go" + "[a|b|c]" * 30 + " on")
    assert way is not None
    assert "on" in repr(way)


def test_a_sentence_that_names_what_a_house_has_not_cannot_be_said():
    sayable = Sayable({}, lambda name, slot: None)
    assert sayable.way("turn on {name}") is None
    assert spoken(sayable.way("turn on [{name}]")) == {"turn on"}


def test_a_grammar_gives_its_ways_and_the_values_of_its_lists():
    ways, values = said_by(
        {
            "intents": {"order": {"data": [{"sentences": ["[a] {size} tea"]}]}},
            "lists": {"size": {"values": ["small", {"in": "(big|large)", "out": "large"}]}},
        }
    )
    assert spoken(ways["order"][0]) == {"<size> tea", "a <size> tea"}
    assert values == {"size": [("small", "small"), ("big", "big"), ("large", "large")]}
    assert WaySeries() == SILENCE
