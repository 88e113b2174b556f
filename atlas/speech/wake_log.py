"""What woke a room and what nearly did: for a day, with short clips; what people said of them, without, for a month.

A file of JSON for each, and a WAV beside it, in one folder that only its owner may read.
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

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.errors import RequestError
from atlas.speech.wake import NearMiss, Thresholds, Wake, WakeStream, no_threshold, nobody_near

DAY_SECONDS = 24 * 60 * 60
LABELLED_SECONDS = 30 * DAY_SECONDS  # nobody says of five in one day whether they were meant
MOST_ENTRIES = 200  # of 96 kB each, and as many that have a label
CLIP_SECONDS = 3.0
PEAK_SECONDS = 0.5  # after a phrase, in which its score may still rise
CLIP_BYTES = round(CLIP_SECONDS * HEARING_RATE) * SAMPLE_BYTES
Note = Callable[[str, float, float, AudioChunk, bool], object]  # phrase, score, threshold, sound, did it wake?
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
    threshold: float  # that held then
    woke: bool
    meant: bool | None = None  # was it for the house? `None` until a person said


@dataclass(frozen=True, slots=True)
class ThresholdEffect:
    """What a threshold would have done to what is known."""

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

    def note(self, phrase: str, score: float, threshold: float, sound: AudioChunk, woke: bool) -> None:
        """Store one, and forget what is too old. A full disk costs a line in the log, and no wake word."""
        now = self._clock()
        identity = self._fresh(now)
        entry = WakeEntry(identity, now, phrase, round(score, 3), round(threshold, 3), woke)
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
        """Return what there is, oldest first."""
        stored = [entry for file in self.folder.glob("*.json") if (entry := _read(file)) and not self._is_over(entry)]
        return sorted(stored, key=lambda entry: entry.at)

    def is_of_today(self, entry: WakeEntry) -> bool:
        """Tell whether it was heard in the last day; its sound is no older."""
        return entry.at > self._clock() - DAY_SECONDS

    def label(self, identity: str, *, meant: bool) -> WakeEntry:
        """Note whether somebody had meant the house. Raises `RequestError` where there is no such entry."""
        labelled = replace(self.entry(identity), meant=meant)
        self._write(labelled)
        return labelled

    def entry(self, identity: str) -> WakeEntry:
        """Return one. Raises `RequestError` where there is none of that id."""
        entry = _read(self.folder / f"{identity}.json") if _ID.fullmatch(identity) else None
        if entry is None or self._is_over(entry):
            raise RequestError(
                f"there is no {identity!r}", code="not_found", hint="`atlas wake list` shows what there is"
            )
        return entry

    def forget(self, identity: str = "") -> int:
        """Delete one, or all; return how many there were."""
        wanted = [stem for stem in self._stems() if identity in ("", stem)]
        for stem in wanted:
            self._delete(stem)
        return len(wanted)

    def effect(self, phrase: str, threshold: float) -> ThresholdEffect:
        """Return what a threshold of a phrase would have done."""
        entries = [entry for entry in self.entries() if entry.phrase == phrase]
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
        """Delete what is too old, sounds of more than a day, and the oldest of too many."""
        room_left = {True: MOST_ENTRIES - 1, False: MOST_ENTRIES - 1}  # of those with a label, and of those without
        for stem in reversed(self._stems()):
            entry = _read(self.folder / f"{stem}.json")
            if entry is None or self._is_over(entry) or not room_left[entry.meant is not None]:
                self._delete(stem)
                continue
            room_left[entry.meant is not None] -= 1
            if not self.is_of_today(entry):
                with suppress(OSError):
                    self.clip(stem).unlink()

    def _is_over(self, entry: WakeEntry) -> bool:
        stored_seconds = DAY_SECONDS if entry.meant is None else LABELLED_SECONDS
        return entry.at <= self._clock() - stored_seconds

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


def listen_logged(
    wake: Wake, note: Note, thresholds: Thresholds = no_threshold, near_miss: NearMiss = nobody_near
) -> WakeStream:
    """Return a detector whose wakings and near misses go to `note`, with the last moments of its sound."""
    return _LoggedStream(wake, note, thresholds, near_miss)


class _LoggedStream:
    """The detector of one microphone, and what it heard last."""

    said_on_seconds = score = threshold = 0.0

    def __init__(self, wake: Wake, note: Note, thresholds: Thresholds, near_miss: NearMiss) -> None:
        self._stream = wake.listen(thresholds, self._nearly)
        self._note = note
        self._near_miss = near_miss
        self._sound = bytearray()  # the last of it
        self._called = ""  # what woke the room and is not noted yet
        self._rising_samples = 0  # for how long its score may still rise

    def hear(self, chunk: AudioChunk) -> str | None:
        """Take the next chunk; return the phrase that was said."""
        self._sound += chunk.pcm
        del self._sound[:-CLIP_BYTES]
        phrase = self._stream.hear(chunk)
        self._rising_samples -= chunk.samples
        if phrase or self._rising_samples <= 0:
            self._note_called()
        stream = self._stream
        self.said_on_seconds, self.score, self.threshold = stream.said_on_seconds, stream.score, stream.threshold
        if phrase:
            self._called, self._rising_samples = phrase, round(PEAK_SECONDS * HEARING_RATE)
        return phrase

    def reset(self) -> None:
        """Forget what was heard."""
        self._note_called()
        self._sound.clear()
        self._stream.reset()

    def _note_called(self) -> None:
        if self._called:
            self._note(self._called, self.score, self.threshold, AudioChunk(bytes(self._sound)), True)
        self._called = ""

    def _nearly(self, phrase: str, score: float, threshold: float) -> None:
        self._near_miss(phrase, score, threshold)
        self._note(phrase, score, threshold, AudioChunk(bytes(self._sound)), False)


def _read(file: Path) -> WakeEntry | None:
    try:
        return WakeEntry(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None  # a file that was half written, or is none of ours
