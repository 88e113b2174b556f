"""No name, link or race leads out of a whitelisted folder, and honest names still work."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import for_every
from tools_server.values import paths
from tools_server.values.paths import FILE_BYTES, PathDenied, Root, Stamp

SECRET = b"the family silver is under the third stair"


@pytest.fixture(params=["openat2", "component by component"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Everything holds on a kernel that has openat2, and on one that has not."""
    if request.param != "openat2":
        monkeypatch.setattr(paths, "open_beneath", paths.walk_beneath)
    return str(request.param)


@pytest.fixture
def outside(data: Path) -> Path:
    """A folder beside the root, with a secret in it. Its name begins like the root's."""
    folder = data / "allowed_evil"
    folder.mkdir()
    (folder / "secret.md").write_bytes(SECRET)
    return folder


@pytest.fixture
def root(data: Path, outside: Path, kernel: str) -> Iterator[Root]:
    opened = Root(data / "allowed")
    opened.create("sub/ok.md", b"fine")
    yield opened
    assert (outside / "secret.md").read_bytes() == SECRET, "something was written outside"
    assert sorted(path.name for path in outside.iterdir()) == ["secret.md"], "something was made outside"


HOSTILE = {
    "up": "../allowed_evil/secret.md",
    "down and up": "sub/../../allowed_evil/secret.md",
    "absolute outside": "/etc/passwd",
    "absolute inside": "{root}/sub/ok.md",
    "sibling with the same beginning, absolute": "{root}_evil/secret.md",
    "sibling with the same beginning": "../allowed_evil/secret.md",
    "doubled slashes": "..//allowed_evil//secret.md",
    "dots in between": "./.././allowed_evil/secret.md",
    "a slash behind a file": "sub/ok.md/",
    "the root itself": "sub/..",
    "a null byte at the end": "sub/ok.md\0.png",
    "a null byte inside": "sub\0/ok.md",
    "encoded dots": "%2e%2e/allowed_evil/secret.md",
    "twice encoded dots": "%252e%252e/allowed_evil/secret.md",
    "backslashes": "..\\allowed_evil\\secret.md",
    "mixed slashes": "sub\\..\\..\\allowed_evil/secret.md",
    "home": "~/secret.md",
    "another's home": "~root/.bashrc",
    "a variable": "$HOME/secret.md",
    "a variable in braces": "${HOME}/secret.md",
    "a file url": "file:///etc/passwd",
    "a network share": "\\\\host\\c$\\secret.md",
    "a drive": "C:\\secret.md",
    "a drive's current folder": "C:secret.md",
    "full-width dots": "．．/allowed_evil/secret.md",
    "one-dot leaders": "‥/allowed_evil/secret.md",
    "a slash that is none": "..∕allowed_evil∕secret.md",
    "half a character": "sub/\ud800.md",
    "text direction": "sub/\u202edm.ko",
    "zero width": "sub/o\u200bk.md",
    "a space in front": " ../allowed_evil/secret.md",
    "a dot behind": "sub/ok.md.",
    "a line end": "sub/ok.md\n",
    "nothing": "",
    "a dot": ".",
    "a slash": "/",
    "the environment": "/proc/self/environ",
    "an open file": "/proc/self/fd/0",
    "standard input": "/dev/stdin",
    "six thousand parts": "a/" * 6000 + "b",
    "a name of 300": "x" * 300,
    "a hidden file": ".env",
    "a hidden folder": "sub/.git/config",
    "a star": "sub/*",
    "a command": "$(cat /etc/passwd)",
    "two commands": "ok.md; cat /etc/passwd",
    "an option": "--help",
}


@for_every("name", HOSTILE)
def test_a_hostile_name_reads_nothing_and_says_why(root: Root, name: str) -> None:
    with pytest.raises(PathDenied) as denied:
        root.read(HOSTILE[name].format(root=root.folder) if "{root}" in HOSTILE[name] else HOSTILE[name])
    assert denied.value.reason in ("name", "missing", "escape", "kind")
    assert str(root.folder) not in str(denied.value) or "{root}" in HOSTILE[name], "the answer tells where folders lie"


