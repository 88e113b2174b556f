"""The walls: whatever people say to whom, where and in what order, nothing of one is ever shown to another.

Everything goes through the real house: its router, agents, grammar, memories and questions; only models and tools are
scripted. Every sentence carries a word of its own, and the test keeps its own, plainer books of whose word that is.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atlas.agents.minds import open_agent
from atlas.config import DEFAULT_AGENTS, Config, LlmConfig
from atlas.conversation import Actor, Tool, ToolCall, ToolResult, Turn
from atlas.errors import RequestError
from atlas.events import Event, TurnEnded, TurnStarted
from atlas.house import House, Mind
from atlas.llm.backend import BackendPrompt
from atlas.router import choose, open_addressing
from atlas.store.memory import Memory, open_memory
from atlas.store.recall import TimeSpan
from tests.houses import assents_of, english, house_of, reader_of
from tests.scripted_backend import ScriptedBackend, ScriptedSettings

WORD = re.compile(r"(?:said|tail|fact|plan)q[a-z]{6}")
MINUTE = 60.0
BEGAN = 1_795_300_000.0
FILES = {"family": "atlas.db", "work": "work.db"}
AGENTS = {
    "family": DEFAULT_AGENTS["family"],
    "work": replace(DEFAULT_AGENTS["work"], wake_words=("hey_jarvis",), devices=("desk",)),
}
Key = tuple[str, str, str]  # agent, and whose past: a person and a room, or nobody's name and a room or a device


# ── what may happen ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Who:
    actor: Actor
    agent: str  # asked for by name
    wake_word: str
    address: str  # said before the words


@dataclass(frozen=True)
class Say:
    who: Who
    remembered: bool
    heard: float | None  # of a spoken reply; None when it is typed
    ahead: bool  # the model reads along before


@dataclass(frozen=True)
class ReadAhead:
    who: Who


@dataclass(frozen=True)
class Fact:
    who: Who


@dataclass(frozen=True)
class Ask:
    """Something about the past, in words."""

    who: Who
    words: str


@dataclass(frozen=True)
class Search:
    """Through a door."""

    who: Who


@dataclass(frozen=True)
class Forget:
    """Through a door: so many exchanges, minutes, or everything."""

    who: Who
    last: int | None = None
    minutes: int | None = None


@dataclass(frozen=True)
class ForgetAloud:
    who: Who
    words: str  # and "yes" where it is asked for
    last: int | None = None
    minutes: int | None = None
    here: bool = False


actors = st.builds(
    Actor,
    st.sampled_from(["", "", "ada", "ben"]),
    st.sampled_from(["phone", "tablet", "desk"]),
    st.sampled_from(["owner", "owner", "adult", "guest", "satellite"]),
    st.sampled_from(["", "kitchen", "ada"]),
)
whos = st.builds(
    Who,
    actors,
    st.sampled_from(["", "", "family", "work"]),
    st.sampled_from(["", "", "okay nabu", "hey jarvis"]),
    st.sampled_from(["", "", "hey work, ", "tell the family agent that "]),
)
asked = st.sampled_from(
    [
        "what did I say about the boiler",
        "what did I say today",
        "what did I just say",
        "when did we last talk about the boiler",
    ]
)
aloud = st.one_of(
    st.builds(ForgetAloud, whos, st.just("forget what I just said"), last=st.just(1), here=st.just(True)),
    st.builds(ForgetAloud, whos, st.just("forget the last five minutes"), minutes=st.just(5)),
    st.builds(ForgetAloud, whos, st.just("forget everything we talked about")),
    st.builds(ForgetAloud, whos, st.just("forget this conversation"), here=st.just(True)),
)
says = st.builds(Say, whos, st.sampled_from([True, True, False]), st.sampled_from([None, 0.0, 0.5, 1.0]), st.booleans())
deeds = st.lists(
    st.one_of(
        says,
        says,
        says,
        says,
        st.builds(ReadAhead, whos),
        st.builds(Fact, whos),
        st.builds(Ask, whos, asked),
        st.builds(Search, whos),
        st.builds(Forget, whos, last=st.sampled_from([1, 2])),
        st.builds(Forget, whos, minutes=st.sampled_from([3, 30])),
        st.builds(Forget, whos),
        aloud,
    ),
    min_size=6,
    max_size=28,
)


# ── the world ──────────────────────────────────────────────────────────────────────────────────────


class Tools:
    """What a tool server would keep of facts, for each person or device by itself."""

    def __init__(self) -> None:
        self.facts: dict[str, list[str]] = {}

    async def listed(self) -> Sequence[Tool]:
        return [Tool("facts.list", "What I was asked to remember.", {"type": "object", "properties": {}}, True)]

    async def call(self, call: ToolCall, actor: Actor, turn_id: str, assent: Any = None, **more: Any) -> ToolResult:
        assert call.name == "facts.list", f"{call.name} is no tool of this house"
        return ToolResult(call.id, True, "", {"facts": self.facts.get(actor.person or actor.device, [])})

    async def aclose(self) -> None:
        pass


@dataclass
class Exchange:
    """One turn in the test's own books."""

    key: Key
    at: float
    words: frozenset[str]


