"""Calls go down: a file imports only from floors below its own, never from a sibling. This table is the rule."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.conftest import for_every
from tests.sources import nodes, parsed

ROOT = Path(__file__).parent.parent

FLOORS = {
    "atlas": 0,  # only __version__
    "atlas.audio": 0,
    "atlas.conversation": 0,
    "atlas.allowed_addresses": 0,
    "atlas.events": 0,
    "atlas.embeddings": 0,
    "atlas.errors": 0,
    "atlas.fields": 0,
    "atlas.own_words": 0,
    "atlas.config": 0,
    "atlas.engine": 0,
    "atlas.trace": 0,
    "atlas.thoughts": 0,
    "atlas.schemas": 0,
    "atlas.ways": 0,
    "atlas.shipped": 0,
    "atlas.heap": 0,
    "atlas.own_command": 0,
    "atlas.recent_log": 0,
    "atlas.latest": 0,
    "atlas.llm": 1,
    "atlas.speech": 1,
    "atlas.mcp": 1,
    "atlas.store": 1,
    "atlas.models": 1,
    "atlas.access": 1,
    "atlas.push": 1,
    "atlas.understanding": 1,  # wraps hassil and the public grammar; pure but for reading its files
    "atlas.agents": 2,
    "atlas.voice": 2,
    "atlas.hearing": 2,
    "atlas.router": 2,
    "atlas.confirmations": 2,
    "atlas.bell": 2,
    "atlas.health": 2,
    "atlas.turn_recorder": 2,
    "atlas.pressed_calls": 2,
    "atlas.changes": 2,
    "atlas.own_voice": 2,
    "atlas.push_notices": 2,
    "atlas.speaker_identification": 2,
    "atlas.house": 3,
    "atlas.house_reader": 3,
    "atlas.witness": 3,
    "atlas.backup_schedule": 3,
    "atlas.sound_sweep": 3,
    "atlas.opening": 4,  # opens the house below it
    "atlas.egress": 4,  # a process of its own
    "atlas.gateway": 4,
    "atlas.satellite": 4,  # a process of its own, often on another machine
    "atlas.cli": 5,
    "atlas.llm_host": 1,  # a process of its own: only words below it, and nobody above imports it
}
TOOL_SERVER_FLOORS = {
    "tools_server": 0,  # holds nothing
    "tools_server.values": 0,
    "tools_server.walls": 0,
    "tools_server.reach": 1,  # other machines, through the porter in the walls
    "tools_server.sdk": 2,
    "tools_server.times": 3,  # from here on, what tools share: each room for one kind of thing
    "tools_server.writing": 3,
    "tools_server.world": 3,
    "tools_server.calendars": 4,
    "tools_server.hubs": 4,
    "tools_server.post": 4,
    "tools_server.mounted": 4,
    "tools_server.gate": 4,
    "tools_server.tools": 5,
    "tools_server.boot": 6,
    "tools_server.wires": 7,
    "tools_server.calling": 8,
    "tools_server.server": 9,
}
PROCESSES = (
    "atlas.egress",
    "atlas.llm_host",
    "atlas.satellite",
    "tools_server",
)  # reached over a socket, never by import
STDLIB_ONLY = 0
# But for one check of arguments, which the house and the LLM host are to make alike: nothing above floor 0 serves both.
BESIDE_STDLIB = {"atlas.schemas": {"jsonschema", "pydantic_core", "referencing"}}


def package_of(module: str, floors: Mapping[str, int] = FLOORS) -> str | None:
    """The row of the table that a module falls under: the longest name that it begins with."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (name := ".".join(parts[:length])) in floors:
            return name
    return None


@cache
def modules(folder: str) -> tuple[tuple[str, Path], ...]:
    return tuple(_modules(folder))


def _modules(folder: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(_imports(path))


def imported_modules(path: Path, names: Collection[str]) -> Iterator[str]:
    """Yield what a file imports of these modules, and not what only holds it."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in names or node.module in names:
                    yield whole if whole in names else str(node.module)


def _imports(path: Path) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the floor"
            assert node.module
            yield node.module
            if node.module in ("atlas", "tools_server"):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


TABLES = (("atlas", FLOORS), ("tools_server", TOOL_SERVER_FLOORS))


@for_every(("top", "floors"), TABLES)
def test_every_module_has_a_floor(top: str, floors: Mapping[str, int]) -> None:
    homeless = [name for name, _ in modules(top) if package_of(name, floors) in (None, top) and name != top]
    assert homeless == []


@for_every(("top", "floors"), TABLES)
def test_imports_go_down_and_never_sideways(top: str, floors: Mapping[str, int]) -> None:
    wrong = []
    for module, path in modules(top):
        here = package_of(module, floors)
        assert here
        for imported in imports(path):
            there = package_of(imported, floors)
            if there is None or there in (here, top):
                continue
            if floors[there] > floors[here] or (floors[there] == floors[here] and (floors[here] or top != "atlas")):
                wrong.append(f"{module} (floor {floors[here]}) imports {imported} (floor {floors[there]})")
    assert wrong == []


@for_every("top", ["atlas", "tools_server", "wall"])
def test_no_modules_import_each_other_in_a_circle(top: str) -> None:
    """Not even where the import stands inside a function, or is for the types alone."""
    names = {name for name, _ in modules(top)}
    graph = {name: {one for one in imported_modules(path, names) if one != name} for name, path in modules(top)}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" → ".join(circle.args[1]))


def test_words_need_only_the_standard_library() -> None:
    import sys

    wrong = []
    for module, path in modules("atlas"):
        if FLOORS[package_of(module) or "atlas"] == STDLIB_ONLY:
            for imported in imports(path):
                top = imported.split(".")[0]
                if top not in {"atlas", "wall", *sys.stdlib_module_names, *BESIDE_STDLIB.get(module, ())}:
                    wrong.append(f"{module} imports {imported}")
    assert wrong == []


def test_processes_are_reached_over_a_socket_and_not_by_import() -> None:
    wrong = [
        f"{module} imports {imported}"
        for module, path in modules("atlas")
        for imported in imports(path)
        for process in PROCESSES
        if imported.startswith(process) and not module.startswith(process)
    ]
    assert wrong == []


def test_the_tool_server_knows_nothing_of_atlas() -> None:
    wrong = [
        f"{module} imports {imported}"
        for module, path in modules("tools_server")
        for imported in imports(path)
        if imported.split(".")[0] == "atlas"
    ]
    assert wrong == []


def test_the_wall_stands_on_the_standard_library_alone() -> None:
    import sys

    allowed = {"wall", *sys.stdlib_module_names}
    wrong = [
        f"{module} imports {imported}"
        for module, path in modules("wall")
        for imported in imports(path)
        if imported.split(".")[0] not in allowed
    ]
    assert wrong == []


def test_the_first_line_of_every_module_is_its_caption() -> None:
    missing = []
    for folder in ("atlas", "tools_server", "wall", "atlas_bench"):
        for module, path in modules(folder):
            caption = ast.get_docstring(parsed(path))
            if not caption or not caption.splitlines()[0].endswith((".", "?")):
                missing.append(module)
    assert missing == []
