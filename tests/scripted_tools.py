"""Tools without a server: a household in memory, or the functions a test gives. Keeps the contract of `tools.py`."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

import anyio
import jsonschema
import jwt
from jsonschema.exceptions import best_match

from atlas.conversation import (
    Actor,
    AskLevel,
    ConfirmationRequest,
    Receipt,
    SignedAnswer,
    Tool,
    ToolCall,
    ToolResult,
    fresh_id,
)
from atlas.mcp.adapter import NotJson, clean, failure
from wall.meta import CONFIRM


@dataclass(frozen=True, slots=True)
class ScriptedResult:
    """What a scripted tool gives back. `changed` makes a receipt."""

    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    changed: str = ""
    untrusted: bool = False  # words of others are in it


class ScriptedRefusal(Exception):
    """A scripted tool says no: `error` is the kind, the message is what to say."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


@dataclass(frozen=True, slots=True)
class Preview:
    """What a scripted tool asks before it does anything. `question` may refuse, as the tool itself would."""

    question: Callable[[Mapping[str, Any], Actor], str]
    level: AskLevel = "confirm"


ASK_SECONDS = 60.0
Action = Callable[[Mapping[str, Any], Actor], ScriptedResult | Awaitable[ScriptedResult]]


@cache
def _shape(schema: str) -> jsonschema.Draft202012Validator:
    """Return what arguments must fit. The schema itself is looked at once: that takes as long as ten calls."""
    jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    return jsonschema.Draft202012Validator(json.loads(schema))


class ScriptedTools:
    """A tool connection over Python functions. `calls` holds every call that was made, in order.

    A tool with a `Preview` asks before it acts. `believes` returns what a statement answers, "" for one
    that is not believed; without it, all are.
    """

    def __init__(
        self,
        actions: Iterable[tuple[Tool, Action]],
        previews: Mapping[str, Preview] | None = None,
        believes: Callable[[str], str] | None = None,
        now: Callable[[], float] = time.time,
        agent: str = "family",
    ) -> None:
        self._actions = {tool.name: (tool, action) for tool, action in actions}
        self._previews = previews or {}
        self._believes = believes or answer_of
        self._now = now
        self.agent = agent
        self._waiting: dict[tuple[str, str, Actor], ConfirmationRequest] = {}  # by what one yes is for
        self._answers: dict[str, str] = {}  # by the id of the question; the first one counts
        self._watchers: list[Callable[[str], None]] = []
        self.calls: list[ToolCall] = []
        self.actors: list[Actor] = []
        self.signed_answers: list[SignedAnswer] = []
        self.tainted: list[bool] = []  # of each call, whether it was said to be

    async def listed(self) -> Sequence[Tool]:
        """See `Tools.listed`."""
        return tuple(self._actions[name][0] for name in sorted(self._actions))

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        """See `Tools.call`."""
        self.calls.append(call)
        self.actors.append(actor)
        self.tainted.append(tainted)
        if call.name not in self._actions:
            return failure(call, "not_found", f"There is no tool called {call.name}.")
        tool, action = self._actions[call.name]
        try:
            arguments = clean(call.arguments)
            if error := best_match(_shape(json.dumps(tool.parameters)).iter_errors(arguments)):
                raise error
            if call.name in self._previews and (unmet := self._unmet(call, arguments, actor, assent)):
                return unmet
            done = action(arguments, actor)
            done = await done if inspect.isawaitable(done) else done
        except (NotJson, jsonschema.ValidationError) as trouble:
            return failure(call, "invalid", f"The arguments of {call.name} cannot be used: {trouble.args[0]}.")
        except ScriptedRefusal as no:
            return failure(call, no.error, str(no))
        receipt = Receipt(fresh_id("receipt"), done.changed) if done.changed else None
        for watcher in self._watchers if receipt else ():
            watcher(call.name.partition(".")[0])
        return ToolResult(call.id, True, done.text, done.data, receipt, untrusted=done.untrusted)

    async def watch(self, changed: Callable[[str], None]) -> None:
        """See `Tools.watch`."""
        self._watchers.append(changed)
        try:
            await anyio.sleep_forever()
        finally:
            self._watchers.remove(changed)

    async def aclose(self) -> None:
        """See `Tools.aclose`."""

    def for_the_house(self) -> ScriptedTools:
        """Return the connection of the house itself to the same tool server: it sees which questions wait."""
        return ScriptedTools(
            [
                _tool("asks.waiting", lambda *_: ScriptedResult("", {"asks": self._rows()}), {}, reads=True),
                _tool("asks.answer", lambda arguments, _: self._take(arguments["statement"]), {"statement": {}}),
            ]
        )

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {**asdict(ask), "agent": self.agent, "actor": asdict(actor)}
            for (_, _, actor), ask in self._waiting.items()
            if ask.expires_at > self._now() and ask.id not in self._answers
        ]

    def _take(self, statement: str) -> ScriptedResult:
        """Note a person's answer to a question, which the next call of what was asked uses up."""
        answer, ask_id = self._believes(statement), claims_of(statement).get("ask", "")
        if not answer or all(ask.id != ask_id for ask in self._waiting.values()):
            raise ScriptedRefusal(CONFIRM, "That question is closed: it was answered, or it is too old.")
        if ask_id in self._answers:
            raise ScriptedRefusal(CONFIRM, "That question was answered already.")
        self._answers[ask_id] = answer
        return ScriptedResult(f"Noted: {answer}.")

    def _unmet(self, call: ToolCall, arguments: Any, actor: Actor, assent: SignedAnswer | None) -> ToolResult | None:
        """Return None when somebody said yes to exactly this, which is used up by that; else what to answer."""
        deed = call.name, _digest(arguments), actor
        sentence = self._previews[call.name].question(arguments, actor)
        ask = self._waiting.get(deed)
        if ask and self._now() >= ask.expires_at:
            ask = self._waiting.pop(deed) and None
        if assent is None:
            expires_at = self._now() + ASK_SECONDS
            fresh = ConfirmationRequest(
                fresh_id("ask"), sentence, self._previews[call.name].level, expires_at, *deed[:2]
            )
            ask = self._waiting.setdefault(deed, fresh)
            return ToolResult(call.id, False, ask.sentence, error=CONFIRM, ask=ask)
        self.signed_answers.append(assent)
        if ask is None or ask.id != assent.ask_id:
            return failure(call, CONFIRM, "That question is closed. Ask me again.")
        answer = "no" if assent == SignedAnswer(ask.id, yes=False) else self._answers.get(ask.id, "")
        if assent.statement and answer:
            return failure(call, CONFIRM, "That question was answered already.")
        answer = answer or self._believes(assent.statement)
        if not answer:
            return failure(call, CONFIRM, "Nobody has said yes to that yet.")
        del self._waiting[deed]
        return None if answer == "yes" else failure(call, "denied", "All right, I won't.")


