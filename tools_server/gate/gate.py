"""The one path of every call, whatever route it came by: identify → decide → confirm → run → record.

A call is in one of these states. It goes down the list, never up, and leaves it early only by the way on the right:

    state       is reached when                                           what ends it there
    ---------   -------------------------------------------------------   -------------------------------------------
    arrived     a wire has a request, and `identify` knew its token       given up: too many wait, or the server stops
    admitted    `LiveRequests` has a place for this agent                 refused: the record cannot be written
    named       the actor is read, the tool known, the arguments fit      invalid, not_found
    decided     the rules do not deny it, and the budget has room         denied
    confirmed   the rules allow it, or a person has said yes to it        confirm (a question waits), denied (a no)
    run         the tool's function has returned                          failed, timeout, or what the tool says
    recorded    its row is appended                                       failed: done, but not written down

From "admitted" on, every end leaves a row, a crash and a cancelled call included, but for three: a routine look of the
house that went well, one refusal too many in a minute (counted, and told with the next row), and a disk that takes
none. The answer goes out after the row. Every call is given up when it is a minute old (`live_requests.py`).

Who may move it. The caller brings a call, for an actor among those whom its agent may serve, and may cancel it
anywhere; that it is tainted it can only add. Only the agents file lets a call in, only rules let it past "named", and
past "decided", where they ask for a person, only an answer that the house has signed (`confirmations.py`). Nobody else
has a say, so no route, prompt or model can go round one of them: the tools are reached from here alone.

What is asked about is what will be done: the question is put into words anew at every call, and between an accepted yes
and the tool's first line nothing else runs. A question that was put binds until it is settled, also where the rules
would not ask any more: else a no that comes late would find the deed done.

What is durable when:

- a yes is used up, committed, before the tool begins. A power cut after that leaves a deed undone and a yes that is
  gone: it is asked about again, and nothing is done twice by one yes;
- what a tool changes in tools.db is committed with its receipt, before it returns;
- the row is on the disk before the answer goes out. Only the row of a read that worked may be a second late;
- so a power cut can lose an answer, and never a change in tools.db that somebody was told of. A row that it kept from
  being written is written by the next start, which finds the receipt without one (`AuditRecord.unrecorded`).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, fields, replace
from datetime import datetime, tzinfo
from difflib import get_close_matches
from typing import Any

import anyio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tools_server.gate.call_request import ACTOR_CHARACTERS, CallRequest, CallResult, actor_of
from tools_server.gate.confirmations import ConfirmationReply, Confirmations, question, whole_question
from tools_server.gate.ledger import Ledger
from tools_server.gate.live_requests import GivenUp, LiveRequest, LiveRequests
from tools_server.gate.provenance import Strangers
from tools_server.gate.record import REFUSALS_TOLD, STRANGERS_TOLD, UNWRITABLE, AuditEntry, AuditRecord, Flood
from tools_server.gate.taint import Taint
from tools_server.reach.outside import NOWHERE, Outside
from tools_server.sdk.arguments import checked, printable, whole
from tools_server.sdk.confirmation import ConfirmationLevel, ConfirmedCall, PersonAnswer
from tools_server.sdk.state import ChangeReceipt, StoredReceipt, ToolsDatabase
from tools_server.sdk.toolkit import Call, Error, Inside, Live, Result, Toolbox, ToolFailed, ToolSpec, Undo
from tools_server.values.codes import Code
from tools_server.values.language import answering, current, languages, noted, speaking, supported
from tools_server.values.language import text as _
from tools_server.values.paths import PathDenied, Root
from tools_server.values.policy import AgentAccount, CallActor, Decision, Policy, decide, standing, visible
from tools_server.values.uptime import Uptime, since_boot
from tools_server.values.wire_names import inner_call, inner_name, wire_name
from tools_server.writing.private_papers import PEOPLE, own_file
from wall.chain import Chain
from wall.disk import disk_state
from wall.roles import ROLES

HOW = noted(
    "Somebody in the house has to say yes to that first, on Atlas's page or with atlas confirm."
    " Then make the same call again, within a minute."
)
NO_WAY = noted("Nobody can say yes to that: I have no key to know a person's yes by.")
_WAYS_OUT = ("escape", "linked")  # of the reasons why a path was refused
_PATH_ERRORS: Mapping[str, Error] = {"missing": "not_found", "changed": "failed", "exists": "failed"}


class Gate:
    """Every tool, behind the only way to it."""

    def __init__(
        self,
        toolbox: Toolbox,
        policy: Policy,
        agents: Mapping[str, AgentAccount],  # by the SHA-256 of their token, in hex
        audit: Chain,
        state: ToolsDatabase,
        roots: Mapping[str, Root],
        settings: Mapping[str, Any],  # of the tool files that have some
        outside: Outside = NOWHERE,
        now: Callable[[], float] = time.time,
        uptime: Callable[[], Uptime] = since_boot,
        zone: tzinfo | None = None,
        house_key: Ed25519PublicKey | None = None,
        meter: Ledger | None = None,
        spoken_languages: Sequence[str] = languages(),  # the usual one first, for a caller who names none
    ) -> None:
        self._toolbox = toolbox
        self._tools = toolbox.tools
        self._policy = policy
        self._settings = settings
        self._outside = outside
        self._engines: dict[str, Any] = {}
        self._agents = agents
        self.listeners: list[Callable[[str], None]] = []  # told the name of a tool whose answer would differ now
        self._record = AuditRecord(audit)
        self._strangers = Flood(now, STRANGERS_TOLD)
        self._refusals: dict[str, Flood] = defaultdict(lambda: Flood(now, REFUSALS_TOLD))  # by agent
        self._asks = Confirmations(house_key, now, state)
        self._taint = Taint(audit.file, now)
        self._others = Strangers(state, toolbox.tools.values())
        self._undoing: set[str] = set()
        self._meter = meter
        self._state = state
        self._roots = roots
        self._now = now
        self._uptime = uptime
        self._zone = zone
        self._spoken_languages = spoken_languages
        self.requests = LiveRequests()

    # ── identify ───────────────────────────────────────────────────────────────────────────────────

    def identify(self, token: str) -> AgentAccount | None:
        """Return whose token this is. Every entry is compared in constant time, so that timing tells nothing."""
        offered = hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
        holder = None
        for known, agent in self._agents.items():
            if hmac.compare_digest(known, offered):
                holder = agent
        return holder

    def stranger(self, route: str) -> None:
        """Record that somebody came without a token that is known here; a flood of them is counted instead."""
        untold = self._strangers.came()
        if untold is None:
            return
        entry = AuditEntry(
            AgentAccount("", ()), "", None, route=route, outcome="denied", reason=f"{untold} more" if untold else ""
        )
        entry.decision = Decision("deny", "identify", "The token is missing or not known.")
        self._write(entry, 0.0)

    def misaddressed(self, wish: CallRequest, reason: str) -> None:
        """Record that somebody asked for an address that leads nowhere, or out of where it should.

        Nothing is done of it, so a full disk need not hear of it later.
        """
        if not self._record.writable():
            return
        entry = _entry(wish)
        entry.decision, entry.outcome = Decision("deny", "address", reason), "not_found"
        self._write(entry, 0.0)

    def visible(self, agent: AgentAccount, actor: CallActor | None = None) -> Sequence[ToolSpec]:
        """Return what an agent may call, in the fixed order of their names: prompts depend on it.

        Without an actor: what it may call for itself, or for somebody when it always speaks for others.
        """
        roles = (agent.acts_as,) if agent.acts_as else agent.roles or ROLES
        actors = [actor] if actor else [CallActor(role=role) for role in roles]
        return [
            spec
            for spec in self._tools.values()
            if any(visible(self._policy, agent, one_actor, spec.action) for one_actor in actors)
        ]

    def visible_to(self, agent: AgentAccount, claimed: Any) -> Sequence[ToolSpec]:
        """Return what an agent may call for the actor that a list request names. Raises `ToolFailed`."""
        return self.visible(agent, None if claimed is None else standing(agent, actor_of(claimed)))

    @property
    def is_well(self) -> bool:
        """Whether the way out of the house still stands; where it fell, only a new process gets one."""
        return self._outside.stands

    def usage(self, agent: str) -> Mapping[str, Any]:
        """Return what an agent has spent today; nothing when nobody counts."""
        return self._meter.usage(agent) if self._meter else {}

    def schema(self, tool: str) -> Mapping[str, Any] | None:
        """Return a tool's schema, by whichever name it is called; None when there is no such tool."""
        spec = self._tools.get(inner_name(tool, self._tools))
        return spec.schema if spec else None

    # ── the path ───────────────────────────────────────────────────────────────────────────────────

    async def call(self, wish: CallRequest) -> CallResult:
        """Carry out a wish, or say why not. When this returns, what it did is on the disk and so is its record.

        Cancelling is safe: it reaches the tool at its next await; what the tool had committed stays, and is recorded.
        """
        tool, arguments = inner_call(wish.tool, wish.arguments, self._tools)
        wish = replace(wish, tool=tool, arguments=arguments)
        try:
            async with self.requests.admitted(wish.agent.name, wish.tool) as request:
                with answering(supported(wish.language, self._spoken_languages[0]), self._spoken_languages):
                    return await self._carried_out(wish, request)
        except GivenUp as given_up:
            return CallResult(str(given_up), error=given_up.error, code=given_up.code)

    async def _carried_out(self, wish: CallRequest, request: LiveRequest) -> CallResult:
        if not self._record.writable() and not self._must_ring(wish):
            return CallResult(_(UNWRITABLE), error="failed")
        started = time.perf_counter()
        entry, recorded = _entry(wish), False
        try:
            answer = await self._way(wish, entry)
            entry.outcome, entry.receipt = "asked" if answer.ask else answer.error or "ok", answer.receipt
            if answer.receipt:
                self._tell(answer.receipt.tool)
        except ToolFailed as failed:
            code = Code.ESCAPE if failed.data.get("reason") in _WAYS_OUT else None
            answer = CallResult(str(failed), failed.data, error=failed.error, code=code)
            entry.outcome, entry.reason = failed.error, printable(str(failed.data.get("reason", "")))
            entry.untrusted |= failed.untrusted or self._others.wished(str(failed), failed.data, tool=wish.tool)
        except anyio.get_cancelled_exc_class():
            entry.outcome = "cancelled"
            raise
        finally:
            # Also for a crash, which goes on to the SDK: it logs it and answers "internal error".
            recorded = self._write(entry, time.perf_counter() - started)
            request.outcome = entry.outcome
        answer = replace(answer, untrusted=entry.untrusted)
        if recorded:
            return answer
        return replace(answer, text=f"{answer.text} {_(UNWRITABLE)}", error="failed", ask=None)

    def _must_ring(self, wish: CallRequest) -> bool:
        """Tell whether a call may be made while nothing can be recorded: the bell's own look, which leaves no row."""
        spec = self._tools.get(wish.tool)
        return spec is not None and spec.routine and visible(self._policy, wish.agent, CallActor(), spec.action)

    async def _way(self, wish: CallRequest, entry: AuditEntry) -> CallResult:
        """Go the whole way, writing into `entry` how far it went. Raises `ToolFailed`."""
        entry.actor = actor = standing(wish.agent, actor_of(wish.actor))
        claimed = not (wish.tainted is None or wish.tainted is False)  # anything else is no "no"
        entry.tainted = claimed or self._taint.holds(wish.agent.name, wish.turn_id)
        entry.spec = spec = self._found(wish, actor)
        arguments: dict[str, Any] = {}
        if visible(self._policy, wish.agent, actor, spec.action):  # who may never use it learns not what it takes
            arguments, entry.arguments_sha256 = checked(spec, wish.arguments)
        deed = ConfirmedCall(wish.agent.name, actor, spec.name, entry.arguments_sha256)
        waiting = self._asks.about(deed)
        entry.tainted |= waiting is not None and waiting.tainted  # the yes comes in a turn that read nothing
        entry.decision = decision = self._decision(entry, spec, arguments)
        if not decision.allowed:
            return CallResult(decision.reason, {"rule": decision.rule}, error="denied")
        if self._meter and (spent := self._meter.refusal(wish.agent, actor, spec.action)):
            entry.decision = spent
            return CallResult(spent.reason, {"rule": spent.rule}, error="denied", code=Code.SPENT)
        call = self._call(spec, wish, entry, arguments)
        entry.untrusted = spec.untrusted
        # What was asked about goes by the answer, also when it need not be asked about now: hours pass, a turn ends,
        # and a no must not become a yes by that. What only reads may ask questions of its own, answered the same way.
        is_answered = waiting or (wish.reply.action and not spec.reads)
        if (decision.verdict != "allow" or is_answered) and (
            unmet := await self._unconfirmed(call, spec, deed, wish.reply, entry)
        ):
            entry.untrusted |= self._others.wished(unmet.text, tool=spec.name)
            return unmet
        if self._meter:
            entry.cost = self._meter.spent(wish.agent, actor, spec.action)
        result = await self._limited(spec, spec.run, call)
        assert isinstance(result, Result)
        # A yes makes the deed a person's, and the words that it tells of remain who wished for it.
        entry.untrusted |= result.untrusted or (waiting is not None and waiting.tainted)
        entry.untrusted |= not spec.routine and self._others.wished(result.text, result.data, tool=spec.name)
        return self._answer(spec, result)

    def _decision(self, entry: AuditEntry, spec: ToolSpec, arguments: Mapping[str, Any]) -> Decision:
        at = datetime.fromtimestamp(self._now(), self._zone).astimezone(self._zone)
        return decide(self._policy, entry.agent, entry.actor, spec.action, arguments, at, tainted=entry.tainted)

    def _found(self, wish: CallRequest, actor: CallActor) -> ToolSpec:
        if wish.tool in self._tools:
            return self._tools[wish.tool]
        request = printable(wish.tool)
        names = [spec.name for spec in self.visible(wish.agent, actor)]
        if "." not in request:  # whoever calls knows the names of the wire
            names = [wire_name(name) for name in names]
        near = get_close_matches(request, names, n=1)
        nearest = _(" The nearest is {name}.").format(name=near[0]) if near else ""
        raise ToolFailed("not_found", _("There is no tool called {name}.").format(name=request) + nearest)

    def _tell(self, tool: str) -> None:
        for listener in self.listeners:
            listener(tool)

    def mount(self, prefix: str, tools: Mapping[str, ToolSpec]) -> None:
        """Put the tools of another server beside our own, instead of those that it had; {} takes them away.

        Their names begin with "prefix.", and none of our own tools does: nobody can stand before another's name.
        """
        assert all(name.startswith(f"{prefix}.") and name == spec.name for name, spec in tools.items())
        assert not any(name.startswith(f"{prefix}.") for name in self._toolbox.tools), f"{prefix} is ours"
        others = {name: spec for name, spec in self._tools.items() if not name.startswith(f"{prefix}.")}
        self._tools = dict(sorted({**others, **tools}.items()))
        self._tell("*")

    @asynccontextmanager
    async def engines(self) -> AsyncIterator[None]:
        """Hold open, inside the block, what the tool files hold open."""
        async with AsyncExitStack() as stack:
            for file, opened in self._toolbox.opened.items():
                settings = self._settings.get(file)
                live = Live(
                    self._state,
                    self._outside,
                    settings,
                    self._now,
                    self._zone,
                    self._tell,
                    self.mount,
                    self._act,
                    lambda tool: tool in self._tools and self._tools[tool].idempotent,
                    self._uptime,
                )
                self._engines[file] = await stack.enter_async_context(opened(live))
            yield

    async def _act(
        self, agent: str, tool: str, arguments: Mapping[str, Any], actor: Mapping[str, Any], turn: str, language: str
    ) -> tuple[bool, str]:
        """Call a tool the usual way, when it is time, for who set it; tell whether it worked, and what was said."""
        holder = next((known for known in self._agents.values() if known.name == agent), None)
        if holder is None:
            return False, _("The {name} agent is not here any more.").format(name=agent)
        answer = await self.call(CallRequest(holder, tool, arguments, actor, turn, "later", language=language))
        return answer.error is None, answer.text

    # ── confirm ────────────────────────────────────────────────────────────────────────────────────

    async def _unconfirmed(
        self, call: Call, spec: ToolSpec, deed: ConfirmedCall, reply: ConfirmationReply, entry: AuditEntry
    ) -> CallResult | None:
        """Return None when a person has said yes to this, which uses the yes up; else what to answer instead.

        What would happen is put in words anew each time, and nothing else runs between that and the deed: a yes is to
        the sentence that a person heard, not to what it has come to mean since.
        """
        language = self._asks.language(deed, reply) or current()  # a page that presses may speak another
        with speaking(language):
            sentence = await self._previewed(spec, call)
        level: ConfirmationLevel = "explicit" if entry.decision.verdict == "explicit" else "confirm"
        entry.confirmation = {"level": level, "ask": printable(reply.state)}
        try:
            result = self._asks.settle(deed, level, sentence, reply, tainted=entry.tainted, language=language)
        except sqlite3.Error as broken:
            raise ToolFailed("failed", _disk_refusal(broken)) from broken
        if isinstance(result, PersonAnswer):
            entry.confirmation |= asdict(result)
            self._tell("asks.waiting")
            if result.answer == "yes":
                return None
            return CallResult(_("All right, I won't."), {"rule": "said.no"}, error="denied")
        entry.confirmation["ask"] = result.id
        self._tell("asks.waiting")
        how = _(HOW) if self._asks.answerable else _(NO_WAY)
        return CallResult(f"{result.sentence} {how}", {"rule": entry.decision.rule}, error="confirm", ask=result)

    async def _previewed(self, spec: ToolSpec, call: Call) -> str:
        sentence = (
            await self._limited(spec, spec.preview, call)
            if spec.preview
            else question(spec, call.arguments, whole=call.tainted)
        )
        assert isinstance(sentence, str)
        return whole_question(whole(sentence))

    # ── run ────────────────────────────────────────────────────────────────────────────────────────

    def _call(self, spec: ToolSpec, wish: CallRequest, entry: AuditEntry, arguments: Mapping[str, Any]) -> Call:
        def decided(tool: str, given: Mapping[str, Any]) -> Decision:
            return self._decision(entry, self._tools[tool], given)

        return Call(
            tool=spec.name,
            agent=wish.agent,
            actor=entry.actor,
            turn=wish.turn_id[:ACTOR_CHARACTERS],
            state=self._state,
            roots=self._roots_of(wish.agent, entry.actor),
            now=self._now,
            uptime=self._uptime,
            zone=self._zone,
            outside=self._outside,
            settings=self._settings.get(spec.file),
            engine=self._engines.get(spec.file),
            settings_of=self._settings,
            inside=Inside(
                asks=self._asks,
                tell=self._tell,
                record=self._record.chain,
                usage=self.usage,
                decide=decided,
                policy=self._policy,
                agents={agent.name: agent for agent in self._agents.values()},
                undo=self._undo,
                undoing=self._undoing,
                tools=self._tools,
                strangers=self._others,
                engines=self._engines,
            ),
            wire=wish.wire,
            arguments=arguments,
            tainted=entry.tainted,
        )

    def _roots_of(self, agent: AgentAccount, actor: CallActor) -> Mapping[str, Root]:
        own_name = own_file(actor)
        shut = {name: self._roots[name].shutting(PEOPLE, but=own_name) for name in self._roots if name in agent.roots}
        return {name: root.reading() if name in agent.read_only else root for name, root in shut.items()}

    async def _limited(self, spec: ToolSpec, function: Callable[..., Any], call: Call) -> object:
        """Await a tool's function within its time; what the world may do to it becomes `ToolFailed`."""
        try:
            with anyio.fail_after(spec.limit_seconds):
                return await function(call, **call.arguments)
        except TimeoutError:
            raise ToolFailed(
                "timeout",
                _("That took longer than {seconds:g} seconds, so I gave up.").format(seconds=spec.limit_seconds),
            ) from None
        except PathDenied as denied:
            raise ToolFailed(_PATH_ERRORS.get(denied.reason, "denied"), str(denied), reason=denied.reason) from denied
        except (OSError, sqlite3.Error) as broken:
            raise ToolFailed("failed", _disk_refusal(broken)) from broken

    def _answer(self, spec: ToolSpec, result: Result) -> CallResult:
        assert result.receipt is None or not spec.reads, f"{spec.name} said it only reads"
        # A result that is no JSON is a bug here, not on somebody's wire; half a character may come from anywhere.
        data = json.loads(whole(json.dumps(dict(result.data), ensure_ascii=False, allow_nan=False)))
        receipt = result.receipt
        if receipt and receipt.undo:
            receipt = replace(receipt, undo=self._undo(receipt.tool) is not None)
        return CallResult(whole(result.text), data, receipt, reply=result.reply)

    def _undo(self, tool: str) -> Undo | None:
        """Return what takes a tool's changes back; None when nothing does: what left the house does not come back."""
        spec = self._tools.get(tool)
        back = self._toolbox.undo.get(spec.file) if spec and spec.action.risk != "outward" else None
        if not spec or not back:
            return None

        async def undo(call: Call, stored_receipt: StoredReceipt) -> Result:  # with what belongs to the tool's own file
            own_call = replace(call, settings=self._settings.get(spec.file), engine=self._engines.get(spec.file))
            return await back(own_call, stored_receipt)

        return undo

    # ── record ─────────────────────────────────────────────────────────────────────────────────────

    def _write(self, entry: AuditEntry, seconds: float) -> bool:
        if entry.routine:
            return True
        if entry.refused and entry.agent.name:
            untold = self._refusals[entry.agent.name].came()
            if untold is None:
                return True
            entry.reason += f"{', ' if entry.reason else ''}{untold} more" if untold else ""
        process = self._meter.process if self._meter else ""
        return self._record.write(entry.row(self._now(), seconds, process), durable=entry.durable)

    def record_unrecorded(self) -> None:
        """Write the row of each change that a kill kept out of the record: at the start of a server.

        Raises `OSError` when the record cannot be read.
        """
        known = [one.name for one in fields(CallActor)]
        for receipt in self._record.unrecorded(self._state):
            agent = AgentAccount(receipt.agent, ())
            actor = {name: value for name, value in receipt.actor.items() if name in known}  # a later version knew more
            entry = AuditEntry(agent, receipt.tool, receipt.arguments, receipt.turn, "start")
            entry.actor, entry.tainted = CallActor(**actor), bool(receipt.tainted)
            entry.decision = Decision("allow", "unrecorded", "")
            entry.receipt, entry.reason = ChangeReceipt(receipt.id, receipt.changed, receipt.tool, False), "unrecorded"
            entry.spec = spec = self._tools.get(receipt.tool)
            if self._meter and spec:
                entry.cost = self._meter.spent(agent, entry.actor, spec.action)
            self._write(entry, 0.0)

    async def keep_flushed(self) -> None:
        """Bring the record of reads to the disk every second, until cancelled. A disk that fails ends all calls."""
        await self._record.keep_flushed()

    def flush(self) -> None:
        """Bring the record to the disk now."""
        self._record.flush()


def _entry(wish: CallRequest) -> AuditEntry:
    return AuditEntry(wish.agent, wish.tool, wish.arguments, wish.turn, wish.route, wish.trace)


def _disk_refusal(broken: OSError | sqlite3.Error) -> str:
    if disk_state(broken) == "full":
        return _("The disk is full, so I can't do that. Make room on it first.")
    why = (broken.strerror if isinstance(broken, OSError) else None) or _("the file cannot be written")
    return _("The disk did not take it: {why}.").format(why=why)
