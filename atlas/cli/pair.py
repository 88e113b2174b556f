"""`atlas pair`: open an invitation for one device through the running house; print its link, or six digits to type."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import anyio
import httpx2

from atlas.cli import door
from atlas.config import Config
from atlas.config import load as load_config
from atlas.store.devices import GUEST_HOURS
from wall.roles import ROLES

SECONDS = 10.0
CREATED_STATUS = 201


def main(arguments: Sequence[str]) -> int:
    """Invite one device; the status is 1 when the house is not there or says no."""
    parser = argparse.ArgumentParser(prog="atlas pair", description=__doc__)
    parser.add_argument("name", help="what the device will be called, such as mias-phone")
    parser.add_argument("--role", required=True, choices=ROLES, help="what it may do")
    parser.add_argument("--person", default="", help="who alone uses it, such as Mia")
    parser.add_argument("--room", default="", help="where it stands; leave it out if it is carried about")
    parser.add_argument("--hours", type=float, help=f"how long it may come in; a guest's {GUEST_HOURS} when left out")
    parser.add_argument("--digits", action="store_true", help="six digits to be typed there, in place of a link")
    return anyio.run(work, load_config(os.environ), parser.parse_args(arguments))


async def work(config: Config, given: argparse.Namespace) -> int:
    """Ask the house for the invitation, and print it. Raises `AtlasError` when the house is not there or says no."""
    wish = {name: getattr(given, name) for name in ("name", "role", "person", "room", "hours", "digits")}
    try:
        async with door.client(config, timeout=SECONDS) as house:
            reply = await house.post("/api/pairing", json=wish)
    except httpx2.TransportError as nobody:
        raise door.not_running(config) from nobody
    if reply.status_code != CREATED_STATUS:
        raise door.refused(reply.status_code, reply.content)
    invitation = reply.json()
    here = config.gateway
    base = f"https://{here.name}.local:{here.https_port}" if here.https_host else door.address(config)
    print(f"open there   {base}{invitation['path']}")
    if given.digits:
        print(f"and type     {invitation['secret'][:3]} {invitation['secret'][3:]}")
    print(f"The first who has it comes in as {given.name}, within {invitation['seconds'] / 60:.0f} minutes.")
    return 0
