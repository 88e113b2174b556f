"""What fails in a page of the app stands in the house's log, by kind and place, with no word that anybody typed."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import connected, opened, show
from tests.journeys.conftest import Running, until
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = pytest.mark.real
PARTS = {"en-GB": "Pages of the app", "de-DE": "Seiten der App"}
BROKEN = "persimmons|Cannot (?:read|destructure)|status of 429"  # what the browser's own log says of it
THROWN = """() => {
    setTimeout(() => { throw new RangeError("three persimmons for Mia"); });
    setTimeout(() => { throw new RangeError("three persimmons for Ben"); });
}"""


def failures_of(house: Running) -> list[str]:
    """Return the lines of the house's own log that are about pages."""
    return [line for line in house.log.read_text().splitlines() if "app | page failed" in line]


def throws(page: Page) -> None:
    """Have a page fail in each way there is: in a promise, where it is drawn, and in nobody's hands."""
    page.route("**/api/asks", lambda route: route.fulfill(body="null"))  # the house never answers so
    with page.expect_response("**/page-failures"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.unroute("**/api/asks")
    page.route("**/api/lists", lambda route: route.fulfill(json={"lists": None}))
    show(page, "lists")
    expect(page.locator(".page .empty[role=alert]")).to_be_visible()
    page.evaluate(THROWN)


@pytest.mark.parametrize("locale", PARTS)
def test_an_owner_reads_on_the_page_of_the_log_what_failed_in_a_page_and_where(own_house: Running, locale: str) -> None:
    before = len(failures_of(own_house))
    token = own_house.new_token(f"tablet of {locale}", "adult")
    with opened(own_house, token=token, stopped=BROKEN, locale=locale) as page:
        connected(page)
        throws(page)
        until(lambda: len(failures_of(own_house)) == before + 3, 30, "three lines in the log")
    lines = "\n".join(failures_of(own_house)[before:])
    for kind, shown, place in (
        ("TypeError", "talk", r"index-[\w-]+\.js:\d+:\d+"),
        ("TypeError", "lists", r"lists-[\w-]+\.js:\d+:\d+"),
        ("RangeError", "lists", ""),
    ):
        wanted = rf"page failed device='tablet of {locale}' page={shown} kind={kind} at={place}"
        assert re.search(wanted, lines), (wanted, lines)
    with opened(own_house, path="house/log", locale=locale, viewport={"width": 390, "height": 844}) as page:
        page.locator("select").first.select_option(label=PARTS[locale])
        line = page.locator(".house-log li").filter(has_text=f"tablet of {locale}")
        expect(line).to_have_count(3)
        expect(line.first).to_contain_text(PARTS[locale])
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert "persimmons" not in own_house.log.read_text()
    assert "persimmons" not in (own_house.data / "log" / "house.jsonl").read_text()
    assert token not in own_house.log.read_text()


def test_a_page_that_fails_again_and_again_is_told_of_once_and_one_without_a_token_not_at_all(
    own_house: Running,
) -> None:
    token = own_house.new_token("a tablet that fails", "adult")
    with opened(own_house, token=token, stopped=BROKEN) as page:
        connected(page)
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url) if "page-failures" in request.url else None)
        for _ in range(3):
            page.evaluate(THROWN)
        with page.expect_request(lambda request: "TypeError" in (request.post_data or "")):
            page.evaluate("setTimeout(() => { throw new TypeError('no persimmons'); })")
        assert len(sent) == 2, "each of both once"
        page.evaluate("localStorage.clear()")
        page.reload()
        expect(page.locator(".frame")).to_have_count(0)
        with page.expect_event("pageerror"):
            page.evaluate(THROWN)
        page.evaluate("() => Promise.resolve()")  # behind what the page did of it
        assert len(sent) == 2
