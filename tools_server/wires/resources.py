"""Resources: views of read tools by address, so that there is one path through the gate for both.

A view is an address, the tool behind it, and which argument each variable of the address fills. What reads it is
the tool's own call: the same rules, the same record, the same walls. An agent that may not use the tool is not shown
the address.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import quote, unquote_to_bytes

import mcp.types as types
from mcp.shared.exceptions import MCPError

from tools_server.gate.call_request import CallRequest, CallResult
from tools_server.gate.gate import Gate
from tools_server.values.codes import Code
from tools_server.values.policy import AgentAccount
from wall.meta import UNTRUSTED_META

ADDRESS_CHARACTERS = 2_048
VALUE_CHARACTERS = 500
_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_VARIABLE = re.compile(r"\{([a-z_]+)\}")
_CODES: Mapping[str, int] = {
    "not_found": types.INVALID_PARAMS,
    "invalid": types.INVALID_PARAMS,
    "timeout": types.INTERNAL_ERROR,
    "failed": types.INTERNAL_ERROR,
}


@dataclass(frozen=True)
class View:
    """One address, or a family of addresses: RFC 6570 of level 1, simple expansion only."""

    uri: str
    tool: str
    title: str
    description: str
    arguments: Mapping[str, str] = field(default_factory=dict)  # the tool's argument → the variable that fills it
    follows: tuple[str, ...] = ()  # other tool files whose changes show here; ("*",) is any
    agent_variable: str = ""  # the variable that the agent's own name fills
    mime: str = "application/json"

    @property
    def name(self) -> str:
        """A short name: "timers_active" of timers://active."""
        return re.sub(r"[^a-z]+", "_", self.uri).strip("_")

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The names in braces."""
        return tuple(_VARIABLE.findall(self.uri))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What its addresses look like; a value is what stands between two slashes, still encoded."""
        parts = _VARIABLE.split(self.uri)
        return re.compile(
            "".join(f"(?P<{part}>[^/?#]*)" if odd % 2 else re.escape(part) for odd, part in enumerate(parts))
        )

    def expand(self, values: Mapping[str, str]) -> str:
        """Return the address with these values."""
        return _VARIABLE.sub(lambda match: quote(values[match[1]], safe=""), self.uri)

    def shows(self, tool: str) -> bool:
        """Whether it may read differently once this tool has changed something."""
        file = tool.split(".")[0]
        return file == self.tool.split(".")[0] or file in self.follows or "*" in self.follows


VIEWS = (
    View("timers://active", "timers.list", "Timers", "Every timer and how long it has left."),
    View("tasks://board", "tasks.list", "Task board", "What is on the home task board and not done."),
    View("reminders://waiting", "reminders.list", "Reminders", "What people will be reminded of."),
    View("calendar://today", "calendar.list", "Today", "What today's calendar holds."),
    View("alarms://set", "alarms.list", "Alarms", "Every alarm, and when it rings."),
    View("notes://all", "notes.list", "Notes", "Which notes there are."),
    View("home://devices", "home.list", "Home", "Every device with its state, every room and floor."),
    View("asks://waiting", "asks.waiting", "Questions", "What waits for a person's yes."),
    View("lists://{name}", "lists.read", "A list", "One list, such as shopping.", {"list": "name"}),
    View(
        "payroll://ledger/{agent_id}",
        "ledger.show",
        "Usage",
        "What an agent has used of its day's budget, and what is left.",
        {"agent": "agent_id"},
        follows=("*",),
        agent_variable="agent_id",
    ),
    View(
        "memory://vector/{query}",
        "memory.search",
        "Memory",
        "What was written down that is most like a query.",
        {"query": "query"},
        follows=("notes", "tasks", "lists", "facts", "files"),
    ),
    View(
        "system://logs/{level}",
        "logs.read",
        "Record",
        "The latest calls: info is all, warning what was refused, asked or failed, error what failed.",
        {"level": "level"},
        follows=("*",),
    ),
)


class BadAddress(Exception):
    """An address that is none of ours; `str()` says why."""

    def __init__(self, sentence: str, code: int = types.INVALID_PARAMS) -> None:
        super().__init__(sentence)
        self.code = code


