"""What does somebody want: a deed, a text, or to know how things stand? Pure.

Words can be wanted in endless ways, deeds of a house in few. So a request is one for a deed only when it says so: by a
verb that means nothing else ("lock the door"), or by a thing of the house that it names ("add milk to the list"). "Add
five and seven", "put that in other words", "turn lead into gold" are for the answer to fulfil.
"""

from __future__ import annotations

from functools import cached_property, lru_cache

from atlas.agents.deed_words import plain, topics
from atlas.agents.tongues import ENGLISH, Tongue, Tongues

LONGEST_CHARACTERS = 300  # of a request that are read for this; a longer one carries what is to be worked on
REMEMBERED = 16  # requests: every sentence of a reply is judged by the one that it answers


class Request:
    """What somebody asked, read in every language of the house: who knows which one they spoke? Immutable."""

    def __init__(self, asked: str, tongues: Tongues) -> None:
        self.text = asked[:LONGEST_CHARACTERS]
        self.words = plain(self.text)
        self._tongues = tongues

    @cached_property
    def topics(self) -> frozenset[str]:
        """What of the house it names."""
        return frozenset(topics(self.text, self._tongues))

    @cached_property
    def asks(self) -> bool:
        """Whether it begins as questions do."""
        return self._finds("asks")

    @cached_property
    def wants_deed(self) -> bool:
        """Whether somebody wants something done that no words can do: "order me a pizza", not "tell me a joke"."""
        return any(self._wants_deed(tongue) for tongue in self._tongues)

    @cached_property
    def wants_text(self) -> bool:
        """Whether somebody wants a text, which may say anything of anybody: a story, a letter, a translation."""
        return self._finds("wants_text", "wants_words_worked_on") and not self.wants_deed

    @cached_property
    def asks_how_things_stand(self) -> bool:
        """Whether somebody asks how things stand in the house, what is written there, or whether something was done."""
        if self._finds("asks_if_done", "asks_of_own"):
            return True
        named = bool(topics(self.words, self._tongues))
        return named and any(
            tongue["asks_whether"].search(self.words) and tongue["state_word"].search(self.words)
            for tongue in self._tongues
        )

    @cached_property
    def names_a_state(self) -> bool:
        """Whether a word of how things stand is in it: on, locked, done."""
        return self._finds("state_word")

    def _finds(self, *forms: str) -> bool:
        return any(tongue[form].search(self.words) for tongue in self._tongues for form in forms)

    def _wants_deed(self, tongue: Tongue) -> bool:
        if tongue["wants_for_others"].search(self.words):
            return True
        others = ("wants_it_not", "asks", "asks_besides", "asks_whether_able", "wants_words_worked_on")
        if any(tongue[form].search(self.words) for form in others):
            return False
        return any(_is_deed(clause, tongue) for clause in tongue["clause"].split(self.words))


def _is_deed(clause: str, tongue: Tongue) -> bool:
    if tongue["wants_for_others"].search(clause) or tongue["wants_deed"].search(clause):
        return True
    perhaps = tongue["wants_deed_to_a_thing"].search(clause)
    named = perhaps and topics(clause[perhaps.end() :], (tongue,))  # "order" and "switch" are doings, and things
    if named and tongue["wants_it_added"].search(clause):
        return True
    wanted = bool(named or tongue["wants_usual_deed"].search(clause))
    return wanted and not tongue["wants_text"].search(clause) and not tongue["wants_talk"].search(clause)


@lru_cache(REMEMBERED)
def read(asked: str, tongues: Tongues = ENGLISH) -> Request:
    """Return what somebody asked; of a long request only its beginning counts."""
    return Request(asked, tongues)
