"""Sign, every few seconds, how far the tool server's record goes: so that rows cut from its end are missed.

The tool server cannot sign, and the signature lies where it cannot write. Whoever cuts the record can therefore take
away no row that was signed without its being noticed: at the tool server's next start, at the next look from here, and
by `atlas doctor`. What was found wrong is not signed over, so it stays wrong until a person has looked at it.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from atlas.assent import HouseKey
from atlas.conversation import HOUSE, ToolCall, fresh_id
from atlas.mcp.tools import Tools
from wall.chain import Head

LOOK_SECONDS = 2.0  # rows that are younger can be cut off unseen, if their head is rewritten as well
log = logging.getLogger("atlas")


class Witness:
    """Knows how far the record went, and says so when it does not go that far any more."""

    def __init__(self, seal: HouseKey, tools: Tools, file: Path, now: Callable[[], float] = time.time) -> None:
        self.problem = ""  # a sentence once something is missing
        self._seal = seal
        self._tools = tools
        self._file = file
        self._now = now
        self._signed = seal.read_head(file) or Head()

    async def watch(self) -> None:
        """Look and sign until cancelled. Not once more then: the tool server ends at the same moment."""
        while True:
            await self.look()
            await anyio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Compare the record with what was signed last; when it is all there, sign what came since."""
        arguments = {"since": self._signed.seq}
        result = await self._tools.call(ToolCall(fresh_id("call"), "record.head", arguments), HOUSE, "")
        if not result.ok:
            return  # the bell tells of a tool server that is away
        head = Head(int(result.data["seq"]), str(result.data["hash"]))
        problem = str(result.data["problem"]) or self._missing(str(result.data["since_hash"]))
        if problem and problem != self.problem:
            log.error("the record of the tool server is not as it was written: %s; see `atlas doctor`", problem)
        self.problem = problem
        if not problem and head != self._signed:
            self._write(head)

    def _missing(self, since_hash: str) -> str:
        return "" if since_hash == self._signed.hash else f"row {self._signed.seq} is not the one that was signed"

    def _write(self, head: Head) -> None:
        draft = self._file.with_suffix(".draft")
        try:
            draft.unlink(missing_ok=True)
            draft.touch(mode=0o600)
            draft.write_text(self._seal.signed_head(head, self._now()), encoding="ascii")
            os.replace(draft, self._file)  # noqa: PTH105 — one step, and what was there before is replaced
        except OSError as trouble:
            log.warning("how far the record goes could not be signed: %s", trouble.strerror)
            return
        self._signed = head
