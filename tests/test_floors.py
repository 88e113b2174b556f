"""Calls go down: a file imports only from floors below its own, never from a sibling. This table is the rule."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

FLOORS = {
    "atlas": 0,  # only __version__
    "atlas.audio": 0,
    "atlas.conversation": 0,
    "atlas.events": 0,
    "atlas.errors": 0,
    "atlas.own_words": 0,
    "atlas.config": 0,
    "atlas.engine": 0,
    "atlas.trace": 0,
    "atlas.thoughts": 0,
    "atlas.strict_json": 0,
    "atlas.schemas": 0,
    "atlas.ways": 0,
    "atlas.shipped": 0,
    "atlas.logs": 0,
    "atlas.heap": 0,
    "atlas.llm": 1,
    "atlas.speech": 1,
    "atlas.mcp": 1,
    "atlas.store": 1,
    "atlas.models": 1,
    "atlas.access": 1,
    "atlas.understanding": 1,  # wraps hassil and the public grammar; pure but for reading its files
    "atlas.agents": 2,
    "atlas.voice": 2,
    "atlas.hearing": 2,
    "atlas.router": 2,
    "atlas.assent": 2,
    "atlas.bell": 2,
    "atlas.health": 2,
    "atlas.telling": 2,
    "atlas.presses": 2,
    "atlas.changes": 2,
    "atlas.house": 3,
    "atlas.witness": 3,
    "atlas.opening": 4,  # opens the house below it
    "atlas.egress": 4,  # a process of its own
    "atlas.gateway": 4,
    "atlas.satellite": 4,  # a process of its own, often on another machine
    "atlas.cli": 5,
    "atlas.llm_host": 1,  # a process of its own: only words below it, and nobody above imports it
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


def package_of(module: str) -> str | None:
    """The row of the table that a module falls under: the longest name that it begins with."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        if (name := ".".join(parts[:length])) in FLOORS:
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
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the floor"
            assert node.module
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "atlas")


def test_every_module_of_atlas_has_a_floor() -> None:
    homeless = [name for name, _ in modules("atlas") if package_of(name) in (None, "atlas") and name != "atlas"]
    assert homeless == []


def test_imports_go_down_and_never_sideways() -> None:
    wrong = []
    for module, path in modules("atlas"):
        here = package_of(module)
        assert here
        for imported in imports(path):
            there = package_of(imported)
            if there is None or there in (here, "atlas"):
                continue
            if FLOORS[there] > FLOORS[here] or (FLOORS[there] == FLOORS[here] and FLOORS[here] > 0):
                wrong.append(f"{module} (floor {FLOORS[here]}) imports {imported} (floor {FLOORS[there]})")
    assert wrong == []


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
    for folder in ("atlas", "tools_server", "wall", "bench"):
        for module, path in modules(folder):
            caption = ast.get_docstring(parsed(path))
            if not caption or not caption.splitlines()[0].endswith((".", "?")):
                missing.append(module)
    assert missing == []
