"""A microphone that is a program: its sound comes whole, and when it goes away it is opened again."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from atlas.audio import AudioChunk
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
