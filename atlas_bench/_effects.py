"""Sentences in a list, and whether what came of one is what should: by effect on devices, loosely for other tools."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from atlas.conversation import Message
from atlas.understanding.dialogue import UNDO
from atlas.understanding.grammar import open_grammar
from atlas_bench._household import ZONE, BenchHousehold, Outcome
from tools_server.hubs.home_words import COLOURS
from tools_server.times.german import english
from tools_server.times.when import NotUnderstood, When, understand, understand_day
from tools_server.world.arithmetic import NoSum, evaluate

Verdict = Literal["understood", "asked", "left", "refused", "wrong", "acted"]
LOOKS = ("home.state", "home.list", "presence.where")
ANSWERED = ("emergency", "health", "cannot")  # in words of the house's own, and nothing is done
_SAME_TOOL = {
    **{"lists.show": "lists.read", "calendar.find": "calendar.list", "timers.list": "timers.left"},
    **{"notes.add": "notes.create", "facts.about": "facts.list", "reminders.remove": "reminders.cancel"},
}
_ANEW = {
    **{"alarms.change": "alarms.set", "reminders.change": "reminders.add", "calendar.change": "calendar.add"},
    "timers.add": "timers.start",
}
_USUAL = {"list": ("shopping", "Einkaufsliste", "Einkaufszettel")}  # an argument that was left out
_UNHEARD = frozenset(["the", "a", "an", "my", "our", "on", "at", "to", "is", "s"])
_STEM, _ENDING = 4, 2  # letters
AT = 1_795_370_400.0  # when all is said: Sunday 22 November 2026, 18:00 in London
_CLOSE = 1.0  # of a number that was set
_SAME_VALUE = 0.01  # of a sum
_ONCE = ("next", "previous", "scene", "query", "mode")  # seen in the call, not in the state


@dataclass(frozen=True, slots=True)
class ListedStep:
    """One sentence, and what should come of it."""

    say: str
    expect: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ListedCase:
    """A line of a list: one sentence, or a dialogue."""

    steps: tuple[ListedStep, ...]
    room: str = ""
    language: str = ""


def read(file: Path) -> Iterator[ListedCase]:
    """Yield the lines of a list."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.strip():
            row = json.loads(line)
            steps = tuple(ListedStep(one["say"], _expected(one["expect"])) for one in row.get("turns", [row]))
            yield ListedCase(steps, row.get("room", ""), row.get("language", ""))


def _expected(expect: Any) -> tuple[Mapping[str, Any], ...]:
    return tuple(expect) if isinstance(expect, list) else (expect,)


def read_house(file: Path) -> dict[str, Any]:
    """Return the house of a list."""
    house: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return house


async def prepare(home: BenchHousehold) -> None:
    """Put into the house what a family has: a second list."""
    await home.do("lists.add", items=["tent"], list="camping")
    await home.names.fetch()


async def judged(
    home: BenchHousehold, step: ListedStep, room: str, history: Sequence[Message]
) -> tuple[Verdict, str, tuple[Message, ...]]:
    """Say a sentence; return the verdict, why, and the history that the next sentence has."""
    before = await _states(home)
    outcome = await home.say(step.say, room, history)
    after = await _states(home)
    verdict, why = judge(step.expect, outcome, before, after)
    done = ", ".join(f"{call.name} {dict(call.arguments)}" for call, _ in outcome.calls)
    return verdict, f"{why} [{done or outcome.path}] {outcome.text!r}", (*history, *outcome.messages)


async def _states(home: BenchHousehold) -> dict[str, Mapping[str, Any]]:
    listed = await home.do("home.list")
    return {device["name"]: device["state"] for device in listed.data.get("devices", [])}


