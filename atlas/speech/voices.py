"""Which voice a house speaks with: the one in its settings, unless that is the usual one, of another language."""

from __future__ import annotations

import shutil
from dataclasses import replace

from atlas.config import SpeechConfig
from atlas.speech.tts_espeak import PROGRAM

USUAL = SpeechConfig().voice  # of a house whose people chose none


def speaks(voice: str, language: str) -> bool:
    """Tell whether a Piper voice is of a language, which its name begins with."""
    return voice.startswith((f"{language}_", f"{language}-"))


def voice_for(speech: SpeechConfig) -> SpeechConfig:
    """Return the settings with a voice of the house's language: one for Piper that is here, else espeak-ng's.

    A voice that somebody chose stays.

    A Piper voice is called by its language first ("de_DE-thorsten-medium"). Where nothing speaks the language, the
    voice of the settings stays: a wrong accent is better than none.
    """
    language = speech.languages[0]
    if speech.tts != "piper" or speech.voice != USUAL or speaks(speech.voice, language):
        return speech
    here = sorted(
        file.parent.name for file in speech.models.glob(f"{language}_*/*.onnx") if file.stem == file.parent.name
    )
    if here:
        return replace(speech, voice=here[0])
    return replace(speech, tts="espeak") if shutil.which(PROGRAM) else speech
