"""The language that a browser wants, of those that somebody has written."""

from __future__ import annotations

from atlas.gateway.wanted_language import wanted_language
from tests.conftest import for_every


@for_every(
    ("accepted", "language"),
    [
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr-FR,fr;q=0.9,de;q=0.5,en;q=0.7", "en"),
        ("en-GB, de", "en"),
        ("de;q=0, en", "en"),
        ("fr", ""),
        ("", ""),
        ("*", ""),
        ("de;q=much", ""),
        (",;=,;q,de" + "x" * 5000, ""),
    ],
)
def test_the_highest_ranked_language_that_is_known_is_wanted(accepted: str, language: str) -> None:
    assert wanted_language(accepted, ("en", "de")) == language
