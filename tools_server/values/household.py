"""Where a house keeps what its tool server stands on: its data directory in, every path out.

`atlas run` names every path itself. A person at a terminal names none: then the house is the one whose data directory
is `--house`, else `$ATLAS_DATA`, else `~/.local/share/atlas`. Who names `--data` has no house, and names the rest too.
"""

from __future__ import annotations

import argparse
import socket
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tools_server.values.language import languages, supported
from wall.roles import ROLES

PLACES = {  # where each lies in the data directory of a house
    "data": "tools",
    "folders": "",
    "agents": "secrets/agents.toml",
    "policy": "secrets/policy.toml",  # leads to the file that atlas.toml names
    "tools": "secrets/tools.toml",
    "house_key": "secrets/house.pub",
    "signed_head": "secrets/record.head",
    "egress": "run/egress.sock",
}
MAYBE = ("tools", "house_key", "signed_head", "egress")  # a house may do without
SOCKET = "run/tools.sock"
NEEDED = ("data", "agents", "policy")


def add_house(parser: argparse.ArgumentParser) -> None:
    """Let `--house` stand for every path that is not given."""
    parser.add_argument(
        "--house", type=Path, metavar="DIR", help="a house's data directory; $ATLAS_DATA, else ~/.local/share/atlas"
    )


def add_role(parser: argparse.ArgumentParser) -> None:
    """Let `--as` say as whom the agent speaks when it speaks for nobody."""
    parser.add_argument("--as", dest="role", choices=ROLES, default="", help="whom it speaks for; a guest otherwise")


def add_gate(parser: argparse.ArgumentParser) -> None:
    """Let a command line say what lies behind the gate, and in which zone and languages it speaks."""
    add_house(parser)
    parser.add_argument("--data", type=Path, metavar="DIR", help="where tools.db, the record and sessions lie")
    parser.add_argument("--folders", type=Path, metavar="DIR", help="where the agents' folders lie; DATA by default")
    parser.add_argument("--agents", type=Path, metavar="FILE", help="TOML: one table per agent")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="TOML: the rules")
    parser.add_argument("--tools", type=Path, metavar="FILE", help="TOML: settings, one table per tool file")
    parser.add_argument("--egress", type=Path, metavar="PATH", help="the socket of the way out; none without it")
    parser.add_argument("--house-key", type=Path, metavar="FILE", help="public key of who may bring a person's yes")
    parser.add_argument("--timezone", default="", metavar="ZONE", help="of the house; the machine's own by default")
    parser.add_argument(
        "--languages",
        type=lambda names: tuple(dict.fromkeys(supported(name) for name in names.split(","))),
        default=languages(),
        metavar="NAMES",
        help="that the house speaks, the usual one first: en; de,en …",
    )


def at_home(parser: argparse.ArgumentParser, given: argparse.Namespace, environment: Mapping[str, str]) -> Path | None:
    """Fill in the paths that are not given, and return the house's data directory; None where `--data` is given.

    Ends the program with a sentence when something needed is missing.
    """
    if getattr(given, "data", None) is not None:
        if given.house:
            parser.error("--house and --data do not go together: one says where all of it lies, the other a part")
        if missing := [name for name in NEEDED if getattr(given, name, given.data) is None]:
            parser.error(f"with --data, {' and '.join(f'--{name}' for name in missing)} must be given too")
        return None
    house = Path(given.house or environment.get("ATLAS_DATA") or Path.home() / ".local/share/atlas").expanduser()
    for name, place in PLACES.items():
        if getattr(given, name, house) is not None:
            continue
        path = house.absolute() / place
        if path.exists():
            setattr(given, name, path.resolve())
        elif name not in MAYBE:
            parser.error(f"no house has been started in {house}: start it once (./up), or say --house DIR")
    return house.absolute()


def running(house: Path) -> Path | None:
    """Return the socket of the house's tool server, if one listens there."""
    path = house / SOCKET
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as trial:
        try:
            trial.connect(str(path))
        except OSError:
            return None
    return path
