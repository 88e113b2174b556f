"""`atlas run`: the whole house in this terminal, from the first process to the last, until Ctrl-C."""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import NoReturn

import anyio
from anyio.abc import TaskGroup

from atlas import __version__, heap
from atlas.access.certificates import HouseCertificates, names_here
from atlas.access.qr import blocks
from atlas.cli import door
from atlas.cli.children import Child, Program, supervised
from atlas.cli.keys import (
    introduce_agents,
    make_house_key,
    owners_token,
    point_at_rules,
    prepare_folders,
    satellite_token,
    settle_tools,
    write_tool_settings,
)
from atlas.cli.lock import only_one
from atlas.config import Config, LlmConfig
from atlas.config import load as load_config
from atlas.errors import ConfigError, EngineError
from atlas.gateway import app
from atlas.gateway.https import SecureListener
from atlas.gateway.invitations import new_setup_code
from atlas.models.gguf import model_in
from atlas.opening import open_house
from atlas.recent_log import RecentLog
from atlas.speech.wake_rooms import folder_of
from atlas.store.backup import is_unfinished
from atlas.store.backup_contents import LOGS
from atlas.store.devices import open_devices
from atlas.store.settings_file import HouseSettings, take_back_unproven, with_settings_at_once
from wall import logs
from wall.unsound_rules import UnsoundRules

START_SECONDS = 60.0  # that a part may take with other settings, on a machine that is busy
CHANGEABLE = ("egress", "tools", "satellite")  # in the order in which they begin
STOP_SECONDS = 5.0  # from Ctrl-C to the end, whatever hangs
log = logging.getLogger("atlas")


def main(arguments: Sequence[str]) -> int:
    """Run Atlas until it is told to stop; return the exit status."""
    parser = argparse.ArgumentParser(prog="atlas run", description=__doc__)
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings; else $ATLAS_CONFIG, else ./atlas.toml, else that of the checkout",
    )
    parser.add_argument("--only", metavar="PART", help="run this one process of the house: tools, egress, llm-NAME")
    parser.add_argument(
        "--without", action="append", default=[], metavar="PART", help="which somebody else runs, such as systemd"
    )
    given = parser.parse_args(arguments)
    config = load_config(os.environ, given.config)
    if given.only:
        become(config, given.only)
    began = time.monotonic()
    heap.share()
    recent_log = write_logs()
    # Threads of a model wait for each other after every layer. Left to itself OpenMP spins, and when others want the
    # cores too (the ears, the voice), each spins while the one it waits for cannot run: 0.9 tokens a second, not 35.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    prepare_folders(config)
    with ExitStack() as stack:
        note_ready = stack.enter_context(only_one(config))
        store_logs(recent_log, config)
        if is_unfinished(config.data):
            raise ConfigError(
                f"a restore into {config.data} was cut off", hint="run the same `atlas backup restore` again"
            )
        for file in take_back_unproven(config):
            log.warning("%s is as it was: the house ended before a change to it had been tried", file)
        config = load_config(os.environ, given.config)
        listener = stack.enter_context(app.listen(config.gateway))
        secure = secure_listener(config)
        if secure:
            stack.enter_context(secure.listener)
        anyio.run(run, config, listener, began, frozenset(given.without), secure, recent_log, note_ready)
    return 0


def become(config: Config, part: str) -> NoReturn:
    """Run one process of the house in place of this one. Raises `ConfigError` when the house has no such part."""
    prepare_folders(config)
    parts = {program.name: program.command for program in programs(config)}
    if part not in parts:
        raise ConfigError(f"this house has no part called {part!r}", hint=f"its parts are {', '.join(parts)}")
    os.execv(parts[part][0], parts[part])  # noqa: S606  # no shell reads it


def secure_listener(config: Config) -> SecureListener | None:
    """Return where https is served, if it is. Raises `ConfigError` for an address or certificates that cannot be."""
    here = config.gateway
    if not here.https_host:
        return None
    listener = app.listen(replace(here, host=here.https_host, port=here.https_port), "https_port")
    return SecureListener(listener, HouseCertificates(config.certificates, partial(names_here, here.name)))


async def run(
    config: Config,
    listener: socket.socket,
    began: float,
    elsewhere: frozenset[str] = frozenset(),
    secure: SecureListener | None = None,
    recent_log: RecentLog | None = None,
    note_ready: Callable[[], None] = lambda: None,
) -> None:
    """Open everything but the parts that run elsewhere, answer until SIGINT or SIGTERM, close in reverse."""
    print(f"Atlas {__version__} is warming up; its data is in {config.data}", flush=True)
    mine = [program for program in programs(config) if program.name not in elsewhere]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop_when_told, tasks.cancel_scope)
        async with AsyncExitStack() as stack:
            async with open_devices(config.data) as devices:
                token, first_time = await owners_token(config, devices)
                setup_code = "" if await devices.is_claimed() else new_setup_code()
                if config.satellite.enabled:
                    await satellite_token(config, devices)
            children = {one.name: await stack.enter_async_context(supervised(one)) for one in mine}
            house = await stack.enter_async_context(open_house(config))
            house.settings = HouseSettings(
                config,
                lambda file: load_config(os.environ, file),
                Parts(config, tasks, children, elsewhere).go_by,
                unsound_rules,
            )
            house.recent_log = recent_log
            for child in children.values():
                await child.ready()
            await house.warm()
            heap.settle()

            def ready() -> None:
                seconds = time.monotonic() - began
                outside = secure.address if secure else ""
                note_ready()
                say_ready(config, token, first_time=first_time, seconds=seconds, setup_code=setup_code, outside=outside)

            await app.serve(house, ready, listener, secure, setup_code)


