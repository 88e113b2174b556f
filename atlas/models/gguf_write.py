"""Write a GGUF file, tensor after tensor, without holding more than one piece of it. The same input, the same bytes.

The format is told in `gguf.py`, which reads it. Numbers of metadata become what llama.cpp reads them as: int uint32,
float float32, lists of int int32.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

from atlas.models.gguf import BLOCKS, MAGIC, VERSIONS

ALIGNMENT = 32  # bytes; what readers take for granted
TYPES = {name: number for number, (name, _, _) in BLOCKS.items()}
UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9  # ggml's numbers of metadata types


@dataclass(frozen=True, slots=True)
class NewTensor:
    """A tensor to be written. `data` is asked for its pieces once, when their turn comes."""

    name: str
    shape: tuple[int, ...]  # fastest dimension first
    type: str  # as ggml calls it: "F32", "Q8_0"
    data: Callable[[], Iterable[bytes | memoryview]]

    @property
    def bytes(self) -> int:
        """Its size in the file."""
        _, block_bytes, block_values = BLOCKS[TYPES[self.type]]
        assert self.shape[0] % block_values == 0, f"{self.name}: a row is whole blocks"
        return prod(self.shape) // block_values * block_bytes


def write(out: BinaryIO, metadata: Mapping[str, Any], tensors: Sequence[NewTensor]) -> None:
    """Write header and tensors in the order given."""
    out.write(MAGIC + struct.pack("<IQQ", VERSIONS[-1], len(tensors), len(metadata)))
    for key, value in metadata.items():
        out.write(_text(key) + _value(value))
    at = 0
    for tensor in tensors:
        out.write(_text(tensor.name) + struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape))
        out.write(struct.pack("<IQ", TYPES[tensor.type], at))
        at += -(-tensor.bytes // ALIGNMENT) * ALIGNMENT
    _pad(out)
    for tensor in tensors:
        began = out.tell()
        for piece in tensor.data():
            out.write(piece)
        assert out.tell() - began == tensor.bytes, f"{tensor.name}: its data is as long as its shape says"
        _pad(out)


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<Q", len(raw)) + raw


def _value(value: Any) -> bytes:
    match value:
        case bool():
            return struct.pack("<I?", BOOL, value)
        case str():
            return struct.pack("<I", STRING) + _text(value)
        case int():
            return struct.pack("<II", UINT32, value)
        case float():
            return struct.pack("<If", FLOAT32, value)
        case [str(), *_]:
            return struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(_text, value))
        case [int(), *_]:
            return struct.pack(f"<IIQ{len(value)}i", ARRAY, INT32, len(value), *value)
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(value)}f", ARRAY, FLOAT32, len(value), *value)
    raise TypeError(f"no metadata: {value!r}")


def _pad(out: BinaryIO) -> None:
    out.write(bytes(-out.tell() % ALIGNMENT))
