"""How a model writes tool calls: the form as a value, the grammar that holds the model to it, and the way back.

Which form a model has is read off its chat template by `probe_template.py`.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from atlas.llm_host.constrain import arguments_schema, one_of, quoted, schema_rule
from wall.strict_json import FINITE

if TYPE_CHECKING:  # forms can be understood without loading llama.cpp
    from atlas.llm_host.weights import Weights

MAX_CALLS = 8  # in one answer; nobody asks for more at once, and each makes the grammar larger
ID_LETTERS = 9  # Mistral's templates refuse any other length

Wire = Mapping[str, Any]
Slot = Literal["name", "id", "arguments"]


@dataclass(frozen=True, slots=True)
class CallFormat:
    """`opening`, calls with `between` between them, `closing`; a call is its slots with `glue` between them."""

    name: str
    opening: str = '{"name":"'
    glue: tuple[str, ...] = ('","arguments":',)
    between: str = '}\n{"name":"'  # "": one call at a time is all that the model knows
    closing: str = "}"
    slots: tuple[Slot, ...] = ("name", "arguments")
    spaced: bool = True  # JSON with a space after commas and colons
    in_content: bool = False  # the template shows the tools, but a call in the history has to be put into its words
    quoted_results: bool = False  # a result stands where JSON is expected

    @property
    def native(self) -> bool:
        """The template is given the tools."""
        return self.name != "generic"

    def json(self, value: Any) -> str:
        """Return JSON exactly as the grammar has the model write it."""
        return json.dumps(value, ensure_ascii=False, separators=None if self.spaced else (",", ":"))

    def named(self, name: str) -> str:
        """Return a tool's name as it stands in a call."""
        return json.dumps(name, ensure_ascii=False)[1:-1] if self.opening.endswith('"') else name

    def written(self, calls: Sequence[tuple[str, Any, str]]) -> str:
        """Return calls, each a name, arguments and an id, as the model writes them."""
        return self.opening + self.between.join(self._body(*call) for call in calls) + self.closing

    def _body(self, name: str, arguments: Any, call_id: str) -> str:
        filled = {"name": self.named(name), "id": call_id, "arguments": self.json(arguments)}
        return filled[self.slots[0]] + "".join(
            g + filled[slot] for g, slot in zip(self.glue, self.slots[1:], strict=True)
        )


GENERIC = CallFormat("generic", spaced=False)
# Qwen2.5 Coder begins a call so, whatever its template says. Kept from it, it writes words and calls nothing.
FENCED = CallFormat("fenced", '```json\n{"name": "', ('", "arguments": ',), between="", closing="}\n```")
MAY_FENCE = "hermes"  # the form of models that may


def grammar(vocabulary: Weights, form: CallFormat, tools: Sequence[Wire], choice: str, *, parallel: bool) -> str:
    """Return the Lark grammar of an answer: words, calls, or either, by `choice`.

    Raises `RequestError` naming the tool whose schema has no grammar.
    """
    chosen = [tool["function"] for tool in tools if choice in ("auto", "required", tool["function"]["name"])]
    rules = [f"say: {_say(form)}"]
    if choice == "none":
        return "start: say\n" + rules[0] + "\n"
    for index, function in enumerate(chosen):
        schema, what = arguments_schema(function.get("parameters") or {}), f"tool {function['name']!r}"
        rules.append(f"args_{index}: {schema_rule(schema, what, 'tools', spaced=form.spaced)}")
    most = MAX_CALLS if parallel and form.between else 1
    ids = _ids(most) if "id" in form.slots else [""]
    for place, call_id in enumerate(ids):
        ways = [_call_rule(vocabulary, form, index, function["name"], call_id) for index, function in enumerate(chosen)]
        rules.append(f"call_{place}: {one_of(ways)}")
    between = literal(vocabulary, form.between)
    if len(ids) > 1:
        more = ""
        for place in range(most - 1, 0, -1):
            more = f" ({between} call_{place}{more})?"
    else:
        more = f" ({between} call_0){{0,{most - 1}}}" if most > 1 else ""
    opening, closing = literal(vocabulary, form.opening), literal(vocabulary, form.closing)
    rules.append(" ".join(part for part in ("calls:", opening, f"call_0{more}", closing) if part))
    called = "calls"
    if form.name == MAY_FENCE:
        called = "calls | fenced"
        ways = [_call_rule(vocabulary, FENCED, index, function["name"], "") for index, function in enumerate(chosen)]
        fence = literal(vocabulary, FENCED.opening), f"({one_of(ways)})", literal(vocabulary, FENCED.closing)
        rules.append(f"fenced: {' '.join(fence)}")
    return "\n".join([f"start: {f'say | {called}' if choice == 'auto' else called}", *rules]) + "\n"


