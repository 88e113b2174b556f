"""Leaves undone what a turn only speaks of: "it would be stupid to open the garage". Pure.

A deed is asked for by a verb that commands ("open …"), or by one that stands under words that wish: "could you", "be so
kind as to". Under other words it is only spoken of: refused, judged, put off until somebody has agreed, quoted. Those
words (`withheld` in sentences/LANGUAGE/restraints.yaml) have a scope: from where they begin to the end of their
sentence, or to words that begin another wish. What stands outside of it is read as if it stood alone. A deed in the
infinitive under words that no table has is in doubt.

What is wanted later, without a time ("turn the kettle off later"), is not done either: it is asked when.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atlas.understanding import moments
from atlas.understanding.choices import MeaningChoice
from atlas.understanding.clarifications import Clarifications
from atlas.understanding.command_traits import ADDING, of_home, only_look
from atlas.understanding.dialogue import UNDO
from atlas.understanding.dialogue_turn import SpokenTurn, Understand
from atlas.understanding.frames import Frames
from atlas.understanding.meaning import NO_DEED, TurnMeaning
from atlas.understanding.names import Names
from atlas.understanding.parser import NOT_PARSED
from atlas.understanding.patterns import pattern
from atlas.understanding.sentence_reader import SentenceReader
from atlas.understanding.slots import LATER, for_now

LONGEST_CHARACTERS = 300  # a longer text is none that is acted on
# Tools that take words as they are, whatever they say.
OF_ANY_WORDS = (*ADDING, "broadcast.say", "facts.remember", "facts.forget")


class RestrainedDeeds:
    """How one language keeps deeds from being done; `wanted` reads a turn, whatever its words. Immutable."""

    def __init__(self, sentences: SentenceReader, questions: Clarifications, wanted: Understand) -> None:
        self._frames, self._parser, self._grammar = sentences.frames, sentences.parser, sentences.grammar
        words = self._grammar.tables.get("restraints", {})
        self._restraints = Restraints(words, self._frames)
        self._undated = UndatedDeeds(words, self._frames, questions)
        self._questions = questions
        self._wanted = wanted

    def hold(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant, without what a turn only speaks of; the question when, for what it wants at no time."""
        commands = (*meant.commands, *meant.in_question)
        if not meant:
            return self._when(heard, meant)
        if not (commands or meant.half) or any(one.tool in OF_ANY_WORDS for one in commands):
            return meant
        if meant.leans and all(one.tool == UNDO or one.tool.endswith(".cancel") for one in commands):
            return meant  # "forget it, I'm off anyway" keeps the deed from being done, and not from being taken back
        looks = bool(commands) and only_look(commands)
        read = (self._restraints.read(text, heard.names) for text in heard.verbatim)
        restraint = next(filter(None, read), None)
        if restraint and restraint.complains and not of_home(commands):
            return meant
        if restraint is None or (looks and (restraint.rest or restraint.doubtful or not of_home(commands))):
            return meant if looks else self._when(heard, meant)
        if restraint.doubtful:
            asks = meant.commands and of_home(commands) and self._parser
            return self._questions.about(NOT_PARSED, meant.commands) if asks else meant
        return self._alone(heard, restraint.rest)

    def _when(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant; the question when, for what is wanted later at no time."""
        negated = self._grammar.is_negated(heard.text, heard.names)  # "leave it on later"
        return meant if negated else self._undated.when(heard, meant)

    def _alone(self, heard: SpokenTurn, rest: str) -> TurnMeaning:
        """Return the deed that stands beside what a turn only speaks of."""
        if not (self._frames.wants_a_deed(rest) or self._frames.is_deed(rest, heard.names)):
            return NO_DEED
        meant = self._wanted(heard.saying(self._frames.without_idioms(rest)))
        return NO_DEED if only_look(meant.commands) else meant


@dataclass(frozen=True, slots=True)
class Restraint:
    """What keeps a sentence from being done: all of it but `rest`, or the doubt whether it is wanted at all."""

    rest: str = ""  # what stands outside of the scope
    complains: bool = False  # of a thing: nothing is wanted of it
    doubtful: bool = False  # the deed stands under words of which nobody knows whether they wish


class Restraints:
    """How one language speaks of deeds without asking for them; a language without a table never does."""

    def __init__(self, words: Mapping[str, Any], frames: Frames) -> None:
        self._frames = frames
        self._quoted, self._withheld = pattern(words, "quoted"), pattern(words, "withheld")
        self._complains = pattern(words, "complains")
        self._ends, self._wishes, self._embedded = (pattern(words, name) for name in ("ends", "wishes", "embedded"))

    def read(self, text: str, names: Names) -> Restraint | None:
        """Return what keeps a text from being done; `None` where nothing does."""
        text = " ".join(text.replace("’", "'").split())[:LONGEST_CHARACTERS]
        if self._quoted.search(text):
            return Restraint()  # the words are spoken of, and are not even a question to this house
        if match := self._withheld.search(text):
            end = self._ends.search(text, match.end())
            return Restraint(f"{text[: match.start()]} {text[end.end() :] if end else ''}".strip(" ,.;!"))
        if complaint := self._complains.search(text):
            beside = f"{text[: complaint.start()]}, {text[complaint.end() :]}"
            return None if self._frames.wants_a_deed(beside) else Restraint(complains=True)
        return Restraint(doubtful=True) if self._is_only_embedded(text, names) else None

    def _is_only_embedded(self, text: str, names: Names) -> bool:
        """Whether the only deed of a text is an infinitive under words that name nothing and are no wish."""
        deed = self._embedded.search(text)
        above = text[: deed.start()].strip(" ,") if deed else ""
        if not above or self._wishes.search(above) or self._frames.lexicon.tokens(above, names) is not None:
            return False
        return not self._frames.wants_a_deed(above)


class UndatedDeeds:
    """How one language says "later" without a time; a language without a table never does. Immutable."""

    def __init__(self, words: Mapping[str, Any], frames: Frames, questions: Clarifications) -> None:
        self._undated = pattern(words, "undated")
        self._soon: Mapping[str, int] = words.get("soon", {})  # what may be chosen: in words, and in seconds
        self._frames = frames
        self._questions = questions

    def when(self, heard: SpokenTurn, meant: TurnMeaning) -> TurnMeaning:
        """Return what is meant; the question when, where a turn wants it later and says no time."""
        commands = meant.choices.choices[0].commands if meant.choices else meant.commands
        rest = self._without_later(heard.text)
        if rest and not meant:  # the parser knows it for a deed to come, and no time to do it at
            commands = self._frames.read(rest, heard.names, heard.room)
        of_devices = all(one.tool.startswith(("home.", LATER)) for one in commands)
        if not (commands and rest and of_devices) or moments.find(rest):
            return meant
        soon = self._soon.items()
        return self._questions.among(
            [
                MeaningChoice(words, tuple(one.later(seconds=seconds) for one in for_now(commands)))
                for words, seconds in soon
            ]
        )

    def _without_later(self, text: str) -> str:
        """Return a text without the "later" in it that says no time; "" where there is none."""
        match = self._undated.search(text[:LONGEST_CHARACTERS])
        asides = [one.aside for one in self._frames.clauses(text) if match and one.holds([match.start()])]
        if match is None or (any(asides) and len(self._frames.clauses(text)) > 1):
            return ""
        return f"{text[: match.start()]}{text[match.end() :]}"
