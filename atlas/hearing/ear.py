"""A recogniser that knows what can be said here: keeps the contract of any other, and hears more.

Words that mean something stay as they were read. Those that mean nothing are taken for sounds, and laid on everything
that can be said; what lies near enough, is likely on the sound and is read as a command, is heard as that. Where two
are nearly as likely, or the only one lies a little farther, the utterance says so, and whoever answers asks. What is a
question, talk, or says "don't" is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from enum import Enum

from atlas.conversation import Margins, Utterance
from atlas.hearing.both import BothHearings
from atlas.hearing.nearest import MOST_READINGS, Book, Candidate, nearest, plain_words, written
from atlas.hearing.search import WayMatch
from atlas.hearing.sounds import Sounds
from atlas.speech.stt import Hearing, Judge, JudgedStt, SoundReading, Stt

LEAST_SOUNDS = 5  # "yes", "stop": what is shorter lies near too much
MOST_TRIED = 4  # candidates that are read
AS_LIKELY = 0.3  # nats a token; where what was read stands for something itself, no command may be less likely
NEARER = 10.0  # nats a token, by which a way that is nearer by one may be less likely
UNSURE = -0.5  # a reading's score: below it, what is none of the sayable ways was more often misread than not
DOUBTFUL = 2.5  # of distance and nats together: what is wrong lies between 1.8 and 3.2, what is right mostly below
MOST_POSSIBLE = 3  # some of them come to the same
TOO_DOUBTFUL = 4.0  # of the same, heard by two: beyond it what is nearest was seldom said
LIKELY_TO_BOTH = 0.7  # nats a token; words that nobody could foresee, which both read, are believed up to this
RIVAL = 1.5  # nats; of two commands that differ by less, the likelier was said no more often than the other
# What two ways may differ by and be one, and an ending that makes no difference: "stell" and "stelle".
_LIGHT = {
    "en": frozenset(["a", "an", "the", "my", "our", "please", "to", "of"]),
    "de": frozenset(
        [
            *("der", "die", "das", "dem", "den", "des", "eine", "einen", "einem", "einer"),
            *("mein", "meine", "meinen", "meiner", "bitte", "mal", "mir", "uns"),
        ]
    ),
}
_ENDING = {"de": "e"}


class Sense(Enum):
    """What words are to whoever reads them."""

    COMMAND = "command"  # something is to be done or looked up
    OTHER = "other"  # an answer, an emergency, a wish about the talk itself
    OPEN = "open"  # half a command, or a question that perhaps nobody can answer: it stands against commands
    DENIED = "denied"  # they say not to do what is known
    NEGATED = "negated"  # they say "not" of nothing that is known: "didn't read in length" is "dim the reading lamp"
    LOOSE = "loose"  # a command, but for words in it that may be any: they stand against other commands
    NOTHING = "nothing"


_COMMANDS = (Sense.COMMAND, Sense.LOOSE)


def by_words(language: str) -> Callable[[WayMatch], object]:
    """Return what tells what makes a way differ where every word may matter."""
    light, ending = _LIGHT.get(language, frozenset()), _ENDING.get(language, "")

    def words(match: WayMatch) -> object:
        return frozenset(word.removesuffix(ending) for word in match.text.split() if word not in light)

    return words


def by_slots(match: WayMatch) -> object:
    """Return what makes a way differ where only its slots matter."""
    return tuple(sorted(match.slots.items()))


class Ear(JudgedStt):
    """`stt`, helped by what can be said. `books` may be replaced at any time; the next utterance is heard by them."""

    def __init__(self, stt: Stt, sounds: Sounds, sense: Callable[[str], Sense]) -> None:
        self.books: Sequence[Book] = ()
        self.answer_book: Book | None = None  # what can be said to a question of the house; replaced as they are
        super().__init__(stt)
        self._sounds = sounds
        self._read_sense = sense
        self._senses: dict[str, Sense] = {}  # of the utterance that is being judged; reading one takes milliseconds

    def judge(self, hearing: Hearing) -> Utterance:
        """Return what was said; what is not sure is heard again where there is a better recogniser. Blocking.

        One utterance after the other, as a recogniser hears them.
        """
        self._senses.clear()
        heard = self._first_pass(hearing)
        if self._is_sure(hearing, heard) or (better := hearing.second_pass()) is None:
            return heard
        return self._second_pass(BothHearings(hearing, better, self._sound), heard)

    def means_something(self, text: str) -> bool:
        """Tell whether words of the utterance that was judged last are a command, an answer or the like."""
        return bool(text) and self._sense(text) in (Sense.COMMAND, Sense.LOOSE, Sense.OTHER, Sense.DENIED)

    def answering(self, is_answer: Callable[[str], bool]) -> Judge:
        """Return what judges while a question of the house is open: what `is_answer` goes before what is near to it.

        A new command, or a "don't", stays what it is.
        """

        def judge(hearing: Hearing) -> Utterance:
            return self.answer(hearing, is_answer) or self.judge(hearing)

        return judge

    def answer(self, hearing: Hearing, is_answer: Callable[[str], bool]) -> Utterance | None:
        """Return what answers a question, as it was read or as it lies near; `None` where nothing does. Blocking."""
        self._senses.clear()
        plain = hearing.believed()
        if not plain.text or self._sense(plain.text) not in (Sense.NOTHING, Sense.OPEN):
            return None
        book, readings = self.answer_book, hearing.readings
        as_read = replace(plain, alternatives=()) if is_answer(plain.text) else None
        if book is None or (as_read and book.says(plain.text)):
            return as_read
        if any(self._sense(one.text) in (Sense.DENIED, Sense.NEGATED) for one in readings):
            return as_read
        for near in nearest(hearing, book, self._sounds)[:MOST_TRIED]:  # "an hour in the half" has an hour in it
            text = written(near.match.text)
            if _is_near(hearing, near, book.near, book.less_likely) and is_answer(text):
                return replace(plain, text=text, alternatives=(), doubtful=_is_doubtful(hearing, book, near))
        return as_read

    def _sense(self, text: str) -> Sense:
        """Return what words are to whoever reads them, read once."""
        if text not in self._senses:
            self._senses[text] = self._read_sense(text)
        return self._senses[text]

    def _sound(self, text: str) -> Hashable:
        """Return what makes two texts sound alike."""
        return self._sounds.of(plain_words(text))

    def _is_sure(self, hearing: Hearing, heard: Utterance) -> bool:
        """Whether nobody spoke, or what was said is a command or an answer that was heard well."""
        if not heard.text:
            return not heard.possible
        if heard.possible or heard.doubtful:
            return False
        sense = self._sense(heard.text)
        word_for_word = plain_words(hearing.readings[0].text) == plain_words(heard.text)
        sayable = word_for_word and any(book.says(heard.text) for book in self.books)
        return sense is Sense.OTHER or (sense is Sense.COMMAND and (sayable or not _is_unsure(hearing)))

    def _second_pass(self, both: BothHearings, first: Utterance) -> Utterance:
        """Return what two recognisers hear: one alone makes no deed."""
        plain = both.believed()
        senses = {reading.text: self._sense(reading.text) for reading in both.readings}
        sense = self._sense(plain.text)
        if sense is Sense.OTHER:
            return replace(first, doubtful=first.doubtful or self._sense(first.text) in _COMMANDS)
        if Sense.DENIED not in senses.values():
            also = [reading for reading in both.readings if senses[reading.text] in _COMMANDS]
            negated = any(senses[text] is Sense.NEGATED for text in both.first)
            for book in self.books:
                if (heard := self._heard_by_both(both, book, plain, also, negated=negated)) is not None:
                    return heard
        doubtful = not both.agrees(plain.text) if sense in _COMMANDS else _is_unsure(both)
        return replace(plain, doubtful=plain.doubtful or doubtful)

    def _heard_by_both(
        self, both: BothHearings, book: Book, plain: Utterance, also: Sequence[SoundReading], *, negated: bool
    ) -> Utterance | None:
        """Return the command of a book that is likeliest to both, or a question about it; `None` where none is near."""
        candidates = nearest(both, book, self._sounds, also, most_readings=2 * MOST_READINGS, weigh_all=True)
        if not candidates or self._sense(written(candidates[0].match.text)) not in _COMMANDS:
            return None
        best = candidates[0]
        less_likely = both.less_likely(written(best.match.text))
        far = NEARER * best.distance + sum(less_likely) / len(less_likely)
        commands = [one for one in candidates[:MOST_TRIED] if self._sense(written(one.match.text)) in _COMMANDS]
        if best.strange or not book.says(best.match.text):
            sure = both.agrees(best.match.text) and best.distance <= book.near and max(less_likely) <= LIKELY_TO_BOTH
            possible = book.knows(best.match.text) and not best.strange and far <= DOUBTFUL
            loose = self._sense(written(best.match.text)) is Sense.LOOSE  # any word is a name: "sharpening list"
            rivals = [one for one in commands if loose and one.distance <= book.near / 2 and self._is_known(one)]
            if rivals or (sure and loose):
                sure, possible = not rivals, True
                commands = [best, *(replace(one, score=best.score) for one in rivals)]
        else:
            sure = far <= DOUBTFUL
            possible = best.distance <= book.ask_near and far <= TOO_DOUBTFUL
        if possible and (negated or not sure):
            margins = plain.margins + _margins(both, commands)
            return replace(plain, possible=_with_rivals(best, commands, book.ask_near), margins=margins)
        if negated or not (sure or _is_near(both, best, book.near, book.less_likely)):
            return None
        texts = _with_rivals(best, commands, book.ask_near or book.near)
        return _heard_instead(both, plain, texts, commands, doubtful=not sure)

    def _is_known(self, one: Candidate) -> bool:
        """Whether a command names only what is here, as far as that can be told."""
        return not one.strange or self._sense(written(one.match.text)) is Sense.COMMAND

    def _first_pass(self, hearing: Hearing) -> Utterance:
        """Return what one recogniser hears."""
        plain = hearing.believed()
        if not self.books:
            return plain
        sense = self._sense(plain.text) if plain.text else Sense.NOTHING
        sayable = bool(plain.text) and any(book.says(plain.text) for book in self.books)
        if sense is Sense.OTHER or (sense is Sense.COMMAND and sayable):
            return plain  # a worse reading that is a command must first be likelier than what lies nearer
        if sense is Sense.COMMAND:
            sense = Sense.LOOSE  # "turn on the whole light": who reads it leaves out a word that it does not know
        senses = [self._sense(reading.text) for reading in hearing.readings]
        if Sense.DENIED in senses:
            return plain
        also = [one for one, its in zip(hearing.readings, senses, strict=True) if its is Sense.COMMAND]
        if Sense.NEGATED in senses:
            sense = Sense.NEGATED if sense in (Sense.NOTHING, Sense.NEGATED) else Sense.OTHER
        for book in self.books if sense is not Sense.OTHER else ():
            if (heard := self._heard(hearing, book, sense, plain, also)) is not None:
                return heard
        return replace(plain, doubtful=plain.doubtful or _is_unsure(hearing))

    def _heard(
        self, hearing: Hearing, book: Book, sense: Sense, plain: Utterance, also: Sequence[SoundReading]
    ) -> Utterance | None:
        """Return the command of a book that was said, or those that may have been; `None` where nothing is near."""
        candidates = nearest(hearing, book, self._sounds, also)[:MOST_TRIED]
        commands = [one for one in candidates if self._sense(written(one.match.text)) in _COMMANDS]
        if not candidates or not commands:
            return None
        if sense is not Sense.NEGATED and (meant := _meant(hearing, book, sense, candidates, commands)):
            texts, doubtful = _with_rivals(meant, commands, book.near), _is_doubtful(hearing, book, meant)
            return _heard_instead(hearing, plain, texts, commands, doubtful=doubtful)
        if plain.text and sense in (Sense.NOTHING, Sense.NEGATED) and commands[0] is candidates[0]:
            maybe = commands[0]
            known = self._sense(written(maybe.match.text)) is Sense.COMMAND and book.knows(maybe.match.text)
            near = book.ask_near if sense is Sense.NOTHING else book.near
            if known and _is_near(hearing, maybe, near, book.ask_less_likely):
                margins = plain.margins + _margins(hearing, commands)
                return replace(plain, possible=_with_rivals(maybe, commands, near), margins=margins)
        return None


def _meant(
    hearing: Hearing, book: Book, sense: Sense, candidates: Sequence[Candidate], commands: Sequence[Candidate]
) -> Candidate | None:
    """Return the likeliest command, if it is near enough; nothing where something else is likelier and far."""
    less_likely = book.less_likely if sense is Sense.NOTHING else min(book.less_likely, AS_LIKELY)
    if not _is_near(hearing, candidates[0], book.near, less_likely):
        return None
    return next((one for one in commands if _is_near(hearing, one, book.near, less_likely)), None)


def _with_rivals(meant: Candidate, commands: Sequence[Candidate], near: float) -> tuple[str, ...]:
    """Return a command, and those that are nearly as likely."""
    rivals = [one for one in commands if one.score >= meant.score - RIVAL and one.distance <= near]
    return tuple(dict.fromkeys(written(one.match.text) for one in (meant, *rivals)))[:MOST_POSSIBLE]


def _heard_instead(
    hearing: Hearing, plain: Utterance, texts: Sequence[str], commands: Sequence[Candidate], *, doubtful: bool
) -> Utterance:
    """Return the first of `texts` as what was said, and what was read among what it may have been."""
    return Utterance(
        texts[0],
        hearing.seconds,
        alternatives=(plain.text, *plain.alternatives) if plain.text else (),
        possible=tuple(texts) if len(texts) > 1 else (),
        doubtful=doubtful,
        margins=plain.margins + _margins(hearing, commands),
        language=hearing.language,
    )


def _margins(hearing: Hearing, commands: Sequence[Candidate]) -> Margins:
    """Return by how many nats a token each command is less likely on the sound than what was read, where weighed."""
    best = hearing.readings[0].score
    weights = [(written(one.match.text), one.weight) for one in commands]
    return tuple((text, round(best - one.sound / max(1, one.tokens), 3)) for text, one in weights if one)


def _is_unsure(hearing: Hearing) -> bool:
    """Whether words were read so badly that what was learnt of other words should not make a deed of them."""
    return hearing.readings[0].score < UNSURE


def _is_doubtful(hearing: Hearing, book: Book, meant: Candidate) -> bool:
    """Whether a way is so far from the sounds, or so unlikely on them, that its deed is asked about first."""
    if meant.strange or not book.says(meant.match.text):
        return _is_unsure(hearing)
    weight = meant.weight or hearing.weigh([written(meant.match.text)])[0]
    less_likely = hearing.readings[0].score - weight.sound / max(1, weight.tokens)
    return NEARER * meant.distance + less_likely > DOUBTFUL


def _is_near(hearing: Hearing, candidate: Candidate, near: float, less_likely: float) -> bool:
    """Whether a way is near to the sounds that were read, and nearly as likely on the sound as what was read."""
    if candidate.sounds < LEAST_SOUNDS or candidate.distance > near:
        return False
    weight = candidate.weight or hearing.weigh([written(candidate.match.text)])[0]
    less_likely += NEARER * (near - candidate.distance)
    return weight.sound / max(1, weight.tokens) >= hearing.readings[0].score - less_likely
