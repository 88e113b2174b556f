"""Keeps what was just spoken about: what "it", "both", "the other one", "there", "the hall too" can mean. Pure.

Only the last exchange counts, for two minutes, and only in the topic that it was about: its things are what its tool's
result says it was about, never what a sentence may have meant. When two things can be meant, one question is asked.
How words lean on them stands in the `dialogue` and `follows` tables of a language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from atlas.conversation import Message, ToolCall, Turn
from atlas.understanding import moments
from atlas.understanding.choices import Choices, ChoiceWords, MeaningChoice
from atlas.understanding.devices import Arguments, without
from atlas.understanding.frame_deeds import KIND_OF_ACT
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import Grammar
from atlas.understanding.home_tools import CLEANS, PLAYING, TARGETS, accepted
from atlas.understanding.names import NOBODY, NamedDevice, Names
from atlas.understanding.parser import act_of
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import LATER, Command
from atlas.understanding.spoken_tools import Rows, SpokenTools, open_spoken_tools

LEANS_SECONDS = 120.0  # after that nobody knows any more what "it" was
MOST_THINGS = 12  # that one "them" may mean
LOOKED_BACK = 4  # exchanges in which "the other one" may have been named beside the first
ONE_BY_ONE = ("timers", "alarms", "reminders")  # topics whose things are set one after the other
TITLED = ("calendar", "reminders", "tasks", "lists")  # topics whose things are called by words
UNDO, SCENE = "history.undo", "home.scene"
AGREES_BACK = 2  # exchanges in which "them" may have its like

Commands = Callable[[str], tuple[Command, ...]]  # what a text is by itself


@dataclass(frozen=True, slots=True)
class Referent:
    """One thing that a result was about."""

    topic: str  # the tools that it belongs to: "home"
    name: str  # as people say it; "" for a timer without a name
    id: str
    argument: str  # of its topic's tools, that takes its id
    kind: str = ""  # of a device
    room: str = ""
    state: Mapping[str, Any] = field(default_factory=dict, compare=False)  # of a device, as it was then
    at: str = field(default="", compare=False)  # when it is, on the clocks of the house: 2026-11-24T14:10, 2026-11-24
    ends: str = field(default="", compare=False)
    often: str = field(default="", compare=False)  # when it was wished, of what comes again and again


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """One earlier turn: the calls that worked, what they were about, and which of them changed something."""

    calls: tuple[ToolCall, ...]
    changed: tuple[bool, ...]
    things: tuple[Referent, ...]
    tried: tuple[ToolCall, ...] = ()  # all calls, also those that did not work
    request: str = ""  # in the person's words
    day: str = ""  # that was looked up: 2026-12-25, or in words
    says: tuple[str, ...] = ()  # what was said of each of the calls that worked

    @property
    def last(self) -> ToolCall | None:
        """The last call of it."""
        return self.calls[-1] if self.calls else None

    @property
    def of_devices(self) -> bool:
        """Whether it was about devices of this house."""
        return bool(self.calls) and self.calls[-1].name.startswith(("home.", LATER, UNDO))


NOTHING_BEFORE = EarlierTurn((), (), ())


def recent(turn: Turn) -> tuple[Message, ...]:
    """Return what a turn may lean on: nothing, once the last exchange is too long ago."""
    last = turn.history[-1].at if turn.history else 0.0
    return () if last and turn.at - last > LEANS_SECONDS else turn.history


class Dialogue:
    """How one language speaks of what was just spoken about. Immutable."""

    def __init__(self, grammar: Grammar, choices: ChoiceWords, frames: Frames) -> None:
        tables = grammar.tables
        words: Mapping[str, Any] = tables["dialogue"]
        self._grammar = grammar
        self._frames = frames
        self._choices = choices
        self._table: SpokenTools = open_spoken_tools()
        self._refers = re.compile(words["refers"], re.IGNORECASE)
        self._about_it = [(re.compile(way, re.IGNORECASE), to) for way, to in words.get("about_it", ())]
        self._kin_of = {they: re.compile(kin, re.IGNORECASE) for they, kin in words.get("kin_of", {}).items()}
        self._articles: Mapping[str, Sequence[str]] = words.get("articles", {})
        self._plural, self._switches = pattern(words, "plural"), pattern(words, "switches")
        self._restores = pattern(words, "restores")
        self._indoors = pattern(words, "indoors")
        self._place = re.compile(words["there"], re.IGNORECASE)
        self._that_room, self._own_room = pattern(words, "that_room"), pattern(words, "own_room")
        self._this_room = pattern(words, "this_room")
        self._of_one: str = words.get("of_one", "(?!)")
        self._at_place: str = words["at_place"]
        self._one_of = re.compile(words["one_of"], re.IGNORECASE)
        self._any_of = pattern(words, "any_of")
        self._called: Mapping[str, str] = words["called"]
        self._labels: Mapping[str, str] = words["labels"]
        self._all: str = words["all"]
        self._stepped = re.compile(words["stepped"], re.IGNORECASE)
        self._steps: Mapping[str, Mapping[str, tuple[str, int]]] = words["steps"]
        self._set_to = re.compile(words["set_to"], re.IGNORECASE)
        self._settings: Mapping[str, str] = words["settings"]
        self._qualities = {kind: re.compile(way, re.IGNORECASE) for kind, way in words.get("qualities", {}).items()}
        self._more = re.compile(words["more"], re.IGNORECASE)
        self._less = re.compile(words["less"], re.IGNORECASE)
        self._except = re.compile(words["except"], re.IGNORECASE)
        self._over: str = words["over"]
        self._and_more = pattern(words, "and_more")
        self._it_and_another, self._none_of = pattern(words, "it_and_another"), pattern(words, "none_of")
        self._supposes = pattern(words, "supposes")
        self._usual_list: str = words["usual_list"]
        self._by = re.compile(words["by"], re.IGNORECASE)
        self._ways: Mapping[str, str] = words["ways"]
        self._ones_at = re.compile(words["ones_at"], re.IGNORECASE)
        relative, self._such = words["relative"]
        self._relative = re.compile(relative, re.IGNORECASE)
        self._differ = {pronoun: re.compile(name, re.IGNORECASE) for pronoun, name in words["differ"].items()}
        self._ordinals = [re.compile(way, re.IGNORECASE) for way in tables["ordinals"]]
        follows: Mapping[str, Sequence[Sequence[str]]] = tables["follows"]
        self._follows = {
            topic: [(re.compile(way, re.IGNORECASE), to) for way, to in rows] for topic, rows in follows.items()
        }
        self._kinds = grammar.slots.devices.kinds

    # ── what was spoken about ───────────────────────────────────────────────────────────────────────

    def exchanges(self, history: Sequence[Message]) -> Iterator[EarlierTurn]:
        """Yield the last exchanges, the latest first."""
        messages: list[Message] = []
        count = 0
        for message in reversed(history):
            if message.author == "user":
                yield replace(self._exchange(messages[::-1]), request=message.text)
                messages = []
                count += 1
                if count == LOOKED_BACK:
                    return
            else:
                messages.append(message)

    def _exchange(self, messages: Sequence[Message]) -> EarlierTurn:
        results = {message.call_id: read_result(message.text) for message in messages if message.author == "tool"}
        calls = [call for message in messages for call in message.calls if results.get(call.id, {}).get("ok") is True]
        changed = tuple(results[call.id].get("changed") is True for call in calls)
        things: dict[tuple[str, str], Referent] = {}
        for call in calls:
            rows = [*self._things(call, results[call.id].get("data"))]
            value = str(call.arguments.get("value"))
            unlike = [one for one in rows if not is_so_now(one.state, one.kind, value)]  # "no, two are on"
            for thing in unlike if call.arguments.get("quantity") == "all" and unlike else rows:
                things[thing.topic, thing.id] = thing
        tried = tuple(call for message in messages for call in message.calls)
        day = self._looked_up(calls[-1], results[calls[-1].id].get("data")) if calls else ""
        says = tuple(str(results[call.id].get("text", "")) for call in calls)
        return EarlierTurn(tuple(calls), changed, tuple(things.values()), tried, day=day, says=says)

    def _looked_up(self, call: ToolCall, data: object) -> str:
        """Return the one day that a look was about: "what's on on Tuesday", "when is Easter"."""
        when = str(call.arguments.get(self._table.of(call.name).when, ""))
        if not when or not self._table.only_looks(call.name) or not call.name.startswith(_OF_DAYS):
            return ""
        if isinstance(data, dict) and data.get("iso"):
            return str(data["iso"])[:10]
        parts = [part for one in moments.find(when) for part in one.parts]
        days = [part.text for part in parts if part.kind == "day"]
        return days[0] if len(days) == 1 and not _SPANS.search(days[0]) else ""

    def _things(self, call: ToolCall, data: object) -> Iterator[Referent]:
        topic = call.name.partition(".")[0]
        rows = self._table.things.get(topic)
        if rows is None or not isinstance(data, dict):
            return
        held = next((data[key] for key in rows.rows if data.get(key)), ())
        for row in [held] if isinstance(held, dict) else held if isinstance(held, (list, tuple)) else ():
            row = {rows.name: row} if isinstance(row, str) else row
            if isinstance(row, dict) and not row.get("checked") and _is_meant(call, row):
                yield _thing(topic, rows, row, str(call.arguments.get("when", "")))

    # ── what leans on it ────────────────────────────────────────────────────────────────────────────

    def follow(self, text: str, last: EarlierTurn, commands: Commands) -> tuple[Command, ...]:
        """Return what a sentence means that only makes sense in the topic of the last call: "and jam", after a list."""
        if last.last is None or not {"{", "}"}.isdisjoint(text):  # which the sentence below has for places
            return ()
        topic = last.last.name.partition(".")[0]
        words = self._grammar.unmarked(text)
        spoken = {name: _spoken(value) for name, value in last.last.arguments.items() if value}
        context = {"list": self._usual_list, "name": "", "items": ""} | spoken
        for way, to in (*self._follows.get(last.last.name, ()), *self._follows.get(topic, ())):
            if phrase := way.fullmatch(words):
                made = commands(phrase.expand(to).format_map(context))
                if made and all(command.tool.startswith(f"{topic}.") for command in made):
                    return self._told_which(made, last)
        return ()

    def _told_which(self, made: Sequence[Command], last: EarlierTurn) -> tuple[Command, ...]:
        """Return commands with the thing they are about, where there is but one and they name none."""
        if len(last.things) != 1 or last.things[0].argument == "items":
            return tuple(made)
        [thing] = last.things
        return tuple(
            command
            if command.tool.endswith("_all")
            or {thing.argument, "quantity", "everything", "day", "time", "words"} & {*command.arguments}
            or self._table.of(command.tool).adds
            else self.of(command, thing)
            for command in made
        )

    def placed(self, text: str, exchanges: Sequence[EarlierTurn], room: str = "", names: Names = NOBODY) -> str:
        """Return a text with the room in the place of "there", and of "here" where other rooms were spoken of."""
        last = exchanges[0] if exchanges else NOTHING_BEFORE
        there = self._place.search(text) or self._that_room.search(text)
        if there and (spoken_of := self._room_spoken_of(exchanges, names)):
            return text[: there.start()] + self._at_place.format(spoken_of) + text[there.end() :]
        here = self._frames.says_here(text) if room and last.things else None
        if here and all(thing.room and thing.room.casefold() != room.casefold() for thing in last.things):
            return text[: here.start()] + self._at_place.format(room) + text[here.end() :]
        return text

    def _room_spoken_of(self, exchanges: Sequence[EarlierTurn], names: Names) -> str:
        """Return the one room of the last exchange in which any was spoken of, be it done or only asked about."""
        for exchange in exchanges[:AGREES_BACK]:
            if room := _room(exchange):
                return room
            named = self._frames.devices_in(exchange.request, names, "")
            rooms = self._frames.rooms_in(exchange.request, names)
            if rooms := rooms | {one.room for one in names.devices if one.name in named and one.room}:
                return next(iter(rooms)) if len(rooms) == 1 else ""
            if exchange.things:
                return ""
        return ""

    def here_by_name(self, text: str, room: str) -> str:
        """Return a text with the speaker's room in the place of "this room"."""
        return self._this_room.sub(room, text) if room else text

    def owned(self, text: str, person: str, room: str, names: Names) -> str:
        """Return a text with the speaker's own room by its name, where one is called after them or they are in one."""
        mine = self._own_room.search(text)
        if mine is None:
            return text
        after = [
            one.name for one in names.rooms if person and re.match(self._of_one.format(re.escape(person)), one.name)
        ]
        after = after or [
            one.name for one in names.rooms if one.name == room and re.match(self._of_one.format(r"\w+"), room)
        ]
        return f"{text[: mine.start()]}{self._at_place.format(after[0])}{text[mine.end() :]}" if after else text

    def leaves_open_where(self, text: str, exchanges: Sequence[EarlierTurn]) -> bool:
        """Tell whether a text is of a room that nobody can tell: "in there", where none was spoken of; "in my room"."""
        return bool(self._own_room.search(text) or (exchanges and self._that_room.search(text)))

    def titled(self, text: str, exchanges: Sequence[EarlierTurn]) -> str:
        """Return a text with the title of what was spoken of in the place of "it": "remind me about it tonight"."""
        for way, to in self._about_it:
            if (it := way.search(text)) and (title := _title(exchanges[:AGREES_BACK])):
                return text[: it.start()] + it.expand(to).format(title) + text[it.end() :]
        return text

    def people_meant(self, they: str, exchanges: Sequence[EarlierTurn], names: Names) -> list[str]:
        """Return who may be meant by "him", the latest spoken of first.

        Only where all were called by name, without those whom kin names tell from the pronoun.
        """
        called: list[str] = []
        for exchange in exchanges[:AGREES_BACK]:
            given = [str(call.arguments.get("person", "")) for call in exchange.tried if call.name in _OF_PERSONS]
            named = [names.person(one) or one for one in given if one] or _persons(exchange, names)
            if not named and given and not called:
                return []  # "who is in?", and several are
            called += named
        articles = [word for they_, row in self._articles.items() if they_ != they for word in row]
        spoken = [f" {' '.join(_WORD.findall(one.request))} ".casefold() for one in exchanges[:AGREES_BACK]]
        unlike = [kin for they_, kin in self._kin_of.items() if they_ != they]
        return [
            person
            for person in dict.fromkeys(called)
            if not any(kin.fullmatch(name) for name in self._all_called(person, names) for kin in unlike)
            and not any(f" {word} {person} ".casefold() in words for word in articles for words in spoken)
        ]

    @staticmethod
    def _all_called(person: str, names: Names) -> list[str]:
        """Return all that somebody is called, in small letters."""
        return [person.casefold(), *(other.casefold() for other, whose in names.called if whose == person)]

    def referring(
        self, text: str, exchanges: Sequence[EarlierTurn], commands: Commands, names: Names = NOBODY, room: str = ""
    ) -> tuple[Command, ...] | Choices | None:
        """Return what words with an "it" in them mean; a question when two things can be meant.

        `()` when they leave out one that nobody can tell: then nothing is to be done.
        """
        last = exchanges[0] if exchanges else None
        if last is None or not last.calls:
            return None
        words = self._grammar.plain_words(text)
        if where := self._ones_at.search(words):
            return self._at_a_place(words, where, last, commands, names, room)
        telling, such = self._relative.sub(self._such, words), bool(self._relative.search(words))
        refers = self._refers.search(telling)
        if refers is None or not any(exchange.things for exchange in exchanges):
            return None
        if such:
            return self._unlike(telling, refers, last.things, commands)
        if self._except.search(words):
            return ()
        for spoken_of in self._spoken_of(refers[0], exchanges):
            if (meant := self._means(words, refers, spoken_of, commands, names)) is not None:
                return meant
        return None

    def past_looks_elsewhere(self, text: str, exchanges: Sequence[EarlierTurn]) -> Sequence[EarlierTurn]:
        """Return the exchanges without a last one that was a look at the weather or the clock.

        Only where a pronoun agrees with what was done before that: "send him home", of the mower.
        """
        refers = self._refers.search(text)
        if refers is None or refers[0].casefold() not in self._differ or len(exchanges) < 2:
            return exchanges
        last, before = exchanges[:2]
        elsewhere = last.tried and not last.things and not any(call.name.startswith("home.") for call in last.tried)
        agrees = before.of_devices and before.things and self._agrees(refers[0], before.things)
        return exchanges[1:] if elsewhere and agrees else exchanges

    def chosen(self, question: str, text: str, names: Names, room: str, commands: Commands) -> tuple[Command, ...]:
        """Return what was wanted of something before it was asked which, and now it is said: "the radio, I mean"."""
        targets = self._frames.named(self._frames.without_asides(text, names) or text, (), names, room)
        if len(targets) != 1 or "device" not in targets[0].arguments:
            return ()
        words = self._grammar.plain_words(question)
        refers, device = self._refers.search(words), targets[0].arguments["device"]
        if refers is None:
            return commands(f"{words} {device}")
        return commands(words[: refers.start()] + device + words[refers.end() :])

    def restored(self, text: str) -> str:
        """Return how what was just switched is to be again, "on" or "off": "no, leave it on", "put them back on"."""
        match = self._restores.fullmatch(text.strip(" .,!"))
        return match["state"].casefold() if match else ""

    def says_how_much(self, text: str) -> bool:
        """Tell whether a text only says more or less, and not of what: "a bit more"."""
        words = self._grammar.unmarked(text)
        return bool(self._more.fullmatch(words) or self._less.fullmatch(words))

    def and_more(self, text: str) -> tuple[str, str] | None:
        """Return a deed on what was spoken of, and the words for one thing more: "put it out, and the lamp too"."""
        both = self._and_more.fullmatch(text.strip())
        return (both["first"], both["more"]) if both else None

    def it_and_another(self, text: str) -> tuple[str, str] | None:
        """Return a deed on what was spoken of, and words for another: "turn it off and close the blind"."""
        both = self._it_and_another.fullmatch(text.strip(" .!"))
        return (both["first"], both["second"]) if both else None

    def taken_off(self, text: str, last: EarlierTurn) -> tuple[Command, ...]:
        """Return the taking off of one thing that was just put on a list: "no bread, we have some"."""
        call, match = last.last, self._none_of.fullmatch(text.strip())
        if call is None or call.name != "lists.add" or not last.changed[-1] or not match:
            return ()
        items = [
            item for item in map(str, call.arguments.get("items", ())) if item.casefold() == match["item"].casefold()
        ]
        given = {key: value for key, value in call.arguments.items() if key == "list"}
        return (Command("lists.remove", {"items": items, **given}),) if len(items) == 1 else ()

    def supposes(self, text: str) -> bool:
        """Tell whether words may ask about a thing as well as want the same for it: "what about the bedroom?"."""
        return bool(self._supposes.match(text.strip()))

    def chooses(self, text: str) -> bool:
        """Whether some of several are meant: "the one that isn't", "the one in here", "all but the lamp"."""
        if self._relative.search(text) or self._ones_at.search(text):
            return True
        return bool(self._except.search(text) and self._refers.search(text))

    def leaves_open_which(self, text: str, last: EarlierTurn) -> bool:
        """Whether one of several devices that were just spoken of is meant, and not which: "put one on again"."""
        return last.of_devices and len(last.things) > 1 and bool(self._any_of.search(text))

    def _spoken_of(self, pronoun: str, exchanges: Sequence[EarlierTurn]) -> Iterator[Sequence[EarlierTurn]]:
        """Yield the last exchange, and those before it; first of all the one whose things a pronoun agrees with."""
        near = exchanges[:AGREES_BACK] if exchanges[0].of_devices else exchanges[:1]
        rows = [exchanges[at:] for at, one in enumerate(near) if one.things and one.calls]
        fitting = [row for row in rows if self._agrees(pronoun, row[0].things)]
        yield from [*fitting, *(row for row in rows if row not in fitting)]

    def _agrees(self, pronoun: str, things: Sequence[Referent]) -> bool:
        """Whether a pronoun can stand for things of these names: "them" for the blinds, but not for the lamp."""
        differs = self._differ.get(pronoun.casefold())
        several = "s" if len(things) > 1 else ""
        return differs is None or not all(differs.search(thing.name + several) for thing in things)

    def _unlike(
        self, words: str, refers: re.Match[str], things: Sequence[Referent], commands: Commands
    ) -> tuple[Command, ...] | None:
        """Return a deed for those of several that are not so yet: "lock the one that isn't"."""
        made = {thing: self._about(words, refers, thing, commands) for thing in things}
        unlike = {
            thing: readings for thing, readings in made.items() if any(not _is_so(thing, one) for one in readings)
        }
        return tuple(one for readings in (unlike or made).values() for one in readings) or None

    def _at_a_place(
        self, words: str, where: re.Match[str], last: EarlierTurn, commands: Commands, names: Names, room: str
    ) -> tuple[Command, ...] | None:
        """Return a deed for those that are at a place, of several that were spoken of: "the one in the kitchen"."""
        devices = _devices(last.things, names)
        named = [one.arguments for one in self._frames.named(where["where"], devices, names, room)]
        rooms = {one.get("room") for one in named}
        rooms |= {device.room for device in devices for one in named if device.name == one.get("device")}
        there = [thing for thing in last.things if thing.room and thing.room in rooms]
        if not there or len(last.things) < 2:
            return None
        return tuple(one for thing in there for one in self._about(words, where, thing, commands)) or None

    def _means(
        self, words: str, refers: re.Match[str], exchanges: Sequence[EarlierTurn], commands: Commands, names: Names
    ) -> tuple[Command, ...] | Choices | None:
        last, things = exchanges[0], exchanges[0].things

        def about(thing: Referent) -> tuple[Command, ...]:
            return self._about(words, refers, thing, commands)

        def about_all() -> tuple[Command, ...]:
            if whole := self._about_the_same(words, refers, last, commands):
                return whole
            items = [about(thing) for thing in things]
            return tuple(command for made in items for command in made) if all(items) else ()

        if len(things) > MOST_THINGS:
            return None
        match refers.lastgroup:
            case "other":
                if (other := _other(exchanges, names)) is None:
                    return None
                if refers.span() == (0, len(words)):  # "and the other one": the same for that
                    return (self.of(Command(last.calls[-1].name, last.calls[-1].arguments), other),)
                return about(other) or None
            case "which":
                thing = self._by_ordinal(refers["which"], exchanges)
                return about(thing) or None if thing else None
            case "both" | "several" if len(things) == 1:
                alike = [thing for thing in (_one_before(exchanges, refers.lastgroup == "both"), things[0]) if thing]
                no_pair = len(alike) == 1 or alike[0].kind != alike[1].kind
                if refers.lastgroup == "both" and no_pair and not self._switches.search(words):
                    alike = _pair_in_room(things[0], names) or alike  # "is the south blind down?", "close both"
                if refers.lastgroup == "both" and len(alike) != 2:
                    return None
                items = [about(thing) for thing in alike]
                return tuple(command for made in items for command in made) if all(items) else None
            case "both" if len(things) != 2:
                return () if len(things) > 2 else None  # two of three: nobody can tell which
            case "both" | "several":
                return about_all() or None
        done = {call.name for call in last.calls}
        every = len(last.calls) == 1 or (len(done) == 1 and self._plural.fullmatch(refers[0]) is not None)
        if every and all(last.changed):
            return about_all() or None
        looked = all(
            call.name == "home.state" and {"quantity", "everything"} & {*call.arguments} for call in last.calls
        )
        if looked and self._plural.fullmatch(refers[0]):  # "are any lights on?" – "turn them off"
            return about_all() or None
        return self._one_of_these({thing: made for thing in things if (made := about(thing))})

    def _by_ordinal(self, ordinal: str, exchanges: Sequence[EarlierTurn]) -> Referent | None:
        """Return the first, second, … or last of those that were named together, or one after the other."""
        several = exchanges[0].things if len(exchanges[0].things) > 1 else _one_by_one(exchanges)
        at = next((at for at, way in enumerate(self._ordinals) if way.fullmatch(ordinal)), -1)
        at = len(several) - 1 if at < 0 else at  # the last one
        return several[at] if at < len(several) else None

    def first_or_last(self, text: str, exchanges: Sequence[EarlierTurn]) -> Referent | None:
        """Return which of several things words mean by its place among them: "the first one"; `None` for no such."""
        refers = self._refers.search(self._grammar.plain_words(text))
        if refers is None or refers.lastgroup != "which" or not exchanges or not exchanges[0].things:
            return None
        return self._by_ordinal(refers["which"], exchanges)

    def means_another(self, text: str) -> bool:
        """Tell whether words mean "the other one", whatever that is."""
        refers = self._refers.search(self._grammar.plain_words(text))
        return refers is not None and refers.lastgroup == "other"

    def other_than(
        self, commands: Sequence[Command], exchanges: Sequence[EarlierTurn], names: Names
    ) -> tuple[Command, ...]:
        """Return deeds on the other one than was spoken of last; `()` where nobody can tell which that is."""
        other = _other(exchanges, names) if exchanges and exchanges[0].things else None
        return tuple(self.of(one, other) for one in commands) if other else ()

    def _one_of_these(self, meant: Mapping[Referent, tuple[Command, ...]]) -> tuple[Command, ...] | Choices | None:
        """Return what "it" means when the words fit but one thing; of two, and of more, a question."""
        choices = [MeaningChoice(self._label(thing), made) for thing, made in meant.items()]
        if len(choices) < 2:
            return choices[0].commands if choices else None
        if len(choices) == 2:
            return self._choices.ask(choices)
        every = tuple(command for choice in choices for command in choice.commands)
        return self._choices.ask([MeaningChoice(self._all, every)])

    def _about(self, words: str, refers: re.Match[str], thing: Referent, commands: Commands) -> tuple[Command, ...]:
        """Return the one command that the words are when they name this thing."""
        named = thing.name if thing.topic not in self._called else ""
        for name in filter(None, (named, self._called.get(thing.kind or thing.topic, "").format(thing.name))):
            made = commands(words[: refers.start()] + name + words[refers.end() :])
            if len(made) == 1 and made[0].topic == thing.topic and not self._table.of(made[0].tool).adds:
                return (self.of(made[0], thing),)
        return ()

    def _about_the_same(
        self, words: str, refers: re.Match[str], last: EarlierTurn, commands: Commands
    ) -> tuple[Command, ...]:
        """Return the command for all that one deed was done to, named as they were then: by room and kind."""
        call = last.calls[0]
        if (
            len(last.calls) > 1
            or not last.changed[0]
            or not self._table.of(call.name).target
            or "device" in call.arguments
            or call.name == CLEANS  # a room that is cleaned is not what cleans it
        ):
            return ()
        made = self._about(words, refers, last.things[0], commands)
        same = {name: call.arguments[name] for name in TARGETS if name in call.arguments}
        return tuple(with_target(command, same) for command in made) if same else ()

    def of(self, command: Command, thing: Referent) -> Command:
        """Return a command that is about this thing and no other, where it is not about all of them."""
        if command.tool.endswith(".list"):
            return command
        if thing.topic == "home":
            if str(command.arguments.get("query", "")).casefold() == thing.name.casefold():  # "play it again"
                given = {name: value for name, value in command.arguments.items() if name != "query"}
                command = replace(command, arguments=given)
            return with_target(command, {"device": thing.name})
        value: Any = [thing.id] if thing.argument == "items" else thing.id
        return Command(command.tool, {**command.arguments, thing.argument: value}, command.whole)

    def _label(self, thing: Referent) -> str:
        form = self._labels.get(thing.kind) or self._labels.get(thing.topic) or "{}"
        return form.format(thing.name)

    def set_anew(self, text: str, last: EarlierTurn, spoken: str = "") -> tuple[Command, ...]:
        """Return the setting of what was last spoken of: brighter, not so bright, a bit more, to so much.

        `spoken`: all words of the turn, which may say of what kind it is: "not that bright, thirty".
        """
        words = self._grammar.plain_words(text)
        if last.last is None:
            return ()
        if last.last.name == SCENE and (step := self._stepped.fullmatch(words)) and step["step"]:
            what = self._steps.get(step["step"].lower(), {}).get("light")  # a scene is dimmed by its lights
            return (Command("home.adjust", {"what": what[0], "by": what[1], "kind": "light"}),) if what else ()
        if not self._table.of(last.last.name).target:
            return ()
        kinds = {thing.kind for thing in last.things}
        of_quality = next((one for one, way in self._qualities.items() if one in kinds and way.search(spoken)), "")
        kind = of_quality or _kind(last)
        alike = tuple(thing for thing in last.things if thing.kind == kind)
        last = replace(last, things=alike) if alike else last  # of "mute the telly and dim the lights" the lights
        assert last.last
        changed = [call for call in last.calls if call.name == "home.adjust" and call.arguments.get("by")]
        if changed and (self._more.fullmatch(words) or self._less.fullmatch(words)):
            sign = 1 if self._more.fullmatch(words) else -1
            return tuple(
                Command(call.name, dict(call.arguments) | target | {"by": sign * call.arguments["by"]})
                for call, target in zip(changed, self._targets(last), strict=False)
            )
        anew: Arguments = {}
        lowered = last.last.name == "home.set" and self._frames.lowers(last.request)
        if lowered and (self._more.fullmatch(words) or self._less.fullmatch(words)):  # "dim it to 20", "a bit more"
            if what := self._steps[next(iter(self._ways.values()))].get(kind):
                anew = {"what": what[0], "by": -what[1] if self._more.fullmatch(words) else what[1]}
        elif step := self._stepped.fullmatch(words):
            over = step["too"] or step["so"]
            phrase = f"{self._over} {over}" if over else next(filter(None, step.groups()))
            if what := self._steps.get(phrase.lower(), {}).get(kind):
                anew = {"what": what[0], "by": what[1]}
        elif by_so_much := self._by.fullmatch(self._grammar.digits(words)):
            way = by_so_much["way"] or next(iter(self._ways))  # "another degree" goes the way of the last
            if what := self._steps.get(self._ways[way.lower()], {}).get(kind):
                number_of = int(by_so_much["by"]) if by_so_much["by"].isdigit() else 1
                goes_on = changed and not by_so_much["way"]
                rises = changed[0].arguments["by"] > 0 if goes_on else what[1] > 0
                anew = {"what": what[0], "by": number_of if rises else -number_of}
        elif (number := self._set_to.fullmatch(self._grammar.digits(words))) and kind in self._settings:
            anew = {self._settings[kind]: int(number["number"])}
        tool = "home.adjust" if "by" in anew else "home.set"
        targets = [{"device": thing.name} for thing in last.things] if of_quality and len(kinds) > 1 else ()
        return tuple(Command(tool, target | anew) for target in targets or self._targets(last)) if anew else ()

    def _targets(self, last: EarlierTurn) -> Sequence[Arguments]:
        """Return how the calls named their devices; when there was one device, or one call for each, those."""
        assert last.last
        if len(last.things) in (1, len(last.calls)):
            return [{"device": thing.name} for thing in last.things]
        return [{name: value for name, value in last.last.arguments.items() if name in TARGETS}]

    # ── another target ──────────────────────────────────────────────────────────────────────────────

    def elsewhere(
        self, call: ToolCall, things: Sequence[Referent], rest: str, names: Names, here: str = ""
    ) -> Command | None:
        """Return a call for another device, room or floor; `None` when `rest` names none."""
        if not self._table.of(call.name).target:
            return None
        if here and (said_here := self._frames.says_here(rest)):
            rest = rest[: said_here.start()] + self._at_place.format(here) + rest[said_here.end() :]
        if call.arguments.get("measure") and here and self._indoors.fullmatch(rest):  # "how warm is it outside?"
            return Command(call.name, {"measure": call.arguments["measure"], "room": here})
        if call.arguments.get("kind") and self._indoors.fullmatch(rest):  # "any lights on outside?" – "and inside?"
            anywhere = {key: value for key, value in call.arguments.items() if key not in ("device", "room", "floor")}
            any_so = {"quantity": "any"} if call.name == "home.state" and call.arguments.get("value") else {}
            return Command(call.name, {**any_so, **anywhere, "everything": True})
        remainder = {key: value for key, value in call.arguments.items() if key == "shape" or key not in TARGETS}
        kind = call.arguments.get("kind") or _kind_of(things) or self._kind_named(str(call.arguments.get("device", "")))
        kind = kind or ("media" if call.name in PLAYING else "")
        noun = self._noun(call, things)
        named = self._one_of.sub(lambda one: f"{one[1]} {noun}", rest)
        target = self._named(named, kind, names)
        if target is None or "device" in target:  # "the back", of the front door
            whole = self._named(f"{named} {noun}", "", names) if names.devices else None
            target = whole if whole and _is_called(whole.get("device"), names) else target
        if target is None or not _is_called(target.get("device"), names):
            target = self._described(call, things, rest, names, here)
        if target is None and self._one_of.search(rest):  # "the patio one", where there is no patio: nothing else
            place = self._named(self._one_of.sub(lambda one: one[1], rest), kind, names) or {}
            rooms = {one.name.casefold() for one in names.rooms}
            target = place if str(place.get("room", "")).casefold() not in {"", *rooms} else None
        if target is None:
            return None
        others = {one.kind for one in names.devices if one.name == target.get("device")} or {target.get("kind", kind)}
        if kind and others - {kind} and names.devices:
            rooms = {thing.room for thing in things}  # "heating off in the bathroom", "the light too"
            spoken_of = rooms.pop() if len(rooms) == 1 else ""
            made = self._likewise(call, rest, names, spoken_of or here)
            nowhere = made is not None and spoken_of and {*made.arguments} & {*TARGETS} == {"kind"}
            return Command(made.tool, {**made.arguments, "room": spoken_of}) if made and nowhere else made
        shape = {"shape": call.arguments["shape"]} if call.arguments.get("shape") and "device" not in target else {}
        remainder.pop("shape", None)
        return Command(call.name, remainder | accepted(call.name, shape | target))

    def other_one(self, call: ToolCall, rest: str, exchanges: Sequence[EarlierTurn], names: Names) -> Command | None:
        """Return a call for "the other one" instead, or for "the first one"; `None` when `rest` is neither."""
        words = self._grammar.plain_words(rest)
        refers = self._refers.match(words)
        if refers is None or refers.lastgroup != "other" or not exchanges or not exchanges[0].things:
            return None
        noun = words[refers.end() :].strip()  # "the other lamp"
        tokens = self._frames.lexicon.tokens(noun, names) or () if noun else ()
        if noun and [one.value[0] for one in tokens if one.category == "kind"] != [exchanges[0].things[0].kind]:
            return None
        other = _other(exchanges, names)
        return self.of(Command(call.name, call.arguments), other) if other else None

    def _described(
        self, call: ToolCall, things: Sequence[Referent], rest: str, names: Names, here: str
    ) -> Arguments | None:
        """Return how devices of this house are named that other words than their names describe: "the big one"."""
        like = _devices(things, names) or [one for one in names.devices if one.name == call.arguments.get("device")]
        like = like or [one for one in names.devices if one.kind == call.arguments.get("kind")]
        if not like and call.name in PLAYING:
            like = [one for one in names.devices if one.kind == "media"]
        targets = self._frames.named(rest, like, names, here, many=len(things) > 1 or "kind" in call.arguments)
        return dict(targets[0].arguments) if len(targets) == 1 else None

    def _likewise(self, call: ToolCall, rest: str, names: Names, here: str) -> Command | None:
        """Return the same for a thing of another kind: the blinds are closed, "and the light" is turned off."""
        tokens = [one for one in self._frames.lexicon.tokens(rest, names) or () if one.category in TARGETS]
        if call.name == "home.state":
            made = self._frames.look_at(rest, tokens, names, here)
        else:
            made = self._frames.deed(act_of(call.name, call.arguments), rest, tokens, "", names, here, call.arguments)
            if call.name == "home.set" and made and not {*made[0].arguments} & {*call.arguments} - {*TARGETS}:
                return None  # a curtain was set to half: "and music" is no volume of fifty
        return made[0] if len(made) == 1 else None

    def _named(self, named: str, kind: str, names: Names) -> Arguments | None:
        devices = self._grammar.slots.devices
        bare = " ".join(without(self._grammar.plain_words(named).split(), self._grammar.slots.tidied))
        plain = bare.casefold()
        for device in names.devices:
            if plain in (name.casefold() for name in device.all_names):
                return {"device": device.name}
        for argument, places in (("room", names.rooms), ("floor", names.floors)):
            for place in places:
                if kind and plain in (name.casefold() for name in place.all_names):
                    return {argument: place.name, "kind": kind}
        token = self._frames.lexicon.name(bare, names)  # "our bedroom", where there is a main bedroom alone
        if kind and token and token.category == "room":
            return {"room": token.value, "kind": kind}
        if kind and plain in {room.casefold() for room in devices.rooms}:
            return {"room": bare, "kind": kind}
        if devices.are_known(named) and len(targets := devices.targets(named)) == 1:
            return targets[0]
        return None

    def _noun(self, call: ToolCall, things: Sequence[Referent]) -> str:
        """Return what "the hall one" is one of: the last word of what was named, "light"."""
        name = things[0].name if things else str(call.arguments.get("device", ""))
        return (
            name.rpartition(" ")[2].lower()
            or self._called.get(str(call.arguments.get("kind", "")), "").rpartition(" ")[2]
        )

    def _kind_named(self, device: str) -> str:
        """Return the kind of a device that is called by it: of the kitchen light a light."""
        word = device.rpartition(" ")[2].lower()
        return str(self._kinds.get(word) or self._kinds.get(f"{word}s") or "")


