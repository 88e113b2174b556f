"""Letting devices in: once, as what the invitation says, and nobody by guessing."""

from __future__ import annotations

import json
import re
import shutil

import anyio
import httpx2
import pytest
from playwright.async_api import async_playwright
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from atlas.access.pairing import ALPHABET, Invitation, Pairings, new_setup_code
from atlas.conversation import Actor
from atlas.errors import RequestError, StoreError
from atlas.gateway import auth
from atlas.store.devices import open_devices
from tests.access.test_certificates import secured
from tests.gateway.small_house import served

MIA = {"name": "mias phone", "role": "child", "person": "Mia"}
SCREEN = {"name": "hall screen", "role": "satellite", "room": "hall", "digits": True}


class Doors:
    """Lets in whom it is told to, and fails when told to."""

    def __init__(self) -> None:
        self.let_in: list[tuple[str, str]] = []
        self.trouble: Exception | None = None

    async def create(self, name: str, role: str, person: str, room: str, hours: float | None) -> str:
        await anyio.lowlevel.checkpoint()
        if self.trouble:
            raise self.trouble
        self.let_in.append((name, role))
        return "atlas_" + "a" * 32


# ── the invitations themselves ─────────────────────────────────────────────────────────────────────


async def test_a_link_lets_one_device_in_once() -> None:
    doors = Doors()
    pairings = Pairings(doors.create)
    link = pairings.invite(Invitation("phone", "adult"), digits=False)
    assert len(link.secret) >= 22
    assert (await pairings.take_up(link.secret)).role == "adult"
    with pytest.raises(RequestError, match="not open"):
        await pairings.take_up(link.secret)
    assert doors.let_in == [("phone", "adult")]


@pytest.mark.parametrize("digits", [False, True])
async def test_of_two_browsers_that_race_for_one_invitation_one_comes_in(digits: bool) -> None:
    doors = Doors()
    pairings = Pairings(doors.create)
    secret = pairings.invite(Invitation("phone", "adult"), digits=digits).secret
    refused = []

    async def race() -> None:
        try:
            await pairings.take_up(secret)
        except RequestError as trouble:
            refused.append(trouble.code)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(race)
    assert (len(doors.let_in), refused) == (1, ["invalid_pairing"] * 4)


async def test_links_are_over_after_five_minutes_and_digits_after_two() -> None:
    now = 0.0
    pairings = Pairings(Doors().create, now=lambda: now)
    link = pairings.invite(Invitation("phone", "adult"), digits=False).secret
    digits = pairings.invite(Invitation("screen", "satellite"), digits=True).secret
    now = 120.0
    with pytest.raises(RequestError):
        await pairings.take_up(digits)
    now = 300.0
    with pytest.raises(RequestError):
        await pairings.take_up(link)


async def test_five_wrong_digits_close_them_whoever_typed_them() -> None:
    pairings = Pairings(Doors().create)
    right = pairings.invite(Invitation("screen", "satellite"), digits=True).secret
    assert re.fullmatch(r"\d{6}", right)
    wrong = [f"{(int(right) + step) % 10**6:06}" for step in range(1, 6)]
    for guess in wrong:
        with pytest.raises(RequestError):
            await pairings.take_up(guess)
    with pytest.raises(RequestError):
        await pairings.take_up(right)


async def test_new_digits_take_the_place_of_the_old() -> None:
    pairings = Pairings(Doors().create)
    pairings.invite(Invitation("screen", "satellite"), digits=True).secret = "000000"
    new = pairings.invite(Invitation("other", "satellite"), digits=True).secret
    if new != "000000":
        with pytest.raises(RequestError):
            await pairings.take_up("000000")
    assert (await pairings.take_up(f"{new[:3]} {new[3:]}")).name == "other"


