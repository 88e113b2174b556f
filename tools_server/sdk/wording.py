"""What tools say of names, lists, sizes and texts: always one line, short enough to listen to, nothing invisible."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from tools_server.sdk.toolkit import ToolFailed
from tools_server.values.language import noted, plural, series
from tools_server.values.language import number as digits
from tools_server.values.language import text as _

SPOKEN_CHARACTERS = 120  # of one title; the data has it whole
ALOUD_CHARACTERS = 600  # of a text: about 40 seconds of speech
NAMED = 5  # more titles than this are tiring to listen to
ONE = frozenset({"one", "ones"})  # stands for a noun: "the bank one"
T = TypeVar("T")

_MARKS = re.compile(r"</?[a-zA-Z][^<>]*>|[*_`~{}<>|\\\[\]]+")
_LEADING = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+]\s+(?:\[[ xX]\]\s+)?)+")
_SPOKEN_ENDS = (".", "?", "!", ":", ";", ",", "…")


def chosen(
    things: Sequence[T],
    wanted: str,
    *,
    named: Callable[[T], str],
    which: str,
    missing: str,
    rank: Callable[[T], Any],
    avoided: Callable[[T], bool] = lambda _: False,
    guess: bool = True,
    remark: str = "",
    ids: Callable[[T], tuple[str, ...]] = lambda _: (),
    holds: Callable[[T], bool] = lambda _: True,
) -> T:
    """Return the thing that is meant: by its id or name, else the only one holding all its words, else a near one.

    Of several with one name the lowest `rank` is taken, those not `avoided` first. `guess` false takes no near one,
    for what cannot be put right by saying it again. `remark` is added to what says that there is none. `holds` false:
    the words are in its name, but do not name it ("milk" is no milk chocolate).
    Raises `ToolFailed`: `which` ("Which task") when several could be meant, `missing` (a whole sentence) when none is.
    """
    if identified := [thing for thing in things if wanted and wanted in ids(thing)]:
        return identified[0]
    plainly = plain(wanted)
    if same := [thing for thing in things if plain(named(thing)) == plainly]:
        return min(same, key=lambda thing: (avoided(thing), rank(thing)))
    words = set(plainly.split())
    for part in (words, words - ONE):
        holding = [thing for thing in things if part and part <= set(plain(named(thing)).split()) and holds(thing)]
        if holding:
            break
    holding = [thing for thing in holding if not avoided(thing)] or holding
    names = {plain(named(thing)) for thing in holding}
    if len(names) == 1:
        return min(holding, key=rank)
    if names:
        hits, more = [named(thing) for thing in holding[:NAMED]], len(holding[NAMED:])
        raise ToolFailed("invalid", f"{which}: {choices(map(spoken, hits), more)}?", several=hits, more=more)
    by_name = {plain(named(thing)): thing for thing in things}
    near = get_close_matches(plainly, by_name, n=1, cutoff=0.8 if guess else 0.6)
    if near and guess and not words <= set(near[0].split()):
        return by_name[near[0]]
    near = near or [name for name in by_name if words and words <= set(name.split())][:1]
    near = near or get_close_matches(plainly, by_name, n=1, cutoff=0.5)
    nearest = [named(by_name[name]) for name in near]
    hint = _(" The nearest is {nearest}.").format(nearest=spoken(nearest[0])) if nearest else ""
    raise ToolFailed("not_found", missing + hint + remark, nearest=nearest)


def plain(text: str) -> str:
    """Return what counts of a name when it is compared: words without case and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[^\w\s]", " ", folded).split()) or " ".join(folded.split())


def spoken(title: str) -> str:
    """Return a title that is not too long to listen to."""
    return title if len(title) <= SPOKEN_CHARACTERS else title[:SPOKEN_CHARACTERS].rstrip() + "…"


def capital(text: str) -> str:
    """Return the text as a sentence begins."""
    return text[:1].upper() + text[1:]


def some(names: Iterable[str], most: int = NAMED) -> str:
    """Return "a, b, c and 7 more"."""
    every = [spoken(name) for name in names]
    named = every[:most]
    if more := len(every) - len(named):
        named.append(_("{more} more").format(more=more))
    return series(named, "and")


def choices(names: Iterable[str], more: int) -> str:
    """Return "a, b or c", or "a, b or one of 3 more": what may be meant, in a question which it is."""
    return series([*names, *([_("one of {more} more").format(more=more)] if more > 0 else [])], "or")


def clauses(texts: Sequence[str], more: int = 0) -> str:
    """Return "a; b; and 7 more", for parts that hold commas of their own."""
    *others, last = [*texts, _("{count} more").format(count=more)] if more else texts
    return "; ".join([*others, _("and {told}").format(told=last)]) if others else last


def size(bytes_: int) -> str:
    """Return a number of bytes in words."""
    for unit, name in (
        (10**9, noted("{size} gigabytes")),
        (10**6, noted("{size} megabytes")),
        (10**3, noted("{size} kilobytes")),
    ):
        if bytes_ >= unit:
            return _(name).format(size=digits(bytes_ / unit))
    return plural("{count} byte", "{count} bytes", bytes_)


def aloud(text: str, most: int = ALOUD_CHARACTERS) -> str:
    """Return a text of several lines, such as Markdown, as sentences; what is too long ends in "and so on"."""
    lines = (one_line(_MARKS.sub("", _LEADING.sub("", line))) for line in text.splitlines())
    sentence = " ".join(line if line.endswith(_SPOKEN_ENDS) else f"{line}." for line in lines if line)
    if len(sentence) <= most:
        return sentence
    return sentence[:most].rsplit(" ", 1)[0].rstrip(" ,;:.") + _(", and so on.")


def one_line(text: str) -> str:
    """Return text without line ends and invisible characters, its spaces single."""
    return " ".join("".join(" " if c.isspace() else c for c in text if _seen(c)).split())


def _seen(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) not in ("Cc", "Cs", "Cf") or character == "\u200d"


def told_problems(problems: Sequence[dict[str, str]]) -> str:
    """Return what is said of files that could not be read: {"file", "problem"} each; "" when there are none."""
    if not problems:
        return ""
    if len(problems) == 1:
        return _(" I could not read {file}: {problem}.").format(
            file=problems[0]["file"], problem=problems[0]["problem"]
        )
    return _(" I could not read {count} files, such as {file}: {problem}.").format(
        count=len(problems), file=problems[0]["file"], problem=problems[0]["problem"]
    )
