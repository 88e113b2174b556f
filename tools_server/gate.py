"""The one path of every call, whatever route it came by: identify → decide → run → record."""

from __future__ import annotations

import errno
import hashlib
import hmac
import math
import sqlite3
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime, tzinfo
from difflib import get_close_matches
from typing import Any, Literal

import anyio
from jsonschema import ValidationError

from tools_server.audit import Audit, canonical, digest
from tools_server.outside import NOWHERE, Outside
from tools_server.paths import PathDenied, Root
from tools_server.policy import ROLES, Actor, Agent, Decision, Policy, decide, standing, visible
from tools_server.requests import GivenUp, Request, Requests
from tools_server.state import Receipt, State
from tools_server.toolkit import Call, Error, Live, Result, Toolbox, ToolFailed, ToolSpec

ARGUMENT_BYTES = 64 * 1024  # a long note is a tenth of it
ARGUMENT_DEPTH = 16
ACTOR_CHARACTERS = 100  # of each of its names
UNWRITABLE = "I can't write down what I do, so I do nothing more. Is the disk full?"
FULL = (errno.ENOSPC, errno.EDQUOT)  # a disk that says anything else is not to be believed again
FLUSH_SECONDS = 1.0  # how long the record of a read may be with the kernel only
_PATH_ERRORS: Mapping[str, Error] = {"missing": "not_found", "changed": "failed", "exists": "failed"}


