"""Messages and tools → the prompt, as this model's own chat template has it; and its answer → tool calls.

A model whose template knows a tool format is spoken to in that format (Hermes and Qwen, Llama 3, Mistral). To any other
the tools are described in the system message, and a call is one JSON object. In every format the grammar decides from
the first token between words and calls, so what comes back always parses.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import jinja2
from jinja2 import meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from atlas.errors import RequestError
from atlas.llm_host.constrain import arguments_schema, one_of, quoted, schema_rule

if TYPE_CHECKING:  # templates are text: they need no llama.cpp
    from atlas.llm_host.weights import Weights

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
SPLIT = "\ue000"  # put inside control tokens that people, tools or the model spelled out, so that they stay text
MAX_CALLS = 8

Wire = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """How a model writes tool calls: `opening`, one or more objects, `closing`."""

    name: Literal["generic", "hermes", "llama3", "mistral"]
    arguments: str = "arguments"  # the key that holds them
    opening: str = ""
    closing: str = ""
    separator: str = "\n"


GENERIC = Format("generic")
HERMES = Format("hermes", opening="<tool_call>\n", closing="\n</tool_call>", separator="\n</tool_call>\n<tool_call>\n")
LLAMA3 = Format("llama3", arguments="parameters")
MISTRAL = Format("mistral", opening="[TOOL_CALLS][", closing="]", separator=",")


def format_of(template: str) -> Format:
    """Return the tool format that a chat template was written for."""
    if "tools" not in meta.find_undeclared_variables(_environment().parse(template)):
        return GENERIC
    if "<tool_call>" in template and "arguments" in template and "<function=" not in template:
        return HERMES
    if "[TOOL_CALLS]" in template:
        return MISTRAL
    if '"parameters"' in template and "<|start_header_id|>" in template:
        return LLAMA3
    return GENERIC


class Prompts:
    """Writes prompts for one model."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        source = weights.metadata.get("tokenizer.chat_template") or CHATML
        self.format = format_of(source)
        self._template = _environment().from_string(source)
        self._begin = weights.text(weights.begin) if weights.begin is not None else ""
        ends = [t for t in range(weights.size) if weights.ends(t)]
        self._end = weights.text(ends[0]) if ends else ""

    def tokens(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> list[int]:
        """Return the prompt. Same messages and tools, in whatever order the tools come: same tokens."""
        text = self.text(messages, tools)
        tokens = [] if self._weights.begin is None or text.startswith(self._begin) else [self._weights.begin]
        for piece in text.split(SPLIT):
            tokens += self._weights.tokenize(piece, special=True)
        return tokens

    def text(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> str:
        """Return the prompt before it is cut into tokens."""
        tools = sorted(tools, key=lambda tool: str(tool["function"]["name"]))
        native = self.format is not GENERIC
        # Only now that arguments are no longer JSON in a text, where a control token could hide behind an escape.
        shaped = self._harmless([_native(m, self.format) for m in messages] if native else _plain(messages, tools))
        offered = self._harmless(tools) if native else ()
        try:
            return self._render(shaped, offered)
        except jinja2.TemplateError as first:
            try:  # some templates know no system message: its text then opens the first user message
                return self._render(_without_system(shaped), offered)
            except (jinja2.TemplateError, TypeError):
                raise RequestError(
                    f"the model's chat template refused the messages: {first}",
                    code="invalid_messages",
                    param="messages",
                ) from first
        except TypeError as trouble:
            raise RequestError(
                f"the model's chat template cannot take the messages: {trouble}",
                code="invalid_messages",
                param="messages",
            ) from trouble

    def _render(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> str:
        return self._template.render(
            messages=messages,
            tools=list(tools) or None,
            add_generation_prompt=True,
            bos_token=self._begin,
            eos_token=self._end,
        )

    def _harmless(self, value: Any) -> Any:
        """Return `value` with the control tokens that are spelled out in any text of it turned into plain text."""
        if isinstance(value, dict):
            return {self._harmless(key): self._harmless(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._harmless(inner) for inner in value]
        if not isinstance(value, str):
            return value
        text = value.replace(SPLIT, "")
        for special in self._weights.special_texts:
            text = text.replace(special, special[0] + SPLIT + special[1:])
        return text


def grammar(weights: Weights, form: Format, tools: Sequence[Wire], choice: str, *, parallel: bool) -> str:
    """Return the Lark grammar of an answer: words, calls, or either, by `choice`."""
    chosen = [tool for tool in tools if choice in ("auto", "required", tool["function"]["name"])]
    rules = [f"say: {_say(form)}"]
    if choice == "none":
        return "start: say\n" + rules[0] + "\n"
    for index, tool in enumerate(chosen):
        function = tool["function"]
        what = f"tool {function['name']!r}"
        schema = arguments_schema(function.get("parameters") or {})
        head = quoted('{"name":' + json.dumps(function["name"]) + f',"{form.arguments}":')
        rules.append(f'call_{index}: {head} args_{index} "}}"')
        rules.append(f"args_{index}: {schema_rule(schema, what, 'tools')}")
    rules.append(f"call: {one_of([f'call_{i}' for i in range(len(chosen))])}")
    more = f" ({_literal(weights, form.separator)} call){{0,{MAX_CALLS - 1}}}" if parallel else ""
    parts = [_literal(weights, form.opening), f"call{more}", _literal(weights, form.closing)]
    rules.append("calls: " + " ".join(part for part in parts if part))
    return "\n".join([f"start: {'say | calls' if choice == 'auto' else 'calls'}", *rules]) + "\n"


def calls_in(answer: str, form: Format) -> list[tuple[str, Any]] | None:
    """Return names and arguments of the calls an answer consists of; None when it is words."""
    text = answer.strip()
    opening, closing = form.opening.strip(), form.closing.strip()
    if not text.startswith(opening or "{"):
        return None
    body = text[len(opening) : len(text) - len(closing)]
    found = []
    for part in body.split(form.separator) if form is not MISTRAL else [body]:
        try:
            objects = json.loads("[" + part + "]")
        except ValueError:
            return None
        found += [(str(o["name"]), o.get(form.arguments)) for o in objects if isinstance(o, dict) and "name" in o]
    return found or None


def begins_call(answer: str, form: Format) -> bool | None:
    """Say whether an answer that begins like this is a call; None when it is too early to tell."""
    text, mark = answer.lstrip(), form.opening.strip() or "{"
    if text.startswith(mark):
        return True
    return None if mark.startswith(text) else False


def _say(form: Format) -> str:
    """Words: anything that does not begin like a call."""
    first = (form.opening or "{")[0].replace("[", "\\[")
    return rf"/[ \n]*[^{first}\s](.|\n)*/"


def _literal(weights: Weights, text: str) -> str:
    """Return text as terminals of a grammar; control tokens in it by their number."""
    parts: list[str] = []
    while text:
        special = next((s for s in weights.special_texts if text.startswith(s)), None)
        if special:
            token = weights.tokenize(special, special=True)
            parts.append(f"<[{token[0]}]>")
            text = text[len(special) :]
            continue
        ends = [at for s in weights.special_texts if (at := text.find(s)) > 0]
        cut = min(ends, default=len(text))
        parts.append(quoted(text[:cut]))
        text = text[cut:]
    return " ".join(parts)


def _plain(messages: Sequence[Wire], tools: Sequence[Wire]) -> list[dict[str, Any]]:
    """Return messages for a template that knows only system, user and assistant."""
    shaped: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in messages:
        role, text = message["role"], str(message["content"])
        if role == "assistant" and message.get("tool_calls"):
            functions = [call["function"] for call in message["tool_calls"]]
            names |= {call.get("id", ""): call["function"]["name"] for call in message["tool_calls"]}
            wishes = [compact({"name": f["name"], "arguments": _object(f.get("arguments"))}) for f in functions]
            text = "\n".join(([text] if text else []) + wishes)
        elif role == "tool":
            name = names.get(str(message.get("tool_call_id", "")), "the tool")
            role, text = "user", f"Result of {name}: {text}"
        if shaped and shaped[-1]["role"] == role and role != "assistant":
            shaped[-1]["content"] += "\n\n" + text  # many templates insist that the roles take turns
        else:
            shaped.append({"role": role, "content": text})
    if tools:
        if not shaped or shaped[0]["role"] != "system":
            shaped.insert(0, {"role": "system", "content": ""})
        shaped[0]["content"] = (shaped[0]["content"] + "\n\n" + tool_block(tools)).strip()
    return shaped


def tool_block(tools: Sequence[Wire]) -> str:
    """Return what the system message says about tools, when the template does not."""
    lines = [
        compact({key: f[key] for key in ("name", "description", "parameters") if key in f}) for f in _functions(tools)
    ]
    return (
        "You may use these tools:\n" + "\n".join(lines) + "\n"
        'To use one, answer with nothing but {"name":"NAME","arguments":{...}}. Otherwise answer in words.'
    )


def _functions(tools: Sequence[Wire]) -> list[Wire]:
    return [tool["function"] for tool in tools]


def _native(message: Wire, form: Format) -> dict[str, Any]:
    """Return a message as templates with tools expect it: arguments as objects, ids as Mistral wants them."""
    shaped = {key: value for key, value in message.items() if key != "tool_calls" or value}
    if shaped.get("tool_calls"):
        shaped["tool_calls"] = [
            {
                "id": _short_id(call.get("id", ""), form),
                "type": "function",
                "function": {"name": call["function"]["name"], "arguments": _object(call["function"].get("arguments"))},
            }
            for call in shaped["tool_calls"]
        ]
    if "tool_call_id" in shaped:
        shaped["tool_call_id"] = _short_id(shaped["tool_call_id"], form)
    return shaped


def _short_id(call_id: str, form: Format) -> str:
    return hashlib.sha256(call_id.encode()).hexdigest()[:9] if form is MISTRAL else call_id


def _object(arguments: Any) -> Any:
    """Return arguments as an object: on the wire they are JSON in a string."""
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _without_system(messages: Sequence[Wire]) -> list[dict[str, Any]]:
    first, *rest = [dict(message) for message in messages]
    if first["role"] != "system":
        return [first, *rest]
    if rest and rest[0]["role"] == "user":
        rest[0]["content"] = f"{first['content']}\n\n{rest[0]['content']}"
        return rest
    return [{"role": "user", "content": first["content"]}, *rest]


def compact(value: Any) -> str:
    """Return JSON exactly as the grammar has the model write it, so that history meets the cache."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Generation(Extension):
    """`{% generation %}`, which some templates put around the assistant's words, means nothing here."""

    tags = {"generation"}  # noqa: RUF012 - jinja2 declares it a plain set

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """Return the body."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, _Generation]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda form: datetime.now().astimezone().strftime(form)
    return environment


def _tojson(value: Any, indent: int | None = None, **_unused: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _raise(message: str) -> None:
    raise jinja2.TemplateError(message)
