"""How far the tool server's record goes is signed every few seconds, and what was signed is missed when it is gone."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from atlas.assent import HouseKey
from atlas.conversation import HOUSE, Actor, SignedAnswer, Tool, ToolCall, ToolResult
from atlas.witness import Witness
from tools_server.gate.signed_head import read_signed_head
from wall.chain import Chain, Head, row_hash

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
    return Witness(HouseKey(KEY), server, data / "record.head", now=lambda: 1_800_000_000.0)


async def test_the_tool_server_reads_what_the_house_has_signed(server: ToolServer, data: Path) -> None:
    witness = witness_of(server, data)
    for number in range(3):
        server.chain.append({"number": number})
        await witness.look()
        assert read_signed_head(data / "record.head", KEY.public_key()) == server.chain.head
    assert witness.problem == ""
    assert (data / "record.head").stat().st_mode & 0o777 == 0o600
    assert read_signed_head(data / "record.head", Ed25519PrivateKey.generate().public_key()) is None


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
