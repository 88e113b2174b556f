"""The whole public grammar of one language (home-assistant-intents): every intent, with the names of this house.

hassil matches a sentence against templates one by one. Most cannot match, and that can be known before: a template that
needs a room when no room's name is in the sentence, a device of a kind when none of that kind is named, or words that
are not there in that order. hassil gets only the templates that are left.

Several readings are ranked as Home Assistant does: the longest name of a device first, then fewer wildcards, then more
words that the template itself has (source: hassil's `recognize_best`; the slot lists as in Home Assistant's
conversation agent, which gives each name its domain, and a sentence without a room the room of its speaker).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import hassil
from hassil.expression import Alternative, Expression, Group, ListReference, Permutation, RuleReference, Sentence
from hassil.intents import Intent, IntentData, Intents, RangeSlotList, SlotList, TextSlotList
from hassil.recognize import RecognizeResult
from hassil.string_matcher import MatchContext, MatchSettings, match_expression
from hassil.util import normalize_for_matching

from atlas.errors import ConfigError
from atlas.understanding.loose_patterns import LoosePatterns, letters
from atlas.understanding.names import Names
from atlas.understanding.patterns import PatternIndex
from atlas.understanding.templates import with_only

LONGEST_CHARACTERS = 200  # no command is longer; longer text is conversation, and costs time to match
DOMAINS: Mapping[str, tuple[str, ...]] = {  # a kind of device → the domains that Home Assistant has for it
    "light": ("light",),
    "switch": ("switch", "input_boolean"),
    "climate": ("climate",),
    "cover": ("cover",),
    "lock": ("lock",),
    "media": ("media_player",),
    "fan": ("fan",),
    "sensor": ("binary_sensor", "sensor"),
    "scene": ("scene", "script", "button", "input_button"),
    "vacuum": ("vacuum",),
    "mower": ("lawn_mower",),
    "valve": ("valve",),
    "person": ("person",),
}
KIND_OF_DOMAIN = {domain: kind for kind, domains in DOMAINS.items() for domain in domains}
SHOPPING = "shopping"  # the list that "the shopping list" is, in every language
FROM_NAMES = ("name", "area", "floor")  # the lists that a house fills
HERE = "the speaker's room"  # stands for a room that is not known: a tool asks for it
_GUESSED = {"wildcard": True}

_Block = tuple[Intent, IntentData]


@dataclass(frozen=True, slots=True)
class IntentReading:
    """One way in which a sentence can be meant."""

    intent: str
    slots: Mapping[str, Any]  # the intent's own, by Home Assistant's names
    here: bool = False  # its area is the speaker's room, and was not said
    domain: str = ""  # of the name in it, such as "light"
    response: str = ""  # which of the intent's answers: "how_many", "which"
    wildcards: Mapping[str, str] = field(default_factory=dict)  # slots that took any words
    score: tuple[int, ...] = ()  # the least is the best


@dataclass(frozen=True, slots=True)
class _Template:
    """A sentence of the grammar, and what an utterance must have for it."""

    intent: Intent
    data: IntentData
    sentence: Sentence
    loose: re.Pattern[str]
    lists: frozenset[str]  # of `FROM_NAMES`, of which something must be named


@dataclass(frozen=True, slots=True)
class _House:
    """The names of one house, ready to be searched for."""

    lists: Mapping[str, Mapping[str, Sequence[Any]]]  # "name", "area", "floor" → as it is said → values for hassil

    def values_in(self, name: str, plain: str) -> list[Any]:
        """Return the values of a list that are said in a text, in their order there."""
        spoken = (
            (at, len(words), values) for words, values in self.lists[name].items() if (at := plain.find(words)) >= 0
        )
        return [value for *_, values in sorted(spoken, key=lambda one: one[:2]) for value in values]


class PublicGrammar:
    """Every sentence of the public grammar in one language. Immutable; a sentence takes a few milliseconds and no I/O.

    Raises `ConfigError` when the package has no such language.
    """

    def __init__(self, language: str) -> None:
        raw = read_public(language)
        self.language = language
        self._all = Intents.from_dict(_with_negated_numbers(_with_places(raw), language))
        loose = LoosePatterns(self._all)
        self._templates = [
            _Template(intent, data, sentence, loose.of(sentence.expression), self._lists_in(sentence))
            for intent in self._all.intents.values()
            for data in intent.data
            for sentence in data.sentences
        ]
        self._index = PatternIndex([template.loose for template in self._templates])
        # As hassil leaves them out (its `remove_skip_words`), which makes these patterns anew for every sentence.
        skips = "|".join(re.escape(one.strip()) for one in sorted(self._all.skip_words, key=len, reverse=True))
        ways = (r"(?<!\w)(?:{0})(?!\w)", r"^(?:\s*(?:{0})(?!\w)\s*)+", r"(?:\s*(?<!\w)(?:{0})\s*)+$")
        self._skips = [re.compile(way.format(skips or "(?!)"), re.IGNORECASE) for way in ways]
        self._house = lru_cache(2)(_house)  # the names of before, and those of now
        settings = MatchSettings(slot_lists=self._all.slot_lists, language=self._all.language)
        for name, values in self._all.slot_lists.items():
            if isinstance(values, RangeSlotList):  # hassil spells out its numbers at the first use: some 70 ms
                list(match_expression(settings, MatchContext(text="-"), ListReference(list_name=name)))

    def prepare(self, names: Names) -> None:
        """Make ready for the names of a house, so that no sentence waits for it."""
        self._house(names)

    def readings(self, text: str, names: Names, room: str = "") -> Sequence[IntentReading]:
        """Return every way in which all of `text`, said in `room`, can be meant, the best first, none twice."""
        if len(text) > LONGEST_CHARACTERS:
            return ()
        ranked: dict[tuple[str, str], IntentReading] = {}
        for result in self._matches(text, self._house(names), room or HERE):
            reading = reading_of(result, room or HERE)
            key = reading.intent, repr(sorted(reading.slots.items(), key=lambda slot: slot[0]))
            if key not in ranked or reading.score < ranked[key].score:
                ranked[key] = reading
        return sorted(ranked.values(), key=lambda reading: (reading.score, reading.intent))

    def _matches(self, text: str, house: _House, room: str) -> Iterator[RecognizeResult]:
        plain = text.replace("’", "'")
        lists: dict[str, SlotList] = {}
        named: dict[str, list[Any]] = {}
        for name in house.lists:
            named[name] = house.values_in(name, plain.casefold())
            lists[name] = TextSlotList(name=name, values=named[name])
        domains = {value.context["domain"] for value in named["name"]}
        possible = self._possible(plain, {name for name, values in named.items() if values}, domains)
        some = with_only(self._all, ((one.intent.name, one.data, one.sentence) for one in possible))
        if some.intents:
            context = {"area": room}
            yield from hassil.recognize_all(plain, some, slot_lists=lists, intent_context=context)

    def _possible(self, text: str, named: set[str], domains: set[str]) -> Iterator[_Template]:
        """Yield the templates that `text` may be."""
        spoken = self._without_skips(text)
        for number in sorted(set().union(*map(self._index.possible, spoken))):
            template = self._templates[number]
            if not template.lists <= named:
                continue
            required = template.data.requires_context.get("domain")
            if required is not None and "name" in template.lists and domains.isdisjoint(required):
                continue
            if any(map(template.loose.fullmatch, spoken)):
                yield template

    def _without_skips(self, text: str) -> set[str]:
        """Return the letters of a text as it is, and without words that may be skipped: all, or those at one end."""
        words = normalize_for_matching(text).text
        less = [skip.sub(" ", words) for skip in self._skips] if self._skips[0].search(words) else ()
        return {*map(letters, (words, *less))}

    def _lists_in(self, sentence: Sentence) -> frozenset[str]:
        """Return the lists of names of which a sentence always has one."""
        return self._needed(sentence.expression) & {*FROM_NAMES}

    def _needed(self, part: Expression) -> frozenset[str]:
        """Return the lists of which an expression always has a value."""
        match part:
            case ListReference(list_name=name):
                return frozenset({name})
            case RuleReference(rule_name=name):
                return self._needed(self._all.expansion_rules[name].expression)
            case Alternative(items=items) if items and not isinstance(part, Permutation):
                return frozenset.intersection(*(self._needed(item) for item in items))
            case Permutation(items=items):
                return frozenset().union(*(self._needed(item) for item in items))
            case Group(items=items):
                return frozenset().union(*(self._needed(item) for item in items))
        return frozenset()


@cache
def open_public(language: str) -> PublicGrammar:
    """Return the public grammar of a language, read once in a process: that takes a second. Raises `ConfigError`."""
    return PublicGrammar(language)


def read_public(language: str) -> dict[str, Any]:
    """Return the grammar of one language as its file has it. Raises `ConfigError` when there is none."""
    file = files("home_assistant_intents") / "data" / f"{language}.json"
    if not re.fullmatch(r"[\w-]+", language) or not file.is_file():
        raise ConfigError(
            f"the public grammar has no language {language!r}", hint="set house.language to one such as en or de"
        )
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return read


def _with_places(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the grammar with any place in the world in its sentences about the weather: none of them is a device."""
    weather = raw["intents"].get("HassGetWeather", {"data": []})
    for block in weather["data"]:
        if block.get("requires_context", {}).get("domain") == ["weather"]:
            block["sentences"] = [sentence.replace("{name}", "{place:name}") for sentence in block["sentences"]]
            del block["requires_context"]
    return {**raw, "lists": {**raw["lists"], "place": _GUESSED}}


