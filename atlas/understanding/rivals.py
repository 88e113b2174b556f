"""Judges between the commands that a grammar read and what the parser is certain of in their place. Pure.

Grammars go by words, so they take "was it locked all night" for a question that a look answers, and "set the mower off"
for turning it off. The parser goes by meaning and is sometimes wrong. `STEPS` are asked in their order, and the first
that knows decides; where none does, the parser has what it takes, and its commands stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from atlas.understanding.chances import MOST_SURE, MOST_SURE_OF_SILENCE, SURE_OF_ANOTHER, SURE_OF_THE_ACT
from atlas.understanding.command_traits import contradicts, name_any, only_look
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import Command
from atlas.understanding.meaning import TurnMeaning
from atlas.understanding.names import Names
from atlas.understanding.parser import BROADCAST, LEAVE, SILENT, Before, Parse, act_of, learnt_acts, learnt_topics
from atlas.understanding.slots import CANNOT, LATER

LOOK_TOPICS = {"look", "timers.left", "calendar.find", "calendar.list", "email.search", "email.list"}

# Which the parser was never taught.
CHANGES = ("alarms.change", "alarms.skip", "reminders.change", "tasks.change", "tasks.move")
# What it may take a change for.
WRITTEN = (
    *("alarms.cancel", "alarms.list", "alarms.set", "alarms.snooze", "alarms.stop"),
    *("calendar.add", "calendar.change", "lists.add"),
    *("reminders.add", "reminders.remove", "tasks.add", "tasks.done"),
)

# Tools of which the parser was taught no sentence.
UNTAUGHT = ("world.number", "world.choose", "world.echo", "history.last")


@dataclass(frozen=True, slots=True)
class Rivals:
    """The same words, as a grammar read them and as the parser did."""

    commands: tuple[Command, ...]  # of the grammar, one at least
    parse: Parse
    before: Before  # what was done before these words
    text: str
    names: Names
    room: str
    frames: Frames
    public: Callable[[], object]  # what the public grammar makes of the words
    asked_first: Callable[[], TurnMeaning]  # what is wanted before somebody says why

    @property
    def unchanged(self) -> TurnMeaning:
        """The grammar's commands."""
        return TurnMeaning(commands=self.commands)

    @property
    def parsed(self) -> TurnMeaning:
        """The parser's commands."""
        return parsed(self.parse, self.before)

    def is_no_place(self, argument: str) -> bool:
        """Whether what the grammar took for a place is the name of nothing here."""
        words = self.commands[0].arguments.get(argument, "")
        return bool(words) and not self.frames.lexicon.tokens(str(words), self.names, asking=True)


def meant(rivals: Rivals) -> TurnMeaning:
    """Return what is meant: the commands of one of both, or that there is nothing to do."""
    return next((known for step in STEPS if (known := step(rivals)) is not None), rivals.parsed)


def parsed(parse: Parse, before: Before) -> TurnMeaning:
    """Return the commands of the parser; what it left out may have come from the call before."""
    return TurnMeaning(commands=parse.commands, leans=bool(before.act))


def _what_was_set_is_stopped(rivals: Rivals) -> TurnMeaning | None:
    """Take the parser's word for "stop it", of what was just set going."""
    stops = rivals.before.act and rivals.commands[0].tool == "alarms.stop"
    return rivals.parsed if stops and rivals.parse.is_sure() else None


def _a_word_of_the_deed_outweighs_its_opposite(rivals: Rivals) -> TurnMeaning | None:
    """Keep "turn the telly quieter, one hears it up here", which the parser takes for louder."""
    tokens = rivals.frames.lexicon.known_tokens(rivals.text, rivals.names)
    return rivals.unchanged if contradicts(rivals.parse, rivals.commands, tokens) else None


def _the_parser_never_learnt_of_it(rivals: Rivals) -> TurnMeaning | None:
    """Keep a call of a tool of which the parser was taught nothing, or whole words for an act that it never learnt."""
    topics = {one.tool.partition(".")[0] for one in rivals.commands}
    acts = {act_of(one.tool, one.arguments) for one in rivals.commands}
    untaught = acts.isdisjoint(learnt_acts()) and all(one.whole for one in rivals.commands)  # "what lists do I have"
    return rivals.unchanged if untaught or topics.isdisjoint(learnt_topics()) else None


def _nothing_is_done_where_nothing_can_be(rivals: Rivals) -> TurnMeaning | None:
    """Keep "call mum" and "order a pizza", which no house does: the answer says so, and does nothing."""
    return rivals.unchanged if {one.tool for one in rivals.commands} == {CANNOT} else None


