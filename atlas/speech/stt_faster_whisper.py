"""Whisper, by CTranslate2 and faster-whisper's features, with windows that fit the utterance.

Whisper was trained on windows of 30 s, and its encoder pays for all of them. A window as long as the utterance and a
little more is several times cheaper, but then the decoder does not know when to stop and says everything again:
so tokens are made a few at a time, and the first repeat ends the work. Measured in docs/log.md.
"""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import tokenizers
from faster_whisper.feature_extractor import FeatureExtractor

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.config import NO_SECOND_EARS, SpeechConfig
from atlas.conversation import Utterance
from atlas.errors import EngineError
from atlas.speech.loops import cut_loop
from atlas.speech.stt import MAX_UTTERANCE_SECONDS, Hearing, Judge, SoundReading, Stt, Weight, margins_of
from atlas.speech.worker import Worker

PAD_SECONDS = 8.0  # less of it and words are lost, most of all at the end: see docs/log.md
FRAMES_PER_SECOND = 100
LOOSE_ENDS = " ,;-"  # that a reading which was cut off ends with
BEAMS = 5  # the right words are among five readings more often than among three, and it takes as long
FIRST_TOKENS, FIRST_TOKENS_PER_SECOND = 6, 4  # the usual length of what is said, and room to see a repeat begin
MORE_TOKENS = 8
MOST_TOKENS, MOST_TOKENS_PER_SECOND = 12, 7  # nobody speaks faster
ENCODED_PER_SECOND = 50
SKIM_PAD_SECONDS = 1.0  # the last word of a skim is left out anyway, and every second of window costs time
SKIM_SECONDS = 12.0  # of sound; a longer one would be read for longer than a pause at its end lasts
WEIGHING_PAD_SECONDS = 1.0  # what is encoded of the silence after it costs time for every text, and changes nothing
LEAST_PROBABILITY = 1e-10
SOUNDLESS_FRAMES = 16  # of zeros, on which a text is as likely as the model's idea of what people say
MOST_EXPECTED = 20_000
FIRST_MERGE = ("Ġ", "t")  # a space before a "t", the most frequent pair of letters in English
PLANS = 8  # of oneDNN, that stay: 0.8 MB for every length of window, and of itself it keeps 1,024 of them
LANGUAGE_UNSURE = 3.0  # nats; five of six commands whose language people were misheard in differ by less
SECOND_PASS_SECONDS = 12.0  # of sound; what is longer is no command, and would take a second to read again
SUPPRESS_DEFAULT = [-1]  # the model's own list: brackets, notes of music and the like

# What noise, hum, clicks and music give, as against speech down to 0 dB over white noise: see docs/log.md.
SHORTEST_SECONDS = 0.1
QUIETEST = 1e-4  # of full scale, in the loudest 30 ms: -80 dB, far below any microphone's own hiss
NO_SPEECH = 0.7  # noise 0.78 and more; speech 0.18, and 0.79 in the worst noise, where its words are still likelier
UNLIKELY = -1.0  # mean log-probability of a token: believed less than this only when the model heard speech
DOUBTFUL = -0.8  # what is said clearly is seldom less likely, what was misheard often is
IMPOSSIBLE = -1.7  # not words, whatever the model says of speech


async def open(settings: SpeechConfig) -> Stt:
    """Load and warm `MODELS/STT_MODEL`, and that of the second pass where there is one.

    Raises `EngineError` when one is not there or does not load.
    """
    os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] = str(PLANS)  # read when the first model runs
    worker = Worker()
    whisper = await _loaded(settings, settings.stt_model, worker)
    second = settings.second_pass_model
    better = await _loaded(settings, second, worker) if second not in ("", NO_SECOND_EARS) else None
    return FasterWhisper(whisper, worker, better)


async def _loaded(settings: SpeechConfig, model: str, worker: Worker) -> Whisper:
    folder = settings.models / model
    try:
        return await worker.run(lambda: _warm(Whisper(folder, settings.threads, settings.languages)))
    except (OSError, RuntimeError, ValueError) as trouble:
        raise EngineError(
            f"the recogniser {folder} does not load: {trouble}",
            spoken="I can't hear words right now.",
            hint="run `atlas models fetch`",
        ) from trouble


