"""One model that hangs is one agent's trouble: the other agents answer, and commands need no model at all."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from atlas.agents.agent_chat import Chat
from atlas.agents.agent_commands import Commands
from atlas.agents.minds import InOrder
from atlas.agents.persona import open_persona
from atlas.agents.speech_policy import SpeechPolicy
from atlas.config import Config
from atlas.conversation import Actor, Turn, fresh_id
from atlas.events import Event, TurnEnded
from atlas.house import Mind
from atlas.llm.backend import BackendPrompt, Delta
from atlas.store.memory import open_memory
from atlas.understanding.grammar import Grammar
from atlas.understanding.names import Names
from tests.houses import choosing, house_of, reader_of
from tests.scripted_backend import ScriptedBackend, ScriptedSettings
from tests.scripted_tools import ScriptedHousehold

from .conftest import says

OWNER = Actor("Ada", "phone", "owner", "study")


class Hung(ScriptedBackend):
    """A model that takes a request and never says a word."""

    event: anyio.Event

    async def stream(self, prompt: BackendPrompt) -> AsyncGenerator[Delta, None]:
        self.event.set()
        await anyio.sleep_forever()
        async for delta in super().stream(prompt):
            yield delta


@pytest.mark.parametrize("spoken", [True, False])
async def test_family_turns_and_commands_do_not_wait_for_a_work_model_that_hangs(
    config: Config, data: Path, grammar: Grammar, spoken: bool
) -> None:
    hung = Hung(ScriptedSettings())
    hung.event = anyio.Event()
    tools = ScriptedHousehold().tools()
    backends = {"work": hung, "family": says(["Paris."])}
    async with AsyncExitStack() as stack:
        minds = {}
        for name, agent in config.agents.items():
            speech = SpeechPolicy(grammar.tables, Names, trusted=True, answers=True)
            chat = Chat(
                open_persona(name), backends[name], tools, choosing(), speech, trusted=True, context_tokens=4096
            )
            mind = InOrder(name, reader_of(grammar), [Commands(grammar.tables, tools), chat])
            minds[name] = Mind(mind, await stack.enter_async_context(open_memory(data / agent.memory)))
        house = house_of(config, minds)

        async def ask(agent: str, text: str) -> str:
            happening: list[Event] = []

            async def emit(event: Event) -> None:
                happening.append(event)

            await house.reply(Turn(fresh_id("turn"), text, OWNER, 1.8e9, agent=agent, spoken=spoken), emit)
            (ended,) = [event for event in happening if isinstance(event, TurnEnded)]
            return ended.text

        async with anyio.create_task_group() as group:
            group.start_soon(ask, "work", "summarise the contract")
            with anyio.fail_after(5):
                await hung.event.wait()
                assert await ask("family", "what is the capital of France") == "Paris."
                assert "Timer set" in await ask("family", "set a timer for ten minutes")
            group.cancel_scope.cancel()
