"""What does somebody want: a deed, a text, or to know how things stand? English only. Pure.

Words can be wanted in endless ways, deeds of a house in few. So a request is one for a deed only when it says so: by a
verb that means nothing else ("lock the door"), or by a thing of the house that it names ("add milk to the list"). "Add
five and seven", "put that in other words", "turn lead into gold" are for the answer to fulfil.
"""

from __future__ import annotations

import re

from atlas.agents.deed_words import DOING_VERB, DONE_VERB, STATE, TEXT_MADE, WEAKER_VERB, one_of, phrase, plain, topics

LONGEST_CHARACTERS = 300  # of a request that are read for this; a longer one carries what is to be worked on
_POLITE = (
    r"(?:(?:hey|hi|hello|ok|okay|atlas|please|can|could|would|will|you|just|maybe|kindly|now|then|and|also|i want"
    r"|i need|i'd like|i would like|to|so|go ahead and|thanks|thank you)\b[ ,]*)*"
)
_WHICH = r"(?:it|that|this|them|these|those|the|my|our|all|both|every|everything|\w+'s)\b"
_SOME = r"(?:it|that|this|them|the|my|our|me|us|an?|some|more|another|\d+|two|three|four|five|six|ten|a few|all)\b"


def _begins(*patterns: str) -> re.Pattern[str]:
    return phrase(f"^\\W*{_POLITE}{one_of(*patterns)}")


_FOR_OTHERS = _begins(  # what follows these is for somebody else, or for later, whatever it says
    r"(?:ask|remind|warn|inform|notify|let) (?!(?:me|us|'s|you)\b)\w+",
    r"tell (?!(?:me|us|you)\b)\w+(?![^?!]*\b(?:story|stories|joke|riddle|tale)\b)",
    r"(?:text|message|e-?mail|mail) (?!(?:adventures?|me|editors?|formats?|books?|types?|in|from|of)\b)\w+",
    r"(?:call|ring|phone) (?!(?:me|yourself|it|that|this|them|us|for|of|out)\b)\w+",
    r"(?:call|get|find) me an? (?:taxi|cab|uber|ambulance|doctor)|give me a (?:ring|call|shout)",
    r"send (?!(?:e-?mails?|messages?|texts?|things|mails?)\W*$)\w+",
    r"(?:reply to|forward|invite) \w+|broadcast|announce",
    r"remind me (?!(?:who|why|how|which|whose|of the (?:plot|story|rules))\b)\w+",
    r"don't (?:let me )?forget|write (?:that|this|it) down",
    r"(?:remember|note|write down) (?:that|this|it|to|my|our|i)\b|forget (?:that|what|about|everything|my)\b",
)
_DEED = _begins(  # the verb says enough
    r"(?:turn|switch|power|shut) (?:[\w']+ ){0,5}?(?:on|off|up|down)\b",
    rf"(?:un)?lock (?:up|{_WHICH})|(?:dim|mute|unmute|arm|disarm|snooze|undo|reboot|restart|silence)\b",
    r"wake (?!up\W*$)(?:me|us|him|her|them|up|the)\b",
    r"make (?:it|this|the [\w ]{2,20}) (?:warm|cool|hott?|cold|bright|dark|loud|quiet|dimm)e?r",
    rf"(?:buy|reserve|book) (?:{_SOME}|tickets?)|buy (?!or\b)\w+\W*$|order (?!the\b){_SOME}(?! (?:\w+ ){{0,2}}by\b)",
    rf"pay (?:{_WHICH}|for|back)|transfer {_SOME}|set (?:it|them|this|that) (?:to|for|at)\b",
    r"do (?:the|my|our) (?!(?:same|math|maths|sums?|calculation|reverse|opposite)\b)\w+",
    rf"(?:feed|water) {_WHICH}",
    rf"(?:charge|clean|empty|heat|cool|warm|print|report|arrange|prepare|bring) (?:me )?{_SOME}(?: \w|\W*$)",
    r"(?:mark|tick|cross|check) (?:off|[\w' ]+? (?:off|as|done))\b",
    r"take (?:an? )?(?:picture|photo|snapshot|screenshot|memo)",
)
_USUALLY_DEED = _begins(  # unless what it is done to is made of words
    one_of(
        r"pause|resume|start|stop|skip|cancel|delete|erase|clear|remove|open|close|shut|raise|lower|increase|decrease",
        r"save",
    )
    + f" {_WHICH}",
    r"play \w+",
)
_PERHAPS_DEED = _begins(  # if a thing of the house is named
    rf"(?:{DOING_VERB}|take|make|mark|check|tick|cross|adjust|rename|reset|arrange|reserve|get|find|increase|decrease"
    r"|clear|undo|note|assign|complete|finish|record)\b"
)
_WORK_ON_WORDS = _begins(
    r"(?:translate|summari[sz]e|proofread|rewrite|rephrase|paraphrase|spell|define|explain|describe|shorten|improve"
    r"|edit|compare|pronounce)\b"
)
_CLAUSE = re.compile(r"[,.;!]|\b(?:and then|and|then)\b", re.IGNORECASE)
_ASKS = phrase(
    r"^\W*(?:is|are|was|were|did|do(?! (?:the|my|our|it|that|this)\b)|does|has|have|had|what|what's|when|where|who|why"
    r"|how|which|will(?! you\b)|should|shall)\b"
)
_ASKS_BESIDES = phrase(r"[,;:.?!–-] *(?:and |but |so )?(?:how|what|what's|where|when|why|who|which|is|are|does)\b")
_ASKS_WHETHER_ABLE = phrase(
    r"^\W*(?:can|could) you (?:also |even |really )?[a-z]+ (?:on |off )?(?:e-?mails|mails|texts|messages|timers|alarms"
    r"|reminders|lights|doors|lists|notes|events|calls|things|numbers|devices)(?: (?:on|off))?\W*$"
)
_DENIED = phrase(r"^\W*(?:please )?(?:don't|do not|never)\b")
_TALK = phrase(  # an answer can fulfil it
    rf"\b(?:{TEXT_MADE}|question|chess|game|quiz|trivia|idea|suggestion|advice|tip|answer|lists? (?:of|for)|names? of"
    r"|riddle|charade|rhyme|synonym|antonym|opposite|word|sentence|letters?|vowel|spelling|headline|review|title|caption|slogan"
    r"|introduction|explanation|difference|language|number|pirate|advocate|along|role|tense|in order|python|javascript"
    r"|sql|html|css|json|regex|variable|method|class|loop|query|bug|modal|dialog|component)s?\b"
    r"|\binto (?:an? |\w+ )?(?:french|german|spanish|italian|english|latin|dutch|celsius|fahrenheit|kelvin|kilomet\w+"
    r"|miles|met\w+s|feet|inches|pounds|kilos|grams|ounces|euros|dollars|gold)\b"
)
_TEXT = phrase(
    r"\b(?:tell|write|sing|compose|draft|word|invent|recite|make up|come up with|begin|start|finish|continue|help)\b"
    rf"[^?!]*?\b(?:{TEXT_MADE}|stor(?:y|ies)|tale|song|e-?mail|mail|message|text|notes? (?:to|for)|card|invitation"
    r"|lists? (?:for|of)|reply|answer|post|toast)s?\b"
)
_ADDED = phrase(
    r"\b(?:to|on|onto|in|into|from|off) (?:the|my|our) [\w' -]*?(?:lists?|calendar|diary|notes|tasks|board)\b"
)
_STATE_WORD = phrase(rf"\b{STATE}\b|\b(?:gone|done|set|there|sent|on its way|finished)\b")
_ASKS_WHETHER = phrase(r"^\W*(?:is|are|was|were|did|has|have|had)\b")
_ASKS_IF_DONE = phrase(  # its "yes" is a claim
    r"(?:^|[,.;!?]|\b(?:and|but|so|or|atlas|hey|else|long)\b)\W*(?:"
    rf"(?:did|have|had|will) you\b[^?]*\b(?:{DONE_VERB}|{WEAKER_VERB}|{DOING_VERB}|do|did)\b"
    r"|are you [a-z]+ing\b|were you able\b"
    r"|(?:is|are|was|were|has|have|did|does) (?:it|they|that|this|everything|those|these)\b"
    rf"[^?]{{0,18}}\b(?:{STATE}(?! (?:on|in|at|to|from|for)\b)|{DONE_VERB}|{WEAKER_VERB}|gone|there"
    r"|work(?:ed|s|ing)?|go(?:ne)? through|sent|yet)\b)"
)


