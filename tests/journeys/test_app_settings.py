"""An owner changes settings in the app: they count at once, are tried by their own tool, or nothing changes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from playwright.sync_api import Page, expect

from atlas.models import catalogue, machine
from tests.journeys.browser import answer, connected, opened, say
from tests.journeys.conftest import ROOT, Running, start, stop, until
from tests.journeys.test_app_everywhere import AXE, violations
from tests.processes import free_port

pytestmark = pytest.mark.real
APPLIED_MS = 90_000
PIECE_BYTES = 8 << 20
VOICE = next(one for one in catalogue.load() if one.name == "en_US-lessac-medium")
HOURLY = ("temperature_2m", "apparent_temperature", "relative_humidity_2m", "weather_code", "wind_speed_10m")


class Sky(BaseHTTPRequestHandler):
    """A weather service that knows one day, and a hub of models that never comes to the end of one."""

    paths: ClassVar[list[str]] = []
    enough = threading.Event()
    answers = threading.Event()

    def do_GET(self) -> None:
        if "/resolve/" in self.path:
            self._begin_weights()
            return
        Sky.paths.append(self.path)
        Sky.answers.wait(60)
        body = json.dumps({"current": {"time": "2026-11-23T12:00"} | dict.fromkeys(HOURLY, 7)}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_HEAD(self) -> None:
        self._head_of_weights()

    def _head_of_weights(self) -> None:
        file = next(file for file in VOICE.files if self.path.endswith(f"/{file.name}"))
        self.send_response(200)
        self.send_header("content-length", str(file.bytes))
        self.send_header("x-linked-size", str(file.bytes))
        self.send_header("x-linked-etag", f'"{file.sha256}"')
        self.end_headers()

    def _begin_weights(self) -> None:
        self._head_of_weights()
        with suppress(OSError):  # whoever fetches has stopped
            self.wfile.write(bytes(PIECE_BYTES))
            self.wfile.flush()
            Sky.enough.wait(60)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture(scope="module")
def sky() -> Iterator[int]:
    Sky.answers.set()
    with ThreadingHTTPServer(("127.0.0.1", 0), Sky) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(scope="module")
def own_house(sky: int) -> Iterator[Running]:
    data = Path(tempfile.mkdtemp(prefix="atlas-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATLAS_MODELS_HUB", f"http://127.0.0.1:{sky}")
        running = start(data, free_port())
    before = set((ROOT / "models").iterdir())
    yield running
    Sky.enough.set()
    stop(running)
    for begun in set((ROOT / "models").iterdir()) - before:
        if begun.is_dir():
            shutil.rmtree(begun)
        else:
            begun.unlink()
    shutil.rmtree(data, ignore_errors=True)


def section(page: Page, title: str):
    return page.get_by_role("region", name=title, exact=True)


def test_the_weather_is_told_where_home_is_and_asked_at_once(own_house: Running, sky: int) -> None:
    file = own_house.data / "atlas.toml"
    comments = [line for line in file.read_text().splitlines() if line.startswith("#")]
    with opened(own_house, path="house/settings", stopped="status of 400") as page:
        weather = section(page, "Weather")
        weather.get_by_label("Place").fill("Bristol")
        weather.get_by_label("Latitude").fill("51.45")
        weather.get_by_label("Longitude").fill("-2.59")
        weather.get_by_label("Who is asked").fill(f"http://127.0.0.1:{sky}")
        weather.get_by_role("button", name="Save and try").click()
        expect(weather.get_by_role("status")).to_contain_text("Saved.", timeout=APPLIED_MS)
        assert Sky.paths, weather.get_by_role("status").inner_text()
        expect(weather.get_by_text("from atlas.toml").first).to_be_visible()
        expect(section(page, "What may be reached").get_by_label("Allowed")).to_have_value(f"127.0.0.1:{sky}")
    text = file.read_text()
    assert 'place = "Bristol"' in text
    assert [line for line in text.splitlines() if line.startswith("#")] == comments


def test_what_is_typed_while_the_house_tries_a_form_stays(own_house: Running, sky: int) -> None:
    with opened(own_house, path="house/settings", stopped="status of 400") as page:
        weather = section(page, "Weather")
        for label, text in (("Place", "Bath"), ("Latitude", "51.38"), ("Longitude", "-2.36")):
            weather.get_by_label(label).fill(text)
        weather.get_by_label("Who is asked").fill(f"http://127.0.0.1:{sky}")
        before = len(Sky.paths)
        Sky.answers.clear()
        weather.get_by_role("button", name="Save and try").click()
        until(lambda: len(Sky.paths) > before, 60, "the service being asked")
        weather.get_by_label("Place").fill("Wells")
        Sky.answers.set()
        expect(weather.get_by_role("status")).to_contain_text("Saved.", timeout=APPLIED_MS)
        expect(weather.get_by_label("Place")).to_have_value("Wells")
        expect(weather.get_by_label("Latitude")).to_have_value("51.38")
        assert 'place = "Bath"' in (own_house.data / "atlas.toml").read_text()
        weather.get_by_role("button", name="Save and try").click()
        until(
            lambda: 'place = "Wells"' in (own_house.data / "atlas.toml").read_text(), 60, "the other place being saved"
        )


def test_a_model_that_any_part_of_the_house_reads_is_in_use(own_house: Running) -> None:
    with opened(own_house, path="house/models") as page:
        for title in ("Multilingual E5 small", "MiniLM L6", "Whisper tiny, English", "Joe, a US English voice"):
            expect(page.get_by_role("listitem").filter(has_text=title).locator(".count")).to_have_text("in use")


def test_what_cannot_be_leaves_all_as_it_was_and_says_why(own_house: Running) -> None:
    before = (own_house.data / "atlas.toml").read_text()
    with opened(own_house, path="house/settings", stopped="status of 400") as page:
        form = section(page, "Home Assistant")
        form.get_by_label("Address").fill("http://example.org:8123")  # no password goes out of the house unencrypted
        form.get_by_label("Long-lived access token").fill("secret")
        form.get_by_role("button", name="Save and try").click()
        expect(form.get_by_role("status")).to_contain_text(
            re.compile("all is as it was: .*not on the network of this house"), timeout=APPLIED_MS
        )
    assert (own_house.data / "atlas.toml").read_text() == before
    until(own_house.health, 60, "the house being well")


def test_the_country_and_whom_to_call_are_said_in_the_next_emergency(own_house: Running) -> None:
    with opened(own_house, path="house/settings") as page:
        household = section(page, "The household")
        household.get_by_label("Country").select_option(label="Germany")
        household.get_by_label("Whom to call").fill("Maria, 0170 1234567")
        household.get_by_role("button", name="Save").click()
        expect(household.get_by_role("status")).to_contain_text("Saved.", timeout=APPLIED_MS)
        expect(household).to_contain_text("from atlas.toml · counts at once")
        page.goto(f"{own_house.url}/#/talk")
        connected(page)
        say(page, "my grandmother is not breathing")
        words = answer(page)
    assert "1 1 2" in words
    assert "Maria, 0170 1234567" in words


def test_what_waits_for_the_next_start_says_so_and_a_mistake_is_answered_beside_its_field(own_house: Running) -> None:
    with opened(own_house, path="house/settings", locale="de-DE", stopped="status of 400") as page:
        page.evaluate(AXE.read_text(encoding="utf-8"))
        room = section(page, "Ein Zimmer mit diesem Rechner")
        room.get_by_label("Ruhezeiten").fill("von zehn bis sechs")
        room.get_by_role("button", name="Speichern").click()
        expect(room.get_by_role("alert")).to_have_text("Bitte so schreiben: 22:00-07:00.", timeout=APPLIED_MS)
        expect(room.get_by_label("Ruhezeiten")).to_be_focused()
        expect(room.get_by_label("Ruhezeiten")).to_have_accessible_description(re.compile("22:00-07:00"))
        words = section(page, "Weckwörter")
        words.get_by_label("Weckwörter für Arbeit").fill("hey jarvis")
        words.get_by_role("button", name="Speichern").click()
        expect(words.get_by_role("status")).to_contain_text("sobald Atlas neu gestartet wurde", timeout=APPLIED_MS)
        expect(words).to_contain_text("wartet auf den nächsten Start")
        expect(page.get_by_text("gilt aber erst nach einem Neustart von Atlas: Weckwörter für Arbeit")).to_be_visible()
        assert not (wrong := violations(page)), wrong
    assert 'wake_words = ["hey jarvis"]' in (own_house.data / "atlas.toml").read_text()


def test_a_second_mail_account_is_added_in_the_app_and_removed_again(own_house: Running) -> None:
    with opened(own_house, path="house/settings", stopped="status of 400") as page:
        page.evaluate(AXE.read_text(encoding="utf-8"))
        for number, name in enumerate(("home", "club")):
            if number:
                page.get_by_role("button", name="Another mail account").click()
            form = section(page, "Mail")
            form.get_by_label("Name, in small letters").fill(name)
            form.get_by_label("Address", exact=True).fill(f"{name}@mail.example")
            form.get_by_label("User").fill(name)
            form.get_by_label("Password").fill("hunter2")
            form.get_by_label("Server for reading (IMAP)").fill("127.0.0.1")
            assert not (wrong := violations(page)), wrong
            form.get_by_role("button", name="Save and try").click()
            saved = section(page, f"Mail: {name}")
            expect(saved.get_by_role("status")).to_contain_text("Saved.", timeout=APPLIED_MS)
        text = (own_house.data / "atlas.toml").read_text()
        assert text.count("[[tools.email.accounts]]") == 2
        first = section(page, "Mail: home")
        first.get_by_role("button", name="Remove").click()
        first.get_by_role("button", name="Remove it, with its password").click()
        expect(first).to_have_count(0, timeout=APPLIED_MS)
        expect(section(page, "Mail: club").get_by_label("User")).to_have_value("club")
    assert (own_house.data / "atlas.toml").read_text().count("[[tools.email.accounts]]") == 1


def test_a_broker_is_connected_by_a_form_and_its_silence_is_said(own_house: Running, tmp_path: Path) -> None:
    program = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert program, "the Debian package mosquitto is missing: ./check installs it"
    port = free_port()
    settings = tmp_path / "mosquitto.conf"
    settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nlog_type error\nuser root\n")
    with (
        opened(own_house, path="house/settings", stopped="status of 400") as page,
        subprocess.Popen([program, "-c", str(settings)]) as process,
    ):
        form = section(page, "MQTT")
        form.get_by_label("Host").fill("127.0.0.1")
        form.get_by_label("Port").fill(str(port))
        form.get_by_label("Connection").select_option(label="not encrypted")
        form.get_by_role("button", name="Save and try").click()
        expect(form.get_by_role("status")).to_contain_text("That hub answers.", timeout=APPLIED_MS)
        process.terminate()
        process.wait()
        form.get_by_role("button", name="Try it").click()
        expect(form.get_by_role("status")).to_contain_text("does not answer", timeout=APPLIED_MS)


def test_a_model_is_fetched_with_progress_through_the_one_way_out_and_stopped(own_house: Running, sky: int) -> None:
    with opened(own_house, path="house/settings", stopped="status of 400") as page:
        allowed = section(page, "What may be reached")
        allowed.get_by_label("Allowed").fill(f"127.0.0.1:{sky}")
        allowed.get_by_role("button", name="Save").click()
        expect(allowed.get_by_role("status")).to_contain_text("Saved.", timeout=APPLIED_MS)
        page.goto(f"{own_house.url}/#/house/models")
        title = VOICE.title
        page.get_by_role("button", name=f"Fetch {title}", exact=True).click()
        bar = page.get_by_role("progressbar", name=f"Fetching {title}")
        expect(bar).to_have_js_property("value", PIECE_BYTES, timeout=APPLIED_MS)
        page.get_by_role("button", name=f"Stop: {title}").click()
        expect(page.get_by_role("button", name=f"Fetch {title}", exact=True)).to_be_visible(timeout=APPLIED_MS)
    rows = (own_house.data / "egress.jsonl").read_text()
    assert f'"port": {sky}' in rows or f'"port":{sky}' in rows


def test_a_model_on_the_disk_is_chosen_and_counts_at_the_next_start(own_house: Running) -> None:
    with opened(own_house, path="house/models", locale="de-DE") as page:
        smollm = page.get_by_role("listitem").filter(has_text="SmolLM2")
        for agent in ("Familie", "Arbeit"):  # both think with it, which no button hides: one may want it for itself
            chip = smollm.get_by_role("button", name=re.compile(f"^Für {agent} benutzen: SmolLM2"))
            expect(chip).to_have_attribute("aria-pressed", "true")
            expect(chip).to_have_text(agent)
        smollm.get_by_role("button", name=re.compile("^Für Arbeit benutzen")).click()
        outcome = page.locator(".outcome")
        expect(outcome).to_contain_text("Arbeit denkt mit SmolLM2", timeout=APPLIED_MS)
        expect(outcome).to_contain_text("Das gilt, sobald Atlas neu gestartet wird.")
        page.reload()
        cards = "Die Karten nach ihrer Nummer" if machine.gpus() else "Dieser Rechner hat keine Grafikkarte"
        expect(page.get_by_text(cards)).to_be_visible(timeout=APPLIED_MS)
        form = section(page, "Welche Grafikkarte")
        expect(form.get_by_label("smollm2-135m-instruct: Schichten")).to_have_value("0")
        form.get_by_label("smollm2-135m-instruct: welche Karte").fill("0")
        form.get_by_role("button", name="Speichern").click()
        expect(form.get_by_role("status")).to_contain_text("Es gilt, sobald Atlas neu gestartet", timeout=APPLIED_MS)
        expect(form).to_contain_text("aus atlas.toml · wartet auf den nächsten Start")
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert not (wrong := violations(page)), wrong
    assert "gpu = 0" in (own_house.data / "atlas.toml").read_text()


def test_who_chooses_a_language_without_a_voice_here_is_told_and_led_to_one(own_house: Running) -> None:
    with opened(own_house, path="house/settings") as page:
        chosen = page.locator("select[id$='-language']")
        hint = page.get_by_text("no good voice is here yet")
        chosen.select_option(label="German")
        expect(hint).to_contain_text("German")
        chosen.select_option(label="English")
        expect(hint).to_have_count(0)
        chosen.select_option(label="German")
        page.get_by_role("link", name="Fetch a voice").click()
        expect(page.get_by_role("listitem").filter(has_text="Thorsten").get_by_role("button")).not_to_have_count(0)


def test_a_mistyped_code_is_refused_in_the_language_of_the_browser(own_house: Running) -> None:
    with opened(own_house, locale="de-DE", stopped="status of 400") as page:
        page.goto(f"{own_house.url}/pair")
        page.get_by_label("Sechs Ziffern").fill("000000")
        page.get_by_role("button", name="Dieses Gerät hereinlassen").click()
        expect(page.get_by_role("status")).to_contain_text("Dieser Code stimmt nicht.")
    assert 'llm = "smollm2-135m-instruct"' in (own_house.data / "atlas.toml").read_text()
