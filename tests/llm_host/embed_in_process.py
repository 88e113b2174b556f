"""A converted encoder computes what the published weights say, and can be broken off. Run by `test_embed.py`."""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from atlas.errors import EngineError
from atlas.llm_host.encoder import GgufEncoder
from atlas.models.convert import bert, q8_0, read_safetensors

sys.path.insert(0, str(Path(__file__).parent))
from minilm import vector

pytestmark = pytest.mark.real

WIDTH, INNER, LAYERS, PLACES = 64, 128, 2, 16
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "on", "mat", ".", "cafe"]
CONFIG = {
    "_name_or_path": "tiny",
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "vocab_size": len(WORDS),
    "type_vocab_size": 2,
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "max_position_embeddings": PLACES,
    "layer_norm_eps": 1e-12,
}


def tiny(folder: Path) -> Path:
    """An encoder of random weights, as its maker would publish it."""
    chance = np.random.default_rng(7)
    shapes = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        for part in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            shapes |= {f"{layer}.{part}.weight": (WIDTH, WIDTH), f"{layer}.{part}.bias": (WIDTH,)}
        shapes |= {f"{layer}.intermediate.dense.weight": (INNER, WIDTH), f"{layer}.intermediate.dense.bias": (INNER,)}
        shapes |= {f"{layer}.output.dense.weight": (WIDTH, INNER), f"{layer}.output.dense.bias": (WIDTH,)}
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for norm in norms:
        shapes |= {f"{norm}.weight": (WIDTH,), f"{norm}.bias": (WIDTH,)}
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, shape in shapes.items():
        values = chance.normal(1.0 if "LayerNorm.weight" in name else 0.0, 0.3, shape).astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
        body += values
    written = json.dumps(header).encode()
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(written)) + written + body)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return folder


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return tiny(tmp_path / "tiny")


def test_what_is_converted_computes_what_was_published(published: Path, tmp_path: Path) -> None:
    bert(published, tmp_path / "tiny.gguf")
    encoder, weights = GgufEncoder(tmp_path / "tiny.gguf", 2), read_safetensors(published / "model.safetensors")
    for text, words in {
        "The cats sat on the mat.": "[CLS] the cat ##s sat on the mat . [SEP]",
        "Café": "[CLS] cafe [SEP]",
        "dog [SEP]": "[CLS] [UNK] [UNK] [UNK] [UNK] [SEP]",  # what a person writes is no control token
        "cat " * 40: "[CLS] " + "cat " * (PLACES - 2) + "[SEP]",  # only the beginning is read
    }.items():
        tokens, cut = encoder.tokens(text)
        assert ([WORDS[token] for token in tokens], cut) == (words.split(), text.startswith("cat "))
        array = encoder.vector(tokens, lambda: False)
        assert array is not None
        assert np.linalg.norm(array) == pytest.approx(1, abs=1e-6)
        assert float(array @ vector(weights, tokens, CONFIG)) > 0.999


def test_the_same_weights_become_the_same_bytes(published: Path, tmp_path: Path) -> None:
    digests = set()
    for name in ("a.gguf", "b.gguf"):
        bert(published, tmp_path / name)
        digests.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(digests) == 1


def test_a_step_that_is_told_to_stop_has_no_vector_and_can_be_done_again(published: Path, tmp_path: Path) -> None:
    bert(published, tmp_path / "tiny.gguf")
    encoder = GgufEncoder(tmp_path / "tiny.gguf", 2)
    tokens, _ = encoder.tokens("the cat")
    before = encoder.vector(tokens, lambda: False)
    assert encoder.vector(tokens, lambda: True) is None
    after = encoder.vector(tokens, lambda: False)
    assert before is not None and after is not None
    assert (before == after).all()


@pytest.mark.parametrize("change", [{"model_type": "t5"}, {"hidden_act": "relu"}, {"vocab_size": 9}])
def test_another_kind_of_model_is_not_converted(published: Path, tmp_path: Path, change: dict[str, object]) -> None:
    (published / "config.json").write_text(json.dumps(CONFIG | change))
    with pytest.raises(EngineError, match=f"its {next(iter(change))} is"):
        bert(published, tmp_path / "tiny.gguf")
    assert not (tmp_path / "tiny.gguf").exists()


@pytest.mark.parametrize("header", [b"", b"\xff" * 8, struct.pack("<Q", 2) + b"{]", b"lying"])
def test_weights_that_lie_about_themselves_are_refused(published: Path, tmp_path: Path, header: bytes) -> None:
    if header == b"lying":
        details = {"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 10**12]}}
        header = struct.pack("<Q", len(json.dumps(details))) + json.dumps(details).encode()
    (published / "model.safetensors").write_bytes(header)
    with pytest.raises(EngineError, match="no sentence encoder that can be converted"):
        bert(published, tmp_path / "tiny.gguf")


def test_blocks_of_8_bits_hold_a_value_to_a_step() -> None:
    values = np.random.default_rng(3).normal(0, 1, (3, 64)).astype(np.float32)
    values[1, :32] = 0
    blocks = np.frombuffer(q8_0(values), np.dtype([("scale", "<f2"), ("steps", "i1", 32)]))
    back = (blocks["scale"].astype(np.float32)[:, None] * blocks["steps"]).reshape(values.shape)
    assert np.abs(back - values).max() < np.abs(values).max() / 127
    assert not back[1, :32].any()


def test_a_language_model_makes_no_vectors(models: Path) -> None:
    with pytest.raises(EngineError, match="makes no vectors of sentences"):
        GgufEncoder(next((models / "smollm2-135m-instruct").glob("*.gguf")), 2)
