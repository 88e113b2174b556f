"""Sessions of `atlas-tools call`: files of JSON lines, started, continued, resumed. What was called, never with what.

A session is the thread through calls that are separate processes: its id is the `turn` of each of them, so the record
and the receipts can be followed from it, and it from them. Each line is on the disk before the answer is given; a line
torn by a power cut was never answered for, is skipped by readers and cut off by the next writer.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wall.chain import rows_of
from wall.files import sync_folder

FOLDER = "sessions"
KEPT = 500  # the oldest are removed when new ones start
_ID = re.compile(r"sess_[0-9a-f]{16}")
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


class NoSession(Exception):
    """There is no such session, or not for this agent. `str()` is a sentence."""


@dataclass(frozen=True, slots=True)
class CallSession:
    """One session, known to exist."""

    id: str
    agent: str
    file: Path
    now: Callable[[], float]

    def write(self, type: str, **fields: Any) -> None:
        """Append a line, durably. Raises `OSError`."""
        self._append({"type": type, "at": round(self.now(), 3), **fields}, _FLAGS)

    def _append(self, fields: Mapping[str, Any], flags: int) -> None:
        number = os.open(self.file, flags, 0o600)
        try:
            fcntl.flock(number, fcntl.LOCK_EX)  # two calls may continue one session at a time
            size = os.fstat(number).st_size
            tail = os.pread(number, 64 * 1024, max(0, size - 64 * 1024))
            os.ftruncate(number, size - (len(tail) - tail.rfind(b"\n") - 1))
            os.write(number, json.dumps(fields).encode() + b"\n")
            os.fsync(number)
        finally:
            os.close(number)

    def lines(self) -> Iterator[dict[str, Any]]:
        """Give every whole line, the oldest first."""
        return rows_of(line for line in self.file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n"))

    def summary(self) -> dict[str, Any]:
        """Return what a list of sessions says of this one."""
        lines = list(self.lines())
        calls = [line for line in lines if line.get("type") == "tool_call"]
        first, last = lines[0].get("at"), lines[-1].get("at")
        return {"id": self.id, "agent": self.agent, "started": first, "last": last, "calls": len(calls)}


class Sessions:
    """The sessions in a data directory."""

    def __init__(self, data: Path, now: Callable[[], float]) -> None:
        self._folder = data / FOLDER
        self._now = now

    def start(self, agent: str) -> CallSession:
        """Make a session. Raises `OSError`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in self._files()[KEPT - 1 :]:
            old.unlink(missing_ok=True)
        id = f"sess_{secrets.token_hex(8)}"
        session = CallSession(id, agent, self._folder / f"{id}.jsonl", self._now)
        start = {"type": "session_start", "at": round(self._now(), 3), "id": id, "agent": agent}
        session._append(start, _FLAGS | os.O_CREAT | os.O_EXCL)
        sync_folder(self._folder)
        return session

    def latest(self, agent: str) -> CallSession:
        """Go on with the one that this agent used last. Raises `NoSession`."""
        for file in self._files():
            session = self._opened(file)
            if session and session.agent == agent:
                return self._continued(session)
        raise NoSession(f"The {agent} agent has no session to continue.")

    def resume(self, id: str, agent: str) -> CallSession:
        """Go on with this one. Raises `NoSession`."""
        session = self.find(id)
        if session.agent != agent:
            raise NoSession(f"The session {id} is not the {agent} agent's.")
        return self._continued(session)

    def find(self, id: str) -> CallSession:
        """Return a session without touching it. Raises `NoSession`."""
        if not _ID.fullmatch(id):
            raise NoSession("A session is named like sess_0123456789abcdef.")
        session = self._opened(self._folder / f"{id}.jsonl")
        if session is None:
            raise NoSession(f"There is no session {id}.")
        return session

    def all(self) -> list[CallSession]:
        """Return every session, the one used last first."""
        return [session for file in self._files() if (session := self._opened(file))]

    def _continued(self, session: CallSession) -> CallSession:
        session.write("session_continue")
        return session

    def _opened(self, file: Path) -> CallSession | None:
        session = CallSession(file.stem, "", file, self._now)
        try:
            first = next(session.lines(), {})
        except OSError:
            return None
        agent = first.get("agent")
        known = first.get("type") == "session_start" and first.get("id") == file.stem and isinstance(agent, str)
        return CallSession(file.stem, str(agent), file, self._now) if known else None

    def _files(self) -> list[Path]:
        """Return the files of sessions, the last written first."""
        files = [file for file in self._folder.glob("sess_*.jsonl") if _ID.fullmatch(file.stem)]
        return sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name), reverse=True)
