"""Keeps the open questions, knows the house's signature, and accepts a person's yes to exactly one call, once.

The caller is a model or speaks for one, so nothing it says is a yes. A yes is a *statement*: a JWT that the house signs
once a person has answered over a channel of their own (a button, or a spoken yes to the sentence read aloud). It names
the question, the tool, the arguments and the sentence, so it fits one deed only; and this process holds the public half
of the key, so it can check a yes and never make one.

This is the only place that knows which questions are open. For one deed (agent, actor, tool and arguments) there is one
question at most:

    from       to         caused by                                                                 where
    --------   --------   -----------------------------------------------------------------------   ----------
    (none)     open       a call that the rules want a person's yes to                              `_ask`
    open       answered   a statement: the house brings it by itself (`hear`), or the call does     `_take`
    answered   gone       the next call of the deed, which is done at a yes and refused at a no     `_settled`
    open       gone       its caller declines: the deed is refused, and a later statement too       `_settled`
    answered   gone       its caller declines: a person's yes does not bind who no longer wants it  `_settled`
    either     (new one)  the sentence would be another now, or a stricter yes is needed            `_settled`
    answered   gone       its minute is over                                                        `_open`
    open       unanswered its minute is over: it can be answered no more, and is told for a week    `unanswered`
    unanswered gone       the deed is asked about anew, or the week is over                         `_forget`
    any        gone       the clock stands before it was asked                                      `_open`

Sentences are compared in the language of the question, for who presses may have a page of another. A no needs no such
care as a yes: it counts also where the sentence has changed since. A statement that comes with the call is taken and
used up in one step; one that comes by itself waits as "answered" for the call, while its minute lasts. Whoever answers
second, by whatever way, is refused: of a yes and a no that cross, the one that arrives first counts, and the other is
told so. A caller can cause no answer but its own withdrawal: what it says is compared with the signature, and a
question survives everything that is not an answer to it.

Questions are rows of tools.db, for whoever started a server of its own over stdio asks there, and the person answers at
the house's: all processes of one house know the same questions, and the first answer to one is the last. Each
transition is one transaction without an await inside; it is on the disk before anybody is told of it, and a yes is used
up before the deed begins. So a crash can cost a yes, which is then asked for again, and never spend one twice.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pydantic import TypeAdapter

from tools_server.sdk.confirmation import Confirmation, ConfirmationLevel, ConfirmedCall, PersonAnswer
from tools_server.sdk.state import ToolsDatabase
from tools_server.sdk.toolkit import Error, ToolFailed, ToolSpec
from tools_server.sdk.wording import one_line
from tools_server.values.language import in_context
from tools_server.values.language import text as _
from tools_server.values.policy import CallActor
from wall.meta import ANSWER_AUDIENCE
from wall.roles import NOBODY

OPEN_SECONDS = 60.0  # a yes to what was read aloud a minute ago is a yes to something half forgotten
MOST_OPEN = 32  # of one agent; a household is asked one thing at a time …
MOST_OPEN_OF_CALLER = 8  # … and so is everybody in it; all guests count as one
UNANSWERED_SECONDS = 7 * 86_400.0  # that people may see what they were asked while they were out
MOST_UNANSWERED = 50  # of these, the latest
SENTENCE_CHARACTERS = 1_000
ARGUMENT_CHARACTERS = 200  # of one text in a question, that the person's own words gave
_MARKS = '“”„‟"«»‹›'
_JOINERS = "\u200c\u200d"  # they join and part letters of names, and families of pictures
STATEMENT_CHARACTERS = 1_998  # two names of a hundred characters and the rest fit twice
STATEMENT_SECONDS = 120.0  # no statement may live longer than this, whatever it says
SKEW_SECONDS = 5.0  # the house may run on a machine whose clock is a little ahead
END_OF_TIME = 1e12  # seconds since 1970: a number of a thousand digits is no time
NAME_CHARACTERS = 100
CHANNELS = ("voice", "chat", "button", "terminal")
PLAIN_CHANNELS = ("button", "terminal")  # where pressing is itself the explicit word

Action = Literal["", "accept", "decline", "cancel"]


class AnswerRefused(ToolFailed):
    """What was brought is no yes to this. `reason` is for the record, `str()` says what would be one."""

    def __init__(self, reason: str, sentence: str, error: Error = "confirm") -> None:
        super().__init__(error, sentence, reason=reason)


@dataclass(frozen=True, slots=True)
class ConfirmationReply:
    """What a retried call brings along: `request_state`, and the response to the elicitation "confirm"."""

    state: str = ""
    action: Action = ""  # "" when it brings no response
    statement: str = ""


NO_REPLY = ConfirmationReply()
_STORED = TypeAdapter(Confirmation)  # as its row has it


class Confirmations:
    """The open questions: at most one for a deed.

    Nothing in here awaits, and what reads a question and changes it is one transaction: nothing slips in between.
    Methods that change one raise `sqlite3.Error` when the disk does not take it.
    """

    def __init__(self, house_key: Ed25519PublicKey | None, now: Callable[[], float], state: ToolsDatabase) -> None:
        self._key = house_key
        self._now = now
        self._state = state

    @property
    def answerable(self) -> bool:
        """Whether there is a key to know a yes by."""
        return self._key is not None

    def waiting(self) -> list[Confirmation]:
        """Return the questions that nobody has answered, the oldest first."""
        return [ask for ask in self._open() if ask.answer is None]

    def unanswered(self) -> list[Confirmation]:
        """Return the questions of the last week whose minute went by and nobody answered, the latest first."""
        over = "SELECT ask FROM asks WHERE ? < asked_at AND expires_at <= ? ORDER BY rowid DESC"
        now = self._now()
        asks = [_STORED.validate_json(row["ask"]) for row in self._state.rows(over, now - UNANSWERED_SECONDS, now)]
        return [ask for ask in asks if ask.answer is None][:MOST_UNANSWERED]

    def about(self, deed: ConfirmedCall) -> Confirmation | None:
        """Return the question about a deed that is not closed, if there is one."""
        return next((ask for ask in self._open() if ask.deed == deed), None)

    def language(self, deed: ConfirmedCall, reply: ConfirmationReply) -> str:
        """Return in which language the question was put that is answered here; "" when none is."""
        ask = self.about(deed)
        return ask.language if ask and (ask.answer or reply.action) else ""

    def settle(
        self,
        deed: ConfirmedCall,
        level: ConfirmationLevel,
        sentence: str,
        reply: ConfirmationReply,
        *,
        tainted: bool = False,
        language: str = "",
    ) -> PersonAnswer | Confirmation:
        """Return what a person has answered to this deed, which is used up by that, or the question that waits.

        `sentence` is what would happen now, in `language`: when it is not what was asked, or a stricter level is
        needed, the old question is closed and a new one stands in its place; a no needs no such care. Raises
        `AnswerRefused`; a question survives that, for whatever is not a person's answer answers nothing.
        """
        with self._state.transaction():
            result = self._settled(deed, level, sentence, reply)
            return result or self._ask(deed, level, sentence, tainted=tainted, language=language)

    def _settled(
        self, deed: ConfirmedCall, level: ConfirmationLevel, sentence: str, reply: ConfirmationReply
    ) -> PersonAnswer | Confirmation | None:
        """Return the answer, or the question that waits; None when it must be asked, anew or for the first time."""
        ask = self.about(deed)
        if reply.action and (ask is None or ask.id != reply.state):
            raise AnswerRefused(
                "closed", _("That question is closed: it was answered, or it is too old. Ask me again.")
            )
        if ask is None:
            return None
        answer = self._answered(ask, reply)
        if (answer is None or answer.answer == "yes") and _asks_otherwise(ask, level, sentence):
            self._close(ask)
            return None
        if answer is None:
            return ask
        self._close(ask)
        return answer

    def _answered(self, ask: Confirmation, reply: ConfirmationReply) -> PersonAnswer | None:
        """Return the answer that a call of the deed finds or brings. Raises `AnswerRefused`."""
        if reply.action in ("decline", "cancel"):  # the caller leaves it, whatever a person has said
            return ask.answer if ask.answer and ask.answer.answer == "no" else PersonAnswer(ask.id, "no", "client")
        if reply.statement:
            return self._take(self._read(reply.statement), ask).answer
        if reply.action and ask.answer is None:
            raise AnswerRefused(
                "nobody", _("Nobody has said yes to that yet. Only a person in the house can, not the one who asks.")
            )
        return ask.answer

    def hear(self, statement: str) -> Confirmation:
        """Take an answer that came by itself; the next call of the asked deed uses it up. Return its question.

        Raises `AnswerRefused`.
        """
        claims = self._read(statement)
        with self._state.transaction():
            return self._heard(claims)

    def _heard(self, claims: Mapping[str, Any]) -> Confirmation:
        ask = next((ask for ask in self._open() if ask.id == claims["ask"]), None)
        if ask is None:
            raise AnswerRefused("closed", _("That question is closed: it was answered, or it is too old."))
        return self._take(claims, ask)

    def _take(self, claims: Mapping[str, Any], ask: Confirmation) -> Confirmation:
        """Make an open question an answered one: the one place where that happens. Raises `AnswerRefused`."""
        answer = self._checked(claims, ask)
        if ask.answer:
            raise AnswerRefused("closed", _("That question was answered already."))
        answered = replace(ask, answer=answer)
        self._keep(answered)
        return answered

    def _ask(
        self, deed: ConfirmedCall, level: ConfirmationLevel, sentence: str, *, tainted: bool, language: str
    ) -> Confirmation:
        of_agent = [ask for ask in self._open() if ask.deed.agent == deed.agent]
        of_caller = [ask for ask in of_agent if _caller(ask.deed.actor) == _caller(deed.actor)]
        if len(of_agent) >= MOST_OPEN or len(of_caller) >= MOST_OPEN_OF_CALLER:
            raise AnswerRefused(
                "many", _("Too many questions are waiting for an answer. Ask me again in a minute."), "failed"
            )
        now = self._now()
        ask = Confirmation(
            secrets.token_hex(16), deed, level, sentence, now, now + OPEN_SECONDS, tainted, language=language
        )
        self._forget(deed)
        self._keep(ask)
        return ask

    def _forget(self, deed: ConfirmedCall) -> None:
        """Delete what is closed and need not be told, such as an older question about a deed that is asked anew."""
        ids = [ask.id for ask in (*self._open(), *self.unanswered()) if ask.deed != deed]
        self._state.run("DELETE FROM asks WHERE id NOT IN (SELECT value FROM json_each(?))", json.dumps(ids))

    # ── rows ───────────────────────────────────────────────────────────────────────────────────────

    def _open(self) -> list[Confirmation]:
        """Return what is not closed, the oldest first."""
        # A clock that was set back must not make a question live longer, so one from the future is gone too.
        still = "SELECT ask FROM asks WHERE asked_at <= ? AND ? < expires_at ORDER BY rowid"
        now = self._now()
        return [_STORED.validate_json(row["ask"]) for row in self._state.rows(still, now, now)]

    def _keep(self, ask: Confirmation) -> None:
        keep = "INSERT INTO asks VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET ask = excluded.ask"
        self._state.run(keep, ask.id, ask.asked_at, ask.expires_at, _STORED.dump_json(ask, by_alias=True).decode())

    def _close(self, ask: Confirmation) -> None:
        self._state.run("DELETE FROM asks WHERE id = ?", ask.id)

    # ── statements ─────────────────────────────────────────────────────────────────────────────────

    def _read(self, statement: str) -> Mapping[str, Any]:
        """Return what the house has signed, just now, for this server. Raises `AnswerRefused`."""
        if self._key is None:
            raise AnswerRefused("no_key", _("I have no key to know a person's yes by, so I can't take one."))
        if len(statement) > STATEMENT_CHARACTERS:
            raise AnswerRefused("forged", _("That yes is too long to be one."))
        try:
            # The times are compared below, on this server's own clock.
            claims: Mapping[str, Any] = jwt.decode(
                statement,
                self._key,
                algorithms=["EdDSA"],  # and no other: neither "none" nor the public key taken for a shared secret
                audience=ANSWER_AUDIENCE,
                options={"verify_exp": False, "verify_iat": False, "verify_nbf": False},
            )
        # ValueError: half a character; RecursionError: JSON a thousand brackets deep, read before the signature is.
        except (jwt.InvalidTokenError, ValueError, RecursionError) as wrong:
            raise AnswerRefused("forged", _("That yes is not signed by this house for me.")) from wrong
        texts = ("ask", "answer", "channel", "person", "device", "tool", "arguments_sha256", "sentence_sha256")
        known = all(isinstance(claims.get(name), str) for name in texts)
        if not known or claims["answer"] not in ("yes", "no") or claims["channel"] not in CHANNELS:
            raise AnswerRefused("forged", _("That yes does not say who said it to what."))
        if max(len(claims["person"]), len(claims["device"])) > NAME_CHARACTERS:
            raise AnswerRefused("forged", _("That yes does not say who said it in a name that I can keep."))
        begin, end, now = _seconds(claims.get("iat")), _seconds(claims.get("exp")), self._now()
        if not (end - begin <= STATEMENT_SECONDS and begin <= now + SKEW_SECONDS):
            raise AnswerRefused("forged", _("That yes does not say when it was said."))
        if not now < end:
            raise AnswerRefused("late", _("That yes came too late. Ask me again."))
        return claims

    def _checked(self, claims: Mapping[str, Any], ask: Confirmation) -> PersonAnswer:
        """Return the answer when it is one to this question. Raises `AnswerRefused`."""
        requests = (ask.id, ask.deed.tool, ask.deed.arguments_sha256, sha256(ask.sentence))
        if requests != (claims["ask"], claims["tool"], claims["arguments_sha256"], claims["sentence_sha256"]):
            raise AnswerRefused("other", _("That yes was said to something else."))
        plain = claims["channel"] in PLAIN_CHANNELS or claims.get("explicit") is True
        if claims["answer"] == "yes" and ask.level == "explicit" and not plain:
            raise AnswerRefused(
                "explicit", _("A yes is not enough for that: press the button, or say exactly what is to be done.")
            )
        return PersonAnswer(ask.id, claims["answer"], claims["channel"], claims["person"], claims["device"])


def _caller(actor: CallActor) -> str:
    """Return by whom a question is counted; guests come and go, and their devices' names are many."""
    return NOBODY if actor.role == NOBODY else actor.person or actor.device


