"""The body of a chat completion request → one checked value. Every mistake is named, with the field it is in."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from atlas.errors import RequestError
from atlas.fields import Fields, object_of
from atlas.llm_host.constrain import names_in, valid_schema
from atlas.llm_host.line import PRIORITIES
from wall import strict_json

MAX_TEXT_STOPS, MAX_TOOLS, MAX_NAME_LETTERS = 4, 128, 64  # as at OpenAI
MOST_NAMES_IN_ALL = 10_000  # of the schemas of all tools: 78 each; to check them takes seconds, meanwhile others wait
MAX_KEY_LETTERS = 10_000  # of a name that a client gives: of its conversation, of a call
MAX_STOP_LETTERS = 1_000  # one is looked for after every token, in time that grows with its square
# Without a temperature the model answers soberly: small models wander above it, and loop without a penalty.
DEFAULT_TEMPERATURE, DEFAULT_TOP_P, DEFAULT_TOP_K, DEFAULT_REPEAT = 0.2, 0.9, 40, 1.1
DEFAULT_MAX_TOKENS = 512  # minutes of speech; a model that loops is not let loop longer
ROLES = ("system", "developer", "user", "assistant", "tool")
UNDERSTOOD = {
    *("model", "messages", "stream", "stream_options", "tools", "tool_choice", "parallel_tool_calls"),
    *("response_format", "atlas_conversation", "atlas_priority", "atlas_prefill", "prompt_cache_key"),
    *("temperature", "top_p", "top_k", "seed", "max_tokens", "max_completion_tokens", "stop", "n"),
    *("frequency_penalty", "presence_penalty", "repeat_penalty", "logprobs", "top_logprobs", "logit_bias"),
}
HARMLESS = {  # what clients send that changes nothing here
    *("user", "metadata", "store", "service_tier", "reasoning_effort", "verbosity", "safety_identifier"),
    *("prompt_cache_retention", "modalities"),
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen: penalties, then top-k, top-p and temperature, then chance."""

    temperature: float
    top_p: float = 1.0
    top_k: int = 0
    repeat: float = 1.0  # the penalty of what was said already; 1 is none
    frequency: float = 0.0
    presence: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request that makes sense."""

    model: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...]
    choice: str  # auto, required, none, or the name of a tool
    parallel: bool
    schema: Mapping[str, Any] | None  # what a JSON answer has to fit
    stream: bool
    include_usage: bool
    conversation: str
    priority: str  # one of `line.PRIORITIES`
    prefill: bool  # only read the prompt ahead
    stops: tuple[str, ...]
    max_tokens: int | None
    sampling: Sampling


class ContextExceeded(RequestError):
    """Prompt and answer do not fit the context. The figures let a client shorten one of them and ask again."""

    def __init__(self, prompt: int, wanted: int, context: int) -> None:
        super().__init__(
            f"the prompt has {prompt} tokens and {wanted} more are asked for; the context holds {context}",
            code="context_length_exceeded",
            param="messages",
        )
        self.figures = {"prompt_tokens": prompt, "max_tokens": wanted, "context": context}


def forgotten(raw: bytes) -> str:
    """Return the conversation that the body asks to be forgotten. Raises `RequestError`."""
    conversation = Fields(fields(raw)).text("conversation", longest=MAX_KEY_LETTERS)
    if not conversation:
        _wrong("conversation", "must be the name of a conversation")
    return conversation


def parse(raw: bytes) -> ChatRequest:
    """Return the request in `raw`. Raises `RequestError` whose `param` is the field that is wrong."""
    given = fields(raw)
    if unknown := set(given) - UNDERSTOOD - HARMLESS:
        _wrong(min(unknown), "is not a parameter of this server", code="unknown_parameter")
    body = Fields(given)
    _refuse_what_is_missing_here(body)
    tools = _tools(body)
    maximum = "max_completion_tokens" if "max_completion_tokens" in given else "max_tokens"
    stream = body.flag("stream")
    return ChatRequest(
        model=body.text("model", longest=MAX_KEY_LETTERS),
        messages=_messages(body),
        tools=tools,
        choice=_choice(body, tools),
        parallel=body.flag("parallel_tool_calls"),
        schema=_response_schema(body, tools),
        stream=stream,
        include_usage=stream and body.inner("stream_options").flag("include_usage"),
        conversation=_key(body, "atlas_conversation") or _key(body, "prompt_cache_key"),
        priority=body.choice("atlas_priority", PRIORITIES, "chat"),
        prefill=_prefill(body, stream=stream),
        stops=_stops(body),
        max_tokens=body.whole(maximum, 1, 10_000_000),
        sampling=Sampling(
            temperature=_number(body, "temperature", 0, 2, DEFAULT_TEMPERATURE),
            top_p=_number(body, "top_p", 0, 1, DEFAULT_TOP_P),
            top_k=_whole(body, "top_k", 0, 1_000_000, DEFAULT_TOP_K),
            repeat=_number(body, "repeat_penalty", 0.1, 2, DEFAULT_REPEAT),
            frequency=_number(body, "frequency_penalty", -2, 2, 0),
            presence=_number(body, "presence_penalty", -2, 2, 0),
            seed=_whole(body, "seed", -(2**63), 2**64, secrets.randbits(32)) & 0xFFFFFFFF,
        ),
    )


def fields(raw: bytes) -> dict[str, Any]:
    """Return the fields of a body; null is as good as not said, and no text holds half a character.

    Raises `RequestError` when it is no JSON object.
    """
    try:
        body = strict_json.loads(raw, mends=True)
    except (ValueError, RecursionError) as trouble:
        raise RequestError(f"the body is not JSON: {trouble}", code="invalid_json") from trouble
    if not isinstance(body, dict):
        raise RequestError("the body must be a JSON object", code="invalid_json")
    return {key: value for key, value in body.items() if value is not None}


def _refuse_what_is_missing_here(body: Fields) -> None:
    if body.value("logprobs") or body.value("top_logprobs"):
        _wrong("logprobs", "are not offered by this server", code="unsupported_parameter")
    if body.value("logit_bias"):
        _wrong("logit_bias", "is not offered by this server", code="unsupported_parameter")
    if _whole(body, "n", 1, 128, 1) != 1:
        _wrong("n", "can only be 1 on this server", code="unsupported_parameter")


def _messages(body: Fields) -> tuple[dict[str, Any], ...]:
    messages = body.value("messages")
    if not isinstance(messages, list) or not messages:
        _wrong("messages", "must be a list of at least one message")
    return tuple(_message(message, f"messages[{i}]") for i, message in enumerate(messages))


def _message(message: Any, where: str) -> dict[str, Any]:
    role = object_of(message, where).get("role")
    if role not in ROLES:
        _wrong(f"{where}.role", f"must be one of {', '.join(ROLES)}")
    calls = message.get("tool_calls") if role == "assistant" else None
    shaped: dict[str, Any] = {
        "role": "system" if role == "developer" else role,
        "content": _content(message.get("content"), f"{where}.content", may_be_missing=bool(calls)),
    }
    if calls:
        if not isinstance(calls, list) or not all(_is_call(call) for call in calls):
            _wrong(f"{where}.tool_calls", "must be a list of {id, type, function: {name, arguments}}")
        shaped["tool_calls"] = calls
    if role == "tool":
        shaped["tool_call_id"] = _key(Fields(message, where), "tool_call_id")
    return shaped


def _is_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str) and isinstance(call.get("id", ""), str)


def _content(content: Any, where: str, *, may_be_missing: bool) -> str:
    if content is None and may_be_missing:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        _wrong(where, "must be text, or a list of text parts")
    texts = []
    for part in content:
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            _wrong(where, "may hold only parts of type text: this model reads nothing else")
        texts.append(part["text"])
    return "".join(texts)


def _tools(body: Fields) -> tuple[dict[str, Any], ...]:
    tools = body.value("tools", [])
    if not isinstance(tools, list) or len(tools) > MAX_TOOLS:
        _wrong("tools", f"must be a list of at most {MAX_TOOLS} tools")
    names: set[str] = set()
    for i, tool in enumerate(tools):
        where = f"tools[{i}]"
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or tool.get("type", "function") != "function":
            _wrong(where, 'must be {"type": "function", "function": {…}}')
        name = function.get("name")
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_LETTERS or not name.isprintable():
            _wrong(f"{where}.function.name", f"must be a name of 1 to {MAX_NAME_LETTERS} letters")
        if name in names or name in ("auto", "required", "none"):
            _wrong(f"{where}.function.name", f"{name!r} is taken")
        names.add(name)
        if not isinstance(function.get("parameters", {}), dict):
            _wrong(f"{where}.function.parameters", f"of tool {name!r} must be a JSON schema", code="invalid_schema")
    schemas = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in tools}
    if sum(map(names_in, schemas.values())) > MOST_NAMES_IN_ALL:
        _wrong("tools", f"have schemas of over {MOST_NAMES_IN_ALL} names in all", code="invalid_schema")
    for name, schema in schemas.items():
        valid_schema(schema, f"tool {name!r}", "tools")
    return tuple(tools)


def _choice(body: Fields, tools: tuple[dict[str, Any], ...]) -> str:
    choice = body.value("tool_choice", "auto" if tools else "none")
    if isinstance(choice, dict):
        function = choice.get("function")
        choice = function.get("name") if isinstance(function, dict) else None
        if not any(tool["function"]["name"] == choice for tool in tools):
            _wrong("tool_choice", f"names {choice!r}, which is not among the tools")
    elif choice not in ("auto", "required", "none"):
        _wrong("tool_choice", 'must be "auto", "required", "none", or {"type": "function", "function": {"name": …}}')
    if choice == "required" and not tools:
        _wrong("tool_choice", "asks for a tool, but there are no tools")
    return str(choice) if tools else "none"


def _response_schema(body: Fields, tools: tuple[dict[str, Any], ...]) -> Mapping[str, Any] | None:
    wanted = body.inner("response_format")
    kind = wanted.text("type", "text")
    if kind == "text":
        return None
    if tools and body.value("tool_choice") != "none":
        _wrong("response_format", 'cannot be combined with tools, unless tool_choice is "none"')
    if kind == "json_object":
        return {"type": "object"}
    schema = wanted.inner("json_schema").value("schema")
    if kind != "json_schema" or not isinstance(schema, dict):
        _wrong("response_format", "must be of type text, json_object, or json_schema with json_schema.schema")
    valid_schema(schema, "response_format", "response_format")
    return schema


def _key(body: Fields, name: str) -> str:
    return body.text(name, "", MAX_KEY_LETTERS)


def _stops(body: Fields) -> tuple[str, ...]:
    stops = body.value("stop", [])
    stops = [stops] if isinstance(stops, str) else stops
    fits = isinstance(stops, list) and len(stops) <= MAX_TEXT_STOPS
    if not fits or not all(isinstance(s, str) and 0 < len(s) <= MAX_STOP_LETTERS for s in stops):
        _wrong("stop", f"must be a text, or a list of at most {MAX_TEXT_STOPS}, of 1 to {MAX_STOP_LETTERS} letters")
    return tuple(stops)


def _prefill(body: Fields, *, stream: bool) -> bool:
    prefill = body.flag("atlas_prefill")
    if prefill and stream:
        _wrong("atlas_prefill", "has no answer that could be streamed")
    return prefill


def _number(body: Fields, key: str, least: float, most: float, default: float) -> float:
    value = body.number(key, least, most)
    return default if value is None else value


def _whole(body: Fields, key: str, least: int, most: int, default: int) -> int:
    value = body.whole(key, least, most)
    return default if value is None else value


def _wrong(param: str, what: str, code: str = "invalid_value") -> NoReturn:
    raise RequestError(f"{param} {what}", code=code, param=param)