@dataclass(frozen=True, slots=True)
class Wish:
    """A call as it came over a wire, from an agent already identified. Nothing else in it is believed."""

    agent: Agent
    tool: str
    arguments: Any
    actor: Any = None  # `_meta["atlas.house/actor"]`
    turn: Any = None  # `_meta["atlas.house/turn"]`
    route: str = ""  # "2026-07-28 http", for the record
    wire: Any = None  # the protocol's own context, for tools that speak it themselves


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back. `error` is "" when it worked."""

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    receipt: Receipt | None = None
    error: Error | None = None
    reply: Any = None  # the protocol's own result, when the tool gave one


class Gate:
    """Every tool, behind the only way to it."""

    def __init__(
        self,
        toolbox: Toolbox,
        policy: Policy,
        agents: Mapping[str, Agent],  # by the SHA-256 of their token, in hex
        audit: Audit,
        state: State,
        roots: Mapping[str, Root],
        settings: Mapping[str, Any],  # of the tool files that have some
        outside: Outside = NOWHERE,
        now: Callable[[], float] = time.time,
        zone: tzinfo | None = None,
    ) -> None:
        self._toolbox = toolbox
        self._tools = toolbox.tools
        self._policy = policy
        self._settings = settings
        self._outside = outside
        self._engines: dict[str, Any] = {}
        self._agents = agents
        self.listeners: list[Callable[[str], None]] = []  # told the name of a tool whose answer would differ now
        self._audit = audit
        self._state = state
        self._roots = roots
        self._now = now
        self._zone = zone
        self._disk: Literal["well", "full", "broken"] = "well"
        self._unwritten: deque[Mapping[str, Any]] = deque()  # rows of the calls that found it full
        self.requests = Requests()

    # ── identify ───────────────────────────────────────────────────────────────────────────────────

    def identify(self, token: str) -> Agent | None:
        """Return whose token this is. Every entry is compared in constant time, so that timing tells nothing."""
        offered = hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
        found = None
        for known, agent in self._agents.items():
            if hmac.compare_digest(known, offered):
                found = agent
        return found

    def stranger(self, route: str) -> None:
        """Record that somebody came without a token that is known here."""
        decision = Decision("deny", "identify", "The token is missing or not known.")
        self._record(Wish(Agent("", ()), "", None, route=route), Actor(), decision, "denied", None, 0.0)

    def misaddressed(self, wish: Wish, reason: str) -> None:
        """Record that somebody asked for an address that leads nowhere, or out of where it should."""
        self._record(wish, Actor(), Decision("deny", "address", reason), "not_found", None, 0.0)

    def visible(self, agent: Agent, actor: Actor | None = None) -> Sequence[ToolSpec]:
        """Return what an agent may call, in the fixed order of their names: prompts depend on it.

        Without an actor: what it may call for itself, or for somebody when it always speaks for others.
        """
        roles = (agent.acts_as,) if agent.acts_as else agent.roles or ROLES
        actors = [actor] if actor else [Actor(role=role) for role in roles]
        return [
            spec
            for spec in self._tools.values()
            if any(visible(self._policy, agent, each, spec.action) for each in actors)
        ]

    def schema(self, tool: str) -> Mapping[str, Any] | None:
        """Return a tool's schema; None when there is no such tool."""
        spec = self._tools.get(tool)
        return spec.schema if spec else None

    # ── the path ───────────────────────────────────────────────────────────────────────────────────

    async def call(self, wish: Wish) -> Answer:
        """Carry out a wish, or say why not. When this returns, what it did is on the disk and so is its record.

        Cancelling is safe: it reaches the tool at its next await; what the tool had committed stays, and is recorded.
        """
        try:
            async with self.requests.admitted(wish.agent.name, wish.tool) as request:
                return await self._carried_out(wish, request)
        except GivenUp as given_up:
            return Answer(str(given_up), error=given_up.error)

    async def _carried_out(self, wish: Wish, request: Request) -> Answer:
        if not self._writable():
            return Answer(UNWRITABLE, error="failed")
        started = time.perf_counter()
        actor, decision = Actor(), Decision("deny", "unread", "")
        outcome, receipt, recorded = "crashed", None, False
        try:
            spec = self._found(wish)
            actor = standing(wish.agent, _actor(wish.actor))
            # Who may not use it at all learns nothing of what it takes.
            may = visible(self._policy, wish.agent, actor, spec.action)
            arguments = _arguments(spec, wish.arguments) if may else {}
            at = datetime.fromtimestamp(self._now(), self._zone).astimezone(self._zone)
            decision = decide(self._policy, wish.agent, actor, spec.action, arguments, at)
            if decision.allowed:
                answer = await self._run(spec, wish, actor, arguments)
            else:
                answer = Answer(decision.reason, {"rule": decision.rule}, error="denied")
            outcome, receipt = answer.error or "ok", answer.receipt
            if receipt:
                self._tell(spec.name)
        except ToolFailed as failed:
            answer = Answer(str(failed), failed.data, error=failed.error)
            outcome = failed.error
        except anyio.get_cancelled_exc_class():
            outcome = "cancelled"
            raise
        finally:
            # Also for a crash, which goes on to the SDK: it logs it and answers "internal error".
            recorded = self._record(wish, actor, decision, outcome, receipt, time.perf_counter() - started)
            request.outcome = outcome
        return answer if recorded else self._unrecorded(answer)

    def _found(self, wish: Wish) -> ToolSpec:
        if wish.tool in self._tools:
            return self._tools[wish.tool]
        asked = _printable(wish.tool)
        near = get_close_matches(asked, [spec.name for spec in self.visible(wish.agent)], n=1)
        nearest = f" The nearest is {near[0]}." if near else ""
        raise ToolFailed("not_found", f"There is no tool called {asked}.{nearest}")

    def _tell(self, tool: str) -> None:
        for listener in self.listeners:
            listener(tool)

    @asynccontextmanager
    async def engines(self) -> AsyncIterator[None]:
        """Hold open, inside the block, what the tool files hold open."""
        async with AsyncExitStack() as stack:
            for file, opened in self._toolbox.opened.items():
                live = Live(self._state, self._outside, self._settings.get(file), self._now, self._zone, self._tell)
                self._engines[file] = await stack.enter_async_context(opened(live))
            yield

    def _call(self, spec: ToolSpec, wish: Wish, actor: Actor) -> Call:
        turn = wish.turn if isinstance(wish.turn, str) else ""
        return Call(
            tool=spec.name,
            agent=wish.agent,
            actor=actor,
            turn=turn[:ACTOR_CHARACTERS],
            state=self._state,
            roots={name: root for name, root in self._roots.items() if name in wish.agent.roots},
            now=self._now,
            zone=self._zone,
            outside=self._outside,
            settings=self._settings.get(spec.file),
            engine=self._engines.get(spec.file),
            wire=wish.wire,
        )

    async def _run(self, spec: ToolSpec, wish: Wish, actor: Actor, arguments: Mapping[str, Any]) -> Answer:
        call = self._call(spec, wish, actor)
        try:
            with anyio.fail_after(spec.limit_seconds):
                result = await spec.run(call, **arguments)
        except TimeoutError:
            raise ToolFailed(
                "timeout", f"That took longer than {spec.limit_seconds:g} seconds, so I gave up."
            ) from None
        except PathDenied as denied:
            raise ToolFailed(_PATH_ERRORS.get(denied.reason, "denied"), str(denied), reason=denied.reason) from denied
        except (OSError, sqlite3.Error) as broken:
            raise ToolFailed("failed", f"The disk did not take it: {_disk(broken)}.") from broken
        return _answer(spec, result)

    # ── record ─────────────────────────────────────────────────────────────────────────────────────

    def _record(
        self, wish: Wish, actor: Actor, decision: Decision, outcome: str, receipt: Receipt | None, seconds: float
    ) -> bool:
        spec = self._tools.get(wish.tool)
        if spec and spec.routine and outcome == "ok":
            return True
        row = {
            "at": self._now(),
            "agent": wish.agent.name,
            "actor": asdict(actor),
            "turn": _printable(wish.turn) if isinstance(wish.turn, str) else "",
            "tool": _printable(wish.tool),
            "arguments_sha256": _hash(wish.arguments),
            "allowed": decision.allowed,
            "rule": decision.rule,
            "outcome": outcome,
            "receipt": receipt.id if receipt else "",
            "ms": round(seconds * 1000, 3),
            "route": wish.route,
        }
        try:
            self._audit.append(row, durable=not (spec and spec.reads and outcome == "ok"))
        except OSError as trouble:
            self._refused(trouble)
            if wish.agent.name:  # a stranger did nothing that must be known
                self._unwritten.append(row)
            return False
        return True

    def _refused(self, trouble: OSError) -> None:
        """Accept no more calls: power without a record is the one thing this server must not have."""
        if self._disk != "broken":
            self._disk = "full" if trouble.errno in FULL else "broken"

    def _writable(self) -> bool:
        """Tell whether calls can be recorded; once a full disk has room again, after writing down what is owed."""
        if self._disk == "full":
            try:
                while self._unwritten:
                    self._audit.append(self._unwritten[0])
                    self._unwritten.popleft()
                self._disk = "well"
            except OSError as trouble:
                self._refused(trouble)
        return self._disk == "well"

    def _unrecorded(self, answer: Answer) -> Answer:
        return Answer(f"{answer.text} {UNWRITABLE}", answer.data, answer.receipt, "failed")

    async def keep_flushed(self) -> None:
        """Bring the record of reads to the disk every second, until cancelled. A disk that fails ends all calls."""
        while self._disk != "broken":
            await anyio.sleep(FLUSH_SECONDS)
            self.flush()

    def flush(self) -> None:
        """Bring the record to the disk now."""
        try:
            self._audit.flush()
        except OSError:
            self._disk = "broken"  # also by a full one: rows that were handed over may be gone, and are not here


