"""The app in a real browser: Debian's Chromium, whose microphone is a file."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from atlas.gateway import page as app_files
from tests.journeys.conftest import Running

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
ANSWER_MS = 30_000
MICROPHONE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
expect.set_options(timeout=ANSWER_MS)  # where a test names none: on a busy machine what comes at once comes late
NAMES_THAT_ARE_NO_WORDS = re.compile(r"\[object|undefined|\bNaN\b|\bnull\b")


def demand_browser() -> None:
    """Fail aloud where a test cannot see the app: `./check` installs the one and builds the other."""
    if not CHROMIUM:
        pytest.fail("there is no Chromium on this machine; install it (apt-get install chromium)")
    if not (app_files.FOLDER / "index.html").is_file():
        pytest.fail("the app is not built; run scripts/build_app.py")


@contextmanager
def opened(
    house: Running, wav: Path | None = None, token: str = "", path: str = "", stopped: str = "^$", **options: Any
) -> Iterator[Page]:
    """Open the app with the owner's token.

    `wav` is what the microphone will hear, `path` a page such as "home", `stopped` what the browser may complain of.
    """
    demand_browser()
    arguments = ["--no-sandbox", *MICROPHONE]
    if wav:
        arguments.append(f"--use-file-for-fake-audio-capture={wav}%noloop")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=arguments)
        page = browser.new_page(**{"locale": "en-GB", **options})
        page.set_default_timeout(ANSWER_MS)
        wrong: list[str] = []
        page.on("pageerror", lambda trouble: wrong.append(str(trouble)))
        page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
        page.goto(f"http://127.0.0.1:{house.port}/#token={token or house.token}")
        if path:
            page.goto(f"http://127.0.0.1:{house.port}/#/{path}")
        yield page
        words = page.locator("body").inner_text()
        browser.close()
    assert not NAMES_THAT_ARE_NO_WORDS.search(words), words
    # A refusal is an answer; it is the browser that calls it an error.
    allowed = re.compile(f"status of (401|403|404|409|422|503)|ERR_|{stopped}")
    assert not (trouble := [line for line in wrong if not allowed.search(line)]), trouble


def connected(page: Page) -> None:
    """Wait until the house can be talked to."""
    expect(page.locator(".frame")).to_have_attribute("data-state", "ready", timeout=ANSWER_MS)


def show(page: Page, route: str) -> None:
    """Go to another page of the app, and wait until what it shows is there."""
    page.evaluate("route => { location.hash = `#/${route}`; }", route)
    expect(page.locator(f".frame[data-page='{route.split('/')[0]}']:not(:has(.loading))")).to_be_visible()


def leave(page: Page) -> None:
    """Sign out, on the page where that is done."""
    for _ in ("asked", "sure"):
        page.get_by_role("button", name="Leave").click()


def requests_of(page: Page) -> list[str]:
    """Return the paths that the page asks for from here on: a list that grows."""
    paths: list[str] = []
    page.on("request", lambda request: paths.append(urlsplit(request.url).path) if request.method == "GET" else None)
    return paths


def say(page: Page, text: str) -> None:
    """Type to the house."""
    page.locator("#words").fill(text)
    page.keyboard.press("Enter")


def answer(page: Page) -> str:
    """Wait for the answer to what was typed or spoken last, and return its words."""
    last = page.locator(".log li:last-child")  # after what was said, or an older answer would be taken for it
    expect(last).to_have_class("entry house", timeout=ANSWER_MS)
    expect(last).not_to_have_attribute("data-entry", "waiting", timeout=ANSWER_MS)
    return last.locator(".words").inner_text()


def heard_ms(page: Page) -> int:
    """How much of the house's voice has gone through the browser's audio thread."""
    return int(page.locator("html").get_attribute("data-heard-ms") or 0)
