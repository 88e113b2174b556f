"""What is stored of wake words and near misses, for how long, and what a threshold would have made of it."""

from __future__ import annotations

import stat
import time
import wave
from pathlib import Path

import pytest

from atlas.audio import AudioChunk, silence
from atlas.cli import wake as command
from atlas.errors import RequestError
from atlas.speech.wake import WakeStream
from atlas.speech.wake_log import MOST_ENTRIES, ThresholdEffect, WakeLog, listen_logged
from atlas.speech.wake_rooms import folder_of
from tests.scripted_wake import ScriptedWake

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
    wakes.note("hey atlas", 0.41, 0.45, SOUND, False)
    (entry,) = wakes.entries()
    assert (entry.phrase, entry.score, entry.woke, entry.meant) == ("hey atlas", 0.41, False, None)
    with wave.open(str(wakes.clip(entry.id))) as clip:
        assert clip.getnframes() / clip.getframerate() == 3.0
    assert stat.S_IMODE(wakes.folder.stat().st_mode) == 0o700


def test_after_a_day_nothing_is_left_of_it(wakes: WakeLog, clock: Clock) -> None:
    wakes.note("hey atlas", 0.41, 0.45, SOUND, False)
    (old,) = wakes.entries()
    clock.now += 24 * 60 * 60 + 1
    assert not wakes.entries()
    wakes.note("hey atlas", 0.42, 0.45, SOUND, False)
    assert [entry.score for entry in wakes.entries()] == [0.42]
    assert not wakes.clip(old.id).exists()


def test_sound_is_gone_after_a_day_although_nothing_wakes_the_room(wakes: WakeLog, clock: Clock) -> None:
    wakes.note("hey atlas", 0.41, 0.45, SOUND, False)
    (old,) = wakes.entries()
    wakes.clip(f"{old.id}-2").write_bytes(b"of a note that a full disk ended")
    clock.now += 24 * 60 * 60 + 1
    WakeLog(wakes.folder, clock)  # as the satellite starts
    assert not list(wakes.folder.iterdir())


def test_all_is_forgotten_also_what_was_only_half_written(wakes: WakeLog) -> None:
    wakes.note("hey atlas", 0.41, 0.45, SOUND, False)
    (old,) = wakes.entries()
    wakes.clip(f"{old.id}-2").write_bytes(b"of a note that a full disk ended")
    wakes.forget()
    assert not list(wakes.folder.iterdir())


def test_a_television_cannot_fill_the_disk(wakes: WakeLog, clock: Clock) -> None:
    for number in range(MOST_ENTRIES + 5):
        clock.now += number % 2  # two in one second have names of their own
        wakes.note("hey atlas", 0.41, 0.45, silence(0.01), False)
    assert len(wakes.entries()) == MOST_ENTRIES
    assert len(list(wakes.folder.glob("*.wav"))) == MOST_ENTRIES


