"""A backend over HTTP: any server with OpenAI's chat completions. Our own LLM host, llama-server, vLLM, Ollama.

Servers differ in the small things, and all of these are met here: call fragments keyed by index, names repeated with
every fragment or calls sent whole, ids missing, arguments as an object instead of a string, no usage, errors as events.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import anyio
import httpx2
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import SchemaError
from referencing import Registry
from referencing.exceptions import Unresolvable

from atlas.conversation import Message, Tool, ToolCall, Usage, fresh_id
from atlas.errors import ConfigError, EngineError, LlmGone
from atlas.llm.backend import Calls, Delta, Finish, Finished, Limits, Priority, ToolChoice, Words

CONNECT_SECONDS = 5.0
HEALTH_SECONDS = 3.0
MAX_EVENT_BYTES = 1024 * 1024  # one event of a stream; a whole call may be in it
MAX_CALLS = 32
MAX_ARGUMENT_LETTERS = 256 * 1024
MAX_ERROR_BYTES = 4096  # of an error's body, for the log
UNFIT = (ValueError, RecursionError, ArithmeticError, re.error, ValidationError, SchemaError, Unresolvable)
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
            transport=httpx2.AsyncHTTPTransport(uds=str(settings.socket) if settings.socket else None),
            headers=key,
            timeout=httpx2.Timeout(settings.first_words_seconds, connect=CONNECT_SECONDS),
            trust_env=False,  # no proxy stands before a model of the house
        )

    async def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        tool_choice: ToolChoice = "auto",
        limits: Limits = Limits(),
        conversation: str = "",
        priority: Priority = "chat",
    ) -> AsyncGenerator[Delta, None]:
        """Yield the answer, as the contract says. Closing hangs up, which stops the model."""
        offered = {_wire_name(tool.name): tool for tool in tools} if self._settings.tools else {}
        body = self._body(messages, offered, tool_choice, limits, conversation, priority)
        calls, usage, finish = _PartialCalls(), Usage(), ""
        async with aclosing(self._events(body)) as events:
            async for event in events:
                usage = _usage(event) or usage
                choice = _first(event.get("choices"))
                delta = _delta(choice)
                if isinstance(text := delta.get("content"), str) and text:
                    yield Words(text)
                calls.add(delta.get("tool_calls"))
                finish = choice.get("finish_reason") or finish
        if not finish:
            raise LlmGone(f"{self.model} stopped in the middle of an answer")
        made = calls.finished(offered) if finish != "length" else ()  # a call that was cut short is no call
        if made:
            yield Calls(made)
        yield Finished(_finish(finish, made), usage)

    async def prefill(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] = (),
        *,
        conversation: str,
        priority: Priority = "chat",
    ) -> None:
        """See `Backend.prefill`. Only our own host can read ahead."""
        if self._settings.own_host:
            offered = {_wire_name(tool.name): tool for tool in tools} if self._settings.tools else {}
            body = self._body(messages, offered, "auto", Limits(), conversation, priority)
            await self._post(
                "/chat/completions", body | {"stream": False, "stream_options": None, "atlas_prefill": True}
            )

    async def forget(self, conversation: str) -> None:
        """See `Backend.forget`. Other servers keep nothing by the name of a conversation."""
        if self._settings.own_host:
            await self._post("/atlas/forget", {"conversation": conversation})

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """See `Backend.embed`."""
        answer = await self._post(
            "/embeddings", {"model": self.model, "input": list(texts), "encoding_format": "float"}
        )
        found = answer.get("data")
        vectors = [_vector(item) for item in found] if isinstance(found, list) else []
        if len(vectors) != len(texts):
            raise EngineError(f"{self.model} answered with {len(vectors)} vectors to {len(texts)} texts")
        return vectors

    async def health(self) -> str:
        """Return the model's name, or raise `LlmGone`."""
        path = self._url.removesuffix("/v1") + "/health" if self._settings.own_host else f"{self._url}/models"
        with _as_llm_gone(self.model):
            reply = await self._http.get(path, timeout=HEALTH_SECONDS)
            if reply.status_code != 200:
                raise LlmGone(f"{self.model} is not ready: {reply.text[:MAX_ERROR_BYTES]}")
            facts = _object(reply.text)
        return str(facts.get("model", self.model))

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()

    def _body(
        self,
        messages: Sequence[Message],
        offered: Mapping[str, Tool],
        choice: ToolChoice,
        limits: Limits,
        conversation: str,
        priority: Priority,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [_wire_message(message) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if offered:
            body["tools"] = [_wire_tool(name, tool) for name, tool in offered.items()]
            plain = choice in ("auto", "required", "none")
            body["tool_choice"] = choice if plain else {"type": "function", "function": {"name": _wire_name(choice)}}
        if limits.max_tokens is not None:
            body["max_tokens"] = limits.max_tokens
        if limits.temperature is not None:
            body["temperature"] = limits.temperature
        if conversation and self._settings.own_host:
            body["atlas_conversation"] = conversation
        if self._settings.own_host:
            body["atlas_priority"] = priority
        return body

    async def _post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the whole answer to a request that is not streamed."""
        with _as_llm_gone(self.model):
            reply = await self._http.post(f"{self._url}{path}", json=body)
            if reply.status_code != 200:
                self._refused(reply.status_code, reply.text[:MAX_ERROR_BYTES])
            return _object(reply.text)

    def _refused(self, status: int, text: str) -> NoReturn:
        says = f"{self.model} answered {status}: {text}"
        if status >= 500 or status == 429:
            raise LlmGone(says, hint="look at the log of the LLM host")
        raise EngineError(says, hint="check the model's name and key in atlas.toml")

    async def _events(self, body: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield the JSON objects of the stream until it says it is done."""
        with _as_llm_gone(self.model):
            async with self._response(body) as response:
                source = httpx2.EventSource(response, max_event_size=MAX_EVENT_BYTES)
                async with aclosing(aiter(source)) as lines:  # type: ignore[type-var]
                    seconds = self._settings.first_words_seconds
                    while True:
                        with anyio.fail_after(seconds):
                            line = await anext(lines, None)
                        if line is None or line.data == "[DONE]":
                            return
                        event = _object(line.data)
                        if "error" in event:
                            raise EngineError(f"{self.model} failed: {event['error']}")
                        if _delta(_first(event.get("choices"))).get("content"):
                            seconds = self._settings.idle_seconds
                        yield event

    @asynccontextmanager
    async def _response(self, body: Mapping[str, Any]) -> AsyncIterator[httpx2.Response]:
        async with self._http.stream("POST", f"{self._url}/chat/completions", json=body) as response:
            if response.status_code == 200:
                yield response
                return
            text = await _beginning(response)
        self._refused(response.status_code, text)


@dataclass(slots=True)
class _PartialCall:
    """A tool call, as far as it has come."""

    index: int
    id: str = ""
    name: str = ""
    text: str = ""

    def is_whole(self) -> bool:
        """Say whether the arguments are a finished object: nothing that follows can be a part of it."""
        if not self.text.rstrip().endswith("}"):
            return False
        try:
            return isinstance(json.loads(self.text), dict)
        except (ValueError, RecursionError):
            return False


class _PartialCalls:
    """Fragments of tool calls, put together by index; where a server sends none, or always 0, by what they say."""

    def __init__(self) -> None:
        self._parts: list[_PartialCall] = []
        self._latest: dict[int, _PartialCall] = {}

    def add(self, fragments: Any) -> None:
        """Take the fragments of one event. Raises `EngineError` for what is no fragment, and for a flood."""
        for place, fragment in enumerate(fragments if isinstance(fragments, list) else ()):
            function = (fragment.get("function") or {}) if isinstance(fragment, dict) else None
            if not isinstance(function, dict):
                raise EngineError("a fragment of a tool call is no object")
            name, call_id, arguments = (
                _text(function.get("name")),
                _text(fragment.get("id")),
                function.get("arguments"),
            )
            part = self._part(fragment.get("index"), place, call_id)
            if part is None or _begins_another(part, call_id, name, arguments):
                part = self._begin(fragment.get("index"), place)
            part.id, part.name = part.id or call_id, part.name or name  # some servers repeat them with every fragment
            if isinstance(arguments, dict):
                part.text += json.dumps(arguments)
            elif isinstance(arguments, str):
                part.text += arguments
            elif arguments is not None:
                raise EngineError(f"a tool call has arguments that are neither text nor an object: {arguments!r}")
            if len(self._parts) > MAX_CALLS or len(part.text) > MAX_ARGUMENT_LETTERS:
                raise EngineError("the model's tool calls do not end")

    def _part(self, index: Any, place: int, call_id: str) -> _PartialCall | None:
        """Return the call that a fragment goes on with, if there is one."""
        if isinstance(index, int):
            return self._latest.get(index)
        if known := next((part for part in self._parts if call_id and part.id == call_id), None):
            return known
        return self._latest.get(place) if place else (self._parts[-1] if self._parts else None)

    def _begin(self, index: Any, place: int) -> _PartialCall:
        at = index if isinstance(index, int) else place
        part = _PartialCall(at)
        self._parts.append(part)
        self._latest[at] = part
        return part

    def finished(self, offered: Mapping[str, Tool]) -> tuple[ToolCall, ...]:
        """Return the calls, checked. Raises `EngineError` for one that its tool could not take."""
        return tuple(_call(part, offered) for part in sorted(self._parts, key=lambda part: part.index))


def _vector(item: Any) -> list[float]:
    numbers = item.get("embedding") if isinstance(item, dict) else None
    if not isinstance(numbers, list) or not all(isinstance(number, (int, float)) for number in numbers):
        raise EngineError("a vector of an embedding is no list of numbers")
    return [float(number) for number in numbers]


def _begins_another(part: _PartialCall, call_id: str, name: str, arguments: Any) -> bool:
    """Say whether a fragment that came under the index of `part` belongs to another call.

    Ollama has sent every call whole and under index 0. A new id alone says nothing: others make one for each fragment.
    """
    if call_id and call_id == part.id:
        return False  # if it brings more than fits, it is a broken call, not a second deed
    other_id = bool(call_id and part.id)
    other_name = bool(name and part.name and name != part.name)
    if part.is_whole():
        more = arguments.strip() if isinstance(arguments, str) else isinstance(arguments, dict)
        return bool(more) or other_name or (other_id and bool(name))
    return not part.text and (other_name or (other_id and bool(name)))


def _call(part: _PartialCall, offered: Mapping[str, Tool]) -> ToolCall:
    tool = offered.get(part.name)
    if tool is None:
        raise EngineError(f"the model called {part.name!r}, which it was not offered")
    try:
        arguments = json.loads(
            _joined(part.text) or "{}", parse_constant=_no_constant, object_pairs_hook=_without_doubles
        )
        _joined(json.dumps(arguments, ensure_ascii=False))
        schema = {"type": "object", **tool.parameters}
        Draft202012Validator(schema, registry=Registry()).validate(arguments)  # the registry fetches nothing
    except UNFIT as trouble:
        reason = trouble.message if isinstance(trouble, ValidationError) else trouble
        raise EngineError(f"the model called {tool.name} with arguments that do not fit: {reason}") from trouble
    return ToolCall(part.id or fresh_id("call"), tool.name, arguments)


@contextmanager
def _as_llm_gone(model: str) -> Iterator[None]:
    """Turn what goes wrong on the wire into `LlmGone`."""
    try:
        yield
    except (httpx2.TransportError, httpx2.DecodingError) as trouble:
        raise LlmGone(
            f"{model} cannot be reached: {type(trouble).__name__} {trouble}", hint="is the LLM host running?"
        ) from trouble
    except TimeoutError as trouble:
        raise LlmGone(f"{model} said nothing for too long", hint="is the LLM host overloaded?") from trouble


async def _beginning(response: httpx2.Response) -> str:
    read = b""
    async for piece in response.aiter_bytes():
        read += piece
        if len(read) >= MAX_ERROR_BYTES:
            break
    return read[:MAX_ERROR_BYTES].decode("utf-8", "replace")


def _object(text: str) -> Mapping[str, Any]:
    try:
        event = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        raise LlmGone(f"the server's answer is not JSON: {text[:80]!r}") from trouble
    if not isinstance(event, dict):
        raise LlmGone(f"the server's answer is no JSON object: {text[:80]!r}")
    return event


def _first(choices: Any) -> Mapping[str, Any]:
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}


def _delta(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    delta = choice.get("delta") or choice.get("message")
    return delta if isinstance(delta, dict) else {}


def _usage(event: Mapping[str, Any]) -> Usage | None:
    usage = event.get("usage")
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(_count(usage.get("prompt_tokens")), _count(cached), _count(usage.get("completion_tokens")))


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _joined(text: str) -> str:
    """Return text with the halves of pairs joined. Raises `ValueError` for a half whose other half is missing."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object. Raises `ValueError` for a name given twice: nobody can say which of the two was meant."""
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a name is given twice")
    return found


def _finish(said: str, calls: Sequence[ToolCall]) -> Finish:
    if calls:
        return "tool_calls"
    return "length" if said == "length" else "stop"


def _wire_name(name: str) -> str:
    return name.replace(".", DOT)


def _wire_tool(name: str, tool: Tool) -> dict[str, Any]:
    function = {"name": name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _wire_message(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.author, "content": _unbroken(message.text)}
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


def _unbroken(text: str) -> str:
    """Return text with halves of surrogate pairs replaced: no bytes can hold them, and one kills an MCP connection."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
