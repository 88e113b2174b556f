"""Makes a backup a day where [backup] names a folder, and knows why the last one was not made."""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, tzinfo

import anyio
import anyio.to_thread

from atlas.config import Config
from atlas.own_command import own_command
from atlas.store.backup import failed_backup, last_backup, note_failure

LOOK_SECONDS = 60.0
AGAIN_SECONDS = 3_600.0  # after one that failed: the disk may be back by then
MOST_WHY = 500  # letters of what a failed backup wrote last
log = logging.getLogger("atlas")
MakeBackup = Callable[[Config], Awaitable[str]]  # returns why none was made; "" when one was


async def watch_backups(
    settings: Callable[[], Config], zone: tzinfo | None, make: MakeBackup, now: Callable[[], float] = time.time
) -> None:
    """Make each backup when it is due, or when the house runs again, until cancelled."""
    while True:
        await anyio.sleep(LOOK_SECONDS)
        await look(settings(), zone, make, now)


async def look(config: Config, zone: tzinfo | None, make: MakeBackup, now: Callable[[], float] = time.time) -> None:
    """Make the day's backup when it is due, and note why where that failed."""
    last, failed = last_backup(config.data), failed_backup(config.data)
    made_at = last.daily_at if last else 0.0
    if not config.backup.folder or not is_due(now(), made_at, config.backup.hour, zone):
        return
    if failed and 0 <= now() - failed.at < AGAIN_SECONDS:
        return
    if why := await make(config):
        log.error("the backup of today was not made: %s", why)
        await anyio.to_thread.run_sync(note_failure, config, now(), why)


def is_due(now: float, made_at: float, hour: int, zone: tzinfo | None) -> bool:
    """Tell whether the hour of a day has passed since the last one was made, both in seconds since 1970."""
    moment = datetime.fromtimestamp(now, zone)
    due = moment.replace(hour=hour, minute=0, second=0, microsecond=0)
    if due > moment:
        due -= timedelta(days=1)
    return made_at < due.timestamp() or made_at > now + AGAIN_SECONDS  # a clock that was far ahead counts for nothing


async def make_backup(config: Config) -> str:
    """Have another process make the backup, for it reads and hashes gigabytes. Cancelling ends it, and leaves none."""
    command, environment = own_command(config, "backup", "create")
    done = await anyio.run_process(command, check=False, env=environment, stdout=subprocess.DEVNULL)
    text = done.stderr.decode(errors="replace").strip()[-MOST_WHY:]
    if done.returncode == 0:
        if text:
            log.warning("the backup of today is made, but %s", text)
        return ""
    return text.removeprefix("atlas: ") or f"it ended with status {done.returncode}"
