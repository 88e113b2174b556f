"""Bring model files from where their makers publish them: resumed, hashed while they stream, whole or not at all.

A download lies in `.NAME.part/` beside where the model will be, so that nothing half there is ever loaded. What is
counted as progress has been hashed; a part that was there already is hashed first, and the count never goes back.
The same door takes files from a folder, such as a USB disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

import anyio
import anyio.to_thread
import httpx2

from atlas.errors import EngineError
from atlas.models.catalogue import PINS, Model, ModelFile, pins_in
from atlas.models.fetch import alone_in, check_room, disk_troubles, settle, stamp

HUB = "https://huggingface.co"
HASH_HEADER, SIZE_HEADER = "x-linked-etag", "x-linked-size"  # what that hub says of a large file before it is sent
SHA256_DIGITS = 64
BLOCK_BYTES = 1 << 20
SYNC_BYTES = 64 << 20  # how much a power cut may cost
CONNECT_SECONDS = 15.0
STALL_SECONDS = 30.0
RETRIES = 6  # in a row, without a byte between them
BUSY = (429, 500, 502, 503, 504)  # answers of a server that may do better in a moment
REDIRECTS = 5
MOST_UNSAID_BYTES = 64 << 20  # of a file that the hub says no hash of: those are small, or it is another kind of server
AS_IT_IS = {"accept-encoding": "identity"}  # ranges of what was compressed on the way would be ranges of another file
FIRST_WAIT_SECONDS = 1.0
THROWN_AWAY = "it was thrown away; pull it again, and report it if it comes again"
SPEED_SECONDS = 5.0  # over which speed is averaged
AGAIN = "run the same command again: it goes on where it stopped"


@dataclass(frozen=True, slots=True)
class PullProgress:
    """Verified bytes so far, of how many, and how fast; `left_seconds` is `None` while nobody knows."""

    name: str
    done: int
    total: int
    bytes_per_second: float
    left_seconds: float | None


HINTS = {
    401: "its maker asks for a login",
    403: "its maker asks for a login",
    404: "it is no longer there",
    416: "its maker has changed it: report this",
}
Tell = Callable[[PullProgress], None]
Digest: TypeAlias = "hashlib._Hash"


def client(way: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
    """Return a client that gives up a server which takes a question and says nothing; `way` is how it gets there."""
    return httpx2.AsyncClient(transport=way, timeout=httpx2.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS))


class Puller:
    """Pulls the files of one model from a hub into `folder/NAME`."""

    def __init__(self, model: Model, folder: Path, tell: Tell, client: httpx2.AsyncClient, hub: str = HUB) -> None:
        """Begin nothing yet. `hub` is the address that repositories are under."""
        self._model = model
        self._folder = folder
        self._repository = f"{hub.rstrip('/')}/{model.hub}/resolve/{model.revision}"
        self._part = folder / f".{model.name}.part"
        self._tell = tell
        self._client = client
        self._done = 0
        self._shown = 0
        self._pace = _Pace()

    async def pull(self) -> None:
        """Bring every file; what was brought before is only hashed again. Cancelling is safe: the next call goes on.

        Raises `EngineError`: no room on the disk, no answer after several tries, or a file that is not what the
        catalogue says; then that file is thrown away, the others stay.
        """
        with disk_troubles(self._folder, AGAIN), self._alone():
            await self._pin()
            self._check_room()
            for file in self._model.files:
                await self._bring(file)
            self._finish()

    async def take(self, source: Path) -> None:
        """Bring every file from a folder instead: `source/FILE` or `source/NAME/FILE`. Raises `EngineError`."""
        with disk_troubles(self._folder, AGAIN), self._alone():
            self._check_room()
            for file in self._model.files:
                path = self._found_in(source, file)
                if (part := self._part / file.name).exists() and path.samefile(part):
                    raise EngineError(f"{path} is the download itself", hint="go on with it without --from")
                if not file.sha256:
                    raise EngineError(f"nobody knows what {file.name} must hash to", hint="pull it once, online")
                spoilt = f"copy it to there again: {path} is not what its maker published"
                if (size := await self._save(file, _blocks(path), hashlib.sha256(), 0, spoilt)) < file.bytes:
                    raise EngineError(f"{path} has {size} bytes, not {file.bytes}", hint="copy it to there again")
            self._finish()

    def _found_in(self, source: Path, file: ModelFile) -> Path:
        """Return where a file lies in a folder. Raises `EngineError`, saying where else it can be had."""
        for place in (source / file.name, source / self._model.name / file.name):
            if place.is_file():
                return place
        if not source.is_dir():
            raise EngineError(f"{source} is no folder", hint="is the disk plugged in, and mounted there?")
        elsewhere = f"copy the folder models/{self._model.name} of another house to there"
        if self._model.hub:
            elsewhere = f"get it from {self._address(file)} on another machine"
        raise EngineError(f"{source} holds no {file.name}", hint=elsewhere)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nobody else pull this model meanwhile. What is empty then is taken away."""
        self._part.mkdir(parents=True, exist_ok=True)
        with ExitStack() as door:
            try:
                door.enter_context(alone_in(self._part))
            except BlockingIOError as taken:
                raise EngineError(f"{self._model.name} is being pulled already", hint="wait for that to end") from taken
            for file in self._model.files:
                if (path := self._part / file.name).is_symlink():  # what it leads to is not ours to write
                    path.unlink()
            try:
                yield
            finally:
                with suppress(OSError):  # it holds something, or is in its place
                    self._part.rmdir()

    async def _pin(self) -> None:
        """Ask the maker's server for what nobody here has verified, before anything large is pulled.

        What was pinned when the model was brought holds; a download that was only begun is begun anew if its file
        has become another. Raises `EngineError` when the server says another hash than we know.
        """
        if self._model.verified:
            return
        begun, brought = pins_in(self._part), pins_in(self._folder / self._model.name)
        pins = {}
        for file in self._model.files:
            known = file.sha256 or (brought[file.name][1] if file.name in brought else "")
            pins[file.name] = texts = await self._said_of(file, known)
            if known and texts[1] != known:
                raise EngineError(
                    f"{file.name} is another file by now: its maker's server says sha256 {texts[1]}, we know {known}",
                    hint="look at its maker's page; to take the new one, remove the old folder or mend the catalogue",
                )
            if file.name in begun and begun[file.name] != texts:
                (self._part / file.name).unlink(missing_ok=True)
        (self._part / PINS).write_text(json.dumps(pins), encoding="utf-8")
        self._model = self._model.with_pins(pins)

    async def _said_of(self, file: ModelFile, known: str) -> tuple[int, str]:
        """Return size and hash of a file as the server says them, `known` where it says nothing of a known one."""
        try:
            answer = await self._head(self._address(file))
            digest = answer.headers.get(HASH_HEADER, "").strip('"')
            if len(digest) == SHA256_DIGITS:
                if (size := int(answer.headers[SIZE_HEADER])) < 1:
                    raise ValueError(f"a size of {size} bytes")  # noqa: TRY301 - as what is no number
                return size, digest
            if known:
                return file.bytes, known
            # A small file: the hub says nothing of it, so what it sends now is what it must be from now on.
            whole = await self._whole(file)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as nobody:
            raise EngineError(
                f"{httpx2.URL(self._repository).host} cannot be reached: {_why(nobody)}",
                hint=f"check the network, or bring it on a disk: atlas models pull {self._model.name} --from FOLDER",
            ) from nobody
        except (httpx2.HTTPError, KeyError, ValueError) as trouble:
            what = f"the server says nothing of {file.name}: {_why(trouble)}"
            raise EngineError(what, hint="try again later") from trouble
        return len(whole), (await anyio.to_thread.run_sync(hashlib.sha256, whole)).hexdigest()

    async def _head(self, address: str) -> httpx2.Response:
        """Ask what is at an address. Of redirects only those within the hub are followed: it knows the hash."""
        for _ in range(REDIRECTS):
            answer = await self._client.head(address, headers=AS_IT_IS)
            try:
                target = httpx2.URL(address).join(answer.headers.get("location", ""))
            except httpx2.InvalidURL as strange:
                raise httpx2.RemoteProtocolError("it redirects to what is no address") from strange
            if not answer.is_redirect or HASH_HEADER in answer.headers or target.host != httpx2.URL(address).host:
                return answer
            address = str(target)
        return answer

    async def _whole(self, file: ModelFile) -> bytes:
        whole = bytearray()
        async with self._client.stream("GET", self._address(file), headers=AS_IT_IS, follow_redirects=True) as answer:
            self._start_of(file, answer.raise_for_status(), 0, None)
            async with aclosing(_with_patience(answer.aiter_raw())) as blocks:
                async for block in blocks:
                    whole += block
                    if len(whole) > MOST_UNSAID_BYTES:
                        raise EngineError(f"nobody says what {file.name} must hash to, and it is large", hint=AGAIN)
        return bytes(whole)

    def _address(self, file: ModelFile) -> str:
        return f"{self._repository}/{file.inside}"

    async def _bring(self, file: ModelFile) -> None:
        digest, size = await anyio.to_thread.run_sync(self._hash_of_part, file, abandon_on_cancel=True)
        if size >= file.bytes:
            self._judge(file, digest.hexdigest())
            return
        waits, most = 0, size
        while True:
            trouble, digest = await self._ask(file, digest, size)
            if not trouble:
                return
            part = self._part / file.name
            size = part.stat().st_size if part.is_file() else 0
            waits, most = (0, size) if size > most else (waits + 1, most)
            if waits > RETRIES:
                raise EngineError(f"{file.name} could not be pulled: {trouble}", hint=AGAIN)
            await anyio.sleep(FIRST_WAIT_SECONDS * 2 ** (waits - 1) if waits else 0)

    async def _ask(self, file: ModelFile, digest: Digest, size: int) -> tuple[str, Digest]:
        """Ask for what comes after the first `size` bytes, and save it.

        Return why that ended too early, else "", and the hash of what is there now.
        """
        wanted = AS_IT_IS | ({"range": f"bytes={size}-"} if size else {})
        try:
            async with self._client.stream("GET", self._address(file), headers=wanted, follow_redirects=True) as answer:
                if answer.status_code in BUSY:
                    return f"the server answered {answer.status_code}", digest
                begin = self._start_of(file, answer, size, file.bytes)
                digest = digest if begin else hashlib.sha256()
                size = await self._save(file, answer.aiter_raw(), digest, begin)
        except httpx2.TooManyRedirects as circles:
            raise EngineError(f"{file.name} cannot be had: too many redirects", hint="try again later") from circles
        except (httpx2.TransportError, httpx2.StreamError) as trouble:
            return _why(trouble), digest
        return "" if size == file.bytes else "the connection ended early", digest

    def _start_of(self, file: ModelFile, answer: httpx2.Response, size: int, total: int | None) -> int:
        """Return the byte that an answer begins at. A server that knows no ranges begins anew.

        Raises `EngineError` for what is of no use: another part, another size than `total`, or no file at all.
        """
        status, headers = answer.status_code, answer.headers
        if status not in (httpx2.codes.OK, httpx2.codes.PARTIAL_CONTENT):
            raise EngineError(
                f"{file.name} cannot be had: the server answered {status}", hint=HINTS.get(status, "try again later")
            )
        if answer.url.scheme != "https" and any(before.url.scheme == "https" for before in answer.history):
            raise EngineError(f"the server of {file.name} sends it on without encryption", hint="report this")
        if headers.get("content-encoding", "identity") != "identity":
            raise EngineError(f"the server of {file.name} sends it packed, unasked", hint="report this")
        begin, _, text = headers.get("content-range", "").removeprefix("bytes ").partition("/")
        if status == httpx2.codes.OK:
            size, text = 0, headers.get("content-length", "*")
        elif not begin.startswith(f"{size}-"):
            raise EngineError(f"the server of {file.name} sent another part than was asked for", hint=AGAIN)
        if total is not None and text.isdecimal() and text != str(total):
            raise EngineError(
                f"{file.name} has {text[:20]} bytes at its server, and {total} in the catalogue",
                hint="its maker has changed it: report this",
            )
        return size

    async def _save(
        self, file: ModelFile, blocks: AsyncIterator[bytes], digest: Digest, size: int, spoilt: str = THROWN_AWAY
    ) -> int:
        """Append `blocks` behind the first `size` bytes, hashing; return the size then. Too much is refused."""
        path = self._part / file.name
        unsynced = 0
        with path.open("r+b" if path.exists() else "wb") as out:
            out.truncate(size)
            out.seek(size)
            self._done_of(file, size)
            async with aclosing(_with_patience(blocks)) as patient:
                async for block in patient:
                    if size + len(block) > file.bytes:
                        out.truncate(0)
                        raise EngineError(f"{file.name} is longer than its {file.bytes} bytes", hint="report this")
                    await anyio.to_thread.run_sync(_append, out, digest, block)
                    size, unsynced = size + len(block), unsynced + len(block)
                    if unsynced >= SYNC_BYTES:
                        await anyio.to_thread.run_sync(_sync, out)
                        unsynced = 0
                    self._done_of(file, size)
            await anyio.to_thread.run_sync(_sync, out)
        if size == file.bytes:
            self._judge(file, digest.hexdigest(), spoilt)
        return size

    def _judge(self, file: ModelFile, hit: str, spoilt: str = THROWN_AWAY) -> None:
        if hit != file.sha256:
            (self._part / file.name).unlink()
            raise EngineError(
                f"{file.name} is not what the catalogue says: its sha256 is {hit}",
                hint=spoilt,
            )
        self._done += file.bytes
        self._show(0)

    def _hash_of_part(self, file: ModelFile) -> tuple[Digest, int]:
        """Return the hash of what is there of a file already, and its size."""
        digest, size = hashlib.sha256(), 0
        path = self._part / file.name
        if path.is_file():
            with path.open("rb") as part:
                while block := part.read(BLOCK_BYTES):
                    digest.update(block)
                    size += len(block)
                    self._shown = max(self._shown, self._done + min(size, file.bytes))
                    self._tell(PullProgress(self._model.name, self._shown, self._model.bytes, 0.0, None))
        return digest, size

    def _done_of(self, file: ModelFile, size: int) -> None:
        if size < file.bytes:
            self._show(size)

    def _show(self, here: int) -> None:
        done = self._done + here
        self._pace.note(done)
        self._shown = max(self._shown, done)
        total, speed = self._model.bytes, self._pace.bytes_per_second
        self._tell(PullProgress(self._model.name, self._shown, total, speed, (total - done) / speed if speed else None))

    def _check_room(self) -> None:
        there = sum(path.stat().st_size for path in self._part.iterdir() if path.is_file())
        check_room(self._model.name, self._folder, self._model.bytes - there)

    def _finish(self) -> None:
        settle(self._part, self._folder / self._model.name)
        stamp(self._model, self._folder)


