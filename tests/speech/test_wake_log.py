"""What is stored of wake words and near misses, for how long, and what a threshold would have made of it."""

from __future__ import annotations

import stat
import wave
from pathlib import Path

import pytest

from atlas.audio import silence
from atlas.cli import wake as command
from atlas.errors import RequestError
from atlas.speech.wake_log import MOST_ENTRIES, ThresholdEffect, WakeLog

SOUND = silence(3.0)


class Clock:
    now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def wakes(tmp_path: Path, clock: Clock) -> WakeLog:
    return WakeLog(tmp_path / "near", clock)


def test_a_near_miss_is_stored_with_its_sound_for_its_owner_alone(wakes: WakeLog) -> None:
    wakes.note("hey atlas", 0.41, SOUND, woke=False)
    (entry,) = wakes.entries()
    assert (entry.phrase, entry.score, entry.woke, entry.meant) == ("hey atlas", 0.41, False, None)
    with wave.open(str(wakes.clip(entry.id))) as clip:
        assert clip.getnframes() / clip.getframerate() == 3.0
    assert stat.S_IMODE(wakes.folder.stat().st_mode) == 0o700


def test_after_a_day_nothing_is_left_of_it(wakes: WakeLog, clock: Clock) -> None:
    wakes.note("hey atlas", 0.41, SOUND, woke=False)
    (old,) = wakes.entries()
    clock.now += 24 * 60 * 60 + 1
    assert not wakes.entries()
    wakes.note("hey atlas", 0.42, SOUND, woke=False)
    assert [entry.score for entry in wakes.entries()] == [0.42]
    assert not wakes.clip(old.id).exists()


def test_sound_is_gone_after_a_day_although_nothing_wakes_the_room(wakes: WakeLog, clock: Clock) -> None:
    wakes.note("hey atlas", 0.41, SOUND, woke=False)
    (old,) = wakes.entries()
    wakes.clip(f"{old.id}-2").write_bytes(b"of a note that a full disk ended")
    clock.now += 24 * 60 * 60 + 1
    WakeLog(wakes.folder, clock)  # as the satellite starts
    assert not list(wakes.folder.iterdir())


def test_all_is_forgotten_also_what_was_only_half_written(wakes: WakeLog) -> None:
    wakes.note("hey atlas", 0.41, SOUND, woke=False)
    (old,) = wakes.entries()
    wakes.clip(f"{old.id}-2").write_bytes(b"of a note that a full disk ended")
    wakes.forget()
    assert not list(wakes.folder.iterdir())


def test_a_television_cannot_fill_the_disk(wakes: WakeLog, clock: Clock) -> None:
    for number in range(MOST_ENTRIES + 5):
        clock.now += number % 2  # two in one second have names of their own
        wakes.note("hey atlas", 0.41, silence(0.01), woke=False)
    assert len(wakes.entries()) == MOST_ENTRIES
    assert len(list(wakes.folder.glob("*.wav"))) == MOST_ENTRIES


def test_a_full_disk_costs_no_wake_word(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    WakeLog(tmp_path / "file" / "near").note("hey atlas", 0.41, SOUND, woke=False)


def test_labels_say_what_a_threshold_would_have_changed(wakes: WakeLog, clock: Clock) -> None:
    for score, meant in ((0.9, True), (0.42, True), (0.3, True), (0.5, False), (0.41, False), (0.44, None)):
        clock.now += 1
        wakes.note("hey atlas", score, silence(0.01), woke=score >= 0.45)
        if meant is not None:
            wakes.label(wakes.entries()[-1].id, meant=meant)
    assert wakes.effect(0.45) == ThresholdEffect(0.45, heard=1, missed=2, false=1, silent=1, unlabelled=0)
    assert wakes.effect(0.40) == ThresholdEffect(0.40, heard=2, missed=1, false=2, silent=0, unlabelled=1)


def test_what_is_no_entry_is_neither_labelled_nor_a_way_out_of_the_folder(wakes: WakeLog) -> None:
    for identity in ("", "20260101T000000Z", "../secrets/owner", "*"):
        with pytest.raises(RequestError, match="there is no"):
            wakes.label(identity, meant=True)
    assert wakes.forget("*") == 0


def test_the_command_lists_labels_weighs_and_forgets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wakes = WakeLog(tmp_path)
    wakes.note("hey atlas", 0.41, SOUND, woke=False)
    (entry,) = wakes.entries()
    at = ("--folder", str(tmp_path))
    command.main([*at, "list"])
    assert "nearly  0.41  hey atlas" in capsys.readouterr().out
    command.main([*at, "label", entry.id, "yes"])
    assert "for me" in capsys.readouterr().out
    command.main([*at, "threshold", "0.4"])
    assert "0.40  heard 1 of 1 that were for me, woken by 0 of 0" in capsys.readouterr().out
    with pytest.raises(RequestError, match="no threshold"):
        command.main([*at, "threshold", "7"])
    capsys.readouterr()
    command.main([*at, "forget"])
    assert capsys.readouterr().out == "deleted 1\n"
    command.main([*at, "list"])
    assert "nothing of the last day" in capsys.readouterr().out
