"""Regional speech as the written language has it: function words by a table, names of this house by their sound. Pure.

„Schließ mer mol die Hinnerdür zu“ becomes „schließ mir mal die Hintertür zu“. A table (`dialect` in sentences/LANGUAGE)
writes the small words of dialects and their numbers, which are put together of ones, a joint and tens
(„zwoarazwanzg“) and have endings where they name an hour („um hoibe achte“). What is no word of the table is compared
with the names of this house by what dialects leave of a word: its consonants, soft and hard alike, without endings. One
name must fit, and no other. A reading so made is looked at only where the plain one says nothing, or where so many
words are dialect that the plain one cannot be whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from atlas.understanding.names import Names
from atlas.understanding.patterns import IN_MEMORY

STRONG = 2  # so many different words of dialect make a sentence of it
FEWEST_CONSONANTS = 2  # of a word that is compared at all
SURE_CONSONANTS = 4  # of a name that no other word of dialect stands beside
LONGEST_CHARACTERS = 200
_SOUNDS = (  # in this order: what dialects keep apart or not
    (r"ß", "s"),
    (r"sch|sh|(?<=\b)s(?=[tp])", "x"),
    (r"ch(?=s)|ck|[gqk]+|x(?=t\b)", "k"),
    (r"ch", "j"),
    (r"tz|z|ts", "s"),
    (r"pf|ph|[vwf]+", "f"),
    (r"h", ""),
    (r"dt|th|[dt]+", "t"),
    (r"[bp]+", "b"),
    (r"n[td](?=[aeiouäöüy])|n+", "n"),
    (r"(.)\1+", r"\1"),
    (r"(?:e[rl]|l[ae]?|[ae]?n?[ae]?)$", ""),
    (r"[aeiouäöüy]+", "-"),
)
_STEPS = [(re.compile(sound), remainder) for sound, remainder in _SOUNDS]
_VOWELS = [  # of words with few consonants: what one vowel of the written language may become
    {*pair.split("/")}
    for pair in "a/o a/å ei/oa ei/i ei/ai i/ia ü/ia ü/i u/ua ö/e ä/e au/u au/ü au/a eu/ei e/ea o/oa ü/ue".split()  # noqa: SIM905
]
_ENDINGS = ("e", "i", "a", "ne")  # of hours: "um achte", "am halbi achti"
_JOINTS = ("und", "a", "ra", "e", "ne", "re", "en", "er", "un", "o", "i")  # "dreiazwanzg", "zwoarazwanzg", "einezwänzg"
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@lru_cache(maxsize=4096)
def sound(word: str) -> str:
    """Return what dialects leave of a word: "Hintertür" and "Hinnerdür" sound alike."""
    heard = word.casefold()
    for step, remainder in _STEPS:
        heard = step.sub(remainder, heard)
    return heard.strip("-").replace("-", "")


class Dialect:
    """One language's regional speech; a language without a table has none."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        table = tables.get("dialect", {})
        parts = [(re.compile(text, re.IGNORECASE), meant) for text, meant in table.get("parts", ())]
        self._numerals = _Numerals(table.get("numerals", {}))
        self._words = parts + [
            (re.compile(rf"(?<!\w)(?:{text})(?!\w)", re.IGNORECASE), meant) for text, meant in table.get("words", ())
        ]
        self._order = [(re.compile(text, re.IGNORECASE), meant) for text, meant in table.get("order", ())]
        self._things: tuple[str, ...] = tuple(table.get("things", ()))
        self._known = frozenset(word.casefold() for word in table.get("known", ()))
        self.written = lru_cache(IN_MEMORY)(self._written)

    def _written(self, text: str, names: Names) -> tuple[str, int]:
        """Return a sentence as it would be written, and how many words in it were dialect; "" where none was."""
        if not self._words or len(text) > LONGEST_CHARACTERS:
            return "", 0
        words, count = text.replace("’", "'").replace("`", "'"), 0
        for phrase, meant in self._words:
            changed = phrase.sub(meant, words)
            count += changed != words
            words = changed
        words, numbers = self._numerals.written(words)
        count += numbers
        for phrase, meant in self._order:
            words = phrase.sub(meant, words)
        known = self._names(names)
        named = _WORD.sub(lambda match: _named(match[0], known, self._known, marked=count > 0), words)
        count += named != words
        return (" ".join(named.split()), count) if count else ("", 0)

    def _names(self, names: Names) -> Mapping[str, frozenset[str]]:
        return _by_sound((*_all(names), *self._things))


