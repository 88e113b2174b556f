"""Wake words by microWakeWord: small streaming models, 0.4 % of a core for each microphone and word."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pymicro_wakeword
from pymicro_wakeword import MicroWakeWord, MicroWakeWordFeatures
from pymicro_wakeword.microwakeword import SAMPLES_PER_CHUNK

from atlas.audio import HEARING_RATE, AudioChunk
from atlas.config import SpeechConfig
from atlas.errors import ConfigError, EngineError
from atlas.speech.wake import NearMiss, Thresholds, WakeStream, no_threshold, nobody_near, phrase_of

REST_SECONDS = 0.5  # a model can be sure of one saying for a second and more: it must have been unsure this long since
# Twice in a row, 30 ms apart, or it was no word: a click can make a model sure once. So a score is the lower of two.
SURE_TIMES = 2
NEAR_SHARE = 0.6  # of the threshold: what comes so near and no nearer is a near miss
# A model is sure of its word some 0.15 s after the word's end. Who speaks on in one breath has begun the next word by
# then; further back lies the wake word itself, of which the recogniser would make words.
SAID_ON_SECONDS = 0.15
QUIET_SAMPLES = HEARING_RATE  # after its peak, before a near miss is told: it may yet become the word
REST_SAMPLES = round(REST_SECONDS * HEARING_RATE)
_SHIPPED = Path(pymicro_wakeword.__file__).parent / "models"


async def open(settings: SpeechConfig) -> MicroWake:
    """Load the words of `settings.wake_words`: those that come with the library, and `MODELS/WORD/WORD.json`.

    A word's phrase is its name in the settings, whatever its model calls itself: agents are chosen by it.

    Raises `ConfigError` for a word without a model, and `EngineError` for a model that does not load.
    """
    return MicroWake({phrase_of(word): _file_of(word, settings.models) for word in settings.wake_words})


class MicroWake:
    """The models of several words, by phrase."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._own_thresholds = {phrase: model.probability_cutoff for phrase, model in self._load().items()}
        self.phrases = tuple(self._own_thresholds)

    def own_threshold(self, phrase: str) -> float:
        """Return what the word's model was trained for."""
        return self._own_thresholds[phrase]

    def listen(self, thresholds: Thresholds = no_threshold, near_miss: NearMiss = nobody_near) -> WakeStream:
        """Return a detector for a new microphone; 0.15 MB and 1 ms for each word. Each model has a threshold."""
        return MicroWakeStream(self._load(), thresholds, near_miss)

    async def aclose(self) -> None:
        """Nothing is held: models belong to the streams that listen."""

    def _load(self) -> dict[str, MicroWakeWord]:
        try:
            for file in self._files.values():
                _check_weights(file)
            return {phrase: MicroWakeWord.from_config(file) for phrase, file in self._files.items()}
        except (OSError, ValueError, KeyError, RuntimeError) as trouble:
            raise EngineError(
                f"a wake word model does not load: {trouble}", hint=f"check {', '.join(map(str, self._files.values()))}"
            ) from trouble


class MicroWakeStream:
    """One microphone; the words share its features, each keeps its own state."""

    said_on_seconds = SAID_ON_SECONDS

    def __init__(
        self,
        models: Mapping[str, MicroWakeWord],
        thresholds: Thresholds = no_threshold,
        near_miss: NearMiss = nobody_near,
    ) -> None:
        self.score = self.threshold = 0.0
        self._words = {phrase: _Word(phrase, model, thresholds) for phrase, model in models.items()}
        self._called = ""  # the phrase that was returned last
        self._near_miss = near_miss
        self._features = MicroWakeWordFeatures()
        self._rest_samples = 0  # how long until the next call counts

    def hear(self, chunk: AudioChunk) -> str | None:
        """Take the next chunk; return the phrase when it has just been said."""
        assert chunk.rate == HEARING_RATE, "wake words are heard at the hearing rate"
        text: str | None = None
        for features in self._features.process_streaming(chunk.pcm):
            hits = [phrase for phrase, word in self._words.items() if word.hear(features)]
            if hits and self._rest_samples <= 0 and text is None:
                self._called = text = hits[0]
                self.score, self.threshold = 0.0, self._words[text].threshold
            if called := self._words.get(self._called if hits or self._rest_samples > 0 else ""):
                self.score = max(self.score, called.score)  # a model is sure before it is at its surest
            self._rest_samples = REST_SAMPLES if hits else self._rest_samples - SAMPLES_PER_CHUNK
            for phrase, word in self._words.items():
                if score := word.missed(detected=bool(hits) or self._rest_samples > 0):
                    self._near_miss(phrase, score, word.threshold)
        return text

    def reset(self) -> None:
        """Forget what was heard."""
        self._features.reset()
        for word in self._words.values():
            word.reset()
        self._rest_samples = 0


class _Word:
    """One word's model and how sure it was lately."""

    def __init__(self, phrase: str, model: MicroWakeWord, thresholds: Thresholds) -> None:
        self._phrase = phrase
        self._model = model
        self._thresholds = thresholds
        self._windows = 0  # of features, since it was asked last
        self._scores = deque([0.0] * SURE_TIMES, maxlen=SURE_TIMES)  # the last
        self._peak = 0.0
        self._quiet_samples = 0  # since the peak

    @property
    def score(self) -> float:
        """How sure it is, at least, of all its last windows."""
        return min(self._scores)

    @property
    def threshold(self) -> float:
        """How sure it has to be."""
        return self._thresholds(self._phrase) or self._model.probability_cutoff

    def hear(self, features: np.ndarray) -> bool:
        """Take the next features; return whether the word has just been said."""
        probability = self._model.process_streaming_prob(features) or 0.0
        self._windows = (self._windows + 1) % self._model.stride
        self._quiet_samples += SAMPLES_PER_CHUNK
        if self._windows:
            return False
        self._scores.append(probability)
        if self.score > max(self._peak, NEAR_SHARE * self.threshold):
            self._peak, self._quiet_samples = self.score, 0
        return self.score >= self.threshold

    def missed(self, *, detected: bool) -> float:
        """Return how sure it was of a word that it did not find, once; else 0."""
        if detected:
            self._peak = 0.0
        if not self._peak or self._quiet_samples < QUIET_SAMPLES:
            return 0.0
        peak, self._peak = self._peak, 0.0
        return peak

    def reset(self) -> None:
        """Forget what was heard."""
        self._model.reset()
        self._windows = 0
        self._scores.extend([0.0] * SURE_TIMES)
        self._peak = 0.0


def _check_weights(file: Path) -> None:
    """Raise before the library is given weights that are not there or none: it would take the process with it."""
    weights = file.parent / str(json.loads(file.read_text(encoding="utf-8"))["model"])
    with weights.open("rb") as opened:
        if opened.read(8)[4:] != b"TFL3":
            raise ValueError(f"{weights} is not a TensorFlow Lite model")


def has_model(word: str, models: Path) -> bool:
    """Tell whether a word comes with the library, or has a model of its own."""
    return any(file.is_file() for file in _places(word, models))


def _places(word: str, models: Path) -> Sequence[Path]:
    return (_SHIPPED / f"{word}.json", models / word / f"{word}.json") if word.isidentifier() else ()


def _file_of(word: str, models: Path) -> Path:
    for file in _places(word, models):
        if file.is_file():
            return file
    known = sorted(file.stem for file in _SHIPPED.glob("*.json"))
    raise ConfigError(
        f"there is no wake word {word!r}",
        hint=f"speech.wake_words and those of agents take {', '.join(known)}, or a word with a model at"
        f" {models}/WORD/WORD.json",
    )