def _title(exchanges: Sequence[EarlierTurn]) -> str:
    """Return what the event, reminder, task or thing is called that was last spoken of; "" where there were several."""
    for exchange in exchanges:
        names = {thing.name for thing in exchange.things if thing.topic in TITLED}
        called = exchange.last.arguments if exchange.last else {}
        titles = [str(called[key]) for key in ("title", "text", "about", "words") if called.get(key)]
        if len(names) == 1 or titles:
            return names.pop() if len(names) == 1 else titles[0]
    return ""


def _spoken(value: Any) -> Any:
    """Return an argument as words: "eggs, milk"."""
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _is_meant(call: ToolCall, row: Mapping[str, Any]) -> bool:
    """Tell whether an answer named this device: of those that were asked for, which is which are so."""
    is_question = str(call.arguments.get("quantity")) in ("which", "any", "how_many")
    state = row.get("state")
    if not is_question or not isinstance(state, dict):
        return True
    return is_so_now(state, str(row.get("kind")), str(call.arguments.get("value")))


def is_so_now(state: Mapping[str, Any], kind: str, value: str) -> bool:
    """Tell whether a device is in the state that was asked about; whether it may be, in one that none is kept of."""
    wanted = _STATES.get(value)
    if wanted is None:
        return True
    name = "on" if kind == "sensor" else wanted[0]  # what sits on a window says yes where it is open
    return state.get(name) is wanted[1]


