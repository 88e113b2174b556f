"""A person's yes: what was asked of whom, whether their next words answer it, and the house's signature under that.

A yes never comes from a model, from what was said before, or from a tool. It is the whole of what the person who was
asked says next, on the device on which they were asked; or a button, pressed by somebody who may. The tool server
holds the public half of the key, so a yes that was not signed here is none, and each is good once.

Which questions are open, and how they were answered, only the tool server knows (`tools_server/gate/confirmations.py`
has the states of a question). Here is only what was put to whom, in which words, and whether it was heard: that is what
makes the next words an answer. What was put to somebody

    awaits words     from `put` on, and again when it had to be put once more (not heard, not clear, not named,
                     or asked to hear it again)
    is not heard     when they spoke over it, a bell rang there, or another agent was spoken to: then it is put again
    awaits no more   once words were taken for its answer, or a button was pressed, or a newer question came; what is
                     neither yes nor no is heard as a new request, and the question is taken back

and is nobody's five minutes after its end: until then a yes is told that it came too late, as is who wishes to hear
the question again; that they wish so costs no patience before. Where a deed must be
named, a yes that does not name it is none; a no always counts, heard or not, named or not.

Nothing of this is durable. After a restart of the house no words are an answer any more. A question that is still open
at the tool server can be answered by a button or in the terminal, since `waiting` and `answer` ask there; its deed is
done when somebody asks for it again within the minute.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
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
from atlas.own_words import language as spoken_language
from wall.chain import Head
from wall.meta import HEAD_AUDIENCE
from wall.roles import may
from wall.statements import answer_claims

ANSWERS = Path(__file__).parent / "answers"
OPEN_SECONDS = 60.0  # no question is open for longer, whatever the tool server says
LATE_SECONDS = 300.0  # a "yes" that comes later still is about something else
MOST_PUT = 64  # of one agent; a household has one or two, and the tool server has fewer open
NAME_CHARACTERS = 100
LONGEST_CHARACTERS = 80  # a longer answer is none

_ASKED = re.compile(r"[?？][\s\"'”’)]*$")  # "Yes?" asks what was meant

# "named": a yes that names the deed; "again": who asks to hear the question once more; "": no answer at all
Meaning = Literal["yes", "named", "no", "unclear", "again", ""]


@dataclass(frozen=True, slots=True)
class WaitingConfirmation:
    """A question that nobody has answered yet, whoever asked for it."""

    ask: ConfirmationRequest
    agent: str
    actor: Actor


@dataclass(frozen=True, slots=True)
class MissedConfirmation:
    """A question whose minute went by, and nobody answered."""

    id: str
    sentence: str
    asked_at: float  # wall clock, seconds since 1970
    agent: str
    actor: Actor


class HouseKey:
    """The house's own key. Nothing else in Atlas can sign, and this signs answers and how far the record goes."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    def statement(
        self, ask: ConfirmationRequest, by: Actor, channel: Channel, now: float, *, yes: bool, explicit: bool = False
    ) -> str:
        """Return a JWT that says who answered what, good for half a minute."""
        claims = answer_claims(
            (ask.id, ask.tool, ask.arguments_sha256, ask.sentence),
            yes=yes,
            channel=channel,
            person=by.person[:NAME_CHARACTERS],
            device=by.device[:NAME_CHARACTERS],
            now=now,
        )
        claims |= {"explicit": True} if explicit else {}
        return jwt.encode(claims, self._key, algorithm="EdDSA")

    def signed_head(self, head: Head, now: float, audience: str = HEAD_AUDIENCE) -> str:
        """Return a JWT that says how far a record went at a moment; the audience says which."""
        claims = {"aud": audience, "seq": head.seq, "hash": head.hash, "iat": int(now)}
        return jwt.encode(claims, self._key, algorithm="EdDSA")

    def read_head(self, file: Path, audience: str = HEAD_AUDIENCE) -> Head | None:
        """Return how far the record went when this key signed it last; None when it never did, or somebody else did."""
        try:
            token = file.read_text(encoding="ascii").strip()
            claims = jwt.decode(token, self._key.public_key(), ["EdDSA"], {"verify_iat": False}, audience=audience)
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
        self._vague: str = table.get("vague", "(?!)")
        self._cancel = table["cancel"]
        self._noted = rf"(?:{table['noted']})(?: (?:{table['noted']}|{ignored}))*"
        self._everyday = frozenset(map(_plain, table["everyday"]))
        self._again = rf"(?:{table['again']})"
        self._again_if_asked = rf"(?:{table['again_if_asked']})"
        self._deeds: Mapping[str, Sequence[str]] = table["deeds"]
        self._deed: Sequence[str] = table["deed"]
        self._says: Mapping[str, str] = table["says"]

    def means(self, text: str, tool: str) -> Meaning:
        """Return what `text` answers to the question whether `tool` should be used."""
        if len(text) > LONGEST_CHARACTERS:
            return ""
        if self.asks_again(text):
            return "again"
        words = _plain(text)
        meaning = self._means(words, tool) or self._means(self._ends.sub("", words), tool)
        return "unclear" if _ASKED.search(text) and meaning in ("yes", "named") else meaning

    def is_taken_note(self, text: str) -> bool:
        """Tell whether `text` only shows that something was heard: "okay", "never mind"."""
        return len(text) <= LONGEST_CHARACTERS and bool(re.fullmatch(self._noted, _plain(text)))

    def is_everyday(self, text: str) -> bool:
        """Tell whether people say `text` all day to anybody: "hello", "thanks"."""
        return _plain(text) in self._everyday

    def asks_again(self, text: str) -> bool:
        """Tell whether somebody wishes to hear once more what was said last: "pardon?", "say that again"."""
        if len(text) > LONGEST_CHARACTERS:
            return False
        pattern = f"{self._again}|{self._again_if_asked}" if _ASKED.search(text) else self._again
        words = _plain(text)
        return any(re.fullmatch(pattern, one) for one in (words, self._ends.sub("", words)))

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
        if re.fullmatch(self._vague, words):
            return "unclear"
        return "yes" if re.fullmatch(self._yes, words) else ""

    def _deeds_of(self, tool: str) -> Sequence[str]:
        return self._deeds.get(tool.rpartition(".")[2], self._deed)


