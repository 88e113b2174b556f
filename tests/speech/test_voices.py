"""A house speaks its own language: with a voice that was fetched, else with espeak-ng's."""

from __future__ import annotations

import shutil
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from atlas.config import SpeechConfig
from atlas.errors import EngineError
from atlas.speech.tts_espeak import Espeak
from atlas.speech.tts_espeak import open as open_espeak
from atlas.speech.voices import voice_for

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


async def test_a_closed_voice_says_so() -> None:
    voice = Espeak("de")
    await voice.aclose()
    with pytest.raises(EngineError):
        async with aclosing(voice.speak("Hallo")) as sounds:
            async for _ in sounds:
                pass
