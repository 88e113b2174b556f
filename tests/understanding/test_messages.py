"""Messages: for whom they are, and what is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from atlas.conversation import HOUSE, Message, Turn
from atlas.understanding.grammar import Grammar, open_grammar
from atlas.understanding.names import NamedPlace, Names
from atlas.understanding.understanding import Understanding
from tests.houses import reader_of

HERE = Names(people=("Anna", "Tom"), rooms=(NamedPlace("attic"), NamedPlace("kids room")), called=(("Mum", "Anna"),))


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("leave a message for Anna that dinner is at seven", {"text": "dinner is at seven", "person": "Anna"}),
        ("leave a voice message for everybody saying the plumber comes", {"text": "the plumber comes"}),
        (
            "record a message for the attic saying the tea is getting cold",
            {"text": "the tea is getting cold", "room": "attic"},
        ),
        ("leave a message for mum that dinner is at seven", {"text": "dinner is at seven", "person": "Anna"}),
        ("leave a message for dad that dinner is at seven", {"text": "dinner is at seven"}),
        ("send a voice message to tom saying bed time", {"text": "bed time", "person": "Tom"}),
    ],
)
def test_a_message_is_left_for_whom_it_is_said(grammar: Grammar, text: str, arguments: dict[str, Any]) -> None:
    [command] = grammar.commands(text, HERE)
    assert (command.tool, command.arguments) == ("messages.leave", arguments)


@pytest.mark.parametrize("text", ["do I have any voice messages", "play my voice messages"])
def test_messages_are_asked_for(grammar: Grammar, text: str) -> None:
    [command] = grammar.commands(text, HERE)
    assert command.tool == "messages.list"


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("habe ich neue Sprachnachrichten?", "messages.list"),
        ("spiel mir meine Sprachnachrichten ab", "messages.list"),
        ("lösch die letzte Sprachnachricht", "messages.delete"),
        ("habe ich neue Nachrichten?", "email.list"),
    ],
)
def test_messages_are_asked_for_and_deleted_in_german(text: str, tool: str) -> None:
    [command] = open_grammar("de").commands(text, HERE)
    assert command.tool == tool


def test_nobody_is_left_a_message_whom_nobody_knows(grammar: Grammar) -> None:
    assert not any(
        command.tool == "messages.leave"
        for command in grammar.commands("leave a message for Gandalf that dinner is ready", HERE)
    )


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (
            "hinterlass Anna eine Nachricht: der Schlüssel liegt unter der Matte",
            {"text": "der Schlüssel liegt unter der Matte", "person": "Anna"},
        ),
        ("Nachricht für Tom, die Katze ist gefüttert", {"text": "die Katze ist gefüttert", "person": "Tom"}),
        ("sprich eine Nachricht für den Tom auf: wir essen", {"text": "wir essen", "person": "Tom"}),
        ("hinterlass allen eine Nachricht: morgen kommt der Müll", {"text": "morgen kommt der Müll"}),
    ],
)
def test_a_message_is_left_in_german(text: str, arguments: dict[str, Any]) -> None:
    [command] = open_grammar("de").commands(text, HERE)
    assert (command.tool, command.arguments) == ("messages.leave", arguments)


def test_nobody_is_left_a_message_in_german_whom_nobody_knows() -> None:
    text = "hinterlass Gandalf eine Nachricht: der Ring ist weg"
    assert not any(one.tool == "messages.leave" for one in open_grammar("de").commands(text, HERE))


def answered(grammar: Grammar, half: str, *answers: str) -> Understanding:
    """Return what the last of some answers means, the house having asked after `half` for what it lacks."""
    reader, history, meant = reader_of(grammar), (), Understanding("")
    for text in (half, *answers):
        meant = reader.understand(replace(Turn("", text, HOUSE, 0.0), history=history), HERE)
        says = meant.half.question if meant.half else meant.reply
        history = (*history, Message("user", text), Message("assistant", says))
    return meant


@pytest.mark.parametrize(
    ("language", "half", "answer", "arguments"),
    [
        ("en", "leave a message for Anna", "dinner is at seven", {"text": "dinner is at seven", "person": "Anna"}),
        ("en", "leave Tom a message", "I am not coming home", {"text": "I am not coming home", "person": "Tom"}),
        ("en", "record a voice message for the kids", "time for bed", {"text": "time for bed", "room": "kids room"}),
        ("en", "please leave a message for the attic", "tea is ready", {"text": "tea is ready", "room": "attic"}),
        ("en", "leave a message for everybody", "The plumber comes.", {"text": "The plumber comes"}),
        ("en", "leave Anna a message that tea is ready", "", {"text": "tea is ready", "person": "Anna"}),
        (
            "de",
            "hinterlass Anna eine Nachricht",
            "das Essen steht im Ofen",
            {"text": "das Essen steht im Ofen", "person": "Anna"},
        ),
        ("de", "nimm eine Nachricht für Tom auf", "ich komme nicht", {"text": "ich komme nicht", "person": "Tom"}),
        (
            "en",
            "leave a message for Tom",
            "don't forget to turn off the oven before you leave",
            {"text": "don't forget to turn off the oven before you leave", "person": "Tom"},
        ),
        ("en", "leave a message for Tom", "no football today", {"text": "no football today", "person": "Tom"}),
        ("de", "Nachricht für alle", "morgen kommt der Müll", {"text": "morgen kommt der Müll"}),
    ],
)
def test_a_message_without_words_is_asked_for_them(
    language: str, half: str, answer: str, arguments: dict[str, Any]
) -> None:
    [command] = answered(open_grammar(language), half, *filter(None, [answer])).commands
    assert (command.tool, command.arguments) == ("messages.leave", arguments)


@pytest.mark.parametrize(
    "answer", ["never mind", "no", "what time is it", "set a timer for ten minutes", "leave a message for Tom"]
)
def test_what_is_no_message_is_none(grammar: Grammar, answer: str) -> None:
    meant = answered(grammar, "leave a message for Anna", answer)
    assert "messages.leave" not in {command.tool for command in meant.commands}


@pytest.mark.parametrize(
    ("language", "text", "says"),
    [
        ("en", "leave a message for Gandalf", "I know nobody called Gandalf."),
        ("de", "sprich eine Nachricht für Gandalf auf", "Ich kenne niemanden, der Gandalf heißt."),
    ],
)
def test_nobody_is_asked_for_the_words_to_a_stranger(language: str, text: str, says: str) -> None:
    assert answered(open_grammar(language), text).reply == says


@pytest.mark.parametrize("text", ["leave a message", "leave a message for the plumber", "leave Gandalf a message"])
def test_a_message_for_whom_the_house_cannot_reach_is_not_asked_for(grammar: Grammar, text: str) -> None:
    assert answered(grammar, text).half is None


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("tell Anna to wash her hands", "broadcast.say", {"text": "wash your hands", "person": "Anna"}),
        ("tell Tom that dinner is ready", "broadcast.say", {"text": "dinner is ready", "person": "Tom"}),
        ("tell mum the plumber is here", "broadcast.say", {"text": "the plumber is here", "person": "Anna"}),
        ("message Anna the bath is free", "messages.leave", {"text": "the bath is free", "person": "Anna"}),
        ("let Tom know that tea is ready", "messages.leave", {"text": "tea is ready", "person": "Tom"}),
        ("let everybody know tea is ready", "broadcast.say", {"text": "tea is ready"}),
        ("tell everyone Anna is home", "broadcast.say", {"text": "Anna is home"}),
        ("tell Tom to give them to her", "broadcast.say", {"text": "give them to her", "person": "Tom"}),
        ("tell the kids we leave at six", "broadcast.say", {"text": "we leave at six", "room": "kids room"}),
    ],
)
def test_what_is_for_one_person_is_left_for_them_or_said_with_their_name(
    grammar: Grammar, text: str, tool: str, arguments: dict[str, Any]
) -> None:
    [command] = grammar.commands(text, HERE)
    assert (command.tool, command.arguments) == (tool, arguments)


@pytest.mark.parametrize(
    "text", ["let Gandalf know that tea is ready", "message me that tea is ready", "tell me a joke"]
)
def test_nothing_is_said_to_nobody_and_nothing_left_for_who_speaks(grammar: Grammar, text: str) -> None:
    assert not grammar.commands(text, HERE)
