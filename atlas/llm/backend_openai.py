"""A backend over HTTP: any server with OpenAI's chat completions. Our own LLM host, llama-server, vLLM, Ollama.

Servers differ in the small things. Their calls are put together in `calls`, their errors understood in `refusals`;
here: usage in every event, in the last or in none, thoughts beside the words or among them, comments that keep alive.
"""

from __future__ import annotations

import json
import math
from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2

from atlas.conversation import Message, Tool, ToolCall, Usage
from atlas.errors import ConfigError, EngineError, LlmGone, LlmLoading
from atlas.llm.backend import BackendPrompt, Calls, Delta, Embeddings, Finish, Finished, Priority, TextPiece
from atlas.llm.calls import PartialCalls
from atlas.llm.refusals import error_in, refusal
from atlas.own_words import noted
from atlas.thoughts import Thoughts
from wall.strict_json import unbroken

CONNECT_SECONDS = 5.0
HEALTH_SECONDS = 3.0
MAX_EVENT_BYTES = 1024 * 1024  # one event of a stream; a whole call may be in it
MAX_ANSWER_BYTES = 64 * 1024 * 1024  # that is not streamed: two thousand long vectors
MAX_ERROR_BYTES = 4096  # of an error's body, for the log
# What of a delta is a part of an answer, or of the thought before it; many servers also send deltas of nothing.
SAYING = ("content", "refusal", "reasoning_content", "reasoning", "tool_calls", "function_call")
DOT = "__"  # OpenAI's tool names have no dots


@dataclass(frozen=True, slots=True)
class BackendSettings:
    """Where a model is served, and how patiently it is waited for."""

    model: str
    base_url: str = "http://llm/v1"  # the host's name is of no matter on a unix socket
    socket: Path | None = None
    api_key: str = field(default="", repr=False)
    tools: bool = True  # False: tools are never sent, whatever the caller gives
    own_host: bool = True  # our LLM host: it knows which conversation's cache to go on with
    first_words_seconds: float = 120.0  # the line before the model, its reading of a long prompt, or one whole call
    idle_seconds: float = 30.0  # between two events of a stream


async def open(settings: BackendSettings) -> OpenAiBackend:
    """Return the backend; nothing is connected until it is used. Raises `ConfigError` for an impossible address."""
    try:
        url = httpx2.URL(settings.base_url)
        fits = url.scheme in ("http", "https") and bool(url.host)
    except httpx2.InvalidURL:
        fits = False
    if not fits:
        raise ConfigError(f"{settings.base_url!r} is no http address", hint="give the url as http://HOST:PORT/v1")
    return OpenAiBackend(settings)


