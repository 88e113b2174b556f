"""Does a sentence claim that something was done, or how something in the house stands? English only. Pure.

A claim is told by its form: "I've …", "… has been …", "Done!", "Yes, it is" after "is it locked?"; and by what was
asked for, because a reply to "turn off the lights" that speaks of lights is read more strictly. Whether a claim is
true is judged in `truth.py`; a sentence that only looks like one costs little, for what was really done is then said.
"""

from __future__ import annotations

import re
from typing import Literal

from atlas.agents.deed_words import (
    DOING_VERB,
    DONE_VERB,
    FIGURE_OF_SPEECH,
    GENERAL_VERB,
    GOING_ON,
    NEWS,
    NO_NEWS,
    SOON,
    STATE,
    TAG,
    TEXT_MADE,
    WEAKER_VERB,
    WORD,
    one_of,
    phrase,
    plain,
    topics,
)
from atlas.agents.wanted import LONGEST_CHARACTERS, asks, asks_for_text, asks_how_things_stand, names_a_state

Claim = Literal[
    "deed", "state"
]  # that something was done or will be; that something is so, which may have been looked up

_MAKES_TEXT = phrase(
    rf"\b(?:made|created|written|wrote|put together|drafted|added|updated|changed|set out|"
    rf"completed)\b[^.!?]*\b{TEXT_MADE}s?\b"
)
_NOW = (
    r"(?:(?:just|already|now|also|all|successfully|safely|then|gone ahead and|went ahead and|go ahead and|been able to"
    r"|managed to|happily|gladly|quickly|immediately|automatically)[ ,]+)*"
)
_AGREED = one_of(
    r"ok(?:ay)?|sure(?: thing)?|al(?:l )?right(?:y)?|great|yes|yep|yeah|certainly|of course|absolutely|no problem|"
    r"perfect",
    r"got it|there|here you go|you got it|right away|understood|very well|no worries|excellent|good news|boom|"
    r"voil(?:a|à)",
)
_OPENING = rf"^[\W_]*(?:{_AGREED}[,.!: –-]+)*[\W_]*"
_THING = (
    r"(?:timer|countdown|alarm|reminder|task|event|note|message|e-?mail|mail|light|lamp|door|blind|curtain|"
    r"shutter|meeting"
    r"|appointment|list|volume|music|heating|tv|radio|garage|gate|item|order|table|taxi|booking|text|scene|playback)s?"
)