def _with_negated_numbers(raw: dict[str, Any], language: str) -> dict[str, Any]:
    """Return the grammar with number words of their own for each list that multiplies what was said.

    hassil shares the words of all lists with the same bounds, whatever they multiply by: after "thirty per cent
    quieter", which is -30, "the lamp at thirty per cent" was -30 too. It keeps them by the name of their language, and
    of a name that it does not know it takes the part before "_".
    """
    lists = dict(raw["lists"])
    for name, values in lists.items():
        if (factor := values.get("range", {}).get("multiplier")) is not None:
            lists[name] = {**values, "range": {**values["range"], "words_language": f"{language}_times{factor}"}}
    return {**raw, "lists": lists}


def _house(names: Names) -> _House:
    return _House({name: _spoken(name, values) for name, values in named_here(names).items()})


def named_here(names: Names) -> Mapping[str, Sequence[tuple[str, str, Any]]]:
    """Return the values of the lists that a house fills: as each is said, what it is, and what hassil asks of it."""
    devices = [
        (called, device.name, {"domain": domain, "device_class": device.shape})
        for device in names.devices
        for called in device.all_names
        for domain in DOMAINS.get(device.kind, ())
    ]
    people = [(person, person, {"domain": "person"}) for person in names.people]
    lists = [(name, name, {"domain": "todo"}) for name in names.lists if name != SHOPPING]  # that has its own intents
    rooms = [(called, room.name, None) for room in names.rooms for called in room.all_names]
    floors = [(called, floor.name, None) for floor in names.floors for called in floor.all_names]
    return {"name": [*devices, *people, *lists], "area": rooms, "floor": floors}


