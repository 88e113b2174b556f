"""The words of one language and the names of one house → what each word of a clause stands for. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from atlas.understanding.names import NamedDevice, NamedPlace, Names

LONGEST_PHRASE_WORDS = 5
LEAST_LETTERS = 4  # of a part of a name that stands for the whole
LEAST_LETTERS_OF_AN_END = 6  # of a compound: "Trockner", but no "Decke"
_PLACES = ("room", "floor")
_LINKS = ("", "n", "s", "en")  # between the parts of a compound: "Küchenlampe"
CLAUSES = 256  # in memory: a turn asks for the same words again and again
HOUSES = 4  # whose words are remembered: two for each house, of commands and of questions
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*|°|%")


@dataclass(frozen=True, slots=True)
class Token:
    """One word or phrase that is known: its category, what it stands for, and how it was written."""

    category: str  # action device room floor kind colour kelvin number unit fraction quantity word state measure person
    value: Any
    text: str

    @property
    def name(self) -> str:
        """What it names: a device, a place, a person, a list; "" for all other words."""
        if self.category not in ("device", "room", "floor", "person", "list"):
            return ""
        return self.value if isinstance(self.value, str) else str(self.value.name)


class Lexicon:
    """What is known in one language; with the names of a house, what is known there. Immutable."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._possessive = re.compile(words.get("possessive", "(?!)"))
        self._list: str = words.get("list", "")
        self._compounds: bool = words.get("compounds", False)
        self._plural = tuple(words.get("plural", ()))
        self._no_parts: frozenset[str] = frozenset(words.get("no_parts", "").split())
        self._synonyms: Sequence[Sequence[str]] = words.get("rooms", ())
        self._things: Sequence[Sequence[str]] = words.get("things", ())
        self._words = {asking: _lexicon(words, asking=asking) for asking in (False, True)}
        self._known = lru_cache(HOUSES)(self._lexicon_of)
        self._longest = lru_cache(HOUSES)(self._longest_by_first_word)
        self._joined = lru_cache(HOUSES)(_joined_spellings)
        self._read = lru_cache(CLAUSES)(self._tokens_of)
        self.compound = lru_cache(CLAUSES)(self._compound)
        self._part = lru_cache(CLAUSES)(self._part_of_a_compound)

    def tokens(self, clause: str, names: Names, *, asking: bool = False) -> list[Token] | None:
        """Return what the words of a clause are; `None` when one of them is not known."""
        tokens = self._read(clause, names, asking=asking)
        known = [token for token in tokens if token and token.category != "never"]
        return known if len(known) == len(tokens) else None

    def known_tokens(self, words: str, names: Names) -> list[Token]:
        """Return what is known of some words, whatever else they say."""
        return [token for token in self._read(words, names, asking=True) if token]

    def spellings(self, name: str) -> Sequence[tuple[str, ...]]:
        """Return how the name of a list may be spelled: in German "Campingliste" too. A name without words has none."""
        words = tuple(spelled(name))
        return (words, (*words[:-1], words[-1] + self._list)) if words and self._list else (words,) if words else ()

    def bare(self, word: str) -> str:
        """Return a word without the ending of who owns something: "Anna's"."""
        return self._possessive.sub("", word)

    def known(self, names: Names) -> Mapping[tuple[str, ...], Token]:
        """Return every phrase that is known in a question, by its spelled words."""
        return self._known(names, asking=True)

    def name(self, words: str, names: Names) -> Token | None:
        """Return what all of some words name."""
        return self._known(names, asking=False).get(tuple(spelled(words)))

    def _tokens_of(self, clause: str, names: Names, *, asking: bool) -> Sequence[Token | None]:
        known, longest = self._known(names, asking=asking), self._longest(names, asking=asking)
        words = [self.bare(word) for word in spelled(clause)]
        tokens: list[Token | None] = []
        at = 0
        while at < len(words):
            phrases = (tuple(words[at : at + length]) for length in range(longest.get(words[at], 0), 0, -1))
            phrase = next((phrase for phrase in phrases if phrase in known), ())
            if phrase:
                tokens.append(known[phrase])
            elif both := self.compound(words[at], names):
                tokens += (part for _, part in both)
            elif token := self._part(words[at], names):
                tokens.append(token)
            elif words[at].replace(".", "", 1).isdecimal():
                tokens.append(Token("number", float(words[at]), words[at]))
            else:
                tokens.append(None)
            at += len(phrase) or 1
        return tokens

    def _compound(self, word: str, names: Names) -> Sequence[tuple[int, Token]]:
        """Return the place and the thing in it that a word is put together of, and where each ends in its spelling.

        "Gartenlampe" is a lamp in the garden, where there is one; any other word is none: `()`.
        """
        if not self._compounds or len(word) < 2 * LEAST_LETTERS - 1:
            return ()
        known = self._known(names, asking=False)
        for at in range(len(word) - LEAST_LETTERS + 1, 2, -1):
            thing = known.get((word[at:],))
            if thing is None or thing.category not in ("kind", "device"):
                continue
            for link in _LINKS:
                place = known.get((word[: at - len(link)],)) if word[:at].endswith(link) else None
                if place and place.category in ("room", "floor") and _is_there(thing, place, names):
                    return ((at, place), (len(word), thing))
        return ()

    def _part_of_a_compound(self, word: str, names: Names) -> Token | None:
        """Return the one device whose name begins or ends with a word: "Arbeitsplatte" of Arbeitsplattenlicht."""
        if not self._compounds or len(word) <= LEAST_LETTERS or word in self._no_parts:
            return None
        joined = self._joined(names)
        called = [device for spelling, device in joined if spelling.startswith(word)]
        if not called and len(word) >= LEAST_LETTERS_OF_AN_END:  # "Trockner" of Wäschetrockner
            called = [device for spelling, device in joined if spelling.endswith(word) and " " not in device.name]
            ends = (spelled(name)[-1:] for place in names.places for name in place.all_names)
            called = [] if any(end[0].endswith(word) for end in ends if end) else called  # "im Garten"
        return Token("device", called[0], word) if len(called) == 1 and called[0].kind != "person" else None

    def _longest_by_first_word(self, names: Names, *, asking: bool) -> Mapping[str, int]:
        """Return how many words the longest phrase has that begins with a word, up to the most that are read as one."""
        longest: dict[str, int] = {}
        for first, *rest in filter(None, self._known(names, asking=asking)):
            longest[first] = max(longest.get(first, 1), min(len(rest) + 1, LONGEST_PHRASE_WORDS))
        return longest

    def _lexicon_of(self, names: Names, *, asking: bool) -> Mapping[tuple[str, ...], Token]:
        """Return the language's words and the names of this house; a name goes before a word."""
        known = dict(self._words[asking])
        for category, places in (("floor", names.floors), ("room", names.rooms)):
            for place in places:
                for name in (*place.all_names, *self._also_called(place, names)):
                    self._add(known, name, Token(category, place.name, name))
        for device in names.devices:
            for name in device.all_names:
                category = "person" if device.kind == "person" else "device"
                self._add(known, name, Token(category, device, name))
        for word, devices in self._other_words(names).items():
            token = known.get(tuple(spelled(word)))
            if len(devices) == 1 and (token is None or token.category not in _PLACES):  # a room called Laundry
                known[tuple(spelled(word))] = Token("device", devices[0], word)
        for person in names.people:
            self._add(known, person, Token("person", person, person))
        for word, devices in _parts(names, asking=asking).items():  # "tree", where one thing only is called so
            if len(devices) == 1:
                known.setdefault((word,), Token("device", devices[0], word))
        return known

    def _also_called(self, room: NamedPlace, names: Names) -> Sequence[str]:
        """Return other words for a room, where no other room of the house is meant by them."""
        name, others = room.name.casefold(), [one.name.casefold() for one in names.rooms if one is not room]
        for words in self._synonyms:
            if name in words:
                return () if any(other in words for other in others) else words
            endings = tuple(f" {word}" for word in words)
            if name.endswith(endings):  # "the bedroom", where there is a main bedroom alone
                return () if any(other in words or other.endswith(endings) for other in others) else words
        return ()

    def _other_words(self, names: Names) -> Mapping[str, Sequence[NamedDevice]]:
        """Return what devices are called as well, by other words for the same thing: a telly is a television."""
        called: dict[str, list[NamedDevice]] = {}
        for device in names.devices:
            for name in device.all_names:
                for words in self._things:
                    word = next((word for word in words if f" {name.casefold()}".endswith(f" {word}")), None)
                    before = name.casefold().removesuffix(word) if word else ""
                    for other in words if word else ():
                        for phrase in {other, before + other}:
                            if device not in called.setdefault(phrase, []):
                                called[phrase].append(device)
        return called

    def _add(self, known: dict[tuple[str, ...], Token], name: str, token: Token) -> None:
        words = tuple(spelled(name))
        if not words:
            return
        known[words] = token
        known.setdefault(tuple(map(self.bare, words)), token)  # as whoever reads it leaves out the "'s"
        known.setdefault(("".join(words),), token)  # "nightlight"
        if self._compounds and len(words) == 2:
            for link in _LINKS:
                known.setdefault((words[1] + link + words[0],), token)  # "Licht Küche" is the Küchenlicht
        for ending in self._plural:  # "front doors", "terrace light"
            last = words[-1].removesuffix(ending) if words[-1].endswith(ending) else words[-1] + ending
            known.setdefault((*words[:-1], last), replace(token, text=" ".join((*words[:-1], last))))


