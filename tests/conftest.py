"""What every test may stand on: a clock that jumps, a short data folder, the models, and spoken sentences."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import inspect
import os
import re
import shutil
import subprocess
import tempfile
import time
import traceback
import wave
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial, wraps
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import httpcore2
import jwt
import pytest
import uvicorn.server
from _pytest.mark import ParameterSet
from _pytest.runner import runtestprotocol
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import engine

from atlas.audio import AudioChunk
from atlas.config import Config, load
from tests import slow

# Modules and tests make a million things that stay. Looking through them for litter, again and again, costs a quarter
# of all the time that it takes to read them, in every worker.
gc.disable()
Row = TypeVar("Row")
TESTS = Path(__file__).parent
SENTENCE_FOLDERS = ("agents", "hearing", "understanding")  # their tests read sentences
ROOT = TESTS.parent
# Machines stall: how long an example takes says nothing. `./check` tries more examples than `./check --quick`.
UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=10, **UNHURRIED)
settings.register_profile("thorough", max_examples=150, **UNHURRIED)
settings.load_profile(os.environ.get("ATLAS_EXAMPLES", "quick"))
# An example that fails is made smaller for five minutes, if need be. There is no setting for that.
assert engine.MAX_SHRINKING_SECONDS
engine.MAX_SHRINKING_SECONDS = 20
# A house compiles 800 patterns. Python keeps 512: each house of a test would compile them all again, for 0.3 s.
assert re._MAXCACHE  # type: ignore[attr-defined]
re._MAXCACHE = 100_000  # type: ignore[attr-defined]
# Every HTTP client reads whom the whole world trusts, for 30 ms. Tests open thousands: one reading is enough for all.
httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)


class Hasty:
    """asyncio as uvicorn sees it, which looks round each tenth of a second, and thrice before a server is closed."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 20)

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)


uvicorn.server.asyncio = Hasty()  # type: ignore[assignment]
MEMORY = Path("/dev/shm")

# Houses of tests run side by side, and would all want the one https port; those that serve https choose theirs.
os.environ["ATLAS_GATEWAY_HTTPS_HOST"] = ""


left_counts: list[int] = []  # how many tests each worker left to the full check
test_seconds: dict[str, float] = {}  # that each test took


def pytest_addoption(parser: pytest.Parser) -> None:
    """Measure which tests take long: see tests/slow.py."""
    parser.addoption("--measure", action="store_true", help="write tests/slow.txt anew; needs -n")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Have workers write into memory: what is written to be safe from a power cut waits for no disk there."""
    may_run = MEMORY.is_dir() and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC
    if may_run and config.getoption("dist", "no") != "no" and not config.option.basetemp:
        config.option.basetemp = tempfile.mkdtemp(prefix="at-", dir=MEMORY)  # short enough for unix sockets
        config.add_cleanup(partial(shutil.rmtree, config.option.basetemp, ignore_errors=True))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """With `-n N --dist each`, have each of N workers read, and so run, a share of the files: reading is slow."""
    if node.config.option.dist == "each":
        number = int(node.workerinput["workerid"].removeprefix("gw"))
        node.workerinput["share"] = share_of(number, node.workerinput["workercount"])


def share_of(number: int, workers: int) -> list[str]:
    """Return the files that are one worker's: neighbours, so that what they all stand on is opened once.

    Those that read sentences come first: a grammar takes seconds. How long a file is tells how much work it is. Those
    that wait, for they serve a house, are dealt out in turn to all but the first, who has the grammars to read.
    """
    files = sorted(TESTS.rglob("test_*.py"), key=lambda file: (file.parent.name not in SENTENCE_FOLDERS, file))
    waiting = [file for file in files if file.parent.name in ("gateway", "cli", "push")]
    working = [file for file in files if file not in waiting]
    ends = list(accumulate(map(_weight, working)))
    share = [file for file, end in zip(working, ends, strict=True) if (end - 1) * workers // ends[-1] == number]
    house_workers = range(workers)[1:] or range(1)
    dealt = (
        sorted(waiting, key=_weight)[house_workers.index(number) :: len(house_workers)]
        if number in house_workers
        else []
    )
    return [str(file) for file in (*share, *dealt)]


def _weight(file: Path) -> int:
    text = file.read_text(encoding="utf-8")
    return 1 if re.search(r"^pytestmark = \[?\s*pytest\.mark\.real", text, re.MULTILINE) else len(text)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave to the other workers the files that are theirs."""
    share = getattr(config, "workerinput", {}).get("share")
    return True if share is not None and collection_path.suffix == ".py" and str(collection_path) not in share else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave at `./check --quick` to the full check what takes long."""
    if not hasattr(config, "workerinput"):
        return
    if config.option.measure:
        items += items  # the first time, a test may pay for what others use too
    elif os.environ.get("ATLAS_EXAMPLES") == "quick":
        wanted = slow.quick_ones([item.nodeid for item in items], slow.slow_tests())
        config.workeroutput["left"] = len(items) - len(wanted)  # type: ignore[attr-defined]
        items[:] = [item for item in items if item.nodeid in wanted]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Count what the workers left."""
    left_counts.append(getattr(node, "workeroutput", {}).get("left", 0))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how much was left to the full check, and write down what was measured."""
    if sum(left_counts):
        terminalreporter.write_line(f"LEFT TO THE FULL CHECK: {sum(left_counts)} tests that take long (tests/slow.txt)")
    if terminalreporter.config.option.measure and test_seconds:  # none are measured without workers
        slow.write(test_seconds)


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Have a worker send one message for a test that passes, not five: they cost as much as most tests."""
    if not hasattr(item.config, "workerinput"):
        return None
    start_seconds, start_times = time.monotonic(), os.times()
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    wall_seconds, processor_seconds = time.monotonic() - start_seconds, sum(os.times()[:4]) - sum(start_times[:4])
    for report in reports:
        if report.when == "call" or not report.passed:
            report.seconds = max(processor_seconds, wall_seconds / slow.WAITING_AT_ONCE)
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what a test took, the last time that it ran."""
    if hasattr(report, "seconds"):
        test_seconds[report.nodeid] = report.seconds


def pytest_collection_finish() -> None:
    """Look for litter from here on, and only among what tests make."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def anyio_backend() -> Any:
    """Real time on asyncio. A test of timing asks for `virtual_time` instead, by `@pytest.mark.parametrize`."""
    return "asyncio"


