"""The sounds of messages on the disk: whole or not at all, over `kill -9`, and gone when they are deleted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from atlas.audio import AudioChunk
from atlas.errors import StoreError
from atlas.speech.message_sounds import MOST_FILES, MessageSounds
from tests.scripted_vad import voice

ID = "message_0123456789abcdef"
# Writes sounds without end and says which ones it has acknowledged.
WRITER = """
import sys, anyio
from pathlib import Path
from atlas.speech.message_sounds import MessageSounds
from tests.scripted_vad import voice
async def main():
    sounds = MessageSounds(Path(sys.argv[1]))
    for number in range(90):
        await sounds.put(f"message_{number:016x}", voice(1.0 + number / 100))
        print(number, flush=True)
anyio.run(main)
"""


def killed_while_it_writes(folder: Path) -> list[int]:
    """Return what a process had acknowledged when it was killed."""
    with subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        acknowledged = [int(writer.stdout.readline()) for _ in range(5)]
        writer.send_signal(signal.SIGKILL)
        return acknowledged + [int(line) for line in writer.stdout.read().split()]


async def test_a_sound_is_there_again_after_a_restart_and_gone_when_it_was_deleted(tmp_path: Path) -> None:
    await MessageSounds(tmp_path / "m").put(ID, voice(1.5))
    again = MessageSounds(tmp_path / "m")
    sound = await again.get(ID)
    assert sound and sound.pcm == voice(1.5).pcm
    assert await again.seconds(ID) == 1.5
    assert await again.ids("message") == {ID}
    await again.drop(ID)
    assert (await again.get(ID), await again.seconds(ID), await again.ids("message")) == (None, 0.0, set())


async def test_every_acknowledged_sound_survives_kill_9_and_no_other_is_taken_for_one(tmp_path: Path) -> None:
    acknowledged = killed_while_it_writes(tmp_path)
    sounds = MessageSounds(tmp_path)
    for number in acknowledged:
        sound = await sounds.get(f"message_{number:016x}")
        assert sound and sound.pcm == voice(1.0 + number / 100).pcm
    for id in await sounds.ids("message"):
        await sounds.drop(id)
    assert os.listdir(tmp_path) == [], "also what was half written"


@pytest.mark.parametrize("id", ["../../etc/passwd", "message_", "note_0123456789abcdef", "message_0123/456789abcdef"])
async def test_no_name_leads_out_of_the_folder(tmp_path: Path, id: str) -> None:
    sounds = MessageSounds(tmp_path / "m")
    with pytest.raises(StoreError):
        await sounds.put(id, voice(1.0))
    assert (await sounds.get(id), await sounds.seconds(id)) == (None, 0.0)
    await sounds.drop(id)


async def test_there_are_bounds_on_length_and_count(tmp_path: Path) -> None:
    sounds = MessageSounds(tmp_path)
    with pytest.raises(StoreError):
        await sounds.put(ID, AudioChunk(bytes(16_000 * 2 * 62)))
    for number in range(MOST_FILES):
        (tmp_path / f"message_{number:016x}.wav").touch()
    with pytest.raises(StoreError):
        await sounds.put(ID, voice(1.0))


async def test_a_damaged_sound_is_none(tmp_path: Path) -> None:
    (tmp_path / f"{ID}.wav").write_bytes(b"RIFF and nothing more")
    assert await MessageSounds(tmp_path).get(ID) is None
