"""/v1/responses: typed turns in the newer wire format of OpenAI, also with tools of the client's own."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from anyio.abc import TaskGroup
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from atlas.conversation import Actor, ClientTools, Message, ToolCall, Turn, fresh_id
from atlas.errors import AtlasError, RequestError
from atlas.events import Event, TextDelta, ToolStarted, TurnEnded
from atlas.fields import Fields, Json
from atlas.gateway import realtime_settings
from atlas.gateway.auth import require
from atlas.gateway.chat import MAX_ANSWER_TOKENS, MAX_CHARACTERS, agent_for, read_messages
from atlas.gateway.realtime_calls import ANSWER_SECONDS, ClientCalls
from atlas.gateway.realtime_responses import read_metadata
from atlas.gateway.wire import Stream, Write, json_body, sse, sse_error, while_wanted
from atlas.house import House
from atlas.latest import Latest

KEPT_RESPONSES = 512  # to go on from; in memory, and not over a restart
UNREAD_EVENTS = 256  # of a turn whose client is between two requests
READ = {"model", "input", "instructions", "previous_response_id", "stream", "tools", "tool_choice", "max_output_tokens"}
READ |= {"temperature", "metadata", "text"}


def routes(house: House) -> list[Route]:
    """Return the URLs of this door."""
    earlier = Latest[str, EarlierResponse](KEPT_RESPONSES)

    async def responses(request: Request) -> Response:
        actor = require(request)
        wanted = _read(await json_body(request), actor, house, earlier)
        if wanted.goes_on:  # once: its turn has one reader
            previous = wanted.body["previous_response_id"]
            earlier[previous] = replace(earlier[previous], run=None)
        writing = ResponseWriting(wanted)

        async def answer(write: Write | None) -> None:
            await _answer(writing, house, request.app.state.tasks, write)
            earlier[writing.id] = EarlierResponse(
                actor.device_key, writing.history(), writing.run if writing.waits else None
            )

        if wanted.stream:
            return Stream(request, answer, "text/event-stream", late=sse_error)
        if not await while_wanted(request, lambda: answer(None)):
            return Response(status_code=499)  # nobody reads it
        return JSONResponse(writing.whole("completed"))

    return [Route("/v1/responses", responses, methods=["POST"])]


# ── what was asked ─────────────────────────────────────────────────────────────────────────────────


class Run:
    """A turn that is answered over one request or several: in between, its client makes the calls it asked for."""

    def __init__(self, house: House, turn: Turn) -> None:
        self.calls = ClientCalls()
        self.turn = turn
        self.trouble: AtlasError | None = None
        self.scope = anyio.CancelScope()
        self._house = house
        self._told, self.events = anyio.create_memory_object_stream[Event](UNREAD_EVENTS)

    async def run(self) -> None:
        """Answer, until done, or until nobody has read what is told for as long as a call may take."""
        with self.scope, self._told:
            try:
                await self._house.reply(self.turn, self._tell)
            except AtlasError as trouble:
                self.trouble = trouble

    async def _tell(self, event: Event) -> None:
        with anyio.move_on_after(ANSWER_SECONDS) as patience:
            await self._told.send(event)
        if patience.cancelled_caught:
            self.scope.cancel()


@dataclass(frozen=True, slots=True)
class EarlierResponse:
    """A response to go on from: whose, what was said up to it, and its turn, when that waits for calls."""

    device_key: str
    history: tuple[Message, ...]
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class ResponseRequest:
    """A checked request."""

    body: Mapping[str, Any]
    turn: Turn
    tools: Sequence[Json]
    stream: bool
    goes_on: Run | None = None
    ignored: tuple[str, ...] = ()


def _read(body: Json, actor: Actor, house: House, earlier: Mapping[str, EarlierResponse]) -> ResponseRequest:
    fields = Fields(body)
    model = fields.text("model", "atlas")
    before = _before(fields.text("previous_response_id", ""), actor, earlier)
    messages, outputs = _input(fields)
    read_metadata(body.get("metadata"), "metadata")
    session = _tools(fields, house)
    goes_on = None
    if before and before.run:
        answered = [before.run.calls.note(call_id, output) for call_id, output in outputs]
        goes_on = before.run if any(answered) else None
    history = before.history if before else ()
    instructions = fields.text("instructions", "", MAX_CHARACTERS)
    text = ""
    if goes_on is None:
        results = [{"role": "user", "content": f"[What came of it: {output}]"} for _, output in outputs]
        earlier_messages, text, more = read_messages([*messages, *results])
        history, instructions = (*history, *earlier_messages), "\n\n".join(filter(None, [instructions, more]))
    turn = Turn(
        id=fresh_id("turn"),
        text=text,
        actor=actor,
        at=time.time(),
        agent=agent_for(model, actor, house),
        history=history,
        max_tokens=fields.whole("max_output_tokens", 1, MAX_ANSWER_TOKENS),
        temperature=fields.number("temperature", 0, 2),
        instructions=instructions,
        remembered=False,
    )
    ignored = [name for name, value in body.items() if name not in READ and value not in (None, False, [], {})]
    agent = turn.agent or house.config.house.agent
    if session["tools"] and not house.config.llm[house.config.agents[agent].llm].tools:
        session["tools"], ignored = [], [*ignored, "tools"]
    return ResponseRequest(body, turn, session["tools"], fields.flag("stream"), goes_on, tuple(ignored))


def _tools(fields: Fields, house: House) -> Json:
    """Return the client's tools and its choice among them, as a Realtime session has them."""
    session: Json = {}
    try:
        for name, default in (("tools", []), ("tool_choice", "auto")):
            value = fields.value(name)
            given = default if value is None else value
            realtime_settings.FIELDS[name](session, name, given, realtime_settings.own_of(house))
    except RequestError as wrong:
        complaint, param = str(wrong).replace("session.", "", 1), wrong.param.removeprefix("session.")
        raise RequestError(complaint, code=wrong.code, param=param, hint=wrong.hint) from wrong
    return session


