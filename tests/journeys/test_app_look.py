"""How the app looks, as it is chosen on the page and in the browser: colours, and the size of the text."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import connected, opened, show
from tests.journeys.conftest import Running
from tests.journeys.test_app_everywhere import ROUTES

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]
PAPER, NIGHT = "rgb(247, 243, 236)", "rgb(25, 23, 20)"
WIDEST = """() => [...document.querySelectorAll("main *, nav *, .line *")]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
    .slice(0, 4).map((one) => `${one.tagName}.${one.className} ${one.textContent.slice(0, 30)}`)"""


@pytest.mark.parametrize(("system", "choice", "ground"), [("light", "Dark", NIGHT), ("dark", "Light", PAPER)])
def test_a_look_that_was_chosen_is_seen_whatever_the_system_prefers(house: Running, system, choice, ground):
    with opened(house, path="more", color_scheme=system) as page:
        page.get_by_label("Look").select_option(choice)
        expect(page.locator("body")).to_have_css("background-color", ground)
        page.reload()
        connected(page)
        expect(page.locator("body")).to_have_css("background-color", ground)


def test_text_of_twice_the_size_fits_a_phone(house: Running):
    with opened(house, viewport={"width": 390, "height": 844}, locale="de-DE") as page:
        connected(page)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        wide = []
        for route in ROUTES:
            show(page, route)
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > 390:
                wide.append((route, width, page.evaluate(WIDEST)))
        assert not wide
        show(page, "talk")
        for place in (".pages li:last-child a", "#words", ".type button", ".talk", ".buttons button:last-child"):
            expect(page.locator(place).last).to_be_in_viewport(ratio=0.95)