def _thing(topic: str, rows: Rows, row: Mapping[str, Any], often: str) -> Referent:
    name, id = str(row.get(rows.name) or ""), str(row.get(rows.id) or row.get(rows.name) or "")
    state = row.get("state")
    kind, room = str(row.get("kind") or ""), str(row.get("room") or "")
    at, ends = (str(row.get(key) or "") if key else "" for key in (rows.at, rows.ends))
    state = state if isinstance(state, dict) else {}
    return Referent(topic, name, id, rows.argument, kind, room, state, at, ends, often if row.get("rule") else "")


def _other(exchanges: Sequence[EarlierTurn], names: Names) -> Referent | None:
    """Return the one of two that nothing was done to since they were named together, or that share a room."""
    since: set[str] = set()
    for exchange in exchanges:
        if len(exchange.things) == 2:
            left = [thing for thing in exchange.things if thing.id not in since]
            return left[0] if len(left) == 1 and since else None
        since |= {thing.id for thing in exchange.things}
    if exchanges[0].things[0].topic in ONE_BY_ONE:
        others = [thing for thing in _one_by_one(exchanges) if thing not in exchanges[0].things]
        return others[0] if len(others) == 1 else None
    devices = _devices(exchanges[0].things, names)
    if len(devices) != 1:
        return None
    [one] = devices
    beside = [
        device for device in names.devices if (device.kind, device.room) == (one.kind, one.room) and device != one
    ]
    if not beside and one.kind == "lock":  # two doors, each in a room of its own
        beside = [device for device in names.devices if device.kind == one.kind and device != one]
    if len(beside) > 1:  # of three lamps the one that was spoken of before this one
        before = next((exchange.things for exchange in exchanges[1:] if exchange.things), ())
        beside = [device for device in beside if [device.name] == [thing.name for thing in before]]
    if len(beside) != 1 or (beside[0].shape or one.shape) != one.shape:
        return None
    return replace(exchanges[0].things[0], name=beside[0].name, id=beside[0].name, state={})


