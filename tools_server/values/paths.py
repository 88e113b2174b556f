"""Whitelisted folders, opened so that no name, link or race leads out of them.

The kernel does the confining: `openat2` with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS resolves
the whole path at once, so there is no moment between a check and its use. Where the kernel lacks it (before Linux
5.6, or a seccomp filter that hides it) every component is opened by itself with O_NOFOLLOW. After opening, `fstat`
has the last word: a regular file, one link, not too large; O_NONBLOCK keeps a FIFO from hanging the process.
"""

from __future__ import annotations

import copy
import ctypes
import errno
import os
import re
import secrets
import stat
import time
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools_server.values.language import text as _

FILE_BYTES = 256 * 1024  # a note or a task written by hand is far smaller
NAME_BYTES = 255  # the kernel's own limit
DEPTH = 32  # deeper than any folder people keep; bounds the work of a hostile path
LISTED = 2_000  # names returned of one folder
SWEEP_SECONDS = 60  # another process may be in the middle of a write, which takes milliseconds
_TEMPORARY = re.compile(r"\.tmp-[0-9a-f]{16}")

Reason = Literal["name", "escape", "missing", "kind", "linked", "large", "changed", "exists", "read_only"]

_libc = ctypes.CDLL(None, use_errno=True)
_OPENAT2 = 437  # the same number on every architecture
_BENEATH, _NO_SYMLINKS, _NO_MAGICLINKS, _NO_XDEV = 0x08, 0x04, 0x02, 0x01
_RENAME_NOREPLACE = 1
_MISSING_CALL = (errno.ENOSYS, errno.EPERM)  # an old kernel says the one, a seccomp filter the other