def sample(rows: Iterable[Row]) -> list[Row]:
    """Return all of these at `./check`, and one in eight at `./check --quick`: of one promise tried on very much.

    A file that is run by itself tries them all.
    """
    return list(rows)[:: 8 if os.environ.get("ATLAS_EXAMPLES") == "quick" else 1]


class Misses:
    """What went wrong in which rows of a table: a row that misses keeps no other from being tried."""

    def __init__(self) -> None:
        self._misses: list[str] = []

    @contextmanager
    def of(self, row: Mapping[str, Any]) -> Iterator[None]:
        """Write down how this row misses, whatever is raised."""
        try:
            yield
        except (Exception, pytest.fail.Exception) as miss:
            if "from pytest-timeout" in str(miss):  # of all rows together
                raise
            place = traceback.extract_tb(miss.__traceback__)[-1]
            said = ", ".join(f"{name}={value!r:.300}" for name, value in row.items())
            words = str(miss) if isinstance(miss, (AssertionError, pytest.fail.Exception)) else repr(miss)
            self._misses.append(f"{said}\n    {place.filename}:{place.lineno}: {words}")

    def assert_none(self) -> None:
        """Fail with all of them."""
        if self._misses:
            raise AssertionError("\n".join([f"{len(self._misses)} rows miss:", *self._misses]))


def for_every(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make one test of a table, because pytest takes 4 ms for each test; every row that misses is reported.

    It is written as `pytest.mark.parametrize`, but what fixtures give is there once, for all rows together.
    """
    names = names.replace(",", " ").split() if isinstance(names, str) else names
    cells = [row.values if isinstance(row, ParameterSet) else row if len(names) > 1 else (row,) for row in rows]
    table = [dict(zip(names, row, strict=True)) for row in cells]
    assert table, "a test of no row cannot fail"

    def of(test: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(test)
        def at_once(**given: Any) -> None:
            misses = Misses()
            for row in table:
                with misses.of(row):
                    test(**row, **given)
            misses.assert_none()

        @wraps(test)
        async def awaited(**given: Any) -> None:
            misses = Misses()
            for row in table:
                with misses.of(row):
                    await test(**row, **given)
            misses.assert_none()

        whole: Any = awaited if inspect.iscoroutinefunction(test) else at_once
        signature = inspect.signature(test)
        fixtures = [given for name, given in signature.parameters.items() if name not in names]
        whole.__signature__ = signature.replace(parameters=fixtures)
        return whole

    return of


@contextmanager
def done_within(processor_seconds: float) -> Iterator[None]:
    """Fail what takes this process longer. However busy the machine is, it takes no more of the processor by that."""
    began = time.process_time()
    yield
    assert time.process_time() - began < processor_seconds


def virtual_time() -> tuple[str, dict[str, Any]]:
    """An `anyio_backend` whose clock jumps to the next deadline: seconds pass in no time, always the same way.

    Use it as a module's own fixture:

        @pytest.fixture
        def anyio_backend():
            return virtual_time()
    """
    from trio.testing import MockClock

    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def data() -> Iterator[Path]:
    """An empty data directory with a name short enough for unix sockets, in memory where syncing costs nothing."""
    folder = Path(tempfile.mkdtemp(prefix="atlas-", dir=MEMORY if MEMORY.is_dir() else None))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


class SmallDisk:
    """A real disk of two megabytes in memory, which can be full or read-only."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _mount("-t", "tmpfs", "-o", "size=2m,mode=700", "none", str(folder))

    def fill(self) -> None:
        """Leave not a byte."""
        with (self.folder / "filler").open("ab", buffering=0) as filler:
            for size in (65_536, 512, 1):
                while True:
                    try:
                        written = filler.write(b"x" * size)
                    except OSError:
                        break
                    if written < size:
                        break

    def empty(self) -> None:
        """Make room again."""
        (self.folder / "filler").unlink(missing_ok=True)

    def read_only(self) -> None:
        """Let nothing be written any more."""
        _mount("-o", "remount,ro", str(self.folder))

    def close(self) -> None:
        """Take it away, whoever still has files open on it."""
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True, capture_output=True)


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"NOT TESTED: a real small disk needs root and the right to mount: {done.stderr.strip()}")


