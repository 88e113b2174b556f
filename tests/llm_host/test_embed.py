"""Texts become vectors: those of the published weights, in the shape of OpenAI, and nobody's answer waits for them."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import numpy as np
import pytest
from openai import BadRequestError, OpenAI

from atlas.errors import RequestError
from atlas.llm.backend_openai import BackendSettings
from atlas.llm.backend_openai import open as open_backend
from atlas.llm_host.compute import Compute
from atlas.llm_host.embed import Embedder, parse
from atlas.llm_host.line import Line
from tests.conftest import for_every

sys.path.insert(0, str(Path(__file__).parent))
from llm_process import HELLO, MODEL, Host, running
from minilm import known

IN_PROCESS = Path(__file__).with_name("embed_in_process.py")
ENCODER = "all-minilm-l6-v2"
LONG = "The quick brown fox jumps over the lazy dog, again and again. " * 60


# ── what is asked ──────────────────────────────────────────────────────────────────────────────────


@for_every(
    ("more", "param", "text"),
    [
        ({"input": None}, "input", "is missing"),
        ({"input": []}, "input", "a list of at least one"),
        ({"input": {"text": "x"}}, "input", "must be a text"),
        ({"input": ""}, "input", "is empty"),
        ({"input": ["a", ""]}, "input[1]", "is empty"),
        ({"input": ["a", 5]}, "input[1]", "must be a text"),
        ({"input": [1, 2]}, "input", "tokens are numbers of another model's vocabulary"),
        ({"input": [[1, 2]]}, "input", "tokens are numbers of another model's vocabulary"),
        ({"input": ["a"] * 2049}, "input", "2049 texts; 2048 is the most"),
        ({"encoding_format": "hex"}, "encoding_format", "float"),
        ({"encoding_format": ["float"]}, "encoding_format", "float"),
        ({"dimensions": 0}, "dimensions", "whole number"),
        ({"dimensions": True}, "dimensions", "whole number"),
        ({"model": 5}, "model", "must be a text"),
        ({"model": None}, "model", "is missing"),
        ({"atlas_priority": "now"}, "atlas_priority", "voice, chat, background"),
        ({"atlas_priority": ["now"]}, "atlas_priority", "voice, chat, background"),
        ({"pooling": "cls"}, "pooling", "there is no field"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_by_the_name_of_its_field(
    more: dict[str, Any], param: str, text: str
) -> None:
    with pytest.raises(RequestError, match=text) as refused:
        parse(json.dumps({"model": ENCODER, "input": "hello", **more}).encode())
    assert refused.value.param == param


def test_half_a_character_becomes_a_mark_and_not_a_crash() -> None:
    assert parse(rb'{"model": "m", "input": "a\ud800b"}').wish.texts == ("a\ufffdb",)


async def test_a_host_without_an_encoder_says_how_to_get_one() -> None:
    with pytest.raises(RequestError, match="atlas models pull all-minilm-l6-v2") as refused:
        await Embedder(None, 2, MODEL).answer(parse(b'{"model": "m", "input": "a"}'), Line(), Compute())
    assert (refused.value.code, refused.value.param) == ("model_not_found", "model")


# ── what comes ─────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, models: Path) -> Iterator[Host]:
    encoder = next((models / ENCODER).glob("*.gguf"))
    with running(tmp_path_factory.mktemp("e"), models, "--embedder", str(encoder)) as host:
        yield host


def embed(host: Host, texts: Any) -> httpx2.Response:
    return host.http.post("/v1/embeddings", json={"model": ENCODER, "input": texts})


def maps_encoder(host: Host) -> bool:
    return ENCODER in Path(f"/proc/{host.process.pid}/maps").read_text()


@pytest.mark.real
def test_it_costs_no_memory_until_it_is_asked(host: Host) -> None:
    assert not maps_encoder(host)
    assert [model["id"] for model in host.http.get("/v1/models").json()["data"]] == [MODEL, ENCODER]
    assert embed(host, "hello").status_code == 200
    assert maps_encoder(host)


@pytest.mark.real
def test_the_vectors_are_those_of_the_published_weights(host: Host) -> None:
    texts, tokens, vectors = zip(*known(), strict=True)
    body = embed(host, list(texts)).json()
    assert (body["object"], body["model"], len(body["data"])) == ("list", ENCODER, len(texts))
    total = sum(map(len, tokens))
    assert body["usage"] == {"prompt_tokens": total, "total_tokens": total}
    for number, (item, right) in enumerate(zip(body["data"], vectors, strict=True)):
        vector = np.array(item["embedding"])
        assert (item["object"], item["index"], vector.shape) == ("embedding", number, (384,))
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert vector @ right > 0.998, texts[number]
    assert [bool(item.get("atlas_cut")) for item in body["data"]] == [len(entry) == 512 for entry in tokens]


@pytest.mark.real
def test_a_stock_client_gets_the_same_in_either_form_and_its_mistakes_named(host: Host) -> None:
    transport = httpx2.HTTPTransport(uds=str(host.socket))
    with (
        httpx2.Client(transport=transport) as http,
        OpenAI(base_url="http://llm/v1", api_key="-", http_client=http) as ai,
    ):
        texts = ["turn on the light", "make it bright"]
        in_base64 = ai.embeddings.create(model=ENCODER, input=texts)  # what this client asks for by itself
        as_numbers = ai.embeddings.create(model=ENCODER, input=texts, encoding_format="float")
        for one, other in zip(in_base64.data, as_numbers.data, strict=True):
            assert np.abs(np.array(one.embedding) - np.array(other.embedding)).max() < 1e-6
        with pytest.raises(BadRequestError, match="dimensions can only be 384") as refused:
            ai.embeddings.create(model=ENCODER, input="x", dimensions=256)
        assert refused.value.param == "dimensions"


@pytest.mark.real
async def test_a_backend_embeds_and_what_is_alike_is_near(host: Host) -> None:
    backend = await open_backend(BackendSettings(MODEL, socket=host.socket))
    try:
        with anyio.fail_after(30):
            light, lamp, stocks = np.array(
                (await backend.embed(["Turn off the light.", "Switch the lamp off, please.", "Shares fell."])).vectors
            )
            embeddings = await backend.embed(["hello", LONG], priority="background")
            assert (embeddings.tokens, embeddings.cut) == (3 + 512, {1})
    finally:
        await backend.aclose()
    assert light @ lamp > 0.6 > 0.3 > light @ stocks


@pytest.mark.real
def test_many_texts_wait_for_an_answer_and_one_text_does_not(host: Host) -> None:
    done: list[str] = []

    def many() -> None:
        host.http.post("/v1/embeddings", json={"model": ENCODER, "input": [LONG] * 4})
        done.append("many texts")

    thread = threading.Thread(target=many)
    thread.start()
    arguments = {"model": MODEL, "messages": HELLO, "max_tokens": 24}
    with host.http.stream("POST", "/v1/chat/completions", json={**arguments, "stream": True}) as answer:
        lines = answer.iter_lines()
        assert next(lines).startswith("data:")
        assert embed(host, "hello").status_code == 200
        done.append("one text")
        list(lines)
    done.append("answer")
    thread.join()
    assert done == ["one text", "answer", "many texts"]


@pytest.mark.real
def test_who_hangs_up_is_not_worked_for(host: Host) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        host.http.post("/v1/embeddings", json={"model": ENCODER, "input": [LONG] * 200}, timeout=0.2)
    assert embed(host, ["a"] * 3).status_code == 200  # in the same line; 200 long texts would take minutes
    assert "texts=200" not in host.log.read_text()


@pytest.mark.real
def test_what_is_converted_computes_what_was_published() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(IN_PROCESS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd=IN_PROCESS.parents[2])
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
