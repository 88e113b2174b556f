"""Small things that a page owes whoever looks: no second of what is there, no door that is not theirs, no old alarm."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import connected, opened
from tests.journeys.conftest import Running, api

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]


def test_a_list_that_is_there_is_opened_however_its_name_is_written(house: Running):
    with opened(house, path="lists") as page:
        field = page.get_by_label("Open or begin another list")
        field.fill("Einkaufen")
        page.keyboard.press("Enter")
        expect(page.locator(".chip[aria-current]")).to_have_text(re.compile("^Shopping"))
        field.fill("..")
        page.keyboard.press("Enter")
        expect(page.locator(".outcome")).to_contain_text("a name in words")
        expect(page.locator(".chip[aria-current]")).to_have_text(re.compile("^Shopping"))


def test_who_does_not_look_after_the_house_is_told_that_its_page_is_not_for_them(house: Running):
    with opened(house, token=house.new_token("a childs slate", "child"), path="house/devices") as page:
        expect(page.get_by_role("heading", name="That is not for you in this house.")).to_be_visible()
        expect(page.get_by_role("button", name="Add a phone or a screen")).to_have_count(0)


def test_a_refusal_is_no_lost_line(house: Running):
    with opened(house, token=house.new_token("a guests phone", "guest"), path="messages") as page:
        refused = page.locator(".empty")
        expect(refused).to_contain_text("Messages are only for those who live here")
        expect(refused.locator("[data-icon='lock']")).to_be_visible()
        expect(refused.get_by_role("button", name="Try again")).to_have_count(0)


def test_what_could_not_be_shown_is_asked_for_again_as_soon_as_the_line_is_back(house: Running):
    with opened(house) as page:
        connected(page)
        page.route("**/api/lists", lambda route: route.abort())
        page.evaluate("location.hash = '#/lists'")
        expect(page.locator(".empty")).to_contain_text("does not answer")
        page.unroute("**/api/lists")
        page.evaluate("dispatchEvent(new Event('online'))")
        expect(page.get_by_label("Add to shopping")).to_be_visible(timeout=10_000)


def test_pages_show_the_clock_of_the_house_and_say_so_where_the_device_goes_by_another(house: Running):
    with opened(house, path="calendar", timezone_id="Pacific/Auckland") as page:
        expect(page.locator(".zone")).to_contain_text("Times are the house's")
        page.get_by_role("button", name="New event").click()
        sheet = page.locator(".sheet")
        sheet.get_by_label("What", exact=True).fill("choir of the harbour")
        sheet.get_by_label("Time (empty: all day)").fill("18:30")
        sheet.locator("button[type=submit]").click()
        expect(page.locator(".agenda .event", has_text="choir of the harbour").first).to_contain_text("18:30")


def test_what_is_left_or_announced_for_those_here_is_seen_on_every_page(house: Running):
    anna = house.new_token("annas tablet", "adult", "--person", "Anna")
    with opened(house, token=anna, path="lists") as page:
        connected(page)
        with page.expect_response("**/api/missed"):  # what waited before is no arrival
            page.reload()
        connected(page)
        api(house, "POST", "/api/voice-messages", {"text": "The plumber comes at three.", "person": "Anna"})
        expect(page.locator(".outcome")).to_contain_text("A message waits for you")
        page.locator(".outcome a").click()
        expect(page.locator("main")).to_contain_text("The plumber comes at three")
        api(house, "POST", "/api/announcements", {"text": "Dinner is ready."})
        expect(page.locator(".outcome")).to_contain_text("Dinner is ready")


def test_words_that_were_not_sent_are_no_alarm_any_more_once_the_house_is_back(house: Running):
    lines: list[Any] = []
    is_cut = False

    def route(line: Any) -> None:
        if is_cut:
            line.close()
            return
        line.connect_to_server()
        lines.append(line)

    with opened(house) as page:
        page.route_web_socket("**/v1/realtime**", route)
        page.reload()
        connected(page)
        is_cut = True
        lines[-1].close()
        expect(page.locator(".line[data-line=gone]")).to_be_visible()
        page.locator("#words").fill("what time is it")
        page.keyboard.press("Enter")
        unsent = page.locator(".type .trouble")
        expect(unsent).to_contain_text("Not sent")
        is_cut = False
        page.get_by_role("button", name="Try now").click()
        connected(page)
        expect(unsent).to_have_count(0)
        expect(page.locator("#words")).to_have_value("what time is it")


def test_an_outcome_of_one_long_word_leaves_its_undo_on_a_phone(house: Running):
    with opened(house, path="lists", viewport={"width": 390, "height": 844}) as page:
        word = "x" * 90
        page.get_by_label("Add to shopping").fill(word)
        page.keyboard.press("Enter")
        page.get_by_role("button", name=f"Remove: {word}").click()
        undo = page.get_by_role("button", name="Undo")
        expect(undo).to_be_in_viewport(ratio=1)


def test_the_cross_of_the_sheet_of_a_rule_is_whole(house: Running):
    with opened(house, path="house/rules", viewport={"width": 390, "height": 844}) as page:
        page.get_by_role("button", name="New rule").click()
        cross = page.locator(".sheet").get_by_role("button", name="Close")
        expect(cross).to_be_visible()
        assert cross.evaluate("""(cross) => {
            const { left, width, bottom } = cross.getBoundingClientRect();
            return cross.contains(document.elementFromPoint(left + width / 2, bottom - 2));
        }""")
