"""The machine's microphone and loudspeaker, by programs that every Linux has: parec and pacat, arecord and aplay.

They install from every distribution on every processor, talk to PipeWire, PulseAudio and ALSA alike, and one that dies
takes nothing with it: a library in our process needs PortAudio beside it, and hangs with its sound server.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from io import FileIO
from itertools import pairwise

import anyio
from anyio.abc import Process

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk, silence
from atlas.errors import EngineError
from atlas.satellite.settings import SoundDevice
from atlas.speech.resample import Resampler, mono

CHUNK_SECONDS = 0.04  # read at a time: 25 times a second costs little, and nobody notices it
LATENCY_MILLISECONDS = 60  # that the sound server buffers: more is heard as slowness, less as crackling
WAIT_SECONDS = (0.5, 1.0, 2.0, 5.0)  # before a microphone that went away is opened again
READ_BYTES = 65_536  # at once: a second and more, after a moment in which the machine was busy; as much as a pipe holds
# In a quiet room sound waits in the pipe: each look costs more than what is looked at. A wake word lasts twice as long.
REST_SECONDS = 0.25
PIPE_BYTES = 4096  # between us and the player: what is in the pipe cannot be taken back
DRAIN_SECONDS = 1.0  # for the last of what was written
ASK_SECONDS = 3.0  # for a sound server's answer
Command = Callable[[str, int, int], list[str]]  # of a device's name, rate and channels
RECORDERS: dict[str, Command] = {
    "pulse": lambda name, rate, channels: [
        *("parec", "--raw", "--format=s16le", f"--rate={rate}", f"--channels={channels}"),
        *(f"--latency-msec={LATENCY_MILLISECONDS}", "--client-name=atlas", *([f"--device={name}"] if name else [])),
    ],
    "alsa": lambda name, rate, channels: [
        *("arecord", "-q", "-t", "raw", "-f", "S16_LE", "-r", str(rate), "-c", str(channels)),
        *("--buffer-time=400000", "--period-time=40000", "-D", name or "default"),
    ],
}
PLAYERS: dict[str, Command] = {
    # The role has a sound server that can (module-role-ducking) turn music down while the house speaks.
    "pulse": lambda name, rate, channels: [
        *("pacat", "--playback", "--raw", "--format=s16le", f"--rate={rate}", f"--channels={channels}"),
        *(f"--latency-msec={LATENCY_MILLISECONDS}", "--client-name=atlas", "--property=media.role=phone"),
        *([f"--device={name}"] if name else []),
    ],
    "alsa": lambda name, rate, channels: [
        *("aplay", "-q", "-t", "raw", "-f", "S16_LE", "-r", str(rate), "-c", str(channels)),
        *("--buffer-time=120000", "--period-time=20000", "-D", name or "default"),
    ],
}
log = logging.getLogger("atlas")


def sound_system() -> str:
    """Return which sound system this machine has. Raises `EngineError` when there is no program to reach any."""
    if shutil.which("parec") and shutil.which("pactl"):
        with suppress(subprocess.TimeoutExpired):
            completed = subprocess.run(["pactl", "info"], capture_output=True, timeout=ASK_SECONDS, check=False)  # noqa: S607
            if completed.returncode == 0:
                return "pulse"
    if shutil.which("arecord"):
        return "alsa"
    raise EngineError(
        "there is no program to hear or play sound with",
        hint="install one: apt install alsa-utils, or pulseaudio-utils where PipeWire or PulseAudio runs",
    )


class Microphone:
    """One microphone, heard for ever: one that goes away is opened again."""

    def __init__(self, device: SoundDevice, system: str) -> None:
        self._rate = device.rate or HEARING_RATE
        self._channels = device.channels
        self._command = RECORDERS[device.system or system](device.name, self._rate, self._channels)
        self._pipe: _Pipe | None = None

    def attend(self) -> None:
        """Hear at once what was recorded up to now: what is played next is not in it."""
        if self._pipe:
            self._pipe.attend()

    async def run(self, hear: Callable[[AudioChunk], bool | None]) -> None:
        """Give every chunk at `HEARING_RATE`, mono, to `hear`, until cancelled.

        Where that returns that the room is quiet, those that follow may come together, `REST_SECONDS` later.
        """
        failures = 0
        while True:
            heard, last_words = await self._once(hear)
            failures = 0 if heard else failures + 1
            wait = WAIT_SECONDS[min(failures, len(WAIT_SECONDS) - 1)]
            log.warning("the microphone went away, opened again in %.1f s: %s", wait, last_words or "no word from it")
            await anyio.sleep(wait)
            hear(silence(wait))  # for time goes on: what is to ring here rings

    async def _once(self, hear: Callable[[AudioChunk], bool | None]) -> tuple[bool, str]:
        """Hear it until it goes away; return whether anything came of it, and its last words."""
        resampler, rest, is_heard, is_quiet = Resampler(self._rate, HEARING_RATE), b"", False, False
        frame_bytes = SAMPLE_BYTES * self._channels
        second_bytes = self._rate * frame_bytes

        def take(data: bytes) -> bool:
            nonlocal rest, is_heard, is_quiet
            rest += data
            frames = len(rest) // frame_bytes
            if frames >= CHUNK_SECONDS * self._rate:
                data, rest, is_heard = rest[: frames * frame_bytes], rest[frames * frame_bytes :], True
                count = max(1, round(frames / self._rate / (LATENCY_MILLISECONDS / 1000)))
                starts = [at * frames // count * frame_bytes for at in range(count + 1)]
                for start, end in pairwise(starts):  # as they come while nothing waits: how loud each is counts
                    chunk = AudioChunk(mono(data[start:end], self._channels), self._rate)
                    is_quiet = bool(hear(resampler.feed(chunk)))
            return is_quiet

        reading, writing = _pipe()
        with reading, writing:
            async with _program(self._command, stdout=writing.fileno()) as process:
                writing.close()
                rest_seconds = min(REST_SECONDS, READ_BYTES / 2 / second_bytes)  # a pipe that is full loses sound
                self._pipe = _Pipe(reading.fileno(), take, rest_seconds)
                await self._pipe.read()
                return is_heard, await _last_words(process)


class _Pipe:
    """Gives what comes out of a pipe to `take`, and rests where that says that there is time.

    Straight from the event loop: a task that is woken for each chunk costs half as much again, all day long.
    """

    def __init__(self, pipe: int, take: Callable[[bytes], bool], rest_seconds: float) -> None:
        self._pipe = pipe
        self._take = take
        self._rest_seconds = rest_seconds
        self._loop = asyncio.get_running_loop()
        self._over = self._loop.create_future()
        self._rest: asyncio.TimerHandle | None = None

    async def read(self) -> None:
        """Read until its other end is closed."""
        os.set_blocking(self._pipe, False)
        self._wait()
        try:
            await self._over
        finally:
            self._stop()

    def attend(self) -> None:
        """Read at once, if it rests."""
        if self._rest:
            self._stop()
            self._wait()
            self._ready()

    def _wait(self) -> None:
        self._rest = None
        self._loop.add_reader(self._pipe, self._ready)

    def _stop(self) -> None:
        self._loop.remove_reader(self._pipe)
        if self._rest:
            self._rest.cancel()
            self._rest = None

    def _ready(self) -> None:
        try:
            data = os.read(self._pipe, READ_BYTES)
            if data:
                if self._take(data):
                    self._stop()
                    self._rest = self._loop.call_later(self._rest_seconds, self._wait)
                return
        except BlockingIOError:
            return
        except Exception as trouble:  # noqa: BLE001  # raised again by who waits in `read`
            self._over.set_exception(trouble)
        else:
            self._over.set_result(None)
        self._stop()


class Output:
    """An open loudspeaker. Whoever writes keeps the pace: it takes no more than a few dozen milliseconds at once."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    async def write(self, pcm: bytes) -> bool:
        """Play more; False when the loudspeaker is gone."""
        while pcm:
            try:
                pcm = pcm[os.write(self._pipe, pcm) :]
            except BlockingIOError:
                await anyio.wait_writable(self._pipe)
            except OSError:
                return False
        return True


