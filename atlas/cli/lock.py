"""One Atlas for each data directory: holding it, and asking who does."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atlas.config import Config
from atlas.errors import ConfigError


@contextmanager
def only_one(config: Config) -> Iterator[None]:
    """Hold the data directory. Raises `ConfigError` when another Atlas does."""
    with _file(config).open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as held:
            lock.seek(0)
            raise ConfigError(
                f"Atlas is running already on {config.data} (process {lock.read().strip() or 'unknown'})",
                hint="stop that one first, or give this one another ATLAS_DATA and ATLAS_GATEWAY_PORT",
            ) from held
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def running_process(config: Config) -> int | None:
    """Return the process that holds the data directory; `None` when nobody does."""
    try:
        with _file(config).open(encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(lock.read().strip() or 0) or None
    except (OSError, ValueError):
        return None
    return None


def _file(config: Config) -> Path:
    return config.run / "lock"
