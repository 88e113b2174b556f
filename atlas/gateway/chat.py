"""/v1/chat/completions and /v1/models: typed turns, in the wire format of OpenAI."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from atlas.conversation import Actor, Message, Turn, fresh_id
from atlas.errors import AtlasError, RequestError
from atlas.events import End, Event, TextDelta, ToolFinished, TurnEnded, TurnStarted
from atlas.fields import Fields, object_of
from atlas.gateway.auth import require
from atlas.gateway.embeddings import encoders_for
from atlas.gateway.wire import Stream, Write, call_json, json_body, sse, sse_error, while_wanted
from atlas.house import House
from atlas.own_words import language
from wall.roles import may

ANY_AGENT = "atlas"  # the model whose agent the router picks
MAX_MESSAGES = 512
MAX_CHARACTERS = 200_000  # of all messages; far more than any context holds, far less than would hurt
MAX_NAME_CHARACTERS = 64
MAX_ANSWER_TOKENS = 32_768
WAITING_SECONDS = 2.0  # without a word; then a stream says, as a voice does, that it takes a moment

# Whose conversation it is hangs on these: they are the device's, and only who manages the house may say others.
CLAIMS = ("person", "device", "room")
# Refused, for a reply that ignored them would not be what was asked for.
UNSUPPORTED = {
    "logprobs": "an answer may come from a command or a tool, which have no probabilities",
    "top_logprobs": "an answer may come from a command or a tool, which have no probabilities",
    "logit_bias": "an answer may come from a command or a tool",
    "stop": "answers end where the agent ends them",
    "audio": "use /v1/audio/speech or /v1/realtime",
    "prediction": "nothing here can be predicted",
    "web_search_options": "nothing here asks the internet",
}
NOTHING: tuple[Any, ...] = (None, False, [], {}, "none")  # values that ask for nothing
# Taken and left to the house: hints whose absence changes no promise, sent by many clients on every request.
HINTS = (
    *("top_p", "seed", "presence_penalty", "frequency_penalty", "user", "metadata", "store", "service_tier"),
    *("parallel_tool_calls", "reasoning_effort", "verbosity", "prompt_cache_key", "prompt_cache_retention"),
    *("safety_identifier",),
)
READ = frozenset(
    {"model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "n"}
    | {"modalities", "response_format", "atlas", *UNSUPPORTED, *HINTS}
)


def routes(house: House) -> list[Route]:
    """Return the URLs of this door."""
    began = int(time.time())

    async def models(request: Request) -> Response:
        actor = require(request)
        data = [_model(name, began) for name in (*open_to(actor, house), *encoders_for(actor, house))]
        return JSONResponse({"object": "list", "data": data})

    async def model(request: Request) -> Response:
        actor = require(request)
        name = request.path_params["name"]
        if name not in encoders_for(actor, house):
            agent_for(name, actor, house)
        return JSONResponse(_model(name, began))

    async def completions(request: Request) -> Response:
        actor = require(request)
        completion_request = read(await json_body(request), actor, house)
        if completion_request.stream:
            return Stream(
                request, lambda write: _stream(completion_request, house, write), "text/event-stream", late=sse_error
            )
        return await _whole(completion_request, house, request)

    return [
        Route("/v1/models", models, methods=["GET"]),
        Route("/v1/models/{name:path}", model, methods=["GET"]),
        Route("/v1/chat/completions", completions, methods=["POST"]),
    ]


# ── what was asked ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A checked request."""

    turn: Turn
    model: str  # as the client said it, for the reply
    stream: bool
    usage_wanted: bool  # at the end of a stream
    ignored: tuple[str, ...] = ()  # fields of the body that nobody read: a program's own tools, other servers' settings


