"""A person's yes: what was asked of whom, whether their next words answer it, and the house's signature under that.

A yes never comes from a model, from what was said before, or from a tool. It is the whole of what the person who was
asked says next, on the device on which they were asked; or a button, pressed by somebody who may. The tool server
holds the public half of the key, so a yes that was not signed here is none, and each is good once.
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

from atlas.conversation import HOUSE, Actor, Ask, Asked, Assent, Channel, ToolCall, Turn, fresh_id
from atlas.errors import ConfigError, EngineError, RequestError
from atlas.mcp.tools import Tools

ANSWERS = Path(__file__).parent / "answers"
AUDIENCE = "atlas-tools"
STATEMENT_SECONDS = 30  # it is used at once, but a tool server that starts again takes a few seconds
OPEN_SECONDS = 60.0  # no question is open for longer, whatever the tool server says
LATE_SECONDS = 300.0  # a "yes" that comes later still is about something else
MOST_OPEN = 64  # of one agent; a household has one or two
NAME_CHARACTERS = 100
LONGEST_CHARACTERS = 80  # a longer answer is none

GROWN_UPS = ("owner", "adult")
_ASKED = re.compile(r"[?？][\s\"'”’)]*$")  # "Yes?" asks what was meant

Meaning = Literal["yes", "named", "no", "unclear", ""]  # "named": a yes that names the deed; "": no answer at all
Answered = tuple[ToolCall, Assent]  # the call that waited, and what was answered


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that nobody has answered yet, whoever asked for it."""

    ask: Ask
    agent: str
    actor: Actor