_I_HAVE = phrase(rf"\b(?:I|we)(?:'ve| have)(?:, [^,.;!?]{{1,30}},)? {_NOW}(?!{FIGURE_OF_SPEECH}){DONE_VERB}\b")
_I_DID = phrase(
    rf"\b(?:I|we)(?:'ve| have)? {_NOW}(?!{FIGURE_OF_SPEECH})(?:did |(?:managed|was able|got) to )?"
    rf"(?:{DONE_VERB}|{WEAKER_VERB})\b"
    r"|\b(?:I|we)(?:'ve| have)? (?:just )?(?:managed|was able|were able) to \w+\b"
)
_I_DID_IT = phrase(
    rf"\b(?:I|we)(?:'ve| have)? {_NOW}(?:did|{WEAKER_VERB}|{DONE_VERB})(?: care of)? "
    r"(?:it|that|this|them|those|everything|so|as (?:you )?(?:asked|requested)|what you asked)\b(?! (?:simple|"
    r"short|clear|up|was|is|that|wrong|right|brief))"
)
_I_WILL = phrase(
    rf"\b(?:I(?:'ll| will|'m| am)|let me)(?: going to| gonna| about to)? {_NOW}(?:{DOING_VERB}|make sure)\b"
)
_I_WILL_DO_IT = phrase(
    r"\b(?:I(?:'ll| will|'m| am)|let me)(?: going to)? (?:\w+ )?(?:take care of|taking care of|handle|handling|"
    r"see to|seeing to"
    r"|sort|do|get|doing|arrange|arranging) (?:it|that|this|them|everything)\b"
)
_IT_IS = phrase(
    r"\b(?:(?:your|it|they|everything|that)\b[^.!?]{0,60}?\b(?:was|were|got|gets|should (?:now |already )?(?:be|"
    r"have been)|"
    r"will (?:now )?be)|"
    r"(?:your|the|(?<![a-z] )that|(?<![a-z] )this|it|they|both|everything|all)\b[^.!?]{0,60}?(?:\b(?:is|are)|'s|'re)|"
    rf"(?:(?:has|have)(?: now| already)?|'s(?: now| already)?) been) {_NOW}(?:{DONE_VERB}|{WEAKER_VERB}|"
    rf"confirmed)\b(?![^.!?]*\b(?:by|with) )"
)
_BARE = phrase(
    rf"{_OPENING}(?!(?:to|how|you|if|when|for|please|always|never|let's|don't)\b)(?:your |the |all )*(?:[\w'-]+ "
    rf"){{0,4}}{_THING} "
    rf"(?:now |has been |have been |successfully )*(?:{NEWS}|set|on|off|out|{STATE})\b(?! (?:by|if|when|to help|"
    rf"the|a|your|each|that|which|fridge))"
)
_DONE = phrase(
    _OPENING
    + one_of(
        r"(?:all |and )?(?:done(?: and (?:done|dusted))?|all set|sorted|handled|you(?:'re| are) all set|finished)",
        r"(?:it|that|everything|all|this|consider (?:it|that))(?:'s| is| has been)?(?: all| now| already)* "
        r"(?:done|set|taken care of|sorted|handled|settled|arranged|complete|completed|in place|good to go|gone)",
        r"noted|will do|tasks? (?:is )?completed?|(?:it|that)(?:'s| is) on its way|mission accomplished|success|"
        r"on it|i(?:'m| am) on it",
        r"no sooner said than done|confirmed|right away|as you wish|you got it|request (?:completed|fulfilled|"
        r"processed)|roger",
        r"your wish is my command|action completed?|operation (?:completed?|successful)|ready for you|it(?:'s| "
        r"is) as good as done",
        r"done as (?:you )?(?:asked|requested)|done with (?:it|that)|everything(?:'s| is) back(?: (?:to|as|how) "
        r"[\w ]+)?",
        rf"(?:[\w']+[?,:!.]* )?(?:{DONE_VERB}|{WEAKER_VERB})",
    )
    + r"\b[^\w]*(?:(?:for you|now|sir|boss|then|as requested|as you asked|already|my friend|chef)\W*)*$"
)
_NEWS_FIRST = phrase(rf"{_OPENING}(?:successfully |now |just )?(?:{NEWS}|{GOING_ON}(?![^.!?]*\b{GENERAL_VERB}\b))\b")
_MOVED = phrase(  # "two minutes added to your timer": how our own tools say it, so how a model learns to
    rf"{_OPENING}(?:(?!{NO_NEWS}\b)[\w'-]+ ){{1,6}}(?:added to|taken off|removed from|moved to|sent to|saved to) "
    rf"(?:your|our|the)\b"
)
_STANDS = phrase(  # how a thing of the house stands: nobody knows it who has not looked or done it
    r"\b(?:the|your|all|both|every)\b[^.!?,]{0,40}?\b(?:lights?|lamps?|tv|music|radio|heating|thermostat|fan|"
    r"doors?|locks?|"
    r"garage|gates?|blinds?|curtains?|shutters?|windows?|alarms?|timers?|plugs?|switch(?:es)?|oven|"
    r"kettle)\b[^.!?,]{0,30}?"
    rf"\b(?:is|are|should(?: now| already)? be|will(?: now)? be|went|stands?|stays?) {_NOW}(?:{STATE}|closing|opening|"
    rf"(?:turning|going|starting|shutting|playing|coming) ?(?:on|off|up|down)?)"
    rf"(?: (?:at|to) (?:\w+ )?(?:percent|%|degrees)| in (?:the|your) [\w']+(?: [\w']+)?)*{SOON}\W*$"
)
_IT_STANDS = phrase(
    rf"{_OPENING}(?:it|they|everything|that)(?:'s| is| are|'re| should(?: now)? be) {_NOW}{STATE}\b(?P<after>.*)$"
)
_ASKED_FOR = phrase(  # "Buy milk is done": what somebody asked about, said to stand as asked
    rf"{_OPENING}(?P<what>(?:[\w'-]+ ){{1,8}}?)(?:is|are) {_NOW}"
    r"(?:done|finished|completed?|gone|over|cancell?ed|"
    r"(?:put )?(?:on|onto|off|in|into) (?:the|your|my) (?:[\w']+ )?(?:list|tasks|board|calendar|notes|diary))\W*$"
)
_TOLD_OTHERS = phrase(
    r"\b(?:I|we)(?:'ve| have)? (?:just )?let \w+(?: \w+)? know\b"
    r"|\b(?:I|we)(?:'ve| have) (?:just |already )?(?:told|informed|notified|alerted|warned) (?!you\b)\w+"
    r"|\b(?:has|have) (?:now |already |just )*been (?:notified|informed|told|alerted|messaged|e-?mailed|texted|"
    r"invited|reminded)\b"
    r"|\byou(?:'ll| will)(?: now)? (?:be (?:reminded|notified|alerted|woken|called)|(?:get|receive|have|hear) an? "
    r"(?:reminder|alarm|notification|alert))\b"
)
_UNDER_WAY = phrase(rf"{_OPENING}(?:now )?(?P<verb>[a-z]+ing)\b(?![^.!?]*\b{GENERAL_VERB}\b)(?P<rest>.*)$")
_PASSIVE = phrase(  # said of what was just asked for
    r"(?:\b(?:is|are|was|were|got|went|has|have|will be|should be|being)|'s|'re)(?: now| been| just| already| all|"
    r" got)* "
    rf"(?:(?:{DONE_VERB}|{WEAKER_VERB}|{STATE})\b|[a-z]+ing\b|(?:on its way|gone|out)\b)"
)
_DID_SOMETHING = phrase(
    r"\b(?:I|we)(?:'ve| have)? (?:just |already |now |also |quickly )*(?!(?:noticed|assumed|mentioned|wanted|"
    r"hoped|understood|"
    r"heard|asked|needed|tried|feel|need|said|meant|got it)\b)[a-z]+(?:ed|ew|ent|old|ook|ung|aid|ought)\b"
)
_SHALL_DO = phrase(
    r"\b(?:I|we)(?:'ll| will)(?: now| just| also)* (?!(?:not|never|need|be|try|explain|assume|help|show|guess|"
    r"suggest|assist|"
    r"recommend|walk|give|tell|ask|wait|always|have|make sure|do my)\b)[a-z]+\b"
)
_NOW_HOLDS = phrase(
    r"\byour (?:\w+ ){0,2}?(?:list|calendar|diary|inbox|tasks|notes|board)\b[^.!?]{0,40}\b(?:now|includes?|"
    r"contains?|updated)\b"
    r"|\b(?:now|no longer|has joined|have joined|is already)\b[^.!?]{0,40}\b(?:in|on|from|onto) your (?:\w+ "
    r")?(?:list|calendar|diary|"
    r"inbox|tasks|notes|board)\b|\b(?:has|have) joined your\b|\benjoy (?:the|your) (?:music|song|playlist|movie|show)\b"
)
_RUNS = phrase(r"\b(?:is|are|has|have) (?:it|they|that) (?:been )?(?P<verb>[a-z]+ing)\b")
_CONDITION = phrase(r"\b(?:until|when|once|if|unless) (?:the|your|it|they|a|all)\b")
_TICKED = re.compile("[✅✔☑✓]")
_YOURS = phrase(r"\b(?:your|for you|you (?:when|at|in|to|about|on|of))\b")
_NOT_A_CLAIM = phrase(
    r"^[\W_]*(?:if|once|when|whenever|after|before|unless|until|imagine|suppose|say|to)\b(?! all)"
    r"|\b(?:if|once|unless|until|whether) (?:I|we)(?:'ve| have)\b|\?\W*$"
)
_ALL_THE_SAME = phrase(  # "If you must know, I've set an alarm", "Did you know I've sent it?"
    r"(?<!\bif )(?<!\bonce )(?<!\bwhen )(?<!\bafter )(?<!\bbefore )(?<!\buntil )(?<!\bunless )(?<!\bwhether )"
    r"(?<!\bwhenever )(?<!\bsuppose )(?<!\bimagine )(?<!\bsay )(?<!\bwhat )(?<!\bthat )"
    rf"\b(?:I|we)(?:'ve| have) {_NOW}(?!{FIGURE_OF_SPEECH}){DONE_VERB}\b"
    rf"|(?:[,:]|^\W*(?:after that|once (?:again|more))\b,?) I {_NOW}{DONE_VERB}\b"
)
_NOT_KNOWN = phrase(r"\b(?:don't|do not|can't|cannot|couldn't|wasn't able to) (?:know|tell|see|say|be sure|reach)\b")
_PARTS = phrase(r"[,;]? \b(?:but|however)\b|;")
_ASIDE = re.compile(r" [—–-] |;|\bP\.?S\.?:?|: ")
_YES = phrase(
    r"^[\W_]*(?:yes|yep|yeah|yup|correct|indeed|absolutely|of course|certainly|it (?:is|has|did)|they (?:are|have|"
    r"did)|I (?:did|have))\b"
)
_NO = phrase(r"\b(?:not|n't|cannot|no|never|unable|without)\b|n't\b")
_I_AM_DOING = phrase(
    r"\b(?:I|we)(?P<how>'ve| have|'ll| will|'m| am|)(?: going to| now| just| already| also| then)* "
    r"(?P<verb>[a-z'-]+)(?: (?P<more>[a-z'-]+))?"
)
_IRREGULAR = {
    **{"took": "take", "taken": "take", "sent": "send", "told": "tell", "bought": "buy", "paid": "pay", "fed": "feed"},
    **{"rang": "ring", "rung": "ring", "made": "make", "gave": "give", "given": "give", "wrote": "write", "done": "do"},
    **{
        "written": "write",
        "did": "do",
        "woke": "wake",
        "lit": "light",
        "brought": "bring",
        "left": "leave",
        "got": "get",
    },
    **{"kept": "keep", "spoke": "speak", "began": "begin", "forgot": "forget", "forgotten": "forget", "put": "put"},
    **{"let": "let", "set": "set", "shut": "shut", "found": "find", "chose": "choose", "held": "hold"},
}
_ARTICLES = {"the", "a", "an", "your", "my", "our", "that", "this", "some", "it", "they", "to", "and", "of"}
_OFTEN_SAID = {  # as `_base` has them; who says them of an answer has done nothing in the house
    *("be", "hav", "giv", "do", "help", "know", "tell", "think", "say", "see", "pleas", "want", "lik", "need", "get"),
    *("try", "find", "explain", "translat", "summaris", "summariz", "describ", "compar", "list"),
}
_BY_ME = phrase(r"\b(?:I|we)\b")
_SENDING = {"mail", "message", "note", "file"}
SHORT = 3  # words


