"""The LLM host: one process, one model, OpenAI's HTTP API on a unix socket or loopback.

    python -m atlas.llm_host.server (--socket PATH | --port N) --model FILE.gguf --name NAME

One answer is computed at a time, in steps of one token or a stretch of prompt. Each step is one call into a worker
thread, so leaving an answer (the client hung up) is cancelling a scope, and takes effect before the next token. Between
two steps an answer gives way to one that is more urgent: `atlas_priority` is voice, chat (the default) or background.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import uvicorn
from anyio.abc import ObjectSendStream
from llguidance import LLTokenizer
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from atlas import __version__
from atlas.conversation import Usage
from atlas.errors import AtlasError, EngineError, RequestError
from atlas.llm_host import formats
from atlas.llm_host import prompt as prompts
from atlas.llm_host.cache import Cache
from atlas.llm_host.constrain import Constraint, check, schema_rule
from atlas.llm_host.embed import Embedder
from atlas.llm_host.embed import parse as parse_texts
from atlas.llm_host.generate import Answer, Call, Generation
from atlas.llm_host.line import Line, Turn
from atlas.llm_host.request import DEFAULT_MAX_TOKENS, Ask, parse
from atlas.llm_host.weights import Sampler, Weights

MAX_BODY_BYTES = 1024 * 1024
BODY_SECONDS = 10  # a client that sends its body slower is given up
SHUTDOWN_SECONDS = 1
log = logging.getLogger("atlas.llm_host")


@dataclass(frozen=True, slots=True)
class Options:
    """What to load and how."""

    model: Path
    name: str
    context: int = 4096
    threads: int = 2
    gpu_layers: int = 0
    conversations: int = 8
    embedder: Path | None = None  # a sentence encoder, loaded when it is first asked for


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model that is ready."""

    weights: Weights
    prompts: prompts.Prompts
    tokenizer: LLTokenizer
    cache: Cache


@dataclass(frozen=True, slots=True)
class Job:
    """A request with everything worked out that can fail before the first token."""

    ask: Ask
    prompt: tuple[int, ...]
    grammar: str
    form: formats.Format | None  # how calls are written, when there may be calls
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer: words, calls, or (last) how it ended."""

    words: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = ""
    usage: Usage = Usage()


def load(options: Options) -> Loaded:
    """Load the model and compute one token, so that the first person does not wait. Raises `EngineError`."""
    weights = Weights(
        options.model,
        context=options.context,
        threads=options.threads,
        gpu_layers=options.gpu_layers,
        sequences=options.conversations,
    )
    cache = Cache(weights, options.conversations)
    weights.decode(0, 0, [weights.begin or 0])
    weights.forget(0)
    return Loaded(weights, prompts.Prompts(weights), weights.tokenizer(), cache)


class Host:
    """One model, and the line of requests before it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._loaded: Loaded | None = None
        self.line = Line()
        self.embedder = Embedder(options.embedder, options.threads, options.name)

    async def open(self) -> None:
        """Load the model; until then `/health` says so."""
        began = time.monotonic()
        self._loaded = await anyio.to_thread.run_sync(load, self.options, abandon_on_cancel=True)
        form = self._loaded.prompts.format.name
        log.info("ready model=%s tools=%s seconds=%.2f", self.options.name, form, time.monotonic() - began)

    @property
    def loaded(self) -> Loaded:
        """The model. Raises `RequestError` while it loads."""
        if self._loaded is None:
            raise RequestError("the model is still loading", code="model_loading")
        return self._loaded

    async def job(self, ask: Ask) -> Job:
        """Work out prompt and grammar. Raises `RequestError` when they cannot be had, or do not fit the context."""
        loaded = self.loaded
        if ask.model != self.options.name:
            raise RequestError(
                f"there is no model {ask.model!r} here, only {self.options.name!r}",
                code="model_not_found",
                param="model",
            )
        return await anyio.to_thread.run_sync(_job, loaded, ask)

    async def answer(self, job: Job, turn: Turn) -> AsyncGenerator[Part, None]:
        """Yield the parts of an answer; the last has `finish`. Leaving stops it before the next token.

        Between two steps, also of a long prompt, it gives way to requests of a higher priority.
        """
        arrived = time.monotonic()
        async with self.line.called(turn):
            began, first = time.monotonic(), 0.0
            generation, sampler = await anyio.to_thread.run_sync(_begin, self.loaded, job)
            answer = Answer(job.ask.stops, job.form)
            end = "left"
            try:
                while generation.finish is None and not answer.stopped:
                    if self.line.somebody_before(turn):
                        await self.line.give_way(turn)
                        await anyio.to_thread.run_sync(generation.resume)
                    raw = await anyio.to_thread.run_sync(generation.step)
                    first = first or (time.monotonic() if raw else 0.0)
                    if words := answer.add(raw):
                        yield Part(words)
                whole = answer.stopped or generation.finish != "length"
                words, calls = answer.end(whole=whole)
                _check_calls(calls, job.ask)
                if words or calls:
                    yield Part(words, tuple(calls))
                end = "tool_calls" if calls else "stop" if whole else "length"
                yield Part(finish=end, usage=generation.usage)
            finally:
                sampler.close()
                wait_ms, first_ms = (began - arrived) * 1000, (first - began) * 1000 if first else -1
                _write_line(job, generation.usage, wait_ms, first_ms, time.monotonic() - first, end)


