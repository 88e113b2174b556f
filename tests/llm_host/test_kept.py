"""A conversation goes on after the host was started again, unless what was kept is damaged, foreign or forgotten."""

from __future__ import annotations

import resource
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from llm_process import Host, running

pytestmark = pytest.mark.real

PERSONA = {"role": "system", "content": "You are the voice of a house. " + "Be brief, warm and right. " * 80}
FIRST = [PERSONA, {"role": "user", "content": "Tell me of the sea."}]


def turn(host: Host, messages: list[dict[str, str]], who: str) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Return what a turn cost, and the messages with its answer and a next question."""
    body = host.chat(messages, atlas_conversation=who, max_tokens=8, temperature=0).json()
    values = {"role": "assistant", "content": body["choices"][0]["message"]["content"]}
    return body["usage"], [*messages, values, {"role": "user", "content": "And the moon?"}]


def reused(usage: dict[str, Any]) -> float:
    return float(usage["prompt_tokens_details"]["cached_tokens"] / usage["prompt_tokens"])


def stop(host: Host) -> None:
    host.process.send_signal(signal.SIGTERM)
    assert host.process.wait(timeout=20) == 0


def test_a_conversation_goes_on_after_the_host_was_stopped_and_a_new_one_begins_with_its_persona(
    data: Path, models: Path
) -> None:
    with running(data, models, "--kept", str(data / "kept")) as first:
        _, second_turn = turn(first, FIRST, "anna")
        stop(first)
    with running(data, models, "--kept", str(data / "kept")) as again:
        usage, third_turn = turn(again, second_turn, "anna")
        assert reused(usage) > 0.95 and usage["prompt_tokens_details"]["cached_tokens"] > 400
        assert reused(turn(again, FIRST, "ben")[0]) > 0.9
        fresh = again.chat(second_turn, max_tokens=8, temperature=0).json()["choices"][0]["message"]["content"]
        assert fresh == third_turn[-2]["content"]  # what was restored says what is computed


def test_a_flipped_byte_costs_time_and_a_line_in_the_log_but_no_words(data: Path, models: Path) -> None:
    with running(data, models, "--kept", str(data / "kept")) as first:
        _, second_turn = turn(first, FIRST, "anna")
        stop(first)
    (file,) = (data / "kept").iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with running(data, models, "--kept", str(data / "kept")) as again:
        usage, _ = turn(again, second_turn, "anna")
        assert usage["prompt_tokens_details"]["cached_tokens"] == 0
        assert again.log.read_text().count("it is damaged") == 1


def test_who_lost_the_cells_to_others_gets_them_back_and_kill_minus_9_leaves_nothing_broken(
    data: Path, models: Path
) -> None:
    options = ("--kept", str(data / "kept"), "--conversations", "1")
    with running(data, models, *options) as first:
        _, second_turn = turn(first, FIRST, "anna")
        turn(first, [{"role": "user", "content": "I am somebody else."}], "ben")
        usage, third_turn = turn(first, second_turn, "anna")
        assert reused(usage) > 0.95
        first.process.kill()
        first.process.wait()
    with running(data, models, *options) as again:
        usage, _ = turn(again, third_turn, "anna")
        assert reused(usage) > 0.8  # of the second turn; the third was in cells that nobody could save
        assert "ignored" not in again.log.read_text()


def test_on_a_full_disk_everybody_is_answered_with_one_line_in_the_log_and_no_half_file(
    data: Path, models: Path
) -> None:
    with running(data, models, "--kept", str(data / "kept"), "--conversations", "1") as host:
        most = 1024 * 1024  # a state has some ten of these
        resource.prlimit(host.process.pid, resource.RLIMIT_FSIZE, (most, most))
        for who in ("anna", "ben", "carl", "anna"):
            assert turn(host, FIRST, who)[0]["completion_tokens"]
        stop(host)
        assert list((data / "kept").iterdir()) == []
        assert host.log.read_text().count("could not be kept") == 1


def test_who_is_forgotten_is_in_no_cell_and_in_no_file(data: Path, models: Path) -> None:
    with running(data, models, "--kept", str(data / "kept"), "--conversations", "1") as host:
        _, second_turn = turn(host, FIRST, "anna")
        turn(host, [{"role": "user", "content": "I am somebody else."}], "ben")
        usage, third_turn = turn(host, second_turn, "anna")
        assert reused(usage) > 0.9 and list((data / "kept").iterdir())
        for _ in range(2):
            assert host.http.post("/v1/atlas/forget", json={"conversation": "anna"}).status_code == 200
        assert list((data / "kept").iterdir()) == []
        assert turn(host, third_turn, "anna")[0]["prompt_tokens_details"]["cached_tokens"] == 0


def test_without_a_folder_nothing_is_written_and_forgetting_works_too(data: Path, models: Path) -> None:
    with running(data, models) as host:
        turn(host, FIRST, "anna")
        assert host.http.post("/v1/atlas/forget", json={"conversation": "anna"}).json() == {"object": "atlas.forget"}
        assert host.http.post("/v1/atlas/forget", json={}).status_code == 400
        assert turn(host, FIRST, "anna")[0]["prompt_tokens_details"]["cached_tokens"] == 0
        stop(host)
    assert {path.name for path in data.iterdir()} == {"llm.log"}
