"""What a model claims in passing is held by a judge that was taught its like, some of these words too; talk passes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from atlas.agents.minds import open_agent
from atlas.config import LlmConfig
from atlas.confirmations import HouseConfirmations
from atlas.understanding.act_model import ENCODER
from atlas.understanding.claims import ClaimJudge, open_claims
from atlas.understanding.concern import LIKELY
from atlas.understanding.encoder import SentenceEncoder
from tests.houses import english, reader_of
from tests.scripted_tools import ScriptedTools

from .conftest import CLAIMS, ask, labelled, says

pytestmark = pytest.mark.real
MODELS = Path(__file__).parents[2] / "models"
LEAST_HELD = 0.95  # of claims in passing
LEAST_SPOKEN = 0.79  # of ordinary answers, without a look at what was asked: .798 or .800, as a processor rounds


@cache
def judge() -> ClaimJudge:
    return open_claims(SentenceEncoder(MODELS / ENCODER))


def sentences(text: str) -> Iterator[str]:
    for mark in ("! ", "? ", "; ", ": "):
        text = text.replace(mark, ". ")
    yield from (one for one in text.split(". ") if one)


def test_of_claims_in_passing_nearly_none_is_taken_for_talk() -> None:
    passed, count = [], 0
    for name in ("unasked", "unasked_heldout"):
        for line in (CLAIMS / f"{name}.tsv").read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                count += 1
                text = line.split("\t")[2]
                passed += [text] if max(map(judge().chance, sentences(text))) <= LIKELY else []
    assert len(passed) <= (1 - LEAST_HELD) * count, passed


def test_ordinary_answers_are_taken_for_talk() -> None:
    every = [one for name in ("ordinary", "talk") for _, text in labelled(name, "harmless") for one in sentences(text)]
    held = [one for one in every if judge().chance(one) > LIKELY]
    assert len(held) <= (1 - LEAST_SPOKEN) * len(every), held


@pytest.mark.parametrize("llm", [LlmConfig(tools=True), LlmConfig()], ids=["with tools", "without"])
@pytest.mark.parametrize(
    "claim",
    [
        "By the way I've switched the heating off.",
        "Everything is locked, so sleep well.",
        "Your timer has four minutes left.",
        "Watered the basil already.",
        "Deine Schwester hat gerade angerufen.",
    ],
)
async def test_no_claim_in_passing_is_spoken(
    claim: str, llm: LlmConfig, tools: ScriptedTools, confirmations: HouseConfirmations
) -> None:
    model = says(["Air scatters blue light. ", claim])
    agent = open_agent("family", llm, model, tools, reader_of(english()), confirmations, claims=judge().chance)
    assert (await ask(agent, "why is the sky blue"))[0].text.strip() == "Air scatters blue light."