async def test_the_setup_code_claims_the_house_once_however_it_is_typed() -> None:
    code = new_setup_code()
    assert re.fullmatch(f"[{ALPHABET}]{{4}}-[{ALPHABET}]{{4}}", code)
    pairings = Pairings(Doors().create, code)
    assert pairings.unclaimed
    assert (await pairings.take_up(f" {code.lower().replace('-', ' ')} ")).role == "owner"
    assert not pairings.unclaimed
    with pytest.raises(RequestError):
        await pairings.take_up(code)


async def test_ten_wrong_codes_close_the_claim_and_nothing_opens_a_house_without_a_code() -> None:
    pairings = Pairings(Doors().create, "ABCD-2345")
    for _ in range(10):
        with pytest.raises(RequestError):
            await pairings.take_up("ABCD-2346")
    for secret in ("ABCD-2345", "", "-", "00000000"):
        with pytest.raises(RequestError):
            await pairings.take_up(secret)
        with pytest.raises(RequestError):
            await Pairings(Doors().create).take_up(secret)


async def test_wrong_codes_of_one_kind_cost_the_other_kinds_no_try() -> None:
    pairings = Pairings(Doors().create, "ABCD-2345")
    digits = pairings.invite(Invitation("screen", "satellite"), digits=True).secret
    for guess in ["x" * 22] * 20 + ["WXYZ-WXYZ"] * 9:
        with pytest.raises(RequestError):
            await pairings.take_up(guess)
    assert (await pairings.take_up(digits)).role == "satellite"
    assert (await pairings.take_up("ABCD-2345")).role == "owner"


@pytest.mark.parametrize("kind", ["link", "digits", "setup"])
async def test_a_full_disk_uses_no_invitation_up(kind: str) -> None:
    doors = Doors()
    pairings = Pairings(doors.create, "ABCD-2345")
    secret = "ABCD-2345" if kind == "setup" else ""
    secret = secret or pairings.invite(Invitation("phone", "adult"), digits=kind == "digits").secret
    doors.trouble = StoreError("full")
    with pytest.raises(StoreError):
        await pairings.take_up(secret)
    doors.trouble = None
    assert (await pairings.take_up(secret)).token


async def test_there_is_a_bound_to_links_and_to_what_is_read() -> None:
    pairings = Pairings(Doors().create)
    for number in range(16):
        pairings.invite(Invitation(f"phone {number}", "adult"), digits=False)
    with pytest.raises(RequestError, match="open already"):
        pairings.invite(Invitation("one more", "adult"), digits=False)
    for odd in ("x" * 65, "ä" * 22, "１２３４５６", "\0" * 6):
        with pytest.raises(RequestError, match="not open"):
            await pairings.take_up(odd)


# ── over the wire ──────────────────────────────────────────────────────────────────────────────────


async def test_an_owner_lets_a_child_in_who_is_what_the_invitation_says_and_can_claim_no_more(config, data):
    async with served(config, data) as world, world.http("owner") as owner, world.http(role=None) as phone:
        reply = await owner.post("/api/pairing", json=MIA)
        assert reply.status_code == 201, reply.text
        secret = reply.json()["secret"]
        assert reply.json()["path"] == f"/pair#{secret}"
        for extra in ({"role": "owner"}, {"person": "Anna"}, {"name": "x"}):
            assert (await phone.post("/pair", json={"secret": secret, **extra})).status_code == 400
        paired = await phone.post("/pair", json={"secret": secret, "as": "token"})
        assert paired.json() | {"token": ""} == {"device": "mias phone", "role": "child", "token": ""}
        assert await world.devices.find(paired.json()["token"]) == Actor("Mia", "mias phone", "child")
        assert (await phone.post("/pair", json={"secret": secret})).status_code == 403  # replayed


