"""One answer in the making: what was said, done and spent in a turn; what is said of it is true."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime, tzinfo

from atlas.agents import prompt
from atlas.agents.agent import Answer
from atlas.agents.brevity import Brevity
from atlas.agents.tongues import ENGLISH, Tongues
from atlas.agents.truth import Deeds, Truth, correction
from atlas.conversation import Asked, Message, Receipt, ToolCall, ToolResult, Turn, Usage
from atlas.events import Emit, End, TextDelta
from atlas.own_words import own

# A call written as words, as small models do: in a fence, as an object with a name, between tags.
_CALL = re.compile(
    r"```\s*(?:json|tool\w*)?\s*[\[{]|^\s*[\[{]|<\|?/?(?:tool|function)|[\[{]\s*[\"'](?:name|tool\w*|function|arguments|parameters)[\"']\s*:"
)
_MAY_BECOME_CALL = re.compile(r"[`\[{<]")
CALL_CHARACTERS = 24  # after which words that might become a call are none
ONE_AT_A_TIME = "One thing at a time. "  # before a question, when more was to be done after it


class Reply:
    """One answer. Lives for one turn. `tongues`: the languages that its claims are known in; `zone`: the house's."""

    def __init__(
        self,
        turn: Turn,
        emit: Emit,
        tongues: Tongues = ENGLISH,
        zone: tzinfo | None = None,
        brevity: Brevity | None = None,  # of a model that is not trusted
    ) -> None:
        self.turn = turn
        self.emit = emit
        self.said = ""
        self.so_far: list[Message] = []  # this turn's messages, as the model wrote and read them
        self.receipts: list[Receipt] = []
        self.deeds = Deeds(asked=turn.text, now=datetime.fromtimestamp(turn.at, zone).astimezone(zone))
        self.usage = Usage()
        self.error = ""
        self.asked: Asked | None = None  # what a person must say yes to, before anything else is done
        self.heard = 0  # pieces of the model's words
        self.mended = False  # the model was already shown a call of its own that could not be used
        self._tongues = tongues
        self._brevity = brevity
        self._truth = Truth(tongues)
        self._untold: list[str] = []  # what was done and has not been spoken of since
        self._made: dict[str, ToolResult] = {}  # calls that were made, by what they are
        self.strict = False  # nothing that the model writes is said: only receipts and what tools say
        self._pending = ""  # words that may become a call
        self._is_call = False  # the model writes a call where words belong: nothing of it is said

    async def hear(self, text: str) -> None:
        """Take words of the model; say what may already be said."""
        self.heard += 1
        if not self.strict:
            words = self._words(text)
            await self._say(self._truth.feed(self._brevity.feed(words) if self._brevity else words, self.deeds))

    async def settle(self) -> None:
        """Say the rest of a message that the model has finished, as far as it is true."""
        rest, self._pending = self._pending, ""
        if self.strict:
            self._truth = Truth(self._tongues)
        else:
            rest = self._brevity.feed(rest) + self._brevity.rest() if self._brevity else rest
            await self._say(self._truth.feed(rest, self.deeds) + self._truth.settle(self.deeds))
        self._is_call = False

    @property
    def full(self) -> bool:
        """Whether no more of the model's words will be said."""
        return self._brevity is not None and self._brevity.full

    def _words(self, text: str) -> str:
        """Return what of the model's words is no call in disguise, as far as that can be told by now."""
        pending, self._pending = self._pending + text, ""
        if self._is_call or (shape := _CALL.search(pending)):
            before = "" if self._is_call else pending[: shape.start()] if shape else ""
            self._is_call = True
            return before
        at = next((one.start() for one in _MAY_BECOME_CALL.finditer(pending)), len(pending))
        if len(pending) - at > CALL_CHARACTERS:
            return pending
        self._pending = pending[at:]
        return pending[:at]

    async def tell(self, otherwise: str) -> None:
        """Say what tools said of what they did, else of what they saw, and what failed; `otherwise` when none did."""
        if self.asked is None:
            seen = () if self._untold or self.deeds.changed else dict.fromkeys(self.deeds.found)
            words = [*self._untold, *seen, *filter(None, [self.deeds.failed])]
            await self._say(" ".join(words) or ("" if self.said else otherwise))

    async def break_off(self) -> None:
        """End the sentence that was begun: the model starts its message anew, and the two shall not run together."""
        await self._say(self._truth.feed("\n", self.deeds) if self._truth.is_amid else "")

    async def own_up(self) -> None:
        """Say what was done, when the model does not: whoever hears nothing of it asks again, and has it done twice."""
        await self._say(" ".join(self._untold))

    async def correct(self) -> None:
        """Say what a whole reply leaves to be believed and is not so."""
        if self.asked is None:
            await self._say(correction(self.said, self.deeds, self._tongues))

    async def say_honestly(self, sentence: str, error: str) -> None:
        """Say what went wrong, after whatever was said before."""
        sentence = own(sentence)
        await self.settle()
        await self.own_up()
        self.error = error
        if self.said and not self.said.rstrip().endswith((".", "!", "?")):
            await self._say("…")  # a sentence that broke off shall not run into this one
        await self._say(sentence)

    async def ask(self, *, more: bool) -> None:
        """End with the tool's question, after what was done; what the model would say to it is not heard."""
        assert self.asked is not None
        self._truth = Truth(self._tongues)
        await self.own_up()
        await self._say((own(ONE_AT_A_TIME) if more else "") + self.asked.ask.sentence)

    def made(self, call: ToolCall) -> ToolResult | None:
        """Return what came of the same call when it has changed something in this turn: it shall not do so twice."""
        before = self._made.get(_same(call))
        return before and replace(before, call_id=call.id, receipt=None)

    def note(self, call: ToolCall, result: ToolResult) -> None:
        """Remember what a call did: for the model, for the truth, and for later."""
        again = self.made(call) is not None
        self.so_far.append(Message("tool", prompt.result(result), call_id=call.id))
        if again:
            return  # it did nothing more
        if result.ask:
            self.asked = Asked(call, result.ask)
        elif not result.ok:
            self.deeds = replace(self.deeds, failed=result.text)
        elif result.receipt:
            self._made[_same(call)] = result
            self.receipts.append(result.receipt)
            self._untold.append(result.text)
            self.deeds = self.deeds.done(call, result)
        else:
            self.deeds = self.deeds.looked_up(call, result)

    def answer(self, end: End) -> Answer:
        """Return the whole of it. Remembered are the words that were said, not those that were withheld."""
        kept = [replace(m, text="") if m.calls else m for m in self.so_far if m.calls or m.author == "tool"]
        return Answer(
            text=self.said,
            path="model",
            end=end,
            messages=(*kept, Message("assistant", self.said)),
            receipts=tuple(self.receipts),
            usage=self.usage,
            error=self.error,
            asked=self.asked,
        )

    async def _say(self, text: str) -> None:
        if not text:
            return
        if self.said and not self.said[-1].isspace() and not text[0].isspace():
            text = f" {text}"  # two messages of the model, or a sentence of ours after one of its
        self.said += text
        if text.strip():
            self._untold.clear()
        await self.emit(TextDelta(text))


def _same(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(dict(call.arguments), sort_keys=True, default=str)}"
