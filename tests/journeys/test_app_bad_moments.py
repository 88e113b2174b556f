"""On a full disk, and while a model is loading, the app says in a sentence what is wrong and goes on afterwards."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.journeys.browser import ANSWER_MS, answer, connected, opened, say
from tests.journeys.conftest import ROOT, Running, house_without_weights
from tests.journeys.test_app_everywhere import AXE, violations

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]
DISK = "16m"  # twice what a new house needs
FULL = "The disk is full, so I can't do that. Make room on it first."
UNWRITTEN = "Is the disk full?"  # asked by what writes the record, before it does anything more
LOADING = "My language model is still loading. Please ask me again in a minute."
EMBEDDED = 'kind = "embedded"\nmodel = "smollm2-135m-instruct"'


@pytest.fixture
def house_on_a_small_disk(tmp_path: Path) -> Iterator[Running]:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    mounted = f'mount -t tmpfs -o size={DISK},mode=0700 tmpfs "{data}" && exec "$@"'
    through = ("unshare", "--map-root-user", "--mount", "sh", "-c", mounted, "sh")
    with house_without_weights(tmp_path, (ROOT / "atlas.toml").read_text(), through) as running:
        yield running


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Leave no room on the disk that a folder is on."""
    ballast = folder / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
            while True:
                file.write(bytes(4096))
        yield
    finally:
        ballast.unlink()


def test_on_a_full_disk_nothing_is_claimed_and_once_there_is_room_all_goes_on(house_on_a_small_disk: Running) -> None:
    house = house_on_a_small_disk
    with opened(house, path="lists", reduced_motion="reduce") as page:
        words = page.get_by_label("Add to shopping")
        words.fill("milk")
        page.keyboard.press("Enter")
        expect(page.get_by_text("milk", exact=True)).to_be_visible(timeout=ANSWER_MS)
        with filled(house.data):
            words.fill("eggs")
            page.keyboard.press("Enter")
            expect(page.locator(".outcome[data-bad=true]")).to_contain_text(FULL, timeout=ANSWER_MS)
            expect(page.get_by_text("eggs", exact=True)).to_have_count(0)
            page.evaluate(AXE.read_text(encoding="utf-8"))
            assert not (wrong := violations(page)), wrong
            page.evaluate("location.hash = '#/talk'")
            connected(page)
            say(page, "add quinces to the shopping list")
            sentence = answer(page)
            assert UNWRITTEN in sentence or sentence == FULL
        say(page, "add figs to the shopping list")
        assert answer(page) == "Added figs to the shopping list."
        page.evaluate("location.hash = '#/lists'")
        expect(page.get_by_text("figs", exact=True)).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_text("quinces", exact=True)).to_have_count(0)


class ModelThatLoads(BaseHTTPRequestHandler):
    """A server of one model, as llama-server is before and after it has loaded it."""

    is_loaded = False
    url = ""

    def do_GET(self) -> None:
        self._answer({"data": [{"id": "slow"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        choice = {"index": 0, "delta": {"content": "A plumber mends pipes."}, "finish_reason": "stop"}
        self._answer({"choices": [choice]}, stream=True)

    def _answer(self, body: dict[str, object], *, stream: bool = False) -> None:
        if not type(self).is_loaded:
            body, stream = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}, False
        text = json.dumps(body)
        data = (f"data: {text}\n\ndata: [DONE]\n\n" if stream else text).encode()
        self.send_response(200 if type(self).is_loaded else 503)
        self.send_header("content-type", "text/event-stream" if stream else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def slow_model() -> Iterator[type[ModelThatLoads]]:
    class Model(ModelThatLoads):
        pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        Model.url = f"http://127.0.0.1:{server.server_port}/v1"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Model
        server.shutdown()


def test_while_a_model_loads_the_house_says_so_does_what_needs_none_and_answers_once_it_is_there(
    tmp_path: Path, slow_model: type[ModelThatLoads]
) -> None:
    settings = (ROOT / "atlas.toml").read_text()
    server = f'kind = "server"\nurl = "{slow_model.url}"\nmodel = "slow"'
    settings = settings.replace(EMBEDDED, server).replace("answers = false", "answers = true")
    with house_without_weights(tmp_path, settings) as house, opened(house, reduced_motion="reduce") as page:
        connected(page)
        say(page, "what does a plumber do")
        assert answer(page).startswith(LOADING)
        say(page, "set a timer for ten minutes")
        assert answer(page) == "Timer set for 10 minutes."
        page.evaluate("location.hash = '#/house/now'")
        expect(page.get_by_text("wait until it is loaded").first).to_be_visible(timeout=ANSWER_MS)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
        slow_model.is_loaded = True
        expect(page.get_by_text("All is well.")).to_be_visible(timeout=ANSWER_MS)
        page.evaluate("location.hash = '#/talk'")
        connected(page)
        say(page, "what does a plumber do")
        assert answer(page) == "A plumber mends pipes."
