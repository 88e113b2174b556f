"""Tools are functions: `@tool(...)` takes the schema from their type hints; listing a folder finds them."""

from __future__ import annotations

import inspect
import pkgutil
import typing
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, tzinfo
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, TypeVar

from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, create_model

from tools_server.paths import Root
from tools_server.policy import Action, Actor, Agent
from tools_server.state import Receipt, State

Error = Literal["denied", "invalid", "not_found", "timeout", "failed"]
CALL_SECONDS = 60.0  # the longest that anyone may be kept waiting; a tool may promise less


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gives back."""

    text: str  # a sentence fit for speech
    data: Mapping[str, Any] = field(default_factory=dict)  # JSON
    receipt: Receipt | None = None  # when something changed


class ToolFailed(Exception):
    """A tool cannot do what was asked. `str()` is a sentence that says why and what would work."""

    def __init__(self, error: Error, sentence: str, **data: Any) -> None:
        super().__init__(sentence)
        self.error = error
        self.data = data


@dataclass(frozen=True, slots=True)
class Call:
    """Everything a tool may know of, and reach, during one call."""

    tool: str
    agent: Agent
    actor: Actor
    turn: str
    state: State
    roots: Mapping[str, Root]  # the agent's own, and no others
    now: Callable[[], float]  # wall clock, seconds since 1970
    zone: tzinfo | None = None  # where the house is; None is the machine's own

    def local(self, at: float | None = None) -> datetime:
        """Return a moment, or this moment, on the clocks of the house."""
        moment = self.now() if at is None else at
        return datetime.fromtimestamp(moment, self.zone).astimezone(self.zone)

    def receipt(self, changed: str, *, before: Any, after: Any) -> Receipt:
        """Keep proof of a change. `before` and `after` are JSON, enough to undo it; None stands for nothing there.

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
        )


Run = Callable[..., Awaitable[Result]]
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
    reads: bool  # changes nothing
    destructive: bool  # what it removes cannot be had back by calling another tool
    idempotent: bool  # twice is as good as once
    routine: bool  # polled by the house itself: a success is not worth a row of the record
    limit_seconds: float


def tool(
    name: str,
    *,
    reads: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    root: str = "",
    agents: tuple[str, ...] = (),
    routine: bool = False,
    limit_seconds: float = CALL_SECONDS,
) -> Callable[[R], R]:
    """Make a tool of `async def f(call: Call, argument: Annotated[int, Field(ge=1)], …) -> Result`.

    A tool runs on the event loop: between two awaits it is alone, so a read followed by a write needs no lock. It
    may touch the disk directly (a commit takes milliseconds); anything slower is awaited, and can then be timed out.
    """
    assert not (reads and destructive), f"{name} cannot both only read and destroy"
    assert not routine or reads, f"{name} changes something, so every call of it is recorded"
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
            action=Action(name, agents, root),
            reads=reads,
            destructive=destructive,
            idempotent=idempotent or reads,
            routine=routine,
            limit_seconds=limit_seconds,
        )
        return function

    return make


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


def find(package: ModuleType) -> tuple[dict[str, ToolSpec], dict[str, str]]:
    """Return the tools, by name and in order, and the migrations of every file in a package.

    A file that needs tables has `MIGRATIONS: dict[name, SQL]`; names begin with the file's own.
    """
    tools: dict[str, ToolSpec] = {}
    migrations: dict[str, str] = {}
    for file in sorted(pkgutil.iter_modules(package.__path__), key=lambda file: file.name):
        module = import_module(f"{package.__name__}.{file.name}")
        for thing in vars(module).values():
            spec = getattr(thing, "tool_spec", None)
            if isinstance(spec, ToolSpec) and spec.run.__module__ == module.__name__:
                assert spec.name.startswith(f"{file.name}."), f"{spec.name} belongs in {spec.name.split('.')[0]}.py"
                assert spec.name not in tools, f"two tools are called {spec.name}"
                tools[spec.name] = spec
        for name, sql in getattr(module, "MIGRATIONS", {}).items():
            assert name.startswith(file.name), f"migration {name} belongs to another file"
            migrations[name] = sql
    return dict(sorted(tools.items())), migrations
