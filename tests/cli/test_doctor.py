from __future__ import annotations

import dataclasses
import json
import os
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from atlas.cli import doctor, memory
from atlas.cli.keys import make_house_key, prepare_folders, settle_tools
from atlas.cli.lock import only_one
from atlas.cli.run import programs
from atlas.config import Config, EgressConfig, EsphomeDeviceConfig, GatewayConfig
from atlas.confirmations import HouseKey, read_house_key
from atlas.errors import ConfigError
from atlas.own_words import speaking
from atlas.store import backup
from atlas.store.backup_contents import LAST_BACKUP, UNFINISHED
from tests.conftest import SmallDisk
from wall.chain import Chain, head_of


@pytest.fixture
def settled(config: Config) -> Config:
    """A data directory as `atlas run` leaves it, no weights, which would be read whole, and a port that nobody has."""
    prepare_folders(config)
    models = dataclasses.replace(config.models, folder=config.data / "models")
    return dataclasses.replace(config, gateway=GatewayConfig(https_host="", port=9), models=models)


def findings(config: Config) -> dict[str, doctor.Finding]:
    return {finding.what: finding for finding in doctor.examine(config)}


def test_a_damaged_memory_is_found_with_what_to_do(settled: Config) -> None:
    (settled.data / "atlas.db").write_bytes(b"no database " * 500)
    finding = findings(settled)["memory"]
    assert "atlas.db is damaged" in finding.seen
    assert "mv " in finding.advice


def test_a_memory_whose_schema_is_no_text_any_more_is_damaged(settled: Config) -> None:
    file = settled.data / "atlas.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE words (word)")
    content = file.read_bytes().replace(b"CREATE TABLE words", b"CREATE TUBLE words")
    file.write_bytes(content.replace(b"tablewordswords", b"tablew\xffrdsw\xffrds"))
    assert "atlas.db is damaged" in findings(settled)["memory"].seen


def test_what_keeps_an_esphome_device_from_being_a_room_is_said(settled: Config, data: Path) -> None:
    device = EsphomeDeviceConfig("192.168.1.21", device="kitchen voice", key_file=str(data / "voice.key"))
    rooms = [
        one for one in doctor.examine(dataclasses.replace(settled, esphome_devices=(device,))) if one.what == "rooms"
    ]
    assert ["[esphome]" in rooms[0].advice, "kitchen voice" in rooms[1].advice] == [True, True]
    assert "rooms" not in findings(settled)


@pytest.mark.parametrize("how", ["read-only", "full"])
def test_a_disk_that_takes_nothing_is_told_and_no_database_called_damaged(
    small_disk: SmallDisk, config: Config, how: str
) -> None:
    config = dataclasses.replace(config, data=small_disk.folder, gateway=GatewayConfig(https_host="", port=9))
    prepare_folders(config)
    database = sqlite3.connect(config.data / "atlas.db")
    database.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1);")
    database.close()
    Path(config.data / "work.db").write_bytes(b"no database " * 500)
    small_disk.read_only() if how == "read-only" else small_disk.fill()
    results = {finding.seen: finding for finding in doctor.examine(config)}
    assert results["atlas.db is whole"].advice == ""
    assert "mv " not in next(finding.advice for seen, finding in results.items() if "work.db" in seen)
    text = f"{config.data} lies on a disk that is read-only" if how == "read-only" else "0.0 GB free"
    assert results[text].advice
    with pytest.raises(ConfigError, match=f"is {how}") as refused:
        prepare_folders(config)
    assert "start again" in refused.value.hint


def test_rows_cut_from_a_record_are_found_also_when_its_head_was_rewritten(settled: Config) -> None:
    make_house_key(settled)
    settle_tools(settled)
    chain = Chain(settled.tools_data / "audit.jsonl")
    for number in range(5):
        chain.append({"number": number})
    chain.close()
    record = findings(settled)["record"]
    assert (record.seen, record.advice) == ("audit.jsonl has 5 rows, all as they were written", "")
    settled.record_head.write_text(HouseKey(read_house_key(settled.house_key)).signed_head(chain.head, 0.0))
    lines = chain.file.read_bytes().splitlines(keepends=True)
    chain.file.write_bytes(b"".join(lines[:3]))
    head_of(chain.file).unlink()
    Chain(chain.file).close()
    record = findings(settled)["record"]
    assert "the record ends at row 3; 5 were written" in record.seen
    assert "keep a copy" in record.advice
    chain.file.unlink()
    assert "cannot be read" in findings(settled)["record"].seen


