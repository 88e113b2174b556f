"""docs/extending.md, taken at its word: its files are put into a copy of Atlas, and used as a house would use them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([a-z_/]+\.(?:py|yaml))`\n\n```[a-z]+\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
[LINE] = re.findall(r"^```\n( +\*.*\n)```$", PAGE, re.MULTILINE)
TOOL = ("tools_server/tools/jokes.py", "atlas/understanding/sentences/en/jokes.yaml")
RECOGNISER = ("atlas/speech/stt_program.py",)
DOOR = ("atlas/gateway/sentence.py",)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Atlas with the files of the page in it."""
    folder = tmp_path_factory.mktemp("extended")
    for package in ("atlas", "tools_server", "wall", "pwa"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    for file in ("atlas.toml", "policy.toml"):
        shutil.copy(ROOT / file, folder)
    for name, text in FILES.items():
        assert not (folder / name).exists(), f"{name} is there already"
        (folder / name).write_text(text, encoding="utf-8")
    app = folder / "atlas" / "gateway" / "app.py"
    text = app.read_text(encoding="utf-8")
    assert "import (\n" in text, "the import of doors is one a line"
    text = text.replace("from atlas.gateway import (\n", "from atlas.gateway import (\n    sentence,\n", 1)
    app.write_text(text.replace("            *page.routes()", f"{LINE}            *page.routes()"), encoding="utf-8")
    return folder


def run(copy: Path, *command: str, **environment: str) -> str:
    """Run Python with the copy in front of everything else that is called atlas."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ATLAS")}
    ended = subprocess.run(
        [sys.executable, *command],
        cwd=copy,
        env={**clean, "PYTHONPATH": f"{copy}:{ROOT}", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return ended.stdout


def test_the_page_touches_as_many_files_as_it_says() -> None:
    assert set(FILES) == {*TOOL, *RECOGNISER, *DOOR}
    assert LINE.strip().startswith("*sentence.routes(house)")


def test_its_files_are_in_the_style_of_the_house(tmp_path: Path) -> None:
    for name, text in FILES.items():
        if name.endswith(".py"):
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    settings = ["--config", str(ROOT / "pyproject.toml"), str(tmp_path)]
    for check in (["check", "-q"], ["format", "--check", "-q"]):
        ended = subprocess.run([sys.executable, "-m", "ruff", *check, *settings], capture_output=True, text=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.real
def test_the_sentence_becomes_the_call_of_the_tool(copy: Path) -> None:
    lines = """
from atlas.understanding.grammar import open_grammar
from atlas.understanding.understanding import Reader
for said in ("tell a joke from my file", "Tell us another joke from the joke file.", "tell me a story"):
    print([command.tool for command in Reader(open_grammar("en")).read(said).commands])
"""
    assert run(copy, "-c", lines).split() == ["['jokes.tell']", "['jokes.tell']", "[]"]


@pytest.mark.real
def test_the_tool_tells_a_joke_of_the_file_to_agents_that_were_never_granted_it(copy: Path, tmp_path: Path) -> None:
    lines = """
import os
from atlas.cli.keys import introduce_agents, prepare_folders
from atlas.config import load
config = load(os.environ)
prepare_folders(config)
print(introduce_agents(config))
"""
    agents = run(copy, "-c", lines, ATLAS_DATA=str(tmp_path)).strip()
    server = ["-m", "tools_server.server", "call", json.dumps({"tool": "jokes_tell"}), "--agent", "family"]
    server += ["--data", str(tmp_path), "--agents", agents, "--policy", str(copy / "policy.toml")]
    assert json.loads(run(copy, *server))["text"] == "There is no jokes.txt in my folder yet."
    (tmp_path / "family-agent-config" / "jokes.txt").write_text("Two peanuts went for a walk. One was assaulted.\n")
    details = json.loads(run(copy, *server, "--as", "guest"))
    assert (details["success"], details["text"]) == (True, "Two peanuts went for a walk. One was assaulted.")


def test_the_recogniser_hears_what_its_program_writes_and_says_when_it_cannot(copy: Path, tmp_path: Path) -> None:
    program = tmp_path / "hear"
    program.write_text("#!/bin/sh\nhead -c 4\necho ' what time is it'\n")
    program.chmod(0o755)
    lines = f"""
import anyio
from atlas.audio import HEARING_RATE, AudioChunk, silence
from atlas.config import SpeechConfig
from atlas.engine import open_engine
from atlas.errors import EngineError
async def main():
    stt = await open_engine("stt", "program", SpeechConfig(stt="program", stt_model={str(program)!r}))
    print((await stt.transcribe(AudioChunk(b"\\1\\0" * HEARING_RATE, HEARING_RATE))).text)
    print(repr((await stt.transcribe(silence(1))).text))
    gone = await open_engine("stt", "program", SpeechConfig(stt="program", stt_model="/no/such/program"))
    try:
        await gone.transcribe(AudioChunk(b"\\1\\0" * HEARING_RATE, HEARING_RATE))
    except EngineError as trouble:
        print(trouble.spoken)
anyio.run(main)
"""
    assert run(copy, "-c", lines).splitlines() == ["RIFF what time is it", "''", "I can't hear just now."]


@pytest.mark.real
def test_the_door_answers_a_sentence_in_words_and_lets_nobody_in_without_a_token(copy: Path, tmp_path: Path) -> None:
    lines = f"""
import os
from pathlib import Path
import anyio
from atlas.config import load
from tests.gateway.small_house import served
async def main():
    async with served(load(os.environ), Path({str(tmp_path)!r})) as world:
        for role in ("adult", None):
            async with world.http(role) as http:
                for sentence in ("why is the sky blue", " "):
                    reply = await http.post("/v1/sentence", content=sentence)
                    print(reply.status_code, reply.text if reply.status_code == 200 else reply.json()["error"]["code"])
anyio.run(main)
"""
    answers = run(copy, "-c", lines, ATLAS_DATA=str(tmp_path)).splitlines()
    assert answers == ["200 The sky is blue.", "400 invalid_value", "401 invalid_api_key", "401 invalid_api_key"]