def judge(
    expected: Sequence[Mapping[str, Any]],
    outcome: Outcome,
    before: Mapping[str, Mapping[str, Any]],
    after: Mapping[str, Mapping[str, Any]],
) -> tuple[Verdict, str]:
    """Return whether what came of a sentence is what was expected of it."""
    deeds = [(call, result) for call, result in outcome.calls if result.ok and call.name not in LOOKS]
    changed = any(result.receipt for _, result in deeds)
    for key in ("nothing", "talk", "ask", *ANSWERED):
        if any(key in one for one in expected):
            return _undone(key, outcome, changed=changed)
    rest = [call for call, _ in deeds]
    why = ""
    for one in expected:
        why = why or _lacks(one, outcome, before, after)
    touched = {name for call in rest if call.name.startswith("home.") for name in _names(outcome, call)}
    wanted = {name for one in expected for name in one.get("devices", [])}
    beside = {name for name in touched - wanted if before.get(name) != after.get(name)}  # what was so already, is so
    if wanted and beside:
        return "wrong", f"also {', '.join(sorted(beside))}"
    if not why:
        return "understood", ""
    if changed:
        return "wrong", why
    if outcome.asks:
        return "asked", why
    if not outcome.calls:
        return ("left" if outcome.path == "model" else "refused"), why
    return ("wrong" if any(result.ok for _, result in outcome.calls) else "refused"), why


def _undone(key: str, outcome: Outcome, *, changed: bool) -> tuple[Verdict, str]:
    """Return the verdict on a sentence after which nothing may have been changed."""
    if changed and not (key == "ask" and outcome.asks):
        return "acted", f"expected {key}"
    looked = any(result.ok for _, result in outcome.calls)
    match key:
        case "nothing":
            verdict: Verdict = "acted" if looked else "asked" if outcome.asks else "understood"
        case "talk":
            verdict = "wrong" if looked else "asked" if outcome.asks else "understood"
        case "ask":
            verdict = "understood" if outcome.asks else "wrong" if looked else "left"
            verdict = "refused" if verdict == "left" and outcome.path == "command" else verdict
        case _:
            verdict = "left" if outcome.path == "model" else "asked" if outcome.asks else "understood"
            verdict = "wrong" if looked else verdict
    return verdict, "" if verdict == "understood" else f"expected {key}"


def _names(outcome: Outcome, wanted: Any) -> set[str]:
    return {
        str(device.get("name", ""))
        for call, result in outcome.calls
        if call is wanted and result.ok
        for device in result.data.get("devices", [])
    }


def _lacks(
    one: Mapping[str, Any],
    outcome: Outcome,
    before: Mapping[str, Mapping[str, Any]],
    after: Mapping[str, Mapping[str, Any]],
) -> str:
    """Return what of an expectation did not come, in words; "" when all of it did."""
    if "look" in one:
        seen = {name for call, _ in outcome.calls if call.name in LOOKS for name in _names(outcome, call)}
        seen |= {str(call.arguments.get("person")) for call, result in outcome.calls if result.ok}
        return "" if {*one["look"]} <= seen else f"did not look at {', '.join({*one['look']} - seen)}"
    if "devices" in one:
        touched = {name for call, _ in outcome.calls if call.name not in LOOKS for name in _names(outcome, call)}
        if not touched:
            return f"left out {', '.join(one['devices'])}"  # one that is so already is so: it need not be touched
        for name in one["devices"]:
            for key, value in one.get("state", {}).items():
                if not _so(outcome, before.get(name, {}), after.get(name, {}), key, value):
                    return f"{name} is not {key}={value}"
        return ""
    if "tool" in one:
        return _lacks_call(one["tool"], one.get("arguments", {}), outcome)
    return f"nobody knows how to judge {dict(one)}"


def _so(outcome: Outcome, before: Mapping[str, Any], after: Mapping[str, Any], key: str, value: Any) -> bool:
    arguments = [call.arguments for call, result in outcome.calls if result.ok]
    if key in _ONCE:
        names = {call.name.removeprefix("home.") for call, result in outcome.calls if result.ok}
        return key in names or any(_like(given.get(key), value) for given in arguments)
    if key == "kelvin" and isinstance(value, str):
        return after.get(key) is not None
    if value in ("up", "down"):
        then, now = before.get(key), after.get(key)
        if not isinstance(then, (int, float)) or not isinstance(now, (int, float)):
            return False
        return now > then if value == "up" else now < then
    if key == "colour":
        return after.get(key) == COLOURS.get(value, value) or any(given.get(key) == value for given in arguments)
    now = after.get(key)
    if key == "activity" and value == "docked":
        return now in ("docked", "returning")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return isinstance(now, (int, float)) and abs(now - value) <= _CLOSE
    if key == "on" and value and after.get("open") is True:
        return True  # a valve that is opened
    return bool(now == value)


