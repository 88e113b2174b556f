"""A pull that is cut, cut again and killed ends with the right bytes, and never with wrong ones."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import anyio
import anyio.abc
import httpx2
import pytest

from atlas.errors import EngineError
from atlas.models import pull
from atlas.models.catalogue import PINS, Model, ModelFile
from atlas.models.fetch import missing
from atlas.models.pull import Puller, PullProgress

CONTENT = random.Random(1).randbytes(3_000_000)
CONFIG = b'{"layers": 2}'


@dataclass
class Hub:
    """A model hub on loopback that cuts connections as it is told, and remembers what it was asked."""

    files: dict[str, bytes]
    cut_after: list[int] = field(default_factory=list)  # bytes of the next answers; then whole ones
    ranges: bool = True
    requests: list[str] = field(default_factory=list)
    slow: bool = False
    address: str = ""

    async def answer(self, stream: anyio.abc.SocketStream) -> None:
        async with stream:
            request = b""
            while b"\r\n\r\n" not in request:
                try:
                    request += await stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return
            first, *headers = request.decode().split("\r\n")
            method, path, _ = first.split()
            question = next((line.split("=")[1] for line in headers if line.lower().startswith("range:")), "")
            self.requests.append(f"{method} {question}".strip())
            content = self.files.get(path.rsplit("/", 1)[-1])
            with suppress(anyio.BrokenResourceError):  # killed
                await self._send(stream, method, content, int(question.rstrip("-") or 0) if self.ranges else 0)

    async def _send(self, stream: anyio.abc.SocketStream, method: str, content: bytes | None, begin: int) -> None:
        if content is None:
            await stream.send(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        body = content[begin:]
        head = "HTTP/1.1 206 Partial Content\r\n" if begin else "HTTP/1.1 200 OK\r\n"
        head += f"content-length: {len(body)}\r\nconnection: close\r\n"
        head += f"content-range: bytes {begin}-{len(content) - 1}/{len(content)}\r\n" if begin else ""
        if len(content) > 1000:
            head += f'x-linked-etag: "{hashlib.sha256(content).hexdigest()}"\r\nx-linked-size: {len(content)}\r\n'
        await stream.send(head.encode() + b"\r\n")
        if method == "GET":
            cut = self.cut_after.pop(0) if self.cut_after else len(body)
            for at in range(0, min(cut, len(body)), 65_536):
                await stream.send(body[at : min(at + 65_536, cut)])
                if self.slow:
                    await anyio.sleep(0.001)


@asynccontextmanager
async def open_hub(**settings: object) -> AsyncIterator[Hub]:
    hub = Hub({"weights.gguf": CONTENT, "config.json": CONFIG}, **settings)  # type: ignore[arg-type]
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as tasks:
        hub.address = f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}"
        tasks.start_soon(listener.serve, hub.answer)
        yield hub
        tasks.cancel_scope.cancel()


def a_file(name: str, content: bytes, known: bool = True) -> ModelFile:
    return ModelFile(name, name, len(content), hashlib.sha256(content).hexdigest() if known else "")


MODEL = Model(
    "toy",
    "llm",
    "Toy",
    "CC0-1.0",
    "nobody",
    (a_file("config.json", CONFIG), a_file("weights.gguf", CONTENT)),
    hub="a/toy",
)


async def bring(model: Model, folder: Path, hub: Hub, reported_progress: list[PullProgress] | None = None) -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        tell = reported_progress.append if reported_progress is not None else lambda progress: None
        await Puller(model, folder, tell, client, hub.address).pull()


def on_disk(folder: Path) -> int:
    """How much of the weights is there, half or whole."""
    places = (folder / ".toy.part" / "weights.gguf", folder / "toy" / "weights.gguf")
    return sum(place.stat().st_size for place in places if place.is_file())


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "FIRST_WAIT_SECONDS", 0.001)
    monkeypatch.setattr(pull, "BLOCK_BYTES", 65_536)


async def test_a_pull_cut_ten_times_at_random_ends_with_the_right_bytes(tmp_path: Path) -> None:
    chance, reported_progress = random.Random(2), list[PullProgress]()
    async with open_hub(cut_after=[len(CONFIG), *(chance.randrange(1, 500_000) for _ in range(10))]) as hub:
        await bring(MODEL, tmp_path, hub, reported_progress)
    assert (tmp_path / "toy" / "weights.gguf").read_bytes() == CONTENT
    assert (len(hub.requests), hub.requests[1], hub.requests[-1] != "GET") == (12, "GET", True)
    counts = [progress.done for progress in reported_progress]
    assert counts == sorted(counts)
    assert counts[-1] == reported_progress[-1].total == len(CONTENT) + len(CONFIG)
    assert missing([MODEL], tmp_path) == []
    assert not (tmp_path / ".toy.part").exists()
    hashed_again = sum(before == after for before, after in pairwise(counts))
    assert hashed_again <= 2 * len(hub.requests), "what this run has brought is hashed once"


@pytest.mark.real
async def test_a_pull_killed_ten_times_ends_with_the_right_bytes(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys, anyio, httpx2
        from pathlib import Path
        sys.path.insert(0, sys.argv[3])
        from atlas.models import pull
        from test_pull import MODEL
        pull.BLOCK_BYTES, pull.SYNC_BYTES = 65_536, 65_536
        async def main():
            async with httpx2.AsyncClient(trust_env=False) as client:
                tell = lambda progress: print(progress.done, flush=True)
                await pull.Puller(MODEL, Path(sys.argv[1]), tell, client, sys.argv[2]).pull()
        anyio.run(main)
        """
    )
    chance, count = random.Random(3), 0
    async with open_hub(slow=True) as hub:
        command = [sys.executable, "-c", script, str(tmp_path), hub.address, str(Path(__file__).parent)]
        for _ in range(10):
            async with await anyio.open_process(command) as process:
                assert process.stdout
                lines = chance.randint(1, 6)
                async for _said in process.stdout:
                    lines -= 1
                    if not lines:
                        process.send_signal(signal.SIGKILL)
                        break
                await process.wait()
            size = on_disk(tmp_path)
            assert size >= count
            count = size
        await bring(MODEL, tmp_path, hub)
    assert count, "it was killed before anything was kept"
    assert (tmp_path / "toy" / "weights.gguf").read_bytes() == CONTENT


