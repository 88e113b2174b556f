"""A person opens the page in a real browser, speaks into its microphone, and hears the house."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import async_playwright
from playwright.async_api import expect as expect_async
from playwright.sync_api import Page, expect, sync_playwright

from atlas.audio import AudioChunk, silence
from atlas.config import GatewayConfig
from atlas.gateway import app
from tests.gateway.small_house import SmallHouse, small_house
from tests.journeys.conftest import Running, write_wav

pytestmark = pytest.mark.real
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
ANSWER_MS = 30_000


@contextmanager
def opened(house: Running, wav: Path | None = None, token: str = "", **options: Any) -> Iterator[Page]:
    """Open the page with the owner's token in its address; `wav` is what the microphone will hear."""
    if not CHROMIUM:
        pytest.fail("there is no Chromium on this machine; install it (apt-get install chromium)")
    arguments = ["--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    if wav:
        arguments.append(f"--use-file-for-fake-audio-capture={wav}%noloop")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page(**options)
        page.set_default_timeout(ANSWER_MS)
        wrong: list[str] = []
        page.on("pageerror", lambda trouble: wrong.append(str(trouble)))
        page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        page.goto(f"{house.url}/#token={token or house.token}")
        yield page
        browser.close()
    # A refused token is an answer; it is the browser that calls it an error.
    assert [line for line in wrong if "401" not in line] == []


def heard_ms(page: Page) -> int:
    """How much of the house's voice has gone through the browser's audio thread."""
    return int(page.locator("#room").get_attribute("data-heard-ms") or 0)


@pytest.fixture
def request_wav(spoken: Callable[[str], AudioChunk], tmp_path: Path) -> Callable[[str], Path]:
    """Say a sentence into a WAV, as somebody would who needs a moment to begin and then is silent."""
    return lambda text: write_wav(tmp_path / "microphone.wav", silence(0.6) + spoken(text) + silence(2.0))


def test_a_tap_and_a_spoken_request_is_answered_in_words_and_sound(house, request_wav):
    with opened(house, request_wav("set a timer for ten minutes")) as page:
        expect(page.locator("#link")).to_have_text("Connected")
        page.locator("#talk").click()
        expect(page.locator(".you .words")).to_have_text(re.compile("timer.*(ten|10) minutes", re.I), timeout=ANSWER_MS)
        expect(page.locator(".house .words")).to_contain_text(re.compile("timer", re.I), timeout=ANSWER_MS)
        expect(page.locator(".house .chip").last).to_have_text("by command, no model", timeout=ANSWER_MS)
        expect(page.locator(".house .tools summary")).to_contain_text("timers.start")
        expect(page.locator(".house .bar span").first).to_be_visible()
        expect(page.locator("body")).to_have_attribute("data-state", "ready", timeout=ANSWER_MS)
        assert heard_ms(page) > 500


def test_holding_the_button_ends_the_request_when_it_is_let_go(house, request_wav):
    with opened(house, request_wav("what time is it")) as page:
        expect(page.locator("#link")).to_have_text("Connected")
        page.locator("#talk").hover()
        page.mouse.down()
        expect(page.locator("body")).to_have_attribute("data-state", "listening")
        page.wait_for_timeout(2500)  # the fake microphone speaks in real time
        page.mouse.up()
        expect(page.locator(".you .words")).to_have_text(re.compile("what time is it", re.I), timeout=ANSWER_MS)
        expect(page.locator(".house .words")).to_have_text(re.compile(r"\w"), timeout=ANSWER_MS)


def test_a_press_while_the_house_speaks_silences_it(house):
    with opened(house) as page:
        page.locator("#words").fill("what time is it")
        page.keyboard.press("Enter")
        expect(page.locator("body")).to_have_attribute("data-state", "speaking", timeout=ANSWER_MS)
        page.locator("#talk").focus()
        page.keyboard.down(" ")
        expect(page.locator("body")).to_have_attribute("data-state", "listening")
        at_the_press = heard_ms(page)
        page.wait_for_timeout(400)
        assert heard_ms(page) - at_the_press < 100
        expect(page.locator(".house").first).to_have_class(re.compile("cut"))
        page.keyboard.up(" ")


def test_the_token_leaves_the_address_and_is_kept_until_it_is_forgotten(house):
    with opened(house) as page:
        expect(page.locator("#link")).to_have_text("Connected")
        assert "token" not in page.url
        page.reload()
        expect(page.locator("#link")).to_have_text("Connected")
        page.locator("#leave").click()
        expect(page.locator("#door")).to_be_visible()
        page.locator("#token").fill("atlas_" + "x" * 32)
        with page.expect_response("**/v1/models") as refused:
            page.get_by_role("button", name="Come in").click()
        assert refused.value.status == 401
        expect(page.locator("#door-trouble")).to_contain_text("does not know this token")
        page.locator("#token").fill(house.token)
        page.get_by_role("button", name="Come in").click()
        expect(page.locator("#link")).to_have_text("Connected")


def test_without_a_microphone_one_is_told_why_and_can_type(house):
    with opened(house) as page:
        page.evaluate(
            "void (navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', 'NotAllowedError') })"
        )
        page.locator("#talk").click()
        expect(page.locator("#trouble")).to_contain_text("microphone is not allowed")
        expect(page.locator("body")).to_have_attribute("data-state", "ready")
        page.get_by_role("button", name="What time is it?").click()
        expect(page.locator(".house .words")).to_have_text(re.compile(r"\w"), timeout=ANSWER_MS)


def test_a_token_that_is_taken_back_closes_the_page_that_used_it(house):
    token = house.atlas("token", "create", "--name", "lost phone", "--role", "adult").stdout.strip()
    with opened(house, token=token) as page:
        expect(page.locator("#link")).to_have_text("Connected")
        assert house.atlas("token", "revoke", "lost phone").returncode == 0
        expect(page.locator("#door")).to_be_visible(timeout=ANSWER_MS)
        expect(page.locator("#door-trouble")).to_contain_text("does not know this token any more")


async def test_a_house_that_went_away_is_found_again(config, data):
    with app.listen(GatewayConfig(port=0)) as probe:
        port = probe.getsockname()[1]
    config = replace(config, gateway=GatewayConfig(port=port))
    async with small_house(config, data) as world, async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page()
        async with serving(world):
            await page.goto(f"http://127.0.0.1:{port}/#token={world.tokens['owner']}")
            await expect_async(page.locator("#link")).to_have_text("Connected")
        await expect_async(page.locator("#link")).to_contain_text("No answer")
        await expect_async(page.locator("body")).to_have_attribute("data-state", "gone")
        async with serving(world):
            await expect_async(page.locator("#link")).to_have_text("Connected", timeout=ANSWER_MS)
            await page.get_by_role("button", name="Set a timer for ten minutes").click()
            await expect_async(page.locator(".house .words")).to_have_text("Timer set for 10 minutes.")
            await browser.close()


@asynccontextmanager
async def serving(world: SmallHouse) -> AsyncIterator[None]:
    async with anyio.create_task_group() as tasks:
        ready = anyio.Event()
        tasks.start_soon(app.serve, world.house, ready.set)
        await ready.wait()
        yield
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_sticks_out_on_a_small_phone(house, scheme):
    with opened(house, viewport={"width": 360, "height": 640}, color_scheme=scheme) as page:
        expect(page.locator("#link")).to_have_text("Connected")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360
        for button in page.locator("button:visible").all():
            box = button.bounding_box()
            assert box
            assert box["height"] >= 44
