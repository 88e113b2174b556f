"""A running LLM host for tests: the real process, asked over its unix socket."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

MODEL = "smollm2-135m-instruct"
HELLO = [{"role": "user", "content": "Tell me about the sea."}]
READY_SECONDS = 60


class Host:
    """A running host."""

    def __init__(self, folder: Path, model: Path, *more: str) -> None:
        self.socket, self.log = folder / "llm.sock", folder / "llm.log"
        command = [sys.executable, "-m", "atlas.llm_host.server", "--socket", str(self.socket), "--model", str(model)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([*command, "--name", MODEL, *more], stderr=log)
        self.http = httpx2.Client(
            transport=httpx2.HTTPTransport(uds=str(self.socket)), base_url="http://llm", timeout=READY_SECONDS
        )

    def ready(self) -> Host:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            try:
                if self.http.get("/health").status_code == 200:
                    return self
            except httpx2.TransportError:
                assert self.process.poll() is None, self.log.read_text()
        raise AssertionError(self.log.read_text())

    def chat(self, messages: Any = HELLO, **more: Any) -> httpx2.Response:
        return self.http.post("/v1/chat/completions", json={"model": MODEL, "messages": messages, **more})

    def answered(self) -> list[str]:
        return [line for line in self.log.read_text().splitlines() if " answered " in line]

    def close(self) -> None:
        self.http.close()
        self.process.kill()
        self.process.wait()


@contextmanager
def running(folder: Path, models: Path, *more: str) -> Iterator[Host]:
    host = Host(folder, next((models / MODEL).glob("*.gguf")), *more)
    try:
        yield host.ready()
    finally:
        host.close()
