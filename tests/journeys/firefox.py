"""Debian's Firefox, driven by WebDriver BiDi, with a microphone and a loudspeaker of a sound server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.journeys.conftest import Running, until
from tests.journeys.sound_rooms import SoundServer

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox") or ""
START_SECONDS, ANSWER_SECONDS = 60.0, 60.0
LISTENS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
PREFERENCES = {
    "media.navigator.permission.disabled": True,  # the microphone is given without a question
    "media.autoplay.default": 0,
    "intl.locale.requested": "en-GB",
    "app.normandy.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
}


@dataclass
class FirefoxPage:
    """A tab. Scripts run in it as a person's console would; `errors` is what the page complained of."""

    socket: ClientConnection
    context: str = ""
    errors: list[str] = field(default_factory=list)
    sent: int = 0

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result. Raises `AssertionError` when the browser refuses it."""
        self.sent += 1
        self.socket.send(json.dumps({"id": self.sent, "method": method, "params": parameters}))
        while True:
            event: dict[str, Any] = json.loads(self.socket.recv(ANSWER_SECONDS))
            if event.get("method") == "log.entryAdded" and event["params"]["level"] == "error":
                self.errors.append(event["params"]["text"])
            if event.get("id") == self.sent:
                assert event["type"] == "success", event
                return dict(event["result"])

    def open(self, address: str) -> None:
        """Go to an address, and wait until it is loaded."""
        self.command("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def run(self, script: str) -> Any:
        """Return what an expression is, once its promise is kept, as text or number."""
        target = {"context": self.context}
        answer = self.command("script.evaluate", expression=script, target=target, awaitPromise=True)
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return answer["result"].get("value")

    def until(self, condition: str) -> Any:
        """Wait until an expression is true in the page; return what it is then."""
        return self.run(f"""new Promise((resolve, reject) => {{
            const ends = Date.now() + {ANSWER_SECONDS * 900};
            const look = () => {{
                const value = {condition};
                if (value) resolve(value);
                else if (Date.now() > ends) reject(new Error(document.body.innerText.slice(-500)));
                else setTimeout(look, 50);
            }};
            look();
        }})""")

    def press(self, selector: str) -> None:
        """Scroll to an element and press its middle with a mouse."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.until(f"({element}?.scrollIntoView({{block: 'center', behavior: 'instant'}}), {element})")
        x, y = json.loads(
            self.run(
                f"""(place => JSON.stringify([place.x + place.width / 2, place.y + place.height / 2]))
                ({element}.getBoundingClientRect())"""
            )
        )
        mouse = [
            {"type": "pointerMove", "x": round(x), "y": round(y)},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        actions = [{"type": "pointer", "id": "mouse", "actions": mouse}]
        self.command("input.performActions", context=self.context, actions=actions)

    def type(self, words: str) -> None:
        """Type on the keyboard, and press Enter."""
        keys = [{"type": kind, "value": key} for key in f"{words}\ue007" for kind in ("keyDown", "keyUp")]
        actions = [{"type": "key", "id": "keyboard", "actions": keys}]
        self.command("input.performActions", context=self.context, actions=actions)


def records(sounds: SoundServer) -> bool:
    """Tell whether Firefox records from the sound server: it begins after a page has its microphone."""
    command = ["pactl", "list", "source-outputs"]
    return b"irefox" in subprocess.run(command, env=sounds.environment, check=True, capture_output=True).stdout


@contextmanager
def firefox(
    house: Running, sounds: SoundServer, microphone: str, loudspeaker: str, folder: Path
) -> Iterator[FirefoxPage]:
    """Open the app with the owner's token. `microphone` hears what is played to that sink of the sound server."""
    profile = folder / "firefox"
    profile.mkdir()
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines))
    environment = sounds.environment | {"HOME": str(folder)}
    for command in (  # Firefox opens what the sound server calls its own, and no monitor of a loudspeaker
        ("load-module", "module-remap-source", f"master={microphone}.monitor", "source_name=headset"),
        ("set-default-source", "headset"),
        ("set-default-sink", loudspeaker),
    ):
        subprocess.run(["pactl", *command], env=environment, check=True, stdout=subprocess.DEVNULL)
    start = [FIREFOX, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port=0"]
    log = folder / "firefox.log"
    with log.open("wb") as out, subprocess.Popen(start, env=environment, stdout=out, stderr=out) as browser:
        try:
            with connect(f"{_address(browser, log)}/session", max_size=None, proxy=None) as socket:
                page = FirefoxPage(socket)
                page.command("session.new", capabilities={})
                page.command("session.subscribe", events=["log.entryAdded"])
                page.context = page.command("browsingContext.create", type="tab")["context"]
                page.open(f"http://127.0.0.1:{house.port}/#token={house.token}")
                yield page
        finally:
            browser.terminate()


def _address(browser: subprocess.Popen[bytes], log: Path) -> str:
    """Return where the browser can be driven, once it says so."""

    def listens() -> re.Match[str] | None:
        assert browser.poll() is None, log.read_text(errors="replace")
        return LISTENS.search(log.read_text(errors="replace"))

    until(lambda: listens() is not None, START_SECONDS, "Firefox listening")
    address = listens()
    assert address
    return address[1]