def _asks_otherwise(ask: Confirmation, level: ConfirmationLevel, sentence: str) -> bool:
    """Tell whether a question would be put differently now: in other words, or more strictly."""
    return ask.sentence != sentence or (level == "explicit" and ask.level != level)


def question(spec: ToolSpec, arguments: Mapping[str, Any], *, whole: bool = False) -> str:
    """Return what to ask before a tool that has no words of its own for it: what it does, and with what.

    Each text stands between marks that nothing in it can close, so none can say the end of the question or another
    argument. One that is too long to listen to is cut, and it is said by how much; `whole` where a stranger may have
    written it: then it is read out to its end, or is too long to be asked about.
    """
    does = spec.description.splitlines()[0].split(". ")[0].rstrip(".")
    usual = {name: about.get("default") for name, about in spec.schema["properties"].items()}
    given = [
        f"{name.replace('_', ' ')} {_read_out(value, whole=whole)}"
        for name, value in arguments.items()
        if value not in ("", [], None) and (value != usual.get(name) or type(value) is not type(usual.get(name)))
    ]
    return _("{does}{how}: shall I?").format(does=does, how=_(", with ") + ", ".join(given) if given else "")


def whole_question(sentence: str) -> str:
    """Return a question as it is put: without anything that cannot be seen, or that turns its order round on a screen.

    Raises `ToolFailed` when it is longer than one may be: a person says yes to what they heard, to all of it.
    """
    sentence = one_line(sentence)
    if len(sentence) > SENTENCE_CHARACTERS:
        raise ToolFailed(
            "denied", _("That is too much to ask about at once. Do it in smaller parts."), reason="too_long"
        )
    return sentence


