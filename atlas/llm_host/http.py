"""Every URL of the LLM host, in the shapes of OpenAI's HTTP API; what is our own is called `atlas`."""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atlas import __version__
from atlas.errors import EngineError, RequestError
from atlas.llm_host.embed import parse as parse_texts
from atlas.llm_host.generate import AnswerPart, GeneratedCall
from atlas.llm_host.line import LinePlace
from atlas.llm_host.request import ChatRequest, ContextExceeded, forgotten, parse
from wall.strict_json import unbroken

if TYPE_CHECKING:  # URLs can be understood without loading llama.cpp
    from atlas.llm_host.host import Host, Job

MAX_BODY_BYTES = 1024 * 1024
BODY_SECONDS = 10  # a client that sends its body slower is given up

STATUS = {
    "model_loading": 503,
    "model_stopping": 503,
    "model_not_found": 404,
    "too_many_requests": 429,
    "too_large": 413,
    "slow_body": 408,
}


def problem(message: str, status: int, code: str | None = None, param: str | None = None, **more: Any) -> JSONResponse:
    """Return an error as OpenAI shapes it, and `more` that we have to say."""
    kind = "server_error" if status >= 500 else "rate_limit_error" if status == 429 else "invalid_request_error"
    error = {"message": message, "type": kind, "code": code, "param": param or None, **more}
    return JSONResponse({"error": error}, status, headers={"retry-after": "1"} if status in (429, 503) else None)


class AnswerStream(Response):
    """Answers what a body asks, streamed or whole, and drops it when the client is gone, or `server` hung up on it.

    Its place in line is had before the prompt is worked out, and left when the model is done, however long the answer
    takes to be read.
    """

    def __init__(self, host: Host, body: bytes) -> None:
        super().__init__()
        self._host, self._body = host, body
        self._ask: ChatRequest
        self._job: Job
        self._place: LinePlace
        self._line = ExitStack()  # closed, it leaves the place
        self._head: dict[str, Any] = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time())}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_when_gone, receive, tasks.cancel_scope)
            try:
                await self._served(scope, receive, send)
            except RequestError as refused:
                await failure(refused)(scope, receive, send)
            tasks.cancel_scope.cancel()

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, or raise `RequestError` while it can still be refused with a status."""
        self._ask = ask = await self._host.parsing.read(parse, self._body)
        self._body = b""  # it may wait for long now
        self._head["model"] = ask.model
        with self._line:
            place = self._host.line.place(ask.priority, ask.conversation, ahead=ask.prefill)
            self._place = self._line.enter_context(place)
            self._job = await self._host.job(ask)
            if ask.stream:
                await self._streamed(send)
            else:
                await (await self._whole())(scope, receive, send)

    async def _whole(self) -> Response:
        try:
            with self._line:
                body = await (self._read_ahead() if self._ask.prefill else self._answered())
        except EngineError as trouble:
            return failure(trouble)
        return JSONResponse(body)

    async def _read_ahead(self) -> dict[str, Any]:
        usage = await self._host.read_ahead(self._job, self._place)
        return {"object": "atlas.prefill", "model": self._ask.model, "usage": usage.as_openai()}

    async def _answered(self) -> dict[str, Any]:
        parts: list[AnswerPart] = []
        await self._host.answer(self._job, self._place, parts.append)
        words, last = "".join(part.words for part in parts), parts[-1]
        message: dict[str, Any] = {"role": "assistant", "content": words or (None if last.calls else "")}
        if last.calls:
            message["tool_calls"] = [_call_body(call) for call in last.calls]
        choice = {"index": 0, "message": message, "finish_reason": last.finish, "logprobs": None}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": last.usage.as_openai()}

    async def _streamed(self, send: Send) -> None:
        """Send events as they come. A reader that is slow holds up itself, not the model and those in line."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        give, take = anyio.create_memory_object_stream[AnswerPart | EngineError](math.inf)  # max_tokens bounds it
        async with take, anyio.create_task_group() as tasks:  # open until the model has really stopped giving
            tasks.start_soon(self._give, give)
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send(_body(_event(self._chunk({"role": "assistant", "content": ""}))))
            async for part in take:
                await send(_body(self._events([part, *_waiting(take)])))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _give(self, give: MemoryObjectSendStream[AnswerPart | EngineError]) -> None:
        with self._line, give:
            try:
                await self._host.answer(self._job, self._place, give.send_nowait)
            except EngineError as trouble:
                give.send_nowait(trouble)

    def _events(self, news: list[AnswerPart | EngineError]) -> bytes:
        """Return what is new as few events: words that waited for a slow reader become one."""
        parts = [part for part in news if isinstance(part, AnswerPart)]
        events: list[Any] = []
        if words := "".join(part.words for part in parts):
            events.append(self._chunk({"content": words}))
        last = news[-1]
        if isinstance(last, EngineError):
            events.append({"error": {**_ERROR, "message": str(last)}})
        elif last.finish:
            if last.calls:
                bodies = [{"index": i, **_call_body(call)} for i, call in enumerate(last.calls)]
                events.append(self._chunk({"tool_calls": bodies}))
            events.append(self._chunk({}, last.finish))
            if self._ask.include_usage:
                events.append({**self._chunk(), "choices": [], "usage": last.usage.as_openai()})
        done = isinstance(last, EngineError) or last.finish
        return b"".join(map(_event, events)) + (b"data: [DONE]\n\n" if done else b"")

    def _chunk(self, delta: Mapping[str, Any] | None = None, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}


