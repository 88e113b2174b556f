"""Conversation: a model streams words and asks for tools until it has answered.

What of it may be spoken is decided before it is asked (see spoken.py). From the first call of a tool on, only tools
speak.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import tzinfo

from atlas.agents import facts, prompt
from atlas.agents.agent import AgentAnswer, say
from atlas.agents.brevity import Brevity
from atlas.agents.persona import Persona
from atlas.agents.reply import ReplyDraft, TextFilter
from atlas.agents.speech_policy import MISUSED, SpeechPolicy, SpeechVerdict
from atlas.agents.tool_selection import MOST_TOOLS, ToolSelection
from atlas.agents.tool_use import report, use, use_clients
from atlas.conversation import Message, Tool, ToolCall, ToolResult, Turn, Usage
from atlas.errors import ContextFull, EngineError, InvalidCall, LlmGone
from atlas.events import Emit, End, Tainted
from atlas.llm.backend import Backend, BackendPrompt, Calls, Finish, Finished, Limits, Priority, TextPiece, ToolChoice
from atlas.mcp.tools import Tools
from atlas.store.conversations import conversation_of
from atlas.trace import current
from atlas.understanding.understanding import Understanding
from wall.roles import may

MOST_ROUNDS = 4  # of tools in one turn; a model that needs more is going in circles
MOST_CALLS = 8  # in one round; more than a person could follow
MOST_FAILED_ROUNDS = 2  # an error goes back to the model once; a second one goes to the person
MOST_SHORTENINGS = 2  # of the history, each to its half, when the model's own count says that it does not fit
LEAST_ANSWER_TOKENS = 16

TOO_LONG = "That is more than I can think about at once. Please say it in fewer words."
NO_ROOM = "I haven't enough memory for that and for my tools at once, so nothing was done."
NOTHING_SAID = "I'm sorry, I have no answer to that."
WAITS = "waits"  # the error of calls that were left out behind a question
log = logging.getLogger("atlas")


class Chat:
    """An agent that thinks with a model. `trusted`: the model may choose tools; else it is shown none."""

    def __init__(
        self,
        persona: Persona,
        backend: Backend,
        tools: Tools,
        choosing: ToolSelection,
        speech: SpeechPolicy,
        *,
        trusted: bool,
        most_tools: int = MOST_TOOLS,
        context_tokens: int,
        zone: tzinfo | None = None,
        fact_lookup: facts.FactLookup | None = None,  # that other minds look into as well
    ) -> None:
        self.name = persona.name
        self._persona = persona
        self._backend = backend
        self._tools = tools
        self._choosing = choosing
        self._trusted = trusted
        self._most_tools = most_tools
        self._is_small = most_tools < MOST_TOOLS  # one tool, one call, and no talk of the past tools
        self._context_tokens = context_tokens
        self._zone = zone
        self._speech = speech
        self._told = fact_lookup or facts.FactLookup(tools)

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer:
        """See `Answerer.answer`. Never declines."""
        spoken = self._speech.of(meant, turn)
        if spoken.of_world or (self._trusted and await self._offered(spoken, turn)):
            return await self._respond(spoken, turn, emit)
        return await say(spoken.prepared, emit)

    async def _respond(self, spoken: SpeechVerdict, turn: Turn, emit: Emit) -> AgentAnswer:
        brevity: list[TextFilter] = [] if self._trusted else [Brevity(turn.history, turn.text)]
        reply = ReplyDraft(turn, emit, [*brevity, self._speech.filter(turn.text)], strict=not spoken.of_world)
        end: End = "failed"
        shown = await self._shown(spoken, turn, self._told.to)
        if shown.untrusted:
            await emit(Tainted())
        try:
            end = await self._converse(reply, shown)
        except prompt.PromptTooLong as trouble:
            if trouble.tools:
                log.error(  # noqa: TRY400 (it is a setting, not a mistake)
                    "agent=%s: its tools leave no room in %d tokens: %s", self.name, self._context_tokens, trouble
                )
            await reply.say_honestly(NO_ROOM if trouble.tools else TOO_LONG, str(trouble))
        except ContextFull as trouble:
            await reply.say_honestly(TOO_LONG, str(trouble))
        except LlmGone as trouble:
            simple = self._choosing.simple(await self._tools.listed())
            await reply.say_honestly(f"{trouble.spoken} {simple}".strip(), str(trouble))
        except EngineError as trouble:
            await reply.say_honestly(MISUSED if self._trusted else trouble.spoken, str(trouble))
        if reply.strict or not reply.text:
            await reply.tell(spoken.prepared)
        if not reply.text.strip():
            end = "failed"
            await reply.say_honestly(NOTHING_SAID, "the model said nothing")
        return replace(reply.answer(end), tainted=shown.untrusted)

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`: the model reads what it will be shown, as far as that is known."""
        spoken = self._speech.of(meant, turn)
        if not self._trusted and not spoken.of_world:
            return True
        shown = await self._shown(spoken, turn, self._told.ahead_of)
        try:
            model_prompt = self._prompt(shown, turn, ())
        except prompt.PromptTooLong:
            return True
        key, priority = self._key(turn), _priority(turn)
        backend_prompt = BackendPrompt(model_prompt.messages, shown.tools, conversation=key, priority=priority)
        await self._backend.prefill(backend_prompt)
        return True

    async def _offered(self, spoken: SpeechVerdict, turn: Turn) -> tuple[Tool, ...]:
        """Return the tools that a model is shown: some of the house's, and those that its client has brought.

        A small model uses whatever it sees, so it sees none of the house's for the world.
        """
        listed = await self._tools.listed()
        if not self._is_small:
            ours = self._choosing.few(turn.text, turn.history, listed)
        else:
            ours = () if spoken.of_world else self._choosing.best(turn.text, listed, self._most_tools)
        return (*ours, *_of_client(turn, listed))

    async def _shown(self, spoken: SpeechVerdict, turn: Turn, describe_it: facts.LookUp) -> prompt.Shown:
        """Return what the model sees of the house for this turn: of what was told, only one with tools sees anything.

        A smaller one recites it in any talk, wrongly. What is asked for is said again without it: see agent_facts.py.
        """
        if not self._trusted:
            return prompt.Shown(self._persona, (), trusted=False)
        known = await describe_it(turn)
        return prompt.Shown(
            self._persona,
            await self._offered(spoken, turn),
            trusted=True,
            small=self._is_small,
            facts=tuple(fact.text for fact in reversed(facts.read(known))),
            untrusted=bool(known and known.untrusted),
        )

    def _prompt(
        self, shown: prompt.Shown, turn: Turn, so_far: Sequence[Message], most_exchanges: int | None = None
    ) -> prompt.ModelPrompt:
        room = self._context_tokens - (self._limits(turn).max_tokens or 0)
        return prompt.messages(shown, turn, so_far, self._zone, room, most_exchanges)

    async def _converse(self, reply: ReplyDraft, shown: prompt.Shown) -> End:
        """Let the model speak and use tools until it has answered; return how that ended."""
        failed_rounds = 0
        for round_number in range(MOST_ROUNDS + 1):
            last = round_number == MOST_ROUNDS
            calls, finish, tainted = await self._listen(reply, shown, "none" if last else "auto")
            if not calls:
                await reply.settle()
                return "length" if finish == "length" and not reply.strict else "done"
            clients = reply.turn.client_tools.names if reply.turn.client_tools else frozenset[str]()
            reply.strict |= not {call.name for call in calls}.isdisjoint({tool.name for tool in shown.tools} - clients)
            results = await self._use(calls, reply, shown.tools, tainted=tainted)
            made = zip(calls, results, strict=False)  # more calls may be wished for than are made
            if client_results := [result.text for call, result in made if result.ok and call.name in clients]:
                reply.strict = bool(reply.receipts)  # a client's tool answers in any form: the model must word it
                reply.filter_by(self._speech.filter(reply.turn.text, " ".join(client_results)))
            if reply.pending:
                await reply.ask(more=results[-1].error == WAITS)
                return "done"
            await reply.settle()
            if self._is_small and all(result.ok for result in results):
                return "done"
            failed_rounds += not all(result.ok for result in results)
            if failed_rounds >= MOST_FAILED_ROUNDS:
                break
        await reply.say_honestly(reply.failed or MISUSED, "the tools kept failing")
        return "failed"

    async def _listen(
        self, reply: ReplyDraft, shown: prompt.Shown, choice: ToolChoice
    ) -> tuple[tuple[ToolCall, ...], Finish, bool]:
        """Stream one message of the model. A call that cannot be used is shown to the model once in a turn."""
        try:
            return await self._fitted(reply, shown, choice)
        except (LlmGone, ContextFull):
            raise
        except EngineError as trouble:
            if not shown.tools or reply.mended:
                raise
            reply.mended = True
            message = trouble.correction if isinstance(trouble, InvalidCall) else str(trouble)
            reply.so_far.append(prompt.invalid_call(message))
            await reply.settle()  # the model starts its message anew, and the two shall not run together
            return await self._fitted(reply, shown, choice)

    async def _fitted(
        self, reply: ReplyDraft, shown: prompt.Shown, choice: ToolChoice
    ) -> tuple[tuple[ToolCall, ...], Finish, bool]:
        """Stream one message; while the prompt does not fit the model after all, without the older half of the history.

        Tools are never left out for it.
        """
        most: int | None = None
        for attempt in range(MOST_SHORTENINGS + 1):
            model_prompt, heard = self._prompt(shown, reply.turn, reply.so_far, most), reply.heard
            try:
                calls, finish = await self._stream(reply, shown, model_prompt, choice)
            except ContextFull as trouble:
                if attempt == MOST_SHORTENINGS or not model_prompt.exchanges or reply.heard > heard:
                    raise  # or it fits no more in the middle of an answer, which shall not be said twice
                log.warning("agent=%s: shortening the history: %s", self.name, trouble)
                most = model_prompt.exchanges // 2
            else:
                return calls, finish, model_prompt.tainted
        raise AssertionError("the last attempt returns or raises")

    async def _stream(
        self, reply: ReplyDraft, shown: prompt.Shown, model_prompt: prompt.ModelPrompt, choice: ToolChoice
    ) -> tuple[tuple[ToolCall, ...], Finish]:
        turn = reply.turn
        calls: tuple[ToolCall, ...] = ()
        finish: Finish = "stop"
        words: list[str] = []
        backend_prompt = BackendPrompt(
            model_prompt.messages, shown.tools, choice, self._limits(turn), self._key(turn), _priority(turn)
        )
        with current().stage("llm"):
            async with aclosing(self._backend.stream(backend_prompt)) as deltas:
                async for delta in deltas:
                    match delta:
                        case TextPiece(text):
                            current().mark("first_words")
                            words.append(text)
                            await reply.hear(text)
                            if reply.full:
                                reply.usage += Usage(
                                    completion=len(words)
                                )  # a lower bound: a stream that is closed early reports no usage
                                break
                        case Calls(wanted):
                            calls = wanted if choice != "none" else ()
                        case Finished(how, usage):
                            finish = how
                            reply.usage += usage
        if finish == "length" and not words and not calls and shown.tools:
            raise EngineError("the call was longer than an answer may be")
        reply.so_far.append(Message("assistant", "".join(words), calls=calls[:MOST_CALLS]))
        return calls, finish

    def _key(self, turn: Turn) -> str:
        return str(conversation_of(self.name, turn.actor)) if turn.remembered else ""

    def _limits(self, turn: Turn) -> Limits:
        usual = self._persona.spoken_tokens if turn.spoken else self._persona.written_tokens
        most = max(LEAST_ANSWER_TOKENS, self._context_tokens // 2)  # the other half is for what was said before
        wanted = usual if turn.max_tokens is None else turn.max_tokens
        return Limits(max(1, min(wanted, most)), turn.temperature)

    async def _use(
        self, calls: Sequence[ToolCall], reply: ReplyDraft, shown: Sequence[Tool], *, tainted: bool
    ) -> list[ToolResult]:
        """Make the calls in their order; each gets a result that the model will read."""
        known = [tool.name for tool in shown]
        results: list[ToolResult] = []
        for call in calls[:MOST_CALLS]:
            if reply.pending:
                result = ToolResult(call.id, False, "Not done: a person was asked about another call.", error=WAITS)
                await report(call, result, reply.emit)
            elif made := reply.made(call):
                result = made
                await report(call, result, reply.emit)
            elif call.name in known and reply.turn.client_tools and call.name in reply.turn.client_tools.names:
                result = await use_clients(call, reply.turn.client_tools, reply.emit)
            elif call.name in known:
                result = await use(call, self._tools, reply.turn, reply.emit, tainted=tainted)
            else:
                names = ", ".join(known) or "none"
                text = f"There is no tool called {call.name}. The tools are {names}."
                result = ToolResult(call.id, False, text, error="not_found")
                await report(call, result, reply.emit)
                reply.unknown(result)
                results.append(result)
                continue
            await reply.note(call, result)
            results.append(result)
        if len(calls) > MOST_CALLS and not reply.pending:
            log.warning("agent=%s: %d calls at once, %d were made", self.name, len(calls), MOST_CALLS)
            reply.so_far.append(Message("user", f"[Only the first {MOST_CALLS} of your {len(calls)} calls were made.]"))
        return results


def _of_client(turn: Turn, house: Sequence[Tool]) -> Sequence[Tool]:
    """Return the tools that the client brought, but for any that would be taken for one of the house."""
    ours = {re.sub(r"[._]+", "_", tool.name) for tool in house}
    offered = turn.client_tools.tools if turn.client_tools else ()
    return [tool for tool in offered if re.sub(r"[._]+", "_", tool.name) not in ours]


def _priority(turn: Turn) -> Priority:
    """Return who goes first: somebody listening, somebody reading, then guests who read, however many they are."""
    if turn.spoken:
        return "voice"
    return "chat" if may(turn.actor.role, "reside") else "background"