def _the_list_says_what_is_missing(rivals: Rivals) -> TurnMeaning | None:
    """Keep "have we got any cheese": nobody can know, but the list says whether it is to be bought."""
    return rivals.unchanged if any("item" in one.arguments for one in rivals.commands) else None


def _what_is_changed_is_not_made_anew(rivals: Rivals) -> TurnMeaning | None:
    """Keep a change of what stands: "move the letter reminder to ten". The parser was only taught to write it down."""
    changes = all(one.tool in CHANGES for one in rivals.commands)
    return rivals.unchanged if changes and rivals.parse.act in WRITTEN else None


def _a_named_list_is_meant(rivals: Rivals) -> TurnMeaning | None:
    """Keep "start a guest list with Tom and Mia" and "make a list called gifts", in which the parser may see a task."""
    lists = [one for one in rivals.commands if one.tool == "lists.add" and "list" in one.arguments]
    meant = len(lists) == len(rivals.commands) and all(one.whole or not one.arguments["items"] for one in lists)
    return rivals.unchanged if meant else None


def _there_is_more_to_do(rivals: Rivals) -> TurnMeaning | None:
    """Do what both have, and what the parser has beside it: "coffee machine on, and what's the weather tomorrow"."""
    theirs, ours = rivals.parse.commands, rivals.commands
    more = len(theirs) > len(ours) and all(one in theirs for one in ours)
    return rivals.parsed if more and rivals.parse.is_sure() else None


def _the_parser_is_unsure(rivals: Rivals) -> TurnMeaning | None:
    return rivals.unchanged if rivals.parse.chance < SURE_OF_THE_ACT else None


def _a_sensor_knows_the_weather(rivals: Rivals) -> TurnMeaning | None:
    """Look at a sensor of this house, which knows the weather here better."""
    parse = rivals.parse
    if rivals.commands[0].tool != "weather.now":
        return None
    indoors = rivals.frames.rooms_in(str(rivals.commands[0].arguments.get("place", "")), rivals.names)
    looks = parse.act == "look" and parse.named and bool(parse.commands)
    look = rivals.frames.question(rivals.text, rivals.names, rivals.room) if indoors or looks else None
    if look:
        return TurnMeaning(commands=(look,))
    return rivals.parsed if looks else None


def _there_is_more_to_look_at(rivals: Rivals) -> TurnMeaning | None:
    parse = rivals.parse
    more = parse.act == "look" and len(parse.commands) > len(rivals.commands)
    nowhere = parse.act == "presence.where" and rivals.is_no_place("value")
    return rivals.parsed if (more or nowhere) and parse.commands else None


def _what_was_spoken_of_goes_on(rivals: Rivals) -> TurnMeaning | None:
    """Take the parser's word for "go on", after a timer was paused: nothing says that it is about music."""
    parse, topic = rivals.parse, rivals.parse.act.partition(".")[0]
    same = "." in parse.act and topic == rivals.before.act.partition(".")[0]
    nameless = all(one.tool.startswith("home.") for one in rivals.commands) and not name_any(rivals.commands)
    return rivals.parsed if same and nameless and parse.is_sure() and not only_look(rivals.commands) else None


def _a_public_sentence_stays(rivals: Rivals) -> TurnMeaning | None:
    """Keep a whole sentence of the public grammar, unless any words would have fitted a part of it."""
    if rivals.commands != rivals.public() or any("query" in one.arguments for one in rivals.commands):
        return None
    return rivals.unchanged


def _nothing_is_asked_for(rivals: Rivals) -> TurnMeaning | None:
    """Do nothing about health, danger and talk; of doubtful talk, only no looks."""
    parse = rivals.parse
    if parse.act not in SILENT:
        return None
    if all(one.tool in UNTAUGHT for one in rivals.commands):
        return rivals.unchanged
    grave = parse.act in ("health", "emergency") or parse.chance >= MOST_SURE_OF_SILENCE
    only_looks = {_topic(one) for one in rivals.commands} <= LOOK_TOPICS
    sensors = {one.name for one in rivals.names.devices if one.kind == "sensor"}
    looks = parse.act == "cannot" and not grave and rivals.frames.is_question(rivals.text)
    if looks and all(one.arguments.get("device") in sensors for one in rivals.commands):
        return rivals.unchanged  # "is the window open in the study", and there is that window
    return rivals.asked_first() if grave or only_looks else rivals.unchanged


def _the_grammar_has_that_and_more(rivals: Rivals) -> TurnMeaning | None:
    """Keep two deeds on one thing where the parser has one on it: "radio on, and to thirty"; "put the radio on low"."""
    theirs, ours = rivals.parse.commands, rivals.commands
    devices = {one.arguments.get("device") for one in ours}
    more = 0 < len(theirs) < len(ours) and {one.arguments.get("device") for one in theirs} <= devices
    return rivals.unchanged if more and len(devices) == 1 and None not in devices else None


