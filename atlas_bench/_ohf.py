"""The public tests of OHF-Voice/intents as published, and what must come of each sentence by Home Assistant's rules.

Both formats are read: a file for each combination of slots with areas, floors and entities of its own, and flat files
over `_fixtures.yaml`. Entities become devices of a scripted hub. Where a test names none, a device is added that the
sentence is about, and one elsewhere that it is not about: what is touched must be exactly the former.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import hassil
import yaml

from atlas.understanding.public import IntentReading
from atlas_bench._household import BenchHousehold, Outcome

Verdict = Literal["understood", "asked", "left", "refused", "wrong", "acted"]
HERE = "Speaker Room"  # where the speaker stands, when the test does not say
ELSEWHERE = "Elsewhere"
_KINDS = {
    **{domain: domain for domain in ("light", "switch", "fan", "lock", "cover", "valve", "climate", "scene", "person")},
    **{"media_player": "media", "vacuum": "vacuum", "lawn_mower": "mower", "sensor": "sensor", "script": "scene"},
    **{"binary_sensor": "sensor", "input_boolean": "switch"},
}
_PLAYED = (
    *("HassSetVolume", "HassSetVolumeRelative", "HassMediaNext", "HassMediaPrevious", "HassMediaPause"),
    *("HassMediaUnpause", "HassMediaPlayerMute", "HassMediaPlayerUnmute", "HassMediaSearchAndPlay"),
)
_DOMAIN_OF = {  # of an intent whose slots name no domain
    "HassLightSet": "light",
    "HassFanSetSpeed": "fan",
    "HassClimateSetTemperature": "climate",
    "HassClimateGetTemperature": "climate",
    "HassVacuumStart": "vacuum",
    "HassVacuumCleanArea": "vacuum",
    "HassVacuumReturnToBase": "vacuum",
    "HassLawnMowerDock": "lawn_mower",
    "HassLawnMowerStartMowing": "lawn_mower",
    **dict.fromkeys(_PLAYED, "media_player"),
}
_CAN = {
    "light": ["on", "brightness", "colour", "kelvin"],
    "switch": ["on"],
    "fan": ["on", "speed"],
    "lock": ["locked"],
    "cover": ["open", "position"],
    "valve": ["open", "position"],
    "climate": ["on", "temperature", "mode"],
    "media": ["on", "playing", "volume", "muted", "next", "previous", "query"],
    "vacuum": ["clean", "dock", "clean_room"],
    "mower": ["mow", "dock"],
    "scene": ["scene"],
}
_ANYWHERE = ("vacuum", "lawn_mower")  # cleans a room without being of it
_TIMERS = {
    "HassStartTimer": "timers.start",
    "HassCancelTimer": "timers.cancel",
    "HassCancelAllTimers": "timers.cancel_all",
    "HassIncreaseTimer": "timers.add",
    "HassDecreaseTimer": "timers.add",
    "HassPauseTimer": "timers.pause",
    "HassUnpauseTimer": "timers.resume",
    "HassTimerStatus": "timers.left",
}
_OTHERS = {
    "HassShoppingListAddItem": "lists.add",
    "HassShoppingListCompleteItem": "lists.check",
    "HassListAddItem": "lists.add",
    "HassListCompleteItem": "lists.check",
    "HassListRemoveItem": "lists.remove",
    "HassGetCurrentTime": "clock.time",
    "HassGetCurrentDate": "clock.date",
    "HassGetWeather": "weather.now",
    "HassBroadcast": "broadcast.say",
}
LONG_SECONDS = 3600 * 20
_SAID = ("HassNevermind", "HassRespond")


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing of the tests, by Home Assistant's words."""

    name: str
    domain: str
    area: str = ""
    shape: str = ""
    state: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """Sentences that mean the same, the house that they are said in, and what they mean."""

    intent: str
    combination: str  # "" in flat files
    sentences: tuple[str, ...]
    slots: Mapping[str, Any]
    entities: tuple[Entity, ...]
    floors: Mapping[str, str]  # by area
    room: str  # where the speaker stands
    house: Mapping[str, Any]


