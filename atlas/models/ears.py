"""Chooses the recogniser that hears again what the first is not sure of, by memory, cores and what is on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atlas.config import NO_SECOND_EARS, SpeechConfig
from atlas.models import machine
from atlas.models.fit import GIB

FIRST, SECOND, UNUSED = "first pass", "second pass", "not used"
WEIGHTS = "model.bin"
ENGLISH_ONLY = ".en"
CORE_SECONDS_PER_GB = 4.0  # of weights on disk, for a command of three seconds: measured with tiny and base
FIRST_SECONDS, SECOND_SECONDS = 0.3, 0.5  # what a command may wait for; a second pass is mostly in a pause
MEMORY_OF_WEIGHTS = 0.9  # 8 bits of 16, and what it computes with
FREE_BYTES = GIB  # that are left to everything else


@dataclass(frozen=True, slots=True)
class EarFit:
    """One recogniser: what it takes here, and what it is good for."""

    name: str
    memory_bytes: int
    seconds: float  # for a command, about
    use: str  # `FIRST`, `SECOND` or `UNUSED`
    why: str


def fit_ears(
    sizes: Mapping[str, int], first: str, languages: Sequence[str], cores: int, free_bytes: int
) -> Sequence[EarFit]:
    """Return what each recogniser is good for, the smallest first; `sizes` are bytes of weights on disk. Pure."""
    fits = [_fit(name, size, sizes.get(first, 0), first, languages, cores, free_bytes) for name, size in sizes.items()]
    fits.sort(key=lambda fit: fit.memory_bytes)
    best = next((fit.name for fit in reversed(fits) if fit.use == SECOND), "")
    return [
        fit if fit.use != SECOND or fit.name == best else replace(fit, use=UNUSED, why=f"{best} is better")
        for fit in fits
    ]


def _fit(name: str, size: int, least: int, first: str, languages: Sequence[str], cores: int, free_bytes: int) -> EarFit:
    is_english = name.endswith(ENGLISH_ONLY)
    seconds, memory = CORE_SECONDS_PER_GB * size / 1e9 / max(1, cores), round(size * MEMORY_OF_WEIGHTS)
    if name == first:
        slow = "" if seconds <= FIRST_SECONDS else f", though {seconds:.1f} s is long to wait for every command"
        use, why = FIRST, f"it hears everything that is said{slow}"
    elif is_english and "en" not in languages:
        use, why = UNUSED, "it hears English alone"
    elif size <= least and not (is_english and len(languages) > 1):
        use, why = UNUSED, f"it is no better than {first}"
    elif seconds > SECOND_SECONDS:
        use, why = UNUSED, f"{seconds:.1f} s on {cores} cores is too long to wait for, more than {SECOND_SECONDS} s"
    elif memory + FREE_BYTES > free_bytes:
        use, why = UNUSED, f"it needs {memory / GIB:.1f} GiB, and would leave too little of {free_bytes / GIB:.1f}"
    else:  # of two that know one language, even the smaller tells what the other made up
        use, why = SECOND, f"it hears again what {first} is not sure of{' in English' if is_english else ''}"
    return EarFit(name, memory, seconds, use, why)


def ears_here(speech: SpeechConfig, more: Mapping[str, int] | None = None) -> Sequence[EarFit]:
    """Return what the recognisers on this disk are good for here; `more` are sizes of others."""
    files = speech.models.glob(f"whisper-*/{WEIGHTS}")
    sizes = {**(more or {}), **{file.parent.name: file.stat().st_size for file in files}}
    cores = min(speech.threads, len(os.sched_getaffinity(0)))
    return fit_ears(sizes, speech.stt_model, speech.languages, cores, machine.ram(measured=False).free_bytes)


def ears_for(speech: SpeechConfig) -> SpeechConfig:
    """Return the settings with the recogniser of the second pass: the one that was chosen, or the best that fits."""
    if speech.second_pass_model:
        return replace(speech, second_pass_model="") if speech.second_pass_model == NO_SECOND_EARS else speech
    fits = ears_here(speech) if speech.stt == SpeechConfig().stt else ()
    return replace(speech, second_pass_model=next((fit.name for fit in fits if fit.use == SECOND), ""))