def _before(previous: str, actor: Actor, earlier: Mapping[str, EarlierResponse]) -> EarlierResponse | None:
    if not previous:
        return None
    before = earlier.get(previous)
    if before is None or before.device_key != actor.device_key:
        raise RequestError(
            f"there is no response {previous[:100]!r}",
            code="previous_response_not_found",
            param="previous_response_id",
            hint="the house remembers the last few hundred, until it is restarted; send the conversation as input",
        )
    return before


def _input(fields: Fields) -> tuple[list[Any], list[tuple[str, str]]]:
    """Return the messages of an input, as chat completions have them, and the outputs of calls."""
    given = fields.value("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}], []
    if not isinstance(given, list) or not given:
        raise fields.wrong("input", "a text, or a list of items")
    messages: list[Any] = []
    outputs: list[tuple[str, str]] = []
    for place, item in enumerate(given):
        here = Fields(item if isinstance(item, dict) else {}, f"input[{place}]")
        match here.text("type", "message"):
            case "message":
                messages.append(item)
            case "function_call":
                called = f"[{here.text('name')} was called with {here.text('arguments', longest=MAX_CHARACTERS)}]"
                messages.append({"role": "assistant", "content": called})
            case "function_call_output":
                output = here.value("output")
                written = output if isinstance(output, str) else json.dumps(output)
                outputs.append((here.text("call_id"), written[:MAX_CHARACTERS]))
            case "reasoning":
                pass  # of another model; nothing here thinks by it
            case kind:
                raise RequestError(
                    f"input[{place}].type {kind!r} does not apply here",
                    code="unsupported",
                    param=f"input[{place}].type",
                )
    return messages, outputs


# ── what is answered ───────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class ResponseWriting:
    """A response while it is written: its items so far, and the events that tell of them."""

    request: ResponseRequest
    id: str = field(default_factory=lambda: fresh_id("resp"))
    text: str = ""
    calls: list[Json] = field(default_factory=list)
    ended: TurnEnded | None = None
    run: Run | None = None
    _number: int = -1
    _item_id: str = field(default_factory=lambda: fresh_id("msg"))

    @property
    def waits(self) -> bool:
        """Whether its turn goes on once the client has made calls."""
        return self.ended is None

    def history(self) -> tuple[Message, ...]:
        """Return what was said up to its end."""
        assert self.run
        turn = self.run.turn
        return (*turn.history, Message("user", turn.text), Message("assistant", self.text))

    def event(self, kind: str, **fields: Any) -> bytes:
        """Return an event, numbered."""
        self._number += 1
        return sse({"type": kind, "sequence_number": self._number, **fields})

    def begin(self) -> bytes:
        """Return how it begins."""
        opened = self.whole("in_progress")
        return self.event("response.created", response=opened) + self.event("response.in_progress", response=opened)

    def say(self, text: str) -> bytes:
        """Take more words; return their events."""
        begun = b""
        place = {"item_id": self._item_id, "output_index": 0, "content_index": 0}
        if not self.text:
            item = self._message("in_progress") | {"content": []}
            begun = self.event("response.output_item.added", output_index=0, item=item)
            begun += self.event("response.content_part.added", **place, part=_part(""))
        self.text += text
        return begun + self.event("response.output_text.delta", **place, delta=text, logprobs=[])

    def call(self, call: ToolCall) -> bytes:
        """Take a call that the client is to make; return its events."""
        index, arguments = int(bool(self.text)) + len(self.calls), json.dumps(dict(call.arguments), ensure_ascii=False)
        item = {"type": "function_call", "id": fresh_id("fc"), "call_id": call.id, "name": call.name}
        item |= {"arguments": arguments, "status": "completed"}
        self.calls.append(item)
        place = {"item_id": item["id"], "output_index": index}
        begun = item | {"arguments": "", "status": "in_progress"}
        return (
            self.event("response.output_item.added", output_index=index, item=begun)
            + self.event("response.function_call_arguments.delta", **place, delta=arguments)
            + self.event("response.function_call_arguments.done", **place, name=call.name, arguments=arguments)
            + self.event("response.output_item.done", output_index=index, item=item)
        )

    def finish(self) -> bytes:
        """Return how it ends."""
        last = b""
        if self.text:
            place = {"item_id": self._item_id, "output_index": 0, "content_index": 0}
            last = self.event("response.output_text.done", **place, text=self.text, logprobs=[])
            last += self.event("response.content_part.done", **place, part=_part(self.text))
            last += self.event("response.output_item.done", output_index=0, item=self._message("completed"))
        whole = self.whole("completed")
        return last + self.event(f"response.{whole['status']}", response=whole)

    def whole(self, status: str) -> Json:
        """Return the response as an object."""
        body, usage = self.request.body, self.ended.usage if self.ended else None
        cut = status == "completed" and self.ended is not None and self.ended.end == "length"
        return {
            "id": self.id,
            "object": "response",
            "created_at": int(self.request.turn.at),
            "status": "incomplete" if cut else status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "metadata": body.get("metadata") or {},
            "model": body.get("model") or "atlas",
            "output": [] if status == "in_progress" else [*([self._message(status)] if self.text else []), *self.calls],
            "parallel_tool_calls": False,
            "previous_response_id": body.get("previous_response_id"),
            "temperature": body.get("temperature"),
            "text": {"format": {"type": "text"}},
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": list(self.request.tools),
            "top_p": None,
            "usage": usage
            and {
                "input_tokens": usage.prompt,
                "input_tokens_details": {"cached_tokens": usage.cached},
                "output_tokens": usage.completion,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.prompt + usage.completion,
            },
            "atlas": {"ignored": list(self.request.ignored)},
        }

    def _message(self, status: str) -> Json:
        content = [_part(self.text)]
        return {"type": "message", "id": self._item_id, "status": status, "role": "assistant", "content": content}


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


async def _answer(writing: ResponseWriting, house: House, tasks: TaskGroup, write: Write | None) -> None:
    """Answer, up to the end or to the calls that the client is to make; who goes away ends the turn."""

    async def tell(piece: bytes) -> None:
        if write:
            await write(piece)

    run = writing.run = writing.request.goes_on or _started(writing.request, house, tasks)
    names = frozenset(tool["name"] for tool in writing.request.tools)
    names |= run.turn.client_tools.names if run.turn.client_tools else frozenset()
    whole = False
    try:
        await tell(writing.begin())
        run.calls.go_on()
        async for event in run.events:
            match event:
                case TextDelta(text) if text:
                    await tell(writing.say(text))
                case ToolStarted(call) if call.name in names:
                    await tell(writing.call(call))
                    break
                case TurnEnded():
                    writing.ended = event
        if run.trouble:
            raise run.trouble
        await tell(writing.finish())
        whole = True
    finally:
        if not whole:
            run.scope.cancel()


def _started(wanted: ResponseRequest, house: House, tasks: TaskGroup) -> Run:
    run = Run(house, wanted.turn)
    offered = tuple(realtime_settings.client_tools({"tools": wanted.tools, "tool_choice": "auto"}))
    if offered and wanted.body.get("tool_choice") != "none":
        run.turn = replace(wanted.turn, client_tools=ClientTools(offered, run.calls.call))
    tasks.start_soon(run.run)
    return run