class Parts:
    """The processes that go by settings which may change while the house runs: tool server, way out, the room here."""

    def __init__(self, config: Config, tasks: TaskGroup, children: dict[str, Child], elsewhere: frozenset[str]) -> None:
        self._config = config  # that the house runs with
        self._tasks = tasks
        self._children = children
        self._elsewhere = elsewhere  # run by somebody else

    async def go_by(self, config: Config) -> Sequence[str]:
        """Run the parts by other settings; return those that somebody else has to start again.

        Raises `EngineError` when one does not start with them, and `ConfigError`.
        """
        self._config = with_settings_at_once(self._config, config)
        wanted = {program.name: program for program in programs(self._config)}
        for name in CHANGEABLE:
            if name not in self._elsewhere and name in wanted:
                with anyio.move_on_after(START_SECONDS) as starting:
                    await self._run(wanted[name])
                if starting.cancelled_caught:
                    raise EngineError(f"{name} does not start with these settings", hint="see the log")
        return [name for name in CHANGEABLE if name in self._elsewhere]

    async def _run(self, program: Program) -> None:
        child = self._children.get(program.name)
        if child is None:
            self._children[program.name] = child = Child(program)
            self._tasks.start_soon(child.live)
            await child.ready()
        elif program.name == "tools" or child.program != program:
            await child.replace(program)  # what the tool server goes by stands in files, too


