"""Reads what goes on from the exchange before: answers, "the radio", "and the hall too", "turn it off". Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache

from atlas.conversation import Message, ToolCall
from atlas.understanding import moments
from atlas.understanding.chances import MOST_SURE, SURE_OF_THE_ACT
from atlas.understanding.choices import Choices, MeaningChoice
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import name_any, only_look
from atlas.understanding.dialogue import TITLED, UNDO, EarlierTurn, with_target
from atlas.understanding.dialogue_turn import DialogueTurn, DialogueTurns, SpokenTurn, Understand
from atlas.understanding.grammar import Half
from atlas.understanding.meaning import NO_DEED, TurnMeaning, leaning
from atlas.understanding.names import Names
from atlas.understanding.parser import BROADCAST, LEAVE, LONGEST_CHARACTERS, SILENT, act_of
from atlas.understanding.patterns import pattern
from atlas.understanding.relative_moments import EVENTS_BACK, RelativeMoments, ToldMoment
from atlas.understanding.rivals import parsed
from atlas.understanding.scopes import Scopes
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.several_moments import EVENT, REMINDER
from atlas.understanding.slots import LATER, TAKING_AWAY, Command
from atlas.understanding.spoken_tools import SpokenTools, open_spoken_tools
from atlas.understanding.which import Which
from atlas.understanding.words_for_others import WordsForAnother, WordsForOthers

MORE_TIME = "timers.add"  # which is of the timer that was just spoken of
TIMERS = "timers"
SWITCHED = ("home.turn", "home.open", "home.close", "home.lock", "home.unlock")  # that twice is as good as once
_AT_A_MOMENT = ("reminders.add", "alarms.set", "calendar.add", "calendar.list", "calendar.free", LATER)
_ENDS = " .,!?"  # around a name that is said alone
LOOKED_BACK = 2  # exchanges in which somebody else may be who a "she" stands for
_WORD = re.compile(r"[^\W\d_]{3,}")
_CLOCK = re.compile(r"\d{1,2}(?::\d\d)? [AP]M\b")  # as the house says a time in English
MOST_PARSED = 2  # things that "it" may mean, in sentences that only the parser reads: each takes milliseconds


class Continuations:
    """How one language goes on. Each step returns what is meant, or `None` where a turn stands alone. Immutable.

    `read_whole` reads all words of a turn.
    """

    def __init__(
        self,
        sentences: SentenceReader,
        turns: DialogueTurns,
        scopes: Scopes,
        questions: Clarifications,
        words: WordsForOthers,
        read_whole: Understand,
    ) -> None:
        self._sentences = sentences
        self._dialogue, self._follow_ups = turns.dialogue, turns.follow_ups
        self._scopes = scopes
        self._questions = questions
        self._read_whole = read_whole
        self._words = words
        others = sentences.grammar.tables.get("words_for_others", {})
        self._same = pattern(others, "same")
        self._joint, self._states = pattern(others, "beside"), pattern(others, "states")
        self._half_of = lru_cache(1)(self._read_half)  # a turn asks twice
        self._which = Which(sentences.grammar)
        self._relative_moments = RelativeMoments(sentences.grammar.tables.get("relative_moments", {}))
        self._table: SpokenTools = open_spoken_tools()
        called_off = sentences.grammar.tables.get("called_off", {})
        self._spares = pattern(sentences.grammar.tables["dialogue"], "spares")
        self._whom: str = sentences.grammar.tables["dialogue"].get("whom", "")
        self._calls_off, self._taken_over = pattern(called_off, "says"), pattern(called_off, "taken_over")
        self._takes_back_done, self._tells_when = pattern(called_off, "done"), pattern(called_off, "tells_when")
        self._any_event = pattern(sentences.grammar.tables, "any_event")
        self._cancel_it: str = called_off.get("means", "")
        self._put_back: str = sentences.grammar.tables["dialogue"].get("put_back", "")
        self._says_when: str = sentences.grammar.tables.get("timed_deeds", {}).get("says_when", "")

    # ── answers ─────────────────────────────────────────────────────────────────────────────────────

    def dictation(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is done with the words that the house has just asked for: a message may say anything."""
        half = self._asked_about(turn)
        command = self._follow_ups.dictated(turn.readings[0], half, turn.names) if half else None
        return leaning((command,)) if command else None

    def answer(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what an answer to the house's last question comes to, or a choice of one of the things it named."""
        if half := self._asked_about(turn):
            answers = (self._follow_ups.answer(text, half) for text in turn.readings)
            if answer := next((one for one in answers if one), None):
                return leaning(answer if isinstance(answer, str) else tuple(answer))
            if more := self._lacking_more(turn.text, half, turn.names):
                return TurnMeaning(half=more, leans=True)
        for text in turn.readings:
            if chosen := self._which.answer(text, turn.history):
                return leaning(chosen)
            if self._sentences.commands(text, turn.names, turn.room):
                break  # and a worse reading of it is no answer
        return None

    def _asked_about(self, turn: DialogueTurn) -> Half | None:
        """Return the half of a command that the house has just asked about, as it was read then."""
        return self._asked_in(turn.history, turn)

    def _asked_in(self, history: Sequence[Message], turn: DialogueTurn) -> Half | None:
        if not history or history[-1].author != "assistant" or not history[-1].text.endswith("?"):
            return None
        at = next((at for at in reversed(range(len(history))) if history[at].author == "user"), None)
        if at is None:
            return None
        request = history[at].text
        plain = self._sentences.frames.without_idioms(request)
        heard = SpokenTurn((plain,), replace(turn.heard.turn, history=()), turn.names, (request,))
        half = self._half_of(heard) if request else None
        if half is None and (first := self._asked_in(history[:at], turn)):  # "remind me", "to call dad", "at six"
            half = self._lacking_more(request, first, turn.names)
        return half if half and history[-1].text.endswith(half.question) else None

    def _lacking_more(self, answer: str, half: Half, names: Names) -> Half | None:
        """Return what a half command still lacks with the answer to what was asked about it."""
        whole = self._follow_ups.said_at_once(answer, half, names)
        return self._sentences.grammar.half(whole, names) if whole else None

    def _read_half(self, heard: SpokenTurn) -> Half | None:
        """Return half of a command that a turn with nothing before it is."""
        return self._sentences.grammar.half(heard.text, heard.names) or self._read_whole(heard).half

    def which_device(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the deed of the sentence before on the device named now: "turn it up", "which one?", "the radio"."""
        if not turn.history or turn.history[-1].text != self._questions.which_device.reply:
            return None
        if not self._names_things_alone(turn):
            return None
        earlier = next((message.text for message in reversed(turn.history) if message.author == "user"), "")
        if (rest := self._scopes.all_but_now(earlier, turn)) is not None:
            return rest
        if self._spares.fullmatch(turn.text):
            return self._scopes.all_but(replace(turn, readings=(f"{earlier.strip(_ENDS)} {turn.text}",))) or NO_DEED
        both, commands_of = f"{earlier}, {turn.text}", self._sentences.commands_in(turn.names, turn.room)
        meant = self._dialogue.chosen(earlier, turn.text, turn.names, turn.room, commands_of)
        meant = meant or self._sentences.of_devices(both, turn.names, turn.room)
        meant = meant or self._sentences.learned_in(turn.names, turn.room)(both)
        return leaning(meant) if meant else None

    def _names_things_alone(self, turn: DialogueTurn) -> bool:
        """Whether a turn may answer the question which: it names a thing or a place, and is no sentence of its own."""
        grammar, frames = self._sentences.grammar, self._sentences.frames
        if grammar.commands(turn.text, turn.names) or grammar.half(turn.text, turn.names) or frames.asks(turn.text):
            return False
        known = frames.lexicon.known_tokens(turn.text, turn.names)
        return any(token.category in ("device", "kind", "room", "floor", "nickname", "quantity") for token in known)

    # ── words for somebody else ─────────────────────────────────────────────────────────────────────

    def words_for_another(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what tells somebody of this house what they are to hear, each in a call of their own.

        Whether that is said aloud or left as a message is the house's: it knows who is away.
        """
        request, text = self._told_whom(turn) or turn.heard.text, turn.heard.text
        spoken_of = {one for exchange in turn.exchanges[:LOOKED_BACK] for one in self._spoken_of(exchange, turn.names)}
        words = self._words.read(request, turn.names, others=len(spoken_of) > 1)
        if words is None:
            return self._more_words(turn)
        people = words.people
        if words.they and request != text:
            people = (turn.names.person(text.strip(_ENDS)),)
        elif words.they and not (people := tuple(self._meant_by(words.they, turn))):
            before = _passed_on(turn.last)
            if before is None or "person" in before.arguments:
                return TurnMeaning(reply=self._whom) if self._whom else None
            words = replace(words, room=words.room or str(before.arguments.get("room", "")))
        commands_of = self._sentences.commands_or_learned_in(turn.names, turn.room)
        if words.first and commands_of(words.first):
            return None  # "lights off. Tell Poppy good night" is two wishes
        message = words.text
        if words.before:
            earlier = (self._words.told_before(one.request, turn.names) for one in turn.exchanges[:LOOKED_BACK])
            message = ", ".join(filter(None, (next(filter(None, earlier), ""), message)))
        elif not message or self._same.fullmatch(message):
            messages = (_passed_on(one) for one in turn.exchanges[:LOOKED_BACK])
            said_before = next(filter(None, messages), None)
            message = str(said_before.arguments.get("text", "")) if said_before else message
        if not message:
            return None
        message, beside = self._without_deed(message, turn)
        made = [MeaningChoice(one, (_passing_on(replace(words, text=message), one),)) for one in people or ("",)]
        if words.they and len(made) > 1:
            return self._questions.among(made[:MOST_PARSED])
        return leaning((*(command for one in made for command in one.commands), *beside))

    def _without_deed(self, message: str, turn: DialogueTurn) -> tuple[str, tuple[Command, ...]]:
        """Return words without a deed of the house behind them: "tell Poppy tea's ready, and turn the oven off"."""
        for joint in self._joint.finditer(message):
            parse = self._sentences.parse(message[joint.end() :], turn.names, turn.room)
            states = self._states.match(message[: joint.start()]) is not None
            if (
                states
                and parse.is_of_devices
                and parse.named
                and self._sentences.frames.wants_a_deed(message[joint.end() :])
            ):
                return message[: joint.start()], parse.commands
        return message, ()

    def _told_whom(self, turn: DialogueTurn) -> str:
        """Return the request behind the question whom to tell, which a name has answered now; "" for no such."""
        in_question = turn.history and turn.history[-1].text == self._whom
        named = turn.names.person(turn.heard.text.strip(_ENDS))
        requests = (message.text for message in reversed(turn.history) if message.author == "user")
        return next(requests, "") if in_question and named else ""

    def _meant_by(self, they: str, turn: DialogueTurn) -> list[str]:
        return self._dialogue.people_meant(they.casefold(), turn.exchanges, turn.names)

    def _spoken_of(self, exchange: EarlierTurn, names: Names) -> set[str]:
        """Return who was named in an exchange."""
        words = (word.strip(".,;:!?").removesuffix("'s") for word in exchange.request.split())
        return {one for one in map(names.person, words) if one}

    def _more_words(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return more for who was just told something, or what was told put right: "and say it's getting cold"."""
        before = _passed_on(turn.last)
        if before is None:
            return None
        text = turn.heard.text
        if rather := self._words.put_right(turn.heard.verbatim[0], str(before.arguments.get("text", ""))):
            anew = Command(before.name, {**before.arguments, "text": rather})
            waits = before.name == LEAVE and turn.last.changed[-1]
            return leaning((Command(UNDO, {}), anew) if waits else (anew,))
        more = "" if self._sentences.frames.rooms_in(text, turn.names) else self._words.goes_on(text)
        if more.endswith("?") and "person" not in before.arguments:
            return None  # "can he swim", behind what everybody was told
        return leaning((Command(before.name, {**before.arguments, "text": more}),)) if more else None

    # ── the same again, elsewhere or with more ──────────────────────────────────────────────────────

    def at_another_time(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what could not be done as it was said, at the time named now: "say at which times", "at 8 and 20"."""
        if not turn.last.tried or turn.last.calls:
            return None
        made = self._follow_ups.timed_anew(turn.text, turn.last.tried[-1])
        return leaning(tuple(made)) if made else None

    def one_of_several(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return a question where several things were done: the last of them may not be what "cancel it" means."""
        if self._dialogue.leaves_open_which(turn.text, turn.last) and not self._names_one(turn):
            return self._questions.which_device
        if len(turn.last.calls) < MOST_PARSED:
            return None
        commands_of = self._sentences.commands_in(turn.names, turn.room)
        unsure = self._dialogue.referring(turn.text, turn.exchanges, commands_of, turn.names, turn.room)
        return TurnMeaning(choices=unsure) if isinstance(unsure, Choices) else None

    def named_alone(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the last deed for what a turn only names: "turn off the lamp", "the kettle"; "in here", of a song."""
        last, text = turn.last.last, turn.heard.verbatim[0]
        if last is None or text.rstrip().endswith("?"):
            return None
        if last.name not in SWITCHED and "query" not in last.arguments:
            return None
        frames, names = self._sentences.frames, turn.names
        names_it = self._names_one(turn) or ("query" in last.arguments and frames.places_alone(text, names))
        if not (names_it and frames.only_names(text, names)):
            return None
        parse = turn.parse
        if parse.is_of_devices and parse.named and parse.act == act_of(last.name, last.arguments):
            return parsed(parse, turn.before)
        words = self._sentences.grammar.plain_words(text)
        meant = self._dialogue.elsewhere(last, turn.last.things, words, turn.names, turn.room)
        if meant and turn.room and "kind" in meant.arguments and frames.says_here(text):  # "and all the lamps in here"
            meant = with_target(meant, {"kind": meant.arguments["kind"], "room": turn.room})
        return leaning((meant,)) if meant else None

    def how_much_of_nothing(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the question of what, where nothing was done before: "a bit more"."""
        if turn.before.act or not self._dialogue.says_how_much(turn.text):
            return None
        return self._questions.which_device

    def repetition(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the last command, done to more or once more: "and the hall too"."""
        commands_of = self._sentences.commands_in(turn.names, turn.room)
        ways = (self._dialogue.follow(text, turn.last, commands_of) for text in turn.readings)
        follows = next(filter(None, ways), None)
        return leaning(follows) if follows else None

    def not_after_all(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the taking off of what was just put on a list: "oh no, not the bread". Its "not" forbids nothing."""
        if not turn.last.last or not turn.last.last.name.startswith("lists."):
            return None
        if off := self._dialogue.taken_off(turn.heard.text, turn.last):
            return leaning(off)
        things = {thing.name.casefold() for thing in turn.last.things}
        bare = self._sentences.frames.without_reason(turn.text)  # "not the milk, there's plenty in the fridge"
        for wanted in (turn, replace(turn, readings=(bare,))) if bare else (turn,):
            meant = self.repetition(wanted)
            removed = meant.commands if meant and all(one.tool == "lists.remove" for one in meant.commands) else ()
            items = {str(item).casefold() for one in removed for item in one.arguments.get("items", ())}
            if items and items <= things:
                return meant
        return None

    def named_by_a_word(self, turn: DialogueTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return a deed on one of several things just written down, the one with a word of it: "he's done the tap"."""
        command = meant.commands[0] if len(meant.commands) == 1 else None
        if command and (event := self._the_event(command, turn)):
            return replace(meant, commands=(event,))
        if command and command.tool == MORE_TIME and not {"name", "seconds", "room"} & {*command.arguments}:
            spoken_of = [thing for thing in turn.last.things if thing.topic == TIMERS]
            return leaning((self._dialogue.of(command, spoken_of[0]),)) if len(spoken_of) == 1 else meant
        things = [one for one in turn.last.things if command and one.topic == command.topic and one.topic in TITLED]
        if command is None or len(things) < 2 or self._table.of(command.tool).adds:
            return meant
        words = [{*_WORD.findall(thing.name.casefold())} for thing in things]
        shared = set[str]().union(*(one & other for one in words for other in words if one is not other))
        spoken = {*_WORD.findall(turn.text.casefold())} - shared
        fitting = [thing for thing, of_it in zip(things, words, strict=True) if of_it & spoken]
        name = next((key for key in ("title", "about") if key in command.arguments), "")
        if not name or len(fitting) != 1:
            return meant
        return replace(meant, commands=(replace(command, arguments={**command.arguments, name: fitting[0].name}),))

    def _the_event(self, command: Command, turn: DialogueTurn) -> Command | None:
        """Return a command about "the appointment" about the one that was spoken of last."""
        name = next((one for one in ("title", "words") if one in command.arguments), "")
        if command.topic != "calendar" or command.tool == EVENT or not name:
            return None
        if not self._any_event.fullmatch(str(command.arguments[name])):
            return None
        events = ([thing for thing in one.things if thing.topic == "calendar"] for one in turn.exchanges[:EVENTS_BACK])
        spoken_of = next(filter(None, events), [])
        if len(spoken_of) != 1:
            return None
        return replace(command, arguments={**command.arguments, name: spoken_of[0].name})

    def called_off(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the cancelling of what was just set and has not come yet: "don't bother, Grandad's going to do it".

        "Leave it" may also mean that it is right as it is: that is asked, but where somebody else does it.
        """
        last = turn.last.last
        if last is None or not turn.last.changed[-1]:
            return None
        row = self._table.of(last.name)
        if not ((row.adds or last.name == LATER) and (row.when or row.length)):
            return self._done_called_off(turn, last)
        match = self._calls_off.fullmatch(turn.heard.text.strip(" .,!")[:LONGEST_CHARACTERS])
        if match is None:
            return None
        reason, outright = _reason_in(match), match.groupdict().get("outright")
        if self._wishes_more(reason, {"day"} if outright else frozenset(), turn):
            return None  # "leave it, but move the other one to nine"; "forget it, make it eight"
        commands_of = self._sentences.commands_in(turn.names, turn.room)
        meant = self._dialogue.referring(self._cancel_it, turn.exchanges, commands_of, turn.names, turn.room)
        cancels = meant if isinstance(meant, tuple) and len(meant) == 1 else (Command(UNDO, {}),)
        again = any(
            part.kind == "often" for one in moments.find(str(last.arguments.get(row.when))) for part in one.parts
        )
        surely = self._taken_over.search(reason) or ((outright or match["surely"]) and not reason)
        # An alarm is never dropped on words that somebody else may be told: "forget it, Sam, you're not going".
        surely = (surely or (outright and last.name == LATER)) and not again  # of a series only the next may be meant
        return leaning(cancels) if surely else self._questions.whether(self._cancel_it, cancels)

    def _done_called_off(self, turn: DialogueTurn, last: ToolCall) -> TurnMeaning | None:
        """Return the taking back of what was done, where words surely say so: "so no, not after all".

        With a reason beside them they may be told to somebody else, so that is asked.
        """
        match = self._takes_back_done.fullmatch(turn.heard.text.strip(" .,!")[:LONGEST_CHARACTERS])
        if match is None or not turn.last.of_devices or not all(turn.last.changed):
            return None
        reason = _reason_in(match)
        if self._wishes_more(reason, {"day", "clock", "length"}, turn):
            return None
        if match.groupdict().get("unneeded") and last.arguments.get("on") is not True:
            return None  # "I don't need it": the lamp that was put out
        undone = (Command(UNDO, {}),) * sum(turn.last.changed)
        return self._questions.whether(self._put_back, undone) if reason else leaning(undone)

    def _wishes_more(self, reason: str, reason_kinds: Collection[str], turn: DialogueTurn) -> bool:
        """Whether why something is called off may be another wish; "tomorrow is a holiday" is none.

        `reason_kinds`: which parts of a moment a reason may have. What was done already has no time.
        """
        others = (one.tool.rpartition(".")[2] for one in self._sentences.commands(reason, turn.names, turn.room))
        if not all(deed in TAKING_AWAY for deed in others):
            return True
        frames = self._sentences.frames
        for piece in frames.pieces(reason):
            kinds = {part.kind for one in moments.find(piece) for part in one.parts}
            if frames.has_value(piece) and not (kinds and kinds <= {*reason_kinds} and self._tells_when.search(piece)):
                return True
        return False

    def nowhere(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the question which, where a room is meant that nobody can tell: it is not the one they are in."""
        open_where = self._dialogue.leaves_open_where(turn.text, turn.exchanges)
        frames, text = self._sentences.frames, turn.text
        of_devices = frames.names_one(text, turn.names) or frames.wants_a_deed(text) or frames.asks(text)
        return self._questions.which_device if open_where and of_devices else None

    def it_and_more(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return a deed on what was spoken of and on one thing more: "turn it off, and the heater too"."""
        both = self._dialogue.and_more(turn.text) if turn.before.act else None
        if both is None:
            return None
        first = self._read_whole(turn.heard.saying(both[0])).commands
        if len(first) != 1 or not first[0].tool.startswith("home."):
            return None
        call = ToolCall("", first[0].tool, first[0].arguments)
        more = self._dialogue.elsewhere(call, (), both[1], turn.names, turn.room)
        return leaning((first[0], more)) if more and more != first[0] else None

    def it_and_another(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return a deed on what was spoken of beside one on something named: "turn it off and close the blind"."""
        both = self._dialogue.it_and_another(turn.text) if turn.last.of_devices and turn.last.things else None
        if both is None or not self._sentences.frames.names_one(both[1], turn.names):
            return None
        first, second = (self._read_whole(turn.heard.saying(half)).commands for half in both)
        deeds = [one for one in (*first, *second) if one.topic == "home" and not only_look([one])]
        if not first and deeds:
            return self._questions.which_device  # of two things nobody knows which is "it"
        whole = second and len(deeds) == len(first) + len(second)
        return leaning((*first, *second)) if whole else None

    # ── when it is, told by another moment ──────────────────────────────────────────────────────────

    def told_moment(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is wanted at a moment that what was spoken of tells: "remind me an hour before".

        Who only asks to be told is told what that is called.
        """
        made: list[Command] = []
        for moment in self._relative_moments.read(turn.text, turn.exchanges) if turn.last.last else ():
            alone = SpokenTurn((moment.text,), replace(turn.heard.turn, history=()), turn.names, (moment.text,))
            commands = [one for one in self._read_whole(alone).commands if one.tool in _AT_A_MOMENT]
            commands = commands or self._reminder_of(moment, turn)
            if not commands:
                return None
            made += commands
        if not made and self._relative_moments.leaves_open(turn.text) and self._relative_moments.tells(turn.text):
            return TurnMeaning(reply=self._says_when) if self._says_when else NO_DEED
        return leaning(tuple(made)) if made else None

    def another_later(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return one more alarm or reminder, some time after the last: "and another one ten minutes later"."""
        last, things = turn.last.last, turn.last.things
        if last is None or last.name not in ("alarms.set", REMINDER) or not turn.last.changed[-1] or len(things) != 1:
            return None
        when, why = self._relative_moments.another(turn.heard.verbatim[0], things[0])
        if not when or self._sentences.commands(why, turn.names, turn.room):
            return None
        return leaning((Command(last.name, {**last.arguments, "when": when}),))

    def with_its_end(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return an event with its end: "block out Wednesday from one to four for the budget"."""
        span = self._relative_moments.lasting(turn.text)
        if span is None:
            return None
        begins, end = span
        meant = self._read_whole(turn.heard.saying(begins))
        made = meant.commands
        if [one.tool for one in made] != [EVENT] or {"end", "minutes"} & {*made[0].arguments}:
            return None
        return TurnMeaning(commands=(Command(made[0].tool, {**made[0].arguments, "end": end}),))

    def dated(self, turn: DialogueTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return events on the day that was just looked up, or in the month, where they leave that out."""
        if not turn.exchanges or not meant.commands:
            return meant
        if len(meant.commands) == 1 and meant.commands[0].tool == LATER:
            return replace(meant, commands=(self._on_its_day(meant.commands[0], turn),))
        if any(one.tool != EVENT for one in meant.commands):
            return meant
        made = []
        for one in meant.commands:
            start = self._relative_moments.dated(str(one.arguments.get("start", "")), turn.exchanges)
            made.append(Command(one.tool, {**one.arguments, "start": start}, one.whole))
        return replace(meant, commands=tuple(made))

    def _on_its_day(self, deed: Command, turn: DialogueTurn) -> Command:
        """Return a deed on the day of the one before on the same device: "on at three tomorrow", "and off at seven"."""
        last, when = turn.last.last, str(deed.arguments.get("when", ""))
        if last is None or last.name != LATER or not turn.last.changed[-1]:
            return deed
        before = str(last.arguments.get("when", ""))
        device = Command(last.name, last.arguments).due_arguments.get("device")
        same = device is not None and device == deed.due_arguments.get("device")
        clock = _CLOCK.search(turn.last.says[-1])
        behind = moments.behind(before, when, clock[0] if clock else "") if same else ""
        return Command(deed.tool, {**deed.arguments, "when": behind}, deed.whole) if behind else deed

    def _reminder_of(self, moment: ToldMoment, turn: DialogueTurn) -> list[Command]:
        """Return the reminder of what was spoken of, where a sentence says nothing else to be reminded of."""
        parse = self._sentences.parse(moment.text, turn.names, turn.room)
        is_wish = parse.act == REMINDER and parse.chance >= SURE_OF_THE_ACT
        is_bare = self._relative_moments.tells_no_more(moment)
        if not (is_wish or is_bare or self._relative_moments.tells(turn.text)):
            return []
        words = self._relative_moments.duty(moment.text) or (" ".join(parse.phrases("T")) if is_wish else "")
        text = self._sentences.grammar.slots.as_task(words) or moment.thing.name
        if not text:
            return []
        when = moment.when if " at " in moment.when or not is_bare else f"{moment.when} at {moment.thing.at[11:16]}"
        return [Command(REMINDER, {"text": text, "when": when})]

    # ── what was just spoken of ─────────────────────────────────────────────────────────────────────

    def choice(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is meant of the things just spoken of: "all but the lamp" has a word that forbids."""
        chooses = self._dialogue.chooses(turn.text) or self._follow_ups.says_the_same(turn.text)
        return self.reference(turn) if chooses else None

    def reference(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what a turn means of what was done just before it; `None` when it does not lean on that."""
        text, parse = turn.text, turn.parse
        ways = (
            self._follow_ups.follow_up(one, turn.history, turn.exchanges, turn.names, turn.room)
            for one in turn.readings
        )
        if more := next(filter(None, ways), None):
            return leaning((self._in_named_room(more, turn),))
        if parse.act == UNDO and parse.is_sure():  # "this was wrong, make it back" opens nothing
            return parsed(parse, turn.before)
        of_the_world = parse.act.startswith(("weather.", "clock.")) and parse.chance >= MOST_SURE
        if of_the_world and parse.commands:  # "is it going to rain", after the mower
            return parsed(parse, turn.before)
        if turn.before.act and parse.named and parse.is_sure():  # "and shut the curtains" is not about the lamp before
            return parsed(parse, turn.before)
        exchanges = self._dialogue.past_looks_elsewhere(text, turn.exchanges)
        last = exchanges[0] if exchanges else turn.last
        commands_of = self._sentences.commands_in(turn.names, turn.room)
        meant = self._dialogue.referring(text, exchanges, commands_of, turn.names, turn.room)
        idle = parse.act in SILENT and parse.act != "cannot" and parse.chance >= SURE_OF_THE_ACT
        few = last.of_devices and 0 < len(last.things) <= MOST_PARSED
        if meant is None and few and not idle and not self._names_one(turn):
            learned = self._sentences.learned_in(turn.names, turn.room)
            meant = self._dialogue.referring(text, exchanges, learned, turn.names, turn.room)
        if meant is None:
            return self._of_one_named_by_its_place(turn)
        if meant == ():
            return self._questions.which_device
        return TurnMeaning(choices=meant) if isinstance(meant, Choices) else leaning(meant)

    def _in_named_room(self, look: Command, turn: DialogueTurn) -> Command:
        """Return a look at the one room that is named, and not at what stands in another; what is none, as it is."""
        rooms = self._sentences.frames.rooms_in(turn.text, turn.names)
        elsewhere = {one.name for one in turn.names.devices if one.room not in rooms}
        if len(rooms) != 1 or not only_look([look]) or look.arguments.get("device") not in elsewhere:
            return look
        return with_target(look, {"room": next(iter(rooms))})

    def _of_one_named_by_its_place(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what the parser reads of "the first one", done to that; the question which, of "the other one"."""
        parse = turn.parse
        if not parse.is_sure() or len(parse.commands) != 1 or parse.named:
            return None
        [command] = parse.commands
        if self._table.of(command.tool).adds:
            return None  # "and ring the surgery first thing tomorrow", after a reminder
        if (thing := self._dialogue.first_or_last(turn.text, turn.exchanges)) and thing.topic == command.topic:
            alone = {name: value for name, value in command.arguments.items() if name != "seconds"}  # of another one
            return leaning((self._dialogue.of(replace(command, arguments=alone), thing),))
        same = command.arguments.get("device") in turn.before.devices
        return self._questions.which_device if same and self._dialogue.means_another(turn.text) else None

    def by_its_request(self, turn: DialogueTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant, of the nameless timer whose wish named it: "I've an egg on, four minutes"."""
        timers = [(thing, one.request) for one in turn.exchanges for thing in one.things if thing.topic == TIMERS]
        known = {thing.name.casefold() for thing, _ in timers}
        if not timers or any(call.name == UNDO for one in turn.exchanges for call in one.calls):
            return meant  # of what was undone another one may have come in its place
        commands = []
        for one in meant.commands:
            name = str(one.arguments.get("name", "")).casefold()
            of_one = one.topic == TIMERS and name and name not in known and not self._table.of(one.tool).adds
            words = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
            named = {thing.id for thing, text in timers if of_one and not thing.name and words.search(text)}
            commands.append(replace(one, arguments={**one.arguments, "name": named.pop()}) if len(named) == 1 else one)
        return replace(meant, commands=tuple(commands))

    def another_one(self, turn: DialogueTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant, of the other one, where a turn wants that and was read of the one before."""
        before, text = {thing.name for thing in turn.last.things}, turn.heard.text
        devices = {str(one.due_arguments.get("device", "")) for one in meant.commands}
        named = any(one.casefold() in text.casefold() for one in devices)
        if len(meant.commands) != 1 or not devices <= before or named or only_look(meant.commands):
            return meant
        if not self._dialogue.means_another(text):
            return meant
        other = self._dialogue.other_than(meant.commands, turn.exchanges, turn.names)
        return replace(meant, commands=other) if other else self._questions.which_device

    def devices_before(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is wanted of the devices just spoken of: "right, I'm in, shut it"; "half"."""
        before = [thing.name for thing in turn.last.things if thing.topic == "home"]
        meant = self._sentences.of_devices(turn.text, turn.names, turn.room, before) if before else ()
        kinds = {one.arguments.get("kind") for one in meant}
        if len(before) == 1 and not name_any(meant) and kinds == {turn.last.things[0].kind}:
            meant = tuple(with_target(one, {"device": before[0]}) for one in meant)  # "red, please", of one lamp
        return leaning(meant) if meant else None

    def _names_one(self, turn: DialogueTurn) -> bool:
        return self._sentences.frames.names_one(turn.text, turn.names)


def _passed_on(last: EarlierTurn) -> ToolCall | None:
    """Return the last call of an exchange, where it told somebody something."""
    return last.last if last.last and last.last.name in (BROADCAST, LEAVE) else None


def _passing_on(words: WordsForAnother, person: str) -> Command:
    """Return the call that tells this person, or everybody where there is none."""
    where = {"room": words.room} if words.room and not words.left else {}
    whom = {"person": person} if person else {}
    return Command(LEAVE if words.left and person else BROADCAST, {"text": words.text, **whom, **where})


def _reason_in(match: re.Match[str]) -> str:
    """Return why something is called off, before or behind the words that do so."""
    return " ".join(filter(None, (match["because"], match["why"])))