def _lacks_call(tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> str:
    names = {tool, _SAME_TOOL.get(tool, tool)}
    if tool in _ANEW and any(call.name == UNDO for call, _ in outcome.calls):
        names.add(_ANEW[tool])  # taken back and made anew is changed
    # A fresh house has no timer to stop and no way out for the weather: what was tried is what was understood.
    fitting = [(call, result) for call, result in outcome.calls if call.name in names]
    if not fitting:
        return f"no {tool}"
    for call, result in fitting:
        given = call.arguments  # an id stands for a name; then the tool's sentence says which
        if all(
            any(_like(one, value) for one in [*_about(given, key), *([result.text] if result.ok else ())])
            or (key == "expression" and _comes_to(value, result.data.get("value")))
            or (key in ("when", "start", "day") and _at_the_same_moment(given.get(key), value))
            for key, value in arguments.items()
        ):
            return ""
    return f"{tool} without {dict(arguments)}"


def _comes_to(expression: str, value: Any) -> bool:
    """Whether a sum has this value: what goes on from the sum before may be written in two ways."""
    try:
        return isinstance(value, (int, float)) and abs(float(evaluate(expression)[0]) - value) < _SAME_VALUE
    except NoSum:
        return False


def _at_the_same_moment(one: Any, other: Any) -> bool:
    """Whether two ways to say when mean the same moment, or day: "tomorrow at half past six", "2026-11-23T06:30"."""
    only_day = any(re.fullmatch(r"[\d-]{10}", str(words)) for words in (one, other))
    try:
        return _moment(str(one), only_day) == _moment(str(other), only_day)
    except (NotUnderstood, ValueError):
        return False


def _moment(words: str, only_day: bool) -> object:
    if re.fullmatch(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d)?", words):
        written = datetime.fromisoformat(words)
        return written.date() if only_day else When(written)
    words, zone = english(words), ZoneInfo(ZONE)
    return understand_day(words, AT, zone)[0] if only_day else understand(words, AT, zone)


def _about(given: Mapping[str, Any], key: str) -> list[Any]:
    """Return what an argument holds; where a tool calls it something else, all of them."""
    return [given[key]] if key in given else [*given.values(), *_USUAL.get(key, ())]


@cache
def _digits() -> Sequence[Callable[[str], str]]:
    """Return what writes numbers out as digits, in each language that lists are written in."""
    return [open_grammar(language).digits for language in ("en", "de")]


def _like(given: Any, wanted: Any) -> bool:
    """Whether an argument says what was said, loosely."""
    if isinstance(wanted, bool) or isinstance(given, bool):
        return bool(given == wanted)
    if isinstance(wanted, list):
        every = given if isinstance(given, list) else [given]
        return all(any(_like(one, item) for one in every) for item in wanted)
    if isinstance(wanted, (int, float)) and isinstance(given, (int, float)):
        return abs(given - wanted) < 1
    if isinstance(given, list):
        return any(_like(one, wanted) for one in given)
    texts, meant = _words(given), _words(wanted)
    return bool(texts) and bool(meant) and (_hold(meant, texts) or _hold(texts, meant))


def _hold(words: set[str], others: set[str]) -> bool:
    """Whether each of some words is among others, but for its ending: "zurückrufe", "zurückrufen"."""
    return all(any(_same_but_for_endings(one, other) for other in others) for one in words)


def _same_but_for_endings(one: str, other: str) -> bool:
    if one == other or not one.isalpha():
        return one == other
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return alike >= _STEM and max(len(one), len(other)) - alike <= _ENDING


def _words(value: Any) -> set[str]:
    text = str(value if value is not None else "").casefold()
    for digits in _digits():  # "seventeen times 28" is "17 * 28"
        text = digits(text)
    words = re.findall(r"\w+", text)
    return {re.sub(r"(?<=\w{3})s$", "", word) for word in words} - _UNHEARD
