"""What was matched → the arguments of a tool; nothing at all when a slot holds what it cannot mean. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hassil.models import MatchEntity
from hassil.recognize import RecognizeResult

from atlas.understanding import durations, moments
from atlas.understanding.devices import Arguments, DeviceWords, without
from atlas.understanding.patterns import Rewrites, pattern
from atlas.understanding.templates import TOOL_OF_PUBLIC_INTENT

LATER = "later.do"  # the tool that does another after a while
CANNOT = "world.unknown"  # what no house does, which its answer says
TAKING_AWAY = ("cancel", "cancel_all", "clear", "remove")  # verbs of tools that take away what was written down
LONGEST_NAME_WORDS = 3  # "pizza dough"; a longer name is a half-understood sentence
LONGEST_PLACE_WORDS = 4
LONGEST_ITEM_WORDS = 7
LONGEST_TITLE_WORDS = 14
LONGEST_TEXT_WORDS = 40
MOST_THINGS = 12
MOST_FORECAST_DAYS = 7  # that weather.forecast tells
DAY_SECONDS = 86_400
ARGUMENT_OF_PUBLIC_SLOT = {"start_seconds": "seconds", "area": "room"}
_CHANGES_A_TIMER = ("HassIncreaseTimer", "HassDecreaseTimer")  # their "seconds" is by how much
_OWNED = ("list", "person", "assignee", "agent", "sender", "to")  # may end in a possessive: "Anna's"
_PLACES = ("place", "country", "folder", "path", "start", "end")
_TITLES = ("title", "about", "words", "new_title", "subject")
_FOUND_BY = ("title", "about")  # what a tool looks for need not hold the article it was said with
_KEPT = ("text", "more", "title", "new_title", "subject")  # as it was written
_WRITES = ("add", "create", "list")
_MARKS = ',.!?;:…"“”()[]–'
_BETWEEN = rf"[\s{re.escape(_MARKS)}]+"
_HYPHEN = re.compile(r"(?<=[a-z])-(?=[a-z])", re.IGNORECASE)  # in "sixty-four"
_SUM = re.compile(r"[-+*/^x×÷·=()%\d.,]+")  # a word of a sum that is written in signs
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_SIGNS = re.compile(r"(?<=[\d)])[-+*/^x×÷·%]|^[-+*/^x×÷·%]$")
_AMOUNT = re.compile(r"-?\d+(?:[.,]\d+)*|\d/\d")
_LASTING = re.compile(r"(?P<amount>.+?)[ -](?P<unit>second|minute|hour|day|week)s?", re.IGNORECASE)
_TWO_MOMENTS = re.compile(r"\bwhen[a-d] when[a-d]\b")


@dataclass(frozen=True, slots=True)
class Command:
    """What a sentence asks for. `whole`: nobody would sensibly go on speaking after it."""

    tool: str
    arguments: Mapping[str, Any]
    whole: bool = False

    @property
    def due_tool(self) -> str:
        """The tool that does it, now or later."""
        return str(self.arguments.get("tool", "")) if self.tool == LATER else self.tool

    @property
    def due_arguments(self) -> Mapping[str, Any]:
        """The arguments of that tool."""
        return self.arguments.get("arguments", {}) if self.tool == LATER else self.arguments

    @property
    def topic(self) -> str:
        """What it is about, now or later, as the name of the tool begins: "home"."""
        return self.due_tool.partition(".")[0]

    def later(self, **when: Any) -> Command:
        """Return the command that does this one later: after `seconds`, or at the moment that the words `when` say."""
        return Command(LATER, {**when, "tool": self.tool, "arguments": dict(self.arguments)})


def for_now(commands: Sequence[Command]) -> tuple[Command, ...]:
    """Return deeds that are for later as deeds for now."""
    return tuple(Command(one.due_tool, dict(one.due_arguments)) for one in commands)


@dataclass(frozen=True, slots=True)
class MaskedSentence:
    """A sentence on its way through: as it was written, as it was matched, and what stands for what in that."""

    written: str
    plain: str
    substitutes: Mapping[str, str]


class Slots:
    """The words of one language that slots are judged by."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        self._never_names = frozenset(tables["never_names"])
        self._never_things = frozenset(tables["never_things"])
        self._reminded = Rewrites(tables.get("reminded", ()))
        self._something = pattern(tables, "something")
        self._own_day = pattern(tables.get("acts", {}), "own_day")
        self._never_starts = frozenset(tables["never_starts"])
        self.tidied = frozenset(tables["tidied"])
        self.devices = DeviceWords(tables)
        self._everyone = frozenset(tables["everyone"])
        self._doings = frozenset(tables["doings"])
        self._second_command = re.compile(tables["second_commands"], re.IGNORECASE)
        self._owning = re.compile(tables["owning"])
        self._destinations = re.compile(tables["destinations"], re.IGNORECASE)
        self._spoken_to = re.compile(tables["spoken_to"], re.IGNORECASE)
        self._and = re.compile(tables["and"], re.IGNORECASE)
        after = rf"(?:,?\s+(?:{tables.get('after_things', '(?!)')}))+"
        self._around_things = re.compile(
            rf"^(?:(?:{tables['before_things']})\s+)+|{after}[.!?]*$|[.!?]+$", re.IGNORECASE
        )
        self._named_in_a_row = Rewrites(tables.get("named_in_a_row", ()), tables.get("form_parts", {}))
        behind: Mapping[str, str] = tables.get("amounts", {})
        number, unit = f"(?:{behind.get('number', '(?!)')})", f"(?:{behind.get('unit', '(?!)')})"
        self._only_amount, self._amount_of = re.compile(f"{number} {unit}", re.IGNORECASE), behind.get("of", "")
        self._articles = frozenset(behind.get("articles", "").split())
        amount = f"(?P<number>{number})(?: (?P<unit>{unit}))?"
        self._amount = re.compile(amount, re.IGNORECASE)
        self._thing_of = re.compile(rf"(?:{amount}(?: of)? )?(?P<thing>\S.*)", re.IGNORECASE)
        self._no_things = frozenset(tables.get("no_things", ()))
        self._shopping = frozenset(tables["shopping"])
        self._fact = re.compile(tables["fact"], re.IGNORECASE)
        self._relatives = frozenset(tables["relatives"])
        self._after_a_time = re.compile(tables["after_a_time"], re.IGNORECASE)
        sums: Mapping[str, str] = tables["arithmetic"]
        self._seconds: str = tables["seconds"]
        self._numbers = frozenset(sums["numbers"].split())
        self._operators = frozenset(sums["operators"].split())
        self._alone = frozenset(sums["alone"].split())
        self._counted = self._numbers - self._alone - frozenset(sums["between"].split())
        self._in_sums = self._numbers | self._operators | frozenset(sums["between"].split())
        self._joins = re.compile(sums["joins"], re.IGNORECASE)
        self._shifted = re.compile(tables["shifted"], re.IGNORECASE)
        self._forecast_days = re.compile(rf"\b(?:{tables['forecast_days']})\b", re.IGNORECASE)

    def commands(self, result: RecognizeResult, heard: MaskedSentence) -> tuple[Command, ...]:
        """Return the command of one match, several when it names several devices, or none."""
        metadata = result.intent_metadata or {}
        arguments: Arguments = {}
        for entity in result.entities_list:
            name, value = _argument(result.intent.name, entity, heard)
            if isinstance(value, str) and entity.is_wildcard and not (value := self.credible(name, value)):
                return ()
            arguments[name] = _as_written(value, heard.written) if name in _KEPT else value
        arguments.pop("ignored", None)
        tool = TOOL_OF_PUBLIC_INTENT.get(result.intent.name, result.intent.name)
        if tool.split(".")[-1] not in _WRITES:
            for name in {*arguments} & {*_FOUND_BY}:
                arguments[name] = " ".join(without(arguments[name].split(), self.tidied)) or arguments[name]
        if result.intent.name == "HassDecreaseTimer" or metadata.get("negative"):
            arguments["by_seconds"] = -arguments["by_seconds"]
        if tool == "timers.cancel_all" and arguments:
            return ()  # the tool cancels the timers of every room; this asked for one room's
        public = result.intent.name in TOOL_OF_PUBLIC_INTENT
        whole = bool(metadata.get("whole")) or (public and "name" in arguments)
        whole = whole and not _ends_openly(result, heard.plain)
        if metadata.get("known") and not self.devices.are_known(str(arguments.get("target", ""))):
            return ()
        if metadata.get("risky") and not self._are_things(arguments.get("items", "")):
            return ()
        if metadata.get("shifted") and not self._is_shift(arguments):
            return ()
        if metadata.get("own") and self._spoken_to.search(arguments["title"]):
            return ()
        if metadata.get("fact") and not self.is_fact(arguments["text"]):
            return ()
        if metadata.get("ticked") and self._are_several(arguments["title"]):
            return (Command("lists.check", {"items": self.things(arguments["title"], heard.written)}, whole),)
        if metadata.get("relative") and not self._is_relative(arguments["about"]):
            return ()
        return tuple(self.settled(Command(tool, arguments, whole), heard))

    def settled(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        """Yield a command with its arguments as its tool wants them; nothing when they do not fit each other."""
        settle = _SETTLED.get(command.tool.split(".")[0])
        yield from settle(self, command, heard) if settle else (command,)

    # ── one slot ────────────────────────────────────────────────────────────────────────────────────

    def credible(self, argument: str, value: str) -> str:
        """Return a free text slot tidied, or "" when it looks like the rest of another sentence."""
        words = value.split()
        if argument in ("text", "more", "query"):
            return "" if len(words) > LONGEST_TEXT_WORDS or self._second_command.search(value) else value
        if argument in _TITLES or argument == "items":
            fits = len(words) <= LONGEST_TITLE_WORDS and not self._second_command.search(value)
            fits = fits and value.lower() not in self._never_names - self._relatives
            ends = words[0].lower() in self._never_starts or words[-1].lower() in self.tidied
            cut = ends or self._destinations.search(value)
            return value if fits and not cut else ""
        if argument in _PLACES:
            fits = len(words) <= LONGEST_PLACE_WORDS and words[0].lower() not in self._never_starts
            fits = fits and words[-1].lower() not in self.tidied
            return value if fits and not moments.find(value) and not durations.find(value) else ""
        if argument in ("target", "what"):
            return value
        if argument == "expression":
            return value if self._is_sum(words) else ""
        if argument == "amount":
            return value if self._is_amount(words) else ""
        if argument == "options":
            return value if len(words) <= LONGEST_TITLE_WORDS else ""
        if argument == "word":
            pointing = {value.lower()} & self._never_starts or (len(words) > 1 and {*words} & self._never_names)
            return "" if pointing or len(words) > LONGEST_NAME_WORDS else value
        if argument == "person" and value.lower() in self._everyone:
            return "everyone"
        words = without(words, self.tidied)
        if argument in _OWNED:
            words = [self._owning.sub("", word) for word in words]
        inner = {*words[1:-1]} & self.tidied  # "brushing my teeth"
        strange = any({word.lower()} - inner & self._never_names or any(c.isdigit() for c in word) for word in words)
        name = " ".join(words)
        too_long = len(words) > LONGEST_NAME_WORDS or bool(moments.find(name))
        return "" if strange or too_long or not any(map(str.isalpha, name)) else name

    def is_no_name(self, word: str) -> bool:
        """Tell whether a word is the name of nothing: "me", "the"."""
        return word.casefold() in self._never_names

    def _is_relative(self, about: str) -> bool:
        """Tell whether this is of this house, and not of the world: "what do you know about my car"."""
        first, *others = about.split()
        return first.lower() in ("my", "our") or (not others and (about.lower() in self._relatives or about.istitle()))

    def _is_sum(self, words: Sequence[str]) -> bool:
        """Tell whether words are a sum: nothing but numbers and what is done with them, and both."""
        plain = [word.lower() for word in words]
        signs = any(_SIGNS.search(word) for word in plain if _SUM.fullmatch(word))
        digits = sum(len(_DIGITS.findall(word)) for word in plain)
        numbers = digits + sum(word in self._counted for word in plain)
        enough = numbers >= 2 or bool(numbers and self._alone & {*plain})
        known = all(word in self._in_sums or _SUM.fullmatch(word) for word in plain)
        return known and enough and (signs or bool(self._operators & {*plain}))

    def sum_in(self, text: str) -> str:
        """Return the longest run of words that is a sum; "" when none is."""
        words = _HYPHEN.sub(" ", text.rstrip("?=. ")).split()
        runs = (
            words[start : start + size]
            for size in range(min(len(words), LONGEST_TEXT_WORDS), 2, -1)
            for start in range(len(words) - size + 1)
        )
        return next((" ".join(run) for run in runs if self._is_sum(run)), "")

    def _is_amount(self, words: Sequence[str]) -> bool:
        """Tell whether words are a number: "two and a half", "1.5"."""
        joined = self._numbers | {"and", "und", "point", "komma"}
        known = all(word.lower() in joined or _AMOUNT.fullmatch(word) for word in words)
        return known and any(word.lower() in self._numbers or word[-1:].isdigit() for word in words)

    def _is_shift(self, arguments: Arguments) -> bool:
        """Tell whether what is said is by how much something moves: "an hour later"."""
        return any(self._shifted.search(str(arguments.get(name, ""))) for name in ("start", "when"))

    def is_fact(self, text: str) -> bool:
        """Tell whether this says something of somebody: "Ben eats no eggs"."""
        return bool(self._fact.match(text))

    def is_doing(self, words: str) -> bool:
        """Tell whether this begins with something to do: "call mum"."""
        return len(words.split()) > 1 and words.split()[0].lower() in self._doings

    def names_destination(self, text: str) -> bool:
        """Tell whether words name the list or the calendar that something belongs in."""
        return bool(self._destinations.search(text))

    def is_thing(self, items: str) -> bool:
        """Tell whether this may be something to buy, in a sentence that does not say so ("we need milk")."""
        words = re.sub(r"^(?:the|some) ", "", items.lower()).split()
        return 0 < len(words) <= LONGEST_NAME_WORDS and not {*words} & (self._never_things | self._never_names)

    def is_item(self, item: str) -> bool:
        """Tell whether this may stand on a list that was named: "half a pound of butter"."""
        words = item.lower().split()
        return 0 < len(words) <= LONGEST_ITEM_WORDS and not {*words} & self._never_things

    def as_task(self, text: str) -> str:
        """Return what somebody is to be reminded of, as one writes it down; "" where that was not said yet."""
        text = self._reminded.written(text)
        return "" if self.is_something(text) else text

    def is_something(self, words: str) -> bool:
        """Tell whether words name nothing yet: "etwas"."""
        return bool(self._something.fullmatch(words.strip()))

    def _are_things(self, items: str) -> bool:
        """Tell whether these may be things to buy; who "bought a lamp" says so of something else."""
        pieces = self._and.split(items)
        return len(pieces) <= MOST_THINGS and all(map(self.is_thing, pieces))

    def _are_several(self, title: str) -> bool:
        """Tell whether this is bananas and yoghurt, and not something to do."""
        return bool(self._and.search(title)) and not self.is_doing(title) and self._are_things(title)

    def things(self, items: str, written: str) -> list[str]:
        """Return the things that were named one by one; commas are looked for in what was written."""
        anyhow = r"[\s,;.]+".join(map(re.escape, items.split()))
        match = re.search(anyhow, written, re.IGNORECASE)
        parts = [part.strip() for part in self._and.split(match.group() if match else items)]
        return self.tidy(parts)[:MOST_THINGS]

    def _with_amounts(self, things: Sequence[str]) -> list[str]:
        """Return things with the amounts that were named behind them: "milk, two pints"."""
        whole: list[str] = []
        for thing in things:
            if whole and self._only_amount.fullmatch(thing):
                whole[-1] = self._amount_of.format(amount=thing, thing=whole[-1])
            elif whole and self._amount.fullmatch(thing):  # "eggs ten"
                whole[-1] = f"{thing} {whole[-1]}"
            else:
                whole.append(thing)
        return whole

    def with_amount(self, item: str, amount: str) -> str:
        """Return an item with another amount of the same thing: ("2 litres of juice", "three"); "" for other words."""
        new, before = self._amount.fullmatch(amount.strip()), self._thing_of.fullmatch(item)
        if not (new and before) or (not new["unit"] and new["number"].casefold() in self._articles):
            return ""  # "another one" is no amount
        unit = new["unit"] or before["unit"]
        if not unit and self.tidy([f"{new['number']} {before['thing']}"]) == [before["thing"]]:
            return ""  # an article is no amount: "noch einen"
        if not unit:
            return f"{new['number']} {before['thing']}"
        return self._amount_of.format(amount=f"{new['number']} {unit}", thing=before["thing"])

    def is_amount(self, thing: str) -> bool:
        """Tell whether words say only how much, and not of what: "three", "two pints"."""
        return self._amount.fullmatch(thing) is not None

    def tidy(self, things: Sequence[str]) -> list[str]:
        """Return things without articles before them and words of politeness behind them.

        What ends talk ("anyway", "yes") is no thing, and neither is what was said before it.
        """
        one_by_one = [one for thing in things for one in self._named_in_a_row.written(thing).split(";")]
        tidied = [tidy for thing in one_by_one if (tidy := self._around_things.sub("", thing.strip()).strip())]
        ends = [at for at, thing in enumerate(tidied) if thing.casefold() in self._no_things]
        return self._with_amounts(tidied[max(ends, default=-1) + 1 :] or tidied)

    # ── what belongs to one topic ───────────────────────────────────────────────────────────────────

    def _of_home(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        arguments = dict(command.arguments)
        if (named := arguments.pop("target", None)) is None:
            player = {"kind": "media"} if "volume" in arguments else {}
            yield replace(command, arguments=arguments | player)
            return
        percent = arguments.pop("percent", None)
        verb = command.tool.removeprefix("home.")
        targets = self.devices.targets(named, doors=verb in ("open", "unlock", "close", "lock", "state"))
        if "room" in arguments and any("room" in target for target in targets):
            return
        made = [self.devices.done(verb, target, arguments | target, percent) for target in targets]
        if all(made):
            yield from (Command(*one, whole=command.whole) for one in made if one)

    def _of_lists(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        arguments = dict(command.arguments)
        items = arguments.get("items") or ""  # "make a list called Xmas" puts nothing on it
        # "The list" is the shopping list, unless what is put on it is something to do.
        doing = items.split(" ")[0].lower() in self._doings and len(items.split()) > 1
        if doing and "list" not in arguments and not any(word in heard.plain.lower() for word in self._shopping):
            tool = {"lists.add": "add", "lists.check": "done", "lists.remove": "remove"}[command.tool]
            yield Command(f"tasks.{tool}", {"title": items}, command.whole)
            return
        if items:
            more = arguments.pop("more", "")
            arguments["items"] = [thing for item in (items, more) for thing in self.things(item, heard.written)]
            if all(map(self.is_something, arguments["items"])):
                return
        if arguments.get("list", "").lower() in self._shopping:
            del arguments["list"]
        yield replace(command, arguments=arguments)

    def _of_reminders(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        arguments = dict(command.arguments)
        if _TWO_MOMENTS.search(heard.plain):
            return  # "that it closes at six tomorrow at five": nobody can tell when
        if more := arguments.pop("more", ""):
            if not self._after_a_time.match(more):
                return
            arguments["text"] += f" {more}"
        if then := arguments.pop("when2", ""):
            arguments["when"] += f" {then}"
        if "text" in arguments and not (text := self.as_task(arguments["text"])):
            return
        elif "text" in arguments:
            arguments["text"] = text
        if later := arguments.pop("later", ""):
            matching_durations = durations.find(later)
            if not matching_durations:
                return
            arguments["seconds"] = matching_durations[0].seconds
        yield from _in_minutes(replace(command, arguments=arguments))

    def _of_alarms(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        arguments = dict(command.arguments)
        for name, way in (("later_by", "later"), ("earlier_by", "earlier")):
            if seconds := arguments.pop(name, 0):
                arguments["when"] = f"{seconds // 60} minutes {way}"
        if then := arguments.pop("when2", ""):
            arguments["when"] += f" {then}"
        if command.tool == "alarms.set" and "seconds" in arguments:
            arguments["when"] = "in " + heard.substitutes[f"{arguments.pop('seconds')} seconds"]
        if {"time", "day"} & {*arguments}:
            texts = moments.whole(arguments.pop("time", "")), moments.whole(arguments.pop("day", ""))
            parts = [part for moment in texts if moment for part in moment.parts]
            kinds = [part.kind for part in parts]
            if len({*kinds}) < len(kinds) or {*kinds} - {"day", "clock"}:
                return  # "my alarm for every Monday": whether once or for good depends on which that is
            if "day" in kinds and command.tool == "alarms.switch":
                return  # which knows no day
            names = {"clock": "time", "day": "day"}
            arguments |= {names[part.kind]: re.sub(r"^(?:at|on) ", "", part.text) for part in parts}
            if command.tool == "alarms.list":
                arguments.pop("time", None)  # it is said of each
        yield from _in_minutes(replace(command, arguments=arguments))

    def _of_calendar(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        title = str(command.arguments.get("title", "")).lower().split()
        if command.tool == "calendar.find":
            yield from self._of_searches(command, heard)
        elif not title or (title[0] not in self._never_names and title[-1] not in self._never_names):
            yield from _in_minutes(command)

    def _of_searches(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        """Yield a search without the articles, which what is looked for need not hold."""
        arguments = dict(command.arguments)
        own_day = self._own_day.search(heard.written) if command.tool == "calendar.find" else None
        if words := own_day[0] if own_day else " ".join(without(str(arguments.get("words", "")).split(), self.tidied)):
            arguments["words"] = words  # "my birthday" is nobody else's
        yield replace(command, arguments=arguments)

    def _of_email(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        arguments = dict(command.arguments)
        if command.tool == "email.search" and "text" in arguments:
            arguments["text"] = " ".join(without(arguments["text"].split(), self.tidied))
        if "to" in arguments:
            arguments["to"] = [arguments["to"]]
        yield replace(command, arguments=arguments)

    def _of_weather(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        arguments = dict(command.arguments)
        if (seconds := arguments.pop("seconds", None)) is not None:
            if seconds % DAY_SECONDS or seconds > MOST_FORECAST_DAYS * DAY_SECONDS:
                return
            arguments["days"] = seconds // DAY_SECONDS
        if "day" in arguments:
            match = self._forecast_days.search(arguments["day"])
            if not match:
                return  # the service looks a week ahead, not to Christmas
            day = match.group()
            arguments["day"] = "today" if day.lower().startswith("this ") else re.sub(r"^the ", "", day, flags=re.I)
        yield replace(command, arguments=arguments)

    def _of_world(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        arguments = dict(command.arguments)
        if "expression" in arguments:
            arguments["expression"] = _with_brackets(str(arguments["expression"]), heard.written)
        if "options" in arguments:
            parts = [part.strip() for part in self._joins.split(arguments["options"])]
            if len(parts) < 2 or not all(parts):
                return
            arguments["options"] = parts
        length = heard.substitutes.get(f"{arguments.get('amount')} {self._seconds}")
        if length and (lasting := _LASTING.fullmatch(length)):
            arguments |= {"amount": lasting["amount"], "unit": lasting["unit"].lower()}
        yield replace(command, arguments=arguments)

    def _of_clock(self, command: Command, heard: MaskedSentence) -> Iterator[Command]:
        arguments = dict(command.arguments)
        if command.tool == "clock.date" and arguments.get("when", "").lower() == "today":
            del arguments["when"]
            command = replace(command, whole=True)  # "what day is it today"
        yield replace(command, arguments=arguments)


def _in_minutes(command: Command) -> Iterator[Command]:
    """Yield a command whose length of time its tool wants in whole minutes."""
    arguments = dict(command.arguments)
    if (seconds := arguments.pop("seconds", None)) is not None:
        if seconds < 60:
            return
        arguments["minutes"] = round(seconds / 60)
    yield replace(command, arguments=arguments)


_SETTLED: Mapping[str, Callable[[Slots, Command, MaskedSentence], Iterator[Command]]] = {
    "alarms": Slots._of_alarms,
    "calendar": Slots._of_calendar,
    "clock": Slots._of_clock,
    "email": Slots._of_email,
    "home": Slots._of_home,
    "files": Slots._of_searches,
    "lists": Slots._of_lists,
    "notes": Slots._of_searches,
    "reminders": Slots._of_reminders,
    "weather": Slots._of_weather,
    "world": Slots._of_world,
}


def _argument(intent: str, entity: MatchEntity, heard: MaskedSentence) -> tuple[str, Any]:
    """Return a slot as an argument of the tool."""
    name = ARGUMENT_OF_PUBLIC_SLOT.get(entity.name, entity.name)
    if intent in _CHANGES_A_TIMER and entity.name == "seconds":
        name = "by_seconds"
    value = entity.value
    if isinstance(value, float):
        return name, int(value)
    if isinstance(value, str):
        for plain, original in heard.substitutes.items():
            value = value.replace(plain, original)
        return name, " ".join(value.split())
    return name, value


def _with_brackets(expression: str, written: str) -> str:
    """Return a sum with the brackets that it was written with: marks are not matched, and they count."""
    last = re.escape(expression.rpartition(" ")[2])
    bracketed = re.search(rf"(?:\d[^?!]*)?\([^?!]*(?:[\d)]|\b{last}\b)", written, re.IGNORECASE)
    return bracketed[0] if bracketed else expression


def _as_written(value: str, written: str) -> str:
    """Return a free text with the marks that were written inside a word: in "anna.smith@example.org", in a password."""
    words = _BETWEEN.join(map(re.escape, value.split()))
    match = re.search(rf"(?<!\w){words}(?!\w)", written.replace("’", "'"), re.IGNORECASE)
    return " ".join(filter(None, (word.strip(_MARKS) for word in match[0].split()))) if match else value


def _ends_openly(result: RecognizeResult, plain: str) -> bool:
    """Tell whether the sentence ends inside free text: the next word may belong to it."""
    return any(entity.is_wildcard and plain.endswith(entity.text.strip()) for entity in result.entities_list)
