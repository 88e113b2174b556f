"""Reads what a turn asks for by its own words, of which grammars make commands or the parser makes sense. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from atlas.understanding import rivals
from atlas.understanding.chances import MOST_SURE, MOST_SURE_OF_SILENCE, SURE_OF_ANOTHER, SURE_OF_THE_ACT
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import is_unknown, name_any, of_home, only_look
from atlas.understanding.concern import SmallTalk
from atlas.understanding.continuations import SWITCHED, Continuations
from atlas.understanding.coverage import Coverage
from atlas.understanding.dialogue import UNDO
from atlas.understanding.dialogue_turn import DialogueTurn, Understand
from atlas.understanding.frame_words import Token
from atlas.understanding.grammar import Half
from atlas.understanding.lasting_deeds import for_a_while
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.parser import NOT_PARSED, SILENT, act_of
from atlas.understanding.patterns import act_pattern, pattern
from atlas.understanding.rivals import Rivals, parsed
from atlas.understanding.self_corrections import SelfCorrections
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.several_moments import SeveralMoments
from atlas.understanding.slots import Command
from atlas.understanding.state_questions import StateQuestions

NOTED = ("lists.add", "tasks.add", "notes.add")  # acts that write down what was said
CONCERNS = ("health", "emergency", "cannot")


class Requests:
    """How one language asks. Each step returns what is meant, or `None` where it reads nothing. Immutable.

    `wanted` reads a turn, whatever its words.
    """

    def __init__(
        self,
        sentences: SentenceReader,
        slips: SelfCorrections,
        coverage: Coverage,
        continuations: Continuations,
        questions: Clarifications,
        wanted: Understand,
    ) -> None:
        tables: Mapping[str, Any] = sentences.grammar.tables
        self._sentences = sentences
        self._grammar, self._frames = sentences.grammar, sentences.frames
        self._slips = slips
        self._coverage = coverage
        self._continuations = continuations
        self._questions = questions
        self._wanted = wanted
        self._small_talk = SmallTalk(tables)
        self._several_moments = SeveralMoments(tables.get("several_moments", {}))
        self._state_questions = StateQuestions(tables.get("state_questions", {}), self._frames.lexicon)
        self._calm = act_pattern(tables, "calm")
        self._says_no = pattern(tables["left"], "no")
        self._says_yes = pattern(tables["left"], "yes")

    def mere_yes(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return nothing to do for a yes where nothing was asked: it does not do the last deed once more."""
        return NO_DEED if self.is_yes(turn.heard.text) else None

    def courtesy(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is said to thanks, praise, excuses and goodbyes that want nothing, whatever was done before."""
        names = {name.casefold() for one in turn.names.devices if one.kind == "scene" for name in one.all_names}
        if any(name.replace(" ", "") in turn.heard.text.casefold().replace(" ", "") for name in names):
            return None  # "good night, thanks", where that is a scene
        if self._grammar.wants_silence(turn.heard.text) or self._frames.names_one(turn.heard.text, turn.names):
            return None  # "okay, okay, enough", of what rings; "the star", of two lamps
        is_answer = bool(turn.history) and turn.history[-1].text.endswith("?")
        says = self._small_talk.courtesy(turn.heard.verbatim[0], outright=True, is_answer=is_answer)
        return TurnMeaning(reply=says) if says else None

    def is_yes(self, text: str) -> bool:
        """Tell whether a text is a yes and nothing more."""
        return bool(self._says_yes.fullmatch(text.strip(" .,!")))

    def how_things_are(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the look at all that can be in a state, where no kind is named: "is anything still on upstairs?"."""
        spoken_of = [one for one in turn.names.devices if one.name in turn.before.devices]
        looks = self._state_questions.read(turn.text, turn.names, turn.room, spoken_of)
        return TurnMeaning(commands=looks) if looks else None

    def of_devices(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is wanted of devices or asked about them; "a bit brighter" is about those just spoken of."""
        if not of_home(self._grammar.commands(turn.text, turn.names)):
            return None
        commands = self._sentences.of_devices(turn.text, turn.names, turn.room)
        if not commands or any(map(self._grammar.is_negated, turn.readings[1:])):
            return None
        leans, parse = None, turn.parse
        of_a_place = turn.before.devices and not self._frames.names_one(turn.text, turn.names)
        if of_a_place and parse.is_of_devices and parse.named:  # "and off in the bathroom", of the heating
            return parsed(parse, turn.before)
        if not name_any(commands):
            leans = self._continuations.reference(turn)
            if not leans and all(one.tool in ("home.adjust", "home.set") for one in commands):
                leans = self._continuations.devices_before(turn)
        return leans or self._reconsidered(commands, turn)

    def negation(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is wanted in spite of a "not": "it's not warm enough"; nothing where a worse reading has it."""
        only_no = self._says_no.fullmatch(turn.heard.text.strip(" .,!"))  # and nothing was asked
        if not only_no and not any(self._grammar.is_negated(text, turn.names) for text in turn.readings):
            return None
        parse = turn.parse
        if only_no or not self._grammar.is_negated(turn.text, turn.names):
            return NO_DEED
        if self._takes_back_nothing(turn):
            return NO_DEED
        if parse.is_sure(negated=True):
            return parsed(parse, turn.before)
        if parse.is_sure() and not parse.looks:
            return self._questions.about(parse, parse.commands)
        if parse.choices and parse.act not in SILENT:
            return self._questions.among(parse.choices[:1])
        return self._asked_first(turn)

    def command(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the commands of the first reading that is one."""
        commands_of = self._sentences.commands_in(turn.names, turn.room)
        commands = next(filter(None, map(commands_of, turn.readings)), ())
        if not commands:
            return None
        stops = commands[0].tool == "alarms.stop" and bool(turn.before.devices)
        if stops and (leans := self._continuations.reference(turn)):
            return leans  # "stop it", of what was just set going
        if turn.parse.is_sure() and any(is_unknown(command, turn.names) for command in commands):
            strange = self._names_another(commands, turn)
            return TurnMeaning(commands=commands) if strange else parsed(turn.parse, turn.before)
        return self._reconsidered(commands, turn)

    def _names_another(self, commands: Sequence[Command], turn: DialogueTurn) -> bool:
        """Whether a name that nothing here has is taken for what was spoken of before: "the pool light"."""
        meant = {one.arguments.get("device") for one in turn.parse.commands}
        names = [str(one.arguments["device"]) for one in commands if is_unknown(one, turn.names)]
        strange = not any(self._frames.knows_all(one, turn.names) for one in names)
        return strange and meant <= {*turn.before.devices}

    def at_several_moments(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what is wished for several moments, once for each: "wake me at six and at half past six"."""

        def commands_of(text: str) -> Sequence[Command]:
            return self._wanted(turn.heard.saying(text)).commands

        moments = self._several_moments
        ways = (moments.read, moments.read_each, moments.read_events)
        several = next(filter(None, (read(turn.text, commands_of) for read in ways)), ())
        return TurnMeaning(commands=several) if several else None

    def joint_commands(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return several commands in one sentence, of which one leaves out what the other says."""
        if self._frames.is_to_somebody(turn.text, turn.names):
            return None
        commands_of = self._sentences.commands_in(turn.names, turn.room)
        several = self._slips.joint_commands(turn.text, turn.names, commands_of)
        return TurnMeaning(commands=several) if several else None

    def parsed_request(self, turn: DialogueTurn) -> TurnMeaning:
        """Return what no grammar has: what the parser is sure of, half a command, a question, or nothing at all.

        Only the first reading counts: a question about what may have been misheard would not be calm.
        """
        text, parse = turn.text, turn.parse
        if self._small_talk.answer(text, self._grammar.plain_words(text)):
            return NO_DEED
        if self._says_nothing_new(turn) or self._takes_back_nothing(turn):
            return NO_DEED
        half = self._sentences.half(text, turn.names, turn.room)
        if not parse.is_sure() and half is None and (subject := self._another_subject(turn)):
            return subject
        certain = parse.chance >= SURE_OF_ANOTHER and not (parse.looks and isinstance(half, Half))
        if parse.is_sure() and (half is None or certain):
            return parsed(parse, turn.before)
        if half is not None:
            return TurnMeaning(reply=half) if isinstance(half, str) else TurnMeaning(half=half)
        if parse.half and parse.chance >= SURE_OF_THE_ACT:
            return TurnMeaning(half=parse.half)
        if refused := self._frames.refused(text, turn.names, turn.room):
            return TurnMeaning(commands=refused)
        unclear = parse.unclear and parse.chance >= SURE_OF_THE_ACT
        if unclear and (only := self._only_one_here(turn)):
            return TurnMeaning(commands=only)
        if unclear or self._frames.is_unclear(text, turn.names):
            return self._questions.which_device
        if parse.choices:
            likely = parse.choices[0].commands
            lasting = for_a_while(likely) if self._coverage.only_lasts(likely, parse) else ()
            return self._questions.about(parse, lasting) if lasting else self._questions.among(parse.choices)
        says_what = any(one.label[-1:] == "T" for one in parse.pieces)  # "do you want milk or juice" is no wish
        if parse.act in NOTED and parse.chance >= SURE_OF_THE_ACT and not parse.commands and not says_what:
            return self._questions.which_device  # "put it on the list, would you"
        grave = parse.act in CONCERNS and parse.chance >= SURE_OF_THE_ACT and not self._calm.search(text)
        return self._asked_first(turn) or TurnMeaning(concern=parse.act if grave else "")

    def _says_nothing_new(self, turn: DialogueTurn) -> bool:
        """Whether a turn names nothing, and would only do once more what was just done: "I need a wee"."""
        commands, done = turn.parse.commands, [(call.name, dict(call.arguments)) for call in turn.last.calls]
        switched = commands and all(one.tool in SWITCHED for one in commands) and not turn.parse.named
        return bool(switched) and all((one.tool, dict(one.arguments)) in done for one in commands)

    def _takes_back_nothing(self, turn: DialogueTurn) -> bool:
        """Whether a change would be taken back in a talk in which none was made: "oh dear, no, it was Friday"."""
        parse, changed = turn.parse, any(any(one.changed) for one in turn.exchanges)
        return parse.act == UNDO and parse.chance < MOST_SURE and bool(turn.exchanges) and not changed

    def _another_subject(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return a sure deed on a thing that is named, which only what was done before made doubtful."""
        parser = self._sentences.parser
        named = turn.before.act and parser and parser.names_something(turn.text, turn.names)
        alone = self._sentences.parse(turn.text, turn.names, turn.room) if named else NOT_PARSED
        return TurnMeaning(commands=alone.commands) if alone.named and alone.is_of_devices else None

    def _only_one_here(self, turn: DialogueTurn) -> tuple[Command, ...]:
        """Return a deed on the only device of the room that it can be done to: "unlock it", where there is one door."""
        here = [device for device in turn.names.devices if turn.room and device.room == turn.room]
        act = turn.parse.act
        tokens = (Token("device", device, device.name) for device in here)
        made = [self._frames.deed(act, turn.text, [token], "", turn.names, turn.room) for token in tokens]
        able = [commands for commands in made if commands]
        verbs = {act, {"open": "unlock", "close": "lock"}.get(act, act)}
        by_its_verb = len(able) == 1 and {act_of(one.tool, one.arguments) for one in able[0]} <= verbs
        return able[0] if by_its_verb else ()  # to turn "that thing" off shuts no garage

    def _reconsidered(self, commands: Sequence[Command], turn: DialogueTurn) -> TurnMeaning:
        """Return commands of a grammar, or what the parser is certain of in their place."""
        text, names, room = turn.heard.text, turn.names, turn.room
        public, asked_first = partial(self._sentences.by_public, text, names, room), partial(self._asked_first, turn)
        both = Rivals(tuple(commands), turn.parse, turn.before, text, names, room, self._frames, public, asked_first)
        return rivals.meant(both)

    def _asked_first(self, turn: DialogueTurn) -> TurnMeaning:
        """Return what is wanted before somebody says why, in words that nothing reads: "…, I can't see a thing"."""
        first, parse = self._frames.first_clause(turn.heard.text), turn.parse
        if not first or self._grammar.is_negated(first, turn.names):
            return NO_DEED
        nothing = parse.act == "nothing" and parse.chance >= SURE_OF_THE_ACT
        if nothing and parse.chance >= MOST_SURE_OF_SILENCE:
            return NO_DEED
        meant = self._wanted(turn.heard.saying(first))
        of_devices = not nothing and of_home(meant.commands)
        return meant if of_devices or only_look(meant.commands) else NO_DEED
