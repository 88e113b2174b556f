"""Reads words that somebody else is to hear: "tell Marcus we've run out of milk", "ask him if he's coming". Pure.

They are turned into what is said to that person themselves, where it is sure that nobody else is meant by a "she": a
pronoun that does not fit the name, or a talk in which others were named, leaves the words as they were said.
Who is at home and who is away is not known here: the house decides whether words are said aloud or left as a message.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from atlas.understanding.frame_words import spelled
from atlas.understanding.names import Names
from atlas.understanding.patterns import Rewrites, filled, pattern
from atlas.understanding.persons_rooms import room_of

HOUSES = 4  # whose names are known at once
_MARKS = " .,;:!?"


@dataclass(frozen=True, slots=True)
class WordsForAnother:
    """What somebody else is to hear: people of this house by name, or by a pronoun or a room alone."""

    people: tuple[str, ...]
    text: str  # "" where only what was told before is to be told again
    they: str = ""  # the pronoun: him, her, them
    room: str = ""
    left: bool = False  # a message is asked for, so nothing is said aloud
    first: str = ""  # a sentence that stands before it
    before: bool = False  # what was asked about just before is to be told as well: "tell him that, and …"


class WordsForOthers:
    """How one language passes words on. `words` is its table `words_for_others`. Immutable."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._kin = frozenset(words.get("kin", ()))  # who are spoken to also where nobody is known by such a word
        self._parts: Mapping[str, str] = words.get("parts", {})
        self._ways: Sequence[Mapping[str, str]] = words.get("ways", ())
        self._told: str = words.get("told", "(?!)")
        self._pronouns: Mapping[str, str] = words.get("pronouns", {})
        self._several = frozenset(words.get("several", ()))  # pronouns that nobody needs to have been named for
        self._articles: Mapping[str, str] = words.get("articles", {})
        self._no_words, self._aside = pattern(words, "no_words"), pattern(words, "aside")
        self._behind = Rewrites(words.get("behind", ()), self._parts).written
        sounds: Mapping[str, str] = words.get("sounds", {})
        self._sounds = {they: re.compile(name, re.IGNORECASE) for they, name in sounds.items()}
        forms: Mapping[str, Mapping[str, str]] = words.get("forms", {})
        self._direct = {they: Rewrites(words.get("direct", ()), form).written for they, form in forms.items()}
        self._asked = {they: Rewrites(words.get("asked", ()), form).written for they, form in forms.items()}
        self._joint = re.compile(words.get("joint", "(?!)"), re.IGNORECASE)
        self._goes_on = [re.compile(filled(way, self._parts), re.IGNORECASE) for way in words.get("goes_on", ())]
        self._modals: Mapping[str, str] = words.get("modals", {})
        self._rather = pattern(words, "rather")
        self._of_names = lru_cache(HOUSES)(self._compiled)

    def read(self, text: str, names: Names, *, others: bool = False) -> WordsForAnother | None:
        """Return what a text passes on, and to whom; `None` where it passes nothing on to anybody of this house.

        `others`: more people than one were spoken of just before.
        """
        for way, pattern_of in zip(self._ways, self._of_names(names), strict=False):
            match = pattern_of.fullmatch(text.strip(_MARKS).replace("’", "'"))
            if match is None or (not way.get("asks") and self._no_words.match(match["text"])):
                continue
            who, given = match["who"].casefold(), match.groupdict()
            article = self._articles.get((given.get("article") or "").casefold(), "")
            there = (given.get("there") or "").casefold()
            elsewhere = there or given.get("upstairs")  # "tell them upstairs …": whoever is there
            they = "" if elsewhere and who in self._several else self._pronouns.get(who, "")
            called = () if they else self._joint.split(match["who"])
            people = tuple(
                filter(None, (self._person(one, names, bool(way.get("left") or way.get("asks"))) for one in called))
            )
            room = "" if they or people else self._room_of(who, names)
            called_there = (one.name for one in names.rooms if there in map(str.casefold, one.all_names))
            room = room or next(called_there, "") if there else room
            if not (they or people or room or elsewhere):
                continue
            words, named_room = self._without_asides(match["text"], names)
            if not words and not given.get("again"):
                words, named_room = match["text"], ""
            gender = they or article or self._sounding(people)
            safe = len(people) < 2 and not (others and not they) and bool(people or they)
            words = self._said_to(words, gender, people, names, asks=bool(way.get("asks"))) if safe else words
            words = self._behind(words).strip(" ,;")
            if words or given.get("again"):
                direct = words[:1].upper() + words[1:] if way.get("asks") and words.endswith("?") else words
                where, left = named_room or room, bool(way.get("left"))
                first, before = given.get("first") or "", bool(given.get("before"))
                return WordsForAnother(people, direct, who if they else "", where, left, first, before)
        return None

    def told_before(self, request: str, names: Names) -> str:
        """Return what somebody asked whether it was told: "has anyone told Marcus tea's at seven"; "" for all else."""
        match = self._of_names(names)[-1].fullmatch(request.strip(_MARKS).replace("’", "'"))
        return match["text"] if match else ""

    def goes_on(self, text: str) -> str:
        """Return more words for who was told something just before: "and say it's getting cold"; "" for all else."""
        spoken = text.strip(_MARKS).replace("’", "'")
        for way in self._goes_on:
            if (match := way.fullmatch(spoken)) and not self._no_words.match(match["text"]):
                given = match.groupdict()
                they = (given.get("they") or "").casefold()
                words = self._behind(self._direct[they if they in self._direct else ""](match["text"])).strip(" ,;")
                return self._modals[given["modal"].casefold()].format(words) if given.get("modal") else words
        return ""

    def put_right(self, text: str, message: str) -> str:
        """Return what was told with one thing in place of another: "no, not ten, twenty"; "" where that is no part."""
        match = self._rather.fullmatch(text.strip(_MARKS))
        if match is None:
            return ""
        given = match.groupdict()
        left = next((one for name, one in given.items() if name.startswith("left") and one), "")
        rest = next((one for name, one in given.items() if name.startswith("rest") and one), "")
        place = re.compile(rf"\b{re.escape(left)}\b", re.IGNORECASE)
        return place.sub(lambda _: rest, message, count=1) if left and place.search(message) else ""

    # ── for whom ────────────────────────────────────────────────────────────────────────────────────

    def _compiled(self, names: Names) -> Sequence[re.Pattern[str]]:
        people = sorted({*names.people, *(other for other, _ in names.called), *self._kin}, key=len, reverse=True)
        one = "|".join(map(re.escape, people)) or "(?!)"
        places = sorted({name for room in names.rooms for name in room.all_names}, key=len, reverse=True)
        rooms = "|".join(map(re.escape, places)) or "(?!)"
        who = filled(self._parts.get("who", "{one}"), {**self._parts, "one": one, "rooms": rooms})
        every = [*(way["says"] for way in self._ways), self._told]
        return [re.compile(filled(way, {**self._parts, "who": who}), re.IGNORECASE) for way in every]

    def _person(self, called: str, names: Names, known: bool) -> str:
        """Return who is called so; of kin whom nobody knows, the word itself, unless they have to be `known`."""
        is_kin = called.casefold() in self._kin and not known
        return names.person(called) or (called[:1].upper() + called[1:] if is_kin else "")

    @staticmethod
    def _room_of(who: str, names: Names) -> str:
        """Return the room of a few who have one together: of "the twins" the twins' room."""
        room = room_of(spelled(who)[-1], names)
        return room.name if room else ""

    def _sounding(self, people: Sequence[str]) -> str:
        """Return which pronoun surely stands for a name by its sound; "" where both may."""
        return next((they for they, name in self._sounds.items() if people and name.search(people[0])), "")

    # ── what they hear ──────────────────────────────────────────────────────────────────────────────

    def _without_asides(self, text: str, names: Names) -> tuple[str, str]:
        """Return words without what is said of whom they are for, and the room that is named in that."""
        room = ""
        while aside := self._aside.search(text):
            rooms = [
                one.name for one in names.rooms if any(name.casefold() in aside[0].casefold() for name in one.all_names)
            ]
            room = rooms[0] if rooms else room
            text = text[: aside.start()] + text[aside.end() :]
        return text.strip(" ,;"), room

    def _said_to(self, text: str, they: str, people: Sequence[str], names: Names, *, asks: bool) -> str:
        """Return words as they are said to the person themselves."""
        words = {word.strip(_MARKS).removesuffix("'s") for word in text.split()}
        if any((known := names.person(word)) and known not in people for word in words):
            return text if not asks else self._asked.get("", lambda one: one)(text)
        rewritten = self._asked if asks else self._direct
        return rewritten[they if they in rewritten else ""](text) if rewritten else text
