"""A satellite program of another hand in the kitchen: it is spoken to, the light goes on, and its speaker says so."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from atlas.audio import AudioChunk, silence
from tests.journeys.conftest import until, write_wav
from tests.journeys.test_wyoming import Lit, end_house, start_house
from tests.processes import free_port

pytestmark = pytest.mark.real
HERE = Path(__file__).parents[1] / "satellite"
VOICE_RATE = 22_050
SETTINGS = """
[tools.home.scripted]
file = "house.json"

[[wyoming.satellite]]
host = "127.0.0.1"
port = {port}
device = "kitchen satellite"
room = "kitchen"
"""


@pytest.fixture(scope="session")
def program() -> Path:
    """The folder of wyoming-satellite, whose library is an older one than ours, installed once for each lock file."""
    lock = HERE / "requirements.lock"
    folder = HERE / "site" / hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    if not (folder / "wyoming_satellite").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*command, "--target", str(folder), "-r", str(lock)], check=True, timeout=120)
    return folder


@dataclass
class Satellite:
    """The program, its microphone's folder, and what came out of its speaker."""

    process: subprocess.Popen[bytes]
    port: int
    folder: Path

    def hears(self, sound: AudioChunk) -> None:
        part = self.folder / "part"
        part.write_bytes(sound.pcm)
        part.rename(self.folder / "said.raw")

    def has_said(self) -> AudioChunk:
        out = self.folder / "speaker"
        pcm = out.read_bytes() if out.exists() else b""
        return AudioChunk(pcm[: len(pcm) // 2 * 2], VOICE_RATE)


def start_satellite(program: Path, folder: Path, port: int, *more: str) -> Satellite:
    microphone = f"{sys.executable} {HERE / 'microphone.py'} {folder}"
    speaker = f"sh -c 'cat >> {folder / 'speaker'}'"
    command = [sys.executable, "-m", "wyoming_satellite", "--uri", f"tcp://127.0.0.1:{port}", "--name", "kitchen"]
    command += ["--no-zeroconf", "--mic-command", microphone, "--snd-command", speaker, *more]
    with (folder / "satellite.log").open("ab") as log:
        environment = {**os.environ, "PYTHONPATH": str(program)}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    return Satellite(process, port, folder)


@pytest.fixture
def satellite(program: Path, tmp_path: Path) -> Iterator[Satellite]:
    running = start_satellite(program, tmp_path, free_port())
    yield running
    running.process.terminate()
    running.process.wait(10)


@pytest.fixture
def house(satellite: Satellite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lit]:
    running = start_house(tmp_path_factory.mktemp("house"), SETTINGS.format(port=satellite.port))
    until(lambda: "satellite connected" in running.log.read_text(), 30, "a satellite being connected")
    yield running
    end_house(running)


def words(house: Lit, sound: AudioChunk, folder: Path) -> str:
    """What came out of a speaker, heard by the house."""
    wav = write_wav(folder / "out.wav", sound)
    return house.client().audio.transcriptions.create(model="whisper-1", file=wav).text.lower()


def test_a_satellite_is_spoken_to_and_its_speaker_answers(
    house: Lit, satellite: Satellite, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    request = spoken("Okay Nabu!") + silence(0.4) + spoken("Turn on the kitchen light.") + silence(0.5)
    satellite.hears(silence(0.5) + request)
    until(house.is_lit, 30, "the light going on")
    until(lambda: satellite.has_said().seconds > 0.5, 30, "an answer")
    until(lambda: "device='kitchen satellite' agent=family path=command" in house.log.read_text(), 30, "the turn's end")
    until(lambda: "light" in words(house, satellite.has_said(), tmp_path), 30, "its speaker naming the light")

    house.json_of("ask", "set a 1 second timer", "--room", "kitchen")
    before = satellite.has_said().samples
    until(lambda: satellite.has_said().seconds - before / VOICE_RATE > 0.5, 30, "the timer being announced")
    until(
        lambda: "timer" in words(house, satellite.has_said().cut(before), tmp_path), 20, "its speaker naming the timer"
    )


def test_a_satellite_that_comes_back_is_called_again(
    house: Lit, satellite: Satellite, program: Path, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    satellite.hears(silence(0.5) + spoken("Okay Nabu!") + spoken("What time"))
    satellite.process.kill()  # in the middle of a sentence
    satellite.process.wait()
    until(lambda: "satellite gone" in house.log.read_text(), 30, "the house noticing it")
    satellite.process = start_satellite(program, tmp_path, satellite.port).process
    until(lambda: house.log.read_text().count("satellite connected") == 2, 30, "its being called again")
    satellite.hears(silence(0.5) + spoken("Okay Nabu!") + silence(0.4) + spoken("Turn on the kitchen light."))
    until(house.is_lit, 30, "the light going on")
