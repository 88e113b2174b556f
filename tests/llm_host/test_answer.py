"""Bytes become words as soon as they are certain, and calls only when they are whole."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import count

import pytest

from atlas.errors import EngineError
from atlas.llm_host.formats import GENERIC
from atlas.llm_host.generate import STRIDE_SECONDS, AnswerSorter, GeneratedCall, Generation, Writing
from atlas.llm_host.probe_template import HERMES
from atlas.llm_host.prompt import PromptWriter
from tests.conftest import for_every
from tests.llm_host import templates
from tests.llm_host.templates import Vocabulary


def said(answer: AnswerSorter, text: str, size: int = 1) -> str:
    raw = text.encode()
    return "".join(answer.add(raw[at : at + size]) for at in range(0, len(raw), size))


class Recited(Generation):
    """A text, word after word."""

    def __init__(self, text: str) -> None:
        self._left = re.findall(r"\s*\S+", text)

    @property
    def over(self) -> bool:
        return not self._left

    def step(self) -> bytes:
        return self._left.pop(0).encode()


def told(text: str, seconds: float, *, aloud: bool = False) -> list[str]:
    """Return what is told of a text whose words take so many seconds each."""
    ticks, tellings = count(), list[str]()
    writing = Writing(Recited(text), AnswerSorter(), aloud=aloud, clock=lambda: next(ticks) * seconds)
    writing.stretch(lambda: True, tellings.append)
    return tellings


LONG = "Well, on the whole I would say no: it is 3.5 miles, or more! Ask again"


def test_the_first_word_is_told_at_once_and_others_wait_for_company() -> None:
    assert told(LONG, STRIDE_SECONDS / 1000) == ["Well,", LONG.removeprefix("Well,")]


def test_a_voice_is_told_the_end_of_a_clause_at_once_too() -> None:
    assert told(LONG, STRIDE_SECONDS / 1000, aloud=True) == [
        "Well,",
        " on",
        " the whole I would say no: it",
        " is 3.5 miles, or",
        " more! Ask",
        " again",
    ]


def test_a_slow_model_is_told_word_by_word() -> None:
    assert told("I would not know", STRIDE_SECONDS) == ["I", " would", " not", " know"]


def test_what_is_quicker_is_told_a_few_times_a_second() -> None:
    tellings = told("on and on " * 100, STRIDE_SECONDS / 7.5)
    assert {len(words.split()) for words in tellings[1:-1]} == {8}


@for_every("size", [1, 2, 3, 5])
def test_characters_that_arrive_in_pieces_come_out_whole(size: int) -> None:
    answer = AnswerSorter()
    words = said(answer, "Grüße 你好 👩‍👩‍👧‍👦!", size)
    assert words + answer.end(whole=True)[0] == "Grüße 你好 👩‍👩‍👧‍👦!"


def test_half_a_character_at_the_end_does_not_hide_what_went_before() -> None:
    answer = AnswerSorter()
    assert answer.add(b"ok \xf0\x9f") + answer.end(whole=False)[0] == "ok \ufffd"


def test_a_stop_string_is_found_across_pieces_and_never_comes_out() -> None:
    answer = AnswerSorter(["END", "ENOUGH"])
    assert said(answer, "the EN of it ENDxx") == "the EN of it "
    assert answer.stopped
    assert answer.end(whole=True) == ("", [])


def test_a_stop_string_that_might_have_begun_a_thought_is_one_at_the_end_too() -> None:
    answer = AnswerSorter(["<"])
    assert said(answer, "<") + answer.end(whole=True)[0] == ""


def test_what_only_looked_like_a_stop_comes_out_at_the_end() -> None:
    answer = AnswerSorter(["END"])
    assert said(answer, "a EN") == "a "
    assert answer.end(whole=True)[0] == "EN"


@for_every(
    ("template", "text"),
    [
        (templates.PHI3, '{"name":"a","arguments":{"x":"}{\\n"}}'),
        (templates.QWEN25, '<tool_call>\n{"name": "a", "arguments": {"x": "}{\\n"}}\n</tool_call>'),
        (templates.LLAMA3, '{"name": "a", "parameters": {"x": "}{\\n"}}'),
        (templates.MISTRAL_NEMO, '[TOOL_CALLS][{"name": "a", "arguments": {"x": "}{\\n"}, "id": "abc123xyz"}]'),
    ],
)
def test_a_call_is_read_in_the_form_of_its_model(template: str, text: str) -> None:
    answer = AnswerSorter(form=PromptWriter(Vocabulary(template, ends=("</s>", "<|eot_id|>", "<|im_end|>"))).format)
    assert said(answer, text, 3) == ""
    assert answer.end(whole=True) == ("", [GeneratedCall("a", {"x": "}{\n"}, "abc123xyz" if '"id"' in text else "")])


def test_two_calls_are_two_calls() -> None:
    answer = AnswerSorter(form=GENERIC)
    said(answer, '{"name":"a","arguments":{}}\n{"name":"b","arguments":{}}')
    assert [call.name for call in answer.end(whole=True)[1]] == ["a", "b"]


def test_words_are_sent_at_once_although_there_are_tools() -> None:
    answer = AnswerSorter(form=HERMES)
    assert said(answer, "<tool is what I would use") == "<tool is what I would use"


def test_a_call_that_was_cut_short_is_no_call() -> None:
    answer = AnswerSorter(form=GENERIC)
    said(answer, '{"name":"a","argum')
    assert answer.end(whole=False) == ("", [])


@for_every("call", ['{"name":"a",', '{"name":"a","arguments":{"n":1e999}}', '{"name":"a","arguments":{"n":NaN}}'])
def test_a_call_that_is_broken_is_an_error_and_not_words(call: str) -> None:
    answer = AnswerSorter(form=GENERIC)
    said(answer, call)
    with pytest.raises(EngineError):
        answer.end(whole=True)


def test_understanding_an_answer_loads_no_llama_cpp() -> None:
    # It brings a ggml of the same name as the speech detector's, and the two cannot share a process.
    script = "import sys, atlas.llm_host.generate; sys.exit('llama_cpp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_a_thought_is_no_part_of_the_words_nor_of_a_call() -> None:
    assert said(answer := AnswerSorter(), "<think>\nHm.\n</think>\n\nWide.", 3) + answer.end(whole=True)[0] == "Wide."
    answer = AnswerSorter(form=HERMES)
    assert said(answer, '<think>\n\n</think>\n\n<tool_call>\n{"name": "a", "arguments": {}}\n</tool_call>', 4) == ""
    assert answer.end(whole=True) == ("", [GeneratedCall("a", {})])
