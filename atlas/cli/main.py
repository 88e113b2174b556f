"""`atlas`: one word picks a command; each is a module with a `main`, imported only when it is asked for."""

from __future__ import annotations

import difflib
import os
import sqlite3
import sys
from collections.abc import Sequence
from importlib import import_module

from atlas import __version__
from atlas.errors import AtlasError
from wall.disk import disk_state
from wall.logs import failures_in

COMMANDS = {
    "run": "run Atlas in this terminal, until Ctrl-C",
    "ask": "ask something in writing",
    "confirm": "say yes or no to what waits for it",
    "hear": "play a sound file to Atlas at speaking speed, and hear the answer",
    "announce": "have something said in every room, or in one",
    "conversations": "search, export or forget what was said",
    "pair": "invite a device: a link, or six digits to type there",
    "voices": "whose voice is known in rooms: record one, list them, delete one",
    "token": "let a device in, list those that may come in, take a token back",
    "backup": "back the house up while it runs, and give it back",
    "doctor": "find out what is wrong, and what to do about it",
    "satellite": "make a room of this machine: its microphone, its loudspeaker, a wake word",
    "satellites": "which rooms the house calls, and which on this network it could",
    "wake": "what woke rooms and what nearly did, was it meant, and which threshold that proposes",
    "models": "list, check and fetch model files",
    "bench": "measure this machine",
}
# Products of a few thousand numbers: a second thread for them costs more than it saves, most of all beside a model that
# computes on every core (the slowest understood sentence in a hundred: 24 ms instead of 70).
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
INTERRUPTED_STATUS = 130  # what shells expect of a program that Ctrl-C ended


def main() -> None:
    """Run the command line and exit with its status."""
    os.environ.setdefault(*ONE_THREAD)  # before numpy is imported, here and in every process that is started from here
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; trouble in the world is printed as a sentence and what to do, and makes the status 1."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    if arguments[0] in ("-V", "--version"):
        print(f"atlas {__version__}")
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, 1)
        print(
            f"atlas: there is no command {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""), file=sys.stderr
        )
        print("`atlas --help` lists them.", file=sys.stderr)
        return 2
    try:
        return int(import_module(f"atlas.cli.{name}").main(rest))
    except KeyboardInterrupt:
        return INTERRUPTED_STATUS
    except BrokenPipeError:  # `atlas … | head`: nobody reads on, and Python must not try to flush at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (AtlasError, OSError, sqlite3.Error) as trouble:
        if not _is_of_the_world(trouble):
            raise
        print(error_text(trouble), file=sys.stderr)
    except BaseExceptionGroup as group:  # what a task group makes of them
        troubles, mistakes = group.split(_is_of_the_world)
        if troubles is None or mistakes is not None:
            raise
        for exception in failures_in(troubles):
            print(error_text(exception), file=sys.stderr)
    return 1


def _is_of_the_world(trouble: BaseException) -> bool:
    """Tell whether a failure is nobody's mistake here: one that we know, or a disk that is full or read-only."""
    return isinstance(trouble, AtlasError) or bool(disk_state(trouble))


def error_text(trouble: BaseException) -> str:
    """Return an error as a person should read it: what happened, and what to do now."""
    what, hint = str(trouble).rstrip("."), trouble.hint if isinstance(trouble, AtlasError) else ""
    if state := disk_state(trouble):
        what, hint = f"the disk is {state} ({what})", "`atlas doctor` says which, and what to do"
    return f"atlas: {what}." + (f"\n       Now: {_ended(hint)}" if hint else "")


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith("?") else f"{sentence.rstrip('.')}."


def usage() -> str:
    """Return the list of commands."""
    lines = [f"  atlas {name:15}{what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            "Atlas, the voice of a house.",
            "",
            *lines,
            "",
            "`atlas COMMAND --help` says more. Settings: atlas.toml. Data: $ATLAS_DATA, else ~/.local/share/atlas.",
        ]
    )


if __name__ == "__main__":
    main()
