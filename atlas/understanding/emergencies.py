"""Reads whether somebody is in danger, hurt or ill, or wants a doctor's advice. Pure, once a language is read.

A language says it in sentences/LANGUAGE/emergency.yaml: kinds in the order of their urgency, each with the patterns
that tell it, and what only looks like one ("dying of laughter"); how people ask what to do, and say that it is over.
English is read in every house: in fear people fall back on any language; but nobody asks for advice in one that the
house does not speak, and "wart mal" is no wart. To take calm talk for an emergency costs a
sentence; to miss one may cost more. So the words of one kind decide alone, and nothing else in a sentence takes them
back but its own list of what it is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from atlas.understanding.patterns import Rewrites, filled
from atlas.understanding.templates import SENTENCES

OVER = "over"  # as if it were a kind: what is said to whoever says that nothing is the matter any more
ADVICE = ("health", "low", "vet")  # kinds that only ask for advice
LONGEST_CHARACTERS = 400  # of an utterance that are read: a longer one is a text, and none of a person in need


@dataclass(frozen=True, slots=True)
class Emergency:
    """What is the matter: a kind of emergency.yaml, and the sentences of the language in which it was told."""

    kind: str
    says: Mapping[str, str]


class EmergencyWords:
    """How some languages tell of them. Immutable."""

    def __init__(self, tables: Sequence[Mapping[str, Any]], unspoken: Sequence[Mapping[str, Any]] = ()) -> None:
        """Read all kinds in the languages of a house, and in ones unspoken there those that are no `ADVICE`."""
        spoken = [_Tongue(table) for table in tables]
        self._tongues = (*spoken, *(_Tongue(table, without=ADVICE) for table in unspoken))

    def of_kind(self, kind: str) -> Emergency:
        """Return what is the matter with whom nobody's patterns read: its kind was learnt."""
        return Emergency(kind, self._tongues[0].says)

    def read(self, text: str) -> Emergency | None:
        """Return what is the matter; `None` for everyday talk. Takes a fraction of a millisecond."""
        if len(text) > LONGEST_CHARACTERS:
            return None
        for tongue in self._tongues:
            if kind := tongue.kind(text):
                return Emergency(kind, tongue.says)
        return None

    def asks_what_to_do(self, text: str) -> bool:
        """Tell whether somebody asks what is to be done now, or for help, in any of the languages."""
        return any(tongue.asks.search(tongue.plain(text)) for tongue in self._tongues)

    def over(self, text: str) -> Emergency | None:
        """Return the end of an emergency, where somebody says that there is none or that help is coming."""
        ended = (tongue for tongue in self._tongues if tongue.over.search(tongue.plain(text)))
        return next((Emergency(OVER, tongue.says) for tongue in ended), None)

    def says_no_more(self, text: str) -> bool:
        """Tell whether that it is over is all that is said: "false alarm" cancels no alarm."""
        return any(tongue.over.fullmatch(tongue.plain(text)) for tongue in self._tongues)

    def asks_for_something_else(self, text: str) -> bool:
        """Tell whether a question has nothing to do with what was told of before it."""
        return any(tongue.beside.search(tongue.plain(text)) for tongue in self._tongues)


class _Tongue:
    def __init__(self, table: Mapping[str, Any], without: tuple[str, ...] = ()) -> None:
        self.says: Mapping[str, str] = table["says"]
        parts: Mapping[str, str] = table["parts"]
        self._rewrites = Rewrites(table["rewrites"])
        self.asks, self.over, self.beside = (_any_of(table[name], parts) for name in ("asks", "over", "beside"))
        self._never = re.compile(filled(table["never"], parts))
        self._kinds = [
            (kind["name"], _any_of(kind["patterns"], parts), _any_of(kind.get("not", ()), parts))
            for kind in table["kinds"]
            if kind["name"] not in without
        ]

    def plain(self, text: str) -> str:
        """Return the words of a text as the patterns of its language have them."""
        words = re.sub(r"[^\w' -]+", " ", text[:LONGEST_CHARACTERS].lower().replace("’", "'"))
        return self._rewrites.written(" ".join(words.split()))

    def kind(self, text: str) -> str:
        words = self.plain(text)
        if self._never.search(words):
            return ""
        return next(
            (name for name, tells, is_not in self._kinds if tells.search(words) and not is_not.search(words)), ""
        )


def _any_of(patterns: list[str] | tuple[str, ...], parts: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(rf"\b(?:{filled(one, parts)})(?!\w)" for one in patterns) or "(?!)")


def open_emergencies(*languages: str) -> EmergencyWords:
    """Return how a house of these languages is told of emergencies: in each of them, and always in English."""
    names = [name for name in dict.fromkeys((*languages, "en")) if (SENTENCES / name / "emergency.yaml").is_file()]
    files = [SENTENCES / name / "emergency.yaml" for name in names]
    tables = [yaml.safe_load(file.read_text(encoding="utf-8"))["emergency"] for file in files]
    spoken = len([name for name in names if name in languages]) or 1
    return EmergencyWords(tables[:spoken], tables[spoken:])
