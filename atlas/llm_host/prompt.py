"""Messages and tools → the prompt, as this model's own chat template has it.

A model whose template knows a tool format is spoken to in that format; `probe_template` reads off the template which
it is. To any other the tools are described in the system message. The prompt of a turn begins with that of the turn
before.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import jinja2
from jinja2 import meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from atlas.errors import RequestError
from atlas.llm_host.formats import GENERIC, ID_LETTERS, CallFormat, Wire
from atlas.llm_host.probe_template import UNFIT, TemplateTraits, probe_template

if TYPE_CHECKING:  # prompts can be written without loading llama.cpp
    from atlas.llm_host.weights import Weights

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TEMPLATE, TOOL_TEMPLATE = "tokenizer.chat_template", "tokenizer.chat_template.tool_use"
SPLIT = "\ue000"  # put inside control tokens that people, tools or the model spelled out, so that they stay text
ANSWER, BARE = "\ue001", "\ue002"  # stand before an assistant's words, or where it has none, until the text is whole
LATER_ANSWER = "\ue003"
OURS = str.maketrans("", "", SPLIT + ANSWER + BARE + LATER_ANSWER)
SWITCHES = ("/no_think", "/think")
LATER: tuple[Wire, ...] = ({"role": "assistant", "content": LATER_ANSWER}, {"role": "user", "content": "?"})
GOES_ON, SILENT = "(The conversation goes on.)", "…"  # for templates that insist on turns where there were none
log = logging.getLogger("atlas.llm_host")


class PromptWriter:
    """Writes prompts for one model. Whatever its template does wrong is found out here, or is a `RequestError`."""

    def __init__(self, vocabulary: Weights) -> None:
        self._vocabulary = vocabulary
        self._begin = vocabulary.text(vocabulary.begin) if vocabulary.begin is not None else ""
        self._ends = [vocabulary.text(t) for t in range(vocabulary.size) if vocabulary.ends(t)]
        plain = vocabulary.metadata.get(TEMPLATE) or CHATML
        source = vocabulary.metadata.get(TOOL_TEMPLATE) or plain
        # Control tokens, and the words by which people could switch on thoughts where a template looks for them.
        self._marks = (*vocabulary.special_texts, *(word for word in SWITCHES if f'"{word}"' in source))
        self._plain, self._with_tools = _ChatTemplate(plain), _ChatTemplate(source)
        learnt = probe_template(source, self._render, self._ends)
        if learnt is None:
            log.warning("the model's chat template cannot be used; its messages are written as most models know them")
            self._plain = self._with_tools = _ChatTemplate(CHATML)
        self.manners = learnt or TemplateTraits()

    @property
    def format(self) -> CallFormat:
        """How this model writes calls."""
        return self.manners.form

    def tokens(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> list[int]:
        """Return the prompt. Same messages and tools, in whatever order the tools come: same tokens."""
        text = self.text(messages, tools)
        begin = self._vocabulary.begin
        tokens = [] if begin is None or text.startswith(self._begin) else [begin]
        for piece in text.split(SPLIT):
            tokens += self._vocabulary.tokenize(piece, special=True)
        return tokens

    def text(self, messages: Sequence[Wire], tools: Sequence[Wire]) -> str:
        """Return the prompt before it is cut into tokens. Raises `RequestError` for what the template cannot take."""
        tools = sorted(tools, key=lambda tool: str(tool["function"]["name"]))
        form = self.format
        # Only now that arguments are no longer JSON in a text, where a control token could hide behind an escape.
        try:
            shaped = self._harmless(list(_native(messages, form)) if form.native else _plain(messages, tools))
            offered = self._harmless(tools) if form.native else []
        except RecursionError as deep:
            raise RequestError("messages or tools are nested too deeply", code="invalid_messages") from deep
        try:
            return self._render(shaped, offered, manners=self.manners) + self.manners.ending
        except UNFIT:  # most templates take any order of messages, some insist on turns
            try:
                return self._render(_in_turns(shaped), offered, manners=self.manners) + self.manners.ending
            except UNFIT as trouble:
                raise RequestError(
                    f"the model's chat template cannot take the messages: {trouble}",
                    code="invalid_messages",
                    param="messages",
                ) from trouble

    def _render(self, messages: Sequence[Wire], tools: Sequence[Wire], *, manners: TemplateTraits) -> str:
        """Return what the template makes of messages that are shaped for it."""
        shaped = [dict(message) for message in messages]
        if not manners.takes_system:
            shaped = _without_system(shaped)
        if manners.form.in_content:
            shaped = [_with_calls_in_words(message, manners.form) for message in shaped]
        if manners.lead:
            shaped = [_marked(message) for message in shaped]
        if manners.looks_back:
            shaped += [dict(message) for message in LATER]
        if manners.first_is_last:
            shaped = _with_a_first_for_the_last(shaped)
        knows_calls = tools or any("tool_calls" in message for message in shaped)
        template = self._with_tools if knows_calls else self._plain
        text = template.render(shaped, tools, self._begin, self._ends[0] if self._ends else "")
        if manners.looks_back:
            text = text[: text.index(LATER_ANSWER)]
        return _with_lead(text, manners.lead) if manners.lead else text

    def _harmless(self, value: Any) -> Any:
        """Return `value` with the control tokens that are spelled out in any text of it turned into plain text."""
        if isinstance(value, dict):
            return {self._harmless(key): self._harmless(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._harmless(inner) for inner in value]
        if not isinstance(value, str):
            return value
        text = value.translate(OURS)
        for special in self._marks:
            text = text.replace(special, special[0] + SPLIT + special[1:])
        return text


class _ChatTemplate:
    """A chat template, and which names it gives to the tools."""

    def __init__(self, source: str) -> None:
        environment = _environment()
        self._template = environment.from_string(source)
        names = meta.find_undeclared_variables(environment.parse(source))
        # SmolLM3 and Phi-4-mini write the tools as they are, so they are given JSON.
        self._as_text = "tools" not in names and "xml_tools" in names
        self._in_message = "tools" not in names and "message['tools']" in source

    def render(self, messages: Sequence[Wire], tools: Sequence[Wire], begin: str, end: str) -> str:
        """Return the text. Raises one of `UNFIT`."""
        functions = [compact(tool["function"]) for tool in tools]
        if self._in_message:
            messages = [_with_tools_inside(message, functions) for message in messages]
        more = {"xml_tools": functions} if self._as_text else {}
        try:
            return self._filled(messages, begin, end, {"tools": list(tools) or None, **more})
        except TypeError:  # some count the tools even where there are none
            if tools:
                raise
            return self._filled(messages, begin, end, more)

    def _filled(self, messages: Sequence[Wire], begin: str, end: str, more: Mapping[str, Any]) -> str:
        return self._template.render(
            messages=messages,
            add_generation_prompt=True,
            bos_token=begin,
            eos_token=end,
            enable_thinking=False,  # a thought takes as long as an answer, and nobody may hear it
            thinking=False,
            **more,
        )


# ── shaping messages ───────────────────────────────────────────────────────────────────────────────


def _plain(messages: Sequence[Wire], tools: Sequence[Wire]) -> list[dict[str, Any]]:
    """Return messages for a template that knows only system, user and assistant."""
    shaped: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in messages:
        role, text = message["role"], str(message["content"])
        if role == "assistant" and message.get("tool_calls"):
            functions = [call["function"] for call in message["tool_calls"]]
            names |= {call.get("id", ""): call["function"]["name"] for call in message["tool_calls"]}
            wishes = [(f["name"], _object(f.get("arguments")), "") for f in functions]
            text = "\n".join(([text] if text else []) + [GENERIC.written(wishes)])
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
    functions = [tool["function"] for tool in tools]
    lines = [compact({key: f[key] for key in ("name", "description", "parameters") if key in f}) for f in functions]
    return (
        "You may use these tools:\n" + "\n".join(lines) + "\n"
        'To use one, answer with nothing but {"name":"NAME","arguments":{...}}. Otherwise answer in words.'
    )


def _native(messages: Sequence[Wire], form: CallFormat) -> Iterator[dict[str, Any]]:
    """Yield messages as templates with tools expect them: arguments as objects, ids as Mistral wants them."""
    waiting: list[dict[str, Any]] = []  # calls, for a model that knows only one at a time
    for message in messages:
        shaped = {key: value for key, value in message.items() if key not in ("tool_calls", "tool_call_id")}
        if message["role"] == "tool":
            shaped["tool_call_id"] = _short(message.get("tool_call_id", ""))
            if form.quoted_results:
                shaped["content"] = json.dumps(message["content"], ensure_ascii=False)
            if (
                arguments := next((call for call in waiting if call["id"] == shaped["tool_call_id"]), None)
            ) is not None:
                waiting.remove(arguments)
                yield {"role": "assistant", "content": "", "tool_calls": [arguments]}
        elif message.get("tool_calls"):
            calls = [
                {
                    "id": _short(call.get("id", "")),
                    "type": "function",
                    "function": {
                        "name": call["function"]["name"],
                        "arguments": _object(call["function"].get("arguments")),
                    },
                }
                for call in message["tool_calls"]
            ]
            if not form.between and len(calls) > 1:
                waiting = calls
                if not shaped["content"]:
                    continue
            else:
                shaped["tool_calls"] = calls
        yield shaped


def _short(call_id: str) -> str:
    """Return an id of nine letters: the one that the model wrote, or one made of whatever a client calls it."""
    fits = len(call_id) == ID_LETTERS and call_id.isascii() and call_id.isalnum()
    return call_id if fits else hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:ID_LETTERS]


def _with_calls_in_words(message: dict[str, Any], form: CallFormat) -> dict[str, Any]:
    if not message.get("tool_calls"):
        return message
    functions = [call["function"] for call in message["tool_calls"]]
    written = form.written([(f["name"], f["arguments"], "") for f in functions])
    return {"role": "assistant", "content": "\n".join(filter(None, (message["content"], written)))}


def _with_tools_inside(message: Wire, functions: Sequence[str]) -> Wire:
    """Return a message as Phi-4-mini's template wants it: a role is a control token, tools belong to the system."""
    if message["role"] == "system" and functions:
        return {**message, "tools": "[" + ",".join(functions) + "]"}
    return {**message, "role": "tool_response"} if message["role"] == "tool" else message


