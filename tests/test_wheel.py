"""A wheel that was built here and installed elsewhere is a whole house: nothing of it stays in the checkout."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[1]
START_SECONDS = 120


@dataclass
class Elsewhere:
    """A fresh environment, far from the checkout, and the data directory of its house."""

    folder: Path
    data: Path
    port: int

    def command(self, name: str, *arguments: str) -> list[str]:
        return [str(self.folder / "venv" / "bin" / name), *arguments]

    @property
    def environment(self) -> dict[str, str]:
        remainder = {name: value for name, value in os.environ.items() if not name.startswith(("ATLAS", "PYTHON"))}
        return {
            **remainder,
            "ATLAS_DATA": str(self.data),
            "ATLAS_GATEWAY_PORT": str(self.port),
            "ATLAS_GATEWAY_HTTPS_HOST": "",
        }

    def run(self, name: str, *arguments: str) -> str:
        ended = subprocess.run(
            self.command(name, *arguments),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


def link(source: str, target: str) -> None:
    """Give a file of an installed package a second name, which costs nothing; copy it where the disk is another."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    """Build the wheel and install it beside the packages that Atlas stands on, all without a network."""
    folder = tmp_path_factory.mktemp("elsewhere")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "build_app.py")], check=True, timeout=200)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    [wheel] = (folder / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True, timeout=120)
    packages = next((folder / "venv" / "lib").glob("python*/site-packages"))
    ours = shutil.ignore_patterns("atlas_house*", "_editable_impl_*", "__pycache__")
    shutil.copytree(
        sysconfig.get_path("purelib"), packages, ignore=ours, copy_function=link, dirs_exist_ok=True, symlinks=True
    )
    pip = [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--disable-pip-version-check", str(wheel)], check=True, timeout=120)
    data = folder / "data"
    data.mkdir()
    (data / "models").symlink_to(ROOT / "models")  # the weights, which no wheel carries
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    yield Elsewhere(folder, data, port)


@contextmanager
def running(elsewhere: Elsewhere) -> Iterator[httpx2.Client]:
    log = elsewhere.folder / "run.log"
    with (
        log.open("w") as out,
        subprocess.Popen(
            elsewhere.command("atlas", "run"),
            cwd=elsewhere.folder,
            env=elsewhere.environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        ) as house,
    ):
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{elsewhere.port}") as client:
                deadline = time.monotonic() + START_SECONDS
                while "Ctrl-C stops it" not in log.read_text():
                    assert house.poll() is None, log.read_text()
                    assert time.monotonic() < deadline, log.read_text()
                    time.sleep(0.1)
                yield client
        finally:
            house.send_signal(signal.SIGINT)
            house.wait(timeout=60)


def test_the_code_that_runs_is_that_of_the_wheel(elsewhere: Elsewhere) -> None:
    names = "atlas, atlas_bench, tools_server, wall"
    lines = f"import {names}; print({names})"
    assert elsewhere.run("python", "-c", lines).count(str(elsewhere.folder)) == 4


def test_it_runs_and_answers_and_has_its_page_and_its_rules(elsewhere: Elsewhere) -> None:
    with running(elsewhere) as client:
        assert client.get("/health").json()["status"] == "ok"
        page = client.get("/")
        assert (page.status_code, "Atlas" in page.text) == (200, True)
        assert client.get("/sw.js").status_code == 200
        assert "timer" in elsewhere.run("atlas", "ask", "set a timer for ten minutes").lower()
        rules = elsewhere.run("atlas-tools", "rules", "--house", str(elsewhere.data))
        assert "The rules are sound." in rules


def test_it_knows_the_models_that_there_are(elsewhere: Elsewhere) -> None:
    assert "smollm2-135m-instruct" in elsewhere.run("atlas", "models", "list", "--role", "llm")


def test_its_benches_have_what_they_read(elsewhere: Elsewhere) -> None:
    lines = "from atlas_bench.commands import corpus; print(*(len(list(corpus(name))) for name in ('en', 'de')))"
    assert all(int(count) > 100 for count in elsewhere.run("python", "-c", lines).split())
