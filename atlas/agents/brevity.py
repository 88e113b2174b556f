"""Cuts a small model's answer to two sentences, none of them twice, none of a talk that it makes up. Pure.

A very small model goes on from the shape of what it reads: it says its last answer again, numbers it, and writes the
next question itself. Whoever asks the same again may be told the same again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from atlas.conversation import Message

MOST_SENTENCES = 2  # the longer it talks, the more of it is wrong
LEAST_WORDS = 4  # "Yes." may be said often
ALIKE = 0.8  # of the words of two sentences of one answer
_END = re.compile(r"(?<!\b\d)(?<!\b\d\d)[.!?…]+[\"'”’)\]*_]*\s+|\n+")
_LABEL = re.compile(r"[\s*_]*(?:(?:A|Answer|Assistant|Atlas|AI|Bot|Antwort)\s*\d*:[\s*_]*)?(?:\d{1,2}[.)]\s+|[-•]\s+)?")
_OTHERS = re.compile(r"[\s*_]*(?:Q|Question|User|Human|You|Frage|Nutzer|Mensch)\s*\d*:", re.IGNORECASE)
_WORD = re.compile(r"\w+")

Words = tuple[str, ...]


class Brevity:
    """One answer on its way. `history` and `question` are what was said before it."""

    def __init__(self, history: Sequence[Message], question: str) -> None:
        self._unread = ""
        self._before = set(_other_answers(history, question))
        self._sentences: list[Words] = []
        self.full = False  # nothing more will be said

    def feed(self, text: str) -> str:
        """Take more of the model's words; return whole sentences that may be said."""
        self._unread = (self._unread + text).lstrip()
        free: list[str] = []
        while not self.full and (end := _END.search(self._unread)):
            sentence = self._unread[: end.start() + len(end[0].rstrip()) + 1]  # with one space of many
            self._unread = self._unread[end.end() :].lstrip()
            free.append(self._judged(sentence))
        return "".join(free)

    def rest(self) -> str:
        """Return what remains to be said: the model has ended."""
        rest, self._unread = self._unread, ""
        return self._judged(rest)

    def _judged(self, sentence: str) -> str:
        if self.full:
            return ""
        if _OTHERS.match(sentence):
            self.full = True
            return ""
        if not self._sentences:
            sentence = _without_label(sentence)
        words = _words(sentence)
        if not words:
            return sentence if self._sentences else ""
        if len(words) >= LEAST_WORDS and (words in self._before or any(_alike(words, one) for one in self._sentences)):
            return ""
        self._sentences.append(words)
        self.full = len(self._sentences) >= MOST_SENTENCES
        return sentence


def _other_answers(history: Sequence[Message], question: str) -> Iterator[Words]:
    """Yield the sentences of answers to other questions."""
    last_request: Words = ()
    for message in history:
        if message.author == "user":
            last_request = _words(message.text)
        elif message.author == "assistant" and last_request != _words(question):
            yield from (_words(_without_label(one)) for one in _END.split(message.text))


def _without_label(sentence: str) -> str:
    label = _LABEL.match(sentence)
    return sentence[label.end() :] if label and label[0].strip() else sentence


def _words(text: str) -> Words:
    return tuple(_WORD.findall(text.casefold()))


def _alike(words: Words, others: Words) -> bool:
    return SequenceMatcher(None, words, others, autojunk=False).ratio() >= ALIKE