@for_every("name", HOSTILE)
def test_a_hostile_name_makes_nothing_outside(root: Root, name: str) -> None:
    before = set(root.folder.parent.iterdir())
    with contextlib.suppress(PathDenied):
        root.create(HOSTILE[name].format(root=root.folder) if "{root}" in HOSTILE[name] else HOSTILE[name], b"x")
    assert set(root.folder.parent.iterdir()) == before


HONEST = [
    "100% cotton.md",
    "a..b.md",
    "what...md",
    "Grüße – “quoted”.md",
    "e\u0301 decomposed.md",
    "👨\u200d👩\u200d👧 family.md",
    "$5 & 10%; yes!.md",
    "-rf.md",
    "~notes~.md",
    "con.md",
    "deep/er/and/deeper/note.md",
    "x" * 250,
]


@for_every("name", HONEST)
def test_a_legitimate_odd_name_works(root: Root, name: str) -> None:
    root.create(name, b"hello")
    content, stamp = root.read(name)
    assert content == b"hello"
    root.replace(name, b"bye", stamp)
    assert root.read(name)[0] == b"bye"
    root.remove(name)
    with pytest.raises(PathDenied):
        root.read(name)


def _file_link(root: Root, outside: Path) -> None:
    (root.folder / "sub/bad.md").symlink_to(outside / "secret.md")


def _relative_link(root: Root, outside: Path) -> None:
    (root.folder / "sub/bad.md").symlink_to("../../allowed_evil/secret.md")


def _chain(root: Root, outside: Path) -> None:
    (root.folder / "one").symlink_to(outside / "secret.md")
    (root.folder / "sub/bad.md").symlink_to("../one")


def _loop(root: Root, outside: Path) -> None:
    (root.folder / "sub/bad.md").symlink_to("bad.md")


def _magic(root: Root, outside: Path) -> None:
    (root.folder / "sub/bad.md").symlink_to(f"/proc/self/root{outside}/secret.md")


def _inside(root: Root, outside: Path) -> None:
    (root.folder / "sub/bad.md").symlink_to("ok.md")


def _hard_link(root: Root, outside: Path) -> None:
    os.link(outside / "secret.md", root.folder / "sub/bad.md")


def _fifo(root: Root, outside: Path) -> None:
    os.mkfifo(root.folder / "sub/bad.md")


def _socket(root: Root, outside: Path) -> None:
    here = Path.cwd()
    os.chdir(root.folder / "sub")
    try:
        socket.socket(socket.AF_UNIX).bind("bad.md")
    finally:
        os.chdir(here)


def _folder(root: Root, outside: Path) -> None:
    (root.folder / "sub/bad.md").mkdir()


def _huge(root: Root, outside: Path) -> None:
    with (root.folder / "sub/bad.md").open("wb") as file:
        file.truncate(1 << 40)


def _device_link(root: Root, outside: Path) -> None:
    (root.folder / "sub/bad.md").symlink_to("/dev/zero")


Trap = Callable[[Root, Path], None]
TRAPS: dict[str, tuple[Trap, str]] = {
    "a link to a file outside": (_file_link, "escape"),
    "a relative link": (_relative_link, "escape"),
    "a chain of links": (_chain, "escape"),
    "a loop of links": (_loop, "escape"),
    "a link through /proc": (_magic, "escape"),
    "a link that stays inside": (_inside, "escape"),
    "a link to a device": (_device_link, "escape"),
    "a hard link": (_hard_link, "linked"),
    "a pipe": (_fifo, "kind"),
    "a socket": (_socket, "kind"),
    "a folder": (_folder, "kind"),
    "a terabyte": (_huge, "large"),
}


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_in_the_folder_is_not_read(root: Root, outside: Path, name: str) -> None:
    trap, reason = TRAPS[name]
    trap(root, outside)
    with pytest.raises(PathDenied) as denied:
        root.read("sub/bad.md")
    assert denied.value.reason == reason


