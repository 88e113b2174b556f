"""Writes down every call, and holds to the rule that nothing is done without it."""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

import anyio

from tools_server.sdk.arguments import printable, raw_digest
from tools_server.sdk.state import ChangeReceipt, StoredReceipt, ToolsDatabase
from tools_server.sdk.toolkit import ToolSpec
from tools_server.values.language import noted
from tools_server.values.policy import AgentAccount, CallActor, Decision
from wall.chain import Chain, newest_first, opened
from wall.disk import FULL

UNWRITABLE = noted("I can't write down what I do, so I do nothing more. Is the disk full?")
FLUSH_SECONDS = 1.0  # how long the record of a read may be with the kernel only
STRANGERS_TOLD = 20  # of one minute; whoever knocks may be a loop, and must not fill the disk
REFUSALS_TOLD = 600  # of one agent in one minute: a model that is wrong all the time is wrong ten times less often
MOST_RECEIPTS = 64  # that may want a row at a start: more calls than can be under way when a server ends
MOST_ROWS = 50_000  # looked through for them: a few days of reads between so many changes; takes a second at most
MOST_OWED = 1_000  # only calls that were under way when the disk became full, and looks of the bell that failed
REFUSED = ("denied", "invalid", "not_found", "confirm", "asked", "failed")
UNREAD = Decision("deny", "unread", "")
_TRACE = re.compile(r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?")  # W3C traceparent


@dataclass(slots=True)
class AuditEntry:
    """What will be written of one call; filled in as the call goes its way."""

    agent: AgentAccount
    tool: str
    given: Any  # the arguments as they came
    turn: Any = None
    route: str = ""
    trace: Any = None  # `_meta["traceparent"]`
    spec: ToolSpec | None = None
    actor: CallActor = CallActor()
    arguments_sha256: str = ""  # of the canonical arguments, once they are checked
    decision: Decision = UNREAD
    confirmation: dict[str, Any] | None = None  # the question, and who answered what through which channel
    cost: int | None = None  # None: it did not run
    outcome: str = "crashed"
    reason: str = ""  # of a refusal, in one word: "escape", "forged"
    receipt: ChangeReceipt | None = None
    tainted: bool = False  # who wished it had read words of others
    untrusted: bool = False  # what was answered holds some

    @property
    def routine(self) -> bool:
        """Whether it is not worth a row: the house's own polling would fill the disk."""
        return bool(self.spec and self.spec.routine and self.outcome == "ok")

    @property
    def refused(self) -> bool:
        """Whether nothing came of it, not even a person's answer."""
        answered = "answer" in (self.confirmation or {})
        return self.cost is None and not answered and not self.untrusted and self.outcome in REFUSED

    @property
    def durable(self) -> bool:
        """Whether a power cut must not lose it: everything but a read that worked."""
        return not (self.spec and self.spec.reads and self.outcome == "ok")

    def row(self, at: float, seconds: float, process: str) -> dict[str, Any]:
        """Return the row: names, hashes and reasons, no contents."""
        named = self.given if isinstance(self.given, Mapping) and self.spec else {}
        return {
            "at": at,
            "agent": self.agent.name,
            "actor": asdict(self.actor),
            "turn": printable(self.turn) if isinstance(self.turn, str) else "",
            "tool": printable(self.tool),
            "risk": self.spec.action.risk if self.spec else "",
            # Only names that the tool takes: others would be contents.
            "arguments": [name for name in self.spec.schema["properties"] if name in named] if self.spec else [],
            "arguments_sha256": self.arguments_sha256 or raw_digest(self.given),
            "verdict": self.decision.verdict,
            "rule": self.decision.rule,
            "confirmation": self.confirmation,
            "cost": self.cost,
            "outcome": self.outcome,
            "reason": self.reason,
            "receipt": self.receipt.id if self.receipt else "",
            "tainted": self.tainted,
            "untrusted": self.untrusted,
            "ms": round(seconds * 1000, 3),
            "route": self.route,
            "trace": trace_id(self.trace),
            "process": process,
        }


def trace_id(traceparent: Any) -> str:
    """Return the trace that a call belongs to, 32 hexadecimal digits; "" when it does not say so properly."""
    match = _TRACE.fullmatch(traceparent) if isinstance(traceparent, str) else None
    return match[1] if match else ""


class Flood:
    """Comings without effect: the first of each minute have a row each, the rest are told of with the next one."""

    def __init__(self, now: Callable[[], float], count: int) -> None:
        self._now = now
        self._told = count
        self._since = -math.inf
        self._came = 0

    def came(self) -> int | None:
        """Count one. Return how many went untold before it, None when it goes untold itself."""
        now, untold = self._now(), 0
        if not 0 <= now - self._since < 60:  # also when the clock was set back
            untold = max(0, self._came - self._told)
            self._since, self._came = now, 0
        self._came += 1
        return untold if self._came <= self._told else None


class AuditRecord:
    """The audit, and what becomes of a server that cannot write to it."""

    def __init__(self, audit: Chain) -> None:
        self.chain = audit
        self._disk: Literal["well", "full", "broken"] = "well"
        self._owed: deque[Mapping[str, Any]] = deque(maxlen=MOST_OWED)  # rows of the calls that found it full

    def write(self, row: Mapping[str, Any], *, durable: bool) -> bool:
        """Append a row; false when the disk did not take it. Then no more calls are accepted."""
        try:
            self.chain.append(row, durable=durable)
        except OSError as trouble:
            self._refused(trouble)
            if row["agent"]:  # a stranger did nothing that must be known
                self._owed.append(row)
            return False
        return True

    def _refused(self, trouble: OSError) -> None:
        """Accept no more calls: power without a record is the one thing this server must not have."""
        if self._disk != "broken":
            self._disk = "full" if trouble.errno in FULL else "broken"  # another is not to be believed again

    def writable(self) -> bool:
        """Tell whether calls can be recorded; once a full disk has room again, after writing down what is owed."""
        if self._disk == "full":
            try:
                while self._owed:
                    self.chain.append(self._owed[0])
                    self._owed.popleft()
                self._disk = "well"
            except OSError as trouble:
                self._refused(trouble)
        return self._disk == "well"

    async def keep_flushed(self) -> None:
        """Bring the record of reads to the disk every second, until cancelled. A disk that fails ends all calls."""
        while self._disk != "broken":
            await anyio.sleep(FLUSH_SECONDS)
            self.flush()

    def flush(self) -> None:
        """Bring the record to the disk now."""
        try:
            self.chain.flush()
        except OSError:
            self._disk = "broken"  # also by a full one: rows that were handed over may be gone, and are not here

    def unrecorded(self, state: ToolsDatabase) -> list[StoredReceipt]:
        """Return the last receipts that no row tells of, the oldest first: a kill kept their rows out of the record.

        A receipt from before the rows is passed over: where a record was moved away, nothing can be said. Raises
        `OSError`.
        """
        missing = {receipt.id: receipt for receipt in state.receipts(MOST_RECEIPTS)}
        oldest_at = math.inf
        with opened(self.chain.file) as files:
            for row in islice(newest_first(files), MOST_ROWS):
                if not missing:
                    break
                oldest_at = at = row["at"] if isinstance(row.get("at"), int | float) else oldest_at
                if id := row.get("receipt"):
                    missing.pop(id, None)
                    continue
                # A call that was given up, or failed, has a row of its own for what it had done by then.
                call = (row.get("agent"), row.get("tool"), row.get("turn"))
                missing = {
                    id: one for id, one in missing.items() if (one.agent, one.tool, one.turn) != call or one.at > at
                }
        return [receipt for receipt in reversed(missing.values()) if receipt.at >= oldest_at]
