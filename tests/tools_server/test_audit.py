"""The record shows what was changed, taken away or moved, and survives being cut off in the middle."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tools_server.audit import Audit, AuditBroken, canonical, digest, head_of, verify


@pytest.fixture
def file(data: Path) -> Path:
    audit = Audit(data / "audit.jsonl")
    for number in range(10):
        audit.append({"tool": "clock.time", "number": number}, durable=number % 2 == 0)
    audit.close()
    return data / "audit.jsonl"


def rewrite(file: Path, lines: list[bytes]) -> None:
    file.write_bytes(b"".join(line + b"\n" for line in lines))


def test_an_untouched_record_is_sound(file: Path) -> None:
    verdict = verify(file)
    assert (verdict.rows, verdict.problems) == (10, ())


def test_an_empty_record_is_sound(data: Path) -> None:
    Audit(data / "audit.jsonl").close()
    assert verify(data / "audit.jsonl").problems == ()


def test_a_changed_row_is_found(file: Path) -> None:
    lines = file.read_bytes().splitlines()
    lines[4] = lines[4].replace(b"clock.time", b"clock.date")
    rewrite(file, lines)
    assert verify(file).problems == ("row 5 was changed",)


def test_a_changed_row_with_a_new_hash_is_found_by_the_next(file: Path) -> None:
    lines = file.read_bytes().splitlines()
    row = {**json.loads(lines[4]), "tool": "clock.date"}
    del row["hash"]
    lines[4] = canonical({**row, "hash": digest(row)})
    rewrite(file, lines)
    assert verify(file).problems == ("row 6 is not sealed to the row before it",)


def test_missing_rows_are_found(file: Path) -> None:
    lines = file.read_bytes().splitlines()
    rewrite(file, lines[:3] + lines[5:])
    assert verify(file).problems == ("rows 4 to 5 are missing",)


def test_rows_missing_from_the_beginning_are_found(file: Path) -> None:
    rewrite(file, file.read_bytes().splitlines()[1:])
    assert verify(file).problems == ("row 1 is missing",)


def test_rows_missing_from_the_end_are_found(file: Path) -> None:
    rewrite(file, file.read_bytes().splitlines()[:-2])
    assert verify(file).problems == ("the record ends at row 8; 10 were written",)


def test_a_record_taken_away_whole_is_found(file: Path) -> None:
    file.write_bytes(b"")
    assert verify(file).problems == ("the record ends at row 0; 10 were written",)


def test_swapped_rows_are_found(file: Path) -> None:
    lines = file.read_bytes().splitlines()
    lines[2], lines[3] = lines[3], lines[2]
    rewrite(file, lines)
    assert "row 3 stands after row 4" in verify(file).problems


def test_a_repeated_row_is_found(file: Path) -> None:
    lines = file.read_bytes().splitlines()
    rewrite(file, [*lines[:5], lines[4], *lines[5:]])
    assert verify(file).problems == ("row 5 stands after row 5",)


def test_a_row_from_elsewhere_is_found(file: Path) -> None:
    lines = file.read_bytes().splitlines()
    lines[6] = b"hello"
    rewrite(file, lines)
    assert verify(file).problems == ("line 7 is not a row",)


def test_a_line_torn_by_a_power_cut_is_cut_off_and_the_chain_goes_on(file: Path) -> None:
    with file.open("ab") as rows:
        rows.write(b'{"seq": 11, "tool": "tim' + b"\0" * 100)
    audit = Audit(file)
    audit.append({"tool": "clock.date"})
    audit.close()
    assert verify(file) == type(verify(file))(11, ())


def test_a_head_that_lags_behind_after_a_power_cut_is_no_alarm(file: Path) -> None:
    head = head_of(file).read_text()
    audit = Audit(file)
    audit.append({"tool": "clock.date"})
    audit.close()
    head_of(file).write_text(head)
    assert verify(file).problems == ()


def test_a_head_is_never_ahead_of_what_the_disk_has(data: Path) -> None:
    audit = Audit(data / "audit.jsonl")
    audit.append({"tool": "timers.start"})
    on_the_disk = audit.file.read_bytes()
    audit.append({"tool": "clock.time"}, durable=False)
    cut = data / "after_a_power_cut" / "audit.jsonl"  # the kernel may have written the head and not the row
    cut.parent.mkdir()
    cut.write_bytes(on_the_disk)
    head_of(cut).write_bytes(head_of(audit.file).read_bytes())
    assert verify(cut).problems == ()
    audit.flush()
    head_of(cut).write_bytes(head_of(audit.file).read_bytes())
    assert verify(cut).problems == ("the record ends at row 1; 2 were written",)
    audit.close()


def test_a_new_record_that_is_killed_before_its_first_second_is_over_is_sound(data: Path) -> None:
    audit = Audit(data / "audit.jsonl")
    audit.append({"tool": "clock.time"}, durable=False)
    assert verify(audit.file) == type(verify(audit.file))(1, ())
    audit.close()


def test_a_record_without_its_head_cannot_vouch_for_its_end(file: Path) -> None:
    head_of(file).unlink()
    assert verify(file).problems == ("audit.head cannot be read, so rows missing from the end would not show",)


def test_the_last_row_written_anew_is_found(file: Path) -> None:
    lines = file.read_bytes().splitlines()
    row = {**json.loads(lines[-1]), "tool": "clock.date"}
    del row["hash"]
    rewrite(file, [*lines[:-1], canonical({**row, "hash": digest(row)})])
    assert verify(file).problems == ("row 10 is not the one that was written last",)


def test_a_record_that_ends_in_rubbish_is_not_continued(file: Path) -> None:
    with file.open("ab") as rows:
        rows.write(b"rubbish\n")
    with pytest.raises(AuditBroken):
        Audit(file)


def test_two_processes_write_one_chain(file: Path) -> None:
    one, two = Audit(file), Audit(file)
    for _ in range(5):
        one.append({"by": "one"})
        two.append({"by": "two"})
    one.close()
    two.close()
    assert verify(file).problems == ()
    assert verify(file).rows == 20


def test_a_row_that_does_not_fit_on_the_disk_leaves_no_trace(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = Audit(file)
    real = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda fd, line: real(fd, line[:20]))  # a full disk takes a part
        with pytest.raises(OSError, match="No space"):
            audit.append({"tool": "x"})
    audit.append({"tool": "y"})
    audit.close()
    assert verify(file).problems == ()
    assert verify(file).rows == 11
