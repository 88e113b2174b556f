"""Replaces names of this house, times, lengths of time and numbers in a sentence by what they are. Pure.

"Wake me at six" and "wake me tomorrow at half past nine" become the same words, and so do the lamps of two houses: what
is learnt from sentences of one house holds in every other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from atlas.understanding import durations, moments
from atlas.understanding.frame_words import HOUSES, LONGEST_PHRASE_WORDS, WORD, Lexicon, Token, spelled
from atlas.understanding.names import NamedDevice, Names

NAMED = ("device", "room", "floor", "person", "kind", "list")  # categories of words that name something
_ARTICLES = frozenset(["a", "an", "one", "ein", "eine", "eins", "einen", "einer"])  # seldom numbers
_NOUNS = {"switch": "appliance", "climate": "heating", "media": "player", "valve": "tap", "lock": "door"}


@dataclass(frozen=True, slots=True)
class MaskedPiece:
    """One word or phrase: what it is in the eyes of who learns, and characters `start` up to `end` of the text."""

    mask: str  # "{LIGHT}" for a name, "{lights}" for a word for a kind of device, else the word
    start: int
    end: int
    token: Token | None = None  # what it names

    def moved(self, by: int) -> MaskedPiece:
        """Return the piece in a text that begins so many characters earlier."""
        return replace(self, start=self.start + by, end=self.end + by)


class Masks:
    """Masks the sentences of one language. `digits` writes out numbers as digits. Immutable."""

    def __init__(self, lexicon: Lexicon, digits: Callable[[str], str]) -> None:
        self._lexicon = lexicon
        self._digits = digits
        self._known = lru_cache(HOUSES)(self._names_of)

    def pieces(self, text: str, names: Names) -> tuple[MaskedPiece, ...]:
        """Return the pieces of a text, in order."""
        known = self._known(names)
        every = [(spelled(self._lexicon.bare(match[0])), match.start(), match.end()) for match in WORD.finditer(text)]
        spans = [
            span for span in _times(text) if not (_in_a_name(span, every, known) or _is_amount(text[span[1] :], known))
        ]
        words = [word for word in every if not any(start <= word[1] < end for start, end, _ in spans)]
        pieces = [MaskedPiece(mask, start, end) for start, end, mask in spans]
        at = 0
        while at < len(words):
            size, token = _longest(words, at, known)
            if token and size == 1 and _is_of_another(token, _longest(words, at + 1, known)[1]):
                token = None  # "the electric fan" is no blanket
            if token is None and (parts := self._parts(text, words[at], names)):
                pieces += parts
            elif token is None:
                word = " ".join(words[at][0])
                written = text[words[at][1] : words[at][2]]  # with its umlauts
                number = self._digits(written).replace(".", "", 1).isdigit() and word not in _ARTICLES
                pieces.append(MaskedPiece("{N}" if number else word, words[at][1], words[at][2]))
            else:
                pieces.append(MaskedPiece(_mask(token), words[at][1], words[at + size - 1][2], token))
            at += size
        return tuple(sorted(pieces, key=lambda piece: piece.start))

    def _parts(self, text: str, word: tuple[Sequence[str], int, int], names: Names) -> list[MaskedPiece]:
        """Return the place and the thing that a compound is put together of: "Gartenlampe"."""
        (spelling, *more), start, end = word
        both = [] if more else self._lexicon.compound(spelling, names)
        if not both:
            return []
        [(_, place), (_, thing)] = both
        split = end - len(thing.text) if text[:end].casefold().endswith(thing.text.casefold()) else end - 1
        return [MaskedPiece(_mask(place), start, split, place), MaskedPiece(_mask(thing), split, end, thing)]

    def _names_of(self, names: Names) -> Mapping[tuple[str, ...], Token]:
        """Return every phrase that is known, and the names of lists."""
        lists = {key: Token("list", name, name) for name in names.lists for key in self._lexicon.spellings(name)}
        return {**self._lexicon.known(names), **lists}


def noun(device: NamedDevice) -> str:
    """Return the common noun for a device."""
    if device.kind == "cover":
        return {"garage": "garage door", "curtain": "curtains"}.get(device.shape, "blinds")
    if device.kind == "sensor":
        return device.shape or "sensor"
    return _NOUNS.get(device.kind, device.kind)


def _times(text: str) -> list[tuple[int, int, str]]:
    spans = [
        (one.start, one.end, "{DELAY}" if {part.kind for part in one.parts} == {"length"} else "{WHEN}")
        for one in moments.find(text)
    ]
    for one in durations.find_in_any_language(text):
        if not any(start < one.end and one.start < end for start, end, _ in spans):
            spans.append((one.start, one.end, "{DURATION}"))
    return spans


def _is_of_another(part: Token, after: Token | None) -> bool:
    """Whether a word that is part of a device's name stands before another kind of device."""
    if part.category != "device" or after is None or after.category not in ("kind", "device"):
        return False
    kind = after.value[0] if after.category == "kind" else after.value.kind
    return " " in part.value.name and part.value.kind != kind


def _is_amount(rest: str, known: Mapping[tuple[str, ...], Token]) -> bool:
    """Whether a unit follows, so that what seemed to be a time is none: "um 20 Prozent"."""
    word = WORD.match(rest.lstrip())
    token = known.get(tuple(spelled(word[0]))) if word else None
    return bool(word and (word[0] in "%°" or (token and token.category == "unit")))


def _in_a_name(
    span: tuple[int, int, str], words: Sequence[tuple[Sequence[str], int, int]], known: Mapping[tuple[str, ...], Token]
) -> bool:
    """Whether words that say when are part of a longer name in this house: the Christmas tree."""
    start, end, _ = span
    for at, (_, begins, _) in enumerate(words):
        size, token = _longest(words, at, known)
        if (
            token
            and begins <= start
            and end <= words[at + size - 1][2]
            and (begins, words[at + size - 1][2]) != (start, end)
        ):
            return True
    return False


def _longest(
    words: Sequence[tuple[Sequence[str], int, int]], at: int, known: Mapping[tuple[str, ...], Token]
) -> tuple[int, Token | None]:
    """Return how many words name something from here on, and what."""
    for size in range(min(LONGEST_PHRASE_WORDS, len(words) - at), 0, -1):
        phrase = tuple(part for word, _, _ in words[at : at + size] for part in word)
        token = known.get(phrase)
        if token and token.category in NAMED:
            return size, token
    return 1, None


def _mask(token: Token) -> str:
    if token.category == "device":
        called = {" ".join(spelled(name)).rstrip("s") for name in token.value.all_names}
        whole = " ".join(spelled(token.text))
        return f"{{{noun(token.value).upper()}}}" if whole.rstrip("s") in called or " " in whole else f"{{{whole}}}"
    return f"{{{token.text.casefold()}}}" if token.category == "kind" else f"{{{token.category.upper()}}}"
