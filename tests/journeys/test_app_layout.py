"""What is seen at first sight: pages that do not jump, weeks that are still to come, timers that are told apart."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import ANSWER_MS, opened, show
from tests.journeys.conftest import Running, end_timers

pytestmark = pytest.mark.real
PHONE, DESK, WALL = ({"width": 390, "height": 844}, {"width": 1280, "height": 832}, {"width": 1920, "height": 1080})
ROUTES = ("home", "time", "lists", "board", "notes", "messages", "calendar", "past", "house", "house/record", "more")


@pytest.mark.parametrize("size", [PHONE, DESK, WALL], ids=["phone", "desk", "wall"])
def test_the_title_of_every_page_stands_at_one_place(own_house: Running, size: dict[str, int]) -> None:
    with opened(own_house, path="home", viewport=size) as page:
        places = {}
        for route in ROUTES:
            show(page, route)
            title = page.locator("main h1")
            box = title.bounding_box()
            assert box
            places[route] = (round(box["x"]), round(box["y"] + box["height"] / 2))
        assert len(set(places.values())) == 1, places
        if size is not PHONE:  # where a page scrolls, its bar takes some of the width
            page.evaluate("document.documentElement.style.width = 'calc(100% - 15px)'")
            box = page.locator("main h1").bounding_box()
            assert box
            assert round(box["x"]) == next(iter(places.values()))[0]


def test_a_field_stands_beside_its_button_and_what_is_chosen_is_marked_alone(own_house: Running) -> None:
    with opened(own_house, path="lists", viewport=DESK) as page:
        form = page.locator("form.add").first
        field, button = form.locator("input").bounding_box(), form.get_by_role("button").bounding_box()
        assert field
        assert button
        assert field["x"] + field["width"] < button["x"]
        assert abs(field["y"] - button["y"]) < 4
        expect(page.locator("ul.chips").first).to_have_css("background-color", "rgba(0, 0, 0, 0)")


def test_how_many_cards_there_are_stands_at_the_height_of_the_columns_name(own_house: Running) -> None:
    middle = """one => { const words = document.createRange(); words.selectNodeContents(one);
                const box = words.getBoundingClientRect(); return (box.top + box.bottom) / 2; }"""
    with opened(own_house, path="board", viewport=DESK) as page:
        expect(page.locator(".column h2")).not_to_have_count(0)
        for column in page.locator(".column h2").all():
            name = column.evaluate(f"one => ({middle})(one.firstChild)")
            count = column.locator(".count")
            box = count.bounding_box()
            assert box
            assert abs(name - box["y"] - box["height"] / 2) <= 1
            assert abs(count.evaluate(middle) - box["y"] - box["height"] / 2) <= 1


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_a_month_begins_with_its_first_day_and_shows_today(own_house: Running, size: dict[str, int]) -> None:
    with opened(own_house, viewport=size) as page:
        page.clock.set_fixed_time("2026-11-28T12:00:00")
        page.evaluate("location.hash = '#/calendar'")
        days = page.locator(".month-day .number")
        expect(days.first).to_have_text("26", timeout=ANSWER_MS)
        expect(days).to_have_count(42)
        expect(page.locator(".month-day[data-today=true]")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize(("locale", "since"), [("en-GB", "started"), ("de-DE", "seit")], ids=["en", "de"])
def test_two_timers_of_one_length_are_told_apart_by_when_they_were_started(
    own_house: Running, locale: str, since: str
) -> None:
    api, headers = f"{own_house.url}/api/timers", {"Authorization": f"Bearer {own_house.token}"}
    with opened(own_house, path="time", locale=locale, viewport=PHONE) as page:
        end_timers(own_house)
        first = page.request.post(api, headers=headers, data={"seconds": 600}).json()["timer"]
        page.wait_for_function("at => Date.now() / 1000 > at + 1", arg=first["set_at"])  # of another second
        for body in ({"seconds": 600}, {"seconds": 600, "room": "kitchen"}, {"seconds": 3000}):
            assert page.request.post(api, headers=headers, data=body).ok
        timers = page.locator(".timer .soft")
        expect(timers).to_have_count(4, timeout=ANSWER_MS)
        texts = timers.all_text_contents()
        assert len(set(texts)) == 4, texts
        alike = [text for text in texts if re.search(rf"{since} \d+:\d\d:\d\d", text)]
        assert len(alike) == 2, texts
        assert sum("kitchen" in text for text in texts) == 1
        assert all(re.search(r"[15]0 (minutes|Minuten)", text) for text in texts), texts


@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_a_device_that_comes_in_meets_the_typeface_of_the_app(own_house: Running, size: dict[str, int]) -> None:
    family = "getComputedStyle(document.body).fontFamily"
    with opened(own_house, viewport=size) as page:
        expect(page.locator(".frame")).to_be_visible()
        of_the_app = page.evaluate(family)
        page.goto(f"{own_house.url}/pair")
        page.evaluate("document.fonts.ready.then(() => true)")
        assert page.evaluate(family) == of_the_app
        loaded = "[...document.fonts].filter(({ status }) => status === 'loaded').map(({ family }) => family)"
        assert [one.strip('"') for one in page.evaluate(loaded)] == ["Atlas Sans"]
        for control in ("button", "input#code", "h1"):
            assert page.locator(control).first.evaluate("one => getComputedStyle(one).fontFamily") == of_the_app
