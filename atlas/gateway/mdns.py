"""Announces the house on its network by mDNS, where it listens there, and looks for satellites that do so too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import anyio
from zeroconf import DNSQuestionType, IPVersion, ServiceStateChange
from zeroconf import Error as ZeroconfError
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from atlas import trace
from atlas.access.certificates import names_here
from atlas.config import Config

IPV6 = 6
LOOK_AGAIN_SECONDS = 30.0  # whether this machine has another address now
RESOLVE_SECONDS = 2.0
MOST_SATELLITES = 64  # that are shown; whoever fills a network with names fills no screen
MOST_CHARACTERS = 100  # of what a stranger calls itself
SATELLITES = {"_esphomelib._tcp.local.": "esphome", "_wyoming._tcp.local.": "wyoming"}
# Asked by multicast: of several processes of this machine at port 5353 one gets what is sent to the machine alone.
QUESTION = DNSQuestionType.QM
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  # what a host may say, and is taken apart


class MdnsService(NamedTuple):
    """One thing that the house offers on a network, and at which of its addresses."""

    kind: str
    port: int
    addresses: tuple[str, ...]
    text: Mapping[str, str]


class MdnsSatellite(NamedTuple):
    """A machine that says it is a satellite; it was not asked anything, and nothing it says is believed."""

    protocol: str  # esphome or wyoming
    name: str
    host: str
    port: int
    is_encrypted: bool
    model: str


def services(config: Config, machine: Sequence[str]) -> list[MdnsService]:
    """Return what is announced: what listens on an address of `machine` that a network reaches. Pure."""
    gateway = config.gateway
    plain, secure = _reached(gateway.host, machine), _reached(gateway.https_host, machine)
    offered: list[MdnsService] = []
    if secure:
        offered.append(MdnsService("_atlas._tcp", gateway.https_port, secure, {"https": "1", "path": "/"}))
        offered.append(MdnsService("_https._tcp", gateway.https_port, secure, {"path": "/"}))
    if plain:
        if not secure:
            offered.append(MdnsService("_atlas._tcp", gateway.port, plain, {"https": "0", "path": "/"}))
        offered.append(MdnsService("_http._tcp", gateway.port, plain, {"path": "/"}))
    if wyoming := _reached(config.wyoming.host, machine):
        offered.append(MdnsService("_wyoming._tcp", config.wyoming.port, wyoming, {}))
    return offered


def _reached(host: str, machine: Sequence[str]) -> tuple[str, ...]:
    return tuple(address for address in machine if host in (*EVERYWHERE, address))


def machine_addresses() -> list[str]:
    """Return the addresses of this machine that only a house has: nothing is announced at any other."""
    addresses = names_here("").addresses
    return [str(one) for one in addresses if not (one.is_loopback or (one.version == IPV6 and one.is_link_local))]


async def announce(config: Config) -> None:
    """Keep the house announced until cancelled, also when this machine gets another address."""
    trouble = ""
    while True:
        offered = services(config, machine_addresses())
        try:
            await _announce(config, offered)
        except (OSError, ZeroconfError) as refused:
            if str(refused) != trouble:  # said once
                trace.line(
                    "not announced by mdns", error=refused, hint="set mdns = false in [gateway], or free port 5353"
                )
            trouble = str(refused)
            await anyio.sleep(LOOK_AGAIN_SECONDS)


async def _announce(config: Config, offered: Sequence[MdnsService]) -> None:
    """Announce these services until there are others."""
    if not offered:
        await _changed(config, offered)
        return
    addresses = sorted({address for one in offered for address in one.addresses})
    async with AsyncZeroconf(interfaces=addresses) as network:
        for one in offered:
            await (await network.async_register_service(_info(config, one), allow_name_change=True))  # asked, then told
        trace.line("announced by mdns", name=f"{config.gateway.name}.local", at=", ".join(addresses))
        await _changed(config, offered)


async def _changed(config: Config, offered: Sequence[MdnsService]) -> None:
    while services(config, machine_addresses()) == list(offered):  # noqa: ASYNC110  # nobody tells of a new address
        await anyio.sleep(LOOK_AGAIN_SECONDS)


def _info(config: Config, one: MdnsService) -> Any:
    name = config.gateway.name
    return AsyncServiceInfo(
        f"{one.kind}.local.",
        f"{name}.{one.kind}.local.",
        port=one.port,
        properties=dict(one.text),
        server=f"{name}.local.",
        parsed_addresses=list(one.addresses),
    )


async def look(seconds: float, addresses: Sequence[str]) -> list[MdnsSatellite]:
    """Ask the networks of these addresses for satellites, and return those that answer. Raises `OSError`."""
    names: dict[tuple[str, str], None] = {}

    def noticed(zeroconf: Any, service_type: str, name: str, state_change: Any) -> None:
        if state_change is ServiceStateChange.Added and len(names) < MOST_SATELLITES:
            names[service_type, name] = None

    satellites: list[MdnsSatellite] = []
    async with AsyncZeroconf(interfaces=list(addresses)) as network:
        browser = AsyncServiceBrowser(network.zeroconf, list(SATELLITES), handlers=[noticed], question_type=QUESTION)
        await anyio.sleep(seconds)
        await browser.async_cancel()

        async def resolve(kind: str, name: str) -> None:
            with suppress(ZeroconfError):  # also of a name that is none
                info = AsyncServiceInfo(kind, name)
                if await info.async_request(network.zeroconf, RESOLVE_SECONDS * 1000, QUESTION) and info.port:
                    satellites.append(_satellite(kind, name, info))

        async with anyio.create_task_group() as tasks:
            for kind, name in names:
                tasks.start_soon(resolve, kind, name)
    return sorted(satellites)


def _satellite(kind: str, name: str, info: Any) -> MdnsSatellite:
    texts = {_text(key): _text(value or b"") for key, value in info.properties.items()}
    address = next(iter(info.parsed_addresses(IPVersion.V4Only) or info.parsed_addresses()), info.server.rstrip("."))
    return MdnsSatellite(
        SATELLITES[kind],
        texts.get("friendly_name") or _text(name.removesuffix(f".{kind}").encode()),
        _text(address.encode()),
        info.port,
        "api_encryption" in texts,
        texts.get("project_name") or texts.get("board", ""),
    )


def _text(data: bytes) -> str:
    """Return what a stranger wrote, with nothing in it that a terminal would obey."""
    text = data.decode("utf-8", "replace")[:MOST_CHARACTERS]
    return "".join(character for character in text if character.isprintable())
