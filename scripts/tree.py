"""Write docs/tree.md: every module with its caption, which is the first line of its docstring."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("atlas", "tools_server", "wall", "atlas_bench")
OUT = ROOT / "docs" / "tree.md"
INTRODUCTION = """# The tree

Every module and what it is, in its own words: `python scripts/tree.py` writes this page, and a test keeps it true.
"""


def caption(path: Path) -> str:
    """Return the first line of a module's docstring, with which every module begins."""
    with path.open(encoding="utf-8") as lines:
        return lines.readline().strip().removeprefix("r").removeprefix('"""').removesuffix('"""')


def page() -> str:
    """Return the whole page."""
    return INTRODUCTION + "".join(section(ROOT / package) for package in PACKAGES)


def section(folder: Path) -> str:
    """Return one package and the packages inside it."""
    lines = [
        f"\n## {folder.relative_to(ROOT)}\n\n{caption(folder / '__init__.py')}\n\n| file | what it is |\n|---|---|\n"
    ]
    lines += [f"| `{path.name}` | {caption(path)} |\n" for path in modules(folder)]
    lines += [section(inner) for inner in sorted(folder.iterdir()) if (inner / "__init__.py").is_file()]
    return "".join(lines)


def modules(folder: Path) -> Iterator[Path]:
    """Yield the modules of a folder in order, without the package's own."""
    yield from (path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py")


if __name__ == "__main__":
    OUT.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {OUT.relative_to(ROOT)}\n")
