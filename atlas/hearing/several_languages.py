"""Hears a house in which several languages are spoken: the recogniser tells which; where it is unsure, both are read.

What is one of the house's commands in one language, and nothing in the other, was said in that one. What is a command
in both, such as "Timer Status", is left open: whoever knows what was spoken before decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from atlas.conversation import Utterance
from atlas.hearing.ear import Ear
from atlas.speech.stt import Hearing, Judge, JudgedStt, Stt


class EarOfLanguages(JudgedStt):
    """Keeps the contract of a recogniser over `stt`, and over an ear for each language, the usual one first."""

    def __init__(self, stt: Stt, ears: Mapping[str, Ear]) -> None:
        super().__init__(stt)
        self._ears = ears
        self._usual = next(iter(ears))

    def answering(self, answers: Callable[[str], bool]) -> Judge:
        """Return what judges while a question is open: see `Ear.answering`, in the language that was heard."""

        def judge(hearing: Hearing) -> Utterance:
            language = hearing.language if hearing.language in self._ears else self._usual
            heard = self._ears[language].answer(hearing, answers)
            return replace(heard, language=language) if heard else self.judge(hearing)

        return judge

    def judge(self, hearing: Hearing) -> Utterance:
        """Return what was said, and in which language; "" where it may be any. Blocking."""
        heard = self._judged(hearing)
        for other in hearing.in_other_languages():
            rival = self._judged(other)
            if rival.text and _letters(rival.text) == _letters(heard.text):
                heard = replace(heard, language="")
            elif self._worth(rival, other) > self._worth(heard, hearing):
                heard, hearing = rival, other
        return heard

    def _judged(self, hearing: Hearing) -> Utterance:
        language = hearing.language if hearing.language in self._ears else self._usual
        return replace(self._ears[language].judge(hearing), language=language)

    def _worth(self, heard: Utterance, hearing: Hearing) -> tuple[bool, bool, float]:
        """Return what tells the better of two: a sure command, then what may be one, then what was read better."""
        means = self._ears[heard.language or self._usual].means_something(heard.text)
        sure = means and not heard.doubtful and not heard.possible
        return sure, means or bool(heard.possible), hearing.readings[0].score


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
