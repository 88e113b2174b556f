"""Run a command when something happens in the room: a light, a relay, music to be turned down."""

from __future__ import annotations

import logging
import os
import shlex
import subprocess
from collections.abc import Mapping

import anyio
from anyio.abc import TaskGroup

MOST_AT_ONCE = 4  # more are left out: a light that is behind is of no use
SECONDS = 10.0  # then it is ended
log = logging.getLogger("atlas")


class Hooks:
    """Commands by event; each is told the event and what belongs to it in its environment."""

    def __init__(self, commands: Mapping[str, str], tasks: TaskGroup) -> None:
        self._commands = {event: shlex.split(command) for event, command in commands.items()}
        self._tasks = tasks
        self._running = 0

    def __call__(self, event: str, **more: str) -> None:
        """Run the command of `event`, if it has one, without waiting for it."""
        log.info("%s%s", event, "".join(f" {name}={value!r}" for name, value in more.items() if name != "text"))
        if event in self._commands and self._running < MOST_AT_ONCE:
            self._running += 1
            self._tasks.start_soon(self._run, event, more)

    async def _run(self, event: str, more: Mapping[str, str]) -> None:
        words = {f"ATLAS_{name.upper()}": value for name, value in {"event": event, **more}.items()}
        try:
            with anyio.fail_after(SECONDS):
                done = await anyio.run_process(
                    self._commands[event], check=False, env=os.environ | words, stderr=subprocess.DEVNULL
                )
                if done.returncode:
                    log.warning("the hook of %s ended with status %s", event, done.returncode)
        except (OSError, TimeoutError) as trouble:
            log.warning("the hook of %s failed: %s", event, trouble or "it took too long")
        finally:
            self._running -= 1