def _call_rule(vocabulary: Weights, form: CallFormat, index: int, name: str, call_id: str) -> str:
    filled = {"name": quoted(form.named(name)), "arguments": f"args_{index}", "id": quoted(call_id)}
    parts = [filled[form.slots[0]]]
    for glue, slot in zip(form.glue, form.slots[1:], strict=True):
        parts += [literal(vocabulary, glue), filled[slot]]
    return " ".join(part for part in parts if part)


def _ids(count: int) -> list[str]:
    """Return ids that no other answer has: a model left to itself would use 123456789 for all."""
    return [secrets.token_hex(ID_LETTERS)[:ID_LETTERS] for _ in range(count)]


def calls_in(answer: str, form: CallFormat) -> list[tuple[str, Any, str]] | None:
    """Return name, arguments and id ("" where the form has none) of the calls an answer is; None when it is words."""
    text, results = answer.strip(), []
    if form.name == MAY_FENCE and text.startswith("`"):
        return calls_in(text, FENCED)
    rest = _after(text, form.opening.lstrip())
    while rest is not None:
        call, rest = _read(rest, form)
        if call is None:
            return None
        results.append(call)
        if rest == form.closing.rstrip():
            return results
        rest = _after(rest, form.between) if form.between else None
    return None


def _read(text: str, form: CallFormat) -> tuple[tuple[str, Any, str] | None, str]:
    """Read one call off the beginning of `text`; return it, or None, and what follows."""
    read: dict[str, Any] = {"id": ""}
    for place, slot in enumerate(form.slots):
        glue = form.glue[place] if place < len(form.glue) else ""
        try:
            if slot == "arguments":
                read[slot], at = FINITE.raw_decode(text)
            else:
                at = text.index(glue) if slot == "name" else ID_LETTERS
                read[slot] = text[:at]
        except (ValueError, RecursionError):
            return None, text
        following = _after(text[at:], glue)
        if following is None:
            return None, text
        text = following
    name = json.loads(f'"{read["name"]}"') if form.opening.endswith('"') else read["name"]
    return (name, read["arguments"], read["id"]), text


def _after(text: str, beginning: str) -> str | None:
    return text[len(beginning) :] if text.startswith(beginning) else None


def begins_call(answer: str, form: CallFormat) -> bool | None:
    """Say whether an answer that begins like this is a call; None when it is too early to tell."""
    text, mark = answer.lstrip(), _mark(form)
    if form.name == MAY_FENCE and text.startswith("`"):
        return True  # words may not
    if text.startswith(mark):
        return True
    return None if mark.startswith(text) else False


def _mark(form: CallFormat) -> str:
    """Return what shows that an answer is a call: a bracket, or a control token."""
    match = re.match(r"\{|[^{\n]+", form.opening.lstrip())
    return match[0].rstrip() if match else "{"


def _say(form: CallFormat) -> str:
    """Words: anything that begins neither as a call does nor as a call in another form would, fenced or bare."""
    return rf"/[ \n]*[^{re.escape(_mark(form)[0])}`{{\[\s](.|\n)*/"


def literal(vocabulary: Weights, text: str) -> str:
    """Return text as terminals of a grammar; control tokens in it by their number."""
    parts: list[str] = []
    while text:
        special = next((s for s in vocabulary.special_texts if text.startswith(s)), None)
        if special:
            token = vocabulary.tokenize(special, special=True)
            parts.append(f"<[{token[0]}]>")
            text = text[len(special) :]
            continue
        starts = [at for s in vocabulary.special_texts if (at := text.find(s)) > 0]
        cut = min(starts, default=len(text))
        parts.append(quoted(text[:cut]))
        text = text[cut:]
    return " ".join(parts)
