"""Knows who can hear what is said to others: messages need a person with a device, announcements say who hears."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atlas.conversation import Actor, SignedAnswer, Tool, ToolCall, ToolResult
from atlas.errors import StoreError
from atlas.mcp.tools import Tools
from atlas.own_words import own

LEAVE, ANNOUNCE = "messages.leave", "broadcast.say"
MOST_NAMED = 8  # in one sentence


@dataclass(frozen=True, slots=True)
class RecipientTools:
    """Keeps the `Tools` contract over other tools. Who has which device only the house knows, not its tool server."""

    tools: Tools
    residents: Callable[[], Awaitable[Sequence[str]]]  # who has a device of their own; may raise `StoreError`
    audience: Callable[[str, str], str]  # "there", "elsewhere", "sender", "nobody": by a room, and who announces
    also_called: Mapping[str, str] = field(default_factory=dict)  # other names of residents, and whose

    async def listed(self) -> Sequence[Tool]:
        """See `Tools.listed`."""
        return await self.tools.listed()

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        """See `Tools.call`."""
        person = call.arguments.get("person") if call.name == LEAVE else ""
        if isinstance(person, str) and (name := " ".join(person.split()).casefold()):
            try:
                people = {one.casefold(): one for one in await self.residents()}
            except StoreError as trouble:
                return ToolResult(call.id, False, own(trouble.spoken), error="failed")
            other_names = {other.casefold(): one.casefold() for other, one in self.also_called.items()}
            name = name if name in people else other_names.get(name, name)
            if name not in people:
                return ToolResult(call.id, False, self._refusal(list(people.values())), error="not_found")
            call = replace(call, arguments={**call.arguments, "person": people[name]})
        result = await self.tools.call(call, actor, turn_id, assent, tainted=tainted)
        if call.name == ANNOUNCE and result.ok and not result.ask:
            place = str(result.data.get("broadcast", {}).get("room", ""))
            return replace(result, text=self._heard_by(place, actor.device) or result.text)
        return result

    async def watch(self, changed: Callable[[str], None]) -> None:
        """See `Tools.watch`."""
        await self.tools.watch(changed)

    async def aclose(self) -> None:
        """See `Tools.aclose`."""
        await self.tools.aclose()

    def _heard_by(self, room: str, device: str) -> str:
        """Return who hears an announcement, when those whom it is for do not."""
        match self.audience(room, device):
            case "elsewhere":
                return own("Nobody can hear me there now, so I'm saying it wherever somebody can.")
            case "sender":
                return own("Nothing else is connected now, so only this device says it.")
            case "nobody":
                return own("Nothing that could say it is connected now. It waits for an hour.")
            case _:
                return ""

    def _refusal(self, people: Sequence[str]) -> str:
        """Return what is said where nobody of that name would ever hear a message."""
        if not people:
            return own("I can leave a message for a room or for everybody, but I know nobody by name.")
        sentence = own("I can leave a message for {people}, for a room, or for everybody.")
        return sentence.format(people=", ".join(people[:MOST_NAMED]))
