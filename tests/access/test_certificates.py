"""https of the house: verified by real clients, for names of a house alone, renewed while it is served."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import plistlib
import shutil
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.async_api import async_playwright
from websockets.asyncio.client import connect

from atlas.access import certificates
from atlas.access.certificates import HouseCertificates, ServedNames, names_here
from atlas.cli.doctor import examine
from atlas.config import GatewayConfig
from atlas.errors import ConfigError
from atlas.gateway import app, https
from tests.conftest import ROOT, for_every
from tests.gateway.small_house import SmallHouse, small_house

HERE = ServedNames(("atlas.local", "localhost"), (ipaddress.ip_address("127.0.0.1"),))
DAY = 86_400.0
AXE = ROOT / "pwa" / "node_modules" / "axe-core" / "axe.min.js"


@dataclass
class Secure:
    world: SmallHouse
    certificates: HouseCertificates
    port: int

    def trusting(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.certificates.der)
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python 3.13 has it
        return context

    def http(self, role: str | None = None) -> httpx2.AsyncClient:
        token = {"Authorization": f"Bearer {self.world.tokens[role]}"} if role else {}
        return httpx2.AsyncClient(base_url=f"https://localhost:{self.port}", verify=self.trusting(), headers=token)


@asynccontextmanager
async def secured(config, data: Path) -> AsyncIterator[Secure]:
    with app.listen(GatewayConfig(port=0)) as plain, app.listen(GatewayConfig(port=0)) as listener:
        certificates = HouseCertificates(data / "tls", lambda: HERE)
        config = replace(config, gateway=GatewayConfig(https_host="", port=plain.getsockname()[1]))
        async with small_house(config, data) as world, anyio.create_task_group() as tasks:
            ready = anyio.Event()
            tasks.start_soon(app.serve, world.house, ready.set, plain, https.SecureListener(listener, certificates))
            with anyio.fail_after(20):
                await ready.wait()
            world.url = f"http://127.0.0.1:{config.gateway.port}"
            yield Secure(world, certificates, listener.getsockname()[1])
            tasks.cancel_scope.cancel()


async def test_a_client_that_trusts_the_house_asks_and_talks_over_https(config, data):
    async with secured(config, data) as secure, secure.http("adult") as http:
        assert (await http.get("/v1/models")).status_code == 200
        url = f"wss://localhost:{secure.port}/v1/realtime"
        headers = {"Authorization": f"Bearer {secure.world.tokens['adult']}"}
        async with connect(url, ssl=secure.trusting(), additional_headers=headers) as line:
            assert "session.created" in str(await line.recv())


async def test_a_client_that_does_not_trust_it_refuses(config, data):
    async with secured(config, data) as secure, httpx2.AsyncClient() as http:
        with pytest.raises(httpx2.ConnectError, match="CERTIFICATE"):
            await http.get(f"https://localhost:{secure.port}/health")


async def test_the_guide_needs_no_token_and_gives_what_phones_install(config, data):
    async with secured(config, data) as secure, secure.http() as http:
        page = await http.get("/ca/")
        assert page.status_code == 200
        assert secure.certificates.fingerprint in page.text
        crt = await http.get("/ca/atlas-ca.crt")
        assert crt.headers["content-type"] == "application/x-x509-ca-cert"
        assert x509.load_der_x509_certificate(crt.content) == secure.certificates.authority
        profile = plistlib.loads((await http.get("/ca/atlas.mobileconfig")).content)
        assert profile["PayloadContent"][0]["PayloadContent"] == crt.content
        assert (await http.get("/ca/ca.pem")).status_code == 404


@pytest.mark.parametrize(
    ("accepted", "title"), [("de-DE,de;q=0.9", "Diesem Haus vertrauen"), ("fr", "Trust this house"), ("", "Trust this")]
)
async def test_the_guide_speaks_the_language_of_the_browser(config, data, accepted, title):
    async with secured(config, data) as secure, secure.http() as http:
        assert f"<h1>{title}" in (await http.get("/ca/", headers={"accept-language": accepted})).text


async def test_a_browser_of_another_language_reads_the_guide_in_that_of_the_house(config, data):
    german = replace(config, house=replace(config.house, language="de"))
    async with secured(german, data) as secure, secure.http() as http:
        assert "<h1>Diesem Haus" in (await http.get("/ca/", headers={"accept-language": "fr"})).text


async def test_a_stranger_who_only_connects_is_closed_and_others_are_served(config, data, monkeypatch):
    monkeypatch.setattr(https, "HANDSHAKE_SECONDS", 0.2)
    async with secured(config, data) as secure, secure.http() as http:
        with socket.create_connection(("127.0.0.1", secure.port)) as silent:
            assert (await http.get("/ca/")).status_code == 200
            silent.setblocking(False)
            with anyio.fail_after(10):
                await anyio.wait_readable(silent)
            assert silent.recv(1) == b""


async def test_nobody_comes_in_from_the_internet(config, data, monkeypatch):
    async with secured(config, data) as secure, secure.http() as http:
        monkeypatch.setattr(certificates, "HOUSE_NETWORKS", (ipaddress.ip_network("10.0.0.0/8"),))
        with pytest.raises(httpx2.TransportError):
            await http.get("/ca/")


@for_every(
    ("address", "of_house"),
    [
        *(("192.168.178.20", True), ("10.1.2.3", True), ("127.0.0.1", True), ("100.64.1.2", True)),
        *(("fe80::1%eth0", True), ("fd00::7", True), ("::ffff:192.168.0.4", True), ("::1", True)),
        *(("8.8.8.8", False), ("172.32.0.1", False), ("2001:db8::1", False), ("::ffff:8.8.8.8", False)),
    ],
)
def test_addresses_of_a_house_are_told_from_those_of_the_internet(address, of_house):
    assert certificates.is_of_house(address) is of_house


def test_phones_are_sent_to_an_address_that_they_reach_or_to_the_name(data):
    def host(*addresses: str, family: socket.AddressFamily = socket.AF_INET6) -> str:
        served = ServedNames(("atlas.local",), tuple(map(ipaddress.ip_address, addresses)))
        return HouseCertificates(data / "tls", lambda: served).host_for_others(family)

    assert host("127.0.0.1", "169.254.3.4", "192.168.178.21", "fd00::7") == "192.168.178.21"
    assert host("127.0.0.1", "fd00::7") == "[fd00::7]"
    assert host("127.0.0.1", "::1", "fe80::1") == "atlas.local"
    assert host("127.0.0.1", "fd00::7", family=socket.AF_INET) == "atlas.local", "nobody listens at the other"


async def test_of_handshakes_that_nobody_goes_on_with_the_oldest_are_closed_and_others_are_served(
    config, data, monkeypatch
):
    monkeypatch.setattr(https, "HANDSHAKES_OF_ADDRESS", 4)
    async with secured(config, data) as secure, AsyncExitStack() as opened:
        wires = [await opened.enter_async_context(await anyio.connect_tcp("127.0.0.1", secure.port)) for _ in range(12)]
        async with secure.http() as http:
            assert (await http.get("/ca/")).status_code == 200
        with anyio.fail_after(2):  # long before a handshake is too slow
            for wire in wires[:8]:
                with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                    await wire.receive()


async def test_what_is_renewed_is_shown_to_new_connections_while_old_ones_go_on(config, data):
    async with secured(config, data) as secure, secure.http("adult") as old:
        assert (await old.get("/v1/models")).status_code == 200

        def shown() -> bytes:
            with (
                socket.create_connection(("127.0.0.1", secure.port), timeout=10) as wire,
                secure.trusting().wrap_socket(wire, server_hostname="atlas.local") as tls,
            ):
                return tls.getpeercert(binary_form=True) or b""

        first = await anyio.to_thread.run_sync(shown)
        secure.certificates.renew()
        assert await anyio.to_thread.run_sync(shown) != first
        assert (await old.get("/v1/models")).status_code == 200


def handshake(server: HouseCertificates, trusting: HouseCertificates, name: str) -> None:
    """Do a handshake in memory. Raises `ssl.SSLError`."""
    context = ssl.create_default_context(cadata=trusting.der)
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # as Python 3.13 has it
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(to_client, to_server, server_hostname=name)
    serving = server.context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        for side in (client, serving):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert client.getpeercert()


@pytest.mark.parametrize("name", ["bank.example.com", "atlas.example", "8.8.8.8"])
def test_even_with_its_key_nobody_can_vouch_for_sites_of_the_internet(data, name, monkeypatch):
    monkeypatch.setattr(HouseCertificates, "_may_vouch_for", lambda self, name: True)
    try:
        served = ServedNames(("atlas.local",), (ipaddress.ip_address(name),))
    except ValueError:
        served = ServedNames((name,), ())
    stolen = HouseCertificates(data, lambda: served)
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
        handshake(stolen, stolen, name)


def test_a_machine_that_is_called_like_a_domain_of_the_world_vouches_for_none_of_it(data, monkeypatch):
    monkeypatch.setattr(HouseCertificates, "_may_vouch_for", lambda self, name: True)
    monkeypatch.setattr(socket, "gethostname", lambda: "dev")
    stolen = HouseCertificates(data, lambda: ServedNames(("shop.dev",), ()))
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
        handshake(stolen, stolen, "shop.dev")


@pytest.mark.parametrize("name", ["atlas.local", "localhost", "127.0.0.1"])
def test_names_and_addresses_of_the_house_are_vouched_for(data, name):
    house = HouseCertificates(data, lambda: HERE)
    handshake(house, house, name)


def test_a_machine_with_a_new_name_of_no_house_is_served_by_its_others(data):
    house = HouseCertificates(data, lambda: replace_names("atlas.local", "localhost", "shop.example.com"))
    handshake(house, house, "atlas.local")


def replace_names(*names: str) -> ServedNames:
    return ServedNames(names, HERE.addresses)


def test_only_atlas_can_read_the_keys_and_the_authority_outlives_a_restart(data):
    folder = data / "tls"
    first = HouseCertificates(folder, lambda: HERE)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == {"ca.pem": 0o600, "leaf.pem": 0o600}
    assert HouseCertificates(folder, lambda: HERE).fingerprint == first.fingerprint


def test_a_certificate_is_renewed_when_it_is_old_or_the_machine_moves_and_when_the_clock_was_wrong(data):
    now, served = 1_800_000_000.0, HERE
    house = HouseCertificates(data, lambda: served, lambda: now)
    assert not house.is_due()
    now += 59 * DAY
    assert not house.is_due()
    now += 2 * DAY
    assert house.is_due()
    house.leaf = house.renew()
    assert not house.is_due()
    now -= 200 * DAY
    assert house.is_due()
    house.leaf = house.renew()
    served = ServedNames(HERE.names, (ipaddress.ip_address("192.168.7.7"),))
    assert house.is_due()


def test_a_machine_that_does_not_know_the_day_yet_makes_an_authority_that_lasts(data):
    house = HouseCertificates(data, lambda: HERE, lambda: 0.0)
    assert house.authority.not_valid_after_utc.year >= 2039
    assert house.is_due(), "its first certificate is made anew once the day is known"


def test_a_spoilt_key_file_is_an_error_that_says_what_to_do(data):
    (data / "ca.pem").write_text("nonsense")
    with pytest.raises(ConfigError, match="certificates") as trouble:
        HouseCertificates(data, lambda: HERE)
    assert "trust it anew" in trouble.value.hint


def test_this_machine_has_names_and_no_address_of_the_internet():
    served = names_here("casa")
    assert {"casa.local", "localhost"} <= set(served.names)
    assert ipaddress.ip_address("127.0.0.1") in served.addresses
    assert not any(address.is_global for address in served.addresses)


def test_the_doctor_names_the_fingerprint_and_the_last_day(config, data):
    config = replace(config, data=data, gateway=GatewayConfig(https_host="127.0.0.1"))
    missing = next(finding for finding in examine(config) if finding.what == "https")
    assert "start Atlas" in missing.advice
    house = HouseCertificates(config.certificates, lambda: HERE)
    well = next(finding for finding in examine(config) if finding.what == "https")
    assert (house.fingerprint in well.seen, well.advice) == (True, "")


@pytest.mark.real
async def test_a_real_browser_that_trusts_the_house_finds_a_secure_page_with_a_microphone(config, data):
    chromium = shutil.which("chromium")
    assert chromium, "there is no Chromium on this machine; install it (apt-get install chromium)"
    async with secured(config, data) as secure, async_playwright() as play:
        key = secure.certificates.authority.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        pin = base64.b64encode(hashlib.sha256(key).digest()).decode()
        leaf = secure.certificates.leaf.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        pins = f"{pin},{base64.b64encode(hashlib.sha256(leaf).digest()).decode()}"
        browser = await play.chromium.launch(
            executable_path=chromium,
            args=[
                "--no-sandbox",
                f"--ignore-certificate-errors-spki-list={pins}",
                "--host-resolver-rules=MAP atlas.local 127.0.0.1",
            ],
        )
        page = await browser.new_page()
        await page.goto(f"https://atlas.local:{secure.port}/ca/")
        assert await page.evaluate("isSecureContext && 'mediaDevices' in navigator")
        assert await page.locator("h1").inner_text() == "Trust this house"
        await browser.close()


@pytest.mark.real
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_axe_finds_nothing_in_the_guide_and_a_small_phone_holds_it(config, data, scheme, locale):
    async with secured(config, data) as secure, async_playwright() as play:
        browser = await play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = await browser.new_context(
            ignore_https_errors=True,
            bypass_csp=True,  # for axe, which is no part of the page
            color_scheme=scheme,
            locale=locale,
            viewport={"width": 320, "height": 640},
        )
        page = await context.new_page()
        await page.goto(f"https://localhost:{secure.port}/ca/")
        await page.locator("details").first.click()
        await page.evaluate(AXE.read_text(encoding="utf-8"))
        wrong = await page.evaluate("async () => (await window.axe.run()).violations.map(one => one.id)")
        assert wrong == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= 320
        await browser.close()
