"""What a newcomer says to a house, in English and German: how a room is, what the list has, who has an appointment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from atlas.conversation import Actor, Turn
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from tests.understanding import test_exemptions as english
from tests.understanding import test_german_wishes as german
from tests.understanding.both_languages import meant

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("language", "text", "tool", "arguments"),
    [
        ("en", "how's the bedroom", "home.state", {"room": "bedroom"}),
        ("en", "what's going on in the kitchen?", "home.state", {"room": "kitchen"}),
        ("en", "is everything all right in the hall?", "home.state", {"room": "hall"}),
        ("en", "do we need milk", "lists.read", {"item": "milk"}),
        ("en", "have we got any cheese?", "lists.read", {"item": "cheese"}),
        ("en", "what week is it", "clock.date", {"week": True}),
        ("en", "appointments this year", "calendar.list", {"day": "this year"}),
        ("en", "is the school play on Friday?", "calendar.find", {"words": "school play"}),
        ("en", "delete the note the milk is sour", "notes.remove", {"title": "milk is sour"}),
        ("en", "have the potatoes had their ten minutes?", "timers.left", {"name": "potatoes"}),
        ("en", "make a list called packing", "lists.add", {"list": "packing", "items": []}),
        ("en", "what lists do I have", "lists.names", {}),
        (
            "en",
            "create a task to write it, due Friday",
            "tasks.add",
            {"title": "write it", "due": "Friday"},
        ),
        ("en", "what was the last thing I asked", "conversation.last", {}),
        ("en", "what does my week look like?", "calendar.list", {"day": "this week"}),
        ("en", "20 percent tip on 45 dollars", "world.calculate", {"expression": "20 percent of 45"}),
        ("de", "wie sieht meine Woche aus", "calendar.list", {"day": "diese Woche"}),
        ("de", "zwanzig Prozent Trinkgeld auf 45 Euro", "world.calculate", {"expression": "20 Prozent von 45"}),
        ("de", "mach eine Liste namens Packen", "lists.add", {"list": "Packen", "items": []}),
        ("de", "welche Listen gibt es", "lists.names", {}),
        ("de", "wie sieht's im Schlafzimmer aus", "home.state", {"room": "Schlafzimmer"}),
        ("de", "alles in Ordnung in der Küche?", "home.state", {"room": "Küche"}),
        ("de", "haben wir noch Käse", "lists.read", {"item": "Käse"}),
        ("de", "brauchen wir Milch", "lists.read", {"item": "Milch"}),
        ("de", "welche Kalenderwoche haben wir", "clock.date", {"week": True}),
        ("de", "sind die Kartoffeln schon durch?", "timers.left", {"name": "Kartoffeln"}),
        ("de", "ist der Elternabend am Freitag?", "calendar.find", {"words": "Elternabend"}),
        ("en", "15 % discount on 200", "world.calculate", {"expression": "15 percent of 200"}),
        ("en", "½ cup in ml", "world.convert", {"amount": "1/2", "unit": "cup", "to": "millilitre"}),
        ("en", "set a timer for 1½ hours", "timers.start", {"seconds": 5400}),
        ("en", "add 1/2 cup of sugar to the list", "lists.add", {"items": ["1/2 cup of sugar"]}),
        ("en", "when is my birthday", "calendar.find", {"words": "my birthday"}),
        ("en", "when is my dentist appointment", "calendar.find", {"words": "dentist"}),
        ("en", "read my notes", "notes.list", {}),
        ("en", "what did I say", "conversation.last", {}),
        ("en", "forget what I said about the pasta", "conversation.forget_about", {"about": "pasta"}),
        ("en", "forget what I told you about the pasta", "facts.forget", {"text": "the pasta"}),
        ("en", "why is it so cold in the bedroom?", "home.state", {"measure": "temperature", "room": "bedroom"}),
        ("de", "15 % Rabatt auf 200", "world.calculate", {"expression": "15 % von 200"}),
        ("de", "Timer auf 1 1/2 Stunden", "timers.start", {"seconds": 5400}),
        ("de", "wann ist mein Geburtstag", "calendar.find", {"words": "mein Geburtstag"}),
        ("de", "lies meine Notizen vor", "notes.list", {}),
        ("de", "was habe ich gesagt", "conversation.last", {}),
        ("de", "weckst du mich morgen um halb sieben?", "alarms.set", {"when": "morgen um halb sieben"}),
        ("de", "wann weckst du mich?", "alarms.list", {}),
        ("de", "Wecker um fünfe in der Früh", "alarms.set", {"when": "um fünf in der Früh"}),
        ("de", "erinnerst du mich um fünf an den Müll?", "reminders.add", {"when": "um fünf", "text": "Müll"}),
        (
            *("de", "Neue Aufgabe für mich, Elternbrief unterschreiben bis Dienstag", "tasks.add"),
            {"title": "Elternbrief unterschreiben", "due": "Dienstag"},
        ),
    ],
)
def test_what_a_newcomer_says_is_one_call(language: str, text: str, tool: str, arguments: Mapping[str, Any]) -> None:
    assert [(one.tool, dict(one.arguments)) for one in meant(text, language).commands] == [(tool, arguments)]


def test_who_begins_to_write_down_is_asked_what() -> None:
    asked = {
        ("en", "take a note"): "What shall I note?",
        ("en", "add a task"): "What is to be done?",
        ("en", "set a reminder"): "What shall I remind you of?",
        ("en", "new event"): "What shall I put in the calendar?",
        ("en", "add something to the shopping list"): "What shall I put on the list?",
        ("en", "make a list"): "What shall the list be called?",
        ("de", "mach eine neue Liste"): "Wie soll die Liste heißen?",
        ("de", "neue Aufgabe"): "Was ist zu tun?",
        ("de", "neue Notiz"): "Was soll ich notieren?",
        ("de", "erinnere mich"): "Woran, und wann?",
    }
    halves = {(language, text): meant(text, language).half for language, text in asked}
    assert {said: half and half.question for said, half in halves.items()} == asked


@pytest.mark.parametrize(
    ("language", "text", "title", "start", "end"),
    [
        ("en", "Mia has a dentist appointment on Tuesday at 3", "Mia's dentist appointment", "on Tuesday at 3", None),
        ("en", "Lily's got the dentist on Tuesday at 3", "Lily's dentist", "on Tuesday at 3", None),
        ("en", "swimming 4 till 5 on Thursdays", "swimming", "every Thursday at 4", "at 5"),
        ("en", "choir Wednesdays 7 till 9", "choir", "every Wednesday at 7", "at 9"),
        (
            *("en", "Grandma's birthday is on the 3rd of March"),
            *("Grandma's birthday", "on the 3rd of March every year", None),
        ),
        ("de", "Mia hat donnerstags Klavier", "Klavier Mia", "donnerstags", None),
        ("de", "Mia hat am Dienstag um drei einen Zahnarzttermin", "Zahnarzttermin Mia", "am Dienstag um drei", None),
        ("de", "Omas Geburtstag ist am 3. März", "Omas Geburtstag", "am 3 März jedes Jahr", None),
        ("de", "Schwimmen donnerstags von vier bis fünf", "Schwimmen", "donnerstags um vier Uhr", "um fünf Uhr"),
        ("de", "Trag Fußball am Samstag um zehn ein", "Fußball", "am Samstag um zehn", None),
    ],
)
def test_what_somebody_has_is_filed_with_their_name_and_all_of_its_times(
    language: str, text: str, title: str, start: str, end: str | None
) -> None:
    [command] = meant(text, language).commands
    assert command.tool == "calendar.add"
    given = command.arguments
    assert (given["title"], given["start"], given.get("end")) == (title, start, end)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I like trains"),
        ("en", "my favourite colour is blue"),
        ("en", "Mia has a cold"),
        ("en", "Mia has been to the dentist on Tuesday"),
        ("en", "has Mia a dentist appointment on Tuesday"),
        ("en", "light up my life"),
        ("en", "I need a haircut"),
        ("en", "we need a plumber"),
        ("en", "we need to talk"),
        ("en", "I need a break"),
        ("de", "ich brauche einen Haarschnitt"),
        ("de", "ich brauche einen Klempner"),
        ("de", "wir müssen reden"),
        ("de", "ich muss zum Friseur"),
        ("de", "ich liebe Dinosaurier"),
        ("de", "Mia hat am Dienstag Fieber gehabt"),
        ("de", "wer hat donnerstags Klavier"),
    ],
)
def test_remarks_and_questions_are_never_a_deed(language: str, text: str) -> None:
    understood = meant(text, language)
    assert not [one for one in understood.commands if not one.tool.endswith((".list", ".find", ".state", ".where"))]
    assert not understood.choices


@pytest.mark.parametrize(
    "text",
    ["wenn es noch dunkel ist, mach das Küchenlicht an", "mach das Küchenradio aus, wenn das Lied zu Ende ist"],
)
def test_a_german_wish_on_a_condition_is_asked_about(text: str) -> None:
    understood = meant(text, "de")
    assert not understood.commands
    assert understood.choices
    assert "jetzt" in understood.choices.question


@pytest.mark.parametrize(
    ("language", "text", "topic"),
    [
        ("en", "call mum", "calls"),
        ("en", "ring the school back please", "calls"),
        ("en", "turn the tv to channel 5", "channels"),
        ("en", "find my phone", "phone"),
        ("en", "order a pizza", "orders"),
        ("de", "ruf Mama an", "calls"),
        ("de", "schalt den Fernseher auf Kanal 5", "channels"),
        ("de", "such mein Handy", "phone"),
        ("de", "bestell mir eine Pizza", "orders"),
    ],
)
def test_what_other_assistants_do_and_this_house_cannot_is_said_to_be_so(language: str, text: str, topic: str) -> None:
    assert [(one.tool, one.arguments["topic"]) for one in meant(text, language).commands] == [("world.unknown", topic)]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I'm home"),
        ("en", "can you hear me?"),
        ("en", "are you listening to everything I say"),
        ("en", "do you send data to the cloud"),
        ("en", "you're useless"),
        ("de", "ich bin wieder da"),
        ("de", "schickst du Daten ins Internet"),
        ("de", "du bist doof"),
    ],
)
def test_small_talk_is_no_deed_and_no_question_back(language: str, text: str) -> None:
    understood = meant(text, language)
    assert not understood.commands
    assert not understood.choices


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("what's the temperature outside", "home.state", {"measure": "temperature"}),
        ("set the bedroom to 19", "home.set", {"temperature": 19.0}),
        ("lock up the house", "home.lock", {"everything": True}),
        ("lock up please", "home.lock", {"everything": True}),
        ("is everything locked", "home.state", {"value": "locked", "quantity": "all"}),
        ("nudge the heating up a couple of degrees", "home.adjust", {"what": "temperature", "by": 2.0}),
        ("set the bedroom to 19 overnight", "home.set", {"temperature": 19.0}),
        ("is anything unlocked", "home.state", {"value": "unlocked", "quantity": "any"}),
        ("where is open door?", "home.state", {"kind": "lock", "quantity": "which"}),
    ],
)
def test_first_words_to_a_house_do_what_they_say(text: str, tool: str, arguments: Mapping[str, Any]) -> None:
    [command] = meant(text, "en").commands
    assert command.tool == tool
    assert arguments.items() <= dict(command.arguments).items()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Mum, can you turn on the kitchen light?"),
        ("en", "turn the kitchen light off, Dad"),
        ("de", "Papa, kannst du mir das Küchenlicht anmachen?"),
    ],
)
def test_who_speaks_to_somebody_of_the_family_asks_nothing_of_the_house(language: str, text: str) -> None:
    assert not meant(text, language).commands


@pytest.mark.parametrize(
    ("language", "text", "tool"),
    [
        ("en", "is it cold out, I'm getting my coat", "home.state"),
        ("en", "what's the temperature out of doors", "home.state"),
        ("en", "Mum says it's too dark, turn on the kitchen light", "home.turn"),
        ("de", "welche Fenster sind grad offen", "home.state"),
        ("de", "nimm das Letzte wieder zurück", "history.undo"),
    ],
)
def test_words_that_strangers_chose_are_read(language: str, text: str, tool: str) -> None:
    commands = meant(text, language).commands
    assert [one.tool for one in commands] == [tool]
    assert commands[0].arguments.get("measure", "") != "temperature" or "Fenster" not in text


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("close the bedroom blind a quarter of the way", 75),
        ("lower the bedroom blind a third, please", 67),
        ("shut the bedroom blind three quarters of the way", 25),
        ("close the bedroom blind to a quarter", 25),
        ("open the bedroom blind three quarters", 75),
        ("open the bedroom blind a quarter", 25),
    ],
)
def test_what_closes_a_part_of_the_way_leaves_the_rest_open(text: str, position: int) -> None:
    [command] = meant(text, "en").commands
    assert (command.tool, command.arguments["position"]) == ("home.set", position)


@pytest.mark.parametrize(
    ("text", "beside"),
    [("put the radio on low", "home.set"), ("switch the radio on at twenty percent", "home.set")],
)
def test_a_player_that_is_put_on_so_loud_is_also_turned_on(text: str, beside: str) -> None:
    commands = meant(text, "en").commands
    assert [one.tool for one in commands] == ["home.turn", beside]
    assert commands[0].arguments["on"] is True


@pytest.mark.parametrize(
    ("language", "text"), [("en", "vacuum the whole house"), ("en", "vacuum everywhere"), ("de", "saug überall")]
)
def test_a_vacuum_that_is_sent_everywhere_cleans_as_ever(language: str, text: str) -> None:
    vacuum = NamedDevice("Robbie", "vacuum", "hall")
    names = Names(devices=(vacuum,), rooms=(NamedPlace("hall"),))
    turn = Turn("", text, Actor("", "test", "owner", "hall"), 0.0)
    [command] = {"en": english, "de": german}[language].reader().understand(turn, names).commands
    assert command.tool == "home.clean"
    assert "everything" not in command.arguments
