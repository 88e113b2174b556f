"""Tells apart tasks that are named in one breath, and until when they are due: "fix the tap and ring Ben". Pure.

"Buy milk and eggs" is one task, and so is "clean the kitchen, the hall and the bath": what follows must be a doing too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.understanding import moments
from atlas.understanding.parser import Parse
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

ADD = "tasks.add"
MOST_TASKS = 8


class SeveralTasks:
    """How one language names tasks; without a table each wish is one task, of nobody's."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self._comma, self._joint = re.compile(r"\s*[,;]\s*"), pattern(words, "joint")
        self._doing, self._bare = pattern(words, "doing"), pattern(words, "bare")
        self._until = pattern(words, "until")

    def told_apart(self, commands: Sequence[Command], parse: Parse) -> tuple[Command, ...]:
        """Return the commands, where they add one task, as one for each that the sentence names."""
        if [one.tool for one in commands] != [ADD] or parse.act != ADD or not parse.commands:
            return tuple(commands)
        given = commands[0].arguments
        title = str((commands[0] if "due" in given else parse.commands[0]).arguments["title"])  # "…, due Friday"
        titles = self._each(title, {parse.text[one.piece.start :] for one in parse.pieces if one.label == "B-T"})
        if len(titles) < 2:
            return tuple(commands)
        return tuple(replace(commands[0], arguments={**given, "title": one}) for one in titles)

    def due(self, commands: Sequence[Command], text: str) -> tuple[Command, ...]:
        """Return commands, where they add tasks, with the one day until which a text says that they are due."""
        days = [one for one in moments.find(text) if {part.kind for part in one.parts} <= {"day", "clock"}]
        ends = [(str(lead[0]), one.text) for one in days if (lead := self._until.search(text[: one.start]))]
        if len(ends) != 1 or any(one.tool != ADD or one.arguments.get("due") for one in commands):
            return tuple(commands)
        [(before, day)] = ends
        phrase = re.compile(rf"[\s,:;]*{re.escape(f'{before}{day}')}[\s,:;]*", re.IGNORECASE)
        titles = [phrase.sub(" ", str(one.arguments["title"])).strip() for one in commands]
        return tuple(
            replace(one, arguments={**one.arguments, "title": title, "due": day}) if title else one
            for one, title in zip(commands, titles, strict=True)
        )

    def _each(self, title: str, begun: set[str]) -> list[str]:
        """Return the doings in a title; one alone where a part of it is none. `begun`: where one surely begins."""
        pieces = [self._bare.sub("", piece).strip() for piece in self._comma.split(title)]
        *first, last = filter(None, pieces)
        joint = self._joint.search(last)
        if joint:
            both = [last[: joint.start()].strip(), last[joint.end() :].strip()]
            surely = first or any(one.startswith(both[1]) for one in begun)
            pieces = [*first, *both] if surely or self._doing.fullmatch(both[0]) else [*first, last]
        else:
            pieces = [*first, last]
        if 1 < len(pieces) <= MOST_TASKS and all(self._doing.fullmatch(one) for one in pieces):
            return pieces
        return [title]
