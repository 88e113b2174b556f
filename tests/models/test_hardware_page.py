"""Every figure of hardware.md that can be computed is what `fit` computes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from atlas.models.catalogue import load
from atlas.models.fit import GIB, Fit, MemoryPlace, Shape, cache_bytes, fit, longest_context
from tests.conftest import for_every

PAGE = (Path(__file__).parents[2] / "hardware.md").read_text(encoding="utf-8")
RAM_64 = MemoryPlace("RAM", 60 * GIB, 60e9)
Q4, Q6 = 144 / 256, 210 / 256  # bytes of a value, K-quants
SHOWN = 0.97  # of a card's gigabytes that its driver gives out


def published(file: str, layers: int, heads: int, kv: int, head: int, words: float, context: int) -> Shape:
    """A model of the catalogue by its published shape; `words` are bytes of embeddings and output."""
    model = next(model for model in load() if model.name == file)
    return Shape(
        name=model.title,
        layers=layers,
        context=context,
        heads_kv=(kv,) * layers,
        key_length=head,
        value_length=head,
        layer_bytes=(int((model.bytes - words) / layers),) * layers,
        other_bytes=int(words),
        active=1.0,
        heads=heads,
        vocabulary=128_256,
    )


MODELS = {
    "70B Q4": published("llama-3.1-70b-instruct", 80, 64, 8, 128, 128_256 * 8192 * (Q4 + Q6), 131_072),
    "8B Q4": published("llama-3.1-8b-instruct", 32, 32, 8, 128, 128_256 * 4096 * (Q4 + Q6), 131_072),
    "Qwen3 4B Q4": published("qwen3-4b-instruct-2507", 36, 32, 8, 128, 151_936 * 2560 * Q6, 262_144),
    "Phi-3 Mini Q4": published("phi-3-mini-4k-instruct", 32, 32, 32, 96, 32_064 * 3072 * (Q4 + Q6), 4_096),
}


def placed(shape: Shape, gigabytes: float, per_second: float, cards: int) -> Fit:
    card = MemoryPlace("a card", int(gigabytes * SHOWN * GIB), per_second * 1e9)
    return fit(shape, [card] * cards, RAM_64, min(8192, shape.context))


def cell(shape: Shape, gigabytes: float, per_second: float, cards: int) -> str:
    """Where a model goes and about how fast, as the page writes it."""
    matching_fit = placed(shape, gigabytes, per_second, cards)
    assert matching_fit.tokens_per_second
    speed = matching_fit.tokens_per_second
    rounded = f"{speed:.1f}" if speed < 3 else f"{speed:.0f}" if speed < 30 else f"{round(speed / 5) * 5}"
    where = "whole" if matching_fit.layers_on_gpu > shape.layers else f"{matching_fit.layers_on_gpu}/{shape.layers}"
    return f"{'RAM' if not cards else where}, {rounded}"


def rows(heading: str) -> list[list[str]]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[part.strip().replace("*", "") for part in line] for line in lines if not set("".join(line)) <= set("-: ")]


CARDS = rows("Cards")


@for_every("row", CARDS[1:])
def test_the_table_of_cards_is_what_fit_says(row: list[str]) -> None:
    match = re.search(r"\((\d+) GB, (\d+) GB/s", row[0])
    size, per_second = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    cards = 0 if not match else 2 if row[0].startswith("2 ×") else 1
    assert row[3:] == [cell(MODELS[name], size, per_second, cards) for name in CARDS[0][3:]]


@for_every("row", rows("The arithmetic")[1:])
def test_the_table_of_memory_is_what_fit_says(row: list[str]) -> None:
    shape = next(shape for name, shape in MODELS.items() if row[0].startswith(name.removesuffix(" Q4")))
    assert float(row[1].removesuffix(" GiB")) == pytest.approx(shape.weight_bytes / GIB, abs=0.05)
    contexts = [context for context in (4096, 8192, 32_768) if context <= shape.context]
    texts = [float(number) for number in re.findall(r"[\d.]+", row[2].split(";")[0])]
    assert texts == [pytest.approx(cache_bytes(shape, context) / GIB, rel=0.02) for context in contexts]


def test_the_longest_contexts_are_what_fit_says() -> None:
    for name, size, text in re.findall(r"(70B Q4|8B Q4|Qwen3 4B Q4) on (\d+) GB: ([\d,]+) tokens", PAGE):
        card = MemoryPlace("a card", int(float(size) * SHOWN * GIB), 1e12)
        assert f"{longest_context(MODELS[name], [card], RAM_64):,}" == text, (name, size)
    assert len(re.findall(r" GB: [\d,]+ tokens", PAGE)) >= 3
