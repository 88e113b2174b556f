"""What fits is told by exact arithmetic, and a header that lies is refused."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.errors import EngineError
from atlas.models.fit import GIB, MemoryPlace, Shape, cache_bytes, fit, longest_context, shape_of
from atlas.models.gguf import Header, Tensor, model_in, read_header, read_model
from atlas.models.machine import bandwidth, ram
from tests.conftest import for_every


def llama3(layers: int, layer_gib: float, other_gib: float = 1.0) -> Shape:
    """The published shape of Llama 3: 8 heads of keys and values, 128 wide."""
    return Shape(
        name=f"Llama 3 of {layers} layers",
        layers=layers,
        context=131_072,
        heads_kv=(8,) * layers,
        key_length=128,
        value_length=128,
        layer_bytes=(int(layer_gib * GIB),) * layers,
        other_bytes=int(other_gib * GIB),
        active=1.0,
    )


B8, B70 = llama3(32, 0.125, 0.6), llama3(80, 0.485, 0.9)  # Q4_K_M: 4.6 and 39.7 GiB
CARD_16 = MemoryPlace("a card of 16 GB", int(15.6 * GIB), 717e9)
CARD_48 = MemoryPlace("a card of 48 GB", int(47.5 * GIB), 768e9)
RAM_64 = MemoryPlace("RAM", 60 * GIB, 60e9)


# ── headers ────────────────────────────────────────────────────────────────────────────────────────


def test_a_header_tells_the_shape_and_the_size(tmp_path: Path, small_gguf: bytes) -> None:
    file = tmp_path / "small.gguf"
    file.write_bytes(small_gguf + b"weights that are not read")
    header = read_header(file)
    assert (header.architecture, header.of_architecture("block_count"), header.metadata["tokenizer.ggml.tokens"]) == (
        "llama",
        2,
        {"length": 3000},
    )
    shape = shape_of(header)
    assert (shape.layers, shape.heads_kv, shape.key_length, shape.context) == (2, (2, 2), 64, 8192)
    assert shape.layer_bytes == (256 * 144, 256 * 144)
    assert shape.other_bytes == 3000 * 144 + 256 * 4


@given(at=st.integers(0, 60_000), junk=st.binary(min_size=0, max_size=9))
def test_a_header_that_was_tampered_with_is_read_or_refused_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, small_gguf: bytes, at: int, junk: bytes
) -> None:
    at %= len(small_gguf)
    file = tmp_path_factory.getbasetemp() / "tampered.gguf"
    file.write_bytes(small_gguf[:at] + junk + small_gguf[at + len(junk) :])
    try:
        header = read_header(file)
    except EngineError as refused:
        assert "tampered.gguf" in str(refused)
    else:
        assert isinstance(header, Header)


def test_a_model_in_parts_is_read_as_one(tmp_path: Path, small_gguf: bytes) -> None:
    parts = [tmp_path / f"big-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for part in parts[:2]:
        part.write_bytes(small_gguf)
    with pytest.raises(EngineError, match=r"lacks big-00003-of-00003\.gguf"):
        model_in(tmp_path)
    with pytest.raises(EngineError, match=r"big-00003-of-00003\.gguf cannot be read"):
        read_model(parts[0])
    parts[2].write_bytes(small_gguf)
    assert model_in(tmp_path) == parts[0]
    assert read_model(parts[0]).bytes == 3 * read_header(parts[0]).bytes
    (tmp_path / "another.gguf").write_bytes(small_gguf)
    with pytest.raises(EngineError, match=r"holds 4 \.gguf files"):
        model_in(tmp_path)


@for_every(
    ("content", "text"),
    [
        (b"", "ends in the middle"),
        (b"PK\x03\x04" + bytes(100), "does not begin like a GGUF"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 9) + b"cut", "ends in the middle"),
        (b"GGUF" + struct.pack("<IQQ", 9, 0, 0), "is GGUF version 9"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "claims 1152921504606846976 tensors"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**62), "claims a text of"),
        (
            b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1sIIQ", 1, b"k", 9, 4, 2**62),
            "claims an array of",
        ),
    ],
)
def test_what_is_no_model_is_said_to_be_none(tmp_path: Path, content: bytes, text: str) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(content)
    with pytest.raises(EngineError, match=text):
        read_header(file)


@for_every("value", [0, -1, 2**32, 2**63, "x", float("nan"), float("inf"), True, [2], {"length": 9}])
@for_every(
    "key",
    [
        *("block_count", "context_length", "embedding_length", "attention.head_count", "attention.head_count_kv"),
        *("attention.key_length", "attention.value_length", "expert_count", "expert_used_count"),
    ],
)
def test_a_shape_that_cannot_be_is_refused_in_a_sentence_or_makes_no_difference(
    tmp_path: Path, small_gguf: bytes, key: str, value: object
) -> None:
    file = tmp_path / "small.gguf"
    file.write_bytes(small_gguf)
    header = read_header(file)
    try:
        shape = shape_of(replace(header, metadata={**header.metadata, f"llama.{key}": value}))
    except EngineError as refused:
        assert f"llama.{key}" in str(refused)
    else:
        assert fit(shape, [CARD_16], RAM_64, 4096).advice
        longest_context(shape, [], RAM_64)


ODD_TENSORS = {
    "a layer of a number too long to read": [Tensor(f"blk.{'9' * 5000}.x", (1,), "F32", 4)],
    "words without a count": [Tensor("token_embd.weight", (1,), "F32", 4)],
    "none, and nothing to keep": [],
}


@pytest.mark.parametrize("odd", ODD_TENSORS)
def test_odd_tensors_are_counted_and_end_in_no_traceback(tmp_path: Path, small_gguf: bytes, odd: str) -> None:
    file = tmp_path / "small.gguf"
    file.write_bytes(small_gguf)
    header = read_header(file)
    metadata = {**header.metadata, "llama.attention.head_count_kv": 0}
    shape = shape_of(replace(header, metadata=metadata, tensors=tuple(ODD_TENSORS[odd])))
    assert shape.weight_bytes == sum(tensor.bytes for tensor in ODD_TENSORS[odd])
    assert fit(shape, [CARD_16], replace(RAM_64, bytes_per_second=1e10), 4096).fits
    assert fit(shape, [], replace(RAM_64, bytes_per_second=1e10), 4096).fits


def test_a_model_in_no_parts_is_no_model(tmp_path: Path, small_gguf: bytes) -> None:
    file = tmp_path / "small-00001-of-00000.gguf"
    file.write_bytes(small_gguf)
    with pytest.raises(EngineError, match="of 0 parts"):
        read_model(file)


def test_the_name_of_a_model_does_not_write_on_the_terminal(tmp_path: Path, small_gguf: bytes) -> None:
    file = tmp_path / "small.gguf"
    file.write_bytes(small_gguf.replace(b"Small", b"\x1b[2Ja"))
    assert "\x1b" not in fit(shape_of(read_header(file)), [], RAM_64, 4096).advice


# ── keys and values ────────────────────────────────────────────────────────────────────────────────


@for_every(
    ("shape", "context", "f16", "q8"),
    [(B8, 8192, 1.0, 0.53), (B8, 32_768, 4.0, 2.12), (B70, 8192, 2.5, 1.33), (B70, 32_768, 10.0, 5.31)],
)
def test_the_cache_is_what_the_published_tables_say(shape: Shape, context: int, f16: float, q8: float) -> None:
    assert cache_bytes(shape, context) / GIB == pytest.approx(f16)
    assert cache_bytes(shape, context, kind="q8_0") / GIB == pytest.approx(q8, abs=0.01)
    assert cache_bytes(shape, context, sequences=3) == 3 * cache_bytes(shape, context)


def test_of_latent_attention_only_the_key_is_kept() -> None:
    """DeepSeek V3: 61 layers of 512 + 64 values, which is the published 70 KB a token."""
    own_values = {
        "block_count": 61,
        "embedding_length": 7168,
        "attention.head_count": 128,
        "attention.head_count_kv": 1,
    }
    own_values |= {"attention.key_length": 576, "attention.value_length": 512, "attention.key_length_mla": 192}
    metadata = {"general.architecture": "deepseek2"} | {f"deepseek2.{key}": value for key, value in own_values.items()}
    assert cache_bytes(shape_of(Header(metadata, ())), 1) == 61 * 576 * 2 == 70_272


def test_layers_that_keep_one_state_do_not_grow_with_the_context() -> None:
    own_values = {"block_count": 8, "embedding_length": 256, "attention.head_count": 4, "attention.head_count_kv": 2}
    own_values |= {"full_attention_interval": 4, "ssm.inner_size": 512, "ssm.state_size": 16, "ssm.conv_kernel": 4}
    metadata = {"general.architecture": "hybrid"} | {f"hybrid.{key}": value for key, value in own_values.items()}
    shape = shape_of(Header(metadata, ()))
    assert shape.heads_kv == (0, 0, 0, 2, 0, 0, 0, 2)
    states = 6 * 4 * (512 * 16 + 3 * 512)
    assert cache_bytes(shape, 1000) == states + 2 * 1000 * 2 * (64 + 64) * 2
    assert cache_bytes(shape, 2000, sequences=3) == 3 * (states + 2 * 2000 * 2 * (64 + 64) * 2)


def test_heads_may_differ_from_layer_to_layer_and_be_wider_than_the_width_says() -> None:
    own_values = {
        "block_count": 2,
        "embedding_length": 256,
        "attention.head_count": [4, 8],
        "attention.head_count_kv": [1, 4],
    }
    own_values |= {"attention.key_length": 128, "attention.value_length": 64}
    metadata = {"general.architecture": "mixed"} | {f"mixed.{key}": value for key, value in own_values.items()}
    assert cache_bytes(shape_of(Header(metadata, ())), 10) == 10 * 2 * (1 + 4) * (128 + 64)


def test_of_a_mixture_a_token_reads_only_its_experts() -> None:
    metadata = {"general.architecture": "moe", "moe.block_count": 1, "moe.attention.head_count": 1}
    metadata |= {"moe.embedding_length": 64, "moe.expert_count": 8, "moe.expert_used_count": 2}
    tensors = (Tensor("blk.0.ffn_up_exps.weight", (1,), "F32", 800), Tensor("blk.0.attn_q.weight", (1,), "F32", 200))
    assert shape_of(Header(metadata, tensors)).active == pytest.approx(0.4)


# ── fitting ────────────────────────────────────────────────────────────────────────────────────────


def test_a_70b_does_not_fit_a_16_gb_card_and_it_is_said_what_to_do() -> None:
    matching_fit = fit(B70, [CARD_16], RAM_64, 8192)
    assert matching_fit.fits
    assert 0 < matching_fit.layers_on_gpu < 40
    assert " of 80 layers go there" in matching_fit.advice
    assert "many times faster" in matching_fit.advice
    assert matching_fit.tokens_per_second is not None
    assert matching_fit.tokens_per_second < 3
    without = fit(B70, [CARD_16], MemoryPlace("RAM", 16 * GIB), 8192)
    assert not without.fits
    assert "It does not fit." in without.advice


def test_a_70b_fits_a_48_gb_card_whole() -> None:
    matching_fit = fit(B70, [CARD_48], RAM_64, 8192)
    assert (matching_fit.layers_on_gpu, matching_fit.ram_bytes) == (81, 0)
    assert matching_fit.tokens_per_second is not None
    assert 8 < matching_fit.tokens_per_second < 20


def test_two_cards_of_24_gb_hold_a_70b_together() -> None:
    card = MemoryPlace("a card of 24 GB", int(23.6 * GIB), 936e9)
    assert fit(B70, [card], RAM_64, 4096).layers_on_gpu < 80
    assert fit(B70, [card, card], RAM_64, 4096).layers_on_gpu == 81


def test_everything_that_goes_to_the_card_is_within_the_card() -> None:
    for context in (1024, 8192, 65_536):
        for shape in (B8, B70):
            for card in (CARD_16, CARD_48, MemoryPlace("small", 2 * GIB), MemoryPlace("none to speak of", GIB // 4)):
                matching_fit = fit(shape, [card], RAM_64, context)
                assert matching_fit.gpu_bytes <= card.free_bytes
                assert matching_fit.layers_on_gpu <= shape.layers + 1


def test_without_a_gpu_it_is_ram_that_sets_the_speed() -> None:
    matching_fit = fit(B8, [], RAM_64, 4096)
    assert (matching_fit.fits, matching_fit.layers_on_gpu, matching_fit.gpu_bytes) == (True, 0, 0)
    assert matching_fit.tokens_per_second == pytest.approx(60e9 * 0.7 / (4.0 * GIB + 0.3 * GIB + 0.5 * GIB), rel=0.05)


def test_the_longest_context_is_the_last_one_that_fits_whole() -> None:
    longest = longest_context(B8, [CARD_16], RAM_64)
    assert longest % 1024 == 0
    assert fit(B8, [CARD_16], RAM_64, longest).layers_on_gpu == 33
    assert fit(B8, [CARD_16], RAM_64, longest + 1024).layers_on_gpu < 33
    assert longest_context(B70, [], MemoryPlace("RAM", 8 * GIB)) == 0


def test_no_context_is_longer_than_the_model_was_trained_for() -> None:
    assert longest_context(replace(B8, context=512), [CARD_16], RAM_64) == 512
    assert longest_context(replace(B8, context=4096), [CARD_16], RAM_64) == 4096


def test_a_card_is_known_by_its_longest_name() -> None:
    assert bandwidth("NVIDIA GeForce RTX 4080 SUPER") > bandwidth("NVIDIA GeForce RTX 4080") > 0
    assert bandwidth("NVIDIA GeForce RTX 3080 Ti Laptop GPU") == bandwidth("NVIDIA GeForce RTX 3080")
    assert bandwidth("Voodoo 2") == 0
    assert bandwidth("NVIDIA L40S") == 0  # not an L40, and nothing is invented


def test_this_machine_has_ram() -> None:
    assert ram(measured=False).free_bytes > GIB // 4


def test_a_card_without_room_takes_none_from_the_others() -> None:
    full = MemoryPlace("a card that others use", GIB // 4, 717e9)
    assert fit(B8, [CARD_16, full], RAM_64, 8192).layers_on_gpu == fit(B8, [CARD_16], RAM_64, 8192).layers_on_gpu
    tight = replace(CARD_16, free_bytes=int(7.0 * GIB))
    assert fit(B8, [tight, full], RAM_64, 8192).layers_on_gpu == fit(B8, [tight], RAM_64, 8192).layers_on_gpu
