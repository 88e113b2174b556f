"""Write down a whole recording: find its speech, recognise it part by part, and say where each part stood."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from anyio import CapacityLimiter, to_thread

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.conversation import Utterance
from atlas.speech.cut import stretches
from atlas.speech.stt import MAX_UTTERANCE_SECONDS, Stt
from atlas.speech.vad import FRAME_SAMPLES, Vad, VadStream

BATCH_FRAMES = 300  # about 10 s of sound, and 0.3 s of work that a cancelled request still does


@dataclass(frozen=True, slots=True)
class TranscriptPassage:
    """A part of a recording: where it began, in seconds from the start, and what was said in it."""

    start_seconds: float
    utterance: Utterance

    @property
    def end_seconds(self) -> float:
        """Where it ended."""
        return self.start_seconds + self.utterance.seconds


async def transcribe_long(
    sound: AudioChunk,
    stt: Stt,
    vad: Vad,
    limiter: CapacityLimiter,
    tell: Callable[[TranscriptPassage], Awaitable[None]] | None = None,
) -> tuple[TranscriptPassage, ...]:
    """Return the passages of `sound` that have words, in order; sound of any length at `HEARING_RATE`.

    `tell` gets each of them as soon as it is understood. Each step holds `limiter`, so that recordings which share one
    take turns, and a voice waits for one step of one of them at most.
    Sound no longer than one utterance is recognised as it is. Ten minutes take half a minute of one core. The loop
    stays free. Cancelling is safe. Raises what `stt` raises.
    """
    assert sound.rate == HEARING_RATE, "words are heard at the hearing rate"
    passages: list[TranscriptPassage] = []
    for start, part in await _parts(sound, vad, limiter):
        async with limiter:
            utterance = await stt.transcribe(part)
        if utterance.text:
            passages.append(TranscriptPassage(start / HEARING_RATE, utterance))
            if tell is not None:
                await tell(passages[-1])
    return tuple(passages)


def whole_text(passages: tuple[TranscriptPassage, ...]) -> str:
    """Return the words of all passages as one text."""
    return " ".join(passage.utterance.text for passage in passages)


async def _parts(sound: AudioChunk, vad: Vad, limiter: CapacityLimiter) -> list[tuple[int, AudioChunk]]:
    """Return each part with its first sample's place."""
    if sound.seconds <= MAX_UTTERANCE_SECONDS:
        return [(0, sound)]
    ear = vad.listen()
    whole = sound + silence(FRAME_SAMPLES / HEARING_RATE)  # so that the last frame is a whole one
    probabilities: list[float] = []
    for start in range(0, sound.samples, BATCH_FRAMES * FRAME_SAMPLES):
        batch = whole.cut(start, start + BATCH_FRAMES * FRAME_SAMPLES)
        probabilities += await to_thread.run_sync(_probabilities, ear, batch, abandon_on_cancel=True, limiter=limiter)
    return [(part.start, sound.cut(part.start, part.end)) for part in stretches(probabilities)]


def _probabilities(ear: VadStream, batch: AudioChunk) -> list[float]:
    frames = range(0, batch.samples - FRAME_SAMPLES + 1, FRAME_SAMPLES)
    return [ear.probability(batch.cut(at, at + FRAME_SAMPLES)) for at in frames]
