"""How long a person waits: from the last sample of speech to the first sound of the reply, stage by stage."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping, Sequence

from piper import PiperVoice, SynthesisConfig

from atlas.audio import AudioChunk, silence
from atlas.cli.hear import WIRE_RATE, HeardUtterance, hear
from atlas.config import Config
from atlas.errors import SoundError
from atlas.speech.resample import resampled
from bench._house import running_house

COMMANDS = (
    "What time is it?",
    "Set a timer for ten minutes.",
    "How long is left on my timer?",
    "Add buy milk to my tasks.",
    "What is on my task list?",
    "What day is it today?",
    "Cancel my timer.",
)
QUESTIONS = (
    "Why is the sky blue?",
    "Tell me a story about the sea.",
    "What is the capital of France?",
    "How do airplanes fly?",
)
ROUNDS = 2
LEAD_SECONDS = 0.5  # of silence before each sentence, as before a person's
STAGES = ("vad_ms", "stt_ms", "words_at_ms", "first_words_at_ms", "first_text_at_ms", "first_sound_at_ms")  # in order

# The most that is still honest on two shared cores of a machine without a GPU, silence wait included.
TARGETS = {
    "command_first_sound_p50_ms": 1200.0,
    "question_first_sound_p50_ms": 2500.0,
    "commands_missed": 1.0,
}

_said: dict[str, AudioChunk] = {}


async def measure(config: Config) -> dict[str, float]:
    """Return medians and 95th percentiles in milliseconds, for commands (no model) and for questions (the model)."""
    _speak(config, (*COMMANDS, *QUESTIONS))
    async with running_house(config) as house:
        await play(house, COMMANDS[0])  # the first connection of a process pays for imports
        commands = [await play(house, sentence) for _ in range(ROUNDS) for sentence in COMMANDS]
        questions = [await play(house, sentence) for _ in range(ROUNDS) for sentence in QUESTIONS]
    understood = [one for one in commands if one and one.path == "command"]
    answered = [one for one in questions if one]
    return {
        **_figures("command", understood),
        **_figures("question", answered),
        "commands_missed": len(commands) - len(understood),
        "questions_missed": len(questions) - len(answered),
    }


async def play(config: Config, sentence: str) -> HeardUtterance | None:
    """Say a sentence to the house, and return the exchange once its reply can be heard; `None` without words."""
    if sentence not in _said:
        _speak(config, (sentence,))
    try:
        exchange = (await hear(config, _said[sentence], first_sound_only=True))[0]
    except SoundError:
        return None
    print(f"  {sentence:34} → {exchange.transcript!r} {_waited(exchange)}", file=sys.stderr, flush=True)
    return exchange


def _waited(exchange: HeardUtterance) -> str:
    seconds = exchange.first_sound_seconds
    return f"{exchange.path}, {seconds * 1000:.0f} ms" if seconds is not None else f"{exchange.path}, no sound"


def _figures(kind: str, exchanges: Sequence[HeardUtterance]) -> Mapping[str, float]:
    waits = [one.first_sound_seconds * 1000 for one in exchanges if one.first_sound_seconds is not None]
    if not waits:
        return {}
    stages = {
        f"{kind}_{stage.removesuffix('_ms')}_p50_ms": round(statistics.median(results), 1)
        for stage in STAGES
        if (results := [one.milliseconds[stage] for one in exchanges if stage in one.milliseconds])
    }
    ninety_fifth = sorted(waits)[min(len(waits) - 1, round(0.95 * (len(waits) - 1)))]
    return {
        f"{kind}_first_sound_p50_ms": round(statistics.median(waits), 1),
        f"{kind}_first_sound_p95_ms": round(ninety_fifth, 1),
        **stages,
    }


def _speak(config: Config, sentences: Sequence[str]) -> None:
    """Make the sound of what will be said, before anything is measured; the same sound in every run."""
    folder = config.speech.models / config.speech.voice
    voice = PiperVoice.load(folder / f"{config.speech.voice}.onnx")
    alike = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0)
    for sentence in sentences:
        text = b"".join(chunk.audio_int16_bytes for chunk in voice.synthesize(sentence, alike))
        sound = silence(LEAD_SECONDS, voice.config.sample_rate) + AudioChunk(text, voice.config.sample_rate)
        _said[sentence] = resampled(sound, WIRE_RATE)
