"""The options that a door may set: how a session takes turns, and what is special about one reply. Values."""

from __future__ import annotations

from dataclasses import dataclass, field

from atlas.conversation import ClientTools, Message
from atlas.speech.endpoint import PRE_ROLL_SECONDS, EndpointOptions
from atlas.voice.mouth import AHEAD_SECONDS


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How a session takes turns. May be replaced while it runs."""

    detect_turns: bool = True  # False: the client commits utterances itself (push to talk)
    endpoint: EndpointOptions = field(default_factory=EndpointOptions)
    pre_roll_seconds: float = PRE_ROLL_SECONDS
    partial_words: bool = False  # words are told while somebody still speaks
    answer: bool = True  # reply when an utterance ends; False: only when asked to
    interrupt: bool = True  # speech over a reply stops it
    barge_in_seconds: float = 0.4  # of speech over the reply before it counts as an interruption
    follow_up_seconds: float = 8.0  # with a wake word: how long one need not say it again, behind it and a question …
    after_answer_seconds: float = 0.0  # … and behind an answer: what a television says then is no command
    speak: bool = True  # replies are spoken; False: text only
    speed: float = 1.0
    ahead_seconds: float = AHEAD_SECONDS  # of sound given out before it is played


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """What is special about one reply. `None` leaves it to the session."""

    text: str = ""  # typed words, answered together with what was said and not answered yet
    prompt: str = ""  # answered when nothing was said or typed
    instructions: str = ""
    tainted: bool = False  # words of others may be in the instructions
    agent: str = ""
    history: tuple[Message, ...] = ()  # only when not remembered
    remembered: bool = True
    client_tools: ClientTools | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    speak: bool | None = None
    turn_id: str = ""  # what the turn shall be called; "" makes up a name