def _one_by_one(exchanges: Sequence[EarlierTurn]) -> Sequence[Referent]:
    """Return things of one kind that were named one after the other and are still there, the first one first."""
    row: dict[str, Referent] = {}
    for exchange in reversed(exchanges):
        row |= {thing.id: thing for thing in exchange.things if thing.topic == exchanges[0].things[0].topic}
        if exchange is not exchanges[0] and exchange.last and exchange.last.name.endswith(".cancel"):
            row = {id: thing for id, thing in row.items() if thing not in exchange.things}
    return [thing for thing in row.values() if thing.kind == exchanges[0].things[0].kind]


def _devices(things: Sequence[Referent], names: Names) -> list[NamedDevice]:
    return [device for device in names.devices if device.name in {one.name for one in things if one.topic == "home"}]


def _is_called(name: Any, names: Names) -> bool:
    """Whether a device of this house has such a name; of a house that nobody knows, whether it may have."""
    called = {device.name.casefold() for device in names.devices}
    return not called or name is None or str(name).casefold() in called


def _is_so(thing: Referent, command: Command) -> bool:
    """Whether a thing was already as a command would have it."""
    on = ("on", command.arguments.get("on") is True) if command.tool == "home.turn" else None
    wanted = on or _GOALS.get(command.tool)
    return wanted is not None and thing.state.get(wanted[0]) is wanted[1]


