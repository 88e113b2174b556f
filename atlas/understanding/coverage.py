"""Finds what of a sentence a reading of it leaves out, and what it takes from a mere reason. Pure.

A deed is done at once when its reading accounts for the whole wish: each number, each time and each named thing in the
clauses that ask for it. What a reason says ("…, she's going up in a minute") is no part of the deed: there nothing need
be read, and what was read there is in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from atlas.understanding import durations
from atlas.understanding.chances import MOST_SURE
from atlas.understanding.frame_deeds import OPPOSITES
from atlas.understanding.frames import Clause, Frames
from atlas.understanding.grammar import Grammar
from atlas.understanding.names import NOBODY, NamedDevice
from atlas.understanding.parser import LabelledPiece, Parse, act_of
from atlas.understanding.patterns import pattern
from atlas.understanding.slots import LATER, Command

_TIMES = ("{WHEN}", "{DELAY}", "{DURATION}")
_COUNTED = (*_TIMES, "{N}")
_WORD = re.compile(r"[ -]\w+")
_NUMBER_WORDS = 5  # "twenty one and a half"
_NUMBER = re.compile(r"\d+(?:[.:]\d+)?")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number or a time in a sentence, and whether the commands hold it."""

    start: int
    end: int
    number: str  # as it is written in digits
    read: bool
    wanted: bool  # in a clause that asks for something
    reason: bool  # in a clause that says why


