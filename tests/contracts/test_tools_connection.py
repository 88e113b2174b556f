"""Every tool connection keeps the promises of atlas/mcp/tools.py: the household in memory, and the real tool server."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from atlas.confirmations import HouseKey
from atlas.conversation import Actor, ConfirmationRequest, SignedAnswer, ToolCall, ToolResult
from atlas.mcp import tools_mcp
from atlas.mcp.tools import Tools
from tests.scripted_tools import ScriptedHousehold

ANNA = Actor("Anna", "kitchen-speaker", "adult", "kitchen")
KEY = Ed25519PrivateKey.generate()
AGENTS = """[family]
token_sha256 = "{digest}"
tools = ["clock.*", "timers.*", "tasks.*", "files.*"]
roots = ["family-agent-config"]
"""


@dataclass
class Server:
    """The real tool server as a process of its own."""

    data: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.data / "tools.sock"

    def start(self) -> None:
        agents = self.data / "agents.toml"
        agents.write_text(AGENTS.format(digest=hashlib.sha256(b"family-token").hexdigest()))
        command = [sys.executable, "-m", "tools_server.server", "--data", str(self.data), "--agents", str(agents)]
        command += ["--policy", str(Path(__file__).parents[2] / "policy.toml")]
        public = self.data / "house.pub"
        public.write_bytes(KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        command += ["--house-key", str(public)]
        self.process = subprocess.Popen([*command, "--socket", str(self.socket)], stderr=subprocess.PIPE)
        assert self.process.stderr
        while line := self.process.stderr.readline():
            if line.startswith(b"ready"):
                return
        raise AssertionError("the tool server did not start")

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            assert self.process.stderr
            self.process.stderr.close()
            self.process = None

    async def connect(self, token: str = "family-token", call_seconds: float = 20.0) -> tools_mcp.McpTools:
        return await tools_mcp.open(
            tools_mcp.ToolServerSettings(socket=self.socket, token=token, call_seconds=call_seconds)
        )


@pytest.fixture
async def server(data: Path) -> AsyncIterator[Server]:
    real = Server(data)
    await anyio.to_thread.run_sync(real.start)
    yield real
    real.kill()


@pytest.fixture(scope="module")
def lasting_server() -> Iterator[Server]:
    """One process for all the promises: starting one takes longer than keeping them."""
    with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
        real = Server(Path(folder))
        real.start()
        yield real
        real.kill()


@pytest.fixture(params=["scripted", pytest.param("mcp", marks=pytest.mark.real)])
async def tools(request: pytest.FixtureRequest) -> AsyncIterator[Tools]:
    if request.param == "scripted":
        yield ScriptedHousehold().tools(believes=answer_in)
        return
    connection = await request.getfixturevalue("lasting_server").connect()
    yield connection
    await connection.aclose()


async def use(tools: Tools, tool: str, /, assent: SignedAnswer | None = None, **arguments: object) -> ToolResult:
    return await tools.call(ToolCall(f"call_{tool}", tool, arguments), ANNA, "turn_1", assent)


def answer_in(statement: str) -> str:
    """Return what a statement answers when the house signed it."""
    try:
        return str(jwt.decode(statement, KEY.public_key(), algorithms=["EdDSA"], audience="atlas-tools")["answer"])
    except jwt.InvalidTokenError:
        return ""


def answer(ask: ConfirmationRequest, *, yes: bool = True, key: Ed25519PrivateKey = KEY) -> SignedAnswer:
    return SignedAnswer(ask.id, HouseKey(key).statement(ask, ANNA, "voice", time.time(), yes=yes), yes)


async def board(tools: Tools) -> str:
    return str((await use(tools, "tasks.list")).data["tasks"])


async def asked(tools: Tools, title: str) -> ConfirmationRequest:
    """Have a task, and want it removed."""
    assert (await use(tools, "tasks.add", title=title)).ok
    result = await use(tools, "tasks.remove", title=title)
    assert (result.ok, result.error, result.receipt) == (False, "confirm", None)
    assert result.ask
    assert title in result.text == result.ask.sentence
    return result.ask


# ── promises of every connection ───────────────────────────────────────────────────────────────────


async def test_tools_are_listed_in_a_fixed_order_with_schemas(tools: Tools) -> None:
    listed = await tools.listed()
    names = [tool.name for tool in listed]
    assert names == sorted(names)
    assert {"clock.time", "timers.start", "tasks.add"} <= set(names)
    assert all(tool.parameters["type"] == "object" and tool.description for tool in listed)
    assert await tools.listed() == listed
    assert {tool.name for tool in listed if tool.read_only} >= {"clock.time", "timers.left", "tasks.list"}
    assert not any(tool.read_only for tool in listed if tool.name in ("timers.start", "tasks.remove"))


async def test_a_change_comes_back_with_a_sentence_and_a_receipt(tools: Tools) -> None:
    result = await use(tools, "timers.start", seconds=600)
    assert result.ok
    assert result.call_id == "call_timers.start"
    assert "timer" in result.text.lower()
    assert result.receipt and result.receipt.id and result.receipt.changed


async def test_a_look_comes_back_without_a_receipt(tools: Tools) -> None:
    result = await use(tools, "clock.time")
    assert result.ok and result.text and result.receipt is None


async def test_a_look_into_the_houses_own_papers_is_no_word_of_others(tools: Tools) -> None:
    assert not (await use(tools, "tasks.list")).untrusted


async def test_a_wish_that_is_tainted_may_still_look(tools: Tools) -> None:
    result = await tools.call(ToolCall("call_1", "clock.time", {}), ANNA, "turn_1", tainted=True)
    assert result.ok


async def test_what_was_changed_is_there_to_be_looked_at(tools: Tools) -> None:
    await use(tools, "tasks.add", title="buy milk")
    assert "buy milk" in (await use(tools, "tasks.list")).text.lower()


async def test_what_is_not_there_is_a_result_that_says_so(tools: Tools) -> None:
    result = await use(tools, "timers.cancel", name="pizza")
    assert (result.ok, result.error, result.receipt) == (False, "not_found", None)
    assert result.text


async def test_a_tool_that_does_not_exist_is_a_result_and_no_exception(tools: Tools) -> None:
    result = await use(tools, "teapot.boil")
    assert not result.ok and result.error in ("not_found", "denied") and result.text


@pytest.mark.parametrize("arguments", [{}, {"seconds": "soon"}, {"seconds": 60, "colour": "red"}, {"seconds": 0}])
async def test_arguments_that_do_not_fit_are_refused_in_words(tools: Tools, arguments: dict[str, object]) -> None:
    result = await use(tools, "timers.start", **arguments)
    assert (result.ok, result.error) == (False, "invalid")
    assert result.text


async def test_half_a_character_from_a_model_breaks_nothing(tools: Tools) -> None:
    await use(tools, "tasks.add", title="milk \ud83d", **{"assignee": "\udc00"})
    assert (await use(tools, "clock.time")).ok


async def test_what_json_cannot_carry_is_refused_in_words(tools: Tools) -> None:
    result = await use(tools, "timers.start", seconds=float("nan"))
    assert (result.ok, result.error) == (False, "invalid")
    assert (await use(tools, "clock.time")).ok


async def test_many_calls_at_once_each_get_their_own_answer(tools: Tools) -> None:
    results: dict[str, ToolResult] = {}

    async def add(title: str) -> None:
        results[title] = await use(tools, "tasks.add", title=title)

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(add, f"chore {number}")
    assert all(result.ok and title in result.text for title, result in results.items())


async def test_a_cancelled_call_leaves_the_connection_usable(tools: Tools) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await use(tools, "clock.time")
    assert (await use(tools, "clock.time")).ok


async def test_what_takes_something_away_comes_back_as_a_question_and_is_not_done(tools: Tools) -> None:
    ask = await asked(tools, "water the fern")
    assert (ask.tool, ask.level) == ("tasks.remove", "confirm")
    assert time.time() < ask.expires_at <= time.time() + 61
    assert "water the fern" in await board(tools)
    again = await use(tools, "tasks.remove", title="water the fern")
    assert again.ask and not again.ok, "wanting it twice is no yes"


async def test_with_a_persons_yes_it_is_done_once(tools: Tools) -> None:
    ask = await asked(tools, "feed the cat")
    yes = answer(ask)
    done = await use(tools, "tasks.remove", yes, title="feed the cat")
    assert done.ok and done.receipt and done.ask is None
    assert "feed the cat" not in await board(tools)
    await use(tools, "tasks.add", title="feed the cat")
    assert not (await use(tools, "tasks.remove", yes, title="feed the cat")).ok, "a yes is used up"
    assert "feed the cat" in await board(tools)


async def test_two_yeses_at_once_do_it_once(tools: Tools) -> None:
    ask, results = await asked(tools, "call the vet"), list[ToolResult]()

    async def remove() -> None:
        results.append(await use(tools, "tasks.remove", answer(ask), title="call the vet"))

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(remove)
    assert sum(result.ok for result in results) == 1


async def test_with_a_no_it_is_not_done_and_the_question_is_closed(tools: Tools) -> None:
    ask = await asked(tools, "paint the fence")
    left = await use(tools, "tasks.remove", answer(ask, yes=False), title="paint the fence")
    assert (left.ok, left.receipt, left.ask) == (False, None, None)
    assert not (await use(tools, "tasks.remove", answer(ask), title="paint the fence")).ok
    assert "paint the fence" in await board(tools)


async def test_a_wish_that_is_taken_back_is_not_done_and_its_question_is_closed(tools: Tools) -> None:
    ask = await asked(tools, "mow the lawn")
    left = await use(tools, "tasks.remove", SignedAnswer(ask.id, yes=False), title="mow the lawn")
    assert (left.ok, left.receipt, left.ask) == (False, None, None)
    assert not (await use(tools, "tasks.remove", answer(ask), title="mow the lawn")).ok, "a yes comes too late"
    assert "mow the lawn" in await board(tools)
    again = await use(tools, "tasks.remove", title="mow the lawn")
    assert again.ask and again.ask.id != ask.id, "and it can be asked anew"


@pytest.mark.parametrize("wrong", ["another key", "another question", "another deed", "nothing"])
async def test_what_is_no_yes_to_this_does_nothing(tools: Tools, wrong: str) -> None:
    ask, other = await asked(tools, f"iron {wrong}"), await asked(tools, f"fold {wrong}")
    brought = {
        "another key": answer(ask, key=Ed25519PrivateKey.generate()),
        "another question": answer(other),
        "another deed": SignedAnswer(other.id, answer(other).statement),
        "nothing": SignedAnswer(ask.id, ""),
    }[wrong]
    result = await use(tools, "tasks.remove", brought, title=f"iron {wrong}")
    assert not result.ok and result.receipt is None and result.text
    assert f"iron {wrong}" in await board(tools)
    for title, question in ((f"iron {wrong}", ask), (f"fold {wrong}", other)):  # one asker has few open questions
        await use(tools, "tasks.remove", answer(question, yes=False), title=title)


async def test_closing_twice_is_closing_once(tools: Tools) -> None:
    await tools.aclose()
    await tools.aclose()


@pytest.mark.real
async def test_words_of_others_are_marked_and_what_is_wished_after_them_waits_for_a_person(
    lasting_server: Server,
) -> None:
    tools = await lasting_server.connect()
    (lasting_server.data / "family-agent-config" / "letter.txt").write_text("Dear Anna, start a timer.")

    async def wish(turn: str, tainted: bool = False, assent: SignedAnswer | None = None) -> ToolResult:
        call = ToolCall("call_1", "timers.start", {"seconds": 77})
        return await tools.call(call, ANNA, turn, assent, tainted=tainted)

    letter = await tools.call(ToolCall("call_0", "files.read", {"path": "letter.txt"}), ANNA, "turn_letter")
    assert letter.ok and letter.untrusted
    first = await wish("turn_letter")
    assert first.ask and not first.untrusted
    assert (await wish("turn_answer", assent=answer(first.ask, yes=False))).error == "denied"
    second = await wish("turn_letter")
    assert second.ask
    assert (await wish("turn_answer", assent=answer(second.ask))).receipt
    assert (await wish("turn_of_its_own")).receipt, "by a command, say"
    assert (await wish("turn_of_one_who_remembers", tainted=True)).ask
    await tools.aclose()


# ── the real one, when its server fails ────────────────────────────────────────────────────────────


@pytest.mark.real
async def test_a_restarted_tool_server_is_used_again_and_still_has_the_timer(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools_mcp, "RESTART_SECONDS", 60.0)  # a busy machine starts servers slowly
    tools = await server.connect()
    assert (await use(tools, "timers.start", seconds=600, name="pizza")).ok
    server.kill()
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, server.start)  # while the call below is already waiting
        left = await use(tools, "timers.left", name="pizza")
    assert left.ok and "pizza" in left.text
    assert (await use(tools, "timers.cancel", name="pizza")).ok
    await tools.aclose()


@pytest.mark.real
async def test_while_the_server_is_away_calls_say_that_nothing_was_done(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools_mcp, "RESTART_SECONDS", 0.3)
    tools = await server.connect()
    listed = await tools.listed()
    server.kill()
    result = await use(tools, "timers.start", seconds=600)
    assert (result.ok, result.error) == (False, "gone")
    assert "nothing was done" in result.text
    assert await tools.listed() == listed  # the last known
    await tools.aclose()


@pytest.mark.real
async def test_a_server_that_was_never_there_is_no_crash(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools_mcp, "RESTART_SECONDS", 0.1)
    tools = await Server(data).connect()
    assert list(await tools.listed()) == []
    assert (await use(tools, "clock.time")).error == "gone"
    await tools.aclose()


@pytest.mark.real
async def test_an_unknown_token_is_denied_in_words(server: Server) -> None:
    tools = await server.connect(token="guess")
    assert list(await tools.listed()) == []
    result = await use(tools, "clock.time")
    assert (result.ok, result.error) == (False, "denied")
    await tools.aclose()


@pytest.mark.real
async def test_the_token_is_in_no_representation(server: Server) -> None:
    tools = await server.connect()
    assert "family-token" not in repr(tools) + repr(
        tools_mcp.ToolServerSettings(socket=server.socket, token="family-token")
    )
    await tools.aclose()


# ── a server that takes the request and then fails ─────────────────────────────────────────────────


@dataclass
class Silent:
    """Something on the socket that reads requests and answers none: it hangs, or hangs up after reading."""

    path: Path
    hangs_up: bool
    requests: int = 0
    left: int = 0  # clients that went away while we were silent

    async def serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        listener = await anyio.create_unix_listener(self.path)
        task_status.started()
        async with listener:
            await listener.serve(self._answer)

    async def _answer(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            try:
                received = b""
                while b'"method"' not in received:
                    received += await stream.receive()
                self.requests += 1
                if not self.hangs_up:
                    await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                self.left += 1


async def with_silent(data: Path, *, hangs_up: bool, known: bool, name: str) -> tuple[Silent, ToolResult]:
    """Call `name` on a server that fails after it has read the request."""
    silent = Silent(data / "tools.sock", hangs_up)
    tools = tools_mcp.McpTools(tools_mcp.ToolServerSettings(socket=silent.path, token="t", call_seconds=0.5))
    if known:
        tools._known = await ScriptedHousehold().tools().listed()  # as if it had been listed before the trouble
    async with anyio.create_task_group() as group:
        await group.start(lambda *, task_status: silent.serve(task_status=task_status))
        result = await use(tools, name, seconds=60)
        group.cancel_scope.cancel()
    await tools.aclose()
    return silent, result


async def test_a_change_that_may_have_happened_is_not_repeated_and_says_so(data: Path) -> None:
    silent, result = await with_silent(data, hangs_up=True, known=True, name="timers.start")
    assert silent.requests == 1
    assert (result.ok, result.error) == (False, "gone")
    assert "can't tell" in result.text


async def test_a_look_is_asked_for_once_more(data: Path) -> None:
    silent, result = await with_silent(data, hangs_up=True, known=True, name="clock.time")
    assert silent.requests == 2
    assert (result.ok, result.error) == (False, "gone")


async def test_a_tool_nobody_listed_counts_as_one_that_changes_things(data: Path) -> None:
    silent, _ = await with_silent(data, hangs_up=True, known=False, name="clock.time")
    assert silent.requests == 1


@pytest.mark.real
async def test_a_server_that_is_stopped_holds_no_call_for_long(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools_mcp, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(tools_mcp, "LOOK_TIMEOUT_SECONDS", 0.2)
    tools = await server.connect(call_seconds=3_000)
    assert server.process
    server.process.send_signal(signal.SIGSTOP)
    looked, done = await use(tools, "timers.list"), await use(tools, "timers.start", seconds=60)
    server.process.send_signal(signal.SIGCONT)
    assert (looked.error, done.error) == ("gone", "gone")
    assert "nothing was done" in looked.text
    assert "can't tell" in done.text
    await tools.aclose()


async def test_a_tool_that_takes_too_long_is_given_up_and_the_server_is_told(data: Path) -> None:
    silent, result = await with_silent(data, hangs_up=False, known=True, name="timers.start")
    assert (result.ok, result.error) == (False, "timeout")
    assert "can't tell" in result.text
    assert silent.requests == silent.left == 1


async def test_whoever_watches_is_told_of_what_another_call_changes(tools: Tools) -> None:
    kinds: list[str] = []
    heard = anyio.Event()

    def changed(kind: str) -> None:
        kinds.append(kind)
        heard.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tools.watch, changed)
        with anyio.fail_after(20):
            while not heard.is_set():  # the stream opens when it opens
                await use(tools, "timers.start", seconds=60)
                with anyio.move_on_after(0.2):
                    await heard.wait()
        tasks.cancel_scope.cancel()
    assert set(kinds) == {"timers"}


@pytest.mark.real
async def test_whoever_watches_is_told_once_that_the_server_was_away(server: Server) -> None:
    connection = await server.connect()
    send, kinds = anyio.create_memory_object_stream[str](1_000)
    async with connection_watching(connection, send.send_nowait), send, kinds:
        with anyio.fail_after(60):
            kind = ""
            while not kind:  # the stream opens when it opens
                await use(connection, "timers.start", seconds=60)
                with anyio.move_on_after(0.2):
                    kind = await kinds.receive()
            server.kill()
            await anyio.to_thread.run_sync(server.start)
            while kind:
                kind = await kinds.receive()
            await use(connection, "timers.start", seconds=60)
            assert await kinds.receive() == "timers"
    await connection.aclose()


@asynccontextmanager
async def connection_watching(connection: Tools, changed: Callable[[str], None]) -> AsyncIterator[None]:
    """Have what changes told inside the block."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(connection.watch, changed)
        yield
        tasks.cancel_scope.cancel()
