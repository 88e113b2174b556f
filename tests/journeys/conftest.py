"""A whole running house for the journeys: real processes, real engines, an empty data directory."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import wave
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from openai import APIConnectionError, OpenAI

from atlas.audio import AudioChunk
from tests.processes import free_port

ROOT = Path(__file__).parents[2]
READY_SECONDS = 120.0
LOOK_AGAIN_SECONDS = 0.1


def until(happened: Callable[[], Any], seconds: float, what: str) -> Any:
    """Wait for something of another process; return it as soon as it is there."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if result := happened():
            return result
        time.sleep(LOOK_AGAIN_SECONDS)
    raise AssertionError(f"{what} did not happen within {seconds:.0f} s")


def write_wav(file: Path, sound: AudioChunk) -> Path:
    with wave.open(str(file), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sound.rate)
        out.writeframes(sound.pcm)
    return file


@dataclass
class Running:
    """A house in processes of its own, and what a person at its terminal can do."""

    process: subprocess.Popen[bytes]
    data: Path
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "ATLAS_DATA": str(self.data), "ATLAS_GATEWAY_PORT": str(self.port)}

    @property
    def token(self) -> str:
        return (self.data / "secrets" / "owner.token").read_text().strip()

    def client(self, token: str | None = None) -> OpenAI:
        return OpenAI(base_url=f"{self.url}/v1", api_key=token or self.token, max_retries=0, timeout=60)

    def atlas(self, *arguments: str, seconds: float = 90) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "atlas.cli.main", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=self.environment, cwd=ROOT)

    def json_of(self, *arguments: str) -> dict[str, Any]:
        """Run a command with --json and return the one object that it printed."""
        done = self.atlas(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def turn_of(self, *arguments: str) -> dict[str, Any]:
        """Run `atlas hear`, and return the one turn that came of it."""
        (turn,) = self.json_of(*arguments)["turns"]
        return dict(turn)

    def new_token(self, name: str, role: str = "adult", *more: str) -> str:
        """Let in a device, and return its token."""
        made = self.atlas("token", "create", "--name", name, "--role", role, *more)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip().splitlines()[-1]

    def health(self) -> dict[str, Any] | None:
        """Return what /health says once it says 200."""
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as answer:
                return dict(json.load(answer))
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None

    def pid_of(self, module: str) -> int | None:
        """Return the process of this house that runs `module`."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if module.encode() in words and any(str(self.data).encode() in word for word in words):
                    return int(entry.name)
        return None

    def kill(self, module: str) -> int:
        """`kill -9` that process; return the pid it had."""
        pid = self.pid_of(module)
        assert pid, f"{module} does not run"
        os.kill(pid, signal.SIGKILL)
        return pid

    def is_back(self, module: str, after: int) -> None:
        """Wait until another process than `after` runs `module`, and the house is healthy again."""
        until(lambda: (pid := self.pid_of(module)) and pid != after, 30, f"a new {module}")
        until(self.health, 60, "the house being healthy again")


def start(data: Path, port: int, more_settings: str = "", way_out: str = "") -> Running:
    log = data / "house.log"
    settings = (
        data / "atlas.toml"
    )  # the small model, which by default answers nobody, does here: its path is tested too
    settings.write_text(
        (ROOT / "atlas.toml")
        .read_text()
        .replace("answers = false", "answers = true")
        .replace("allow = []", f"allow = [{way_out}]")
        + more_settings
    )
    (data / "policy.toml").write_text((ROOT / "policy.toml").read_text())  # looked for beside the settings
    environment = {
        "ATLAS_GATEWAY_HTTPS_PORT": str(free_port()),  # two houses of one run would want the same
        **os.environ,
        "ATLAS_DATA": str(data),
        "ATLAS_GATEWAY_PORT": str(port),
        "ATLAS_CONFIG": str(settings),
        "ATLAS_MODELS_FOLDER": str(ROOT / "models"),
    }
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "atlas.cli.main", "run"], stdout=out, stderr=out, env=environment, cwd=ROOT
        )
    house = Running(process, data, port, log)

    def ready() -> bool:
        assert process.poll() is None, f"the house went away:\n{log.read_text()[-3000:]}"
        return house.health() is not None

    with ended_if_it_fails(process):
        until(ready, READY_SECONDS, "the house being ready")
    return house


@contextmanager
def ended_if_it_fails(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave no house behind that was not ready in time."""
    try:
        yield
    except BaseException:
        process.terminate()
        raise


def stop(house: Running) -> None:
    house.process.send_signal(signal.SIGTERM)
    try:
        house.process.wait(10)
    except subprocess.TimeoutExpired:
        house.process.kill()
        house.process.wait()
        raise AssertionError(f"the house did not stop within 10 s:\n{house.log.read_text()[-3000:]}") from None


@contextmanager
def running_house(more_settings: str = "", way_out: str = "") -> Iterator[Running]:
    """Run a house of its own, whose data is thrown away at the end."""
    data = Path(tempfile.mkdtemp(prefix="atlas-"))
    try:
        running = start(data, free_port(), more_settings, way_out)
        try:
            yield running
        finally:
            stop(running)
    finally:
        rmtree(data, ignore_errors=True)


@contextmanager
def house_without_weights(folder: Path, settings: str, through: Sequence[str] = ()) -> Iterator[Running]:
    """Run a house whose ears, mouths and minds are scripted, by its own `atlas.toml`: for what is only typed.

    `through` is a command that becomes the house, in a place where that finds other things.
    """
    (folder / "policy.toml").write_text((ROOT / "policy.toml").read_text())
    for role in ("wake", "vad", "stt", "tts"):
        settings = re.sub(rf'^{role} = ".*?"', f'{role} = "tests.scripted_{role}"', settings, flags=re.MULTILINE)
    settings = settings.replace(
        'kind = "embedded"\nmodel = "smollm2-135m-instruct"',
        'kind = "server"\nurl = "http://127.0.0.1:9/v1"\nmodel = "none"',
    )
    (folder / "atlas.toml").write_text(settings)
    port = free_port()
    environment = {**os.environ, "ATLAS_DATA": str(folder / "data"), "ATLAS_GATEWAY_PORT": str(port)}
    environment |= {"ATLAS_CONFIG": str(folder / "atlas.toml"), "PYTHONPATH": str(ROOT)}
    environment |= {"ATLAS_GATEWAY_HTTPS_PORT": str(free_port())}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*through, sys.executable, "-m", "atlas.cli.main", "run"],
            stdout=log,
            stderr=log,
            env=environment,
            cwd=folder,
        )
    seen = Path(f"/proc/{process.pid}/root{folder}") if through else folder
    running = Running(process, seen / "data", port, folder / "log")
    try:
        until(lambda: _answers(running), 90, "a house")
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _answers(running: Running) -> bool:
    assert running.process.poll() is None, running.log.read_text()[-3000:]
    try:
        return bool(running.client().models.list().data)
    except (APIConnectionError, FileNotFoundError):  # it is not up yet, or has no token
        return False


