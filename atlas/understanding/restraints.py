"""Tells that a sentence speaks of a deed without asking for it: "it would be stupid to open the garage". Pure.

A deed is asked for by a verb that commands ("open …"), or by one that stands under words that wish: "could you", "be so
kind as to". Under other words it is only spoken of: refused, judged, put off until somebody has agreed, quoted. Those
words (`withheld` in sentences/LANGUAGE/restraints.yaml) have a scope: from where they begin to the end of their
sentence, or to words that begin another wish. What stands outside of it is read as if it stood alone. A deed in the
infinitive under words that no table has is in doubt.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atlas.understanding.frames import Frames
from atlas.understanding.names import Names
from atlas.understanding.patterns import pattern

LONGEST_CHARACTERS = 300  # a longer text is none that is acted on


@dataclass(frozen=True, slots=True)
class Restraint:
    """What keeps a sentence from being done: all of it but `rest`, or the doubt whether it is wanted at all."""

    rest: str = ""  # what stands outside of the scope
    doubtful: bool = False  # the deed stands under words of which nobody knows whether they wish


class Restraints:
    """How one language speaks of deeds without asking for them; a language without a table never does."""

    def __init__(self, words: Mapping[str, Any], frames: Frames) -> None:
        self._frames = frames
        self._quoted, self._withheld = pattern(words, "quoted"), pattern(words, "withheld")
        self._ends, self._wishes, self._embedded = (pattern(words, name) for name in ("ends", "wishes", "embedded"))

    def read(self, text: str, names: Names) -> Restraint | None:
        """Return what keeps a text from being done; `None` where nothing does."""
        text = " ".join(text.replace("’", "'").split())[:LONGEST_CHARACTERS]
        if self._quoted.search(text):
            return Restraint()  # the words are spoken of, and are not even a question to this house
        if match := self._withheld.search(text):
            end = self._ends.search(text, match.end())
            return Restraint(f"{text[: match.start()]} {text[end.end() :] if end else ''}".strip(" ,.;!"))
        return Restraint(doubtful=True) if self._is_only_embedded(text, names) else None

    def _is_only_embedded(self, text: str, names: Names) -> bool:
        """Whether the only deed of a text is an infinitive under words that name nothing and are no wish."""
        deed = self._embedded.search(text)
        above = text[: deed.start()].strip(" ,") if deed else ""
        if not above or self._wishes.search(above) or self._frames.lexicon.tokens(above, names) is not None:
            return False
        return not self._frames.wants_a_deed(above)
