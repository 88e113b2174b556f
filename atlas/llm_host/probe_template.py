"""Probes a chat template to learn how its model wants to be spoken to and how it writes calls of tools.

A template is shown small conversations. What it writes around names, ids and arguments is the form in which its model
learned to call, down to the spaces, so that a call in the history reads as the model wrote it and meets the cache.
Whatever cannot be read off falls back to `GENERIC`: tools described in the system message, calls one JSON object each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Protocol

import jinja2

from atlas.llm_host.formats import GENERIC, ID_LETTERS, CallFormat, Wire

SPECIAL = re.compile(r"\A[\w\s]")  # how no opening may begin: words begin so too
UNFIT = (jinja2.TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)

HERMES = CallFormat(
    "hermes",
    opening='<tool_call>\n{"name": "',
    glue=('", "arguments": ',),
    between='}\n</tool_call>\n<tool_call>\n{"name": "',
    closing="}\n</tool_call>",
)
PHI4 = CallFormat(
    "phi4",
    opening='<|tool_call|>[{"name": "',
    glue=('", "arguments": ',),
    between='}, {"name": "',
    closing="}]<|/tool_call|>",
    in_content=True,
)
# Templates that show tools but leave a call in the history out: what in them tells how their models call.
ONLY_TOLD = {"<tool_call>": replace(HERMES, in_content=True), "<|/tool|>": PHI4}
NAMES = {"<tool_call>": "hermes", "[TOOL_CALLS]": "mistral", "<|tool_call|>": "phi4", '{"name": "': "llama3"}


@dataclass(frozen=True, slots=True)
class TemplateTraits:
    """How a template wants to be spoken to."""

    form: CallFormat = GENERIC
    takes_system: bool = True
    looks_back: bool = False  # before an answer it writes other things than it will say it wrote: ask it later
    first_is_last: bool = False  # it puts the tools before the last question, where they would move with every turn
    lead: str = ""  # what stands before an answer when it is made, and has to stand there in the history too
    ending: str = ""  # what is to be added to the prompt, so that the answer begins with words or a call


class Render(Protocol):
    """A chat template at work. Raises one of `UNFIT`."""

    def __call__(self, messages: Sequence[Wire], tools: Sequence[Wire], *, manners: TemplateTraits) -> str:
        """Return the prompt for an answer to `messages`."""
        ...


PERSONA, ASKED, SAID, ASKED_ON = "persona zqs", "question zqa", "words zqw", "question zqb"
TOOL: Wire = {
    "type": "function",
    "function": {
        "name": "zqtool",
        "description": "Do a thing.",
        "parameters": {
            "type": "object",
            "properties": {"key": {"type": "string", "description": "A key."}},
            "required": ["key"],
        },
    },
}
ARGUMENTS: Wire = {"key": "a value", "more": [1, 2]}
IDS = ("zq0000001", "zq0000002")
RESULTS = ("result zq1", "result zq2")
SYSTEM: Wire = {"role": "system", "content": PERSONA}
FIRST: Wire = {"role": "user", "content": ASKED}
WORDS: Wire = {"role": "assistant", "content": SAID}
NEXT: Wire = {"role": "user", "content": ASKED_ON}
TWO_TURNS = (SYSTEM, FIRST, WORDS, NEXT)
WAYS = [
    TemplateTraits(takes_system=takes_system, first_is_last=first_is_last, looks_back=looks_back)
    for looks_back, first_is_last, takes_system in product((False, True), (False, True), (True, False))
]
THOUGHTS = (("<think>", "</think>"), ("[THINK]", "[/THINK]"))


def probe_template(source: str, render: Render, ends: Sequence[str]) -> TemplateTraits | None:
    """Return how to speak to the template `source`; `ends` are the spellings of tokens that end an answer.

    `render` renders messages and tools by given manners, and raises what templates raise. This raises nothing: a
    template that cannot be spoken to at all is None.
    """
    for tools in ((TOOL,), ()):  # one that fails with tools may still be spoken to without
        traits = list(filter(None, (_settled(tried, render, tools) for tried in WAYS)))
        steady = (manners for manners in traits if not tools or _is_steady(manners, render))
        if (chosen := next(steady, traits[0] if traits else None)) is not None:
            return replace(chosen, form=_form(source, partial(render, manners=chosen), ends) if tools else GENERIC)
    return None


def _settled(tried: TemplateTraits, render: Render, tools: Sequence[Wire]) -> TemplateTraits | None:
    """Return `tried` with its lead and ending, if by it a second turn begins as the first did."""
    try:
        first, second = render(TWO_TURNS[:2], tools, manners=tried), render(TWO_TURNS, tools, manners=tried)
    except UNFIT:
        return None
    if PERSONA not in first or ASKED not in first or SAID not in second:
        return None
    head = _until(second, SAID)
    if head.startswith(first):  # an answer begins with what the template will say it began with
        return replace(tried, ending=head[len(first) :].lstrip(" "))  # a space belongs to the first word
    if not first.startswith(head):
        return None
    lead = first[len(head) :]
    ending = next((f"\n{end}\n\n" for begin, end in THOUGHTS if lead.rfind(begin) > lead.rfind(end)), "")
    return replace(tried, lead=lead + ending, ending=ending)


def _is_steady(manners: TemplateTraits, render: Render) -> bool:
    """Say whether also an answer to a result goes on as it began; a template that cannot show one is no worse."""
    called = [SYSTEM, FIRST, *_exchange(1)]
    try:
        first = render(called, (TOOL,), manners=manners) + manners.ending
        second = render([*called, WORDS, NEXT], (TOOL,), manners=manners)
    except UNFIT:
        return True
    return RESULTS[0] not in second or SAID not in second or second.startswith(first)


def _form(source: str, render: Callable[[Sequence[Wire], Sequence[Wire]], str], ends: Sequence[str]) -> CallFormat:
    try:
        head = _until(render(TWO_TURNS, (TOOL,)), SAID)
        one = render((SYSTEM, FIRST, *_exchange(1)), (TOOL,))
    except UNFIT:
        return GENERIC
    name = TOOL["function"]["name"]
    if name not in head or RESULTS[0] not in one:
        return GENERIC
    if name not in one[len(head) :]:
        formats = (form for mark, form in ONLY_TOLD.items() if mark in source and "<function=" not in source)
        return next(formats, GENERIC)
    head = head if one.startswith(head) else head.rstrip(" ")
    single = _single(_cut(one[len(head) :], ends), name) if one.startswith(head) else None
    if single is None or SPECIAL.match(single.opening.lstrip()) or RESULTS[0] in single.closing:
        return GENERIC
    before = one[: one.index(RESULTS[0])]
    single = replace(single, quoted_results=before.rstrip().endswith(":"))
    try:
        two = _cut(render((SYSTEM, FIRST, *_exchange(2)), (TOOL,))[len(head) :], ends)
    except UNFIT:
        return single
    body = single.written([(name, ARGUMENTS, IDS[0])])[len(single.opening) : -len(single.closing) or None]
    at = two.find(name, len(single.opening) + len(body))
    between = two[len(single.opening) + len(body) : at] if at >= 0 else ""
    both = replace(single, between=between)
    return both if two == both.written([(name, ARGUMENTS, call_id) for call_id in IDS]) else single


def _exchange(count: int) -> list[Wire]:
    function = {"name": TOOL["function"]["name"], "arguments": ARGUMENTS}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in IDS[:count]]
    results = [{"role": "tool", "tool_call_id": i, "content": r} for i, r in zip(IDS, RESULTS[:count], strict=False)]
    return [{"role": "assistant", "content": "", "tool_calls": calls}, *results]


def _single(text: str, name: str) -> CallFormat | None:
    """Return the form of one call; None when it is no JSON between fixed texts."""
    spaced = json.dumps(ARGUMENTS) in text
    arguments = json.dumps(ARGUMENTS, separators=None if spaced else (",", ":"))
    places = {"name": text.find(name), "arguments": text.find(arguments), "id": text.find(IDS[0])}
    if places["name"] < 0 or places["arguments"] < places["name"]:
        return None
    sizes = {"name": len(name), "arguments": len(arguments), "id": ID_LETTERS}
    slots = tuple(sorted((slot for slot in places if places[slot] >= 0), key=lambda slot: places[slot]))
    ends = [places[slot] + sizes[slot] for slot in slots]
    if slots[0] != "name":
        return None
    opening = text[: places["name"]]
    return CallFormat(
        next((known for mark, known in NAMES.items() if opening.lstrip().startswith(mark)), "native"),
        opening=opening,
        glue=tuple(text[end : places[slot]] for end, slot in zip(ends, slots[1:], strict=False)),
        between="",
        closing=text[ends[-1] :],
        slots=slots,  # type: ignore[arg-type]
        spaced=spaced,
    )


def _cut(text: str, ends: Sequence[str]) -> str:
    """Return the beginning of `text`, up to where an answer ends."""
    return text[: min((at for end in ends if (at := text.find(end)) >= 0), default=len(text))]


def _until(text: str, mark: str) -> str:
    return text[: text.index(mark)]
