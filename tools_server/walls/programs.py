"""What a program needs of the disk to start and to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import which
from typing import Any

SYSTEM = (  # shared libraries, time zones, certificates, words; nothing about people or other programs
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/nix/store"),
    *("/usr/share/zoneinfo", "/etc/localtime", "/etc/timezone", "/usr/share/locale", "/usr/share/mime"),
    *("/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/pki", "/usr/share/ca-certificates", "/etc/mime.types"),
    *("/dev/urandom", "/dev/random", "/sys/devices/system/cpu", "/proc/meminfo", "/proc/cpuinfo", "/proc/stat"),
)
LOADERS = tuple(map(Path, ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")))  # start every program


def programs_of(settings: Any) -> Iterator[Path]:
    """Find what `[tools.upstream]` wants started: every `command`, what its first line calls for, what it is given."""
    for key, value in (
        settings.items() if isinstance(settings, Mapping) else enumerate(settings) if isinstance(settings, list) else ()
    ):
        if key != "command":
            yield from programs_of(value)
            continue
        words = value if isinstance(value, list) else [value]
        if program := which(str(words[0])) if words else None:
            yield from _with_interpreter(Path(program))
            yield Path("/proc/self")  # runtimes look up where they lie
        given = settings.get("args", []) if isinstance(settings, Mapping) else []
        yield from (Path(word) for word in (*words[1:], *given) if isinstance(word, str) and word.startswith("/"))


def _with_interpreter(program: Path) -> Iterator[Path]:
    real = program.resolve()
    yield from (program, real, *LOADERS)
    for home in {program.parent.parent, real.parent.parent}:  # node and python keep what they need there
        yield from (home / "lib", home / "pyvenv.cfg")
    with real.open("rb") as opened:
        first = opened.readline(256)
    if first.startswith(b"#!"):
        words = first[2:].decode("utf-8", "replace").split()
        for word in words[: 2 if words and words[0].endswith("/env") else 1]:
            if hit := which(word):
                yield from _with_interpreter(Path(hit))
