"""A published encoder that is damaged, or another file, is refused by name and takes no memory."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from atlas.errors import EngineError
from atlas.models import convert_e5
from atlas.models.convert_e5 import MAGIC
from tests.conftest import for_every

PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁on")


def published(
    offsets: list[int] | None = None, pieces: int = len(PIECES), size: int | None = None, tensors: int = 0
) -> bytes:
    """Return the file of an encoder with these pieces, and no tensor in it."""
    text, places = b"", [0]
    for piece in PIECES:
        text += piece.encode()
        places.append(len(text))
    head = MAGIC + bytes(4) + struct.pack("<7i", 384, 12, 12, 1536, len(PIECES), 512, 2) + bytes(8)
    head += struct.pack("<i", pieces) + bytes(16) + struct.pack("<Q", len(text) if size is None else size)
    body = struct.pack(f"<{len(places)}I", *(offsets or places)) + struct.pack(f"<{len(PIECES)}f", *range(len(PIECES)))
    return head + body + text + struct.pack("<iI", 0, 0) + struct.pack("<i", tensors)


def test_the_pieces_of_an_encoder_are_written_with_how_usual_each_is(tmp_path: Path) -> None:
    (tmp_path / "published").write_bytes(published())
    convert_e5.pieces(tmp_path / "published", tmp_path / "pieces.txt")
    lines = (tmp_path / "pieces.txt").read_text(encoding="utf-8").splitlines()
    assert lines == ["<s>\t0.0", "<pad>\t1.0", "</s>\t2.0", "<unk>\t3.0", "▁on\t4.0"]


@for_every(
    "content",
    [
        b"",
        b"no encoder at all",
        published()[:40],
        published()[:90],
        published()[:-6],
        published(pieces=0),
        published(pieces=-2),
        published(pieces=2**31 - 1),
        published(size=2**64 - 1),
        published(size=2**40),
        published(tensors=2**31 - 1),
        published(offsets=[0, 2**32 - 1, 0, 2**32 - 1, 0, 2**32 - 1]),
    ],
)
@for_every("convert", [convert_e5.pieces, convert_e5.encoder])
def test_a_file_that_is_cut_short_or_lies_about_itself_is_refused(content, convert, tmp_path: Path) -> None:
    (tmp_path / "published").write_bytes(content)
    with pytest.raises(EngineError, match="published cannot be converted"):
        convert(tmp_path / "published", tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_an_encoder_without_its_tensors_is_refused(tmp_path: Path) -> None:
    (tmp_path / "published").write_bytes(published())
    with pytest.raises(EngineError, match="cannot be converted"):
        convert_e5.encoder(tmp_path / "published", tmp_path / "made")


@pytest.mark.parametrize("damage", [None, b"", b"PK\3\4 no zip", b"words"])
def test_what_was_taught_missing_or_damaged_is_an_error_that_says_so(
    damage: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "published").write_bytes(published())
    monkeypatch.setattr(convert_e5, "TAUGHT", tmp_path / "encoder.npz")
    if damage is not None:
        (tmp_path / "encoder.npz").write_bytes(damage)
    with pytest.raises(EngineError, match="cannot be converted"):
        convert_e5.encoder(tmp_path / "published", tmp_path / "made")
