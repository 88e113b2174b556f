"""How far the tool server's record goes is signed every few seconds, and what was signed is missed when it is gone."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from atlas.changes import Changes
from atlas.confirmations import HouseKey
from atlas.conversation import HOUSE, Actor, SignedAnswer, Tool, ToolCall, ToolResult
from atlas.witness import LOOK_SECONDS, HeadReading, Witness, head_of_record, head_of_tools
from tests.conftest import virtual_time
from tools_server.gate.signed_head import read_signed_head
from wall.chain import Chain, Head, head_of, row_hash
from wall.meta import EGRESS_HEAD_AUDIENCE

KEY = Ed25519PrivateKey.generate()


class ToolServer:
    """A record, and the one tool that tells of it."""

    def __init__(self, data: Path) -> None:
        self.chain = Chain(data / "audit.jsonl")
        self.away = False

    async def listed(self) -> tuple[Tool, ...]:
        return ()

    async def aclose(self) -> None:
        self.chain.close()

    async def call(
        self, call: ToolCall, actor: Actor, turn_id: str, assent: SignedAnswer | None = None, *, tainted: bool = False
    ) -> ToolResult:
        assert (call.name, actor) == ("record.head", HOUSE)
        if self.away:
            return ToolResult(call.id, False, "I can't reach my tools right now.", error="gone")
        head, since = self.chain.head, row_hash(self.chain.file, call.arguments["since"])
        data = {"seq": head.seq, "hash": head.hash, "since_hash": since, "problem": self.chain.problem}
        return ToolResult(call.id, True, "", data)


@pytest.fixture
def server(data: Path) -> ToolServer:
    return ToolServer(data)


def witness_of(server: ToolServer, data: Path) -> Witness:
    return Witness(HouseKey(KEY), head_of_tools(server), data / "record.head", now=lambda: 1_800_000_000.0)


async def test_the_tool_server_reads_what_the_house_has_signed(server: ToolServer, data: Path) -> None:
    witness = witness_of(server, data)
    for number in range(3):
        server.chain.append({"number": number})
        await witness.look()
        assert read_signed_head(data / "record.head", KEY.public_key()) == server.chain.head
    assert witness.problem == ""
    assert (data / "record.head").stat().st_mode & 0o777 == 0o600
    assert read_signed_head(data / "record.head", Ed25519PrivateKey.generate().public_key()) is None


async def test_what_keeps_it_from_being_signed_is_logged_once_until_it_can_be(
    server: ToolServer, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    witness = Witness(HouseKey(KEY), head_of_tools(server), data / "away" / "record.head")
    for _ in range(3):
        server.chain.append({})
        await witness.look()
    assert len(caplog.messages) == 1
    (data / "away").mkdir()
    await witness.look()
    assert read_signed_head(data / "away" / "record.head", KEY.public_key()) == server.chain.head


async def test_what_was_cut_while_everything_was_off_is_missed_and_not_signed_over(
    server: ToolServer, data: Path
) -> None:
    for number in range(5):
        server.chain.append({"number": number})
    await witness_of(server, data).look()
    signed = (data / "record.head").read_text()
    server.chain.close()
    for file in (data / "audit.jsonl", data / "audit.head"):
        file.unlink()  # by somebody who knows of both
    server.chain = Chain(data / "audit.jsonl")  # and the start does not ask what was signed
    for number in range(9):
        server.chain.append({"forged": number})
    witness = witness_of(server, data)
    await witness.look()
    assert witness.problem == "row 5 is not the one that was signed"
    server.chain.append({"number": 9})
    await witness.look()
    assert (data / "record.head").read_text() == signed
    assert Chain(data / "audit.jsonl", HouseKey(KEY).read_head(data / "record.head")).problem


async def test_what_is_cut_while_the_tool_server_runs_is_told_and_stays_so(server: ToolServer, data: Path) -> None:
    witness = witness_of(server, data)
    for number in range(3):
        server.chain.append({"number": number})
    await witness.look()
    lines = (data / "audit.jsonl").read_bytes().splitlines(keepends=True)
    (data / "audit.jsonl").write_bytes(b"".join(lines[:2]))
    await witness.look()
    assert witness.problem == "row 3 is not the one that was signed", "before anything is written"
    server.chain.append({"number": 3})
    await witness.look()
    assert witness.problem == "the record ends at row 2; 3 were written"


async def test_a_tool_server_that_is_away_is_no_cut(server: ToolServer, data: Path) -> None:
    witness = witness_of(server, data)
    server.chain.append({"number": 1})
    await witness.look()
    server.away = True
    await witness.look()
    assert witness.problem == ""
    assert HouseKey(KEY).read_head(data / "record.head") == Head(1, server.chain.head.hash)


# ── the record of the way out ──────────────────────────────────────────────────────────────────────


def egress_witness(data: Path) -> Witness:
    read = head_of_record(data / "egress.jsonl")
    return Witness(HouseKey(KEY), read, data / "signed.head", EGRESS_HEAD_AUDIENCE, now=lambda: 1_800_000_000.0)


def gone_out(data: Path, times: int) -> None:
    with closing(Chain(data / "egress.jsonl")) as chain:
        for number in range(times):
            chain.append({"host": "weather.example", "number": number})


async def test_ways_out_that_are_cut_with_their_head_rewritten_are_missed(data: Path) -> None:
    witness = egress_witness(data)
    await witness.look()
    assert (witness.problem, (data / "signed.head").exists()) == ("", False), "nothing ever left"
    gone_out(data, 3)
    await witness.look()
    lines = (data / "egress.jsonl").read_bytes().splitlines(keepends=True)
    (data / "egress.jsonl").write_bytes(b"".join(lines[:1]))
    head_of(data / "egress.jsonl").unlink()  # the next row makes another
    gone_out(data, 5)
    for each in (witness, egress_witness(data)):
        await each.look()
        assert each.problem == "row 3 is not the one that was signed"


async def test_a_record_of_ways_out_that_is_gone_whole_is_missed(data: Path) -> None:
    witness = egress_witness(data)
    gone_out(data, 3)
    await witness.look()
    (data / "egress.jsonl").unlink()
    await witness.look()
    assert witness.problem == "row 3 is not the one that was signed"


async def test_neither_signed_head_stands_for_the_other(data: Path, server: ToolServer) -> None:
    gone_out(data, 1)
    await egress_witness(data).look()
    key = HouseKey(KEY)
    assert key.read_head(data / "signed.head", EGRESS_HEAD_AUDIENCE) == Head(1, row_hash(data / "egress.jsonl", 1))
    assert key.read_head(data / "signed.head") is None


@pytest.mark.parametrize("anyio_backend", [virtual_time()])
async def test_what_tools_change_is_signed_long_before_the_next_look(data: Path, anyio_backend: object) -> None:
    changes, chain = Changes([]), Chain(data / "audit.jsonl")
    looked_at = []

    async def read(since: int) -> HeadReading:
        await anyio.lowlevel.checkpoint()
        looked_at.append(anyio.current_time())
        return HeadReading(chain.head, row_hash(chain.file, since))

    witness = Witness(HouseKey(KEY), read, data / "record.head")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(witness.watch, changes)
        await anyio.sleep(0.5)
        chain.append({"tool": "lists.add"})
        changes.note("lists")
        await anyio.sleep(0.3)
        assert HouseKey(KEY).read_head(data / "record.head") == chain.head
        tasks.cancel_scope.cancel()
    assert looked_at[1] - looked_at[0] < LOOK_SECONDS / 2
    chain.close()
