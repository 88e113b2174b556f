"""linux-voice-assistant in the kitchen, a program of another hand: it is spoken to, the light goes on, it says so.

It is in no package index and plays by libmpv, so it is tested where somebody has it: LINUX_VOICE_ASSISTANT names a
checkout with its dependencies in .venv (`pip install aioesphomeapi netifaces2 soundcard pymicro-wakeword
pyopen-wakeword python-mpv zeroconf getmac websockets webrtc-noise-gain`; `apt install libmpv2`).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from atlas.audio import AudioChunk
from tests.journeys.conftest import until
from tests.journeys.sound_rooms import SoundServer, sound_server, words_of
from tests.journeys.test_wyoming import Lit, end_house, start_house
from tests.processes import free_port

CHECKOUT = Path(os.environ.get("LINUX_VOICE_ASSISTANT", "/nowhere"))
pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not CHECKOUT.is_dir(), reason="NOT TESTED: LINUX_VOICE_ASSISTANT names no checkout of it"),
    pytest.mark.skipif(not shutil.which("pulseaudio"), reason="no sound server here: apt install pulseaudio"),
]
SETTINGS = """
[tools.home.scripted]
file = "house.json"

[[esphome.device]]
host = "127.0.0.1"
port = {port}
device = "kitchen voice"
room = "kitchen"
wake_words = ["okay nabu", "hey jarvis"]
"""


@dataclass
class Assistant:
    """The running program, and what it said of itself."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int

    def tells(self, text: str, times: int = 1) -> Callable[[], bool]:
        return lambda: self.log.read_text(errors="replace").count(text) >= times


@contextmanager
def assistant(sounds: SoundServer, folder: Path, port: int) -> Iterator[Assistant]:
    subprocess.run(["pactl", "set-default-source", "kitchen_mic.monitor"], env=sounds.environment, check=True)
    command = [
        *(CHECKOUT / ".venv/bin/python", "-m", "linux_voice_assistant", "--debug", "--name", "kitchen"),
        *("--host", "127.0.0.1", "--port", str(port), "--audio-output-device", "pulse/kitchen_out"),
        *("--preferences-file", folder / "preferences.json", "--download-dir", folder, "--disable-peripheral-api"),
    ]
    environment = {name: value for name, value in sounds.environment.items() if name != "PYTHONPATH"}
    log = folder / "assistant.log"
    with log.open("wb") as out:
        process = subprocess.Popen([*map(str, command)], cwd=CHECKOUT, stdout=out, stderr=out, env=environment)
    try:
        yield Assistant(process, log, port)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(10)


@pytest.fixture(scope="module")
def sounds() -> Iterator[SoundServer]:
    with sound_server() as running:
        yield running


@pytest.fixture
def rooms(sounds: SoundServer, tmp_path: Path) -> Iterator[tuple[Lit, Assistant]]:
    port = free_port()
    more = {"ATLAS_ESPHOME_HOST": "127.0.0.1", "ATLAS_ESPHOME_PORT": str(free_port())}
    with assistant(sounds, tmp_path, port) as running:
        until(running.tells("Server started"), 60, "the assistant's start")
        house = start_house(tmp_path, SETTINGS.format(port=port), **more)
        try:
            until(lambda: "esphome device connected" in house.log.read_text(), 60, "the assistant being connected")
            yield house, running
        finally:
            end_house(house)


def test_it_is_spoken_to_and_answers_and_listens_on_after_a_question(
    rooms: tuple[Lit, Assistant], sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    house, running = rooms
    with sounds.recording("kitchen_out", tmp_path / "kitchen.raw") as played:
        sounds.play(spoken("Okay Nabu!"), "kitchen_mic")
        until(running.tells("audio streaming for"), 60, "its wake word being heard")
        sounds.play(spoken("Turn on the kitchen light."), "kitchen_mic")
        until(running.tells("TTS response finished"), 60, "its speaker having spoken")
        assert house.is_lit()
        until(lambda: "light" in words_of(house, played(), tmp_path), 60, "its speaker naming the light")

        sounds.play(spoken("Okay Nabu!"), "kitchen_mic")
        until(running.tells("audio streaming for", 2), 60, "its wake word being heard again")
        before = played().samples
        sounds.play(spoken("Set a timer."), "kitchen_mic")
        until(running.tells("Continued conversation started"), 60, "its listening on after a question")
        assert "how long" in words_of(house, played().cut(before), tmp_path)
        sounds.play(spoken("Turn off the kitchen light."), "kitchen_mic")
        until(running.tells("TTS response finished", 3), 60, "its answering without a wake word")
        assert not house.is_lit()


def test_it_announces_and_rings(rooms: tuple[Lit, Assistant], sounds: SoundServer, tmp_path: Path) -> None:
    house, running = rooms
    with sounds.recording("kitchen_out", tmp_path / "kitchen.raw") as played:
        assert house.atlas("announce", "dinner is ready", "--room", "kitchen").returncode == 0
        until(running.tells("TTS response finished"), 60, "its having played the announcement")
        until(lambda: "dinner" in words_of(house, played(), tmp_path), 60, "its speaker naming dinner")

        before = played().samples
        house.json_of("ask", "set a 2 second timer", "--room", "kitchen")
        until(running.tells("VOICE_ASSISTANT_TIMER_FINISHED"), 60, "its being told that a timer has ended")
        until(lambda: "timer" in words_of(house, played().cut(before), tmp_path), 60, "its speaker naming the timer")
    assert "did not take" not in house.log.read_text(), "what was played is known to have been"


def test_it_is_called_again_when_it_comes_back(
    rooms: tuple[Lit, Assistant], sounds: SoundServer, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    house, running = rooms
    sounds.play(spoken("Okay Nabu!"), "kitchen_mic")
    until(running.tells("audio streaming for"), 60, "its wake word being heard")
    running.process.kill()  # in the middle of a sentence
    until(lambda: "esphome device away" in house.log.read_text(), 60, "the house saying that it is gone")
    with assistant(sounds, tmp_path, running.port) as again:
        until(lambda: house.log.read_text().count("esphome device connected") == 2, 60, "its being called again")
        sounds.play(spoken("Okay Nabu!"), "kitchen_mic")
        until(again.tells("audio streaming for"), 60, "its wake word being heard")
        sounds.play(spoken("Turn on the kitchen light."), "kitchen_mic")
        until(again.tells("TTS response finished"), 60, "its speaker having spoken")
        assert house.is_lit()
