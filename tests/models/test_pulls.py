"""A running house pulls models one after the other, through its one way out, and says how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import anyio
import httpx2
import pytest

from atlas.models.pull import client
from atlas.models.pulls import ModelPulls
from atlas.models.way_out import WayOut
from tests.models.test_pull import CONTENT, MODEL, open_hub
from tests.test_egress import here


async def settled(pulls: ModelPulls) -> None:
    """Wait until nothing is under way."""
    with anyio.fail_after(20):
        while any(not state.error for state in pulls.states().values()):
            await anyio.lowlevel.checkpoint()


async def test_a_model_comes_through_the_way_out_and_is_whole(data: Path) -> None:
    async with open_hub() as hub, here(data, hub.address.removeprefix("http://")), anyio.create_task_group() as tasks:
        pulls = ModelPulls(data / "models", lambda: client(WayOut(data / "e.sock")), hub.address)
        tasks.start_soon(pulls.run)
        pulls.begin(MODEL)
        assert pulls.states()["toy"].waiting
        await settled(pulls)
        assert pulls.states() == {}
        assert (data / "models" / "toy" / "weights.gguf").read_bytes() == CONTENT
        tasks.cancel_scope.cancel()


async def test_what_the_egress_does_not_list_is_not_reached_and_says_so(data: Path) -> None:
    async with open_hub() as hub, here(data, "elsewhere.example:443"):
        async with httpx2.AsyncClient(transport=WayOut(data / "e.sock")) as http:
            with pytest.raises(httpx2.ConnectError, match="I may not reach"):
                await http.get(hub.address)
        assert hub.requests == []


async def test_a_pull_that_was_stopped_goes_on_and_one_that_failed_says_why(data: Path) -> None:
    async with open_hub(slow=True) as hub, anyio.create_task_group() as tasks:
        pulls = ModelPulls(data / "models", lambda: httpx2.AsyncClient(trust_env=False), hub.address)
        tasks.start_soon(pulls.run)
        pulls.begin(MODEL)
        with anyio.fail_after(20):
            while not pulls.states()["toy"].done:
                await anyio.lowlevel.checkpoint()
        pulls.stop("toy")
        assert pulls.states() == {}
        bad = replace(MODEL, name="bad", files=(replace(MODEL.files[0], name="no.json", inside="no.json"),))
        pulls.begin(bad)
        await settled(pulls)
        assert "404" in pulls.states()["bad"].error
        pulls.begin(MODEL)
        await settled(pulls)
        assert (data / "models" / "toy" / "weights.gguf").read_bytes() == CONTENT
        tasks.cancel_scope.cancel()


async def test_a_pull_that_is_begun_and_stopped_again_and_again_is_tried_once(tmp_path: Path) -> None:
    requests: list[str] = []

    def hub(request: httpx2.Request) -> httpx2.Response:
        requests.append(request.url.path)
        return httpx2.Response(404)

    async with anyio.create_task_group() as tasks:
        pulls = ModelPulls(tmp_path, lambda: httpx2.AsyncClient(transport=httpx2.MockTransport(hub)))
        for _ in range(5):
            pulls.begin(MODEL)
            pulls.stop("toy")
        pulls.begin(MODEL)
        pulls.begin(replace(MODEL, name="next"))
        tasks.start_soon(pulls.run)
        await settled(pulls)
        assert [name for name, state in pulls.states().items() if "404" in state.error] == ["toy", "next"]
        assert len(requests) == 2
        tasks.cancel_scope.cancel()


def of_a_mistake(_request: httpx2.Request) -> httpx2.Response:
    raise RuntimeError("what somebody said")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda _: httpx2.Response(200, headers={"location": "https://hub.example/\x01"}), "no address"),
        (lambda _: httpx2.Response(302, headers={"location": "https://hub.example/\x01"}), "no address"),
        (of_a_mistake, "RuntimeError"),
    ],
    ids=["an answer that points nowhere", "a redirect to nowhere", "a mistake of ours"],
)
async def test_what_breaks_one_pull_stops_that_pull_and_not_the_house(
    tmp_path: Path, answer: Callable[[httpx2.Request], httpx2.Response], text: str
) -> None:
    unknown = replace(MODEL, name="odd", hub="an/odd", files=tuple(replace(file, sha256="") for file in MODEL.files))

    def hub(request: httpx2.Request) -> httpx2.Response:
        return answer(request) if "odd" in request.url.path else httpx2.Response(404)

    async with anyio.create_task_group() as tasks:
        pulls = ModelPulls(tmp_path, lambda: httpx2.AsyncClient(transport=httpx2.MockTransport(hub)))
        tasks.start_soon(pulls.run)
        pulls.begin(unknown)
        await settled(pulls)
        assert text in pulls.states()["odd"].error
        assert "said" not in pulls.states()["odd"].error
        pulls.begin(MODEL)
        await settled(pulls)
        assert "404" in pulls.states()["toy"].error
        tasks.cancel_scope.cancel()