def read(body: Mapping[str, Any], actor: Actor, house: House) -> CompletionRequest:
    """Return the turn that a body asks for. Raises `RequestError` naming the field that is wrong."""
    fields = Fields(body)
    model = fields.text("model")
    _check_unsupported(fields)
    history, text, instructions = read_messages(fields.value("messages"))
    history = tuple(_without_aside(message, house.waiting.values()) for message in history)
    options, atlas_fields = fields.inner("stream_options"), fields.inner("atlas")
    atlas_fields.only(("remember", "person", "device", "room"))
    remembered = atlas_fields.flag("remember")
    if remembered and history:
        raise RequestError(
            "with atlas.remember the house knows the earlier messages itself",
            code="invalid_value",
            param="messages",
            hint="send only the new one",
        )
    turn = Turn(
        id=fresh_id("turn"),
        text=text,
        actor=speaking_for(actor, atlas_fields),
        at=time.time(),
        agent=agent_for(model, actor, house),
        history=history,
        max_tokens=fields.whole("max_completion_tokens", 1, MAX_ANSWER_TOKENS)
        or fields.whole("max_tokens", 1, MAX_ANSWER_TOKENS),
        temperature=fields.number("temperature", 0, 2),
        instructions=instructions,
        remembered=remembered,
    )
    ignored = tuple(sorted(name for name, value in body.items() if name not in READ and value not in NOTHING))
    return CompletionRequest(turn, model, fields.flag("stream"), options.flag("include_usage"), ignored)


def agent_for(model: str, actor: Actor, house: House) -> str:
    """Return the agent behind a model's name; "" when the router is to choose.

    Raises `RequestError`: `model_not_found` (404), or `permission_denied` (403) for an agent not open to this role.
    """
    if model == ANY_AGENT:
        return ""
    if model not in house.agents():
        raise RequestError(
            f"there is no model {model[:MAX_NAME_CHARACTERS]!r}",
            code="model_not_found",
            param="model",
            hint=f"there are {', '.join(open_to(actor, house))}",
        )
    if model not in open_to(actor, house):
        raise RequestError(
            f"the agent {model} does not answer the role {actor.role}",
            code="permission_denied",
            param="model",
            hint=f"ask {', '.join(open_to(actor, house))}, or use a token with another role",
        )
    return model


def open_to(actor: Actor, house: House) -> tuple[str, ...]:
    """Return the models that this actor may use."""
    return (ANY_AGENT, *(name for name in house.agents() if actor.role in house.config.agents[name].roles))


def read_messages(value: Any) -> tuple[tuple[Message, ...], str, str]:
    """Return the history, the last thing the user said, and the client's own instructions."""
    if not isinstance(value, list) or not value:
        raise RequestError("messages must be a list with a message in it", code="invalid_type", param="messages")
    if len(value) > MAX_MESSAGES:
        raise _too_long(f"{len(value)} messages; {MAX_MESSAGES} is the most", "messages")
    instructions: list[str] = []
    messages: list[Message] = []
    characters = 0
    for index, message in enumerate(value):
        author, text = _message(message, f"messages[{index}]")
        characters += len(text)
        if characters > MAX_CHARACTERS:
            raise _too_long(f"messages of more than {MAX_CHARACTERS} characters", "messages")
        if author == "system":
            instructions.append(text)
        elif author == "user":
            messages.append(Message("user", text))
        else:
            messages.append(Message("assistant", text))
    if not messages or messages[-1].author != "user":
        raise RequestError("the last message must be the user's", code="invalid_value", param="messages")
    if not messages[-1].text.strip():
        raise RequestError("the last message says nothing", code="invalid_value", param="messages")
    return tuple(messages[:-1]), messages[-1].text, "\n\n".join(filter(None, instructions))


def _without_aside(message: Message, asides: Iterable[str]) -> Message:
    """Return a message as it was answered: what a stream said while nobody had a word is no part of it."""
    if message.author != "assistant":
        return message
    aside = next((one for one in asides if one and message.text.startswith(one)), "")
    return replace(message, text=message.text.removeprefix(aside).lstrip()) if aside else message