class Coverage:
    """Compares commands with the sentence that they are read from. Immutable."""

    def __init__(self, frames: Frames, grammar: Grammar) -> None:
        self._frames = frames
        self._digits = grammar.digits
        self._slip = pattern(grammar.tables, "slips")  # ", no, "
        self._opens = pattern(grammar.tables.get("second_thoughts", {}), "opens")  # "ok", "and"
        self._wish = pattern(grammar.tables["dialogue"], "wish")  # begins a request

    def amounts(self, commands: Sequence[Command], parse: Parse) -> list[str]:
        """Return the numbers and times of a sentence that commands hold, in its words."""
        amounts = self._amounts(commands, parse, self._frames.clauses(parse.text))
        return [parse.text[one.start : one.end] for one in amounts if one.read]

    def is_whole(self, commands: Sequence[Command], parse: Parse) -> bool:
        """Tell whether commands account for every amount and every thing that the wish in a sentence names."""
        clauses = self._frames.clauses(parse.text)
        amounts = list(self._amounts(commands, parse, clauses))
        return not (
            any(one.wanted and not one.read and not self._is_a_moment(one) for one in amounts)
            or any(self._left_out(commands, parse.pieces))
            or (self._are_of_a_kind(commands) and any(self._told_apart(parse, clauses)))
        )

    def takes_from_a_reason(self, commands: Sequence[Command], parse: Parse) -> bool:
        """Tell whether commands hold a number or a time that only a reason names.

        The only number of a sentence is the value that a setting needs, wherever it stands: "like a fair, fifty".
        """
        amounts = list(self._amounts(commands, parse, self._frames.clauses(parse.text)))
        sets = tuple(commands) == parse.commands and {one.tool for one in commands} == {"home.set"}
        alone = sets and len(amounts) == 1 and parse.chance >= MOST_SURE
        return not alone and self._of_a_reason(commands, amounts)

    def without_reasons(self, commands: Sequence[Command], parse: Parse) -> str:
        """Return a sentence without the clauses that only say why, and hold a number or a time."""
        clauses = self._frames.clauses(parse.text)
        reasons = [one.start for one in self._amounts(commands, parse, clauses) if one.reason]
        wanted = [one for one in clauses if not any(one.start <= at < one.end for at in reasons)]
        return ", ".join(parse.text[one.start : one.end].strip() for one in wanted)

    def only_lasts(self, commands: Sequence[Command], parse: Parse) -> bool:
        """Tell whether commands are for later, and the sentence says for how long but not when: "on for an hour"."""
        if not all(one.tool == LATER for one in commands):
            return False
        times = [one.piece for one in parse.pieces if one.piece.mask in _TIMES]
        lasting = [
            one for one in times if one.mask == "{DURATION}" and not self._frames.is_delayed(parse.text[: one.start])
        ]
        return bool(times) and len(lasting) == len(times)

    def _of_a_reason(self, commands: Sequence[Command], amounts: Sequence[Amount]) -> bool:
        wanted = {one.number for one in amounts if one.wanted}
        taken = any(one.read and one.reason and one.number not in wanted for one in amounts)
        return taken and all(one.tool.startswith(("home.", LATER)) for one in commands)

    def _amounts(self, commands: Sequence[Command], parse: Parse, clauses: Sequence[Clause]) -> Iterator[Amount]:
        """Yield the numbers and times of a sentence."""
        values = [value for command in commands for value in _flat(command.arguments)]
        words = " ".join(self._digits(one).casefold() for one in values if isinstance(one, str))
        numbers = {abs(float(one)) for one in values if isinstance(one, (int, float)) and not isinstance(one, bool)}
        named = [one.piece.start for one in parse.pieces if one.label != "O"]
        if any(one.tool.startswith("timers.") for one in commands):
            numbers |= {one / 60 for one in numbers}  # "another five", "one for five minutes and one for twelve"
        counted = list(self._counted(parse))
        devices = {str(value) for command in commands for key, value in command.arguments.items() if key == "device"}
        numbers.add(float(len(devices)))  # "lock two doors"
        numbers |= {
            float(len(given)) for one in commands for given in one.arguments.values() if isinstance(given, list)
        }
        read = [start for start, end in counted if self._is_read(parse.text, parse.text[start:end], words, numbers)]
        for start, end in counted:
            clause = next((one for one in clauses if one.start <= start < one.end), Clause(0, len(parse.text), False))
            reason = self._is_reason(clause, parse.text, (start, end), named, clauses)
            corrected = any(self._slip.search(parse.text[end:later]) for later in read if later > end)
            wanted = not reason and not corrected and self._is_wanted(clause, parse.text, (start, end), named, read)
            yield Amount(start, end, self._digits(parse.text[start:end]).casefold(), start in read, wanted, reason)

    def _is_reason(
        self, clause: Clause, text: str, span: tuple[int, int], named: Sequence[int], clauses: Sequence[Clause]
    ) -> bool:
        """Whether a clause with an amount only says why: "she's going up in a minute"."""
        if clause.holds(named) or len(clauses) == 1 or self._wish.match(text[clause.start : clause.end].strip()):
            return False
        return (clause.aside and not all(one.aside for one in clauses)) or (
            bool(named) and not self._says_only(text, clause, span)
        )

    def _is_wanted(
        self, clause: Clause, text: str, span: tuple[int, int], named: Sequence[int], read: Sequence[int]
    ) -> bool:
        """Whether an amount is a part of what is wanted: it stands beside what is named, or comes after and alone."""
        if clause.holds(named) or clause.holds(read):
            return True
        after = span[0] > min(named or read, default=0)
        return after and (not named or self._says_only(text, clause, span))

    def _says_only(self, text: str, clause: Clause, span: tuple[int, int]) -> bool:
        """Whether a clause says no more than an amount and words that any wish may have: "about twenty, please"."""
        rest = f"{text[clause.start : span[0]]} {text[span[1] : clause.end]}"
        return self._frames.lexicon.tokens(rest, NOBODY) is not None

    def _counted(self, parse: Parse) -> Iterator[tuple[int, int]]:
        """Yield where the numbers and times of a sentence are; words for one number are one."""
        last = 0
        for one in parse.pieces:
            start, end = one.piece.start, one.piece.end
            if one.piece.mask not in _COUNTED or start < last:
                continue
            if one.piece.mask == "{N}":
                end = self._end_of_number(parse.text, start, end)
            last = end
            yield start, end

    def _end_of_number(self, text: str, start: int, end: int) -> int:
        """Return where a number ends of which a piece is the first word: "thirty" of "thirty one"."""
        ends, more = [end], _WORD.match(text, end)
        while more and len(ends) < _NUMBER_WORDS:
            ends.append(more.end())
            more = _WORD.match(text, more.end())
        return next(at for at in reversed(ends) if at == end or _is_number(self._digits(text[start:at])))

    def _is_a_moment(self, amount: Amount) -> bool:
        """Whether a length is only a manner of speaking ("pause it a second"), or it is for today, as any wish is."""
        if self._frames.is_today(amount.number):
            return True
        lengths = durations.find_in_any_language(amount.number)
        return bool(lengths) and lengths[0].seconds <= 60 and not _NUMBER.search(amount.number)

    def _is_read(self, text: str, spoken: str, words: str, numbers: set[float]) -> bool:
        lengths = durations.find_in_any_language(spoken)
        if lengths and sum(one.seconds for one in durations.find_in_any_language(text)) in numbers:
            return True  # "an hour and five minutes"
        if lengths and any(one.seconds in numbers or one.seconds / 60 in numbers for one in lengths):
            return True
        if lengths and lengths[0].seconds in {one.seconds for one in durations.find_in_any_language(words)}:
            return True  # "eine halbe Stunde", which an argument has as "30 minutes"
        written = self._digits(spoken).casefold()
        digits = _NUMBER.findall(written)
        if written in words or (digits and all(one in words.split() for one in digits)):
            return True
        return any(float(one.replace(":", ".")) in numbers for one in digits)

    def _left_out(self, commands: Sequence[Command], pieces: Sequence[LabelledPiece]) -> Iterator[str]:
        """Yield the devices that are meant, as the parser has it, and that nothing is done to."""
        if not commands or any(one.topic != "home" or "query" in one.due_arguments for one in commands):
            return
        tokens = (one.piece.token for one in pieces if one.label == "X")
        meant = (token.value for token in tokens if token and token.category == "device")
        yield from (device.name for device in meant if not any(_is_of(one.due_arguments, device) for one in commands))

    @staticmethod
    def _are_of_a_kind(commands: Sequence[Command]) -> bool:
        """Whether deeds are on devices of a kind, and none of them is named."""
        given = [one.due_arguments for one in commands if one.topic == "home"]
        return any("kind" in one and "device" not in one for one in given)

    def _told_apart(self, parse: Parse, clauses: Sequence[Clause]) -> Iterator[str]:
        """Yield the words that nobody read and that tell some devices of a kind from others: "twinkly lights"."""
        for before, one in pairwise(parse.pieces):
            token = one.piece.token
            beside = not parse.text[before.piece.end : one.piece.start].strip()
            if not (one.label == "X" and token and token.category == "kind" and beside and before.piece.token is None):
                continue
            word = parse.text[before.piece.start : before.piece.end]
            clause = next((parse.text[c.start : c.end] for c in clauses if c.holds([one.piece.start])), "")
            does = any(known.category == "action" for known in self._frames.lexicon.known_tokens(clause, NOBODY))
            if self._opens.fullmatch(parse.text[: one.piece.start]):
                continue
            if before.label == "O" and does and self._frames.lexicon.tokens(word, NOBODY) is None:
                yield word


def _is_number(words: str) -> bool:
    return words.replace(".", "", 1).isdigit()


def _is_of(given: Mapping[str, Any], device: NamedDevice) -> bool:
    """Whether a device is among those that arguments name."""
    if "device" in given or "name" in given:
        return device.name in (given.get("device"), given.get("name"))
    if device.kind != "vacuum" and given.get("room", device.room) != device.room:  # it comes to the room
        return False
    return bool(given.get("kind", device.kind) == device.kind)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _flat(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _flat(one)
    else:
        yield value


def undoes_itself(commands: Sequence[Command]) -> bool:
    """Tell whether one of some deeds takes another back on the same device: then one of both was misread.

    So do two values of one setting: "it can make blue and red".
    """
    done: dict[str, set[str]] = {}
    values: dict[tuple[str, str], Any] = {}
    for command in commands:
        if "device" not in command.arguments:
            continue
        device = str(command.arguments["device"])
        done.setdefault(device, set()).add(act_of(command.tool, command.arguments))
        for name, value in command.arguments.items() if command.tool == "home.set" else ():
            if values.setdefault((device, name), value) != value:
                return True
    return any(pair <= acts for acts in done.values() for pair in OPPOSITES)
