"""Node, from its Python wheel, and the official clients, as their lock file says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import node_packages

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def node() -> str:
    """The Node of the test environment."""
    return str(node_packages.node())


@pytest.fixture(scope="session")
def official() -> Path:
    """The folder of the official clients."""
    return node_packages.install(HERE) / "@modelcontextprotocol"
