"""Works out whether a model fits this machine, how much of it on the GPU, and how fast. Pure; bytes and seconds.

Keys and values: sequences · Σ over layers of context · heads_kv · (d_k + d_v) · bytes of a value; of layers with a
window too, for our server lets go of nothing that is behind it: prefixes are used again. A generated token reads every
active weight and the whole cache once, so its time is bytes over bandwidth; prompts are bound by arithmetic and are not
predicted. Sources: the types of ggml, the buffers that llama.cpp says it takes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from atlas.errors import EngineError
from atlas.models.gguf import Header

GIB = 1024**3
CacheType = Literal["f16", "q8_0", "q4_0"]
BYTES_OF_VALUE: dict[CacheType, float] = {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}
GRAPH_BYTES = GIB // 2  # compute buffers on a card; not measured, and rather too much
BATCH_TOKENS = 128  # that the LLM host computes in one step
CUDA_BYTES = int(0.4 * GIB)  # the context of a process on a card
MARGIN = 0.05  # fragmentation, a desktop, and the honesty of estimates
SYSTEM_BYTES = 2 * GIB  # of RAM that the rest of the house and the system need
EMBEDDING = "token_embd.weight"
MOST_LAYERS = 1_000  # a 405B model has 126
EFFICIENCY = 0.7  # of the bandwidth on the label that generation reaches


@dataclass(frozen=True, slots=True)
class Shape:
    """What matters of a model. Per-layer lists have one entry a layer."""

    name: str
    layers: int
    context: int  # that it was trained for
    heads_kv: tuple[int, ...]  # 0 where a layer keeps no keys and values
    key_length: int
    value_length: int
    layer_bytes: tuple[int, ...]
    other_bytes: int  # embeddings and output: not in any layer
    active: float  # the part of the layers' weights that one token reads; less than 1 in mixtures of experts
    heads: int = 0  # the most of any layer; 0 is not known
    vocabulary: int = 0  # words; 0 is not known
    state_bytes: int = 0  # of a layer that keeps no keys and values but one state a sequence

    @property
    def weight_bytes(self) -> int:
        """The size of all weights."""
        return sum(self.layer_bytes) + self.other_bytes


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """A place that weights can be in: bytes that are free, and bytes it can read in a second (0 is not known)."""

    name: str
    free_bytes: int
    bytes_per_second: float = 0.0


@dataclass(frozen=True, slots=True)
class Fit:
    """Where a model goes. `layers_on_gpu` is what `gpu_layers` should be."""

    fits: bool
    layers_on_gpu: int
    gpu_bytes: int
    ram_bytes: int
    cache_bytes: int
    tokens_per_second: float | None  # when bandwidths are known
    advice: str  # a sentence or two


def shape_of(header: Header) -> Shape:
    """Return the shape that a header tells of. Raises `KeyError` naming what is missing, `EngineError` for nonsense."""
    layers = _number(header, "block_count")
    if not 0 < layers <= MOST_LAYERS:
        raise _nonsense(header, "block_count", layers)
    heads = _of_each_layer(header, "attention.head_count", layers)
    heads_kv = _of_each_layer(header, "attention.head_count_kv", layers, heads)
    if interval := _number(header, "full_attention_interval", 0):  # hybrids: the layers between keep one state
        heads_kv = tuple(count if (layer + 1) % interval == 0 else 0 for layer, count in enumerate(heads_kv))
    key_length = _number(header, "attention.key_length", 0) or _number(header, "embedding_length") // (max(heads) or 1)
    # Latent attention (DeepSeek): a value is a part of the key, and is not kept twice.
    latent = bool(_number(header, "attention.key_length_mla", 0))
    per_layer = [0] * layers
    other = experts = 0
    for tensor in header.tensors:
        layer = _layer_of(tensor.name, layers)
        if layer is None:
            other += tensor.bytes
        else:
            per_layer[layer] += tensor.bytes
            experts += tensor.bytes if "_exps" in tensor.name else 0
    used, all_experts = _number(header, "expert_used_count", 0), _number(header, "expert_count", 0)
    total = sum(per_layer)
    active = 1.0 if not (experts and all_experts) else (total - experts + experts * used / all_experts) / total
    return Shape(
        name=_printable(header.metadata.get("general.name", header.architecture)),
        layers=layers,
        context=_number(header, "context_length", 0),
        heads_kv=heads_kv,
        key_length=key_length,
        value_length=0 if latent else _number(header, "attention.value_length", 0) or key_length,
        layer_bytes=tuple(per_layer),
        other_bytes=other,
        active=active,
        heads=max(heads),
        vocabulary=next(
            (tensor.shape[1] for tensor in header.tensors if tensor.name == EMBEDDING and tensor.shape[1:]), 0
        ),
        state_bytes=_state_bytes(header),
    )


def cache_bytes(shape: Shape, context: int, sequences: int = 1, kind: CacheType = "f16") -> int:
    """Return what the keys and values of so many sequences of `context` tokens take."""
    return sum(_layer_cache_bytes(shape, layer, context, sequences, kind) for layer in range(shape.layers))


def graph_bytes(shape: Shape, context: int) -> int:
    """Return what computing a batch takes in RAM: the larger of its scores of attention and its scores of words."""
    if not (shape.heads and shape.vocabulary):
        return GRAPH_BYTES
    return 4 * BATCH_TOKENS * max((shape.heads + 1) * context, shape.vocabulary)


def fit(
    shape: Shape,
    gpus: Sequence[MemoryPlace],
    ram: MemoryPlace,
    context: int,
    sequences: int = 1,
    kind: CacheType = "f16",
) -> Fit:
    """Return how the model is best placed: all on the GPUs, some layers of it, or none; or that it does not fit.

    A layer goes to a card together with its part of the cache. Several cards are taken as one pool: layers are split
    between them, and each token passes through one card after the other.
    """
    cache = cache_bytes(shape, context, sequences, kind)
    room = sum(max(0, int(gpu.free_bytes * (1 - MARGIN)) - CUDA_BYTES - GRAPH_BYTES) for gpu in gpus)
    layers, gpu_bytes = _placed(shape, room, context, sequences, kind)
    whole = shape.weight_bytes + cache
    on_gpu = gpu_bytes + (len(gpus) * (CUDA_BYTES + GRAPH_BYTES) if layers else 0)
    in_ram = whole - gpu_bytes + (0 if layers > shape.layers else graph_bytes(shape, context))
    available = int((ram.free_bytes - SYSTEM_BYTES) * (1 - MARGIN))
    fits = layers > shape.layers or in_ram <= available
    speed = _speed(shape, gpus, ram, gpu_bytes, whole, cache) if fits else None
    advice = _advice(shape, gpus, fits, layers, whole, room, available, context)
    return Fit(fits, layers, on_gpu, max(0, in_ram) if layers <= shape.layers else 0, cache, speed, advice)


def longest_context(shape: Shape, gpus: Sequence[MemoryPlace], ram: MemoryPlace, sequences: int = 1) -> int:
    """Return the longest context, in steps of 1,024 tokens, with which it still goes where it goes with the shortest.

    No longer than the model was trained for; 0 when it does not fit at all.
    """
    step = min(1024, shape.context or 1024)
    shortest = fit(shape, gpus, ram, step, sequences)
    if not shortest.fits:
        return 0
    low, high = 1, max(1, (shape.context or 131_072) // step)
    while low < high:
        middle = (low + high + 1) // 2
        tried = fit(shape, gpus, ram, middle * step, sequences)
        if tried.fits and tried.layers_on_gpu == shortest.layers_on_gpu:
            low = middle
        else:
            high = middle - 1
    return low * step


def _placed(shape: Shape, room: int, context: int, sequences: int, kind: CacheType) -> tuple[int, int]:
    """Return how many layers go to the cards, and their bytes; one more than there are means everything."""
    used = count = 0
    for layer in reversed(range(shape.layers)):  # llama.cpp offloads from the end
        size = shape.layer_bytes[layer] + _layer_cache_bytes(shape, layer, context, sequences, kind)
        if used + size > room:
            return count, used
        used, count = used + size, count + 1
    if used + shape.other_bytes > room:
        return count, used
    return count + 1, used + shape.other_bytes


def _speed(
    shape: Shape, gpus: Sequence[MemoryPlace], ram: MemoryPlace, gpu_bytes: int, whole: int, cache: int
) -> float | None:
    """Return generated tokens a second: what is read from each place over its bandwidth, one place after the other."""
    slowest = min((gpu.bytes_per_second for gpu in gpus), default=0.0)
    read = (
        shape.active * sum(shape.layer_bytes) + shape.other_bytes / 2 + cache
    )  # one embedding row, but all of the output
    if not read:
        return None
    on_gpu = read * gpu_bytes / whole
    if (on_gpu and not slowest) or (whole > gpu_bytes and not ram.bytes_per_second):
        return None
    seconds = on_gpu / (slowest * EFFICIENCY) if on_gpu else 0.0
    if whole > gpu_bytes:
        seconds += (read - on_gpu) / (ram.bytes_per_second * EFFICIENCY)
    return 1 / seconds


def _advice(
    shape: Shape,
    gpus: Sequence[MemoryPlace],
    fits: bool,
    layers: int,
    whole: int,
    room: int,
    available: int,
    context: int,
) -> str:
    size = f"{shape.name} needs {whole / GIB:.1f} GiB with {context:,} tokens of context"
    cards = " and ".join(gpu.name for gpu in gpus) or "no GPU"
    if layers > shape.layers:
        return f"{size}, and fits on {cards} whole."
    if fits and not gpus:
        return f"{size}, and fits in RAM. There is no GPU, so it is as slow as RAM."
    if fits:
        return (
            f"{size}; {cards} has room for {max(0, room) / GIB:.1f}, so {layers} of {shape.layers} layers go there and "
            "the rest stays in RAM, which sets the speed. A smaller model or quantisation that fits whole is many "
            "times faster."
        )
    return (
        f"{size}; {cards} has room for {max(0, room) / GIB:.1f} GiB and RAM for {max(0, available) / GIB:.1f}. "
        "It does not fit. Take a smaller quantisation or model, more RAM, or a server with more memory as its backend."
    )


def _layer_cache_bytes(shape: Shape, layer: int, context: int, sequences: int, kind: CacheType) -> int:
    if not shape.heads_kv[layer]:
        return sequences * shape.state_bytes
    values = shape.heads_kv[layer] * (shape.key_length + shape.value_length)
    return int(sequences * context * values * BYTES_OF_VALUE[kind])


def _state_bytes(header: Header) -> int:
    """Return what a recurrent layer keeps of a sequence, however long: its state, and what its convolution sees."""
    inner, state = _number(header, "ssm.inner_size", 0), _number(header, "ssm.state_size", 0)
    seen = max(0, _number(header, "ssm.conv_kernel", 0) - 1)
    return 4 * (inner * state + seen * (inner + 2 * _number(header, "ssm.group_count", 0) * state))


def _layer_of(tensor: str, layers: int) -> int | None:
    match = re.match(r"blk\.(\d{1,4})(\.|$)", tensor)
    return int(match[1]) if match and int(match[1]) < layers else None


def _number(header: Header, key: str, default: int | None = None) -> int:
    """Return a number that a header tells; without a default it is needed."""
    value = header.of_architecture(key, default)
    if value is None:
        raise KeyError(f"{header.architecture or 'general'}.{key}")
    if type(value) is not int or value < 0:
        raise _nonsense(header, key, value)
    return value


def _of_each_layer(header: Header, key: str, layers: int, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Return a number for each layer; a header may tell one for all of them."""
    value = header.of_architecture(key, default)
    if isinstance(value, (list, tuple)):
        if len(value) != layers or any(type(item) is not int or item < 0 for item in value):
            raise _nonsense(header, key, value)
        return tuple(value)
    return (_number(header, key),) * layers


def _printable(text: Any) -> str:
    """Return what a header says as a terminal may have it: on one line, and without orders to it."""
    return "".join(letter if letter.isprintable() else "�" for letter in str(text))


def _nonsense(header: Header, key: str, value: Any) -> EngineError:
    return EngineError(
        f"a model with a {header.architecture}.{key} of {str(value)[:100]!r} cannot be", hint="pull it again"
    )