@pytest.mark.parametrize("role", ["adult", "teen", "child", "guest", "satellite"])
async def test_nobody_but_an_owner_invites(config, data, role):
    async with served(config, data) as world, world.http(role) as http:
        assert (await http.post("/api/pairing", json=MIA)).status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [{"role": "king"}, {"name": "the owner"}, {"name": "\n"}, {"room": "a\nb"}, {"hours": -1}, {"hours": 1e9}],
)
async def test_an_invitation_that_could_not_be_kept_is_not_made(config, data, wrong):
    async with served(config, data) as world, world.http("owner") as http:
        assert 400 <= (await http.post("/api/pairing", json={**MIA, **wrong})).status_code < 500


async def test_guessing_digits_over_the_wire_gets_slower_and_ends(config, data, monkeypatch):
    monkeypatch.setattr(auth, "FIRST_WAIT_SECONDS", 0.001)
    async with served(config, data) as world, world.http("owner") as owner, world.http(role=None) as guesser:
        right = (await owner.post("/api/pairing", json=SCREEN)).json()["secret"]
        for step in range(1, 6):
            guess = f"{(int(right) + step) % 10**6:06}"
            assert (await guesser.post("/pair", json={"secret": guess})).status_code == 403
        assert (await guesser.post("/pair", json={"secret": right})).status_code == 403
        assert "hall screen" not in [device.name for device in await world.devices.list()]


async def test_a_browser_gets_a_cookie_that_opens_the_house_from_its_own_pages_alone(config, data):
    async with secured(config, data) as secure, secure.http("owner") as owner, secure.http() as browser:
        secret = (await owner.post("/api/pairing", json=MIA)).json()["secret"]
        reply = await browser.post("/pair", json={"secret": secret})
        cookie = reply.headers["set-cookie"]
        assert cookie.startswith("__Host-atlas=atlas_")
        for mark in ("Secure", "HttpOnly", "SameSite=strict", "Path=/"):
            assert mark in cookie
        assert "Domain" not in cookie
        assert "token" not in reply.json()
        held = {"cookie": cookie.split(";")[0]}
        ours, near = f"https://localhost:{secure.port}", {"sec-fetch-site": "same-origin"}
        talk = {"model": "atlas", "messages": [{"role": "user", "content": "hello"}]}
        assert (await browser.get("/api/me", headers={**held, **near})).json()["device"] == "mias phone"
        said = await browser.post("/v1/chat/completions", json=talk, headers={**held, **near, "origin": ours})
        assert said.status_code == 200
        for elsewhere in (
            {},  # a form of another site in an old browser
            {"origin": "https://evil.example"},
            {"origin": f"http://localhost:{secure.port}"},
            {"origin": f"https://localhost:{secure.port + 1}"},
            {"origin": "null"},
            {"origin": ours, "sec-fetch-site": "same-site"},
            {"origin": ours, "sec-fetch-site": "cross-site"},
        ):
            refused = await browser.post("/v1/chat/completions", json=talk, headers={**held, **elsewhere})
            assert refused.status_code in (401, 403), elsewhere
        assert (await browser.get("/api/me", headers={**held, "sec-fetch-site": "cross-site"})).status_code == 401
        wss = f"wss://localhost:{secure.port}/v1/realtime"
        async with connect(wss, ssl=secure.trusting(), additional_headers=held, origin=Origin(ours)) as line:
            assert "session.created" in str(await line.recv())
        for origin in (None, Origin("https://evil.example"), Origin(f"http://localhost:{secure.port}")):
            with pytest.raises(InvalidStatus) as refused_line:
                await connect(wss, ssl=secure.trusting(), additional_headers=held, origin=origin)
            assert refused_line.value.response.status_code in (401, 403)


def test_a_stolen_cookie_counts_for_nothing_over_a_wire_that_others_read():
    def connection(scheme: str, address: str) -> auth.HTTPConnection:
        headers = [(b"cookie", b"__Host-atlas=atlas_" + b"a" * 32), (b"host", b"192.168.1.5:8600")]
        return auth.HTTPConnection(
            {"type": "http", "method": "GET", "scheme": scheme, "headers": headers, "client": (address, 1)}
        )

    assert auth.token_of(connection("http", "192.168.1.9")) == ""
    assert auth.token_of(connection("https", "192.168.1.9"))
    assert auth.token_of(connection("http", "127.0.0.1"))


