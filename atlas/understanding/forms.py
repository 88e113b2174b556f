"""Read a request by its few known words in any order: "tea for five minutes, wait and tell me". Pure.

Templates are for whole sentences, in an order. A form is for people who leave the verb out, put the thing first or
speak English as their third language. There are two kinds, both of them written beside the sentences of their tool:

- a *shape* is a pattern that all words must match, in which lengths of time and moments have already been read;
- a *bag* names the words that tell what is wanted, and light words that may stand anywhere around them. What is left
  over must be one short name; any other word makes it no request. So nothing is done by half of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.understanding import durations, moments
from atlas.understanding.names import NOBODY, Names
from atlas.understanding.patterns import PatternIndex, filled, pattern
from atlas.understanding.said_to_one import SaidToOne
from atlas.understanding.slots import LONGEST_NAME_WORDS, Command, MaskedSentence, Slots

LEAVE = "messages.leave"
FOR_ONE = (LEAVE,)  # what can be for one person; other words are spoken to whoever is there
# Where a tool keeps the moment that was said.
_MOMENT = {"calendar.add": "start", "calendar.list": "day", "calendar.free": "day", "weather.forecast": "day"}
_ENDING = "abcdefgh"
_HELD = re.compile(r"\b(?:leng|when)[a-h]\b")


@dataclass(frozen=True, slots=True)
class _Marked:
    """Words in which lengths of time are "lenga", "lengb" … and moments "whena", "whenb" …"""

    words: str
    seconds: Mapping[str, int]
    lengths: Mapping[str, str]
    moments: Mapping[str, str]
    written: str


@dataclass(frozen=True, slots=True)
class _Shape:
    tool: str
    pattern: re.Pattern[str]
    fact: bool = False  # whether its text must say something of somebody
    known: bool = False  # whether its person must be of this house
    left: bool = False  # whether what is for one person is left for them, and not said aloud
    question: bool = False


@dataclass(frozen=True, slots=True)
class _Bag:
    tool: str
    words: re.Pattern[str]  # groups: says, also, light
    says: re.Pattern[str]  # what it cannot be without
    needs: Sequence[str]  # of the groups, all must be there
    holds: str  # "length", "when", "number", or nothing
    name: str  # the argument for what is left over; "" when nothing may be
    named: bool  # whether something must be left over
    only: frozenset[str]  # what the last word of a name must be one of
    question: bool
    never: re.Pattern[str]
    sign: int
    arguments: Mapping[str, Any]


class Forms:
    """The forms of one language, by tool."""

    def __init__(self, tables: Mapping[str, Any], slots: Slots) -> None:
        self._slots = slots
        self._articles = frozenset(tables["tidied"])
        parts: Mapping[str, str] = tables.get("form_parts", {})
        self._negation = re.compile(tables["negations"], re.IGNORECASE)
        self._on = re.compile(rf"^(?:{tables.get('before_a_day', '(?!)')}) ", re.IGNORECASE)
        self._more = pattern(tables, "more")
        self._forbids = pattern(tables, "forbids")
        self._asks = pattern(tables, "asking")
        self._kin = frozenset(tables.get("clauses", {}).get("kin", ())) | frozenset(tables["relatives"])
        self._relatives = frozenset(tables["relatives"])
        self._said_to_one = SaidToOne(tables.get("said_to_one", {}))
        self._audiences: Mapping[str, str] = tables.get("audiences", {})
        self._number = re.compile(rf"\b(?:\d{{1,3}}|{durations.UP_TO_99})\b", re.IGNORECASE)
        shapes = [
            _Shape(tool, _compiled(shape.pop("says"), parts), **shape)
            for tool, shapes in tables.get("forms", {}).items()
            for shape in ({"says": one} if isinstance(one, str) else dict(one) for one in shapes)
        ]
        bags = [_bag(tool, bag, parts, tables) for tool, bags in tables.get("bags", {}).items() for bag in bags]
        self._every: Sequence[_Shape | _Bag] = [*shapes, *bags]
        self._index = PatternIndex([*(one.pattern for one in shapes), *(one.says for one in bags)])

    def read(self, words: str, is_question: bool, names: Names = NOBODY) -> Command | None:
        """Return the command that all of `words` are; `is_question` tells whether they ended in a question mark."""
        if self.forbids(words):
            return None
        marked = self._marked(words)
        is_question = is_question or bool(self._asks.match(marked.words))
        for number in sorted(self._index.possible(marked.words)):
            form = self._every[number]
            if form.question and not is_question:
                continue
            if isinstance(form, _Bag):
                command = self._of_bag(form, marked, names)
            else:
                heard = form.pattern.fullmatch(marked.words)
                command = self._of_shape(form, heard, marked, names) if heard else None
            if command:
                return command
        return None

    def forbids(self, words: str) -> bool:
        """Tell whether `words` begin with what forbids: "don't …"."""
        return bool(self._forbids.match(words))

    def _marked(self, words: str) -> _Marked:
        spans: list[tuple[int, int, str, int]] = []
        for moment in moments.find(words)[: len(_ENDING)]:
            lengths = durations.find(moment.text) if {part.kind for part in moment.parts} == {"length"} else ()
            spans.append((moment.start, moment.end, moment.text, lengths[0].seconds if len(lengths) == 1 else 0))
        for duration in durations.find(words):
            if all(duration.end <= start or duration.start >= end for start, end, _, _ in spans):
                spans.append((duration.start, duration.end, words[duration.start : duration.end], duration.seconds))
        pieces: list[str] = []
        seconds: dict[str, int] = {}
        long: dict[str, str] = {}
        values: dict[str, str] = {}
        at = 0
        for (start, end, text, length), ending in zip(sorted(spans), _ENDING, strict=False):
            more = self._more.search(text) if length else None
            mark = ("leng" if length else "when") + ending
            if length:
                seconds[mark], long[mark] = length, text
            else:
                values[mark] = text
            pieces += [words[at:start], f"{more[0]} {mark}" if more else mark]
            at = end
        marked = " ".join("".join([*pieces, words[at:]]).split())
        return _Marked(marked, seconds, long, values, words)

    # ── shapes ──────────────────────────────────────────────────────────────────────────────────────

    def _of_shape(self, shape: _Shape, heard: re.Match[str], marked: _Marked, names: Names) -> Command | None:
        arguments: dict[str, Any] = {}
        for numbered, value in heard.groupdict().items():
            slot = numbered.rstrip("0123456789")
            if value is None or (slot in arguments and slot not in ("when", "items")):
                continue
            if slot == "when":
                self._put_moments(shape.tool, arguments, value, marked)
                if _clocks(arguments[_MOMENT.get(shape.tool, "when")]) > 1:
                    return None  # "that it closes at six tomorrow at five": nobody can tell when
            elif slot == "length":
                self._put_length(shape.tool, arguments, marked.seconds[value], 1)
            elif slot == "minutes":
                number = int(value) if value.isdigit() else durations.number_of(value)
                self._put_length(shape.tool, arguments, 60 * number, 1)
            elif slot == "label":  # one that the language's file wrote out
                arguments["name"] = value
            elif slot == "audience":
                if not self._put_audience(shape.tool, arguments, value, names):
                    return None
            elif slot == "person":
                people = {person.casefold(): person for person in names.people}
                if value.casefold() not in people | dict.fromkeys(self._kin) and shape.known:
                    return None
                if value.casefold() not in ("me", "us"):
                    if not (person := people.get(value.casefold()) or self._slots.credible("person", value)):
                        return None
                    arguments["person"] = person
            else:
                value = self._restored(value, marked)
                credible = self._slots.credible("title" if shape.tool == "reminders.add" else slot, value)
                last = credible.split()[-1] if slot in ("text", "title") and credible else credible
                if not credible or (shape.tool not in FOR_ONE and self._negation.search(last)):  # "ich komme nicht"
                    return None
                arguments[slot] = f"{arguments[slot]}, {credible}" if slot in arguments else credible
        if shape.fact and not self._slots.is_fact(arguments.get("text", "")):
            return None
        arguments.pop("ignored", None)
        tool, to = shape.tool, arguments.pop("to", "")
        if to and (person := names.person(to)):
            arguments |= (
                {"person": person}
                if shape.left
                else {"person": person, "text": self._said_to_one.yours(arguments["text"])}
            )
            tool = LEAVE if shape.left else tool
        elif to:
            arguments["text"] = self._said_to_one.aloud(to, arguments["text"])
        command = self._settled(tool, arguments, marked)
        things = command.arguments.get("items", ()) if command else ()
        return command if all(map(self._slots.is_item, things)) else None

    def _put_audience(self, tool: str, arguments: dict[str, Any], value: str, names: Names) -> bool:
        """Put in which room is spoken, if only one, and for whom; somebody whom nobody knows is not spoken to."""
        text = value.casefold()
        person = names.person(text)
        if tool not in FOR_ONE and (person or text in self._relatives):
            arguments["to"] = person if person.casefold() == text else value.capitalize()
        if tool in FOR_ONE and person:
            arguments["person"] = person
            return True
        rooms = {room.name.casefold(): room.name for room in names.rooms}
        if (room := self._audiences.get(text)) is not None:
            if room in rooms:
                arguments["room"] = rooms[room]
            return True
        if named := rooms.get(text) or rooms.get(text.removeprefix("the ")):
            arguments["room"] = named
            return True
        return bool(person)

    def _put_moments(self, tool: str, arguments: dict[str, Any], value: str, marked: _Marked) -> None:
        slot = _MOMENT.get(tool, "when")
        texts = [marked.moments[mark] for mark in re.findall(r"when[a-h]", value) if mark in marked.moments]
        texts += ["in " + marked.lengths[mark].removeprefix("in ") for mark in re.findall(r"leng[a-h]", value)]
        text = " ".join([arguments[slot], *texts] if slot in arguments else texts)
        arguments[slot] = self._on.sub("", text) if slot == "day" else text

    def _put_length(self, tool: str, arguments: dict[str, Any], seconds: int, sign: int) -> None:
        arguments["by_seconds" if tool == "timers.add" else "seconds"] = sign * seconds

    def _restored(self, value: str, marked: _Marked) -> str:
        for mark, text in {**marked.moments, **marked.lengths}.items():
            value = value.replace(mark, text)
        return value.strip(" ,")

    # ── bags ────────────────────────────────────────────────────────────────────────────────────────

    def _of_bag(self, bag: _Bag, marked: _Marked, names: Names) -> Command | None:
        if bag.never.search(marked.words):
            return None
        heard: set[str] = set()
        numbers: list[str] = []

        def take(word: re.Match[str]) -> str:
            heard.add(str(word.lastgroup))
            return "|"

        rest = bag.words.sub(take, marked.words)
        if not {*bag.needs} <= heard:
            return None
        held = _HELD.findall(rest)
        rest = _HELD.sub("|", rest)
        if bag.holds == "number":
            numbers = self._number.findall(rest)
            rest = self._number.sub("|", rest)
        chunks = {chunk for raw in re.split(r"[|,.;!?:]+", rest) if (chunk := self._bare(raw))}
        if len(chunks) > (1 if bag.name else 0) or (bag.named and not chunks):
            return None
        arguments: dict[str, Any] = dict(bag.arguments)
        if chunks:
            name = self._slots.credible("name", chunks.pop())
            if not name or len(name.split()) > LONGEST_NAME_WORDS:
                return None
            people = {person.casefold() for person in names.people} | self._kin
            if self._negation.search(name) or self._number.search(name) or name.casefold() in people:
                return None
            if bag.only and name.casefold().split()[-1] not in bag.only:
                return None
            arguments[bag.name] = name
        if not self._put_held(bag, arguments, held, numbers, marked):
            return None
        return self._settled(bag.tool, arguments, marked)

    def _put_held(
        self, bag: _Bag, arguments: dict[str, Any], held: Sequence[str], numbers: Sequence[str], marked: _Marked
    ) -> bool:
        lengths = [mark for mark in held if mark in marked.seconds]
        whens = [mark for mark in held if mark in marked.moments]
        match bag.holds:
            case "length":
                if len(lengths) != 1 or whens:
                    return False
                self._put_length(bag.tool, arguments, marked.seconds[lengths[0]], bag.sign)
            case "number":
                if len(numbers) != 1 or held:
                    return False
                number = int(numbers[0]) if numbers[0].isdigit() else durations.number_of(numbers[0])
                self._put_length(bag.tool, arguments, 60 * number, bag.sign)
            case "when":
                if not held or len(lengths) > 1 or (lengths and whens):
                    return False
                self._put_moments(bag.tool, arguments, " ".join(held), marked)
            case "clock":
                if not held or not self._put_clock(bag, arguments, held, marked):
                    return False
            case "maybe when":
                if lengths:
                    return False
                if whens:
                    self._put_moments(bag.tool, arguments, " ".join(whens), marked)
            case _:
                return not held
        return True

    def _put_clock(self, bag: _Bag, arguments: dict[str, Any], held: Sequence[str], marked: _Marked) -> bool:
        """Put in when something shall ring: once at a time of day, or after a length of time."""
        texts = [marked.moments[mark] for mark in held if mark in marked.moments]
        if len(texts) != len(held) and (texts or len(held) > 1):
            return False
        if texts and sum(map(_clocks, texts)) != 1:
            return False
        self._put_moments(bag.tool, arguments, " ".join(held), marked)
        return True

    def _bare(self, words: str) -> str:
        """Return words without articles at their beginning."""
        pieces = words.split()
        while pieces and pieces[0].casefold() in self._articles:
            pieces.pop(0)
        return " ".join(pieces)

    def _settled(self, tool: str, arguments: Mapping[str, Any], marked: _Marked) -> Command | None:
        heard = MaskedSentence(marked.written, marked.written, {})
        made = tuple(self._slots.settled(Command(tool, arguments), heard))
        return made[0] if len(made) == 1 else None


def _clocks(text: str) -> int:
    """Return how many times of day are in `text`."""
    return sum(part.kind == "clock" for moment in moments.find(text) for part in moment.parts)


def _compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """Return a pattern with its parts in place; a slot that stands in it twice has a number the second time."""
    seen: dict[str, int] = {}

    def numbered(group: re.Match[str]) -> str:
        slot = group[1].rstrip("0123456789")
        seen[slot] = seen.get(slot, 0) + 1
        return f"(?P<{slot}{seen[slot] if seen[slot] > 1 else ''}>"

    return re.compile(re.sub(r"\(\?P<(\w+)>", numbered, filled(pattern, parts)), re.IGNORECASE)


def _bag(tool: str, bag: Mapping[str, Any], parts: Mapping[str, str], tables: Mapping[str, Any]) -> _Bag:
    groups = [name for name in ("says", "also", "light") if name in bag]
    words = "|".join(f"(?P<{name}>{filled(bag[name], parts)})" for name in groups)
    return _Bag(
        tool,
        re.compile(rf"(?<![\w'-])(?:{words})(?![\w'-])", re.IGNORECASE),
        re.compile(filled(bag["says"], parts), re.IGNORECASE),
        ["says", "also"] if "also" in bag else ["says"],
        bag.get("holds", ""),
        bag.get("name", ""),
        bool(bag.get("named")),
        frozenset(tables[bag["only"]]) if "only" in bag else frozenset(),
        bool(bag.get("question")),
        pattern(bag, "never"),
        int(bag.get("sign", 1)),
        bag.get("with", {}),
    )