class _Pace:
    """Speed, averaged over the last seconds."""

    def __init__(self) -> None:
        self._at = time.monotonic()
        self._bytes: int | None = None
        self.bytes_per_second = 0.0

    def note(self, done: int) -> None:
        now = time.monotonic()
        if self._bytes is None or done < self._bytes:
            self._at, self._bytes = now, done
            return
        if (passed := now - self._at) < 0.1:
            return
        weight = min(1.0, passed / SPEED_SECONDS)
        fresh = (done - self._bytes) / passed
        self.bytes_per_second = (
            fresh if not self.bytes_per_second else ((1 - weight) * self.bytes_per_second + weight * fresh)
        )
        self._at, self._bytes = now, done


async def _with_patience(blocks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Yield the blocks; a server that sends nothing for a while has gone. Raises `httpx2.ReadTimeout`."""
    while True:
        try:
            with anyio.fail_after(STALL_SECONDS):
                block = await anext(blocks)
        except StopAsyncIteration:
            return
        except TimeoutError as stalled:
            raise httpx2.ReadTimeout("") from stalled
        yield block


def _why(trouble: Exception) -> str:
    silent = isinstance(trouble, httpx2.ReadTimeout)
    return f"nothing came for {STALL_SECONDS:g} s" if silent else str(trouble) or type(trouble).__name__


async def _blocks(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as source:
        while block := await anyio.to_thread.run_sync(source.read, BLOCK_BYTES):
            yield block


def _append(out: BinaryIO, digest: Digest, block: bytes) -> None:
    out.write(block)
    digest.update(block)


def _sync(out: BinaryIO) -> None:
    out.flush()
    os.fsync(out.fileno())