@dataclass
class World:
    house: House
    models: dict[str, ScriptedBackend]
    memories: dict[str, Memory]
    tools: dict[str, Tools]
    data: Path
    now: float = BEGAN
    made: int = 0
    books: list[Exchange] = field(default_factory=list)
    facts: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    never_kept: set[str] = field(default_factory=set)  # in no conversation, or only read ahead
    unheard: set[str] = field(default_factory=set)
    forgotten: set[str] = field(default_factory=set)
    seen: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FILES, 0))

    def new(self, kind: str) -> str:
        self.made += 1
        digits = f"{self.made:06d}".translate(str.maketrans("0123456789", "abcdefghij"))
        return f"{kind}q{digits}"

    def own(self, key: Key) -> set[str]:
        """The words that may be shown in one conversation now."""
        remainder = {word for one in self.books if one.key == key for word in one.words}
        agent, person, place = key
        return remainder | self.facts.get((agent, person or place), set())

    def belonging(self, agent: str, actor: Actor, *, here: bool = False) -> list[Exchange]:
        """Return what somebody may search and forget: a person's own everywhere, if a device of theirs says who it is.

        A room knows people by their voices alone, and gives them what they said in it.
        """
        key = key_of(agent, actor)
        everywhere = actor.person and actor.role != "satellite" and not here
        return [one for one in self.books if one.key == key or (everywhere and one.key[:2] == key[:2])]

    def past(self, agent: str, actor: Actor) -> set[str]:
        """The words that a search may find."""
        return {word for one in self.belonging(agent, actor) for word in one.words}

    def check_prompts(self, agent: str, allowed: set[str]) -> None:
        """Look at what the models were shown since the last time: only `agent`'s was, and only what is allowed."""
        for name, model in self.models.items():
            shown = [*model.prompts, *model.read_ahead]
            new = words_of(message.text for prompt in shown for message in prompt.messages)
            model.prompts.clear()
            model.read_ahead.clear()
            assert not shown or name == agent
            assert new <= allowed, f"{agent}'s model was shown {new - allowed}"

    async def turn(self, who: Who, text: str, **more: Any) -> tuple[str, TurnEnded]:
        """Let somebody say something; return who answered, and how it ended."""
        happening: list[Event] = []

        async def emit(event: Event) -> None:
            happening.append(event)

        self.made += 1
        await self.house.reply(self.asks(who, text, **more), emit)
        assert isinstance(happening[0], TurnStarted)
        assert isinstance(happening[-1], TurnEnded)
        return happening[0].agent, happening[-1]

    def asks(self, who: Who, text: str, **more: Any) -> Turn:
        number = f"turn_{self.made}"
        return Turn(number, who.address + text, who.actor, self.now, agent=who.agent, wake_word=who.wake_word, **more)

    def keep(self, key: Key, words: Iterable[str] = ()) -> None:
        self.books.append(Exchange(key, self.now, frozenset(words)))

    def forget(self, agent: str, actor: Actor, last: int | None, minutes: int | None, *, here: bool) -> None:
        """Strike out of the books what the house should have forgotten."""
        mine = self.belonging(agent, actor, here=here)
        if minutes is not None:
            mine = [one for one in mine if one.at >= self.now - minutes * MINUTE]
        gone = mine[-last:] if last else mine
        self.books = [one for one in self.books if one not in gone]
        self.forgotten |= {word for one in gone for word in one.words}


