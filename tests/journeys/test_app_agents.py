"""An owner chooses in the app who listens, and sees it; whoever talks to one agent only has nothing to choose."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import answer, connected, opened, say
from tests.journeys.conftest import Running

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]


def test_the_owner_talks_to_the_work_agent_and_each_has_a_conversation_of_its_own(house: Running) -> None:
    with opened(house) as page:
        connected(page)
        say(page, "set a russet timer for twenty minutes")
        answer(page)
        who = page.get_by_role("group", name="Who listens")
        who.get_by_role("button", name="Work").click()
        expect(page.locator(".hint")).to_have_text(re.compile("^Work listens"))
        connected(page)
        expect(page.locator(".entry", has_text="russet")).to_have_count(0)
        say(page, "set a turquoise timer for thirty minutes")
        assert "turquoise" in answer(page).lower()
        card = page.locator(".entry.house").last.locator(".deed")
        card.get_by_role("button", name="Undo").click()
        expect(card).to_contain_text("Taken back")
        page.get_by_role("link", name="Conversations").first.click()
        expect(page.locator(".exchange", has_text="turquoise")).to_have_count(1)
        expect(page.locator(".exchange", has_text="russet")).to_have_count(0)
        page.get_by_role("group", name="Who listens").get_by_role("button", name="Family").click()
        expect(page.locator(".exchange", has_text="russet")).not_to_have_count(0)
        expect(page.locator(".exchange", has_text="turquoise")).to_have_count(0)


def test_the_board_and_the_notes_of_each_agent_are_their_own(house: Running) -> None:
    with opened(house, path="board") as page:
        whose = page.get_by_role("group", name="Whose papers")
        whose.get_by_role("button", name="Work").click()
        page.get_by_placeholder("What is to be done?").fill("russet ledger")
        page.keyboard.press("Enter")
        card = page.get_by_role("button", name="russet ledger")
        expect(card).to_be_visible()
        with page.expect_response("**/api/tasks*"):
            whose.get_by_role("button", name="Family").click()
        expect(page.locator(".loading")).to_have_count(0)
        expect(card).to_have_count(0)
        page.evaluate("location.hash = '#/notes'")
        page.get_by_role("group", name="Whose papers").get_by_role("button", name="Work").click()
        page.get_by_role("link", name="Write a note").click()
        page.get_by_label("Title").fill("turquoise plan")
        page.get_by_label("Text").fill("not for everybody")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("heading", name="turquoise plan")).to_be_visible()
        page.evaluate("location.hash = '#/notes'")
        expect(page.get_by_role("link", name="turquoise plan")).to_be_visible()
        with page.expect_response("**/api/notes*"):
            page.get_by_role("group", name="Whose papers").get_by_role("button", name="Family").click()
        expect(page.locator(".loading")).to_have_count(0)
        expect(page.get_by_role("link", name="turquoise plan")).to_have_count(0)


def test_an_adult_has_no_work_agent_to_choose(house: Running) -> None:
    with opened(house, token=house.new_token("a tablet of many")) as page:
        connected(page)
        expect(page.locator(".talk")).to_be_visible()
        expect(page.get_by_role("group", name="Who listens")).to_have_count(0)
