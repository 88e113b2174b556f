"""Cut a stream of words into pieces worth speaking. Pure: text in, pieces out; joined they are the text again."""

from __future__ import annotations

import re

FIRST_WORDS = 12  # the first piece is at most this long, so that sound begins soon
CLAUSE_WORDS = 3  # a clause shorter than this sounds chopped when it stands alone
JOINT_WORDS = 6  # from here on a long first piece may be cut before a word like "and"
LONGEST_CHARACTERS = 220  # about 15 s of speech; a voice needs memory and time in proportion

FENCES = ("```", "~~~")
CLOSERS = "\"'”’)]}*_»"
# fmt: off
JOINTS = frozenset({
    "and", "or", "but", "because", "that", "which", "who", "when", "while", "where", "if", "so", "then", "with", "for",
    "to", "from", "in", "on", "at", "by", "of",
})
# The full stop of these never ends a sentence,
TITLES = frozenset({
    "mr", "mrs", "ms", "mx", "dr", "prof", "st", "mt", "rev", "gen", "col", "sgt", "capt", "lt", "gov", "sen", "hon",
    "e.g", "i.e", "eg", "cf", "vs", "approx", "ca",
})
# that of these does when no number follows,
NUMBERED = frozenset({
    "no", "nos", "fig", "vol", "pp",
    "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
})
# and that of these when a capital letter follows.
SHORT_FORMS = frozenset({
    "etc", "inc", "ltd", "co", "corp", "jr", "sr", "a.m", "p.m", "am", "pm", "u.s", "u.k", "min", "mins", "hr", "hrs",
    "sec", "secs", "oz", "lb", "lbs", "ft", "al",
})
# fmt: on

_END = re.compile(rf"([.!?…]+|[。！？]+)([{re.escape(CLOSERS)}]*)(\s+|(?<=[。！？]))|\n\s*")
_CLAUSE = re.compile(rf"[,;:—–][{re.escape(CLOSERS)}]*\s+|\s+[—–-]\s+")
_LAST_WORD = re.compile(r"[\w.’']+$")
_LIST_NUMBER = re.compile(r"^\s*\(?\d{1,3}$")


class Sentences:
    """One reply's cutter. `feed` it words as they come; `finish` gives what is left."""

    def __init__(self) -> None:
        self._waiting = ""
        self._first = True

    def feed(self, text: str) -> list[str]:
        """Return the pieces that are complete now. White space after a piece belongs to it."""
        self._waiting += text
        return self._cut(done=False)

    def finish(self) -> list[str]:
        """Return what is left, and be ready for another reply."""
        last = [*self._cut(done=True), self._waiting]
        self._waiting, self._first = "", True
        return [piece for piece in last if piece]

    def _cut(self, done: bool) -> list[str]:
        hits: list[str] = []
        while at := _next_cut(self._waiting, self._first, done):
            hits.append(self._waiting[:at])
            self._waiting = self._waiting[at:]
            self._first = self._first and not hits[-1].strip()
        return hits


def pieces(text: str) -> list[str]:
    """Cut a whole text as `Sentences` does. Their concatenation is `text`."""
    cutter = Sentences()
    return [*cutter.feed(text), *cutter.finish()]


def _next_cut(text: str, first: bool, done: bool) -> int:
    """Return how much of `text` is the next piece; 0 when that is not known yet."""
    begin = text.lstrip()[:3]
    if fence := next((one for one in FENCES if begin and one.startswith(begin)), ""):
        return _fence_end(text, fence)
    head = text[: LONGEST_CHARACTERS + 1]  # with the character that decides; what is further away changes no cut
    cuts = [_sentence_end(head, done)]
    if first:
        cuts += [_clause_end(head), _too_many_words(head)]
    cut = min((cut for cut in cuts if cut), default=0)
    return cut if 0 < cut <= LONGEST_CHARACTERS or len(text) <= LONGEST_CHARACTERS else _forced(text)


def _fence_end(text: str, fence: str) -> int:
    """Return where a block of code ends: it is one piece, whatever is in it."""
    start = text.find(fence)
    end = text.find(fence, start + len(fence)) if start >= 0 else -1
    if end < 0:
        return 0
    line = text.find("\n", end)
    return line + 1 if line >= 0 else 0


def _sentence_end(text: str, done: bool) -> int:
    for match in _END.finditer(text):
        if not text[: match.start()].strip():
            continue  # white space and dots before any word
        if match.group(1) is None or _is_end(text, match, done):
            return match.end()
    return 0


def _is_end(text: str, match: re.Match[str], done: bool) -> bool:
    """Say whether this full stop, question or exclamation mark ends a sentence."""
    mark, closers, rest = match.group(1), match.group(2), text[match.end() :]
    if mark[0] in "。！？":
        return True
    lower_goes_on = bool(closers) or (len(mark) > 1 and set(mark) == {"."}) or "…" in mark
    if mark == "." and not closers:
        before = text[: match.start()]
        last = _LAST_WORD.search(before)
        word = last.group() if last else ""
        if _LIST_NUMBER.match(before) or (len(word) == 1 and word.isupper() and word != "I"):
            return False
        if word.lower() in TITLES:
            return False
        if word.lower() in NUMBERED:
            return not rest[0].isdigit() if rest else done
        lower_goes_on = word.lower() in SHORT_FORMS
    if not lower_goes_on:
        return True
    return not rest[0].islower() if rest else done


def _clause_end(text: str) -> int:
    for match in _CLAUSE.finditer(text):
        if len(text[: match.start()].split()) >= CLAUSE_WORDS:
            return match.end()
    return 0


def _too_many_words(text: str) -> int:
    """Return where to cut a first piece that goes on without a clause: before a joining word, else at its limit."""
    starts = [match.start() for match in re.finditer(r"\S+", text)]
    if len(starts) <= FIRST_WORDS:
        return 0
    for index in range(FIRST_WORDS, JOINT_WORDS - 1, -1):
        word = text[starts[index] :].split(maxsplit=1)[0]
        if word.lower() in JOINTS:
            return starts[index]
    return starts[FIRST_WORDS]


def _forced(text: str) -> int:
    """Return the best place to cut a piece that is too long: its last clause, else its last space, else anywhere."""
    head = text[:LONGEST_CHARACTERS]
    clauses = [match.end() for match in _CLAUSE.finditer(head) if match.end() > LONGEST_CHARACTERS // 3]
    if clauses:
        return clauses[-1]
    space = max(head.rfind(" "), head.rfind("\n"), head.rfind("\t"))
    return space + 1 if space > 0 else LONGEST_CHARACTERS
