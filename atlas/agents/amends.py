"""What is said about the last command: "no, ten minutes", "and eggs too", or the answer to a question. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from atlas.agents import durations, moments
from atlas.agents.devices import Arguments
from atlas.agents.grammar import Grammar, Half
from atlas.agents.slots import Command
from atlas.agents.which import Places
from atlas.conversation import Message, ToolCall

UNDO = "history.undo"
# Where a tool keeps what may be said anew.
WHEN = {
    "alarms.set": "when",
    "calendar.add": "start",
    "calendar.change": "start",
    "calendar.free": "day",
    "calendar.list": "day",
    "clock.date": "when",
    "clock.until": "when",
    "reminders.add": "when",
    "reminders.change": "when",
    "weather.forecast": "day",
}
THINGS = ("lists.add", "lists.check", "lists.remove")
PLACED = ("clock.time", "weather.forecast", "weather.now")
ROOMED = ("timers.start", "home.turn", "home.set", "home.open", "home.close", "home.state", "home.play", "home.pause")
TIMED = ("timers.start", "timers.add", "timers.left", "timers.pause", "timers.resume")  # a timer that goes on
CHANGES = ("alarms.cancel", "tasks.add", "tasks.done", "tasks.move", "timers.add", "timers.cancel", "timers.pause")
LIMITS = {"temperature": (5, 35), "brightness": (1, 100), "volume": (0, 100), "position": (0, 100)}
READS = ("calendar.free", "calendar.list", "clock.date", "clock.time", "clock.until", "home.state", *PLACED)


class Amends:
    """How one language corrects and continues what was just done."""

    def __init__(self, grammar: Grammar) -> None:
        own = grammar.own
        self._grammar = grammar
        self._corrected = re.compile(own["corrected"], re.IGNORECASE)
        self._meant = re.compile(own["meant"], re.IGNORECASE)
        self._followed = re.compile(own["followed"], re.IGNORECASE)
        self._taken_back = re.compile(own["taken_back"], re.IGNORECASE)
        self._again = re.compile(own["again"], re.IGNORECASE)
        self._stepped = re.compile(own["stepped"], re.IGNORECASE)
        self._steps: Mapping[str, Mapping[str, int]] = own["steps"]
        self._more_time = re.compile(own["more_time"], re.IGNORECASE)
        self._left_alone = re.compile(own["left_alone"], re.IGNORECASE)
        self._switched = re.compile(own["switched"], re.IGNORECASE)
        self._around = re.compile(own["around_an_answer"], re.IGNORECASE)
        self._left: Mapping[str, str] = own["left"]
        self._in_minutes: str = own["in_minutes"]
        self._number = re.compile(own["a_number"], re.IGNORECASE)
        self._place = re.compile(own["a_place"], re.IGNORECASE)
        self._lead = {of: re.compile(rf"^(?:{before})", re.IGNORECASE) for of, before in own["before_the_new"].items()}
        self._later = re.compile(own["later"], re.IGNORECASE)
        self._weather_at: str = own["weather_at"]
        self._on: Mapping[str, bool] = own["on_or_off"]
        self._places = Places(own)

    def correction(self, text: str, history: Sequence[Message]) -> tuple[Command, ...] | str:
        """Return the last command anew with what `text` corrects, after taking it back if it changed anything.

        What to say instead, when it was done just so; `()` for no correction.
        """
        last, changed = last_call(history)
        words = self._grammar.unmarked(text)
        if self._again.fullmatch(words) and _took_back(history):
            return (Command(UNDO, {"again": True}),)
        if last and self._taken_back.fullmatch(words):
            back = changed and last.name in ROOMED + THINGS + CHANGES + tuple(WHEN)
            return (Command(UNDO, {}),) if back else ()
        found = self._corrected.match(words)
        if last is None or found is None or (found["moved"] and last.name in READS):
            return ()
        rest = found["rest"]
        made = self._anew(last, rest)
        if made is None and not self._grammar.is_negated(rest):
            whole = self._grammar.read(rest)
            if whole and whole.tool == last.name:
                made = whole
        made = made or self._other_kind(last, rest)
        if made is None and self._meant.search(found["how"]):
            made = self._other_things(last, rest) or self._other_number(last, rest)
        if made is None:
            return ()
        if dict(made.arguments) == dict(last.arguments):
            return self._so_already(rest) if changed else ()
        return (Command(UNDO, {}), made) if changed else (made,)  # else something older would be taken back

    def _so_already(self, said: str) -> str:
        """Return what is said of a last command that has what it was corrected to; a whole sentence is not repeated."""
        so: Mapping[str, str] = self._grammar.own["so_already"]
        return so["whole"] if self._grammar.commands(said) else so["part"].format(said)

    def left_alone(self, text: str) -> str:
        """Return what is said to "never mind" and to "don't set a timer", which nothing is done for; "" to the rest."""
        if self._left_alone.fullmatch(self._grammar.unmarked(text)):
            return self._left["says"]  # nothing was done that it could take back
        return self._left["denied"] if self._grammar.denied(text) else ""

    def follow_up(self, text: str, history: Sequence[Message]) -> Command | None:
        """Return the last command for one thing more, "and eggs too", or what "turn it off again" wants of it."""
        last, _ = last_call(history)
        words = self._grammar.unmarked(text)
        if last is None or self._grammar.is_negated(text):
            return None
        if last.name == "home.turn" and (to := self._switched.fullmatch(words)):
            return Command(last.name, dict(last.arguments) | {"on": self._on[(to["to"] or to["back"]).lower()]})
        if last.name == "home.set" and (step := self._stepped.fullmatch(self._grammar.plain_words(text))):
            return self._stepped_by(last, self._steps[(step["step"] or step["way"]).lower()])
        if more := self._more_time.fullmatch(self._grammar.plain_words(text)):
            seconds = self._seconds(more["more"] or more["longer"] or more["less"])
            if longer := _longer(last, seconds, shorter=bool(more["less"])):
                return longer
        if (found := self._followed.match(words)) is None:
            return None
        rest = found["rest"] or found["more"]
        if last.name in THINGS:
            return self._other_things(last, rest)
        if last.name in READS or last.name in ROOMED:
            return self._anew(last, rest) or self._elsewhere(last, rest)
        return None

    def _elsewhere(self, last: ToolCall, rest: str) -> Command | None:
        """Return the last command for another device, or for a place that was written as a name."""
        if last.name in PLACED and rest.istitle():
            return Command(last.name, dict(last.arguments) | {"place": rest})
        if last.name.startswith("home.") and self._grammar.slots.devices.are_known(rest):
            targets = self._grammar.slots.devices.targets(rest)
            kept = {k: v for k, v in last.arguments.items() if k not in ("device", "room", "kind", "everything")}
            return Command(last.name, kept | targets[0]) if len(targets) == 1 else None
        return None

    def answer(self, text: str, history: Sequence[Message]) -> Command | str | None:
        """Return what `text` answers when the last thing said was a question about half a command."""
        if not history or history[-1].author != "assistant":
            return None
        asked = next((message.text for message in reversed(history) if message.author == "user"), "")
        half = self._grammar.half(asked)
        if half is None or not history[-1].text.endswith(half.question):
            return None
        words = self._grammar.unmarked(text)
        if re.fullmatch(self._left["answers"], words, re.IGNORECASE):
            return self._left["says"]
        if self._grammar.is_negated(text):
            return None
        said = self._around.sub("", self._grammar.plain_words(text))
        place = self._places.of(said, len(half.asks["choices"]))
        for at, choice in enumerate(half.asks["choices"]):
            if at == place or re.fullmatch(choice.get("answers", "(?!)"), said, re.IGNORECASE):
                whole = half.asks | choice
                return self._done(half, whole["tool"], whole["says"], choice.get("is", ""))
        if told := self._told(half.asks.get("open", ""), said, words):
            return self._done(half, half.asks["tool"], half.asks["says"], told)
        return None

    def _done(self, half: Half, tool: str, says: str, answer: str) -> Command | None:
        """Return the command that would have been said at once; `None` when the answer makes none of it."""
        command = self._grammar.read(half.says(says, answer))
        return command if command and command.tool == tool else None

    def _told(self, asked: str, said: str, words: str) -> str:
        """Return what an open question was answered with, as it belongs into the command; "" when it was not."""
        number = self._number_in(said)
        match asked:
            case "when" if moment := moments.whole(said):
                return moment.text
            case "length" if number and not number["unit"]:
                return self._in_minutes.format(said)
            case "length" if self._seconds(said):
                return said
            case "percent" if number and number["unit"] in (None, "percent"):
                return number["number"]
            case "words" if self._grammar.slots.is_doing(said) and not self._grammar.commands(words):
                return said
        return ""

    def _anew(self, last: ToolCall, said: str) -> Command | None:
        """Return the last command with its time, place, room or number said anew; `None` when that is not said."""
        arguments: Arguments = dict(last.arguments)
        seconds = self._seconds(said)
        if last.name == "timers.start" and seconds:
            return Command(last.name, arguments | {"seconds": seconds})
        if last.name == "timers.add" and seconds:
            sign = -1 if arguments["by_seconds"] < 0 else 1
            return Command(last.name, arguments | {"by_seconds": sign * seconds})
        if last.name in ("alarms.snooze", "reminders.snooze") and seconds >= 60:
            return Command(last.name, arguments | {"minutes": round(seconds / 60)})
        timed = last.name in WHEN or last.name == "weather.now"
        if timed and self._grammar.own["moments"] and (moment := moments.whole(self._new(said, "when"))):
            return self._at(last, arguments, moment)
        if last.name in PLACED and (place := self._place.fullmatch(said)):
            return Command(last.name, arguments | {"place": place["place"]})
        room = self._new(said, "room")
        if last.name in ROOMED and room.lower() in self._grammar.slots.devices.rooms:
            kept = {key: value for key, value in arguments.items() if key != "everything"}
            return Command(last.name, kept | {"room": room})
        if last.name == "home.set" and (number := self._number_in(said)):
            for name in ("brightness", "position", "volume", "temperature"):
                if name in arguments:
                    return Command(last.name, arguments | {name: int(number["number"])})
        if last.name == "home.turn" and said.lower() in self._on:
            return Command(last.name, arguments | {"on": self._on[said.lower()]})
        return None

    def _at(self, last: ToolCall, arguments: Arguments, moment: moments.Moment) -> Command | None:
        if last.name == "weather.now":
            weather = self._grammar.read(self._weather_at.format(moment.text))
            return Command(weather.tool, arguments | dict(weather.arguments)) if weather else None
        if (name := WHEN.get(last.name)) is None:
            return None
        if any(self._later.search(part.text) for part in moment.parts):
            return None  # than it was, or from now?
        new = moment.text if last.name in READS else moments.corrected(str(arguments.get(name, "")), moment)
        if last.name == "weather.forecast":
            weather = self._grammar.read(self._weather_at.format(new))
            return Command(last.name, arguments | dict(weather.arguments)) if weather else None
        return Command(last.name, arguments | {name: new})

    def _stepped_by(self, last: ToolCall, steps: Mapping[str, int]) -> Command | None:
        """Return the last setting a bit higher or lower; `None` when it is none of these, or cannot go further."""
        for name in {*steps} & {*last.arguments}:
            least, most = LIMITS[name]
            value = max(least, min(most, last.arguments[name] + steps[name]))
            return Command(last.name, dict(last.arguments) | {name: value}) if value != last.arguments[name] else None
        return None

    def _other_kind(self, last: ToolCall, said: str) -> Command | None:
        """Return the last things with one of another kind, which says its name again: milk → "no, oat milk"."""
        if (new := self._other_things(last, said)) is None or len(new.arguments["items"]) != 1:
            return None
        [thing] = new.arguments["items"]
        items = list(last.arguments["items"])
        alike = [at for at, item in enumerate(items) if _of_one_kind(item.lower(), thing.lower())]
        if len(alike) != 1:
            return None
        items[alike[0]] = thing
        return Command(last.name, dict(last.arguments) | {"items": items})

    def _other_things(self, last: ToolCall, said: str) -> Command | None:
        if last.name not in THINGS:
            return None
        things = self._grammar.slots.things(said, said)
        if not things or not all(self._grammar.slots.is_thing(thing) for thing in things):
            return None
        return Command(last.name, dict(last.arguments) | {"items": things})

    def _other_number(self, last: ToolCall, said: str) -> Command | None:
        """Return a timer of another number of minutes, or of seconds when it was of seconds: "make it fifteen"."""
        seconds = int(last.arguments.get("seconds", 0)) if last.name == "timers.start" else 0
        number = self._number_in(said)
        if number is None or number["unit"] or not 0 < seconds < 3600:
            return None
        return Command(
            last.name, dict(last.arguments) | {"seconds": int(number["number"]) * (60 if seconds >= 60 else 1)}
        )

    def _number_in(self, said: str) -> re.Match[str] | None:
        """Return the number that `said` is, in digits, and its unit."""
        return self._number.fullmatch(self._grammar.digits(said))

    def _seconds(self, said: str) -> int:
        """Return the length of time that `said` is, from end to end; 0 when it is none."""
        words = self._new(said, "length")
        for told in (words, self._grammar.plain_words(words)):
            found = durations.find(told)
            if len(found) == 1 and (found[0].start, found[0].end) == (0, len(told)):
                return found[0].seconds
        return 0

    def _new(self, said: str, of: str) -> str:
        """Return what is said anew, without the words that lead to it."""
        return self._lead[of].sub("", said, count=1)


def last_call(history: Sequence[Message]) -> tuple[ToolCall | None, bool]:
    """Return the last call of the last exchange, when it worked, and whether it changed anything.

    Nothing older is ever corrected.
    """
    calls: list[ToolCall] = []
    worked: dict[str, bool] = {}
    for message in reversed(history):
        if message.author == "user":
            break
        calls += [call for call in reversed(message.calls) if call.name != UNDO]
        if message.author == "tool" and (told := _read(message.text)).get("ok") is True:
            worked[message.call_id] = told.get("changed") is True
    return (calls[0], worked[calls[0].id]) if calls and calls[0].id in worked else (None, False)


def _took_back(history: Sequence[Message]) -> bool:
    """Tell whether the last exchange took something back."""
    last = list(takewhile(lambda message: message.author != "user", reversed(history)))
    undone = {call.id for message in last for call in message.calls if call.name == UNDO}
    return any(message.call_id in undone and _read(message.text).get("changed") is True for message in last)


def _read(result: str) -> Mapping[str, Any]:
    """Read what `prompt.result` wrote."""
    try:
        told: Any = json.loads(result)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _of_one_kind(thing: str, other: str) -> bool:
    """Tell whether `other` says the name again: milk, oat milk, buttermilk."""
    return bool({*thing.split()} & {*other.split()}) or other.endswith(thing)


def _longer(last: ToolCall, seconds: int, *, shorter: bool) -> Command | None:
    """Return more time for the timer or the sleep that was just spoken of; `None` when it was of neither."""
    if last.name == "alarms.snooze" and seconds >= 60 and not shorter:
        return Command("alarms.snooze", {"minutes": round(seconds / 60)})
    if last.name not in TIMED or not seconds:
        return None
    which = {key: value for key, value in last.arguments.items() if key in ("name", "room")}
    if last.arguments.get("seconds") and not which.get("name"):
        which["seconds"] = last.arguments["seconds"]  # which is how long it was set for, however long it runs
    return Command("timers.add", which | {"by_seconds": -seconds if shorter else seconds})