class HouseAnswers:
    """How yes and no are said in a house's languages: that of the turn is looked at first, and is spoken.

    A page may speak another language than the house: what was pressed there is answered in it.
    """

    def __init__(self, words: Mapping[str, AnswerWords], of_pages: Mapping[str, AnswerWords] | None = None) -> None:
        self._words = words
        self._of_pages = of_pages or {}

    def means(self, text: str, tool: str) -> Meaning:
        """See `AnswerWords.means`."""
        return next((meaning for one in self._in_order() if (meaning := one.means(text, tool))), "")

    def is_taken_note(self, text: str) -> bool:
        """See `AnswerWords.is_taken_note`."""
        return any(one.is_taken_note(text) for one in self._in_order())

    def is_everyday(self, text: str) -> bool:
        """See `AnswerWords.is_everyday`; in every language that is written down, for visitors speak others."""
        return any(one.is_everyday(text) for one in (*self._words.values(), *self._of_pages.values()))

    def asks_again(self, text: str) -> bool:
        """See `AnswerWords.asks_again`."""
        return any(one.asks_again(text) for one in self._in_order())

    def says(self, what: str, tool: str = "") -> str:
        """See `AnswerWords.says`."""
        return self._of_pages.get(spoken_language(), self._in_order()[0]).says(what, tool)

    def _in_order(self) -> list[AnswerWords]:
        spoken = spoken_language()
        return [self._words[one] for one in sorted(self._words, key=lambda one: one != spoken)]


def open_answers(languages: Sequence[str]) -> HouseAnswers:
    """Return how a house's languages answer. Raises `ConfigError` when nobody has written one of them down."""
    known = [file.stem for file in ANSWERS.glob("*.yaml")]
    return HouseAnswers(
        {language: open_wording(language) for language in languages}, {name: open_wording(name) for name in known}
    )


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


async def _not_gone(actor: Actor) -> bool:
    return False  # where nobody holds a token


