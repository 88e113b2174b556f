"""Chooses what of a data directory a backup takes, what travels with the secrets, and what stays behind and why.

Sure to hold nothing secret are only files that the house writes itself, and papers that people write where the house
has them. Everything else that lies in the data directory, such as a key beside atlas.toml, travels with the secrets:
sealed, or not at all.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlas.config import NO_MEMORIES, Config

ASIDE = "before-restore-"
STAGING = ".restore-"
LAST_BACKUP = "backup.json"  # in the data directory: which one was made last
FAILED_BACKUP = "backup-failed.json"  # there while the last try of the day's backup failed
UNFINISHED = "restore.unfinished"  # there from the first change of a restore to its last, with the models it brings
JOURNAL = "settings.journal"  # among the secrets, for it may hold some, and in no backup: a start goes by it
OWN_STATE = ("run", LAST_BACKUP, FAILED_BACKUP, UNFINISHED)  # no backup has it, and no restore touches it
LOGS = "log"  # the latest lines of the house's log
MADE_ANEW = (*OWN_STATE, "kept", "near_misses", LOGS)
SIDE_FILE = re.compile(  # of what is in a backup
    rf".*\.db-(wal|shm|journal)|.*\.draft|\..+\.[a-z0-9_]{{8}}|{re.escape(STAGING)}.*"
)
_OF_THE_HOUSE = re.compile(
    r"tools|messages|.+-agent-config|settings-.+|.+\.db|taught\.json|wake_thresholds\.json|speaking_volumes\.json|sentences(\.\w+)?\.yaml|atlas\.toml|policy\.toml"
    r"|egress(\.\d{12})?\.(jsonl|head)"
)
_SECRET_NAME = re.compile(r".*\.(key|pem|p12|pfx|jks|token|password|passphrase|kdbx)|id_(rsa|dsa|ecdsa|ed25519)", re.I)
_PRIVATE_KEY = b"PRIVATE KEY-----"
_BEGINNING_BYTES = 4096
NO_SECRETS = "travels with keys and passwords: sealed by --passphrase-file FILE, or not at all"


@dataclass(slots=True)
class Contents:
    """Files of a data directory, sorted: `remarks` say of what stays behind why, by its name."""

    plain: list[Path] = field(default_factory=list)
    databases: list[Path] = field(default_factory=list)
    secrets: list[Path] = field(default_factory=list)  # in the folder of secrets
    loose: list[Path] = field(default_factory=list)  # elsewhere, and perhaps secret
    remarks: dict[str, str] = field(default_factory=dict)


def contents_of(config: Config, backups: Path | None = None) -> Contents:
    """Return what a backup of this house is made of. Backups inside the data directory are not in backups."""
    contents = Contents()
    named = set(_named_files(config))
    for path in sorted(named):
        if config.data.absolute() not in path.absolute().parents:
            contents.remarks[str(path)] = "is named in the settings and lies outside the data folder; copy it yourself"
    for entry in sorted(config.data.iterdir()) if config.data.is_dir() else ():
        if entry.name in MADE_ANEW or entry.absolute() == config.models.folder.absolute():
            continue
        if entry.name.startswith(ASIDE):
            contents.remarks[entry.name] = "was put aside by a restore"
            continue
        for path in _files(entry, backups):
            _sort(config, path, contents, named)
    return contents


def own_databases(config: Config) -> set[Path]:
    """Return the databases without which the house would not be itself."""
    names = {*NO_MEMORIES, *(agent.memory for agent in config.agents.values())} - {"tools.db"}
    return {config.tools_data / "tools.db", *(config.data / name for name in names)}


def _files(entry: Path, backups: Path | None) -> Iterator[Path]:
    """Yield what lies at and below a path, but folders; no link is followed."""
    if entry.is_symlink() or not entry.is_dir():
        yield entry
        return
    if backups is None or entry.absolute() != backups.absolute():
        for path in sorted(entry.iterdir()):
            yield from _files(path, backups)


def _sort(config: Config, path: Path, contents: Contents, named: set[Path]) -> None:
    """Put one path where it belongs."""
    name = path.relative_to(config.data).as_posix()
    if SIDE_FILE.fullmatch(path.name) or path.parent == config.tools_data / "tmp":
        return
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) and config.secrets in path.parents and path.resolve() == config.tools.policy.resolve():
            return  # for `atlas-tools` at a terminal; each start makes it anew
        if stat.S_ISLNK(mode):
            contents.remarks[name] = f"is a link to {path.readlink()}; what it leads to is to be copied by itself"
        elif not stat.S_ISREG(mode):
            contents.remarks[name] = "is no file"
        elif path == config.secrets / JOURNAL:
            contents.remarks[name] = "is of a change to the settings that was being made; the next start takes it back"
        elif config.secrets in path.parents:
            contents.secrets.append(path)
        elif path in named or not _is_of_the_house(config, path) or _holds_key(path):
            contents.loose.append(path)
        else:
            (contents.databases if path.suffix == ".db" else contents.plain).append(path)
    except FileNotFoundError:
        return  # gone since it was listed
    except OSError as trouble:
        contents.remarks[name] = f"cannot be read: {trouble.strerror}"


def _holds_key(path: Path) -> bool:
    """Tell whether a file is called like a key or a password, or is a private key."""
    if _SECRET_NAME.fullmatch(path.name):
        return True
    with path.open("rb") as content:
        return _PRIVATE_KEY in content.read(_BEGINNING_BYTES)


def _is_of_the_house(config: Config, path: Path) -> bool:
    """Tell whether a file is one that the house writes, or lies in a folder of papers or of a tool."""
    first = path.relative_to(config.data).parts[0]
    folders = _settings(config.tool_settings, "_folder")
    return bool(_OF_THE_HOUSE.fullmatch(first)) or any(Path(folder) in path.parents for folder in folders)


def _named_files(config: Config) -> Iterator[Path]:
    """Yield every file that the settings name, which are keys and passwords."""
    yield from (Path(llm.api_key_file).expanduser() for llm in config.llm.values() if llm.api_key_file)
    yield from [Path(config.backup.passphrase_file)] if config.backup.passphrase_file else []
    yield from (Path(one.key_file) for one in config.esphome_devices if one.key_file)
    yield from (Path(name) for name in _settings(config.tool_settings, "_file"))


def _settings(value: Any, ending: str) -> Iterator[str]:
    """Yield the texts of all settings whose names end so."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, str) and inner and name.endswith(ending):
                yield inner
            else:
                yield from _settings(inner, ending)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _settings(inner, ending)
