"""The app on every screen, for everybody: accessible, installable, without a line, and light."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from atlas.gateway import page as app_files
from tests.journeys.browser import ANSWER_MS, CHROMIUM, answer, connected, demand_browser, leave, opened, say, show
from tests.journeys.conftest import ROOT, Running, api

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("timers_end")]
AXE = ROOT / "pwa" / "node_modules" / "axe-core" / "axe.min.js"
PARTS = ("turns", "devices", "record", "rules", "sentences", "wake", "models", "settings", "health", "log")
HOUSE = ("house", *(f"house/{part}" for part in PARTS))
ROUTES = ("talk", "home", "time", "lists", "board", "notes", "notes/", "messages", "calendar", "past", *HOUSE, "more")
AT_THE_END = """() => {
    const log = document.querySelector(".log");
    return log.scrollHeight - log.scrollTop - log.clientHeight < 100;
}"""
SCROLLED = """() => new Promise((resolve) => {
    const log = document.querySelector(".log");
    const end = log.scrollHeight - log.clientHeight;
    const took = [];
    let last = performance.now();
    const step = (now) => {
        took.push(now - last);
        last = now;
        if (took.length > 60) resolve(took.slice(1).sort((one, other) => one - other));
        else { log.scrollTop = (end * took.length) / 60; requestAnimationFrame(step); }
    };
    log.scrollTop = 0;
    requestAnimationFrame(step);
})"""
FIRST_ROUTE_BYTES, ANY_ROUTE_BYTES = 60_000, 150_000
LARGEST_PAINT_MS, MOST_REQUESTS, MOST_SHIFT = 1000, 12, 0.1
FRAME_MS = 50  # half of the frames while one scrolls: what is slower than that is seen to jerk


def violations(page: Page) -> list[str]:
    """What axe-core has against the page as it is."""
    results: list[dict[str, Any]] = page.evaluate("async () => (await window.axe.run()).violations")
    return [f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0]['failureSummary']}" for one in results]


@pytest.mark.parametrize("size", [(390, 844), (1280, 800)], ids=["phone", "desk"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(house: Running, size, scheme):
    width, height = size
    with opened(
        house, viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    ) as page:
        connected(page)
        say(page, "set a timer for ten minutes")
        answer(page)
        connected(page)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        for route in ROUTES:
            show(page, route)
            assert not (wrong := violations(page)), (route, wrong)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, route


def test_long_german_words_make_no_page_wider_than_a_small_phone(house: Running):
    with opened(house, viewport={"width": 320, "height": 640}, locale="de-DE") as page:
        connected(page)
        for route in ROUTES:
            show(page, route)
            assert page.evaluate("document.documentElement.scrollWidth") <= 320, route


def test_axe_finds_nothing_at_the_door_or_in_a_question(house: Running):
    with opened(house) as page:
        connected(page)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        say(page, "add polish the bell to my tasks")
        answer(page)
        say(page, "remove the task polish the bell")
        question = page.locator(".question", has_text="polish the bell")
        expect(question).to_be_visible(timeout=ANSWER_MS)
        assert not (wrong := violations(page)), wrong
        page.keyboard.press("Escape")
        expect(question).to_have_count(0, timeout=ANSWER_MS)
        page.evaluate("location.hash = '#/board'")
        page.get_by_role("button", name="polish the bell").click()
        assert not (wrong := violations(page)), wrong
        page.keyboard.press("Escape")
        page.evaluate("location.hash = '#/more'")
        leave(page)
        expect(page.get_by_role("heading", name="Who is there?")).to_be_visible()
        assert not (wrong := violations(page)), wrong


def test_everything_can_be_read_at_twice_the_size_and_from_right_to_left(house: Running):
    with opened(house, viewport={"width": 640, "height": 800}) as page:
        connected(page)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        for direction in ("ltr", "rtl"):
            page.evaluate("way => { document.documentElement.dir = way; }", direction)
            for route in ROUTES:
                show(page, route)
                assert page.evaluate("document.documentElement.scrollWidth") <= 640, (direction, route)


def test_it_can_be_installed_and_starts_and_says_so_without_the_house(house: Running):
    demand_browser()
    with tempfile.TemporaryDirectory() as profile, sync_playwright() as play:
        context = play.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, args=["--no-sandbox"], locale="en-GB"
        )
        page = context.pages[0]
        page.goto(f"{house.url}/#token={house.token}")
        connected(page)
        page.evaluate("async () => { await navigator.serviceWorker.ready; }")
        errors = context.new_cdp_session(page).send("Page.getInstallabilityErrors")["installabilityErrors"]
        assert errors == []
        page.reload()  # from here on the service worker answers
        connected(page)
        api(house, "POST", "/api/lists/shopping/items", {"items": ["olives of the shop"]})
        show(page, "lists")
        expect(page.locator("main")).to_contain_text("olives of the shop")
        show(page, "talk")
        context.set_offline(True)
        page.reload()
        expect(page.locator(".line")).to_contain_text("does not answer", timeout=ANSWER_MS)
        expect(page.locator(".talk")).to_be_visible()
        page.get_by_role("link", name="Lists").click()
        expect(page.locator("main")).to_contain_text("As it was seen last")
        expect(page.get_by_role("list", name="Shopping")).to_contain_text("olives of the shop")
        page.get_by_role("link", name="Home", exact=True).click()
        expect(page.locator(".empty")).to_contain_text("does not answer")
        context.set_offline(False)
        expect(page.locator(".empty")).not_to_contain_text("does not answer")
        page.get_by_role("link", name="Lists").click()
        expect(page.get_by_label("Add to shopping")).to_be_visible(timeout=ANSWER_MS)
        expect(page.locator("main")).not_to_contain_text("As it was seen last")
        context.close()


def test_five_hundred_messages_are_scrolled_through_without_losing_the_next_one(house: Running, capsys):
    with opened(house) as page:
        connected(page)
        say(page, "what time is it")
        answer(page)
        page.evaluate("""() => {
            const list = document.querySelector(".log ol");
            const item = list.lastElementChild;
            for (let i = 0; i < 500; i++) list.prepend(item.cloneNode(true));
        }""")
        frames = page.evaluate(SCROLLED)
        middle = frames[len(frames) // 2]
        with capsys.disabled():
            print(f"\n500 messages: {middle:.0f} ms a frame of scrolling (budget {FRAME_MS}), {frames[-1]:.0f} at most")
        assert middle <= FRAME_MS
        say(page, "what day is it")
        assert answer(page)
        page.wait_for_function(AT_THE_END)
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight"), "the page itself does not scroll"


def test_what_each_page_weighs_is_within_its_budget(capsys):
    demand_browser()
    routes = json.loads(Path(app_files.FOLDER, "weights.json").read_text())["routes"]
    for route, size in routes.items():
        budget = FIRST_ROUTE_BYTES if route == "talk" else ANY_ROUTE_BYTES
        with capsys.disabled():
            print(f"\n{route}: {size / 1000:.1f} kB gz (budget {budget / 1000:.0f})", end="")
        assert size <= budget, route


PAINTED = """() => new Promise((resolve) => {
    let shift = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((entry) => { shift += entry.value; }))
        .observe({ type: "layout-shift", buffered: true });
    new PerformanceObserver((list) => resolve({
        largest: list.getEntries().at(-1).startTime,
        requests: performance.getEntriesByType("resource").filter(({ name }) => !name.includes("/api/")).length + 1,
        shift,
    })).observe({ type: "largest-contentful-paint", buffered: true });
})"""


def test_a_slow_phones_first_page_asks_for_little_and_does_not_jump(house: Running, capsys):
    with opened(house, viewport={"width": 390, "height": 844}) as page:
        connected(page)
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 4})
        painted: list[dict[str, float]] = []
        for _ in range(3):
            page.reload()
            connected(page)
            painted.append(page.evaluate(PAINTED))
    best = min(painted, key=lambda one: one["largest"])
    with capsys.disabled():  # how fast it is depends on what else the machine does: it is told, not demanded
        print(f"\nlargest paint at 4x throttle: {best['largest']:.0f} ms (budget {LARGEST_PAINT_MS})", end="")
        print(f", {best['requests']:.0f} requests ({MOST_REQUESTS}), shift {best['shift']:.2f} ({MOST_SHIFT})")
    assert best["requests"] <= MOST_REQUESTS
    assert best["shift"] <= MOST_SHIFT


def test_from_right_to_left_arrows_point_along_the_text_and_plots_run_as_clocks_do(house: Running):
    with opened(house, path="calendar") as page:
        earlier = page.get_by_role("button", name="Earlier").locator(".icon")
        expect(earlier).to_have_css("scale", "none")
        page.evaluate("document.documentElement.dir = 'rtl'")
        expect(earlier).to_have_css("scale", "-1 1")
        page.evaluate("location.hash = '#/house'")
        axis = page.locator(".plot .axis").first
        expect(axis).to_have_css("direction", "ltr")
        expect(page.locator(".plot .figure").first).to_have_css("direction", "rtl")
