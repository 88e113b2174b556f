"""About how much memory a model takes here and how fast it is, from its size alone. Pure; `fit.py` knows more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atlas.models.ears import CORE_SECONDS_PER_GB, FREE_BYTES, MEMORY_OF_WEIGHTS
from atlas.models.fit import CUDA_BYTES, EFFICIENCY, GRAPH_BYTES, MARGIN, SYSTEM_BYTES, MemoryPlace

CACHE_PART = 0.15  # of the weights: keys and values of a talk of 4k tokens, of the models of the catalogue


@dataclass(frozen=True, slots=True)
class ModelPace:
    """What one model is like on this machine."""

    memory_bytes: int
    fits: bool
    tokens_per_second: float | None = None  # of a language model, where it is known how fast memory is read
    command_seconds: float | None = None  # of a recogniser, for a command of three seconds, on the processors


def pace(role: str, size: int, gpus: Sequence[MemoryPlace], ram: MemoryPlace, cores: int) -> ModelPace:
    """Return what a model of `size` bytes is like; `ram` is what is free now."""
    if role == "llm":
        memory = round(size * (1 + CACHE_PART))
        on_card = memory + CUDA_BYTES + GRAPH_BYTES
        card = next((gpu for gpu in gpus if on_card <= gpu.free_bytes * (1 - MARGIN)), None)
        place = card or ram
        speed = EFFICIENCY * place.bytes_per_second / size if place.bytes_per_second and size else None
        return ModelPace(memory, card is not None or memory + SYSTEM_BYTES <= ram.free_bytes, tokens_per_second=speed)
    memory = round(size * MEMORY_OF_WEIGHTS)
    seconds = CORE_SECONDS_PER_GB * size / 1e9 / max(1, cores) if role == "stt" else None
    return ModelPace(memory, memory + FREE_BYTES <= ram.free_bytes, command_seconds=seconds)
