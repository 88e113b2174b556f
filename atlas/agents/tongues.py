"""How a language speaks of deeds: its patterns, read from honesty/LANGUAGE.yaml, which is all that a language is.

The rules are the same in every language and stand in `claims.py`, `owning_up.py`, `wanted.py` and `truth.py`. A house
judges every sentence in its own language and in English, because models answer in both.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

HONESTY = Path(__file__).parent / "honesty"
_FORMS = ("claims", "owning_up", "requests", "begins", "comparing")  # the sections of a file that hold patterns
_PART = re.compile(r"\{([a-z_]+)\}")
_NEVER = "(?!)"
log = logging.getLogger("atlas")


class Tongue:
    """One language, compiled: `tongue["i_have"]` is the pattern of a form; one that it has not is never found."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.language: str = told["language"]
        self.says: Mapping[str, str] = told["says"]
        self.topics = {name: _phrase(rf"\b(?:{said})\b") for name, said in told["topics"].items()}
        self.doings = [(_phrase(rf"\b(?:{how})\b"), frozenset(what.split())) for what, how in told["doings"]]
        self.numbers: Mapping[str, int] = told.get("numbers", {})
        self.irregular: Mapping[str, str] = told.get("irregular", {})
        self.words = {name: frozenset(words) for name, words in told["words"].items()}
        self._parts = {"topics": f"(?:{'|'.join(said.pattern for said in self.topics.values())})"}
        for name, part in told["parts"].items():
            self._parts[name] = f"(?:{self._filled(part)})"
        said_of = told["comparing"]["opposed"]
        self.opposites = [tuple(self._opposed(said_of, said) for said in pair) for pair in told["opposites"]]
        self._forms = {name: _phrase(self._filled(form)) for name, form in _forms(told) if name != "opposed"}

    def __getitem__(self, form: str) -> re.Pattern[str]:
        return self._forms[form]

    def has(self, words: str, *forms: str) -> bool:
        """Tell whether any of these forms is in `words`."""
        return any(self._forms[form].search(words) for form in forms)

    def _filled(self, pattern: str) -> str:
        return _PART.sub(lambda part: self._parts[part[1]], "".join(pattern.splitlines()))

    def _opposed(self, said_of: str, said: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Return how a thing is said to stand so, and how it is only spoken of."""
        return _phrase("".join(said_of.splitlines()).replace("{said}", f"(?:{said})")), _phrase(rf"\b(?:{said})\b")


Tongues = tuple[Tongue, ...]  # of a house: first the one it speaks


def _phrase(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


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


@lru_cache
def _open(language: str) -> Tongue:
    return Tongue(_told(language))


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
        return ENGLISH
    return ENGLISH if language == "en" else (_open(language), *ENGLISH)


ENGLISH: Tongues = (_open("en"),)