def _is_there(thing: Token, place: Token, names: Names) -> bool:
    """Whether a device, or one of a kind, is in a room or on a floor."""
    rooms = {place.value} if place.category == "room" else {one.name for one in names.rooms if one.floor == place.value}
    there = [device for device in names.devices if device.room in rooms and device.kind not in ("person", "scene")]
    if thing.category == "device":
        return thing.value in there
    kind, shape, _ = thing.value
    return any(device.kind == kind and (not shape or device.shape in ("", shape)) for device in there)


def spelled(text: str) -> list[str]:
    """Return the words of a text as words are compared: "Küche" is "kueche"."""
    return WORD.findall(text.casefold().translate(_UMLAUTS))


def _joined_spellings(names: Names) -> Sequence[tuple[str, NamedDevice]]:
    """Return the names of devices as one word each."""
    return [("".join(spelled(device.name)), device) for device in names.devices]


def _parts(names: Names, *, asking: bool) -> Mapping[str, Sequence[NamedDevice]]:
    """Return the words that names of devices are made of, and whose they are."""
    parts: dict[str, list[NamedDevice]] = {}
    of_places = {word for place in names.places for word in spelled(place.name)}
    for device in names.devices:
        if device.kind not in ("person", "scene") and (asking or device.kind != "sensor"):
            for word in {word for name in device.all_names for word in spelled(name)}:
                if len(word) >= LEAST_LETTERS and word not in of_places:
                    parts.setdefault(word, []).append(device)
    return parts


