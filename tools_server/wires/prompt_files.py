"""Prompts: Markdown files with variables that read tools fill in, for each asker anew.

A file is front matter (name, title, description, arguments, embed) and a text. `{{IN_CAPITALS}}` is what a read tool
says now, through the gate like any call, so a prompt tells nobody more than the tool would. `{{in_small}}` is an
argument of the prompt. Both are put in as they are and never looked at again: braces in them stay braces. `embed` is
the address of a resource that goes before the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mcp.types as types
from mcp.shared.exceptions import MCPError

from tools_server.gate.call_request import CallRequest
from tools_server.gate.gate import Gate
from tools_server.values.boot_files import BootFailed
from tools_server.values.policy import AgentAccount
from tools_server.wires.resources import Resources
from tools_server.writing.papers import Unreadable, body_of, front_matter
from wall.meta import UNTRUSTED_META

FOLDER = Path(__file__).parent.parent / "prompts"
ARGUMENT_CHARACTERS = 2_000
NOT_AVAILABLE = "(not available)"
_SLOT = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_KEYS = {"name", "title", "description", "arguments", "embed"}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a variable comes from: a read tool's sentence."""

    tool: str
    arguments: Mapping[str, Any]


SOURCES: Mapping[str, Source] = {
    "CURRENT_BALANCE": Source("ledger.show", {}),
    "TASK_HISTORY": Source("tasks.list", {"column": "done"}),
    "TASKS": Source("tasks.list", {}),
    "TASKS_DOING": Source("tasks.list", {"column": "doing"}),
    "BACKLOG": Source("tasks.list", {"column": "backlog"}),
    "TIMERS": Source("timers.list", {}),
    "REMINDERS": Source("reminders.list", {}),
    "SHOPPING": Source("lists.read", {}),
    "CALENDAR": Source("calendar.list", {}),
    "WEATHER": Source("weather.now", {}),
    "TODAY": Source("clock.date", {}),
    "NOW": Source("clock.time", {}),
    "CHANGES": Source("history.last", {}),
}
PERSON = "PERSON"  # who asks, by name


