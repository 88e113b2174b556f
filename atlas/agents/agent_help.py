"""Says what an agent can be asked for, by the tools that it really has, and what Atlas is. Without a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from atlas.agents.agent import AgentAnswer, say
from atlas.agents.house_traits import HouseTraits
from atlas.conversation import Turn
from atlas.events import Emit
from atlas.mcp.tools import Tools
from atlas.speech.speaking_volumes import LOUDEST, SOFTEST, SpeakingVolumes
from atlas.understanding.talk_requests import AboutAtlas
from atlas.understanding.understanding import Understanding
from wall.roles import may

GUEST_SECONDS = 3600.0  # that a guest's wish holds in a room that others live in
MOST_CUSTOM = 4  # of the house's own sentences; who wants more looks into their file


class Help:
    """Answers "what can you do", and questions about Atlas itself by the settings of this house, and nothing else.

    Who wants it louder or softer has it speak so on the device that was spoken to. A client with instructions of its
    own made somebody else of the agent: what that one can do, its model says.
    """

    def __init__(
        self,
        tables: Mapping[str, Any],
        tools: Tools,
        custom: Callable[[Collection[str]], Sequence[str]] = lambda tools: (),
        traits: Callable[[], HouseTraits] = HouseTraits,
        volumes: SpeakingVolumes | None = None,
    ) -> None:
        self._tools = tools
        self._own = tables["help"]
        self._about = tables.get("about", {})
        self._traits = traits
        self._volumes = volumes
        self._custom = custom  # of these tools, examples of the house's own sentences

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Answerer.answer`."""
        if meant.about:
            so_loud = await self._speak_so_loud(meant.about, turn)
            return await say(so_loud or self._traits().filled(meant.about, self._about), emit)
        words = await self._words() if meant.help else ""
        return await say(words, emit) if words else None

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`."""
        return meant.help or meant.about is not None

    async def _speak_so_loud(self, about: AboutAtlas, turn: Turn) -> str:
        """Speak as loudly as is wanted where the turn was said; return what is said of it, "" where that cannot be."""
        if not (self._volumes and turn.spoken and (about.louder or about.percent)):
            return ""
        device, volumes, words = turn.actor.device_key, self._volumes, self._about["volume"]
        wanted = about.percent or volumes.percent(device) + about.louder
        is_guest = not may(turn.actor.role, "reside")
        percent = volumes.lend(device, wanted, GUEST_SECONDS) if is_guest else await volumes.set(device, wanted)
        if percent is None:
            return ""
        limit = "most" if percent == LOUDEST else "least" if percent == SOFTEST else "now"
        return str(words[limit].format(percent=percent) + (words["lent"] if is_guest else ""))

    async def _words(self) -> str:
        """Return what this agent can do, and one thing to try; "" when none of its tools is there."""
        offered = {tool.name for tool in await self._tools.listed()}
        families = {name.partition(".")[0] for name in offered}
        can = [words for family, words in self._own["can"].items() if family in families]
        if not can:
            return ""
        series = self._own["last"].format(", ".join(can[:-1]), can[-1]) if len(can) > 1 else can[0]
        tries = [text for tool, text in self._own["such_as"].items() if tool in offered]
        custom = [f"“{text}”" for text in self._custom(offered)[:MOST_CUSTOM]]
        return " ".join(
            [
                self._own["says"].format(can=series),
                *([self._own["custom"].format(", ".join(custom))] if custom else ()),
                *(self._own["try"].format(such_as=one) for one in tries[:1]),
            ]
        )
