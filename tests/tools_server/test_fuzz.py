"""Thousands of messages that nobody decent sends, over both wires and both eras: an answer to each, and nothing else.

One process serves a whole run. It must not fall, hang, grow or leak; whoever waits is answered; an error says what was
wrong; and the guest, who is asking, never sees a word that is not for guests.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some
from mcp.types import JSONRPCRequest

from tools_server.wires.framing import decode
from tools_server.wires.strict_json import MessageRefused

POLICY = Path(__file__).parents[2] / "policy.toml"
SECRET = "CANARY-7f3a"  # in every file, name and row that the guest has no business with
SECONDS = 5  # for one answer
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "fuzz", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

# ── what is said ───────────────────────────────────────────────────────────────────────────────────

TEXT = some.text(some.characters(exclude_categories=()), max_size=12)  # half characters too
ODD = some.sampled_from(["", "\0", "../../etc/passwd", "\ud800", "ä", "x" * 3000, "%2e%2e/", "-1", "null", "\u202e"])
NUMBERS = some.integers(-(2**70), 2**70) | some.floats() | some.sampled_from([10**400, 0, -1, 2**31, 2**53 + 1])
VALUES = some.recursive(
    some.none() | some.booleans() | NUMBERS | TEXT | ODD,
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
METHODS = some.sampled_from(
    [
        *("tools/call",) * 6,
        *("tools/list", "ping", "initialize", "server/discover", "resources/list", "resources/templates/list"),
        *("resources/read",) * 3,
        *("resources/subscribe", "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete"),
        *("logging/setLevel", "notifications/cancelled", "notifications/initialized", "notifications/progress"),
        *("roots/list", "sampling/createMessage", "elicitation/create", "tasks/get", "rpc.discover", "tools/call/"),
    ]
)
TOOLS = some.sampled_from(
    ["clock.time", "clock.date", "timers.list", "timers.due", "tasks.list", "tasks.add", "asks.answer", "history.last"]
)
ADDRESSES = some.sampled_from(
    ["file:///etc/passwd", "tasks://board", "tasks://../../audit.jsonl", "audit://log", "://", "x:%00", "notes://{x}"]
)
ARGUMENTS = some.dictionaries(
    some.sampled_from(["place", "title", "seconds", "id", "statement", "path", "name"]) | TEXT, VALUES, max_size=3
)
META = some.just(ENVELOPE) | some.dictionaries(
    some.sampled_from([*ENVELOPE, "progressToken", "atlas.house/actor", "atlas.house/turn", "traceparent"]) | TEXT,
    VALUES,
    max_size=4,
)
PARAMETERS = some.fixed_dictionaries(
    {},
    optional={
        "name": TOOLS | TEXT | VALUES,
        "arguments": ARGUMENTS | VALUES,
        "uri": ADDRESSES | TEXT | VALUES,
        "_meta": META | VALUES,
        "cursor": VALUES,
        "requestState": TEXT | VALUES,
        "inputResponses": VALUES,
        "requestId": VALUES,
        "level": TEXT,
        "protocolVersion": some.sampled_from(["2025-11-25", "2024-11-05", "2026-07-28", "x"]) | VALUES,
        "capabilities": VALUES,
        "clientInfo": VALUES,
    },
)
MESSAGES = some.fixed_dictionaries(
    {"jsonrpc": some.just("2.0") | some.just("2.0") | VALUES},
    optional={
        "id": some.integers(0, 2**53) | TEXT | VALUES,
        "method": METHODS | METHODS | TEXT | VALUES,
        "params": PARAMETERS | PARAMETERS | PARAMETERS | VALUES,
        "result": VALUES,
        "error": VALUES,
    },
)


@some.composite
def calls(draw: Any) -> Any:
    """Right in everything but one thing, so that it comes far."""
    parameters = {"name": draw(TOOLS), "arguments": {}, "_meta": dict(ENVELOPE)}
    message = {"jsonrpc": "2.0", "id": draw(some.integers(0, 2**53)), "method": "tools/call", "params": parameters}
    place = draw(some.sampled_from([message, parameters, parameters["_meta"], parameters["arguments"]]))
    place[draw(some.sampled_from(sorted(place)) if place else some.just("place"))] = draw(VALUES)
    return message


@some.composite
def spoiled(draw: Any) -> bytes:
    """Bytes that were a message until something happened to them."""
    text = bytearray(json.dumps(draw(MESSAGES | calls())).encode())
    for _ in range(draw(some.integers(1, 3))):
        at = draw(some.integers(0, len(text)))
        text[at : at + draw(some.integers(0, 3))] = draw(some.binary(max_size=4))
    return bytes(text)


DEEP = some.integers(1, 3000).map(
    lambda depth: b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * depth + b"]" * depth + b"}}"
)
LINES = some.one_of((MESSAGES | calls()).map(lambda message: json.dumps(message).encode()), spoiled(), DEEP)
RAW = some.binary(max_size=200)


# ── who is asked ───────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def guarded(data: Path, wire: Any) -> list[str]:
    """A house with something to hide."""
    board = data / "family-agent-config" / "tasks" / "home"
    board.mkdir(parents=True)
    (board / f"{SECRET}.md").write_text(f"---\ntitle: {SECRET}\ncolumn: todo\n---\n{SECRET}\n")
    agents = str(wire.write_agents(data))
    return ["-m", "tools_server.server", "--data", str(data), "--agents", agents, "--policy", str(POLICY)]


@contextmanager
def started(arguments: list[str], ready: str) -> Iterator[subprocess.Popen[bytes]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, *arguments], **pipes) as process:
        try:
            assert process.stderr
            text = process.stderr.readline().decode()
            while text.startswith("WARNING"):
                text = process.stderr.readline().decode()
            assert text.startswith(ready), text
            os.set_blocking(process.stderr.fileno(), False)
            yield process
            assert process.poll() is None, "it fell"
            process.send_signal(signal.SIGTERM)
            assert process.wait(5) == 0
            complaints = process.stderr.read().decode()
            assert "Traceback" not in complaints, complaints
            assert "held the whole server" not in complaints, complaints
        finally:
            process.kill()


def weight(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Return kilobytes of memory, and open files."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(resident.split()[1]), len(os.listdir(f"/proc/{process.pid}/fd"))


def many(number: int) -> Any:
    # The same ones every time, and none twice: a process that has heard the first ten thousand is no longer the same.
    checks = list(HealthCheck)
    phases = [Phase.generate]
    return settings(max_examples=number, deadline=None, derandomize=True, phases=phases, suppress_health_check=checks)


@contextmanager
def steady(process: subprocess.Popen[bytes]) -> Iterator[None]:
    kilobytes, files = weight(process)
    yield
    after, files_after = weight(process)
    assert after - kilobytes < 32 * 1024, "it grows"
    assert files_after <= files + 4, "it keeps files open"


# ── stdio ──────────────────────────────────────────────────────────────────────────────────────────


class Line:
    """A pipe in, a pipe out, and a question after each message that shows what came before it."""

    def __init__(self, process: subprocess.Popen[bytes], modern: bool) -> None:
        assert process.stdin
        assert process.stdout
        self._in = process.stdin
        self._out = process.stdout.fileno()
        self._modern = modern
        self._heard = b""
        self._number = 0
        if not modern:
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}}
            self._say(json.dumps({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}).encode())
            assert "result" in self._hear()
            self._say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        self.answers_to(b"")

    def _say(self, line: bytes) -> None:
        self._in.write(line + b"\n")
        self._in.flush()

    def _hear(self) -> Any:
        until = time.monotonic() + SECONDS
        while b"\n" not in self._heard:
            readable, _, _ = select.select([self._out], [], [], max(0, until - time.monotonic()))
            assert readable, "no answer in time"
            more = os.read(self._out, 65536)
            assert more, "it hung up"
            self._heard += more
        line, _, self._heard = self._heard.partition(b"\n")
        assert SECRET.encode() not in line
        return json.loads(line)

    def answers_to(self, line: bytes, more: int = 0) -> list[Any]:
        """Say a line; return what is answered to it, of which `more` may come after the answer to the next."""
        self._number += 1
        mark = f"mark-{self._number}"
        envelope = {"params": {"_meta": ENVELOPE}} if self._modern else {}
        method = "server/discover" if self._modern else "ping"
        self._say(line)
        self._say(json.dumps({"jsonrpc": "2.0", "id": mark, "method": method, **envelope}).encode())
        answers, marked = [], False
        while not marked or len(answers) < more:
            answer = self._hear()
            if answer.get("id") == mark:
                marked = True
            elif "method" not in answer:  # the server has notifications of its own
                answers.append(answer)
        return answers


def judged(line: bytes) -> Any:
    """Return the id that must be answered; False when nothing may be; None when an answer names nobody."""
    line = line.removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf")
    if not line.strip():
        return False
    try:
        message = decode(line)
    except MessageRefused as refused:
        return refused.id
    return message.id if isinstance(message, JSONRPCRequest) else False


def check(line: bytes, answers: list[Any]) -> None:
    awaited = judged(line)
    assert [answer["id"] for answer in answers] == ([] if awaited is False else [awaited]), line
    for answer in answers:
        assert answer["jsonrpc"] == "2.0"
        if "error" in answer:
            assert isinstance(answer["error"]["code"], int)
            assert answer["error"]["code"] != 0, answer
            assert answer["error"]["message"], answer
        elif answer["result"].get("isError"):
            assert answer["result"]["content"][0]["text"].endswith((".", "?")), answer


def fuzz_stdio(guarded: list[str], modern: bool, examples: int) -> None:
    with started([*guarded, "--stdio", "--agent", "guest"], "ready stdio") as process:
        line_to = Line(process, modern)

        @many(examples)
        @given(LINES | RAW)
        def each(line: bytes) -> None:
            line = line.replace(b"\n", b" ")
            awaited = judged(line)
            check(line, line_to.answers_to(line, more=awaited is not False))

        for line in (b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', b"x" * 600_000, b"[" * 100_000):
            line_to.answers_to(line, more=1)
        with steady(process):
            each()


@pytest.mark.real
def test_a_hundred_lines_on_stdio_are_answered(guarded: list[str]) -> None:
    fuzz_stdio(guarded, modern=True, examples=100)


@pytest.mark.real
@pytest.mark.parametrize(("modern", "examples"), [(False, 1500), (True, 800)], ids=["2025", "2026"])
def test_every_line_on_stdio_is_answered_and_nothing_is_learned(
    guarded: list[str], modern: bool, examples: int
) -> None:
    fuzz_stdio(guarded, modern, examples)


# ── HTTP ───────────────────────────────────────────────────────────────────────────────────────────


class Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("tools", timeout=SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(self._path))


HEADER = some.text(some.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=12)
HEADERS = some.fixed_dictionaries(
    {
        "Authorization": some.just("Bearer guest-token") | some.just("Bearer guest-token") | HEADER,
        "Content-Type": some.just("application/json") | some.just("application/json") | HEADER,
        "Accept": some.just("application/json, text/event-stream") | some.just("application/json") | HEADER,
    },
    optional={
        "MCP-Protocol-Version": some.sampled_from(["2026-07-28", "2026-07-28", "2025-11-25", "2024-11-05"]) | HEADER,
        "Mcp-Method": some.sampled_from(["tools/call", "tools/list", "resources/read"]) | HEADER,
        "Mcp-Name": TOOLS | HEADER,
        "Mcp-Session-Id": HEADER,
        "Mcp-Param-Place": HEADER,
        "Origin": some.sampled_from(["http://tools", "http://evil.example", "null"]),
        "Host": some.just("tools") | HEADER,
    },
)
EXACT = {
    "Authorization": "Bearer guest-token",
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
}


def posted(path: Path, body: bytes, headers: dict[str, str], method: str = "POST") -> tuple[int, bytes]:
    connection = Unix(path)
    try:
        connection.request(method, "/mcp", body, {name: value.encode("latin-1") for name, value in headers.items()})
        response = connection.getresponse()
        text = response.read()
    finally:
        connection.close()
    assert SECRET.encode() not in text
    return response.status, text


def fuzz_http(guarded: list[str], data: Path, examples: int) -> None:
    path = data / "s.sock"
    with started([*guarded, "--socket", str(path)], "ready socket") as process:

        @many(examples)
        @given(LINES | RAW, HEADERS, some.sampled_from(["POST", "POST", "POST", "DELETE", "PUT", "OPTIONS"]))
        def odd_headers(body: bytes, headers: dict[str, str], method: str) -> None:
            status, text = posted(path, body, headers, method)
            assert status < 500 or status == 503, (status, text)
            if status >= 400 and status not in (405, 406):
                assert text, status

        @many(examples)
        @given(calls())
        def exact_headers(message: Any) -> None:
            name = message["params"].get("name") if isinstance(message["params"], dict) else None
            named = {"Mcp-Name": name} if isinstance(name, str) and name.isascii() and name.isprintable() else {}
            status, text = posted(path, json.dumps(message).encode(), {**EXACT, **named})
            answer = json.loads(text)
            assert status < 500, answer
            if "error" in answer:
                assert answer["error"]["message"], answer
                assert answer["error"]["code"] != 0, answer

        @many(max(10, examples // 10))
        @given(some.binary(max_size=300), some.booleans())
        def no_http_at_all(text: bytes, begins_well: bool) -> None:
            begins = b"POST /mcp HTTP/1.1\r\nHost: tools\r\n" if begins_well else b""
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as wire:
                wire.settimeout(SECONDS)
                wire.connect(str(path))
                wire.sendall(begins + text)
                wire.shutdown(socket.SHUT_WR)
                while heard := wire.recv(65536):
                    assert SECRET.encode() not in heard

        for _ in range(20):
            posted(path, b"{}", EXACT)
        with steady(process):
            odd_headers()
            exact_headers()
            no_http_at_all()
        good = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        good["params"] = {"name": "clock.time", "arguments": {}, "_meta": ENVELOPE}
        status, text = posted(path, json.dumps(good).encode(), {**EXACT, "Mcp-Name": "clock.time"})
        assert (status, json.loads(text)["result"]["isError"]) == (200, False)


@pytest.mark.real
def test_every_request_over_http_is_answered_and_nothing_is_learned(guarded: list[str], data: Path) -> None:
    fuzz_http(guarded, data, 700)