async def test_a_wrong_byte_is_found_named_and_thrown_away(tmp_path: Path) -> None:
    async with open_hub() as hub:
        hub.files["weights.gguf"] = CONTENT[:-1] + b"!"
        with pytest.raises(EngineError, match=r"weights.gguf is not what the catalogue says: its sha256 is "):
            await bring(MODEL, tmp_path, hub)
        assert not (tmp_path / ".toy.part" / "weights.gguf").exists()
        assert not (tmp_path / "toy").exists()
        hub.files["weights.gguf"] = CONTENT
        hub.requests.clear()
        await bring(MODEL, tmp_path, hub)
        assert hub.requests == ["GET"], "what was right is not pulled again"


async def test_a_byte_that_changed_on_the_disk_between_two_pulls_is_found(tmp_path: Path) -> None:
    async with open_hub(cut_after=[len(CONFIG), 700_000, *[0] * 10]) as hub:
        with pytest.raises(EngineError, match="could not be pulled"):
            await bring(MODEL, tmp_path, hub)
        part = tmp_path / ".toy.part" / "weights.gguf"
        part.write_bytes(b"?" + part.read_bytes()[1:])
        hub.cut_after.clear()
        with pytest.raises(EngineError, match="is not what the catalogue says"):
            await bring(MODEL, tmp_path, hub)


async def test_a_server_without_ranges_begins_anew_and_the_count_does_not_go_back(tmp_path: Path) -> None:
    reported_progress = list[PullProgress]()
    async with open_hub(cut_after=[len(CONFIG), 2_000_000], ranges=False) as hub:
        await bring(MODEL, tmp_path, hub, reported_progress)
    assert (tmp_path / "toy" / "weights.gguf").read_bytes() == CONTENT
    counts = [progress.done for progress in reported_progress]
    assert counts == sorted(counts)


async def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    async with open_hub() as hub:
        hub.files["weights.gguf"] = CONTENT + b"more"
        with pytest.raises(EngineError, match="has 3000004 bytes at its server, and 3000000 in the"):
            await bring(MODEL, tmp_path, hub)


async def test_a_part_that_is_longer_than_the_file_is_thrown_away(tmp_path: Path) -> None:
    part = tmp_path / ".toy.part" / "weights.gguf"
    part.parent.mkdir()
    part.write_bytes(CONTENT + b"more")
    async with open_hub() as hub:
        with pytest.raises(EngineError, match="not what the catalogue says"):
            await bring(MODEL, tmp_path, hub)
        await bring(MODEL, tmp_path, hub)
    assert (tmp_path / "toy" / "weights.gguf").read_bytes() == CONTENT


