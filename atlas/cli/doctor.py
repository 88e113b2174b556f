"""`atlas doctor`: looks at everything Atlas stands on; every line that is not well says what to do."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2

from atlas.agents.house_sentences import FILE, read_sentences
from atlas.cli import door, memory
from atlas.cli.lock import running_process
from atlas.config import Config, SpeechConfig
from atlas.config import load as load_config
from atlas.errors import ConfigError
from atlas.speech.voices import USUAL, speaks, voice_for
from wall.chain import older_files, verify

_KEEP = "somebody or something changed it: keep a copy; to begin a new one, move it, its .head and record.head away"
_REMOUNT = "look why (dmesg: a disk that fails is often made so), and mount it so that it can be written"
_WRITABLE = "let its disk be written, and ask again"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
OLDEST_PYTHON = (3, 11)
FREE_BYTES = 500_000_000  # below this, memory files and recordings will soon fail
HEALTH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `advice` only when it is not well; `grave` when Atlas cannot work like that."""

    what: str
    seen: str
    advice: str = ""
    grave: bool = True


def main(arguments: Sequence[str]) -> int:
    """Print what is well and what is not; the status is 1 when something is grave."""
    parser = argparse.ArgumentParser(prog="atlas doctor", description=__doc__)
    parser.add_argument("--memory", action="store_true", help="only print how much memory the running house takes")
    parser.add_argument("--json", action="store_true", help="print one object")
    given = parser.parse_args(arguments)
    config = load_config(os.environ)
    if given.memory:
        return memory.show(config, as_json=given.json)
    findings = list(examine(config))
    if given.json:
        rows = [{"what": f.what, "seen": f.seen, "advice": f.advice, "well": not f.advice} for f in findings]
        print(json.dumps({"findings": rows, "well": not any(f.advice and f.grave for f in findings)}))
    else:
        for f in findings:
            print(f"{'well ' if not f.advice else 'WRONG' if f.grave else 'note '}  {f.what:11} {f.seen}")
            if f.advice:
                print(f"                   → {f.advice}")
    return 1 if any(f.advice and f.grave for f in findings) else 0


def examine(config: Config) -> Iterator[Finding]:
    """Yield every finding, the most basic first."""
    yield _python()
    yield Finding("settings", str(config.file) if config.file else "defaults, for there is no atlas.toml")
    yield _data(config)
    yield _disk(config)
    yield from _models(config)
    memories = sorted({agent.memory for agent in config.agents.values()} | {"devices.db"})
    for file in [*(config.data / name for name in memories), config.tools_data / "tools.db"]:
        if file.exists():
            yield _file(file)
    yield from _records(config)
    yield _egress(config)
    if config.gateway.https_host:
        yield _certificates(config)
    running = running_process(config)
    yield _port(config, running)
    if running is None:
        yield _sentences(config)
    else:
        yield from _parts(config)
        yield from _walls(config)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    advice = "" if sys.version_info >= OLDEST_PYTHON else "install Python 3.11 or newer, and run ./up again"
    return Finding("python", f"{version} at {sys.executable}", advice)


def _data(config: Config) -> Finding:
    folder = config.data
    if not folder.exists():
        return Finding("data", f"{folder} is not there yet", "run ./up, which makes it", grave=False)
    if _is_read_only(folder):
        return Finding("data", f"{folder} lies on a disk that is read-only", _REMOUNT)
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Finding("data", f"{folder} cannot be written", f"sudo chown -R $USER {folder}, or set ATLAS_DATA")
    if folder.stat().st_mode & 0o077:
        return Finding("data", f"{folder} can be read by others", f"chmod 700 {folder}", grave=False)
    return Finding("data", str(folder))