def _message(value: Any, where: str) -> tuple[str, str]:
    """Return who wrote one message (system, user or assistant) and its text."""
    fields = Fields(object_of(value, where), where)
    match fields.text("role"):
        case "system" | "developer":
            author = "system"
        case "user" | "assistant" as author:
            pass
        case "tool" | "function":
            raise RequestError(
                f"{where} answers a call to a tool, but this house uses only its own",
                code="unsupported_value",
                param=f"{where}.role",
            )
        case _:
            raise fields.wrong("role", "system, developer, user or assistant", "invalid_value")
    if value.get("tool_calls") or value.get("function_call"):
        raise RequestError(
            f"{where} calls a tool of yours, but this house uses only its own",
            code="unsupported_value",
            param=f"{where}.tool_calls",
        )
    return author, _text(value.get("content"), f"{where}.content")


def _text(content: Any, where: str) -> str:
    """Return the text of a message's content: a string, or a list of parts of text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise RequestError(f"{where} must be a text or a list of parts", code="invalid_type", param=where)
    texts = []
    for index, part in enumerate(content):
        here = f"{where}[{index}]"
        if object_of(part, here).get("type") not in ("text", "input_text", "output_text", "refusal"):
            raise RequestError(
                f"{here} is not text", code="unsupported_value", param=f"{here}.type", hint="Atlas reads only text here"
            )
        key = "refusal" if part["type"] == "refusal" else "text"
        texts.append(Fields(part, here).text(key, longest=MAX_CHARACTERS))
    return "\n".join(texts)


def speaking_for(actor: Actor, fields: Fields) -> Actor:
    """Return the actor as the request says more exactly who and where it is, as far as this role may say so.

    Raises `RequestError` (`permission_denied`, 403) naming the field that it may not say.
    """
    for key in CLAIMS:
        if fields.value(key) not in (None, getattr(actor, key)) and not may(actor.role, "manage"):
            raise RequestError(
                f"the role {actor.role} may not say {fields.name(key)}",
                code="permission_denied",
                param=fields.name(key),
            )
    device = fields.text("device", actor.device, MAX_NAME_CHARACTERS)
    return Actor(
        person=fields.text("person", actor.person, MAX_NAME_CHARACTERS),
        device=device,
        role=actor.role,
        room=fields.text("room", actor.room, MAX_NAME_CHARACTERS),
        device_id=actor.device_id if device == actor.device else "",  # nobody says whose token they hold
    )


def _check_unsupported(fields: Fields) -> None:
    for key, reason in UNSUPPORTED.items():
        if fields.value(key) not in NOTHING:
            raise RequestError(
                f"{key} cannot be used here: {reason}", code="unsupported_parameter", param=key, hint="leave it out"
            )
    if fields.whole("n", 1, 128) not in (None, 1):
        raise RequestError("n can only be 1: a turn has one answer", code="unsupported_value", param="n")
    if fields.value("modalities") not in (None, ["text"]):
        raise RequestError(
            "modalities can only be text", code="unsupported_value", param="modalities", hint=UNSUPPORTED["audio"]
        )
    if fields.inner("response_format").text("type", "text") != "text":
        raise RequestError(
            "response_format can only be text: answers are meant to be spoken",
            code="unsupported_value",
            param="response_format",
        )


def _too_long(what: str, param: str) -> RequestError:
    return RequestError(what, code="context_length_exceeded", param=param, hint="leave out the oldest")


# ── what is answered ───────────────────────────────────────────────────────────────────────────────

FINISH: Mapping[End, str] = {"length": "length"}  # everything else stopped of its own


@dataclass
class TurnReport:
    """What a turn has reported so far."""

    ignored: tuple[str, ...] = ()  # of the request's fields
    agent: str = ""
    reason: str = ""
    language: str = ""  # of the answer, in a house of several
    tools: list[dict[str, Any]] = field(default_factory=list)
    ended: TurnEnded | None = None

    def note(self, event: Event) -> None:
        """Remember what the reply's extension will say."""
        match event:
            case TurnStarted():
                self.agent, self.reason, self.language = event.agent, event.reason, event.language
            case ToolFinished(call, result):
                self.tools.append(call_json(call, result))
            case TurnEnded():
                self.ended = event

    @property
    def end(self) -> TurnEnded:
        """How it ended; every turn does."""
        assert self.ended is not None, "a turn without an end"
        return self.ended

    def extension(self) -> dict[str, Any]:
        """Return what OpenAI's format has no place for."""
        details: dict[str, Any] = {"turn": self.end.turn_id, "agent": self.agent, "reason": self.reason}
        details |= {"path": self.end.path, "tools": self.tools, "end": self.end.end}
        details |= {"language": self.language} if self.language else {}
        details |= {"ignored": list(self.ignored)} if self.ignored else {}
        # A failed turn is still an answer, with status 200: it may have begun to act, and clients repeat what fails
        # with a 5xx by themselves. A timer would be set twice. Programs look here instead.
        return details | ({"error": self.end.error or "failed"} if self.end.end == "failed" else {})

    @property
    def finish(self) -> str:
        """Return OpenAI's word for how it ended."""
        return FINISH.get(self.end.end, "stop")


