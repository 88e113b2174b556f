"""MCP over stdin and stdout, for the one agent who started this process.

The SDK's own stdio server reads whole lines however long they are, drops what it cannot parse without a word, and
reads in a thread that nothing can wake. Here bytes are read when there are some and written when there is room, so a
signal is always heard; a line is bounded, and every line that waits for an answer gets one. A client that does not
read its answers is not read either.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic_core import PydanticSerializationError

from tools_server.boot.opening import ServerSettings, opened_gate
from tools_server.values.boot_files import BootFailed
from tools_server.values.codes import Code
from tools_server.values.stderr import say
from tools_server.wires import telemetry
from tools_server.wires.drain import on_signal
from tools_server.wires.framing import Lines, LineTooLong, decode, refusal, too_large
from tools_server.wires.strict_json import MessageRefused
from tools_server.wires.wire import mcp_server, own_version

READ_BYTES = 64 * 1024
WRITE_BYTES = 4096  # PIPE_BUF: a pipe that has room at all has room for so much, so writing it never blocks
OPEN_REQUESTS = 128  # more than the gate lets one agent have
FINISH_SECONDS = 3.0  # for what is still being done when the input ends
LAST_SECONDS = 0.5  # for the last answers to be taken when the server is told to stop

Requests = MemoryObjectReceiveStream[SessionMessage | Exception]
Answers = MemoryObjectSendStream[SessionMessage]
_REFUSAL = ServerMessageMetadata()  # marks an answer to what never became a request


async def serve_stdio(settings: ServerSettings) -> None:
    """Serve the one agent who started this process, until its end of input, SIGTERM or SIGINT."""
    with opened_gate(settings) as (gate, agents):
        if settings.agent not in agents:
            raise BootFailed(f"{settings.agents} has no agent {settings.agent!r}; it has {', '.join(agents)}.")
        agent = agents[settings.agent]
        server = mcp_server(gate, replace(agent, acts_as=settings.role) if settings.role else agent)
        with standard_streams() as (source, sink):
            wire = StdioWire(source, sink)
            async with gate.engines(), anyio.create_task_group() as tasks:
                tasks.start_soon(gate.keep_flushed)
                tasks.start_soon(gate.requests.reap)
                await tasks.start(on_signal, gate, wire.stop)
                async with wire.serving() as (requests, answers):
                    if settings.telemetry:
                        read = partial(telemetry.reading, gate.requests, partial(gate.usage, settings.agent))
                        tasks.start_soon(telemetry.tell, read, answers.clone())
                    say(f"ready stdio agent={settings.agent} version={own_version()}")
                    await server.run(requests, answers, server.create_initialization_options())
                tasks.cancel_scope.cancel()
    say("stopped")


@dataclass
class StdioWire:
    """Messages on a pair of file descriptors.

    What the client asks comes out of one stream, and what goes into the other reaches the client. Neither holds a
    message: whoever sends waits until there is room, the reader like everybody else.
    """

    source: int
    sink: int
    _open: set[RequestId] = field(default_factory=set)  # what waits for an answer
    _settled: anyio.Event = field(default_factory=anyio.Event)
    _reading: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _finish_seconds: float = FINISH_SECONDS

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[tuple[Requests, Answers]]:
        """Read and write inside the block. The first stream ends with the input; a client that goes ends the block."""
        stream, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, given = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._write, given, tasks.cancel_scope)
            tasks.start_soon(self._read, stream, answers.clone(), tasks.cancel_scope)
            yield requests, answers
            tasks.cancel_scope.cancel()

    def stop(self) -> None:
        """End as if the input had ended, but with little patience for what is not answered yet."""
        self._finish_seconds = LAST_SECONDS
        self._reading.cancel()

    async def _read(
        self, stream: MemoryObjectSendStream[SessionMessage | Exception], answers: Answers, wire: anyio.CancelScope
    ) -> None:
        lines = Lines()
        async with stream, answers:
            with self._reading:
                while chunk := await _some(self.source):
                    for line in lines.feed(chunk):
                        await self._take(line, stream, answers)
                for line in lines.end():
                    await self._take(line, stream, answers)
            # What was asked before the end of the input is answered: `printf … | atlas-tools` is a client too.
            if self._open:
                self._settled = anyio.Event()
                with anyio.move_on_after(self._finish_seconds):
                    await self._settled.wait()
            if self._open:
                wire.cancel()

    async def _take(
        self, line: bytes | LineTooLong, stream: MemoryObjectSendStream[SessionMessage | Exception], answers: Answers
    ) -> None:
        if isinstance(line, bytes) and not line.strip():
            return
        try:
            if isinstance(line, LineTooLong):
                raise too_large(line)
            message = decode(line)
            metadata = self._opened(message) if isinstance(message, JSONRPCRequest) else None
        except MessageRefused as refused:
            await answers.send(SessionMessage(refusal(refused), _REFUSAL))
            return
        await stream.send(SessionMessage(message, metadata))

    def _opened(self, request: JSONRPCRequest) -> ServerMessageMetadata:
        # The SDK keeps requests by this key, and would forget the first of two with the same one.
        key = coerce_request_id(request.id)
        if key in self._open:
            raise MessageRefused(INVALID_REQUEST, f"The request {request.id!r} is not answered yet; take another id.")
        if len(self._open) >= OPEN_REQUESTS:
            sentence = f"{OPEN_REQUESTS} requests wait for their answers already."
            raise MessageRefused(Code.BUSY, sentence, request.id, {"limit": OPEN_REQUESTS})
        self._open.add(key)

        async def unanswered() -> None:
            self._close(key)

        return ServerMessageMetadata(on_request_unanswered=unanswered)  # one that the client has cancelled

    def _close(self, key: RequestId) -> None:
        self._open.discard(key)
        if not self._open:
            self._settled.set()

    async def _write(self, given: MemoryObjectReceiveStream[SessionMessage], wire: anyio.CancelScope) -> None:
        async with given:
            async for item in given:
                try:
                    await _all(self.sink, _encoded(item.message))
                except (BrokenPipeError, ConnectionResetError):
                    wire.cancel()  # nobody is there to be answered, so nothing more is done for them
                    return
                id = _answered(item.message)
                if id is not None and item.metadata is not _REFUSAL:
                    self._close(coerce_request_id(id))


def _answered(message: JSONRPCMessage) -> RequestId | None:
    return message.id if isinstance(message, JSONRPCResponse | JSONRPCError) else None


def _encoded(message: JSONRPCMessage) -> bytes:
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except PydanticSerializationError:  # half a character, from a tool
        error = ErrorData(code=INTERNAL_ERROR, message="The answer cannot be written as JSON.")
        text = JSONRPCError(jsonrpc="2.0", id=_answered(message), error=error).model_dump_json(
            by_alias=True, exclude_unset=True
        )
    return text.encode() + b"\n"


# ── file descriptors ───────────────────────────────────────────────────────────────────────────────
# They are not made non-blocking: that is a property of the open file, which a shell or a sibling may share.


@contextmanager
def standard_streams() -> Iterator[tuple[int, int]]:
    """Take stdin and stdout for the wire, and let nothing else touch it: stray output goes to stderr.

    Descriptors 0 and 1 stay taken, for a file opened later must not get one of those numbers.
    """
    source, sink = (fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1))
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield source, sink
    finally:
        os.close(source)
        os.close(sink)


async def _some(source: int) -> bytes:
    """Wait for bytes and return them; b"" at the end. Cancelling is safe: nothing is read then."""
    while True:
        await _ready(anyio.wait_readable, source)
        try:
            return os.read(source, READ_BYTES)
        except BlockingIOError:  # made non-blocking by the other side, and taken by somebody else
            continue
        except OSError:  # a terminal that was closed, a socket that was reset
            return b""


async def _all(sink: int, text: bytes) -> None:
    """Write everything, as there is room. Cancelling may leave a part of it written. Raises `OSError`."""
    left = memoryview(text)
    while left:
        await _ready(anyio.wait_writable, sink)
        try:
            left = left[os.write(sink, left[:WRITE_BYTES]) :]
        except BlockingIOError:
            continue


async def _ready(wait: Callable[[int], Awaitable[None]], descriptor: int) -> None:
    try:
        await wait(descriptor)
    except PermissionError:  # a file on a disk, which is always ready and which epoll therefore refuses
        await checkpoint()