def answer_of(statement: str) -> str:
    """Return what a statement answers, whoever signed it."""
    return str(claims_of(statement).get("answer", ""))


def claims_of(statement: str) -> Mapping[str, Any]:
    """Return what a statement says; nothing when it cannot be read."""
    try:
        claims: Mapping[str, Any] = jwt.decode(statement, options={"verify_signature": False})
    except jwt.InvalidTokenError:
        return {}
    return claims


def _digest(arguments: Any) -> str:
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


@dataclass
class ScriptedHousehold:
    """A house in memory: its timers in seconds, its tasks by column, the mails that left it."""

    timers: dict[str, int] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    mails: list[str] = field(default_factory=list)
    time: str = "It's noon."

    def tools(self, **how: Any) -> ScriptedTools:
        """Return the tool connection of this house; its tools are named as the real ones. `how` as `ScriptedTools`."""
        whole, text = {"type": "integer"}, {"type": "string"}
        which = {"name": text, "seconds": whole, "room": text}
        title = {"title": text}
        return ScriptedTools(
            [
                _tool("clock.time", self._time, {"place": text}, reads=True),
                _tool("clock.date", self._date, {"place": text}, reads=True),
                _tool("timers.start", self._start, which, ["seconds"]),
                _tool("timers.list", self._timers, {}, reads=True),
                _tool("timers.left", self._left, which, reads=True),
                _tool("timers.cancel", self._cancel, which),
                _tool("timers.cancel_all", self._cancel_all, {}),
                _tool("timers.pause", self._pause, which),
                _tool("timers.resume", self._resume, which),
                _tool("timers.add", self._add, which | {"by_seconds": whole}, ["by_seconds"]),
                _tool("tasks.add", self._task, title | {"due": text, "priority": text, "assignee": text}, ["title"]),
                _tool("tasks.list", self._tasks, {"column": text}, reads=True),
                _tool("tasks.move", self._move, title | {"column": text}, ["title", "column"]),
                _tool("tasks.done", self._task_done, title, ["title"]),
                _tool("tasks.remove", self._remove, title, ["title"]),
                _tool("email.send", self._send, {"to": text, "text": text}, ["to", "text"]),
            ],
            {
                "tasks.remove": Preview(lambda arguments, _: f"Remove the task {self._title(arguments)} for good?"),
                "email.send": Preview(
                    lambda arguments, _: f"Send {arguments['text']} to {arguments['to']}?", "explicit"
                ),
            },
            **how,
        )

    def _time(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        return ScriptedResult(f"{self.time[:-1]} in {arguments['place']}." if arguments.get("place") else self.time)

    def _date(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        return ScriptedResult("It's Saturday, 21 November 2026.")

    def _start(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        seconds, name = int(arguments["seconds"]), str(arguments.get("name", ""))
        if not 1 <= seconds <= 604_800:
            raise ScriptedRefusal("invalid", "A timer runs for between one second and seven days.")
        self.timers[name] = seconds
        what = f"{name} timer" if name else "timer"
        return ScriptedResult(
            f"{what.capitalize()} set for {seconds} seconds.", {"seconds": seconds}, f"started a {what}"
        )

    def _timers(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        return ScriptedResult(f"{len(self.timers)} timers are running.", {"timers": dict(self.timers)})

    def _left(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        return ScriptedResult(f"{self.timers[self._which(arguments)]} seconds left.")

    def _cancel(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        del self.timers[self._which(arguments)]
        return ScriptedResult("Timer cancelled.", changed="cancelled a timer")

    def _cancel_all(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        self.timers.clear()
        return ScriptedResult("All timers cancelled.", changed="cancelled all timers")

    def _pause(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        self._which(arguments)
        return ScriptedResult("Timer paused.", changed="paused a timer")

    def _resume(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        self._which(arguments)
        return ScriptedResult("Timer resumed.", changed="resumed a timer")

    def _add(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        self.timers[self._which(arguments)] += int(arguments["by_seconds"])
        return ScriptedResult("Timer changed.", changed="changed a timer")

    def _which(self, arguments: Mapping[str, Any]) -> str:
        fits = [
            name
            for name, seconds in self.timers.items()
            if arguments.get("name", "") in ("", name) and arguments.get("seconds", 0) in (0, seconds)
        ]
        if not fits:
            raise ScriptedRefusal("not_found", "There is no such timer.")
        return fits[0]

    def _task(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        self.tasks[arguments["title"]] = "todo"
        return ScriptedResult(
            f"Added {arguments['title']} to your tasks.", changed=f"added the task {arguments['title']}"
        )

    def _tasks(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        hits = [title for title, column in self.tasks.items() if arguments.get("column", "") in ("", column)]
        return ScriptedResult(f"Your tasks: {', '.join(hits)}." if hits else "You have no tasks.", {"tasks": hits})

    def _move(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        self.tasks[self._title(arguments)] = arguments["column"]
        return ScriptedResult(f"Moved {arguments['title']}.", changed=f"moved the task {arguments['title']}")

    def _task_done(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        self.tasks[self._title(arguments)] = "done"
        return ScriptedResult(
            f"Marked {arguments['title']} as done.", changed=f"finished the task {arguments['title']}"
        )

    def _remove(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        del self.tasks[self._title(arguments)]
        return ScriptedResult(f"Removed {arguments['title']}.", changed=f"removed the task {arguments['title']}")

    def _send(self, arguments: Mapping[str, Any], actor: Actor) -> ScriptedResult:
        self.mails.append(f"{arguments['to']}: {arguments['text']}")
        return ScriptedResult(f"Sent to {arguments['to']}.", changed=f"sent a mail to {arguments['to']}")

    def _title(self, arguments: Mapping[str, Any]) -> str:
        if arguments["title"] not in self.tasks:
            raise ScriptedRefusal("not_found", f"There is no task called {arguments['title']}.")
        return str(arguments["title"])


def _tool(
    name: str, action: Action, properties: Mapping[str, Any], required: Sequence[str] = (), *, reads: bool = False
) -> tuple[Tool, Action]:
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }
    return Tool(name, f"Does what {name} says.", schema, reads), action
