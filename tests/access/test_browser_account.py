"""Who a real browser is to the house: by a cookie over https, by a token elsewhere, and changed by no link unasked."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.access.test_certificates import Secure, secured
from tests.gateway.small_house import SmallHouse, served
from tests.journeys.browser import CHROMIUM, demand_browser

pytestmark = pytest.mark.real
STORED = "JSON.stringify(localStorage)"


@asynccontextmanager
async def browser_trusting(secure: Secure | None = None) -> AsyncIterator[Browser]:
    """Start Debian's Chromium, which takes the certificates of this house for good."""
    demand_browser()
    keys = [one.public_key() for one in (secure.certificates.authority, secure.certificates.leaf)] if secure else []
    ders = [key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) for key in keys]
    pins = ",".join(base64.b64encode(hashlib.sha256(der).digest()).decode() for der in ders)
    arguments = [f"--ignore-certificate-errors-spki-list={pins}", "--host-resolver-rules=MAP atlas.local 127.0.0.1"]
    async with async_playwright() as play:
        browser = await play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", *arguments])
        yield browser
        await browser.close()


async def fresh(browser: Browser) -> Page:
    return await (await browser.new_context(locale="en-GB")).new_page()


async def device_of(page: Page) -> str:
    """Return who the house takes the page for, by what the page itself sends."""
    return str(
        await page.evaluate(
            """async () => {
                const token = localStorage.getItem("atlas.token");
                const headers = token ? { Authorization: `Bearer ${token}` } : {};
                return (await (await fetch("/api/me", { headers })).json()).device ?? "";
            }"""
        )
    )


async def at_talk(page: Page) -> None:
    await expect(page.locator(".frame[data-state='ready']")).to_be_visible()


async def test_over_https_the_token_of_a_link_becomes_a_cookie_that_no_script_can_read(config, data):
    async with secured(config, data) as secure, browser_trusting(secure) as browser:
        page = await fresh(browser)
        token = secure.world.tokens["adult"]
        await page.goto(f"https://localhost:{secure.port}/#token={token}")
        await at_talk(page)  # the line is open, by the cookie alone
        assert token not in await page.evaluate(STORED) + await page.evaluate("document.cookie") + page.url
        assert await device_of(page) == "the adult"
        await page.reload()
        await at_talk(page)
        await page.goto(f"https://localhost:{secure.port}/#/more")
        await page.get_by_role("button", name="Leave").click()
        # The page asks for a token at once; the cookie is gone when the house has answered.
        async with page.expect_response(lambda it: it.request.method == "DELETE" and it.url.endswith("/cookie")):
            await page.get_by_role("button", name="Leave").click()
        await expect(page.get_by_role("heading", name="Who is there?")).to_be_visible()
        await expect(page.get_by_label("Token")).to_be_visible()
        assert await page.context.cookies() == []
        await page.reload()
        await expect(page.get_by_label("Token")).to_be_visible()


async def test_a_browser_that_kept_its_token_in_storage_goes_over_to_the_cookie(config, data):
    async with secured(config, data) as secure, browser_trusting(secure) as browser:
        page = await fresh(browser)
        await page.goto(f"https://localhost:{secure.port}/pair")
        await page.evaluate("token => localStorage.setItem('atlas.token', token)", secure.world.tokens["adult"])
        await page.goto(f"https://localhost:{secure.port}/")
        await at_talk(page)
        await page.wait_for_function("localStorage.getItem('atlas.device') === 'the adult'")
        assert secure.world.tokens["adult"] not in await page.evaluate(STORED)


async def test_a_cookie_whose_token_is_taken_back_shuts_the_app_and_is_gone(config, data):
    async with secured(config, data) as secure, browser_trusting(secure) as browser:
        page = await fresh(browser)
        await page.goto(f"https://localhost:{secure.port}/#token={secure.world.tokens['adult']}")
        await at_talk(page)
        await secure.world.devices.revoke("the adult")
        await expect(page.get_by_role("alert").first).to_contain_text("does not know this device any more")
        await expect(page.get_by_label("Token")).to_be_visible()
        assert await page.context.cookies() == []


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_link_with_anothers_token_is_asked_about_by_both_names_and_refused_by_closing(config, data, scheme):
    async with secured(config, data) as secure, browser_trusting(secure) as browser:
        world = secure.world
        port = secure.port if scheme == "https" else world.house.config.gateway.port
        base = f"{scheme}://localhost:{port}"
        page = await fresh(browser)
        await page.goto(f"{base}/#token={world.tokens['adult']}")
        await at_talk(page)
        await page.goto("about:blank")
        await page.goto(f"{base}/#token={world.tokens['guest']}")
        question = page.get_by_role("dialog")
        await expect(question).to_contain_text("“the adult”")
        await expect(question).to_contain_text("would make it “the guest”")
        assert "token" not in page.url
        await page.keyboard.press("Escape")
        await expect(question).to_have_count(0)
        assert await device_of(page) == "the adult"
        # The same in a page that is open already.
        await page.evaluate("token => { location.hash = `token=${token}`; }", world.tokens["guest"])
        await expect(question).to_be_visible()
        assert "token" not in page.url
        await page.get_by_role("button", name="Become “the guest”").click()
        await expect(question).to_have_count(0)
        await at_talk(page)
        assert await device_of(page) == "the guest"


async def test_a_link_with_ones_own_token_or_with_one_that_counts_for_nothing_asks_nothing(config, data):
    async with served(config, data) as world, browser_trusting() as browser:
        page = await fresh(browser)
        for token in (world.tokens["adult"], world.tokens["adult"], "atlas_" + "x" * 32):
            await page.goto("about:blank")
            await page.goto(f"{world.url}/#token={token}")
            await at_talk(page)
            assert await page.get_by_role("dialog").count() == 0
            assert await device_of(page) == "the adult"


async def test_a_browser_whose_token_was_taken_back_comes_in_by_a_new_link_unasked(config, data):
    async with served(config, data) as world, browser_trusting() as browser:
        page = await fresh(browser)
        await signed_in(page, world, "adult")
        await page.goto("about:blank")
        await world.devices.revoke("the adult")
        await signed_in(page, world, "teen")
        await page.wait_for_function(f"localStorage.getItem('atlas.token') === '{world.tokens['teen']}'")


async def test_the_owner_sees_until_when_the_certificate_counts_and_for_which_names(config, data):
    async with secured(config, data) as secure, browser_trusting(secure) as browser:
        page = await fresh(browser)
        await page.goto(f"https://localhost:{secure.port}/#token={secure.world.tokens['owner']}")
        await at_talk(page)
        await page.evaluate("location.hash = '#/house/health'")
        certificate = page.get_by_role("region", name="The certificate of this house")
        year = str(secure.certificates.leaf.not_valid_after_utc.year)
        await expect(certificate).to_contain_text(f"{year}, and renewed by itself.")
        await certificate.get_by_text("Details").click()
        await expect(certificate).to_contain_text("atlas.local, localhost, 127.0.0.1")
        await expect(certificate).to_contain_text(secure.certificates.fingerprint)
        await certificate.get_by_role("link", name="How a device comes to trust it").click()
        await expect(page.get_by_role("heading", name="Trust this house")).to_be_visible()


async def signed_in(page: Page, world: SmallHouse, role: str) -> None:
    await page.goto(f"{world.url}/#token={world.tokens[role]}")
    await at_talk(page)