class Seal:
    """The house's own key. Nothing else in Atlas can sign, and this signs nothing but answers."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key

    def statement(self, ask: Ask, by: Actor, channel: Channel, now: float, *, yes: bool, explicit: bool = False) -> str:
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


class Wording:
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


def open_wording(language: str) -> Wording:
    """Return how a language answers. Raises `ConfigError` when nobody has written it down."""
    path = ANSWERS / f"{language}.yaml"
    if not language.isalpha() or not path.is_file():
        known = ", ".join(sorted(file.stem for file in ANSWERS.glob("*.yaml")))
        raise ConfigError(f"nobody told me yes and no in the language {language!r}", hint=f"house.language is {known}")
    return Wording(yaml.safe_load(path.read_text(encoding="utf-8")))


# ── the questions ──────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, eq=False)
class _Question:
    """What one person on one device was asked on behalf of one agent."""

    agent: str
    asked: Asked
    expires_at: float
    turn: Turn  # in which it was put last
    said: str  # how it was put last
    heard: bool = True  # to its end, and nothing after it
    patience: int = 1  # so often more may the answer be something else than it must be


@dataclass(frozen=True, slots=True)
class _Press:
    question: _Question
    by: Actor
    yes: bool


@dataclass(eq=False)
class Assents:
    """The questions that wait for a person; at most one for each person, device and agent.

    `tools` is the house's own connection to the tool server. Nothing awaits between taking a question and answering
    it, so none is answered twice.
    """

    seal: Seal
    wording: Wording
    tools: Tools
    may_talk: Callable[[Actor, str], bool]  # does this agent talk to this actor?
    now: Callable[[], float] = time.time
    _open: dict[tuple[str, Actor, bool], _Question] = field(default_factory=dict)
    _pressed: dict[str, _Press] = field(default_factory=dict)  # by the turn that will answer them
    _dropped: list[_Question] = field(default_factory=list)  # that the tool server still waits for

    @property
    def refused(self) -> str:
        """What is said to a no."""
        return self.wording.says("refused")

    def keep(self, agent: str, turn: Turn, asked: Asked) -> None:
        """Wait for the answer to what was asked in `turn`; an older question to the same person is dropped."""
        key = agent, turn.actor, turn.remembered
        if (older := self._open.get(key)) and older.asked.ask.id == asked.ask.id:
            del self._open[key]  # the same, asked once more: it is not taken back
        its_own = [open_key for open_key in self._open if open_key[0] == agent]
        for old in [key, *its_own[: max(0, len(its_own) - MOST_OPEN + 1)]]:
            self._drop(old)
        expires_at = min(asked.ask.expires_at, self.now() + OPEN_SECONDS)
        self._open[key] = _Question(agent, asked, expires_at, turn, asked.ask.sentence)

    def was_heard(self, turn_id: str, heard: str) -> None:
        """Note how much of a spoken reply was heard: who was spoken over has not heard what they would say yes to."""
        for question in self._open.values():
            if question.turn.id == turn_id:
                question.heard &= _letters(question.said) in _letters(heard)  # what was not heard stays so

    def said_in_between(self, device: str) -> None:
        """Note that a bell rang on a device: the next yes may be to that, so what was asked there is asked again."""
        for question in self._open.values():
            question.heard &= question.turn.actor.device != device

    def asker(self, turn: Turn) -> str:
        """Return the agent whose question `turn` answers; "" when it answers none that was the last thing asked."""
        for (agent, actor, remembered), question in self._open.items():
            put_to_them = (actor, remembered) == (turn.actor, turn.remembered) and _goes_on(turn, question)
            waits = question.heard and self.now() < question.expires_at
            if put_to_them and waits and self._meaning(turn, question.asked.ask.tool):
                return agent
        return ""

    def hear(self, agent: str, turn: Turn) -> Answered | str | None:
        """Return what an answer leads to: the call and its assent, or what to say to it; `None` for other words."""
        for (other, actor, _), one in self._open.items():
            one.heard &= other == agent or actor != turn.actor  # the next yes may be to what this agent says now
        if press := self._pressed.pop(turn.id, None):
            return self._answered(press.question, press.by, turn.channel, yes=press.yes, explicit=press.yes)
        key = agent, turn.actor, turn.remembered
        question = self._open.get(key)
        if question is None or not _goes_on(turn, question):
            return None
        tool, late = question.asked.ask.tool, self.now() - question.expires_at
        meaning = self._meaning(turn, tool)
        if not meaning or late > LATE_SECONDS:
            self._drop(key)
            return None
        if late >= 0:
            self._drop(key)
            return self.refused if meaning == "no" else self.wording.says("too_late")
        if again := self._again(question, meaning):
            if not question.patience:
                self._drop(key)
                return self.wording.says("given_up")
            question.turn, question.said, question.heard = turn, again, True
            question.patience -= again != question.asked.ask.sentence
            return again
        del self._open[key]
        return self._answered(question, turn.actor, turn.channel, yes=meaning != "no", explicit=meaning == "named")

    def unasked(self, turn: Turn) -> str:
        """Return what to say to an answer that no question waits for; "" when the turn is none, or nobody's."""
        if turn.channel is None:
            return ""
        if self.wording.is_taken_note(turn.text):
            return self.wording.says("noted")
        return self.wording.says("nothing_open") if self.wording.means(turn.text, "") else ""

    def dropped(self, agent: str) -> list[tuple[Turn, Asked]]:
        """Return, once, the questions of `agent` that the tool server still waits for and nobody will answer."""
        gone = [question for question in self._dropped if question.agent == agent]
        self._dropped = [question for question in self._dropped if question.agent != agent]
        return [(question.turn, question.asked) for question in gone if question.expires_at > self.now()]

    async def waiting(self, viewer: Actor) -> list[Waiting]:
        """Return the questions that `viewer` may answer: an adult everybody's of their agents, others their own.

        Raises `EngineError` when the tool server cannot be asked.
        """
        result = await self.tools.call(ToolCall(fresh_id("call"), "asks.waiting", {}), HOUSE, "")
        if not result.ok:
            raise EngineError(f"asks.waiting: {result.text}", spoken=result.text)
        found = [_waiting(row) for row in result.data.get("asks", ())]
        return [one for one in found if self._may_answer(viewer, one)]

    async def answer(self, ask_id: str, by: Actor, channel: Channel, *, yes: bool) -> Turn | str:
        """Take an answer that was pressed. Return the turn that will act on it, or, when somebody else asked, a word.

        Raises `RequestError` when that question does not wait, or not for this person.
        """
        found = next((one for one in await self.waiting(by) if one.ask.id == ask_id), None)
        if found is None:
            raise RequestError(
                "that question is not waiting: it was answered, or it is too old",
                code="not_found",
                hint="ask for what you wanted again",
            )
        key = next((key for key, question in self._open.items() if question.asked.ask.id == ask_id), None)
        if key is None:  # a program of its own asked, and will call again
            statement = self.seal.statement(found.ask, by, channel, self.now(), yes=yes, explicit=True)
            call = ToolCall(fresh_id("call"), "asks.answer", {"statement": statement})
            result = await self.tools.call(call, HOUSE, "")
            if not result.ok:
                raise RequestError(result.text.rstrip("."), code="not_found")
            return result.text
        question = self._open.pop(key)
        turn = Turn(
            *(fresh_id("turn"), "Yes." if yes else "No.", question.turn.actor, self.now()),
            channel=channel,
            agent=question.agent,
            remembered=question.turn.remembered,
        )
        self._pressed[turn.id] = _Press(question, by, yes)
        return turn

    def _meaning(self, turn: Turn, tool: str) -> Meaning:
        """Return what the person meant. A yes that may also have been a no is none, and so is what nobody said."""
        if turn.channel is None:
            return ""
        meaning = self.wording.means(turn.text, tool)
        others = {self.wording.means(text, tool) for text in turn.alternatives}
        return "unclear" if meaning in ("yes", "named") and "no" in others else meaning

    def _again(self, question: _Question, meaning: Meaning) -> str:
        """Return what must be asked before this answer counts; "" when it does."""
        ask = question.asked.ask
        if meaning == "no":
            return ""
        if not question.heard:
            return ask.sentence
        if meaning == "unclear":
            return self.wording.says("unclear")
        return self.wording.says("name_it", ask.tool) if (meaning, ask.level) == ("yes", "explicit") else ""

    def _answered(
        self, question: _Question, by: Actor, channel: Channel | None, *, yes: bool, explicit: bool
    ) -> Answered:
        assert channel is not None, "an answer that nobody gave"
        call, ask = question.asked.call, question.asked.ask
        statement = self.seal.statement(ask, by, channel, self.now(), yes=yes, explicit=yes and explicit)
        return replace(call, id=fresh_id("call")), Assent(ask.id, statement, yes)

    def _drop(self, key: tuple[str, Actor, bool]) -> None:
        if question := self._open.pop(key, None):
            self._dropped.append(question)

    def _may_answer(self, viewer: Actor, one: Waiting) -> bool:
        if (viewer.person, viewer.device) == (one.actor.person, one.actor.device):
            return True
        return viewer.role in GROWN_UPS and self.may_talk(viewer, one.agent)


def _goes_on(turn: Turn, question: _Question) -> bool:
    """Tell whether a turn comes after the question. A client that keeps the conversation itself may have several."""
    if turn.remembered:
        return True
    last = turn.history[-1] if turn.history else None
    return last is not None and last.author == "assistant" and _letters(last.text).endswith(_letters(question.said))


def _waiting(row: Mapping[str, Any]) -> Waiting:
    """Return a row of `asks.waiting`."""
    actor = row["actor"]
    return Waiting(
        Ask(*(row[key] for key in ("id", "sentence", "level", "expires_at", "tool", "arguments_sha256"))),
        row["agent"],
        Actor(*(actor[key] for key in ("person", "device", "role", "room"))),
    )


def _plain(text: str) -> str:
    """Return small letters, single spaces, and no marks but apostrophes."""
    return " ".join(re.sub(r"[^\w' ]+", " ", text.replace("’", "'").lower()).split())


def _letters(text: str) -> str:
    return "".join(text.split())
