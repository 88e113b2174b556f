"""How busy a machine is, as its kernel and its driver tell; and how fast a model speaks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas.conversation import Message
from atlas.llm.backend import BackendPrompt
from atlas.llm.presence import SpeakingSpeed, Watched
from atlas.models.machine_load import EVERY_SECONDS, MIB, MOST_SAMPLES, MachineLoad, read_cards
from tests.conftest import virtual_time
from tests.scripted_backend import ScriptedBackend, ScriptedSettings


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


class Kernel:
    """A /proc whose machine is as busy as the test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ticks = [100, 0, 50, 800, 50, 0, 0, 0, 30, 0]
        self.available_kb = 600
        self.write()

    def write(self) -> None:
        cpu = " ".join(map(str, self.ticks))
        (self.folder / "stat").write_text(f"cpu  {cpu}\ncpu0 {cpu}\nintr 1\n")
        (self.folder / "meminfo").write_text(
            f"MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: {self.available_kb} kB\n"
        )

    def spend(self, busy: int, idle: int) -> None:
        self.ticks[0] += busy
        self.ticks[3] += idle
        self.write()


async def sampled(load: MachineLoad, kernel: Kernel, *spent: tuple[int, int]) -> list[Any]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(load.watch)
        await anyio.sleep(EVERY_SECONDS / 2)
        for busy, idle in spent:
            kernel.spend(busy, idle)
            await anyio.sleep(EVERY_SECONDS)
        tasks.cancel_scope.cancel()
    return list(load.since(0.0))


@pytest.fixture
def kernel(data: Path) -> Kernel:
    return Kernel(data)


async def test_a_sample_is_what_was_spent_since_the_one_before(kernel: Kernel) -> None:
    load = MachineLoad({"embedded": iter([0.0, 12.5]).__next__}, kernel.folder)
    kernel.available_kb = 250
    first, second = await sampled(load, kernel, (50, 150), (200, 0))
    assert (first.processor, second.processor) == (0.25, 1.0)
    assert (load.memory_bytes, second.used_bytes) == (1000 * 1024, 750 * 1024)
    assert [sample.tokens_per_second["embedded"] for sample in (first, second)] == [0.0, 12.5]


async def test_samples_of_the_last_minutes_are_stored_and_no_more(kernel: Kernel) -> None:
    samples = await sampled(MachineLoad({}, kernel.folder), kernel, *[(1, 1)] * (MOST_SAMPLES + 10))
    assert len(samples) == MOST_SAMPLES


async def test_a_clock_of_ticks_that_stands_still_or_goes_back_is_no_load(kernel: Kernel) -> None:
    samples = await sampled(MachineLoad({}, kernel.folder), kernel, (0, 0), (-50, -50), (-10, 100))
    assert [sample.processor for sample in samples] == [0.0, 0.0, 0.0]


def test_cards_are_read_as_their_driver_writes_them() -> None:
    text = "NVIDIA GeForce RTX 3060, 37, 5120, 12288\nNVIDIA A100, SXM4, [N/A], 1, 40960\nno card\n, ,\n"
    one, other = read_cards(text)
    assert (one.name, one.busy, one.used_bytes, one.memory_bytes) == (
        "NVIDIA GeForce RTX 3060",
        0.37,
        5120 * MIB,
        12288 * MIB,
    )
    assert (other.name, other.busy) == ("NVIDIA A100, SXM4", None)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cards_are_asked_only_while_somebody_looks(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch, anyio_backend: Any
) -> None:
    asked = kernel.folder / "asked"
    program = kernel.folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\necho x >> {asked}\necho 'Card, 5, 1, 2'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{kernel.folder}:{os.environ['PATH']}")
    load = MachineLoad({}, kernel.folder)
    assert await load._cards() == ()
    assert not asked.exists()
    load.since(0.0)
    assert [card.name for card in await load._cards()] == ["Card"]


def test_speed_is_of_the_time_between_pieces_and_begins_anew_when_it_is_told() -> None:
    speed = SpeakingSpeed()
    for pause in (None, 0.1, 0.1, None, 0.2):
        speed.note(pause)
    assert speed.take() == pytest.approx(7.5)
    assert speed.take() == 0.0


async def test_the_speed_of_a_model_is_that_of_its_answers() -> None:
    watched = Watched(ScriptedBackend(ScriptedSettings(["one two three"], seconds_between=0.5)))
    async for _ in watched.stream(BackendPrompt([Message("user", "count")])):
        pass
    assert watched.speed.take() == pytest.approx(2.0)
