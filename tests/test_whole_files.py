"""A file that is written whole is there whole, or is what it was."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SmallDisk
from wall.files import delete_drafts, write_whole


def test_it_takes_the_place_of_what_was_there_and_is_its_owners_alone(data: Path) -> None:
    file = data / "key.pem"
    file.write_bytes(b"old")
    file.chmod(0o644)
    write_whole(file, b"new")
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    write_whole(file, b"for all", 0o644)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert [one.name for one in data.iterdir()] == ["key.pem"]


def test_on_a_full_disk_it_is_what_it_was_and_no_draft_is_left(small_disk: SmallDisk) -> None:
    file = small_disk.folder / "taught.json"
    write_whole(file, b"old")
    small_disk.fill()
    before = {one.name for one in small_disk.folder.iterdir()}
    with pytest.raises(OSError, match="space"):
        write_whole(file, b"new" * 10_000)
    assert file.read_bytes() == b"old"
    assert {one.name for one in small_disk.folder.iterdir()} == before


def test_of_two_that_make_a_file_the_first_one_counts(data: Path) -> None:
    file = data / "key.pem"
    write_whole(file, b"first", replace=False)
    write_whole(file, b"second", replace=False)
    assert file.read_bytes() == b"first"
    assert [one.name for one in data.iterdir()] == ["key.pem"]


def test_the_folder_is_synced_after_the_file_was_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, bool]] = []
    fsync = os.fsync

    def noting(number: int) -> None:
        place = Path(f"/proc/self/fd/{number}").readlink()
        synced.append(("folder" if place.is_dir() else "file", (data / "head").exists()))
        fsync(number)

    monkeypatch.setattr(os, "fsync", noting)
    write_whole(data / "head", b"12")
    assert synced == [("file", False), ("folder", True)]


WRITES_FOR_EVER = """
import os, sys
from pathlib import Path
from wall.files import write_whole

def hang(number):
    print("written", flush=True)
    sys.stdin.read()

os.fsync = hang
write_whole(Path(sys.argv[1]), b"hunter2")
"""


def test_the_draft_of_a_writer_that_was_killed_is_deleted_and_no_other(data: Path) -> None:
    (data / "settings").mkdir()
    for name in (".hidden", "settings/.env.py", "mail.a1b2c3d4"):
        (data / name).write_text("no draft")
    before = set(data.rglob("*"))
    command = [sys.executable, "-c", WRITES_FOR_EVER, str(data / "settings" / "mail-password")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        (draft,) = set(data.rglob("*")) - before
        delete_drafts(data)
        assert draft.read_bytes() == b"hunter2", "whoever still writes is not disturbed"
        writer.kill()
    delete_drafts(data)
    assert set(data.rglob("*")) == before
