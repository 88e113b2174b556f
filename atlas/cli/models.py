"""`atlas models`: which weights there are, whether they are whole, and fetching the default ones."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from atlas.config import load as load_config
from atlas.models import catalogue, fetch

CATALOGUE = Path(__file__).parents[2] / "models" / "catalogue.toml"


def main(arguments: Sequence[str]) -> int:
    """Run `atlas models list | verify | fetch`; return the exit status."""
    parser = argparse.ArgumentParser(prog="atlas models", description=__doc__)
    parser.add_argument("verb", choices=("list", "verify", "fetch"))
    verb = parser.parse_args(arguments).verb
    folder = load_config(os.environ).models.folder
    models = catalogue.load(CATALOGUE)
    if verb == "fetch":
        fetch.ensure((model for model in models if model.default), folder, tell)
        return 0
    return listing(models, folder) if verb == "list" else verification(models, folder)


def tell(line: str) -> None:
    """Say what takes time now."""
    print(f"atlas        {line}", flush=True)


def listing(models: Sequence[catalogue.Model], folder: Path) -> int:
    """Print a line for each model of the catalogue."""
    for model in models:
        here = "on disk" if (folder / model.name).is_dir() else "not on disk"
        print(f"{model.name:24} {model.role:4} {model.bytes / 1e6:6.0f} MB  {model.licence:12} {here}")
    return 0


def verification(models: Sequence[catalogue.Model], folder: Path) -> int:
    """Read every model on disk whole and print what is wrong with it; the status is 1 when something is."""
    bad = 0
    for model in models:
        if (folder / model.name).is_dir() or model.default:
            faults = model.faults(folder)
            bad += len(faults)
            print(f"{model.name:24} {'; '.join(faults) or 'whole'}")
    if bad:
        print("atlas: run `atlas models fetch` to replace what is wrong.", file=sys.stderr)
    return 1 if bad else 0
