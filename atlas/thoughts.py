"""Takes what a model thinks aloud out of the stream of its words, for nobody is to hear it. Pure."""

from __future__ import annotations

MARKS = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("[THINK]", "[/THINK]"))


class Thoughts:
    """Lets words through, and keeps back what stands between the marks that models put around thoughts.

    Thoughts come first, perhaps after white space; a mark in the middle of an answer is the answer's own business.
    """

    def __init__(self) -> None:
        self._held = ""  # the beginning of an answer, while it may still turn out to be a thought
        self._closing = ""  # what ends the thought that is under way
        self._begun = False  # with words
        self._thought = False  # the white space after a thought is a part of it

    def add(self, text: str) -> str:
        """Take more of an answer; return the words that are certain."""
        if self._begun:
            return text
        self._held += text
        while True:
            if self._closing:
                before, hit, after = self._held.partition(self._closing)
                if not hit:
                    self._held = before[-len(self._closing) :]
                    return ""
                self._held, self._closing, self._thought = after, "", True
            start = self._held.lstrip()
            self._closing = next((closing for opening, closing in MARKS if start.startswith(opening)), "")
            if self._closing:
                self._held = start
            elif any(opening.startswith(start) for opening, _ in MARKS):  # also when there is nothing yet
                return ""
            else:
                self._begun = True
                self._held = start if self._thought else self._held
                return self.end()

    def end(self) -> str:
        """Return what was kept back and is no thought."""
        words, self._held = ("" if self._closing else self._held), ""
        return words
