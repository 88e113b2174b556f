"""`atlas doctor`: looks at everything Atlas stands on; every line that is not well says what to do."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2

from atlas import own_words
from atlas.agents.house_sentences import FILE, read_sentences, sentences_file
from atlas.cli import door, memory
from atlas.cli.lock import running_process, warming_up_seconds
from atlas.config import Config, SpeechConfig
from atlas.config import load as load_config
from atlas.errors import ConfigError
from atlas.models.ears import ears_for
from atlas.own_words import noted, own
from atlas.speech.voices import FETCH_A_VOICE, STANDS_IN, USUAL, language_name, speaks, voices_for
from atlas.store.backup import failed_backup, is_unfinished, last_backup
from wall.chain import older_files, verify
from wall.meta import EGRESS_HEAD_AUDIENCE

_KEEP = noted(
    "somebody or something changed it: keep a copy; to begin a new one, move it, its .head and what is signed of it"
    " (secrets/record.head or egress.head) away"
)
_REMOUNT = noted("look why (dmesg: a disk that fails is often made so), and mount it so that it can be written")
_NO_BACKUP = noted("set folder in [backup], on another disk, and the house makes one every day (in the app: Settings)")
_IN_A_WHILE = noted("nothing is wrong; look again in a minute")
_SEE_WHAT_WAITS = noted("that is long: see in the log what it waits for")
_WRITABLE = noted("let its disk be written, and ask again")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
OLDEST_PYTHON = (3, 11)
FREE_BYTES = 500_000_000  # below this, memory files and recordings will soon fail
HEALTH_SECONDS = 10.0
LONGEST_WARM_UP_SECONDS = 600  # a 70B model is read from a slow disk in five minutes
HEALTH = "/health"
DAY_SECONDS, OLD_DAYS = 86_400, 30  # what is said and noted in a month is missed


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `advice` only when it is not well; `grave` when Atlas cannot work like that."""

    what: str
    seen: str
    advice: str = ""
    grave: bool = True
    log: str = ""  # a part's own words, in English


def main(arguments: Sequence[str]) -> int:
    """Print what is well and what is not; the status is 1 when something is grave."""
    parser = argparse.ArgumentParser(prog="atlas doctor", description=__doc__)
    parser.add_argument("--memory", action="store_true", help="only print how much memory the running house takes")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--language", default="en", choices=own_words.languages(), help="of what is seen and advised")
    given = parser.parse_args(arguments)
    own_words.speaks(given.language)
    config = load_config(os.environ)
    if given.memory:
        return memory.show(config, as_json=given.json)
    findings = list(examine(config))
    if given.json:
        rows = [
            {
                **{"what": own(f.what), "seen": f.seen, "advice": f.advice, "log": f.log},
                **{"well": not f.advice, "grave": bool(f.advice) and f.grave},
            }
            for f in findings
        ]
        print(json.dumps({"findings": rows, "well": not any(f.advice and f.grave for f in findings)}))
    else:
        for f in findings:
            seen = f"{f.seen}: {f.log}" if f.log else f.seen
            print(f"{'well ' if not f.advice else 'WRONG' if f.grave else 'note '}  {own(f.what):11} {seen}")
            if f.advice:
                print(f"                   → {f.advice}")
    return 1 if any(f.advice and f.grave for f in findings) else 0


def examine(config: Config) -> Iterator[Finding]:
    """Yield every finding, the most basic first."""
    yield _python()
    yield Finding("settings", str(config.file) if config.file else own("defaults, for there is no atlas.toml"))
    yield _data(config)
    yield _disk(config)
    yield from _models(config)
    yield from _cards(config)
    memories = sorted({agent.memory for agent in config.agents.values()} | {"devices.db", "voices.db"})
    for file in [*(config.data / name for name in memories), config.tools_data / "tools.db"]:
        if file.exists():
            yield _file(file)
    yield from _records(config)
    yield _egress(config)
    yield _backup(config)
    if config.gateway.https_host:
        yield _certificates(config)
    yield from _rooms(config)
    running = running_process(config)
    yield _port(config, running)
    if running is None:
        yield _sentences(config)
    else:
        yield from _parts(config)
        if warming_up_seconds(config) is None:
            yield from _walls(config)


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    advice = "" if sys.version_info >= OLDEST_PYTHON else own("install Python 3.11 or newer, and run ./up again")
    return Finding("python", own("{version} at {program}").format(version=version, program=sys.executable), advice)


