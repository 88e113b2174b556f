"""`atlas confirm` shows what waits and brings one answer, to a house that is really there."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import BinaryIO
from urllib.parse import urlsplit

import anyio
import pytest

from atlas.cli import confirm
from atlas.cli.confirm import _line
from atlas.config import Config, GatewayConfig
from atlas.errors import AtlasError
from tests.gateway.small_house import SmallHouse, served

CTRL_D = b"\x04"


@pytest.fixture
async def world(config, data, monkeypatch) -> AsyncIterator[SmallHouse]:
    async with served(config, data) as small:
        monkeypatch.setenv("ATLAS_TOKEN", small.tokens["owner"])
        yield small


def at(world: SmallHouse, config: Config) -> Config:
    return replace(config, gateway=GatewayConfig(https_host="", port=urlsplit(world.url).port or 0))


async def run(world: SmallHouse, config: Config, **given) -> int:
    options = {"list": False, "yes": None, "no": None, "json": False} | given
    return await confirm.work(at(world, config), argparse.Namespace(**options))


async def wish(world: SmallHouse, role="adult") -> None:
    async with world.http(role) as http:
        body = {"model": "family", "messages": [{"role": "user", "content": "remove the task buy milk"}]}
        assert (await http.post("/v1/chat/completions", json=body)).status_code == 200


async def test_what_waits_is_listed_with_who_asks_for_it(world, config, capsys):
    await run(world, config, list=True)
    assert capsys.readouterr().out == "Nothing waits for a yes.\n"
    await wish(world)
    await run(world, config, list=True)
    line = capsys.readouterr().out
    assert "family for the adult: Remove the task buy milk for good?" in line
    await run(world, config, list=True, json=True)
    (ask,) = json.loads(capsys.readouterr().out)["asks"]
    assert line.startswith(ask["id"][:8])
    assert world.chat.household.tasks


async def test_a_yes_by_its_id_does_it(world, config, capsys):
    await wish(world)
    await run(world, config, list=True)
    identity = capsys.readouterr().out.split()[0]
    assert await run(world, config, yes=identity) == 0
    assert capsys.readouterr().out == "Removed buy milk.\n"
    assert not world.chat.household.tasks
    with pytest.raises(AtlasError, match="no question that waits begins"):
        await run(world, config, yes=identity)


async def test_a_no_by_its_id_leaves_it(world, config, capsys):
    await wish(world)
    await run(world, config, no="ask_")
    assert capsys.readouterr().out == "All right, I won't.\n"
    assert world.chat.household.tasks


async def test_an_id_that_fits_two_answers_neither(world, config):
    await wish(world, "adult")
    await wish(world, "child")
    with pytest.raises(AtlasError, match="2 questions begin"):
        await run(world, config, yes="ask_")
    assert world.chat.household.tasks


async def test_without_a_terminal_nobody_is_taken_to_have_said_yes(world, config, monkeypatch):
    await wish(world)
    monkeypatch.setattr("sys.stdin", io.StringIO("yes"))
    with pytest.raises(AtlasError, match="no terminal"):
        await run(world, config)
    assert world.chat.household.tasks


@pytest.fixture
def keyboard(monkeypatch) -> Iterator[BinaryIO]:
    """What is written here is typed at the terminal."""
    ours, theirs = os.openpty()
    with open(ours, "wb", buffering=0) as keys, open(theirs) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield keys


@pytest.mark.parametrize(
    ("typed", "left"),
    [(b"yes\n", False), (b"Y\n", False), (b"no\n", True), (b"yes!\n", True), (b"\n", True), (CTRL_D, True)],
)
async def test_at_the_terminal_only_yes_is_a_yes(world, config, keyboard, typed, left):
    await wish(world)
    keyboard.write(typed)
    with anyio.fail_after(10):
        assert await run(world, config) == 0
    assert bool(world.chat.household.tasks) is left


async def test_who_gives_up_at_the_terminal_leaves_nobody_behind_who_reads_it(world, config, keyboard):
    await wish(world)
    with anyio.move_on_after(0.5) as patience:
        await run(world, config)
    assert patience.cancelled_caught
    keyboard.write(b"yes\n")
    assert sys.stdin.readline() == "yes\n"
    assert world.chat.household.tasks


async def test_a_house_that_is_not_there_is_said_so(config, monkeypatch):
    monkeypatch.setenv("ATLAS_TOKEN", "x")
    nowhere = replace(config, gateway=GatewayConfig(https_host="", port=9))
    with pytest.raises(AtlasError, match="does not answer"):
        await confirm.work(nowhere, argparse.Namespace(list=True, yes=None, no=None, json=False))


def test_a_question_cannot_move_the_cursor():
    ask = {"id": "a" * 32, "seconds_left": 12.3, "agent": "ide", "person": "", "device": "", "room": ""}
    assert _line(ask | {"sentence": "Remove\x1b[2A\r a file?"}) == "aaaaaaaa   12 s  ide: Remove [2A  a file?"
