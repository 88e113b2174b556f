"""Reads deeds that are put off, end, or wait for a timer: "when I've gone lock it, say in five minutes". Pure.

People say when something is to be done, and why then: "till I go to bed at eleven". The time that is named decides, the
reason does not. So times are masked in a sentence ("@0" a moment, "#0" a length), the words around them that only say
why or until when are cut off, and what is left is read as any sentence is. What comes of it is put off, or done now and
ended then: what was turned on goes off, and all else goes back to what it was before.

What waits for something that this house cannot tell ("when nobody is home") is asked about: a time does it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from atlas.understanding import durations, moments
from atlas.understanding.command_traits import of_home, only_look, opens_up
from atlas.understanding.dialogue import UNDO
from atlas.understanding.dialogue_turn import DialogueTurn, SpokenTurn, Understand
from atlas.understanding.lasting_deeds import EndState, ends_of, with_end
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.moments import MomentPart
from atlas.understanding.patterns import pattern
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import LATER, Command

LONGEST_CHARACTERS = 200
MOST_TIMES = 3
_TIME = re.compile(r"[@#](\d)")
_LENGTH = re.compile(r"(?P<time>#\d)")
_WITHOUT_END = frozenset({"home.lock", "home.unlock", "home.scene"})  # their end is nobody's to guess
_CLOSES = re.compile(r"[@#]\d\W*$")
_CLAUSE = re.compile(r"[,.;:!?]")
_EDGES = " ,.;:!?"


@dataclass(frozen=True, slots=True)
class SpokenTime:
    """One time in a sentence; a length has no parts."""

    words: str
    when: Mapping[str, Any]  # as later.do takes it: seconds, or the words that say when
    parts: tuple[MomentPart, ...] = ()


class TimedDeeds:
    """How one language puts deeds off and bounds them; one without a table never does. `wanted` reads the deed."""

    def __init__(self, sentences: SentenceReader, wanted: Understand) -> None:
        words: Mapping[str, Any] = sentences.grammar.tables.get("timed_deeds", {})
        self._grammar, self._frames = sentences.grammar, sentences.frames
        self._wanted = wanted
        hours = words.get("hours", {})
        hour = rf"\b(?P<lead>{hours.get('behind', '(?!)')}) (?P<hour>{moments.BARE_HOUR}|{hours.get('also', '(?!)')})"
        self._hour = re.compile(rf"{hour}(?! ?(?:%|{hours.get('not', '')}))", re.IGNORECASE)
        self._at = str(hours.get("at", ""))
        self._until, self._lasts, self._lasting_thing = (pattern(words, one) for one in ("until", "lasts", "amount_of"))
        self._not_yet, self._before, self._event = (pattern(words, one) for one in ("not_yet", "before", "event"))
        self._it, self._in_turn = pattern(words, "pronoun"), pattern(words, "in_turn")
        self._others = pattern(words, "others")
        self._at_that_time, self._past = pattern(words, "then"), pattern(words, "past")
        self._says_now, self._states = pattern(words, "says_now"), pattern(words, "states")
        self._because = pattern(words, "because")
        self._span, self._meanwhile = pattern(words, "span"), pattern(words, "meanwhile")
        self._off, self._back, self._keeps = (pattern(words, one) for one in ("off", "back", "keeps"))
        self._condition, self._comes, self._real = (pattern(words, one) for one in ("condition", "comes", "real"))
        self._explained, self._persons, self._verb = (pattern(words, one) for one in ("explained", "persons", "verb"))
        self._timer_ends, self._around = pattern(words, "timer_ends"), pattern(words, "around")
        self._moved = pattern(words, "moved")
        self._only_for, self._back_at = pattern(words, "only_for"), pattern(words, "back_at")
        self._turns_on, self._turns_off = str(words.get("turns_on", "")), str(words.get("turns_off", ""))
        self._says_when: str = words.get("says_when", "")

    # ── steps ───────────────────────────────────────────────────────────────────────────────────────

    def timed(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return deeds at the time that is named for them, or until then; `None` where no such time is."""
        text = turn.readings[0]
        if not self._says_when or len(text) > LONGEST_CHARACTERS or _TIME.search(text):
            return None
        if waits := self._for_a_timer(text, turn):
            return waits
        masked, times = ("", []) if self._others.search(text) else self._masked(text)
        if not 0 < len(times) <= MOST_TIMES:
            return None
        if turn.last.last and turn.last.last.name == LATER and self._moved.fullmatch(masked):
            return None  # "better make that an hour", of what is to be done in half an hour
        if self._before.search(masked):  # "ten minutes before we're home", and nobody knows when that is
            return self.cannot_wait(turn.heard, TurnMeaning()) or None
        if (match := self._not_yet.fullmatch(masked)) and _TIME.search(match["rest"]):
            return self._read_anew(self._it.sub(match["thing"], match["rest"], count=1), times, turn)
        ways = (self._end_of_the_last, self._from_till, self._in_turns, self._bounded, self._put_off, self._then)
        return next(filter(None, (way(masked, times, turn) for way in ways)), None)

    def asked_when(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the deed before at the time that is named now, where the house has asked for one."""
        history = turn.history
        if not self._says_when or not history or history[-1].text != self._says_when:
            return None
        _, named = self._masked(turn.text)
        rest, before = self._unbound(turn.last.request)
        when = _together([*before, *named]) if len(named) == 1 else None
        return self._later(self._deeds(rest, turn.heard), when) if rest and when else None

    def at_its_time(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return deeds for now at the one time beside which they are said: "in ten minutes then all off, please"."""
        deeds = meant.commands
        if not deeds or not of_home(deeds) or only_look(deeds) or self._others.search(heard.text):
            return meant
        masked, times = self._masked(heard.text) if self._says_when else ("", [])
        if len(times) != 1 or not {part.kind for part in times[0].parts} & {"clock", "length"}:
            return meant
        [mark] = _TIME.finditer(masked)
        if self._because.search(masked[: mark.start()]):
            return meant
        beside = self._bare(_TIME.sub(" ", _clause_at(masked, *mark.span())))
        if self._until.search(masked) or not beside or self._deeds(beside, heard).commands != deeds:
            return meant
        return self._later(meant, times[0].when) or meant

    def cannot_wait(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant; the wish for a time, where a deed waits for what this house cannot tell.

        What unlocks or opens something waits for it also where a part of the words was understood without it.
        """
        if (meant and not opens_up(meant.commands)) or not self._says_when or len(heard.text) > LONGEST_CHARACTERS:
            return meant
        rest, _ = self._unbound(heard.text)
        return TurnMeaning(reply=self._says_when) if rest and self._deeds(rest, heard) else meant

    # ── kinds of time ───────────────────────────────────────────────────────────────────────────────

    def _read_anew(self, masked: str, times: Sequence[SpokenTime], turn: DialogueTurn) -> TurnMeaning | None:
        """Return what a text does later that has its times as marks."""
        meant = self._wanted(turn.heard.saying(_TIME.sub(lambda one: times[int(one[1])].words, masked)))
        return meant if meant.commands and all(one.topic == "home" for one in meant.commands) else None

    def _end_of_the_last(self, text: str, times: Sequence[SpokenTime], turn: DialogueTurn) -> TurnMeaning | None:
        """Return the end of what was just done: "only for half an hour, mind", "and back again in an hour"."""
        last, only, back = turn.last, self._only_for.match(text), self._back_at.match(text)
        match = only or back
        if match is None or not last.calls or not all(last.changed) or len(_TIME.findall(text)) != 1:
            return None
        deeds = [Command(call.name, call.arguments) for call in last.calls]
        plain = all(one.tool == "home.play" or (one.tool == "home.turn" and one.arguments.get("on")) for one in deeds)
        if not of_home(deeds) or (len(deeds) > 1 and (back or not plain)) or {one.tool for one in deeds} & _WITHOUT_END:
            return None
        ends = (Command(UNDO, {}),) if back or not plain else ends_of(deeds)
        return self._later(TurnMeaning(commands=ends), times[_mark(_named(match, "time"))].when)

    def _from_till(self, text: str, times: Sequence[SpokenTime], turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is turned on at one time and off at another: "the lamp on from seven till nine"."""
        if not (match := self._span.search(text)) or len(times) != 2:
            return None
        deeds = self._deeds(self._bare(f"{text[: match.start()]} {text[match.end() :]}"), turn.heard).commands
        begins, ends = (times[_mark(match[name])].when for name in ("begin", "end"))
        if not deeds or not all(one.tool == "home.turn" and one.arguments.get("on") for one in deeds):
            return None
        off = (end for end in with_end(deeds, ends)[len(deeds) :])
        return TurnMeaning(commands=(*(one.later(**begins) for one in deeds), *off), leans=True)

    def _in_turns(self, text: str, times: Sequence[SpokenTime], turn: DialogueTurn) -> TurnMeaning | None:
        """Return a deed for now and its end then: "two degrees more, and at nine back again"."""
        match = self._in_turn.fullmatch(text)
        if match is None or _TIME.search(_named(match, "now")):
            return None
        deeds = self._deeds(self._bare(_named(match, "now")), turn.heard)
        when = times[_mark(_named(match, "time"))].when
        back = bool(self._back.fullmatch(_named(match, "end")))
        if not back and not all(one.tool == "home.turn" and one.arguments.get("on") for one in deeds.commands):
            return None
        return self._ended(deeds, when, "back" if back else "")

    def _for_a_timer(self, text: str, turn: DialogueTurn) -> TurnMeaning | None:
        """Return deeds at the end of a timer: "turn it off when the pasta timer goes", "… when the beans are done"."""
        match = self._timer_ends.search(text)
        if match is None:
            return None
        name = (match["name"] or match["thing"] or "").strip().casefold()
        things = [thing for exchange in turn.exchanges for thing in exchange.things]
        known = {one.name.casefold() for one in things if one.topic == "timers"}
        if match.groupdict().get("it"):  # "when they're done", behind the potatoes' timer
            its = [one.name for one in turn.last.things if one.topic == "timers"]
            if len(its) != 1:
                return None
            name = its[0].casefold()
        if match["thing"] and name not in known:
            return None  # "when the beans are done", and no timer is called so
        rest = self._bare(f"{text[: match.start()]} {text[match.end() :]}")
        when = {"timer": name or "timer"}
        if back := self._back.search(rest):  # "two degrees more, and back when the timer rings"
            return self._ended(self._deeds(self._bare(rest[: back.start()]), turn.heard), when, "back")
        deeds = self._deeds(rest, turn.heard) or self._deeds(rest, _past_the_last(turn))  # "it" is not the timer
        return self._later(deeds, when)

    def _bounded(self, text: str, times: Sequence[SpokenTime], turn: DialogueTurn) -> TurnMeaning | None:
        """Return deeds done now and ended then: "on nineteen for an hour", "till I go to bed at eleven"."""
        if match := self._lasting_thing.fullmatch(text.strip(_EDGES)):
            deeds = self._deeds(self._turns_on.format(match["thing"]), turn.heard)
            named = self._frames.names_one(match["thing"], turn.names)
            return self._ended(deeds, times[_mark(match["time"])].when) if named else None
        ends = self._back.search(text) or self._off.search(text)
        if not (match := self._until.search(text) or self._lasts.search(text) or (ends and _LENGTH.search(text))):
            return None
        mark, rest = _named(match, "time"), f"{text[: match.start()]} {text[match.end() :]}"
        clause = _clause_at(text, match.start(), match.end())
        if not _TIME.search(mark):  # "back about five, turn it down till then"
            others = [*_TIME.finditer(rest)]
            if len(others) != 1:
                return None
            mark = others[0][0]
            rest = rest.replace(_clause_at(rest, *others[0].span()), " ", 1)
        back, off = self._back.search(rest), self._off.search(rest)
        if last := back or off:
            rest = rest[: last.start()]
        keeps = self._keeps.search(rest)
        if _TIME.search(rest) or (not keeps and not self._is_of_a_deed(clause, match[0], turn)):
            return None
        when = times[_mark(mark)].when
        if keeps and not self._grammar.is_negated(rest, turn.names):
            thing = self._around.sub(" ", _named(keeps, "thing")).strip(_EDGES)
            return self._later(self._deeds(self._turns_off.format(thing), turn.heard), when)
        if self._grammar.is_negated(rest, turn.names):
            return None
        return self._ended(self._deeds(self._bare(rest), turn.heard), when, "back" if back else "off" if off else "")

    def _put_off(self, text: str, times: Sequence[SpokenTime], turn: DialogueTurn) -> TurnMeaning | None:
        """Return deeds for later, where a reason stands beside their time: "once they're asleep, like in an hour"."""
        text, comes = self._comes.subn(lambda one: f" {one['time']} ", text)
        span = self._condition_in(text)
        alone = self._explained.search(text) and _CLOSES.search(text)  # "…, say in five minutes", and no reason
        if (span is None and not comes and not alone) or self._until.search(text):
            return None
        inside = text[span[0] : span[1]] if span else ""
        rest = f"{text[: span[0]]}, {text[span[1] :]}" if span else text
        explained, spoken = self._explained.search(rest) or (span and _CLOSES.search(rest)), _TIME.findall(rest)
        if self._real.search(inside) and not explained:
            return None
        if inside and not (explained or self._persons.search(inside)):
            return None
        marks = spoken or _TIME.findall(inside)
        named = [times[int(one)] for one in marks]
        when, kinds = _together(named), {part.kind for one in named for part in one.parts}
        if when is None or ("seconds" not in when and "clock" not in kinds):
            return None  # "like for Christmas"
        if "seconds" in when and not explained and not comes:
            return None  # "half an hour after dinner"
        wish = self._bare(_TIME.sub(" ", self._explained.sub(" ", rest)))
        if not wish:
            return None
        meant = self._deeds(wish, turn.heard)
        return self._later(meant, when) if meant.commands or explained else None

    def _then(self, text: str, times: Sequence[SpokenTime], turn: DialogueTurn) -> TurnMeaning | None:
        """Return deeds for the time of something that is told before: "they come at six, so the heating on then"."""
        then = self._at_that_time.search(text)
        reason, _, wish = text[: then.start()].rpartition(",") if then else ("", "", "")
        when, kinds = _together(times), {part.kind for one in times for part in one.parts}
        if not then or not when or len(_TIME.findall(reason)) != len(times) or self._past.search(reason):
            return None
        if ("clock" not in kinds and "seconds" not in when) or self._says_now.search(reason):
            return None
        if self._states.search(wish):
            return None
        bare = self._bare(_TIME.sub(" ", reason))
        is_told = not bare or all(one.aside for one in self._frames.clauses(bare))
        if self._grammar.is_negated(text, turn.names) or not (is_told or not self._deeds(bare, turn.heard)):
            return None
        deeds = self._deeds(self._bare(f"{wish} {text[then.end() :]}"), turn.heard)
        return self._later(deeds, when) if deeds.commands else None

    # ── parts of a sentence ─────────────────────────────────────────────────────────────────────────

    def _masked(self, text: str) -> tuple[str, list[SpokenTime]]:
        """Return a text with a mark for each time, and the times; none where something is to come again and again."""
        text = self._hour.sub(lambda one: f"{one['lead']} {self._at}{one['hour']}", text)
        spans = [
            (one.start, one.end, SpokenTime(one.text, {"when": one.text}, one.parts)) for one in moments.find(text)
        ]
        if any(part.kind in ("often", "event") for _, _, one in spans for part in one.parts):
            return text, []
        lengths = durations.find_in_any_language(text)
        for at, (start, end, one) in enumerate(spans):
            inside = [length for length in lengths if start <= length.start and length.end <= end]
            if inside and [part.kind for part in one.parts] == ["length"]:
                spans[at] = (start, end, SpokenTime(one.words, {"seconds": inside[0].seconds}, one.parts))
        taken = [(start, end) for start, end, _ in spans]
        for length in lengths:
            if not any(start < length.end and length.start < end for start, end in taken):
                words = text[length.start : length.end]
                spans.append((length.start, length.end, SpokenTime(words, {"seconds": length.seconds})))
        times = sorted(spans, key=lambda one: one[0])
        masked, at = "", 0
        for number, (start, end, one) in enumerate(times[: MOST_TIMES + 1]):
            masked, at = f"{masked}{text[at:start]}{'@' if one.parts else '#'}{number}", end
        return masked + text[at:], [one for _, _, one in times]

    def _condition_in(self, text: str) -> tuple[int, int] | None:
        """Return where a text says for what a deed is to wait: up to a comma, a time, or the deed's verb."""
        if not (lead := self._condition.search(text)):
            return None
        ends = [len(text)]
        if comma := _CLAUSE.search(text, lead.end()):
            ends.append(comma.start())
        if verb := self._verb.search(text, lead.end()):
            ends.append(verb.start())
        if time := _TIME.search(text, lead.end()):
            ends.append(time.end())
        if event := self._event.match(text, lead.start()):  # "nach dem Duschen wieder kälter"
            ends.append(event.end())
        return lead.start(), min(ends)

    def _unbound(self, text: str) -> tuple[str, list[SpokenTime]]:
        """Return the deed of a text that waits for something at no time of day, and the day that is named."""
        masked, times = self._masked(text)
        if before := self._before.search(masked):
            return self._bare(f"{masked[: before.start()]}, {masked[before.end() :]}"), []
        span = self._condition_in(masked)
        if (
            span is None
            or self._meanwhile.search(masked[slice(*span)])
            or any(part.kind != "day" for one in times for part in one.parts)
            or len(times) > 1
        ):
            return "", []
        if not all(one.parts for one in times) or not self._persons.search(masked[slice(*span)]):
            return "", []
        return self._bare(_TIME.sub(" ", f"{masked[: span[0]]}, {masked[span[1] :]}")), times

    def _is_of_a_deed(self, clause: str, bound: str, turn: DialogueTurn) -> bool:
        """Whether a bound stands beside a deed, or by itself, and not in a report: "I've been cold for an hour"."""
        beside = clause.replace(bound.strip(_EDGES), " ")
        for end in (self._back, self._off):
            beside = end.sub("", beside)
        beside = self._bare(beside)
        if not beside or all(one.aside for one in self._frames.clauses(beside)):
            return not beside
        meant = self._deeds(beside, turn.heard)
        return bool(meant.commands) or (bool(meant) and self._frames.wants_a_deed(beside))

    def _bare(self, text: str) -> str:
        """Return a text without what joins it to words that were cut off."""
        text = re.sub(r"\s*,[\s,]*", ", ", " ".join(text.split())).strip(_EDGES)
        return self._around.sub("", text).strip(_EDGES)

    # ── deeds ───────────────────────────────────────────────────────────────────────────────────────

    def _deeds(self, text: str, heard: SpokenTurn) -> TurnMeaning:
        """Return what a text has done with devices now, or the question on which; nothing where it is anything else."""
        meant = self._wanted(heard.saying(text)) if text else NO_DEED
        commands = meant.commands or meant.in_question
        back = [one.tool for one in commands] == [UNDO]
        of_devices = bool(commands) and of_home(commands) and not only_look(commands)
        return meant if of_devices or (back and meant.commands) else NO_DEED

    def _later(self, meant: TurnMeaning, when: Mapping[str, Any] | None) -> TurnMeaning | None:
        """Return deeds for later; "back to normal" is the taking back of the last change."""

        def put_off(deeds: Sequence[Command]) -> tuple[Command, ...]:
            last = {"receipt": "last"}
            deeds = [Command(UNDO, last) if one.tool == UNDO else one for one in deeds]
            return tuple(one.later(**(when or {})) for one in deeds)

        return _each_way(meant, put_off) if meant and when else None

    def _ended(self, meant: TurnMeaning, when: Mapping[str, Any], end: EndState = "") -> TurnMeaning | None:
        """Return deeds for now, and their end then."""
        if not meant or not of_home((*meant.commands, *meant.in_question)):
            return None
        return _each_way(meant, lambda deeds: with_end(deeds, when, end))


def _each_way(meant: TurnMeaning, made: Callable[[Sequence[Command]], tuple[Command, ...]]) -> TurnMeaning:
    """Return what is meant with other commands: those that are certain, and those of each choice."""
    if not meant.choices:
        return TurnMeaning(commands=made(meant.commands), leans=True)
    choices = tuple(replace(one, commands=made(one.commands)) for one in meant.choices.choices)
    return TurnMeaning(choices=replace(meant.choices, choices=choices))


def _named(match: re.Match[str], name: str) -> str:
    """Return what a group caught, or its second form."""
    return str(match[name] or match.groupdict().get(f"{name}2") or "")


def _mark(text: str) -> int:
    match = _TIME.search(text)
    assert match, "it holds a time"
    return int(match[1])


def _together(times: Sequence[SpokenTime]) -> Mapping[str, Any] | None:
    """Return the one time that several say together: a day and a time of day; `None` where they say two."""
    if len(times) == 1:
        return times[0].when
    kinds = [part.kind for one in times for part in one.parts]
    whole = (
        bool(times) and all(one.parts for one in times) and len(kinds) == len({*kinds}) and {*kinds} <= {"day", "clock"}
    )
    return {"when": " ".join(one.words for one in times)} if whole else None


def _past_the_last(turn: DialogueTurn) -> SpokenTurn:
    """Return a turn as if the last exchange had not been."""
    history = turn.heard.turn.history
    begins = max((at for at, one in enumerate(history) if one.author == "user"), default=0)
    return replace(turn.heard, turn=replace(turn.heard.turn, history=history[:begins]))


def _clause_at(text: str, start: int, end: int) -> str:
    """Return the clause in which a part of a text stands."""
    begins = max((one.end() for one in _CLAUSE.finditer(text, 0, start)), default=0)
    ends = _CLAUSE.search(text, end)
    return text[begins : ends.start() if ends else len(text)]
