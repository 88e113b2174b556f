"""Which voice a house speaks with in each of its languages, and all of them behind the contract of one."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace

from babel import Locale

from atlas.audio import AudioChunk
from atlas.config import SpeechConfig
from atlas.own_words import language as spoken_language
from atlas.own_words import noted
from atlas.speech.resample import Resampler
from atlas.speech.tts import Tts
from atlas.speech.tts_espeak import PROGRAM

USUAL = SpeechConfig().voice  # of a house whose people chose none
STANDS_IN = noted("espeak-ng speaks {language}: no voice for Piper in that language is here")
FETCH_A_VOICE = noted("fetch a voice that speaks {language}: the app has it under Models, a terminal in `atlas models`")


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
    return _voice_here(speech, language)


def voices_for(speech: SpeechConfig) -> Mapping[str, SpeechConfig]:
    """Return the settings of a voice for each language; in several, one that somebody chose speaks its own alone."""
    if len(speech.languages) == 1:
        return {speech.languages[0]: voice_for(speech)}
    voices = {}
    for language in speech.languages:
        its = replace(speech, languages=(language,))
        stays = speech.tts != "piper" or speaks(speech.voice, language)
        voices[language] = its if stays else _voice_here(its, language)
    return voices


def language_name(code: str) -> str:
    """Return what a language is called in the one that is spoken: "German", "Deutsch"."""
    return str(Locale(spoken_language()).languages.get(code, code))


def languages_of_espeak(speech: SpeechConfig) -> tuple[str, ...]:
    """Return the languages that espeak-ng speaks for want of a voice for Piper."""
    if speech.tts != "piper":
        return ()
    return tuple(language for language, its in voices_for(speech).items() if its.tts == "espeak")


def _voice_here(speech: SpeechConfig, language: str) -> SpeechConfig:
    here = sorted(
        file.parent.name for file in speech.models.glob(f"{language}_*/*.onnx") if file.stem == file.parent.name
    )
    if here:
        return replace(speech, voice=here[0])
    return replace(speech, tts="espeak") if shutil.which(PROGRAM) else speech


class Voices:
    """Keeps `Tts`: words are said by the voice of the language that is spoken, the first of `by_language` else.

    All sound has the rate of the first, so that whoever plays it need not know who spoke.
    """

    def __init__(self, by_language: Mapping[str, Tts]) -> None:
        self._by_language = by_language
        self._usual = next(iter(by_language.values()))
        self.voice = self._usual.voice
        self.rate = self._usual.rate

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncGenerator[AudioChunk, None]:
        """See `Tts.speak`."""
        voice = self._by_language.get(spoken_language(), self._usual)
        resampler = Resampler(voice.rate, self.rate) if voice.rate != self.rate else None
        async with aclosing(voice.speak(text, speed=speed)) as chunks:
            async for chunk in chunks:
                sound = resampler.feed(chunk) if resampler else chunk
                if sound.samples:
                    yield sound
        if resampler and (rest := resampler.flush()).samples:
            yield rest

    async def aclose(self) -> None:
        """See `Tts.aclose`."""
        for voice in self._by_language.values():
            await voice.aclose()