def _read_out(value: Any, *, whole: bool) -> str:
    match value:
        case bool():
            return in_context("answer", "yes") if value else in_context("answer", "no")
        case int() | float():
            return str(value)
        case list():
            return ", ".join(_read_out(item, whole=whole) for item in value)
    text = " ".join("".join(map(_visible, str(value))).split())
    more = 0 if whole or len(text) <= ARGUMENT_CHARACTERS else len(text) - ARGUMENT_CHARACTERS
    return (
        _("“{rstrip}” … and {more:,} more characters").format(rstrip=text[:ARGUMENT_CHARACTERS].rstrip(), more=more)
        if more
        else f"“{text}”"
    )


def _visible(character: str) -> str:
    """Return a character as it is read out: none is a mark of ours, and none works unseen."""
    if character in _MARKS:
        return "'"
    unseen = not character.isspace() and not character.isprintable() and character not in _JOINERS
    return f"‹U+{ord(character):04X}›" if unseen else character


def _seconds(value: Any) -> float:
    """Return a moment; what is none, or lies beyond all calendars, becomes one that no comparison holds for."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and abs(value) < END_OF_TIME else math.nan


def sha256(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_house_key(file: Path) -> Ed25519PublicKey:
    """Return the key that statements are checked with. Raises OSError, or ValueError with a sentence."""
    try:
        key = load_pem_public_key(file.read_bytes())
    except (ValueError, UnsupportedAlgorithm) as wrong:
        raise ValueError(f"{file} is not a public key in PEM.") from wrong
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError(  # noqa: TRY004 — the file is wrong, not the caller
            f"{file} is a public key of another kind; it must be Ed25519."
        )
    return key
