"""Sorts a turn that nothing here understood: about this house, a deed, the present, the world, or nothing. Pure.

It decides who may answer. Of this house and of deeds only tools and rules speak, never a model; so doubt is for the
house: whoever asks about the world and hears "I can't look that up" loses less than whoever is told that the door is
locked. A language says in sentences/LANGUAGE/concern.yaml how each is told; one that nobody wrote down has no world.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal

import yaml

from atlas.understanding.names import Names
from atlas.understanding.patterns import IN_MEMORY, filled
from atlas.understanding.templates import SENTENCES

QUIET, GOODBYE = "quiet", "goodbye"  # kinds of courtesies
MOST_SAID = 2  # answers to one turn of courtesies
LEAST_CHARACTERS = 3  # of a name that tells of this house; shorter ones are parts of other words
LONGEST_CHARACTERS = 600  # that are read; who writes more brings a text along, and its beginning says what for
_MARKUP = re.compile(r"(?<![^\W_])[_*`~]+|[_*`~]+(?![^\W_])|(?<=\w)_+(?=\w)|</?\w[^<>]{0,40}>")
_CLAUSES = re.compile(r"[,.;:!?…-]+(?: |$)| (?:and|und) ", re.IGNORECASE)  # of courtesies
_MARKS = re.compile(r"[^\w' ]+")
OF_HOUSE = ("deed", "deed_anywhere", "ours", "house")
Forms = Mapping[str, re.Pattern[str]]
About = Literal["house", "deed", "present", "world", "talk"]
Claims = Callable[[str], float]  # how likely a sentence is a claim of the house, of a deed or of somebody's own things
LIKELY, SURELY = 0.7, 0.97  # a claim; where somebody asked how such gear works, much that is none sounds like one


class SmallTalk:
    """What one language answers to a greeting, a thank you and the like. Immutable."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        rows = tables.get("concern", {}).get("small_talk", ())
        self._answers = [(re.compile(one["heard"], re.IGNORECASE), str(one["says"])) for one in rows]
        courtesy: Mapping[str, Any] = tables.get("concern", {}).get("courtesy", {"rows": ()})
        self._courtesy = [
            (
                re.compile(filled(one["heard"], courtesy["parts"]), re.IGNORECASE),
                str(one["says"]),
                str(one.get("as", "")),
            )
            for one in courtesy["rows"]
        ]
        self._courtesies = lru_cache(IN_MEMORY)(self._rows_of)  # a turn is asked for each of its parts

    def answer(self, *texts: str) -> str:
        """Return the answer to small talk, however it is marked; "" to all else.

        Of a text and its plain words either may be it: a greeting before a request is politeness, and not in these.
        """
        words = [" ".join(_MARKS.sub(" ", text.replace("’", "'")).split()) for text in texts]
        says = next((says for heard, says in self._answers if any(map(heard.fullmatch, words))), "")
        return says or next(filter(None, map(self.courtesy, texts)), "")

    def courtesy(self, text: str, *, outright: bool = False, is_answer: bool = True) -> str:
        """Return what is said to a text whose every clause thanks, praises, excuses or says goodbye; "" to all else.

        Praise alone, of several clauses, is one where it is no answer to a question. `outright`: a goodbye alone is
        none, for it may be the name of something that is to be done.
        """
        rows = self._courtesies(text)
        spoken = list(dict.fromkeys(row[1] for row in rows if row[2] != QUIET))
        if all(row[2] == GOODBYE for row in rows if row[2] != QUIET) and spoken and outright:
            return ""
        if not spoken and not is_answer and len(rows) > 1:
            spoken = list(dict.fromkeys(row[1] for row in rows if row[1]))
        return " ".join(spoken[-MOST_SAID:])

    def _rows_of(self, text: str) -> Sequence[tuple[re.Pattern[str], str, str]]:
        """Return the row of each clause; none at all where a clause is no courtesy."""
        rows = []
        for clause in _CLAUSES.split(text.replace("’", "'")):
            words = _bare(" ".join(_MARKS.sub(" ", clause).split()))
            row = next((row for row in self._courtesy if row[0].fullmatch(words)), None)
            if words and row is None:
                return ()
            rows += [row] if words and row else []
        return rows


