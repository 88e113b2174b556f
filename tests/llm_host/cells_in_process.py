"""Whatever happened to the cells before, the same question is answered the same. Run by `test_cells.py`.

A real host in this process is asked at random: answers and readings ahead of several people at once, of every priority,
many of them hung up on in the middle, one conversation twice at a time, forgetting, and starting again from the files.
There are fewer cells than the people want. What each prompt is answered was found out before, in cells of its own.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import llama_cpp as llama
import pytest

from atlas.llm_host.generate import AnswerPart
from atlas.llm_host.host import Host, HostOptions
from atlas.llm_host.line import PRIORITIES
from atlas.llm_host.request import parse

pytestmark = pytest.mark.real

ROUNDS = 6
CHANCE = random.Random(1)
PEOPLE = ("anna", "ben", "carl", "dora", "")
PERSONA = "You are the voice of a house. " + "Be brief, warm and right. " * 9
TOPICS = ("the sea", "bread")
LATER = ("Why?", "Tell me one thing more. " * 5, "And what would a child ask?")


def prompts() -> list[list[dict[str, str]]]:
    """Conversations that begin alike, each also as it stood a turn earlier."""
    rows = []
    for topic in TOPICS:
        messages = [{"role": "system", "content": PERSONA}, {"role": "user", "content": f"Tell me of {topic}."}]
        for question in LATER:
            rows.append(messages)
            messages = [*messages, {"role": "assistant", "content": f"I like {topic}."}]
            messages = [*messages, {"role": "user", "content": question}]
        rows.append(messages)
    return [*rows, [{"role": "user", "content": "Hello."}], [{"role": "user", "content": "One, two, three, " * 30}]]


@asynccontextmanager
async def running(model: Path, path: Path | None, conversations: int) -> AsyncIterator[Host]:
    host = Host(HostOptions(model, "m", context=320, threads=1, conversations=conversations, state_folder=path))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(host.run)
        while host._loaded is None:  # noqa: ASYNC110 - it tells nobody, but who asks for /health
            await anyio.sleep(0.01)
        yield host
        await host.close()
        tasks.cancel_scope.cancel()


async def said(host: Host, messages: object, who: str, priority: str, hang_up_after: int = -1) -> str:
    """Return what the host answers; "" when it is hung up on, after so many parts."""
    job = await host.job(parse(_body(messages, atlas_conversation=who, max_tokens=10, atlas_priority=priority)))
    words: list[str] = []
    with anyio.CancelScope() as scope, host.line.place(priority, who) as turn:

        def give(part: AnswerPart) -> None:
            words.append(part.words)
            if len(words) == hang_up_after:
                scope.cancel()

        if hang_up_after == 0:
            scope.deadline = anyio.current_time() + CHANCE.random() / 4  # in the middle of its prompt, or in line
        await host.answer(job, turn, give)
    return "" if scope.cancel_called else "".join(words)


async def read(host: Host, messages: object, who: str, priority: str, seconds: float) -> None:
    job = await host.job(parse(_body(messages, atlas_conversation=who, atlas_prefill=True, atlas_priority=priority)))
    with anyio.move_on_after(seconds), host.line.place(priority, who, ahead=True) as turn:
        await host.read_ahead(job, turn)


def _body(messages: object, **more: object) -> bytes:
    return json.dumps({"model": "m", "messages": messages, "temperature": 0, **more}).encode()


def agree(host: Host) -> None:
    """Every sequence of cells holds as many tokens as the cache believes, from the first on."""
    loaded = host.loaded
    memory, cache = loaded.weights._memory, loaded.cache
    results = {
        cached_sequence.sequence: len(cached_sequence.tokens) for cached_sequence in cache._kept.values()
    } | dict.fromkeys(cache._free, 0)
    assert sorted(results) == list(range(host.options.conversations))
    for sequence, count in results.items():
        assert llama.llama_memory_seq_pos_max(memory, sequence) == count - 1
        assert llama.llama_memory_seq_pos_min(memory, sequence) == (0 if count else -1)


async def test_an_answer_never_depends_on_what_was_computed_before(data: Path, models: Path) -> None:
    chance = CHANCE
    model = next((models / "smollm2-135m-instruct").glob("*.gguf"))
    requests = prompts()
    async with running(model, None, 1) as host:
        truth = []
        for messages in requests:
            truth.append(await said(host, messages, "", "chat"))
            await host.forget("")
    wrong: list[str] = []

    async def one(host: Host) -> None:
        which, who, priority = chance.randrange(len(requests)), chance.choice(PEOPLE), chance.choice(PRIORITIES)
        match chance.choice(("answer", "answer", "answer", "left", "left", "read", "read", "forget")):
            case "answer":
                if (words := await said(host, requests[which], who, priority)) != truth[which]:
                    wrong.append(f"{which} {who}: {words!r} and not {truth[which]!r}")
            case "left":
                await said(host, requests[which], who, priority, chance.choice((0, 0, 1, 2)))
            case "read":
                await read(host, requests[which], who, priority, chance.choice((0.05, 0.2, 9.0)))
            case "forget":
                await host.forget(who)

    for _restart in range(3):
        async with running(model, data / "kept", 3) as host:
            for _round in range(ROUNDS // 3):
                async with anyio.create_task_group() as tasks:
                    for _ in range(chance.randint(1, 4)):
                        tasks.start_soon(one, host)
                await host.compute.do(partial(agree, host))
    assert not wrong, "\n".join(wrong)
