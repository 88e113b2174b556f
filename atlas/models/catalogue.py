"""models/catalogue.toml as values: which model files there are, where they come from, what they must hash to.

A model comes out of a package of a registry, or from a repository of a model hub. A hash that was only read somewhere
is counted by `seen`. Where nobody knows one, `sha256` is "": then what its maker's server says at the first pull is
pinned beside the files, and holds from then on.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from atlas.errors import ConfigError
from atlas.shipped import shipped

CATALOGUE = shipped("models/catalogue.toml")
SHA256 = re.compile(r"[0-9a-f]{64}")
PINS = ".pinned.json"  # file name → [bytes, sha256], of what the catalogue does not know


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model. `inside` is its path in the package, or in the repository of the hub."""

    name: str
    inside: str
    bytes: int  # about, where `sha256` is not known
    sha256: str = ""
    converted: str = ""  # made of the folder `inside` by this converter of `convert.py`, instead of copied

    def fault(self, folder: Path) -> str:
        """Return what is wrong with the file in `folder`, reading it whole; "" when it is as it should be."""
        path = folder / self.name
        if not path.is_file():
            return "missing"
        if (size := path.stat().st_size) != self.bytes:
            return f"{size} bytes long, not {self.bytes}"
        if not self.sha256:
            return "not known: its hash was never pinned"
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return "" if digest == self.sha256 else f"changed: its sha256 is {digest}"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A package that carries a piece of a file too large for one; the pieces are joined in their order."""

    package: str
    version: str
    package_sha256: str
    inside: str


@dataclass(frozen=True, slots=True)
class Model:
    """One model of the catalogue; its files lie in the folder `name` of the models folder."""

    name: str
    role: str
    title: str
    licence: str
    maker: str
    files: tuple[ModelFile, ...]
    default: bool = False
    package: str = ""  # with its version and the hash of its archive
    version: str = ""
    package_sha256: str = ""
    platform: str = ""  # of the package that is read, where each platform has its own
    python: str = ""  # the same, where each version of Python has its own
    parts: tuple[
        FilePart, ...
    ] = ()  # instead of one package: `joined` is spread over them, other files are in the first
    hub: str = ""  # the repository, as ORGANISATION/NAME
    revision: str = "main"
    seen: int = 0  # public manifests that say these hashes, where nobody has computed them from the files
    languages: tuple[str, ...] = ()
    summary: str = ""  # in one plain sentence: what it is good for
    needs: str = ""  # in words: what it takes to run it well
    tools: bool = False  # of a language model: may it be trusted to choose tools?
    most_tools: int = 8  # of a language model: that it is shown at once
    answers: bool = True  # of a language model: were most of its answers about the world right?
    context: int = 0  # of a language model: tokens to begin with

    @property
    def joined(self) -> ModelFile:
        """The file that is spread over `parts`: the first."""
        return self.files[0]

    @property
    def bytes(self) -> int:
        """The size of all its files."""
        return sum(file.bytes for file in self.files)

    @property
    def hashed(self) -> bool:
        """Whether the catalogue says what every file must hash to."""
        return all(file.sha256 for file in self.files)

    @property
    def verified(self) -> bool:
        """Whether somebody has computed these hashes from the files."""
        return self.hashed and not self.seen

    def pinned(self, models: Path) -> Model:
        """Return the model with what was pinned at its first pull filled in."""
        return self if self.hashed else self.with_pins(pins_in(models / self.name))

    def with_pins(self, pins: Mapping[str, tuple[int, str]]) -> Model:
        """Return the model with sizes and hashes for files that the catalogue has none of."""
        files = [
            file
            if file.sha256 or file.name not in pins
            else replace(file, bytes=pins[file.name][0], sha256=pins[file.name][1])
            for file in self.files
        ]
        return replace(self, files=tuple(files))

    def faults(self, models: Path) -> list[str]:
        """Return what is wrong with its files on disk, one sentence each; empty when all is well."""
        folder, files = models / self.name, self.pinned(models).files
        return [f"{self.name}/{file.name} is {fault}" for file in files if (fault := file.fault(folder))]


def pins_in(folder: Path) -> dict[str, tuple[int, str]]:
    """Return size and hash by name of file, pinned in a folder; none when nothing is, or no sense."""
    try:
        return {
            name: (int(size), str(digest)) for name, (size, digest) in json.loads((folder / PINS).read_bytes()).items()
        }
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return {}


def load(file: Path = CATALOGUE) -> tuple[Model, ...]:
    """Read a catalogue. Raises `ConfigError` when it is missing or malformed."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        return tuple(_model(name, entry) for name, entry in table.items())
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as trouble:
        raise ConfigError(
            f"{file} is no catalogue of models: {trouble}", hint="restore it from the release"
        ) from trouble


def _model(name: str, entry: dict[str, Any]) -> Model:
    _plain(name, "a folder")
    files = tuple(_file(file) for file in entry.pop("files"))
    if not files or len({file.name for file in files}) < len(files):
        raise TypeError(f"{name} must have files, each of its own name")
    languages = tuple(entry.pop("languages", ()))
    parts = tuple(_parts(**entry.pop("parts"))) if "parts" in entry else ()
    model = Model(name=name, files=files, languages=languages, parts=parts, **entry)
    if sum(map(bool, (model.package, model.parts, model.hub))) != 1:
        raise TypeError(f"{name} must come from a package, from several, or from a hub, and not from two of them")
    return model


def _parts(package: str, version: str, inside: str, sha256: Sequence[str]) -> Iterator[FilePart]:
    """Yield the parts of a row of packages; "{}" in their names is the number, from 1."""
    for number, digest in enumerate(sha256, 1):
        if not SHA256.fullmatch(digest):
            raise TypeError(f"{digest!r} is no sha256 of {package}")
        yield FilePart(package.format(number), version, digest, inside.format(number))


def _file(entry: dict[str, Any]) -> ModelFile:
    file = ModelFile(**{"inside": entry["name"], **entry})
    _plain(file.name, "a file")
    if ".." in Path(file.inside).parts or Path(file.inside).is_absolute():
        raise TypeError(f"{file.inside!r} leads out of where {file.name} comes from")
    if file.sha256 and not SHA256.fullmatch(file.sha256):
        raise TypeError(f"{file.sha256!r} is no sha256 of {file.name}")
    if type(file.bytes) is not int or file.bytes < 0:
        raise TypeError(f"{file.name} cannot have {file.bytes!r} bytes")
    return file


def _plain(name: str, what: str) -> None:
    """Refuse a name that would lie elsewhere, or hide, or be taken for our own notes."""
    if not isinstance(name, str) or not name or name.startswith(".") or set(name) & set("/\\\0"):
        raise TypeError(f"{name!r} cannot be the name of {what}")
