"""A GGUF file small enough to write by hand: a header without weights."""

from __future__ import annotations

import struct
from typing import Any

import pytest

Q4_K, F32 = 12, 0


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def entry(key: str, value: Any) -> bytes:
    match value:
        case str():
            return text(key) + struct.pack("<I", 8) + text(value)
        case int():
            return text(key) + struct.pack("<II", 4, value)
        case [str(), *_]:
            return text(key) + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        case list():
            return text(key) + struct.pack("<IIQ", 9, 4, len(value)) + struct.pack(f"<{len(value)}I", *value)
    raise TypeError(value)


def a_gguf(metadata: dict[str, Any], tensors: dict[str, tuple[tuple[int, ...], int]]) -> bytes:
    parts = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(metadata))]
    parts += [entry(key, value) for key, value in metadata.items()]
    for name, (shape, kind) in tensors.items():
        parts.append(text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape))
        parts.append(struct.pack("<IQ", kind, 0))
    return b"".join(parts)


SMALL = a_gguf(
    {
        "general.architecture": "llama",
        "general.name": "Small",
        "llama.block_count": 2,
        "llama.context_length": 8192,
        "llama.embedding_length": 256,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "tokenizer.ggml.tokens": [f"t{number}" for number in range(3000)],
        "tokenizer.ggml.scores": list(range(3000)),
    },
    {
        "token_embd.weight": ((256, 3000), Q4_K),
        "blk.0.attn_q.weight": ((256, 256), Q4_K),
        "blk.1.attn_q.weight": ((256, 256), Q4_K),
        "output_norm.weight": ((256,), F32),
    },
)


@pytest.fixture(scope="session")
def small_gguf() -> bytes:
    return SMALL
