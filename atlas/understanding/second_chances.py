"""Gives a turn that was not surely understood a second chance: the wish in it alone, or the exchange before the last.

What a whole sentence leaves in doubt is often plain in one part of it. Each part is read as a turn of its own, and is
believed where the parser had the same of the whole. Pure.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from atlas.understanding.chances import LIKELY_IN_PART, SURE, SURE_OF_SILENCE
from atlas.understanding.choices import MeaningChoice
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import ADDING, are_like, is_about, name_any, of_home, only_look
from atlas.understanding.declined_wishes import DeclinedWishes
from atlas.understanding.dialogue import EarlierTurn
from atlas.understanding.dialogue_turn import DialogueTurn, DialogueTurns, SpokenTurn, Understand
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.parser import AMEND, NOT_PARSED, SILENT
from atlas.understanding.patterns import act_pattern
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.wish_clauses import WishClauses, parts_of

PRONOUNS = ("unnamed", "pronouns")  # whichever a language has


class SecondChances:
    """How one language rambles. Each step returns what is meant, at worst what was meant before it. Immutable.

    `read_whole` reads all words of a turn, and `with_chances` does so and comes back here where that is unsure.
    """

    def __init__(
        self,
        sentences: SentenceReader,
        turns: DialogueTurns,
        wishes: WishClauses,
        declined: DeclinedWishes,
        questions: Clarifications,
        read_whole: Understand,
        with_chances: Understand,
    ) -> None:
        tables = sentences.grammar.tables
        self._sentences = sentences
        self._grammar, self._frames, self._parser = sentences.grammar, sentences.frames, sentences.parser
        self._turns = turns
        self._wishes = wishes
        self._declined = declined
        self._questions = questions
        self._read_whole = read_whole
        self._with_chances = with_chances
        self._corrects, self._conditions = act_pattern(tables, "corrects"), act_pattern(tables, "conditions")
        self._unwanted, self._pronouns = act_pattern(tables, "unwanted"), act_pattern(tables, *PRONOUNS)

    def supposition(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return the question whether a deed is meant where only its thing was named: "what about the bedroom?"."""
        only_asks = meant.leans and self._turns.dialogue.supposes(heard.text)
        if not only_asks or not self._parser or not self._parser.knows(meant.commands) or only_look(meant.commands):
            return meant
        parse = self._parser.parse(heard.text, heard.names, heard.room)
        given = meant.commands[0].arguments
        where = str(given.get("device") or given.get("room") or given.get("floor") or "")
        label = ", ".join(filter(None, [self._parser.label(meant.commands, parse, ()), where]))
        return self._questions.among([MeaningChoice(label, meant.commands)])

    def wish_in_part(self, heard: SpokenTurn, unsure: TurnMeaning) -> TurnMeaning:
        """Return what one part of a turn means, where others only tell: "we'll never finish this, switch it off"."""
        text, names, room = heard.text, heard.names, heard.room
        if (
            self._declined.takes_back(heard)
            or self._conditions.search(text)
            or self._frames.is_to_somebody(text, names)
        ):
            return unsure
        before = self._turns.beside_history(heard).before
        parse = self._sentences.parse(text, names, room, before)
        if parse.act in SILENT and parse.chance >= SURE_OF_SILENCE:
            return unsure
        silent = parse.act in SILENT
        another = not silent and parse.chance >= LIKELY_IN_PART  # "send him home, he's too loud"
        least = SURE_OF_SILENCE if silent else LIKELY_IN_PART  # of a part by itself
        another_one, unwanted = self._turns.dialogue.means_another(text), bool(self._unwanted.search(text))
        if another and parse.act == AMEND:
            return unsure  # which no part of it is
        for part, rest in parts_of(text):
            if another_one and not self._turns.dialogue.means_another(part):
                continue  # "the other one can go off, nobody needs it": "it" is not the first one
            doubtful = unwanted or self._grammar.is_negated(self._corrects.sub("", rest), names)
            likely = parse
            if not another and self._parser:  # then only the parser's reading of the part itself can agree
                likely = NOT_PARSED if doubtful else self._sentences.parse(part, names, room, before)
                if likely.act in (*SILENT, AMEND) or likely.chance < least:
                    continue
            meant = self._read_whole(heard.saying(part))
            commands = meant.commands
            if not commands or (
                commands[-1].tool in ADDING and not all(one.aside for one in self._frames.clauses(rest))
            ):
                continue  # what is left out may be a part of the list
            if self._parser is None:
                agreed = not doubtful and meant.leans
            else:
                agreed = is_about(likely, commands) and (another or not only_look(commands))
            if agreed:
                return meant
        return unsure

    def past_a_look(self, heard: SpokenTurn, unsure: TurnMeaning) -> TurnMeaning:
        """Return what a turn does to the devices of the exchange before the last, which asked for something else."""
        last, *before = [*self._turns.beside_history(heard).exchanges][:2] or [EarlierTurn((), (), ())]
        elsewhere = last.tried and not last.things and not last.of_devices
        if not (elsewhere and before and before[0].of_devices):
            return unsure
        history = heard.turn.history
        at = max(at for at, message in enumerate(history) if message.author == "user")
        earlier = replace(heard, turn=replace(heard.turn, history=history[:at]))
        meant = self._read_whole(earlier)
        meant = self.wish_in_part(earlier, meant) if self._questions.leaves_open(meant) else meant
        return meant if meant.commands and meant.leans and of_home(meant.commands) else unsure

    def wish_alone(self, turn: DialogueTurn, unsure: TurnMeaning = NO_DEED) -> TurnMeaning:
        """Return the deed that the wish in a rambling sentence is by itself, where the whole was no sure one."""
        parse, text = turn.parse, turn.text
        silent = parse.act in SILENT
        if turn.before.act or (silent and parse.chance >= SURE_OF_SILENCE):
            return unsure
        if self._frames.is_to_somebody(text, turn.names) or self._grammar.forbids(text):
            return unsure
        for core in self._wishes.cores(text, partial(self._frames.is_deed, names=turn.names)):
            alone = self._with_chances(turn.heard.saying(core))
            commands = alone.commands
            if not commands:
                unsure = unsure or TurnMeaning(half=alone.half, reply=alone.reply)  # "just switch it off"
                continue
            if only_look(commands) or (self._pronouns.search(core) and not name_any(commands)):
                continue
            if silent or are_like(parse, commands) or parse.chance < SURE:
                return alone
        return unsure
