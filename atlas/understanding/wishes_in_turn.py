"""Reads several wishes of one turn one after the other, each as if those before it were done already. Pure.

"Everything off in here, and in the hall too" is two turns said in one breath: what the second leaves out stands in the
first, as it would if the first had been answered meanwhile. So a turn is cut where a joint stands, the first part is
read as a turn of its own, and the second behind a made exchange in which the first was done. It counts only where the
reading of the whole lost one of them, and never for what is forbidden, reported, corrected or put on a list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from atlas.conversation import Message, ToolCall
from atlas.understanding.command_traits import only_look, opens_up
from atlas.understanding.coverage import undoes_itself
from atlas.understanding.dialogue_turn import SpokenTurn, Understand
from atlas.understanding.home_tools import CLEANS, TARGETS
from atlas.understanding.meaning import TurnMeaning
from atlas.understanding.names import Names
from atlas.understanding.patterns import act_pattern, pattern
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import Command

LONGEST_CHARACTERS = 200
MOST_JOINTS = 3
MOST_OTHERS = 1  # deeds of one wish on anything but devices
_MARKS = " ,.;:!?"
_ONE_BY_ONE = ("home.", "later.do", "alarms.set", "reminders.add", "timers.start")  # deeds that do not mix


class WishesInTurn:
    """How one language joins wishes; one without a table never does. `wanted` reads a part of a turn. Immutable."""

    def __init__(self, words: Mapping[str, Any], sentences: SentenceReader, wanted: Understand) -> None:
        self._joint, self._leaves, self._unless = (pattern(words, one) for one in ("joint", "leaves", "unless"))
        self._no_wish = [act_pattern(sentences.grammar.tables, one) for one in ("conditions", "unwanted", "forbidden")]
        self._too, self._likewise = pattern(words, "too"), pattern(words, "likewise")
        self._of_another = act_pattern(sentences.grammar.tables, "of_another")
        self._sentences = sentences
        self._wanted = wanted

    def read(self, heard: SpokenTurn, whole: TurnMeaning) -> TurnMeaning:
        """Return all wishes of a turn, where `whole` has only some of them or is a question; else `whole`."""
        text = heard.text
        joints = [*self._joint.finditer(text)]
        if not 0 < len(joints) <= MOST_JOINTS or len(text) > LONGEST_CHARACTERS:
            return whole
        left = self._leaves.fullmatch(text[: joints[0].start()].strip(_MARKS))
        if self._unless.search(text[joints[0].end() :] if left else text):
            return whole
        if whole.commands and not _are_deeds(whole.commands):
            return whole
        if any(one.search(text) for one in self._no_wish):
            return whole
        for joint in reversed(joints):
            first, second = text[: joint.start()].strip(_MARKS), text[joint.end() :].strip(" ,;:")
            if made := self._both(first, second, heard, whole):
                return made
        return whole

    def _both(self, first: str, second: str, heard: SpokenTurn, whole: TurnMeaning) -> TurnMeaning | None:
        negated, names = self._sentences.grammar.is_negated, heard.names
        if self._of_another.search(second):
            return None  # "and Marcus can open the door", "and lock it later"
        if self._leaves.fullmatch(first):  # "leave that as it is, but remind me at ten"
            beside = self._wanted(heard.saying(second))
            return beside if _are_deeds(beside.commands) and not self._likewise.search(second) else None
        if negated(first, names) or self._sentences.frames.is_to_somebody(heard.text, names):
            return None
        before = self._wanted(heard.saying(first)).commands
        if not _are_deeds(before) or self._leaves.fullmatch(second.strip(_MARKS)):
            return None
        after = self._after(first, before, second, heard)
        both = (*before, *(one for one in after if one not in before))
        if any(one.tool == CLEANS for one in before) and any(one.tool == CLEANS for one in after):
            return None  # "get the hoover out and do the kitchen" is one deed
        if not _are_deeds(after) or len(both) == len(before) or undoes_itself(both):
            return None
        lost = [one for one in both if one not in whole.commands and not _is_set_anyway(one, whole.commands)]
        return (
            replace(whole, commands=both, choices=None, reply="", half=None) if lost and _holds(both, whole) else None
        )

    def _after(self, first: str, before: Sequence[Command], second: str, heard: SpokenTurn) -> Sequence[Command]:
        """Return the deeds of a second wish: the same in another place, behind the first ones, or by itself."""
        frames, names = self._sentences.frames, heard.names
        rooms = frames.rooms_in(first, names)
        if place := self._place(second, heard):
            here = frames.says_here(first)
            there = f"{first[: here.start()]}{place}{first[here.end() :]}" if here else f"{first} {place}"
            if len(before) > 1 and not rooms and _are_deeds(deeds := self._wanted(heard.saying(there)).commands):
                return deeds
        done = replace(heard.turn, history=(*heard.turn.history, *_exchange(first, before, heard)))
        at = next(iter(rooms)) if len(rooms) == 1 and not frames.rooms_in(second, names) else ""
        if at and not frames.says_here(second):  # "in the study the blind up and the light on"
            done = replace(done, actor=replace(done.actor, room=at))
        after = self._wanted(replace(heard, turn=done).saying(second)).commands
        if not _are_deeds(after):
            after = self._wanted(replace(heard, turn=replace(done, history=())).saying(second)).commands
        return tuple(_placed(one, at) for one in after) if at else after

    def _place(self, text: str, heard: SpokenTurn) -> str:
        """Return the place that words name and nothing besides: "in the hall too"; "" for all others."""
        match = self._too.fullmatch(text.split(",")[0].strip(_MARKS))
        place = match["place"] if match else ""
        tokens = self._sentences.frames.lexicon.tokens(place, heard.names) or () if place else ()
        return place if [one.category for one in tokens if one.category in TARGETS] == ["room"] else ""


def _are_deeds(commands: Sequence[Command]) -> bool:
    """Whether commands change something, and may stand one after the other."""
    others = [one for one in commands if one.topic != "home"]
    known = all(one.tool.startswith(_ONE_BY_ONE) for one in commands) and not opens_up(commands)
    return bool(commands) and not only_look(commands) and known and len(others) <= MOST_OTHERS


def _is_set_anyway(deed: Command, commands: Sequence[Command]) -> bool:
    """Whether a deed turns on what other commands set, which turns it on as well: "on, but dim"."""
    sets = [one.arguments.get("device") for one in commands if one.tool == "home.set"]
    return deed.tool == "home.turn" and deed.arguments.get("on") is True and deed.arguments.get("device", "") in sets


def _holds(both: Sequence[Command], whole: TurnMeaning) -> bool:
    """Whether several deeds have all that was read of a turn as one."""
    return all(one in both for one in whole.commands)


def _placed(command: Command, room: str) -> Command:
    """Return a deed on a kind of devices in this room, where it names no place."""
    given = command.arguments
    is_placed = not command.tool.startswith("home.") or "kind" not in given or {*given} & {"device", "room", "floor"}
    return command if is_placed or "everything" in given else replace(command, arguments={**given, "room": room})


def _exchange(request: str, commands: Sequence[Command], heard: SpokenTurn) -> tuple[Message, ...]:
    """Return the messages of an exchange in which these commands were done."""
    calls = tuple(ToolCall(f"in_turn_{at}", one.tool, one.arguments) for at, one in enumerate(commands))
    results = (
        Message("tool", _result(one, heard.names, heard.room), call_id=call.id, at=heard.turn.at)
        for call, one in zip(calls, commands, strict=True)
    )
    request_of = Message("user", request, at=heard.turn.at)
    return request_of, Message("assistant", calls=calls, at=heard.turn.at), *results, Message("assistant", ".")


def _result(command: Command, names: Names, room: str) -> str:
    """Return what a tool answers that has done this, as a conversation keeps it."""
    given = command.arguments
    where = given.get("room", "" if {"floor", "everything"} & {*given} else room)
    rows = [
        {"name": one.name, "kind": one.kind, "room": one.room, "state": {}}
        for one in names.devices
        if one.name == given.get("device")
        or ("device" not in given and one.kind == given.get("kind") and where in ("", one.room))
    ]
    return json.dumps({"ok": True, "changed": True, "text": "", "data": {"devices": rows}})
