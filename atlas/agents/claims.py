"""Does a sentence claim that something was done, or how something in the house stands? Pure.

A claim is told by its form: "I've …", "… has been …", "Done!", "Yes, it is" after "is it locked?"; and by what was
asked for, because a reply to "turn off the lights" that speaks of lights is read more strictly. The forms are those of
a language (see `tongues.py`). Whether a claim is true is judged in `truth.py`; a sentence that only looks like one
costs little, for what was really done is then said.
"""

from __future__ import annotations

import re
from typing import Literal

from atlas.agents.deed_words import TICKED, WORD, plain, topics
from atlas.agents.tongues import Tongue
from atlas.agents.wanted import Request

Claim = Literal["deed", "state"]  # that something was done or will be; that it is so, which may have been looked up

_ASIDE = re.compile(r" [—–-] |;|\bP\.?S\.?:?|: ")
_SENDING = {"mail", "message", "note", "file"}
SHORT = 3  # words


def claim(sentence: str, asked: Request, tongue: Tongue) -> Claim | None:
    """Return what `sentence` claims in this language, said to somebody who `asked` for this; `None` for no claim."""
    words = tongue["tag"].sub("", plain(sentence))
    if tongue.has(words, "not_known"):
        words = " ".join(part for part in tongue["parts"].split(words) if not tongue.has(part, "not_known"))
    named = topics(words, (tongue,))
    if tongue.has(words, "not_a_claim") and not (named and tongue.has(words, "all_the_same")):
        return None
    if named and asked.wants_text and _is_of_a_text(words, named, asked, tongue):
        return None
    about_us = bool(named) or tongue.has(words, "yours")
    just_asked_for = not asked.asks and not asked.topics.isdisjoint(named)
    if _claims_deed(words, asked, tongue, about_us=about_us, just_asked_for=just_asked_for):
        return None if tongue.has(words, "makes_text") and not named else "deed"
    return "state" if _claims_state(words, asked, tongue, about_us=about_us, just_asked_for=just_asked_for) else None


def _is_of_a_text(words: str, named: list[str], asked: Request, tongue: Tongue) -> bool:
    """Tell whether a text that somebody wanted may say this: what it is to be about, or how something stands in it."""
    if _SENDING.intersection(named):
        return False  # "I've sent the e-mail"
    return set(named) <= asked.topics or not tongue.has(words, "yours", "by_me")


def _claims_deed(words: str, asked: Request, tongue: Tongue, *, about_us: bool, just_asked_for: bool) -> bool:
    return bool(
        tongue.has(words, "i_have", "done", "i_did_it", "i_will_do_it", "told_others")
        or (about_us and tongue.has(words, "i_did", "i_will", "news_first", "moved"))
        or (just_asked_for and tongue.has(words, "did_something", "shall_do"))
        or (TICKED.search(words) and (about_us or len(WORD.findall(words)) <= SHORT))
        or _does_as_asked(words, asked, tongue)
    )


def _claims_state(words: str, asked: Request, tongue: Tongue, *, about_us: bool, just_asked_for: bool) -> bool:
    if tongue.has(words, "condition"):
        return False  # "press it until the light is off"
    denied = tongue.has(words, "a_no")
    return bool(
        (just_asked_for and not denied and tongue.has(words, "passive"))
        or any(map(tongue["bare"].search, _ASIDE.split(words)))
        or tongue.has(words, "stands", "now_holds")
        or _says_yes(words, asked, tongue)
        or (about_us and tongue.has(words, "it_is"))
        or _says_it_stands(words, asked, tongue)
        or (not denied and _still_runs(words, asked, tongue))
        or _is_as_asked(words, asked, tongue)
    )


def _says_it_stands(words: str, asked: Request, tongue: Tongue) -> bool:
    """Tell whether this is "It's off now", or "It's off in summer" to somebody who spoke of the house."""
    said = tongue["it_stands"].search(words)
    return said is not None and (bool(asked.topics) or asked.names_a_state or tongue.has(said["after"], "and_no_more"))


def _still_runs(words: str, asked: Request, tongue: Tongue) -> bool:
    """Tell whether this takes up the verb of "is it recording?"."""
    asked_of = tongue["runs"].search(asked.text)
    return bool(asked_of and re.search(rf"\b{re.escape(asked_of['verb'])}\b", words))


def _is_as_asked(words: str, asked: Request, tongue: Tongue) -> bool:
    """Tell whether what somebody just named is said to stand as they wanted: "Buy milk is done"."""
    found = tongue["asked_for"].search(words)
    what = set(WORD.findall(found["what"].lower())) - tongue.words["articles"] if found else set[str]()
    return bool(what) and what <= set(WORD.findall(asked.text.lower()))


def _does_as_asked(words: str, asked: Request, tongue: Tongue) -> bool:
    """Tell whether somebody says to do, or to have done, just what was asked for: "I took a picture"."""
    things = set(WORD.findall(asked.words.lower())[:10]) - tongue.words["articles"]
    wanted = {tongue.base(word) for word in things} - tongue.words["often_said"]
    for said in tongue["i_am_doing"].finditer(words):
        verb = said["verb"].lower()
        is_past = tongue.infinitive(verb) != verb or verb in tongue.words["same_in_the_past"]
        if not (said["how"] or is_past) or tongue.has(said[0], "a_no"):
            continue
        if tongue.base(verb) in wanted or (verb in tongue.words["doing"] and _shares(words, things, tongue)):
            return True
    going_on = tongue["under_way"].search(words)
    return going_on is not None and (
        tongue.base(going_on["verb"].lower()) in wanted or tongue.has(going_on["rest"], "right_now")
    )


def _shares(words: str, things: set[str], tongue: Tongue) -> bool:
    return bool(set(WORD.findall(words.lower())) & (things - tongue.words["asks_little"]))


def _says_yes(words: str, asked: Request, tongue: Tongue) -> bool:
    """Tell whether this is a yes to "did you …", "is it locked?", "is the oven off?"."""
    if not asked.asks_how_things_stand:
        return False
    return tongue.has(words, "a_yes") and not tongue.has(" ".join(WORD.findall(words)[:4]), "a_no")
