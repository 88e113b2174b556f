"""Any phrase as a wake word, by its text alone: the recogniser is asked how likely the sound begins with it.

Three stages, so that silence costs nothing. A frame is compared with how loud the room is; what is louder is shown to
the speech detector; and where somebody begins to speak, the recogniser weighs the phrases on the first second. How much
better it expects a phrase having heard the sound than having heard none is its score. Only what scores well is read
as well, and what was read must not be much likelier than the phrase.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.config import SpeechConfig
from atlas.errors import EngineError
from atlas.speech.stt_faster_whisper import Whisper
from atlas.speech.vad import FRAME_SAMPLES, Vad
from atlas.speech.vad_silero import Silero
from atlas.speech.wake import NearMiss, Thresholds, WakeStream, no_threshold, nobody_near, phrase_of

THRESHOLD = 0.45  # measured in docs/log.md
NEAR_SHARE = 0.6  # of the threshold: what comes so near and no nearer is a near miss
WORTH_READING = 0.3  # a score below which a look ends
HOPELESS = 9.0  # nats by which what was read is likelier than a phrase that scores nothing: found on noisy speech
PAD_SECONDS = 1.0  # of silence behind what is weighed: less, and the encoder loses the last sound
LEAD_SECONDS = 0.2  # before the detector was sure: an "h" is hardly louder than the room
SHORTEST_SECONDS = 0.3  # of speech: nobody says a phrase faster
LETTER_SECONDS, LATER_SECONDS = 0.07, 0.5  # when a phrase is over that is said at usual speed; then once more
PAUSE_FRAMES, BEGIN_FRAMES = 5, 4  # frames without speech after which somebody has paused, or begins anew
VOICED = 0.4
PATIENCE_SECONDS = 0.4  # of sound that may pass before an answer is waited for
MOST_WAITING = 8  # looks of all streams together; a machine that is farther behind skips some
MOST_BEGINNINGS = 3  # of one stream that are listened on from at once
REST_SECONDS = 0.5  # after one call, before the next counts
LOUDER = 1.6  # than the quietest of late: then there may be somebody
RISING = 1.004  # a frame: what is steady for some seconds is quiet
QUIETEST = 10.0  # of 32767, -70 dB
LINGER_FRAMES = 30  # for which a room stays loud after it was
WARM_FRAMES = 8  # that the detector is shown from before it was loud


class Weigher(Protocol):
    """What knows how likely texts are on a sound: a Whisper, or a test's own."""

    def scores(self, sound: AudioChunk, phrases: Sequence[str]) -> Mapping[str, float]:
        """Return for each phrase how sure it is that the sound begins with it: 0 to 1. Blocking."""
        ...

    def against_others(self, sound: AudioChunk, phrase: str) -> float:
        """Return how well a phrase stands against what else the sound may begin with: 0 to 1. Blocking."""
        ...

    def end_of(self, sound: AudioChunk, phrase: str) -> float:
        """Return how many seconds into the sound the phrase ends. Blocking."""
        ...


async def open(settings: SpeechConfig) -> PhraseWake:
    """Load the recogniser for `settings.wake_words`, which may be any words. Raises `EngineError`."""
    folder = settings.models / settings.stt_model
    try:
        whisper = Whisper(folder, 1, settings.languages)
    except (OSError, RuntimeError, ValueError) as trouble:
        raise EngineError(
            f"the recogniser {folder} does not load: {trouble}", hint="run `atlas models fetch`"
        ) from trouble
    phrases = tuple(map(phrase_of, settings.wake_words))
    return PhraseWake(phrases, WhisperWeigher(whisper, settings.languages[0]), Silero())


