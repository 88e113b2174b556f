"""Reads a sentence that corrects itself, or leaves out what was said before, into the commands it means. Pure.

"Turn on the kitchen, no, the hall light"; "ten, no, fifteen minutes"; "turn off the kitchen light and the hall too".
What is left out is put in again, and the whole is read as any other sentence; when it is none, nothing is done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice

from atlas.conversation import ToolCall
from atlas.understanding import durations, moments
from atlas.understanding.dialogue import Commands, Dialogue, EarlierTurn
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import MOST_COMMANDS, MOST_JOINTS, Grammar
from atlas.understanding.names import Names
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import Command

LONGEST_CHARACTERS = 160
MOST_SLIPS = 2  # of one sentence
Amended = Callable[[Command, str], Command | None]  # a command with what other words put right in it
_NUMBER = re.compile(rf"\b(?:\d+(?:[.:]\d+)?|{durations.UP_TO_99})\b", re.IGNORECASE)


class SelfCorrections:
    """How one language corrects and shortens itself."""

    def __init__(self, grammar: Grammar, dialogue: Dialogue, frames: Frames) -> None:
        tables = grammar.tables
        self._grammar = grammar
        self._dialogue = dialogue
        self._frames = frames
        self._slip = re.compile(tables["slips"], re.IGNORECASE)
        self._joint = re.compile(tables["joints"], re.IGNORECASE)
        self._way = re.compile(rf"\b(?:{tables['other_ways']})\b", re.IGNORECASE)
        self._anew = re.compile(rf"^(?:{tables.get('anew', '(?!)')}) +", re.IGNORECASE)
        self._too = re.compile(tables["too"], re.IGNORECASE)
        self._meant = re.compile(tables.get("meant_behind", "(?!)(?P<meant>)(?P<slip>)"), re.IGNORECASE)
        self._only = re.compile(rf"^(?:{tables.get('meant_alone', '(?!)')})\s+", re.IGNORECASE)
        self._pronoun = pattern(tables.get("acts", {}), "pronouns")

    def corrected(self, text: str, commands: Commands, amended: Amended, names: Names) -> tuple[Command, ...]:
        """Return what a sentence means that corrects itself; `()` when it does not, or when that is not clear."""
        if len(text) > LONGEST_CHARACTERS:
            return ()
        text = self._meant.sub(r", \g<slip>, \g<meant>", text)
        for slip in islice(self._slip.finditer(text), MOST_SLIPS):
            before, after = text[: slip.start()].rstrip(" ,."), text[slip.end() :].strip(" ,.!")
            if not before or not after or self._grammar.is_negated(before) or self._grammar.is_negated(after):
                continue
            after, first = self._only.sub("", after), commands(before)
            if _name_devices(first) and (meant := self._of_devices(first, after, commands, names)):
                return meant
            last = self._anew.sub("", after.rpartition(",")[2].strip())  # a reason may stand before what is meant
            counted = _NUMBER.search(last) or moments.find(last)
            for anew in dict.fromkeys((after, last) if counted else (after,)):
                for whole in self._put_right(before, anew):
                    if made := commands(whole):
                        return made
            pieces = (after, after.partition(",")[0], last)
            if len(first) == 1 and (other := next(filter(None, (amended(first[0], one) for one in pieces)), None)):
                return (other,)
            if first and (made := commands(after)):
                return made
        return ()

    def _of_devices(
        self, first: tuple[Command, ...], after: str, commands: Commands, names: Names
    ) -> tuple[Command, ...]:
        """Return deeds as they are put right: some of them, the last on another device, or another on that."""
        named = self._frames.devices_in(after, names, "")
        only_named = self._frames.only_names(after, names)
        if self._frames.wants_a_deed(after) or (named and not only_named):  # "nee, das Deckenlicht an" has no verb
            device = str(first[-1].arguments["device"])
            made = commands(after)  # "the lamp on, no, the big light on"
            made = made or (() if named else commands(self._pronoun.sub(f"the {device}", after, count=1)))
            return made if _name_devices(made) else ()
        if not named or not only_named:
            return ()
        if some := tuple(one for one in first if one.arguments["device"] in named):
            return some  # "the radio and the light off, no, just the radio"
        return ()

    def _put_right(self, before: str, after: str) -> Iterator[str]:
        """Yield the sentence with its slip put right: what is said anew stands where its like stood."""
        first = after.split()[0].casefold()
        words = before.split()
        spoken_moments, anew = moments.find(before), moments.whole(after)
        if spoken_moments and anew and spoken_moments[-1].end == len(before):  # "at half seven | seven"
            yield before[: spoken_moments[-1].start] + moments.corrected(spoken_moments[-1].text, anew)
        for at in range(len(words) - 1, 0, -1):  # "on the kitchen | the hall light", "at five | at six"
            if words[at].casefold() == first:
                if self._way.fullmatch(words[-1]) and not self._way.search(after):
                    yield " ".join([*words[:at], after, words[-1]])  # "the lights off, no, the tree"
                yield " ".join([*words[:at], after])
                break
        ways = [*self._way.finditer(before)] if self._way.fullmatch(after) else []
        if ways:  # "up | down"
            yield before[: ways[-1].start()] + after + before[ways[-1].end() :]
        in_digits, number = self._grammar.digits(before), self._grammar.digits(after)
        old, new = [*_NUMBER.finditer(in_digits)], _NUMBER.match(number)
        if old and new:
            rest = in_digits[old[-1].end() :] if new.end() == len(number) else ""
            yield in_digits[: old[-1].start()] + number + rest
        if spoken_moments and anew:
            old_moment = spoken_moments[-1]
            yield before[: old_moment.start] + moments.corrected(old_moment.text, anew) + before[old_moment.end :]
        head, _, rest = after.partition(",")
        if spoken_moments and rest and (anew := moments.whole(head)):  # "in an hour, no, two hours, to ring the school"
            old_moment = spoken_moments[-1]
            put_right = moments.corrected(old_moment.text, anew)
            yield f"{before[: old_moment.start]}{put_right}{before[old_moment.end :]} {rest.strip()}"
        if words[-1].casefold() in after.casefold().split():  # "milk | oat milk"
            yield " ".join([*words[:-1], after])

    def joint_commands(self, text: str, names: Names, commands: Commands) -> tuple[Command, ...]:
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


def _name_devices(commands: tuple[Command, ...]) -> bool:
    """Whether these are deeds, each on a device that is named."""
    return bool(commands) and all(one.tool.startswith("home.") and "device" in one.arguments for one in commands)