def claim(sentence: str, asked: str = "") -> Claim | None:
    """Return what `sentence` claims, when it is said to somebody who `asked` for this; `None` for no claim at all."""
    words, asked = TAG.sub("", plain(sentence)), asked[:LONGEST_CHARACTERS]
    if _NOT_KNOWN.search(words):
        words = " ".join(part for part in _PARTS.split(words) if not _NOT_KNOWN.search(part))
    named = topics(words)
    if _NOT_A_CLAIM.search(words) and not (named and _ALL_THE_SAME.search(words)):
        return None
    if named and asks_for_text(asked) and _is_of_a_text(words, named, asked):
        return None
    about_us = bool(named) or bool(_YOURS.search(words))
    if _claims_deed(words, asked, named, about_us=about_us):
        return None if _MAKES_TEXT.search(words) and not named else "deed"
    return "state" if _claims_state(words, asked, named, about_us=about_us) else None


def _is_of_a_text(words: str, named: list[str], asked: str) -> bool:
    """Tell whether a text that somebody wanted may say this: what it is to be about, or how something stands in it."""
    if _SENDING.intersection(named):
        return False  # "I've sent the e-mail"
    return set(named) <= set(topics(asked)) or not (_YOURS.search(words) or _BY_ME.search(words))


def _claims_deed(words: str, asked: str, named: list[str], *, about_us: bool) -> bool:
    just_asked_for = not asks(asked) and bool(set(named) & set(topics(asked)))
    return bool(
        _I_HAVE.search(words)
        or _DONE.search(words)
        or _I_DID_IT.search(words)
        or _I_WILL_DO_IT.search(words)
        or _TOLD_OTHERS.search(words)
        or (about_us and (_I_DID.search(words) or _I_WILL.search(words)))
        or (about_us and (_NEWS_FIRST.search(words) or _MOVED.search(words)))
        or (just_asked_for and (_DID_SOMETHING.search(words) or _SHALL_DO.search(words)))
        or (_TICKED.search(words) and (about_us or len(WORD.findall(words)) <= SHORT))
        or _does_as_asked(words, asked)
    )


