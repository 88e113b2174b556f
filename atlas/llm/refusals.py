"""What servers say when they will not answer → the error that somebody here can act on. Pure.

The sentences are those of llama-server, llama-cpp-python, vLLM, LM Studio, Ollama and OpenAI, read off their sources
and their users' reports; a server that words it anew is still an `EngineError`, only nobody compacts the conversation.

Errors go into the log, and servers like to quote what they do not like, which may be a person's words. So only the
words that errors are made of are passed on; whoever needs the others finds them in that server's own log. Our own
host's errors are worded for it, and are passed on as they are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from atlas.errors import ContextFull, EngineError, LlmBusy, LlmGone, LlmLoading
from atlas.own_words import noted

FULL_CODES = {"context_length_exceeded", "exceed_context_size_error"}
FULL = re.compile(
    r"maximum context length|exceeds? the (?:available )?context (?:size|length|window)|context size has been exceeded"
    r"|context length of only|greater than the context length|longer than the maximum model length"
    r"|exceeds (?:the )?(?:model's )?maximum (?:context|model) length|prompt is too long",
    re.IGNORECASE,
)
CONTEXT = re.compile(
    r"(?:maximum context length(?: is| of)?|context length of only|available context size|maximum model length of"
    r"|n_ctx:?)\D{0,3}(\d+)",
    re.IGNORECASE,
)
PROMPT = re.compile(
    r"(\d+) in the messages|has (\d+) input tokens|\((\d+) tokens\) exceeds|resulted in (\d+) tokens"
    r"|keep the first (\d+) tokens|n_keep: (\d+)|prompt \(length (\d+)\)",
    re.IGNORECASE,
)
ALL_ASKED = re.compile(r"requested (\d+) tokens", re.IGNORECASE)  # where the answer's share is not told apart
NOT_OFFERED = 501
UNSAID = "the words left out (…) are in the log of that server"
LOADING = re.compile(r"\bloading\b.*\bmodel\b|\bmodel\b.*\bloading\b", re.IGNORECASE)  # llama-server; our host
MOST_READ = 2_000  # letters of what a server said, for its words
MOST_SHOWN = 300  # of them, for the log
WORDS_OF_ERRORS = """
a about again already an and api are argument arguments as at auto available bad be because been between body busy by
call calls can cannot chat choice code completion completions configuration connection content context could cpu cuda
data default denied detail device disabled does duplicate embedding embeddings enable enabled endpoint engine enough
error exceed exceeded exceeds expected fail failed field file first for format forbidden found free from full function
gateway generation gguf gpu grammar greater has header http id in incorrect input int integer internal invalid is it
its jinja json keep key kv large length less limit list load loaded loading loc long lora many max maximum memory
message messages method minimum missing model models msg must name no not null number object of off ok on only or out
parallel param parameter parameters parse parser path permission please pull pulling queue quota rate reached
reasoning reduce request requests require required requires resource response role run running schema server service
shorten size slot slots start stopped stream streaming string support supported system temperature template
temporarily than that the this timeout timed to token tokens too tool tools try trying type unable unauthorized
unavailable unexpected unknown unsupported upstream usage use user valid value version vram was while window with
without wrong you your badrequesterror internalservererror notfounderror typeerror valueerror runtimeerror
"""
_WORDS = frozenset(WORDS_OF_ERRORS.split())
_PIECE = re.compile(r"[A-Za-z]+|[^A-Za-z .,:;()'\"/_-]+")
_GAPS = re.compile("…(?:[^A-Za-z…]*…)+")


def refusal(model: str, status: int, text: str, retry_after: str = "", *, is_own: bool = False) -> EngineError:
    """Return the error that an HTTP status (0: an event in the middle of an answer) and a body mean.

    `is_own` says that it is our LLM host's, which quotes nobody.
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    error = _error(body)
    message = str(error.get("message") or text)
    sentence = message[:MOST_SHOWN] if is_own else _known(message)
    says = f"{model} {'failed' if not status else f'answered {status}'}: {sentence}"
    words = {error.get("code"), error.get("type")}
    if any(isinstance(word, str) and word in FULL_CODES for word in words) or FULL.search(message):
        prompt, context = _sizes(error, message)
        says += f" (prompt {prompt or 'of unknown length'}, context {context or 'of unknown length'})"
        return ContextFull(says, prompt_tokens=prompt, context_tokens=context)
    if (status >= 500 and status != NOT_OFFERED) or status in (408, 429):
        wait = f"it asks to be tried again in {retry_after} s" if retry_after else "look at the log of the LLM host"
        if status == 503 and LOADING.search(message):
            return LlmLoading(says, hint=noted("wait until it is loaded: it then answers by itself"))
        return (LlmBusy if status == 429 else LlmGone)(says, hint=wait)
    return EngineError(says, hint=UNSAID if not status else f"check the model's name and key in atlas.toml; {UNSAID}")


def _known(message: str) -> str:
    """Return a message with what is no word of errors left out: names, numbers, and whatever somebody has said."""
    plain = _PIECE.sub(lambda piece: piece[0] if piece[0].lower() in _WORDS else "…", message[:MOST_READ])
    return _GAPS.sub("…", plain)[:MOST_SHOWN]


def error_in(event: Mapping[str, Any]) -> str:
    """Return an event of a stream as JSON when it says that the answer failed, "" otherwise."""
    failed = event.get("error") or event.get("object") == "error" or event.get("type") == "error"
    return json.dumps(event) if failed else ""


def _error(body: Any) -> Mapping[str, Any]:
    """Return the object that describes an error: most wrap it, vLLM has sent it bare, some send a sentence."""
    if not isinstance(body, dict):
        return {}
    error = body.get("error", body)
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else {}


def _sizes(error: Mapping[str, Any], message: str) -> tuple[int, int]:
    """Return how many tokens the prompt has and the context holds; 0 for what the server does not say."""
    counts = error.get("atlas")
    if isinstance(counts, dict):
        return _count(counts.get("prompt_tokens")), _count(counts.get("context"))
    if "n_ctx" in error:
        return _count(error.get("n_prompt_tokens")), _count(error.get("n_ctx"))
    context, prompt = CONTEXT.search(message), PROMPT.search(message) or ALL_ASKED.search(message)
    return (
        int(next(filter(None, prompt.groups()))) if prompt else 0,
        int(context[1]) if context else 0,
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
