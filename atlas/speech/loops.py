"""Cuts a transcript at the point where the recogniser begins to say it all again. Pure."""

from __future__ import annotations

import re

WORD = re.compile(r"[\w'’]+")
FULL_STOPS = (".", "?", "!")
SENTENCE_WORDS = 3  # a person who says so many words twice over is rarer than a recogniser that does


def cut_loop(text: str, ended: bool) -> tuple[str, bool]:
    """Return `text` up to its first repeat, and whether there was one.

    `ended` says that the recogniser came to an end of itself; then only a sentence said twice over is a repeat: "stop,
    stop" is something people say, and "Stop. Stop." is how recognisers write it when they do not. Without an end, the
    words ran on until they were stopped.
    """
    spans = list(WORD.finditer(text))
    words = [span.group().lower() for span in spans]
    for start in range(len(words)):
        for period in range(1, len(words) - start):
            seam = start + period
            if _repeats(words, start, period) and _is_loop(text, spans, start, period, ended):
                return text[: spans[seam].start()].rstrip(), True
    return text, False


def _repeats(words: list[str], start: int, period: int) -> bool:
    """Say whether everything after the first `period` words from `start` is those words again, perhaps cut short."""
    return all(words[at] == words[at - period] for at in range(start + period, len(words)))


def _is_loop(text: str, spans: list[re.Match[str]], start: int, period: int, ended: bool) -> bool:
    seam = start + period
    again = len(spans) - seam  # how many words are said again
    between = text[spans[seam - 1].end() : spans[seam].start()]
    if period >= SENTENCE_WORDS and again >= period:
        return True
    if ended:
        first = text[spans[start].start() : spans[seam - 1].end()]
        begins_anew = period > 1 and spans[seam].group()[0].isupper() and not first.istitle()  # "New York New York"
        return start == 0 and (between.strip() in FULL_STOPS or begins_anew) and again >= period
    if again >= 2 * period or (start == 0 and again >= period):
        return True
    return start == 0 and not between.isspace() and again >= min(period, 2)
