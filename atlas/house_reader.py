"""Reads every sentence of the house: its language, what it means by itself, and what may have been misheard."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.to_thread

from atlas.agents.house_names import HouseNames
from atlas.agents.house_sentences import HouseSentences, sentences_file
from atlas.changes import EVERYTHING, Changes
from atlas.config import Config
from atlas.conversation import Actor, ToolCall, ToolResult, Turn, Utterance
from atlas.hearing.ear import Ear, Sense
from atlas.hearing.house_ear import ESPEAK_VOICES, BookKeeper, HouseBook, Senses
from atlas.hearing.several_languages import EarOfLanguages
from atlas.hearing.sounds import Sounds
from atlas.latest import Latest
from atlas.mcp.tools import Tools
from atlas.own_words import language as spoken_language
from atlas.router import Addressing
from atlas.speech.stt import Stt
from atlas.understanding.foreseen_replies import ForeseenReplies
from atlas.understanding.grammar import Grammar
from atlas.understanding.intents import PublicReader
from atlas.understanding.names import Names
from atlas.understanding.parser import Parser
from atlas.understanding.readings import pick
from atlas.understanding.understanding import Reader, Understanding
from atlas.understanding.written_language import WrittenLanguage

_NAMED = {"home", "lists", EVERYTHING}  # whose changes may bring new names
MOST_SPEAKERS = 256  # whose last language is known
LATEST_REQUESTS = 3  # of a conversation that its client keeps, which may tell its language


@dataclass(frozen=True, slots=True)
class Language:
    """What was read of one of the house's languages: its grammars, and what was learnt of it."""

    grammar: Grammar
    public: PublicReader
    parser: Parser | None


class LanguageReader:
    """What a house makes of words of one language. `sentences` reads a turn in it, `ear` weighs what was heard."""

    def __init__(
        self,
        code: str,
        language: Language,
        sentences_file: Path,
        tools: Sequence[Tools],
        stt: Stt,
        sense: Callable[[str, str], Sense],
        is_in_language: Callable[[str], bool],
    ) -> None:
        self._public = language.public
        self.custom = HouseSentences(
            *(sentences_file, code, tools, self._public),
            prepare=lambda new: self._book.learn(custom=new),
            is_in_language=is_in_language,
        )
        self.sentences = Reader(language.grammar, self._public, language.parser, self.custom)
        # What was learnt makes sense of misheard words too, and not theirs: here it is left out.
        self.literal = Reader(language.grammar, self._public, custom=self.custom)
        self.senses, sounds = Senses(code), Sounds(ESPEAK_VOICES.get(code, code))
        self.ear = Ear(stt, sounds, lambda text: sense(code, text))
        self._book: BookKeeper = BookKeeper(self.ear, HouseBook(code, language.grammar.tables, sounds))

    def prepare(self, known: Names) -> None:
        """Understand and hear these names from now on. Blocking."""
        self._public.prepare(known)
        self._book.learn(known)

    def prepare_to_read(self, known: Names) -> None:
        """Understand these names from now on. Blocking."""
        self._public.prepare(known)

    def learn(self) -> None:
        """Know what can be said before any name is known. Blocking."""
        self._book.learn()

    def understands(self, text: str, known: Names) -> bool:
        """Tell whether words mean something by the grammars of this language alone."""
        meant = self.literal.read(text, known)
        return not meant.empty or bool(
            meant.question or meant.past or meant.that or meant.restart or meant.help or meant.about
        )


