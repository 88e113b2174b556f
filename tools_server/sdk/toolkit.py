"""Tools are functions: `@tool(...)` takes the schema from their type hints; listing a folder finds them."""

from __future__ import annotations

import inspect
import pkgutil
import typing
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from datetime import datetime, tzinfo
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, Protocol, TypeVar

from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, create_model

from tools_server.reach.outside import NOWHERE, Outside
from tools_server.sdk.confirmation import Confirmation
from tools_server.sdk.state import ChangeReceipt, StoredReceipt, ToolsDatabase
from tools_server.values.language import text as _
from tools_server.values.paths import Root
from tools_server.values.policy import STRICTNESS, Action, AgentAccount, CallActor, Decision, Level, Policy, Risk
from tools_server.values.shapes import Shape, schema_of
from tools_server.values.uptime import Uptime, since_boot
from wall.chain import Chain
from wall.roles import may

Error = Literal["denied", "confirm", "invalid", "not_found", "timeout", "failed"]
CALL_SECONDS = 60.0  # the longest that anyone may be kept waiting; a tool may promise less


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gives back."""

    text: str  # a sentence fit for speech
    data: Mapping[str, Any] = field(default_factory=dict)  # JSON
    receipt: ChangeReceipt | None = None  # when something changed
    reply: Any = None  # the protocol's own result, from a tool that passes on what a sentence cannot hold
    untrusted: bool = False  # words of others are in it: data, and never a reason to do something


class ToolFailed(Exception):
    """A tool cannot do what was asked. `str()` is a sentence that says why and what would work."""

    untrusted = False  # words of others are in it, such as the names of events that could be meant

    def __init__(self, error: Error, sentence: str, **data: Any) -> None:
        super().__init__(sentence)
        self.error = error
        self.data = data


class OpenConfirmations(Protocol):
    """The questions that wait for a person's yes."""

    def waiting(self) -> list[Confirmation]:
        """Return those that nobody has answered."""
        ...

    def unanswered(self) -> list[Confirmation]:
        """Return the questions of the last week whose minute went by and nobody answered, the latest first."""
        ...

    def hear(self, statement: str) -> Confirmation:
        """Take a person's answer, signed by the house; return the question. Raises `ToolFailed`."""
        ...


class UntrustedWords(Protocol):
    """The words that were written down because words of others asked for it."""

    def wished(self, *texts: Any, tool: str = "") -> bool:
        """Tell whether some are among what a tool says. Raises `sqlite3.Error`."""
        ...

    def wished_in(self, paper: str, file: str = "") -> bool:
        """Tell whether some are in a paper. Raises `sqlite3.Error`."""
        ...


@dataclass(frozen=True, slots=True)
class Inside:
    """The parts of the gate that the few tools about the gate look into, for the agent and the actor of one call."""

    asks: OpenConfirmations
    tell: Callable[[str], None]  # clients: this tool's answer would differ now
    record: Chain
    usage: Callable[[str], Mapping[str, Any]]  # of an agent, today; {} when nobody counts
    decide: Callable[[str, Mapping[str, Any]], Decision]  # a tool with these arguments, now
    policy: Policy
    agents: Mapping[str, AgentAccount]  # by name
    undo: Callable[[str], Undo | None]  # what takes a tool's changes back
    undoing: set[str]  # the receipts that are just being taken back
    tools: Mapping[str, ToolSpec]
    strangers: UntrustedWords  # what was written at the wish of words of others
    engines: Mapping[str, Any] = field(default_factory=dict)  # what the other tool files hold open, by file


