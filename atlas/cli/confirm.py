"""`atlas confirm`: what waits for a person's yes, also when another program asked for it, and the answer to it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import anyio
import httpx2

from atlas.cli import door
from atlas.config import Config
from atlas.config import load as load_config
from atlas.errors import AtlasError

ANSWER_SECONDS = 90.0  # what is said yes to is done before the answer comes


def main(arguments: Sequence[str]) -> int:
    """List, or ask and answer; the status is 1 when something could not be answered."""
    parser = argparse.ArgumentParser(prog="atlas confirm", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="print what waits, and answer nothing")
    what.add_argument("--yes", metavar="ID", help="say yes to one; the beginning of its id is enough")
    what.add_argument("--no", metavar="ID", help="say no to one")
    parser.add_argument("--json", action="store_true", help="with --list: print one object")
    given = parser.parse_args(arguments)
    if given.json and not given.list:
        parser.error("--json goes with --list")
    return anyio.run(work, load_config(os.environ), given)


async def work(config: Config, given: argparse.Namespace) -> int:
    """Do what was asked for. Raises `AtlasError` when the house is not there or says no."""
    doubt = ", so I can't tell whether it was done: see `atlas confirm --list`"
    async with door.opened(config, ANSWER_SECONDS, doubt) as house:
        asks = door.read(await house.get("/api/asks"))["asks"]
        if given.json:
            print(json.dumps({"asks": asks}, ensure_ascii=False))
        elif given.list:
            print("\n".join(map(_line, asks)) or "Nothing waits for a yes.")
        elif given.yes or given.no:
            chosen = _chosen(asks, given.yes or given.no)
            print(await _answered(house, chosen, "yes" if given.yes else "no"))
        else:
            await _ask_for_each(house, asks)
    return 0


async def _ask_for_each(house: httpx2.AsyncClient, asks: Sequence[dict[str, Any]]) -> None:
    """Put every question to whoever sits at the terminal. Only yes and no are answers; anything else leaves it open."""
    if not asks:
        print("Nothing waits for a yes.")
    elif not sys.stdin.isatty():
        raise AtlasError("nobody can be asked here: this is no terminal", hint="atlas confirm --list, then --yes ID")
    for ask in asks:
        print(_line(ask))
        text = await _typed("  yes or no? ")
        answer = {"y": "yes", "yes": "yes", "n": "no", "no": "no"}.get(text.strip().lower())
        print(f"  {await _answered(house, ask, answer)}" if answer else "  It still waits.")
        if not text:
            return  # Ctrl-D: whoever is asked has gone


async def _typed(question: str) -> str:
    """Return a line from the terminal, "" at its end. Not in a thread: after Ctrl-C that would read on."""
    print(question, end="", flush=True)
    await anyio.wait_readable(sys.stdin)
    return sys.stdin.readline()


async def _answered(house: httpx2.AsyncClient, ask: dict[str, Any], answer: str) -> str:
    body = {"answer": answer, "channel": "terminal"}
    reply = door.read(await house.post(f"/api/asks/{ask['id']}", json=body))
    return str(reply["ask"]["sentence"] if "ask" in reply else reply["sentence"])  # asked anew, where it has changed


def _chosen(asks: Sequence[dict[str, Any]], beginning: str) -> dict[str, Any]:
    rows = [ask for ask in asks if ask["id"].startswith(beginning)]
    if len(rows) != 1:
        what = f"{len(rows)} questions begin" if rows else "no question that waits begins"
        raise AtlasError(f"{what} with {beginning!r}", hint="`atlas confirm --list` shows them; each for a minute")
    return rows[0]


def _line(ask: dict[str, Any]) -> str:
    """Return a question as a line: its id, the seconds it has left, who asks, and the question itself."""
    who = ", ".join(filter(None, (ask["person"], ask["device"], ask["room"])))
    by = f"{ask['agent']} for {who}" if who else ask["agent"]
    return f"{ask['id'][:8]}  {ask['seconds_left']:3.0f} s  {by}: {door.printable(ask['sentence'])}"
