"""What a room must survive: a death in mid-sentence, a line that is cut, a house that dies while it rings."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atlas.audio import AudioChunk
from tests.journeys.conftest import Running, running_house, start, until
from tests.journeys.sound_rooms import Satellite, SoundServer, Wire, satellite, words_of

pytestmark = [
    pytest.mark.usefixtures("timers_end"),
    pytest.mark.real,
    pytest.mark.timeout(400),  # they wait for real rings, rooms and restarts
    pytest.mark.skipif(not shutil.which("pulseaudio"), reason="no sound server here: apt install pulseaudio"),
]
LINE_SECONDS = 5.0  # that the Wi-Fi is gone


@pytest.fixture
def wire(house: Running) -> Iterator[Wire]:
    line = Wire(house.port)
    yield line
    line.close()


def gone_for_five_seconds(line: Wire) -> None:
    line.cut()
    time.sleep(LINE_SECONDS)
    line.mend()


def is_answered(house: Running, sounds: SoundServer, room: Satellite, sentence: AudioChunk, folder: Path) -> str:
    """Ask in the kitchen; return what was played there."""
    with sounds.recording("kitchen_out", folder / "again.raw") as played:
        room.is_called(sounds, "kitchen_mic", sentence)
        room.until("answering")
        room.until("asleep")
        return words_of(house, played(), folder)


def test_a_satellite_that_is_killed_in_the_middle_of_a_sentence_leaves_no_half_deed_and_is_missed_in_the_log(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with (
        satellite(house, sounds, "kitchen", tmp_path) as kitchen,
        sounds.playing(
            spoken("Okay Nabu, set a timer for ten minutes and another one for half an hour."), "kitchen_mic"
        ),
    ):
        kitchen.until("woken")
        kitchen.process.kill()
        until(lambda: "room left device='kitchen pi'" in house.log.read_text(), 30, "its leaving in the log")
    assert "no timers" in house.json_of("ask", "how many timers are there")["reply"].lower()
    with satellite(house, sounds, "kitchen", tmp_path) as kitchen:
        assert is_answered(house, sounds, kitchen, spoken("Okay Nabu, what time is it?"), tmp_path)


def test_what_somebody_says_while_the_line_is_cut_is_done_once_when_it_is_there_again(
    house: Running, sounds: SoundServer, wire: Wire, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(house, sounds, "kitchen", tmp_path, url=wire.url) as kitchen:
        with sounds.playing(
            spoken("Okay Nabu, set a timer for ten minutes and another one for half an hour."), "kitchen_mic"
        ):
            kitchen.until("woken")
            gone_for_five_seconds(wire)
        kitchen.until("disconnected")
        kitchen.until("connected")
        kitchen.until("the line broke while somebody spoke")
        kitchen.until("answering")
        kitchen.until("asleep")
        assert "2 timers" in house.json_of("ask", "how many timers are there")["reply"].lower()
        assert is_answered(house, sounds, kitchen, spoken("Okay Nabu, what time is it?"), tmp_path)


def test_a_line_that_is_cut_in_the_middle_of_an_answer_ends_it_and_is_there_again_for_the_next_sentence(
    house: Running, sounds: SoundServer, wire: Wire, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(house, sounds, "kitchen", tmp_path, url=wire.url) as kitchen:
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, what can you do?"))
        kitchen.until("answering")
        gone_for_five_seconds(wire)
        kitchen.until("disconnected")
        kitchen.until("asleep")
        kitchen.until("connected")
        assert is_answered(house, sounds, kitchen, spoken("Okay Nabu, what time is it?"), tmp_path)


def test_what_is_answered_to_a_question_while_the_line_is_cut_is_taken_when_it_is_there_again(
    house: Running, sounds: SoundServer, wire: Wire, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(house, sounds, "kitchen", tmp_path, url=wire.url) as kitchen:
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, set a timer."))
        kitchen.until("listening")
        wire.cut()
        kitchen.until("disconnected")
        sounds.play(spoken("For ten minutes, please."), "kitchen_mic")
        wire.mend()
        kitchen.until("connected")
        kitchen.until("answering")
        kitchen.until("asleep")
        assert "10 minute" in house.json_of("ask", "which timers are there")["reply"].lower()


def test_two_timers_ring_in_two_rooms_and_who_stops_one_leaves_the_other_ringing(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with (
        satellite(house, sounds, "kitchen", tmp_path) as kitchen,
        satellite(house, sounds, "attic", tmp_path) as attic,
        sounds.recording("attic_out", tmp_path / "attic.raw") as played,
    ):
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, set a timer for thirty seconds."))
        kitchen.until("asleep")
        attic.is_called(sounds, "attic_mic", spoken("Okay Nabu, set a timer for twenty seconds."))
        attic.until("asleep")
        set_at = played().samples
        for room in (kitchen, attic):
            room.until("ringing")
        kitchen.process.send_signal(signal.SIGUSR2)
        kitchen.until("silent")
        attic.until("ringing")
        attic.process.send_signal(signal.SIGUSR2)
        attic.until("silent")
        assert "timer is done" in words_of(house, played().cut(set_at), tmp_path)
        assert " I ringing" not in "\n".join(kitchen.log.read_text().splitlines()[kitchen.seen :])


@pytest.fixture
def mortal() -> Iterator[Running]:
    """A house of this test's own."""
    with running_house() as running:
        yield running


def test_a_timer_rings_on_in_its_room_when_the_house_is_killed_and_by_the_house_once_it_is_back(
    mortal: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(mortal, sounds, "kitchen", tmp_path) as kitchen:
        kitchen.is_called(sounds, "kitchen_mic", spoken("Okay Nabu, set a timer for ten seconds."))
        kitchen.until("ringing")
        until(lambda: " rings in kitchen pi, time 1" in mortal.log.read_text(), 30, "that it was played")
        mortal.process.kill()
        mortal.process.wait()
        kitchen.until("disconnected")
        kitchen.until("ringing")  # the room, by itself
        again = start(mortal.data, mortal.port)
        mortal.process = again.process
        kitchen.until("connected")
        kitchen.until("ringing", 30)
        kitchen.until("answering")
        kitchen.process.send_signal(signal.SIGUSR2)
        kitchen.until("silent")
        until(lambda: " was heeded" in mortal.log.read_text(), 30, "that somebody stopped it")
        assert "no timers" in mortal.json_of("ask", "how many timers are there")["reply"].lower()
