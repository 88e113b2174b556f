"""The voice, by Piper: a sentence at a time, the first of them heard while the next is made."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as ort
from piper import PiperVoice, SynthesisConfig
from piper.config import PiperConfig

from atlas.audio import AudioChunk
from atlas.config import SpeechConfig
from atlas.errors import EngineError
from atlas.speech.espeak import ONE_AT_A_TIME
from atlas.speech.sentences import pieces
from atlas.speech.tts import MAX_TEXT_CHARACTERS, Tts
from atlas.speech.worker import Worker

T = TypeVar("T")
LOUD = 0.01  # of full scale: where a voice's sound begins
LEAD_SECONDS = 0.01  # silence kept before it; the voice makes 30 to 60 ms that a listener would only wait for
SLOWEST, FASTEST = 0.25, 4.0
_ORT_TROUBLE = (ort.Fail, ort.InvalidArgument, ort.InvalidGraph, ort.InvalidProtobuf, ort.NoModel, ort.NoSuchFile)
_TROUBLE = (OSError, RuntimeError, ValueError, KeyError, ort.RuntimeException, *_ORT_TROUBLE)


async def open(settings: SpeechConfig) -> Tts:
    """Load and warm `MODELS/VOICE/VOICE.onnx`. Raises `EngineError` when it is not there or does not load."""
    file = settings.models / settings.voice / f"{settings.voice}.onnx"
    worker = Worker()
    try:
        voice = await worker.run(lambda: _load(file, settings.threads))
        await worker.run(lambda: list(voice.synthesize("Ready.")))
    except _TROUBLE as trouble:
        raise EngineError(
            f"the voice {file} does not load: {trouble}",
            spoken="I've lost my voice.",
            hint="run `atlas models fetch`",
        ) from trouble
    return Piper(settings.voice, voice, worker)


class Piper:
    """A loaded voice."""

    def __init__(self, name: str, voice: PiperVoice, worker: Worker) -> None:
        self.voice = name
        self.rate = int(voice.config.sample_rate)
        self._piper: PiperVoice | None = voice
        self._worker = worker

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncGenerator[AudioChunk, None]:
        """Yield the sound of `text`, one sentence at a time."""
        assert len(text) <= MAX_TEXT_CHARACTERS, "longer text is cut into sentences first"
        assert SLOWEST <= speed <= FASTEST, "speed is 0.25 to 4"
        for piece in filter(_has_words, pieces(text)):
            for phonemes in await self._run(partial(_phonemes, piece)):
                sound = await self._run(partial(_sound, phonemes, speed))
                if sound.samples:
                    yield sound

    async def aclose(self) -> None:
        """Give back the weights."""
        self._piper = None

    async def _run(self, work: Callable[[PiperVoice], T]) -> T:
        piper = self._piper
        if piper is None:
            raise EngineError("the voice is closed", spoken="I've lost my voice.", hint="start Atlas")
        try:
            return await self._worker.run(lambda: work(piper))
        except _TROUBLE as trouble:
            raise EngineError(f"the voice failed: {trouble}", spoken="I've lost my voice for a moment.") from trouble


def _load(file: Path, threads: int) -> PiperVoice:
    """Return the voice, with a session of our own options, which `PiperVoice.load` does not take."""
    config = PiperConfig.from_dict(json.loads(Path(f"{file}.json").read_text(encoding="utf-8")))
    options = onnxruntime.SessionOptions()  # type: ignore[attr-defined]  # it is there, only not listed
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # the arena never gives back what the longest sentence took: 150 MB
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads took half of the CPU
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(str(file), options, providers)  # type: ignore[attr-defined]
    return PiperVoice(session=session, config=config)


def _has_words(text: str) -> bool:
    return any(c.isalnum() for c in text)


def _phonemes(text: str, piper: PiperVoice) -> list[list[str]]:
    """Return the phonemes of each sentence."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    with ONE_AT_A_TIME:
        sentences = piper.phonemize(plain.replace("[[", "[ ["))  # "[[" is Piper's own sign
    return [phonemes for phonemes in sentences if phonemes]


def _sound(phonemes: list[str], speed: float, piper: PiperVoice) -> AudioChunk:
    """Return the sound of one sentence."""
    rate = int(piper.config.sample_rate)
    config = SynthesisConfig(length_scale=piper.config.length_scale / speed)
    audio = np.asarray(piper.phoneme_ids_to_audio(piper.phonemes_to_ids(phonemes), config), np.float32)
    loud = np.flatnonzero(np.abs(audio) > LOUD)
    start = max(0, int(loud[0]) - round(LEAD_SECONDS * rate)) if len(loud) else 0
    samples = np.clip(np.nan_to_num(audio[start:]), -1.0, 1.0) * 32767.0
    return AudioChunk(samples.astype("<i2").tobytes(), rate)
