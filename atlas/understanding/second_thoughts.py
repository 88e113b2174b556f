"""Reads what takes a part of the last deed back: "not the telly, the dog likes it"; "only the lamp, I meant". Pure.

The last request touched some things, and an exception names some of them, by name, kind, room or owner. Those are put
back as they were, by the receipts of what was done, for nobody else knows how that was. What is said of the exception
itself is done to it: "leave that on", "just dim that". Days are taken out of a rule, and things off a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atlas.conversation import ToolCall
from atlas.understanding.dialogue import SCENE, UNDO, EarlierTurn, Referent
from atlas.understanding.dialogue_turn import DialogueTurn, DialogueTurns
from atlas.understanding.excepted_days import ExceptedDays
from atlas.understanding.exemptions import MOST_DEVICES, Exemptions
from atlas.understanding.meaning import TurnMeaning, leaning
from atlas.understanding.patterns import pattern
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import Command

LONGEST_CHARACTERS = 160
MOST_CLAUSES = 4
LOOKED_BACK = 3  # exchanges in which a part of what was done may be named
LETTERS_OF_A_NAME = 4  # that tell a thing from others: "Stern", of a Sternenlampe
_DEED_OF: Mapping[str, tuple[str, Mapping[str, Any]]] = {  # a state, and the deed that brings it about
    "on": ("home.turn", {"on": True}),
    "off": ("home.turn", {"on": False}),
    "open": ("home.open", {}),
    "closed": ("home.close", {}),
    "locked": ("home.lock", {}),
    "unlocked": ("home.unlock", {}),
}
_OPPOSITE = {"on": "off", "open": "closed", "locked": "unlocked"}
_OPPOSITE |= {state: other for other, state in _OPPOSITE.items()}


@dataclass(frozen=True, slots=True)
class _Exception:
    """A clause that names a part: that it is not meant, is to stay, or is alone meant."""

    left: str
    state: str = ""  # in which it is to be
    surely: bool = False  # as it was, and not as it is now
    only: bool = False  # all but this is not meant
    stays: bool = False  # it is to be left, not to be done


class SecondThoughts:
    """How one language takes a part back; a language without a table never does. Immutable."""

    def __init__(self, sentences: SentenceReader, turns: DialogueTurns, exemptions: Exemptions) -> None:
        tables = sentences.grammar.tables
        words: Mapping[str, Any] = tables.get("second_thoughts", {})
        self._sentences, self._dialogue, self._exemptions = sentences, turns.dialogue, exemptions
        self._days = ExceptedDays(tables.get("excepted_days", {}))
        self._joint, self._opens = pattern(words, "joints"), pattern(words, "opens")
        self._excepts, self._stays = [*_ways(words, "excepts")], [*_ways(words, "stays")]
        self._only, self._back = [*_ways(words, "only")], [*_ways(words, "back")]
        self._as_it_was, self._article = pattern(words, "as_it_was"), pattern(words, "article")
        self._that, self._how, self._other = (pattern(words, name) for name in ("that", "how", "other"))
        self._says_denied: str = tables["left"]["denied"]
        self._takes, self._somewhere = pattern(words, "takes"), pattern(words, "somewhere")
        self._the_other: str = words.get("the_other", "")
        self._states: Mapping[str, str] = words.get("states", {})

    def part(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what puts a part of what was done back as it was, and does what is said of it."""
        text = turn.heard.text.strip()
        clauses = [one for one in map(self._without_opening, self._joint.split(text.rstrip(" .,!"))) if one]
        if not turn.exchanges or text.endswith("?") or not 0 < len(clauses) <= MOST_CLAUSES:
            return None
        if len(text) > LONGEST_CHARACTERS or self._sentences.frames.asks(text):
            return None
        for at, clause in enumerate(clauses):
            for exception in self._read(clause):
                meant = self._days_taken_out(exception, clauses[at + 1 :], turn)
                meant = meant or self._off_the_list(exception, clauses[at + 1 :], turn)
                meant = meant or self._put_back(exception, clauses[at + 1 :], turn)
                if meant := meant or self._of_nothing(exception, clauses[at + 1 :], turn):
                    return meant
            if self._sentences.frames.wants_a_deed(clause) or self._sentences.frames.names_one(clause, turn.names):
                return None
        return None

    def means_one_somewhere(self, turn: DialogueTurn) -> bool:
        """Whether a turn wants the last deed only for one that it has no name for: "only the one on the left"."""
        clause = self._without_opening(turn.heard.text.strip(" .,!"))
        lefts = [one.left for one in self._read(clause) if one.only and not one.state]
        is_nameless = any(map(self._somewhere.fullmatch, lefts)) and turn.last.of_devices and any(turn.last.changed)
        return is_nameless and not self._sentences.frames.rooms_in(clause, turn.names)

    def _without_opening(self, clause: str) -> str:
        """Return a clause without what only opens it: "oh no, sorry"."""
        opening = self._opens.match(clause.strip())
        return clause.strip()[opening.end() :] if opening else clause.strip()

    def _read(self, clause: str) -> Iterator[_Exception]:
        """Yield the ways to read a clause that names a part."""
        for way in self._back:
            if match := way.fullmatch(clause):
                surely = self._as_it_was.search(clause) is not None
                yield _Exception(match["left"], self._state(match), surely or not self._state(match))
        for way in self._only:
            if match := way.fullmatch(clause):
                yield _Exception(match["left"], self._state(match), only=True)
        for way in self._excepts:
            if match := way.fullmatch(clause):
                yield _Exception(match["left"], surely=True)
        for way in self._stays:
            if match := way.fullmatch(clause):
                surely = self._as_it_was.search(clause) is not None
                yield _Exception(match["left"], self._state(match), surely, stays=True)

    def _state(self, match: re.Match[str]) -> str:
        groups = match.groupdict()
        return self._states.get((groups.get("state") or groups.get("first") or "").casefold(), "")

    # ── devices ─────────────────────────────────────────────────────────────────────────────────────

    def _put_back(self, exception: _Exception, rest: Sequence[str], turn: DialogueTurn) -> TurnMeaning | None:
        for exchange in turn.exchanges[:LOOKED_BACK]:
            if exchange.last and exchange.last.name == SCENE and exception.state and not exception.only:
                return self._as_said(exception, self._of_house(exception.left, turn), rest, turn, exchange)
            devices = [thing for thing in exchange.things if thing.topic == "home"]
            named = self._among(exception.left, devices, turn)
            if exception.state and exchange is turn.last and len(devices) == 1 and self._that.fullmatch(exception.left):
                named = devices  # "leave it open", of the one blind that was just closed
            if named and any(exchange.changed):
                return self._of_part(exception, named, devices, rest, turn, exchange)
        named = self._of_house(exception.left, turn) if self._as_it_was.search(turn.heard.text) else []
        return leaning((_back(named),)) if exception.surely and 0 < len(named) <= MOST_DEVICES else None

    def _of_nothing(self, exception: _Exception, rest: Sequence[str], turn: DialogueTurn) -> TurnMeaning | None:
        """Return that nothing is done to what was not touched: "not the kettle, leave that on", behind a lamp."""
        frames, last = self._sentences.frames, turn.last
        wished = {_OPPOSITE.get(_state_after(call)) for call in last.calls}
        spared = exception.surely or (exception.stays and exception.state in wished)
        names_it = frames.only_names(exception.left, turn.names)
        that = any(self._that.fullmatch(other.left) for clause in rest for other in self._read(clause))
        that = that and self._article.sub("", exception.left) != exception.left
        alone = that or not (self._wants(rest) or any(frames.only_names(clause, turn.names) for clause in rest))
        of_devices = (
            last.last is not None and last.last.name.startswith("home.") and last.last.name not in ("home.state", SCENE)
        )
        return TurnMeaning(reply=self._says_denied) if spared and of_devices and alone and (names_it or that) else None

    def _of_part(
        self,
        exception: _Exception,
        named: Sequence[Referent],
        devices: Sequence[Referent],
        rest: Sequence[str],
        turn: DialogueTurn,
        exchange: EarlierTurn,
    ) -> TurnMeaning | None:
        """Return what is done where some of the devices of a deed are named."""
        done = {state for call in exchange.calls if (state := _state_after(call))}
        otherwise = bool(exception.state) and _OPPOSITE[exception.state] in done
        if exception.state and len(named) == len(devices) > 1:
            return None  # "the lights back on": some may have been off before
        if exception.only:
            others = [one for one in devices if one not in named]
            if exception.state and exception.state not in done:
                return self._as_said(exception, named, rest, turn, exchange) if otherwise else None
            exempt = [
                one for clause in rest for other in self._read(clause) for one in self._among(other.left, others, turn)
            ]
            back = [one for one in others if one not in exempt]
            if not others or self._wants(one for one in rest if not any(self._read(one))):
                return None
            return leaning((_back(back),)) if back else TurnMeaning(reply=self._says_denied)
        if exception.state and not exception.surely:
            if exception.stays and exception.state in done and not self._wants(rest):
                return TurnMeaning(reply=self._says_denied)  # "leave it down", of the blind that was just closed
            return self._as_said(exception, named, rest, turn, exchange) if otherwise else None
        if not exception.surely and len(devices) == 1:
            return None  # "keep the lamp", of the one that was just turned on
        return self._with_rest((_back(named),), named, rest, turn, exchange)

    def _as_said(
        self,
        exception: _Exception,
        named: Sequence[Referent],
        rest: Sequence[str],
        turn: DialogueTurn,
        exchange: EarlierTurn,
    ) -> TurnMeaning | None:
        """Return the deed that brings devices into the state that is said of them."""
        tool, given = _DEED_OF[exception.state]
        deeds = tuple(Command(tool, {**given, "device": one.name}) for one in named)
        return self._with_rest(deeds, named, rest, turn, exchange) if deeds else None

    def _with_rest(
        self,
        deeds: tuple[Command, ...],
        named: Sequence[Referent],
        rest: Sequence[str],
        turn: DialogueTurn,
        exchange: EarlierTurn,
    ) -> TurnMeaning | None:
        """Return deeds with what is said of the exception itself; `None` where that is not understood."""
        commands_of = self._sentences.commands_or_learned_in(turn.names, turn.room)
        for clause in rest:
            stays = next((match for way in self._stays if (match := way.fullmatch(clause))), None)
            if stays and self._that.fullmatch(stays["left"]):
                if state := self._state(stays):
                    tool, given = _DEED_OF[state]
                    deeds = tuple(Command(tool, {**given, "device": one.name}) for one in named)
                continue
            others = [one for one in exchange.things if one.topic == "home" and one not in named]
            if others and (self._other.fullmatch(clause) or self._only_names(clause, others, turn)):
                continue  # which was done to with it
            if self._other.fullmatch(clause) and len(exchange.calls) == 1:
                call = exchange.calls[0]
                other = self._dialogue.other_one(call, self._the_other, turn.exchanges, turn.names)
                if other is None:
                    return None
                deeds = (*deeds, other)
                continue
            aside = all(one.aside for one in self._sentences.frames.clauses(clause))  # "it's still so bright"
            if self._how.search(clause) and not aside and not self._sentences.frames.wants_a_deed(clause):
                made = tuple(command for one in named for command in commands_of(f"{one.name} {clause}"))
            elif self._sentences.frames.wants_a_deed(clause):
                made = commands_of(clause)
            elif self._sentences.frames.only_names(clause, turn.names):
                return None  # "not the lamp, the fan"
            else:
                continue
            if not made:
                return None
            if not self._repeats(made, named, exchange):
                deeds = (*deeds, *made)
        return leaning(deeds)

    @staticmethod
    def _repeats(made: Sequence[Command], named: Sequence[Referent], exchange: EarlierTurn) -> bool:
        """Whether words are read as the deed that is taken back: they say why, "ich schau so gern den Meisen zu"."""
        done, devices = {_state_after(call) for call in exchange.calls} - {""}, {one.name for one in named}
        states = {_state_after(ToolCall("", one.tool, one.arguments)) for one in made}
        return states <= done and all(one.arguments.get("device") in devices for one in made)

    def _only_names(self, clause: str, others: Sequence[Referent], turn: DialogueTurn) -> bool:
        """Whether a clause says that some of the other things alone are meant: "leave that on, only the ceiling"."""
        return any(one.only and not one.state and self._among(one.left, others, turn) for one in self._read(clause))

    def _wants(self, clauses: Iterable[str]) -> bool:
        """Whether some clause wants a deed of its own."""
        return any(map(self._sentences.frames.wants_a_deed, clauses))

    def _among(self, left: str, things: Sequence[Referent], turn: DialogueTurn) -> list[Referent]:
        """Return those of some devices that words name."""
        names = {one.name for one in things}
        like = [device for device in turn.names.devices if device.name in names]
        out = {device.name for device in self._exemptions.left_of(left, like, turn.names, turn.room)}
        words = self._article.sub("", left).casefold().strip()
        alike = [device for device in like if any(_is_part(words, name) for name in device.all_names)]
        if len(alike) == 1 and len(out) == len(like):
            out = {alike[0].name}  # "just the lamp", of a lamp and a light
        if not out:
            there = [device for device in like if _is_part(words, device.room)]  # "Mia's"
            out = {device.name for device in (alike if len(alike) == 1 else there)}
        return [one for one in things if one.name in out]

    def _of_house(self, left: str, turn: DialogueTurn) -> list[Referent]:
        """Return the devices of the house that words name, one by one or by their room."""
        frames, names = self._sentences.frames, turn.names
        if not frames.only_names(left, names):
            return []
        places = frames.places_alone(left, names)
        named = frames.devices_in(left, names, turn.room)
        meant = (one for one in names.devices if one.name in named or (one.room in places and one.can))
        return [Referent("home", one.name, one.name, "device", one.kind, one.room) for one in meant]

    # ── lists and rules ─────────────────────────────────────────────────────────────────────────────

    def _off_the_list(self, exception: _Exception, rest: Sequence[str], turn: DialogueTurn) -> TurnMeaning | None:
        """Return what takes off a list what was just put on it with other things: "not the strawberries"."""
        last = turn.last.last
        if last is None or last.name != "lists.add" or not turn.last.changed[-1] or not exception.surely:
            return None
        words = self._article.sub("", exception.left).casefold().strip()
        items = [str(item) for item in last.arguments.get("items", ()) if _is_part(words, str(item))]
        if len(items) != 1 or any(len(clause.split()) < 3 for clause in rest):  # "not the eggs, cheese"
            return None
        if any(map(self._takes.search, rest)):  # "not the sugar, delete the rest": nobody knows of which list
            return TurnMeaning(reply=self._says_denied)
        given = {key: value for key, value in last.arguments.items() if key == "list"}
        return leaning((Command("lists.remove", {"items": items, **given}),))

    def _days_taken_out(self, exception: _Exception, rest: Sequence[str], turn: DialogueTurn) -> TurnMeaning | None:
        """Return the last rule without some days: "every weekday at seven", "not Wednesdays though"."""
        if not exception.surely or not self._days.are_days(exception.left) or any(map(self._days.are_days, rest)):
            return None
        last = turn.last.tried[-1] if turn.last.tried else None
        if last is None or not isinstance(last.arguments.get("when"), str):
            return None
        when = self._days.without(last.arguments["when"], exception.left)
        if not when or not turn.last.calls or not turn.last.changed[-1] or self._wants(rest):
            return TurnMeaning(reply=self._says_denied)  # of what is no rule no day can be left out
        return leaning((Command(UNDO, {}), Command(last.name, {**last.arguments, "when": when})))


def _ways(words: Mapping[str, Any], name: str) -> Iterator[re.Pattern[str]]:
    """Yield each way of a table by itself: they have groups of the same names."""
    for way in words.get(name, ()):
        yield pattern({"parts": words.get("parts", {}), name: way}, name)


def _back(things: Sequence[Referent]) -> Command:
    return Command(UNDO, {"devices": [one.name for one in things]})


def _state_after(call: ToolCall) -> str:
    """Return the state that a deed brings about; "" for none that has an opposite."""
    if call.name == "home.turn":
        return "on" if call.arguments.get("on") else "off"
    return next((state for state, (tool, _given) in _DEED_OF.items() if tool == call.name), "")


def _is_part(words: str, name: str) -> bool:
    """Whether words are a name, or one or more of its words or the beginning of one: "the washing", of a machine."""
    parts = re.findall(r"\w+", name.casefold())
    given = re.findall(r"\w+", words)
    return bool(given) and all(
        word in parts or (len(word) >= LETTERS_OF_A_NAME and any(part.startswith(word) for part in parts))
        for word in given
    )