def _claims_state(words: str, asked: str, named: list[str], *, about_us: bool) -> bool:
    if _CONDITION.search(words):
        return False  # "press it until the light is off"
    wanted = not asks(asked) and bool(set(named) & set(topics(asked)))
    if wanted and _PASSIVE.search(words) and not _NO.search(words):
        return True
    if (
        any(map(_BARE.search, _ASIDE.split(words)))
        or _STANDS.search(words)
        or _NOW_HOLDS.search(words)
        or _says_yes(words, asked)
    ):
        return True
    if about_us and _IT_IS.search(words):
        return True
    if (said := _IT_STANDS.search(words)) and (
        _of_the_house(asked) or re.match(r"\W*(?:now|again|for you)\W*$", said["after"])
    ):
        return True
    if (runs := _RUNS.search(asked)) and re.search(rf"\b{re.escape(runs['verb'])}\b", words) and not _NO.search(words):
        return True
    return bool((what := _ASKED_FOR.search(words)) and _spoken_of(what["what"], asked))


def _does_as_asked(words: str, asked: str) -> bool:
    """Tell whether somebody says to do, or to have done, just what was asked for: "I took a picture"."""
    things = set(WORD.findall(plain(asked).lower())[:10]) - _ARTICLES
    wanted = {_base(word) for word in things} - _OFTEN_SAID
    for said in _I_AM_DOING.finditer(words):
        verb = said["verb"].lower()
        inflected = _base(verb) != verb.removesuffix("e") or verb in ("put", "let", "set", "shut")
        done = said["how"] or inflected
        if (
            done
            and not _NO.search(said[0])
            and (_base(verb) in wanted or (verb in ("do", "did") and _shares(words, things)))
        ):
            return True
    going_on = _UNDER_WAY.search(words)
    return bool(
        going_on and (_base(going_on["verb"].lower()) in wanted or going_on["rest"].rstrip(" .!…").endswith(" now"))
    )


