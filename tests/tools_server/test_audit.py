"""The record shows what was changed, taken away or moved, and survives being cut off in the middle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools_server.gate.record_tail import Newest
from tools_server.values.language import speaking, text
from wall.chain import Chain, ChainBroken, Head, Verdict, canonical, digest, head_of, older_files, row_hash, verify


@pytest.fixture
def file(data: Path) -> Path:
    audit = Chain(data / "audit.jsonl")
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
    Chain(data / "audit.jsonl").close()
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
    [problem] = verify(file).problems
    assert problem == "rows 4 to 5 are missing"
    with speaking("de"):
        assert text(problem.form).format(**problem.values) == "die Zeilen 4 bis 5 fehlen"


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
    audit = Chain(file)
    audit.append({"tool": "clock.date"})
    audit.close()
    assert verify(file) == type(verify(file))(11, ())


def test_a_head_that_lags_behind_after_a_power_cut_is_no_alarm(file: Path) -> None:
    head = head_of(file).read_text()
    audit = Chain(file)
    audit.append({"tool": "clock.date"})
    audit.close()
    head_of(file).write_text(head)
    assert verify(file).problems == ()


def test_a_head_is_never_ahead_of_what_the_disk_has(data: Path) -> None:
    audit = Chain(data / "audit.jsonl")
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
    audit = Chain(data / "audit.jsonl")
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
    with pytest.raises(ChainBroken):
        Chain(file)


def test_two_processes_write_one_chain(file: Path) -> None:
    one, two = Chain(file), Chain(file)
    for _ in range(5):
        one.append({"by": "one"})
        two.append({"by": "two"})
    one.close()
    two.close()
    assert verify(file).problems == ()
    assert verify(file).rows == 20


def test_a_row_that_does_not_fit_on_the_disk_leaves_no_trace(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = Chain(file)
    real = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda fd, line: real(fd, line[:20]))  # a full disk takes a part
        with pytest.raises(OSError, match="No space"):
            audit.append({"tool": "x"})
    audit.append({"tool": "y"})
    audit.close()
    assert verify(file).problems == ()
    assert verify(file).rows == 11


# ── cut off ────────────────────────────────────────────────────────────────────────────────────────


def cut(file: Path, rows: int) -> None:
    rewrite(file, file.read_bytes().splitlines()[:-rows])


@pytest.mark.parametrize("running", [True, False])
def test_rows_cut_from_the_end_stay_missing_whatever_is_written_after_them(file: Path, running: bool) -> None:
    chain = Chain(file)
    if not running:
        chain.close()
    cut(file, 2)
    chain = chain if running else Chain(file)
    chain.append({"tool": "clock.date"})
    chain.append({"tool": "clock.date"})
    assert chain.problem == "the record ends at row 8; 10 were written"
    chain.close()
    assert verify(file).problems == ("rows 9 to 10 are missing",)


@pytest.mark.parametrize("running", [True, False])
def test_a_record_taken_away_whole_stays_missing(file: Path, running: bool) -> None:
    chain = Chain(file)
    if not running:
        chain.close()
    file.unlink()
    chain = chain if running else Chain(file)
    chain.append({"tool": "clock.date"})
    assert verify(file).problems == ("rows 1 to 10 are missing",)
    chain.close()


def test_a_head_that_was_rewritten_with_the_rows_does_not_hide_what_was_signed(file: Path) -> None:
    last = json.loads(file.read_bytes().splitlines()[-1])
    signed = Head(last["seq"], last["hash"])
    cut(file, 2)
    last = json.loads(file.read_bytes().splitlines()[-1])
    head_of(file).write_text(f"{last['seq']} {last['hash']}\n")
    assert verify(file).problems == (), "this is why somebody else must keep a head"
    assert verify(file, signed).problems == ("the record ends at row 8; 10 were written",)
    chain = Chain(file, signed)
    assert chain.problem
    chain.append({"tool": "clock.date"})
    chain.close()
    assert verify(file, signed).problems[0] == "rows 9 to 10 are missing"


def test_rows_written_anew_in_the_place_of_signed_ones_are_missed(file: Path) -> None:
    last = json.loads(file.read_bytes().splitlines()[-1])
    signed = Head(last["seq"], last["hash"])
    cut(file, 2)
    head_of(file).unlink()
    forged = Chain(file)
    for number in range(5):
        forged.append({"forged": number})
    forged.close()
    assert verify(file).problems == ()
    assert verify(file, signed).problems == ("row 10 is not the one that was signed by the house",)
    chain = Chain(file, signed)
    assert chain.problem == "row 10 is not the one that was signed"
    chain.close()


# ── rotation ───────────────────────────────────────────────────────────────────────────────────────


def rotating(data: Path, rows: int = 50) -> Path:
    chain = Chain(data / "audit.jsonl", rotate_bytes=2_000)
    for number in range(rows):
        chain.append({"tool": "clock.time", "number": number}, durable=number % 3 == 0)
    chain.close()
    return chain.file


def test_a_record_that_rotates_is_one_chain(data: Path) -> None:
    file = rotating(data)
    assert len(older_files(file)) >= 4
    assert all(older.stat().st_size < 2_500 for older in older_files(file))
    assert verify(file) == Verdict(50, ())
    assert row_hash(file, 1) == json.loads(older_files(file)[0].read_bytes().splitlines()[0])["hash"]


def test_a_row_changed_in_an_older_file_is_found_and_so_is_a_file_taken_away(data: Path) -> None:
    file = rotating(data)
    second = older_files(file)[1]
    whole = second.read_bytes()
    second.write_bytes(whole.replace(b"clock.time", b"clock.date", 1))
    assert "was changed" in verify(file).problems[0]
    second.unlink()
    assert "are missing" in verify(file).problems[0]
    second.write_bytes(whole)
    file.unlink()
    assert verify(file).problems[0].endswith("50 were written"), "also the newest"


def test_two_processes_write_one_chain_over_a_rotation(data: Path) -> None:
    one, two = (Chain(data / "audit.jsonl", rotate_bytes=1_000) for _ in range(2))
    for _ in range(30):
        one.append({"by": "one"})
        two.append({"by": "two"}, durable=False)
    one.close()
    two.close()
    assert verify(one.file) == Verdict(60, ())


def test_a_record_between_two_files_goes_on(data: Path) -> None:
    file = rotating(data, rows=20)
    last = json.loads(file.read_bytes().splitlines()[-1])["seq"]
    file.rename(file.with_name(f"audit.{last:012}.jsonl"))  # killed between putting aside and beginning anew
    assert verify(file) == Verdict(20, ())
    chain = Chain(file)
    chain.append({"tool": "clock.date"})
    chain.close()
    assert (verify(file), chain.problem) == (Verdict(21, ()), "")


WRITER = """
import sys
from pathlib import Path
from tools_server.gate.record_tail import Newest
from wall.chain import Chain, ChainBroken, Head, Verdict, canonical, digest, head_of, older_files, row_hash, verify
chain = Chain(Path(sys.argv[1]), rotate_bytes=400)
for number in range(1_000_000):
    chain.append({"number": number, "by": sys.argv[2]}, durable=number % 2 == 0)
    print(chain.head.seq, chain.head.hash, flush=True)
