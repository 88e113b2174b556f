"""Answers a question from what people asked to be remembered, in the words in which they said it. Without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from atlas.agents import facts
from atlas.agents.agent import AgentAnswer, say
from atlas.agents.facts import FactLookup, LookUp, RememberedFact
from atlas.agents.tool_use import answer_of, carry_out, report, tell, use
from atlas.conversation import Message, ToolCall, ToolResult, Turn, fresh_id
from atlas.events import Emit, TextDelta
from atlas.mcp.tools import Tools
from atlas.understanding.answering import Answering, FactQuestion
from atlas.understanding.dialogue import read_result
from atlas.understanding.slots import Command
from atlas.understanding.understanding import Understanding

CALENDAR = "calendar.find"  # what else a sentence may ask for: a birthday is as likely told as written down there


class Facts:
    """Says again what one person asked to be remembered; leaves everything else to others.

    A small model is told none of those facts, and makes something up. One that has tools is asked first, but where
    the calendar would be asked instead of it, and knows nothing.
    """

    def __init__(
        self, tables: Mapping[str, Any], tools: Tools, fact_lookup: FactLookup, *, model_has_tools: bool
    ) -> None:
        self._tools = tools
        self._told = fact_lookup
        self._model_has_tools = model_has_tools
        self._answering = Answering(tables)
        self._says: Mapping[str, str] = tables["answering"]["says"]

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Answerer.answer`. "Forget that", said of a fact, is asked about as always."""
        if fact := _meant(meant, turn):
            return await carry_out(ToolCall(fresh_id("call"), facts.FORGET, {"text": fact}), self._tools, turn, emit)
        matches = await self._matches(meant, turn, self._told.to)
        if matches is None:
            return None
        known, facts_told = matches
        is_unknown = meant.question and known.ok and not facts_told
        note = await self._from_notes(meant.question, turn, emit) if meant.question and is_unknown else None
        return note or await self._say(known, facts_told, emit)

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`."""
        return bool(_meant(meant, turn) or await self._matches(meant, turn, self._told.ahead_of))

    async def _matches(
        self, meant: Understanding, turn: Turn, describe_it: LookUp
    ) -> tuple[ToolResult, Sequence[RememberedFact]] | None:
        """Return the facts that answer a turn, and the result in which they stood; none, when nobody told."""
        question = None if turn.instructions else meant.question  # who instructs wants the model
        if question is None or meant.past or meant.past_beside:
            return None
        commands = () if meant.leans else [one for one in meant.commands if not _stands_back(one, question)]
        if [command.tool for command in commands] != ([CALENDAR] if commands or self._model_has_tools else []):
            return None
        known = await describe_it(turn)
        if known is None or (commands and not known.ok):
            return None
        matching_facts = self._answering.answers(question, facts.read(known))
        if commands:
            call = ToolCall(fresh_id("call"), CALENDAR, commands[0].arguments)
            return (
                (known, matching_facts) if matching_facts and not await self._is_in_the_calendar(call, turn) else None
            )
        return (
            (known, matching_facts)
            if matching_facts or (question.private and not self._was_said(question, turn))
            else None
        )

    async def _from_notes(self, question: FactQuestion, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """Answer from the notes what nobody asked to be remembered: "where is the wifi password"."""
        calls: list[ToolCall] = []

        async def look(tool: str, arguments: Mapping[str, Any]) -> ToolResult:
            calls.append(ToolCall(fresh_id("call"), tool, arguments))
            return await use(calls[-1], self._tools, turn, emit)

        words = [word for word in question.words if word not in question.light]
        note = await facts.in_notes(" ".join(words or question.words), self._tools, look)
        return await tell(calls[-1], note, emit) if note else None

    def _was_said(self, question: FactQuestion, turn: Turn) -> bool:
        """Tell whether somebody told the model something of it: then it may know it from there."""
        messages = (one.text for one, answer in pairwise(turn.history) if one.author == "user" and not answer.ours)
        return any(self._answering.speaks_of(text, question) for text in messages if not self._answering.question(text))

    async def _is_in_the_calendar(self, call: ToolCall, turn: Turn) -> bool:
        return bool((await self._tools.call(call, turn.actor, turn.id)).data.get("events"))

    async def _say(self, known: ToolResult, matching_facts: Sequence[RememberedFact], emit: Emit) -> AgentAnswer:
        """Say the facts, and remember of the look-up no more than those."""
        if not matching_facts:
            return await self._say_nothing(known, emit)
        says = self._says["own" if all(fact.personal for fact in matching_facts) else "everybodys"]
        text = says.format("; ".join(fact.text.rstrip(".") for fact in matching_facts))
        call = ToolCall(fresh_id("call"), facts.LIST, {})
        data = {"facts": [{"text": fact.text, "own": fact.personal} for fact in matching_facts]}
        result = ToolResult(call.id, True, text, data, untrusted=known.untrusted)
        await report(call, result, emit)
        await emit(TextDelta(text))
        return answer_of([call], [result], text)

    async def _say_nothing(self, known: ToolResult, emit: Emit) -> AgentAnswer:
        """Say that nobody told it, that they may not hear it, or that it could not look: and then why."""
        says, error = self._says["nothing"], ""
        if known.error == "denied":
            says = known.text
        elif not known.ok:
            reason = f" {known.text}" if known.error == "failed" else ""
            says, error = self._says["unread"] + reason, f"{facts.LIST}: {known.error}"
        return replace(await say(says, emit), end="failed" if error else "done", error=error)


def _stands_back(command: Command, question: FactQuestion) -> bool:
    """Tell whether what was told answers a question before this look: "who is my wife" asks for nobody's place."""
    if command.tool == "home.state":
        return question.private and question.kind == "who" and command.arguments.get("kind") == "person"
    return command.tool == facts.LIST and question.private


def _meant(meant: Understanding, turn: Turn) -> str:
    """Return the fact that "forget that" means: the only one of the last exchange; "" when there is none."""
    return _only_fact(turn.history) if meant.that == "said" and turn.channel else ""


def _only_fact(history: Sequence[Message]) -> str:
    """Return the one fact that was told or told of in the last exchange; "" when there was none, or several."""
    hits: set[str] = set()
    for message in reversed(history):
        if message.author == "user":
            break
        hits |= set(_facts_in(message.text)) if message.author == "tool" else set()
    return hits.pop() if len(hits) == 1 else ""


def _facts_in(result: str) -> Sequence[str]:
    """Read what `prompt.result` wrote of a tool about facts."""
    answer = read_result(result)
    data = answer.get("data") if answer.get("ok") is True else None
    if not isinstance(data, dict):
        return ()
    several = data.get("facts")
    rows = (data.get("fact"), *(several if isinstance(several, list) else ()))
    texts = (row.get("text") if isinstance(row, dict) else row for row in rows)
    return [text for text in texts if isinstance(text, str)]