def _actor(claimed: Any) -> Actor:
    """Read `_meta["atlas.house/actor"]`; what is not understood is refused, for a missing role would be a wider one."""
    if claimed is None:
        return Actor()
    names = ("person", "device", "role", "room")
    ok = isinstance(claimed, Mapping) and all(
        name in names and isinstance(value, str) and len(value) <= ACTOR_CHARACTERS and _printable(value) == value
        for name, value in claimed.items()
    )
    if not ok:
        raise ToolFailed("invalid", "Who is asking cannot be read: give person, device, role and room as short texts.")
    return Actor(**claimed)


def _arguments(spec: ToolSpec, given: Any) -> dict[str, Any]:
    """Return the arguments with defaults filled in. Extra ones, wrong ones and impossible texts are refused."""
    arguments = {} if given is None else given
    if problem := _unusable(arguments):
        raise ToolFailed("invalid", problem)
    # Closest to the root first, so that the sentence names the argument, not a detail inside it.
    wrong = min(spec.validator.iter_errors(arguments), key=lambda error: len(error.path), default=None)
    if wrong is not None:
        raise ToolFailed("invalid", _sentence(spec, arguments, wrong), schema=dict(spec.schema))
    return dict(spec.arguments.model_validate(arguments))


def _unusable(value: Any) -> str:
    """Say why a value cannot be handled as JSON text, "" when it can. Not recursive: depth is the attacker's choice."""
    left: list[tuple[Any, int]] = [(value, 0)]
    size = 0
    while left:
        item, depth = left.pop()
        size += len(item) + 8 if isinstance(item, (str, list, dict)) else 8
        if depth > ARGUMENT_DEPTH or size > ARGUMENT_BYTES:
            return "The arguments are too large."
        if isinstance(item, float) and not math.isfinite(item):
            return "The arguments hold a number that is not a number."
        if isinstance(item, str) and any("\ud800" <= character <= "\udfff" for character in item):
            return "The arguments hold half of a character."
        if isinstance(item, dict):
            left += [(part, depth + 1) for pair in item.items() for part in pair]
        elif isinstance(item, list):
            left += [(part, depth + 1) for part in item]
    return ""


def _sentence(spec: ToolSpec, arguments: Any, wrong: ValidationError) -> str:
    """Say what is wrong with the arguments, so that a model can do better."""
    takes = ", ".join(spec.schema["properties"]) or "nothing"
    if wrong.validator == "additionalProperties":
        extra = sorted(set(arguments) - set(spec.schema["properties"]))
        return f"{spec.name} does not take {_printable(', '.join(extra))}; it takes {takes}."
    if wrong.validator == "required":
        missing = [name for name in spec.schema["required"] if name not in arguments]
        return f"{spec.name} needs {', '.join(missing)}."
    where = ".".join(str(step) for step in wrong.path)
    return f"{where or spec.name}: {_printable(wrong.message)}."


def _printable(text: str) -> str:
    """Return at most 300 characters that survive every wire: half characters become question marks."""
    short = text if len(text) <= 300 else text[:297] + "..."
    return short.encode("utf-8", "replace").decode()


def _hash(arguments: Any) -> str:
    if problem := _unusable(arguments):
        return f"unusable: {problem}"
    return digest(arguments)


def _answer(spec: ToolSpec, result: Result) -> Answer:
    assert result.receipt is None or not spec.reads, f"{spec.name} said it only reads"
    canonical(result.data)  # a result that is no JSON is a bug here, not on somebody's wire
    return Answer(_clean(result.text), result.data, result.receipt, reply=result.reply)


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _disk(broken: OSError | sqlite3.Error) -> str:
    return (broken.strerror if isinstance(broken, OSError) else None) or "the file cannot be written"
