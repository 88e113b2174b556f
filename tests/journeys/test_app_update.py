"""A newer app waits until somebody presses, and in other windows until nobody is speaking there."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atlas.gateway import page as app_files
from tests.access.test_browser_account import at_talk, browser_trusting, fresh
from tests.gateway.small_house import served

pytestmark = pytest.mark.real
OFFER = "[data-line=update]"


class Worker:
    """The service worker that the house serves, which becomes another one when the house gets a newer app."""

    def __init__(self) -> None:
        self.code = (app_files.FOLDER / "sw.js").read_text(encoding="utf-8")

    async def serve(self, request: Request) -> Response:
        headers = {"cache-control": "no-cache", "content-security-policy": app_files.POLICY}
        return Response(self.code, media_type="text/javascript", headers=headers)


async def look_for_a_newer_one(page: Page) -> None:
    await page.evaluate("async () => (await navigator.serviceWorker.ready).update()")


async def remains(page: Page) -> bool:
    """Tell whether the page is still the one that was marked."""
    return bool(await page.evaluate("window.marked === true"))


async def test_a_newer_app_taken_in_one_window_never_cuts_off_an_answer_in_another(config, data, monkeypatch):
    worker = Worker()
    files = app_files.routes
    monkeypatch.setattr(app_files, "routes", lambda: [Route("/sw.js", worker.serve), *files()])
    async with served(config, data) as world, browser_trusting() as browser:
        talking = await fresh(browser)
        await talking.goto(f"{world.url}/#token={world.tokens['adult']}")
        await at_talk(talking)
        await talking.evaluate("async () => { await navigator.serviceWorker.ready; }")
        await talking.reload()  # from here on the worker answers
        await at_talk(talking)
        reading = await talking.context.new_page()
        await reading.goto(f"{world.url}/#/lists")
        for page in (talking, reading):
            await page.evaluate("window.marked = true")
        world.chat.endless = True
        await talking.locator("#words").fill("tell me a long story")
        await talking.keyboard.press("Enter")
        words = talking.locator(".entry.house .words").last
        await expect(words).to_contain_text("and on and on")

        worker.code += "\n// newer"
        await look_for_a_newer_one(reading)
        await expect(reading.locator(OFFER)).to_contain_text("A newer Atlas is ready.")
        await expect(talking.locator(OFFER)).to_have_count(0)
        await reading.get_by_role("button", name="Use it").click()
        await expect(reading.locator(OFFER)).to_have_count(0)
        await reading.wait_for_function("() => window.marked === undefined")
        before = len(await words.inner_text())
        await talking.wait_for_function(
            "length => [...document.querySelectorAll('.entry.house .words')].at(-1).innerText.length > length",
            arg=before,
        )
        assert await remains(talking), "it was loaded anew in the middle of an answer"
        await talking.get_by_role("button", name="Stop", exact=True).click()
        await expect(talking.locator(OFFER)).to_contain_text("A newer Atlas is ready.")
        assert await remains(talking)
        await talking.get_by_role("button", name="Use it").click()
        await talking.wait_for_function("() => window.marked === undefined")
        await at_talk(talking)
