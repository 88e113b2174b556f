"""A house knows which of its models is there: from its last use, and after a miss by asking."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import anyio
import pytest

from atlas.conversation import Message
from atlas.errors import EngineError, LlmBusy, LlmGone
from atlas.llm.backend import BackendPrompt
from atlas.llm.presence import LOOK_SECONDS, Watched
from tests.conftest import virtual_time
from tests.scripted_backend import Script, ScriptedBackend, ScriptedSettings, Vanish

HELLO = [Message("user", "hello")]


@pytest.fixture
def anyio_backend() -> Any:
    return virtual_time()


class Model(ScriptedBackend):
    """A model whose host can be stopped, and counts how often it was asked for its health."""

    def __init__(self) -> None:
        super().__init__(ScriptedSettings(self.says))
        self.there = True
        self.looks = 0

    def says(self, prompt: BackendPrompt) -> Script:
        return "Hello." if self.there else [Vanish()]

    async def prefill(self, *arguments: Any, **more: Any) -> None:
        if not self.there:
            raise LlmGone("nobody listens")
        await super().prefill(*arguments, **more)

    async def health(self) -> str:
        self.looks += 1
        if not self.there:
            raise LlmGone("nobody listens")
        return await super().health()


async def asked(model: Watched) -> int:
    async with aclosing(model.stream(BackendPrompt(HELLO))) as deltas:
        return len([delta async for delta in deltas])


async def test_a_model_that_has_too_much_to_do_is_not_away() -> None:
    class Busy(Model):
        async def embed(self, *arguments: Any, **more: Any) -> Any:
            raise LlmBusy("a line of twenty")

    watched = Watched(Busy())
    with pytest.raises(LlmBusy):
        await watched.embed(["hello"])
    assert not watched.away


async def test_a_model_that_vanishes_is_away_until_its_health_is_good_again() -> None:
    model = Model()
    watched = Watched(model)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watched.watch)
        assert await asked(watched)
        assert (watched.away, model.looks) == (False, 0), "who is there is not asked"
        model.there = False
        with pytest.raises(LlmGone):
            await asked(watched)
        assert watched.away
        await anyio.sleep(10 * LOOK_SECONDS)
        assert watched.away
        model.there = True
        await anyio.sleep(1.5 * LOOK_SECONDS)
        assert not watched.away
        looks = model.looks
        await anyio.sleep(10 * LOOK_SECONDS)
        assert model.looks == looks
        tasks.cancel_scope.cancel()


async def test_who_asks_a_model_that_hangs_after_somebody_waited_in_vain_is_told_so_soon() -> None:
    class Hangs(Model):
        async def stream(self, *arguments: Any, **more: Any) -> Any:
            await anyio.sleep(15)
            raise LlmGone("it said nothing for too long")
            yield

        async def health(self) -> str:
            await anyio.sleep(3)
            raise LlmGone("it said nothing for too long")

    watched, waited = Watched(Hangs()), []
    for _ in range(3):
        began = anyio.current_time()
        with pytest.raises(LlmGone):
            await asked(watched)
        waited.append(anyio.current_time() - began)
    assert waited == [15, 3, 3]


async def test_a_host_that_was_only_busy_is_not_away_for_long() -> None:
    model = Model()
    watched = Watched(model)
    model.there = False
    with pytest.raises(LlmGone):
        await watched.prefill(BackendPrompt(HELLO, conversation=""))
    model.there = True
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watched.watch)
        await anyio.sleep(0.001)
        assert not watched.away
        tasks.cancel_scope.cancel()


async def test_an_answer_shows_that_a_model_is_back_and_a_server_that_reads_nothing_ahead_shows_nothing() -> None:
    model = Model()
    watched = Watched(model)
    model.there = False
    with pytest.raises(LlmGone):
        await watched.health()
    model.there = True
    await watched.prefill(BackendPrompt(HELLO, conversation=""))
    await watched.forget("family/anna/")
    assert watched.away
    assert await asked(watched)
    assert not watched.away


async def test_a_request_that_is_refused_says_nothing_about_presence() -> None:
    class Refuses(Model):
        async def embed(self, texts: Any, **more: Any) -> Any:
            raise EngineError("no model for it")

    watched = Watched(Refuses())
    with pytest.raises(EngineError):
        await watched.embed(["a"])
    assert not watched.away


async def test_a_stream_that_is_left_is_closed_and_is_no_miss() -> None:
    model = Model()
    watched = Watched(model)
    async with aclosing(watched.stream(BackendPrompt(HELLO))) as deltas:
        async for _ in deltas:
            break
    assert (model.abandoned, watched.away) == (1, False)
