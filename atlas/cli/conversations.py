"""`atlas conversations`: search, export or forget what was said, through the running house."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO
from zoneinfo import ZoneInfo

import anyio
import httpx2

from atlas.cli import door
from atlas.cli.numbers import count
from atlas.config import Config
from atlas.config import load as load_config
from atlas.errors import AtlasError

ANSWER_SECONDS = 120.0  # forgetting writes the whole memory anew
NOT_FORGOTTEN = "what was done stays done, and in the tools' own record; so do notes, tasks, reminders and facts"


def main(arguments: Sequence[str]) -> int:
    """Do one of the three; the status is 1 when nothing was found or forgotten."""
    parser = argparse.ArgumentParser(prog="atlas conversations", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="search | export | forget")
    search = commands.add_parser("search", help="find what was said")
    search.add_argument("words", nargs="+", help="all of them must be in it; beginnings of words will do")
    search.add_argument("--limit", help="how many are shown at most (20)")
    export = commands.add_parser("export", help="print everything, to be kept elsewhere")
    export.add_argument("--markdown", action="store_true", help="a page to be read, instead of lines of JSON")
    export.add_argument("--output", type=Path, metavar="FILE", help="write a new file that only you may read")
    forget = commands.add_parser("forget", help="forget for good; what was done stays done")
    how = forget.add_mutually_exclusive_group()
    how.add_argument("--everything", action="store_true", help="all of it")
    how.add_argument("--last", metavar="N", type=count, help="the last N exchanges")
    how.add_argument("--minutes", metavar="N", type=count, help="the last N minutes")
    forget.add_argument("--yes", action="store_true", help="do not ask before everything is forgotten")
    for command in (search, export, forget):
        command.add_argument("--agent", help="whose memory: family, work, …; else the usual agent's")
        command.add_argument("--person", help="whose words, by name")
        command.add_argument("--room", help="of which room")
        command.add_argument(
            "--device", help="of which device, when nobody is named; else the owners', or to forget, this terminal"
        )
        command.add_argument("--since", help="from then on: 2026-11-22, or 2026-11-22T16:30")
        command.add_argument("--until", help="until before then")
    given = parser.parse_args(arguments)
    if given.command == "forget" and not (
        given.everything or given.last or given.minutes or given.since or given.until
    ):
        forget.error("say what: --everything, --last N, --minutes N, or --since and --until")
    return anyio.run(work, load_config(os.environ), given)


async def work(config: Config, given: argparse.Namespace) -> int:
    """Do what was asked for. Raises `AtlasError` when the house is not there or says no."""
    named = {key: getattr(given, key) for key in ("agent", "person", "room", "device", "since", "until")}
    query = {key: value for key, value in named.items() if value}
    async with door.opened(config, ANSWER_SECONDS) as house:
        match given.command:
            case "search":
                return await _search(house, query | {"q": " ".join(given.words)}, given.limit, config)
            case "export":
                return await _export(house, query | {"format": "markdown" if given.markdown else "jsonl"}, given)
        # A terminal shows all that is the owners', and forgets what was said in it, unless more is named.
        return await _forget(house, door.device() | query, given)


async def _search(house: httpx2.AsyncClient, query: dict[str, str], limit: str | None, config: Config) -> int:
    zone = ZoneInfo(config.house.timezone) if config.house.timezone else None
    result = (await _told(house, "GET", "/search", query | ({"limit": limit} if limit else {})))["matches"]
    for one in reversed(result):  # the newest stands last, above the next prompt
        at, who = datetime.fromtimestamp(one["at"], zone), "" if one["author"] == "user" else "  Atlas:"
        print(f"{at:%Y-%m-%d %H:%M}{who}  {door.printable(one['text'])}")
    if not result:
        print("Nothing was found.", file=sys.stderr)
    return 0 if result else 1


async def _export(house: httpx2.AsyncClient, query: dict[str, str], given: argparse.Namespace) -> int:
    async with house.stream("GET", "/api/conversations/export", params=query) as response:
        if response.status_code != httpx2.codes.OK:
            raise door.refused(response.status_code, await response.aread())
        with _out(given.output) as out:
            async for piece in response.aiter_text():
                out.write(piece)
    return 0


async def _forget(house: httpx2.AsyncClient, query: dict[str, str], given: argparse.Namespace) -> int:
    if given.everything:
        if not given.yes and not _sure():
            print("Nothing was forgotten.")
            return 1
        query["everything"] = "true"
    elif given.last:
        query["last"] = str(given.last)
    elif given.minutes:
        query["last_seconds"] = str(60 * given.minutes)
    gone = await _told(house, "DELETE", "", query)
    whom = f" with {given.agent}" if given.agent else ""
    print(f"Forgotten: {gone['exchanges']} exchange{'s' * (gone['exchanges'] != 1)}{whom}.")
    if gone["exchanges"]:
        print(f"Not forgotten: {NOT_FORGOTTEN}.")
    if not (gone["bytes_gone"] and gone["model_forgot"]):
        print("Its last traces go as soon as what holds them (the model, or a program that reads the file) is free.")
    return 0 if gone["exchanges"] else 1


def _sure() -> bool:
    if not sys.stdin.isatty():
        raise AtlasError("nobody can be asked here: this is no terminal", hint="add --yes")
    return input("Forget everything, for good? yes or no? ").strip().lower() in ("y", "yes")


async def _told(house: httpx2.AsyncClient, method: str, path: str, query: dict[str, str]) -> dict[str, Any]:
    return door.read(await house.request(method, f"/api/conversations{path}", params=query))


@contextmanager
def _out(file: Path | None) -> Iterator[TextIO]:
    """Open what an export is written to; a new file, of which nothing is left when the export breaks off."""
    if file is None:
        yield sys.stdout
        return
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as trouble:
        raise AtlasError(f"{file}: {trouble.strerror}", hint="name a new file") from trouble
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            yield out
    except BaseException:
        file.unlink(missing_ok=True)
        raise