def _job(loaded: Loaded, ask: Ask) -> Job:
    prompt = loaded.prompts.tokens(ask.messages, ask.tools)
    room = loaded.weights.context - len(prompt)
    wanted = ask.max_tokens or min(DEFAULT_MAX_TOKENS, max(room, 1))
    if wanted > room:
        raise RequestError(
            f"the prompt has {len(prompt)} tokens and {wanted} more are asked for; the context holds "
            f"{loaded.weights.context}",
            code="context_length_exceeded",
            param="messages",
        )
    grammar, form = "", None
    if ask.schema is not None:
        grammar = f"start: {schema_rule(ask.schema, 'response_format', 'response_format')}\n"
    elif ask.tools:
        form = None if ask.choice == "none" else loaded.prompts.format
        grammar = formats.grammar(loaded.weights, loaded.prompts.format, ask.tools, ask.choice, parallel=ask.parallel)
    if grammar:
        try:
            Constraint(loaded.tokenizer, grammar)  # now, while the request can still be refused
        except EngineError as trouble:
            raise RequestError(str(trouble), code="invalid_schema", param="tools") from trouble
    return Job(ask, tuple(prompt), grammar, form, wanted)


def _write_line(job: Job, usage: Usage, wait_ms: float, first_ms: float, seconds: float, end: str) -> None:
    """Leave the one line of an answer in the log; `seconds` have passed since its first token, if there was one."""
    log.info(
        "answered conversation=%s prompt=%d cached=%d generated=%d wait_ms=%d first_ms=%d tok_s=%.1f end=%s",
        (job.ask.conversation or "-")[:64].encode("unicode_escape").decode(),
        *(usage.prompt, usage.cached, usage.completion, wait_ms, first_ms),
        (usage.completion - 1) / seconds if usage.completion > 1 else 0.0,
        end,
    )


def _begin(loaded: Loaded, job: Job) -> tuple[Generation, Sampler]:
    ask = job.ask
    forced = bool(job.grammar) and ask.choice != "auto"  # punishing repetition would punish JSON's punctuation
    sampler = Sampler(
        loaded.weights.size,
        temperature=ask.temperature,
        top_p=ask.top_p,
        top_k=ask.top_k,
        repeat=1.0 if forced else ask.repeat,
        frequency=ask.frequency,
        presence=ask.presence,
        seed=ask.seed,
    )
    generation = Generation(
        loaded.weights,
        loaded.cache,
        key=ask.conversation,
        prompt=job.prompt,
        sampler=sampler,
        constraint=Constraint(loaded.tokenizer, job.grammar) if job.grammar else None,
        max_tokens=job.max_tokens,
    )
    return generation, sampler


def _check_calls(calls: list[Call], ask: Ask) -> None:
    schemas = {tool["function"]["name"]: tool["function"].get("parameters") or {} for tool in ask.tools}
    for call in calls:
        if call.name not in schemas:
            raise EngineError(f"the model called {call.name!r}, which is no tool of this request")
        if wrong := check(call.arguments, schemas[call.name]):
            raise EngineError(f"the model called {call.name!r} with arguments that do not fit: {wrong}")


# ── HTTP ───────────────────────────────────────────────────────────────────────────────────────────

STATUS = {"model_loading": 503, "model_not_found": 404, "too_many_requests": 429, "too_large": 413, "slow_body": 408}


