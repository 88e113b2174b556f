"""What Home Assistant's pair, wyoming-faster-whisper and wyoming-piper, does with the same sound and weights.

They run in an environment of their own, made once by pip in the data directory. A pipeline waits 0.7 s of silence, has
the sound put into words, the words understood and the answer spoken. Understanding is left out: hassil takes 3 ms.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk as WyomingChunk
from wyoming.audio import AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.event import Event
from wyoming.tts import Synthesize

from atlas.audio import HEARING_RATE, SAMPLE_BYTES, AudioChunk
from atlas.config import Config
from atlas.errors import EngineError

PACKAGES = ("wyoming-faster-whisper==3.8.1", "wyoming-piper==2.5.2")
SILENCE_SECONDS = 0.7  # Home Assistant's own, before it takes an utterance for ended
START_SECONDS = 120.0
ANSWER_SECONDS = 60.0
AUDIBLE = 330  # of 32767: the silence in front of speech is no sound yet
CHUNK_BYTES = 2 * 1024


@dataclass(frozen=True, slots=True)
class PeerExchange:
    """What became of one sentence."""

    transcript: str
    first_sound_seconds: float  # from the last sample of speech


class PeerPipeline:
    """The pair, running."""

    def __init__(self, recogniser: str, voice: str) -> None:
        self._recogniser = recogniser
        self._voice = voice

    async def ask(self, speech: AudioChunk, answer: str) -> PeerExchange:
        """Say something, and return when the first sound of an answer could be heard; `speech` ends with a word."""
        with anyio.fail_after(ANSWER_SECONDS):
            async with AsyncClient.from_uri(self._recogniser) as client:
                await client.write_event(Transcribe(language="en").event())
                await client.write_event(AudioStart(HEARING_RATE, SAMPLE_BYTES, 1).event())
                for start in range(0, len(speech.pcm), CHUNK_BYTES):  # it works only once all of it is there
                    piece = speech.pcm[start : start + CHUNK_BYTES]
                    await client.write_event(WyomingChunk(HEARING_RATE, SAMPLE_BYTES, 1, piece).event())
                began = time.perf_counter()
                await anyio.sleep(SILENCE_SECONDS)
                still = bytes(round(SILENCE_SECONDS * HEARING_RATE) * SAMPLE_BYTES)
                await client.write_event(WyomingChunk(HEARING_RATE, SAMPLE_BYTES, 1, still).event())
                await client.write_event(AudioStop().event())
                transcript = Transcript.from_event(await _next(client, Transcript.is_type)).text
            quiet_seconds = await self._until_heard(answer)
            return PeerExchange(transcript, time.perf_counter() - began + quiet_seconds)

    async def _until_heard(self, answer: str) -> float:
        """Wait for the first sound that is loud enough; return how much silence a listener hears before it."""
        quiet = 0
        async with AsyncClient.from_uri(self._voice) as client:
            await client.write_event(Synthesize(answer).event())
            while True:
                chunk = WyomingChunk.from_event(await _next(client, WyomingChunk.is_type))
                samples = memoryview(chunk.audio).cast("h")
                for place, sample in enumerate(samples):
                    if abs(sample) > AUDIBLE:
                        return (quiet + place) / chunk.rate
                quiet += len(samples)


async def _next(client: AsyncClient, wanted: object) -> Event:
    while event := await client.read_event():
        if callable(wanted) and wanted(event.type):
            return event
    raise EngineError("a Wyoming service hung up", hint="run the bench again; see what it printed")


@asynccontextmanager
async def peer(config: Config) -> AsyncIterator[PeerPipeline]:
    """Run the pair inside the block, with the weights of this house. Raises `EngineError` when it does not start."""
    python = await anyio.to_thread.run_sync(_environment, config.data / "bench-peer")
    models = config.speech.models
    with tempfile.TemporaryDirectory(prefix="peer-") as folder:
        ears, mouth = f"unix://{folder}/ears", f"unix://{folder}/mouth"
        listening = (
            *("wyoming_faster_whisper", "--uri", ears, "--model", str(models / config.speech.stt_model)),
            *("--data-dir", folder, "--language", "en", "--compute-type", "int8", "--beam-size", "1"),
            *("--cpu-threads", str(config.speech.threads), "--stt-library", "faster-whisper", "--local-files-only"),
        )
        speaking = (
            *("wyoming_piper", "--uri", mouth, "--voice", config.speech.voice),
            *("--data-dir", str(models / config.speech.voice), "--download-dir", folder, "--local-files-only"),
        )
        async with AsyncExitStack() as stack:
            for arguments, uri in ((listening, ears), (speaking, mouth)):
                await stack.enter_async_context(_serving(python, arguments, Path(uri.removeprefix("unix://"))))
            yield PeerPipeline(ears, mouth)


@asynccontextmanager
async def _serving(python: Path, arguments: Sequence[str], socket: Path) -> AsyncIterator[None]:
    environment, log = {**os.environ, "HF_HUB_OFFLINE": "1"}, anyio.Path(f"{socket}.log")
    async with await log.open("wb") as out:
        process = await anyio.open_process(
            [str(python), "-m", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=out.wrapped,
            stderr=out.wrapped,
            env=environment,
        )
        try:
            with anyio.move_on_after(START_SECONDS):
                while process.returncode is None and not await anyio.Path(socket).exists():  # noqa: ASYNC110
                    await anyio.sleep(0.2)
            if not await anyio.Path(socket).exists():
                words = await log.read_text()
                raise EngineError(f"{arguments[0]} did not start", hint=f"its last words: {words[-500:]}")
            yield
        finally:
            if process.returncode is None:
                process.terminate()
            with anyio.CancelScope(shield=True):
                await process.wait()


def _environment(folder: Path) -> Path:
    """Return the Python of an environment that has the pair, made where it is not there yet."""
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.is_file():
        print(f"  installing {' and '.join(PACKAGES)} into {folder}", file=sys.stderr, flush=True)
        for command in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "-q", *PACKAGES],
        ):
            completed = subprocess.run(command, capture_output=True, text=True, check=False)
            if completed.returncode:
                raise EngineError("the peer does not install", hint=completed.stderr[-500:])
        ready.write_text("\n".join(PACKAGES), encoding="utf-8")
    return python
