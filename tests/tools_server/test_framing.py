"""Whatever bytes come, the line stays up and whoever waits is told what was wrong."""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as some
from mcp.types import JSONRPCNotification, JSONRPCRequest

from tests.conftest import for_every
from tools_server.sdk.toolkit import Result
from tools_server.values.codes import Code
from tools_server.wires import wire_stdio
from tools_server.wires.framing import MESSAGE_BYTES, Lines, LineTooLong, decode, refusal
from tools_server.wires.strict_json import MessageRefused, id_of
from tools_server.wires.wire import mcp_server
from tools_server.wires.wire_stdio import StdioWire

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


# ── lines ──────────────────────────────────────────────────────────────────────────────────────────


@given(some.lists(some.binary(max_size=60)), some.lists(some.integers(1, 40), min_size=1))
def test_lines_come_out_the_same_however_they_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    sent = [line.replace(b"\n", b"") for line in lines]
    text = b"".join(line + b"\n" for line in sent)
    reader, got = Lines(limit=50), []
    while text:
        cut = cuts[len(got) % len(cuts)]
        got += reader.feed(text[:cut])
        text = text[cut:]
    got += reader.end()
    assert len(got) == len(sent)
    for line, original in zip(got, sent, strict=True):
        bare = original.removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf")
        if len(bare) <= 50:
            assert line == bare
        else:
            assert isinstance(line, LineTooLong)


def test_a_line_of_a_hundred_megabytes_is_counted_and_not_kept() -> None:
    reader, chunk = Lines(), b"x" * 65536
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not any(line for _ in range(1600) for line in reader.feed(chunk))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 4096, "kilobytes"
    [long, next_one] = reader.feed(b'"id":7}\n' + PING + b"\n")
    assert isinstance(long, LineTooLong)
    assert long.size == 1600 * 65536 + 7
    assert next_one == PING


def test_a_message_of_just_the_limit_passes_and_one_byte_more_does_not() -> None:
    room = MESSAGE_BYTES - len(PING)
    [line] = Lines().feed(b"\xef\xbb\xbf" + PING + b" " * room + b"\r\n")
    assert isinstance(line, bytes)
    assert isinstance(decode(line), JSONRPCRequest)
    [line] = Lines().feed(PING + b" " * (room + 1) + b"\n")
    assert isinstance(line, LineTooLong)


def test_the_last_line_may_lack_its_newline() -> None:
    reader = Lines()
    assert list(reader.feed(PING)) == []
    assert list(reader.end()) == [PING]
    assert list(reader.end()) == []


# ── messages ───────────────────────────────────────────────────────────────────────────────────────

