"""Reads the tar file of a backup member by member, and refuses whatever no backup of ours holds.

Python's own reader of tar follows links, fills the holes of sparse files and takes lengths on trust. Ours knows two
kinds of member: a plain file, and the extended header that carries a long name or a large size. So nothing in it is
larger than the file itself, and nothing leads elsewhere.
"""

from __future__ import annotations

import json
import math
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal, NoReturn, get_args

from atlas.errors import StoreError
from atlas.store.backup_contents import ASIDE, JOURNAL, OWN_STATE
from wall import strict_json

Secrets = Literal["none", "sealed", "plain"]
FORMAT = 2  # the first had no remarks
MANIFEST, SEALED, DATA, OUTSIDE = "manifest.json", "secrets.sealed", "data/", "outside/"
NOT_WHOLE = "take another backup: this one was cut or changed"
_NOT_OURS = (
    f"ours hold plain files below {DATA} and {OUTSIDE}, each once, then {MANIFEST}; take a file that"
    " `atlas backup create` made"
)
MOST_MEMBERS = 500_000
MOST_MANIFEST_BYTES, MOST_SECRET_BYTES = 256 << 20, 16 << 20
MOST_HEADER_BYTES = 64 << 10  # a long name and a size
MOST_NAME_BYTES, MOST_PART_BYTES = 4_000, 255  # of a path, and of one part of it, as file systems have them
MOST_VERSION = 100
LATEST = 253_402_300_799.0  # the last second of the year 9999
PIECE_BYTES = 1 << 20
_RECORD = re.compile(rb"(\d{1,6}) ([^=]{1,100})=")
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a device",
    b"4": "a device",
    b"5": "a folder",
    b"6": "a pipe",
    b"S": "a sparse file",
}


@dataclass(frozen=True, slots=True)
class Backup:
    """What one backup holds. `files` are hashes by the names of members."""

    at: float
    version: str
    secrets: Secrets
    files: Mapping[str, str] = field(default_factory=dict)
    outside: Mapping[str, str] = field(default_factory=dict)  # settings that lay elsewhere: where
    remarks: Mapping[str, str] = field(default_factory=dict)  # what is not in it, or not as usual, and why
    format: int = FORMAT


class Part:
    """The content of one member, read forward."""

    def __init__(self, raw: BinaryIO, size: int) -> None:
        self._raw = raw
        self._left = size

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes; b"" at the end."""
        piece = self._raw.read(min(size, self._left))
        self._left -= len(piece)
        return piece


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a backup."""

    name: str
    size: int
    mode: int
    content: Part