class FasterWhisper:
    """A loaded recogniser, and a better one for what it is not sure of."""

    def __init__(self, whisper: Whisper, worker: Worker, better: Whisper | None = None) -> None:
        self._whisper: Whisper | None = whisper
        self._better = better
        self._worker = worker

    @property
    def idle(self) -> bool:
        """See `Stt.idle`."""
        return self._worker.idle

    async def transcribe(self, speech: AudioChunk, judge: Judge | None = None) -> Utterance:
        """Return the words of one utterance, and other readings of it."""
        assert speech.rate == HEARING_RATE, "words are heard at the hearing rate"
        assert speech.seconds <= MAX_UTTERANCE_SECONDS, "longer sound is cut by whoever collects it"
        whisper = self._whisper
        if whisper is None:
            raise EngineError("the recogniser is closed", spoken="I can't hear words right now.", hint="start Atlas")
        if _is_nothing(speech):
            return Utterance("", speech.seconds)
        decide = judge or _Heard.believed
        needed = threading.Event()
        needed.set()
        try:
            return await self._worker.run(lambda: decide(_Heard(whisper, speech, self._better, needed)))
        except RuntimeError as trouble:
            raise EngineError(f"the recogniser failed: {trouble}", spoken="I didn't catch that.") from trouble
        finally:
            needed.clear()

    async def skim(self, speech: AudioChunk) -> str | None:
        """Return the words so far by the quickest reading there is."""
        if (whisper := self._whisper) is None:
            raise EngineError("the recogniser is closed", spoken="I can't hear words right now.", hint="start Atlas")
        if speech.seconds > SKIM_SECONDS:
            return None
        if _is_nothing(speech):
            return ""
        try:
            return await self._worker.run_aside(lambda may_go_on: whisper.skim(speech, may_go_on))
        except RuntimeError as trouble:
            raise EngineError(f"the recogniser failed: {trouble}", spoken="I didn't catch that.") from trouble

    async def aclose(self) -> None:
        """Give back the weights."""
        self._whisper = self._better = None


class _Heard:
    """One utterance, encoded: keeps `Hearing`. Blocking."""

    def __init__(
        self,
        whisper: Whisper,
        speech: AudioChunk,
        better: Whisper | None,
        needed: threading.Event,
        language: str = "",  # that is known; else it is heard
        encoded: Any = None,  # the same sound, where it is there already
    ) -> None:
        self.seconds = speech.seconds
        self._speech, self._better, self._needed = speech, better, needed
        self._whisper = whisper
        self._encoded = whisper.encode(speech) if encoded is None else encoded
        self._weighed: dict[str, Weight] = {}
        likely = {language: 0.0} if language else whisper.languages_of(self._encoded)
        self.language, *others = likely
        self._others = [other for other in others if likely[other] <= LANGUAGE_UNSURE]

    @property
    def readings(self) -> Sequence[SoundReading]:
        """What was read, best first."""
        return self._read[0]

    def in_other_languages(self) -> Sequence[Hearing]:
        """See `Hearing`."""
        return [
            _Heard(self._whisper, self._speech, self._better, self._needed, language, self._encoded)
            for language in self._others
        ]

    def weigh(self, texts: Sequence[str]) -> Sequence[Weight]:
        """Return how likely each text is on this sound, and without it."""
        self._check_needed()
        new = [text for text in dict.fromkeys(texts) if text not in self._weighed]
        weights = self._whisper.weigh(self._encoded, new, self.seconds, self.language)
        self._weighed.update(zip(new, weights, strict=True))
        return [self._weighed[text] for text in texts]

    def second_pass(self) -> Hearing | None:
        """Return the same sound as the better model has it, while somebody waits for the words."""
        if self._better is None or self.language not in self._better.languages:
            return None
        if self.seconds > SECOND_PASS_SECONDS or not self._needed.is_set():
            return None
        return _Heard(self._better, self._speech, None, self._needed, self.language)

    def believed(self) -> Utterance:
        """Return the words, unless nobody spoke."""
        readings, no_speech = self._read
        best = readings[0]
        if _is_noise(best.score, no_speech):
            return Utterance("", self.seconds)
        texts = _each_once([reading.text for reading in readings])
        if not texts:
            return Utterance("", self.seconds)
        doubtful = best.score < DOUBTFUL
        margins = margins_of([replace(one, text=one.text.rstrip(LOOSE_ENDS)) for one in readings])
        return Utterance(texts[0], self.seconds, texts[1:], (), doubtful, margins, self.language)

    @cached_property
    def _read(self) -> tuple[Sequence[SoundReading], float]:
        self._check_needed()
        return self._whisper.readings(self._encoded, self.seconds, self.language)

    def _check_needed(self) -> None:
        """Make way for the next utterance, or for the same one when it goes on."""
        if not self._needed.is_set():
            raise RuntimeError("nobody waits for these words any more")