REFUSED = {
    "nothing": (b"", -32700, "not JSON"),
    "half an object": (b'{"jsonrpc"', -32700, "not JSON"),
    "single quotes": (b"{'jsonrpc': '2.0'}", -32700, "not JSON"),
    "two messages": (PING + PING, -32700, "extra data, at character 41"),
    "bytes that are no text": (b'{"a":"\xff"}', -32700, "Byte 7 is not UTF-8"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), -32700, "Byte 1 is not UTF-8"),
    "overlong UTF-8": (b'{"a":"\xc0\xaf"}', -32700, "not UTF-8"),
    "a surrogate as UTF-8": (b'{"a":"\xed\xa0\x80"}', -32700, "not UTF-8"),
    "a surrogate as an escape": (rb'{"a":"\ud800"}', -32600, "half of a character"),
    "a surrogate as a key": (rb'{"a":{"\udfff":1}}', -32600, "half of a character"),
    "NaN": (b'{"a":NaN}', -32600, "NaN is not a number in JSON"),
    "infinity": (b'{"a":-Infinity}', -32600, "-Infinity is not a number"),
    "infinity in digits": (b'{"a":1e999}', -32600, "1e999 is too large"),
    "a number without end": (b'{"a":' + b"7" * 5000 + b"}", -32600, "more than 4300 digits"),
    "a key twice": (b'{"a":{"b":1,"b":2}}', -32600, "the key 'b' twice"),
    "a hundred thousand brackets": (b"[" * 100_000, -32600, "nested more than 64 deep"),
    "nested, and whole": (b'{"a":' * 65 + b"1" + b"}" * 65, -32600, "nested more than 64 deep"),
    "a batch": (b"[" + PING + b"]", -32600, "Batches are not taken"),
    "a number": (b"7", -32600, "is a JSON object"),
    "nothing as a value": (b"null", -32600, "is a JSON object"),
    "no version": (b'{"id":1,"method":"ping"}', -32600, '"jsonrpc": "2.0"'),
    "another version": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, '"jsonrpc": "2.0"'),
    "no method": (b'{"jsonrpc":"2.0","id":1}', -32600, "has a method, or else"),
    "a method and a result": (b'{"jsonrpc":"2.0","id":1,"method":"x","result":{}}', -32600, "has a method, or else"),
    "a method that is no text": (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600, "A method is a text"),
    "parameters in a list": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', -32600, "Parameters are an object"),
    "an id of null": (b'{"jsonrpc":"2.0","id":null,"method":"x"}', -32600, "An id is a text or a whole number"),
    "half an id": (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', -32600, "An id is a text or a whole number"),
    "an id of true": (b'{"jsonrpc":"2.0","id":true,"method":"x"}', -32600, "An id is a text or a whole number"),
    "an id in brackets": (b'{"jsonrpc":"2.0","id":[1],"method":"x"}', -32600, "An id is a text or a whole number"),
    "a long id": (b'{"jsonrpc":"2.0","id":"' + b"x" * 300 + b'","method":"x"}', -32600, "at most 256 characters"),
    "a large id": (b'{"jsonrpc":"2.0","id":' + b"9" * 30 + b',"method":"x"}', -32600, "63 bits"),
    "an answer without a shape": (b'{"jsonrpc":"2.0","id":1,"result":7}', -32600, "not a JSON-RPC message"),
}


@for_every("case", REFUSED)
def test_what_is_no_message_is_refused_with_the_reason(case: str) -> None:
    line, code, reason = REFUSED[case]
    with pytest.raises(MessageRefused) as refused:
        decode(line)
    assert refused.value.code == code
    assert reason in str(refused.value)
    json.dumps(refusal(refused.value).model_dump(), ensure_ascii=False).encode()


def test_a_message_is_read_to_the_letter() -> None:
    message = decode(
        b'\xef\xbb\xbf {"jsonrpc":"2.0","id":"a","method":"x","params":{"t":"\\ud83d\\ude00 \xc3\xa9"}} \r'
    )
    assert isinstance(message, JSONRPCRequest)
    assert message.params == {"t": "😀 é"}
    assert isinstance(decode(b'{"jsonrpc":"2.0","method":"x","params":null}'), JSONRPCNotification)


@for_every(
    ("text", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":8}}', 7),
        (b'{"jsonrpc":"2.0","method":"tools/call","id":"seven","params":{"id":8}}', "seven"),
        (b'{"method":"tools/call","params":{"id":8},"jsonrpc":"2.0","id":7}', 7),
        (b'{"method":"tools/call","params":{"id":8},"id":7,"jsonrpc":"2.0"}', 7),
        (b'{"method":"tools/call","params":{"arguments":{"text":"x","id":8}}}', None),
        (b'{"method":"tools/call","params":{"text":"x,\\"id\\":8}', None),
        (b'{"params":{"id":8}', None),
        (b'{"id":1.5,"method":"x"}', None),
        (b'{"id":"\xff","method":"x"}', None),
        (b"", None),
    ],
)
def test_the_id_of_a_message_is_found_at_its_ends_or_not_at_all(text: bytes, id: Any) -> None:
    assert id_of(text[:60], text[-60:]) == id


@given(some.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(line: bytes) -> None:
    try:
        decode(line)
    except MessageRefused as refused:
        assert str(refused).endswith(".")


ANYTHING = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=4) | some.dictionaries(some.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(some.dictionaries(some.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]), ANYTHING))
def test_no_json_does_more_than_be_refused(message: Any) -> None:
    message.setdefault("jsonrpc", "2.0")
    try:
        decode(json.dumps(message).encode("utf-8", "surrogatepass"))
    except MessageRefused as refused:
        assert refused.id is None or refused.id == message["id"]


# ── the wire ───────────────────────────────────────────────────────────────────────────────────────


