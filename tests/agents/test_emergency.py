"""Somebody in danger or ill hears a prepared answer with the right numbers; everyday talk is left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from atlas.agents.agent_emergency import HELPLINES, EmergencyMind, Helplines, open_helplines, wording
from atlas.agents.minds import open_agent
from atlas.config import LlmConfig
from atlas.confirmations import HouseConfirmations
from atlas.conversation import Message, Turn
from atlas.errors import ConfigError
from atlas.events import Event
from atlas.understanding.emergencies import Emergency, open_emergencies
from atlas.understanding.templates import SENTENCES
from atlas.understanding.understanding import Reader, Understanding
from tests.conftest import for_every
from tests.houses import english, reader_of
from tests.scripted_tools import ScriptedTools

from .conftest import ask, says, turn

CORPUS = Path(__file__).parent / "corpus" / "emergency"
GERMANY, BRITAIN = open_helplines("de", "Maria, 0170 1234567"), open_helplines("GB")


def lines(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]


@for_every("language", ["en", "de"])
def test_who_is_in_need_is_understood(language: str) -> None:
    emergencies = open_emergencies(language)
    read = {text: emergencies.read(text) for _, text in lines(f"{language}.tsv")}
    assert [(kind, text) for kind, text in lines(f"{language}.tsv") if getattr(read[text], "kind", "") != kind] == []
    assert len(lines("en.tsv")) > 80


@for_every("language", ["en", "de"])
def test_everyday_talk_is_no_emergency(language: str) -> None:
    emergencies = open_emergencies(language)
    assert [text for (text,) in lines(f"{language}_none.tsv") if emergencies.read(text)] == []
    assert len(lines("en_none.tsv")) > 120


def test_a_german_house_understands_a_cry_in_english_and_answers_in_it() -> None:
    emergency = open_emergencies("de").read("my baby isn't breathing")
    assert emergency
    assert wording(emergency, GERMANY, spoken=False).startswith("Call 112 now")


def test_advice_is_asked_for_in_a_language_of_the_house_alone() -> None:
    assert open_emergencies("de").read("wart mal, hab ich morgen erst zur zweiten Stunde?") is None
    assert open_emergencies("de", "en").read("I have a wart on my hand, what should I take for it?")


@for_every(
    ("kind", "helplines", "text"),
    [
        ("danger", BRITAIN, "Call 999 or 112 now"),
        ("danger", GERMANY, "Or call Maria, 0170 1234567."),
        ("danger", Helplines({}), "Call your emergency number now"),
        ("intruder", GERMANY, "call 110 now"),
        ("poison", open_helplines("us"), "Call the poison line now: 1-800-222-1222."),
        ("poison", open_helplines("fr"), "Call 112 or a poison centre now."),
        ("crisis", open_helplines("us"), "people listen day and night on 988."),
        ("crisis", Helplines({}), "call somebody whom you trust"),
        ("fire", open_helplines("no"), "call 110 from outside"),
    ],
)
def test_the_numbers_are_those_of_the_country(kind: str, helplines: Helplines, text: str) -> None:
    assert text in wording(_english(kind), helplines, spoken=False)


def test_a_number_that_is_heard_is_said_digit_by_digit() -> None:
    assert "Call 1 1 2 now" in wording(_english("danger"), GERMANY, spoken=True)
    assert "0 8 0 0, 1 1 1, 0, 1 1 1" in wording(_english("crisis"), GERMANY, spoken=True)


def _english(kind: str) -> Emergency:
    return Emergency(kind, _table("en")["says"])


def _table(language: str) -> dict[str, Any]:
    details: dict[str, Any] = yaml.safe_load((SENTENCES / language / "emergency.yaml").read_text(encoding="utf-8"))
    return dict(details["emergency"])


@for_every("language", ["en", "de"])
def test_every_kind_has_an_answer_in_every_country(language: str) -> None:
    table = _table(language)
    for country in ("", *yaml.safe_load(HELPLINES.read_text(encoding="utf-8"))):
        helplines = open_helplines(country, "Ben")
        for kind in table["kinds"]:
            for spoken in (True, False):
                words = wording(Emergency(kind["name"], table["says"]), helplines, spoken=spoken)
                assert "{" not in words and "  " not in words, words


def test_a_country_that_nobody_wrote_down_is_said_to_be_so() -> None:
    with pytest.raises(ConfigError, match="atlantis"):
        open_helplines("atlantis")


async def test_it_answers_before_any_model_and_without_one(
    reader: Reader, tools: ScriptedTools, confirmations: HouseConfirmations
) -> None:
    model = says(["Give her 500 mg."])
    first = [EmergencyMind(["en"], lambda: GERMANY)]
    agent = open_agent("family", LlmConfig(), model, tools, reader, confirmations, first=first)
    answer, _ = await ask(agent, "How much paracetamol can I give my three year old?")
    assert "pharmacist" in answer.text
    assert not any(map(str.isdigit, answer.text.replace("112", "")))
    assert not model.prompts
    assert not tools.actors


@pytest.fixture
def reader() -> Reader:
    return reader_of(english())


async def is_answered(reader: Reader, question_turn: Turn) -> bool:
    return await EmergencyMind(["en"], lambda: GERMANY).prepare(reader.understand(question_turn), question_turn)


async def test_what_is_a_command_stays_one(reader: Reader) -> None:
    assert not await is_answered(reader, turn("remember that Anna is allergic to nuts"))
    assert await is_answered(reader, turn("Anna has an allergic reaction"))


async def test_a_second_reading_counts_when_it_is_about_life(reader: Reader) -> None:
    assert await is_answered(reader, turn("he is not reading", alternatives=("he is not breathing",)))
    assert not await is_answered(reader, turn("my bread hurts", alternatives=("my head hurts",)))


async def test_what_no_person_said_is_no_cry_for_help(reader: Reader) -> None:
    assert not await is_answered(reader, turn("call the police", channel=None))


@for_every(
    ("concern", "heard"), [("health", "ask a pharmacist"), ("emergency", "Call 112 now"), ("cannot", ""), ("", "")]
)
async def test_a_concern_that_was_learnt_has_the_prepared_answer_too(concern: str, heard: str) -> None:
    texts: list[str] = []

    async def emit(event: Event) -> None:
        texts.append(getattr(event, "text", ""))

    question_turn = turn("is it wise to have wine on top of these")
    meant = Understanding(question_turn.text, concern=concern)
    await EmergencyMind(["en"], lambda: GERMANY).answer(meant, question_turn, emit)
    assert heard in "".join(texts) and bool(texts) == bool(heard)


async def answered(reader: Reader, *spoken: str) -> str:
    """What is said to the last of some turns of one person, the others having been answered."""
    history = tuple(
        Message(author, text) for one in spoken[:-1] for author, text in (("user", one), ("assistant", "…"))
    )
    question_turn = turn(spoken[-1], history=history)
    texts: list[str] = []

    async def emit(event: Event) -> None:
        texts.append(getattr(event, "text", ""))

    mind = EmergencyMind(["en", "de"], lambda: GERMANY)
    await mind.answer(reader.understand(question_turn), question_turn, emit)
    return "".join(texts)


async def test_an_emergency_stays_open_until_somebody_says_that_it_is_over(reader: Reader) -> None:
    fire, fall = "help, there's a fire", "I have fallen and I cannot get up"
    again = {
        (fire, "in the kitchen"): "Get everybody out",
        (fire, "what do I do"): "Get everybody out",
        (fall, "yes it is my hip, it hurts a great deal"): "Call 112 now",
        ("Ruby swallowed some bleach", "what should we do now"): "Call the poison line now",
        (fall, "I think so", "what do I do"): "Call 112 now",
        ("Oma ist umgefallen", "was soll ich tun"): "112",
        ("Oma ist umgefallen", "was mach ich jetzt"): "112",
        (fall, "how does CPR work"): "Call 112 now",
        (fall, "is grandma going to die"): "Call 112 now",
        (fire, "which number was that"): "Get everybody out",
        ("Oma ist umgefallen", "wie geht die stabile Seitenlage"): "112",
        ("Oma ist umgefallen", "ist das schlimm"): "112",
    }
    assert {
        spoken: said for spoken, says in again.items() if says not in (said := await answered(reader, *spoken))
    } == {}
    over = [
        (fire, "never mind, it's only toast"),
        (fire, "thank you"),
        (fire, "sorry, it was a false alarm"),
        ("my daughter fell down the stairs", "she's ok now"),
    ]
    ended = "All right. I'm here if you need me."
    assert [spoken for spoken in over if await answered(reader, *spoken) != ended] == []
    assert await answered(reader, "Oma ist umgefallen", "der Notarzt ist unterwegs") == (
        "Gut. Ich bin da, wenn du mich brauchst."
    )
    silent = [
        (fire, "false alarm", "what do I do"),
        (fall, "set a timer for five minutes"),
        ("what is in the fridge", "what do I do"),
        ("my head hurts", "what do I do about dinner"),
        (fire, "what's the capital of France"),
        (fall, "why is the sky blue"),
        (fall, "where is my passport"),
        ("Oma ist umgefallen", "wie heißt die Hauptstadt von Frankreich"),
        ("Oma ist umgefallen", "wann war der Dreißigjährige Krieg"),
    ]
    assert [spoken for spoken in silent if await answered(reader, *spoken)] == []
