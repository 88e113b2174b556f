"""Make a GGUF file of a sentence encoder that its maker published as safetensors, so that llama.cpp can run it.

Only BERT with WordPiece and mean pooling, which is what MiniLM is: names of tensors, a vocabulary in llama.cpp's
spelling ("▁" begins a word, where BERT marks what goes on one with "##"), and the large matrices in blocks of 8 bits.
Only arithmetic that IEEE 754 leaves no choice in, so the result has one hash everywhere. Sources: the formats of
safetensors and GGUF; ggml's q8_0; the names that llama.cpp loads.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.errors import EngineError
from atlas.models import convert_e5
from atlas.models.convert_campplus import campplus
from atlas.models.gguf_write import NewTensor, write

Floats = NDArray[np.float32]
MOST_HEADER_BYTES = 16 * 1024 * 1024
Q8_VALUES = 32  # in one block, behind its scale
Q8_LARGEST = 127
NORMAL, UNKNOWN, CONTROL = 1, 2, 3  # llama.cpp's kinds of tokens
MEAN_POOLING = 1
Q8_FILE = 7  # llama.cpp's number for a file that is mostly q8_0

OUTER = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm": "token_embd_norm",
}
INNER = {  # of each layer
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
AS_THEY_ARE = ("position_embd.weight", "token_types.weight")  # llama.cpp adds these, and adds only 32 bits


def bert(folder: Path, file: Path) -> None:
    """Write the encoder in `folder` (config.json, vocab.txt, model.safetensors) into `file`.

    Raises `EngineError` when something is missing, or it is another kind of model.
    """
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        weights = read_safetensors(folder / "model.safetensors")
        _check(config, words)
        tensors = [
            _tensor(ours, weights[theirs]) for theirs, ours in sorted(_names(config["num_hidden_layers"]).items())
        ]
        metadata = _metadata(config, words)
    except (OSError, ValueError, KeyError) as trouble:
        raise EngineError(f"{folder} holds no sentence encoder that can be converted: {trouble}") from trouble
    with file.open("wb") as out:
        write(out, metadata, tensors)


CONVERTERS: Mapping[str, Callable[[Path, Path], None]] = {  # by what the catalogue calls them
    "bert": bert,
    "campplus": campplus,
    "e5_encoder": convert_e5.encoder,
    "e5_pieces": convert_e5.pieces,
}


def read_safetensors(file: Path) -> dict[str, Floats]:
    """Return the float32 tensors of a file, mapped rather than read. Raises `ValueError` when its header lies."""
    raw = np.memmap(file, dtype=np.uint8, mode="r")
    size = struct.unpack("<Q", bytes(raw[:8]))[0] if raw.size >= 8 else MOST_HEADER_BYTES + 1
    if size > min(MOST_HEADER_BYTES, raw.size - 8):
        raise ValueError(f"{file.name} is cut short, or no safetensors")
    body, results = raw[8 + size :], {}
    for name, details in json.loads(bytes(raw[8 : 8 + size])).items():
        if name == "__metadata__" or details["dtype"] != "F32":
            continue
        begin, end = details["data_offsets"]
        if not 0 <= begin <= end <= body.size:
            raise ValueError(f"{name} lies outside of {file.name}")
        results[name] = body[begin:end].view(np.float32).reshape(details["shape"])
    return results


def q8_0(values: Floats) -> bytes:
    """Return rows of whole blocks as ggml's q8_0: of 32 values a scale of 16 bits, then 8 bits each."""
    blocks = values.reshape(-1, Q8_VALUES)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(Q8_LARGEST)
    steps = np.rint(np.divide(blocks, scale, out=np.zeros_like(blocks), where=scale > 0)).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.int8), steps], axis=1).tobytes()


def _check(config: Mapping[str, Any], words: list[str]) -> None:
    wanted = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for key, value in (wanted | {"vocab_size": len(words)}).items():
        if config[key] != value:
            raise ValueError(f"its {key} is {config[key]!r}, not {value!r}")


def _names(layers: int) -> dict[str, str]:
    """Return their name of every tensor → ours."""
    names = {f"encoder.layer.{n}.{theirs}": f"blk.{n}.{ours}" for n in range(layers) for theirs, ours in INNER.items()}
    both = {
        f"{theirs}.{part}": f"{ours}.{part}"
        for theirs, ours in (names | OUTER).items()
        if not ours.endswith(".weight")
        for part in ("weight", "bias")
    }
    return both | {theirs: ours for theirs, ours in OUTER.items() if ours.endswith(".weight")}


def _tensor(name: str, values: Floats) -> NewTensor:
    shape = tuple(reversed(values.shape))
    if len(shape) == 1 or name in AS_THEY_ARE:
        return NewTensor(name, shape, "F32", lambda: [np.ascontiguousarray(values, "<f4").tobytes()])
    return NewTensor(name, shape, "Q8_0", lambda: [q8_0(np.asarray(values))])


def _metadata(config: Mapping[str, Any], words: list[str]) -> dict[str, Any]:
    special = {word: number for number, word in enumerate(words) if word.startswith("[") and word.endswith("]")}
    kinds = [CONTROL if word in special else NORMAL for word in words]
    kinds[special["[UNK]"]] = UNKNOWN
    return {
        "general.architecture": "bert",
        "general.name": config["_name_or_path"],
        "general.file_type": Q8_FILE,
        "bert.block_count": config["num_hidden_layers"],
        "bert.context_length": config["max_position_embeddings"],
        "bert.embedding_length": config["hidden_size"],
        "bert.feed_forward_length": config["intermediate_size"],
        "bert.attention.head_count": config["num_attention_heads"],
        "bert.attention.layer_norm_epsilon": float(config["layer_norm_eps"]),
        "bert.attention.causal": False,
        "bert.pooling_type": MEAN_POOLING,
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.tokens": [_spelled(word, word in special) for word in words],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.token_type_count": config["type_vocab_size"],
        "tokenizer.ggml.bos_token_id": special["[CLS]"],
        "tokenizer.ggml.eos_token_id": special["[SEP]"],
        "tokenizer.ggml.unknown_token_id": special["[UNK]"],
        "tokenizer.ggml.seperator_token_id": special["[SEP]"],  # llama.cpp's spelling
        "tokenizer.ggml.padding_token_id": special["[PAD]"],
        "tokenizer.ggml.mask_token_id": special["[MASK]"],
    }


def _spelled(word: str, special: bool) -> str:
    if special:
        return word
    return word.removeprefix("##") if word.startswith("##") else "▁" + word
