"""Recognises what a turn wants of the talk itself: what was told or said before, a fresh start, help. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal

from atlas.conversation import Turn
from atlas.understanding.answering import Answering, FactQuestion
from atlas.understanding.command_traits import PAST
from atlas.understanding.dialogue import recent
from atlas.understanding.dialogue_turn import SpokenTurn
from atlas.understanding.grammar import Grammar
from atlas.understanding.slots import Command

That = Literal["", "said", "talk", "fact"]  # "forget that"; and what was meant by it: the talk, or a fact


@dataclass(frozen=True, slots=True)
class AboutAtlas:
    """What is said to a question about Atlas itself, or to talk that asks for no deed."""

    says: str
    where: tuple[tuple[str, str], ...] = ()  # what is said instead in a house that has this trait
    louder: int = 0  # by how many percent it is to speak louder; below 0, softer
    percent: int = 0  # how loud it is to speak


class TalkRequests:
    """How one language speaks of the talk. Immutable."""

    def __init__(self, grammar: Grammar) -> None:
        tables = grammar.tables
        self._grammar = grammar
        self._answering = Answering(tables) if "answering" in tables else None
        that: Mapping[That, str] = tables.get("forget_that", {})
        self._that = {name: re.compile(words, re.IGNORECASE) for name, words in that.items()}
        self._restart = re.compile(tables["restart"], re.IGNORECASE)
        self._help = re.compile(tables["help"]["asked"], re.IGNORECASE)
        about = tables.get("about", {"questions": (), "parts": {}})
        self._about = [
            (
                _compiled(one["asked"], about["parts"]),
                AboutAtlas(one["says"], tuple(one.get("where", {}).items()), one.get("louder", 0)),
                bool(one.get("behind_words")),
            )
            for one in about["questions"]
        ]

    def question(self, heard: SpokenTurn) -> FactQuestion | None:
        """Return the question that something told before may answer."""
        question = self._answering.question(heard.text) if self._answering else None
        if question is None:
            return None
        somebody = filter(heard.names.person, question.words)  # of this house, and no "Emma Watson"
        is_ours = any(not re.search(rf"\b(?i:{re.escape(one)}) [A-Z]", heard.text) for one in somebody)
        return replace(question, private=question.private or is_ours)

    def past(self, heard: SpokenTurn) -> tuple[Command, ...]:
        """Return the search or the wish to forget, of what was said, and the commands that are joined with it."""
        commands = next(filter(None, (self._grammar.commands(text, heard.names) for text in heard.readings)), ())
        return commands if any(command.tool.startswith(PAST) for command in commands) else ()

    def that(self, heard: SpokenTurn) -> That:
        """Return what is meant by a "that" which is to be forgotten; "" where nothing is."""
        plain = self._grammar.plain_words(heard.text)
        return next((name for name, words in self._that.items() if words.fullmatch(plain)), "")

    def starts_over(self, heard: SpokenTurn) -> bool:
        """Tell whether what was said before is done with: "start over"."""
        return self._is(self._restart, heard)

    def asks_for_help(self, heard: SpokenTurn) -> bool:
        """Tell whether somebody asks what can be asked for."""
        return not heard.turn.instructions and self._is(self._help, heard)

    def about(self, heard: SpokenTurn) -> AboutAtlas | None:
        """Return the answer to a question about Atlas itself; `None` for words that answer a question of its own."""
        history = heard.turn.history
        if heard.turn.instructions or (history and history[-1].text.rstrip().endswith("?")):
            return None
        for way, answer, behind_words in self._about:
            if behind_words and not _spoke_last(heard.turn):
                continue
            if words := self._match(way, heard):
                level = words.groupdict()
                return replace(answer, percent=int(level.get("percent") or 10 * int(level.get("tenths") or 0)))
        return None

    def _is(self, way: re.Pattern[str], heard: SpokenTurn) -> bool:
        return self._match(way, heard) is not None

    def _match(self, way: re.Pattern[str], heard: SpokenTurn) -> re.Match[str] | None:
        plain = self._grammar.plain_words(heard.text)
        in_digits = (self._grammar.digits(plain),) if way.groupindex else ()
        return next(filter(None, map(way.fullmatch, (self._grammar.unmarked(heard.text), plain, *in_digits))), None)


def _spoke_last(turn: Turn) -> bool:
    """Tell whether a voice goes on from words that Atlas spoke, and not from what it did to a device."""
    last = list(takewhile(lambda message: message.author != "user", reversed(recent(turn))))
    return turn.spoken and bool(last) and not any(call.name.startswith("home.") for one in last for call in one.calls)


def _compiled(way: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    """Return a pattern whose `{names}` are written out by `parts`."""
    return re.compile(re.sub(r"\{([a-z]+)\}", lambda name: parts[name[1]], way), re.IGNORECASE)