@dataclass(eq=False)
class HouseConfirmations:
    """What was put to whom last, by person, device and agent, and what they answer.

    `tools` is the house's own connection to the tool server, which alone decides whose answer counts.
    """

    seal: HouseKey
    wording: AnswerWords | HouseAnswers
    tools: Tools
    may_talk: Callable[[Actor, str], bool]  # does this agent talk to this actor?
    gone: Callable[[Actor], Awaitable[bool]] = _not_gone  # was their token taken back, or has it ended?
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

    def said_in_between(self, device_key: str) -> None:
        """Note that a bell rang on a device: the next yes may be to that, so what was asked there is asked again."""
        for question in self._put.values():
            question.heard &= question.turn.actor.device_key != device_key

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
        costs = question.heard and meaning != "again"  # who could not hear it has answered nothing yet
        if again and (question.patience or not costs):
            question.turn, question.sentence, question.heard = turn, again, True
            question.patience -= costs
            return again
        question.awaits_words = False
        if late >= 0:
            return self._too_late(meaning, late)
        if again or not meaning:
            return self._taken_back(question, self.wording.says("given_up") if again else "")
        return self._answer(question, turn, meaning)

    def asks_again(self, text: str) -> bool:
        """See `AnswerWords.asks_again`."""
        return self.wording.asks_again(text)

    def once_more(self, turn: Turn) -> str:
        """Return what was said last, to who wishes to hear it again; "" to all other words, and to programs."""
        if turn.channel is None or not self.wording.asks_again(turn.text):
            return ""
        answers = [one.text for one in turn.history if one.author == "assistant" and one.text]
        return answers[-1] if answers else self.wording.says("nothing_said")

    def unasked(self, turn: Turn) -> str:
        """Return what to say to an answer that no question waits for; "" when the turn is none, or nobody's."""
        if turn.channel is None:
            return ""
        if self.wording.is_taken_note(turn.text):
            return self.wording.says("noted")
        return self.wording.says("nothing_open") if self.wording.means(turn.text, "") else ""

    async def waiting(self, viewer: Actor) -> list[WaitingConfirmation]:
        """Return the questions that `viewer` may answer: an adult everybody's of their agents, others their own.

        A question ends with the token on which it was asked. Raises `EngineError` when the tool server cannot be asked.
        """
        waitings = [_waiting(row) for row in (await self._asks(missed=False)).get("asks", ())]
        theirs = [one for one in waitings if self._may_answer(viewer, one.agent, one.actor)]
        return [one for one in theirs if not await self.gone(one.actor)]

    async def missed(self, viewer: Actor) -> list[MissedConfirmation]:
        """Return the questions of the last week that `viewer` might have answered, and nobody did, the latest first.

        Raises `EngineError` when the tool server cannot be asked.
        """
        questions = [_missed(row) for row in (await self._asks(missed=True)).get("missed", ())]
        return [one for one in questions if self._may_answer(viewer, one.agent, one.actor)]

    async def _asks(self, *, missed: bool) -> Mapping[str, Any]:
        arguments = {"missed": True} if missed else {}
        result = await self.tools.call(ToolCall(fresh_id("call"), "asks.waiting", arguments), HOUSE, "")
        if not result.ok:
            raise EngineError(f"asks.waiting: {result.text}", spoken=result.text)
        return result.data

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
            language=question.turn.language,
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
        if meaning == "again":
            return question.sentence
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
        if meaning == "again":  # nobody is read a question that no answer counts to any more
            return self.wording.says("too_late")
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

    def _may_answer(self, viewer: Actor, agent: str, asker: Actor) -> bool:
        if is_asker(viewer, asker):
            return True
        return may(viewer.role, "assent") and self.may_talk(viewer, agent)


def is_asker(viewer: Actor, asker: Actor) -> bool:
    """Tell whether somebody asked on this very device."""
    return (viewer.person, viewer.device_key) == (asker.person, asker.device_key)


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
    return WaitingConfirmation(
        ConfirmationRequest(
            *(row[key] for key in ("id", "sentence", "level", "expires_at", "tool", "arguments_sha256"))
        ),
        row["agent"],
        _asker(row),
    )


def _missed(row: Mapping[str, Any]) -> MissedConfirmation:
    """Return a row of `asks.waiting` that nobody answered."""
    return MissedConfirmation(row["id"], row["sentence"], row["asked_at"], row["agent"], _asker(row))


def _asker(row: Mapping[str, Any]) -> Actor:
    return Actor(**row["actor"])


def _plain(text: str) -> str:
    """Return small letters, single spaces, and no marks but apostrophes."""
    return " ".join(re.sub(r"[^\w' ]+", " ", text.replace("’", "'").lower()).split())


def _letters(text: str) -> str:
    return "".join(text.split())
