"""How llama-server, vLLM, Ollama and LM Studio say calls and words on the wire: the quirks of each, to be replayed."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Made = tuple[str, dict[str, Any]]
Server = Callable[[Sequence[Made], random.Random], Iterator[bytes]]
DONE = b"data: [DONE]\n\n"


def chunk(delta: dict[str, Any] | None, finish: str | None = None, **more: Any) -> bytes:
    body = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps({**body, **more}).encode() + b"\n\n"


def usage_alone(prompt: int, completion: int) -> bytes:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    return b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"


def fragment(function: dict[str, Any], index: int | None = None, call_id: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {"type": "function", "function": function}
    if index is not None:
        made["index"] = index
    return {**made, "id": call_id} if call_id else made


def wire(name: str) -> str:
    return name.replace(".", "__")


def pieces(text: str, sizes: random.Random) -> Iterator[str]:
    while text:
        size = sizes.randint(1, 7)
        yield text[:size]
        text = text[size:]


def llama_server(calls: Sequence[Made], dice: random.Random) -> Iterator[bytes]:
    """Id and name once, then bare fragments; usage rides on the last chunk, whose finish has no delta."""
    yield chunk({"role": "assistant", "content": None})
    for index, (name, arguments) in enumerate(calls):
        yield chunk({"tool_calls": [fragment({"name": wire(name), "arguments": ""}, index, f"id{index}")]})
        for part in pieces(json.dumps(arguments), dice):
            yield chunk({"tool_calls": [fragment({"arguments": part}, index)]})
    yield chunk({}, "tool_calls", usage={"prompt_tokens": 30, "completion_tokens": 7})
    yield DONE


def llama_server_of_old(calls: Sequence[Made], dice: random.Random) -> Iterator[bytes]:
    """Id and name again with every fragment."""
    for index, (name, arguments) in enumerate(calls):
        for part in pieces(json.dumps(arguments), dice):
            function = {"name": wire(name), "arguments": part}
            yield chunk({"content": "", "tool_calls": [fragment(function, index, f"id{index}")]})
    yield chunk({}, "tool_calls")
    yield usage_alone(30, 7)
    yield DONE


def vllm(calls: Sequence[Made], dice: random.Random) -> Iterator[bytes]:
    """Calls take turns by index, thoughts come apart from words, usage has a chunk of its own."""
    yield chunk({"role": "assistant", "content": ""})
    yield chunk({"reasoning_content": "The person wants something."})
    streams = []
    for index, (name, arguments) in enumerate(calls):
        yield chunk({"tool_calls": [fragment({"name": wire(name)}, index, f"chatcmpl-tool-{index}")]})
        streams.append((index, pieces(json.dumps(arguments), dice)))
    while streams:
        index, parts = turn = dice.choice(streams)
        part = next(parts, None)
        if part is None:
            streams.remove(turn)
        else:
            yield chunk({"tool_calls": [fragment({"arguments": part}, index)]})
    yield chunk({"content": ""}, "tool_calls")
    yield usage_alone(30, 7)
    yield DONE


def vllm_with_fresh_ids(calls: Sequence[Made], dice: random.Random) -> Iterator[bytes]:
    """Every fragment has an id of its own; some have none of the fields of a call."""
    for index, (name, arguments) in enumerate(calls):
        yield chunk({"tool_calls": [fragment({"name": wire(name), "arguments": ""}, index, f"x{dice.random()}")]})
        for part in pieces(json.dumps(arguments, ensure_ascii=False), dice):
            yield chunk({"tool_calls": [fragment({"arguments": part}, index, f"x{dice.random()}")]})
    yield chunk({"tool_calls": []}, "stop")
    yield DONE


def ollama(calls: Sequence[Made], _dice: random.Random) -> Iterator[bytes]:
    """Each call whole, in a chunk of its own, always under index 0; the finish says stop."""
    for number, (name, arguments) in enumerate(calls):
        function = {"name": wire(name), "arguments": json.dumps(arguments)}
        yield chunk({"role": "assistant", "content": "", "tool_calls": [fragment(function, 0, f"call_{number}")]})
    yield chunk({"content": ""}, "stop")
    yield DONE


def ollama_of_old(calls: Sequence[Made], _dice: random.Random) -> Iterator[bytes]:
    """No index, no id, arguments as an object, the calls in the last chunk, no usage, no end mark."""
    yield b": keep-alive\n\n"
    made = [fragment({"name": wire(name), "arguments": arguments}) for name, arguments in calls]
    yield chunk({"content": "", "tool_calls": made}, "stop")


def ollama_one_by_one(calls: Sequence[Made], _dice: random.Random) -> Iterator[bytes]:
    """No index, no id, one call a chunk."""
    for name, arguments in calls:
        yield b": keep-alive\n\n"
        yield chunk({"tool_calls": [fragment({"name": wire(name), "arguments": json.dumps(arguments)})]})
    yield chunk(None, "stop")


def ids_without_index(calls: Sequence[Made], dice: random.Random) -> Iterator[bytes]:
    """No index; fragments are told apart by id alone, and take turns."""
    streams = []
    for number, (name, arguments) in enumerate(calls):
        yield chunk({"tool_calls": [fragment({"name": wire(name), "arguments": ""}, None, f"id{number}")]})
        streams.append((number, pieces(json.dumps(arguments), dice)))
    while streams:
        number, parts = turn = dice.choice(streams)
        part = next(parts, None)
        if part is None:
            streams.remove(turn)
        else:
            yield chunk({"tool_calls": [fragment({"arguments": part}, None, f"id{number}")]})
    yield chunk({}, "tool_calls")


def lm_studio(calls: Sequence[Made], dice: random.Random) -> Iterator[bytes]:
    """A role with every fragment, arguments from the first one on, usage in a chunk of its own."""
    for index, (name, arguments) in enumerate(calls):
        first, *rest = pieces(json.dumps(arguments), dice)
        function = {"name": wire(name), "arguments": first}
        yield chunk({"role": "assistant", "tool_calls": [fragment(function, index, str(100000000 + index))]})
        for part in rest:
            yield chunk({"role": "assistant", "tool_calls": [fragment({"arguments": part}, index)]})
    yield chunk({}, "tool_calls", stats={}, usage=None)
    yield usage_alone(30, 7)
    yield DONE


SERVERS: list[Server] = [
    *(llama_server, llama_server_of_old, vllm, vllm_with_fresh_ids, lm_studio),
    *(ollama, ollama_of_old, ollama_one_by_one, ids_without_index),
]
# The one function that OpenAI's API had before it had tools: no second call can be said.
OF_OLD = "function_call"


def function_of_old(calls: Sequence[Made], dice: random.Random) -> Iterator[bytes]:
    """`function_call` instead of `tool_calls`, and a finish of that name."""
    for name, arguments in calls:
        yield chunk({"role": "assistant", "content": None, OF_OLD: {"name": wire(name), "arguments": ""}})
        for part in pieces(json.dumps(arguments), dice):
            yield chunk({OF_OLD: {"arguments": part}})
    yield chunk({}, OF_OLD)
    yield DONE


def words_of(server: Server, words: Sequence[str], finish: str = "stop") -> Iterator[bytes]:
    """Say words as a server does: what it sends around calls, with words in their place."""
    yield b": keep-alive\n\n"
    if server is vllm:
        yield chunk({"reasoning_content": "The person wants words."})
    elif server is ollama:
        yield chunk({"role": "assistant", "content": "", "reasoning": "The person wants words."})
    elif server is lm_studio:
        yield chunk({"role": "assistant", "content": "<think>The person wants words.</think>\n\n"})
    for part in words:
        yield chunk({"role": "assistant", "content": part})
    yield chunk({} if server is not ollama else {"content": ""}, finish)
    yield usage_alone(30, len(words))
    yield DONE
