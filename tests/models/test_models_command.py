"""`atlas models` at the terminal: what it prints, and what it writes into atlas.toml."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from atlas.cli import models
from atlas.cli.main import run
from atlas.config import load
from atlas.models import catalogue
from atlas.models.catalogue import Model, ModelFile

SETTINGS = """# our house
[models]
folder = "weights"

[llm.embedded]   # small
kind = "embedded"

[agents.family]
llm = "embedded"  # who thinks
"""


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "atlas.toml").write_text(SETTINGS)
    monkeypatch.setenv("ATLAS_CONFIG", str(tmp_path / "atlas.toml"))
    monkeypatch.setenv("ATLAS_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def a_voice(folder: Path) -> Model:
    (folder / "some-voice").mkdir(parents=True)
    (folder / "some-voice" / "some-voice.onnx").write_bytes(b"sound")
    file = ModelFile("some-voice.onnx", "some-voice.onnx", 5, hashlib.sha256(b"sound").hexdigest())
    return Model("some-voice", "tts", "Some voice", "CC0-1.0", "nobody", (file,), hub="some/voice")


def test_the_catalogue_has_what_a_real_house_needs() -> None:
    known = {model.name: model for model in catalogue.load(models.CATALOGUE)}
    assert {"llama-3.1-70b-instruct", "phi-3-mini-4k-instruct", "whisper-large-v3-turbo"} <= set(known)
    assert sum(model.role == "llm" and model.bytes < 5e9 for model in known.values()) >= 6
    assert len({language for model in known.values() if model.role == "tts" for language in model.languages}) >= 8
    assert all(model.verified for model in known.values() if model.default)


def test_a_voice_is_used_by_writing_it_into_the_settings(house: Path) -> None:
    config = load(os.environ)
    models.use(a_voice(house / "weights"), "family", config)
    written = (house / "atlas.toml").read_text()
    assert "# our house" in written
    assert load(os.environ).speech.voice == "some-voice"


def test_a_model_that_is_not_whole_is_not_used(house: Path) -> None:
    voice = a_voice(house / "weights")
    (house / "weights" / "some-voice" / "some-voice.onnx").write_bytes(b"SOUND")
    with pytest.raises(models.ConfigError, match="is changed"):
        models.use(voice, "family", load(os.environ))
    assert (house / "atlas.toml").read_text() == SETTINGS


def test_a_language_model_becomes_an_agents_own(house: Path, small_gguf: bytes) -> None:
    folder = house / "weights" / "small"
    folder.mkdir(parents=True)
    (folder / "small.gguf").write_bytes(small_gguf)
    file = ModelFile("small.gguf", "small.gguf", len(small_gguf), hashlib.sha256(small_gguf).hexdigest())
    model = Model("small", "llm", "Small", "CC0-1.0", "nobody", (file,), hub="a/small", tools=True)
    models.use(model, "family", load(os.environ))
    config = load(os.environ)
    assert config.agents["family"].llm == "small"
    assert (config.llm["small"].kind, config.llm["small"].tools, config.llm["small"].context) == (
        "embedded",
        True,
        8192,
    )
    assert "# who thinks" in (house / "atlas.toml").read_text()


def test_a_misspelt_model_is_told_the_nearest(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "pull", "llama-3.1-70b"]) == 1
    assert "did you mean llama-3.1-70b-instruct?" in capsys.readouterr().err
    assert run(["models", "pull", "qwen3"]) == 1
    assert "did you mean qwen3-4b-instruct-2507?" in capsys.readouterr().err


def test_a_role_without_files_of_its_own_is_no_empty_page(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "list", "--role", "wake"]) == 0
    assert "came with Atlas" in capsys.readouterr().out


def test_fit_speaks_of_no_context_that_the_model_does_not_know(
    house: Path, small_gguf: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (house / "small.gguf").write_bytes(small_gguf)
    assert run(["models", "fit", str(house / "small.gguf")]) == 0
    said = capsys.readouterr().out
    assert "   8,192  " in said
    assert "32,768" not in said


def test_what_is_not_on_disk_cannot_be_measured_but_is_told_how(
    house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "fit", "llama-3.1-70b-instruct"]) == 1
    said = capsys.readouterr().err
    assert "48 GB of GPU memory" in said
    assert "atlas models pull llama-3.1-70b-instruct" in said
