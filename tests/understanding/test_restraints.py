"""What a sentence only speaks of is not done: deeds forbidden, judged, quoted, refused, or to be asked about first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from atlas.understanding.frames import Frames
from atlas.understanding.grammar import open_grammar
from atlas.understanding.restraints import LONGEST_CHARACTERS, Restraints
from atlas.understanding.slots import Command
from tests.understanding.both_languages import meant
from tests.understanding.test_exemptions import HOUSE

pytestmark = pytest.mark.real
FOLDER = Path(__file__).parent


def sentences(language: str) -> Iterator[str]:
    """Yield the sentences of a table, in which a line with "#" says of what kind those below it are."""
    lines = (FOLDER / f"restraints_{language}.txt").read_text("utf-8").splitlines()
    yield from (line for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_is_only_spoken_of_is_not_done(language: str) -> None:
    done = {text: [one.tool for one in meant(text, language).commands] for text in sentences(language)}
    assert {text: tools for text, tools in done.items() if {*tools} - {"world.spell"}} == {}


@pytest.mark.parametrize(
    ("language", "text", "tool"),
    [
        ("en", "would you be kind enough to turn on the kitchen light", "home.turn"),
        ("en", "make sure to lock the front door", "home.lock"),
        ("en", "don't forget to turn off the kitchen light", "home.turn"),
        ("en", "I want you to turn off the kitchen radio", "home.turn"),
        ("en", "stop the kitchen radio", "home.pause"),
        ("en", "the hall light doesn't work, turn on the kitchen light", "home.turn"),
        ("en", "the kitchen light is broken, switch it off", "home.turn"),
        ("en", "my alarm doesn't work, wake me at seven", "alarms.set"),
        ("en", "it's too dark in here, turn on the kitchen light", "home.turn"),
        ("en", "it's too early to get up, close the bedroom blinds", "home.close"),
        ("en", "I can't see a thing, turn on the kitchen light", "home.turn"),
        ("en", "there's no need to shout, turn off the kitchen radio", "home.turn"),
        ("en", "nobody's in the kitchen, turn off the kitchen light", "home.turn"),
        ("en", "it would be lovely to have the kitchen light on", "home.turn"),
        ("en", "be so kind as to unlock the front door", "home.unlock"),
        ("en", "it's not allowed to be this dark, turn on the kitchen light", "home.turn"),
        ("en", "turn off the kettle later at eight", "later.do"),
        ("en", "How do you spell necessary?", "world.spell"),
        ("de", "wärst du so nett, das Küchenlicht anzumachen", "home.turn"),
        ("de", "sei so lieb und schließ die Haustür ab", "home.lock"),
        ("de", "vergiss nicht, das Küchenlicht auszumachen", "home.turn"),
        ("de", "es ist zu dunkel, mach das Küchenlicht an", "home.turn"),
        ("de", "ich kann nichts sehen, mach das Küchenlicht an", "home.turn"),
        ("de", "du musst den Wasserkocher ausmachen", "home.turn"),
        ("de", "kein Mensch ist in der Küche, mach das Küchenlicht aus", "home.turn"),
        ("de", "hör auf zu quatschen und mach das Küchenlicht an", "home.turn"),
        ("de", "ich will nicht im Dunkeln sitzen, mach das Küchenlicht an", "home.turn"),
        ("de", "mach den Wasserkocher um acht Uhr aus", "later.do"),
        ("de", "Verschieb den Wecker um eine halbe Stunde nach hinten", "alarms.change"),
    ],
)
def test_a_wish_in_like_words_is_done(language: str, text: str, tool: str) -> None:
    assert [one.tool for one in meant(text, language).commands] == [tool]


@pytest.mark.parametrize(
    ("language", "text", "device"),
    [
        ("en", "it would be stupid to turn off the heating, turn off the kitchen light instead", "kitchen light"),
        ("de", "es wäre dumm, die Heizung auszumachen, mach lieber das Küchenlicht aus", "Küchenlicht"),
    ],
)
def test_a_wish_beside_a_deed_that_is_only_spoken_of_is_done_alone(language: str, text: str, device: str) -> None:
    assert [one.arguments.get("device") for one in meant(text, language).commands] == [device]


@pytest.mark.parametrize(
    ("language", "text"), [("en", "turn off the kitchen light later"), ("de", "mach das Küchenlicht später aus")]
)
def test_it_is_asked_when_what_is_wanted_later_is_to_be_done(language: str, text: str) -> None:
    understood = meant(text, language)
    assert understood.choices
    assert {one.tool for choice in understood.choices.choices for one in choice.commands} == {"later.do"}


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "don't turn off the kitchen light later"), ("de", "mach das Küchenlicht später nicht aus")],
)
def test_it_is_not_asked_when_what_is_not_wanted_is_to_be_done(language: str, text: str) -> None:
    assert not meant(text, language).commands
    assert not any(one.tool == "later.do" for one in asked_about(text, language))


def asked_about(text: str, language: str) -> list[Command]:
    choices = meant(text, language).choices
    return [one for choice in (choices.choices if choices else ()) for one in choice.commands]


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "he is so proud to turn off the kitchen light"), ("de", "es juckt mich, das Küchenlicht auszumachen")],
)
def test_a_deed_under_words_that_nobody_knows_is_not_done_at_once(language: str, text: str) -> None:
    assert not meant(text, language).commands


def test_a_text_is_searched_up_to_a_limit() -> None:
    grammar = open_grammar("en")
    restraints = Restraints(grammar.tables["restraints"], Frames(grammar.tables["frames"], grammar.digits))
    assert restraints.read("I prefer not to open the garage door", HOUSE)
    assert not restraints.read("a" * LONGEST_CHARACTERS + ", I prefer not to open the garage door", HOUSE)