def cases(checkout: Path, language: str) -> Iterator[Case]:
    """Yield the tests of a language."""
    folder = checkout / "tests" / language
    fixtures = folder / "_fixtures.yaml"
    files = {file: _yaml(file) for file in sorted(folder.glob("*/*.yaml"))}
    rooms = {area["name"] for tests in files.values() for area in tests.get("areas") or []}
    schemas = _yaml(checkout / "intents.yaml")
    shared = _yaml(fixtures) if fixtures.exists() else {}
    for file, tests in files.items():
        for test in tests["tests"]:
            inner = str((test.get("slots") or {}).get("conversation_command", "")).casefold()
            # What is to be done later is read as well, and may name a room that the test itself has no need of.
            named = [{"name": room} for room in sorted(rooms) if inner and room.casefold() in inner]
            world = {**tests, "areas": [*(tests.get("areas") or []), *named]}
            intent, combination = file.parent.name, file.stem
            inferred = _inferred(schemas, intent, combination)
            yield _case(intent, combination, test, test.get("slots") or {}, world, inferred=inferred)
    for file in sorted(folder.glob("[!_]*.yaml")):
        for test in _yaml(file)["tests"]:
            if test["sentences"]:
                intent = test["intent"]
                slots = dict(intent.get("slots") or {})
                yield _case(intent["name"], "", test, slots, _named(shared), intent.get("context", {}).get("area", ""))


def _inferred(schemas: Mapping[str, Any], intent: str, combination: str) -> list[str]:
    """Return the domains that sentences of a combination may be about without a slot that says so."""
    combinations = schemas.get(intent, {}).get("slot_combinations", {})
    by_importance = combinations.get(combination, {}).get("inferred_domains", {})
    return sorted({domain for domains in by_importance.values() for domain in domains} & set(_KINDS))


