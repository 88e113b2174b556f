"""Does a reply say that nothing was done, or ask back before it does anything? English only. Pure.

Whoever asked for a deed and hears neither is told that there was none (see `truth.correction`), so both must be said
plainly. "The lamps are asleep. Anything else?" asks, and owns up to nothing; "You have nothing to fear" is a no to
something else.
"""

from __future__ import annotations

import re

from atlas.agents.deed_words import DONE_VERB, TAG, WEAKER_VERB, one_of, phrase, plain

_AGREED = r"ok(?:ay)?|sure(?: thing)?|al(?:l )?right|yes|of course|certainly|no problem|got it|gladly|hm+|oh|sorry"
_SENTENCE = re.compile(r"(?<=[.!?…:;])\s+|\n+")
_BOAST = (  # a no that boasts: "I won't forget", "I can't wait"
    r"(?! (?:ever |even |just )?(?:forg[eo]t\w*|let|fail|miss|disappoint|disturb|hesitate|waste|wait|believe|help but"
    r"|imagine|complain|worry|have to worry|be long))"
)
_NOT_DONE = phrase(
    one_of(
        r"\b(?:I|we)\b[^.;!?]{0,25}?\b"
        + one_of(
            r"can't|cannot|could(?:n't| not)|(?:don't|do not) (?:have|know|see|think)|have(?:n't| not)|was(?:n't| not)",
            r"did(?:n't| not)|won't|will not|am not|have no|lack|failed|rather ask|need to know",
        )
        + rf"\b{_BOAST}",
        rf"\b(?:was|were|has|have|is|are|could|can)(?:n't| ?not)(?: (?!un)\w+){{0,2}}? (?:{DONE_VERB}|{WEAKER_VERB})\b"
        r"(?<!undone)",
        r"\b(?:is|are|was)(?:n't| not) (?:possible|available|able|capable|connected|supported|designed)\b",
        r"\bI(?:'m| am) (?:afraid|not|unable)\b|\bunable to\b|\bno (?:way (?:to|of|for)|access)\b",
        r"\bnothing (?:was|has been|happened|changed|is (?:done|set|changed))\b|\bnothing (?:that )?I (?:can|could)\b",
        r"\bno\b[^.!?]{0,40}\bthat I (?:know|can)\b",
        r"\bthere(?:'s| is) no (?:way|such|tool|function|feature|option|support|access|device|possibility)\b",
        r"\byou(?:'ll| will| would)? (?:have|need) to (?!get used|worry|do (?:nothing|anything))\w+",
    )
)
_ASKS = phrase(
    rf"^\W*(?:(?:{_AGREED}|and|or|so|but|sorry)[,!. ]+)*(?:(?:by|for|at|to|in|on|from|until) )?"
    r"(?:wh(?:ich|at|en|ere|om?|y)|how|do|does|did|are|is|should|shall|would|could|can|may)\b|\bor\b[^?]*\?"
)
_ASKS_FOR_MORE = phrase(
    r"\b(?:else|next|also|too|as well|is that all|be all|(?:need|want|like) anything)\b|\bwhy do you ask\b"
    r"|^\W*(?:is|are) (?:that|it|this|you|they)(?: all)? (?:ok(?:ay)?|al(?:l )?right|good|better|fine|happy)\b"
)
_BEFORE_A_QUESTION = phrase(  # what may stand beside it and claims nothing
    rf"^\W*(?:(?:{_AGREED})\W*)+$"
    rf"|^\W*(?:(?:{_AGREED})[,.! –-]+)*(?:I(?: can(?! confirm)| could| would|'d| need|'ll need| will need)"
    r"|there(?: are|'re| is more)|you have (?:\d|two|three|four|five|several|many|a few|more)|(?:happy|glad) to|to do"
    r" (?:that|so)|before I|that depends|just to)\b"
)


def owns_up(said: str) -> bool:
    """Tell whether a reply asks back, or says that something was not done or cannot be."""
    questions, statements = list[str](), list[str]()
    for sentence in filter(None, map(plain, _SENTENCE.split(said))):
        asks = sentence.rstrip("\"'”’)*_ ").endswith("?") and not TAG.search(sentence)
        (questions if asks else statements).append(sentence)
    if any(map(_NOT_DONE.search, statements)):
        return True
    asked_back = any(_ASKS.search(one) and not _ASKS_FOR_MORE.search(one) for one in questions)
    return asked_back and all(map(_BEFORE_A_QUESTION.search, statements))
