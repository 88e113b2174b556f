"""A question of the house lies where it can be answered: above the bar of a phone, on every page, long or short."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import ANSWER_MS, connected, opened, show
from tests.journeys.conftest import Running
from tests.journeys.test_app_everywhere import ROUTES

pytestmark = pytest.mark.real
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
IS_COVERED = """(button) => {
    const { left, top, width, height } = button.getBoundingClientRect();
    const corners = [[width / 2, height / 2], [width / 2, 4], [width / 2, height - 4]];
    return corners.some(([x, y]) => !button.contains(document.elementFromPoint(left + x, top + y)));
}"""

LONG_PAGES = "document.styleSheets[0].insertRule('.page { min-height: 150dvh }')"  # as a month full of events makes it


def test_nothing_lies_over_a_question_on_any_page(own_house: Running) -> None:
    headers = {"Authorization": f"Bearer {own_house.token}"}
    lists = f"{own_house.url}/api/lists/picnic/items"
    with opened(own_house, viewport=PHONE) as page:
        connected(page)
        page.evaluate(LONG_PAGES)
        assert page.request.post(lists, headers=headers, data={"items": ["milk"]}).ok
        for size in (PHONE, DESK):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            for route in ROUTES:
                show(page, route)
                if not page.locator(".question").count():
                    assert page.request.delete(lists, headers=headers).status == 202
                for word in ("Yes: ", "No: "):
                    button = page.locator(f".question button[aria-label^='{word}']").first
                    expect(button).to_be_visible(timeout=ANSWER_MS)
                    assert not button.evaluate(IS_COVERED), (route, size, word)


def test_the_outcome_of_a_press_lies_above_a_question_not_over_it(own_house: Running) -> None:
    headers = {"Authorization": f"Bearer {own_house.token}"}
    lists = f"{own_house.url}/api/lists/camping/items"
    with opened(own_house, viewport=PHONE, path="calendar") as page:
        assert page.request.post(lists, headers=headers, data={"items": ["tent"]}).ok
        assert page.request.delete(lists, headers=headers).status == 202
        page.get_by_role("button", name="New event").click()
        page.get_by_label("What").fill("campfire")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".outcome")).to_be_visible(timeout=ANSWER_MS)
        yes = page.get_by_role("button", name="Yes: Take tent")
        expect(yes).to_be_visible(timeout=ANSWER_MS)
        assert not yes.evaluate(IS_COVERED)
        assert not page.locator(".outcome").evaluate(IS_COVERED)