_ERROR = {"type": "server_error", "code": "engine_failed", "param": None}


def _waiting(take: MemoryObjectReceiveStream[AnswerPart | EngineError]) -> Iterator[AnswerPart | EngineError]:
    """Yield what is in the stream already."""
    while True:
        try:
            yield take.receive_nowait()
        except (anyio.WouldBlock, anyio.EndOfStream):
            return


def _event(event: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _body(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def _when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _call_body(call: GeneratedCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": unbroken(json.dumps(call.arguments, ensure_ascii=False))}
    return {"id": call.id or f"call_{secrets.token_hex(8)}", "type": "function", "function": function}


async def _read(request: Request) -> bytes:
    """Read the body, within limits of size and time."""
    body = bytearray()
    with anyio.move_on_after(BODY_SECONDS):
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY_BYTES:
                raise RequestError(f"the body is over {MAX_BODY_BYTES} bytes", code="too_large")
        return bytes(body)
    raise RequestError(f"the body took over {BODY_SECONDS} seconds", code="slow_body")


def failure(trouble: Exception) -> Response:
    """Return the answer to a request that asks for something impossible, fails, or whose client is gone."""
    match trouble:
        case RequestError():
            more = {"atlas": trouble.figures} if isinstance(trouble, ContextExceeded) else {}
            return problem(str(trouble), STATUS.get(trouble.code, 400), trouble.code, trouble.param, **more)
        case EngineError():
            return problem(str(trouble), 500, "engine_failed")
        case HTTPException(detail=detail, status_code=status):
            return problem(detail, status, "not_found" if status == 404 else "method_not_allowed")
    return Response(status_code=400)  # nobody reads it


class Closing:
    """An app that refuses, once it is `stopping`, what it has not begun to answer: whoever asks is to come again."""

    def __init__(self, inner: ASGIApp, stopping: anyio.Event) -> None:
        self._inner, self._stopping = inner, stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve."""
        begun = False

        async def begin(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        async def stop() -> None:
            await self._stopping.wait()
            if not begun:
                tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop)
            await self._inner(scope, receive, begin)
            tasks.cancel_scope.cancel()
        if self._stopping.is_set() and not begun:
            stopped = RequestError("the model is stopping; the next process has it", code="model_stopping")
            await failure(stopped)(scope, receive, send)


def app(host: Host) -> Starlette:
    """Return every URL of the host."""
    # Once: it is read from files, and the supervisor asks for it every few seconds.
    versions = {name: version(name) for name in ("llama-cpp-python", "llguidance")} | {"atlas": __version__}

    async def chat(request: Request) -> Response:
        return AnswerStream(host, await _read(request))

    async def embeddings(request: Request) -> Response:
        wish = parse_texts(await _read(request))
        reply = Response(status_code=400)  # nobody reads it: the client is gone
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_when_gone, request.receive, tasks.cancel_scope)
            try:
                body = await host.embedder.answer(wish, host.line, host.compute)
                reply = Response(body, media_type="application/json")
            except (RequestError, EngineError) as trouble:
                reply = failure(trouble)
            tasks.cancel_scope.cancel()
        return reply

    async def forget(request: Request) -> Response:
        await host.forget(forgotten(await _read(request)))
        return JSONResponse({"object": "atlas.forget"})

    async def models(_request: Request) -> Response:
        names = [name for name in (host.options.name, host.embedder.name) if name]
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "atlas"} for name in names]
        return JSONResponse({"object": "list", "data": data})

    async def health(_request: Request) -> Response:
        if seconds := host.compute.stuck_seconds:
            return JSONResponse({"status": "stuck", "seconds": round(seconds)}, 503)
        loaded = host.loaded
        facts = {"status": "ok", "model": host.options.name, "context": loaded.weights.context}
        facts["requests"] = len(host.line)
        return JSONResponse({**facts, "tools": loaded.prompts.format.name, "versions": versions})

    async def failed(_request: Request, trouble: Exception) -> Response:
        return failure(trouble)

    routes = [
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/embeddings", embeddings, methods=["POST"]),
        Route("/v1/atlas/forget", forget, methods=["POST"]),
        Route("/v1/models", models),
        Route("/health", health),
    ]
    kinds = (HTTPException, RequestError, EngineError, ClientDisconnect)
    return Starlette(routes=routes, exception_handlers=dict.fromkeys(kinds, failed))