def problem(message: str, status: int, code: str | None = None, param: str | None = None) -> JSONResponse:
    """Return an error as OpenAI shapes it."""
    kind = "server_error" if status >= 500 else "rate_limit_error" if status == 429 else "invalid_request_error"
    body = {"error": {"message": message, "type": kind, "code": code, "param": param or None}}
    return JSONResponse(body, status, headers={"retry-after": "1"} if status in (429, 503) else None)


class Reply(Response):
    """Answers a job, streamed or whole, and drops it when the client hangs up."""

    def __init__(self, host: Host, job: Job) -> None:
        super().__init__()
        self._host, self._job = host, job
        self._turn: Turn
        self._head = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time()), "model": job.ask.model}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve."""
        try:
            # Now, while it can still be refused with a status.
            with self._host.line.place(self._job.ask.priority, self._job.ask.conversation) as self._turn:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_when_gone, receive, tasks.cancel_scope)
                    await (self._streamed(send) if self._job.ask.stream else self._whole(scope, receive, send))
                    tasks.cancel_scope.cancel()
        except RequestError as full:
            await refusal(full)(scope, receive, send)

    async def _whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        words, last = "", Part()
        calls: tuple[Call, ...] = ()
        try:
            async with aclosing(self._host.answer(self._job, self._turn)) as parts:
                async for part in parts:
                    words, calls, last = words + part.words, calls or part.calls, part
        except EngineError as trouble:
            await problem(str(trouble), 500, "engine_failed")(scope, receive, send)
            return
        message: dict[str, Any] = {"role": "assistant", "content": words or (None if calls else "")}
        if calls:
            message["tool_calls"] = [_call_body(call) for call in calls]
        choice = {"index": 0, "message": message, "finish_reason": last.finish, "logprobs": None}
        body = {**self._head, "object": "chat.completion", "choices": [choice], "usage": _usage_body(last.usage)}
        await JSONResponse(body)(scope, receive, send)

    async def _streamed(self, send: Send) -> None:
        """Send events as they come. A reader that is slow holds up itself, not the model and those in line."""
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        give, take = anyio.create_memory_object_stream[dict[str, Any] | str](self._job.max_tokens * 2 + 8)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._events, give)
            async with take:
                async for event in take:
                    text = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
                    await send({"type": "http.response.body", "body": f"data: {text}\n\n".encode(), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _events(self, give: ObjectSendStream[dict[str, Any] | str]) -> None:
        async with give, aclosing(self._host.answer(self._job, self._turn)) as parts:
            await give.send(self._chunk({"role": "assistant", "content": ""}))
            try:
                async for part in parts:
                    if part.words:
                        await give.send(self._chunk({"content": part.words}))
                    if part.calls:
                        bodies = [{"index": i, **_call_body(call)} for i, call in enumerate(part.calls)]
                        await give.send(self._chunk({"tool_calls": bodies}))
                    if part.finish:
                        await give.send(self._chunk({}, part.finish))
                        if self._job.ask.include_usage:
                            await give.send({**self._chunk(), "choices": [], "usage": _usage_body(part.usage)})
            except EngineError as trouble:
                error = {"message": str(trouble), "type": "server_error", "code": "engine_failed", "param": None}
                await give.send({"error": error})
            await give.send("[DONE]")

    def _chunk(self, delta: Mapping[str, Any] | None = None, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}


async def _when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _call_body(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)}
    return {"id": call.id or f"call_{secrets.token_hex(8)}", "type": "function", "function": function}


def _usage_body(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


async def _body(request: Request) -> bytes:
    """Read the body, within limits of size and time."""
    body = bytearray()
    with anyio.move_on_after(BODY_SECONDS):
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY_BYTES:
                raise RequestError(f"the body is over {MAX_BODY_BYTES} bytes", code="too_large")
        return bytes(body)
    raise RequestError(f"the body took over {BODY_SECONDS} seconds", code="slow_body")


def refusal(error: RequestError) -> JSONResponse:
    """Return the answer to a request that asks for something impossible."""
    return problem(str(error), STATUS.get(error.code, 400), error.code, error.param)


def app(host: Host) -> Starlette:
    """Return every URL of the host."""

    async def chat(request: Request) -> Response:
        try:
            job = await host.job(parse(await _body(request)))
        except RequestError as error:
            return refusal(error)
        except ClientDisconnect:
            return Response(status_code=400)
        return Reply(host, job)

    async def embeddings(request: Request) -> Response:
        reply = Response(status_code=400)  # nobody reads it: the client is gone
        async with anyio.create_task_group() as tasks:
            try:
                wish = parse_texts(await _body(request))
                tasks.start_soon(_when_gone, request.receive, tasks.cancel_scope)
                reply = Response(await host.embedder.answer(wish, host.line), media_type="application/json")
            except RequestError as error:
                reply = refusal(error)
            except EngineError as trouble:
                reply = problem(str(trouble), 500, "engine_failed")
            except ClientDisconnect:
                pass
            tasks.cancel_scope.cancel()
        return reply

    async def models(_request: Request) -> Response:
        names = [name for name in (host.options.name, host.embedder.name) if name]
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "atlas"} for name in names]
        return JSONResponse({"object": "list", "data": data})

    async def health(_request: Request) -> Response:
        try:
            loaded = host.loaded
        except RequestError as error:
            return refusal(error)
        versions = {name: version(name) for name in ("llama-cpp-python", "llguidance")} | {"atlas": __version__}
        facts = {"status": "ok", "model": host.options.name, "context": loaded.weights.context}
        return JSONResponse({**facts, "tools": loaded.prompts.format.name, "versions": versions})

    async def plain(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(
            error.detail, error.status_code, "not_found" if error.status_code == 404 else "method_not_allowed"
        )

    routes = [
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/embeddings", embeddings, methods=["POST"]),
        Route("/v1/models", models),
        Route("/health", health),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: plain})


# ── the process ────────────────────────────────────────────────────────────────────────────────────


class Server(uvicorn.Server):
    """uvicorn, but signals are ours: it would die of the signal again after it has tidied up."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def listen(path: Path | None, port: int) -> socket.socket:
    """Return a listening socket: a unix socket that only this user can use, or loopback.

    A socket file that nobody listens on any more is replaced. Raises `EngineError` when the place is taken.
    """
    if path is None:
        return socket.create_server(("127.0.0.1", port))
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == 0:
                raise EngineError(f"another process listens on {path}", hint="stop it first")
        path.unlink()
    elif path.exists():
        raise EngineError(f"{path} is in the way: it is not a socket", hint="remove it, or choose another --socket")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    listener = socket.socket(socket.AF_UNIX)
    try:
        # Nobody can connect before listen(), so there is no moment in which the mode of the file is too wide.
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen()
    except OSError as trouble:
        listener.close()
        raise EngineError(f"cannot listen on {path}: {trouble}", hint="choose a shorter or another path") from trouble
    return listener


