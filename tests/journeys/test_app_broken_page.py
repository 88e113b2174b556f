"""A page that breaks while it is drawn says so in a sentence with ways out, and the rest of the app lives on."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say, show
from tests.journeys.conftest import Running
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = pytest.mark.real
BROKEN = "Cannot read properties of null|status of 429"  # what the browser's own log says of it, told of too often
SENTENCES = {
    "en-GB": ("Something went wrong on this page; the rest of the app runs on.", "Load it again", "Go to Talk"),
    "de-DE": ("Auf dieser Seite ist etwas schiefgegangen; der Rest der App läuft weiter.", "Neu laden", "Zum Sprechen"),
}


def answers_with(page: Page, path: str, reply: Any) -> None:
    """Have the house answer in a shape in which it never does."""
    page.route(f"**{path}", lambda route: route.fulfill(json=reply))


@pytest.mark.parametrize("locale", SENTENCES)
@pytest.mark.parametrize("size", [(390, 844), (1280, 800)], ids=["phone", "desk"])
def test_a_page_that_breaks_says_so_and_others_work_until_it_is_loaded_again(
    own_house: Running, size: tuple[int, int], locale: str
) -> None:
    sentence, reload, to_talk = SENTENCES[locale]
    viewport: Any = {"width": size[0], "height": size[1]}
    with opened(own_house, stopped=BROKEN, locale=locale, viewport=viewport) as page:
        connected(page)
        answers_with(page, "/api/lists", {"lists": None})
        show(page, "lists")
        broken = page.get_by_role("alert").filter(has_text=sentence)
        expect(broken).to_be_visible()
        expect(page.locator("main h1")).to_have_count(1)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        broken.get_by_role("link", name=to_talk).click()
        connected(page)
        if locale == "en-GB":
            say(page, "what time is it")
            assert answer(page)
        show(page, "lists")
        expect(broken).to_be_visible()
        page.unroute("**/api/lists")
        broken.get_by_role("button", name=reload).click()
        expect(page.locator("form.add").first).to_be_visible(timeout=ANSWER_MS)


def test_a_part_of_the_house_that_breaks_leaves_the_others_within_reach(own_house: Running) -> None:
    with opened(own_house, path="house", stopped=BROKEN) as page:
        answers_with(page, "/api/rules", {"tools": [], "rules": None, "budgets": [], "costs": {}})
        parts = page.get_by_role("navigation", name="The house")
        parts.get_by_role("link", name="Rules").click()
        expect(page.get_by_text(SENTENCES["en-GB"][0])).to_be_visible(timeout=ANSWER_MS)
        parts.get_by_role("link", name="Devices").click()
        expect(page.get_by_role("button", name="Add a phone or a screen")).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_text(SENTENCES["en-GB"][0])).to_have_count(0)
