"""Answers what was said earlier, and forgets it, from the memory of the agent that is asked. Without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Any

from atlas.agents import facts, prompt
from atlas.agents.agent import AgentAnswer, say
from atlas.agents.facts import FactLookup
from atlas.agents.past_times import PastTimes
from atlas.agents.tool_use import carry_out
from atlas.conversation import (
    Actor,
    Author,
    ConfirmationRequest,
    Message,
    PendingConfirmation,
    SignedAnswer,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    fresh_id,
)
from atlas.errors import StoreError
from atlas.events import Emit
from atlas.mcp.tools import Tools
from atlas.store.forgetting import Forgotten
from atlas.store.memory import Memory
from atlas.store.recall import ALWAYS, MessageMatch, TimeSpan, Words, belonging_to
from atlas.understanding.command_traits import PAST
from atlas.understanding.grammar import Command, Grammar
from atlas.understanding.understanding import Understanding

FORGET = "conversation.forget"
AT_ONCE_SECONDS = 2 * 3600  # what reaches back further is asked about first
ASK_SECONDS = 60.0
SAID_ALOUD = 3  # exchanges of a search
LOOKED_AT = 30
MOST_FORGOTTEN = 500  # messages about something, by one yes
QUOTED_CHARACTERS = 200


class Recall:
    """Finds and forgets what one person said to this agent in this memory; leaves everything else to others.

    Whose past that is hangs on the turn's actor alone: a person's own, or this room's when nobody is known by name.
    """

    def __init__(
        self,
        name: str,
        grammar: Grammar,
        memory: Memory,
        zone: tzinfo | None = None,
        fact_lookup: FactLookup | None = None,
    ) -> None:
        self.name = name
        self._told = fact_lookup
        self._grammar = grammar  # to know talk about talk when a search finds it
        self._memory = memory
        self._zone = zone
        self._wording = MemoryWords(grammar.tables["remembering"])

    async def answer(self, meant: Understanding, turn: Turn, emit: Emit) -> AgentAnswer | None:
        """See `Answerer.answer`. Raises `StoreError` when the memory fails."""
        wish = self._wish(meant, turn)
        says = self._wording.says
        match wish:
            case None:
                return None
            case str(refused):
                return await say(says[refused], emit)
            case Command(tool="conversation.search" | "conversation.when" | "conversation.last"):
                return await say(await self._found(wish, turn), emit, _without_words(wish, says["told"]))
            case Command(tool="conversation.forget_about"):
                return await self._forget_about(str(wish.arguments["about"]), turn, emit)
        what = self._what(wish, turn)
        return await (say(says["what_day"], emit) if what is None else self._forget(what, turn, emit))

    async def prepare(self, meant: Understanding, turn: Turn) -> bool:
        """See `Answerer.prepare`."""
        return self._wish(meant, turn) is not None

    def _wish(self, meant: Understanding, turn: Turn) -> Command | str | None:
        """Return what is wished of the memory, or the name of what is said instead; `None` for all else."""
        wish = self._of_that(meant, turn) or ("alone" if meant.past_beside else meant.past)
        if wish is None:
            return None
        if turn.channel is None:
            return "nobody"
        return wish if turn.remembered else "not_kept"

    def _of_that(self, meant: Understanding, turn: Turn) -> Command | str | None:
        """Return the question which, when somebody says "forget that" of nothing clear, and what an answer to it means.

        Between the two nothing is kept: the question stands last in the conversation, and goes with what it is about.
        """
        if meant.that == "said":
            return "which_that"
        last = turn.history[-1] if turn.history else Message("system")
        if (last.author, last.text) != ("assistant", self._wording.says["which_that"]):
            return None
        if meant.that == "talk":
            return Command("conversation.forget_last", {"count": 2})
        return "which_fact" if meant.that == "fact" else None

    # ── forgetting ──────────────────────────────────────────────────────────────────────────────────

    def _what(self, wish: Command, turn: Turn) -> dict[str, Any] | None:
        """Return which of their exchanges somebody wishes to be forgotten; `None` for a day that is not understood."""
        words, arguments = self._wording, wish.arguments
        match wish.tool:
            case "conversation.forget":
                return {
                    "since": turn.at - arguments["seconds"],
                    "span": words.span("length", length=words.length(arguments)),
                }
            case "conversation.forget_last":
                return {"last": arguments.get("count", 1), "here": True, "span": words.span("last")}
            case "conversation.forget_this":
                return {"here": True, "span": words.span("this")}
            case "conversation.forget_day":
                if (span := self._span(arguments, turn)) is None:
                    return None
                return {"since": span.since, "until": span.until, "span": words.span("day", day=words.day(arguments))}
        assert wish.tool == "conversation.forget_all", wish.tool
        return {"span": words.span("all")}

    async def _forget(self, what: dict[str, Any], turn: Turn, emit: Emit) -> AgentAnswer:
        """Forget a little at once; ask before much is forgotten, and leave it for the next turn."""
        if "last" in what or what.get("since", 0.0) >= turn.at - AT_ONCE_SECONDS:
            return await say(await forget(self._memory, self.name, self._wording, what, turn.actor, turn.id), emit)
        whose = belonging_to(self.name, turn.actor, here=what.get("here", False))
        count, first = await self._memory.count(whose, _span_of(what))
        if not count:
            return await say(self._wording.says["nothing_to_forget"], emit)
        return await self._ask_first(what, count, first, turn, emit)

    async def _forget_about(self, about: str, turn: Turn, emit: Emit) -> AgentAnswer:
        """Forget a fact about something; where none was told, what was said of it, after a yes."""
        known = facts.read(await self._told.to(turn)) if self._told else ()
        is_told = any(about.casefold() in one.text.casefold() for one in known)
        whose = belonging_to(self.name, turn.actor)
        matches = await self._memory.search(whose, about, fit="whole", most=MOST_FORGOTTEN)
        if self._told and (is_told or not matches):
            call = ToolCall(fresh_id("call"), facts.FORGET, {"text": about})
            return await carry_out(call, self._told.tools, turn, emit)
        if not matches:
            return await say(self._wording.says["never"].format(about=about), emit)
        what = {"about": about, "span": self._wording.span("about", about=about)}
        return await self._ask_first(what, len({one.turn for one in matches}), matches[-1].at, turn, emit)

    async def _ask_first(self, what: dict[str, Any], count: int, first: float, turn: Turn, emit: Emit) -> AgentAnswer:
        """Ask whether so many exchanges are to be forgotten, and leave it for the next turn."""
        question = self._wording.says["sure"].format(
            count=self._wording.count(count), when=self._when(first, turn), span=what["span"]
        )
        call = ToolCall(fresh_id("call"), FORGET, what)
        ask = ConfirmationRequest(fresh_id("ask"), question, "confirm", turn.at + ASK_SECONDS, FORGET, "")
        return replace(await say(question, emit), pending=PendingConfirmation(call, ask))

    # ── finding ─────────────────────────────────────────────────────────────────────────────────────

    async def _found(self, wish: Command, turn: Turn) -> str:
        """Return what there is to say about the past. Nothing is said but what the memory holds."""
        words, arguments = self._wording, wish.arguments
        span = self._span(arguments, turn) if "day" in arguments else ALWAYS
        if span is None:
            return words.says["what_day"]
        about = str(arguments.get("about", ""))
        if wish.tool == "conversation.when":
            spoken = await self._search(turn, about, span, anybody=True)
            last = words.says["last_time"].format(when=self._when(spoken[0].at, turn)) if spoken else ""
            return last or words.says["never"].format(about=about)
        matches = await self._search(turn, about, span, here=wish.tool == "conversation.last")
        if not matches:
            nothing = "nothing_about" if about else "nothing_then" if "day" in arguments else "nothing_yet"
            return words.says[nothing].format(about=about, day=words.day(arguments))
        shown = matches[: 1 if wish.tool == "conversation.last" else SAID_ALOUD]
        texts = [words.quote(self._when(one.at, turn), one.text) for one in reversed(shown)]
        more = 1 < len(shown) < len(matches)
        return " ".join(
            [*texts, *([words.says["of"].format(count=words.many(len(matches), LOOKED_AT))] if more else [])]
        )

    async def _search(
        self, turn: Turn, about: str, span: TimeSpan, *, anybody: bool = False, here: bool = False
    ) -> Sequence[MessageMatch]:
        """Return what was said about something, newest first; wishes like this one are no talk about it."""
        whose = belonging_to(self.name, turn.actor, here=here)
        by: Author | None = None if anybody else "user"
        singular = " ".join(re.sub(self._wording.endings, "", word) or word for word in about.split())
        ways: Sequence[tuple[str, Words]] = ((about, "whole"), (about, "begun"), (singular, "begun"))
        for words, fit in ways:
            matches = await self._memory.search(whose, words, span, by=by, fit=fit, most=LOOKED_AT)
            if talk := [one for one in matches if not self._is_ours(one.text)]:
                return talk
        return []

    def _is_ours(self, text: str) -> bool:
        return any(command.tool.startswith(PAST) for command in self._grammar.commands(text))

    def _span(self, arguments: Mapping[str, Any], turn: Turn) -> TimeSpan | None:
        return self._wording.past.span(self._wording.day(arguments), self._local(turn.at))

    def _when(self, at: float, turn: Turn) -> str:
        return self._wording.past.when(self._local(at), self._local(turn.at))

    def _local(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, self._zone).astimezone(self._zone)


class WithMemory:
    """The tools of an agent and its memory's one deed that waits for a yes, so that all answers are heard alike."""

    def __init__(self, name: str, tools: Tools, memory: Memory, grammar: Grammar) -> None:
        self._name = name
        self._tools = tools
        self._memory = memory
        self._wording = MemoryWords(grammar.tables["remembering"])

    async def listed(self) -> Sequence[Tool]:
        """See `Tools.listed`: no model is offered to forget something."""
        return await self._tools.listed()

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        """See `Tools.call`. What is forgotten is the actor's own, whatever the call says."""
        if call.name != FORGET:
            return await self._tools.call(call, actor, turn_id, assent, tainted=tainted)
        if assent is None or not assent.yes:
            return ToolResult(call.id, False, "Nothing was forgotten.", error="denied")
        try:
            text = await forget(self._memory, self._name, self._wording, call.arguments, actor, turn_id)
        except StoreError as trouble:
            return ToolResult(call.id, False, trouble.spoken, error="failed")
        return ToolResult(call.id, True, text)

    async def watch(self, changed: Callable[[str], None]) -> None:
        """See `Tools.watch`."""
        await self._tools.watch(changed)

    async def aclose(self) -> None:
        """See `Tools.aclose`."""
        await self._tools.aclose()


