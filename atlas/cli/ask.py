"""`atlas ask "…"`: a typed turn, answered word by word."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import anyio
import httpx2

from atlas.cli import door
from atlas.config import Config
from atlas.config import load as load_config
from atlas.errors import AtlasError

SILENT_SECONDS = 120.0  # a large model on a small machine thinks for this long before its first word


def main(arguments: Sequence[str]) -> int:
    """Ask and print the answer; the status is 1 when the turn failed."""
    parser = argparse.ArgumentParser(prog="atlas ask", description=__doc__)
    parser.add_argument("question", nargs="+", help='such as "what time is it"')
    parser.add_argument("--agent", default="atlas", help="who should answer: family, work, …; else the router chooses")
    parser.add_argument("--room", default="", help="the room you are in; its conversation goes on")
    parser.add_argument("--json", action="store_true", help="print one object with the reply, its path and its tools")
    given = parser.parse_args(arguments)
    question = " ".join(given.question).strip()
    if not question:
        raise AtlasError("there is no question", hint='say what you want to know: atlas ask "what time is it"')
    return anyio.run(ask, load_config(os.environ), question, given.agent, given.room, given.json)


async def ask(config: Config, question: str, agent: str, room: str, as_json: bool) -> int:
    """Ask over HTTP; words are printed as they come. Raises `AtlasError` when the house is not there or says no."""
    body = {
        "model": agent,
        "messages": [{"role": "user", "content": question}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "atlas": {"remember": True} | door.device() | ({"room": room} if room else {}),
    }
    details: dict[str, Any] = {}
    text = ""
    async with door.opened(config, SILENT_SECONDS) as house, aclosing(chunks(house, body)) as arriving:
        async for chunk in arriving:
            details["usage"] = chunk.get("usage") or details.get("usage")
            for choice in chunk["choices"]:
                more = choice["delta"].get("atlas", {})
                words = choice["delta"].get("content") or ""
                if not more.get("aside"):  # "One moment." is no part of the reply
                    details |= more
                    text += words
                if not as_json:
                    print(words, end="", flush=True)
    if as_json:
        print(json.dumps({"question": question, "reply": text, **details}, ensure_ascii=False))
    else:
        print()
    if details.get("error") and not as_json:
        print(f"atlas: the turn failed: {details['error']}", file=sys.stderr)
    return 1 if details.get("end") == "failed" else 0


async def chunks(house: httpx2.AsyncClient, body: Any) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the JSON of a streamed completion. Consume it under `aclosing`."""
    async with house.stream("POST", "/v1/chat/completions", json=body) as response:
        if response.status_code != httpx2.codes.OK:
            raise door.refused(response.status_code, await response.aread())
        async for line in response.aiter_lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                chunk = json.loads(line.removeprefix("data: "))
                if "error" in chunk:
                    raise AtlasError(str(chunk["error"]["message"]))
                yield chunk
