"""A room of sound: a real satellite with a sound server's own microphone and loudspeaker, spoken to and listened to."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atlas.audio import AudioChunk, silence
from tests.journeys.conftest import ROOT, Running, until
from tests.journeys.sound_rooms import RATE, SoundServer, loud, satellite, words_of
from tests.journeys.test_wyoming import Lit, end_house, start_house

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not shutil.which("pulseaudio"), reason="no sound server here: apt install pulseaudio"),
]


def test_a_timer_that_is_set_in_one_breath_rings_in_its_room_and_in_no_other(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with (
        satellite(house, sounds, "kitchen", tmp_path, "--microphone-form", "48000x2") as kitchen,
        satellite(house, sounds, "attic", tmp_path),
        sounds.recording("kitchen_out", tmp_path / "kitchen.raw") as played,
        sounds.recording("attic_out", tmp_path / "attic.raw") as elsewhere,
    ):
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, set a timer for ten seconds."))
        kitchen.until("asleep")
        assert "10 seconds" in words_of(house, played(), tmp_path)
        set_at = played().samples
        kitchen.until("ringing")
        kitchen.until("asleep")
        assert "is done" in words_of(house, played().cut(set_at), tmp_path)
        assert not loud(elsewhere())


def test_a_timer_rings_although_the_house_has_died_and_is_not_told_again_once_somebody_stopped_it(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(house, sounds, "kitchen", tmp_path) as kitchen:
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, set a timer for ten seconds."))
        kitchen.until("asleep")
        house.process.send_signal(signal.SIGSTOP)  # it is there, and says nothing: worse than dead
        try:
            kitchen.until("disconnected", 60)
            kitchen.until("ringing", 60)
            kitchen.process.send_signal(signal.SIGUSR2)  # somebody presses its button
            kitchen.until("silent")
        finally:
            house.process.send_signal(signal.SIGCONT)
        kitchen.until("connected")
        left = house.json_of("ask", "how many timers are there")
        assert "no timers" in left["reply"].lower(), left


def test_any_phrase_wakes_a_room_and_stop_silences_what_rings_there_without_it(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    models = ("--models", str(ROOT / "models"))
    with satellite(house, sounds, "kitchen", tmp_path, "--wake-word", "hey atlas", *models) as kitchen:
        sounds.play(spoken("Okay Nabu, set a timer for nine seconds."), "kitchen_mic")  # which is not its word
        kitchen.is_called(sounds, "kitchen_mic", spoken("Hey Atlas, set a timer for ten seconds."))
        kitchen.until("asleep", 20)  # it has answered
        kitchen.until("ringing")
        kitchen.until("answering")
        sounds.play(spoken("Stop!"), "kitchen_mic")
        kitchen.until("silent")
        left = house.json_of("ask", "how many timers are there")
        assert "no timers" in left["reply"].lower(), left


def test_stop_ends_a_timer_that_rings_by_itself_while_the_house_is_away(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    models = ("--models", str(ROOT / "models"))
    with satellite(house, sounds, "kitchen", tmp_path, "--wake-word", "hey atlas", *models) as kitchen:
        kitchen.is_called(sounds, "kitchen_mic", spoken("Hey Atlas, set a timer for ten seconds."))
        kitchen.until("asleep")
        house.process.send_signal(signal.SIGSTOP)
        try:
            kitchen.until("disconnected", 60)
            kitchen.until("ringing", 60)
            sounds.play(spoken("Shut up!"), "kitchen_mic")
            kitchen.until("silent")
        finally:
            house.process.send_signal(signal.SIGCONT)
        kitchen.until("connected")
        left = house.json_of("ask", "how many timers are there")
        assert "no timers" in left["reply"].lower(), left


GOOD_NIGHT = """
language: en
intents:
  GoodNight:
    data: [{sentences: ["good night"]}]
intent_script:
  GoodNight:
    action: [{action: home.turn, data: {device: kitchen light, on: false}}]
    speech: {text: Sleep well. The kitchen light is off now.}