class MemoryWords:
    """How one language speaks about what was said."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.says: Mapping[str, str] = table["says"]
        self.past = PastTimes(table)
        self.endings: str = table["endings"]
        self._spans: Mapping[str, str] = table["spans"]
        self._numbers: Sequence[str] = table["numbers"]
        self._or_more: str = table["or_more"]
        self._exchange: Sequence[str] = table["exchange"]
        self._lengths: Sequence[tuple[int, str, str]] = table["lengths"]

    def forgotten(self, gone: Forgotten, span: str) -> str:
        """Return what was forgotten, what stays, and what must wait."""
        if not gone.exchanges:
            return self.says["nothing_to_forget"]
        texts = [self.says["forgotten"].format(span=span, count=self.count(gone.exchanges))]
        texts += [self.says["deeds"]] if gone.deeds else []
        texts += [] if gone.scrubbed and gone.dropped else [self.says["later"]]
        return " ".join(texts)

    def span(self, which: str, **words: str) -> str:
        """Return what is to be forgotten, as a part of a sentence."""
        return self._spans[which].format(**words)

    def length(self, arguments: Mapping[str, Any]) -> str:
        """Return a length of time: "ten minutes", "hour"."""
        seconds = int(arguments["seconds"])
        unit, one, more = next(row for row in self._lengths if seconds % row[0] == 0)
        return one if seconds == unit else f"{self._number(seconds // unit)} {more}"

    def day(self, arguments: Mapping[str, Any]) -> str:
        """Return the day that was said, with its part."""
        return self.past.day_phrase(" ".join(filter(None, (arguments.get("day", ""), arguments.get("part", "")))))

    def count(self, exchanges: int) -> str:
        """Return how many exchanges, in words."""
        return f"{self._number(exchanges)} {self._exchange[exchanges != 1]}"

    def many(self, count: int, most: int) -> str:
        """Return a number, or that it is at least so many."""
        return self._or_more.format(count) if count >= most else self._number(count)

    def quote(self, when: str, text: str) -> str:
        """Return what somebody said then, shortened where it is too long to listen to."""
        short = text if len(text) <= QUOTED_CHARACTERS else f"{text[: QUOTED_CHARACTERS - 1].rstrip()}…"
        whole = " ".join(short.split())
        closed = whole if whole.endswith((".", "!", "?", "…")) else f"{whole}."  # or a voice runs on into the next
        return self.says["found"].format(when=when[:1].upper() + when[1:], text=closed)

    def _number(self, number: int) -> str:
        return self._numbers[number] if number < len(self._numbers) else str(number)


async def forget(
    memory: Memory, agent: str, wording: MemoryWords, what: Mapping[str, Any], actor: Actor, turn_id: str
) -> str:
    """Forget, in the turn that wishes it, and return what to say. Raises `StoreError`."""
    whose = belonging_to(agent, actor, here=bool(what.get("here")))
    if about := what.get("about"):
        matches = await memory.search(whose, about, fit="whole", most=MOST_FORGOTTEN)
        turns = dict.fromkeys(one.turn for one in matches)
        deletions = [await memory.forget(whose, turn=one, by_turn=turn_id) for one in turns]
        numbers = (sum(one.exchanges for one in deletions), sum(one.deeds for one in deletions))
        gone = Forgotten(
            *numbers, all(one.scrubbed for one in deletions[-1:]), all(one.dropped for one in deletions[-1:])
        )
        return wording.forgotten(gone, what["span"])
    gone = await memory.forget(whose, _span_of(what), last=what.get("last"), by_turn=turn_id)
    return wording.forgotten(gone, what["span"])


def _span_of(what: Mapping[str, Any]) -> TimeSpan:
    return TimeSpan(what.get("since", ALWAYS.since), what.get("until", ALWAYS.until))


def _without_words(wish: Command, message: str) -> tuple[Message, ...]:
    """Return what is remembered of a search: that it was made. Quoted words would outlive their own forgetting."""
    call = ToolCall(fresh_id("call"), wish.tool, wish.arguments)
    return prompt.exchange([call], [ToolResult(call.id, True, message)], message)