class _Numerals:
    """The numbers of dialects: what they are called elsewhere alone, before tens and as hours. Immutable."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        small, tens, joined, hours = (
            _by_spelling(table.get(name, {})) for name in ("small", "tens", "joined", "hours")
        )
        written = frozenset((*table.get("small", ()), *table.get("tens", ())))
        self._regional = {word: number for word, number in (small | tens).items() if word not in written}
        self._hours = {word + ending: number for word, number in small.items() for ending in _ENDINGS} | hours
        self._ones, self._tens = small | joined, tens
        either = ("|".join(sorted(words, key=len, reverse=True)) for words in (self._ones, _JOINTS, tens))
        self._both = re.compile("({})(?:{})({})".format(*either) if tens else "(?!)", re.IGNORECASE)
        clock = "|".join(sorted(table.get("clock", ()), key=len, reverse=True)) or "(?!)"
        self._clock = re.compile(rf"(?<!\w)((?:{clock}) +)({_WORD.pattern})", re.IGNORECASE)

    def written(self, words: str) -> tuple[str, int]:
        """Return words with their numbers as they are written, and how many of those were dialect."""
        count = 0

        def number(word: str) -> str:
            nonlocal count
            meant = self._number(word.casefold())
            count += bool(meant)
            return meant or word

        def hour(match: re.Match[str]) -> str:
            nonlocal count
            meant = self._hours.get(match[2].casefold(), "")
            count += bool(meant)
            return match[1] + (meant or match[2])

        return _WORD.sub(lambda match: number(match[0]), self._clock.sub(hour, words)), count

    def _number(self, word: str) -> str:
        """Return the number that a word is in dialect; "" for any other word."""
        if word in self._regional:
            return self._regional[word]
        if not (both := self._both.fullmatch(word)):
            return ""
        one, ten = self._ones[both[1]], self._tens[both[2]]
        meant = f"{'ein' if one == 'eins' else one}und{ten}"
        return "" if meant == word else meant


def _by_spelling(table: Mapping[str, str]) -> dict[str, str]:
    return {spelling: number for number, spellings in table.items() for spelling in (number, *spellings.split())}


def _all(names: Names) -> Iterable[str]:
    for device in names.devices:
        if device.kind in ("scene", "person"):
            continue  # what they are called are words like any other
        yield from device.all_names
    for place in names.places:
        yield from place.all_names


@lru_cache(maxsize=8)
def _by_sound(names: tuple[str, ...]) -> Mapping[str, frozenset[str]]:
    """Return the words of names by their sound."""
    made: dict[str, set[str]] = {}
    for word in {word for name in names for word in _WORD.findall(name)}:
        made.setdefault(sound(word), set()).add(word)
    return {heard: frozenset(words) for heard, words in made.items()}


def _named(word: str, known: Mapping[str, frozenset[str]], common: frozenset[str], *, marked: bool) -> str:
    """Return the only word of this house's names that a word can be in dialect; else the word itself."""
    plain = word.casefold()
    heard = sound(word)
    fitting = known.get(heard, frozenset())
    if plain in common or len(heard) < FEWEST_CONSONANTS or any(plain == name.casefold() for name in fitting):
        return word
    if len(heard) < SURE_CONSONANTS and not (marked and len(plain) > 2):
        return word
    if len(heard) < SURE_CONSONANTS:
        fitting = frozenset(name for name in fitting if _vowels_fit(plain, name.casefold()))
    return next(iter(fitting)) if len(fitting) == 1 else word


def _vowels_fit(text: str, name: str) -> bool:
    """Tell whether the vowels of a short word are those of a name, or what dialects make of them."""
    mine, theirs = (re.findall(r"[aeiouäöüå]+", word) for word in (text, name))
    if (
        not (mine and theirs)
        or abs(len(mine) - len(theirs)) > 1
        or text.startswith(mine[0]) != name.startswith(theirs[0])
    ):
        return False
    return all(one == other or {one, other} in _VOWELS for one, other in zip(mine, theirs, strict=False))
