"""`atlas announce`: have something said in every room of the house, or in one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import anyio

from atlas.cli import door
from atlas.config import Config
from atlas.config import load as load_config

ANSWER_SECONDS = 30.0


def main(arguments: Sequence[str]) -> int:
    """Hand it to the running house, which says it once nobody speaks and keeps it until it was played."""
    parser = argparse.ArgumentParser(prog="atlas announce", description=__doc__)
    parser.add_argument("text", nargs="*", help="what is to be said")
    parser.add_argument("--room", default="", help="in this room alone")
    parser.add_argument("--take-back", metavar="ID", help="take back what was not said yet; its id was printed")
    given = parser.parse_args(arguments)
    if bool(given.text) == bool(given.take_back):
        parser.error("say what: atlas announce dinner is ready, or --take-back ID")
    return anyio.run(work, load_config(os.environ), given)


async def work(config: Config, given: argparse.Namespace) -> int:
    """Do what was asked for. Raises `AtlasError` when the house is not there or says no."""
    async with door.opened(config, ANSWER_SECONDS) as house:
        if given.take_back:
            answer = await house.post("/api/history/undo", json={"receipt": given.take_back})
        else:
            body = {"text": " ".join(given.text)} | ({"room": given.room} if given.room else {})
            answer = await house.post("/api/announcements", json=body)
    result = door.read(answer)
    answered = result.get("ask", result)  # it may want a person's yes first
    receipt = "" if given.take_back or "ask" in result else f"  [{result['receipt']['id']}]"
    print(door.printable(answered["sentence"]) + receipt)
    return 0
