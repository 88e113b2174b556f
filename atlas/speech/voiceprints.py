"""Tells voices apart: a stretch of speech becomes a voiceprint, 192 numbers that lie near others of the same voice.

The network is CAM++, whose ONNX file `models/convert_campplus.py` makes; its weights were taught on some 200,000
Chinese and English voices. Three seconds of speech take about 25 ms of one core, 60 on a busy one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.errors import EngineError
from atlas.speech.mel_bands import log_mel_bands
from atlas.speech.worker import Worker

MODEL = "campplus-voices"  # the folder of the models folder
FILE = "campplus.onnx"
FRAMES_PER_SECOND = 100
LEAST_SECONDS = 1.0  # of speech: less says too little of whose it is
MOST_SECONDS = 6.0  # more says no more, and takes longer
QUIETER = 5.8  # than the loud parts by so much, in nats of energy (25 dB), is the silence around speech
AROUND_FRAMES = 10
SEGMENT_STEPS = 100  # what is said around a step is averaged over so many, and over all
SAME_VOICE = 0.45  # cosine; see docs/log.md for what each of both limits costs
CLEARLY = 0.10  # closer than to the second

Floats = NDArray[np.float32]
Voiceprint = Floats  # of length 1


@dataclass(frozen=True, slots=True)
class VoiceMatch:
    """Whose voice it may be: the closest of those that are known, "" when none is close enough, and how close."""

    person: str
    closest: str
    score: float  # cosine with the closest
    margin: float  # how much closer that is than the second


def match(voiceprint: Voiceprint, known: Mapping[str, Voiceprint]) -> VoiceMatch:
    """Return whose of the `known` voices this is."""
    scores = sorted(((float(voiceprint @ one), name) for name, one in known.items()), reverse=True)
    if not scores:
        return VoiceMatch("", "", 0.0, 0.0)
    best, closest = scores[0]
    margin = best - (scores[1][0] if len(scores) > 1 else -1.0)
    return VoiceMatch(closest if best >= SAME_VOICE and margin >= CLEARLY else "", closest, best, margin)


def mean(prints: list[Voiceprint]) -> Voiceprint:
    """Return the voiceprint of several sentences of one voice."""
    whole = np.mean(prints, axis=0)
    return np.asarray(whole / np.linalg.norm(whole), np.float32)


class VoiceEncoder:
    """Makes voiceprints of speech, one at a time, in a thread."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._worker = Worker()

    async def encode(self, sound: AudioChunk) -> Voiceprint | None:
        """Return the voiceprint of an utterance; `None` where too little is spoken. Cancelling is safe."""
        return await self._worker.run(lambda: self._encoded(sound))

    def _encoded(self, sound: AudioChunk) -> Voiceprint | None:
        assert sound.rate == HEARING_RATE, "voices are told apart at the hearing rate"
        bands = spoken_frames(log_mel_bands((np.frombuffer(sound.pcm, "<i2") / 32768).astype(np.float32)))
        if len(bands) < LEAST_SECONDS * FRAMES_PER_SECOND:
            return None
        bands = bands[: round(MOST_SECONDS * FRAMES_PER_SECOND)]
        bands = bands - bands.mean(axis=0)
        inputs = {"features": bands.T[np.newaxis, np.newaxis], "around": _around((len(bands) + 1) // 2)}
        embedding: Floats = self._session.run(None, inputs)[0][0]
        return np.asarray(embedding / np.linalg.norm(embedding), np.float32)


def open_voice_encoder(models: Path) -> VoiceEncoder:
    """Load the network; takes 0.3 s. Raises `EngineError` when it is not on disk, or does not load."""
    import onnxruntime  # here: 50 MB that only a house needs that wants this
    from onnxruntime.capi import onnxruntime_pybind11_state as ort

    options = onnxruntime.SessionOptions()  # type: ignore[attr-defined]  # it is there, only not listed
    options.intra_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # the arena never gives back what the longest sentence took
    options.enable_mem_pattern = False
    options.add_session_config_entry("session.disable_prepacking", "1")  # a second copy of the weights, no faster
    options.log_severity_level = 3
    try:
        content = (models / MODEL / FILE).read_bytes()
        session = onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])  # type: ignore[attr-defined]
    except (OSError, ort.Fail, ort.InvalidProtobuf, ort.InvalidGraph) as trouble:
        raise EngineError(
            f"the network that tells voices apart does not load: {trouble}", hint=f"atlas models pull {MODEL}"
        ) from trouble
    return VoiceEncoder(session)


def spoken_frames(bands: Floats) -> Floats:
    """Return the frames without the silence before and behind what is spoken."""
    if not len(bands):
        return bands
    energy = np.log(np.exp(bands).sum(axis=1))
    loud = np.flatnonzero(energy > np.percentile(energy, 95) - QUIETER)
    return bands[max(0, loud[0] - AROUND_FRAMES) : loud[-1] + 1 + AROUND_FRAMES]


def _around(steps: int) -> Floats:
    """Return the matrix that adds the mean over all steps to that over the segment of each."""
    matrix = np.full((steps, steps), 1 / steps, np.float32)
    for start in range(0, steps, SEGMENT_STEPS):
        segment = slice(start, start + SEGMENT_STEPS)
        matrix[segment, segment] += np.float32(1 / len(range(steps)[segment]))
    return matrix
