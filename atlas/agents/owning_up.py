"""Does a reply say that nothing was done, or ask back before it does anything? Pure.

Whoever asked for a deed and hears neither is told that there was none (see `truth.correction`), so both must be said
plainly. "The lamps are asleep. Anything else?" asks, and owns up to nothing; "You have nothing to fear" is a no to
something else.
"""

from __future__ import annotations

import re

from atlas.agents.deed_words import plain
from atlas.agents.tongues import ENGLISH, Tongue, Tongues

_SENTENCE = re.compile(r"(?<=[.!?…:;])\s+|\n+")


def owns_up(said: str, tongues: Tongues = ENGLISH) -> bool:
    """Tell whether a reply asks back, or says that something was not done or cannot be."""
    sentences = list(filter(None, map(plain, _SENTENCE.split(said))))
    return any(_owns_up(sentences, tongue) for tongue in tongues)


def _owns_up(sentences: list[str], tongue: Tongue) -> bool:
    questions, statements = list[str](), list[str]()
    for sentence in sentences:
        asks = sentence.rstrip("\"'”’)*_ ").endswith("?") and not tongue["tag"].search(sentence)
        (questions if asks else statements).append(sentence)
    if any(map(tongue["owned_up"].search, statements)):
        return True
    asked_back = any(tongue["asks_back"].search(one) and not tongue["asks_for_more"].search(one) for one in questions)
    return asked_back and all(map(tongue["before_a_question"].search, statements))