@pytest.fixture
def small_disk(data: Path) -> Iterator[SmallDisk]:
    """A small disk of its own at `data / "disk"`. Who may not mount one skips the test, and says so."""
    folder = data / "disk"
    folder.mkdir()
    disk = SmallDisk(folder)
    yield disk
    disk.close()


class House:
    """Signs what a person answers, as Atlas does. The public half of its key lies in the data directory."""

    def __init__(self, data: Path) -> None:
        self.key = Ed25519PrivateKey.generate()
        self.public_file = data / "house.pem"
        self.public_file.write_bytes(
            self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )

    def claims(self, ask: Mapping[str, Any], answer: str = "yes", /, **changed: Any) -> dict[str, Any]:
        """What a statement says. `ask` is as the wire shows it; the answer is given when it was asked."""
        asked_at = ask["expires_at"] - 60
        return {
            "aud": "atlas-tools",
            "ask": ask["id"],
            "answer": answer,
            "channel": "button",
            "person": "Anna",
            "device": "phone",
            "tool": ask["tool"],
            "arguments_sha256": ask["arguments_sha256"],
            "sentence_sha256": hashlib.sha256(ask["sentence"].encode()).hexdigest(),
            "iat": asked_at,
            "exp": asked_at + 60,
            **changed,
        }

    def says(self, ask: Mapping[str, Any], answer: str = "yes", /, **changed: Any) -> str:
        """Return the statement; `changed` are claims that differ, None for one that is left out."""
        claims = {name: value for name, value in self.claims(ask, answer, **changed).items() if value is not None}
        return jwt.encode(claims, self.key, algorithm="EdDSA")


@pytest.fixture
def house(data: Path) -> House:
    """A house whose word the tool server over `data` takes."""
    return House(data)


@pytest.fixture(scope="session")
def household() -> type[House]:
    """Houses, for what lives longer than one test."""
    return House


@pytest.fixture
def config(data: Path) -> Config:
    """The default settings, over an empty data directory."""
    return load({"ATLAS_DATA": str(data)}, ROOT / "atlas.toml")


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of weights; `./up` and `./check` fill it."""
    return ROOT / "models"


@pytest.fixture(scope="session")
def spoken(models: Path) -> Callable[[str], AudioChunk]:
    """Say a sentence with the real voice, at the hearing rate; kept between runs, so each is made once.

    The voice is given no chance to vary: every run, on every machine, hears the same.
    """
    import numpy as np
    import soxr
    from piper import PiperVoice, SynthesisConfig

    cache = Path(tempfile.gettempdir()) / f"atlas-spoken-alike-{os.getuid()}"
    cache.mkdir(mode=0o700, exist_ok=True)
    voice: list[Any] = []
    alike = SynthesisConfig(noise_scale=0.0, noise_w_scale=0.0)

    def say(text: str) -> AudioChunk:
        file = cache / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.wav"
        if not file.exists():
            if not voice:
                voice.append(PiperVoice.load(models / "en_US-joe-medium" / "en_US-joe-medium.onnx"))
            parts = [chunk.audio_int16_array for chunk in voice[0].synthesize(text, alike)]
            sound = soxr.resample(np.concatenate(parts), voice[0].config.sample_rate, 16_000)
            whole = file.with_suffix(f".{os.getpid()}")
            with wave.open(str(whole), "wb") as out:
                out.setnchannels(1)
                out.setsampwidth(2)
                out.setframerate(16_000)
                out.writeframes(sound.astype(np.int16).tobytes())
            whole.rename(file)
        with wave.open(str(file), "rb") as sound_file:
            return AudioChunk(sound_file.readframes(sound_file.getnframes()))

    return say
