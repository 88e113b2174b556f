"""Programs of other hands, unmodified, as clients of the doors that speak OpenAI's protocols.

openai-agents is installed once for each lock file. Pipecat and LiveKit bring half a gigabyte, so they are tried where
OTHER_CLIENTS names a Python that has them (`pip install "pipecat-ai[openai]" "livekit-agents[openai]"`).
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from atlas.audio import silence
from atlas.config import Config
from atlas.speech.resample import resampled
from tests.gateway.small_house import SmallHouse, served
from tests.scripted_vad import voice

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]
HERE = Path(__file__).parent
OTHERS = Path(os.environ.get("OTHER_CLIENTS", "/nowhere"))
RATE = 24_000  # of the Realtime wire


@pytest.fixture(scope="module")
def agents_sdk() -> Any:
    """The package openai-agents, and its realtime half."""
    lock = HERE / "clients.lock"
    folder = HERE / "site" / hashlib.sha256(lock.read_bytes()).hexdigest()[:16]
    if not (folder / "agents").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*command, "--target", str(folder), "-r", str(lock)], check=True, timeout=120)
    sys.path.insert(0, str(folder))
    import agents
    import agents.realtime

    agents.set_tracing_disabled(True)
    yield agents
    sys.path.remove(str(folder))


@pytest.fixture
async def small(config: Config, data: Path) -> AsyncIterator[SmallHouse]:
    """A house whose model may use tools, and that understands one question."""
    llm = {name: replace(one, tools=True) for name, one in config.llm.items()}
    async with served(replace(config, llm=llm), data) as small:
        small.ear.lines = ["how is the weather"]
        yield small


def question() -> bytes:
    """Somebody speaks, and is quiet for long enough."""
    return resampled(silence(0.6) + voice(1.0) + silence(1.5), RATE).pcm


def weather(city: str) -> str:
    """The weather in a city."""
    return f"raining in {city}"


async def test_a_realtime_agent_of_openai_agents_is_spoken_to_and_calls_its_tool(
    small: SmallHouse, agents_sdk: Any
) -> None:
    realtime = agents_sdk.realtime
    agent = realtime.RealtimeAgent(name="helper", instructions="Be brief.", tools=[agents_sdk.function_tool(weather)])
    to_the_house = {
        "api_key": small.tokens["adult"],
        "url": f"{small.url.replace('http', 'ws', 1)}/v1/realtime?model=atlas",
    }
    words, sound, called = "", b"", []
    async with await realtime.RealtimeRunner(agent).run(model_config=to_the_house) as session:
        await session.send_audio(question())
        with anyio.fail_after(60):
            async for event in session:
                if event.type == "tool_end":
                    called.append(event.output)
                elif event.type == "audio":
                    sound += event.audio.data
                elif event.type == "history_updated":
                    words = str(event.history)
                elif event.type == "audio_end":
                    break
    assert called == ["raining in Paris"]
    assert len(sound) > RATE // 2
    assert "raining in Paris" in words


@pytest.mark.parametrize("streamed", [False, True])
async def test_an_agent_of_openai_agents_has_its_tool_called_over_responses(
    small: SmallHouse, agents_sdk: Any, streamed: bool
) -> None:
    model = agents_sdk.OpenAIResponsesModel(model="atlas", openai_client=small.client("adult"))
    agent = agents_sdk.Agent(
        name="helper", instructions="Be brief.", model=model, tools=[agents_sdk.function_tool(weather)]
    )
    given = {"auto_previous_response_id": True}
    if streamed:
        run = agents_sdk.Runner.run_streamed(agent, "how is the weather", **given)
        async for _ in run.stream_events():
            pass
    else:
        run = await agents_sdk.Runner.run(agent, "how is the weather", **given)
    assert run.final_output == "It is raining in Paris."


@pytest.mark.skipif(not OTHERS.is_file(), reason="NOT TESTED: OTHER_CLIENTS names no Python that has them")
@pytest.mark.parametrize("program", ["pipecat", "livekit"])
async def test_a_voice_program_of_another_hand_has_its_question_answered_aloud(
    small: SmallHouse, program: str, data: Path
) -> None:
    (data / "question.raw").write_bytes(question())
    environment = {
        "ATLAS_TOKEN": small.tokens["adult"],
        "ATLAS_URL": f"{small.url.replace('http', 'ws', 1)}/v1",
        "PATH": "/usr/bin:/bin",
        "HOME": str(data),
    }
    command = [str(OTHERS), str(HERE / f"client_of_{program}.py"), str(data / "question.raw")]
    with anyio.fail_after(150):
        run = await anyio.run_process(command, env=environment, check=False, stderr=subprocess.STDOUT)
    last = run.stdout.decode().strip().splitlines()[-1]
    assert last.startswith("heard: ") and "raining in Paris" in last, run.stdout.decode()[-3000:]
