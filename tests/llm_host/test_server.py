"""The LLM host as its clients meet it: a real process, a real model, OpenAI's HTTP on a unix socket."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from llm_process import HELLO, MODEL, READY_SECONDS, Host, running

pytestmark = pytest.mark.real

SECONDS = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 99}}, "required": ["n"]}


def tool(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Host]:
    with running(tmp_path_factory.mktemp("h"), models, "--context", "2048") as host:
        yield host


def error(reply: httpx2.Response) -> tuple[int, str, str | None]:
    body = reply.json()["error"]
    assert set(body) - {"atlas"} == {"message", "type", "code", "param"} and body["message"]
    return reply.status_code, body["code"], body["param"]


def test_a_model_with_a_card_of_its_own_sees_that_card_alone() -> None:
    script = (
        "import json; from atlas.llm_host.server import cards_seen; print(json.dumps([cards_seen(-1), cards_seen(1)]))"
    )
    seen = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert json.loads(seen) == [{}, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1"}]


def test_a_whole_answer_has_text_a_reason_to_end_and_its_cost(host: Host) -> None:
    body = host.chat(max_tokens=8, seed=1).json()
    (choice,) = body["choices"]
    assert choice["message"]["content"] and choice["finish_reason"] in ("length", "stop")
    usage = body["usage"]
    assert (
        usage["completion_tokens"] <= 8 and usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    )


def test_a_streamed_answer_is_the_whole_one_in_pieces(host: Host) -> None:
    more = {"max_tokens": 12, "temperature": 0}
    whole = host.chat(**more).json()["choices"][0]["message"]["content"]
    text = host.chat(**more, stream=True, stream_options={"include_usage": True}).text
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] == 12
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks[:-1]) == whole
    assert [c["choices"][0]["finish_reason"] for c in chunks[:-1]].count("length") == 1


def test_the_same_seed_says_the_same(host: Host) -> None:
    texts = {
        host.chat(max_tokens=12, temperature=1.5, seed=7).json()["choices"][0]["message"]["content"] for _ in range(2)
    }
    assert len(texts) == 1


def test_a_stop_string_ends_the_answer_and_is_not_in_it(host: Host) -> None:
    choice = host.chat(max_tokens=60, temperature=0, stop=" the").json()["choices"][0]
    assert choice["finish_reason"] == "stop" and " the" not in choice["message"]["content"]


def test_a_stop_string_in_the_very_last_token_is_a_stop(host: Host) -> None:
    shorter, longer = (
        host.chat(max_tokens=count, temperature=0).json()["choices"][0]["message"]["content"] for count in (11, 12)
    )
    choice = host.chat(max_tokens=12, temperature=0, stop=longer.removeprefix(shorter)).json()["choices"][0]
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "b"}}])
def test_a_call_that_must_be_made_fits_its_schema_even_when_the_model_is_wild(host: Host, choice: Any) -> None:
    tools = [tool("a", SECONDS), tool("b", SECONDS)]
    for seed in range(3):
        body = host.chat(tools=tools, tool_choice=choice, temperature=2, top_p=1, seed=seed).json()
        (call,) = body["choices"][0]["message"]["tool_calls"]
        assert body["choices"][0]["finish_reason"] == "tool_calls"
        assert 1 <= json.loads(call["function"]["arguments"])["n"] <= 99
        assert call["function"]["name"] in (("a", "b") if choice == "required" else ("b",))


def test_a_call_that_runs_out_of_tokens_is_not_made(host: Host) -> None:
    body = host.chat(tools=[tool("a", SECONDS)], tool_choice="required", max_tokens=3).json()
    choice = body["choices"][0]
    assert choice["finish_reason"] == "length" and "tool_calls" not in choice["message"]


def test_json_that_was_asked_for_is_json(host: Host) -> None:
    schema = {
        "type": "object",
        "properties": {"mood": {"enum": ["calm", "wild"]}},
        "required": ["mood"],
        "additionalProperties": False,
    }
    # Closed: left to chance, the model may add a name whose text has no end within 200 tokens.
    form = {"type": "json_schema", "json_schema": {"name": "sea", "schema": schema}}
    text = json.loads(host.chat(response_format=form, max_tokens=200).json()["choices"][0]["message"]["content"])
    assert text["mood"] in ("calm", "wild")


def test_a_schema_without_a_grammar_names_its_tool_and_harms_nobody(host: Host) -> None:
    bad = tool("bad_one", {"allOf": [{"type": "string"}, {"type": "null"}]})
    reply = host.chat(tools=[tool("good", SECONDS), bad])
    assert error(reply) == (400, "invalid_schema", "tools") and "bad_one" in reply.text
    assert host.chat(max_tokens=2).status_code == 200


def test_what_cannot_be_is_refused_in_the_shape_of_openai(host: Host) -> None:
    assert error(host.http.post("/v1/chat/completions", content=b"{")) == (400, "invalid_json", None)
    assert error(host.http.post("/v1/chat/completions", content=b" " * 2_000_000)) == (413, "too_large", None)
    assert error(host.http.get("/v1/chat/completions")) == (405, "method_not_allowed", None)
    assert error(host.http.get("/v1/nothing")) == (404, "not_found", None)
    assert error(host.chat(model="gpt-9")) == (404, "model_not_found", "model")
    assert error(host.chat(temperature=9)) == (400, "invalid_value", "temperature")


def test_more_than_the_context_holds_is_refused_with_numbers(host: Host) -> None:
    long = [{"role": "user", "content": "sea " * 3000}]
    reply = host.chat(long)
    assert error(reply) == (400, "context_length_exceeded", "messages") and "2048" in reply.text
    figures = reply.json()["error"]["atlas"]  # with which a client can shorten it and ask again
    assert figures["context"] == 2048 and figures["prompt_tokens"] > 3000 and figures["max_tokens"] == 1
    assert error(host.chat(max_tokens=2048))[1] == "context_length_exceeded"


def test_conversations_that_fill_the_context_together_make_way_for_each_other(host: Host) -> None:
    for who in range(4):
        text = f"{who} is here. " + "The sea is wide. " * 180
        assert (
            host.chat([{"role": "user", "content": text}], atlas_conversation=f"p{who}", max_tokens=2).status_code
            == 200
        )


def test_models_and_health_say_what_is_loaded(host: Host) -> None:
    assert [m["id"] for m in host.http.get("/v1/models").json()["data"]] == [MODEL]
    health = host.http.get("/health").json()
    assert health["model"] == MODEL and health["context"] == 2048 and health["versions"]["llama-cpp-python"]


def test_a_client_that_hangs_up_while_it_waits_is_never_answered(host: Host) -> None:
    before = len(host.answered())
    with host.http.stream("POST", "/v1/chat/completions", json=streaming(max_tokens=1500)) as long:
        next(long.iter_lines())
        with host.http.stream("POST", "/v1/chat/completions", json=streaming(max_tokens=1500)) as waiting:
            next(waiting.iter_lines())
    assert host.chat(max_tokens=2).status_code == 200
    lines = host.answered()[before:]
    assert len(lines) <= 3 and sum("end=left" in line for line in lines) <= 2
    assert all(int(line.split("generated=")[1].split()[0]) < 500 for line in lines)


def streaming(**more: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": HELLO, "stream": True, **more}


def test_a_line_that_is_too_long_is_refused_and_clears_again(host: Host) -> None:
    body = json.dumps(streaming(max_tokens=1500)).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: llm\r\ncontent-length: %d\r\n\r\n" % len(body)
    callers = []
    for _ in range(20):
        caller = socket.socket(socket.AF_UNIX)
        caller.settimeout(READY_SECONDS)
        caller.connect(str(host.socket))
        caller.sendall(head + body)
        callers.append(caller)
    answers = [caller.recv(12) for caller in callers]
    for caller in callers:
        caller.close()
    assert answers.count(b"HTTP/1.1 429") == 3 and answers.count(b"HTTP/1.1 200") == 17
    deadline = time.monotonic() + READY_SECONDS
    while host.chat(max_tokens=2).status_code == 429:  # until the host has noticed that they all hung up
        assert time.monotonic() < deadline


def test_only_this_user_may_use_the_socket(host: Host) -> None:
    assert stat.S_IMODE(host.socket.stat().st_mode) == 0o600


def test_a_socket_file_left_behind_is_replaced_and_a_signal_ends_the_host(data: Path, models: Path) -> None:
    with running(data, models) as first:
        first.process.kill()
        first.process.wait()
        with running(data, models) as second:
            request = second.http.stream("POST", "/v1/chat/completions", json=streaming(max_tokens=1500))
            with request as reply:
                next(reply.iter_lines())
                second.process.send_signal(signal.SIGTERM)
                assert second.process.wait(timeout=5) == 0
            assert not second.socket.exists()


def test_a_host_that_is_stopped_says_so_to_who_waits_and_leaves_no_traceback(data: Path, models: Path) -> None:
    body = json.dumps({"model": MODEL, "messages": HELLO, "max_tokens": 1500}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: llm\r\ncontent-length: %d\r\n\r\n" % len(body)
    with running(data, models) as host, socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        for client in (one, other):
            client.connect(str(host.socket))
            client.sendall(head + body)
        while host.http.get("/health").json()["requests"] < 2:
            pass
        host.process.send_signal(signal.SIGTERM)
        assert host.process.wait(timeout=5) == 0
        for client in (one, other):
            text = client.recv(4096).decode()
            assert text.startswith("HTTP/1.1 503 ") and "retry-after: 1" in text and '"model_stopping"' in text
        assert "ASGI" not in host.log.read_text()


def test_a_model_that_is_no_model_ends_the_host_with_a_reason(data: Path) -> None:
    for content in (None, b"GGUF but not really"):
        file = data / "broken.gguf"
        if content:
            file.write_bytes(content)
        host = Host(data, file)
        assert host.process.wait(timeout=READY_SECONDS) == 1
        *_, last = host.log.read_text().splitlines()
        assert "broken.gguf" in last and last.endswith(")")  # what is wrong, and what to do: no traceback
        host.close()


def test_a_place_that_cannot_be_had_ends_the_host_with_a_reason(host: Host, data: Path) -> None:
    (data / "mine").write_text("mine")
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = str(other.getsockname()[1])
        for option, place, reason in (
            ("--port", taken, f"cannot listen on port {taken}"),
            ("--port", "65536", "cannot listen on port 65536"),
            ("--socket", str(host.socket), "another process listens on"),
            ("--socket", str(data / "mine"), "is in the way"),
            ("--socket", str(data / "mine" / "llm.sock"), "cannot listen on"),
            ("--socket", str(data / ("long" * 30)), "cannot listen on"),
        ):
            command = [sys.executable, "-m", "atlas.llm_host.server", option, place, "--model", "none", "--name", MODEL]
            ended = subprocess.run(command, capture_output=True, text=True, timeout=READY_SECONDS)
            assert ended.returncode == 1 and reason in ended.stderr and "Traceback" not in ended.stderr
    assert (data / "mine").read_text() == "mine"


def test_a_voice_is_answered_in_the_middle_of_a_long_chat_and_both_say_what_they_would_have_said(host: Host) -> None:
    long = {"messages": [{"role": "user", "content": "The sea is wide. " * 100}], "max_tokens": 60, "temperature": 0}
    alone = host.chat(**long, atlas_conversation="long").json()["choices"][0]["message"]["content"]
    before = len(host.answered())
    with host.http.stream("POST", "/v1/chat/completions", json={"model": MODEL, **long, "stream": True}) as chat:
        lines = chat.iter_lines()
        next(lines)
        assert host.chat(max_tokens=4, atlas_priority="voice", atlas_conversation="v").status_code == 200
        events = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    text = "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])
    assert text == alone
    first, second = host.answered()[before:]
    assert "conversation='v'" in first and "end=length" in second
