"""A person's yes: what was asked of whom, whether their next words answer it, and the house's signature under that.

A yes never comes from a model, from what was said before, or from a tool. It is the whole of what the person who was
asked says next, on the device on which they were asked; or a button, pressed by somebody who may. The tool server
holds the public half of the key, so a yes that was not signed here is none, and each is good once.

Which questions are open, and how they were answered, only the tool server knows. Here is only what was put to whom, in
which words, and whether it was heard: that is what makes the next words an answer.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import jwt
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from atlas.conversation import (
    HOUSE,
    Actor,
    Channel,
    ConfirmationRequest,
    PendingConfirmation,
    SettledConfirmation,
    SignedAnswer,
    ToolCall,
    Turn,
    fresh_id,
)
from atlas.errors import ConfigError, EngineError, RequestError
from atlas.mcp.tools import Tools
from wall.chain import Head
from wall.roles import may

ANSWERS = Path(__file__).parent / "answers"
AUDIENCE = "atlas-tools"
HEAD_AUDIENCE = "atlas-record"
STATEMENT_SECONDS = 30  # it is used at once, but a tool server that starts again takes a few seconds
OPEN_SECONDS = 60.0  # no question is open for longer, whatever the tool server says
LATE_SECONDS = 300.0  # a "yes" that comes later still is about something else
MOST_PUT = 64  # of one agent; a household has one or two, and the tool server has fewer open
NAME_CHARACTERS = 100
LONGEST_CHARACTERS = 80  # a longer answer is none

_ASKED = re.compile(r"[?？][\s\"'”’)]*$")  # "Yes?" asks what was meant

Meaning = Literal["yes", "named", "no", "unclear", ""]  # "named": a yes that names the deed; "": no answer at all


@dataclass(frozen=True, slots=True)
class WaitingConfirmation:
    """A question that nobody has answered yet, whoever asked for it."""

    ask: ConfirmationRequest
    agent: str
    actor: Actor


class HouseKey:
    """The house's own key. Nothing else in Atlas can sign, and this signs answers and how far the record goes."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    def statement(
        self, ask: ConfirmationRequest, by: Actor, channel: Channel, now: float, *, yes: bool, explicit: bool = False
    ) -> str:
        """Return a JWT that says who answered what, good for `STATEMENT_SECONDS`."""
        claims = {
            "aud": AUDIENCE,
            "ask": ask.id,
            "answer": "yes" if yes else "no",
            "channel": channel,
            "person": by.person[:NAME_CHARACTERS],
            "device": by.device[:NAME_CHARACTERS],
            "tool": ask.tool,
            "arguments_sha256": ask.arguments_sha256,
            "sentence_sha256": hashlib.sha256(ask.sentence.encode()).hexdigest(),
            "iat": int(now),
            "exp": int(now) + STATEMENT_SECONDS,
            **({"explicit": True} if explicit else {}),
        }
        return jwt.encode(claims, self._key, algorithm="EdDSA")

    def signed_head(self, head: Head, now: float) -> str:
        """Return a JWT that says how far the tool server's record went at a moment."""
        claims = {"aud": HEAD_AUDIENCE, "seq": head.seq, "hash": head.hash, "iat": int(now)}
        return jwt.encode(claims, self._key, algorithm="EdDSA")

    def read_head(self, file: Path) -> Head | None:
        """Return how far the record went when this key signed it last; None when it never did, or somebody else did."""
        try:
            token = file.read_text(encoding="ascii").strip()
            claims = jwt.decode(token, self._key.public_key(), ["EdDSA"], {"verify_iat": False}, audience=HEAD_AUDIENCE)
            return Head(int(claims["seq"]), str(claims["hash"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError, jwt.InvalidTokenError):
            return None


def read_house_key(file: Path) -> Ed25519PrivateKey:
    """Return the private key in `file`. Raises `ConfigError`."""
    try:
        key = load_pem_private_key(file.read_bytes(), None)
    except (OSError, ValueError, TypeError) as trouble:
        raise ConfigError(f"the house's key {file} cannot be read: {trouble}", hint="`atlas run` makes it") from trouble
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(f"{file} is not an Ed25519 key", hint="move it away; `atlas run` makes a new one")
    return key


# ── what an answer means ───────────────────────────────────────────────────────────────────────────


class AnswerWords:
    """How yes and no are said in one language. Pure."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        ignored = rf"(?:{table['ignored']})"
        gap = rf" (?:{ignored} )*"
        yes, no = (rf"(?:{'|'.join(table[key])})" for key in ("agreed", "declined"))
        self._ends = re.compile(rf"^(?:{ignored} )+|(?: {ignored})+$")
        self._yes = rf"{yes}(?:{gap}{yes})*"
        self._named = rf"{self._yes}{gap}(?:{{deeds}}) (?:{table['what']})"
        self._no = rf"{no}(?:{gap}{no})*"
        self._cancel = table["cancel"]
        self._noted = rf"(?:{table['noted']})(?: (?:{table['noted']}|{ignored}))*"
        self._deeds: Mapping[str, Sequence[str]] = table["deeds"]
        self._deed: Sequence[str] = table["deed"]
        self._says: Mapping[str, str] = table["says"]

    def means(self, text: str, tool: str) -> Meaning:
        """Return what `text` answers to the question whether `tool` should be used."""
        if len(text) > LONGEST_CHARACTERS:
            return ""
        words = _plain(text)
        meaning = self._means(words, tool) or self._means(self._ends.sub("", words), tool)
        return "unclear" if _ASKED.search(text) and meaning in ("yes", "named") else meaning

    def is_taken_note(self, text: str) -> bool:
        """Tell whether `text` only shows that something was heard: "okay", "never mind"."""
        return len(text) <= LONGEST_CHARACTERS and bool(re.fullmatch(self._noted, _plain(text)))

    def says(self, what: str, tool: str = "") -> str:
        """Return a sentence of the house's; `{deed}` in it becomes what the tool would do."""
        return self._says[what].format(deed=self._deeds_of(tool)[0])

    def _means(self, words: str, tool: str) -> Meaning:
        deeds = self._deeds_of(tool)
        if re.fullmatch(self._cancel, words):
            return "unclear" if "cancel" in deeds else "no"
        if re.fullmatch(self._no, words):
            return "no"
        # What names the deed comes first: "yes, do it" is that, where there is no better word for the deed.
        if re.fullmatch(self._named.format(deeds="|".join(map(re.escape, deeds))), words):
            return "named"
        return "yes" if re.fullmatch(self._yes, words) else ""

    def _deeds_of(self, tool: str) -> Sequence[str]:
        return self._deeds.get(tool.rpartition(".")[2], self._deed)


def open_wording(language: str) -> AnswerWords:
    """Return how a language answers. Raises `ConfigError` when nobody has written it down."""
    path = ANSWERS / f"{language}.yaml"
    if not language.isalpha() or not path.is_file():
        known = ", ".join(sorted(file.stem for file in ANSWERS.glob("*.yaml")))
        raise ConfigError(f"nobody told me yes and no in the language {language!r}", hint=f"house.language is {known}")
    return AnswerWords(yaml.safe_load(path.read_text(encoding="utf-8")))


# ── the questions ──────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, eq=False)
class _PutConfirmation:
    """How one person on one device was asked on behalf of one agent, and whether they heard it."""

    agent: str
    pending: PendingConfirmation
    expires_at: float
    turn: Turn  # in which it was put last
    sentence: str  # how it was put last
    heard: bool = True  # to its end, and nothing after it
    awaits_words: bool = True  # False once words were taken for its answer, or another question came after it
    patience: int = 1  # so often more may the answer be something else than it must be


@dataclass(eq=False)
class HouseConfirmations:
    """What was put to whom last, by person, device and agent, and what they answer.

    `tools` is the house's own connection to the tool server, which alone decides whose answer counts.
    """

    seal: HouseKey
    wording: AnswerWords
    tools: Tools
    may_talk: Callable[[Actor, str], bool]  # does this agent talk to this actor?
    now: Callable[[], float] = time.time
    _put: dict[str, _PutConfirmation] = field(default_factory=dict)  # by the id of the question, the oldest first

    @property
    def refused(self) -> str:
        """What is said to a no."""
        return self.wording.says("refused")

    def put(self, agent: str, turn: Turn, pending: PendingConfirmation) -> SettledConfirmation | None:
        """Note what was asked in `turn`. Return what takes back an older question to the same person, if one waits."""
        older = self._last_put(agent, turn)
        if older:
            older.awaits_words = False
        self._forget(agent)
        expires_at = min(pending.ask.expires_at, self.now() + OPEN_SECONDS)
        self._put[pending.ask.id] = _PutConfirmation(agent, pending, expires_at, turn, pending.ask.sentence)
        return self._taken_back(older) if older and older.pending.ask.id != pending.ask.id else None

    def was_heard(self, turn_id: str, heard: str) -> None:
        """Note how much of a spoken reply was heard: who was spoken over has not heard what they would say yes to."""
        for question in self._put.values():
            if question.turn.id == turn_id:
                question.heard &= _letters(question.sentence) in _letters(heard)  # what was not heard stays so

    def said_in_between(self, device: str) -> None:
        """Note that a bell rang on a device: the next yes may be to that, so what was asked there is asked again."""
        for question in self._put.values():
            question.heard &= question.turn.actor.device != device

    def asker(self, turn: Turn) -> str:
        """Return the agent whose question `turn` answers; "" when it answers none that was the last thing asked."""
        for question in self._put.values():
            put_to_them = _is_put_to(turn, question) and _goes_on(turn, question)
            waits = question.awaits_words and question.heard and self.now() < question.expires_at
            if put_to_them and waits and self._meaning(turn, question.pending.ask.tool):
                return question.agent
        return ""

    def hear(self, agent: str, turn: Turn) -> SettledConfirmation | str | None:
        """Return what an answer leads to, or what to say to it; `None` when a turn answers nothing that was put."""
        for one in self._put.values():
            one.heard &= one.agent == agent or one.turn.actor != turn.actor  # the next yes may be to what is said now
        if turn.answer:
            return turn.answer
        question = self._last_put(agent, turn)
        if question is None or not _goes_on(turn, question):
            return None
        tool, late = question.pending.ask.tool, self.now() - question.expires_at
        meaning = self._meaning(turn, tool)
        again = self._again(question, meaning) if meaning and late < 0 else ""
        if again and question.patience:
            question.turn, question.sentence, question.heard = turn, again, True
            question.patience -= again != question.pending.ask.sentence
            return again
        question.awaits_words = False
        if late >= 0:
            return self._too_late(meaning, late)
        if again or not meaning:
            return self._taken_back(question, self.wording.says("given_up") if again else "")
        return self._answer(question, turn, meaning)

    def unasked(self, turn: Turn) -> str:
        """Return what to say to an answer that no question waits for; "" when the turn is none, or nobody's."""
        if turn.channel is None:
            return ""
        if self.wording.is_taken_note(turn.text):
            return self.wording.says("noted")
        return self.wording.says("nothing_open") if self.wording.means(turn.text, "") else ""

    async def waiting(self, viewer: Actor) -> list[WaitingConfirmation]:
        """Return the questions that `viewer` may answer: an adult everybody's of their agents, others their own.

        Raises `EngineError` when the tool server cannot be asked.
        """
        result = await self.tools.call(ToolCall(fresh_id("call"), "asks.waiting", {}), HOUSE, "")
        if not result.ok:
            raise EngineError(f"asks.waiting: {result.text}", spoken=result.text)
        waitings = [_waiting(row) for row in result.data.get("asks", ())]
        return [one for one in waitings if self._may_answer(viewer, one)]

    async def answer(self, ask_id: str, by: Actor, channel: Channel, *, yes: bool) -> Turn | str:
        """Bring an answer that was pressed to the tool server, at once: its conversation may be busy for a while.

        Return the turn that will act on it, or, when a program of its own asked and will call again, a word.
        Raises `RequestError` when that question does not wait, or not for this person.
        """
        waiting = next((one for one in await self.waiting(by) if one.ask.id == ask_id), None)
        if waiting is None:
            raise RequestError(
                "that question is not waiting: it was answered, or it is too old",
                code="not_found",
                hint="ask for what you wanted again",
            )
        statement = self.seal.statement(waiting.ask, by, channel, self.now(), yes=yes, explicit=yes)
        result = await self.tools.call(ToolCall(fresh_id("call"), "asks.answer", {"statement": statement}), HOUSE, "")
        if not result.ok:
            raise RequestError(result.text.rstrip("."), code="not_found")
        question = self._put.get(ask_id)
        if question is None:
            return result.text
        question.awaits_words = False
        call = replace(question.pending.call, id=fresh_id("call"))
        return Turn(
            *(fresh_id("turn"), "Yes." if yes else "No.", question.turn.actor, self.now()),
            channel=channel,
            agent=question.agent,
            remembered=question.turn.remembered,
            answer=SettledConfirmation(call, SignedAnswer(ask_id, yes=yes), "" if yes else self.refused),
        )

    def _meaning(self, turn: Turn, tool: str) -> Meaning:
        """Return what the person meant. A yes that may also have been a no is none, and so is what nobody said."""
        if turn.channel is None:
            return ""
        meaning = self.wording.means(turn.text, tool)
        others = {self.wording.means(text, tool) for text in turn.alternatives}
        return "unclear" if meaning in ("yes", "named") and "no" in others else meaning

    def _again(self, question: _PutConfirmation, meaning: Meaning) -> str:
        """Return what must be asked before this answer counts; "" when it does."""
        ask = question.pending.ask
        if meaning == "no":
            return ""
        if not question.heard:
            return ask.sentence
        if meaning == "unclear":
            return self.wording.says("unclear")
        return self.wording.says("name_it", ask.tool) if (meaning, ask.level) == ("yes", "explicit") else ""

    def _last_put(self, agent: str, turn: Turn) -> _PutConfirmation | None:
        """Return what this agent asked this person last, if their words may be the answer."""
        return next(
            (one for one in self._put.values() if one.agent == agent and one.awaits_words and _is_put_to(turn, one)),
            None,
        )

    def _forget(self, agent: str) -> None:
        """Forget what is too old to be answered even late, and the oldest of too many."""
        since = self.now() - LATE_SECONDS
        self._put = {ask_id: one for ask_id, one in self._put.items() if one.expires_at > since}
        its_own = [ask_id for ask_id, one in self._put.items() if one.agent == agent]
        for ask_id in its_own[: max(0, len(its_own) - MOST_PUT + 1)]:
            del self._put[ask_id]

    def _too_late(self, meaning: Meaning, late: float) -> str | None:
        if not meaning or late > LATE_SECONDS:
            return None
        return self.refused if meaning == "no" else self.wording.says("too_late")

    def _answer(self, question: _PutConfirmation, turn: Turn, meaning: Meaning) -> SettledConfirmation:
        assert turn.channel is not None, "an answer that nobody gave"
        call, ask, yes = question.pending.call, question.pending.ask, meaning != "no"
        statement = self.seal.statement(ask, turn.actor, turn.channel, self.now(), yes=yes, explicit=meaning == "named")
        reply = "" if yes else self.refused
        return SettledConfirmation(replace(call, id=fresh_id("call")), SignedAnswer(ask.id, statement, yes), reply)

    def _taken_back(self, question: _PutConfirmation, reply: str = "") -> SettledConfirmation | None:
        """Return what closes, at the tool server, a question that nobody will answer any more."""
        if question.expires_at <= self.now():
            return None
        return SettledConfirmation(question.pending.call, SignedAnswer(question.pending.ask.id, yes=False), reply)

    def _may_answer(self, viewer: Actor, one: WaitingConfirmation) -> bool:
        if (viewer.person, viewer.device) == (one.actor.person, one.actor.device):
            return True
        return may(viewer.role, "assent") and self.may_talk(viewer, one.agent)


def _is_put_to(turn: Turn, question: _PutConfirmation) -> bool:
    return (question.turn.actor, question.turn.remembered) == (turn.actor, turn.remembered)


def _goes_on(turn: Turn, question: _PutConfirmation) -> bool:
    """Tell whether a turn comes after the question. A client that keeps the conversation itself may have several."""
    if turn.remembered:
        return True
    last = turn.history[-1] if turn.history else None
    return last is not None and last.author == "assistant" and _letters(last.text).endswith(_letters(question.sentence))


def _waiting(row: Mapping[str, Any]) -> WaitingConfirmation:
    """Return a row of `asks.waiting`."""
    actor = row["actor"]
    return WaitingConfirmation(
        ConfirmationRequest(
            *(row[key] for key in ("id", "sentence", "level", "expires_at", "tool", "arguments_sha256"))
        ),
        row["agent"],
        Actor(*(actor[key] for key in ("person", "device", "role", "room"))),
    )


def _plain(text: str) -> str:
    """Return small letters, single spaces, and no marks but apostrophes."""
    return " ".join(re.sub(r"[^\w' ]+", " ", text.replace("’", "'").lower()).split())


def _letters(text: str) -> str:
    return "".join(text.split())