class Host:
    """A client on the other end of two pipes."""

    def __init__(self, source: int, sink: int, wire: StdioWire) -> None:
        self.source = source
        self.sink = sink
        self.wire = wire
        self._heard = b""

    async def say(self, *lines: bytes | dict[str, Any]) -> None:
        for line in lines:
            text = line if isinstance(line, bytes) else json.dumps(line).encode()
            await wire_stdio._all(self.sink, text + b"\n")

    async def hear(self) -> Any:
        while b"\n" not in self._heard:
            self._heard += await wire_stdio._some(self.source)
        line, _, self._heard = self._heard.partition(b"\n")
        return json.loads(line)

    async def ask(self, line: bytes | dict[str, Any]) -> Any:
        await self.say(line)
        return await self.hear()

    def hang_up(self) -> None:
        os.close(self.sink)
        self.sink = -1


def request(id: Any, method: str, **parameters: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**parameters, "_meta": meta}}


def call(id: Any, tool: str = "clock.time", **arguments: Any) -> dict[str, Any]:
    return request(id, "tools/call", name=tool, arguments=arguments)


@asynccontextmanager
async def hosted(world: Any, agent: str = "family") -> AsyncIterator[Host]:
    their_source, our_sink = os.pipe()
    our_source, their_sink = os.pipe()
    wire = StdioWire(our_source, our_sink)
    server = mcp_server(world.gate, world.agents[agent])
    host = Host(their_source, their_sink, wire)

    async def serve() -> None:
        async with wire.serving() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())
        os.close(our_sink)

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            yield host
            if host.sink >= 0:
                os.close(host.sink)
    os.close(their_source)
    os.close(our_source)


async def test_every_wrong_line_is_answered_and_the_next_right_one_works(world: Any) -> None:
    async with hosted(world) as host:
        for number, (line, code, reason) in enumerate(REFUSED.values()):
            if not line or b"\n" in line:
                continue
            answer = await host.ask(line)
            assert answer["error"]["code"] == code
            assert reason in answer["error"]["message"]
            assert (await host.ask(call(number)))["result"]["isError"] is False


async def test_a_line_too_long_is_answered_with_its_size_its_limit_and_its_id(world: Any) -> None:
    async with hosted(world) as host:
        await host.say(json.dumps(call("big", place="x" * (MESSAGE_BYTES))).encode(), call(2))
        first, second = await host.hear(), await host.hear()
    assert first["id"] == "big"
    assert first["error"]["code"] == Code.TOO_LARGE
    assert first["error"]["data"]["limit"] == MESSAGE_BYTES
    assert first["error"]["message"].endswith(f"at most {MESSAGE_BYTES:,} are taken.")
    assert second["id"] == 2


async def test_empty_lines_carriage_returns_and_a_byte_order_mark_do_no_harm(world: Any) -> None:
    async with hosted(world) as host:
        await host.say(b"\xef\xbb\xbf" + json.dumps(call(1)).encode() + b"\r", b"", b"  \r", b"\t")
        assert (await host.hear())["id"] == 1
        assert (await host.ask(call(2)))["id"] == 2


async def test_a_request_whose_id_is_still_open_is_refused_and_the_first_is_answered(world: Any) -> None:
    slow = world.make_slow(limit_seconds=60)
    async with hosted(world) as host:
        await host.say(call(1))
        await slow["started"].wait()
        answer = await host.ask(call("1", "clock.date"))  # the SDK would take "1" for 1
        assert answer["id"] is None
        assert "'1' is not answered yet" in answer["error"]["message"]
        slow["go"].set()
        assert (await host.hear())["id"] == 1
        assert (await host.ask(call(1, "clock.date")))["id"] == 1


async def test_a_client_that_cancels_gets_no_answer_and_its_id_is_free_again(world: Any) -> None:
    slow = world.make_slow(limit_seconds=60)
    async with hosted(world) as host:
        await host.say(call(1))
        await slow["started"].wait()
        await host.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        for id in (2, 1):
            assert (await host.ask(call(id, "clock.date")))["id"] == id
    assert slow["cancelled"]
    assert [row["outcome"] for row in world.record] == ["cancelled", "ok", "ok"]