def _yaml(file: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return read


def _named(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return flat fixtures as the files of one combination write them: by name, and with a domain."""
    floors = {floor["id"]: _plain(floor["name"]) for floor in shared.get("floors", [])}
    areas = {area["id"]: _plain(area["name"]) for area in shared.get("areas", [])}
    return {
        "floors": [{"name": name} for name in floors.values()],
        "areas": [
            {"name": areas[area["id"]], "floor": floors.get(area.get("floor", ""), "")}
            for area in shared.get("areas", [])
        ],
        "entities": [
            {
                **entity,
                "name": _plain(entity["name"]),
                "domain": entity["id"].partition(".")[0],
                "area": areas.get(entity.get("area", ""), ""),
            }
            for entity in shared.get("entities", [])
        ],
    }


def _plain(name: str) -> str:
    """Return a name, or the first way of saying one that is a template."""
    if hassil.is_template(name):
        return next(iter(hassil.sample_expression(hassil.parse_sentence(name).expression))).strip()
    return name.strip()


def _case(
    intent: str,
    combination: str,
    test: Mapping[str, Any],
    slots: Mapping[str, Any],
    world: Mapping[str, Any],
    context_area: str = "",
    inferred: Sequence[str] = (),
) -> Case:
    areas = world.get("areas") or []
    floors = {area["name"]: area.get("floor") or "" for area in areas}
    room = context_area or next((area["name"] for area in areas if area.get("context_area")), HERE)
    entities = [
        Entity(
            name=one["name"],
            domain=one["domain"],
            area=one.get("area") or "",
            shape=(one.get("attributes") or {}).get("device_class", ""),
            state=str(one.get("state", "")),
            attributes=one.get("attributes") or {},
        )
        for one in world.get("entities") or []
    ]
    named = [floor["name"] for floor in world.get("floors") or []]
    floors.setdefault(room, "")
    entities = [_placed(one, slots, floors) for one in entities]
    for one in _each_place(slots):
        for domain in inferred if not _domains(intent, slots) else [""]:
            about = {"domain": domain, **one} if domain else one
            entities += _added(intent, combination, about, entities, floors, room, named)
    house = {
        "floors": [{"name": name} for name in dict.fromkeys([*named, *filter(None, floors.values())])],
        "rooms": [{"name": name, "floor": floor} for name, floor in floors.items()],
        "devices": [_device(one) for one in entities if one.domain in _KINDS],
    }
    return Case(intent, combination, tuple(test["sentences"]), slots, tuple(entities), floors, room, house)


def _placed(one: Entity, slots: Mapping[str, Any], floors: dict[str, str]) -> Entity:
    """Return a thing that lies where the sentence says, when the test itself says nothing of that."""
    if _folded(slots.get("name", "")) != _folded(one.name):
        return one
    if one.area:
        floors[one.area] = floors.get(one.area) or str(slots.get("floor", ""))
        return one
    if floor := slots.get("floor"):
        area = next((area for area, its in floors.items() if _folded(its) == _folded(floor)), f"Room of {floor}")
        floors.setdefault(area, floor)
        return replace(one, area=area)
    return replace(one, area=str(slots.get("area", "")))


def _added(
    intent: str,
    combination: str,
    slots: Mapping[str, Any],
    entities: Sequence[Entity],
    floors: dict[str, str],
    room: str,
    named: Sequence[str],
) -> list[Entity]:
    """Return what a sentence is about where the test itself has nothing: one thing that fits, and one elsewhere."""
    domains = _domains(intent, slots)
    if "name" in slots or not domains or _fitting(intent, combination, slots, entities, floors, room):
        return []
    area = _as_listed(slots.get("area", ""), floors) or (room if not slots.get("floor") else "")
    if floor := slots.get("floor"):
        area = f"Room of {floor}"
        floors[area] = _as_listed(floor, named)
    shape = _first(slots.get("device_class", ""))
    floors.setdefault(ELSEWHERE, "")
    here = Entity(_new("Zulu Thing", entities), domains[0], str(area), shape)
    lone = domains[0] in _ANYWHERE  # of two robots nobody could know which
    return [here] if lone else [here, Entity(_new("Yankee Thing", entities), domains[0], ELSEWHERE, shape)]


def _new(name: str, entities: Sequence[Entity]) -> str:
    """Return a name that nothing has yet."""
    return f"{name}{' more' * sum(one.name.startswith(name) for one in entities)}"


def _each_place(slots: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the slots once for each place, where a test has sentences about several."""
    key = next((key for key in ("area", "floor") if isinstance(slots.get(key), list)), "")
    return [{**slots, key: place} for place in slots[key]] if key else [slots]


def _as_listed(name: str, listed: Iterable[str]) -> str:
    """Return a name as the house writes it."""
    return next((one for one in listed if _folded(one) == _folded(name)), name)


def _first(value: Any) -> str:
    return str(value[0]) if isinstance(value, list) else str(value)


def _domains(intent: str, slots: Mapping[str, Any]) -> list[str]:
    domain = slots.get("domain") or _DOMAIN_OF.get(intent, "")
    if intent == "HassSetPosition" and not domain:
        domain = "cover" if "device_class" in slots else ""
    if intent == "HassGetState" and not domain and "device_class" in slots:
        domain = "cover"
    return [str(one) for one in (sorted(domain) if isinstance(domain, (list, set)) else [domain]) if one]


def _device(one: Entity) -> dict[str, Any]:
    kind = _KINDS[one.domain]
    return {
        "name": one.name,
        "kind": kind,
        "shape": one.shape,
        "room": one.area,
        "can": _CAN.get(kind, []),
        "state": _state(one, kind),
    }


def _state(one: Entity, kind: str) -> dict[str, Any]:
    on = one.state in ("on", "playing", "paused", "heat", "cool")
    match kind:
        case "light":
            return {"on": on, "brightness": 50}
        case "fan":
            return {"on": on, "speed": 50}
        case "cover" | "valve":
            return {"open": one.state not in ("closed", "closing"), "position": 0 if one.state == "closed" else 60}
        case "lock":
            return {"locked": one.state != "unlocked"}
        case "climate":
            measured = one.attributes.get("current_temperature", one.attributes.get("temperature", 20))
            return {"on": True, "mode": "heat", "temperature": 20, "measured": float(measured)}
        case "media":
            return {"on": True, "playing": one.state != "paused", "volume": 40, "muted": False}
        case "vacuum" | "mower":
            return {"activity": "docked", "battery": 90}
        case "person":
            return {"place": {"home": "home", "not_home": "away"}.get(one.state, one.state or "home")}
        case "sensor" if one.domain == "sensor":
            return {"value": one.state, "unit": one.attributes.get("unit_of_measurement", "")}
    return {"on": on} if kind != "scene" else {}


# ── what must come of it ───────────────────────────────────────────────────────────────────────────


async def prepare(home: BenchHousehold, case: Case) -> None:
    """Make the timers and list items that a sentence is about."""
    slots = case.slots
    if case.intent in _TIMERS and case.intent != "HassStartTimer":
        seconds = _seconds(slots, "start_") or 3600 * 5
        where = str(slots.get("area") or "")
        await home.do("timers.start", seconds=seconds, name=_first(slots.get("name", "")), room=where)
        if case.intent == "HassDecreaseTimer":  # so that there is something to take away
            await home.do("timers.add", by_seconds=LONG_SECONDS)
        if case.intent == "HassUnpauseTimer":
            await home.do("timers.pause")
    if case.intent in _OTHERS and "item" in slots:
        sheet = {"list": slots["name"]} if "name" in slots else {}
        add = not case.intent.endswith("AddItem")
        await home.do("lists.add", items=[slots["item"] if add else "something else"], **sheet)
        await home.names.fetch()


def judged(case: Case, sentence: str, reading: IntentReading | None, outcome: Outcome) -> tuple[Verdict, str]:
    """Return whether a sentence was understood: as it is meant, accepted, and to the very devices."""
    done = ", ".join(f"{call.name} {dict(call.arguments)}" for call, _ in outcome.calls)
    seen = f"[{done or outcome.path}] {outcome.text!r}"
    ok = [(call, result) for call, result in outcome.calls if result.ok]
    if reading is None:
        return ("wrong" if ok else "left"), f"not recognised {seen}"
    if why := _misread(case, reading):
        return ("wrong" if ok else "left"), f"{why} {seen}"
    if case.intent in _SAID:
        return ("understood", "") if outcome.path == "command" and not outcome.calls else ("left", seen)
    if not outcome.calls:
        return ("asked" if outcome.asks else "left"), seen
    if case.intent in _TIMERS or case.intent in _OTHERS:
        return _called(case, outcome, seen)
    if not ok:
        return ("asked" if outcome.asks else "refused"), seen
    several = {name for name, value in case.slots.items() if isinstance(value, list) and name in ("area", "floor")}
    slots = {**case.slots, **{name: reading.slots[name] for name in several}}
    slots = {**({"domain": reading.slots["domain"]} if "domain" in reading.slots else {}), **slots}
    wanted = _fitting(case.intent, case.combination, slots, case.entities, case.floors, case.room)
    touched = sorted(
        outcome.devices | {str(call.arguments.get("person")) for call, _ in ok if "person" in call.arguments}
    )
    if touched != wanted and not (case.intent == "HassGetState" and touched == _with_state(case, wanted)):
        return "wrong", f"touched {touched}, not {wanted} {seen}"
    return "understood", ""


def _misread(case: Case, reading: IntentReading) -> str:
    """Compare a reading as the published tests do: intent and slots; a list of values means one of them."""
    if reading.intent != case.intent:
        return f"read as {reading.intent}"
    slots = {name: value for name, value in reading.slots.items() if not (name == "area" and reading.here)}
    wanted = dict(case.slots)
    for name in {"domain"} - set(wanted):
        slots.pop(name, None)
    if set(slots) != set(wanted):
        return f"has slots {sorted(slots)}, not {sorted(wanted)}"
    for name, value in slots.items():
        expected = wanted[name] if isinstance(wanted[name], list) else [wanted[name]]
        values = value if isinstance(value, list) else [value]
        if not set(map(_folded, values)) & set(map(_folded, expected)):
            return f"{name} is {value!r}, not {wanted[name]!r}"
    return ""


def _folded(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _called(case: Case, outcome: Outcome, seen: str) -> tuple[Verdict, str]:
    """Judge a sentence that is about no device: the tool, and what it is told."""
    slots, (call, result) = case.slots, outcome.calls[-1]
    wanted: dict[str, Any]
    arguments = dict(call.arguments)
    if "conversation_command" in slots:
        tool, wanted = "later.do", {"seconds": _seconds(slots)}
    elif case.intent in _TIMERS:
        tool = _TIMERS[case.intent]
        wanted = {"name": slots.get("name")}
        by = _seconds(slots)
        match case.intent:
            case "HassStartTimer":
                wanted["seconds"] = by
            case "HassIncreaseTimer" | "HassDecreaseTimer":
                wanted |= {"seconds": _seconds(slots, "start_")}
                wanted |= {"by_seconds": by if case.intent == "HassIncreaseTimer" else -by}
            case "HassCancelAllTimers":
                wanted = {}
            case _:
                wanted["seconds"] = _seconds(slots, "start_")
        wanted["room"] = slots.get("area")
    else:
        tool = _OTHERS[case.intent]
        wanted = {"items": slots.get("item"), "text": slots.get("message"), "place": None}
        wanted["place" if case.intent == "HassGetWeather" else "list"] = slots.get("name")
    taken = (tool, "lists.remove") if tool == "lists.check" else (tool,)  # off the list, either way
    if call.name not in taken:
        return ("wrong" if result.ok else "refused"), seen
    for key, value in wanted.items():
        given = arguments.get(key)
        given = given[0] if isinstance(given, list) else given
        if value and _folded(given) not in map(_folded, value if isinstance(value, list) else [value]):
            return ("wrong" if result.ok else "refused"), f"{key} is not {value!r} {seen}"
    offline = tool == "weather.now"  # nothing outside can be asked here
    return ("understood", "") if result.ok or offline else ("refused", seen)


def _seconds(slots: Mapping[str, Any], start: str = "") -> int:
    lengths = (("hours", 3600), ("minutes", 60), ("seconds", 1))
    return sum(int(slots.get(f"{start}{unit}", 0)) * length for unit, length in lengths)


def _fitting(
    intent: str,
    combination: str,
    slots: Mapping[str, Any],
    entities: Sequence[Entity],
    floors: Mapping[str, str],
    room: str,
) -> list[str]:
    """Return the names of the things that Home Assistant matches: name, area, floor, domain, device class."""
    domains, shapes = _domains(intent, slots), slots.get("device_class", [])
    shapes = [shapes] if isinstance(shapes, str) else list(shapes)
    area = slots.get("area", "")
    if not area and not slots.get("name") and not slots.get("floor") and _by_context(intent, combination):
        area = room
    if domains and domains[0] in _ANYWHERE:
        area = ""
    return sorted(
        one.name
        for one in entities
        if one.domain in _KINDS
        and (not slots.get("name") or _folded(one.name) == _folded(slots["name"]))
        and (not domains or one.domain in domains or bool(slots.get("name")))
        and (not area or _folded(one.area) == _folded(area))
        and (
            not slots.get("floor")
            or domains[:1] == ["vacuum"]
            or _folded(floors.get(one.area, "")) == _folded(slots["floor"])
        )
        and (not shapes or one.shape in shapes)
    )


def _by_context(intent: str, combination: str) -> bool:
    """Whether a sentence without a place means the room of its speaker."""
    return intent != "HassGetState" and not combination.endswith("_all")


def _with_state(case: Case, names: Sequence[str]) -> list[str]:
    state = case.slots.get("state", "")
    states = state if isinstance(state, list) else [state]
    return sorted(one.name for one in case.entities if one.name in names and one.state in states)