def _marked(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with a mark where an answer begins, for `_with_lead` to put there what it began with."""
    if message["role"] != "assistant":
        return message
    return message | {"content": ANSWER + message["content"] if message["content"] else BARE}


def _with_lead(text: str, lead: str) -> str:
    for mark in (ANSWER, BARE):
        text = text.replace(lead + mark, mark)  # some templates show it in the latest turn only
    # A template that saw words before a call has put a line between them.
    return text.replace(BARE + "\n", lead).replace(BARE, lead).replace(ANSWER, lead)


def _without_system(messages: Sequence[Wire]) -> list[dict[str, Any]]:
    """Return messages whose system message opens the first question."""
    first, *rest = [dict(message) for message in messages]
    if first["role"] != "system":
        return [first, *rest]
    if rest and rest[0]["role"] == "user":
        rest[0]["content"] = f"{first['content']}\n\n{rest[0]['content']}"
        return rest
    return [{"role": "user", "content": first["content"]}, *rest]


def _in_turns(messages: Sequence[Wire]) -> list[dict[str, Any]]:
    """Return messages in which person and assistant take turns, a call and its results counting as none."""
    turns: list[dict[str, Any]] = []
    expected = "user"
    for at, message in enumerate(messages):
        shaped = dict(message)
        if shaped["role"] == "system" and at:
            shaped["role"] = "user"
        if shaped["role"] in ("system", "tool") or shaped.get("tool_calls"):
            turns.append(shaped)
            continue
        if shaped["role"] != expected:
            before = next(
                (m for m in reversed(turns[-1:]) if m["role"] == shaped["role"] and "tool_calls" not in m), None
            )
            if before is not None:
                before["content"] = f"{before['content']}\n\n{shaped['content']}"
                continue
            turns.append({"role": expected, "content": GOES_ON if expected == "user" else SILENT})
        turns.append(shaped)
        expected = "assistant" if shaped["role"] == "user" else "user"
    is_question = any(turn["role"] == "user" for turn in turns)
    return turns if is_question else [*turns, {"role": "user", "content": GOES_ON}]


class _Entry(dict[str, Any]):
    """A message that passes for any other if it was `chosen`, and for none if not."""

    chosen = False

    def __eq__(self, _other: object) -> bool:
        return self.chosen

    __hash__ = None


def _with_a_first_for_the_last(messages: Sequence[Wire]) -> list[dict[str, Any]]:
    """Return messages of which the first question is taken for the last.

    Mistral's templates put the tools before the message that equals the last question. There they would move with
    every turn, and nothing that follows them could be kept.
    """
    shaped = [_Entry(message) for message in messages]
    for message in shaped:
        if message["role"] == "user":
            message.chosen = True
            break
    return list(shaped)


def _object(arguments: Any) -> Any:
    """Return arguments as an object: on the wire they are JSON in a string."""
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def compact(value: Any) -> str:
    """Return JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# ── the template's own language ────────────────────────────────────────────────────────────────────


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
