"""The guide at /ca/: one shape in every language, and one's own system first."""

from __future__ import annotations

import re

from atlas.gateway.trust import GUIDES, guide_page
from tests.conftest import for_every

ADDRESS, FINGERPRINT = "https://192.168.1.5:8643/ca/", "AA:BB"
BROWSERS = {
    "mozilla/5.0 (iphone; cpu iphone os 18_0 like mac os x) applewebkit/605.1.15 version/18.0 safari/604.1": 0,
    "mozilla/5.0 (linux; android 15; pixel 9) applewebkit/537.36 chrome/131.0 mobile safari/537.36": 1,
    "mozilla/5.0 (android 15; mobile; rv:133.0) gecko/133.0 firefox/133.0": 1,
    "mozilla/5.0 (windows nt 10.0; win64; x64) applewebkit/537.36 chrome/131.0 safari/537.36": 2,
    "mozilla/5.0 (macintosh; intel mac os x 10_15_7) applewebkit/605.1.15 version/18.0 safari/605.1.15": 3,
    "mozilla/5.0 (x11; linux x86_64) applewebkit/537.36 chrome/131.0 safari/537.36": 4,
    "mozilla/5.0 (x11; linux x86_64; rv:133.0) gecko/20100101 firefox/133.0": 5,
}


def headings(page: str) -> list[str]:
    return re.findall(r"<(?:h2|summary)>(.*?)</", page)


@for_every("language", GUIDES)
@for_every(("agent", "number"), BROWSERS.items())
def test_the_system_that_asks_comes_first_and_all_others_after_it(language: str, agent: str, number: int) -> None:
    words = GUIDES[language]
    here, _, *rest = headings(guide_page(language, agent, ADDRESS, FINGERPRINT))
    titles = [system.title for system in words.systems]
    assert here == f"{words.your_device}: {titles.pop(number)}"
    assert rest[: len(titles)] == titles


def test_whoever_names_no_system_finds_all_of_them() -> None:
    page = guide_page("en", "curl/8", ADDRESS, FINGERPRINT)
    assert all(system.title in page for system in GUIDES["en"].systems)
    assert GUIDES["en"].your_device not in page


def test_every_language_has_the_same_systems_with_as_many_steps() -> None:
    shapes = {
        language: [(one.agent, one.file, len(one.steps)) for one in words.systems] for language, words in GUIDES.items()
    }
    assert all(shape == shapes["en"] for shape in shapes.values()), shapes


def test_nothing_that_a_browser_calls_itself_is_on_the_page() -> None:
    assert "<script>" not in guide_page("en", "<script>windows", ADDRESS, FINGERPRINT)
