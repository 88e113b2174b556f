"""Two people speak in one room, and each gets what is theirs: who it is, the house knows by voice."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.sync_api import expect

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.config import SpeechConfig
from atlas.engine import open_engine
from atlas.speech.resample import resampled
from atlas.speech.voiceprints import MODEL
from tests.conftest import ROOT
from tests.journeys.browser import ANSWER_MS, opened
from tests.journeys.conftest import Running, running_house, write_wav

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not (ROOT / "models" / MODEL).is_dir(), reason="the network that tells voices apart is fetched on request"
    ),
]
SENTENCES = (
    "Good morning, what is the weather going to be like today?",
    "Please put bread, butter and apples on the shopping list.",
    "Wake me at half past six, and turn on the light by the bed.",
    "Who left the window in the living room open last night?",
    "I'd like to hear some quiet music while I am cooking.",
)
COUNT_WHAT_IS_RECORDED = """() => {
    const start = MediaRecorder.prototype.start;
    MediaRecorder.prototype.start = function () {
        window.recordedParts = 0;
        this.addEventListener("dataavailable", () => window.recordedParts++);
        this.addEventListener("stop", () => { window.recordedParts = 0; });
        start.call(this, 100);
    };
}"""  # in parts of 100 ms of sound
PARTS_OF_A_SENTENCE = 30


@pytest.fixture(scope="module")
def home() -> Iterator[Running]:
    """A house that knows people by voice."""
    with running_house("\n[voices]\nenabled = true\n") as running:
        yield running


def another_voice(text: str) -> AudioChunk:
    async def speak() -> AudioChunk:
        voice = await open_engine("tts", "espeak", SpeechConfig())
        sound = silence(0.0, voice.rate)
        async for chunk in voice.speak(text):
            sound += chunk
        await voice.aclose()
        return resampled(sound, HEARING_RATE)

    return anyio.run(speak)


def asked(house: Running, path: str, token: str) -> Any:
    request = urllib.request.Request(f"{house.url}{path}", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def created(house: Running, *arguments: str) -> str:
    done = house.atlas("token", "create", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_reminder_that_is_said_in_the_kitchen_is_whose_voice_said_it(
    home: Running, spoken: Callable[[str], AudioChunk], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = created(home, "--name", "annas-phone", "--role", "adult", "--person", "Anna")
    ben = created(home, "--name", "bens-phone", "--role", "adult", "--person", "Ben")
    kitchen = created(home, "--name", "kitchen-pi", "--role", "satellite", "--room", "kitchen")
    for person, voice in (("Anna", spoken), ("Ben", another_voice)):
        files = [
            str(write_wav(tmp_path / f"{person}{number}.wav", voice(sentence)))
            for number, sentence in enumerate(SENTENCES)
        ]
        done = home.atlas("voices", "add", person, *files)
        assert done.returncode == 0, done.stderr
    wish = write_wav(tmp_path / "wish.wav", spoken("Remind me tomorrow at nine to call the dentist."))
    monkeypatch.setenv("ATLAS_TOKEN", kitchen)
    turn = home.turn_of("hear", str(wish))
    assert "dentist" in turn["reply"], turn
    [reminder] = asked(home, "/api/reminders", anna)["reminders"]
    assert (reminder["person"], "dentist" in reminder["text"]) == ("Anna", True)
    assert asked(home, "/api/reminders", ben)["reminders"] == []
    wish = write_wav(tmp_path / "other.wav", another_voice("Which reminders do I have for tomorrow morning?"))
    assert "dentist" not in home.turn_of("hear", str(wish))["reply"]
    turns = asked(home, "/api/conversations/turns", anna)["turns"]
    assert [one["readings"]["voice"] for one in turns if one["readings"]] == ["Anna"]


def test_somebody_reads_five_sentences_to_the_app_and_takes_their_voice_back(
    home: Running, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    mia = created(home, "--name", "mias-phone", "--role", "adult", "--person", "Mia")
    wav = write_wav(tmp_path / "read.wav", spoken(SENTENCES[0]))  # the browser plays it anew for each recording
    with opened(home, wav=wav, token=mia, path="more") as page:
        page.evaluate(COUNT_WHAT_IS_RECORDED)
        section = page.get_by_role("region", name="Known by voice")
        for number in range(5):
            section.get_by_role("button", name="Read it aloud" if number else "Record my voice").click()
            expect(section.get_by_role("status")).to_have_text(f"Sentence {number + 1} of 5")
            page.wait_for_function(f"() => window.recordedParts >= {PARTS_OF_A_SENTENCE}", timeout=ANSWER_MS)
            section.get_by_role("button", name="I have read it").click()
        expect(section.get_by_role("listitem")).to_contain_text("Mia", timeout=ANSWER_MS)
        assert "Mia" in home.atlas("voices", "list").stdout
        section.get_by_role("button", name="Delete this voice").click()
        expect(section.get_by_role("listitem")).to_have_count(0, timeout=ANSWER_MS)
        assert "Mia" not in home.atlas("voices", "list").stdout