async def test_what_was_asked_before_the_input_ends_is_answered(world: Any) -> None:
    slow = world.make_slow(limit_seconds=60)
    async with hosted(world) as host:
        await host.say(call(1), call(2, "clock.date"))
        host.hang_up()
        assert (await host.hear())["id"] == 2
        slow["go"].set()
        assert (await host.hear())["id"] == 1


@pytest.mark.real  # a hundred megabytes go by
async def test_a_client_that_reads_nothing_is_not_read_and_fills_no_memory(world: Any) -> None:
    async with hosted(world) as host:
        line = json.dumps(request(0, "tools/list")).encode()
        sent = 0
        while await room(host.sink):
            sent += 1
            await host.say(line.replace(b'"id": 0', b'"id": %d' % sent))
            assert sent < 2000, "it is read on and on"
        assert len(host.wire._open) <= wire_stdio.OPEN_REQUESTS
        heard = [await host.hear() for _ in range(sent)]  # it reads again, and everything that it asked is answered
    assert sorted(answer["id"] for answer in heard) == list(range(1, sent + 1))


async def room(sink: int) -> bool:
    """Tell whether a pipe can be written to, once everybody has done what there is to do."""
    look = select.poll()
    look.register(sink, select.POLLOUT)
    for _ in range(50):
        if look.poll(0):
            return True
        await anyio.wait_all_tasks_blocked()
    return False


async def test_a_client_that_is_gone_is_not_worked_for(world: Any) -> None:
    slow = world.make_slow(limit_seconds=60)
    async with hosted(world) as host:
        await host.say(call(1))
        await slow["started"].wait()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, host.source)
        os.close(nothing)
        await host.say(b"not JSON")  # the answer to this is what shows that nobody is there
    assert slow["cancelled"]
    assert world.record[-1]["outcome"] == "cancelled"


async def test_an_agent_that_asks_for_too_much_at_once_hears_that_it_is_busy(world: Any) -> None:
    slow = world.make_slow(limit_seconds=60)
    async with hosted(world) as host:
        await host.say(*(call(number) for number in range(100)))
        heard = [await host.hear() for _ in range(20)]
        assert {answer["result"]["content"][0]["text"] for answer in heard} == {
            "Too much is being asked of me at once. Please ask again in a moment."
        }
        assert {answer["result"]["_meta"]["atlas.house/code"] for answer in heard} == {Code.BUSY}
        slow["go"].set()
        heard += [await host.hear() for _ in range(80)]
    assert sorted(answer["id"] for answer in heard) == list(range(100))


async def test_a_wire_that_is_full_says_busy_which_is_another_code_than_a_spent_budget() -> None:
    wire = StdioWire(-1, -1)
    for number in range(wire_stdio.OPEN_REQUESTS):
        wire._opened(JSONRPCRequest(jsonrpc="2.0", id=number, method="ping"))
    with pytest.raises(MessageRefused) as refused:
        wire._opened(JSONRPCRequest(jsonrpc="2.0", id=-1, method="ping"))
    assert refused.value.code == Code.BUSY
    assert len(set(Code)) == len(Code.__members__), "each code has one meaning"
    assert all(-32019 <= code <= -32000 for code in Code), "the others are the protocol's own"


async def test_a_bug_is_told_of_without_its_words(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the secret is 42")

    spec = dataclasses.replace(world.gate._tools["clock.time"], run=broken)
    world.gate._tools = {**world.gate._tools, "clock.time": spec}
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    old = {"name": "clock.time", "arguments": {}}
    async with hosted(world) as host:
        await host.ask({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        await host.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        answer = await host.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": old})
    assert answer["error"]["code"] == -32603
    assert "secret" not in json.dumps(answer)
    assert "the secret is 42" in caplog.text
    assert world.record[-1]["outcome"] == "crashed"


async def test_half_a_character_from_a_tool_goes_over_the_wire_as_a_question_mark(world: Any) -> None:
    async def run(*_: Any, **__: Any) -> Result:
        return Result("x\udcff", {"names": ["x\udcff"]})

    spec = dataclasses.replace(world.gate._tools["clock.time"], run=run)
    world.gate._tools = {**world.gate._tools, "clock.time": spec}
    async with hosted(world) as host:
        answer = await host.ask(call(1))
    assert answer["result"]["structuredContent"] == {"names": ["x?"]}
    assert answer["result"]["content"][0]["text"] == "x?"