def test_the_encoder_of_vectors_is_looked_at_too(settled: Config) -> None:
    assert any("all-minilm-l6-v2" in finding.seen for finding in doctor.examine(settled))


def test_a_missing_model_is_found_with_what_to_do(settled: Config) -> None:
    missing = dataclasses.replace(settled, speech=dataclasses.replace(settled.speech, voice="xx_XX-nobody"))
    advice = [f.advice for f in doctor.examine(missing) if "xx_XX-nobody" in f.seen]
    assert len(advice) == 1
    assert "atlas models fetch" in advice[0]


def test_a_model_that_asks_for_a_card_which_is_not_here_is_noted(
    settled: Config, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "nvidia-smi").write_text("#!/bin/sh\necho 'NVIDIA GeForce RTX 3060, 11000'\n")
    (data / "nvidia-smi").chmod(0o700)
    monkeypatch.setenv("PATH", f"{data}:{os.environ['PATH']}")
    embedded = settled.llm["embedded"]
    for gpu, noted in ((-1, []), (0, []), (3, ["graphics card 3; this machine has 1"])):
        one = dataclasses.replace(settled, llm={"embedded": dataclasses.replace(embedded, gpu=gpu)})
        told = [found for found in doctor.examine(one) if "graphics card" in found.seen]
        assert [found.seen.partition("asks for ")[2].partition(",")[0] for found in told] == noted
        assert all("nvidia-smi" in found.advice and not found.grave for found in told)


def test_a_mistake_in_the_sentences_of_the_house_is_told_by_its_line(settled: Config) -> None:
    assert findings(settled)["sentences"].seen == "none yet"
    (settled.data / "sentences.yaml").write_text("intents:\n  clock.time: {data: [{sentences: [(oh]}]}\n")
    finding = findings(settled)["sentences"]
    assert "sentences.yaml, line 2: this is no sentence of hassil's" in finding.seen
    assert finding.advice
    assert not finding.grave


def test_the_last_backup_is_told_and_one_that_is_missing_old_or_half_given_back_is_noted(
    settled: Config, data: Path
) -> None:
    assert "none was ever made" in findings(settled)["backup"].seen
    (settled.data / "taught.json").write_text("{}")
    file = backup.create(settled, data / "disk")
    assert str(file) in findings(settled)["backup"].seen
    assert not findings(settled)["backup"].advice
    last = json.loads((settled.data / LAST_BACKUP).read_text())
    (settled.data / LAST_BACKUP).write_text(json.dumps(last | {"at": last["at"] - 40 * 86_400}))
    assert "make another" in findings(settled)["backup"].advice
    (settled.data / UNFINISHED).touch()
    assert findings(settled)["backup"].grave


def test_a_port_that_another_program_has_is_found(settled: Config) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = dataclasses.replace(settled, gateway=GatewayConfig(https_host="", port=other.getsockname()[1]))
        assert "belongs to another program" in findings(taken)["port"].seen


def test_a_house_on_an_ipv6_address_is_looked_at_too(settled: Config) -> None:
    results = findings(dataclasses.replace(settled, gateway=GatewayConfig(https_host="", host="::1", port=9)))
    assert results["atlas"].seen == "does not run"


def test_a_data_directory_that_others_can_read_is_noted(settled: Config) -> None:
    settled.data.chmod(0o755)
    finding = findings(settled)["data"]
    assert "chmod 700" in finding.advice
    assert not finding.grave


def test_memory_counts_a_process_and_what_it_started() -> None:
    rows = [memory._taken(pid) for pid in memory.family(os.getpid())]
    assert rows[0]
    assert rows[0].pss > 10_000_000
    assert rows[0].rss >= rows[0].pss


def test_memory_of_a_house_that_does_not_run_says_so(settled: Config) -> None:
    with pytest.raises(ConfigError, match="does not run"):
        memory.house(settled)


def test_the_way_out_is_told_as_it_is(settled: Config) -> None:
    assert findings(settled)["way out"].seen == "none: nothing leaves the house"
    listed = dataclasses.replace(settled, egress=EgressConfig(allow=("a.org:443",)))
    assert findings(listed)["way out"].seen == "only to a.org:443"