class Loudspeaker:
    """One loudspeaker, open while there is something to play: an open one hisses and keeps a Pi awake."""

    def __init__(self, device: SoundDevice, system: str, rate: int) -> None:
        self.rate = rate
        self._command = PLAYERS[device.system or system](device.name, rate, 1)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Output]:
        """Open it; what was written is played to its end before it closes, unless cancelled."""
        reading, writing = _pipe()
        with reading, writing:
            os.set_blocking(writing.fileno(), False)
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
            async with _program(self._command, stdin=reading.fileno()) as process:
                reading.close()
                yield Output(writing.fileno())
                writing.close()
                with anyio.move_on_after(DRAIN_SECONDS):
                    await process.wait()


def _pipe() -> tuple[FileIO, FileIO]:
    """Return both ends of a pipe, to read and to write; each may be closed before its block ends."""
    reading, writing = os.pipe()
    return FileIO(reading, "r"), FileIO(writing, "w")


@asynccontextmanager
async def _program(
    command: list[str], *, stdin: int = subprocess.DEVNULL, stdout: int = subprocess.DEVNULL
) -> AsyncIterator[Process]:
    """Run a program inside the block; it never outlives it. Raises `EngineError` when there is none such."""
    try:
        process = await anyio.open_process(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.DEVNULL if stdout == subprocess.DEVNULL else subprocess.PIPE,
        )
    except OSError as trouble:
        raise EngineError(f"{command[0]} cannot be run: {trouble.strerror}") from trouble
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()
            await process.aclose()


async def _last_words(process: Process) -> str:
    assert process.stderr
    with anyio.move_on_after(0.5), suppress(anyio.EndOfStream, anyio.ClosedResourceError):
        return (await process.stderr.receive(2_000)).decode("utf-8", "replace").strip().replace("\n", " / ")
    return ""
