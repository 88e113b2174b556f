"""Read what is wanted of the devices of this house in any order of words: "fan on in the bedroom, full blast". Pure.

A grammar of templates knows sentences; people say words in any order, leave the verb out, and add why they want it. A
frame has three places: an action, its targets, and a value. A sentence is cut into clauses; a clause fills a frame only
when *every* word of it is known, as a name of this house or as a word of the language's file, so that nothing is acted
on by half. A clause with other words is an aside ("I'm on the phone") or makes the whole sentence none of a command
("Mum says …"): which of both, the language's file says. Nothing that negates, reports or addresses somebody else is in
these files, and such a sentence is therefore never acted on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from atlas.understanding import durations, moments
from atlas.understanding.devices import Arguments
from atlas.understanding.frame_deeds import (
    KIND_OF_ACT,
    STEPS,
    Frame,
    FrameTarget,
    action_of,
    amounts,
    changed,
    deeds,
    joined,
    most_by,
    refused,
)
from atlas.understanding.frame_targets import QUANTITIES, Targets
from atlas.understanding.frame_words import Lexicon, Token
from atlas.understanding.home_tools import accepted
from atlas.understanding.names import NOBODY, NamedDevice, Names
from atlas.understanding.patterns import IN_MEMORY, Rewrites, pattern
from atlas.understanding.slots import Command

LONGEST_CHARACTERS = 200
MOST_CLAUSES = 8
MOST_COMMANDS = 6
LONGEST_TAG = 3  # words behind what is asked, as "isn't it" or "do you know"
_NAMING = ("device", "kind", "room", "floor", "quantity", "nickname", "refers", "word")  # of words that only name
MOTION = ("sensor", "motion", False)  # what tells whether somebody moves about
_STATE_OF = {"on": "on", "off": "off", "open": "open", "close": "closed", "lock": "locked", "unlock": "unlocked"}


@dataclass(frozen=True, slots=True)
class Clause:
    """Characters `start` up to `end` of a sentence; an aside says why something is wanted, or how it is."""

    start: int
    end: int
    aside: bool

    def holds(self, places: Sequence[int]) -> bool:
        """Tell whether any of these places of the sentence is in the clause."""
        return any(self.start <= at < self.end for at in places)


class Frames:
    """The words of one language, for what is wanted of devices. `digits` writes out numbers as digits."""

    def __init__(self, words: Mapping[str, Any], digits: Callable[[str], str]) -> None:
        self._digits = digits
        self._rewrites = Rewrites(words.get("rewrites", ()))
        self._plain = lru_cache(IN_MEMORY)(self._plainly)
        parts: Mapping[str, str] = words.get("parts", {})
        self.without_idioms = Rewrites(words.get("idioms", ()), parts).written  # "put the kettle on" in plain words
        self._guesses = Rewrites(words.get("guesses", ()), parts)
        self.publicly = Rewrites(words.get("public", ())).written  # in the words of the public grammar
        self._rejected = pattern(words, "rejected")
        self._aside = pattern(words, "asides")
        self._joint = re.compile(words.get("joints", r"[,.;!?]+"), re.IGNORECASE)
        self._question = pattern(words, "questions")
        self._either = pattern(words, "either")  # "on or off" asks, and wants neither
        self._unlookable = pattern(words, "unlookable")
        self._hints = [(re.compile(text, re.IGNORECASE), hint) for text, hint in words.get("hints", ())]
        self._delay = pattern(words, "delays")
        self._music = [re.compile(text, re.IGNORECASE) for text in words.get("music", ())]
        self._polite = re.compile(words.get("polite", ""), re.IGNORECASE)
        self._at: str = words.get("clock", "")  # the word before an hour
        self._nameless = pattern(words, "nameless")
        self._today = pattern(words, "today")
        self._warmth = pattern(words, "warmth")
        self._setting_asked = pattern(words, "setting_asked")
        self._tail = pattern(words, "tails")
        self._motion = pattern(words, "motion")
        self._comparative = pattern(words, "comparatives")
        self._to = pattern(words, "to")
        self._house = frozenset(words.get("house", ()))
        self._kin = frozenset[str](words.get("kin", ()))
        self._told_of = frozenset[str](words.get("told_of", ()))
        self._reason = pattern(words, "reasons")
        self._here = pattern(words, "here")
        self.lexicon = Lexicon(words)
        self._targets = Targets(words)

    # ── the whole sentence ──────────────────────────────────────────────────────────────────────────

    def read(self, text: str, names: Names, room: str = "", before: Sequence[str] = ()) -> tuple[Command, ...]:
        """Return the commands that `text` is, for the devices in `names`, said in `room`; none for anything else.

        `before`: names of the devices that were just spoken of, which "it" and words without a device mean.
        """
        if len(text) > LONGEST_CHARACTERS or not names.devices:
            return ()
        words, seconds = self._undelayed(self._plain(text))
        if seconds is None or self._either.search(words):
            return ()
        clauses = [clause for piece in self._joint.split(words) if (clause := piece.strip())]
        if not clauses or len(clauses) > MOST_CLAUSES or self._is_to_somebody(clauses, names):
            return ()
        frames: list[Frame] = []
        spoken_of = [device for device in names.devices if device.name in before]
        antecedent = [FrameTarget(device.kind, {"device": device.name}, device.shape) for device in spoken_of]
        places: list[Token] = []  # that an aside names
        hinted: tuple[Command, ...] = ()
        for clause in clauses:
            if not frames and (music := self._wants_music(clause, names, room)):
                return (music,)
            match = self._question.match(clause)
            tokens = None if match else self._clause(self._unaddressed(clause), names)
            if tokens and all(token.category == "person" for token in tokens):
                continue  # the house was spoken to as well
            if tokens is None:
                if hinted := hinted or self._hinted(clause, names, room):
                    continue
                aside = self.lexicon.known_tokens(clause, names)
                if self._rejected.search(clause) or not (self._aside.match(clause) or (frames and not _is_deed(aside))):
                    return ()
                if not frames:  # "the lamp is too bright, dim it", but not "turn it off, there's no water in it"
                    named = [token for token in aside if token.category != "quantity"]  # "papers everywhere"
                    antecedent = self._targets.of(named, names, room)[0] or antecedent
                places = [token for token in aside if token.category == "room"] or places
                continue
            tokens = [*tokens, *self._kind_spoken_of(tokens, spoken_of)]
            if any(token.value == "every" for token in tokens):
                tokens = self._in_here(clause, tokens, room) or tokens  # "alle Lampen hier"
            if not any(token.category in ("room", "floor") for token in tokens):
                tokens = [*tokens, *places]  # "it's too warm in the bedroom, turn the heating down"
            frame = self._frame(tokens, names, room)
            if frame is None:
                return ()
            if frame.wants and frame.empty and frames:
                frames[-1].wants = True  # "a little light in the hall, please"
            if not frame.empty and not (frame.refers and not frame.actions and not frame.values):
                frames.append(frame)
        commands = tuple(self._commands(joined(frames), antecedent, names)) if frames else hinted
        if not seconds:
            return commands
        return tuple(command.later(seconds=seconds) for command in commands)

    @staticmethod
    def _kind_spoken_of(tokens: Sequence[Token], spoken_of: Sequence[NamedDevice]) -> list[Token]:
        """Return the kind that was spoken of, for a place in which something is to be done: "off in the hall"."""
        kinds, categories = {(one.kind, one.shape) for one in spoken_of}, {token.category for token in tokens}
        if len(kinds) != 1 or categories & {"device", "kind"} or not categories & {"room", "floor", "nickname"}:
            return []
        return [Token("kind", (*kinds.pop(), len(spoken_of) > 1), "")]

    def refused(self, text: str, names: Names, room: str) -> tuple[Command, ...]:
        """Return a deed that `text` wants of something to which it cannot be done; its tool says what can be."""
        if len(text) > LONGEST_CHARACTERS or not names.devices:
            return ()
        for clause in self._joint.split(self._plain(text)):
            tokens = None if self._question.match(clause) else self._clause(self._unaddressed(clause.strip()), names)
            frame = self._frame(tokens, names, room) if tokens else None
            if frame and not deeds(frame, names) and (made := refused(frame)):
                return tuple(made)
        return ()

    def is_unclear(self, text: str, names: Names) -> bool:
        """Tell whether `text` wants something of a device and says no more than "it": which one must be asked."""
        if len(text) > LONGEST_CHARACTERS or not names.devices:
            return False
        tokens = self.lexicon.tokens(self._unaddressed(self._plain(text).strip(" ,.!?")), names) or []
        kinds = {token.category for token in tokens}
        return bool(kinds & {"action", "fraction", "unit"}) and "refers" in kinds and not kinds & {"device", "kind"}

    def _clause(self, clause: str, names: Names) -> list[Token] | None:
        """Return what a clause says, without what it is good for: "… for the film", "… before I go"."""
        tokens = self.lexicon.tokens(clause, names)
        for tail in reversed(list(self._tail.finditer(clause)) if tokens is None else []):
            before = self.lexicon.tokens(clause[: tail.start()], names)
            if before and _is_deed(before):
                return before
        return tokens

    def _undelayed(self, words: str) -> tuple[str, int | None]:
        """Return words without "in ten minutes", and how long that is; `None` for what is more than one delay."""
        lengths = durations.find(words)
        if not lengths:
            return words, 0
        before = self._delay.search(words[: lengths[0].start])
        if len(lengths) > 1 or before is None:
            return words, None
        return f"{words[: before.start()]} {words[lengths[0].end :]}".strip(" ,"), lengths[0].seconds

    def is_delayed(self, before: str) -> bool:
        """Tell whether a length of time after these words says when: "in", "after"."""
        return bool(self._delay.search(before))

    def knows_all(self, text: str, names: Names) -> bool:
        """Tell whether every word of a text is a name of this house or one of the language's for deeds."""
        pieces = [piece for one in self._joint.split(self._plain(text)) if (piece := one.strip())]
        return all(self._clause(self._unaddressed(one), names) is not None for one in pieces)

    def is_nameless(self, text: str, names: Names) -> bool:
        """Tell whether the name of the only thing that is spoken of is forgotten: "the doodah"."""
        return bool(self._nameless.search(text)) and not self.names_one(text, names)

    def asks(self, text: str) -> bool:
        """Tell whether a text is a question: by its first words, or by its end."""
        return text.rstrip().endswith("?") or bool(self._question.match(self._plain(text)))

    def is_today(self, when: str) -> bool:
        """Tell whether words say no more than that it is for today, which any wish is."""
        return bool(self._today.fullmatch(when))

    def only_asks(self, text: str) -> bool:
        """Tell whether a sentence ends as a question, and is no polite way to want something."""
        return text.rstrip().endswith("?") and not self._polite.search(text)

    def is_question(self, text: str) -> bool:
        """Tell whether a sentence begins as a question, and is no polite way to want something."""
        return bool(self._question.match(self._plain(text))) and not self._polite.search(text)

    def is_statement(self, text: str) -> bool:
        """Tell whether a sentence neither begins nor ends as a question."""
        return not (text.rstrip().endswith("?") or self.is_question(text))

    def politely(self, text: str, names: Names, room: str) -> tuple[Command, ...]:
        """Return what a sentence wants that sounds like a question: "you can open the curtains, please?"."""
        if not text.rstrip().endswith("?") or not self._polite.search(text):
            return ()
        return self.read(text, names, room)

    def question(self, text: str, names: Names, room: str = "") -> Command | None:
        """Return the look at this house that answers `text`; `None` when it asks for no device's state."""
        if len(text) > LONGEST_CHARACTERS or not names.devices:
            return None
        words = self._plain(text).rstrip(" ?.!")
        if self._unlookable.search(words) or self.is_to_somebody(words, names):
            return None
        clauses = self._joint.split(words)
        places: Sequence[Token] = ()
        for at, clause in enumerate(clauses):
            tokens = self.lexicon.tokens(clause, names, asking=True)
            if tokens and all(token.category in ("room", "floor", "word") for token in tokens):
                places = tokens  # "big bedroom, how warm is it?"
                continue
            tokens = self._in_here(words, tokens or [], room) or tokens
            if tokens and not any(token.category in ("room", "floor", "device") for token in tokens):
                tokens = [*places, *tokens]
            rest = " ".join(clauses[at + 1 :]).split()
            marked = text.rstrip().endswith("?") and len(rest) <= LONGEST_TAG  # "the radio's on, can you hear me?"
            begins = self._question.match(clause.strip())
            asks = begins or marked or (not rest and self._question.search(clause.strip()))
            if tokens and asks and (look := self._look(tokens, names, room)):
                return self._as_set(words, look, tokens, names)
        # To look is harmless: who asks in many words is answered as well.
        if not (self._question.search(words) or self._either.search(words)) or self._rejected.search(words):
            return None
        known = self.lexicon.known_tokens(words, names)
        look = self._look(self._in_here(words, known, room) or known, names, room, sure=False)
        return look and self._as_set(words, look, known, names)

    def _in_here(self, words: str, tokens: Sequence[Token], room: str) -> list[Token]:
        """Return tokens with the speaker's room, where words say "in here" and no other place."""
        placed = any(token.category in ("room", "floor", "device") for token in tokens)
        here = tokens and room and not placed and self._here.search(words)
        return [*tokens, Token("room", room, room)] if here else []

    # ── what was learnt to be meant (parser.py) ────────────────────────────────────────────────────────

    def deed(
        self,
        act: str,
        text: str,
        named: Sequence[Token],
        query: str,
        names: Names,
        room: str,
        same: Mapping[str, Any] = MappingProxyType({}),
    ) -> tuple[Command, ...]:
        """Return the commands for an act on the devices that these tokens name; none when it cannot be done to them.

        `same`: what the same act was done with just before, for "the office as well".
        """
        words = self._plain(text)
        tokens = self.lexicon.known_tokens(words, names)
        beside = self._beside(words, named, names)
        act = changed(act, tokens) if self._says_by_how_much(words) else act
        values = amounts(act, tokens, same)
        doing = Token("action", action_of(act), act)
        targets, place = self._targets.of([*named, *beside, doing], names, room)
        if act == "query":
            where = targets[0].arguments if targets else {"room": place} if place else {}
            return (Command("home.play", accepted("home.play", {"query": query, **where})),) if query else ()
        steps = [token.value for token in tokens if token.value in ("warmer", "cooler")]
        if values is None and act == "kelvin" and targets and steps:
            act, values = steps[0], {}  # "could it be a warmer sort of white"
        if values is None:
            return ()
        action = [action_of(act)] if {*values} <= {"by"} else []
        if not targets and (kind := KIND_OF_ACT.get(act)):
            targets = self._targets.of([*beside, Token("kind", (kind, "", False), kind), *named], names, room)[0]
        able = [one for one in targets if deeds(Frame(action, [one], dict(values)), names)]
        if targets and not able:
            return ()
        return tuple(deeds(Frame(action, able, dict(values), room=place), names))

    def _beside(self, words: str, named: Sequence[Token], names: Names) -> list[Token]:
        """Return the words that say how many or which, but those of a clause that tells of something else."""
        beside: list[Token] = []
        for clause in self.clauses(words):
            spoken = words[clause.start : clause.end]
            known = self.lexicon.known_tokens(spoken, names)
            if self.lexicon.tokens(spoken, names) is None and not {one.text for one in known} & {
                one.text for one in named
            }:
                continue  # "the fan on full? everything is steaming up"
            beside += [one for one in known if one.category in ("quantity", "nickname")]
        return beside

    def look_at(self, text: str, named: Sequence[Token], names: Names, room: str) -> tuple[Command, ...]:
        """Return the looks at the devices that these tokens name; none when none is known to answer."""
        tokens = self.lexicon.known_tokens(self._plain(text), names)
        beside = [token for token in tokens if token.category in ("quantity", "nickname", "ask")]
        state, ask = _state_of(tokens), _ask_of(tokens)
        measure = _first(tokens, "measure") or ("temperature" if self._warmth.search(text) else "")
        targets, place = self._targets.of([*named, *beside], names, room)
        if self._setting_asked.search(text):
            named = named if targets or named else [Token("kind", ("climate", "", False), "")]
            of_a_floor = any(one.category == "floor" for one in named)
            named = [
                replace(one, value=(*one.value[:2], True)) if of_a_floor and one.category == "kind" else one
                for one in named
            ]
            targets, place = self._targets.of([*named, *beside], names, room)
            heatings = (_look_at(target, "", "", "") for target in targets if target.kind == "climate")
            if made := tuple(self._as_set(text, one, [*named, *tokens], names) for one in heatings):
                return made[:MOST_COMMANDS]
        if not targets and self._motion.search(text):
            targets, place = self._targets.of([*named, *beside, Token("kind", MOTION, "")], names, room)
        if targets and targets[0].kind == "climate" and "device" not in targets[0].arguments and not state:
            measure, place = "temperature", str(targets[0].arguments.get("room", place))
            targets = targets if {"everything", "floor"} & {*targets[0].arguments} else []
        compared = [token.value for token in named if token.category == "room"] if measure and not targets else []
        if len(compared) > 1:  # "is it colder in the bedroom than in the study"
            return tuple(Command("home.state", {"measure": measure, "room": one}) for one in compared[:MOST_COMMANDS])
        if not targets:
            return (Command("home.state", {"measure": measure, **_where(tokens, place, room)}),) if measure else ()
        return tuple(_look_at(target, measure, state, ask) for target in targets[:MOST_COMMANDS])

    def _as_set(self, words: str, look: Command, tokens: Sequence[Token], names: Names) -> Command:
        """Return a look at the warmth as one at what it is to be, where that is asked: "what is the heating set to"."""
        given = look.arguments
        heats = {one.name for one in names.devices if one.kind == "climate"}
        of_heating = given.get("kind") == "climate" or given.get("device") in heats
        of_heating = of_heating or given.get("measure") == "temperature"
        if look.tool != "home.state" or not of_heating or not self._setting_asked.search(words):
            return look
        where = {key: value for key, value in given.items() if key in ("device", "room", "floor", "everything")}
        several = any(one.category == "kind" and one.value[2] for one in tokens)
        placed = any(one.category in ("room", "floor") for one in tokens)
        where = {"everything": True} if several and not placed and "device" not in where else where
        kind = {} if "device" in where else {"kind": "climate"}
        return Command("home.state", {**kind, **where, "measure": "target"})

    # ── words ───────────────────────────────────────────────────────────────────────────────────────

    def _plainly(self, text: str) -> str:
        return self._digits(self._rewrites.written(" ".join(text.replace("’", "'").split())))

    def guessed(self, text: str) -> str:
        """Return a text as it was likely meant, where it leaves something open: "in ten, turn it off"; "" else."""
        guess = self._guesses.written(text)
        return guess if guess != text else ""

    def _unaddressed(self, clause: str) -> str:
        """Return a clause without the word that speaks to the house: "good night, house"."""
        words = clause.split()
        while words and words[-1].casefold() in self._house:
            words.pop()
        while words and words[0].casefold() in self._house:
            words.pop(0)
        return " ".join(words)

    def lowers(self, text: str) -> bool:
        """Whether a sentence makes something less, by any of its words: "dim the lamp to twenty"."""
        tokens = self.lexicon.known_tokens(self._plain(text), NOBODY)
        steps = [STEPS[one.value] for one in tokens if one.category == "action" and one.value in STEPS]
        return bool(steps) and all(one < 0 for one in steps)

    def _says_by_how_much(self, words: str) -> bool:
        """Whether a number is what something is changed by: "two degrees warmer", not "up to 22"."""
        return bool(self._comparative.search(words)) and not self._to.search(words)

    def clauses(self, text: str) -> list[Clause]:
        """Return the clauses of a text, in order."""
        joints = [*((one.start(), one.end()) for one in self._joint.finditer(text)), (len(text), len(text))]
        starts = [0, *(end for _, end in joints)]
        pieces = [(start, end) for start, (end, _) in zip(starts, joints, strict=False) if text[start:end].strip()]
        return [Clause(start, end, self._is_aside(text[start:end])) for start, end in pieces]

    def _is_aside(self, clause: str) -> bool:
        """Whether a clause begins as one that says why, and is no more of the wish: "… and to thirty percent"."""
        plain = self._plain(clause.strip()).strip()
        if not self._aside.match(plain):
            return False
        tokens = self.lexicon.tokens(plain, NOBODY) or []
        return not any(one.category in ("number", "fraction", "unit", "colour", "kelvin") for one in tokens)

    def wish(self, text: str) -> str:
        """Return the last clause that is no aside, where there are several: what is wanted after somebody says why."""
        clauses = self.clauses(text)
        wanted = [one for one in clauses if not one.aside]
        return text[wanted[-1].start : wanted[-1].end].strip() if len(clauses) > 1 and wanted else ""

    def first_clause(self, text: str) -> str:
        """Return what is wanted before somebody says why: "is it locked? I heard something"; "" without an aside."""
        joint = self._joint.search(text)
        rest = text[joint.end() :].strip() if joint else ""
        return text[: joint.start()].strip() if joint and rest and self._aside.match(rest) else ""

    def without_asides(self, text: str, names: Names) -> str:
        """Return what is wanted without what else is said: "ok, I'm in, shut it" is "shut it"; "" when that is all.

        What is said first and names something is no aside: it says what is meant by "it".
        """
        pieces = self.pieces(text)
        if not 1 < len(pieces) <= MOST_CLAUSES or any(map(self._rejected.search, pieces)):
            return ""
        if "?" in text or self._question.match(pieces[-1]):
            return ""
        wanted: list[str] = []
        for piece in pieces:
            plain = self._plain(piece)
            tokens = self.lexicon.known_tokens(plain, names)
            names_one = any(one.category in ("device", "kind", "room", "floor", "person", "nickname") for one in tokens)
            only_names = names_one and self.lexicon.tokens(plain, names) is not None  # "turn it up, the radio"
            if not self._aside.match(piece) or _is_deed(tokens) or only_names or (names_one and not wanted):
                wanted.append(piece)
        return ", ".join(wanted) if 0 < len(wanted) < len(pieces) else ""

    def without_reason(self, text: str) -> str:
        """Return a text without its last clause, where that wants nothing done: "a bit more, Mia's asleep"; else ""."""
        joint = next(reversed([*self._reason.finditer(text.rstrip(" .!"))]), None)
        clause = text[joint.end() :] if joint else ""
        plain = self._plain(clause.strip())
        if joint is None or " " not in plain or self.wants_a_deed(plain) or self._question.match(plain):
            return ""
        tokens = self.lexicon.known_tokens(plain, NOBODY)
        values = any(one.category in ("number", "fraction", "unit", "colour", "kelvin", "wants") for one in tokens)
        return "" if values else text[: joint.start()].strip()

    def has_value(self, text: str) -> bool:
        """Whether a text holds a number, a time or a measure."""
        tokens = self.lexicon.known_tokens(self._plain(text), NOBODY)
        return bool(moments.find(text)) or any(one.category in ("number", "unit") for one in tokens)

    def pieces(self, text: str) -> list[str]:
        """Return the clauses of a text between its marks, and before and behind "because"."""
        return [piece for one in self._reason.split(text) if (piece := one.strip())]

    def is_deed(self, text: str, names: Names) -> bool:
        """Tell whether every word of a text is known, and something is to be done with something: "blinds up"."""
        plain = self._plain(text)
        tokens = self.lexicon.tokens(plain, names) or []
        categories = [token.category for token in tokens if token.category not in ("word", "wants", "refers")]
        verb = "action" in (categories[:1] + categories[-1:]) or bool({*categories} & {"fraction", "unit", "colour"})
        return verb and _is_deed(tokens) and not self._question.match(plain)  # "the sound on the telly" has no verb

    def names_one(self, text: str, names: Names) -> bool:
        """Whether any word names a device or a kind of them."""
        tokens = self.lexicon.known_tokens(self._plain(text), names)
        return any(token.category in ("device", "kind") for token in tokens)

    def says_here(self, text: str) -> re.Match[str] | None:
        """Return the words of a text that mean the room in which they are said."""
        return self._here.search(text)

    def named(
        self, words: str, like: Sequence[NamedDevice], names: Names, room: str, *, many: bool = False
    ) -> Sequence[FrameTarget]:
        """Return the devices that all of some words name; without a kind, those of the kind that `like` are of.

        "The hall", "upstairs", "the big one", "the one in here"; none when a word is not known or says more than that.
        """
        plain = self._plain(words)
        tokens = self.lexicon.tokens(plain, names, asking=any(one.kind == "sensor" for one in like)) or []
        tokens = [one for one in tokens if one.value != 1.0]  # "the big one"
        if not tokens or not all(one.category in _NAMING for one in tokens):
            return ()
        kinds = {(one.kind, one.shape) for one in like}
        if any(one.category == "room" for one in tokens):
            tokens = [one for one in tokens if one.category != "floor"]  # "upstairs in the bedroom"
        places = [one for one in tokens if one.category in ("room", "floor")]
        if self._here.search(plain) and room and not places:
            tokens.append(Token("room", room, room))
        if not any(one.category in ("device", "kind") for one in tokens):
            if len(kinds) != 1 or not any(one.category in ("room", "floor", "nickname") for one in tokens):
                return ()
            tokens.append(Token("kind", (*kinds.pop(), many), ""))
        return self._targets.of(tokens, names, room)[0]

    def nearby(self, tokens: Sequence[Token], names: Names, room: str) -> list[Token]:
        """Return nouns as they are meant in a room: see `Targets.nearby`."""
        return self._targets.nearby(tokens, names, room)

    def devices_in(self, words: str, names: Names, room: str) -> set[str]:
        """Return the names of the devices that some words name one by one."""
        targets = self._targets.of(self.lexicon.known_tokens(self._plain(words), names), names, room)[0]
        return {str(one.arguments["device"]) for one in targets if "device" in one.arguments}

    def wants_a_deed(self, words: str) -> bool:
        """Whether some word says what is to be done with something."""
        return any(one.category == "action" for one in self.lexicon.known_tokens(self._plain(words), NOBODY))

    def only_names(self, words: str, names: Names) -> bool:
        """Whether all of some words name devices, kinds of them or places."""
        tokens = self.lexicon.tokens(self._plain(words), names) or []
        kinds = {one.category for one in tokens if one.value != 1.0}  # "the one in the kitchen"
        return bool(kinds & {"device", "kind", "room", "floor"}) and kinds <= {*_NAMING}

    def places_alone(self, words: str, names: Names) -> frozenset[str]:
        """Return the rooms that some words name, where they name no device and no kind of them."""
        tokens = self.lexicon.known_tokens(self._plain(words), names)
        if any(one.category in ("device", "kind") for one in tokens):
            return frozenset()
        floors = {one.value for one in tokens if one.category == "floor"}
        rooms = {one.value for one in tokens if one.category == "room"}
        return frozenset(rooms | {one.name for one in names.rooms if one.floor in floors})

    def rooms_in(self, words: str, names: Names) -> frozenset[str]:
        """Return the rooms that some words name."""
        tokens = self.lexicon.known_tokens(self._plain(words), names)
        return frozenset(one.value for one in tokens if one.category == "room")

    def is_to_somebody(self, text: str, names: Names) -> bool:
        """Whether a sentence begins or ends with somebody's name, and is not for the house."""
        clauses = [clause for piece in self._joint.split(text) if (clause := piece.strip())]
        return len(clauses) > 1 and self._is_to_somebody(clauses, names)

    def calls_somebody(self, text: str, names: Names) -> bool:
        """Whether a clause of a text is somebody's name alone: "hurry up, Ben, …"."""
        people = {person.casefold() for person in names.people}
        return any(clause.strip().casefold() in people for clause in self._joint.split(text))

    def _is_to_somebody(self, clauses: Sequence[str], names: Names) -> bool:
        """Whether it begins or ends with somebody's name: then they are spoken to, unless the house is as well."""
        people = {person.casefold() for person in names.people} | {
            device.name.casefold() for device in names.devices if device.kind == "person"
        }
        spoken = [clause.casefold() for clause in clauses]
        first, second, *_ = [*spoken[0].split(), ""]
        called = first in people and second not in self._told_of  # "Anna asked me to lock up" is told of her
        return not {*" ".join(spoken).split()} & self._house and (
            called or not {spoken[0], spoken[-1]}.isdisjoint(people | self._kin)
        )

    # ── one clause ──────────────────────────────────────────────────────────────────────────────────

    def _frame(self, tokens: Sequence[Token], names: Names, room: str) -> Frame | None:
        """Return what the words of a clause say; `None` when they do not fit each other."""
        frame = Frame()
        number: float | None = None
        by = clocked = False
        more = self._says_by_how_much(" ".join(token.text for token in tokens))
        warms = any(token.value in ("warmer", "cooler", "degrees") for token in tokens)
        for at, token in enumerate(tokens):
            match token.category:
                case "action":
                    frame.actions.append(token.value)
                case "colour" | "kelvin":
                    frame.values[token.category] = token.value
                case "fraction":
                    frame.values["percent"] = token.value
                case "number":
                    if at + 1 < len(tokens) and tokens[at + 1].category == "kind":
                        continue  # "the two lights"
                    if number is not None:
                        return None
                    number = token.value
                    by = more and number <= most_by("temperature" if warms else "")
                    clocked = at > 0 and tokens[at - 1].text == self._at
                    by = by or (at > 0 and tokens[at - 1].value == "by")
                case "unit":
                    if number is None:
                        return None
                    frame.values["by" if by else token.value] = number
                    number = None
                case "refers":
                    frame.refers = True
                case "wants":
                    frame.wants = True
                case "person":
                    return None
        if number is not None and clocked and not {*frame.actions} <= {"up", "down"}:
            return None  # "the heating on at seven" is no temperature
        if number is not None:
            frame.values["by" if by else "number"] = number
        frame.targets, frame.room = self._targets.of(tokens, names, room)
        return frame

    def _commands(self, frames: Sequence[Frame], antecedent: Sequence[FrameTarget], names: Names) -> Iterator[Command]:
        made: list[Command] = []
        for frame in frames:
            targets = frame.targets or (list(antecedent) if frame.refers or frame.values or frame.actions else [])
            commands = deeds(replace(frame, targets=targets), names)
            if not commands and targets is not frame.targets and not frame.refers:
                commands = deeds(frame, names)  # "louder", after the light
            if not commands:
                return
            made += commands
            antecedent = targets or antecedent
        if len(made) <= MOST_COMMANDS:
            yield from made

    def _hinted(self, words: str, names: Names, room: str) -> tuple[Command, ...]:
        """Return what somebody wants who only says how it is: "it's a bit dark in here", "I'm freezing"."""
        for way, hint in self._hints:
            if heard := way.search(words):
                if "device" in heard.groupdict():
                    device = self.lexicon.tokens(heard["device"], names) or ()
                    targets = self._targets.of(device, names, room)[0]
                    return tuple(deeds(Frame([hint["action"]], targets), names)) if targets else ()
                named = heard.groupdict().get("room") or ""
                token = self.lexicon.name(named, names) if named else None
                where = token.value if token and token.category == "room" else room
                if named and token is None:
                    return ()
                kind: str = hint["kind"]
                target = {"kind": kind}
                of_it = [one for one in names.devices if one.kind == kind]
                if where and any(one.room == where for one in of_it):
                    target["room"] = where
                elif kind == "climate" and len(of_it) == 1:
                    target = {"device": of_it[0].name}
                elif where and not (kind == "climate" and of_it):
                    return ()
                return tuple(deeds(Frame([hint["action"]], [FrameTarget(kind, target)]), names))
        return ()

    def _wants_music(self, clause: str, names: Names, room: str) -> Command | None:
        """Return what shall be played, where: "play some Queen in the kitchen", "Bluey on the telly"."""
        for way in self._music:
            if not (heard := way.fullmatch(clause)) or self.lexicon.tokens(heard["query"], names) is not None:
                continue
            where = heard.groupdict().get("where") or ""
            tokens = self.lexicon.tokens(where, names) if where else []
            targets, place = self._targets.of(tokens or [], names, room)
            if where and (tokens is None or not (place or [one for one in targets if one.kind == "media"])):
                continue
            named = targets[0].arguments if targets else {"room": place} if place else {}
            return Command("home.play", accepted("home.play", {"query": heard["query"].strip(), **named}))
        return None

    # ── looking ─────────────────────────────────────────────────────────────────────────────────────

    def _look(self, tokens: Sequence[Token], names: Names, room: str, *, sure: bool = True) -> Command | None:
        """Return the question that known words ask; when some are not known, one that leaves no doubt."""
        state, measure, ask = _state_of(tokens), _first(tokens, "measure"), _ask_of(tokens)
        people = [token.name for token in tokens if token.category == "person"]
        if people and sure:
            asks = ask in ("where", "") or state == "home"
            return Command("presence.where", {"person": people[0]}) if asks else None
        targets, alone = self._targets.of(tokens, names, room)
        if measure and not targets and sure:
            where = _where(tokens, alone, room)
            floors = [token.value for token in tokens if token.category == "floor"]
            return Command("home.state", {"measure": measure, **(where if not floors else {"floor": floors[0]})})
        if not targets and ask == "how" and sure:
            return _look_around(tokens)
        if not targets or not (sure or state or measure):
            return None
        target = targets[0]
        if not state and (unheated := _place_without(target, names)):  # "what's the temperature outside"
            return Command("home.state", {"measure": "temperature", "room": unheated})
        arguments: Arguments = dict(target.arguments)
        if measure and _may_measure(target, measure):
            arguments["measure"] = measure
        if state:
            arguments["value"] = state
        if "device" not in arguments and (quantity := ask if ask in ("any", "all", "which", "how_many") else ""):
            arguments["quantity"] = quantity
        if not state and not measure and ask not in ("how", "what", "which", "any", "is"):
            return None
        return Command("home.state", arguments)


