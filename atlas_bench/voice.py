"""How long a person waits: from the last sample of speech to the first sound of the reply, stage by stage."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence

from piper import PiperVoice, SynthesisConfig

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.cli.hear import WIRE_RATE, HeardUtterance, hear
from atlas.config import Config
from atlas.errors import SoundError
from atlas.speech.resample import resampled
from atlas_bench._house import running_house
from atlas_bench._peer import AUDIBLE, peer

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
PEER_ANSWER = "The timer is set now."  # five words, as most answers to commands
PEER_COMMANDS = (
    *COMMANDS[:-1],
    *(f"Set a timer for {length}." for length in ("five minutes", "an hour", "forty minutes", "half an hour")),
    *(f"Set a {name} timer for {n} minutes." for name, n in (("pizza", 52), ("tea", 43), ("pasta", 39), ("rice", 36))),
    *(f"How long is left on my {name} timer?" for name in ("pizza", "tea", "pasta", "rice")),
    *(f"Cancel my {name} timer." for name in ("pizza", "tea", "pasta", "rice")),
    *(f"Add {thing} to my tasks." for thing in ("call the doctor", "water the plants", "fix the door", "pay the rent")),
    *(f"Set an alarm for {time}." for time in ("seven", "six thirty", "eight tomorrow", "noon")),
    *(f"Remind me to {deed}." for deed in ("call mum at five", "lock up at ten", "stretch in an hour", "eat at noon")),
    *(f"Add {thing} to my shopping list." for thing in ("milk", "eggs", "bread", "butter", "apples", "coffee")),
    *(f"Take {thing} off my shopping list." for thing in ("milk", "eggs", "bread", "butter")),
    *("What alarms are set?", "What is on my shopping list?", "What is the date tomorrow?", "What month is it?"),
    *("When does the sun set?", "When does the sun rise?", "What timers are running?", "Cancel all timers."),
    *("What day is it tomorrow?", "Cancel my timer.", "Cancel my noon alarm.", "What is my next alarm?"),
    *("What are my reminders?", "Cancel my seven alarm.", "What week is it?", "What is on my calendar today?"),
)
assert len(PEER_COMMANDS) >= 60
LEAD_SECONDS = 0.5  # of silence before each sentence, as before a person's
STAGES = ("vad_ms", "stt_ms", "words_at_ms", "first_words_at_ms", "first_text_at_ms", "first_sound_at_ms")  # in order

# The most that is still honest on two shared cores of a machine without a GPU, silence wait included.
TARGETS = {
    "command_first_sound_p50_ms": 1200.0,
    "question_first_sound_p50_ms": 2500.0,
    "commands_missed": 1.0,
}
# Beside the pair: of its median, ours and our 95th percentile.
PEER_TARGETS = {"share_of_peer_p50": 0.35, "p95_of_peer_p50": 1.0, "commands_missed": 1.0}

_said: dict[str, AudioChunk] = {}


def options(parser: argparse.ArgumentParser) -> None:
    """Add what this bench can be told."""
    pair = "wyoming-faster-whisper and wyoming-piper with the same sound and weights, in this run: 60 commands for each"
    parser.add_argument("--peer", action="store_true", help=pair)


def targets(given: argparse.Namespace) -> Mapping[str, float]:
    """Return what the figures that are taken may be at most."""
    return PEER_TARGETS if given.peer else TARGETS


async def measure(config: Config, given: argparse.Namespace | None = None) -> dict[str, float]:
    """Return medians and 95th percentiles in milliseconds, for commands (no model) and for questions (the model)."""
    if given and given.peer:
        return await _beside_peer(config)
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


async def _beside_peer(config: Config) -> dict[str, float]:
    """Return how long both keep a person waiting; in turn, so that what else the machine does is the same for both."""
    _speak(config, PEER_COMMANDS)
    ours: list[HeardUtterance] = []
    theirs: list[float] = []
    async with running_house(config) as house, peer(config) as pair:
        await play(house, COMMANDS[0])
        await pair.ask(_last_word_ends(_said[COMMANDS[0]]), PEER_ANSWER)
        for sentence in PEER_COMMANDS:
            if one := await play(house, sentence):
                ours.append(one)
            exchange = await pair.ask(_last_word_ends(_said[sentence]), PEER_ANSWER)
            theirs.append(exchange.first_sound_seconds * 1000)
            print(f"  {'the pair':34} → {exchange.transcript!r} {theirs[-1]:.0f} ms", file=sys.stderr, flush=True)
    figures = {**_figures("command", ours), "peer_first_sound_p50_ms": round(statistics.median(theirs), 1)}
    figures["peer_first_sound_p95_ms"] = round(_ninety_fifth(theirs), 1)
    median, late = (figures[f"command_first_sound_{which}_ms"] for which in ("p50", "p95"))
    figures["share_of_peer_p50"] = round(median / figures["peer_first_sound_p50_ms"], 2)
    figures["p95_of_peer_p50"] = round(late / figures["peer_first_sound_p50_ms"], 2)
    return {**figures, "commands_missed": len(PEER_COMMANDS) - sum(one.path == "command" for one in ours)}


def _last_word_ends(sound: AudioChunk) -> AudioChunk:
    """Return sound as it is heard, without what is silent behind the last word."""
    heard = resampled(sound, HEARING_RATE)
    samples = memoryview(heard.pcm).cast("h")
    last = max(place for place, sample in enumerate(samples) if abs(sample) > AUDIBLE)
    return heard.cut(0, last + 1)


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
    return {
        f"{kind}_first_sound_p50_ms": round(statistics.median(waits), 1),
        f"{kind}_first_sound_p95_ms": round(_ninety_fifth(waits), 1),
        **stages,
    }


def _ninety_fifth(waits: Sequence[float]) -> float:
    return sorted(waits)[round(0.95 * (len(waits) - 1))]


def _speak(config: Config, sentences: Sequence[str]) -> None:
    """Make the sound of what will be said, before anything is measured; the same sound in every run."""
    folder = config.speech.models / config.speech.voice
    voice = PiperVoice.load(folder / f"{config.speech.voice}.onnx")
    alike = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0)
    for sentence in sentences:
        text = b"".join(chunk.audio_int16_bytes for chunk in voice.synthesize(sentence, alike))
        sound = silence(LEAD_SECONDS, voice.config.sample_rate) + AudioChunk(text, voice.config.sample_rate)
        _said[sentence] = resampled(sound, WIRE_RATE)
