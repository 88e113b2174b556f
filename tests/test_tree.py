"""The page that lists every module says what the modules say of themselves."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_tree_is_as_written_down() -> None:
    spec = importlib.util.spec_from_file_location("tree", ROOT / "scripts" / "tree.py")
    assert spec
    assert spec.loader
    tree = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tree)
    assert tree.OUT.read_text(encoding="utf-8") == tree.page(), "run: python scripts/tree.py"
