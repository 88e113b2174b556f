"""`atlas pair`: open an invitation for one device through the running house: a link and its QR code, or six digits."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import anyio

from atlas.access.qr import blocks
from atlas.cli import door
from atlas.cli.token import SAME_PERSON
from atlas.config import Config
from atlas.config import load as load_config
from atlas.store.devices import GUEST_HOURS
from wall.roles import ROLES

SECONDS = 10.0


def main(arguments: Sequence[str]) -> int:
    """Invite one device; the status is 1 when the house is not there or says no."""
    parser = argparse.ArgumentParser(prog="atlas pair", description=__doc__)
    parser.add_argument("name", help="what the device will be called, such as mias-phone")
    parser.add_argument("--role", required=True, choices=ROLES, help="what it may do")
    parser.add_argument("--person", default="", help="who alone uses it, such as Mia")
    parser.add_argument("--same-person", action="store_true", help=SAME_PERSON)
    parser.add_argument("--room", default="", help="where it stands; leave it out if it is carried about")
    parser.add_argument("--hours", type=float, help=f"how long it may come in; a guest's {GUEST_HOURS} when left out")
    parser.add_argument("--digits", action="store_true", help="six digits to be typed there, in place of a link")
    return anyio.run(work, load_config(os.environ), parser.parse_args(arguments))


async def work(config: Config, given: argparse.Namespace) -> int:
    """Ask the house for the invitation, and print it. Raises `AtlasError` when the house is not there or says no."""
    wish = {name: getattr(given, name) for name in ("name", "role", "person", "room", "hours", "digits", "same_person")}
    async with door.opened(config, SECONDS) as house:
        invitation = door.read(await house.post("/api/pairing", json=wish))
    print(f"open there   {invitation['link']['address']}")
    if given.digits:
        print(f"and type     {invitation['secret'][:3]} {invitation['secret'][3:]}")
    elif sys.stdout.isatty():
        print(blocks(invitation["link"]["address"]))
    if invitation["guide"]:
        print(f"microphone   {invitation['guide']['address']}   (once: how a phone comes to trust this house)")
    print(f"The first who has it comes in as {given.name}, within {invitation['seconds'] / 60:.0f} minutes.")
    return 0
