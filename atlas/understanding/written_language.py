"""Tells in which of a house's languages words are written, by the words and letters of each. Pure, once opened.

The sentences that each language was taught by say how often a word is in it, and three letters in a row where a word
is in none of them: "Stehlampe" and "bathroom" tell as much as "the" and "und". What two languages share ("timer",
"status") tells nothing, and then nobody guesses.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from atlas.understanding.act_model import corpus_lines

SURE = 3.0  # nats: below it 4 in 100 sentences are left to what else is known, above it 1 in 1,000 is wrong
LONGEST_CHARACTERS = 400  # that are looked at; more say the same
LEAST_SEEN = 3  # times, before a word speaks for itself; below it its letters do
MOST_OF_A_WORD, MOST_OF_LETTERS = 4.0, 2.0  # nats; one word of another language is a name
LETTERS_WORTH = 0.5  # of three letters, which overlap
_MASK = re.compile(r"\{\w+\}")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SPELLINGS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "’": "'"})  # as the sentences are written


class _Vocabulary:
    """How often one language has a word, and three letters in a row."""

    def __init__(self, sentences: Iterator[str]) -> None:
        self.words = Counter(word for sentence in sentences for word in _words(_MASK.sub(" ", sentence)))
        self.letters: Counter[str] = Counter()
        for word, times in self.words.items():
            for three in _threes(word):
                self.letters[three] += times
        self._all_words = self.words.total()
        self._all_letters = self.letters.total()

    def word(self, word: str) -> float:
        """Return how likely a word is in this language: the logarithm of its share."""
        return math.log((self.words[word] + 0.5) / self._all_words)

    def spelling(self, word: str) -> float:
        """Return how likely letters are in a row as a word has them."""
        return LETTERS_WORTH * sum(math.log((self.letters[three] + 0.5) / self._all_letters) for three in _threes(word))


class WrittenLanguage:
    """Knows some languages apart. Immutable; a sentence takes some hundredths of a millisecond."""

    def __init__(self, vocabularies: Mapping[str, _Vocabulary]) -> None:
        self._vocabularies = vocabularies

    def of(self, text: str) -> str:
        """Return the language of `text`; "" where its words could be of another too."""
        scores = self._scores(text)
        if len(scores) < 2:
            return ""
        (best, most), (_, second) = sorted(scores.items(), key=lambda one: -one[1])[:2]
        return best if most - second >= SURE else ""

    def _scores(self, text: str) -> Mapping[str, float]:
        scores = dict.fromkeys(self._vocabularies, 0.0)
        for word in _words(text[:LONGEST_CHARACTERS]):
            seen = sum(one.words[word] for one in self._vocabularies.values()) >= LEAST_SEEN
            worth = {name: one.word(word) if seen else one.spelling(word) for name, one in self._vocabularies.items()}
            least = max(worth.values()) - (MOST_OF_A_WORD if seen else MOST_OF_LETTERS)
            for name, its in worth.items():
                scores[name] += max(its, least)
        return scores


def open_written_language(languages: Sequence[str]) -> WrittenLanguage:
    """Return what knows these languages apart, those that have sentences to learn from. Takes a third of a second."""
    corpora = {language: corpus_lines(language) for language in languages}
    return WrittenLanguage(
        {
            language: _Vocabulary(line.rpartition("\t")[2] for line in lines)
            for language, lines in corpora.items()
            if lines
        }
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().translate(_SPELLINGS))


def _threes(word: str) -> Iterator[str]:
    bounded = f" {word} "
    return (bounded[at : at + 3] for at in range(len(bounded) - 2))