def key_of(agent: str, actor: Actor) -> Key:
    """Whose past this is, in plain words: a person's in a room; nobody's in a room; a guest's, or a device's."""
    if actor.person:
        return agent, actor.person, f"room {actor.room}"
    if actor.role == "guest":
        return agent, "", f"{actor.device} {actor.room}".strip()
    return agent, "", f"room {actor.room}" if actor.room else actor.device


def words_of(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in WORD.findall(text)}


def on_disk(data: Path, name: str) -> set[str]:
    raw = b"".join(file.read_bytes() for file in data.glob(f"{name}*"))
    return words_of([raw.decode("latin-1")])


@asynccontextmanager
async def opened(config: Config, data: Path) -> AsyncIterator[World]:
    grammar, addressing = english(), open_addressing(["en"], AGENTS)

    def answer(prompt: BackendPrompt) -> str:
        (text,) = WORD.findall(prompt.messages[-1].text)[:1]
        return f"It sounds like {text}, and more: {text.replace('said', 'tail')}."

    async with AsyncExitStack() as stack:
        world: World
        tools = {name: Tools() for name in AGENTS}
        models = {name: ScriptedBackend(ScriptedSettings(answer)) for name in AGENTS}
        memories = {
            name: await stack.enter_async_context(open_memory(data / agent.memory, models[name].forget))
            for name, agent in AGENTS.items()
        }
        confirmations = assents_of(tools["family"], now=lambda: world.now)
        reader = reader_of(grammar)
        minds = {
            name: Mind(
                open_agent(
                    name,
                    LlmConfig(tools=True),
                    models[name],
                    tools[name],
                    reader_of(grammar),
                    confirmations,
                    None,
                    memories[name],
                ),
                memories[name],
            )
            for name in AGENTS
        }
        house = house_of(
            replace(config, agents=AGENTS),
            minds,
            confirmations,
            choose=lambda turn: choose(turn, AGENTS, "family", addressing, asker=confirmations.asker(turn)),
            settle_seconds=reader.settle_seconds,
        )
        world = World(house, models, memories, tools, data)
        yield world


# ── what happens ───────────────────────────────────────────────────────────────────────────────────


async def do(world: World, deed: object) -> None:
    """Do one thing and look at everything that could be seen of it."""
    world.now += MINUTE
    match deed:
        case Say():
            await say(world, deed)
        case ReadAhead(who):
            await read_ahead(world, who, world.new("plan"))
        case Fact(who):
            agent = who.agent or "family"
            whose = who.actor.person or who.actor.device
            word = world.new("fact")
            world.tools[agent].facts.setdefault(whose, []).append(word)
            world.facts.setdefault((agent, whose), set()).add(word)
        case Ask(who, words):
            agent, end = await world.turn(who, words)
            key = key_of(agent, who.actor)
            assert words_of([end.text]) <= world.past(agent, who.actor)
            world.check_prompts(agent, set())
            world.keep(key)
        case Search(who):
            await search(world, who)
        case Forget(who, last, minutes):
            agent = who.agent or "family"
            memory, whose = world.house.memory_of(agent, who.actor)
            since = TimeSpan() if minutes is None else TimeSpan(world.now - minutes * MINUTE)
            gone = await memory.forget(whose, since, last=last)
            before = len(world.books)
            world.forget(agent, who.actor, last, minutes, here=False)
            assert gone.exchanges == before - len(world.books)
            assert gone.scrubbed
            assert gone.dropped
            await look_at_everything(world)
        case ForgetAloud():
            await forget_aloud(world, deed)


async def say(world: World, deed: Say) -> None:
    word = world.new("said")
    text = f"the goblin makes a {word} noise"
    if deed.ahead:
        await read_ahead(world, deed.who, world.new("plan"))
    agent, end = await world.turn(deed.who, text, remembered=deed.remembered, spoken=deed.heard is not None)
    key = key_of(agent, deed.who.actor)
    tail = word.replace("said", "tail")
    facts = world.facts.get((agent, deed.who.actor.person or deed.who.actor.device), set())
    remainder = world.own(key) if deed.remembered else set()
    world.check_prompts(agent, {word} | facts | (remainder - world.unheard))
    assert words_of([end.text]) == {word, tail}
    if deed.heard is not None:
        heard = end.text[: int(len(end.text) * deed.heard)]
        await world.house.remember(end.turn_id, heard)
        if tail not in heard:
            world.unheard.add(tail)
    if deed.remembered:
        world.keep(key, {word} if tail in world.unheard else {word, tail})
    else:
        world.never_kept |= {word, tail}


