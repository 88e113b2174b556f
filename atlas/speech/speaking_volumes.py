"""How loudly the house speaks through each device, as somebody said there: stored, and in force at once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import numpy as np

from atlas.audio import AudioChunk
from atlas.errors import ConfigError, StoreError
from wall.files import write_whole

VOLUMES_FILE = "speaking_volumes.json"  # of the data directory
AS_MADE = 50  # percent: sound goes out as the voice makes it
SOFTEST, LOUDEST = 10, 100
DECIBELS_BELOW, DECIBELS_ABOVE = 0.4, 0.2  # a percent: 10 is a whisper, 100 as loud as words stay clear
FULL_SCALE = 32767


class SpeakingVolumes:
    """The volumes of one house's devices, by their `device_key`. Tones and what rings are as loud as ever."""

    def __init__(self, data: Path, now: Callable[[], float] = time.monotonic) -> None:
        """Read what was set. Raises `ConfigError`. Blocking."""
        self._now = now
        self._lent: dict[str, tuple[int, float]] = {}  # percent, and until when
        self._file = data / VOLUMES_FILE
        self._devices: set[str] = set()  # for which the house makes the sound
        self._percents = _read(self._file)
        self._writing = anyio.Lock()

    def percent(self, device: str) -> int:
        """Return how loudly the house speaks through a device, from `SOFTEST` to `LOUDEST`."""
        lent, until = self._lent.get(device, (0, 0.0))
        return lent if self._now() < until else self._percents.get(device, AS_MADE)

    async def set(self, device: str, percent: int) -> int | None:
        """Speak there so loudly from now on; return how loudly that is, `None` where the house has no voice.

        Raises `StoreError` where that cannot be stored; then nothing has changed.
        """
        if device not in self._devices:
            return None
        percent = max(SOFTEST, min(LOUDEST, percent))
        async with self._writing:
            changed = {**self._percents, device: percent}
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_write, self._file, changed)
                self._percents = changed
            self._lent.pop(device, None)
        return percent

    def lend(self, device: str, percent: int, seconds: float) -> int | None:
        """Speak there so loudly for some time, then as before; return as `set` does. A restart, or `set`, ends it."""
        if device not in self._devices:
            return None
        percent = max(SOFTEST, min(LOUDEST, percent))
        self._lent[device] = percent, self._now() + seconds
        return percent

    def on(self, device: str) -> Callable[[AudioChunk], AudioChunk]:
        """Return what makes sound as loud as it is to be on a device for which the house makes it from now on."""
        self._devices.add(device)
        return partial(self._scaled, device)

    def _scaled(self, device: str, sound: AudioChunk) -> AudioChunk:
        """Return sound as loud as it is to be on a device; what is too loud is rounded, not cut."""
        above = self.percent(device) - AS_MADE
        if not above:
            return sound
        gain = 10 ** (above * (DECIBELS_ABOVE if above > 0 else DECIBELS_BELOW) / 20)
        samples = np.frombuffer(sound.pcm, "<i2").astype(np.float32) * (gain / FULL_SCALE)
        rounded = np.tanh(samples) if gain > 1 else samples
        return AudioChunk((rounded * FULL_SCALE).astype("<i2").tobytes(), sound.rate)


def _read(file: Path) -> Mapping[str, int]:
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        return {device: max(SOFTEST, min(LOUDEST, int(percent))) for device, percent in stored.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, OverflowError, TypeError, AttributeError) as trouble:
        hint = "delete it; every device speaks as loudly as at first then"
        raise ConfigError(f"{file} cannot be read: {trouble}", hint=hint) from None


def _write(file: Path, percents: Mapping[str, int]) -> None:
    try:
        write_whole(file, json.dumps(percents, ensure_ascii=False, indent=1).encode())
    except OSError as trouble:
        raise StoreError(f"{file} cannot be written: {trouble.strerror}", hint="free some disk space") from trouble
