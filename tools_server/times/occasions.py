"""Knows of what happens at one half of the day that "at seven" means it there: breakfast, dinner, bedtime. Pure."""

from __future__ import annotations

import re

from tools_server.times.when_moment import EVENING, MORNING, REMINDING, Habit

_OF = (  # what may stand before it in a title
    r"(?:(?:the|an?|our|my|family|birthday|sunday|christmas|\w+['’]s?"
    r"|der|die|das|ein|unser|mein|gemeinsames|langes) )*"
)
_EVENINGS = (
    r"dinner|supper|bed ?time|bed$|lights out|(?:late|night) shift|concert|theatre|theater|opera|cinema|movies|pub"
    r"|(?!good |last )\w+['’]? (?:night|evening)"
    r"|abend(?:essen|brot)|nachtessen|znacht|(?:nacht|spät)(?:schicht|dienst)|schlafenszeit|bett$|konzert|oper|kino"
    r"|\w+abend"
)
_HABITS = (
    (re.compile(rf"{_OF}(?:breakfast|brunch|frühstück)\b", re.IGNORECASE), MORNING),
    (re.compile(rf"{_OF}(?:{_EVENINGS})\b(?! tickets)", re.IGNORECASE), EVENING),
)


def habit_of(what: str) -> Habit:
    """Return what a bare hour means of an event or a reminder that is called so."""
    return next((habit for title, habit in _HABITS if title.match(what.strip())), REMINDING)
