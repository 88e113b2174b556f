"""A question → the facts that answer it; facts that merely share words with it do not. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from atlas.understanding.patterns import filled

LONGEST_CHARACTERS = 200  # a longer question is conversation
LEAST_CHARACTERS = 3  # of a word that may have an ending
MOST_FACTS = 3  # of one answer; the latest
_WORD = re.compile(r"\w+(?:'\w+)?")


class StatedFact(Protocol):
    """Something that was told, in its words."""

    @property
    def text(self) -> str:
        """The words."""
        ...


F = TypeVar("F", bound=StatedFact)


@dataclass(frozen=True, slots=True)
class FactQuestion:
    """What somebody asks for, and in which words."""

    kind: str
    words: tuple[str, ...]
    light: frozenset[str]  # words that neither the question nor the fact must share with the other
    definite: bool  # "the passport", "my passport", "Anna's passport": one that both know
    any_of: tuple[str, ...]  # what "a" stands before: all of a kind, and nobody's own
    private: bool = False  # nobody can know it but who was told: "where did I put …", "the plumber's number"


@dataclass(frozen=True, slots=True)
class _Told:
    """A fact, taken apart at its verb."""

    about: tuple[str, ...]  # the words before it; none of "I put" and "we keep"
    says: tuple[str, ...]  # its own and those behind it
    rest: str  # the same, as it was told
    introduced: bool  # by "the", "my" or "a"


class Answering:
    """How one language asks for what it was told.

    A fact answers a question that has all the words of what the fact is about, when it has all the words of the
    question, and more: a time where that is asked for, a place, a number. Whoever asks about cars in general, or about
    another's car, gets no answer from "my car is red".
    """

    def __init__(self, tables: Mapping[str, Any]) -> None:
        words = tables["answering"]
        kinds: Mapping[str, Mapping[str, Any]] = words["kinds"]
        self._lead = re.compile(rf"(?:(?:{'|'.join(words['lead'])})(?!\w)[ ,]*)*")
        self._asks = {name: re.compile(rf"(?:{kind['asks']})\b") for name, kind in kinds.items()}
        self._holds = {name: re.compile(kind.get("holds", ""), re.IGNORECASE) for name, kind in kinds.items()}
        self._light = {name: frozenset(kind.get("light", "").split()) for name, kind in kinds.items()}
        self._topical = {name for name, kind in kinds.items() if kind.get("topical")}
        self._private = re.compile("|".join(filled(one, words["private_parts"]) for one in words["private"]))
        self._not_about = re.compile(rf"\b(?:{words['not_about']})\b")
        self._same = [(re.compile(text), to) for text, to in words["same"]]
        self._small = frozenset(words["small"].split())
        self._definite = re.compile(rf"\b(?:{words['definite']})\b|{words['owned']}")
        self._introduced = re.compile(rf"(?:{words['definite']}|{words['indefinite']})\b", re.IGNORECASE)
        self._any = re.compile(rf"\b(?:{words['indefinite']}) (.*)")
        self._ending = re.compile(words["endings"])
        self._verb = re.compile(rf"{tables['fact']}|^[^:?]{{1,60}}:(?= )", re.IGNORECASE)

    def question(self, text: str) -> FactQuestion | None:
        """Return what `text` asks; `None` when nothing that somebody told could answer it."""
        if len(text) > LONGEST_CHARACTERS:
            return None
        plain = " ".join(re.sub(r"[^\w' ]+", " ", text.lower().replace("’", "'")).split())
        plain = self._lead.sub("", plain, count=1)
        for kind, asks in self._asks.items():
            if match := asks.match(plain):
                rest = plain[match.end() :]
                question = None if self._not_about.search(rest) else self._of(kind, rest)
                return replace(question, private=True) if question and self._private.fullmatch(plain) else question
        return None

    def speaks_of(self, text: str, question: FactQuestion) -> bool:
        """Tell whether `text` has a word of what is asked about."""
        return self._any_in(set(question.words) - question.light, self._words(text))

    def answers(self, question: FactQuestion, facts: Iterable[F]) -> Sequence[F]:
        """Return the facts that answer `question`, in their order. Each costs a tenth of a millisecond.

        Nothing is kept of them: whoever has one forgotten has it forgotten here too.
        """
        fitting = [
            fact
            for fact in facts
            if (stated_fact := self._taken_apart(fact.text)) and self._answers(question, stated_fact)
        ]
        return fitting[-MOST_FACTS:]

    def _of(self, kind: str, rest: str) -> FactQuestion | None:
        if kind == "named" and (verb := self._verb.match(rest.strip())) and verb.end() < len(rest.strip()):
            return None  # it tells something
        words, light = self._words(rest), self._light[kind]
        if kind == "whether" and (times := {word for word in words if self._holds["when"].fullmatch(word)}):
            kind, light = "when", self._light["when"] | times  # whether it is on Friday, it says by saying when it is
        any_of = self._any.search(rest)
        definite = bool(self._definite.search(rest))
        if not words or (kind == "what" and not definite and len(words) == 1):
            return None  # "what is love" asks about the world
        return FactQuestion(kind, words, light, definite, self._words(any_of[1])[:1] if any_of else ())

    def _answers(self, question: FactQuestion, fact: _Told) -> bool:
        known = (*fact.about, *fact.says)
        if not self._all(set(question.words) - question.light, known) or not self._any_in(question.words, known):
            return False
        if self._any_in(question.any_of, fact.about or fact.says) or (
            question.kind in self._topical and not fact.about
        ):
            return False
        if question.kind == "who" and fact.about and self._all(question.words, fact.says):
            return self._all(fact.says, question.words)  # "who is our dentist" of "Mario is our dentist"
        if not self._all(set(fact.about) - question.light, question.words):
            return False
        if fact.about and fact.introduced and not question.definite and question.kind != "when":
            return False
        more = question.kind == "whether" or not self._all(known, question.words)
        return more and bool(self._holds[question.kind].search(fact.rest))

    def _taken_apart(self, text: str) -> _Told | None:
        match = self._verb.match(text)
        if match is None:
            return None
        about = match[0] if match[0].endswith(":") else match[0].rpartition(" ")[0]
        rest = text[len(about) :].rstrip(" .!")
        return _Told(self._words(about), self._words(rest), rest, bool(self._introduced.match(text)))

    def _words(self, text: str) -> tuple[str, ...]:
        """Return the words that say something."""
        plain = re.sub(r"[^\w' ]+", " ", text.lower().replace("’", "'"))
        for pattern, to in self._same:
            plain = pattern.sub(to, plain)
        return tuple(word for word in _WORD.findall(plain) if word not in self._small)

    def _all(self, some: Iterable[str], among: Sequence[str]) -> bool:
        return all(any(self._alike(word, other) for other in among) for word in some)

    def _any_in(self, some: Iterable[str], among: Sequence[str]) -> bool:
        return any(self._alike(word, other) for word in some for other in among)

    def _alike(self, one: str, other: str) -> bool:
        """Tell whether two words are one but for an ending: "bin" and "bins", "park" and "parked"."""
        short, long = sorted((one, other), key=len)
        return one == other or (
            len(short) >= LEAST_CHARACTERS
            and long.startswith(short)
            and self._ending.fullmatch(long, len(short)) is not None
        )
