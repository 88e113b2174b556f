"""mDNS: what the house announces and where, and what it sees of others, asked over this machine's loopback."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest
from zeroconf import DNSOutgoing, DNSPointer
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from atlas.cli import satellites
from atlas.config import Config, EsphomeDeviceConfig, GatewayConfig, WyomingConfig
from atlas.gateway import mdns
from atlas.gateway.mdns import MdnsSatellite
from tests.processes import free_port

ESPHOME = "_esphomelib._tcp.local."
LAN = ("192.168.1.5", "fd00::5")


def house(config: Config, host: str, https_host: str = "", wyoming: str = "") -> Config:
    return replace(config, gateway=GatewayConfig(host, 8600, https_host), wyoming=WyomingConfig(wyoming))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "203.0.113.7", ""])
def test_a_house_that_no_network_reaches_announces_nothing(config: Config, host: str) -> None:
    assert mdns.services(house(config, host), LAN) == []


def test_a_house_is_announced_where_it_listens_and_by_https_where_it_has_that(config: Config) -> None:
    plain = mdns.services(house(config, "192.168.1.5"), LAN)
    assert [(one.kind, one.port, one.addresses) for one in plain] == [
        ("_atlas._tcp", 8600, ("192.168.1.5",)),
        ("_http._tcp", 8600, ("192.168.1.5",)),
    ]
    secure = mdns.services(house(config, "127.0.0.1", "0.0.0.0", "192.168.1.5"), LAN)
    assert [(one.kind, one.port, one.addresses) for one in secure] == [
        ("_atlas._tcp", 8643, LAN),
        ("_https._tcp", 8643, LAN),
        ("_wyoming._tcp", 10_300, ("192.168.1.5",)),
    ]


async def test_who_asks_for_the_house_finds_it_by_name_and_port(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mdns, "machine_addresses", lambda: ["127.0.0.1"])
    name, port = f"atlas-{free_port()}", free_port()
    announced = replace(config, gateway=GatewayConfig("127.0.0.1", port, "", name=name))
    async with anyio.create_task_group() as tasks, AsyncZeroconf(interfaces=["127.0.0.1"]) as other:
        tasks.start_soon(mdns.announce, announced)
        info = AsyncServiceInfo("_atlas._tcp.local.", f"{name}._atlas._tcp.local.")
        assert await info.async_request(other.zeroconf, 20_000)
        assert (info.server, info.port, info.parsed_addresses()) == (f"{name}.local.", port, ["127.0.0.1"])
        tasks.cancel_scope.cancel()


async def test_a_voice_device_on_the_network_is_shown_with_its_lines_and_never_called(config: Config) -> None:
    kind, name, port = "_esphomelib._tcp.local.", f"voice-{free_port()}", free_port()
    texts = {"friendly_name": 'Voice\x1b[2J "PE"', "api_encryption": "Noise", "project_name": "Nabu Casa.Voice"}
    info = AsyncServiceInfo(
        kind, f"{name}.{kind}", port=port, properties=texts, server=f"{name}.local.", parsed_addresses=["127.0.0.1"]
    )
    async with AsyncZeroconf(interfaces=["127.0.0.1"]) as device:
        await (await device.async_register_service(info))
        with anyio.fail_after(30):
            while not (seen := [one for one in await mdns.look(0.5, ["127.0.0.1"]) if one.port == port]):
                pass
    assert seen == [MdnsSatellite("esphome", 'Voice[2J "PE"', "127.0.0.1", port, True, "Nabu Casa.Voice")]
    assert list(satellites.lines(config, seen))[2:] == [
        "    [[esphome.device]]",
        '    host = "127.0.0.1"',
        f"    port = {port}",
        '    key_file = "voice-2j-pe.key"    # a file with its api encryption key',
        '    device = "Voice[2J \\"PE\\""',
        '    room = ""',
    ]
    known = replace(config, esphome_devices=(EsphomeDeviceConfig("127.0.0.1", port, device="kitchen voice"),))
    assert list(satellites.lines(known, seen)) == [
        f"called    kitchen voice at 127.0.0.1:{port}, no room",
        "Nothing else on this network says that it is a satellite.",
    ]


async def test_a_name_that_is_none_keeps_no_satellite_from_being_seen_and_is_not_shown() -> None:
    port = free_port()
    good = f"voice-{port}"
    info = AsyncServiceInfo(ESPHOME, f"{good}.{ESPHOME}", port=port, parsed_addresses=["127.0.0.1"])
    async with AsyncZeroconf(interfaces=["127.0.0.1"]) as stranger, anyio.create_task_group() as tasks:
        await (await stranger.async_register_service(info))

        async def shout(name: str) -> None:
            while True:
                out = DNSOutgoing(0x8400)  # an answer, with authority
                out.add_answer_at_time(DNSPointer(ESPHOME, 12, 1, 4500, name), 0)
                stranger.zeroconf.async_send(out)
                await anyio.sleep(0.1)

        for name in ("evil.example.com.", "local.", f"a\x1b[2J\nb.{ESPHOME}"):
            tasks.start_soon(shout, name)
        with anyio.fail_after(30):
            while not (seen := [one for one in await mdns.look(0.5, ["127.0.0.1"]) if one.port == port]):
                pass
        tasks.cancel_scope.cancel()
    assert [one.name for one in seen] == [good]


def test_where_mdns_is_off_the_network_is_not_asked(config: Config) -> None:
    quiet = replace(config, gateway=replace(config.gateway, mdns=False))
    assert list(satellites.lines(quiet, [])) == ["The network is not asked: mdns = false in [gateway]."]
