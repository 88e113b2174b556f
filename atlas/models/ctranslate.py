"""Writes an encoder's tensors in 8 bits as CTranslate2 loads them (a model.bin)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


def save_encoder(tensors: Mapping[str, Any], heads: int, file: Path) -> None:
    """Write `tensors`, as `convert_e5.taught` returns them, into `file`."""
    from ctranslate2.specs import common_spec, transformer_spec  # it takes a second, and few ever convert

    spec: Any = transformer_spec.TransformerEncoderSpec(
        len(tensors["layers"]),
        heads,
        pre_norm=False,
        activation=common_spec.Activation.GELU,
        layernorm_embedding=True,
        num_source_embeddings=2,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
    )
    spec.scale_embeddings = False
    for part, name in zip(spec.embeddings, ("words", "kinds"), strict=True):
        part.weight = tensors[name]
    spec.position_encodings.encodings = tensors["places"]
    spec.layernorm_embedding.gamma, spec.layernorm_embedding.beta = tensors["norm"]
    for to, layer in zip(spec.layer, tensors["layers"], strict=True):
        _linear(to.self_attention.linear[0], layer, {"query": "q", "key": "k", "value": "v"})
        _linear(to.self_attention.linear[1], layer, {"attention": "ao"})
        _linear(to.ffn.linear_0, layer, {"inner": "fi"})
        _linear(to.ffn.linear_1, layer, {"outer": "fo"})
        for norm, short in ((to.self_attention.layer_norm, "aln"), (to.ffn.layer_norm, "oln")):
            norm.gamma, norm.beta = layer[f"b.{short}.w"], layer[f"b.{short}.b"]
    model = transformer_spec.TransformerEncoderModelSpec(spec)
    model.register_vocabulary([str(at) for at in range(len(tensors["words"]))])
    model.validate()
    model.optimize(quantization="int8")
    with tempfile.TemporaryDirectory(dir=file.parent) as place:
        model.save(place)
        (Path(place) / "model.bin").replace(file)


def _linear(to: Any, layer: Mapping[str, Any], names: Mapping[str, str]) -> None:
    to.weight = np.concatenate([layer[name] for name in names])
    to.bias = np.concatenate([layer[f"b.{short}.b"] for short in names.values()])
