"""The owner looks into the record, the house's own check, a turn's time, and takes what was said out of the house."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say, show
from tests.journeys.conftest import Running
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
DOCTOR_MS = 150_000


def test_the_record_is_filtered_verified_and_downloaded(own_house: Running) -> None:
    with opened(own_house) as page:
        connected(page)
        say(page, "add figs to the shopping list")
        answer(page)
        say(page, "set a timer for forty minutes")
        answer(page)
        page.evaluate("location.hash = '#/house/record'")
        rows = page.locator("section[aria-labelledby=rows] li")
        expect(rows.filter(has_text="Putting things on lists")).not_to_have_count(0)
        expect(rows.filter(has_text="Starting timers")).not_to_have_count(0)
        expect(rows.filter(has_text="Looking at alarms")).to_have_count(0)
        page.get_by_label("Also what was only looked up").check()
        expect(rows.filter(has_text="Looking at alarms")).not_to_have_count(0)
        page.get_by_label("Also what was only looked up").uncheck()
        expect(rows.filter(has_text="Starting timers")).not_to_have_count(0)
        expect(rows.filter(has_text="Looking at alarms")).to_have_count(0)
        page.get_by_label("Only tools called…").fill("timers")
        page.keyboard.press("Tab")
        expect(rows.filter(has_text="Putting things on lists")).to_have_count(0)
        expect(rows.filter(has_text="Starting timers")).not_to_have_count(0)
        page.get_by_label("Only those that ended…").select_option(label="refused")
        expect(page.get_by_text("Nothing yet.")).to_be_visible()
        page.get_by_role("button", name="Verify the whole record").click()
        verdict = page.locator("section[aria-labelledby=verify] [role=status]")
        expect(verdict).to_have_class("good", timeout=ANSWER_MS)
        expect(verdict).to_contain_text(re.compile(r"\d"))
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the record").click()
        kept = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
        assert download.value.suggested_filename == "record.jsonl"
        assert {"lists", "timers"} <= {row["tool"].split(".")[0] for row in kept}
        assert "figs" not in str(kept)


def test_the_house_tells_what_left_it_its_last_backup_and_what_the_doctor_finds(
    own_house: Running, tmp_path: Path
) -> None:
    with opened(own_house, path="house/health") as page:
        expect(page.locator("section[aria-labelledby=outside]")).to_contain_text("Nothing left the house")
        backup = page.locator("section[aria-labelledby=backup]")
        expect(backup).to_contain_text("No backup was ever made.")
        own_house.atlas("backup", "create", str(tmp_path))
        page.reload()
        expect(backup).to_contain_text(re.compile(r"Made .*, and read back\."), timeout=ANSWER_MS)
        expect(backup).to_contain_text("without keys and passwords")
        page.get_by_role("button", name="Examine the house").click()
        findings = page.locator("section[aria-labelledby=doctor] li")
        findings.first.wait_for(timeout=DOCTOR_MS)
        assert findings.count() > 3
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong


def test_what_was_said_is_downloaded_and_then_forgotten_altogether(own_house: Running) -> None:
    with opened(own_house) as page:
        connected(page)
        say(page, "add quinces to the shopping list")
        answer(page)
        page.evaluate("location.hash = '#/past'")
        expect(page.locator(".exchange", has_text="quinces")).to_be_visible(timeout=ANSWER_MS)
        with page.expect_download() as download:
            page.get_by_role("button", name="Download").click()
        assert download.value.suggested_filename == "conversations.md"
        assert "add quinces to the shopping list" in Path(download.value.path()).read_text()
        page.get_by_role("button", name="Forget…").click()
        page.get_by_role("button", name="Forget everything").click()
        page.get_by_role("button", name="Really everything?").click()
        expect(page.get_by_role("heading", name="Nothing has been said yet")).to_be_visible(timeout=ANSWER_MS)


@pytest.mark.parametrize("width", [390, 1280], ids=["phone", "desk"])
@pytest.mark.parametrize(
    ("locale", "details", "route", "tools"),
    [
        ("en-GB", "Details", "choosing who answers", "tools"),
        ("de-DE", "Einzelheiten", "wählen, wer antwortet", "Werkzeuge"),
    ],
)
def test_a_turn_shows_where_its_time_went_as_bars_on_one_clock(
    own_house: Running, locale: str, details: str, route: str, tools: str, width: int
) -> None:
    with opened(own_house, locale=locale, viewport={"width": width, "height": 800}) as page:
        connected(page)
        say(page, "set a timer for twenty minutes")
        answer(page)
        page.evaluate("location.hash = '#/house/turns'")
        turn = page.locator(".turn").first
        turn.locator("summary").click()
        bars = turn.locator(".bars li")
        for name in (route, tools):
            expect(bars.filter(has_text=re.compile(rf"^{name}"))).to_contain_text(re.compile(r"\d (ms|s)$"))
        boxes = [one.bounding_box() for one in bars.locator(".bar > span").all()]
        starts = [box["x"] for box in boxes if box]
        assert len(starts) >= 3
        assert starts[0] < starts[-1]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong


def test_on_a_phone_buttons_of_the_record_do_not_touch(own_house: Running) -> None:
    with opened(own_house, path="house/record", viewport={"width": 390, "height": 844}) as page:
        verify, download = (page.get_by_role("button", name=name) for name in ("Verify", "Download"))
        expect(verify).to_be_visible(timeout=ANSWER_MS)
        one, other = verify.bounding_box(), download.bounding_box()
        assert one and other
        below, beside = other["y"] - one["y"] - one["height"], other["x"] - one["x"] - one["width"]
        assert max(below, beside) >= 8


def test_a_device_that_is_given_to_somebody_stands_with_them_at_once(own_house: Running) -> None:
    own_house.atlas("token", "create", "--name", "spare tablet", "--role", "adult")
    with opened(own_house, path="house/devices", viewport={"width": 390, "height": 844}) as page:
        people = page.locator("section[aria-labelledby=people]")
        expect(people).to_contain_text("Nobody has a device of their own yet.")
        page.get_by_role("button", name="spare tablet").click()
        page.get_by_label("Whose is it?").fill("Mia")
        page.get_by_role("button", name="Save").click()
        expect(people).to_contain_text("spare tablet", timeout=5_000)


@pytest.mark.parametrize(
    "viewport", [{"width": 390, "height": 844}, {"width": 1280, "height": 832}], ids=["phone", "desk"]
)
def test_a_device_gets_another_name_and_stays_who_it_is_while_it_is_in_use(
    own_house: Running, viewport: dict[str, int]
) -> None:
    old, new = f"pad {viewport['width']}", f"Mia's pad {viewport['width']}"
    token = own_house.new_token(old)
    with opened(own_house, path="house/devices", viewport=viewport, stopped="status of 400") as page:
        browser = page.context.browser
        assert browser
        theirs = browser.new_page(locale="en-GB")
        theirs.goto(f"{own_house.url}/#token={token}")
        connected(theirs)
        say(theirs, "set a timer for fifty minutes")
        answer(theirs)
        page.get_by_role("button", name=old).click()
        page.get_by_label("Name of the device").fill("owner")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_have_text(
            "A device of that name is there already.", timeout=ANSWER_MS
        )
        page.get_by_label("Name of the device").fill(new)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name=new)).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_role("button", name=re.compile(f"^{old}"))).to_have_count(0)
        page.get_by_role("button", name=re.compile("^owner")).click()
        expect(page.get_by_label("Name of the device")).to_be_disabled()
        expect(page.get_by_role("dialog")).to_contain_text("its name stays")
        page.keyboard.press("Escape")
        show(theirs, "more")
        expect(theirs.locator("section[aria-labelledby=device]")).to_contain_text(new, timeout=ANSWER_MS)
        show(theirs, "talk")
        connected(theirs)
        say(theirs, "how long is left on my timer")
        assert "timer" in answer(theirs)
        theirs.close()


def test_a_model_that_no_button_fetches_says_what_does(own_house: Running) -> None:
    with opened(own_house, path="house/models") as page:
        coder = page.get_by_role("listitem").filter(has_text="Qwen2.5 Coder 1.5B")
        expect(coder).to_contain_text("atlas models pull qwen2.5-coder-1.5b-instruct", timeout=ANSWER_MS)
        of_a_hub = page.get_by_role("listitem").filter(has_text="Qwen2.5 3B Instruct")
        expect(of_a_hub.get_by_role("button", name="Fetch")).to_be_visible()
        expect(of_a_hub).not_to_contain_text("atlas models pull")