class PathDenied(Exception):
    """A path cannot be used. `reason` is a word for programs; `str()` names only the path that was asked for."""

    def __init__(self, reason: Reason, sentence: str) -> None:
        super().__init__(sentence)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which version of a file was read; a later `replace` refuses when another has taken its place."""

    inode: int
    modified_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """One visible thing in a folder. Links, pipes and the like are listed as "other": nobody can open them here."""

    name: str
    kind: Literal["file", "folder", "other"]
    size: int  # bytes
    modified: float  # wall clock, seconds since 1970


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(folder: int, relative: str, flags: int) -> int:
    """Open `relative` under the open folder, never outside it, through a link or on another mount. Raises OSError."""
    flags |= os.O_CLOEXEC
    how = _How(flags, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS | _NO_XDEV)
    opened = _libc.syscall(_OPENAT2, folder, os.fsencode(relative), ctypes.byref(how), ctypes.sizeof(how))
    if opened >= 0:
        return int(opened)
    failed = ctypes.get_errno()
    if failed in _MISSING_CALL:
        return walk_beneath(folder, relative, flags)
    raise OSError(failed, os.strerror(failed), relative)


def walk_beneath(folder: int, relative: str, flags: int) -> int:
    """Do the same without `openat2`: one component at a time, following nothing."""
    *parents, last = relative.split("/")
    here = os.dup(folder)
    try:
        for name in parents:
            there = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = there
        opened = os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        if os.fstat(opened).st_dev != os.fstat(folder).st_dev:
            os.close(opened)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)
        return opened
    finally:
        os.close(here)


def checked(relative: str) -> str:
    """Return a path that may be tried, or raise `PathDenied`. Names that people give to files all pass.

    Refused: absolute, empty, "." and ".." parts, hidden parts (".env", ".git"), NUL and other control characters,
    characters that turn or hide text, half characters, and what is too long or too deep.
    """

    def refuse(why: str) -> PathDenied:
        return PathDenied("name", _("That file name cannot be used: {why}.").format(why=why))

    parts = relative.split("/")
    if relative.startswith("/") or ".." in parts:
        raise PathDenied("escape", _("That file name cannot be used: it does not stay in its folder."))
    if len(parts) > DEPTH:
        raise refuse(_("it is too deep"))
    for part in parts:
        if part in ("", "."):
            raise refuse(_("a part of it is empty"))
        if part.startswith("."):
            raise refuse(_("a part of it is hidden"))
        # Cc: control, Cs: half a character, Cf: writing direction and zero width (emoji joiners are harmless).
        if any(
            unicodedata.category(c) in ("Cc", "Cs") or (unicodedata.category(c) == "Cf" and c != "\u200d") for c in part
        ):
            raise refuse(_("it holds characters that cannot be seen"))
        if len(part.encode()) > NAME_BYTES:
            raise refuse(_("it is too long"))
    return relative


class Root:
    """One whitelisted folder. Every path given to it is relative, with "/" between its parts.

    The folder is opened anew for each use, so one that was moved away and restored is found again.
    """

    def __init__(self, folder: Path) -> None:
        """`folder` is the operator's word and is made when missing; links on the way *to* it are resolved once."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder.resolve(strict=True)
        self.read_only = False
        self._shut, self._but = "", ""

    def reading(self) -> Root:
        """Return the same folder, in which nothing can be changed."""
        same = copy.copy(self)
        same.read_only = True
        return same

    def shutting(self, folder: str, *, but: str) -> Root:
        """Return the same folder, in one folder of which there seems to be nothing but one file ("": nothing)."""
        same = copy.copy(self)
        same._shut, same._but = f"{folder}/", but
        return same

    def _checked(self, relative: str) -> str:
        path = checked(relative)
        if self._shut and path != self._but and path.casefold().startswith(self._shut):  # some disks see no case
            raise PathDenied("missing", _("There is no {relative}.").format(relative=relative))
        return path

    def _seen(self, folder: str, name: str) -> bool:
        path = f"{folder}/{name}" if folder else name
        shut = bool(self._shut) and path.casefold().startswith(self._shut)
        return not name.startswith(".") and (path == self._but or not shut)

    def _to_change(self) -> None:
        if self.read_only:
            raise PathDenied("read_only", _("That folder is only for reading."))

    @contextmanager
    def _opened(self) -> Iterator[int]:
        try:
            root = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as gone:
            raise PathDenied("missing", _("The folder is not there any more.")) from gone
        try:
            yield root
        finally:
            os.close(root)

    @contextmanager
    def _parent(self, relative: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder that holds `relative`; give it with the last name."""
        *parents, name = self._checked(relative).split("/")
        with self._opened() as root, _translated(relative):
            here = os.dup(root)
            try:
                for parent in parents:
                    if make:
                        with suppress(FileExistsError):
                            os.mkdir(parent, mode=0o770, dir_fd=here)
                            os.fsync(here)
                    there = open_beneath(here, parent, os.O_RDONLY | os.O_DIRECTORY)
                    os.close(here)
                    here = there
                yield here, name
            finally:
                os.close(here)

    def read(self, relative: str, most: int = FILE_BYTES) -> tuple[bytes, Stamp]:
        """Return a file's bytes and which version they are."""
        with self._opened() as root, _translated(relative):
            file = open_beneath(root, self._checked(relative), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
            with os.fdopen(file, "rb", buffering=0) as opened:
                status = os.fstat(file)
                _regular(status, relative, most)
                content = b""
                while len(content) <= most and (more := opened.read(most + 1 - len(content))):
                    content += more
                if len(content) > most:  # it grew after fstat
                    raise PathDenied("large", _("{relative} is too large.").format(relative=relative))
                return content, Stamp(status.st_ino, status.st_mtime_ns, status.st_size)

    def piece(self, relative: str, begin: int, most: int) -> tuple[bytes, int]:
        """Return at most `most` bytes of a file of any size, from byte `begin` on, and how many it has in all."""
        with self._opened() as root, _translated(relative):
            file = open_beneath(root, self._checked(relative), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
            try:
                status = os.fstat(file)
                _regular(status, relative, most=None)
                return os.pread(file, most, begin), status.st_size
            finally:
                os.close(file)

    def create(self, relative: str, content: bytes) -> None:
        """Write a new file, whole and durable or not at all; its folders are made. An existing one is left alone."""
        self._to_change()
        with self._parent(relative, make=True) as (folder, name), _temporary(folder, content) as temporary:
            _rename_without_replacing(folder, temporary, name)
            os.fsync(folder)

    def replace(self, relative: str, content: bytes, read: Stamp) -> None:
        """Put new bytes in place of the version that was read, whole and durable or not at all.

        Raises `PathDenied` "changed" when somebody has saved the file since. (Between that look and the rename lie
        some microseconds; no file system closes them.)
        """
        self._to_change()
        with self._parent(relative) as (folder, name):
            was = os.stat(name, dir_fd=folder, follow_symlinks=False)
            _regular(was, relative, FILE_BYTES)
            with _temporary(folder, content, like=was) as temporary:
                now = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if Stamp(now.st_ino, now.st_mtime_ns, now.st_size) != read:
                    raise PathDenied("changed", _("{relative} was edited just now.").format(relative=relative))
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                os.fsync(folder)

    def remove(self, relative: str) -> None:
        """Remove a regular file (never a folder, never through a link), durably."""
        self._to_change()
        with self._parent(relative) as (folder, name):
            _regular(os.stat(name, dir_fd=folder, follow_symlinks=False), relative, most=None)
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)

    def move(self, old: str, new: str) -> None:
        """Give a regular file another name or folder, durably; folders are made. What is already there is left alone.

        On a file system that cannot rename without replacing, the file is claimed by an empty one first.
        """
        self._to_change()
        with self._parent(old) as (before, name):
            _regular(os.stat(name, dir_fd=before, follow_symlinks=False), old, most=None)
            with self._parent(new, make=True) as (after, renamed):
                _rename_without_replacing(before, name, renamed, after)
                os.fsync(after)
            os.fsync(before)

    def sweep(self) -> None:
        """Remove what writes that were cut off by a crash have left: hidden, never finished, a minute old at least."""
        old = time.time() - SWEEP_SECONDS
        for _path, _folders, names, folder in os.fwalk(self.folder):
            for name in filter(_TEMPORARY.fullmatch, names):
                with suppress(FileNotFoundError):  # another process has just finished it
                    if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime < old:
                        os.unlink(name, dir_fd=folder)

    def entries(self, relative: str = "") -> list[FolderEntry]:
        """Return the visible things in a folder, or in the root itself, by name. Raises `PathDenied` "missing"."""
        with self._opened() as root, _translated(relative):
            folder = (
                open_beneath(root, self._checked(relative), os.O_RDONLY | os.O_DIRECTORY) if relative else os.dup(root)
            )
            try:
                visible = sorted(name for name in os.listdir(folder) if self._seen(relative, name))[:LISTED]  # noqa: PTH208 — a descriptor has no Path
                return [entry for name in visible if (entry := _entry(folder, name))]
            finally:
                os.close(folder)

    def walk(self, folder: str, depth: int) -> Iterator[tuple[str, FolderEntry]]:
        """Give the files of a folder by their paths, then those of the folders in it, `depth` deep.

        Nothing when there is no such folder; raises `PathDenied` when it cannot be opened otherwise.
        """
        try:
            entries = self.entries(folder)
        except PathDenied as denied:
            if denied.reason == "missing":
                return
            raise
        within = f"{folder}/" if folder else ""
        yield from ((within + entry.name, entry) for entry in entries if entry.kind != "folder")
        for entry in entries:
            if depth and entry.kind == "folder":
                with suppress(PathDenied):  # moved or locked a moment ago
                    yield from self.walk(within + entry.name, depth - 1)


@contextmanager
def _translated(relative: str) -> Iterator[None]:
    """Turn what the kernel says into a reason, without telling where the folder lies."""
    try:
        yield
    except OSError as failed:
        if failed.errno in (errno.EXDEV, errno.ELOOP):
            raise PathDenied("escape", _("{relative} leads out of its folder.").format(relative=relative)) from failed
        if failed.errno in (errno.ENOENT, errno.ESTALE):
            raise PathDenied("missing", _("There is no {relative}.").format(relative=relative)) from failed
        if failed.errno == errno.EEXIST:
            raise PathDenied("exists", _("There is already a {relative}.").format(relative=relative)) from failed
        if failed.errno in (errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.EACCES, errno.EAGAIN):
            raise PathDenied(
                "kind", _("{relative} is not a file that can be opened.").format(relative=relative)
            ) from failed
        if failed.errno == errno.ENAMETOOLONG:
            raise PathDenied("name", _("That file name cannot be used: it is too long.")) from failed
        raise


def _entry(folder: int, name: str) -> FolderEntry | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:  # gone a moment ago
        return None
    kind: Literal["file", "folder", "other"] = "other"
    if stat.S_ISDIR(status.st_mode):
        kind = "folder"
    elif stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        kind = "file"
    return FolderEntry(name, kind, status.st_size, status.st_mtime)


def _regular(status: os.stat_result, relative: str, most: int | None) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise PathDenied("escape", _("{relative} leads out of its folder.").format(relative=relative))
    if not stat.S_ISREG(status.st_mode):
        raise PathDenied("kind", _("{relative} is not a file that can be opened.").format(relative=relative))
    if status.st_nlink > 1:  # a hard link may be a door to a file outside; 0 is one replaced a moment ago
        raise PathDenied("linked", _("{relative} is also linked from elsewhere.").format(relative=relative))
    if most is not None and status.st_size > most:
        raise PathDenied("large", _("{relative} is too large.").format(relative=relative))


@contextmanager
def _temporary(folder: int, content: bytes, like: os.stat_result | None = None) -> Iterator[str]:
    """Write and sync a hidden file beside the wanted one; it is gone afterwards unless it was renamed.

    It has the permissions of `like`; without one, those that this process gives to new files.
    """
    name = f".tmp-{secrets.token_hex(8)}"
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o660, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as opened:
            if like is not None:
                os.fchmod(file, stat.S_IMODE(like.st_mode))  # which no umask narrows
            opened.write(content)
            opened.flush()
            os.fsync(file)
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _rename_without_replacing(folder: int, old: str, new: str, other: int | None = None) -> None:
    to = folder if other is None else other
    done = _libc.renameat2(folder, os.fsencode(old), to, os.fsencode(new), _RENAME_NOREPLACE)
    if done == 0:
        return
    failed = ctypes.get_errno()
    if failed != errno.EINVAL and failed not in _MISSING_CALL:
        raise OSError(failed, os.strerror(failed), new)
    # This file system has no such rename: claim the name first, so that at worst an empty file of ours is replaced.
    os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=to))
    os.rename(old, new, src_dir_fd=folder, dst_dir_fd=to)
