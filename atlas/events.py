"""What a turn or a session can report, and Emit, the one way up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from atlas.audio import AudioChunk
from atlas.conversation import ToolCall, ToolResult, Usage

Route = Literal["command", "model"]  # with or without a model
End = Literal["done", "interrupted", "cancelled", "length", "failed"]

# ── from a session: what is heard ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Woken:
    """The wake word was heard."""

    phrase: str


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Somebody began to speak. `at_sample` counts `HEARING_RATE` samples from the session's start."""

    utterance_id: str
    at_sample: int


@dataclass(frozen=True, slots=True)
class PartialWords:
    """More words of an utterance that still goes on, behind those told before; `Transcribed` has the last word."""

    utterance_id: str
    text: str


@dataclass(frozen=True, slots=True)
class SpeechStopped:
    """The endpoint: the speaker has finished. The utterance is committed next, never reopened."""

    utterance_id: str
    at_sample: int


@dataclass(frozen=True, slots=True)
class Committed:
    """The utterance's sound is fixed; its words follow as `Transcribed`."""

    utterance_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Transcribed:
    """The words of a committed utterance; "" when there were none, and then no turn follows."""

    utterance_id: str
    text: str
    error: str = ""  # why recognition failed, for the log; then the text is ""
    language: str = ""  # of the words; "" where the recogniser does not tell
    rest: str | None = None  # of the text, behind its partial words; "" where it turned out otherwise, None without any


@dataclass(frozen=True, slots=True)
class Hush:
    """Drop what is still to be played: the user speaks over the reply, or it was cancelled.

    `played_ms` of the reply's sound had left the house by its own pacing clock; `heard` are its words.
    """

    turn_id: str
    played_ms: int
    heard: str


# ── from a turn: what is answered ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The router has chosen. First event of a turn."""

    turn_id: str
    agent: str
    reason: str  # why this agent, in words
    language: str = ""  # in which it is answered; "" is the house's own
    person: str = ""  # whom it answers, known by voice


@dataclass(frozen=True, slots=True)
class Tainted:
    """What this turn says and does from here on may repeat words of others that its messages do not show.

    For the memory, which is told before the first word: also a turn that is cut off is kept as what it was.
    """


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of the reply. Their concatenation is the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class RecordedSpeech:
    """More words of the reply, in the voice of the person who said them."""

    text: str
    audio: AudioChunk


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is being used."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool call came back. Every `ToolStarted` is followed by one, also when the turn is cancelled."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class SpeechOut:
    """Sound of the reply, in order, at most 300 ms ahead of its playing.

    `text` is the piece of reply whose sound begins here; "" in the middle of a piece.
    """

    audio: AudioChunk
    text: str = ""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """Last event of a turn, exactly one. `error` is a log text when `end` is failed."""

    turn_id: str
    end: End
    text: str  # the whole reply
    path: Route
    usage: Usage = Usage()
    error: str = ""


Event = (
    Woken
    | SpeechStarted
    | PartialWords
    | SpeechStopped
    | Committed
    | Transcribed
    | RecordedSpeech
    | Hush
    | TurnStarted
    | Tainted
    | TextDelta
    | ToolStarted
    | ToolFinished
    | SpeechOut
    | TurnEnded
)
Emit = Callable[[Event], Awaitable[None]]
