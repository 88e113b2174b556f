"""Backs up a house while it runs, into one file that is whole or not there, and gives it back from that file.

A backup is a tar file whose last member, the manifest, names all others with their hashes: a file that ends earlier is
none. It is written under another name and synced, read back from the disk and compared, and only then gets its own
name, so no kill leaves half a backup that looks whole. Databases are copied by SQLite itself, each as it is at one
moment; how far a record goes is copied before its rows, which are only ever appended.

Secrets (keys, tokens, passwords) are left out, sealed with a passphrase, or in plain if somebody wants that.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import io
import json
import logging
import os
import re
import shutil
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from atlas import __version__
from atlas.config import Config
from atlas.errors import StoreError
from atlas.store.backup_archive import (
    DATA,
    MANIFEST,
    MOST_MEMBERS,
    MOST_SECRET_BYTES,
    NOT_WHOLE,
    OUTSIDE,
    PIECE_BYTES,
    SEALED,
    Backup,
    Part,
    Secrets,
    members,
    name_fault,
    raise_not_whole,
    read_manifest,
    unsealed_files,
)
from atlas.store.backup_contents import (
    ASIDE,
    FAILED_BACKUP,
    LAST_BACKUP,
    NO_SECRETS,
    OWN_STATE,
    STAGING,
    UNFINISHED,
    Contents,
    contents_of,
    own_databases,
)
from wall.chain import head_of, opened
from wall.disk import disk_state
from wall.files import sync_folder, write_whole

log = logging.getLogger("atlas")
DRAFT = ".partial"
MOST_PLAIN_SECRET_BYTES = MOST_SECRET_BYTES // 2  # base64 and names make a third more of them
SCRYPT = {"n": 1 << 15, "r": 8, "p": 1}  # some 0.1 s and 32 MB a guess
FEWEST_PASSPHRASE_CHARACTERS = 12  # whoever has the file may guess for years
SALT_BYTES, NONCE_BYTES, KEY_BYTES = 16, 12, 32


@dataclass(frozen=True, slots=True)
class LastBackup:
    """Which backup was made last."""

    at: float
    file: str
    bytes: int
    secrets: Secrets
    daily: tuple[str, ...] = ()  # files that [backup] made, the newest last
    daily_at: float = 0.0


@dataclass(frozen=True, slots=True)
class FailedBackup:
    """Why the day's backup was not made."""

    at: float
    why: str


def create_daily(config: Config, passphrase: str) -> Path:
    """Make the backup that [backup] wants, and delete those of its own that are too many then.

    One that cannot be deleted is a warning, and is tried again with the next. Raises `StoreError` and `OSError`; then
    nothing was deleted.
    """
    folder = Path(config.backup.folder)
    require_folder(folder)
    file = create(config, folder, "sealed" if passphrase else "none", passphrase)
    last = last_backup(config.data)
    assert last
    made = (*last.daily, str(file.absolute()))
    last = replace(last, daily=made, daily_at=last.at)
    _note_last(config, last)  # first: whatever becomes of older ones, it is not made again in an hour
    (config.data / FAILED_BACKUP).unlink(missing_ok=True)
    left = tuple(old for old in made[: -config.backup.retain] if not _is_deleted(Path(old)))
    _note_last(config, replace(last, daily=(*left, *made[-config.backup.retain :])))
    return file


def require_folder(folder: Path) -> None:
    """Raise `StoreError` for a folder that is not there: its disk may not be connected, so none is made."""
    if not folder.is_dir():
        hint = f"is its disk connected? If it is to be a new folder: mkdir -p {folder}"
        raise StoreError(f"the folder for backups, {folder}, is not there", hint=hint)


def _is_deleted(old: Path) -> bool:
    """Delete a backup that [backup] made, if it is called like one; False, with a warning, where that cannot be."""
    try:
        if old.match("atlas-*.tar"):
            old.unlink(missing_ok=True)
    except OSError as trouble:
        log.warning("the old backup %s cannot be deleted: %s", old, trouble.strerror)
        return False
    return True


