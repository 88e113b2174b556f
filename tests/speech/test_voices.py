"""A house speaks its own language: with a voice that was fetched, else with espeak-ng's."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from atlas.audio import AudioChunk, silence
from atlas.config import SpeechConfig
from atlas.errors import EngineError
from atlas.own_words import speaking
from atlas.speech.tts_espeak import Espeak
from atlas.speech.tts_espeak import open as open_espeak
from atlas.speech.voices import Voices, languages_of_espeak, voice_for, voices_for

GERMAN = SpeechConfig(languages=("de",))
espeak = pytest.mark.skipif(not shutil.which("espeak-ng"), reason="NOT TESTED: espeak-ng is not installed")


def test_an_english_house_keeps_its_voice() -> None:
    assert voice_for(SpeechConfig()) == SpeechConfig()


def test_a_german_voice_that_is_here_speaks_german(tmp_path: Path) -> None:
    name = "de_DE-thorsten-medium"
    (tmp_path / name).mkdir()
    (tmp_path / name / f"{name}.onnx").touch()
    chosen = voice_for(replace(GERMAN, models=tmp_path))
    assert (chosen.tts, chosen.voice) == ("piper", name)


def test_a_voice_that_somebody_chose_stays(tmp_path: Path) -> None:
    chosen = replace(GERMAN, voice="en_GB-alan-medium", models=tmp_path)
    assert voice_for(chosen) == chosen


@espeak
def test_without_one_espeak_speaks_german(tmp_path: Path) -> None:
    assert voice_for(replace(GERMAN, models=tmp_path)).tts == "espeak"


def test_where_nothing_speaks_german_the_voice_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    german = replace(GERMAN, models=tmp_path)
    assert voice_for(german) == german


@espeak
def test_in_a_house_of_two_languages_each_has_its_own_voice(tmp_path: Path) -> None:
    both = SpeechConfig(languages=("en", "de"), models=tmp_path)
    voices = voices_for(both)
    assert {language: (its.tts, its.languages) for language, its in voices.items()} == {
        "en": ("piper", ("en",)),
        "de": ("espeak", ("de",)),
    }
    assert languages_of_espeak(both) == ("de",)
    assert languages_of_espeak(replace(both, tts="espeak")) == (), "who chose it knows"
    chosen = voices_for(replace(both, voice="de_DE-thorsten-medium", languages=("de", "en")))
    assert chosen["de"].voice == "de_DE-thorsten-medium"
    assert chosen["en"].tts == "espeak", "a German voice that somebody chose speaks no English"


class Hum:
    """A voice that says which it is by how long it takes."""

    def __init__(self, voice: str, rate: int, seconds: float) -> None:
        self.voice, self.rate, self._seconds, self.is_open = voice, rate, seconds, True

    async def speak(self, text: str, *, speed: float = 1.0) -> AsyncGenerator[AudioChunk, None]:
        yield silence(self._seconds, self.rate)

    async def aclose(self) -> None:
        self.is_open = False


async def test_words_are_said_by_the_voice_of_the_language_that_is_spoken_at_one_rate() -> None:
    english, german = Hum("joe", 22_050, 1.0), Hum("thorsten", 16_000, 2.0)
    voices = Voices({"en": english, "de": german})
    for language, seconds in (("en", 1.0), ("de", 2.0), ("fr", 1.0), ("", 1.0)):
        with speaking(language):
            async with aclosing(voices.speak("Hm.")) as sounds:
                made = [sound async for sound in sounds]
        assert {sound.rate for sound in made} == {voices.rate}
        assert sum(sound.seconds for sound in made) == pytest.approx(seconds, abs=0.01)
    await voices.aclose()
    assert not english.is_open
    assert not german.is_open


@espeak
async def test_a_german_sentence_comes_out_whole() -> None:
    voice = await open_espeak(GERMAN)

    async def seconds(text: str) -> float:
        async with aclosing(voice.speak(text)) as sounds:
            return sum([sound.seconds async for sound in sounds])

    short, long = (
        await seconds("Das Licht ist an."),
        await seconds("Das Licht ist an. Der Wecker klingelt um sieben Uhr."),
    )
    assert 0.6 < short < 3
    assert long > short + 1
    assert await seconds("-v en") > 0  # words are no options
    assert await seconds("…") == 0


@espeak
async def test_a_language_that_nobody_speaks_is_told() -> None:
    with pytest.raises(EngineError):
        await open_espeak(SpeechConfig(languages=("xx-nobody",)))


async def test_a_program_that_ends_before_it_reads_its_words_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "espeak-ng").symlink_to("/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path))
    for _ in range(50):  # whether it ends before it is written to is chance
        with pytest.raises(EngineError):
            await open_espeak(SpeechConfig(languages=("de",)))


async def test_a_closed_voice_says_so() -> None:
    voice = Espeak("de")
    await voice.aclose()
    with pytest.raises(EngineError):
        async with aclosing(voice.speak("Hallo")) as sounds:
            async for _ in sounds:
                pass
