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


def a_language_model(folder: Path, weights: bytes) -> Model:
    (folder / "small").mkdir(parents=True)
    (folder / "small" / "small.gguf").write_bytes(weights)
    file = ModelFile("small.gguf", "small.gguf", len(weights), hashlib.sha256(weights).hexdigest())
    return Model("small", "llm", "Small", "CC0-1.0", "nobody", (file,), hub="a/small", tools=True)


def test_the_catalogue_has_what_a_real_house_needs() -> None:
    known = {model.name: model for model in catalogue.load()}
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
    models.use(a_language_model(house / "weights", small_gguf), "family", load(os.environ))
    config = load(os.environ)
    assert config.agents["family"].llm == "small"
    assert (config.llm["small"].kind, config.llm["small"].tools, config.llm["small"].context) == (
        "embedded",
        True,
        8192,
    )
    assert "# who thinks" in (house / "atlas.toml").read_text()


NEXT = """
# Who talks to which agent.

# The family's.
[agents.family]
wake_words = ["alexa"]
# Not its own model.

# The way out.
[egress]
allow = []
"""


@pytest.mark.parametrize(
    ("llm", "before_next"),
    [
        ('[llm.embedded]\nkind = "embedded"\n# of the small one\n', "gpu_layers = 0\n"),
        ('[llm]\nembedded = {kind = "embedded"}\n', "gpu_layers = 0\n"),
        ('[llm.small]\nkind = "embedded"\n', "gpu_layers = 0\n"),
        ('[llm.embedded]\nkind = "embedded"\n\n# a house\n[house]\n\n[llm.other]\nkind = "embedded"\n', '"embedded"\n'),
    ],
    ids=["tables", "inline", "its own table", "tables apart"],
)
def test_a_comment_stays_above_the_table_that_it_belongs_to(
    house: Path, small_gguf: bytes, llm: str, before_next: str
) -> None:
    (house / "atlas.toml").write_text('[models]\nfolder = "weights"\n\n' + llm + NEXT)
    models.use(a_language_model(house / "weights", small_gguf), "family", load(os.environ))
    written = (house / "atlas.toml").read_text()
    comments = "# Who talks to which agent.\n\n# The family's.\n"
    assert before_next + "\n" + comments + "[agents.family]" in written
    assert 'llm = "small"\n\n# The way out.\n[egress]' in written
    assert "# a house\n[house]" in written or "# a house" not in llm
    assert load(os.environ).llm["small"].model == "small"


def test_an_agent_whose_settings_stand_on_one_line_gets_its_model_too(house: Path, small_gguf: bytes) -> None:
    (house / "atlas.toml").write_text('[models]\nfolder = "weights"\n\n[agents]\nfamily = {wake_words = ["alexa"]}\n')
    models.use(a_language_model(house / "weights", small_gguf), "family", load(os.environ))
    family = load(os.environ).agents["family"]
    assert (family.llm, list(family.wake_words)) == ("small", ["alexa"])


def test_a_model_is_needed_for_at_least_one_conversation(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in ("0", "-1", "some"):
        with pytest.raises(SystemExit) as ended:
            run(["models", "fit", "phi-3-mini-4k-instruct", "--sequences", wrong])
        assert ended.value.code == 2
        assert "--sequences" in capsys.readouterr().err


def test_what_is_wrong_with_a_model_is_said_with_its_name_once(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    voice = a_voice(house / "weights")
    assert models.verification([voice], house / "weights", every=True) == 0
    assert capsys.readouterr().out.split() == ["some-voice", "whole"]
    (house / "weights" / "some-voice" / "some-voice.onnx").write_bytes(b"")
    assert models.verification([voice], house / "weights", every=True) == 1
    line = capsys.readouterr().out
    assert "some-voice.onnx is" in line
    assert line.replace("some-voice.onnx", "").count("some-voice") == 1


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
    text = capsys.readouterr().out
    assert "   8,192  " in text
    assert "32,768" not in text


def test_what_is_not_on_disk_cannot_be_measured_but_is_told_how(
    house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["models", "fit", "llama-3.1-70b-instruct"]) == 1
    text = capsys.readouterr().err
    assert "48 GB of GPU memory" in text
    assert "atlas models pull llama-3.1-70b-instruct" in text


def test_fit_says_which_recogniser_hears_what_and_why(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert models.main(["fit", "ears"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "first pass" in rows["whisper-tiny.en"]
    assert "not used: " in rows["whisper-large-v3"]
