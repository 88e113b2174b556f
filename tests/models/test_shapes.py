"""Files of a published shape: what is written is what is read, and as long as it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from atlas.models.fit import shape_of
from atlas.models.gguf import read_header
from atlas_bench.shapes import FORMS, make

SMALL = {"layers": 2, "vocabulary": 512}


def test_a_shape_is_written_with_its_tensors_and_its_numbers(tmp_path: Path) -> None:
    for name, form in FORMS.items():
        file = tmp_path / f"{name}.gguf"
        small = replace(form, **SMALL, width=256, inner=512, heads=4, heads_kv=2, head_width=64)
        make(small, file)
        header, shape = read_header(file), shape_of(read_header(file))
        assert header.architecture == form.architecture
        assert (shape.layers, shape.heads, shape.heads_kv, shape.key_length) == (2, 4, (2, 2), 64)
        assert shape.vocabulary == 512
        assert 0 < file.stat().st_size - header.bytes < 40_000, "beside the tensors there is only the header"


def test_a_shape_weighs_what_its_model_weighs() -> None:
    from atlas_bench.shapes import _tensors

    gigabytes = {"phi-3-mini": 2.39, "llama-3.1-8b": 4.92, "llama-3.1-70b": 42.5}  # Q4_K_M has some larger blocks
    for name, published in gigabytes.items():
        weighs = sum(tensor.bytes for tensor in _tensors(FORMS[name])) / 1e9
        assert 0.85 * published < weighs < published