@dataclass(frozen=True, slots=True)
class _Guess:
    """One reading: its tokens, and how sure the model is of each on average."""

    tokens: list[int]
    score: float


class Whisper:
    """The model and what it takes to feed it. Blocking: runs in a worker thread."""

    def __init__(self, folder: Path, threads: int, languages: Sequence[str] = ("en",)) -> None:
        whisper = ctranslate2.models.Whisper  # type: ignore[attr-defined]  # it is there, only not listed
        self._model = whisper(str(folder), device="cpu", compute_type="int8", intra_threads=threads)
        self._tokenizer = _tokenizer(folder / "tokenizer.json")
        self._features: Any = FeatureExtractor(self._model.n_mels)  # type: ignore[no-untyped-call]
        self._prompts = {"en": self._prompt()}
        if self._model.is_multilingual:
            self._prompts = {language: self._prompt(language, "transcribe") for language in languages}
        self._end = self._token("endoftext")
        self._expected: dict[tuple[str, tuple[int, ...]], float] = {}  # how likely weighed texts are without sound

    @property
    def languages(self) -> Collection[str]:
        """Those of the house's languages that it hears."""
        return self._prompts.keys()

    def encode(self, speech: AudioChunk, pad_seconds: float = PAD_SECONDS) -> Any:
        """Return the sound as the model has it: encoded, one vector for 20 ms."""
        return self._model.encode(self._window(speech, pad_seconds))

    def languages_of(self, encoded: Any) -> Mapping[str, float]:
        """Return the languages of the house, the likeliest first, and by how many nats each is less likely."""
        if len(self._prompts) == 1:
            return dict.fromkeys(self._prompts, 0.0)
        shares = {token.strip("<|>"): share for token, share in self._model.detect_language(encoded)[0]}
        likely = {name: math.log(max(shares.get(name, 0.0), LEAST_PROBABILITY)) for name in self._prompts}
        most = max(likely.values())
        return {name: most - its for name, its in sorted(likely.items(), key=lambda one: -one[1])}

    def readings(self, encoded: Any, seconds: float, language: str) -> tuple[Sequence[SoundReading], float]:
        """Return what may have been said, best first, and the probability that nobody spoke."""
        first, prompt = FIRST_TOKENS + int(FIRST_TOKENS_PER_SECOND * seconds), self._prompts[language]
        guesses, no_speech = self._generate(encoded, prompt, [], first, BEAMS)
        texts = [SoundReading(self._whole(encoded, prompt, guesses[0], first, seconds), guesses[0].score)]
        for guess in guesses[1:]:
            ended = len(guess.tokens) < first
            text, looped = cut_loop(self._text(guess.tokens), ended)
            if ended or looped:
                texts.append(SoundReading(text, guess.score))
        return texts, no_speech

    def skim(self, speech: AudioChunk, may_go_on: Callable[[], bool]) -> str | None:
        """Return the likeliest words, by one beam and no more than usual; `None` when something else is to be heard."""
        encoded = self.encode(speech, SKIM_PAD_SECONDS)
        if not may_go_on():
            return None
        prompt = self._prompts[next(iter(self.languages_of(encoded)))]
        amount = FIRST_TOKENS + int(FIRST_TOKENS_PER_SECOND * speech.seconds)
        (guess,), no_speech = self._generate(encoded, prompt, [], amount, 1)
        if _is_noise(guess.score, no_speech):
            return ""
        return cut_loop(self._text(guess.tokens), len(guess.tokens) < amount)[0]

    def weigh(self, encoded: Any, texts: Sequence[str], seconds: float, language: str) -> Sequence[Weight]:
        """Return how likely each text is, on the sound and on none at all."""
        if not texts:
            return ()
        prompt, expected = self._prompts[language], self._expected
        sentences = [tuple(self._tokenizer.encode(f" {text}", add_special_tokens=False).ids) for text in texts]
        if len(expected) > MOST_EXPECTED:
            expected.clear()
        if new := [sentence for sentence in sentences if (language, sentence) not in expected]:
            nothing = np.zeros((1, SOUNDLESS_FRAMES, encoded.shape[2]), np.float32)
            sums = self._sums(nothing, prompt, new)
            expected.update(((language, sentence), worth) for sentence, worth in zip(new, sums, strict=True))
        sums = self._sums(self._heard_part(encoded, seconds), prompt, sentences)
        return [
            Weight(sound, expected[language, sentence], len(sentence))
            for sound, sentence in zip(sums, sentences, strict=True)
        ]

    def advantage(self, encoded: Any, text: str, seconds: float, language: str) -> float:
        """Return by how much a text is likelier, in nats, than what the sound seems to begin with in as many tokens."""
        prompt = self._prompts[language]
        wanted = tuple(self._tokenizer.encode(f" {text}", add_special_tokens=False).ids)
        guesses, _ = self._generate(encoded, prompt, [], len(wanted) + MORE_TOKENS, BEAMS)
        others = {tuple(guess.tokens[: len(wanted)]) for guess in guesses if len(guess.tokens) >= len(wanted)}
        ours, *theirs = self._sums(self._heard_part(encoded, seconds), prompt, [wanted, *others])
        return ours - max(theirs, default=ours)

    def end_of(self, encoded: Any, text: str, language: str) -> float:
        """Return how many seconds into the sound the last word of a text ends with which the sound begins."""
        tokens = self._tokenizer.encode(f" {text}", add_special_tokens=False).ids
        aligned = self._model.align(encoded, self._prompts[language], [tokens], [encoded.shape[1]])[0]
        last = [frame for token, frame in aligned.alignments if token == len(tokens) - 1]
        return max(last, default=0) / ENCODED_PER_SECOND

    def _heard_part(self, encoded: Any, seconds: float) -> Any:
        frames = min(round((seconds + WEIGHING_PAD_SECONDS) * ENCODED_PER_SECOND), encoded.shape[1])
        return np.array(encoded)[:, :frames]

    def _sums(self, encoded: Any, prompt: list[int], sentences: Sequence[tuple[int, ...]]) -> Sequence[float]:
        """Return the sum of the log-probabilities of the tokens of each sentence."""
        sound = np.ascontiguousarray(np.repeat(encoded, len(sentences), axis=0))
        view = ctranslate2.StorageView.from_array(sound)  # type: ignore[attr-defined]
        frames = [encoded.shape[1]] * len(sentences)
        aligned = self._model.align(view, prompt, [list(sentence) for sentence in sentences], frames)
        return [float(np.sum(np.log(np.maximum(one.text_token_probs, LEAST_PROBABILITY)))) for one in aligned]

    def _whole(self, encoded: Any, prompt: list[int], guess: _Guess, amount: int, seconds: float) -> str:
        """Return the text of the best guess, going on from where it ran out of tokens until it ends or repeats."""
        tokens, most = list(guess.tokens), MOST_TOKENS + int(MOST_TOKENS_PER_SECOND * seconds)
        ended = len(tokens) < amount
        text, looped = cut_loop(self._text(tokens), ended)
        while not ended and not looped and len(tokens) < most:
            more = self._generate(encoded, prompt, tokens, MORE_TOKENS, 1)[0][0].tokens
            tokens += more
            ended = len(more) < MORE_TOKENS
            text, looped = cut_loop(self._text(tokens), ended)
        return text

    def _generate(
        self, encoded: Any, prompt: list[int], so_far: list[int], tokens: int, beams: int
    ) -> tuple[list[_Guess], float]:
        """Return `beams` guesses of at most `tokens` more, and the probability that there is no speech."""
        prompt, length = prompt + so_far, len(so_far) + tokens  # CTranslate2 makes them again, and counts them
        result = self._model.generate(
            encoded,
            [prompt],
            beam_size=beams,
            num_hypotheses=beams,
            max_length=max(2 * length, length + len(prompt)),  # CTranslate2 makes half of this at most
            return_scores=True,
            return_no_speech_prob=True,
            suppress_blank=not so_far,  # once words are there, the end may come first
            suppress_tokens=SUPPRESS_DEFAULT,
        )[0]
        made = zip(result.sequences_ids, result.scores, strict=True)
        guesses = [_Guess(list(ids)[len(so_far) :], score) for ids, score in made]
        return guesses, float(result.no_speech_prob)

    def _window(self, speech: AudioChunk, pad_seconds: float) -> Any:
        """Return the features of `speech` and of a little silence after it: the features' own minimum."""
        samples = np.frombuffer(speech.pcm, "<i2").astype(np.float32) / 32768.0
        features = self._features(samples)
        frames = min(round((speech.seconds + pad_seconds) * FRAMES_PER_SECOND), self._features.nb_max_frames)
        frames += frames % 2  # the encoder takes two at a time
        features = features[:, :frames]
        missing = frames - features.shape[1]
        padded = np.pad(features, ((0, 0), (0, missing)), constant_values=features.min())
        return ctranslate2.StorageView.from_array(np.ascontiguousarray(padded[None], np.float32))  # type: ignore[attr-defined]

    def _text(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode([token for token in tokens if token < self._end])).strip()

    def _prompt(self, *task: str) -> list[int]:
        return [self._token(name) for name in ("startoftranscript", *task, "notimestamps")]

    def _token(self, name: str) -> int:
        token = self._tokenizer.token_to_id(f"<|{name}|>")
        if token is None:
            raise ValueError(f"its tokenizer has no <|{name}|>")
        return token


