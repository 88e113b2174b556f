"""A microphone that is a program: its sound comes whole, and when it goes away it is opened again."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from atlas.audio import AudioChunk
from atlas.satellite import sound_devices
from atlas.satellite.settings import SoundDevice
from atlas.satellite.sound_devices import Microphone

SOUND = bytes(range(256)) * 50  # 0.4 s


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `parec` of our own, first in the path: it plays a file and ends."""
    (tmp_path / "sound.raw").write_bytes(SOUND)
    program = tmp_path / "parec"
    program.write_text(f"#!/bin/sh\ncat {tmp_path}/sound.raw\necho 'gone again' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return program


@pytest.mark.anyio
async def test_a_microphone_that_goes_away_is_opened_again_and_time_goes_on(
    recorder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[AudioChunk] = []
    with anyio.move_on_after(20) as scope:

        def hear(chunk: AudioChunk) -> None:
            heard.append(chunk)
            if b"".join(one.pcm for one in heard).count(SOUND) == 2:
                scope.cancel()

        await Microphone(SoundDevice(), "pulse").run(hear)
    assert b"".join(one.pcm for one in heard) == SOUND + bytes(16_000) + SOUND, "half a second passed between"
    assert "gone again" in caplog.text


@pytest.mark.anyio
async def test_a_mistake_of_who_hears_ends_the_satellite_and_not_its_hearing_alone(recorder: Path) -> None:
    def hear(chunk: AudioChunk) -> None:
        raise ZeroDivisionError

    with anyio.fail_after(20), pytest.raises(ZeroDivisionError):
        await Microphone(SoundDevice(), "pulse").run(hear)


@pytest.mark.anyio
async def test_a_microphone_that_is_left_leaves_no_program_and_no_pipe_behind(recorder: Path) -> None:
    await anyio.Path(recorder).write_text("#!/bin/sh\nexec cat /dev/zero\n")
    before = len(os.listdir("/proc/self/fd"))
    with anyio.move_on_after(0.3) as scope:
        await Microphone(SoundDevice(), "pulse").run(lambda chunk: None)
    assert scope.cancelled_caught
    assert len(os.listdir("/proc/self/fd")) <= before


STEADY = "i=0; while [ $i -lt 30 ]; do head -c 1920 /dev/zero; sleep 0.05; i=$((i+1)); done; sleep 9"
STEADY_BYTES = 30 * 1920


@pytest.mark.anyio
async def test_a_microphone_in_a_quiet_room_is_looked_at_seldom_and_nothing_of_it_is_lost(recorder: Path) -> None:
    await anyio.Path(recorder).write_text(f"#!/bin/sh\n{STEADY}\n")
    looks, sizes = [0.0], list[int]()
    with anyio.move_on_after(20) as scope:

        def hear(chunk: AudioChunk) -> bool:
            sizes.append(len(chunk.pcm))
            if anyio.current_time() - looks[-1] > 0.02:
                looks.append(anyio.current_time())
            if sum(sizes) == STEADY_BYTES:
                scope.cancel()
            return True

        await Microphone(SoundDevice(), "pulse").run(hear)
    assert sum(sizes) == STEADY_BYTES
    most = (looks[-1] - looks[1]) / sound_devices.REST_SECONDS + 3  # the first two, and the last before it ends
    assert len(looks) <= most, "of 30 chunks, each with 50 ms behind it"
    assert max(sizes) < 3_000, "how loud each moment is counts, also of those that waited"


@pytest.mark.anyio
async def test_before_something_is_played_a_microphone_that_rests_is_heard(
    recorder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sound_devices, "REST_SECONDS", 60.0)
    monkeypatch.setattr(sound_devices, "READ_BYTES", 10_000_000)
    await anyio.Path(recorder).write_text(f"#!/bin/sh\n{STEADY}\n")
    microphone, heard = Microphone(SoundDevice(), "pulse"), 0

    def hear(chunk: AudioChunk) -> bool:
        nonlocal heard
        heard += len(chunk.pcm)
        return True

    async def until(least: int) -> None:
        with anyio.fail_after(20):
            while heard < least:  # noqa: ASYNC110
                await anyio.sleep(0.005)

    async with anyio.create_task_group() as tasks:
        microphone.attend()  # also before it is open
        tasks.start_soon(microphone.run, hear)
        await until(1)
        before = heard
        await anyio.sleep(0.2)
        assert heard == before
        microphone.attend()
        await until(before + 1)
        tasks.cancel_scope.cancel()
