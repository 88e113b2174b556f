"""Understand a turn once: its words and what was said before → one value, which everybody who answers looks at. Pure.

Whoever answers parses nothing. What a turn leans on is its history: the last exchange alone, and only for two minutes
(see dialogue.py). Where a recogniser offers several readings, all of them are read here, in its order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from atlas.conversation import HOUSE, Message, Turn
from atlas.understanding.amends import Amends
from atlas.understanding.answering import Answering, FactQuestion
from atlas.understanding.choices import Choices, ChoiceWords, MeaningChoice
from atlas.understanding.custom import CustomMeaning, CustomReader
from atlas.understanding.dialect import STRONG, Dialect
from atlas.understanding.dialogue import LATER, UNDO, Dialogue, EarlierTurn, recent
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import OPEN_COMMAND_SECONDS, Command, Grammar, Half
from atlas.understanding.names import NOBODY, Names
from atlas.understanding.parser import LONGEST_CHARACTERS, NOT_PARSED, NOTHING, SILENT, Before, Parse, Parser, act_of
from atlas.understanding.spoken_tools import open_spoken_tools
from atlas.understanding.which import Which
from atlas.understanding.wholes import Wholes

CERTAIN = 0.6  # of the parser, that nothing is asked for which a look answers
CERTAIN_OF_ANOTHER = 0.85  # that another tool is meant than a grammar read
MOST_CERTAIN = 0.95  # that one thing is meant where a grammar read several
CERTAIN_OF_SILENCE = 0.9  # that nothing is meant, where a grammar read a deed
MOST_PARSED = 2  # things that "it" may mean, in sentences that only the parser reads: each takes milliseconds
LOOK_TOPICS = {"look", "timers.left", "calendar.find", "calendar.list", "email.search", "email.list"}
CONCERNS = ("health", "emergency", "cannot")
PAST = "conversation."  # how commands about what was said are called; no tool server has them

That = Literal["", "said", "talk", "fact"]  # "forget that"; and what was meant by it: the talk, or a fact


@dataclass(frozen=True, slots=True)
class Understanding:
    """What one turn means, as far as it is understood without a model."""

    text: str
    commands: tuple[Command, ...] = ()  # to be done, in their order
    half: Half | None = None  # a command that lacks one thing, and the question for it
    choices: Choices | None = None  # one or two that it may mean, and the question about them
    reply: str = ""  # what is to be said, because nothing is to be done: "All right."
    leans: bool = False  # on the last exchange: "no, at five", "and eggs", the answer to a question
    negated: bool = False  # some reading says not to do something
    question: FactQuestion | None = None  # that something told before may answer
    past: Command | None = None  # a search or a wish to forget, of what was said
    past_beside: bool = False  # that, joined with something else
    that: That = ""
    restart: bool = False  # what was said before is done with: "start over"
    help: bool = False  # somebody asks what can be asked for
    custom: CustomMeaning | None = None  # one of the house's own sentences; its commands are above
    concern: str = ""  # "health", "emergency" or "cannot": what nothing here can do anything about, and a parser named
    plain: str = ""  # the words without punctuation and politeness

    @property
    def empty(self) -> bool:
        """Whether no deed, question or reply was understood."""
        return not (self.commands or self.half or self.choices or self.reply or self.custom)


@dataclass(frozen=True, slots=True)
class _Heard:
    """A turn on its way: all its readings, best first, and what has a name in this house."""

    readings: tuple[str, ...]
    turn: Turn
    names: Names


@dataclass(frozen=True, slots=True)
class _Talk:
    """A turn beside what was done before it."""

    heard: _Heard
    readings: tuple[str, ...]  # without what only joins them to what was before
    exchanges: tuple[EarlierTurn, ...]
    last: EarlierTurn
    before: Before
    parse: Parse = NOT_PARSED

    @property
    def names(self) -> Names:
        return self.heard.names

    @property
    def room(self) -> str:
        return self.heard.turn.actor.room

    @property
    def history(self) -> Sequence[Message]:
        return recent(self.heard.turn)


RINGING_TOOLS = ("timers.", "alarms.", "reminders.")


class Public(Protocol):
    """The public grammar, over the names of this house."""

    def read(self, text: str, names: Names, room: str) -> tuple[Command, ...] | Half | str | None:
        """Return the commands that `text` is from its first word to its last, or half a command; `None` for neither.

        A text is what to say to words that ask for no deed: "never mind".

        `room` is where the speaker stands; "" when that is not known. Takes a few milliseconds, and no I/O.
        """
        ...


class Reader:
    """Reads turns in one language. A turn takes a few milliseconds and no I/O.

    Immutable, but for what `custom` returns: the house's own sentences as they are now, which go before all others.
    """

    def __init__(
        self,
        grammar: Grammar,
        public: Public | None = None,
        parser: Parser | None = None,
        custom: Callable[[], CustomReader | None] = lambda: None,
    ) -> None:
        tables = grammar.tables
        self.grammar = grammar
        self._public = public
        ordinals = [re.compile(way, re.IGNORECASE) for way in tables["ordinals"]]
        self.choices = ChoiceWords(tables, ordinals)
        self._which_device: str = tables.get("frames", {}).get("which", "")
        self._frames = parser.frames if parser else Frames(tables.get("frames", {}), grammar.digits)
        self._parser = parser
        self._custom = custom
        self._dialect = Dialect(tables)
        self._corrects = re.compile(tables.get("acts", {}).get("corrects", "(?!)"), re.IGNORECASE)
        self._taken_back = re.compile(tables.get("acts", {}).get("taken_back", "(?!)"), re.IGNORECASE)
        self._dialogue = Dialogue(grammar, self.choices, self._frames)
        self._amends = Amends(grammar, self._dialogue)
        self._wholes = Wholes(grammar, self._dialogue)
        self._which = Which(grammar)
        self._answering = Answering(tables) if "answering" in tables else None
        that: Mapping[str, str] = tables.get("forget_that", {})
        self._that = {name: re.compile(words, re.IGNORECASE) for name, words in that.items()}
        self._says_left: str = tables["left"]["says"]
        self._restart = re.compile(tables["restart"], re.IGNORECASE)
        self._help = re.compile(tables["help"]["asked"], re.IGNORECASE)

    def understand(self, turn: Turn, names: Names = NOBODY, waiting: Choices | None = None) -> Understanding:
        """Return what `turn` means in a house with these names, where one question may be `waiting` for its answer.

        When any reading says "don't", none of them is acted on: to mishear that is worse than to ask again.
        """
        heard = _Heard(tuple(map(_visible, (turn.text, *turn.alternatives))), turn, names)
        besides = self._besides(heard)
        if besides["restart"]:
            return Understanding(turn.text, **besides)
        if waiting and (chosen := self._chosen(besides["plain"], waiting)) is not None:
            return Understanding(turn.text, **(besides | chosen))
        if custom := self._of_the_house(heard):
            plain = besides["plain"]
            return Understanding(turn.text, commands=custom.commands, custom=custom, plain=plain)
        if turn.possible and (unsure := self._possible(turn, names)):
            return Understanding(turn.text, **(besides | unsure))
        meant = self._asked_for(heard)
        return Understanding(turn.text, **(besides | (self._doubted(heard, meant) if turn.doubtful else meant)))

    def custom_examples(self, tools: Collection[str]) -> Sequence[str]:
        """Return how those of the house's own sentences are said for which these tools are enough."""
        custom = self._custom()
        return custom.sentences.possible(tools) if custom else ()

    def read(self, text: str, names: Names = NOBODY) -> Understanding:
        """Return what words mean by themselves, with nothing before them: what a voice asks while somebody speaks."""
        return self.understand(Turn("", text, HOUSE, 0.0), names)

    def settle_seconds(self, text: str, names: Names = NOBODY) -> float | None:
        """Return how long a speaker must be silent after `text` before it may be acted on; `None`: it is no command."""
        meant = self.read(text, names)
        if meant.custom:
            return OPEN_COMMAND_SECONDS if meant.custom.loose else 0.0
        if not meant.commands:
            return None
        return 0.0 if meant.commands[-1].whole else OPEN_COMMAND_SECONDS

    def is_about_ring(self, text: str, names: Names = NOBODY) -> bool:
        """Tell whether `text`, said to what rings without a wake word, may be meant for it: "stop", "snooze".

        Other talk goes on beside a ring, so what only holds such a word ("the bus stop is there") is not.
        """
        meant = self.read(text, names)
        tools = {command.tool for command in meant.commands} | set(meant.half.tools if meant.half else ())
        return self.grammar.wants_silence(text) or any(tool.startswith(RINGING_TOOLS) for tool in tools)

    def commands(self, text: str, names: Names = NOBODY, room: str = "") -> tuple[Command, ...]:
        """Return the commands that `text` is by itself; of devices, who knows their names goes first."""
        commands = self.grammar.commands(text, names)
        if any(not one.tool.startswith("home.") for one in commands):
            public = self._by_public(text, names, room)
            return public if isinstance(public, tuple) and _reads_closer(public, commands) else commands
        if of_devices := self._of_devices(text, names, room):
            return of_devices
        public = self._by_public(text, names, room)
        return commands or (public if isinstance(public, tuple) else ())

    def _possible(self, turn: Turn, names: Names) -> dict[str, Any] | None:
        """Return what comes of an utterance that may have been one of two; `None` where its text stands for itself.

        Two that come to the same are one; and what only looks is done, for the answer shows what was heard.
        """
        alone = replace(turn, alternatives=(), possible=(), doubtful=False, history=())
        meant: dict[str, MeaningChoice] = {}
        for text in turn.possible:
            commands = self.understand(replace(alone, text=text), names).commands
            if commands:
                meant.setdefault(repr(commands), MeaningChoice(_label(text), commands))
        if not meant or (len(meant) == 1 and turn.text in turn.possible):
            return None
        first, *others = meant.values()
        if _only_looks(first.commands):
            return {"commands": first.commands}
        deeds = [first, *(one for one in others if not _only_looks(one.commands))]
        return {"choices": self.choices.ask(deeds[:2])}

    def _doubted(self, heard: _Heard, meant: dict[str, Any]) -> dict[str, Any]:
        """Return what comes of words that were hardly heard: a deed is asked about first, and a look is not taken."""
        commands = meant.get("commands", ())
        if not commands or meant.get("leans") or self.grammar.wants_silence(heard.readings[0]):
            return meant
        if _only_looks(commands):
            return {}
        return {"choices": self.choices.ask([MeaningChoice(_label(heard.readings[0]), commands)])}

    def _of_the_house(self, heard: _Heard) -> CustomMeaning | None:
        """Return which of the house's own sentences a turn is; any words in it may not say "don't"."""
        if not (custom := self._custom()):
            return None
        meant: CustomMeaning | None = None
        for text in heard.readings:
            spoken = dict.fromkeys((self.grammar.unmarked(text), self.grammar.plain_words(text)))
            meanings = (custom.read(words, heard.names, heard.turn.actor.room) for words in spoken)
            meaning = next(filter(None, meanings), None)
            if (meaning is None or meaning.loose) and self.grammar.is_negated(text, heard.names):
                return None
            meant = meant or meaning
        return meant

    def _of_devices(self, text: str, names: Names, room: str, before: Sequence[str] = ()) -> tuple[Command, ...]:
        """Return what is wanted of devices or asked about them, in the public words or in whatever order they come."""
        look = self._frames.question(text, names, room)
        free = (look,) if look else self._frames.read(text, names, room, before)
        if look and (wanted := self._frames.politely(text, names, room)):
            free, look = wanted, None
        public = self._by_public(text, names, room) if names.devices else None
        if not isinstance(public, tuple) or not all(one.tool.startswith("home.") for one in public):
            return free
        if look and all(one.tool != "home.state" for one in public) and self._frames.only_asks(text):
            return free  # "worktop light on?"
        if free and any(_is_nowhere(one, names) for one in public):
            return free  # of the gate, where the house has a garage door
        swallowed = len(free) > 1 and "query" in public[0].arguments  # two deeds, taken for the name of a song
        return free if swallowed else public

    def _by_public(self, text: str, names: Names, room: str) -> tuple[Command, ...] | Half | str | None:
        """Return what the public grammar makes of words; of those with a "don't", only what it has itself.

        "I don't like this song" is one of its sentences. What takes any words would take a "don't" as well.
        """
        if self._public is None:
            return None
        public = self._public.read(text, names, room)
        if self.grammar.is_negated(text, names) and not (isinstance(public, tuple) and all(map(_says_all, public))):
            return None
        return public

    def _reconsidered(
        self, commands: tuple[Command, ...], parse: Parse, heard: _Heard, before: Before
    ) -> dict[str, Any]:
        """Return commands of a grammar, or what the parser is certain of in their place.

        "Was it locked all night" has the words of a question that a look answers, and is none; "set the mower off"
        has those that turn it off. A whole sentence of the public grammar stays what it is.
        """
        unchanged = {"commands": commands}
        if before.act and commands[0].tool == "alarms.stop" and parse.is_sure():
            return _learned(parse, before)  # "stop it", of what was just set going
        if parse.chance < CERTAIN:
            return unchanged
        if commands[0].tool == "weather.now" and parse.act == "look" and parse.named and parse.commands:
            look = self._frames.question(heard.readings[0], heard.names, heard.turn.actor.room)
            return {"commands": (look,)} if look else _learned(parse, before)  # a sensor of this house knows it better
        more = parse.act == "look" and len(parse.commands) > len(commands)
        if parse.act == "cannot" and self._is_no_place(commands[0].arguments.get("place", ""), heard.names):
            return {"concern": parse.act}  # "is Tom cross with me"
        nowhere = parse.act == "presence.where" and self._is_no_place(
            commands[0].arguments.get("value", ""), heard.names
        )
        if (more or nowhere) and parse.commands:
            return _learned(parse, before)
        public = self._by_public(heard.readings[0], heard.names, heard.turn.actor.room)
        if commands == public and not any("query" in one.arguments for one in commands):
            return unchanged
        if parse.act in SILENT:
            grave = parse.act in ("health", "emergency") or parse.chance >= CERTAIN_OF_SILENCE
            topics = {_topic(one) for one in commands}
            return self._asked_first(heard, parse) if grave or topics <= LOOK_TOPICS else unchanged
        if not parse.commands or parse.chance < CERTAIN_OF_ANOTHER:
            return unchanged
        tools = {one.tool for one in commands}
        if tools == {one.tool for one in parse.commands} and not all(tool.startswith("home.") for tool in tools):
            return unchanged  # the grammar reads names, lists and numbers of the same tool more closely
        acts = {act_of(one.tool, one.arguments) for one in commands}
        as_many = len(commands) == len(parse.commands)
        if as_many and acts == {parse.act} and all({"device", "measure"} & {*one.arguments} for one in commands):
            return unchanged  # "and the big light off", after the lamp; "how damp is it", after the light
        if parse.chance < MOST_CERTAIN and (len(commands) > 1 or LATER in {one.tool for one in commands}):
            return unchanged
        return _learned(parse, before)

    def _is_no_place(self, words: object, names: Names) -> bool:
        return bool(words) and not self._frames.lexicon.tokens(str(words), names, asking=True)

    def _half(self, text: str, names: Names, room: str) -> Half | str | None:
        """Return half of a command that `text` is, and the question for what it lacks; or what to say to it."""
        if half := self.grammar.half(text, names):
            return half
        public = self._by_public(text, names, room)
        return public if isinstance(public, (Half, str)) else None

    def _chosen(self, plain: str, waiting: Choices) -> dict[str, Any] | None:
        """Return what an answer to a waiting question chooses; `None` when it is no answer."""
        commands = self.choices.answer(plain, waiting)
        if commands is None:
            return None
        return {"commands": commands, "leans": True} if commands else {"reply": self._says_left}

    def _besides(self, heard: _Heard) -> dict[str, Any]:
        """Return what is no command of the house: questions about what was told or said, and for help."""
        text, turn = heard.readings[0], heard.turn
        plain = self.grammar.plain_words(text)
        negated = any(self.grammar.is_negated(reading, heard.names) for reading in heard.readings)
        commands = next(filter(None, (self.grammar.commands(text, heard.names) for text in heard.readings)), ())
        past = any(command.tool.startswith(PAST) for command in commands) and not negated
        asks_for_help = any(map(self._help.fullmatch, (self.grammar.unmarked(text), plain)))
        return {
            "plain": plain,
            "negated": negated,
            "question": self._answering.question(text) if self._answering else None,
            "past": commands[0] if past and len(commands) == 1 else None,
            "past_beside": past and len(commands) > 1,
            "that": next((name for name, words in self._that.items() if words.fullmatch(plain)), ""),
            "restart": any(map(self._restart.fullmatch, (self.grammar.unmarked(text), plain))),
            "help": asks_for_help and not turn.instructions,
        }

    def _asked_first(self, heard: _Heard, parse: Parse) -> dict[str, Any]:
        """Return what is wanted before somebody says why, in words that nothing reads: "…, I can't see a thing"."""
        first = self._frames.first_clause(heard.readings[0])
        if not first or self.grammar.is_negated(first, heard.names):
            return {}
        meant = self._asked_for(replace(heard, readings=(first,)))
        commands = meant.get("commands", ())
        nothing = parse.act == "nothing" and parse.chance >= CERTAIN
        if nothing and parse.chance >= CERTAIN_OF_SILENCE:
            return {}
        of_devices = not nothing and all(one.tool.startswith("home.") for one in commands)
        return meant if of_devices or _only_looks(commands) else {}

    def _wanted(self, text: str, last: EarlierTurn, names: Names) -> str:
        """Return what of a text is wanted, where it is about what was done last: without why, and without "I'm in"."""
        wanted = self._frames.without_asides(text, names)
        whole = self._amends.slips(text) or self._dialogue.chooses(text)
        return wanted if wanted and last.of_devices and not whole else text

    def _asked_for(self, heard: _Heard) -> dict[str, Any]:
        """Return what is to be done, said or asked; of regional speech, as it would be written."""
        written, count = self._dialect.written(heard.readings[0], heard.names)
        plainly = {} if count >= STRONG else self._asked_as_said(heard)
        if not written or plainly.get("commands") or plainly.get("leans"):
            return plainly
        meant = self._asked_as_said(replace(heard, readings=(written,)))
        commands = meant.get("commands", ())
        if commands and _only_looks(commands) and not self._frames.only_asks(written):
            return plainly
        return meant if commands or count >= STRONG else plainly

    def _is_certain_of(self, text: str, heard: _Heard) -> bool:
        """Whether a deed is wanted, though the words end as if it were taken back: "quieter, I can hear it not"."""
        parse = self._parser.parse(text, heard.names, heard.turn.actor.room) if self._parser else NOT_PARSED
        return bool(parse.commands) and parse.chance >= MOST_CERTAIN

    def _asked_as_said(self, heard: _Heard) -> dict[str, Any]:
        """Return what the words of a turn mean: the first of the ways in which the readings can be meant."""
        as_spoken = (
            *(self._taken_back_at_the_end, self._answer, self._which_one, self._one_of_several, self._set_anew),
            *(self._correction, self._left_alone, self._repeated, self._slip),
        )
        without_slips = (
            *(self._choice, self._set_anew, self._deed_or_look, self._negated, self._command, self._reference),
            *(self._joined, self._parsed),
        )
        talk = self._talk(heard)
        meant = next((one for way in as_spoken if (one := way(talk)) is not None), None)
        if meant is None:
            talk = self._without_slips(talk)
            meant = next((one for way in without_slips if (one := way(talk)) is not None), {})
        return meant

    def _talk(self, heard: _Heard) -> _Talk:
        exchanges = tuple(self._dialogue.exchanges(recent(heard.turn)))
        last = exchanges[0] if exchanges else EarlierTurn((), (), ())
        before, room, readings = _before(exchanges), heard.turn.actor.room, heard.readings
        if before.act:
            readings = tuple(self._dialogue.placed(text, last, room) for text in readings)
        return _Talk(heard, readings, exchanges, last, before)

    def _without_slips(self, talk: _Talk) -> _Talk:
        """Return a turn without the "no, I mean" that joins it to what was done before, and as the parser reads it."""
        readings = talk.readings
        if talk.before.act:
            readings = tuple(self._corrects.sub("", text) for text in readings)
            readings = tuple(self._amends.contrasted(text) or text for text in readings)
            readings = tuple(self._wanted(text, talk.last, talk.names) for text in readings)
        parse = self._parser.parse(readings[0], talk.names, talk.room, talk.before) if self._parser else NOT_PARSED
        return replace(talk, readings=readings, parse=parse)

    def _commands_in(self, talk: _Talk) -> Callable[[str], tuple[Command, ...]]:
        return lambda text: self.commands(text, talk.names, talk.room)

    def _learned_in(self, talk: _Talk) -> Callable[[str], tuple[Command, ...]]:
        def learned(text: str) -> tuple[Command, ...]:
            parse = self._parser.parse(text, talk.names, talk.room) if self._parser else NOT_PARSED
            return parse.commands if parse.is_sure() else ()

        return learned

    def _taken_back_at_the_end(self, talk: _Talk) -> dict[str, Any] | None:
        """Return nothing to do for "…, no, leave it"."""
        back = any(self._taken_back.search(text[:LONGEST_CHARACTERS]) for text in talk.heard.readings)
        first = talk.heard.readings[0]
        return {} if back and not self._dialogue.chooses(first) and not self._is_certain_of(first, talk.heard) else None

    def _answer(self, talk: _Talk) -> dict[str, Any] | None:
        """Return what an answer to the house's last question comes to, or a choice of one of the things it named."""
        answers = (self._amends.answer(text, talk.history) for text in talk.readings)
        if answer := next((one for one in answers if one), None):
            return _leaning(answer if isinstance(answer, str) else (answer,))
        for text in talk.readings:
            if chosen := self._which.answer(text, talk.history):
                return _leaning(chosen)
            if self.commands(text, talk.names, talk.room):
                break  # and a worse reading of it is no answer
        return None

    def _which_one(self, talk: _Talk) -> dict[str, Any] | None:
        """Return the deed of the sentence before on the device named now: "turn it up", "which one?", "the radio"."""
        if not talk.history or talk.history[-1].text != self._which_device:
            return None
        earlier = next((message.text for message in reversed(talk.history) if message.author == "user"), "")
        first, commands_of = talk.readings[0], self._commands_in(talk)
        meant = self._dialogue.chosen(earlier, first, talk.names, talk.room, commands_of)
        meant = meant or self._of_devices(f"{earlier}, {first}", talk.names, talk.room)
        meant = meant or self._learned_in(talk)(f"{earlier}, {first}")
        return _leaning(meant) if meant else None

    def _one_of_several(self, talk: _Talk) -> dict[str, Any] | None:
        """Return a question where several things were done: the last of them may not be what "cancel it" means."""
        if len(talk.last.calls) < MOST_PARSED:
            return None
        commands_of = self._commands_in(talk)
        unsure = self._dialogue.referring(talk.readings[0], talk.exchanges, commands_of, talk.names, talk.room)
        return {"choices": unsure} if isinstance(unsure, Choices) else None

    def _set_anew(self, talk: _Talk) -> dict[str, Any] | None:
        """Return the last deed with another value: "oh no, I can't hear it now, louder"."""
        commands = self._dialogue.set_anew(talk.readings[0], talk.last)
        return _leaning(commands) if commands else None

    def _correction(self, talk: _Talk) -> dict[str, Any] | None:
        """Return the last command as it was really meant: "no, at five"."""
        ways = (
            self._amends.correction(text, talk.history, talk.exchanges, talk.names, talk.room) for text in talk.readings
        )
        corrected = next((commands for commands in ways if commands), None)
        return _leaning(corrected) if corrected else None

    def _left_alone(self, talk: _Talk) -> dict[str, Any] | None:
        left = self._amends.left_alone(talk.readings[0])
        return {"reply": left} if left else None

    def _repeated(self, talk: _Talk) -> dict[str, Any] | None:
        """Return the last command, done to more or once more: "and the hall too"."""
        commands_of = self._commands_in(talk)
        ways = (self._dialogue.follow(text, talk.last, commands_of) for text in talk.readings)
        follows = next((commands for commands in ways if commands), None)
        return _leaning(follows) if follows else None

    def _slip(self, talk: _Talk) -> dict[str, Any] | None:
        """Return what a sentence means that corrects itself: "the hall, no, the landing"."""
        slipped = self._wholes.corrected(talk.readings[0], self._commands_in(talk))
        return {"commands": slipped} if slipped else None

    def _choice(self, talk: _Talk) -> dict[str, Any] | None:
        """Return what is meant of the things just spoken of: "all but the lamp" has a word that forbids."""
        first = talk.readings[0]
        chooses = self._dialogue.chooses(first) or self._amends.says_the_same(first)
        return self._leaning_on_before(talk) if chooses else None

    def _leaning_on_before(self, talk: _Talk) -> dict[str, Any] | None:
        """Return what a turn means of what was done just before it; `None` when it does not lean on that."""
        first, parse, last, commands_of = talk.readings[0], talk.parse, talk.last, self._commands_in(talk)
        ways = (
            self._amends.follow_up(text, talk.history, talk.exchanges, talk.names, talk.room) for text in talk.readings
        )
        if more := next((command for command in ways if command), None):
            return _leaning((more,))
        if parse.named and parse.is_sure():  # "and shut the curtains" is not about the lamp before
            return _learned(parse, talk.before)
        meant = self._dialogue.referring(first, talk.exchanges, commands_of, talk.names, talk.room)
        idle = parse.act in SILENT and parse.act != "cannot" and parse.chance >= CERTAIN
        few = last.of_devices and 0 < len(last.things) <= MOST_PARSED
        if meant is None and few and not idle and not self._frames.names_one(first, talk.names):
            meant = self._dialogue.referring(first, talk.exchanges, self._learned_in(talk), talk.names, talk.room)
        if meant is None:
            return None
        if meant == ():
            return {"reply": self._which_device}
        return {"choices": meant} if isinstance(meant, Choices) else _leaning(meant)

    def _about_them(self, talk: _Talk) -> dict[str, Any] | None:
        """Return what is wanted of the devices just spoken of: "right, I'm in, shut it"; "half"."""
        spoken_of = [thing.name for thing in talk.last.things if thing.topic == "home"]
        meant = self._of_devices(talk.readings[0], talk.names, talk.room, spoken_of) if spoken_of else ()
        return _leaning(meant) if meant else None

    def _deed_or_look(self, talk: _Talk) -> dict[str, Any] | None:
        """Return what is wanted of devices or asked about them; "a bit brighter" is about those just spoken of."""
        if any(not one.tool.startswith("home.") for one in self.grammar.commands(talk.readings[0], talk.names)):
            return None
        commands = self._of_devices(talk.readings[0], talk.names, talk.room)
        if not commands or any(map(self.grammar.is_negated, talk.readings[1:])):
            return None
        leaning = None
        if not _names_any(commands):
            leaning = self._leaning_on_before(talk)
            if not leaning and all(one.tool in ("home.adjust", "home.set") for one in commands):
                leaning = self._about_them(talk)
        return leaning or self._reconsidered(commands, talk.parse, talk.heard, talk.before)

    def _negated(self, talk: _Talk) -> dict[str, Any] | None:
        """Return what is wanted in spite of a "not": "it's not warm enough"; nothing where a worse reading has it."""
        if not any(self.grammar.is_negated(text, talk.names) for text in talk.readings):
            return None
        parse = talk.parse
        if not self.grammar.is_negated(talk.readings[0], talk.names):
            return {}
        if parse.is_sure(negated=True):
            return _learned(parse, talk.before)
        if parse.choices and parse.is_sure():
            return {"choices": self.choices.ask(parse.choices[:1])}
        return self._asked_first(talk.heard, parse)

    def _command(self, talk: _Talk) -> dict[str, Any] | None:
        """Return the commands of the first reading that is one."""
        commands = next(filter(None, (self.commands(text, talk.names, talk.room) for text in talk.readings)), ())
        if not commands:
            return None
        stops = commands[0].tool == "alarms.stop" and bool(talk.before.devices)
        if stops and (leaning := self._leaning_on_before(talk)):
            return leaning  # "stop it", of what was just set going
        if talk.parse.is_sure() and any(_is_unknown(command, talk.names) for command in commands):
            return _learned(talk.parse, talk.before)
        return self._reconsidered(commands, talk.parse, talk.heard, talk.before)

    def _reference(self, talk: _Talk) -> dict[str, Any] | None:
        return self._leaning_on_before(talk) or self._about_them(talk)

    def _joined(self, talk: _Talk) -> dict[str, Any] | None:
        """Return several commands in one sentence, of which one leaves out what the other says."""
        first = talk.readings[0]
        if self._frames.is_to_somebody(first, talk.names):
            return None
        several = self._wholes.joined(first, talk.names, self._commands_in(talk))
        return {"commands": several} if several else None

    def _parsed(self, talk: _Talk) -> dict[str, Any]:
        """Return what no grammar has: what the parser is sure of, half a command, a question, or nothing at all.

        Only the first reading counts: a question about what may have been misheard would not be calm.
        """
        first, parse = talk.readings[0], talk.parse
        half = self._half(first, talk.names, talk.room)
        if parse.is_sure() and (half is None or parse.chance >= CERTAIN_OF_ANOTHER):
            return _learned(parse, talk.before)
        if half is not None:
            return {"reply": half} if isinstance(half, str) else {"half": half}
        if parse.half and parse.chance >= CERTAIN:
            return {"half": parse.half}
        unclear = parse.unclear and parse.chance >= CERTAIN
        if unclear or self._frames.is_unclear(first, talk.names):
            return {"reply": self._which_device}
        if parse.choices:
            return {"choices": self.choices.ask(parse.choices)}
        grave = parse.act in CONCERNS and parse.chance >= CERTAIN
        return self._asked_first(talk.heard, parse) or ({"concern": parse.act} if grave else {})


