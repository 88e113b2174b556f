"""Keeps computed prefixes of conversations in files, so that one goes on after its cells were given away.

A file holds what people said, in tokens and in the model's own numbers: folder and files are for this user only, and
their names do not tell whose they are. A file is believed only when it is whole, and was written by this model in these
settings by this llama.cpp; any other is removed with a line in the log. Losing one costs time, never words.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import stat
from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

MOST_FILES = 64  # the people of a household in its rooms, several times over
# A long conversation with a model of 70B has more than one of these gigabytes, with a small model a fiftieth of one.
MOST_BYTES = 4 * 1024**3
SPARE_BYTES = 256 * 1024**2  # left free on the disk: what can be computed again makes way for what cannot
HEAD_BYTES = 1024
SAMPLE_BYTES = 1024**2  # of each end of a model file, in which its settings and its last weights stand
ENDING = ".kv"
MODE = 0o700  # of the folder
log = logging.getLogger("atlas.llm_host")


Later = Callable[[Callable[[], None], int], None]


def at_once(work: Callable[[], None], _bytes: int) -> None:
    """Write now."""
    work()


@dataclass(frozen=True, slots=True)
class Stored:
    """Tokens, and the state of a sequence that holds them."""

    tokens: list[int]
    state: bytes


def identity(model: Path, settings: str) -> str:
    """Return what tells states of this model in these settings from all others.

    Hashing forty gigabytes would take longer than the states save, so of the file it takes the size and both ends.
    """
    size = model.stat().st_size
    checksum = hashlib.sha256(f"{size} {settings}\n".encode())
    with model.open("rb") as file:
        checksum.update(file.read(SAMPLE_BYTES))
        file.seek(max(0, size - SAMPLE_BYTES))
        checksum.update(file.read())
    return checksum.hexdigest()


class SequenceFiles:
    """The files of one model. Raises `OSError` when the folder cannot be made; later troubles are only logged."""

    def __init__(
        self,
        folder: Path,
        identity: str,
        *,
        later: Later = at_once,
        most_files: int = MOST_FILES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Look into `folder`. `later` does, or has somebody do, the writing of a state of so many bytes."""
        self._folder, self._identity, self.later = folder, identity, later
        self._most_files, self._most_bytes = most_files, most_bytes
        self._trouble = ""  # why nothing can be kept, said once: a disk that is full is so for a while
        folder.mkdir(parents=True, exist_ok=True, mode=MODE)
        if stat.S_IMODE(folder.stat().st_mode) != MODE:  # a disk that only reads can still be read from
            folder.chmod(MODE)
        for left in folder.glob("*.new"):  # by a process that was killed while it wrote
            _remove(left)

    def has_room_for(self, size: int) -> bool:
        """Say whether a state of so many bytes would be kept."""
        try:
            free = shutil.disk_usage(self._folder).free
        except OSError as trouble:  # somebody has removed the folder
            self._complain(str(trouble))
            return False
        if size + SPARE_BYTES > free:
            self._complain(f"the disk of {self._folder} has less than {SPARE_BYTES >> 20} MiB to spare")
            return False
        return size <= self._most_bytes

    def put(self, key: str, tokens: Sequence[int], state: bytes | memoryview) -> None:
        """Keep a state in place of an earlier one; the oldest of others make way. Not synced: see the caption."""
        self.later(partial(self._write, key, tokens, state), len(state))

    def _write(self, key: str, tokens: Sequence[int], state: bytes | memoryview) -> None:
        numbers = array("i", tokens).tobytes()
        head = {
            "identity": self._identity,
            "key": _digest(key.encode()),
            "tokens": len(tokens),
            "bytes": len(state),
            "digest": _digest(numbers, state),
        }
        path = self._path(key)
        new = path.with_suffix(".new")
        try:
            new.unlink(missing_ok=True)
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(json.dumps(head).encode().ljust(HEAD_BYTES - 1) + b"\n")
                file.write(numbers)
                file.write(state)
            new.rename(path)
            self._trouble = ""
            self._make_way()
        except OSError as trouble:
            self._complain(trouble.strerror or str(trouble))
            _remove(new)

    def tokens(self, key: str) -> list[int]:
        """Return the tokens that are kept for a conversation, without its state; none when nothing is."""
        try:
            with open(self._path(key), "rb", opener=_opener) as file:
                return self._tokens(file, self._head(file, key))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError) as trouble:
            self._ignore(key, trouble)
            return []

    def get(self, key: str) -> Stored | None:
        """Return what is kept for a conversation, checked; None when nothing is, or nothing that can be believed."""
        path = self._path(key)
        try:
            with open(path, "rb", opener=_opener) as file:
                head = self._head(file, key)
                tokens, state = self._tokens(file, head), file.read()
            if _digest(array("i", tokens).tobytes(), state) != head.get("digest"):
                raise ValueError("it is damaged")  # noqa: TRY301 - as the others that are found on the way
            with suppress(OSError):
                os.utime(path)  # used, so no longer among the oldest
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as trouble:
            self._ignore(key, trouble)
            return None
        return Stored(tokens, state)

    def drop(self, key: str) -> None:
        """Delete what is kept for a conversation, if anything. Raises `OSError` when it cannot be deleted."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / f"{_digest(key.encode())[:40]}{ENDING}"

    def _head(self, file: BinaryIO, key: str) -> Mapping[str, Any]:
        """Return the first line of a file. Raises `ValueError` when it is none of ours."""
        head = json.loads(file.read(HEAD_BYTES))
        if not isinstance(head, dict) or head.get("identity") != self._identity:
            raise ValueError("it is of another model, or other settings")
        if head.get("key") != _digest(key.encode()):
            raise ValueError("it is of another conversation")
        tokens, size = head.get("tokens"), head.get("bytes")
        if not (type(tokens) is int and type(size) is int and tokens >= 0 and size >= 0):
            raise ValueError("its head is damaged")
        if HEAD_BYTES + tokens * array("i").itemsize + size != os.fstat(file.fileno()).st_size:
            raise ValueError("it is not whole")
        return head

    @staticmethod
    def _tokens(file: BinaryIO, head: Mapping[str, Any]) -> list[int]:
        tokens = array("i")
        tokens.frombytes(file.read(head["tokens"] * tokens.itemsize))
        return tokens.tolist()

    def _ignore(self, key: str, trouble: Exception) -> None:
        path = self._path(key)
        log.warning("ignored what was kept in %s: %s", path.name, trouble)
        _remove(path)

    def _complain(self, trouble: str) -> None:
        if trouble != self._trouble:
            log.warning("a conversation could not be kept: %s", trouble)
        self._trouble = trouble

    def _make_way(self) -> None:
        """Delete the oldest files until number and size are within their limits."""
        files = sorted(self._folder.glob("*" + ENDING), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        left = self._most_bytes
        for count, path in enumerate(files, 1):
            left -= path.stat().st_size
            if count > self._most_files or left < 0:
                path.unlink(missing_ok=True)


def _opener(path: str, flags: int) -> int:
    """Open what is kept: no link is followed, and no pipe waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _remove(path: Path) -> None:
    """Delete a file that nobody wants, where that can be done."""
    with suppress(OSError):
        path.unlink()


def _digest(*parts: bytes | memoryview) -> str:
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    return checksum.hexdigest()