async def read_ahead(world: World, who: Who, word: str) -> None:
    turn = world.asks(who, f"the boiler makes a {word} noise")
    await world.house.prepare(turn)
    read = [name for name, model in world.models.items() if model.read_ahead]
    for agent in read:
        facts = world.facts.get((agent, who.actor.person or who.actor.device), set())
        world.check_prompts(agent, {word} | facts | world.own(key_of(agent, who.actor)))
    world.never_kept.add(word)


async def search(world: World, who: Who) -> None:
    agent = who.agent or "family"
    past = world.past(agent, who.actor)
    memory, whose = world.house.memory_of(agent, who.actor)
    for matches in (
        await memory.search(whose, "boiler", most=1000),
        await memory.search(whose, "said", most=1000),
        await memory.search(whose, "", most=1000),
    ):
        assert words_of(one.text for one in matches) <= past
    exported = await memory.exchanges(whose, most=1000)
    assert words_of(message.text for one in exported for message in one.messages) == past


async def forget_aloud(world: World, deed: ForgetAloud) -> None:
    who = replace(deed.who, address="")  # an address says nothing that is to be forgotten
    agent, end = await world.turn(who, deed.words)
    key = key_of(agent, who.actor)
    if end.text.endswith("?"):
        world.keep(key)
        world.now += 1.0
        other, end = await world.turn(who, "yes")
        assert other == agent
    if end.text != "There was nothing to forget.":
        assert end.text.startswith("I've forgotten "), end.text
        world.forget(agent, who.actor, deed.last, deed.minutes, here=deed.here)
    world.keep(key)
    world.check_prompts(agent, set())
    await look_at_everything(world)


async def look_at_everything(world: World) -> None:
    """Look into both files: every row is in its own conversation, and what is gone is gone to the last byte."""
    for agent, name in FILES.items():
        seen = on_disk(world.data, name)
        others = {word for one in world.books if one.key[0] != agent for word in one.words}
        assert not seen & (world.forgotten | world.never_kept | others)
        rows = await world.memories[agent]._database.read(
            lambda c: c.execute(
                "SELECT c.agent, c.person, c.room, m.text FROM messages m JOIN turns t ON t.number = m.turn"
                " JOIN conversations c ON c.id = t.conversation"
            ).fetchall()
        )
        results: dict[Key, set[str]] = {}
        for owner, person, room, text in rows:
            key = (
                (owner, "", f"{person.removeprefix('device ')} {room}".strip())
                if person.startswith("device ")
                else (owner, person, f"room {room}")
            )
            results.setdefault(key, set()).update(words_of([text]))
        wanted: dict[Key, set[str]] = {}
        for one in world.books:
            if one.key[0] == agent:
                wanted.setdefault(one.key, set()).update(one.words)
        assert results == wanted


async def live(config: Config, happenings: Sequence[object]) -> None:
    data = Path(tempfile.mkdtemp(prefix="atlas-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))  # noqa: ASYNC240
    try:
        async with opened(config, data) as world:
            for deed in happenings:
                try:
                    await do(world, deed)
                except RequestError:
                    continue  # that agent is not for this role
            await look_at_everything(world)
    finally:
        shutil.rmtree(data)


BY_PHONE = Who(Actor("ben", "phone", "owner", ""), "", "", "")
BY_VOICE = Who(Actor("ben", "phone", "satellite", "kitchen"), "", "", "")


@given(deeds)
@example([Ask(BY_PHONE, "what did I say today"), Forget(BY_VOICE), Search(BY_VOICE)])
@settings(max_examples=30, deadline=None)
def test_nothing_of_one_ever_reaches_another(happenings: Sequence[object]) -> None:
    anyio.run(live, Config(Path("/nowhere")), happenings)


@pytest.mark.real
@given(deeds)
@settings(max_examples=400, deadline=None)
def test_nothing_of_one_ever_reaches_another_however_long_it_is_tried(happenings: Sequence[object]) -> None:
    anyio.run(live, Config(Path("/nowhere")), happenings)
