"""Which of several readings of an utterance was meant? Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from atlas.agents.grammar import Grammar
from atlas.conversation import Utterance


def pick(grammar: Grammar, bare: Callable[[str], str], heard: Utterance) -> Utterance:
    """Return the utterance with that reading first which is a command; as it was heard when none is.

    `bare` returns a text without the name of the agent that it is for.

    A recogniser prefers words that are often written, a household says commands: "buy milk" is heard as "by milk". When
    any reading says "don't", the order stays: to act on the one that does not would be worse than to ask again.
    """
    readings = (heard.text, *heard.alternatives)
    if any(grammar.is_negated(bare(text)) for text in readings):
        return heard
    meant = next((text for text in readings if grammar.commands(bare(text))), heard.text)
    return replace(heard, text=meant, alternatives=tuple(text for text in readings if text != meant))


def as_heard(heard: Utterance) -> Utterance:
    """Return the utterance: what a house without a grammar goes by."""
    return heard