def failed_backup(data: Path) -> FailedBackup | None:
    """Return why the last try of the day's backup failed; `None` when it did not."""
    try:
        return FailedBackup(**json.loads((data / FAILED_BACKUP).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def note_failure(config: Config, at: float, why: str) -> None:
    """Have it known that the day's backup was not made, until one is."""
    try:
        write_whole(config.data / FAILED_BACKUP, json.dumps(asdict(FailedBackup(at, why))).encode())
    except OSError as trouble:
        log.warning("that a backup failed could not be noted: %s", trouble.strerror)


def create(config: Config, folder: Path, secrets: Secrets = "none", passphrase: str = "") -> Path:
    """Make a backup in a folder; return its file, which has been read back. Raises `StoreError` and `OSError`."""
    at = time.time()
    try:
        file = _create(config, folder, Backup(at, __version__, secrets), passphrase)
    except (OSError, sqlite3.Error) as trouble:
        if disk_state(trouble) == "full" and folder.is_dir():
            raise _full(config, folder) from trouble
        raise
    before = last_backup(config.data)
    daily = (before.daily, before.daily_at) if before else ((), 0.0)
    _note_last(config, LastBackup(at, str(file.absolute()), file.stat().st_size, secrets, *daily))
    return file


def _create(config: Config, folder: Path, backup: Backup, passphrase: str) -> Path:
    if config.data.resolve().is_relative_to(folder.resolve()):
        raise StoreError(f"the house itself lies in {folder}", hint=f"name a folder of its own: {folder / 'backups'}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _sweep(folder)
    file = folder / f"atlas-{time.strftime('%Y-%m-%dT%H-%M-%SZ', time.gmtime(backup.at))}.tar"
    if file.exists():
        raise StoreError(f"{file} is there already", hint="try again in a second")
    draft = folder / f".{file.name}{DRAFT}"
    try:
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as trouble:
        raise StoreError(f"{file} is just being made", hint="try again in a second") from trouble
    try:
        with os.fdopen(handle, "w+b") as out:
            fcntl.flock(out, fcntl.LOCK_EX)  # who sweeps up drafts leaves this one alone
            written = _write(config, folder, out, backup, passphrase)
            out.flush()
            os.fsync(out.fileno())
            with suppress(OSError):  # else what is read back may come from memory
                os.posix_fadvise(out.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if read(draft) != written:
                raise StoreError(
                    f"{draft} was not what had been written when it was read back", hint="try another disk"
                )
            draft.rename(file)
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(folder)
    return file


def _full(config: Config, folder: Path) -> StoreError:
    """Return what is said where the disk of the folder is too small for a backup."""
    contents = contents_of(config, folder)
    largest = max((_bytes(path) for path in contents.databases), default=0)  # which is copied there besides
    needed = sum(_bytes(path) for path in (*contents.plain, *contents.databases, *contents.loose)) + largest
    return StoreError(
        f"the disk of {folder} is full: a backup needs some {max(needed / 1e6, 0.1):.1f} MB there,"
        f" and {shutil.disk_usage(folder).free / 1e6:.1f} MB are free",
        hint="make room on it, or name a folder on another disk",
    )


def _bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # gone since it was listed
        return 0


def last_backup(data: Path) -> LastBackup | None:
    """Return which backup was made last; `None` when there was none, or nobody can tell."""
    try:
        table = json.loads((data / LAST_BACKUP).read_text(encoding="utf-8"))
        return LastBackup(**table | {"daily": tuple(table.get("daily", ()))})
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def read(file: Path, into: Path | None = None, passphrase: str = "") -> Backup:
    """Read a whole backup and compare every member with the manifest; return what it holds.

    `into` is an empty folder in which its files are put, each on the disk when this returns. Sealed secrets are opened
    where they are put there, and wherever a passphrase is given. Raises `StoreError` for a file that is not whole or
    not ours, and for sealed secrets that the passphrase does not open; and `OSError`.
    """
    hashes: dict[str, str] = {}
    try:
        for member in members(file):
            if member.name == MANIFEST:
                backup = read_manifest(file, member, hashes)
                continue
            if member.name == SEALED and member.size > MOST_SECRET_BYTES:
                raise_not_whole(file, f"it holds {member.size} bytes of secrets, more than {MOST_SECRET_BYTES}")
            if member.name == SEALED and (into or passphrase):
                sealed = b"".join(iter(partial(member.content.read, PIECE_BYTES), b""))
                hashes[SEALED] = hashlib.sha256(sealed).hexdigest()
                for name, secret in _unsealed(file, sealed, passphrase).items():
                    _copied(io.BytesIO(secret), into / name if into else None, 0o600)
                continue
            hashes[member.name] = _copied(member.content, into / member.name if into else None, member.mode)
    except (FileNotFoundError, IsADirectoryError, PermissionError) as trouble:
        if trouble.filename not in (str(file), None):
            raise
        raise StoreError(
            f"{file} cannot be read: {trouble.strerror}", hint="name a file that `atlas backup create` made"
        ) from trouble
    return backup


def restore(config: Config, file: Path, passphrase: str = "") -> Backup:
    """Have the data directory hold what a backup does; what is there is put aside. Nobody may run on it meanwhile.

    Raises `StoreError` and `OSError`; then either nothing has changed, or `is_unfinished` says so, and it is to be done
    again.
    """
    for left in config.data.glob(f"{STAGING}*"):  # of one that was killed: a whole copy, its secrets in plain
        shutil.rmtree(left)
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=config.data))
    try:
        backup = read(file, staging, passphrase)
        names = {entry.name for entry in _folder(staging, DATA).iterdir()}
        unfinished = config.data / UNFINISHED
        brought = set(unfinished.read_text(encoding="utf-8").splitlines()) if unfinished.exists() else set()
        staying = {name for name in names if _stays(config, config.data / name)} - {config.secrets.name}
        for path in (config.data / name for name in sorted(staying - brought)):
            if path.exists():
                hint = f"move {path} away first, if that is what you want"
                raise StoreError(f"{file} holds {path.name!r}, and what lies there is not put aside", hint=hint)
        loose = [] if backup.secrets == "plain" or "secrets" in names else contents_of(config).loose
        write_whole(unfinished, "\n".join(sorted(brought | staying)).encode())
        prefix = f"{ASIDE}{time.strftime('%Y-%m-%dT%H-%M-%SZ', time.gmtime())}-"
        aside = Path(tempfile.mkdtemp(prefix=prefix, dir=config.data))  # also where one was cut off this very second
        _put_aside(config, aside, staying, replaces_secrets="secrets" in names)
        for name in sorted(names):
            (staging / DATA / name).rename(config.data / name)
        _bring_back(config, aside, loose)
        if backup.outside:
            _folder(staging, OUTSIDE).rename(config.data / f"settings-{aside.name.removeprefix(ASIDE)}")
        if last_backup(config.data) is None:
            _note_last(config, LastBackup(backup.at, str(file.absolute()), file.stat().st_size, backup.secrets))
        sync_folder(config.data)
        unfinished.unlink()
        sync_folder(config.data)
        return backup
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _note_last(config: Config, last: LastBackup) -> None:
    write_whole(config.data / LAST_BACKUP, json.dumps(asdict(last)).encode())


def is_unfinished(data: Path) -> bool:
    """Tell whether a restore into this data directory was cut off."""
    return (data / UNFINISHED).exists()


def is_empty(config: Config) -> bool:
    """Tell whether nothing of a house lies in the data directory."""
    contents = contents_of(config)
    return not (contents.plain or contents.databases or contents.loose)


# ── writing ────────────────────────────────────────────────────────────────────────────────────────


def _write(config: Config, folder: Path, out: BinaryIO, backup: Backup, passphrase: str) -> Backup:
    contents = contents_of(config, folder)
    _leave_nameless(config, contents)
    hashes: dict[str, str] = {}
    with tarfile.open(fileobj=out, mode="w:", format=tarfile.PAX_FORMAT) as archive:

        def add(name: str, content: BinaryIO, size: int, mode: int = 0o600) -> None:
            if len(hashes) == MOST_MEMBERS:
                raise StoreError(f"the house has more than {MOST_MEMBERS} files", hint="move some of its papers away")
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = size, mode, int(backup.at)
            hashing, begin = _Hashing(content), archive.offset
            try:
                archive.addfile(member, hashing)
            except _UnreadableError:
                archive.offset = out.seek(begin)  # as if it had never been begun
                out.truncate()
                raise
            archive.getmembers().clear()  # else it remembers each
            hashes[name] = hashing.digest.hexdigest()

        def add_bytes(name: str, content: bytes) -> None:
            add(name, io.BytesIO(content), len(content))

        def add_file(path: Path) -> None:
            try:
                with path.open("rb") as plain:
                    state = os.fstat(plain.fileno())
                    add(_name(config, path), plain, state.st_size, 0o600 | state.st_mode & 0o100)
            except FileNotFoundError:
                return  # gone since it was listed
            except _UnreadableError as trouble:
                contents.remarks[_relative(config, path)] = f"is not in it: {trouble.why}"

        for name, content in _secret_files(config, contents, backup.secrets, passphrase):
            add_bytes(name, content)
        records = [config.egress_record, config.tools_data / "audit.jsonl"]
        for record in records:
            with suppress(FileNotFoundError):  # how far it goes, before its rows
                add_bytes(_name(config, head_of(record)), head_of(record).read_bytes())
        for record in records:
            with suppress(FileNotFoundError), opened(record) as files:
                for part in files:
                    add(_name(config, Path(part.name)), part, os.fstat(part.fileno()).st_size)
        for path in _without(records, contents.plain):
            add_file(path)
        for path in contents.databases:
            try:
                with _copy_of(path, folder) as copy:
                    add(_name(config, path), copy, os.fstat(copy.fileno()).st_size)
            except _UnsoundDatabaseError as trouble:
                if path in own_databases(config):
                    raise
                contents.remarks[_relative(config, path)] = f"is in it as a plain file: {trouble.why}"
                add_file(path)
        outside = {name: str(path) for name, path in _outside(config)}
        for name, path in _outside(config):
            add_bytes(name, path.read_bytes())
        remarks = {_printable(name): _printable(why) for name, why in contents.remarks.items()}
        whole = Backup(backup.at, backup.version, backup.secrets, hashes, outside, remarks)
        add_bytes(MANIFEST, json.dumps(asdict(whole)).encode())
        hashes.pop(MANIFEST)
    return whole


class _Hashing(io.RawIOBase):
    """A file that is hashed while it is read. Raises `_UnreadableError` where it ends early or its disk fails."""

    def __init__(self, content: BinaryIO) -> None:
        self._content = content
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        try:
            piece = self._content.read(size)
        except OSError as trouble:
            raise _UnreadableError(trouble.strerror or str(trouble)) from trouble
        if len(piece) < size:
            raise _UnreadableError("it became shorter while it was copied")
        self.digest.update(piece)
        return piece


class _UnreadableError(StoreError):
    """A file that cannot be copied to the end that it had."""

    def __init__(self, why: str) -> None:
        super().__init__(f"a file of the house cannot be backed up: {why}", hint="try again")
        self.why = why


def _leave_nameless(config: Config, contents: Contents) -> None:
    """Leave out, with a remark, what has a name with which no backup would be read back."""
    for paths in (contents.plain, contents.databases, contents.secrets, contents.loose):
        for path in tuple(paths):
            if fault := name_fault(_name(config, path)):
                paths.remove(path)
                contents.remarks[_relative(config, path)] = f"is not in it, for it has {fault}; rename it"


def _printable(text: str) -> str:
    """Return text that JSON can hold and a terminal can show: a file may be called by any bytes."""
    return text if text.isprintable() else repr(text)[1:-1]


def _without(records: Sequence[Path], paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the paths that are no part of a record."""
    parts = [re.compile(rf"{re.escape(str(one.with_suffix('')))}(\.\d{{12}})?\.(jsonl|head)") for one in records]
    for path in paths:
        if not any(one.fullmatch(str(path)) for one in parts):
            yield path


def _outside(config: Config) -> Iterator[tuple[str, Path]]:
    """Yield the house's settings that do not lie in the data directory."""
    for path in (config.file, config.tools.policy):
        if path and path.is_file() and config.data.absolute() not in path.absolute().parents:
            yield f"{OUTSIDE}{path.name}", path


def _name(config: Config, path: Path) -> str:
    return DATA + _relative(config, path)


def _relative(config: Config, path: Path) -> str:
    return path.relative_to(config.data).as_posix()


@contextmanager
def _copy_of(database: Path, folder: Path) -> Iterator[BinaryIO]:
    """Yield a copy of a database as it is at one moment, sound, beside the backup that it is for."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".atlas-", suffix=DRAFT) as copy:
        fcntl.flock(copy, fcntl.LOCK_EX)
        try:
            with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy.name)) as target:
                source.backup(target)  # in one step, and so of one moment
                target.execute("PRAGMA journal_mode = DELETE")
                ((verdict,),) = target.execute("PRAGMA quick_check(1)").fetchall()
        except sqlite3.DatabaseError as trouble:
            if disk_state(trouble) == "full":  # that of the copy
                raise
            raise _UnsoundDatabaseError(database, str(trouble)) from trouble
        if verdict != "ok":
            raise _UnsoundDatabaseError(database, verdict)
        with Path(copy.name).open("rb") as content:
            yield content


class _UnsoundDatabaseError(StoreError):
    """A database that SQLite cannot copy."""

    def __init__(self, database: Path, why: str) -> None:
        super().__init__(f"{database} cannot be backed up: {why}", hint="`atlas doctor` says what to do about it")
        self.why = why


def _sweep(folder: Path) -> None:
    """Delete drafts that nobody writes any more."""
    for draft in folder.glob(f".atlas-*{DRAFT}*"):
        with suppress(OSError), draft.open("rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            draft.unlink()


# ── secrets ────────────────────────────────────────────────────────────────────────────────────────


def _secret_files(config: Config, contents: Contents, secrets: Secrets, passphrase: str) -> Iterator[tuple[str, bytes]]:
    """Yield members for what is secret, or may be; what is not taken is added to the remarks."""
    if secrets == "none":
        contents.remarks.update(dict.fromkeys((_relative(config, path) for path in contents.loose), NO_SECRETS))
        return
    left = MOST_PLAIN_SECRET_BYTES
    taken: dict[str, bytes] = {}
    for path in [*contents.secrets, *contents.loose]:
        try:
            size = path.stat().st_size
            if size > left and path in contents.loose:
                contents.remarks[_relative(config, path)] = f"has {size} bytes, more than is sealed; copy it yourself"
                continue
            if size > left:
                raise StoreError(
                    f"{config.secrets} holds more than {MOST_PLAIN_SECRET_BYTES} bytes", hint="clear it up"
                )
            taken[_name(config, path)] = path.read_bytes()
            left -= size
        except FileNotFoundError:
            continue  # gone since it was listed
    if secrets == "plain":
        yield from taken.items()
        return
    plain = json.dumps({name: base64.b64encode(content).decode() for name, content in taken.items()}).encode()
    salt, nonce = os.urandom(SALT_BYTES), os.urandom(NONCE_BYTES)
    yield SEALED, salt + nonce + AESGCM(_key(passphrase, salt)).encrypt(nonce, plain, SEALED.encode())


def _unsealed(file: Path, sealed: bytes, passphrase: str) -> dict[str, bytes]:
    """Return the secrets of a backup by their names in it. Raises `StoreError` when the passphrase is another."""
    salt, nonce = sealed[:SALT_BYTES], sealed[SALT_BYTES : SALT_BYTES + NONCE_BYTES]
    try:
        plain = AESGCM(_key(passphrase, salt)).decrypt(nonce, sealed[SALT_BYTES + NONCE_BYTES :], SEALED.encode())
    except InvalidTag as trouble:
        hint = "give the passphrase with which it was made: --passphrase-file FILE"
        raise StoreError(f"the secrets in {file} are sealed with another passphrase", hint=hint) from trouble
    except ValueError as trouble:
        raise StoreError(f"{file} is no whole backup: its sealed secrets are cut", hint=NOT_WHOLE) from trouble
    secrets: dict[str, bytes] = {}
    for name, text in unsealed_files(file, plain).items():
        try:
            secrets[name] = base64.b64decode(text, validate=True)
        except ValueError as trouble:
            raise StoreError(
                f"{file} is no whole backup: {name!r} is not as it was sealed", hint=NOT_WHOLE
            ) from trouble
    return secrets


def _key(passphrase: str, salt: bytes) -> bytes:
    return Scrypt(salt=salt, length=KEY_BYTES, **SCRYPT).derive(passphrase.encode())


# ── reading ────────────────────────────────────────────────────────────────────────────────────────


def _copied(content: Part | BinaryIO, target: Path | None, mode: int) -> str:
    """Return the hash of a member; with a target it is also put there, on the disk."""
    digest = hashlib.sha256()
    if target is None:
        while piece := content.read(PIECE_BYTES):
            digest.update(piece)
        return digest.hexdigest()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 | mode & 0o100)
    with os.fdopen(handle, "wb") as out:
        while piece := content.read(PIECE_BYTES):
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    sync_folder(target.parent)
    return digest.hexdigest()


def _folder(staging: Path, name: str) -> Path:
    folder = staging / name
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _put_aside(config: Config, aside: Path, brought: Collection[str], *, replaces_secrets: bool) -> None:
    """Move what is there into an empty folder, and what else a restore that was cut off has `brought`.

    Secrets stay when the backup has none, but for the record's end.
    """
    for path in config.data.iterdir():
        if path.name in brought or not _stays(config, path):
            path.rename(aside / path.name)
    if replaces_secrets and config.secrets.exists():
        config.secrets.rename(aside / "secrets")
    else:
        for head in (config.record_head, config.egress_head):  # they are signed of other records
            if head.exists():
                head.rename(aside / head.name)
    if not any(aside.iterdir()):
        aside.rmdir()


def _stays(config: Config, path: Path) -> bool:
    """Tell whether something in the data directory stays there when a house is put aside."""
    is_ours = path.name in OWN_STATE or path.name.startswith((ASIDE, STAGING))
    return is_ours or path == config.secrets or path.absolute() == config.models.folder.absolute()


def _bring_back(config: Config, aside: Path, loose: Sequence[Path]) -> None:
    """Have what may be secret lie where it lay: a backup without secrets does not bring it."""
    for path in loose:
        before = aside / path.relative_to(config.data)
        if before.is_file() and not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            before.rename(path)
