"""The voice, by Piper: the first words of a sentence are heard while the rest of its sound is made."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as ort
from piper import PiperVoice, SynthesisConfig
from piper.config import PiperConfig

from atlas.audio import AudioChunk
from atlas.config import SpeechConfig
from atlas.errors import EngineError
from atlas.speech.espeak import ONE_AT_A_TIME
from atlas.speech.onnx_halves import halves
from atlas.speech.sentences import pieces
from atlas.speech.tts import MAX_TEXT_CHARACTERS, Tts
from atlas.speech.worker import Worker

T = TypeVar("T")
LOUD = 0.01  # of full scale: where a voice's sound begins
LEAD_SECONDS = 0.004  # silence kept before it; the voice makes 30 to 60 ms that a listener would only wait for
SLOWEST, FASTEST = 0.25, 4.0
GENERATOR = "/dec/"  # how the nodes are called that make samples of frames; they take most of the time
FIRST_FRAMES = 24  # a quarter of a second; each stretch after it is twice as long as the one before
AROUND_FRAMES = 12  # on each side of a stretch; from 10 on its samples are the same as if all had been made at once
_ORT_TROUBLE = (ort.Fail, ort.InvalidArgument, ort.InvalidGraph, ort.InvalidProtobuf, ort.NoModel, ort.NoSuchFile)
_TROUBLE = (OSError, RuntimeError, ValueError, KeyError, ort.RuntimeException, *_ORT_TROUBLE)
_ERRORS_ONLY = 3

Samples = NDArray[np.float32]


async def open(settings: SpeechConfig) -> Tts:
    """Load and warm `MODELS/VOICE/VOICE.onnx`. Raises `EngineError` when it is not there or does not load."""
    file = settings.models / settings.voice / f"{settings.voice}.onnx"
    worker = Worker()
    try:
        voice = await worker.run(lambda: _load(file, settings.threads))
        await worker.run(lambda: _warm(voice))
    except _TROUBLE as trouble:
        raise EngineError(
            f"the voice {file} does not load: {trouble}",
            spoken="I've lost my voice.",
            hint="run `atlas models fetch`",
        ) from trouble
    return Piper(settings.voice, voice, worker)


@dataclass(frozen=True, slots=True)
class _Voice:
    """A loaded voice; where its model could be cut, `piper` makes frames, and `generator` samples of `joint`."""

    piper: PiperVoice
    generator: Any = None
    joint: str = ""

    def frames(self, phonemes: list[str], speed: float) -> Samples:
        """Return the frames of one sentence, one column for each; without a generator its samples."""
        config = SynthesisConfig(length_scale=self.piper.config.length_scale / speed)
        made = self.piper.phoneme_ids_to_audio(self.piper.phonemes_to_ids(phonemes), config)
        return np.asarray(made, np.float32)

    def samples(self, frames: Samples, start: int, end: int) -> Samples:
        """Return the samples of some of the frames; of all, where there is no generator."""
        if self.generator is None:
            return frames
        first, last = max(0, start - AROUND_FRAMES), min(frames.shape[1], end + AROUND_FRAMES)
        made = self.generator.run(None, {self.joint: np.ascontiguousarray(frames[None, :, first:last])})[0]
        hop = made.size // (last - first)
        return np.asarray(made, np.float32).reshape(-1)[(start - first) * hop : (end - first) * hop]

    def stretches(self, frames: Samples) -> Iterator[tuple[int, int]]:
        """Yield from which frame to which samples are made at once: few at first, for somebody waits for them."""
        count = frames.shape[1] if self.generator is not None else 1
        start, length = 0, FIRST_FRAMES
        while start < count:
            yield start, min(start + length, count)
            start, length = start + length, 2 * length


class Piper:
    """A loaded voice."""

    def __init__(self, name: str, voice: _Voice, worker: Worker) -> None:
        self.voice = name
        self.rate = int(voice.piper.config.sample_rate)
        self._voice: _Voice | None = voice
        self._worker = worker

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncGenerator[AudioChunk, None]:
        """Yield the sound of `text`, a stretch at a time."""
        assert len(text) <= MAX_TEXT_CHARACTERS, "longer text is cut into sentences first"
        assert SLOWEST <= speed <= FASTEST, "speed is 0.25 to 4"
        for piece in filter(_has_words, pieces(text)):
            for phonemes in await self._run(partial(_phonemes, piece)):
                async with aclosing(self._sentence(phonemes, speed)) as sounds:
                    async for sound in sounds:
                        yield sound

    async def aclose(self) -> None:
        """Give back the weights."""
        self._voice = None

    async def _sentence(self, phonemes: list[str], speed: float) -> AsyncGenerator[AudioChunk, None]:
        """Yield the sound of one sentence, without the silence before it."""
        frames = await self._run(lambda voice: voice.frames(phonemes, speed))
        begun = False
        for start, end in self._loaded.stretches(frames):
            samples = await self._run(partial(_Voice.samples, frames=frames, start=start, end=end))
            if not begun:
                loud = np.flatnonzero(np.abs(samples) > LOUD)
                begun = bool(len(loud))
                lead = round(LEAD_SECONDS * self.rate)
                samples = samples[max(0, int(loud[0]) - lead) :] if begun else samples[len(samples) :]
            if len(samples):
                yield _chunk(samples, self.rate)

    @property
    def _loaded(self) -> _Voice:
        if self._voice is None:
            raise EngineError("the voice is closed", spoken="I've lost my voice.", hint="start Atlas")
        return self._voice

    async def _run(self, work: Callable[[_Voice], T]) -> T:
        voice = self._loaded
        try:
            return await self._worker.run(lambda: work(voice))
        except _TROUBLE as trouble:
            raise EngineError(f"the voice failed: {trouble}", spoken="I've lost my voice for a moment.") from trouble


def _load(file: Path, threads: int) -> _Voice:
    """Return the voice, with sessions of our own options, which `PiperVoice.load` does not take."""
    config = PiperConfig.from_dict(json.loads(Path(f"{file}.json").read_text(encoding="utf-8")))
    model = file.read_bytes()
    if (cut := halves(model, GENERATOR)) is None:
        return _Voice(PiperVoice(session=_session(model, threads), config=config))
    front = PiperVoice(session=_session(cut.front, threads), config=config)
    return _Voice(front, _session(cut.back, threads), cut.joint)


def _session(model: bytes, threads: int) -> Any:
    options = onnxruntime.SessionOptions()  # type: ignore[attr-defined]  # it is there, only not listed
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # the arena never gives back what the longest sentence took: 150 MB
    options.log_severity_level = _ERRORS_ONLY
    options.enable_mem_pattern = False  # it would keep a plan for every length of sentence
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads took half of the CPU
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])  # type: ignore[attr-defined]


def _warm(voice: _Voice) -> None:
    """Say something unheard: the first time takes longer."""
    for phonemes in _phonemes("Ready.", voice):
        frames = voice.frames(phonemes, 1.0)
        for start, end in voice.stretches(frames):
            voice.samples(frames, start, end)


def _has_words(text: str) -> bool:
    return any(c.isalnum() for c in text)


def _phonemes(text: str, voice: _Voice) -> list[list[str]]:
    """Return the phonemes of each sentence."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    with ONE_AT_A_TIME:
        sentences = voice.piper.phonemize(plain.replace("[[", "[ ["))  # "[[" is Piper's own sign
    return [phonemes for phonemes in sentences if phonemes]


def _chunk(samples: Samples, rate: int) -> AudioChunk:
    loudness = np.clip(np.nan_to_num(samples), -1.0, 1.0) * 32767.0
    return AudioChunk(loudness.astype("<i2").tobytes(), rate)
