"""What was said, by whom, and what was done about it. Values only."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from atlas.audio import AudioChunk
from wall.roles import Role

Author = Literal["system", "user", "assistant", "tool"]
AskLevel = Literal["confirm", "explicit"]  # any yes will do; a yes that names the deed
Channel = Literal["voice", "chat", "button", "terminal"]  # how a person answered


def fresh_id(kind: str) -> str:
    """Return a new id such as `turn_9f86d081884c7d65`; nobody can guess it."""
    return f"{kind}_{secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who is asking, from which device, in which room, with what standing."""

    person: str  # a name the house knows; "" when it does not know who speaks
    device: str  # the name of the token or satellite the words came through
    role: Role
    room: str = ""
    device_id: str = ""  # of the token: another device may get the name of one that is gone; "" where there is none

    @property
    def device_key(self) -> str:
        """What one device has in common with no other, of now or before: where nobody is known by name, whose it is."""
        return self.device_id or self.device


HOUSE = Actor(person="", device="house", role="owner")  # when nobody asked: bells, health, warming up


Margins = tuple[tuple[str, float], ...]  # a text, and nats a token


@dataclass(frozen=True, slots=True)
class Utterance:
    """One stretch of user speech: its best text, other readings of it, and how long it lasted."""

    text: str
    seconds: float
    alternatives: tuple[str, ...] = ()  # other transcripts, best first, without `text`
    possible: tuple[str, ...] = ()  # up to three commands that it may have been: to be asked about, not done
    doubtful: bool = False  # the recogniser itself hardly believes these words
    margins: Margins = ()  # of what was weighed, by how much it is less likely than what was read best
    language: str = ""  # in which it was spoken, of those of the house; "" is the house's own


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that may be called, by the tool server's own name, such as `timers.start`."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON Schema of an object
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A wish to use the tool `name`."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof, from the tool server, that something changed; reads have none."""

    id: str
    changed: str  # what changed, in words fit to be spoken


@dataclass(frozen=True, slots=True)
class ConfirmationRequest:
    """The tool server's question to a person: it does the call after a yes, once, and not before."""

    id: str
    sentence: str  # the question, fit to be spoken
    level: AskLevel
    expires_at: float  # wall clock, seconds since 1970
    tool: str
    arguments_sha256: str


@dataclass(frozen=True, slots=True)
class PendingConfirmation:
    """A call that waits for a person, and what that person was asked."""

    call: ToolCall
    ask: ConfirmationRequest


@dataclass(frozen=True, slots=True)
class SignedAnswer:
    """A person's answer to an ask, signed by the house; or nobody's, and the wish is taken back. Good for one call."""

    ask_id: str
    statement: str = field(default="", repr=False)  # "" when nobody answered
    yes: bool = True  # no: the call is made to close the question, and must not do anything


@dataclass(frozen=True, slots=True)
class SettledConfirmation:
    """What a person's words or button came to: the call that waited, and what closes or settles its question."""

    call: ToolCall
    assent: SignedAnswer  # without a statement when the tool server has the answer already, or nobody will give one
    reply: str = ""  # what is said when nothing is done; "" when the turn goes on to something else


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool call; every started call gets one, a failed call gets one that says so."""

    call_id: str
    ok: bool
    text: str  # a sentence fit for speech: the answer, or what went wrong and what to do
    data: Mapping[str, Any] = field(default_factory=dict)
    receipt: Receipt | None = None
    error: str = ""  # a short machine-readable reason when not ok: denied, confirm, invalid, gone, timeout, failed
    ask: ConfirmationRequest | None = None  # when not ok for want of a person's yes; `text` is then the question
    untrusted: bool = False  # words of others are in it, such as a mail's: data, and never a reason to do something


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a conversation, in the order it happened."""

    author: Author
    text: str = ""
    calls: tuple[ToolCall, ...] = ()  # what an assistant message asked for
    call_id: str = ""  # which call a tool message answers
    ours: bool = field(default=False, compare=False)  # an answer of the house's own, and not of its model
    tainted: bool = field(default=False, compare=False)  # made by who had read words of others: it may repeat them
    at: float = field(default=0.0, compare=False)  # when its turn began, in seconds since 1970; 0 where nobody knows


@dataclass(frozen=True, slots=True)
class ClientTools:
    """Tools that a client brings along, and whose calls it makes itself: they pass no gate, and leave no record."""

    tools: tuple[Tool, ...]
    call: Callable[[ToolCall], Awaitable[ToolResult]] = field(
        compare=False, repr=False
    )  # never raises; can be cancelled

    @property
    def names(self) -> frozenset[str]:
        """What they are called."""
        return frozenset(tool.name for tool in self.tools)


@dataclass(frozen=True, slots=True)
class Turn:
    """One request to be answered, with everything an agent may know about it.

    `history` holds the earlier messages of this conversation, oldest first, without this request.
    """

    id: str
    text: str
    actor: Actor
    at: float  # wall clock, seconds since 1970
    spoken: bool = False  # the answer will be heard, not read
    channel: Channel | None = "chat"  # how the request came; None when no person said it, such as a client's prompt
    alternatives: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()  # see `Utterance`
    doubtful: bool = False
    margins: Margins = ()
    agent: str = ""  # an agent asked for by name; "" lets the router choose
    history: tuple[Message, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    instructions: str = ""  # the client's own system text, added after the agent's
    remembered: bool = True  # the house keeps the conversation; False when the client sends it whole
    tainted: bool = False  # what the client says was answered before may repeat words of others
    answer: SettledConfirmation | None = None  # to a question, by a button; the tool server knows it already
    client_tools: ClientTools | None = None  # offered beside the house's, to a model that may use tools
    wake_word: str = ""  # the phrase that woke the house for this, such as "okay nabu"
    sound: AudioChunk | None = field(default=None, repr=False, compare=False)  # in which a person said it
    voice: str = ""  # the person whose voice was known, who is then the actor's
    language: str = ""  # in which it was said and is answered; "" until the house has found out


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a turn cost. `cached` of the prompt's tokens were not computed again."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt + other.prompt, self.cached + other.cached, self.completion + other.completion)

    def as_openai(self) -> dict[str, Any]:
        """Return it as chat completions of OpenAI have it."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
            "prompt_tokens_details": {"cached_tokens": self.cached},
        }
