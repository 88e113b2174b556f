"""Letting devices in: once, as what the invitation says, and nobody by guessing."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import anyio
import httpx2
import pytest
from playwright.async_api import async_playwright
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from atlas.conversation import Actor
from atlas.errors import RequestError, StoreError
from atlas.gateway import auth
from atlas.gateway.invitations import ALPHABET, Invitation, Pairings, new_setup_code
from atlas.gateway.pairing_page import WORDS
from atlas.store.devices import open_devices
from tests.access.test_certificates import secured
from tests.conftest import for_every
from tests.gateway.small_house import served
from wall.roles import Role

MIA = {"name": "mias phone", "role": "child", "person": "Mia"}
SCREEN = {"name": "hall screen", "role": "satellite", "room": "hall", "digits": True}

ANNAS = "atlas_" + "o" * 32  # the token of an owner


def invited(name: str, role: Role) -> Invitation:
    return Invitation(name, role, inviter=ANNAS)


class Doors:
    """Lets in whom it is told to, and fails when told to."""

    def __init__(self) -> None:
        self.let_in: list[tuple[str, str]] = []
        self.trouble: Exception | None = None

    async def create(
        self,
        name: str,
        role: str,
        person: str = "",
        room: str = "",
        hours: float | None = None,
        *,
        same_person: bool = False,
    ) -> str:
        await anyio.lowlevel.checkpoint()
        if self.trouble:
            raise self.trouble
        self.let_in.append((name, role))
        return "atlas_" + "a" * 32

    async def find(self, token: str) -> Actor | None:
        await anyio.lowlevel.checkpoint()
        return Actor("Anna", "annas phone", "owner") if token == ANNAS else None

    async def is_claimed(self) -> bool:
        return any(role == "owner" for _, role in self.let_in)


# ── the invitations themselves ─────────────────────────────────────────────────────────────────────


async def test_a_link_lets_one_device_in_once() -> None:
    doors = Doors()
    pairings = Pairings(doors)
    link = pairings.invite(invited("phone", "adult"), digits=False)
    assert len(link.secret) >= 22
    assert (await pairings.take_up(link.secret)).role == "adult"
    with pytest.raises(RequestError, match="not open"):
        await pairings.take_up(link.secret)
    assert doors.let_in == [("phone", "adult")]


@for_every("digits", [False, True])
async def test_of_two_browsers_that_race_for_one_invitation_one_comes_in(digits: bool) -> None:
    doors = Doors()
    pairings = Pairings(doors)
    secret = pairings.invite(invited("phone", "adult"), digits=digits).secret
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
    pairings = Pairings(Doors(), now=lambda: now)
    link = pairings.invite(invited("phone", "adult"), digits=False).secret
    digits = pairings.invite(invited("screen", "satellite"), digits=True).secret
    now = 120.0
    with pytest.raises(RequestError):
        await pairings.take_up(digits)
    now = 300.0
    with pytest.raises(RequestError):
        await pairings.take_up(link)


async def test_five_wrong_digits_close_them_whoever_typed_them() -> None:
    pairings = Pairings(Doors())
    right = pairings.invite(invited("screen", "satellite"), digits=True).secret
    assert re.fullmatch(r"\d{6}", right)
    wrong = [f"{(int(right) + step) % 10**6:06}" for step in range(1, 6)]
    for guess in wrong:
        with pytest.raises(RequestError):
            await pairings.take_up(guess)
    with pytest.raises(RequestError):
        await pairings.take_up(right)


async def test_who_mistypes_an_open_code_is_told_to_look_again_until_it_is_closed() -> None:
    pairings = Pairings(Doors())

    async def refusal(secret: str) -> str:
        with pytest.raises(RequestError) as refused:
            await pairings.take_up(secret)
        return " ".join([refused.value.code, *map(str, refused.value.details.values())])

    assert await refusal("000000") == "invalid_pairing", "nothing is open that could be mistyped"
    right = pairings.invite(invited("screen", "satellite"), digits=True).secret
    wrong = f"{(int(right) + 1) % 10**6:06}"
    assert await refusal(right[:-1]) == "wrong_code", "a digit too few costs no try"
    assert await refusal("x" * 22) == "invalid_pairing", "a link is not typed"
    counted = [f"wrong_code {tries}" for tries in (4, 3, 2, 1)]
    assert [await refusal(wrong) for _ in range(5)] == [*counted, "invalid_pairing"]


async def test_new_digits_take_the_place_of_the_old() -> None:
    pairings = Pairings(Doors())
    pairings.invite(invited("screen", "satellite"), digits=True).secret = "000000"
    new = pairings.invite(invited("other", "satellite"), digits=True).secret
    if new != "000000":
        with pytest.raises(RequestError):
            await pairings.take_up("000000")
    assert (await pairings.take_up(f"{new[:3]} {new[3:]}")).name == "other"


async def test_the_setup_code_claims_the_house_once_however_it_is_typed() -> None:
    code = new_setup_code()
    assert re.fullmatch(f"[{ALPHABET}]{{4}}-[{ALPHABET}]{{4}}", code)
    pairings = Pairings(Doors(), code)
    assert (await pairings.take_up(f" {code.lower().replace('-', ' ')} ")).role == "owner"
    with pytest.raises(RequestError):
        await pairings.take_up(code)


async def test_ten_wrong_codes_close_the_claim_and_nothing_opens_a_house_without_a_code() -> None:
    pairings = Pairings(Doors(), "ABCD-2345")
    for _ in range(10):
        with pytest.raises(RequestError):
            await pairings.take_up("ABCD-2346")
    for secret in ("ABCD-2345", "", "-", "00000000"):
        with pytest.raises(RequestError):
            await pairings.take_up(secret)
        with pytest.raises(RequestError):
            await Pairings(Doors()).take_up(secret)


async def test_wrong_codes_of_one_kind_cost_the_other_kinds_no_try() -> None:
    pairings = Pairings(Doors(), "ABCD-2345")
    digits = pairings.invite(invited("screen", "satellite"), digits=True).secret
    for guess in ["x" * 22] * 20 + ["WXYZ-WXYZ"] * 9:
        with pytest.raises(RequestError):
            await pairings.take_up(guess)
    assert (await pairings.take_up(digits)).role == "satellite"
    assert (await pairings.take_up("ABCD-2345")).role == "owner"


@for_every("kind", ["link", "digits", "setup"])
async def test_a_full_disk_uses_no_invitation_up(kind: str) -> None:
    doors = Doors()
    pairings = Pairings(doors, "ABCD-2345")
    secret = "ABCD-2345" if kind == "setup" else ""
    secret = secret or pairings.invite(invited("phone", "adult"), digits=kind == "digits").secret
    doors.trouble = StoreError("full")
    with pytest.raises(StoreError):
        await pairings.take_up(secret)
    doors.trouble = None
    assert (await pairings.take_up(secret)).token


@pytest.mark.parametrize("digits", [False, True])
async def test_an_invitation_ends_with_the_token_of_the_owner_who_made_it(data, digits: bool) -> None:
    async with open_devices(data) as devices:
        token = await devices.create("annas phone", "owner")
        pairings = Pairings(devices)
        secret = pairings.invite(Invitation("spare", "owner", inviter=token), digits=digits).secret
        await devices.revoke("annas phone")
        await devices.create("annas phone", "owner")  # of the same name, and another device
        with pytest.raises(RequestError, match="not open"):
            await pairings.take_up(secret)
        assert "spare" not in [one.name for one in await devices.list()]


async def test_the_setup_code_ends_when_an_owner_has_come_in_by_another_way(data) -> None:
    async with open_devices(data) as devices:
        terminal = await devices.create("owner", "owner")
        pairings = Pairings(devices, "ABCD-2345")
        link = pairings.invite(Invitation("annas phone", "owner", inviter=terminal), digits=False)
        await pairings.take_up(link.secret)
        with pytest.raises(RequestError, match="not open"):
            await pairings.take_up("ABCD-2345")


async def test_who_only_looks_at_an_invitation_leaves_it_open_and_guesses_no_oftener() -> None:
    pairings = Pairings(Doors(), "ABCD-2345")
    link = pairings.invite(invited("phone", "adult"), digits=False).secret
    digits = pairings.invite(invited("screen", "satellite"), digits=True).secret
    for secret, name in ((link, "phone"), (digits, "screen"), ("abcd 2345", "first owner")):
        assert pairings.look(secret).name == pairings.look(secret).name == name
    for _ in range(5):
        with pytest.raises(RequestError):
            pairings.look(f"{(int(digits) + 1) % 10**6:06}")
    with pytest.raises(RequestError):
        await pairings.take_up(digits)
    assert (await pairings.take_up(link)).name == "phone"


async def test_there_is_a_bound_to_links_and_to_what_is_read() -> None:
    pairings = Pairings(Doors())
    for number in range(16):
        pairings.invite(invited(f"phone {number}", "adult"), digits=False)
    with pytest.raises(RequestError, match="open already"):
        pairings.invite(invited("one more", "adult"), digits=False)
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
        child = await world.devices.find(paired.json()["token"])
        assert replace(child, device_id="") == Actor("Mia", "mias phone", "child")
        assert (await phone.post("/pair", json={"secret": secret})).status_code == 403  # replayed


async def test_an_invitation_has_a_link_that_other_devices_reach_and_a_picture_of_it(config, data):
    async with secured(config, data) as secure, secure.http("owner") as owner, secure.world.http("owner") as plain:
        house = f"https://atlas.local:{secure.port}"
        invitation = (await plain.post("/api/pairing", json=MIA)).json()  # asked at http://127.0.0.1
        assert invitation["link"]["address"] == f"{house}{invitation['path']}"
        assert invitation["guide"]["address"] == f"{house}/ca/"
        digits = (await owner.post("/api/pairing", json=SCREEN)).json()
        assert digits["link"]["address"] == f"{house}/pair"
        for picture in (invitation["link"]["qr"], invitation["guide"]["qr"]):
            assert picture.startswith("data:image/svg+xml")
            assert "http-equiv" not in picture
            assert "script" not in picture


async def test_a_house_without_https_invites_at_the_address_by_which_it_was_asked(config, data):
    async with served(config, data) as world, world.http("owner") as owner:
        invitation = (await owner.post("/api/pairing", json=MIA)).json()
        assert invitation["link"]["address"] == f"{world.url}{invitation['path']}"
        assert invitation["guide"] is None


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
        me = (await browser.get("/api/me", headers={**held, **near})).json()
        assert (me["device"], me["by_cookie"]) == ("mias phone", True)
        assert not (await owner.get("/api/me", headers={**held, **near})).json()["by_cookie"], "a token goes before it"
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


async def test_an_invitation_for_a_new_person_lets_nobody_in_who_has_become_known_meanwhile(config, data):
    async with secured(config, data) as secure, secure.http("owner") as owner, secure.http() as browser:
        invitation = (await owner.post("/api/pairing", json=MIA)).json()
        await secure.world.devices.create("another phone", "adult", "Mia")
        refused = await browser.post("/pair", json={"secret": invitation["secret"]})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "person_known")
        assert "set-cookie" not in refused.headers


async def test_a_browser_that_is_a_device_already_is_asked_with_both_names_before_it_becomes_another(config, data):
    async with secured(config, data) as secure, secure.http("owner") as owner, secure.http() as browser:
        invite = {
            name: (await owner.post("/api/pairing", json={**MIA, "name": name, "same_person": True})).json()
            for name in ("one", "two")
        }
        held = (await browser.post("/pair", json={"secret": invite["one"]["secret"]})).headers["set-cookie"]
        ours = {"cookie": held.split(";")[0], "origin": f"https://localhost:{secure.port}"}
        asked = await browser.post("/pair", json={"secret": invite["two"]["secret"]}, headers=ours)
        assert (asked.status_code, asked.json()) == (409, {"here": "one", "device": "two", "role": "child"})
        assert "set-cookie" not in asked.headers
        wish = {"secret": invite["two"]["secret"], "replaces": "one"}
        replaced = await browser.post("/pair", json=wish, headers=ours)
        assert replaced.json()["device"] == "two"


async def test_a_browser_puts_its_token_into_the_cookie_over_https_alone_and_takes_it_out_again(config, data):
    async with secured(config, data) as secure, secure.http("adult") as browser, secure.http() as nobody:
        reply = await browser.post("/cookie")
        held, ours = reply.headers["set-cookie"], f"https://localhost:{secure.port}"
        assert reply.json() == {"device": "the adult"}
        for mark in ("__Host-atlas=atlas_", "Secure", "HttpOnly", "SameSite=strict", "Path=/"):
            assert mark in held
        cookie = {"cookie": held.split(";")[0]}
        assert (await nobody.get("/api/me", headers=cookie)).json()["device"] == "the adult"
        assert (await nobody.delete("/cookie", headers={**cookie, "origin": "https://evil.example"})).status_code == 403
        gone = await nobody.delete("/cookie", headers={**cookie, "origin": ours})
        assert "Max-Age=0" in gone.headers["set-cookie"]
        assert (await nobody.post("/cookie")).status_code == 401
        async with secure.world.http("adult") as plain:
            assert (await plain.post("/cookie")).status_code == 403


async def test_a_cookie_whose_token_was_taken_back_is_taken_out_with_the_first_answer(config, data):
    async with secured(config, data) as secure, secure.http() as browser:
        cookie = {"cookie": f"__Host-atlas={secure.world.tokens['adult']}"}
        assert "set-cookie" not in (await browser.get("/pair", headers=cookie)).headers
        await secure.world.devices.revoke("the adult")
        gone = (await browser.get("/pair", headers=cookie)).headers["set-cookie"]
        assert gone.startswith('__Host-atlas=""')
        assert "Max-Age=0" in gone
        elsewhere = await browser.get("/pair", headers={**cookie, "sec-fetch-site": "cross-site"})
        assert "set-cookie" not in elsewhere.headers


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


@pytest.mark.parametrize(
    ("accepted", "title"),
    [("de-AT,de;q=0.9", "Hereinkommen"), ("en-GB", "Come in"), ("fr", "Come in"), ("", "Come in"), ('"><b', "Come in")],
)
async def test_the_page_speaks_the_browsers_language_where_the_app_does(config, data, accepted, title):
    async with served(config, data) as world, world.http(None, **{"accept-language": accepted}) as http:
        page = await http.get("/pair")
        assert f"<h1>{title}</h1>" in page.text
        assert "unsafe" not in page.headers["content-security-policy"]


def test_every_language_of_the_page_has_every_word():
    english, german = WORDS["en"], WORDS["de"]
    assert english.keys() == german.keys()
    for name in english:
        assert re.findall(r"\{\w+\}", english[name]) == re.findall(r"\{\w+\}", german[name])


async def test_headers_without_end_are_refused(config, data):
    async with secured(config, data) as secure, secure.http() as http:
        try:
            reply = await http.get("/pair", headers={"x-long": "x" * 200_000})
        except httpx2.TransportError:
            return
        assert reply.status_code in (400, 431)


async def test_a_house_is_claimed_with_the_code_of_its_console(config, data):
    async with open_devices(data) as devices:
        pairings = Pairings(devices, "ABCD-2345")
        owner = await pairings.take_up("abcd2345")
        assert (await devices.find(owner.token)).role == "owner"


async def test_the_first_owner_names_the_device_that_claims_the_house_and_nobody_else_does(data):
    async with open_devices(data) as devices:
        terminal = await devices.create("owner", "owner")
        pairings = Pairings(devices, "ABCD-2345")
        with pytest.raises(RequestError, match="cannot be the name"):
            await pairings.take_up("abcd2345", "--")
        link = pairings.invite(Invitation("mias phone", "child", inviter=terminal), digits=False)
        with pytest.raises(RequestError, match="whoever invites"):
            await pairings.take_up(link.secret, "annas phone")
        assert (await pairings.take_up(link.secret)).name == "mias phone"
        assert (await pairings.take_up("abcd2345", "annas phone")).name == "annas phone"
        assert {one.name for one in await devices.list()} == {"owner", "mias phone", "annas phone"}


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
        await screen.get_by_text("not right").wait_for()
        await screen.get_by_label("Six digits").fill(f"{(int(digits) + 1) % 10**6:06}")
        await screen.get_by_role("button").click()
        await screen.get_by_text("4 tries are left").wait_for()
        assert await screen.get_by_label("called").is_hidden(), "its name is its owner's to choose"
        await screen.get_by_label("Six digits").fill(f"{digits[:3]} {digits[3:]}")
        await screen.get_by_role("button").click()
        await screen.wait_for_url(re.compile(r"/(#.*)?$"))
        first = await (await browser.new_context()).new_page()
        await first.goto(f"{world.url}/pair#ABCD-2345")
        await first.get_by_label("What shall this device be called?").fill("annas phone")
        async with first.expect_request(lambda request: request.method == "POST") as sent:
            await first.get_by_role("button").click()
        claim = (await sent.value).post_data_json
        assert claim == {"secret": "ABCD-2345", "as": "token", "replaces": "", "name": "annas phone"}
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
                {
                    "secret": (
                        await owner.post("/api/pairing", json={**MIA, "name": f"p{number}", "same_person": True})
                    ).json()["secret"]
                }
            )
            asked = "(body) => fetch('/pair', {method: 'POST', body}).then((r) => r.status)"
            assert await page.evaluate(asked, body) == 200
            assert await page.evaluate("document.cookie") == ""
            assert await page.evaluate("fetch('/api/me').then((r) => r.json()).then((me) => me.device)") == f"p{number}"
        await browser.close()