class HouseReader:
    """What a house makes of words, with its own names, sentences and agents, in each of its languages.

    `names` are what each agent may look at, `languages` read a turn for them, `ear` weighs what was heard.
    """

    def __init__(
        self,
        config: Config,
        languages: Mapping[str, Language],
        written: WrittenLanguage | None,  # tells them apart; None where there is one
        addressing: Addressing,
        tools: Mapping[str, Tools],
        residents: Callable[[], Awaitable[Sequence[str]]],
        stt: Stt,
    ) -> None:
        self._agent = config.house.agent
        self._addressing = addressing
        self._written = written
        self._first = next(iter(languages))
        self._foreseen = ForeseenReplies()
        self._last = Latest[Actor, str](MOST_SPEAKERS)  # the language in which each was answered last
        self.languages = {
            code: LanguageReader(
                code,
                language,
                config.data / sentences_file(code, [*languages]),
                [*tools.values()],
                stt,
                self._sense,
                lambda text, code=code: self.language_of(text) == code,  # type: ignore[misc]
            )
            for code, language in languages.items()
        }
        ears = {code: one.ear for code, one in self.languages.items()}
        self.ear: Ear | EarOfLanguages = EarOfLanguages(stt, ears) if len(ears) > 1 else ears[self._first]
        self.names = {
            name: HouseNames(
                its,
                self._prepare if name == self._agent else self._prepare_to_read,
                residents,
                config.house.also_called,
            )
            for name, its in tools.items()
        }

    # ── in which language ──────────────────────────────────────────────────────────────────────────

    def language_of(self, text: str, before: str = "") -> str:
        """Return the language of `text`: by its words, else the only one that understands it, else that of `before`."""
        if self._written is None:
            return self._first
        if written := self._written.of(text):
            return written
        bare, known = self._addressing.bare(text), self._known()
        readers = [code for code, one in self.languages.items() if one.understands(bare, known)]
        return readers[0] if len(readers) == 1 else before or self._first

    def settled(self, turn: Turn) -> Turn:
        """Return a turn with its language: that in which it was heard or is written, else that of the turn before."""
        if turn.language in self.languages:
            return turn
        return replace(turn, language=self.language_of(turn.text, self._before(turn)))

    def note(self, turn: Turn) -> None:
        """Note that somebody was answered in the language of `turn`: "okay" after it is in that one too."""
        self._last[turn.actor] = turn.language

    def _before(self, turn: Turn) -> str:
        requests = [message.text for message in turn.history if message.author == "user"][-LATEST_REQUESTS:]
        written = (self._written.of(text) for text in reversed(requests)) if self._written else ()
        return next(filter(None, written), self._last.get(turn.actor, ""))

    # ── what it means ──────────────────────────────────────────────────────────────────────────────

    def read(self, text: str) -> Understanding:
        """Return what `text` means by itself, whichever agent it is for."""
        return self._reader_of(text).read(self._addressing.bare(text), self._known())

    def settle_seconds(self, text: str) -> float | None:
        """See `Reader.settle_seconds`."""
        return self._reader_of(text).settle_seconds(self._addressing.bare(text), self._known())

    def foresee(self, text: str) -> str:
        """Return what will probably be said to a command in the language spoken here; "" where nobody can tell."""
        return self._foreseen.foresee(spoken_language(), self.read(text).commands)

    def learn_reply(self, call: ToolCall, result: ToolResult) -> None:
        """Note what was said of a call: the next like it is answered alike, and a timer's name may be said again."""
        self._foreseen.learn(spoken_language(), call, result)
        if result.ok and call.name == "timers.start" and isinstance(name := call.arguments.get("name"), str):
            for one in self.languages.values():
                one.senses.learn_timer(name)

    def goes_on(self, text: str) -> bool:
        """See `Reader.goes_on`."""
        return self._reader_of(text).goes_on(text)

    def wants_silence(self, text: str) -> bool:
        """Tell whether `text`, in any language of the house, wants a reply to end and no other."""
        return any(one.sentences.grammar.wants_silence(text) for one in self.languages.values())

    def is_about_ring(self, text: str) -> bool:
        """See `Reader.is_about_ring`."""
        return self._reader_of(text).is_about_ring(self._addressing.bare(text), self._known())

    def pick(self, heard: Utterance) -> Utterance:
        """See `pick`."""
        reader = self.languages[heard.language or self.language_of(heard.text)].sentences
        return pick(lambda text: reader.read(text, self._known()), self._addressing.bare, heard)

    async def health(self) -> str:
        """Return how many sentences of its own the house has. Raises `ConfigError` when a file is wrong."""
        return "; ".join([await one.custom.health() for one in self.languages.values()])

    # ── what changes ───────────────────────────────────────────────────────────────────────────────

    async def learn(self) -> None:
        """Know the house's names as they are now, and what can be said with them."""
        for known in self.names.values():
            await known.fetch()

    async def look(self) -> None:
        """Read the house's own sentences again, if they have changed."""
        for one in self.languages.values():
            await one.custom.look()

    async def watch(self, changes: Changes) -> None:
        """Follow the house's names and its own sentences, and keep what can be heard up to date, until cancelled."""
        async with anyio.create_task_group() as tasks:
            for known in self.names.values():
                tasks.start_soon(known.watch)
            tasks.start_soon(self._look_again, changes)
            for one in self.languages.values():
                tasks.start_soon(one.custom.watch)
                tasks.start_soon(anyio.to_thread.run_sync, one.learn)

    async def _look_again(self, changes: Changes) -> None:
        """Fetch the names as soon as a device or a list came or went."""
        last = changes.last
        while True:
            notices = await changes.after(last)
            last = notices[-1].number
            if _NAMED & {notice.kind for notice in notices}:
                for known in self.names.values():
                    known.look_again()

    def _known(self) -> Names:
        return self.names[self._agent]()

    def _reader_of(self, text: str) -> Reader:
        return self.languages[self.language_of(text)].sentences

    def _sense(self, code: str, text: str) -> Sense:
        reader, known = self.languages[code], self._known()
        return reader.senses.of(text, reader.literal.read(self._addressing.bare(text), known), known)

    def _prepare(self, known: Names) -> None:
        for one in self.languages.values():
            one.prepare(known)

    def _prepare_to_read(self, known: Names) -> None:
        for one in self.languages.values():
            one.prepare_to_read(known)