def _data(config: Config) -> Finding:
    folder = config.data
    if not folder.exists():
        return Finding(
            "data", own("{folder} is not there yet").format(folder=folder), own("run ./up, which makes it"), grave=False
        )
    if _is_read_only(folder):
        return Finding("data", own("{folder} lies on a disk that is read-only").format(folder=folder), own(_REMOUNT))
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Finding(
            "data",
            own("{folder} cannot be written").format(folder=folder),
            own("sudo chown -R $USER {folder}, or set ATLAS_DATA").format(folder=folder),
        )
    if folder.stat().st_mode & 0o077:
        return Finding(
            "data", own("{folder} can be read by others").format(folder=folder), f"chmod 700 {folder}", grave=False
        )
    return Finding("data", str(folder))


def _rooms(config: Config) -> Iterator[Finding]:
    """Yield what keeps devices that the house calls from being rooms of it."""
    devices = config.esphome_devices
    if devices and not config.esphome.host:
        advice = own("set host in [esphome] to this machine's address in their network, and restart")
        seen = own("ESPHome's devices have nowhere to fetch what they are to say")
        yield Finding("rooms", seen, advice, grave=False)
    for one in devices:
        if one.key_file and not os.access(one.key_file, os.R_OK):
            advice = own("write the api encryption key of {device} into it").format(device=one.device)
            yield Finding("rooms", own("{file} cannot be read").format(file=one.key_file), advice, grave=False)


