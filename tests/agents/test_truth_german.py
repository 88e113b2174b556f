"""In a German house a claim without a deed is withheld in German and in English, and talk passes untouched."""

from __future__ import annotations

import logging

import pytest
import yaml

from atlas.agents.minds import open_agent
from atlas.agents.tongues import ENGLISH, HONESTY, languages, open_tongues
from atlas.agents.truth import Deeds, Truth, correction, is_true
from atlas.agents.wanted import read
from atlas.assent import Assents
from atlas.config import LlmConfig
from atlas.conversation import Receipt, ToolCall, ToolResult
from atlas.mcp.tools_scripted import ScriptedTools
from atlas.understanding.grammar import Grammar
from atlas.understanding.templates import open_sentences
from atlas.understanding.understanding import Reader
from tests.agents.conftest import NOT_DONE, ask, says

from .conftest import labelled

GERMAN = open_tongues("de")
NICHT_GETAN = GERMAN[0].says["not_done"]
LEAST_WITHHELD = 0.97  # of claims, as they are said; the whole reply is corrected where one was not
LEAST_WITHHELD_OF_HELD_OUT = 0.8  # now 47 of 56: no rule was made for these
MOST_WITHHELD = 0.02  # of what claims nothing; now none of 168


@pytest.mark.parametrize("name", ["de", "strangers_de", "heldout_de"])
def test_nobody_is_left_to_believe_what_was_not_done(name: str) -> None:
    """Each sentence is a whole reply: it is withheld, or what is true is added. The false-success rate is 0."""
    claims = labelled(name, "claim")
    withheld = [said for asked, said in claims if not is_true(said, Deeds(asked=asked), GERMAN)]
    believed = [
        said for asked, said in claims if said not in withheld and not correction(said, Deeds(asked=asked), GERMAN)
    ]
    assert believed == []
    assert len(withheld) >= (LEAST_WITHHELD_OF_HELD_OUT if "heldout" in name else LEAST_WITHHELD) * len(claims)


def test_what_claims_nothing_is_let_through_as_it_is() -> None:
    harmless = [row for name in ("de", "strangers_de", "heldout_de") for row in labelled(name, "harmless")]
    touched = [
        said
        for asked, said in harmless
        if not is_true(said, Deeds(asked=asked), GERMAN) or correction(said, Deeds(asked=asked), GERMAN)
    ]
    assert len(harmless) == 168
    assert len(touched) <= MOST_WITHHELD * len(harmless), touched


def test_english_is_judged_in_a_german_house_as_in_an_english_one() -> None:
    for name, label in (("devious", "claim"), ("heldout", "claim"), ("ordinary", "harmless"), ("talk", "harmless")):
        for asked, said in labelled(name, label):
            asked_for = Deeds(asked=asked)
            assert is_true(said, asked_for, GERMAN) == is_true(said, asked_for), said
            assert bool(correction(said, asked_for, GERMAN)) == bool(correction(said, asked_for)), said


def done(tool: str, arguments: dict[str, object], said: str) -> Deeds:
    return Deeds().done(ToolCall("c", tool, arguments), ToolResult("c", True, said, receipt=Receipt("r", said)))


EGG = done("timers.start", {"seconds": 600, "name": "Eier"}, "Eier timer set for 10 minutes.")
HALL_OFF = done("home.turn", {"on": False, "device": "Lampe im Flur"}, "Lampe im Flur is off.")
MILK = done("lists.add", {"items": ["Milch"]}, "Added Milch to the shopping list.")
MAIL = done("email.send", {"to": "Anna"}, "Sent your e-mail to Anna.")
LOCKED = Deeds(read=("home.state Haustür The Haustür is locked.",))


@pytest.mark.parametrize(
    ("sentence", "deeds", "true"),
    [
        ("Erledigt!", EGG, True),
        ("Ich habe den Timer gestellt.", EGG, True),
        ("Ich habe einen Timer auf zehn Minuten gestellt.", EGG, True),
        ("Der Timer läuft.", EGG, True),
        ("Der Timer wurde auf 10 Minuten gesetzt.", EGG, True),
        ("Ich stelle dir einen Timer auf zehn Minuten.", EGG, True),
        ("Ich habe einen Timer auf zwölf Minuten gestellt.", EGG, False),
        ("Ich habe den Wecker gestellt.", HALL_OFF, False),
        ("Ich habe den Timer gelöscht.", EGG, False),
        ("Ich habe den Nudeltimer gestellt.", EGG, False),
        ("Ich habe den Eiertimer gestellt.", EGG, True),
        ("Ich habe das Licht ausgeschaltet.", EGG, False),
        ("Ich habe das Licht im Flur ausgeschaltet.", HALL_OFF, True),
        ("Die Lampe im Flur ist aus.", HALL_OFF, True),
        ("Die Lampe im Flur ist an.", HALL_OFF, False),
        ("Ich habe das Licht in der Küche ausgeschaltet.", HALL_OFF, False),
        ("Ich habe alle Lichter ausgeschaltet.", HALL_OFF, False),
        ("Ich habe Milch auf die Einkaufsliste gesetzt.", MILK, True),
        ("Milch steht jetzt auf deiner Einkaufsliste.", MILK, True),
        ("Ich habe Milch und Eier auf die Einkaufsliste gesetzt.", MILK, False),
        ("Ich habe die Milch von der Liste gestrichen.", MILK, False),
        ("Ich habe die E-Mail an Anna geschickt.", MAIL, True),
        ("Ich habe die E-Mail an Ben geschickt.", MAIL, False),
        ("Die Haustür ist abgeschlossen.", LOCKED, True),
        ("Ich habe die Haustür abgeschlossen.", LOCKED, False),
    ],
)
def test_a_receipt_proves_what_it_is_for_and_nothing_else(sentence: str, deeds: Deeds, true: bool) -> None:
    assert is_true(sentence, deeds, GERMAN) is true


