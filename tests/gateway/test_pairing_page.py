"""The page where a device comes in says everything in the browser's language, refusals too."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from atlas.gateway.pairing_page import WORDS, pairing_page
from tests.conftest import for_every

CODE = re.compile(r'code="([a-z_]+)"')
NOT_FROM_THE_PAGE = {"invalid_hours", "invalid_role", "invalid_person", "invalid_room"}  # the inviter's


def test_both_languages_have_the_same_sentences() -> None:
    assert WORDS["en"].keys() == WORDS["de"].keys()


@for_every("accepted", ["de-AT,de;q=0.9", "en-GB", "fr"])
def test_every_refusal_of_the_house_has_a_sentence_in_the_page(accepted: str) -> None:
    root = Path(__file__).parents[2] / "atlas"
    files = ("gateway/pairing.py", "gateway/invitations.py", "gateway/auth.py", "store/devices.py", "gateway/limits.py")
    codes = {code for file in files for code in CODE.findall((root / file).read_text())} | {"invalid_pairing"}
    page = unescape(pairing_page(accepted))
    words = WORDS["de" if accepted.startswith("de") else "en"]
    for code in codes - NOT_FROM_THE_PAGE - {"invalid_api_key"}:
        assert f'data-{code}="{words[code]}"' in page


def test_a_refusal_that_nobody_foresaw_is_not_said_in_the_words_of_the_log() -> None:
    assert "body.error.message" not in pairing_page("de")
