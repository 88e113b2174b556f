"""Opens what lies behind the wire, in order: who may come, the rules, the tools, tools.db, the record, the folders."""

from __future__ import annotations

import argparse
import difflib
import re
import socket as sockets
import time
import zoneinfo
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ValidationError

import tools_server.tools
from tools_server.gate.confirmations import read_house_key
from tools_server.gate.gate import Gate
from tools_server.gate.ledger import Ledger
from tools_server.gate.signed_head import AUDIT_FILE, read_signed_head
from tools_server.reach.outside import Outside
from tools_server.sdk.state import ToolsDatabase
from tools_server.sdk.toolkit import Toolbox, find
from tools_server.values.boot_files import BootFailed, read_toml
from tools_server.values.language import languages
from tools_server.values.paths import Root
from tools_server.values.policy import AgentAccount
from tools_server.values.prove import SoundnessQuestion, prove
from tools_server.values.rules import read_policy
from tools_server.values.stderr import say
from tools_server.values.uptime import Uptime, since_boot
from tools_server.walls.porter import Porter
from wall.chain import Chain, ChainBroken
from wall.roles import ROLES


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What the command line says."""

    data: Path
    agents: Path
    policy: Path
    tools: Path | None = None  # TOML: one table per tool file
    egress: Path | None = None  # the socket of the one way out
    house_key: Path | None = None  # the key that the house signs with, its public half
    signed_head: Path | None = None  # how far the record goes, signed by the house; only it can write there
    socket: Path | None = None
    port: int | None = None
    listening: sockets.socket | None = None  # made before the walls, which let nothing of the kind be made
    porter: Porter | None = None  # fetches connections to the egress through the walls
    folders: Path | None = None  # where the agents' folders lie; None is `data`
    agent: str = ""  # for stdio: whose process this is
    role: str = ""  # for stdio: whom it speaks for; "" is what the agents file says
    timezone: str = ""  # "" is the machine's own
    languages: Sequence[str] = languages()  # that are spoken aloud, the usual one first; a caller may name another
    telemetry: bool = False  # for stdio: say every ten seconds how things are

    @classmethod
    def of(cls, given: argparse.Namespace) -> ServerSettings:
        """Return where everything lies, as every command line says it; who is served, and how, comes on top."""
        as_given = ("agents", "policy", "tools", "egress", "house_key", "timezone", "languages")
        return cls(
            data=given.data.resolve(),
            folders=given.folders.resolve() if given.folders else None,
            signed_head=getattr(given, "signed_head", None),
            **{name: getattr(given, name) for name in as_given},
        )

    def folder(self, root: str) -> Path:
        """Return where the folder of that name lies."""
        return (self.folders or self.data) / root


_KEYS = {"token_sha256", "tools", "roots", "roots_read_only", "roles", "acts_as", "private"}
_OWN = ("secrets", "run", "tools", "tmp", "sessions")  # folders of the data directory that are nobody's papers
_AGENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
_ROOT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,80}")


def read_agents(file: Path) -> tuple[dict[str, AgentAccount], dict[str, AgentAccount]]:
    """Return the agents by the SHA-256 of their token, and by name. Raises `BootFailed` naming the wrong key."""
    table = read_toml(file, "agents file")
    by_token: dict[str, AgentAccount] = {}
    by_name: dict[str, AgentAccount] = {}
    for name, entry in table.items():
        where = f"{file}: [{name}]"
        if not _AGENT_NAME.fullmatch(name) or not isinstance(entry, dict):
            raise BootFailed(f"{where} is not the table of an agent.")
        by_name[name] = agent = _agent(where, name, entry)
        token = entry.get("token_sha256", "")
        if token and not (isinstance(token, str) and re.fullmatch(r"[0-9a-f]{64}", token)):
            raise BootFailed(f"{where}: token_sha256 is not 64 small hexadecimal digits.")
        if token in by_token:
            raise BootFailed(f"{where} has the same token as [{by_token[token].name}].")
        if token:
            by_token[token] = agent
    return by_token, by_name


def _agent(where: str, name: str, entry: Mapping[str, Any]) -> AgentAccount:
    if unknown := set(entry) - _KEYS:
        raise BootFailed(f"{where} has an unknown key {min(unknown)!r}; the keys are {', '.join(sorted(_KEYS))}.")
    agent = AgentAccount(
        name,
        tools=_texts(where, entry, "tools"),
        roots=_texts(where, entry, "roots"),
        roles=_texts(where, entry, "roles"),
        acts_as=entry.get("acts_as", ""),
        private=entry.get("private", False),
        read_only=_texts(where, entry, "roots_read_only"),
    )
    if agent.acts_as not in ("", *ROLES):
        raise BootFailed(f"{where}: acts_as is one of {', '.join(ROLES)}.")
    if strange := set(agent.roles) - set(ROLES):
        raise BootFailed(f"{where}: {min(strange)!r} is no role; the roles are {', '.join(ROLES)}.")
    if "roles" in entry and not agent.roles:
        raise BootFailed(f"{where}: roles is empty, which would mean everybody. Name some, or leave it out.")
    if not isinstance(agent.private, bool):
        raise BootFailed(f"{where}: private is true or false.")
    if agent.private and not agent.roles:
        raise BootFailed(f"{where} is private and acts for everybody. Name its roles.")
    for root in agent.roots:
        if not _ROOT_NAME.fullmatch(root) or root in _OWN:
            raise BootFailed(f"{where}: the root {root!r} is not the name of a folder in the data directory.")
    if strange := set(agent.read_only) - set(agent.roots):
        raise BootFailed(f"{where}: {min(strange)!r} is in roots_read_only and not in roots.")
    return agent


def _texts(where: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = entry.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise BootFailed(f"{where}: {key} is not a list of texts.")
    return tuple(values)


def question(agents: Path, policy: Path) -> SoundnessQuestion:
    """Return what the soundness of the rules depends on, for these agents and every tool. Raises `BootFailed`."""
    _, by_name = read_agents(agents)
    specs = find(tools_server.tools).tools.values()
    takes = {spec.name: tuple(spec.schema["properties"]) for spec in specs}
    return SoundnessQuestion(read_policy(policy), tuple(by_name.values()), tuple(spec.action for spec in specs), takes)


def prove_rules(settings: ServerSettings) -> None:
    """Return when the rules are sound as a whole, for these agents and tools. Raises `BootFailed` with a sentence."""
    prove(question(settings.agents, settings.policy))


@contextmanager
def opened_gate(
    settings: ServerSettings,
    now: Callable[[], float] = time.time,
    toolbox: Toolbox | None = None,
    uptime: Callable[[], Uptime] = since_boot,
) -> Iterator[tuple[Gate, dict[str, AgentAccount]]]:
    """Open what lies behind the wire, in order; close it in reverse. Raises `BootFailed`, OSError, sqlite3.Error.

    `toolbox` is other tools than those of the house.
    """
    by_token, by_name = read_agents(settings.agents)
    policy = read_policy(settings.policy)
    toolbox = toolbox or find(tools_server.tools)
    tool_settings = read_tool_settings(settings.tools, toolbox)
    zone = _zone(settings.timezone)
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    database, record = settings.data / "tools.db", settings.data / AUDIT_FILE
    if _is_empty(database) and not _is_empty(record):
        say(f"WARNING {database} is empty, though calls were recorded: what was set before is gone. Is there a backup?")
    with closing(ToolsDatabase(database, toolbox.migrations)) as state:
        house_key = _house_key(settings.house_key)
        try:
            audit = Chain(record, read_signed_head(settings.signed_head, house_key))
        except ChainBroken as broken:
            raise BootFailed(
                f"{broken.strerror}. Look at it with `atlas-tools audit verify`, then move it away."
            ) from broken
        if audit.problem:
            say(f"WARNING The record is not as it was written: {audit.problem}. See `atlas doctor`.")
        with closing(audit):
            names = {root for agent in by_name.values() for root in agent.roots}
            roots = {name: Root(settings.folder(name)) for name in sorted(names)}
            _apart(roots)
            for root in roots.values():
                root.sweep()
            gate = Gate(
                toolbox,
                policy,
                by_token,
                audit,
                state,
                roots,
                tool_settings,
                outside=Outside(settings.egress, settings.porter),
                now=now,
                uptime=uptime,
                zone=zone,
                house_key=house_key,
                meter=Ledger(policy, audit.file, now, zone),
                spoken_languages=settings.languages,
            )
            yield gate, by_name


def _is_empty(file: Path) -> bool:
    return not file.is_file() or not file.stat().st_size


def _apart(roots: Mapping[str, Root]) -> None:
    """Two names for one folder, or a folder within a folder, would undo what is granted by name."""
    for name, root in roots.items():
        for other, outer in roots.items():
            if name != other and outer.folder in (root.folder, *root.folder.parents):
                raise BootFailed(f"The folder {name} lies in the folder {other}: {root.folder}. Take them apart.")


def _house_key(file: Path | None) -> Ed25519PublicKey | None:
    try:
        return read_house_key(file) if file else None
    except OSError as missing:
        raise BootFailed(f"The house's key, {file}, cannot be read: {missing.strerror}.") from missing
    except ValueError as wrong:
        raise BootFailed(str(wrong)) from wrong


def read_tool_settings(file: Path | None, toolbox: Toolbox) -> dict[str, BaseModel]:
    """Return the settings of every tool file that has some. Raises `BootFailed` naming the wrong key."""
    tables = read_toml(file, "file of the tools' settings") if file else {}
    if unknown := set(tables) - set(toolbox.settings):
        meant = _meant(min(unknown), toolbox.settings)
        raise BootFailed(f"[tools.{min(unknown)}]: there is no such tool with settings. {meant}")
    return {name: _settings(model, name, tables.get(name, {})) for name, model in toolbox.settings.items()}


def _settings(model: type[BaseModel], name: str, table: Any) -> BaseModel:
    """Return the settings of one tool file. Raises `BootFailed` in the words of atlas.toml."""
    try:
        return model.model_validate(table)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        *way, key = (str(step) for step in first["loc"]) if first["loc"] else ("",)
        where = f"[{'.'.join(('tools', name, *way))}]"
        if first["type"] == "extra_forbidden":
            raise BootFailed(f"{where} knows no {key!r}. {_meant(key, _keys(model, way))}") from wrong
        raise BootFailed(f"{where} {key}: {first['msg']}.") from wrong


def _keys(model: type[BaseModel], way: Sequence[str]) -> list[str]:
    """Return the keys of a table of settings, or of one within it."""
    schema = model.model_json_schema()
    table: Any = schema
    for step in way:
        table = table.get("properties", {}).get(step, {}) if not step.isdigit() else table.get("items", {})
        for choice in table.get("anyOf", []):
            table = choice if "$ref" in choice else table
        if "$ref" in table:
            table = schema["$defs"][table["$ref"].rpartition("/")[2]]
    return list(table.get("properties", {}))


def _meant(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f"Did you mean {near[0]!r}?" if near else f"It knows {', '.join(known) or 'none'}."


def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(name) if name else None
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as unknown:
        raise BootFailed(f"There is no time zone {name!r}; give one such as Europe/Paris.") from unknown
