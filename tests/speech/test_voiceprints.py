"""Whose voice it is: said only when it is close to one person's, and clearly closer than to anybody else's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.errors import EngineError
from atlas.speech.mel_bands import BANDS, log_mel_bands
from atlas.speech.voiceprints import MODEL, match, mean, open_voice_encoder, spoken_frames
from tests.conftest import ROOT

MODELS = ROOT / "models"


def at(degrees: float) -> np.ndarray:
    """Return a voiceprint in this direction: two differ by the cosine of what is between."""
    return np.array([math.cos(math.radians(degrees)), math.sin(math.radians(degrees))], np.float32)


def test_a_voice_is_that_of_the_closest_person() -> None:
    assert match(at(20), {"Anna": at(0), "Ben": at(90)}).person == "Anna"


def test_a_voice_that_is_close_to_nobody_is_nobodys() -> None:
    whose = match(at(70), {"Anna": at(0), "Ben": at(180)})
    assert (whose.person, whose.closest) == ("", "Anna")
    assert match(at(0), {}).person == ""


def test_a_voice_between_two_people_is_nobodys() -> None:
    assert match(at(42), {"Anna": at(0), "Ben": at(90)}).person == ""


def test_the_voiceprint_of_several_sentences_lies_between_them() -> None:
    assert mean([at(0), at(40)]) == pytest.approx(at(20))


def test_silence_around_speech_is_no_part_of_it() -> None:
    tone = (np.sin(np.arange(HEARING_RATE) * 0.2) * 0.3).astype(np.float32)
    quiet = np.full(HEARING_RATE, 1e-5, np.float32)
    frames = spoken_frames(log_mel_bands(np.concatenate([quiet, tone, quiet])))
    assert frames.shape[1] == BANDS
    assert 95 < len(frames) < 125
    assert len(spoken_frames(log_mel_bands(np.zeros(10, np.float32)))) == 0


def test_without_its_weights_it_says_how_to_get_them(tmp_path) -> None:
    with pytest.raises(EngineError) as missing:
        open_voice_encoder(tmp_path)
    assert "atlas models pull campplus-voices" in missing.value.hint


@pytest.mark.real
@pytest.mark.skipif(not (MODELS / MODEL).is_dir(), reason="the network that tells voices apart is fetched on request")
async def test_two_made_voices_differ_and_two_sentences_of_one_do_not() -> None:
    from atlas.config import SpeechConfig
    from atlas.engine import open_engine
    from atlas.speech.resample import Resampler

    sentences = ("What is on my shopping list for tomorrow morning?", "Set the alarm for half past six, please.")
    prints = {}
    encoder = open_voice_encoder(MODELS)
    for engine, settings in (("piper", SpeechConfig(models=MODELS)), ("espeak", SpeechConfig())):
        voice = await open_engine("tts", engine, settings)
        for sentence in sentences:
            sound = silence(0.0)
            resampler = Resampler(voice.rate, HEARING_RATE)
            async for chunk in voice.speak(sentence):
                sound += resampler.feed(chunk)
            prints[engine, sentence] = await encoder.encode(sound)
        await voice.aclose()
    first, second = sentences
    known = {engine: prints[engine, first] for engine in ("piper", "espeak")}
    for engine in ("piper", "espeak"):
        assert match(prints[engine, second], known).person == engine
    assert await encoder.encode(AudioChunk(bytes(HEARING_RATE))) is None
