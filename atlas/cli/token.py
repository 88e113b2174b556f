"""`atlas token`: let a device in, list those that may come in, say where one stands, take a token back."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from datetime import datetime

import anyio

from atlas.cli.keys import prepare_folders
from atlas.config import Config
from atlas.config import load as load_config
from atlas.errors import RequestError
from atlas.store.devices import GUEST_HOURS, open_devices
from wall.roles import ROLES

SAME_PERSON = "it is somebody whom the house knows already; the device then reads all that they ever said to it"


def main(arguments: Sequence[str]) -> int:
    """Create, list or revoke; works whether Atlas runs or not, and takes effect at once."""
    parser = argparse.ArgumentParser(prog="atlas token", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    create = verbs.add_parser("create", help="print a new token; nobody can read it again")
    create.add_argument("--name", required=True, help="what the device is called, such as kitchen-tablet")
    create.add_argument("--role", required=True, choices=ROLES, help="what it may do")
    create.add_argument("--person", default="", help="who alone uses it, such as Anna: what is “my” there is theirs")
    create.add_argument("--same-person", action="store_true", help=SAME_PERSON)
    create.add_argument(
        "--room", default="", help="where it stands, such as kitchen; leave it out if it is carried about"
    )
    create.add_argument("--hours", type=float, help=f"how long it counts; a guest's {GUEST_HOURS} when left out")
    move = verbs.add_parser("room", help="say where a device stands, from its next connection on")
    move.add_argument("name")
    move.add_argument("room", help='such as kitchen; "" for none')
    verbs.add_parser("list", help="print which devices have one")
    revoke = verbs.add_parser("revoke", help="take it back")
    revoke.add_argument("name")
    given = parser.parse_args(arguments)
    config = load_config(os.environ)
    prepare_folders(config)
    return anyio.run(work, config, given)


async def work(config: Config, given: argparse.Namespace) -> int:
    """Do what was asked for. Raises `AtlasError` for a name that is taken, odd or unknown."""
    async with open_devices(config.data) as devices:
        match given.verb:
            case "create":
                wanted = (given.name, given.role, given.person, given.room, given.hours)
                print(await devices.create(*wanted, same_person=given.same_person))
            case "room":
                _known(await devices.change(given.name, room=given.room), given.name)
                print(f"{given.name} stands in {given.room or 'no room'}")
            case "revoke":
                _known(await devices.revoke(given.name), given.name)
                print(f"{given.name} has no token any more")
            case _:
                rows = [
                    (d.name, d.role, _day(d.created), _day(d.used), _day(d.expires), d.room, d.person)
                    for d in await devices.list()
                ]
                for row in (("name", "role", "created", "last used", "ends", "room", "person"), *rows):
                    cells = zip(row, (24, 10, 16, 16, 16, 16, 0), strict=True)
                    print("  ".join(f"{cell:{width}}" for cell, width in cells).rstrip())
    return 0


def _known(known: bool, name: str) -> None:
    if not known:
        raise RequestError(f"no device is called {name!r}", code="not_found", hint="`atlas token list` names them")


def _day(moment: float | None) -> str:
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M") if moment else "never"