def _is_read_only(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _disk(config: Config) -> Finding:
    there = next(folder for folder in (config.data, *config.data.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    advice = "" if free >= FREE_BYTES else own("free some space on the disk of {folder}").format(folder=there)
    return Finding("disk", own("{free} GB free").format(free=f"{free / 1e9:.1f}"), advice)


def _models(config: Config) -> Iterator[Finding]:
    from atlas.models import catalogue

    speech, voices = ears_for(config.speech), voices_for(config.speech)
    for language, voice in voices.items():
        yield from _voice(config, language, voice)
    piper = {voice.voice for voice in voices.values() if voice.tts == "piper"}
    wanted = {speech.stt_model, *piper, *filter(None, [speech.second_pass_model])} | {
        m.model for m in config.llm.values() if not m.url
    }
    wanted |= {m.embedder for m in config.llm.values() if m.embedder and not m.url}
    known = {model.name: model for model in catalogue.load()}
    for name in sorted(wanted):
        folder = config.models.folder / name
        if not folder.is_dir():
            missing = own("{name} is not at {folder}").format(name=name, folder=folder)
            yield Finding("model", missing, own("run `atlas models fetch`, or ./up"))
        elif name not in known:
            unknown = own("{name} is there; it is not in the catalogue, so nothing tells if it is whole")
            yield Finding("model", unknown.format(name=name))
        elif faults := known[name].faults(config.models.folder):
            yield Finding("model", f"{name}: {'; '.join(faults)}", own("run `atlas models fetch`"))
        else:
            yield Finding("model", own("{name} is whole").format(name=name))


def _cards(config: Config) -> Iterator[Finding]:
    """Yield each model that is to have a graphics card which is not here: it would see none."""
    from atlas.models import machine

    wanted = {name: llm.gpu for name, llm in config.llm.items() if llm.gpu >= 0 and not llm.url}
    count = len(machine.gpus()) if wanted else 0
    for name, gpu in wanted.items():
        if gpu >= count:
            seen = own("[llm.{name}] asks for graphics card {gpu}; this machine has {count}, counted from 0")
            advice = own("set gpu there to the number of a card that `nvidia-smi` lists, or leave it out for all cards")
            yield Finding("model", seen.format(name=name, gpu=gpu, count=count), advice, grave=False)


def _voice(config: Config, language: str, speech: SpeechConfig) -> Iterator[Finding]:
    """Tell who speaks a language where the usual voice is of another."""
    if config.speech.voice != USUAL or config.speech.tts != "piper" or speaks(USUAL, language):
        return
    if speech.tts == "espeak":
        seen, advice = (own(text).format(language=language_name(language)) for text in (STANDS_IN, FETCH_A_VOICE))
        yield Finding("voice", seen, advice, grave=False)
    elif speech.voice == USUAL:
        advice = own("fetch a voice that speaks {language} (`atlas models`), or install espeak-ng")
        seen = own("the usual voice speaks no {language}")
        named = language_name(language)
        yield Finding("voice", seen.format(language=named), advice.format(language=named))


def _file(file: Path) -> Finding:
    # A log beside the file cannot be read where nothing can be written; without it the file may be half of a whole.
    unwritable = _is_read_only(file.parent) or os.statvfs(file.parent).f_bavail == 0
    how = "mode=ro&immutable=1" if unwritable else "mode=ro"
    try:
        connection = sqlite3.connect(f"{file.as_uri()}?{how}", uri=True)
        try:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as trouble:  # SQLite quotes what is no text any more
        verdict = str(trouble)
        if getattr(trouble, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _DAMAGED:
            seen = own("{name} cannot be looked at: {verdict}").format(name=file.name, verdict=verdict)
            return Finding("memory", seen, own(_WRITABLE))
    if verdict != "ok" and unwritable:
        seen = own("{name} cannot be judged while nothing can be written: {verdict}")
        return Finding("memory", seen.format(name=file.name, verdict=verdict), own(_WRITABLE))
    if verdict == "ok":
        return Finding("memory", own("{name} is whole").format(name=file.name))
    advice = own("stop Atlas, then put back a copy, or start anew: mv {file} {file}.damaged").format(file=file)
    return Finding("memory", own("{name} is damaged: {verdict}").format(name=file.name, verdict=verdict), advice)


def _records(config: Config) -> Iterator[Finding]:
    """Look whether the records of calls and of ways out are as they were written, to their last row."""
    from atlas.confirmations import HouseKey, read_house_key

    key = HouseKey(read_house_key(config.house_key)) if config.house_key.exists() else None
    heads = [
        (config.tools_data / "audit.jsonl", key.read_head(config.record_head) if key else None),
        (config.egress_record, key.read_head(config.egress_head, EGRESS_HEAD_AUDIENCE) if key else None),
    ]
    for file, head in heads:
        if not file.exists() and not head and not older_files(file):
            continue
        try:
            verdict = verify(file, head)
        except OSError as trouble:
            seen = own("{file} cannot be read: {trouble}").format(file=file, trouble=trouble.strerror)
            yield Finding("record", seen, own("rows may have been taken away"))
            continue
        if not verdict.problems:
            seen = own("{name} has {rows} rows, all as they were written")
            yield Finding("record", seen.format(name=file.name, rows=verdict.rows))
            continue
        seen = own("{name} has {rows} rows, {problems}")
        problems = "; ".join(verdict.problems)
        yield Finding("record", seen.format(name=file.name, rows=verdict.rows, problems=problems), own(_KEEP))


def _port(config: Config, running: int | None) -> Finding:
    """Say whether Atlas runs, or else whether another program has its port."""
    if running is not None:
        return Finding("atlas", own("runs as process {running}").format(running=running))
    where = config.gateway.host, config.gateway.port
    try:
        socket.create_connection(where, timeout=1).close()
    except OSError:
        return Finding("atlas", own("does not run"), own("start it with ./up"), grave=False)
    seen = own("{address} belongs to another program").format(address=f"{where[0]}:{where[1]}")
    return Finding("port", seen, own("stop it, or choose another [gateway] port"))


def _parts(config: Config) -> Iterator[Finding]:
    """Ask the running house how its parts are; one that is still warming up answers nobody yet."""
    warming_up = warming_up_seconds(config)
    if warming_up is not None:
        seen = own("has been warming up for {seconds} s").format(seconds=round(warming_up))
        is_late = warming_up > LONGEST_WARM_UP_SECONDS
        yield Finding("health", seen, own(_SEE_WHAT_WAITS if is_late else _IN_A_WHILE), grave=is_late)
        return
    try:
        headers = {"accept-language": own_words.language()}
        address = f"{door.address(config)}{HEALTH}"
        response = httpx2.get(address, timeout=HEALTH_SECONDS, trust_env=False, headers=headers)
        details = response.json()
    except (httpx2.TransportError, ValueError):
        seen = own("{address} does not answer").format(address=door.address(config))
        yield Finding("health", seen, own("see the log; if it says nothing of this, start Atlas again"))
        return
    status = str(details.get("status"))
    if status == "warming up":
        yield Finding("health", own("is warming up"), own(_IN_A_WHILE), grave=False)
    else:
        well = status == "ok"
        yield Finding("health", own(status), "" if well else own("look at the parts below, and at Atlas's log"))
    for part, state in details.get("parts", {}).items():
        if state.get("ok", False):
            yield Finding(part, state.get("what", ""))
            continue
        advice = state.get("hint") or own("it should be back in a moment")
        is_loading = bool(state.get("warming_up"))
        seen = own("is warming up") if is_loading else own("does not answer as it should")
        yield Finding(part, seen, advice, grave=not is_loading, log=state.get("what", ""))


def _sentences(config: Config) -> Finding:
    """Look at the house's own sentences; the running house says more of them, for it knows the tools."""
    try:
        files = {code: config.data / sentences_file(code, config.house.spoken) for code in config.house.spoken}
        count = sum(len(read_sentences(file, code).examples) for code, file in files.items())
    except ConfigError as trouble:
        return Finding("sentences", str(trouble), trouble.hint, grave=False)
    seen = own("{count} in {file}") if count else own("none yet")
    return Finding("sentences", seen.format(count=count, file=FILE))


def _egress(config: Config) -> Finding:
    allowed = config.egress.allow
    seen = own("only to {places}") if allowed else own("none: nothing leaves the house")
    return Finding("way out", seen.format(places=", ".join(allowed)))


def _backup(config: Config) -> Finding:
    """Look when the last backup was made, and whether a restore was cut off. A backup need not be within reach."""
    if is_unfinished(config.data):
        again = own("run the same `atlas backup restore` again")
        return Finding("backup", own("a restore into {folder} was cut off").format(folder=config.data), again)
    if failed := failed_backup(config.data):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(failed.at))
        again = own("put that right; it is tried again every hour, and at once by `atlas backup create`")
        seen = own("the day's backup failed at {when}: {why}").format(when=when, why=" ".join(failed.why.split()))
        return Finding("backup", seen, again, grave=False)
    last = last_backup(config.data)
    if last is None:
        return Finding("backup", own("none was ever made"), own(_NO_BACKUP), grave=False)
    days = max(0, int((time.time() - last.at) // DAY_SECONDS))
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(last.at))
    advice = own("make another: `atlas backup create DIR`") if days > OLD_DAYS else ""
    seen = own("{made}, {days} days ago: {file}, secrets: {secrets}")
    seen = seen.format(made=made, days=days, file=last.file, secrets=own(last.secrets))
    return Finding("backup", seen, advice, grave=False)


def _certificates(config: Config) -> Finding:
    """Look at what https is served with, as its files have it; only looks, and makes nothing."""
    from datetime import UTC, datetime

    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    renew = own("start Atlas: it makes and renews certificates while it runs")
    try:
        authority, leaf = (
            x509.load_pem_x509_certificates((config.certificates / name).read_bytes())[0]
            for name in ("ca.pem", "leaf.pem")
        )
    except (OSError, ValueError) as trouble:
        return Finding("https", own("there is no certificate: {trouble}").format(trouble=trouble), renew)
    ends = min(authority.not_valid_after_utc, leaf.not_valid_after_utc)
    digest = authority.fingerprint(SHA256()).hex(":").upper()
    seen = own("certificate until {ends}; the authority's SHA-256 is {digest}")
    seen = seen.format(ends=f"{ends:%Y-%m-%d}", digest=digest)
    return Finding("https", seen, "" if datetime.now(UTC) < ends else renew)


def _walls(config: Config) -> Iterator[Finding]:
    """Let the tool server try to get out of its walls, and tell what became of it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        try:
            details = _tried(config, listening.getsockname()[1])
        except (httpx2.HTTPError, ValueError, OSError):
            advice = own("is it still warming up? Else start Atlas again")
            yield Finding("walls", own("the tool server could not be asked"), advice)
            return
        reached = _knocked(listening)
    standing = ", ".join(f"{wall}: {what}" for wall, what in details["walls"].items())
    seen = own("around the tools stand {standing}").format(standing=standing)
    yield Finding("walls", seen, _missing(details["walls"]), grave=False)
    stopped = {
        "tcp": "" if reached else details["stopped"]["tcp"],
        **{k: v for k, v in details["stopped"].items() if k != "tcp"},
    }
    tries = {"tcp": own("a connection"), "udp": own("a packet"), "names": own("a name server"), "file": "/etc/passwd"}
    for way, wall in stopped.items():
        seen = own("the tools tried {what}, and were refused it") if wall else own("the tools tried {what}, and got it")
        advice = "" if wall else own("the tools are not walled in; see the advice on walls above")
        yield Finding("proof", seen.format(what=tries.get(way, own("a program"))), advice, log=wall)


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
    return own("allow user namespaces and seccomp here, or take a kernel with Landlock (6.7 or newer)")
