"""The porter hands over connections through the walls, also after it stood still, and its death is noticed."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.processes import until
from tools_server.gate.gate import Gate
from tools_server.reach.outside import Outside
from tools_server.walls import porter as porters
from tools_server.walls.porter import Porter
from tools_server.wires.wire_http import HOST, http_app


@pytest.fixture
def egress(data: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(data / "e.sock"))
        listening.listen()
        yield listening


@pytest.fixture
def porter(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Porter]:
    monkeypatch.setattr(porters, "ANSWER_SECONDS", 0.1)
    porter = Porter(data / "e.sock")
    yield porter
    os.kill(porter.pid, signal.SIGKILL)
    porter._ours.close()
    os.waitpid(porter.pid, 0)


def test_a_porter_that_stood_still_hands_over_fresh_connections_again(egress: socket.socket, porter: Porter) -> None:
    os.kill(porter.pid, signal.SIGSTOP)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            porter.connected()
    os.kill(porter.pid, signal.SIGCONT)
    porter._ours.settimeout(10)
    with porter.connected() as way:
        *late, fresh = [egress.accept()[0] for _ in range(3)]
        with fresh:
            fresh.settimeout(10)
            way.sendall(b"hello")
            assert fresh.recv(5) == b"hello"
        for connection in late:
            with connection:
                assert connection.recv(1) == b"", "what came too late was closed"


def test_an_egress_that_is_not_there_is_no_end_of_the_porter(data: Path, egress: socket.socket, porter: Porter) -> None:
    (data / "e.sock").unlink()
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError):
            porter.connected()
    assert porter.is_alive


async def test_a_tool_server_whose_porter_was_killed_says_that_it_is_not_well(
    world: Any, egress: socket.socket, porter: Porter
) -> None:
    gate: Gate = world.gate
    gate._outside = Outside(porter=porter)
    transport = httpx2.ASGITransport(app=http_app(gate, [HOST]))
    async with httpx2.AsyncClient(transport=transport, base_url=f"http://{HOST}") as client:
        assert (await client.get("/health")).status_code == 200
        os.kill(porter.pid, signal.SIGKILL)
        await until(lambda: not porter.is_alive)
        assert (await client.get("/health")).status_code == 503
