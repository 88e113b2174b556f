"""The tool server: `atlas-tools` is this file.

Boot goes in order, each step needing the one before: who may come (the agents file), the rules (policy), what there
is (the tools), what is remembered (tools.db), the record (audit), the folders (roots), and only then the wire. A line
"ready …" on stderr says that calls are answered. Before any of it is read as code, the walls go up.
"""

from __future__ import annotations

import argparse
import logging
import os
import sqlite3
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from tools_server.calling import call
from tools_server.gate.confirmations import read_house_key
from tools_server.gate.signed_head import AUDIT_FILE, read_signed_head
from tools_server.values.household import add_gate, add_house, add_role, at_home
from tools_server.values.stderr import say
from wall import logs
from wall.chain import verify
from wall.disk import disk_sentence

if TYPE_CHECKING:
    from tools_server.boot.opening import ServerSettings

COMMANDS = """commands:
  atlas-tools call JSON                      make one call and print its answer as JSON
  atlas-tools sessions list | show ID        what was called that way, and when
  atlas-tools rules                          who may do what, and whether that is sound
  atlas-tools audit verify                   is the record of every call as it was written?
  atlas-tools upstream approve NAME [TOOL]   let in what another MCP server offers
"""


def main() -> None:
    """Run the tool server; or `atlas-tools call`, `sessions`, `rules`, `audit verify`, `upstream approve`."""
    try:
        try:
            _main()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # `atlas-tools rules | head`: nobody reads on, and Python must not try to flush at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _main() -> None:
    if sys.argv[1:2] == ["call"]:
        sys.exit(call.main(sys.argv[2:]))
    if sys.argv[1:2] == ["sessions"]:
        sys.exit(call.list_sessions(sys.argv[2:]))
    if sys.argv[1:3] == ["audit", "verify"]:
        sys.exit(_verify(sys.argv[3:]))
    if sys.argv[1:2] == ["rules"]:
        sys.exit(_rules(sys.argv[2:]))
    if sys.argv[1:3] == ["upstream", "approve"]:
        from tools_server.mounted import upstream_approve

        sys.exit(upstream_approve.main(sys.argv[3:]))
    _serve(*_settings(sys.argv[1:]))


def _serve(settings: ServerSettings, stdio: bool) -> None:
    # The other commands need none of this, and a call over ssh should not wait a second for it.
    from tools_server.boot.wall_plan import walled
    from tools_server.values.boot_files import BootFailed
    from tools_server.wires.wire_http import listener, serve_http
    from tools_server.wires.wire_stdio import serve_stdio

    logs.to_stderr(logging.WARNING, "%(levelname)s %(name)s %(message)s")
    try:
        with nullcontext(None) if stdio else listener(settings) as listening:
            inside = walled(replace(settings, listening=listening))
            anyio.run(serve_stdio if stdio else serve_http, inside)
    except (BootFailed, OSError, sqlite3.Error) as failed:
        what, advice = disk_sentence(failed, settings.data)
        why = f"{what[0].upper()}{what[1:]}: {advice}." if what else str(failed)
        say(f"The tool server cannot start. {why}")
        sys.exit(1)


def _settings(arguments: list[str]) -> tuple[ServerSettings, bool]:
    from tools_server.boot.opening import ServerSettings

    parser = argparse.ArgumentParser(
        prog="atlas-tools",
        description="Tools behind a gate, over MCP.",
        epilog=COMMANDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_gate(parser)
    parser.add_argument("--signed-head", type=Path, metavar="FILE", help="how far the record goes, as the house signed")
    wire = parser.add_mutually_exclusive_group(required=True)
    wire.add_argument("--socket", type=Path, metavar="PATH", help="HTTP on a unix socket")
    wire.add_argument("--port", type=int, metavar="N", help="HTTP on 127.0.0.1; 0 chooses a free port")
    wire.add_argument("--stdio", action="store_true", help="stdin and stdout, for one agent")
    parser.add_argument("--agent", default="", metavar="NAME", help="with --stdio: which agent")
    add_role(parser)
    parser.add_argument(
        "--telemetry", action="store_true", help="with --stdio: notifications telemetry/update, every ten seconds"
    )
    given = parser.parse_args(arguments)
    if bool(given.agent) != given.stdio:
        parser.error("--stdio and --agent NAME go together")
    if given.role and not given.stdio:
        parser.error("--as goes with --stdio; over HTTP the agents file says it, as acts_as")
    if given.telemetry and not given.stdio:
        parser.error("--telemetry goes with --stdio; over HTTP, /health tells the same")
    at_home(parser, given, os.environ)
    served = {name: getattr(given, name) for name in ("socket", "port", "agent", "role", "telemetry")}
    return replace(ServerSettings.of(given), **served), given.stdio


def _rules(arguments: list[str]) -> int:
    """Show who may do what, and whether the rules are sound; the status is 1 when they are not."""
    from tools_server.boot.opening import question
    from tools_server.values.boot_files import BootFailed
    from tools_server.values.explain import legend, picture
    from tools_server.values.prove import unsound

    parser = argparse.ArgumentParser(prog="atlas-tools rules", description="Who may do what, and is that sound?")
    add_house(parser)
    parser.add_argument("--agents", type=Path, metavar="FILE")
    parser.add_argument("--policy", type=Path, metavar="FILE", help="such as a draft of new rules")
    parser.add_argument("--agent", default="", metavar="NAME", help="only this one")
    parser.add_argument(
        "--sound", action="store_true", help="say only what is not sound, as JSON, and nothing when all is"
    )
    given = parser.parse_args(arguments)
    if not (given.agents and given.policy):
        at_home(parser, given, os.environ)
    try:
        rules = question(given.agents, given.policy)
    except BootFailed as wrong:
        say(str(wrong))
        return 1
    if given.sound:
        sys.stdout.write(problem.json() if (problem := unsound(rules)) else "")
        return 1 if problem else 0
    agents = [agent for agent in rules.agents if given.agent in ("", agent.name)]
    if not agents:
        say(f"{given.agents} has no agent {given.agent!r}; it has {', '.join(agent.name for agent in rules.agents)}.")
        return 1
    parts = [*(picture(rules.policy, agent, rules.actions) for agent in agents), legend(rules.policy)]
    problem = unsound(rules)
    print("\n\n".join([*parts, problem.sentence if problem else "The rules are sound."]))  # noqa: T201 — what was asked for
    return 1 if problem else 0


def _verify(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="atlas-tools audit verify", description="Check the record of every call.")
    add_house(parser)
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--house-key", type=Path, metavar="FILE", help="public key of the house")
    parser.add_argument("--signed-head", type=Path, metavar="FILE", help="how far the record goes, as the house signed")
    given = parser.parse_args(arguments)
    at_home(parser, given, os.environ)
    file = given.data / AUDIT_FILE
    try:
        key = read_house_key(given.house_key) if given.house_key else None
        verdict = verify(file, read_signed_head(given.signed_head, key))
    except ValueError as wrong:
        say(str(wrong))
        return 2
    except OSError as missing:
        say(f"{file} cannot be read: {missing.strerror}.")
        return 2
    for problem in verdict.problems:
        say(problem)
    say(f"{verdict.rows} rows, {'not as they were written' if verdict.problems else 'all as they were written'}")
    return 1 if verdict.problems else 0


if __name__ == "__main__":
    main()
