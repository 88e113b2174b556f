"""Real browsers let each other in, by a QR code read off the screen and by six digits; one is shut out mid-talk."""

from __future__ import annotations

import io

import numpy
import pytest
import zxingcpp
from av import open as open_image
from playwright.async_api import Browser, Locator, Page, expect

from tests.access.test_browser_account import at_talk, browser_trusting, device_of, fresh
from tests.access.test_certificates import Secure, secured
from tests.journeys.test_app_everywhere import AXE

pytestmark = pytest.mark.real


async def owner_inviting(browser: Browser, secure: Secure) -> Page:
    """Open the sheet by which an owner lets a device in."""
    page = await fresh(browser)
    await page.goto(f"https://localhost:{secure.port}/#token={secure.world.tokens['owner']}")
    await at_talk(page)
    await page.evaluate("location.hash = '#/house/devices'")
    await page.get_by_role("button", name="Add a phone or a screen").click()
    return page


MIAS = "Mia's phone!"  # as people call it


async def scanned(picture: Locator) -> str:
    """Read a QR code off the pixels that are shown, as a phone's camera does."""
    return code_in(await picture.screenshot())


def code_in(png: bytes) -> str:
    """Return what the one QR code of a picture says."""
    with open_image(io.BytesIO(png)) as image:
        frame = next(image.decode(video=0)).to_ndarray(format="gray")
    [code] = zxingcpp.read_barcodes(numpy.ascontiguousarray(frame))
    return str(code.text)


async def test_a_second_browser_comes_in_by_the_qr_code_and_is_shut_out_while_the_house_talks_to_it(config, data):
    async with secured(config, data) as secure, browser_trusting(secure) as browser:
        owner = await owner_inviting(browser, secure)
        await owner.get_by_label("Name of the device").fill(MIAS)
        await owner.get_by_label("What it may do").select_option("Child")
        await owner.get_by_label("Whose is it?").fill("Mia")
        await owner.get_by_role("button", name="Invite it").click()
        await owner.evaluate(AXE.read_text(encoding="utf-8"))
        assert await owner.evaluate("async () => (await window.axe.run()).violations.map(({ id }) => id)") == []
        link = await scanned(owner.locator("img.qr").first)
        assert link.startswith(f"https://atlas.local:{secure.port}/pair#")
        await owner.get_by_text("How a phone comes to trust this house").click()
        guide = await scanned(owner.locator("details img.qr"))

        phone = await fresh(browser)
        await phone.goto(guide)
        await expect(phone.get_by_role("heading", name="Trust this house")).to_be_visible()
        await phone.goto(link)
        assert "#" not in phone.url, "the secret does not stay in the address"
        await phone.get_by_role("button", name="Let this device in").click()
        await at_talk(phone)
        assert await device_of(phone) == MIAS
        assert await phone.evaluate("localStorage.getItem('atlas.token')") is None
        await expect(owner.get_by_text(f"{MIAS} has come in.")).to_be_visible()
        await owner.get_by_role("button", name="Done").click()

        secure.world.chat.endless = True
        await phone.locator("#words").fill("tell me a long story")
        await phone.keyboard.press("Enter")
        await expect(phone.locator(".entry.house .words").last).to_contain_text("and on and on")
        await owner.get_by_role("button", name=MIAS).click()
        for _ in range(2):
            await owner.get_by_role("button", name="Shut it out").click()
        await expect(phone.get_by_role("alert").first).to_contain_text("does not know this device any more")
        assert secure.world.chat.cancelled.is_set()
        assert await phone.context.cookies() == []
        await phone.goto(link)  # good once
        await phone.get_by_role("button", name="Let this device in").click()
        await expect(phone.get_by_role("status")).to_contain_text("not open")


async def test_a_second_browser_comes_in_by_six_digits_and_a_third_is_asked_before_it_becomes_another(config, data):
    async with secured(config, data) as secure, browser_trusting(secure) as browser:
        owner = await owner_inviting(browser, secure)
        await owner.get_by_label("Name of the device").fill("hall screen")
        await owner.get_by_label("What it may do").select_option("A room's speaker")
        await owner.get_by_label("Room it stands in").fill("hall")
        await owner.get_by_label("How it comes in").select_option("By six digits: a screen or computer")
        await owner.get_by_role("button", name="Invite it").click()
        digits = await owner.locator(".digits").inner_text()

        screen = await fresh(browser)
        await screen.goto(f"https://localhost:{secure.port}/")
        await screen.get_by_role("link", name="I have six digits").click()
        await screen.get_by_label("Six digits").fill("12 34")
        await screen.get_by_role("button").click()
        await expect(screen.get_by_role("status")).to_contain_text("not right")
        await screen.get_by_label("Six digits").fill(digits)
        await screen.get_by_role("button").click()
        await at_talk(screen)
        assert await device_of(screen) == "hall screen"
        await expect(owner.get_by_text("hall screen has come in.")).to_be_visible()
        hall = next(one for one in await secure.world.devices.list() if one.name == "hall screen")
        assert (hall.role, hall.room) == ("satellite", "hall")

        async with secure.http("owner") as http:
            wish = {"name": "spare", "role": "guest"}
            path = (await http.post("/api/pairing", json=wish)).json()["path"]
        await screen.goto(f"https://localhost:{secure.port}{path}")
        let_in = screen.get_by_role("button", name="Let this device in")
        await let_in.click()
        asked = "This browser is “hall screen” now. Press again, and it is “spare” instead."
        await expect(screen.get_by_role("status")).to_have_text(asked)
        assert await device_of(screen) == "hall screen"
        await let_in.click()
        await at_talk(screen)
        assert await device_of(screen) == "spare"
