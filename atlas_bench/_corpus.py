"""Spoken commands as Picovoice published them: recordings, labels and a grammar, mixed with noise by its rule.

Source: Picovoice/speech-to-intent-benchmark (Apache-2.0). The noise is scaled by
sqrt(E(speech) / (E(cut) · 10^(SNR/10))), where
E is the largest energy of any 2048 samples; the cut is random; the peak is brought to one half.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import yaml
from numpy.typing import NDArray

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.errors import ConfigError
from atlas.speech.resample import resampled
from atlas.speech.wav import read_sound

FRAME = 2048
LONGEST_SECONDS = 3600.0
Samples = NDArray[np.float64]
_PIECE = re.compile(r"\[([^\]]*)\]|\$(\w+):(\w+)|([^\s\[\]$]+)")


@dataclass(frozen=True, slots=True)
class Clip:
    """One recording, and what is to be understood."""

    name: str
    samples: Samples
    intent: str
    slots: Mapping[str, str]


def clips(folder: Path, names: str) -> Sequence[Clip]:
    """Return the recordings whose names match `names`. Raises `ConfigError` when there are none."""
    label_file = next(
        (file for file in (folder / "labels.json", folder / "label" / "label.json") if file.is_file()), None
    )
    if label_file is None:
        raise ConfigError(f"{folder} has no labels.json", hint="give the benchmark's folder, or its data folder")
    labels: Mapping[str, Any] = json.loads(label_file.read_text(encoding="utf-8"))
    places = (folder / "speech", folder / "speech" / "clean", folder)
    known = []
    for name, label in sorted(labels.items()):
        file = next((place / name for place in places if (place / name).is_file()), None)
        if file is not None and re.match(names, name):
            slots = {slot: value.strip() for slot, value in label["slots"].items()}
            known.append(Clip(name, samples_of(file), label["intent"], slots))
    if not known:
        raise ConfigError(f"there are no recordings in {folder} whose names match {names!r}")
    return known


def grammar_of(folder: Path) -> dict[str, Any]:
    """Return the folder's grammar as a house's own sentences, in hassil's notation."""
    files = (folder / "grammar.yaml", folder / "rhino" / "coffee_maker.yaml")
    file = next((one for one in files if one.is_file()), None)
    if file is None:
        raise ConfigError(f"{folder} has no grammar.yaml")
    context = yaml.safe_load(file.read_text(encoding="utf-8"))["context"]
    return {
        "language": "en",
        "intents": {
            intent: {"data": [{"sentences": [_sentence(one) for one in sentences]}]}
            for intent, sentences in context["expressions"].items()
        },
        "lists": {name: {"values": list(values)} for name, values in context["slots"].items()},
    }


def _sentence(written: str) -> str:
    """Return a sentence in hassil's notation: [a, b] is (a|b), $list:slot is {list:slot}."""
    pieces = []
    for match in _PIECE.finditer(written):
        if match[1] is not None:
            pieces.append(f"({'|'.join(one.strip() for one in match[1].split(','))})")
        else:
            pieces.append(f"{{{match[2]}:{match[3]}}}" if match[2] else match[4])
    return " ".join(pieces)


def samples_of(file: Path) -> Samples:
    """Return the sound of a file at the hearing rate, from -1 to 1."""
    sound = resampled(read_sound(file.read_bytes(), LONGEST_SECONDS), HEARING_RATE)
    return np.frombuffer(sound.pcm, "<i2").astype(np.float64) / 32768.0


def mixed(speech: Samples, noise: Samples | None, snr: float, seed: str) -> AudioChunk:
    """Return speech in noise, by the benchmark's rule; the cut depends on `seed` and the ratio only."""
    if noise is not None:
        random = np.random.default_rng(crc32(f"{seed} {snr:g}".encode()))
        start = int(random.integers(0, max(1, len(noise) - len(speech))))
        cut = np.resize(noise[start : start + len(speech)], len(speech))
        speech = speech + np.sqrt(_energy(speech) / (_energy(cut) * 10 ** (snr / 10))) * cut
        speech = speech / (2 * np.abs(speech).max())
    return AudioChunk((np.clip(speech, -1, 1) * 32767).astype("<i2").tobytes())


def _energy(samples: Samples) -> float:
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)
    return float((frames**2).sum(axis=1).max())
