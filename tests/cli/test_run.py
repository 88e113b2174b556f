from __future__ import annotations

import dataclasses
import http.client
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest

from atlas.access.qr import blocks
from atlas.cli import memory
from atlas.cli.keys import prepare_folders
from atlas.cli.lock import only_one, running_process
from atlas.cli.run import embedder, programs, say_ready, unsound_rules, weights
from atlas.config import Config, EgressConfig, GatewayConfig, LlmConfig, ModelsConfig
from atlas.errors import ConfigError
from atlas.satellite.main import read
from wall.unsound_rules import UnsoundRules


def test_two_houses_in_one_data_directory_are_one_too_many(config: Config) -> None:
    prepare_folders(config)
    with only_one(config):
        running_already = pytest.raises(ConfigError, match=f"running already on .*process {os.getpid()}")
        with running_already as second, only_one(config):
            pass
        assert "ATLAS_DATA" in second.value.hint
        assert running_process(config) == os.getpid()
    assert running_process(config) is None
    with only_one(config):
        pass


def test_each_model_that_an_agent_uses_gets_a_process_and_no_other(config: Config, data: Path) -> None:
    for name in ("small", "big"):
        (data / "models" / name).mkdir(parents=True)
        (data / "models" / name / "weights.gguf").write_bytes(b"GGUF")
    llm = {
        "embedded": LlmConfig(model="small", gpu_layers=-1, gpu=1),
        "unused": LlmConfig(model="big"),
        "far": LlmConfig(kind="server", url="http://127.0.0.1:1/v1"),
    }
    agents = {**config.agents, "work": dataclasses.replace(config.agents["work"], llm="far")}
    own_config = dataclasses.replace(config, llm=llm, agents=agents, models=ModelsConfig(data / "models"))
    prepare_folders(own_config)
    assert [program.name for program in programs(own_config)] == ["tools", "llm-embedded"]
    command = programs(own_config)[1].command
    assert str(data / "models" / "small" / "weights.gguf") in command
    assert (command[command.index("--gpu-layers") + 1], command[command.index("--gpu") + 1]) == ("-1", "1")


def test_an_encoder_goes_with_a_model_when_it_is_there_and_one_asked_for_in_vain_is_named(
    config: Config, data: Path
) -> None:
    own_config = dataclasses.replace(config, models=ModelsConfig(data))
    assert embedder(own_config, LlmConfig()) is None
    (data / "all-minilm-l6-v2").mkdir()
    (data / "all-minilm-l6-v2" / "x.gguf").write_bytes(b"GGUF")
    assert embedder(own_config, LlmConfig()) == data / "all-minilm-l6-v2" / "x.gguf"
    assert embedder(own_config, LlmConfig(embedder="")) is None
    with pytest.raises(ConfigError, match=r"there is no model .*/another"):
        embedder(own_config, LlmConfig(embedder="another"))


@pytest.mark.parametrize("files", [(), ("a.gguf", "b.gguf")])
def test_a_model_folder_without_exactly_one_file_says_what_to_do(
    config: Config, data: Path, files: tuple[str, ...]
) -> None:
    (data / "small").mkdir()
    for file in files:
        (data / "small" / file).write_bytes(b"GGUF")
    with pytest.raises(ConfigError, match=r"\.gguf files") as trouble:
        weights(dataclasses.replace(config, models=ModelsConfig(data)), LlmConfig(model="small"))
    assert "atlas models fetch" in trouble.value.hint


def on_a_terminal(config: Config, *, first_time: bool, **more: str) -> str:
    """What a person sees who starts Atlas."""
    ours, its = os.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen, os.fdopen(its, "w") as terminal, redirect_stdout(terminal):
        say_ready(config, "atlas_secret", first_time=first_time, seconds=6.2, **more)
        return screen.read(16_384).decode()


def test_the_owners_link_is_shown_once(config: Config) -> None:
    assert "http://127.0.0.1:8600/#token=atlas_secret" in on_a_terminal(config, first_time=True)
    assert "atlas_secret" not in on_a_terminal(config, first_time=False)