class Concerns:
    """How one language tells what words are about. Immutable; takes a fraction of a millisecond."""

    def __init__(self, tables: Mapping[str, Any], claims: Claims | None = None) -> None:
        """Use `claims`, where it was learnt, to hear what no form describes."""
        table: Mapping[str, Any] = tables.get("concern", {})
        self._claims = claims
        self._known = bool(table)
        self._forms = _forms_of(table)
        self._others = [forms for language, forms in _all_forms().items() if language != tables.get("language")]
        self._of_names = lru_cache(4)(_pattern_of)

    def of(self, plain: str, names: Names) -> About:
        """Return what `plain`, words without marks and politeness, is about.

        Talk may be a request in another language than the house's, which has to be no world in any.
        """
        words = plain[:LONGEST_CHARACTERS]
        about = self._of_own(words, names)
        foreign = about == "talk" and any(has(forms, one, words) for forms in self._others for one in OF_HOUSE)
        return "house" if foreign else about

    def strays(self, sentence: str, request: str, names: Names, lookup: str = "") -> bool:
        """Tell whether a sentence said to somebody who asked about the world is about this house, in any language.

        A text that is written at somebody's wish may be about anything. What is named in `lookup`, which the model
        read for its answer, may be named; whatever that says, it wishes for no text.
        """
        if has(self._forms, "writing", request):
            return False
        words, context = _bare(sentence), f"{request} {lookup}"
        every = (self._forms, *self._others)
        of_gear = any(has(forms, "gear", context) for forms in every)  # how a lock works
        if any(has(forms, "unasked", words) or (has(forms, "gear", words) and not of_gear) for forms in every):
            return True
        if self._claims and self._claims(words) > (SURELY if of_gear else LIKELY):
            return True
        named = self._of_names(names).search(words)
        return named is not None and named[0].lower() not in context.lower()

    def _of_own(self, words: str, names: Names) -> About:
        if not self._known:
            return "house"
        if self._has("writing", words) or self._has("amusing", words):
            return "world"  # a letter may be about anything
        if self._has("text", words) and not self._has("ours", words) and not self._of_names(names).search(words):
            return "world"  # a poem about a lamp
        if self._has("deed", words) or self._has("deed_anywhere", words):
            return "deed"
        if self._of_names(names).search(words) or self._has("ours", words):
            return "house"
        if self._has("present", words):
            return "present"
        if self._has("world", words):
            return "world"
        if self._has("house", words):
            return "house"
        return "world" if self._has("question", words) else "talk"

    def sentence(self, plain: str, about: About) -> str:
        """Return the name of what is said to words that nobody answers: who asks nothing hears no "I can't look"."""
        return "talk" if about in ("house", "present") and not self.asks(plain) else about

    def asks(self, plain: str) -> bool:
        """Tell whether words begin as a question does; in a language that nobody wrote down, they may."""
        return not self._known or self._has("question", plain)

    def _has(self, form: str, words: str) -> bool:
        return has(self._forms, form, words)


def _bare(sentence: str) -> str:
    """Return the words of a sentence as they sound: nothing between their letters that is not seen or heard."""
    plain = unicodedata.normalize("NFKC", sentence[:LONGEST_CHARACTERS]).replace("’", "'")
    return " ".join(_MARKUP.sub(" ", "".join(one for one in plain if unicodedata.category(one) != "Cf")).split())


def has(forms: Forms, form: str, words: str) -> bool:
    """Tell whether a language has this form, and words are of it."""
    return form in forms and forms[form].search(words) is not None


def _forms_of(table: Mapping[str, Any]) -> Forms:
    return {
        name: re.compile("|".join(rf"(?:{filled(one, table['parts'])})" for one in patterns), re.IGNORECASE)
        for name, patterns in table.get("forms", {}).items()
    }


@cache
def _all_forms() -> Mapping[str, Forms]:
    """Return the forms of every language that is written down."""
    files = sorted(SENTENCES.glob("*/concern.yaml"))
    tables = {file.parent.name: yaml.safe_load(file.read_text(encoding="utf-8")) for file in files}
    return {language: _forms_of(table["concern"]) for language, table in tables.items()}


def _pattern_of(names: Names) -> re.Pattern[str]:
    every = sorted({re.escape(name.strip()) for name in _every(names) if len(name.strip()) >= LEAST_CHARACTERS})
    return re.compile(rf"\b(?:{'|'.join(every)})(?:'?s|e?n)?\b" if every else "(?!)", re.IGNORECASE)


def _every(names: Names) -> Iterator[str]:
    for device in names.devices:
        yield from device.all_names
    for place in names.places:
        yield from place.all_names
    yield from names.people
    yield from names.lists
