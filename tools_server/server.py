"""The tool server: `atlas-tools` is this file.

Boot goes in order, each step needing the one before: who may come (the agents file), the rules (policy), what there
is (the tools), what is remembered (tools.db), the record (audit), the folders (roots), and only then the wire. A line
"ready …" on stderr says that calls are answered.
"""

from __future__ import annotations

import argparse
import logging
import sqlite3
import sys
from pathlib import Path

import anyio

from tools_server.audit import verify
from tools_server.boot import AUDIT_FILE, BootFailed, Settings
from tools_server.drain import say
from tools_server.wire_http import serve_http
from tools_server.wire_stdio import serve_stdio


def main() -> None:
    """Run the tool server, or check its record: `atlas-tools audit verify --data DIR`."""
    if sys.argv[1:3] == ["audit", "verify"]:
        sys.exit(_verify(sys.argv[3:]))
    settings, stdio = _settings(sys.argv[1:])
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    try:
        anyio.run(serve_stdio if stdio else serve_http, settings)
    except (BootFailed, OSError, sqlite3.Error) as failed:
        say(f"The tool server cannot start. {failed}")
        sys.exit(1)


def _settings(arguments: list[str]) -> tuple[Settings, bool]:
    parser = argparse.ArgumentParser(prog="atlas-tools", description="Tools behind a gate, over MCP.")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="where tools.db, the record and the folders lie"
    )
    parser.add_argument("--agents", type=Path, required=True, metavar="FILE", help="TOML: one table per agent")
    parser.add_argument("--policy", type=Path, required=True, metavar="FILE", help="TOML: the rules")
    parser.add_argument("--tools", type=Path, metavar="FILE", help="TOML: settings, one table per tool file")
    parser.add_argument("--egress", type=Path, metavar="PATH", help="the socket of the way out; none without it")
    parser.add_argument("--house-key", type=Path, metavar="FILE", help="public key of who may bring a person's yes")
    wire = parser.add_mutually_exclusive_group(required=True)
    wire.add_argument("--socket", type=Path, metavar="PATH", help="HTTP on a unix socket")
    wire.add_argument("--port", type=int, metavar="N", help="HTTP on 127.0.0.1; 0 chooses a free port")
    wire.add_argument("--stdio", action="store_true", help="stdin and stdout, for one agent")
    parser.add_argument("--agent", default="", metavar="NAME", help="with --stdio: which agent")
    parser.add_argument(
        "--telemetry", action="store_true", help="with --stdio: notifications telemetry/update, every ten seconds"
    )
    parser.add_argument("--timezone", default="", metavar="ZONE", help="of the house; the machine's own by default")
    given = parser.parse_args(arguments)
    if bool(given.agent) != given.stdio:
        parser.error("--stdio and --agent NAME go together")
    if given.telemetry and not given.stdio:
        parser.error("--telemetry goes with --stdio; over HTTP, /health tells the same")
    settings = Settings(
        data=given.data.resolve(),
        agents=given.agents,
        policy=given.policy,
        tools=given.tools,
        egress=given.egress,
        house_key=given.house_key,
        socket=given.socket,
        port=given.port,
        agent=given.agent,
        timezone=given.timezone,
        telemetry=given.telemetry,
    )
    return settings, given.stdio


def _verify(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="atlas-tools audit verify", description="Check the record of every call.")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    file = parser.parse_args(arguments).data / AUDIT_FILE
    try:
        verdict = verify(file)
    except OSError as missing:
        say(f"{file} cannot be read: {missing.strerror}.")
        return 2
    for problem in verdict.problems:
        say(problem)
    say(f"{verdict.rows} rows, {'not as they were written' if verdict.problems else 'all as they were written'}")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    main()