def _shares(words: str, things: set[str]) -> bool:
    often = {"do", "please", "you", "i", "can", "could", "me", "for", "it", "that", "is"}
    return bool(set(WORD.findall(words.lower())) & (things - often))


def _says_yes(words: str, asked: str) -> bool:
    """Tell whether this is a yes to "did you …", "is it locked?", "is the oven off?"."""
    return (
        asks_how_things_stand(asked) and bool(_YES.search(words)) and not _NO.search(" ".join(WORD.findall(words)[:4]))
    )


def _of_the_house(asked: str) -> bool:
    return bool(topics(asked)) or names_a_state(asked)


def _spoken_of(what: str, asked: str) -> bool:
    """Tell whether somebody just named this: its words, articles apart, stand in what was asked."""
    words = set(WORD.findall(what.lower())) - _ARTICLES
    return bool(words) and words <= set(WORD.findall(asked.lower()))


def _base(word: str) -> str:
    """Return a verb as it is asked for: "turning", "turned" → "turn"."""
    if word in _IRREGULAR:
        return _IRREGULAR[word].removesuffix("e")
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            doubled = stem[-1] == stem[-2] and stem[-1] not in "ls"
            return (stem[:-1] if doubled else stem).removesuffix("e")
    return word.removesuffix("e")
