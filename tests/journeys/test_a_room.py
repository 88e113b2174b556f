"""A room of sound: a real satellite with a sound server's own microphone and loudspeaker, spoken to and listened to."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from atlas.audio import AudioChunk, silence
from tests.journeys.conftest import ROOT, Running, until, write_wav

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not shutil.which("pulseaudio"), reason="no sound server here: apt install pulseaudio"),
]
RATE = 16_000
SINK = "load-module module-null-sink sink_name={} rate={} channels={}\n"


@dataclass
class SoundServer:
    """A PulseAudio of its own: its loudspeakers play into nothing, its microphones hear what is played to them."""

    environment: dict[str, str]

    def play(self, sound: AudioChunk, *microphones: str) -> None:
        """Say something into rooms at once, until it is over."""
        pcm = (silence(0.5, RATE) + sound + silence(1.5, RATE)).pcm
        players = [
            subprocess.Popen(
                [
                    "pacat",
                    "--playback",
                    f"--device={name}",
                    "--raw",
                    "--format=s16le",
                    f"--rate={RATE}",
                    "--channels=1",
                ],
                stdin=subprocess.PIPE,
                env=self.environment,
            )
            for name in microphones
        ]
        for player in players:
            player.communicate(pcm, timeout=60)

    @contextmanager
    def recording(self, loudspeaker: str, file: Path) -> Iterator[Callable[[], AudioChunk]]:
        """Record what a room's loudspeaker plays inside the block."""
        command = [
            "parec",
            f"--device={loudspeaker}.monitor",
            "--raw",
            "--format=s16le",
            f"--rate={RATE}",
            "--channels=1",
        ]
        with file.open("wb") as out, subprocess.Popen(command, stdout=out, env=self.environment) as recorder:
            try:
                yield lambda: AudioChunk(file.read_bytes()[: file.stat().st_size // 2 * 2], RATE)
            finally:
                recorder.terminate()


@pytest.fixture(scope="module")
def sounds() -> Iterator[SoundServer]:
    folder = Path(tempfile.mkdtemp(prefix="sound-"))
    script = folder / "sinks.pa"
    script.write_text(
        "load-module module-native-protocol-unix\n"
        + SINK.format("kitchen_mic", 48_000, 2)
        + SINK.format("kitchen_out", 48_000, 2)
        + SINK.format("attic_mic", 16_000, 1)
        + SINK.format("attic_out", 48_000, 2)
    )
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "PULSE_RUNTIME_PATH": str(folder / "pulse")}
    command = ["pulseaudio", "-n", "-F", str(script), "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as server:
        until(
            lambda: subprocess.run(["pactl", "info"], env=environment, capture_output=True).returncode == 0, 20, "sound"
        )
        yield SoundServer(environment)
        server.terminate()
    shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Satellite:
    """A running satellite, and what it said of itself."""

    process: subprocess.Popen[bytes]
    log: Path
    seen: int = field(default=0)

    def until(self, event: str, seconds: float = 60) -> None:
        """Wait for an event that was not waited for yet."""

        def happened() -> bool:
            lines = self.log.read_text().splitlines()
            for number, line in enumerate(lines[self.seen :], self.seen + 1):
                if f" I {event}" in line:
                    self.seen = number
                    return True
            return False

        until(happened, seconds, f"{event} of the satellite: {self.log.read_text()[-800:]}")


@contextmanager
def satellite(house: Running, sounds: SoundServer, room: str, folder: Path, *more: str) -> Iterator[Satellite]:
    house.atlas("token", "revoke", f"{room} pi")
    made = house.atlas("token", "create", "--name", f"{room} pi", "--role", "satellite", "--room", room)
    command = [
        *(sys.executable, "-m", "atlas.satellite", "--house", house.url, "--room", room, *more),
        *("--microphone", f"pulse:{room}_mic.monitor", "--loudspeaker", f"pulse:{room}_out"),
    ]
    log = folder / f"{room}.log"
    environment = {**sounds.environment, "ATLAS_TOKEN": made.stdout.strip().splitlines()[-1]}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=ROOT)
    try:
        here = Satellite(process, log)
        here.until("connected")
        yield here
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def words_of(house: Running, sound: AudioChunk, folder: Path) -> str:
    if not sound.samples:  # nothing was played yet
        return ""
    wav = write_wav(folder / "played.wav", sound)
    return house.client().audio.transcriptions.create(model="whisper-1", file=wav).text.lower()


def loud(sound: AudioChunk) -> bool:
    return (
        max(abs(int.from_bytes(sound.pcm[at : at + 2], "little", signed=True)) for at in range(0, len(sound.pcm), 2))
        > 300
    )


def test_a_timer_that_is_set_in_one_breath_rings_in_its_room_and_in_no_other(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with (
        satellite(house, sounds, "kitchen", tmp_path, "--microphone-form", "48000x2") as kitchen,
        satellite(house, sounds, "attic", tmp_path),
        sounds.recording("kitchen_out", tmp_path / "kitchen.raw") as played,
        sounds.recording("attic_out", tmp_path / "attic.raw") as elsewhere,
    ):
        sounds.play(spoken("Okay Nabu, set a timer for ten seconds."), "kitchen_mic")
        kitchen.until("asleep")
        assert "10 seconds" in words_of(house, played(), tmp_path)
        set_at = played().samples
        kitchen.until("ringing")
        kitchen.until("asleep")
        assert "ended" in words_of(house, played().cut(set_at), tmp_path)
        assert not loud(elsewhere())


def test_a_timer_rings_although_the_house_has_died_and_is_not_told_again_once_somebody_stopped_it(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(house, sounds, "kitchen", tmp_path) as kitchen:
        sounds.play(spoken("Okay Nabu, set a timer for ten seconds."), "kitchen_mic")
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
        left = house.told("ask", "how many timers are there")
        assert "no timers" in left["reply"].lower(), left


def test_any_phrase_wakes_a_room_and_stop_silences_what_rings_there_without_it(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    models = ("--models", str(ROOT / "models"))
    with satellite(house, sounds, "kitchen", tmp_path, "--wake-word", "hey atlas", *models) as kitchen:
        sounds.play(spoken("Okay Nabu, set a timer for nine seconds."), "kitchen_mic")
        sounds.play(spoken("Hey Atlas, set a timer for ten seconds."), "kitchen_mic")
        kitchen.until("asleep", 20)  # it has answered
        kitchen.until("ringing")
        kitchen.until("answering")
        sounds.play(spoken("Stop!"), "kitchen_mic")
        kitchen.until("silent")
        left = house.told("ask", "how many timers are there")
        assert "no timers" in left["reply"].lower(), left


def test_stop_ends_a_timer_that_rings_by_itself_while_the_house_is_away(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    models = ("--models", str(ROOT / "models"))
    with satellite(house, sounds, "kitchen", tmp_path, "--wake-word", "hey atlas", *models) as kitchen:
        sounds.play(spoken("Hey Atlas, set a timer for ten seconds."), "kitchen_mic")
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
        left = house.told("ask", "how many timers are there")
        assert "no timers" in left["reply"].lower(), left


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
        before = elsewhere().samples
        house.atlas("announce", "--room", "kitchen", "The water is boiling.")
        kitchen.until("answering")
        until(lambda: "boiling" in words_of(house, played(), tmp_path), 30, "boiling water")
        assert not loud(elsewhere().cut(before))


def test_a_network_that_is_gone_for_five_seconds_costs_a_room_nothing(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(house, sounds, "kitchen", tmp_path) as kitchen:
        house.process.send_signal(signal.SIGSTOP)
        try:
            sounds.play(silence(3.0, RATE), "kitchen_mic")  # five seconds with what play adds
        finally:
            house.process.send_signal(signal.SIGCONT)
        sounds.play(spoken("Okay Nabu, what time is it?"), "kitchen_mic")
        kitchen.until("answering")
        kitchen.until("asleep")
        assert "disconnected" not in kitchen.log.read_text()


def test_a_satellite_that_dies_in_the_middle_of_a_sentence_harms_nobody(
    house: Running, sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    with satellite(house, sounds, "kitchen", tmp_path) as kitchen:
        sounds.play(spoken("Okay Nabu."), "kitchen_mic")
        kitchen.until("woken")
        kitchen.process.kill()
    with satellite(house, sounds, "kitchen", tmp_path) as kitchen:
        sounds.play(spoken("Okay Nabu, what time is it?"), "kitchen_mic")
        kitchen.until("answering")
        kitchen.until("asleep")
    assert house.health()