def test_what_is_true_is_said_in_german_in_the_place_of_an_empty_claim() -> None:
    truth = Truth(GERMAN)
    assert truth.feed("Okay. Ich habe den Timer gestellt. Schlaf gut.", Deeds()) == "Okay. "
    assert truth.settle(Deeds()) == f"{NICHT_GETAN} Schlaf gut."


@pytest.mark.parametrize("said", ["Ich habe das Licht ausgeschaltet.", "Erledigt!", "I've turned off the lights."])
async def test_an_agent_of_a_german_house_owns_up_in_german(said: str, tools: ScriptedTools, assents: Assents) -> None:
    german = Grammar(*open_sentences("de"))
    agent = open_agent("family", LlmConfig(tools=True), says([said]), tools, Reader(german), assents)
    answer, _ = await ask(agent, "kannst du es dunkel machen")
    assert answer.text == "Das habe ich nicht verstanden, darum ist nichts geschehen. Sag es bitte mit anderen Worten."


@pytest.mark.parametrize(
    ("asked", "said", "added"),
    [
        ("weck mich um sieben", "Träum was Schönes!", NICHT_GETAN),
        ("kannst du das Licht im Flur ausmachen", "Dunkelheit, wie du magst.", NICHT_GETAN),
        ("schreib Brot und Butter auf die Einkaufsliste", "Lecker!", NICHT_GETAN),
        ("erinnere mich um fünf an Mama", "Um fünf stupse ich dich an.", NICHT_GETAN),
        ("mach das Licht aus", "Das kann ich nicht.", ""),
        ("mach das Licht aus", "Welches Licht?", ""),
        ("erzähl mir einen Witz", "Kommt ein Pferd in die Bar.", ""),
        ("schreib mir ein Gedicht über eine Lampe", "Sie leuchtet still.", ""),
        ("stell dir vor, du wärst ein Hund", "Wuff.", ""),
        ("mach mir Mut", "Du schaffst das.", ""),
        ("hast du die Tür abgeschlossen", "Aber sicher doch.", GERMAN[0].says["not_known"]),
        ("ist Paris in Frankreich", "Ja.", ""),
        ("turn off the lights", "Darkness it is.", NICHT_GETAN),
    ],
)
def test_who_asked_for_a_deed_hears_that_there_was_none(asked: str, said: str, added: str) -> None:
    assert correction(said, Deeds(asked=asked), GERMAN) == added


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "words",
    [
        "„",
        "“",
        "»",
        "ich habe ",
        "das licht ist ",
        "der ",
        "auf der liste ",
        "mach ",
        "und dann ",
        "timer ",
        "12 ",
        "7-a ",
    ],
)
def test_a_flood_of_words_is_read_at_once(words: str) -> None:
    is_true((words * 600)[:600], Deeds(asked="mach das Licht aus"), GERMAN)
    correction(words * 1_000, Deeds(asked=words * 60_000), GERMAN)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("words", ["klar doch ", "aber gerne ", "nun auch "])
def test_words_that_can_be_read_as_one_phrase_or_as_two_are_read_only_once(words: str) -> None:
    """Of sixty such every way to divide them was tried, which no house lives to see the end of."""
    is_true("Ich habe " + (words * 60)[:580] + "xqz", Deeds(asked="mach das Licht aus"), GERMAN)
    is_true((words * 60)[:580] + "xqz", Deeds(asked="mach das Licht aus"), GERMAN)
    correction((words * 60)[:580] + "xqz?", Deeds(asked="mach das Licht aus"), GERMAN)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("marks", ["✓ - ", "✅ ", "✔", "☑-"])
def test_ticks_without_end_are_read_at_once_and_claim_what_one_does(marks: str) -> None:
    assert not is_true(f"Das Licht {marks * 600}", Deeds(), GERMAN)
    assert not is_true(marks * 6_000, Deeds(), GERMAN)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("language", languages())
def test_marks_before_a_claim_are_gone_over_once(language: str) -> None:
    for form in ("i_did_it", "done", "news_first", "moved", "it_stands", "under_way"):
        assert not open_tongues(language)[0].has("✓ " * 10_000, form)


def test_of_a_language_without_a_file_english_is_left_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    open_tongues.cache_clear()
    with caplog.at_level(logging.WARNING, "atlas"):
        assert open_tongues("tlh") == open_tongues("tlh") == ENGLISH
    assert [record.getMessage() for record in caplog.records] == [
        "honesty language=tlh: claims are only checked in English, as agents/honesty has no file"
    ]
    assert not is_true("I've set a timer.", Deeds(), open_tongues("tlh"))


@pytest.mark.parametrize("language", languages())
def test_every_language_has_words_for_every_topic_and_says_what_is_true(language: str) -> None:
    tongue = open_tongues(language)[0]
    assert tongue.topics.keys() == ENGLISH[0].topics.keys()
    assert len(tongue.opposites) == len(ENGLISH[0].opposites)
    assert tongue.says.keys() == ENGLISH[0].says.keys()
    assert tongue.words.keys() == ENGLISH[0].words.keys()
    told = yaml.safe_load((HONESTY / f"{language}.yaml").read_text(encoding="utf-8"))
    names = [name for section in told.values() if isinstance(section, dict) for name in section]
    assert [name for name in names if not isinstance(name, str)] == []  # YAML takes a bare "on" for true


def test_an_english_house_does_not_know_german() -> None:
    assert is_true("Ich habe den Timer gestellt.", Deeds())
    assert NOT_DONE != NICHT_GETAN
    assert not read("weck mich um sieben").wants_deed
