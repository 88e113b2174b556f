"""Holds a deed to what it may reach: not what a turn leaves alone or wants otherwise, and no other place. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from atlas.understanding.choices import MeaningChoice
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import ADDING, PAST, only_look
from atlas.understanding.contrasts import Contrasts
from atlas.understanding.dialogue_turn import DialogueTurn, DialogueTurns, SpokenTurn, Understand
from atlas.understanding.everything_off import EverythingOff
from atlas.understanding.exemptions import Exemption, Exemptions
from atlas.understanding.list_names import on_named_list, with_near_name
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.named_places import NamedPlaces
from atlas.understanding.names import NOBODY, Names
from atlas.understanding.part_ways import PartWays
from atlas.understanding.patterns import act_pattern, pattern
from atlas.understanding.second_thoughts import SecondThoughts
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import TAKING_AWAY, Command


class Scopes:
    """How one language says how far a deed reaches; `wanted` reads a turn, whatever its words. Immutable."""

    def __init__(
        self, sentences: SentenceReader, turns: DialogueTurns, questions: Clarifications, wanted: Understand
    ) -> None:
        tables = sentences.grammar.tables
        self._sentences = sentences
        self._grammar, self._frames = sentences.grammar, sentences.frames
        self._turns = turns
        self._questions = questions
        self._wanted = wanted
        self._exemptions = Exemptions(tables.get("exempt", {}), self._frames)
        self._second_thoughts = SecondThoughts(sentences, turns, self._exemptions)
        self._contrasts = Contrasts(tables.get("apart", {}), self._frames)
        self._everything_off = EverythingOff(tables.get("everything_off", {}), self._frames.lexicon)
        self._joint = act_pattern(tables, "joint")
        self._part_ways = PartWays(tables.get("part_ways", {}))
        self._places = NamedPlaces(tables.get("places", {}), self._frames.lexicon)
        self._new_list: str = tables.get("new_list", "")
        self._onto_list: str = tables.get("onto_list", "")
        self._makes_list = pattern(tables, "makes_list")
        self._usual_lists: Sequence[str] = tables["shopping"]

    # ── wishes that say how far they reach ──────────────────────────────────────────────────────────

    def exception(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what puts back what should have been left alone: "wait, not the lamp"."""
        meant = self._second_thoughts.part(turn)
        return meant or (self._questions.which_device if self._second_thoughts.means_one_somewhere(turn) else None)

    def all_but(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the wish of a sentence without what it leaves alone: "all off, only the tree stays on"."""
        text = self._turns.dialogue.here_by_name(turn.text, turn.room)  # "all off except this room"
        ways = filter(None, (turn.text, text, self._frames.without_reason(turn.text)))
        exemption = next(filter(None, (self._exemptions.read(one, turn.names) for one in ways)), None)
        if exemption is None:
            match = self._exemptions.excepts(turn.text)
            unread = match and self._is_wish_but_for(turn.text, turn.text[: match.start()], turn.names)
            return self._questions.which_device if unread else None
        meant = self._wanted(turn.heard.saying(exemption.wish))
        last = exemption.wish.rpartition(". ")[2]
        if not meant.commands and not meant.choices and last != exemption.wish:  # "We're off. All off, but the hall."
            meant = self._wanted(turn.heard.saying(last))
        commands = meant.commands or self._sentences.commands(exemption.wish, turn.names, turn.room)
        if meant.half or (commands and (only_look(commands) or commands[-1].tool in ADDING)):
            return None  # a question, or words to write down: "remind me to lock all but the back door"
        if commands and commands[-1].tool.startswith(PAST):
            return None  # "forget everything but …" forgets nothing
        if meant.choices and not commands:
            return self._but_for(meant.choices.choices, exemption, turn)
        if not commands:
            return self._questions.which_device if meant or self._frames.wants_a_deed(exemption.wish) else None
        rest = self._exemptions.without(commands, exemption, turn.names, turn.room)
        if not rest and turn.room and self._frames.places_alone(exemption.exempt_words, turn.names) - {turn.room}:
            rest = self._exemptions.without(list(map(_everywhere, commands)), exemption, turn.names, turn.room)
        return TurnMeaning(commands=rest) if rest else self._questions.which_device

    def _but_for(self, choices: Sequence[MeaningChoice], exemption: Exemption, turn: DialogueTurn) -> TurnMeaning:
        """Return what a wish may mean without what it leaves alone: "all off but the hall" is not of another room."""
        made = [
            (one.label, self._exemptions.without(one.commands, exemption, turn.names, turn.room)) for one in choices
        ]
        all_of = {one.label: one.commands for one in choices}
        left = [MeaningChoice(label, commands) for label, commands in made if commands and commands != all_of[label]]
        left = left or [
            MeaningChoice(label, commands) for label, commands in made[:1] if commands
        ]  # what goes on anyway
        elsewhere = len(choices) > 1 or self._frames.places_alone(exemption.exempt_words, turn.names)
        if len(left) == 1 and elsewhere:
            return TurnMeaning(commands=left[0].commands)
        return self._questions.among(left) if left else self._questions.which_device

    def all_but_now(self, earlier: str, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the wish of the sentence before without what is named now: "all off except", "the lamp"."""
        excepts = self._exemptions.excepts(earlier)
        if not excepts:
            return None
        if earlier[excepts.end() :].strip(" .!?"):
            return NO_DEED  # what was named before must stay as it is, too
        return self.all_but(replace(turn, readings=(f"{earlier[: excepts.end()]} {turn.text}",))) or NO_DEED

    def _is_wish_but_for(self, text: str, wish: str, names: Names) -> bool:
        """Whether a sentence wants a deed that may leave something alone: it is no question, and nothing to write down.

        `wish`: the sentence up to "except".
        """
        if commands := self._grammar.commands(text, names) or self._grammar.commands(wish, names):
            return not only_look(commands) and commands[-1].tool not in ADDING
        wants = self._frames.wants_a_deed(text) and not self._frames.only_asks(text)
        return wants and not self._sentences.half(text, names, "")

    def but_otherwise(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return the wish of a sentence that wants something else of a part: "all off, only the hall on"."""
        if self._frames.asks(turn.text):
            return None
        meant = self._contrasts.alone(turn.text, turn.names)
        if meant is None:
            meant = self._contrasts.read(turn.text, turn.names, turn.room, lambda text: self._commands(text, turn))
        if meant is None:
            return None
        return TurnMeaning(commands=meant) if meant else self._questions.which_device

    def _commands(self, text: str, turn: DialogueTurn) -> tuple[Command, ...]:
        """Return what words are by themselves, or of what was just spoken of: "turn those off"."""
        if self._grammar.is_negated(text, turn.names):
            return ()
        commands_of = self._sentences.commands_or_learned_in(turn.names, turn.room)
        if turn.exchanges and not self._frames.names_one(text, turn.names):
            meant = self._turns.dialogue.referring(text, turn.exchanges, commands_of, turn.names, turn.room)
            if isinstance(meant, tuple) and meant:
                return meant
        return commands_of(text)

    def all_off(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return what turns off everything there is in a place, or the question in which: never what was spoken of."""
        spoken_of = {thing.name for one in turn.exchanges[:1] for thing in one.things if thing.topic == "home"}
        devices = [one for one in turn.names.devices if one.name in spoken_of]
        meant = self._everything_off.read(turn.text, turn.names, turn.room, devices)
        if meant is None:
            return self._all_off_and_more(turn)
        return self._questions.among(meant) if isinstance(meant, list) else TurnMeaning(commands=meant)

    def _all_off_and_more(self, turn: DialogueTurn) -> TurnMeaning | None:
        """Return "everything off" and a wish behind it: "all off and lock the door"."""
        joint = self._joint.search(turn.text)
        first = joint and self._everything_off.read(turn.text[: joint.start()], turn.names, turn.room)
        if not joint or not first:
            return None
        more = self._wanted(turn.heard.saying(turn.text[joint.end() :])).commands
        if not more or only_look(more):
            return None
        if isinstance(first, list):
            return self._questions.among([MeaningChoice(one.label, (*one.commands, *more)) for one in first])
        return TurnMeaning(commands=(*first, *more))

    # ── what was understood, held to what the turn says ─────────────────────────────────────────────

    def hold(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant within what a turn leaves alone, the places it names and the lists that there are."""
        if meant.leans and meant.commands and meant == self.exception(self._turns.beside_history(heard)):
            return meant  # "except in the hall", of what was done before; "leave it up" is not upstairs
        return self._part_of_the_way(heard, self._in_places(heard, self._without_exempt(heard, meant)))

    def _part_of_the_way(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant, only so far as a turn says; the question whether, of what can only open wide."""
        text = heard.verbatim[0]
        if not self._part_ways.move(text, meant.commands):
            return meant
        made = self._part_ways.in_part(meant.commands, heard.names, heard.room)
        if made:
            return replace(meant, commands=made)
        return self._questions.whether(self._part_ways.whole(text), meant.commands)

    def _without_exempt(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant; the question which one, for deeds of a turn whose exemption could not be read.

        What is written down is never taken away but for something: only devices are left alone by their names. What was
        just told of and is dropped as a whole leaves nothing out.
        """
        named = [one for one in (*meant.commands, *meant.in_question) if one.arguments or not meant.leans]
        takes_away = any(one.tool.rpartition(".")[2] in TAKING_AWAY for one in named)
        takes_away = takes_away and not self._takes_away_one(heard, meant)
        if takes_away and any(map(self._exemptions.says_but, heard.readings)):
            return NO_DEED
        if not any(one.tool.startswith("home.") for one in meant.commands) or only_look(meant.commands):
            return meant
        exempting = filter(self._exemptions.is_sure_to_exempt, heard.readings)
        by_name = (self._turns.dialogue.here_by_name(text, heard.room) for text in exempting)
        unread = any(self._exemptions.read(text, heard.names) is None for text in by_name)
        return self._questions.which_device if unread else meant

    def _takes_away_one(self, heard: SpokenTurn, meant: TurnMeaning) -> bool:
        """Whether only the one thing is taken away that was just spoken of: "no, leave it, James can do that"."""
        if meant.leans and [one.tool for one in meant.commands] == ["lists.remove"]:
            return True  # "not the milk, there's plenty"
        things = self._turns.beside_history(heard).last.things
        named = [value for one in (*meant.commands, *meant.in_question) for value in one.arguments.values()]
        return len(things) == 1 and named == [things[0].id]

    def _in_places(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant, where a turn names a place, there and nowhere else."""
        if meant.choices and self._places.unknown(heard.text, heard.names):
            likely = meant.choices.choices[0].commands
            there = self._places.held_to(likely, heard.text, heard.names)
            return meant if there == likely else TurnMeaning(commands=there)  # no such place: nothing is to be asked
        if not meant.commands:
            return meant
        if [one.tool for one in meant.commands] == ["lists.add"] and not meant.commands[0].arguments.get("list"):
            named = on_named_list(meant.commands[0], heard.text, heard.names, self._onto_list)
            meant = replace(meant, commands=(named,))
        near = [with_near_name(one, heard.names, self._usual_lists) for one in meant.commands]
        if near != list(meant.commands):
            return self._on_lists(heard, meant, near)
        spoken_of = self._turns.beside_history(heard).before.devices
        there = self._places.held_to(meant.commands, heard.text, heard.names, spoken_of, heard.room)
        return replace(meant, commands=there)

    def _on_lists(self, heard: SpokenTurn, meant: TurnMeaning, near: Sequence[Command | None]) -> TurnMeaning:
        """Return what is meant, on the lists whose names are nearly those that were said; a new one is asked about."""
        unknown = next((one for one, known in zip(meant.commands, near, strict=True) if known is None), None)
        if unknown is None:
            return replace(meant, commands=tuple(filter(None, near)))
        if heard.names == NOBODY or unknown.tool != "lists.add" or not self._new_list:
            return meant
        if self._makes_list.search(heard.text) or not unknown.arguments.get("items", True):
            return meant
        label = self._new_list.format(unknown.arguments["list"])
        return self._questions.among([MeaningChoice(label, meant.commands)])


def _everywhere(command: Command) -> Command:
    """Return a deed on a kind of nowhere in particular as one in the whole house: it leaves another room alone."""
    given = command.arguments
    is_placed = "kind" not in given or {"device", "room", "floor"} & {*given}
    return command if is_placed else replace(command, arguments={**given, "everything": True})
