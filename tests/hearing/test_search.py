"""The ways that lie nearest to sounds."""

from __future__ import annotations

import pytest

from atlas.hearing.automaton import graph_of
from atlas.hearing.search import Nets, Search
from atlas.ways import Anything, SharedWay, Slot, SpokenWords, Way, WaySeries, either, maybe
from tests.conftest import for_every

COUNT = Slot("number", "number")
MINUTES = SharedWay("length", WaySeries((COUNT, either("minute", "minutes"))))
WAYS: list[Way] = [
    WaySeries((either("turn", "switch"), either("on", "off"), SpokenWords("the"), Slot("name", "name"))),
    WaySeries((either("set", "start"), SpokenWords("a timer for"), MINUTES)),
    WaySeries((SpokenWords("cancel"), maybe(SpokenWords("all")), SpokenWords("timers"))),
    WaySeries((SpokenWords("add"), Anything("item"), SpokenWords("to my shopping list"))),
]
VALUES = {
    "name": [("kitchen light", "Kitchen Light"), ("kettle", "Kettle"), ("garden lamp", "Garden Lamp")],
    "number": [("five", "5"), ("nine", "9"), ("fifteen", "15"), ("fifty", "50")],
}


@pytest.fixture(scope="module")
def search(sounds):
    return Search(Nets(graph_of(WAYS)), VALUES, sounds)


@for_every(
    ("heard", "meant"),
    [
        ("turn on the kitchen light", "turn on the Kitchen Light"),
        ("turn of the kitchen flight", "turn off the Kitchen Light"),
        ("cancel all tires", "cancel all timers"),
        ("center timer for fife minutes", "set a timer for 5 minutes"),
        ("switch on the cattle", "switch on the Kettle"),
    ],
)
def test_words_that_sound_alike_are_the_way_that_was_meant(search, sounds, heard, meant):
    best, *_ = search.nearest(sounds.of(heard), 5, 3.0)
    assert best.text == meant


def test_what_is_said_word_for_word_costs_nothing(search, sounds):
    [best, *others] = search.nearest(sounds.of("set a timer for fifteen minutes"), 10, 3.0)
    assert best.cost == 0.0
    assert best.text == "set a timer for 15 minutes"
    assert all(other.cost >= best.cost for other in others), "best first"
    assert len({other.text for other in (best, *others)}) == len(others) + 1, "none twice"


def test_a_slot_says_its_value(search, sounds):
    [best] = search.nearest(sounds.of("switch off the garden lamp"), 1, 1.0)
    assert best.slots == {"name": "Garden Lamp"}


def test_talk_is_far_from_everything_that_can_be_said(search, sounds):
    for talk in ("what did you do at school today", "the president said on friday that taxes will rise"):
        heard = sounds.of(talk)
        [best] = search.nearest(heard, 1, 1.0)
        assert best.cost / len(heard) > 0.3


def test_a_house_without_values_for_a_slot_cannot_say_it(sounds):
    bare = Search(Nets(graph_of(WAYS)), {"number": VALUES["number"]}, sounds)
    texts = [match.text for match in bare.nearest(sounds.of("turn on the kitchen light"), 20, 20.0)]
    assert texts
    assert not any("on" in text.split() for text in texts)


def test_anything_takes_the_sounds_between_the_words_around_it(search, sounds):
    [best] = search.nearest(sounds.of("and some almond milk to my shopping list"), 1, 1.0)
    [item] = [piece for piece in best.pieces if piece.slot == "item"]
    assert 1 <= item.start < item.end


def test_no_sounds_are_no_way(search):
    assert search.nearest([], 5, 3.0) == []


def test_a_graph_has_nothing_twice():
    graph = graph_of(
        [SpokenWords("turn on"), SpokenWords("switch on"), WaySeries((either("turn", "switch"), SpokenWords("off")))]
    )
    assert graph.states == 3
    assert len(graph.arcs) == 4


@for_every(
    ("words", "sayable"),
    [
        ("turn on the kitchen light", True),
        ("set a timer for fifteen minutes", True),
        ("set a timer for 15 minutes", True),
        ("cancel timers", True),
        ("cancel all", False),
        ("turn on the whole light", False),
        ("add milk to my shopping list", False),  # any words may stand there, so it could be anything
        ("turn on the kitchen light now", False),
    ],
)
def test_what_can_be_said_as_it_is_is_known_by_its_words(search, words, sayable):
    assert search.says(words.split()) is sayable


@for_every("words", ["turn of the kitchen flight", "center timer for fife minutes", "bring me a cattle"])
def test_ways_within_a_limit_are_those_of_all_that_cost_no_more(sounds, words):
    heard = sounds.of(words)
    everything = Search(Nets(graph_of(WAYS)), VALUES, sounds).nearest(heard, 8, 50.0)
    search = Search(Nets(graph_of(WAYS)), VALUES, sounds)
    for limit in (1.0, 0.5, 4.0, 9.0, 2.0, 50.0):  # one asks for less or for more than the one before
        within = [(way.cost, way.text) for way in everything if way.cost <= limit]
        assert [(way.cost, way.text) for way in search.nearest(heard, 8, 50.0, limit)] == within