class Resources:
    """The views that have their tool, over one gate."""

    def __init__(self, gate: Gate, views: Sequence[View] = VIEWS) -> None:
        self._gate = gate
        self._views = views

    def _visible(self, agent: AgentAccount) -> list[View]:
        tools = {spec.name for spec in self._gate.visible(agent)}
        return [view for view in self._views if view.tool in tools]

    def listed(self, agent: AgentAccount) -> list[types.Resource]:
        """Return the addresses that are known as they stand: no variable, or one whose values are known."""
        return [
            types.Resource(
                uri=view.expand(values),
                name="_".join([view.name, *values.values()]),
                title=" ".join([view.title, *values.values()]),
                description=view.description,
                mime_type=view.mime,
            )
            for view in self._visible(agent)
            for values in self._known(view, agent)
        ]

    def templates(self, agent: AgentAccount) -> list[types.ResourceTemplate]:
        """Return the families of addresses."""
        return [
            types.ResourceTemplate(
                uri_template=view.uri,
                name=view.name,
                title=view.title,
                description=view.description,
                mime_type=view.mime,
            )
            for view in self._visible(agent)
            if view.variables
        ]

    def _known(self, view: View, agent: AgentAccount) -> list[dict[str, str]]:
        if not view.variables:
            return [{}]
        if len(view.variables) > 1:
            return []
        return [{view.variables[0]: value} for value in self._values(view, view.variables[0], agent)]

    def _values(self, view: View, variable: str, agent: AgentAccount) -> list[str]:
        if variable == view.agent_variable:
            return [agent.name]
        schema = self._gate.schema(view.tool) or {}
        for argument, filled_by in view.arguments.items():
            if filled_by == variable:
                choices = schema.get("properties", {}).get(argument, {}).get("enum", [])
                return [choice for choice in choices if choice]
        return []

    def complete(self, agent: AgentAccount, template: str, variable: str, begun: str) -> list[str]:
        """Return the known values of a variable that begin so."""
        for view in self._visible(agent):
            if view.uri == template and variable in view.variables:
                return [value for value in self._values(view, variable, agent) if value.startswith(begun)]
        return []

    async def read(self, wish: CallRequest, uri: str) -> types.ReadResourceResult | types.InputRequiredResult:
        """Return what is there: the tool's data as JSON, then its sentence. `wish` says who asks. Raises `MCPError`."""
        try:
            view, values = self._found(uri)
        except BadAddress as bad:
            self._gate.misaddressed(replace(wish, tool=uri), str(bad))
            raise MCPError(code=bad.code, message=str(bad), data={"uri": uri}) from bad
        arguments = {argument: values[variable] for argument, variable in view.arguments.items()}
        answer = await self._gate.call(replace(wish, tool=view.tool, arguments=arguments))
        if answer.error:
            marked = {UNTRUSTED_META: True} if answer.untrusted else {}
            data = {"uri": uri, "error": answer.error, **marked}
            raise MCPError(code=_code(answer), message=answer.text, data=data)
        if isinstance(answer.reply, types.ReadResourceResult | types.InputRequiredResult):
            return answer.reply
        text = json.dumps(dict(answer.data), ensure_ascii=False)
        return types.ReadResourceResult(
            contents=[
                types.TextResourceContents(uri=uri, mime_type=view.mime, text=text),
                types.TextResourceContents(uri=uri, mime_type="text/plain", text=answer.text),
            ],
            _meta={UNTRUSTED_META: True} if answer.untrusted else None,
        )

    def _found(self, uri: str) -> tuple[View, dict[str, str]]:
        if len(uri) > ADDRESS_CHARACTERS:
            raise BadAddress("That address is too long.")
        for view in self._views:
            if self._gate.schema(view.tool) is not None and (match := view.pattern.fullmatch(uri)):
                return view, {variable: decoded(raw) for variable, raw in match.groupdict().items()}
        raise BadAddress("There is no resource at that address.")

    def may_read(self, agent: AgentAccount, uri: str) -> bool:
        """Whether there is such an address for an agent: it may be told of it, and of changes there."""
        try:
            view, _ = self._found(uri)
        except BadAddress:
            return False
        return view in self._visible(agent)

    def changed(self, uri: str, tool: str) -> bool:
        """Whether what an address shows may differ once this tool has changed something."""
        return any(view.shows(tool) and view.pattern.fullmatch(uri) for view in self._views)


def decoded(raw: str) -> str:
    """Return a value without its percent signs, decoded once and never again. Raises `BadAddress`."""
    if _PERCENT.search(raw):
        raise BadAddress("That address holds a percent sign that stands for nothing.")
    try:
        value = unquote_to_bytes(raw.encode("utf-8", "strict")).decode("utf-8")
    except UnicodeError:
        raise BadAddress("That address is not UTF-8.") from None
    if value in (".", "..") or any(
        character in "/\\" or unicodedata.category(character) == "Cc" for character in value
    ):
        raise BadAddress(
            "An address cannot be left: no dots for a name, no slash or control sign inside one.", Code.ESCAPE
        )
    if not value.strip():
        raise BadAddress("That address leaves a name empty.")
    if len(value) > VALUE_CHARACTERS:
        raise BadAddress(f"A name in an address has at most {VALUE_CHARACTERS} characters.")
    return value


def _code(answer: CallResult) -> int:
    """Return the JSON-RPC code of a refusal: where there is no result to carry the kind, the code must."""
    if answer.code is not None:
        return answer.code
    return _CODES.get(answer.error or "", types.INVALID_REQUEST)
