"""Whisper, by CTranslate2 and faster-whisper's features, with windows that fit the utterance.

Whisper was trained on windows of 30 s, and its encoder pays for all of them. A window as long as the utterance and a
little more is several times cheaper, but then the decoder does not know when to stop and says everything again:
so tokens are made a few at a time, and the first repeat ends the work. Measured in docs/log.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import tokenizers
from faster_whisper.feature_extractor import FeatureExtractor

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.config import SpeechConfig
from atlas.conversation import Utterance
from atlas.errors import EngineError
from atlas.speech.loops import cut_loop
from atlas.speech.stt import MAX_UTTERANCE_SECONDS, Stt
from atlas.speech.worker import Worker

PAD_SECONDS = 2.0  # less of it and words at the end are lost: WER 6.5 % with 2 s, 16 % with 1.5
FRAMES_PER_SECOND = 100
BEAMS = 3  # 20 ms dearer than greedy, and the right words are among three readings half again as often
FIRST_TOKENS, FIRST_TOKENS_PER_SECOND = 6, 4  # the usual length of what is said, and room to see a repeat begin
MORE_TOKENS = 8
MOST_TOKENS, MOST_TOKENS_PER_SECOND = 12, 7  # nobody speaks faster
SUPPRESS_DEFAULT = [-1]  # the model's own list: brackets, notes of music and the like

# What noise, hum, clicks and music give, as against speech down to 0 dB over white noise: see docs/log.md.
SHORTEST_SECONDS = 0.1
QUIETEST = 1e-4  # of full scale, in the loudest 30 ms: -80 dB, far below any microphone's own hiss
NO_SPEECH = 0.7  # noise 0.78 and more; speech 0.18, and 0.79 in the worst noise, where its words are still likelier
UNLIKELY = -1.0  # mean log-probability of a token: believed less than this only when the model heard speech
IMPOSSIBLE = -1.7  # not words, whatever the model says of speech


async def open(settings: SpeechConfig) -> Stt:
    """Load and warm `MODELS/STT_MODEL`. Raises `EngineError` when it is not there or does not load."""
    folder = settings.models / settings.stt_model
    worker = Worker()
    try:
        whisper = await worker.run(lambda: _Whisper(folder, settings.threads))
    except (OSError, RuntimeError, ValueError) as trouble:
        raise EngineError(
            f"the recogniser {folder} does not load: {trouble}",
            spoken="I can't hear words right now.",
            hint="run `atlas models fetch`",
        ) from trouble
    stt = FasterWhisper(whisper, worker)
    await stt.transcribe(silence(1.0))
    return stt


class FasterWhisper:
    """A loaded recogniser."""

    def __init__(self, whisper: _Whisper, worker: Worker) -> None:
        self._whisper: _Whisper | None = whisper
        self._worker = worker

    async def transcribe(self, speech: AudioChunk) -> Utterance:
        """Return the words of one utterance, and up to two other readings of it."""
        assert speech.rate == HEARING_RATE, "words are heard at the hearing rate"
        assert speech.seconds <= MAX_UTTERANCE_SECONDS, "longer sound is cut by whoever collects it"
        whisper = self._whisper
        if whisper is None:
            raise EngineError("the recogniser is closed", spoken="I can't hear words right now.", hint="start Atlas")
        if _is_nothing(speech):
            return Utterance("", speech.seconds)
        try:
            readings = await self._worker.run(lambda: whisper.readings(speech))
        except RuntimeError as trouble:
            raise EngineError(f"the recogniser failed: {trouble}", spoken="I didn't catch that.") from trouble
        return Utterance(readings[0], speech.seconds, readings[1:]) if readings else Utterance("", speech.seconds)

    async def aclose(self) -> None:
        """Give back the weights."""
        self._whisper = None


@dataclass(frozen=True, slots=True)
class _Guess:
    """One reading: its tokens, and how sure the model is of each on average."""

    tokens: list[int]
    score: float


class _Whisper:
    """The model and what it takes to feed it. Blocking: runs in a worker thread."""

    def __init__(self, folder: Path, threads: int) -> None:
        whisper = ctranslate2.models.Whisper  # type: ignore[attr-defined]  # it is there, only not listed
        self._model = whisper(str(folder), device="cpu", compute_type="int8", intra_threads=threads)
        self._tokenizer = _tokenizer(folder / "tokenizer.json")
        self._features: Any = FeatureExtractor(self._model.n_mels)  # type: ignore[no-untyped-call]
        told = ("en", "transcribe") if self._model.is_multilingual else ()
        self._prompt = [self._token(name) for name in ("startoftranscript", *told, "notimestamps")]
        self._end = self._token("endoftext")

    def readings(self, speech: AudioChunk) -> tuple[str, ...]:
        """Return what may have been said, best first, each once; nothing when nobody spoke."""
        encoded = self._model.encode(self._window(speech))
        first = FIRST_TOKENS + int(FIRST_TOKENS_PER_SECOND * speech.seconds)
        guesses, no_speech = self._generate(encoded, [], first, BEAMS)
        best = guesses[0]
        if (no_speech > NO_SPEECH and best.score < UNLIKELY) or best.score < IMPOSSIBLE:
            return ()
        texts = [self._whole(encoded, best, first, speech.seconds)]
        for guess in guesses[1:]:
            ended = len(guess.tokens) < first
            text, looped = cut_loop(self._text(guess.tokens), ended)
            if ended or looped:
                texts.append(text)
        return _each_once(texts)

    def _whole(self, encoded: Any, guess: _Guess, asked: int, seconds: float) -> str:
        """Return the text of the best guess, going on from where it ran out of tokens until it ends or repeats."""
        tokens, most = list(guess.tokens), MOST_TOKENS + int(MOST_TOKENS_PER_SECOND * seconds)
        ended = len(tokens) < asked
        text, looped = cut_loop(self._text(tokens), ended)
        while not ended and not looped and len(tokens) < most:
            more = self._generate(encoded, tokens, MORE_TOKENS, 1)[0][0].tokens
            tokens += more
            ended = len(more) < MORE_TOKENS
            text, looped = cut_loop(self._text(tokens), ended)
        return text

    def _generate(self, encoded: Any, so_far: list[int], tokens: int, beams: int) -> tuple[list[_Guess], float]:
        """Return `beams` guesses of at most `tokens` more, and the probability that there is no speech."""
        prompt = self._prompt + so_far
        result = self._model.generate(
            encoded,
            [prompt],
            beam_size=beams,
            num_hypotheses=beams,
            max_length=max(2 * tokens, tokens + len(prompt)),  # CTranslate2 makes half of this at most
            return_scores=True,
            return_no_speech_prob=True,
            suppress_blank=not so_far,  # once words are there, the end may come first
            suppress_tokens=SUPPRESS_DEFAULT,
        )[0]
        guesses = [_Guess(list(ids), score) for ids, score in zip(result.sequences_ids, result.scores, strict=True)]
        return guesses, float(result.no_speech_prob)

    def _window(self, speech: AudioChunk) -> Any:
        """Return the features of `speech` and of a little silence after it: the features' own minimum."""
        samples = np.frombuffer(speech.pcm, "<i2").astype(np.float32) / 32768.0
        features = self._features(samples)
        frames = min(round((speech.seconds + PAD_SECONDS) * FRAMES_PER_SECOND), self._features.nb_max_frames)
        frames += frames % 2  # the encoder takes two at a time
        features = features[:, :frames]
        missing = frames - features.shape[1]
        padded = np.pad(features, ((0, 0), (0, missing)), constant_values=features.min())
        return ctranslate2.StorageView.from_array(np.ascontiguousarray(padded[None], np.float32))  # type: ignore[attr-defined]

    def _text(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode([token for token in tokens if token < self._end])).strip()

    def _token(self, name: str) -> int:
        token = self._tokenizer.token_to_id(f"<|{name}|>")
        if token is None:
            raise ValueError(f"its tokenizer has no <|{name}|>")
        return token


def _tokenizer(file: Path) -> tokenizers.Tokenizer:
    text = file.read_text(encoding="utf-8")
    try:
        return tokenizers.Tokenizer.from_str(text)
    except Exception as trouble:  # the library raises nothing narrower
        raise ValueError(f"{file} is no tokenizer: {trouble}") from trouble


def _is_nothing(speech: AudioChunk) -> bool:
    """Say whether there is too little sound for a word."""
    if speech.seconds < SHORTEST_SECONDS:
        return True
    samples = np.frombuffer(speech.pcm, "<i2").astype(np.float32) / 32768.0
    frame = HEARING_RATE * 30 // 1000
    frames = samples[: len(samples) // frame * frame].reshape(-1, frame)
    return bool(np.sqrt((frames**2).mean(axis=1)).max() < QUIETEST)


def _each_once(texts: list[str]) -> tuple[str, ...]:
    """Return the texts that have words, without those that differ from an earlier one in case or punctuation only."""
    seen: dict[str, str] = {}
    for text in texts:
        if plain := "".join(c for c in text.lower() if c.isalnum() or c == " ").strip():
            seen.setdefault(plain, text.rstrip(" ,;-"))
    return tuple(seen.values())
