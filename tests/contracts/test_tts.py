"""Every voice keeps the same promises."""

from __future__ import annotations

import subprocess
import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import anyio
import numpy as np
import pytest
from piper import PiperVoice, SynthesisConfig

from atlas.audio import AudioChunk
from atlas.engine import open_engine
from atlas.errors import EngineError
from atlas.speech.resample import resampled
from atlas.speech.tts import Tts
from atlas.speech.tts_piper import _load
from tests.conftest import for_every
from tests.scripted_tts import ScriptedTts

NAMES = ["tests.scripted_tts", pytest.param("piper", marks=pytest.mark.real)]


@pytest.fixture(scope="module")
def opened():
    """The real voice, loaded once for all these tests."""
    voices: list[Tts] = []
    yield lambda config: voices or voices.append(anyio.run(open_engine, "tts", "piper", config.speech)) or voices
    for voice in voices:
        anyio.run(voice.aclose)


@pytest.fixture
def piper(config, opened):
    return opened(config)[0]


@pytest.fixture(params=NAMES)
def tts(request):
    return (
        ScriptedTts("en_US-joe-medium") if request.param == "tests.scripted_tts" else request.getfixturevalue("piper")
    )


async def said(tts: Tts, text: str, speed: float = 1.0) -> list[AudioChunk]:
    async with aclosing(tts.speak(text, speed=speed)) as sounds:
        return [sound async for sound in sounds]


def seconds(sounds: list[AudioChunk]) -> float:
    return sum(sound.seconds for sound in sounds)


async def test_it_has_a_name_and_says_everything_at_its_rate(tts):
    sounds = await said(tts, "Timer set for ten minutes.")
    assert tts.voice == "en_US-joe-medium"
    assert {sound.rate for sound in sounds} == {tts.rate}
    assert 0.8 < seconds(sounds) < 3
    assert max(np.abs(np.frombuffer(sound.pcm, np.int16)).max() for sound in sounds) > 3_000


@for_every("text", ["", " ", "...", "—", "?!", "\n\n", "🎉", "* * *"])
async def test_what_has_no_words_has_no_sound(tts, text):
    assert await said(tts, text) == []


async def test_sentences_come_one_by_one():
    tts = ScriptedTts("en_US-joe-medium")
    assert len(await said(tts, "This is the first sentence. This is the second. And a third!")) == 3


@pytest.mark.real
async def test_the_first_words_of_a_sentence_come_before_the_rest_of_it(piper):
    first, *others = await said(piper, "You have three reminders, and the next is to call mum.")
    assert 0.1 < first.seconds < 0.3
    assert seconds(others) > 4 * first.seconds


@pytest.mark.real
def test_a_sentence_that_is_made_in_stretches_is_the_one_that_is_made_at_once(config):
    folder = config.speech.models / config.speech.voice
    cut = _load(folder / f"{config.speech.voice}.onnx", 1)
    whole = PiperVoice.load(folder / f"{config.speech.voice}.onnx")
    phonemes = whole.phonemize("The timer for the pizza is set to ten minutes.")[0]
    still = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0)
    frames = cut.piper.phoneme_ids_to_audio(cut.piper.phonemes_to_ids(phonemes), still)
    made = np.concatenate([cut.samples(frames, start, end) for start, end in cut.stretches(frames)])
    at_once = whole.phoneme_ids_to_audio(whole.phonemes_to_ids(phonemes), still)
    assert len(made) == len(at_once)
    assert np.abs(made - at_once).max() < 1e-4


@pytest.mark.parametrize(
    ("speed", "shortest", "longest"), [(0.5, 1.6, 2.4), (2.0, 0.4, 0.7), (0.25, 3, 5), (4, 0.15, 0.55)]
)
async def test_speed_makes_it_longer_or_shorter(tts, speed, shortest, longest):
    # Every sound of Piper lasts a whole number of frames, one at least, so that twice as fast takes 0.62 of the time,
    # and 0.59 to 0.66 by the chance in its durations.
    text = "The timer for the pizza is set to ten minutes."
    normal = seconds(await said(tts, text))
    assert shortest < seconds(await said(tts, text, speed)) / normal < longest


