"""A full context is known for what it is, in the words of every server; and so is a server that has no time."""

from __future__ import annotations

import json
import re
from typing import Any

from atlas.errors import ContextFull, EngineError, LlmBusy, LlmGone, LlmLoading
from atlas.llm.refusals import error_in, refusal
from tests.conftest import for_every

FULL: dict[str, tuple[Any, tuple[int, int]]] = {
    "our own host": (
        {
            "error": {
                "message": "too long",
                "code": "context_length_exceeded",
                "atlas": {"prompt_tokens": 5000, "context": 4096, "max_tokens": 512},
            }
        },
        (5000, 4096),
    ),
    "llama-server": (
        {
            "error": {
                "code": 400,
                "message": "request (6031 tokens) exceeds the available context size (2048 tokens), try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 6031,
                "n_ctx": 2048,
            }
        },
        (6031, 2048),
    ),
    "llama-server, while it answers": ({"error": {"code": 500, "message": "Context size has been exceeded."}}, (0, 0)),
    "llama-cpp-python": (
        {
            "error": {
                "message": "This model's maximum context length is 512 tokens. However, you requested 600 tokens "
                "(500 in the messages, 100 in the completion). Please reduce the length of the messages.",
                "code": "context_length_exceeded",
            }
        },
        (500, 512),
    ),
    "vLLM of old": (
        {
            "object": "error",
            "message": "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens "
            "(568 in the messages, 6048 in the completion).",
            "type": "BadRequestError",
            "code": 400,
        },
        (568, 6048),
    ),
    "vLLM": (
        {
            "error": {
                "message": "'max_tokens' or 'max_completion_tokens' is too large: 100. This model's maximum context "
                "length is 4096 tokens and your request has 4090 input tokens (100 > 4096 - 4090).",
                "type": "BadRequestError",
                "code": 400,
            }
        },
        (4090, 4096),
    ),
    "LM Studio": (
        {
            "error": "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens, which is not enough."
        },
        (15857, 4096),
    ),
    "LM Studio, newer": (
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the context length "
            "(n_keep: 10247 >= n_ctx: 4096). Try to load the model with a larger context length."
        },
        (10247, 4096),
    ),
    "OpenAI": (
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in "
                "9000 tokens.",
                "code": "context_length_exceeded",
            }
        },
        (9000, 8192),
    ),
    "Ollama": ({"error": {"message": "the input length exceeds the context length"}}, (0, 0)),
}


@for_every("server", FULL)
@for_every("status", [400, 500, 0])
def test_a_full_context_is_known_in_the_words_of_each_server(server: str, status: int) -> None:
    body, sizes = FULL[server]
    trouble = refusal("big", status, json.dumps(body))
    assert isinstance(trouble, ContextFull)
    assert (trouble.prompt_tokens, trouble.context_tokens) == sizes


def test_a_body_that_was_cut_short_is_still_understood() -> None:
    trouble = refusal("big", 400, json.dumps(FULL["llama-server"][0])[:-30])
    assert isinstance(trouble, ContextFull) and trouble.context_tokens == 2048


@for_every(
    ("status", "body", "kind"),
    [
        (503, '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}', LlmLoading),
        (503, '{"error":{"message":"the model is still loading","code":"model_loading"}}', LlmLoading),
        (503, "Service Unavailable", LlmGone),
        (500, "<html>", LlmGone),
        (502, "", LlmGone),
        (429, '{"error":{"message":"the line is full"}}', LlmBusy),
        (401, '{"error":"Unauthorized"}', EngineError),
        (404, '{"error":{"message":"model \\"x\\" not found, try pulling it first"}}', EngineError),
        (400, '{"object":"error","message":"\\"auto\\" tool choice requires --enable-auto-tool-choice"}', EngineError),
        (400, '{"detail":[{"loc":["body"],"msg":"field required"}]}', EngineError),
        (400, "[" * 100_000, EngineError),
        (0, '{"error": {"message": "out of memory"}}', EngineError),
    ],
)
def test_whoever_can_act_is_told_whether_it_is_worth_another_try(
    status: int, body: str, kind: type[EngineError]
) -> None:
    trouble = refusal("big", status, body)
    assert type(trouble) is kind and len(str(trouble)) < 600


SAID = "the code for the shed is 4711"


@for_every(
    "body",
    [
        {"error": {"message": f"could not parse the message {SAID!r}", "type": "BadRequestError", "code": 400}},
        {"detail": [{"loc": ["body", "messages", 0], "msg": "field required", "input": {"content": SAID}}]},
        {"error": SAID},
        {"error": {"message": f"maximum context length is 8192 tokens, and not {SAID}"}},
    ],
)
@for_every("status", [0, 400, 429, 500])
def test_what_a_person_said_is_not_in_an_error_that_quotes_it(body: dict[str, Any], status: int) -> None:
    trouble = refusal("big", status, json.dumps(body))
    assert not {"shed", "4711"} & set(re.findall(r"\w+", f"{trouble} {trouble.hint}"))


@for_every(
    ("body", "wanted"),
    [
        (
            {"error": {"message": "model 'x' not found, try pulling it first"}},
            "model '…' not found, try pulling it first",
        ),
        ({"message": '"auto" tool choice requires --enable-auto-tool-choice'}, "requires --enable-auto-tool-choice"),
        ({"detail": [{"loc": ["body", "stop"], "msg": "field required"}]}, "field required"),
        ({"error": {"message": "This model's maximum context length is 8192 tokens."}}, "context 8192"),
        ({"error": "CUDA out of memory. Tried to allocate 20.00 MiB"}, "CUDA out of memory"),
    ],
)
def test_what_is_left_of_an_error_says_what_to_mend(body: dict[str, Any], wanted: str) -> None:
    assert wanted in str(refusal("big", 400, json.dumps(body)))


def test_our_own_host_quotes_nobody_and_is_passed_on_whole() -> None:
    body = json.dumps({"error": {"message": "tool 'lamp' has a schema without a grammar", "code": "invalid_schema"}})
    assert "'lamp'" in str(refusal("big", 400, body, is_own=True))


def test_how_long_a_busy_server_wants_to_be_left_alone_is_passed_on() -> None:
    assert "7 s" in refusal("big", 429, "{}", "7").hint
    assert refusal("big", 503, "{}").hint


@for_every("event", [{"error": "x"}, {"object": "error", "message": "x"}, {"type": "error", "message": "x"}])
def test_an_error_in_a_stream_is_seen(event: dict[str, Any]) -> None:
    assert error_in(event) and not error_in({"choices": [], "error": None})
