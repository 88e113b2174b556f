"""Two rooms of sound for a house that is measured: satellites on a sound server of their own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.cli import door
from atlas.config import Config
from atlas.errors import EngineError
from atlas_bench._process import started

START_SECONDS = 60.0
SAID_SHARE = 0.6  # of a sentence, when its room or its line is cut off
EVENT = re.compile(r" I (\w+)")
SINK = "load-module module-null-sink sink_name={} rate=48000 channels={}\n"


@dataclass(slots=True)
class BenchRoom:
    """A room: its satellite, and what that said of itself."""

    name: str
    pid: int
    log: Path
    seen: int = 0

    async def until(self, event: str, seconds: float) -> bool:
        """Wait for an event that was not waited for yet; tell whether it came in time."""
        with anyio.move_on_after(seconds):
            while True:
                lines = self.log.read_text(encoding="utf-8").splitlines()
                for number, line in enumerate(lines[self.seen :], self.seen + 1):
                    if (match := EVENT.search(line)) and match[1] == event:
                        self.seen = number
                        return True
                await anyio.sleep(0.2)
        return False


@dataclass(slots=True)
class BenchRooms:
    """All rooms, and the microphones that something can be said into."""

    rooms: Sequence[BenchRoom]
    environment: dict[str, str]
    start: Callable[[BenchRoom], Awaitable[None]]

    async def cut_off(self, sound: AudioChunk, room: BenchRoom) -> None:
        """Kill a room's satellite in the middle of a sentence, and start it anew; returns when it is back."""
        await self.say(sound.cut(0, round(SAID_SHARE * sound.samples)), room, silent_seconds=0.0)
        os.kill(room.pid, signal.SIGKILL)
        await self.start(room)

    async def say(self, sound: AudioChunk, room: BenchRoom, *, silent_seconds: float = 1.0) -> None:
        """Say something in a room, and nothing for so long; returns when it is over."""
        pcm = (silence(0.5, HEARING_RATE) + sound + silence(silent_seconds, HEARING_RATE)).pcm
        command = ["pacat", "--playback", f"--device={room.name}_mic", "--raw", "--format=s16le"]
        await anyio.run_process([*command, f"--rate={HEARING_RATE}", "--channels=1"], input=pcm, env=self.environment)


@asynccontextmanager
async def rooms_of(house: Config, names: Sequence[str]) -> AsyncIterator[BenchRooms]:
    """Have a satellite in each of these rooms inside the block. Raises `EngineError` where no sound server is here."""
    if not shutil.which("pulseaudio"):
        raise EngineError("there is no sound server here", hint="apt install pulseaudio")
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="atlas-rooms-")))
        sinks = "".join(SINK.format(f"{name}_mic", 2) + SINK.format(f"{name}_out", 2) for name in names)
        (folder / "sinks.pa").write_text("load-module module-native-protocol-unix\n" + sinks, encoding="utf-8")
        runtime = {"XDG_RUNTIME_DIR": str(folder), "PULSE_RUNTIME_PATH": str(folder / "pulse")}
        environment = {**os.environ, **runtime}
        server = ["pulseaudio", "-n", "-F", str(folder / "sinks.pa"), "--daemonize=no", "--exit-idle-time=-1"]
        process = await anyio.open_process(
            [*server, "--use-pid-file=no"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        stack.push_async_callback(process.aclose)
        stack.callback(process.terminate)
        await _until_sound(environment)
        rooms = [BenchRoom(name, 0, folder / f"{name}.log") for name in names]
        start = partial(_start, stack, house, {name: await _token(house, name) for name in names}, environment)
        for room in rooms:
            await start(room)
        yield BenchRooms(rooms, environment, start)


async def _token(house: Config, name: str) -> str:
    atlas = [sys.executable, "-m", "atlas.cli.main", "token", "create", "--name", f"{name} pi"]
    data = {**os.environ, "ATLAS_DATA": str(house.data)}
    made = await anyio.run_process([*atlas, "--role", "satellite", "--room", name], env=data)
    return made.stdout.decode().strip().splitlines()[-1]


async def _start(
    stack: AsyncExitStack, house: Config, tokens: Mapping[str, str], environment: dict[str, str], room: BenchRoom
) -> None:
    """Start the satellite of a room, also after it was killed."""
    options = [
        *("--house", door.address(house), "--room", room.name),
        *("--microphone", f"pulse:{room.name}_mic.monitor", "--loudspeaker", f"pulse:{room.name}_out"),
    ]
    environment = {**environment, "ATLAS_TOKEN": tokens[room.name]}
    with room.log.open("ab") as out:
        process = await stack.enter_async_context(
            started("atlas.satellite", options, env=environment, stdout=out, stderr=out)
        )
    room.pid = process.pid
    if not await room.until("connected", START_SECONDS):
        words = room.log.read_text(encoding="utf-8")[-500:]
        raise EngineError(f"the satellite of {room.name!r} did not connect: {words}")


async def _until_sound(environment: dict[str, str]) -> None:
    with anyio.fail_after(START_SECONDS):
        while (await anyio.run_process(["pactl", "info"], env=environment, check=False)).returncode:  # noqa: ASYNC110
            await anyio.sleep(0.2)