def _only_looks(commands: Sequence[Command]) -> bool:
    tools = open_spoken_tools()
    return all(tools.only_looks(one.tool) for one in commands)


def _label(text: str) -> str:
    """Return a command as a question has it: "Turn on the lamp." in "Turn on the lamp, or turn on the lamps?"."""
    words = text.rstrip(".?! ")
    return f"{words[:1].lower()}{words[1:]}" if words[1:2].islower() or words[1:2] == " " else words


def _visible(text: str) -> str:
    """Return a text without characters that nobody sees: zero-width ones, marks of direction."""
    return "".join(character for character in text if unicodedata.category(character) != "Cf")


def _learned(parse: Parse, before: Before) -> dict[str, Any]:
    """Return the commands of the parser; what it left out may have come from the call before."""
    return {"commands": parse.commands, "leans": bool(before.act)}


def _before(exchanges: Sequence[EarlierTurn]) -> Before:
    """Return the last that was done or looked up, in the last exchange or the one before."""
    for exchange in exchanges[:2]:
        if exchange.tried and (call := exchange.tried[-1]).name != UNDO:
            tool, arguments = call.name, call.arguments
            if tool == LATER:
                inner = arguments.get("arguments")
                tool, arguments = str(arguments.get("tool", "")), inner if isinstance(inner, Mapping) else {}
            things = tuple(thing.name for thing in exchange.things if thing.topic == "home")
            device = arguments.get("device")
            return Before(act_of(tool, arguments), arguments, things or ((device,) if isinstance(device, str) else ()))
    return NOTHING


