"""llama-cpp-python with nothing around it: a JSON line of messages in, a JSON line of timings out."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import llama_cpp
from llama_cpp import llama_cpp as raw


def opened(file: str, threads: int, context: int) -> llama_cpp.Llama:
    """Load the model as anybody would."""
    if "amx_tile" in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"):
        # With AMX's own buffers the process dies of SIGILL under some hypervisors; ours leaves them out as well.
        plain = raw.llama_model_default_params

        def without_extra_buffers() -> Any:
            params = plain()
            params.use_extra_bufts = False
            return params

        raw.llama_model_default_params = without_extra_buffers
    return llama_cpp.Llama(
        file, n_ctx=context, n_threads=threads, n_threads_batch=threads, last_n_tokens_size=128, verbose=False
    )


def timed(model: llama_cpp.Llama, messages: Any, max_tokens: int) -> dict[str, float]:
    """Answer, and return milliseconds to the first words, and tokens a second after them."""
    began = time.perf_counter()
    first, pieces = 0.0, 0
    chunks: Any = model.create_chat_completion(
        messages, stream=True, max_tokens=max_tokens, temperature=0.0, repeat_penalty=1.1
    )
    for chunk in chunks:
        if chunk["choices"][0]["delta"].get("content"):
            first = first or time.perf_counter()
            pieces += 1
    return {"first_ms": (first - began) * 1000, "tokens_a_second": (pieces - 1) / (time.perf_counter() - first)}


def main() -> None:
    """Answer line by line until the input ends."""
    model = opened(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    for line in sys.stdin:
        ask = json.loads(line)
        sys.stdout.write(json.dumps(timed(model, ask["messages"], ask["max_tokens"])) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
