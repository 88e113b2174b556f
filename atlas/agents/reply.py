"""Collects one answer while it is made: what was said, done and spent; of deeds and of the house only tools speak."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from atlas.agents import prompt
from atlas.agents.agent import AgentAnswer
from atlas.conversation import Message, PendingConfirmation, Receipt, ToolCall, ToolResult, Turn, Usage
from atlas.events import Emit, End, TextDelta
from atlas.own_words import own

# A call written as words, as small models do: in a fence of any language, as an object with a name, between tags, as
# a line of a program that opens the message, or with the name that a tool has on the wire.
_CALL = re.compile(
    r"(?:```|~~~)\s*(?:\w+\s*)?[\[{]|<\|?/?(?:tool|function)"
    r"|[\[{]\s*[\"'](?:name|tool\w*|function|arguments|parameters)[\"']\s*:"
    r"|(?:(?:```|~~~)[^`~]*)?(?<!\w)[a-z]\w*?[a-z0-9]__[a-z]\w*"
)
_CALL_AT_THE_START = re.compile(r"\s*(?:[\[{]|\w+(?:\.\w+)*\((?:\w+\s*=|\)))")
_MAY_BECOME_CALL = re.compile(r"[`~\[{<]")
_LAST_WORD = re.compile(r"(?<!\w)[a-z]\w{0,63}\(?\Z")  # which may become the name of a tool
CALL_CHARACTERS = 40  # after which words that might become a call are none
UNSAID_CHARACTERS = 240  # of a message that no word is said of, after which no call will come any more
ONE_AT_A_TIME = "One thing at a time. "  # before a question, when more was to be done after it


class TextFilter(Protocol):
    """What words of a model go through before they are said."""

    full: bool  # nothing more will be said

    def feed(self, text: str) -> str:
        """Take more words; return those that may be said now."""
        ...

    def rest(self) -> str:
        """Return what remains to be said: the model has ended its message."""
        ...


class ReplyDraft:
    """One answer. Lives for one turn. `strict`: no word of the model is spoken, only what tools say."""

    def __init__(
        self,
        turn: Turn,
        emit: Emit,
        filters: Sequence[TextFilter] = (),  # that words of the model go through, in this order
        *,
        strict: bool = False,
    ) -> None:
        self.turn = turn
        self.emit = emit
        self.strict = strict
        self.text = ""
        self.so_far: list[Message] = []  # this turn's messages, as the model wrote and read them
        self.receipts: list[Receipt] = []
        self.failed = ""  # why the last call that failed did, in words fit to be spoken
        self.usage = Usage()
        self.error = ""
        self.pending: PendingConfirmation | None = None  # what a person must say yes to, before anything else is done
        self.heard = 0  # pieces of the model's words
        self.mended = False  # the model was already shown a call of its own that could not be used
        self._filters = filters
        self._found: list[str] = []  # what tools said that changed nothing
        self._made: dict[str, ToolResult] = {}  # calls that changed something, by what they are
        self._pending = ""  # words that may become a call
        self._has_begun = False  # words of the model's message were let through
        self._is_call = False  # the model writes a call where words belong: nothing of it is said
        self._unsaid = 0  # characters of a message that were not said

    async def hear(self, text: str) -> None:
        """Take words of the model; say what may already be said."""
        self.heard += 1
        if self.strict:
            self._unsaid += len(text)
        else:
            await self._say(self._filtered(self._words(text)))

    async def settle(self) -> None:
        """Say the rest of a message that the model has finished, if it may be said."""
        rest, self._pending = self._pending, ""
        if not self.strict:
            await self._say(self._filtered(rest, ends=True))
        self._has_begun, self._is_call, self._unsaid = False, False, 0

    def filter_by(self, *filters: TextFilter) -> None:
        """Let the model's words go through these filters from its next message on."""
        self._filters = filters

    @property
    def full(self) -> bool:
        """Whether no more of the model's words will be said."""
        return self._unsaid > UNSAID_CHARACTERS or any(one.full for one in self._filters)

    def _filtered(self, text: str, *, ends: bool = False) -> str:
        for one in self._filters:
            text = one.feed(text) + (one.rest() if ends else "")
        return text

    def _words(self, text: str) -> str:
        """Return what of the model's words is no call in disguise, as far as that can be told by now."""
        pending, self._pending = self._pending + text, ""
        shape = (None if self._has_begun else _CALL_AT_THE_START.match(pending)) or _CALL.search(pending)
        if self._is_call or shape:
            before = "" if self._is_call or not shape else pending[: shape.start()]
            self._is_call = True
            return before
        last = _LAST_WORD.search(pending)
        word = last.start() if last else len(pending)
        mark = _MAY_BECOME_CALL.search(pending)
        at = mark.start() if mark and len(pending) - mark.start() <= CALL_CHARACTERS else word
        self._pending = pending[at:]
        self._has_begun = self._has_begun or bool(pending[:at].strip())
        return pending[:at]

    async def tell(self, prepared: str) -> None:
        """Say what tools saw, where nothing was changed, and what failed; `prepared` when no tool said anything."""
        if self.pending is None:
            result = () if self.receipts else dict.fromkeys(self._found)
            failed = [self.failed] if self.failed and self.failed not in self.text else []
            await self._say(" ".join([*result, *failed]) or ("" if self.text else prepared))

    async def say_honestly(self, sentence: str, error: str) -> None:
        """Say what went wrong, after whatever was said before."""
        sentence = own(sentence)
        await self.settle()
        self.error = error
        if self.text and not self.text.rstrip().endswith((".", "!", "?")):
            await self._say("…")  # a sentence that broke off shall not run into this one
        await self._say(sentence)

    async def ask(self, *, more: bool) -> None:
        """End with the tool's question, after what was done; what the model would say to it is not heard."""
        assert self.pending is not None
        await self._say((own(ONE_AT_A_TIME) if more else "") + self.pending.ask.sentence)

    def made(self, call: ToolCall) -> ToolResult | None:
        """Return what came of the same call when it has changed something in this turn: it shall not do so twice."""
        before = self._made.get(_same(call))
        return before and replace(before, call_id=call.id, receipt=None)

    async def note(self, call: ToolCall, result: ToolResult) -> None:
        """Remember what a call did, for the model and for later; a tool that changed something says so at once."""
        again = self.made(call) is not None
        self.so_far.append(Message("tool", prompt.result(result), call_id=call.id))
        if again:
            return  # it did nothing more
        if result.ask:
            self.pending = PendingConfirmation(call, result.ask)
        elif not result.ok:
            self.failed = result.text
        elif result.receipt:
            self._made[_same(call)] = result
            self.receipts.append(result.receipt)
            self.failed = ""
            await self._say(result.text)
        else:
            self._found.append(result.text)

    def unknown(self, result: ToolResult) -> None:
        """Remember, for the model alone, that it called for a tool that there is not."""
        self.so_far.append(Message("tool", prompt.result(result), call_id=result.call_id))

    def answer(self, end: End) -> AgentAnswer:
        """Return the whole of it. Remembered are the words that were said, not those that were withheld."""
        messages = [replace(m, text="") if m.calls else m for m in self.so_far if m.calls or m.author == "tool"]
        return AgentAnswer(
            text=self.text,
            path="model",
            end=end,
            messages=(*messages, Message("assistant", self.text)),
            receipts=tuple(self.receipts),
            usage=self.usage,
            error=self.error,
            pending=self.pending,
        )

    async def _say(self, text: str) -> None:
        if not text:
            return
        if self.text and not self.text[-1].isspace() and not text[0].isspace():
            text = f" {text}"  # two messages of the model, or a sentence of ours after one of its
        self.text += text
        await self.emit(TextDelta(text))


def _same(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), sort_keys=True, default=str)}"