@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_in_the_folder_is_not_written_through(root: Root, outside: Path, name: str) -> None:
    TRAPS[name][0](root, outside)
    with pytest.raises(PathDenied):
        root.replace("sub/bad.md", b"x", Stamp(0, 0, 0))
    with pytest.raises(PathDenied):
        root.create("sub/bad.md", b"x")


def test_a_linked_folder_is_not_entered(root: Root, outside: Path) -> None:
    (root.folder / "door").symlink_to(outside)
    with pytest.raises(PathDenied) as denied:
        root.read("door/secret.md")
    assert denied.value.reason in ("escape", "kind")
    with pytest.raises(PathDenied):
        root.create("door/new.md", b"x")
    with pytest.raises(PathDenied):
        root.entries("door")
    with pytest.raises(PathDenied):
        list(root.walk("door", 1))
    assert "door/secret.md" not in [file for file, _entry in root.walk("", 1)]
    with pytest.raises(PathDenied):
        root.remove("door/secret.md")


def test_writing_onto_a_dangling_link_makes_nothing_outside(root: Root, outside: Path) -> None:
    (root.folder / "new.md").symlink_to(outside / "made.md")
    with pytest.raises(PathDenied):
        root.create("new.md", b"x")


def test_a_root_that_was_moved_away_and_restored_is_found_again(root: Root) -> None:
    away = root.folder.with_name("away")
    root.folder.rename(away)
    with pytest.raises(PathDenied) as denied:
        root.read("sub/ok.md")
    assert denied.value.reason == "missing"
    away.rename(root.folder)
    assert root.read("sub/ok.md")[0] == b"fine"


def test_a_root_replaced_by_a_link_is_refused(root: Root, outside: Path) -> None:
    away = root.folder.with_name("away")
    root.folder.rename(away)
    root.folder.symlink_to(outside)
    with pytest.raises(PathDenied):
        root.read("secret.md")
    root.folder.unlink()


def test_a_swap_between_file_and_link_never_leaks(root: Root, outside: Path) -> None:
    """The race, looped: another process swaps the file for a link while it is being read."""
    target, link, stop = root.folder / "sub/race.md", root.folder / "link", threading.Event()
    target.write_bytes(b"fine")
    link.symlink_to(outside / "secret.md")

    def swap() -> None:
        while not stop.is_set():
            fresh = root.folder / "fresh"
            fresh.write_bytes(b"fine")
            os.replace(fresh, target)
            spare = root.folder / "spare"
            os.symlink(outside / "secret.md", spare)
            os.replace(spare, target)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(2_000):
            with contextlib.suppress(PathDenied):
                assert root.read("sub/race.md")[0] == b"fine"
    finally:
        stop.set()
        swapping.join()


def test_a_file_saved_by_somebody_since_is_not_overwritten(root: Root) -> None:
    _, stamp = root.read("sub/ok.md")
    (root.folder / "sub/ok.md").write_bytes(b"edited by hand")
    with pytest.raises(PathDenied) as denied:
        root.replace("sub/ok.md", b"mine", stamp)
    assert denied.value.reason == "changed"
    assert root.read("sub/ok.md")[0] == b"edited by hand"


def test_an_existing_file_is_never_created_over(root: Root) -> None:
    with pytest.raises(PathDenied) as denied:
        root.create("sub/ok.md", b"mine")
    assert denied.value.reason == "exists"
    assert root.read("sub/ok.md")[0] == b"fine"