def _one_before(exchanges: Sequence[EarlierTurn], any_kind: bool) -> Referent | None:
    """Return the one thing of the last exchange but one, of a kind with the last unless `any_kind`: with that, two."""
    last, *before = exchanges
    if not before or len(before[0].things) != 1 or before[0].things[0].topic != last.things[0].topic:
        return None
    [thing] = before[0].things
    alike = any_kind or (thing.kind == last.things[0].kind and before[0].calls[-1].name == last.calls[-1].name)
    return thing if alike and thing.id != last.things[0].id else None


def _pair_in_room(thing: Referent, names: Names) -> list[Referent]:
    """Return the two blinds, curtains or locks that one room has, where one of them is this thing."""
    devices = _devices((thing,), names)
    if thing.kind not in ("cover", "lock") or len(devices) != 1:
        return []
    place = {(one.room, one.kind, one.shape) for one in devices}
    alike = [one for one in names.devices if (one.room, one.kind, one.shape) in place]
    return [replace(thing, id=one.name, name=one.name) for one in alike] if len(alike) == 2 else []


def with_target(command: Command, target: Mapping[str, Any]) -> Command:
    """Return a command of the home, also one for later, for these devices instead of those it names."""
    given = {name: value for name, value in command.due_arguments.items() if name not in TARGETS}
    given |= accepted(command.due_tool, target)
    return replace(command, arguments=given if command.tool != LATER else {**command.arguments, "arguments": given})


