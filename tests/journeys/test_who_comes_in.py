"""A phone comes into a whole house over https, by the code of its terminal; and is shut out while it is spoken to."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterator

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.access.test_browser_pairing import code_in
from tests.journeys.browser import ANSWER_MS, CHROMIUM, MICROPHONE, answer, connected, demand_browser, heard_ms, say
from tests.journeys.conftest import Running, running_house
from tests.processes import free_port

pytestmark = pytest.mark.real


@pytest.fixture
def secure_house(monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setenv("ATLAS_GATEWAY_HTTPS_HOST", "127.0.0.1")
    monkeypatch.setenv("ATLAS_GATEWAY_HTTPS_PORT", str(free_port()))
    with running_house() as running:
        yield running


@pytest.fixture
def trusting_browser(secure_house: Running) -> Iterator[Browser]:
    demand_browser()
    pins = []
    for name in ("ca.pem", "leaf.pem"):
        [certificate] = x509.load_pem_x509_certificates((secure_house.data / "secrets" / "tls" / name).read_bytes())
        key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        pins.append(base64.b64encode(hashlib.sha256(key).digest()).decode())
    trust = f"--ignore-certificate-errors-spki-list={','.join(pins)}"
    resolving = "--host-resolver-rules=MAP atlas.local 127.0.0.1"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", *MICROPHONE, trust, resolving])
        yield browser
        browser.close()


def test_a_phone_that_was_let_in_by_the_terminal_is_shut_out_while_the_house_speaks_to_it(
    secure_house: Running, trusting_browser: Browser
) -> None:
    invited = secure_house.atlas("pair", "mias phone", "--role", "adult", "--person", "Mia")
    link = re.search(r"https://atlas\.local:\d+/pair#\S+", invited.stdout)
    assert link, invited.stdout + invited.stderr
    phone = trusting_browser.new_context(locale="en-GB").new_page()
    phone.goto(link.group())
    phone.get_by_role("button", name="Let this device in").click()
    connected(phone)
    assert phone.evaluate("isSecureContext && localStorage.getItem('atlas.token') === null")
    say(phone, "what time is it")
    assert re.search(r"\d", answer(phone))
    connected(phone)
    said = heard_ms(phone)
    say(phone, "what can I say")
    phone.wait_for_function("before => Number(document.documentElement.dataset.heardMs) > before + 300", arg=said)
    assert secure_house.atlas("token", "revoke", "mias phone").returncode == 0
    expect_shut_out(phone)
    assert phone.context.cookies() == []


def expect_shut_out(phone: Page) -> None:
    """Expect a browser to say that the house does not know it, and to hear no more of what was being said."""
    expect(phone.get_by_role("alert").first).to_contain_text("does not know this device any more", timeout=ANSWER_MS)
    silent = heard_ms(phone)
    phone.wait_for_timeout(500)
    assert heard_ms(phone) == silent, "nothing is said to it any more"


def invited(owner: Page, name: str, way: str) -> None:
    """Open an invitation in the owner's app."""
    owner.get_by_role("button", name="Add a phone or a screen").click()
    owner.get_by_label("Name of the device").fill(name)
    owner.get_by_label("What it may do").select_option("Adult")
    owner.get_by_label("How it comes in").select_option(way)
    owner.get_by_role("button", name="Invite it").click()


def test_browsers_come_in_by_qr_code_and_by_digits_and_one_is_shut_out_while_the_house_speaks_to_it(
    secure_house: Running, trusting_browser: Browser
) -> None:
    def fresh() -> Page:
        page = trusting_browser.new_context(locale="en-GB").new_page()
        page.set_default_timeout(ANSWER_MS)
        return page

    owner = fresh()
    owner.goto(f"https://atlas.local:{os.environ['ATLAS_GATEWAY_HTTPS_PORT']}/#token={secure_house.token}")
    connected(owner)
    owner.evaluate("location.hash = '#/house/devices'")
    invited(owner, "second phone", "By its camera: a phone or tablet")
    phone = fresh()
    phone.goto(code_in(owner.locator("img.qr").first.screenshot()))
    phone.get_by_role("button", name="Let this device in").click()
    connected(phone)
    expect(owner.get_by_text("second phone has come in.")).to_be_visible()
    owner.get_by_role("button", name="Done").click()

    invited(owner, "third screen", "By six digits: a screen or computer")
    digits = owner.locator(".digits").inner_text()
    screen = fresh()
    screen.goto(f"https://atlas.local:{os.environ['ATLAS_GATEWAY_HTTPS_PORT']}/")
    screen.get_by_role("link", name="I have six digits").click()
    screen.get_by_label("Six digits").fill(digits)
    screen.get_by_role("button").click()
    connected(screen)
    say(screen, "what time is it")
    assert re.search(r"\d", answer(screen))
    expect(owner.get_by_text("third screen has come in.")).to_be_visible()
    owner.get_by_role("button", name="Done").click()

    connected(phone)
    say(phone, "what can I say")
    phone.wait_for_function("() => Number(document.documentElement.dataset.heardMs) > 300")
    owner.get_by_role("button", name="second phone").click()
    for _ in ("asked", "sure"):
        owner.get_by_role("button", name="Shut it out").click()
    expect_shut_out(phone)
