"""Chooses which of several readings of an utterance was meant. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from atlas.conversation import Utterance
from atlas.understanding.understanding import Understanding


def pick(read: Callable[[str], Understanding], bare: Callable[[str], str], heard: Utterance) -> Utterance:
    """Return the utterance with that reading first which is a command; as it was heard when none is.

    `read` tells what words mean by themselves, `bare` returns a text without the name of the agent that it is for.

    A recogniser prefers words that are often written, a household says commands: "buy milk" is heard as "by milk". When
    any reading says "don't", the order stays: to act on the one that does not would be worse than to ask again.
    """
    first = read(bare(heard.text))
    if first.negated or first.commands or first.custom:
        return heard  # whatever the others mean; reading them takes longer than anything else that is left to do
    readings = (heard.text, *heard.alternatives)
    understood = {heard.text: first} | {text: read(bare(text)) for text in heard.alternatives}
    if any(one.negated for one in understood.values()):
        return heard
    meant = next((text for text, one in understood.items() if one.commands or one.custom), heard.text)
    return replace(heard, text=meant, alternatives=tuple(text for text in readings if text != meant))


def as_heard(heard: Utterance) -> Utterance:
    """Return the utterance: what a house without a grammar goes by."""
    return heard
