"""A sentence that corrects itself, or leaves out what was said before → the commands that it means. Pure.

"Turn on the kitchen, no, the hall light"; "ten, no, fifteen minutes"; "turn off the kitchen light and the hall too".
What is left out is put in again, and the whole is read as any other sentence; when it is none, nothing is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from atlas.conversation import ToolCall
from atlas.understanding import durations, moments
from atlas.understanding.dialogue import Commands, Dialogue, EarlierTurn
from atlas.understanding.grammar import MOST_COMMANDS, MOST_JOINTS, Grammar
from atlas.understanding.names import Names
from atlas.understanding.slots import Command

LONGEST_CHARACTERS = 160
MOST_SLIPS = 2  # of one sentence
_NUMBER = re.compile(rf"\b(?:\d+(?:[.:]\d+)?|{durations.UP_TO_99})\b", re.IGNORECASE)


class Wholes:
    """How one language corrects and shortens itself."""

    def __init__(self, grammar: Grammar, dialogue: Dialogue) -> None:
        tables = grammar.tables
        self._grammar = grammar
        self._dialogue = dialogue
        self._slip = re.compile(tables["slips"], re.IGNORECASE)
        self._joint = re.compile(tables["joints"], re.IGNORECASE)
        self._too = re.compile(tables["too"], re.IGNORECASE)

    def corrected(self, text: str, commands: Commands) -> tuple[Command, ...]:
        """Return what a sentence means that corrects itself; `()` when it does not, or when that is not clear."""
        if len(text) > LONGEST_CHARACTERS:
            return ()
        for slip in islice(self._slip.finditer(text), MOST_SLIPS):
            before, after = text[: slip.start()].rstrip(" ,."), text[slip.end() :].strip(" ,")
            if not before or not after or self._grammar.is_negated(before) or self._grammar.is_negated(after):
                continue
            for whole in self._put_right(before, after):
                if made := commands(whole):
                    return made
            if (made := commands(after)) and commands(before):
                return made
        return ()

    def _put_right(self, before: str, after: str) -> Iterator[str]:
        """Yield the sentence with its slip put right: what is said anew stands where its like stood."""
        first = after.split()[0].casefold()
        words = before.split()
        for at in range(len(words) - 1, 0, -1):  # "on the kitchen | the hall light", "at five | at six"
            if words[at].casefold() == first:
                yield " ".join([*words[:at], after])
                break
        old, new = [*_NUMBER.finditer(before)], _NUMBER.match(after)
        if old and new:
            rest = before[old[-1].end() :] if new.end() == len(after) else ""
            yield before[: old[-1].start()] + after + rest
        spoken_moments, anew = moments.find(before), moments.whole(after)
        if spoken_moments and anew:
            yield before[: spoken_moments[-1].start] + after + before[spoken_moments[-1].end :]
        if words[-1].casefold() in after.casefold().split():  # "milk | oat milk"
            yield " ".join([*words[:-1], after])

    def joined(self, text: str, names: Names, commands: Commands) -> tuple[Command, ...]:
        """Return the commands of a sentence that joins them, where a later one may leave out what was said."""
        if len(text) > LONGEST_CHARACTERS:
            return ()
        for joint in islice(self._joint.finditer(text), MOST_JOINTS):
            if first := commands(text[: joint.start()]):
                more = self._rest(first[-1], text[joint.end() :], names, commands)
                if more and len(first) + len(more) <= MOST_COMMANDS:
                    return (*first, *more)
        return ()

    def _rest(self, last: Command, rest: str, names: Names, commands: Commands) -> tuple[Command, ...]:
        if made := commands(rest):
            return made
        call = ToolCall("", last.tool, last.arguments)
        if more := self._dialogue.follow(rest, EarlierTurn((call,), (True,), ()), commands):
            return more
        bare = self._too.sub("", rest).strip(" .,!?")
        if one := self._dialogue.elsewhere(call, (), bare, names):
            return (one,)
        for joint in islice(self._joint.finditer(rest), MOST_COMMANDS):
            first = self._rest(last, rest[: joint.start()], names, commands)
            more = self._rest(first[-1], rest[joint.end() :], names, commands) if first else ()
            if more:
                return (*first, *more)
        return ()