async def test_leaving_early_is_safe_and_the_next_reply_is_whole(tts):
    async with aclosing(tts.speak("One is first. Two is next. Three is last.")) as sounds:
        async for _ in sounds:
            break
    with anyio.move_on_after(0):
        await said(tts, "This is never heard.")
    assert seconds(await said(tts, "One is first. Two is next.")) > 0.5


async def test_two_rooms_may_speak_at_a_time(tts):
    lengths: dict[str, float] = {}

    async def speak(room: str, text: str) -> None:
        lengths[room] = seconds(await said(tts, text))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(speak, "kitchen", "Yes.")
        tasks.start_soon(speak, "office", "The weather will be fine for the whole of tomorrow.")
    assert lengths["office"] > 2 * lengths["kitchen"] > 0


@pytest.mark.parametrize("name", NAMES)
async def test_a_closed_voice_says_so(config, name):
    tts = await open_engine("tts", name, config.speech)
    await tts.aclose()
    await tts.aclose()
    with pytest.raises(EngineError):
        await said(tts, "Hello.")


@pytest.mark.real
async def test_sound_begins_at_once_without_silence_before_it(piper):
    sound = (await said(piper, "Okay."))[0]
    loud = np.flatnonzero(np.abs(np.frombuffer(sound.pcm, np.int16)) > 400)
    assert loud[0] / sound.rate < 0.03


@pytest.mark.real
@pytest.mark.parametrize(
    "text", ["[[", "]] [[x]] and [[", "a\0b", "\x1b[31mred\x07", "ﷺ漢字", "word " * 800, "a" * 2_000]
)
async def test_no_text_breaks_the_voice(piper, text):
    async with aclosing(piper.speak(text[:4096], speed=4)) as sounds:
        async for sound in sounds:
            assert sound.seconds < 30
            break
    assert await said(piper, "Still here.")


@pytest.mark.real
async def test_what_it_says_can_be_understood(piper, config):
    stt = await open_engine("stt", "faster_whisper", config.speech)
    words = "Dinner is ready in the kitchen."
    texts = []
    for _ in range(3):  # no two renderings are alike, and a word of one, seldom of two, is misheard
        sound = b"".join(sound.pcm for sound in await said(piper, words))
        texts.append((await stt.transcribe(resampled(AudioChunk(sound, piper.rate), 16_000))).text)
    right = [word for text in texts for word in words.split() if word in text.split()]
    assert words in texts, texts
    assert len(right) >= 0.8 * len(texts) * len(words.split()), texts
    await stt.aclose()


@pytest.mark.real
async def test_a_missing_or_broken_voice_is_an_engine_error_with_a_way_out(config, data):
    settings = replace(config.speech, models=data)
    folder = data / settings.voice
    real = config.speech.models / settings.voice / f"{settings.voice}.onnx.json"
    folder.mkdir()
    for prepare in (
        lambda: None,
        lambda: (folder / real.name).write_text("{}"),
        lambda: (folder / real.name).write_text(real.read_text()),
        lambda: (folder / f"{settings.voice}.onnx").write_text("not weights"),
    ):
        prepare()
        with pytest.raises(EngineError, match="does not load") as missing:
            await open_engine("tts", "piper", settings)
        assert missing.value.hint == "run `atlas models fetch`"


OPEN_A_VOICE = """
import sys
from pathlib import Path

import anyio

from atlas.config import load
from atlas.engine import open_engine

anyio.run(open_engine, "tts", "piper", load({}, Path(sys.argv[1])).speech)
"""


@pytest.mark.real
def test_a_voice_tells_its_makers_nothing(config, data):
    """onnxruntime keeps, under the home directory, what it is about to send to its maker: there must be nothing."""
    # A process of its own, for it decides once; a bare environment, for it holds its tongue where tests run.
    command = [sys.executable, "-c", OPEN_A_VOICE, str(config.file)]
    root = Path(__file__).parent.parent.parent
    subprocess.run(command, check=True, timeout=60, cwd=root, env={"HOME": str(data), "PATH": "/usr/bin:/bin"})
    assert list(data.rglob("*")) == []