@pytest.fixture(scope="session")
def house() -> Iterator[Running]:
    with running_house() as running:
        yield running


@pytest.fixture(scope="module")
def own_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A house of this file's tests alone, whose ears, mouths and minds are scripted."""
    with house_without_weights(tmp_path_factory.mktemp("house"), (ROOT / "atlas.toml").read_text()) as running:
        yield running


@pytest.fixture(scope="module")
def sounds() -> Iterator[Any]:
    """A sound server of the tests' own, with a microphone and a loudspeaker in each of two rooms."""
    from tests.journeys.sound_rooms import sound_server

    with sound_server() as server:
        yield server


@pytest.fixture
def timers_end(house: Running) -> Iterator[None]:
    """Find no timer of the tests before, and leave none to the next one: they share the house."""
    end_timers(house)
    yield
    end_timers(house)


def end_timers(house: Running) -> None:
    """Cancel all timers of a house."""
    for timer in api(house, "GET", "/api/timers")["timers"]:
        api(house, "DELETE", f"/api/timers/{timer['id']}")


@pytest.fixture
def asks_end(house: Running) -> Iterator[None]:
    """Leave no question open: a minute later, whatever page another test looks at would tell that nobody answered."""
    yield
    for ask in api(house, "GET", "/api/asks")["asks"]:
        api(house, "POST", f"/api/asks/{ask['id']}", {"answer": "no"})


def api(house: Running, method: str, path: str, body: object = None, token: str = "") -> Any:
    """Return what the house answers, to its owner or to whom a token is."""
    headers = {"Authorization": f"Bearer {token or house.token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{house.url}{path}", data, headers, method=method)
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


@pytest.fixture
def wav_of(spoken: Callable[[str], AudioChunk], tmp_path: Path) -> Callable[[str], Path]:
    """Say a sentence into a WAV file."""
    return lambda text: write_wav(tmp_path / "said.wav", spoken(text))
