"""Understand a turn once: its words and what was said before → one value, which everybody who answers looks at. Pure.

Whoever answers parses nothing. What a turn leans on is its history: the last exchange alone, and only for two minutes
(see dialogue.py). Where a recogniser offers several readings, all of them are read here, in its order.

`Reader.understand` is the whole way of a turn, from top to bottom; each step is a module of its own. A step returns
what is meant (`TurnMeaning`, also that nothing is), or `None` where it knows nothing and the next is to be asked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace

from atlas.conversation import HOUSE, Turn
from atlas.understanding.about_deeds import AboutDeeds
from atlas.understanding.answered_conditions import AnsweredConditions
from atlas.understanding.answering import FactQuestion
from atlas.understanding.choices import Choices, ChoiceWords
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import only_look
from atlas.understanding.continuations import Continuations
from atlas.understanding.corrections import Corrections
from atlas.understanding.coverage import Coverage
from atlas.understanding.custom import CustomMeaning, CustomReader
from atlas.understanding.declined_wishes import DeclinedWishes
from atlas.understanding.dialect import STRONG, Dialect
from atlas.understanding.dialogue import NOTHING_BEFORE, UNDO, Dialogue, EarlierTurn, recent
from atlas.understanding.dialogue_turn import DialogueTurn, DialogueTurns, SpokenTurn
from atlas.understanding.endings import CLOSED_SECONDS, LOOK_SECONDS, SWEEPING_SECONDS, Endings
from atlas.understanding.excepted_days import ExceptedDays
from atlas.understanding.follow_ups import FollowUps
from atlas.understanding.frames import Frames
from atlas.understanding.grammar import OPEN_COMMAND_SECONDS, Command, Grammar
from atlas.understanding.hesitations import Hesitations
from atlas.understanding.item_corrections import ItemCorrections
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.names import NOBODY, Names
from atlas.understanding.parser import Parser
from atlas.understanding.persons_rooms import PersonsRooms
from atlas.understanding.rejected_values import RejectedValues
from atlas.understanding.remarks import Remarks
from atlas.understanding.requests import Requests
from atlas.understanding.restraints import RestrainedDeeds
from atlas.understanding.scopes import Scopes
from atlas.understanding.second_chances import SecondChances
from atlas.understanding.self_corrections import SelfCorrections
from atlas.understanding.sentence_reader import Public, SentenceReader
from atlas.understanding.several_tasks import ADD as ADD_TASK
from atlas.understanding.several_tasks import SeveralTasks
from atlas.understanding.shared_nouns import SharedNouns
from atlas.understanding.shares import Shares
from atlas.understanding.spoken_tools import open_spoken_tools
from atlas.understanding.talk_requests import AboutAtlas, TalkRequests, That
from atlas.understanding.timed_deeds import TimedDeeds
from atlas.understanding.uncertain_hearing import UncertainHearing
from atlas.understanding.unfinished import UnfinishedWishes
from atlas.understanding.verification import Verification
from atlas.understanding.wish_clauses import open_wish_clauses
from atlas.understanding.wishes_in_turn import WishesInTurn
from atlas.understanding.words_for_others import WordsForOthers

CANCEL_TIMER, SILENCE = "timers.cancel", {"silence": True}
RINGING_TOOLS = ("timers.", "alarms.", "reminders.")
_FRACTION = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])|[¼-¾⅐-⅞]")  # or where one begins behind a number
UNLOCKING = frozenset({"open", "unlock", "unlocked"})  # what words stand for that say of a door that it is to open


@dataclass(frozen=True, slots=True)
class Understanding(TurnMeaning):
    """What one turn means, as far as it is understood without a model."""

    text: str
    negated: bool = False  # some reading says not to do something
    question: FactQuestion | None = None  # that something told before may answer
    past: Command | None = None  # a search or a wish to forget, of what was said
    past_beside: bool = False  # that, joined with something else
    that: That = ""
    restart: bool = False  # what was said before is done with: "start over"
    help: bool = False  # somebody asks what can be asked for
    about: AboutAtlas | None = None  # somebody asks about Atlas itself
    custom: CustomMeaning | None = None  # one of the house's own sentences; its commands are above
    plain: str = ""  # the words without punctuation and politeness

    @property
    def empty(self) -> bool:
        """Whether no deed, question or reply was understood."""
        return not (self.commands or self.half or self.choices or self.reply or self.custom)

    def meaning(self, meant: TurnMeaning) -> Understanding:
        """Return this with what is to be done, asked or said."""
        return replace(self, **{one.name: getattr(meant, one.name) for one in fields(TurnMeaning)})


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
        frame_words = tables.get("frames", {})
        self._frames = frames = parser.frames if parser else Frames(frame_words, grammar.digits)
        self.grammar = grammar
        self.choices = ChoiceWords(tables)
        self._custom = custom
        self._dialect = Dialect(tables)
        self._endings = Endings(tables)
        self._hesitations = Hesitations(tables)
        self._says_left: str = tables["left"]["says"]
        self._undo_last: str = tables.get("acts", {}).get("says", {}).get(UNDO, "")
        self._table = open_spoken_tools()
        self._shared_nouns = SharedNouns(
            frame_words.get("shares", ""),
            frame_words.get("described", ""),
            frame_words.get("apposed", ("", "")),
            frame_words.get("short", ("", "")),
        )
        self._excepted_days = ExceptedDays(tables.get("excepted_days", {}))
        self._rejected_values = RejectedValues(tables.get("rejects", {}), grammar.digits, tables["slips"])
        self._talk_requests, self._shares = TalkRequests(grammar), Shares(tables.get("shares", {}))
        self._words = words = WordsForOthers(tables.get("words_for_others", {}))
        self._unfinished = UnfinishedWishes(tables.get("broken_off", {}))
        self._several_tasks = SeveralTasks(tables.get("several_tasks", {}))
        self._persons_rooms = PersonsRooms(tables.get("persons_rooms", {}))

        self._sentences = sentences = SentenceReader(grammar, frames, public, parser)
        coverage = Coverage(frames, grammar)
        dialogue, wishes = Dialogue(grammar, self.choices, frames), open_wish_clauses(grammar)
        follow_ups, slips = FollowUps(grammar, dialogue), SelfCorrections(grammar, dialogue, frames)
        self._questions = questions = Clarifications(self.choices, frame_words.get("which", ""), parser, coverage)
        self._hearing = UncertainHearing(grammar, questions)
        self._turns = turns = DialogueTurns(sentences, dialogue, follow_ups)

        wanted, with_chances, read_whole = self._wanted, self._with_second_chance, self._read_whole
        declined = DeclinedWishes(sentences, dialogue, wishes, questions, self._rejected_values.put_right)
        self._scopes = scopes = Scopes(sentences, turns, questions, wanted)
        self._restrained = RestrainedDeeds(sentences, questions, wanted)
        self._remarks = Remarks(sentences, questions)
        corrections, items = Corrections(sentences, turns, slips, questions), ItemCorrections(sentences)
        self._timed_deeds = timed_deeds = TimedDeeds(sentences, wanted)
        self._wishes_in_turn = WishesInTurn(tables.get("wishes_in_turn", {}), sentences, wanted)
        self._goes_on = goes_on = Continuations(sentences, turns, scopes, questions, words, read_whole)
        requests = Requests(sentences, slips, coverage, goes_on, questions, wanted)
        chances = SecondChances(sentences, turns, wishes, declined, questions, read_whole, with_chances)
        about_deeds = AboutDeeds(tables.get("about_deeds", {}), sentences, questions, wanted)
        self._is_yes, self._by_a_word = requests.is_yes, goes_on.named_by_a_word
        self._chances, self._verification = chances, Verification(sentences, coverage, chances, questions, with_chances)
        self._conditions = AnsweredConditions(tables.get("answered_conditions", {}), sentences, with_chances)
        self._steps_as_spoken = (
            *(goes_on.dictation, goes_on.words_for_another, requests.courtesy),
            *(goes_on.told_moment, goes_on.another_later, corrections.moved, goes_on.with_its_end),
            *(timed_deeds.asked_when, timed_deeds.timed),
            *(goes_on.called_off, corrections.taken_back, about_deeds.answer),
            *(scopes.exception, corrections.stopped, corrections.beside_an_alarm),
            *(corrections.as_it_was, corrections.back_again, corrections.still_here, corrections.of_several),
            *(declined.prohibition, scopes.all_but, scopes.but_otherwise, scopes.all_off),
            *(requests.how_things_are, declined.to_nobody, goes_on.not_after_all, declined.retraction),
            *(goes_on.answer, goes_on.which_device, goes_on.nowhere),
            *(goes_on.at_another_time, requests.mere_yes, goes_on.one_of_several),
            *(corrections.all_the_way, corrections.not_so_far, corrections.instead),
            *(items.another_amount, items.amount_of_one, items.of_what_kind),
            *(items.given_to, items.due_by, items.another_thing),
            goes_on.how_much_of_nothing,
            *(corrections.with_the_rest_right, corrections.set_anew),
            *(corrections.of_last_deed, corrections.as_parsed),
            *(corrections.left_alone, goes_on.repetition),
            *(corrections.of_itself, declined.withdrawal, declined.unfinished_wish, requests.at_several_moments),
        )
        self._steps_without_slips = (
            *(goes_on.it_and_more, goes_on.it_and_another, goes_on.choice, corrections.set_anew),
            *(goes_on.named_alone, requests.of_devices, requests.negation, requests.command),
            *(goes_on.reference, goes_on.devices_before, requests.joint_commands, requests.parsed_request),
        )

    # ── the way of a turn ───────────────────────────────────────────────────────────────────────────

    def understand(self, turn: Turn, names: Names = NOBODY, waiting: Choices | None = None) -> Understanding:
        """Return what `turn` means in a house with these names, where one question may be `waiting` for its answer.

        When any reading says "don't", none of them is acted on: to mishear that is worse than to ask again.
        """
        heard = self._heard(turn, names)
        beside = self._beside(heard)
        if beside.restart:
            return beside
        if waiting and (chosen := self._chosen(beside.plain, waiting)) is not None:
            return beside.meaning(chosen)
        if custom := self._of_the_house(heard):
            return Understanding(turn.text, commands=custom.commands, custom=custom, plain=beside.plain)
        if about := self._talk_requests.about(heard):
            return Understanding(turn.text, about=about, plain=beside.plain)
        after = self._turns.beside_history(heard)
        if beside.help and not self._goes_on.dictation(after):
            return beside
        if unsure := self._hearing.one_of(turn, lambda other: self.understand(other, names)):
            return beside.meaning(unsure)
        if answered := self._conditions.answered(after):
            return beside.meaning(answered)
        if guessed := self._guessed(heard):
            timed = self._timed_deeds.timed(after)
            return beside.meaning(timed or self._timed_deeds.cannot_wait(heard, NO_DEED) or guessed)
        wanted = self._goes_on.another_one(after, self._share_wanted(heard) or self._wanted(heard))
        wanted = self._wishes_in_turn.read(heard, self._goes_on.by_its_request(after, wanted))
        wanted = self._each_task(heard, wanted)
        in_room = self._in_persons_room(heard)
        meant = self._scopes.hold(heard.saying(in_room) if in_room else heard, self._restrained.hold(heard, wanted))
        meant = self._timed_deeds.at_its_time(heard, replace(meant, commands=_once(meant.commands)))
        meant = self._all_taken_back(heard, self._rather_what_rings(heard, self._timed_deeds.cannot_wait(heard, meant)))
        meant = self._unlocked_by_its_words(heard, meant)
        if self._unfinished.breaks_off(heard.text) and not meant:
            meant = TurnMeaning(reply=self._unfinished.says)
        if turn.doubtful:
            return beside.meaning(self._hearing.hardly(heard, meant))
        offered = NO_DEED if meant.commands or meant.half or meant.reply else self._remarks.fact(after)
        if not (offered or meant) and (remark := self._remarks.remark(after)):
            return replace(beside, question=None).meaning(remark)  # nothing that was told before answers it
        return beside.meaning(offered or meant)

    def _heard(self, turn: Turn, names: Names) -> SpokenTurn:
        """Return all readings of a turn without hesitation and idioms, and with shared nouns written out."""
        verbatim = tuple(map(_visible, (turn.text, *turn.alternatives)))
        verbatim = tuple(self._unfinished.whole(text, recent(turn)) or text for text in verbatim)
        texts = map(self._hesitations.without, verbatim)
        texts = map(self._hesitations.fluent, texts) if recent(turn) else texts
        texts = map(self._rejected_values.without, map(self._excepted_days.written_out, texts))
        plain = (one if self._words.read(one, names) else self._frames.without_idioms(one) for one in texts)
        return SpokenTurn(tuple(self._shared_nouns.written_out(text, names) for text in plain), turn, names, verbatim)

    def _beside(self, heard: SpokenTurn) -> Understanding:
        """Return what is no command of the house: questions about what was told or said, and for help."""
        talk, negated = self._talk_requests, any(self.grammar.is_negated(text, heard.names) for text in heard.readings)
        past = () if negated else talk.past(heard)
        return Understanding(
            heard.turn.text,
            negated=negated,
            question=talk.question(heard),
            past=past[0] if len(past) == 1 else None,
            past_beside=len(past) > 1,
            that=talk.that(heard),
            restart=talk.starts_over(heard),
            help=talk.asks_for_help(heard),
            plain=self.grammar.plain_words(heard.text),
        )

    def _chosen(self, plain: str, waiting: Choices) -> TurnMeaning | None:
        """Return what an answer to a waiting question chooses; `None` when it is no answer."""
        commands = self.choices.answer(plain, waiting)
        if commands is None:
            return None
        return TurnMeaning(commands=commands, leans=True) if commands else TurnMeaning(reply=self._says_left)

    def _of_the_house(self, heard: SpokenTurn) -> CustomMeaning | None:
        """Return which of the house's own sentences a turn is; any words in it may not say "don't"."""
        if not (custom := self._custom()):
            return None
        meant: CustomMeaning | None = None
        for text in heard.readings:
            spoken = dict.fromkeys((self.grammar.unmarked(text), self.grammar.plain_words(text)))
            meanings = (custom.read(words, heard.names, heard.room) for words in spoken)
            meaning = next(filter(None, meanings), None)
            if (meaning is None or meaning.loose) and self.grammar.is_negated(text, heard.names):
                return None
            meant = meant or meaning
        return meant

    def _guessed(self, heard: SpokenTurn) -> TurnMeaning | None:
        """Return the question whether a deed is meant that a turn leaves open: "the blind not all the way down"."""
        likely = self._frames.guessed(heard.text)
        commands = self._wanted(heard.saying(likely)).commands if likely else ()
        return None if not commands or only_look(commands) else self._questions.whether(likely, commands)

    def _share_wanted(self, heard: SpokenTurn) -> TurnMeaning:
        """Return the change by a share of what is that a turn wants: "half as loud"; nothing where it wants none."""
        if (share := self._shares.read(heard.text)) is None or self.grammar.is_negated(heard.text, heard.names):
            return NO_DEED
        meant = self._wanted(heard.saying(share.plain))
        shared = share.of(meant.commands)
        return replace(meant, commands=shared) if shared else NO_DEED

    def _each_task(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return each of several tasks by itself, and until when they are to be done."""
        if [one.tool for one in meant.commands] != [ADD_TASK]:
            return meant
        parse = self._sentences.parse(heard.text, heard.names, heard.room)
        tasks = self._several_tasks.told_apart(meant.commands, parse)
        return replace(meant, commands=self._several_tasks.due(tasks, heard.text))

    def _rather_what_rings(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return "stop" as what ends a ring before it ends the timer that was just spoken of and still runs."""
        if [one.tool for one in meant.commands] != [CANCEL_TIMER]:
            return meant
        names_none = self.grammar.commands(heard.text, heard.names) == (Command(CANCEL_TIMER, {}),)  # "stop the timer"
        if not (names_none or self.grammar.wants_silence(heard.text)):
            return meant
        return replace(meant, commands=tuple(Command(one.tool, {**one.arguments, **SILENCE}) for one in meant.commands))

    def _all_taken_back(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return "undo that" as the taking back of all that the last request changed, each by a receipt of its own.

        Where it changed nothing, or was only asked about, an older deed is taken back only with a yes.
        """
        if [one.tool for one in meant.commands] != [UNDO] or meant.commands[0].arguments:
            return meant
        exchanges, undo = self._turns.beside_history(heard).exchanges, Command(UNDO, {})
        last = _changing(exchanges)
        deeds = [call.name for call in last.calls if not self._table.only_looks(call.name)]
        history = recent(heard.turn)
        in_question = not last.calls and bool(history) and history[-1].text.endswith("?")
        if (not deeds and not in_question) or UNDO in deeds:
            return meant
        if not any(last.changed):
            return self._questions.whether(self._undo_last, (undo,)) if self._undo_last else meant
        return replace(meant, commands=(undo,) * sum(last.changed))

    def _wanted(self, heard: SpokenTurn) -> TurnMeaning:
        """Return what is to be done, said or asked; of devices "at Mia's", in her room, and never anywhere else."""
        in_room = self._in_persons_room(heard)
        meant = self._wanted_there(heard.saying(in_room) if in_room else heard)
        if in_room is None:
            return meant
        anywhere = self._wanted_there(heard) if in_room else meant
        commands = meant.commands or (anywhere and meant.in_question)
        if not commands or not all(one.due_tool.startswith("home.") for one in commands):
            return anywhere
        return meant if in_room else self._questions.which_device

    def _unlocked_by_its_words(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant; a question where something would be unlocked of which the words say nothing surely.

        A wish beside it may have a time that is the door's as well, and a remark ("Poppy's gone off again") is no wish.
        """
        unlocking = [one for one in meant.commands if one.due_tool == "home.unlock"]
        if not unlocking:
            return meant
        if not all("device" in one.due_arguments for one in unlocking):  # "open them again", of all doors
            return self._questions.which_device
        if len(unlocking) < len(meant.commands):
            return self._questions.whether(heard.text, meant.commands)
        tokens = self._frames.lexicon.known_tokens(heard.text, heard.names)
        is_named = any(one.category == "device" or one.value in UNLOCKING for one in tokens)
        if is_named or self._is_yes(heard.text):
            return meant
        if not self._sentences.parser:
            return self._questions.whether(heard.text, meant.commands)
        parse = self._sentences.parse(heard.text, heard.names, heard.room)
        return self._questions.about(parse, meant.commands)

    def _in_persons_room(self, heard: SpokenTurn) -> str | None:
        """Return a turn's words with a room in place of whose it is, as `PersonsRooms.written_out` does."""
        return self._persons_rooms.written_out(
            heard.text, heard.names, lambda: self._turns.beside_history(heard).before.person
        )

    def _wanted_there(self, heard: SpokenTurn) -> TurnMeaning:
        """Return what is to be done, said or asked; of regional speech, as it would be written."""
        written, count = self._dialect.written(heard.text, heard.names)
        plainly = NO_DEED if count >= STRONG else self._with_second_chance(heard)
        if not written or plainly.commands or plainly.leans:
            return plainly
        meant = self._with_second_chance(heard.saying(written))
        if meant.commands and only_look(meant.commands) and not written.rstrip().endswith("?"):
            return plainly
        return meant if meant.commands or count >= STRONG else plainly

    def _with_second_chance(self, heard: SpokenTurn) -> TurnMeaning:
        """Return what the words of a turn mean; where that is not sure, what a part of them goes on with."""
        meant, is_unsure = self._read_whole(heard), self._questions.leaves_open
        if not recent(heard.turn) or not is_unsure(meant) or self._is_yes(heard.text):
            return self._chances.supposition(heard, meant)
        meant = self._chances.wish_in_part(heard, meant)
        return self._chances.past_a_look(heard, meant) if is_unsure(meant) else meant

    def _read_whole(self, heard: SpokenTurn) -> TurnMeaning:
        """Return what all words of a turn mean, with the day that was spoken of where they leave it out."""
        turn = self._turns.beside_history(heard)
        return self._goes_on.dated(turn, self._read_steps(turn))

    def _read_steps(self, turn: DialogueTurn) -> TurnMeaning:
        """Return the first of the ways in which the readings of a turn can be meant."""
        for step in self._steps_as_spoken:
            if (known := step(turn)) is not None:
                return known
        turn = self._turns.without_slips(turn)
        meant = next(known for step in self._steps_without_slips if (known := step(turn)) is not None)
        meant = self._by_a_word(turn, meant)
        meant = self._verification.verified(turn, meant)
        return self._verification.as_parsed(turn, meant if meant.commands else self._chances.wish_alone(turn, meant))

    # ── what else is asked of words ─────────────────────────────────────────────────────────────────

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
            return OPEN_COMMAND_SECONDS if meant.custom.loose else CLOSED_SECONDS
        if not meant.commands:
            return None
        if only_look(meant.commands):  # they may be carried out once more with what is said next
            return LOOK_SECONDS
        if self._endings.sweeps(meant.commands):
            return SWEEPING_SECONDS
        return CLOSED_SECONDS if self._endings.closes(text, meant.commands, names) else OPEN_COMMAND_SECONDS

    def goes_on(self, text: str) -> bool:
        """Tell whether the speaker surely has more to say behind `text`: it ends with "and", or "the"."""
        return self._endings.goes_on(text)

    def is_about_ring(self, text: str, names: Names = NOBODY) -> bool:
        """Tell whether `text`, said to what rings without a wake word, may be meant for it: "stop", "snooze".

        Other talk goes on beside a ring, so what only holds such a word ("the bus stop is there") is not.
        """
        meant = self.read(text, names)
        tools = {command.tool for command in meant.commands} | set(meant.half.tools if meant.half else ())
        return self.grammar.wants_silence(text) or any(tool.startswith(RINGING_TOOLS) for tool in tools)


def _once(commands: Sequence[Command]) -> tuple[Command, ...]:
    """Return commands without what sets devices as one before it did; "louder, louder" is twice as much."""
    set_once = [one for one in commands if one.topic == "home" and one.tool != "home.adjust"]
    return tuple(one for at, one in enumerate(commands) if one not in set_once or one not in commands[:at])


def _changing(exchanges: Sequence[EarlierTurn]) -> EarlierTurn:
    """Return the last exchange; the one before, where the last wanted its things to be as they were already."""
    if not exchanges:
        return NOTHING_BEFORE
    last, *before = exchanges
    same = before and any(before[0].changed) and {*last.things} == {*before[0].things} and last.things
    return before[0] if same and not any(last.changed) else last


def _visible(text: str) -> str:
    """Return a text without characters that nobody sees, zero-width ones and marks of direction; "1½" as "1 1/2"."""
    plain = _FRACTION.sub(lambda one: unicodedata.normalize("NFKC", one[0]).replace("\u2044", "/") or " ", text)
    return "".join(character for character in plain if unicodedata.category(character) != "Cf")
