"""The words of doing: what there is in a house, and how English says that something was, is or will be done. Pure."""

from __future__ import annotations

import html
import re
import unicodedata

_TOPICS = {  # what a claim is about → how it is spoken of
    "timer": r"timers?|countdowns?",
    "alarm": r"alarms?|wake(?:n| you| me)?|woken",
    "remind": r"reminders?|remind(?:ed|ing)?",
    "task": r"tasks?|to-?dos?|to-do list|checklist|chores?",
    "list": r"(?:shopping |grocery )?lists?",
    "light": r"lights?|lamps?|lighting",
    "mail": r"e-?mails?|mails?|inbox",
    "message": r"messages?|texts?",
    "note": r"notes?",
    "calendar": r"calendar|events?|appointments?|meetings?|diary|schedule",
    "music": r"music|songs?|playlist|volume|speakers?|radio|playback|track",
    "climate": r"heating|heater|thermostat|temperature|radiators?|air conditioning",
    "door": r"doors?|locks?|garage|gates?",
    "cover": r"blinds?|curtains?|shutters?|shades?",
    "device": r"tv|television|fans?|plugs?|switch(?:es)?|oven|kettle|devices?|machine|vacuum|scene|coffee maker",
    "file": r"files?|documents?|folders?",
    "order": r"orders?|groceries|tickets?|table|taxi|reservations?|payment|subscription|pizza",
}
TOPIC = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _TOPICS.items()}


def one_of(*patterns: str) -> str:
    """Return a pattern that fits any of these."""
    return f"(?:{'|'.join(patterns)})"


def phrase(pattern: str) -> re.Pattern[str]:
    """Return a pattern of speech: capitals do not matter."""
    return re.compile(pattern, re.IGNORECASE)


