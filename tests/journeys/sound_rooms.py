"""A sound server whose microphones and loudspeakers are none, and satellites that hear and play through it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from atlas.audio import AudioChunk, silence
from tests.journeys.conftest import ROOT, Running, until, write_wav

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
    def playing(self, sound: AudioChunk, microphone: str) -> Iterator[None]:
        """Say something into a room while the block does something else."""
        command = ["pacat", "--playback", f"--device={microphone}", "--raw", "--format=s16le", f"--rate={RATE}"]
        with subprocess.Popen([*command, "--channels=1"], stdin=subprocess.PIPE, env=self.environment) as player:
            assert player.stdin
            player.stdin.write((silence(0.5, RATE) + sound + silence(1.5, RATE)).pcm)
            player.stdin.close()
            yield

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
            "--latency-msec=50",
        ]
        with file.open("wb") as out, subprocess.Popen(command, stdout=out, env=self.environment) as recorder:
            try:
                yield lambda: AudioChunk(file.read_bytes()[: file.stat().st_size // 2 * 2], RATE)
            finally:
                recorder.terminate()


@contextmanager
def sound_server() -> Iterator[SoundServer]:
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

    def is_called(self, sounds: SoundServer, microphone: str, call: AudioChunk) -> None:
        """Say something to its wake word; like a person, say it again where it was not heard, twice at most.

        Which share of calls wakes a room is tested elsewhere, without a sound server that drops what a busy machine is
        late for.
        """
        for _ in range(2):
            sounds.play(call, microphone)
            with suppress(AssertionError):
                until(lambda: any(" I woken" in line for line in self._unseen()), 6, "its waking")
                break
        else:
            sounds.play(call, microphone)
        self.until("woken", 10)

    def _unseen(self) -> list[str]:
        return self.log.read_text().splitlines()[self.seen :]

    def until(self, event: str, seconds: float = 60) -> None:
        """Wait for an event that was not waited for yet."""

        def happened() -> bool:
            lines = self.log.read_text().splitlines()
            for number, line in enumerate(lines[self.seen :], self.seen + 1):
                if f" I {event}" in line:
                    self.seen = number
                    return True
            return False

        try:
            until(happened, seconds, f"{event} of the satellite")
        except AssertionError as missed:
            self.process.send_signal(signal.SIGABRT)  # its last words are where each of its threads stands
            self.process.wait(10)
            raise AssertionError(f"{missed}: {self.log.read_text()[-4000:]}") from None


@contextmanager
def satellite(
    house: Running, sounds: SoundServer, room: str, folder: Path, *more: str, url: str = ""
) -> Iterator[Satellite]:
    house.atlas("token", "revoke", f"{room} pi")
    token = house.new_token(f"{room} pi", "satellite", "--room", room)
    command = [
        *(sys.executable, "-m", "atlas.satellite", "--house", url or house.url, "--room", room, *more),
        *("--microphone", f"pulse:{room}_mic.monitor", "--loudspeaker", f"pulse:{room}_out"),
    ]
    log = folder / f"{room}.log"
    environment = {**sounds.environment, "ATLAS_TOKEN": token, "PYTHONFAULTHANDLER": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=ROOT)
    try:
        here = Satellite(process, log)
        here.until("connected")
        yield here
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


class Wire:
    """A line between a satellite and its house that somebody can cut."""

    def __init__(self, port: int) -> None:
        self._house = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        """Break every connection, and let none be made."""
        self._is_cut = True
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._is_cut:
                    near.close()
                    continue
                far = socket.create_connection(self._house)
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(65_536):
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def words_of(house: Running, sound: AudioChunk, folder: Path) -> str:
    if not sound.samples:  # nothing was played yet
        return ""
    wav = write_wav(folder / "played.wav", sound)
    return house.client().audio.transcriptions.create(model="whisper-1", file=wav).text.lower()


def loud(sound: AudioChunk) -> bool:
    samples = (int.from_bytes(sound.pcm[at : at + 2], "little", signed=True) for at in range(0, len(sound.pcm), 2))
    return any(abs(sample) > 300 for sample in samples)
