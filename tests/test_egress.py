"""The one way out leads where the list says and nowhere else, carries everything whole, and is written down."""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import Process, SocketStream

from atlas import egress
from atlas.allowed_addresses import AllowedAddress
from atlas.egress import Egress, EgressRecord, Tunnel, is_open
from tests.conftest import SmallDisk, for_every
from wall.chain import ChainBroken, Verdict, older_files, verify

Serve = Callable[[SocketStream], Awaitable[None]]


@asynccontextmanager
async def far_side(serve: Serve) -> AsyncIterator[int]:
    """A machine out there, which is a port of this one."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:

        async def answer(stream: SocketStream) -> None:
            async with stream:
                await serve(stream)

        tasks.start_soon(listener.serve, answer)
        yield listener.extra(anyio.abc.SocketAttribute.local_port)
        tasks.cancel_scope.cancel()


async def echo(stream: SocketStream) -> None:
    async for piece in stream:
        await stream.send(piece)


@asynccontextmanager
async def process(data: Path, *allow: str) -> AsyncIterator[Process]:
    """The real one."""
    command = [
        sys.executable,
        "-m",
        "atlas.egress",
        "--socket",
        str(data / "e.sock"),
        "--record",
        str(data / "e.jsonl"),
    ]
    for entry in allow:
        command += ["--allow", entry]
    async with await anyio.open_process(command, stdin=None, stdout=None) as child:
        try:
            assert child.stderr
            assert (await child.stderr.receive()).startswith(b"ready")
            yield child
        finally:
            if child.returncode is None:
                child.terminate()


@asynccontextmanager
async def here(data: Path, *allow: str, names: dict[str, list[list[str]]] | None = None) -> AsyncIterator[None]:
    """The same in this process, with name servers that say what the test wants: the next list at each question."""
    answers = {name: iter(lists) for name, lists in (names or {}).items()}

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers[host]) if host in answers else await egress.resolved(host, port)

    way_out = Egress([AllowedAddress.read(text) for text in allow], EgressRecord(data / "e.jsonl"), resolve)
    async with await anyio.create_unix_listener(data / "e.sock") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, way_out.serve)
        yield
        tasks.cancel_scope.cancel()


async def asked(data: Path, target: str) -> tuple[SocketStream, bytes]:
    """Ask for a way; return the stream and the head of the answer."""
    stream = await anyio.connect_unix(data / "e.sock")
    await stream.send(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    return stream, await stream.receive()


async def refusal(data: Path, target: str) -> str:
    stream, answer = await asked(data, target)
    async with stream:
        async for more in stream:
            answer += more
    head, _, sentence = answer.decode().partition("\r\n\r\n")
    assert not head.startswith("HTTP/1.1 200"), f"{target} was let through"
    return sentence


def rows(data: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (data / "e.jsonl").read_text().splitlines() if line]


async def closing(data: Path, count: int = 1) -> dict[str, Any]:
    """The row of a tunnel's end, which is written a moment after the other side has noticed."""
    while len(ends := [row for row in rows(data) if row["event"] == "closed"]) < count:
        await anyio.lowlevel.checkpoint()
    return ends[-1]


# ── who may be reached ─────────────────────────────────────────────────────────────────────────────


@for_every(
    ("entry", "host", "port", "fits"),
    [
        ("api.example.org:443", "api.example.org", 443, True),
        ("API.Example.org:443", "api.example.org", 443, True),
        ("api.example.org:443", "api.example.org", 80, False),
        ("api.example.org:443", "evil.api.example.org", 443, False),
        ("api.example.org:443", "api.example.org.evil.com", 443, False),
        ("*.example.org:443", "api.example.org", 443, True),
        ("*.example.org:443", "a.b.example.org", 443, True),
        ("*.example.org:443", "example.org", 443, False),
        ("*.example.org:443", "evilexample.org", 443, False),
        ("192.168.1.5:1883", "192.168.1.5", 1883, True),
        ("[fd00::1]:80", "fd00::1", 80, True),
    ],
)
def test_an_entry_speaks_of_exactly_one_name_or_of_what_is_below_its_star(
    entry: str, host: str, port: int, fits: bool
) -> None:
    assert AllowedAddress.read(entry).fits(host, port) is fits


@for_every(
    "text",
    [
        "",
        "example.org",
        "example.org:",
        ":443",
        "example.org:0",
        "example.org:99999",
        "*:443",
        "*.*:443",
        "a*.org:443",
        "https://example.org:443",
        "exa mple.org:443",
        "example.org:443 outside",
        "*.example.org:443 at-home",
        "é:1",
    ],
)
def test_an_entry_that_is_none_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not|only a single"):
        AllowedAddress.read(text)