def asks(asked: str) -> bool:
    """Tell whether a request begins as questions do."""
    return bool(_ASKS.search(_read(asked)))


def asks_for_deed(asked: str) -> bool:
    """Tell whether somebody wants something done that no words can do: "order me a pizza", not "tell me a joke"."""
    words = _read(asked)
    if _FOR_OTHERS.search(words):
        return True
    if any(other.search(words) for other in (_DENIED, _ASKS, _ASKS_BESIDES, _ASKS_WHETHER_ABLE, _WORK_ON_WORDS)):
        return False
    return any(map(_is_deed, _CLAUSE.split(words)))


def _is_deed(clause: str) -> bool:
    if _FOR_OTHERS.search(clause) or _DEED.search(clause):
        return True
    perhaps = _PERHAPS_DEED.search(clause)
    named = perhaps and topics(clause[perhaps.end() :])  # "order" and "switch" are doings, and things
    if named and _ADDED.search(clause):
        return True
    return bool(named or _USUALLY_DEED.search(clause)) and not _TEXT.search(clause) and not _TALK.search(clause)


def asks_for_text(asked: str) -> bool:
    """Tell whether somebody wants a text, which may say anything of anybody: a story, a letter, a translation."""
    words = _read(asked)
    return bool(_TEXT.search(words) or _WORK_ON_WORDS.search(words)) and not asks_for_deed(asked)


def asks_how_things_stand(asked: str) -> bool:
    """Tell whether somebody asks how things stand in the house, or whether something was done."""
    words = _read(asked)
    about_the_house = bool(topics(words)) and bool(_ASKS_WHETHER.search(words)) and bool(_STATE_WORD.search(words))
    return bool(_ASKS_IF_DONE.search(words)) or about_the_house


def names_a_state(asked: str) -> bool:
    """Tell whether a word of how things stand is in it: on, locked, done."""
    return bool(_STATE_WORD.search(_read(asked)))


def _read(asked: str) -> str:
    return plain(asked[:LONGEST_CHARACTERS])