"""


@pytest.fixture
def lit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lit]:
    """A house with a light in the kitchen, and a sentence of its own for the night."""
    house = start_house(tmp_path_factory.mktemp("night"), '\n[tools.home.scripted]\nfile = "house.json"\n')
    (house.data / "sentences.yaml").write_text(GOOD_NIGHT)
    yield house
    end_house(house)


@pytest.mark.timeout(400)  # a house of its own has to start
def test_good_night_in_the_kitchen_does_what_the_house_is_to_do_then_and_is_answered_there(
    lit: Lit, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    lit.json_of("ask", "turn on the kitchen light")
    assert lit.is_lit()
    with (
        satellite(lit, sounds, "kitchen", tmp_path) as kitchen,
        satellite(lit, sounds, "attic", tmp_path),
        sounds.recording("kitchen_out", tmp_path / "kitchen.raw") as played,
        sounds.recording("attic_out", tmp_path / "attic.raw") as elsewhere,
    ):
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, good night."))
        kitchen.until("asleep")
        assert "kitchen light" in words_of(lit, played(), tmp_path)
        assert not lit.is_lit()
        assert not loud(elsewhere())


def test_an_announcement_is_heard_in_every_room_and_one_for_a_room_only_there(
    house: Running, sounds: SoundServer, tmp_path: Path
) -> None:
    with (
        satellite(house, sounds, "kitchen", tmp_path) as kitchen,
        satellite(house, sounds, "attic", tmp_path) as attic,
        sounds.recording("kitchen_out", tmp_path / "kitchen.raw") as played,
        sounds.recording("attic_out", tmp_path / "attic.raw") as elsewhere,
    ):
        house.atlas("announce", "Dinner", "is", "ready.")
        for room in (kitchen, attic):
            room.until("answering")
        until(lambda: "dinner is ready" in words_of(house, played(), tmp_path), 30, "dinner in the kitchen")
        until(lambda: "dinner is ready" in words_of(house, elsewhere(), tmp_path), 30, "dinner in the attic")
        house.atlas("announce", "--room", "kitchen", "The water is boiling.")
        kitchen.until("answering")
        until(lambda: "boiling" in words_of(house, played(), tmp_path), 30, "boiling water")
        assert "boiling" not in words_of(house, elsewhere(), tmp_path)
        # What was not played to its end is told to whoever is this room next.
        until(lambda: not loud(played().cut(played().samples - RATE, played().samples)), 30, "the end of it")


def test_who_asks_for_it_is_spoken_to_louder_or_softer_in_that_room(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    levels = []
    with satellite(house, sounds, "kitchen", tmp_path, "--no-earcons") as kitchen:
        for words in (
            "Set your volume to ten percent.",
            "Set your volume to fifty five percent.",  # "fifty" can be heard as "fifteen"
            "Set your volume to one hundred percent.",
        ):
            with sounds.recording("kitchen_out", tmp_path / "kitchen.raw") as played:
                kitchen.is_called(sounds, "kitchen_mic", spoken(f"Okay Nabu, {words}"))
                kitchen.until("asleep")
                words_heard = played()
            steps = range(0, words_heard.samples, RATE // 5)
            levels.append(max(words_heard.cut(at, at + RATE // 5).level_db for at in steps))
    softest, as_made, loudest = levels
    assert as_made - softest > 8
    assert loudest - as_made > 3


@pytest.mark.timeout(400)  # a house of its own has to start
def test_the_machine_of_the_house_is_a_room_itself(
    sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    room = {"enabled": "true", "room": "kitchen"}
    room |= {"microphone": "pulse:kitchen_mic.monitor", "loudspeaker": "pulse:kitchen_out"}
    settings = {f"ATLAS_SATELLITE_{name.upper()}": value for name, value in room.items()}
    house = start_house(tmp_path, "", **sounds.environment, **settings)
    try:
        until(lambda: "room joined" in house.log.read_text(), 60, "its own room")
        with sounds.recording("kitchen_out", tmp_path / "kitchen.raw") as played:
            sounds.play(spoken("Okay Nabu, set a timer for ten minutes."), "kitchen_mic")
            until(lambda: "10 minutes" in words_of(house, played(), tmp_path), 60, "the house's answer in its room")
        assert house.json_of("ask", "how many timers are there")["tools"][0]["name"].startswith("timers.")
    finally:
        end_house(house)


def test_a_network_that_is_gone_for_five_seconds_costs_a_room_nothing(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(house, sounds, "kitchen", tmp_path) as kitchen:
        house.process.send_signal(signal.SIGSTOP)
        try:
            sounds.play(silence(3.0, RATE), "kitchen_mic")  # five seconds with what play adds
        finally:
            house.process.send_signal(signal.SIGCONT)
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, what time is it?"))
        kitchen.until("answering")
        kitchen.until("asleep")
        assert "disconnected" not in kitchen.log.read_text()


def test_a_satellite_that_dies_in_the_middle_of_a_sentence_harms_nobody(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(house, sounds, "kitchen", tmp_path) as kitchen:
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, what time is it?"))
        kitchen.process.kill()
    with satellite(house, sounds, "kitchen", tmp_path) as kitchen:
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, what time is it?"))
        kitchen.until("answering")
        kitchen.until("asleep")
    assert house.health()
