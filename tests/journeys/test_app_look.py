"""How the app looks, as it is chosen on the page and in the browser: colours, and the size of the text."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import connected, opened
from tests.journeys.conftest import Running

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]
PAPER, NIGHT = "rgb(247, 243, 236)", "rgb(25, 23, 20)"


@pytest.mark.parametrize(("system", "choice", "ground"), [("light", "Dark", NIGHT), ("dark", "Light", PAPER)])
def test_a_look_that_was_chosen_is_seen_whatever_the_system_prefers(house: Running, system, choice, ground):
    with opened(house, path="more", color_scheme=system) as page:
        page.get_by_label("Look").select_option(choice)
        expect(page.locator("body")).to_have_css("background-color", ground)
        page.reload()
        connected(page)
        expect(page.locator("body")).to_have_css("background-color", ground)
