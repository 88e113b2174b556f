"""The header of a GGUF file: what a model is shaped like, read without loading it and without trusting it.

Only the beginning of a file is read, so a download that has barely begun can be judged too. The format: little-endian;
magic, version, number of tensors, number of metadata entries, the entries, then name, shape, type and offset of every
tensor. Source: the GGUF specification of ggml, version 3.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

from atlas.errors import EngineError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_ENTRIES = 4_096  # of metadata; models have about thirty
MOST_TENSORS = 100_000  # a 405B model has about 1,200
STRING_BYTES = 16 * 1024 * 1024  # chat templates are kilobytes
KEPT_ITEMS = 1_024  # of an array; vocabularies are counted and passed over
MOST_SKIPPED = 1 << 32  # bytes of an array; vocabularies take megabytes
DIMENSIONS = 4

# Bytes of one block and values in it, by ggml's number of the type.
BLOCKS: Mapping[int, tuple[str, int, int]] = {
    0: ("F32", 4, 1),
    1: ("F16", 2, 1),
    2: ("Q4_0", 18, 32),
    3: ("Q4_1", 20, 32),
    6: ("Q5_0", 22, 32),
    7: ("Q5_1", 24, 32),
    8: ("Q8_0", 34, 32),
    9: ("Q8_1", 36, 32),
    10: ("Q2_K", 84, 256),
    11: ("Q3_K", 110, 256),
    12: ("Q4_K", 144, 256),
    13: ("Q5_K", 176, 256),
    14: ("Q6_K", 210, 256),
    15: ("Q8_K", 292, 256),
    16: ("IQ2_XXS", 66, 256),
    17: ("IQ2_XS", 74, 256),
    18: ("IQ3_XXS", 98, 256),
    19: ("IQ1_S", 50, 256),
    20: ("IQ4_NL", 18, 32),
    21: ("IQ3_S", 110, 256),
    22: ("IQ2_S", 82, 256),
    23: ("IQ4_XS", 136, 256),
    24: ("I8", 1, 1),
    25: ("I16", 2, 1),
    26: ("I32", 4, 1),
    27: ("I64", 8, 1),
    28: ("F64", 8, 1),
    29: ("IQ1_M", 56, 256),
    30: ("BF16", 2, 1),
    34: ("TQ1_0", 54, 256),
    35: ("TQ2_0", 66, 256),
    39: ("MXFP4", 17, 32),
}
SPLIT = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")  # large models come in parts, and are loaded by the first
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor: its name, shape (fastest dimension first), type and size on disk."""

    name: str
    shape: tuple[int, ...]
    type: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Header:
    """What the beginning of a GGUF file says. Long arrays are given by their length alone: {"length": n}."""

    metadata: Mapping[str, Any]
    tensors: tuple[Tensor, ...]

    @property
    def architecture(self) -> str:
        """Such as "llama"; the prefix of what is said about its shape."""
        return str(self.metadata.get("general.architecture", ""))

    def of_architecture(self, key: str, default: Any = None) -> Any:
        """Return a value of the architecture's own: "block_count" of a llama is `llama.block_count`."""
        return self.metadata.get(f"{self.architecture}.{key}", default)

    @property
    def bytes(self) -> int:
        """The size of all tensors."""
        return sum(tensor.bytes for tensor in self.tensors)


def read_header(file: Path) -> Header:
    """Return the header of a file. Raises `EngineError` when it is no GGUF, is cut short, or lies about its sizes."""
    try:
        with file.open("rb") as stream:
            return _Reader(stream, file.name).header()
    except OSError as trouble:
        raise EngineError(f"{file} cannot be read: {trouble.strerror}", hint="check the path") from trouble


def parts_of(file: Path) -> list[Path]:
    """Return the files of the model that `file` is, or is a part of, in order, whether they are there or not.

    Raises `EngineError` for a name that says there are none.
    """
    split = SPLIT.fullmatch(file.name)
    if not split:
        return [file]
    stem, _, count = split.groups()
    if not int(count):
        raise EngineError(f"{file.name} says that it is of 0 parts", hint="pull the model again")
    return [file.with_name(f"{stem}-{number:05}-of-{count}.gguf") for number in range(1, int(count) + 1)]