class OpenAiBackend:
    """Keeps the contract of `Backend` over HTTP."""

    def __init__(self, settings: BackendSettings) -> None:
        self.model = settings.model
        self._settings = settings
        self._url = settings.base_url.rstrip("/")
        key = {"authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
        self._http = httpx2.AsyncClient(
            # One attempt: a request that is repeated would be answered twice.
            transport=httpx2.AsyncHTTPTransport(
                uds=str(settings.socket) if settings.socket else None,
                verify=httpx2.URL(self._url).scheme == "https",  # else the world's certificates are read in vain: 90 ms
            ),
            headers=key,
            timeout=httpx2.Timeout(settings.first_words_seconds, connect=CONNECT_SECONDS),
            trust_env=False,  # no proxy stands before a model of the house
        )

    async def stream(self, prompt: BackendPrompt) -> AsyncGenerator[Delta, None]:
        """Yield the answer, as the contract says. Closing hangs up, which stops the model."""
        calls, usage, finish, thoughts = PartialCalls(), Usage(), "", Thoughts()
        halves = getincrementaldecoder("utf-16-le")("replace")  # of characters: some servers cut one in two
        async with aclosing(self._events(self._body(prompt))) as events:
            async for event in events:
                usage = _usage(event) or usage
                choice = _first(event.get("choices"))
                delta = _delta(choice)
                if words := thoughts.add(halves.decode(_words(delta).encode("utf-16-le", "surrogatepass"))):
                    yield TextPiece(words)
                calls.add(delta)
                finish = choice.get("finish_reason") or finish
        if not finish:
            raise LlmGone(f"{self.model} stopped in the middle of an answer")
        if words := thoughts.add(halves.decode(b"", final=True)) + thoughts.end():
            yield TextPiece(words)
        # A call that was cut short is no call.
        made = calls.finished(self._offered(prompt)) if finish != "length" else ()
        if made:
            yield Calls(made)
        yield Finished(_finish(finish, made), usage)

    async def prefill(self, prompt: BackendPrompt) -> None:
        """See `Backend.prefill`. Only our own host can read ahead."""
        if self._settings.own_host:
            ahead = {"stream": False, "stream_options": None, "atlas_prefill": True}
            await self._post("/chat/completions", self._body(prompt) | ahead)

    async def forget(self, conversation: str) -> None:
        """See `Backend.forget`. Other servers keep nothing by the name of a conversation."""
        if self._settings.own_host:
            await self._post("/atlas/forget", {"conversation": conversation})

    async def embed(self, texts: Sequence[str], *, priority: Priority = "chat") -> Embeddings:
        """See `Backend.embed`."""
        if not texts:
            return Embeddings(())
        if not all(texts):
            raise EngineError("an empty text has no vector")
        body = {"model": self.model, "input": [unbroken(text) for text in texts], "encoding_format": "float"}
        answer = await self._post(
            "/embeddings", body | ({"atlas_priority": priority} if self._settings.own_host else {})
        )
        result = answer.get("data")
        items = sorted(result, key=_index) if isinstance(result, list) else []
        vectors = tuple(map(_vector, items))
        if len(vectors) != len(texts):
            raise EngineError(f"{self.model} answered with {len(vectors)} vectors to {len(texts)} texts")
        cut = frozenset(place for place, item in enumerate(items) if item.get("atlas_cut") is True)
        return Embeddings(vectors, (_usage(answer) or Usage()).prompt, cut)

    async def health(self) -> str:
        """Return the model's name, or raise `LlmGone`."""
        path = self._url.removesuffix("/v1") + "/health" if self._settings.own_host else f"{self._url}/models"
        reply, text = await self._whole("GET", path, HEALTH_SECONDS)
        if reply.status_code != 200:
            error = self._refusal(reply, text[:MAX_ERROR_BYTES])
            if isinstance(error, LlmLoading):
                raise error
            raise LlmGone(f"{self.model} is not ready: {text[:MAX_ERROR_BYTES]}")
        facts = _object(text)
        return str(facts.get("model", self.model))

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()

    def _offered(self, prompt: BackendPrompt) -> Mapping[str, Tool]:
        """Return the tools that are sent, by their names on the wire."""
        return {_wire_name(tool.name): tool for tool in prompt.tools} if self._settings.tools else {}

    def _body(self, prompt: BackendPrompt) -> dict[str, Any]:
        offered, choice, limits = self._offered(prompt), prompt.tool_choice, prompt.limits
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [_wire_message(message) for message in prompt.messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if offered:
            body["tools"] = [_wire_tool(name, tool) for name, tool in offered.items()]
            plain = choice in ("auto", "required", "none")
            body["tool_choice"] = choice if plain else {"type": "function", "function": {"name": _wire_name(choice)}}
        if offered and limits.parallel_calls is not None:
            body["parallel_tool_calls"] = limits.parallel_calls
        if limits.max_tokens is not None:
            body["max_tokens"] = limits.max_tokens
        if limits.temperature is not None:
            body["temperature"] = limits.temperature
        if prompt.conversation and self._settings.own_host:
            body["atlas_conversation"] = prompt.conversation
        if self._settings.own_host:
            body["atlas_priority"] = prompt.priority
        return body

    async def _post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the whole answer to a request that is not streamed."""
        reply, text = await self._whole("POST", self._url + path, self._settings.first_words_seconds, body)
        if reply.status_code != 200:
            raise self._refusal(reply, text[:MAX_ERROR_BYTES])
        return _object(text)

    async def _whole(
        self, method: str, url: str, seconds: float, body: Mapping[str, Any] | None = None
    ) -> tuple[httpx2.Response, str]:
        """Return a reply that is not streamed, and its text; neither its length nor its time is without end."""
        with _as_llm_gone(self.model), anyio.fail_after(seconds):
            async with self._http.stream(method, url, json=body) as reply:
                return reply, await _beginning(reply, MAX_ANSWER_BYTES)

    async def _events(self, body: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the JSON objects of the stream until it says it is done.

        However many events come, something is said in them within the time for first words. Whoever reads them may
        take as long as he likes.
        """
        patience = _Patience(self._settings.first_words_seconds)
        seconds = self._settings.first_words_seconds
        with _as_llm_gone(self.model):
            async with AsyncExitStack() as held:
                with patience.until(seconds):
                    response = await held.enter_async_context(self._response(body))
                source = httpx2.EventSource(response, max_event_size=MAX_EVENT_BYTES)
                lines = await held.enter_async_context(aclosing(aiter(source)))  # type: ignore[type-var]
                while True:
                    with patience.until(seconds):
                        line = await anext(lines, None)
                    if line is None or line.data == "[DONE]":
                        return
                    event = _object(line.data)
                    if failed := error_in(event):
                        raise refusal(self.model, 0, failed, is_own=self._settings.own_host)
                    delta = _delta(_first(event.get("choices")))
                    if any(map(delta.get, SAYING)):
                        patience.renew()
                    if delta.get("content"):
                        seconds = self._settings.idle_seconds
                    yield event

    @asynccontextmanager
    async def _response(self, body: Mapping[str, Any]) -> AsyncIterator[httpx2.Response]:
        async with self._http.stream("POST", f"{self._url}/chat/completions", json=body) as response:
            if response.status_code == 200:
                response.encoding = "utf-8"  # as JSON always is: a header may name what is no encoding of text
                yield response
                return
            text = await _beginning(response, MAX_ERROR_BYTES)
        raise self._refusal(response, text)

    def _refusal(self, reply: httpx2.Response, text: str) -> EngineError:
        wait = reply.headers.get("retry-after", "")
        return refusal(self.model, reply.status_code, text, wait, is_own=self._settings.own_host)


def _index(item: Any) -> int:
    return _count(item.get("index")) if isinstance(item, dict) else 0


def _vector(item: Any) -> tuple[float, ...]:
    """Return a vector of length 1, whatever length the server gave it."""
    numbers = item.get("embedding") if isinstance(item, dict) else None
    if not isinstance(numbers, list) or not all(isinstance(number, (int, float)) for number in numbers):
        raise EngineError("a vector of an embedding is no list of numbers")
    try:
        length = math.hypot(*numbers)
    except OverflowError:  # a whole number of hundreds of digits
        length = math.inf
    if not length or not math.isfinite(length):
        raise EngineError("a vector of an embedding has no direction")
    return tuple(number / length for number in numbers)


class _Patience:
    """What is left of the time in which something must be said; only waiting takes from it."""

    def __init__(self, seconds: float) -> None:
        self._all = self._left = seconds

    def renew(self) -> None:
        self._left = self._all

    @contextmanager
    def until(self, seconds: float) -> Iterator[None]:
        """Raise `TimeoutError` when the body takes over `seconds`, or over what is left."""
        began = anyio.current_time()
        with anyio.fail_after(min(seconds, self._left)):
            yield
        self._left -= anyio.current_time() - began


@contextmanager
def _as_llm_gone(model: str) -> Iterator[None]:
    """Turn what goes wrong on the wire into `LlmGone`."""
    try:
        yield
    except (httpx2.TransportError, httpx2.DecodingError) as trouble:
        raise LlmGone(
            f"{model} cannot be reached: {type(trouble).__name__} {trouble}", hint=noted("is the LLM host running?")
        ) from trouble
    except TimeoutError as trouble:
        raise LlmGone(f"{model} said nothing for too long", hint=noted("is the LLM host overloaded?")) from trouble


async def _beginning(response: httpx2.Response, most_bytes: int) -> str:
    read = bytearray()
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) >= most_bytes:
            break
    return read[:most_bytes].decode("utf-8", "replace")


def _object(text: str) -> Mapping[str, Any]:
    try:
        event = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        raise LlmGone(f"the server's answer is not JSON, but {len(text)} letters") from trouble
    if not isinstance(event, dict):
        raise LlmGone("the server's answer is JSON, but no object")
    return event


def _first(choices: Any) -> Mapping[str, Any]:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _delta(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    delta = choice.get("delta") or choice.get("message")
    return delta if isinstance(delta, dict) else {}


def _words(delta: Mapping[str, Any]) -> str:
    """Return what is said in a delta: words, as text or in parts, or that the model will not answer."""
    content = delta.get("content") or delta.get("refusal") or ""
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _usage(event: Mapping[str, Any]) -> Usage | None:
    usage = event.get("usage")
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(_count(usage.get("prompt_tokens")), _count(cached), _count(usage.get("completion_tokens")))


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _finish(text: str, calls: Sequence[ToolCall]) -> Finish:
    if calls:
        return "tool_calls"
    return "length" if text == "length" else "stop"


def _wire_name(name: str) -> str:
    return name.replace(".", DOT)


def _wire_tool(name: str, tool: Tool) -> dict[str, Any]:
    function = {"name": name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _wire_message(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.author, "content": unbroken(message.text)}
    if message.calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": _wire_name(call.name),
                    "arguments": json.dumps(dict(call.arguments), ensure_ascii=False, separators=(",", ":")),
                },
            }
            for call in message.calls
        ]
    if message.author == "tool":
        body["tool_call_id"] = message.call_id
    return body