def _lexicon(words: Mapping[str, Any], *, asking: bool) -> Mapping[tuple[str, ...], Token]:
    """Return every phrase of a language's file, by its words: those of commands, or those of questions."""
    known: dict[tuple[str, ...], Token] = {}
    looks = ("state", "ask", "measure") if asking else ()
    for category in ("word", "never", "wants", "quantity", "refers", "unit", "nickname", "fraction", "action", *looks):
        for value, phrases in words.get(category, {}).items():
            for phrase in _phrases(phrases):
                known[tuple(spelled(phrase))] = Token(category, value, phrase)
    for colour, phrases in words.get("colour", {}).items():
        for phrase in _phrases(phrases):
            known[tuple(spelled(phrase))] = Token("colour", colour, phrase)
    for kelvin, phrases in words.get("kelvin", {}).items():
        for phrase in _phrases(phrases):
            known[tuple(spelled(phrase))] = Token("kelvin", kelvin, phrase)
    for kind in words.get("kind", ()):
        for many, key in ((False, "one"), (True, "many")):
            for phrase in _phrases(kind.get(key, "")):
                known[tuple(spelled(phrase))] = Token("kind", (kind["is"], kind.get("shape", ""), many), phrase)
    return known


def _phrases(written: str) -> list[str]:
    return [phrase.strip() for phrase in str(written).split("|") if phrase.strip()]
