"""Knows who can hear what is said to others: messages need a person with a device, announcements say who hears."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atlas.conversation import Actor, SignedAnswer, Tool, ToolCall, ToolResult, fresh_id
from atlas.errors import StoreError
from atlas.mcp.tools import Tools
from atlas.own_words import own

LEAVE, ANNOUNCE, PLACES, WHERE = "messages.leave", "broadcast.say", "home.list", "presence.where"
HOME = "home"  # where somebody is who can hear what is said aloud here
MOST_NAMED = 8  # in one sentence


@dataclass(frozen=True, slots=True)
class RecipientTools:
    """Keeps the `Tools` contract over other tools. Who has which device only the house knows, not its tool server."""

    tools: Tools
    residents: Callable[[], Awaitable[Sequence[str]]]  # who has a device of their own; may raise `StoreError`
    rooms: Callable[[], Awaitable[Sequence[str]]]  # in which a device stands; may raise `StoreError`
    audience: Callable[[str, str], str]  # "there", "elsewhere", "sender", "nobody": by a room, and who announces
    also_called: Mapping[str, str] = field(default_factory=dict)  # other names of residents, and whose

    async def listed(self) -> Sequence[Tool]:
        """See `Tools.listed`."""
        return await self.tools.listed()

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        """See `Tools.call`."""
        if call.name == LEAVE:
            try:
                addressed = await self._addressed(call, actor, turn_id)
            except StoreError as trouble:
                return ToolResult(call.id, False, own(trouble.spoken), error="failed")
            if isinstance(addressed, str):
                return ToolResult(call.id, False, addressed, error="not_found")
            call = addressed
        if call.name == ANNOUNCE and (away := await self._away(call, actor, turn_id)):
            left = ToolCall(call.id, LEAVE, {"text": call.arguments.get("text", ""), "person": away})
            result = await self.call(left, actor, turn_id, assent, tainted=tainted)
            if result.ask:
                return result
            if result.ok or result.error != "not_found":
                return replace(result, text=f"{own('{person} is away.').format(person=away)} {result.text}")
            sentence = own("{person} is away, and has no device here that I could leave it on.")
            return replace(result, text=sentence.format(person=away))
        result = await self.tools.call(call, actor, turn_id, assent, tainted=tainted)
        if call.name == ANNOUNCE and result.ok and not result.ask:
            place = str(result.data.get("broadcast", {}).get("room", ""))
            return replace(result, text=self._heard_by(place, actor.device_key) or result.text)
        return result

    async def watch(self, changed: Callable[[str], None]) -> None:
        """See `Tools.watch`."""
        await self.tools.watch(changed)

    async def aclose(self) -> None:
        """See `Tools.aclose`."""
        await self.tools.aclose()

    async def _away(self, announcement: ToolCall, actor: Actor, turn_id: str) -> str:
        """Return whom an announcement is for, where they are known to be away; "" where they may be here."""
        if not (person := _name(announcement.arguments.get("person"))):
            return ""
        where = await self.tools.call(ToolCall(fresh_id("call"), WHERE, {"person": person}), actor, turn_id)
        devices = where.data.get("devices", ()) if where.ok else ()
        places = [(str(one.get("name", "")), one.get("state", {}).get("place")) for one in devices]
        return next((name for name, place in places if place and place != HOME), "")

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

    async def _addressed(self, call: ToolCall, actor: Actor, turn_id: str) -> ToolCall | str:
        """Return a message to be left, its person by their own name; or why nobody would ever hear it.

        Raises `StoreError`.
        """
        person, room = (_name(call.arguments.get(key)) for key in ("person", "room"))
        if room and not person:
            room = room.removeprefix("the ")  # as models write it
            rooms = {one.casefold(): one for one in await self.rooms()}
            room = room if room in rooms else await self._other_name(room, rooms, actor, turn_id)
            if room not in rooms:
                return _refusal_of_room(list(rooms.values()))
            return replace(call, arguments={**call.arguments, "room": rooms[room]})
        if not person:
            return call
        people = {one.casefold(): one for one in await self.residents()}
        other_names = {other.casefold(): one.casefold() for other, one in self.also_called.items()}
        person = person if person in people else other_names.get(person, person)
        if person not in people:
            return _refusal_of_person(list(people.values()))
        return replace(call, arguments={**call.arguments, "person": people[person]})

    async def _other_name(self, room: str, rooms: Collection[str], actor: Actor, turn_id: str) -> str:
        """Return which of these rooms the home calls by this name as well; "" for none."""
        home = await self.tools.call(ToolCall(fresh_id("call"), PLACES, {}), actor, turn_id)
        names = [{_name(one["name"]), *map(_name, one["aliases"])} for one in home.data.get("rooms", ()) if home.ok]
        return next((one for every in names if room in every for one in rooms if one in every), "")


def _name(value: object) -> str:
    """Return a name as it is compared; "" for what is none: what else is wrong with it, the tool says."""
    return " ".join(value.split()).casefold() if isinstance(value, str) else ""


def _refusal_of_person(people: Sequence[str]) -> str:
    """Return what is said where nobody of that name would ever hear a message."""
    if not people:
        return own("I can leave a message for a room or for everybody, but I know nobody by name.")
    sentence = own("I can leave a message for {people}, for a room, or for everybody.")
    return sentence.format(people=", ".join(people[:MOST_NAMED]))


def _refusal_of_room(rooms: Sequence[str]) -> str:
    """Return what is said where nothing that could play a message will ever stand in that room."""
    if not rooms:
        return own("I can leave a message for a person or for everybody, but nothing that could play it is in a room.")
    sentence = own("I can play messages in these rooms: {rooms}.")
    return sentence.format(rooms=", ".join(rooms[:MOST_NAMED]))
