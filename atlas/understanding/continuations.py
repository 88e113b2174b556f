"""Reads what goes on from the exchange before: answers, "the radio", "and the hall too", "turn it off". Pure."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from atlas.conversation import ToolCall
from atlas.understanding import moments
from atlas.understanding.chances import LIKELY_IN_PART, MOST_SURE, SURE_OF_SILENCE, SURE_OF_THE_ACT
from atlas.understanding.choices import Choices, MeaningChoice
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import name_any, only_look
from atlas.understanding.dialogue import UNDO, with_target
from atlas.understanding.dialogue_turn import DialogueTurn, DialogueTurns, SpokenTurn, Understand
from atlas.understanding.grammar import Half
from atlas.understanding.meaning import NO_DEED, TurnMeaning, leaning
from atlas.understanding.parser import BROADCAST, LONGEST_CHARACTERS, SILENT, act_of
from atlas.understanding.patterns import pattern
from atlas.understanding.relative_moments import RelativeMoments, ToldMoment
from atlas.understanding.rivals import parsed
from atlas.understanding.scopes import Scopes
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.several_moments import EVENT, REMINDER
from atlas.understanding.slots import LATER, TAKING_AWAY, Command
from atlas.understanding.spoken_tools import SpokenTools, open_spoken_tools
from atlas.understanding.which import Which

SWITCHED = ("home.turn", "home.open", "home.close", "home.lock", "home.unlock")  # that twice is as good as once
_AT_A_MOMENT = ("reminders.add", "alarms.set", "calendar.add", "calendar.list", "calendar.free", LATER)
_LETTERS = re.compile(r"\w")
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
        read_whole: Understand,
    ) -> None:
        self._sentences = sentences
        self._dialogue, self._follow_ups = turns.dialogue, turns.follow_ups
        self._scopes = scopes
        self._questions = questions
        self._read_whole = read_whole
        self._half_of = lru_cache(1)(self._read_half)  # a turn asks twice
        self._which = Which(sentences.grammar)
        self._relative_moments = RelativeMoments(sentences.grammar.tables.get("relative_moments", {}))
        self._table: SpokenTools = open_spoken_tools()
        words = sentences.grammar.tables.get("called_off", {})
        self._leaves_out = pattern(sentences.grammar.tables, "leaves_out")
        self._says_yes = pattern(sentences.grammar.tables["left"], "yes")
        self._whom: str = sentences.grammar.tables["dialogue"].get("whom", "")
        self._calls_off, self._taken_over = pattern(words, "says"), pattern(words, "taken_over")
        self._cancel_it: str = words.get("means", "")

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
        for text in turn.readings:
            if chosen := self._which.answer(text, turn.history):
                return leaning(chosen)
            if self._sentences.commands(text, turn.names, turn.room):
                break  # and a worse reading of it is no answer
        return None

    def _asked_about(self, turn: DialogueTurn) -> Half | None:
        """Return the half of a command that the house has just asked about, as it was read then."""
        if not turn.history or turn.history[-1].author != "assistant" or not turn.history[-1].text.endswith("?"):
            return None
        request = next((message.text for message in reversed(turn.history) if message.author == "user"), "")
        heard = SpokenTurn((request,), replace(turn.heard.turn, history=()), turn.names, (request,))
        half = self._half_of(heard) if request else None
        return half if half and turn.history[-1].text.endswith(half.question) else None

    def _read_half(self, heard: SpokenTurn) -> Half | None:
        """Return half of a command that a turn with nothing before it is."""
        return self._sentences.grammar.half(heard.text, heard.names) or self._read_whole(heard).half

    def which_device(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the deed of the sentence before on the device named now: "turn it up", "which one?", "the radio"."""
        if not turn.history or turn.history[-1].text != self._questions.which_device.reply:
            return None
        if not self._names_things_alone(turn) or self._sets_a_scene(turn):
            return None
        earlier = next((message.text for message in reversed(turn.history) if message.author == "user"), "")
        if (rest := self._scopes.all_but_now(earlier, turn)) is not None:
            return rest
        both, commands_of = f"{earlier}, {turn.text}", self._sentences.commands_in(turn.names, turn.room)
        meant = self._dialogue.chosen(earlier, turn.text, turn.names, turn.room, commands_of)
        meant = meant or self._sentences.of_devices(both, turn.names, turn.room)
        meant = meant or self._sentences.learned_in(turn.names, turn.room)(both)
        return leaning(meant) if meant else None

    @staticmethod
    def _sets_a_scene(turn: DialogueTurn) -> bool:
        """Whether a turn is the name of a scene, which is a wish of its own: "good night"."""
        spoken = "".join(_LETTERS.findall(turn.text.casefold()))
        scenes = (one for one in turn.names.devices if one.kind == "scene")
        return any("".join(_LETTERS.findall(name.casefold())) == spoken for one in scenes for name in one.all_names)

    def _names_things_alone(self, turn: DialogueTurn) -> bool:
        """Whether a turn may answer the question which: it names a thing or a place, and is no sentence of its own."""
        grammar, frames = self._sentences.grammar, self._sentences.frames
        if grammar.commands(turn.text, turn.names) or grammar.half(turn.text, turn.names) or frames.asks(turn.text):
            return False
        known = frames.lexicon.known_tokens(turn.text, turn.names)
        return any(token.category in ("device", "kind", "room", "floor", "nickname", "quantity") for token in known)

    # ── the same again, elsewhere or with more ──────────────────────────────────────────────────────

    def elsewhere(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what could not be done, for what is named now: "there are no fans here", "the one in the bedroom"."""
        if not turn.last.tried or turn.last.calls or self._sets_a_scene(turn):
            return None
        if self._says_yes.fullmatch(turn.heard.text.strip(" .,!")):
            return None
        call, words = turn.last.tried[-1], self._sentences.grammar.plain_words(turn.text)
        meant = self._dialogue.elsewhere(call, (), words, turn.names, turn.room)
        return leaning((meant,)) if meant and meant.arguments != call.arguments else None

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
        things = {thing.name.casefold() for thing in turn.last.things}
        bare = self._sentences.frames.without_reason(turn.text)  # "not the milk, there's plenty in the fridge"
        for wanted in (turn, replace(turn, readings=(bare,))) if bare else (turn,):
            meant = self.repetition(wanted)
            removed = meant.commands if meant and all(one.tool == "lists.remove" for one in meant.commands) else ()
            items = {str(item).casefold() for one in removed for item in one.arguments.get("items", ())}
            if items and items <= things:
                return meant
        return None

    def called_off(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the cancelling of what was just set and has not come yet: "don't bother, Grandad's going to do it".

        "Leave it" may also mean that it is right as it is: that is asked, but where somebody else does it.
        """
        last = turn.last.last
        if last is None or not turn.last.changed[-1]:
            return None
        row = self._table.of(last.name)
        is_to_come = (row.adds or last.name == LATER) and (row.when or row.length)
        match = self._calls_off.fullmatch(turn.heard.text.strip(" .,!")[:LONGEST_CHARACTERS]) if is_to_come else None
        if match is None:
            return None
        reason = " ".join(filter(None, (match["because"], match["why"])))
        others = (one.tool.rpartition(".")[2] for one in self._sentences.commands(reason, turn.names, turn.room))
        if not all(deed in TAKING_AWAY for deed in others) or self._sentences.frames.has_value(reason):
            return None  # "leave it, but move the other one to nine"; "forget it, make it eight"
        commands_of = self._sentences.commands_in(turn.names, turn.room)
        meant = self._dialogue.referring(self._cancel_it, turn.exchanges, commands_of, turn.names, turn.room)
        cancels = meant if isinstance(meant, tuple) and len(meant) == 1 else (Command(UNDO, {}),)
        again = any(
            part.kind == "often" for one in moments.find(str(last.arguments.get(row.when))) for part in one.parts
        )
        surely = self._taken_over.search(reason) or (match["surely"] and not reason)
        surely = surely and not again  # of a series only the next may be meant
        return leaning(cancels) if surely else self._questions.whether(self._cancel_it, cancels)

    def left_out(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what leaves out the alarm just set: "leave it off tomorrow"; one that rings once is cancelled."""
        last, match = turn.last.last, self._leaves_out.fullmatch(turn.heard.text.strip(" .,!"))
        if match is None or last is None or last.name != "alarms.set" or len(turn.last.things) != 1:
            return None
        parts = [part for one in moments.find(str(last.arguments.get("when"))) for part in one.parts]
        if any(part.kind == "often" for part in parts):
            skips = {"name": turn.last.things[0].id, **({"day": match["day"]} if match["day"] else {})}
            return leaning((Command("alarms.skip", skips),))
        return leaning((Command("alarms.cancel", {"name": turn.last.things[0].id}),))

    def nowhere(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the question which, where a room is meant that nobody can tell: it is not the one they are in."""
        open_where = self._dialogue.leaves_open_where(turn.text, turn.exchanges)
        frames, text = self._sentences.frames, turn.text
        of_devices = frames.names_one(text, turn.names) or frames.wants_a_deed(text) or frames.asks(text)
        return self._questions.which_device if open_where and of_devices else None

    def talk(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return nothing to do for what goes on with mere talk: "another one", after a joke."""
        talked = bool(turn.exchanges) and not turn.last.tried
        idle = turn.parse.act == "talk" and turn.parse.chance >= SURE_OF_SILENCE
        return NO_DEED if talked and idle and not self._names_one(turn) else None

    def told_whom(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the question whom a message is for, of "tell him, …": it is never told to all."""
        if not self._dialogue.tells_them(turn.text) or BROADCAST not in [one.tool for one in turn.parse.commands]:
            return None
        messages = self._dialogue.messages(turn.text, turn.exchanges, turn.names)
        made = [(name, self._sentences.commands(text, turn.names, turn.room)) for name, text in messages]
        choices = [MeaningChoice(name, commands) for name, commands in made if commands][:2]
        if len(choices) == 1:
            return leaning(choices[0].commands)
        return self._questions.among(choices) if choices else TurnMeaning(reply=self._whom)

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

    # ── when it is, told by another moment ──────────────────────────────────────────────────────────

    def told_moment(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is wanted at a moment that what was spoken of tells: "remind me an hour before".

        Who only asks to be told is told what that is called.
        """
        made: list[Command] = []
        for moment in self._relative_moments.read(turn.text, turn.exchanges) if turn.last.last else ():
            alone = SpokenTurn((moment.text,), replace(turn.heard.turn, history=()), turn.names, (moment.text,))
            commands = [one for one in self._read_whole(alone).commands if one.tool in _AT_A_MOMENT]
            commands = commands or self._look_at(moment, turn) or self._reminder_of(moment, turn)
            if not commands:
                return None
            made += commands
        return leaning(tuple(made)) if made else None

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
        if not turn.exchanges or not meant.commands or any(one.tool != EVENT for one in meant.commands):
            return meant
        made = []
        for one in meant.commands:
            start = self._relative_moments.dated(str(one.arguments.get("start", "")), turn.exchanges)
            made.append(Command(one.tool, {**one.arguments, "start": start}, one.whole))
        return replace(meant, commands=tuple(made))

    def _look_at(self, moment: ToldMoment, turn: DialogueTurn) -> list[Command]:
        """Return the look at a day that was spoken of, which the parser need not be as sure of."""
        parse = self._sentences.parse(moment.text, turn.names, turn.room)
        looks = parse.act == "calendar.list" and parse.chance >= LIKELY_IN_PART
        return [*parse.commands] if looks else []

    def _reminder_of(self, moment: ToldMoment, turn: DialogueTurn) -> list[Command]:
        """Return the reminder of what was spoken of, where a sentence says nothing else to be reminded of."""
        parse = self._sentences.parse(moment.text, turn.names, turn.room)
        is_wish = parse.act == REMINDER and parse.chance >= SURE_OF_THE_ACT
        if not (is_wish or self._relative_moments.tells(turn.text)) or not moment.thing.name:
            return []
        words = self._relative_moments.duty(moment.text) or (" ".join(parse.phrases("T")) if is_wish else "")
        text = self._sentences.grammar.slots.as_task(words) or moment.thing.name
        return [Command(REMINDER, {"text": text, "when": moment.when})]

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
        if isinstance(meant, tuple) and self._are_early(meant, turn):
            learned = self._sentences.learned_in(turn.names, turn.room)
            later = self._dialogue.referring(text, exchanges, learned, turn.names, turn.room)
            if not isinstance(later, tuple) or not later or self._are_early(later, turn):
                return self._questions.whether(text, meant)
            meant = later
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
        if (thing := self._dialogue.first_or_last(turn.text, turn.exchanges)) and thing.topic == command.topic:
            return leaning((self._dialogue.of(command, thing),))
        same = command.arguments.get("device") in turn.before.devices
        return self._questions.which_device if same and self._dialogue.means_another(turn.text) else None

    def _are_early(self, meant: tuple[Command, ...], turn: DialogueTurn) -> bool:
        """Whether deeds would be done at once that a turn wants at another time: "at ten it should go off"."""
        later = turn.parse.act == LATER and turn.parse.chance >= MOST_SURE
        return later and any(one.tool in SWITCHED for one in meant)

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