def _spoken(name: str, values: Iterable[tuple[str, str, Any]]) -> Mapping[str, Sequence[Any]]:
    spoken = [(" ".join(words.split()), out, context) for words, out, context in values if words.strip()]
    by_words: dict[str, list[Any]] = {}
    for value in TextSlotList.from_tuples(spoken, allow_template=False, name=name).values:
        assert isinstance(value.text_in, hassil.TextChunk)
        by_words.setdefault(value.text_in.text.strip().casefold(), []).append(value)
    return by_words


def reading_of(result: RecognizeResult, room: str) -> IntentReading:
    """Return what one match says; `room` is what stands for the speaker's."""
    entities = result.entities_list
    area = result.entities.get("area")
    name = result.entities.get("name")
    exact = name is not None and not name.is_wildcard
    assert not exact or name is not None
    guessed = [entity for entity in entities if entity.is_wildcard]
    context = result.context or {}
    return IntentReading(
        intent=result.intent.name,
        slots={entity.name: entity.value for entity in result.entities.values()},
        here=area is not None and not area.text and area.value == room,
        domain=str(context.get("domain", "")) if exact else "",
        response=result.response or "",
        wildcards={entity.name: " ".join(entity.text.split()) for entity in guessed},
        score=(
            -len(name.text) if exact and name is not None else 0,
            len(guessed),
            -result.text_chunks_matched,
            sum(len(entity.text) for entity in guessed),
        ),
    )