def members(file: Path) -> Iterator[Member]:
    """Yield the members of a backup, the manifest last. Raises `StoreError` where one is none of ours, and `OSError`.

    The content of each is to be read before the next is asked for.
    """
    names: set[str] = set()
    folders: set[str] = set()
    size = file.stat().st_size
    with file.open("rb") as raw:
        while member := _member(file, raw, size):
            end = raw.tell() + -(-member.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
            _check_name(file, member.name, names, folders)
            if end > size:
                raise_not_whole(file, f"it ends in the middle of {member.name!r}")
            if len(names) > MOST_MEMBERS:
                _refuse(file, f"more than {MOST_MEMBERS} members")
            yield member
            raw.seek(end)
            if member.name == MANIFEST:
                if raw.read(tarfile.RECORDSIZE + tarfile.BLOCKSIZE).strip(b"\0"):
                    _refuse(file, f"something behind {MANIFEST}")
                return
    raise_not_whole(file, "it ends before its manifest")


def _member(file: Path, raw: BinaryIO, size: int) -> Member | None:
    """Return the next member; `None` at the end."""
    extended: dict[str, str] = {}
    begin = raw.tell()
    while True:
        block = raw.read(tarfile.BLOCKSIZE)
        if not block.strip(b"\0"):
            return None
        try:
            header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as trouble:
            raise StoreError(
                f"{file} is no whole backup: byte {begin} begins no member ({trouble})", hint=NOT_WHOLE
            ) from trouble
        if header.type == tarfile.XHDTYPE and not extended and 0 < header.size <= MOST_HEADER_BYTES:
            padded = -(-header.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
            extended = _extended(file, raw.read(padded)[: header.size], begin)
            continue
        name = extended.get("path", header.name)
        if header.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
            _refuse(file, f"{name!r} at byte {begin} as {_KINDS.get(header.type, f'a member of kind {header.type!r}')}")
        if any(key.startswith("GNU.sparse") for key in extended):
            _refuse(file, f"{name!r} at byte {begin} as a sparse file")
        length = extended.get("size", str(header.size))
        if not (length.isascii() and length.isdigit() and len(length) <= len(str(size))):
            raise_not_whole(file, f"{name!r} at byte {begin} says that it has {length[:30]} bytes, in a file of {size}")
        return Member(name, int(length), header.mode, Part(raw, int(length)))


def _extended(file: Path, content: bytes, begin: int) -> dict[str, str]:
    """Return what an extended header says: records of their own length, a space, key, =, value, newline."""
    records: dict[str, str] = {}
    at = 0
    while at < len(content):
        record = _RECORD.match(content, at)
        end = at + int(record[1]) if record else 0
        if record is None or end <= record.end() or content[end - 1 : end] != b"\n":
            raise_not_whole(file, f"the extended header at byte {begin} is none")
        records[record[2].decode("utf-8", "replace")] = content[record.end() : end - 1].decode("utf-8", "replace")
        at = end
    return records


def _check_name(file: Path, name: str, names: set[str], folders: set[str]) -> None:
    """Refuse a name that ours do not have, that was there already, or that is a file and a folder."""
    if why := name_fault(name):
        _refuse(file, f"{name[:200]!r}, {why}")
    if name in names:
        _refuse(file, f"{name!r} twice")
    above = {str(parent) for parent in PurePosixPath(name).parents} - {"."}
    if name in folders or above & names:
        _refuse(file, f"{name!r} both as a file and as a folder")
    names.add(name)
    folders |= above


def name_fault(name: str) -> str:
    """Return why no member of ours has this name; "" where one may have it."""
    if name in (MANIFEST, SEALED):
        return ""
    path = PurePosixPath(name)
    if path.is_absolute():
        return "a path from the root of a disk"
    if ".." in path.parts:
        return "a path that leads out of its folder"
    try:
        long = len(name.encode()) > MOST_NAME_BYTES or any(len(one.encode()) > MOST_PART_BYTES for one in path.parts)
    except UnicodeEncodeError:
        return "a name that is no text"
    if long:
        return "a longer name than a disk takes"
    if "\0" in name or str(path) != name or len(path.parts) < 2 or not name.startswith((DATA, OUTSIDE)):
        return f"a path below neither {DATA} nor {OUTSIDE}"
    if path.parts[1].startswith(ASIDE):
        return "what a restore had put aside"
    if name == f"{DATA}secrets":
        return "a file where the folder of secrets lies"
    is_of_a_run = path.parts[1] in OWN_STATE or name == f"{DATA}secrets/{JOURNAL}"
    return "what a house has only while it runs" if is_of_a_run else ""


def read_manifest(file: Path, member: Member, hashes: Mapping[str, str]) -> Backup:
    """Return what the manifest says, compared with the members that were read. Raises `StoreError`."""
    if member.size > MOST_MANIFEST_BYTES:
        _refuse(file, f"a manifest of {member.size} bytes, more than {MOST_MANIFEST_BYTES}")
    try:
        table = strict_json.loads(member.content.read(member.size), finite=True)
    except (ValueError, RecursionError) as trouble:
        raise StoreError(f"{file} is no whole backup: its manifest is no JSON ({trouble})", hint=NOT_WHOLE) from trouble
    if isinstance(table, dict) and type(table.get("format", 1)) is int and table.get("format", 1) > FORMAT:
        raise StoreError(f"{file} has the form {table['format']}, of a newer Atlas", hint="update Atlas")
    if fault := _manifest_fault(table):
        raise_not_whole(file, f"its manifest is none of ours: {fault}")
    backup = Backup(**table)
    for name in {*backup.files, *hashes}:
        if backup.files.get(name) != hashes.get(name):
            raise_not_whole(file, f"{name} is not what was written")
    if odd := {name for name in hashes if name.startswith(OUTSIDE)} - {*backup.outside}:
        raise_not_whole(file, f"its manifest does not say where {min(odd)!r} lay")
    sealed, plain = SEALED in hashes, any(name.startswith(f"{DATA}secrets/") for name in hashes)
    if sealed != (backup.secrets == "sealed") or (plain and backup.secrets != "plain"):
        raise_not_whole(file, f"its manifest says {backup.secrets!r} of its secrets, and they are not so")
    return backup


def _manifest_fault(table: Any) -> str:
    """Return what keeps a value from being a manifest; "" when it is one."""
    if not isinstance(table, dict):
        return "it is no object"
    if strange := set(table) - {one.name for one in fields(Backup)}:
        return f"it has {min(strange)[:100]!r}"
    at, format = table.get("at"), table.get("format", 1)
    if isinstance(at, bool) or not isinstance(at, int | float) or not math.isfinite(at) or not 0 <= at <= LATEST:
        return "'at' has to be a moment in seconds since 1970"
    if type(format) is not int or format < 1:
        return "'format' has to be a whole number"
    version = table.get("version")
    if not isinstance(version, str) or len(version) > MOST_VERSION or not version.isprintable():
        return "'version' has to be a short text"
    if table.get("secrets") not in get_args(Secrets):
        return f"'secrets' has to be one of {', '.join(get_args(Secrets))}"
    for name in ("files", "outside", "remarks"):
        values = table.get(name, {})
        if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
            return f"{name!r} has to be texts by names"
    return ""


def raise_not_whole(file: Path, why: str) -> NoReturn:
    """Refuse a file that is not as it was written."""
    raise StoreError(f"{file} is no whole backup: {why}", hint=NOT_WHOLE)


def _refuse(file: Path, what: str) -> NoReturn:
    raise StoreError(f"{file} holds {what}, which no backup of ours does", hint=_NOT_OURS)


def unsealed_files(file: Path, plain: bytes) -> dict[str, str]:
    """Return what was sealed: contents in base64 by the names of members. Raises `StoreError`."""
    try:
        table = json.loads(plain)
    except (ValueError, RecursionError) as trouble:
        raise StoreError(f"{file} is no whole backup: what is sealed is no JSON", hint=NOT_WHOLE) from trouble
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise_not_whole(file, "what is sealed are no files")
    names: set[str] = set()
    folders: set[str] = set()
    for name in table:
        _check_name(file, name, names, folders)
        if not name.startswith(DATA):
            _refuse(file, f"{name!r} among its secrets")
    return table