async def _whole(completion_request: CompletionRequest, house: House, request: Request) -> Response:
    report = TurnReport(completion_request.ignored)

    async def emit(event: Event) -> None:
        report.note(event)

    if not await while_wanted(request, lambda: house.reply(completion_request.turn, emit)):
        return Response(status_code=499)  # nobody reads it
    message = {"role": "assistant", "content": report.end.text, "refusal": None, "atlas": report.extension()}
    return JSONResponse(
        _head(completion_request, "chat.completion")
        | {
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": report.finish}],
            "usage": report.end.usage.as_openai(),
        }
    )


async def _stream(request: CompletionRequest, house: House, write: Write) -> None:
    """Write the turn as chunks: the words as they come, then how it ended, then what it cost."""
    report = TurnReport(request.ignored)
    head = _head(request, "chat.completion.chunk")
    spoke = anyio.Event()

    async def chunk(delta: Mapping[str, Any], finish: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        await write(sse(head | {"choices": [choice]} | ({"usage": None} if request.usage_wanted else {})))

    async def emit(event: Event) -> None:
        report.note(event)
        if isinstance(event, TurnStarted):
            await chunk({"role": "assistant", "content": ""})
        elif isinstance(event, TextDelta):
            spoke.set()
            await chunk({"content": event.text})

    async def wait_aloud() -> None:
        await anyio.sleep(WAITING_SECONDS)
        words = house.waiting.get(report.language or language(), "")
        if words and report.agent and not spoke.is_set():
            await chunk({"content": f"{words} ", "atlas": {"aside": True}})

    trouble: AtlasError | None = None
    async with anyio.create_task_group() as patience:
        if house.waiting:
            patience.start_soon(wait_aloud)
        try:
            await house.reply(request.turn, emit)
        except AtlasError as raised:  # told by who called, and not in a group
            trouble = raised
        patience.cancel_scope.cancel()
    if trouble:
        raise trouble
    await chunk({"atlas": report.extension()}, report.finish)
    if request.usage_wanted:
        await write(sse(head | {"choices": [], "usage": report.end.usage.as_openai()}))
    await write(sse("[DONE]"))


def _head(request: CompletionRequest, kind: str) -> dict[str, Any]:
    # The number of the turn is the number of the completion: whoever has one finds the other in the log.
    return {
        "id": f"chatcmpl-{request.turn.id}",
        "object": kind,
        "created": int(request.turn.at),
        "model": request.model,
    }


def _model(name: str, began: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": began, "owned_by": "atlas"}
