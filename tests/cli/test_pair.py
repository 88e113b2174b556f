"""`atlas pair` opens an invitation at a house that is really there."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from atlas.cli import pair
from atlas.config import GatewayConfig
from atlas.errors import AtlasError, ConfigError
from tests.gateway.small_house import served

MIA = {
    "name": "mias phone",
    "role": "child",
    "person": "Mia",
    "room": "",
    "hours": None,
    "digits": False,
    "same_person": False,
}


async def test_what_the_terminal_prints_lets_the_device_in(config, data, monkeypatch, capsys):
    async with served(config, data) as world, world.http(role=None) as phone:
        monkeypatch.setenv("ATLAS_TOKEN", world.tokens["owner"])
        here = replace(config, gateway=GatewayConfig(https_host="", port=urlsplit(world.url).port or 0))
        await pair.work(here, argparse.Namespace(**MIA))
        address, secret = re.search(r"(http://\S+/pair)#(\S+)", capsys.readouterr().out).groups()
        assert address == f"{world.url}/pair"
        assert (await phone.post("/pair", json={"secret": secret})).json()["role"] == "child"
        await pair.work(here, argparse.Namespace(**MIA | {"name": "hall screen", "digits": True, "same_person": True}))
        digits = re.search(r"\b(\d{3} \d{3})\b", capsys.readouterr().out)
        assert (await phone.post("/pair", json={"secret": digits.group()})).json()["device"] == "hall screen"
        with pytest.raises(AtlasError, match="already"):
            await pair.work(here, argparse.Namespace(**MIA))


async def test_a_house_that_does_not_run_invites_nobody(config, monkeypatch):
    monkeypatch.setenv("ATLAS_TOKEN", "x")
    with pytest.raises(ConfigError, match="does not answer"):
        await pair.work(replace(config, gateway=GatewayConfig(https_host="", port=1)), argparse.Namespace(**MIA))
