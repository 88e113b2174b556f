"""`kill -9` in the middle of a turn: an honest sentence, the process back, the next turn works, nothing is lost."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from atlas.config import Config
from atlas_bench._house_deaths import survive
from tests.journeys.conftest import Running

pytestmark = pytest.mark.real
DEATHS = 2  # `atlas bench durability` takes 20


def ask(house: Running, text: str, model: str = "family") -> dict[str, Any]:
    answer = house.client().chat.completions.create(model=model, messages=[{"role": "user", "content": text}])
    details: dict[str, Any] = answer.choices[0].message.model_extra["atlas"]  # type: ignore[index]
    return {**details, "text": answer.choices[0].message.content}


@contextmanager
def frozen(house: Running, module: str) -> Iterator[int]:
    """Stop a process of the house without ending it, so that whatever is asked of it is under way."""
    pid = house.pid_of(module)
    assert pid, f"{module} does not run"
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def answer_while_the_tool_server_dies(house: Running, text: str) -> str:
    """Ask over realtime, kill the tool server under its call, and return what was said once it is back."""
    sentence = ""
    with house.client().realtime.connect(model="family") as connection, frozen(house, "tools_server.server") as pid:
        connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        item: Any = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        connection.conversation.item.create(item=item)
        connection.response.create()
        for event in connection:
            if event.type == "atlas.tool_started":  # type: ignore[comparison-overlap]
                os.kill(pid, signal.SIGKILL)
            elif event.type == "response.output_text.delta":
                sentence += event.delta
            elif event.type == "response.done":
                break
    house.is_back("tools_server.server", pid)
    return sentence


@pytest.mark.usefixtures("timers_end")
def test_the_tool_server_dies_in_the_middle_of_a_call(house: Running) -> None:
    ask(house, "set a timer for fifty minutes")
    assert answer_while_the_tool_server_dies(house, "what are my tasks"), "the turn ended without a word"
    left = ask(house, "how long is left on my timer")
    assert left["tools"][0]["ok"]
    assert re.search(r"4\d minutes", left["text"]), left


def test_a_change_is_claimed_only_if_it_was_made_when_the_tool_server_dies_under_it(house: Running) -> None:
    text = answer_while_the_tool_server_dies(house, "add polish the silver to my tasks")
    if "can't tell" not in text:  # the call had not left yet, and the new server took it
        assert ask(house, "what are my tasks")["text"].lower().count("polish the silver") == 1, text


def story_while_the_model_dies(house: Running) -> tuple[str, int]:
    """Ask for a story and end the model at its first words; return what was answered, and the process that ended."""
    stream = house.client().chat.completions.create(
        model="family",
        messages=[{"role": "user", "content": "Tell me a long story about a lighthouse and the sea."}],
        stream=True,
    )
    text, pid, finish = "", 0, None
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            text += chunk.choices[0].delta.content
            pid = pid or house.kill("atlas.llm_host.server")
        if chunk.choices and chunk.choices[0].finish_reason:
            finish = chunk.choices[0].finish_reason
    assert pid, "the model never began"
    assert finish, "the stream was closed properly"
    return text, pid


def test_the_language_model_dies_in_the_middle_of_its_answer(house: Running) -> None:
    for _ in range(5):  # its two sentences may all be there before it is ended
        text, pid = story_while_the_model_dies(house)
        still = ask(house, "what time is it")
        assert still["path"] == "command", "simple things work while the model is away"
        house.is_back("atlas.llm_host.server", pid)
        if "train of thought" in text or "ask me again" in text.lower():
            break
    else:
        pytest.fail(f"nobody was told that the answer broke off: {text}")
    assert ask(house, "What is the capital of France?")["path"] == "model"


def test_a_language_model_that_hangs_is_ended_while_simple_things_go_on_and_it_is_back(house: Running) -> None:
    with frozen(house, "atlas.llm_host.server") as pid:
        assert ask(house, "what time is it")["path"] == "command"
        lost = ask(house, "What is the capital of Spain?")  # waits for it, until it is ended
        assert lost["end"] == "failed", lost
        house.is_back("atlas.llm_host.server", pid)  # it is ended while it hangs, later than anybody waits for it
    assert ask(house, "What is the capital of France?")["path"] == "model"


@pytest.mark.timeout(300)
async def test_the_whole_house_dies_under_those_who_talk_to_it_and_nothing_acknowledged_is_lost(config: Config) -> None:
    seen = await survive(config, DEATHS, seed=7)
    assert (seen.lost, seen.leaked, seen.orphans) == ([], [], [])
    assert (seen.kills, seen.acknowledged > DEATHS) == (DEATHS, True)
