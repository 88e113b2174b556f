"""What is kept of a conversation comes back whole or not at all, is for this user only, and has an end."""

from __future__ import annotations

import errno
import logging
import os
import re
import stat
from pathlib import Path

import pytest

from atlas.llm_host.prefix_files import HEAD_BYTES, SequenceFiles, identity

STATE = bytes(range(256)) * 4


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_what_was_kept_comes_back_also_to_another_process(data: Path) -> None:
    SequenceFiles(data / "kept", "me").put("anna", [1, 2, 3], STATE)
    after = SequenceFiles(data / "kept", "me")
    assert after.tokens("anna") == [1, 2, 3]
    stored = after.get("anna")
    assert stored and stored.tokens == [1, 2, 3] and stored.state == STATE
    assert after.tokens("ben") == [] and after.get("ben") is None


def test_only_this_user_may_read_it_and_no_name_tells_whose_it_is(data: Path) -> None:
    (data / "kept").mkdir(mode=0o755)
    SequenceFiles(data / "kept", "me").put("anna", [1], STATE)
    (file,) = files(data / "kept")
    assert stat.S_IMODE((data / "kept").stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "anna" not in file.name and b"anna" not in file.read_bytes()


@pytest.mark.parametrize("at", [2, 20, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 5, HEAD_BYTES + 12, -1])
def test_a_file_with_a_flipped_bit_is_ignored_with_one_line(
    data: Path, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = SequenceFiles(data, "me")
    shelf.put("anna", [1, 2, 3], STATE)
    (file,) = files(data)
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert shelf.get("anna") is None
        assert shelf.get("anna") is None
    assert len(caplog.records) == 1
    assert files(data) == []


@pytest.mark.parametrize("wrong", ['"tokens": "3"', '"tokens": 3.0', '"tokens": null', '"tokens": -1', '"bytes": []'])
def test_a_file_whose_head_counts_in_nonsense_is_ignored(data: Path, wrong: str) -> None:
    shelf = SequenceFiles(data, "me")
    shelf.put("anna", [1, 2, 3], STATE)
    (file,) = files(data)
    head, rest = file.read_bytes()[:HEAD_BYTES], file.read_bytes()[HEAD_BYTES:]
    key = wrong.partition(":")[0]
    file.write_bytes(re.sub(rf"{key}: \d+".encode(), wrong.encode(), head).strip().ljust(HEAD_BYTES) + rest)
    assert shelf.tokens("anna") == [] and shelf.get("anna") is None
    assert files(data) == []


@pytest.mark.parametrize("tokens", [4, 10**13, 10**30])
def test_a_file_that_claims_more_tokens_than_it_holds_is_ignored(data: Path, tokens: int) -> None:
    shelf = SequenceFiles(data, "me")
    shelf.put("anna", [1, 2, 3], b"")
    (file,) = files(data)
    head, rest = file.read_bytes()[:HEAD_BYTES], file.read_bytes()[HEAD_BYTES:]
    lie = head.replace(b'"tokens": 3, "bytes": 0', f'"tokens": {tokens}, "bytes": {12 - 4 * tokens}'.encode())
    file.write_bytes(lie.strip().ljust(HEAD_BYTES) + rest)
    assert shelf.tokens("anna") == [] and shelf.get("anna") is None
    assert files(data) == []


@pytest.mark.parametrize("size", [0, 1, HEAD_BYTES, HEAD_BYTES + 5, -1])
def test_a_file_that_was_cut_short_is_ignored(data: Path, size: int) -> None:
    shelf = SequenceFiles(data, "me")
    shelf.put("anna", [1, 2, 3], STATE)
    (file,) = files(data)
    file.write_bytes(file.read_bytes()[:size])
    assert shelf.tokens("anna") == [] and shelf.get("anna") is None


def test_another_model_does_not_believe_it_nor_another_conversation(data: Path) -> None:
    shelf = SequenceFiles(data, "me")
    shelf.put("ben", [7], STATE)
    shelf.put("anna", [1, 2, 3], STATE)
    of_ben, of_anna = (shelf._path(who) for who in ("ben", "anna"))
    of_anna.rename(of_ben)
    assert shelf.get("ben") is None
    shelf.put("anna", [1, 2, 3], STATE)
    assert SequenceFiles(data, "somebody else").get("anna") is None


def test_a_model_is_told_from_another_by_size_ends_and_settings(data: Path) -> None:
    one, other, longer = data / "one", data / "other", data / "longer"
    one.write_bytes(b"a" * 5000 + b"b")
    other.write_bytes(b"a" * 5000 + b"c")
    longer.write_bytes(b"a" * 5001 + b"b")
    hits = {identity(one, "x"), identity(other, "x"), identity(longer, "x"), identity(one, "y")}
    assert len(hits) == 4 and identity(one, "x") in hits


def test_the_oldest_make_way_by_number_and_by_size(data: Path) -> None:
    for few, names in (
        (SequenceFiles(data, "me", most_files=2), "abc"),
        (SequenceFiles(data, "me", most_bytes=6000), "xyz"),
    ):
        for age, who in enumerate(names):
            few.put(who, [1], STATE)
            os.utime(few._path(who), (age, age))
        few.put("last", [1], STATE)
        assert few.tokens("last") and not few.tokens(names[0])
        assert len(files(data)) == 2


def test_what_was_used_lately_is_not_old(data: Path) -> None:
    shelf = SequenceFiles(data, "me", most_files=2)
    for age, who in enumerate("ab"):
        shelf.put(who, [1], STATE)
        os.utime(shelf._path(who), (age, age))
    shelf.get("a")
    shelf.put("c", [1], STATE)
    assert shelf.tokens("a") and not shelf.tokens("b")


def test_what_is_too_large_has_no_room(data: Path) -> None:
    shelf = SequenceFiles(data, "me", most_bytes=1000)
    assert shelf.has_room_for(1000) and not shelf.has_room_for(1001)
    assert not SequenceFiles(data, "me", most_bytes=2**63).has_room_for(2**62)


def test_a_disk_that_is_full_is_spoken_of_once_until_something_could_be_written_again(
    data: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = SequenceFiles(data, "me")
    monkeypatch.setattr("atlas.llm_host.prefix_files.SPARE_BYTES", 2**62)
    assert [shelf.has_room_for(10) for _ in range(3)] == [False] * 3
    assert caplog.text.count("could not be kept") == 1 and str(data) in caplog.text
    monkeypatch.setattr("atlas.llm_host.prefix_files.SPARE_BYTES", 0)
    shelf.put("anna", [1], STATE)
    monkeypatch.setattr("atlas.llm_host.prefix_files.SPARE_BYTES", 2**62)
    assert not shelf.has_room_for(10)
    assert caplog.text.count("could not be kept") == 2


def test_forgetting_leaves_nothing_and_may_be_asked_twice(data: Path) -> None:
    shelf = SequenceFiles(data, "me")
    shelf.put("anna", [1], STATE)
    shelf.drop("anna")
    shelf.drop("anna")
    assert files(data) == []


def test_half_a_file_of_a_process_that_was_killed_is_cleared_away(data: Path) -> None:
    (data / "abc.new").write_bytes(b"half")
    SequenceFiles(data, "me")
    assert files(data) == []


def test_a_disk_that_refuses_costs_a_line_and_nothing_else(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    shelf = SequenceFiles(data / "kept", "me")
    (data / "kept").rmdir()
    with caplog.at_level(logging.WARNING):
        shelf.put("anna", [1], STATE)
    assert "could not be kept" in caplog.text and shelf.get("anna") is None


def test_whatever_lies_in_the_place_of_a_file_holds_up_nobody(data: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A pipe would be read for ever, a link leads elsewhere, a folder cannot be removed like a file."""
    shelf = SequenceFiles(data / "kept", "me")
    shelf.put("anna", [1], STATE)
    place, elsewhere = shelf._path("anna"), data / "elsewhere"
    place.rename(elsewhere)
    for lay in (
        lambda: os.mkfifo(place),
        lambda: place.symlink_to(elsewhere),
        lambda: place.symlink_to("/dev/zero"),
        lambda: place.write_bytes(b"[" * HEAD_BYTES * 4),
        lambda: place.mkdir(),
    ):
        lay()
        assert shelf.tokens("anna") == [] and shelf.get("anna") is None
    shelf.put("anna", [1], STATE)
    assert "could not be kept" in caplog.text and elsewhere.read_bytes().endswith(STATE)


def test_half_a_file_that_leads_elsewhere_is_not_written_through(data: Path) -> None:
    elsewhere = data / "elsewhere"
    elsewhere.write_text("precious")
    shelf = SequenceFiles(data / "kept", "me")
    shelf._path("anna").with_suffix(".new").symlink_to(elsewhere)
    shelf.put("anna", [1], STATE)
    assert elsewhere.read_text() == "precious" and shelf.tokens("anna") == [1]


def test_a_disk_on_which_nothing_can_be_written_or_removed_any_more_costs_lines_and_nothing_else(
    data: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As after the kernel found an error on it: what can still be read is used."""
    shelf = SequenceFiles(data, "me")
    shelf.put("anna", [1], STATE)
    (data / "half.new").mkdir()

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    def only_read(path: str, flags: int, *mode: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            refuse()
        return really_open(path, flags, *mode)

    really_open = os.open
    monkeypatch.setattr(os, "open", only_read)
    for name in ("unlink", "utime", "rename", "chmod", "mkdir"):
        monkeypatch.setattr(os, name, refuse)
    stored = shelf.get("anna")
    assert stored and stored.state == STATE
    shelf.put("anna", [2], STATE)
    assert "could not be kept" in caplog.text and shelf.tokens("anna") == [1]
    assert SequenceFiles(data, "somebody else").get("anna") is None


def test_without_its_folder_there_is_no_room(data: Path) -> None:
    shelf = SequenceFiles(data / "kept", "me")
    (data / "kept").rmdir()
    assert not shelf.has_room_for(1)
