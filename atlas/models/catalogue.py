"""models/catalogue.toml as values: which model files there are, where they come from, what they must hash to."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas.errors import ConfigError

READ_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model. `inside` is its path in the package."""

    name: str
    inside: str
    bytes: int
    sha256: str

    def fault(self, folder: Path) -> str:
        """Return what is wrong with the file in `folder`, reading it whole; "" when it is as it should be."""
        path = folder / self.name
        if not path.is_file():
            return "missing"
        if (size := path.stat().st_size) != self.bytes:
            return f"{size} bytes long, not {self.bytes}"
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(READ_BYTES):
                digest.update(block)
        return "" if digest.hexdigest() == self.sha256 else f"changed: its sha256 is {digest.hexdigest()}"


@dataclass(frozen=True, slots=True)
class Model:
    """One model of the catalogue; its files lie in the folder `name` of the models folder."""

    name: str
    role: str
    title: str
    licence: str
    maker: str
    default: bool
    package: str
    version: str
    package_sha256: str
    files: tuple[ModelFile, ...]

    @property
    def bytes(self) -> int:
        """The size of all its files."""
        return sum(file.bytes for file in self.files)

    def faults(self, models: Path) -> list[str]:
        """Return what is wrong with its files on disk, one sentence each; empty when all is well."""
        folder = models / self.name
        return [f"{self.name}/{file.name} is {fault}" for file in self.files if (fault := file.fault(folder))]


def load(file: Path) -> tuple[Model, ...]:
    """Read a catalogue. Raises `ConfigError` when it is missing or malformed."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        return tuple(_model(name, entry) for name, entry in table.items())
    except (OSError, tomllib.TOMLDecodeError, TypeError) as trouble:
        raise ConfigError(
            f"{file} is no catalogue of models: {trouble}", hint="restore it from the release"
        ) from trouble


def _model(name: str, entry: dict[str, Any]) -> Model:
    if name in (".", "..") or "/" in name:
        raise TypeError(f"{name!r} cannot be the name of a folder")
    files = tuple(ModelFile(**file) for file in entry.pop("files"))
    return Model(name=name, files=files, **entry)
