"""Says with what words and environment a process of the same house is started: one of its own commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from atlas.config import Config


def own_command(config: Config, *arguments: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """Return `atlas` with these arguments, for this house's settings and data, and the environment that says which."""
    file = {"ATLAS_CONFIG": str(config.file)} if config.file else {}
    environment = {**os.environ, **file, "ATLAS_DATA": str(config.data)}
    return [sys.executable, "-m", "atlas.cli.main", *arguments], environment
