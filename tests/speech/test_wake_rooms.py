"""What a house listens for in each of its rooms: by thresholds of its own, at once and for good, with its own log."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from atlas.audio import AudioChunk, silence
from atlas.errors import ConfigError, StoreError
from atlas.speech.wake import WakeStream
from atlas.speech.wake_log import WakeEntry, WakeLog
from atlas.speech.wake_rooms import WakeRooms, folder_of, rooms_in, threshold_now
from tests.conftest import SmallDisk, for_every
from tests.scripted_wake import ScriptedWake

WAKE = ScriptedWake("hey atlas", "computer")


def opened(data: Path) -> WakeRooms:
    return WakeRooms(data, data / "near_misses")


def heard_by(stream: WakeStream, sound: AudioChunk) -> list[str]:
    sound = sound + silence(1)
    chunks = (sound.cut(at, at + 320) for at in range(0, sound.samples, 320))
    return [phrase for chunk in chunks if (phrase := stream.hear(chunk))]


async def test_a_threshold_counts_at_once_in_its_room_for_its_phrase_alone_and_after_a_restart(data: Path) -> None:
    rooms = opened(data)
    kitchen, bedroom = (rooms.listen(WAKE, room, lambda: False) for room in ("Kitchen", "Bedroom"))
    await rooms.set_threshold("Kitchen", "hey atlas", 0.6)
    assert heard_by(kitchen, WAKE.call("hey atlas")) == []
    assert heard_by(kitchen, WAKE.call("computer")) == ["computer"]
    assert heard_by(bedroom, WAKE.call("hey atlas")) == ["hey atlas"]
    again = opened(data)
    assert heard_by(again.listen(WAKE, "Kitchen", lambda: False), WAKE.call("hey atlas")) == []
    await rooms.set_threshold("Kitchen", "hey atlas", None)
    assert heard_by(kitchen, WAKE.call("hey atlas")) == ["hey atlas"]
    assert not opened(data).thresholds("Kitchen")


@for_every(
    ("tuned", "of_settings", "of_engine", "now"),
    [(0.6, 0.7, 0.1, 0.6), (0, 0.7, 0.1, 0.7), (0, 0, 0.1, 0.1), (0, 0, 0, 0.45)],
)
def test_what_was_set_holds_before_the_settings_the_engine_and_what_held_at_last(
    tuned: float, of_settings: float, of_engine: float, now: float
) -> None:
    entries = [WakeEntry(str(at), at, "hey atlas", 0.5, threshold, True) for at, threshold in ((1, 0.3), (2, 0.45))]
    entries.append(WakeEntry("3", 3, "computer", 0.5, 0.9, True))
    given = {"hey atlas": tuned} if tuned else {}
    assert threshold_now("hey atlas", entries, given, of_settings, of_engine) == now


async def test_what_woke_a_room_and_what_nearly_did_is_stored_by_room_where_the_house_wants_it(data: Path) -> None:
    rooms, is_logged = opened(data), [False]
    kitchen = rooms.listen(WAKE, "Kitchen", lambda: is_logged[0])
    heard_by(kitchen, WAKE.call())
    is_logged[0] = True
    heard_by(kitchen, WAKE.call())
    heard_by(kitchen, WAKE.call(loudness=0.08))
    heard_by(rooms.listen(WAKE, "Bedroom", lambda: True), WAKE.call())
    assert rooms.log("Bedroom").entries()
    assert rooms.rooms() == ["Bedroom", "Kitchen"]
    assert [(one.woke, one.threshold) for one in rooms.log("Kitchen").entries()] == [(True, 0.1), (False, 0.1)]
    assert stat.S_IMODE(rooms.log("Kitchen").folder.stat().st_mode) == 0o700


def test_a_room_that_was_woken_just_now_is_among_the_rooms_also_while_the_disk_is_slow(data: Path) -> None:
    rooms, disk_is_free = opened(data), Event()
    rooms._notes.submit(disk_is_free.wait)
    heard_by(rooms.listen(WAKE, "Kitchen", lambda: True), WAKE.call())
    with ThreadPoolExecutor() as another:
        listed = another.submit(rooms.rooms)
        disk_is_free.set()
        assert listed.result() == ["Kitchen"]


async def test_a_room_that_is_there_is_told_of_its_threshold(data: Path) -> None:
    rooms, told = opened(data), list[str]()

    async def follow() -> None:
        told.append("Kitchen")

    with rooms.present("Kitchen", follow), rooms.present("Hall"):
        assert await rooms.set_threshold("Kitchen", "hey atlas", 0.6)
        assert await rooms.set_threshold("Hall", "hey atlas", 0.6), "the house itself listens there"
        assert not await rooms.set_threshold("Bedroom", "hey atlas", 0.6)
    assert not await rooms.set_threshold("Kitchen", "hey atlas", 0.5)
    assert told == ["Kitchen"]


@pytest.mark.parametrize("room", ["Kitchen", "Büro/oben", "..", ".", "../secrets"])
def test_a_room_has_a_folder_of_its_own_inside_the_folder_whatever_its_name_is(data: Path, room: str) -> None:
    folder = folder_of(data, room)
    assert folder.parent == data
    assert folder.resolve().parent == data.resolve()
    folder.mkdir(parents=True)
    assert rooms_in(data) == [room]


async def test_on_a_full_disk_a_threshold_is_refused_and_nothing_has_changed(small_disk: SmallDisk) -> None:
    rooms = opened(small_disk.folder)
    await rooms.set_threshold("Kitchen", "hey atlas", 0.6)
    small_disk.fill()
    with pytest.raises(StoreError, match="space"):
        await rooms.set_threshold("Kitchen", "hey atlas" * 1000, 0.7)
    assert rooms.thresholds("Kitchen") == {"hey atlas": 0.6}


@pytest.mark.parametrize("content", ["[", "[]", '{"Kitchen": 1}', '{"Kitchen": {"hey atlas": "sure"}}'])
def test_a_damaged_file_is_named_with_what_to_do(data: Path, content: str) -> None:
    (data / "wake_thresholds.json").write_text(content)
    with pytest.raises(ConfigError, match=r"wake_thresholds\.json cannot be read"):
        opened(data)


def test_sounds_where_older_versions_stored_them_are_forgotten(data: Path) -> None:
    old = WakeLog(data / "near_misses", lambda: 1_790_000_000.0)
    old.note("hey atlas", 0.4, 0.45, silence(1), False)
    opened(data).prune()
    assert not list((data / "near_misses").iterdir())