async def test_what_is_gone_is_said_to_be_gone(tmp_path: Path) -> None:
    async with open_hub() as hub:
        del hub.files["weights.gguf"]
        with pytest.raises(EngineError, match="the server answered 404") as error:
            await bring(MODEL, tmp_path, hub)
        assert error.value.hint == "it is no longer there"


async def test_a_pull_that_brought_nothing_leaves_nothing(tmp_path: Path) -> None:
    async with open_hub() as hub:
        hub.files.clear()
        with pytest.raises(EngineError):
            await bring(MODEL, tmp_path, hub)
    assert os.listdir(tmp_path) == []


async def test_a_disk_without_room_is_noticed_before_anything_is_pulled(tmp_path: Path) -> None:
    huge = replace(MODEL, files=(replace(MODEL.files[0], bytes=10**17),))
    async with open_hub() as hub:
        with pytest.raises(EngineError, match="needs 105000000"):
            await bring(huge, tmp_path, hub)
        assert hub.requests == []


async def test_a_hash_that_nobody_checked_is_pinned_at_the_first_pull_and_holds(tmp_path: Path) -> None:
    unknown = replace(MODEL, files=(a_file("config.json", CONFIG, False), a_file("weights.gguf", CONTENT, False)))
    async with open_hub() as hub:
        await bring(unknown, tmp_path, hub)
    pins = json.loads((tmp_path / "toy" / PINS).read_text())
    assert pins["weights.gguf"] == [len(CONTENT), hashlib.sha256(CONTENT).hexdigest()]
    assert (unknown.verified, unknown.faults(tmp_path)) == (False, [])
    (tmp_path / "toy" / "weights.gguf").write_bytes(b"!" + CONTENT[1:])
    assert [fault.split(":")[0] for fault in unknown.faults(tmp_path)] == ["toy/weights.gguf is changed"]


async def test_two_pulls_of_one_model_do_not_meet(tmp_path: Path) -> None:
    async with open_hub() as hub, httpx2.AsyncClient(trust_env=False) as client:
        first = Puller(MODEL, tmp_path, lambda progress: None, client, hub.address)
        with first._alone(), pytest.raises(EngineError, match="is being pulled already"):
            await bring(MODEL, tmp_path, hub)


@pytest.mark.parametrize("inside", ["", "toy"])
async def test_a_disk_brings_a_model_too(tmp_path: Path, inside: str) -> None:
    usb, house = tmp_path / "usb", tmp_path / "house"
    (usb / inside).mkdir(parents=True)
    house.mkdir()
    (usb / inside / "config.json").write_bytes(CONFIG)
    (usb / inside / "weights.gguf").write_bytes(CONTENT)
    async with httpx2.AsyncClient() as client:
        await Puller(MODEL, house, lambda progress: None, client).take(usb)
        assert MODEL.faults(house) == []
        (usb / inside / "weights.gguf").unlink()
        with pytest.raises(EngineError, match="holds no weights"):
            await Puller(MODEL, house, lambda progress: None, client).take(usb)
    assert MODEL.faults(house) == [], "what was there stays when a later try fails"


async def test_a_disk_that_brings_nothing_says_what_to_do_about_it(tmp_path: Path) -> None:
    usb, house = tmp_path / "usb", tmp_path / "house"
    house.mkdir()
    async with httpx2.AsyncClient() as client:
        puller = Puller(replace(MODEL, hub="some/toy"), house, lambda progress: None, client)
        with pytest.raises(EngineError, match="usb is no folder") as refusal:
            await puller.take(usb)
        assert "plugged in" in refusal.value.hint
        usb.mkdir()
        with pytest.raises(EngineError, match=r"holds no config\.json") as refusal:
            await puller.take(usb)
        assert "https://huggingface.co/some/toy/resolve/main/config.json" in refusal.value.hint
        (usb / "config.json").write_bytes(b"?" + CONFIG[1:])
        with pytest.raises(EngineError, match=r"config\.json is not what the catalogue says") as refusal:
            await puller.take(usb)
        assert "copy it to there again" in refusal.value.hint


async def test_a_house_without_a_network_is_told_of_disks(tmp_path: Path) -> None:
    unknown = replace(MODEL, files=(a_file("config.json", CONFIG, False),))
    async with httpx2.AsyncClient(trust_env=False) as client:
        with pytest.raises(EngineError, match=r"127\.0\.0\.1 cannot be reached") as refusal:
            await Puller(unknown, tmp_path, lambda progress: None, client, "http://127.0.0.1:1").pull()
    assert "atlas models pull toy --from FOLDER" in refusal.value.hint
