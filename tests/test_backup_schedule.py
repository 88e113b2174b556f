"""A house makes its own backup every day, deletes its own old ones alone, and says why one was not made."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from atlas.backup_schedule import AGAIN_SECONDS, is_due, look, make_backup
from atlas.cli.doctor import examine
from atlas.cli.keys import prepare_folders
from atlas.config import BackupConfig, Config
from atlas.errors import StoreError
from atlas.store import backup
from tests.conftest import for_every

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp()


@for_every(
    ("now", "made", "due"),
    [
        ("2026-11-24T03:00", "2026-11-23T03:00", True),
        ("2026-11-24T02:59", "2026-11-23T03:00", False),
        ("2026-11-24T12:00", "2026-11-24T03:01", False),
        ("2026-11-24T01:00", "2026-11-22T03:00", True),
        ("2026-11-24T12:00", "2030-01-01T03:00", True),
        ("2026-10-25T03:00", "2026-10-24T03:00", True),
    ],
)
def test_a_backup_is_due_once_a_day_after_its_hour(now: str, made: str, due: bool) -> None:
    assert is_due(at(now), at(made), 3, BERLIN) is due


def test_the_first_backup_is_due_at_once() -> None:
    assert is_due(at("2026-11-24T12:00"), 0.0, 3, BERLIN)


@pytest.fixture
def wanted(config: Config, tmp_path: Path) -> Config:
    """A house that wants two backups of itself, with a disk for them."""
    prepare_folders(config)
    (config.data / "taught.json").write_text("{}")
    (tmp_path / "disk").mkdir()
    return dataclasses.replace(config, backup=BackupConfig(str(tmp_path / "disk"), retain=2))


def at_second(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(backup.time, "time", lambda: 1_790_000_000.0 + number)


def test_of_its_own_backups_as_many_stay_as_are_wanted_and_all_others(
    wanted: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    at_second(monkeypatch, 0)
    by_hand = backup.create(wanted, tmp_path / "disk")
    files = []
    for number in range(1, 5):
        at_second(monkeypatch, number)
        files.append(backup.create_daily(wanted, ""))
    assert sorted((tmp_path / "disk").iterdir()) == sorted([by_hand, *files[-2:]])


def test_an_old_backup_that_cannot_be_deleted_is_a_warning_and_the_new_one_counts_as_made(
    wanted: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = []
    for number in range(4):
        at_second(monkeypatch, number)
        files.append(backup.create_daily(wanted, ""))
        if number == 0:
            files[0].unlink()
            files[0].mkdir()  # which nobody deletes as a file
    last = backup.last_backup(wanted.data)
    assert last is not None
    assert last.daily_at == last.at == 1_790_000_003.0
    assert sorted((tmp_path / "disk").iterdir()) == [files[0], *files[-2:]]
    assert f"{files[0]} cannot be deleted: Is a directory" in caplog.text
    files[0].rmdir()
    files[0].write_text("a file again")
    at_second(monkeypatch, 4)
    files.append(backup.create_daily(wanted, ""))
    assert sorted((tmp_path / "disk").iterdir()) == files[-2:], "it is tried again each time"


def test_a_backup_is_known_as_made_before_older_ones_are_deleted(
    wanted: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = []
    for number in range(2):
        at_second(monkeypatch, number)
        files.append(backup.create_daily(wanted, ""))

    unlink = Path.unlink

    def killed(file: Path, missing_ok: bool = False) -> None:
        if file == files[0]:
            raise KeyboardInterrupt
        unlink(file, missing_ok)

    at_second(monkeypatch, 2)
    with monkeypatch.context() as dying:
        dying.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            backup.create_daily(wanted, "")
    last = backup.last_backup(wanted.data)
    assert last is not None
    assert last.daily_at == 1_790_000_002.0
    assert len(last.daily) == 3


def test_a_backup_that_fails_deletes_none(wanted: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number in range(2):
        at_second(monkeypatch, number)
        backup.create_daily(wanted, "")
    (wanted.data / "atlas.db").write_text("no database any more")
    at_second(monkeypatch, 2)
    with pytest.raises(StoreError):
        backup.create_daily(wanted, "")
    assert len(list((tmp_path / "disk").iterdir())) == 2


class Maker:
    """Makes backups as it is told to, and counts how often it was asked."""

    def __init__(self, *troubles: str) -> None:
        self.troubles = list(troubles)
        self.tries = 0

    async def __call__(self, config: Config) -> str:
        self.tries += 1
        if trouble := self.troubles.pop(0) if self.troubles else "":
            return trouble
        backup.create_daily(config, "")
        return ""


async def test_a_backup_that_failed_is_a_finding_and_is_tried_again_in_an_hour_until_it_is_made(wanted: Config) -> None:
    maker, now = Maker("the folder for backups is not there. Now: is its disk connected?"), 1_790_000_000.0
    for later in (0.0, 60.0, AGAIN_SECONDS + 1):
        await look(wanted, UTC, maker, lambda later=later: now + later)
        [finding] = [one for one in examine(wanted) if one.what == "backup"]
        assert ("disk connected" in finding.seen) == (later <= 60.0)
    assert maker.tries == 2
    assert backup.failed_backup(wanted.data) is None


async def test_a_house_that_wants_none_makes_none(config: Config) -> None:
    maker = Maker()
    await look(config, UTC, maker)
    assert maker.tries == 0


async def test_the_day_s_backup_is_made_by_a_process_and_is_whole(wanted: Config, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("four words on a card")
    (wanted.secrets / "house.key").write_text("the key")
    settings = wanted.data / "atlas.toml"
    settings.write_text(f'[backup]\nfolder = "{tmp_path / "disk"}"\npassphrase_file = "{words}"\n')
    config = dataclasses.replace(wanted, file=settings)
    assert await make_backup(config) == ""
    [file] = (tmp_path / "disk").iterdir()
    contents = backup.read(file)
    assert contents.secrets == "sealed"
    assert datetime.now(UTC) - datetime.fromtimestamp(contents.at, UTC) < timedelta(hours=1)
    await look(config, None, make_backup)  # it is made already
    assert list((tmp_path / "disk").iterdir()) == [file]


async def test_the_house_s_log_says_which_old_backup_its_process_could_not_delete(
    wanted: Config, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as earlier:
        at_second(earlier, 0)
        old = backup.create_daily(wanted, "")
    old.unlink()
    old.mkdir()
    settings = wanted.data / "atlas.toml"
    settings.write_text(f'[backup]\nfolder = "{tmp_path / "disk"}"\nretain = 1\n')
    assert await make_backup(dataclasses.replace(wanted, file=settings)) == ""
    assert f"{old} cannot be deleted: Is a directory" in caplog.text


async def test_a_disk_that_is_not_connected_gets_no_folder_on_the_house_s_own(wanted: Config, tmp_path: Path) -> None:
    settings = wanted.data / "atlas.toml"
    settings.write_text(f'[backup]\nfolder = "{tmp_path / "away"}"\n')
    trouble = await make_backup(dataclasses.replace(wanted, file=settings))
    assert "is its disk connected" in trouble
    assert not (tmp_path / "away").exists()
