"""What may be said of a tool's last call, as sentences/tools.yaml has it: its arguments, and what "it" is. Values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from atlas.errors import ConfigError

FILE = Path(__file__).parent / "sentences" / "tools.yaml"


@dataclass(frozen=True, slots=True)
class SpokenTool:
    """One row: the arguments that may be said anew ("" where there is none), and how the tool is spoken about."""

    when: str = ""
    place: str = ""
    room: str = ""
    length: str = ""  # in seconds
    minutes: str = ""  # a length too, in whole minutes
    signed: bool = False
    things: str = ""
    switch: str = ""  # on or off
    numbers: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # least and most
    shift: Mapping[str, str] = field(default_factory=dict)  # which tool moves it by so much, and its arguments
    target: bool = False
    timer: bool = False
    adds: bool = False
    more: bool = False  # "and on Saturday at nine" makes another
    moves_on: bool = False  # of now; said of another time it becomes another tool
    undo: bool = False
    drops: str = ""  # the tool that drops the only thing it told of


@dataclass(frozen=True, slots=True)
class Rows:
    """What the results of one topic are about."""

    rows: tuple[str, ...]
    name: str
    id: str
    argument: str
    at: str = ""  # when it is
    ends: str = ""


@dataclass(frozen=True, slots=True)
class SpokenTools:
    """All rows, by the names of tools and of topics."""

    tools: Mapping[str, SpokenTool]
    things: Mapping[str, Rows]
    looks: frozenset[str]

    def of(self, tool: str) -> SpokenTool:
        """Return the row of a tool; one that allows nothing when it has none."""
        return self.tools.get(tool, _NOTHING)

    def only_looks(self, tool: str) -> bool:
        """Tell whether a tool changes nothing."""
        return tool in self.looks


_NOTHING = SpokenTool()


@cache
def open_spoken_tools(file: Path = FILE) -> SpokenTools:
    """Read the table. Raises `ConfigError` for a row that says what no row can say."""
    table = yaml.safe_load(file.read_text(encoding="utf-8"))
    tools = {name: _row(SpokenTool, f"tools.{name}", row) for name, row in table["tools"].items()}
    things = {
        name: _row(Rows, f"things.{name}", row | {"rows": tuple(row["rows"])}) for name, row in table["things"].items()
    }
    return SpokenTools(tools, things, frozenset(table["looks"]))


def _row(of: Any, where: str, row: Mapping[str, Any]) -> Any:
    known = {one.name: one for one in fields(of)}
    if unknown := {*row} - {*known}:
        raise ConfigError(
            f"{FILE.name}: {where} says {sorted(unknown)[0]!r}, which no row can", hint=f"it may say {', '.join(known)}"
        )
    wrong = [name for name, value in row.items() if isinstance(value, bool) != (str(known[name].type) == "bool")]
    if wrong:
        raise ConfigError(f"{FILE.name}: {where}: {wrong[0]} is {row[wrong[0]]!r}", hint="true, or an argument's name")
    return of(**row)
