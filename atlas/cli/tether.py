"""Run a program that dies with whoever started it: `python -m atlas.cli.tether PARENT PROGRAM ARGUMENT…`."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1  # prctl(2): the signal this process gets when its parent dies; kept over exec


def tethered(*command: str) -> list[str]:
    """Return the command line by which `command` dies with this process. Start it from the main thread."""
    return [sys.executable, "-m", "atlas.cli.tether", str(os.getpid()), *command]


def tie_to(parent: int) -> None:
    """Let this process die with `parent`, and end it now if that has gone already. Without Linux nothing is tied."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the tether was tied
            sys.exit(1)


def main(parent: int, command: list[str]) -> None:
    """Become `command`, tied to `parent`."""
    tie_to(parent)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what it remembers of people is not left on the disk
    os.execvp(command[0], command)  # noqa: S606  # the command comes from children.py, and no shell reads it


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