"""


@pytest.mark.real
def test_killed_in_the_middle_of_rotations_nothing_is_lost(data: Path) -> None:
    file, acknowledged = data / "audit.jsonl", Head()
    for round_number in range(12):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file), str(round_number)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout
            for _ in range(40 + 7 * round_number):
                line = writer.stdout.readline()
            writer.kill()
            lines = [line, *writer.stdout.read().splitlines(keepends=True)]
        number, sealed = [whole for whole in lines if whole.endswith("\n")][
            -1
        ].split()  # half a line acknowledges nothing
        acknowledged = Head(int(number), sealed)
        assert verify(file, acknowledged).problems == (), f"after kill {round_number}"
        assert row_hash(file, acknowledged.seq) == acknowledged.hash
    assert len(older_files(file)) > 100


def test_who_reads_the_newest_rows_misses_none_over_a_rotation(data: Path) -> None:
    chain = Chain(data / "audit.jsonl", rotate_bytes=600)
    newest = Newest(chain.file)
    for at in range(10):
        chain.append({"at": float(at)})
    assert [row["at"] for row in newest.since(3.0)] == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    read: list[float] = []
    for at in range(10, 60):
        chain.append({"at": float(at)})
        if at % 7 == 0:
            read += [row["at"] for row in newest.more()]
    read += [row["at"] for row in newest.more()]
    assert read == [float(at) for at in range(10, 60)]
    assert not newest.more()
    chain.close()