@pytest.mark.parametrize("host", ["evil.example", "atlas.local.evil.example", "[::1", ""])
async def test_a_name_that_somebody_points_at_the_house_opens_neither_pairing_nor_the_guide(config, data, host):
    async with secured(config, data) as secure, secure.http() as http:
        for path in ("/pair", "/ca/", "/api/me"):
            assert (await http.get(path, headers={"host": host})).status_code in (400, 421)
        assert (await http.post("/pair", json={"secret": "x"}, headers={"host": host})).status_code in (400, 421)


async def test_the_announced_name_is_one_of_ours(config, data):
    async with secured(config, data) as secure, secure.http() as http:
        assert (await http.get("/pair", headers={"host": f"atlas.local:{secure.port}"})).status_code == 200


async def test_headers_without_end_are_refused(config, data):
    async with secured(config, data) as secure, secure.http() as http:
        try:
            reply = await http.get("/pair", headers={"x-long": "x" * 200_000})
        except httpx2.TransportError:
            return
        assert reply.status_code in (400, 431)


async def test_a_house_is_claimed_with_the_code_of_its_console(config, data):
    async with open_devices(data) as devices:
        pairings = Pairings(devices.create, "ABCD-2345")
        owner = await pairings.take_up("abcd2345")
        assert (await devices.find(owner.token)).role == "owner"


@pytest.mark.real
async def test_a_real_browser_pairs_by_its_link_and_by_typed_digits(config, data):
    chromium = shutil.which("chromium")
    assert chromium, "there is no Chromium on this machine; install it (apt-get install chromium)"
    async with served(config, data) as world, world.http("owner") as owner, async_playwright() as play:
        browser = await play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        path = (await owner.post("/api/pairing", json=MIA)).json()["path"]
        phone = await (await browser.new_context()).new_page()
        await phone.goto(f"{world.url}{path}")
        assert "#" not in phone.url, "the secret does not stay in the address"
        await phone.get_by_role("button", name="Let this device in").click()
        await phone.wait_for_url(re.compile(r"/(#.*)?$"))
        digits = (await owner.post("/api/pairing", json=SCREEN)).json()["secret"]
        screen = await (await browser.new_context()).new_page()
        await screen.goto(f"{world.url}/pair")
        await screen.get_by_label("Six digits").fill("12 34")
        await screen.get_by_role("button").click()
        await screen.get_by_text("not open").wait_for()
        await screen.get_by_label("Six digits").fill(f"{digits[:3]} {digits[3:]}")
        await screen.get_by_role("button").click()
        await screen.wait_for_url(re.compile(r"/(#.*)?$"))
        names = [device.name for device in await world.devices.list()]
        assert {"mias phone", "hall screen"} <= set(names)
        await browser.close()


@pytest.mark.real
async def test_a_real_browser_keeps_the_cookie_on_loopback_and_shows_it_to_no_script(config, data):
    chromium = shutil.which("chromium")
    assert chromium, "there is no Chromium on this machine; install it (apt-get install chromium)"
    async with served(config, data) as world, world.http("owner") as owner, async_playwright() as play:
        browser = await play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for number, host in enumerate(("127.0.0.1", "localhost")):
            page = await (await browser.new_context()).new_page()
            await page.goto(f"{world.url.replace('127.0.0.1', host)}/pair")
            body = json.dumps(
                {"secret": (await owner.post("/api/pairing", json={**MIA, "name": f"p{number}"})).json()["secret"]}
            )
            asked = "(body) => fetch('/pair', {method: 'POST', body}).then((r) => r.status)"
            assert await page.evaluate(asked, body) == 200
            assert await page.evaluate("document.cookie") == ""
            assert await page.evaluate("fetch('/api/me').then((r) => r.json()).then((me) => me.device)") == f"p{number}"
        await browser.close()