@dataclass(frozen=True, slots=True)
class PromptFile:
    """One file."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, str]  # name → what it is; one that ends in "?" may be left out
    embed: str
    text: str

    @property
    def slots(self) -> tuple[str, ...]:
        """Every name in braces, of the address and of the text."""
        return tuple(dict.fromkeys(_SLOT.findall(self.embed + self.text)))

    def optional(self, argument: str) -> bool:
        """Whether an argument may be left out."""
        return self.arguments[argument].endswith("?")


class PromptFiles:
    """Every prompt of a folder, over one gate."""

    def __init__(
        self, gate: Gate, resources: Resources, folder: Path = FOLDER, sources: Mapping[str, Source] = SOURCES
    ) -> None:
        """Read the folder. Raises `BootFailed` naming the file that is no prompt."""
        self._gate = gate
        self._resources = resources
        self._sources = sources
        self._prompts = {prompt.name: prompt for prompt in read_prompts(folder, sources)}

    def listed(self, agent: AgentAccount) -> list[types.Prompt]:
        """Return what there is, by name, without those that embed what the agent may not read."""
        return [
            types.Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    types.PromptArgument(name=name, description=meaning.rstrip("?"), required=not prompt.optional(name))
                    for name, meaning in prompt.arguments.items()
                ],
            )
            for prompt in self._prompts.values()
            if not prompt.embed or _SLOT.search(prompt.embed) or self._resources.may_read(agent, prompt.embed)
        ]

    async def get(
        self, wish: CallRequest, name: str, given: Mapping[str, str] | None
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Return a prompt, filled in for who asks (`wish` says who). Raises `MCPError` for a wrong name or argument."""
        prompt = self._prompts.get(name)
        if prompt is None:
            raise MCPError(code=types.INVALID_PARAMS, message=f"There is no prompt called {name[:100]}.")
        arguments = _checked(prompt, given or {})
        values: dict[str, str] = {}
        untrusted = False
        for slot in prompt.slots:
            if slot in prompt.arguments:
                values[slot] = arguments.get(slot, "")
            elif slot == PERSON:
                actor = wish.actor if isinstance(wish.actor, Mapping) else {}
                values[slot] = str(actor.get("person") or "somebody in the house")[:100]
            else:
                source = self._sources[slot]
                answer = await self._gate.call(replace(wish, tool=source.tool, arguments=dict(source.arguments)))
                if isinstance(answer.reply, types.InputRequiredResult):
                    return answer.reply
                values[slot] = NOT_AVAILABLE if answer.error else answer.text
                untrusted |= answer.untrusted
        messages = []
        if prompt.embed:
            read = await self._resources.read(wish, filled(prompt.embed, values))
            if isinstance(read, types.InputRequiredResult):
                return read
            untrusted |= UNTRUSTED_META in (read.meta or {})
            messages.append(_message(_embedded(read.contents[0])))
        messages.append(_message(types.TextContent(type="text", text=filled(prompt.text, values))))
        marked = {UNTRUSTED_META: True} if untrusted else None
        return types.GetPromptResult(description=prompt.description, messages=messages, _meta=marked)

    def complete(self, agent: AgentAccount, name: str, argument: str, begun: str) -> list[str]:
        """Return known values of an argument that begin so: addresses, when it is to be one."""
        prompt = self._prompts.get(name)
        if prompt is None or prompt.embed.strip("{} ") != argument:
            return []
        return [resource.uri for resource in self._resources.listed(agent) if resource.uri.startswith(begun)]


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values into a text, in one pass: what is put in is not looked at again."""
    return _SLOT.sub(lambda slot: values[slot[1]], text)


def read_prompts(folder: Path, sources: Mapping[str, Source]) -> list[PromptFile]:
    """Read every file of a folder, by name. Raises `BootFailed`."""
    prompts = [_read(file, sources) for file in sorted(folder.glob("*.md"))]
    names = [prompt.name for prompt in prompts]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise BootFailed(f"Two prompts in {folder} are called {twice}.")
    return sorted(prompts, key=lambda prompt: prompt.name)


def _read(file: Path, sources: Mapping[str, Source]) -> PromptFile:
    text = file.read_text(encoding="utf-8")
    try:
        head = front_matter(text)
    except Unreadable as wrong:
        raise BootFailed(f"The prompt {file} cannot be read: {wrong}.") from wrong
    if not {"name", "title", "description"} <= set(head) <= _KEYS:
        raise BootFailed(f"The prompt {file} begins with front matter: name, title, description and what it takes.")
    arguments = head.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise BootFailed(f"The prompt {file}: arguments is a table of name and meaning.")
    prompt = PromptFile(
        name=str(head["name"]),
        title=str(head["title"]),
        description=str(head["description"]),
        arguments={str(name): str(meaning) for name, meaning in arguments.items()},
        embed=str(head.get("embed") or ""),
        text=body_of(text).strip(),
    )
    if unknown := [slot for slot in prompt.slots if slot not in prompt.arguments and slot not in (*sources, PERSON)]:
        known = ", ".join(sorted([*sources, PERSON]))
        raise BootFailed(f"The prompt {file} has an unknown variable {unknown[0]}; there are {known}.")
    return prompt


def _checked(prompt: PromptFile, given: Mapping[str, str]) -> Mapping[str, str]:
    takes = ", ".join(prompt.arguments) or "nothing"
    if unknown := set(given) - set(prompt.arguments):
        problem = f"{prompt.name} does not take {min(unknown)[:100]}; it takes {takes}."
    elif missing := [name for name in prompt.arguments if not prompt.optional(name) and name not in given]:
        problem = f"{prompt.name} needs {', '.join(missing)}."
    elif long := [name for name, value in given.items() if len(value) > ARGUMENT_CHARACTERS]:
        problem = f"{min(long)} has at most {ARGUMENT_CHARACTERS} characters."
    else:
        return given
    raise MCPError(code=types.INVALID_PARAMS, message=problem)


def _message(content: Any) -> types.PromptMessage:
    return types.PromptMessage(role="user", content=content)


def _embedded(contents: types.TextResourceContents | types.BlobResourceContents) -> Any:
    """Return what was read as a part of a message: a picture as a picture, the rest as it is."""
    if isinstance(contents, types.BlobResourceContents) and (contents.mime_type or "").startswith("image/"):
        return types.ImageContent(type="image", data=contents.blob, mime_type=contents.mime_type or "")
    return types.EmbeddedResource(type="resource", resource=contents)