def model_in(folder: Path) -> Path:
    """Return the file by which the one model in a folder is loaded. Raises `EngineError` saying what is wrong."""
    paths = sorted(folder.glob("*.gguf"))
    if not paths:
        raise EngineError(f"{folder} holds no .gguf files" if folder.is_dir() else f"there is no model {folder}")
    wanted = parts_of(paths[0])
    if lacking := [part.name for part in wanted if part not in paths]:
        raise EngineError(f"{folder} lacks {lacking[0]}", hint="pull the model again")
    if len(paths) > len(wanted):
        raise EngineError(f"{folder} holds {len(paths)} .gguf files", hint="it may hold one model")
    return paths[0]


def read_model(file: Path) -> Header:
    """Return the header of a model, of all its parts when it was split. Raises as `read_header` does."""
    first, *others = (read_header(part) for part in parts_of(file))
    return replace(first, tensors=sum((other.tensors for other in others), first.tensors))


class _Reader:
    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream = stream
        self._name = name

    def header(self) -> Header:
        if self._take(4) != MAGIC:
            raise self._wrong("does not begin like a GGUF")
        version = self._number("I")
        if version not in VERSIONS:
            raise self._wrong(f"is GGUF version {version}; versions {VERSIONS[0]} and {VERSIONS[1]} can be read")
        tensors, entries = self._number("Q"), self._number("Q")
        if tensors > MOST_TENSORS or entries > MOST_ENTRIES:
            raise self._wrong(f"claims {tensors} tensors and {entries} metadata entries")
        metadata = {self._string(): self._value(self._number("I")) for _ in range(entries)}
        return Header(metadata, tuple(self._tensor() for _ in range(tensors)))

    def _tensor(self) -> Tensor:
        name, dimensions = self._string(), self._number("I")
        if not 0 < dimensions <= DIMENSIONS:
            raise self._wrong(f"has a tensor of {dimensions} dimensions")
        shape = tuple(self._number("Q") for _ in range(dimensions))
        number = self._number("I")
        self._number("Q")  # where it lies
        if number not in BLOCKS:
            raise self._wrong(f"has a tensor of the unknown type {number}")
        kind, block_bytes, block_values = BLOCKS[number]
        return Tensor(name, shape, kind, prod(shape) // block_values * block_bytes)

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        if kind not in _NUMBERS:
            raise self._wrong(f"has metadata of the unknown type {kind}")
        return self._number(_NUMBERS[kind])

    def _array(self) -> Any:
        kind, length = self._number("I"), self._number("Q")
        if kind == _ARRAY:
            raise self._wrong("has an array of arrays")
        if kind == _STRING:
            remainder: list[str] = []
            for _ in range(length):  # ends at the end of the file at the latest
                text = self._string()
                if len(remainder) <= KEPT_ITEMS:
                    remainder.append(text)
            return remainder if length <= KEPT_ITEMS else {"length": length}
        if kind not in _NUMBERS:
            raise self._wrong(f"has an array of the unknown type {kind}")
        if length <= KEPT_ITEMS:
            return [self._number(_NUMBERS[kind]) for _ in range(length)]
        self._skip(length * struct.calcsize(_NUMBERS[kind]))
        return {"length": length}

    def _string(self) -> str:
        length = self._number("Q")
        if length > STRING_BYTES:
            raise self._wrong(f"claims a text of {length} bytes")
        return self._take(length).decode("utf-8", "replace")

    def _number(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self._take(struct.calcsize(form)))[0]

    def _skip(self, count: int) -> None:
        if count > MOST_SKIPPED:
            raise self._wrong(f"claims an array of {count} bytes")
        self._stream.seek(count - 1, 1)
        self._take(1)  # seeking goes past the end without a word

    def _take(self, count: int) -> bytes:
        taken = self._stream.read(count)
        if len(taken) != count:
            raise self._wrong("ends in the middle of its header")
        return taken

    def _wrong(self, what: str) -> EngineError:
        return EngineError(f"{self._name} {what}", hint="it is no model, or not a whole one: pull it again")