@pytest.mark.real
def test_it_proves_the_walls_of_the_tools_by_trying_them(settled: Config) -> None:
    used = dataclasses.replace(settled, agents={})
    (tools,) = programs(used)
    with subprocess.Popen(tools.command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            assert process.stderr.readline().startswith("ready")
            matching_findings = list(doctor._walls(used))
        finally:
            process.terminate()
    assert [f.what for f in matching_findings] == ["walls", "proof", "proof", "proof", "proof", "proof"]
    assert [f.seen for f in matching_findings if f.advice] == []
    assert matching_findings[1].seen == "the tools tried a connection, and were refused it"
    assert matching_findings[1].log == "Operation not permitted"


def test_a_tool_server_without_walls_is_found_out(settled: Config) -> None:
    """The doctor believes its own ears, not only what it is told."""
    lie = {"walls": {"network": "namespace", "files": "landlock v7", "calls": "none"}, "stopped": {"tcp": "No."}}

    async def walls(request: Request) -> JSONResponse:
        socket.create_connection(("127.0.0.1", int(request.query_params["port"]))).close()
        return JSONResponse(lie)

    settled.tools_token("house").write_text("t")
    server = uvicorn.Server(
        uvicorn.Config(Starlette(routes=[Route("/walls", walls)]), uds=str(settled.socket("tools")), log_config=None)
    )
    serving = threading.Thread(target=server.run)
    serving.start()
    try:
        while not server.started:
            serving.join(0.01)
        matching_findings = list(doctor._walls(settled))
    finally:
        server.should_exit = True
        serving.join()
    assert "see the advice" in matching_findings[1].advice
    assert "kernel with Landlock" in matching_findings[0].advice


def test_a_house_that_is_warming_up_is_told_as_that_until_it_answers(settled: Config) -> None:
    with only_one(settled) as note_ready:
        health = findings(settled)["health"]
        assert ("warming up" in health.seen, health.grave) == (True, False)
        note_ready()
        health = findings(settled)["health"]
        assert ("does not answer" in health.seen, health.grave) == (True, True)
        os.utime(settled.run / "lock", (0, 0))
    with only_one(settled):
        os.utime(settled.run / "lock", (0, 0))
        assert findings(settled)["health"].grave, "it has been at it for too long"


def test_a_model_that_is_still_loading_is_told_as_warming_up_and_one_that_is_gone_is_not(settled: Config) -> None:
    hint = "wait until it is loaded: it then answers by itself"
    loading = {"ok": False, "what": "the model is still loading", "hint": hint, "warming_up": True}
    gone = {"ok": False, "what": "nobody answers", "hint": "see the log", "warming_up": False}
    for status, part, grave in (("warming up", loading, False), ("degraded", gone, True)):
        with health_of_a_house(settled, {"status": status, "parts": {"llm embedded": part}}) as running:
            health, model = doctor._parts(running)
        assert (health.seen, health.grave, model.grave) == (status if grave else "is warming up", grave, grave)
        assert health.advice
        assert model.advice == part["hint"]


@contextmanager
def health_of_a_house(config: Config, details: dict[str, object]) -> Iterator[Config]:
    """Answer at a free port as a running house does when it is asked how it is."""

    async def health(request: Request) -> JSONResponse:
        return JSONResponse(details, 200 if details["status"] == "ok" else 503)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=[Route("/health", health)]), log_config=None))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        serving.start()
        try:
            port = listener.getsockname()[1]
            yield dataclasses.replace(config, gateway=GatewayConfig(https_host="", port=port))
        finally:
            server.should_exit = True
            serving.join()


def test_a_german_page_reads_every_finding_in_german(settled: Config) -> None:
    (settled.data / "atlas.db").write_bytes(b"no database " * 500)
    with speaking("de"):
        seen = {one.what: one for one in doctor.examine(settled)}
    assert seen["memory"].advice.startswith("Atlas anhalten, dann eine Kopie zurückspielen")
    assert (seen["atlas"].seen, seen["atlas"].advice) == ("läuft nicht", "mit ./up starten")
    assert seen["way out"].seen == "keiner: Nichts verlässt das Haus"