@dataclass(frozen=True, slots=True)
class Call:
    """Everything a tool may know of, and reach, during one call."""

    tool: str
    agent: AgentAccount
    actor: CallActor
    turn: str
    state: ToolsDatabase
    roots: Mapping[str, Root]  # the agent's own, and no others
    now: Callable[[], float]  # wall clock, seconds since 1970
    uptime: Callable[[], Uptime] = since_boot  # of the machine, whose clock may be set
    zone: tzinfo | None = None  # where the house is; None is the machine's own
    outside: Outside = NOWHERE  # the one way to other machines
    settings: Any = None  # an instance of the tool file's `Settings`, when it has one
    engine: Any = None  # what the tool file's `opened` gave, when it has one
    settings_of: Mapping[str, Any] = field(default_factory=dict)  # of every tool file: the house lies in one place
    inside: Inside | None = None  # only a call that came through the gate has one
    wire: Any = None  # the protocol's own context of the request, for the few tools that speak it themselves
    arguments: Mapping[str, Any] = field(default_factory=dict)  # checked, with defaults filled in
    undoes: str = ""  # the receipt that this call takes back
    tainted: bool = False  # who wishes it has read words of others
    rehearsal: list[Any] | None = None  # takes what would be done, where everything is decided and nothing done

    @property
    def gate(self) -> Inside:
        """The parts of the gate, for the few tools about the gate."""
        assert self.inside is not None, "it came through the gate"
        return self.inside

    @property
    def home(self) -> Root:
        """The agent's first folder, where its papers are. Only for tools with root="*": others may have none."""
        return self.roots[self.agent.roots[0]]

    def local(self, at: float | None = None) -> datetime:
        """Return a moment, or this moment, on the clocks of the house."""
        moment = self.now() if at is None else at
        return datetime.fromtimestamp(moment, self.zone).astimezone(self.zone)

    def permit(self, **names: Any) -> None:
        """Ask the rules again, with what was meant by its own names. Raises `ToolFailed` when they say more.

        For tools that understand names: "the secret list" or "secrt" must not go round a rule about "secret". A name
        may be a list of all that the thing is called.
        """
        if self.inside is None or not self.arguments:
            return
        decide = self.inside.decide
        itself, general = decide(self.tool, {**self.arguments, **names}), decide(self.tool, self.arguments)
        if STRICTNESS[itself.verdict] > STRICTNESS[general.verdict]:
            hint = "" if itself.verdict == "deny" else _(" Ask for it by its own name.")
            raise ToolFailed("denied", itself.reason + hint, rule=itself.rule, **names)

    def require_manager(self) -> None:
        """Raise `ToolFailed` unless the asker's role may see what was done for everybody."""
        if not may(self.actor.role, "manage"):
            raise ToolFailed("denied", _("Only an owner may hear what was done for everybody."))

    def receipt(self, changed: str, *, before: Any, after: Any) -> ChangeReceipt:
        """Keep proof of a change. `before` and `after` are JSON, enough to undo it; None stands for nothing there.

        What cannot be undone has None for both.
        Inside `state.transaction()` it is committed together with the change.
        """
        actor = asdict(self.actor)
        return self.state.add_receipt(
            changed,
            tool=self.tool,
            agent=self.agent.name,
            actor=actor,
            turn=self.turn,
            at=self.now(),
            before=before,
            after=after,
            arguments=self.arguments,
            undoes=self.undoes,
            tainted=self.tainted,
        )

    def taken_back(self, stored_receipt: StoredReceipt) -> str:
        """Return how it is said that a change is taken back; of one that took back another, that this is done again."""
        deed, took_back = self.state.deed(stored_receipt)
        form = _("Done again: {changed}") if took_back else _("Taken back: {changed}")
        return form.format(changed=deed.changed)


Act = Callable[[str, str, Mapping[str, Any], Mapping[str, Any], str, str], Awaitable[tuple[bool, str]]]


async def _nobody_acts(*_call: object) -> tuple[bool, str]:
    return False, _("Nothing can be done here.")