def test_a_full_disk_costs_no_wake_word(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    WakeLog(tmp_path / "file" / "near").note("hey atlas", 0.41, 0.45, SOUND, False)


def test_labels_say_what_a_threshold_would_have_changed(wakes: WakeLog, clock: Clock) -> None:
    for score, meant in ((0.9, True), (0.42, True), (0.3, True), (0.5, False), (0.41, False), (0.44, None)):
        clock.now += 1
        wakes.note("hey atlas", score, 0.45, silence(0.01), score >= 0.45)
        if meant is not None:
            wakes.label(wakes.entries()[-1].id, meant=meant)
    assert wakes.effect("hey atlas", 0.45) == ThresholdEffect(0.45, heard=1, missed=2, false=1, silent=1, unlabelled=0)
    assert wakes.effect("hey atlas", 0.40) == ThresholdEffect(0.40, heard=2, missed=1, false=2, silent=0, unlabelled=1)


def test_what_is_no_entry_is_neither_labelled_nor_a_way_out_of_the_folder(wakes: WakeLog) -> None:
    for identity in ("", "20260101T000000Z", "../secrets/owner", "*"):
        with pytest.raises(RequestError, match="there is no"):
            wakes.label(identity, meant=True)
    assert wakes.forget("*") == 0


def test_what_somebody_labelled_counts_for_a_month_and_its_sound_for_a_day(wakes: WakeLog, clock: Clock) -> None:
    for meant in (True, None):
        wakes.note("hey atlas", 0.41, 0.45, SOUND, False)
        if meant is not None:
            wakes.label(wakes.entries()[-1].id, meant=meant)
    clock.now += 24 * 60 * 60 + 1
    wakes.prune()
    (labelled,) = wakes.entries()
    assert (labelled.meant, labelled.score) == (True, 0.41)
    assert not wakes.is_of_today(labelled)
    assert not list(wakes.folder.glob("*.wav"))
    clock.now += 30 * 24 * 60 * 60
    wakes.prune()
    assert not list(wakes.folder.iterdir())


def test_a_television_drives_out_no_label(wakes: WakeLog, clock: Clock) -> None:
    wakes.note("hey atlas", 0.41, 0.45, SOUND, False)
    (entry,) = wakes.entries()
    wakes.label(entry.id, meant=True)
    for _ in range(MOST_ENTRIES + 5):
        clock.now += 1
        wakes.note("hey atlas", 0.42, 0.45, silence(0.01), False)
    assert [one.meant for one in wakes.entries()].count(True) == 1


def heard_by(stream: WakeStream, sound: AudioChunk) -> list[str]:
    chunks = (sound.cut(at, at + 320) for at in range(0, sound.samples, 320))
    return [phrase for chunk in chunks if (phrase := stream.hear(chunk))]


def test_what_wakes_a_microphone_and_what_nearly_does_is_noted_with_its_last_seconds() -> None:
    noted: list[tuple[str, float, float, float, bool]] = []

    def note(phrase: str, score: float, threshold: float, sound: AudioChunk, woke: bool) -> None:
        noted.append((phrase, round(score, 1), threshold, round(sound.seconds, 1), woke))

    wake = ScriptedWake("hey atlas")
    stream = listen_logged(wake, note, lambda phrase: 0.45)
    assert heard_by(stream, silence(5) + wake.call() + silence(1)) == ["hey atlas"]
    assert heard_by(stream, wake.call(loudness=0.4) + silence(1)) == []
    assert heard_by(stream, wake.call(loudness=0.2) + silence(1)) == []
    assert noted == [("hey atlas", 0.5, 0.45, 3.0, True), ("hey atlas", 0.4, 0.45, 3.0, False)]
    heard_by(stream, wake.call())
    stream.reset()
    assert len(noted) == 3, "also what woke it just before nobody listened any more"
    heard_by(stream, wake.call(loudness=0.4) + silence(0.1))
    assert noted[3] == ("hey atlas", 0.4, 0.45, 0.2, False), "nothing of what was heard before"


class Rising:
    """An engine that becomes surer of its word after it has found it."""

    phrases = ("hey atlas",)
    said_on_seconds, score, threshold = 0.1, 0.0, 0.5
    _heard = 0

    def own_threshold(self, phrase: str) -> float:
        return 0.5

    def listen(self, *given: object) -> WakeStream:
        return self

    def hear(self, chunk: AudioChunk) -> str | None:
        self._heard += 1
        self.score = min(0.9, 0.5 + 0.1 * self._heard)
        return "hey atlas" if self._heard == 1 else None

    def reset(self) -> None: ...

    async def aclose(self) -> None: ...


def test_the_score_that_is_noted_is_the_highest_of_the_half_second_after() -> None:
    scores: list[float] = []
    stream = listen_logged(Rising(), lambda phrase, score, *others: scores.append(score))
    assert heard_by(stream, silence(1)) == ["hey atlas"]
    assert scores == [0.9]


def test_the_command_lists_labels_proposes_and_forgets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wakes = WakeLog(tmp_path)
    wakes.note("hey atlas", 0.41, 0.45, SOUND, False)
    (entry,) = wakes.entries()
    at = ("--folder", str(tmp_path))
    command.main([*at, "list"])
    assert "nearly  0.41  hey atlas" in capsys.readouterr().out
    command.main([*at, "label", entry.id, "yes"])
    assert "for me" in capsys.readouterr().out
    command.main([*at, "threshold"])
    assert "hey atlas: 0.45 now, 1 with a label; nothing is proposed before 5" in capsys.readouterr().out
    command.main([*at, "threshold", "0.4"])
    assert "0.40  heard 1 of 1 that were for me, woken by 0 of 0" in capsys.readouterr().out
    for value in ("7", "0.2"):
        with pytest.raises(RequestError, match="no threshold"):
            command.main([*at, "threshold", value])
    with pytest.raises(RequestError, match="0 rooms have one"):
        command.main([*at, "label", "20260101T000000Z", "no"])
    with pytest.raises(RequestError, match="there is no '20260101T000000Z'"):
        command.main([*at, "forget", "20260101T000000Z"])
    capsys.readouterr()
    command.main([*at, "forget"])
    assert capsys.readouterr().out == "deleted 1\n"
    command.main([*at, "list"])
    assert "nothing of the last day; atlas satellite stores it with --near-misses" in capsys.readouterr().out


def test_the_command_proposes_for_each_room_of_the_house(
    data: Path, clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATLAS_DATA", str(data))
    clock.now = time.time()
    for room in ("Kitchen", "Büro/oben"):
        wakes = WakeLog(folder_of(data / "near_misses", room), clock)
        for score in (0.5, 0.52, 0.53, 0.8, 0.9):
            wakes.note("hey atlas", score, 0.45, SOUND, True)
        for entry in wakes.entries():
            wakes.label(entry.id, meant=entry.score > 0.6)
    command.main(["--room", "kitchen", "threshold"])
    told = capsys.readouterr().out
    assert "Kitchen, hey atlas: 0.45 now, 5 with a label; 0.55 is proposed: it would have heard 0 more" in told
    assert "lost 0; of the others 3 would have left it asleep and 0 woken it" in told
    command.main(["list"])
    assert "Büro/oben" in capsys.readouterr().out
    with pytest.raises(RequestError, match="2 rooms have one") as refused:
        command.main(["label", entry.id, "no"])
    assert "Büro/oben, Kitchen" in refused.value.hint
