"""Messages from room to room and from the app: in a person's own voice, heard, kept over `kill -9`, deleted."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from atlas.audio import AudioChunk
from atlas.speech.wav import read_wav
from tests.journeys.browser import ANSWER_MS, opened
from tests.journeys.conftest import Running, running_house, start, until, write_wav
from tests.journeys.sound_rooms import SoundServer, satellite, words_of

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not shutil.which("pulseaudio"), reason="no sound server here: apt install pulseaudio"),
]


@pytest.fixture(scope="module")
def home() -> Iterator[Running]:
    """A house of these tests' own, which they kill."""
    with running_house() as running:
        yield running


def plain(text: str) -> str:
    return " ".join("".join(c for c in text if c.isalpha() or c.isspace()).split())


def sounds_of(house: Running) -> list[Path]:
    return sorted((house.data / "messages").glob("*.wav"))


def test_what_somebody_tells_the_others_is_heard_in_the_other_room_in_their_own_voice(
    home: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with (
        satellite(home, sounds, "kitchen", tmp_path) as kitchen,
        satellite(home, sounds, "attic", tmp_path) as attic,
        sounds.recording("attic_out", tmp_path / "attic.raw") as played,
    ):
        sounds.play(spoken("Okay Nabu, tell everyone dinner is ready."), "kitchen_mic")
        attic.until("answering")
        # The house itself would say no more than that dinner is ready.
        until(lambda: "tell everyone dinner is ready" in plain(words_of(home, played(), tmp_path)), 40, "their voice")
        kitchen.until("asleep")
        until(lambda: not sounds_of(home), 30, "the sound being gone with what it said")


def test_a_message_is_left_in_the_app_played_in_the_room_that_it_is_for_and_deleted_with_its_sound(
    home: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    wav = write_wav(tmp_path / "said.wav", spoken("The water is boiling."))
    with satellite(home, sounds, "kitchen", tmp_path) as kitchen, opened(home, wav=wav, path="messages") as page:
        expect(page.get_by_role("heading", name="No messages")).to_be_visible(timeout=ANSWER_MS)
        with sounds.recording("kitchen_out", tmp_path / "kitchen.raw") as played:
            page.get_by_role("combobox").select_option("room:kitchen")
            page.get_by_role("button", name="Record").click()
            page.wait_for_timeout(3500)
            page.get_by_role("button", name="Stop and send").click()
            row = page.get_by_role("main").get_by_role("listitem").filter(has_text="For kitchen")
            expect(row).to_contain_text("boiling", ignore_case=True, timeout=ANSWER_MS)
            kitchen.until("answering")
            until(lambda: "water is boiling" in words_of(home, played(), tmp_path), 40, "boiling water")
        [file] = sounds_of(home)
        assert read_wav(file.read_bytes()).seconds > 2
        row.get_by_role("button", name="Play").click()
        expect(row.locator("audio")).to_have_count(1)
        row.get_by_role("button", name="Delete for good").click()
        expect(page.get_by_role("heading", name="No messages")).to_be_visible(timeout=ANSWER_MS)
        assert sounds_of(home) == []


def test_a_message_for_a_room_where_nobody_is_survives_kill_9_and_is_played_when_somebody_comes(
    home: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with opened(home, path="messages") as page:
        page.get_by_label("Or type it").fill("The cat is on the roof")
        page.get_by_role("button", name="Send the words").click()
        expect(page.get_by_role("main").get_by_role("listitem")).to_contain_text(
            "The cat is on the roof", timeout=ANSWER_MS
        )
        home.process.kill()
        home.process.wait()
    home.process = start(home.data, home.port).process
    with (
        sounds.recording("attic_out", tmp_path / "attic.raw") as played,
        satellite(home, sounds, "attic", tmp_path) as attic,
    ):
        attic.until("answering")
        until(lambda: "roof" in words_of(home, played(), tmp_path), 40, "the cat")
        until(lambda: heard(home), 30, "its being heard")  # while the room is there, which says when it was played


def heard(house: Running) -> bool:
    headers = {"Authorization": f"Bearer {house.token}"}
    with urllib.request.urlopen(urllib.request.Request(f"{house.url}/api/voice-messages", headers=headers)) as reply:
        messages: list[dict[str, Any]] = json.load(reply)["messages"]
    return all(message["heard_at"] for message in messages)