def _tokenizer(file: Path) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(mended(file.read_text(encoding="utf-8")))
    except Exception as trouble:  # the library raises nothing narrower
        raise ValueError(f"{file} is no tokenizer: {trouble}") from trouble


def mended(text: str) -> str:
    """Return a tokenizer with the first of its merges, which the files of the multilingual models lack.

    Without it no word that begins with "t" is written in the tokens that the model knows it by: " the" becomes " " and
    "the", and a text with it seems impossible on any sound.
    """
    tokenizer = json.loads(text)
    vocabulary, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    if "".join(FIRST_MERGE) in vocabulary and merges and FIRST_MERGE not in (tuple(one) for one in map(_pair, merges)):
        merges.insert(0, " ".join(FIRST_MERGE) if isinstance(merges[0], str) else list(FIRST_MERGE))
    return json.dumps(tokenizer)


def _pair(merge: str | list[str]) -> Sequence[str]:
    return merge.split(" ") if isinstance(merge, str) else merge


def _warm(whisper: Whisper) -> Whisper:
    """Run a model once: the first time takes longer."""
    sound = silence(1.0)
    encoded = whisper.encode(sound)
    whisper.readings(encoded, sound.seconds, next(iter(whisper.languages_of(encoded))))
    return whisper


def _is_noise(score: float, no_speech: float) -> bool:
    """Say whether what was read with this score is no words."""
    return (no_speech > NO_SPEECH and score < UNLIKELY) or score < IMPOSSIBLE


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
            seen.setdefault(plain, text.rstrip(LOOSE_ENDS))
    return tuple(seen.values())
