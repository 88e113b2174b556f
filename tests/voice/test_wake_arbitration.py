"""Several rooms hear one wake word, and one answers."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import anyio
import pytest

from atlas.voice.wake_arbitration import LATE_SECONDS, WINDOW_SECONDS, WakeArbitration
from tests.conftest import virtual_time

Heard = tuple[str, float, float]  # room, after seconds, level in dB


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


async def answering(
    *heard: Heard, phrase: str = "okay nabu", rooms: tuple[str, ...] = ("kitchen", "hall", "attic")
) -> dict[str, float]:
    """Return which rooms answered, and after how many seconds."""
    nearest, answered = WakeArbitration(), {}

    async def hear(room: str, after: float, level_db: float) -> None:
        await anyio.sleep(after)
        if await nearest.answers(room, phrase, level_db):
            answered[room] = round(anyio.current_time() - began, 3)

    began = anyio.current_time()
    with ExitStack() as present:
        for room in rooms:
            present.enter_context(nearest.present(room))
        async with anyio.create_task_group() as tasks:
            for one in heard:
                tasks.start_soon(hear, *one)
    return answered


async def test_the_loudest_answers_and_the_others_stay_silent() -> None:
    assert await answering(("hall", 0.0, -40), ("kitchen", 0.2, -22), ("attic", 0.1, -50)) == {
        "kitchen": WINDOW_SECONDS
    }


async def test_the_only_room_of_a_house_answers_at_once() -> None:
    assert await answering(("kitchen", 0.0, -60), rooms=("kitchen",)) == {"kitchen": 0.0}


async def test_one_room_of_several_answers_although_nobody_else_heard_it() -> None:
    assert await answering(("attic", 0.0, -60)) == {"attic": WINDOW_SECONDS}


async def test_a_slow_machine_that_heard_the_same_word_does_not_answer_too() -> None:
    assert await answering(("hall", 0.0, -40), ("kitchen", WINDOW_SECONDS + 0.1, -10)) == {"hall": WINDOW_SECONDS}


async def test_a_word_said_later_in_another_room_is_another_call() -> None:
    later = WINDOW_SECONDS + LATE_SECONDS + 0.1
    assert set(await answering(("hall", 0.0, -10), ("attic", later, -40))) == {"hall", "attic"}


async def test_who_calls_again_at_once_is_answered_again() -> None:
    assert "hall" in await answering(("hall", 0.0, -10), ("hall", 0.5, -30))


async def test_a_button_is_never_too_far_away() -> None:
    assert set(await answering(("hall", 0.0, 0), ("attic", 0.0, 0), phrase="")) == {"hall", "attic"}
