"""Reads questions about a state that name no kind: "is anything still on upstairs", "is everything locked". Pure.

Whoever asks so wants to hear of all that can be so, in the place that is said, or in the whole house: never only of the
things that were just spoken of. "Any" without a noun ("are any still open") is of the kind that was spoken of, where
that can be so at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from atlas.understanding.frame_words import Lexicon
from atlas.understanding.names import NamedDevice, Names
from atlas.understanding.patterns import filled, pattern
from atlas.understanding.slots import Command

LONGEST_CHARACTERS = 120
_KINDS: Mapping[str, Sequence[str]] = {  # that can be so
    **dict.fromkeys(("on", "off"), ("light", "switch", "fan", "media", "climate")),
    **dict.fromkeys(("open", "closed"), ("cover", "valve", "sensor")),
    **dict.fromkeys(("locked", "unlocked"), ("lock",)),
}


class StateQuestions:
    """How one language asks so. `words` is its table `state_questions`; without one it never does."""

    def __init__(self, words: Mapping[str, Any], lexicon: Lexicon) -> None:
        parts: Mapping[str, str] = words.get("parts", {})
        ways: Mapping[str, Sequence[str]] = words.get("ways", {})
        self._ways = [
            (quantity, re.compile(filled(way, parts), re.IGNORECASE)) for quantity, rows in ways.items() for way in rows
        ]
        self._states = {state: re.compile(way, re.IGNORECASE) for state, way in words.get("states", {}).items()}
        self._lead, self._tail = pattern(words, "lead"), pattern(words, "tail")
        self._house, self._here = pattern(words, "house"), pattern(words, "here")
        self._this_floor, self._lit = pattern(words, "this_floor"), pattern(words, "lit")
        self._pronoun, self._weak = pattern(words, "pronoun"), pattern(words, "weak")
        self._lexicon = lexicon

    def read(
        self, text: str, names: Names, room: str = "", spoken_of: Sequence[NamedDevice] = ()
    ) -> tuple[Command, ...]:
        """Return the look that answers a text; nothing where it asks for something else.

        `spoken_of`: the devices of the exchange before, whose kind "any of them" is of.
        """
        if len(text) > LONGEST_CHARACTERS:
            return ()
        words = " ".join(text.replace("’", "'").split()).strip(" .,!?")
        words = self._tail.sub("", self._lead.sub("", words, count=1)).strip(" .,!?")
        if self._weak.fullmatch(words):
            return ()
        for quantity, way in self._ways:
            if match := way.fullmatch(words):
                named = match.groupdict()
                wheres = [where for key, where in named.items() if key.startswith("where") and where]
                state = next((one for one, way in self._states.items() if way.fullmatch(named["state"])), "")
                place = self._place(" ".join(wheres).strip(" ,"), names, room, state)
                if state and place is not None:
                    kind = self._kind(words, state, spoken_of)
                    return (Command("home.state", {**kind, "value": state, "quantity": quantity, **place}),)
        return ()

    def _place(self, where: str, names: Names, room: str, state: str) -> Mapping[str, Any] | None:
        """Return the arguments for a place: the whole house where none is said; `None` for what is none here."""
        if not where or self._house.fullmatch(where):
            return {"everything": True}
        if self._here.fullmatch(where):
            return {"room": room} if room else None
        if self._this_floor.fullmatch(where):
            floor = next((one.floor for one in names.rooms if one.name == room), "")
            return {"floor": floor} if floor else None
        tokens = self._lexicon.tokens(where, names) or []
        places = [token for token in tokens if token.category in ("room", "floor")]
        if len(places) != 1 or any(token.category not in ("room", "floor", "word", state) for token in tokens):
            return None
        return {places[0].category: places[0].value}

    def _kind(self, words: str, state: str, spoken_of: Sequence[NamedDevice]) -> Mapping[str, str]:
        """Return the kind of what was spoken of, for "any" and "they" without a noun; what burns is a light."""
        if self._lit.search(words) and state in ("on", "off"):
            return {"kind": "light"}
        kinds, shapes = {one.kind for one in spoken_of}, {one.shape for one in spoken_of}
        if len(kinds) != 1 or not kinds <= {*_KINDS[state]} or not self._pronoun.search(words):
            return {}
        shape = {"shape": shapes.pop()} if len(shapes) == 1 and shapes != {""} else {}
        return {"kind": kinds.pop(), **shape}
