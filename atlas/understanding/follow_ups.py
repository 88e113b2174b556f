"""Reads what is said about the last command: "no, ten minutes", "and eggs too", an answer to a question. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from atlas.conversation import Message, ToolCall
from atlas.understanding import durations, moments
from atlas.understanding.devices import Arguments
from atlas.understanding.dialogue import UNDO, Dialogue, EarlierTurn, Referent, read_result
from atlas.understanding.grammar import Grammar, Half
from atlas.understanding.names import NOBODY, Names
from atlas.understanding.patterns import pattern
from atlas.understanding.relative_moments import named_thing
from atlas.understanding.several_moments import SeveralMoments
from atlas.understanding.slots import CANNOT, Command
from atlas.understanding.spoken_tools import open_spoken_tools
from atlas.understanding.which import Places

_HOUR = re.compile(rf"\b(?:\d{{1,2}}|{durations.UP_TO_99})(?: ?[ap]m)?\b", re.IGNORECASE)

_CLAUSE = re.compile(r"[^,.;!?]+")

TOLD_LAST = "history.last"
MOST_WORDS_OF_MOMENT = 4  # that is put right at once: "at a quarter past"
PLURAL_LETTERS = 2  # at most, by which a plural is longer: "eggs", "tomatoes"
_CANCELLED = ("timers", "alarms", "reminders")  # topics of which one may stay while the others are cancelled


class FollowUps:
    """How one language corrects and continues what was just done."""

    def __init__(self, grammar: Grammar, dialogue: Dialogue) -> None:
        tables = grammar.tables
        self._grammar = grammar
        self._dialogue = dialogue
        self._table = open_spoken_tools()
        self._corrected = re.compile(tables["corrected"], re.IGNORECASE)
        self._shifts = re.compile(tables["shifts"], re.IGNORECASE)
        self._meant = re.compile(tables["meant"], re.IGNORECASE)
        self._followed = re.compile(tables["followed"], re.IGNORECASE)
        self._bare_moment = pattern(tables, "bare_moment")
        self._before_that = pattern(tables, "before_that")
        self._ends, self._fillers_behind = pattern(tables, "ends"), pattern(tables, "fillers_behind")
        self._ends_thing = pattern(tables, "ends_thing")
        self._taken_back = re.compile(tables["taken_back"], re.IGNORECASE)
        self._again = re.compile(tables["again"], re.IGNORECASE)
        self._contrast = re.compile(tables["contrast"], re.IGNORECASE)
        self._stays = pattern(tables, "stays")
        self._of_a_timer = pattern(tables, "of_a_timer")
        self._same = re.compile(tables["same_for"], re.IGNORECASE)
        self._slips = re.compile(tables["slips"], re.IGNORECASE)
        self._at_hour: str = tables.get("frames", {}).get("clock", "")
        self._another = re.compile(tables["another"], re.IGNORECASE)
        self._quarters = re.compile(tables["bare_quarters"], re.IGNORECASE)
        self._more_time = re.compile(tables["more_time"], re.IGNORECASE)
        self._left_alone = re.compile(tables["left_alone"], re.IGNORECASE)
        self._switched = re.compile(tables["switched"], re.IGNORECASE)
        self._around = re.compile(tables["around_an_answer"], re.IGNORECASE)
        self._left: Mapping[str, str] = tables["left"]
        self._in_minutes: str = tables["in_minutes"]
        self._number = re.compile(tables["a_number"], re.IGNORECASE)
        self._place = re.compile(tables["a_place"], re.IGNORECASE)
        self._lead = {
            of: re.compile(rf"^(?:{before})", re.IGNORECASE) for of, before in tables["before_the_new"].items()
        }
        self._later = re.compile(tables["later"], re.IGNORECASE)
        self._weather_at: str = tables["weather_at"]
        self._on: Mapping[str, bool] = tables["on_or_off"]
        self._places = Places(tables)
        moving: Mapping[str, Any] = tables.get("relative_moments", {})
        self._moved_to, self._moved_by = pattern(moving, "moved_to"), pattern(moving, "moved_by")
        self._sleeps_till = pattern(moving, "sleeps_till")
        a_bit, self._bit = moving.get("a_bit", ("(?!)", ""))
        self._a_bit = re.compile(a_bit, re.IGNORECASE)
        self._ways: Mapping[str, str] = moving.get("ways", {})
        self._several_moments = SeveralMoments(tables.get("several_moments", {}))

    def correction(
        self,
        text: str,
        history: Sequence[Message],
        exchanges: Sequence[EarlierTurn] = (),
        names: Names = NOBODY,
        room: str = "",
    ) -> tuple[Command, ...] | str:
        """Return the last command anew with what `text` corrects, after taking it back if it changed anything.

        What to say instead, when it was done just so; `()` for no correction.
        """
        last, changed = last_call(history)
        words = self._grammar.unmarked(text)
        if self._again.fullmatch(words) and _took_back(history):
            return (Command(UNDO, {"again": True}),)
        if last and self._taken_back.fullmatch(words):
            return self.taken_back(text, history)
        if last and changed and self._is_same_length(last, words):
            return self._so_already(words)
        match = self._corrected.match(words)
        if last is None or (match and match["moved"] and self._table.only_looks(last.name)):
            return ()
        rest = match["rest"] if match else self._grammar.unmarked(self.contrasted(text))
        alone = self._fillers_behind.sub("", words)
        is_time = moments.whole(alone) or self._quarters.fullmatch(alone)
        if not rest and changed and self._table.of(last.name).when and is_time:
            rest = alone  # "at seven tonight": "seven thirty"; "in the morning, obviously"
        if not rest:
            return ()
        of_number = changed and self._number_in(rest) is not None  # "no, eight", of what was just set to ten
        loosely = match is None or of_number or bool(self._meant.search(match["how"]))
        made = self.amended(last, rest, exchanges, names, room, loosely=loosely)
        if made is None:
            return ()
        if dict(made.arguments) == dict(last.arguments):
            return self._so_already(rest) if changed else ()
        return (Command(UNDO, {}), made) if changed else (made,)  # else something older would be taken back

    def taken_back(self, text: str, history: Sequence[Message]) -> tuple[Command, ...]:
        """Return what "forget it" takes back: the last deed, or the only thing to come that was just told of."""
        last, changed = last_call(history)
        if last is None or not self._taken_back.fullmatch(self._grammar.unmarked(text)):
            return ()
        row = self._table.of(last.name)
        if row.drops:
            return (Command(row.drops, {}),)
        words = self._grammar.unmarked(text)
        if row.timer and not row.adds and self._ends.fullmatch(words):
            return ()  # "add two minutes", "cancel it": the timer, and not the minutes
        if last.name.endswith(".change") and self._ends_thing.fullmatch(words):
            return ()  # "move the dentist to eleven", "delete it": the dentist
        return (Command(UNDO, {}),) if changed and row.undo else ()

    def amended(
        self,
        last: ToolCall,
        rest: str,
        exchanges: Sequence[EarlierTurn] = (),
        names: Names = NOBODY,
        room: str = "",
        *,
        loosely: bool = True,
    ) -> Command | None:
        """Return a call with what `rest` says in place of what it had: a time, a device, a thing, a number."""
        things = exchanges[0].things if exchanges else ()
        made = self._anew(last, rest, things)
        place = str(made.arguments.get("room", "")) if made and "device" in made.arguments else ""
        if place and place != last.arguments.get("room"):  # "not in here, in the bedroom", of this room's heating
            made = self._dialogue.elsewhere(last, things, place, names, room) or made
        if made is None and not self._grammar.is_negated(rest):
            whole = self._grammar.read(rest)
            if whole and whole.tool == last.name:
                made = whole
        made = made or self._dialogue.elsewhere(last, things, rest, names, room)
        if made is None and loosely and not self._grammar.is_negated(rest):
            made = self._other_things(last, rest) or self._other_number(last, rest)
        return made or self._dialogue.other_one(last, rest, exchanges, names)

    def one_for_another(
        self, text: str, history: Sequence[Message], exchanges: Sequence[EarlierTurn] = ()
    ) -> tuple[Command, ...]:
        """Return what was put on a list with one thing in the place of another: "not the eggs, cheese"."""
        last, changed = last_call(history)
        match = self._contrast.fullmatch(text.strip())
        if last is None or match is None or not changed or last.name != "lists.add":
            return ()
        made, items = self._other_things(last, match["rest"]), list(last.arguments.get("items", ()))
        left = (match.groupdict().get("left") or "").casefold()
        counted = [place for place, item in enumerate(items) if str(item).casefold().startswith(f"{left} ")]
        if len(counted) == 1 and (item := self._grammar.slots.with_amount(str(items[counted[0]]), match["rest"])):
            items[counted[0]] = item  # "not two, three kilo", of one of several things
            return (Command(UNDO, {}), Command(last.name, {**last.arguments, "items": items}))
        at = [place for place, item in enumerate(items) if str(item).casefold() == left]
        if made and not at and left in {thing.name.casefold() for one in exchanges[1:] for thing in one.things}:
            given = {key: value for key, value in last.arguments.items() if key == "list"}
            return (Command("lists.remove", {"items": [left], **given}), made)  # of what was put there before the last
        if made is None or len(at) != 1:
            return ()
        items[at[0] : at[0] + 1] = made.arguments["items"]
        return (Command(UNDO, {}), Command(last.name, {**last.arguments, "items": items}))

    def all_but_one(self, text: str, exchanges: Sequence[EarlierTurn]) -> tuple[Command, ...]:
        """Return the cancelling of all that was spoken of but the one that stays: "keep the pasta one"."""
        match = self._stays.fullmatch(self._grammar.unmarked(text))
        things = [one for one in exchanges[0].things if one.topic in _CANCELLED] if match and exchanges else []
        names = [thing.name.casefold() for thing in things]
        if match is None or len(things) < 2 or names.count(match["left"].casefold()) != 1:
            return ()
        rest = [thing for thing in things if thing.name.casefold() != match["left"].casefold()]
        return tuple(Command(f"{thing.topic}.cancel", {thing.argument: thing.id}) for thing in rest)

    def spares_one(self, text: str, exchanges: Sequence[EarlierTurn]) -> bool:
        """Tell whether one of some timers or alarms is to stay, also one that is not among them."""
        spoken_of = exchanges[0].things if exchanges else ()
        of_such = any(one.topic in _CANCELLED for one in spoken_of)
        return of_such and self._stays.fullmatch(self._grammar.unmarked(text)) is not None

    def timer_set_anew(self, text: str, exchanges: Sequence[EarlierTurn], names: Names) -> Command | None:
        """Return how long one of the timers just set is to run, told by its name: "make the egg one 10".

        A device that is called so is meant itself: "turn the heating to 21".
        """
        match = self._of_a_timer.fullmatch(self._grammar.unmarked(text))
        devices = (name.casefold() for one in names.devices for name in one.all_names)
        if match is None or (not match["sure"] and any(match["name"].casefold() in name for name in devices)):
            return None
        calls = (call for one in exchanges for call in one.calls if call.name == "timers.start")
        named = [call for call in calls if _is_name(match["name"], str(call.arguments.get("name", "")))]
        seconds = self._seconds(match["length"]) if named else 0
        if named and not seconds and match["sure"] and (made := self._other_number(named[0], match["length"])):
            seconds = int(made.arguments["seconds"])
        if not seconds:
            return None
        return Command("timers.add", {"name": named[0].arguments["name"], "to_seconds": seconds})

    def slips(self, text: str) -> bool:
        """Whether a text corrects itself: "upstairs, I mean the hall"."""
        return bool(self._slips.search(text))

    def put_right(self, text: str) -> str:
        """Return the moment that puts another right in one breath: "say half four, no, five"; "" for no such."""
        for slip in reversed([*self._slips.finditer(text)]):
            before, anew = text[: slip.start()], _CLAUSE.match(text, slip.end())
            last = before.rstrip(" ,.").split()
            ways = (" ".join(last[-count:]) for count in range(1, MOST_WORDS_OF_MOMENT + 1))
            if (
                anew
                and moments.whole(anew[0])
                and any(moments.whole(one) or moments.whole(f"at {one}") for one in ways)
            ):
                return anew[0]
        return ""

    def replaces(self, text: str) -> bool:
        """Whether a text says outright that something is meant instead of the last: "make it seven"."""
        match = self._corrected.match(self._grammar.unmarked(text))
        return bool(match and self._meant.search(match["how"]))

    def says_the_same(self, text: str) -> bool:
        """Whether the last is wanted for something else: "the same for Ben, but at half past"."""
        return bool(self._same.fullmatch(self._grammar.unmarked(text)))

    def contrasted(self, text: str) -> str:
        """Return what is meant in place of what is not: "not three, four" → "four"; "" for anything else."""
        match = self._contrast.fullmatch(text.strip())
        return match["rest"] if match else ""

    def moved(self, text: str, exchanges: Sequence[EarlierTurn]) -> Command | None:
        """Return what moves the one thing that was spoken of, or one that is named: "they've shifted it to Friday".

        By how much is not always said: "a bit earlier" is a quarter of an hour, and the answer names the moment.
        """
        words = self._a_bit.sub(self._bit, self._grammar.unmarked(text))
        spoken_of = next((one.things for one in exchanges[:2] if one.calls), ())
        things = [one for one in spoken_of if one.at]
        if match := self._moved_by.fullmatch(words):
            given = match.groupdict()
            if named := given["named"]:
                things = [*named_thing(named.partition(" ")[2], exchanges)[0]]
            way = self._ways.get((given.get("way") or given["behind"] or "").casefold())
            return self._moves(things, f"{given['by']} {way}") if way else None
        to = self._moved_to.search(words)
        if to is None and things and things[0].topic == "alarms":
            to = self._sleeps_till.search(words)
        new = next(filter(None, to.groupdict().values())) if to else ""
        moment = moments.whole(new) if new else None
        return self._moves(things, moment.text) if moment else None

    def shifted(self, text: str, history: Sequence[Message], exchanges: Sequence[EarlierTurn]) -> Command | None:
        """Return what moves what was just written down, or told of, by a length of time: "an hour later"."""
        last, changed = last_call(history)
        return self._shift(last, changed, self._grammar.unmarked(text), exchanges) if last else None

    def _moves(self, things: Sequence[Referent], when: str) -> Command | None:
        shift = self._table.of(f"{things[0].topic}.change").shift if len(things) == 1 else {}
        return Command(shift["tool"], {shift["which"]: things[0].id, shift["when"]: when}) if shift else None

    def _shift(self, last: ToolCall, changed: bool, text: str, exchanges: Sequence[EarlierTurn]) -> Command | None:
        """Return what "put it an hour later" does with what was just written down: it moves from where it stands.

        So it does with the one thing that was just told of.
        """
        match = self._shifts.fullmatch(self._a_bit.sub(self._bit, text))
        by = (match["by"] or match.groupdict().get("by_itself")) if match else ""
        if match is None or not by:
            return None
        if not moments.whole(by) and not self._seconds(match.groupdict().get("length") or ""):
            return None
        if not changed:
            things = exchanges[0].things if exchanges and self._table.only_looks(last.name) else ()
            moves = self._table.of(f"{things[0].topic}.change").shift if len(things) == 1 else {}
            return Command(moves["tool"], {moves["which"]: things[0].id, moves["when"]: by}) if moves else None
        shift = self._table.of(last.name).shift
        if not shift:
            return None
        names = [shift["new"], shift["name"]] if "new" in shift else [shift["name"]]
        named = next(filter(None, (last.arguments.get(name) for name in names)), "")
        return Command(shift["tool"], ({shift["which"]: named} if named else {}) | {shift["when"]: by})

    def _is_same_length(self, last: ToolCall, text: str) -> bool:
        """Whether words only say again how long what was just started lasts: "a timer for ten", "ten minutes"."""
        row = self._table.of(last.name)
        return bool(row.adds and row.length) and self._seconds(text) == last.arguments.get(row.length)

    def _so_already(self, text: str) -> str:
        """Return what is said of a last command that has what it was corrected to; a whole sentence is not repeated."""
        so: Mapping[str, str] = self._grammar.tables["so_already"]
        return so["whole"] if self._grammar.commands(text) else so["part"].format(text)

    def left_alone(self, text: str) -> str:
        """Return what is said to "never mind" and to "don't set a timer", which nothing is done for; "" to the rest."""
        if self._left_alone.fullmatch(self._grammar.unmarked(text)):
            return self._left["says"]  # nothing was done that it could take back
        return self._left["denied"] if self._grammar.denied(text) else ""

    def follow_up(
        self,
        text: str,
        history: Sequence[Message],
        exchanges: Sequence[EarlierTurn] = (),
        names: Names = NOBODY,
        room: str = "",
    ) -> Command | None:
        """Return the last command for one thing more, "and eggs too", or what "turn it off again" wants of it."""
        last, _ = last_call(history)
        words = self._grammar.unmarked(text)
        same = self._same.fullmatch(words) if last else None
        if last and same:
            return self._the_same(last, same, exchanges, names, room)
        if last is None or self._grammar.is_negated(text):
            return None
        if last.name == TOLD_LAST and self._before_that.fullmatch(words):
            return Command(TOLD_LAST, {**last.arguments, "count": int(last.arguments.get("count", 1)) + 1})
        things = exchanges[0].things if exchanges else ()
        row = self._table.of(last.name)
        to = self._switched.fullmatch(words) if row.switch else None
        if to and (to["back"] or not things):  # "off again"; "turn it off" is about the things
            on = self._on[(to["to"] or to["back"]).lower()]
            return Command(last.name, dict(last.arguments) | {row.switch: on})
        if more := self._more_time.fullmatch(self._grammar.plain_words(text)):
            seconds = self._seconds(more["more"] or more["longer"] or more["less"])
            if longer := self._longer(last, seconds, shorter=bool(more["less"])):
                return longer
        if (match := self._followed.match(words)) is None:
            return None
        rest = self._fillers_behind.sub(
            "", self._slips.split(next(part for part in match.groups() if part))[-1]
        )  # "upstairs, I mean the hall"
        if row.target and (other := self._dialogue.other_one(last, rest, exchanges, names)):
            return other
        if row.things:
            return self._other_things(last, rest, text)
        if row.more:
            return self._anew(self._exactly(last, things), self._another.sub("", rest))
        if row.target and text.rstrip().endswith("?") and (look := _look_before(exchanges)):
            last, row = look, self._table.of(look.name)  # "is it locked?" – "lock it" – "and the front door?"
        if row.target or row.room or self._table.only_looks(last.name):
            made = None if row.target and things else self._anew(last, rest)
            return made or self._dialogue.elsewhere(last, things, rest, names, room) or self._in_place(last, rest)
        return None

    def _exactly(self, last: ToolCall, things: Sequence[Referent]) -> ToolCall:
        """Return a wish with the time of day that it came to: "at seven" was this evening, and so is "every Sunday"."""
        when = self._table.of(last.name).when
        at = things[0].at.partition("T")[2] if len(things) == 1 else ""
        before = moments.find(str(last.arguments.get(when, "")))
        exact = (
            moments.whole(f"at {at}") if at and any(p.kind == "clock" for one in before for p in one.parts) else None
        )
        if exact is None:
            return last
        return replace(last, arguments={**last.arguments, when: moments.corrected(str(last.arguments[when]), exact)})

    def _the_same(
        self, last: ToolCall, same: re.Match[str], exchanges: Sequence[EarlierTurn], names: Names, room: str
    ) -> Command | None:
        """Return the last command for another device, room or person: "the same for Ben, but at half past"."""
        things, words = exchanges[0].things if exchanges else (), next(part for part in same.groups() if part).split()
        for at in range(len(words), 0, -1):  # "the bedroom | twenty one"
            rest, change = " ".join(words[:at]), " ".join(words[at:]) or same.groupdict().get("but")
            if made := self._dialogue.elsewhere(last, things, rest, names, room):
                return self._anew(ToolCall(last.id, made.tool, made.arguments), change) if change else made
        return None

    def _in_place(self, last: ToolCall, rest: str) -> Command | None:
        """Return the last command for a place that was written as a name."""
        row = self._table.of(last.name)
        return Command(last.name, dict(last.arguments) | {row.place: rest}) if row.place and rest.istitle() else None

    def dictated(self, text: str, half: Half, names: Names) -> Command | None:
        """Return the command that has `text` as its words, when any may be: unless it is a command by itself."""
        words = self._dictation(text, half, names)
        return self._done(half, half.asks["tool"], half.asks["says"], words, names) if words else None

    def _dictation(self, text: str, half: Half, names: Names) -> str:
        """Return the words that were asked for, without what only joins them to the question: "to call dad".

        "" where not any words may be, and for a command by itself.
        """
        words = self._grammar.unmarked(text)
        if half.asks.get("open") != "anything":
            return ""
        others = [one for one in self._grammar.commands(text, names) if one.tool != CANNOT]  # "call my dad"
        buys = not self._grammar.slots.names_destination(text)  # "buy stamps" may be something to do
        if any(one.tool != "lists.add" or not buys for one in others) or self._grammar.half(text, names):
            return ""
        if re.fullmatch(self._left["answers"], words, re.IGNORECASE):
            return ""
        return re.sub(f"^(?:{half.asks.get('joined', '(?!)')}) ", "", words, flags=re.IGNORECASE)

    def said_at_once(self, text: str, half: Half, names: Names) -> str:
        """Return what would have been said at once, with the answer to an open question; "" where it is none."""
        words, sentence = self._grammar.unmarked(text), self._around.sub("", self._grammar.plain_words(text))
        if re.fullmatch(self._left["answers"], words, re.IGNORECASE):
            return ""
        answer = self._dictation(text, half, names) or self._open_answer(half, sentence, words)
        return half.says(half.asks["says"], answer) if answer else ""

    def answer(self, text: str, half: Half) -> Sequence[Command] | str:
        """Return what `text` answers to the question about half a command; `()` for nothing."""
        if several := self._several_answers(text, half):
            return several
        answer = self._one_answer(text, half)
        return (answer,) if isinstance(answer, Command) else answer or ()

    def _several_answers(self, text: str, half: Half) -> Sequence[Command]:
        """Return the command for each of several moments that answer when: "at eight and at nine"."""
        several = self._several_moments.alone(text) if half.asks.get("open") == "when" else None
        if not several:
            return ()
        first = self._done(half, half.asks["tool"], half.asks["says"], several.whens[0])
        return [Command(first.tool, {**first.arguments, "when": when}) for when in several.wished] if first else ()

    def timed_anew(self, text: str, call: ToolCall) -> Sequence[Command]:
        """Return a call that failed at the moments which are named now; `()` where none are."""
        row, words = self._table.of(call.name), self._grammar.plain_words(text)
        if not row.when or not call.arguments.get(row.when):
            return ()
        several, one = self._several_moments.alone(text), self._moment_meant(text, words)
        once = [moments.corrected(str(call.arguments[row.when]), one)] if one else []
        new = several.wished if several else once
        return [Command(call.name, {**call.arguments, row.when: when}) for when in new]

    def _moment_meant(self, text: str, words: str) -> moments.Moment | None:
        """Return the moment that words are, also beside one that is not meant: "no, the seven, not half past"."""
        corrected = self._corrected.match(words)
        bare = self._bare_moment.fullmatch(text.strip(" .!"))
        ways = (text.strip(" .!"), words, corrected["rest"] if corrected else "", bare["moment"] if bare else "")
        return next(filter(None, map(moments.whole, filter(None, ways))), None)

    def _one_answer(self, text: str, half: Half) -> Command | str | None:
        """Return the one command that `text` answers, or what is said to it."""
        words = self._grammar.unmarked(text)
        if re.fullmatch(self._left["answers"], words, re.IGNORECASE):
            return self._left["says"]
        if corrected := self._corrected.match(words):  # "on Friday I mean"
            text = words = corrected["rest"]
        if self._grammar.is_negated(text):
            return None
        sentence = self._around.sub("", self._grammar.plain_words(text))
        place = self._places.of(sentence, len(half.asks["choices"]))
        for at, choice in enumerate(half.asks["choices"]):
            if at == place or re.fullmatch(choice.get("answers", "(?!)"), sentence, re.IGNORECASE):
                whole = half.asks | choice
                return self._done(half, whole["tool"], whole["says"], choice.get("is", ""))
        what = self._open_answer(half, sentence, words)
        return self._done(half, half.asks["tool"], half.asks["says"], what) if what else None

    def _open_answer(self, half: Half, sentence: str, words: str) -> str:
        """Return what an open question was answered with, as it belongs into the command; "" when it was not."""
        match = re.fullmatch(half.asks.get("answered", "(?!)"), words, re.IGNORECASE)
        outright = next(filter(None, match.groups()), "") if match else ""  # in the words of a language for it
        return outright or self._told(half.asks.get("open", ""), sentence, words)

    def _done(self, half: Half, tool: str, says: str, answer: str, names: Names = NOBODY) -> Command | None:
        """Return the command that would have been said at once; `None` when the answer makes none of it."""
        commands = self._grammar.commands(half.says(says, answer), names)
        return commands[0] if [command.tool for command in commands] == [tool] else None

    def _told(self, request: str, text: str, words: str) -> str:
        """Return what an open question was answered with, as it belongs into the command; "" when it was not."""
        number = self._number_in(text)
        match request:
            case "when" if moment := self._moment_told(text, words):
                return moment.text
            case "length" if number and not number["unit"]:
                return self._in_minutes.format(text)
            case "length" if self._seconds(text):
                return text
            case "percent" if number and number["unit"] in (None, "percent"):
                return number["number"]
            case "words" if self._grammar.slots.is_doing(text) and not self._grammar.commands(words):
                return text
        return ""

    def _moment_told(self, text: str, words: str) -> moments.Moment | None:
        """Return the moment that an answer is: "um acht" is more than "acht", and "seven tomorrow" needs an "at"."""
        hour = f"{self._at_hour} {text}" if _HOUR.search(self._grammar.digits(text)) else ""
        return moments.whole(text) or moments.whole(words) or moments.whole(hour)

    def _anew(self, last: ToolCall, text: str, things: Sequence[Referent] = ()) -> Command | None:
        """Return the last command with its time, place, room or number said anew; `None` when that is not said."""
        arguments: Arguments = dict(last.arguments)
        row, seconds = self._table.of(last.name), self._seconds(text) or self._seconds_alike(last, text)
        if row.length and seconds:
            before = arguments.get(row.length)
            sign = -1 if row.signed and isinstance(before, (int, float)) and before < 0 else 1
            arguments.pop(row.when, None)  # "at nine", then "no, in an hour"
            return Command(last.name, arguments | {row.length: sign * seconds})
        if row.minutes and seconds >= 60:
            return Command(last.name, arguments | {row.minutes: round(seconds / 60)})
        before = str(arguments.get(row.when, "")) if row.when else ""
        if seconds >= 60 and before.startswith("in "):  # "in an hour": "rather two hours"
            minutes = self._in_minutes.format(round(seconds / 60))
            if moment := moments.whole(f"in {text}") or moments.whole(f"in {minutes}"):
                return self._at(last, arguments, moment, things)
        if row.when and self._quarters.fullmatch(text) and (hour := _hour(str(arguments.get(row.when, "")))):
            text = f"{text} {hour}"
        timed = row.when or row.moves_on
        if timed and self._grammar.tables["moments"]:
            new = self._new(text, "when")
            hour = (
                f"{self._at_hour} {new}" if row.when and not self._table.only_looks(last.name) else ""
            )  # "no, half eight"
            if moment := moments.whole(new) or moments.whole(hour):
                return self._at(last, arguments, moment, things)
        if row.place and (place := self._place.fullmatch(text)):
            return Command(last.name, arguments | {row.place: place["place"]})
        room = self._new(text, "room")
        if row.room and room.lower() in self._grammar.slots.devices.rooms:
            remainder = {key: value for key, value in arguments.items() if key != "everything"}
            return Command(last.name, remainder | {row.room: room})
        if row.numbers and (number := self._number_in(text)):
            for name in (*row.numbers,):
                if name in arguments:
                    return Command(last.name, arguments | {name: int(number["number"])})
        if row.switch and text.lower() in self._on:
            return Command(last.name, arguments | {row.switch: self._on[text.lower()]})
        return None

    def _at(
        self, last: ToolCall, arguments: Arguments, moment: moments.Moment, things: Sequence[Referent]
    ) -> Command | None:
        row = self._table.of(last.name)
        if row.moves_on:
            weather = self._grammar.read(self._weather_at.format(moment.text))
            return Command(weather.tool, arguments | dict(weather.arguments)) if weather else None
        if any(self._later.search(part.text) for part in moment.parts):
            return None  # than it was, or from now?
        looks = self._table.only_looks(last.name)
        arguments.pop(row.length, None)
        before = str(arguments.get(row.when, ""))
        if len(things) == 1 and "often" in {part.kind for part in moment.parts}:  # "at seven" this evening, "every day"
            before = moments.in_its_half(before, things[0].at)
        new = moment.text if looks else moments.corrected(before, moment)
        if last.name == "weather.forecast":
            weather = self._grammar.read(self._weather_at.format(new))
            return Command(last.name, arguments | dict(weather.arguments)) if weather else None
        return Command(last.name, arguments | {row.when: new})

    def _other_things(self, last: ToolCall, text: str, written: str = "") -> Command | None:
        """Return the last command for other things; commas are looked for in what was `written`."""
        if not self._table.of(last.name).things:
            return None
        before = last.arguments.get("items")
        one = str(before[0]) if isinstance(before, (list, tuple)) and len(before) == 1 else ""
        if one and (item := self._grammar.slots.with_amount(one, text)):  # "make that three litres", of juice
            return Command(last.name, dict(last.arguments) | {"items": [item]})
        things = self._grammar.slots.things(text, written or text)
        if any(map(self._grammar.slots.is_amount, things)):
            return None  # "not two, three", of two things
        if not things or not all(self._grammar.slots.is_thing(thing) for thing in things):
            return None
        return Command(last.name, dict(last.arguments) | {"items": things})

    def _other_number(self, last: ToolCall, text: str) -> Command | None:
        """Return a timer of another number of minutes, or of seconds when it was of seconds: "make it fifteen"."""
        row = self._table.of(last.name)
        seconds = 0 if row.signed or not row.length else int(last.arguments.get(row.length, 0))
        number = self._number_in(text)
        if number is None or number["unit"] or not 0 < seconds < 3600:
            return None
        return Command(
            last.name, dict(last.arguments) | {row.length: int(number["number"]) * (60 if seconds >= 60 else 1)}
        )

    def _longer(self, last: ToolCall, seconds: int, *, shorter: bool) -> Command | None:
        """Return more time for the timer or the sleep that was just spoken of; `None` when it was of neither."""
        row = self._table.of(last.name)
        if row.minutes and seconds >= 60 and not shorter:
            return Command(last.name, {row.minutes: round(seconds / 60)})
        if not row.timer or not seconds:
            return None
        which = {key: value for key, value in last.arguments.items() if key in ("name", "room")}
        if last.arguments.get("seconds") and not which.get("name"):
            which["seconds"] = last.arguments["seconds"]  # which is how long it was set for, however long it runs
        return Command("timers.add", which | {"by_seconds": -seconds if shorter else seconds})

    def _seconds_alike(self, last: ToolCall, text: str) -> int:
        """Return the length that a bare number is of a call for after a while: "in ten minutes", "no, in twenty"."""
        row = self._table.of(last.name)
        before = last.arguments.get(row.length, 0) if row.length and not row.timer else 0
        if row.when and (when := str(last.arguments.get(row.when, ""))).startswith("in "):
            lengths = durations.find(when)
            before = lengths[0].seconds if len(lengths) == 1 else 0
        number = self._number_in(text.removeprefix("in "))
        if not (number and isinstance(before, int) and before > 0) or number["unit"]:
            return 0
        unit = next(one for one in (3600, 60, 1) if before % one == 0)
        return int(number["number"]) * unit

    def _number_in(self, text: str) -> re.Match[str] | None:
        """Return the number that `text` is, in digits, and its unit."""
        return self._number.fullmatch(self._grammar.digits(text))

    def _seconds(self, text: str) -> int:
        """Return the length of time that `text` is, from end to end; 0 when it is none."""
        words = self._new(text, "length")
        for form in (words, self._grammar.plain_words(words)):
            match durations.find(form):
                case [only] if (only.start, only.end) == (0, len(form)):
                    return only.seconds
        return 0

    def _new(self, text: str, of: str) -> str:
        """Return what is said anew, without the words that lead to it."""
        return self._lead[of].sub("", text, count=1)


def last_call(history: Sequence[Message]) -> tuple[ToolCall | None, bool]:
    """Return the last call of the last exchange, when it worked or only looked, and whether it changed anything.

    Nothing older is ever corrected.
    """
    calls: list[ToolCall] = []
    worked: dict[str, bool] = {}
    for message in reversed(history):
        if message.author == "user":
            break
        calls += [call for call in reversed(message.calls) if call.name != UNDO]
        if message.author == "tool" and (result := read_result(message.text)).get("ok") is True:
            worked[message.call_id] = result.get("changed") is True
    if calls and calls[0].id not in worked and open_spoken_tools().only_looks(calls[0].name):
        return calls[0], False  # "I don't know where home is" – "in London?"
    return (calls[0], worked[calls[0].id]) if calls and calls[0].id in worked else (None, False)


def _look_before(exchanges: Sequence[EarlierTurn]) -> ToolCall | None:
    """Return the look that led to what was done last, to the same thing."""
    if len(exchanges) < 2 or not (look := exchanges[1].last) or look.name != "home.state":
        return None
    return look if {*exchanges[0].things} & {*exchanges[1].things} else None


def _hour(when: str) -> str:
    """Return the hour that a moment names, in its words; "" when it names none."""
    clocks = [part.text for moment in moments.find(when) for part in moment.parts if part.kind == "clock"]
    hours = _HOUR.findall(clocks[0]) if clocks else []
    return hours[-1 if moments.names_hour_last(clocks[0]) else 0] if hours else ""


def _took_back(history: Sequence[Message]) -> bool:
    """Tell whether the last exchange took something back."""
    last = list(takewhile(lambda message: message.author != "user", reversed(history)))
    undone = {call.id for message in last for call in message.calls if call.name == UNDO}
    return any(message.call_id in undone and read_result(message.text).get("changed") is True for message in last)


def _is_name(words: str, name: str) -> bool:
    """Tell whether words name what has a name, in the singular or the plural: "the egg one", of "eggs"."""
    short, long = sorted((words.casefold(), name.casefold()), key=len)
    return bool(short) and long.startswith(short) and len(long) - len(short) <= PLURAL_LETTERS
