"""Agents: whom the caller may talk to, by which wake words, and which model thinks for each."""

from __future__ import annotations

from atlas.gateway.api.caller import AnyCaller, agents_of
from atlas.gateway.api.resource import resource
from atlas.gateway.api.shapes import ApiReply

router = resource("agents", asks=False)


class AgentItem(ApiReply):
    """One agent."""

    name: str
    usual: bool
    model: str
    roles: list[str]
    wake_words: list[str]
    devices: list[str]


class AgentsReply(ApiReply):
    """The agents that talk to the caller, the usual one first."""

    agents: list[AgentItem]


@router.get("")
async def list_agents(caller: AnyCaller) -> AgentsReply:
    """List the agents that talk to the caller."""
    config = caller.house.config
    items = []
    for name in agents_of(caller):
        agent = config.agents[name]
        words, devices = list(agent.wake_words or config.speech.wake_words), list(agent.devices)
        usual, model = name == config.house.agent, config.llm[agent.llm].model
        items.append(
            AgentItem(name=name, usual=usual, model=model, roles=list(agent.roles), wake_words=words, devices=devices)
        )
    return AgentsReply(agents=items)