def _the_grammar_means_all(rivals: Rivals) -> TurnMeaning | None:
    """Keep "in every room" where the parser has the same deed on one thing of the kind."""
    theirs, ours = rivals.parse.commands, rivals.commands
    every = len(ours) == 1 and ours[0].arguments.get("everything")
    same = every and {one.tool for one in theirs} == {ours[0].tool}
    narrower = same and not any(one.arguments.get("everything") for one in theirs)
    return rivals.unchanged if narrower else None


def _more_timers_are_meant(rivals: Rivals) -> TurnMeaning | None:
    """Start each of several timers, of which the grammar read one."""
    theirs, ours = rivals.parse.commands, rivals.commands
    timers = all(one.tool == "timers.start" for one in (*theirs, *ours))
    return rivals.parsed if timers and len(theirs) > len(ours) else None


def _another_tool_takes_more(rivals: Rivals) -> TurnMeaning | None:
    unsure = not rivals.parse.commands or rivals.parse.chance < SURE_OF_ANOTHER
    return rivals.unchanged if unsure else None


def _the_parser_knows_what_it_is(rivals: Rivals) -> TurnMeaning | None:
    """Take the things that the parser has as well: "we're out of milk, put it on the list, and some eggs"."""
    if {one.tool for one in (*rivals.commands, *rivals.parse.commands)} != {"lists.add"}:
        return None
    [ours, *_], [theirs, *_] = rivals.commands, rivals.parse.commands
    items, more = ({*map(str, one.arguments.get("items", ()))} for one in (ours, theirs))
    return rivals.parsed if items and items < more else None  # "make a list called packing" has none


def _the_grammar_reads_the_same_tool_closer(rivals: Rivals) -> TurnMeaning | None:
    """Keep the grammar's names, lists and numbers where both mean the same tool, unless it is the home's."""
    tools = {one.tool for one in rivals.commands}
    if tools == {BROADCAST} and rivals.parse.act == LEAVE:
        return rivals.unchanged
    for_others = tools == {BROADCAST} or tools == {one.tool for one in rivals.parse.commands} == {LEAVE}
    if for_others and not _is_verbatim(rivals.commands, rivals.parse.text):
        return rivals.parsed
    of_home = all(tool.startswith("home.") for tool in tools)
    return rivals.unchanged if tools == {one.tool for one in rivals.parse.commands} and not of_home else None


def _the_grammar_names_a_device(rivals: Rivals) -> TurnMeaning | None:
    """Keep "and the big light off", after the lamp; and "how damp is it", after the light."""
    acts = {act_of(one.tool, one.arguments) for one in rivals.commands}
    as_many = len(rivals.commands) == len(rivals.parse.commands)
    named = all({"device", "measure", "room"} & {*one.arguments} for one in rivals.commands)
    return rivals.unchanged if as_many and acts == {rivals.parse.act} and named else None


def _several_or_later_takes_most(rivals: Rivals) -> TurnMeaning | None:
    several = len(rivals.commands) > 1 or LATER in {one.tool for one in rivals.commands}
    return rivals.unchanged if several and rivals.parse.chance < MOST_SURE else None


STEPS: tuple[Callable[[Rivals], TurnMeaning | None], ...] = (
    _what_was_set_is_stopped,
    _a_word_of_the_deed_outweighs_its_opposite,
    _the_parser_never_learnt_of_it,
    _more_timers_are_meant,
    _the_grammar_means_all,
    _nothing_is_done_where_nothing_can_be,
    _the_list_says_what_is_missing,
    _what_is_changed_is_not_made_anew,
    _a_named_list_is_meant,
    _there_is_more_to_do,
    _a_sensor_knows_the_weather,
    _the_parser_is_unsure,
    _there_is_more_to_look_at,
    _what_was_spoken_of_goes_on,
    _a_public_sentence_stays,
    _nothing_is_asked_for,
    _the_grammar_has_that_and_more,
    _another_tool_takes_more,
    _the_parser_knows_what_it_is,
    _the_grammar_reads_the_same_tool_closer,
    _the_grammar_names_a_device,
    _several_or_later_takes_most,
)


def _is_verbatim(commands: Sequence[Command], text: str) -> bool:
    """Whether what is to be said to others stands so in a text: "we're", not "we are"."""
    return all(str(one.arguments.get("text", "")) in text for one in commands)


def _topic(command: Command) -> str:
    """Return what a command is about: a look at the house, a deed in it, or else its tool."""
    if command.tool in ("home.state", "presence.where"):
        return "look"
    return "home" if command.tool.startswith("home.") else command.tool