_OF_PERSONS = ("presence.where", "messages.leave", "broadcast.say")  # after which "him" is who was asked about, or told
_WORD = re.compile(r"[\w'-]+")
_OF_DAYS = ("calendar.", "clock.")  # looks by which a day is spoken of
_SPANS = re.compile(r"week|month|year|woche|monat|jahr|tagen\b", re.IGNORECASE)  # several days, of which none is meant


def _persons(exchange: EarlierTurn, names: Names) -> list[str]:
    """Return who is named in a request, each once."""
    words = (word.strip(".,;:!?") for word in exchange.request.split())
    return list(dict.fromkeys(filter(None, map(names.person, words))))


def _room(last: EarlierTurn) -> str:
    """Return the one room that was spoken of; "" when there were several."""
    rooms = {thing.room for thing in last.things if thing.room} or {
        str(call.arguments["room"]) for call in last.calls if call.arguments.get("room")
    }
    return rooms.pop() if len(rooms) == 1 else ""


_STATES = {
    "on": ("on", True),
    "off": ("on", False),
    "open": ("open", True),
    "closed": ("open", False),
    "locked": ("locked", True),
    "unlocked": ("locked", False),
    "playing": ("playing", True),
}
_GOALS: Mapping[str, tuple[str, bool]] = {  # what a thing is after a deed
    "home.lock": ("locked", True),
    "home.unlock": ("locked", False),
    "home.open": ("open", True),
    "home.close": ("open", False),
    "home.play": ("playing", True),
    "home.pause": ("playing", False),
}


def _kind(last: EarlierTurn) -> str:
    """Return the kind of all that was spoken of; "" when there were several kinds."""
    assert last.last
    arguments = last.last.arguments
    by_setting = next((KIND_OF_ACT[name] for name in arguments if name in KIND_OF_ACT), "")
    return str(arguments.get("kind") or _kind_of(last.things) or by_setting)


def _kind_of(things: Sequence[Referent]) -> str:
    kinds = {thing.kind for thing in things}
    return kinds.pop() if len(kinds) == 1 else ""


def read_result(text: str) -> Mapping[str, Any]:
    """Return what a tool answered, as the history has it in JSON; nothing of what is no such answer."""
    try:
        result: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return result if isinstance(result, dict) else {}
