"""Ends a whole house by kill -9 while people talk to both agents, and looks for all that was acknowledged.

A turn is acknowledged when its answer has arrived. Then what it was about must be found after the restart: in the
conversation, and where the tool server keeps its facts, notes, tasks, timers and lists. Every word is said to one agent
only, so that one word in the other's file is a hole in the wall. No process of a house may outlive it.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2

from atlas.cli import door
from atlas.config import Config
from atlas.conversation import Actor, ToolCall
from atlas.mcp import tools_mcp
from atlas_bench._house import own_house
from atlas_bench._process import family_of, living

PAUSE_SECONDS = 0.7  # between a person's sentences: faster, they would use up what a minute allows
LATEST_SECONDS = 6.0  # from the first words to the kill; a command takes about 0.05 s, an answer of the model one
TURN_SECONDS = 60.0
SEARCHED = 5  # of the last words of each, after each restart; an export tells of all others
ORPHAN_SECONDS = 5.0  # a child whose tether is cut dies at once; this is for a machine that is busy
SYLLABLES = ("ba", "do", "fe", "gu", "ki", "lo", "mu", "na", "po", "ri", "su", "te", "vo", "wa", "ze")
COMMANDS = {  # what is said → the tool that then knows the word
    "add polish the {} to my tasks": "tasks.list",
    "set a {} timer for nine hours": "timers.list",
    "put {} on the shopping list": "lists.read",
    "remember that {} is what the neighbours call their cat": "facts.list",
    "make a note called {}: mend the gate": "notes.list",
}
TALK = "Say something nice about {}, in a few words."
MEMORIES = {"family": "atlas.db", "work": "work.db"}


@dataclass(slots=True)
class HouseDeathOutcome:
    """What came of it, in words where something was wrong."""

    seed: int
    kills: int = 0
    acknowledged: int = 0
    under_way: int = 0
    lost: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SentWords:
    """Words that were sent to one agent, and whether they were answered."""

    agent: str
    person: str
    word: str
    tool: str  # that knows it, "" for mere talk
    acknowledged: bool = False


async def survive(config: Config, kills: int, seed: int) -> HouseDeathOutcome:
    """Kill one house so many times, look after each what is left, and return what was seen."""
    seen, chance = HouseDeathOutcome(seed), random.Random(seed)
    sent_texts: list[SentWords] = []
    with tempfile.TemporaryDirectory(prefix="atlas-deaths-") as folder:
        for number in range(kills + 1):
            async with own_house(config, Path(folder)) as (house, pid):
                await _compare(house, sent_texts, seen)
                if number < kills:
                    family = family_of(pid)
                    # Sometimes its first process alone, whose death must be everybody's; sometimes one after the other.
                    victims = chance.choice([[pid], chance.sample(sorted(family), len(family))])
                    await _talk_until_killed(house, sent_texts, chance, victims)
                    seen.kills += 1
                    seen.orphans += await _still_alive(family)
            _look_through_walls(house.data, sent_texts, seen)
    seen.acknowledged = sum(one.acknowledged for one in sent_texts)
    seen.under_way = len(sent_texts) - seen.acknowledged
    return seen


async def _talk_until_killed(
    house: Config, sent_texts: list[SentWords], chance: random.Random, victims: list[int]
) -> None:
    """Let three people talk, and kill the house under them."""
    dying = anyio.Event()
    async with anyio.create_task_group() as tasks:
        for agent, person in (("family", "Ada"), ("family", "Ben"), ("work", "Ada")):
            tasks.start_soon(_talk, house, sent_texts, random.Random(chance.random()), agent, person, dying)
        await anyio.sleep(chance.uniform(0.2, LATEST_SECONDS))
        dying.set()
        for victim in victims:
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)


async def _talk(
    house: Config, sent_texts: list[SentWords], chance: random.Random, agent: str, person: str, dying: anyio.Event
) -> None:
    """Say one thing after another until nobody answers. Before the end, all of it is done."""
    with suppress(httpx2.TransportError):
        async with door.client(house, timeout=TURN_SECONDS) as client:
            while True:
                sentence = chance.choice([*COMMANDS, TALK])
                one = SentWords(agent, person, _new_word(sent_texts, chance), COMMANDS.get(sentence, ""))
                sent_texts.append(one)
                body: dict[str, Any] = {
                    "model": agent,
                    "messages": [{"role": "user", "content": sentence.format(one.word)}],
                    "max_tokens": 24,
                    "atlas": {"remember": True, "person": person},
                }
                answer = await client.post("/v1/chat/completions", json=body)
                one.acknowledged = _is_done(answer, one)
                assert one.acknowledged or dying.is_set(), (sentence, answer.text)
                await anyio.sleep(chance.uniform(0, 2 * PAUSE_SECONDS))


def _new_word(sent_texts: list[SentWords], chance: random.Random) -> str:
    """Return a word that nobody has said: found anywhere else, it has come through a wall."""
    while True:
        word = "".join(chance.choices(SYLLABLES, k=5))
        if all(one.word != word for one in sent_texts):
            return word


def _is_done(answer: httpx2.Response, one: SentWords) -> bool:
    """Did the house say that it did it? With parts of it dead it may say that it could not."""
    if not answer.is_success:
        return False
    details = answer.json()["choices"][0]["message"]["atlas"]
    return details["end"] in ("done", "length") and [tool["ok"] for tool in details["tools"]] == [True] * bool(one.tool)


async def _compare(house: Config, sent_texts: list[SentWords], seen: HouseDeathOutcome) -> None:
    """Ask the house for everything that was acknowledged."""
    for agent, person in sorted({(one.agent, one.person) for one in sent_texts}):
        mine = [one for one in sent_texts if (one.agent, one.person) == (agent, person) and one.acknowledged]
        past = await _past(house, agent, person, [one.word for one in mine[-SEARCHED:]])
        known = {tool: await _known(house, agent, person, tool) for tool in {one.tool for one in mine if one.tool}}
        for one in mine:
            if one.word not in past:
                seen.lost.append(f"{agent} does not remember {one.word!r} of {person}")
            if one.tool and one.word not in known[one.tool].casefold():
                seen.lost.append(f"{one.tool} of {agent} does not know {one.word!r} of {person}")


async def _past(house: Config, agent: str, person: str, searched: list[str]) -> str:
    """Return all that was said, without those words of `searched` that a search does not find."""
    query = {"agent": agent, "person": person}
    async with door.client(house, timeout=TURN_SECONDS) as client:
        text = (await client.get("/api/conversations/export", params=query)).raise_for_status().text
        for word in searched:
            response = await client.get("/api/conversations/search", params=query | {"q": word})
            if not any(word in one["text"] for one in response.raise_for_status().json()["matches"]):
                text = text.replace(word, "")
    return text


async def _known(house: Config, agent: str, person: str, tool: str) -> str:
    token = house.tools_token(agent).read_text(encoding="utf-8").strip()
    connection = await tools_mcp.open(tools_mcp.ToolServerSettings(socket=house.socket("tools"), token=token))
    try:
        actor = Actor(person, "owner", "owner")
        result = await connection.call(ToolCall("call_1", tool, {}), actor, "turn_bench")
        assert result.ok, result
        return f"{result.data}"
    finally:
        await connection.aclose()


def _look_through_walls(data: Path, sent_texts: list[SentWords], seen: HouseDeathOutcome) -> None:
    """Look in the files of each memory, as they lie on the disk, for words that were meant for the other."""
    for agent, name in MEMORIES.items():
        raw = b"".join(file.read_bytes() for file in data.glob(f"{name}*"))
        for one in sent_texts:
            if one.agent != agent and one.word.encode() in raw:
                seen.leaked.append(f"{one.word!r}, said to {one.agent}, is in {name}")


async def _still_alive(family: dict[int, str]) -> list[str]:
    """Return the command lines of those that outlive the house."""
    with anyio.move_on_after(ORPHAN_SECONDS):
        while family.keys() & living().keys():  # noqa: ASYNC110  # others' processes set no Event of ours
            await anyio.sleep(0.05)
        return []
    return [family[pid] for pid in family.keys() & living().keys()]
