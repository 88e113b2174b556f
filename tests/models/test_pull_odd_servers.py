"""Servers, disks and files as they are when something is odd: nothing wrong comes to be used, and it is said why."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import resource
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import anyio
import anyio.abc
import anyio.lowlevel
import httpx2
import pytest

from atlas.errors import EngineError
from atlas.models import pull
from atlas.models.catalogue import PINS, Model, ModelFile
from atlas.models.fetch import missing
from atlas.models.pull import Puller, PullProgress

CONTENT = bytes(range(256)) * 400
DIGEST = hashlib.sha256(CONTENT).hexdigest()
FILE = ModelFile("weights.gguf", "weights.gguf", len(CONTENT), DIGEST)
MODEL = Model("toy", "llm", "Toy", "CC0-1.0", "nobody", (FILE,), hub="a/toy")
UNKNOWN = replace(MODEL, files=(replace(FILE, sha256="", bytes=1),))

Answer = Callable[[str, str, dict[str, str]], bytes]  # method, path, headers → the whole answer


def reply(status: str, body: bytes = b"", **headers: str) -> bytes:
    lines = {"content-length": str(len(body)), **{key.replace("_", "-"): value for key, value in headers.items()}}
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items() if value)
    return f"HTTP/1.1 {status}\r\n{head}connection: close\r\n\r\n".encode() + body


@asynccontextmanager
async def a_server(answer: Answer) -> AsyncIterator[str]:
    async def talk(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                request = b""
                while b"\r\n\r\n" not in request:
                    request += await stream.receive()
                first, *lines = request.decode().split("\r\n")
                headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines if line)}
                await stream.send(answer(first.split()[0], first.split()[1], headers))

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, talk)
        yield f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.cancel_scope.cancel()


async def bring(
    model: Model, folder: Path, answer: Answer, reported_progress: list[PullProgress] | None = None
) -> None:
    """Pull from such a server; its errors come out bare."""
    async with a_server(answer) as address, httpx2.AsyncClient(trust_env=False) as client:
        tell = reported_progress.append if reported_progress is not None else lambda progress: None
        with anyio.fail_after(10):
            try:
                await Puller(model, folder, tell, client, address).pull()
            except EngineError as refused:
                failure: EngineError | None = refused
            else:
                failure = None
    if failure:
        raise failure


def part(folder: Path, content: bytes) -> Path:
    file = folder / ".toy.part" / "weights.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return file


def says(digest: str, size: int) -> dict[str, str]:
    return {"x_linked_etag": f'"{digest}"', "x_linked_size": str(size)}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "FIRST_WAIT_SECONDS", 0.001)


# ── servers ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_server_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    answers = [reply("503 Busy"), reply("429 Slow Down"), reply("200 OK", CONTENT)]
    await bring(MODEL, tmp_path, lambda *_: answers.pop(0))
    assert MODEL.faults(tmp_path) == []


async def test_a_server_that_stays_busy_is_given_up_with_its_word(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="could not be pulled: the server answered 503"):
        await bring(MODEL, tmp_path, lambda *_: reply("503 Busy"))


async def test_nothing_is_asked_for_packed_and_what_comes_packed_is_refused(tmp_path: Path) -> None:
    requests: list[str] = []

    def answer(_method: str, _path: str, headers: dict[str, str]) -> bytes:
        requests.append(headers["accept-encoding"])
        return reply("200 OK", gzip.compress(CONTENT), content_encoding="gzip")

    with pytest.raises(EngineError, match="sends it packed"):
        await bring(MODEL, tmp_path, answer)
    assert set(requests) == {"identity"}


@pytest.mark.parametrize("size", [len(CONTENT) - 1, len(CONTENT) + 1])
async def test_a_file_of_another_size_is_refused_before_it_is_pulled(tmp_path: Path, size: int) -> None:
    reported_progress: list[PullProgress] = []
    with pytest.raises(EngineError, match=f"has {size} bytes at its server, and {len(CONTENT)} in the catalogue"):
        await bring(MODEL, tmp_path, lambda *_: reply("200 OK", (CONTENT + b"!")[:size]), reported_progress)
    assert [progress.done for progress in reported_progress] in ([], [0])


async def test_a_file_that_changed_its_size_between_two_pulls_is_noticed_at_once(tmp_path: Path) -> None:
    part(tmp_path, CONTENT[:100])
    changed = reply("206 Partial Content", b"x", content_range=f"bytes 100-100/{len(CONTENT) - 5}")
    with pytest.raises(EngineError, match="bytes at its server"):
        await bring(MODEL, tmp_path, lambda *_: changed)


async def test_a_part_beyond_the_end_of_the_file_says_that_it_changed(tmp_path: Path) -> None:
    part(tmp_path, CONTENT[:-1])
    with pytest.raises(EngineError, match="answered 416") as error:
        await bring(MODEL, tmp_path, lambda *_: reply("416 Range Not Satisfiable"))
    assert "changed it" in error.value.hint


async def test_another_part_than_was_asked_for_is_not_appended(tmp_path: Path) -> None:
    begun = part(tmp_path, CONTENT[:100])
    wrong = reply("206 Partial Content", CONTENT[10:], content_range=f"bytes 10-{len(CONTENT) - 1}/{len(CONTENT)}")
    with pytest.raises(EngineError, match="another part"):
        await bring(MODEL, tmp_path, lambda *_: wrong)
    assert begun.read_bytes() == CONTENT[:100]


async def test_a_redirect_to_another_host_brings_the_file_and_no_other_trust(tmp_path: Path) -> None:
    async with a_server(lambda *_: reply("200 OK", CONTENT)) as store:
        await bring(MODEL, tmp_path, lambda _method, path, _headers: reply("302 Found", location=store + path))
        assert MODEL.faults(tmp_path) == []
        wrong = replace(MODEL, name="other", files=(replace(FILE, sha256="0" * 64),))
        with pytest.raises(EngineError, match="is not what the catalogue says"):
            await bring(wrong, tmp_path, lambda _method, path, _headers: reply("302 Found", location=store + path))


async def test_a_repository_that_was_renamed_still_says_its_hashes(tmp_path: Path) -> None:
    def answer(method: str, path: str, _headers: dict[str, str]) -> bytes:
        if path.startswith("/a/"):
            return reply("307 Temporary Redirect", location=path.replace("/a/", "/b/"))
        return reply("200 OK", CONTENT if method == "GET" else b"", content_length="", **says(DIGEST, len(CONTENT)))

    await bring(UNKNOWN, tmp_path, answer)
    assert json.loads((tmp_path / "toy" / PINS).read_text()) == {"weights.gguf": [len(CONTENT), DIGEST]}


async def test_a_large_file_that_nobody_says_a_hash_of_is_not_taken_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "MOST_UNSAID_BYTES", 1000)
    with pytest.raises(EngineError, match="nobody says what weights"):
        await bring(UNKNOWN, tmp_path, lambda *_: reply("200 OK", CONTENT))


async def test_a_hub_that_says_another_hash_is_refused_before_anything_is_pulled(tmp_path: Path) -> None:
    requests: list[str] = []

    def answer(method: str, _path: str, _headers: dict[str, str]) -> bytes:
        requests.append(method)
        return reply("200 OK", **says("f" * 64, len(CONTENT)))

    with pytest.raises(EngineError, match=f"says sha256 {'f' * 64}, we know {DIGEST}"):
        await bring(replace(MODEL, seen=3), tmp_path, answer)
    assert requests == ["HEAD"]


async def test_what_was_pinned_at_the_first_pull_still_holds_at_the_second(tmp_path: Path) -> None:
    def hub(content: bytes) -> Answer:
        digest = hashlib.sha256(content).hexdigest()
        return lambda method, *_: reply(
            "200 OK", content if method == "GET" else b"", content_length="", **says(digest, len(content))
        )

    await bring(UNKNOWN, tmp_path, hub(CONTENT))
    with pytest.raises(EngineError, match="is another file by now"):
        await bring(UNKNOWN, tmp_path, hub(CONTENT + b"new"))
    assert UNKNOWN.faults(tmp_path) == []


async def test_a_file_that_became_another_while_it_was_pulled_is_begun_anew(tmp_path: Path) -> None:
    begun = part(tmp_path, b"old" * 100)
    (begun.parent / PINS).write_text(json.dumps({"weights.gguf": [9000, "0" * 64]}))
    wanted: list[str] = []

    def answer(method: str, _path: str, headers: dict[str, str]) -> bytes:
        wanted.append(headers.get("range", ""))
        return reply("200 OK", CONTENT if method == "GET" else b"", content_length="", **says(DIGEST, len(CONTENT)))

    await bring(UNKNOWN, tmp_path, answer)
    assert wanted == ["", ""]
    assert (tmp_path / "toy" / "weights.gguf").read_bytes() == CONTENT


async def test_a_line_as_slow_as_drops_is_no_stall(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came is taken as it comes: waiting for a whole block took a slow line for a dead one."""
    arrived = anyio.Event()

    def tell(progress: PullProgress) -> None:
        nonlocal arrived
        if progress.done:
            arrived.set()
            arrived = anyio.Event()

    async def drip(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(reply("200 OK", CONTENT)[: -len(CONTENT)])
            for at in range(0, len(CONTENT), 20_000):
                taken = arrived
                await stream.send(CONTENT[at : at + 20_000])
                await taken.wait()  # no more is on its way until this was counted

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks, httpx2.AsyncClient(trust_env=False) as client:
        tasks.start_soon(listener.serve, drip)
        address = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        with anyio.fail_after(10):
            await Puller(MODEL, tmp_path, tell, client, address).pull()
        tasks.cancel_scope.cancel()
    assert MODEL.faults(tmp_path) == []


# ── disks and folders ──────────────────────────────────────────────────────────────────────────────


async def test_a_disk_that_fills_up_is_said_in_a_sentence_and_what_is_there_is_kept(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(EngineError, match="File too large") as error:
            await bring(MODEL, tmp_path, lambda *_: reply("200 OK", CONTENT))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "goes on where it stopped" in error.value.hint
    assert not (tmp_path / "toy").exists()
    begun = (tmp_path / ".toy.part" / "weights.gguf").read_bytes()
    assert begun == CONTENT[: len(begun)]


class Dawdle:
    """A disk and a processor that do nothing before somebody else had a turn."""

    def __init__(self) -> None:
        self.turn = threading.Event()
        self.held_up: list[str] = []

    def wait(self, what: str) -> None:
        self.turn.clear()
        if not self.turn.wait(5):
            self.held_up.append(what)

    async def take_turns(self) -> None:
        while True:
            self.turn.set()
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("model", [MODEL, UNKNOWN], ids=["known", "unknown"])
async def test_a_slow_disk_and_a_slow_hash_hold_up_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model
) -> None:
    dawdle, real_fsync = Dawdle(), os.fsync

    class SlowHash:
        def __init__(self, content: bytes = b"") -> None:
            self.real = hashlib.sha256()
            self.update(content)

        def update(self, content: bytes) -> None:
            if content:
                dawdle.wait("the hash")
            self.real.update(content)

        def hexdigest(self) -> str:
            return self.real.hexdigest()

    def slow_fsync(file: int) -> None:
        dawdle.wait("the disk")
        real_fsync(file)

    monkeypatch.setattr(pull, "hashlib", SimpleNamespace(sha256=SlowHash))
    monkeypatch.setattr(pull, "os", SimpleNamespace(fsync=slow_fsync))
    monkeypatch.setattr(pull, "SYNC_BYTES", len(CONTENT) // 2)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(dawdle.take_turns)
        await bring(model, tmp_path, lambda *_: reply("200 OK", CONTENT))
        tasks.cancel_scope.cancel()
    assert dawdle.held_up == []
    assert (tmp_path / "toy" / "weights.gguf").read_bytes() == CONTENT


async def test_a_model_folder_that_is_a_link_is_replaced_and_what_it_leads_to_is_left(tmp_path: Path) -> None:
    elsewhere = tmp_path / "big-disk"
    elsewhere.mkdir()
    (elsewhere / "weights.gguf").write_bytes(b"of somebody")
    models = tmp_path / "models"
    models.mkdir()
    (models / "toy").symlink_to(elsewhere)
    await bring(MODEL, models, lambda *_: reply("200 OK", CONTENT))
    assert MODEL.faults(models) == []
    assert (elsewhere / "weights.gguf").read_bytes() == b"of somebody"
    assert sorted(os.listdir(models)) == ["toy"]


async def test_a_link_laid_where_a_file_will_be_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"mine")
    (tmp_path / ".toy.part").mkdir()
    (tmp_path / ".toy.part" / "weights.gguf").symlink_to(tmp_path / "secret")
    await bring(MODEL, tmp_path, lambda *_: reply("200 OK", CONTENT))
    assert MODEL.faults(tmp_path) == []
    assert (tmp_path / "secret").read_bytes() == b"mine"


async def test_a_file_cut_short_on_a_disk_is_not_taken_for_the_model(tmp_path: Path) -> None:
    usb, house = tmp_path / "usb", tmp_path / "house"
    usb.mkdir()
    (usb / "weights.gguf").write_bytes(CONTENT[:1000])
    async with httpx2.AsyncClient() as client:
        with pytest.raises(EngineError, match=f"has 1000 bytes, not {len(CONTENT)}"):
            await Puller(MODEL, house, lambda progress: None, client).take(usb)
    assert missing([MODEL], house) == [MODEL]
    assert not (house / "toy").exists()


async def test_hashing_what_is_there_already_is_shown_and_the_count_never_goes_back(tmp_path: Path) -> None:
    part(tmp_path, CONTENT[:90_000])
    reported_progress: list[PullProgress] = []

    def answer(_method: str, _path: str, headers: dict[str, str]) -> bytes:
        begin = int(headers["range"].removeprefix("bytes=").rstrip("-"))
        return reply("206 Partial Content", CONTENT[begin:], content_range=f"bytes {begin}-{len(CONTENT) - 1}/*")

    await bring(MODEL, tmp_path, answer, reported_progress)
    counts = [progress.done for progress in reported_progress]
    assert counts[0] == 90_000
    assert counts == sorted(counts)
    assert counts[-1] == len(CONTENT)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda _method, path, _headers: reply("302 Found", location=path), "redirects"),
        (
            lambda _method, _path, headers: reply(
                "206 Partial Content", CONTENT[9:], content_range=f"bytes 9-{len(CONTENT) - 1}/{'9' * 5000}"
            ),
            "bytes at its server",
        ),
    ],
    ids=["it sends round in circles", "it says a size that no number holds"],
)
async def test_a_server_that_fools_about_is_refused_in_a_sentence(tmp_path: Path, answer: Answer, text: str) -> None:
    part(tmp_path, CONTENT[:9])
    with pytest.raises(EngineError, match=text):
        await bring(MODEL, tmp_path, answer)


