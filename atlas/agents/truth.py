"""No claim without a deed: a sentence that says something was done is held back until a receipt stands behind it. Pure.

It works a sentence at a time on text as it streams. It knows English only, and only how deeds are claimed; whether what
is said about the world is true is beyond it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from atlas.conversation import ToolCall, ToolResult

NOT_DONE = "I haven't done that: nothing was changed."
LONGEST_CHARACTERS = 600  # a sentence is not held back longer than this; what never ends is no claim
_END = re.compile(r"[.!?…]+[\"'”’)\]*_]*(?=\s)\s+|\n+")

_TOPICS = {  # what a claim is about → how deeds on it are named, in tool names and receipts
    "timer": r"timers?|countdowns?",
    "alarm": r"alarms?",
    "remind": r"reminders?|remind(?:ed|ing)?",
    "task": r"tasks?|to-?dos?|to-do list|checklist",
    "list": r"(?:shopping |grocery )?lists?",
    "light": r"lights?|lamps?",
    "mail": r"e-?mails?|mails?",
    "message": r"messages?|texts?",
    "note": r"notes?",
    "calendar": r"calendar|events?|appointments?|meetings?",
    "music": r"music|songs?|playlist|volume",
    "climate": r"heating|thermostat|temperature",
    "door": r"doors?|locks?|blinds?|curtains?|garage",
    "file": r"files?|documents?|folders?",
    "order": r"orders?|groceries|tickets?|table",
}
_ALSO = {"list": ("task",), "task": ("list",), "order": ("shop",)}  # a list of tasks is both
_TOPIC = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _TOPICS.items()}


def _one_of(*patterns: str) -> str:
    return f"(?:{'|'.join(patterns)})"


def _phrase(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_DONE_VERB = _one_of(
    r"set|started|added|created|sent|cancell?ed|removed|deleted|scheduled|booked|paused|resumed|stopped|moved|marked",
    r"turned (?:\w+ ){0,3}(?:on|off|up|down)|turned|switched|saved|noted|written|put|locked|unlocked|opened|closed",
    r"ordered|bought|updated|changed|adjusted|reset|dimmed|reminded|e-?mailed|texted|messaged|called|invited|played",
    r"extended|increased|decreased|completed|checked off|ticked|logged|recorded|stored|activated|disabled|enabled",
    r"made|done|taken care of",
)
_DOING_VERB = _one_of(
    r"remind(?:ing)?|set(?:ting)?|start(?:ing)?|add(?:ing)?|creat(?:e|ing)|turn(?:ing)?|switch(?:ing)?|send(?:ing)?",
    r"cancel(?:l?ing)?|remov(?:e|ing)|delet(?:e|ing)|schedul(?:e|ing)|book(?:ing)?|paus(?:e|ing)|resum(?:e|ing)",
    r"stop(?:ping)?|mov(?:e|ing)|mark(?:ing)?|sav(?:e|ing)|put(?:ting)?|lock(?:ing)?|unlock(?:ing)?|open(?:ing)?",
    r"clos(?:e|ing)|order(?:ing)?|play(?:ing)?|wake|notify|alert",
)
_NEWS = _one_of(  # forms that only tell of something that has just been done
    r"added|started|removed|cancell?ed|deleted|turned (?:on|off)|switched (?:on|off)|paused|resumed|moved|marked",
    r"scheduled|created|sent|saved",
)
_GOING_ON = r"(?:setting|starting|adding|creating|turning|cancell?ing|sending|scheduling)"
_GENERAL_VERB = _one_of(  # "Setting a timer helps you focus" is advice
    r"is|are|was|can|could|will|would|may|might|helps?|makes?|requires?|means|lets|allows?|takes?|ensures?|keeps?"
)
_NO_NEWS = _one_of(  # a sentence with one of these has its verb elsewhere
    r"is|are|was|were|be|been|can|could|may|might|will|would|should|must|not|never|nothing|no|to",
    r"I|we|you|he|she|they|it|that|which|who|anything|everything",
)
_FIGURE_OF_SPEECH = _one_of(  # what a model may say of itself with these verbs without having touched the house
    r"made (?:a )?(?:mistakes?|errors?|up)|changed my mind|put (?:a lot|some thought)|set out|called (?:it )?home",
    r"taken care to|done my best",
)
_NOW = r"(?:(?:just|already|now|also|all|successfully|safely|then|gone ahead and|went ahead and|go ahead and)[ ,]+)*"
_AGREED = _one_of(
    r"ok(?:ay)?|sure(?: thing)?|al(?:l )?right|great|yes|yep|certainly|of course|absolutely|no problem|perfect",
    r"got it|there|here you go",
)
_OPENING = rf"^[\W_]*(?:{_AGREED}[,.! ]+)*"
_THING = r"(?:timer|countdown|alarm|reminder|task|event|note|message|e-?mail|light)s?"

_I_HAVE = _phrase(rf"\b(?:I|we)(?:'ve| have) {_NOW}(?!{_FIGURE_OF_SPEECH}){_DONE_VERB}\b")
_I_DID = _phrase(rf"\b(?:I|we) {_NOW}{_DONE_VERB}\b")
_I_WILL = _phrase(rf"\b(?:I(?:'ll| will|'m| am)|let me)(?: going to)? {_NOW}{_DOING_VERB}\b")
_IT_IS = _phrase(
    r"\b(?:(?:your|it|they|everything)\b[^.!?]{0,60}?\b(?:was|were)|"
    r"(?:your|the|that|this|it|they|both|everything|all)\b[^.!?]{0,60}?(?:\b(?:is|are)|'s)|"
    rf"(?:(?:has|have)(?: now| already)?|'s(?: now| already)?) been) {_NOW}{_DONE_VERB}\b(?! by\b)"
)
_BARE = _phrase(
    rf"{_OPENING}(?:your |the )?(?:\w+ ){{0,3}}{_THING} (?:now |has been )?(?:{_NEWS}|set|on|off)\b"
    r"(?! (?:by|if|when|to help))"
)
_DONE = _phrase(
    _OPENING
    + _one_of(
        r"(?:all )?(?:done(?: and done)?|all set|you(?:'re| are) all set)",
        r"(?:it|that|everything)(?:'s| is)(?: all| now)? (?:done|set|taken care of)",
        r"consider it done|noted|will do|task complete|it(?:'s| is) on its way",
    )
    + r"\b[^\w]*(?:(?:for you|now|sir|boss|then)\W*)?$"
)
_NEWS_FIRST = _phrase(
    rf"{_OPENING}(?:successfully |now |just )?(?:{_NEWS}|{_GOING_ON}(?![^.!?]*\b{_GENERAL_VERB}\b))\b"
)
_MOVED = _phrase(  # "two minutes added to your timer": how our own tools say it, so how a model learns to
    rf"{_OPENING}(?:(?!{_NO_NEWS}\b)[\w'-]+ ){{1,6}}(?:added to|taken off|removed from|moved to) (?:your|our|the)\b"
)
_STANDS = _phrase(  # how a thing of the house stands: nobody knows it who has not looked or done it
    r"\b(?:the|your|all|both|every)\b[^.!?,]{0,40}?\b(?:lights?|lamps?|tv|music|radio|heating|thermostat|fan|doors?|locks?|"
    r"garage|gates?|blinds?|curtains?|shutters?|windows?|alarms?|plugs?|switch(?:es)?|oven|kettle)\b[^.!?,]{0,30}?"
    rf"\b(?:is|are) {_NOW}(?:on|off|open|shut|closed|locked|unlocked|dimmed|down|up|playing|paused|running|ready)"
    r"(?: (?:now|again|for you|in (?:the|your) [\w']+(?: [\w']+)?))*\W*$"
)
_ASKED_FOR = _phrase(  # "Buy milk is done": what somebody asked about, said to stand as asked
    rf"{_OPENING}(?P<what>(?:[\w'-]+ ){{1,8}}?)(?:is|are) {_NOW}"
    r"(?:done|finished|completed?|gone|over|cancell?ed|"
    r"(?:put )?(?:on|onto|off|in|into) (?:the|your|my) (?:[\w']+ )?(?:list|tasks|board|calendar|notes|diary))\W*$"
)
_YOURS = _phrase(r"\b(?:your|for you|you (?:when|at|in|to|about|on|of))\b")
_NOT_A_CLAIM = _phrase(
    r"^[\W_]*(?:if|once|when|whenever|after|before|unless|until|imagine|suppose|say)\b"
    r"|\b(?:if|once|unless|until) (?:I|we)(?:'ve| have)\b"
)
_ARTICLES = {"the", "a", "an", "your", "my", "our", "that", "this", "some"}
_QUOTED = re.compile(r"[\"“][^\"”]*[\"”]")


@dataclass(frozen=True, slots=True)
class Deeds:
    """What was done in this turn, each as words: tool names and what their receipts say. `read` changed nothing."""

    changed: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    failed: str = ""  # why the last failed call failed, in words fit to be spoken
    asked: str = ""  # what the person said: a reply that says it is so claims it
    told: tuple[str, ...] = ()  # what the tools said of the changes, in words fit to be spoken

    def done(self, call: ToolCall, result: ToolResult) -> Deeds:
        """Return these and one that changed something."""
        assert result.receipt, "without a receipt nothing was done"
        words = _words_of(call, f"{result.receipt.changed} {result.text}")
        return replace(self, changed=(*self.changed, words), told=(*self.told, result.text), failed="")

    def looked_up(self, call: ToolCall, result: ToolResult) -> Deeds:
        """Return these and one that read something."""
        return replace(self, read=(*self.read, _words_of(call, result.text)))


def _words_of(call: ToolCall, text: str) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), ensure_ascii=False, default=str)} {text}"


def is_true(sentence: str, deeds: Deeds) -> bool:
    """Tell whether `sentence` claims nothing, or nothing but what `deeds` can show."""
    plain = _QUOTED.sub(" ", sentence.replace("’", "'"))
    if _NOT_A_CLAIM.search(plain):
        return True
    topics = [name for name, words in _TOPIC.items() if words.search(plain)]
    about_us = bool(topics) or bool(_YOURS.search(plain))
    done = (
        _I_HAVE.search(plain)
        or _DONE.search(plain)
        or (about_us and (_I_DID.search(plain) or _I_WILL.search(plain)))
        or (about_us and (_NEWS_FIRST.search(plain) or _MOVED.search(plain)))
    )
    if done:
        return _shown(topics, deeds.changed)
    if _BARE.search(plain) or (about_us and _IT_IS.search(plain)) or _STANDS.search(plain):
        return _shown(topics, deeds.changed + deeds.read)  # how things stand may also have been looked up
    if (said := _ASKED_FOR.search(plain)) and _spoken_of(said["what"], deeds.asked):
        return bool(deeds.changed or deeds.read)
    return True


def _spoken_of(what: str, asked: str) -> bool:
    """Tell whether somebody just named this: its words, articles apart, stand in what was asked."""
    words = set(re.findall(r"[\w'-]+", what.lower())) - _ARTICLES
    return bool(words) and words <= set(re.findall(r"[\w'-]+", asked.lower()))


def _shown(topics: Iterable[str], deeds: Iterable[str]) -> bool:
    words = " ".join(deeds).lower()
    return bool(words) and all(any(stem in words for stem in (topic, *_ALSO.get(topic, ()))) for topic in topics)


class Truth:
    """The filter of one answer: text in as it streams, and out again what may be said. Nothing is lost or reordered.

    From the first claim without a deed on, everything waits for `settle`, because the call that makes it true may still
    come: models like to announce first and act later.
    """

    def __init__(self) -> None:
        self._unread = ""  # the beginning of a sentence
        self._waiting: list[str] = []  # whole sentences, from the first unproven claim on
        self._confessed = False

    @property
    def is_amid(self) -> bool:
        """Whether a sentence has begun and not ended."""
        return bool(self._unread.strip())

    def feed(self, text: str, deeds: Deeds) -> str:
        """Take more text; return what may be said now."""
        self._unread += text
        free: list[str] = []
        while end := _end(self._unread):
            sentence, self._unread = self._unread[:end], self._unread[end:]
            if self._waiting or not is_true(sentence, deeds):
                self._waiting.append(sentence)
            else:
                free.append(sentence)
        return "".join(free)

    def settle(self, deeds: Deeds) -> str:
        """Return what remains to be said, each claim judged: the text has ended, and all that it asked for is done."""
        sentences, self._waiting, self._unread = [*self._waiting, self._unread], [], ""
        said: list[str] = []
        for sentence in sentences:
            if is_true(sentence, deeds):
                said.append(sentence)
            elif not self._confessed:
                self._confessed = True
                said.append(_confession(deeds) + (sentence[len(sentence.rstrip()) :]))
        return "".join(said)


def _end(text: str) -> int:
    """Return where the first sentence of `text` ends, its white space included; 0 while it has not ended."""
    if found := _END.search(text[: LONGEST_CHARACTERS + 1]):
        return found.end()
    return 0 if len(text) <= LONGEST_CHARACTERS else (text.rfind(" ", 0, LONGEST_CHARACTERS) + 1 or LONGEST_CHARACTERS)


def _confession(deeds: Deeds) -> str:
    return f"I haven't done that: {deeds.failed}" if deeds.failed else NOT_DONE
