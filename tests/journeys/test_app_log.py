"""The owner reads the house's own log as it is written, on a phone and at a desk, and nobody else does."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.browser import ANSWER_MS, opened, requests_of, show
from tests.journeys.conftest import ROOT, Running, house_without_weights, until
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
SMALL, DESK = {"width": 320, "height": 256}, {"width": 1280, "height": 800}
WORDS = {
    "en-GB": ("Only lines of…", "warning", "Search in the log", "No line fits."),
    "de-DE": ("Nur Zeilen von…", "Warnung", "Im Log suchen", "Keine Zeile passt."),
}
AT_THE_BEGINNING = """() => document.querySelector(".house-log").scrollTop === 0"""
AT_THE_END = """() => {
    const log = document.querySelector(".house-log");
    return log.scrollHeight - log.scrollTop - log.clientHeight < 4;
}"""


@pytest.fixture(scope="module")
def own_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with house_without_weights(tmp_path_factory.mktemp("log"), (ROOT / "atlas.toml").read_text()) as running:
        pid = running.kill("tools_server.server")
        until(lambda: (now := running.pid_of("tools_server.server")) and now != pid, 30, "a new tool server")
        yield running


def lines(page: Page):
    return page.locator(".house-log li")


def pressed_to(page: Page, key: str, place: str) -> bool:
    page.keyboard.press(key)
    return bool(page.evaluate(place))


def test_a_line_appears_as_it_is_written_behind_all_others_and_holds_nothing_that_was_said(own_house: Running) -> None:
    with opened(own_house) as page:
        page.clock.install()
        show(page, "house/log")
        expect(lines(page).filter(has_text="tools is ready").nth(1)).to_be_attached(timeout=ANSWER_MS)
        before = lines(page).count()
        own_house.atlas("ask", "add persimmons to the shopping list")
        expect(lines(page).last).to_contain_text("turn ended", timeout=ANSWER_MS)
        assert lines(page).count() > before
        page.wait_for_function(AT_THE_END)
        seen = page.locator(".house-log").inner_text()
        assert "persimmons" not in seen
        assert own_house.token not in seen
        for_the_next_start = (own_house.data / "log" / "house.jsonl").read_text()
        assert "turn ended" in for_the_next_start
        assert "persimmons" not in for_the_next_start
        assert own_house.token not in for_the_next_start
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("status").filter(has_text="Paused: nothing new is shown.")).to_be_attached()
        paused = lines(page).count()
        own_house.atlas("ask", "what time is it")
        paths = requests_of(page)
        page.clock.run_for(60_000)
        assert "/api/log" not in paths
        assert lines(page).count() == paused
        page.get_by_role("button", name="Go on").click()
        expect(lines(page)).not_to_have_count(paused, timeout=ANSWER_MS)


@pytest.mark.parametrize("size", [SMALL, DESK], ids=["small", "desk"])
@pytest.mark.parametrize("locale", WORDS)
def test_lines_are_filtered_by_part_and_gravity_and_searched(
    own_house: Running, locale: str, size: dict[str, int]
) -> None:
    part, warning, search, none = WORDS[locale]
    with opened(own_house, path="house/log", locale=locale, viewport=size, reduced_motion="reduce") as page:
        gone = lines(page).filter(has_text="tools was killed by SIGKILL")
        expect(gone.last).to_be_visible(timeout=ANSWER_MS)
        expect(gone.last).to_contain_text(warning)
        expect(gone.last.locator("[lang=en]")).to_contain_text("it starts again")
        every = lines(page).count()
        page.locator("select").nth(1).select_option(index=1)
        expect(lines(page)).not_to_have_count(every)
        expect(lines(page).filter(has_not_text=warning)).to_have_count(0)
        page.get_by_label(search).fill("SIGKILL")
        expect(lines(page).filter(has_not_text="SIGKILL")).to_have_count(0)
        expect(gone.last).to_be_visible()
        page.get_by_label(search).fill("no such thing")
        expect(page.get_by_text(none)).to_be_visible()
        page.get_by_label(search).fill("")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        page.locator("select").nth(1).select_option(index=0)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        page.get_by_role("log").focus()
        for key, place in (("Home", AT_THE_BEGINNING), ("End", AT_THE_END)):
            # Chromium drops a key that comes while it still scrolls for the one before.
            until(partial(pressed_to, page, key, place), 30, f"{key} scrolling the log")
        choices = page.get_by_label(part).locator("option").all_inner_texts()
        assert len(choices) >= 2, choices


def test_without_the_house_the_last_lines_stay_and_the_page_says_why_none_comes(own_house: Running) -> None:
    with opened(own_house, path="house/log") as page:
        expect(lines(page).first).to_be_visible(timeout=ANSWER_MS)
        seen = lines(page).count()
        page.context.set_offline(True)
        expect(page.get_by_text("These are the last lines that it sent.")).to_be_visible(timeout=ANSWER_MS)
        assert lines(page).count() == seen
        page.context.set_offline(False)
        expect(page.get_by_text("These are the last lines that it sent.")).to_have_count(0, timeout=ANSWER_MS)


def test_nobody_but_the_owner_has_the_page_or_what_it_shows(own_house: Running) -> None:
    token = own_house.new_token("tablet")
    asked = urllib.request.Request(f"{own_house.url}/api/log", headers={"Authorization": f"Bearer {token}"})
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(asked)
    with opened(own_house, token=token, path="house/log") as page:
        expect(page.get_by_role("heading", name="That is not for you in this house.")).to_be_visible(timeout=ANSWER_MS)
        expect(lines(page)).to_have_count(0)
