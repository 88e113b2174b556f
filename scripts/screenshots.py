"""Take a picture of every page of the app, on a phone and a desk, in light and dark, of a house that is lived in.

    python scripts/screenshots.py FOLDER [--page NAME …] [--language en|de] [--whole]

A house is started with people, devices, messages, lists and all, in a folder that is thrown away, by the settings that
Atlas is shipped with: those of the checkout may name its owner's family.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    "talk",
    "home",
    "time",
    "lists",
    "board",
    "notes",
    "messages",
    "calendar",
    "past",
    "house",
    "house/turns",
    "house/devices",
    "house/record",
    "house/rules",
    "house/sentences",
    "house/wake",
    "house/settings",
    "house/models",
    "house/health",
    "house/log",
    "more",
)
SIZES = {"phone": (390, 844), "desk": (1280, 832)}
THEMES = ("light", "dark")
LOCALES = {"en": "en-GB", "de": "de-DE"}
START_SECONDS = 120


def _device(name: str, kind: str, room: str = "", can: str = "", shape: str = "", **state: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, "shape": shape, "room": room, "can": can.split(), "state": state}


DEVICES = [
    _device("Ceiling", "light", "Kitchen", "on brightness", on=True, brightness=60),
    _device("Counter lamp", "light", "Kitchen", "on", on=False),
    _device("Coffee machine", "switch", "Kitchen", "on", on=False),
    _device("Heater", "climate", "Bedroom", "temperature", temperature=20, measured=19.5),
    _device("Blinds", "cover", "Bedroom", "open position", position=40),
    _device("Bedside lamp", "light", "Bedroom", "on brightness", on=True, brightness=20),
    _device("Front Door", "lock", "Hall", "locked", locked=True),
    _device(
        "Speaker", "media", "Living room", "playing volume on", on=True, playing=True, title="Blue hour", volume=35
    ),
    _device("Kitchen window", "sensor", "Kitchen", shape="window", on=True),
    _device("Anna", "person", place="home"),
    _device("Tom", "person", place="work"),
    _device("Mia", "person", place="away"),
    _device("Movie night", "scene", can="scene"),
    _device("Good night", "scene", can="scene"),
]


def _day(days: int) -> str:
    return (date.today() + timedelta(days)).isoformat()  # noqa: DTZ011  # the house stands here


PEOPLE = (("Anna", "owner"), ("Tom", "adult"), ("Mia", "teen"), ("Ben", "child"))  # the pictures are Anna's
LOOKING = PEOPLE[0][0]
LIFE: tuple[tuple[str, Mapping[str, Any]], ...] = (  # what Anna did
    ("timers", {"seconds": 600, "name": "pasta", "room": "kitchen"}),
    ("timers", {"seconds": 3000}),
    ("alarms", {"when": "every weekday at 6:30"}),
    ("reminders", {"text": "Call the plumber", "when": "tomorrow at nine"}),
    ("lists/shopping/items", {"items": ["milk", "bread", "olive oil", "apples"]}),
    ("lists/shopping/check", {"items": ["bread"]}),
    ("lists/hardware store/items", {"items": ["screws", "sandpaper"]}),
    ("tasks", {"title": "Fix the dripping tap"}),
    ("tasks", {"title": "Book the dentist"}),
    ("tasks", {"title": "Plan the birthday", "priority": "high", "due": "friday", "assignee": "Mia"}),
    ("tasks", {"title": "Paint the fence"}),
    ("notes", {"title": "Wifi for guests", "text": "The network is **Linden**.\n\n- the password is on the fridge"}),
    ("notes", {"title": "Recipe: lentil soup", "text": "Onions, carrots, *red lentils*."}),
    ("calendar", {"title": "Dentist", "start": f"{_day(3)}T15:30", "minutes": 45, "place": "Main street 4"}),
    ("calendar", {"title": "Choir", "start": f"{_day(1)}T19:00", "repeat": "every week"}),
    ("calendar", {"title": "Grandma visits", "start": _day(5)}),
    ("voice-messages", {"text": "The key is with Mrs Berg.", "person": "Tom"}),
)
LEFT = (  # by whom, and what
    ("Tom", {"text": "I am at the shop. What do we need?", "person": "Anna"}),
    ("Mia", {"text": "Choir is over at eight. Can you fetch me?", "person": "Anna"}),
    ("Tom", {"text": "Dinner is at seven!"}),
)


def main() -> int:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--page", action="append", help="only this page")
    parser.add_argument("--language", default="en", choices=LOCALES, help="of the browser")
    parser.add_argument("--whole", action="store_true", help="the whole page, not only what is seen at first")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or sys.exit("Chromium is missing: apt-get install chromium")
    with house() as (url, token), sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for page, look in looks(browser, url, token, LOCALES[arguments.language]):
            for name in arguments.page or PAGES:
                file = arguments.folder / f"{name.replace('/', '-')}-{look}.png"
                print(picture(page, name, file, whole=arguments.whole))
        browser.close()
    return 0


def looks(browser: Browser, url: str, token: str, locale: str) -> Iterator[tuple[Page, str]]:
    """Yield the app in every size and theme, and the name of that."""
    for size, (width, height) in SIZES.items():
        for theme in THEMES:
            viewport = {"width": width, "height": height}
            page = browser.new_page(viewport=viewport, color_scheme=theme, locale=locale, reduced_motion="reduce")
            page.goto(f"{url}/#token={token}")
            yield page, f"{size}-{theme}"
            page.close()


def picture(page: Page, name: str, file: Path, *, whole: bool = False) -> Path:
    """Take one page, when it has all it shows."""
    page.evaluate("name => { location.hash = `#/${name}`; }", name)
    page.wait_for_selector(f".frame[data-page='{name.split('/')[0]}']:not(:has(.loading))")
    if name == "talk" and not page.locator(".deed").count():
        page.wait_for_selector(".frame[data-state=ready]")  # what was left for who looks is read out first
        page.locator("#words").fill("set a timer for ten minutes")
        page.keyboard.press("Enter")
        page.wait_for_selector(".deed")
        page.wait_for_selector(".frame[data-state=ready]")
        page.locator(".talk").focus()
    page.screenshot(path=str(file), full_page=whole)
    return file


@contextmanager
def house() -> Iterator[tuple[str, str]]:
    """Run a house that is lived in; yield its address and the token of an owner, who is one of its people."""
    with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
        data = Path(folder)
        (data / "house.json").write_text(json.dumps({"devices": DEVICES}))
        settings = as_shipped("atlas.toml") + '\n[tools.home.scripted]\nfile = "house.json"\n'
        (data / "atlas.toml").write_text(settings)
        (data / "policy.toml").write_text(as_shipped("policy.toml"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        environment = {**os.environ, "ATLAS_DATA": folder, "ATLAS_CONFIG": str(data / "atlas.toml")}
        environment |= {"ATLAS_GATEWAY_PORT": str(port), "ATLAS_GATEWAY_HTTPS_HOST": ""}
        environment |= {"ATLAS_MODELS_FOLDER": str(ROOT / "models")}
        command = [sys.executable, "-m", "atlas.cli.main", "run"]
        with (data / "house.log").open("wb") as log:
            running = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, running, data / "house.log")
            tokens = {person: _let_in(person, role, environment) for person, role in PEOPLE}
            for path, body in LIFE:
                _post(f"{url}/api/{path}", tokens[LOOKING], body)
            for person, message in LEFT:
                _post(f"{url}/api/voice-messages", tokens[person], message)
            yield url, tokens[LOOKING]
        finally:
            running.terminate()
            running.wait(30)


def as_shipped(name: str, checkout: Path = ROOT) -> str:
    """Return a file of the last commit: the one on the disk is its owner's to change."""
    command = ["git", "-C", str(checkout), "show", f"HEAD:{name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _let_in(person: str, role: str, environment: Mapping[str, str]) -> str:
    """Give a person's phone a token, and return it."""
    command = [sys.executable, "-m", "atlas.cli.main", "token", "create", "--name", f"{person} phone", "--role", role]
    command += ["--person", person]
    made = subprocess.run(command, check=True, cwd=ROOT, env=environment, capture_output=True, text=True)
    return made.stdout.strip().splitlines()[-1]


def _wait(url: str, running: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and running.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()  # noqa: S310  # our own house
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
        else:
            return
    sys.exit(f"the house did not start:\n{log.read_text()[-3000:]}")


def _post(url: str, token: str, body: Mapping[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url.replace(" ", "%20"), json.dumps(body).encode(), headers)  # noqa: S310
    urllib.request.urlopen(request, timeout=30).close()  # noqa: S310


if __name__ == "__main__":
    sys.exit(main())
