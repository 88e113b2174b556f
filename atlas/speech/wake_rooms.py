"""What wakes each room of a house: thresholds that were set for it, in force at once, and the log it is tuned by."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import anyio
import anyio.to_thread

from atlas.conversation import Actor
from atlas.errors import ConfigError, StoreError
from atlas.speech.wake import Wake, WakeStream
from atlas.speech.wake_log import WakeEntry, WakeLog, listen_logged
from atlas.speech.wake_proposal import LabelledScore
from wall.files import write_whole

THRESHOLDS_FILE = "wake_thresholds.json"  # of the data directory
SWEEP_SECONDS = 15 * 60  # a room that nothing wakes forgets its sounds too
Follow = Callable[[], Awaitable[None]]


def wake_room(actor: Actor) -> str:
    """Return the room whose wake words are tuned together; a device that stands in none is one by itself."""
    return actor.room or actor.device


def folder_of(near_misses: Path, room: str) -> Path:
    """Return the folder of a room's log, whatever its name is."""
    return near_misses / quote(room, safe="").replace(".", "%2E")


def rooms_in(near_misses: Path) -> Sequence[str]:
    """Return the rooms that have a log, by their names."""
    return sorted(unquote(one.name) for one in near_misses.glob("*") if one.is_dir())


def labels_of(entries: Sequence[WakeEntry], phrase: str) -> Sequence[LabelledScore]:
    """Return what people said of a phrase in one room."""
    return [LabelledScore(one.score, one.meant) for one in entries if one.phrase == phrase and one.meant is not None]


def threshold_now(
    phrase: str, entries: Sequence[WakeEntry], tuned: Mapping[str, float], of_settings: float, of_engine: float = 0.0
) -> float:
    """Return how sure a room has to be of a phrase: as somebody set, as the settings or its engine say, or as at last.

    `of_engine` is 0 where no engine is open, or it listens for the phrase no more. 0 when nobody knows.
    """
    last = next((one.threshold for one in reversed(entries) if one.phrase == phrase), 0.0)
    return tuned.get(phrase) or of_settings or of_engine or last


class WakeRooms:
    """The rooms of one house. Rooms are called as the devices in them are told to stand."""

    def __init__(self, data: Path, near_misses: Path) -> None:
        """Read which thresholds were set. Raises `ConfigError`. Blocking."""
        self._file = data / THRESHOLDS_FILE
        self._near_misses = near_misses
        self._thresholds = _read(self._file)
        self._writing = anyio.Lock()
        self._notes = ThreadPoolExecutor(1, "wake-log")  # a slow disk keeps no voice waiting
        self._followers: list[tuple[str, Follow | None]] = []

    def listen(self, wake: Wake, room: str, is_logged: Callable[[], bool]) -> WakeStream:
        """Return a detector for a microphone that the house hears in a room."""

        def note(*heard: Any) -> None:
            if is_logged():
                self._notes.submit(self._note, room, heard)

        return listen_logged(wake, note, lambda phrase: self.thresholds(room).get(phrase, 0.0))

    def thresholds(self, room: str) -> Mapping[str, float]:
        """Return the thresholds that were set in a room, by phrase."""
        return self._thresholds.get(room, {})

    def rooms(self) -> Sequence[str]:
        """Return the rooms that have a log or a threshold, to the last. Blocking."""
        self._written()
        return sorted({*rooms_in(self._near_misses), *self._thresholds})

    def log(self, room: str) -> WakeLog:
        """Return what woke a room and what nearly did, to the last. Blocking."""
        self._written()
        return WakeLog(folder_of(self._near_misses, room))

    async def set_threshold(self, room: str, phrase: str, threshold: float | None) -> bool:
        """Have a room go by a threshold from now on, or by the engine's own; tell whether it is there to be told.

        Raises `StoreError` where that cannot be stored; then nothing has changed.
        """
        async with self._writing:
            of_room = {name: value for name, value in self.thresholds(room).items() if name != phrase}
            if threshold is not None:
                of_room[phrase] = threshold
            changed = {name: one for name, one in {**self._thresholds, room: of_room}.items() if one}
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_write, self._file, changed)
                self._thresholds = changed
        followers = [follow for place, follow in self._followers if place == room]
        for follow in followers:
            if follow:
                await follow()
        return bool(followers)

    async def copy_thresholds(self, room: str, to: str) -> None:
        """Have what is called otherwise from now on go by the same thresholds. Raises `StoreError`."""
        async with self._writing:
            if room in self._thresholds:
                changed = {to: self._thresholds[room], **self._thresholds}
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(_write, self._file, changed)
                    self._thresholds = changed

    @contextmanager
    def present(self, room: str, follow: Follow | None = None) -> Iterator[None]:
        """Note that a room is there inside the block; one that wakes itself is told by `follow` of a new threshold."""
        self._followers.append(follower := (room, follow))
        try:
            yield
        finally:
            self._followers.remove(follower)

    async def sweep(self) -> None:
        """Delete what is too old, until cancelled."""
        while True:
            await anyio.to_thread.run_sync(self.prune)
            await anyio.sleep(SWEEP_SECONDS)

    def close(self) -> None:
        """Write what waits to be noted."""
        self._notes.shutdown()

    def _written(self) -> None:
        """Wait until everything that was heard before is noted."""
        self._notes.submit(int).result()

    def _note(self, room: str, heard: Sequence[Any]) -> None:
        WakeLog(folder_of(self._near_misses, room)).note(*heard)

    def prune(self) -> None:
        """Delete what is too old. Blocking."""
        for room in rooms_in(self._near_misses):
            self.log(room).prune()
        WakeLog(self._near_misses).prune()  # where older versions stored them


def _read(file: Path) -> Mapping[str, Mapping[str, float]]:
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        return {room: {phrase: float(one) for phrase, one in given.items()} for room, given in stored.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as trouble:
        raise ConfigError(
            f"{file} cannot be read: {trouble}", hint="delete it, and tune the wake words again"
        ) from None


def _write(file: Path, thresholds: Mapping[str, Mapping[str, float]]) -> None:
    try:
        write_whole(file, json.dumps(thresholds, ensure_ascii=False, indent=1).encode())
    except OSError as trouble:
        raise StoreError(f"{file} cannot be written: {trouble.strerror}", hint="free some disk space") from trouble
