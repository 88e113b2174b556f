"""What the house refuses by a code, the app says in its own words, in each of its languages."""

from __future__ import annotations

import re
from typing import get_args

from atlas.gateway.api.form_layouts import SENTENCES
from tests.conftest import ROOT, for_every
from tools_server.sdk.toolkit import Error

STRINGS = ROOT / "pwa" / "src" / "strings"
OUTCOMES = {"ok", "asked", "crashed", "cancelled", *get_args(Error)}  # of a row of the record
OF_VOICES = {"voice_too_short", "voice_unlike", "no_person"}


def codes_in(language: str, table: str) -> set[str]:
    """Return the codes that one table of an app's language has sentences for."""
    text = (STRINGS / f"{language}.ts").read_text(encoding="utf-8")
    content = re.search(rf"\n    {table}: {{\n(.*?)\n    }},", text, re.DOTALL)
    assert content, table
    return set(re.findall(r"^      (\w+):", content[1], re.MULTILINE))


@for_every("language", ["en", "de"])
def test_whatever_does_not_fit_a_form_has_a_sentence_in_the_app(language: str) -> None:
    assert codes_in(language, "problems") >= set(SENTENCES)


@for_every("language", ["en", "de"])
def test_why_a_voice_is_not_recorded_has_a_sentence_in_the_app(language: str) -> None:
    assert codes_in(language, "codes") >= OF_VOICES


@for_every("language", ["en", "de"])
def test_whatever_comes_of_a_call_has_a_word_in_the_app(language: str) -> None:
    assert codes_in(language, "outcomes") >= OUTCOMES
