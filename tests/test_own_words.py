"""What the house says itself, where no tool speaks: each sentence has its twin in every language that has twins."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

import pytest

from atlas import errors, own_words
from atlas.own_words import _OWN, own
from tests.sources import nodes, python_files

ROOT = Path(__file__).parent.parent
CATALOGUE = ROOT / "models" / "catalogue.toml"
_IN_A_PAGE = "atlas/cli/doctor.py"  # is read at a terminal, and in the app
_ENGLISH_ONLY = ("atlas/cli", "atlas/llm_host", "atlas/egress.py")  # at a terminal, or between processes


def sentences() -> Iterator[str]:
    """Yield what is written to be spoken: `spoken="…"`, `spoken_by_default = "…"`, and what is given to `own`."""
    for path in python_files("atlas"):
        name = str(path.relative_to(ROOT))
        if name.startswith(_ENGLISH_ONLY) and name != _IN_A_PAGE:
            continue
        constants = {
            target.id: node.value.value
            for node in nodes(path)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in nodes(path):
            given: list[ast.expr] = []
            if isinstance(node, ast.keyword) and node.arg == "spoken":
                given = [node.value]
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == "spoken_by_default" for target in node.targets
            ):
                given = [node.value]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("own", "noted"):
                given = node.args[:1]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "say_honestly":
                given = node.args[:1]
            for one in given:
                for part in ast.walk(one):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and " " in part.value.strip():
                        yield part.value
                    if isinstance(part, ast.Name) and isinstance(constants.get(part.id), str):
                        yield str(constants[part.id])


def of_the_catalogue() -> Iterator[str]:
    """Yield what models/catalogue.toml says of its models in words, and no model's bare name."""
    for model in tomllib.loads(CATALOGUE.read_text(encoding="utf-8")).values():
        yield model["summary"]
        if "needs" in model:
            yield model["needs"]
        if re.search(r", [a-z]|, English|voices?\b", model["title"]):
            yield model["title"]


@pytest.mark.parametrize("language", sorted(_OWN))
def test_every_sentence_of_the_house_has_its_twin_and_no_twin_is_left_over(language: str) -> None:
    spoken, twins = {*sentences(), *of_the_catalogue()}, _OWN[language]
    assert len(spoken) > 20, "they are not found any more"
    assert spoken - set(twins) == set()
    said_somewhere = CATALOGUE.read_text(encoding="utf-8") + "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "atlas").rglob("*.py")
    )
    assert [one for one in twins if one.strip() not in said_somewhere and one[:40] not in said_somewhere] == []


def test_an_error_is_told_in_the_language_of_the_house() -> None:
    def in_german() -> str:
        own_words.speaks("de")
        return errors.LlmGone("the socket closed").spoken

    assert copy_context().run(in_german) == "Ich habe den Faden verloren. Bitte frag mich gleich noch einmal."
    assert errors.LlmGone("the socket closed").spoken.startswith("I lost my train of thought.")


def test_what_nobody_translated_is_said_as_it_is() -> None:
    for language, sentence in (("de", "Lampe"), ("xx", "I didn't catch that.")):
        with own_words.speaking(language):
            assert own(sentence) == sentence
