"""A deed or a state is never said to be so because a model wrote it: only what tools said is spoken of the house."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from atlas.agents.minds import open_agent
from atlas.agents.speech_policy import SentenceFilter, SpeechPolicy
from atlas.config import LlmConfig
from atlas.confirmations import HouseConfirmations
from atlas.conversation import ClientTools, Tool, ToolCall, ToolResult
from atlas.understanding.concern import Concerns
from atlas.understanding.grammar import open_grammar
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from atlas.understanding.understanding import Understanding
from tests.conftest import done_within, for_every, sample
from tests.houses import english, reader
from tests.scripted_tools import ScriptedHousehold, ScriptedTools

from .conftest import CLAIMS, ask, labelled, says, turn, wants

NAMES = Names(
    devices=(NamedDevice("Reading Lamp", "light", "Living Room"), NamedDevice("Front Door", "lock")),
    rooms=(NamedPlace("Living Room"), NamedPlace("Nursery")),
    people=("Anna", "Ben"),
    lists=("shopping list",),
)
IN_LANGUAGES = {"en": ("replies", "devious", "heldout"), "de": ("de", "strangers_de", "heldout_de")}
MOST_UNASKED = 13  # of 20 that were written after the reading of such sentences and never tuned on
LEAST_ANSWERED = {"en": (0.45, 0.85), "de": (0.3, 0.85)}  # of what words can fulfil: asked of a model, and whole


def rows(name: str) -> Iterator[tuple[str, str, str]]:
    """Yield language, what was asked and what was said, of a file that holds them so."""
    for line in (CLAIMS / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            language, question, text = line.split("\t")
            yield language, question, text


def claims() -> Iterator[tuple[str, str, str]]:
    for language, names in IN_LANGUAGES.items():
        for name in names:
            yield from ((language, question, text) for question, text in labelled(name, "claim"))
    yield from (("en", question, "Done! It is all taken care of.") for question, _ in labelled("deeds", "deed"))
    yield from rows("unasked")


async def reached(
    some: list[tuple[str, str, str]],
    llm: LlmConfig,
    confirmations: HouseConfirmations,
    *,
    spoken: bool,
) -> list[tuple[str, str, str]]:
    """Return the claims whose last sentence is heard, with what was asked and answered."""
    missed = []
    for language, question, text in some:
        tools = ScriptedHousehold().tools()  # each claim in a house where nothing was done
        agent = open_agent("family", llm, says([text]), tools, reader(language), confirmations, names=lambda: NAMES)
        answer, _ = await ask(agent, question, spoken=spoken)
        last = text.replace("? ", ". ").replace("! ", ". ").replace(": ", ". ").split(". ")[-1]
        if last in answer.text and not answer.receipts:
            missed.append((question, text, answer.text))
    return missed


@pytest.mark.parametrize("spoken", [True, False], ids=["spoken", "typed"])
@pytest.mark.parametrize("llm", [LlmConfig(tools=True), LlmConfig()], ids=["with tools", "without"])
async def test_no_claim_of_a_deed_or_a_state_reaches_a_person(
    llm: LlmConfig, confirmations: HouseConfirmations, *, spoken: bool
) -> None:
    some = [*claims()]
    assert len(some) > 550
    if os.environ.get("ATLAS_EXAMPLES") != "thorough":  # each claim in one of the four ways, not in all of them
        some = some[2 * llm.tools + spoken :: 4]
    assert await reached(some, llm, confirmations, spoken=spoken) == []


async def test_of_unasked_claims_that_nothing_was_made_for_no_more_reach_a_person_than_did(
    confirmations: HouseConfirmations,
) -> None:
    missed = await reached([*rows("unasked_heldout")], LlmConfig(tools=True), confirmations, spoken=True)
    assert len(missed) <= MOST_UNASKED, missed


@pytest.mark.parametrize("llm", [LlmConfig(tools=True), LlmConfig()], ids=["with tools", "without"])
async def test_of_three_hundred_questions_about_this_house_a_model_answers_none(
    llm: LlmConfig, confirmations: HouseConfirmations
) -> None:
    questions = (CLAIMS.parent / "honest" / "state.txt").read_text(encoding="utf-8").splitlines()
    invented = []
    for question in sample(questions):
        model = says(["It is at 120 degrees, and quite open."])
        agent = open_agent(
            "family", llm, model, ScriptedHousehold().tools(), reader("en"), confirmations, names=lambda: NAMES
        )
        answer, _ = await ask(agent, question)
        if "120" in answer.text:
            invented.append(question)
    assert len(questions) > 300
    assert invented == []


@for_every("language", ["en", "de"])
def test_what_words_can_fulfil_is_answered_by_a_model(language: str) -> None:
    grammar = open_grammar(language)
    concerns = Concerns(grammar.tables)
    names = ("ordinary", "talk") if language == "en" else IN_LANGUAGES["de"]
    harmless = [row for name in names for row in labelled(name, "harmless")]
    left = [row for row in harmless if concerns.of(grammar.plain_words(row[0]), NAMES) in ("world", "talk")]
    whole = [(question, text) for question, text in left if not concerns.strays(text, question, NAMES)]
    least_left, least_whole = LEAST_ANSWERED[language]
    assert len(left) >= least_left * len(harmless), (len(left), len(harmless))
    assert len(whole) >= least_whole * len(left), [row for row in left if row not in whole]


@pytest.mark.parametrize(
    ("question", "heard"),
    [
        ("who wrote Hamlet", "Shakespeare did."),
        ("make everything nice", "I didn't understand that, so nothing was done. Please say it in other words."),
        ("is the bathroom cosy", "I can't look that up."),
        ("schalt bitte mal alles Mögliche aus", "I didn't understand that."),
    ],
)
async def test_who_asks_about_the_world_hears_the_model_and_anybody_else_what_is_prepared(
    question: str, heard: str, tools: ScriptedTools, confirmations: HouseConfirmations
) -> None:
    agent = open_agent("family", LlmConfig(tools=True), says(["Shakespeare did."]), tools, reader("en"), confirmations)
    assert (await ask(agent, question))[0].text == heard


async def test_what_a_tool_did_is_said_at_once_and_in_its_own_words(
    tools: ScriptedTools, confirmations: HouseConfirmations
) -> None:
    model = says([wants("timers.start", seconds=600)], ["I've set two timers, and the door is locked. " * 100])
    agent = open_agent("family", LlmConfig(tools=True), model, tools, reader("en"), confirmations)
    answer, room = await ask(agent, "make sure I get the cake out in a bit")
    assert answer.text == "Timer set for 600 seconds."
    assert room.kinds == ["ToolStarted", "ToolFinished", "TextDelta"]
    assert model.abandoned == 1, "words that nobody will hear are not waited for"


async def test_a_program_hears_all_of_a_model_that_calls_no_tool(
    tools: ScriptedTools, confirmations: HouseConfirmations
) -> None:
    agent = open_agent(
        "family", LlmConfig(tools=True), says(["I locked the door."]), tools, reader("en"), confirmations
    )
    assert (await ask(agent, "say that the door is locked", channel=None))[0].text.strip() != ""


def test_sentences_come_out_whole_and_in_order_however_they_are_cut() -> None:
    text = "Paris is in France. It is 3.5 times as big, e.g. as Lyon!\n\nNo. Is that all? Yes"
    for size in (1, 2, 7, 1000):
        sieve = SentenceFilter(lambda sentence: sentence.strip() != "No.")
        out = "".join(sieve.feed(text[at : at + size]) for at in range(0, len(text), size)) + sieve.rest()
        assert out == text.replace("No. ", "")


def test_a_sentence_that_never_ends_is_not_held_back_for_ever() -> None:
    sieve = SentenceFilter(lambda _: True)
    text = "".join(sieve.feed("and on ") for _ in range(5_000))
    assert len(text) > 30_000
    assert text + sieve.rest() == "and on " * 5_000


@for_every(
    "claim",
    [
        "I have\nlocked the oven.",
        "The front\ndoor\nis locked.",
        "the big\noven is\n**off** now",
        "The fr\u00adont do\u00ador is lo\u200bcked.",
        "Ｔｈｅ　ｏｖｅｎ　ｉｓ　ｏｆｆ．",
        "I_have_locked_it.",
        "The **oven** is `off`.",
        "The <b>oven</b> <i>is off</i>.",
        "blue " * 117 + "and now I have locked it",
        "Die Haus\u00adtür ist ab\u00adgeschlossen.",
        "Ich\nhabe abgeschlossen.",
    ],
)
@for_every("language", ["en", "de"])
def test_a_claim_is_none_the_less_for_how_it_is_written(claim: str, language: str) -> None:
    concerns = Concerns(open_grammar(language).tables)
    sieve = SentenceFilter(lambda sentence: not concerns.strays(sentence, "why is the sky blue", NAMES))
    out = "".join(sieve.feed(claim[at : at + 7]) for at in range(0, len(claim), 7)) + sieve.rest()
    assert not any(word in out for word in ("locked", "off", "ｏｆｆ", "schlossen")), out


def test_lines_of_a_list_are_read_as_they_stand() -> None:
    concerns = Concerns(open_grammar("en").tables)
    sieve = SentenceFilter(lambda sentence: not concerns.strays(sentence, "which planets are there", NAMES))
    text = "There are eight:\n\n- Mercury\n- Venus_II\n- *Earth*\n2 * 3 < 7 > 1\n- Mars\n"
    assert sieve.feed(text) + sieve.rest() == text


@for_every(
    "words", ["your my ", "the oven ", "i ", "und dann ", "ich habe ", "du hast ", "“", "- ", "<a ", "_*", "\u200b"]
)
def test_a_flood_of_words_is_read_at_once(words: str) -> None:
    for language in IN_LANGUAGES:
        concerns = Concerns(open_grammar(language).tables)
        with done_within(processor_seconds=5):
            concerns.strays(words * 6_000, words * 6_000, NAMES)
            concerns.of(words * 6_000, NAMES)


# ── a small model with tools ───────────────────────────────────────────────────────────────────────

SMALL = LlmConfig(tools=True, most_tools=3)


async def test_a_small_model_is_shown_few_tools_for_a_deed_and_none_for_the_world(
    tools: ScriptedTools, confirmations: HouseConfirmations
) -> None:
    model = says([wants("timers.start", seconds=600)], ["Shakespeare did."])
    agent = open_agent("family", SMALL, model, tools, reader("en"), confirmations)
    done, _ = await ask(agent, "make sure a timer starts for the cake")
    answer, _ = await ask(agent, "who wrote Hamlet")
    assert (done.text, answer.text) == ("Timer set for 600 seconds.", "Shakespeare did.")
    for_deed, for_world = ([tool.name for tool in prompt.tools] for prompt in model.prompts)
    assert "timers.start" in for_deed and len(for_deed) <= 3 and for_world == []
    assert model.prompts[0].messages[0].text.startswith(model.prompts[1].messages[0].text[:200]), "reused cells"
    assert model.prompts[1].messages[-1].text == "who wrote Hamlet", "without a word of the house"
    assert "maximum" not in str([tool.parameters for tool in model.prompts[0].tools]), (
        "in few words; its limits hold all the same"
    )


async def test_a_small_model_is_not_asked_for_a_deed_that_no_tool_is_for(
    tools: ScriptedTools, confirmations: HouseConfirmations
) -> None:
    model = says(["I've mowed the lawn."])
    agent = open_agent("family", SMALL, model, tools, reader("en"), confirmations)
    answer, _ = await ask(agent, "lower the drawbridge")
    assert answer.text == "I didn't understand that, so nothing was done. Please say it in other words."
    assert not model.prompts


@for_every("trusted", [True, False])
def test_what_the_house_cannot_do_is_left_to_no_model_whatever_it_sounds_like(*, trusted: bool) -> None:
    policy = SpeechPolicy(english().tables, lambda: NAMES, trusted=trusted, answers=True)
    plain = "who wrote Hamlet"
    assert policy.of(Understanding(plain, plain=plain), turn(plain, channel="chat")).of_world
    assert not policy.of(Understanding(plain, plain=plain, concern="cannot"), turn(plain, channel="chat")).of_world


def test_a_sentence_with_a_name_of_the_house_is_left_out_where_neither_the_question_nor_a_lookup_had_it() -> None:
    policy = SpeechPolicy(english().tables, lambda: NAMES, trusted=False, answers=True)
    sentence = "Ben prefers tea. "
    assert policy.filter("what is tea").feed(sentence) == ""
    assert policy.filter("what does Ben mean in Hebrew").feed(sentence) == sentence
    assert policy.filter("what is tea", "Ben Franklin drank it").feed(sentence) == sentence


def test_instructions_of_a_client_open_the_model_to_what_is_typed_and_not_to_who_speaks() -> None:
    policy = SpeechPolicy(english().tables, lambda: NAMES, trusted=False, answers=True)
    text = "is the front door locked"
    meant = Understanding(text, plain=text)
    for spoken in (False, True):
        asked = turn(text, channel="chat", instructions="Be brief.", spoken=spoken)
        assert policy.of(meant, asked).of_world is not spoken


async def test_what_a_clients_tool_found_may_be_named(confirmations: HouseConfirmations) -> None:
    async def made(call: ToolCall) -> ToolResult:
        return ToolResult(call.id, True, "In Hebrew, Ben is son.", untrusted=True)

    brought = ClientTools((Tool("get_meaning", "", {"type": "object", "properties": {}}),), made)
    llm, model = LlmConfig(tools=True), says([wants("get_meaning")], ["Ben is the Hebrew word for son."])
    agent = open_agent("family", llm, model, ScriptedTools([]), reader("en"), confirmations, names=lambda: NAMES)
    answer, _ = await ask(agent, "what is the Hebrew word for son", client_tools=brought)
    assert answer.text.strip() == "Ben is the Hebrew word for son."
