"""Who asks what Atlas can do is told what it really can, and something to try that works."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from atlas.agents.agent_help import Help
from atlas.agents.house_traits import traits_of
from atlas.agents.minds import InOrder
from atlas.config import AgentConfig, Config, EgressConfig, HouseConfig, LlmConfig
from atlas.conversation import Message, ToolCall
from atlas.speech.speaking_volumes import AS_MADE, SpeakingVolumes
from atlas.understanding.grammar import Grammar, open_grammar
from tests.conftest import for_every
from tests.houses import reader, reader_of
from tests.scripted_tools import ScriptedTools
from tests.understanding.talking import GERMAN_NAMES, NAMES

from .conftest import ANNA, ask, turn


def help_of(grammar: Grammar, tools: ScriptedTools) -> InOrder:
    return InOrder("family", reader_of(grammar), [Help(grammar.tables, tools)])


@pytest.mark.parametrize(
    "text", ["What can you do?", "help", "Atlas, what can you do for me?", "what can I say", "how do I use this?"]
)
async def test_help_names_what_there_is(grammar: Grammar, tools: ScriptedTools, text: str) -> None:
    answer, _ = await ask(help_of(grammar, tools), text)
    assert answer.text.startswith("Ask me for the time, timers, ")
    assert "weather" not in answer.text, "this agent has no tool for it"
    assert answer.text.endswith("Try “set a timer for ten minutes.”")


@pytest.mark.parametrize(
    "text", ["help me with maths", "what can you do about the noise", "we need help", "what can we do today"]
)
async def test_what_asks_for_something_else_is_no_cry_for_help(
    grammar: Grammar, tools: ScriptedTools, text: str
) -> None:
    assert not await help_of(grammar, tools).prepare(turn(text))


async def test_an_app_with_instructions_of_its_own_says_itself_what_it_can(
    grammar: Grammar, tools: ScriptedTools
) -> None:
    assert not await help_of(grammar, tools).prepare(turn("what can you do", instructions="You are a pirate."))


async def test_an_agent_without_tools_promises_nothing(grammar: Grammar) -> None:
    assert not await Help(grammar.tables, ScriptedTools([]))._words()


def test_what_is_suggested_is_understood(grammar: Grammar) -> None:
    for spoken in (grammar, open_grammar("de")):
        for tool, text in spoken.tables["help"]["such_as"].items():
            command = spoken.read(text)
            assert command, text
            assert command.tool == tool


CONFIG = Config(
    Path("/data"),
    house=HouseConfig(languages=("en", "de")),
    llm={"embedded": LlmConfig()},
    agents={"family": AgentConfig()},
)


def about_of(
    language: str,
    tools: ScriptedTools,
    config: Config = CONFIG,
    volumes: SpeakingVolumes | None = None,
) -> InOrder:
    spoken = reader(language)
    mind = Help(spoken.grammar.tables, tools, traits=partial(traits_of, config, "family", "a voice"), volumes=volumes)
    return InOrder("family", spoken, [mind])


@for_every(
    ("language", "text", "holds"),
    [
        ("en", "Which languages do you speak?", "English and German"),
        ("en", "Do you understand German?", "English and German"),
        ("en", "How do I add my phone?", "The house, Devices"),
        ("en", "How can my wife use this?", "The house, Devices"),
        ("en", "How do I let my daughter in?", "The house, Devices"),
        ("en", "How do I switch you to German?", "under The house, Settings"),
        ("en", "how can I make you speak French", "under The house, Settings"),
        ("en", "How do I turn you off?", "its owner ends the program there"),
        ("en", "who can use you", "under The house, Devices"),
        ("en", "What agents are there?", "The agents of this house are called family"),
        ("en", "Are you listening all the time?", "forget what came before it"),
        ("en", "can I delete what I said", "forget what I said today"),
        ("en", "How do I delete my conversations?", "In the app, under Conversations"),
        ("en", "How do I get the app?", "https://atlas.local:8643"),
        ("en", "What is the address of the app?", "https://atlas.local:8643"),
        ("en", "How do I connect my lights?", "Home Assistant or an MQTT broker"),
        ("en", "how do I connect home assistant", "Home Assistant or an MQTT broker"),
        ("en", "How do I set up the weather?", "where home is"),
        ("en", "What's your wake word?", "okay nabu"),
        ("en", "How do I change your wake word?", "okay nabu"),
        ("en", "How do I back up?", "No backup"),
        ("en", "Where is my data stored?", "/data"),
        ("en", "Do you work without internet?", "without the internet"),
        ("en", "Does anything leave the house?", "Nothing leaves"),
        ("en", "Are you ChatGPT?", "Atlas"),
        ("en", "who made you", "free software"),
        ("en", "Which model are you?", "smollm2"),
        ("en", "Can I change your voice?", "a voice"),
        ("en", "What happens if the power goes out?", "on the disk"),
        ("en", "How does this work?", "your own words"),
        ("en", "What version are you?", "I am Atlas"),
        ("en", "What can you not do?", "search the internet"),
        ("en", "What can you do with timers?", "ten minutes"),
        ("en", "what can you do with lists", "shopping list"),
        ("en", "How do I set an alarm?", "wake me"),
        ("en", "How do I delete a timer?", "cancel the timer"),
        ("en", "How do I write a note?", "make a note"),
        ("en", "How do I undo?", "undo that"),
        ("en", "Speak louder", "how loud I speak"),
        ("en", "You are too loud", "how loud I speak"),
        ("en", "Speak slower", "how fast I speak"),
        ("en", "Play hide and seek with me", "I'd lose"),
        ("en", "play chess with me", "I'd lose"),
        ("en", "Sing happy birthday", "can't sing"),
        ("en", "I'm scared", "with you"),
        ("en", "I can't sleep", "Good night"),
        ("en", "I'm hungry", "can't cook"),
        ("en", "Tell me a joke", "clock"),
        ("en", "What did we talk about?", "Conversations"),
        ("en", "delete all my notes", "one by one"),
        ("en", "Can you get rid of every note?", "one by one"),
        ("en", "please clear all the reminders", "one by one"),
        ("de", "Welche Sprachen sprichst du?", "Englisch und Deutsch"),
        ("de", "Wie verbinde ich mein Handy?", "Geräte"),
        ("de", "Wie kann meine Frau dich benutzen?", "Geräte"),
        ("de", "Wie bekomme ich die App?", "https://atlas.local:8643"),
        ("de", "Wie verbinde ich meine Lampen?", "Home Assistant oder"),
        ("de", "Wie richte ich das Wetter ein?", "wo zu Hause ist"),
        ("de", "Wie heißt dein Weckwort?", "okay nabu"),
        ("de", "Wie mache ich ein Backup?", "keine Sicherung"),
        ("de", "Wo sind meine Daten gespeichert?", "/data"),
        ("de", "Funktionierst du ohne Internet?", "ohne Internet"),
        ("de", "Verlässt etwas das Haus?", "Nichts verlässt"),
        ("de", "Bist du ChatGPT?", "Atlas"),
        ("de", "Wer hat dich gemacht?", "freie Software"),
        ("de", "Welches Modell bist du?", "smollm2"),
        ("de", "Kann ich deine Stimme ändern?", "a voice"),
        ("de", "Was passiert, wenn der Strom ausfällt?", "auf der Platte"),
        ("de", "Wie funktioniert das?", "deinen Worten"),
        ("de", "Welche Version bist du?", "Ich bin Atlas"),
        ("de", "Was kannst du nicht?", "im Internet"),
        ("de", "Was kannst du mit Timern machen?", "zehn Minuten"),
        ("de", "Wie stelle ich einen Wecker?", "weck mich"),
        ("de", "Wie schreibe ich eine Notiz?", "notier"),
        ("de", "Sprich lauter", "Wie laut ich spreche"),
        ("de", "Du bist zu laut", "Wie laut ich spreche"),
        ("de", "Spiel Verstecken mit mir", "Da verliere ich"),
        ("de", "Sing Happy Birthday", "Singen kann ich nicht"),
        ("de", "Ich habe Angst", "jemandem"),
        ("de", "Ich kann nicht schlafen", "Gute Nacht"),
        ("de", "Ich habe Hunger", "Kochen"),
        ("de", "Erzähl mir einen Witz", "Tick"),
        ("de", "Lösche alle Notizen", "einzeln"),
        ("de", "Kannst du bitte alle meine Aufgaben löschen?", "einzeln"),
        ("de", "wirf meine Notizen weg", "einzeln"),
    ],
)
async def test_who_asks_about_atlas_itself_hears_what_is_true_of_this_house(
    tools: ScriptedTools, language: str, text: str, holds: str
) -> None:
    answer, _ = await ask(about_of(language, tools), text)
    assert holds in answer.text
    assert "{" not in answer.text


@for_every(
    ("language", "text"),
    [
        ("en", "which languages do people speak in Belgium"),
        ("en", "how do I cook rice"),
        ("en", "who made the first telephone"),
        ("en", "turn the volume up"),
        ("en", "louder please"),
        ("en", "play some jazz"),
        ("en", "how does a heat pump work"),
        ("en", "cancel the timer"),
        ("en", "cancel all timers"),
        ("en", "delete the note about bread"),
        ("en", "make a note: delete all my notes"),
        ("en", "delete all my notes about bread"),
        ("de", "lösche alle Timer"),
        ("de", "lösche die Notiz Brot"),
        ("de", "welche Sprachen spricht man in Belgien"),
        ("de", "wie koche ich Reis"),
        ("de", "mach lauter"),
        ("de", "lauter"),
        ("de", "spiel Jazz"),
        ("de", "spiel etwas von Queen"),
        ("de", "wie funktioniert eine Wärmepumpe"),
    ],
)
async def test_questions_about_the_world_and_commands_are_not_about_atlas(
    tools: ScriptedTools, language: str, text: str
) -> None:
    assert not await about_of(language, tools).prepare(turn(text))


@for_every(
    ("language", "text", "says", "percent"),
    [
        ("en", "Speak a bit louder, please.", "70 percent", 70),
        ("en", "You're too quiet", "70 percent", 70),
        ("en", "Turn your volume up", "70 percent", 70),
        ("en", "Can you speak more quietly?", "30 percent", 30),
        ("en", "Don't speak so loud!", "30 percent", 30),
        ("en", "Set your volume to 40%", "40 percent", 40),
        ("en", "set your volume to forty percent", "40 percent", 40),
        ("en", "Your volume to eight, please", "80 percent", 80),
        ("en", "Speak as loud as you can", "as loud as I can", 100),
        ("en", "Can you speak as loudly as possible?", "as loud as I can", 100),
        ("en", "Talk is softly as possible", "as softly as I can", 10),  # as a room may hear it
        ("en", "To speak a bit more softly, please.", "30 percent", 30),
        ("en", "Whisper, please", "as softly as I can", 10),
        ("de", "Sprich bitte etwas lauter", "70 Prozent", 70),
        ("de", "Ich höre dich nicht", "70 Prozent", 70),
        ("de", "Du bist viel zu laut", "30 Prozent", 30),
        ("de", "Red nicht so laut!", "30 Prozent", 30),
        ("de", "Stell deine Lautstärke auf 40 Prozent", "40 Prozent", 40),
        ("de", "Flüstere bitte", "Leiser kann ich", 10),
    ],
)
async def test_who_wants_it_louder_or_softer_is_spoken_to_so(
    tools: ScriptedTools, language: str, text: str, says: str, percent: int, tmp_path: Path
) -> None:
    volumes = SpeakingVolumes(tmp_path)
    volumes.on("phone")
    await volumes.set("phone", AS_MADE)
    answer, _ = await ask(about_of(language, tools, volumes=volumes), text, spoken=True)
    assert says in answer.text
    assert volumes.percent("phone") == percent


@for_every(("language", "text", "percent"), [("en", "Louder, please", 70), ("de", "Etwas leiser bitte", 30)])
async def test_behind_words_of_its_own_it_is_no_player_that_is_too_soft(
    tools: ScriptedTools, language: str, text: str, percent: int, tmp_path: Path
) -> None:
    volumes = SpeakingVolumes(tmp_path)
    volumes.on("phone")
    await volumes.set("phone", AS_MADE)
    about, asked = about_of(language, tools, volumes=volumes), Message("user", "x")
    radio = ToolCall("call", "home.turn", {"on": True})
    switched = (asked, Message("assistant", calls=(radio,)), Message("assistant", "The radio is on."))
    for history, spoken in ((), True), (switched, True), ((asked, Message("assistant", "It is four.")), False):
        assert not await about.prepare(turn(text, history=history, spoken=spoken))
    await ask(about, text, spoken=True, history=(asked, Message("assistant", "It is four.")))
    assert volumes.percent("phone") == percent


@for_every(("language", "says"), [("en", "I do so for an hour"), ("de", "Das gilt für eine Stunde")])
async def test_what_a_guest_wants_holds_for_an_hour(
    tools: ScriptedTools, language: str, says: str, tmp_path: Path
) -> None:
    now = [0.0]
    volumes = SpeakingVolumes(tmp_path, lambda: now[0])
    guest = replace(ANNA, role="guest")
    volumes.on(guest.device_key)
    await volumes.set(guest.device_key, 60)
    words = {"en": "Speak louder", "de": "Sprich lauter"}[language]
    answer, _ = await ask(about_of(language, tools, volumes=volumes), words, spoken=True, actor=guest)
    assert says in answer.text
    assert volumes.percent(guest.device_key) == 80
    assert SpeakingVolumes(tmp_path).percent(guest.device_key) == 60, "nothing of it is stored"
    now[0] += 3600
    assert volumes.percent(guest.device_key) == 60


async def test_a_device_is_as_loud_under_another_name_and_another_of_its_old_name_is_not(
    tools: ScriptedTools, tmp_path: Path
) -> None:
    volumes = SpeakingVolumes(tmp_path)
    phone = replace(ANNA, device_id="device_1")
    volumes.on(phone.device_key)
    await ask(about_of("en", tools, volumes=volumes), "speak louder", spoken=True, actor=phone)
    assert volumes.percent(replace(phone, device="Anna's phone").device_key) == AS_MADE + 20
    assert volumes.percent(replace(phone, device_id="device_2").device_key) == AS_MADE


async def test_where_nobody_speaks_aloud_the_volume_stays_and_that_is_said(
    tools: ScriptedTools, tmp_path: Path
) -> None:
    volumes = SpeakingVolumes(tmp_path)
    volumes.on("phone")
    answer, _ = await ask(about_of("en", tools, volumes=volumes), "speak louder")
    assert "can't change how loud" in answer.text
    assert volumes.percent("phone") == AS_MADE


def test_words_that_answer_a_question_of_atlas_are_not_about_it(grammar: Grammar) -> None:
    history = (Message("user", "leave a message for Anna"), Message("assistant", "What is the message?"))
    assert not reader_of(grammar).understand(turn("I'm hungry", history=history)).about


async def test_what_is_set_up_is_named(tools: ScriptedTools) -> None:
    weather = {"weather": {"place": "Bristol", "latitude": 51.4, "longitude": -2.6}}
    house = replace(CONFIG, tool_settings=weather, egress=EgressConfig(("api.open-meteo.com:443",)))
    answer, _ = await ask(about_of("en", tools, house), "how do I set up the weather")
    assert "Bristol" in answer.text
    answer, _ = await ask(about_of("en", tools, house), "does anything leave the house")
    assert "api.open-meteo.com" in answer.text


@for_every("language", ["en", "de"])
def test_whatever_an_answer_about_atlas_has_somebody_say_is_understood(language: str) -> None:
    spoken = reader(language)
    for question in spoken.grammar.tables["about"]["questions"]:
        for says in (question["says"], *question.get("where", {}).values()):
            for text in re.findall("[“„]([a-zäöü][^”“]*)[”“]", says):
                meant = spoken.read(text, GERMAN_NAMES if language == "de" else NAMES)
                assert meant.help or meant.past or not meant.empty, text


@for_every(
    "text",
    [
        *("how do I turn the heating off", "turn off", "how do I switch the radio to jazz", "who can use the car"),
        *(
            "who can I ask about this",
            "what estate agents are there",
            "how do I stop smoking",
            "how do I say you in German",
        ),
    ],
)
async def test_a_question_about_other_things_is_none_about_atlas(
    grammar: Grammar, tools: ScriptedTools, text: str
) -> None:
    assert not await help_of(grammar, tools).prepare(turn(text))


@pytest.mark.parametrize(
    "text", ["Are you listening all the time?", "do you record everything I say", "are you spying on us"]
)
async def test_who_asks_whether_rooms_listen_is_told_what_they_store(tools: ScriptedTools, text: str) -> None:
    storing = replace(CONFIG, speech=replace(CONFIG.speech, near_misses=True))
    answer, _ = await ask(about_of("en", tools, storing), text)
    assert "stored on this machine for a day" in answer.text
    assert "forget what came before it" not in answer.text


@pytest.mark.parametrize(
    "text",
    ["are you listening", "do you hear me", "can I delete the list", "how do I delete my alarm", "do you record music"],
)
async def test_other_questions_are_none_about_what_is_stored(grammar: Grammar, tools: ScriptedTools, text: str) -> None:
    meant = reader_of(grammar).read(text)
    assert meant.about is None or not any(trait == "stored" for trait, _ in meant.about.where)
    assert meant.about is None or "forget what I said today" not in meant.about.says