class PhraseWake:
    """Phrases, and one thread that weighs them for all microphones."""

    def __init__(self, phrases: Sequence[str], weigher: Weigher, vad: Vad) -> None:
        self.phrases = tuple(phrases)
        self._weigher = weigher
        self._vad = vad
        self._thread = ThreadPoolExecutor(1, "wake")
        self._waiting: deque[Future[WeighedPhrase]] = deque()

    def own_threshold(self, phrase: str) -> float:
        """Return the same for all phrases."""
        return THRESHOLD

    def listen(self, thresholds: Thresholds = no_threshold, near_miss: NearMiss = nobody_near) -> WakeStream:
        """Return a detector for a new microphone; 2.5 MB. The engine's own threshold is `THRESHOLD`."""
        return PhraseStream(self, self.phrases, thresholds, near_miss)

    def listen_for(self, phrases: Sequence[str]) -> WakeStream:
        """Return a detector of other phrases than those that wake, with the same weights."""
        return PhraseStream(self, phrases, no_threshold, nobody_near)

    async def aclose(self) -> None:
        """Stop the thread."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def detector(self) -> Vad:
        """Return what tells speech from other sound."""
        return self._vad

    def look(self, sound: AudioChunk, phrases: Sequence[str]) -> Future[WeighedPhrase] | None:
        """Have phrases weighed on a sound; nothing where too much waits already."""
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        if len(self._waiting) >= MOST_WAITING:
            return None
        future = self._thread.submit(self._judge, sound, phrases)
        self._waiting.append(future)
        return future

    def _judge(self, sound: AudioChunk, phrases: Sequence[str]) -> WeighedPhrase:
        scores = self._weigher.scores(sound, phrases)
        phrase = max(scores, key=lambda one: scores[one])
        if scores[phrase] < WORTH_READING:
            return WeighedPhrase(phrase, scores[phrase], 0)
        score = min(scores[phrase], self._weigher.against_others(sound, phrase))
        return WeighedPhrase(phrase, score, round(self._weigher.end_of(sound, phrase) * HEARING_RATE))


@dataclass(frozen=True, slots=True)
class WeighedPhrase:
    """Which phrase a sound is likeliest to begin with, how likely that is, and where it ends."""

    phrase: str
    score: float
    end: int  # samples


@dataclass(slots=True)
class _Beginning:
    """Somebody began to speak."""

    at: int  # sample, a little before
    due: list[int]  # when to look, at the latest
    looked_to: int = 0
    best: WeighedPhrase | None = None


@dataclass(frozen=True, slots=True)
class _Look:
    beginning: _Beginning
    asked_at: int
    future: Future[WeighedPhrase]


class PhraseStream:
    """One microphone."""

    def __init__(self, wake: PhraseWake, phrases: Sequence[str], thresholds: Thresholds, near_miss: NearMiss) -> None:
        self.said_on_seconds = 0.0  # what was heard since the end of the phrase that was returned last
        self.score = self.threshold = 0.0
        self._wake = wake
        self._phrases = phrases
        self._thresholds = thresholds
        self._near_miss = near_miss
        self._vad = wake.detector().listen()
        usual = 0.4 + LETTER_SECONDS * max(map(len, phrases))
        self._due = [round((LEAD_SECONDS + usual + later) * HEARING_RATE) for later in (0.0, LATER_SECONDS)]
        self._kept_bytes = (self._due[-1] + round(2 * PATIENCE_SECONDS * HEARING_RATE)) * SAMPLE_BYTES
        self.reset()

    def reset(self) -> None:
        """Forget what was heard."""
        self._vad.reset()
        self._sound = bytearray()  # the last of it
        self._rest = b""  # less than a frame
        self._heard = 0  # samples
        self._floor = 0.0  # how loud the room is when nobody speaks
        self._loud_frames = 0
        self._voiced_frames, self._quiet_frames = 0, BEGIN_FRAMES
        self._beginnings: list[_Beginning] = []
        self._looks: deque[_Look] = deque()
        self._rests_until = 0

    def hear(self, chunk: AudioChunk) -> str | None:
        """Take the next chunk; return the phrase once it was said and is known to be."""
        assert chunk.rate == HEARING_RATE, "wake words are heard at the hearing rate"
        phrase: str | None = None
        data, frame_bytes = self._rest + chunk.pcm, FRAME_SAMPLES * SAMPLE_BYTES
        for start in range(0, len(data) - frame_bytes + 1, frame_bytes):
            self._frame(data[start : start + frame_bytes])
            phrase = self._known() or phrase
        self._rest = data[len(data) - len(data) % frame_bytes :]
        return phrase

    # ── who may have begun to speak ────────────────────────────────────────────────────────────────

    def _frame(self, frame: bytes) -> None:
        self._sound += frame
        self._heard += FRAME_SAMPLES
        del self._sound[: max(0, len(self._sound) - self._kept_bytes)]
        if self._is_loud(frame):
            self._note(self._vad.probability(AudioChunk(frame)) >= VOICED)
        else:
            self._note(False)
        for beginning in self._beginnings:
            if beginning.due and self._heard >= beginning.at + beginning.due[0]:
                del beginning.due[0]
                self._look(beginning)
        self._end_beginnings()

    def _is_loud(self, frame: bytes) -> bool:
        samples = np.frombuffer(frame, "<i2").astype(np.float32)
        level = float(np.sqrt(samples @ samples / samples.size))
        self._floor = max(QUIETEST, min(level, self._floor * RISING if self._floor else level))
        was_loud, above = self._loud_frames > 0, level > LOUDER * self._floor
        self._loud_frames = LINGER_FRAMES if above else max(0, self._loud_frames - 1)
        if above and not was_loud:
            before = bytes(self._sound[-(WARM_FRAMES + 1) * len(frame) : -len(frame)])
            for start in range(0, len(before) - len(frame) + 1, len(frame)):
                self._vad.probability(AudioChunk(before[start : start + len(frame)]))
        return self._loud_frames > 0

    def _note(self, voiced: bool) -> None:
        if voiced:
            self._voiced_frames += 1
            if self._voiced_frames == 2:
                if self._quiet_frames >= BEGIN_FRAMES:
                    self._begin()
                self._quiet_frames = 0
            return
        self._voiced_frames = 0
        self._quiet_frames += 1
        if self._quiet_frames == PAUSE_FRAMES:
            for beginning in self._beginnings:
                self._look(beginning)

    def _begin(self) -> None:
        earliest = self._heard - len(self._sound) // SAMPLE_BYTES
        at = max(earliest, self._heard - 2 * FRAME_SAMPLES - round(LEAD_SECONDS * HEARING_RATE))
        self._beginnings = [*self._beginnings[1 - MOST_BEGINNINGS :], _Beginning(at, list(self._due))]

    def _look(self, beginning: _Beginning) -> None:
        new = self._heard - max(beginning.looked_to, beginning.at)
        if new < SHORTEST_SECONDS * HEARING_RATE or beginning.at < self._rests_until:
            return
        first = len(self._sound) - (self._heard - beginning.at) * SAMPLE_BYTES
        if first < 0:
            return
        beginning.looked_to = self._heard
        if future := self._wake.look(AudioChunk(bytes(self._sound[first:])), self._phrases):
            self._looks.append(_Look(beginning, self._heard, future))

    # ── what came of looking ───────────────────────────────────────────────────────────────────────

    def _known(self) -> str | None:
        """Return the phrase of a look that is done, or has been waited for long enough."""
        while self._looks:
            look = self._looks[0]
            overdue = self._heard >= look.asked_at + PATIENCE_SECONDS * HEARING_RATE
            if not overdue and not look.future.done():
                return None
            self._looks.popleft()
            weighed, beginning = look.future.result(), look.beginning
            if beginning.at < self._rests_until:
                continue
            if weighed.score >= self._threshold(weighed.phrase):
                return self._called(weighed, beginning)
            if beginning.best is None or weighed.score > beginning.best.score:
                beginning.best = weighed
        return None

    def _called(self, weighed: WeighedPhrase, beginning: _Beginning) -> str:
        self.score, self.threshold = weighed.score, self._threshold(weighed.phrase)
        end = min(self._heard, beginning.at + weighed.end)
        self.said_on_seconds = (self._heard - end) / HEARING_RATE
        self._rests_until = end + round(REST_SECONDS * HEARING_RATE) - round(LEAD_SECONDS * HEARING_RATE)
        self._beginnings = [one for one in self._beginnings if one.at >= self._rests_until]
        return weighed.phrase

    def _end_beginnings(self) -> None:
        waited_for = {id(look.beginning) for look in self._looks}
        over = [one for one in self._beginnings if not one.due and id(one) not in waited_for]
        for beginning in over:
            if best := beginning.best:
                threshold = self._threshold(best.phrase)
                if best.score >= NEAR_SHARE * threshold:
                    self._near_miss(best.phrase, best.score, threshold)
        self._beginnings = [one for one in self._beginnings if one not in over]

    def _threshold(self, phrase: str) -> float:
        return self._thresholds(phrase) or THRESHOLD


class WhisperWeigher:
    """Weighs phrases by a Whisper."""

    def __init__(self, whisper: Whisper, language: str) -> None:
        self._whisper = whisper
        self._language = language
        self._encoded: tuple[AudioChunk, object] | None = None

    def scores(self, sound: AudioChunk, phrases: Sequence[str]) -> Mapping[str, float]:
        """Return for each phrase which share of its unlikeliness the sound explains."""
        encoded, spellings = self._encode(sound), {phrase: _spellings(phrase) for phrase in phrases}
        texts = list(chain.from_iterable(spellings.values()))
        weights = self._whisper.weigh(encoded, texts, sound.seconds, self._language)
        score = {text: 1 - one.sound / one.words for text, one in zip(texts, weights, strict=True)}
        return {phrase: max(0.0, *(score[text] for text in texts)) for phrase, texts in spellings.items()}

    def against_others(self, sound: AudioChunk, phrase: str) -> float:
        """Return how well a phrase stands against what the recogniser reads."""
        encoded, texts = self._encode(sound), _spellings(phrase)
        least = max(self._whisper.advantage(encoded, text, sound.seconds, self._language) for text in texts)
        return max(0.0, 1 + least / HOPELESS)

    def end_of(self, sound: AudioChunk, phrase: str) -> float:
        """Return how many seconds into the sound the phrase ends."""
        return self._whisper.end_of(self._encode(sound), _spellings(phrase)[0], self._language)

    def _encode(self, sound: AudioChunk) -> object:
        if self._encoded is None or self._encoded[0] is not sound:
            self._encoded = sound, self._whisper.encode(sound, PAD_SECONDS)
        return self._encoded[1]


def _spellings(phrase: str) -> Sequence[str]:
    """Return how a recogniser may write a phrase, names with capitals and with or without a comma."""
    words = phrase.title().split()
    return (" ".join(words),) if len(words) == 1 else (" ".join(words), f"{words[0]}, {' '.join(words[1:])}")
