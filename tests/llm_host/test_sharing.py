"""People share one model: who is more urgent goes first, equals take turns, and nobody waits for a slow reader."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from llm_process import HELLO, MODEL, READY_SECONDS, Host, running

pytestmark = pytest.mark.real

LONG = [{"role": "user", "content": "The sea is wide and the night is long. " * 110}]  # some eight steps to read


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Host]:
    with running(tmp_path_factory.mktemp("h"), models, "--context", "8192") as host:
        yield host


def body(messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": messages, "temperature": 0, **more}


def prefill(host: Host, messages: Any, **more: Any) -> dict[str, Any]:
    reply = host.http.post("/v1/chat/completions", json=body(messages, atlas_prefill=True, **more))
    assert reply.status_code == 200 and reply.json()["object"] == "atlas.prefill"
    usage: dict[str, Any] = reply.json()["usage"]
    return usage


def cached(usage: dict[str, Any]) -> int:
    return int(usage["prompt_tokens_details"]["cached_tokens"])


def test_what_was_read_ahead_need_not_be_read_again_and_reading_it_twice_is_free(host: Host) -> None:
    first = prefill(host, LONG, atlas_conversation="early")
    assert first["completion_tokens"] == 0 and cached(first) < 100 < first["prompt_tokens"]
    assert cached(prefill(host, LONG, atlas_conversation="early")) == first["prompt_tokens"] - 1
    usage = host.chat(LONG, atlas_conversation="early", max_tokens=1).json()["usage"]
    assert cached(usage) == usage["prompt_tokens"] - 1


def test_a_prompt_longer_than_the_context_cannot_be_read_ahead(host: Host) -> None:
    reply = host.http.post("/v1/chat/completions", json=body([{**LONG[0], "content": "a " * 9000}], atlas_prefill=True))
    assert reply.status_code == 400 and reply.json()["error"]["atlas"]["context"] <= 8192


async def test_reading_ahead_gives_way_to_an_answer_and_what_it_had_read_stays_when_it_is_given_up(host: Host) -> None:
    """The answer is of the same priority. It may come before the first step of a reading: then another is begun."""
    left = []
    for mountain in ("Ararat", "Elbrus", "Olympus", "Fuji", "Rigi"):
        reading = [{"role": "user", "content": f"Of the {mountain}. " * 300}]
        assert await interrupted(host, reading, mountain) == ["answer"]
        usage = host.chat(reading, atlas_conversation=mountain, max_tokens=1).json()["usage"]
        assert cached(usage) < usage["prompt_tokens"] - 1
        left.append(cached(usage))
        if left[-1] > 100:
            return
    pytest.fail(f"nothing of five readings stayed but {left} tokens")


async def interrupted(host: Host, reading: Any, conversation: str) -> list[str]:
    """Begin to read ahead, ask something else, hang up on the reading at its answer; return what came to its end."""
    transport = httpx2.AsyncHTTPTransport(uds=str(host.socket))
    done: list[str] = []
    async with httpx2.AsyncClient(transport=transport, base_url="http://llm", timeout=READY_SECONDS) as http:

        async def read() -> None:
            wish = body(reading, atlas_prefill=True, atlas_conversation=conversation)
            await http.post("/v1/chat/completions", json=wish)
            done.append("reading")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            while (await http.get("/health")).json()["requests"] == 0:
                pass
            reply = await http.post("/v1/chat/completions", json=body(HELLO, max_tokens=2, atlas_conversation="x"))
            assert reply.status_code == 200
            done.append("answer")
            tasks.cancel_scope.cancel()
    return done


async def test_voice_goes_before_chat_and_chat_before_background_in_the_middle_of_their_answers(host: Host) -> None:
    before = len(host.answered())
    transport = httpx2.AsyncHTTPTransport(uds=str(host.socket))
    async with httpx2.AsyncClient(transport=transport, base_url="http://llm", timeout=READY_SECONDS) as http:

        async def ask(priority: str, tokens: int, begun: anyio.Event) -> None:
            wish = body(HELLO, stream=True, max_tokens=tokens, atlas_priority=priority, atlas_conversation=priority)
            async with http.stream("POST", "/v1/chat/completions", json=wish) as reply:
                async for line in reply.aiter_lines():
                    if '"content": "' in line and '"content": ""' not in line:
                        begun.set()

        with anyio.fail_after(READY_SECONDS):
            async with anyio.create_task_group() as tasks:
                for priority, tokens in (("background", 200), ("chat", 60), ("voice", 5)):
                    begun = anyio.Event()
                    tasks.start_soon(ask, priority, tokens, begun)
                    await begun.wait()  # it has said something, and the next one comes
    order = [line.split("conversation='")[1].split("'")[0] for line in host.answered()[before:]]
    assert order == ["voice", "chat", "background"]


async def test_somebody_who_asks_three_times_at_once_lets_another_in_between(host: Host) -> None:
    before = len(host.answered())
    transport = httpx2.AsyncHTTPTransport(uds=str(host.socket))
    async with httpx2.AsyncClient(transport=transport, base_url="http://llm", timeout=READY_SECONDS) as http:

        async def ask(who: str, tokens: int, stands: anyio.Event) -> None:
            wish = body(HELLO, stream=True, max_tokens=tokens, atlas_conversation=who)
            async with http.stream("POST", "/v1/chat/completions", json=wish) as reply:
                async for _line in reply.aiter_lines():
                    stands.set()

        async with anyio.create_task_group() as tasks:
            for who, tokens in (("anna", 150), ("anna", 2), ("anna", 2), ("ben", 2)):
                stands = anyio.Event()
                tasks.start_soon(ask, who, tokens, stands)
                await stands.wait()  # in line: the head of its answer has come
    order = [line.split("conversation='")[1].split("'")[0] for line in host.answered()[before:]]
    assert order == ["anna", "ben", "anna", "anna"]


def test_a_reader_that_reads_nothing_holds_up_nobody(host: Host) -> None:
    wish = json.dumps(body(HELLO, stream=True, max_tokens=400)).encode()
    with socket.socket(socket.AF_UNIX) as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        stuck.connect(str(host.socket))
        stuck.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: llm\r\ncontent-length: %d\r\n\r\n" % len(wish))
        stuck.sendall(wish)
        assert host.chat(max_tokens=2, atlas_conversation="other").status_code == 200
