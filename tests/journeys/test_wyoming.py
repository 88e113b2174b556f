"""Home Assistant's voice protocol with real ears, voice and lights: what its own client hears of a running house."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk as WyomingChunk
from wyoming.audio import AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.event import Event
from wyoming.tts import Synthesize
from wyoming.wake import Detect

from atlas.audio import AudioChunk
from atlas.speech.resample import resampled
from tests.journeys.conftest import ROOT, Running, ended_if_it_fails, until
from tests.processes import free_port

pytestmark = pytest.mark.real
SOUND_STEP_SECONDS = 0.1
HOUSE = {
    "rooms": [{"name": "kitchen"}],
    "devices": [{"name": "kitchen light", "kind": "light", "room": "kitchen", "can": ["on"], "state": {"on": False}}],
}
SETTINGS = """
[tools.home.scripted]
file = "house.json"

[wyoming]
host = "127.0.0.1"
port = {port}
role = "satellite"
room = "kitchen"
"""


class Lit(Running):
    """A running house with one light, and the port where it serves Wyoming."""

    wyoming: int = 0

    def is_lit(self) -> bool:
        return bool(re.search(r"\bon\b", self.json_of("ask", "is the kitchen light on")["reply"]))


def start_house(folder: Path, settings: str, **more: str) -> Lit:
    """Start a house with these settings, which needs no language model: nothing here does."""
    (folder / "policy.toml").write_text((ROOT / "policy.toml").read_text())
    (folder / "house.json").write_text(json.dumps(HOUSE))
    usual = (ROOT / "atlas.toml").read_text()
    usual = usual.replace('[wyoming]\nhost = ""\nport = 10300\nrole = "guest"               # or "satellite"', "")
    usual = usual.replace(
        'kind = "embedded"\nmodel = "smollm2-135m-instruct"',
        'kind = "server"\nurl = "http://127.0.0.1:9/v1"\nmodel = "none"',
    )
    usual = usual.replace('device = "wyoming"\nroom = ""\n', "")
    (folder / "atlas.toml").write_text(usual + settings)
    port = free_port()
    environment = {**os.environ, "ATLAS_DATA": str(folder / "data"), "ATLAS_GATEWAY_PORT": str(port), **more}
    environment |= {"ATLAS_CONFIG": str(folder / "atlas.toml"), "ATLAS_MODELS_FOLDER": str(ROOT / "models")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "atlas.cli.main", "run"], stdout=log, stderr=log, env=environment, cwd=ROOT
        )
    house = Lit(process, folder / "data", port, folder / "log")

    def ready() -> bool:
        assert process.poll() is None, f"the house went away:\n{house.log.read_text()[-3000:]}"
        return "Atlas is ready" in house.log.read_text()

    with ended_if_it_fails(process):
        until(ready, 120, "the house being ready")
    return house


def end_house(house: Running) -> None:
    house.process.send_signal(signal.SIGTERM)
    house.process.wait(20)


@pytest.fixture(scope="module")
def lit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lit]:
    port = free_port()
    house = start_house(tmp_path_factory.mktemp("wyoming"), SETTINGS.format(port=port))
    house.wyoming = port
    yield house
    end_house(house)


def sound_of(sound: AudioChunk) -> list[Any]:
    step = round(SOUND_STEP_SECONDS * sound.rate)
    cut = [sound.cut(start, start + step) for start in range(0, sound.samples, step)]
    chunks = [WyomingChunk(sound.rate, 2, 1, part.pcm) for part in cut]
    return [AudioStart(sound.rate, 2, 1), *chunks, AudioStop()]


async def asked(house: Lit, last: str, *events: Any) -> list[Event]:
    """Send events, as Home Assistant does over a connection of its own, and return what came up to `last`."""
    messages: list[Event] = []
    with anyio.fail_after(60):
        async with AsyncTcpClient("127.0.0.1", house.wyoming) as client:
            for event in events:
                await client.write_event(event.event())
            while not messages or messages[-1].type != last:
                event = await client.read_event()
                assert event, f"closed after {[one.type for one in messages]}"
                messages.append(event)
    return messages


async def test_a_spoken_command_is_understood_done_and_answered(
    lit: Lit, spoken: Callable[[str], AudioChunk], tmp_path: Path
) -> None:
    sound = spoken("Turn on the kitchen light.")
    heard = await asked(lit, "transcript-stop", Transcribe(language="en"), *sound_of(sound))
    text = heard[-2].data["text"]
    assert text.lower().strip(" .") == "turn on the kitchen light"
    handled = (await asked(lit, "handled", Transcript(text, language="en")))[-1]
    assert "light" in handled.data["text"].lower()
    assert lit.is_lit(), handled.data
    texts = await asked(lit, "audio-stop", Synthesize(handled.data["text"]))
    reply = AudioChunk(b"".join(event.payload or b"" for event in texts), texts[0].data["rate"])
    back = await asked(lit, "transcript", Transcribe(), *sound_of(resampled(reply, 16_000)))
    assert "light" in back[-1].data["text"].lower(), "its answer is heard to say so"


async def at_speaking_speed(client: AsyncTcpClient, sounds: list[Any]) -> None:
    """Send sound as a microphone does: what comes at once is read once, and words stand by two readings."""
    began = anyio.current_time()
    for sent, event in enumerate(sounds):
        await anyio.sleep_until(began + sent * SOUND_STEP_SECONDS)
        await client.write_event(event.event())


async def test_words_are_told_while_a_long_sentence_goes_on(lit: Lit, spoken: Callable[[str], AudioChunk]) -> None:
    sound = spoken("Please add milk, bread, butter, three apples and a bottle of orange juice to the shopping list.")
    messages: list[Event] = []
    with anyio.fail_after(60):
        async with AsyncTcpClient("127.0.0.1", lit.wyoming) as client:
            await client.write_event(Transcribe().event())
            *sounds, stop = sound_of(sound)
            async with anyio.create_task_group() as group:
                group.start_soon(at_speaking_speed, client, sounds)
                while not [event for event in messages if event.type == "transcript-chunk"]:
                    messages.append(await client.read_event())  # type: ignore[arg-type]
            await client.write_event(stop.event())
            while messages[-1].type != "transcript-stop":
                messages.append(await client.read_event())  # type: ignore[arg-type]
    assert "milk" in messages[-2].data["text"]


async def test_the_wake_word_is_told(lit: Lit, spoken: Callable[[str], AudioChunk]) -> None:
    chunk = AudioChunk(bytes(32_000)) + spoken("Okay Nabu!") + AudioChunk(bytes(32_000))
    messages = await asked(lit, "detection", Detect(names=["okay_nabu"]), *sound_of(chunk))
    assert messages[-1].data["name"] == "okay_nabu"
