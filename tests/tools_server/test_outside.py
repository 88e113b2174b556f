"""What a tool finds at the other end of its way out: a stream, an HTTP client, or a sentence that says why not."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from tests.certificates import certificate, serving
from tests.conftest import for_every
from tools_server.reach.outside import NOWHERE, Outside, Unreachable


@contextmanager
def far_side(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A machine out there, which is a port of this one."""

    def answer() -> None:
        while True:
            try:
                came, _ = listening.accept()
            except OSError:
                return  # closed: the test is over
            with came, suppress(OSError):
                serve(came)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@contextmanager
def way_out(data: Path, *allow: str) -> Iterator[Outside]:
    command = [
        sys.executable,
        "-m",
        "atlas.egress",
        "--socket",
        str(data / "e.sock"),
        "--record",
        str(data / "e.jsonl"),
    ]
    command += [part for entry in allow for part in ("--allow", entry)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        try:
            assert process.stderr
            assert process.stderr.readline().startswith(b"ready")
            yield Outside(data / "e.sock")
        finally:
            process.terminate()


def http(body: bytes, head: str = "") -> Callable[[socket.socket], None]:
    def serve(came: socket.socket) -> None:
        came.recv(65_536)
        came.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n{head}\r\n".encode() + body)

    return serve


def test_a_stream_is_dialled_and_carries_bytes_both_ways(data: Path) -> None:
    with (
        far_side(lambda came: came.sendall(came.recv(100)[::-1])) as port,
        way_out(data, f"localhost:{port}") as outside,
        outside.dial("localhost", port, 5) as stream,
    ):
        stream.sendall(b"hello")
        assert stream.recv(100) == b"olleh"
        assert stream.recv(100) == b""


def test_every_refusal_is_a_sentence(data: Path) -> None:
    with pytest.raises(Unreachable, match="no way out of the house"):
        NOWHERE.dial("a.org", 443, 1)
    with pytest.raises(Unreachable, match="not open just now"):
        Outside(data / "nobody.sock").dial("a.org", 443, 1)
    with way_out(data, "127.0.0.1:1") as outside:
        with pytest.raises(Unreachable, match=r"I may not reach a.org: it is not listed"):
            outside.dial("a.org", 443, 5)
        with pytest.raises(Unreachable, match=r"127.0.0.1 does not answer"):
            outside.dial("127.0.0.1", 1, 5)


@for_every("host", ["", "a.org\r\nX: y", "a b", "a.org/", "a@b", "x" * 300, "\ud800", "a..b"])
def test_what_is_no_name_is_not_even_sent(data: Path, host: str) -> None:
    with pytest.raises(Unreachable, match="not the name of a machine"):
        Outside(data / "nobody.sock").dial(host, 80, 1)


def test_a_way_out_that_says_nothing_is_given_up(data: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(data / "e.sock"))
        silent.listen()
        with pytest.raises(Unreachable, match="does not answer"):
            Outside(data / "e.sock").dial("a.org", 443, 0.05)


def test_an_http_client_goes_the_same_way_and_follows_nobody_elsewhere(data: Path) -> None:
    with (
        far_side(http(b"hello", "Location: http://evil.org/\r\n")) as port,
        way_out(data, f"127.0.0.1:{port}") as outside,
        outside.http_client(5) as client,
    ):
        answer = client.get(f"http://127.0.0.1:{port}/x")
        assert (answer.status_code, answer.text) == (200, "hello")
        with pytest.raises(Unreachable, match="not listed"):
            client.get("http://evil.org/")


def test_each_request_has_its_own_connection_so_none_is_lost_to_one_that_closes(data: Path) -> None:
    with (
        far_side(http(b"hello")) as port,  # it closes after each answer, and does not say so
        way_out(data, f"127.0.0.1:{port}") as outside,
        outside.http_client(5) as client,
    ):
        for _ in range(3):
            assert client.get(f"http://127.0.0.1:{port}/").text == "hello"


def test_one_answer_is_fetched_within_its_size(data: Path) -> None:
    with far_side(http(b"x" * 1000)) as port, way_out(data, f"127.0.0.1:{port}") as outside:
        assert outside.fetch(f"http://127.0.0.1:{port}/", 5, 1000) == (200, b"x" * 1000)
        with pytest.raises(Unreachable, match="more than I can take"):
            outside.fetch(f"http://127.0.0.1:{port}/", 5, 999)


@pytest.mark.parametrize(
    "begin", [b"", b"HTTP/1.1 200 OK\r\nX-", b"HTTP/1.1 200 OK\r\n\r\n"], ids=["line", "head", "body"]
)
def test_who_sends_a_byte_now_and_then_is_waited_for_no_longer_than_who_sends_none(data: Path, begin: bytes) -> None:
    over = threading.Event()

    def drip(came: socket.socket) -> None:
        came.recv(65_536)
        came.sendall(begin)
        while not over.wait(0.02):
            came.sendall(b"x")

    with far_side(drip) as port, way_out(data, f"127.0.0.1:{port}") as outside:
        try:
            with pytest.raises(Unreachable, match="too slow"):
                outside.fetch(f"http://127.0.0.1:{port}/", 0.3, 100_000)
        finally:
            over.set()


def test_encryption_is_from_end_to_end_and_only_with_who_was_meant(data: Path) -> None:
    theirs, other = certificate(data, "localhost"), certificate(data, "other")
    context = serving(theirs)

    def secret(came: socket.socket) -> None:
        with context.wrap_socket(came, server_side=True) as connection:
            http(b"secret")(connection)  # type: ignore[arg-type]

    with far_side(secret) as port, way_out(data, f"localhost:{port}") as outside:
        address = f"https://localhost:{port}/"
        with outside.http_client(5, authority=theirs) as client:
            assert client.get(address).text == "secret"
        with outside.http_client(5, authority=other) as client, pytest.raises(httpx2.ConnectError):
            client.get(address)
        with pytest.raises(Unreachable, match="localhost can't prove who it is"):
            outside.fetch(address, 5, 1000)