def test_creating_works_on_a_file_system_without_the_special_rename(
    root: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ctypes
    import errno

    class Old:
        def renameat2(self, *_: Any) -> int:
            ctypes.set_errno(errno.EINVAL)
            return -1

    monkeypatch.setattr(paths, "_libc", Old()) if paths.open_beneath is paths.walk_beneath else None
    root.create("new.md", b"x")
    with pytest.raises(PathDenied):
        root.create("new.md", b"y")
    assert root.read("new.md")[0] == b"x"


def test_a_write_leaves_nothing_half_made_behind(root: Root) -> None:
    root.create("a.md", b"x" * FILE_BYTES)
    _, stamp = root.read("a.md")
    root.replace("a.md", b"y", stamp)
    with pytest.raises(PathDenied):
        root.create("a.md", b"z")
    assert sorted(path.name for path in root.folder.iterdir()) == ["a.md", "sub"]


@pytest.mark.parametrize("mode", [0o640, 0o666])
def test_permissions_chosen_by_people_are_kept(root: Root, mode: int) -> None:
    (root.folder / "sub/ok.md").chmod(mode)
    _, stamp = root.read("sub/ok.md")
    root.replace("sub/ok.md", b"new", stamp)
    assert (root.folder / "sub/ok.md").stat().st_mode & 0o777 == mode


def test_listing_shows_names_but_no_hidden_ones(root: Root) -> None:
    (root.folder / "sub/.hidden").write_text("x")
    assert [entry.name for entry in root.entries("sub")] == ["ok.md"]
    assert [file for file, _entry in root.walk("", 1)] == ["sub/ok.md"]
    assert list(root.walk("", 0)) == []
    assert list(root.walk("nowhere", 1)) == []


def test_what_a_crash_left_behind_is_swept_away_and_nothing_else(root: Root, outside: Path) -> None:
    for name in (".tmp-0123456789abcdef", ".tmp-mine", "sub/.tmp-00000000000000ff"):
        (root.folder / name).write_text("half")
        os.utime(root.folder / name, (1, 1))
    (root.folder / "sub/.tmp-0000000000000001").write_text("being written")
    (root.folder / "door").symlink_to(outside)
    root.sweep()
    left = sorted(str(path.relative_to(root.folder)) for path in root.folder.rglob("*") if path.is_file())
    assert left == [".tmp-mine", "sub/.tmp-0000000000000001", "sub/ok.md"]


def test_a_write_that_ends_while_the_folder_is_swept_is_no_trouble(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    walk = os.fwalk

    def with_one_that_is_gone(folder: Path) -> Iterator[tuple[str, list[str], list[str], int]]:
        for place, folders, names, here in walk(folder):
            yield place, folders, [*names, ".tmp-00000000000000aa"], here

    (root.folder / ".tmp-0123456789abcdef").write_text("half")
    os.utime(root.folder / ".tmp-0123456789abcdef", (1, 1))
    monkeypatch.setattr(os, "fwalk", with_one_that_is_gone)
    root.sweep()
    assert not (root.folder / ".tmp-0123456789abcdef").exists()


def test_this_kernel_confines_by_itself(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, both halves of every test above might be the same half."""
    root = Root(data / "allowed")
    root.create("a.md", b"x")
    monkeypatch.setattr(paths, "walk_beneath", None)
    assert root.read("a.md")[0] == b"x"


def test_what_leads_out_is_called_so_and_not_a_bad_name(root: Root) -> None:
    for path in ("../secret.md", "sub/../../outside/secret.md", "/etc/passwd"):
        with pytest.raises(PathDenied) as denied:
            root.read(path)
        assert denied.value.reason == "escape", path


def test_in_a_folder_that_is_shut_only_one_file_is_there_however_its_name_is_written(root: Root) -> None:
    for name in ("People/ben.md", "people/ben.md", "people/anna.md"):
        root.create(name, b"of a person")
    shut = root.shutting("people", but="people/anna.md")
    assert shut.read("people/anna.md")[0] == b"of a person"
    for name in ("People/ben.md", "people/ben.md", "PEOPLE/anna.md"):
        with pytest.raises(PathDenied) as denied:
            shut.read(name)
        assert denied.value.reason == "missing", name