def test_phones_are_told_where_they_come_in_and_the_first_of_them_by_a_picture(config: Config) -> None:
    outside = "https://192.168.1.5:8643"
    screen = on_a_terminal(config, first_time=False, setup_code="ABCD-2345", outside=outside)
    assert f"{outside}/ca/" in screen
    assert f"{outside}/pair" in screen
    assert "ABCD-2345" in screen
    assert blocks(f"{outside}/pair#ABCD-2345") in screen.replace("\r\n", "\n")
    assert "█" not in on_a_terminal(config, first_time=False, outside=outside), "a house that is claimed shows no code"


def test_the_owners_token_is_not_written_into_a_file_or_a_log(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    say_ready(config, "atlas_secret", first_time=True, seconds=6.2)
    shown = capsys.readouterr().out
    assert "atlas_secret" not in shown
    assert str(config.owner_token) in shown


def test_the_commands_it_tells_can_be_pasted_into_any_terminal(
    config: Config, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    say_ready(config, "atlas_secret", first_time=False, seconds=6.2)
    messages = re.findall(r"^  (?:ask|play|let in) +(\S+) ", capsys.readouterr().out, re.MULTILINE)
    assert len(messages) == 3
    assert all(os.access(command, os.X_OK) for command in messages)


def test_the_link_can_be_opened_wherever_atlas_listens(config: Config) -> None:
    open_to_all = dataclasses.replace(config, gateway=GatewayConfig(https_host="", host="0.0.0.0"))
    assert "http://127.0.0.1:8600/#token=atlas_secret" in on_a_terminal(open_to_all, first_time=True)


@pytest.mark.real
def test_a_port_that_is_taken_is_known_before_anything_is_loaded(data: Path) -> None:
    """By then drafts of passwords are gone that a killed house left."""
    draft = data / "secrets" / "settings" / ".mail-password.a1b2c3d4"
    draft.parent.mkdir(parents=True)
    draft.write_text("hunter2")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        environment = os.environ | {"ATLAS_DATA": str(data), "ATLAS_GATEWAY_PORT": str(other.getsockname()[1])}
        run = subprocess.run(
            [sys.executable, "-m", "atlas.cli.main", "run"], env=environment, capture_output=True, text=True, timeout=60
        )
    assert run.returncode == 1
    assert "cannot listen on" in run.stderr
    assert "warming" not in run.stdout
    assert "Traceback" not in run.stderr
    assert not draft.exists()


def gone_within(pid: int, seconds: float) -> bool:
    """Wait for the end of a process that is no child of ours."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], seconds)[0])
    finally:
        os.close(process)


@contextmanager
def running(data: Path) -> Iterator[subprocess.Popen[str]]:
    """A whole real house, until the end of the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"ATLAS_DATA": str(data), "ATLAS_GATEWAY_PORT": str(port)}
    command = [sys.executable, "-m", "atlas.cli.main", "run"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=(data / "log").open("w"), text=True
    ) as house:
        assert house.stdout
        for line in house.stdout:
            if line.startswith("Atlas is ready"):
                break
        else:
            pytest.fail((data / "log").read_text())
        try:
            yield house
        finally:
            if house.poll() is None:
                house.terminate()


@contextmanager
def open_page(house: subprocess.Popen[str], data: Path) -> Iterator[http.client.HTTPResponse]:
    """A page that listens for what changes, as every page does while it is open."""
    environment = dict(
        line.split("=", 1) for line in Path(f"/proc/{house.pid}/environ").read_text().split("\0") if "=" in line
    )
    token = (data / "secrets" / "owner.token").read_text().strip()
    connection = http.client.HTTPConnection("127.0.0.1", int(environment["ATLAS_GATEWAY_PORT"]), timeout=20)
    connection.request("GET", "/api/events", headers={"Authorization": f"Bearer {token}"})
    reply = connection.getresponse()
    assert reply.status == 200, reply.read()
    yield reply
    connection.close()


@pytest.mark.real
async def test_rules_are_proven_for_the_agents_of_the_house_before_they_count(config: Config) -> None:
    prepare_folders(config)
    programs(config)  # which writes who the agents are, as every start does
    rules = config.tools.policy.read_text()
    never = '[[rule]]\nid = "never"\nthen = "deny"\ntools = ["nothing.*"]\nbecause = "No."\n'
    assert await unsound_rules(config, rules) is None
    problem = await unsound_rules(config, rules + never)
    assert problem
    assert problem.sentence.startswith("The rule 'never' can never fire: ")
    assert (problem.never, problem.before) == ("never", None)
    always = never.replace("nothing.*", "timers.*")
    again = await unsound_rules(config, rules + always + always.replace('"never"', '"again"'))
    assert again
    assert again.details == {"never": "again", "before": ("never",)}
    assert await unsound_rules(config, "[[rule]]\n") == UnsoundRules(
        "policy.toml: rule 1 needs an id of small letters, digits and hyphens, such as rule-1."
    )
    assert not list(config.secrets.glob(".*"))


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_whole_house_starts_and_ends_in_time_with_all_its_processes(data: Path, number: signal.Signals) -> None:
    with running(data) as house:
        family = list(memory.family(house.pid))
        assert len(family) == 3
        with open_page(house, data) as page:
            house.send_signal(number)
            assert house.wait(timeout=6) == 0
            page.read()  # raises `IncompleteRead` where it was cut off, and told no end
    assert [pid for pid in family if Path(f"/proc/{pid}").exists()] == []
    log = (data / "log").read_text()
    assert "Traceback" not in log
    assert re.search(r"llm-embedded is ready pid=\d+", log)


@pytest.mark.real
def test_a_house_that_is_killed_leaves_no_process_behind_and_starts_again(data: Path) -> None:
    with running(data) as house:
        family = list(memory.family(house.pid))
        house.kill()
        house.wait(timeout=5)
    for pid in family:
        assert gone_within(pid, seconds=5), "a child outlived its house"
    with running(data) as again:
        again.terminate()
        assert again.wait(timeout=6) == 0


def test_no_text_of_the_settings_is_an_option_of_the_room(config: Config) -> None:
    room = dataclasses.replace(config.satellite, enabled=True, microphone="--help", loudspeaker="-x")
    words = dataclasses.replace(config.speech, wake_words=("--help", "hey atlas"))
    prepare_folders(config)
    config.satellite_token.write_text("atlas_token")
    *_, satellite = programs(dataclasses.replace(config, agents={}, satellite=room, speech=words))
    given = read(satellite.command[3:])
    assert given.wake_words == ("--help", "hey atlas")
    assert (given.microphone.name, given.loudspeaker.name) == ("--help", "-x")


def test_a_way_out_of_the_house_is_only_made_when_somewhere_is_listed(config: Config) -> None:
    used = dataclasses.replace(config, agents={}, egress=EgressConfig(allow=("a.org:443", "b.org:80")))
    prepare_folders(used)
    egress, tools = programs(used)
    assert egress.command[-4:] == ("--allow", "a.org:443", "--allow", "b.org:80")
    assert tools.command[tools.command.index("--egress") + 1] == str(egress.socket)
    assert all("--egress" not in program.command for program in programs(dataclasses.replace(config, agents={})))


@pytest.mark.real
def test_one_part_runs_alone_for_a_supervisor_of_another_kind(data: Path) -> None:
    environment = os.environ | {"ATLAS_DATA": str(data)}
    command = [sys.executable, "-m", "atlas.cli.main", "run", "--only"]
    with subprocess.Popen([*command, "tools"], env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            assert process.stderr.readline().startswith(f"ready socket={data}/run/tools.sock")
        finally:
            process.terminate()
    none = subprocess.run([*command, "kitchen"], env=environment, capture_output=True, text=True)
    assert none.returncode == 1
    assert "no part called 'kitchen'" in none.stderr
