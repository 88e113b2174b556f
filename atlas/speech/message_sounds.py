"""The sound of messages, a file for each: on the disk before it is acknowledged, gone when its message is."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

import anyio.to_thread

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.errors import SoundError, StoreError
from atlas.speech.wav import read_wav, wav_header
from wall.files import sync_folder

LONGEST_SECONDS = 60.0
MOST_FILES = 100  # more than there may be messages; 190 MB
T = TypeVar("T")
_NAME = re.compile(r"(?:broadcast|message)_[0-9a-f]{8,32}")


class MessageSounds:
    """Sounds by the id of what they belong to. Its methods work on the disk in threads; cancelling them is safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._awaited: set[str] = set()

    @property
    def awaited(self) -> bool:
        """Whether a message is just being left whose sound is not here yet: it must not be said without it."""
        return bool(self._awaited)

    def begin(self, name: str) -> None:
        """Have nobody say a message without its sound until `end` of this name."""
        self._awaited.add(name)

    def end(self, name: str) -> None:
        """Let messages be said again."""
        self._awaited.discard(name)

    @contextmanager
    def awaiting(self) -> Iterator[None]:
        """Have nobody say a message without its sound inside the block."""
        name = token_hex(8)
        self.begin(name)
        try:
            yield
        finally:
            self.end(name)

    async def put(self, id: str, sound: AudioChunk) -> None:
        """Store a sound at the hearing rate; when it returns, a power cut loses nothing of it. Raises `StoreError`."""
        assert sound.rate == HEARING_RATE
        if not _NAME.fullmatch(id) or sound.seconds > LONGEST_SECONDS + 1:
            raise StoreError(f"no recording can be called {id!r} and last {sound.seconds:.0f} s")
        await self._in_thread(partial(self._write, id, sound))

    async def get(self, id: str) -> AudioChunk | None:
        """Return a sound; `None` where there is none, or none that can be read."""

        def read() -> AudioChunk | None:
            with suppress(OSError, SoundError):
                return read_wav((self._folder / f"{id}.wav").read_bytes(), LONGEST_SECONDS + 1)
            return None

        return await self._in_thread(read) if _NAME.fullmatch(id) else None

    async def seconds(self, id: str) -> float:
        """Return how long a sound is; 0 where there is none."""

        def look() -> float:
            with suppress(OSError):
                size = (self._folder / f"{id}.wav").stat().st_size - len(wav_header(HEARING_RATE, 0))
                return size / SAMPLE_BYTES / HEARING_RATE
            return 0.0

        return await self._in_thread(look) if _NAME.fullmatch(id) else 0.0

    async def ids(self, kind: str) -> set[str]:
        """Return the ids of all sounds of a kind, such as "message", half-written ones too. Raises `StoreError`."""

        def look() -> set[str]:
            return {file.stem for file in self._folder.glob(f"{kind}_*")}

        return await self._in_thread(look)

    async def drop(self, id: str) -> None:
        """Delete a sound, for good. Raises `StoreError`."""

        def drop() -> None:
            for file in list(self._folder.glob(f"{id}.*")):
                file.unlink(missing_ok=True)
                sync_folder(self._folder)

        if _NAME.fullmatch(id):
            await self._in_thread(drop)

    def _write(self, id: str, sound: AudioChunk) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if len(list(self._folder.iterdir())) >= MOST_FILES:
            raise StoreError("there are too many recordings", spoken="There are too many messages in this house.")
        trial, whole = self._folder / f"{id}.part", self._folder / f"{id}.wav"
        with trial.open("wb") as out:
            out.write(wav_header(HEARING_RATE, sound.samples) + sound.pcm)
            out.flush()
            os.fsync(out.fileno())
        trial.rename(whole)
        sync_folder(self._folder)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            return await anyio.to_thread.run_sync(work)
        except OSError as trouble:
            text = f"a recording cannot be stored or deleted: {trouble.strerror}"
            raise StoreError(text, spoken="I can't store that recording.", hint="is the disk full?") from trouble
