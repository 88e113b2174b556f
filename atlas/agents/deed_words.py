"""The bare words of what was said: without quotes, marks and odd letters; and what of a house they are about. Pure."""

from __future__ import annotations

import html
import re
import unicodedata

from atlas.agents.tongues import Tongues

WORD = re.compile(r"[\w'-]+")
TICKED = re.compile("[✅✔☑✓]")
_ALIKE = str.maketrans("‘’ʼ´′＇АВЕКМНОРСТХаеорсух", "''''''ABEKMHOPCTXaeopcyx")  # as people and models mistype them
_MARKS = re.compile(r"[*`~]+")
_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,60}>")
_WITHOUT_APOSTROPHE = re.compile(r"\b(I)(ve)\b")
_JSON = re.compile(r'\W{0,20}[{\[]\W{0,20}\w{1,40}"\s*:')
_QUOTED = re.compile(r"[\"“][^\"“”]{0,600}[\"”]|„[^\"„“”]{0,600}[\"“”]|»[^»«]{0,600}«")  # bounded
_RULE = re.compile(r"((?:[^\w\s]\s*){3})(?:[^\w\s]\s*)+")  # a line across a table, or worse


def plain(sentence: str) -> str:
    """Return a sentence without what it quotes, and without what hides its words: marks of writing, odd letters."""
    shown = unicodedata.normalize("NFKC", html.unescape(sentence).translate(_ALIKE))
    shown = "".join(c for c in shown if unicodedata.category(c) != "Cf")
    bare = " ".join(_TAGS.sub("", _MARKS.sub("", shown).replace("_", " ")).split())
    bare = _RULE.sub(_shorter, bare)
    bare = _WITHOUT_APOSTROPHE.sub(r"\1'\2", bare)
    if _JSON.match(bare):
        return bare.replace('"', " ")
    without = _QUOTED.sub(" ", bare)
    return without if WORD.search(without) else bare  # a sentence that is all in quotes is said, not quoted


def _shorter(rule: re.Match[str]) -> str:
    """Return the first three of many marks, and one tick if there was any: it says that something is done."""
    tick = TICKED.search(rule[0])
    return f"{rule[1]} {tick[0]} " if tick else f"{rule[1]} "


def topics(words: str, tongues: Tongues) -> list[str]:
    """Return what a sentence is about, of what there is in a house, by the names that tools have for it."""
    return [*dict.fromkeys(name for tongue in tongues for name, said in tongue.topics.items() if said.search(words))]