def _topic(command: Command) -> str:
    """Return what a command is about: a look at the house, a deed in it, or else its tool."""
    if command.tool in ("home.state", "presence.where"):
        return "look"
    return "home" if command.tool.startswith("home.") else command.tool


def _is_unknown(command: Command, names: Names) -> bool:
    """Whether a command names a device that this house has not."""
    device = str(command.arguments.get("device", "")).casefold()
    return bool(device and names.devices) and not any(
        device in (name.casefold() for name in (one.name, *one.aliases)) for one in names.devices
    )


def _is_nowhere(command: Command, names: Names) -> bool:
    """Whether a command is about devices of a shape that none in this house has."""
    shape = command.arguments.get("shape")
    return bool(shape) and not any(device.shape == shape for device in names.devices)


def _names_any(commands: Sequence[Command]) -> bool:
    return any({"device", "room", "floor", "everything"} & {*command.arguments} for command in commands)


def _says_all(command: Command) -> bool:
    """Whether no argument holds words that nobody checked."""
    return command.tool.startswith("home.") and "query" not in command.arguments


def _reads_closer(public: Sequence[Command], commands: Sequence[Command]) -> bool:
    """Whether the public grammar has words of its own for what ours took for part of a thing or a place.

    "Complete apples on my shopping list" is no thing called complete apples, "London like" is no place.
    """
    if len(public) != 1 or len(commands) != 1:
        return False
    [theirs], [ours] = public, commands
    if theirs.tool in ("lists.check", "lists.remove"):
        return ours.tool in ("lists.add", "lists.check")
    if theirs.tool == ours.tool == "lists.add":  # a verb of theirs is no part of the thing
        text, thing = (one.arguments.get("items", [""]) for one in (ours, theirs))
        return len(text) == 1 and str(text[0]).endswith(f" {thing[0]}")
    place = str(theirs.arguments.get("place", ""))
    return theirs.tool == ours.tool == "weather.now" and str(ours.arguments.get("place", "")).startswith(f"{place} ")


def _leaning(meant: tuple[Command, ...] | str) -> dict[str, Any]:
    """Return what goes on from the last exchange: commands, or what is to be said."""
    return {"reply" if isinstance(meant, str) else "commands": meant, "leans": True}
