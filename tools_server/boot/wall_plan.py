"""Puts walls around the tool server, before its first thread, tool and call, that leave it what it needs to live."""

from __future__ import annotations

import os
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import tools_server
import wall
from tools_server.boot.opening import ServerSettings, prove_rules, read_agents
from tools_server.values.stderr import say
from tools_server.walls.confine import WallPlan, confine, no_core_dumps
from tools_server.walls.porter import Porter
from tools_server.walls.programs import SYSTEM, programs_of

_FILES, _FOLDERS = "_file", "_folder"  # endings of the names of settings


def walled(settings: ServerSettings) -> ServerSettings:
    """Make what must be made from outside, put up the walls, and return the settings as they hold inside.

    Raises `BootFailed`, also for rules that are not sound, and OSError.
    """
    _, agents = read_agents(settings.agents)
    scratch = settings.data / "tmp"
    roots = {settings.folder(name) for agent in agents.values() for name in agent.roots}
    for folder in (settings.data, scratch, *sorted(roots)):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["TMPDIR"] = os.environ["SQLITE_TMPDIR"] = str(scratch)
    no_core_dumps()
    porter = Porter(settings.egress) if settings.egress else None
    walls = confine(_plan(settings, tuple(sorted(roots))))
    for sentence in walls.missing:
        say(f"WARNING {sentence}")
    prove_rules(settings)  # which reads the tools' files, and that runs them
    return replace(settings, porter=porter)


def _plan(settings: ServerSettings, roots: tuple[Path, ...]) -> WallPlan:
    tools = tomllib.loads(settings.tools.read_text(encoding="utf-8")) if settings.tools else {}
    paths = list(_paths(tools))
    given = (settings.agents, settings.policy, settings.tools, settings.house_key)
    reads = [
        *(Path(path) for path in SYSTEM),
        *(Path(path).resolve() for path in sysconfig.get_paths().values()),
        *(Path(prefix, part) for prefix in (sys.prefix, sys.base_prefix) for part in ("lib", "pyvenv.cfg")),
        *(Path(package.__path__[0]) for package in (tools_server, wall)),
        *(file for file in given if file),
        *(file for file in (settings.signed_head,) if file and file.exists()),
        *(path for ending, path in paths if ending == _FILES),
    ]
    writes = [settings.data, *roots, Path("/dev/null"), *(path for ending, path in paths if ending == _FOLDERS)]
    programs = tuple(programs_of(tools.get("upstream", {})))
    clears = (settings.socket.parent,) if settings.socket else ()
    return WallPlan(tuple(reads), tuple(writes), programs, clears)


def _paths(settings: Any, name: str = "") -> Iterator[tuple[str, Path]]:
    """Find the files and folders in the settings of the tools: `atlas.toml` calls them so by their names' endings."""
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            yield from _paths(value, key)
    elif isinstance(settings, list):
        for value in settings:
            yield from _paths(value, name)
    elif isinstance(settings, str) and settings:
        yield from ((ending, Path(settings)) for ending in (_FILES, _FOLDERS) if f"_{name}".endswith(ending))
