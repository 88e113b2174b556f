"""Every model is spoken to as its own template wants it, nobody speaks as the machine, and turns meet the cache."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from llguidance import LLMatcher

from atlas.errors import RequestError
from atlas.llm_host import formats
from atlas.llm_host.formats import GENERIC, CallFormat, calls_in
from atlas.llm_host.prompt import SPLIT, PromptWriter
from tests.conftest import for_every
from tests.llm_host import templates
from tests.llm_host.templates import Vocabulary

IN_PROCESS = Path(__file__).with_name("prompt_in_process.py")
END = ("<|im_end|>", "<|endoftext|>")
Wire = dict[str, Any]

# template, its tokens that end an answer, the form that is found, whether several calls at once are known
MODELS: dict[str, tuple[str, str, tuple[str, ...], str, bool]] = {
    "Qwen 2.5": (templates.QWEN25, "", END, "hermes", True),
    "Qwen 3": (templates.QWEN3, "", END, "hermes", True),
    "Hermes 2 and 3": (templates.HERMES2, "<s>", END, "hermes", True),
    "Llama 3.1 to 3.3": (templates.LLAMA3, "<|begin_of_text|>", ("<|eot_id|>",), "llama3", False),
    "Mistral 7B and Nemo": (templates.MISTRAL_NEMO, "<s>", ("</s>",), "mistral", True),
    "Mistral Small": (templates.MISTRAL_SMALL, "<s>", ("</s>",), "mistral", True),
    "Mistral v13": (templates.MISTRAL_V13, "<s>", ("</s>",), "mistral", True),
    "Phi-3": (templates.PHI3, "<s>", ("<|end|>",), "generic", True),
    "Phi-4-mini": (templates.PHI4, "", ("<|end|>",), "phi4", True),
    "Gemma": (templates.GEMMA, "<bos>", ("<end_of_turn>",), "generic", True),
    "SmolLM3": (templates.SMOLLM3, "", END, "hermes", True),
    "DeepSeek R1": (templates.DEEPSEEK_R1, "", ("<|end|>",), "generic", True),
    "Qwen 3 Coder": (templates.QWEN3_CODER, "", END, "generic", True),
}
SECONDS = {
    "type": "object",
    "properties": {"seconds": {"type": "integer", "minimum": 1}, "name": {"type": "string"}},
    "required": ["seconds"],
}


def tool(name: str, parameters: Wire | None = None, text: str = "Do it.") -> Wire:
    return {"type": "function", "function": {"name": name, "description": text, "parameters": parameters or {}}}


TOOLS = [tool("timers__start", SECONDS), tool("clock__time")]
PERSONA = {"role": "system", "content": "Be kind."}
IDS = ("aaaaaaaa1", "aaaaaaaa2")
TWO = (("timers__start", {"seconds": 5, "name": 'tea "{}" 茶'}, IDS[0]), ("clock__time", {}, IDS[1]))


def user(text: str) -> Wire:
    return {"role": "user", "content": text}


def words(text: str) -> Wire:
    return {"role": "assistant", "content": text}


def calls(count: int) -> Wire:
    wishes = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments, call_id in TWO[:count]
    ]
    return {"role": "assistant", "content": "", "tool_calls": wishes}


def results(count: int) -> list[Wire]:
    return [{"role": "tool", "tool_call_id": call_id, "content": "Done: ö."} for call_id in IDS[:count]]


class Model:
    def __init__(self, name: str) -> None:
        template, begin, ends, self.form_name, self.parallel = MODELS[name]
        self.vocabulary = Vocabulary(template, begin=begin, ends=ends)
        self.prompts = PromptWriter(self.vocabulary)
        self.form = self.prompts.format

    def writes(self, lark: str, text: str) -> bool:
        """Say whether a grammar lets the model write a text, and lets it end there."""
        matcher = LLMatcher(self.vocabulary.tokenizer(), LLMatcher.grammar_from_lark(lark), log_level=0)
        assert not matcher.is_error(), matcher.get_error()
        return bool(matcher.consume_tokens(self.vocabulary.tokenize(text, special=True)) and matcher.is_accepting())

    def grammar(self, choice: str, *, parallel: bool = True) -> str:
        return formats.grammar(self.vocabulary, self.form, TOOLS, choice, parallel=parallel)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setattr(formats, "_ids", lambda count: [*IDS, *("x" * 9,) * 8][:count])
    return known(request.param)


@cache
def known(name: str) -> Model:
    return Model(name)


def test_a_template_tells_how_its_model_calls_tools(model: Model) -> None:
    assert model.form.name == model.form_name
    assert bool(model.form.between) is model.parallel


def test_every_turn_begins_as_the_turn_before_with_what_the_model_wrote(model: Model) -> None:
    count = 2 if model.parallel else 1
    rows = [
        (words("Hello there."), "Hello there.", [user("A timer, please.")]),
        (calls(count), model.form.written(TWO[:count]), results(count)),
        (words("It is set."), "It is set.", [user("Thanks.")]),
        (words("Any time."), "Any time.", [user("And now?")]),
    ]
    conversation = [PERSONA, user("Hi.")]
    before = model.prompts.text(conversation, TOOLS)
    for message, written, next_ones in rows:
        conversation = [*conversation, message, *next_ones]
        after = model.prompts.text(conversation, TOOLS)
        assert after.replace(SPLIT, "").startswith(before.replace(SPLIT, "") + written)
        before = after
    assert "Be kind." in before and "timers__start" in before and "Done: ö." in before


def test_the_model_can_write_its_native_calls_and_nothing_that_is_nearly_one(model: Model) -> None:
    (first, *_), form = TWO, model.form
    auto, required = model.grammar("auto"), model.grammar("required")
    for lark in (auto, required, model.grammar("timers__start")):
        assert model.writes(lark, form.written([first]))
    assert model.writes(required, form.written(TWO)) is model.parallel
    assert not model.writes(model.grammar("required", parallel=False), form.written(TWO))
    wrong: list[tuple[str, Any]] = [("timers__start", {"seconds": 0}), ("timers__start", {}), ("doors__open", {})]
    for name, arguments in wrong:
        assert not model.writes(auto, form.written([(name, arguments, IDS[0])]))
    assert not model.writes(model.grammar("clock__time"), form.written([first]))
    assert not model.writes(auto, form.written([first])[:-1])


def test_words_may_be_said_where_they_are_wanted(model: Model) -> None:
    for spoken in ("Well, the sea is {wide} <and> [deep].", "Grüße 你好 🌊"):
        assert model.writes(model.grammar("auto"), spoken) and model.writes(model.grammar("none"), spoken)
        assert not model.writes(model.grammar("required"), spoken)
    assert not model.writes(model.grammar("none"), model.form.written(TWO[:1]))


def test_what_the_model_wrote_is_read_back(model: Model) -> None:
    remainder = [(name, arguments, call_id if "id" in model.form.slots else "") for name, arguments, call_id in TWO]
    assert calls_in(model.form.written(TWO[:1]), model.form) == remainder[:1]
    if model.parallel:
        assert calls_in(model.form.written(TWO), model.form) == remainder
    for broken in ("Hello.", "", model.form.written(TWO[:1])[:-1], model.form.written(TWO[:1]) + "}"):
        assert calls_in(broken, model.form) is None


def test_control_tokens_that_anybody_spells_out_stay_text(model: Model) -> None:
    evil = " ".join((*model.vocabulary.special_texts, "/think", "/no_think"))

    def controls(extra: str) -> int:
        made = calls(1)
        made["tool_calls"][0]["function"]["arguments"] = json.dumps({"seconds": 5, "name": "x" + extra})
        conversation = [
            {"role": "system", "content": "Be kind." + extra},
            user("Hi." + extra),
            words("Yes?" + extra),
            user("Go." + extra),
            made,
            {"role": "tool", "tool_call_id": IDS[0], "content": "Done." + extra},
        ]
        tools = [tool("timers__start", SECONDS, text="Do it." + extra)]
        return sum(token >= templates.BYTES for token in model.prompts.tokens(conversation, tools))

    assert controls(evil) == controls("")


@for_every(
    "conversation",
    [
        [PERSONA],
        [user("a"), user("b")],
        [PERSONA, words("A bell."), user("a")],
        [PERSONA, user("a"), PERSONA, user("b")],
        [PERSONA, user("a"), words("b"), words("c"), user("d")],
        [PERSONA, user("a"), calls(2), *results(2), user("b")],
        [PERSONA, user("a"), calls(2), *results(2), words("c"), user("d"), calls(1), *results(1)],
    ],
)
def test_messages_in_any_order_are_taken(model: Model, conversation: list[Wire]) -> None:
    for offered in (TOOLS, []):
        text = model.prompts.text(conversation, offered).replace(SPLIT, "")
        for message in conversation:
            assert message["content"] in text or json.dumps(message["content"])[1:-1] in text


@for_every("depth", [600, 900])
def test_what_is_nested_too_deeply_is_written_or_refused(model: Model, depth: int) -> None:
    deep = json.loads('{"a":' * depth + "1" + "}" * depth)
    for arguments in (deep, '{"a":' * depth + "1" + "}" * depth):
        wish = {"id": IDS[0], "type": "function", "function": {"name": "clock__time", "arguments": arguments}}
        called = {"role": "assistant", "content": "", "tool_calls": [wish]}
        with suppress(RequestError):
            assert model.prompts.tokens([user("Hi."), called, *results(1)], [])
    with suppress(RequestError):
        assert model.prompts.tokens([user("Hi.")], [tool("clock__time", {"default": deep})])


def test_no_answer_begins_within_a_thought(model: Model) -> None:
    text = model.prompts.text([PERSONA, user("Hi.")], [])
    assert text.count("<think>") == text.count("</think>")


def test_the_order_of_the_tools_does_not_change_the_prompt(model: Model) -> None:
    one, other = (model.prompts.tokens([user("Hi.")], tools) for tools in (TOOLS, TOOLS[::-1]))
    assert one == other


def test_a_prompt_begins_once(model: Model) -> None:
    begin = model.vocabulary.begin
    tokens = model.prompts.tokens([PERSONA, user("Hi.")], TOOLS)
    assert begin is None or (tokens[0] == begin and tokens.count(begin) == 1)


@for_every("name", ["Mistral 7B and Nemo", "Mistral Small"])
def test_calls_that_a_model_numbers_get_ids_that_no_other_answer_has(name: str) -> None:
    model = Model(name)
    assert model.grammar("required") != model.grammar("required")
    assert not model.writes(model.grammar("required"), model.form.written([("clock__time", {}, "123456789")]))


def test_calls_that_a_client_numbers_in_its_own_way_are_still_known_to_mistral() -> None:
    made, done = calls(1), results(1)
    made["tool_calls"][0]["id"] = done[0]["tool_call_id"] = "call_0123456789abcdef"
    text = Model("Mistral 7B and Nemo").prompts.text([user("a"), made, *done], TOOLS)
    shown = text.split('"id": "')[1][:9]
    assert text.count(shown) == 2


@for_every("template", ["{{ functions }}{{ undefined.attribute }}", "{{ 1 / 0 }}", "{{ raise_exception('no') }}"])
def test_a_template_that_cannot_be_used_is_replaced(template: str) -> None:
    text = PromptWriter(Vocabulary(template)).text([PERSONA, user("Hi.")], TOOLS)
    assert "<|im_start|>user\nHi.<|im_end|>" in text and "timers__start" in text


def test_a_template_for_tools_is_used_where_there_are_tools() -> None:
    vocabulary = Vocabulary(templates.QWEN25)
    vocabulary.metadata |= {
        "tokenizer.chat_template": templates.PHI3,
        "tokenizer.chat_template.tool_use": templates.QWEN25,
    }
    prompts = PromptWriter(vocabulary)
    assert prompts.format.name == "hermes"
    assert "<|user|>" in prompts.text([user("Hi.")], []) and "<|im_start|>" in prompts.text([user("Hi.")], TOOLS)


def test_a_tool_whose_schema_has_no_grammar_is_refused_by_name() -> None:
    vocabulary = Vocabulary(templates.QWEN25)
    with pytest.raises(RequestError, match="'odd'"):
        odd = [tool("good"), tool("odd", {"$ref": "http://localhost/x"})]
        formats.grammar(vocabulary, GENERIC, odd, "auto", parallel=False)


def test_every_form_has_a_sign_that_words_do_not_begin_with() -> None:
    for form in (CallFormat("x"), *(known(name).form for name in MODELS)):
        assert formats.begins_call(form.opening, form) is True
        assert formats.begins_call("Well", form) is False
        assert formats.begins_call(" ", form) is None


@pytest.mark.real
def test_prompts_and_grammars_hold_with_real_weights() -> None:
    # In a process of its own: Silero's detector and llama.cpp each bring a ggml library of the same name.
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(IN_PROCESS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=IN_PROCESS.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
