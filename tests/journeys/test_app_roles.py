"""What a role may not have is neither asked for nor offered to it in the app."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import ANSWER_MS, connected, opened, requests_of, show
from tests.journeys.conftest import Running
from tests.journeys.test_app_everywhere import AXE, violations
from tests.journeys.test_app_rules import token_of

pytestmark = pytest.mark.real
PHONE = {"width": 390, "height": 844}


def denied(house: Running, page: Page, token: str, asked: list[str]) -> list[str]:
    """Return those of the house's addresses that were asked for and are not for who asked."""
    headers = {"Authorization": f"Bearer {token}"}
    paths = sorted({path for path in asked if path.startswith("/api/") and path != "/api/events"})
    assert paths
    return [path for path in paths if page.request.get(f"{house.url}{path}", headers=headers).status == 403]


def test_a_guest_is_asked_for_and_offered_nothing_that_is_only_the_households(own_house: Running) -> None:
    token = token_of(own_house, "guest")
    with opened(own_house, token=token, viewport=PHONE) as page:
        connected(page)
        asked = requests_of(page)
        with page.expect_response("**/api/missed"):
            page.reload()
        connected(page)
        ideas = page.get_by_role("list", name="Things to try")
        expect(ideas.get_by_role("button", name="Set a timer for ten minutes")).to_be_visible()
        expect(ideas.get_by_role("button", name="Add milk to the shopping list")).to_have_count(0)
        page.get_by_role("link", name="More").click()
        tiles = page.locator(".tiles")
        expect(tiles.get_by_role("link", name="Conversations")).to_be_visible()
        for name in ("Notes", "Messages", "Calendar"):
            expect(tiles.get_by_role("link", name=name)).to_have_count(0)
        assert denied(own_house, page, token, asked) == []


def test_an_owner_is_still_offered_all_of_it(own_house: Running) -> None:
    with opened(own_house, viewport=PHONE) as page:
        connected(page)
        expect(page.get_by_role("button", name="Add milk to the shopping list")).to_be_visible()
        page.get_by_role("link", name="More").click()
        for name in ("Notes", "Messages", "Calendar", "The house"):
            expect(page.locator(".tiles").get_by_role("link", name=name)).to_be_visible(timeout=ANSWER_MS)


def test_a_child_leaves_a_message_and_the_page_asks_for_nothing_that_is_an_owners(own_house: Running) -> None:
    token = token_of(own_house, "child")
    with opened(own_house, token=token, viewport=PHONE) as page:
        connected(page)
        asked = requests_of(page)
        page.get_by_role("link", name="More").click()
        page.locator(".tiles").get_by_role("link", name="Messages").click()
        page.get_by_label("Or type it").fill("I am at the pool")
        page.get_by_role("button", name="Send").click()
        expect(page.locator(".row .name", has_text="I am at the pool")).to_be_visible(timeout=ANSWER_MS)
        assert denied(own_house, page, token, asked) == []


@pytest.mark.parametrize("route", ["house", "house/rules", "house/nothing-such"])
def test_who_types_an_owners_address_reads_one_sentence_and_finds_the_way_back(own_house: Running, route: str) -> None:
    token = token_of(own_house, "adult")
    with opened(own_house, token=token, viewport=PHONE) as page:
        connected(page)
        asked = requests_of(page)
        show(page, route)
        page.reload()  # now nobody knows yet who this is
        main = page.locator("main")
        expect(main).to_have_text(re.compile("^That is not for you in this house.Go to Talk$"))
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        main.get_by_role("link", name="Go to Talk").click()
        connected(page)
        assert denied(own_house, page, token, asked) == []
