"""How a language speaks of deeds: its patterns, read from honesty/LANGUAGE.yaml, which is all that a language is.

The rules are the same in every language and stand in `claims.py`, `owning_up.py`, `wanted.py` and `truth.py`. A house
judges every sentence in its own language and in English, because models answer in both.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self, cast

import yaml

from atlas.understanding.patterns import filled

HONESTY = Path(__file__).parent / "honesty"
_FORMS = ("claims", "owning_up", "requests", "begins", "comparing")  # the sections of a file that hold patterns
_NEVER = "(?!)"
log = logging.getLogger("atlas")


class Tongue:
    """One language: `tongue["i_have"]` is the pattern of a form; one that it has not is never found.

    It is read and compiled when it is first asked for something. `open_tongues` does that before anybody waits.
    """

    def __init__(self, language: str) -> None:
        self.language = language

    @property
    def says(self) -> Mapping[str, str]:
        """Sentences of the house itself, by their names."""
        return cast("Mapping[str, str]", _told(self.language)["says"])

    @cached_property
    def topics(self) -> Mapping[str, re.Pattern[str]]:
        """What a sentence can be about, and how that is said."""
        return {name: _phrase(rf"\b(?:{said})\b") for name, said in _told(self.language)["topics"].items()}

    @cached_property
    def doings(self) -> Sequence[tuple[re.Pattern[str], frozenset[str]]]:
        """How a doing is told, and what tools call it."""
        return [(_phrase(rf"\b(?:{how})\b"), frozenset(what.split())) for what, how in _told(self.language)["doings"]]

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Numbers that are written as words."""
        return cast("Mapping[str, int]", _told(self.language).get("numbers", {}))

    @property
    def weekdays(self) -> Sequence[str]:
        """The days of the week from Monday on; none in a language that no present day is told in."""
        return cast("Sequence[str]", _told(self.language).get("weekdays", ()))

    @property
    def months(self) -> Sequence[str]:
        """The months from January on; none in a language that no present day is told in."""
        return cast("Sequence[str]", _told(self.language).get("months", ()))

    def infinitive(self, verb: str) -> str:
        """Return a verb as it is asked for: "turned", "turning" → "turn", though "making" → "mak"."""
        irregular = _told(self.language).get("irregular", {})
        return str(irregular[verb]) if verb in irregular else self._ended.sub(_undoubled, verb)

    def base(self, verb: str) -> str:
        """Return what "make", "making" and "made" have in common."""
        return self._silent.sub("", self.infinitive(verb))

    @cached_property
    def _ended(self) -> re.Pattern[str]:
        return _phrase(_told(self.language).get("ended", _NEVER))

    @cached_property
    def _silent(self) -> re.Pattern[str]:
        return _phrase(_told(self.language).get("silent", _NEVER))

    @cached_property
    def words(self) -> Mapping[str, frozenset[str]]:
        """Words that rules treat alike, by the name of their set."""
        return {name: frozenset(words) for name, words in _told(self.language)["words"].items()}

    @cached_property
    def opposites(self) -> Sequence[tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]]:
        """Pairs of which only one can be so: how each is said to stand, and how it is only spoken of."""
        told = _told(self.language)
        return [tuple(self._opposed(told["comparing"]["opposed"], said) for said in pair) for pair in told["opposites"]]

    @cached_property
    def _parts(self) -> Mapping[str, str]:
        topics = "|".join(said.pattern for said in self.topics.values())
        return {"topics": topics, **_told(self.language)["parts"]}

    @cached_property
    def _forms(self) -> Mapping[str, re.Pattern[str]]:
        forms = _forms(_told(self.language))
        return {name: _phrase(filled(form, self._parts)) for name, form in forms if name != "opposed"}

    def open(self) -> Self:
        """Read and compile everything now: a first sentence would wait for it, for tenths of a second."""
        assert self._forms and self.topics and self.doings and self.opposites and self.words
        assert self._ended and self._silent
        return self

    def __getitem__(self, form: str) -> re.Pattern[str]:
        return self._forms[form]

    def has(self, words: str, *forms: str) -> bool:
        """Tell whether any of these forms is in `words`."""
        return any(self._forms[form].search(words) for form in forms)

    def _opposed(self, said_of: str, said: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Return how a thing is said to stand so, and how it is only spoken of."""
        return _phrase("".join(said_of.splitlines()).replace("{said}", f"(?:{said})")), _phrase(rf"\b(?:{said})\b")


Tongues = tuple[Tongue, ...]  # of a house: first the one it speaks


def _phrase(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _undoubled(ending: re.Match[str]) -> str:
    """Return the letter that was doubled before an ending: "stopped" → "stop"."""
    return ending.groupdict().get("doubled") or ""


def _forms(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    polite = r"^\W*{polite}"
    own = {
        name: f"{polite}(?:{form})" if section == "begins" else form
        for section in _FORMS
        for name, form in told[section].items()
    }
    every = {name for section in _FORMS for name in _told("en")[section]}
    assert own.keys() <= every, f"{told['language']}: nothing looks for {sorted(own.keys() - every)}"
    return [*(dict.fromkeys(every, _NEVER) | own).items()]


@lru_cache
def _told(language: str) -> Mapping[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    told: Mapping[str, Any] = yaml.load((HONESTY / f"{language}.yaml").read_text(encoding="utf-8"), loader)  # noqa: S506 (both are safe loaders)
    return told


def languages() -> tuple[str, ...]:
    """Return the languages that claims are known in."""
    return tuple(sorted(file.stem for file in HONESTY.glob("*.yaml")))


def spoken(name: str) -> tuple[str, ...]:
    """Return a sentence of the house itself in every language: what stands under `says`."""
    return tuple(_told(language)["says"][name] for language in languages())


@lru_cache
def open_tongues(language: str) -> Tongues:
    """Return the languages that a house of this language is judged in: its own, and always English.

    Of a language that nobody has written down only English is left, and the log says so.
    """
    if language not in languages():
        log.warning("honesty language=%s: claims are only checked in English, as agents/honesty has no file", language)
        language = "en"
    tongues = ENGLISH if language == "en" else (Tongue(language), *ENGLISH)
    return tuple(tongue.open() for tongue in tongues)


ENGLISH: Tongues = (Tongue("en"),)
