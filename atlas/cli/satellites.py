"""`atlas satellites`: which rooms this house calls, and which it could: those of its network, with lines to add."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Sequence

import anyio

from atlas.cli import numbers
from atlas.config import Config, EsphomeDeviceConfig, WyomingSatelliteConfig
from atlas.config import load as load_config
from atlas.errors import ConfigError
from atlas.gateway import mdns
from atlas.gateway.mdns import MdnsSatellite

LOOK_SECONDS = 3
SECTIONS = {"esphome": "esphome.device", "wyoming": "wyoming.satellite"}


def main(arguments: Sequence[str]) -> int:
    """Print them. Nothing is called that atlas.toml does not name."""
    parser = argparse.ArgumentParser(prog="atlas satellites", description=__doc__)
    parser.add_argument("--seconds", type=numbers.count, default=LOOK_SECONDS, help="how long to listen to the network")
    parser.add_argument("--json", action="store_true", help="print one object")
    given = parser.parse_args(arguments)
    config = load_config(os.environ)
    answers = look(given.seconds) if config.gateway.mdns else []
    if given.json:
        print(json.dumps({"satellites": [one._asdict() | {"called": is_called(config, one)} for one in answers]}))
        return 0
    for line in lines(config, answers):
        print(line)
    return 0


def look(seconds: int) -> list[MdnsSatellite]:
    """Return what answers on this machine's networks. Raises `ConfigError` when they cannot be asked."""
    addresses = mdns.machine_addresses()
    if not addresses:
        return []
    try:
        return anyio.run(mdns.look, float(seconds), addresses)
    except OSError as trouble:
        raise ConfigError(
            f"the network cannot be asked: {trouble}", hint="does another program hold port 5353 for itself?"
        ) from trouble


def lines(config: Config, answers: Sequence[MdnsSatellite]) -> Iterator[str]:
    """Yield what a person reads: the rooms that are called, then what could be written into atlas.toml."""
    for called in named(config):
        yield f"called    {called.device} at {called.host}:{called.port}, {called.room or 'no room'}"
    if not config.gateway.mdns:
        yield "The network is not asked: mdns = false in [gateway]."
        return
    others = [one for one in answers if not is_called(config, one)]
    if not others:
        yield "Nothing else on this network says that it is a satellite."
    for one in others:
        yield ""
        yield f"{one.protocol:9} {one.name}{f' ({one.model})' if one.model else ''} at {one.host}:{one.port}"
        yield from section(one)


def section(one: MdnsSatellite) -> Iterator[str]:
    """Yield the lines of atlas.toml by which the house would call it."""
    yield f"    [[{SECTIONS[one.protocol]}]]"
    yield f"    host = {json.dumps(one.host)}"
    yield f"    port = {one.port}"
    if one.is_encrypted:
        file = re.sub(r"[^a-z0-9]+", "-", one.name.lower()).strip("-") or "device"
        yield f'    key_file = "{file}.key"    # a file with its api encryption key'
    yield f"    device = {json.dumps(one.name, ensure_ascii=False)}"
    yield '    room = ""'


def named(config: Config) -> list[EsphomeDeviceConfig | WyomingSatelliteConfig]:
    """Return the satellites that atlas.toml names."""
    return [*config.esphome_devices, *config.wyoming_satellites]


def is_called(config: Config, one: MdnsSatellite) -> bool:
    """Tell whether the house calls this one, or is it itself."""
    if one.protocol == "wyoming" and one.port == config.wyoming.port and one.host in mdns.machine_addresses():
        return True
    return any((called.host, called.port) == (one.host, one.port) for called in named(config))
