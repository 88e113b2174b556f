"""What woke a room and what nearly did, for a day: scores, short clips, and what people said of them.

A file of JSON for each, and a WAV beside it, in one folder that only its owner may read. Nothing else looks at them.
"""

from __future__ import annotations

import json
import logging
import re
import time
import wave
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from atlas.audio import SAMPLE_BYTES, AudioChunk
from atlas.errors import RequestError

DAY_SECONDS = 24 * 60 * 60
MOST_ENTRIES = 200  # of 96 kB each
_SUFFIXES = (".wav", ".json", ".draft")
_ID = re.compile(r"\d{8}T\d{6}Z(-\d+)?")
log = logging.getLogger("atlas")


@dataclass(frozen=True, slots=True)
class WakeEntry:
    """One time that a phrase was heard, or nearly."""

    id: str
    at: float  # seconds since 1970
    phrase: str
    score: float
    woke: bool
    meant: bool | None = None  # was it for the house? `None` until a person said


@dataclass(frozen=True, slots=True)
class ThresholdEffect:
    """What a threshold would have done to what is known of the last day."""

    threshold: float
    heard: int  # of what was meant
    missed: int
    false: int  # of what was not meant, and would have woken the room
    silent: int
    unlabelled: int  # that would have woken it, and nobody said whether rightly


class WakeLog:
    """The folder of one room."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self._clock = clock
        self.prune()

    def note(self, phrase: str, score: float, sound: AudioChunk, *, woke: bool) -> None:
        """Store one, and forget what is older than a day. A full disk costs a line in the log, and no wake word."""
        now = self._clock()
        identity = self._fresh(now)
        entry = WakeEntry(identity, now, phrase, round(score, 3), woke)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.prune()
            with wave.open(str(self.clip(identity)), "wb") as out:
                out.setnchannels(1)
                out.setsampwidth(SAMPLE_BYTES)
                out.setframerate(sound.rate)
                out.writeframes(sound.pcm)
            self._write(entry)
        except OSError as trouble:
            log.warning("a near miss was not stored: %s", trouble.strerror)

    def entries(self) -> Sequence[WakeEntry]:
        """Return what there is of the last day, oldest first."""
        stored = [entry for file in sorted(self.folder.glob("*.json")) if (entry := _read(file))]
        return [entry for entry in stored if entry.at > self._clock() - DAY_SECONDS]

    def label(self, identity: str, *, meant: bool) -> WakeEntry:
        """Note whether somebody had meant the house. Raises `RequestError` where there is no such entry."""
        entry = _read(self.folder / f"{identity}.json") if _ID.fullmatch(identity) else None
        if entry is None:
            raise RequestError(
                f"there is no {identity!r} of the last day",
                code="not_found",
                hint="`atlas wake list` shows what there is",
            )
        labelled = replace(entry, meant=meant)
        self._write(labelled)
        return labelled

    def forget(self, identity: str = "") -> int:
        """Delete one, or all; return how many there were."""
        wanted = [stem for stem in self._stems() if identity in ("", stem)]
        for stem in wanted:
            self._delete(stem)
        return len(wanted)

    def effect(self, threshold: float) -> ThresholdEffect:
        """Return what a threshold would have changed."""
        entries = self.entries()
        over = [entry for entry in entries if entry.score >= threshold]
        meant, unmeant = ([one for one in entries if one.meant is label] for label in (True, False))
        return ThresholdEffect(
            threshold,
            heard=sum(one.score >= threshold for one in meant),
            missed=sum(one.score < threshold for one in meant),
            false=sum(one.score >= threshold for one in unmeant),
            silent=sum(one.score < threshold for one in unmeant),
            unlabelled=sum(one.meant is None for one in over),
        )

    def prune(self) -> None:
        """Delete what is older than a day, and the oldest of too many."""
        stems = self._stems()
        for place, stem in enumerate(stems):
            entry = _read(self.folder / f"{stem}.json")
            is_old = entry is None or entry.at <= self._clock() - DAY_SECONDS
            if is_old or place < len(stems) - MOST_ENTRIES + 1:
                self._delete(stem)

    def _stems(self) -> list[str]:
        """Return how the files of all entries begin, also where only the sound was written."""
        return sorted(
            {file.stem for file in self.folder.glob("*") if file.suffix in _SUFFIXES and _ID.fullmatch(file.stem)}
        )

    def clip(self, identity: str) -> Path:
        """Return where the sound of one is."""
        return self.folder / f"{identity}.wav"

    def _fresh(self, now: float) -> str:
        stem = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
        identity, number = stem, 1
        while (self.folder / f"{identity}.json").exists():
            identity, number = f"{stem}-{number}", number + 1
        return identity

    def _write(self, entry: WakeEntry) -> None:
        draft = self.folder / f"{entry.id}.draft"
        draft.write_text(json.dumps(asdict(entry)), encoding="utf-8")
        draft.replace(self.folder / f"{entry.id}.json")

    def _delete(self, identity: str) -> None:
        for suffix in _SUFFIXES:
            with suppress(OSError):
                (self.folder / f"{identity}{suffix}").unlink()


def _read(file: Path) -> WakeEntry | None:
    try:
        return WakeEntry(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # a file that was half written, or is none of ours
