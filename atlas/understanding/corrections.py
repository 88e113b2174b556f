"""Reads what a turn puts right: the deed of the turn before ("no, at five"), or its own first words. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from atlas.conversation import ToolCall
from atlas.understanding import moments
from atlas.understanding.chances import SURE_TO_GO_ON
from atlas.understanding.choices import MeaningChoice
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import name_any
from atlas.understanding.dialogue import UNDO
from atlas.understanding.dialogue_turn import DialogueTurn, DialogueTurns
from atlas.understanding.meaning import NO_DEED, TurnMeaning, leaning
from atlas.understanding.parser import AMEND
from atlas.understanding.patterns import act_pattern, pattern
from atlas.understanding.self_corrections import SelfCorrections
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import LATER, Command

_WAYS = {
    **dict.fromkeys(("open", "up"), "home.open"),
    **dict.fromkeys(("close", "closed", "down"), "home.close"),
}
_GOES_ON = ("home.play", "home.pause", "home.next", "home.previous", "home.mute", "home.clean", "home.mow", "home.dock")
_EDGES = " .,;:!?"
HALF_WAY = 50  # percent
FEW_WORDS = 4  # of a value that stands alone
_STEPPED = ("brightness", "volume", "temperature", "speed")  # settings that go up and down
MOST = 100  # of all of them but a temperature, which is never so high
_JOINTS = re.compile(r"[.,;!]+ +")
_MOVED = ("cover", "valve", "lock")  # kinds that are not moved without a yes, where they were to stand still


class Corrections:
    """How one language corrects. Each step returns what is meant, or `None` where nothing is corrected. Immutable."""

    def __init__(
        self, sentences: SentenceReader, turns: DialogueTurns, slips: SelfCorrections, questions: Clarifications
    ) -> None:
        self._sentences = sentences
        self._dialogue, self._follow_ups = turns.dialogue, turns.follow_ups
        self._slips = slips
        self._questions = questions
        tables = sentences.grammar.tables
        amended: Mapping[str, str] = tables.get("acts", {}).get("amended", {})
        self._changes_to, self._of_moments = amended.get("label", ""), pattern(amended, "bare")
        self._surely_amends, self._beside_values = pattern(amended, "says"), pattern(amended, "beside")
        self._rest_right, self._tells_time = pattern(amended, "rest_right"), pattern(amended, "tells_time")
        self._corrects = act_pattern(tables, "corrects")
        self._all_the_way, self._part_way = act_pattern(tables, "all_the_way"), act_pattern(tables, "part_way")
        self._not_so_far, self._pronouns = act_pattern(tables, "not_so_far"), act_pattern(tables, "pronouns")
        self._instead = act_pattern(tables, "instead")
        talk: Mapping[str, str] = tables["dialogue"]
        self._stops, self._with_it = pattern(talk, "stops"), pattern(talk, "with_it")
        self._regrets = pattern(talk, "regrets")
        self._put_back: str = talk.get("put_back", "")
        self._back_again, self._still_here = pattern(talk, "back_again"), pattern(talk, "still_here")
        self._on: Mapping[str, bool] = tables["on_or_off"]

    def set_anew(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the last deed with another value: "oh no, I can't hear it now, louder"."""
        frames = self._sentences.frames
        first, _, last = turn.text.rstrip(" .!?").rpartition(". ")
        tells = first and not frames.names_one(first, turn.names) and not self._sentences.commands(first, turn.names)
        wanted = filter(None, (turn.text, frames.without_reason(turn.text), last if tells else ""))
        commands = next(
            filter(None, (self._dialogue.set_anew(text, turn.last, turn.heard.text) for text in wanted)), ()
        )
        return leaning(commands) if commands else None

    def taken_back(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what takes back the one thing just done or told of: "no, leave it on, forget it" forbids nothing."""
        if any(turn.last.changed) and self._regrets.fullmatch(turn.heard.text.strip(" .,!")):
            return self._questions.whether(self._put_back, (Command(UNDO, {}),) * sum(turn.last.changed))
        alone = len(turn.last.calls) == 1
        commands = self._follow_ups.taken_back(turn.text, turn.history) if alone else ()
        return leaning(commands) if commands else None

    def stopped(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what ends the last deed on devices, for "stop", also behind a look.

        What moves or locks is asked about; where nothing was changed, "stop" silences what rings.
        """
        if not self._stops.fullmatch(turn.heard.text.strip(" .,!")):
            return None
        looked_at = len(turn.exchanges) > 1 and not any(turn.last.changed)
        exchange = turn.exchanges[1] if looked_at else turn.last
        last = exchange.last
        if last is None or not last.name.startswith("home."):
            return None
        if not any(exchange.changed):
            return TurnMeaning(commands=(Command("alarms.stop", {}),))
        commands_of = self._sentences.commands_in(turn.names, turn.room)
        if follows := self._dialogue.follow(turn.text, exchange, commands_of):
            return leaning(follows)  # a robot goes home
        if last.name == "home.play":
            return leaning(tuple(Command("home.pause", {"device": thing.name}) for thing in exchange.things))
        if last.name in _GOES_ON:
            return None
        moves = {thing.kind for thing in exchange.things} & {*_MOVED}
        if moves or len(exchange.calls) != 1:
            return self._questions.whether(self._put_back, (Command(UNDO, {}),))
        return leaning((Command(UNDO, {"silence": True}),))  # of what rings, if anything does

    def beside_an_alarm(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return a deed that is to be done when the alarm rings that was just set: "with the blinds open"."""
        last, match = turn.last.last, self._with_it.fullmatch(turn.text.strip(" .,!"))
        if match is None or last is None or last.name != "alarms.set" or not turn.last.changed[-1]:
            return None
        when = str(last.arguments.get("when", ""))
        kinds = {part.kind for one in moments.find(when) for part in one.parts}
        deeds = self._sentences.commands(match["wish"], turn.names, turn.room)
        if not deeds or any(one.topic != "home" for one in deeds):
            return None
        # Of an hour alone an alarm takes the next morning's, and a deed the next one; of a series there is no deed.
        moment_is_known = {"day", "clock"} <= kinds and "often" not in kinds
        return leaning(tuple(one.later(when=when) for one in deeds)) if moment_is_known else NO_DEED

    def as_it_was(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what takes back one deed that switched things, where they are to be as they were: "no, leave it on".

        Not turning all of them on: of four lights that were turned off, one may have been on.
        """
        state = self._dialogue.restored(turn.heard.text)
        if not state or len(turn.last.calls) != 1 or not turn.last.changed[0]:
            return None
        [call] = turn.last.calls
        deed = Command(call.name, call.arguments)
        if deed.due_tool != "home.turn" or deed.due_arguments.get("on") is self._on[state]:
            return None
        if call.name == LATER:  # it is so still: what would change it is not wanted
            return leaning((Command(UNDO, {}),))
        if len(turn.last.things) == 1:
            return leaning((Command(call.name, {"on": self._on[state], "device": turn.last.things[0].name}),))
        return leaning((Command(UNDO, {}),))

    def back_again(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the taking back of one value that was just set: "I can't see a thing, back up again".

        How it was before knows only the receipt. With more words ("a bit brighter again") it is a step like any other.
        """
        last = turn.last.last
        if last is None or last.name != "home.set" or len(turn.last.calls) != 1 or not turn.last.changed[0]:
            return None
        text = turn.heard.text.strip(" .,!")
        parts = (("", text), *((text[: one.start()], text[one.end() :]) for one in _JOINTS.finditer(text)))
        others, way = next(((rest, way) for rest, one in parts if (way := self._back_again.fullmatch(one))), ("", None))
        values = [value for name, value in last.arguments.items() if name in _STEPPED]
        if way is None or len(values) != 1 or values[0] == (MOST if any(way.groupdict().values()) else 0):
            return None
        wishes = self._sentences.commands(others, turn.names, turn.room)
        calls = self._sentences.frames.calls_somebody(text, turn.names)
        return None if wishes or calls or others.rstrip().endswith("?") else leaning((Command(UNDO, {}),))

    def still_here(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the lights as they were where somebody still is, and nowhere else: "hey, I'm still reading in here".

        Nobody wants all that were put out with them.
        """
        text, lights = turn.heard.text.strip(" .,!"), [one for one in turn.last.things if one.kind == "light"]
        dark = [call for call in turn.last.calls if call.name == "home.turn" and call.arguments.get("on") is False]
        if not lights or not any(turn.last.changed) or len(dark) != len(turn.last.calls):
            return None
        frames = self._sentences.frames
        if not self._still_here.fullmatch(text) or frames.wants_a_deed(text) or frames.has_value(text):
            return None
        here = [one.name for one in lights if one.room == turn.room] or [one.name for one in lights if len(lights) == 1]
        back = Command(UNDO, {"devices": here} if here else {})
        return leaning((back,)) if here else self._questions.whether(self._put_back, (back,))

    def all_the_way(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the rest of a way that was gone in part: "close the blind halfway", "no, all the way"."""
        last = turn.last.last
        gone = last is not None and last.name == "home.set" and "position" in last.arguments
        if not gone or not self._all_the_way.fullmatch(turn.heard.text.strip(" .,!")):
            return None
        request = self._part_way.sub(" ", turn.last.request)  # "halb auf" is one word of its own
        tokens = self._sentences.frames.lexicon.known_tokens(request, turn.names)
        ways = {_WAYS[one.value] for one in tokens if one.category in ("action", "state") and one.value in _WAYS}
        if len(ways) != 1:
            return None
        [way] = ways
        return leaning(tuple(Command(way, {"device": one.name}) for one in turn.last.things))

    def not_so_far(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return half of a way that was gone whole: "ooh, not so much", behind curtains that were opened."""
        last, things = turn.last.last, turn.last.things
        whole = last is not None and last.name in ("home.open", "home.close") and all(turn.last.changed)
        if not whole or not things or not self._not_so_far.match(turn.heard.text.strip(" .,!")):
            return None
        able = {one.name for one in turn.names.devices if "position" in one.can}
        if not {one.name for one in things} <= able:
            return None
        return leaning(tuple(Command("home.set", {"position": HALF_WAY, "device": one.name}) for one in things))

    def instead(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the last deed done to another thing, and taken back for the first: "the bedside lamp instead"."""
        match = self._instead.fullmatch(turn.text.strip(" .,!"))
        if not match or len(turn.last.calls) != 1 or not turn.last.changed[0]:
            return None
        [call] = turn.last.calls
        made = self._sentences.commands(match["wish"], turn.names, turn.room)
        alike = [(one.tool, one.arguments.get("on")) for one in made] == [(call.name, call.arguments.get("on"))]
        return leaning((Command(UNDO, {}), *made)) if alike and name_any(made) else None

    def of_several(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what puts one of several right: "not the eggs, cheese"; "keep the pasta one", of three timers."""
        for text in turn.readings:
            if anew := self._follow_ups.timer_set_anew(text, turn.exchanges, turn.names):
                return leaning((anew,))
            meant = self._follow_ups.one_for_another(text, turn.history, turn.exchanges)
            if meant := meant or self._follow_ups.all_but_one(text, turn.exchanges):
                return leaning(meant)
        stays = self._follow_ups.spares_one(turn.text, turn.exchanges)
        return NO_DEED if stays else None  # "keep the rice one" cancels no rice timer

    def moved(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what moves what was spoken of: "the clinic rang, they've shifted it to Friday, same time".

        The other clauses of the sentence only say why.
        """
        clauses = [one.strip() for one in turn.text.split(",")]
        for text in dict.fromkeys((turn.text, *clauses)):
            if (command := self._follow_ups.moved(text, turn.exchanges)) or (
                command := self._follow_ups.shifted(text, turn.history, turn.exchanges)
            ):
                others = [one for one in clauses if one and one not in text]
                wishes = any(self._sentences.commands(one, turn.names, turn.room) for one in others)
                return None if wishes else leaning((command,))
        return None

    def of_last_deed(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the last command as it was really meant: "no, at five"."""
        at_once = self._follow_ups.put_right(turn.text)
        ways = (
            self._follow_ups.correction(text, turn.history, turn.exchanges, turn.names, turn.room)
            for text in dict.fromkeys(filter(None, (at_once, *turn.readings, *self._clauses_alone(turn))))
        )
        corrected = next((commands for commands in ways if commands), None)
        return leaning(corrected) if corrected else None

    def with_the_rest_right(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the last deed with the one day or time that is put right: "it's Tuesday, the time is right"."""
        last, text = turn.last.last, turn.heard.text.strip(" .,!")
        right = self._rest_right.search(text) if last and turn.last.changed[-1] and not text.endswith("?") else None
        spoken = moments.find(f"{text[: right.start()]}, {text[right.end() :]}") if right else ()
        if last is None or len(spoken) != 1:
            return None
        anew = spoken[0].text
        made = self._follow_ups.amended(last, anew, turn.exchanges, turn.names, turn.room)
        return leaning((Command(UNDO, {}), made)) if made and dict(made.arguments) != dict(last.arguments) else None

    def as_parsed(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the last deed with what the parser reads as put right: "I've to pack first, so better half past".

        Where the new value stands in a sentence of its own ("the match is at eight"), it is asked whether it is meant.
        """
        last = turn.last.last
        parser = self._sentences.parser
        if last is None or not turn.last.changed[-1] or parser is None:
            return None
        parse = parser.amends(turn.heard.text, turn.names, turn.room, turn.before, SURE_TO_GO_ON)
        if parse.act != AMEND:
            return None
        call, values = last, list[str]()
        for words in self._values_put_right(turn.heard.text, parse.new_values()):
            if made := self._follow_ups.amended(call, words, turn.exchanges, turn.names, turn.room):
                call = ToolCall(call.id, made.tool, made.arguments)
                values.append(words)
        if call == last:
            return None
        corrected = (Command(UNDO, {}), Command(call.name, call.arguments))
        if not self._changes_to or not any(self._is_told(turn.heard.text, value) for value in values):
            return leaning(corrected)
        label = self._changes_to.format(" ".join(self._of_moments.sub("", value) for value in values))
        return self._questions.among([MeaningChoice(label, corrected)])

    def _values_put_right(self, text: str, values: Sequence[str]) -> Sequence[str]:
        """Return new values without those in a reason: "they're shut on Wednesdays, so better make it half eleven"."""
        clauses = self._sentences.frames.pieces(text)
        is_negated = self._sentences.grammar.is_negated  # "not ten, the bank is full then, say eleven"
        correcting = [one for one in clauses if self._surely_amends.search(one) and not is_negated(one)]
        meant = [value for value in values if any(value in clause for clause in correcting)]
        reasons = [
            one
            for one in values
            if one not in meant and any(one in clause and one != clause.strip(_EDGES) for clause in clauses)
        ]
        return [one for one in values if one not in reasons] if meant else values

    def _is_told(self, text: str, value: str) -> bool:
        """Whether a value stands in a clause that says something else as well: "she only gets home at nine"."""
        if self._surely_amends.search(text):
            return False
        clause = next((one for one in self._sentences.frames.pieces(text) if value in one), "")
        return len(self._beside_values.sub(" ", clause.replace(value, " ")).split()) > 1

    def _clauses_alone(self, turn: DialogueTurn) -> Sequence[str]:
        """Return the parts of a turn that may put something right by themselves; "" for none."""
        return self._first_clauses(turn.text), self._last_clause(turn.text), self._first_sentence(turn)

    def _first_sentence(self, turn: DialogueTurn) -> str:
        """Return a first sentence of a few words before one that asks for nothing: "Half past. I deserve it."."""
        first, ends, rest = turn.text.partition(". ")
        if not ends or len(first.split()) > FEW_WORDS or self._sentences.grammar.is_negated(rest, turn.names):
            return ""
        if self._tells_time.search(rest):
            return ""  # "ten to six. Goodness, it's late"
        parse = self._sentences.parse(rest, turn.names, turn.room)
        silent = parse.act in ("nothing", "talk") and not self._sentences.commands(rest, turn.names, turn.room)
        return first if silent and not parse.new_values() else ""

    def _first_clauses(self, text: str) -> str:
        """Return a correction without its last clause, which may say why: "no, sorry, quarter past, read it wrong"."""
        first, _, reason = text.rpartition(",")
        corrects = self._corrects.match(first)
        is_whole = first[corrects.end() :].strip() if corrects else self._follow_ups.replaces(first)
        return first if is_whole and " " in reason.strip() else ""

    def _last_clause(self, text: str) -> str:
        """Return the last clause where it corrects by its own words: "they're big eggs, make it seven"."""
        last = text.rpartition(",")[2].strip()
        return last if last != text.strip() and self._follow_ups.replaces(last) else ""

    def left_alone(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is said where all stays as it is: "leave it"."""
        left = self._follow_ups.left_alone(turn.text) or self._follow_ups.left_alone(turn.heard.text)
        return TurnMeaning(reply=left) if left else None

    def of_itself(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what a sentence means that corrects itself: "the hall, no, the landing"."""

        def amended(command: Command, text: str) -> Command | None:
            call = ToolCall("", command.tool, command.arguments)
            return self._follow_ups.amended(call, text, (), turn.names, turn.room)

        commands_of = self._sentences.commands_or_learned_in(turn.names, turn.room)
        if len(turn.last.things) == 1 and turn.last.of_devices:  # "I want it pink, no, purple"
            thing = turn.last.things[0].name
            named = self._pronouns.sub(f"the {thing}", turn.text, count=1)
            of_it = self._slips.corrected(named, commands_of, amended, turn.names) if named != turn.text else ()
            if of_it and all(one.arguments.get("device") == thing for one in of_it):
                return leaning(of_it)
        corrected = self._slips.corrected(turn.text, commands_of, amended, turn.names)
        if not corrected:
            return None
        if self._is_elsewhere(corrected, turn):
            return self._questions.which_device  # "the curtains in the bedroom, no, the blind": not the kitchen's
        return TurnMeaning(commands=corrected)

    def _is_elsewhere(self, commands: Sequence[Command], turn: DialogueTurn) -> bool:
        """Whether a deed is on a device that is not named, outside of all rooms that are."""
        rooms, words = self._sentences.frames.rooms_in(turn.text, turn.names), turn.text.casefold()
        devices = {one.name: one.room for one in turn.names.devices if one.name.casefold() not in words}
        meant = (str(one.arguments.get("device", "")) for one in commands)
        return bool(rooms) and any(name in devices and devices[name] not in rooms for name in meant)