@dataclass(frozen=True, slots=True)
class Live:
    """What a tool file's `opened` is given: everything that outlives one call."""

    state: ToolsDatabase
    outside: Outside
    settings: Any
    now: Callable[[], float]
    zone: tzinfo | None
    changed: Callable[[str], None]  # tell clients that this tool's answer would differ now: changed("home.list")
    mount: Callable[[str, Mapping[str, ToolSpec]], None] = lambda prefix, tools: None  # put others' tools beside ours
    act: Act = _nobody_acts  # call a tool for an agent and an actor: name, tool, arguments, actor, turn, language
    repeatable: Callable[[str], bool] = lambda tool: False  # whether calling a tool twice is as good as once
    uptime: Callable[[], Uptime] = since_boot  # of the machine, whose clock may be set


Run = Callable[..., Awaitable[Result]]
Preview = Callable[..., Awaitable[str]]
Undo = Callable[[Call, StoredReceipt], Awaitable[Result]]
Opened = Callable[[Live], AbstractAsyncContextManager[Any]]
R = TypeVar("R", bound=Run)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool, as the gate knows it."""

    name: str
    description: str
    schema: Mapping[str, Any]  # JSON Schema 2020-12 of an object that refuses extra properties
    run: Run
    arguments: type[BaseModel]  # fills in defaults
    validator: Draft202012Validator
    action: Action
    idempotent: bool  # twice is as good as once
    routine: bool  # polled by the house itself: a success is not worth a row of the record
    limit_seconds: float
    preview: Preview | None = None  # what would happen, in words, for a person to say yes to
    open_world: bool = False  # it reaches other machines
    untrusted: bool = False  # whatever it says may hold words of others
    data_schema: Mapping[str, Any] | None = None  # JSON Schema of `Result.data`; None is not said

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.action.risk == "read"

    @property
    def file(self) -> str:
        """The tool file it is in: "timers" of "timers.start"."""
        return self.name.split(".")[0]


def tool(
    name: str,
    *,
    data: Shape | None = None,
    risk: Risk,
    level: Level = "auto",
    idempotent: bool = False,
    root: str = "",
    agents: tuple[str, ...] = (),
    everybody: bool = False,
    routine: bool = False,
    limit_seconds: float = CALL_SECONDS,
    preview: Preview | None = None,
    open_world: bool = False,
    untrusted: bool = False,
) -> Callable[[R], R]:
    """Make a tool of `async def f(call: Call, argument: Annotated[int, Field(ge=1)], …) -> Result`.

    `data` is the shape of `Result.data` (shapes.py), which clients are shown and hold the answers to.
    `risk`: "read" changes nothing; "change" can be taken back with `history.undo`; "destructive" removes or overwrites
    what a person wrote; "outward" tells somebody outside the house. What each risk asks of a person is said in
    policy.toml; `level` is the least that this tool asks whatever is said there.
    `root` is the folder it works in: only agents that have it may call it. "*" is whichever the agent has, `call.home`
    first; so one agent's papers are never another's.
    `everybody` grants it to every agent, so that atlas.toml need not: for what only reads, and is nobody's secret. The
    rules may still deny it.
    `preview` takes what the tool takes and returns what would happen, as a question fit for speech ("Remove the task
    buy milk for good?"); it changes nothing, and raises `ToolFailed` when there is nothing to ask about. It says the
    same for as long as the same would happen (no "with 3 minutes left"): the yes is to that sentence only.
    `untrusted` when whatever it says, its questions and failures included, may hold words of people who do not live
    here: a mail, a file of any origin. Where that depends, `Result.untrusted` and `ToolFailed.untrusted` say it. Who
    was given such words is asked about what they change next (taint.py). What the household wrote itself, numbers,
    and the names that it gave its own things are no words of others.
    A tool runs on the event loop: between two awaits it is alone, so a read followed by a write needs no lock. It
    may touch the disk directly (a commit takes milliseconds); anything slower is awaited, and can then be timed out.
    """
    assert not routine or risk == "read", f"{name} changes something, so every call of it is recorded"
    assert not everybody or risk == "read", f"{name} changes something, so who may use it is said in atlas.toml"
    assert 0 < limit_seconds <= CALL_SECONDS

    def make(function: R) -> R:
        description = inspect.getdoc(function) or ""
        assert description, f"{name} needs a docstring: it is what a model chooses by"
        arguments = _arguments(name, function)
        schema = _schema(arguments)
        function.tool_spec = ToolSpec(  # type: ignore[attr-defined]
            name=name,
            description=description,
            schema=schema,
            run=function,
            arguments=arguments,
            validator=Draft202012Validator(schema),
            action=Action(name, agents, root, risk, level, everybody),
            idempotent=idempotent or risk == "read",
            routine=routine,
            limit_seconds=limit_seconds,
            preview=preview,
            open_world=open_world,
            untrusted=untrusted,
            data_schema=None if data is None else schema_of(data),
        )
        return function

    return make


# A tool by which the house itself looks, in nobody's name or for a page; no agent has it.
house_look = partial(tool, risk="read", agents=("house",), routine=True, limit_seconds=10)
# A tool over files in the folders of the agent that asks.
folder_tool = partial(tool, root="*", limit_seconds=20)


def _arguments(name: str, function: Run) -> type[BaseModel]:
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]  # the first is the call itself
    fields: dict[str, Any] = {
        parameter.name: (hints[parameter.name], ... if parameter.default is parameter.empty else parameter.default)
        for parameter in parameters
    }
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def _schema(arguments: type[BaseModel]) -> dict[str, Any]:
    schema = arguments.model_json_schema()
    assert "$defs" not in schema, "keep arguments flat: small models choose better, and grammars stay small"
    # Titles repeat the names, and every prompt would pay for them. (A property may itself be called "title".)
    for described in (schema, *schema.get("properties", {}).values()):
        described.pop("title", None)
    schema.setdefault("properties", {})
    return schema


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Every tool there is, and what their files need."""

    tools: Mapping[str, ToolSpec]  # by name, in order
    migrations: Mapping[str, str]
    settings: Mapping[str, type[BaseModel]]  # by tool file
    undo: Mapping[str, Undo]  # by tool file
    opened: Mapping[str, Opened]  # by tool file


def find(package: ModuleType) -> Toolbox:
    """Return what the files of a package offer. Besides its tools, a file may have

    - `MIGRATIONS: dict[name, SQL]`, the tables it needs; names begin with the file's own;
    - `class Settings(BaseModel)`, its table of the tools' settings; everything has a default, extras are refused;
    - `async def undo(call, kept) -> Result`: puts `kept.before` back if what is there still equals `kept.after`, and
      raises `ToolFailed` otherwise; it makes a receipt like any other change, so an undo can be undone;
    - `opened(live)`, an async context manager around what outlives one call (a connection, a child process), entered
      at the start without waiting for other machines, left at the end; it owns its tasks, and what it yields is
      `call.engine`.
    """
    tools: dict[str, ToolSpec] = {}
    migrations: dict[str, str] = {}
    settings: dict[str, type[BaseModel]] = {}
    undo: dict[str, Undo] = {}
    opened: dict[str, Opened] = {}
    for file in sorted(pkgutil.iter_modules(package.__path__), key=lambda file: file.name):
        module = import_module(f"{package.__name__}.{file.name}")
        for thing in vars(module).values():
            spec = getattr(thing, "tool_spec", None)
            if isinstance(spec, ToolSpec) and spec.run.__module__ == module.__name__:
                assert spec.file == file.name, f"{spec.name} belongs in {spec.file}.py"
                assert spec.name not in tools, f"two tools are called {spec.name}"
                tools[spec.name] = spec
        for name, sql in getattr(module, "MIGRATIONS", {}).items():
            assert name.startswith(file.name), f"migration {name} belongs to another file"
            migrations[name] = sql
        for kind, results in (("Settings", settings), ("undo", undo), ("opened", opened)):
            if (thing := vars(module).get(kind)) and (kind == "undo" or thing.__module__ == module.__name__):
                results[file.name] = thing
    return Toolbox(dict(sorted(tools.items())), migrations, settings, undo, opened)
