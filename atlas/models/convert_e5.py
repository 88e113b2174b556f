"""Makes the encoder of requests: multilingual-e5-small, cut down to what a house says, with what Atlas taught it.

The package holds the published encoder in 4 bits, in one file of its own format. Of its 250,002 pieces of words the
77,000 stay that are written in the small letters of western Europe; of its layers those that were taught. What was
taught is a change of low rank to each matrix (scripts/train_acts.py), in whole numbers: their products are exact, and
the rest is arithmetic that IEEE 754 leaves no choice in, so that the result has one hash everywhere.
Sources: the reader in the package (its e5.c); ggml's q4_0; CTranslate2's converters; LoRA (Hu et al., 2021).
"""

from __future__ import annotations

import itertools
import lzma
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.errors import EngineError
from atlas.models.ctranslate import save_encoder

Floats = NDArray[np.float32]
TAUGHT = Path(__file__).parent.parent / "understanding" / "corpus" / "encoder.npz"
MAGIC = b"E5S1"
HEADS = 12
LONGEST_TOKENS = 128
BLOCK_VALUES = 32
BLOCK_BYTES = 2 + BLOCK_VALUES // 2  # a scale of 16 bits, then 4 bits for each value
SPECIAL = 4  # the first pieces: begin, pad, end, unknown
MATRICES = {"q": "query", "k": "key", "v": "value", "ao": "attention", "fi": "inner", "fo": "outer"}
_PIECE = re.compile("▁?[!-@\\[-~§-ÿœ‘’“”„€…–]*")  # what is said in lower case, in the languages of western Europe


@dataclass(frozen=True, slots=True)
class _Entry:
    begin: int
    bytes: int


class Published:
    """The published encoder in its file. Raises `ValueError` when the file is no such encoder."""

    def __init__(self, file: Path) -> None:
        self._raw = np.memmap(file, np.uint8, "r")
        raw = memoryview(self._raw)  # type: ignore[arg-type] # an array is a buffer
        if bytes(raw[:4]) != MAGIC:
            raise ValueError(f"{file.name} begins with {bytes(raw[:4])!r}, not {MAGIC!r}")
        try:
            self.width, self.layers, _, self.inner, self.words, _, _ = struct.unpack_from("<7i", raw, 8)
            (pieces,) = struct.unpack_from("<i", raw, 44)
            (size,) = struct.unpack_from("<Q", raw, 64)
            if pieces < SPECIAL:
                raise ValueError(f"{file.name} has {pieces} pieces of words")
            offsets = np.frombuffer(raw, "<u4", pieces + 1, 72)
            at = 72 + offsets.nbytes
            self.scores = np.frombuffer(raw, "<f4", pieces, at)
            at += self.scores.nbytes
            if (offsets[1:] < offsets[:-1]).any():  # pieces that overlap could be gigabytes
                raise ValueError(f"the pieces of {file.name} are in no order")
            text = bytes(raw[at : at + size])
            self.pieces = [text[a:b].decode("utf-8", "replace") for a, b in itertools.pairwise(offsets)]
            at += size
            _, map_bytes = struct.unpack_from("<iI", raw, at)
            at += 8 + map_bytes
            (tensors,) = struct.unpack_from("<i", raw, at)
            at += 4
            self._entries: dict[str, _Entry] = {}
            for _ in range(tensors):
                (letters,) = struct.unpack_from("<H", raw, at)
                name = bytes(raw[at + 2 : at + 2 + letters]).decode()
                at += 2 + letters + 1
                _, begin, size = struct.unpack_from("<IQQ", raw, at)
                self._entries[name] = _Entry(begin, size)
                at += 20
        except (struct.error, UnicodeDecodeError, IndexError, OverflowError) as trouble:
            raise ValueError(f"{file.name} is cut short: {trouble}") from trouble

    def values(self, name: str) -> Floats:
        """Return a tensor that is stored in 32 bits."""
        entry = self._entries[name]
        return self._raw[entry.begin : entry.begin + entry.bytes].view("<f4").astype(np.float32)

    def matrix(self, name: str, rows: int, columns: int, chosen: NDArray[np.int64] | None = None) -> Floats:
        """Return a matrix that is stored in blocks of 4 bits, or the `chosen` rows of it."""
        entry = self._entries[name]
        blocks = self._raw[entry.begin : entry.begin + entry.bytes].reshape(rows, columns // BLOCK_VALUES, BLOCK_BYTES)
        blocks = np.ascontiguousarray(blocks if chosen is None else blocks[chosen])
        scales = blocks[..., :2].copy().view("<f2").astype(np.float32)
        halves = blocks[..., 2:]
        steps = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - np.float32(8)
        return np.asarray((steps * scales).reshape(len(blocks), columns), np.float32)

    @cached_property
    def chosen(self) -> NDArray[np.int64]:
        """The numbers of the pieces that stay, the special ones first."""
        useful = (at for at, piece in enumerate(self.pieces) if _PIECE.fullmatch(piece) and piece == piece.lower())
        return np.array([*range(SPECIAL), *(at for at in useful if at >= SPECIAL)], np.int64)


def pieces(source: Path, file: Path) -> None:
    """Write the pieces that stay into `file`, one a line, with how usual each is. Raises `EngineError`."""
    with _converting(source):
        published = Published(source)
        lines = (f"{published.pieces[at]}\t{float(published.scores[at])!r}" for at in published.chosen)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def encoder(source: Path, file: Path) -> None:
    """Write the encoder, taught, into `file` as CTranslate2 loads it (its model.bin). Raises `EngineError`."""
    with _converting(source), np.load(TAUGHT) as stored:
        save_encoder(taught(Published(source), dict(stored)), HEADS, file)


def taught(published: Published, changes: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the tensors of the encoder with what was taught: by name, those of layers as one list a layer."""
    width, inner = published.width, published.inner
    shapes = dict.fromkeys(("q", "k", "v", "ao"), (width, width)) | {"fi": (inner, width), "fo": (width, inner)}
    layers = []
    for at, number in enumerate(changes["layers"]):
        layer = {name: changes[name][at].astype(np.float32) for name in changes if name.startswith("b.")}
        for short, name in MATRICES.items():
            weights = published.matrix(f"l{number}.{short}.w", *shapes[short])
            layer[name] = weights + change(changes, short, at)
        layers.append(layer)
    return {
        "words": published.matrix("emb.word", published.words, width, published.chosen),
        "places": published.values("emb.pos").reshape(-1, width)[:LONGEST_TOKENS],
        "kinds": changes["kinds"].astype(np.float32),
        "norm": (published.values("emb.ln.w"), published.values("emb.ln.b")),
        "layers": layers,
    }


def change(changes: Mapping[str, NDArray[Any]], short: str, layer: int) -> Floats:
    """Return what is added to a matrix: a product of whole numbers, which is exact, times two scales."""
    product = changes[f"B.{short}"][layer].astype(np.float64) @ changes[f"A.{short}"][layer].astype(np.float64)
    rows, columns = (changes[f"{side}.{short}.scale"][layer].astype(np.float32) for side in "BA")
    return np.asarray(product.astype(np.float32) * rows[:, None] * columns[None, :], np.float32)


@contextmanager
def _converting(source: Path) -> Iterator[None]:
    """Raise `EngineError` for a file, or for what was taught, that is missing or damaged."""
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile, lzma.LZMAError) as trouble:
        raise EngineError(f"{source} cannot be converted to the encoder of requests: {trouble!r}") from trouble