@pytest.mark.parametrize("size", [-5, 0])
async def test_a_size_that_no_file_has_is_not_believed(tmp_path: Path, size: int) -> None:
    with pytest.raises(EngineError, match=r"says nothing of weights\.gguf"):
        await bring(UNKNOWN, tmp_path, lambda *_: reply("200 OK", **says(DIGEST, size)))


@pytest.mark.parametrize("model", [MODEL, UNKNOWN], ids=["known", "unknown"])
async def test_a_server_that_takes_the_question_and_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Model
) -> None:
    monkeypatch.setattr(pull, "STALL_SECONDS", 0.01)
    monkeypatch.setattr(pull, "RETRIES", 1)

    async def silent(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                await stream.receive()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks, pull.client() as client:
        tasks.start_soon(listener.serve, silent)
        address = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        with anyio.fail_after(10), pytest.raises(EngineError, match="nothing"):
            await Puller(model, tmp_path, lambda _progress: None, client, address).pull()
        tasks.cancel_scope.cancel()


async def test_what_began_encrypted_does_not_go_on_in_the_open(tmp_path: Path) -> None:
    def hub(request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme == "https" and request.method == "GET":
            return httpx2.Response(302, headers={"location": "http://cheap.example/weights.gguf"})
        return httpx2.Response(200, content=CONTENT)

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(hub)) as client:
        with pytest.raises(EngineError, match="without encryption"):
            await Puller(UNKNOWN, tmp_path, lambda _progress: None, client).pull()


async def test_a_disk_that_holds_the_download_itself_is_not_emptied(tmp_path: Path) -> None:
    file = part(tmp_path, CONTENT[:9])
    async with httpx2.AsyncClient() as client:
        with pytest.raises(EngineError, match="is the download itself"):
            await Puller(MODEL, tmp_path, lambda _progress: None, client).take(file.parent)
    assert file.read_bytes() == CONTENT[:9]


async def test_a_file_where_the_download_should_lie_is_spoken_of(tmp_path: Path) -> None:
    (tmp_path / ".toy.part").write_text("mine")
    async with httpx2.AsyncClient() as client:
        with pytest.raises(EngineError, match=r"\.toy\.part: File exists"):
            await Puller(MODEL, tmp_path, lambda _progress: None, client).take(tmp_path)
