"""Conversation: a model streams words and asks for tools until it has answered; its claims are checked on the way."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import tzinfo

from atlas.agents import prompt
from atlas.agents.agent import Answer
from atlas.agents.persona import Persona
from atlas.agents.tool_use import report, use
from atlas.agents.truth import Deeds, Truth
from atlas.conversation import Asked, Message, Receipt, Tool, ToolCall, ToolResult, Turn, Usage
from atlas.errors import EngineError, LlmGone
from atlas.events import Emit, End, TextDelta
from atlas.llm.backend import Backend, Calls, Finish, Finished, Limits, ToolChoice, Words
from atlas.mcp.tools import Tools
from atlas.store.conversations import conversation_of
from atlas.trace import current

MOST_ROUNDS = 4  # of tools in one turn; a model that needs more is going in circles
MOST_CALLS = 8  # in one round; more than a person could follow
MOST_FAILED_ROUNDS = 2  # an error goes back to the model once; a second one goes to the person
LEAST_ANSWER_TOKENS = 16

TOO_LONG = "That is more than I can think about at once. Please say it in fewer words."
NOTHING_SAID = "I'm sorry, I have no answer to that."
WAITS = "waits"  # the error of calls that were left out behind a question
ONE_AT_A_TIME = "One thing at a time. "  # before a question, when more was to be done after it
MISUSED = "I couldn't work out how to do that, so nothing was done."


class Chat:
    """An agent that thinks with a model. `trusted`: the model may choose tools; else it is shown none."""

    def __init__(
        self,
        persona: Persona,
        backend: Backend,
        tools: Tools,
        *,
        trusted: bool,
        context_tokens: int,
        zone: tzinfo | None = None,
    ) -> None:
        self.name = persona.name
        self._persona = persona
        self._backend = backend
        self._tools = tools
        self._trusted = trusted
        self._context_tokens = context_tokens
        self._zone = zone

    async def respond(self, turn: Turn, emit: Emit) -> Answer:
        """See `Agent.respond`. Never declines."""
        offered = tuple(await self._tools.listed()) if self._trusted else ()
        reply = _Reply(turn, emit)
        end: End = "failed"
        try:
            end = await self._converse(reply, offered)
        except prompt.TooLong as trouble:
            await reply.say_honestly(TOO_LONG, str(trouble))
        except LlmGone as trouble:
            await reply.say_honestly(trouble.spoken, str(trouble))
        except EngineError as trouble:
            await reply.say_honestly(MISUSED if self._trusted else trouble.spoken, str(trouble))
        await reply.own_up()
        if not reply.said.strip():
            end = "failed"
            await reply.say_honestly(NOTHING_SAID, "the model said nothing")
        return reply.answer(end)

    async def prepare(self, turn: Turn) -> bool:
        """See `Agent.prepare`: the model reads what it will be shown, as far as that is known."""
        offered = tuple(await self._tools.listed()) if self._trusted else ()
        room = self._context_tokens - (self._limits(turn).max_tokens or 0)
        try:
            shown = prompt.messages(self._persona, offered, turn, (), self._zone, room)
        except prompt.TooLong:
            return True
        await self._backend.prefill(
            shown, offered, conversation=self._key(turn), priority="voice" if turn.spoken else "chat"
        )
        return True

    async def _converse(self, reply: _Reply, offered: Sequence[Tool]) -> End:
        """Let the model speak and use tools until it has answered; return how that ended."""
        failed_rounds = 0
        for round_number in range(MOST_ROUNDS + 1):
            last = round_number == MOST_ROUNDS
            calls, finish = await self._listen(reply, offered, "none" if last else "auto")
            if not calls:
                await reply.settle()
                return "length" if finish == "length" else "done"
            results = await self._use(calls, reply, offered)
            if reply.asked:
                await reply.ask(more=results[-1].error == WAITS)
                return "done"
            await reply.settle()
            failed_rounds += not all(result.ok for result in results)
            if failed_rounds >= MOST_FAILED_ROUNDS:
                break
        await reply.say_honestly(reply.deeds.failed or MISUSED, "the tools kept failing")
        return "failed"

    async def _listen(
        self, reply: _Reply, offered: Sequence[Tool], choice: ToolChoice
    ) -> tuple[tuple[ToolCall, ...], Finish]:
        """Stream one message of the model. A call that does not fit its schema is shown to the model once."""
        try:
            return await self._stream(reply, offered, choice)
        except LlmGone:
            raise
        except EngineError as trouble:
            if not offered:
                raise
            reply.so_far.append(
                Message("user", f"[That tool call was not valid: {trouble}. Correct it, or answer without.]")
            )
            return await self._stream(reply, offered, choice)

    async def _stream(
        self, reply: _Reply, offered: Sequence[Tool], choice: ToolChoice
    ) -> tuple[tuple[ToolCall, ...], Finish]:
        turn, limits = reply.turn, self._limits(reply.turn)
        room = self._context_tokens - (limits.max_tokens or 0)
        shown = prompt.messages(self._persona, offered, turn, reply.so_far, self._zone, room)
        calls: tuple[ToolCall, ...] = ()
        finish: Finish = "stop"
        words: list[str] = []
        stream = self._backend.stream(
            shown,
            offered,
            tool_choice=choice,
            limits=limits,
            conversation=self._key(turn),
            priority="voice" if turn.spoken else "chat",
        )
        with current().stage("llm"):
            async with aclosing(stream) as deltas:
                async for delta in deltas:
                    match delta:
                        case Words(text):
                            current().mark("first_words")
                            words.append(text)
                            await reply.hear(text)
                        case Calls(wanted):
                            calls = wanted if choice != "none" else ()
                        case Finished(how, usage):
                            finish = how
                            reply.usage += usage
        reply.so_far.append(Message("assistant", "".join(words), calls=calls))
        return calls, finish

    def _key(self, turn: Turn) -> str:
        return str(conversation_of(self.name, turn.actor)) if turn.remembered else ""

    def _limits(self, turn: Turn) -> Limits:
        own = self._persona.spoken_tokens if turn.spoken else self._persona.written_tokens
        most = max(LEAST_ANSWER_TOKENS, self._context_tokens // 2)  # the other half is for what was said before
        wanted = own if turn.max_tokens is None else turn.max_tokens
        return Limits(max(1, min(wanted, most)), turn.temperature)

    async def _use(self, calls: Sequence[ToolCall], reply: _Reply, offered: Sequence[Tool]) -> list[ToolResult]:
        """Make the calls in their order; each gets a result that the model will read."""
        known = [tool.name for tool in offered]
        results: list[ToolResult] = []
        for number, call in enumerate(calls):
            if reply.asked:
                result = ToolResult(call.id, False, "Not done: a person was asked about another call.", error=WAITS)
                await report(call, result, reply.emit)
            elif call.name in known and number < MOST_CALLS:
                result = await use(call, self._tools, reply.turn, reply.emit)
            else:
                result = _refused(call, known)
                await report(call, result, reply.emit)
            reply.note(call, result)
            results.append(result)
        return results


class _Reply:
    """One answer in the making: what was said, done and spent. Lives for one turn."""

    def __init__(self, turn: Turn, emit: Emit) -> None:
        self.turn = turn
        self.emit = emit
        self.said = ""
        self.so_far: list[Message] = []  # this turn's messages, as the model wrote and read them
        self.receipts: list[Receipt] = []
        self.deeds = Deeds(asked=turn.text)
        self.usage = Usage()
        self.error = ""
        self.asked: Asked | None = None  # what a person must say yes to, before anything else is done
        self._truth = Truth()
        self._untold: list[str] = []  # what was done and has not been spoken of since

    async def hear(self, text: str) -> None:
        """Take words of the model; say what may already be said."""
        await self._say(self._truth.feed(text, self.deeds))

    async def settle(self) -> None:
        """Say the rest of a message that the model has finished, as far as it is true."""
        await self._say(self._truth.settle(self.deeds))

    async def own_up(self) -> None:
        """Say what was done, when the model does not: whoever hears nothing of it asks again, and has it done twice."""
        await self._say(" ".join(self._untold))

    async def say_honestly(self, sentence: str, error: str) -> None:
        """Say what went wrong, after whatever was said before."""
        await self.settle()
        await self.own_up()
        self.error = error
        if self.said and not self.said.rstrip().endswith((".", "!", "?")):
            await self._say("…")  # a sentence that broke off shall not run into this one
        await self._say(sentence)

    async def ask(self, *, more: bool) -> None:
        """End with the tool's question, after what was done; what the model would say to it is not heard."""
        assert self.asked is not None
        self._truth = Truth()
        await self.own_up()
        await self._say((ONE_AT_A_TIME if more else "") + self.asked.ask.sentence)

    def note(self, call: ToolCall, result: ToolResult) -> None:
        """Remember what a call did: for the model, for the truth, and for later."""
        self.so_far.append(Message("tool", prompt.result(result), call_id=call.id))
        if result.ask:
            self.asked = Asked(call, result.ask)
        elif not result.ok:
            self.deeds = replace(self.deeds, failed=result.text)
        elif result.receipt:
            self.receipts.append(result.receipt)
            self._untold.append(result.text)
            self.deeds = replace(
                self.deeds, changed=(*self.deeds.changed, f"{call.name} {result.receipt.changed}"), failed=""
            )
        else:
            self.deeds = replace(self.deeds, read=(*self.deeds.read, f"{call.name} {result.text}"))

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


def _refused(call: ToolCall, known: Collection[str]) -> ToolResult:
    if call.name in known:
        return ToolResult(call.id, False, f"Those are more than {MOST_CALLS} calls at once.", error="denied")
    names = ", ".join(known) or "none"
    return ToolResult(call.id, False, f"There is no tool called {call.name}. The tools are {names}.", error="not_found")