async def serve(options: Options, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT. Raises `EngineError`, in a group, when the model cannot be loaded."""
    host = Host(options)
    config = uvicorn.Config(
        app(host), lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=SHUTDOWN_SECONDS
    )
    server = Server(config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_leave_on_signal, server)
        tasks.start_soon(host.open)
        await server.serve(sockets=[listener])
        tasks.cancel_scope.cancel()


async def _leave_on_signal(server: Server) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _signal in signals:
            server.should_exit = True


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="atlas-llm-host", description="One language model behind OpenAI's HTTP API.")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--socket", type=Path, help="listen on this unix socket, for this user only")
    place.add_argument("--port", type=int, help="listen on this port of loopback")
    parser.add_argument("--model", type=Path, required=True, help="the GGUF file")
    parser.add_argument("--name", required=True, help="what requests call the model")
    parser.add_argument("--context", type=_count, default=4096, help="tokens, shared by all conversations")
    parser.add_argument("--threads", type=_count, default=2)
    parser.add_argument("--gpu-layers", type=int, default=0, help="-1 is all")
    parser.add_argument("--conversations", type=_count, default=8, help="how many key-value caches are kept")
    parser.add_argument("--embedder", type=Path, help="the GGUF file of a sentence encoder, called by its folder")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    options = Options(
        *(given.model, given.name, given.context, given.threads, given.gpu_layers, given.conversations, given.embedder)
    )
    outcome = 0
    try:
        listener = listen(given.socket, given.port or 0)
        anyio.run(serve, options, listener)
    except* AtlasError as troubles:
        outcome = max(_say(trouble) for trouble in troubles.exceptions if isinstance(trouble, AtlasError))
    if given.socket and not outcome:
        given.socket.unlink(missing_ok=True)
    logging.shutdown()
    # A model that is being loaded sits in a thread that nothing can interrupt; nothing it does is worth waiting for.
    os._exit(outcome)


def _say(trouble: AtlasError) -> int:
    log.error("%s%s", trouble, f" ({trouble.hint})" if trouble.hint else "")
    return 1


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


if __name__ == "__main__":
    main()
