"""`atlas-tools upstream approve NAME [TOOL]`: shows what another server says of its tools, and pins it by a yes."""

from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools_server.mounted.definitions import difference
from tools_server.mounted.upstream import MIGRATIONS, approve, waiting
from tools_server.sdk.state import ToolsDatabase
from tools_server.values.household import add_house, at_home
from tools_server.values.stderr import say


def main(arguments: Sequence[str]) -> int:
    """Show what waits and ask for each; return 0 when all of it is approved."""
    parser = argparse.ArgumentParser(prog="atlas-tools upstream approve", description=__doc__)
    parser.add_argument("server", metavar="NAME", help="the server, as the settings of the tools call it")
    parser.add_argument("tool", metavar="TOOL", nargs="?", default="", help="one of its tools; all of them without it")
    add_house(parser)
    parser.add_argument("--data", type=Path, metavar="DIR", help="the tool server's data directory")
    parser.add_argument("--yes", action="store_true", help="approve without asking; what is approved is still shown")
    given = parser.parse_args(arguments)
    at_home(parser, given, os.environ)
    file = given.data / "tools.db"
    if not file.is_file():
        say(f"{file} is not there: start the tool server once, so that it sees what the server offers.")
        return 2
    try:
        state = ToolsDatabase(file, MIGRATIONS)
        try:
            return _approved(state, waiting(state, given.server, given.tool), given.yes)
        finally:
            state.close()
    except (sqlite3.Error, OSError) as broken:
        say(f"{file} cannot be written: {broken}.")
        return 2


def _approved(state: ToolsDatabase, rows: Sequence[Mapping[str, Any]], yes: bool) -> int:
    if not rows:
        sys.stdout.write("Nothing waits for approval.\n")
        return 0
    refused = 0
    for row in rows:
        sys.stdout.write(f"{row['server']}.{row['tool']} {'has changed' if row['approved'] else 'is new'}:\n")
        sys.stdout.write("\n".join(difference(row["approved"], row["seen"])) + "\n")
        if yes or (sys.stdin.isatty() and input("Approve this? [y/N] ").strip().casefold() in ("y", "yes")):
            approve(state, row)
            sys.stdout.write("Approved. The tool server lists it within half a minute.\n")
        else:
            refused += 1
            sys.stdout.write("Not approved.\n")
    return 1 if refused else 0
