"""Cuts a sentence into clauses: which ask for something, and which only say why, or are polite. Pure.

People wrap what they want: "be an angel and pause the timer, we're out of eggs". Politeness at both ends is dropped; a
clause that begins with a subject ("we're out of eggs") is an aside, which explains a command but is none. Where
somebody else is spoken to ("Ben, …", "…, Mum"), nothing is asked of the house. A clause that reports, or makes a
condition, leaves only the sentence as a whole: a template may know it, but nothing of it is read alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from atlas.understanding.patterns import IN_MEMORY, Rewrites

MOST_CLAUSES = 8
_LENGTHENED = re.compile(r"([a-z])\1{2,}", re.IGNORECASE)  # "snooooze"
_TRAILING = " ,.;:!?-–'\""


class Clauses:
    """The words that one language wraps requests in. Immutable; a sentence takes well under a millisecond."""

    def __init__(self, words: Mapping[str, Any], parts: Mapping[str, str]) -> None:
        self._rewrites = Rewrites(words.get("rewrites", ()), parts)
        self._opener = _one_of(words.get("openers", ()), "(?:{})(?![\\w'-])[ ,.!…:-]*(?=\\S)")
        self._closer = _one_of(words.get("closers", ()), "[ ,.!;-]+(?:{})[ .,!?]*$")
        self._joint = re.compile(words.get("joints", r"[,.;!?]+"), re.IGNORECASE)
        self._aside = _one_of(words.get("asides", ()), "(?:{})")
        self.reports = _one_of(words.get("reports", ()), "\\b(?:{})\\b")
        self._house = frozenset(words.get("house", ()))
        self._kin = frozenset(words.get("kin", ()))
        self.candidates = lru_cache(IN_MEMORY)(self._candidates)

    def _candidates(self, text: str, people: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return what may be asked of the house in `text`: all of it, then without asides, then the clauses one by one.

        Nothing at all when somebody else is spoken to. Clauses are divided by ", "; politeness is gone.
        """
        words = self._written(text)
        if self._is_to_somebody(words, people):
            return ()
        words = self._unwrapped(words)
        pieces = [piece for raw in self._joint.split(words) if raw and (piece := self._unwrapped(raw))]
        if not pieces or len(pieces) > MOST_CLAUSES:
            return ()
        whole = ", ".join(pieces)
        asides = [self.is_aside(piece, people) for piece in pieces]
        if any(self.reports.search(piece) for piece in pieces):
            return (whole,)
        wanted = [piece for piece, aside in zip(pieces, asides, strict=True) if not aside]
        return tuple(dict.fromkeys((whole, *filter(None, [", ".join(wanted)]))))

    def _written(self, text: str) -> str:
        words = " ".join(text.replace("’", "'").replace("‑", "-").replace("…", ", ").replace("...", ", ").split())
        return self._rewrites.written(_LENGTHENED.sub(r"\1\1", words).strip(_TRAILING))

    def _unwrapped(self, words: str) -> str:
        """Return words without politeness and hesitation at both ends."""
        words = words.strip(_TRAILING)
        while opener := self._opener.match(words):
            words = words[opener.end() :]
        while closer := self._closer.search(words):
            words = words[: closer.start()]
        return words.strip(_TRAILING)

    def _is_to_somebody(self, words: str, people: Sequence[str]) -> bool:
        """Tell whether it begins or ends by calling somebody: "Ben, …", "… the door, Mum"."""
        spoken = re.findall(r"[^\W_][\w'-]*|[,.;!?]", words.casefold())
        if {*spoken} & self._house or not spoken:
            return False
        called = {person.casefold() for person in people} | self._kin
        first = spoken[0] in called
        return first or (len(spoken) > 2 and spoken[-1] in called and not spoken[-2][0].isalnum())

    def is_aside(self, piece: str, people: Sequence[str] = ()) -> bool:
        """Tell whether a clause only says why something is wanted, or how it is."""
        first = piece.casefold().split()[0]
        names = {person.casefold() for person in people} | self._kin
        return bool(self._aside.match(piece)) or first.split("'")[0] in names


def _one_of(ways: Sequence[str], frame: str) -> re.Pattern[str]:
    return re.compile(frame.format("|".join(ways) or "(?!)"), re.IGNORECASE)
