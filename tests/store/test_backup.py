"""A backup holds the house as it is at one moment, is whole or not there, and gives back what it holds."""

from __future__ import annotations

import dataclasses
import fcntl
import io
import json
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from atlas.cli import run
from atlas.cli.backup import main as backup_command
from atlas.cli.lock import only_one
from atlas.config import Config, load
from atlas.errors import ConfigError, StoreError
from atlas.store import backup
from atlas.store.backup_archive import MANIFEST, MOST_SECRET_BYTES, SEALED, unsealed_files
from atlas.store.backup_contents import ASIDE, JOURNAL, LAST_BACKUP, UNFINISHED
from tests.conftest import SmallDisk, for_every
from wall.chain import Chain, verify

PASSPHRASE = "four words on a card"
OTHER_FILES = {
    "family-agent-config/notes/kite.md": "# Kite\n",
    "messages/m1.wav": "RIFF",
    "taught.json": "{}",
    "wake_thresholds.json": "{}",
    "speaking_volumes.json": "{}",
    "atlas.toml": '[house]\nlanguage = "en"\n',
    "policy.toml": "# rules\n",
}
LEFT_OUT = ("run/tools.sock", "kept/llm/1.prefix", "house.log", "family-agent-config/.a.md.abcdefgh")


@pytest.fixture
def lived_in(tmp_path: Path) -> Config:
    """A data directory with all that a house writes."""
    data = tmp_path / "data"
    for name, text in OTHER_FILES.items() | dict.fromkeys(LEFT_OUT, "no").items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text)
    for name in ("atlas.db", "devices.db", "tools/tools.db"):
        (data / name).parent.mkdir(exist_ok=True)
        with closing(sqlite3.connect(data / name)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE words (side TEXT, words TEXT)")
            connection.execute("INSERT INTO words VALUES ('left', ?)", (name,))
            connection.commit()
    with closing(Chain(data / "tools" / "audit.jsonl", rotate_bytes=2_000)) as record:
        for number in range(40):
            record.append({"tool": "clock.time", "number": number})
    secrets = data / "secrets"
    (secrets / "settings").mkdir(parents=True)
    (secrets / "house.key").write_text("the key")
    (secrets / "settings" / "mail-password").write_text("hunter2")
    return load({"ATLAS_DATA": str(data)}, data / "atlas.toml")


def elsewhere(config: Config, tmp_path: Path, name: str = "other") -> Config:
    data = tmp_path / name
    (data / "run").mkdir(parents=True)
    return dataclasses.replace(config, data=data, file=data / "atlas.toml")


def files_of(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode("latin-1")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_what_a_house_wrote_is_given_back_and_nothing_that_is_made_anew(lived_in: Config, tmp_path: Path) -> None:
    file = backup.create(lived_in, tmp_path / "disk")
    other = elsewhere(lived_in, tmp_path)
    backup.restore(other, file)
    back = files_of(other.data)
    assert {name: back[name] for name in OTHER_FILES} == OTHER_FILES
    assert not [name for name in back if name in LEFT_OUT or "secrets" in name or name.endswith("-wal")]
    with closing(sqlite3.connect(other.data / "tools" / "tools.db")) as connection:
        assert connection.execute("SELECT words FROM words").fetchall() == [("tools/tools.db",)]
    verdict = verify(other.data / "tools" / "audit.jsonl")
    assert (verdict.rows, verdict.problems) == (40, ())
    assert os.listdir(tmp_path / "disk") == [file.name]
    assert file.stat().st_mode & 0o077 == 0


def test_a_house_is_not_backed_up_into_itself(lived_in: Config) -> None:
    for folder in (lived_in.data, lived_in.data.parent):
        with pytest.raises(StoreError, match="the house itself lies in"):
            backup.create(lived_in, folder)


def test_the_last_backup_is_known_and_is_no_part_of_the_next(lived_in: Config, tmp_path: Path) -> None:
    assert backup.last_backup(lived_in.data) is None
    file = backup.create(lived_in, tmp_path / "disk")
    last = backup.last_backup(lived_in.data)
    assert last is not None
    assert (last.file, last.bytes, last.secrets) == (str(file), file.stat().st_size, "none")
    again = backup.create(lived_in, tmp_path / "another disk")
    assert f"data/{LAST_BACKUP}" not in backup.read(again).files


def test_a_backup_that_another_is_just_making_is_said_in_a_sentence(lived_in: Config, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    with ExitStack() as drafts:
        for second in range(int(time.time()), int(time.time()) + 60):
            name = time.strftime(".atlas-%Y-%m-%dT%H-%M-%SZ.tar.partial", time.gmtime(second))
            fcntl.flock(drafts.enter_context((tmp_path / "disk" / name).open("wb")), fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="just being made"):
            backup.create(lived_in, tmp_path / "disk")
        assert len(os.listdir(tmp_path / "disk")) == 60


@contextmanager
def writing(config: Config) -> Iterator[None]:
    """Somebody writes both halves of a row in one transaction, and rows of the record, as fast as they can."""
    enough, begun = threading.Event(), threading.Event()

    def write() -> None:
        with (
            closing(sqlite3.connect(config.data / "atlas.db")) as connection,
            closing(Chain(config.tools_data / "audit.jsonl", rotate_bytes=2_000)) as record,
        ):
            while not enough.is_set():
                with connection:
                    connection.executemany("INSERT INTO words VALUES (?, 'x')", [("left",), ("right",)])
                record.append({"tool": "clock.time"}, durable=False)
                begun.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert begun.wait(10)
        yield
    finally:
        enough.set()
        thread.join()


def test_a_backup_of_a_house_that_is_written_to_is_of_one_moment(lived_in: Config, tmp_path: Path) -> None:
    with writing(lived_in):
        files = [backup.create(lived_in, tmp_path / f"disk{number}") for number in range(3)]
    for number, file in enumerate(files):
        other = elsewhere(lived_in, tmp_path, f"other{number}")
        backup.restore(other, file)
        with closing(sqlite3.connect(other.data / "atlas.db")) as connection:
            sides = dict(connection.execute("SELECT side, count(*) FROM words GROUP BY side").fetchall())
        assert sides["left"] - 1 == sides["right"] > 0
        assert verify(other.data / "tools" / "audit.jsonl").problems == ()


def test_secrets_are_sealed_plain_or_not_there_as_was_wanted(lived_in: Config, tmp_path: Path) -> None:
    sealed = backup.create(lived_in, tmp_path / "sealed", "sealed", PASSPHRASE)
    plain = backup.create(lived_in, tmp_path / "plain", "plain")
    none = backup.create(lived_in, tmp_path / "none")
    assert [b"hunter2" in file.read_bytes() for file in (sealed, plain, none)] == [False, True, False]
    assert plain.stat().st_mode & 0o077 == 0
    for number, (file, passphrase) in enumerate([(sealed, PASSPHRASE), (plain, "")]):
        other = elsewhere(lived_in, tmp_path, f"other{number}")
        backup.restore(other, file, passphrase)
        password = other.secrets / "settings" / "mail-password"
        assert password.read_text() == "hunter2"
        assert password.stat().st_mode & 0o077 == 0


def test_another_passphrase_opens_nothing_and_leaves_all_as_it_was(lived_in: Config, tmp_path: Path) -> None:
    file = backup.create(lived_in, tmp_path / "disk", "sealed", PASSPHRASE)
    before = files_of(lived_in.data)
    with pytest.raises(StoreError, match="another passphrase"):
        backup.restore(lived_in, file, "three words only")
    assert files_of(lived_in.data) == before


def test_whether_a_passphrase_opens_a_backup_is_known_without_giving_it_back(
    lived_in: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATLAS_DATA", str(lived_in.data))
    words, others = tmp_path / "words", tmp_path / "others"
    words.write_text(f"{PASSPHRASE}\n")
    others.write_text("three words only\n")
    sealed = backup.create(lived_in, tmp_path / "sealed", "sealed", PASSPHRASE)
    none = backup.create(lived_in, tmp_path / "none")
    before = files_of(tmp_path)
    assert backup_command(["check", str(sealed), "--passphrase-file", str(words)]) == 0
    assert "The passphrase opens them." in capsys.readouterr().out
    with pytest.raises(StoreError, match="another passphrase"):
        backup_command(["check", str(sealed), "--passphrase-file", str(others)])
    assert backup_command(["check", str(none), "--passphrase-file", str(words)]) == 0
    assert "Nothing in it is sealed." in capsys.readouterr().out
    assert files_of(tmp_path) == before


def test_a_folder_that_is_not_there_is_not_made_for_its_disk_may_not_be_connected(
    lived_in: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATLAS_DATA", str(lived_in.data))
    with pytest.raises(StoreError, match="is not there") as refused:
        backup_command(["create", str(tmp_path / "disk")])
    assert f"mkdir -p {tmp_path / 'disk'}" in refused.value.hint
    assert not (tmp_path / "disk").exists()


@pytest.mark.parametrize("harm", ["cut", "bit", "manifest", "empty"])
def test_a_backup_that_was_cut_or_changed_is_none_and_changes_nothing(
    lived_in: Config, tmp_path: Path, harm: str
) -> None:
    file = backup.create(lived_in, tmp_path / "disk")
    content = bytearray(file.read_bytes())
    at = content.index(b"# Kite")
    match harm:
        case "cut":
            content = content[: len(content) // 2]
        case "bit":
            content[at] ^= 1
        case "manifest":
            content = content[: content.index(b"manifest.json") // 512 * 512]
        case _:
            content = bytearray()
    file.write_bytes(content)
    before = files_of(lived_in.data)
    with pytest.raises(StoreError, match="no whole backup"):
        backup.read(file)
    with pytest.raises(StoreError, match="no whole backup"):
        backup.restore(lived_in, file)
    assert files_of(lived_in.data) == before


@pytest.mark.parametrize(
    "name",
    [
        "data/../../x",
        "/etc/x",
        "data/run/lock",
        "x",
        "data/./x",
        "data/restore.unfinished",
        "data/secrets/settings.journal",
        "data/secrets",
        "data/before-restore-x/y",
    ],
)
def test_a_member_that_leads_elsewhere_is_refused(lived_in: Config, tmp_path: Path, name: str) -> None:
    file = tmp_path / "theirs.tar"
    with tarfile.open(file, "w:") as archive:
        member = tarfile.TarInfo(name)
        member.size = 1
        archive.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(StoreError, match="no backup of ours"):
        backup.restore(lived_in, file)
    assert not (tmp_path / "x").exists()


def test_a_change_to_the_settings_that_is_being_made_stays_behind_and_is_named(
    lived_in: Config, tmp_path: Path
) -> None:
    (lived_in.secrets / JOURNAL).write_text("[]")
    plain = backup.create(lived_in, tmp_path / "disk", "plain")
    whole = backup.read(plain)
    assert f"data/secrets/{JOURNAL}" not in whole.files
    assert f"secrets/{JOURNAL}" in whole.remarks
    sealed = backup.create(lived_in, tmp_path / "other disk", "sealed", PASSPHRASE)
    other = elsewhere(lived_in, tmp_path)
    backup.restore(other, sealed, PASSPHRASE)
    assert (other.secrets / "house.key").exists()
    assert not (other.secrets / JOURNAL).exists()


def test_sealed_secrets_that_are_too_large_are_refused_before_they_are_copied(lived_in: Config, tmp_path: Path) -> None:
    file = tmp_path / "theirs.tar"
    with tarfile.open(file, "w:") as archive:
        member = tarfile.TarInfo(SEALED)
        member.size = MOST_SECRET_BYTES + 1
        archive.addfile(member, io.BytesIO(bytes(member.size)))
    for read in (lambda: backup.read(file), lambda: backup.restore(lived_in, file, PASSPHRASE)):
        with pytest.raises(StoreError, match="more than"):
            read()


@for_every("manifest", ['{"files": []}', '{"outside": [1]}', '{"at": "x"}', "[]", "7", '{"files": null}'])
def test_a_manifest_of_another_shape_is_refused(tmp_path: Path, manifest: str) -> None:
    file = tmp_path / "theirs.tar"
    odd = json.loads(manifest)
    content = {"at": 1.0, "version": "1", "secrets": "none", **odd} if isinstance(odd, dict) else odd
    with tarfile.open(file, "w:") as archive:
        member = tarfile.TarInfo(MANIFEST)
        text = json.dumps(content).encode()
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    with pytest.raises(StoreError, match="no whole backup"):
        backup.read(file)


def test_a_link_in_a_backup_is_refused(lived_in: Config, tmp_path: Path) -> None:
    file = tmp_path / "theirs.tar"
    with tarfile.open(file, "w:") as archive:
        member = tarfile.TarInfo("data/family-agent-config")
        member.type, member.linkname = tarfile.SYMTYPE, "/"
        archive.addfile(member)
    with pytest.raises(StoreError, match="no backup of ours"):
        backup.restore(lived_in, file)


def test_a_house_that_is_there_is_put_aside_and_keeps_its_keys_when_the_backup_has_none(
    lived_in: Config, tmp_path: Path
) -> None:
    file = backup.create(lived_in, tmp_path / "disk")
    (lived_in.data / "taught.json").write_text('{"new": 1}')
    (lived_in.secrets / "record.head").write_text("of a later row")
    backup.restore(lived_in, file)
    assert (lived_in.data / "taught.json").read_text() == "{}"
    [aside] = lived_in.data.glob(f"{ASIDE}*")
    assert (aside / "taught.json").read_text() == '{"new": 1}'
    assert (lived_in.secrets / "house.key").read_text() == "the key"
    assert not (lived_in.secrets / "record.head").exists()
    assert not backup.is_unfinished(lived_in.data)


def test_settings_that_lie_elsewhere_come_along_and_it_is_known_from_where(lived_in: Config, tmp_path: Path) -> None:
    settings = tmp_path / "checkout" / "atlas.toml"
    settings.parent.mkdir()
    settings.write_text("# ours\n")
    file = backup.create(dataclasses.replace(lived_in, file=settings), tmp_path / "disk")
    other = elsewhere(lived_in, tmp_path)
    assert backup.restore(other, file).outside == {"outside/atlas.toml": str(settings)}
    [folder] = other.data.glob("settings-*")
    assert (folder / "atlas.toml").read_text() == "# ours\n"


@pytest.mark.parametrize("large", ["atlas.db", "messages/m1.wav"])
def test_a_disk_that_is_too_small_for_a_backup_is_named_with_what_is_needed(
    lived_in: Config, small_disk: SmallDisk, large: str
) -> None:
    """It fills up while a database is copied to it, or while a file is put into the backup."""
    if large.endswith(".db"):
        with closing(sqlite3.connect(lived_in.data / large)) as connection:
            connection.execute("INSERT INTO words VALUES ('long', ?)", ("x" * 3_000_000,))
            connection.commit()
    else:
        (lived_in.data / large).write_bytes(b"RIFF" + bytes(3_000_000))
    with pytest.raises(StoreError) as refused:
        backup.create(lived_in, small_disk.folder)
    sentence = (
        rf"the disk of {small_disk.folder} is full: a backup needs some [3-9]\.\d MB there, and 2\.\d MB are free"
    )
    assert re.fullmatch(sentence, str(refused.value))
    assert list(small_disk.folder.iterdir()) == []


@pytest.mark.parametrize("model", ["models/small.gguf", "models"])
def test_a_backup_with_models_is_refused_where_there_are_some_before_anything_changes(
    lived_in: Config, tmp_path: Path, model: str
) -> None:
    giver = elsewhere(lived_in, tmp_path, "giver")
    giver = dataclasses.replace(giver, models=dataclasses.replace(giver.models, folder=tmp_path / "another disk"))
    (giver.data / model).parent.mkdir(exist_ok=True)
    (giver.data / model).write_text("theirs")
    file = backup.create(giver, tmp_path / "disk", "plain")
    assert f"data/{model}" in backup.read(file).files
    (lived_in.data / "models").mkdir()
    (lived_in.data / "models" / "large.gguf").write_text("ours")
    before = files_of(lived_in.data)
    with pytest.raises(StoreError, match="'models', and what lies there is not put aside"):
        backup.restore(lived_in, file)
    assert files_of(lived_in.data) == before
    assert not backup.is_unfinished(lived_in.data)


def test_a_restore_that_was_cut_off_behind_its_models_is_ended_by_the_next_and_others_models_stay(
    lived_in: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    giver = dataclasses.replace(lived_in, models=dataclasses.replace(lived_in.models, folder=tmp_path / "another disk"))
    (giver.data / "models").mkdir()
    (giver.data / "models" / "small.gguf").write_text("theirs")
    with_models = backup.create(giver, tmp_path / "disk", "plain")
    (giver.data / "models" / "small.gguf").unlink()
    (giver.data / "models").rmdir()
    without = backup.create(giver, tmp_path / "other disk")
    rename = Path.rename

    def power_cut(path: Path, target: Path) -> Path:
        if target.name == "tools" and target.parent.name == "other":
            raise KeyboardInterrupt
        return rename(path, target)

    other = elsewhere(lived_in, tmp_path)
    other = dataclasses.replace(other, models=dataclasses.replace(other.models, folder=other.data / "models"))
    for file in (with_models, without, with_models):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Path, "rename", power_cut)
            backup.restore(other, file)
    assert (other.data / "models" / "small.gguf").read_text() == "theirs"
    backup.restore(other, with_models)
    assert not backup.is_unfinished(other.data)
    assert {name: files_of(other.data)[name] for name in OTHER_FILES} == OTHER_FILES
    assert (other.data / "models" / "small.gguf").read_text() == "theirs"
    with pytest.raises(StoreError, match="'models', and what lies there is not put aside"):
        backup.restore(other, with_models)


@pytest.mark.parametrize("place", ["restore.unfinished", "atlas.db", "taught.json", "tools"])
def test_a_restore_that_was_cut_off_is_known_and_no_house_starts_on_it_and_the_next_one_ends_it(
    lived_in: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """It is cut off at its first change, or as the first, one of the middle or the last of the files gets its place."""
    file = backup.create(lived_in, tmp_path / "disk")
    (lived_in.data / "taught.json").write_text('{"new": 1}')
    rename = Path.rename

    def power_cut(path: Path, target: Path) -> Path:
        if target == lived_in.data / place:
            raise KeyboardInterrupt
        return rename(path, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", power_cut)
        if place == UNFINISHED:
            patch.setattr(backup, "_put_aside", lambda *_, **__: power_cut(tmp_path, lived_in.data / place))
        backup.restore(lived_in, file)
    assert backup.is_unfinished(lived_in.data)
    monkeypatch.setenv("ATLAS_DATA", str(lived_in.data))
    settings = tmp_path / "atlas.toml"  # those of the house may be put aside
    settings.write_text("")
    monkeypatch.setenv("ATLAS_CONFIG", str(settings))
    with pytest.raises(ConfigError, match="cut off"):
        run.main([])
    backup.restore(lived_in, file)
    assert not backup.is_unfinished(lived_in.data)
    assert {name: files_of(lived_in.data)[name] for name in OTHER_FILES} == OTHER_FILES
    asides = [path.read_text() for path in lived_in.data.glob(f"{ASIDE}*/taught.json")]
    assert '{"new": 1}' in asides


def test_what_a_killed_restore_left_with_its_keys_in_plain_is_deleted_by_the_next(
    lived_in: Config, tmp_path: Path
) -> None:
    left = lived_in.data / ".restore-k1ll3d12" / "data" / "secrets"
    left.mkdir(parents=True)
    (left / "house.key").write_text("the key")
    file = backup.create(lived_in, tmp_path / "disk")
    assert not [name for name in backup.read(file).files if ".restore-" in name]
    (tmp_path / "cut").write_bytes(file.read_bytes()[:1000])
    with pytest.raises(StoreError):
        backup.restore(lived_in, tmp_path / "cut")
    assert not list(lived_in.data.glob(".restore-*"))


def test_after_a_restore_it_is_known_which_backup_was_made_last(lived_in: Config, tmp_path: Path) -> None:
    file = backup.create(lived_in, tmp_path / "disk")
    later = backup.create(lived_in, tmp_path / "another disk")
    backup.restore(lived_in, file)
    last = backup.last_backup(lived_in.data)
    assert last is not None
    assert last.file == str(later)
    other = elsewhere(lived_in, tmp_path)
    contents = backup.restore(other, file)
    assert backup.last_backup(other.data) == backup.LastBackup(contents.at, str(file), file.stat().st_size, "none")


def test_nothing_is_given_back_to_a_house_that_runs(
    lived_in: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = backup.create(lived_in, tmp_path / "disk")
    monkeypatch.setenv("ATLAS_DATA", str(lived_in.data))
    before = files_of(lived_in.data)
    with only_one(lived_in), pytest.raises(ConfigError, match="running already"):
        backup_command(["restore", str(file), "--replace"])
    with pytest.raises(ConfigError, match="there is a house"):
        backup_command(["restore", str(file)])
    assert {n: t for n, t in files_of(lived_in.data).items() if n != "run/lock"} == before


def test_a_short_passphrase_is_refused_and_what_lies_in_the_backup_is_said(
    lived_in: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ATLAS_DATA", str(lived_in.data))
    (tmp_path / "disk").mkdir()
    (tmp_path / "short").write_text("hello\n")
    with pytest.raises(ConfigError, match="shorter"):
        backup_command(["create", str(tmp_path / "disk"), "--passphrase-file", str(tmp_path / "short")])
    assert backup_command(["create", str(tmp_path / "disk"), "--plain-secrets"]) == 0
    assert "WARNING" in capsys.readouterr().out
    [file] = (tmp_path / "disk").iterdir()
    assert backup_command(["check", str(file)]) == 0
    assert "secrets: plain" in capsys.readouterr().out


KEY = "-----BEGIN PRIVATE KEY-----\nhunter3\n-----END PRIVATE KEY-----\n"


def with_loose_secrets(config: Config) -> Config:
    """Return the house with keys beside its settings, among its papers, and of a form that only the settings know."""
    papers = config.data / "family-agent-config" / "notes"
    (config.data / "mail.password").write_text("hunter3")
    (config.data / "voice-pe").write_text("hunter3")
    (papers / "tls").write_text(KEY)
    (papers / "broker.txt").write_text("hunter3")
    (config.data / "atlas.toml").write_text(
        '[tools.home.mqtt]\npassword_file = "family-agent-config/notes/broker.txt"\n'
    )
    return load({"ATLAS_DATA": str(config.data)}, config.data / "atlas.toml")


LOOSE = ("mail.password", "voice-pe", "family-agent-config/notes/tls", "family-agent-config/notes/broker.txt")


def test_a_key_that_lies_beside_the_settings_or_among_papers_leaves_the_house_sealed_or_not_at_all(
    lived_in: Config, tmp_path: Path
) -> None:
    config = with_loose_secrets(lived_in)
    sealed = backup.create(config, tmp_path / "sealed", "sealed", PASSPHRASE)
    none = backup.create(config, tmp_path / "none")
    for file in (sealed, none):
        assert b"hunter3" not in file.read_bytes()
        assert not {f"data/{name}" for name in LOOSE} & set(backup.read(file).files)
    remarks = backup.read(none).remarks
    assert {name: "sealed" in remarks[name] for name in LOOSE} == dict.fromkeys(LOOSE, True)
    assert not set(LOOSE) & set(backup.read(sealed).remarks)
    other = elsewhere(config, tmp_path)
    backup.restore(other, sealed, PASSPHRASE)
    assert {name: "hunter3" in (other.data / name).read_text() for name in LOOSE} == dict.fromkeys(LOOSE, True)


def test_a_restore_of_a_backup_without_secrets_leaves_every_key_where_it_lies(lived_in: Config, tmp_path: Path) -> None:
    config = with_loose_secrets(lived_in)
    file = backup.create(config, tmp_path / "disk")
    backup.restore(config, file)
    assert {name: "hunter3" in (config.data / name).read_text() for name in LOOSE} == dict.fromkeys(LOOSE, True)


def test_links_and_what_is_no_file_are_named_and_logs_among_papers_come_along(lived_in: Config, tmp_path: Path) -> None:
    papers = lived_in.data / "family-agent-config"
    (tmp_path / "nas").mkdir()
    (tmp_path / "nas" / "letter.md").write_text("far away")
    (papers / "nas").symlink_to(tmp_path / "nas")
    (papers / "garden.log").write_text("sown: peas")
    os.mkfifo(papers / "pipe")
    file = backup.create(lived_in, tmp_path / "disk")
    contents = backup.read(file)
    assert str(tmp_path / "nas") in contents.remarks["family-agent-config/nas"]
    assert "no file" in contents.remarks["family-agent-config/pipe"]
    assert "data/family-agent-config/garden.log" in contents.files
    assert not [name for name in contents.files if "letter" in name]


@pytest.mark.parametrize("place", ["family-agent-config/notes", "odd", "secrets"])
def test_a_file_whose_name_is_no_text_is_named_and_all_else_comes_along(
    lived_in: Config, tmp_path: Path, place: str
) -> None:
    (lived_in.data / place).mkdir(exist_ok=True)
    (lived_in.data / place / os.fsdecode(b"caf\xe9.md")).write_text("no UTF-8")
    (lived_in.data / place / "caf\u00e9.md").write_text("a name")
    (lived_in.data / place / os.fsdecode(b"link-\xe9")).symlink_to(os.fsdecode(b"\xe9"))
    for secrets in ("sealed", "none"):
        whole = backup.read(backup.create(lived_in, tmp_path / secrets, secrets, PASSPHRASE))
        assert "a name that is no text" in whole.remarks[rf"{place}/caf\udce9.md"]
    other = elsewhere(lived_in, tmp_path)
    [sealed] = (tmp_path / "sealed").iterdir()
    backup.restore(other, sealed, PASSPHRASE)
    assert (other.data / place / "caf\u00e9.md").read_text() == "a name"
    assert {name: files_of(other.data)[name] for name in OTHER_FILES} == OTHER_FILES


def test_a_file_that_is_cut_while_it_is_copied_is_named_and_all_else_comes_along(
    lived_in: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = lived_in.data / "family-agent-config" / "notes" / "drawing.md"
    note.write_bytes(bytes(100_000))
    read = backup._Hashing.read

    def read_and_cut(self: backup._Hashing, size: int = -1) -> bytes:
        piece = read(self, size)
        if getattr(self._content, "name", "") == str(note):
            os.truncate(note, 10)
        return piece

    monkeypatch.setattr(backup._Hashing, "read", read_and_cut)
    file = backup.create(lived_in, tmp_path / "disk")
    assert "became shorter" in backup.read(file).remarks["family-agent-config/notes/drawing.md"]
    other = elsewhere(lived_in, tmp_path)
    backup.restore(other, file)
    back = files_of(other.data)
    assert {name: back.get(name) for name in OTHER_FILES} == OTHER_FILES
    assert "family-agent-config/notes/drawing.md" not in back


def test_the_link_to_the_rules_that_each_start_makes_is_no_news(lived_in: Config, tmp_path: Path) -> None:
    (lived_in.secrets / "policy.toml").symlink_to(lived_in.tools.policy)
    assert backup.read(backup.create(lived_in, tmp_path / "disk", "sealed", PASSPHRASE)).remarks == {}


def test_a_file_named_in_the_settings_that_lies_elsewhere_is_named(lived_in: Config, tmp_path: Path) -> None:
    outside = tmp_path / "broker.password"
    outside.write_text("hunter4")
    (lived_in.data / "atlas.toml").write_text(f'[tools.home.mqtt]\npassword_file = "{outside}"\n')
    config = load({"ATLAS_DATA": str(lived_in.data)}, lived_in.data / "atlas.toml")
    file = backup.create(config, tmp_path / "disk", "sealed", PASSPHRASE)
    assert "outside the data folder" in backup.read(file).remarks[str(outside)]


def test_a_file_that_only_calls_itself_a_database_comes_along_as_a_plain_file_and_is_named(
    lived_in: Config, tmp_path: Path
) -> None:
    (lived_in.data / "family-agent-config" / "thumbs.db").write_text("no database at all, but somebody's")
    file = backup.create(lived_in, tmp_path / "disk")
    assert "plain file" in backup.read(file).remarks["family-agent-config/thumbs.db"]
    other = elsewhere(lived_in, tmp_path)
    backup.restore(other, file)
    assert (other.data / "family-agent-config" / "thumbs.db").read_text() == "no database at all, but somebody's"


def test_a_damaged_memory_of_the_house_is_no_backup(lived_in: Config, tmp_path: Path) -> None:
    (lived_in.data / "atlas.db").write_text("no database any more")
    for side in lived_in.data.glob("atlas.db-*"):
        side.unlink()
    with pytest.raises(StoreError, match=r"atlas\.db cannot be backed up"):
        backup.create(lived_in, tmp_path / "disk")
    assert not list((tmp_path / "disk").glob("*.tar"))


def test_what_is_not_in_a_backup_is_said_where_it_is_made_and_where_it_is_looked_at(
    lived_in: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (lived_in.data / "mail.password").write_text("hunter3")
    (tmp_path / "disk").mkdir()
    monkeypatch.setenv("ATLAS_DATA", str(lived_in.data))
    assert backup_command(["create", str(tmp_path / "disk")]) == 0
    assert "Note: mail.password travels with keys and passwords" in capsys.readouterr().out
    [file] = (tmp_path / "disk").iterdir()
    assert backup_command(["check", str(file)]) == 0
    assert "Note: mail.password" in capsys.readouterr().out


def header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, more: dict[str, str] | None = None) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname = size, kind, "/etc/passwd" if kind in b"12" else ""
    member.pax_headers = more or {}
    return member.tobuf(tarfile.PAX_FORMAT)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % tarfile.BLOCKSIZE)


FOREIGN = {
    "a hard link": (header("data/x", kind=tarfile.LNKTYPE), "a hard link"),
    "a device": (header("data/x", kind=tarfile.BLKTYPE), "a device"),
    "a pipe": (header("data/x", kind=tarfile.FIFOTYPE), "a pipe"),
    "a folder": (header("data/x", kind=tarfile.DIRTYPE), "a folder"),
    "an old sparse file": (header("data/x", 1 << 40, tarfile.GNUTYPE_SPARSE), "a sparse file"),
    "a new sparse file": (
        header("data/x", 0, more={"GNU.sparse.major": "1", "GNU.sparse.realsize": str(1 << 50)}),
        "a sparse file",
    ),
    "more than there is": (header("data/x", 1 << 40), "says that it has 1099511627776 bytes"),
    "an extended header of a size": (header("data/x", 0, more={"size": str(1 << 60)}), "says that it has"),
    "a negative size": (header("data/x", 0, more={"size": "-512"}), "says that it has"),
    "one name twice": (header("data/x") * 2, "'data/x' twice"),
    "a file that is a folder": (header("data/x") + header("data/x/y"), "both as a file and as a folder"),
    "a folder that is a file": (header("data/x/y") + header("data/x"), "both as a file and as a folder"),
    "a long name": (header("data/" + "x" * 300), "longer name"),
    "another member's kind": (header("data/x", kind=b"L"), "a member of kind"),
    "an extended header that is cut": (
        tarfile.TarInfo._create_header(
            {"name": "p", "size": 9, "type": tarfile.XHDTYPE}, tarfile.USTAR_FORMAT, "utf-8", "strict"
        )
        + padded(b"99 path=x"),
        "extended header at byte 0",
    ),
    "letters": (b"Dear all, " * 100, "begins no member"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_no_backup_holds_is_refused_with_what_and_where_and_what_would_be_right(
    lived_in: Config, tmp_path: Path, kind: str
) -> None:
    content, reason = FOREIGN[kind]
    file = tmp_path / "theirs.tar"
    file.write_bytes(content + bytes(1024))
    before = files_of(lived_in.data)
    for read in (lambda: backup.read(file), lambda: backup.restore(lived_in, file)):
        with pytest.raises(StoreError, match=reason) as refused:
            read()
        assert str(file) in str(refused.value)
        assert refused.value.hint
    assert files_of(lived_in.data) == before


def test_something_behind_the_manifest_is_refused(lived_in: Config, tmp_path: Path) -> None:
    file = backup.create(lived_in, tmp_path / "disk")
    with file.open("ab") as out:
        out.write(b"more")
    with pytest.raises(StoreError, match="something behind"):
        backup.read(file)


@for_every(
    ("change", "reason"),
    [
        ({"format": 3}, "newer Atlas"),
        ({"format": "x"}, "'format'"),
        ({"at": 1e300}, "'at'"),
        ({"version": "1\x1b[2J"}, "'version'"),
        ({"secrets": "sealed"}, "of its secrets"),
        ({"secrets": []}, "'secrets'"),
        ({"extra": 1}, "'extra'"),
        ({"remarks": {"x": 1}}, "'remarks'"),
    ],
)
def test_an_odd_manifest_is_refused_by_what_is_odd_in_it(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    content = json.dumps({"at": 1.0, "version": "1", "secrets": "none", **change}).encode()
    file = tmp_path / "theirs.tar"
    file.write_bytes(header(MANIFEST, len(content)) + padded(content) + bytes(1024))
    with pytest.raises(StoreError, match=reason):
        backup.read(file)


def test_a_manifest_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    content = b"[" * 200_000
    file = tmp_path / "theirs.tar"
    file.write_bytes(header(MANIFEST, len(content)) + padded(content) + bytes(1024))
    with pytest.raises(StoreError, match="no JSON"):
        backup.read(file)


def test_a_backup_of_the_form_before_is_read(lived_in: Config, tmp_path: Path) -> None:
    content = json.dumps({"at": 1.0, "version": "1", "secrets": "none", "files": {}, "format": 1}).encode()
    file = tmp_path / "old.tar"
    file.write_bytes(header(MANIFEST, len(content)) + padded(content) + bytes(1024))
    assert backup.read(file).remarks == {}


def test_a_name_of_a_thousand_letters_comes_back(lived_in: Config, tmp_path: Path) -> None:
    deep = lived_in.data / "family-agent-config" / "/".join(["Überfluß" * 12] * 9)
    deep.mkdir(parents=True)
    (deep / "a.md").write_text("deep")
    file = backup.create(lived_in, tmp_path / "disk")
    other = elsewhere(lived_in, tmp_path)
    backup.restore(other, file)
    assert (other.data / deep.relative_to(lived_in.data) / "a.md").read_text() == "deep"


@pytest.mark.parametrize(
    "sealed",
    [
        [],
        {"data/x": 7},
        {"outside/x": ""},
        {"data/../../x": ""},
        {"data/x": "?"},
        {"data/secrets/settings.journal": ""},
    ],
)
def test_odd_sealed_files_are_refused(
    lived_in: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sealed: object
) -> None:
    """Whoever knows the passphrase may have sealed anything."""
    monkeypatch.setattr(backup, "unsealed_files", lambda file, _: unsealed_files(file, json.dumps(sealed).encode()))
    file = backup.create(lived_in, tmp_path / "disk", "sealed", PASSPHRASE)
    with pytest.raises(StoreError):
        backup.restore(lived_in, file, PASSPHRASE)
    assert not (tmp_path / "x").exists()


def test_a_backup_that_is_not_there_or_is_a_folder_is_said_in_a_sentence(lived_in: Config, tmp_path: Path) -> None:
    for file in (tmp_path / "nowhere.tar", tmp_path):
        with pytest.raises(StoreError, match="cannot be read") as refused:
            backup.read(file)
        assert refused.value.hint


HALTED = """
import sys

from atlas.cli.backup import main
from atlas.store import backup
from atlas.store.backup_archive import MANIFEST, MOST_SECRET_BYTES, SEALED, unsealed_files
from atlas.store.backup_contents import ASIDE, LAST_BACKUP, UNFINISHED

HALT_BYTES = 1 << 20
read, count = backup._Hashing.read, 0


def read_until_halted(self, size=-1):
    global count
    count += size
    if count > HALT_BYTES:
        print("in the middle", flush=True)
        sys.stdin.read()
    return read(self, size)


backup._Hashing.read = read_until_halted
main(["create", sys.argv[1]])
"""


def test_a_kill_in_the_middle_leaves_no_backup_and_the_next_one_clears_it_away(
    lived_in: Config, tmp_path: Path
) -> None:
    with (lived_in.data / "messages" / "long.wav").open("wb") as sound:
        sound.truncate(4 << 20)
    disk = tmp_path / "disk"
    disk.mkdir()
    command = [sys.executable, "-c", HALTED, str(disk)]
    environment = {**os.environ, "ATLAS_DATA": str(lived_in.data), "ATLAS_CONFIG": str(lived_in.file)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "in the middle\n"
        process.kill()
    assert not list(disk.glob("*.tar"))
    assert list(disk.glob(".atlas-*"))
    assert backup.last_backup(lived_in.data) is None
    file = backup.create(lived_in, disk)
    assert os.listdir(disk) == [file.name]
