"""What the house tells Wyoming clients that it offers: its recogniser, voice, wake words and agent."""

from __future__ import annotations

from typing import Any

from wyoming import info

from atlas import __version__
from atlas.house import House


def described(house: House) -> info.Info:
    """Return what this house offers."""
    language = [*house.config.house.spoken]
    words = [
        info.WakeModel(**_named(wake_name(phrase), phrase), languages=language, phrase=phrase)
        for phrase in house.wake.phrases
    ]
    hears = "what can be said to this house, before all else"
    recogniser = info.AsrModel(**_named(house.config.speech.stt_model, hears), languages=language)
    voice = info.TtsVoice(**_named(house.tts.voice, house.tts.voice), languages=language)
    agent = info.HandleModel(**_named(house.config.house.agent, "the agent of the house"), languages=language)
    ours = _named("atlas", "Atlas")
    return info.Info(
        asr=[info.AsrProgram(**ours, models=[recogniser], supports_transcript_streaming=True)],
        tts=[info.TtsProgram(**ours, voices=[voice], supports_synthesize_streaming=True)],
        wake=[info.WakeProgram(**ours, models=words)],
        handle=[info.HandleProgram(**ours, models=[agent], supports_home_control=True)],
    )


def _named(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "attribution": info.Attribution("Atlas", ""),
        "installed": True,
        "version": __version__,
    }


def wake_name(phrase: str) -> str:
    """Return what programs call a wake word: "okay nabu" is "okay_nabu"."""
    return phrase.replace(" ", "_")
