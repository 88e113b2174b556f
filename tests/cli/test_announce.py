"""`atlas announce` has something said in a house that is really there, and takes it back by the id that it printed."""

from __future__ import annotations

import argparse

import pytest

from atlas.cli import announce, door
from atlas.errors import AtlasError
from tests.gateway.api_house import api_house


async def run(config, text="", room="", take_back=None) -> int:
    return await announce.work(config, argparse.Namespace(text=text.split(), room=room, take_back=take_back))


async def test_what_is_announced_is_kept_and_taken_back_by_its_id(config, data, monkeypatch, capsys):
    async with api_house(config, data) as world:
        monkeypatch.setattr(door, "client", lambda *_, **__: world.http("owner"))  # the house listens to no port here
        assert await run(config, "dinner is ready") == 0
        line = capsys.readouterr().out.strip()
        receipt = line.rpartition("[")[2].rstrip("]")
        assert line.endswith(f"[{receipt}]")
        assert await run(config, take_back=receipt) == 0
        assert "I won't say it." in capsys.readouterr().out
        with pytest.raises(AtlasError, match="taken back"):
            await run(config, take_back=receipt)


async def test_who_may_not_announce_is_told_so(config, data, monkeypatch):
    async with api_house(config, data) as world:
        monkeypatch.setattr(door, "client", lambda *_, **__: world.http("guest"))
        with pytest.raises(AtlasError, match="Only who lives here"):
            await run(config, "boo")