def _where(tokens: Sequence[Token], place: str, here: str) -> Arguments:
    """Return where something is measured: in the place that is named, everywhere, or where the speaker is."""
    if any(one.category == "quantity" and one.value == "everywhere" for one in tokens):
        return {"everything": True}
    return {"room": place or here} if place or here else {}


def _look_around(tokens: Sequence[Token]) -> Command | None:
    """Return the question how a room or a floor is, and nothing in it: "how's the bedroom"."""
    places = [token for token in tokens if token.category in ("room", "floor")]
    if len(places) != 1 or any(token.category not in ("room", "floor", "ask", "word") for token in tokens):
        return None
    return Command("home.state", {places[0].category: places[0].value})


def _look_at(target: FrameTarget, measure: str, state: str, ask: str) -> Command:
    if (target.kind == "sensor" and "device" in target.arguments) or not _may_measure(target, measure):
        measure = ""  # it says the one thing that it measures
    quantity = ask if "device" not in target.arguments and ask in QUANTITIES else ""
    extra = {"measure": measure, "value": state, "quantity": quantity}
    return Command("home.state", {**target.arguments, **{name: value for name, value in extra.items() if value}})


def _place_without(target: FrameTarget, names: Names) -> str:
    """Return the room of heating that is not named and that this room has none of; "" of all else."""
    place = str(target.arguments.get("room", ""))
    heated = any(device.kind == "climate" and device.room == place for device in names.devices)
    return place if target.kind == "climate" and "device" not in target.arguments and not heated else ""


def _may_measure(target: FrameTarget, measure: str) -> bool:
    """Whether such a thing can know a measure: an iron has no thermometer, so how it is says enough."""
    return target.kind in ("climate", "sensor") or measure not in ("temperature", "humidity")


def _state_of(tokens: Sequence[Token]) -> str:
    """Return the state that some words ask about: "open", "on"."""
    doing = (_STATE_OF[t.value] for t in tokens if t.category == "action" and t.value in _STATE_OF)
    return _first(tokens, "state") or next(doing, "")


def _ask_of(tokens: Sequence[Token]) -> str:
    """Return what is asked of things: of how many, where some word says so, before whether it is so of one."""
    asks = [token.value for token in tokens if token.category == "ask"]
    return next((one for one in asks if one in QUANTITIES), asks[0] if asks else "")


def _first(tokens: Sequence[Token], category: str) -> str:
    return next((token.value for token in tokens if token.category == category), "")


def _is_deed(tokens: Sequence[Token]) -> bool:
    """Whether these words want something done with something."""
    kinds = {token.category for token in tokens}
    return bool(kinds & {"action", "fraction", "colour", "number"}) and bool(kinds & {"device", "kind", "refers"})
