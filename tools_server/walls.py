"""What this server needs to live, and walls around it: before the first thread, the first tool and the first call."""

from __future__ import annotations

import os
import socket
import sys
import sysconfig
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from shutil import which
from typing import Any

import tools_server
from tools_server.boot import Settings, prove_rules, read_agents
from tools_server.confine import Plan, confine, no_core_dumps
from tools_server.porter import Porter
from tools_server.prove import solved
from tools_server.stderr import say

_SYSTEM = (  # shared libraries, time zones, certificates, words; nothing about people or other programs
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/nix/store"),
    *("/usr/share/zoneinfo", "/etc/localtime", "/etc/timezone", "/usr/share/locale", "/usr/share/mime"),
    *("/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/pki", "/usr/share/ca-certificates", "/etc/mime.types"),
    *("/dev/urandom", "/dev/random", "/sys/devices/system/cpu", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat"),
)
LOADERS = tuple(map(Path, ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")))  # start every program
_FILES, _FOLDERS = "_file", "_folder"  # endings of the names of settings


def walled(settings: Settings) -> Settings:
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
    prover = Prover()
    walls = confine(_plan(settings, tuple(sorted(roots))))
    for sentence in walls.missing:
        say(f"WARNING {sentence}")
    with closing(prover):
        prove_rules(settings, prover.solved)  # which reads the tools' files, and that runs them
    return replace(settings, porter=porter)


class Prover:
    """Proves rules outside the walls, inside which no program can be started. It is told the rules and no code."""

    def __init__(self) -> None:
        """Fork; only in a process of one thread."""
        self._ours, theirs = socket.socketpair()
        self._child = os.fork()
        if self._child == 0:
            try:
                self._ours.close()
                if question := _whole(theirs):
                    theirs.sendall(solved(question).encode())
            finally:
                os._exit(0)
        theirs.close()

    def solved(self, question: str) -> str:
        """Do what `prove.solved` does. Once."""
        self._ours.sendall(question.encode())
        self._ours.shutdown(socket.SHUT_WR)
        return _whole(self._ours)

    def close(self) -> None:
        """Let it go; it has ended when this returns."""
        self._ours.close()
        os.waitpid(self._child, 0)


def _whole(stream: socket.socket) -> str:
    return b"".join(iter(partial(stream.recv, 65_536), b"")).decode()


def _plan(settings: Settings, roots: tuple[Path, ...]) -> Plan:
    told = tomllib.loads(settings.tools.read_text(encoding="utf-8")) if settings.tools else {}
    paths = list(_paths(told))
    given = (settings.agents, settings.policy, settings.tools, settings.house_key)
    reads = [
        *(Path(path) for path in _SYSTEM),
        *(Path(path).resolve() for path in sysconfig.get_paths().values()),
        *(Path(prefix, part) for prefix in (sys.prefix, sys.base_prefix) for part in ("lib", "pyvenv.cfg")),
        Path(tools_server.__path__[0]),
        *(file for file in given if file),
        *(path for ending, path in paths if ending == _FILES),
    ]
    writes = [settings.data, *roots, Path("/dev/null"), *(path for ending, path in paths if ending == _FOLDERS)]
    programs = tuple(_programs(told.get("upstream", {})))
    clears = (settings.socket.parent,) if settings.socket else ()
    return Plan(tuple(reads), tuple(writes), programs, clears)


def _paths(told: Any, name: str = "") -> Iterator[tuple[str, Path]]:
    """Find the files and folders in the settings of the tools: `atlas.toml` calls them so by their names' endings."""
    if isinstance(told, Mapping):
        for key, value in told.items():
            yield from _paths(value, key)
    elif isinstance(told, list):
        for value in told:
            yield from _paths(value, name)
    elif isinstance(told, str) and told:
        yield from ((ending, Path(told)) for ending in (_FILES, _FOLDERS) if name.endswith(ending))


def _programs(told: Any) -> Iterator[Path]:
    """Find what `[tools.upstream]` wants started: every `command`, what its first line calls for, what it is given."""
    for key, value in told.items() if isinstance(told, Mapping) else enumerate(told) if isinstance(told, list) else ():
        if key != "command":
            yield from _programs(value)
            continue
        words = value if isinstance(value, list) else [value]
        if program := which(str(words[0])) if words else None:
            yield from _with_interpreter(Path(program))
            yield Path("/proc/self")  # runtimes look up where they lie
        given = told.get("args", []) if isinstance(told, Mapping) else []
        yield from (Path(word) for word in (*words[1:], *given) if isinstance(word, str) and word.startswith("/"))


def _with_interpreter(program: Path) -> Iterator[Path]:
    real = program.resolve()
    yield from (program, real, *LOADERS)
    yield real.parent.parent / "lib"  # node and python keep what they need there
    with real.open("rb") as opened:
        first = opened.readline(256)
    if first.startswith(b"#!"):
        words = first[2:].decode("utf-8", "replace").split()
        for word in words[: 2 if words and words[0].endswith("/env") else 1]:
            if found := which(word):
                yield from _with_interpreter(Path(found))