@for_every(
    ("address", "open_"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("240.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fd00::1", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::808:808", True),
        ("2002:7f00:1::", False),
        ("2002:c0a8:101::", False),
    ],
)
def test_an_address_in_the_house_is_known_in_every_disguise(address: str, open_: bool) -> None:
    assert is_open(ipaddress.ip_address(address)) is open_


async def test_what_is_not_listed_is_refused_with_a_sentence_and_written_down(data: Path) -> None:
    async with here(data, "api.example.org:443"):
        assert "evil.com: it is not listed" in await refusal(data, "evil.com:443")
        assert "it is not listed for port 80 in" in await refusal(data, "api.example.org:80")
        assert "not listed" in await refusal(data, "127.0.0.1:22")
        assert "not listed" in await refusal(data, "[::1]:22")
    assert [(row["event"], row["host"], row["port"]) for row in rows(data)] == [
        ("refused", "evil.com", 443),
        ("refused", "api.example.org", 80),
        ("refused", "127.0.0.1", 22),
        ("refused", "::1", 22),
    ]
    assert rows(data)[0]["who"] == {"pid": os.getpid(), "uid": os.getuid()}


async def test_a_name_of_the_internet_never_leads_into_the_house(data: Path) -> None:
    """A name server of a stranger answers with the router's address, alone or hidden among good ones."""
    inside = [["192.168.1.1"], ["93.184.215.14", "127.0.0.1"], ["::ffff:10.0.0.1"], ["fe80::1%eth0"]]
    async with here(data, "*.example.org:80", names={"rebound.example.org": inside}):
        for _ in inside:
            assert "inside the house" in await refusal(data, "rebound.example.org:80")
    assert [row["address"] for row in rows(data)] == ["192.168.1.1", "127.0.0.1", "::ffff:10.0.0.1", "fe80::1%eth0"]


async def test_the_address_that_was_checked_is_the_one_that_is_connected_to(data: Path) -> None:
    """Asked twice, this name would lead elsewhere the second time; so it is asked once."""
    async with far_side(echo) as port:
        answers = [["127.0.0.1"], ["203.0.113.9"]]
        async with here(data, f"nas.example.org:{port} at-home", names={"nas.example.org": answers}):
            stream, answer = await asked(data, f"nas.example.org:{port}")
            async with stream:
                assert answer == b"HTTP/1.1 200 Connected\r\n\r\n"
            assert (await closing(data))["address"] == "127.0.0.1"


async def test_a_machine_of_the_house_is_reached_when_it_is_listed(data: Path) -> None:
    async with far_side(echo) as port, here(data, f"localhost:{port}"):
        stream, answer = await asked(data, f"LOCALHOST.:{port}")
        async with stream:
            assert answer.startswith(b"HTTP/1.1 200")
        await closing(data)


@for_every(
    "line",
    [
        "GET http://example.org/ HTTP/1.1",
        "CONNECT example.org HTTP/1.1",
        "CONNECT example.org:443",
        "CONNECT :443 HTTP/1.1",
        "CONNECT a b:443 HTTP/1.1",
        "CONNECT [::1:443 HTTP/1.1",
        "CONNECT example.org:4433333 HTTP/1.1",
        "\x00\xff",
        "",
    ],
)
async def test_what_is_no_request_for_a_way_is_answered_400(data: Path, line: str) -> None:
    async with here(data, "example.org:443"), await anyio.connect_unix(data / "e.sock") as stream:
        await stream.send(line.encode("latin-1") + b"\r\n\r\n")
        assert (await stream.receive()).startswith(b"HTTP/1.1 400")


async def test_a_request_without_end_is_cut_off(data: Path) -> None:
    async with here(data, "example.org:443"), await anyio.connect_unix(data / "e.sock") as stream:
        await stream.send(b"CONNECT " + b"x" * 5000)
        assert (await stream.receive()).startswith(b"HTTP/1.1 431")


async def test_nobody_there_is_another_answer_than_not_allowed(data: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        port = taken.getsockname()[1]
        async with here(data, f"127.0.0.1:{port}", "nowhere.invalid:80"):
            assert await refusal(data, f"127.0.0.1:{port}") == "127.0.0.1 does not answer."
            assert "I can't find nowhere.invalid" in await refusal(data, "nowhere.invalid:80")
    assert [row["event"] for row in rows(data)] == ["unanswered", "unanswered"]


async def test_too_many_ways_at_once_are_refused_and_free_again_later(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egress, "CONNECTIONS", 2)
    async with far_side(echo) as port, here(data, f"127.0.0.1:{port}"):
        held = [(await asked(data, f"127.0.0.1:{port}"))[0] for _ in range(2)]
        assert "at once" in await refusal(data, f"127.0.0.1:{port}")
        for stream in held:
            await stream.aclose()
        await closing(data)
        stream, answer = await asked(data, f"127.0.0.1:{port}")
        assert answer.startswith(b"HTTP/1.1 200")
        await stream.aclose()
        await closing(data, 3)


async def test_without_a_record_nothing_goes_out(data: Path, small_disk: SmallDisk) -> None:
    record = EgressRecord(small_disk.folder / "e.jsonl")
    small_disk.fill()
    async with far_side(echo) as port:
        way_out = Egress([AllowedAddress.read(f"127.0.0.1:{port}")], record)
        async with await anyio.create_unix_listener(data / "e.sock") as listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, way_out.serve)
            assert "write down where I go" in await refusal(data, f"127.0.0.1:{port}")
            tasks.cancel_scope.cancel()


# ── what passes ────────────────────────────────────────────────────────────────────────────────────


async def test_a_large_transfer_arrives_whole_after_the_asking_side_is_done(data: Path) -> None:
    """Half-close: send everything, say so, then read an answer that is as large."""

    async def backwards(stream: SocketStream) -> None:
        heard = b"".join([piece async for piece in stream])
        await stream.send(heard[::-1])

    sent = os.urandom(4_000_000)
    async with far_side(backwards) as port, process(data, f"127.0.0.1:{port}"):
        stream, _ = await asked(data, f"127.0.0.1:{port}")
        async with stream:
            await stream.send(sent)
            await stream.send_eof()
            heard = b"".join([piece async for piece in stream])
        assert heard == sent[::-1]
        end = await closing(data)
    assert (end["sent"], end["received"], end["outcome"]) == (len(sent), len(sent), "done")


async def test_a_far_side_that_breaks_off_ends_the_tunnel(data: Path) -> None:
    async def rude(stream: SocketStream) -> None:
        raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # closing is a reset
        await stream.receive()

    async with far_side(rude) as port, here(data, f"127.0.0.1:{port}"):
        stream, _ = await asked(data, f"127.0.0.1:{port}")
        async with stream:
            await stream.send(b"hello")
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await stream.receive()
        assert (await closing(data))["outcome"] == "broken off"


async def test_a_silent_tunnel_is_closed(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(egress, "IDLE_SECONDS", 0.05)
    async with far_side(echo) as port, here(data, f"127.0.0.1:{port}"):
        stream, _ = await asked(data, f"127.0.0.1:{port}")
        async with stream:
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()
        assert (await closing(data))["outcome"] == "idle"


# ── the process ────────────────────────────────────────────────────────────────────────────────────


async def test_killed_in_the_middle_it_comes_back_and_its_record_is_still_lines(data: Path) -> None:
    async with far_side(echo) as port:
        async with process(data, f"127.0.0.1:{port}") as first:
            stream, _ = await asked(data, f"127.0.0.1:{port}")
            first.kill()
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await stream.receive()
            await stream.aclose()
            await first.wait()
        with (data / "e.jsonl").open("a") as torn:
            torn.write('{"at": 17')
        async with process(data, f"127.0.0.1:{port}"):
            stream, answer = await asked(data, f"127.0.0.1:{port}")
            assert answer.startswith(b"HTTP/1.1 200")
            await stream.aclose()
    lines = (data / "e.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines if line != '{"at": 17'][:2] == ["opened", "opened"]


def test_its_record_is_one_chain_over_its_files_and_tells_what_was_taken_away(data: Path) -> None:
    record = EgressRecord(data / "e.jsonl", rotate_bytes=1_000)
    for number in range(20):
        record.write("refused", Tunnel("example.org", 443, {"pid": number, "uid": 0}))
    assert len(older_files(data / "e.jsonl")) > 3
    assert verify(data / "e.jsonl") == Verdict(20, ())
    older_files(data / "e.jsonl")[1].unlink()
    assert "are missing" in verify(data / "e.jsonl").problems[0]


def test_rows_of_a_version_that_did_not_seal_them_are_put_aside(data: Path) -> None:
    (data / "e.jsonl").write_text('{"at": 1.0, "event": "opened"}\n')
    EgressRecord(data / "e.jsonl").write("refused", Tunnel("example.org", 443, {}))
    assert verify(data / "e.jsonl") == Verdict(1, ())
    assert "opened" in (data / "e.unsealed.jsonl").read_text()
    (data / "e.jsonl").write_text("rubbish\n")
    with pytest.raises(ChainBroken):
        EgressRecord(data / "e.jsonl")


async def test_it_answers_the_supervisor_and_ends_when_told(data: Path) -> None:
    async with process(data, "example.org:443") as child:
        assert (data / "e.sock").stat().st_mode & 0o777 == 0o600
        transport = httpx2.AsyncHTTPTransport(uds=str(data / "e.sock"))
        async with httpx2.AsyncClient(transport=transport) as client:
            assert (await client.get("http://child/health")).json()["ok"] is True
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0
    assert not (data / "e.sock").exists()
    assert (data / "e.jsonl").stat().st_mode & 0o777 == 0o600


async def test_a_list_that_cannot_be_read_stops_the_start_with_a_sentence(data: Path) -> None:
    command = [sys.executable, "-m", "atlas.egress", "--socket", str(data / "s"), "--record", str(data / "r")]
    ended = await anyio.run_process([*command, "--allow", "everything"], check=False)
    assert ended.returncode == 2
    assert b"'everything' is not HOST:PORT" in ended.stderr