async def stop_when_told(everything: anyio.CancelScope) -> None:
    """Cancel `everything` at the first SIGINT or SIGTERM, and see to it that it ends in time."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            print(f"Atlas stops ({number.name})", flush=True)
            # A thread in C cannot be cancelled. What is on the disk is safe, and the tethered children end with us.
            faulthandler.dump_traceback_later(STOP_SECONDS, exit=True)
            everything.cancel()


async def unsound_rules(config: Config, text: str) -> UnsoundRules | None:
    """Return what is not sound about a table of rules, for the agents of this house and every tool; None is nothing.

    Asks the tool server's own command, as a process that ends. Raises `EngineError` when that does not answer.
    """
    with NamedTemporaryFile("w", encoding="utf-8", prefix=".policy.toml.", dir=config.secrets) as draft:
        draft.write(text)
        draft.flush()
        command = (
            *(sys.executable, "-m", "tools_server.server", "rules", "--sound"),
            *("--house", str(config.data), "--policy", draft.name),
        )
        try:
            with anyio.fail_after(START_SECONDS):
                ended = await anyio.run_process(command, check=False)
        except TimeoutError:
            raise EngineError("the rules could not be proven in time", hint="try again, or make them fewer") from None
    if not ended.returncode:
        return None
    if ended.stdout:
        return UnsoundRules.read(ended.stdout.decode())
    reason = ended.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return UnsoundRules(reason.replace(draft.name, "policy.toml"))


def programs(config: Config) -> list[Program]:
    """Return the processes of this house: the tool server, and an LLM host for each embedded model that is used."""
    settle_tools(config)
    agents_file = introduce_agents(config)
    point_at_rules(config)
    egress = [_egress(config)] if config.egress.allow else []
    tools = Program(
        "tools",
        (
            *(sys.executable, "-m", "tools_server.server", "--data", str(config.tools_data)),
            *("--folders", str(config.data)),
            *("--policy", str(config.tools.policy)),
            *("--agents", str(agents_file), "--socket", str(config.socket("tools"))),
            *("--tools", str(write_tool_settings(config))),
            *("--house-key", str(make_house_key(config)), "--signed-head", str(config.record_head)),
            *(("--egress", str(config.socket("egress"))) if egress else ()),
            *(("--timezone", config.house.timezone) if config.house.timezone else ()),
            *("--languages", ",".join(config.house.spoken)),
        ),
        config.socket("tools"),
    )
    used = {agent.llm for agent in config.agents.values()}
    hosts = [
        _llm_host(config, name, llm) for name, llm in config.llm.items() if name in used and llm.kind == "embedded"
    ]
    room = [_satellite(config)] if config.satellite.enabled else []
    return [*egress, tools, *hosts, *room]


def _satellite(config: Config) -> Program:
    # Each text of the settings is one word with its option: alone "-x" would be an option of its own.
    here = config.satellite
    is_logged = here.near_misses or config.speech.near_misses
    command = (
        *(sys.executable, "-m", "atlas.satellite", "--house", door.address(config)),
        *("--token-file", str(config.satellite_token), "--models", str(config.models.folder)),
        *((f"--quiet-hours={here.quiet_hours}",) if here.quiet_hours else ()),
        *(f"--recogniser={config.speech.stt_model}", "--language", ",".join(config.house.spoken)),
        *(f"--wake-word={word}" for word in config.speech.wake_words),
        *(f"--microphone={here.microphone}", f"--loudspeaker={here.loudspeaker}", "--volume", str(here.volume)),
        *("--wake-threshold", str(here.wake_threshold), "--follow-up", str(here.follow_up)),
        *(("--near-misses", str(folder_of(config.near_misses, config.own_room))) if is_logged else ()),
        *((f"--microphone-form={here.microphone_form}",) if here.microphone_form else ()),
        *(() if here.echo_cancellation else ("--no-echo-cancellation",)),
    )
    return Program("satellite", command, None)


def _egress(config: Config) -> Program:
    path = config.socket("egress")
    command = (
        *(sys.executable, "-m", "atlas.egress", "--socket", str(path), "--record", str(config.egress_record)),
        *(part for entry in config.egress.allow for part in ("--allow", entry)),
    )
    return Program("egress", command, path)


def _llm_host(config: Config, name: str, llm: LlmConfig) -> Program:
    path = config.socket(f"llm-{name}")
    command = (
        *(sys.executable, "-m", "atlas.llm_host.server", "--socket", str(path)),
        *("--model", str(weights(config, llm)), "--name", llm.model, "--context", str(llm.context)),
        *("--threads", str(llm.threads), "--gpu-layers", str(llm.gpu_layers), "--gpu", str(llm.gpu)),
        *("--conversations", str(llm.conversations)),
        *("--kept", str(config.data / "kept" / f"llm-{name}")),
        *(("--embedder", str(encoder)) if (encoder := embedder(config, llm)) else ()),
    )
    return Program(f"llm-{name}", command, path)


def weights(config: Config, llm: LlmConfig) -> Path:
    """Return the file by which an embedded model is loaded. Raises `ConfigError` when there is none, or several."""
    return _gguf_in(config.models.folder / llm.model)


def embedder(config: Config, llm: LlmConfig) -> Path | None:
    """Return the file of its sentence encoder; `None` without one. Raises `ConfigError` when one is named in vain."""
    folder = config.models.folder / llm.embedder
    if not llm.embedder or (llm.embedder == LlmConfig().embedder and not folder.is_dir()):
        return None
    return _gguf_in(folder)


def _gguf_in(folder: Path) -> Path:
    try:
        return model_in(folder)
    except EngineError as trouble:
        raise ConfigError(
            str(trouble),
            hint="run `atlas models fetch`, or give llm.*.model the name of a folder that holds one .gguf file",
        ) from trouble


def say_ready(
    config: Config, token: str, *, first_time: bool, seconds: float, setup_code: str = "", outside: str = ""
) -> None:
    """Print where Atlas is and how to talk to it; token and code to a terminal alone, for a log keeps them.

    `outside` is the https address that other devices open; with the setup code it is shown as a QR code.
    """
    address = door.address(config)
    lines = [f"Atlas is ready after {seconds:.1f} s: {address}"]
    if first_time and sys.stdout.isatty():
        lines += [f"  talk   {address}/#token={token}   (you are the owner; shown only this once)"]
    else:
        lines += [f"  talk   {address}   (the owner's token is in {config.owner_token})"]
    if outside:
        lines += [f"  phones {outside}   (once {outside}/ca/, so that they trust it)"]
    if setup_code and sys.stdout.isatty():
        lines += [
            f"  claim  {outside or address}/pair, with the setup code {setup_code}   (your first phone or browser)"
        ]
        lines += [blocks(f"{outside}/pair#{setup_code}")] if outside else []
    command = "atlas" if shutil.which("atlas") else str(Path(sys.prefix, "bin", "atlas"))  # as another terminal has it
    lines += [
        f'  ask    {command} ask "what time is it"',
        f"  play   {command} hear FILE.wav",
        f"  let in {command} token create --name NAME --role adult",
        "Ctrl-C stops it.",
    ]
    print("\n".join(lines), flush=True)


def store_logs(recent_log: RecentLog, config: Config) -> None:
    """Store the latest lines of the log for the next start, in a folder of their own, where the disk lets us."""
    folder = config.data / LOGS
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as trouble:
        log.warning("the next start will not know what is logged now: %s cannot be made (%s)", folder, trouble)
        return
    recent_log.keep(folder / "house.jsonl")


def write_logs() -> RecentLog:
    """Send the log to stderr, and return its latest lines; libraries speak up only when something is wrong."""
    logs.to_stderr(logging.WARNING, "%(asctime)s %(levelname).1s %(message)s")
    log.setLevel(logging.INFO)
    recent = RecentLog()
    logging.getLogger().addHandler(recent)
    return recent
