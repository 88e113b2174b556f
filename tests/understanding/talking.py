"""A house in memory to hold dialogues with: devices that obey, timers, alarms and a list, as the real tools tell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from atlas.agents.agent_commands import Commands
from atlas.agents.minds import InOrder
from atlas.conversation import Actor, Message, Tool, Turn
from atlas.understanding.grammar import Grammar
from atlas.understanding.names import NamedDevice, NamedPlace, Names
from tests.agents.conftest import Room
from tests.houses import reader_of
from tests.scripted_tools import ScriptedResult, ScriptedTools

CAN = {
    "light": {"on", "brightness", "kelvin"},
    "lock": {"locked"},
    "cover": {"open", "position"},
    "climate": {"on", "temperature"},
    "media": {"on", "playing", "volume"},
    "fan": {"on", "speed"},
}
DEVICES = [
    NamedDevice("Kitchen Light", "light", "Kitchen"),
    NamedDevice("Hall Light", "light", "Hall"),
    NamedDevice("Ceiling Light", "light", "Living Room"),
    NamedDevice("Reading Lamp", "light", "Living Room", aliases=("floor lamp",)),
    NamedDevice("Front Door", "lock", "Hall"),
    NamedDevice("Back Door", "lock", "Kitchen"),
    NamedDevice("Thermostat", "climate", "Living Room"),
    NamedDevice("Kitchen Radio", "media", "Kitchen"),
    NamedDevice("Bedroom Blind", "cover", "Bedroom", "blind"),
    NamedDevice("Study Fan", "fan", "Study"),
]
ROOMS = ("Kitchen", "Hall", "Living Room", "Bedroom", "Study")
NAMES = Names(
    tuple(replace(device, can=frozenset(CAN[device.kind])) for device in DEVICES),
    tuple(NamedPlace(room) for room in ROOMS),
    lists=("shopping", "camping"),
)
GERMAN_DEVICES = [
    NamedDevice("Küchenlicht", "light", "Küche"),
    NamedDevice("Leselampe", "light", "Wohnzimmer"),
    NamedDevice("Deckenlampe", "light", "Wohnzimmer"),
    NamedDevice("Haustür", "lock", "Flur"),
    NamedDevice("Hintertür", "lock", "Küche"),
    NamedDevice("Küchenradio", "media", "Küche"),
    NamedDevice("Schlafzimmerrollladen", "cover", "Schlafzimmer", "blind"),
    NamedDevice("Büroheizung", "climate", "Büro"),
    NamedDevice("Schlafzimmerheizung", "climate", "Schlafzimmer"),
]
GERMAN_NAMES = Names(
    tuple(replace(device, can=frozenset(CAN[device.kind])) for device in GERMAN_DEVICES),
    tuple(NamedPlace(room) for room in ("Küche", "Wohnzimmer", "Flur", "Schlafzimmer", "Büro")),
    lists=("einkaufen", "camping"),
)
READS = ("home.state", "timers.left", "timers.list", "alarms.list", "lists.read", "weather.forecast", "calendar.list")
READS += ("history.last", "later.list", "world.convert", "world.calculate", "tasks.list", "facts.list")
TOOLS = (
    *("home.turn", "home.set", "home.adjust", "home.open", "home.close", "home.lock", "home.unlock", "home.play"),
    *("home.pause", "home.next", "timers.start", "timers.cancel", "timers.add", "timers.pause", "alarms.set"),
    *("alarms.cancel", "lists.add", "lists.remove", "lists.check", "lists.clear", "reminders.add", "reminders.cancel"),
    *("later.do", "history.undo", "weather.now", "clock.time", "calendar.add", "alarms.change", "timers.resume"),
    "alarms.skip",
    *("alarms.cancel_all", "broadcast.say", "messages.leave", "calendar.change"),
)

Call = tuple[str, Mapping[str, Any]]


@dataclass
class Talk:
    """One conversation with an agent that understands, in a house that obeys."""

    grammar: Grammar
    room: str = "Kitchen"
    names: Names = NAMES
    on: set[str] = field(default_factory=lambda: {"Kitchen Light", "Hall Light"})
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"timers": [], "alarms": [], "items": []})
    history: list[Message] = field(default_factory=list)
    now: float = 1_795_300_000.0

    def __post_init__(self) -> None:
        self.tools = ScriptedTools(
            [(Tool(name, name, {"type": "object"}, read_only=name in READS), self._act(name)) for name in READS + TOOLS]
        )
        self.agent = InOrder(
            "family", reader_of(self.grammar), [Commands(self.grammar.tables, self.tools)], names=lambda: self.names
        )

    async def say(self, text: str, after: float = 5.0) -> str:
        """Return what is answered; "" when it is left to others."""
        self.now += after
        room = Room()
        actor = Actor("Anna", "phone", "adult", self.room)
        answer = await self.agent.respond(Turn("turn", text, actor, self.now, history=tuple(self.history)), room.emit)
        messages = answer.messages if answer else (Message("assistant", "I like the sea."),)
        self.history += [replace(one, at=self.now) for one in (Message("user", text), *messages)]
        return room.said

    def calls(self) -> list[Call]:
        """Return what was called since the last time, and forget it."""
        made = [(call.name, dict(call.arguments)) for call in self.tools.calls]
        self.tools.calls.clear()
        return made

    def _act(self, name: str) -> Any:
        topic, _, verb = name.partition(".")

        def act(arguments: Mapping[str, Any], actor: Any) -> ScriptedResult:
            data = getattr(self, f"_{topic}", lambda verb, arguments: {})(verb, arguments)
            return ScriptedResult(f"{name} done.", data, changed="" if name in READS else name)

        return act

    def _home(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        meant = [device for device in self.names.devices if self._fits(device, arguments)]
        if verb == "turn":
            change = self.on.update if arguments["on"] else self.on.difference_update
            change(device.name for device in meant)
        shown = [{"name": d.name, "room": d.room, "kind": d.kind, "state": {"on": d.name in self.on}} for d in meant]
        return {"devices": shown}  # all that were asked about, as the real tool does

    def _fits(self, device: NamedDevice, arguments: Mapping[str, Any]) -> bool:
        named = str(arguments.get("device", "")).casefold()
        if named:
            return named in [name.casefold() for name in (device.name, *device.aliases)]
        room = str(arguments.get("room", "")).casefold()
        return arguments.get("kind", "") in ("", device.kind) and room in ("", device.room.casefold())

    def _timers(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        rows = self.rows["timers"]
        if verb == "start":
            rows.append({"id": f"timer_{len(rows) + 1}", "name": arguments.get("name", "")} | dict(arguments))
            return {"timer": rows[-1]}
        return {"timers": rows}

    def _alarms(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        rows = self.rows["alarms"]
        if verb == "set":
            rows.append({"id": f"alarm_{len(rows) + 1}", "name": arguments.get("name", "")})
            return {"alarm": rows[-1]}
        return {"alarms": rows}

    def _lists(self, verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        items = list(arguments.get("items", ()))
        if verb == "read":
            return {"list": "shopping", "items": [{"text": text, "checked": False} for text in ("milk", "bread")]}
        return {
            "list": "shopping",
            {"add": "added", "remove": "removed", "check": "checked", "clear": "removed"}[verb]: items,
        }


def dialogues(text: str) -> list[list[tuple[str, list[Call] | str]]]:
    """Read dialogues, an empty line between two: `said → tool {arguments}; …`, or `→ ? question`, or `→ -` a turn."""
    made: list[list[tuple[str, list[Call] | str]]] = []
    for block in text.strip().split("\n\n"):
        turns: list[tuple[str, list[Call] | str]] = []
        for line in block.splitlines():
            sentence, _, wanted = line.partition(" → ")
            if wanted.startswith("? ") or wanted == "-":
                turns.append((sentence, wanted.removeprefix("? ")))
            else:
                turns.append((sentence, [_call(one) for one in wanted.split("; ")]))
        made.append(turns)
    return made


def _call(written: str) -> Call:
    tool, _, arguments = written.partition(" ")
    return tool, json.loads(arguments or "{}")