DONE_VERB = one_of(
    r"set|started|added|created|sent|cancell?ed|removed|deleted|scheduled|booked|paused|resumed|stopped|moved|marked",
    r"turned (?:\w+ ){0,3}(?:on|off|up|down)|turned|switched|saved|noted|written|put|locked|unlocked|opened|closed",
    r"ordered|bought|updated|changed|adjusted|reset|dimmed|reminded|e-?mailed|texted|messaged|called|invited|played",
    r"extended|increased|decreased|completed|checked off|ticked|logged|recorded|stored|activated|disabled|enabled",
    r"made|done|taken care of",
)
WEAKER_VERB = one_of(  # said of much else: a claim only when something of the house is named, or "it" is done
    r"handled|sorted|dealt with|arranged|fixed|placed|reserved|paid|transferred|forwarded|replied|submitted|erased",
    r"cleared|emptied|registered|muted|unmuted|raised|lowered|took|taken|printed|shared|posted|notified|informed|told",
    r"alerted|armed|disarmed|skipped|snoozed|restarted|rescheduled|postponed|renamed|assigned|archived|confirmed",
    r"ensured|processed|finished|carried out|undone|reverted|restored|wiped|shut|powered|lit|kept|crossed|dropped",
    r"deactivated|silenced|launched|applied|made sure|seen to|got|wrote|delivered|secured|let go",
)
DOING_VERB = one_of(
    r"remind(?:ing)?|set(?:ting)?|start(?:ing)?|add(?:ing)?|creat(?:e|ing)|turn(?:ing)?|switch(?:ing)?|send(?:ing)?",
    r"cancel(?:l?ing)?|remov(?:e|ing)|delet(?:e|ing)|schedul(?:e|ing)|book(?:ing)?|paus(?:e|ing)|resum(?:e|ing)",
    r"stop(?:ping)?|mov(?:e|ing)|mark(?:ing)?|sav(?:e|ing)|put(?:ting)?|lock(?:ing)?|unlock(?:ing)?|open(?:ing)?",
    r"clos(?:e|ing)|order(?:ing)?|play(?:ing)?|wake|notify|alert|dim(?:ming)?|rais(?:e|ing)|lower(?:ing)?",
    r"shut(?:ting)?|updat(?:e|ing)|chang(?:e|ing)|writ(?:e|ing)|repl(?:y|ying)|skip(?:ping)?|snooz(?:e|ing)",
)
NEWS = one_of(  # forms that only tell of something that has just been done
    r"added|started|removed|cancell?ed|deleted|turned (?:on|off)|switched (?:on|off)|paused|resumed|moved|marked",
    r"scheduled|created|sent|saved|booked|locked|unlocked|dimmed|snoozed|updated|ordered|disabled|enabled|activated",
    r"stopped|completed|rescheduled|undone|ticked off|crossed off|checked off",
)
SOON = r"(?:,.*| (?:now|again|for you|soon|shortly|right away|in (?:a|one|just a) \w+))*"
STATE = r"(?:on|off|open|shut|closed|locked|unlocked|dimmed|down|up|playing|paused|running|ready|armed|muted)"
GOING_ON = (
    r"(?:setting|starting|adding|creating|turning|cancell?ing|sending|scheduling|removing|deleting|locking|unlocking"
    r"|opening|closing|dimming|playing|pausing|booking|ordering|switching|moving|marking|saving)"
)
GENERAL_VERB = one_of(  # "Setting a timer helps you focus" is advice
    r"is|are|was|can|could|will|would|may|might|helps?|makes?|requires?|means|lets|allows?|takes?|ensures?|keeps?|"
    r"gives?"
)
NO_NEWS = one_of(  # a sentence with one of these has its verb elsewhere
    r"is|are|was|were|be|been|can|could|may|might|will|would|should|must|not|never|nothing|no|to",
    r"I|we|you|he|she|they|it|that|which|who|anything|everything",
)
FIGURE_OF_SPEECH = one_of(  # what a model may say of itself with these verbs without having touched the house
    r"made (?:a )?(?:mistakes?|errors?|up|some assumptions?|assumptions?)|changed my mind|put (?:a lot|some thought)",
    r"set out|called (?:it )?home|taken care to|done my best",
    r"made (?:it|this|that) (?:clear|short|simple|up)|done so far",
    r"(?:made|noted|marked) (?:above|below|that you|in my)|put (?:it|this|that) (?:simply|another way|in)|done wrong",
)
TEXT_MADE = one_of(  # a model's own work, which stands in its answer: "I've written a short poem for you:"
    r"poem|haiku|limerick|story|song lyrics|lyrics|joke|riddle|summary|recipe|translation|draft|outline|plan|"
    r"table|code",
    r"function|script|example|version|explanation|paragraph|sentence|essay|letter|speech|itinerary|quiz|diagram|"
    r"template",
)
TAG = phrase(  # what makes no question of a claim: "The lights are off, okay?"
    r", (?:ok(?:ay)?|al(?:l )?right|right|all good|good|yes|no|see|better|happy|hm+|deal|got it|will you|isn't it"
    r"|aren't they|don't you think|haven't [iw]e?)\?+\W*$"
)
WORD = re.compile(r"[\w'-]+")
_ALIKE = str.maketrans("‘’ʼ´′＇АВЕКМНОРСТХаеорсух", "''''''ABEKMHOPCTXaeopcyx")  # as people and models mistype them
_MARKS = re.compile(r"[*`~]+")
_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,60}>")
_WITHOUT_APOSTROPHE = re.compile(r"\b(I)(ve)\b")
_JSON = re.compile(r'\W{0,20}[{\[]\W{0,20}\w{1,40}"\s*:')
_QUOTED = re.compile(r"[\"“][^\"“”]{0,600}[\"”]")  # bounded, as all that reads what anybody may have written
_RULE = re.compile(r"((?:[^\w\s✅✔☑✓]\s*){3})(?:[^\w\s✅✔☑✓]\s*)+")  # a line across a table, or worse


def plain(sentence: str) -> str:
    """Return a sentence without what it quotes, and without what hides its words: marks of writing, odd letters."""
    shown = unicodedata.normalize("NFKC", html.unescape(sentence).translate(_ALIKE))
    shown = "".join(c for c in shown if unicodedata.category(c) != "Cf")
    bare = " ".join(_TAGS.sub("", _MARKS.sub("", shown).replace("_", " ")).split())
    bare = _RULE.sub(r"\1 ", bare)
    bare = _WITHOUT_APOSTROPHE.sub(r"\1'\2", bare)
    if _JSON.match(bare):
        return bare.replace('"', " ")
    without = _QUOTED.sub(" ", bare)
    return without if WORD.search(without) else bare  # a sentence that is all in quotes is said, not quoted


def topics(words: str) -> list[str]:
    """Return what a sentence is about, of what there is in a house."""
    return [name for name, said in TOPIC.items() if said.search(words)]
