"""One Atlas for each data directory: holding it, and asking who does."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from atlas.config import Config
from atlas.errors import ConfigError

WARMING_UP = "warming-up"


@contextmanager
def only_one(config: Config) -> Iterator[Callable[[], None]]:
    """Hold the data directory; yields what notes that the house answers. Raises `ConfigError` when another Atlas does.

    The file says the process, and behind it that it is warming up, until it answers.
    """
    with _file(config).open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            lock.seek(0)
            raise ConfigError(
                f"Atlas is running already on {config.data} (process {_process(lock.read()) or 'unknown'})",
                hint="stop that one first, or give this one another ATLAS_DATA and ATLAS_GATEWAY_PORT",
            ) from held

        def note(*words: str) -> None:
            lock.truncate(0)
            lock.write(" ".join(words))
            lock.flush()

        note(str(os.getpid()), WARMING_UP)
        yield partial(note, str(os.getpid()))


def running_process(config: Config) -> int | None:
    """Return the process that holds the data directory; `None` when nobody does."""
    return _process(_held(config))


def warming_up_seconds(config: Config) -> float | None:
    """Return for how long the house has been warming up; `None` when it answers, or does not run."""
    if WARMING_UP not in _held(config).split():
        return None
    return max(0.0, time.time() - _file(config).stat().st_mtime)


def _held(config: Config) -> str:
    """Return what the file says while somebody holds it, else ""."""
    try:
        with _file(config).open(encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read()
    except OSError:
        return ""
    return ""


def _process(text: str) -> int | None:
    words = text.split()
    return int(words[0]) if words and words[0].isdecimal() else None


def _file(config: Config) -> Path:
    return config.run / "lock"
