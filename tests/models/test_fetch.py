"""Model files are taken from packages, verified, and replaced only by what is whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from atlas.cli.models import CATALOGUE
from atlas.errors import ConfigError, EngineError
from atlas.models.catalogue import Model, ModelFile, load
from atlas.models.fetch import ensure, fetch, missing


def a_model(content: bytes) -> Model:
    digest = hashlib.sha256(content).hexdigest()
    file = ModelFile("weights.bin", "pack/weights.bin", len(content), digest)
    package = {"package": "no-such-package-of-atlas", "version": "1", "package_sha256": "0" * 64}
    return Model("toy", "llm", "Toy", "CC0-1.0", "nobody", (file,), default=True, **package)


def on_disk(model: Model, models: Path, content: bytes) -> Path:
    folder = models / model.name
    folder.mkdir(parents=True)
    (folder / "weights.bin").write_bytes(content)
    return folder / "weights.bin"


def test_a_whole_model_is_verified_once_and_then_known(tmp_path: Path) -> None:
    model = a_model(b"weights")
    on_disk(model, tmp_path, b"weights")
    assert missing([model], tmp_path) == [model]  # never looked at yet
    ensure([model], tmp_path, lambda line: pytest.fail(line))
    assert missing([model], tmp_path) == []


def test_a_changed_byte_is_found_and_the_file_named(tmp_path: Path) -> None:
    model = a_model(b"weights")
    on_disk(model, tmp_path, b"weighty")
    (fault,) = model.faults(tmp_path)
    assert fault.startswith("toy/weights.bin is changed: its sha256 is ")


def test_a_file_touched_after_it_was_verified_is_looked_at_again(tmp_path: Path) -> None:
    model = a_model(b"weights")
    file = on_disk(model, tmp_path, b"weights")
    ensure([model], tmp_path, lambda line: None)
    file.write_bytes(b"weight!")
    assert missing([model], tmp_path) == [model]


def test_short_and_missing_files_are_told_apart(tmp_path: Path) -> None:
    model = a_model(b"weights")
    assert model.faults(tmp_path) == ["toy/weights.bin is missing"]
    on_disk(model, tmp_path, b"weig")
    assert model.faults(tmp_path) == ["toy/weights.bin is 4 bytes long, not 7"]


def test_a_package_that_cannot_be_had_leaves_what_is_there_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    model = a_model(b"weights")
    file = on_disk(model, tmp_path, b"older")
    with pytest.raises(EngineError, match="could not be fetched") as refusal:
        fetch(model, tmp_path)
    assert "network" in refusal.value.hint
    assert "\n" not in str(refusal.value)
    assert file.read_bytes() == b"older"
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]  # nothing half-done is left lying


def test_the_catalogue_names_folders_licences_and_hashes() -> None:
    models = load(CATALOGUE)
    assert {model.role for model in models if model.default} == {"llm", "stt", "tts", "embedding"}
    for model in models:
        assert model.licence
        assert model.hub or len(model.package_sha256) == 64
        assert model.hub or all(len(file.sha256) == 64 for file in model.files)


def test_a_catalogue_that_escapes_its_folder_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "catalogue.toml"
    bad.write_text('["../evil"]\nfiles = []\n')
    with pytest.raises(ConfigError, match="cannot be the name of a folder"):
        load(bad)


@pytest.mark.real
def test_the_default_models_on_disk_are_what_the_catalogue_says(models: Path) -> None:
    assert [fault for model in load(CATALOGUE) if model.default for fault in model.faults(models)] == []