def _is_read_only(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _is_full(folder: Path) -> bool:
    return os.statvfs(folder).f_bavail == 0


def _disk(config: Config) -> Finding:
    there = next(folder for folder in (config.data, *config.data.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    advice = "" if free >= FREE_BYTES else f"free some space on the disk of {there}"
    return Finding("disk", f"{free / 1e9:.1f} GB free", advice)


def _models(config: Config) -> Iterator[Finding]:
    from atlas.cli.models import CATALOGUE
    from atlas.models import catalogue

    speech = voice_for(config.speech)
    yield from _voice(config, speech)
    piper = {speech.voice} if speech.tts == "piper" else set()
    wanted = {config.speech.stt_model, *piper} | {m.model for m in config.llm.values() if not m.url}
    wanted |= {m.embedder for m in config.llm.values() if m.embedder and not m.url}
    known = {model.name: model for model in catalogue.load(CATALOGUE)}
    for name in sorted(wanted):
        folder = config.models.folder / name
        if not folder.is_dir():
            yield Finding("model", f"{name} is not at {folder}", "run `atlas models fetch`, or ./up")
        elif name not in known:
            yield Finding("model", f"{name} is there; it is not in the catalogue, so nothing tells if it is whole")
        elif faults := known[name].faults(config.models.folder):
            yield Finding("model", f"{name}: {'; '.join(faults)}", "run `atlas models fetch`")
        else:
            yield Finding("model", f"{name} is whole")


def _voice(config: Config, speech: SpeechConfig) -> Iterator[Finding]:
    """Tell who speaks where the usual voice is of another language than the house."""
    language = config.house.language
    if config.speech.voice != USUAL or config.speech.tts != "piper" or speaks(USUAL, language):
        return
    if speech.tts == "espeak":
        yield Finding("voice", f"espeak-ng speaks {language!r}: no voice for Piper in that language is here")
    elif speech == config.speech:
        advice = f"fetch a voice that speaks {language!r} (`atlas models`), or install espeak-ng"
        yield Finding("voice", f"the usual voice speaks no {language!r}", advice)


def _file(file: Path) -> Finding:
    # A log beside the file cannot be read where nothing can be written; without it the file may be half of a whole.
    unwritable = _is_read_only(file.parent) or _is_full(file.parent)
    how = "mode=ro&immutable=1" if unwritable else "mode=ro"
    try:
        connection = sqlite3.connect(f"{file.as_uri()}?{how}", uri=True)
        try:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.DatabaseError as trouble:
        verdict = str(trouble)
        if trouble.sqlite_errorcode & 0xFF not in _DAMAGED:
            return Finding("memory", f"{file.name} cannot be looked at: {verdict}", _WRITABLE)
    if verdict != "ok" and unwritable:
        return Finding("memory", f"{file.name} cannot be judged while nothing can be written: {verdict}", _WRITABLE)
    advice = "" if verdict == "ok" else f"stop Atlas, then put back a copy, or start anew: mv {file} {file}.damaged"
    return Finding("memory", f"{file.name} {'is whole' if verdict == 'ok' else f'is damaged: {verdict}'}", advice)


def _records(config: Config) -> Iterator[Finding]:
    """Look whether the records of calls and of ways out are as they were written, to their last row."""
    from atlas.assent import HouseKey, read_house_key

    signed = (
        HouseKey(read_house_key(config.house_key)).read_head(config.record_head) if config.house_key.exists() else None
    )
    for file, head in ((config.tools_data / "audit.jsonl", signed), (config.data / "egress.jsonl", None)):
        if not file.exists() and not head and not older_files(file):
            continue
        try:
            verdict = verify(file, head)
        except OSError as trouble:
            yield Finding("record", f"{file} cannot be read: {trouble.strerror}", "rows may have been taken away")
            continue
        seen = f"{file.name} has {verdict.rows} rows, {'; '.join(verdict.problems) or 'all as they were written'}"
        yield Finding("record", seen, _KEEP if verdict.problems else "")


def _port(config: Config, running: int | None) -> Finding:
    """Say whether Atlas runs, or else whether another program has its port."""
    if running is not None:
        return Finding("atlas", f"runs as process {running}")
    where = config.gateway.host, config.gateway.port
    try:
        socket.create_connection(where, timeout=1).close()
    except OSError:
        return Finding("atlas", "does not run", "start it with ./up", grave=False)
    return Finding(
        "port", f"{where[0]}:{where[1]} belongs to another program", "stop it, or choose another [gateway] port"
    )


def _parts(config: Config) -> Iterator[Finding]:
    """Ask the running house how its parts are."""
    try:
        response = httpx2.get(f"{door.address(config)}/health", timeout=HEALTH_SECONDS, trust_env=False)
        details = response.json()
    except (httpx2.TransportError, ValueError):
        yield Finding(
            "health", f"{door.address(config)} does not answer", "is it still warming up? Else start it again"
        )
        return
    well = details.get("status") == "ok"
    yield Finding("health", str(details.get("status")), "" if well else "look at the parts below, and at Atlas's log")
    for part, state in details.get("parts", {}).items():
        fine = state.get("ok", False)
        yield Finding(part, state.get("what", ""), "" if fine else state.get("hint") or "it should be back in a moment")


def _sentences(config: Config) -> Finding:
    """Look at the house's own sentences; the running house says more of them, for it knows the tools."""
    try:
        count = len(read_sentences(config.data / FILE, config.house.language).examples)
    except ConfigError as trouble:
        return Finding("sentences", str(trouble), trouble.hint, grave=False)
    return Finding("sentences", f"{count} intents in {FILE}" if count else f"no {FILE}")


def _egress(config: Config) -> Finding:
    allowed = config.egress.allow
    return Finding("way out", f"only to {', '.join(allowed)}" if allowed else "none: nothing leaves the house")


def _certificates(config: Config) -> Finding:
    """Look at what https is served with, as its files have it; only looks, and makes nothing."""
    from datetime import UTC, datetime

    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    renew = "start Atlas: it makes and renews certificates while it runs"
    try:
        authority, leaf = (
            x509.load_pem_x509_certificates((config.certificates / name).read_bytes())[0]
            for name in ("ca.pem", "leaf.pem")
        )
    except (OSError, ValueError) as trouble:
        return Finding("https", f"there is no certificate: {trouble}", renew)
    ends = min(authority.not_valid_after_utc, leaf.not_valid_after_utc)
    digest = authority.fingerprint(SHA256()).hex(":").upper()
    seen = f"certificate until {ends:%Y-%m-%d}; the authority's SHA-256 is {digest}"
    return Finding("https", seen, "" if datetime.now(UTC) < ends else renew)


def _walls(config: Config) -> Iterator[Finding]:
    """Let the tool server try to get out of its walls, and tell what became of it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        try:
            details = _tried(config, listening.getsockname()[1])
        except (httpx2.HTTPError, ValueError, OSError):
            yield Finding(
                "walls", "the tool server could not be asked", "is it still warming up? Else start Atlas again"
            )
            return
        reached = _knocked(listening)
    standing = ", ".join(f"{wall}: {what}" for wall, what in details["walls"].items())
    yield Finding("walls", f"around the tools stand {standing}", _missing(details["walls"]), grave=False)
    stopped = {
        "tcp": "" if reached else details["stopped"]["tcp"],
        **{k: v for k, v in details["stopped"].items() if k != "tcp"},
    }
    tries = {"tcp": "a connection", "udp": "a packet", "names": "a name server", "file": "/etc/passwd"}
    for way, wall in stopped.items():
        seen = f"the tools tried {tries.get(way, 'a program')}: {wall or 'nothing stopped them'}"
        yield Finding("proof", seen, "" if wall else "the tools are not walled in; see the advice on walls above")


def _tried(config: Config, port: int) -> dict[str, dict[str, str]]:
    token = config.tools_token("house").read_text(encoding="utf-8").strip()
    transport = httpx2.HTTPTransport(uds=str(config.socket("tools")), verify=False)
    with httpx2.Client(transport=transport, timeout=HEALTH_SECONDS) as client:
        answer = client.get(f"http://tools/walls?port={port}", headers={"Authorization": f"Bearer {token}"})
        return dict(answer.raise_for_status().json())


def _knocked(listening: socket.socket) -> bool:
    """Whether somebody came, whatever the tool server says of it."""
    try:
        listening.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _missing(walls: dict[str, str]) -> str:
    if "none" not in walls.values():
        return ""
    return "allow user namespaces and seccomp here, or take a kernel with Landlock (6.7 or newer)"
